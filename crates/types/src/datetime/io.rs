//! Input and output functions of the date/time types: text, binary, type modifier.
//!
//! Text input takes the settings and the statement's timestamp (`now`, microseconds
//! since 2000 UTC), which `'today'` and its like refer to. Binary forms are the
//! wire's: big-endian days or microseconds since 2000.

use super::calendar::{
    POSTGRES_EPOCH_JDATE, Tm, UNIX_EPOCH_JDATE, USECS_PER_DAY, USECS_PER_SEC, is_valid_date,
    is_valid_timestamp,
};
use super::config::DateTimeConfig;
use super::decode::{Decoded, Decoder};
use super::decode_interval::{decode_interval, decode_iso8601};
use super::encode;
use super::plain;
use super::token::{Fault, split};
use super::{DATE_INFINITY, DATE_NEG_INFINITY, TIMESTAMP_INFINITY, TIMESTAMP_NEG_INFINITY, zone};
use crate::error::{Error, Result, SqlState};
use crate::interval::{self, Interval, IntervalFields, round_micros};

/// Largest zone displacement in a binary timetz (seconds).
const MAX_ZONE_SECONDS: i32 = 15 * 3600 + 59 * 60 + 59;

/// Explains a fault (DateTimeParseError).
#[cold]
fn fault_error(fault: Fault, input: &str, ty: &str) -> Error {
    let overflow = || {
        Error::new(
            SqlState::DATETIME_FIELD_OVERFLOW,
            format!("date/time field value out of range: \"{input}\""),
        )
    };
    match fault {
        Fault::FieldOverflow => overflow(),
        Fault::MonthDayOverflow => {
            overflow().hint("Perhaps you need a different \"DateStyle\" setting.")
        }
        Fault::IntervalOverflow => Error::new(
            SqlState::INTERVAL_FIELD_OVERFLOW,
            format!("interval field value out of range: \"{input}\""),
        ),
        Fault::ZoneOverflow => Error::new(
            SqlState::INVALID_TIME_ZONE_DISPLACEMENT_VALUE,
            format!("time zone displacement out of range: \"{input}\""),
        ),
        Fault::BadZone(name) => zone::not_recognized(&name),
        Fault::BadFormat => Error::new(
            SqlState::INVALID_DATETIME_FORMAT,
            format!("invalid input syntax for type {ty}: \"{input}\""),
        ),
    }
}

#[cold]
fn out_of_range(what: &str, input: &str) -> Error {
    Error::new(SqlState::DATETIME_FIELD_OVERFLOW, format!("{what} out of range: \"{input}\""))
}

/// Reads a date and time.
fn decode(
    input: &str,
    ty: &str,
    config: &DateTimeConfig,
    now: i64,
    time_only: bool,
) -> Result<Decoded> {
    split(input)
        .and_then(|fields| {
            if fields.is_empty() {
                return Err(Fault::BadFormat);
            }
            Decoder::new(config, now, time_only).decode(&fields)
        })
        .map_err(|fault| fault_error(fault, input, ty))
}

/// Input of date.
pub fn date_in(input: &str, config: &DateTimeConfig, now: i64) -> Result<i32> {
    if let Some(date) = plain::date(input.as_bytes()) {
        return Ok(date);
    }
    match decode(input, "date", config, now, false)? {
        Decoded::At(tm, _) => tm.to_date().ok_or_else(|| out_of_range("date", input)),
        Decoded::Epoch => Ok(UNIX_EPOCH_JDATE - POSTGRES_EPOCH_JDATE),
        Decoded::Infinity => Ok(DATE_INFINITY),
        Decoded::NegInfinity => Ok(DATE_NEG_INFINITY),
    }
}

/// Output of date.
pub fn date_out(date: i32, config: &DateTimeConfig, out: &mut Vec<u8>) {
    match date {
        DATE_INFINITY => out.extend_from_slice(b"infinity"),
        DATE_NEG_INFINITY => out.extend_from_slice(b"-infinity"),
        _ => encode::encode_date(&Tm::from_date(date), config, out),
    }
}

/// Input of time; the type modifier is the number of digits of a second, -1 for all.
pub fn time_in(input: &str, typmod: i32, config: &DateTimeConfig, now: i64) -> Result<i64> {
    match decode(input, "time", config, now, true)? {
        Decoded::At(tm, _) => Ok(time_typmod(tm.time(), typmod)),
        _ => Err(fault_error(Fault::BadFormat, input, "time")),
    }
}

/// Output of time.
pub fn time_out(time: i64, out: &mut Vec<u8>) {
    encode::encode_time(&Tm::from_time(time), out);
}

