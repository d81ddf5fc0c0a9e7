//! Reading dates and times from fields (DecodeDateTime, DecodeTimeOnly).

use super::calendar::{Tm, USECS_PER_DAY, date2j, days_in_month, j2date};
use super::config::{DateOrder, DateTimeConfig};
use super::token::{Fault, Field, Kind, Word, word};
use super::zone::{AbbrevMeaning, TimeZone, abbrev_offset};

/// Sets of fields seen.
type Mask = u32;
const MONTH: Mask = 1 << 1;
const YEAR: Mask = 1 << 2;
const DAY: Mask = 1 << 3;
const TZ: Mask = 1 << 5;
const AMPM: Mask = 1 << 9;
const HOUR: Mask = 1 << 10;
const DOY: Mask = 1 << 15;
const DOW: Mask = 1 << 16;
const ADBC: Mask = 1 << 18;
const DTZMOD: Mask = 1 << 28;
const DATE: Mask = YEAR | MONTH | DAY;
/// Hour, minute and all kinds of seconds always come together.
const TIME: Mask = HOUR | 0b11111 << 10;

/// Largest displacement hour in input (MAX_TZDISP_HOUR).
const MAX_ZONE_HOUR: i32 = 15;

/// The value of an input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Decoded {
    /// A date and time, and its offset in seconds east of UTC.
    At(Tm, i32),
    Epoch,
    Infinity,
    NegInfinity,
}

/// A zone whose offset is known once the date is.
enum LateZone {
    Named(TimeZone),
    Abbrev(TimeZone, String),
}

/// A label waiting for its value.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Label {
    Julian,
    IsoTime,
}

pub(super) struct Decoder<'a> {
    config: &'a DateTimeConfig,
    now: i64,
    tm: Tm,
    year_day: i32,
    mask: Mask,
    text_month: bool,
    is_julian: bool,
    two_digit_year: bool,
    bc: bool,
    half: Option<Word>,
    label: Option<Label>,
    offset: i32,
    zone: Option<LateZone>,
    special: Option<Decoded>,
    /// A time of day alone is wanted.
    time_only: bool,
}

type Step<T = ()> = Result<T, Fault>;

/// An integer prefix and the rest (strtoint).
fn leading_int(text: &str) -> Step<(i32, &str)> {
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    if end == 0 {
        return Err(Fault::BadFormat);
    }
    let value = text[..end].parse().map_err(|_| Fault::FieldOverflow)?;
    Ok((value, &text[end..]))
}

/// An integer prefix as C's strtol reads it, and the rest. Space and a sign may precede it; without
/// a digit it is 0 and nothing is read.
fn lenient_int(text: &str) -> Step<(i32, &str)> {
    let digits = text.trim_start_matches(|c: char| c.is_ascii_whitespace() || c == '\x0b');
    let (negative, digits) = match digits.as_bytes().first() {
        Some(b'-') => (true, &digits[1..]),
        Some(b'+') => (false, &digits[1..]),
        _ => (false, digits),
    };
    if !digits.starts_with(|c: char| c.is_ascii_digit()) {
        return Ok((0, text));
    }
    let (value, rest) = leading_int(digits)?;
    Ok((if negative { -value } else { value }, rest))
}

/// Microseconds of a fraction of a second: `.`, then digits.
pub(super) fn fraction_micros(text: &str) -> Step<i32> {
    match text {
        "." => Ok(0),
        _ => {
            let fraction = format!("0{text}").parse::<f64>().map_err(|_| Fault::BadFormat)?;
            Ok((fraction * 1e6).round_ties_even() as i32)
        }
    }
}

