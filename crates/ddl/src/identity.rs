//! ALTER COLUMN … ADD GENERATED AS IDENTITY, SET GENERATED with the sequence's options, DROP
//! IDENTITY (tablecmds.c). An identity column's default is its own sequence's next value; partitions
//! share their parent's.

use super::alter::Reach;
use super::inherit::{Inheritor, inheritors, invalid_table};
use super::sequence::{self, SequenceOptions};
use super::{DdlContext, drop, not_null, partition};
use std::sync::Arc;
use steppe_catalog::{RelKind, Relation};
use steppe_sql::ast::{ConstraintKind, DefElem, DefValue};
use steppe_txn::RelationLockMode;
use steppe_types::{Error, Oid, Result, SqlState, oid};

fn not_in_state(message: String) -> Error {
    Error::new(SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE, message)
}

/// 42P16 for a change that a partition cannot make by itself, and a partitioned table not with
/// ONLY.
pub(super) fn check_lineage(table: &Relation, what: &str, reach: Reach) -> Result<()> {
    if table.partition_of.is_some() {
        return Err(invalid_table(format!("cannot {what} of a partition")));
    }
    if reach.is_only() && table.kind == RelKind::PartitionedTable {
        return Err(invalid_table(format!("cannot {what} of only the partitioned table"))
            .hint("Do not specify the ONLY keyword."));
    }
    Ok(())
}

/// Gives a partition the identities of its parent: they share its sequences.
pub(super) fn share(parent: &Relation, partition: &mut Relation) -> Result<()> {
    let live = parent.columns.iter().enumerate().filter(|(_, column)| !column.dropped);
    for (position, column) in live.filter(|(_, column)| column.identity.is_some()) {
        let at = partition::attnum_in(partition, parent, position)? as usize - 1;
        partition.columns[at].identity = column.identity;
        partition.columns[at].default = column.default.clone();
    }
    Ok(())
}

/// Stores a table whose identity column has changed, and has its partitions follow.
fn put(ctx: &mut DdlContext<'_>, table: Relation, position: usize) -> Result<()> {
    ctx.put(table.clone())?;
    if table.kind != RelKind::PartitionedTable {
        return Ok(());
    }
    let column = &table.columns[position];
    for Inheritor { table: below, .. } in inheritors(ctx, table.oid)? {
        let mut below = (*below).clone();
        let at = partition::attnum_in(&below, &table, position)? as usize - 1;
        below.columns[at].identity = column.identity;
        below.columns[at].default = column.default.clone();
        ctx.put(below)?;
    }
    Ok(())
}

/// ADD GENERATED … AS IDENTITY.
pub(super) fn add(
    ctx: &mut DdlContext<'_>,
    mut table: Relation,
    position: usize,
    constraint: &ConstraintKind,
) -> Result<()> {
    let ConstraintKind::Identity { always, options } = constraint else {
        return Err(Error::internal("ADD IDENTITY without an identity"));
    };
    let column = &table.columns[position];
    check_type(column.type_oid)?;
    let refused = |what: &str| {
        let named = format!("column \"{}\" of relation \"{}\"", column.name, table.name);
        Err(not_in_state(format!("{named} {what}")))
    };
    if !column.not_null {
        return refused("must be declared NOT NULL before identity can be added");
    }
    not_null::check_valid(&table, position)?;
    if column.identity.is_some() {
        return refused("is already an identity column");
    }
    if column.default.is_some() {
        return refused("already has a default value");
    }
    let options = SequenceOptions::identity(position, column.type_oid, options)?;
    table.columns[position].identity = Some(if *always { 'a' } else { 'd' });
    sequence::create_owned(ctx, &mut table, options)?;
    put(ctx, table, position)
}

