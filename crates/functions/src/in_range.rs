//! in_range: whether a value lies within an offset of another, for RANGE frames
//! (int.c, float.c, numeric.c, date.c, timestamp.c).
//!
//! `in_range(val, base, offset, sub, less)` is `val <= base ± offset` where `less`, else
//! `val >= base ± offset`, with `-` where `sub`. It does not overflow: a sum out of the type's
//! range is beyond every value.

use super::args::{boolean, float8, int, interval, numeric};
use super::date_operators::{add_span, subtract_span};
use super::{Entry, arg, scalar};
use crate::FnContext;
use std::cmp::Ordering;
use steppe_types::compare::compare;
use steppe_types::datetime::arith::date_to_timestamp;
use steppe_types::datetime::{is_infinite_date, is_infinite_timestamp};
use steppe_types::{Datum, Error, Result, SqlState};

/// in_range by prosrc.
pub(super) const TABLE: &[Entry] = &[
    ("in_range_int8_int8", scalar(integers)),
    ("in_range_int4_int8", scalar(integers)),
    ("in_range_int4_int4", scalar(integers)),
    ("in_range_int4_int2", scalar(integers)),
    ("in_range_int2_int8", scalar(integers)),
    ("in_range_int2_int4", scalar(integers)),
    ("in_range_int2_int2", scalar(integers)),
    ("in_range_float4_float8", scalar(floats)),
    ("in_range_float8_float8", scalar(floats)),
    ("in_range_numeric_numeric", scalar(numerics)),
    ("in_range_date_interval", scalar(moments)),
    ("in_range_timestamp_interval", scalar(moments)),
    ("in_range_timestamptz_interval", scalar(moments)),
    ("in_range_time_interval", scalar(times)),
    ("in_range_timetz_interval", scalar(times)),
    ("in_range_interval_interval", scalar(intervals)),
];

/// 22013: an offset must not be negative.
pub(crate) fn negative_offset() -> Error {
    Error::new(
        SqlState::INVALID_PRECEDING_OR_FOLLOWING_SIZE,
        "invalid preceding or following size in window function",
    )
}

/// The result, by the order of the value and the sum.
fn answer(args: &[Datum], order: Ordering) -> Result<Datum> {
    let less = boolean(args, 4)?;
    Ok(Datum::Bool(if less { order.is_le() } else { order.is_ge() }))
}

fn sub(args: &[Datum]) -> Result<bool> {
    boolean(args, 3)
}

fn integers(args: &[Datum], _: &mut FnContext) -> Result<Datum> {
    let (value, base, offset) = (int(args, 0)?, int(args, 1)?, int(args, 2)?);
    if offset < 0 {
        return Err(negative_offset());
    }
    let offset = if sub(args)? { -i128::from(offset) } else { i128::from(offset) };
    answer(args, i128::from(value).cmp(&(i128::from(base) + offset)))
}

fn float(args: &[Datum], i: usize) -> Result<f64> {
    match arg(args, i)? {
        Datum::Float4(v) => Ok(f64::from(*v)),
        _ => float8(args, i),
    }
}

fn floats(args: &[Datum], _: &mut FnContext) -> Result<Datum> {
    let (value, base, offset) = (float(args, 0)?, float(args, 1)?, float(args, 2)?);
    if offset.is_nan() || offset < 0.0 {
        return Err(negative_offset());
    }
    let sub = sub(args)?;
    if let Some(known) = not_numbers(args, value.is_nan(), base.is_nan())? {
        return Ok(known);
    }
    // infinity - infinity: every value is in range.
    let opposed = if sub { base > 0.0 } else { base < 0.0 };
    if base.is_infinite() && offset.is_infinite() && opposed {
        return Ok(Datum::Bool(true));
    }
    let sum = if sub { base - offset } else { base + offset };
    answer(args, value.partial_cmp(&sum).unwrap_or(Ordering::Equal))
}

