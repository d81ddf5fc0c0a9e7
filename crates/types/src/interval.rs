//! The interval value: separate months, days and microseconds, as in PostgreSQL
//! (src/backend/utils/adt/timestamp.c).
//!
//! Comparison counts a month as 30 days and a day as 24 hours, so that different
//! intervals can be equal: `1 mon` = `30 days`.
//!
//! The infinities are the values all of whose fields are extreme, so that they also compare as
//! such. A finite computation never results in an infinity: it is out of range instead. An infinity
//! absorbs what is added to it; infinities of opposite signs have no sum.

use crate::datetime::calendar::{USECS_PER_DAY, USECS_PER_HOUR, USECS_PER_MINUTE};
use crate::datetime::token::Unit;
use crate::error::{Error, Result, SqlState};
use std::cmp::Ordering;

/// Days in a month where one is needed.
const DAYS_PER_MONTH: i64 = 30;

/// An interval: separate months, days and microseconds, as in PostgreSQL. `==` compares the fields;
/// SQL's comparison is [`Interval::compare`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Interval {
    /// Months (years are 12 of them).
    pub months: i32,
    /// Days.
    pub days: i32,
    /// Microseconds.
    pub micros: i64,
}

/// Which fields an interval type has: `interval year to month` and the like, the high
/// half of its type modifier. Bits are PostgreSQL's (INTERVAL_MASK).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IntervalFields(pub u16);

impl IntervalFields {
    /// All fields, without restriction.
    pub const ALL: IntervalFields = IntervalFields(0x7FFF);
    /// YEAR
    pub const YEAR: IntervalFields = IntervalFields(1 << 2);
    /// MONTH
    pub const MONTH: IntervalFields = IntervalFields(1 << 1);
    /// DAY
    pub const DAY: IntervalFields = IntervalFields(1 << 3);
    /// HOUR
    pub const HOUR: IntervalFields = IntervalFields(1 << 10);
    /// MINUTE
    pub const MINUTE: IntervalFields = IntervalFields(1 << 11);
    /// SECOND
    pub const SECOND: IntervalFields = IntervalFields(1 << 12);

    /// The union: `DAY.to(HOUR)` needs all fields between, given one by one.
    pub const fn with(self, other: IntervalFields) -> IntervalFields {
        IntervalFields(self.0 | other.0)
    }

    fn has(self, field: IntervalFields) -> bool {
        self.0 & field.0 != 0
    }

    /// The smallest unit, which a number without a unit has.
    pub(crate) fn last_unit(self) -> Option<Unit> {
        if self == IntervalFields::ALL || self.has(IntervalFields::SECOND) {
            return None;
        }
        [
            (IntervalFields::MINUTE, Unit::Minute),
            (IntervalFields::HOUR, Unit::Hour),
            (IntervalFields::DAY, Unit::Day),
            (IntervalFields::MONTH, Unit::Month),
            (IntervalFields::YEAR, Unit::Year),
        ]
        .into_iter()
        .find(|(field, _)| self.has(*field))
        .map(|(_, unit)| unit)
    }

    pub(crate) fn is_minute_to_second(self) -> bool {
        self == IntervalFields::MINUTE.with(IntervalFields::SECOND)
    }
}

/// 22008: out of range.
#[cold]
pub(crate) fn out_of_range() -> Error {
    Error::new(SqlState::DATETIME_FIELD_OVERFLOW, "interval out of range")
}

impl Interval {
    /// An interval of its fields.
    pub const fn new(months: i32, days: i32, micros: i64) -> Interval {
        Interval { months, days, micros }
    }

    /// infinity
    pub const INFINITY: Interval = Interval::new(i32::MAX, i32::MAX, i64::MAX);
    /// -infinity
    pub const NEG_INFINITY: Interval = Interval::new(i32::MIN, i32::MIN, i64::MIN);

    /// Whether this is one of the infinities.
    pub fn is_infinite(&self) -> bool {
        self.infinity().is_some()
    }