/// SET GENERATED, SET with an option of the sequence, RESTART.
pub(super) fn set(
    ctx: &mut DdlContext<'_>,
    mut table: Relation,
    position: usize,
    options: &[DefElem],
) -> Result<()> {
    for (i, option) in options.iter().enumerate() {
        if options[..i].iter().any(|earlier| earlier.name == option.name) {
            let message = "conflicting or redundant options";
            // PostgreSQL knows no place for this one.
            return Err(match &*option.name {
                "generated" => Error::new(SqlState::SYNTAX_ERROR, message),
                _ => ctx.error(SqlState::SYNTAX_ERROR, message, option.location),
            });
        }
    }
    if table.columns[position].identity.is_none() {
        return Err(no_identity(&table, position));
    }
    let is_kind = |option: &&DefElem| option.name == "generated";
    let kind = options.iter().find(is_kind).and_then(|option| match option.value {
        Some(DefValue::Integer(kind)) => u8::try_from(kind).ok(),
        _ => None,
    });
    let of_sequence: Vec<DefElem> = options.iter().filter(|o| !is_kind(o)).cloned().collect();
    if !of_sequence.is_empty() {
        sequence::refuse_name(ctx, &of_sequence)?;
        let sequence = lock_sequence_of(ctx, table.oid, position)?;
        sequence::change(ctx, &sequence, &SequenceOptions::parse(&of_sequence)?)?;
    }
    if let Some(kind) = kind {
        table.columns[position].identity = Some(char::from(kind));
        put(ctx, table, position)?;
    }
    Ok(())
}

/// DROP IDENTITY: the column keeps its values and NOT NULL.
pub(super) fn drop(
    ctx: &mut DdlContext<'_>,
    mut table: Relation,
    position: usize,
    if_exists: bool,
) -> Result<()> {
    if table.columns[position].identity.is_none() {
        return ctx.skip_missing(if_exists, no_identity(&table, position));
    }
    let sequence = sequence_of(ctx, table.oid, position)?;
    table.columns[position].identity = None;
    table.columns[position].default = None;
    put(ctx, table, position)?;
    drop::drop_relation(ctx, sequence)
}

/// 42601: an identity column has no other default.
pub(super) fn refuse_default(table: &Relation, position: usize, sets: bool) -> Error {
    let column = &table.columns[position].name;
    let message =
        format!("column \"{column}\" of relation \"{}\" is an identity column", table.name);
    let error = Error::new(SqlState::SYNTAX_ERROR, message);
    match sets {
        true => error,
        false => error.hint("Use ALTER TABLE ... ALTER COLUMN ... DROP IDENTITY instead."),
    }
}

/// The sequence of an identity column is of the column's type.
pub(super) fn retype_sequence(
    ctx: &mut DdlContext<'_>,
    table: &Relation,
    position: usize,
    type_oid: Oid,
) -> Result<()> {
    check_type(type_oid)?;
    let sequence = lock_sequence_of(ctx, table.oid, position)?;
    sequence::change(ctx, &sequence, &SequenceOptions::of_type(type_oid))
}

/// 22023 for an identity of another type than the integers.
pub(super) fn check_type(type_oid: Oid) -> Result<()> {
    match type_oid {
        oid::INT2 | oid::INT4 | oid::INT8 => Ok(()),
        _ => Err(Error::new(
            SqlState::INVALID_PARAMETER_VALUE,
            "identity column type must be smallint, integer, or bigint",
        )),
    }
}

fn no_identity(table: &Relation, position: usize) -> Error {
    let column = &table.columns[position].name;
    not_in_state(format!(
        "column \"{column}\" of relation \"{}\" is not an identity column",
        table.name
    ))
}

/// The sequence of an identity column, locked as ALTER SEQUENCE does.
fn lock_sequence_of(
    ctx: &mut DdlContext<'_>,
    table: Oid,
    position: usize,
) -> Result<Arc<Relation>> {
    let sequence = sequence_of(ctx, table, position)?;
    ctx.lock(sequence.oid, RelationLockMode::ShareRowExclusive)?;
    // It may have been changed before it was locked.
    sequence_of(ctx, table, position)
}

fn sequence_of(ctx: &mut DdlContext<'_>, table: Oid, position: usize) -> Result<Arc<Relation>> {
    let owner = Some((table, position as i16 + 1));
    let catalog = ctx.catalog();
    let mut referrers = catalog.referrers(table);
    let found = referrers.find(|r| r.sequence.as_ref().is_some_and(|s| s.owned_by == owner));
    found.cloned().ok_or_else(|| Error::internal("identity column without a sequence"))
}
