//! The partition key of a row.

use crate::context::ExecContext;
use crate::env::FnContext;
use crate::expr::{CExpr, Compiler, Row};
use std::sync::Arc;
use steppe_catalog::system::definitions::{Style, partition_key_columns};
use steppe_catalog::{PartitionColumn, PartitionKey, Relation};
use steppe_sql::bind::index::columns_of;
use steppe_sql::bind::{ExprPlace, over_row, stored_expr};
use steppe_types::{Datum, Error, Result};

/// A parent's partition key as it is computed from the rows of one table: the parent
/// itself or any table above or below it. All of them have its columns, by name.
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
        let parts = key.columns.iter().map(|column| match &column.expression {
            Some(text) => {
                let place = ExprPlace::PartitionKey;
                let bound = stored_expr(compiler.catalog(), table, text, place)?;
                columns.extend(columns_of(&bound).into_iter().map(|a| a as usize - 1));
                Ok(Part::Expression(compiler.expr(&over_row(bound)?)?))
            }
            None => {
                let named = parent.columns.get(column.attnum as usize - 1);
                let found = named.and_then(|named| table.column_index(&named.name));
                let at = found.ok_or_else(|| Error::internal("partition key has no column"))?;
                columns.push(at);
                Ok(Part::Column(at))
            }
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
    let names = partition_key_columns(parent, Style::PRETTY)?;
    let shown = |(value, column): (&Datum, &PartitionColumn)| {
        crate::modify::shown(value, column.type_oid, cx)
    };
    let values: Vec<String> = values.iter().zip(&key.columns).map(shown).collect();
    Some(format!("({}) = ({})", names.join(", "), values.join(", ")))
}
