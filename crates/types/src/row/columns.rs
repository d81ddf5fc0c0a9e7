//! One column of many rows.
//!
//! Most rows of a table have the same header, hence the same form: a column is at the same place in
//! all of them. A reader knows that place. The caller checks once a row whether it has the form,
//! for any number of columns read (as X100's scans read a block column by column: Boncz et al.,
//! 2005).
//!
//! Readers read only what is quick to read. They leave values out of line, corrupted rows and rows
//! of another form to [`RowLayout::column_ref`]. A reader never reads outside the row.

use super::{
    HEADER_BYTES, HEADER_WIDE, NARROW_OUT_OF_LINE, Place, RowLayout, Shape, no_such_column,
};
use crate::Result;
use crate::physical::Physical;

/// The form of rows with a given header and narrow offsets.
#[derive(Clone, Copy, Debug)]
pub struct RowForm<'l> {
    layout: &'l RowLayout,
    header: [u8; HEADER_BYTES],
    shape: Shape,
}

/// Where a column is in rows of one form.
#[derive(Clone, Copy, Debug)]
pub enum ColumnReader {
    /// The rows are older than the column.
    Missing,
    /// It is of fixed width.
    Fixed(FixedReader),
    /// Its payload is in the variable section.
    Variable(VariableReader),
}

/// A column's flag in the null bitmap.
#[derive(Clone, Copy, Debug)]
struct NullFlag {
    at: usize,
    mask: u8,
}

/// Reads a column of fixed width.
#[derive(Clone, Copy, Debug)]
pub struct FixedReader {
    null: NullFlag,
    at: usize,
}

/// Reads a payload.
#[derive(Clone, Copy, Debug)]
pub struct VariableReader {
    null: NullFlag,
    /// The place of the end offset of the payload before, if there is one.
    before_at: Option<usize>,
    end_at: usize,
    payload_at: usize,
}

impl RowLayout {
    /// How values of column `i` are represented.
    pub fn physical(&self, i: usize) -> Result<Physical> {
        self.columns.get(i).map(|column| column.physical).ok_or_else(|| no_such_column(i))
    }

    /// The form of rows with this row's header. If that cannot be read quickly, the form of rows of
    /// the layout's own width.
    pub fn form_like(&self, row: &[u8]) -> RowForm<'_> {
        if let Some(header) = row.first_chunk::<HEADER_BYTES>() {
            let word = u16::from_le_bytes(*header);
            if word & HEADER_WIDE == 0 && usize::from(word) <= self.columns.len() {
                return RowForm {
                    layout: self,
                    header: *header,
                    shape: self.shape(word.into(), false),
                };
            }
        }
        let header = (self.columns.len() as u16).to_le_bytes();
        RowForm { layout: self, header, shape: self.blank_shape }
    }
}

impl RowForm<'_> {
    /// Whether a row has this form: the readers may read it.
    #[inline]
    pub fn fits(&self, row: &[u8]) -> bool {
        row.len() >= self.shape.payload_at && row.first_chunk() == Some(&self.header)
    }

    /// The reader of column `i`.
    pub fn reader(&self, i: usize) -> Result<ColumnReader> {
        let column = self.layout.columns.get(i).ok_or_else(|| no_such_column(i))?;
        if i >= self.shape.stored {
            return Ok(ColumnReader::Missing);
        }
        let null = NullFlag { at: HEADER_BYTES + i / 8, mask: 1 << (i % 8) };
        Ok(match column.place {
            Place::Fixed { offset, .. } => {
                ColumnReader::Fixed(FixedReader { null, at: self.shape.fixed_at + offset as usize })
            }
            Place::Variable { index } => {
                let end_at = self.shape.offsets_at + index as usize * 2;
                let before_at = (index > 0).then(|| end_at - 2);
                let payload_at = self.shape.payload_at;
                ColumnReader::Variable(VariableReader { null, before_at, end_at, payload_at })
            }
        })
    }
}

impl NullFlag {
    #[inline]
    fn is_set(self, row: &[u8]) -> bool {
        row.get(self.at).is_some_and(|bits| bits & self.mask != 0)
    }
}

impl FixedReader {
    /// Whether the column is NULL in a row that fits.
    #[inline]
    pub fn is_null(&self, row: &[u8]) -> bool {
        self.null.is_set(row)
    }

    /// The column's bytes in a row that fits: as many as its type has.
    #[inline]
    pub fn bytes<const WIDTH: usize>(&self, row: &[u8]) -> Option<[u8; WIDTH]> {
        row.get(self.at..self.at + WIDTH)?.try_into().ok()
    }
}

impl VariableReader {
    /// Whether the column is NULL in a row that fits.
    #[inline]
    pub fn is_null(&self, row: &[u8]) -> bool {
        self.null.is_set(row)
    }

    /// The column's payload in a row that fits; `None` if it is not in the row.
    #[inline]
    pub fn payload<'r>(&self, row: &'r [u8]) -> Option<&'r [u8]> {
        let offset = |at: usize| row.get(at..at + 2).map(|b| u16::from_le_bytes([b[0], b[1]]));
        let start = match self.before_at {
            Some(at) => offset(at)? & !NARROW_OUT_OF_LINE,
            None => 0,
        };
        let end = offset(self.end_at)?;
        if end & NARROW_OUT_OF_LINE != 0 {
            return None;
        }
        row.get(self.payload_at + usize::from(start)..self.payload_at + usize::from(end))
    }
}

#[cfg(test)]
#[path = "columns_tests.rs"]
mod tests;
