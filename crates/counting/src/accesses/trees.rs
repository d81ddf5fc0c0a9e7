//! How many rows have changed below tables that others are partitions of or inherit from.
//!
//! A leaf's changes are counted where they happen, and its ancestors know nothing of them. When the
//! background analyzer looks at a leaf, what has come since it last did so is added to each of the
//! leaf's ancestors. So a partitioned table of thousands of leaves costs what its changed leaves
//! cost. (PostgreSQL's autovacuum never analyzes such tables: their statistics are as old as the
//! last ANALYZE by hand.)

use std::collections::HashMap;

use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use steppe_catalog::{Catalog, Relation};
use steppe_types::Oid;

/// What is known of all trees.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Trees {
    /// Changes of leaves that their ancestors know of.
    added: HashMap<Oid, u64>,
    /// Changes below tables since these were analyzed.
    below: HashMap<Oid, u64>,
}

static TREES: Mutex<Option<Trees>> = Mutex::new(None);

/// A table has seen so many changes in all, of which its ancestors are to know. Returns these, each
/// once.
pub fn add_to_trees(catalog: &Catalog, table: &Relation, changes: u64) -> Vec<Oid> {
    let ancestors = ancestors(catalog, table);
    if ancestors.is_empty() {
        return ancestors;
    }
    let mut trees = TREES.lock();
    let Trees { added, below } = trees.get_or_insert_default();
    let more = changes.saturating_sub(added.insert(table.oid, changes).unwrap_or(0));
    for ancestor in &ancestors {
        *below.entry(*ancestor).or_default() += more;
    }
    ancestors
}

fn ancestors(catalog: &Catalog, table: &Relation) -> Vec<Oid> {
    let mut found: Vec<Oid> = table.parents().collect();
    let mut at = 0;
    while let Some(parent) = found.get(at).and_then(|parent| catalog.relation(*parent)) {
        let new: Vec<Oid> = parent.parents().filter(|oid| !found.contains(oid)).collect();
        found.extend(new);
        at += 1;
    }
    found
}

/// Changes below a table since it was analyzed, as far as they were added.
pub fn changed_below(table: Oid) -> u64 {
    TREES.lock().as_ref().and_then(|trees| trees.below.get(&table).copied()).unwrap_or(0)
}

/// A table and all below it have been analyzed.
pub(super) fn analyzed(table: Oid) {
    if let Some(trees) = &mut *TREES.lock() {
        trees.below.remove(&table);
    }
}

pub(super) fn forget_all_but(catalog: &Catalog) {
    if let Some(Trees { added, below }) = &mut *TREES.lock() {
        added.retain(|table, _| catalog.relation(*table).is_some());
        below.retain(|table, _| catalog.relation(*table).is_some());
    }
}

impl Trees {
    /// What is known now.
    pub(super) fn now() -> Trees {
        TREES.lock().clone().unwrap_or_default()
    }

    /// Knows it again.
    pub(super) fn restore(self) {
        let mut trees = TREES.lock();
        let known = trees.get_or_insert_default();
        known.added.extend(self.added);
        known.below.extend(self.below);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use steppe_catalog::RelKind;

    #[test]
    fn all_ancestors_know_of_a_leafs_changes_once() {
        const BASE: Oid = 3_400_000_000;
        let mut catalog = Catalog::default();
        let mut put = |oid: Oid, parents: &[Oid]| {
            let mut table = Relation::new(BASE + oid, 0, format!("t{oid}"), RelKind::Table);
            table.inherits = parents.iter().map(|parent| BASE + parent).collect::<Vec<_>>().into();
            catalog.put_relation(std::sync::Arc::new(table.clone()));
            table
        };
        put(1, &[]);
        put(2, &[1]);
        put(3, &[1]);
        let leaf = put(4, &[2, 3]);
        let changed = || [1, 2, 3, 4].map(|oid| changed_below(BASE + oid));
        let mut told = add_to_trees(&catalog, &leaf, 10);
        told.sort_unstable();
        assert_eq!(told, [1, 2, 3].map(|oid| BASE + oid));
        assert_eq!(changed(), [10, 10, 10, 0]);
        add_to_trees(&catalog, &leaf, 12);
        analyzed(BASE + 3);
        add_to_trees(&catalog, &leaf, 15);
        assert_eq!(changed(), [15, 15, 3, 0]);
    }
}
