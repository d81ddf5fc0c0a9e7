//! Reading intervals (DecodeInterval, DecodeISO8601Interval).
//!
//! The fields are read from right to left, so that a unit is known before its value. Fractions of
//! larger units spill into smaller ones: of years into months, of months and weeks into days, of
//! days into the time. For that a day has 24 hours and a month 30 days.

use super::calendar::{USECS_PER_DAY, USECS_PER_HOUR, USECS_PER_MINUTE, USECS_PER_SEC};
use super::config::IntervalStyle;
use super::decode::decode_time;
use super::token::{Fault, Field, Kind, Unit, Word, unit, word};
use crate::interval::{Interval, IntervalFields};

type Step<T = ()> = Result<T, Fault>;

/// An interval being put together.
#[derive(Clone, Copy, Debug, Default)]
struct Parts {
    years: i64,
    months: i64,
    days: i64,
    micros: i64,
}

fn add(slot: &mut i64, value: i64, scale: i64) -> Step {
    let scaled = value.checked_mul(scale).and_then(|v| slot.checked_add(v));
    *slot = scaled.ok_or(Fault::FieldOverflow)?;
    Ok(())
}

/// The same for years, months and days, which are 32-bit numbers.
fn add_field(slot: &mut i64, value: i64, scale: i64) -> Step {
    add(slot, value, scale)?;
    i32::try_from(*slot).map(|_| ()).map_err(|_| Fault::FieldOverflow)
}

impl Parts {
    fn add_micros(&mut self, value: i64, fraction: f64, scale: i64) -> Step {
        add(&mut self.micros, value, scale)?;
        self.add_fraction_micros(fraction, scale)
    }

    /// To the nearest microsecond; a half of one counts nothing (AdjustFractMicroseconds).
    fn add_fraction_micros(&mut self, fraction: f64, scale: i64) -> Step {
        let micros = fraction * scale as f64;
        let whole = micros.trunc();
        let rest = micros - whole;
        let more = if rest.abs() > 0.5 { rest.signum() as i64 } else { 0 };
        add(&mut self.micros, whole as i64 + more, 1)
    }

    fn add_fraction_days(&mut self, fraction: f64, scale: i64) -> Step {
        let days = fraction * scale as f64;
        add_field(&mut self.days, days.trunc() as i64, 1)?;
        self.add_fraction_micros(days - days.trunc(), USECS_PER_DAY)
    }

    fn add_years(&mut self, value: i64, fraction: f64, scale: i64) -> Step {
        add_field(&mut self.years, value, scale)?;
        add_field(&mut self.months, (fraction * (scale * 12) as f64).round_ties_even() as i64, 1)
    }

    /// Adds `value + fraction` of a unit.
    fn add_unit(&mut self, unit: Unit, value: i64, fraction: f64) -> Step {
        match unit {
            Unit::Microsecond => self.add_micros(value, fraction, 1),
            Unit::Millisecond => self.add_micros(value, fraction, 1000),
            Unit::Second => self.add_micros(value, fraction, USECS_PER_SEC),
            Unit::Minute => self.add_micros(value, fraction, USECS_PER_MINUTE),
            Unit::Hour => self.add_micros(value, fraction, USECS_PER_HOUR),
            Unit::Day => {
                add_field(&mut self.days, value, 1)?;
                self.add_fraction_micros(fraction, USECS_PER_DAY)
            }
            Unit::Week => {
                add_field(&mut self.days, value, 7)?;
                self.add_fraction_days(fraction, 7)
            }
            Unit::Month => {
                add_field(&mut self.months, value, 1)?;
                self.add_fraction_days(fraction, 30)
            }
            Unit::Year => self.add_years(value, fraction, 1),
            Unit::Decade => self.add_years(value, fraction, 10),
            Unit::Century => self.add_years(value, fraction, 100),
            Unit::Millennium => self.add_years(value, fraction, 1000),
            Unit::Quarter => Err(Fault::BadFormat),
        }
    }

