//! DETACH PARTITION: the table stays, with its indexes and constraints as its own.
//!
//! DETACH CONCURRENTLY uses two transactions, so that no session waits. The first takes the
//! partition out of its parent's map and gives it its bound as a CHECK constraint. Statements that
//! start afterwards do not know the partition. The second waits for the transactions that used the
//! parent before, and completes the detach. If the second does not run, FINALIZE does the same.
//!
//! A column or constraint that the parent gets in between is not given to the partition. PostgreSQL
//! refuses to complete the detach if the partition lacks one of the parent's. Here it completes.

use super::super::{DdlContext, constraint, foreign_key, trigger};
use super::{map_of, require_partitioned};
use std::sync::Arc;
use steppe_catalog::{PartitionOf, Relation};
use steppe_functions::{Lists, partition_condition};
use steppe_partition::PartitionStrategy;
use steppe_sql::ast::{AlterTableCommand, AlterTableStmt, RangeVar, Statement};
use steppe_sql::bind::parse_expression;
use steppe_txn::RelationLockMode;
use steppe_types::{Error, Oid, Result, SqlState};

/// DETACH PARTITION.
pub(crate) fn detach(ctx: &mut DdlContext<'_>, parent: &Relation, name: &RangeVar) -> Result<()> {
    let partition = ctx.open(name, RelationLockMode::AccessExclusive)?;
    if partition_of(parent, &partition)?.detach_pending {
        return Err(not_in_state(format!("cannot detach partition \"{}\"", partition.name))
            .detail("The partition is being detached concurrently or has an unfinished detach.")
            .hint(FINALIZE));
    }
    foreign_key::check_detached(ctx, parent, &partition)?;
    cut(ctx, &partition)
}

/// DETACH PARTITION … FINALIZE.
pub(crate) fn finalize(ctx: &mut DdlContext<'_>, parent: &Relation, name: &RangeVar) -> Result<()> {
    let partition = ctx.open(name, RelationLockMode::ShareUpdateExclusive)?;
    if !partition_of(parent, &partition)?.detach_pending {
        let message = format!("cannot complete detaching partition \"{}\"", partition.name);
        return Err(not_in_state(message).detail("There's no pending concurrent detach."));
    }
    finish(ctx, parent.oid, &partition)
}

/// A DETACH CONCURRENTLY whose first transaction has committed.
pub struct Detaching {
    parent: Oid,
    partition: Oid,
}

/// The ALTER TABLE … DETACH PARTITION … CONCURRENTLY that a statement is.
pub fn detaches_concurrently(statement: &Statement) -> Option<&AlterTableStmt> {
    let Statement::AlterTable(alter) = statement else { return None };
    concurrent(alter).map(|_| &**alter)
}

fn concurrent(alter: &AlterTableStmt) -> Option<&RangeVar> {
    match alter.commands.as_slice() {
        [AlterTableCommand::DetachPartition { partition, concurrently: true, .. }] => {
            Some(partition)
        }
        _ => None,
    }
}

/// The first transaction of DETACH CONCURRENTLY. `None`: there is no such table, and IF EXISTS
/// says that's fine.
pub fn begin_detach(ctx: &mut DdlContext<'_>, alter: &AlterTableStmt) -> Result<Option<Detaching>> {
    let name = concurrent(alter).ok_or_else(|| Error::internal("nothing is to be detached"))?;
    let mode = RelationLockMode::ShareUpdateExclusive;
    let Some(parent) = super::super::alter::open_altered(ctx, alter, mode)? else {
        return Ok(None);
    };
    check_not_detaching(&parent)?;
    require_partitioned(&parent, "DETACH PARTITION")?;
    let catalog = ctx.catalog();
    if map_of(&catalog, parent.oid)?.default_partition().is_some() {
        return Err(not_in_state(
            "cannot detach partitions concurrently when a default partition exists",
        ));
    }
    let partition = ctx.open(name, mode)?;
    partition_of(&parent, &partition)?;
    foreign_key::check_detached(ctx, &parent, &partition)?;
    check_none_pending(ctx, &parent)?;
    mark(ctx, &parent, &partition)?;
    Ok(Some(Detaching { parent: parent.oid, partition: partition.oid }))
}

/// Only one partition is detached at a time.
fn check_none_pending(ctx: &mut DdlContext<'_>, parent: &Relation) -> Result<()> {
    let catalog = ctx.catalog();
    let Some(pending) = catalog.pending_detaches(parent.oid).next() else { return Ok(()) };
    let schema = catalog.schema(parent.schema).map_or("public", |schema| &schema.name);
    Err(not_in_state(format!(
        "partition \"{}\" already pending detach in partitioned table \"{schema}.{}\"",
        pending.name, parent.name
    ))
    .hint(FINALIZE))
}

