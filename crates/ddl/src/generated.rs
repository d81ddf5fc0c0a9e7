//! GENERATED ALWAYS AS (expression). Such a column has, as its default, the text of an expression
//! over the other columns. Each row that is stored gets the value of a STORED column anew. Rows do
//! not hold the value of a VIRTUAL column. The planner replaces the column by its expression, and
//! so do the checks of rows ([`steppe_sql::bind::of_stored`]).
//!
//! A partition may have another expression than its parent, but not one of the other kind.

use super::table_change::TableChange;
use super::{DdlContext, not_null, retype, validate};
use std::sync::Arc;
use steppe_catalog::{Column, Constraint, ConstraintKind as TableConstraint, Relation};
use steppe_exec::constants::check_stored;
use steppe_sql::ast::{self, ColumnDef, ConstraintKind, Location};
use steppe_sql::bind::index::is_mutable;
use steppe_sql::bind::{
    ExprPlace, bind_assigned_expr, bind_table_expr, generated_value, system_column,
};
use steppe_sql::deparse::table_expression;
use steppe_sql::expr::{Expr, Place, TypeRef};
use steppe_sql::plan::TABLE_OID;
use steppe_types::{Error, Result, SqlState};

/// 42601 where a column has more than one source of values.
pub(super) fn check_clauses(
    ctx: &DdlContext<'_>,
    relation: &Relation,
    def: &ColumnDef,
    serial: bool,
) -> Result<()> {
    let (mut default, mut identity, mut generated) = (false, false, false);
    let refused_at = |what: &str, location: Location| {
        let (column, table) = (&def.name, &relation.name);
        let message = format!("{what} specified for column \"{column}\" of table \"{table}\"");
        Err(ctx.error(SqlState::SYNTAX_ERROR, message, location))
    };
    for constraint in &def.constraints {
        let refused = |what: &str| refused_at(what, constraint.location);
        match &constraint.kind {
            ConstraintKind::Default(_) => default = true,
            ConstraintKind::Identity { .. } => identity = true,
            ConstraintKind::Generated { .. } if generated => {
                return refused("multiple generation clauses");
            }
            ConstraintKind::Generated { .. } => generated = true,
            _ => {}
        }
        if default && generated {
            return refused("both default and generation expression");
        }
        if identity && generated {
            return refused("both identity and generation expression");
        }
    }
    if serial && generated {
        return refused_at("both default and generation expression", Location::NONE);
    }
    Ok(())
}

/// Binds and stores the expression of a column that is generated; all columns are known.
pub(super) fn bind_expression(
    ctx: &mut DdlContext<'_>,
    relation: &mut Relation,
    position: usize,
    def: &ColumnDef,
) -> Result<()> {
    let found = def.constraints.iter().find_map(|c| match &c.kind {
        ConstraintKind::Generated { expr, .. } => Some(expr),
        _ => None,
    });
    let Some(expr) = found else { return Ok(()) };
    store(ctx, relation, position, expr).map(drop)
}

/// Binds and stores a column's expression, and hands it up.
fn store(
    ctx: &mut DdlContext<'_>,
    relation: &mut Relation,
    position: usize,
    expr: &ast::Expr,
) -> Result<Expr> {
    let table = Arc::new(relation.clone());
    let place = ExprPlace::GeneratedColumn;
    // A cast to the column's type may be mutable.
    let written = ctx.binding(|b| bind_table_expr(b, Some(&table), expr, place))?;
    check_columns(ctx, &table, &written)?;
    check_stored(&written, &ctx.catalog())?;
    if is_mutable(&written) {
        return Err(Error::new(
            SqlState::INVALID_OBJECT_DEFINITION,
            "generation expression is not immutable",
        ));
    }
    let bound = bound_over(ctx, &table, position, expr)?;
    relation.columns[position].default =
        Some(table_expression(&bound, Some(relation), &ctx.catalog()).into());
    Ok(bound)
}

/// The text of a column's expression as one of the column's type, which is another now.
pub(super) fn cast(
    ctx: &mut DdlContext<'_>,
    relation: &Relation,
    position: usize,
    expr: &ast::Expr,
) -> Result<Option<Arc<str>>> {
    let bound = bound_over(ctx, &Arc::new(relation.clone()), position, expr)?;
    Ok(Some(table_expression(&bound, Some(relation), &ctx.catalog()).into()))
}

