//! Arithmetic and casts of the date/time types (date.c, timestamp.c).

use super::calendar::{
    POSTGRES_EPOCH_JDATE, Tm, UNIX_EPOCH_JDATE, USECS_PER_DAY, USECS_PER_HOUR, USECS_PER_MINUTE,
    USECS_PER_SEC, days_in_month, is_valid_date, is_valid_timestamp, j2date,
};
use super::zone::TimeZone;
use super::{
    DATE_INFINITY, DATE_NEG_INFINITY, TIMESTAMP_INFINITY, TIMESTAMP_NEG_INFINITY,
    date_out_of_range, is_infinite_date, is_infinite_timestamp, timestamp_out_of_range,
};
use crate::error::{Error, Result, SqlState};
use crate::interval::{self, Interval};
use std::cmp::Ordering;

#[cold]
fn overflow(message: impl Into<String>) -> Error {
    Error::new(SqlState::DATETIME_FIELD_OVERFLOW, message)
}

// ---- date ----

/// `date + days`; infinity stays.
pub fn date_plus_days(date: i32, days: i32) -> Result<i32> {
    if is_infinite_date(date) {
        return Ok(date);
    }
    let sum = date as i64 + days as i64;
    if is_valid_date(sum) { Ok(sum as i32) } else { Err(date_out_of_range()) }
}

/// `date - days`; infinity stays.
pub fn date_minus_days(date: i32, days: i32) -> Result<i32> {
    if is_infinite_date(date) {
        return Ok(date);
    }
    let difference = date as i64 - days as i64;
    if is_valid_date(difference) { Ok(difference as i32) } else { Err(date_out_of_range()) }
}

/// `date - date` in days.
pub fn date_minus_date(a: i32, b: i32) -> Result<i32> {
    if is_infinite_date(a) || is_infinite_date(b) {
        return Err(overflow("cannot subtract infinite dates"));
    }
    Ok(a.wrapping_sub(b))
}

/// The timestamp at a date's midnight.
pub fn date_to_timestamp(date: i32) -> Result<i64> {
    match date {
        DATE_INFINITY => Ok(TIMESTAMP_INFINITY),
        DATE_NEG_INFINITY => Ok(TIMESTAMP_NEG_INFINITY),
        _ => {
            let micros = (date as i64).checked_mul(USECS_PER_DAY);
            micros
                .filter(|micros| is_valid_timestamp(*micros))
                .ok_or_else(|| overflow("date out of range for timestamp"))
        }
    }
}

/// The instant of a date's midnight in a zone.
pub fn date_to_timestamptz(date: i32, zone: &TimeZone) -> Result<i64> {
    let local = date_to_timestamp(date)?;
    if is_infinite_timestamp(local) {
        return Ok(local);
    }
    zone.from_local(local).ok_or_else(|| overflow("date out of range for timestamp"))
}

/// `date + time`
pub fn date_plus_time(date: i32, time: i64) -> Result<i64> {
    let midnight = date_to_timestamp(date)?;
    if is_infinite_timestamp(midnight) {
        return Ok(midnight);
    }
    Some(midnight + time).filter(|t| is_valid_timestamp(*t)).ok_or_else(timestamp_out_of_range)
}

/// `date + timetz`; the zone in seconds west.
pub fn date_plus_timetz(date: i32, time: i64, west: i32) -> Result<i64> {
    let midnight = date_to_timestamp(date)?;
    if is_infinite_timestamp(midnight) {
        return Ok(midnight);
    }
    Some(midnight + time + west as i64 * USECS_PER_SEC)
        .filter(|t| is_valid_timestamp(*t))
        .ok_or_else(timestamp_out_of_range)
}

/// Compares a date with a timestamp, even if one is outside the other's range.
pub fn compare_date_timestamp(date: i32, timestamp: i64) -> Ordering {
    match (date, timestamp) {
        (DATE_INFINITY, TIMESTAMP_INFINITY) | (DATE_NEG_INFINITY, TIMESTAMP_NEG_INFINITY) => {
            Ordering::Equal
        }
        (DATE_INFINITY, _) | (_, TIMESTAMP_NEG_INFINITY) => Ordering::Greater,
        (DATE_NEG_INFINITY, _) | (_, TIMESTAMP_INFINITY) => Ordering::Less,
        _ => (date as i128 * USECS_PER_DAY as i128).cmp(&(timestamp as i128)),
    }
}

