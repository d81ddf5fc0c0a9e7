//! numeric: arbitrary precision decimal, PostgreSQL's to the digit
//! (src/backend/utils/adt/numeric.c).
//!
//! A value is a decimal number together with its *display scale*, the number of
//! digits shown after the point: `1.5` and `1.50` are equal but not the same.
//! Besides there are NaN and the two infinities.
//!
//! ```text
//!   Numeric (16 bytes)
//!   ├─ Small { mantissa: i64, dscale: u8 }   mantissa / 10^dscale, dscale <= 18
//!   ├─ Big(Arc<Var>)                         sign, weight, dscale, base-10000 digits
//!   └─ NaN | Infinity | -Infinity
//! ```
//!
//! The representation is canonical: a number is `Small` exactly if it fits at its
//! own display scale. Most values in a database are small, so addition, comparison
//! and the like begin with an integer fast path that never allocates; everything
//! else runs PostgreSQL's digit-array algorithms on [`var::Var`].
//!
//! | file | subject |
//! |---|---|
//! | `var` | digit arrays: add, subtract, multiply, divide, round |
//! | `text` | input and output as text, typmod |
//! | `ops` | the SQL operators and rounding functions |
//! | `math` | sqrt, exp, ln, log, power |
//! | `func` | gcd, lcm, factorial, width_bucket, scale … |
//! | `convert` | to and from integers and floats |
//! | `codec` | wire, stored and order-preserving binary forms |
//! | `aggregate` | accumulators for sum, avg, variance |

mod aggregate;
mod codec;
mod convert;
mod func;
mod math;
mod ops;
#[cfg(test)]
mod tests;
mod text;
mod var;

pub use aggregate::{NumericSum, NumericVariance};
pub(crate) use text::packed_typmod;
pub use text::{numeric_typmod, typmod_precision_scale};

use crate::error::{Error, Result, SqlState};
use std::borrow::Cow;
use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;
use var::Var;

/// The largest display scale of a small value: 10^18 still fits an i64.
const SMALL_MAX_DSCALE: u8 = 18;
/// Largest weight of the first base-10000 digit (NUMERIC_WEIGHT_MAX).
const WEIGHT_MAX: i32 = 32767;
/// Largest display scale of a stored value (NUMERIC_DSCALE_MAX).
const DSCALE_MAX: i32 = 16383;
/// Largest declared precision (NUMERIC_MAX_PRECISION).
const MAX_PRECISION: i32 = 1000;
/// Largest display scale that functions choose by themselves.
const MAX_DISPLAY_SCALE: i32 = 1000;
/// Significant digits that inexact functions aim for.
const MIN_SIG_DIGITS: i32 = 16;

/// An arbitrary-precision decimal. Cloning is cheap.
///
/// Equality, ordering and hashing follow PostgreSQL's operators: by value, not by
/// display scale, with NaN equal to itself and greater than everything.
#[derive(Clone)]
pub struct Numeric(Repr);

#[derive(Clone)]
enum Repr {
    Small { mantissa: i64, dscale: u8 },
    Big(Arc<Var>),
    NaN,
    PosInf,
    NegInf,
}

/// A value opened for the digit-array algorithms.
enum Opened<'a> {
    Finite(Cow<'a, Var>),
    /// NaN or an infinity.
    Special,
}

/// 10^n as an i128; the callers keep n <= 38.
#[inline]
fn pow10(n: u32) -> i128 {
    10i128.pow(n)
}

impl Numeric {
    /// Zero with display scale 0.
    pub const ZERO: Numeric = Numeric(Repr::Small { mantissa: 0, dscale: 0 });
    /// One with display scale 0.
    pub const ONE: Numeric = Numeric(Repr::Small { mantissa: 1, dscale: 0 });
    /// The value NaN.
    pub const NAN: Numeric = Numeric(Repr::NaN);
    /// Positive infinity.
    pub const INFINITY: Numeric = Numeric(Repr::PosInf);
    /// Negative infinity.
    pub const NEG_INFINITY: Numeric = Numeric(Repr::NegInf);

    /// Whether this is NaN.
    #[inline]
    pub fn is_nan(&self) -> bool {
        matches!(self.0, Repr::NaN)
    }

    /// Whether this is one of the infinities.
    #[inline]
    pub fn is_infinite(&self) -> bool {
        matches!(self.0, Repr::PosInf | Repr::NegInf)
    }

    /// Whether this is neither NaN nor infinite.
    #[inline]
    pub fn is_finite(&self) -> bool {
        matches!(self.0, Repr::Small { .. } | Repr::Big(_))
    }

    /// Whether this is zero.
    #[inline]
    pub fn is_zero(&self) -> bool {
        match &self.0 {
            Repr::Small { mantissa, .. } => *mantissa == 0,
            Repr::Big(v) => v.is_zero(),
            _ => false,
        }
    }

    /// -1, 0 or 1. NaN counts as 1; callers handle it before.
    pub fn signum(&self) -> i32 {
        match &self.0 {
            Repr::Small { mantissa, .. } => mantissa.signum() as i32,
            Repr::Big(v) if v.is_zero() => 0,
            Repr::Big(v) if v.neg => -1,
            Repr::NegInf => -1,
            _ => 1,
        }
    }

    /// `mantissa / 10^dscale`.
    fn from_scaled(mantissa: i128, dscale: u32) -> Numeric {
        match i64::try_from(mantissa) {
            Ok(mantissa) if dscale <= SMALL_MAX_DSCALE as u32 => {
                Numeric(Repr::Small { mantissa, dscale: dscale as u8 })
            }
            _ => Numeric(Repr::Big(Arc::new(Var::from_scaled(mantissa, dscale)))),
        }
    }

