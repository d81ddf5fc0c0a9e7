//! Readers against `column_ref`, for rows of their form and others.

use super::*;
use crate::row::ColumnRef;
use crate::{Datum, oid};

/// A generator of numbers that a seed repeats (xorshift: Marsaglia, 2003).
struct Random(u64);

impl Random {
    fn below(&mut self, n: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % n
    }
}

const TYPES: [oid::Oid; 5] = [oid::INT4, oid::TEXT, oid::BOOL, oid::INT8, oid::BYTEA];

fn value(ty: oid::Oid, random: &mut Random) -> Datum {
    match (random.below(5), ty) {
        (0, _) => Datum::Null,
        (_, oid::INT4) => Datum::Int4(random.below(1000) as i32),
        (_, oid::BOOL) => Datum::Bool(random.below(2) == 1),
        (_, oid::INT8) => Datum::Int8(random.below(u64::MAX) as i64),
        (_, oid::TEXT) => Datum::text("é".repeat(random.below(9) as usize)),
        _ => Datum::Bytea(vec![7; random.below(40_000) as usize / 39_000].into()),
    }
}

/// The result of a reader for a row; `None` if it leaves the row to the general path.
fn read<'r>(reader: ColumnReader, width: usize, row: &'r [u8]) -> Option<ColumnRef<'r>> {
    match reader {
        ColumnReader::Missing => Some(ColumnRef::Missing),
        ColumnReader::Fixed(reader) if reader.is_null(row) => Some(ColumnRef::Null),
        ColumnReader::Fixed(reader) => {
            let bytes = &row[reader.at..reader.at + width];
            match width {
                1 => assert_eq!(reader.bytes::<1>(row).as_ref().map(|b| &b[..]), Some(bytes)),
                4 => assert_eq!(reader.bytes::<4>(row).as_ref().map(|b| &b[..]), Some(bytes)),
                _ => assert_eq!(reader.bytes::<8>(row).as_ref().map(|b| &b[..]), Some(bytes)),
            }
            Some(ColumnRef::Bytes(bytes))
        }
        ColumnReader::Variable(reader) if reader.is_null(row) => Some(ColumnRef::Null),
        ColumnReader::Variable(reader) => reader.payload(row).map(ColumnRef::Bytes),
    }
}

#[test]
fn readers_read_what_column_ref_reads() {
    let mut random = Random(0x9E37_79B9_7F4A_7C15);
    let (mut read_quickly, mut left) = (0, 0);
    for _ in 0..2000 {
        let types: Vec<oid::Oid> =
            (0..1 + random.below(20)).map(|_| TYPES[random.below(5) as usize]).collect();
        let layout = RowLayout::new(&types);
        let stored = 1 + random.below(types.len() as u64) as usize;
        let rows: Vec<Vec<u8>> = (0..4)
            .map(|i| {
                let types = &types[..if i == 3 { types.len() } else { stored }];
                let values: Vec<Datum> = types.iter().map(|ty| value(*ty, &mut random)).collect();
                let long = types.iter().position(|ty| *ty == oid::BYTEA);
                let pointers: Vec<(usize, &[u8])> = match long {
                    Some(column) if i == 2 => vec![(column, &b"where it is"[..])],
                    _ => Vec::new(),
                };
                let mut row = Vec::new();
                RowLayout::new(types)
                    .encode_with_pointers(&values, &pointers, &mut row)
                    .expect("is a row");
                row
            })
            .collect();
        let form = layout.form_like(&rows[0]);
        for row in rows.iter().filter(|row| form.fits(row)) {
            for i in 0..types.len() {
                let width = layout.physical(i).expect("is there").fixed_width().unwrap_or(0);
                let expected = layout.column_ref(row, i).expect("is sound");
                match read(form.reader(i).expect("is there"), width, row) {
                    Some(found) => {
                        read_quickly += 1;
                        assert_eq!(found, expected);
                    }
                    None => {
                        left += 1;
                        assert!(matches!(expected, ColumnRef::OutOfLine(_)), "{expected:?}");
                    }
                }
            }
        }
    }
    assert!(read_quickly > 10_000 && left > 100, "{read_quickly} {left}");
}

#[test]
fn other_rows_do_not_fit() {
    let layout = RowLayout::new(&[oid::INT4, oid::TEXT]);
    let mut row = Vec::new();
    layout.encode(&[Datum::Int4(1), Datum::text("abc")], &mut row).expect("is a row");
    let mut wide = Vec::new();
    let long = Datum::text("x".repeat(40_000));
    layout.encode(&[Datum::Int4(1), long], &mut wide).expect("is a row");
    let form = layout.form_like(&row);
    assert!(form.fits(&row) && !form.fits(&wide) && !form.fits(&[]) && !form.fits(&[0xFF; 40]));
    let cut = (0..row.len() - 3).find(|end| form.fits(&row[..*end]));
    assert_eq!(cut, None);
    for other in [&wide[..], &[], &[0xFF; 14], &[3, 0, 0]] {
        assert!(layout.form_like(other).fits(&row));
    }
}

#[test]
fn what_is_corrupted_is_left_to_others() {
    let layout = RowLayout::new(&[oid::INT4, oid::TEXT, oid::TEXT]);
    let mut row = Vec::new();
    let values = [Datum::Int4(1), Datum::text("abc"), Datum::text("def")];
    layout.encode(&values, &mut row).expect("is a row");
    let form = layout.form_like(&row);
    for at in 2..row.len() {
        for byte in [0, 1, 0x7F, 0xFF] {
            let mut row = row.clone();
            row[at] = byte;
            for i in 0..3 {
                let width = layout.physical(i).expect("is there").fixed_width().unwrap_or(0);
                let found = read(form.reader(i).expect("is there"), width, &row);
                let expected = layout.column_ref(&row, i);
                assert!(found.is_none_or(|found| expected.as_ref().is_ok_and(|e| *e == found)));
            }
        }
    }
}
