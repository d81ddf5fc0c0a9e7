//! Sequences: CREATE and ALTER (sequence.c). Their states are in [`steppe_catalog::sequences`].

mod options;

pub(crate) use options::SequenceOptions;

use super::reloptions::invalid;
use super::table::persistence_of_new;
use super::{DdlContext, NameParts, drop};
use steppe_catalog::sequences::{free_cell, sequence_info};
use steppe_catalog::{RelKind, Relation, SequenceInfo};
use steppe_sql::ast::{AlterSequenceStmt, CreateSequenceStmt, DefElem, ObjectName};
use steppe_txn::{Persistence, RelationLockMode};
use steppe_types::{Error, Oid, Result, SqlState, oid};

fn new_sequence(oid: Oid, schema: Oid, name: &str, info: SequenceInfo) -> Relation {
    use steppe_catalog::Column;
    let mut relation = Relation::new(oid, schema, name, RelKind::Sequence);
    relation.columns =
        [("last_value", oid::INT8), ("log_cnt", oid::INT8), ("is_called", oid::BOOL)]
            .into_iter()
            .map(|(name, ty)| {
                let mut column = Column::new(name, ty, -1);
                column.not_null = true;
                column
            })
            .collect();
    relation.sequence = Some(info.into());
    relation
}

/// CREATE SEQUENCE.
pub(crate) fn create_sequence(ctx: &mut DdlContext<'_>, create: &CreateSequenceStmt) -> Result<()> {
    let Some((schema, name)) = ctx.new_name(&create.relation, create.if_not_exists)? else {
        return Ok(());
    };
    refuse_name(ctx, &create.options)?;
    let options = SequenceOptions::parse(&create.options)?;
    let mut info = options.apply(None)?;
    if let Some(owner) = &options.owned_by {
        info.owned_by = owner_of(ctx, owner)?;
    }
    let persistence = persistence_of_new(ctx, &create.relation, schema);
    info.unlogged = persistence == Persistence::Unlogged;
    let oid = ctx.store.new_oid()?;
    ctx.put(new_sequence(oid, schema, &name, info))
}

/// 0A000 for another owner of the sequence of an identity column.
fn check_is_free(ctx: &mut DdlContext<'_>, sequence: &Relation) -> Result<()> {
    let Some((table, attnum)) = sequence.sequence.as_ref().and_then(|info| info.owned_by) else {
        return Ok(());
    };
    let catalog = ctx.catalog();
    let Some(table) = catalog.relation(table) else { return Ok(()) };
    if table.columns[attnum as usize - 1].identity.is_none() {
        return Ok(());
    }
    let message = "cannot change ownership of identity sequence";
    Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, message)
        .detail(format!("Sequence \"{}\" is linked to table \"{}\".", sequence.name, table.name)))
}

/// OWNED BY table.column, or NONE.
fn owner_of(ctx: &mut DdlContext<'_>, name: &ObjectName) -> Result<Option<(Oid, i16)>> {
    let Some((column, table)) = name.parts().split_last().filter(|(_, t)| !t.is_empty()) else {
        if name.name() == "none" {
            return Ok(None);
        }
        return Err(Error::new(SqlState::SYNTAX_ERROR, "invalid OWNED BY option")
            .hint("Specify OWNED BY table.column or OWNED BY NONE."));
    };
    let table = drop::relation_name(&ObjectName(table.to_vec()));
    let table = ctx.open_table(&table, RelationLockMode::AccessShare)?;
    let position = table.column_index(column).ok_or_else(|| {
        Error::new(
            SqlState::UNDEFINED_COLUMN,
            format!("column \"{column}\" of relation \"{}\" does not exist", table.name),
        )
    })?;
    Ok(Some((table.oid, position as i16 + 1)))
}

/// Creates the sequence of a serial or identity column and makes it the column's default.
pub(crate) fn create_owned(
    ctx: &mut DdlContext<'_>,
    table: &mut Relation,
    options: SequenceOptions,
) -> Result<()> {
    let position = options.position.ok_or_else(|| Error::internal("sequence without a column"))?;
    let column = table.columns[position].name.clone();
    let name = match &options.name {
        Some(name) => named(ctx, table, name)?,
        None => {
            let parts = NameParts { table: &table.name, columns: &column, label: "seq" };
            ctx.choose_name(table.schema, parts)?
        }
    };
    let mut info = options.apply(None)?;
    info.owned_by = Some((table.oid, position as i16 + 1));
    info.unlogged = table.is_unlogged();
    let oid = ctx.store.new_oid()?;
    ctx.put(new_sequence(oid, table.schema, &name, info))?;
    table.columns[position].default = Some(format!("nextval({})", regclass_text(oid)).into());
    Ok(())
}

/// SEQUENCE NAME: one that is free, in the table's schema. PostgreSQL looks for the table in the
/// schema that is named.
fn named(ctx: &mut DdlContext<'_>, table: &Relation, name: &ObjectName) -> Result<String> {
    let mut name = drop::relation_name(name);
    if name.schema.is_none() {
        let schema = ctx.catalog().schema(table.schema).map(|schema| schema.name.to_string());
        name.schema = schema;
    }
    let (schema, short) = ctx
        .new_name(&name, false)?
        .ok_or_else(|| Error::internal("a name that is taken was not refused"))?;
    if schema != table.schema {
        let schema = name.schema.unwrap_or_default();
        let message = format!("relation \"{schema}.{}\" does not exist", table.name);
        return Err(Error::new(SqlState::UNDEFINED_TABLE, message));
    }
    Ok(short)
}

