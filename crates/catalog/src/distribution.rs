//! The distribution of a table's rows over data nodes (pgxc_class of Postgres-XL, locator.c).
//!
//! A distributed table has a table of the same schema and name on each of its nodes, and no rows on
//! the coordinator: it has no file there, nor have its indexes. One function says where a row is
//! ([`Distribution::place`]): INSERT, routing and COPY all ask it, so that a row is found where it
//! was put. A hash leads to a shard, and the shard to a node ([`shards`]).

pub mod shards;

use crate::relation::Relation;
use crate::{OperatorRef, builtin};
use serde::{Deserialize, Serialize};
use shards::Shards;
use steppe_types::hashfuncs::partition_hash;
use steppe_types::{Datum, Error, Oid, Result, SqlState, oid};

/// How the node of a row is found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum DistributionMethod {
    /// By the hash of the key.
    Hash,
    /// By the remainder of the key, an integer, on division by the number of nodes.
    Modulo,
    /// Each row on the next node: its place tells nothing about it.
    RoundRobin,
    /// Each row on every node.
    Replicated,
}

impl DistributionMethod {
    /// pgxc_class.pclocatortype
    pub fn code(self) -> u8 {
        match self {
            DistributionMethod::Hash => b'H',
            DistributionMethod::Modulo => b'M',
            DistributionMethod::RoundRobin => b'N',
            DistributionMethod::Replicated => b'R',
        }
    }

    /// Whether values of a type may be the key.
    pub fn takes(self, type_oid: Oid) -> bool {
        match self {
            DistributionMethod::Hash => {
                let equal = builtin::ordering(type_oid).map(|ordering| ordering.eq);
                let equal = equal.and_then(OperatorRef::built_in);
                equal.is_some_and(|operator| operator.can_hash)
            }
            DistributionMethod::Modulo => {
                matches!(type_oid, oid::INT2 | oid::INT4 | oid::INT8)
            }
            DistributionMethod::RoundRobin | DistributionMethod::Replicated => false,
        }
    }
}

/// Where the rows of a table are.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Distribution {
    /// The method.
    pub method: DistributionMethod,
    /// The attribute number of the key; 0 if the method has none.
    pub key: i16,
    /// The OIDs of the nodes. Their order is part of the method.
    pub nodes: Box<[Oid]>,
    /// The shards of a hash.
    #[serde(default, skip_serializing_if = "Shards::is_empty")]
    pub shards: Shards,
    /// The co-location group, or 0. The tables of a group have equal shards and keys of one type. A
    /// shard moves together with the same shard of every table of the group.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub group: u32,
}

fn is_zero(group: &u32) -> bool {
    *group == 0
}

impl Distribution {
    /// A distribution over these nodes; a hash has [`shards::SHARDS`] shards, in equal parts.
    pub fn new(method: DistributionMethod, key: i16, nodes: impl Into<Box<[Oid]>>) -> Distribution {
        let nodes = nodes.into();
        let count = shards::SHARDS.max(nodes.len());
        let shards = match method {
            DistributionMethod::Hash => Shards::even(count, nodes.len()),
            _ => Shards::default(),
        };
        Distribution { method, key, nodes, shards, group: 0 }
    }

    /// The attribute number of the key, if the method has one.
    pub fn key(&self) -> Option<i16> {
        (self.key != 0).then_some(self.key)
    }

    /// Whether every node has all rows.
    pub fn is_replicated(&self) -> bool {
        self.method == DistributionMethod::Replicated
    }

    /// The node (an index of `nodes`) that has the rows with a value of the key, whose type is
    /// `type_oid`. `None`: the method has no key. Error XX000: the type is not one that the method
    /// takes.
    pub fn place(&self, type_oid: Oid, value: &Datum) -> Result<Option<usize>> {
        let count = self.nodes.len() as u64;
        if count == 0 {
            return Err(Error::internal("a distributed table has no node"));
        }
        let number = match (self.method, value) {
            (DistributionMethod::RoundRobin | DistributionMethod::Replicated, _) => {
                return Ok(None);
            }
            (DistributionMethod::Hash, value) if !self.shards.is_empty() => {
                return Ok(self.shards.node(self.shards.of(shards::token(type_oid, value)?)));
            }
            (_, Datum::Null) => 0,
            (DistributionMethod::Hash, value) => partition_hash([(type_oid, value)])? % count,
            (DistributionMethod::Modulo, Datum::Int2(value)) => modulo(i64::from(*value), count),
            (DistributionMethod::Modulo, Datum::Int4(value)) => modulo(i64::from(*value), count),
            (DistributionMethod::Modulo, Datum::Int8(value)) => modulo(*value, count),
            (DistributionMethod::Modulo, _) => {
                return Err(Error::internal("MODULO of a value that is no integer"));
            }
        };
        Ok(Some(usize::try_from(number).unwrap_or(0)))
    }

    /// Whether no two nodes can have equal values of these columns, and one of them at most once: a
    /// node's own unique index is enough.
    pub fn keeps_unique(&self, attnums: &[i16]) -> bool {
        self.is_replicated() || self.key().is_some_and(|key| attnums.contains(&key))
    }

    /// The number of shards. A table without shards of a hash has one on each node, and a replicated
    /// one has one.
    pub fn shard_count(&self) -> usize {
        match self.method {
            DistributionMethod::Replicated => 1,
            _ if self.shards.is_empty() => self.nodes.len(),
            _ => self.shards.count(),
        }
    }

