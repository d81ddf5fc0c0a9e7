//! A batch of rows as columns.

use super::{Data, Vector};
use crate::batch::RowBatch;
use steppe_types::{Datum, Result};

/// Rows that a node hands up as columns, unless its consumer wants fewer.
pub(crate) const COLUMN_ROWS: usize = 1024;

/// Strings of a column beyond this many bytes are handed up in more batches.
pub(super) const TEXT_BYTES_MAX: usize = 64 << 20;

/// A dense batch: every column has a value for each of its rows.
#[derive(Clone, Debug, Default)]
pub(crate) struct ColumnBatch {
    rows: usize,
    pub(crate) columns: Vec<Vector>,
    /// The number of rows that the consumer needs. A producer may hand up more if that has no
    /// visible cost.
    pub(crate) wanted: usize,
}

impl ColumnBatch {
    /// An empty batch of `width` columns.
    pub(crate) fn new(width: usize) -> ColumnBatch {
        let columns = (0..width).map(|_| Vector::default()).collect();
        ColumnBatch { rows: 0, columns, wanted: COLUMN_ROWS }
    }

    /// Drops the rows.
    pub(crate) fn clear(&mut self) {
        self.rows = 0;
        self.columns.iter_mut().for_each(Vector::clear);
    }

    /// The number of rows.
    pub(crate) fn len(&self) -> usize {
        self.rows
    }

    /// Whether there are no rows.
    pub(crate) fn is_empty(&self) -> bool {
        self.rows == 0
    }

    /// Takes these columns, which have `rows` values each, or none if they are unread.
    pub(crate) fn set(&mut self, rows: usize, columns: Vec<Vector>) {
        debug_assert!(columns.iter().all(|column| [0, rows].contains(&column.len())));
        self.rows = rows;
        self.columns = columns;
    }

    /// Sets the number of rows. Unread columns may have no values.
    pub(crate) fn set_rows(&mut self, rows: usize) {
        self.rows = rows;
    }

    /// Appends a row.
    pub(crate) fn push_row(&mut self, row: &[Datum]) {
        debug_assert_eq!(row.len(), self.columns.len());
        for (column, value) in self.columns.iter_mut().zip(row) {
            column.push(value);
        }
        self.rows += 1;
    }

    /// Whether its strings are long enough that further rows belong into another batch.
    pub(crate) fn is_large(&self) -> bool {
        let is_large = |column: &Vector| match &column.data {
            Data::Texts(texts) => texts.byte_len() > TEXT_BYTES_MAX,
            _ => false,
        };
        self.columns.iter().any(is_large)
    }

    /// The rows at these places.
    pub(crate) fn gather(&self, places: &[u32]) -> ColumnBatch {
        let columns = self.columns.iter().map(|column| match column.len() {
            0 => Vector::default(),
            _ => column.gather(places),
        });
        ColumnBatch { rows: places.len(), columns: columns.collect(), wanted: self.wanted }
    }

    /// Appends row `i` to `out`, with NULL for unread columns.
    pub(crate) fn row_into(&self, i: usize, out: &mut Vec<Datum>) -> Result<()> {
        for column in &self.columns {
            match column.len() {
                0 => out.push(Datum::Null),
                _ => column.datum_into(i, out)?,
            }
        }
        Ok(())
    }

    /// Appends rows from `from` on to `out`, as many as there is room for; returns their number.
    pub(crate) fn rows_into(&self, from: usize, out: &mut RowBatch) -> Result<usize> {
        let taken = out.room().min(self.rows.saturating_sub(from));
        for i in from..from + taken {
            self.row_into(i, out.open_row())?;
            out.finish_row();
        }
        Ok(taken)
    }
}
