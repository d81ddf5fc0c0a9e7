//! Moments of floats by Youngs and Cramer's updating formulas, as PostgreSQL
//! computes them (float8_accum and float8_regr_accum in float.c), so that results
//! agree to the last bit.

use steppe_types::{Error, Result, SqlState};

#[cold]
pub(super) fn overflow() -> Error {
    Error::new(SqlState::NUMERIC_VALUE_OUT_OF_RANGE, "value out of range: overflow")
}

/// The sum of two floats; 22003 if it is infinite and they are not.
#[inline]
pub(super) fn checked_sum(a: f64, b: f64) -> Result<f64> {
    check_sum(a, b, a + b)
}

/// `sum`, which is the sum of `a` and `b`, unless it has overflowed.
#[inline]
pub(super) fn check_sum(a: f64, b: f64, sum: f64) -> Result<f64> {
    match sum.is_infinite() && !a.is_infinite() && !b.is_infinite() {
        true => Err(overflow()),
        false => Ok(sum),
    }
}

/// The results over one variable's moments.
#[derive(Clone, Copy, Debug)]
pub(crate) enum MomentsResult {
    Mean,
    Variance { sample: bool },
    Deviation { sample: bool },
}

impl MomentsResult {
    pub(super) fn spread(sample: bool, root: bool) -> MomentsResult {
        if root { MomentsResult::Deviation { sample } } else { MomentsResult::Variance { sample } }
    }
}

/// Count, sum, and sum of squared differences from the mean.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Moments {
    n: f64,
    sx: f64,
    sxx: f64,
}

impl Moments {
    pub(super) fn add(&mut self, value: f64) -> Result<()> {
        let before = *self;
        self.n += 1.0;
        self.sx += value;
        if before.n > 0.0 {
            let difference = value * self.n - self.sx;
            self.sxx += difference * difference / (self.n * before.n);
            if self.sx.is_infinite() || self.sxx.is_infinite() {
                if !before.sx.is_infinite() && !value.is_infinite() {
                    return Err(overflow());
                }
                self.sxx = f64::NAN;
            }
        } else if !value.is_finite() {
            self.sxx = f64::NAN;
        }
        Ok(())
    }

    /// The number of values, their sum, and the sum of their squared deviations.
    pub(super) fn parts(&self) -> [f64; 3] {
        [self.n, self.sx, self.sxx]
    }

    /// Adds values by their parts (float8_combine).
    pub(super) fn combine(&mut self, [n, sx, sxx]: [f64; 3]) -> Result<()> {
        if n == 0.0 {
            return Ok(());
        }
        if self.n == 0.0 {
            *self = Moments { n, sx, sxx };
            return Ok(());
        }
        let before = *self;
        self.n += n;
        self.sx += sx;
        let difference = before.sx / before.n - sx / n;
        self.sxx += sxx + before.n * n * difference * difference / self.n;
        let overflows = |result: f64, a: f64, b: f64| {
            result.is_infinite() && !a.is_infinite() && !b.is_infinite()
        };
        match overflows(self.sx, before.sx, sx) || overflows(self.sxx, before.sxx, sxx) {
            true => Err(overflow()),
            false => Ok(()),
        }
    }

    pub(super) fn result(&self, result: MomentsResult) -> Option<f64> {
        let variance = |sample: bool| {
            let least = if sample { 2.0 } else { 1.0 };
            (self.n >= least).then(|| self.sxx / (if sample { self.n - 1.0 } else { self.n }))
        };
        match result {
            MomentsResult::Mean => (self.n > 0.0).then(|| self.sx / self.n),
            MomentsResult::Variance { sample } => variance(sample),
            MomentsResult::Deviation { sample } => variance(sample).map(f64::sqrt),
        }
    }
}

/// The aggregates over pairs (Y, X).
#[derive(Clone, Copy, Debug)]
pub(crate) enum PairsResult {
    Count,
    Corr,
    CovarPop,
    CovarSamp,
    Sxx,
    Syy,
    Sxy,
    AvgX,
    AvgY,
    R2,
    Slope,
    Intercept,
}

impl PairsResult {
    pub(super) fn named(name: &str) -> Option<PairsResult> {
        Some(match name {
            "corr" => PairsResult::Corr,
            "covar_pop" => PairsResult::CovarPop,
            "covar_samp" => PairsResult::CovarSamp,
            "regr_count" => PairsResult::Count,
            "regr_sxx" => PairsResult::Sxx,
            "regr_syy" => PairsResult::Syy,
            "regr_sxy" => PairsResult::Sxy,
            "regr_avgx" => PairsResult::AvgX,
            "regr_avgy" => PairsResult::AvgY,
            "regr_r2" => PairsResult::R2,
            "regr_slope" => PairsResult::Slope,
            "regr_intercept" => PairsResult::Intercept,
            _ => return None,
        })
    }
}

/// Moments of two variables.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Pairs {
    n: f64,
    sx: f64,
    sxx: f64,
    sy: f64,
    syy: f64,
    sxy: f64,
}

