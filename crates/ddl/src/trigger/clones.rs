//! The clones that a partitioned table's row triggers have on its partitions
//! (CloneRowTriggersToPartition, DropClonedTriggersFromPartition in tablecmds.c).

use super::super::{DdlContext, partition};
use super::create::{Made, add, replaced_by};
use super::drop::remove;
use steppe_catalog::trigger::{ConstraintTrigger, Trigger};
use steppe_catalog::{RelKind, Relation};
use steppe_txn::RelationLockMode;
use steppe_types::{Oid, Result};

/// Locks all partitions below a table.
pub(super) fn lock_below(
    ctx: &mut DdlContext<'_>,
    table: Oid,
    mode: RelationLockMode,
) -> Result<()> {
    for child in partition::children(ctx, table)? {
        ctx.lock(child.oid, mode)?;
        lock_below(ctx, child.oid, mode)?;
    }
    Ok(())
}

/// Clones a trigger to all partitions below its table, which are locked.
pub(super) fn clone_below(
    ctx: &mut DdlContext<'_>,
    table: &Relation,
    trigger: &Trigger,
    or_replace: bool,
) -> Result<()> {
    for child in partition::children(ctx, table.oid)? {
        ctx.session.check_interrupts()?;
        let replaced = replaced_by(&child, &trigger.name, or_replace, Made::AsClone)?;
        let clone = clone_of(ctx, table, trigger, &child)?;
        let clone = add(ctx, &child, clone, replaced.as_ref())?;
        if child.kind == RelKind::PartitionedTable {
            clone_below(ctx, &child, &clone, or_replace)?;
        }
    }
    Ok(())
}

/// A trigger as a partition has it. It still lacks an OID.
fn clone_of(
    ctx: &mut DdlContext<'_>,
    table: &Relation,
    trigger: &Trigger,
    child: &Relation,
) -> Result<Trigger> {
    let columns = trigger.columns.iter();
    let columns = columns.map(|attnum| partition::attnum_in(child, table, *attnum as usize - 1));
    let constraint = match trigger.constraint {
        Some(of) => Some(ConstraintTrigger { oid: ctx.store.new_oid()?, ..of }),
        None => None,
    };
    Ok(Trigger {
        oid: 0,
        columns: columns.collect::<Result<Vec<i16>>>()?.into(),
        parent: trigger.oid,
        constraint,
        comment: None,
        ..trigger.clone()
    })
}

/// Clones the row triggers of a table to one that has become its partition, and below that.
pub(in super::super) fn clone_to_partition(
    ctx: &mut DdlContext<'_>,
    table: &Relation,
    partition: Oid,
) -> Result<()> {
    for trigger in table.triggers.iter().filter(|trigger| trigger.is_row()) {
        let child = ctx.lock_current(partition, RelationLockMode::ShareRowExclusive)?;
        replaced_by(&child, &trigger.name, false, Made::AsClone)?;
        let clone = clone_of(ctx, table, trigger, &child)?;
        let clone = add(ctx, &child, clone, None)?;
        if child.kind == RelKind::PartitionedTable {
            lock_below(ctx, partition, RelationLockMode::ShareRowExclusive)?;
            clone_below(ctx, &child, &clone, false)?;
        }
    }
    Ok(())
}

/// Gives the clones to a partition that CREATE TABLE makes. The caller puts the partition.
pub(in super::super) fn clone_to_new_partition(
    ctx: &mut DdlContext<'_>,
    table: &Relation,
    partition: &mut Relation,
) -> Result<()> {
    for trigger in table.triggers.iter().filter(|trigger| trigger.is_row()) {
        let oid = ctx.store.new_oid()?;
        let clone = clone_of(ctx, table, trigger, partition)?;
        partition.triggers.push(Trigger { oid, ..clone });
    }
    Ok(())
}

/// Drops the clones of a table that is no partition any more, and those below it.
pub(in super::super) fn drop_clones(ctx: &mut DdlContext<'_>, table: &Relation) -> Result<()> {
    let clones = table.triggers.iter().filter(|trigger| trigger.parent != 0);
    let clones: Vec<Oid> = clones.map(|trigger| trigger.oid).collect();
    clones.into_iter().try_for_each(|trigger| remove(ctx, table.oid, trigger))
}
