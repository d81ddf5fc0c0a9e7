//! Operators of date, time, timestamp and interval, AT TIME ZONE, OVERLAPS
//! (src/backend/utils/adt/date.c, timestamp.c); [`steppe_types::datetime::arith`] has the
//! arithmetic.

use super::args::{
    date, float8, given, int4, interval, interval_datum, moment, time, timetz, zone, zone_named,
};
use super::{Entry, arg, scalar};
use crate::FnContext;
use steppe_types::datetime::arith as dt;
use steppe_types::datetime::{TimeZone, is_infinite_timestamp};
use steppe_types::interval::Interval;
use steppe_types::{Datum, Error, Result};

/// Date/time operators by prosrc.
pub(super) const TABLE: &[Entry] = &[
    ("date_pli", scalar(|a, _| dt::date_plus_days(date(a, 0)?, int4(a, 1)?).map(Datum::Date))),
    ("date_mii", scalar(|a, _| dt::date_minus_days(date(a, 0)?, int4(a, 1)?).map(Datum::Date))),
    ("date_mi", scalar(|a, _| dt::date_minus_date(date(a, 0)?, date(a, 1)?).map(Datum::Int4))),
    ("date_pl_interval", scalar(|a, cx| add_span(a, 0, 1, cx))),
    ("date_mi_interval", scalar(subtract_span)),
    ("datetime_timestamp", scalar(date_and_time)),
    ("datetimetz_timestamptz", scalar(date_and_timetz)),
    ("time_pl_interval", scalar(|a, cx| add_span(a, 0, 1, cx))),
    ("time_mi_interval", scalar(subtract_span)),
    ("time_mi_time", scalar(|a, _| span(dt::time_minus_time(time(a, 0)?, time(a, 1)?)))),
    ("timetz_pl_interval", scalar(|a, cx| add_span(a, 0, 1, cx))),
    ("timetz_mi_interval", scalar(subtract_span)),
    ("timestamp_pl_interval", scalar(|a, cx| add_span(a, 0, 1, cx))),
    ("timestamp_mi_interval", scalar(subtract_span)),
    ("timestamptz_pl_interval", scalar(|a, cx| add_span(a, 0, 1, cx))),
    ("timestamptz_mi_interval", scalar(subtract_span)),
    ("timestamptz_pl_interval_at_zone", scalar(add_at_zone)),
    ("timestamptz_mi_interval_at_zone", scalar(subtract_at_zone)),
    (
        "timestamp_mi",
        scalar(|a, _| span(dt::timestamp_minus_timestamp(moment(a, 0)?, moment(a, 1)?)?)),
    ),
    ("interval_um", scalar(|a, _| span(interval(a, 0)?.checked_neg()?))),
    ("interval_pl", scalar(|a, _| span(interval(a, 0)?.checked_add(interval(a, 1)?)?))),
    ("interval_mi", scalar(|a, _| span(interval(a, 0)?.checked_sub(interval(a, 1)?)?))),
    ("interval_mul", scalar(|a, _| span(interval(a, 0)?.mul(float8(a, 1)?)?))),
    ("mul_d_interval", scalar(|a, _| span(interval(a, 1)?.mul(float8(a, 0)?)?))),
    ("interval_div", scalar(|a, _| span(interval(a, 0)?.div(float8(a, 1)?)?))),
    ("timestamp_zone", scalar(|a, cx| at_zone(a, || zone_named(a, 0, cx)))),
    ("timestamptz_zone", scalar(|a, cx| at_zone(a, || zone_named(a, 0, cx)))),
    ("timestamp_izone", scalar(|a, _| at_zone(a, || displacement(a)))),
    ("timestamptz_izone", scalar(|a, _| at_zone(a, || displacement(a)))),
    ("timetz_zone", scalar(|a, cx| timetz_at(timetz(a, 1)?, &zone_named(a, 0, cx)?, cx))),
    ("timetz_izone", scalar(|a, cx| timetz_at(timetz(a, 1)?, &displacement(a)?, cx))),
    ("timestamp_at_local", scalar(at_local)),
    ("timestamptz_at_local", scalar(at_local)),
    ("timetz_at_local", scalar(|a, cx| timetz_at(timetz(a, 0)?, zone(cx), cx))),
    ("overlaps_timestamp", scalar(overlaps)),
    ("overlaps_time", scalar(overlaps)),
    ("overlaps_timetz", scalar(overlaps)),
];

fn span(value: Interval) -> Result<Datum> {
    Ok(interval_datum(value))
}

/// `args[at] + args[by]`, where `args[by]` is the interval.
pub(super) fn add_span(args: &[Datum], at: usize, by: usize, cx: &FnContext) -> Result<Datum> {
    plus(arg(args, at)?, interval(args, by)?, cx)
}

/// A date/time plus an interval; a date becomes a timestamp.
fn plus(value: &Datum, span: &Interval, cx: &FnContext) -> Result<Datum> {
    Ok(match value {
        Datum::Date(v) => {
            Datum::Timestamp(dt::timestamp_plus_interval(dt::date_to_timestamp(*v)?, span)?)
        }
        Datum::Time(v) => Datum::Time(dt::time_plus_interval(*v, span)?),
        Datum::TimeTz(v, west) => Datum::TimeTz(dt::time_plus_interval(*v, span)?, *west),
        Datum::Timestamp(v) => Datum::Timestamp(dt::timestamp_plus_interval(*v, span)?),
        Datum::TimestampTz(v) => {
            Datum::TimestampTz(dt::timestamptz_plus_interval(*v, span, zone(cx))?)
        }
        _ => return Err(Error::internal("expected a date or time")),
    })
}

