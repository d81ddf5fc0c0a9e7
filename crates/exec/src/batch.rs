//! Batches of rows, the currency between plan nodes.
//!
//! A batch is row-major: `width` datums a row. The consumer sets `wanted` to the number of rows it
//! can use, and a producer never hands up more. So LIMIT, EXISTS and row-limited portals never
//! cause work (row locks, sequence values) for rows that are not wanted.

use crate::expr::Row;
use steppe_types::Datum;

/// Rows a node produces at a time unless its consumer wants fewer.
pub(crate) const BATCH_ROWS: usize = 512;

/// A batch of rows of equal width.
#[derive(Debug)]
pub(crate) struct RowBatch {
    width: usize,
    rows: usize,
    values: Vec<Datum>,
    /// The most rows to put in.
    pub(crate) wanted: usize,
}

impl RowBatch {
    /// An empty batch for rows of `width` columns.
    pub(crate) fn new(width: usize) -> RowBatch {
        RowBatch { width, rows: 0, values: Vec::new(), wanted: BATCH_ROWS }
    }

    /// An empty batch that holds at most `wanted` rows.
    pub(crate) fn wanting(width: usize, wanted: usize) -> RowBatch {
        RowBatch { wanted: wanted.clamp(1, BATCH_ROWS), ..RowBatch::new(width) }
    }

    /// Drops the rows, keeps the memory.
    pub(crate) fn clear(&mut self) {
        self.rows = 0;
        self.values.clear();
    }

    pub(crate) fn len(&self) -> usize {
        self.rows
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.rows == 0
    }

    pub(crate) fn is_full(&self) -> bool {
        self.rows >= self.wanted
    }

    /// Rows that may still be put in.
    pub(crate) fn room(&self) -> usize {
        self.wanted.saturating_sub(self.rows)
    }

    pub(crate) fn width(&self) -> usize {
        self.width
    }

    /// Row `i`.
    #[inline]
    pub(crate) fn row(&self, i: usize) -> &[Datum] {
        &self.values[i * self.width..(i + 1) * self.width]
    }

    /// Appends a copy of a row.
    #[inline]
    pub(crate) fn push(&mut self, row: Row<'_>) {
        debug_assert_eq!(row.left.len() + row.right.len(), self.width);
        self.values.extend_from_slice(row.left);
        self.values.extend_from_slice(row.right);
        self.rows += 1;
    }

    /// Appends a row, leaving `row` empty.
    #[inline]
    pub(crate) fn push_owned(&mut self, row: &mut Vec<Datum>) {
        debug_assert_eq!(row.len(), self.width);
        self.values.append(row);
        self.rows += 1;
    }

    /// The place where a producer appends the columns of one row; [`Self::finish_row`] or
    /// [`Self::abandon_row`] must follow.
    #[inline]
    pub(crate) fn open_row(&mut self) -> &mut Vec<Datum> {
        debug_assert_eq!(self.values.len(), self.rows * self.width);
        &mut self.values
    }

    /// [`Self::open_row`] in the middle of a row.
    #[inline]
    pub(crate) fn open_row_unchecked(&mut self) -> &mut Vec<Datum> {
        &mut self.values
    }

    /// Counts the row whose columns were appended to [`Self::open_row`].
    #[inline]
    pub(crate) fn finish_row(&mut self) {
        self.rows += 1;
        debug_assert_eq!(self.values.len(), self.rows * self.width);
    }

    /// Counts the rows of one column that `produce` appends and returns their number; none if it
    /// fails.
    pub(crate) fn fill<E>(
        &mut self,
        produce: impl FnOnce(&mut Vec<Datum>) -> Result<usize, E>,
    ) -> Result<(), E> {
        debug_assert!(self.width == 1 && self.values.len() == self.rows);
        let produced = produce(&mut self.values);
        match &produced {
            Ok(rows) => self.rows += rows,
            Err(_) => self.abandon_row(),
        }
        debug_assert_eq!(self.values.len(), self.rows);
        produced.map(drop)
    }

    /// Drops a row that was begun.
    #[inline]
    pub(crate) fn abandon_row(&mut self) {
        self.values.truncate(self.rows * self.width);
    }

    /// All rows.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &[Datum]> {
        (0..self.rows).map(|i| self.row(i))
    }
}