    /// Whether an infinity is the positive one; None for finite intervals.
    pub fn infinity(&self) -> Option<bool> {
        match *self {
            Interval::INFINITY => Some(true),
            Interval::NEG_INFINITY => Some(false),
            _ => None,
        }
    }

    /// The infinity of a sign.
    pub fn infinite(positive: bool) -> Interval {
        if positive { Interval::INFINITY } else { Interval::NEG_INFINITY }
    }

    /// The result of a finite computation, None being an overflow.
    fn finite(result: Option<Interval>) -> Result<Interval> {
        result.filter(|v| !v.is_infinite()).ok_or_else(out_of_range)
    }

    /// The length in microseconds with 30-day months, for comparison and hashing.
    pub fn linear(&self) -> i128 {
        let days = self.months as i64 * DAYS_PER_MONTH + self.days as i64;
        days as i128 * USECS_PER_DAY as i128 + self.micros as i128
    }

    /// SQL's comparison.
    pub fn compare(&self, other: &Interval) -> Ordering {
        self.linear().cmp(&other.linear())
    }

    /// Applies an interval type modifier: drops the fields that the type lacks and
    /// rounds to its precision (AdjustIntervalForTypmod).
    pub fn apply_typmod(mut self, typmod: i32) -> Result<Interval> {
        if typmod < 0 || self.is_infinite() {
            return Ok(self);
        }
        let fields = IntervalFields((typmod >> 16 & 0x7FFF) as u16);
        let precision = typmod & 0xFFFF;
        let cut = |micros: i64, unit: i64| micros / unit * unit;
        match fields.last_unit() {
            None => {}
            Some(Unit::Year) => self = Interval::new(self.months / 12 * 12, 0, 0),
            Some(Unit::Month) => self = Interval::new(self.months, 0, 0),
            Some(Unit::Day) => self.micros = 0,
            Some(Unit::Hour) => self.micros = cut(self.micros, USECS_PER_HOUR),
            Some(_) => self.micros = cut(self.micros, USECS_PER_MINUTE),
        }
        if precision != 0xFFFF {
            self.micros = round_micros(self.micros, precision).ok_or_else(out_of_range)?;
        }
        Ok(self)
    }

    /// `-self`
    pub fn checked_neg(&self) -> Result<Interval> {
        if let Some(positive) = self.infinity() {
            return Ok(Interval::infinite(!positive));
        }
        let neg = || {
            Some(Interval::new(
                self.months.checked_neg()?,
                self.days.checked_neg()?,
                self.micros.checked_neg()?,
            ))
        };
        Interval::finite(neg())
    }

    /// `self + other`
    pub fn checked_add(&self, other: &Interval) -> Result<Interval> {
        if let Some(infinity) = infinite_sum(self.infinity(), other.infinity())? {
            return Ok(infinity);
        }
        let sum = || {
            Some(Interval::new(
                self.months.checked_add(other.months)?,
                self.days.checked_add(other.days)?,
                self.micros.checked_add(other.micros)?,
            ))
        };
        Interval::finite(sum())
    }

    /// `self - other`
    pub fn checked_sub(&self, other: &Interval) -> Result<Interval> {
        if let Some(infinity) = infinite_sum(self.infinity(), other.infinity().map(|up| !up))? {
            return Ok(infinity);
        }
        let difference = || {
            Some(Interval::new(
                self.months.checked_sub(other.months)?,
                self.days.checked_sub(other.days)?,
                self.micros.checked_sub(other.micros)?,
            ))
        };
        Interval::finite(difference())
    }

    /// `self * factor`: fractions spill into the smaller fields (interval_mul).
    pub fn mul(&self, factor: f64) -> Result<Interval> {
        if !factor.is_nan() && (self.is_infinite() || factor.is_infinite()) {
            let sign = self.linear().signum() as f64 * factor;
            return match sign {
                0.0 => Err(out_of_range()),
                sign if sign.is_nan() => Err(out_of_range()),
                sign => Ok(Interval::infinite(sign > 0.0)),
            };
        }
        self.scale(|v| v * factor)
    }

