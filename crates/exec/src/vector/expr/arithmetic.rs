//! `+ - *` and unary minus over integers, floats and numerics; days added to dates.
//!
//! A loop computes all values with wrapping operations, and collects in one word whether any of
//! them is wrong. If one is, the row path computes the whole column. It reports the error or, for
//! numerics, has more digits.

use super::Value;
use super::compare::{Side, decimals, floats, ints, nulls_of, rescaled, zip};
use crate::vector::{Data, IntKind, Vector};
use steppe_types::Datum;
use steppe_types::datetime::arith::{date_minus_days, date_plus_days};
use steppe_types::datetime::is_infinite_date;

/// The operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Operator {
    Plus,
    Minus,
    Times,
}

/// The most digits that a column of numerics has behind the point.
const MAX_SCALE: u8 = 18;

pub(super) fn arithmetic(
    op: Operator,
    result: IntKind,
    left: &Value<'_>,
    right: &Value<'_>,
    rows: usize,
) -> Option<Vector> {
    if left.is_same_null() || right.is_same_null() {
        return Some(Vector::repeat(&Datum::Null, rows));
    }
    let nulls = nulls_of(left, right);
    let data = if let (Some((_, left)), Some((_, right))) = (ints(left), ints(right)) {
        Data::Ints(result, integers(op, result, &left, &right)?)
    } else if let (Some((l, left)), Some((r, right))) = (decimals(left), decimals(right)) {
        numerics(op, l, &left, r, &right)?
    } else if let (Some(left), Some(right)) = (floats(left), floats(right)) {
        Data::Floats(doubles(op, &left, &right)?)
    } else {
        return None;
    };
    Some(Vector { data, nulls })
}

fn integers(
    op: Operator,
    result: IntKind,
    left: &Side<'_, i64>,
    right: &Side<'_, i64>,
) -> Option<Vec<i64>> {
    if result == IntKind::Int8 {
        return longs(op, left, right);
    }
    // Operands of at most 32 bits: no result is beyond 64.
    let mut beyond = 0;
    let mut narrow = |value: i64| {
        beyond |= value ^ cut(result, value);
        value
    };
    let values = match op {
        Operator::Plus => zip(left, right, |a, b| narrow(a.wrapping_add(b))),
        Operator::Minus => zip(left, right, |a, b| narrow(a.wrapping_sub(b))),
        Operator::Times => zip(left, right, |a, b| narrow(a.wrapping_mul(b))),
    }?;
    (beyond == 0).then_some(values)
}

/// A value cut to an integer type.
#[inline]
pub(super) fn cut(kind: IntKind, value: i64) -> i64 {
    match kind {
        IntKind::Int2 => i64::from(value as i16),
        IntKind::Int4 => i64::from(value as i32),
        _ => value,
    }
}

/// 64-bit integers; `None` if one overflows.
fn longs(op: Operator, left: &Side<'_, i64>, right: &Side<'_, i64>) -> Option<Vec<i64>> {
    // The sign bit is set once a result has an impossible sign.
    let mut wrong = 0;
    let mut lost = false;
    let values = match op {
        Operator::Plus => zip(left, right, |a, b| {
            let sum = a.wrapping_add(b);
            wrong |= (a ^ sum) & (b ^ sum);
            sum
        }),
        Operator::Minus => zip(left, right, |a, b| {
            let difference = a.wrapping_sub(b);
            wrong |= (a ^ b) & (a ^ difference);
            difference
        }),
        Operator::Times => zip(left, right, |a, b| {
            let (product, overflows) = a.overflowing_mul(b);
            lost |= overflows;
            product
        }),
    }?;
    (wrong >= 0 && !lost).then_some(values)
}

