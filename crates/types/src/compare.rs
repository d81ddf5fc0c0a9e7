//! Order, equality and hashing of values, as SQL's btree and hash operator
//! classes define them (nbtcompare.c, arrayfuncs.c, rowtypes.c).
//!
//! - Text is ordered by its bytes: the C collation.
//! - In floats NaN equals NaN and is greater than every other value; -0 equals 0.
//! - Intervals are compared as spans of 24-hour days and 30-day months.
//! - Inside arrays and composites NULL equals NULL and is greater than any value. At the top level
//!   the same holds, as sorting with NULLS LAST needs it. The caller handles SQL's `=` on NULL.
//! - Integers of different widths compare and hash by value, and so do the floats, so that an index
//!   on `bigint` can be searched with an `integer`.
//!
//! `char(n)` ignores trailing blanks, which a datum cannot know by itself: use
//! [`compare_as`], [`equal_as`] and [`hash_as`] where the type may be `bpchar`.

use crate::datum::Array;
use crate::interrupt::interruptible;
use crate::oid::{self, Oid};
use crate::{Datum, Error, Result, SqlState};
use std::cmp::Ordering;
use std::hash::{Hash, Hasher};

/// The order of two values of the same SQL type.
pub fn compare(a: &Datum, b: &Datum) -> Ordering {
    match (a, b) {
        (Datum::Null, Datum::Null) => Ordering::Equal,
        (Datum::Null, _) => Ordering::Greater,
        (_, Datum::Null) => Ordering::Less,
        (Datum::Int4(x), Datum::Int4(y)) => x.cmp(y),
        (Datum::Int8(x), Datum::Int8(y)) => x.cmp(y),
        (Datum::Text(x), Datum::Text(y)) => x.as_bytes().cmp(y.as_bytes()),
        (Datum::Bool(x), Datum::Bool(y)) => x.cmp(y),
        (Datum::Float8(x), Datum::Float8(y)) => compare_floats(*x, *y),
        (Datum::Float4(x), Datum::Float4(y)) => compare_floats(f64::from(*x), f64::from(*y)),
        (Datum::Oid(x), Datum::Oid(y)) => x.cmp(y),
        (Datum::Bytea(x), Datum::Bytea(y)) => x.cmp(y),
        (Datum::Char(x), Datum::Char(y)) => x.cmp(y),
        (Datum::Numeric(x), Datum::Numeric(y)) => x.cmp(y),
        (Datum::Date(x), Datum::Date(y)) => x.cmp(y),
        (Datum::Time(x), Datum::Time(y)) => x.cmp(y),
        (Datum::TimeTz(xt, xz), Datum::TimeTz(yt, yz)) => {
            utc_time(*xt, *xz).cmp(&utc_time(*yt, *yz)).then(xz.cmp(yz))
        }
        (Datum::Timestamp(x), Datum::Timestamp(y)) => x.cmp(y),
        (Datum::TimestampTz(x), Datum::TimestampTz(y)) => x.cmp(y),
        (Datum::Interval(x), Datum::Interval(y)) => x.linear().cmp(&y.linear()),
        (Datum::Uuid(x), Datum::Uuid(y)) => x.cmp(y),
        (Datum::Xid8(x), Datum::Xid8(y)) | (Datum::PgLsn(x), Datum::PgLsn(y)) => x.cmp(y),
        (Datum::Tid(xb, xo), Datum::Tid(yb, yo)) => (xb, xo).cmp(&(yb, yo)),
        (Datum::Enum(_, x), Datum::Enum(_, y)) => compare_floats(*x, *y),
        (Datum::Array(x), Datum::Array(y)) => compare_arrays(x, y, compare),
        (Datum::Record(x), Datum::Record(y)) => compare_sequences(x, y, compare),
        _ => compare_mixed(a, b),
    }
}