/// NaN is greater than any number and an offset does not change it.
fn not_numbers(args: &[Datum], value: bool, base: bool) -> Result<Option<Datum>> {
    let less = boolean(args, 4)?;
    Ok(match (value, base) {
        (true, true) => Some(Datum::Bool(true)),
        (true, false) => Some(Datum::Bool(!less)),
        (false, true) => Some(Datum::Bool(less)),
        (false, false) => None,
    })
}

fn numerics(args: &[Datum], _: &mut FnContext) -> Result<Datum> {
    let (value, base, offset) = (numeric(args, 0)?, numeric(args, 1)?, numeric(args, 2)?);
    if offset.is_nan() || offset.signum() < 0 {
        return Err(negative_offset());
    }
    let sub = sub(args)?;
    if let Some(known) = not_numbers(args, value.is_nan(), base.is_nan())? {
        return Ok(known);
    }
    let opposed = if sub { base.signum() > 0 } else { base.signum() < 0 };
    if base.is_infinite() && offset.is_infinite() && opposed {
        return Ok(Datum::Bool(true));
    }
    let sum = if sub { base.sub(offset)? } else { base.add(offset)? };
    answer(args, compare(&Datum::Numeric(value.clone()), &Datum::Numeric(sum)))
}

fn check_interval(args: &[Datum]) -> Result<()> {
    if interval(args, 2)?.linear() < 0 {
        return Err(negative_offset());
    }
    Ok(())
}

fn moments(args: &[Datum], cx: &mut FnContext) -> Result<Datum> {
    check_interval(args)?;
    let operands = [arg(args, 1)?.clone(), arg(args, 2)?.clone()];
    let toward = match &operands[0] {
        Datum::Date(base) if is_infinite_date(*base) => Some(*base > 0),
        Datum::Timestamp(base) | Datum::TimestampTz(base) if is_infinite_timestamp(*base) => {
            Some(*base > 0)
        }
        _ => None,
    };
    // From infinity back by infinity: every row is within such an end.
    if toward == Some(sub(args)?) && interval(args, 2)?.is_infinite() {
        return Ok(Datum::Bool(true));
    }
    let sum = match sub(args)? {
        true => subtract_span(&operands, cx)?,
        false => add_span(&operands, 0, 1, cx)?,
    };
    let value = match arg(args, 0)? {
        Datum::Date(day) => Datum::Timestamp(date_to_timestamp(*day)?),
        other => other.clone(),
    };
    answer(args, compare(&value, &sum))
}

/// Times of day do not wrap round here.
fn times(args: &[Datum], _: &mut FnContext) -> Result<Datum> {
    check_interval(args)?;
    let offset = i128::from(interval(args, 2)?.micros);
    if offset < 0 {
        return Err(negative_offset());
    }
    let offset = if sub(args)? { -offset } else { offset };
    let order = match (arg(args, 0)?, arg(args, 1)?) {
        (Datum::Time(value), Datum::Time(base)) => {
            i128::from(*value).cmp(&(i128::from(*base) + offset))
        }
        (Datum::TimeTz(value, value_zone), Datum::TimeTz(base, base_zone)) => {
            let utc = |time: i128, zone: i32| time + i128::from(zone) * 1_000_000;
            let sum = utc(i128::from(*base) + offset, *base_zone);
            utc(i128::from(*value), *value_zone).cmp(&sum).then(value_zone.cmp(base_zone))
        }
        _ => return Err(Error::internal("in_range of times over other types")),
    };
    answer(args, order)
}

fn intervals(args: &[Datum], _: &mut FnContext) -> Result<Datum> {
    check_interval(args)?;
    let (value, base, offset) = (interval(args, 0)?, interval(args, 1)?, interval(args, 2)?);
    if offset.is_infinite() && base.is_infinite() && (base.linear() > 0) == sub(args)? {
        return Ok(Datum::Bool(true));
    }
    let sum = if sub(args)? { base.checked_sub(offset)? } else { base.checked_add(offset)? };
    answer(args, value.compare(&sum))
}
