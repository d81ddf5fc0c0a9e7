//! The properties of partitioned tables, and of tables and indexes that are partitions
//! (pg_partitioned_table, pg_inherits, pg_class.relpartbound).

use crate::relation::Relation;
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use steppe_partition::{PartitionBound, PartitionMap, PartitionStrategy};
use steppe_types::{Oid, Result};

/// PARTITION BY.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PartitionKey {
    /// RANGE, LIST or HASH.
    pub strategy: PartitionStrategy,
    /// The columns of the key.
    pub columns: Vec<PartitionColumn>,
}

/// A column or an expression of a partition key.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PartitionColumn {
    /// Attribute number, 1-based, or 0 for an expression.
    pub attnum: i16,
    /// The expression as SQL text.
    pub expression: Option<Arc<str>>,
    /// The type of the column or expression.
    pub type_oid: Oid,
    /// Collation OID or 0.
    pub collation: Oid,
    /// Operator class as written, if any.
    pub opclass: Option<Arc<str>>,
}

impl PartitionColumn {
    /// The collation of the column or expression in its table, or 0.
    pub fn source_collation(&self, table: &Relation) -> Oid {
        table.collation_of_key(self.attnum, self.type_oid)
    }
}

/// PARTITION OF.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PartitionOf {
    /// The partitioned table or index.
    pub parent: Oid,
    /// FOR VALUES …; `None` for an index.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bound: Option<PartitionBound>,
    /// Whether DETACH CONCURRENTLY has begun and is not finished: new rows are not routed to the
    /// partition, and scans of the parent skip it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub detach_pending: bool,
}

impl PartitionKey {
    /// The types of the key's columns.
    pub fn types(&self) -> Vec<Oid> {
        self.columns.iter().map(|column| column.type_oid).collect()
    }

    /// A map without partitions.
    pub fn empty_map(&self) -> Result<PartitionMap> {
        PartitionMap::new(self.strategy, &self.types())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::relation::{RelKind, Relation};
    use crate::snapshot::Catalog;
    use steppe_partition::{BoundValue, RangeDatum};
    use steppe_types::{Datum, oid};

    fn bound(lower: i32, upper: i32) -> PartitionBound {
        let side = |v| vec![RangeDatum::Value(BoundValue::new(oid::INT4, Datum::Int4(v)))];
        PartitionBound::Range { lower: side(lower), upper: side(upper) }
    }

    fn parent() -> Relation {
        let mut parent = Relation::new(30_000, 2200, "parent", RelKind::PartitionedTable);
        let column = PartitionColumn {
            attnum: 1,
            expression: None,
            type_oid: oid::INT4,
            collation: 0,
            opclass: None,
        };
        parent.partition_key = Some(Arc::new(PartitionKey {
            strategy: PartitionStrategy::Range,
            columns: vec![column],
        }));
        parent
    }

    fn leaf(oid: Oid, bound: PartitionBound) -> Relation {
        let mut leaf = Relation::new(oid, 2200, format!("leaf_{oid}"), RelKind::Table);
        leaf.partition_of =
            Some(PartitionOf { parent: 30_000, bound: Some(bound), detach_pending: false });
        leaf
    }

    fn routed(catalog: &Catalog, key: i32) -> Option<Oid> {
        let map = catalog.partition_map(30_000).expect("sound").expect("partitioned");
        map.route(&[Datum::Int4(key)], &mut Vec::new()).expect("routes")
    }

    /// Partitions may be read before or after their parent.
    #[test]
    fn the_map_follows_the_relations() {
        for parent_first in [true, false] {
            let mut catalog = Catalog::default();
            if parent_first {
                catalog.put_relation(parent());
            }
            catalog.put_relation(leaf(20_000, bound(0, 10)));
            catalog.put_relation(leaf(40_000, bound(10, 20)));
            if !parent_first {
                catalog.put_relation(parent());
            }
            let before = catalog.clone();
            assert_eq!(routed(&catalog, 5), Some(20_000));
            assert_eq!(routed(&catalog, 15), Some(40_000));
            assert_eq!(catalog.children(30_000).collect::<Vec<_>>(), [20_000, 40_000]);
            // A version that changes something else leaves the map unchanged.
            let mut renamed = leaf(20_000, bound(0, 10));
            renamed.name = "renamed".into();
            catalog.put_relation(renamed);
            assert_eq!(routed(&catalog, 5), Some(20_000));
            // One partition is detached, another is dropped.
            catalog.put_relation(Relation { partition_of: None, ..leaf(20_000, bound(0, 10)) });
            catalog.remove_relation(40_000);
            assert_eq!((routed(&catalog, 5), routed(&catalog, 15)), (None, None));
            assert_eq!(catalog.children(30_000).count(), 0);
            assert_eq!(routed(&before, 15), Some(40_000), "older versions stay as they are");
            catalog.remove_relation(30_000);
            assert!(catalog.partition_map(30_000).expect("sound").is_none());
        }
    }

    #[test]
    fn a_catalog_that_contradicts_itself_says_so() {
        let mut catalog = Catalog::default();
        catalog.put_relation(parent());
        catalog.put_relation(leaf(20_000, bound(0, 10)));
        catalog.put_relation(leaf(40_000, bound(5, 20)));
        let error = catalog.partition_map(30_000).expect_err("they overlap");
        assert_eq!(error.sqlstate().as_str(), "XX000");
    }
}
