//! extract/date_part, date_trunc and date_bin (timestamp.c, date.c).

use super::calendar::{
    POSTGRES_EPOCH_JDATE, Tm, UNIX_EPOCH_JDATE, USECS_PER_DAY, USECS_PER_HOUR, USECS_PER_MINUTE,
    USECS_PER_SEC, date2j, is_valid_timestamp, iso_week, isoweek2j, j2date, j2day,
};
use super::token::{self, Unit};
use super::zone::TimeZone;
use super::{is_infinite_date, is_infinite_timestamp, timestamp_out_of_range};
use crate::error::{Error, Result, SqlState};
use crate::interval::{self, Interval};
use crate::numeric::Numeric;

/// Seconds from 1970 to 2000.
const EPOCH_SECONDS: i64 = (POSTGRES_EPOCH_JDATE - UNIX_EPOCH_JDATE) as i64 * 86_400;

/// A field that extract knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    Unit(Unit),
    Epoch,
    Julian,
    IsoYear,
    DayOfWeek,
    IsoDayOfWeek,
    DayOfYear,
    Zone,
    ZoneHour,
    ZoneMinute,
}

/// The names that errors give the types.
const DATE: &str = "date";
const TIME: &str = "time without time zone";
const TIMETZ: &str = "time with time zone";
const TIMESTAMP: &str = "timestamp without time zone";
const TIMESTAMPTZ: &str = "timestamp with time zone";
const INTERVAL: &str = "interval";

#[cold]
fn unrecognized(field: &str, ty: &str) -> Error {
    let message = format!("unit \"{field}\" not recognized for type {ty}");
    Error::new(SqlState::INVALID_PARAMETER_VALUE, message)
}

#[cold]
fn unsupported(field: &str, ty: &str) -> Error {
    let message = format!("unit \"{field}\" not supported for type {ty}");
    Error::new(SqlState::FEATURE_NOT_SUPPORTED, message)
}

/// The field's name in lower case, and what it means.
fn part(field: &str, ty: &str) -> Result<(String, Part)> {
    let name = field.to_ascii_lowercase();
    let part = match token::unit(&name) {
        Some(unit) => Part::Unit(unit),
        None => match name.get(..10).unwrap_or(&name) {
            "epoch" => Part::Epoch,
            "julian" | "j" | "jd" => Part::Julian,
            "isoyear" => Part::IsoYear,
            "dow" => Part::DayOfWeek,
            "isodow" => Part::IsoDayOfWeek,
            "doy" => Part::DayOfYear,
            "timezone" => Part::Zone,
            "timezone_h" => Part::ZoneHour,
            "timezone_m" => Part::ZoneMinute,
            _ => return Err(unrecognized(&name, ty)),
        },
    };
    Ok((name, part))
}

fn int(v: i32) -> Option<Numeric> {
    Some(Numeric::from(v))
}

/// Microseconds as a number with `scale` decimals fewer digits.
fn scaled(v: i64, scale: u32) -> Option<Numeric> {
    Some(Numeric::from_i128_scaled(v as i128, scale))
}

/// A year as people count: no year 0.
fn shown_year(year: i32) -> i32 {
    if year > 0 { year } else { year - 1 }
}

/// The fields of the clock.
fn clock_part(unit: Unit, tm: &Tm) -> Option<Numeric> {
    let micros = tm.second as i64 * USECS_PER_SEC + tm.micros as i64;
    match unit {
        Unit::Microsecond => Some(Numeric::from(micros)),
        Unit::Millisecond => scaled(micros, 3),
        Unit::Second => scaled(micros, 6),
        Unit::Minute => int(tm.minute),
        Unit::Hour => int(tm.hour),
        _ => None,
    }
}

