//! to_date and to_timestamp (DCH_from_char, do_to_timestamp).

use super::super::calendar::{DAYS, MONTHS, Tm, days_in_month, isoweek2j, j2date};
use super::super::io::timestamp_typmod;
use super::super::zone::{AbbrevMeaning, TimeZone, abbrev_offset};
use super::keyword::{Convention, FieldNode, Key, Node, is_separator, parse};
use super::to_char::ROMAN;
use crate::error::{Error, Result, SqlState};
use crate::interrupt::interruptible;

const FM_HINT: &str = "If your source string is not fixed-width, try using the \"FM\" modifier.";
const MAX_ZONE_HOUR: i32 = 15;

/// The fields that were read; zero is "not given", as in PostgreSQL.
#[derive(Default)]
struct Parsed {
    hour: i32,
    minute: i32,
    second: i32,
    second_of_day: i32,
    day_of_week: i32,
    day: i32,
    day_of_year: i32,
    month: i32,
    millis: i32,
    year: i32,
    year_digits: usize,
    century: i32,
    julian: i32,
    micros: i32,
    /// FF1 to FF6: to how many digits the result is rounded.
    fraction_digits: Option<usize>,
    week: i32,
    week_of_month: i32,
    pm: bool,
    bc: bool,
    twelve_hours: bool,
    zone_sign: i32,
    zone_hour: i32,
    zone_minute: i32,
    /// TZ: an abbreviation and what it stands for. A displacement overrules it.
    zone_abbrev: Option<(String, AbbrevMeaning)>,
    iso_week: bool,
    convention: Option<Convention>,
}

#[cold]
fn bad(message: String) -> Error {
    Error::new(SqlState::INVALID_DATETIME_FORMAT, message)
}

/// The input being consumed.
struct Reader<'a> {
    rest: &'a str,
    previous: Option<char>,
    fixed: bool,
    /// Characters skipped beyond what the picture asked for.
    extra: i32,
    /// The session's zone, which knows its own abbreviations.
    zone: &'a TimeZone,
}

fn is_space(c: char) -> bool {
    c.is_ascii_whitespace() || c == '\x0b'
}

impl Reader<'_> {
    fn peek(&self) -> Option<char> {
        self.rest.chars().next()
    }

    fn skip(&mut self) {
        if let Some(c) = self.peek() {
            self.previous = Some(c);
            self.rest = &self.rest[c.len_utf8()..];
        }
    }

    fn skip_spaces(&mut self) {
        while self.peek().is_some_and(is_space) {
            self.skip();
            self.extra += 1;
        }
    }

    /// A separator or space of the picture.
    fn separator(&mut self) {
        if self.fixed {
            return self.skip();
        }
        self.extra -= 1;
        if self.peek().is_some_and(|c| is_space(c) || is_separator(c)) {
            self.skip();
            self.extra += 1;
        }
    }

    /// Other text of the picture, which stands for any one character.
    fn text(&mut self) {
        if !self.fixed && self.extra > 0 {
            self.extra -= 1;
        } else {
            self.skip();
        }
    }

    /// An integer of at most `len` characters; how many digits and sign it took.
    fn integer(&mut self, field: &FieldNode, len: usize, greedy: bool) -> Result<(i32, usize)> {
        let name = &field.name;
        self.rest = self.rest.trim_start_matches(is_space);
        let available: String = self.rest.chars().take(len).collect();
        let scanned = if greedy { self.rest } else { available.as_str() };
        let sign = scanned.starts_with(['+', '-']) as usize;
        let digits = scanned[sign..].bytes().take_while(u8::is_ascii_digit).count();
        let used = if digits == 0 { 0 } else { sign + digits };
        let count = available.chars().count();
        if !greedy && count < len {
            return Err(bad(format!("source string too short for \"{name}\" formatting field"))
                .detail(format!("Field requires {len} characters, but only {count} remain."))
                .hint(FM_HINT));
        }
        let invalid = || bad(format!("invalid value \"{available}\" for \"{name}\""));
        if !greedy && used > 0 && used < len {
            return Err(invalid()
                .detail(format!(
                    "Field requires {len} characters, but only {used} could be parsed."
                ))
                .hint(FM_HINT));
        }
        if used == 0 {
            return Err(invalid().detail("Value must be an integer."));
        }
        let value = scanned[..used].parse::<i32>().map_err(|_| {
            Error::new(
                SqlState::DATETIME_FIELD_OVERFLOW,
                format!("value for \"{name}\" in source string is out of range"),
            )
            .detail(format!(
                "Value must be in the range {} to {}.",
                i32::MIN,
                i32::MAX
            ))
        })?;
        self.previous = self.rest[..used].chars().last();
        self.rest = &self.rest[used..];
        Ok((value, used))
    }

    /// One of some names, in any case: its place among them.
    fn name(&mut self, field: &FieldNode, names: &[&str]) -> Result<usize> {
        let found = names.iter().position(|name| {
            self.rest.get(..name.len()).is_some_and(|head| head.eq_ignore_ascii_case(name))
        });
        let Some(index) = found else {
            let word: &str = self.rest.split(is_space).next().unwrap_or("");
            return Err(bad(format!("invalid value \"{word}\" for \"{}\"", field.name)).detail(
                "The given value did not match any of the allowed values for this field.",
            ));
        };
        self.rest = &self.rest[names[index].len()..];
        Ok(index)
    }
}

