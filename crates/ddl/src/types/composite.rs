//! Composite types: CREATE TYPE … AS (…), and ALTER TYPE's changes of attributes. A composite type
//! is the row type of a relation that has no rows (DefineCompositeType).

use super::super::table::{check_column_name, check_column_type, check_columns, written_collation};
use super::super::{drop_column, truncate_name};
use super::DdlContext;
use std::sync::Arc;
use steppe_catalog::{Catalog, Column, RelKind, Relation, builtin, row_type_of};
use steppe_sql::ast::{
    AlterTableCommand as Command, AlterTableStmt, CollateClause, CreateCompositeStmt, Location,
    ObjectName, RangeVar, RenameStmt, TypeName,
};
use steppe_txn::RelationLockMode;
use steppe_types::{Error, Oid, Result, SqlState};

/// CREATE TYPE … AS (…).
pub(in super::super) fn create_composite(
    ctx: &mut DdlContext<'_>,
    create: &CreateCompositeStmt,
) -> Result<()> {
    let (schema, name) = ctx.new_type_name(&name_of(&create.relation))?;
    let mut made = Relation::new(ctx.store.new_oid()?, schema, name, RelKind::Composite);
    for def in &create.columns {
        let clause = def
            .collation
            .as_ref()
            .map(|name| CollateClause { name: name.clone(), location: def.location });
        let column = attribute(ctx, &made, (&def.name, &def.type_name), clause.as_ref())?;
        made.columns.push(column);
        check_columns(made.columns.len())?;
    }
    ctx.put(made)
}

fn name_of(relation: &RangeVar) -> ObjectName {
    ObjectName(relation.schema.iter().cloned().chain([relation.name.clone()]).collect())
}

/// A new attribute.
fn attribute(
    ctx: &mut DdlContext<'_>,
    of: &Relation,
    (name, type_name): (&str, &TypeName),
    collation: Option<&CollateClause>,
) -> Result<Column> {
    let name = truncate_name(name).to_string();
    check_column_name(of, &name)?;
    let ty = ctx.resolve_type(type_name).map_err(Error::without_position)?;
    ctx.warn_of_precision(type_name, Location::NONE);
    check_column_type(ctx, &name, ty.oid)?;
    check_not_in_itself(ctx, of, ty.oid)?;
    let mut column = ctx.catalog().column(name.as_str(), ty.oid, ty.typmod);
    if let Some(clause) = collation {
        column.collation = written_collation(ctx, clause, ty.oid)?;
    }
    Ok(column)
}

/// 42P16 for a row that would contain itself.
pub(in super::super) fn check_not_in_itself(
    ctx: &mut DdlContext<'_>,
    relation: &Relation,
    ty: Oid,
) -> Result<()> {
    let Some(own) = row_type_of(relation) else { return Ok(()) };
    if !contains(&ctx.catalog(), ty, own, 0)? {
        return Ok(());
    }
    let message =
        format!("composite type {} cannot be made a member of itself", ctx.format_type(own));
    Err(Error::new(SqlState::INVALID_TABLE_DEFINITION, message))
}

/// How deep rows may nest in each other.
const NESTING_MAX: usize = 64;

