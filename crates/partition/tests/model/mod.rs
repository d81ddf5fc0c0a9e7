//! A naive model of partitioning: a list of bounds, each tested with SQL's comparisons. The crate
//! must give the same answers.

#![allow(dead_code, reason = "each test uses a part")]

pub(crate) mod predicate;

use proptest::prelude::*;
use proptest::sample::select;
use std::cmp::Ordering;
use steppe_partition::{BoundValue, PartitionBound, PartitionStrategy, RangeDatum};
use steppe_types::Datum;
use steppe_types::compare::compare_as;
use steppe_types::hashfuncs::partition_hash;
use steppe_types::io::IoContext;
use steppe_types::oid::{self, Oid};
use steppe_types::text_io::input;

/// Types with a few values of each: neighbours, extremes, equal values that look different, a value
/// that begins with another.
const DOMAINS: &[(Oid, &[&str])] = &[
    (oid::INT4, &["-2147483648", "-1", "0", "1", "2", "3", "4", "5", "255", "256", "2147483647"]),
    (oid::INT2, &["-32768", "-1", "0", "1", "2", "3", "32767"]),
    (oid::INT8, &["-9223372036854775808", "0", "1", "2", "4294967296", "9223372036854775807"]),
    (oid::TEXT, &["", " ", "a", "a b", "aa", "aaaaaaaaaaaaaaaaaaaaaaaa", "ab", "b", "ä", "\u{1}"]),
    (oid::BPCHAR, &["", "a", "a ", "a  b", "b"]),
    (oid::NUMERIC, &["-Infinity", "-2", "0", "0.00", "1", "1.0", "1.5", "2", "Infinity", "NaN"]),
    (oid::FLOAT8, &["-Infinity", "-1.5", "-0", "0", "1", "1e300", "Infinity", "NaN"]),
    (oid::FLOAT4, &["-1.5", "-0", "0", "1.5", "NaN"]),
    (oid::BOOL, &["f", "t"]),
    (oid::DATE, &["-infinity", "1999-12-31", "2000-01-01", "2024-02-29", "infinity"]),
    (
        oid::TIMESTAMP,
        &["-infinity", "1999-12-31 23:59:59.999999", "2000-01-01", "2021-03-14 02:30", "infinity"],
    ),
    (
        oid::TIMESTAMPTZ,
        &["-infinity", "1999-12-31 12:00Z", "2021-03-14 07:00Z", "2021-11-07 05:30Z", "infinity"],
    ),
    (oid::INTERVAL, &["-1 day", "0", "24:00", "1 day", "1 mon", "30 days", "31 days"]),
    (oid::UUID, &["00000000-0000-0000-0000-000000000000", "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"]),
    (oid::BYTEA, &["\\x", "\\x00", "\\x0000", "\\x00ff", "\\x01", "\\xff"]),
];

/// Values of other types that a column of a type can be compared with.
const OTHERS: &[(Oid, Oid, &[&str])] = &[
    (oid::INT2, oid::INT8, &["-40000", "2", "32767", "32768"]),
    (oid::INT2, oid::NUMERIC, &["1.5", "2.00", "-1e40", "NaN"]),
    (oid::INT2, oid::FLOAT8, &["1.5", "2", "Infinity", "-1e300", "NaN"]),
    (oid::INT4, oid::INT2, &["-1", "3"]),
    (oid::INT4, oid::INT8, &["-3000000000", "-2147483648", "2", "2147483647", "3000000000"]),
    (oid::INT4, oid::NUMERIC, &["-2147483648.5", "-1.5", "2.00", "4.9", "1e40", "-Infinity"]),
    (oid::INT4, oid::FLOAT4, &["-0.5", "3", "NaN"]),
    (oid::INT8, oid::INT4, &["-2147483648", "1", "2"]),
    (oid::INT8, oid::NUMERIC, &["9223372036854775807.5", "9223372036854775808", "1.5", "2.0"]),
    (oid::INT8, oid::FLOAT8, &["2", "1e300"]),
    (oid::NUMERIC, oid::INT8, &["-2", "1", "9223372036854775807"]),
    (oid::FLOAT4, oid::FLOAT8, &["0.1", "1.5", "1e300", "NaN"]),
    (oid::FLOAT8, oid::FLOAT4, &["0.1", "-1.5", "NaN"]),
    (oid::DATE, oid::TIMESTAMP, &["1999-12-31 00:00", "2000-01-01 00:00:01", "infinity"]),
    (oid::DATE, oid::TIMESTAMPTZ, &["2000-01-01 05:00Z", "2011-12-30 10:00Z", "-infinity"]),
    (oid::TIMESTAMP, oid::DATE, &["2000-01-01", "2021-03-14", "5874897-12-31", "infinity"]),
    (oid::TIMESTAMP, oid::TIMESTAMPTZ, &["2000-01-01 05:00Z", "2021-03-14 07:15Z", "infinity"]),
    (oid::TIMESTAMPTZ, oid::DATE, &["1999-12-31", "2021-11-07", "5874897-12-31"]),
    (oid::TIMESTAMPTZ, oid::TIMESTAMP, &["2021-03-14 02:30", "2021-11-07 01:30", "infinity"]),
];

