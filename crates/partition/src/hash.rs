//! HASH: a partition takes the rows whose hash, divided by its modulus, leaves its remainder.
//!
//! The moduli of one parent form a chain in which each is a factor of the next, so
//! there are at most 31 different ones, and mostly one: a row's partition is found
//! with one look-up for each. The hash is PostgreSQL's, bit by bit.
//!
//! Mostly there is one modulus, and a partition for each remainder. A parent that many rows are routed
//! through then has its partitions in a row, by remainder ([`ByRemainder`]).

use crate::error::{BoundError, BoundPlace};
use crate::key::Key;
use crate::sorted::SortedMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use steppe_types::oid::Oid;
use steppe_types::{Error, Result};

/// The hash partitions of one parent.
#[derive(Clone, Debug, Default)]
pub(crate) struct HashPartitions {
    /// By modulus, then remainder: PostgreSQL's order.
    by_bound: SortedMap<HashPartition>,
    /// Each modulus in use with the number of its partitions, ascending.
    moduli: Vec<(u32, usize)>,
    /// The same partitions for fast routing.
    by_remainder: Arc<ByRemainder>,
}

/// The partitions by remainder, one for each: a look-up reads one line of memory, where a search of
/// the map reads several of each node, which among thousands of leaves are in no cache.
///
/// It is made when as many rows have been routed as there are partitions, so that its cost for each
/// of them is small. A changed map begins anew.
#[derive(Debug, Default)]
struct ByRemainder {
    routed: AtomicUsize,
    /// `None`: there are several moduli, or remainders without a partition.
    partitions: OnceLock<Option<Box<[Oid]>>>,
}

/// A partition and its bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct HashPartition {
    pub(crate) modulus: u32,
    pub(crate) remainder: u32,
    pub(crate) relation: Oid,
}

fn key(modulus: u32, remainder: u32) -> Key {
    Key::from(u64::from(modulus) << 32 | u64::from(remainder))
}

impl HashPartitions {
    pub(crate) fn len(&self) -> usize {
        self.by_bound.len()
    }

    /// All of them, in PostgreSQL's order.
    pub(crate) fn all(&self) -> impl Iterator<Item = &HashPartition> {
        self.by_bound.ascending(&key(0, 0)).map(|(_, partition)| partition)
    }

    /// The partition that takes rows with this hash, and its place among all if it is known.
    #[inline]
    pub(crate) fn route(&self, row_hash: u64) -> Option<(Oid, Option<u32>)> {
        let Some(partitions) = self.in_a_row() else {
            return self.find(row_hash).map(|partition| (partition.relation, None));
        };
        // There are as many as the modulus.
        let remainder = row_hash % partitions.len() as u64;
        partitions.get(remainder as usize).map(|relation| (*relation, Some(remainder as u32)))
    }

    /// The partitions by remainder, if enough rows have been routed. There is at least one.
    #[inline]
    fn in_a_row(&self) -> Option<&[Oid]> {
        let ByRemainder { routed, partitions } = &*self.by_remainder;
        match partitions.get() {
            Some(found) => found.as_deref(),
            None if routed.fetch_add(1, Ordering::Relaxed) < self.len() => None,
            None => partitions.get_or_init(|| self.put_in_a_row()).as_deref(),
        }
    }

    #[cold]
    fn put_in_a_row(&self) -> Option<Box<[Oid]>> {
        let [(modulus, count)] = self.moduli[..] else { return None };
        // In the order of their remainders, which are different and below the modulus.
        (modulus as usize == count)
            .then(|| self.all().map(|partition| partition.relation).collect())
    }

    /// The partition that takes rows with this hash, by a search.
    pub(crate) fn find(&self, row_hash: u64) -> Option<&HashPartition> {
        self.moduli.iter().rev().find_map(|(modulus, _)| {
            // Less than the modulus.
            let remainder = (row_hash % u64::from(*modulus)) as u32;
            self.by_bound.get(&key(*modulus, remainder))
        })
    }

    pub(crate) fn attach(
        &mut self,
        relation: Oid,
        modulus: u32,
        remainder: u32,
    ) -> Result<(), BoundError> {
        if remainder >= modulus {
            let error = Error::internal("hash partition's remainder is not below its modulus");
            return Err(error.into());
        }
        self.check_modulus(modulus, remainder)?;
        if let Some(existing) = self.overlapping(modulus, remainder) {
            return Err(BoundError::Overlap { existing, place: BoundPlace::Whole });
        }
        let partition = HashPartition { modulus, remainder, relation };
        self.by_remainder = Arc::default();
        self.by_bound.insert(key(modulus, remainder), partition);
        match self.moduli.binary_search_by_key(&modulus, |(modulus, _)| *modulus) {
            Ok(at) => self.moduli[at].1 += 1,
            Err(at) => self.moduli.insert(at, (modulus, 1)),
        }
        Ok(())
    }