    /// The nodes of a shard, as positions in `nodes`.
    pub fn nodes_of_shard(&self, shard: usize) -> std::ops::Range<usize> {
        let node = match self.method {
            DistributionMethod::Replicated => return 0..self.nodes.len(),
            _ if self.shards.is_empty() => Some(shard),
            _ => self.shards.node(shard),
        };
        node.map_or(0..0, |node| node..node + 1)
    }

    /// The shard that has the rows with a value of the key, as [`Self::place`].
    pub fn shard(&self, type_oid: Oid, value: &Datum) -> Result<Option<usize>> {
        match self.shards.is_empty() {
            true => self.place(type_oid, value),
            false => Ok(Some(self.shards.of(shards::token(type_oid, value)?))),
        }
    }

    /// Whether rows with equal keys of both tables are on the same node, given keys of the types
    /// `types`. Equal values of different types may have different hashes.
    pub fn is_colocated_with(&self, other: &Distribution, types: (Oid, Oid)) -> bool {
        self.key().is_some()
            && self.method == other.method
            && self.nodes == other.nodes
            && self.shards == other.shards
            && (types.0 == types.1 || self.method == DistributionMethod::Modulo)
    }
}

/// The remainder, which is not negative.
fn modulo(value: i64, count: u64) -> u64 {
    i64::try_from(count).map_or(0, |count| value.rem_euclid(count).unsigned_abs())
}

/// A statement that changes a distributed table's tables on its nodes as the catalog was changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeStatement {
    /// The OIDs of the nodes that run it.
    pub nodes: Box<[Oid]>,
    /// Its text.
    pub text: String,
}

impl Relation {
    /// Whether its rows are on data nodes.
    pub fn is_distributed(&self) -> bool {
        self.distribution.is_some()
    }

    /// 0A000 if it is distributed: it has no rows here that `what` could be done to.
    pub fn refuse_distributed(&self, what: &str) -> Result<()> {
        if !self.is_distributed() {
            return Ok(());
        }
        let message = format!("{what} of distributed table \"{}\" is not supported", self.name);
        Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, message))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use steppe_types::oid;

    fn over(method: DistributionMethod, nodes: usize) -> Distribution {
        Distribution::new(method, 1, (1..=nodes as Oid).collect::<Vec<_>>())
    }

    #[test]
    fn a_key_has_one_place() {
        let hash = over(DistributionMethod::Hash, 3);
        let mut seen = [0; 3];
        for i in 0..3000 {
            let place = hash.place(oid::INT4, &Datum::Int4(i)).unwrap().unwrap();
            // int8 folds, so that the hash of an equal value is the same.
            let wide = hash.place(oid::INT8, &Datum::Int8(i.into())).unwrap().unwrap();
            assert_eq!(place, wide);
            seen[place] += 1;
        }
        assert!(seen.iter().all(|count| (800..1200).contains(count)), "{seen:?}");
        let of_null = hash.place(oid::INT4, &Datum::Null).unwrap();
        assert!(of_null.is_some_and(|place| place < 3));
    }

    #[test]
    fn a_table_from_before_there_were_shards_is_read() {
        let stored = r#"{"method":"Hash","key":1,"nodes":[7,8,9]}"#;
        let old: Distribution = serde_json::from_str(stored).unwrap();
        assert_eq!((old.shard_count(), old.group), (3, 0));
        let hash = partition_hash([(oid::INT4, &Datum::Int4(5))]).unwrap();
        let place = old.place(oid::INT4, &Datum::Int4(5)).unwrap();
        assert_eq!(place, Some((hash % 3) as usize));
        assert_eq!(old.nodes_of_shard(2), 2..3);
        let new = over(DistributionMethod::Hash, 3);
        let new = Distribution { nodes: old.nodes.clone(), ..new };
        assert!(!old.is_colocated_with(&new, (oid::INT4, oid::INT4)));
    }

    #[test]
    fn tables_with_equal_maps_are_together() {
        let one = over(DistributionMethod::Hash, 3);
        let ints = (oid::INT4, oid::INT4);
        assert!(one.is_colocated_with(&one.clone(), ints));
        let fewer = Distribution { shards: Shards::even(32, 3), ..one.clone() };
        assert!(!one.is_colocated_with(&fewer, ints));
        assert!(!one.is_colocated_with(&one, (oid::INT4, oid::TEXT)));
    }

    #[test]
    fn the_remainder_of_a_negative_key_is_a_place() {
        let modulo = over(DistributionMethod::Modulo, 3);
        let places: Vec<_> =
            (-4..4).map(|i| modulo.place(oid::INT4, &Datum::Int4(i)).unwrap().unwrap()).collect();
        assert_eq!(places, [2, 0, 1, 2, 0, 1, 2, 0]);
        assert_eq!(modulo.place(oid::INT8, &Datum::Int8(i64::MIN)).unwrap(), Some(1));
        assert!(modulo.place(oid::TEXT, &Datum::Bool(true)).is_err());
    }

    #[test]
    fn a_table_without_a_key_has_no_place_for_a_value() {
        let all = over(DistributionMethod::Replicated, 2);
        assert_eq!(all.place(oid::INT4, &Datum::Int4(7)).unwrap(), None);
        assert!(all.is_replicated());
    }
}
