//! Counts the changed rows below partitioned tables and inheritance parents.
//!
//! A leaf's changes are counted for the leaf alone. When the background analyzer checks a leaf, it
//! adds the changes since its last check to each of the leaf's ancestors. So a partitioned table of
//! thousands of leaves costs as much as its changed leaves. (PostgreSQL's autovacuum never analyzes
//! such tables: their statistics are as old as the last ANALYZE by hand.)

use std::collections::HashMap;

use serde::{Deserialize, Serialize};
use steppe_catalog::{Catalog, Relation};
use steppe_types::Oid;

use crate::RelationStatistics;

/// The counts of all inheritance trees.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Trees {
    /// Changes of leaves that were added to their ancestors.
    added: HashMap<Oid, u64>,
    /// Changes below tables since these were analyzed.
    below: HashMap<Oid, u64>,
}

impl RelationStatistics {
    /// Adds a table's changes to its ancestors; `changes` counts all changes ever. Returns the
    /// ancestors, each once.
    pub fn add_to_trees(&self, catalog: &Catalog, table: &Relation, changes: u64) -> Vec<Oid> {
        let ancestors = ancestors(catalog, table);
        if ancestors.is_empty() {
            return ancestors;
        }
        let mut trees = self.trees.lock();
        let Trees { added, below } = &mut *trees;
        let more = changes.saturating_sub(added.insert(table.oid, changes).unwrap_or(0));
        for ancestor in &ancestors {
            *below.entry(*ancestor).or_default() += more;
        }
        ancestors
    }

    /// Changes below a table since it was analyzed, as far as they were added.
    pub fn changed_below(&self, table: Oid) -> u64 {
        self.trees.lock().below.get(&table).copied().unwrap_or(0)
    }
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

impl Trees {
    /// A table and all below it have been analyzed.
    pub(super) fn analyzed(&mut self, table: Oid) {
        self.below.remove(&table);
    }

    pub(super) fn forget_all_but(&mut self, catalog: &Catalog) {
        self.added.retain(|table, _| catalog.relation(*table).is_some());
        self.below.retain(|table, _| catalog.relation(*table).is_some());
    }

    /// Restores saved counts.
    pub(super) fn restore(&mut self, saved: Trees) {
        self.added.extend(saved.added);
        self.below.extend(saved.below);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use steppe_catalog::RelKind;

    #[test]
    fn all_ancestors_know_of_a_leafs_changes_once() {
        const BASE: Oid = 16_384;
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
        let counts = RelationStatistics::of_postgres();
        let changed = || [1, 2, 3, 4].map(|oid| counts.changed_below(BASE + oid));
        let mut told = counts.add_to_trees(&catalog, &leaf, 10);
        told.sort_unstable();
        assert_eq!(told, [1, 2, 3].map(|oid| BASE + oid));
        assert_eq!(changed(), [10, 10, 10, 0]);
        counts.add_to_trees(&catalog, &leaf, 12);
        counts.trees.lock().analyzed(BASE + 3);
        counts.add_to_trees(&catalog, &leaf, 15);
        assert_eq!(changed(), [15, 15, 3, 0]);
    }
}
