//! GENERATED ALWAYS AS (expression) STORED. Such a column holds, as its default, the text of an
//! expression over the other columns; every row that is stored gets its value anew.
//!
//! A partition may have another expression than its parent. VIRTUAL ones are 0A000.

use crate::constants::check_stored;
use super::DdlContext;
use std::sync::Arc;
use steppe_catalog::{Column, Relation};
use steppe_sql::ast::{self, ColumnDef, ConstraintKind, DropBehavior, Location};
use steppe_sql::bind::index::is_mutable;
use steppe_sql::bind::{ExprPlace, bind_assigned_expr, bind_table_expr, parse_expression};
use steppe_sql::deparse::table_expression;
use steppe_sql::expr::{Expr, TypeRef};
use steppe_types::{Error, Result, SqlState};

/// 42601 where a column has more than one source of values; 0A000 for VIRTUAL.
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
            ConstraintKind::Generated { stored, .. } => {
                if !stored {
                    return Err(Error::not_supported("virtual generated columns"));
                }
                generated = true;
            }
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
    let table = Arc::new(relation.clone());
    let bound = bound_over(ctx, &table, position, expr)?;
    check_columns(ctx, &table, &bound)?;
    check_stored(&bound, &ctx.catalog())?;
    if is_mutable(&bound) {
        return Err(Error::new(
            SqlState::INVALID_OBJECT_DEFINITION,
            "generation expression is not immutable",
        ));
    }
    relation.columns[position].default = Some(table_expression(&bound, Some(relation)).into());
    Ok(())
}

fn bound_over(
    ctx: &mut DdlContext<'_>,
    table: &Arc<Relation>,
    position: usize,
    expr: &ast::Expr,
) -> Result<Expr> {
    let column = &table.columns[position];
    let to = TypeRef { oid: column.type_oid, typmod: column.typmod };
    let place = ExprPlace::GeneratedColumn;
    ctx.binding(|b| bind_assigned_expr(b, Some(table), expr, place, to, &column.name))
}

/// 42P17 for a column that is generated itself.
fn check_columns(ctx: &DdlContext<'_>, table: &Relation, expr: &Expr) -> Result<()> {
    if let Expr::Var { column, at, .. } = expr {
        let Ok(position) = usize::try_from(*column) else {
            return Err(Error::not_supported("system columns in a generation expression"));
        };
        if table.columns[position].generated {
            let name = &table.columns[position].name;
            let message =
                format!("cannot use generated column \"{name}\" in column generation expression");
            return Err(ctx
                .error(SqlState::INVALID_OBJECT_DEFINITION, message, at.0)
                .detail("A generated column cannot reference another generated column."));
        }
    }
    expr.children().into_iter().try_for_each(|child| check_columns(ctx, table, child))
}

/// The expression of a generated column over its table; `None` for other columns.
pub(super) fn expression(
    ctx: &mut DdlContext<'_>,
    table: &Arc<Relation>,
    position: usize,
) -> Result<Option<Expr>> {
    let column = &table.columns[position];
    let Some(text) = column.default.as_ref().filter(|_| column.generated) else { return Ok(None) };
    let parsed = parse_expression(text)?;
    ctx.binding(|b| bind_table_expr(b, Some(table), &parsed, ExprPlace::GeneratedColumn)).map(Some)
}

/// 2BP01 for a column that a generated one is computed from.
pub(super) fn check_drop(
    ctx: &mut DdlContext<'_>,
    table: &Relation,
    position: usize,
    behavior: DropBehavior,
) -> Result<()> {
    let readers = readers(ctx, table, position)?;
    if readers.is_empty() {
        return Ok(());
    }
    if behavior == DropBehavior::Cascade {
        return Err(Error::not_supported("DROP COLUMN … CASCADE to a generated column"));
    }
    let of_table = format!("of table {}", table.name);
    let column = format!("column {} {of_table}", table.columns[position].name);
    let detail: Vec<String> = readers
        .iter()
        .map(|reader| format!("column {reader} {of_table} depends on {column}"))
        .collect();
    Err(Error::new(
        SqlState::DEPENDENT_OBJECTS_STILL_EXIST,
        format!("cannot drop {column} because other objects depend on it"),
    )
    .detail(detail.join("\n"))
    .hint("Use DROP ... CASCADE to drop the dependent objects too."))
}

/// 0A000 for the type of a column that a generated one is computed from, or of that one.
pub(super) fn check_retype(
    ctx: &mut DdlContext<'_>,
    table: &Relation,
    position: usize,
) -> Result<()> {
    let column = &table.columns[position];
    if column.generated {
        return Err(Error::not_supported("ALTER COLUMN TYPE of a generated column"));
    }
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
            || expr.children().into_iter().any(|child| reads(child, position))
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
            renamed.columns[position].default = Some(table_expression(&expr, Some(renamed)).into());
        }
    }
    Ok(())
}

/// DROP EXPRESSION: the values stay.
pub(super) fn drop_expression(
    ctx: &mut DdlContext<'_>,
    mut table: Relation,
    position: usize,
    if_exists: bool,
) -> Result<()> {
    let column = &mut table.columns[position];
    if !column.generated {
        let message = format!(
            "column \"{}\" of relation \"{}\" is not a generated column",
            column.name, table.name
        );
        if if_exists {
            ctx.notice(format!("{message}, skipping"));
            return Ok(());
        }
        return Err(Error::new(SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE, message));
    }
    (column.generated, column.default) = (false, None);
    ctx.put(table)
}

/// 42601: a generated column has no default to set or drop.
pub(super) fn refuse_default(table: &Relation, column: &Column, instead: &str) -> Error {
    Error::new(
        SqlState::SYNTAX_ERROR,
        format!("column \"{}\" of relation \"{}\" is a generated column", column.name, table.name),
    )
    .hint(format!("Use ALTER TABLE ... ALTER COLUMN ... {instead} EXPRESSION instead."))
}
