//! A partitioned table's foreign keys on its partitions (CloneForeignKeyConstraints).
//!
//! Each partition has a constraint of its own, whose parent is the constraint of the partitioned
//! table. If a table has an equal constraint when it is attached, that one gets the parent. A
//! detached partition keeps its constraint, without the parent.

use super::super::{DdlContext, partition};
use super::rows::KeysOfRows;
use super::{for_partition, new_triggers, rows};
use std::sync::Arc;
use steppe_catalog::{Catalog, Constraint, ConstraintKind, Reference, RelKind, Relation};
use steppe_exec::stored::ReferencedKeys;
use steppe_txn::RelationLockMode;
use steppe_types::{Error, Oid, Result, SqlState};

/// Adds a partitioned table's new foreign key to all its partitions. Returns the new ones.
pub(super) fn add_below(
    ctx: &mut DdlContext<'_>,
    table: &Relation,
    constraint: &Constraint,
) -> Result<Vec<(Arc<Relation>, Constraint)>> {
    let mut added = Vec::new();
    if table.kind != RelKind::PartitionedTable {
        return Ok(added);
    }
    for child in partition::children(ctx, table.oid)? {
        let child = ctx.lock_current(child.oid, RelationLockMode::ShareRowExclusive)?;
        let mut child = (*child).clone();
        let own = clone_one(ctx, table, constraint, &mut child)?;
        ctx.put(child.clone())?;
        let below = add_below(ctx, &child, &own.constraint)?;
        if !own.was_there {
            added.push((Arc::new(child), own.constraint));
        }
        added.extend(below);
    }
    Ok(added)
}

/// A partition's constraint whose parent is the partitioned table's.
struct Cloned {
    constraint: Constraint,
    /// The partition had the constraint before.
    was_there: bool,
}

/// Gives a partition its parent's foreign key, which may be there (tryAttachPartitionForeignKey).
fn clone_one(
    ctx: &mut DdlContext<'_>,
    parent: &Relation,
    constraint: &Constraint,
    child: &mut Relation,
) -> Result<Cloned> {
    let (columns, key) = for_partition(child, parent, constraint)?;
    let is_equal = |own: &&mut Constraint| {
        own.parent == 0
            && own.columns == columns
            && own.foreign_key().is_some_and(|own_key| **own_key == *key)
            && own.not_valid == constraint.not_valid
    };
    if let Some(own) = child.constraints.iter_mut().find(is_equal) {
        (own.parent, own.inherit_count, own.local) = (constraint.oid, 1, false);
        return Ok(Cloned { constraint: own.clone(), was_there: true });
    }
    let is_taken = child.constraints.iter().any(|own| own.name == constraint.name);
    let name = match is_taken {
        false => constraint.name.to_string(),
        true => {
            let own: Vec<&str> = child.constraints.iter().map(|own| &*own.name).collect();
            ctx.catalog().free_constraint_name(child.schema, (&constraint.name, "", ""), &own)
        }
    };
    let kind = ConstraintKind::ForeignKey(key);
    let own = Constraint::new(ctx.store.new_oid()?, name, kind, columns).inherited();
    let (parent, key_triggers) = (constraint.oid, Some(new_triggers(ctx)?));
    let own = Constraint { parent, not_valid: constraint.not_valid, key_triggers, ..own };
    child.constraints.push(own.clone());
    Ok(Cloned { constraint: own, was_there: false })
}

/// Gives a new partition, without rows, its parent's foreign keys.
pub(in super::super) fn clone_to_partition(
    ctx: &mut DdlContext<'_>,
    parent: &Relation,
    table: &mut Relation,
) -> Result<()> {
    for (constraint, _) in parent.foreign_keys() {
        clone_one(ctx, parent, constraint, table)?;
    }
    Ok(())
}

/// Gives a table that becomes a partition, and its own partitions, the parent's foreign keys. Their
/// rows must have their keys.
pub(in super::super) fn attach(
    ctx: &mut DdlContext<'_>,
    parent: &Relation,
    table: &mut Relation,
) -> Result<()> {
    let theirs: Vec<Constraint> = parent.foreign_keys().map(|(own, _)| own.clone()).collect();
    for constraint in theirs {
        if let Some(key) = constraint.foreign_key() {
            ctx.lock(key.table, RelationLockMode::ShareRowExclusive)?;
        }
        let own = clone_one(ctx, parent, &constraint, table)?;
        ctx.put(table.clone())?;
        let below = add_below(ctx, table, &own.constraint)?;
        if !own.was_there && !constraint.not_valid {
            rows::check(ctx, &Arc::new(table.clone()), &own.constraint)?;
        }
        for (partition, constraint) in below.iter().filter(|_| !constraint.not_valid) {
            rows::check(ctx, partition, constraint)?;
        }
    }
    Ok(())
}

/// The constraints on the partitions whose parent is a table's constraint, level by level.
pub(super) fn own_below(
    ctx: &mut DdlContext<'_>,
    table: &Relation,
    constraint: &Constraint,
) -> Result<Vec<(Arc<Relation>, Constraint)>> {
    let mut found = Vec::new();
    for child in partition::children(ctx, table.oid)? {
        let own = child.constraints.iter().find(|own| own.parent == constraint.oid).cloned();
        found.extend(own.map(|own| (child, own)));
    }
    Ok(found)
}

/// 23503 if a row refers to a row of a partition that is about to be detached
/// (RI_PartitionRemove_Check).
pub(in super::super) fn check_detached(
    ctx: &mut DdlContext<'_>,
    parent: &Relation,
    partition: &Arc<Relation>,
) -> Result<()> {
    let catalog = ctx.catalog();
    let leaves: Vec<Oid> = catalog.descendants(partition).iter().map(|table| table.oid).collect();
    let mut at = Some(parent.oid);
    while let Some(table) = at.and_then(|oid| catalog.relation(oid)) {
        for reference in catalog.referencing(table.oid) {
            ctx.lock(reference.table.oid, RelationLockMode::Share)?;
            check_none_refers(ctx, reference, (partition, &leaves), &catalog)?;
        }
        at = table.partition_of.as_ref().map(|of| of.parent);
    }
    Ok(())
}

/// 23503 if a row of a referencing table refers to one of these leaves.
fn check_none_refers(
    ctx: &mut DdlContext<'_>,
    reference: Reference<'_>,
    (partition, leaves): (&Relation, &[Oid]),
    catalog: &Arc<Catalog>,
) -> Result<()> {
    let Reference { table, constraint, key } = reference;
    let Some(own) = KeysOfRows::of(table, constraint) else { return Ok(()) };
    let engine = Arc::clone(ctx.store.engine());
    let keys = ReferencedKeys::open(&engine, key, catalog)?;
    let functions = ctx.functions();
    own.for_each(ctx, &mut |(batch, _)| {
        for values in batch {
            let Some(values) = keys.converted(&values.iter().collect::<Vec<_>>()) else { continue };
            let place = keys.place_of(&values, catalog)?;
            if place.is_some_and(|leaf| leaves.contains(&leaf)) {
                let shown = keys.shown(&values, &functions);
                let (name, by) = (&constraint.name, &table.name);
                let message = format!(
                    "removing partition \"{}\" violates foreign key constraint \"{name}\"",
                    partition.name
                );
                return Err(Error::new(SqlState::FOREIGN_KEY_VIOLATION, message)
                    .detail(format!("Key {shown} is still referenced from table \"{by}\"."))
                    .constraint(name));
            }
        }
        Ok(())
    })
}
