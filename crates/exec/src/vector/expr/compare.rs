//! Comparisons, by the orders of [`steppe_types::compare`].
//!
//! Each loop compares two slices, or a slice with a constant, of one type. Other values are
//! converted first. Floats become integers of the same order, and numerics of different scales are
//! compared at the larger one.

use super::{Truths, Value};
use crate::vector::{Data, IntKind, Nulls, Texts, Vector};
use std::borrow::Cow;
use steppe_functions::CmpOp;
use steppe_types::Datum;
use steppe_types::datetime::{TIMESTAMP_INFINITY, TIMESTAMP_NEG_INFINITY};

/// One side of a binary operator: a column, or the same value for all rows.
pub(super) enum Side<'a, T: Clone> {
    Each(Cow<'a, [T]>),
    One(T),
}

impl<'a, T: Copy> Side<'a, T> {
    fn each(values: &'a [T]) -> Side<'a, T> {
        Side::Each(Cow::Borrowed(values))
    }

    fn map<U: Clone>(&self, f: impl Fn(T) -> U) -> Side<'static, U> {
        match self {
            Side::One(value) => Side::One(f(*value)),
            Side::Each(values) => Side::Each(values.iter().map(|value| f(*value)).collect()),
        }
    }
}

/// `f` of each pair; `None` for two constants.
pub(super) fn zip<A: Copy, B: Copy, C>(
    left: &Side<'_, A>,
    right: &Side<'_, B>,
    mut f: impl FnMut(A, B) -> C,
) -> Option<Vec<C>> {
    Some(match (left, right) {
        (Side::Each(left), Side::One(right)) => left.iter().map(|left| f(*left, *right)).collect(),
        (Side::One(left), Side::Each(right)) => {
            right.iter().map(|right| f(*left, *right)).collect()
        }
        (Side::Each(left), Side::Each(right)) => {
            left.iter().zip(right.iter()).map(|(left, right)| f(*left, *right)).collect()
        }
        (Side::One(_), Side::One(_)) => return None,
    })
}

/// Integers, booleans, dates and times.
pub(super) fn ints<'a>(value: &'a Value<'_>) -> Option<(IntKind, Side<'a, i64>)> {
    match value {
        Value::Same(value) => IntKind::of(value).map(|(kind, value)| (kind, Side::One(value))),
        Value::Each(vector) => match &vector.data {
            Data::Ints(kind, values) => Some((*kind, Side::each(values))),
            _ => None,
        },
    }
}

/// double precision
pub(super) fn floats<'a>(value: &'a Value<'_>) -> Option<Side<'a, f64>> {
    match value {
        Value::Same(Datum::Float8(value)) => Some(Side::One(*value)),
        Value::Same(_) => None,
        Value::Each(vector) => match &vector.data {
            Data::Floats(values) => Some(Side::each(values)),
            _ => None,
        },
    }
}

/// numeric: scale and mantissas.
pub(super) fn decimals<'a>(value: &'a Value<'_>) -> Option<(u8, Side<'a, i64>)> {
    match value {
        Value::Same(Datum::Numeric(value)) => {
            value.as_small().map(|(mantissa, scale)| (scale, Side::One(mantissa)))
        }
        Value::Same(_) => None,
        Value::Each(vector) => match &vector.data {
            Data::Decimals(scale, values) => Some((*scale, Side::each(values))),
            _ => None,
        },
    }
}

/// The pairs that have a NULL.
pub(super) fn nulls_of(left: &Value<'_>, right: &Value<'_>) -> Nulls {
    let (left, right) = (left.nulls(), right.nulls());
    match (left.none(), right.none()) {
        (_, true) => left,
        (true, false) => right,
        (false, false) => {
            let pairs = left.flags().iter().zip(right.flags());
            Nulls::from_flags(pairs.map(|(a, b)| *a || *b).collect())
        }
    }
}

/// SQL comparison: unknown where a side is NULL.
pub(super) fn compare(
    op: CmpOp,
    bpchar: bool,
    left: &Value<'_>,
    right: &Value<'_>,
    rows: usize,
) -> Option<Truths> {
    if left.is_same_null() || right.is_same_null() {
        return Some(Truths::repeat(None, rows));
    }
    let values = compare_values(op, bpchar, left, right)?;
    Some(Truths::new(values, nulls_of(left, right)))
}