    fn negated(self) -> Step<Parts> {
        let neg = |v: i64| v.checked_neg().ok_or(Fault::FieldOverflow);
        Ok(Parts {
            years: neg(self.years)?,
            months: neg(self.months)?,
            days: neg(self.days)?,
            micros: neg(self.micros)?,
        })
    }

    /// The interval; None if it is out of range.
    fn finish(self) -> Option<Interval> {
        let months = self.years.checked_mul(12)?.checked_add(self.months)?;
        Some(Interval {
            months: i32::try_from(months).ok()?,
            days: i32::try_from(self.days).ok()?,
            micros: self.micros,
        })
    }
}

/// A bit for each unit, to find units that are given twice. A second with a fraction also gives
/// milliseconds and microseconds.
fn unit_mask(unit: Unit, fraction: f64) -> u32 {
    if unit == Unit::Second && fraction != 0.0 {
        return time_seconds_mask();
    }
    1 << unit as u32
}

fn time_seconds_mask() -> u32 {
    1 << Unit::Second as u32 | 1 << Unit::Millisecond as u32 | 1 << Unit::Microsecond as u32
}

fn time_mask() -> u32 {
    time_seconds_mask() | 1 << Unit::Minute as u32 | 1 << Unit::Hour as u32
}

/// The unit of a rightmost number without one.
fn default_unit(fields: IntervalFields) -> Unit {
    fields.last_unit().unwrap_or(Unit::Second)
}

/// A time of day as part of an interval: any number of hours.
fn time_micros(text: &str, fields: IntervalFields) -> Step<i64> {
    let (first, rest) = text.split_once(':').ok_or(Fault::BadFormat)?;
    let two_fields = !rest.contains(':');
    if two_fields && (rest.contains('.') || fields.is_minute_to_second()) {
        // Minutes and seconds: that is how decode_time reads a fraction, and otherwise where
        // the type says so.
        let mut time = decode_time(text)?;
        if !rest.contains('.') {
            (time.hour, time.minute, time.second) = (0, time.hour, time.minute);
        }
        return Ok(time.time());
    }
    let hours: i64 = first.parse().map_err(|_| Fault::FieldOverflow)?;
    let within = decode_time(&format!("0:{rest}"))?.time();
    let hours = hours.checked_mul(USECS_PER_HOUR);
    hours.and_then(|hours| hours.checked_add(within)).ok_or(Fault::FieldOverflow)
}

/// Value and fraction of a number field, with `years-months` as months.
fn number(text: &str, unit: Unit) -> Step<(Unit, i64, f64)> {
    let sign_len = text.starts_with(['+', '-']) as usize;
    let negative = text.starts_with('-');
    let end = text[sign_len..]
        .find(|c: char| !c.is_ascii_digit())
        .map_or(text.len(), |end| end + sign_len);
    let rest = &text[end..];
    let whole: i64 = match &text[sign_len..end] {
        "" if rest.starts_with('.') => 0,
        "" => return Err(Fault::BadFormat),
        // Parsed with the sign, so that the most negative number is taken.
        _ => text[..end].parse().map_err(|_| Fault::FieldOverflow)?,
    };
    if let Some(months) = rest.strip_prefix('-') {
        if months.is_empty() || !months.bytes().all(|c| c.is_ascii_digit()) {
            return Err(Fault::BadFormat);
        }
        let months: i64 = months.parse().ok().filter(|m| *m < 12).ok_or(Fault::FieldOverflow)?;
        let months = if negative { -months } else { months };
        let total = whole.checked_mul(12).and_then(|y| y.checked_add(months));
        return Ok((Unit::Month, total.ok_or(Fault::FieldOverflow)?, 0.0));
    }
    let fraction = match rest {
        "" | "." => 0.0,
        _ if rest.starts_with('.') => {
            format!("0{rest}").parse::<f64>().map_err(|_| Fault::BadFormat)?
        }
        _ => return Err(Fault::BadFormat),
    };
    Ok((unit, whole, if negative { -fraction } else { fraction }))
}

fn infinity(text: &str) -> Option<Interval> {
    match word(text)? {
        Word::Infinity => Some(Interval::INFINITY),
        Word::NegInfinity => Some(Interval::NEG_INFINITY),
        _ => None,
    }
}