// ---- timestamp, timestamptz ----

/// The date of a timestamp.
pub fn timestamp_to_date(timestamp: i64) -> i32 {
    match timestamp {
        TIMESTAMP_INFINITY => DATE_INFINITY,
        TIMESTAMP_NEG_INFINITY => DATE_NEG_INFINITY,
        _ => timestamp.div_euclid(USECS_PER_DAY) as i32,
    }
}

/// The time of day of a timestamp; None (NULL) for an infinity.
pub fn timestamp_to_time(timestamp: i64) -> Option<i64> {
    (!is_infinite_timestamp(timestamp)).then(|| timestamp.rem_euclid(USECS_PER_DAY))
}

/// The instant of a local timestamp in a zone.
pub fn timestamp_to_timestamptz(timestamp: i64, zone: &TimeZone) -> Result<i64> {
    if is_infinite_timestamp(timestamp) {
        return Ok(timestamp);
    }
    zone.from_local(timestamp).ok_or_else(timestamp_out_of_range)
}

/// The local timestamp of an instant in a zone.
pub fn timestamptz_to_timestamp(timestamp: i64, zone: &TimeZone) -> Result<i64> {
    if is_infinite_timestamp(timestamp) {
        return Ok(timestamp);
    }
    zone.to_local(timestamp).filter(|t| is_valid_timestamp(*t)).ok_or_else(timestamp_out_of_range)
}

/// The date of an instant in a zone.
pub fn timestamptz_to_date(timestamp: i64, zone: &TimeZone) -> Result<i32> {
    timestamptz_to_timestamp(timestamp, zone).map(timestamp_to_date)
}

/// Time of day and zone (seconds west) of an instant; None (NULL) for an infinity.
pub fn timestamptz_to_timetz(timestamp: i64, zone: &TimeZone) -> Option<(i64, i32)> {
    if is_infinite_timestamp(timestamp) {
        return None;
    }
    let offset = zone.offset_at(timestamp);
    let local = timestamp.checked_add(offset as i64 * USECS_PER_SEC)?;
    Some((local.rem_euclid(USECS_PER_DAY), -offset))
}

/// Moves a date by months. If the day does not exist in the new month, takes the month's last day.
fn add_months(tm: &mut Tm, months: i32) -> Option<()> {
    let total = (tm.year as i64) * 12 + (tm.month as i64 - 1) + months as i64;
    tm.year = i32::try_from(total.div_euclid(12)).ok()?;
    tm.month = total.rem_euclid(12) as i32 + 1;
    tm.day = tm.day.min(days_in_month(tm.year, tm.month));
    Some(())
}

fn add_days(tm: &mut Tm, days: i32) -> Option<()> {
    let julian = tm.julian().checked_add(days).filter(|j| *j >= 0)?;
    (tm.year, tm.month, tm.day) = j2date(julian);
    Some(())
}

/// Whether a timestamp is the positive infinity; None for finite ones.
fn infinity(timestamp: i64) -> Option<bool> {
    is_infinite_timestamp(timestamp).then_some(timestamp == TIMESTAMP_INFINITY)
}

/// `timestamp + interval`, counting months and days in the zone if there is one.
fn plus_interval(timestamp: i64, span: &Interval, zone: Option<&TimeZone>) -> Result<i64> {
    match (infinity(timestamp), span.infinity()) {
        (None, None) => {
            plus_finite_interval(timestamp, span, zone).ok_or_else(timestamp_out_of_range)
        }
        (Some(a), Some(b)) if a != b => Err(timestamp_out_of_range()),
        (Some(up), _) | (None, Some(up)) => {
            Ok(if up { TIMESTAMP_INFINITY } else { TIMESTAMP_NEG_INFINITY })
        }
    }
}

fn plus_finite_interval(timestamp: i64, span: &Interval, zone: Option<&TimeZone>) -> Option<i64> {
    let mut result = timestamp;
    // Months and days are counted on the local calendar, the time in elapsed time.
    let mut on_calendar = |change: &dyn Fn(&mut Tm) -> Option<()>| {
        let local = match zone {
            Some(zone) => zone.to_local(result)?,
            None => result,
        };
        let mut tm = Tm::from_timestamp(local);
        change(&mut tm)?;
        let offset = zone.map_or(0, |zone| zone.offset_of_local(&tm));
        result = tm.to_timestamp_at(offset)?;
        Some(())
    };
    if span.months != 0 {
        on_calendar(&|tm| add_months(tm, span.months))?;
    }
    if span.days != 0 {
        on_calendar(&|tm| add_days(tm, span.days))?;
    }
    result.checked_add(span.micros).filter(|t| is_valid_timestamp(*t))
}