/// The fields of the calendar.
fn calendar_part(unit: Unit, tm: &Tm) -> Option<Numeric> {
    let year = tm.year;
    // Periods before our era are counted from 1 BC backwards.
    let period = |length: i32| {
        if year > 0 { (year + length - 1) / length } else { -((length - 1 - (year - 1)) / length) }
    };
    match unit {
        Unit::Day => int(tm.day),
        Unit::Month => int(tm.month),
        Unit::Quarter => int((tm.month - 1) / 3 + 1),
        Unit::Week => int(iso_week(year, tm.month, tm.day).0),
        Unit::Year => int(shown_year(year)),
        Unit::Decade => int(if year >= 0 { year / 10 } else { -((8 - (year - 1)) / 10) }),
        Unit::Century => int(period(100)),
        Unit::Millennium => int(period(1000)),
        _ => None,
    }
}

/// The fields of a date that aren't units, without epoch and zones.
fn day_part(part: Part, tm: &Tm) -> Result<Option<Numeric>> {
    let julian = tm.julian();
    Ok(match part {
        Part::Julian => {
            let day = Numeric::from(julian);
            Some(day.add(&fraction_of_day(tm.time())?)?)
        }
        Part::IsoYear => int(shown_year(iso_week(tm.year, tm.month, tm.day).1)),
        Part::DayOfWeek => int(j2day(julian)),
        Part::IsoDayOfWeek => int(match j2day(julian) {
            0 => 7,
            day => day,
        }),
        Part::DayOfYear => int(julian - date2j(tm.year, 1, 1) + 1),
        _ => None,
    })
}

fn fraction_of_day(time: i64) -> Result<Numeric> {
    Numeric::from(time).div(&Numeric::from(USECS_PER_DAY))
}

/// A field of an infinite value; NULL for a field that oscillates.
fn infinite_part(part: Part, positive: bool) -> Option<Numeric> {
    let grows = matches!(
        part,
        Part::Epoch
            | Part::Julian
            | Part::IsoYear
            | Part::Unit(Unit::Year | Unit::Decade | Unit::Century | Unit::Millennium)
    );
    let value = if positive { Numeric::INFINITY } else { Numeric::NEG_INFINITY };
    grows.then_some(value)
}

/// `extract(field from timestamp)`; None is NULL.
pub fn extract_timestamp(field: &str, timestamp: i64) -> Result<Option<Numeric>> {
    let (name, part) = part(field, TIMESTAMP)?;
    if is_infinite_timestamp(timestamp) {
        return Ok(infinite_part(part, timestamp > 0));
    }
    if matches!(part, Part::Zone | Part::ZoneHour | Part::ZoneMinute) {
        return Err(unsupported(&name, TIMESTAMP));
    }
    moment_part(part, &Tm::from_timestamp(timestamp), timestamp)
}

/// A field of a local time; the epoch is that of `instant`.
fn moment_part(part: Part, tm: &Tm, instant: i64) -> Result<Option<Numeric>> {
    match part {
        Part::Unit(unit) => Ok(clock_part(unit, tm).or_else(|| calendar_part(unit, tm))),
        Part::Epoch => {
            let micros = instant as i128 + EPOCH_SECONDS as i128 * USECS_PER_SEC as i128;
            Ok(Some(Numeric::from_i128_scaled(micros, 6)))
        }
        _ => day_part(part, tm),
    }
}

/// `extract(field from timestamptz)` in a zone; None is NULL.
pub fn extract_timestamptz(
    field: &str,
    timestamp: i64,
    zone: &TimeZone,
) -> Result<Option<Numeric>> {
    let (_, part) = part(field, TIMESTAMPTZ)?;
    if is_infinite_timestamp(timestamp) {
        return Ok(infinite_part(part, timestamp > 0));
    }
    let offset = zone.offset_at(timestamp);
    if let Some(value) = zone_part(part, offset) {
        return Ok(Some(value));
    }
    let local = timestamp.saturating_add(offset as i64 * USECS_PER_SEC);
    moment_part(part, &Tm::from_timestamp(local), timestamp)
}

/// The fields of a displacement.
fn zone_part(part: Part, offset: i32) -> Option<Numeric> {
    match part {
        Part::Zone => int(offset),
        Part::ZoneHour => int(offset / 3600),
        Part::ZoneMinute => int(offset / 60 % 60),
        _ => None,
    }
}

