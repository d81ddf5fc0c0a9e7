//! The stored row.
//!
//! Any column is reached in constant time, independent of the columns before it. A row written
//! before `ALTER TABLE ADD COLUMN` is read through the longer layout without being rewritten.
//!
//! ```text
//! ┌────────┬──────────────┬───────────────┬────────────────┬──────────────────┐
//! │ header │ null bitmap  │ fixed section │ end offsets    │ variable section │
//! │ u16    │ ⌈n/8⌉ bytes  │ by prefix sum │ u16 or u32 × v │ payloads         │
//! └────────┴──────────────┴───────────────┴────────────────┴──────────────────┘
//! header       bits 0–14: n, the number of columns stored; bit 15: offsets are u32;
//!              never FF FF, which a keeper of rows may give a meaning of its own
//! null bitmap  bit i set: column i is NULL
//! fixed        a fixed-width column has its place even while it is NULL
//! end offset   where the column's payload ends, from the start of the section;
//!              the high bit says that the payload is an opaque pointer to a
//!              value that is kept out of line
//! ```
//!
//! Columns keep their order within each section, so the first n columns of a layout occupy the same
//! places in a row of n columns as in a longer row, up to the shift that n itself determines. That
//! makes old rows readable. A column past n is *missing*: its value is the layout's missing value
//! (the default at the time of ADD COLUMN, as PostgreSQL's attmissingval).
//!
//! Correctness: reading arbitrary bytes returns XX001 or a value, never panics
//! and never reads outside the row.

mod columns;
mod patch;

pub use columns::{ColumnReader, FixedReader, RowForm, VariableReader};

use crate::oid::Oid;
use crate::physical::Physical;
use crate::stored;
use crate::{Datum, Error, Result, SqlState};

/// Columns a row may have: PostgreSQL's MaxHeapAttributeNumber.
pub const COLUMNS_MAX: usize = 1600;

const HEADER_BYTES: usize = 2;
const HEADER_WIDE: u16 = 1 << 15;
const NARROW_PAYLOAD_MAX: usize = 0x7FFF;
const WIDE_PAYLOAD_MAX: usize = 0x7FFF_FFFF;
const NARROW_OUT_OF_LINE: u16 = 1 << 15;
const WIDE_OUT_OF_LINE: u32 = 1 << 31;

