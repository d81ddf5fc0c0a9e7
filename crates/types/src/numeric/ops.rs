//! The operators: + - * / % and the functions that round.

use super::var::Var;
use super::{
    DSCALE_MAX, MAX_DISPLAY_SCALE, MIN_SIG_DIGITS, Numeric, Repr, WEIGHT_MAX, division_by_zero,
    pow10,
};
use crate::error::Result;
use crate::interrupt;

/// Two small values brought to one scale: both mantissas and the scale.
#[inline]
fn aligned(a: &Numeric, b: &Numeric) -> Option<(i128, i128, u32)> {
    let (Repr::Small { mantissa: a, dscale: sa }, Repr::Small { mantissa: b, dscale: sb }) =
        (&a.0, &b.0)
    else {
        return None;
    };
    let scale = *sa.max(sb);
    let a = *a as i128 * pow10((scale - sa) as u32);
    let b = *b as i128 * pow10((scale - sb) as u32);
    Some((a, b, scale as u32))
}

/// The scale of a quotient: at least 16 significant digits, and no less than
/// either input's (select_div_scale).
pub(super) fn select_div_scale(dividend: &Var, divisor: &Var) -> i32 {
    let mut weight = dividend.weight - divisor.weight;
    let first = |v: &Var| v.digits.first().copied().unwrap_or(0);
    if first(dividend) <= first(divisor) {
        weight -= 1;
    }
    (MIN_SIG_DIGITS - weight * 4)
        .max(dividend.dscale)
        .max(divisor.dscale)
        .clamp(0, MAX_DISPLAY_SCALE)
}

impl Numeric {
    /// `self + other`
    #[allow(clippy::should_implement_trait)]
    pub fn add(&self, other: &Numeric) -> Result<Numeric> {
        if let (Repr::Small { mantissa: a, dscale: sa }, Repr::Small { mantissa: b, dscale: sb }) =
            (&self.0, &other.0)
            && sa == sb
            && let Some(mantissa) = a.checked_add(*b)
        {
            return Ok(Numeric(Repr::Small { mantissa, dscale: *sa }));
        }
        if let Some((a, b, scale)) = aligned(self, other)
            && let Some(sum) = a.checked_add(b)
        {
            return Ok(Numeric::from_scaled(sum, scale));
        }
        match (self.finite(), other.finite()) {
            (Some(a), Some(b)) => Numeric::from_var(a.add(&b)),
            _ => Ok(self.add_special(other)),
        }
    }

    fn add_special(&self, other: &Numeric) -> Numeric {
        match (&self.0, &other.0) {
            (Repr::NaN, _) | (_, Repr::NaN) => Numeric::NAN,
            (Repr::PosInf, Repr::NegInf) | (Repr::NegInf, Repr::PosInf) => Numeric::NAN,
            (Repr::PosInf | Repr::NegInf, _) => self.clone(),
            _ => other.clone(),
        }
    }

    /// `self - other`
    #[allow(clippy::should_implement_trait)]
    pub fn sub(&self, other: &Numeric) -> Result<Numeric> {
        if let (Repr::Small { mantissa: a, dscale: sa }, Repr::Small { mantissa: b, dscale: sb }) =
            (&self.0, &other.0)
            && sa == sb
            && let Some(mantissa) = a.checked_sub(*b)
        {
            return Ok(Numeric(Repr::Small { mantissa, dscale: *sa }));
        }
        self.add(&other.neg())
    }

    /// `self * other`
    #[allow(clippy::should_implement_trait)]
    pub fn mul(&self, other: &Numeric) -> Result<Numeric> {
        if let (Repr::Small { mantissa: a, dscale: sa }, Repr::Small { mantissa: b, dscale: sb }) =
            (&self.0, &other.0)
        {
            return Ok(Numeric::from_scaled(*a as i128 * *b as i128, (sa + sb) as u32));
        }
        match (self.finite(), other.finite()) {
            (Some(a), Some(b)) => interrupt::catching(|| {
                let mut product = a.mul(&b);
                if product.dscale > DSCALE_MAX {
                    product.round(DSCALE_MAX);
                }
                Numeric::from_var(product)
            }),
            _ if self.is_nan() || other.is_nan() => Ok(Numeric::NAN),
            // 0 * inf
            _ => Ok(infinity_of_sign(self.signum() * other.signum())),
        }
    }

    /// `self / other`, with PostgreSQL's choice of scale.
    #[allow(clippy::should_implement_trait)]
    pub fn div(&self, other: &Numeric) -> Result<Numeric> {
        match (self.finite(), other.finite()) {
            (Some(_), Some(b)) if b.is_zero() => Err(division_by_zero()),
            (Some(a), Some(b)) => {
                interrupt::catching(|| Numeric::from_var(a.div(&b, select_div_scale(&a, &b), true)))
            }
            _ => self.div_special(other),
        }
    }

