//! Rows that are too long for a leaf page: which parts of them are stored out of line.
//!
//! ```text
//!   up to 2,000 bytes    the row as it is encoded
//!   longer               its longest values go out of line, one after the other, until it is short
//!   still over 2,660     the row itself goes out of line, as one value; the leaf has a stub:
//!
//!   stub   FF FF │ pointer to the row │ (column u16 ‖ pointer) of each value out of line …
//! ```
//!
//! Encoded rows never begin with FF FF (`steppe_types::row`). The stub also lists the values that
//! the row itself keeps out of line. So the code that frees a version, or counts the values that
//! versions refer to, does not read the row. VACUUM after a crash may find a stub whose row is
//! already freed.
//!
//! *Correctness.* An out-of-line row is a value like others (`steppe_txn::OverflowStore`). The
//! version that owns it stores it, and no other version refers to it. The change that replaces or
//! deletes that version frees it. So undo, the log and the purge know only stubs, and a stub's row
//! exists as long as any snapshot can see the stub. It may not be read under a latch, so code that
//! patches rows in place does not handle stubs.
//!
//! PostgreSQL has no such rows, but a heap page takes 8,160 bytes of one. A row that does not fit
//! there is refused here, too, with PostgreSQL's error (hio.c).

use super::TableAccess;
use std::borrow::Cow;
use steppe_catalog::builtin;
use steppe_functions::type_info::{size_in_memory, size_in_row};
use steppe_sql::plan::StoredForm;
use steppe_txn::{OverflowRef, OverflowStore, Txn};
use steppe_types::numeric::Numeric;
use steppe_types::row::ColumnRef;
use steppe_types::{Datum, Error, Oid, Result, SqlState, oid};

/// Rows longer than this have their longest values moved out of line.
const ROW_BYTES_MAX: usize = 2000;
/// Values shorter than this stay in the row.
const OUT_OF_LINE_MIN: usize = 48;
/// The length of a pointer to an out-of-line value: value id u64, chunks u32.
const POINTER_BYTES: usize = 12;
/// The longest row that a leaf takes, without the store's header.
const ENTRY_BYTES_MAX: usize = 2660;
/// The first bytes of a stub.
const STUB: [u8; 2] = [0xFF; 2];
/// A value of a stub's row, in the stub: its column and its pointer.
const STUB_VALUE_BYTES: usize = 2 + POINTER_BYTES;
/// The values that an out-of-line row itself may move out of line. It may also keep values of the
/// version before, which was a row of at most [`ENTRY_BYTES_MAX`] or a stub. Together the stub
/// stays below [`ENTRY_BYTES_MAX`].
const STUB_VALUES_MAX: usize = 100;
/// The longest row of PostgreSQL's: MaxHeapTupleSize.
const HEAP_TUPLE_MAX: usize = 8160;

/// A column and the pointer to its value.
type Pointer = (usize, Vec<u8>);

/// A column whose value may be moved out of line, and the value's payload.
type Candidate = (usize, Vec<u8>);

/// Whether a leaf's entry is a stub and not the row.
#[inline]
pub(crate) fn is_stub(row: &[u8]) -> bool {
    row.starts_with(&STUB)
}

