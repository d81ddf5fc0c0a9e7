//! CREATE TABLE (tablecmds.c, parse_utilcmd.c).

mod builder;
mod column;
mod default;
mod storage;

pub(super) use builder::TableParts;
pub(super) use column::{check_column_name, check_column_type, check_columns, written_collation};
pub(super) use default::{bind_column_default, default_text, stored_text};
pub(super) use storage::{create_storage, persistence_of_new};

use super::reloptions::{self, Owner};
use super::retype::encode_rows;
use super::{DdlContext, distribution, partition, truncate_name, types};
use builder::TableBuilder;
use std::sync::Arc;
use steppe_catalog::{OnCommit, RelKind, Relation};
use steppe_counting::accesses;
use steppe_exec::stored::{TableAccess, TableWriter};
use steppe_sql::ast::{self, CreateTableStmt, IntoClause, RangeVar, TableElement};
use steppe_sql::plan::ResultColumn;
use steppe_types::{Datum, Error, Result, SqlState};

/// CREATE TABLE.
pub(crate) fn create_table(ctx: &mut DdlContext<'_>, create: &CreateTableStmt) -> Result<()> {
    refuse_unsupported(create)?;
    let name = &create.relation;
    name.check_database().map_err(|e| e.at(name.location.position(ctx.source)))?;
    let Some((schema, name)) = ctx.new_name(&create.relation, create.if_not_exists)? else {
        return Ok(());
    };
    types::check_row_type_name(ctx, schema, &name)?;
    let oid = ctx.store.new_oid()?;
    let kind = match create.partition_by {
        Some(_) if create.relation.persistence == ast::Persistence::Unlogged => {
            let message = "partitioned tables cannot be unlogged";
            return Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, message));
        }
        Some(_) => RelKind::PartitionedTable,
        None => RelKind::Table,
    };
    let mut table = Relation::new(oid, schema, name, kind);
    table.on_commit = on_commit(ctx, &table, create.on_commit)?;
    partition::check_options(&table, &create.options)?;
    table.options = reloptions::of_new(Owner::Table, &create.options)?.into();
    let mut builder = TableBuilder::new(table);
    builder.inherit(ctx, create)?;
    for element in &create.elements {
        if let TableElement::Column(column) = element
            && let Some(ty) = &column.type_name
        {
            ctx.warn_of_precision(ty, ty.location);
        }
    }
    for element in &create.elements {
        builder.add_element(ctx, element)?;
    }
    builder.merged.check_defaults(&builder.parts.table)?;
    check_columns(builder.parts.table.columns.len())?;
    builder.place(ctx, create)?;
    builder.finish(ctx, &create.relation, &create.elements)
}

/// The table of CREATE TABLE AS and SELECT INTO, without its rows: a column for each of the
/// query's. `None`: it is there already, and IF NOT EXISTS says that's fine.
pub fn create_table_as(
    ctx: &mut DdlContext<'_>,
    into: &IntoClause,
    columns: &[ResultColumn],
    if_not_exists: bool,
) -> Result<Option<Arc<Relation>>> {
    distribution::refuse_of_query(ctx, into.distribution.as_deref())?;
    refuse_placement(into.access_method.as_deref(), into.tablespace.as_deref())?;
    let Some((schema, name)) = ctx.new_name(&into.relation, if_not_exists)? else {
        return Ok(None);
    };
    types::check_row_type_name(ctx, schema, &name)?;
    if into.columns.len() > columns.len() {
        return Err(Error::new(SqlState::SYNTAX_ERROR, "too many column names were specified"));
    }
    let oid = ctx.store.new_oid()?;
    let mut table = Relation::new(oid, schema, name, RelKind::Table);
    table.on_commit = on_commit(ctx, &table, into.on_commit)?;
    table.options = reloptions::of_new(Owner::Table, &into.options)?.into();
    for (i, column) in columns.iter().enumerate() {
        let name = into.columns.get(i).map_or(&*column.name, String::as_str);
        let name = truncate_name(name);
        check_column_name(&table, name)?;
        let ty = column.declared_type();
        check_column_type(ctx, name, ty.oid)?;
        table.columns.push(ctx.catalog().column(name, ty.oid, ty.typmod));
    }
    check_columns(table.columns.len())?;
    TableBuilder::new(table).finish(ctx, &into.relation, &[])?;
    Ok(ctx.catalog().relation(oid).cloned())
}

/// Whether a new relation's name is taken and IF NOT EXISTS allows that. 42P07 without IF NOT
/// EXISTS.
pub fn is_made(ctx: &mut DdlContext<'_>, name: &RangeVar, if_not_exists: bool) -> Result<bool> {
    let new = ctx.new_name(name, if_not_exists).map_err(Error::without_position)?;
    Ok(new.is_none())
}

/// Stores rows in the new table of a query.
pub fn fill(ctx: &mut DdlContext<'_>, table: &Arc<Relation>, rows: &[Box<[Datum]>]) -> Result<()> {
    let engine = ctx.store.engine().clone();
    let target = TableAccess::open(&engine, table)?;
    accesses::count_apart();
    let mut rows = encode_rows(ctx, &target, rows)?;
    TableWriter::new(&target).insert(&mut rows, &mut Vec::new(), ctx.txn)
}

/// ON COMMIT as the catalog keeps it: only temporary tables have it.
fn on_commit(
    ctx: &mut DdlContext<'_>,
    relation: &Relation,
    written: ast::OnCommit,
) -> Result<OnCommit> {
    let kept = match written {
        ast::OnCommit::Noop => return Ok(OnCommit::PreserveRows),
        ast::OnCommit::PreserveRows => OnCommit::PreserveRows,
        ast::OnCommit::DeleteRows => OnCommit::DeleteRows,
        ast::OnCommit::Drop => OnCommit::Drop,
    };
    if ctx.catalog().is_temporary(relation) {
        return Ok(kept);
    }
    Err(Error::new(
        SqlState::INVALID_TABLE_DEFINITION,
        "ON COMMIT can only be used on temporary tables",
    ))
}

fn refuse_unsupported(create: &CreateTableStmt) -> Result<()> {
    if create.of_type.is_some() {
        return Err(Error::not_supported("CREATE TABLE OF"));
    }
    refuse_placement(create.access_method.as_deref(), create.tablespace.as_deref())?;
    if create.partition_by.is_some() && create.tablespace.is_some() {
        let message = "cannot specify default tablespace for partitioned relations";
        return Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, message));
    }
    Ok(())
}

fn refuse_placement(access_method: Option<&str>, tablespace: Option<&str>) -> Result<()> {
    if let Some(method) = access_method.filter(|m| *m != "heap") {
        return Err(Error::new(
            SqlState::UNDEFINED_OBJECT,
            format!("access method \"{method}\" does not exist"),
        ));
    }
    tablespace.map_or(Ok(()), super::tablespace::check)
}
