//! The shards of a table that is distributed by a hash: ranges of the hash, and the node of each
//! (pg_dist_shard and pg_dist_placement of Citus).
//!
//! ```text
//!   key ──token──▶ 64 bits ──the upper 32, times the number of shards──▶ shard ──▶ node
//! ```
//!
//! A node has one table, with the rows of all its shards: a statement's text is the same wherever
//! it runs, and an index is one. A shard is what moves from node to node.
//!
//! The number of shards of DISTRIBUTE BY HASH is 480: it has all factors up to 6, and 8, 10, 12, 15,
//! 16, 20, 24 and 30, so that these numbers of nodes get equal parts. The parts of any other number
//! up to 32 differ by one shard in fifteen at most. A map takes one kilobyte, and less where it is stored,
//! as runs. A table of Citus has 32, as its users expect to see.
//!
//! A node must be able to tell which rows are in a shard, when the shard moves: [`condition`] is the
//! SQL for it. It has functions and operators of every PostgreSQL from 15 on that are immutable, so
//! that an index and a publication's row filter may have it.
//! One function hashes values of all types, that of arrays. So the token of a value is the hash of
//! an array that has this value only; the token of an array is its own hash.

use serde::{Deserialize, Serialize};
use std::ops::RangeInclusive;
use steppe_types::hashfuncs::hash_value_extended;
use steppe_types::{Datum, Oid, Result, oid};

use crate::builtin;

/// The shards of a table by DISTRIBUTE BY HASH, unless there are more nodes.
pub const SHARDS: usize = 480;
/// The shards of a table by create_distributed_table (citus.shard_count).
pub const CITUS_SHARDS: usize = 32;
/// The most shards of a table (MAX_SHARD_COUNT of Citus).
pub const SHARDS_MAX: usize = 64_000;

/// The seed of the hash.
const SEED: u64 = 0;
/// The hash of an array begins with it (hash_array_extended).
const OF_ARRAY: u64 = 1;
/// A hash is multiplied by it before that of the next element is added.
const STEP: u64 = 31;

/// The node of each shard, as a position among the table's nodes. It is empty for a method without
/// shards, and for a table that was made when a hash still was divided by the number of nodes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "Vec<Run>", into = "Vec<Run>")]
pub struct Shards(Box<[u16]>);

/// Shards that follow each other on one node: the node and their number.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Run(u16, u32);

impl From<Vec<Run>> for Shards {
    fn from(runs: Vec<Run>) -> Shards {
        let of_run = |Run(node, count): Run| std::iter::repeat_n(node, count as usize);
        Shards(runs.into_iter().flat_map(of_run).take(SHARDS_MAX).collect())
    }
}

impl From<Shards> for Vec<Run> {
    fn from(shards: Shards) -> Vec<Run> {
        let alike = shards.0.chunk_by(|one, next| one == next);
        alike.filter_map(|run| Some(Run(*run.first()?, run.len() as u32))).collect()
    }
}

impl Shards {
    /// Equal parts of `count` shards for `nodes` nodes, each the shards that follow each other.
    pub fn even(count: usize, nodes: usize) -> Shards {
        let count = count.min(SHARDS_MAX);
        Shards((0..count).map(|shard| (shard * nodes / count) as u16).collect())
    }