/// `h:mm[:ss[.fff]]` or, taken as minutes and seconds, `mm:ss.fff`.
pub(super) fn decode_time(text: &str) -> Step<Tm> {
    let mut tm = Tm::default();
    let (first, rest) = leading_int(text)?;
    let (second, rest) = lenient_int(rest.strip_prefix(':').ok_or(Fault::BadFormat)?)?;
    (tm.hour, tm.minute) = (first, second);
    if rest.starts_with('.') {
        tm.micros = fraction_micros(rest)?;
        (tm.hour, tm.minute, tm.second) = (0, first, second);
    } else if let Some(rest) = rest.strip_prefix(':') {
        let (second, rest) = lenient_int(rest)?;
        tm.second = second;
        if rest.starts_with('.') {
            tm.micros = fraction_micros(rest)?;
        } else if !rest.is_empty() {
            return Err(Fault::BadFormat);
        }
    } else if !rest.is_empty() {
        return Err(Fault::BadFormat);
    }
    if tm.minute > 59 || tm.second > 60 || tm.micros > 1_000_000 {
        return Err(Fault::FieldOverflow);
    }
    Ok(tm)
}

/// A numeric time zone: sign, then `hh[:mm[:ss]]`, `hhmm`. Seconds east.
pub(super) fn decode_zone(text: &str) -> Step<i32> {
    let west = match text.as_bytes().first() {
        Some(b'+') => false,
        Some(b'-') => true,
        _ => return Err(Fault::BadFormat),
    };
    let overflow = |fault| match fault {
        Fault::FieldOverflow => Fault::ZoneOverflow,
        other => other,
    };
    let (mut hour, mut rest) = lenient_int(&text[1..]).map_err(overflow)?;
    let (mut minute, mut second) = (0, 0);
    if let Some(r) = rest.strip_prefix(':') {
        (minute, rest) = lenient_int(r).map_err(overflow)?;
        if let Some(r) = rest.strip_prefix(':') {
            (second, rest) = lenient_int(r).map_err(overflow)?;
        }
    } else if rest.is_empty() && text.len() > 3 {
        (hour, minute) = (hour / 100, hour % 100);
    }
    let valid = (0..=MAX_ZONE_HOUR).contains(&hour)
        && (0..60).contains(&minute)
        && (0..60).contains(&second);
    if !valid {
        return Err(Fault::ZoneOverflow);
    }
    if !rest.is_empty() {
        return Err(Fault::BadFormat);
    }
    let offset = (hour * 60 + minute) * 60 + second;
    Ok(if west { -offset } else { offset })
}

