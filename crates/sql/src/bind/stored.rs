//! Expressions that the catalog keeps as text: of indexes, constraints, partition keys.
//!
//! Each use binds them again: the text was made by the binder and names
//! only columns of the table and built-in functions, so that the session's search
//! path and settings play no part.

use super::domains::expr_without_domains;
use super::{
    BindContext, ExprPlace, bind_assigned_expr, bind_table_expr, over_row, parse_expression,
};
use crate::expr::{Expr, Place, TypeRef};
use crate::plan::TABLE_OID;
use std::sync::Arc;
use steppe_catalog::{
    Catalog, ConstraintKind, ExtendedStatistics, PG_CATALOG, PartitionKey, Relation,
};
use steppe_types::io::IoContext;
use steppe_types::{Datum, Error, Result};

/// Binds a stored expression over a table that has the columns it names.
pub fn stored_expr(
    catalog: &Catalog,
    table: &Arc<Relation>,
    text: &str,
    place: ExprPlace,
) -> Result<Expr> {
    let io = IoContext::default();
    let ctx = BindContext { catalog, search_path: &[PG_CATALOG], io: &io, source: text };
    let bound = bind_table_expr(&ctx, Some(table), &parse_expression(text)?, place)?;
    Ok(expr_without_domains(catalog, bound))
}

/// The expressions of a statistics object, over its table.
pub fn statistics_exprs(
    catalog: &Catalog,
    table: &Arc<Relation>,
    object: &ExtendedStatistics,
) -> Result<Vec<Expr>> {
    let texts = object.expressions.iter().map(|expr| &expr.text);
    texts.map(|text| stored_expr(catalog, table, text, ExprPlace::StatisticsExpression)).collect()
}

/// The partition key of `parent` over the columns of `table`: the parent itself, or any table
/// above or below it. All of them have its columns, by name.
pub fn stored_key(
    catalog: &Catalog,
    table: &Arc<Relation>,
    parent: &Relation,
    key: &PartitionKey,
) -> Result<Vec<Expr>> {
    let columns = key.columns.iter().map(|column| match &column.expression {
        Some(text) => stored_expr(catalog, table, text, ExprPlace::PartitionKey),
        None => {
            let named = parent.columns.get(column.attnum as usize - 1);
            let at = named.and_then(|named| table.column_index(&named.name));
            let at = at.ok_or_else(|| Error::internal("partition key has no column"))?;
            // As the scan's conditions name it: with its type modifier.
            let ty = TypeRef { oid: column.type_oid, typmod: table.columns[at].typmod };
            let column = at as i32;
            Ok(Expr::Var { rte: 0, column, levels_up: 0, ty, at: Place::NONE })
        }
    });
    columns.collect()
}

/// [`of_stored`] over the row: columns become slots.
fn over_stored(catalog: &Catalog, table: &Arc<Relation>, expr: Expr) -> Result<Expr> {
    over_row(of_stored(catalog, table, expr)?)
}

/// An expression over a table as one over its stored rows. Virtual generated columns are replaced
/// by their expressions, and `tableoid` is known.
pub fn of_stored(catalog: &Catalog, table: &Arc<Relation>, expr: Expr) -> Result<Expr> {
    expr.transform(&mut |e| {
        let Expr::Var { column, levels_up: 0, ty, .. } = e else { return Ok(e) };
        if column == i32::from(TABLE_OID) {
            return Ok(Expr::Const(Datum::Oid(table.oid), ty));
        }
        let computed = match usize::try_from(column) {
            Ok(column) => virtual_value(catalog, table, column)?,
            Err(_) => None,
        };
        match computed {
            Some(value) => of_stored(catalog, table, value),
            None => Ok(e),
        }
    })
}

/// The expression of a virtual generated column, over its table; `None` for other columns.
pub fn virtual_value(
    catalog: &Catalog,
    table: &Arc<Relation>,
    position: usize,
) -> Result<Option<Expr>> {
    match table.columns.get(position).is_some_and(|column| column.is_virtual) {
        true => generated_value(catalog, table, position),
        false => Ok(None),
    }
}

/// The expression of a generated column, as a value of its type; `None` for other columns.
pub fn generated_value(
    catalog: &Catalog,
    table: &Arc<Relation>,
    position: usize,
) -> Result<Option<Expr>> {
    let column = table.columns.get(position).filter(|column| column.generated);
    let Some((column, text)) = column.and_then(|c| Some((c, c.default.as_ref()?))) else {
        return Ok(None);
    };
    let io = IoContext::default();
    let ctx = BindContext { catalog, search_path: &[PG_CATALOG], io: &io, source: text };
    let ty = TypeRef::of(column);
    let (parsed, place) = (parse_expression(text)?, ExprPlace::GeneratedColumn);
    let bound = bind_assigned_expr(&ctx, Some(table), &parsed, place, ty, &column.name)?;
    Ok(Some(expr_without_domains(catalog, bound)))
}

/// The virtual generated columns that must not be NULL: position, and expression over the row.
pub fn stored_never_null(catalog: &Catalog, table: &Arc<Relation>) -> Result<Vec<(usize, Expr)>> {
    let mut never_null = Vec::new();
    let columns = table.columns.iter().enumerate();
    for (position, _) in columns.filter(|(_, column)| column.is_virtual && column.not_null) {
        if let Some(value) = virtual_value(catalog, table, position)? {
            never_null.push((position, over_stored(catalog, table, value)?));
        }
    }
    Ok(never_null)
}

/// A table's CHECK constraints over its row, by name as PostgreSQL checks them.
pub fn stored_checks(catalog: &Catalog, table: &Arc<Relation>) -> Result<Vec<(Arc<str>, Expr)>> {
    let mut checks = Vec::new();
    for constraint in &table.constraints {
        let ConstraintKind::Check { expression } = &constraint.kind else { continue };
        let bound = stored_expr(catalog, table, expression, ExprPlace::Check)?;
        checks.push((constraint.name.clone(), over_stored(catalog, table, bound)?));
    }
    checks.sort_by(|a, b| a.0.cmp(&b.0));
    Ok(checks)
}

/// A table's stored generated columns over its row: position and expression.
pub fn stored_generated(catalog: &Catalog, table: &Arc<Relation>) -> Result<Vec<(usize, Expr)>> {
    let mut generated = Vec::new();
    for (position, column) in table.columns.iter().enumerate() {
        if column.is_virtual {
            continue;
        }
        if let Some(value) = generated_value(catalog, table, position)? {
            generated.push((position, over_stored(catalog, table, value)?));
        }
    }
    Ok(generated)
}
