//! Functions of double precision (src/backend/utils/adt/float.c); [`steppe_types::float_math`] has
//! the arithmetic with PostgreSQL's domain and range errors.

use super::args::{array, float8, int4};
use super::{CallInfo, Entry, arg, scalar, typed};
use crate::FnContext;
use steppe_types::arith::out_of_range;
use steppe_types::compare::compare_as;
use steppe_types::{Datum, Error, Result, SqlState, float_math as math};

/// Float functions by prosrc.
pub(super) const TABLE: &[Entry] = &[
    ("dround", scalar(|a, _| float(Ok(math::round(float8(a, 0)?))))),
    ("dtrunc", scalar(|a, _| float(Ok(float8(a, 0)?.trunc())))),
    ("dceil", scalar(|a, _| float(Ok(float8(a, 0)?.ceil())))),
    ("dfloor", scalar(|a, _| float(Ok(float8(a, 0)?.floor())))),
    ("dsign", scalar(|a, _| float(Ok(math::sign(float8(a, 0)?))))),
    ("dsqrt", scalar(|a, _| float(math::sqrt(float8(a, 0)?)))),
    ("dcbrt", scalar(|a, _| float(math::cbrt(float8(a, 0)?)))),
    ("dpow", scalar(|a, _| float(math::power(float8(a, 0)?, float8(a, 1)?)))),
    ("dexp", scalar(|a, _| float(math::exp(float8(a, 0)?)))),
    ("dlog1", scalar(|a, _| float(math::ln(float8(a, 0)?)))),
    ("dlog10", scalar(|a, _| float(math::log10(float8(a, 0)?)))),
    ("dsin", scalar(|a, _| float(math::sin(float8(a, 0)?)))),
    ("dcos", scalar(|a, _| float(math::cos(float8(a, 0)?)))),
    ("dtan", scalar(|a, _| float(math::tan(float8(a, 0)?)))),
    ("dcot", scalar(|a, _| float(math::cot(float8(a, 0)?)))),
    ("dasin", scalar(|a, _| float(math::asin(float8(a, 0)?)))),
    ("dacos", scalar(|a, _| float(math::acos(float8(a, 0)?)))),
    ("datan", scalar(|a, _| float(Ok(float8(a, 0)?.atan())))),
    ("datan2", scalar(|a, _| float(Ok(float8(a, 0)?.atan2(float8(a, 1)?))))),
    ("dsinh", scalar(|a, _| float(Ok(float8(a, 0)?.sinh())))),
    ("dcosh", scalar(|a, _| float(Ok(float8(a, 0)?.cosh())))),
    ("dtanh", scalar(|a, _| float(Ok(float8(a, 0)?.tanh())))),
    ("dasinh", scalar(|a, _| float(Ok(math::asinh(float8(a, 0)?))))),
    ("dacosh", scalar(|a, _| float(math::acosh(float8(a, 0)?)))),
    ("datanh", scalar(|a, _| float(math::atanh(float8(a, 0)?)))),
    ("dgamma", scalar(|a, _| float(math::gamma(float8(a, 0)?)))),
    ("dlgamma", scalar(|a, _| float(math::lgamma(float8(a, 0)?)))),
    ("derf", scalar(|a, _| float(Ok(math::erf(float8(a, 0)?))))),
    ("derfc", scalar(|a, _| float(Ok(math::erfc(float8(a, 0)?))))),
    ("degrees", scalar(|a, _| float(math::degrees(float8(a, 0)?)))),
    ("radians", scalar(|a, _| float(math::radians(float8(a, 0)?)))),
    ("dpi", scalar(|_, _| float(Ok(std::f64::consts::PI)))),
    ("width_bucket_float8", scalar(width_bucket)),
    ("width_bucket_array", typed(width_bucket_array)),
];

fn float(value: Result<f64>) -> Result<Datum> {
    value.map(Datum::Float8)
}

/// `width_bucket(operand, low, high, count)`: the bounds may be in either order.
fn width_bucket(args: &[Datum], _: &mut FnContext) -> Result<Datum> {
    let (operand, low, high) = (float8(args, 0)?, float8(args, 1)?, float8(args, 2)?);
    let count = int4(args, 3)?;
    let invalid = |message: &str| {
        Err(Error::new(SqlState::INVALID_ARGUMENT_FOR_WIDTH_BUCKET_FUNCTION, message))
    };
    if count <= 0 {
        return invalid("count must be greater than zero");
    }
    if operand.is_nan() || low.is_nan() || high.is_nan() {
        return invalid("operand, lower bound, and upper bound cannot be NaN");
    }
    if low.is_infinite() || high.is_infinite() {
        return invalid("lower and upper bounds must be finite");
    }
    if low == high {
        return invalid("lower bound cannot equal upper bound");
    }
    let ascending = low < high;
    let (before, after) =
        if ascending { (operand < low, operand >= high) } else { (operand > low, operand <= high) };
    if before {
        return Ok(Datum::Int4(0));
    }
    if after {
        return count.checked_add(1).map(Datum::Int4).ok_or_else(|| out_of_range("integer"));
    }
    // Halves, so that the width of the whole range cannot overflow.
    let share = if (high - low).is_finite() {
        (operand - low) / (high - low)
    } else {
        (operand / 2.0 - low / 2.0) / (high / 2.0 - low / 2.0)
    };
    // Rounding may lift the last bucket's end to the count.
    let bucket = ((f64::from(count) * share) as i32).min(count - 1);
    Ok(Datum::Int4(bucket + 1))
}

/// `width_bucket(operand, thresholds)`: the number of thresholds at or below the operand.
fn width_bucket_array(args: &[Datum], call: &CallInfo, _: &mut FnContext) -> Result<Datum> {
    let (operand, thresholds) = (arg(args, 0)?, array(args, 1)?);
    if thresholds.dimensions.len() > 1 {
        return Err(Error::new(
            SqlState::ARRAY_SUBSCRIPT_ERROR,
            "thresholds must be one-dimensional array",
        ));
    }
    if thresholds.elements.iter().any(Datum::is_null) {
        return Err(Error::new(
            SqlState::NULL_VALUE_NOT_ALLOWED,
            "thresholds array must not contain NULLs",
        ));
    }
    let type_oid = call.args.first().copied().unwrap_or(thresholds.element_type);
    let reached = |threshold: &Datum| compare_as(type_oid, threshold, operand).is_le();
    Ok(Datum::Int4(thresholds.elements.partition_point(reached) as i32))
}
