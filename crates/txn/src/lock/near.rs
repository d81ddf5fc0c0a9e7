//! Hashes of tags in which rows that lie close together stay together.
//!
//! A transaction that checks foreign keys may lock millions of rows, mostly in the order of their keys,
//! which is often that of the rows. In a table that scatters them, each lock and each release would
//! wait for memory. So the rows of a *block* have the same hash but for their places in it:
//!
//! ```text
//!   63    57                                   5     0
//!   ├──────┼───────────────────────────────────┼─────┤
//!   │ block│      hash of the tag but for      │place│
//!   │^place│    the lowest bits of the row     │     │
//!   └──────┴───────────────────────────────────┴─────┘
//! ```
//!
//! A table takes an entry's place from the lowest bits, and distinguishes entries by the highest ones.
//! Blocks are scattered as single tags were. At worst the rows of a block meet in places that others
//! have taken, which costs a few steps more for each of them.

use std::hash::{BuildHasher, Hasher};

/// The bits of a row's number that are its place in a block.
const PLACE_BITS: u32 = 5;
const PLACES: u64 = (1 << PLACE_BITS) - 1;
/// The first of the bits by which a table distinguishes entries.
const TELLING: u32 = 57;

/// Makes hashers; `S` makes those of the blocks.
#[derive(Clone, Default)]
pub(super) struct Near<S>(pub(super) S);

/// A hasher of tags. The number that is written last is the row's.
pub(super) struct NearHasher<H> {
    block: H,
    last: u64,
}

impl<S: BuildHasher> BuildHasher for Near<S>
where
    S::Hasher: Clone,
{
    type Hasher = NearHasher<S::Hasher>;

    fn build_hasher(&self) -> NearHasher<S::Hasher> {
        NearHasher { block: self.0.build_hasher(), last: 0 }
    }
}

impl<H: Hasher + Clone> Hasher for NearHasher<H> {
    fn write(&mut self, bytes: &[u8]) {
        self.block.write(bytes);
    }

    #[inline]
    fn write_u32(&mut self, number: u32) {
        self.block.write_u32(number);
    }

    #[inline]
    fn write_u64(&mut self, number: u64) {
        self.block.write_u64(std::mem::replace(&mut self.last, number));
    }

    #[inline]
    fn write_isize(&mut self, number: isize) {
        self.block.write_isize(number);
    }

    #[inline]
    fn finish(&self) -> u64 {
        let (mut block, place) = (self.block.clone(), self.last & PLACES);
        block.write_u64(self.last >> PLACE_BITS);
        (block.finish() & !PLACES | place) ^ place << TELLING
    }
}

/// A number below `count` for a hash, which differs within a block.
#[inline]
pub(super) fn scattered(hash: u64, count: usize) -> usize {
    ((hash >> 20).wrapping_add(hash & PLACES)) as usize % count
}

#[cfg(test)]
mod tests {
    use super::super::LockTag;
    use super::*;
    use std::collections::HashSet;

    fn hash(tag: LockTag) -> u64 {
        Near(foldhash::fast::FixedState::with_seed(7)).hash_one(tag)
    }

    #[test]
    fn rows_of_a_block_differ_in_their_places_only() {
        let all: Vec<u64> = (64..96).map(|row| hash(LockTag::Row(3, row))).collect();
        let middle = |hash: &u64| hash << 7 >> 12;
        assert!(all.iter().all(|one| middle(one) == middle(&all[0])));
        assert_eq!(all.iter().map(|one| one & 31).collect::<Vec<_>>(), Vec::from_iter(0..32));
        assert_eq!(all.iter().map(|one| one >> 57).collect::<HashSet<_>>().len(), 32);
        assert_eq!(all.iter().map(|one| scattered(*one, 4096)).collect::<HashSet<_>>().len(), 32);
    }

    #[test]
    fn blocks_are_scattered() {
        let blocks = (0..4096).map(|block| hash(LockTag::Row(3, block << 5)));
        let trees = (0..4096).map(|tree| hash(LockTag::Row(tree << 5, 1)));
        let low: HashSet<u64> = blocks.chain(trees).map(|hash| hash >> 5 & 0xF_FFFF).collect();
        assert!(low.len() > 8000, "{}", low.len());
    }
}