/// Compares numbers of different representations by value. Other pairs are a binder bug; they get a
/// total order, so that a sort at least terminates.
fn compare_mixed(a: &Datum, b: &Datum) -> Ordering {
    if let (Some(x), Some(y)) = (integer_value(a), integer_value(b)) {
        return x.cmp(&y);
    }
    if let (Some(x), Some(y)) = (float_value(a), float_value(b)) {
        return compare_floats(x, y);
    }
    debug_assert!(false, "comparing {a:?} with {b:?}");
    rank(a).cmp(&rank(b))
}

fn rank(datum: &Datum) -> u8 {
    crate::physical::Physical::of_datum(datum).map_or(u8::MAX, |p| p as u8)
}

fn integer_value(datum: &Datum) -> Option<i64> {
    match datum {
        Datum::Int2(v) => Some(i64::from(*v)),
        Datum::Int4(v) => Some(i64::from(*v)),
        Datum::Int8(v) => Some(*v),
        _ => None,
    }
}

fn float_value(datum: &Datum) -> Option<f64> {
    match datum {
        Datum::Float4(v) => Some(f64::from(*v)),
        Datum::Float8(v) => Some(*v),
        _ => None,
    }
}

/// Float order: NaN equals NaN and is greatest, and -0 equals 0.
#[inline]
pub fn compare_floats(a: f64, b: f64) -> Ordering {
    match a.partial_cmp(&b) {
        Some(ordering) => ordering,
        None => a.is_nan().cmp(&b.is_nan()),
    }
}

/// Microseconds since midnight UTC of a `timetz`; the zone is in seconds west.
pub(crate) fn utc_time(micros: i64, zone: i32) -> i64 {
    micros.wrapping_add(i64::from(zone) * 1_000_000)
}

fn compare_sequences(
    a: &[Datum],
    b: &[Datum],
    compare: impl Fn(&Datum, &Datum) -> Ordering,
) -> Ordering {
    interruptible(a.iter().zip(b))
        .map(|(x, y)| compare(x, y))
        .find(|o| o.is_ne())
        .unwrap_or_else(|| a.len().cmp(&b.len()))
}

/// Elements decide; then their number, the number of dimensions, their lengths,
/// and last the lower bounds.
fn compare_arrays(a: &Array, b: &Array, compare: impl Fn(&Datum, &Datum) -> Ordering) -> Ordering {
    let lengths = |array: &Array| array.dimensions.iter().map(|d| d.0).collect::<Vec<i32>>();
    let bounds = |array: &Array| array.dimensions.iter().map(|d| d.1).collect::<Vec<i32>>();
    compare_sequences(&a.elements, &b.elements, compare)
        .then_with(|| a.dimensions.len().cmp(&b.dimensions.len()))
        .then_with(|| lengths(a).cmp(&lengths(b)))
        .then_with(|| bounds(a).cmp(&bounds(b)))
}

/// Whether two values of the same SQL type are equal (NULL equals NULL).
#[inline]
pub fn equal(a: &Datum, b: &Datum) -> bool {
    match (a, b) {
        (Datum::Int4(x), Datum::Int4(y)) => x == y,
        (Datum::Int8(x), Datum::Int8(y)) => x == y,
        (Datum::Text(x), Datum::Text(y)) => x == y,
        _ => compare(a, b).is_eq(),
    }
}

/// [`compare`] for values of a given type: trailing blanks do not count in
/// `char(n)`.
pub fn compare_as(type_oid: Oid, a: &Datum, b: &Datum) -> Ordering {
    match (type_oid, a, b) {
        (oid::BPCHAR, Datum::Text(x), Datum::Text(y)) => {
            bpchar_key(x).as_bytes().cmp(bpchar_key(y).as_bytes())
        }
        (_, Datum::Array(x), Datum::Array(y)) if x.element_type == oid::BPCHAR => {
            compare_arrays(x, y, |x, y| compare_as(oid::BPCHAR, x, y))
        }
        _ => compare(a, b),
    }
}

