//! Formats sizes, which the server measures (src/backend/utils/adt/dbsize.c).

use super::args::{int, numeric, text, text_datum};
use super::{Entry, scalar, typed};
use crate::FnContext;
use steppe_types::numeric::Numeric;
use steppe_types::{Datum, Error, Result, SqlState};

/// Size functions by prosrc.
pub(super) const TABLE: &[Entry] = &[
    ("pg_relation_filepath", typed(|_, call, _| Err(call.not_in_this_context()))),
    ("pg_size_pretty", scalar(|a, _| pretty(&Numeric::from(int(a, 0)?)))),
    ("pg_size_pretty_numeric", scalar(|a, _| pretty(numeric(a, 0)?))),
    ("pg_size_bytes", scalar(size_bytes)),
];

/// Units: name, the size below which it is used, and how many of the next smaller
/// unit make one.
const UNITS: [(&str, i64); 6] = [
    ("bytes", 10 * 1024),
    ("kB", 20 * 1024 - 1),
    ("MB", 20 * 1024 - 1),
    ("GB", 20 * 1024 - 1),
    ("TB", 20 * 1024 - 1),
    ("PB", 20 * 1024 - 1),
];

/// The unit in which the size is below its limit. Past bytes the number counts
/// halves, so that the last step rounds.
fn pretty(size: &Numeric) -> Result<Datum> {
    if !size.is_finite() {
        return text_datum(format!("{size} {}", UNITS[UNITS.len() - 1].0));
    }
    let mut value = size.clone();
    for (i, (name, limit)) in UNITS.iter().enumerate() {
        let last = i + 1 == UNITS.len();
        if last || value.abs() < Numeric::from(*limit) {
            if i > 0 {
                value = half_rounded(&value)?;
            }
            return text_datum(format!("{value} {name}"));
        }
        // From bytes to halves of kB, then from halves to halves.
        let divisor = if i == 0 { 512 } else { 1024 };
        value = value.div_trunc(&Numeric::from(divisor as i64))?;
    }
    Err(Error::internal("no unit for a size"))
}

/// Half of the value, rounded away from zero.
fn half_rounded(value: &Numeric) -> Result<Numeric> {
    let one = Numeric::from(i64::from(value.signum()));
    value.add(&one)?.div_trunc(&Numeric::from(2i64))
}

/// `pg_size_bytes('1.5 MB')`
fn size_bytes(args: &[Datum], _: &mut FnContext) -> Result<Datum> {
    let source = text(args, 0)?;
    let invalid =
        || Error::new(SqlState::INVALID_PARAMETER_VALUE, format!("invalid size: \"{source}\""));
    let trimmed = source.trim();
    let number_end = number_length(trimmed);
    let number = Numeric::parse(&trimmed[..number_end]).map_err(|_| invalid())?;
    let unit = trimmed[number_end..].trim();
    let power = match unit.to_ascii_lowercase().as_str() {
        "" | "b" | "bytes" => 0,
        "kb" => 10,
        "mb" => 20,
        "gb" => 30,
        "tb" => 40,
        "pb" => 50,
        _ => {
            return Err(invalid().detail(format!("Invalid size unit: \"{unit}\".")).hint(
                "Valid units are \"bytes\", \"B\", \"kB\", \"MB\", \"GB\", \"TB\", and \"PB\".",
            ));
        }
    };
    number.mul(&Numeric::from(1i64 << power))?.to_i64().map(Datum::Int8)
}

/// Bytes of the number a text begins with: sign, digits, point, exponent.
fn number_length(text: &str) -> usize {
    let bytes = text.as_bytes();
    let digits = |from: usize| bytes[from..].iter().take_while(|b| b.is_ascii_digit()).count();
    let mut at = usize::from(matches!(bytes.first(), Some(b'+' | b'-')));
    at += digits(at);
    if bytes.get(at) == Some(&b'.') {
        at += 1;
        at += digits(at);
    }
    if matches!(bytes.get(at), Some(b'e' | b'E')) {
        let sign = usize::from(matches!(bytes.get(at + 1), Some(b'+' | b'-')));
        let exponent = digits((at + 1 + sign).min(bytes.len()));
        if exponent > 0 {
            at += 1 + sign + exponent;
        }
    }
    at
}
