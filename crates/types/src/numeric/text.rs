//! numeric as text, and the type modifier.

use super::var::Var;
use super::{DSCALE_MAX, MAX_PRECISION, Numeric, Repr, WEIGHT_MAX, overflow};
use crate::error::{Error, Result, SqlState};

/// The type modifier's offset (VARHDRSZ).
const TYPMOD_OFFSET: i32 = 4;
/// Bounds of a declared scale.
const MIN_SCALE: i32 = -1000;
const MAX_SCALE: i32 = 1000;

/// The type modifier of `numeric(precision, scale)`; checks the bounds (numerictypmodin).
pub fn numeric_typmod(precision: i32, scale: Option<i32>) -> Result<i32> {
    let invalid = |message: String| Err(Error::new(SqlState::INVALID_PARAMETER_VALUE, message));
    if !(1..=MAX_PRECISION).contains(&precision) {
        return invalid(format!(
            "NUMERIC precision {precision} must be between 1 and {MAX_PRECISION}"
        ));
    }
    let scale = scale.unwrap_or(0);
    if !(MIN_SCALE..=MAX_SCALE).contains(&scale) {
        return invalid(format!(
            "NUMERIC scale {scale} must be between {MIN_SCALE} and {MAX_SCALE}"
        ));
    }
    Ok(packed_typmod(precision, scale & 0x7ff))
}

/// The type modifier of a precision and scale that may exceed the limits of a declared type, as for
/// the places of a picture.
pub(crate) fn packed_typmod(precision: i32, scale: i32) -> i32 {
    ((precision << 16) | scale).wrapping_add(TYPMOD_OFFSET)
}

/// Precision and scale of a type modifier; None for an unconstrained numeric.
pub fn typmod_precision_scale(typmod: i32) -> Option<(i32, i32)> {
    if typmod < TYPMOD_OFFSET {
        return None;
    }
    let packed = typmod - TYPMOD_OFFSET;
    // The scale is an 11-bit two's complement number.
    Some(((packed >> 16) & 0xffff, ((packed & 0x7ff) ^ 1024) - 1024))
}

impl Numeric {
    /// Reads PostgreSQL's text form; surrounding white space is allowed.
    pub fn parse(input: &str) -> Result<Numeric> {
        match parse_small(input.as_bytes()) {
            Some(value) => Ok(value),
            None => parse_any(input),
        }
    }

    /// Reads the text form and applies a type modifier.
    pub fn parse_typmod(input: &str, typmod: i32) -> Result<Numeric> {
        Numeric::parse(input)?.apply_typmod(typmod)
    }

    /// Appends the text form.
    pub fn write_text(&self, out: &mut Vec<u8>) {
        match &self.0 {
            Repr::Small { mantissa, dscale } => write_small(*mantissa, *dscale as usize, out),
            Repr::Big(v) => write_var(v, out),
            Repr::NaN => out.extend_from_slice(b"NaN"),
            Repr::PosInf => out.extend_from_slice(b"Infinity"),
            Repr::NegInf => out.extend_from_slice(b"-Infinity"),
        }
    }

    /// Rounds to the scale of the type modifier and checks its precision.
    pub fn apply_typmod(self, typmod: i32) -> Result<Numeric> {
        let Some((precision, scale)) = typmod_precision_scale(typmod) else { return Ok(self) };
        if let Repr::Small { mantissa, dscale } = self.0 {
            // Already at the scale and within the precision: the usual case.
            if dscale as i32 == scale
                && (precision >= 19 || mantissa.unsigned_abs() < 10u64.pow(precision as u32))
            {
                return Ok(self);
            }
        }
        if self.is_infinite() {
            return Err(field_overflow(format!(
                "A field with precision {precision}, scale {scale} cannot hold an infinite value."
            )));
        }
        let Some(var) = self.finite() else { return Ok(self) };
        let mut var = var.into_owned();
        var.round(scale);
        check_precision(&var, precision, scale)?;
        Numeric::from_var(var)
    }
}

#[cold]
fn field_overflow(detail: String) -> Error {
    Error::new(SqlState::NUMERIC_VALUE_OUT_OF_RANGE, "numeric field overflow").detail(detail)
}

/// 22003 if the rounded value has too many digits before the point.
fn check_precision(var: &Var, precision: i32, scale: i32) -> Result<()> {
    let Some(first) = var.digits.first() else { return Ok(()) };
    let unused = match first {
        ..10 => 3,
        10..100 => 2,
        100..1000 => 1,
        _ => 0,
    };
    let max_digits = precision - scale;
    if (var.weight + 1) * 4 - unused <= max_digits {
        return Ok(());
    }
    let bound = if max_digits == 0 { "1".to_string() } else { format!("10^{max_digits}") };
    Err(field_overflow(format!(
        "A field with precision {precision}, scale {scale} must round to an absolute value less \
         than {bound}."
    )))
}

