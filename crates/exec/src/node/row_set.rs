//! A set of row ids in bounded memory (tidbitmap.c).
//!
//! ```text
//!   block 0      block 1    block 7         1,024 row ids each
//!   0010…1       all        0001… unsure
//! ```
//!
//! A block has a bit for each row until memory is short. Then half of the blocks keep only that
//! some of their rows may be in the set ("lossy"). A block is *unsure* if an index entry alone did
//! not decide whether the snapshot sees the row under that key. The scan checks the conditions
//! again for rows of lossy and unsure blocks, but not for others.

use hashbrown::HashMap;
use hashbrown::hash_map::Entry;

/// Row ids of a block.
pub(super) const BLOCK_ROWS: u64 = 1024;
const WORDS: usize = (BLOCK_ROWS / 64) as usize;
/// The approximate size of a block in memory.
const BLOCK_BYTES: usize = 192;

pub(super) struct RowSet {
    blocks: HashMap<u64, Block>,
    /// The number of blocks that have bits, and its limit.
    exact: usize,
    exact_max: usize,
}

/// The rows of one block.
#[derive(Clone)]
pub(super) enum Block {
    Bits(Box<Bits>),
    /// Any of its rows may be in the set.
    Lossy,
}

#[derive(Clone)]
pub(super) struct Bits {
    words: [u64; WORDS],
    is_unsure: bool,
}

impl RowSet {
    /// An empty set that takes about `bytes` of memory.
    pub(super) fn new(bytes: usize) -> RowSet {
        let exact_max = (bytes / BLOCK_BYTES).max(16);
        RowSet { blocks: HashMap::new(), exact: 0, exact_max }
    }

    /// Adds a row. `is_sure`: the snapshot sees the row as the index has it.
    pub(super) fn add(&mut self, row: u64, is_sure: bool) {
        let bit = row % BLOCK_ROWS;
        match self.blocks.entry(row / BLOCK_ROWS) {
            Entry::Occupied(mut known) => {
                if let Block::Bits(bits) = known.get_mut() {
                    bits.set(bit, is_sure);
                }
            }
            Entry::Vacant(free) => {
                let mut bits = Box::new(Bits { words: [0; WORDS], is_unsure: false });
                bits.set(bit, is_sure);
                free.insert(Block::Bits(bits));
                self.exact += 1;
                self.keep_to_memory();
            }
        }
    }

    /// Adds the rows of another set.
    pub(super) fn unite(&mut self, other: RowSet) {
        for (number, theirs) in other.blocks {
            match self.blocks.entry(number) {
                Entry::Vacant(free) => {
                    self.exact += usize::from(matches!(theirs, Block::Bits(_)));
                    free.insert(theirs);
                }
                Entry::Occupied(mut known) => match (known.get_mut(), theirs) {
                    (Block::Bits(ours), Block::Bits(theirs)) => ours.unite(&theirs),
                    (Block::Bits(_), Block::Lossy) => {
                        known.insert(Block::Lossy);
                        self.exact -= 1;
                    }
                    (Block::Lossy, _) => {}
                },
            }
            self.keep_to_memory();
        }
    }

    /// Keeps the rows that are also in another set.
    pub(super) fn intersect(&mut self, other: &RowSet) {
        self.blocks.retain(|number, ours| match other.blocks.get(number) {
            None => false,
            Some(theirs) => ours.intersect(theirs),
        });
        self.exact = self.blocks.values().filter(|b| matches!(b, Block::Bits(_))).count();
        self.keep_to_memory();
    }

    pub(super) fn is_empty(&self) -> bool {
        self.blocks.is_empty()
    }

    /// The blocks in the order of their rows.
    pub(super) fn into_blocks(self) -> impl Iterator<Item = (u64, Block)> {
        let mut blocks: Vec<_> = self.blocks.into_iter().collect();
        blocks.sort_unstable_by_key(|(number, _)| *number);
        blocks.into_iter()
    }

    /// Drops the bits of the first half of the blocks if there are too many.
    fn keep_to_memory(&mut self) {
        if self.exact <= self.exact_max {
            return;
        }
        let is_exact = |block: &Block| matches!(block, Block::Bits(_));
        let exact = self.blocks.iter().filter(|(_, block)| is_exact(block));
        let mut exact: Vec<u64> = exact.map(|(number, _)| *number).collect();
        exact.sort_unstable();
        exact.truncate(exact.len() - self.exact_max / 2);
        self.exact -= exact.len();
        self.blocks.extend(exact.into_iter().map(|number| (number, Block::Lossy)));
    }
}

