//! The texts of errors and bounds in PostgreSQL 18.

use steppe_partition::{
    BoundPlace, BoundValue, PartitionBound, PartitionMap, PartitionStrategy, RangeDatum,
};
use steppe_types::io::IoContext;
use steppe_types::oid::{self, Oid};
use steppe_types::text_io::input;
use steppe_types::{Datum, SqlState};

fn value(type_oid: Oid, text: &str) -> BoundValue {
    BoundValue::new(type_oid, input(type_oid, -1, text, &IoContext::default()).unwrap())
}

/// A side of a range over integers: `MINVALUE` and `MAXVALUE` by name.
fn side(texts: &[&str]) -> Vec<RangeDatum> {
    let datum = |text: &&str| match *text {
        "MINVALUE" => RangeDatum::MinValue,
        "MAXVALUE" => RangeDatum::MaxValue,
        number => RangeDatum::Value(value(oid::INT4, number)),
    };
    texts.iter().map(datum).collect()
}

fn range(lower: &[&str], upper: &[&str]) -> PartitionBound {
    PartitionBound::Range { lower: side(lower), upper: side(upper) }
}

fn list(values: &[Option<&str>]) -> PartitionBound {
    let null = || BoundValue::new(oid::TEXT, Datum::Null);
    let values = values.iter().map(|v| v.map_or_else(null, |v| value(oid::TEXT, v))).collect();
    PartitionBound::List { values }
}

fn hash(modulus: u32, remainder: u32) -> PartitionBound {
    PartitionBound::Hash { modulus, remainder }
}

/// Adds the bounds as partitions p1, p2 …, of which the last is refused.
fn refusal(
    strategy: PartitionStrategy,
    types: &[Oid],
    bounds: &[PartitionBound],
) -> (String, Option<String>, Option<BoundPlace>) {
    let mut map = PartitionMap::new(strategy, types).unwrap();
    for (n, bound) in bounds.iter().enumerate() {
        let Err(error) = map.attach(n as Oid + 1, bound) else { continue };
        assert_eq!(n + 1, bounds.len(), "{bound:?} is refused");
        let place = error.place();
        let name_of = |relation| format!("p{relation}");
        let report = error.report("new", bound, name_of, &IoContext::default());
        assert_eq!(report.sqlstate(), SqlState::INVALID_OBJECT_DEFINITION);
        return (report.message().into(), report.fields().detail.clone(), place);
    }
    panic!("nothing is refused");
}

#[test]
fn overlapping_ranges() {
    let refused = |new: PartitionBound| {
        let bounds = [range(&["1", "10"], &["1", "20"]), new];
        refusal(PartitionStrategy::Range, &[oid::INT4, oid::INT4], &bounds)
    };
    let overlap = "partition \"new\" would overlap partition \"p1\"".to_string();
    let (message, detail, place) = refused(range(&["1", "5"], &["1", "11"]));
    assert_eq!((message, detail, place), (overlap.clone(), None, Some(BoundPlace::Upper(1))));
    let (message, detail, place) = refused(range(&["1", "12"], &["1", "21"]));
    assert_eq!((message, detail, place), (overlap.clone(), None, Some(BoundPlace::Lower(1))));
    let (message, _, place) = refused(range(&["MINVALUE", "MINVALUE"], &["1", "MAXVALUE"]));
    assert_eq!((message, place), (overlap, Some(BoundPlace::Upper(1))));
    let (message, detail, place) = refused(range(&["1", "12"], &["1", "12"]));
    assert_eq!(message, "empty range bound specified for partition \"new\"");
    let expected = "Specified lower bound (1, 12) is greater than or equal to upper bound (1, 12).";
    assert_eq!(detail.as_deref(), Some(expected));
    assert_eq!(place, Some(BoundPlace::Lower(1)));
    let (_, detail, place) = refused(range(&["1", "12"], &["1", "MINVALUE"]));
    let expected =
        "Specified lower bound (1, 12) is greater than or equal to upper bound (1, MINVALUE).";
    assert_eq!((detail.as_deref(), place), (Some(expected), Some(BoundPlace::Lower(1))));
}

#[test]
fn ranges_that_touch_do_not_overlap() {
    let mut map = PartitionMap::new(PartitionStrategy::Range, &[oid::INT4, oid::INT4]).unwrap();
    let bounds = [
        range(&["1", "MINVALUE"], &["1", "5"]),
        range(&["1", "5"], &["1", "MAXVALUE"]),
        range(&["MINVALUE", "MINVALUE"], &["1", "MINVALUE"]),
        range(&["1", "MAXVALUE"], &["MAXVALUE", "MAXVALUE"]),
        PartitionBound::Default,
    ];
    for (n, bound) in bounds.iter().enumerate() {
        map.attach(n as Oid, bound).unwrap();
    }
    assert_eq!(map.len(), 5);
}