fn write_small(mantissa: i64, dscale: usize, out: &mut Vec<u8>) {
    if mantissa < 0 {
        out.push(b'-');
    }
    // 19 digits at most, and one zero before the point.
    let mut buffer = [b'0'; 20];
    let mut left = mantissa.unsigned_abs();
    let mut start = buffer.len();
    while left > 0 || buffer.len() - start <= dscale {
        start -= 1;
        buffer[start] = b'0' + (left % 10) as u8;
        left /= 10;
    }
    let point = buffer.len() - dscale;
    out.extend_from_slice(&buffer[start..point]);
    if dscale > 0 {
        out.push(b'.');
        out.extend_from_slice(&buffer[point..]);
    }
}

fn write_var(var: &Var, out: &mut Vec<u8>) {
    if var.neg {
        out.push(b'-');
    }
    if var.weight < 0 {
        out.push(b'0');
    } else {
        let start = out.len();
        for power in (0..=var.weight).rev() {
            push_digit(var.digit_at(power), out);
        }
        let zeros = out[start..].iter().take_while(|c| **c == b'0').count();
        // At least one digit stays before the point.
        let zeros = zeros.min(out.len() - start - 1);
        out.drain(start..start + zeros);
    }
    if var.dscale > 0 {
        out.push(b'.');
        let end = out.len() + var.dscale as usize;
        for power in 1..=(var.dscale + 3) / 4 {
            push_digit(var.digit_at(-power), out);
        }
        out.truncate(end);
    }
}

/// Appends one base-10000 digit as four decimal ones.
fn push_digit(digit: i16, out: &mut Vec<u8>) {
    for unit in [1000, 100, 10, 1] {
        out.push(b'0' + (digit / unit % 10) as u8);
    }
}

/// The plain form `[-]digits[.digits]` with at most 18 digits; None for any other text, which the
/// general parser reads.
fn parse_small(input: &[u8]) -> Option<Numeric> {
    let (neg, body) = match input {
        [b'-', rest @ ..] => (true, rest),
        _ => (false, input),
    };
    if body.is_empty() || body.len() > 19 {
        return None;
    }
    // Nineteen digits still fit a u64.
    let mut mantissa: u64 = 0;
    let mut digits = 0;
    let mut point = None;
    for (i, c) in body.iter().enumerate() {
        match c {
            b'0'..=b'9' => {
                mantissa = mantissa * 10 + (c - b'0') as u64;
                digits += 1;
            }
            b'.' if point.is_none() => point = Some(i),
            _ => return None,
        }
    }
    if digits == 0 || digits > 18 {
        return None;
    }
    let dscale = point.map_or(0, |p| body.len() - p - 1) as u8;
    let mantissa = mantissa as i64;
    Some(Numeric(Repr::Small { mantissa: if neg { -mantissa } else { mantissa }, dscale }))
}

#[cold]
fn syntax(input: &str) -> Error {
    Error::new(
        SqlState::INVALID_TEXT_REPRESENTATION,
        format!("invalid input syntax for type numeric: \"{input}\""),
    )
}

/// C's isspace.
fn is_space(c: &u8) -> bool {
    matches!(c, b' ' | b'\t'..=b'\r')
}

fn parse_any(input: &str) -> Result<Numeric> {
    let bytes = input.as_bytes();
    let start = bytes.iter().position(|c| !is_space(c)).ok_or_else(|| syntax(input))?;
    let end = bytes.iter().rposition(|c| !is_space(c)).map_or(start, |last| last + 1);
    let text = &bytes[start..end];
    let (neg, body) = match text {
        [b'-', rest @ ..] => (true, rest),
        [b'+', rest @ ..] => (false, rest),
        _ => (false, text),
    };
    match body {
        [b'0', radix, digits @ ..]
            if radix.is_ascii_alphabetic() && !radix.eq_ignore_ascii_case(&b'e') =>
        {
            let bits = match radix.to_ascii_lowercase() {
                b'x' => 4,
                b'o' => 3,
                b'b' => 1,
                _ => return Err(syntax(input)),
            };
            let mut var = parse_radix(digits, bits).ok_or_else(|| syntax(input))??;
            var.neg = neg && !var.is_zero();
            Numeric::from_var(var)
        }
        [b'0'..=b'9' | b'.', ..] => Numeric::from_var(parse_decimal(neg, body, input)?),
        // NaN takes no sign.
        _ if text.eq_ignore_ascii_case(b"nan") => Ok(Numeric::NAN),
        _ if body.eq_ignore_ascii_case(b"infinity") || body.eq_ignore_ascii_case(b"inf") => {
            Ok(if neg { Numeric::NEG_INFINITY } else { Numeric::INFINITY })
        }
        _ => Err(syntax(input)),
    }
}

