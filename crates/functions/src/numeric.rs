//! numeric operators and casts; [`steppe_types::numeric`] has the arithmetic.

use super::args::{int, int4, numeric};
use super::{Builtin, Entry, arg, scalar};
use crate::FnContext;
use steppe_types::numeric::Numeric;
use steppe_types::{Datum, Result};

macro_rules! binary {
    ($($name:ident => $method:ident;)*) => { $(
        fn $name(args: &[Datum], _: &mut FnContext) -> Result<Datum> {
            arg(args, 0)?.as_numeric()?.$method(arg(args, 1)?.as_numeric()?).map(Datum::Numeric)
        }
    )* };
}

binary! {
    add => add;
    sub => sub;
    mul => mul;
    div => div;
    rem => rem;
    div_trunc => div_trunc;
}

fn negate(args: &[Datum], _: &mut FnContext) -> Result<Datum> {
    Ok(Datum::Numeric(arg(args, 0)?.as_numeric()?.neg()))
}

fn plus(args: &[Datum], _: &mut FnContext) -> Result<Datum> {
    Ok(arg(args, 0)?.clone())
}

fn abs(args: &[Datum], _: &mut FnContext) -> Result<Datum> {
    Ok(Datum::Numeric(arg(args, 0)?.as_numeric()?.abs()))
}

fn sign(args: &[Datum], _: &mut FnContext) -> Result<Datum> {
    Ok(Datum::Numeric(arg(args, 0)?.as_numeric()?.sign()))
}

fn round(args: &[Datum], _: &mut FnContext) -> Result<Datum> {
    let scale = arg(args, 1)?.as_int4()?;
    arg(args, 0)?.as_numeric()?.round(scale).map(Datum::Numeric)
}

fn trunc(args: &[Datum], _: &mut FnContext) -> Result<Datum> {
    let scale = arg(args, 1)?.as_int4()?;
    arg(args, 0)?.as_numeric()?.trunc(scale).map(Datum::Numeric)
}

fn floor(args: &[Datum], _: &mut FnContext) -> Result<Datum> {
    arg(args, 0)?.as_numeric()?.floor().map(Datum::Numeric)
}

fn ceil(args: &[Datum], _: &mut FnContext) -> Result<Datum> {
    arg(args, 0)?.as_numeric()?.ceil().map(Datum::Numeric)
}

/// `numeric(numeric, typmod)`.
fn apply_typmod(args: &[Datum], _: &mut FnContext) -> Result<Datum> {
    let typmod = arg(args, 1)?.as_int4()?;
    arg(args, 0)?.as_numeric()?.clone().apply_typmod(typmod).map(Datum::Numeric)
}

fn from_int(args: &[Datum], _: &mut FnContext) -> Result<Datum> {
    Ok(Datum::Numeric(match arg(args, 0)? {
        Datum::Int2(v) => Numeric::from(*v),
        Datum::Int4(v) => Numeric::from(*v),
        other => Numeric::from(other.as_int8()?),
    }))
}

fn from_float8(args: &[Datum], _: &mut FnContext) -> Result<Datum> {
    Ok(Datum::Numeric(Numeric::from_f64(arg(args, 0)?.as_float8()?)))
}

fn from_float4(args: &[Datum], _: &mut FnContext) -> Result<Datum> {
    Ok(Datum::Numeric(Numeric::from_f32(arg(args, 0)?.as_float4()?)))
}

fn to_int2(args: &[Datum], _: &mut FnContext) -> Result<Datum> {
    arg(args, 0)?.as_numeric()?.to_i16().map(Datum::Int2)
}

fn to_int4(args: &[Datum], _: &mut FnContext) -> Result<Datum> {
    arg(args, 0)?.as_numeric()?.to_i32().map(Datum::Int4)
}

fn to_int8(args: &[Datum], _: &mut FnContext) -> Result<Datum> {
    arg(args, 0)?.as_numeric()?.to_i64().map(Datum::Int8)
}

