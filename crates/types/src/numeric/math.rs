//! sqrt, exp, ln, log and power. The results' scales, at least 16 significant
//! digits, are chosen as numeric.c chooses them; the digits are computed with
//! enough guard digits that rounding gives the same.

use super::ops::infinity_of_sign;
use super::var::{DEC_DIGITS, NBASE, Var};
use super::{
    MAX_DISPLAY_SCALE, MIN_SIG_DIGITS, Numeric, Repr, WEIGHT_MAX, division_by_zero, overflow,
};
use crate::error::{Error, Result, SqlState};
use crate::interrupt;

/// Largest decimal exponent that exp-like results are computed for.
const MAX_RESULT_SCALE: f64 = 2000.0;
const LOG10_E: f64 = std::f64::consts::LOG10_E;

/// At least 16 significant digits for a result of decimal weight `dweight`, and no
/// scale below those of the inputs.
fn result_scale(dweight: i32, inputs: &[&Var]) -> i32 {
    let widest = inputs.iter().map(|v| v.dscale).max().unwrap_or(0);
    (MIN_SIG_DIGITS - dweight).max(widest).clamp(0, MAX_DISPLAY_SCALE)
}

#[cold]
fn bad_log(message: &str) -> Error {
    Error::new(SqlState::INVALID_ARGUMENT_FOR_LOGARITHM, message)
}

#[cold]
fn bad_power(message: &str) -> Error {
    Error::new(SqlState::INVALID_ARGUMENT_FOR_POWER_FUNCTION, message)
}

impl Numeric {
    /// `sqrt(self)`
    pub fn sqrt(&self) -> Result<Numeric> {
        if self.is_nan() {
            return Ok(Numeric::NAN);
        }
        if self.signum() < 0 {
            return Err(bad_power("cannot take square root of a negative number"));
        }
        let Some(arg) = self.finite() else { return Ok(self.clone()) };
        let dweight = arg.weight * DEC_DIGITS / 2 + 1;
        interrupt::catching(|| Numeric::from_var(sqrt_var(&arg, result_scale(dweight, &[&arg]))))
    }

    /// `exp(self)`
    pub fn exp(&self) -> Result<Numeric> {
        let Some(arg) = self.finite() else {
            let negative = matches!(self.0, Repr::NegInf);
            return Ok(if negative { Numeric::ZERO } else { self.clone() });
        };
        let dweight =
            (arg.to_f64_approx() * LOG10_E).clamp(-MAX_RESULT_SCALE, MAX_RESULT_SCALE) as i32;
        interrupt::catching(|| Numeric::from_var(exp_var(&arg, result_scale(dweight, &[&arg]))?))
    }

    /// `ln(self)`
    pub fn ln(&self) -> Result<Numeric> {
        let Some(arg) = self.log_argument()? else { return Ok(self.clone()) };
        let rscale = result_scale(ln_dweight(&arg), &[&arg]);
        interrupt::catching(|| Numeric::from_var(ln_var(&arg, rscale)))
    }

    /// `log(self)`, to base 10.
    pub fn log10(&self) -> Result<Numeric> {
        self.log(&Numeric::from(10))
    }

    /// `log(base, self)`
    pub fn log(&self, base: &Numeric) -> Result<Numeric> {
        if self.is_nan() || base.is_nan() {
            return Ok(Numeric::NAN);
        }
        if base.signum() < 0 || self.signum() < 0 && !base.is_finite() {
            return Err(bad_log("cannot take logarithm of a negative number"));
        }
        if !self.is_finite() && self.signum() < 0 {
            return Err(bad_log("cannot take logarithm of a negative number"));
        }
        match (base.log_argument()?, self.log_argument()?) {
            (Some(base), Some(num)) => {
                interrupt::catching(|| Numeric::from_var(log_var(&base, &num)?))
            }
            (None, None) => Ok(Numeric::NAN),
            (None, Some(_)) => Ok(Numeric::ZERO),
            (Some(_), None) => Ok(Numeric::INFINITY),
        }
    }

