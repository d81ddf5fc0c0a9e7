//! Columns in a spill file: a run of values of one representation after the other.
//!
//! ```text
//!   block  := rows:u32 column*
//!   column := form:u8 nulls:u8 (flag:u8){rows if nulls}  values
//!   values := kind:u8 wide:u8 (i32 | i64){rows}          integers, dates, times
//!           | scale:u8 wide:u8 (i32 | i64){rows}         small numerics
//!           | f64{rows}                                  double precision
//!           | length:u32{rows} bytes                     texts
//!           | value{rows}                                anything else, as in a row
//!           |                                            a column that nobody reads
//! ```

use super::column::{Data, IntKind, Nulls, Texts, Vector};
use steppe_spill::{cut_short, read_value, take, take_bytes_of, write_value};
use steppe_types::Result;

const KINDS: [IntKind; 9] = [
    IntKind::Bool,
    IntKind::Int2,
    IntKind::Int4,
    IntKind::Int8,
    IntKind::Oid,
    IntKind::Date,
    IntKind::Time,
    IntKind::Timestamp,
    IntKind::TimestampTz,
];

/// Appends a block of these columns, each of which has `rows` values or none.
pub(crate) fn write_block(rows: usize, columns: &[Vector], out: &mut Vec<u8>) -> Result<()> {
    out.extend_from_slice(&(rows as u32).to_le_bytes());
    for column in columns {
        if column.len() != rows {
            out.push(5);
            continue;
        }
        out.push(match &column.data {
            Data::Ints(..) => 0,
            Data::Decimals(..) => 1,
            Data::Floats(_) => 2,
            Data::Texts(_) => 3,
            Data::Datums(_) => 4,
        });
        out.push(u8::from(!column.nulls.none()));
        out.extend(column.nulls.flags().iter().map(|null| u8::from(*null)));
        match &column.data {
            Data::Ints(kind, values) => {
                out.push(KINDS.iter().position(|k| k == kind).ok_or_else(cut_short)? as u8);
                write_integers(values, out);
            }
            Data::Decimals(scale, values) => {
                out.push(*scale);
                write_integers(values, out);
            }
            Data::Floats(values) => {
                values.iter().for_each(|v| out.extend_from_slice(&v.to_le_bytes()));
            }
            Data::Texts(values) => {
                for i in 0..rows {
                    out.extend_from_slice(&(values.get(i).len() as u32).to_le_bytes());
                }
                (0..rows).for_each(|i| out.extend_from_slice(values.get(i)));
            }
            Data::Datums(values) => values.iter().try_for_each(|v| write_value(v, out))?,
        }
    }
    Ok(())
}

fn write_integers(values: &[i64], out: &mut Vec<u8>) {
    let wide = values.iter().any(|v| i32::try_from(*v).is_err());
    out.push(u8::from(wide));
    match wide {
        true => values.iter().for_each(|v| out.extend_from_slice(&v.to_le_bytes())),
        false => values.iter().for_each(|v| out.extend_from_slice(&(*v as i32).to_le_bytes())),
    }
}

/// The rows of a block and its columns.
pub(crate) fn read_block(mut rest: &[u8]) -> Result<(usize, Vec<Vector>)> {
    let rows = u32::from_le_bytes(take(&mut rest)?) as usize;
    let mut columns = Vec::new();
    while !rest.is_empty() {
        columns.push(read_column(rows, &mut rest)?);
    }
    Ok((rows, columns))
}

fn read_column(rows: usize, rest: &mut &[u8]) -> Result<Vector> {
    let form = take::<1>(rest)?[0];
    if form == 5 {
        return Ok(Vector::default());
    }
    let nulls = match take::<1>(rest)?[0] {
        0 => Nulls::default(),
        _ => Nulls::from_flags(take_bytes_of(rest, rows)?.iter().map(|v| *v != 0).collect()),
    };
    let data = match form {
        0 => {
            let kind = KINDS.get(take::<1>(rest)?[0] as usize).ok_or_else(cut_short)?;
            Data::Ints(*kind, read_integers(rows, rest)?)
        }
        1 => Data::Decimals(take::<1>(rest)?[0], read_integers(rows, rest)?),
        2 => {
            let (values, _) = take_bytes_of(rest, rows * 8)?.as_chunks::<8>();
            Data::Floats(values.iter().map(|v| f64::from_le_bytes(*v)).collect())
        }
        3 => Data::Texts(read_texts(rows, rest)?),
        4 => Data::Datums((0..rows).map(|_| read_value(rest)).collect::<Result<_>>()?),
        _ => return Err(cut_short()),
    };
    Ok(Vector { data, nulls })
}

fn read_integers(rows: usize, rest: &mut &[u8]) -> Result<Vec<i64>> {
    Ok(match take::<1>(rest)?[0] {
        0 => {
            let (values, _) = take_bytes_of(rest, rows * 4)?.as_chunks::<4>();
            values.iter().map(|v| i32::from_le_bytes(*v).into()).collect()
        }
        _ => {
            let (values, _) = take_bytes_of(rest, rows * 8)?.as_chunks::<8>();
            values.iter().map(|v| i64::from_le_bytes(*v)).collect()
        }
    })
}

fn read_texts(rows: usize, rest: &mut &[u8]) -> Result<Texts> {
    let (lengths, _) = take_bytes_of(rest, rows * 4)?.as_chunks::<4>();
    let mut texts = Texts::with_capacity(rows, 0);
    for length in lengths {
        texts.push(take_bytes_of(rest, u32::from_le_bytes(*length) as usize)?);
    }
    Ok(texts)
}

#[cfg(test)]
mod tests {
    use super::*;
    use steppe_types::Datum;

    #[test]
    fn a_block_is_read_as_it_was_written() {
        let numeric = |text: &str| Datum::Numeric(text.parse().unwrap());
        let values = [
            [Datum::Int4(1), Datum::Null, Datum::Int4(-5)],
            [Datum::Int8(i64::MIN), Datum::Int8(3), Datum::Null],
            [Datum::Bool(true), Datum::Bool(false), Datum::Null],
            [numeric("1.50"), numeric("-0.25"), Datum::Null],
            [numeric("1.50"), numeric("2"), numeric("NaN")],
            [Datum::Float8(-0.0), Datum::Float8(f64::INFINITY), Datum::Null],
            [Datum::text("a"), Datum::text(""), Datum::Null],
            [Datum::Null, Datum::Null, Datum::Null],
        ];
        let mut columns = Vec::new();
        for column in &values {
            let mut vector = Vector::default();
            column.iter().for_each(|value| vector.push(value));
            columns.push(vector);
        }
        columns.push(Vector::default());
        let mut bytes = Vec::new();
        write_block(3, &columns, &mut bytes).unwrap();
        let (rows, read) = read_block(&bytes).unwrap();
        assert_eq!((rows, read.len()), (3, values.len() + 1));
        for (read, values) in read.iter().zip(&values) {
            for (i, value) in values.iter().enumerate() {
                assert_eq!(&read.datum(i).unwrap(), value);
            }
        }
        assert_eq!(read[values.len()].len(), 0);
        assert!(read_block(&bytes[..bytes.len() - 2]).is_err());
    }
}