/// Sets a field once; another value contradicts it.
fn set(slot: &mut i32, value: i32, field: &FieldNode) -> Result<()> {
    if *slot != 0 && *slot != value {
        return Err(bad(format!(
            "conflicting values for \"{}\" field in formatting string",
            field.name
        ))
        .detail("This value contradicts a previous setting for the same field type."));
    }
    *slot = value;
    Ok(())
}

/// Whether the number before ends where its digits end (is_next_separator).
fn ends_by_itself(field: &FieldNode, next: Option<&Node>) -> bool {
    field.fill
        || field.ordinal.is_some()
        || match next {
            None => true,
            Some(Node::Field(next)) => !next.key.is_digits(),
            Some(Node::Separator(c) | Node::Space(c) | Node::Text(c)) => !c.is_ascii_digit(),
        }
}

/// Reads the input by the picture.
fn read(input: &str, picture: &str, zone: &TimeZone) -> Result<Parsed> {
    let nodes = parse(picture);
    let mut parsed = Parsed::default();
    let mut reader = Reader { rest: input, previous: None, fixed: false, extra: 0, zone };
    for (i, node) in interruptible(nodes.iter()).enumerate() {
        if reader.rest.is_empty() {
            break;
        }
        let is_fixed = matches!(node, Node::Field(f) if f.key == Key::Fixed);
        if !reader.fixed && !is_fixed && (matches!(node, Node::Field(_)) || i == 0) {
            reader.skip_spaces();
        }
        match node {
            Node::Separator(_) | Node::Space(_) => reader.separator(),
            Node::Text(_) => reader.text(),
            Node::Field(field) => {
                set_convention(&mut parsed, field.key.convention())?;
                let greedy = ends_by_itself(field, nodes.get(i + 1));
                read_field(&mut parsed, &mut reader, field, greedy)?;
                if !reader.fixed {
                    reader.extra = 0;
                    reader.skip_spaces();
                }
            }
        }
    }
    Ok(parsed)
}

fn set_convention(parsed: &mut Parsed, convention: Convention) -> Result<()> {
    if convention == Convention::None {
        return Ok(());
    }
    if parsed.convention.is_some_and(|c| c != convention) {
        return Err(bad("invalid combination of date conventions".to_string())
            .hint("Do not mix Gregorian and ISO week date conventions in a formatting template."));
    }
    parsed.convention = Some(convention);
    parsed.iso_week = convention == Convention::IsoWeek;
    Ok(())
}