/// The values of a type, as its text.
pub(crate) fn domain(type_oid: Oid) -> &'static [&'static str] {
    DOMAINS.iter().find(|(oid, _)| *oid == type_oid).expect("a type of the table").1
}

/// A value from its text.
pub(crate) fn datum(type_oid: Oid, text: &str) -> Datum {
    input(type_oid, -1, text, &IoContext::default()).expect("text of the table")
}

/// Some type of the table.
pub(crate) fn any_type() -> impl Strategy<Value = Oid> {
    select(DOMAINS).prop_map(|(oid, _)| oid)
}

/// A value of the type, sometimes NULL.
pub(crate) fn any_value(type_oid: Oid) -> impl Strategy<Value = Datum> {
    let value = select(domain(type_oid)).prop_map(move |text| datum(type_oid, text));
    prop_oneof![8 => value, 1 => Just(Datum::Null)]
}

/// An operand for a column of the type, sometimes of another type.
pub(crate) fn any_operand(type_oid: Oid) -> BoxedStrategy<Datum> {
    let others = || OTHERS.iter().filter(move |(column, ..)| *column == type_oid);
    let others: Vec<Datum> = others()
        .flat_map(|(_, other, texts)| texts.iter().map(|text| datum(*other, text)))
        .collect();
    if others.is_empty() {
        return any_value(type_oid).boxed();
    }
    prop_oneof![2 => any_value(type_oid), 1 => select(others)].boxed()
}

/// A row's key, sometimes with NULLs.
pub(crate) fn any_row(types: &[Oid]) -> impl Strategy<Value = Vec<Datum>> + use<> {
    types.iter().map(|type_oid| any_value(*type_oid)).collect::<Vec<_>>()
}

fn any_range_datum(type_oid: Oid) -> impl Strategy<Value = RangeDatum> {
    let value = select(domain(type_oid)).prop_map(move |text| datum(type_oid, text));
    prop_oneof![
        8 => value.prop_map(move |v| RangeDatum::Value(BoundValue::new(type_oid, v))),
        1 => Just(RangeDatum::MinValue),
        1 => Just(RangeDatum::MaxValue),
    ]
}

/// A bound of the strategy, fit for the key or not.
pub(crate) fn any_bound(
    strategy: PartitionStrategy,
    types: &[Oid],
) -> BoxedStrategy<PartitionBound> {
    let side = || types.iter().map(|t| any_range_datum(*t)).collect::<Vec<_>>();
    let bound = match strategy {
        PartitionStrategy::Range => (side(), side())
            .prop_map(|(lower, upper)| PartitionBound::Range { lower, upper })
            .boxed(),
        PartitionStrategy::List => {
            let type_oid = types[0];
            let value = any_value(type_oid).prop_map(move |v| BoundValue::new(type_oid, v));
            prop::collection::vec(value, 1..4)
                .prop_map(|values| PartitionBound::List { values })
                .boxed()
        }
        PartitionStrategy::Hash => {
            return (select(&[1u32, 2, 3, 4, 6, 8, 12, 16][..]), 0..16u32)
                .prop_map(|(modulus, n)| PartitionBound::Hash { modulus, remainder: n % modulus })
                .boxed();
        }
    };
    prop_oneof![12 => bound, 1 => Just(PartitionBound::Default)].boxed()
}

/// Some strategy.
pub(crate) fn any_strategy() -> impl Strategy<Value = PartitionStrategy> {
    select(&[PartitionStrategy::Range, PartitionStrategy::List, PartitionStrategy::Hash][..])
}

/// The types of a key that the strategy allows.
pub(crate) fn any_key(strategy: PartitionStrategy) -> impl Strategy<Value = Vec<Oid>> {
    let columns = if strategy == PartitionStrategy::List { 1..=1 } else { 1..=3 };
    prop::collection::vec(any_type(), columns)
}

/// A parent with its partitions in the order they were added.
#[derive(Clone, Debug)]
pub(crate) struct Model {
    /// The types of the key's columns.
    pub(crate) types: Vec<Oid>,
    /// Each partition and its bound.
    pub(crate) partitions: Vec<(Oid, PartitionBound)>,
}