#[test]
fn overlapping_lists() {
    let refused = |new: PartitionBound| {
        let bounds = [list(&[Some("a"), None, Some("b")]), PartitionBound::Default, new];
        refusal(PartitionStrategy::List, &[oid::TEXT], &bounds)
    };
    let overlap = "partition \"new\" would overlap partition \"p1\"".to_string();
    let (message, detail, place) = refused(list(&[Some("x"), Some("b")]));
    assert_eq!((message, detail, place), (overlap.clone(), None, Some(BoundPlace::Value(1))));
    let (message, _, place) = refused(list(&[Some("x"), Some("y"), None]));
    assert_eq!((message, place), (overlap, Some(BoundPlace::Value(2))));
    let (message, _, place) = refused(PartitionBound::Default);
    assert_eq!(message, "partition \"new\" conflicts with existing default partition \"p2\"");
    assert_eq!(place, Some(BoundPlace::Whole));
}

#[test]
fn hash_moduli() {
    let refused =
        |bounds: &[PartitionBound]| refusal(PartitionStrategy::Hash, &[oid::TEXT], bounds);
    let chain = "every hash partition modulus must be a factor of the next larger modulus";
    let overlap = |with| format!("partition \"new\" would overlap partition \"{with}\"");
    let (message, detail, place) = refused(&[hash(4, 1), hash(6, 1)]);
    assert_eq!((&*message, place), (chain, None));
    let expected =
        "The new modulus 6 is not divisible by 4, the modulus of existing partition \"p1\".";
    assert_eq!(detail.as_deref(), Some(expected));
    let (message, detail, _) = refused(&[hash(4, 1), hash(3, 1)]);
    assert_eq!(message, chain);
    let expected =
        "The new modulus 3 is not a factor of 4, the modulus of existing partition \"p1\".";
    assert_eq!(detail.as_deref(), Some(expected));
    assert_eq!(refused(&[hash(4, 1), hash(4, 1)]).0, overlap("p1"));
    assert_eq!(refused(&[hash(4, 1), hash(8, 5)]).0, overlap("p1"));
    assert_eq!(refused(&[hash(4, 1), hash(8, 4), hash(2, 1)]).0, overlap("p1"));
    assert_eq!(refused(&[hash(4, 1), hash(8, 4), hash(2, 0)]).0, overlap("p2"));
    assert_eq!(refused(&[hash(4, 1), hash(4, 3), hash(2, 1)]).0, overlap("p1"));
}

#[test]
fn bounds_in_words() {
    let sides = |first: &[(Oid, &str)]| {
        first.iter().map(|(oid, text)| RangeDatum::Value(value(*oid, text))).collect()
    };
    let bound = PartitionBound::Range {
        lower: sides(&[
            (oid::INT4, "-1"),
            (oid::TEXT, "a'\\b"),
            (oid::INT8, "5"),
            (oid::NUMERIC, "1.5"),
            (oid::INT2, "3"),
            (oid::FLOAT8, "1.5"),
            (oid::TIMESTAMPTZ, "2020-01-01 00:00:00+00"),
            (oid::BOOL, "true"),
        ]),
        upper: sides(&[
            (oid::INT4, "1"),
            (oid::TEXT, "b"),
            (oid::INT8, "-5"),
            (oid::NUMERIC, "-1.5"),
            (oid::INT2, "3"),
            (oid::FLOAT8, "1e30"),
            (oid::TIMESTAMPTZ, "infinity"),
            (oid::BOOL, "false"),
        ]),
    };
    let expected = "FOR VALUES FROM ('-1', 'a''\\b', '5', 1.5, '3', '1.5', \
                    '2020-01-01 00:00:00+00', true) TO (1, 'b', '-5', '-1.5', '3', '1e+30', \
                    'infinity', false)";
    let context = IoContext::default();
    assert_eq!(bound.text(&context).unwrap(), expected);
    let text = |bound: PartitionBound| bound.text(&context).unwrap();
    assert_eq!(text(list(&[Some("a"), None])), "FOR VALUES IN ('a', NULL)");
    assert_eq!(text(hash(4, 1)), "FOR VALUES WITH (modulus 4, remainder 1)");
    assert_eq!(text(PartitionBound::Default), "DEFAULT");
    let unbounded = range(&["1", "MINVALUE"], &["MAXVALUE", "MAXVALUE"]);
    assert_eq!(text(unbounded), "FOR VALUES FROM (1, MINVALUE) TO (MAXVALUE, MAXVALUE)");
}