/// `timestamp + interval`
pub fn timestamp_plus_interval(timestamp: i64, span: &Interval) -> Result<i64> {
    plus_interval(timestamp, span, None)
}

/// `timestamp - interval`
pub fn timestamp_minus_interval(timestamp: i64, span: &Interval) -> Result<i64> {
    timestamp_plus_interval(timestamp, &span.checked_neg()?)
}

/// `timestamptz + interval`, counting months and days in the zone.
pub fn timestamptz_plus_interval(timestamp: i64, span: &Interval, zone: &TimeZone) -> Result<i64> {
    plus_interval(timestamp, span, Some(zone))
}

/// `timestamptz - interval`, counting months and days in the zone.
pub fn timestamptz_minus_interval(timestamp: i64, span: &Interval, zone: &TimeZone) -> Result<i64> {
    timestamptz_plus_interval(timestamp, &span.checked_neg()?, zone)
}

/// `a - b` where one of the timestamps at least is infinite.
fn infinite_difference(a: i64, b: i64) -> Result<Option<Interval>> {
    match (infinity(a), infinity(b)) {
        (None, None) => Ok(None),
        (Some(a), Some(b)) if a == b => Err(interval::out_of_range()),
        (Some(up), _) => Ok(Some(Interval::infinite(up))),
        (None, Some(up)) => Ok(Some(Interval::infinite(!up))),
    }
}

/// `timestamp - timestamp` (of either kind): days and time.
pub fn timestamp_minus_timestamp(a: i64, b: i64) -> Result<Interval> {
    if let Some(infinity) = infinite_difference(a, b)? {
        return Ok(infinity);
    }
    let micros = a.checked_sub(b).ok_or_else(interval::out_of_range)?;
    Interval::new(0, 0, micros).justify_hours()
}

/// `age(a, b)`: the difference in years, months, days and time.
pub fn timestamp_age(a: i64, b: i64) -> Result<Interval> {
    if let Some(infinity) = infinite_difference(a, b)? {
        return Ok(infinity);
    }
    let swapped = a < b;
    let (late, early) = if swapped { (b, a) } else { (a, b) };
    let (l, e) = (Tm::from_timestamp(late), Tm::from_timestamp(early));
    let mut micros = l.time() - e.time();
    let mut days = l.day - e.day;
    let mut months = (l.year - e.year) * 12 + l.month - e.month;
    if micros < 0 {
        micros += USECS_PER_DAY;
        days -= 1;
    }
    while days < 0 {
        // Days are borrowed from the month of the earlier time.
        days += days_in_month(e.year, e.month);
        months -= 1;
    }
    let age = Interval::new(months, days, micros);
    if swapped { age.checked_neg() } else { Ok(age) }
}

/// `age(a, b)` of instants, in a zone.
pub fn timestamptz_age(a: i64, b: i64, zone: &TimeZone) -> Result<Interval> {
    timestamp_age(timestamptz_to_timestamp(a, zone)?, timestamptz_to_timestamp(b, zone)?)
}

/// `to_timestamp(seconds since 1970)`
pub fn timestamptz_from_epoch(seconds: f64) -> Result<i64> {
    if seconds.is_nan() {
        return Err(overflow("timestamp cannot be NaN"));
    }
    if seconds.is_infinite() {
        let sign = seconds > 0.0;
        return Ok(if sign { TIMESTAMP_INFINITY } else { TIMESTAMP_NEG_INFINITY });
    }
    let epoch = (POSTGRES_EPOCH_JDATE - UNIX_EPOCH_JDATE) as f64 * 86_400.0;
    let micros = ((seconds - epoch) * 1e6).round_ties_even();
    // The float bounds are exact enough: what rounds to one is checked as an integer.
    let fits = micros.abs() < 9.3e18 && is_valid_timestamp(micros as i64);
    if fits {
        Ok(micros as i64)
    } else {
        Err(overflow(format!("timestamp out of range: \"{}\"", shortest(seconds))))
    }
}

// ---- time, timetz ----