fn bound_over(
    ctx: &mut DdlContext<'_>,
    table: &Arc<Relation>,
    position: usize,
    expr: &ast::Expr,
) -> Result<Expr> {
    let column = &table.columns[position];
    let to = TypeRef::of(column);
    let place = ExprPlace::GeneratedColumn;
    ctx.binding(|b| bind_assigned_expr(b, Some(table), expr, place, to, &column.name))
}

/// 42P17 for a column that is generated itself, or all of them; 42P10 for system columns.
fn check_columns(ctx: &DdlContext<'_>, table: &Relation, expr: &Expr) -> Result<()> {
    let refused = |message: String, at: Place, detail: &str| {
        Err(ctx.error(SqlState::INVALID_OBJECT_DEFINITION, message, at.0).detail(detail))
    };
    if let Some(at) = whole_row(table, expr) {
        let message = "cannot use whole-row variable in column generation expression".to_owned();
        let detail = "This would cause the generated column to depend on its own value.";
        return refused(message, at, detail);
    }
    if let Expr::Var { column, at, .. } = expr {
        let Ok(position) = usize::try_from(*column) else {
            return check_system_column(ctx, *column, *at);
        };
        if table.columns[position].generated {
            let name = &table.columns[position].name;
            let message =
                format!("cannot use generated column \"{name}\" in column generation expression");
            let detail = "A generated column cannot reference another generated column.";
            return refused(message, *at, detail);
        }
    }
    expr.children().into_iter().try_for_each(|child| check_columns(ctx, table, child))
}

/// Only one system column is known before a row is stored: `tableoid`.
fn check_system_column(ctx: &DdlContext<'_>, column: i32, at: Place) -> Result<()> {
    if column == i32::from(TABLE_OID) {
        return Ok(());
    }
    let name = system_column(column).map_or("?", |(name, _)| name);
    let message = format!("cannot use system column \"{name}\" in column generation expression");
    Err(ctx.error(SqlState::INVALID_COLUMN_REFERENCE, message, at.0))
}

/// Where the table's name stands for its row: all columns were written in one place.
fn whole_row(table: &Relation, expr: &Expr) -> Option<Place> {
    let Expr::Row(fields, _) = expr else { return None };
    let place = |field: &Expr| match field {
        Expr::Var { column: 0.., at, .. } => Some(*at),
        _ => None,
    };
    let first = place(fields.first()?)?;
    let is_whole = fields.len() == table.columns.iter().filter(|column| !column.dropped).count();
    let in_one_place = |field| place(field).is_some_and(|at: Place| at.0 == first.0);
    (is_whole && fields.iter().all(in_one_place)).then_some(first)
}

/// The expression of a generated column over its table; `None` for other columns.
pub(super) fn expression(
    ctx: &mut DdlContext<'_>,
    table: &Arc<Relation>,
    position: usize,
) -> Result<Option<Expr>> {
    generated_value(&ctx.catalog(), table, position)
}

/// 42611: a generated column's values of another type are those of its expression.
pub(super) fn refuse_using(
    ctx: &DdlContext<'_>,
    column: &Column,
    location: Location,
) -> Result<()> {
    if !column.generated {
        return Ok(());
    }
    let message = "cannot specify USING when altering type of generated column";
    Err(ctx
        .error(SqlState::INVALID_COLUMN_DEFINITION, message, location)
        .detail(format!("Column \"{}\" is a generated column.", column.name)))
}

/// 0A000 for the type of a column that a generated one is computed from.
pub(super) fn check_retype(
    ctx: &mut DdlContext<'_>,
    table: &Relation,
    position: usize,
) -> Result<()> {
    let column = &table.columns[position];
    let readers = readers(ctx, table, position)?;
    let Some(reader) = readers.first() else { return Ok(()) };
    Err(Error::new(
        SqlState::FEATURE_NOT_SUPPORTED,
        "cannot alter type of a column used by a generated column",
    )
    .detail(format!("Column \"{}\" is used by generated column \"{reader}\".", column.name)))
}

/// The generated columns whose expressions read a column.
fn readers(ctx: &mut DdlContext<'_>, table: &Relation, position: usize) -> Result<Vec<Arc<str>>> {
    fn reads(expr: &Expr, position: usize) -> bool {
        matches!(expr, Expr::Var { column, .. } if usize::try_from(*column) == Ok(position))
            || expr.any_child(|child| reads(child, position))
    }
    let table = Arc::new(table.clone());
    let mut found = Vec::new();
    for (i, column) in table.columns.iter().enumerate() {
        if let Some(expr) = expression(ctx, &table, i)?
            && reads(&expr, position)
        {
            found.push(column.name.clone());
        }
    }
    Ok(found)
}

