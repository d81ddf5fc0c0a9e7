//! Binary forms: the wire's, the stored one, and the order-preserving one for keys.
//!
//! Stored form (length known from outside):
//!
//! ```text
//!   00..12              dscale of a small value, then its mantissa as the fewest
//!                       little-endian two's complement bytes (none for 0)
//!   40 | sign           then dscale u16, weight i16, digits i16 each, little-endian
//!   80, 81, 82          NaN, Infinity, -Infinity
//! ```
//!
//! Memcomparable form (self-delimiting, byte order is numeric order):
//!
//! ```text
//!   0F                  -Infinity
//!   ~(positive form)    negative
//!   80                  zero
//!   81 eee | 82..E6 | E7 eee   positive: exponent class, digits
//!   F0, F1              Infinity, NaN
//! ```
//!
//! The exponent counts base-100 digits before the point. From -40 to 60 it is in the
//! first byte, outside in three more. A digit d is the byte 2d+1, the last one 2d, so
//! that a prefix sorts first and the end is known.

use super::var::{NBASE, Var};
use super::{DSCALE_MAX, Numeric, Repr, SMALL_MAX_DSCALE, WEIGHT_MAX};
use crate::error::{Error, Result, SqlState};

const WIRE_POS: u16 = 0x0000;
const WIRE_NEG: u16 = 0x4000;
const WIRE_NAN: u16 = 0xC000;
/// The scale that PostgreSQL reads from the stored header of an infinity, and sends.
const INFINITY_DSCALE: i32 = 0x20;
const WIRE_PINF: u16 = 0xD000;
const WIRE_NINF: u16 = 0xF000;

const STORED_BIG: u8 = 0x40;
const STORED_NAN: u8 = 0x80;
const STORED_PINF: u8 = 0x81;
const STORED_NINF: u8 = 0x82;

const KEY_NINF: u8 = 0x0F;
const KEY_ZERO: u8 = 0x80;
const KEY_TINY: u8 = 0x81;
const KEY_FIRST: u8 = 0x82;
const KEY_MIN_EXP: i32 = -40;
const KEY_MAX_EXP: i32 = 60;
const KEY_HUGE: u8 = 0xE7;
const KEY_PINF: u8 = 0xF0;
const KEY_NAN: u8 = 0xF1;
/// Makes an outlying exponent positive for its three bytes.
const KEY_EXP_BIAS: i32 = 1 << 23;

#[cold]
fn bad_wire(message: &str) -> Error {
    Error::new(SqlState::INVALID_BINARY_REPRESENTATION, message)
}

#[cold]
fn corrupt() -> Error {
    Error::new(SqlState::DATA_CORRUPTED, "invalid stored numeric value")
}

impl Numeric {
    /// Appends the wire's binary form (numeric_send).
    pub fn send(&self, out: &mut Vec<u8>) {
        let mut header = |ndigits: usize, weight: i32, sign: u16, dscale: i32| {
            out.extend_from_slice(&(ndigits as u16).to_be_bytes());
            out.extend_from_slice(&(weight as i16).to_be_bytes());
            out.extend_from_slice(&sign.to_be_bytes());
            out.extend_from_slice(&(dscale as u16).to_be_bytes());
        };
        match &self.0 {
            Repr::NaN => header(0, 0, WIRE_NAN, 0),
            Repr::PosInf => header(0, 0, WIRE_PINF, INFINITY_DSCALE),
            Repr::NegInf => header(0, 0, WIRE_NINF, INFINITY_DSCALE),
            _ => {
                let Some(v) = self.finite() else { return };
                let sign = if v.neg { WIRE_NEG } else { WIRE_POS };
                header(v.digits.len(), v.weight, sign, v.dscale);
                for digit in &v.digits {
                    out.extend_from_slice(&digit.to_be_bytes());
                }
            }
        }
    }