fn compare_values(
    op: CmpOp,
    bpchar: bool,
    left: &Value<'_>,
    right: &Value<'_>,
) -> Option<Vec<bool>> {
    if let (Some((l, left)), Some((r, right))) = (ints(left), ints(right)) {
        let is_integer = |kind| matches!(kind, IntKind::Int2 | IntKind::Int4 | IntKind::Int8);
        let comparable = l == r || is_integer(l) && is_integer(r);
        return comparable.then(|| ordered(op, &left, &right)).flatten();
    }
    if let (Some((l, left)), Some((r, right))) = (decimals(left), decimals(right)) {
        return compare_decimals(op, l, &left, r, &right);
    }
    if let (Some(left), Some(right)) = (floats(left), floats(right)) {
        return ordered(op, &left.map(float_key), &right.map(float_key));
    }
    match bpchar {
        true => compare_texts(op, left, right, without_blanks),
        false => compare_texts(op, left, right, |text| text),
    }
}

fn ordered<T: Copy + PartialOrd>(
    op: CmpOp,
    left: &Side<'_, T>,
    right: &Side<'_, T>,
) -> Option<Vec<bool>> {
    match op {
        CmpOp::Eq => zip(left, right, |a, b| a == b),
        CmpOp::Ne => zip(left, right, |a, b| a != b),
        CmpOp::Lt => zip(left, right, |a, b| a < b),
        CmpOp::Le => zip(left, right, |a, b| a <= b),
        CmpOp::Gt => zip(left, right, |a, b| a > b),
        CmpOp::Ge => zip(left, right, |a, b| a >= b),
    }
}

/// An integer by which floats are in their order: -0 as 0, NaN greatest.
fn float_key(value: f64) -> i64 {
    let bits = (value + 0.0).to_bits() as i64;
    match value.is_nan() {
        true => i64::MAX,
        false => bits ^ ((bits >> 63) & i64::MAX),
    }
}

fn compare_decimals(
    op: CmpOp,
    left_scale: u8,
    left: &Side<'_, i64>,
    right_scale: u8,
    right: &Side<'_, i64>,
) -> Option<Vec<bool>> {
    let common = left_scale.max(right_scale);
    if let (Some(left), Some(right)) =
        (rescaled(left, common - left_scale), rescaled(right, common - right_scale))
    {
        return ordered(op, &left, &right);
    }
    // At the common scale mantissas are at most 2^63 * 10^18.
    let wide = |side: &Side<'_, i64>, scale: u8| {
        let power = 10i128.pow(u32::from(common - scale));
        side.map(|value| i128::from(value) * power)
    };
    ordered(op, &wide(left, left_scale), &wide(right, right_scale))
}

/// The mantissas with `digits` more digits; `None` if one overflows.
pub(super) fn rescaled<'a>(side: &'a Side<'_, i64>, digits: u8) -> Option<Side<'a, i64>> {
    let power = 10i64.checked_pow(u32::from(digits))?;
    match side {
        Side::One(value) => value.checked_mul(power).map(Side::One),
        Side::Each(values) if digits == 0 => Some(Side::each(values)),
        Side::Each(values) => {
            let limit = i64::MAX / power;
            let fits = values.iter().fold(true, |fits, v| fits & (-limit <= *v) & (*v <= limit));
            fits.then(|| Side::Each(values.iter().map(|value| value * power).collect()))
        }
    }
}

/// A char(n) value without trailing blanks.
pub(super) fn without_blanks(text: &[u8]) -> &[u8] {
    let blanks = text.iter().rev().take_while(|byte| **byte == b' ').count();
    &text[..text.len() - blanks]
}

