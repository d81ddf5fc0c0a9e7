//! Random numbers: random(), random(low, high), random_normal(), setseed()
//! (src/backend/utils/adt/pseudorandomfuncs.c). The generator is the session's.

use super::args::{float8, int, numeric, void};
use super::{Entry, scalar};
use crate::FnContext;
use steppe_types::numeric::Numeric;
use steppe_types::{Datum, Error, Result, SqlState};

/// Random functions by prosrc.
pub(super) const TABLE: &[Entry] = &[
    ("drandom", scalar(|_, cx| Ok(Datum::Float8(cx.host().random())))),
    ("setseed", scalar(set_seed)),
    ("int4random", scalar(|a, cx| Ok(Datum::Int4(between(int(a, 0)?, int(a, 1)?, cx)? as i32)))),
    ("int8random", scalar(|a, cx| Ok(Datum::Int8(between(int(a, 0)?, int(a, 1)?, cx)? as i64)))),
    ("numeric_random", scalar(numeric_between)),
    ("drandom_normal", scalar(normal)),
];

fn invalid(message: impl Into<String>) -> Error {
    Error::new(SqlState::INVALID_PARAMETER_VALUE, message)
}

fn set_seed(args: &[Datum], cx: &mut FnContext) -> Result<Datum> {
    let seed = float8(args, 0)?;
    if !(-1.0..=1.0).contains(&seed) {
        let shown = Datum::Float8(seed);
        let shown =
            crate::as_text::to_text(&shown, steppe_types::oid::FLOAT8, cx)?.unwrap_or_default();
        return Err(invalid(format!("setseed parameter {shown} is out of allowed range [-1,1]")));
    }
    cx.host().set_seed(seed)?;
    void()
}

/// 64 random bits, from two draws of 32 each.
fn bits(cx: &FnContext) -> u64 {
    let half = || (cx.host().random() * 4_294_967_296.0) as u64;
    half() << 32 | half()
}

/// A uniformly distributed number below `bound`: the product's upper part.
fn below(bound: u128, cx: &FnContext) -> u128 {
    let wide = u128::from(bits(cx));
    match u64::try_from(bound) {
        Ok(bound) => (wide * u128::from(bound)) >> 64,
        // All but the full range of bigint fits above.
        Err(_) => (wide << 64 | u128::from(bits(cx))) % bound,
    }
}

fn between(low: impl Into<i128>, high: impl Into<i128>, cx: &FnContext) -> Result<i128> {
    let (low, high) = (low.into(), high.into());
    if low > high {
        return Err(invalid("lower bound must be less than or equal to upper bound"));
    }
    Ok(low + below(high.abs_diff(low) + 1, cx) as i128)
}

fn numeric_between(args: &[Datum], cx: &mut FnContext) -> Result<Datum> {
    let (low, high) = (numeric(args, 0)?, numeric(args, 1)?);
    for (bound, name) in [(low, "lower"), (high, "upper")] {
        if bound.is_nan() {
            return Err(invalid(format!("{name} bound cannot be NaN")));
        }
        if bound.is_infinite() {
            return Err(invalid(format!("{name} bound cannot be infinity")));
        }
    }
    // Whole numbers in units of the finer scale.
    let scale = low.scale().max(high.scale()).unwrap_or(0);
    let unit = Numeric::from(10i64).power(&Numeric::from(i64::from(scale)))?;
    let units = |bound: &Numeric| -> Result<i128> {
        bound
            .mul(&unit)?
            .to_i128()
            .filter(|v| v.unsigned_abs() < 1 << 120)
            .ok_or_else(|| Error::not_supported("random() of a numeric range this large"))
    };
    let value = between(units(low)?, units(high)?, cx)?;
    Ok(Datum::Numeric(Numeric::from_i128_scaled(value, scale as u32)))
}

/// Marsaglia's polar form of the Box-Muller transform.
fn normal(args: &[Datum], cx: &mut FnContext) -> Result<Datum> {
    let (mean, deviation) = (float8(args, 0)?, float8(args, 1)?);
    for _ in 0..1000 {
        let (x, y) = (2.0 * cx.host().random() - 1.0, 2.0 * cx.host().random() - 1.0);
        let square = x * x + y * y;
        if square > 0.0 && square < 1.0 {
            let factor = (-2.0 * square.ln() / square).sqrt();
            return Ok(Datum::Float8(deviation * (x * factor) + mean));
        }
    }
    Err(Error::internal("the session's random numbers do not vary"))
}
