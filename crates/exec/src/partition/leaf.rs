//! Locks a leaf before its first use, and finds its present definition.

use crate::context::ExecContext;
use std::sync::Arc;
use steppe_catalog::{Catalog, Relation};
use steppe_sql::plan::{PlannedStmt, RelationLock};
use steppe_txn::RelationLockMode;
use steppe_types::{Oid, Result};

/// The lock that a statement takes on a relation.
pub fn lock_mode(lock: RelationLock) -> RelationLockMode {
    match lock {
        RelationLock::AccessShare => RelationLockMode::AccessShare,
        RelationLock::RowShare => RelationLockMode::RowShare,
        RelationLock::RowExclusive => RelationLockMode::RowExclusive,
        RelationLock::ShareRowExclusive => RelationLockMode::ShareRowExclusive,
    }
}

/// The lock that a statement takes on a relation, and on the leaves of it that it touches.
pub(crate) fn lock_mode_of(stmt: &PlannedStmt, relation: Oid) -> RelationLockMode {
    let found = stmt.relations.iter().find(|(oid, _)| *oid == relation);
    found.map_or(RelationLockMode::AccessShare, |(_, lock)| lock_mode(*lock))
}

/// A leaf that is locked.
pub(crate) struct LockedLeaf {
    pub(crate) relation: Arc<Relation>,
    /// The catalog in force. During the wait for the lock, other transactions may have changed the
    /// leaf.
    pub(crate) catalog: Arc<Catalog>,
    /// The leaf is unchanged since the statement was planned.
    pub(crate) is_planned: bool,
}

impl LockedLeaf {
    /// Locks a leaf of a table in the mode of the table's lock. `None`: it is no longer a
    /// partition. (Inheritance children are locked when the statement starts, and stay children.)
    pub(crate) fn lock(
        cx: &mut ExecContext,
        leaf: Oid,
        of: &Relation,
        mode: RelationLockMode,
    ) -> Result<Option<LockedLeaf>> {
        let newer = lock_leaf(cx, leaf, mode)?;
        Ok(LockedLeaf::in_force(cx, newer, leaf, of))
    }

    /// The present definition of a leaf that is already locked; `None` as for [`Self::lock`].
    pub(crate) fn held(cx: &ExecContext, leaf: Oid, of: &Relation) -> Option<LockedLeaf> {
        let newer = cx.functions.session.newer_catalog(&cx.functions.catalog);
        LockedLeaf::in_force(cx, newer, leaf, of)
    }

    fn in_force(
        cx: &ExecContext,
        newer: Option<Arc<Catalog>>,
        leaf: Oid,
        of: &Relation,
    ) -> Option<LockedLeaf> {
        let is_planned = newer.is_none();
        let catalog = newer.unwrap_or_else(|| cx.functions.catalog.clone());
        let relation = leaf_in(&catalog, leaf, of).cloned();
        relation.map(|relation| LockedLeaf { relation, catalog, is_planned })
    }
}

/// Locks a leaf. Returns the catalog then in force, if it is not the statement's.
pub(crate) fn lock_leaf(
    cx: &mut ExecContext,
    leaf: Oid,
    mode: RelationLockMode,
) -> Result<Option<Arc<Catalog>>> {
    if let Some(wait) = cx.txn()?.txn.lock_relation(leaf, mode)? {
        cx.functions.session.block_on(wait)?;
    }
    cx.newer_catalog()
}

/// A leaf of a table, unless it is no longer a partition.
pub(crate) fn leaf_in<'c>(
    catalog: &'c Catalog,
    leaf: Oid,
    of: &Relation,
) -> Option<&'c Arc<Relation>> {
    let belongs = |leaf: &&Arc<Relation>| of.partition_key.is_none() || leaf.partition_of.is_some();
    catalog.relation(leaf).filter(belongs)
}

/// Whether an index belongs to a partitioned one, at any level above.
pub(crate) fn index_above(catalog: &Catalog, index: &Relation, above: Oid) -> bool {
    let parent_of = |index: &Relation| index.partition_of.as_ref().map(|of| of.parent);
    let mut parent = parent_of(index);
    while let Some(oid) = parent.filter(|oid| *oid != above) {
        parent = catalog.relation(oid).and_then(|index| parent_of(index));
    }
    parent.is_some()
}
