//! Two parents with the same bounds: rows with equal keys are in partitions of the same bound. So
//! joins and groups by the key can be computed partition by partition.

use crate::bound::PartitionBound;
use crate::key::EncodedBound;
use crate::list::encode;
use crate::map::{PartitionMap, Partitions};
use std::collections::HashMap;
use steppe_types::Result;
use steppe_types::oid::Oid;

impl PartitionMap {
    /// Whether both parents' partitions take the same keys, one by one, and compare keys in the
    /// same way (partition_bounds_equal).
    pub fn has_same_bounds(&self, other: &PartitionMap) -> bool {
        let alike = self.types() == other.types()
            && self.len() == other.len()
            && self.default.is_some() == other.default.is_some();
        alike
            && match (&self.partitions, &other.partitions) {
                (Partitions::Range(a), Partitions::Range(b)) => {
                    let (a, b) = (a.all(), b.all());
                    a.map(|(lower, p)| (lower, &p.upper)).eq(b.map(|(lower, p)| (lower, &p.upper)))
                }
                (Partitions::List(a), Partitions::List(b)) => {
                    let mut partner: HashMap<Oid, Oid> = HashMap::new();
                    let mut is_partner = |a: Oid, b: Oid| *partner.entry(a).or_insert(b) == b;
                    let nulls = match (a.null(), b.null()) {
                        (Some(a), Some(b)) => is_partner(a.relation, b.relation),
                        (a, b) => a.is_none() && b.is_none(),
                    };
                    nulls
                        && a.by_value.len() == b.by_value.len()
                        && a.all()
                            .zip(b.all())
                            .all(|((x, a), (y, b))| x == y && is_partner(a.relation, b.relation))
                }
                (Partitions::Hash(a), Partitions::Hash(b)) => {
                    let bound = |p: &crate::hash::HashPartition| (p.modulus, p.remainder);
                    a.all().map(bound).eq(b.all().map(bound))
                }
                _ => false,
            }
    }

    /// The partition that has a bound, of a parent with the same bounds.
    pub fn with_bound(&self, bound: &PartitionBound) -> Result<Option<Oid>> {
        Ok(match (&self.partitions, bound) {
            (_, PartitionBound::Default) => self.default,
            (Partitions::Range(partitions), PartitionBound::Range { lower, .. }) => {
                let lower = EncodedBound::new(self.types(), lower)?;
                partitions.by_lower.get(&lower.key).map(|partition| partition.relation)
            }
            (Partitions::List(partitions), PartitionBound::List { values }) => {
                let Some(value) = values.first() else { return Ok(None) };
                match encode(self.types()[0], value)? {
                    Some(key) => partitions.route(&key),
                    None => partitions.null().map(|partition| partition.relation),
                }
            }
            (Partitions::Hash(partitions), PartitionBound::Hash { remainder, .. }) => {
                // A hash below the modulus is its own remainder.
                partitions.find(u64::from(*remainder)).map(|partition| partition.relation)
            }
            _ => None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bound::{BoundValue, RangeDatum};
    use crate::map::PartitionStrategy;
    use steppe_types::{Datum, oid};

    fn int(value: i32) -> BoundValue {
        BoundValue::new(oid::INT4, Datum::Int4(value))
    }

    fn map(strategy: PartitionStrategy, bounds: &[PartitionBound], first: Oid) -> PartitionMap {
        let mut map = PartitionMap::new(strategy, &[oid::INT4]).expect("one column");
        for (number, bound) in bounds.iter().enumerate() {
            map.attach(first + number as Oid, bound).expect("no overlap");
        }
        map
    }

    #[test]
    fn partitions_correspond_by_their_bounds() {
        let range = |lower, upper| PartitionBound::Range {
            lower: vec![RangeDatum::Value(int(lower))],
            upper: vec![RangeDatum::Value(int(upper))],
        };
        let list = |values: &[i32]| PartitionBound::List {
            values: values.iter().map(|value| int(*value)).collect(),
        };
        let hash = |modulus, remainder| PartitionBound::Hash { modulus, remainder };
        let cases = [
            (
                PartitionStrategy::Range,
                vec![range(0, 10), range(10, 20), PartitionBound::Default],
                vec![range(0, 10), range(10, 21), PartitionBound::Default],
            ),
            (
                PartitionStrategy::List,
                vec![list(&[1, 4]), list(&[2, 3])],
                vec![list(&[1, 3]), list(&[2, 4])],
            ),
            (
                PartitionStrategy::Hash,
                vec![hash(4, 1), hash(2, 0), hash(4, 3)],
                vec![hash(4, 1), hash(2, 0), hash(8, 3)],
            ),
        ];
        for (strategy, bounds, others) in cases {
            let turned: Vec<PartitionBound> = bounds.iter().rev().cloned().collect();
            let (a, b) = (map(strategy, &bounds, 100), map(strategy, &turned, 200));
            assert!(a.has_same_bounds(&b));
            assert!(!a.has_same_bounds(&map(strategy, &others, 300)));
            assert!(!a.has_same_bounds(&map(strategy, &bounds[1..], 300)));
            for (number, bound) in turned.iter().enumerate() {
                let found = b.with_bound(bound).expect("a bound of that kind");
                assert_eq!(found, Some(200 + number as Oid));
            }
        }
    }
}