/// A column of strings, or the same one for all rows.
enum TextSide<'a> {
    Each(&'a Texts),
    One(&'a [u8]),
}

fn texts<'a>(value: &'a Value<'_>) -> Option<TextSide<'a>> {
    match value {
        Value::Same(Datum::Text(value)) => Some(TextSide::One(value.as_bytes())),
        Value::Same(_) => None,
        Value::Each(vector) => match &vector.data {
            Data::Texts(texts) => Some(TextSide::Each(texts)),
            _ => None,
        },
    }
}

fn compare_texts(
    op: CmpOp,
    left: &Value<'_>,
    right: &Value<'_>,
    key: impl Fn(&[u8]) -> &[u8] + Copy,
) -> Option<Vec<bool>> {
    let (left, right) = (texts(left)?, texts(right)?);
    match op {
        CmpOp::Eq => zip_texts(left, right, key, |a, b| a == b),
        CmpOp::Ne => zip_texts(left, right, key, |a, b| a != b),
        CmpOp::Lt => zip_texts(left, right, key, |a, b| a < b),
        CmpOp::Le => zip_texts(left, right, key, |a, b| a <= b),
        CmpOp::Gt => zip_texts(left, right, key, |a, b| a > b),
        CmpOp::Ge => zip_texts(left, right, key, |a, b| a >= b),
    }
}

fn zip_texts(
    left: TextSide<'_>,
    right: TextSide<'_>,
    key: impl Fn(&[u8]) -> &[u8],
    f: impl Fn(&[u8], &[u8]) -> bool,
) -> Option<Vec<bool>> {
    Some(match (left, right) {
        (TextSide::Each(left), TextSide::One(right)) => {
            let right = key(right);
            (0..left.len()).map(|i| f(key(left.get(i)), right)).collect()
        }
        (TextSide::One(left), TextSide::Each(right)) => {
            let left = key(left);
            (0..right.len()).map(|i| f(left, key(right.get(i)))).collect()
        }
        (TextSide::Each(left), TextSide::Each(right)) => {
            (0..left.len()).map(|i| f(key(left.get(i)), key(right.get(i)))).collect()
        }
        (TextSide::One(_), TextSide::One(_)) => return None,
    })
}

/// IS [NOT] DISTINCT FROM
pub(super) fn distinct(
    negated: bool,
    bpchar: bool,
    left: &Value<'_>,
    right: &Value<'_>,
    rows: usize,
) -> Option<Truths> {
    let is_null = |value: &Value<'_>, i: usize| match value {
        Value::Same(value) => value.is_null(),
        Value::Each(vector) => vector.is_null(i),
    };
    let mut equal = compare(CmpOp::Eq, bpchar, left, right, rows)?;
    if !equal.nulls.none() {
        for (i, equal) in equal.values.iter_mut().enumerate() {
            *equal |= is_null(left, i) && is_null(right, i);
        }
    }
    // Equal values are not distinct.
    equal.values.iter_mut().for_each(|equal| *equal = *equal == negated);
    Some(Truths { values: equal.values, nulls: Nulls::default() })
}

/// NULLIF
pub(super) fn null_if(
    bpchar: bool,
    left: &Value<'_>,
    right: &Value<'_>,
    rows: usize,
) -> Option<Vector> {
    let Value::Each(vector) = left else { return None };
    if matches!(vector.data, Data::Datums(_)) {
        return None;
    }
    let equal = compare(CmpOp::Eq, bpchar, left, right, rows)?;
    let null = |(i, equal): (usize, &bool)| *equal || vector.nulls.get(i);
    let nulls = Nulls::from_flags(equal.values.iter().enumerate().map(null).collect());
    Some(Vector { data: vector.data.clone(), nulls })
}

/// A date with a timestamp: by the date's midnight, which may lie beyond all finite timestamps.
pub(super) fn date_timestamp(
    op: CmpOp,
    date: &Value<'_>,
    timestamp: &Value<'_>,
    date_first: bool,
    rows: usize,
) -> Option<Truths> {
    if date.is_same_null() || timestamp.is_same_null() {
        return Some(Truths::repeat(None, rows));
    }
    let ((IntKind::Date, days), (IntKind::Timestamp, instants)) = (ints(date)?, ints(timestamp)?)
    else {
        return None;
    };
    let nulls = nulls_of(date, timestamp);
    let values = match (&days, &instants) {
        (Side::Each(_), Side::One(instant)) => days_and_instant(op, &days, *instant, date_first)?,
        _ => {
            let (days, instants) = (days.map(midnight), instants.map(moment));
            match date_first {
                true => ordered(op, &days, &instants)?,
                false => ordered(op, &instants, &days)?,
            }
        }
    };
    Some(Truths::new(values, nulls))
}

/// Twice a number of days, plus one if a constant lies between two midnights. So all comparisons
/// are comparisons of integers.
fn days_and_instant(
    op: CmpOp,
    days: &Side<'_, i64>,
    instant: i64,
    date_first: bool,
) -> Option<Vec<bool>> {
    let bound = match instant {
        TIMESTAMP_INFINITY => 2 * i64::from(i32::MAX),
        TIMESTAMP_NEG_INFINITY => 2 * i64::from(i32::MIN),
        _ => 2 * instant.div_euclid(DAY) + i64::from(instant.rem_euclid(DAY) != 0),
    };
    let (days, bound) = (days.map(|day| 2 * day), Side::One(bound));
    match date_first {
        true => ordered(op, &days, &bound),
        false => ordered(op, &bound, &days),
    }
}

/// Microseconds of a day.
pub(super) const DAY: i64 = 86_400_000_000;

fn midnight(day: i64) -> i128 {
    match (day == i64::from(i32::MAX), day == i64::from(i32::MIN)) {
        (true, _) => i128::MAX,
        (_, true) => i128::MIN,
        _ => i128::from(day) * i128::from(DAY),
    }
}

fn moment(instant: i64) -> i128 {
    match instant {
        TIMESTAMP_INFINITY => i128::MAX,
        TIMESTAMP_NEG_INFINITY => i128::MIN,
        _ => instant.into(),
    }
}