/// One column of a stored row, not yet decoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ColumnRef<'a> {
    /// NULL is stored.
    Null,
    /// The row is older than the column.
    Missing,
    /// The value: little-endian bytes of a fixed-width type, else the payload.
    Bytes(&'a [u8]),
    /// An opaque pointer to a value kept out of line, as given to
    /// [`RowLayout::encode_with_pointers`].
    OutOfLine(&'a [u8]),
}

/// Fetches the payload of an out-of-line column, given the column and its pointer.
pub type FetchPayload<'a> = dyn FnMut(usize, &[u8]) -> Result<Vec<u8>> + 'a;

/// Where a column stands in its section.
#[derive(Clone, Copy, Debug)]
enum Place {
    Fixed { offset: u32, width: u32 },
    Variable { index: u32 },
}

#[derive(Clone, Debug)]
struct Column {
    physical: Physical,
    place: Place,
    /// The value in rows older than the column.
    missing: Datum,
}

/// Lengths of the sections of a row with a given number of columns.
#[derive(Clone, Copy, Debug)]
struct Prefix {
    fixed_bytes: u32,
    variable_columns: u32,
}

/// How rows of given column types are laid out.
#[derive(Clone, Debug)]
pub struct RowLayout {
    columns: Vec<Column>,
    /// `prefixes[n]` describes a row of `n` columns; one longer than `columns`.
    prefixes: Vec<Prefix>,
    /// The beginning of a row: all before its payloads, with narrow offsets. `blank_shape` has the
    /// places.
    blank: Box<[u8]>,
    blank_shape: Shape,
}

/// The places in one row, as its header determines them.
#[derive(Clone, Copy, Debug)]
struct Shape {
    stored: usize,
    wide: bool,
    fixed_at: usize,
    offsets_at: usize,
    payload_at: usize,
}

impl RowLayout {
    /// The layout for columns of the given types. A type that is not built in
    /// is variable-width and takes any value.
    pub fn new(types: &[Oid]) -> RowLayout {
        let mut prefix = Prefix { fixed_bytes: 0, variable_columns: 0 };
        let mut columns = Vec::with_capacity(types.len());
        let mut prefixes = vec![prefix];
        for type_oid in types {
            let physical = Physical::of(*type_oid);
            let place = match physical.fixed_width() {
                Some(width) => {
                    let place = Place::Fixed { offset: prefix.fixed_bytes, width: width as u32 };
                    prefix.fixed_bytes += width as u32;
                    place
                }
                None => {
                    prefix.variable_columns += 1;
                    Place::Variable { index: prefix.variable_columns - 1 }
                }
            };
            columns.push(Column { physical, place, missing: Datum::Null });
            prefixes.push(prefix);
        }
        let blank_shape = shape(columns.len(), false, prefix);
        let mut blank = vec![0; blank_shape.payload_at];
        blank[..HEADER_BYTES].copy_from_slice(&(columns.len() as u16).to_le_bytes());
        RowLayout { columns, prefixes, blank: blank.into(), blank_shape }
    }

    /// Number of columns.
    pub fn len(&self) -> usize {
        self.columns.len()
    }

    /// Whether there are no columns.
    pub fn is_empty(&self) -> bool {
        self.columns.is_empty()
    }

    /// Whether column `i` has a place in the fixed-width section.
    pub fn is_fixed(&self, i: usize) -> bool {
        self.columns.get(i).is_some_and(|c| matches!(c.place, Place::Fixed { .. }))
    }

    /// Sets the value of column `i` in rows older than the column; NULL unless set.
    pub fn set_missing_value(&mut self, i: usize, value: Datum) -> Result<()> {
        let column = self.columns.get_mut(i).ok_or_else(|| no_such_column(i))?;
        column.physical.check(&value)?;
        column.missing = value;
        Ok(())
    }

    /// The value of column `i` in rows older than the column.
    pub fn missing_value(&self, i: usize) -> Result<&Datum> {
        self.columns.get(i).map(|c| &c.missing).ok_or_else(|| no_such_column(i))
    }

    /// Appends the row of `values`, one for each column, to `out`.
    pub fn encode(&self, values: &[Datum], out: &mut Vec<u8>) -> Result<()> {
        if values.len() <= COLUMNS_MAX {
            let start = out.len();
            let mut writer = self.start_row(out);
            let written = values.iter().try_for_each(|value| writer.push(value));
            if let Ok(true) = written.and_then(|()| writer.finish()) {
                return Ok(());
            }
            // The row needs wide offsets, or is not possible; then the code below returns the
            // error.
            out.truncate(start);
        }
        self.encode_with_pointers(values, &[], out)
    }

    /// Like [`Self::encode`], with the columns named in `pointers` (sorted by column,
    /// variable-width only) stored as the opaque bytes given there and marked out of line; their
    /// entry in `values` is ignored.
    pub fn encode_with_pointers(
        &self,
        values: &[Datum],
        pointers: &[(usize, &[u8])],
        out: &mut Vec<u8>,
    ) -> Result<()> {
        if values.len() != self.columns.len() {
            return Err(Error::internal("row has another number of values than its layout"));
        }
        if values.len() > COLUMNS_MAX {
            return Err(Error::new(
                SqlState::TOO_MANY_COLUMNS,
                format!("number of columns ({}) exceeds limit ({COLUMNS_MAX})", values.len()),
            ));
        }
        debug_assert!(pointers.is_sorted_by_key(|(column, _)| *column));
        let start = out.len();
        let written = match self.encode_sections(values, pointers, false, out) {
            Ok(true) => return Ok(()),
            // Rare: the payload needs wide offsets, which we know only now.
            Ok(false) => {
                out.truncate(start);
                self.encode_sections(values, pointers, true, out)
            }
            Err(error) => Err(error),
        };
        match written {
            Ok(true) => Ok(()),
            Ok(false) => {
                out.truncate(start);
                Err(Error::new(SqlState::PROGRAM_LIMIT_EXCEEDED, "row is too big"))
            }
            Err(error) => {
                out.truncate(start);
                Err(error)
            }
        }
    }

    /// Writes the row with narrow or wide offsets; false if they cannot reach
    /// the end of the payload.
    fn encode_sections(
        &self,
        values: &[Datum],
        mut pointers: &[(usize, &[u8])],
        wide: bool,
        out: &mut Vec<u8>,
    ) -> Result<bool> {
        let mut writer = if wide { self.start_wide_row(out) } else { self.start_row(out) };
        for (i, value) in values.iter().enumerate() {
            match pointers.split_first() {
                Some((&(at, pointer), rest)) if at == i => {
                    pointers = rest;
                    writer.push_pointer(pointer)?;
                }
                _ => writer.push(value)?,
            }
        }
        writer.finish()
    }

    /// Begins a row at the end of `out`, to be written column by column. Its
    /// variable section must stay short (see [`RowWriter::finish`]).
    #[inline]
    pub fn start_row<'a>(&'a self, out: &'a mut Vec<u8>) -> RowWriter<'a> {
        let start = out.len();
        out.extend_from_slice(&self.blank);
        let (columns, shape) = (self.columns.iter(), self.blank_shape);
        RowWriter { columns, out, start, shape, at: 0, reachable: true }
    }

    /// As [`Self::start_row`], with wide offsets.
    fn start_wide_row<'a>(&'a self, out: &'a mut Vec<u8>) -> RowWriter<'a> {
        let start = out.len();
        let stored = self.columns.len();
        let shape = self.shape(stored, true);
        out.resize(start + shape.payload_at, 0);
        let header = stored as u16 | HEADER_WIDE;
        out[start..start + HEADER_BYTES].copy_from_slice(&header.to_le_bytes());
        RowWriter { columns: self.columns.iter(), out, start, shape, at: 0, reachable: true }
    }

    fn shape(&self, stored: usize, wide: bool) -> Shape {
        shape(stored, wide, self.prefixes[stored])
    }

    /// Reads the header. On success the bitmap, the fixed section and the
    /// offsets are known to lie within the row.
    #[inline]
    fn read_shape(&self, row: &[u8]) -> Result<Shape> {
        let Some(header) = row.first_chunk::<HEADER_BYTES>() else {
            return Err(stored::corrupted("a row is cut short"));
        };
        let header = u16::from_le_bytes(*header);
        let stored = usize::from(header & !HEADER_WIDE);
        if stored > self.columns.len() {
            return Err(stored::corrupted("a row has more columns than its table"));
        }
        let shape = self.shape(stored, header & HEADER_WIDE != 0);
        if shape.payload_at > row.len() {
            return Err(stored::corrupted("a row is cut short"));
        }
        Ok(shape)
    }

    /// Whether column `i` of a row of this layout's own width is NULL.
    #[inline]
    pub fn is_null(&self, row: &[u8], i: usize) -> bool {
        row.get(HEADER_BYTES + i / 8).is_some_and(|bits| bits & (1 << (i % 8)) != 0)
    }

    /// Column `i` of a row, without decoding or copying it.
    #[inline]
    pub fn column_ref<'a>(&self, row: &'a [u8], i: usize) -> Result<ColumnRef<'a>> {
        let shape = self.read_shape(row)?;
        self.column_in(row, &shape, i)
    }

    #[inline]
    fn column_in<'a>(&self, row: &'a [u8], shape: &Shape, i: usize) -> Result<ColumnRef<'a>> {
        let Some(column) = self.columns.get(i) else {
            return Err(no_such_column(i));
        };
        if i >= shape.stored {
            return Ok(ColumnRef::Missing);
        }
        if row[HEADER_BYTES + i / 8] & (1 << (i % 8)) != 0 {
            return Ok(ColumnRef::Null);
        }
        match column.place {
            Place::Fixed { offset, width } => {
                let at = shape.fixed_at + offset as usize;
                Ok(ColumnRef::Bytes(&row[at..at + width as usize]))
            }
            Place::Variable { index } => variable_column(row, shape, index as usize),
        }
    }

    /// The bytes of column `i`: `None` if it is NULL. XX000 for a column that is missing or out of
    /// line; for these the caller uses [`Self::column_ref`].
    pub fn column_bytes<'a>(&self, row: &'a [u8], i: usize) -> Result<Option<&'a [u8]>> {
        match self.column_ref(row, i)? {
            ColumnRef::Null => Ok(None),
            ColumnRef::Bytes(bytes) => Ok(Some(bytes)),
            ColumnRef::Missing => Err(Error::internal(format!("row is older than column {i}"))),
            ColumnRef::OutOfLine(_) => Err(out_of_line(i)),
        }
    }

    /// Whether column `i` holds a pointer to an out-of-line value.
    pub fn is_out_of_line(&self, row: &[u8], i: usize) -> Result<bool> {
        Ok(matches!(self.column_ref(row, i)?, ColumnRef::OutOfLine(_)))
    }

    /// The value of column `i`; its missing value if the row is older. XX000 for
    /// a column that is out of line.
    pub fn decode_column(&self, row: &[u8], i: usize) -> Result<Datum> {
        let column = self.column_ref(row, i)?;
        self.decode_ref(i, column, &mut |i, _| Err(out_of_line(i)))
    }

    /// The value of column `i` from its whole payload, which was fetched by the out-of-line
    /// pointer.
    pub fn decode_payload(&self, i: usize, payload: &[u8]) -> Result<Datum> {
        let column = self.columns.get(i).ok_or_else(|| no_such_column(i))?;
        stored::read(column.physical, payload)
    }

    /// The payload of a value of column `i` as [`Self::encode`] would write it,
    /// for a caller that decides to keep it out of line.
    pub fn encode_payload(&self, i: usize, value: &Datum, out: &mut Vec<u8>) -> Result<()> {
        let column = self.columns.get(i).ok_or_else(|| no_such_column(i))?;
        stored::write_variable(column.physical, value, out)
    }

    /// Appends the values of all columns to `out`. XX000 if one is out of line.
    pub fn decode(&self, row: &[u8], out: &mut Vec<Datum>) -> Result<()> {
        self.decode_with(row, &mut |i, _| Err(out_of_line(i)), out)
    }

    /// Like [`Self::decode`], fetching out-of-line payloads through `fetch`.
    pub fn decode_with(
        &self,
        row: &[u8],
        fetch: &mut FetchPayload<'_>,
        out: &mut Vec<Datum>,
    ) -> Result<()> {
        let shape = self.read_shape(row)?;
        out.reserve(self.columns.len());
        for i in 0..self.columns.len() {
            let column = self.column_in(row, &shape, i)?;
            out.push(self.decode_ref(i, column, fetch)?);
        }
        Ok(())
    }

    fn decode_ref(
        &self,
        i: usize,
        column: ColumnRef<'_>,
        fetch: &mut FetchPayload<'_>,
    ) -> Result<Datum> {
        let physical = self.columns[i].physical;
        match column {
            ColumnRef::Null => Ok(Datum::Null),
            ColumnRef::Missing => Ok(self.columns[i].missing.clone()),
            ColumnRef::Bytes(bytes) => stored::read(physical, bytes),
            ColumnRef::OutOfLine(pointer) => stored::read(physical, &fetch(i, pointer)?),
        }
    }

    /// Whether column `i` of both rows is stored with the same bytes. If so, the values are the
    /// same; different bytes may also be the same value. An update uses it to skip an index without
    /// decoding.
    pub fn same_bytes(&self, a: &[u8], b: &[u8], i: usize) -> Result<bool> {
        Ok(self.column_ref(a, i)? == self.column_ref(b, i)?)
    }
}

