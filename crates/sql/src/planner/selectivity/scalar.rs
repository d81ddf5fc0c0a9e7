//! Values of columns among each other: their order, and where between two others one is
//! (convert_to_scalar in selfuncs.c).

use std::cmp::Ordering;
use steppe_types::{Datum, Oid, compare};

/// At most this many characters of a string count, and bytes of a bytea.
const CHARACTERS_MAX: usize = 12;
const BYTES_MAX: usize = 10;
/// A range of fewer characters is extended to all of ASCII.
const CHARACTERS_MIN: f64 = 9.0;

const USECS_PER_DAY: i64 = 86_400_000_000;
const DAYS_PER_MONTH: f64 = 365.25 / 12.0;

/// The order of two values of a type, or of two types that are compared with each other: numbers,
/// dates and timestamps. `None`: they are not compared.
pub(super) fn order(type_oid: Oid, a: &Datum, b: &Datum) -> Option<Ordering> {
    use Datum::{Float4, Float8};
    // Lists of common values are compared one by one, and most often these.
    if let (Some(a), Some(b)) = (integer(a), integer(b)) {
        return Some(a.cmp(&b));
    }
    let are_alike = match (a, b) {
        (Float4(_) | Float8(_), Float4(_) | Float8(_)) => true,
        _ => std::mem::discriminant(a) == std::mem::discriminant(b),
    };
    match are_alike {
        true => Some(compare::compare_as(type_oid, a, b)),
        false => Some(instant(a)?.cmp(&instant(b)?)),
    }
}

/// The value of an integer of any width.
#[inline]
pub(super) fn integer(value: &Datum) -> Option<i64> {
    match value {
        Datum::Int2(value) => Some(i64::from(*value)),
        Datum::Int4(value) => Some(i64::from(*value)),
        Datum::Int8(value) => Some(*value),
        _ => None,
    }
}

/// The position of a value between two others, from 0 to 1; `None` if it is unknown.
pub(super) fn place(value: &Datum, low: &Datum, high: &Datum) -> Option<f64> {
    let (value, low, high) = match (value, low, high) {
        (Datum::Text(value), Datum::Text(low), Datum::Text(high)) => {
            let [value, low, high] = [value, low, high].map(|text| text.as_bytes());
            strings(value, low, high, characters(low, high), CHARACTERS_MAX)
        }
        (Datum::Bytea(value), Datum::Bytea(low), Datum::Bytea(high)) => {
            strings(value, low, high, (0.0, 255.0), BYTES_MAX)
        }
        _ => (number(value)?, number(low)?, number(high)?),
    };
    let between = (value - low) / (high - low);
    Some(match () {
        () if high <= low => 0.5,
        () if value <= low => 0.0,
        () if value >= high => 1.0,
        () if (0.0..=1.0).contains(&between) => between,
        () => 0.5,
    })
}

/// A point in time in microseconds.
fn instant(value: &Datum) -> Option<i64> {
    match value {
        Datum::Date(i32::MIN) => Some(i64::MIN),
        Datum::Date(i32::MAX) => Some(i64::MAX),
        Datum::Date(days) => Some(i64::from(*days).saturating_mul(USECS_PER_DAY)),
        Datum::Timestamp(micros) | Datum::TimestampTz(micros) => Some(*micros),
        _ => None,
    }
}

/// A value as a number.
fn number(value: &Datum) -> Option<f64> {
    Some(match value {
        Datum::Bool(value) => f64::from(u8::from(*value)),
        Datum::Int2(value) => f64::from(*value),
        Datum::Int4(value) => f64::from(*value),
        Datum::Int8(value) => *value as f64,
        Datum::Float4(value) => f64::from(*value),
        Datum::Float8(value) => *value,
        Datum::Numeric(value) => value.to_f64().ok()?,
        Datum::Oid(value) => f64::from(*value),
        Datum::Char(value) => f64::from(*value),
        Datum::Time(micros) => *micros as f64,
        Datum::TimeTz(micros, zone) => *micros as f64 + f64::from(*zone) * 1e6,
        Datum::Interval(interval) => {
            let days = f64::from(interval.days) + f64::from(interval.months) * DAYS_PER_MONTH;
            interval.micros as f64 + days * USECS_PER_DAY as f64
        }
        other => instant(other)? as f64,
    })
}

/// Three strings as fractions whose digits are the characters after their common prefix.
fn strings(
    value: &[u8],
    low: &[u8],
    high: &[u8],
    range: (f64, f64),
    length: usize,
) -> (f64, f64, f64) {
    let pairs = low.iter().zip(high).zip(value);
    let same = pairs.take_while(|((a, b), c)| a == b && a == c).count();
    let fraction = |bytes: &[u8]| fraction(&bytes[same..], range, length);
    (fraction(value), fraction(low), fraction(high))
}

fn fraction(bytes: &[u8], (first, last): (f64, f64), length: usize) -> f64 {
    let base = last - first + 1.0;
    let (mut sum, mut unit) = (0.0, base);
    for byte in bytes.iter().take(length) {
        let digit = f64::from(*byte).clamp(first - 1.0, last + 1.0) - first;
        sum += digit / unit;
        unit *= base;
    }
    sum
}

/// The least and the greatest character of the strings between two: of letters and digits all, if
/// there are some.
fn characters(low: &[u8], high: &[u8]) -> (f64, f64) {
    let bytes = || low.iter().chain(high).copied();
    let (Some(mut first), Some(mut last)) = (bytes().min(), bytes().max()) else {
        return (f64::from(b' '), 127.0);
    };
    for (from, to) in [(b'A', b'Z'), (b'a', b'z'), (b'0', b'9')] {
        if first <= to && last >= from {
            (first, last) = (first.min(from), last.max(to));
        }
    }
    let (first, last) = (f64::from(first), f64::from(last));
    match last - first < CHARACTERS_MIN {
        true => (f64::from(b' '), 127.0),
        false => (first, last),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn between(value: &str, low: &str, high: &str) -> f64 {
        let text = |s: &str| Datum::text(s);
        place(&text(value), &text(low), &text(high)).expect("texts are placed")
    }

    #[test]
    fn texts_are_placed_after_what_they_have_in_common() {
        assert!((between("abm", "aba", "abz") - 12.0 / 25.0).abs() < 1e-9);
        assert_eq!(between("aaa", "aba", "abz"), 0.0);
        assert_eq!(between("x", "aba", "abz"), 1.0);
        assert_eq!(between("a", "a", "a"), 0.5);
    }

    #[test]
    fn dates_are_ordered_among_timestamps() {
        let (day, time) = (Datum::Date(1), Datum::Timestamp(USECS_PER_DAY + 1));
        assert_eq!(order(0, &day, &time), Some(Ordering::Less));
        assert_eq!(order(0, &Datum::Date(i32::MAX), &time), Some(Ordering::Greater));
        assert_eq!(order(0, &day, &Datum::Int4(1)), None);
        assert_eq!(place(&Datum::Date(1), &Datum::Date(0), &Datum::Date(4)), Some(0.25));
    }
}
