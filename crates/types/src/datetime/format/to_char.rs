//! to_char of timestamps and intervals (DCH_to_char).

use super::super::calendar::{
    DAYS, MONTHS, Tm, USECS_PER_HOUR, USECS_PER_MINUTE, USECS_PER_SEC, date2j, iso_week,
    iso_year_day, j2day,
};
use super::super::zone::{TimeZone, ZoneInfo};
use super::super::{is_infinite_timestamp, timestamp_out_of_range};
use super::keyword::{Case, FieldNode, Key, Node, parse};
use crate::error::{Error, Result, SqlState};
use crate::interrupt::interruptible;
use crate::interval::Interval;
use std::fmt::Write;

/// Roman months, from January.
pub(super) const ROMAN: [&str; 12] =
    ["I", "II", "III", "IV", "V", "VI", "VII", "VIII", "IX", "X", "XI", "XII"];

/// The values that fill a picture.
struct Source {
    year: i32,
    month: i32,
    day: i32,
    /// An interval's hours can be many.
    hour: i64,
    minute: i32,
    second: i32,
    micros: i32,
    day_of_year: i32,
    day_of_week: i32,
    zone: Option<ZoneInfo>,
    is_interval: bool,
}

impl Source {
    fn moment(tm: &Tm, zone: Option<ZoneInfo>) -> Source {
        let julian = tm.julian();
        Source {
            year: tm.year,
            month: tm.month,
            day: tm.day,
            hour: tm.hour as i64,
            minute: tm.minute,
            second: tm.second,
            micros: tm.micros,
            day_of_year: julian - date2j(tm.year, 1, 1) + 1,
            day_of_week: j2day(julian),
            zone,
            is_interval: false,
        }
    }

    fn span(span: &Interval) -> Source {
        let time = span.micros;
        Source {
            year: span.months / 12,
            month: span.months % 12,
            day: span.days,
            hour: time / USECS_PER_HOUR,
            minute: (time / USECS_PER_MINUTE % 60) as i32,
            second: (time / USECS_PER_SEC % 60) as i32,
            micros: (time % USECS_PER_SEC) as i32,
            day_of_year: span.months.wrapping_mul(30).wrapping_add(span.days),
            day_of_week: 0,
            zone: None,
            is_interval: true,
        }
    }

    /// The year as people count it.
    fn shown_year(&self, year: i32) -> i32 {
        if self.is_interval || year > 0 { year } else { 1 - year }
    }
}

/// `to_char(timestamp, picture)`; None (NULL) for an infinity or an empty picture.
pub fn timestamp_to_char(timestamp: i64, picture: &str) -> Result<Option<String>> {
    if is_infinite_timestamp(timestamp) || picture.is_empty() {
        return Ok(None);
    }
    write(&Source::moment(&Tm::from_timestamp(timestamp), None), picture).map(Some)
}

/// `to_char(timestamptz, picture)` in a zone; None (NULL) as for timestamp.
pub fn timestamptz_to_char(
    timestamp: i64,
    picture: &str,
    zone: &TimeZone,
) -> Result<Option<String>> {
    if is_infinite_timestamp(timestamp) || picture.is_empty() {
        return Ok(None);
    }
    let info = zone.info_at(timestamp);
    let local = timestamp
        .checked_add(info.offset as i64 * USECS_PER_SEC)
        .ok_or_else(timestamp_out_of_range)?;
    write(&Source::moment(&Tm::from_timestamp(local), Some(info)), picture).map(Some)
}

/// `to_char(interval, picture)`; None (NULL) for an infinity or an empty picture.
pub fn interval_to_char(span: &Interval, picture: &str) -> Result<Option<String>> {
    if span.is_infinite() || picture.is_empty() {
        return Ok(None);
    }
    write(&Source::span(span), picture).map(Some)
}