/// 42601 for SEQUENCE NAME where it is no identity column's.
pub(super) fn refuse_name(ctx: &DdlContext<'_>, options: &[DefElem]) -> Result<()> {
    match options.iter().find(|option| option.name == "sequence_name") {
        None => Ok(()),
        Some(option) => {
            let message = "invalid sequence option SEQUENCE NAME";
            Err(ctx.error(SqlState::SYNTAX_ERROR, message, option.location))
        }
    }
}

/// A relation in a stored expression: by OID, so that it may be renamed and moved.
pub(crate) fn regclass_text(relation: Oid) -> String {
    format!("'{relation}'::regclass")
}

/// ALTER SEQUENCE.
pub(crate) fn alter_sequence(ctx: &mut DdlContext<'_>, alter: &AlterSequenceStmt) -> Result<()> {
    let mode = RelationLockMode::ShareRowExclusive;
    let Some(relation) = ctx.try_open(&alter.relation, mode)? else {
        return ctx.skip_missing(alter.if_exists, alter.relation.undefined());
    };
    refuse_name(ctx, &alter.options)?;
    change(ctx, &relation, &SequenceOptions::parse(&alter.options)?)
}

/// Changes the options of a sequence that is locked against others' nextval.
pub(super) fn change(
    ctx: &mut DdlContext<'_>,
    sequence: &Relation,
    options: &SequenceOptions,
) -> Result<()> {
    let mut info = options.apply(Some(sequence_info(sequence)?))?;
    if let Some(owner) = &options.owned_by {
        check_is_free(ctx, sequence)?;
        info.owned_by = owner_of(ctx, owner)?;
    }
    if !options.change_parameters() {
        let mut relation = sequence.clone();
        relation.sequence = Some(info.into());
        return ctx.put(relation);
    }
    let position = match options.restart {
        Some(value) => Position { last: value.unwrap_or(info.start), is_called: false },
        None => position_of(ctx, sequence)?,
    };
    check_last(position.last, &info)?;
    put_at(ctx, sequence, info, position)
}

/// Where a sequence is: its last_value and is_called.
#[derive(Clone, Copy)]
struct Position {
    last: i64,
    is_called: bool,
}

fn position_of(ctx: &mut DdlContext<'_>, sequence: &Relation) -> Result<Position> {
    let state = ctx.session.sequences()?.get(ctx.txn.engine(), sequence)?;
    let (last, is_called) = state.position();
    Ok(Position { last, is_called })
}

/// Replaces a sequence that is locked against others' nextval by one that goes on from `position`
/// if the transaction commits.
fn put_at(
    ctx: &mut DdlContext<'_>,
    sequence: &Relation,
    mut info: SequenceInfo,
    position: Position,
) -> Result<()> {
    let published = ctx.store.published();
    let committed = published.relation(sequence.oid).and_then(|r| r.sequence.as_ref());
    info.cell = free_cell(committed.map(|info| info.cell), info.cell);
    let mut relation = sequence.clone();
    relation.sequence = Some(info.into());
    let Position { last, is_called } = position;
    ctx.session.sequences()?.begin_at(ctx.txn.engine(), &relation, last, is_called)?;
    ctx.put(relation)
}

/// SET LOGGED, SET UNLOGGED of a sequence that is locked against others' nextval: it goes on where
/// it is, and that is where a crash takes it from then on.
pub(super) fn set_logged(
    ctx: &mut DdlContext<'_>,
    sequence: &Relation,
    logged: bool,
) -> Result<()> {
    let info = SequenceInfo { unlogged: !logged, ..sequence_info(sequence)?.clone() };
    let position = position_of(ctx, sequence)?;
    put_at(ctx, sequence, info, position)
}

/// 22023 for a value to go on from, of RESTART or the present one, out of the sequence's bounds.
fn check_last(value: i64, info: &SequenceInfo) -> Result<()> {
    let (order, name, bound) = match value {
        _ if value < info.min => ("less", "MINVALUE", info.min),
        _ if value > info.max => ("greater", "MAXVALUE", info.max),
        _ => return Ok(()),
    };
    let message = format!("RESTART value ({value}) cannot be {order} than {name} ({bound})");
    Err(invalid(message))
}

/// The sequences that columns of a table own.
pub(super) fn owned_by(ctx: &mut DdlContext<'_>, table: Oid) -> Vec<Oid> {
    let is_owned = |relation: &Relation| {
        relation.sequence.as_ref().is_some_and(|s| s.owned_by.is_some_and(|o| o.0 == table))
    };
    ctx.catalog().referrers(table).filter(|r| is_owned(r)).map(|r| r.oid).collect()
}

/// TRUNCATE … RESTART IDENTITY.
pub(crate) fn restart_owned(ctx: &mut DdlContext<'_>, table: Oid) -> Result<()> {
    for oid in owned_by(ctx, table) {
        ctx.lock(oid, RelationLockMode::AccessExclusive)?;
        // It may have been changed or dropped before it was locked.
        let Some(sequence) = ctx.catalog().relation(oid).cloned() else { continue };
        let info = sequence_info(&sequence)?.clone();
        let start = Position { last: info.start, is_called: false };
        put_at(ctx, &sequence, info, start)?;
    }
    Ok(())
}
