//! Integers and floats as text (numutils.c, float.c).
//!
//! Integers accept what PostgreSQL 16 does: decimal, `0x`, `0o` and `0b` digits
//! with single underscores between them. Floats print their shortest digits that
//! read back to the same value, laid out as PostgreSQL lays them out.

use crate::{Error, Result, SqlState};

/// C's isspace in the C locale.
#[inline]
pub(crate) fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\r' | 0x0B | 0x0C)
}

pub(crate) fn trim_spaces(text: &str) -> &str {
    text.trim_matches(|c: char| c.is_ascii() && is_space(c as u8))
}

/// 22P02 `invalid input syntax for type …`.
#[cold]
pub fn invalid_syntax(type_name: &str, text: &str) -> Error {
    Error::new(
        SqlState::INVALID_TEXT_REPRESENTATION,
        format!("invalid input syntax for type {type_name}: \"{text}\""),
    )
}

/// 22003 `value … is out of range for type …`.
#[cold]
pub fn out_of_range(type_name: &str, text: &str) -> Error {
    Error::new(
        SqlState::NUMERIC_VALUE_OUT_OF_RANGE,
        format!("value \"{text}\" is out of range for type {type_name}"),
    )
}

/// Digits of which any number is below 2^63.
const SAFE_DIGITS: usize = 18;

/// Reads an integer of a few digits, perhaps with a minus sign, as nearly all texts are.
#[inline]
fn parse_plain(text: &str) -> Option<i64> {
    let (negative, digits) = match text.as_bytes() {
        [b'-', digits @ ..] => (true, digits),
        digits => (false, digits),
    };
    if digits.is_empty() || digits.len() > SAFE_DIGITS {
        return None;
    }
    let mut value = 0;
    for digit in digits {
        let digit = digit.wrapping_sub(b'0');
        if digit > 9 {
            return None;
        }
        value = value * 10 + i64::from(digit);
    }
    Some(if negative { -value } else { value })
}

/// Reads a signed integer whose least value is `-limit`.
fn parse_signed(text: &str, limit: u64, type_name: &str) -> Result<i64> {
    match parse_plain(text) {
        Some(value) if value.unsigned_abs() < limit => Ok(value),
        _ => parse_any_signed(text, limit, type_name),
    }
}

/// The same, for any spelling.
fn parse_any_signed(text: &str, limit: u64, type_name: &str) -> Result<i64> {
    let invalid = || invalid_syntax(type_name, text);
    let mut rest = text.as_bytes();
    while let [first, tail @ ..] = rest
        && is_space(*first)
    {
        rest = tail;
    }
    let negative = rest.first() == Some(&b'-');
    if let [b'-' | b'+', tail @ ..] = rest {
        rest = tail;
    }
    let (base, digits) = match rest {
        [b'0', b'x' | b'X', tail @ ..] => (16, tail),
        [b'0', b'o' | b'O', tail @ ..] => (8, tail),
        [b'0', b'b' | b'B', tail @ ..] => (2, tail),
        _ => (10, rest),
    };
    let digit = |byte: u8| (byte as char).to_digit(base).map(u64::from);
    let mut value = 0u64;
    let mut at = 0;
    while let Some(byte) = digits.get(at) {
        if let Some(digit) = digit(*byte) {
            // The magnitude may pass the limit by one digit here: PostgreSQL distinguishes that
            // error from bad syntax in the same order.
            if value > limit / u64::from(base) {
                return Err(out_of_range(type_name, text));
            }
            value = value * u64::from(base) + digit;
        } else if *byte == b'_' {
            // An underscore is allowed between digits, and after a base prefix also at the
            // beginning.
            let follows = digits.get(at + 1).is_some_and(|next| digit(*next).is_some());
            if !follows || (at == 0 && base == 10) {
                return Err(invalid());
            }
        } else {
            break;
        }
        at += 1;
    }
    if at == 0 || !digits[at..].iter().all(|byte| is_space(*byte)) {
        return Err(invalid());
    }
    let max = if negative { limit } else { limit - 1 };
    if value > max {
        return Err(out_of_range(type_name, text));
    }
    Ok(if negative { (value as i64).wrapping_neg() } else { value as i64 })
}