    /// Reads the wire's binary form (numeric_recv).
    pub fn receive(bytes: &[u8]) -> Result<Numeric> {
        let short =
            || Error::new(SqlState::PROTOCOL_VIOLATION, "insufficient data left in message");
        let mut words = bytes.chunks_exact(2).map(|c| u16::from_be_bytes([c[0], c[1]]));
        let mut word = || words.next().ok_or_else(short);
        let (ndigits, weight, sign, dscale) = (word()?, word()? as i16, word()?, word()?);
        match sign {
            WIRE_POS | WIRE_NEG => {}
            WIRE_NAN => return Ok(Numeric::NAN),
            WIRE_PINF => return Ok(Numeric::INFINITY),
            WIRE_NINF => return Ok(Numeric::NEG_INFINITY),
            _ => return Err(bad_wire("invalid sign in external \"numeric\" value")),
        }
        if dscale as i32 > DSCALE_MAX {
            return Err(bad_wire("invalid scale in external \"numeric\" value"));
        }
        let mut digits = Vec::with_capacity((ndigits as usize).min(bytes.len() / 2));
        for _ in 0..ndigits {
            let digit = word()?;
            if digit as i32 >= NBASE {
                return Err(bad_wire("invalid digit in external \"numeric\" value"));
            }
            digits.push(digit as i16);
        }
        if bytes.len() != 8 + 2 * ndigits as usize {
            return Err(bad_wire("incorrect binary data format"));
        }
        let neg = sign == WIRE_NEG;
        let mut var = Var { neg, weight: weight as i32, dscale: dscale as i32, digits };
        var.strip();
        // Digits past the declared scale would be invisible but count.
        var.trunc(dscale as i32);
        Numeric::from_var(var)
    }

    /// Appends the stored form.
    pub fn write_stored(&self, out: &mut Vec<u8>) {
        match &self.0 {
            Repr::Small { mantissa, dscale } => {
                out.push(*dscale);
                let bytes = mantissa.to_le_bytes();
                out.extend_from_slice(&bytes[..significant_bytes(*mantissa)]);
            }
            Repr::Big(v) => {
                out.push(STORED_BIG | v.neg as u8);
                out.extend_from_slice(&(v.dscale as u16).to_le_bytes());
                out.extend_from_slice(&(v.weight as i16).to_le_bytes());
                for digit in &v.digits {
                    out.extend_from_slice(&digit.to_le_bytes());
                }
            }
            Repr::NaN => out.push(STORED_NAN),
            Repr::PosInf => out.push(STORED_PINF),
            Repr::NegInf => out.push(STORED_NINF),
        }
    }

    /// Reads the stored form; XX001 if the bytes aren't one.
    pub fn read_stored(bytes: &[u8]) -> Result<Numeric> {
        if let Some((mantissa, dscale)) = Numeric::read_stored_small(bytes) {
            return Ok(Numeric(Repr::Small { mantissa, dscale }));
        }
        match bytes {
            [STORED_NAN] => Ok(Numeric::NAN),
            [STORED_PINF] => Ok(Numeric::INFINITY),
            [STORED_NINF] => Ok(Numeric::NEG_INFINITY),
            [tag, d0, d1, w0, w1, digits @ ..]
                if tag & !1 == STORED_BIG && digits.len() % 2 == 0 =>
            {
                let digits: Vec<i16> =
                    digits.chunks_exact(2).map(|c| i16::from_le_bytes([c[0], c[1]])).collect();
                if digits.iter().any(|d| !(0..NBASE as i16).contains(d)) {
                    return Err(corrupt());
                }
                let weight = i16::from_le_bytes([*w0, *w1]) as i32;
                let dscale = u16::from_le_bytes([*d0, *d1]) as i32;
                Numeric::from_var(Var { neg: tag & 1 == 1, weight, dscale, digits })
                    .map_err(|_| corrupt())
            }
            _ => Err(corrupt()),
        }
    }

    /// Mantissa and display scale of a small value, from its stored form; `None` if the bytes are
    /// not those of a small value.
    #[inline]
    pub fn read_stored_small(bytes: &[u8]) -> Option<(i64, u8)> {
        let (dscale, mantissa) = bytes.split_first()?;
        if *dscale > SMALL_MAX_DSCALE {
            return None;
        }
        // Those of most numbers without a copy of unknown length.
        let mantissa = match *mantissa {
            [] => 0,
            [a] => i64::from(a as i8),
            [a, b] => i64::from(i16::from_le_bytes([a, b])),
            [a, b, c] => i64::from(i32::from_le_bytes([0, a, b, c]) >> 8),
            [a, b, c, d] => i64::from(i32::from_le_bytes([a, b, c, d])),
            [a, b, c, d, e] => i64::from_le_bytes([0, 0, 0, a, b, c, d, e]) >> 24,
            [a, b, c, d, e, f] => i64::from_le_bytes([0, 0, a, b, c, d, e, f]) >> 16,
            [a, b, c, d, e, f, g] => i64::from_le_bytes([0, a, b, c, d, e, f, g]) >> 8,
            [a, b, c, d, e, f, g, h] => i64::from_le_bytes([a, b, c, d, e, f, g, h]),
            _ => return None,
        };
        Some((mantissa, *dscale))
    }

