//! Casts between integers, to float, numeric and timestamp; the fields of dates.

use super::Value;
use super::arithmetic::cut;
use super::compare::DAY;
use crate::vector::{Data, IntKind, Nulls, Vector};
use steppe_types::Datum;
use steppe_types::datetime::{TIMESTAMP_INFINITY, TIMESTAMP_NEG_INFINITY, arith, fields};

/// The integers of a column.
fn integers<'a>(value: &'a Value<'_>) -> Option<(IntKind, &'a [i64], &'a Vector)> {
    let Value::Each(vector) = value else { return None };
    match &vector.data {
        Data::Ints(kind, values) => Some((*kind, values, vector)),
        _ => None,
    }
}

fn is_integer(kind: IntKind) -> bool {
    matches!(kind, IntKind::Int2 | IntKind::Int4 | IntKind::Int8)
}

/// To another width; `None` if a value has no place in it.
pub(super) fn to_int(to: IntKind, value: &Value<'_>) -> Option<Vector> {
    let (kind, values, vector) = integers(value)?;
    let lost = values.iter().fold(0, |lost, value| lost | (value ^ cut(to, *value)));
    (is_integer(kind) && lost == 0)
        .then(|| Vector { data: Data::Ints(to, values.to_vec()), nulls: vector.nulls.clone() })
}

pub(super) fn int_to_float(value: &Value<'_>) -> Option<Vector> {
    let (kind, values, vector) = integers(value)?;
    let floats = values.iter().map(|value| *value as f64).collect();
    is_integer(kind).then(|| Vector { data: Data::Floats(floats), nulls: vector.nulls.clone() })
}

pub(super) fn int_to_numeric(value: &Value<'_>) -> Option<Vector> {
    let (kind, values, vector) = integers(value)?;
    is_integer(kind)
        .then(|| Vector { data: Data::Decimals(0, values.to_vec()), nulls: vector.nulls.clone() })
}

/// The timestamp at each date's midnight; `None` if one is out of range.
pub(super) fn date_to_timestamp(value: &Value<'_>) -> Option<Vector> {
    let (IntKind::Date, values, vector) = integers(value)? else { return None };
    let finite = |day: &i64| *day != i64::from(i32::MAX) && *day != i64::from(i32::MIN);
    let ends = |(least, greatest): (i64, i64), day: i64| (least.min(day), greatest.max(day));
    let (least, greatest) = values.iter().copied().filter(finite).fold((0, 0), ends);
    let in_range = |day: i64| i32::try_from(day).is_ok_and(|d| arith::date_to_timestamp(d).is_ok());
    if !in_range(least) || !in_range(greatest) {
        return None;
    }
    let midnight = |day: &i64| match (*day == i64::from(i32::MAX), *day == i64::from(i32::MIN)) {
        (true, _) => TIMESTAMP_INFINITY,
        (_, true) => TIMESTAMP_NEG_INFINITY,
        _ => day.wrapping_mul(DAY),
    };
    let timestamps = values.iter().map(midnight).collect();
    Some(Vector { data: Data::Ints(IntKind::Timestamp, timestamps), nulls: vector.nulls.clone() })
}

/// `extract(field from value)` of dates or timestamps. NULL if an infinity has no such field.
/// `None` if a result is not a mantissa of the others' scale.
pub(super) fn extract(field: &Value<'_>, value: &Value<'_>) -> Option<Vector> {
    let Value::Same(Datum::Text(field)) = field else { return None };
    let (kind, values, vector) = integers(value)?;
    let part = |value: i64| match kind {
        IntKind::Date => fields::extract_date(field, i32::try_from(value).ok()?).ok(),
        IntKind::Timestamp => fields::extract_timestamp(field, value).ok(),
        _ => None,
    };
    let (mut mantissas, mut nulls) = (Vec::with_capacity(values.len()), Nulls::default());
    let mut scale = None;
    for (i, value) in values.iter().enumerate() {
        let part = if vector.nulls.get(i) { None } else { part(*value)? };
        nulls.push(i, part.is_none());
        let (mantissa, of) = match part {
            None => (0, scale.unwrap_or_default()),
            Some(part) => part.as_small()?,
        };
        if !nulls.get(i) && *scale.get_or_insert(of) != of {
            return None;
        }
        mantissas.push(mantissa);
    }
    Some(Vector { data: Data::Decimals(scale.unwrap_or_default(), mantissas), nulls })
}
