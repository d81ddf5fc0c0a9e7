//! The partition map of one parent.

use crate::bound::{BoundValue, PartitionBound};
use crate::error::BoundError;
use crate::hash::HashPartitions;
use crate::key::{Key, encode_row};
use crate::list::{self, ListPartitions};
use crate::range::RangePartitions;
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use steppe_types::hashfuncs::partition_hash;
use steppe_types::oid::Oid;
use steppe_types::{Datum, Error, Result};

/// How a parent is partitioned.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PartitionStrategy {
    /// By ranges of one or more columns.
    Range,
    /// By lists of values of one column.
    List,
    /// By remainders of the hash of one or more columns.
    Hash,
}

/// A parent's partitions by their bounds: which of them holds a row, and which can
/// hold rows that satisfy a predicate.
///
/// It is one level: a partition that is partitioned itself has its own map. A clone shares all
/// nodes but those on the path to a later change. So a map that readers hold never changes, and
/// adding a partition to ten costs the same as adding it to a hundred thousand.
#[derive(Clone, Debug)]
pub struct PartitionMap {
    types: Arc<[Oid]>,
    pub(crate) partitions: Partitions,
    pub(crate) default: Option<Oid>,
}

/// The result of [`PartitionMap::route_to_place`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RoutedPartition {
    /// The partition.
    pub relation: Oid,
    /// A small number that only this partition has while the map does not change.
    pub place: Option<u32>,
}

impl RoutedPartition {
    fn of(relation: Oid) -> RoutedPartition {
        RoutedPartition { relation, place: None }
    }
}

/// The partitions that have bounds.
#[derive(Clone, Debug)]
pub(crate) enum Partitions {
    Range(RangePartitions),
    List(ListPartitions),
    Hash(HashPartitions),
}

impl PartitionMap {
    /// A parent without partitions, whose key has columns of these types. XX000 if a
    /// list-partitioned one has a number of columns other than one.
    pub fn new(strategy: PartitionStrategy, types: &[Oid]) -> Result<PartitionMap> {
        let columns_fit = match strategy {
            PartitionStrategy::List => types.len() == 1,
            PartitionStrategy::Range | PartitionStrategy::Hash => !types.is_empty(),
        };
        if !columns_fit {
            return Err(Error::internal("partition key has a wrong number of columns"));
        }
        let partitions = match strategy {
            PartitionStrategy::Range => Partitions::Range(RangePartitions::default()),
            PartitionStrategy::List => Partitions::List(ListPartitions::default()),
            PartitionStrategy::Hash => Partitions::Hash(HashPartitions::default()),
        };
        Ok(PartitionMap { types: types.into(), partitions, default: None })
    }

    /// The partitioning strategy.
    pub fn strategy(&self) -> PartitionStrategy {
        match self.partitions {
            Partitions::Range(_) => PartitionStrategy::Range,
            Partitions::List(_) => PartitionStrategy::List,
            Partitions::Hash(_) => PartitionStrategy::Hash,
        }
    }

    /// The types of the key's columns.
    pub fn types(&self) -> &[Oid] {
        &self.types
    }

    /// The number of partitions, the default one included.
    pub fn len(&self) -> usize {
        usize::from(self.default.is_some())
            + match &self.partitions {
                Partitions::Range(partitions) => partitions.len(),
                Partitions::List(partitions) => partitions.len(),
                Partitions::Hash(partitions) => partitions.len(),
            }
    }

    /// Whether there is no partition.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Puts values of lists in the order of the bounds, NULL last.
    pub fn sort_values(&self, values: &mut [BoundValue]) -> Result<()> {
        let Some(ty) = self.types().first() else { return Ok(()) };
        let keyed = |value: &BoundValue| Ok((list::encode(*ty, value)?, value.clone()));
        let mut sorted = values.iter().map(keyed).collect::<Result<Vec<_>>>()?;
        sorted.sort_by(|(a, _), (b, _)| (a.is_none(), a).cmp(&(b.is_none(), b)));
        for (place, (_, value)) in values.iter_mut().zip(sorted) {
            *place = value;
        }
        Ok(())
    }

    /// The default partition.
    pub fn default_partition(&self) -> Option<Oid> {
        self.default
    }

    /// The partitions with the least and with the greatest range; `None` without ranges.
    pub fn range_ends(&self) -> Option<(Oid, Oid)> {
        match &self.partitions {
            Partitions::Range(partitions) => partitions.ends(),
            Partitions::List(_) | Partitions::Hash(_) => None,
        }
    }