/// The display scale is the larger one of the operands', or for a product their sum.
fn numerics(
    op: Operator,
    left_scale: u8,
    left: &Side<'_, i64>,
    right_scale: u8,
    right: &Side<'_, i64>,
) -> Option<Data> {
    if op == Operator::Times {
        let scale = left_scale + right_scale;
        let values = (scale <= MAX_SCALE).then(|| longs(op, left, right)).flatten()?;
        return Some(Data::Decimals(scale, values));
    }
    let scale = left_scale.max(right_scale);
    let left = rescaled(left, scale - left_scale)?;
    let right = rescaled(right, scale - right_scale)?;
    Some(Data::Decimals(scale, longs(op, &left, &right)?))
}

/// An infinity from finite operands is an overflow. Zero from operands other than zero is an
/// underflow.
fn doubles(op: Operator, left: &Side<'_, f64>, right: &Side<'_, f64>) -> Option<Vec<f64>> {
    let mut failed = false;
    let mut check = |a: f64, b: f64, result: f64| {
        failed |= result.is_infinite() & a.is_finite() & b.is_finite();
        result
    };
    let mut vanished = false;
    let values = match op {
        Operator::Plus => zip(left, right, |a, b| check(a, b, a + b)),
        Operator::Minus => zip(left, right, |a, b| check(a, b, a - b)),
        Operator::Times => zip(left, right, |a, b| {
            vanished |= (a * b == 0.0) & (a != 0.0) & (b != 0.0);
            check(a, b, a * b)
        }),
    }?;
    (!failed && !vanished).then_some(values)
}

/// Unary minus.
pub(super) fn negate(result: IntKind, value: &Value<'_>) -> Option<Vector> {
    let Value::Each(vector) = value else { return None };
    let negated = |kind: IntKind, values: &[i64]| {
        let mut beyond = 0;
        let mut narrow = |value: i64| {
            // The least 64-bit integer is its own negation.
            beyond |= (value ^ cut(kind, value)) | i64::from(value == i64::MIN);
            value
        };
        let values = values.iter().map(|value| narrow(value.wrapping_neg())).collect();
        (beyond == 0).then_some(values)
    };
    let data = match &vector.data {
        Data::Ints(_, values) => Data::Ints(result, negated(result, values)?),
        Data::Decimals(scale, values) => Data::Decimals(*scale, negated(IntKind::Int8, values)?),
        Data::Floats(values) => Data::Floats(values.iter().map(|value| -value).collect()),
        Data::Texts(_) | Data::Datums(_) => return None,
    };
    Some(Vector { data, nulls: vector.nulls.clone() })
}

/// A date and a number of days. Infinite dates, and dates near the ends of the type, are left to
/// the row path.
pub(super) fn date_plus(minus: bool, date: &Value<'_>, days: &Value<'_>) -> Option<Vector> {
    let ((IntKind::Date, dates), (IntKind::Int4, days_side)) = (ints(date)?, ints(days)?) else {
        return None;
    };
    let plain = |date: i64| {
        let date = date as i32;
        !is_infinite_date(date) && date_plus_days(date, 0).is_ok()
    };
    let sums = match minus {
        false => zip(&dates, &days_side, |date, days| date + days),
        true => zip(&dates, &days_side, |date, days| date - days),
    }?;
    let (least, greatest) = ends(&sums);
    let (first, last) = match &dates {
        Side::One(date) => (*date, *date),
        Side::Each(dates) => ends(dates),
    };
    let in_range = [first, last].into_iter().all(plain) && both_are_dates(least, greatest);
    let nulls = nulls_of(date, days);
    in_range.then_some(Vector { data: Data::Ints(IntKind::Date, sums), nulls })
}

fn ends(values: &[i64]) -> (i64, i64) {
    values.iter().fold((0, 0), |(least, greatest), v| (least.min(*v), greatest.max(*v)))
}

/// Whether 2000-01-01 reaches both, in the direction that each lies in.
fn both_are_dates(least: i64, greatest: i64) -> bool {
    let date = |days: i64, minus: bool| match i32::try_from(days) {
        Ok(days) if minus => days.checked_neg().is_some_and(|d| date_minus_days(0, d).is_ok()),
        Ok(days) => date_plus_days(0, days).is_ok(),
        Err(_) => false,
    };
    date(least, true) && date(greatest, false)
}