/// Reads a smallint.
pub fn parse_int2(text: &str) -> Result<i16> {
    parse_signed(text, 1 << 15, "smallint").map(|v| v as i16)
}

/// Reads an integer.
pub fn parse_int4(text: &str) -> Result<i32> {
    // Plain short decimals, the usual case, cannot overflow.
    let bytes = text.as_bytes();
    let digits = bytes.strip_prefix(b"-").unwrap_or(bytes);
    if (1..=9).contains(&digits.len()) && digits.iter().all(u8::is_ascii_digit) {
        let value = digits.iter().fold(0, |v, d| v * 10 + i32::from(d - b'0'));
        return Ok(if digits.len() < bytes.len() { -value } else { value });
    }
    parse_signed(text, 1 << 31, "integer").map(|v| v as i32)
}

/// Reads a bigint.
pub fn parse_int8(text: &str) -> Result<i64> {
    parse_signed(text, 1 << 63, "bigint")
}

/// strtoull with base 0: the value and the rest, `None` without digits. The value
/// is `None` past 64 bits.
pub(crate) fn scan_unsigned(bytes: &[u8]) -> Option<(Option<u64>, &[u8])> {
    let mut rest = bytes;
    while let [first, tail @ ..] = rest
        && is_space(*first)
    {
        rest = tail;
    }
    let negative = rest.first() == Some(&b'-');
    if let [b'-' | b'+', tail @ ..] = rest {
        rest = tail;
    }
    let (base, digits) = match rest {
        [b'0', b'x' | b'X', tail @ ..] if tail.first().is_some_and(u8::is_ascii_hexdigit) => {
            (16, tail)
        }
        [b'0', ..] => (8, rest),
        _ => (10, rest),
    };
    let count = digits.iter().position(|b| !(*b as char).is_digit(base)).unwrap_or(digits.len());
    if count == 0 {
        return None;
    }
    let value = digits[..count].iter().try_fold(0u64, |value, byte| {
        let digit = (*byte as char).to_digit(base)?;
        value.checked_mul(u64::from(base))?.checked_add(u64::from(digit))
    });
    let value = if negative { value.map(u64::wrapping_neg) } else { value };
    Some((value, &digits[count..]))
}

/// Reads an xid8, or another unsigned 64-bit number.
pub fn parse_uint64(text: &str, type_name: &str) -> Result<u64> {
    match scan_unsigned(text.as_bytes()) {
        Some((value, rest)) if rest.iter().all(|b| is_space(*b)) => {
            value.ok_or_else(|| out_of_range(type_name, text))
        }
        _ => Err(invalid_syntax(type_name, text)),
    }
}

/// Reads an oid, or another unsigned 32-bit number. As in C, `-1` is the largest.
pub fn parse_uint32(text: &str, type_name: &str) -> Result<u32> {
    let value = parse_uint64(text, type_name)?;
    let low = value as u32;
    if value == u64::from(low) || value == low as i32 as u64 {
        Ok(low)
    } else {
        Err(out_of_range(type_name, text))
    }
}

const DIGIT_PAIRS: &[u8; 200] = b"0001020304050607080910111213141516171819\
2021222324252627282930313233343536373839404142434445464748495051525354555657585960616263646566676869\
707172737475767778798081828384858687888990919293949596979899";

/// Appends an unsigned decimal number.
pub fn write_uint64(mut value: u64, out: &mut Vec<u8>) {
    let mut buffer = [0u8; 20];
    let mut at = buffer.len();
    while value >= 100 {
        let pair = (value % 100) as usize * 2;
        value /= 100;
        at -= 2;
        buffer[at..at + 2].copy_from_slice(&DIGIT_PAIRS[pair..pair + 2]);
    }
    if value >= 10 {
        let pair = value as usize * 2;
        at -= 2;
        buffer[at..at + 2].copy_from_slice(&DIGIT_PAIRS[pair..pair + 2]);
    } else {
        at -= 1;
        buffer[at] = b'0' + value as u8;
    }
    out.extend_from_slice(&buffer[at..]);
}

