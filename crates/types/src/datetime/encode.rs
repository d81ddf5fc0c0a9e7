//! Writing dates, times and intervals (EncodeDateOnly, EncodeDateTime, EncodeInterval).

use super::calendar::{DAYS, MONTHS, Tm, USECS_PER_HOUR, USECS_PER_MINUTE, USECS_PER_SEC, j2day};
use super::config::{DateOrder, DateStyle, DateTimeConfig, IntervalStyle};
use super::zone::ZoneInfo;
use crate::interval::Interval;

/// Appends a number with at least `width` digits.
fn padded(value: i64, width: usize, out: &mut Vec<u8>) {
    let mut buffer = [b'0'; 20];
    let mut left = value.unsigned_abs();
    let mut start = buffer.len();
    while left > 0 || buffer.len() - start < width {
        start -= 1;
        buffer[start] = b'0' + (left % 10) as u8;
        left /= 10;
    }
    out.extend_from_slice(&buffer[start..]);
}

fn two(value: i32, out: &mut Vec<u8>) {
    padded(value as i64, 2, out);
}

/// Appends seconds with a fraction without trailing zeros (AppendSeconds).
fn seconds(second: i64, micros: i64, fill: bool, out: &mut Vec<u8>) {
    padded(second, if fill { 2 } else { 1 }, out);
    if micros != 0 {
        out.push(b'.');
        padded(micros, 6, out);
        while out.last() == Some(&b'0') {
            out.pop();
        }
    }
}

fn year(tm: &Tm, out: &mut Vec<u8>) {
    let shown = if tm.year > 0 { tm.year } else { 1 - tm.year };
    padded(shown as i64, 4, out);
}

/// Appends the date alone, without its era.
fn date_part(tm: &Tm, config: &DateTimeConfig, out: &mut Vec<u8>) {
    let day_first = config.date_order == DateOrder::Dmy;
    let (delimiter, day_first) = match config.date_style {
        DateStyle::Iso => {
            year(tm, out);
            out.push(b'-');
            two(tm.month, out);
            out.push(b'-');
            return two(tm.day, out);
        }
        DateStyle::Sql => (b'/', day_first),
        DateStyle::German => (b'.', true),
        DateStyle::Postgres => (b'-', day_first),
    };
    let (first, second) = if day_first { (tm.day, tm.month) } else { (tm.month, tm.day) };
    two(first, out);
    out.push(delimiter);
    two(second, out);
    out.push(delimiter);
    year(tm, out);
}

fn era(tm: &Tm, out: &mut Vec<u8>) {
    if tm.year <= 0 {
        out.extend_from_slice(b" BC");
    }
}

/// Appends a date.
pub(super) fn encode_date(tm: &Tm, config: &DateTimeConfig, out: &mut Vec<u8>) {
    date_part(tm, config, out);
    era(tm, out);
}

/// Appends a time of day.
pub(super) fn encode_time(tm: &Tm, out: &mut Vec<u8>) {
    two(tm.hour, out);
    out.push(b':');
    two(tm.minute, out);
    out.push(b':');
    seconds(tm.second as i64, tm.micros as i64, true, out);
}

/// Appends a displacement as `+hh[:mm[:ss]]`; seconds east of UTC.
pub(super) fn encode_offset(offset: i32, out: &mut Vec<u8>) {
    out.push(if offset >= 0 { b'+' } else { b'-' });
    let seconds = offset.abs();
    two(seconds / 3600, out);
    if seconds % 3600 != 0 {
        out.push(b':');
        two(seconds / 60 % 60, out);
    }
    if seconds % 60 != 0 {
        out.push(b':');
        two(seconds % 60, out);
    }
}

/// Appends a timestamp, with its zone if it has one.
pub(super) fn encode_timestamp(
    tm: &Tm,
    zone: Option<&ZoneInfo>,
    config: &DateTimeConfig,
    out: &mut Vec<u8>,
) {
    if config.date_style == DateStyle::Postgres {
        return encode_traditional(tm, zone, config, out);
    }
    date_part(tm, config, out);
    out.push(b' ');
    encode_time(tm, out);
    if let Some(zone) = zone {
        if config.date_style == DateStyle::Iso {
            encode_offset(zone.offset, out);
        } else {
            out.push(b' ');
            out.extend_from_slice(zone.abbrev.as_bytes());
        }
    }
    era(tm, out);
}

/// `Wed Dec 17 07:37:16 1997 PST`
fn encode_traditional(
    tm: &Tm,
    zone: Option<&ZoneInfo>,
    config: &DateTimeConfig,
    out: &mut Vec<u8>,
) {
    let day_name = DAYS[j2day(tm.julian()) as usize];
    let month = MONTHS[(tm.month - 1).clamp(0, 11) as usize];
    out.extend_from_slice(&day_name.as_bytes()[..3]);
    out.push(b' ');
    if config.date_order == DateOrder::Dmy {
        two(tm.day, out);
        out.push(b' ');
        out.extend_from_slice(&month.as_bytes()[..3]);
    } else {
        out.extend_from_slice(&month.as_bytes()[..3]);
        out.push(b' ');
        two(tm.day, out);
    }
    out.push(b' ');
    encode_time(tm, out);
    out.push(b' ');
    year(tm, out);
    if let Some(zone) = zone {
        out.push(b' ');
        out.extend_from_slice(zone.abbrev.as_bytes());
    }
    era(tm, out);
}

/// An interval's fields; all of the time fields have the sign of the time.
struct Fields {
    years: i64,
    months: i64,
    days: i64,
    hours: i64,
    minutes: i64,
    seconds: i64,
    micros: i64,
}

