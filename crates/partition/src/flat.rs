//! The bounds of a range-partitioned parent in one piece, for parents that many rows are routed
//! through.
//!
//! A search of [`crate::sorted`] reads some lines of memory near the leaf's entry, scattered over
//! the heap. Among thousands of leaves none of them is in the processor's cache. This structure
//! reads one such line: the lower bounds around the key.
//!
//! ```text
//! spine    first of each block             a few kilobytes, in the cache
//! blocks   eight lower bounds, one line    each ends where the next begins
//! ```
//!
//! It is made when as many rows have been routed as there are partitions, so that its cost for each
//! of them is small. Bounds must be numbers of eight bytes, and partitions must leave no gap
//! between them. A changed map counts rows from zero again.

use crate::key::Key;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};
use steppe_types::oid::Oid;

/// Lower bounds in a line of the cache.
const BLOCK: usize = 8;

#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
struct Block([u64; BLOCK]);

/// The bounds, after enough rows have been routed.
#[derive(Debug, Default)]
pub(crate) struct Flat {
    routed: AtomicUsize,
    /// `None`: the bounds are of another kind.
    ranges: OnceLock<Option<FlatRanges>>,
}

impl Flat {
    /// The bounds, if they have been made.
    #[inline]
    pub(crate) fn known(&self) -> Option<&FlatRanges> {
        self.ranges.get()?.as_ref()
    }

    /// The bounds, made by `make` if enough rows have been routed.
    #[inline]
    pub(crate) fn ranges(
        &self,
        partitions: usize,
        make: impl FnOnce() -> Option<FlatRanges>,
    ) -> Option<&FlatRanges> {
        match self.ranges.get() {
            Some(ranges) => ranges.as_ref(),
            None if self.routed.fetch_add(1, Ordering::Relaxed) < partitions => None,
            None => self.ranges.get_or_init(make).as_ref(),
        }
    }
}

/// The partitions in the order of their bounds.
#[derive(Debug)]
pub(crate) struct FlatRanges {
    spine: Box<[u64]>,
    /// The last is filled up with the greatest number.
    blocks: Box<[Block]>,
    relations: Box<[Oid]>,
    /// The end of the last partition.
    end: u64,
}

impl FlatRanges {
    /// Takes lower bounds, upper bounds and relations in order. `None`: the bounds are of another
    /// kind.
    pub(crate) fn new(all: impl Iterator<Item = (Key, Key, Oid)>) -> Option<FlatRanges> {
        let (mut lowers, mut relations, mut end) = (Vec::new(), Vec::new(), None);
        for (lower, upper, relation) in all {
            let lower = lower.limit()?;
            if end.is_some_and(|end| end != lower) {
                return None;
            }
            end = Some(upper.limit()?);
            lowers.push(lower);
            relations.push(relation);
        }
        let block = |some: &[u64]| {
            let mut block = [u64::MAX; BLOCK];
            block[..some.len()].copy_from_slice(some);
            Block(block)
        };
        let blocks: Box<[Block]> = lowers.chunks(BLOCK).map(block).collect();
        let spine = blocks.iter().map(|block| block.0[0]).collect();
        Some(FlatRanges { spine, blocks, relations: relations.into(), end: end? })
    }

    /// The partition that holds a key, and its place among them. `Err`: these bounds cannot decide.
    #[inline]
    pub(crate) fn route(&self, key: &Key) -> Result<Option<(Oid, u32)>, Undecided> {
        key.value_hint().map_or(Err(Undecided), |hint| self.find(hint))
    }

    /// As [`Self::route`], of a key that begins with a value and has this hint.
    #[inline]
    pub(crate) fn find(&self, hint: u64) -> Result<Option<(Oid, u32)>, Undecided> {
        if hint == u64::MAX {
            return Err(Undecided);
        }
        let Some(block) = self.spine.partition_point(|first| *first <= hint).checked_sub(1) else {
            return Ok(None);
        };
        let lowers = &self.blocks[block].0;
        let within = lowers.iter().filter(|lower| **lower <= hint).count();
        let at = block * BLOCK + within - 1;
        let is_last = at + 1 == self.relations.len();
        Ok((!is_last || hint < self.end).then(|| (self.relations[at], at as u32)))
    }
}

/// The flat bounds cannot decide: the whole keys are needed.
pub(crate) struct Undecided;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bound::{BoundValue, PartitionBound, RangeDatum};
    use crate::map::{PartitionMap, PartitionStrategy};
    use proptest::prelude::*;
    use steppe_types::{Datum, oid};

    fn value(v: i64) -> RangeDatum {
        RangeDatum::Value(BoundValue::new(oid::INT8, Datum::Int8(v)))
    }

    /// A parent whose partitions end at these bounds. The first and the last may be open, and one
    /// may be left out.
    fn parent(ends: &[i64], open: (bool, bool), gap: Option<usize>) -> PartitionMap {
        let mut map = PartitionMap::new(PartitionStrategy::Range, &[oid::INT8]).unwrap();
        let mut bounds: Vec<RangeDatum> = ends.iter().map(|end| value(*end)).collect();
        if open.0 {
            bounds.insert(0, RangeDatum::MinValue);
        }
        if open.1 {
            bounds.push(RangeDatum::MaxValue);
        }
        for (at, pair) in bounds.windows(2).enumerate() {
            if gap != Some(at) {
                let (lower, upper) = (vec![pair[0].clone()], vec![pair[1].clone()]);
                map.attach(at as Oid + 1, &PartitionBound::Range { lower, upper }).unwrap();
            }
        }
        map
    }

    fn routed(map: &PartitionMap, key: i64) -> Option<Oid> {
        map.route(&[Datum::Int8(key)], &mut Vec::new()).unwrap()
    }

    proptest! {
        /// A map that has answered often answers as a fresh one.
        #[test]
        fn routes_as_the_map_does(
            mut ends in proptest::collection::vec(any::<i64>(), 2..200),
            more in proptest::collection::vec(any::<i64>(), 10),
            open in any::<(bool, bool)>(),
            gap in proptest::option::weighted(0.2, 0_usize..32),
        ) {
            ends.sort_unstable();
            ends.dedup();
            let map = parent(&ends, open, gap);
            for _ in 0..=map.len() {
                routed(&map, 0);
            }
            let around = |v: &i64| [v.saturating_sub(1), *v, v.saturating_add(1)];
            let edges = [i64::MIN, i64::MAX];
            for key in ends.iter().chain(&more).chain(&edges).flat_map(around) {
                prop_assert_eq!(routed(&map, key), routed(&parent(&ends, open, gap), key));
            }
            let place = map.route_to_place(&[Datum::Int8(more[0])], &mut Vec::new()).unwrap();
            prop_assert!(place.is_none_or(|routed| routed.place.is_some() || gap.is_some()));
        }
    }

    #[test]
    fn begins_anew_when_the_map_changes() {
        let ends: Vec<i64> = (0..100).collect();
        let mut map = parent(&ends, (false, false), None);
        for key in 0..99 {
            assert_eq!(routed(&map, key), Some(key as Oid + 1));
        }
        assert_eq!(routed(&map, 50), Some(51));
        let before = map.clone();
        let bound =
            |at: i64| PartitionBound::Range { lower: vec![value(at)], upper: vec![value(at + 1)] };
        map.detach(51, &bound(50)).unwrap();
        assert_eq!(routed(&map, 50), None);
        assert_eq!(routed(&before, 50), Some(51));
        map.attach(500, &bound(50)).unwrap();
        for _ in 0..200 {
            assert_eq!(routed(&map, 50), Some(500));
        }
    }
}
