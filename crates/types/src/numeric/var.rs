//! Finite numbers as arrays of base-10000 digits (numeric.c's NumericVar).
//!
//! ```text
//!   value = (-1)^neg * Σ digits[i] * 10000^(weight - i)
//! ```
//!
//! Invariant between operations: `digits` has neither leading nor trailing
//! zeros, zero is the empty array with weight 0 and no sign, and no digit lies
//! past `dscale`. `dscale` may be negative only inside `round`.

use std::cmp::Ordering;

use crate::interrupt;

/// Factors and divisors with this many digits take long enough to check for interrupts between
/// rows.
const LONG_DIGITS: usize = 1024;

/// The base of a digit.
pub(super) const NBASE: i32 = 10_000;
/// Decimal digits in a digit.
pub(super) const DEC_DIGITS: i32 = 4;

/// A finite number.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Var {
    /// Sign; never set for zero.
    pub(crate) neg: bool,
    /// Power of 10000 of the first digit.
    pub(crate) weight: i32,
    /// Display scale: decimal digits after the point.
    pub(crate) dscale: i32,
    /// Base-10000 digits, most significant first.
    pub(crate) digits: Vec<i16>,
}

impl Var {
    pub(super) fn zero(dscale: i32) -> Var {
        Var { dscale, ..Var::default() }
    }

    pub(super) fn from_i64(v: i64) -> Var {
        Var::from_scaled(v as i128, 0)
    }

    /// `mantissa / 10^dscale`.
    pub(super) fn from_scaled(mantissa: i128, dscale: u32) -> Var {
        let mut left = mantissa.unsigned_abs();
        let mut digits = Vec::with_capacity(12);
        // Digits come out least significant first. The last fractional digit may be
        // only partly covered by dscale: it is padded with zeros on the right.
        let padding = (4 - dscale % 4) % 4;
        if padding > 0 {
            let covered = 10u128.pow(4 - padding);
            digits.push((left % covered) as i16 * 10i16.pow(padding));
            left /= covered;
        }
        while left > 0 {
            digits.push((left % NBASE as u128) as i16);
            left /= NBASE as u128;
        }
        digits.reverse();
        let fraction = dscale.div_ceil(4) as i32;
        let weight = digits.len() as i32 - fraction - 1;
        let mut var = Var { neg: mantissa < 0, weight, dscale: dscale as i32, digits };
        var.strip();
        var
    }

    /// The number whose decimal digits (0..=9) are `decimal`, the first standing
    /// for 10^dweight.
    pub(super) fn from_decimal(neg: bool, decimal: &[u8], dweight: i32, dscale: i32) -> Var {
        let weight = if dweight >= 0 { dweight / 4 } else { -((-dweight - 1) / 4 + 1) };
        let offset = ((weight + 1) * DEC_DIGITS - (dweight + 1)) as usize;
        let ndigits = (offset + decimal.len()).div_ceil(4);
        let at = |i: usize| match i.checked_sub(offset).and_then(|i| decimal.get(i)) {
            Some(d) => *d as i16,
            None => 0,
        };
        let digits =
            (0..ndigits).map(|i| (0..4).fold(0, |digit, k| digit * 10 + at(4 * i + k))).collect();
        let mut var = Var { neg, weight, dscale, digits };
        var.strip();
        var
    }

    pub(super) fn is_zero(&self) -> bool {
        self.digits.is_empty()
    }

    /// Removes leading and trailing zeros.
    pub(super) fn strip(&mut self) {
        let used = self.digits.iter().rposition(|d| *d != 0).map_or(0, |last| last + 1);
        self.digits.truncate(used);
        let leading = self.digits.iter().take_while(|d| **d == 0).count();
        if leading > 0 {
            self.digits.drain(..leading);
            self.weight -= leading as i32;
        }
        if self.digits.is_empty() {
            self.weight = 0;
            self.neg = false;
        }
    }

    /// The digit that stands for 10000^power.
    #[inline]
    pub(super) fn digit_at(&self, power: i32) -> i16 {
        let index = self.weight - power;
        if index < 0 { 0 } else { self.digits.get(index as usize).copied().unwrap_or(0) }
    }

    /// Power of the last digit.
    fn last_power(&self) -> i32 {
        self.weight - self.digits.len() as i32 + 1
    }