pub(super) fn subtract_span(args: &[Datum], cx: &mut FnContext) -> Result<Datum> {
    let span = interval(args, 1)?;
    Ok(match arg(args, 0)? {
        Datum::Date(v) => {
            Datum::Timestamp(dt::timestamp_minus_interval(dt::date_to_timestamp(*v)?, span)?)
        }
        Datum::Time(v) => Datum::Time(dt::time_minus_interval(*v, span)?),
        Datum::TimeTz(v, west) => Datum::TimeTz(dt::time_minus_interval(*v, span)?, *west),
        Datum::Timestamp(v) => Datum::Timestamp(dt::timestamp_minus_interval(*v, span)?),
        Datum::TimestampTz(v) => {
            Datum::TimestampTz(dt::timestamptz_minus_interval(*v, span, zone(cx))?)
        }
        _ => return Err(Error::internal("expected a date or time")),
    })
}

/// `date_add(timestamptz, interval, zone)`
fn add_at_zone(args: &[Datum], cx: &mut FnContext) -> Result<Datum> {
    let zone = zone_named(args, 2, cx)?;
    dt::timestamptz_plus_interval(moment(args, 0)?, interval(args, 1)?, &zone)
        .map(Datum::TimestampTz)
}

fn subtract_at_zone(args: &[Datum], cx: &mut FnContext) -> Result<Datum> {
    let zone = zone_named(args, 2, cx)?;
    dt::timestamptz_minus_interval(moment(args, 0)?, interval(args, 1)?, &zone)
        .map(Datum::TimestampTz)
}

fn date_and_time(args: &[Datum], _: &mut FnContext) -> Result<Datum> {
    dt::date_plus_time(date(args, 0)?, time(args, 1)?).map(Datum::Timestamp)
}

fn date_and_timetz(args: &[Datum], _: &mut FnContext) -> Result<Datum> {
    let (time, west) = timetz(args, 1)?;
    dt::date_plus_timetz(date(args, 0)?, time, west).map(Datum::TimestampTz)
}

/// `timezone(zone, timestamp or timestamptz)`: each becomes the other.
fn at_zone(args: &[Datum], zone: impl Fn() -> Result<TimeZone>) -> Result<Datum> {
    // An infinity stays an infinity in any zone.
    let moment = match arg(args, 1)? {
        Datum::Timestamp(v) if is_infinite_timestamp(*v) => return Ok(Datum::TimestampTz(*v)),
        Datum::TimestampTz(v) if is_infinite_timestamp(*v) => return Ok(Datum::Timestamp(*v)),
        finite => finite,
    };
    convert(moment, &zone()?)
}

/// The zone that the first argument gives as a displacement.
fn displacement(args: &[Datum]) -> Result<TimeZone> {
    dt::interval_zone(interval(args, 0)?)
}

fn at_local(args: &[Datum], cx: &mut FnContext) -> Result<Datum> {
    convert(arg(args, 0)?, zone(cx))
}

fn convert(value: &Datum, zone: &TimeZone) -> Result<Datum> {
    match value {
        Datum::Timestamp(v) => dt::timestamp_to_timestamptz(*v, zone).map(Datum::TimestampTz),
        Datum::TimestampTz(v) => dt::timestamptz_to_timestamp(*v, zone).map(Datum::Timestamp),
        _ => Err(Error::internal("expected a timestamp")),
    }
}

fn timetz_at(value: (i64, i32), zone: &TimeZone, cx: &FnContext) -> Result<Datum> {
    let (time, west) = dt::timetz_at_zone(value, zone, cx.transaction_timestamp);
    Ok(Datum::TimeTz(time, west))
}

/// `(start, end) OVERLAPS (start, end)`; an interval as an end is a length.
pub(super) fn overlaps(args: &[Datum], cx: &mut FnContext) -> Result<Datum> {
    let end = |start: usize| -> Result<Datum> {
        match (given(args, start), given(args, start + 1)) {
            (Some(from), Some(Datum::Interval(span))) => plus(from, span, cx),
            (None, Some(Datum::Interval(_))) | (_, None) => Ok(Datum::Null),
            (_, Some(end)) => Ok(end.clone()),
        }
    };
    let first = (ordinal(arg(args, 0)?)?, ordinal(&end(0)?)?);
    let second = (ordinal(arg(args, 2)?)?, ordinal(&end(2)?)?);
    Ok(dt::overlaps(first, second).map_or(Datum::Null, Datum::Bool))
}

/// The sort key of a moment: for timetz its instant, then its zone.
fn ordinal(value: &Datum) -> Result<Option<(i64, i32)>> {
    Ok(Some(match value {
        Datum::Null => return Ok(None),
        Datum::Timestamp(v) | Datum::TimestampTz(v) | Datum::Time(v) => (*v, 0),
        Datum::TimeTz(time, west) => (time + i64::from(*west) * 1_000_000, *west),
        _ => return Err(Error::internal("expected a time or timestamp")),
    }))
}
