//! Partitioned tables made by hand.

use super::World;
use std::sync::Arc;
use steppe_catalog::{PUBLIC, PartitionColumn, PartitionKey, PartitionOf, RelKind, Relation};
use steppe_partition::{BoundValue, PartitionBound, PartitionStrategy, RangeDatum};
use steppe_types::{Datum, Oid, oid};

pub fn relation(w: &World, name: &str) -> Relation {
    (**w.catalog.relation_named(PUBLIC, name).expect("relation exists")).clone()
}

/// Makes a table that is partitioned by the range of its column `id` out of a plain one.
pub fn partition(w: &mut World, name: &str) -> Oid {
    let mut table = relation(w, name);
    let attnum = table.column_index("id").expect("has the column") as i16 + 1;
    let key = PartitionColumn {
        attnum,
        expression: None,
        type_oid: oid::INT4,
        collation: 0,
        opclass: None,
    };
    table.kind = RelKind::PartitionedTable;
    table.partition_key =
        Some(Arc::new(PartitionKey { strategy: PartitionStrategy::Range, columns: vec![key] }));
    (table.storage, table.overflow) = (None, None);
    for index in &table.indexes {
        let mut index = (**w.catalog.relation(*index).expect("index exists")).clone();
        index.kind = RelKind::PartitionedIndex;
        index.storage = None;
        w.catalog.put_relation(index);
    }
    let oid = table.oid;
    w.catalog.put_relation(table);
    oid
}

pub fn attach(w: &mut World, parent: &str, name: &str, lower: i32, upper: i32) {
    let side = |v| vec![RangeDatum::Value(BoundValue::new(oid::INT4, Datum::Int4(v)))];
    let bound = PartitionBound::Range { lower: side(lower), upper: side(upper) };
    let parent = relation(w, parent).oid;
    let mut table = relation(w, name);
    table.partition_of = Some(PartitionOf { parent, bound: Some(bound), detach_pending: false });
    w.catalog.put_relation(table);
}

pub fn attach_index(w: &mut World, parent: &str, name: &str) {
    let parent = relation(w, parent).oid;
    let mut index = relation(w, name);
    index.partition_of = Some(PartitionOf { parent, bound: None, detach_pending: false });
    w.catalog.put_relation(index);
}

/// `p1` is as its parent; `p2` has the columns in another order, one dropped, and no index on v.
pub fn partitioned() -> World {
    let mut w = World::new();
    let indexes: &[(&str, bool, &[&str])] = &[("p_pkey", true, &["id"]), ("p_v", false, &["v"])];
    w.table("p", &["id int4 not-null", "v int4", "s text"], indexes);
    partition(&mut w, "p");
    let indexes: &[(&str, bool, &[&str])] = &[("p1_pkey", true, &["id"]), ("p1_v", false, &["v"])];
    w.table("p1", &["id int4 not-null", "v int4", "s text"], indexes);
    w.table(
        "p2",
        &["s text", "x int4", "v int4", "id int4 not-null"],
        &[("p2_pkey", true, &["id"])],
    );
    let mut p2 = relation(&w, "p2");
    p2.columns[1].dropped = true;
    p2.columns[1].name = "........pg.dropped.2........".into();
    w.catalog.put_relation(p2);
    attach(&mut w, "p", "p1", 0, 100);
    attach(&mut w, "p", "p2", 100, 200);
    for (parent, index) in [("p_pkey", "p1_pkey"), ("p_pkey", "p2_pkey"), ("p_v", "p1_v")] {
        attach_index(&mut w, parent, index);
    }
    w
}
