//! Date and time: date, time, timetz, timestamp, timestamptz and interval
//! (datetime.c, date.c, timestamp.c and formatting.c of src/backend/utils/adt).
//!
//! | type | representation |
//! |---|---|
//! | date | days since 2000-01-01 |
//! | time | microseconds since midnight |
//! | timetz | the same, and the zone in seconds *west* of UTC |
//! | timestamp | microseconds since 2000-01-01 |
//! | timestamptz | microseconds since 2000-01-01 00:00 UTC |
//! | interval | months, days, microseconds |
//!
//! The extreme values of date and the timestamps are -infinity and infinity. Reading turns text
//! into fields (`token`), a broken-down time (`decode`) and a value (`io`). Writing turns a value
//! into a broken-down time and then into text (`encode`).

mod abbrev;
pub mod arith;
pub mod calendar;
mod config;
mod decode;
mod decode_interval;
mod encode;
pub mod fields;
pub mod format;
pub mod io;
mod plain;
#[cfg(test)]
mod tests;
pub(crate) mod token;
mod zone;

pub use config::{
    DateOrder, DateStyle, DateTimeConfig, IntervalStyle, parse_date_style, parse_interval_style,
};
pub use zone::{AbbrevShown, TimeZone, ZoneInfo};

use crate::error::{Error, SqlState};

/// The date infinity.
pub const DATE_INFINITY: i32 = i32::MAX;
/// The date -infinity.
pub const DATE_NEG_INFINITY: i32 = i32::MIN;
/// The timestamp infinity.
pub const TIMESTAMP_INFINITY: i64 = i64::MAX;
/// The timestamp -infinity.
pub const TIMESTAMP_NEG_INFINITY: i64 = i64::MIN;

/// Whether a date is one of the infinities.
pub fn is_infinite_date(date: i32) -> bool {
    matches!(date, DATE_INFINITY | DATE_NEG_INFINITY)
}

/// Whether a timestamp is one of the infinities.
pub fn is_infinite_timestamp(timestamp: i64) -> bool {
    matches!(timestamp, TIMESTAMP_INFINITY | TIMESTAMP_NEG_INFINITY)
}

#[cold]
fn date_out_of_range() -> Error {
    Error::new(SqlState::DATETIME_FIELD_OVERFLOW, "date out of range")
}

#[cold]
fn timestamp_out_of_range() -> Error {
    Error::new(SqlState::DATETIME_FIELD_OVERFLOW, "timestamp out of range")
}