impl Model {
    /// Whether the bound, of all but the default's, takes the row.
    pub(crate) fn accepts(&self, bound: &PartitionBound, row: &[Datum]) -> bool {
        match bound {
            PartitionBound::Range { lower, upper } => {
                !row.iter().any(Datum::is_null)
                    && self.compare_row(row, lower).is_ge()
                    && self.compare_row(row, upper).is_lt()
            }
            PartitionBound::List { values } => values.iter().any(|value| {
                if row[0].is_null() || value.datum().is_null() {
                    return row[0].is_null() && value.datum().is_null();
                }
                compare_as(self.types[0], &row[0], value.datum()).is_eq()
            }),
            PartitionBound::Hash { modulus, remainder } => {
                let hash = partition_hash(self.types.iter().copied().zip(row)).unwrap();
                hash % u64::from(*modulus) == u64::from(*remainder)
            }
            PartitionBound::Default => false,
        }
    }

    /// The partition of a row.
    pub(crate) fn route(&self, row: &[Datum]) -> Option<Oid> {
        let taker = self.partitions.iter().find(|(_, bound)| self.accepts(bound, row));
        let default = || self.partitions.iter().find(|(_, b)| *b == PartitionBound::Default);
        taker.or_else(default).map(|(relation, _)| *relation)
    }

    fn compare_row(&self, row: &[Datum], bound: &[RangeDatum]) -> Ordering {
        for ((type_oid, value), datum) in self.types.iter().zip(row).zip(bound) {
            let ordering = match datum {
                RangeDatum::MinValue => return Ordering::Greater,
                RangeDatum::MaxValue => return Ordering::Less,
                RangeDatum::Value(bound) => compare_as(*type_oid, value, bound.datum()),
            };
            if ordering.is_ne() {
                return ordering;
            }
        }
        Ordering::Equal
    }

    /// The order of two range bounds.
    pub(crate) fn compare_bounds(&self, a: &[RangeDatum], b: &[RangeDatum]) -> Ordering {
        let rank = |datum: &RangeDatum| match datum {
            RangeDatum::MinValue => 0,
            RangeDatum::Value(_) => 1,
            RangeDatum::MaxValue => 2,
        };
        for ((type_oid, a), b) in self.types.iter().zip(a).zip(b) {
            let ordering = match (a, b) {
                (RangeDatum::Value(a), RangeDatum::Value(b)) => {
                    compare_as(*type_oid, a.datum(), b.datum())
                }
                _ if rank(a) == rank(b) => return Ordering::Equal,
                _ => rank(a).cmp(&rank(b)),
            };
            if ordering.is_ne() {
                return ordering;
            }
        }
        Ordering::Equal
    }

    /// Whether the bounds conflict: some key could belong to both, moduli do not match, or both are
    /// DEFAULT.
    pub(crate) fn conflict(&self, a: &PartitionBound, b: &PartitionBound) -> bool {
        match (a, b) {
            (PartitionBound::Default, PartitionBound::Default) => true,
            (PartitionBound::Default, _) | (_, PartitionBound::Default) => false,
            (
                PartitionBound::Range { lower, upper },
                PartitionBound::Range { lower: other_lower, upper: other_upper },
            ) => {
                self.compare_bounds(lower, other_upper).is_lt()
                    && self.compare_bounds(other_lower, upper).is_lt()
            }
            (PartitionBound::List { values }, _) => {
                values.iter().any(|value| self.accepts(b, &[value.datum().clone()]))
            }
            (
                PartitionBound::Hash { modulus, remainder },
                PartitionBound::Hash { modulus: m, remainder: r },
            ) => {
                let (greater, lesser) = (*modulus.max(m), *modulus.min(m));
                greater % lesser != 0 || remainder % lesser == r % lesser
            }
            _ => unreachable!("bounds of one strategy"),
        }
    }

    /// The partitions with the least and with the greatest range.
    pub(crate) fn range_ends(&self) -> Option<(Oid, Oid)> {
        let lower = |bound: &PartitionBound| match bound {
            PartitionBound::Range { lower, .. } => Some(lower.clone()),
            _ => None,
        };
        let ranges = self.partitions.iter().filter_map(|(oid, bound)| Some((*oid, lower(bound)?)));
        let mut ranges: Vec<_> = ranges.collect();
        ranges.sort_by(|(_, a), (_, b)| self.compare_bounds(a, b));
        Some((ranges.first()?.0, ranges.last()?.0))
    }

    /// Whether the range is empty, which no partition's may be.
    pub(crate) fn is_empty_range(&self, bound: &PartitionBound) -> bool {
        match bound {
            PartitionBound::Range { lower, upper } => self.compare_bounds(lower, upper).is_ge(),
            _ => false,
        }
    }
}