/// The expressions are written again over columns that are called otherwise now.
pub(super) fn follow_rename(
    ctx: &mut DdlContext<'_>,
    old: &Arc<Relation>,
    renamed: &mut Relation,
) -> Result<()> {
    for position in 0..renamed.columns.len() {
        if let Some(expr) = expression(ctx, old, position)? {
            renamed.columns[position].default =
                Some(table_expression(&expr, Some(renamed), &ctx.catalog()).into());
        }
    }
    Ok(())
}

/// DROP EXPRESSION: the values stay.
pub(super) fn drop_expression(
    ctx: &mut DdlContext<'_>,
    change: &mut TableChange,
    position: usize,
    if_exists: bool,
) -> Result<()> {
    let table = change.table();
    if !table.columns[position].generated {
        return ctx.skip_missing(if_exists, not_generated(table, position));
    }
    if table.columns[position].is_virtual {
        let what = "DROP EXPRESSION is not supported for virtual generated columns";
        return Err(refused_of_virtual(table, position, what));
    }
    let column = &mut change.edit().columns[position];
    (column.generated, column.default) = (false, None);
    Ok(())
}

/// 55000
fn not_generated(table: &Relation, position: usize) -> Error {
    let (column, table) = (&table.columns[position].name, &table.name);
    let message = format!("column \"{column}\" of relation \"{table}\" is not a generated column");
    Error::new(SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE, message)
}

/// 0A000
fn refused_of_virtual(table: &Relation, position: usize, what: &str) -> Error {
    let (column, table) = (&table.columns[position].name, &table.name);
    let detail =
        format!("Column \"{column}\" of relation \"{table}\" is a virtual generated column.");
    Error::new(SqlState::FEATURE_NOT_SUPPORTED, format!("ALTER TABLE / {what}")).detail(detail)
}

/// SET EXPRESSION. All rows are written anew with the new values of a STORED column. The new values
/// of a VIRTUAL column are checked if the column is NOT NULL. PostgreSQL does not check CHECK
/// constraints then, and so refuses tables that have some.
pub(super) fn set_expression(
    ctx: &mut DdlContext<'_>,
    table: Relation,
    position: usize,
    expr: &ast::Expr,
) -> Result<()> {
    let column = &table.columns[position];
    if !column.generated {
        return Err(not_generated(&table, position));
    }
    let is_check = |c: &Constraint| matches!(c.kind, TableConstraint::Check { .. });
    if column.is_virtual && table.constraints.iter().any(is_check) {
        let what = "SET EXPRESSION is not supported for virtual generated columns in tables with \
                    check constraints";
        return Err(refused_of_virtual(&table, position, what));
    }
    let mut new = table.clone();
    let value = store(ctx, &mut new, position, expr).map_err(Error::without_position)?;
    let oid = table.oid;
    if !column.is_virtual {
        retype::rewrite(ctx, table, new, vec![(position, value)])?;
        let catalog = ctx.catalog();
        let new = catalog.relation(oid);
        let new = new.ok_or_else(|| Error::internal("the table being altered has gone"))?;
        return validate::retyped(ctx, new, &[position as i16 + 1]);
    }
    let checked: Vec<usize> =
        Some(position).into_iter().filter(|at| new.is_never_null(*at)).collect();
    not_null::check_rows(ctx, &new, &checked)?;
    ctx.put(new)
}

/// 0A000 for an index over columns that rows hold no values of. `what` it is for.
pub(super) fn check_indexed(
    table: &Relation,
    mut columns: impl Iterator<Item = i16>,
    what: &str,
) -> Result<()> {
    let column = |attnum: i16| table.columns.get(usize::try_from(attnum - 1).ok()?);
    if !columns.any(|attnum| column(attnum).is_some_and(|column| column.is_virtual)) {
        return Ok(());
    }
    let message = format!("{what} on virtual generated columns are not supported");
    Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, message))
}

/// 42601: a generated column has no default to set or drop.
pub(super) fn refuse_default(table: &Relation, column: &Column, instead: &str) -> Error {
    let message =
        format!("column \"{}\" of relation \"{}\" is a generated column", column.name, table.name);
    let error = Error::new(SqlState::SYNTAX_ERROR, message);
    match (column.is_virtual, instead) {
        // It cannot lose it.
        (true, "DROP") => error,
        _ => error
            .hint(format!("Use ALTER TABLE ... ALTER COLUMN ... {instead} EXPRESSION instead.")),
    }
}