    /// `self / divisor` (interval_div).
    pub fn div(&self, divisor: f64) -> Result<Interval> {
        if divisor == 0.0 {
            return Err(Error::new(SqlState::DIVISION_BY_ZERO, "division by zero"));
        }
        match self.infinity() {
            Some(_) if !divisor.is_finite() => Err(out_of_range()),
            Some(positive) => Ok(Interval::infinite(positive == (divisor > 0.0))),
            None => self.scale(|v| v / divisor),
        }
    }

    fn scale(&self, apply: impl Fn(f64) -> f64) -> Result<Interval> {
        let whole = |v: f64| {
            let fits = !v.is_nan() && v >= i32::MIN as f64 && v <= i32::MAX as f64;
            if fits { Ok(v as i32) } else { Err(out_of_range()) }
        };
        let months_exact = apply(self.months as f64);
        let days_exact = apply(self.days as f64);
        let months = whole(months_exact)?;
        let mut days = whole(days_exact)?;
        // Rounding at the sixth decimal keeps 1 month * 0.1 from becoming 2.99999 days.
        let month_days = ts_round((months_exact - months as f64) * DAYS_PER_MONTH as f64);
        let mut seconds = (days_exact - days as f64 + month_days - month_days.trunc()) * 86_400.0;
        seconds = ts_round(seconds);
        if seconds.abs() >= 86_400.0 {
            days = days.checked_add((seconds / 86_400.0) as i32).ok_or_else(out_of_range)?;
            seconds -= (seconds / 86_400.0).trunc() * 86_400.0;
        }
        let days = days.checked_add(month_days as i32).ok_or_else(out_of_range)?;
        let micros = (apply(self.micros as f64) + seconds * 1e6).round_ties_even();
        if micros.is_nan() || micros < i64::MIN as f64 || micros >= i64::MAX as f64 {
            return Err(out_of_range());
        }
        Interval::finite(Some(Interval::new(months, days, micros as i64)))
    }

    /// justify_hours: whole days out of the time.
    pub fn justify_hours(&self) -> Result<Interval> {
        if self.is_infinite() {
            return Ok(*self);
        }
        let carry = (self.micros / USECS_PER_DAY) as i32;
        let mut micros = self.micros % USECS_PER_DAY;
        let mut days = self.days.checked_add(carry).ok_or_else(out_of_range)?;
        if days > 0 && micros < 0 {
            micros += USECS_PER_DAY;
            days -= 1;
        } else if days < 0 && micros > 0 {
            micros -= USECS_PER_DAY;
            days += 1;
        }
        Ok(Interval::new(self.months, days, micros))
    }

    /// justify_days: whole months out of the days.
    pub fn justify_days(&self) -> Result<Interval> {
        if self.is_infinite() {
            return Ok(*self);
        }
        let per_month = DAYS_PER_MONTH as i32;
        let mut days = self.days % per_month;
        let carry = self.days / per_month;
        let mut months = self.months.checked_add(carry).ok_or_else(out_of_range)?;
        if months > 0 && days < 0 {
            days += per_month;
            months -= 1;
        } else if months < 0 && days > 0 {
            days -= per_month;
            months += 1;
        }
        Ok(Interval::new(months, days, self.micros))
    }

