//! real and double precision arithmetic (src/backend/utils/adt/float.c).
//!
//! An operation on finite operands with an infinite result is an overflow (22003). One on non-zero
//! operands with the result zero is an underflow. Casts to integers round half to even.

use super::{Builtin, Entry, arg};
use crate::FnContext;
use steppe_types::{Datum, Error, Result, SqlState};

#[cold]
fn range_error(message: &str) -> Error {
    Error::new(SqlState::NUMERIC_VALUE_OUT_OF_RANGE, message)
}

#[cold]
fn division_by_zero() -> Error {
    Error::new(SqlState::DIVISION_BY_ZERO, "division by zero")
}

#[inline]
fn float(args: &[Datum], i: usize) -> Result<f64> {
    match arg(args, i)? {
        Datum::Float8(v) => Ok(*v),
        Datum::Float4(v) => Ok(f64::from(*v)),
        other => other.as_float8(),
    }
}

fn check(result: f64, overflow_allowed: bool, underflow_allowed: bool) -> Result<f64> {
    if result.is_infinite() && !overflow_allowed {
        return Err(range_error("value out of range: overflow"));
    }
    if result == 0.0 && !underflow_allowed {
        return Err(range_error("value out of range: underflow"));
    }
    Ok(result)
}

fn add(a: f64, b: f64) -> Result<f64> {
    check(a + b, a.is_infinite() || b.is_infinite(), true)
}

fn sub(a: f64, b: f64) -> Result<f64> {
    check(a - b, a.is_infinite() || b.is_infinite(), true)
}

fn mul(a: f64, b: f64) -> Result<f64> {
    check(a * b, a.is_infinite() || b.is_infinite(), a == 0.0 || b == 0.0)
}

fn div(a: f64, b: f64) -> Result<f64> {
    if b == 0.0 && !a.is_nan() {
        return Err(division_by_zero());
    }
    check(a / b, a.is_infinite() || b == 0.0, a == 0.0 || b.is_infinite())
}

/// Narrows to real, with the same checks once more at that width.
fn narrow(exact: f64) -> Result<Datum> {
    let value = exact as f32;
    if value.is_infinite() && !exact.is_infinite() {
        return Err(range_error("value out of range: overflow"));
    }
    if value == 0.0 && exact != 0.0 {
        return Err(range_error("value out of range: underflow"));
    }
    Ok(Datum::Float4(value))
}

macro_rules! binary {
    ($($op:ident => $eight:ident, $four:ident;)*) => { $(
        fn $eight(args: &[Datum], _: &mut FnContext) -> Result<Datum> {
            Ok(Datum::Float8($op(float(args, 0)?, float(args, 1)?)?))
        }
        fn $four(args: &[Datum], _: &mut FnContext) -> Result<Datum> {
            narrow($op(float(args, 0)?, float(args, 1)?)?)
        }
    )* };
}

binary! {
    add => add8, add4;
    sub => sub8, sub4;
    mul => mul8, mul4;
    div => div8, div4;
}

fn negate(args: &[Datum], _: &mut FnContext) -> Result<Datum> {
    Ok(match arg(args, 0)? {
        Datum::Float4(v) => Datum::Float4(-v),
        other => Datum::Float8(-other.as_float8()?),
    })
}

fn plus(args: &[Datum], _: &mut FnContext) -> Result<Datum> {
    Ok(arg(args, 0)?.clone())
}

fn abs(args: &[Datum], _: &mut FnContext) -> Result<Datum> {
    Ok(match arg(args, 0)? {
        Datum::Float4(v) => Datum::Float4(v.abs()),
        other => Datum::Float8(other.as_float8()?.abs()),
    })
}

fn from_int(args: &[Datum], _: &mut FnContext) -> Result<Datum> {
    Ok(Datum::Float8(match arg(args, 0)? {
        Datum::Int2(v) => f64::from(*v),
        Datum::Int4(v) => f64::from(*v),
        other => other.as_int8()? as f64,
    }))
}

