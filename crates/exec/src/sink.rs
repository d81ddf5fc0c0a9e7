//! The receiver of a statement's rows.

use crate::vector::ResultColumns;
use steppe_types::row::RowLayout;
use steppe_types::{Datum, Result};

/// Receives the rows of a statement.
pub trait RowSink: Send {
    /// One row, in the statement's column order.
    fn row(&mut self, row: &[Datum]) -> Result<()>;

    /// One stored row. Its columns `columns` (positions in `layout`) make up the output. Returns
    /// false if the sink wants [`RowSink::row`] instead, e.g. because a column is kept out of line.
    fn raw_row(&mut self, row: &[u8], layout: &RowLayout, columns: &[usize]) -> Result<bool> {
        let _ = (row, layout, columns);
        Ok(false)
    }

    /// Rows that the last node of the plan has made as columns.
    fn columns(&mut self, rows: &ResultColumns<'_>) -> Result<()> {
        let mut row = Vec::new();
        for i in 0..rows.len() {
            row.clear();
            rows.row_into(i, &mut row)?;
            self.row(&row)?;
        }
        Ok(())
    }

    /// Drops all rows that it has received. Returns false if some have already been passed on.
    fn take_back(&mut self) -> bool {
        false
    }
}

/// Keeps no row: for a statement whose rows only count, or are measured.
pub(crate) struct Dropped;

impl RowSink for Dropped {
    fn row(&mut self, _: &[Datum]) -> Result<()> {
        Ok(())
    }

    fn take_back(&mut self) -> bool {
        true
    }
}