/// [`equal`] for values of a given type.
pub fn equal_as(type_oid: Oid, a: &Datum, b: &Datum) -> bool {
    compare_as(type_oid, a, b).is_eq()
}

/// The significant part of a `char(n)` value: without trailing blanks.
pub fn bpchar_key(text: &str) -> &str {
    text.trim_end_matches(' ')
}

/// SQL's row comparison needs the same number of columns on both sides: 42804 if not.
pub fn check_comparable_records(a: &[Datum], b: &[Datum]) -> Result<()> {
    if a.len() == b.len() {
        return Ok(());
    }
    Err(Error::new(
        SqlState::DATATYPE_MISMATCH,
        "cannot compare record types with different numbers of columns",
    ))
}

/// Feeds a value to a hasher so that equal values hash equal: 1.0 as 1.00, -0 as 0, all NaNs the
/// same, `1 day` as `24 hours`.
///
/// For in-memory hash tables only. Hashes that are stored or must agree with PostgreSQL's come from
/// [`crate::hashfuncs`].
pub fn hash_datum<H: Hasher>(datum: &Datum, state: &mut H) {
    match datum {
        Datum::Null => state.write_u8(0),
        Datum::Bool(v) => state.write_u8(1 + u8::from(*v)),
        Datum::Char(v) => state.write_u8(*v),
        Datum::Int2(v) => state.write_i64(i64::from(*v)),
        Datum::Int4(v) => state.write_i64(i64::from(*v)),
        Datum::Int8(v) | Datum::Time(v) | Datum::Timestamp(v) | Datum::TimestampTz(v) => {
            state.write_i64(*v)
        }
        Datum::Float4(v) => state.write_u64(float_bits(f64::from(*v))),
        Datum::Float8(v) => state.write_u64(float_bits(*v)),
        Datum::Oid(v) => state.write_u32(*v),
        Datum::Text(v) => v.as_bytes().hash(state),
        Datum::Bytea(v) => v.hash(state),
        Datum::Numeric(v) => v.hash(state),
        Datum::Date(v) => state.write_i32(*v),
        Datum::TimeTz(time, zone) => {
            state.write_i64(*time);
            state.write_i32(*zone);
        }
        Datum::Interval(v) => state.write_i128(v.linear()),
        Datum::Uuid(v) => state.write(&v[..]),
        Datum::Xid8(v) | Datum::PgLsn(v) => state.write_u64(*v),
        Datum::Tid(block, offset) => {
            state.write_u32(*block);
            state.write_u16(*offset);
        }
        Datum::Enum(_, order) => state.write_u64(float_bits(*order)),
        Datum::Array(v) => {
            interruptible(v.elements.iter()).for_each(|e| hash_as(v.element_type, e, state));
        }
        Datum::Record(v) => v.iter().for_each(|c| hash_datum(c, state)),
    }
}

/// [`hash_datum`] for a value of a given type, in step with [`equal_as`].
pub fn hash_as<H: Hasher>(type_oid: Oid, datum: &Datum, state: &mut H) {
    match datum {
        Datum::Text(v) if type_oid == oid::BPCHAR => bpchar_key(v).as_bytes().hash(state),
        _ => hash_datum(datum, state),
    }
}

/// A datum hashed and compared as its type's default equality does.
#[derive(Debug, Clone)]
pub struct HashedDatum {
    /// The type.
    pub type_oid: Oid,
    /// The value.
    pub value: Datum,
}

impl Hash for HashedDatum {
    #[inline]
    fn hash<H: Hasher>(&self, state: &mut H) {
        hash_as(self.type_oid, &self.value, state);
    }
}

impl PartialEq for HashedDatum {
    #[inline]
    fn eq(&self, other: &HashedDatum) -> bool {
        equal_as(self.type_oid, &self.value, &other.value)
    }
}

impl Eq for HashedDatum {}

