//! Receivers of a cursor's rows.

use crate::sink::RowSink;
use crate::tuplestore::TupleStore;
use crate::vector::ResultColumns;
use steppe_types::{Datum, Result};

/// Counts the rows that a sink gets.
pub(super) struct Counted<'s> {
    pub(super) sink: &'s mut dyn RowSink,
    pub(super) rows: u64,
}

impl RowSink for Counted<'_> {
    fn row(&mut self, row: &[Datum]) -> Result<()> {
        self.rows += 1;
        self.sink.row(row)
    }

    fn columns(&mut self, rows: &ResultColumns<'_>) -> Result<()> {
        self.rows += rows.len() as u64;
        self.sink.columns(rows)
    }
}

/// Drops the rows that a cursor moves over.
pub(super) struct Nothing;

impl RowSink for Nothing {
    fn row(&mut self, _: &[Datum]) -> Result<()> {
        Ok(())
    }
}

impl RowSink for TupleStore {
    fn row(&mut self, row: &[Datum]) -> Result<()> {
        self.append(row)
    }
}