    /// The argument of a logarithm; None for NaN and +Infinity.
    fn log_argument(&self) -> Result<Option<std::borrow::Cow<'_, Var>>> {
        match self.signum() {
            0 => Err(bad_log("cannot take logarithm of zero")),
            ..0 => Err(bad_log("cannot take logarithm of a negative number")),
            _ => Ok(self.finite()),
        }
    }

    /// `power(self, exponent)`
    pub fn power(&self, exponent: &Numeric) -> Result<Numeric> {
        if self.is_nan() || exponent.is_nan() {
            // 1 to any power and anything to the power 0 are 1, even with NaN.
            let one = exponent.is_zero() || (exponent.is_nan() && *self == Numeric::ONE);
            return Ok(if one { Numeric::ONE } else { Numeric::NAN });
        }
        if self.is_zero() && exponent.signum() < 0 {
            return Err(bad_power("zero raised to a negative power is undefined"));
        }
        if self.signum() < 0 && !exponent.is_integral() {
            return Err(bad_power(
                "a negative number raised to a non-integer power yields a complex result",
            ));
        }
        match (self.finite(), exponent.finite()) {
            (Some(base), Some(exponent)) => {
                interrupt::catching(|| Numeric::from_var(power_var(&base, &exponent)?))
            }
            _ => Ok(self.power_special(exponent)),
        }
    }

    /// A power where one side is infinite and neither is NaN.
    fn power_special(&self, exponent: &Numeric) -> Numeric {
        let magnitude = self.abs();
        if *self == Numeric::ONE || exponent.is_zero() {
            return Numeric::ONE;
        }
        if self.is_zero() {
            return Numeric::ZERO;
        }
        if exponent.is_infinite() {
            if magnitude == Numeric::ONE {
                return Numeric::ONE;
            }
            let grows = (magnitude > Numeric::ONE) == (exponent.signum() > 0);
            return if grows { Numeric::INFINITY } else { Numeric::ZERO };
        }
        if exponent.signum() < 0 {
            return Numeric::ZERO;
        }
        let odd = exponent.finite().is_some_and(|e| e.digit_at(0) % 2 == 1);
        infinity_of_sign(if self.signum() < 0 && odd { -1 } else { 1 })
    }

    /// Whether the value is an integer; infinities count as one.
    fn is_integral(&self) -> bool {
        self.finite().is_none_or(|v| v.min_scale() == 0)
    }
}

/// The square root of a non-negative number, correctly rounded to `rscale` (which may
/// be negative): the integer square root of the argument shifted by one digit more.
pub(super) fn sqrt_var(arg: &Var, rscale: i32) -> Var {
    if arg.is_zero() {
        return Var::zero(rscale);
    }
    // Shift by whole base-10000 digits: by 10000^(2k) before, by 10000^-k after.
    let shift = ((rscale + 1) as f64 / DEC_DIGITS as f64).ceil() as i32;
    let mut target = Var { weight: arg.weight + 2 * shift, dscale: 0, ..arg.clone() };
    target.trunc(0);
    let mut root = integer_sqrt(&target);
    root.weight -= shift;
    root.round(rscale);
    root
}

/// floor(sqrt(n)).
fn integer_sqrt(n: &Var) -> Var {
    if n.is_zero() { Var::zero(0) } else { root_and_rest(n).0 }
}

/// floor(sqrt(n)) and what its square leaves of n. The leading half of the digits gives the leading
/// half of the root, and one division of what is left the other half (Zimmermann's Karatsuba
/// square root, as in sqrt_var of numeric.c).
fn root_and_rest(n: &Var) -> (Var, Var) {
    if n.weight <= FEW_DIGITS {
        let root = descend(n, first_guess(n));
        let rest = n.sub(&root.mul(&root));
        return (root, rest);
    }
    interrupt::check_unwinding();
    let part = n.weight / 4;
    let high = whole(n, -2 * part);
    let upper = whole(n, -part);
    let middle = upper.sub(&whole(&high, part));
    let low = n.sub(&whole(&upper, part));
    let (root, rest) = root_and_rest(&high);
    let (twice, left) = (root.add(&root), whole(&rest, part).add(&middle));
    let quotient = left.div(&twice, 0, false);
    let left = left.sub(&quotient.mul(&twice));
    let mut root = whole(&root, part).add(&quotient);
    let mut rest = whole(&left, part).add(&low).sub(&quotient.mul(&quotient));
    let one = Var::from_i64(1);
    while rest.neg && !rest.is_zero() {
        rest = rest.add(&root).add(&root).sub(&one);
        root = root.sub(&one);
    }
    (root, rest)
}

/// The whole part of a number times 10000^digits.
fn whole(n: &Var, digits: i32) -> Var {
    if n.is_zero() {
        return Var::zero(0);
    }
    let mut shifted = Var { weight: n.weight + digits, ..n.clone() };
    shifted.trunc(0);
    shifted
}

/// The largest weight of a number whose root a double begins with.
const FEW_DIGITS: i32 = 6;