impl Fields {
    fn of(interval: &Interval) -> Fields {
        let time = interval.micros;
        Fields {
            years: (interval.months / 12) as i64,
            months: (interval.months % 12) as i64,
            days: interval.days as i64,
            hours: time / USECS_PER_HOUR,
            minutes: time / USECS_PER_MINUTE % 60,
            seconds: time / USECS_PER_SEC % 60,
            micros: time % USECS_PER_SEC,
        }
    }
}

/// Appends an interval.
pub(super) fn encode_interval(interval: &Interval, style: IntervalStyle, out: &mut Vec<u8>) {
    let fields = Fields::of(interval);
    match style {
        IntervalStyle::Postgres => encode_postgres(&fields, interval.micros, out),
        IntervalStyle::PostgresVerbose => encode_verbose(&fields, out),
        IntervalStyle::SqlStandard => encode_sql(interval, &fields, out),
        IntervalStyle::Iso8601 => encode_iso(&fields, out),
    }
}

fn encode_postgres(fields: &Fields, time: i64, out: &mut Vec<u8>) {
    let (mut first, mut before) = (true, false);
    for (value, unit) in [(fields.years, "year"), (fields.months, "mon"), (fields.days, "day")] {
        if value == 0 {
            continue;
        }
        let space = if first { "" } else { " " };
        // After a negative field a positive one needs its sign.
        let sign = if before && value > 0 { "+" } else { "" };
        let plural = if value == 1 { "" } else { "s" };
        out.extend_from_slice(format!("{space}{sign}{value} {unit}{plural}").as_bytes());
        (first, before) = (false, value < 0);
    }
    if first || time != 0 {
        if !first {
            out.push(b' ');
        }
        if time < 0 {
            out.push(b'-');
        } else if before {
            out.push(b'+');
        }
        clock(fields, 2, out);
    }
}

/// `hh:mm:ss[.fff]` without a sign.
fn clock(fields: &Fields, hour_width: usize, out: &mut Vec<u8>) {
    padded(fields.hours, hour_width, out);
    out.push(b':');
    padded(fields.minutes, 2, out);
    out.push(b':');
    seconds(fields.seconds, fields.micros, true, out);
}

fn encode_verbose(fields: &Fields, out: &mut Vec<u8>) {
    out.push(b'@');
    let (mut first, mut before) = (true, false);
    let units = [
        (fields.years, "year"),
        (fields.months, "mon"),
        (fields.days, "day"),
        (fields.hours, "hour"),
        (fields.minutes, "min"),
    ];
    for (value, unit) in units {
        if value == 0 {
            continue;
        }
        // "ago" shows the first field's sign; the other signs are relative to it.
        if first {
            before = value < 0;
        }
        let value = if before { -value } else { value };
        let plural = if value == 1 { "" } else { "s" };
        out.extend_from_slice(format!(" {value} {unit}{plural}").as_bytes());
        first = false;
    }
    if fields.seconds != 0 || fields.micros != 0 {
        out.push(b' ');
        if fields.seconds < 0 || (fields.seconds == 0 && fields.micros < 0) {
            if first {
                before = true;
            } else if !before {
                out.push(b'-');
            }
        } else if before {
            out.push(b'-');
        }
        seconds(fields.seconds, fields.micros, false, out);
        let plural = fields.seconds.abs() != 1 || fields.micros != 0;
        out.extend_from_slice(if plural { b" secs" } else { b" sec" });
        first = false;
    }
    if first {
        out.extend_from_slice(b" 0");
    }
    if before {
        out.extend_from_slice(b" ago");
    }
}

fn encode_sql(interval: &Interval, fields: &Fields, out: &mut Vec<u8>) {
    let parts = [interval.months as i64, interval.days as i64, interval.micros];
    let negative = parts.iter().any(|v| *v < 0);
    let positive = parts.iter().any(|v| *v > 0);
    let year_month = interval.months != 0;
    let day_time = interval.days != 0 || interval.micros != 0;
    if !negative && !positive {
        return out.push(b'0');
    }
    let sign = |v: i64| if v < 0 { '-' } else { '+' };
    if negative && positive || year_month && day_time {
        // Standard SQL has no form for this value, so every sign is written.
        let (y, m, d) = (fields.years.abs(), fields.months.abs(), fields.days.abs());
        let (ys, ds, ts) = (sign(parts[0]), sign(parts[1]), sign(parts[2]));
        out.extend_from_slice(format!("{ys}{y}-{m} {ds}{d} {ts}").as_bytes());
        return clock(fields, 1, out);
    }
    if negative {
        out.push(b'-');
    }
    if year_month {
        let text = format!("{}-{}", fields.years.abs(), fields.months.abs());
        return out.extend_from_slice(text.as_bytes());
    }
    if fields.days != 0 {
        padded(fields.days, 1, out);
        out.push(b' ');
    }
    clock(fields, 1, out);
}

fn encode_iso(fields: &Fields, out: &mut Vec<u8>) {
    out.push(b'P');
    let start = out.len();
    let put = |value: i64, unit: char, out: &mut Vec<u8>| {
        if value != 0 {
            out.extend_from_slice(format!("{value}{unit}").as_bytes());
        }
    };
    put(fields.years, 'Y', out);
    put(fields.months, 'M', out);
    put(fields.days, 'D', out);
    let has_seconds = fields.seconds != 0 || fields.micros != 0;
    if fields.hours != 0 || fields.minutes != 0 || has_seconds {
        out.push(b'T');
        put(fields.hours, 'H', out);
        put(fields.minutes, 'M', out);
        if has_seconds {
            if fields.seconds < 0 || fields.micros < 0 {
                out.push(b'-');
            }
            seconds(fields.seconds, fields.micros, false, out);
            out.push(b'S');
        }
    }
    if out.len() == start {
        out.extend_from_slice(b"T0S");
    }
}