fn write(source: &Source, picture: &str) -> Result<String> {
    let mut out = String::with_capacity(picture.len() * 2);
    for node in interruptible(parse(picture).into_iter()) {
        match node {
            Node::Separator(c) | Node::Space(c) | Node::Text(c) => out.push(c),
            Node::Field(field) => {
                let start = out.len();
                write_field(source, &field, &mut out)?;
                if let Some(case) = field.ordinal.filter(|_| field.key.is_ordinal()) {
                    let suffix = ordinal(&out[start..], case);
                    out.push_str(suffix);
                }
            }
        }
    }
    Ok(out)
}

/// The ordinal suffix of a number.
fn ordinal(number: &str, case: Case) -> &'static str {
    let digits = number.as_bytes();
    let teen = digits.len() > 1 && digits[digits.len() - 2] == b'1';
    let (lower, upper) = match digits.last() {
        Some(b'1') if !teen => ("st", "ST"),
        Some(b'2') if !teen => ("nd", "ND"),
        Some(b'3') if !teen => ("rd", "RD"),
        Some(b'0'..=b'9') => ("th", "TH"),
        _ => ("", ""),
    };
    if case == Case::Upper { upper } else { lower }
}

fn cased(name: &str, case: Case) -> String {
    match case {
        Case::Upper => name.to_ascii_uppercase(),
        Case::Lower => name.to_ascii_lowercase(),
        Case::Capital => name.to_string(),
    }
}

/// Fields that an interval has no value for.
fn needs_calendar(key: Key) -> bool {
    matches!(
        key,
        Key::Era { .. }
            | Key::Day
            | Key::Dy
            | Key::DayOfWeek
            | Key::IsoDayOfWeek
            | Key::IsoDayOfYear
            | Key::IsoWeek
            | Key::IsoYear(_)
            | Key::Month
            | Key::Mon
            | Key::Offset
            | Key::Zone
            | Key::ZoneHour
            | Key::ZoneMinute
    )
}

fn write_field(source: &Source, field: &FieldNode, out: &mut String) -> Result<()> {
    if source.is_interval && needs_calendar(field.key) {
        return Err(Error::new(
            SqlState::INVALID_DATETIME_FORMAT,
            "invalid format specification for an interval value",
        )
        .hint("Intervals are not tied to specific calendar dates."));
    }
    if !write_name(source, field, out) {
        write_number(source, field, out);
    }
    Ok(())
}

/// Fields that are words; false if it isn't one.
fn write_name(source: &Source, field: &FieldNode, out: &mut String) -> bool {
    let case = field.case;
    let unpadded = field.fill || field.localized;
    let mut word = |name: &str, width: usize| {
        let width = if unpadded { 0 } else { width };
        // Writing to a string doesn't fail.
        let _ = write!(out, "{:<width$}", cased(name, case));
    };
    match field.key {
        Key::Meridiem { dots } => {
            let after_noon = source.hour % 24 >= 12;
            word(["am", "pm", "a.m.", "p.m."][after_noon as usize + 2 * dots as usize], 0);
        }
        Key::Era { dots } => {
            let before = source.year <= 0;
            word(["ad", "bc", "a.d.", "b.c."][before as usize + 2 * dots as usize], 0);
        }
        Key::Month => word(MONTHS[(source.month - 1) as usize], 9),
        Key::Mon => word(&MONTHS[(source.month - 1) as usize][..3], 0),
        Key::Day => word(DAYS[source.day_of_week as usize], 9),
        Key::Dy => word(&DAYS[source.day_of_week as usize][..3], 0),
        Key::Roman => match (source.month, source.year) {
            (0, 0) => {}
            (0, year) => word(ROMAN[if year >= 0 { 11 } else { 0 }], 4),
            (month, _) if month < 0 => word(ROMAN[(12 + month) as usize], 4),
            (month, _) => word(ROMAN[(month - 1) as usize], 4),
        },
        Key::Zone => {
            if let Some(zone) = &source.zone {
                word(&zone.abbrev, 0);
            }
        }
        Key::Fixed => {}
        _ => return false,
    }
    true
}