/// The shape of a row of `stored` columns, whose sections have these lengths.
#[inline]
fn shape(stored: usize, wide: bool, prefix: Prefix) -> Shape {
    let entry_bytes = if wide { 4 } else { 2 };
    let fixed_at = HEADER_BYTES + stored.div_ceil(8);
    let offsets_at = fixed_at + prefix.fixed_bytes as usize;
    let payload_at = offsets_at + prefix.variable_columns as usize * entry_bytes;
    Shape { stored, wide, fixed_at, offsets_at, payload_at }
}

/// Writes one row, from the first column to the last.
pub struct RowWriter<'a> {
    /// Columns that are not written yet.
    columns: std::slice::Iter<'a, Column>,
    out: &'a mut Vec<u8>,
    start: usize,
    shape: Shape,
    /// The column that comes next.
    at: usize,
    /// Whether narrow offsets reach the end of the written part.
    reachable: bool,
}

impl<'a> RowWriter<'a> {
    #[inline]
    fn next_column(&mut self) -> Result<&'a Column> {
        let column = self.columns.next().ok_or_else(|| no_such_column(self.at))?;
        self.at += 1;
        Ok(column)
    }

    /// Writes the next column's value.
    #[inline]
    pub fn push(&mut self, value: &Datum) -> Result<()> {
        if value.is_null() {
            return self.push_null();
        }
        let column = self.next_column()?;
        match column.place {
            Place::Fixed { offset, width } => {
                column.physical.check(value)?;
                let at = self.start + self.shape.fixed_at + offset as usize;
                stored::write_fixed(value, &mut self.out[at..at + width as usize])
            }
            Place::Variable { index } => {
                stored::write_variable(column.physical, value, self.out)?;
                self.end_entry(index, false);
                Ok(())
            }
        }
    }

    /// Writes NULL for the next column.
    #[inline]
    pub fn push_null(&mut self) -> Result<()> {
        let i = self.at;
        let column = self.next_column()?;
        self.out[self.start + HEADER_BYTES + i / 8] |= 1 << (i % 8);
        if let Place::Variable { index } = column.place {
            self.end_entry(index, false);
        }
        Ok(())
    }

    /// Writes the next column, stored as an i32, without a datum in between.
    #[inline]
    pub fn push_i32(&mut self, value: i32) -> Result<()> {
        self.push_fixed(value.to_le_bytes())
    }

    /// Writes the next column, stored as an i64, without a datum in between.
    #[inline]
    pub fn push_i64(&mut self, value: i64) -> Result<()> {
        self.push_fixed(value.to_le_bytes())
    }

    #[inline]
    fn push_fixed<const N: usize>(&mut self, bytes: [u8; N]) -> Result<()> {
        let wrong = || Error::internal("fixed-width value does not fit its column");
        let Place::Fixed { offset, width } = self.next_column()?.place else { return Err(wrong()) };
        let at = self.start + self.shape.fixed_at + offset as usize;
        let slot: &mut [u8; N] =
            (&mut self.out[at..at + width as usize]).try_into().map_err(|_| wrong())?;
        *slot = bytes;
        Ok(())
    }

    /// Writes the next column, of a text type, without a datum in between.
    #[inline]
    pub fn push_text(&mut self, text: &str) -> Result<()> {
        self.push_padded(text, 0)
    }

    /// The same, with `blanks` blanks after the text.
    #[inline]
    pub fn push_padded(&mut self, text: &str, blanks: usize) -> Result<()> {
        self.push_bytes(text.as_bytes(), blanks, false)
    }

    /// Writes a pointer to the next column's value, which is kept out of line.
    fn push_pointer(&mut self, pointer: &[u8]) -> Result<()> {
        self.push_bytes(pointer, 0, true)
    }

    #[inline]
    fn push_bytes(&mut self, bytes: &[u8], blanks: usize, out_of_line: bool) -> Result<()> {
        let Place::Variable { index } = self.next_column()?.place else {
            return Err(Error::internal("fixed-width column cannot hold a payload"));
        };
        self.out.extend_from_slice(bytes);
        self.out.resize(self.out.len() + blanks, b' ');
        self.end_entry(index, out_of_line);
        Ok(())
    }

    #[inline]
    fn end_entry(&mut self, index: u32, out_of_line: bool) {
        let end = self.out.len() - self.start - self.shape.payload_at;
        let offsets = self.start + self.shape.offsets_at..self.start + self.shape.payload_at;
        let entries = &mut self.out[offsets];
        self.reachable &= write_entry(entries, index as usize, self.shape.wide, end, out_of_line);
    }

    /// Ends the row. Returns false if its variable section is longer than narrow offsets reach: the
    /// written bytes are no row then, and the caller must use [`RowLayout::encode`]. XX000 unless
    /// every column was written.
    #[inline]
    pub fn finish(self) -> Result<bool> {
        if !self.columns.as_slice().is_empty() {
            return Err(Error::internal("row has fewer values than its layout"));
        }
        Ok(self.reachable)
    }
}