/// `extract(field from date)`; None is NULL.
pub fn extract_date(field: &str, date: i32) -> Result<Option<Numeric>> {
    let (name, part) = part(field, DATE)?;
    if let Part::Unit(
        Unit::Microsecond | Unit::Millisecond | Unit::Second | Unit::Minute | Unit::Hour,
    )
    | Part::Zone
    | Part::ZoneHour
    | Part::ZoneMinute = part
    {
        return Err(unsupported(&name, DATE));
    }
    if is_infinite_date(date) {
        return Ok(infinite_part(part, date > 0));
    }
    let tm = Tm::from_date(date);
    match part {
        Part::Unit(unit) => Ok(calendar_part(unit, &tm)),
        Part::Epoch => Ok(Some(Numeric::from(date as i64 * 86_400 + EPOCH_SECONDS))),
        Part::Julian => Ok(int(tm.julian())),
        _ => day_part(part, &tm),
    }
}

/// `extract(field from time)`
pub fn extract_time(field: &str, time: i64) -> Result<Option<Numeric>> {
    let (name, part) = part(field, TIME)?;
    let value = match part {
        Part::Unit(unit) => clock_part(unit, &Tm::from_time(time)),
        Part::Epoch => scaled(time, 6),
        _ => None,
    };
    value.map(Some).ok_or_else(|| unsupported(&name, TIME))
}

/// `extract(field from timetz)`; the zone in seconds west.
pub fn extract_timetz(field: &str, time: i64, west: i32) -> Result<Option<Numeric>> {
    let (name, part) = part(field, TIMETZ)?;
    let value = match part {
        Part::Unit(unit) => clock_part(unit, &Tm::from_time(time)),
        Part::Epoch => scaled(time + west as i64 * USECS_PER_SEC, 6),
        _ => zone_part(part, -west),
    };
    value.map(Some).ok_or_else(|| unsupported(&name, TIMETZ))
}

/// `date_part('epoch', timestamp)` of either kind, in double precision.
pub fn timestamp_epoch(timestamp: i64) -> f64 {
    const EPOCH_MICROS: i64 = EPOCH_SECONDS * USECS_PER_SEC;
    // Computes in integers if they suffice; a greater value loses its last digits.
    match timestamp.checked_add(EPOCH_MICROS) {
        Some(micros) => micros as f64 / 1e6,
        None => (timestamp as f64 + EPOCH_MICROS as f64) / 1e6,
    }
}

/// `date_part('epoch', interval)`, summed up in double precision as PostgreSQL does it.
pub fn interval_epoch(span: &Interval) -> f64 {
    const DAY: f64 = 86_400.0;
    let months = span.months;
    let mut seconds = span.micros as f64 / 1e6;
    seconds += 365.25 * DAY * f64::from(months / 12);
    seconds += 30.0 * DAY * f64::from(months % 12);
    seconds + DAY * f64::from(span.days)
}

/// A field of an infinite interval; NULL for a field that oscillates, None for a field that
/// intervals do not have.
fn infinite_interval_part(part: Part, positive: bool) -> Option<Option<Numeric>> {
    let value = if positive { Numeric::INFINITY } else { Numeric::NEG_INFINITY };
    match part {
        Part::Unit(
            Unit::Microsecond
            | Unit::Millisecond
            | Unit::Second
            | Unit::Minute
            | Unit::Week
            | Unit::Month
            | Unit::Quarter,
        ) => Some(None),
        Part::Unit(_) | Part::Epoch => Some(Some(value)),
        _ => None,
    }
}