    /// `(mantissa, dscale)` if the value fits an i64 at its display scale.
    pub(super) fn to_small(&self) -> Option<(i64, u8)> {
        if self.dscale > super::SMALL_MAX_DSCALE as i32 || self.weight > 4 {
            return None;
        }
        let dscale = self.dscale.max(0);
        let groups = (dscale + 3) / 4;
        if !self.is_zero() && self.last_power() < -groups {
            return None;
        }
        // At most 5 + 5 digits with 2 + 18 decimals that count: below 10^38.
        let mut mantissa: i128 = 0;
        let lowest = if groups > 0 { 1 - groups } else { 0 };
        for power in (lowest..=self.weight.max(0)).rev() {
            mantissa = mantissa * NBASE as i128 + self.digit_at(power) as i128;
        }
        if groups > 0 {
            let padding = (4 - dscale % 4) % 4;
            let unit = 10i16.pow(padding as u32);
            let last = self.digit_at(-groups);
            if last % unit != 0 {
                return None;
            }
            mantissa = mantissa * (NBASE as i128 / unit as i128) + (last / unit) as i128;
        }
        let mantissa = if self.neg { -mantissa } else { mantissa };
        Some((i64::try_from(mantissa).ok()?, dscale as u8))
    }

    /// The smallest scale without loss of digits.
    pub(super) fn min_scale(&self) -> i32 {
        let Some(last) = self.digits.last() else { return 0 };
        let mut scale = -self.last_power() * DEC_DIGITS;
        let mut last = *last;
        while scale > 0 && last % 10 == 0 {
            scale -= 1;
            last /= 10;
        }
        scale.max(0)
    }

    /// The same value with the smallest display scale.
    pub(super) fn with_min_scale(&self) -> Var {
        Var { dscale: self.min_scale(), ..self.clone() }
    }

    /// Compares absolute values.
    pub(super) fn cmp_abs(&self, other: &Var) -> Ordering {
        match (self.is_zero(), other.is_zero()) {
            (true, true) => Ordering::Equal,
            (true, false) => Ordering::Less,
            (false, true) => Ordering::Greater,
            // Stripped digits compare like strings: a longer one with the same
            // beginning has something left, which isn't zero.
            (false, false) => {
                self.weight.cmp(&other.weight).then_with(|| self.digits.cmp(&other.digits))
            }
        }
    }

    /// Compares values.
    pub(super) fn cmp_value(&self, other: &Var) -> Ordering {
        match (self.neg, other.neg) {
            (false, true) => Ordering::Greater,
            (true, false) => Ordering::Less,
            (false, false) => self.cmp_abs(other),
            (true, true) => other.cmp_abs(self),
        }
    }

    /// Exact sum; the display scale is the larger one.
    pub(super) fn add(&self, other: &Var) -> Var {
        if self.neg == other.neg {
            let mut sum = add_abs(self, other);
            sum.neg = self.neg && !sum.is_zero();
            return sum;
        }
        match self.cmp_abs(other) {
            Ordering::Equal => Var::zero(self.dscale.max(other.dscale)),
            Ordering::Greater => Var { neg: self.neg, ..sub_abs(self, other) },
            Ordering::Less => Var { neg: other.neg, ..sub_abs(other, self) },
        }
    }

    /// Exact difference; the display scale is the larger one.
    pub(super) fn sub(&self, other: &Var) -> Var {
        self.add(&other.negated())
    }

    pub(super) fn negated(&self) -> Var {
        Var { neg: !self.neg && !self.is_zero(), ..self.clone() }
    }

    /// Exact product; the display scale is the sum of both.
    pub(super) fn mul(&self, other: &Var) -> Var {
        let dscale = self.dscale + other.dscale;
        if self.is_zero() || other.is_zero() {
            return Var::zero(dscale);
        }
        let (short, long) = if self.digits.len() <= other.digits.len() {
            (&self.digits, &other.digits)
        } else {
            (&other.digits, &self.digits)
        };
        // A column sums at most 2^17 products below 10^8: far from 2^64, so carries
        // are propagated once at the end.
        let mut columns = vec![0u64; short.len() + long.len()];
        let is_long = long.len() >= LONG_DIGITS;
        for (i, a) in short.iter().enumerate() {
            if is_long && i % 16 == 0 {
                interrupt::check_unwinding();
            }
            let a = *a as u64;
            for (column, b) in columns[i + 1..].iter_mut().zip(long) {
                *column += a * *b as u64;
            }
        }
        let mut carry = 0;
        let mut digits = vec![0i16; columns.len()];
        for (digit, column) in digits.iter_mut().zip(&columns).rev() {
            let total = column + carry;
            *digit = (total % NBASE as u64) as i16;
            carry = total / NBASE as u64;
        }
        let weight = self.weight + other.weight + 1;
        let mut product = Var { neg: self.neg != other.neg, weight, dscale, digits };
        product.strip();
        product
    }

    /// The product, rounded to `rscale`.
    pub(super) fn mul_round(&self, other: &Var, rscale: i32) -> Var {
        let mut product = self.mul(other);
        product.round(rscale);
        product
    }

