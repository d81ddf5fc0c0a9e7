//! From stored rows to columns.
//!
//! Most rows of a block have one form ([`RowForm`]). A column of them is read in a loop that knows
//! its place and its type. Other rows are decoded one by one as in the row path, into the same
//! vector: rows older than a column, rows with values out of line, and long rows out of line. If a
//! value cannot be read, the decoder gives up, and the row path finds the row and reports the
//! error.

use super::batch::TEXT_BYTES_MAX;
use super::{Data, GiveUp, IntKind, Nulls, Texts, Vector};
use std::ops::Range;
use steppe_txn::RowBlock;
use steppe_types::numeric::Numeric;
use steppe_types::physical::Physical;
use steppe_types::row::{ColumnReader, FixedReader, RowForm, RowLayout, VariableReader};
use steppe_types::{Datum, Result};

/// Decodes one column of a row of any form.
pub(crate) type DecodeRow<'a> = dyn Fn(&[u8], usize) -> Result<Datum> + 'a;

/// Some rows of a block, to be read column by column.
#[derive(Clone, Copy)]
pub(crate) struct StoredRows<'a> {
    layout: &'a RowLayout,
    block: &'a RowBlock,
    /// The rows to decode, among those of the block.
    rows: &'a [u32],
    form: RowForm<'a>,
    /// All rows of the range have that form.
    all_fit: bool,
    decode: &'a DecodeRow<'a>,
}