/// Appends a signed decimal number.
pub fn write_int64(value: i64, out: &mut Vec<u8>) {
    if value < 0 {
        out.push(b'-');
    }
    write_uint64(value.unsigned_abs(), out);
}

/// The result of scanning a float's text.
enum Scanned<'a> {
    Special(f64),
    /// A decimal number, and whether it has a digit other than zero.
    Decimal(&'a str, bool),
    Hexadecimal(f64),
}

/// The longest prefix that strtod would take, and what follows it.
fn scan_float(text: &str) -> Option<(Scanned<'_>, &str)> {
    let bytes = text.as_bytes();
    let sign = usize::from(matches!(bytes.first(), Some(b'-' | b'+')));
    let negative = bytes.first() == Some(&b'-');
    let unsigned = &text[sign..];
    for (word, value) in [("infinity", f64::INFINITY), ("inf", f64::INFINITY), ("nan", f64::NAN)] {
        if unsigned.get(..word.len()).is_some_and(|head| head.eq_ignore_ascii_case(word)) {
            let value = if negative { -value } else { value };
            return Some((Scanned::Special(value), &unsigned[word.len()..]));
        }
    }
    if unsigned.get(..2).is_some_and(|head| head.eq_ignore_ascii_case("0x"))
        && let Some((value, length)) = scan_hex_float(&unsigned.as_bytes()[2..])
    {
        let value = if negative { -value } else { value };
        return Some((Scanned::Hexadecimal(value), &unsigned[2 + length..]));
    }
    let digits = |from: usize| bytes[from..].iter().take_while(|b| b.is_ascii_digit()).count();
    let whole = digits(sign);
    let mut end = sign + whole;
    let mut fraction = 0;
    if bytes.get(end) == Some(&b'.') {
        fraction = digits(end + 1);
        if whole + fraction > 0 {
            end += 1 + fraction;
        }
    }
    if whole + fraction == 0 {
        return None;
    }
    let nonzero = bytes[..end].iter().any(|b| (b'1'..=b'9').contains(b));
    if matches!(bytes.get(end), Some(b'e' | b'E')) {
        let exponent_sign = usize::from(matches!(bytes.get(end + 1), Some(b'-' | b'+')));
        let exponent = digits((end + 1 + exponent_sign).min(bytes.len()));
        if exponent > 0 {
            end += 1 + exponent_sign + exponent;
        }
    }
    Some((Scanned::Decimal(&text[..end], nonzero), &text[end..]))
}

/// `h.hhhp±d` after `0x`: its value and length. Digits past 64 bits only count
/// for the exponent.
fn scan_hex_float(bytes: &[u8]) -> Option<(f64, usize)> {
    let (mut mantissa, mut exponent, mut at, mut any, mut point) = (0u64, 0i32, 0, false, false);
    while let Some(byte) = bytes.get(at) {
        match (*byte as char).to_digit(16) {
            Some(digit) => {
                any = true;
                if mantissa >> 60 == 0 {
                    mantissa = mantissa << 4 | u64::from(digit);
                    exponent -= if point { 4 } else { 0 };
                } else if !point {
                    exponent = exponent.saturating_add(4);
                }
            }
            None if *byte == b'.' && !point => point = true,
            None => break,
        }
        at += 1;
    }
    if !any {
        return None;
    }
    if let [b'p' | b'P', tail @ ..] = &bytes[at..] {
        let sign = usize::from(matches!(tail.first(), Some(b'-' | b'+')));
        let count = tail[sign..].iter().take_while(|b| b.is_ascii_digit()).count();
        if count > 0 {
            let digits = &tail[sign..sign + count];
            let power = digits
                .iter()
                .fold(0i32, |v, d| v.saturating_mul(10).saturating_add(i32::from(d - b'0')));
            let power = if tail[0] == b'-' { -power } else { power };
            exponent = exponent.saturating_add(power);
            at += 1 + sign + count;
        }
    }
    // Two steps, so that a tiny power does not vanish before it is multiplied.
    let half = exponent.clamp(-2200, 2200) / 2;
    let rest = exponent.clamp(-2200, 2200) - half;
    Some((mantissa as f64 * 2f64.powi(half) * 2f64.powi(rest), at))
}

