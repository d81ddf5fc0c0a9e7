//! Columns of seeded random rows against the rows as `RowLayout::decode` reads them.

use super::*;
use std::str::FromStr;
use std::sync::Arc;
use steppe_types::interval::Interval;
use steppe_types::{Oid, oid};
use steppe_vfs::SeededRandom;

const TYPES: [Oid; 16] = [
    oid::BOOL,
    oid::INT2,
    oid::INT4,
    oid::INT8,
    oid::OID,
    oid::DATE,
    oid::TIME,
    oid::TIMESTAMP,
    oid::TIMESTAMPTZ,
    oid::FLOAT8,
    oid::FLOAT4,
    oid::NUMERIC,
    oid::TEXT,
    oid::BYTEA,
    oid::UUID,
    oid::INTERVAL,
];

/// `strange`: numerics are not all of one scale.
fn value(ty: Oid, strange: bool, random: &SeededRandom) -> Datum {
    let word = random.below(u64::MAX) as i64 >> random.below(64);
    match ty {
        _ if random.below(6) == 0 => Datum::Null,
        oid::BOOL => Datum::Bool(word & 1 == 1),
        oid::INT2 => Datum::Int2(word as i16),
        oid::INT4 => Datum::Int4(word as i32),
        oid::INT8 => Datum::Int8(word),
        oid::OID => Datum::Oid(word as u32),
        oid::DATE => Datum::Date(word as i32),
        oid::TIME => Datum::Time(word),
        oid::TIMESTAMP => Datum::Timestamp(word),
        oid::TIMESTAMPTZ => Datum::TimestampTz(word),
        oid::FLOAT8 => Datum::Float8(f64::from_bits(word as u64)),
        oid::FLOAT4 => Datum::Float4(word as f32),
        oid::NUMERIC if strange => {
            let text = ["NaN", "Infinity", "1.5", "1e40", "0", "-0.00"][random.below(6) as usize];
            Datum::Numeric(Numeric::from_str(text).expect("is a number"))
        }
        oid::NUMERIC => Datum::Numeric(Numeric::from_small(word >> 4, 2)),
        oid::TEXT => Datum::text(["", "a", "abc def", "é", "日本"][random.below(5) as usize]),
        oid::BYTEA => Datum::Bytea(word.to_le_bytes()[..random.below(9) as usize].into()),
        oid::UUID => Datum::Uuid(Arc::new([word as u8; 16])),
        _ => Datum::Interval(Arc::new(Interval { months: 1, days: word as i32, micros: word })),
    }
}

/// A block of rows, some of them older than the last columns, and their layout.
fn random_block(random: &SeededRandom) -> (RowLayout, RowBlock) {
    let width = 1 + random.below(24) as usize;
    let types: Vec<Oid> = (0..width).map(|_| TYPES[random.below(16) as usize]).collect();
    let mut layout = RowLayout::new(&types);
    for (i, ty) in types.iter().enumerate() {
        layout.set_missing_value(i, value(*ty, false, random)).expect("is of the type");
    }
    let (mut block, strange, ages) = (RowBlock::default(), random.below(3) == 0, random.below(3));
    for _ in 0..1 + random.below(60) {
        let stored = match ages {
            0 => width,
            1 => width.div_ceil(2),
            _ => 1 + random.below(width as u64) as usize,
        };
        let types = &types[..stored];
        let values: Vec<Datum> = types.iter().map(|ty| value(*ty, strange, random)).collect();
        let mut row = Vec::new();
        RowLayout::new(types).encode(&values, &mut row).expect("is a row");
        block.push(&row);
    }
    (layout, block)
}

#[test]
fn columns_are_those_of_the_rows() {
    let random = SeededRandom::new(0);
    let mut representations = [0; 5];
    // A column for each position. Its old values are replaced.
    let mut columns: Vec<Vector> = (0..24).map(|_| Vector::default()).collect();
    for _ in 0..1000 {
        let (layout, block) = random_block(&random);
        let decode = |row: &[u8], i: usize| layout.decode_column(row, i);
        let stored = StoredRows::new(&layout, &block, 0..block.len(), &decode);
        let rows: Vec<u32> = (0..block.len() as u32).filter(|_| random.below(4) > 0).collect();
        for (i, column) in columns.iter_mut().take(layout.len()).enumerate() {
            stored.only(&rows).column(i, column).expect("is sound");
            assert_eq!(column.len(), rows.len());
            representations[match column.data {
                Data::Ints(..) => 0,
                Data::Floats(..) => 1,
                Data::Decimals(..) => 2,
                Data::Texts(..) => 3,
                Data::Datums(..) => 4,
            }] += 1;
            for (at, row) in rows.iter().enumerate() {
                let mut values = Vec::new();
                layout.decode(block.row(*row as usize), &mut values).expect("is sound");
                let found = column.datum(at).expect("is a value");
                assert_eq!(format!("{found:?}"), format!("{:?}", values[i]));
                assert_eq!(column.is_null(at), values[i].is_null());
            }
        }
    }
    assert!(representations.iter().all(|count| *count > 100), "{representations:?}");
}

#[test]
fn what_is_corrupted_is_given_up() {
    let layout = RowLayout::new(&[oid::BOOL, oid::TEXT, oid::NUMERIC]);
    let values = [Datum::Bool(true), Datum::text("abc"), Datum::Numeric(Numeric::from_small(5, 1))];
    let mut row = Vec::new();
    layout.encode(&values, &mut row).expect("is a row");
    for at in 0..row.len() {
        let mut row = row.clone();
        row[at] = 0xFE;
        let mut block = RowBlock::default();
        block.push(&row);
        let decode = |row: &[u8], i: usize| layout.decode_column(row, i);
        let stored = StoredRows::new(&layout, &block, 0..1, &decode);
        for i in 0..3 {
            let mut column = Vector::default();
            let found = stored.only(&[0]).column(i, &mut column);
            match layout.decode_column(&row, i) {
                Err(_) => assert_eq!(found, Err(GiveUp)),
                Ok(value) => {
                    assert_eq!(found, Ok(()));
                    let found = column.datum(0).expect("is a value");
                    assert_eq!(format!("{found:?}"), format!("{value:?}"));
                }
            }
        }
    }
}