fn read_field(
    parsed: &mut Parsed,
    reader: &mut Reader<'_>,
    field: &FieldNode,
    greedy: bool,
) -> Result<()> {
    let short =
        |names: &[&'static str]| -> Vec<&'static str> { names.iter().map(|n| &n[..3]).collect() };
    match field.key {
        Key::Fixed => reader.fixed = true,
        Key::Meridiem { dots } => {
            let names: [&str; 2] = if dots { ["a.m.", "p.m."] } else { ["am", "pm"] };
            parsed.pm = reader.name(field, &names)? == 1;
            parsed.twelve_hours = true;
        }
        Key::Era { dots } => {
            let names: [&str; 2] = if dots { ["a.d.", "b.c."] } else { ["ad", "bc"] };
            parsed.bc = reader.name(field, &names)? == 1;
        }
        Key::Month => set(&mut parsed.month, reader.name(field, &MONTHS)? as i32 + 1, field)?,
        Key::Mon => {
            set(&mut parsed.month, reader.name(field, &short(&MONTHS))? as i32 + 1, field)?;
        }
        Key::Day | Key::Dy => {
            let day = match field.key {
                Key::Day => reader.name(field, &DAYS)?,
                _ => reader.name(field, &short(&DAYS))?,
            };
            // Compared before it is counted from 1, so that two names of days always differ.
            set(&mut parsed.day_of_week, day as i32, field)?;
            parsed.day_of_week += 1;
        }
        Key::Roman => {
            // The longer numerals first: I is a prefix of most.
            let names: Vec<&str> = ROMAN.iter().rev().copied().collect();
            let best = names
                .iter()
                .filter(|n| reader.rest.get(..n.len()).is_some_and(|h| h.eq_ignore_ascii_case(n)))
                .max_by_key(|n| n.len());
            let month = match best {
                Some(best) => {
                    12 - reader
                        .name(field, &[best])
                        .map(|_| names.iter().position(|n| n == best).unwrap_or(0))?
                        as i32
                }
                None => reader.name(field, &names)? as i32,
            };
            set(&mut parsed.month, month, field)?;
        }
        Key::Zone => {
            if !read_zone_abbrev(parsed, reader, field)? {
                read_offset(parsed, reader, field, greedy)?;
            }
        }
        Key::Offset => read_offset(parsed, reader, field, greedy)?,
        _ => read_number(parsed, reader, field, greedy)?,
    }
    Ok(())
}

fn read_number(
    parsed: &mut Parsed,
    reader: &mut Reader<'_>,
    field: &FieldNode,
    greedy: bool,
) -> Result<()> {
    if field.key == Key::ZoneHour {
        read_zone_sign(parsed, reader);
    }
    if field.key == Key::YearComma {
        return read_year_comma(parsed, reader, field);
    }
    let len = match field.key {
        Key::Hour12 | Key::Hour24 | Key::ZoneHour | Key::ZoneMinute => 2,
        Key::Millisecond => 3,
        Key::Microsecond => 6,
        Key::Fraction(digits) => {
            parsed.fraction_digits = Some(digits);
            digits
        }
        Key::IsoDayOfYear => 3,
        Key::IsoDayOfWeek => 1,
        _ => field.name.len(),
    };
    let (value, used) = reader.integer(field, len, greedy)?;
    let fraction =
        |digits: usize| value.saturating_mul(10i32.pow(digits.saturating_sub(used) as u32));
    let (slot, value) = match field.key {
        Key::Hour12 => {
            parsed.twelve_hours = true;
            (&mut parsed.hour, value)
        }
        Key::Hour24 => (&mut parsed.hour, value),
        Key::Minute => (&mut parsed.minute, value),
        Key::Second => (&mut parsed.second, value),
        Key::Millisecond => (&mut parsed.millis, fraction(3)),
        Key::Microsecond | Key::Fraction(_) => (&mut parsed.micros, fraction(6)),
        Key::SecondOfDay => (&mut parsed.second_of_day, value),
        Key::ZoneHour => (&mut parsed.zone_hour, value),
        Key::ZoneMinute => {
            if parsed.zone_sign == 0 {
                parsed.zone_sign = 1;
            }
            (&mut parsed.zone_minute, value)
        }
        Key::MonthNumber => (&mut parsed.month, value),
        Key::DayOfYear | Key::IsoDayOfYear => (&mut parsed.day_of_year, value),
        Key::DayOfMonth => (&mut parsed.day, value),
        Key::DayOfWeek => (&mut parsed.day_of_week, value),
        Key::IsoDayOfWeek => {
            set(&mut parsed.day_of_week, value, field)?;
            // Sunday is 7 there and 1 here.
            parsed.day_of_week = if value >= 7 { 1 } else { value + 1 };
            return skip_ordinal(reader, field);
        }
        Key::Week | Key::IsoWeek => (&mut parsed.week, value),
        Key::Century => (&mut parsed.century, value),
        Key::WeekOfMonth => (&mut parsed.week_of_month, value),
        Key::Julian => (&mut parsed.julian, value),
        Key::Year(digits) | Key::IsoYear(digits) => {
            parsed.year_digits = digits;
            let full = digits == 4 || used >= 4;
            (&mut parsed.year, if full { value } else { near_2020(value) })
        }
        // A quarter tells no date: read and ignored.
        _ => return skip_ordinal(reader, field),
    };
    set(slot, value, field)?;
    skip_ordinal(reader, field)
}

/// Passes over the two letters of an ordinal.
fn skip_ordinal(reader: &mut Reader<'_>, field: &FieldNode) -> Result<()> {
    if field.ordinal.is_some() && field.key.is_ordinal() {
        reader.skip();
        reader.skip();
    }
    Ok(())
}

/// The sign before the hours of a displacement.
fn read_zone_sign(parsed: &mut Parsed, reader: &mut Reader<'_>) {
    // A minus sign may have been skipped as a separator.
    let swallowed = reader.extra > 0 && reader.previous == Some('-');
    parsed.zone_sign = match reader.peek() {
        Some('-') => -1,
        Some('+' | ' ') => 1,
        _ if swallowed => -1,
        _ => 1,
    };
    if matches!(reader.peek(), Some('+' | '-' | ' ')) {
        reader.skip();
    }
}

/// The pattern OF: hours and perhaps minutes of a displacement.
fn read_offset(
    parsed: &mut Parsed,
    reader: &mut Reader<'_>,
    field: &FieldNode,
    greedy: bool,
) -> Result<()> {
    read_zone_sign(parsed, reader);
    let hours = reader.integer(field, 2, greedy)?.0;
    set(&mut parsed.zone_hour, hours, field)?;
    if reader.peek() == Some(':') {
        reader.skip();
        let minutes = reader.integer(field, 2, greedy)?.0;
        set(&mut parsed.zone_minute, minutes, field)?;
    }
    Ok(())
}

/// TZ: the longest abbreviation that the input begins with. False: it begins with none,
/// nor with a letter.
fn read_zone_abbrev(
    parsed: &mut Parsed,
    reader: &mut Reader<'_>,
    field: &FieldNode,
) -> Result<bool> {
    let letters = reader.rest.bytes().take_while(u8::is_ascii_alphabetic).count();
    let found = (1..=letters).rev().find_map(|length| {
        let name = &reader.rest[..length];
        reader.zone.abbrev_meaning(name).map(|meaning| (name.to_string(), meaning))
    });
    match found {
        Some((name, meaning)) => {
            reader.previous = reader.rest[..name.len()].chars().last();
            reader.rest = &reader.rest[name.len()..];
            parsed.zone_abbrev = Some((name, meaning));
            parsed.zone_sign = 0;
            Ok(true)
        }
        None if letters > 0 => {
            let message = format!("invalid value \"{}\" for \"{}\"", reader.rest, field.name);
            Err(bad(message).detail("Time zone abbreviation is not recognized."))
        }
        None => Ok(false),
    }
}

/// The year nearest 2020 with the given last digits.
fn near_2020(year: i32) -> i32 {
    match year {
        ..70 => year + 2000,
        70..100 => year + 1900,
        100..520 => year + 2000,
        520..1000 => year + 1000,
        _ => year,
    }
}

fn read_year_comma(parsed: &mut Parsed, reader: &mut Reader<'_>, field: &FieldNode) -> Result<()> {
    let input = reader.rest;
    let invalid = || bad(format!("invalid value \"{input}\" for \"Y,YYY\""));
    let (thousands, rest) = reader.rest.split_once(',').ok_or_else(invalid)?;
    let digits = rest.bytes().take(3).take_while(u8::is_ascii_digit).count();
    let thousands: i32 = thousands.trim().parse().map_err(|_| invalid())?;
    let years: i32 = rest[..digits].parse().map_err(|_| invalid())?;
    let year = thousands.checked_mul(1000).and_then(|t| t.checked_add(years));
    let year = year.ok_or_else(|| {
        Error::new(
            SqlState::DATETIME_FIELD_OVERFLOW,
            "value for \"Y,YYY\" in source string is out of range",
        )
    })?;
    set(&mut parsed.year, year, field)?;
    parsed.year_digits = 4;
    reader.rest = &rest[digits..];
    skip_ordinal(reader, field)
}

/// Puts a date and time together; the offset in seconds east if one was given.
fn assemble(mut parsed: Parsed, input: &str) -> Result<(Tm, Option<i32>)> {
    let overflow = || {
        Error::new(
            SqlState::DATETIME_FIELD_OVERFLOW,
            format!("date/time field value out of range: \"{input}\""),
        )
    };
    let mut tm = Tm { month: 1, day: 1, ..Tm::default() };
    clock(&parsed, &mut tm)?;
    let mut checked = year(&mut parsed, &mut tm).ok_or_else(overflow)?;
    if parsed.julian != 0 {
        (tm.year, tm.month, tm.day) = j2date(parsed.julian);
        checked = true;
    }
    if parsed.week != 0 && parsed.iso_week {
        let monday = isoweek2j(tm.year, parsed.week);
        // Sunday ends the ISO week; days count from it here.
        let day = match parsed.day_of_week {
            0 => 0,
            1 => 6,
            d => d - 2,
        };
        (tm.year, tm.month, tm.day) = j2date(monday.wrapping_add(day));
        checked = true;
    } else if parsed.week != 0 {
        let before = (parsed.week - 1).checked_mul(7).ok_or_else(overflow)?;
        parsed.day_of_year = before.checked_add(1).ok_or_else(overflow)?;
    }
    if parsed.week_of_month != 0 {
        let before = (parsed.week_of_month - 1).checked_mul(7).ok_or_else(overflow)?;
        parsed.day = before.checked_add(1).ok_or_else(overflow)?;
    }
    if parsed.day != 0 {
        tm.day = parsed.day;
        checked = true;
    }
    if parsed.month != 0 {
        tm.month = parsed.month;
        checked = true;
    }
    if parsed.day_of_year != 0 && (tm.month <= 1 || tm.day <= 1) {
        day_of_year(&parsed, &mut tm)?;
        checked = true;
    }
    tm.micros = parsed.millis.saturating_mul(1000).saturating_add(parsed.micros);
    let valid_date = (1..=12).contains(&tm.month)
        && (1..=31).contains(&tm.day)
        && tm.day <= days_in_month(tm.year, tm.month);
    let valid_time = (0..24).contains(&tm.hour)
        && (0..60).contains(&tm.minute)
        && (0..60).contains(&tm.second)
        && (0..1_000_000).contains(&tm.micros);
    if checked && !valid_date || !valid_time {
        return Err(overflow());
    }
    let offset = offset(&parsed, &tm, input)?;
    Ok((tm, offset))
}

fn clock(parsed: &Parsed, tm: &mut Tm) -> Result<()> {
    let of_day = parsed.second_of_day;
    (tm.hour, tm.minute, tm.second) = (of_day / 3600, of_day / 60 % 60, of_day % 60);
    let given = |value: i32, default: i32| if value != 0 { value } else { default };
    tm.second = given(parsed.second, tm.second);
    tm.minute = given(parsed.minute, tm.minute);
    tm.hour = given(parsed.hour, tm.hour);
    if parsed.twelve_hours {
        if !(1..=12).contains(&tm.hour) {
            return Err(bad(format!("hour \"{}\" is invalid for the 12-hour clock", tm.hour))
                .hint("Use the 24-hour clock, or give an hour between 1 and 12."));
        }
        match (parsed.pm, tm.hour) {
            (true, hour) if hour < 12 => tm.hour += 12,
            (false, 12) => tm.hour = 0,
            _ => {}
        }
    }
    Ok(())
}

/// The year from year, century and era. True if one was given, None if it is out of range.
fn year(parsed: &mut Parsed, tm: &mut Tm) -> Option<bool> {
    let signed = if parsed.bc { parsed.century.checked_neg()? } else { parsed.century };
    if parsed.year != 0 && signed != 0 && parsed.year_digits <= 2 {
        // The century's years end with the one divisible by 100.
        let within = parsed.year % 100;
        tm.year = match (within, signed >= 0) {
            (0, true) => signed.checked_mul(100)?,
            (0, false) => signed.checked_mul(100)?.checked_add(1)?,
            (_, true) => (signed - 1).checked_mul(100)?.checked_add(within)?,
            (_, false) => (signed + 1).checked_mul(100)?.checked_sub(within)?.checked_add(1)?,
        };
    } else if parsed.year != 0 {
        tm.year = if parsed.bc { parsed.year.checked_neg()? } else { parsed.year };
        if tm.year < 0 {
            tm.year += 1;
        }
    } else if signed != 0 {
        let before = if signed >= 0 { signed - 1 } else { signed };
        tm.year = before.checked_mul(100)?.checked_add(1)?;
    } else {
        return Some(false);
    }
    Some(true)
}

/// Month and day from the day of the year.
fn day_of_year(parsed: &Parsed, tm: &mut Tm) -> Result<()> {
    if tm.year == 0 && !parsed.bc {
        let message = "cannot calculate day of year without year information";
        return Err(bad(message.to_string()));
    }
    if parsed.iso_week {
        let start = isoweek2j(tm.year, 1) - 1;
        (tm.year, tm.month, tm.day) = j2date(start.wrapping_add(parsed.day_of_year));
        return Ok(());
    }
    let mut left = parsed.day_of_year;
    let mut month = 1;
    while month <= 12 && left > days_in_month(tm.year, month) {
        left -= days_in_month(tm.year, month);
        month += 1;
    }
    if tm.month <= 1 {
        tm.month = month;
    }
    if tm.day <= 1 {
        tm.day = left;
    }
    Ok(())
}

/// Seconds east of UTC, if the input says.
fn offset(parsed: &Parsed, tm: &Tm, input: &str) -> Result<Option<i32>> {
    if parsed.zone_sign == 0 {
        return Ok(match &parsed.zone_abbrev {
            None => None,
            Some((_, AbbrevMeaning::Fixed(offset))) => Some(*offset),
            Some((name, AbbrevMeaning::Dated(zone))) => Some(abbrev_offset(zone, name, tm)),
        });
    }
    let valid =
        (0..=MAX_ZONE_HOUR).contains(&parsed.zone_hour) && (0..60).contains(&parsed.zone_minute);
    if !valid {
        return Err(Error::new(
            SqlState::INVALID_TIME_ZONE_DISPLACEMENT_VALUE,
            format!("time zone displacement out of range: \"{input}\""),
        ));
    }
    let seconds = (parsed.zone_hour * 60 + parsed.zone_minute) * 60;
    Ok(Some(parsed.zone_sign * seconds))
}

/// `to_date(input, picture)`; an abbreviation in the input may be one of the session's zone.
pub fn to_date(input: &str, picture: &str, zone: &TimeZone) -> Result<i32> {
    let (tm, _) = assemble(read(input, picture, zone)?, input)?;
    tm.to_date().ok_or_else(|| {
        Error::new(SqlState::DATETIME_FIELD_OVERFLOW, format!("date out of range: \"{input}\""))
    })
}

/// `to_timestamp(input, picture)`: an instant, read in a zone unless the input has one.
pub fn to_timestamp(input: &str, picture: &str, zone: &TimeZone) -> Result<i64> {
    let parsed = read(input, picture, zone)?;
    let digits = parsed.fraction_digits;
    let (tm, offset) = assemble(parsed, input)?;
    let offset = offset.unwrap_or_else(|| zone.offset_of_local(&tm));
    let time = tm.to_timestamp_at(offset).ok_or_else(super::super::timestamp_out_of_range)?;
    match digits {
        Some(digits) => timestamp_typmod(time, digits as i32),
        None => Ok(time),
    }
}