fn to_float8(args: &[Datum], _: &mut FnContext) -> Result<Datum> {
    arg(args, 0)?.as_numeric()?.to_f64().map(Datum::Float8)
}

fn to_float4(args: &[Datum], _: &mut FnContext) -> Result<Datum> {
    arg(args, 0)?.as_numeric()?.to_f32().map(Datum::Float4)
}

/// Numeric functions by prosrc.
pub(super) const TABLE: &[Entry] = &[
    ("numeric_add", Builtin::Scalar(add)),
    ("numeric_sub", Builtin::Scalar(sub)),
    ("numeric_mul", Builtin::Scalar(mul)),
    ("numeric_div", Builtin::Scalar(div)),
    ("numeric_mod", Builtin::Scalar(rem)),
    ("numeric_div_trunc", Builtin::Scalar(div_trunc)),
    ("numeric_uminus", Builtin::Scalar(negate)),
    ("numeric_uplus", Builtin::Scalar(plus)),
    ("numeric_abs", Builtin::Scalar(abs)),
    ("numeric_sign", Builtin::Scalar(sign)),
    ("numeric_round", Builtin::Scalar(round)),
    ("numeric_trunc", Builtin::Scalar(trunc)),
    ("numeric_floor", Builtin::Scalar(floor)),
    ("numeric_ceil", Builtin::Scalar(ceil)),
    ("numeric", Builtin::Scalar(apply_typmod)),
    ("int2_numeric", Builtin::Scalar(from_int)),
    ("int4_numeric", Builtin::Scalar(from_int)),
    ("int8_numeric", Builtin::Scalar(from_int)),
    ("float8_numeric", Builtin::Scalar(from_float8)),
    ("float4_numeric", Builtin::Scalar(from_float4)),
    ("numeric_int2", Builtin::Scalar(to_int2)),
    ("numeric_int4", Builtin::Scalar(to_int4)),
    ("numeric_int8", Builtin::Scalar(to_int8)),
    ("numeric_float8", Builtin::Scalar(to_float8)),
    ("numeric_float4", Builtin::Scalar(to_float4)),
    ("numeric_inc", scalar(|a, _| result(numeric(a, 0)?.add(&Numeric::ONE)))),
    ("numeric_sqrt", scalar(|a, _| result(numeric(a, 0)?.sqrt()))),
    ("numeric_exp", scalar(|a, _| result(numeric(a, 0)?.exp()))),
    ("numeric_ln", scalar(|a, _| result(numeric(a, 0)?.ln()))),
    ("numeric_log", scalar(|a, _| result(numeric(a, 1)?.log(numeric(a, 0)?)))),
    ("numeric_power", scalar(|a, _| result(numeric(a, 0)?.power(numeric(a, 1)?)))),
    ("numeric_gcd", scalar(|a, _| result(numeric(a, 0)?.gcd(numeric(a, 1)?)))),
    ("numeric_lcm", scalar(|a, _| result(numeric(a, 0)?.lcm(numeric(a, 1)?)))),
    ("numeric_fac", scalar(|a, _| result(Numeric::factorial(int(a, 0)?)))),
    ("numeric_trim_scale", scalar(|a, _| result(Ok(numeric(a, 0)?.trim_scale())))),
    ("numeric_scale", scalar(|a, _| int4_or_null(numeric(a, 0)?.scale()))),
    ("numeric_min_scale", scalar(|a, _| int4_or_null(numeric(a, 0)?.min_scale()))),
    ("width_bucket_numeric", scalar(width_bucket)),
];

fn result(value: Result<Numeric>) -> Result<Datum> {
    value.map(Datum::Numeric)
}

fn int4_or_null(value: Option<i32>) -> Result<Datum> {
    Ok(value.map_or(Datum::Null, Datum::Int4))
}

fn width_bucket(args: &[Datum], _: &mut FnContext) -> Result<Datum> {
    let (operand, low, high) = (numeric(args, 0)?, numeric(args, 1)?, numeric(args, 2)?);
    operand.width_bucket(low, high, int4(args, 3)?).map(Datum::Int4)
}