/// The same bits for floats that are equal.
pub(crate) fn float_bits(value: f64) -> u64 {
    if value.is_nan() {
        f64::NAN.to_bits() & !(1 << 63)
    } else if value == 0.0 {
        0
    } else {
        value.to_bits()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::interval::Interval;
    use std::hash::DefaultHasher;
    use std::sync::Arc;

    fn hash(datum: &Datum) -> u64 {
        let mut state = DefaultHasher::new();
        hash_datum(datum, &mut state);
        state.finish()
    }

    fn interval(months: i32, days: i32, micros: i64) -> Datum {
        Datum::Interval(Arc::new(Interval { months, days, micros }))
    }

    #[test]
    fn values_that_look_different_but_are_equal_hash_equal() {
        let equal_pairs = [
            (Datum::Float8(0.0), Datum::Float8(-0.0)),
            (Datum::Float8(f64::NAN), Datum::Float8(-f64::NAN)),
            (Datum::Float4(1.5), Datum::Float8(1.5)),
            (Datum::Int2(7), Datum::Int8(7)),
            (interval(1, 0, 0), interval(0, 30, 0)),
            (interval(0, 1, 0), interval(0, 0, 86_400_000_000)),
        ];
        for (a, b) in equal_pairs {
            assert!(equal(&a, &b), "{a:?} = {b:?}");
            assert_eq!(hash(&a), hash(&b), "{a:?}, {b:?}");
        }
    }

    #[test]
    fn nan_is_greatest_and_null_greater_still() {
        let ascending =
            [f64::NEG_INFINITY, -1.0, -f64::MIN_POSITIVE, 0.0, 1.0, f64::INFINITY, f64::NAN];
        for pair in ascending.windows(2) {
            assert!(compare(&Datum::Float8(pair[0]), &Datum::Float8(pair[1])).is_lt());
        }
        assert!(compare(&Datum::Float8(f64::NAN), &Datum::Null).is_lt());
        assert!(compare(&Datum::Null, &Datum::Null).is_eq());
    }

    #[test]
    fn timetz_orders_by_the_instant_then_the_zone() {
        // 12:00+00 and 13:00+01 are the same instant; the zone further west is greater.
        let utc = Datum::TimeTz(12 * 3_600_000_000, 0);
        let east = Datum::TimeTz(13 * 3_600_000_000, -3600);
        assert!(compare(&east, &utc).is_lt());
        assert!(compare(&Datum::TimeTz(11 * 3_600_000_000, 0), &east).is_lt());
    }

    #[test]
    fn arrays_order_by_elements_before_shape() {
        let array = |elements: &[i32], dimensions: &[(i32, i32)]| {
            Datum::Array(Arc::new(Array {
                element_type: oid::INT4,
                dimensions: dimensions.to_vec(),
                elements: elements.iter().map(|v| Datum::Int4(*v)).collect(),
            }))
        };
        let ascending = [
            array(&[], &[]),
            array(&[1, 2], &[(2, 1)]),
            array(&[1, 2], &[(2, 2)]),
            array(&[1, 2], &[(1, 1), (2, 1)]),
            array(&[1, 2, 0], &[(3, 1)]),
            array(&[1, 3], &[(2, 1)]),
        ];
        for pair in ascending.windows(2) {
            assert!(compare(&pair[0], &pair[1]).is_lt(), "{pair:?}");
        }
    }

    #[test]
    fn trailing_blanks_count_in_text_but_not_in_bpchar() {
        let (a, b) = (Datum::text("a"), Datum::text("a  "));
        assert!(compare(&a, &b).is_lt());
        assert!(equal_as(oid::BPCHAR, &a, &b));
        let state = |d| {
            let mut state = DefaultHasher::new();
            hash_as(oid::BPCHAR, d, &mut state);
            state.finish()
        };
        assert_eq!(state(&a), state(&b));
    }
}
