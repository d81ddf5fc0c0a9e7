//! pg_lsn: positions in the log, written as two halves in hexadecimal, `16/B374D848`
//! (src/backend/utils/adt/pg_lsn.c).

use crate::number_io::invalid_syntax;
use crate::numeric::Numeric;
use crate::{Error, Result, SqlState};

/// Digits that each half may have.
const HALF_DIGITS_MAX: usize = 8;

/// Reads a position. Unlike numbers it has no room for spaces.
pub fn parse(text: &str) -> Result<u64> {
    let half = |digits: &str| {
        let in_range = (1..=HALF_DIGITS_MAX).contains(&digits.len());
        let is_hexadecimal = digits.bytes().all(|b| b.is_ascii_hexdigit());
        let value = u32::from_str_radix(digits, 16).ok()?;
        (in_range && is_hexadecimal).then_some(u64::from(value))
    };
    let halves = text.split_once('/').and_then(|(high, low)| Some((half(high)?, half(low)?)));
    let (high, low) = halves.ok_or_else(|| invalid_syntax("pg_lsn", text))?;
    Ok(high << 32 | low)
}

/// A position's text.
pub fn shown(lsn: u64) -> String {
    format!("{:X}/{:X}", lsn >> 32, lsn as u32)
}

/// The bytes from `earlier` to `later`.
pub fn difference(later: u64, earlier: u64) -> Numeric {
    Numeric::from(i128::from(later) - i128::from(earlier))
}

/// The position of a number of bytes, rounded to the nearest.
pub fn from_numeric(bytes: &Numeric) -> Result<u64> {
    if !bytes.is_finite() {
        let kind = if bytes.is_nan() { "NaN" } else { "infinity" };
        let message = format!("cannot convert {kind} to pg_lsn");
        return Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, message));
    }
    let value = bytes.to_i128().and_then(|value| u64::try_from(value).ok());
    let message = "pg_lsn out of range";
    value.ok_or_else(|| Error::new(SqlState::INVALID_PARAMETER_VALUE, message))
}

/// The position `bytes` later.
pub fn plus(lsn: u64, bytes: &Numeric) -> Result<u64> {
    if bytes.is_nan() {
        return Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, "cannot add NaN to pg_lsn"));
    }
    from_numeric(&Numeric::from(lsn).add(bytes)?)
}

/// The position `bytes` earlier.
pub fn minus(lsn: u64, bytes: &Numeric) -> Result<u64> {
    if bytes.is_nan() {
        return Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, "cannot subtract NaN from pg_lsn"));
    }
    from_numeric(&Numeric::from(lsn).sub(bytes)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_read_back_as_written() {
        for lsn in [0, 1, 0xFFFF_FFFF, 1 << 32, u64::MAX] {
            assert_eq!(parse(&shown(lsn)).expect("a position"), lsn);
        }
        for wrong in ["", "/", "1/", "/1", " 1/2", "1/2 ", "+1/2", "000000001/0", "0/G", "1/2/3"] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
    }
}