impl TableAccess {
    /// The row of a leaf's entry, or the row that its stub points to.
    #[inline]
    pub(crate) fn whole<'r>(&self, row: &'r [u8]) -> Result<Cow<'r, [u8]>> {
        if is_stub(row) { self.fetch_row(row).map(Cow::Owned) } else { Ok(Cow::Borrowed(row)) }
    }

    #[cold]
    fn fetch_row(&self, stub: &[u8]) -> Result<Vec<u8>> {
        let row = self.fetch(stub_parts(stub)?.0)?;
        if is_stub(&row) { Err(bad_pointer()) } else { Ok(row) }
    }

    /// The payload of an out-of-line value.
    pub(super) fn fetch(&self, pointer: &[u8]) -> Result<Vec<u8>> {
        let store = self.overflow.as_ref().ok_or_else(bad_pointer)?;
        let mut out = Vec::new();
        store.get(read_pointer(pointer)?, &mut out)?;
        Ok(out)
    }

    /// Appends an encoded row to `out`, and moves long values out of line. Columns in `kept` keep
    /// the out-of-line value they have (sorted by column).
    pub fn append_row(
        &self,
        txn: &mut Txn,
        values: &[Datum],
        kept: &[Pointer],
        out: &mut Vec<u8>,
    ) -> Result<()> {
        let start = out.len();
        self.encode(values, kept, out)?;
        let length = out.len() - start;
        if self.is_short(length) {
            return Ok(());
        }
        out.truncate(start);
        self.append_long(txn, values, kept, length, out)
    }

    fn encode(&self, values: &[Datum], pointers: &[Pointer], out: &mut Vec<u8>) -> Result<()> {
        if pointers.is_empty() {
            return self.layout.encode(values, out);
        }
        let slices: Vec<(usize, &[u8])> = pointers.iter().map(|(i, p)| (*i, &p[..])).collect();
        self.layout.encode_with_pointers(values, &slices, out)
    }

    /// Whether an encoded row of this length is stored unchanged.
    pub(crate) fn is_short(&self, length: usize) -> bool {
        length <= ROW_BYTES_MAX
    }

    /// Moves the longest values out of line until the row, now of `length`, is short enough. If
    /// that does not suffice, the row itself is moved.
    fn append_long(
        &self,
        txn: &mut Txn,
        values: &[Datum],
        kept: &[Pointer],
        length: usize,
        out: &mut Vec<u8>,
    ) -> Result<()> {
        let store = self.overflow.as_ref().ok_or_else(|| Error::internal("table has no values"))?;
        let candidates = self.candidates(values, kept)?;
        let mut left = length;
        let enough = candidates.iter().position(|(_, payload)| {
            let is_short = left <= ROW_BYTES_MAX;
            left -= if is_short { 0 } else { payload.len() - POINTER_BYTES };
            is_short
        });
        let moved = &candidates[..enough.unwrap_or(candidates.len())];
        if left <= ENTRY_BYTES_MAX || self.length_without(values, kept, moved)? <= ENTRY_BYTES_MAX {
            return self.encode(values, &put_values(store, txn, kept, moved)?, out);
        }
        self.check_heap_size(values)?;
        let long = moved.iter().take_while(|(_, payload)| payload.len() > ROW_BYTES_MAX);
        let pointers = put_values(store, txn, kept, &moved[..long.count().min(STUB_VALUES_MAX)])?;
        let mut row = Vec::new();
        self.encode(values, &pointers, &mut row)?;
        append_stub(store.put(txn, &row)?, &pointers, out)
    }

    /// The length of a row without some values. A row whose offsets become shorter loses more than
    /// the values' lengths.
    fn length_without(
        &self,
        values: &[Datum],
        kept: &[Pointer],
        moved: &[Candidate],
    ) -> Result<usize> {
        let places = moved.iter().map(|(i, _)| (*i, vec![0; POINTER_BYTES]));
        let mut pointers: Vec<Pointer> = kept.iter().cloned().chain(places).collect();
        pointers.sort_by_key(|(i, _)| *i);
        let mut row = Vec::new();
        self.encode(values, &pointers, &mut row)?;
        Ok(row.len())
    }

    /// The values that may be moved out of line, the longest first.
    fn candidates(&self, values: &[Datum], kept: &[Pointer]) -> Result<Vec<Candidate>> {
        let mut candidates = Vec::new();
        for (i, value) in values.iter().enumerate() {
            let movable = !value.is_null() && !self.layout.is_fixed(i);
            if movable && !kept.iter().any(|(k, _)| *k == i) {
                let mut payload = Vec::new();
                self.layout.encode_payload(i, value, &mut payload)?;
                if payload.len() > OUT_OF_LINE_MIN {
                    candidates.push((i, payload));
                }
            }
        }
        candidates.sort_by_key(|(_, payload)| std::cmp::Reverse(payload.len()));
        Ok(candidates)
    }

    /// 54000 for a row that a page of PostgreSQL's heap cannot take, however much of it is
    /// compressed or moved away.
    fn check_heap_size(&self, values: &[Datum]) -> Result<()> {
        let columns = self.relation.column_types();
        let bitmap = if values.iter().any(Datum::is_null) { values.len().div_ceil(8) } else { 0 };
        let mut size = (23 + bitmap).next_multiple_of(8);
        for (value, type_oid) in values.iter().zip(columns) {
            add_heap_size(value, type_oid, &mut size);
        }
        size = size.next_multiple_of(8);
        if size <= HEAP_TUPLE_MAX {
            return Ok(());
        }
        let message = format!("row is too big: size {size}, maximum size {HEAP_TUPLE_MAX}");
        Err(Error::new(SqlState::PROGRAM_LIMIT_EXCEEDED, message))
    }

    /// The columns of a row that are kept out of line, with their pointers.
    pub(crate) fn out_of_line(&self, row: &[u8]) -> Result<Vec<Pointer>> {
        let mut out = Vec::new();
        if is_stub(row) {
            let values = values_of(stub_parts(row)?.1);
            return Ok(values.map(|(i, pointer)| (i, pointer.to_vec())).collect());
        }
        if self.overflow.is_some() {
            for i in 0..self.layout.len() {
                if let ColumnRef::OutOfLine(pointer) = self.layout.column_ref(row, i)? {
                    out.push((i, pointer.to_vec()));
                }
            }
        }
        Ok(out)
    }

    /// The stored form of a column of a whole row.
    #[cold]
    pub(super) fn stored_form(&self, row: &[u8], i: usize, form: StoredForm) -> Result<Datum> {
        /// The length prefix of compressed bytes. It says how long the bytes were before.
        const RAW_LENGTH: usize = 4;
        let (size, compression) = match self.layout.column_ref(row, i)? {
            ColumnRef::Null => return Ok(Datum::Null),
            ColumnRef::OutOfLine(pointer) => {
                let store = self.overflow.as_ref().ok_or_else(bad_pointer)?;
                let stored = store.form(read_pointer(pointer)?)?;
                match stored.is_compressed {
                    true => (stored.bytes + RAW_LENGTH, Datum::text("lz4")),
                    false => (stored.bytes, Datum::Null),
                }
            }
            stored @ (ColumnRef::Bytes(_) | ColumnRef::Missing) => {
                let value = self.decode_of_whole(row, i)?;
                let type_oid = self.relation.columns[i].type_oid;
                let size = match stored {
                    _ if value.is_null() => return Ok(Datum::Null),
                    // In PostgreSQL the value of a row that is older than the column is not in the
                    // row.
                    ColumnRef::Missing => size_in_memory(&value, type_oid)?,
                    _ => size_in_row(&value, type_oid)?,
                };
                (size, Datum::Null)
            }
        };
        Ok(match form {
            StoredForm::Size => Datum::Int4(size as i32),
            StoredForm::Compression => compression,
        })
    }

    /// The store of out-of-line values, if the table may have any.
    pub fn values(&self) -> Option<&OverflowStore> {
        self.overflow.as_ref()
    }

    /// The out-of-line values that a stored row refers to, itself among them.
    pub fn references(&self, row: &[u8], out: &mut Vec<OverflowRef>) -> Result<()> {
        if is_stub(row) {
            out.push(read_pointer(stub_parts(row)?.0)?);
        }
        for (_, pointer) in self.out_of_line(row)? {
            out.push(read_pointer(&pointer)?);
        }
        Ok(())
    }

    /// Frees the out-of-line values of a row's version that is deleted or replaced: those of the
    /// columns that `given_up` names, and the row itself if it is a stub.
    pub(crate) fn let_go(
        &self,
        txn: &mut Txn,
        row: &[u8],
        given_up: impl Fn(usize) -> bool,
    ) -> Result<()> {
        let Some(store) = &self.overflow else { return Ok(()) };
        if is_stub(row) {
            store.free(txn, read_pointer(stub_parts(row)?.0)?)?;
        }
        for (column, pointer) in self.out_of_line(row)? {
            if given_up(column) {
                store.free(txn, read_pointer(&pointer)?)?;
            }
        }
        Ok(())
    }
}