/// A little more than the root, from the leading digits.
fn first_guess(n: &Var) -> Var {
    let even = n.weight - n.weight.rem_euclid(2);
    let lead = Var { weight: n.weight - even, ..n.clone() }.to_f64_approx();
    let guess = ((lead.sqrt() * (1.0 + 1e-12) + 1e-12) * 1e12).ceil() as i128;
    let mut x = Var::from_scaled(guess, 12);
    x.weight += even / 2;
    x.ceil()
}

/// Newton's iteration from a number that is not below the root.
fn descend(n: &Var, mut x: Var) -> Var {
    let two = Var::from_i64(2);
    loop {
        let next = x.add(&n.div(&x, 0, false)).div(&two, 0, false);
        if next.cmp_abs(&x).is_ge() {
            return x;
        }
        x = next;
    }
}

/// e^arg to `rscale` digits.
fn exp_var(arg: &Var, rscale: i32) -> Result<Var> {
    let mut approx = arg.to_f64_approx();
    if approx.abs() >= MAX_RESULT_SCALE * 3.0 {
        return if approx > 0.0 { Err(overflow()) } else { Ok(Var::zero(rscale)) };
    }
    let dweight = (approx * LOG10_E) as i32;
    // Halve the argument until the Taylor series converges fast.
    let mut halvings = 0;
    while approx.abs() > 0.01 {
        halvings += 1;
        approx /= 2.0;
    }
    // Squaring back multiplies the error by 2^halvings.
    let lost = (halvings as f64 * std::f64::consts::LOG10_2) as i32;
    let sig_digits = (1 + dweight + rscale + lost).max(0) + 8;
    let mut local = sig_digits + 4;
    let divisor = Var::from_scaled(1i128 << halvings, 0);
    let x = arg.div(&divisor, local.max(arg.dscale + halvings), true);
    let mut result = Var::from_i64(1).add(&x);
    let mut term = x.clone();
    for i in 2.. {
        interrupt::check_unwinding();
        term = term.mul_round(&x, local).div(&Var::from_i64(i), local, true);
        if term.is_zero() {
            break;
        }
        result = result.add(&term);
    }
    for _ in 0..halvings {
        local = (sig_digits - result.weight * 2 * DEC_DIGITS).max(0) + 4;
        result = result.mul_round(&result, local);
    }
    result.round(rscale);
    Ok(result)
}

/// Estimate of the decimal weight of ln(var), for choosing scales. `var` is positive.
fn ln_dweight(var: &Var) -> i32 {
    let lower = Var::from_scaled(9, 1);
    let upper = Var::from_scaled(11, 1);
    if var.cmp_abs(&lower).is_ge() && var.cmp_abs(&upper).is_le() {
        // ln(1 + x) ~ x
        let x = var.sub(&Var::from_i64(1));
        return match x.digits.first() {
            Some(first) => x.weight * DEC_DIGITS + (*first as f64).log10() as i32,
            None => 0,
        };
    }
    let mut lead = var.digits.first().copied().unwrap_or(1) as f64;
    let mut dweight = var.weight * DEC_DIGITS;
    if let Some(second) = var.digits.get(1) {
        lead = lead * NBASE as f64 + *second as f64;
        dweight -= DEC_DIGITS;
    }
    let ln = lead.ln() + dweight as f64 * std::f64::consts::LN_10;
    ln.abs().log10() as i32
}

/// ln(arg) of a positive number to `rscale` digits.
fn ln_var(arg: &Var, rscale: i32) -> Var {
    let two = Var::from_i64(2);
    let lower = Var::from_scaled(9, 1);
    let upper = Var::from_scaled(11, 1);
    let mut x = arg.clone();
    let mut factor = two.clone();
    // Take square roots until the argument is near 1; each doubles the factor.
    while x.cmp_abs(&lower).is_le() || x.cmp_abs(&upper).is_ge() {
        // Below zero for a large number: its last digits do not count.
        let local = rscale - x.weight * DEC_DIGITS / 2 + 8;
        x = sqrt_var(&x, local + 4);
        factor = factor.mul(&two);
    }
    // ln(x) = 2 (z + z^3/3 + z^5/5 + …), z = (x-1)/(x+1)
    let local = rscale + 12;
    let one = Var::from_i64(1);
    let z = x.sub(&one).div(&x.add(&one), local, true);
    let z2 = z.mul_round(&z, local);
    let mut result = z.clone();
    let mut power = z;
    for i in (3..).step_by(2) {
        interrupt::check_unwinding();
        power = power.mul_round(&z2, local);
        let term = power.div(&Var::from_i64(i), local, true);
        if term.is_zero() {
            break;
        }
        result = result.add(&term);
    }
    result.mul_round(&factor, rscale)
}