/// `extract(field from interval)`; None is NULL.
pub fn extract_interval(field: &str, span: &Interval) -> Result<Option<Numeric>> {
    let (name, part) = part(field, INTERVAL)?;
    if let Some(positive) = span.infinity() {
        return infinite_interval_part(part, positive).ok_or_else(|| unsupported(&name, INTERVAL));
    }
    let years = span.months / 12;
    let months = span.months % 12;
    let seconds = span.micros % USECS_PER_MINUTE;
    let value = match part {
        Part::Unit(Unit::Microsecond) => Some(Numeric::from(seconds)),
        Part::Unit(Unit::Millisecond) => scaled(seconds, 3),
        Part::Unit(Unit::Second) => scaled(seconds, 6),
        Part::Unit(Unit::Minute) => Some(Numeric::from(span.micros / USECS_PER_MINUTE % 60)),
        Part::Unit(Unit::Hour) => Some(Numeric::from(span.micros / USECS_PER_HOUR)),
        Part::Unit(Unit::Day) => int(span.days),
        Part::Unit(Unit::Week) => int(span.days / 7),
        Part::Unit(Unit::Month) => int(months),
        // A negative interval's field is its opposite's negative.
        Part::Unit(Unit::Quarter) if span.months < 0 => int(-(-months / 3 + 1)),
        Part::Unit(Unit::Quarter) => int(months / 3 + 1),
        Part::Unit(Unit::Year) => int(years),
        Part::Unit(Unit::Decade) => int(years / 10),
        Part::Unit(Unit::Century) => int(years / 100),
        Part::Unit(Unit::Millennium) => int(years / 1000),
        Part::Epoch => {
            // A year is 365.25 days here, a month 30: quarters of days stay whole.
            let quarter_days = 1461 * years as i64 + 120 * months as i64 + 4 * span.days as i64;
            let micros = quarter_days as i128 * 21_600 * USECS_PER_SEC as i128;
            Some(Numeric::from_i128_scaled(micros + span.micros as i128, 6))
        }
        _ => None,
    };
    value.map(Some).ok_or_else(|| unsupported(&name, INTERVAL))
}

/// Cuts a local time to a unit. False: the type has no such unit.
fn truncate(unit: Unit, tm: &mut Tm) -> bool {
    let year_start = |year: i32| Tm { year, month: 1, day: 1, ..Tm::default() };
    let midnight = Tm { year: tm.year, month: tm.month, day: tm.day, ..Tm::default() };
    *tm = match unit {
        Unit::Microsecond => return true,
        Unit::Millisecond => Tm { micros: tm.micros / 1000 * 1000, ..*tm },
        Unit::Second => Tm { micros: 0, ..*tm },
        Unit::Minute => Tm { second: 0, micros: 0, ..*tm },
        Unit::Hour => Tm { minute: 0, second: 0, micros: 0, ..*tm },
        Unit::Day => midnight,
        Unit::Week => {
            let (week, iso_year) = iso_week(tm.year, tm.month, tm.day);
            let (year, month, day) = j2date(isoweek2j(iso_year, week));
            Tm { year, month, day, ..Tm::default() }
        }
        Unit::Month => Tm { day: 1, ..midnight },
        Unit::Quarter => Tm { month: (tm.month - 1) / 3 * 3 + 1, day: 1, ..midnight },
        Unit::Year => year_start(tm.year),
        // Decades begin with year 0, centuries and millennia with year 1.
        Unit::Decade if tm.year > 0 => year_start(tm.year / 10 * 10),
        Unit::Decade => year_start(-((8 - (tm.year - 1)) / 10) * 10),
        Unit::Century if tm.year > 0 => year_start((tm.year + 99) / 100 * 100 - 99),
        Unit::Century => year_start(-((99 - (tm.year - 1)) / 100) * 100 + 1),
        Unit::Millennium if tm.year > 0 => year_start((tm.year + 999) / 1000 * 1000 - 999),
        Unit::Millennium => year_start(-((999 - (tm.year - 1)) / 1000) * 1000 + 1),
    };
    true
}

/// The unit of a date_trunc.
fn trunc_unit(field: &str, ty: &str) -> Result<(String, Unit)> {
    match part(field, ty)? {
        (name, Part::Unit(unit)) => Ok((name, unit)),
        (name, Part::Zone | Part::ZoneHour | Part::ZoneMinute) => Err(unsupported(&name, ty)),
        (name, _) => Err(unrecognized(&name, ty)),
    }
}