/// Stores values out of line: all the row's pointers, sorted by column.
fn put_values(
    store: &OverflowStore,
    txn: &mut Txn,
    kept: &[Pointer],
    moved: &[Candidate],
) -> Result<Vec<Pointer>> {
    let mut pointers = kept.to_vec();
    for (i, payload) in moved {
        pointers.push((*i, write_pointer(store.put(txn, payload)?)));
    }
    pointers.sort_by_key(|(i, _)| *i);
    Ok(pointers)
}

fn append_stub(row: OverflowRef, pointers: &[Pointer], out: &mut Vec<u8>) -> Result<()> {
    let start = out.len();
    out.extend_from_slice(&STUB);
    out.extend_from_slice(&write_pointer(row));
    for (column, pointer) in pointers {
        out.extend_from_slice(&(*column as u16).to_le_bytes());
        out.extend_from_slice(pointer);
    }
    if out.len() - start > ENTRY_BYTES_MAX {
        let message = "row is too big: too many of its values are kept out of line";
        return Err(Error::new(SqlState::PROGRAM_LIMIT_EXCEEDED, message));
    }
    Ok(())
}

/// The pointer to a stub's row, and the input of [`values_of`].
fn stub_parts(stub: &[u8]) -> Result<(&[u8], &[u8])> {
    let parts = stub.get(STUB.len()..).and_then(|rest| rest.split_at_checked(POINTER_BYTES));
    let (row, values) = parts.ok_or_else(bad_pointer)?;
    match values.len().is_multiple_of(STUB_VALUE_BYTES) {
        true => Ok((row, values)),
        false => Err(bad_pointer()),
    }
}

