//! The partition key of a row.

use crate::context::ExecContext;
use crate::expr::{CExpr, Compiler, Row};
use std::sync::Arc;
use steppe_catalog::system::definitions::{Style, partition_key_columns};
use steppe_catalog::{PartitionColumn, PartitionKey, Relation};
use steppe_functions::FnContext;
use steppe_sql::bind::index::columns_of;
use steppe_sql::bind::{over_row, stored_key};
use steppe_sql::expr::Expr;
use steppe_types::{Datum, Error, Result};

/// A parent's partition key, computed from the rows of one table: the parent itself or any table
/// above or below it. All of them have its columns, by name.
pub(crate) struct KeyOfRow {
    parts: Box<[Part]>,
    /// Positions of the columns that it reads.
    columns: Box<[usize]>,
}

enum Part {
    /// Position of a column.
    Column(usize),
    Expression(CExpr),
}

impl KeyOfRow {
    /// The key of `parent` over the rows of `table`.
    pub(crate) fn new(
        parent: &Relation,
        key: &PartitionKey,
        table: &Arc<Relation>,
        compiler: &mut Compiler<'_>,
    ) -> Result<KeyOfRow> {
        let mut columns = Vec::new();
        let exprs = stored_key(compiler.catalog(), table, parent, key)?.into_iter();
        let parts = exprs.map(|expr| {
            columns.extend(columns_of(&expr).into_iter().map(|attnum| attnum as usize - 1));
            Ok(match expr {
                Expr::Var { column, .. } => Part::Column(column as usize),
                expr => Part::Expression(compiler.expr(&over_row(expr)?)?),
            })
        });
        let parts = parts.collect::<Result<_>>()?;
        Ok(KeyOfRow { parts, columns: columns.into() })
    }

    /// Appends the key of a row to `out`.
    pub(crate) fn append(
        &self,
        row: &[Datum],
        cx: &mut ExecContext,
        out: &mut Vec<Datum>,
    ) -> Result<()> {
        for part in &self.parts {
            out.push(match part {
                Part::Column(at) => row
                    .get(*at)
                    .cloned()
                    .ok_or_else(|| Error::internal("partition key has no value"))?,
                Part::Expression(expr) => expr.eval(cx, Row::of(row))?,
            });
        }
        Ok(())
    }

    /// Whether it depends on a column.
    pub(crate) fn reads(&self, column: usize) -> bool {
        self.columns.contains(&column)
    }
}

/// `(names) = (values)` of a parent's key, for an error (ExecBuildSlotPartitionKeyDescription).
pub(super) fn shown_key(parent: &Relation, values: &[Datum], cx: &FnContext) -> Option<String> {
    let key = parent.partition_key.as_ref()?;
    let names = partition_key_columns(&cx.catalog, parent, Style::PRETTY)?;
    let shown = |(value, column): (&Datum, &PartitionColumn)| {
        crate::change::shown(value, column.type_oid, cx)
    };
    let values: Vec<String> = values.iter().zip(&key.columns).map(shown).collect();
    Some(format!("({}) = ({})", names.join(", "), values.join(", ")))
}
