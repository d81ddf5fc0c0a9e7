//! CREATE TABLE (tablecmds.c, parse_utilcmd.c).

mod column;
mod default;
mod storage;

pub(super) use column::{
    add_column, check_column_name, check_column_type, check_columns, written_collation,
};
pub(super) use default::{bind_column_default, default_text};
pub(super) use storage::{create_storage, persistence_of_new};

use super::constraint::{self, PendingConstraints};
use super::reloptions::{self, Owner};
use super::retype::write_rows;
use super::{DdlContext, inherit, like, not_null, partition, sequence, truncate_name};
use column::refine_column;
use default::bind_defaults;
use std::sync::Arc;
use steppe_catalog::{Column, OnCommit, RelKind, Relation};
use steppe_counting::accesses;
use steppe_exec::stored::TableAccess;
use steppe_sql::ast::{self, ConstraintKind, CreateTableStmt, IntoClause, RangeVar, TableElement};
use steppe_sql::plan::ResultColumn;
use steppe_txn::RelationLockMode;
use steppe_types::{Datum, Error, Result, SqlState};

/// CREATE TABLE.
pub(crate) fn create_table(ctx: &mut DdlContext<'_>, create: &CreateTableStmt) -> Result<()> {
    refuse_unsupported(create)?;
    let name = &create.relation;
    name.check_database().map_err(|e| e.at(name.location.position(ctx.source)))?;
    let Some((schema, name)) = ctx.new_name(&create.relation, create.if_not_exists)? else {
        return Ok(());
    };
    let oid = ctx.store.new_oid()?;
    let kind = match create.partition_by {
        Some(_) if create.relation.persistence == ast::Persistence::Unlogged => {
            let message = "partitioned tables cannot be unlogged";
            return Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, message));
        }
        Some(_) => RelKind::PartitionedTable,
        None => RelKind::Table,
    };
    let mut relation = Relation::new(oid, schema, name, kind);
    relation.on_commit = on_commit(ctx, &relation, create.on_commit)?;
    partition::check_options(&relation, &create.options)?;
    relation.options = reloptions::of_new(Owner::Table, &create.options)?.into();
    let parent = partition::parent_of_new(ctx, create, &relation)?;
    let mut parents = inherit::parents_of_new(ctx, create, &relation)?;
    relation.inherits = parents.iter().map(|parent| parent.oid).collect();
    parents.extend(parent.clone());
    inherit::check_written_once(ctx, &create.elements)?;
    let mut merged = inherit::Merged::new(ctx, &parents, &mut relation, parent.is_some())?;
    let mut pending = PendingConstraints::of_new_table();
    let (mut serials, mut copied) = (Vec::new(), Vec::new());
    for element in &create.elements {
        if let TableElement::Column(column) = element
            && let Some(ty) = &column.type_name
        {
            ctx.warn_of_precision(ty, ty.location);
        }
    }
    for element in &create.elements {
        match element {
            TableElement::Column(column) if parent.is_some() => {
                refine_column(ctx, &mut relation, column, &mut pending, &mut serials)?;
            }
            TableElement::Column(column) => {
                let parts = (&mut pending, &mut serials);
                if !merged.merge_written(ctx, &mut relation, column, parts)? {
                    add_column(ctx, &mut relation, column, &mut pending, &mut serials)?;
                }
            }
            TableElement::Constraint(c) => {
                let is_not_null = matches!(c.kind, ConstraintKind::NotNull { .. });
                not_null::check_partitioned(&relation, is_not_null && c.no_inherit)?;
                pending.add_table_constraint(c)?;
            }
            TableElement::Like(like) => {
                let parts = (&mut pending, &mut serials);
                copied.extend(like::copy(ctx, &mut relation, like, parts, &mut merged)?);
            }
        }
    }
    merged.check_defaults(&relation)?;
    check_columns(relation.columns.len())?;
    if let (Some(parent), Some(bound)) = (&parent, &create.partition_bound) {
        relation.partition_of = Some(partition::partition_of(ctx, parent, &relation, bound)?);
    }
    if let Some(spec) = &create.partition_by {
        let table = Arc::new(relation.clone());
        relation.partition_key = Some(Arc::new(partition::partition_key(ctx, &table, spec)?));
    }
    if relation.kind == RelKind::Table {
        let persistence = persistence_of_new(ctx, &create.relation, schema);
        create_storage(ctx, &mut relation, persistence)?;
    }
    // Nobody else can see it before the commit, but its own later statements lock it as usual.
    ctx.lock(oid, RelationLockMode::AccessExclusive)?;
    for serial in serials {
        sequence::create_owned(ctx, &mut relation, serial)?;
    }
    bind_defaults(ctx, &mut relation, &create.elements)?;
    inherit::merge_checks(ctx, &parents, &mut relation)?;
    not_null::create(ctx, &mut relation, &parents, &mut pending)?;
    ctx.put(relation.clone())?;
    if let Some(parent) = &parent {
        partition::check_default_partition(ctx, parent, |default, _| default)?;
        // Its own constraints come on top of these, and take none of them for their own.
        partition::inherit_indexes(ctx, parent, oid)?;
        relation = ctx.catalog().relation(oid).map_or(relation, |made| (**made).clone());
    }
    constraint::add_all(ctx, relation, pending)?;
    like::create_indexes(ctx, oid, copied)
}

