//! Date and time functions: extract, date_trunc, make_…, age, to_char and its kin
//! (timestamp.c, date.c, formatting.c of src/backend/utils/adt).

use super::args::{
    date, float8, int, int4, interval, interval_datum, moment, numeric, text, text_datum,
    text_or_null, zone, zone_named,
};
use super::{CallInfo, Entry, SetRows, arg, scalar, set};
use crate::FnContext;
use steppe_types::datetime::arith::{self as dt, IntervalParts};
use steppe_types::datetime::calendar::USECS_PER_SEC;
use steppe_types::datetime::fields as part;
use steppe_types::datetime::format as picture;
use steppe_types::datetime::{AbbrevShown, TimeZone, is_infinite_date, is_infinite_timestamp};
use steppe_types::interval::Interval;
use steppe_types::numeric::Numeric;
use steppe_types::{Datum, Error, Result};

/// Date/time functions by prosrc.
pub(super) const TABLE: &[Entry] = &[
    ("extract_date", scalar(extract)),
    ("extract_time", scalar(extract)),
    ("extract_timetz", scalar(extract)),
    ("extract_timestamp", scalar(extract)),
    ("extract_timestamptz", scalar(extract)),
    ("extract_interval", scalar(extract)),
    ("time_part", scalar(date_part)),
    ("timetz_part", scalar(date_part)),
    ("timestamp_part", scalar(date_part)),
    ("timestamptz_part", scalar(date_part)),
    ("interval_part", scalar(date_part)),
    ("timestamp_trunc", scalar(trunc)),
    ("timestamptz_trunc", scalar(trunc)),
    ("timestamptz_trunc_zone", scalar(trunc_at_zone)),
    ("interval_trunc", scalar(trunc)),
    ("timestamp_bin", scalar(|a, _| Ok(Datum::Timestamp(bin(a)?)))),
    ("timestamptz_bin", scalar(|a, _| Ok(Datum::TimestampTz(bin(a)?)))),
    ("timestamp_age", scalar(age)),
    ("timestamptz_age", scalar(age)),
    ("date_finite", scalar(|a, _| Ok(Datum::Bool(!is_infinite_date(date(a, 0)?))))),
    ("timestamp_finite", scalar(|a, _| Ok(Datum::Bool(!is_infinite_timestamp(moment(a, 0)?))))),
    ("interval_finite", scalar(|a, _| Ok(Datum::Bool(!interval(a, 0)?.is_infinite())))),
    ("interval_justify_hours", scalar(|a, _| Ok(interval_datum(interval(a, 0)?.justify_hours()?)))),
    ("interval_justify_days", scalar(|a, _| Ok(interval_datum(interval(a, 0)?.justify_days()?)))),
    ("interval_justify_interval", scalar(|a, _| Ok(interval_datum(interval(a, 0)?.justify()?)))),
    ("make_date", scalar(make_date)),
    ("make_time", scalar(make_time)),
    ("make_timestamp", scalar(|a, _| make_timestamp(a).map(Datum::Timestamp))),
    ("make_timestamptz", scalar(|a, cx| make_timestamptz(a, zone(cx)))),
    ("make_timestamptz_at_timezone", scalar(make_timestamptz_at_zone)),
    ("make_interval", scalar(make_interval)),
    ("pg_timezone_abbrevs_zone", set(own_abbreviations)),
    ("pg_timezone_abbrevs_abbrevs", set(abbreviations)),
    ("float8_timestamptz", scalar(from_epoch)),
    ("timestamp_to_char", scalar(to_char)),
    ("timestamptz_to_char", scalar(to_char)),
    ("interval_to_char", scalar(to_char)),
    ("numeric_to_char", scalar(|a, _| number_to_char(numeric(a, 0)?, a))),
    ("int4_to_char", scalar(|a, _| number_to_char(&Numeric::from(int(a, 0)?), a))),
    ("int8_to_char", scalar(|a, _| number_to_char(&Numeric::from(int(a, 0)?), a))),
    ("float4_to_char", scalar(|a, _| float_to_char(a, f32::DIGITS))),
    ("float8_to_char", scalar(|a, _| float_to_char(a, f64::DIGITS))),
    ("to_date", scalar(to_date)),
    ("to_timestamp", scalar(to_timestamp)),
    ("timeofday", scalar(time_of_day)),
    ("numeric_to_number", scalar(to_number)),
];