/// Whether values of a type contain values of a row type.
fn contains(catalog: &Catalog, ty: Oid, row: Oid, depth: usize) -> Result<bool> {
    if depth > NESTING_MAX {
        return Err(Error::new(
            SqlState::STATEMENT_TOO_COMPLEX,
            format!("composite types are nested more than {NESTING_MAX} levels deep"),
        ));
    }
    let held = catalog.held_type(ty).oid;
    let element = builtin::ty(held).filter(|ty| ty.is_true_array()).map_or(held, |ty| ty.element);
    if element == row {
        return Ok(true);
    }
    for (column, _) in catalog.row_columns(element).into_iter().flatten() {
        if contains(catalog, column, row, depth + 1)? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// 0A000 if a table stores rows of a row type: they would keep the columns that the type had.
pub(in super::super) fn check_not_stored(
    ctx: &mut DdlContext<'_>,
    relation: &Relation,
) -> Result<()> {
    let Some(row) = row_type_of(relation) else { return Ok(()) };
    let catalog = ctx.catalog();
    match stored_in(&catalog, row, 0) {
        None => Ok(()),
        Some((table, column)) => Err(Error::not_supported(format!(
            "changing the columns of \"{}\", whose rows are stored in column \"{column}\" of \
             \"{table}\",",
            relation.name
        ))),
    }
}

/// A table and a column of it that has rows of a type, arrays of them, or rows that contain them.
fn stored_in(catalog: &Catalog, row: Oid, depth: usize) -> Option<(Arc<str>, Arc<str>)> {
    if depth > NESTING_MAX {
        return None;
    }
    let array = builtin::ty(row).map_or(0, |ty| ty.array);
    for ty in [row, array] {
        for relation in catalog.referrers(ty) {
            match relation.kind {
                RelKind::Table | RelKind::PartitionedTable => {
                    let mut columns = relation.columns.iter();
                    if let Some(column) = columns.find(|c| !c.dropped && c.type_oid == ty) {
                        return Some((relation.name.clone(), column.name.clone()));
                    }
                }
                RelKind::Composite => {
                    let found =
                        row_type_of(relation).and_then(|r| stored_in(catalog, r, depth + 1));
                    if found.is_some() {
                        return found;
                    }
                }
                _ => {}
            }
        }
    }
    None
}

/// ALTER TYPE … ADD, DROP and ALTER ATTRIBUTE.
pub(in super::super) fn alter_composite(
    ctx: &mut DdlContext<'_>,
    stmt: &AlterTableStmt,
) -> Result<()> {
    let mut changed = (*open(ctx, &stmt.relation)?).clone();
    for command in &stmt.commands {
        check_not_stored(ctx, &changed)?;
        match command {
            Command::AddColumn { column, .. } => {
                let ty = column.type_name.as_ref();
                let ty = ty.ok_or_else(|| Error::internal("an attribute without a type"))?;
                if changed.column_index(&column.name).is_some() {
                    let message = format!(
                        "column \"{}\" of relation \"{}\" already exists",
                        column.name, changed.name
                    );
                    return Err(Error::new(SqlState::DUPLICATE_COLUMN, message));
                }
                let name = (column.name.as_str(), ty);
                let new = attribute(ctx, &changed, name, column.collation.as_ref())?;
                changed.columns.push(new);
                check_columns(changed.columns.len())?;
            }
            Command::DropColumn { name, if_exists, .. } => {
                let Some(position) = changed.column_index(name) else {
                    ctx.skip_missing(*if_exists, missing(&changed, name))?;
                    continue;
                };
                refuse_used(ctx, &changed)?;
                drop_column::mark(&mut changed, position as i16 + 1);
            }
            Command::AlterColumnType { name, type_name, collation, .. } => {
                let position = changed.column_index(name).ok_or_else(|| missing(&changed, name))?;
                refuse_used(ctx, &changed)?;
                let old = std::mem::replace(&mut changed.columns[position].name, "".into());
                let new = attribute(ctx, &changed, (&*old, type_name), collation.as_ref())?;
                changed.columns[position] = new;
            }
            _ => return Err(Error::not_supported("this form of ALTER TYPE")),
        }
    }
    ctx.put(changed)
}

/// 0A000 where a view reads an attribute, or might.
fn refuse_used(ctx: &mut DdlContext<'_>, composite: &Relation) -> Result<()> {
    let catalog = ctx.catalog();
    match super::super::depend::readers(&catalog, composite.oid, 0).next() {
        None => Ok(()),
        Some(view) => Err(Error::not_supported(format!(
            "changing attributes of type \"{}\", which view \"{}\" uses,",
            composite.name, view.name
        ))),
    }
}

fn missing(composite: &Relation, name: &str) -> Error {
    let message = format!("column \"{name}\" of relation \"{}\" does not exist", composite.name);
    Error::new(SqlState::UNDEFINED_COLUMN, message)
}

/// The composite type of a name, locked: 42809 for another relation.
fn open(ctx: &mut DdlContext<'_>, name: &RangeVar) -> Result<Arc<Relation>> {
    let found = ctx.try_open(name, RelationLockMode::AccessExclusive)?;
    let relation = found.ok_or_else(|| {
        let shown = name.object_name();
        Error::new(SqlState::UNDEFINED_TABLE, format!("relation \"{shown}\" does not exist"))
    })?;
    if relation.kind != RelKind::Composite {
        let message = format!("\"{}\" is not a composite type", relation.name);
        return Err(Error::new(SqlState::WRONG_OBJECT_TYPE, message));
    }
    Ok(relation)
}

/// ALTER TYPE … RENAME ATTRIBUTE.
pub(in super::super) fn rename_attribute(
    ctx: &mut DdlContext<'_>,
    name: &RangeVar,
    rename: &RenameStmt,
    new: &str,
) -> Result<()> {
    let old = rename.part.as_deref().unwrap_or_default();
    let mut changed = (*open(ctx, name)?).clone();
    let Some(position) = changed.column_index(old) else {
        let message = format!("column \"{old}\" does not exist");
        return Err(Error::new(SqlState::UNDEFINED_COLUMN, message));
    };
    if changed.column_index(new).is_some() {
        let message = format!("column \"{new}\" of relation \"{}\" already exists", changed.name);
        return Err(Error::new(SqlState::DUPLICATE_COLUMN, message));
    }
    refuse_used(ctx, &changed)?;
    changed.columns[position].name = new.into();
    ctx.put(changed)
}