/// Input of timetz: microseconds and seconds *west* of UTC, as they are stored.
pub fn timetz_in(
    input: &str,
    typmod: i32,
    config: &DateTimeConfig,
    now: i64,
) -> Result<(i64, i32)> {
    match decode(input, "time with time zone", config, now, true)? {
        Decoded::At(tm, offset) => Ok((time_typmod(tm.time(), typmod), -offset)),
        _ => Err(fault_error(Fault::BadFormat, input, "time with time zone")),
    }
}

/// Output of timetz; the zone in seconds west of UTC.
pub fn timetz_out(time: i64, west: i32, out: &mut Vec<u8>) {
    time_out(time, out);
    encode::encode_offset(-west, out);
}

/// The instant of the Unix epoch.
const UNIX_EPOCH: i64 = (UNIX_EPOCH_JDATE - POSTGRES_EPOCH_JDATE) as i64 * USECS_PER_DAY;

fn timestamp_of(
    decoded: Decoded,
    input: &str,
    typmod: i32,
    convert: impl Fn(Tm, i32) -> Option<i64>,
) -> Result<i64> {
    match decoded {
        Decoded::At(tm, offset) => convert(tm, offset)
            .and_then(|t| timestamp_typmod(t, typmod).ok())
            .ok_or_else(|| out_of_range("timestamp", input)),
        Decoded::Epoch => Ok(UNIX_EPOCH),
        Decoded::Infinity => Ok(TIMESTAMP_INFINITY),
        Decoded::NegInfinity => Ok(TIMESTAMP_NEG_INFINITY),
    }
}

/// Input of timestamp: a zone in the text is read and ignored.
pub fn timestamp_in(input: &str, typmod: i32, config: &DateTimeConfig, now: i64) -> Result<i64> {
    if let Some(timestamp) = plain::timestamp(input.as_bytes()) {
        let rounded = timestamp_typmod(timestamp, typmod);
        return rounded.map_err(|_| out_of_range("timestamp", input));
    }
    let decoded = decode(input, "timestamp", config, now, false)?;
    timestamp_of(decoded, input, typmod, |tm, _| tm.to_timestamp())
}

/// Output of timestamp.
pub fn timestamp_out(timestamp: i64, config: &DateTimeConfig, out: &mut Vec<u8>) {
    match timestamp {
        TIMESTAMP_INFINITY => out.extend_from_slice(b"infinity"),
        TIMESTAMP_NEG_INFINITY => out.extend_from_slice(b"-infinity"),
        _ => encode::encode_timestamp(&Tm::from_timestamp(timestamp), None, config, out),
    }
}

/// Input of timestamptz.
pub fn timestamptz_in(input: &str, typmod: i32, config: &DateTimeConfig, now: i64) -> Result<i64> {
    if let Some(timestamp) = plain::timestamptz(input.as_bytes()) {
        let rounded = timestamp_typmod(timestamp, typmod);
        return rounded.map_err(|_| out_of_range("timestamp", input));
    }
    let decoded = decode(input, "timestamp with time zone", config, now, false)?;
    timestamp_of(decoded, input, typmod, |tm, offset| tm.to_timestamp_at(offset))
}

/// Output of timestamptz, in the session's zone.
pub fn timestamptz_out(timestamp: i64, config: &DateTimeConfig, out: &mut Vec<u8>) {
    match timestamp {
        TIMESTAMP_INFINITY => out.extend_from_slice(b"infinity"),
        TIMESTAMP_NEG_INFINITY => out.extend_from_slice(b"-infinity"),
        _ => {
            let info = config.time_zone.info_at(timestamp);
            let local = timestamp.saturating_add(info.offset as i64 * USECS_PER_SEC);
            encode::encode_timestamp(&Tm::from_timestamp(local), Some(&info), config, out);
        }
    }
}

/// Input of interval.
pub fn interval_in(input: &str, typmod: i32, config: &DateTimeConfig) -> Result<Interval> {
    let fields = match typmod {
        ..0 => IntervalFields::ALL,
        _ => IntervalFields((typmod >> 16 & 0x7FFF) as u16),
    };
    let mut decoded = split(input).and_then(|f| decode_interval(&f, fields, config.interval_style));
    if decoded == Err(Fault::BadFormat) {
        decoded = decode_iso8601(input.trim_end());
    }
    match decoded {
        Ok(Some(interval)) => interval.apply_typmod(typmod),
        Ok(None) => Err(interval::out_of_range()),
        Err(Fault::FieldOverflow) => Err(fault_error(Fault::IntervalOverflow, input, "interval")),
        Err(fault) => Err(fault_error(fault, input, "interval")),
    }
}