impl<'a> StoredRows<'a> {
    /// Rows of a block, whose table has this layout. `decode` is for rare forms.
    pub(crate) fn new(
        layout: &'a RowLayout,
        block: &'a RowBlock,
        rows: Range<usize>,
        decode: &'a DecodeRow<'a>,
    ) -> StoredRows<'a> {
        let form = layout.form_like(if rows.is_empty() { &[] } else { block.row(rows.start) });
        let all_fit = rows.into_iter().all(|row| form.fits(block.row(row)));
        StoredRows { layout, block, rows: &[], form, all_fit, decode }
    }

    /// Only these rows.
    pub(crate) fn only<'b>(&self, rows: &'b [u32]) -> StoredRows<'b>
    where
        'a: 'b,
    {
        StoredRows { rows, ..*self }
    }

    /// Decodes column `i` into `out`, whose values are replaced.
    pub(crate) fn column(&self, i: usize, out: &mut Vector) -> Result<(), GiveUp> {
        out.clear();
        let physical = self.layout.physical(i).map_err(|_| GiveUp)?;
        match self.form.reader(i).map_err(|_| GiveUp)? {
            ColumnReader::Fixed(reader) => self.fixed(i, physical, reader, out),
            ColumnReader::Variable(reader) => match physical {
                Physical::Text => self.texts(i, reader, out),
                Physical::Numeric => self.numerics(i, reader, out),
                _ => self.datums(i, out),
            },
            ColumnReader::Missing => {
                for row in self.rows() {
                    out.push(&self.datum(row, i)?);
                }
                Ok(())
            }
        }
    }

    fn rows(&self) -> impl Iterator<Item = &'a [u8]> {
        let block = self.block;
        self.rows.iter().map(|row| block.row(*row as usize))
    }

    /// Whether the readers may read a row.
    #[inline]
    fn fits(&self, row: &[u8]) -> bool {
        self.all_fit || self.form.fits(row)
    }

    #[cold]
    fn datum(&self, row: &[u8], i: usize) -> Result<Datum, GiveUp> {
        (self.decode)(row, i).map_err(|_| GiveUp)
    }

    fn fixed(
        &self,
        i: usize,
        physical: Physical,
        reader: FixedReader,
        out: &mut Vector,
    ) -> Result<(), GiveUp> {
        let column = (i, reader);
        match physical {
            Physical::Bool => self.ints(IntKind::Bool, column, boolean, out),
            Physical::Int2 => self.ints(IntKind::Int2, column, int2, out),
            Physical::Int4 => self.ints(IntKind::Int4, column, int4, out),
            Physical::Date => self.ints(IntKind::Date, column, int4, out),
            Physical::Oid => self.ints(IntKind::Oid, column, unsigned4, out),
            Physical::Int8 => self.ints(IntKind::Int8, column, int8, out),
            Physical::Time => self.ints(IntKind::Time, column, int8, out),
            Physical::Timestamp => self.ints(IntKind::Timestamp, column, int8, out),
            Physical::TimestampTz => self.ints(IntKind::TimestampTz, column, int8, out),
            Physical::Float8 => {
                let mut values = match taken(out) {
                    Data::Floats(values) => values,
                    _ => Vec::new(),
                };
                let of = |datum: &Datum| match datum {
                    Datum::Float8(value) => Some(*value),
                    _ => None,
                };
                let read = |bytes| Some(f64::from_le_bytes(bytes));
                self.read_fixed(column, (read, of), (&mut values, &mut out.nulls))?;
                out.data = Data::Floats(values);
                Ok(())
            }
            _ => self.datums(i, out),
        }
    }

    fn ints<const WIDTH: usize>(
        &self,
        kind: IntKind,
        column: (usize, FixedReader),
        read: impl Fn([u8; WIDTH]) -> Option<i64>,
        out: &mut Vector,
    ) -> Result<(), GiveUp> {
        let mut values = match taken(out) {
            Data::Ints(_, values) => values,
            _ => Vec::new(),
        };
        let of = |datum: &Datum| match IntKind::of(datum) {
            Some((of, value)) if of == kind => Some(value),
            _ => None,
        };
        self.read_fixed(column, (read, of), (&mut values, &mut out.nulls))?;
        out.data = Data::Ints(kind, values);
        Ok(())
    }

    /// The loop over a column of fixed width: `read` takes its bytes, `of` its datum.
    #[inline]
    fn read_fixed<const WIDTH: usize, T: Default>(
        &self,
        (i, reader): (usize, FixedReader),
        (read, of): (impl Fn([u8; WIDTH]) -> Option<T>, impl Fn(&Datum) -> Option<T>),
        (values, nulls): (&mut Vec<T>, &mut Nulls),
    ) -> Result<(), GiveUp> {
        values.reserve(self.rows.len());
        for row in self.rows() {
            let value = if !self.fits(row) {
                match self.datum(row, i)? {
                    Datum::Null => None,
                    datum => Some(of(&datum).ok_or(GiveUp)?),
                }
            } else if reader.is_null(row) {
                None
            } else {
                Some(reader.bytes(row).and_then(&read).ok_or(GiveUp)?)
            };
            nulls.push(values.len(), value.is_none());
            values.push(value.unwrap_or_default());
        }
        Ok(())
    }

    fn texts(&self, i: usize, reader: VariableReader, out: &mut Vector) -> Result<(), GiveUp> {
        let mut texts = match taken(out) {
            Data::Texts(texts) => texts,
            _ => Texts::default(),
        };
        for row in self.rows() {
            let (fits, at) = (self.fits(row), texts.len());
            let mut is_null = fits && reader.is_null(row);
            match reader.payload(row) {
                _ if is_null => texts.push(&[]),
                Some(payload) if fits => texts.push(payload),
                _ => match self.datum(row, i)? {
                    Datum::Text(text) => texts.push(text.as_bytes()),
                    datum => {
                        is_null = datum.is_null();
                        texts.push(&[]);
                        if !is_null {
                            return Err(GiveUp);
                        }
                    }
                },
            }
            out.nulls.push(at, is_null);
            if texts.byte_len() > TEXT_BYTES_MAX {
                return Err(GiveUp);
            }
        }
        if !texts.are_utf8() {
            return Err(GiveUp);
        }
        out.data = Data::Texts(texts);
        Ok(())
    }

    /// Decodes numerics as mantissas if all have one scale, else as datums.
    fn numerics(&self, i: usize, reader: VariableReader, out: &mut Vector) -> Result<(), GiveUp> {
        let mut values = match taken(out) {
            Data::Decimals(_, values) => values,
            _ => Vec::new(),
        };
        values.reserve(self.rows.len());
        let mut scale = None;
        for row in self.rows() {
            let small = match self.fits(row) {
                true if reader.is_null(row) => None,
                true if let Some(payload) = reader.payload(row) => {
                    Some(Numeric::read_stored_small(payload))
                }
                _ => match self.datum(row, i)? {
                    Datum::Null => None,
                    Datum::Numeric(value) => Some(value.as_small()),
                    _ => return Err(GiveUp),
                },
            };
            out.nulls.push(values.len(), small.is_none());
            match small {
                None => values.push(0),
                Some(Some((mantissa, of))) if *scale.get_or_insert(of) == of => {
                    values.push(mantissa)
                }
                Some(_) => {
                    *out = Vector::default();
                    return self.datums(i, out);
                }
            }
        }
        out.data = Data::Decimals(scale.unwrap_or(0), values);
        Ok(())
    }

    fn datums(&self, i: usize, out: &mut Vector) -> Result<(), GiveUp> {
        let mut values = match taken(out) {
            Data::Datums(values) => values,
            _ => Vec::new(),
        };
        for row in self.rows() {
            values.push(self.datum(row, i)?);
        }
        out.data = Data::Datums(values);
        Ok(())
    }
}

/// The values of a vector, for their memory.
fn taken(vector: &mut Vector) -> Data {
    std::mem::replace(&mut vector.data, Data::Datums(Vec::new()))
}

fn boolean([byte]: [u8; 1]) -> Option<i64> {
    (byte <= 1).then_some(byte.into())
}

fn int2(bytes: [u8; 2]) -> Option<i64> {
    Some(i16::from_le_bytes(bytes).into())
}

fn int4(bytes: [u8; 4]) -> Option<i64> {
    Some(i32::from_le_bytes(bytes).into())
}

fn unsigned4(bytes: [u8; 4]) -> Option<i64> {
    Some(u32::from_le_bytes(bytes).into())
}

fn int8(bytes: [u8; 8]) -> Option<i64> {
    Some(i64::from_le_bytes(bytes))
}

#[cfg(test)]
#[path = "decode_tests.rs"]
mod tests;