    /// The quotient to `rscale` digits, rounded half away from zero or truncated.
    /// The divisor isn't zero: the callers check.
    pub(super) fn div(&self, divisor: &Var, rscale: i32, round: bool) -> Var {
        debug_assert!(!divisor.is_zero(), "callers check for zero");
        if self.is_zero() {
            return Var::zero(rscale);
        }
        let weight = self.weight - divisor.weight;
        // As many quotient digits as rscale needs, and one to round by. Dropping
        // dividend digits past that doesn't change the digits kept.
        let wanted = (weight + 1 + (rscale + DEC_DIGITS - 1).div_euclid(DEC_DIGITS)).max(1)
            + i32::from(round);
        let digits = divide_digits(&self.digits, &divisor.digits, wanted as usize);
        let mut quotient = Var { neg: self.neg != divisor.neg, weight, dscale: rscale, digits };
        if round {
            quotient.round(rscale);
        } else {
            quotient.trunc(rscale);
        }
        quotient.strip();
        quotient
    }

    /// The remainder of truncated division.
    pub(super) fn rem(&self, divisor: &Var) -> Var {
        self.sub(&self.div(divisor, 0, false).mul(divisor))
    }

    /// Rounds half away from zero to `rscale` decimal digits; it may be negative.
    pub(super) fn round(&mut self, rscale: i32) {
        self.dscale = rscale;
        let Some((keep, partial)) = self.cut_position(rscale) else {
            self.digits.clear();
            self.strip();
            return;
        };
        if keep > self.digits.len() || (keep == self.digits.len() && partial == 0) {
            self.strip();
            return;
        }
        let mut carry;
        if partial == 0 {
            carry = self.digits[keep] >= 5000;
            self.digits.truncate(keep);
        } else {
            self.digits.truncate(keep);
            let unit = 10i16.pow(4 - partial as u32);
            let last = &mut self.digits[keep - 1];
            let cut = *last % unit;
            *last -= cut;
            carry = cut >= unit / 2;
            if carry {
                *last += unit;
                carry = *last as i32 >= NBASE;
                if carry {
                    *last -= NBASE as i16;
                }
            }
        }
        let start = if partial == 0 { keep } else { keep - 1 };
        self.carry_from(start, carry);
        self.strip();
    }

    /// Adds a carry into the digits before `index`.
    fn carry_from(&mut self, mut index: usize, mut carry: bool) {
        while carry && index > 0 {
            index -= 1;
            self.digits[index] += 1;
            carry = self.digits[index] as i32 >= NBASE;
            if carry {
                self.digits[index] -= NBASE as i16;
            }
        }
        if carry {
            self.digits.insert(0, 1);
            self.weight += 1;
        }
    }

    /// Cuts to `rscale` decimal digits; it may be negative.
    pub(super) fn trunc(&mut self, rscale: i32) {
        self.dscale = rscale;
        match self.cut_position(rscale) {
            None => self.digits.clear(),
            Some((keep, partial)) if keep <= self.digits.len() => {
                self.digits.truncate(keep);
                if partial > 0 {
                    let unit = 10i16.pow(4 - partial as u32);
                    let last = &mut self.digits[keep - 1];
                    *last -= *last % unit;
                }
            }
            Some(_) => {}
        }
        self.strip();
    }

    /// How many digits remain at `rscale`, and of the last of them how many decimal digits (0: all
    /// four). Returns None if no digit remains, not even one to round by.
    fn cut_position(&self, rscale: i32) -> Option<(usize, i32)> {
        if self.is_zero() {
            return None;
        }
        let decimal = (self.weight + 1) * DEC_DIGITS + rscale;
        if decimal < 0 {
            return None;
        }
        Some(((decimal as usize).div_ceil(4), decimal % DEC_DIGITS))
    }

    /// The value rounded toward minus infinity, display scale 0.
    pub(super) fn floor(&self) -> Var {
        let mut whole = self.clone();
        whole.trunc(0);
        if self.neg && whole.cmp_value(self) != Ordering::Equal {
            whole = whole.sub(&Var::from_i64(1));
        }
        whole
    }

    /// The value rounded toward infinity, display scale 0.
    pub(super) fn ceil(&self) -> Var {
        self.negated().floor().negated()
    }

    /// The integer value, rounded half away from zero, if it fits.
    pub(super) fn to_i128(&self) -> Option<i128> {
        let mut whole = self.clone();
        whole.round(0);
        if whole.weight > 9 {
            return None;
        }
        let mut value: i128 = 0;
        for power in (0..=whole.weight).rev() {
            // Accumulated as a negative number, whose range is larger by one.
            value = value.checked_mul(NBASE as i128)?;
            value = value.checked_sub(whole.digit_at(power) as i128)?;
        }
        if whole.neg { Some(value) } else { value.checked_neg() }
    }