    /// `mantissa / 10^dscale`, shown with that many digits; at most 18.
    #[inline]
    pub fn from_small(mantissa: i64, dscale: u8) -> Numeric {
        debug_assert!(dscale <= SMALL_MAX_DSCALE);
        Numeric(Repr::Small { mantissa, dscale })
    }

    /// Mantissa and display scale of a small value.
    #[inline]
    pub fn as_small(&self) -> Option<(i64, u8)> {
        match self.0 {
            Repr::Small { mantissa, dscale } => Some((mantissa, dscale)),
            _ => None,
        }
    }

    /// A finite value, checked against the format's limits (make_result).
    fn from_var(mut var: Var) -> Result<Numeric> {
        var.strip();
        if var.weight > WEIGHT_MAX || var.dscale > DSCALE_MAX {
            return Err(overflow());
        }
        var.dscale = var.dscale.max(0);
        Ok(match var.to_small() {
            Some((mantissa, dscale)) => Numeric(Repr::Small { mantissa, dscale }),
            None => Numeric(Repr::Big(Arc::new(var))),
        })
    }

    /// Opens the value for the digit-array algorithms.
    fn open(&self) -> Opened<'_> {
        match &self.0 {
            Repr::Small { mantissa, dscale } => {
                Opened::Finite(Cow::Owned(Var::from_scaled(*mantissa as i128, *dscale as u32)))
            }
            Repr::Big(v) => Opened::Finite(Cow::Borrowed(v)),
            _ => Opened::Special,
        }
    }

    /// The digit array of a finite value; None for NaN and the infinities.
    fn finite(&self) -> Option<Cow<'_, Var>> {
        match self.open() {
            Opened::Finite(v) => Some(v),
            Opened::Special => None,
        }
    }

    /// Rank among the classes of values: -inf < finite < inf < NaN.
    fn class_rank(&self) -> u8 {
        match self.0 {
            Repr::NegInf => 0,
            Repr::Small { .. } | Repr::Big(_) => 1,
            Repr::PosInf => 2,
            Repr::NaN => 3,
        }
    }

    /// The digits shown after the decimal point; None for NaN and infinities
    /// (SQL's `scale()`).
    pub fn scale(&self) -> Option<i32> {
        match &self.0 {
            Repr::Small { dscale, .. } => Some(*dscale as i32),
            Repr::Big(v) => Some(v.dscale),
            _ => None,
        }
    }

    /// The size of the value's stored form, roughly: for memory accounting.
    pub fn heap_size(&self) -> usize {
        match &self.0 {
            Repr::Big(v) => std::mem::size_of::<Var>() + 2 * v.digits.len() + 16,
            _ => 0,
        }
    }
}

/// 22003: the result doesn't fit the format.
#[cold]
fn overflow() -> Error {
    Error::new(SqlState::NUMERIC_VALUE_OUT_OF_RANGE, "value overflows numeric format")
}

/// 22012.
#[cold]
fn division_by_zero() -> Error {
    Error::new(SqlState::DIVISION_BY_ZERO, "division by zero")
}

impl Default for Numeric {
    fn default() -> Numeric {
        Numeric::ZERO
    }
}

impl Ord for Numeric {
    fn cmp(&self, other: &Numeric) -> Ordering {
        match (&self.0, &other.0) {
            (Repr::Small { mantissa: a, dscale: sa }, Repr::Small { mantissa: b, dscale: sb }) => {
                if sa == sb {
                    return a.cmp(b);
                }
                // 2^63 * 10^18 < 2^127, so neither side can overflow.
                let common = *sa.max(sb);
                let a = *a as i128 * pow10((common - sa) as u32);
                let b = *b as i128 * pow10((common - sb) as u32);
                a.cmp(&b)
            }
            _ => match (self.finite(), other.finite()) {
                (Some(a), Some(b)) => a.cmp_value(&b),
                _ => self.class_rank().cmp(&other.class_rank()),
            },
        }
    }
}

impl PartialOrd for Numeric {
    fn partial_cmp(&self, other: &Numeric) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Numeric {
    fn eq(&self, other: &Numeric) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Numeric {}

impl Hash for Numeric {
    /// Equal values hash equally for any display scale: the hash is that of the value at its
    /// smallest scale, which is canonical.
    fn hash<H: Hasher>(&self, state: &mut H) {
        match &self.0 {
            Repr::Small { mantissa, dscale } => {
                let (mut m, mut s) = (*mantissa, *dscale);
                while s > 0 && m % 10 == 0 {
                    m /= 10;
                    s -= 1;
                }
                state.write_i64(m);
                state.write_u8(s);
            }
            Repr::Big(v) => match v.with_min_scale().to_small() {
                Some((m, s)) => {
                    state.write_i64(m);
                    state.write_u8(s);
                }
                None => {
                    state.write_u8(v.neg as u8);
                    state.write_i32(v.weight);
                    v.digits.hash(state);
                }
            },
            _ => state.write_u8(self.class_rank()),
        }
    }
}

impl fmt::Display for Numeric {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut out = Vec::with_capacity(24);
        self.write_text(&mut out);
        f.write_str(std::str::from_utf8(&out).map_err(|_| fmt::Error)?)
    }
}

impl fmt::Debug for Numeric {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl std::str::FromStr for Numeric {
    type Err = Error;
    fn from_str(s: &str) -> Result<Numeric> {
        Numeric::parse(s)
    }
}