    /// Division where one side at least isn't finite.
    fn div_special(&self, other: &Numeric) -> Result<Numeric> {
        match (&self.0, &other.0) {
            (Repr::NaN, _) | (_, Repr::NaN) => Ok(Numeric::NAN),
            (Repr::PosInf | Repr::NegInf, Repr::PosInf | Repr::NegInf) => Ok(Numeric::NAN),
            (Repr::PosInf | Repr::NegInf, _) if other.is_zero() => Err(division_by_zero()),
            (Repr::PosInf | Repr::NegInf, _) => {
                Ok(infinity_of_sign(self.signum() * other.signum()))
            }
            _ => Ok(Numeric::ZERO),
        }
    }

    /// SQL's `div()`: the quotient truncated toward zero.
    pub fn div_trunc(&self, other: &Numeric) -> Result<Numeric> {
        match (self.finite(), other.finite()) {
            (Some(_), Some(b)) if b.is_zero() => Err(division_by_zero()),
            (Some(a), Some(b)) => interrupt::catching(|| Numeric::from_var(a.div(&b, 0, false))),
            _ => self.div_special(other),
        }
    }

    /// `self % other`: the sign is the dividend's.
    #[allow(clippy::should_implement_trait)]
    pub fn rem(&self, other: &Numeric) -> Result<Numeric> {
        if let Some((a, b, scale)) = aligned(self, other)
            && b != 0
        {
            return Ok(Numeric::from_scaled(a % b, scale));
        }
        match (self.finite(), other.finite()) {
            (Some(_), Some(b)) if b.is_zero() => Err(division_by_zero()),
            (Some(a), Some(b)) => interrupt::catching(|| Numeric::from_var(a.rem(&b))),
            _ if self.is_nan() || other.is_nan() => Ok(Numeric::NAN),
            _ if self.is_infinite() && other.is_zero() => Err(division_by_zero()),
            _ if self.is_infinite() => Ok(Numeric::NAN),
            _ => Ok(self.clone()),
        }
    }

    /// `-self`
    #[allow(clippy::should_implement_trait)]
    pub fn neg(&self) -> Numeric {
        match &self.0 {
            Repr::Small { mantissa, dscale } => {
                Numeric::from_scaled(-(*mantissa as i128), *dscale as u32)
            }
            Repr::Big(v) => Numeric::from_var(v.negated()).unwrap_or_default(),
            Repr::NaN => Numeric::NAN,
            Repr::PosInf => Numeric::NEG_INFINITY,
            Repr::NegInf => Numeric::INFINITY,
        }
    }

    /// `abs(self)`
    pub fn abs(&self) -> Numeric {
        if self.signum() < 0 { self.neg() } else { self.clone() }
    }

    /// `sign(self)`
    pub fn sign(&self) -> Numeric {
        if self.is_nan() { Numeric::NAN } else { Numeric::from(self.signum()) }
    }

    /// `round(self, scale)`: half away from zero, also for a negative scale.
    pub fn round(&self, scale: i32) -> Result<Numeric> {
        let scale = clamp_scale(scale);
        if let Repr::Small { mantissa, dscale } = self.0
            && (0..=dscale as i32).contains(&scale)
        {
            let unit = pow10((dscale as i32 - scale) as u32);
            let half = mantissa.signum() as i128 * (unit / 2);
            return Ok(Numeric::from_scaled((mantissa as i128 + half) / unit, scale as u32));
        }
        self.map_var(|v| v.round(scale))
    }

    /// `trunc(self, scale)`: toward zero, also for a negative scale.
    pub fn trunc(&self, scale: i32) -> Result<Numeric> {
        let scale = clamp_scale(scale);
        if let Repr::Small { mantissa, dscale } = self.0
            && (0..=dscale as i32).contains(&scale)
        {
            let unit = pow10((dscale as i32 - scale) as u32);
            return Ok(Numeric::from_scaled(mantissa as i128 / unit, scale as u32));
        }
        self.map_var(|v| v.trunc(scale))
    }

    fn map_var(&self, change: impl FnOnce(&mut Var)) -> Result<Numeric> {
        match self.finite() {
            None => Ok(self.clone()),
            Some(var) => {
                let mut var = var.into_owned();
                change(&mut var);
                Numeric::from_var(var)
            }
        }
    }

    /// `floor(self)`
    pub fn floor(&self) -> Result<Numeric> {
        self.map_var(|v| *v = v.floor())
    }

    /// `ceil(self)`
    pub fn ceil(&self) -> Result<Numeric> {
        self.map_var(|v| *v = v.ceil())
    }
}

/// Infinity with a sign; 0 gives NaN (0 * inf).
pub(super) fn infinity_of_sign(sign: i32) -> Numeric {
    match sign {
        0 => Numeric::NAN,
        1.. => Numeric::INFINITY,
        _ => Numeric::NEG_INFINITY,
    }
}

/// The scales that round and trunc can give; a scale outside has the effect of the nearest one.
fn clamp_scale(scale: i32) -> i32 {
    scale.clamp(-(WEIGHT_MAX + 1) * 4 - 1, DSCALE_MAX)
}
