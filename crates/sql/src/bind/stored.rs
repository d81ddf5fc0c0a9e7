//! Expressions that the catalog keeps as text: of indexes, constraints, partition keys.
//!
//! Whoever needs them binds them again: the text was made by the binder and names
//! only columns of the table and built-in functions, so that the session's search
//! path and settings play no part.

use super::{BindContext, ExprPlace, bind_table_expr, over_row, parse_expression};
use crate::expr::{Expr, Place, TypeRef};
use std::sync::Arc;
use steppe_catalog::{Catalog, ConstraintKind, PG_CATALOG, PartitionKey, Relation};
use steppe_types::io::IoContext;
use steppe_types::{Error, Result};

/// Binds a stored expression over a table that has the columns it names.
pub fn stored_expr(
    catalog: &Catalog,
    table: &Arc<Relation>,
    text: &str,
    place: ExprPlace,
) -> Result<Expr> {
    let io = IoContext::default();
    let ctx = BindContext { catalog, search_path: &[PG_CATALOG], io: &io, source: text };
    bind_table_expr(&ctx, Some(table), &parse_expression(text)?, place)
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
            // As the scan's conditions name it: with what its type is limited to.
            let ty = TypeRef { oid: column.type_oid, typmod: table.columns[at].typmod };
            let column = at as i32;
            Ok(Expr::Var { rte: 0, column, levels_up: 0, ty, at: Place::NONE })
        }
    });
    columns.collect()
}

/// A table's CHECK constraints over its row, by name as PostgreSQL checks them.
pub fn stored_checks(catalog: &Catalog, table: &Arc<Relation>) -> Result<Vec<(Arc<str>, Expr)>> {
    let mut checks = Vec::new();
    for constraint in &table.constraints {
        let ConstraintKind::Check { expression } = &constraint.kind else { continue };
        let bound = stored_expr(catalog, table, expression, ExprPlace::Check)?;
        checks.push((constraint.name.clone(), over_row(bound)?));
    }
    checks.sort_by(|a, b| a.0.cmp(&b.0));
    Ok(checks)
}

/// A table's generated columns over its row: position and expression.
pub fn stored_generated(catalog: &Catalog, table: &Arc<Relation>) -> Result<Vec<(usize, Expr)>> {
    let mut generated = Vec::new();
    for (position, column) in table.columns.iter().enumerate() {
        if let Some(text) = column.default.as_ref().filter(|_| column.generated) {
            let bound = stored_expr(catalog, table, text, ExprPlace::GeneratedColumn)?;
            generated.push((position, over_row(bound)?));
        }
    }
    Ok(generated)
}