    /// Appends the order-preserving form. Display scale isn't kept: equal values give
    /// equal bytes.
    pub fn write_memcomparable(&self, out: &mut Vec<u8>) {
        match &self.0 {
            Repr::NaN => return out.push(KEY_NAN),
            Repr::PosInf => return out.push(KEY_PINF),
            Repr::NegInf => return out.push(KEY_NINF),
            _ => {}
        }
        let Some(v) = self.finite() else { return };
        if v.is_zero() {
            return out.push(KEY_ZERO);
        }
        let start = out.len();
        let leading_pair = v.digits[0] >= 100;
        let exponent = v.weight * 2 + 1 + i32::from(leading_pair);
        match exponent {
            KEY_MIN_EXP..=KEY_MAX_EXP => out.push(KEY_FIRST + (exponent - KEY_MIN_EXP) as u8),
            _ => {
                out.push(if exponent < 0 { KEY_TINY } else { KEY_HUGE });
                out.extend_from_slice(&((exponent + KEY_EXP_BIAS) as u32).to_be_bytes()[1..]);
            }
        }
        for digit in &v.digits {
            out.push((digit / 100) as u8 * 2 + 1);
            out.push((digit % 100) as u8 * 2 + 1);
        }
        // Zeros around the digits, which base 10000 has and base 100 does not.
        let digits = out.len() - 2 * v.digits.len();
        if out.last() == Some(&1) {
            out.pop();
        }
        if !leading_pair {
            out.remove(digits);
        }
        if let Some(last) = out.last_mut() {
            *last -= 1;
        }
        if v.neg {
            out[start..].iter_mut().for_each(|b| *b = !*b);
        }
    }

    /// Reads the order-preserving form from the front of `bytes`: the value, with its
    /// smallest display scale, and how many bytes it took.
    pub fn read_memcomparable(bytes: &[u8]) -> Result<(Numeric, usize)> {
        let first = *bytes.first().ok_or_else(corrupt)?;
        match first {
            KEY_NAN => return Ok((Numeric::NAN, 1)),
            KEY_PINF => return Ok((Numeric::INFINITY, 1)),
            KEY_NINF => return Ok((Numeric::NEG_INFINITY, 1)),
            KEY_ZERO => return Ok((Numeric::ZERO, 1)),
            _ => {}
        }
        let neg = first < KEY_ZERO;
        let byte = |i: usize| bytes.get(i).map(|b| if neg { !*b } else { *b }).ok_or_else(corrupt);
        let (exponent, mut at) = match byte(0)? {
            KEY_TINY | KEY_HUGE => {
                let biased = u32::from_be_bytes([0, byte(1)?, byte(2)?, byte(3)?]);
                (biased as i32 - KEY_EXP_BIAS, 4)
            }
            head @ KEY_FIRST..KEY_HUGE => ((head - KEY_FIRST) as i32 + KEY_MIN_EXP, 1),
            _ => return Err(corrupt()),
        };
        let mut decimal = Vec::new();
        loop {
            let b = byte(at)?;
            at += 1;
            if b > 199 {
                return Err(corrupt());
            }
            decimal.extend_from_slice(&[b / 2 / 10, b / 2 % 10]);
            if b % 2 == 0 {
                break;
            }
        }
        let dweight = exponent * 2 - 1;
        if dweight.abs() > (WEIGHT_MAX + 1) * 4 {
            return Err(corrupt());
        }
        let mut var = Var::from_decimal(neg, &decimal, dweight, 0);
        var.dscale = var.min_scale();
        Ok((Numeric::from_var(var).map_err(|_| corrupt())?, at))
    }
}

/// The fewest two's complement bytes that hold `v`.
fn significant_bytes(v: i64) -> usize {
    if v == 0 {
        return 0;
    }
    let sign_bits = if v < 0 { v.leading_ones() } else { v.leading_zeros() };
    // One sign bit must stay.
    (64 - sign_bits as usize) / 8 + 1
}
