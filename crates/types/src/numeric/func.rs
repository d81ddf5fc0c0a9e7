//! The remaining functions: gcd, lcm, factorial, width_bucket, scales.

use super::var::Var;
use super::{Numeric, Repr, overflow};
use crate::error::{Error, Result, SqlState};
use crate::interrupt;

/// Larger factorials overflow the format for certain.
const MAX_FACTORIAL: i64 = 32177;

impl Numeric {
    /// `gcd(self, other)`; NaN if one side isn't finite.
    pub fn gcd(&self, other: &Numeric) -> Result<Numeric> {
        match (self.finite(), other.finite()) {
            (Some(a), Some(b)) => interrupt::catching(|| Numeric::from_var(gcd_var(&a, &b))),
            _ => Ok(Numeric::NAN),
        }
    }

    /// `lcm(self, other)`; NaN if one side isn't finite.
    pub fn lcm(&self, other: &Numeric) -> Result<Numeric> {
        let (Some(a), Some(b)) = (self.finite(), other.finite()) else { return Ok(Numeric::NAN) };
        let dscale = a.dscale.max(b.dscale);
        if a.is_zero() || b.is_zero() {
            return Numeric::from_var(Var::zero(dscale));
        }
        interrupt::catching(|| {
            let multiple = a.div(&gcd_var(&a, &b), 0, false).mul(&b);
            Numeric::from_var(Var { neg: false, dscale, ..multiple })
        })
    }

    /// `factorial(n)`
    pub fn factorial(n: i64) -> Result<Numeric> {
        if n < 0 {
            return Err(Error::new(
                SqlState::NUMERIC_VALUE_OUT_OF_RANGE,
                "factorial of a negative number is undefined",
            ));
        }
        if n > MAX_FACTORIAL {
            return Err(overflow());
        }
        interrupt::catching(|| {
            let product = (2..=n).fold(Var::from_i64(1), |p, i| p.mul(&Var::from_i64(i)));
            Numeric::from_var(product)
        })
    }

    /// `width_bucket(self, low, high, count)`: which of `count` equal buckets between the bounds
    /// holds the value. Values outside give 0 or count+1.
    pub fn width_bucket(&self, low: &Numeric, high: &Numeric, count: i32) -> Result<i32> {
        let invalid =
            |message| Error::new(SqlState::INVALID_ARGUMENT_FOR_WIDTH_BUCKET_FUNCTION, message);
        if count <= 0 {
            return Err(invalid("count must be greater than zero"));
        }
        if self.is_nan() || low.is_nan() || high.is_nan() {
            return Err(invalid("operand, lower bound, and upper bound cannot be NaN"));
        }
        let (Some(low_var), Some(high_var)) = (low.finite(), high.finite()) else {
            return Err(invalid("lower and upper bounds must be finite"));
        };
        if low == high {
            return Err(invalid("lower bound cannot equal upper bound"));
        }
        let ascending = low < high;
        let (before, after) =
            if ascending { (self < low, self >= high) } else { (self > low, self <= high) };
        if before {
            return Ok(0);
        }
        let Some(operand) = self.finite().filter(|_| !after) else {
            return count.checked_add(1).ok_or_else(|| {
                Error::new(SqlState::NUMERIC_VALUE_OUT_OF_RANGE, "integer out of range")
            });
        };
        let width = high_var.sub(&low_var);
        let scaled = operand.sub(&low_var).mul(&Var::from_i64(count as i64));
        // Between the bounds, so the quotient is in 0..count.
        let bucket = scaled.div(&width, 0, false).to_i128().unwrap_or(0) as i32;
        Ok(bucket.min(count - 1) + 1)
    }

    /// `min_scale(self)`: the smallest scale without loss of digits, or None if not finite.
    pub fn min_scale(&self) -> Option<i32> {
        self.finite().map(|v| v.min_scale())
    }

    /// `trim_scale(self)`: the value at its smallest scale.
    pub fn trim_scale(&self) -> Numeric {
        match &self.0 {
            Repr::Small { dscale: 0, .. } => self.clone(),
            _ => match self.finite() {
                // Fewer digits than before can't overflow.
                Some(v) => Numeric::from_var(v.with_min_scale()).unwrap_or_else(|_| self.clone()),
                None => self.clone(),
            },
        }
    }
}

/// Euclid's algorithm; the result isn't negative.
fn gcd_var(a: &Var, b: &Var) -> Var {
    let dscale = a.dscale.max(b.dscale);
    let (mut a, mut b) = (a.clone(), b.clone());
    while !b.is_zero() {
        let rest = a.rem(&b);
        a = b;
        b = rest;
    }
    Var { neg: false, dscale, ..a }
}