/// `time + interval`: around the clock.
pub fn time_plus_interval(time: i64, span: &Interval) -> Result<i64> {
    if span.is_infinite() {
        return Err(overflow("cannot add infinite interval to time"));
    }
    Ok((time + span.micros % USECS_PER_DAY).rem_euclid(USECS_PER_DAY))
}

/// `time - interval`: around the clock.
pub fn time_minus_interval(time: i64, span: &Interval) -> Result<i64> {
    if span.is_infinite() {
        return Err(overflow("cannot subtract infinite interval from time"));
    }
    Ok((time - span.micros % USECS_PER_DAY).rem_euclid(USECS_PER_DAY))
}

/// `time - time`
pub fn time_minus_time(a: i64, b: i64) -> Interval {
    Interval::new(0, 0, a - b)
}

/// A time as an interval.
pub fn time_to_interval(time: i64) -> Interval {
    Interval::new(0, 0, time)
}

/// The time of day of an interval.
pub fn interval_to_time(span: &Interval) -> Result<i64> {
    if span.is_infinite() {
        return Err(overflow("cannot convert infinite interval to time"));
    }
    Ok(span.micros.rem_euclid(USECS_PER_DAY))
}

/// A time with the session's offset of today.
pub fn time_to_timetz(time: i64, zone: &TimeZone, now: i64) -> (i64, i32) {
    let today = Tm::from_timestamp(zone.to_local(now).unwrap_or(now));
    let clock = Tm::from_time(time);
    let tm = Tm { year: today.year, month: today.month, day: today.day, ..clock };
    (time, -zone.offset_of_local(&tm))
}

/// Compares timetz values: by instant, then by zone.
pub fn compare_timetz(a: (i64, i32), b: (i64, i32)) -> Ordering {
    let instant = |(time, west): (i64, i32)| time + west as i64 * USECS_PER_SEC;
    instant(a).cmp(&instant(b)).then(a.1.cmp(&b.1))
}

/// `timetz AT TIME ZONE zone`; `now` tells whether summer time is in force.
pub fn timetz_at_zone(value: (i64, i32), zone: &TimeZone, now: i64) -> (i64, i32) {
    timetz_at_offset(value, zone.offset_at(now))
}

/// A timetz in another offset, in seconds east.
pub fn timetz_at_offset((time, west): (i64, i32), offset: i32) -> (i64, i32) {
    let shifted = time + (west as i64 + offset as i64) * USECS_PER_SEC;
    (shifted.rem_euclid(USECS_PER_DAY), -offset)
}

/// The offset (seconds east) that an interval argument of AT TIME ZONE means.
pub fn interval_zone(span: &Interval) -> Result<TimeZone> {
    let fault = match span.is_infinite() {
        true => Some("must be finite"),
        false if span.months != 0 || span.days != 0 => Some("must not include months or days"),
        false => None,
    };
    if let Some(fault) = fault {
        let mut text = Vec::new();
        super::io::interval_out(span, &super::DateTimeConfig::default(), &mut text);
        let text = String::from_utf8_lossy(&text);
        let message = format!("interval time zone \"{text}\" {fault}");
        return Err(Error::new(SqlState::INVALID_PARAMETER_VALUE, message));
    }
    let seconds = span.micros / USECS_PER_SEC;
    i32::try_from(seconds).map(TimeZone::from_offset).map_err(|_| timestamp_out_of_range())
}

/// SQL's OVERLAPS of two periods, each given by its ends in any order; None is NULL.
pub fn overlaps<T: Ord + Copy>(
    (s1, e1): (Option<T>, Option<T>),
    (s2, e2): (Option<T>, Option<T>),
) -> Option<bool> {
    // Puts the ends in order; a period with one known end begins there.
    let ordered = |s: Option<T>, e: Option<T>| match (s, e) {
        (None, None) => None,
        (None, Some(v)) | (Some(v), None) => Some((v, None)),
        (Some(a), Some(b)) => Some((a.min(b), Some(a.max(b)))),
    };
    let (start1, end1) = ordered(s1, e1)?;
    let (start2, end2) = ordered(s2, e2)?;
    let within = |later: T, end: Option<T>, later_end: Option<T>| match end {
        Some(end) if later < end => Some(true),
        // Reaching the other's start excludes an overlap only if both ends are known.
        Some(_) if later_end.is_some() => Some(false),
        _ => None,
    };
    match start1.cmp(&start2) {
        Ordering::Greater => within(start1, end2, end1),
        Ordering::Less => within(start2, end1, end2),
        // The starts are the same: they overlap even if the periods are empty.
        Ordering::Equal if end1.is_none() || end2.is_none() => None,
        Ordering::Equal => Some(true),
    }
}

