//! Rows against their values, old rows under longer layouts, and corrupt bytes.

use super::*;
use crate::datum::Array;
use crate::interval::Interval;
use crate::oid;
use proptest::prelude::*;
use std::sync::Arc;

/// A value of one of the types a column may have, with the type.
fn column() -> impl Strategy<Value = (Oid, Datum)> {
    let typed = prop_oneof![
        any::<bool>().prop_map(|v| (oid::BOOL, Datum::Bool(v))),
        any::<u8>().prop_map(|v| (oid::CHAR, Datum::Char(v))),
        any::<i16>().prop_map(|v| (oid::INT2, Datum::Int2(v))),
        any::<i32>().prop_map(|v| (oid::INT4, Datum::Int4(v))),
        any::<i64>().prop_map(|v| (oid::INT8, Datum::Int8(v))),
        any::<f64>().prop_map(|v| (oid::FLOAT8, Datum::Float8(v))),
        any::<u32>().prop_map(|v| (oid::REGCLASS, Datum::Oid(v))),
        any::<(i64, i32)>().prop_map(|(t, z)| (oid::TIMETZ, Datum::TimeTz(t, z))),
        any::<(u32, u16)>().prop_map(|(b, o)| (oid::TID, Datum::Tid(b, o))),
        any::<[u8; 16]>().prop_map(|v| (oid::UUID, Datum::Uuid(Arc::new(v)))),
        any::<(i32, i32, i64)>().prop_map(|(months, days, micros)| (
            oid::INTERVAL,
            Datum::Interval(Arc::new(Interval { months, days, micros }))
        )),
        ".{0,20}".prop_map(|v| (oid::TEXT, Datum::text(v))),
        proptest::collection::vec(any::<u8>(), 0..20)
            .prop_map(|v| (oid::BYTEA, Datum::Bytea(v.into()))),
        proptest::collection::vec(proptest::option::of("[a-z]{0,3}"), 0..4).prop_map(|v| {
            (
                1009,
                Datum::Array(Arc::new(text_array(
                    v.into_iter().map(|e| e.map_or(Datum::Null, Datum::text)),
                ))),
            )
        }),
        (any::<i32>(), ".{0,3}").prop_map(|(a, b)| (
            oid::RECORD,
            Datum::Record(vec![Datum::Int4(a), Datum::Null, Datum::text(b)].into())
        )),
    ];
    (typed, proptest::bool::weighted(0.2))
        .prop_map(|((oid, value), null)| (oid, if null { Datum::Null } else { value }))
}

fn text_array(elements: impl Iterator<Item = Datum>) -> Array {
    let elements: Vec<Datum> = elements.collect();
    let dimensions = if elements.is_empty() { vec![] } else { vec![(elements.len() as i32, 1)] };
    Array { element_type: oid::TEXT, dimensions, elements }
}

/// Datum has no equality (SQL's is another one): compare what Debug shows.
fn shown(values: &[Datum]) -> String {
    format!("{values:?}")
}

