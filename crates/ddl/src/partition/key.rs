//! PARTITION BY: the key of a partitioned table.

use super::super::{DdlContext, index};
use super::invalid;
use std::sync::Arc;
use steppe_catalog::system::definitions::OpclassMethod;
use steppe_catalog::{OperatorRef, PartitionColumn, PartitionKey, Relation, builtin};
use steppe_exec::constants::check_stored;
use steppe_partition::PartitionStrategy;
use steppe_sql::ast::{self, PartitionSpec};
use steppe_sql::bind::index::{columns_of, is_mutable};
use steppe_sql::bind::typename::format_type;
use steppe_sql::bind::{
    ExprPlace, bind_table_expr, collation, is_system_column, stored_expr, stored_key,
};
use steppe_sql::deparse;
use steppe_sql::expr::Expr;
use steppe_types::{Error, Oid, Result, SqlState, oid};

/// PostgreSQL's PARTITION_MAX_KEYS.
const KEYS_MAX: usize = 32;

/// PARTITION BY over a table whose columns are known.
pub(crate) fn partition_key(
    ctx: &mut DdlContext<'_>,
    table: &Arc<Relation>,
    spec: &PartitionSpec,
) -> Result<PartitionKey> {
    let strategy = match spec.strategy {
        ast::PartitionStrategy::Range => PartitionStrategy::Range,
        ast::PartitionStrategy::List => PartitionStrategy::List,
        ast::PartitionStrategy::Hash => PartitionStrategy::Hash,
    };
    if strategy == PartitionStrategy::List && spec.elements.len() != 1 {
        return Err(invalid("cannot use \"list\" partition strategy with more than one column"));
    }
    if spec.elements.len() > KEYS_MAX {
        return Err(Error::new(
            SqlState::TOO_MANY_COLUMNS,
            format!("cannot partition using more than {KEYS_MAX} columns"),
        ));
    }
    let columns = spec.elements.iter().zip(1..).map(|(elem, number)| {
        let column = key_column(ctx, table, strategy, elem)?;
        check_type(&column, number).map(|()| column)
    });
    Ok(PartitionKey { strategy, columns: columns.collect::<Result<_>>()? })
}

fn key_column(
    ctx: &mut DdlContext<'_>,
    table: &Arc<Relation>,
    strategy: PartitionStrategy,
    elem: &ast::PartitionElem,
) -> Result<PartitionColumn> {
    let (attnum, expression, type_oid) = match &elem.key {
        ast::IndexKey::Column(name) if is_system_column(name) => {
            let message = format!("cannot use system column \"{name}\" in partition key");
            return Err(ctx.error(SqlState::INVALID_OBJECT_DEFINITION, message, elem.location));
        }
        ast::IndexKey::Column(name) => match table.column_index(name) {
            Some(position) => {
                check_not_generated(ctx, table, position as i16 + 1, elem)?;
                (position as i16 + 1, None, table.columns[position].type_oid)
            }
            None => {
                let message = format!("column \"{name}\" named in partition key does not exist");
                return Err(ctx.error(SqlState::UNDEFINED_COLUMN, message, elem.location));
            }
        },
        ast::IndexKey::Expr(expr) => key_expression(ctx, table, expr, elem)?,
    };
    if type_oid != oid::RECORD {
        check_has_opclass(strategy, type_oid)?;
    }
    let collation = match &elem.collation {
        Some(name) => collation(&ctx.catalog(), name, type_oid)?,
        None => table.collation_of_key(attnum, type_oid),
    };
    let opclass = elem.opclass.as_ref().map(|name| name.name());
    if let Some(name) = opclass {
        index::check_opclass(OpclassMethod::of_partitions(strategy), name, type_oid)?;
    }
    Ok(PartitionColumn { attnum, expression, type_oid, collation, opclass: opclass.map(Arc::from) })
}

/// 42P16 for a key of which no value can be stored.
fn check_type(column: &PartitionColumn, number: usize) -> Result<()> {
    if steppe_catalog::is_row_type(column.type_oid) {
        return Err(Error::not_supported("a partition key of whole rows"));
    }
    if column.type_oid != oid::RECORD {
        return Ok(());
    }
    let message = format!("partition key column {number} has pseudo-type record");
    Err(Error::new(SqlState::INVALID_TABLE_DEFINITION, message))
}

/// 42P17: what is generated is computed when the leaf is known.
fn check_not_generated(
    ctx: &DdlContext<'_>,
    table: &Relation,
    attnum: i16,
    elem: &ast::PartitionElem,
) -> Result<()> {
    let column = &table.columns[attnum as usize - 1];
    if !column.generated {
        return Ok(());
    }
    let message = "cannot use generated column in partition key";
    Err(ctx
        .error(SqlState::INVALID_OBJECT_DEFINITION, message, elem.location)
        .detail(format!("Column \"{}\" is a generated column.", column.name)))
}