fn real_from_int(args: &[Datum], _: &mut FnContext) -> Result<Datum> {
    Ok(Datum::Float4(match arg(args, 0)? {
        Datum::Int2(v) => f32::from(*v),
        Datum::Int4(v) => *v as f32,
        other => other.as_int8()? as f32,
    }))
}

/// Rounds half to even into an integer range given as floats.
fn to_integer(value: f64, low: f64, high: f64, ty: &str) -> Result<i64> {
    let rounded = value.round_ties_even();
    if rounded.is_nan() || rounded < low || rounded >= high {
        return Err(range_error(&format!("{ty} out of range")));
    }
    Ok(rounded as i64)
}

fn to_int2(args: &[Datum], _: &mut FnContext) -> Result<Datum> {
    let value = to_integer(float(args, 0)?, -32768.0, 32768.0, "smallint")?;
    Ok(Datum::Int2(value as i16))
}

fn to_int4(args: &[Datum], _: &mut FnContext) -> Result<Datum> {
    let value = to_integer(float(args, 0)?, -2147483648.0, 2147483648.0, "integer")?;
    Ok(Datum::Int4(value as i32))
}

fn to_int8(args: &[Datum], _: &mut FnContext) -> Result<Datum> {
    let limit = 9223372036854775808.0;
    Ok(Datum::Int8(to_integer(float(args, 0)?, -limit, limit, "bigint")?))
}

fn widen(args: &[Datum], _: &mut FnContext) -> Result<Datum> {
    Ok(Datum::Float8(float(args, 0)?))
}

fn to_real(args: &[Datum], _: &mut FnContext) -> Result<Datum> {
    narrow(float(args, 0)?)
}

/// Floating-point functions by prosrc.
pub(super) const TABLE: &[Entry] = &[
    ("float8pl", Builtin::Scalar(add8)),
    ("float8mi", Builtin::Scalar(sub8)),
    ("float8mul", Builtin::Scalar(mul8)),
    ("float8div", Builtin::Scalar(div8)),
    ("float4pl", Builtin::Scalar(add4)),
    ("float4mi", Builtin::Scalar(sub4)),
    ("float4mul", Builtin::Scalar(mul4)),
    ("float4div", Builtin::Scalar(div4)),
    ("float48pl", Builtin::Scalar(add8)),
    ("float48mi", Builtin::Scalar(sub8)),
    ("float48mul", Builtin::Scalar(mul8)),
    ("float48div", Builtin::Scalar(div8)),
    ("float84pl", Builtin::Scalar(add8)),
    ("float84mi", Builtin::Scalar(sub8)),
    ("float84mul", Builtin::Scalar(mul8)),
    ("float84div", Builtin::Scalar(div8)),
    ("float8um", Builtin::Scalar(negate)),
    ("float4um", Builtin::Scalar(negate)),
    ("float8up", Builtin::Scalar(plus)),
    ("float4up", Builtin::Scalar(plus)),
    ("float8abs", Builtin::Scalar(abs)),
    ("float4abs", Builtin::Scalar(abs)),
    ("i2tod", Builtin::Scalar(from_int)),
    ("i4tod", Builtin::Scalar(from_int)),
    ("i8tod", Builtin::Scalar(from_int)),
    ("i2tof", Builtin::Scalar(real_from_int)),
    ("i4tof", Builtin::Scalar(real_from_int)),
    ("i8tof", Builtin::Scalar(real_from_int)),
    ("dtoi2", Builtin::Scalar(to_int2)),
    ("dtoi4", Builtin::Scalar(to_int4)),
    ("dtoi8", Builtin::Scalar(to_int8)),
    ("ftoi2", Builtin::Scalar(to_int2)),
    ("ftoi4", Builtin::Scalar(to_int4)),
    ("ftoi8", Builtin::Scalar(to_int8)),
    ("ftod", Builtin::Scalar(widen)),
    ("dtof", Builtin::Scalar(to_real)),
];