    /// justify_interval: both, and all fields of one sign.
    pub fn justify(&self) -> Result<Interval> {
        if self.is_infinite() {
            return Ok(*self);
        }
        let per_month = DAYS_PER_MONTH as i32;
        let mut v = *self;
        // Days out first if they have the time's sign, lest the sum overflow.
        if (v.days > 0 && v.micros > 0) || (v.days < 0 && v.micros < 0) {
            v.months = v.months.checked_add(v.days / per_month).ok_or_else(out_of_range)?;
            v.days %= per_month;
        }
        v.days = v.days.checked_add((v.micros / USECS_PER_DAY) as i32).ok_or_else(out_of_range)?;
        v.micros %= USECS_PER_DAY;
        v.months = v.months.checked_add(v.days / per_month).ok_or_else(out_of_range)?;
        v.days %= per_month;
        if v.months > 0 && (v.days < 0 || (v.days == 0 && v.micros < 0)) {
            v.days += per_month;
            v.months -= 1;
        } else if v.months < 0 && (v.days > 0 || (v.days == 0 && v.micros > 0)) {
            v.days -= per_month;
            v.months += 1;
        }
        if v.days > 0 && v.micros < 0 {
            v.micros += USECS_PER_DAY;
            v.days -= 1;
        } else if v.days < 0 && v.micros > 0 {
            v.micros -= USECS_PER_DAY;
            v.days += 1;
        }
        Ok(v)
    }
}

/// The sum of two intervals one of which at least is infinite, given as for
/// [`Interval::infinity`]; None if both are finite.
fn infinite_sum(a: Option<bool>, b: Option<bool>) -> Result<Option<Interval>> {
    match (a, b) {
        (None, None) => Ok(None),
        (Some(a), Some(b)) if a != b => Err(out_of_range()),
        (Some(sign), _) | (None, Some(sign)) => Ok(Some(Interval::infinite(sign))),
    }
}

/// The running state of sum and avg over intervals (interval_avg_accum): infinities are
/// counted beside the finite sum, so that they cannot turn it into an error early.
#[derive(Clone, Copy, Debug, Default)]
pub struct IntervalSum {
    count: i64,
    sum: Interval,
    infinities: i64,
    negative_infinities: i64,
}

impl IntervalSum {
    /// Adds a value.
    pub fn add(&mut self, value: &Interval) -> Result<()> {
        match value.infinity() {
            Some(true) => self.infinities += 1,
            Some(false) => self.negative_infinities += 1,
            None => {
                self.sum = self.sum.checked_add(value)?;
                self.count += 1;
            }
        }
        Ok(())
    }

    /// The values so far: the sum of the finite values and their number, and the numbers of
    /// infinite and negative infinite ones.
    pub fn parts(&self) -> (Interval, [i64; 3]) {
        (self.sum, [self.count, self.infinities, self.negative_infinities])
    }

    /// Adds values by their [`Self::parts`]. 22008 if the sum is out of range.
    pub fn add_parts(&mut self, sum: &Interval, [count, above, below]: [i64; 3]) -> Result<()> {
        self.sum = self.sum.checked_add(sum)?;
        self.count += count;
        self.infinities += above;
        self.negative_infinities += below;
        Ok(())
    }

    /// The result that the infinities among the values determine, if there are any.
    fn infinity(&self) -> Result<Option<Interval>> {
        let sign = |positive: bool, count: i64| (count > 0).then_some(positive);
        infinite_sum(sign(true, self.infinities), sign(false, self.negative_infinities))
    }

    /// The sum; None of no values.
    pub fn sum(&self) -> Result<Option<Interval>> {
        Ok(self.infinity()?.or((self.count > 0).then_some(self.sum)))
    }

    /// The average; None of no values.
    pub fn avg(&self) -> Result<Option<Interval>> {
        match self.infinity()? {
            Some(infinity) => Ok(Some(infinity)),
            None if self.count == 0 => Ok(None),
            None => self.sum.div(self.count as f64).map(Some),
        }
    }
}

/// Rounds at the sixth decimal (TSROUND).
fn ts_round(v: f64) -> f64 {
    (v * 1e6).round_ties_even() / 1e6
}

/// Microseconds rounded half away from zero to `precision` digits of a second; None
/// if that overflows.
pub(crate) fn round_micros(micros: i64, precision: i32) -> Option<i64> {
    if !(0..6).contains(&precision) {
        return Some(micros);
    }
    let unit = 10i64.pow(6 - precision as u32);
    let half = if micros < 0 { -(unit / 2) } else { unit / 2 };
    Some(micros.checked_add(half)? / unit * unit)
}
