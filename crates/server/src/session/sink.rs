//! Encodes rows as DataRow messages, in text or binary.

use steppe_exec::{ResultColumns, ResultValue, RowSink, TupleStore};
use steppe_sql::plan::ResultColumn;
use steppe_types::io::IoContext;
use steppe_types::physical::Physical;
use steppe_types::row::{ColumnRef, RowLayout};
use steppe_types::{Datum, Oid, Result, binary_io, oid, text_io};
use steppe_wire::{DataRow, Format};

/// The formats of a result's columns.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) enum ResultFormats {
    /// All text.
    #[default]
    Text,
    /// All binary.
    Binary,
    /// A format for each column.
    Each(Box<[Format]>),
}

impl ResultFormats {
    #[inline]
    pub(super) fn get(&self, column: usize) -> Format {
        match self {
            ResultFormats::Text => Format::Text,
            ResultFormats::Binary => Format::Binary,
            ResultFormats::Each(formats) => formats.get(column).copied().unwrap_or_default(),
        }
    }

    /// The formats as Bind has them: none is text.
    #[inline]
    pub(super) fn of_bind(&self) -> &[Format] {
        match self {
            ResultFormats::Text => &[],
            ResultFormats::Binary => &[Format::Binary],
            ResultFormats::Each(formats) => formats,
        }
    }
}

/// Appends rows to the send buffer.
pub(super) struct WireSink<'a> {
    pub(super) out: &'a mut Vec<u8>,
    pub(super) columns: &'a [ResultColumn],
    pub(super) formats: &'a ResultFormats,
    pub(super) io: &'a IoContext,
    /// The start of the statement's rows in the buffer, if all are still there.
    pub(super) rows_at: Option<usize>,
}

impl RowSink for WireSink<'_> {
    fn row(&mut self, values: &[Datum]) -> Result<()> {
        let mut row = DataRow::begin(self.out);
        for (i, (value, column)) in values.iter().zip(self.columns).enumerate() {
            put_value(&mut row, value, column.ty.oid, self.formats.get(i), self.io)?;
        }
        row.finish()
    }

    fn raw_row(&mut self, bytes: &[u8], layout: &RowLayout, columns: &[usize]) -> Result<bool> {
        let mut row = DataRow::begin(self.out);
        for (i, (position, column)) in columns.iter().zip(self.columns).enumerate() {
            let type_oid = column.ty.oid;
            let format = self.formats.get(i);
            match layout.column_ref(bytes, *position)? {
                ColumnRef::Null => row.null(),
                ColumnRef::OutOfLine(_) => return Ok(false),
                ColumnRef::Bytes(stored) if put_stored(&mut row, stored, type_oid, format)? => {}
                ColumnRef::Bytes(_) | ColumnRef::Missing => {
                    let value = layout.decode_column(bytes, *position)?;
                    put_value(&mut row, &value, type_oid, format, self.io)?;
                }
            }
        }
        row.finish().map(|()| true)
    }

    fn columns(&mut self, rows: &ResultColumns<'_>) -> Result<()> {
        for i in 0..rows.len() {
            let mut row = DataRow::begin(self.out);
            for (at, column) in self.columns.iter().enumerate() {
                let (type_oid, format) = (column.ty.oid, self.formats.get(at));
                match rows.value(at, i) {
                    ResultValue::Null => row.null(),
                    ResultValue::Int4(value) if type_oid == oid::INT4 => {
                        put_int4(&mut row, value, format);
                    }
                    ResultValue::Int8(value) if type_oid == oid::INT8 => {
                        put_int8(&mut row, value, format);
                    }
                    // It is sent like a stored text.
                    ResultValue::Text(text) if Physical::of(type_oid) == Physical::Text => {
                        row.bytes(text)?;
                    }
                    _ => {
                        let value = rows.datum(at, i)?;
                        put_value(&mut row, &value, type_oid, format, self.io)?;
                    }
                }
            }
            row.finish()?;
        }
        Ok(())
    }

    fn take_back(&mut self) -> bool {
        if let Some(start) = self.rows_at {
            self.out.truncate(start);
        }
        self.rows_at.is_some()
    }
}

/// Appends a stored value without decoding it. Returns false if its type needs decoding.
#[inline]
fn put_stored(row: &mut DataRow<'_>, stored: &[u8], type_oid: Oid, format: Format) -> Result<bool> {
    match (Physical::of(type_oid), format) {
        (Physical::Int4, _) => {
            let Ok(bytes) = <[u8; 4]>::try_from(stored) else { return Ok(false) };
            put_int4(row, i32::from_le_bytes(bytes), format);
        }
        (Physical::Int8, _) => {
            let Ok(bytes) = <[u8; 8]>::try_from(stored) else { return Ok(false) };
            put_int8(row, i64::from_le_bytes(bytes), format);
        }
        // The client sees the same bytes of the text types in both formats. The exception is
        // "unknown", which is never stored.
        (Physical::Text, _) => row.bytes(stored)?,
        _ => return Ok(false),
    }
    Ok(true)
}

#[inline]
fn put_int4(row: &mut DataRow<'_>, value: i32, format: Format) {
    match format {
        Format::Text => row.text_int(i64::from(value)),
        Format::Binary => row.fixed(value.to_be_bytes()),
    }
}

#[inline]
fn put_int8(row: &mut DataRow<'_>, value: i64, format: Format) {
    match format {
        Format::Text => row.text_int(value),
        Format::Binary => row.fixed(value.to_be_bytes()),
    }
}

/// Appends one value.
#[inline]
pub(super) fn put_value(
    row: &mut DataRow<'_>,
    value: &Datum,
    type_oid: Oid,
    format: Format,
    io: &IoContext,
) -> Result<()> {
    match (value, format) {
        (Datum::Null, _) => row.null(),
        (Datum::Int4(value), _) if type_oid == oid::INT4 => put_int4(row, *value, format),
        (Datum::Int8(value), _) if type_oid == oid::INT8 => put_int8(row, *value, format),
        (_, Format::Text) => row.column(|out| text_io::output(type_oid, value, io, out))?,
        (_, Format::Binary) => row.column(|out| binary_io::send(type_oid, value, io, out))?,
    }
    Ok(())
}

/// Collects rows.
#[derive(Default)]
pub(super) struct CollectingSink {
    pub(super) rows: Vec<Box<[Datum]>>,
}

impl RowSink for CollectingSink {
    fn row(&mut self, row: &[Datum]) -> Result<()> {
        self.rows.push(row.into());
        Ok(())
    }
}

/// Keeps rows in a store.
pub(super) struct KeepingSink<'a>(pub(super) &'a mut TupleStore);

impl RowSink for KeepingSink<'_> {
    fn row(&mut self, row: &[Datum]) -> Result<()> {
        self.0.append(row)
    }
}

/// Passes rows on, and keeps the last one's position.
pub(super) struct MarkingSink<'a> {
    pub(super) sink: &'a mut dyn RowSink,
    /// The number of columns before the columns of the position.
    pub(super) columns: usize,
    pub(super) place: &'a mut Vec<Datum>,
}

impl RowSink for MarkingSink<'_> {
    fn row(&mut self, row: &[Datum]) -> Result<()> {
        self.place.clear();
        self.place.extend_from_slice(row.get(self.columns..).unwrap_or_default());
        self.sink.row(row)
    }

    fn take_back(&mut self) -> bool {
        self.sink.take_back()
    }
}

/// Counts rows and drops them.
pub(super) struct NullSink;

impl RowSink for NullSink {
    fn row(&mut self, _: &[Datum]) -> Result<()> {
        Ok(())
    }
}