/// Reads the traditional forms and SQL's; None if the value is out of range.
pub(super) fn decode_interval(
    fields: &[Field],
    wanted: IntervalFields,
    style: IntervalStyle,
) -> Step<Option<Interval>> {
    let mut parts = Parts::default();
    let mut mask = 0;
    let (mut ago, mut pending_unit) = (false, false);
    // SQL's one leading minus sign holds for all fields that have none of their own.
    let force_negative = style == IntervalStyle::SqlStandard
        && fields.first().is_some_and(|f| f.text.starts_with('-'))
        && !fields.iter().skip(1).any(|f| f.text.starts_with(['+', '-']));
    let mut unit_at_right: Option<Unit> = None;
    for (i, field) in fields.iter().enumerate().rev() {
        let text = field.text.as_str();
        let signed_time = field.kind == Kind::Zone && text[1..].contains(':');
        let seen = match field.kind {
            Kind::Time | Kind::Zone if field.kind == Kind::Time || signed_time => {
                let micros = time_micros(text.trim_start_matches(['+', '-']), wanted);
                // A signed field could be a number with a unit, so that an error of its time is bad
                // syntax.
                let mut micros =
                    if signed_time { micros.map_err(|_| Fault::BadFormat)? } else { micros? };
                if text.starts_with('-') || force_negative {
                    micros = -micros;
                }
                add(&mut parts.micros, micros, 1)?;
                // A number before it counts days.
                unit_at_right = Some(Unit::Day);
                pending_unit = false;
                time_mask()
            }
            Kind::Number | Kind::Date | Kind::Zone | Kind::Time => {
                if i + 2 == fields.len() && ago {
                    // Between a number and "ago" there must be a unit.
                    return Err(Fault::BadFormat);
                }
                let unit = unit_at_right.unwrap_or_else(|| default_unit(wanted));
                let (unit, mut value, mut fraction) = number(text, unit)?;
                if force_negative {
                    (value, fraction) = (if value > 0 { -value } else { value }, -fraction.abs());
                }
                parts.add_unit(unit, value, fraction)?;
                unit_at_right = Some(if unit == Unit::Hour { Unit::Day } else { unit });
                pending_unit = false;
                unit_mask(unit, fraction)
            }
            Kind::Text | Kind::Special if text == "ago" => {
                if i != fields.len() - 1 {
                    return Err(Fault::BadFormat);
                }
                ago = true;
                0
            }
            Kind::Text | Kind::Special if infinity(text).is_some() => {
                // An infinity must stand alone, even without "ago".
                return if fields.len() == 1 { Ok(infinity(text)) } else { Err(Fault::BadFormat) };
            }
            Kind::Text | Kind::Special => {
                if pending_unit {
                    return Err(Fault::BadFormat);
                }
                unit_at_right = Some(unit(text).ok_or(Fault::BadFormat)?);
                pending_unit = true;
                0
            }
        };
        if seen & mask != 0 {
            return Err(Fault::BadFormat);
        }
        mask |= seen;
    }
    if mask == 0 || pending_unit {
        return Err(Fault::BadFormat);
    }
    if ago {
        parts = parts.negated()?;
    }
    Ok(parts.finish())
}

/// Largest number of an ISO 8601 part.
const ISO_NUMBER_MAX: f64 = 1e15;

/// A number at the front of an ISO 8601 part, read as C's strtod does but without a plus sign:
/// whole, fraction, digits before the point, rest (ParseISO8601Number).
fn iso_number(text: &str) -> Step<(i64, f64, usize, &str)> {
    let digits_at = |at: usize| text[at..].bytes().take_while(u8::is_ascii_digit).count();
    let start = text.starts_with('-') as usize;
    let width = digits_at(start);
    let (mut end, mut digits) = (start + width, width);
    if text[end..].starts_with('.') {
        let fraction = digits_at(end + 1);
        (end, digits) = (end + 1 + fraction, digits + fraction);
    }
    if digits == 0 {
        return Err(Fault::BadFormat);
    }
    if text[end..].starts_with(['e', 'E']) {
        let sign = text[end + 1..].starts_with(['+', '-']) as usize;
        let exponent = digits_at(end + 1 + sign);
        end += if exponent > 0 { 1 + sign + exponent } else { 0 };
    }
    let value: f64 = text[..end].parse().map_err(|_| Fault::BadFormat)?;
    if !value.is_finite() {
        return Err(Fault::BadFormat);
    }
    if value.abs() > ISO_NUMBER_MAX {
        return Err(Fault::FieldOverflow);
    }
    Ok((value.trunc() as i64, value.fract(), width, &text[end..]))
}