/// `date_trunc(field, timestamp)`
pub fn trunc_timestamp(field: &str, timestamp: i64) -> Result<i64> {
    let (_, unit) = trunc_unit(field, TIMESTAMP)?;
    if is_infinite_timestamp(timestamp) {
        return Ok(timestamp);
    }
    let mut tm = Tm::from_timestamp(timestamp);
    truncate(unit, &mut tm);
    tm.to_timestamp().ok_or_else(timestamp_out_of_range)
}

/// `date_trunc(field, timestamptz[, zone])`
pub fn trunc_timestamptz(field: &str, timestamp: i64, zone: &TimeZone) -> Result<i64> {
    let (_, unit) = trunc_unit(field, TIMESTAMPTZ)?;
    if is_infinite_timestamp(timestamp) {
        return Ok(timestamp);
    }
    let mut offset = zone.offset_at(timestamp);
    let local = timestamp.saturating_add(offset as i64 * USECS_PER_SEC);
    let mut tm = Tm::from_timestamp(local);
    truncate(unit, &mut tm);
    let below_day = matches!(
        unit,
        Unit::Microsecond | Unit::Millisecond | Unit::Second | Unit::Minute | Unit::Hour
    );
    if !below_day {
        // The day's start can be on the other side of a transition.
        offset = zone.offset_of_local(&tm);
    }
    tm.to_timestamp_at(offset).ok_or_else(timestamp_out_of_range)
}

/// `date_trunc(field, interval)`
pub fn trunc_interval(field: &str, span: &Interval) -> Result<Interval> {
    let (name, unit) = trunc_unit(field, INTERVAL)?;
    let cut = |unit: i64| span.micros / unit * unit;
    let months = |unit: i32| Interval::new(span.months / unit * unit, 0, 0);
    Ok(match unit {
        _ if span.is_infinite() && unit != Unit::Week => *span,
        Unit::Microsecond => *span,
        Unit::Millisecond => Interval { micros: cut(1000), ..*span },
        Unit::Second => Interval { micros: cut(USECS_PER_SEC), ..*span },
        Unit::Minute => Interval { micros: cut(USECS_PER_MINUTE), ..*span },
        Unit::Hour => Interval { micros: cut(USECS_PER_HOUR), ..*span },
        Unit::Day => Interval { micros: 0, ..*span },
        Unit::Month => months(1),
        Unit::Quarter => months(3),
        Unit::Year => months(12),
        Unit::Decade => months(120),
        Unit::Century => months(1200),
        Unit::Millennium => months(12_000),
        Unit::Week => {
            let e = unsupported(&name, INTERVAL);
            return Err(e.detail("Months usually have fractional weeks."));
        }
    })
}

/// `date_bin(stride, timestamp, origin)` of either timestamp type.
pub fn bin_timestamp(stride: &Interval, timestamp: i64, origin: i64) -> Result<i64> {
    let range = |m: &str| Error::new(SqlState::DATETIME_FIELD_OVERFLOW, m);
    if is_infinite_timestamp(timestamp) {
        return Ok(timestamp);
    }
    if is_infinite_timestamp(origin) {
        return Err(range("origin out of range"));
    }
    if stride.is_infinite() {
        return Err(range("timestamps cannot be binned into infinite intervals"));
    }
    if stride.months != 0 {
        return Err(Error::new(
            SqlState::FEATURE_NOT_SUPPORTED,
            "timestamps cannot be binned into intervals containing months or years",
        ));
    }
    let width = (stride.days as i64)
        .checked_mul(USECS_PER_DAY)
        .and_then(|d| d.checked_add(stride.micros))
        .ok_or_else(interval::out_of_range)?;
    if width <= 0 {
        return Err(range("stride must be greater than zero"));
    }
    let distance = timestamp.checked_sub(origin).ok_or_else(interval::out_of_range)?;
    // Moves towards the origin first, so that the result stays between the two.
    let past = distance % width;
    let bin = origin + (distance - past);
    if past >= 0 {
        return Ok(bin);
    }
    bin.checked_sub(width).filter(|t| is_valid_timestamp(*t)).ok_or_else(timestamp_out_of_range)
}
