//! Functions of double precision with PostgreSQL's domain errors (float.c).

use crate::arith::{float_overflow, float_underflow};
use crate::{Error, Result, SqlState};

#[cold]
fn domain(sqlstate: SqlState, message: &str) -> Error {
    Error::new(sqlstate, message)
}

/// Overflow or underflow of a function whose argument was finite.
fn checked(argument: f64, result: f64) -> Result<f64> {
    if result.is_infinite() && argument.is_finite() {
        return Err(float_overflow());
    }
    if result == 0.0 && argument != 0.0 {
        return Err(float_underflow());
    }
    Ok(result)
}

/// `sqrt`
pub fn sqrt(v: f64) -> Result<f64> {
    if v < 0.0 {
        return Err(domain(
            SqlState::INVALID_ARGUMENT_FOR_POWER_FUNCTION,
            "cannot take square root of a negative number",
        ));
    }
    checked(v, v.sqrt())
}

/// `cbrt`
pub fn cbrt(v: f64) -> Result<f64> {
    checked(v, v.cbrt())
}

/// `exp`
pub fn exp(v: f64) -> Result<f64> {
    if !v.is_finite() {
        return Ok(v.exp());
    }
    let result = v.exp();
    if result.is_infinite() {
        Err(float_overflow())
    } else if result == 0.0 {
        Err(float_underflow())
    } else {
        Ok(result)
    }
}

fn logarithm(v: f64, function: fn(f64) -> f64) -> Result<f64> {
    let message = if v == 0.0 {
        "cannot take logarithm of zero"
    } else if v < 0.0 {
        "cannot take logarithm of a negative number"
    } else {
        return Ok(function(v));
    };
    Err(domain(SqlState::INVALID_ARGUMENT_FOR_LOGARITHM, message))
}

/// `ln`
pub fn ln(v: f64) -> Result<f64> {
    logarithm(v, f64::ln)
}

/// `log`, base 10
pub fn log10(v: f64) -> Result<f64> {
    logarithm(v, f64::log10)
}

/// `power`, with POSIX's results for NaN and the infinities (dpow).
pub fn power(base: f64, exponent: f64) -> Result<f64> {
    if base.is_nan() {
        return Ok(if exponent == 0.0 { 1.0 } else { f64::NAN });
    }
    if exponent.is_nan() {
        return Ok(if base == 1.0 { 1.0 } else { f64::NAN });
    }
    let undefined = |message| domain(SqlState::INVALID_ARGUMENT_FOR_POWER_FUNCTION, message);
    if base == 0.0 && exponent < 0.0 {
        return Err(undefined("zero raised to a negative power is undefined"));
    }
    if base < 0.0 && exponent.floor() != exponent {
        return Err(undefined(
            "a negative number raised to a non-integer power yields a complex result",
        ));
    }
    let result = base.powf(exponent);
    if base.is_infinite() || exponent.is_infinite() {
        // IEEE's pow and PostgreSQL agree on all of these.
        return Ok(result);
    }
    if result.is_infinite() {
        return Err(float_overflow());
    }
    if result == 0.0 && base != 0.0 {
        return Err(float_underflow());
    }
    Ok(result)
}

/// `round`: to the nearest integer, ties to even.
pub fn round(v: f64) -> f64 {
    v.round_ties_even()
}

/// `sign`; 0 for NaN.
pub fn sign(v: f64) -> f64 {
    if v > 0.0 {
        1.0
    } else if v < 0.0 {
        -1.0
    } else {
        0.0
    }
}

/// From here on `v * v` adds nothing to `v`'s logarithm (and soon overflows).
const LARGE: f64 = (1u64 << 28) as f64;

/// `asinh`, by the formulas of fdlibm, which the C library uses, too.
pub fn asinh(v: f64) -> f64 {
    let t = v.abs();
    let result = if !v.is_finite() || t < 1.0 / LARGE {
        return v;
    } else if t > LARGE {
        t.ln() + std::f64::consts::LN_2
    } else if t > 2.0 {
        (2.0 * t + 1.0 / ((v * v + 1.0).sqrt() + t)).ln()
    } else {
        let square = v * v;
        (t + square / (1.0 + (1.0 + square).sqrt())).ln_1p()
    };
    result.copysign(v)
}

/// `acosh`, by the formulas of fdlibm.
pub fn acosh(v: f64) -> Result<f64> {
    if v < 1.0 {
        return Err(input_out_of_range());
    }
    Ok(if v > LARGE {
        v.ln() + if v.is_infinite() { 0.0 } else { std::f64::consts::LN_2 }
    } else if v > 2.0 {
        (2.0 * v - 1.0 / (v + (v * v - 1.0).sqrt())).ln()
    } else {
        let t = v - 1.0;
        (t + (2.0 * t + t * t).sqrt()).ln_1p()
    })
}