// ---- constructors ----

/// `make_date(year, month, day)`: a negative year is BC.
pub fn make_date(year: i32, month: i32, day: i32) -> Result<i32> {
    date_of(year, month, day, astronomical_year(year))
}

/// The year with a year 0, which is 1 BC.
fn astronomical_year(year: i32) -> i32 {
    if year < 0 { year + 1 } else { year }
}

/// A date of its fields; `shown` is the year that an error names.
fn date_of(year: i32, month: i32, day: i32, shown: i32) -> Result<i32> {
    let full = astronomical_year(year);
    let out = |what: &str| overflow(format!("{what} out of range: {shown}-{month:02}-{day:02}"));
    if year == 0 || !(1..=12).contains(&month) || day < 1 || day > days_in_month(full, month) {
        return Err(out("date field value"));
    }
    Tm { year: full, month, day, ..Tm::default() }.to_date().ok_or_else(|| out("date"))
}

/// A number in an error message: six significant digits (C's %g).
pub fn shortest(value: f64) -> String {
    let mut text = Vec::new();
    crate::number_io::write_float8(value, G_DIGITS - f64::DIGITS as i32, &mut text);
    String::from_utf8_lossy(&text).into_owned()
}

/// Significant digits of C's %g.
const G_DIGITS: i32 = 6;

/// `make_time(hour, minute, seconds)`
pub fn make_time(hour: i32, minute: i32, seconds: f64) -> Result<i64> {
    let field = || {
        let seconds = shortest(seconds);
        overflow(format!("time field value out of range: {hour}:{minute:02}:{seconds:0>2}"))
    };
    let valid =
        (0..=24).contains(&hour) && (0..60).contains(&minute) && (0.0..=60.0).contains(&seconds);
    if !valid {
        return Err(field());
    }
    let time = hour as i64 * USECS_PER_HOUR
        + minute as i64 * USECS_PER_MINUTE
        + (seconds * 1e6).round_ties_even() as i64;
    if time > USECS_PER_DAY { Err(field()) } else { Ok(time) }
}

/// `make_timestamp(…)`
pub fn make_timestamp(date: (i32, i32, i32), hour: i32, minute: i32, seconds: f64) -> Result<i64> {
    let (y, m, d) = date;
    let days = date_of(y, m, d, y)?;
    let time = make_time(hour, minute, seconds)?;
    (days as i64)
        .checked_mul(USECS_PER_DAY)
        .and_then(|d| d.checked_add(time))
        .filter(|t| is_valid_timestamp(*t))
        .ok_or_else(|| {
            let seconds = shortest(seconds);
            overflow(format!(
                "timestamp out of range: {y}-{m:02}-{d:02} {hour}:{minute:02}:{seconds:0>2}"
            ))
        })
}

/// The arguments of make_interval.
#[derive(Clone, Copy, Debug, Default)]
pub struct IntervalParts {
    /// Years.
    pub years: i32,
    /// Months.
    pub months: i32,
    /// Weeks.
    pub weeks: i32,
    /// Days.
    pub days: i32,
    /// Hours.
    pub hours: i32,
    /// Minutes.
    pub minutes: i32,
    /// Seconds.
    pub seconds: f64,
}

/// `make_interval(…)`
pub fn make_interval(parts: &IntervalParts) -> Result<Interval> {
    if !parts.seconds.is_finite() {
        return Err(interval::out_of_range());
    }
    let micros = crate::arith::mul_float8(parts.seconds, 1e6)?.round_ties_even();
    let make = || {
        let months = parts.years.checked_mul(12)?.checked_add(parts.months)?;
        let days = parts.weeks.checked_mul(7)?.checked_add(parts.days)?;
        if micros < i64::MIN as f64 || micros >= i64::MAX as f64 {
            return None;
        }
        let micros = (parts.hours as i64 * USECS_PER_HOUR)
            .checked_add(parts.minutes as i64 * USECS_PER_MINUTE)?
            .checked_add(micros as i64)?;
        Some(Interval::new(months, days, micros))
    };
    make().filter(|span| !span.is_infinite()).ok_or_else(interval::out_of_range)
}
