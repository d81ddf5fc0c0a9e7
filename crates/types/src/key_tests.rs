//! Byte order of keys against the order of values.

use super::*;
use crate::compare::compare_as;
use crate::interval::Interval;
use crate::numeric::Numeric;
use proptest::prelude::*;
use std::cmp::Ordering;

/// Short strings over few letters, so that prefixes and ties are common.
fn text() -> impl Strategy<Value = Datum> {
    "[\u{1}ab \u{e9}\u{10ffff}]{0,4}".prop_map(Datum::text)
}

fn bytes() -> impl Strategy<Value = Datum> {
    proptest::collection::vec(prop_oneof![Just(0u8), Just(1), Just(0xFE), Just(0xFF)], 0..4)
        .prop_map(|v| Datum::Bytea(v.into()))
}

fn numeric() -> impl Strategy<Value = Datum> {
    let number = prop_oneof![
        4 => "-?[0-9]{1,3}(\\.[0-9]{0,3})?",
        2 => "-?[0-9]{1,40}(\\.[0-9]{0,30})?",
        1 => "-?[1-9]e-?[0-9]{1,3}",
        1 => "NaN|Infinity|-Infinity",
    ];
    number.prop_map(|v| Datum::Numeric(v.parse::<Numeric>().unwrap()))
}

fn float() -> impl Strategy<Value = Datum> {
    prop_oneof![
        any::<f64>(),
        Just(0.0),
        Just(-0.0),
        Just(f64::NAN),
        Just(-f64::NAN),
        Just(f64::INFINITY)
    ]
    .prop_map(Datum::Float8)
}

fn interval() -> impl Strategy<Value = Datum> {
    prop_oneof![
        (-2..2i32, -31..31i32, -2..2i64).prop_map(|(months, days, hours)| (
            months,
            days,
            hours * 3_600_000_000 * 12
        )),
        any::<(i32, i32, i64)>(),
    ]
    .prop_map(|(months, days, micros)| Datum::Interval(Arc::new(Interval { months, days, micros })))
}

fn array() -> impl Strategy<Value = Datum> {
    (proptest::collection::vec(proptest::option::of(0..3i32), 0..4), 0..3i32).prop_map(
        |(elements, bound)| {
            Datum::Array(Arc::new(Array {
                element_type: oid::INT4,
                dimensions: match elements.len() {
                    0 => vec![],
                    4 => vec![(2, bound), (2, bound)],
                    n => vec![(n as i32, bound)],
                },
                elements: elements
                    .into_iter()
                    .map(|e| e.map_or(Datum::Null, Datum::Int4))
                    .collect(),
            }))
        },
    )
}

/// Two values of one type, and the type.
fn pair() -> impl Strategy<Value = (Oid, Datum, Datum)> {
    fn of<S: Strategy<Value = Datum>>(
        type_oid: Oid,
        value: impl Fn() -> S,
    ) -> impl Strategy<Value = (Oid, Datum, Datum)> {
        let nullable = || prop_oneof![6 => value(), 1 => Just(Datum::Null)];
        (Just(type_oid), nullable(), nullable())
    }
    let int4 = || prop_oneof![any::<i32>(), -2..2i32].prop_map(Datum::Int4);
    prop_oneof![
        of(oid::BOOL, || any::<bool>().prop_map(Datum::Bool)),
        of(oid::CHAR, || any::<u8>().prop_map(Datum::Char)),
        of(oid::INT2, || any::<i16>().prop_map(Datum::Int2)),
        of(oid::INT4, int4),
        of(oid::INT8, || any::<i64>().prop_map(Datum::Int8)),
        of(oid::OID, || any::<u32>().prop_map(Datum::Oid)),
        of(oid::FLOAT8, float),
        of(oid::FLOAT4, || any::<f32>().prop_map(Datum::Float4)),
        of(oid::TEXT, text),
        of(oid::BPCHAR, text),
        of(oid::BYTEA, bytes),
        of(oid::NUMERIC, numeric),
        of(oid::INTERVAL, interval),
        of(oid::TIMESTAMPTZ, || any::<i64>().prop_map(Datum::TimestampTz)),
        of(oid::TIMETZ, || (0..86_400_000_000i64, -57_600..57_600i32)
            .prop_map(|(t, z)| Datum::TimeTz(t, z))),
        of(oid::UUID, || any::<[u8; 16]>().prop_map(|v| Datum::Uuid(Arc::new(v)))),
        of(oid::TID, || any::<(u32, u16)>().prop_map(|(b, o)| Datum::Tid(b, o))),
        of(1007, array),
        of(oid::RECORD, || (text(), any::<i8>())
            .prop_map(|(a, b)| Datum::Record(vec![a, Datum::Int2(b.into())].into()))),
    ]
}