/// The table of CREATE TABLE AS and SELECT INTO, without its rows: a column for each of the
/// query's. `None`: it is there already, and IF NOT EXISTS says that's fine.
pub fn create_table_as(
    ctx: &mut DdlContext<'_>,
    into: &IntoClause,
    columns: &[ResultColumn],
    if_not_exists: bool,
) -> Result<Option<Arc<Relation>>> {
    refuse_placement(into.access_method.as_deref(), into.tablespace.as_deref())?;
    let Some((schema, name)) = ctx.new_name(&into.relation, if_not_exists)? else {
        return Ok(None);
    };
    if into.columns.len() > columns.len() {
        return Err(Error::new(SqlState::SYNTAX_ERROR, "too many column names were specified"));
    }
    let oid = ctx.store.new_oid()?;
    let mut relation = Relation::new(oid, schema, name, RelKind::Table);
    relation.on_commit = on_commit(ctx, &relation, into.on_commit)?;
    relation.options = reloptions::of_new(Owner::Table, &into.options)?.into();
    for (i, column) in columns.iter().enumerate() {
        let name = into.columns.get(i).map_or(&*column.name, String::as_str);
        let name = truncate_name(name);
        check_column_name(&relation, name)?;
        check_column_type(ctx, name, column.ty.oid)?;
        relation.columns.push(Column::new(name, column.ty.oid, column.ty.typmod));
    }
    check_columns(relation.columns.len())?;
    let persistence = persistence_of_new(ctx, &into.relation, schema);
    create_storage(ctx, &mut relation, persistence)?;
    ctx.lock(oid, RelationLockMode::AccessExclusive)?;
    let relation = Arc::new(relation);
    ctx.put(relation.clone())?;
    Ok(Some(relation))
}

/// Whether a new relation's name is taken and IF NOT EXISTS allows that; without it: 42P07.
pub fn is_made(ctx: &mut DdlContext<'_>, name: &RangeVar, if_not_exists: bool) -> Result<bool> {
    let new = ctx.new_name(name, if_not_exists).map_err(Error::without_position)?;
    Ok(new.is_none())
}

/// Stores rows in the new table of a query.
pub fn fill(ctx: &mut DdlContext<'_>, table: &Arc<Relation>, rows: &[Box<[Datum]>]) -> Result<()> {
    let database = ctx.store.database().clone();
    let target = TableAccess::open(&database, table)?;
    accesses::count_apart();
    write_rows(ctx, &target, rows)?;
    accesses::inserted(table.oid, rows.len() as u64);
    Ok(())
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
    refuse_placement(create.access_method.as_deref(), create.tablespace.as_deref())
}

fn refuse_placement(access_method: Option<&str>, tablespace: Option<&str>) -> Result<()> {
    if let Some(method) = access_method.filter(|m| *m != "heap") {
        return Err(Error::new(
            SqlState::UNDEFINED_OBJECT,
            format!("access method \"{method}\" does not exist"),
        ));
    }
    if tablespace.is_some_and(|t| t != "pg_default") {
        return Err(Error::not_supported("TABLESPACE"));
    }
    Ok(())
}
