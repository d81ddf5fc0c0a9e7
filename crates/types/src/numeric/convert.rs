//! numeric to and from integers and floats.

use super::{Numeric, Repr, pow10};
use crate::error::{Error, Result, SqlState};

impl From<i64> for Numeric {
    #[inline]
    fn from(v: i64) -> Numeric {
        Numeric(Repr::Small { mantissa: v, dscale: 0 })
    }
}

impl From<i32> for Numeric {
    #[inline]
    fn from(v: i32) -> Numeric {
        Numeric::from(v as i64)
    }
}

impl From<i16> for Numeric {
    #[inline]
    fn from(v: i16) -> Numeric {
        Numeric::from(v as i64)
    }
}

impl From<u64> for Numeric {
    fn from(v: u64) -> Numeric {
        Numeric::from_scaled(v as i128, 0)
    }
}

impl From<i128> for Numeric {
    fn from(v: i128) -> Numeric {
        Numeric::from_scaled(v, 0)
    }
}

#[cold]
fn out_of_range(message: String) -> Error {
    Error::new(SqlState::NUMERIC_VALUE_OUT_OF_RANGE, message)
}

impl Numeric {
    /// `mantissa / 10^scale` with display scale `scale`.
    pub fn from_i128_scaled(mantissa: i128, scale: u32) -> Numeric {
        Numeric::from_scaled(mantissa, scale)
    }

    /// The value of a double precision, as PostgreSQL casts it: 15 significant digits.
    pub fn from_f64(v: f64) -> Numeric {
        from_float(v, format!("{v:.14e}"))
    }

    /// The value of a real, as PostgreSQL casts it: 6 significant digits.
    pub fn from_f32(v: f32) -> Numeric {
        from_float(v as f64, format!("{v:.5e}"))
    }

    /// The integer nearest, half away from zero; 0A000 or 22003 naming `ty` otherwise.
    fn to_integer<T: TryFrom<i128>>(&self, ty: &str) -> Result<T> {
        let value = match &self.0 {
            Repr::Small { mantissa, dscale } => {
                let unit = pow10(*dscale as u32);
                let half = mantissa.signum() as i128 * (unit / 2);
                Some((*mantissa as i128 + half) / unit)
            }
            Repr::Big(v) => v.to_i128(),
            Repr::NaN => return Err(special("NaN", ty)),
            Repr::PosInf | Repr::NegInf => return Err(special("infinity", ty)),
        };
        value
            .and_then(|v| T::try_from(v).ok())
            .ok_or_else(|| out_of_range(format!("{ty} out of range")))
    }

    /// Cast to smallint.
    pub fn to_i16(&self) -> Result<i16> {
        self.to_integer("smallint")
    }

    /// Cast to integer.
    pub fn to_i32(&self) -> Result<i32> {
        self.to_integer("integer")
    }

    /// Cast to bigint.
    pub fn to_i64(&self) -> Result<i64> {
        self.to_integer("bigint")
    }

    /// The integer nearest, half away from zero, if there is one that fits.
    pub fn to_i128(&self) -> Option<i128> {
        self.to_integer("int16").ok()
    }

    /// Cast to double precision; 22003 if the value is too large or too small for one.
    pub fn to_f64(&self) -> Result<f64> {
        if let Repr::Small { mantissa, dscale } = self.0
            && mantissa.unsigned_abs() < 1 << 53
        {
            // Both operands are exact, so the one rounding of the division is right.
            return Ok(mantissa as f64 / 10f64.powi(dscale as i32));
        }
        let specials = (f64::NAN, f64::INFINITY);
        self.to_float("double precision", specials, |v: &f64| *v == 0.0 || v.is_infinite())
    }

    /// Cast to real; 22003 if the value is too large or too small for one.
    pub fn to_f32(&self) -> Result<f32> {
        self.to_float("real", (f32::NAN, f32::INFINITY), |v: &f32| *v == 0.0 || v.is_infinite())
    }

    fn to_float<T>(
        &self,
        ty: &str,
        (nan, inf): (T, T),
        is_extreme: impl Fn(&T) -> bool,
    ) -> Result<T>
    where
        T: std::str::FromStr + std::ops::Neg<Output = T> + Copy,
    {
        match self.0 {
            Repr::NaN => return Ok(nan),
            Repr::PosInf => return Ok(inf),
            Repr::NegInf => return Ok(-inf),
            _ => {}
        }
        let text = self.to_string();
        match text.parse::<T>() {
            Ok(v) if self.is_zero() || !is_extreme(&v) => Ok(v),
            _ => Err(out_of_range(format!("\"{text}\" is out of range for type {ty}"))),
        }
    }
}

#[cold]
fn special(what: &str, ty: &str) -> Error {
    Error::new(SqlState::FEATURE_NOT_SUPPORTED, format!("cannot convert {what} to {ty}"))
}

/// A float from its scientific notation; the digits' trailing zeros aren't significant.
fn from_float(v: f64, scientific: String) -> Numeric {
    if v.is_nan() {
        return Numeric::NAN;
    }
    if v.is_infinite() {
        return if v > 0.0 { Numeric::INFINITY } else { Numeric::NEG_INFINITY };
    }
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let mantissa = if mantissa.contains('.') {
        mantissa.trim_end_matches('0').trim_end_matches('.')
    } else {
        mantissa
    };
    // A float's exponent is far within numeric's range, so this can't fail.
    Numeric::parse(&format!("{mantissa}e{exponent}")).unwrap_or(Numeric::NAN)
}
