//! Whether the stored values of a domain fulfil a new condition of it
//! (validateDomainCheckConstraint and validateDomainNotNullConstraint).

use super::super::scan::{evaluator, scan_rows};
use super::DdlContext;
use std::convert::Infallible;
use std::sync::Arc;
use steppe_catalog::{Catalog, RelKind, Relation, builtin};
use steppe_exec::stored::TableAccess;
use steppe_sql::expr::{Expr, TypeRef};
use steppe_txn::RelationLockMode;
use steppe_types::{Datum, Error, Oid, Result, SqlState};

/// 23502 if a column of the domain, or of one over it, has a NULL.
pub(super) fn check_not_null(ctx: &mut DdlContext<'_>, domain: Oid) -> Result<()> {
    each_column(ctx, domain, &mut |ctx, table, position| {
        let column = &table.columns[position].name;
        let schema = schema_of(ctx, table);
        let access = TableAccess::open(ctx.store.engine(), table)?;
        scan_rows(ctx, &access, &mut |_, values| match values.get(position) {
            Some(Datum::Null) | None => Err(Error::new(
                SqlState::NOT_NULL_VIOLATION,
                format!("column \"{column}\" of table \"{}\" contains null values", table.name),
            )
            .table(&schema, &table.name)
            .column(column)),
            Some(_) => Ok(()),
        })
    })
}

/// 23514 if a value of the domain, or of one over it, does not fulfil the condition.
pub(super) fn check_condition(
    ctx: &mut DdlContext<'_>,
    domain: Oid,
    condition: &Expr,
) -> Result<()> {
    each_column(ctx, domain, &mut |ctx, table, position| {
        let column = &table.columns[position];
        let schema = schema_of(ctx, table);
        let condition = over_column(condition, position, TypeRef::held(column));
        let mut evaluator = evaluator(ctx, std::slice::from_ref(&condition))?;
        let access = TableAccess::open(ctx.store.engine(), table)?;
        scan_rows(ctx, &access, &mut |_, values| match evaluator.evaluate(values)?.first() {
            Some(Datum::Bool(false)) => Err(Error::new(
                SqlState::CHECK_VIOLATION,
                format!(
                    "column \"{}\" of table \"{}\" contains values that violate the new \
                     constraint",
                    column.name, table.name
                ),
            )
            .table(&schema, &table.name)
            .column(&column.name)),
            _ => Ok(()),
        })
    })
}

fn schema_of(ctx: &mut DdlContext<'_>, table: &Relation) -> Arc<str> {
    ctx.catalog().schema(table.schema).map_or_else(|| "?".into(), |schema| schema.name.clone())
}

/// A condition over VALUE as one over a column of a row.
fn over_column(condition: &Expr, position: usize, ty: TypeRef) -> Expr {
    let over: std::result::Result<Expr, Infallible> =
        condition.clone().transform(&mut |expr| match expr {
            Expr::DomainValue(_) => Ok(Expr::Var {
                rte: 0,
                column: position as i32,
                levels_up: 0,
                ty,
                at: Default::default(),
            }),
            other => Ok(other),
        });
    match over {
        Ok(expr) => expr,
        Err(never) => match never {},
    }
}

type OfColumn<'f> = dyn FnMut(&mut DdlContext<'_>, &Arc<Relation>, usize) -> Result<()> + 'f;

/// Calls `f` with each column of a table whose values are of the domain, or of one over it. The table
/// is locked against changes. 0A000 for values inside of arrays.
fn each_column(ctx: &mut DdlContext<'_>, domain: Oid, f: &mut OfColumn<'_>) -> Result<()> {
    let catalog = ctx.catalog();
    let mut using: Vec<Oid> = Vec::new();
    for relation in catalog.relations().filter(|relation| holds_rows(relation)) {
        for column in relation.columns.iter().filter(|column| !column.dropped) {
            if is_inside(&catalog, column.domain, domain) {
                return Err(used_in(ctx, domain, relation, &column.name));
            }
            if is_of(&catalog, column.domain, domain) && !using.contains(&relation.oid) {
                using.push(relation.oid);
            }
        }
    }
    for oid in using {
        let table = ctx.lock_current(oid, RelationLockMode::Share)?;
        for (position, column) in table.columns.iter().enumerate() {
            if !column.dropped && is_of(&catalog, column.domain, domain) {
                f(ctx, &table, position)?;
            }
        }
    }
    Ok(())
}

/// 0A000: PostgreSQL does not look into arrays either.
fn used_in(ctx: &mut DdlContext<'_>, domain: Oid, table: &Relation, column: &str) -> Error {
    let shown = ctx.catalog().own_type_name(domain).map_or_else(|| "?".into(), |(_, name)| name);
    let message =
        format!("cannot alter type \"{shown}\" because column \"{}.{column}\" uses it", table.name);
    Error::new(SqlState::FEATURE_NOT_SUPPORTED, message)
}

fn holds_rows(relation: &Relation) -> bool {
    relation.kind == RelKind::Table
}

/// Whether a type is the domain or one over it.
fn is_of(catalog: &Catalog, ty: Oid, domain: Oid) -> bool {
    ty == domain || catalog.domains_down(ty).any(|(_, below)| below.base == domain)
}

/// Whether a type is an array over such a domain.
fn is_inside(catalog: &Catalog, ty: Oid, domain: Oid) -> bool {
    let base = catalog.base_type(ty).oid;
    let array = builtin::ty(base).filter(|ty| ty.is_true_array());
    array.is_some_and(|array| is_of(catalog, array.element, domain))
}