/// Fields that are numbers.
fn write_number(source: &Source, field: &FieldNode, out: &mut String) {
    // A sign counts as one more place.
    let mut number = |value: i64, width: usize| {
        let width = if field.fill { 0 } else { width + usize::from(value < 0) };
        let _ = write!(out, "{value:0width$}");
    };
    let iso = || iso_week(source.year, source.month, source.day);
    match field.key {
        Key::Hour24 => number(source.hour, 2),
        Key::Hour12 => number(if source.hour % 12 == 0 { 12 } else { source.hour % 12 }, 2),
        Key::Minute => number(source.minute as i64, 2),
        Key::Second => number(source.second as i64, 2),
        Key::Fraction(digits) => {
            let value = source.micros / 10i32.pow(6 - digits as u32);
            let _ = write!(out, "{value:0digits$}");
        }
        Key::Millisecond => {
            let _ = write!(out, "{:03}", source.micros / 1000);
        }
        Key::Microsecond => {
            let _ = write!(out, "{:06}", source.micros);
        }
        Key::SecondOfDay => {
            number(source.hour * 3600 + source.minute as i64 * 60 + source.second as i64, 1);
        }
        Key::MonthNumber => number(source.month as i64, 2),
        Key::DayOfYear => number(source.day_of_year as i64, 3),
        Key::IsoDayOfYear => {
            number(iso_year_day(source.year, source.month, source.day) as i64, 3);
        }
        // These two count their sign as a place.
        Key::DayOfMonth if source.day < 0 => number(source.day as i64, 1),
        Key::Week if source.day_of_year < -6 => {
            number((source.day_of_year as i64 - 1) / 7 + 1, 1);
        }
        Key::DayOfMonth => number(source.day as i64, 2),
        Key::DayOfWeek => number(source.day_of_week as i64 + 1, 1),
        Key::IsoDayOfWeek => {
            number(if source.day_of_week == 0 { 7 } else { source.day_of_week as i64 }, 1);
        }
        Key::Week => number((source.day_of_year as i64 - 1) / 7 + 1, 2),
        Key::IsoWeek => number(iso().0 as i64, 2),
        Key::WeekOfMonth => number((source.day as i64 - 1) / 7 + 1, 1),
        Key::Quarter if source.month == 0 => {}
        Key::Quarter => number((source.month as i64 - 1) / 3 + 1, 1),
        Key::Century => number(century(source), 2),
        Key::YearComma => {
            let year = source.shown_year(source.year);
            let _ = write!(out, "{},{:03}", year / 1000, year % 1000);
        }
        Key::Year(digits) => year(source.shown_year(source.year), digits, number),
        Key::IsoYear(digits) => year(source.shown_year(iso().1), digits, number),
        Key::Julian => number(date2j(source.year, source.month, source.day) as i64, 1),
        _ => write_offset(source, field, out),
    }
}

fn century(source: &Source) -> i64 {
    let year = source.year as i64;
    if source.is_interval {
        year / 100
    } else if year > 0 {
        (year - 1) / 100 + 1
    } else {
        // The centuries before our era end with years divisible by 100.
        year / 100 - 1
    }
}

/// The last digits of a year.
fn year(year: i32, digits: usize, mut number: impl FnMut(i64, usize)) {
    let shown = if digits < 4 { year % 10i32.pow(digits as u32) } else { year };
    number(shown as i64, digits);
}

/// Fields of the displacement from UTC.
fn write_offset(source: &Source, field: &FieldNode, out: &mut String) {
    let offset = source.zone.as_ref().map_or(0, |zone| zone.offset);
    let sign = if offset >= 0 { '+' } else { '-' };
    let (hour, minute) = (offset.abs() / 3600, offset.abs() / 60 % 60);
    let _ = match field.key {
        Key::ZoneHour => write!(out, "{sign}{hour:02}"),
        Key::ZoneMinute => write!(out, "{minute:02}"),
        _ => {
            let width = if field.fill { 0 } else { 2 };
            let result = write!(out, "{sign}{hour:0width$}");
            if minute != 0 { write!(out, ":{minute:02}") } else { result }
        }
    };
}
