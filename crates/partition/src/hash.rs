//! HASH: a partition takes the rows whose hash, divided by its modulus, leaves its remainder.
//!
//! The moduli of one parent form a chain in which each is a factor of the next, so
//! there are at most 31 different ones, and mostly one: a row's partition is found
//! with one look-up for each. The hash is PostgreSQL's, bit by bit.

use crate::error::{BoundError, BoundPlace};
use crate::key::Key;
use crate::sorted::SortedMap;
use steppe_types::oid::Oid;
use steppe_types::{Error, Result};

/// The hash partitions of one parent.
#[derive(Clone, Debug, Default)]
pub(crate) struct HashPartitions {
    /// By modulus, then remainder: PostgreSQL's order.
    by_bound: SortedMap<HashPartition>,
    /// Each modulus in use with the number of its partitions, ascending.
    moduli: Vec<(u32, usize)>,
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

    /// The partition that takes rows with this hash.
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
