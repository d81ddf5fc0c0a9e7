//! ADD COLUMN, to a table and to what inherits from it.
//!
//! A constant default is stored as the missing value of old rows; a volatile one rewrites the
//! table.

use super::constraint::{self, PendingConstraints};
use super::inherit::{check_same_type, inherited_column, invalid_table};
use super::retype::rewrite;
use super::scan::{evaluator, with_functions};
use super::table::{TableParts, bind_column_default};
use super::{DdlContext, generated, partition, types};
use std::sync::Arc;
use steppe_catalog::{Column, RelKind, Relation};
use steppe_sql::ast::{self, ColumnDef};
use steppe_sql::bind::{ExprPlace, bind_assigned_expr, parse_expression};
use steppe_sql::expr::{Expr, TypeRef};
use steppe_txn::RelationLockMode;
use steppe_types::physical::Physical;
use steppe_types::{Datum, Error, Oid, Result, SqlState, text_io};

/// ADD COLUMN.
pub(super) fn add(
    ctx: &mut DdlContext<'_>,
    table: Relation,
    def: &ColumnDef,
    if_not_exists: bool,
) -> Result<()> {
    if table.column_index(&def.name).is_some() {
        let message =
            format!("column \"{}\" of relation \"{}\" already exists", def.name, table.name);
        let present = Error::new(SqlState::DUPLICATE_COLUMN, message);
        return ctx.skip_present(if_not_exists, present);
    }
    let is_identity = |c: &ast::Constraint| matches!(c.kind, ast::ConstraintKind::Identity { .. });
    if table.kind == RelKind::Table
        && def.constraints.iter().any(is_identity)
        && ctx.catalog().children(table.oid).next().is_some()
    {
        let message = "cannot recursively add identity column to table that has child tables";
        return Err(invalid_table(message));
    }
    if let Some(ty) = &def.type_name {
        ctx.warn_of_precision(ty, ty.location);
    }
    let (oid, position) = (table.oid, table.columns.len());
    let constraints = PendingConstraints::default();
    let mut parts = TableParts { table, constraints, sequences: Vec::new() };
    parts.add_column(ctx, def)?;
    types::check_not_stored(ctx, &parts.table)?;
    let added = parts.table.columns.last().map_or(0, |column| column.type_oid);
    types::check_not_in_itself(ctx, &parts.table, added)?;
    parts.create_sequences(ctx)?;
    let TableParts { mut table, constraints, .. } = parts;
    bind_column_default(ctx, &mut table, position, def)?;
    generated::bind_expression(ctx, &mut table, position, def).map_err(Error::without_position)?;
    let column = table.columns[position].clone();
    fill(ctx, table)?;
    add_below(ctx, oid, &column)?;
    // The rows are checked when the column is there in all tables.
    let mut table = (*ctx.lock_current(oid, RelationLockMode::AccessExclusive)?).clone();
    constraint::add_all(ctx, &mut table, constraints)
}

/// Gives the children of a table its new column, and theirs.
fn add_below(ctx: &mut DdlContext<'_>, table: Oid, column: &Column) -> Result<()> {
    for child in partition::children(ctx, table)? {
        let child = ctx.lock_current(child.oid, RelationLockMode::AccessExclusive)?;
        let mut child = (*child).clone();
        if let Some(at) = child.column_index(&column.name) {
            check_same_type(&child, &child.columns[at], column)?;
            child.columns[at].inherit_count += 1;
            ctx.notice(format!(
                "merging definition of column \"{}\" for child \"{}\"",
                column.name, child.name
            ));
            ctx.put(child)?;
            continue;
        }
        child.columns.push(inherited_column(column, child.partition_of.is_some()));
        let oid = child.oid;
        fill(ctx, child)?;
        add_below(ctx, oid, column)?;
    }
    Ok(())
}

/// Stores a table whose last column is new: its old rows get the default.
fn fill(ctx: &mut DdlContext<'_>, table: Relation) -> Result<()> {
    let mut table = table;
    let Some(position) = table.columns.len().checked_sub(1) else {
        return Err(Error::internal("no column was added"));
    };
    let column = &table.columns[position];
    let (is_generated, column_type) = (column.generated, column.type_oid);
    let default = match (is_generated, column.is_virtual) {
        (true, true) => None,
        (true, false) => generated::expression(ctx, &Arc::new(table.clone()), position)?,
        (false, _) => bound_default(ctx, column)?,
    };
    // A default may be nextval of a sequence that the statement has just made.
    let catalog = ctx.catalog();
    ctx.session.see_catalog(&catalog);
    match default {
        None => ctx.put(table),
        Some(expr) if !is_generated && is_stable(&expr) && has_lasting_text(column_type) => {
            let value = evaluate_once(ctx, &table, &expr)?;
            table.columns[position].missing = match value {
                Datum::Null => None,
                value => {
                    let ty = table.columns[position].type_oid;
                    Some(text_io::output_string(ty, &value, &Default::default())?.into())
                }
            };
            ctx.put(table)
        }
        Some(expr) => {
            table.refuse_distributed("ADD COLUMN with a value for each row")?;
            let new = table.clone();
            rewrite(ctx, table, new, vec![(position, expr)])
        }
    }
}

/// Whether a value's text has the same meaning as long as the table exists: a label may be renamed.
fn has_lasting_text(ty: Oid) -> bool {
    !matches!(Physical::of(ty), Physical::Enum | Physical::Any)
}

/// The bound DEFAULT of a column.
fn bound_default(ctx: &mut DdlContext<'_>, column: &Column) -> Result<Option<Expr>> {
    let catalog = ctx.catalog();
    let of_domain = catalog.domains_down(column.domain).find_map(|(_, d)| d.default.clone());
    let text: Arc<str> = match column.default.clone().or(of_domain) {
        Some(text) => text,
        // A domain may refuse NULL.
        None if catalog.is_constrained(column.domain) => "NULL".into(),
        None => return Ok(None),
    };
    let parsed = parse_expression(&text)?;
    let to = TypeRef::of(column);
    let (name, place) = (column.name.clone(), ExprPlace::ColumnDefault);
    ctx.binding(|b| bind_assigned_expr(b, None, &parsed, place, to, &name)).map(Some)
}

/// Whether all rows get the same value: no volatile function.
fn is_stable(expr: &Expr) -> bool {
    let here = match expr {
        Expr::Func { func, .. } => !func.is_volatile(),
        // An error is about rows, which the table may not have.
        Expr::Domain { .. } => false,
        _ => true,
    };
    here && expr.children().into_iter().all(is_stable)
}

fn evaluate_once(ctx: &mut DdlContext<'_>, table: &Relation, expr: &Expr) -> Result<Datum> {
    let mut evaluator = evaluator(ctx, std::slice::from_ref(expr))?;
    let row = vec![Datum::Null; table.columns.len()];
    with_functions(ctx, || Ok(evaluator.evaluate(&row)?.first().cloned().unwrap_or_default()))
}