/// A run of digits with single underscores between them, appended to `decimal`.
/// Returns how many bytes it took; None if an underscore is out of place.
fn scan_digits(text: &[u8], decimal: &mut Vec<u8>) -> Option<usize> {
    let mut i = 0;
    loop {
        match text.get(i) {
            Some(c @ b'0'..=b'9') => decimal.push(c - b'0'),
            Some(b'_') if i > 0 && text.get(i + 1).is_some_and(u8::is_ascii_digit) => {}
            Some(b'_') => return None,
            _ => return Some(i),
        }
        i += 1;
    }
}

/// `digits[.digits][e[sign]digits]` (set_var_from_str).
fn parse_decimal(neg: bool, body: &[u8], input: &str) -> Result<Var> {
    let bad = || syntax(input);
    let mut decimal = Vec::with_capacity(body.len());
    let mut rest = &body[scan_digits(body, &mut decimal).ok_or_else(bad)?..];
    let whole = decimal.len();
    if let [b'.', fraction @ ..] = rest {
        rest = &fraction[scan_digits(fraction, &mut decimal).ok_or_else(bad)?..];
    }
    if decimal.is_empty() {
        return Err(bad());
    }
    let mut dweight = whole as i64 - 1;
    let mut dscale = (decimal.len() - whole) as i64;
    if let [b'e' | b'E', exponent @ ..] = rest {
        let (negative, digits) = match exponent {
            [b'-', digits @ ..] => (true, digits),
            [b'+', digits @ ..] => (false, digits),
            _ => (false, exponent),
        };
        let mut exponent_digits = Vec::new();
        let used = scan_digits(digits, &mut exponent_digits).ok_or_else(bad)?;
        if used == 0 || used != digits.len() {
            return Err(bad());
        }
        let limit = (i32::MAX / 2) as i64;
        let magnitude = exponent_digits
            .iter()
            .try_fold(0i64, |e, d| Some(e * 10 + *d as i64).filter(|e| *e < limit))
            .ok_or_else(overflow)?;
        let exponent = if negative { -magnitude } else { magnitude };
        dweight += exponent;
        dscale = (dscale - exponent).max(0);
    } else if !rest.is_empty() {
        return Err(bad());
    }
    build_decimal(neg, &decimal, dweight, dscale)
}

/// The value of scanned digits, with the limits checked before anything large is made.
fn build_decimal(neg: bool, decimal: &[u8], dweight: i64, dscale: i64) -> Result<Var> {
    if dscale > DSCALE_MAX as i64 {
        return Err(overflow());
    }
    let zeros = decimal.iter().take_while(|d| **d == 0).count();
    let decimal = &decimal[zeros..];
    let dweight = dweight - zeros as i64;
    if decimal.is_empty() {
        return Ok(Var::zero(dscale as i32));
    }
    if dweight >= (WEIGHT_MAX as i64 + 1) * 4 {
        return Err(overflow());
    }
    Ok(Var::from_decimal(neg, decimal, dweight as i32, dscale as i32))
}

/// The digits after `0x`, `0o` or `0b`. Returns None for bad syntax.
fn parse_radix(digits: &[u8], bits: u32) -> Option<Result<Var>> {
    let mut value = Var::zero(0);
    let (mut chunk, mut chunk_bits, mut seen) = (0i64, 0, false);
    let mut underscore = false;
    for c in digits {
        if *c == b'_' {
            if underscore {
                return None;
            }
            underscore = true;
            continue;
        }
        underscore = false;
        let digit = (*c as char).to_digit(1 << bits)?;
        seen = true;
        chunk = chunk << bits | digit as i64;
        chunk_bits += bits;
        if chunk_bits >= 56 {
            value = value.mul(&Var::from_i64(1 << chunk_bits)).add(&Var::from_i64(chunk));
            (chunk, chunk_bits) = (0, 0);
            if value.weight > WEIGHT_MAX {
                return Some(Err(overflow()));
            }
        }
    }
    if !seen || underscore {
        return None;
    }
    Some(Ok(value.mul(&Var::from_i64(1 << chunk_bits)).add(&Var::from_i64(chunk))))
}