    /// Their number.
    pub fn count(&self) -> usize {
        self.0.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The node of a shard, as a position among the table's nodes.
    pub fn node(&self, shard: usize) -> Option<usize> {
        self.0.get(shard).map(|node| usize::from(*node))
    }

    /// The shard of a token: the product's upper half is below the number of shards.
    pub fn of(&self, token: i64) -> usize {
        let upper = ((token >> 32) - i64::from(i32::MIN)) as u64;
        ((upper * self.0.len() as u64) >> 32) as usize
    }

    /// The tokens of a shard that there is.
    pub fn tokens(&self, shard: usize) -> RangeInclusive<i64> {
        let first = |shard: usize| {
            let upper = ((shard as u64) << 32).div_ceil(self.0.len().max(1) as u64);
            (i128::from(upper) + i128::from(i32::MIN)) << 32
        };
        let (first, next) = (first(shard), first(shard + 1));
        i64::try_from(first).unwrap_or(i64::MAX)..=i64::try_from(next - 1).unwrap_or(i64::MAX)
    }
}

/// The token of a key's value, as [`token_text`] computes it on a node. Error XX000: values of the
/// type have no hash.
pub fn token(type_oid: Oid, value: &Datum) -> Result<i64> {
    let hash = match value {
        Datum::Null => 0,
        value => hash_value_extended(type_oid, value, SEED)?,
    };
    Ok(match value {
        Datum::Array(_) if type_oid != oid::OIDVECTOR => hash,
        _ => (OF_ARRAY * STEP).wrapping_add(hash),
    }
    .cast_signed())
}

/// The SQL for the token of a key that is written as `column`. `None`: the hash of the type is another
/// one on each node, so that only the coordinator has it.
pub fn token_text(column: &str, type_oid: Oid) -> Option<String> {
    let ty = builtin::ty(type_oid)?;
    match type_oid {
        oid::OIDVECTOR => None,
        _ if ty.is_true_array() => {
            let of_null = OF_ARRAY * STEP;
            Some(format!("COALESCE(pg_catalog.hash_array_extended({column}, {SEED}), {of_null})"))
        }
        _ => Some(format!("pg_catalog.hash_array_extended(ARRAY[{column}], {SEED})")),
    }
}

/// The condition by which a node finds the rows of some shards, which are numbers of `shards`, in
/// order. `column` is the key as the condition names it, and `type_oid` is its type. `None`: as of
/// [`token_text`].
pub fn condition(
    shards: &Shards,
    numbers: &[usize],
    column: &str,
    type_oid: Oid,
) -> Option<String> {
    let token = token_text(column, type_oid)?;
    let mut ranges: Vec<RangeInclusive<i64>> = Vec::new();
    for shard in numbers {
        let tokens = shards.tokens(*shard);
        match ranges.last_mut() {
            Some(last) if last.end().checked_add(1) == Some(*tokens.start()) => {
                *last = *last.start()..=*tokens.end();
            }
            _ => ranges.push(tokens),
        }
    }
    let within = |range: &RangeInclusive<i64>| {
        // The least number is no literal: its digits without the sign are too many.
        match (*range.start(), *range.end()) {
            (i64::MIN, i64::MAX) => "true".to_owned(),
            (i64::MIN, end) => format!("{token} <= {}", literal(end)),
            (start, end) => format!("{token} BETWEEN {} AND {}", literal(start), literal(end)),
        }
    };
    match ranges.is_empty() {
        true => Some("false".to_owned()),
        false => Some(ranges.iter().map(within).collect::<Vec<_>>().join(" OR ")),
    }
}

/// A number as a literal of type bigint.
fn literal(number: i64) -> String {
    format!("'{number}'::pg_catalog.int8")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_token_is_in_the_range_of_its_shard_alone() {
        for count in [1, 2, 3, 7, 32, SHARDS, 997, SHARDS_MAX] {
            let shards = Shards::even(count, 1);
            let mut next = i128::from(i64::MIN);
            for shard in 0..count {
                let tokens = shards.tokens(shard);
                assert_eq!(i128::from(*tokens.start()), next, "{shard} of {count}");
                assert_eq!(shards.of(*tokens.start()), shard);
                assert_eq!(shards.of(*tokens.end()), shard);
                next = i128::from(*tokens.end()) + 1;
            }
            assert_eq!(next, i128::from(i64::MAX) + 1, "{count} shards have all tokens");
        }
    }

    #[test]
    fn parts_are_even() {
        for nodes in 1..=32 {
            let shards = Shards::even(SHARDS, nodes);
            let mut parts = vec![0usize; nodes];
            (0..SHARDS).for_each(|shard| parts[shards.node(shard).unwrap()] += 1);
            let (least, most) = (parts.iter().min().unwrap(), parts.iter().max().unwrap());
            assert!(most - least <= 1, "{nodes} nodes: {parts:?}");
        }
    }

    #[test]
    fn they_are_stored_as_runs() {
        let shards = Shards::even(SHARDS, 3);
        let stored = serde_json::to_string(&shards).unwrap();
        assert_eq!(stored, "[[0,160],[1,160],[2,160]]");
        assert_eq!(serde_json::from_str::<Shards>(&stored).unwrap(), shards);
    }

    #[test]
    fn ranges_that_touch_are_one() {
        let shards = Shards::even(4, 2);
        let of = |numbers: &[usize]| condition(&shards, numbers, "k", oid::INT4).unwrap();
        assert_eq!(of(&[]), "false");
        assert_eq!(of(&[0, 1, 2, 3]), "true");
        let token = "pg_catalog.hash_array_extended(ARRAY[k], 0)";
        assert_eq!(of(&[0, 1]), format!("{token} <= '-1'::pg_catalog.int8"));
        assert_eq!(of(&[1, 3]).matches("BETWEEN").count(), 2);
        assert_eq!(condition(&shards, &[1], "k", oid::OIDVECTOR), None);
    }
}