/// Writes entry `index`; false if `end` is past what the entry can say.
fn write_entry(
    entries: &mut [u8],
    index: usize,
    wide: bool,
    end: usize,
    out_of_line: bool,
) -> bool {
    if wide {
        if end > WIDE_PAYLOAD_MAX {
            return false;
        }
        let entry = end as u32 | if out_of_line { WIDE_OUT_OF_LINE } else { 0 };
        entries[index * 4..index * 4 + 4].copy_from_slice(&entry.to_le_bytes());
    } else {
        if end > NARROW_PAYLOAD_MAX {
            return false;
        }
        let entry = end as u16 | if out_of_line { NARROW_OUT_OF_LINE } else { 0 };
        entries[index * 2..index * 2 + 2].copy_from_slice(&entry.to_le_bytes());
    }
    true
}

/// End offset and out-of-line bit of entry `index`. The caller has checked that
/// all entries lie within the row.
#[inline]
fn read_entry(row: &[u8], shape: &Shape, index: usize) -> (usize, bool) {
    if shape.wide {
        let at = shape.offsets_at + index * 4;
        let entry = u32::from_le_bytes([row[at], row[at + 1], row[at + 2], row[at + 3]]);
        ((entry & !WIDE_OUT_OF_LINE) as usize, entry & WIDE_OUT_OF_LINE != 0)
    } else {
        let at = shape.offsets_at + index * 2;
        let entry = u16::from_le_bytes([row[at], row[at + 1]]);
        (usize::from(entry & !NARROW_OUT_OF_LINE), entry & NARROW_OUT_OF_LINE != 0)
    }
}

#[inline]
fn variable_column<'a>(row: &'a [u8], shape: &Shape, index: usize) -> Result<ColumnRef<'a>> {
    let start = if index == 0 { 0 } else { read_entry(row, shape, index - 1).0 };
    let (end, out_of_line) = read_entry(row, shape, index);
    match row[shape.payload_at..].get(start..end) {
        Some(bytes) if out_of_line => Ok(ColumnRef::OutOfLine(bytes)),
        Some(bytes) => Ok(ColumnRef::Bytes(bytes)),
        None => Err(stored::corrupted("a column lies outside its row")),
    }
}

#[cold]
fn no_such_column(i: usize) -> Error {
    Error::internal(format!("row layout has no column {i}"))
}

#[cold]
fn out_of_line(i: usize) -> Error {
    Error::internal(format!("column {i} is out of line and was not fetched"))
}

#[cfg(test)]
#[path = "row_tests.rs"]
mod tests;