/// The partition leaves its parent's map, and gets its bound as a constraint.
fn mark(ctx: &mut DdlContext<'_>, parent: &Relation, partition: &Arc<Relation>) -> Result<()> {
    let condition = partition_condition(&ctx.catalog(), partition.oid, Lists::Folded)?;
    let mut marked = (**partition).clone();
    let of = partition_of(parent, partition)?;
    marked.partition_of = Some(PartitionOf { detach_pending: true, ..of.clone() });
    ctx.put(marked.clone())?;
    let is_hash =
        parent.partition_key.as_ref().is_some_and(|k| k.strategy == PartitionStrategy::Hash);
    match condition.filter(|_| !is_hash) {
        Some(condition) => constraint::add_implied(ctx, &mut marked, parse_expression(&condition)?),
        None => Ok(()),
    }
}

/// The second transaction of DETACH CONCURRENTLY.
pub fn finish_detach(ctx: &mut DdlContext<'_>, detaching: &Detaching) -> Result<()> {
    let mode = RelationLockMode::ShareUpdateExclusive;
    for (relation, what) in
        [(detaching.parent, "partitioned table"), (detaching.partition, "partition")]
    {
        ctx.lock(relation, mode)?;
        if ctx.catalog().relation(relation).is_none() {
            return Err(not_in_state(format!("{what} was removed concurrently")));
        }
    }
    let partition = ctx.catalog().relation(detaching.partition).cloned();
    let partition = partition.ok_or_else(|| Error::internal("the partition has gone"))?;
    // Another session may have finished the detach meanwhile, and the partition may have a new
    // parent.
    let is_theirs = |of: &PartitionOf| of.detach_pending && of.parent == detaching.parent;
    match partition.partition_of.as_ref().is_some_and(is_theirs) {
        true => finish(ctx, detaching.parent, &partition),
        false => Ok(()),
    }
}

/// Waits for the transactions that may still know the partition, and completes the detach.
fn finish(ctx: &mut DdlContext<'_>, parent: Oid, partition: &Relation) -> Result<()> {
    let mut users = ctx.txn.users_of(parent);
    while let Some(wait) = ctx.txn.wait_for_users(&mut users) {
        ctx.session.block_on(wait)?;
    }
    ctx.lock(partition.oid, RelationLockMode::AccessExclusive)?;
    let catalog = ctx.catalog();
    let partition = catalog.relation(partition.oid);
    cut(ctx, partition.ok_or_else(|| Error::internal("the partition has gone"))?)
}

fn cut(ctx: &mut DdlContext<'_>, partition: &Arc<Relation>) -> Result<()> {
    let mut table = (**partition).clone();
    table.partition_of = None;
    // An identity is the parent's.
    for column in table.columns.iter_mut().filter(|column| column.identity.is_some()) {
        (column.identity, column.default) = (None, None);
    }
    for constraint in &mut table.constraints {
        (constraint.inherit_count, constraint.local) = (0, true);
        constraint.parent = 0;
    }
    ctx.put(table.clone())?;
    trigger::drop_clones(ctx, &table)?;
    for index in &partition.indexes {
        let catalog = ctx.catalog();
        let index = catalog.relation(*index).filter(|index| index.partition_of.is_some());
        if let Some(index) = index {
            ctx.put(Relation { partition_of: None, ..(**index).clone() })?;
        }
    }
    Ok(())
}

/// 42P01 for what is no partition of the table.
fn partition_of<'p>(parent: &Relation, partition: &'p Relation) -> Result<&'p PartitionOf> {
    let of = partition.partition_of.as_ref().filter(|of| of.parent == parent.oid);
    of.ok_or_else(|| {
        Error::new(
            SqlState::UNDEFINED_TABLE,
            format!(
                "relation \"{}\" is not a partition of relation \"{}\"",
                partition.name, parent.name
            ),
        )
    })
}

/// 55000 for an ALTER TABLE of what is being detached: only FINALIZE, which is of its parent, goes
/// on from there.
pub(crate) fn check_not_detaching(table: &Relation) -> Result<()> {
    match table.is_detaching() {
        true => Err(not_in_state(format!(
            "cannot alter partition \"{}\" with an incomplete detach",
            table.name
        ))
        .hint(FINALIZE)),
        false => Ok(()),
    }
}

const FINALIZE: &str =
    "Use ALTER TABLE ... DETACH PARTITION ... FINALIZE to complete the pending detach operation.";

fn not_in_state(message: impl Into<String>) -> Error {
    Error::new(SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE, message)
}