/// The columns that a stub's row keeps out of line, and the pointers to their values.
fn values_of(values: &[u8]) -> impl Iterator<Item = (usize, &[u8])> {
    let column = |value: &[u8]| usize::from(u16::from_le_bytes([value[0], value[1]]));
    values.chunks_exact(STUB_VALUE_BYTES).map(move |value| (column(value), &value[2..]))
}

/// Adds the least size of a value in a heap tuple (heap_compute_data_size). A value that PostgreSQL
/// would compress or move away counts with its smallest form.
fn add_heap_size(value: &Datum, type_oid: Oid, size: &mut usize) {
    /// pglz compresses values of at least `COMPRESS_MIN` bytes, to `COMPRESSED` bytes at best.
    const COMPRESS_MIN: usize = 32;
    const COMPRESSED: usize = 12;
    let width = builtin::ty(type_oid).map_or(-1, |ty| ty.len);
    if value.is_null() {
        return;
    }
    if let Ok(width @ 1..) = usize::try_from(width) {
        let align = match type_oid {
            oid::UUID | oid::NAME => 1,
            _ => 1 << width.trailing_zeros().min(3),
        };
        // timetz is of 12 bytes, but has a bigint.
        let align = if type_oid == oid::TIMETZ { 8 } else { align };
        *size = size.next_multiple_of(align) + width;
        return;
    }
    let payload = match value {
        Datum::Text(v) => v.len(),
        Datum::Bytea(v) => v.len(),
        Datum::Numeric(v) => numeric_bytes(v),
        _ => COMPRESS_MIN,
    };
    *size += if payload < COMPRESS_MIN { payload + 1 } else { COMPRESSED };
}

/// The length of a numeric in PostgreSQL: two bytes, and two for each group of four digits.
fn numeric_bytes(value: &Numeric) -> usize {
    let mut sent = Vec::new();
    value.send(&mut sent);
    2 + sent.len().saturating_sub(8)
}

#[cold]
fn bad_pointer() -> Error {
    Error::new(SqlState::DATA_CORRUPTED, "out-of-line pointer is corrupted")
}

fn read_pointer(pointer: &[u8]) -> Result<OverflowRef> {
    let (id, chunks) = pointer.split_first_chunk::<8>().ok_or_else(bad_pointer)?;
    let chunks: [u8; 4] = chunks.try_into().map_err(|_| bad_pointer())?;
    Ok(OverflowRef { id: u64::from_le_bytes(*id), chunks: u32::from_le_bytes(chunks) })
}

fn write_pointer(reference: OverflowRef) -> Vec<u8> {
    let mut pointer = reference.id.to_le_bytes().to_vec();
    pointer.extend_from_slice(&reference.chunks.to_le_bytes());
    pointer
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stub_names_its_row_and_the_values_of_its_row() {
        let row = OverflowRef { id: 7, chunks: 3 };
        let value = |id| write_pointer(OverflowRef { id, chunks: 1 });
        let mut stub = Vec::new();
        append_stub(row, &[(2, value(5)), (1599, value(6))], &mut stub).expect("fits");
        assert!(is_stub(&stub));
        let (own, values) = stub_parts(&stub).expect("is one");
        assert_eq!(read_pointer(own).expect("is one"), row);
        let values: Vec<_> = values_of(values).map(|(i, p)| (i, p.to_vec())).collect();
        assert_eq!(values, [(2, value(5)), (1599, value(6))]);
        for end in 0..stub.len() {
            let is_whole = end >= 14 && (end - 14) % STUB_VALUE_BYTES == 0;
            assert_eq!(stub_parts(&stub[..end]).is_ok(), is_whole, "{end}");
        }
    }

    #[test]
    fn a_row_of_the_most_columns_is_no_stub() {
        let types = vec![oid::INT4; steppe_types::row::COLUMNS_MAX];
        let layout = steppe_types::row::RowLayout::new(&types);
        let mut row = Vec::new();
        layout.encode(&vec![Datum::Int4(-1); types.len()], &mut row).expect("is a row");
        assert!(!is_stub(&row));
    }

    #[test]
    fn heap_sizes_are_postgresqls() {
        let sizes = |values: &[(Datum, Oid)]| {
            let mut size = 24;
            values.iter().for_each(|(value, ty)| add_heap_size(value, *ty, &mut size));
            size
        };
        let (one, big) = ((Datum::Int2(1), oid::INT2), (Datum::Int8(1), oid::INT8));
        assert_eq!(sizes(&[one.clone(), big.clone(), one, (Datum::Null, oid::INT8)]), 24 + 18);
        assert_eq!(sizes(&[(Datum::text("abcd"), oid::TEXT), big]), 24 + 16);
    }
}