/// SQL's order of one part, with its DESC and NULLS placement.
fn expected(part: &KeyPart, a: &Datum, b: &Datum) -> Ordering {
    match (a.is_null(), b.is_null()) {
        (true, true) => Ordering::Equal,
        (true, false) if part.nulls_first => Ordering::Less,
        (true, false) => Ordering::Greater,
        (false, true) => expected(part, b, a).reverse(),
        _ if part.descending => compare_as(part.type_oid, b, a),
        _ => compare_as(part.type_oid, a, b),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn byte_order_is_value_order(
        pairs in proptest::collection::vec(pair(), 1..3),
        flags in proptest::collection::vec(any::<(bool, bool)>(), 3),
    ) {
        let parts: Vec<KeyPart> = pairs
            .iter()
            .zip(&flags)
            .map(|((type_oid, _, _), (descending, nulls_first))| KeyPart {
                type_oid: *type_oid, descending: *descending, nulls_first: *nulls_first })
            .collect();
        let a: Vec<Datum> = pairs.iter().map(|p| p.1.clone()).collect();
        let b: Vec<Datum> = pairs.iter().map(|p| p.2.clone()).collect();
        let (mut key_a, mut key_b) = (Vec::new(), Vec::new());
        encode_key(&a, &parts, &mut key_a).unwrap();
        encode_key(&b, &parts, &mut key_b).unwrap();
        let order = (0..parts.len())
            .map(|i| expected(&parts[i], &a[i], &b[i]))
            .find(|o| o.is_ne())
            .unwrap_or(Ordering::Equal);
        prop_assert_eq!(key_a.cmp(&key_b), order, "{:?} {:?}", a, b);
        prop_assert!(order.is_eq() || !key_a.starts_with(&key_b), "self-delimiting");
    }

    #[test]
    fn exact_types_are_read_back(
        (type_oid, value, _) in pair().prop_filter("exact", |p| is_exact(p.0)),
        descending in any::<bool>(),
    ) {
        let parts = [KeyPart { type_oid, descending, nulls_first: descending }];
        let mut key = Vec::new();
        encode_key(std::slice::from_ref(&value), &parts, &mut key).unwrap();
        key.extend_from_slice(b"row id");
        let mut decoded = Vec::new();
        prop_assert_eq!(decode_key(&key, &parts, &mut decoded).unwrap(), b"row id");
        prop_assert_eq!(format!("{:?}", decoded), format!("[{value:?}]"));
    }

    #[test]
    fn arbitrary_bytes_are_refused_or_read(
        key in proptest::collection::vec(any::<u8>(), 0..40),
        (type_oid, _, _) in pair().prop_filter("exact", |p| is_exact(p.0)),
        descending in any::<bool>(),
    ) {
        let parts = [KeyPart { type_oid, descending, nulls_first: false }; 2];
        if let Err(error) = decode_key(&key, &parts, &mut Vec::new()) {
            prop_assert_eq!(error.sqlstate(), SqlState::INDEX_CORRUPTED);
        }
    }
}

#[test]
fn the_successor_of_a_prefix_bounds_its_keys() {
    let parts = [KeyPart::ascending(oid::TEXT), KeyPart::descending(oid::INT4)];
    let key = |values: &[Datum]| {
        let mut key = Vec::new();
        encode_key(values, &parts, &mut key).unwrap();
        key
    };
    let start = key(&[Datum::text("b")]);
    let mut end = start.clone();
    assert!(prefix_successor(&mut end));
    for (text, inside) in [("a", false), ("b", true), ("ba", false), ("c", false)] {
        for number in [Datum::Int4(i32::MIN), Datum::Int4(i32::MAX), Datum::Null] {
            let key = key(&[Datum::text(text), number]);
            assert_eq!(key >= start && key < end, inside, "{text}");
        }
    }
    for (prefix, behind) in [(&[0, 7][..], &[0, 8][..]), (&[1, 255, 255], &[2])] {
        let mut key = prefix.to_vec();
        assert!(prefix_successor(&mut key));
        assert_eq!(key, behind);
    }
    assert!(!prefix_successor(&mut vec![255]));
    assert!(!prefix_successor(&mut Vec::new()));
    assert!(!prefix_successor(&mut vec![0xFF, 0xFF]));
}

#[test]
fn a_value_of_another_representation_is_refused() {
    let error = encode_key(&[Datum::Int4(1)], &[KeyPart::ascending(oid::INT8)], &mut Vec::new())
        .unwrap_err();
    assert_eq!(error.sqlstate(), SqlState::INTERNAL_ERROR);
}
