//! Accumulators for the aggregates over numeric and the integers.

use super::var::Var;
use super::{Numeric, Repr, SMALL_MAX_DSCALE, pow10};
use crate::error::Result;

/// The state of sum() and avg(). Integers and small numerics are summed in an i128,
/// which is spilled into a digit array when it could overflow.
#[derive(Clone, Debug, Default)]
pub struct NumericSum {
    count: i64,
    /// Sum of the small values, over 10^scale.
    small: i128,
    scale: u32,
    /// Sum of everything spilled or big.
    big: Option<Box<Var>>,
    max_dscale: i32,
    nans: i64,
    pos_infs: i64,
    neg_infs: i64,
}

impl NumericSum {
    /// An empty sum.
    pub fn new() -> NumericSum {
        NumericSum::default()
    }

    /// Adds an integer of any width.
    #[inline]
    pub fn add_i64(&mut self, v: i64) {
        if self.scale == 0
            && let Some(sum) = self.small.checked_add(v as i128)
        {
            self.count += 1;
            self.small = sum;
            return;
        }
        self.add(&Numeric::from(v));
    }

    /// Removes an integer that was added before. Returns false if other values than integers were
    /// added, because only integers can be removed.
    pub fn remove_i64(&mut self, v: i64) -> bool {
        if self.scale != 0 || self.big.is_some() || self.nans + self.pos_infs + self.neg_infs > 0 {
            return false;
        }
        match self.small.checked_sub(v as i128) {
            Some(sum) => {
                self.count -= 1;
                self.small = sum;
                true
            }
            None => false,
        }
    }

    /// Adds a numeric.
    pub fn add(&mut self, v: &Numeric) {
        self.count += 1;
        match &v.0 {
            Repr::Small { mantissa, dscale } => {
                self.add_small(i128::from(*mantissa), *dscale as u32)
            }
            Repr::Big(var) => self.add_var(var),
            Repr::NaN => self.nans += 1,
            Repr::PosInf => self.pos_infs += 1,
            Repr::NegInf => self.neg_infs += 1,
        }
    }

    /// Adds the numeric `mantissa / 10^dscale`; the scale is at most 18.
    #[inline]
    pub fn add_scaled(&mut self, mantissa: i64, dscale: u8) {
        self.count += 1;
        self.add_small(i128::from(mantissa), dscale.into());
    }

    /// Adds `count` numerics of one display scale by the sum of their mantissas.
    pub fn add_scaled_sum(&mut self, count: i64, mantissas: i128, dscale: u8) {
        if count > 0 {
            self.count += count;
            self.add_small(mantissas, dscale.into());
        }
    }

    #[inline]
    fn add_small(&mut self, mantissa: i128, dscale: u32) {
        if dscale == self.scale
            && self.max_dscale >= dscale as i32
            && let Some(sum) = self.small.checked_add(mantissa)
        {
            self.small = sum;
            return;
        }
        self.add_rescaled(mantissa, dscale);
    }

    fn add_rescaled(&mut self, mantissa: i128, dscale: u32) {
        self.max_dscale = self.max_dscale.max(dscale as i32);
        if dscale > self.scale {
            self.spill();
            self.scale = dscale;
        }
        let Some(shifted) = mantissa.checked_mul(pow10(self.scale - dscale)) else {
            return self.add_var(&Var::from_scaled(mantissa, dscale));
        };
        if let Some(sum) = self.small.checked_add(shifted) {
            self.small = sum;
        } else {
            self.spill();
            self.small = shifted;
        }
    }

    fn add_var(&mut self, v: &Var) {
        self.max_dscale = self.max_dscale.max(v.dscale);
        let sum = match self.big.take() {
            Some(sum) => sum.add(v),
            None => v.clone(),
        };
        self.big = Some(Box::new(sum));
    }

    fn spill(&mut self) {
        if self.small != 0 {
            let v = Var::from_scaled(self.small, self.scale);
            self.small = 0;
            self.add_var(&v);
        }
    }

    /// Adds `count` values by their sum.
    pub fn add_sum(&mut self, count: i64, sum: &Numeric) {
        self.add(sum);
        self.count += count - 1;
    }

    /// Merges another partial sum.
    pub fn merge(&mut self, other: &NumericSum) {
        self.spill();
        self.add_var(&other.finite_sum());
        self.scale = self.scale.max(other.scale).min(SMALL_MAX_DSCALE as u32);
        self.count += other.count;
        self.nans += other.nans;
        self.pos_infs += other.pos_infs;
        self.neg_infs += other.neg_infs;
    }

