//! A statement's rows as columns, for its sink. Values are read in place.

use super::{ColumnBatch, Data, IntKind};
use steppe_types::{Datum, Result};

/// Some rows of a batch.
pub struct ResultColumns<'a> {
    batch: &'a ColumnBatch,
    from: usize,
    rows: usize,
}

/// A value of a row.
pub enum ResultValue<'a> {
    /// NULL
    Null,
    /// integer
    Int4(i32),
    /// bigint
    Int8(i64),
    /// A [`Datum::Text`] as UTF-8.
    Text(&'a [u8]),
    /// Any other type, by [`ResultColumns::datum`].
    Other,
}

impl<'a> ResultColumns<'a> {
    /// `rows` rows of a batch, from `from` on. The batch must have them.
    pub(crate) fn of(batch: &'a ColumnBatch, from: usize, rows: usize) -> ResultColumns<'a> {
        debug_assert!(from + rows <= batch.len());
        ResultColumns { batch, from, rows }
    }

    /// The number of rows.
    #[inline]
    pub fn len(&self) -> usize {
        self.rows
    }

    /// Whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.rows == 0
    }

    /// Value `column` of row `i`.
    #[inline]
    pub fn value(&self, column: usize, i: usize) -> ResultValue<'a> {
        let (vector, i) = (&self.batch.columns[column], self.from + i);
        if vector.len() == 0 || vector.is_null(i) {
            return ResultValue::Null;
        }
        match &vector.data {
            Data::Ints(IntKind::Int4, values) => ResultValue::Int4(values[i] as i32),
            Data::Ints(IntKind::Int8, values) => ResultValue::Int8(values[i]),
            Data::Texts(texts) => ResultValue::Text(texts.get(i)),
            _ => ResultValue::Other,
        }
    }

    /// The same as a datum.
    pub fn datum(&self, column: usize, i: usize) -> Result<Datum> {
        let vector = &self.batch.columns[column];
        if vector.len() == 0 { Ok(Datum::Null) } else { vector.datum(self.from + i) }
    }

    /// Appends the values of all rows to `out`, row by row.
    pub fn rows_into(&self, out: &mut Vec<Datum>) -> Result<()> {
        match &self.batch.columns[..] {
            [column] if column.len() > 0 && column.nulls.none() => match &column.data {
                Data::Ints(IntKind::Int4, values) => {
                    let values = &values[self.from..self.from + self.rows];
                    out.extend(values.iter().map(|value| Datum::Int4(*value as i32)));
                    return Ok(());
                }
                Data::Ints(IntKind::Int8, values) => {
                    let values = &values[self.from..self.from + self.rows];
                    out.extend(values.iter().map(|value| Datum::Int8(*value)));
                    return Ok(());
                }
                _ => {}
            },
            _ => {}
        }
        (0..self.rows).try_for_each(|row| self.row_into(row, out))
    }

    /// Appends row `i` to `out`.
    pub fn row_into(&self, i: usize, out: &mut Vec<Datum>) -> Result<()> {
        self.batch.row_into(self.from + i, out)
    }
}