/// `extract(field from value)`
fn field(args: &[Datum], cx: &FnContext) -> Result<Option<Numeric>> {
    let name = text(args, 0)?;
    match arg(args, 1)? {
        Datum::Date(v) => part::extract_date(name, *v),
        Datum::Time(v) => part::extract_time(name, *v),
        Datum::TimeTz(v, west) => part::extract_timetz(name, *v, *west),
        Datum::Timestamp(v) => part::extract_timestamp(name, *v),
        Datum::TimestampTz(v) => part::extract_timestamptz(name, *v, zone(cx)),
        Datum::Interval(v) => part::extract_interval(name, v),
        _ => Err(Error::internal("expected a date or time")),
    }
}

fn extract(args: &[Datum], cx: &mut FnContext) -> Result<Datum> {
    Ok(field(args, cx)?.map_or(Datum::Null, Datum::Numeric))
}

/// As extract, in double precision.
pub(super) fn date_part(args: &[Datum], cx: &mut FnContext) -> Result<Datum> {
    if text(args, 0)?.eq_ignore_ascii_case("epoch") {
        match arg(args, 1)? {
            Datum::Interval(span) if !span.is_infinite() => {
                return Ok(Datum::Float8(part::interval_epoch(span)));
            }
            Datum::Timestamp(v) | Datum::TimestampTz(v) if !is_infinite_timestamp(*v) => {
                return Ok(Datum::Float8(part::timestamp_epoch(*v)));
            }
            _ => {}
        }
    }
    let value = field(args, cx)?.map(|value| value.to_f64()).transpose()?;
    Ok(value.map_or(Datum::Null, Datum::Float8))
}

fn trunc(args: &[Datum], cx: &mut FnContext) -> Result<Datum> {
    let unit = text(args, 0)?;
    match arg(args, 1)? {
        Datum::Timestamp(v) => part::trunc_timestamp(unit, *v).map(Datum::Timestamp),
        Datum::TimestampTz(v) => {
            part::trunc_timestamptz(unit, *v, zone(cx)).map(Datum::TimestampTz)
        }
        _ => part::trunc_interval(unit, interval(args, 1)?).map(interval_datum),
    }
}

fn trunc_at_zone(args: &[Datum], cx: &mut FnContext) -> Result<Datum> {
    let zone = zone_named(args, 2, cx)?;
    part::trunc_timestamptz(text(args, 0)?, moment(args, 1)?, &zone).map(Datum::TimestampTz)
}

fn bin(args: &[Datum]) -> Result<i64> {
    part::bin_timestamp(interval(args, 0)?, moment(args, 1)?, moment(args, 2)?)
}

fn age(args: &[Datum], cx: &mut FnContext) -> Result<Datum> {
    age_of(arg(args, 0)?, arg(args, 1)?, cx)
}

fn age_of(a: &Datum, b: &Datum, cx: &FnContext) -> Result<Datum> {
    let span = match (a, b) {
        (Datum::Timestamp(a), Datum::Timestamp(b)) => dt::timestamp_age(*a, *b)?,
        (Datum::TimestampTz(a), Datum::TimestampTz(b)) => dt::timestamptz_age(*a, *b, zone(cx))?,
        _ => return Err(Error::internal("expected two timestamps of one type")),
    };
    Ok(interval_datum(span))
}

/// `age(timestamp)`: the time from then to today's midnight.
pub(super) fn age_today(args: &[Datum], cx: &mut FnContext) -> Result<Datum> {
    let today = dt::timestamptz_to_date(cx.transaction_timestamp, zone(cx))?;
    let value = arg(args, 0)?;
    let midnight = match value {
        Datum::Timestamp(_) => Datum::Timestamp(dt::date_to_timestamp(today)?),
        _ => Datum::TimestampTz(dt::date_to_timestamptz(today, zone(cx))?),
    };
    age_of(&midnight, value, cx)
}

fn make_date(args: &[Datum], _: &mut FnContext) -> Result<Datum> {
    dt::make_date(int4(args, 0)?, int4(args, 1)?, int4(args, 2)?).map(Datum::Date)
}

fn make_time(args: &[Datum], _: &mut FnContext) -> Result<Datum> {
    dt::make_time(int4(args, 0)?, int4(args, 1)?, float8(args, 2)?).map(Datum::Time)
}

fn make_timestamp(args: &[Datum]) -> Result<i64> {
    let date = (int4(args, 0)?, int4(args, 1)?, int4(args, 2)?);
    dt::make_timestamp(date, int4(args, 3)?, int4(args, 4)?, float8(args, 5)?)
}