    /// Adds a partition. If its bound conflicts, returns the reason and changes nothing.
    pub fn attach(&mut self, relation: Oid, bound: &PartitionBound) -> Result<(), BoundError> {
        match (&mut self.partitions, bound) {
            (Partitions::Range(partitions), PartitionBound::Range { lower, upper }) => {
                partitions.attach(relation, &self.types, lower, upper)
            }
            (Partitions::List(partitions), PartitionBound::List { values }) => {
                partitions.attach(relation, self.types[0], values)
            }
            (Partitions::Hash(partitions), PartitionBound::Hash { modulus, remainder }) => {
                partitions.attach(relation, *modulus, *remainder)
            }
            (Partitions::Range(_) | Partitions::List(_), PartitionBound::Default) => {
                match self.default {
                    Some(existing) => Err(BoundError::SecondDefault { existing }),
                    None => {
                        self.default = Some(relation);
                        Ok(())
                    }
                }
            }
            _ => Err(other_strategy().into()),
        }
    }

    /// Returns the reason why a partition could not be added, as [`Self::attach`] would.
    pub fn check(&self, relation: Oid, bound: &PartitionBound) -> Result<(), BoundError> {
        match (&self.partitions, bound) {
            (Partitions::Range(partitions), PartitionBound::Range { lower, upper }) => {
                partitions.check(&self.types, lower, upper).map(drop)
            }
            _ => self.clone().attach(relation, bound),
        }
    }

    /// Removes a partition, given the bound it was added with.
    pub fn detach(&mut self, relation: Oid, bound: &PartitionBound) -> Result<()> {
        match (&mut self.partitions, bound) {
            (Partitions::Range(partitions), PartitionBound::Range { lower, .. }) => {
                partitions.detach(relation, &self.types, lower)
            }
            (Partitions::List(partitions), PartitionBound::List { values }) => {
                partitions.detach(relation, self.types[0], values)
            }
            (Partitions::Hash(partitions), PartitionBound::Hash { modulus, remainder }) => {
                partitions.detach(relation, *modulus, *remainder)
            }
            (_, PartitionBound::Default) if self.default == Some(relation) => {
                self.default = None;
                Ok(())
            }
            _ => Err(other_strategy()),
        }
    }

    /// The partition that a row with this key belongs to; `None` if there is none.
    ///
    /// A row is allowed in a partition exactly if this function returns it. It also checks the rows
    /// of a partition that is written to directly or attached, and those of the default partition
    /// when another one is added. `scratch` is memory for the key's bytes, reused for many rows.
    pub fn route(&self, key: &[Datum], scratch: &mut Vec<u8>) -> Result<Option<Oid>> {
        Ok(self.route_to_place(key, scratch)?.map(|routed| routed.relation))
    }

    /// As [`PartitionMap::route`], with the partition's place among all if it is known.
    pub fn route_to_place(
        &self,
        key: &[Datum],
        scratch: &mut Vec<u8>,
    ) -> Result<Option<RoutedPartition>> {
        if key.len() != self.types.len() {
            return Err(Error::internal("row's partition key has a wrong number of columns"));
        }
        if let Partitions::Range(partitions) = &self.partitions
            && let Some(hint) = self.hint_of_number(key)
            && let Some(Some((relation, place))) = partitions.route_quickly(hint)
        {
            return Ok(Some(RoutedPartition { relation, place: Some(place) }));
        }
        let found = match &self.partitions {
            Partitions::Range(_) if key.iter().any(Datum::is_null) => None,
            Partitions::Range(partitions) => {
                let found = partitions.route(&self.row_key(key, scratch)?);
                found.map(|(relation, place)| RoutedPartition { relation, place })
            }
            Partitions::Hash(partitions) => {
                let found = partitions.route(self.row_hash(key)?);
                found.map(|(relation, place)| RoutedPartition { relation, place })
            }
            Partitions::List(partitions) if key[0].is_null() => {
                partitions.null().map(|partition| RoutedPartition::of(partition.relation))
            }
            Partitions::List(partitions) => {
                partitions.route(&self.row_key(key, scratch)?).map(RoutedPartition::of)
            }
        };
        Ok(found.or(self.default.map(RoutedPartition::of)))
    }

    #[inline]
    fn hint_of_number(&self, key: &[Datum]) -> Option<u64> {
        let ([type_oid], [value]) = (&self.types[..], key) else { return None };
        Key::hint_of_number(*type_oid, value)
    }

    #[inline]
    fn row_key(&self, key: &[Datum], scratch: &mut Vec<u8>) -> Result<Key> {
        if let Some(hint) = self.hint_of_number(key) {
            return Ok(Key::from(hint));
        }
        scratch.clear();
        encode_row(&self.types, key, scratch)?;
        Ok(Key::from(&scratch[..]))
    }

    fn row_hash(&self, key: &[Datum]) -> Result<u64> {
        partition_hash(self.types.iter().copied().zip(key))
    }
}

#[cold]
fn other_strategy() -> Error {
    Error::internal("partition's bound is not of its parent's strategy")
}
