//! A binary heap of numbered inputs, for merging: the one whose head row comes first is on top.
//!
//! The heads stand elsewhere and change, so the order is handed to each call.

/// Numbers of inputs that still have rows.
#[derive(Debug, Default)]
pub(crate) struct InputHeap(Vec<usize>);

impl InputHeap {
    /// A heap of these inputs; `before` compares the heads of two.
    pub(crate) fn new(inputs: Vec<usize>, before: impl Fn(usize, usize) -> bool) -> InputHeap {
        let mut heap = InputHeap(inputs);
        for at in (0..heap.0.len() / 2).rev() {
            heap.sift_down(at, &before);
        }
        heap
    }

    /// The input whose head comes first.
    pub(crate) fn first(&self) -> Option<usize> {
        self.0.first().copied()
    }

    /// Restores the order after the first input's head has changed, or after it has no more rows
    /// (`ended`).
    pub(crate) fn moved_on(&mut self, ended: bool, before: impl Fn(usize, usize) -> bool) {
        if ended && !self.0.is_empty() {
            self.0.swap_remove(0);
        }
        self.sift_down(0, &before);
    }

    fn sift_down(&mut self, mut at: usize, before: &impl Fn(usize, usize) -> bool) {
        loop {
            let mut least = at;
            for child in [2 * at + 1, 2 * at + 2] {
                if child < self.0.len() && before(self.0[child], self.0[least]) {
                    least = child;
                }
            }
            if least == at {
                return;
            }
            self.0.swap(at, least);
            at = least;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn merges_inputs_of_any_lengths() {
        let inputs: [&[i32]; 5] = [&[1, 4, 9], &[], &[0], &[4, 4, 5, 12], &[-3, 20]];
        let mut at = [0; 5];
        let head = |input: usize, at: &[usize; 5]| inputs[input][at[input]];
        let given = (0..5).filter(|input| !inputs[*input].is_empty()).collect();
        let mut heap = InputHeap::new(given, |a, b| head(a, &at) < head(b, &at));
        let mut merged = Vec::new();
        while let Some(first) = heap.first() {
            merged.push(head(first, &at));
            at[first] += 1;
            let ended = at[first] == inputs[first].len();
            heap.moved_on(ended, |a, b| head(a, &at) < head(b, &at));
        }
        assert_eq!(merged, [-3, 0, 1, 4, 4, 4, 5, 9, 12, 20]);
    }
}
