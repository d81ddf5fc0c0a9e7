//! Calls of a function as a trigger: NEW and OLD, and the TG_ variables (plpgsql_exec_trigger in
//! pl_exec.c).
//!
//! NEW and OLD have the table's live columns. A row that is returned gets the table's layout back.
//!
//! Calls for several rows use one frame. Between two of them all its variables become NULL, as they are
//! in a new frame; NEW and OLD only keep their columns' types and the memory of their values.

use std::sync::Arc;

use steppe_catalog::trigger::{TriggerLevel, TriggerTiming};
use steppe_catalog::{Catalog, Relation};
use steppe_exec::{RowCommand, TriggerAnswer, TriggerCall};
use steppe_types::{Datum, Error, Result, SqlState, oid};

use super::NO_RETURN;
use super::context::Phase;
use super::frame::{Column, Frame, Shape};
use super::value::Value;
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
                domain: column.domain,
            })
            .collect();
        let ty = steppe_catalog::row_type_of(relation).unwrap_or(oid::RECORD);
        let width = relation.columns.len();
        let places = (columns.len() != width).then(|| live.map(|(at, _)| at).collect());
        TableRow { shape: Arc::new(Shape { ty, columns }), live: places, width }
    }

    /// Gives a record a row of the table.
    fn give(&self, frame: &mut Frame, slot: SlotId, row: &[Datum]) {
        match &self.live {
            None => frame.set_row(slot, &self.shape, row),
            Some(live) => {
                let live = live.iter().map(|at| row.get(*at).cloned().unwrap_or_default());
                frame.set_row(slot, &self.shape, &live.collect::<Vec<_>>());
            }
        }
    }

    /// A record's values as a row of the table.
    fn row(&self, values: Vec<Datum>) -> Vec<Datum> {
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

/// The values and variables that the calls of a run have in common.
pub(super) struct InCommon {
    /// The TG_ variables that the function mentions, and their values.
    promised: Vec<(SlotId, Datum)>,
    /// The variable of the row that the function hands on, unless it assigns to columns of it.
    handed_on: Option<SlotId>,
}

impl Run<'_, '_, '_> {
    /// The values that all calls of a run have in common.
    pub(super) fn begin_run(&mut self, of: &TriggerCall<'_>) -> Result<InCommon> {
        self.state.position.set_phase(Phase::Entry);
        let code = self.code;
        let promises = code.promises.iter();
        let promised = promises.map(|(slot, promise)| Ok((*slot, self.promised(of, *promise)?)));
        let promised = promised.collect::<Result<_>>()?;
        let handed_on = match of.command {
            RowCommand::Delete => code.old,
            _ => code.new,
        };
        let handed_on = handed_on.filter(|slot| !code.fields.contains_key(slot));
        Ok(InCommon { promised, handed_on })
    }

    /// A call for a row.
    pub(super) fn fire(
        &mut self,
        call: &TriggerCall<'_>,
        table: &TableRow,
        common: &InCommon,
    ) -> Result<TriggerAnswer> {
        self.state.position.set_phase(Phase::Entry);
        let given = self.begin_trigger(call, table, common);
        if !self.enter_body()? {
            self.leave_body();
            let message = "control reached end of trigger procedure without RETURN";
            return Err(Error::new(NO_RETURN, message));
        }
        self.state.position.set_phase(Phase::Exit);
        self.trigger_answer(call, table, given)
    }

    /// Another call of the same function follows.
    pub(super) fn begin_again(&mut self) {
        self.processed = 0;
        self.returned = Value::default();
        self.has_returned = false;
        self.error = None;
        self.loops.clear();
        self.portals.clear();
        self.state.begin_again([self.code.new, self.code.old]);
    }

    /// Gives a trigger function its variables. The result is the row that it hands on if it
    /// returns it as it is; none if the function assigns to columns of it. That row then has no
    /// other owner, so that the columns are changed in place.
    fn begin_trigger(
        &mut self,
        call: &TriggerCall<'_>,
        table: &TableRow,
        common: &InCommon,
    ) -> Option<Arc<[Datum]>> {
        let (code, frame) = (self.code, &mut self.state.frame);
        // A row that the command does not have is NULL, and so are both of a statement.
        for (slot, row) in [(code.new, call.new), (code.old, call.old)] {
            match (slot, row) {
                (Some(slot), Some(row)) => table.give(frame, slot, row),
                (Some(slot), None) => {
                    frame.set_shape(slot, &table.shape);
                    frame.set(slot, Datum::Null);
                }
                (None, _) => {}
            }
        }
        for (slot, value) in &common.promised {
            frame.set(*slot, value.clone());
        }
        common.handed_on.and_then(|slot| frame.record(slot)).map(Arc::clone)
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
    fn trigger_answer(
        &mut self,
        call: &TriggerCall<'_>,
        table: &TableRow,
        given: Option<Arc<[Datum]>>,
    ) -> Result<TriggerAnswer> {
        if call.level() == TriggerLevel::Statement {
            return Ok(TriggerAnswer::Skip);
        }
        let Some(row) = self.returned_row(&table.shape)? else { return Ok(TriggerAnswer::Skip) };
        if given.is_some_and(|given| Arc::ptr_eq(&given, &row)) {
            return Ok(TriggerAnswer::Same);
        }
        let frame = &mut self.state.frame;
        let is_it = |slot: &SlotId| frame.record(*slot).is_some_and(|own| Arc::ptr_eq(own, &row));
        let values = match [self.code.new, self.code.old].into_iter().flatten().find(is_it) {
            // The variable becomes the only owner of the values, if it is.
            Some(slot) => {
                drop(row);
                frame.take_row(slot)
            }
            None => row.to_vec(),
        };
        Ok(TriggerAnswer::Row(table.row(values)))
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