    /// How many values were added.
    pub fn count(&self) -> i64 {
        self.count
    }

    /// The exact integer sum, if no numeric with a fraction was added and it fits.
    pub fn integer_sum(&self) -> Option<i128> {
        (self.scale == 0 && self.big.is_none()).then_some(self.small)
    }

    fn finite_sum(&self) -> Var {
        let mut sum = Var::from_scaled(self.small, self.scale);
        if let Some(big) = &self.big {
            sum = sum.add(big);
        }
        sum.dscale = self.max_dscale;
        sum
    }

    /// NaN or an infinity, if the values added force one.
    fn special(&self) -> Option<Numeric> {
        match (self.nans, self.pos_infs, self.neg_infs) {
            (0, 0, 0) => None,
            (0, _, 0) => Some(Numeric::INFINITY),
            (0, 0, _) => Some(Numeric::NEG_INFINITY),
            _ => Some(Numeric::NAN),
        }
    }

    /// The sum; None (SQL NULL) if nothing was added.
    pub fn sum(&self) -> Result<Option<Numeric>> {
        if self.count == 0 {
            return Ok(None);
        }
        match self.special() {
            Some(special) => Ok(Some(special)),
            None => Numeric::from_var(self.finite_sum()).map(Some),
        }
    }

    /// The average; None (SQL NULL) if nothing was added.
    pub fn avg(&self) -> Result<Option<Numeric>> {
        match self.sum()? {
            None => Ok(None),
            Some(sum) => sum.div(&Numeric::from(self.count)).map(Some),
        }
    }
}

/// The state of variance(), stddev() and their population forms.
#[derive(Clone, Debug, Default)]
pub struct NumericVariance {
    sum: NumericSum,
    squares: NumericSum,
}

impl NumericVariance {
    /// An empty state.
    pub fn new() -> NumericVariance {
        NumericVariance::default()
    }

    /// Adds a value.
    pub fn add(&mut self, v: &Numeric) -> Result<()> {
        self.sum.add(v);
        match &v.0 {
            // A sum of squares may leave the type's range: only the result must be within it.
            Repr::Big(var) => {
                self.squares.count += 1;
                self.squares.add_var(&var.mul(var));
            }
            _ => self.squares.add(&v.mul(v)?),
        }
        Ok(())
    }

    /// Merges another partial state.
    pub fn merge(&mut self, other: &NumericVariance) {
        self.sum.merge(&other.sum);
        self.squares.merge(&other.squares);
    }

    /// How many values, their sum, and the sum of their squares; `None` without values.
    pub fn parts(&self) -> Result<Option<(i64, Numeric, Numeric)>> {
        let (sum, squares) = (self.sum.sum()?, self.squares.sum()?);
        Ok(sum.zip(squares).map(|(sum, squares)| (self.sum.count, sum, squares)))
    }

    /// Adds `count` values by their [`Self::parts`].
    pub fn add_parts(&mut self, count: i64, sum: &Numeric, squares: &Numeric) {
        self.sum.add_sum(count, sum);
        self.squares.add_sum(count, squares);
    }

    /// The variance: of a sample (None for fewer than two values) or of the whole
    /// population (None for no value) (numeric_stddev_internal).
    pub fn variance(&self, sample: bool) -> Result<Option<Numeric>> {
        self.finish(sample, false)
    }

    /// The standard deviation; None as for [`NumericVariance::variance`].
    pub fn stddev(&self, sample: bool) -> Result<Option<Numeric>> {
        self.finish(sample, true)
    }

    fn finish(&self, sample: bool, root: bool) -> Result<Option<Numeric>> {
        let n = self.sum.count;
        if n < 1 || (sample && n < 2) {
            return Ok(None);
        }
        if self.sum.special().is_some() {
            return Ok(Some(Numeric::NAN));
        }
        let count = Var::from_i64(n);
        let sum = self.sum.finite_sum();
        let rscale = sum.dscale * 2;
        let squared = sum.mul_round(&sum, rscale);
        let scaled = count.mul_round(&self.squares.finite_sum(), rscale);
        let numerator = scaled.sub(&squared);
        if numerator.neg || numerator.is_zero() {
            return Ok(Some(Numeric::ZERO));
        }
        let divisor = count.mul(&if sample { Var::from_i64(n - 1) } else { count.clone() });
        let rscale = super::ops::select_div_scale(&numerator, &divisor);
        let mut result = numerator.div(&divisor, rscale, true);
        if root {
            result = super::math::sqrt_var(&result, rscale);
        }
        Numeric::from_var(result).map(Some)
    }
}