    /// PostgreSQL's error names the neighbours in its order.
    fn check_modulus(&self, modulus: u32, remainder: u32) -> Result<(), BoundError> {
        let bound = key(modulus, remainder);
        let error = |other: &HashPartition, other_is_greater| BoundError::Modulus {
            modulus,
            other: other.modulus,
            existing: other.relation,
            other_is_greater,
        };
        if let Some((_, before)) = self.by_bound.at_or_below(&bound)
            && !modulus.is_multiple_of(before.modulus)
        {
            return Err(error(before, false));
        }
        // A partition with the same bound overlaps; a later check finds that.
        if let Some((_, after)) = self.by_bound.ascending(&bound).next()
            && !after.modulus.is_multiple_of(modulus)
        {
            return Err(error(after, true));
        }
        Ok(())
    }

    /// The partition that shares hashes with a bound. If there are several, it is the one with the
    /// least remainder, which PostgreSQL finds first.
    fn overlapping(&self, modulus: u32, remainder: u32) -> Option<Oid> {
        // The lesser of two moduli is a factor of the greater one: they share hashes if the
        // remainders agree modulo the lesser.
        let mut not_greater = self.moduli.iter().take_while(|(other, _)| *other <= modulus);
        let found =
            not_greater.find_map(|(other, _)| self.by_bound.get(&key(*other, remainder % *other)));
        let greater = || {
            self.by_bound
                .ascending(&key(modulus.checked_add(1)?, 0))
                .map(|(_, other)| other)
                .filter(|other| other.remainder % modulus == remainder)
                .min_by_key(|other| other.remainder)
        };
        found.or_else(greater).map(|partition| partition.relation)
    }

    pub(crate) fn detach(&mut self, relation: Oid, modulus: u32, remainder: u32) -> Result<()> {
        let bound = key(modulus, remainder);
        let place = self.moduli.binary_search_by_key(&modulus, |(modulus, _)| *modulus);
        match (self.by_bound.get(&bound), place) {
            (Some(found), Ok(at)) if found.relation == relation => {
                self.by_remainder = Arc::default();
                self.by_bound.remove(&bound);
                self.moduli[at].1 -= 1;
                if self.moduli[at].1 == 0 {
                    self.moduli.remove(at);
                }
                Ok(())
            }
            _ => Err(Error::internal("partition to detach does not have the bound it claims")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(bounds: &[(u32, u32)]) -> HashPartitions {
        let mut partitions = HashPartitions::default();
        for (at, (modulus, remainder)) in bounds.iter().enumerate() {
            partitions.attach(100 + at as Oid, *modulus, *remainder).expect("no overlap");
        }
        partitions
    }

    /// A map that has answered often answers as a search does, and gives each partition a place of
    /// its own.
    #[test]
    fn routes_as_the_search_does() {
        let whole: Vec<_> = (0..7).rev().map(|remainder| (7, remainder)).collect();
        let several = [(2, 1), (4, 0), (4, 2)];
        let in_a_row = [(&whole[..], true), (&whole[1..], false), (&several, false), (&[], false)];
        for (bounds, has_places) in in_a_row {
            let partitions = of(bounds);
            for hash in (0..50).chain(u64::MAX - 50..=u64::MAX) {
                let found = partitions.find(hash).map(|partition| partition.relation);
                assert_eq!(partitions.route(hash).map(|(relation, _)| relation), found);
            }
            let mut places: Vec<_> = (0..7).filter_map(|hash| partitions.route(hash)?.1).collect();
            places.sort_unstable();
            assert_eq!(places, if has_places { (0..7).collect() } else { Vec::new() });
        }
    }

    #[test]
    fn begins_anew_when_the_map_changes() {
        let mut partitions = of(&[(3, 0), (3, 1), (3, 2)]);
        for hash in 0..9 {
            partitions.route(hash);
        }
        assert_eq!(partitions.route(4), Some((101, Some(1))));
        let before = partitions.clone();
        partitions.detach(101, 3, 1).expect("it is there");
        assert_eq!((partitions.route(4), before.route(4)), (None, Some((101, Some(1)))));
        partitions.attach(500, 3, 1).expect("no overlap");
        for _ in 0..9 {
            assert_eq!(partitions.route(4).map(|(relation, _)| relation), Some(500));
        }
    }
}