impl Block {
    /// Keeps the rows that are also in another block of the same rows; false if none is left.
    fn intersect(&mut self, other: &Block) -> bool {
        match (&mut *self, other) {
            (Block::Bits(ours), Block::Bits(theirs)) => ours.intersect(theirs),
            (Block::Bits(ours), Block::Lossy) => {
                ours.is_unsure = true;
                true
            }
            (Block::Lossy, Block::Bits(theirs)) => {
                let mut bits = theirs.clone();
                bits.is_unsure = true;
                *self = Block::Bits(bits);
                true
            }
            (Block::Lossy, Block::Lossy) => true,
        }
    }
}

impl Bits {
    fn set(&mut self, bit: u64, is_sure: bool) {
        self.words[(bit / 64) as usize] |= 1 << (bit % 64);
        self.is_unsure |= !is_sure;
    }

    fn unite(&mut self, other: &Bits) {
        self.words.iter_mut().zip(&other.words).for_each(|(ours, theirs)| *ours |= theirs);
        self.is_unsure |= other.is_unsure;
    }

    fn intersect(&mut self, other: &Bits) -> bool {
        self.words.iter_mut().zip(&other.words).for_each(|(ours, theirs)| *ours &= theirs);
        self.is_unsure |= other.is_unsure;
        self.words.iter().any(|word| *word != 0)
    }

    pub(super) fn is_unsure(&self) -> bool {
        self.is_unsure
    }

    /// The first row from a place on.
    pub(super) fn next(&self, from: u64) -> Option<u64> {
        let mut at = (from / 64) as usize;
        let mut word = self.words.get(at)? & (u64::MAX << (from % 64));
        while word == 0 {
            at += 1;
            word = *self.words.get(at)?;
        }
        Some(at as u64 * 64 + u64::from(word.trailing_zeros()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    fn set(rows: &[u64], bytes: usize) -> RowSet {
        let mut set = RowSet::new(bytes);
        rows.iter().for_each(|row| set.add(*row, true));
        set
    }

    /// The rows that have bits, and the blocks that have none.
    fn content(set: RowSet) -> (Vec<u64>, Vec<u64>) {
        let (mut rows, mut lossy) = (Vec::new(), Vec::new());
        for (number, block) in set.into_blocks() {
            let Block::Bits(bits) = block else {
                lossy.push(number);
                continue;
            };
            let mut from = 0;
            while let Some(bit) = bits.next(from) {
                rows.push(number * BLOCK_ROWS + bit);
                from = bit + 1;
            }
        }
        (rows, lossy)
    }

    #[test]
    fn rows_come_in_order_and_once() {
        let rows = [5, 1023, 0, 64, 63, 1024, 9_000_000_000, 5];
        let sorted = vec![0, 5, 63, 64, 1023, 1024, 9_000_000_000];
        assert_eq!(content(set(&rows, 1 << 20)), (sorted, vec![]));
    }

    #[test]
    fn sets_are_united_and_intersected() {
        let (a, b) = ([1, 2, 3000, 5000], [2, 3, 3001, 5000]);
        let mut both = set(&a, 1 << 20);
        both.unite(set(&b, 1 << 20));
        assert_eq!(content(both).0, [1, 2, 3, 3000, 3001, 5000]);
        let mut common = set(&a, 1 << 20);
        common.intersect(&set(&b, 1 << 20));
        assert_eq!(content(common).0, [2, 5000]);
    }

    #[test]
    fn no_row_is_lost_where_memory_is_short() {
        let rows: Vec<u64> = (0..500).map(|i| i * 700).collect();
        let small = set(&rows, 0);
        let blocks = |set: &RowSet| set.blocks.keys().copied().collect::<BTreeSet<_>>();
        let mut whole = set(&rows, 1 << 20);
        assert_eq!(blocks(&small), blocks(&whole));
        assert!(small.exact <= 16);
        whole.intersect(&small);
        let unsure = |b: &Block| matches!(b, Block::Bits(bits) if bits.is_unsure());
        assert!(whole.blocks.values().any(unsure));
        assert_eq!(content(whole), (rows, vec![]));
    }
}
