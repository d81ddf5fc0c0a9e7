//! DEFAULT expressions: bound when all columns are known, and kept as text.

use super::super::{DdlContext, generated, sequence, truncate_name};
use std::sync::Arc;
use steppe_catalog::{Column, Relation};
use steppe_sql::ast::{self, ColumnDef, ConstraintKind, TableElement};
use steppe_sql::bind::{ExprPlace, bind_assigned_expr};
use steppe_sql::deparse;
use steppe_sql::expr::{Expr, TypeRef};
use steppe_types::{Datum, Error, Result, SqlState, oid};

/// Binds and stores the DEFAULT expressions of new columns.
pub(super) fn bind_defaults(
    ctx: &mut DdlContext<'_>,
    relation: &mut Relation,
    elements: &[TableElement],
) -> Result<()> {
    for element in elements {
        let TableElement::Column(def) = element else { continue };
        let Some(position) = relation.column_index(truncate_name(&def.name)) else { continue };
        bind_column_default(ctx, relation, position, def)?;
        generated::bind_expression(ctx, relation, position, def)?;
    }
    Ok(())
}

/// Binds and stores one column's DEFAULT, if it has one.
pub(crate) fn bind_column_default(
    ctx: &mut DdlContext<'_>,
    relation: &mut Relation,
    position: usize,
    def: &ColumnDef,
) -> Result<()> {
    let mut defaults = def.constraints.iter().filter_map(|c| match &c.kind {
        ConstraintKind::Default(expr) => Some((expr, c.location)),
        _ => None,
    });
    let Some((expr, _)) = defaults.next() else { return Ok(()) };
    let name = relation.columns[position].name.clone();
    if defaults.next().is_some() || relation.columns[position].default.is_some() {
        return Err(Error::new(
            SqlState::SYNTAX_ERROR,
            format!(
                "multiple default values specified for column \"{name}\" of table \"{}\"",
                relation.name
            ),
        ));
    }
    relation.columns[position].default = default_text(ctx, &relation.columns[position], expr)?;
    Ok(())
}

/// A DEFAULT expression as stored; `None` for a plain NULL.
pub(crate) fn default_text(
    ctx: &mut DdlContext<'_>,
    column: &Column,
    expr: &ast::Expr,
) -> Result<Option<Arc<str>>> {
    let to = TypeRef::of(column);
    let name = column.name.clone();
    let place = ExprPlace::ColumnDefault;
    let bound = ctx.binding(|b| bind_assigned_expr(b, None, expr, place, to, &name))?;
    if matches!(&bound, Expr::Const(value, _) if value.is_null()) {
        return Ok(None);
    }
    Ok(Some(stored_text(ctx, &bound).into()))
}

/// The text of an expression that reads no table, as stored.
pub(crate) fn stored_text(ctx: &mut DdlContext<'_>, bound: &Expr) -> String {
    let names = |e: &Expr| match e {
        Expr::Const(Datum::Oid(oid), ty) if ty.oid == oid::REGCLASS => {
            Some(sequence::regclass_text(*oid))
        }
        _ => None,
    };
    deparse::kept_expression(bound, &names, &ctx.catalog())
}