fn make_timestamptz(args: &[Datum], zone: &TimeZone) -> Result<Datum> {
    dt::timestamp_to_timestamptz(make_timestamp(args)?, zone).map(Datum::TimestampTz)
}

fn make_timestamptz_at_zone(args: &[Datum], cx: &mut FnContext) -> Result<Datum> {
    let local = make_timestamp(args)?;
    let zone = TimeZone::by_displacement_or_name(text(args, 6)?, zone(cx))?;
    dt::timestamp_to_timestamptz(local, &zone).map(Datum::TimestampTz)
}

/// `pg_timezone_abbrevs_zone()`: the abbreviations that the session's zone has used.
fn own_abbreviations(_: &[Datum], _: &CallInfo, cx: &mut FnContext) -> Result<Box<dyn SetRows>> {
    Ok(shown_abbreviations(zone(cx).own_abbrevs_at(cx.transaction_timestamp)))
}

/// `pg_timezone_abbrevs_abbrevs()`: the entries of timezone_abbreviations.
fn abbreviations(_: &[Datum], _: &CallInfo, cx: &mut FnContext) -> Result<Box<dyn SetRows>> {
    Ok(shown_abbreviations(TimeZone::abbrevs_at(cx.transaction_timestamp)))
}

fn shown_abbreviations(shown: Vec<AbbrevShown>) -> Box<dyn SetRows> {
    let row = |shown: AbbrevShown| {
        let micros = i64::from(shown.offset) * USECS_PER_SEC;
        let offset = interval_datum(Interval { months: 0, days: 0, micros });
        vec![Datum::text(shown.abbrev), offset, Datum::Bool(shown.is_dst)]
    };
    super::series::rows(shown.into_iter().map(row).collect())
}

fn make_interval(args: &[Datum], _: &mut FnContext) -> Result<Datum> {
    let parts = IntervalParts {
        years: int4(args, 0)?,
        months: int4(args, 1)?,
        weeks: int4(args, 2)?,
        days: int4(args, 3)?,
        hours: int4(args, 4)?,
        minutes: int4(args, 5)?,
        seconds: float8(args, 6)?,
    };
    dt::make_interval(&parts).map(interval_datum)
}

fn from_epoch(args: &[Datum], _: &mut FnContext) -> Result<Datum> {
    dt::timestamptz_from_epoch(float8(args, 0)?).map(Datum::TimestampTz)
}

fn to_char(args: &[Datum], cx: &mut FnContext) -> Result<Datum> {
    let pattern = text(args, 1)?;
    text_or_null(match arg(args, 0)? {
        Datum::Timestamp(v) => picture::timestamp_to_char(*v, pattern)?,
        Datum::TimestampTz(v) => picture::timestamptz_to_char(*v, pattern, zone(cx))?,
        _ => picture::interval_to_char(interval(args, 0)?, pattern)?,
    })
}

fn number_to_char(value: &Numeric, args: &[Datum]) -> Result<Datum> {
    text_datum(picture::numeric_to_char(value, text(args, 1)?)?)
}

fn float_to_char(args: &[Datum], digits: u32) -> Result<Datum> {
    text_datum(picture::float_to_char(float8(args, 0)?, digits, text(args, 1)?)?)
}

fn to_date(args: &[Datum], cx: &mut FnContext) -> Result<Datum> {
    picture::to_date(text(args, 0)?, text(args, 1)?, zone(cx)).map(Datum::Date)
}

fn to_timestamp(args: &[Datum], cx: &mut FnContext) -> Result<Datum> {
    picture::to_timestamp(text(args, 0)?, text(args, 1)?, zone(cx)).map(Datum::TimestampTz)
}

fn to_number(args: &[Datum], _: &mut FnContext) -> Result<Datum> {
    let number = picture::to_number(text(args, 0)?, text(args, 1)?)?;
    Ok(number.map_or(Datum::Null, Datum::Numeric))
}

/// `timeofday()`: the clock, as text.
fn time_of_day(_: &[Datum], cx: &mut FnContext) -> Result<Datum> {
    let now = cx.host().clock_timestamp();
    let shown = picture::timestamptz_to_char(now, "Dy Mon DD HH24:MI:SS.US YYYY TZ", zone(cx))?;
    text_datum(shown.unwrap_or_default())
}