/// Reads a float through `decimal`, which parses a plain decimal number.
fn parse_float<F: Copy>(
    text: &str,
    type_name: &str,
    decimal: impl Fn(&str) -> Option<F>,
    narrow: impl Fn(f64) -> F,
    lost: impl Fn(F) -> bool,
) -> Result<F> {
    let trimmed = trim_spaces(text);
    let Some((scanned, rest)) = scan_float(trimmed) else {
        return Err(invalid_syntax(type_name, text));
    };
    let number = &trimmed[..trimmed.len() - rest.len()];
    let (value, checked) = match scanned {
        Scanned::Special(value) => (narrow(value), false),
        Scanned::Hexadecimal(value) => (narrow(value), value != 0.0),
        Scanned::Decimal(digits, nonzero) => {
            let value = decimal(digits).ok_or_else(|| invalid_syntax(type_name, text))?;
            (value, nonzero)
        }
    };
    if checked && lost(value) {
        return Err(Error::new(
            SqlState::NUMERIC_VALUE_OUT_OF_RANGE,
            format!("\"{number}\" is out of range for type {type_name}"),
        ));
    }
    if rest.is_empty() { Ok(value) } else { Err(invalid_syntax(type_name, text)) }
}

/// Reads a double precision.
pub fn parse_float8(text: &str) -> Result<f64> {
    let lost = |v: f64| v == 0.0 || v.is_infinite();
    parse_float(text, "double precision", |s| s.parse().ok(), |v| v, lost)
}

/// Reads a real.
pub fn parse_float4(text: &str) -> Result<f32> {
    let lost = |v: f32| v == 0.0 || v.is_infinite();
    parse_float(text, "real", |s| s.parse().ok(), |v| v as f32, lost)
}

/// Decimal digits and the exponent of the first: 1.5e3 is ("15", 3).
struct Digits {
    digits: Vec<u8>,
    exponent: i32,
}

impl Digits {
    /// From `1.5`, `1500.0`, `0.0015`, `1.5e3` or `1.5e-3`.
    fn parse(text: &str) -> Digits {
        let (mantissa, power) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let all: Vec<u8> = whole.bytes().chain(fraction.bytes()).collect();
        let leading = all.iter().position(|d| *d != b'0').unwrap_or(all.len());
        let end = all.iter().rposition(|d| *d != b'0').map_or(leading, |last| last + 1);
        let exponent = power.parse::<i32>().unwrap_or(0) + whole.len() as i32 - 1 - leading as i32;
        Digits { digits: all[leading..end].to_vec(), exponent }
    }

    /// `1.5e+20`, with two exponent digits at least, or plain `150`.
    fn write(&self, exponential: bool, out: &mut Vec<u8>) {
        let digits = &self.digits;
        if exponential {
            out.push(digits[0]);
            if digits.len() > 1 {
                out.push(b'.');
                out.extend_from_slice(&digits[1..]);
            }
            out.extend_from_slice(if self.exponent < 0 { b"e-" } else { b"e+" });
            if self.exponent.unsigned_abs() < 10 {
                out.push(b'0');
            }
            write_uint64(u64::from(self.exponent.unsigned_abs()), out);
            return;
        }
        if self.exponent < 0 {
            out.extend_from_slice(b"0.");
            out.resize(out.len() + (-1 - self.exponent) as usize, b'0');
            out.extend_from_slice(digits);
            return;
        }
        let whole = self.exponent as usize + 1;
        out.extend_from_slice(&digits[..whole.min(digits.len())]);
        if digits.len() > whole {
            out.push(b'.');
            out.extend_from_slice(&digits[whole..]);
        } else {
            out.resize(out.len() + whole - digits.len(), b'0');
        }
    }
}

