//! A uniform sample of things that come one after the other, without knowing how many will.
//!
//! Li's algorithm L (1994, "Reservoir-sampling algorithms of time complexity O(n(1 + log(N/n)))").
//! The first `wanted` things are taken. Then the algorithm skips a random number of things before
//! it takes the next one. So it needs a few random numbers for each thing taken, not for each
//! offered.

/// A sample of `wanted` of the things offered, in which each has the same chance to be.
pub(super) struct Reservoir<T> {
    wanted: usize,
    /// Things offered.
    seen: u64,
    /// Number of the next one that is taken, once there are as many as wanted.
    next: u64,
    /// The algorithm's W: the largest of `wanted` random keys that the taken ones would have.
    largest: f64,
    /// With the number that each had.
    taken: Vec<(u64, T)>,
}

impl<T> Reservoir<T> {
    /// Takes at most `wanted`.
    pub(super) fn new(wanted: usize) -> Reservoir<T> {
        Reservoir { wanted, seen: 0, next: 0, largest: 1.0, taken: Vec::new() }
    }

    /// Offers a thing, which is made only if it is taken. `random`: a number in [0, 1).
    #[inline]
    pub(super) fn offer(&mut self, thing: impl FnOnce() -> T, mut random: impl FnMut() -> f64) {
        let number = self.seen;
        self.seen += 1;
        if self.taken.len() < self.wanted {
            self.taken.push((number, thing()));
            if self.taken.len() == self.wanted {
                self.leap(number, &mut random);
            }
        } else if number == self.next {
            let place = (random() * self.wanted as f64) as usize;
            if let Some(slot) = self.taken.get_mut(place) {
                *slot = (number, thing());
            }
            self.leap(number, &mut random);
        }
    }

    /// Finds the next to be taken after this one.
    fn leap(&mut self, number: u64, random: &mut dyn FnMut() -> f64) {
        // In (0, 1]: a logarithm must exist.
        let mut random = || 1.0 - random();
        self.largest *= (random().ln() / self.wanted as f64).exp();
        // Infinite when W has become too small to tell from 0; then nothing more is taken.
        let passed_over = (random().ln() / (-self.largest).ln_1p()).floor();
        self.next = number.saturating_add(1).saturating_add(passed_over as u64);
    }

    /// How many were offered, and those taken in the order in which they came.
    pub(super) fn into_parts(mut self) -> (u64, Vec<T>) {
        self.taken.sort_unstable_by_key(|(number, _)| *number);
        (self.seen, self.taken.into_iter().map(|(_, thing)| thing).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(seed: u64) -> impl FnMut() -> f64 {
        let mut state = seed;
        move || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 11) as f64 / (1u64 << 53) as f64
        }
    }

    #[test]
    fn takes_all_when_there_are_few() {
        let mut random = numbers(1);
        let mut few = Reservoir::new(10);
        (0..7).for_each(|i| few.offer(|| i, &mut random));
        assert_eq!(few.into_parts(), (7, (0..7).collect()));
    }

    #[test]
    fn each_has_the_same_chance() {
        let (mut random, mut times) = (numbers(2), [0u32; 100]);
        for _ in 0..20_000 {
            let mut some = Reservoir::new(10);
            (0..100).for_each(|i| some.offer(|| i, &mut random));
            let (seen, taken) = some.into_parts();
            assert_eq!((seen, taken.len()), (100, 10));
            assert!(taken.is_sorted());
            taken.iter().for_each(|i: &usize| times[*i] += 1);
        }
        // 2,000 each; the standard deviation is 42.
        assert!(times.iter().all(|n| (1790..2210).contains(n)), "{times:?}");
    }
}
