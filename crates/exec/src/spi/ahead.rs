//! Rows that a cursor has read before they are asked for.
//!
//! A program that fetches row after row would start the executor for each. So the cursor reads a
//! piece and gives its rows one by one. The program cannot notice it, because the rows are fixed
//! ([`steppe_sql::plan::has_fixed_rows`]). An error of the query is raised when the row that failed
//! is asked for, after the rows before it. An error that stops the statement (class 57) is
//! raised at once.
//!
//! A piece begins with few rows and doubles, so that a program that needs few rows reads few. It stays
//! small, and smaller if the rows of the piece before were wide. A program may look at all rows of a
//! piece at once, and say how many of them it has taken.

use crate::sink::RowSink;
use crate::vector::ResultColumns;
use steppe_spill::row_bytes;
use steppe_types::{Datum, Error, Result};

/// The rows of the first piece, and of the largest.
const PIECE_ROWS: (u64, u64) = (8, 1024);

/// The bytes of a piece, if its rows are as wide as those of the piece before.
const PIECE_BYTES: usize = 64 << 10;

/// The class of errors of operator intervention.
const STOPPED: &[u8] = b"57";

/// Rows in order.
#[derive(Default)]
pub(super) struct Ahead {
    values: Vec<Datum>,
    /// The number of values of a row.
    width: usize,
    /// The rows that it has got, and those of them that it has given.
    rows: usize,
    given: usize,
    /// The error that follows the rows.
    error: Option<Error>,
    /// The rows of the last piece.
    piece: u64,
    /// Whether rows may be read before they are asked for, once that is known.
    is_allowed: Option<bool>,
}

impl Ahead {
    /// Whether it may be used.
    #[inline]
    pub(super) fn is_allowed(&mut self, find: impl FnOnce() -> bool) -> bool {
        *self.is_allowed.get_or_insert_with(find)
    }

    /// Reads a piece. All rows have been given.
    pub(super) fn begin(
        &mut self,
        width: usize,
        read: impl FnOnce(u64, &mut dyn RowSink) -> Result<u64>,
    ) -> Result<()> {
        let (first, most) = PIECE_ROWS;
        let row_bytes = row_bytes(self.values.iter()) / self.rows.max(1);
        let fitting = (PIECE_BYTES / row_bytes.max(1)).max(1) as u64;
        self.piece = (self.piece * 2).clamp(first, most).min(fitting);
        self.values.clear();
        (self.width, self.rows, self.given) = (width, 0, 0);
        match read(self.piece, self) {
            Ok(_) => Ok(()),
            Err(error) if error.sqlstate().0.starts_with(STOPPED) || self.rows == 0 => Err(error),
            Err(error) => {
                self.error = Some(error);
                Ok(())
            }
        }
    }

    /// The rows that it has not given, their values one after the other.
    #[inline]
    pub(super) fn left(&self) -> &[Datum] {
        &self.values[self.given * self.width..]
    }

    /// Whether it has given all its rows, and there is no error behind them.
    #[inline]
    pub(super) fn is_spent(&self) -> bool {
        self.given == self.rows && self.error.is_none()
    }

    /// Gives the next rows to a program that has looked at them.
    pub(super) fn take(&mut self, rows: usize) {
        self.given = self.rows.min(self.given + rows);
    }

    /// Gives rows to the sink, `rows` at most (0: all), and returns their number. The error is raised
    /// in the place of the row that failed.
    #[inline]
    pub(super) fn give(&mut self, rows: u64, sink: &mut dyn RowSink) -> Result<u64> {
        let left = self.rows - self.given;
        let count = match usize::try_from(rows) {
            Ok(rows) if rows > 0 => left.min(rows),
            _ => left,
        };
        for row in self.given..self.given + count {
            self.given = row + 1;
            sink.row(&self.values[row * self.width..(row + 1) * self.width])?;
        }
        match (self.given == self.rows && (count as u64) < rows.max(1)) || rows == 0 {
            true => self.error.take().map_or(Ok(count as u64), Err),
            false => Ok(count as u64),
        }
    }
}

impl RowSink for Ahead {
    fn row(&mut self, row: &[Datum]) -> Result<()> {
        self.values.extend_from_slice(row);
        self.rows += 1;
        Ok(())
    }

    fn columns(&mut self, rows: &ResultColumns<'_>) -> Result<()> {
        rows.rows_into(&mut self.values)?;
        self.rows += rows.len();
        Ok(())
    }
}
