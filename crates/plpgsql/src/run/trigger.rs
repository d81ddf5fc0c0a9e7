//! Calls of a function as a trigger: NEW and OLD, and the TG_ variables (plpgsql_exec_trigger in
//! pl_exec.c).
//!
//! NEW and OLD have the table's live columns. A row that is returned gets the table's layout back.

use std::sync::Arc;

use steppe_catalog::trigger::{TriggerLevel, TriggerTiming};
use steppe_catalog::{Catalog, Relation};
use steppe_exec::{RowCommand, TriggerAnswer, TriggerCall};
use steppe_types::{Datum, Error, Result, SqlState, oid};

use super::frame::{Column, Shape};
use super::walk::Run;
use crate::tree::{Promise, SlotId};

/// The columns of a table's rows, as a record has them.
pub(super) struct TableRow {
    shape: Arc<Shape>,
    /// The places of the live columns in the table's layout. `None`: all are live.
    live: Option<Box<[usize]>>,
    width: usize,
}

impl TableRow {
    pub(super) fn of(relation: &Relation) -> TableRow {
        let live = relation.columns.iter().enumerate().filter(|(_, column)| !column.dropped);
        let columns: Box<[Column]> = live
            .clone()
            .map(|(_, column)| Column {
                name: column.name.clone(),
                ty: column.type_oid,
                modifier: column.typmod,
            })
            .collect();
        let ty = steppe_catalog::row_type_of(relation).unwrap_or(oid::RECORD);
        let width = relation.columns.len();
        let places = (columns.len() != width).then(|| live.map(|(at, _)| at).collect());
        TableRow { shape: Arc::new(Shape { ty, columns }), live: places, width }
    }

    /// A row of the table as a record.
    fn record(&self, row: &[Datum]) -> Arc<[Datum]> {
        match &self.live {
            None => row.into(),
            Some(live) => live.iter().map(|at| row.get(*at).cloned().unwrap_or_default()).collect(),
        }
    }

    /// A record as a row of the table. The values of a record without another owner are moved.
    fn row(&self, mut record: Arc<[Datum]>) -> Vec<Datum> {
        let values: Vec<Datum> = match Arc::get_mut(&mut record) {
            Some(own) => own.iter_mut().map(std::mem::take).collect(),
            None => record.to_vec(),
        };
        match &self.live {
            None => values,
            Some(live) => {
                let mut row = vec![Datum::Null; self.width];
                for (at, datum) in live.iter().zip(values) {
                    row[*at] = datum;
                }
                row
            }
        }
    }
}

impl Run<'_, '_, '_> {
    /// Gives a trigger function its variables. The result is the row that it hands on if it
    /// returns it as it is; none if the function assigns to columns of it. That row then has no
    /// other owner, so that the columns are changed in place.
    pub(super) fn begin_trigger(
        &mut self,
        call: &TriggerCall<'_>,
        table: &TableRow,
    ) -> Result<Option<Arc<[Datum]>>> {
        let code = self.code;
        // A row that the command does not have is NULL, and so are both of a statement.
        let new = self.give_row(code.new, call.new, table);
        let old = self.give_row(code.old, call.old, table);
        for (slot, promise) in &code.promises {
            let value = self.promised(call, *promise)?;
            self.state.frame.set(*slot, value);
        }
        let (handed_on, slot) = match call.command {
            RowCommand::Delete => (old, code.old),
            _ => (new, code.new),
        };
        Ok(handed_on.filter(|_| slot.is_some_and(|slot| !code.fields.contains_key(&slot))))
    }

    fn give_row(
        &mut self,
        slot: Option<SlotId>,
        row: Option<&[Datum]>,
        table: &TableRow,
    ) -> Option<Arc<[Datum]>> {
        let slot = slot?;
        self.state.frame.set_shape(slot, &table.shape);
        let record = table.record(row?);
        self.state.frame.set(slot, Datum::Record(Arc::clone(&record)));
        Some(record)
    }

    /// The value of a TG_ variable.
    fn promised(&mut self, call: &TriggerCall<'_>, promise: Promise) -> Result<Datum> {
        let text = |text: &str| Datum::Text(text.into());
        Ok(match promise {
            Promise::Name => text(call.name()),
            Promise::When => text(match call.timing() {
                TriggerTiming::Before => "BEFORE",
                TriggerTiming::After => "AFTER",
                TriggerTiming::InsteadOf => "INSTEAD OF",
            }),
            Promise::Level => text(match call.level() {
                TriggerLevel::Row => "ROW",
                TriggerLevel::Statement => "STATEMENT",
            }),
            Promise::Operation => text(match call.command {
                RowCommand::Insert => "INSERT",
                RowCommand::Update => "UPDATE",
                RowCommand::Delete => "DELETE",
                RowCommand::Truncate => "TRUNCATE",
            }),
            Promise::RelationId => Datum::Oid(call.relation.oid),
            Promise::TableName => Datum::Text(call.relation.name.clone()),
            Promise::TableSchema => {
                let catalog: Arc<Catalog> = self.spi.catalog_in_force()?;
                text(catalog.schema(call.relation.schema).map_or("", |schema| &schema.name))
            }
            Promise::ArgumentCount => Datum::Int4(call.arguments().len() as i32),
            Promise::Arguments => arguments(call.arguments()),
            Promise::Event | Promise::Tag => {
                return Err(Error::not_supported("event triggers"));
            }
        })
    }

    /// The answer of a trigger function that has returned.
    pub(super) fn trigger_answer(
        &mut self,
        call: &TriggerCall<'_>,
        table: &TableRow,
        given: Option<&Arc<[Datum]>>,
    ) -> Result<TriggerAnswer> {
        if call.level() == TriggerLevel::Statement {
            return Ok(TriggerAnswer::Skip);
        }
        let expected = Arc::clone(&table.shape);
        let Some(row) = self.returned_row(&expected)? else { return Ok(TriggerAnswer::Skip) };
        if given.is_some_and(|given| Arc::ptr_eq(given, &row)) {
            return Ok(TriggerAnswer::Same);
        }
        for slot in [self.code.new, self.code.old].into_iter().flatten() {
            self.state.frame.set(slot, Datum::Null);
        }
        Ok(TriggerAnswer::Row(table.row(row)))
    }
}

/// TG_ARGV: an array whose subscripts begin with 0.
fn arguments(arguments: &[Arc<str>]) -> Datum {
    let elements: Vec<Datum> = arguments.iter().map(|text| Datum::Text(Arc::clone(text))).collect();
    let dimensions = match elements.len() {
        // PostgreSQL gives NULL to a trigger without arguments.
        0 => return Datum::Null,
        length => vec![(length as i32, 0)],
    };
    let element_type = oid::TEXT;
    Datum::Array(Arc::new(steppe_types::datum::Array { element_type, dimensions, elements }))
}

/// 0A000 for a trigger function that an expression calls.
pub(super) fn not_a_trigger(name: &str) -> Error {
    let message = "trigger functions can only be called as triggers";
    Error::new(SqlState::FEATURE_NOT_SUPPORTED, message)
        .within(format!("compilation of PL/pgSQL function \"{name}\" near line 1"))
}