/// An expression of a key as text; parentheses around a column make none of it.
fn key_expression(
    ctx: &mut DdlContext<'_>,
    table: &Arc<Relation>,
    expr: &ast::Expr,
    elem: &ast::PartitionElem,
) -> Result<(i16, Option<Arc<str>>, Oid)> {
    let place = ExprPlace::PartitionKey;
    let bound = ctx.binding(|b| bind_table_expr(b, Some(table), expr, place));
    let bound = bound.map_err(Error::without_position)?;
    for attnum in columns_of(&bound) {
        check_not_generated(ctx, table, attnum, elem)?;
    }
    match &bound {
        Expr::Var { column, .. } if *column < 0 => {
            return Err(invalid(
                "partition key expressions cannot contain system column references",
            ));
        }
        Expr::Var { column, ty, .. } => return Ok((*column as i16 + 1, None, ty.oid)),
        _ => {}
    }
    check_stored(&bound, &ctx.catalog())?;
    if is_mutable(&bound) {
        return Err(invalid("functions in partition key expression must be marked IMMUTABLE"));
    }
    if columns_of(&bound).is_empty() {
        return Err(invalid("cannot use constant expression as partition key"));
    }
    let text = deparse::table_expression(&bound, Some(table), &ctx.catalog());
    Ok((0, Some(Arc::from(text)), bound.ty().oid))
}

/// Whether the key of a partitioned table reads a column.
pub(crate) fn key_reads(ctx: &mut DdlContext<'_>, table: &Relation, attnum: i16) -> Result<bool> {
    let Some(key) = &table.partition_key else { return Ok(false) };
    let exprs = stored_key(&ctx.catalog(), &Arc::new(table.clone()), table, key)?;
    Ok(exprs.iter().any(|expr| columns_of(expr).contains(&attnum)))
}

/// Writes a key's expressions again after a column was renamed.
pub(crate) fn rename_in_key(
    ctx: &mut DdlContext<'_>,
    old: &Arc<Relation>,
    renamed: &mut Relation,
) -> Result<()> {
    let Some(mut key) = renamed.partition_key.as_deref().cloned() else { return Ok(()) };
    for column in &mut key.columns {
        let Some(text) = &column.expression else { continue };
        let bound = stored_expr(&ctx.catalog(), old, text, ExprPlace::PartitionKey)?;
        column.expression =
            Some(deparse::table_expression(&bound, Some(renamed), &ctx.catalog()).into());
    }
    renamed.partition_key = Some(Arc::new(key));
    Ok(())
}

fn check_has_opclass(strategy: PartitionStrategy, type_oid: Oid) -> Result<()> {
    let ordering = builtin::ordering(type_oid);
    let (method, there) = match strategy {
        PartitionStrategy::Hash => {
            let equal = ordering.and_then(|o| OperatorRef::built_in(o.eq));
            ("hash", equal.is_some_and(|operator| operator.can_hash))
        }
        PartitionStrategy::Range | PartitionStrategy::List => ("btree", ordering.is_some()),
    };
    if there {
        return Ok(());
    }
    let ty = format_type(type_oid, -1);
    Err(Error::new(
        SqlState::UNDEFINED_OBJECT,
        format!("data type {ty} has no default operator class for access method \"{method}\""),
    )
    .hint(format!(
        "You must specify a {method} operator class or define a default {method} operator class \
         for the data type."
    )))
}

/// Whether a unique constraint covers the partition key, so that equal rows meet in one
/// partition: 0A000. `what` is PRIMARY KEY or UNIQUE.
pub(crate) fn check_unique_covers_key(table: &Relation, keys: &[i16], what: &str) -> Result<()> {
    let Some(key) = &table.partition_key else { return Ok(()) };
    for column in &key.columns {
        if column.attnum == 0 {
            return Err(Error::new(
                SqlState::FEATURE_NOT_SUPPORTED,
                format!("unsupported {what} constraint with partition key definition"),
            )
            .detail(format!(
                "{what} constraints cannot be used when partition keys include expressions."
            )));
        }
        if !keys.contains(&column.attnum) {
            let name = &table.columns[column.attnum as usize - 1].name;
            return Err(Error::new(
                SqlState::FEATURE_NOT_SUPPORTED,
                "unique constraint on partitioned table must include all partitioning columns",
            )
            .detail(format!(
                "{what} constraint on table \"{}\" lacks column \"{name}\" which is part of the \
                 partition key.",
                table.name
            )));
        }
    }
    Ok(())
}