proptest! {
    #[test]
    fn a_row_gives_back_its_values(columns in proptest::collection::vec(column(), 0..40)) {
        let (types, values): (Vec<Oid>, Vec<Datum>) = columns.into_iter().unzip();
        let layout = RowLayout::new(&types);
        let mut row = Vec::new();
        layout.encode(&values, &mut row).unwrap();
        let mut decoded = Vec::new();
        layout.decode(&row, &mut decoded).unwrap();
        prop_assert_eq!(shown(&decoded), shown(&values));
        for (i, value) in values.iter().enumerate() {
            let one = layout.decode_column(&row, i).unwrap();
            prop_assert_eq!(shown(&[one]), shown(std::slice::from_ref(value)));
        }
    }

    #[test]
    fn an_old_row_is_read_through_a_longer_layout(
        columns in proptest::collection::vec(column(), 1..30),
        cut in any::<prop::sample::Index>(),
    ) {
        let (types, values): (Vec<Oid>, Vec<Datum>) = columns.into_iter().unzip();
        let stored = cut.index(types.len());
        let mut row = Vec::new();
        RowLayout::new(&types[..stored]).encode(&values[..stored], &mut row).unwrap();
        let mut layout = RowLayout::new(&types);
        for (i, value) in values.iter().enumerate() {
            layout.set_missing_value(i, value.clone()).unwrap();
        }
        let mut decoded = Vec::new();
        layout.decode(&row, &mut decoded).unwrap();
        prop_assert_eq!(shown(&decoded), shown(&values));
        for i in 0..types.len() {
            prop_assert_eq!(
                layout.column_ref(&row, i).unwrap() == ColumnRef::Missing, i >= stored);
        }
    }

    #[test]
    fn a_patch_equals_encoding_anew(
        columns in proptest::collection::vec(column(), 1..20),
        other in column(),
        at in any::<prop::sample::Index>(),
    ) {
        let (mut types, mut values): (Vec<Oid>, Vec<Datum>) = columns.into_iter().unzip();
        let i = at.index(types.len());
        types[i] = other.0;
        values[i] = Datum::Null;
        let layout = RowLayout::new(&types);
        let mut row = Vec::new();
        layout.encode(&values, &mut row).unwrap();
        prop_assert!(!layout.patch_fixed(&mut row, i, &other.1), "NULL has no bytes to patch");
        let holds = layout.holds(&row, i, &other.1, &mut Vec::new()).unwrap();
        prop_assert_eq!(holds, other.1.is_null());
        values[i] = other.1.clone();
        let mut expected = Vec::new();
        layout.encode(&values, &mut expected).unwrap();
        let mut patched = expected.clone();
        let patches = layout.is_fixed(i) && !other.1.is_null();
        prop_assert_eq!(layout.patch_fixed(&mut patched, i, &other.1), patches);
        prop_assert!(layout.holds(&patched, i, &other.1, &mut Vec::new()).unwrap());
        prop_assert_eq!(patched, expected);
    }

    #[test]
    fn a_patch_of_another_length_equals_encoding_anew(
        columns in proptest::collection::vec(column(), 1..20),
        texts in proptest::collection::vec(proptest::option::of(".{0,40}"), 2..4),
        length in 0..0x9000usize,
        at in any::<prop::sample::Index>(),
    ) {
        let (mut types, mut values): (Vec<Oid>, Vec<Datum>) = columns.into_iter().unzip();
        let i = at.index(types.len());
        types[i] = oid::TEXT;
        let layout = RowLayout::new(&types);
        let (mut row, mut scratch) = (Vec::new(), Vec::new());
        let long = (length > 0x7000).then(|| Some("x".repeat(length)));
        let texts = texts.into_iter().chain(long).map(|t| t.map_or(Datum::Null, Datum::text));
        for (nth, text) in texts.enumerate() {
            let mut expected = Vec::new();
            let was_null = values[i].is_null();
            values[i] = text;
            layout.encode(&values, &mut expected).unwrap();
            let before = row.clone();
            let is_narrow = expected[1] & 0x80 == 0;
            let patches = nth > 0 && !was_null && !values[i].is_null() && is_narrow;
            let patched = nth > 0
                && layout.patch_variable(&mut row, i, &values[i], &mut scratch).unwrap();
            prop_assert_eq!(patched, patches);
            let left = if patched { &expected } else { &before };
            prop_assert!(row == *left);
            row = expected;
        }
        let pointer = layout.len() - 1;
        if !layout.is_fixed(pointer) && pointer != i && !values[i].is_null() {
            row.clear();
            layout.encode_with_pointers(&values, &[(pointer, b"far")], &mut row).unwrap();
            let before = row.clone();
            prop_assert!(!layout.patch_variable(&mut row, pointer, &values[i], &mut scratch).unwrap());
            prop_assert!(row == before);
        }
    }

    #[test]
    fn a_row_holds_a_value_iff_encoding_it_changes_nothing(
        ty_and_values in column().prop_flat_map(|(ty, value)| {
            (Just(ty), Just(value), column().prop_map(move |other| (other.0 == ty).then_some(other.1)))
        }),
    ) {
        let (ty, value, other) = ty_and_values;
        let layout = RowLayout::new(&[ty]);
        let other = other.unwrap_or_else(|| value.clone());
        let (mut row, mut anew) = (Vec::new(), Vec::new());
        layout.encode(&[value], &mut row).unwrap();
        layout.encode(std::slice::from_ref(&other), &mut anew).unwrap();
        let holds = layout.holds(&row, 0, &other, &mut Vec::new()).unwrap();
        prop_assert_eq!(holds, row == anew);
    }

    #[test]
    fn corrupt_rows_give_errors_not_panics(
        columns in proptest::collection::vec(column(), 0..12),
        flips in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
        length in any::<prop::sample::Index>(),
    ) {
        let (types, values): (Vec<Oid>, Vec<Datum>) = columns.into_iter().unzip();
        let layout = RowLayout::new(&types);
        let mut row = Vec::new();
        layout.encode(&values, &mut row).unwrap();
        for (at, byte) in flips {
            let at = at.index(row.len());
            row[at] = byte;
        }
        row.truncate(length.index(row.len() + 1));
        let mut decoded = Vec::new();
        if let Err(error) = layout.decode_with(&row, &mut |_, p| Ok(p.to_vec()), &mut decoded) {
            prop_assert_eq!(error.sqlstate(), SqlState::DATA_CORRUPTED);
        }
    }
}