/// `atanh`, by the formulas of fdlibm.
pub fn atanh(v: f64) -> Result<f64> {
    fn magnitude(t: f64) -> f64 {
        match t < 0.5 {
            _ if t < 1.0 / LARGE => t,
            true => 0.5 * (2.0 * t + 2.0 * t * t / (1.0 - t)).ln_1p(),
            false => 0.5 * ((t + t) / (1.0 - t)).ln_1p(),
        }
    }
    of_unit(v, |v| magnitude(v.abs()).copysign(v))
}

#[cold]
fn input_out_of_range() -> Error {
    Error::new(SqlState::NUMERIC_VALUE_OUT_OF_RANGE, "input is out of range")
}

fn of_finite(v: f64, function: fn(f64) -> f64) -> Result<f64> {
    if v.is_infinite() { Err(input_out_of_range()) } else { Ok(function(v)) }
}

fn of_unit(v: f64, function: fn(f64) -> f64) -> Result<f64> {
    if v.abs() > 1.0 { Err(input_out_of_range()) } else { Ok(function(v)) }
}

/// `sin`
pub fn sin(v: f64) -> Result<f64> {
    of_finite(v, f64::sin)
}

/// `cos`
pub fn cos(v: f64) -> Result<f64> {
    of_finite(v, f64::cos)
}

/// `tan`
pub fn tan(v: f64) -> Result<f64> {
    of_finite(v, f64::tan)
}

/// `cot`
pub fn cot(v: f64) -> Result<f64> {
    of_finite(v, |v| 1.0 / v.tan())
}

/// `asin`
pub fn asin(v: f64) -> Result<f64> {
    of_unit(v, f64::asin)
}

/// `acos`
pub fn acos(v: f64) -> Result<f64> {
    of_unit(v, f64::acos)
}

/// `degrees`
pub fn degrees(v: f64) -> Result<f64> {
    crate::arith::div_float8(v, std::f64::consts::PI / 180.0)
}

/// `radians`
pub fn radians(v: f64) -> Result<f64> {
    crate::arith::mul_float8(v, std::f64::consts::PI / 180.0)
}

/// `gamma`: its poles (0 and the negative integers) are overflows, as is minus infinity.
pub fn gamma(v: f64) -> Result<f64> {
    if v.is_nan() || v == f64::INFINITY {
        return Ok(v);
    }
    let result = libm::tgamma(v);
    if !result.is_finite() {
        return Err(float_overflow());
    }
    if result == 0.0 { Err(float_underflow()) } else { Ok(result) }
}

/// `lgamma`: the logarithm of gamma's absolute value.
pub fn lgamma(v: f64) -> Result<f64> {
    let result = libm::lgamma(v);
    if result.is_infinite() && v.is_finite() { Err(float_overflow()) } else { Ok(result) }
}

/// `erf`
pub fn erf(v: f64) -> f64 {
    libm::erf(v)
}

/// `erfc`
pub fn erfc(v: f64) -> f64 {
    libm::erfc(v)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn domain_errors_are_postgresqls() {
        let error = |result: Result<f64>| {
            let error = result.unwrap_err();
            format!("{} {}", error.sqlstate(), error.message())
        };
        assert_eq!(error(sqrt(-1.0)), "2201F cannot take square root of a negative number");
        assert_eq!(error(ln(0.0)), "2201E cannot take logarithm of zero");
        assert_eq!(error(ln(-1.0)), "2201E cannot take logarithm of a negative number");
        assert_eq!(error(power(0.0, -1.0)), "2201F zero raised to a negative power is undefined");
        assert_eq!(
            error(power(-1.0, 0.5)),
            "2201F a negative number raised to a non-integer power yields a complex result"
        );
        assert_eq!(error(exp(1000.0)), "22003 value out of range: overflow");
        assert_eq!(error(exp(-1000.0)), "22003 value out of range: underflow");
        assert_eq!(error(asin(2.0)), "22003 input is out of range");
        assert_eq!(error(sin(f64::INFINITY)), "22003 input is out of range");
        assert_eq!(power(f64::NEG_INFINITY, 3.0).unwrap(), f64::NEG_INFINITY);
        assert_eq!(round(2.5), 2.0);
        assert!(round(-0.4).is_sign_negative());
    }
}