/// Output of interval.
pub fn interval_out(interval: &Interval, config: &DateTimeConfig, out: &mut Vec<u8>) {
    match interval.infinity() {
        Some(true) => out.extend_from_slice(b"infinity"),
        Some(false) => out.extend_from_slice(b"-infinity"),
        None => encode::encode_interval(interval, config.interval_style, out),
    }
}

/// Rounds a time to the digits of a type modifier (AdjustTimeForTypmod).
pub fn time_typmod(time: i64, typmod: i32) -> i64 {
    // A time of day is far from overflowing.
    round_micros(time, typmod).unwrap_or(time)
}

/// Rounds a timestamp to the digits of a type modifier (AdjustTimestampForTypmod).
pub fn timestamp_typmod(timestamp: i64, typmod: i32) -> Result<i64> {
    if super::is_infinite_timestamp(timestamp) {
        return Ok(timestamp);
    }
    round_micros(timestamp, typmod)
        .filter(|t| is_valid_timestamp(*t))
        .ok_or_else(super::timestamp_out_of_range)
}

#[cold]
fn bad_length() -> Error {
    Error::new(SqlState::INVALID_BINARY_REPRESENTATION, "incorrect binary data format")
}

fn fixed<const N: usize>(bytes: &[u8]) -> Result<[u8; N]> {
    if bytes.len() < N {
        let message = "insufficient data left in message";
        return Err(Error::new(SqlState::PROTOCOL_VIOLATION, message));
    }
    bytes.try_into().map_err(|_| bad_length())
}

/// Binary input of date.
pub fn date_recv(bytes: &[u8]) -> Result<i32> {
    let date = i32::from_be_bytes(fixed(bytes)?);
    if super::is_infinite_date(date) || is_valid_date(date as i64) {
        Ok(date)
    } else {
        Err(super::date_out_of_range())
    }
}

/// Binary input of time.
pub fn time_recv(bytes: &[u8], typmod: i32) -> Result<i64> {
    let time = i64::from_be_bytes(fixed(bytes)?);
    if !(0..=USECS_PER_DAY).contains(&time) {
        return Err(Error::new(SqlState::DATETIME_FIELD_OVERFLOW, "time out of range"));
    }
    Ok(time_typmod(time, typmod))
}

/// Binary input of timetz.
pub fn timetz_recv(bytes: &[u8], typmod: i32) -> Result<(i64, i32)> {
    let bytes: [u8; 12] = fixed(bytes)?;
    let (time, zone) = bytes.split_at(8);
    let time = time_recv(time, typmod)?;
    let west = i32::from_be_bytes(fixed(zone)?);
    if west.unsigned_abs() > MAX_ZONE_SECONDS as u32 {
        return Err(Error::new(
            SqlState::INVALID_TIME_ZONE_DISPLACEMENT_VALUE,
            "time zone displacement out of range",
        ));
    }
    Ok((time, west))
}

/// Binary input of timestamp and timestamptz.
pub fn timestamp_recv(bytes: &[u8], typmod: i32) -> Result<i64> {
    let timestamp = i64::from_be_bytes(fixed(bytes)?);
    if super::is_infinite_timestamp(timestamp) {
        return Ok(timestamp);
    }
    if !is_valid_timestamp(timestamp) {
        return Err(super::timestamp_out_of_range());
    }
    timestamp_typmod(timestamp, typmod)
}

/// Binary input of interval.
pub fn interval_recv(bytes: &[u8], typmod: i32) -> Result<Interval> {
    let bytes: [u8; 16] = fixed(bytes)?;
    let (micros, rest) = bytes.split_at(8);
    let (days, months) = rest.split_at(4);
    Interval {
        micros: i64::from_be_bytes(fixed(micros)?),
        days: i32::from_be_bytes(fixed(days)?),
        months: i32::from_be_bytes(fixed(months)?),
    }
    .apply_typmod(typmod)
}

/// Binary output of date.
pub fn date_send(date: i32, out: &mut Vec<u8>) {
    out.extend_from_slice(&date.to_be_bytes());
}

/// Binary output of time, timestamp and timestamptz.
pub fn micros_send(micros: i64, out: &mut Vec<u8>) {
    out.extend_from_slice(&micros.to_be_bytes());
}

/// Binary output of timetz.
pub fn timetz_send(time: i64, west: i32, out: &mut Vec<u8>) {
    out.extend_from_slice(&time.to_be_bytes());
    out.extend_from_slice(&west.to_be_bytes());
}

/// Binary output of interval.
pub fn interval_send(interval: &Interval, out: &mut Vec<u8>) {
    out.extend_from_slice(&interval.micros.to_be_bytes());
    out.extend_from_slice(&interval.days.to_be_bytes());
    out.extend_from_slice(&interval.months.to_be_bytes());
}
