//! Orders by byte keys against the comparison of rows.

use super::*;
use crate::sorter::compare_rows;
use proptest::prelude::*;
use steppe_types::numeric::Numeric;
use steppe_types::{Oid, oid};

const TYPES: [Oid; 9] = [
    oid::INT2,
    oid::INT4,
    oid::INT8,
    oid::FLOAT8,
    oid::NUMERIC,
    oid::TEXT,
    oid::BPCHAR,
    oid::BOOL,
    oid::OID,
];

/// Values at a type's ends, and others that are equal but have different forms. Past the last one
/// the value is NULL.
fn value(type_oid: Oid, which: usize) -> Datum {
    let floats = [0.0, -0.0, 1.5, -1.5, f64::NAN, -f64::NAN, f64::INFINITY, f64::NEG_INFINITY];
    let numerics = ["1.5", "-1.5", "0.0", "7.3", "92233.7", "1.50", "NaN", "1e30"];
    let texts = ["", " ", "a", "a  ", "ab", "é ", "longer than an eight", "longer than an eigh"];
    let integers = [i64::MIN, -1, 0, 1, 255, 256, 1 << 40, i64::MAX];
    match type_oid {
        oid::INT2 => integers.get(which).map(|v| Datum::Int2(*v as i16)),
        oid::INT4 => integers.get(which).map(|v| Datum::Int4((*v >> 8) as i32)),
        oid::INT8 => integers.get(which).map(|v| Datum::Int8(*v)),
        oid::OID => integers.get(which).map(|v| Datum::Oid(*v as u32)),
        oid::BOOL => (which < 8).then_some(Datum::Bool(which.is_multiple_of(2))),
        oid::FLOAT8 => floats.get(which).map(|v| Datum::Float8(*v)),
        oid::NUMERIC => numerics.get(which).map(|v| Datum::Numeric(Numeric::parse(v).unwrap())),
        _ => texts.get(which).map(|v| Datum::text(*v)),
    }
    .unwrap_or(Datum::Null)
}

/// The key columns with the order of each, and the number of its different values.
fn key_types() -> impl Strategy<Value = Vec<(Oid, bool, bool, usize)>> {
    let key = (
        proptest::sample::select(&TYPES[..]),
        any::<bool>(),
        any::<bool>(),
        proptest::sample::select(&[5usize, 8, 9][..]),
    );
    proptest::collection::vec(key, 1..4)
}

proptest! {
    #[test]
    fn rows_come_in_the_order_of_their_comparison(
        types in key_types(),
        rows in proptest::collection::vec(proptest::array::uniform3(0usize..90), 0..60),
        later in proptest::collection::vec(proptest::array::uniform3(0usize..90), 0..20),
        last in 0usize..60,
    ) {
        let keys: Vec<SortColumn> = types
            .iter()
            .enumerate()
            .map(|(index, (type_oid, descending, nulls_first, _))| SortColumn {
                index,
                type_oid: *type_oid,
                descending: *descending,
                nulls_first: *nulls_first,
            })
            .collect();
        let datums = |rows: &[[usize; 3]]| -> Vec<Vec<Datum>> {
            let row = |row: &[usize; 3]| {
                types.iter().zip(row).map(|((of, _, _, some), which)| value(*of, which % some)).collect()
            };
            rows.iter().map(row).collect()
        };
        let vectors = |rows: &[Vec<Datum>]| -> Vec<Vector> {
            (0..types.len()).map(|k| Vector::of(rows.iter().map(|row| row[k].clone()).collect())).collect()
        };
        let (rows, later) = (datums(&rows), datums(&later));
        let columns = vectors(&rows);
        let columns: Vec<&Vector> = columns.iter().collect();
        let mut expected: Vec<u32> = (0..rows.len() as u32).collect();
        expected.sort_by(|a, b| compare_rows(&keys, &rows[*a as usize], &rows[*b as usize]));
        let sorted = sorted_rows(&keys, &columns, rows.len()).unwrap();
        prop_assert_eq!(&sorted, &expected);
        if last < rows.len()
            && let Some(barrier) = Barrier::at(&keys, &columns, last)
        {
            let columns = vectors(&later);
            let columns: Vec<&Vector> = columns.iter().collect();
            if let Some(before) = barrier.before(&keys, &columns, later.len()) {
                let is_before = |i: &u32| compare_rows(&keys, &later[*i as usize], &rows[last]).is_lt();
                let expected: Vec<u32> = (0..later.len() as u32).filter(is_before).collect();
                prop_assert_eq!(before, expected);
            }
        }
    }
}
