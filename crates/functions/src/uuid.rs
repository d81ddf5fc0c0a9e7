//! uuid generation and inspection (src/backend/utils/adt/uuid.c, RFC 9562).

use super::args::interval;
use super::{Entry, arg, scalar};
use crate::FnContext;
use std::sync::Arc;
use steppe_types::datetime::arith::timestamptz_plus_interval;
use steppe_types::datetime::calendar::{POSTGRES_EPOCH_JDATE, UNIX_EPOCH_JDATE, USECS_PER_DAY};
use steppe_types::{Datum, Error, Result, SqlState};

/// uuid functions by prosrc.
pub(super) const TABLE: &[Entry] = &[
    ("gen_random_uuid", scalar(|_, cx| Ok(uuid(marked(cx.host().random_bytes(), 4))))),
    ("uuidv7", scalar(|_, cx| version_7(cx.host().clock_timestamp(), cx))),
    ("uuidv7_interval", scalar(version_7_shifted)),
    ("uuid_extract_version", scalar(extract_version)),
    ("uuid_extract_timestamp", scalar(extract_timestamp)),
];

/// Microseconds from the Unix epoch to 2000-01-01.
const UNIX_TO_2000: i64 = (POSTGRES_EPOCH_JDATE - UNIX_EPOCH_JDATE) as i64 * USECS_PER_DAY;
/// 100-nanosecond steps from 1582-10-15, where version 1 counts from, to the Unix epoch.
const GREGORIAN_TO_UNIX: i64 = 122_192_928_000_000_000;

fn uuid(bytes: [u8; 16]) -> Datum {
    Datum::Uuid(Arc::new(bytes))
}

/// Sets version and variant.
fn marked(mut bytes: [u8; 16], version: u8) -> [u8; 16] {
    bytes[6] = bytes[6] & 0x0F | version << 4;
    bytes[8] = bytes[8] & 0x3F | 0x80;
    bytes
}

/// 48 bits of Unix milliseconds, 12 bits of the millisecond's fraction, the rest random.
fn version_7(at: i64, cx: &FnContext) -> Result<Datum> {
    let micros = at
        .checked_add(UNIX_TO_2000)
        .and_then(|micros| u64::try_from(micros).ok())
        .ok_or_else(|| Error::new(SqlState::DATETIME_FIELD_OVERFLOW, "timestamp out of range"))?;
    let mut bytes = cx.host().random_bytes();
    bytes[..6].copy_from_slice(&(micros / 1000).to_be_bytes()[2..]);
    let fraction = (micros % 1000 * 4096 / 1000) as u16;
    bytes[6..8].copy_from_slice(&fraction.to_be_bytes());
    Ok(uuid(marked(bytes, 7)))
}

fn version_7_shifted(args: &[Datum], cx: &mut FnContext) -> Result<Datum> {
    let zone = &cx.io.datetime.time_zone;
    let at = timestamptz_plus_interval(cx.host().clock_timestamp(), interval(args, 0)?, zone)?;
    version_7(at, cx)
}

/// Only RFC 9562's variant has versions.
fn version(bytes: &[u8; 16]) -> Option<u8> {
    (bytes[8] & 0xC0 == 0x80).then_some(bytes[6] >> 4)
}

fn extract_version(args: &[Datum], _: &mut FnContext) -> Result<Datum> {
    let version = version(arg(args, 0)?.as_uuid()?);
    Ok(version.map_or(Datum::Null, |v| Datum::Int2(i16::from(v))))
}

fn extract_timestamp(args: &[Datum], _: &mut FnContext) -> Result<Datum> {
    let bytes = arg(args, 0)?.as_uuid()?;
    let unix_micros = match version(bytes) {
        Some(1) => {
            let mut steps = [0; 8];
            steps[..2].copy_from_slice(&bytes[6..8]);
            steps[2..4].copy_from_slice(&bytes[4..6]);
            steps[4..].copy_from_slice(&bytes[..4]);
            let steps = i64::from_be_bytes(steps) & 0x0FFF_FFFF_FFFF_FFFF;
            (steps - GREGORIAN_TO_UNIX) / 10
        }
        Some(7) => {
            let mut millis = [0; 8];
            millis[2..].copy_from_slice(&bytes[..6]);
            i64::from_be_bytes(millis) * 1000
        }
        _ => return Ok(Datum::Null),
    };
    Ok(Datum::TimestampTz(unix_micros - UNIX_TO_2000))
}