impl Pairs {
    pub(super) fn add(&mut self, y: f64, x: f64) -> Result<()> {
        let before = *self;
        self.n += 1.0;
        self.sx += x;
        self.sy += y;
        if before.n > 0.0 {
            let dx = x * self.n - self.sx;
            let dy = y * self.n - self.sy;
            let scale = 1.0 / (self.n * before.n);
            self.sxx += dx * dx * scale;
            self.syy += dy * dy * scale;
            self.sxy += dx * dy * scale;
            self.check(&before, y, x)?;
            return Ok(());
        }
        if !x.is_finite() {
            (self.sxx, self.sxy) = (f64::NAN, f64::NAN);
        }
        if !y.is_finite() {
            (self.syy, self.sxy) = (f64::NAN, f64::NAN);
        }
        Ok(())
    }

    /// An infinity among the values makes the sums NaN. A sum that becomes infinite without one is
    /// an overflow.
    fn check(&mut self, before: &Pairs, y: f64, x: f64) -> Result<()> {
        let sums = [self.sx, self.sxx, self.sy, self.syy, self.sxy];
        if !sums.iter().any(|s| s.is_infinite()) {
            return Ok(());
        }
        let known_x = before.sx.is_infinite() || x.is_infinite();
        let known_y = before.sy.is_infinite() || y.is_infinite();
        let x_overflows = (self.sx.is_infinite() || self.sxx.is_infinite()) && !known_x;
        let y_overflows = (self.sy.is_infinite() || self.syy.is_infinite()) && !known_y;
        if x_overflows || y_overflows || (self.sxy.is_infinite() && !known_x && !known_y) {
            return Err(overflow());
        }
        for sum in [&mut self.sxx, &mut self.syy, &mut self.sxy] {
            if sum.is_infinite() {
                *sum = f64::NAN;
            }
        }
        Ok(())
    }

    /// The number of pairs, and the sums: of x, of its squared deviations, of y, of its squared
    /// deviations, of the products of both deviations.
    pub(super) fn parts(&self) -> [f64; 6] {
        [self.n, self.sx, self.sxx, self.sy, self.syy, self.sxy]
    }

    /// Adds pairs by their parts (float8_regr_combine).
    pub(super) fn combine(&mut self, [n, sx, sxx, sy, syy, sxy]: [f64; 6]) -> Result<()> {
        if n == 0.0 {
            return Ok(());
        }
        if self.n == 0.0 {
            *self = Pairs { n, sx, sxx, sy, syy, sxy };
            return Ok(());
        }
        let before = *self;
        let total = before.n + n;
        let (dx, dy) = (before.sx / before.n - sx / n, before.sy / before.n - sy / n);
        *self = Pairs {
            n: total,
            sx: before.sx + sx,
            sxx: before.sxx + sxx + before.n * n * dx * dx / total,
            sy: before.sy + sy,
            syy: before.syy + syy + before.n * n * dy * dy / total,
            sxy: before.sxy + sxy + before.n * n * dx * dy / total,
        };
        let is_new = |result: f64, a: f64, b: f64| {
            result.is_infinite() && !a.is_infinite() && !b.is_infinite()
        };
        let overflows = is_new(self.sx, before.sx, sx)
            || is_new(self.sxx, before.sxx, sxx)
            || is_new(self.sy, before.sy, sy)
            || is_new(self.syy, before.syy, syy)
            || is_new(self.sxy, before.sxy, sxy);
        if overflows { Err(overflow()) } else { Ok(()) }
    }

    /// Counts a pair without its values.
    pub(super) fn count_pair(&mut self) {
        self.n += 1.0;
    }

    /// Counts several pairs without their values.
    pub(super) fn count_pairs(&mut self, pairs: i64) {
        self.n += pairs as f64;
    }

    pub(super) fn count(&self) -> i64 {
        self.n as i64
    }

    pub(super) fn result(&self, result: PairsResult) -> Option<f64> {
        let least = if matches!(result, PairsResult::CovarSamp) { 2.0 } else { 1.0 };
        if self.n < least {
            return None;
        }
        match result {
            PairsResult::Count => Some(self.n),
            PairsResult::Sxx => Some(self.sxx),
            PairsResult::Syy => Some(self.syy),
            PairsResult::Sxy => Some(self.sxy),
            PairsResult::AvgX => Some(self.sx / self.n),
            PairsResult::AvgY => Some(self.sy / self.n),
            PairsResult::CovarPop => Some(self.sxy / self.n),
            PairsResult::CovarSamp => Some(self.sxy / (self.n - 1.0)),
            PairsResult::Corr => (self.sxx != 0.0 && self.syy != 0.0)
                .then(|| self.sxy / (self.sxx * self.syy).sqrt()),
            PairsResult::R2 if self.sxx == 0.0 => None,
            PairsResult::R2 if self.syy == 0.0 => Some(1.0),
            PairsResult::R2 => Some((self.sxy * self.sxy) / (self.sxx * self.syy)),
            PairsResult::Slope => (self.sxx != 0.0).then(|| self.sxy / self.sxx),
            PairsResult::Intercept => {
                (self.sxx != 0.0).then(|| (self.sy - self.sx * self.sxy / self.sxx) / self.n)
            }
        }
    }
}