impl<'a> Decoder<'a> {
    pub(super) fn new(config: &'a DateTimeConfig, now: i64, time_only: bool) -> Decoder<'a> {
        Decoder {
            config,
            now,
            tm: Tm::default(),
            year_day: 0,
            mask: 0,
            text_month: false,
            is_julian: false,
            two_digit_year: false,
            bc: false,
            half: None,
            label: None,
            offset: 0,
            zone: None,
            special: None,
            time_only,
        }
    }

    /// The session's date and time now.
    fn now_local(&self) -> Tm {
        let zone = &self.config.time_zone;
        Tm::from_timestamp(zone.to_local(self.now).unwrap_or(self.now))
    }

    /// Reads all fields.
    pub(super) fn decode(mut self, fields: &[Field]) -> Step<Decoded> {
        for (i, field) in fields.iter().enumerate() {
            let seen = match field.kind {
                Kind::Date => self.date_field(fields, i)?,
                Kind::Time => self.time_field(&field.text)?,
                Kind::Zone => {
                    self.offset = decode_zone(&field.text)?;
                    TZ
                }
                Kind::Number => self.number_field(fields, i)?,
                Kind::Text | Kind::Special => self.word_field(&field.text)?,
            };
            if seen & self.mask != 0 {
                return Err(Fault::BadFormat);
            }
            self.mask |= seen;
        }
        if self.label.is_some() {
            return Err(Fault::BadFormat);
        }
        if let Some(special) = self.special {
            return Ok(special);
        }
        self.validate()?;
        self.apply_half()?;
        self.finish()
    }

    /// The mask under which concatenated digits are read: a time alone never takes
    /// them for a date.
    fn digits_mask(&self) -> Mask {
        if self.time_only { self.mask | DATE } else { self.mask }
    }

    fn date_field(&mut self, fields: &[Field], i: usize) -> Step<Mask> {
        let text = &fields[i].text;
        if self.label == Some(Label::Julian) && !self.time_only {
            // A Julian day with a zone attached.
            let (julian, zone) = leading_int(text)?;
            self.set_julian(julian);
            self.offset = decode_zone(zone)?;
            self.label = None;
            return Ok(DATE | TIME | TZ);
        }
        let date_allowed = if self.time_only {
            i == 0
                && fields.len() >= 2
                && (fields.last().is_some_and(|f| f.kind == Kind::Date)
                    || fields[1].kind == Kind::Time)
        } else {
            self.label.is_none() && self.mask & (MONTH | DAY) != MONTH | DAY
        };
        if date_allowed {
            return self.decode_date(text);
        }
        if text.starts_with(|c: char| c.is_ascii_digit()) || self.label.is_some() {
            // A run-together time with a zone: hhmmss-zz.
            if self.label.take().is_some_and(|l| l != Label::IsoTime) || self.mask & TIME == TIME {
                return Err(Fault::BadFormat);
            }
            let (digits, zone) = text.split_at(text.find('-').ok_or(Fault::BadFormat)?);
            self.offset = decode_zone(zone)?;
            let seen = self.number_run(digits, self.digits_mask())?;
            return Ok(seen | TZ);
        }
        let zone = TimeZone::by_name(text).ok_or_else(|| Fault::BadZone(text.clone()))?;
        self.zone = Some(LateZone::Named(zone));
        Ok(TZ)
    }

    fn time_field(&mut self, text: &str) -> Step<Mask> {
        if self.label.take().is_some_and(|l| l != Label::IsoTime) {
            return Err(Fault::BadFormat);
        }
        let time = decode_time(text)?;
        if time.hour > 24 || time.time() > USECS_PER_DAY {
            return Err(Fault::FieldOverflow);
        }
        self.set_time(time);
        Ok(TIME)
    }

    fn set_time(&mut self, time: Tm) {
        let Tm { hour, minute, second, micros, .. } = time;
        self.tm = Tm { hour, minute, second, micros, ..self.tm };
    }

    fn set_julian(&mut self, julian: i32) {
        (self.tm.year, self.tm.month, self.tm.day) = j2date(julian);
        self.is_julian = true;
    }

    fn number_field(&mut self, fields: &[Field], i: usize) -> Step<Mask> {
        let text = &fields[i].text;
        match self.label.take() {
            Some(Label::Julian) => {
                let (julian, rest) = leading_int(text)?;
                self.set_julian(julian);
                if rest.is_empty() {
                    return Ok(DATE);
                }
                let fraction = format!("0{rest}").parse::<f64>().map_err(|_| Fault::BadFormat)?;
                self.set_time(Tm::from_time((fraction * USECS_PER_DAY as f64) as i64));
                return Ok(DATE | TIME);
            }
            Some(Label::IsoTime) => {
                let seen = self.number_run(text, self.mask | DATE)?;
                return if seen == TIME { Ok(seen) } else { Err(Fault::BadFormat) };
            }
            None => {}
        }
        let point = text.find('.');
        if self.time_only {
            let dated =
                i == 0 && fields.len() >= 2 && fields.last().is_some_and(|f| f.kind == Kind::Date);
            return match point {
                Some(_) if dated => self.decode_date(text),
                Some(p) if p > 2 => self.number_run(text, self.digits_mask()),
                Some(_) => Err(Fault::BadFormat),
                None if text.len() > 4 => self.number_run(text, self.digits_mask()),
                None => self.decode_number(text, self.digits_mask()),
            };
        }
        match point {
            Some(_) if self.mask & DATE == 0 => self.decode_date(text),
            Some(p) if p > 2 => self.number_run(text, self.mask),
            // Six digits or more are YMD or HMS; five are a year.
            _ if text.len() >= 6 && (self.mask & DATE == 0 || self.mask & TIME == 0) => {
                self.number_run(text, self.mask)
            }
            _ => self.decode_number(text, self.mask),
        }
    }

    /// Digits run together: yymmdd, yyyymmdd, hhmm, hhmmss[.fff] (DecodeNumberField).
    fn number_run(&mut self, text: &str, mask: Mask) -> Step<Mask> {
        let (digits, fraction) = text.split_at(text.find('.').unwrap_or(text.len()));
        if !digits.bytes().all(|c| c.is_ascii_digit()) {
            return Err(Fault::BadFormat);
        }
        let part = |from: usize, to: usize| {
            digits[from..to].parse::<i32>().map_err(|_| Fault::FieldOverflow)
        };
        let len = digits.len();
        if !fraction.is_empty() {
            self.tm.micros = fraction_micros(fraction)?;
        } else if mask & DATE != DATE && len >= 6 {
            self.tm.day = part(len - 2, len)?;
            self.tm.month = part(len - 4, len - 2)?;
            self.tm.year = part(0, len - 4)?;
            self.two_digit_year |= len - 4 == 2;
            return Ok(DATE);
        }
        if mask & TIME != TIME && (len == 6 || len == 4) {
            self.tm.hour = part(0, 2)?;
            self.tm.minute = part(2, 4)?;
            self.tm.second = if len == 6 { part(4, 6)? } else { 0 };
            return Ok(TIME);
        }
        Err(Fault::BadFormat)
    }

    /// One number of a date; its meaning depends on the fields so far (DecodeNumber).
    fn decode_number(&mut self, text: &str, mask: Mask) -> Step<Mask> {
        let (value, rest) = leading_int(text)?;
        if rest.starts_with('.') {
            if text.len() - rest.len() > 2 {
                return self.number_run(text, mask | DATE);
            }
            self.tm.micros = fraction_micros(rest)?;
        } else if !rest.is_empty() {
            return Err(Fault::BadFormat);
        }
        let len = text.len();
        if len == 3 && mask & DATE == YEAR && (1..=366).contains(&value) {
            self.year_day = value;
            return Ok(DOY | MONTH | DAY);
        }
        let order = self.config.date_order;
        let seen = match mask & DATE {
            0 if len >= 3 || order == DateOrder::Ymd => YEAR,
            0 if order == DateOrder::Dmy => DAY,
            0 => MONTH,
            YEAR => MONTH,
            MONTH if self.text_month && (len >= 3 || order == DateOrder::Ymd) => YEAR,
            MONTH => DAY,
            m if m == YEAR | MONTH => {
                if self.text_month && len >= 3 && self.two_digit_year {
                    // The first number was the day after all: DD-MON-YYYY.
                    self.tm.day = self.tm.year;
                    self.tm.year = value;
                    self.two_digit_year = false;
                    return Ok(DAY);
                }
                DAY
            }
            DAY => MONTH,
            m if m == MONTH | DAY => YEAR,
            DATE => return self.number_run(text, mask),
            _ => return Err(Fault::BadFormat),
        };
        match seen {
            YEAR => {
                self.tm.year = value;
                self.two_digit_year = len <= 2;
            }
            MONTH => self.tm.month = value,
            _ => self.tm.day = value,
        }
        Ok(seen)
    }

    /// A date with delimiters (DecodeDate).
    fn decode_date(&mut self, text: &str) -> Step<Mask> {
        let mut parts = Vec::new();
        let mut rest = text;
        while !rest.is_empty() {
            rest = rest.trim_start_matches(|c: char| !c.is_ascii_alphanumeric());
            let Some(first) = rest.chars().next() else { return Err(Fault::BadFormat) };
            let digits = first.is_ascii_digit();
            let end = rest
                .find(|c: char| if digits { !c.is_ascii_digit() } else { !c.is_ascii_alphabetic() })
                .unwrap_or(rest.len());
            parts.push((digits, &rest[..end]));
            // Any character after a part is its delimiter.
            rest = rest.get(end + 1..).unwrap_or("");
        }
        let mut mask = self.mask;
        let add = |mask: &mut Mask, seen: Mask| {
            if *mask & seen != 0 {
                return Err(Fault::BadFormat);
            }
            *mask |= seen;
            Ok(())
        };
        // A month's name is unambiguous, so look for it first.
        for (_, part) in parts.iter().filter(|(digits, _)| !digits) {
            match word(part) {
                Some(Word::Ignore) => {}
                Some(Word::Month(month)) => {
                    self.tm.month = month;
                    self.text_month = true;
                    add(&mut mask, MONTH)?;
                }
                _ => return Err(Fault::BadFormat),
            }
        }
        for (_, part) in parts.iter().filter(|(digits, _)| *digits) {
            let seen = self.decode_number(part, mask)?;
            add(&mut mask, seen)?;
        }
        // Only a zone may stand before a delimited date.
        if mask & !(DOY | TZ) != DATE {
            return Err(Fault::BadFormat);
        }
        Ok(mask & !self.mask)
    }

    fn word_field(&mut self, text: &str) -> Step<Mask> {
        // Zone abbreviations take precedence over keywords.
        match self.config.time_zone.abbrev_meaning(text) {
            Some(AbbrevMeaning::Fixed(offset)) => {
                self.offset = offset;
                return Ok(TZ);
            }
            Some(AbbrevMeaning::Dated(zone)) => {
                self.zone = Some(LateZone::Abbrev(zone, text.to_string()));
                return Ok(TZ);
            }
            None => {}
        }
        let Some(word) = word(text) else {
            let zone = TimeZone::by_name(text).ok_or(Fault::BadFormat)?;
            self.zone = Some(LateZone::Named(zone));
            return Ok(TZ);
        };
        match word {
            Word::Ignore => Ok(0),
            Word::Month(month) => {
                let mut seen = MONTH;
                // "1 Jan": the number taken for a month was the day.
                let taken = self.mask & MONTH != 0 && !self.text_month && self.mask & DAY == 0;
                if taken && (1..=31).contains(&self.tm.month) {
                    self.tm.day = self.tm.month;
                    seen = DAY;
                }
                self.text_month = true;
                self.tm.month = month;
                Ok(seen)
            }
            Word::DayOfWeek => Ok(DOW),
            Word::Am | Word::Pm => {
                self.half = Some(word);
                Ok(AMPM)
            }
            Word::Ad | Word::Bc => {
                self.bc = word == Word::Bc;
                Ok(ADBC)
            }
            Word::Dst => {
                self.offset += 3600;
                Ok(DTZMOD)
            }
            Word::Julian | Word::IsoTime => {
                if self.label.is_some()
                    || (word == Word::IsoTime && !self.time_only && self.mask & DATE != DATE)
                {
                    return Err(Fault::BadFormat);
                }
                self.label =
                    Some(if word == Word::Julian { Label::Julian } else { Label::IsoTime });
                Ok(0)
            }
            Word::Unit => Err(Fault::BadFormat),
            _ => self.reserved(word),
        }
    }

    /// Words that stand for whole values.
    fn reserved(&mut self, word: Word) -> Step<Mask> {
        if self.time_only && !matches!(word, Word::Now | Word::Zulu) {
            return Err(Fault::BadFormat);
        }
        let everything = DATE | TIME | TZ;
        match word {
            Word::Now => {
                self.tm = self.now_local();
                self.offset = self.config.time_zone.offset_at(self.now);
                Ok(if self.time_only { TIME } else { everything })
            }
            Word::Zulu => {
                self.set_time(Tm::default());
                self.offset = 0;
                Ok(TIME | TZ)
            }
            Word::Today | Word::Tomorrow | Word::Yesterday => {
                let shift = match word {
                    Word::Tomorrow => 1,
                    Word::Yesterday => -1,
                    _ => 0,
                };
                let date = j2date(self.now_local().julian() + shift);
                (self.tm.year, self.tm.month, self.tm.day) = date;
                // The year is complete as it is, even before 100 AD.
                self.is_julian = true;
                Ok(DATE)
            }
            Word::Epoch => {
                self.special = Some(Decoded::Epoch);
                Ok(everything)
            }
            Word::Infinity => {
                self.special = Some(Decoded::Infinity);
                Ok(everything)
            }
            Word::NegInfinity => {
                self.special = Some(Decoded::NegInfinity);
                Ok(everything)
            }
            _ => Err(Fault::BadFormat),
        }
    }

    /// Completes the year and checks the date (ValidateDate).
    fn validate(&mut self) -> Step {
        if self.mask & YEAR != 0 && !self.is_julian {
            let year = &mut self.tm.year;
            if self.bc {
                if *year <= 0 {
                    return Err(Fault::FieldOverflow);
                }
                *year = 1 - *year;
            } else if self.two_digit_year {
                *year += match *year {
                    ..70 => 2000,
                    70..100 => 1900,
                    _ => 0,
                };
            } else if *year <= 0 {
                return Err(Fault::FieldOverflow);
            }
        }
        if self.mask & DOY != 0 {
            let julian = date2j(self.tm.year, 1, 1) + self.year_day - 1;
            (self.tm.year, self.tm.month, self.tm.day) = j2date(julian);
        }
        if self.mask & MONTH != 0 && !(1..=12).contains(&self.tm.month)
            || self.mask & DAY != 0 && !(1..=31).contains(&self.tm.day)
        {
            return Err(Fault::MonthDayOverflow);
        }
        if self.mask & DATE == DATE && self.tm.day > days_in_month(self.tm.year, self.tm.month) {
            return Err(Fault::FieldOverflow);
        }
        Ok(())
    }

    fn apply_half(&mut self) -> Step {
        let Some(half) = self.half else { return Ok(()) };
        if self.tm.hour > 12 {
            return Err(Fault::FieldOverflow);
        }
        match (half, self.tm.hour) {
            (Word::Am, 12) => self.tm.hour = 0,
            (Word::Pm, hour) if hour != 12 => self.tm.hour += 12,
            _ => {}
        }
        Ok(())
    }

    /// Checks completeness and finds the offset.
    fn finish(mut self) -> Step<Decoded> {
        let dated = self.mask & DATE == DATE;
        if self.time_only {
            if self.tm.hour > 24 || self.tm.time() > USECS_PER_DAY || self.tm.minute > 59 {
                return Err(Fault::FieldOverflow);
            }
            if self.mask & TIME != TIME {
                return Err(Fault::BadFormat);
            }
        } else if !dated {
            return Err(Fault::BadFormat);
        }
        if self.mask & DTZMOD != 0 && (self.zone.is_some() || self.mask & TZ == 0) {
            return Err(Fault::BadFormat);
        }
        let mut reference = self.tm;
        if !dated {
            let today = self.now_local();
            (reference.year, reference.month, reference.day) = (today.year, today.month, today.day);
        }
        match &self.zone {
            Some(LateZone::Named(zone)) => {
                // A zone with summer time needs a date to know its offset by.
                self.offset = match zone.fixed_offset() {
                    Some(offset) => offset,
                    None if !dated => return Err(Fault::BadFormat),
                    None => zone.offset_of_local(&reference),
                };
            }
            Some(LateZone::Abbrev(zone, name)) => {
                self.offset = abbrev_offset(zone, name, &reference);
            }
            None if self.mask & TZ == 0 => {
                if self.time_only && self.mask & DATE != 0 && !dated {
                    return Err(Fault::BadFormat);
                }
                self.offset = self.config.time_zone.offset_of_local(&reference);
            }
            None => {}
        }
        Ok(Decoded::At(self.tm, self.offset))
    }
}
