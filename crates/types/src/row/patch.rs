//! Changes the value of one column of a stored row without decoding the others.
//!
//! A patched row equals the row that encoding all values anew would make. A row is left as it is if
//! its layout would change: a column becomes NULL or not NULL, offsets get wide, or the column is
//! missing or out of line.

use super::{
    ColumnRef, HEADER_BYTES, NARROW_PAYLOAD_MAX, Place, RowLayout, read_entry, write_entry,
};
use crate::stored;
use crate::{Datum, Result};

impl RowLayout {
    /// Overwrites column `i` in place; false, with the row untouched, unless the
    /// column is fixed-width, stored and not NULL, and so is the new value.
    pub fn patch_fixed(&self, row: &mut [u8], i: usize, value: &Datum) -> bool {
        let Some(column) = self.columns.get(i) else { return false };
        let Place::Fixed { offset, width } = column.place else { return false };
        if value.is_null() || !column.physical.accepts(value) {
            return false;
        }
        let Ok(shape) = self.read_shape(row) else { return false };
        if i >= shape.stored || row[HEADER_BYTES + i / 8] & (1 << (i % 8)) != 0 {
            return false;
        }
        let at = shape.fixed_at + offset as usize;
        stored::write_fixed(value, &mut row[at..at + width as usize]).is_ok()
    }

    /// Replaces the value of column `i`. Returns false, with the row untouched, unless the column
    /// is of variable width, its old and new values are not NULL and stored in the row itself, and
    /// narrow offsets reach the row's end before and after. After true, the row is what
    /// [`Self::encode`] of all its values makes. `scratch` is overwritten.
    pub fn patch_variable(
        &self,
        row: &mut Vec<u8>,
        i: usize,
        value: &Datum,
        scratch: &mut Vec<u8>,
    ) -> Result<bool> {
        let Some(column) = self.columns.get(i) else { return Ok(false) };
        let Place::Variable { index } = column.place else { return Ok(false) };
        if value.is_null() || !column.physical.accepts(value) {
            return Ok(false);
        }
        let (shape, index) = (self.read_shape(row)?, index as usize);
        let ColumnRef::Bytes(old) = self.column_in(row, &shape, i)? else { return Ok(false) };
        let old_len = old.len();
        scratch.clear();
        stored::write_variable(column.physical, value, scratch)?;
        let payload = row.len() - shape.payload_at - old_len + scratch.len();
        if shape.wide || payload > NARROW_PAYLOAD_MAX {
            return Ok(false);
        }
        let end = read_entry(row, &shape, index).0;
        let start = shape.payload_at + end - old_len;
        if old_len == scratch.len() {
            row[start..start + old_len].copy_from_slice(scratch);
            return Ok(true);
        }
        row.splice(start..start + old_len, scratch.iter().copied());
        let entries = self.prefixes[shape.stored].variable_columns as usize;
        for entry in index..entries {
            let (end, out_of_line) = read_entry(row, &shape, entry);
            let end = (end + scratch.len()).saturating_sub(old_len);
            write_entry(&mut row[shape.offsets_at..], entry, false, end, out_of_line);
        }
        Ok(true)
    }

    /// Whether column `i` of the row has exactly the bytes that `value` is stored as. If so,
    /// assigning it changes nothing. `scratch` is overwritten.
    pub fn holds(
        &self,
        row: &[u8],
        i: usize,
        value: &Datum,
        scratch: &mut Vec<u8>,
    ) -> Result<bool> {
        let stored = match self.column_ref(row, i)? {
            ColumnRef::Bytes(bytes) => bytes,
            ColumnRef::Null => return Ok(value.is_null()),
            ColumnRef::Missing | ColumnRef::OutOfLine(_) => return Ok(false),
        };
        let column = &self.columns[i];
        if value.is_null() || !column.physical.accepts(value) {
            return Ok(false);
        }
        scratch.clear();
        match column.place {
            Place::Fixed { width, .. } => {
                scratch.resize(width as usize, 0);
                stored::write_fixed(value, scratch)?;
            }
            Place::Variable { .. } => stored::write_variable(column.physical, value, scratch)?,
        }
        Ok(scratch == stored)
    }
}