/// NaN, the infinities and zeros; false if the value is none of them.
fn write_special(value: f64, out: &mut Vec<u8>) -> bool {
    let text: &[u8] = match value {
        v if v.is_nan() => b"NaN",
        f64::INFINITY => b"Infinity",
        f64::NEG_INFINITY => b"-Infinity",
        v if v == 0.0 && v.is_sign_negative() => b"-0",
        0.0 => b"0",
        _ => return false,
    };
    out.extend_from_slice(text);
    true
}

/// Whether `digits` lies exactly half-way to a neighbouring float, which is
/// `mantissa ± ½` units of 2^`power`. It reads back by round-half-even, yet
/// PostgreSQL prints digits that lie strictly inside the interval.
fn is_on_boundary(digits: &Digits, mantissa: u64, power: i32) -> bool {
    // A boundary is an odd number times 2^(power-1), and a decimal d × 10^e of at
    // most 17 digits; both sides being exact bounds |e|, so 128 bits are enough.
    let ten = digits.exponent - (digits.digits.len() as i32 - 1);
    if mantissa % 2 == 1 || !(-24..=24).contains(&ten) {
        return false;
    }
    let decimal = digits.digits.iter().fold(0u128, |v, d| v * 10 + u128::from(d - b'0'));
    [2 * mantissa - 1, 2 * mantissa + 1].into_iter().any(|odd| {
        let five = 5u128.pow(ten.unsigned_abs());
        let (left, right) = if ten >= 0 {
            (decimal.checked_mul(five), Some(u128::from(odd)))
        } else {
            (Some(decimal), u128::from(odd).checked_mul(five))
        };
        let (Some(left), Some(right)) = (left, right) else { return false };
        // left × 2^ten = right × 2^(power-1), both sides freed of powers of two.
        let two = |v: u128| v.trailing_zeros() as i32;
        left >> two(left) == right >> two(right) && two(left) + ten == two(right) + power - 1
    })
}

/// The shortest digits, corrected where they lie on a boundary.
fn shortest(
    text: &str,
    (mantissa, power): (u64, i32),
    round: impl Fn(usize) -> Option<String>,
) -> Digits {
    let digits = Digits::parse(text);
    if !is_on_boundary(&digits, mantissa, power) {
        return digits;
    }
    (digits.digits.len()..17)
        .filter_map(round)
        .map(|text| Digits::parse(&text))
        .find(|longer| !is_on_boundary(longer, mantissa, power))
        .unwrap_or(digits)
}

/// `%.*g`: `precision` significant digits without trailing zeros.
fn write_general(scientific: &str, precision: usize, out: &mut Vec<u8>) {
    let digits = Digits::parse(scientific);
    digits.write(digits.exponent < -4 || digits.exponent >= precision as i32, out);
}

/// Appends a double precision.
pub fn write_float8(value: f64, extra_float_digits: i32, out: &mut Vec<u8>) {
    if write_special(value, out) {
        return;
    }
    if value < 0.0 {
        out.push(b'-');
    }
    let value = value.abs();
    if extra_float_digits <= 0 {
        let precision = (15 + extra_float_digits).max(1) as usize;
        return write_general(&format!("{value:.*e}", precision - 1), precision, out);
    }
    if value < 1e15 && value == value.trunc() {
        return write_uint64(value as u64, out);
    }
    let bits = value.to_bits();
    let (fraction, biased) = (bits & ((1 << 52) - 1), (bits >> 52) as i32);
    let parts = if biased == 0 { (fraction, -1074) } else { (fraction | 1 << 52, biased - 1075) };
    let digits = shortest(zmij::Buffer::new().format_finite(value), parts, |precision| {
        let text = format!("{value:.precision$e}");
        (text.parse() == Ok(value)).then_some(text)
    });
    digits.write(digits.exponent < -4 || digits.exponent >= 15, out);
}