#[test]
fn rows_past_32_kilobytes_take_wide_offsets() {
    let layout = RowLayout::new(&[oid::INT4, oid::TEXT, oid::TEXT]);
    let values = [Datum::Int4(7), Datum::text("x".repeat(40_000)), Datum::text("y".repeat(40_000))];
    let mut row = b"before".to_vec();
    layout.encode(&values, &mut row).unwrap();
    let mut decoded = Vec::new();
    layout.decode(&row[6..], &mut decoded).unwrap();
    assert_eq!(shown(&decoded), shown(&values));
}

#[test]
fn pointers_come_back_as_given_and_are_fetched() {
    let layout = RowLayout::new(&[oid::TEXT, oid::INT4, oid::TEXT]);
    let values = [Datum::text("here"), Datum::Int4(1), Datum::Null];
    let mut row = Vec::new();
    layout.encode_with_pointers(&values, &[(2, b"page 9")], &mut row).unwrap();
    assert_eq!(layout.column_ref(&row, 2).unwrap(), ColumnRef::OutOfLine(b"page 9"));
    assert!(layout.is_out_of_line(&row, 2).unwrap());
    assert!(!layout.is_out_of_line(&row, 0).unwrap());
    assert_eq!(layout.column_bytes(&row, 0).unwrap(), Some(&b"here"[..]));
    assert!(layout.column_bytes(&row, 2).is_err());
    let mut decoded = Vec::new();
    let mut fetch = |i: usize, pointer: &[u8]| {
        assert_eq!((i, pointer), (2, &b"page 9"[..]));
        Ok(b"fetched".to_vec())
    };
    layout.decode_with(&row, &mut fetch, &mut decoded).unwrap();
    assert_eq!(decoded[2].as_text().unwrap().as_ref(), "fetched");
}

#[test]
fn a_value_of_another_representation_is_refused_and_leaves_no_bytes() {
    let layout = RowLayout::new(&[oid::TEXT, oid::INT8]);
    let mut row = Vec::new();
    let error = layout.encode(&[Datum::text("a"), Datum::Int4(1)], &mut row).unwrap_err();
    assert_eq!(error.sqlstate(), SqlState::INTERNAL_ERROR);
    assert!(row.is_empty());
}