fn log_var(base: &Var, num: &Var) -> Result<Var> {
    let (base_dweight, num_dweight) = (ln_dweight(base), ln_dweight(num));
    let result_dweight = num_dweight - base_dweight;
    let rscale = result_scale(result_dweight, &[base, num]);
    let digits = rscale + result_dweight + 8;
    let ln_base = ln_var(base, (digits - base_dweight).max(0));
    let ln_num = ln_var(num, (digits - num_dweight).max(0));
    if ln_base.is_zero() {
        return Err(division_by_zero());
    }
    Ok(ln_num.div(&ln_base, rscale, true))
}

/// base^exponent; the caller has excluded 0^negative and negative^fraction.
fn power_var(base: &Var, exponent: &Var) -> Result<Var> {
    let integral = exponent.min_scale() == 0;
    if integral && let Some(e) = exponent.to_i128().and_then(|e| i32::try_from(e).ok()) {
        return power_integer(base, e, exponent.dscale);
    }
    if base.is_zero() {
        return Ok(Var::zero(MIN_SIG_DIGITS));
    }
    let negative_result = base.neg && exponent.digit_at(0) % 2 == 1;
    let base = &Var { neg: false, ..base.clone() };
    let dweight = ln_dweight(base);
    // A first low-precision round tells how large the result gets.
    let local = (8 - dweight).clamp(0, MAX_DISPLAY_SCALE);
    let approx = ln_var(base, local).mul_round(exponent, local).to_f64_approx();
    if approx.abs() > MAX_RESULT_SCALE * 3.01 {
        let scale = MAX_DISPLAY_SCALE;
        return if approx > 0.0 { Err(overflow()) } else { Ok(Var::zero(scale)) };
    }
    let result_dweight = (approx * LOG10_E) as i32;
    let rscale = result_scale(result_dweight, &[base, exponent]);
    let local = (rscale + result_dweight - dweight + 8).max(0);
    let power = ln_var(base, local + 4).mul_round(exponent, local + 4);
    let mut result = exp_var(&power, rscale)?;
    result.neg = negative_result && !result.is_zero();
    Ok(result)
}

/// base^exponent by repeated squaring, keeping only the digits that matter.
fn power_integer(base: &Var, exponent: i32, exponent_dscale: i32) -> Result<Var> {
    // log10 of the result, from the first digits; 0 or 1 has the weight 0.
    let dweight = match base.is_zero() {
        true => 0.0,
        false => {
            let lead = Var { weight: 0, neg: false, ..base.clone() }.to_f64_approx();
            exponent as f64 * (lead.log10() + (base.weight * DEC_DIGITS) as f64)
        }
    };
    if dweight > ((WEIGHT_MAX + 1) * DEC_DIGITS) as f64 {
        return Err(overflow());
    }
    if dweight + 1.0 < -MAX_DISPLAY_SCALE as f64 {
        return Ok(Var::zero(MAX_DISPLAY_SCALE));
    }
    let rscale = result_scale(dweight as i32, &[base]).max(exponent_dscale).min(MAX_DISPLAY_SCALE);
    let one = Var::from_i64(1);
    match exponent {
        0 => return Ok(Var { dscale: rscale, ..one }),
        1 => {
            let mut result = base.clone();
            result.round(rscale);
            return Ok(result);
        }
        -1 => return Ok(one.div(base, rscale, true)),
        2 => return Ok(base.mul_round(base, rscale)),
        _ if base.is_zero() => return Ok(Var::zero(rscale)),
        _ => {}
    }
    let guard = (exponent as f64).abs().ln() as i32 + 8;
    let sig_digits = 1 + rscale + dweight as i32 + guard;
    let times = |a: &Var, b: &Var| {
        let local = sig_digits - (a.weight + b.weight) * DEC_DIGITS;
        a.mul_round(b, local.min(a.dscale + b.dscale).max(0))
    };
    let mut bits = exponent.unsigned_abs();
    let mut square = base.clone();
    let mut result = if bits & 1 == 1 { base.clone() } else { one.clone() };
    loop {
        bits >>= 1;
        if bits == 0 {
            break;
        }
        square = times(&square, &square);
        if bits & 1 == 1 {
            result = times(&square, &result);
        }
        if square.weight > WEIGHT_MAX || result.weight > WEIGHT_MAX {
            return if exponent > 0 { Err(overflow()) } else { Ok(Var::zero(rscale)) };
        }
    }
    if exponent < 0 {
        if result.is_zero() {
            return Err(division_by_zero());
        }
        return Ok(one.div(&result, rscale, true));
    }
    result.round(rscale);
    Ok(result)
}