/// Reads `P1Y2M3DT4H5M6S`, `P1W`, `P0001-02-03T04:05:06` and `P00010203T040506`; None if the value
/// is out of range.
pub(super) fn decode_iso8601(text: &str) -> Step<Option<Interval>> {
    let body = text.strip_prefix('P').filter(|b| !b.is_empty()).ok_or(Fault::BadFormat)?;
    let mut parts = Parts::default();
    let (mut rest, mut in_date, mut has_field) = (body, true, false);
    while let Some(first) = rest.chars().next() {
        if first == 'T' {
            in_date = false;
            has_field = false;
            rest = &rest[1..];
            continue;
        }
        let (value, fraction, width, after) = iso_number(rest)?;
        let unit = after.chars().next();
        match (in_date, unit) {
            (true, Some('Y')) => parts.add_unit(Unit::Year, value, fraction)?,
            (true, Some('M')) => parts.add_unit(Unit::Month, value, fraction)?,
            (true, Some('W')) => parts.add_unit(Unit::Week, value, fraction)?,
            (true, Some('D')) => parts.add_unit(Unit::Day, value, fraction)?,
            (false, Some('H')) => parts.add_unit(Unit::Hour, value, fraction)?,
            (false, Some('M')) => parts.add_unit(Unit::Minute, value, fraction)?,
            (false, Some('S')) => parts.add_unit(Unit::Second, value, fraction)?,
            (_, None | Some('T' | '-' | ':')) if !has_field => {
                rest = iso_alternative(&mut parts, in_date, rest, width)?;
                has_field = true;
                continue;
            }
            _ => return Err(Fault::BadFormat),
        }
        has_field = true;
        rest = &after[1..];
    }
    Ok(parts.finish())
}

/// The alternative format of a date or a time half: delimited, or digits run
/// together. Returns what follows.
fn iso_alternative<'a>(
    parts: &mut Parts,
    in_date: bool,
    text: &'a str,
    width: usize,
) -> Step<&'a str> {
    let (value, fraction, _, after) = iso_number(text)?;
    let (units, delimiter, run) = if in_date {
        ([Unit::Year, Unit::Month, Unit::Day], '-', 8)
    } else {
        ([Unit::Hour, Unit::Minute, Unit::Second], ':', 6)
    };
    if width == run && !after.starts_with(delimiter) {
        // YYYYMMDD or HHMMSS, with a fraction of the last.
        let (a, b, c) = (value / 10_000, value / 100 % 100, value % 100);
        parts.add_unit(units[0], a, 0.0)?;
        parts.add_unit(units[1], b, 0.0)?;
        parts.add_unit(units[2], c, 0.0)?;
        // PostgreSQL takes the fraction of a second run together for one of a microsecond.
        parts.add_fraction_micros(fraction, if in_date { USECS_PER_DAY } else { 1 })?;
        return Ok(after);
    }
    let mut rest = text;
    for (i, unit) in units.into_iter().enumerate() {
        let (value, fraction, _, after) = iso_number(rest)?;
        parts.add_unit(unit, value, fraction)?;
        rest = after;
        match rest.strip_prefix(delimiter) {
            Some(next) if i < 2 => rest = next,
            Some(_) => return Err(Fault::BadFormat),
            None => break,
        }
    }
    if rest.is_empty() || (in_date && rest.starts_with('T')) {
        Ok(rest)
    } else {
        Err(Fault::BadFormat)
    }
}