/// Appends a real.
pub fn write_float4(value: f32, extra_float_digits: i32, out: &mut Vec<u8>) {
    if write_special(f64::from(value), out) {
        return;
    }
    if value < 0.0 {
        out.push(b'-');
    }
    let value = value.abs();
    if extra_float_digits <= 0 {
        let precision = (6 + extra_float_digits).max(1) as usize;
        return write_general(&format!("{value:.*e}", precision - 1), precision, out);
    }
    let bits = value.to_bits();
    let (fraction, biased) = (u64::from(bits & ((1 << 23) - 1)), (bits >> 23) as i32);
    let parts = if biased == 0 { (fraction, -149) } else { (fraction | 1 << 23, biased - 150) };
    let digits = shortest(zmij::Buffer::new().format_finite(value), parts, |precision| {
        let text = format!("{value:.precision$e}");
        (text.parse() == Ok(value)).then_some(text)
    });
    digits.write(digits.exponent < -4 || digits.exponent >= 6, out);
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn float8(value: f64, extra: i32) -> String {
        let mut out = Vec::new();
        write_float8(value, extra, &mut out);
        String::from_utf8(out).unwrap()
    }

    fn float4(value: f32, extra: i32) -> String {
        let mut out = Vec::new();
        write_float4(value, extra, &mut out);
        String::from_utf8(out).unwrap()
    }

    /// As PostgreSQL 15 prints them.
    #[test]
    fn floats_print_as_postgresql_prints_them() {
        let shortest = [
            (1e23, "9.999999999999999e+22"),
            (9.5e22, "9.5e+22"),
            (5e-324, "5e-324"),
            (9007199254740992.0, "9.007199254740992e+15"),
            (1e15, "1e+15"),
            (1e14, "100000000000000"),
            (0.0001, "0.0001"),
            (0.00001, "1e-05"),
            (-0.0, "-0"),
            (1.5, "1.5"),
            (-123.456, "-123.456"),
            (f64::NAN, "NaN"),
            (f64::NEG_INFINITY, "-Infinity"),
            (1.7976931348623157e308, "1.7976931348623157e+308"),
        ];
        for (value, expected) in shortest {
            assert_eq!(float8(value, 1), expected);
        }
        let shortest = [
            (2e-44f32, "2e-44"),
            (123456.7, "123456.7"),
            (1234567.0, "1.234567e+06"),
            (16777216.0, "1.6777216e+07"),
            (33554432.0, "3.3554432e+07"),
            (9.765625e-4, "0.0009765625"),
            (5e-45, "6e-45"),
            (1.0, "1"),
        ];
        for (value, expected) in shortest {
            assert_eq!(float4(value, 1), expected);
        }
        let rounded = [(1e15, "1e+15"), (0.1, "0.1"), (1e14, "100000000000000"), (1e-5, "1e-05")];
        for (value, expected) in rounded {
            assert_eq!(float8(value, 0), expected);
        }
        assert_eq!(float8(999999999999999.9, 0), "1e+15");
        assert_eq!(float4(123456789.0, 0), "1.23457e+08");
        assert_eq!(float4(999999.5, 0), "1e+06");
        assert_eq!(float8(1.0 / 3.0, -14), "0.3");
        assert_eq!(float8(1.0 / 3.0, -15), "0.3");
    }

    #[test]
    fn integer_errors_tell_range_from_syntax_as_postgresql_does() {
        let message = |text| parse_int4(text).unwrap_err().message().to_string();
        assert_eq!(
            message("99999999999abc"),
            "value \"99999999999abc\" is out of range for type integer"
        );
        assert_eq!(
            message("2147483648abc"),
            "invalid input syntax for type integer: \"2147483648abc\""
        );
        assert_eq!(message("2147483648"), "value \"2147483648\" is out of range for type integer");
        for bad in ["", " ", "-", "1 2", "1__0", "_1", "1_", "0x", "0b2", "1.5", "é"] {
            assert_eq!(message(bad), format!("invalid input syntax for type integer: \"{bad}\""));
        }
        for (good, value) in [
            (" 12 ", 12),
            ("-2147483648", i32::MIN),
            ("+7", 7),
            ("0x_1F", 31),
            ("1_000", 1000),
            ("0o17", 15),
            ("-0b11", -3),
            ("007", 7),
        ] {
            assert_eq!(parse_int4(good).unwrap(), value, "{good}");
        }
        assert_eq!(parse_int8("-9223372036854775808").unwrap(), i64::MIN);
        assert!(parse_int8("9223372036854775808").is_err());
        assert_eq!(parse_int2("-32768").unwrap(), i16::MIN);
        assert!(parse_int2("32768").is_err());
    }

    #[test]
    fn oids_are_read_as_c_reads_them() {
        assert_eq!(parse_uint32("4294967295", "oid").unwrap(), u32::MAX);
        assert_eq!(parse_uint32("-1", "oid").unwrap(), u32::MAX);
        assert_eq!(parse_uint32("0x10", "oid").unwrap(), 16);
        assert_eq!(
            parse_uint32("5000000000", "oid").unwrap_err().message(),
            "value \"5000000000\" is out of range for type oid"
        );
        assert!(parse_uint32("", "oid").is_err());
    }

    #[test]
    fn float_input_has_postgresqls_words_and_errors() {
        assert_eq!(parse_float8(" 1e3 ").unwrap(), 1000.0);
        assert_eq!(parse_float8("0x10").unwrap(), 16.0);
        assert_eq!(parse_float8("-0x1.8p1").unwrap(), -3.0);
        assert_eq!(parse_float8("-InF").unwrap(), f64::NEG_INFINITY);
        assert!(parse_float8("nan").unwrap().is_nan());
        assert_eq!(parse_float8("0e-999").unwrap(), 0.0);
        let message = |text| parse_float8(text).unwrap_err().message().to_string();
        assert_eq!(message("1e400"), "\"1e400\" is out of range for type double precision");
        assert_eq!(message("1e-400"), "\"1e-400\" is out of range for type double precision");
        for bad in ["", "1e", "nanx", ".", "1 2", "--1", "e5"] {
            assert_eq!(
                message(bad),
                format!("invalid input syntax for type double precision: \"{bad}\"")
            );
        }
        assert_eq!(
            parse_float4("1e40").unwrap_err().message(),
            "\"1e40\" is out of range for type real"
        );
    }

    proptest! {
        #[test]
        fn floats_read_back(bits in any::<u64>()) {
            let value = f64::from_bits(bits);
            prop_assume!(value.is_finite());
            prop_assert_eq!(parse_float8(&float8(value, 1)).unwrap(), value);
            let value = f32::from_bits(bits as u32);
            prop_assume!(value.is_finite());
            prop_assert_eq!(parse_float4(&float4(value, 1)).unwrap(), value);
        }

        #[test]
        fn integers_print_as_rust_prints_them(value in any::<i64>(), shift in 0..64u32) {
            let value = value >> shift;
            let mut out = Vec::new();
            write_int64(value, &mut out);
            prop_assert_eq!(String::from_utf8(out).unwrap(), value.to_string());
            prop_assert_eq!(parse_int8(&value.to_string()).unwrap(), value);
        }

        #[test]
        fn any_text_is_read_or_refused(text in "[-+0-9a-fxEenNiI_. ]{0,12}") {
            let _ = (parse_int4(&text), parse_float8(&text), parse_uint32(&text, "oid"));
        }
    }
}