    /// An approximation, for first guesses and scale estimates only.
    pub(super) fn to_f64_approx(&self) -> f64 {
        let mut value = 0.0;
        for (i, digit) in self.digits.iter().take(6).enumerate() {
            value += *digit as f64 * (NBASE as f64).powi(self.weight - i as i32);
        }
        if self.neg { -value } else { value }
    }
}

fn add_abs(a: &Var, b: &Var) -> Var {
    let dscale = a.dscale.max(b.dscale);
    if a.is_zero() || b.is_zero() {
        return Var { neg: false, dscale, ..if a.is_zero() { b.clone() } else { a.clone() } };
    }
    let weight = a.weight.max(b.weight) + 1;
    let last = a.last_power().min(b.last_power());
    let mut digits = vec![0i16; (weight - last + 1) as usize];
    let mut carry = 0;
    for (digit, power) in digits.iter_mut().rev().zip(last..) {
        let total = a.digit_at(power) + b.digit_at(power) + carry;
        carry = i16::from(total as i32 >= NBASE);
        *digit = total - carry * NBASE as i16;
    }
    let mut sum = Var { neg: false, weight, dscale, digits };
    sum.strip();
    sum
}

/// |a| - |b|, where |a| >= |b|.
fn sub_abs(a: &Var, b: &Var) -> Var {
    let dscale = a.dscale.max(b.dscale);
    if b.is_zero() {
        return Var { neg: false, dscale, ..a.clone() };
    }
    let weight = a.weight;
    let last = a.last_power().min(b.last_power());
    let mut digits = vec![0i16; (weight - last + 1) as usize];
    let mut borrow = 0;
    for (digit, power) in digits.iter_mut().rev().zip(last..) {
        let total = a.digit_at(power) - b.digit_at(power) - borrow;
        borrow = i16::from(total < 0);
        *digit = total + borrow * NBASE as i16;
    }
    let mut difference = Var { neg: false, weight, dscale, digits };
    difference.strip();
    difference
}

/// The first `wanted` base-10000 digits of dividend / divisor, the first of them
/// standing for 10000^(difference of weights). Schoolbook division (Knuth 4.3.1,
/// algorithm D).
fn divide_digits(dividend: &[i16], divisor: &[i16], wanted: usize) -> Vec<i16> {
    let base = NBASE as i64;
    let m = divisor.len();
    // Normalise so that the divisor's first digit is at least base/2: then a
    // quotient digit guessed from two digits is at most two too large.
    let factor = base / (divisor[0] as i64 + 1);
    let mut den = vec![0i64; m];
    let mut carry = 0;
    for (d, s) in den.iter_mut().zip(divisor).rev() {
        let total = *s as i64 * factor + carry;
        *d = total % base;
        carry = total / base;
    }
    // One more digit in front takes the carry.
    let mut num = vec![0i64; wanted + m + 1];
    carry = 0;
    let used = dividend.len().min(wanted + m - 1);
    for i in (0..used).rev() {
        let total = dividend[i] as i64 * factor + carry;
        num[i + 1] = total % base;
        carry = total / base;
    }
    num[0] = carry;
    let mut quotient = Vec::with_capacity(wanted);
    let second = den.get(1).copied().unwrap_or(0);
    for j in 0..wanted {
        if j % 16 == 0 && m >= LONG_DIGITS {
            interrupt::check_unwinding();
        }
        let head = num[j] * base + num[j + 1];
        let mut guess = (head / den[0]).min(base - 1);
        while guess * second > (head - guess * den[0]) * base + num[j + 2] {
            guess -= 1;
        }
        if guess > 0 && !subtract_multiple(&mut num[j..=j + m], &den, guess) {
            guess -= 1;
            add_back(&mut num[j..=j + m], &den);
        }
        quotient.push(guess as i16);
    }
    quotient
}

/// num -= den * guess; false if the result is below zero (num wraps around then).
fn subtract_multiple(num: &mut [i64], den: &[i64], guess: i64) -> bool {
    let mut borrow = 0;
    for i in (0..den.len()).rev() {
        let total = num[i + 1] - den[i] * guess - borrow;
        num[i + 1] = total.rem_euclid(NBASE as i64);
        borrow = -total.div_euclid(NBASE as i64);
    }
    num[0] -= borrow;
    num[0] >= 0
}

fn add_back(num: &mut [i64], den: &[i64]) {
    let mut carry = 0;
    for i in (0..den.len()).rev() {
        let total = num[i + 1] + den[i] + carry;
        num[i + 1] = total % NBASE as i64;
        carry = total / NBASE as i64;
    }
    num[0] += carry;
}
