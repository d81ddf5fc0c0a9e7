//! Time zones: the TimeZone setting, AT TIME ZONE, zone names in input.
//!
//! A zone is a name as SHOW TimeZone prints it and a rule: a fixed offset, or the
//! IANA database's history (the system's, else the one built in). Offsets here count
//! seconds *east* of UTC, unlike in PostgreSQL's C code.

use super::abbrev::{self, Abbrev};
use super::calendar::{POSTGRES_EPOCH_JDATE, Tm, UNIX_EPOCH_JDATE, USECS_PER_DAY, USECS_PER_SEC};
use super::decode::decode_zone;
use super::token::Fault;
use crate::error::{Error, Result, SqlState};
use crate::interval::Interval;
use jiff::tz::{AmbiguousOffset, TimeZone as Rules, TimeZoneTransition};
use std::sync::{Arc, LazyLock, OnceLock};

/// Largest displacement from UTC in hours (MAX_TZDISP_HOUR).
const MAX_HOURS: f64 = 168.0;
/// The number of transitions in which an abbreviation is searched. It is more than any zone has
/// before its rules repeat for ever.
const TRANSITIONS_MAX: usize = 1000;
/// A 400-year Gregorian cycle is a whole number of weeks, so rules repeat with it.
const CYCLE_DAYS: i64 = 146_097;

/// A time zone. Cheap to clone.
#[derive(Clone, Debug)]
pub struct TimeZone(Arc<Zone>);

#[derive(Debug)]
struct Zone {
    name: Box<str>,
    kind: Kind,
    /// All abbreviations that the zone has used, computed at the first use.
    abbrevs: OnceLock<Box<[KnownAbbrev]>>,
}

/// An abbreviation that a zone has used: upper case, and its offset unless it had several.
#[derive(Debug)]
struct KnownAbbrev {
    name: Box<str>,
    offset: Option<i32>,
    is_dst: bool,
}

/// An abbreviation as pg_timezone_abbrevs shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AbbrevShown {
    /// In upper case.
    pub abbrev: String,
    /// Seconds east of UTC that it means now.
    pub offset: i32,
    /// Whether that is daylight-saving time.
    pub is_dst: bool,
}

/// The meaning of an abbreviation in input.
#[derive(Clone, Debug)]
pub(crate) enum AbbrevMeaning {
    /// Seconds east of UTC, the same at every date.
    Fixed(i32),
    /// An offset that depends on the date: the zone's.
    Dated(TimeZone),
}

#[derive(Debug)]
enum Kind {
    /// Always the same offset, with the abbreviation that output shows.
    Fixed { offset: i32, abbrev: Box<str> },
    /// Offsets by date.
    Ruled(Rules),
    /// An abbreviation of a zone, with an offset that depends on the date.
    Abbreviation { abbrev: Box<str>, zone: TimeZone },
}

/// A zone's properties at an instant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ZoneInfo {
    /// Seconds east of UTC.
    pub offset: i32,
    /// The abbreviation, e.g. `CEST` or `+03`.
    pub abbrev: String,
    /// Whether daylight-saving time is in force.
    pub is_dst: bool,
}

impl Default for TimeZone {
    fn default() -> TimeZone {
        static UTC: LazyLock<TimeZone> = LazyLock::new(|| TimeZone::fixed("UTC", 0, "UTC"));
        UTC.clone()
    }
}

impl PartialEq for TimeZone {
    fn eq(&self, other: &TimeZone) -> bool {
        Arc::ptr_eq(&self.0, &other.0) || self.0.name == other.0.name
    }
}

impl TimeZone {
    /// UTC, the default.
    pub fn utc() -> TimeZone {
        TimeZone::default()
    }

    fn fixed(name: &str, offset: i32, abbrev: &str) -> TimeZone {
        TimeZone::new(name, Kind::Fixed { offset, abbrev: abbrev.into() })
    }

    fn new(name: &str, kind: Kind) -> TimeZone {
        TimeZone(Arc::new(Zone { name: name.into(), kind, abbrevs: OnceLock::new() }))
    }

    /// A zone at an offset (seconds east of UTC), named as SET TIME ZONE 3 names it:
    /// `<+03>-03` (pg_tzset_offset).
    pub fn from_offset(offset: i32) -> TimeZone {
        let clock = |sign: char| {
            let (h, m, s) = (offset.abs() / 3600, offset.abs() / 60 % 60, offset.abs() % 60);
            match (m, s) {
                (0, 0) => format!("{sign}{h:02}"),
                (_, 0) => format!("{sign}{h:02}:{m:02}"),
                _ => format!("{sign}{h:02}:{m:02}:{s:02}"),
            }
        };
        let (east, west) = if offset < 0 { ('-', '+') } else { ('+', '-') };
        let abbrev = clock(east);
        TimeZone::fixed(&format!("<{abbrev}>{}", clock(west)), offset, &abbrev)
    }

    /// A zone by its full name, any case, or by a POSIX rule such as `EST5EDT` (pg_tzset). Returns
    /// None if there is no such zone.
    pub fn by_name(name: &str) -> Option<TimeZone> {
        if name.len() > 255 || !name.is_ascii() {
            return None;
        }
        if name.eq_ignore_ascii_case("utc") || name.eq_ignore_ascii_case("gmt") {
            let name = name.to_ascii_uppercase();
            return Some(TimeZone::fixed(&name, 0, &name));
        }
        if name.starts_with(|c: char| c.is_ascii_alphabetic())
            && let Ok(rules) = Rules::get(name)
        {
            let name = rules.iana_name().unwrap_or(name).to_string();
            return Some(TimeZone::new(&name, Kind::Ruled(rules)));
        }
        posix(&name.to_ascii_uppercase())
    }

    /// The zone that a value of the TimeZone setting names: hours east of UTC, an
    /// interval literal, or a zone name (check_timezone).
    pub fn from_setting(value: &str) -> Result<TimeZone> {
        let invalid = || {
            let message = format!("invalid value for parameter \"TimeZone\": \"{value}\"");
            Error::new(SqlState::INVALID_PARAMETER_VALUE, message)
        };
        let trimmed = value.trim();
        let is_number = !trimmed.contains(|c: char| c.is_ascii_alphabetic());
        if is_number && let Ok(hours) = trimmed.parse::<f64>() {
            if hours.is_nan() || hours.abs() >= MAX_HOURS {
                return Err(invalid().detail("UTC timezone offset is out of range."));
            }
            return Ok(TimeZone::from_offset((hours * 3600.0) as i32));
        }
        if trimmed.get(..8).is_some_and(|w| w.eq_ignore_ascii_case("interval")) {
            let literal = trimmed[8..].trim();
            let body = literal.strip_prefix('\'').and_then(|l| l.split_once('\''));
            let (body, _) = body.ok_or_else(invalid)?;
            let config = super::DateTimeConfig::default();
            return TimeZone::from_interval(&super::io::interval_in(body, -1, &config)?);
        }
        TimeZone::by_name(value).ok_or_else(invalid)
    }

    /// SET TIME ZONE INTERVAL '…': a displacement from UTC without months or days.
    pub fn from_interval(interval: &Interval) -> Result<TimeZone> {
        let invalid = |message: &str| {
            Err(Error::new(
                SqlState::INVALID_PARAMETER_VALUE,
                "invalid value for parameter \"TimeZone\"",
            )
            .detail(message))
        };
        if interval.is_infinite() {
            return invalid("Cannot specify infinite interval as time zone.");
        }
        if interval.months != 0 {
            return invalid("Cannot specify months in time zone interval.");
        }
        if interval.days != 0 {
            return invalid("Cannot specify days in time zone interval.");
        }
        let seconds = interval.micros / USECS_PER_SEC;
        if seconds.abs() as f64 >= MAX_HOURS * 3600.0 {
            return invalid("UTC timezone offset is out of range.");
        }
        Ok(TimeZone::from_offset(seconds as i32))
    }

    /// The zone that AT TIME ZONE or a function argument names: an abbreviation, as the session's
    /// zone has it, or a full name. The error is 22023 (DecodeTimezoneName).
    pub fn by_name_or_abbrev(name: &str, session: &TimeZone) -> Result<TimeZone> {
        match session.abbrev_meaning(name) {
            Some(AbbrevMeaning::Fixed(offset)) => {
                Ok(TimeZone::fixed(name, offset, &name.to_ascii_uppercase()))
            }
            Some(AbbrevMeaning::Dated(zone)) => {
                let abbrev = name.to_ascii_uppercase().into();
                Ok(TimeZone::new(name, Kind::Abbreviation { abbrev, zone }))
            }
            None => TimeZone::by_name(name).ok_or_else(|| not_recognized(name)),
        }
    }

    /// The zone argument of make_timestamptz: a displacement counted east, as in input and unlike
    /// in a POSIX rule, else a name (parse_sane_timezone).
    pub fn by_displacement_or_name(text: &str, session: &TimeZone) -> Result<TimeZone> {
        let invalid = |message| Error::new(SqlState::INVALID_PARAMETER_VALUE, message);
        if text.starts_with(|c: char| c.is_ascii_digit()) {
            let message = format!("invalid input syntax for type numeric time zone: \"{text}\"");
            return Err(invalid(message)
                .hint("Numeric time zones must have \"-\" or \"+\" as first character."));
        }
        match decode_zone(text) {
            Ok(offset) => Ok(TimeZone::from_offset(offset)),
            Err(Fault::ZoneOverflow) => {
                Err(invalid(format!("numeric time zone \"{text}\" out of range")))
            }
            Err(_) => TimeZone::by_name_or_abbrev(text, session),
        }
    }

    /// The meaning of an abbreviation, in any case, in a session with this zone: the zone's own use
    /// of it, else the entry of timezone_abbreviations (DecodeTimezoneAbbrev).
    pub(crate) fn abbrev_meaning(&self, abbreviation: &str) -> Option<AbbrevMeaning> {
        let known = self.known_abbrevs();
        if let Some(known) = known.iter().find(|k| k.name.eq_ignore_ascii_case(abbreviation)) {
            let dated = || AbbrevMeaning::Dated(self.clone());
            return Some(known.offset.map_or_else(dated, AbbrevMeaning::Fixed));
        }
        match abbrev::lookup(&abbreviation.to_ascii_lowercase())? {
            Abbrev::Fixed(offset, _) => Some(AbbrevMeaning::Fixed(offset)),
            Abbrev::Dynamic(zone) => TimeZone::by_name(zone).map(AbbrevMeaning::Dated),
        }
    }

    fn known_abbrevs(&self) -> &[KnownAbbrev] {
        self.0.abbrevs.get_or_init(|| {
            let mut known: Vec<KnownAbbrev> = Vec::new();
            let mut add = |name: &str, offset: i32, is_dst: bool| match known
                .iter_mut()
                .find(|k| k.name.eq_ignore_ascii_case(name))
            {
                Some(k) if k.offset == Some(offset) && k.is_dst == is_dst => {}
                Some(k) => k.offset = None,
                None => known.push(KnownAbbrev {
                    name: name.to_ascii_uppercase().into(),
                    offset: Some(offset),
                    is_dst,
                }),
            };
            match &self.0.kind {
                Kind::Fixed { offset, abbrev } => add(abbrev, *offset, false),
                Kind::Abbreviation { .. } => {}
                Kind::Ruled(rules) => {
                    let first = rules.to_offset_info(jiff::Timestamp::MIN);
                    add(first.abbreviation(), first.offset().seconds(), first.dst().is_dst());
                    for t in rules.following(jiff::Timestamp::MIN).take(TRANSITIONS_MAX) {
                        add(t.abbreviation(), t.offset().seconds(), t.dst().is_dst());
                    }
                }
            }
            known.into()
        })
    }

    /// The name as SHOW TimeZone prints it.
    pub fn name(&self) -> &str {
        &self.0.name
    }

    /// The offset if it never changes.
    pub fn fixed_offset(&self) -> Option<i32> {
        match &self.0.kind {
            Kind::Fixed { offset, .. } => Some(*offset),
            Kind::Ruled(rules) => rules.to_fixed_offset().ok().map(|o| o.seconds()),
            Kind::Abbreviation { .. } => None,
        }
    }

    /// Seconds east of UTC at an instant (microseconds since 2000 UTC).
    pub fn offset_at(&self, utc: i64) -> i32 {
        match &self.0.kind {
            Kind::Fixed { offset, .. } => *offset,
            Kind::Ruled(rules) => rules.to_offset(instant(utc)).seconds(),
            Kind::Abbreviation { abbrev, zone } => {
                let used = zone.abbrev_used_at(abbrev, utc);
                used.map_or_else(|| zone.offset_at(utc), |(offset, _)| offset)
            }
        }
    }

    /// Offset, abbreviation and daylight-saving time at an instant.
    pub fn info_at(&self, utc: i64) -> ZoneInfo {
        match &self.0.kind {
            Kind::Fixed { offset, abbrev } => {
                ZoneInfo { offset: *offset, abbrev: abbrev.to_string(), is_dst: false }
            }
            Kind::Abbreviation { abbrev, .. } => {
                ZoneInfo { offset: self.offset_at(utc), abbrev: abbrev.to_string(), is_dst: false }
            }
            Kind::Ruled(rules) => {
                let info = rules.to_offset_info(instant(utc));
                ZoneInfo {
                    offset: info.offset().seconds(),
                    abbrev: info.abbreviation().to_string(),
                    is_dst: info.dst().is_dst(),
                }
            }
        }
    }

    /// Seconds east of UTC at a local time. A time skipped by a transition is read
    /// with the offset before it, one that occurs twice with the offset after it
    /// (DetermineTimeZoneOffset).
    pub fn offset_of_local(&self, tm: &Tm) -> i32 {
        let rules = match &self.0.kind {
            Kind::Fixed { offset, .. } => return *offset,
            Kind::Abbreviation { abbrev, zone } => return abbrev_offset(zone, abbrev, tm),
            Kind::Ruled(rules) => rules,
        };
        let year = cyclic_year(tm.year);
        let Ok(date) = jiff::civil::Date::new(year as i16, tm.month as i8, tm.day as i8) else {
            return 0;
        };
        // Hour 24 and second 60 are valid input; they belong to the next minute.
        let seconds = tm.time().div_euclid(USECS_PER_SEC);
        let local = date.at(0, 0, 0, 0).checked_add(jiff::SignedDuration::from_secs(seconds));
        let Ok(local) = local else { return 0 };
        match rules.to_ambiguous_timestamp(local).offset() {
            AmbiguousOffset::Unambiguous { offset } => offset.seconds(),
            AmbiguousOffset::Gap { before, .. } => before.seconds(),
            AmbiguousOffset::Fold { after, .. } => after.seconds(),
        }
    }

    /// The offset of an abbreviation at an instant, and whether it is daylight-saving time: its
    /// last use until then, or else its first use afterwards (pg_interpret_timezone_abbrev). The
    /// result is None if the zone has never used it.
    fn abbrev_used_at(&self, abbreviation: &str, utc: i64) -> Option<(i32, bool)> {
        let info = self.info_at(utc);
        if info.abbrev.eq_ignore_ascii_case(abbreviation) {
            return Some((info.offset, info.is_dst));
        }
        let Kind::Ruled(rules) = &self.0.kind else { return None };
        let at = instant(utc);
        let is_it =
            |t: &TimeZoneTransition<'_>| t.abbreviation().eq_ignore_ascii_case(abbreviation);
        let found = rules.preceding(at).find(is_it);
        let found = found.or_else(|| rules.following(at).take(TRANSITIONS_MAX).find(is_it));
        found.map(|transition| (transition.offset().seconds(), transition.dst().is_dst()))
    }

    /// The meaning of one of this zone's abbreviations at an instant
    /// (DetermineTimeZoneAbbrevOffsetTS).
    fn abbrev_at(&self, abbreviation: &str, utc: i64) -> (i32, bool) {
        self.abbrev_used_at(abbreviation, utc).unwrap_or_else(|| {
            let info = self.info_at(utc);
            (info.offset, info.is_dst)
        })
    }

    /// The abbreviations that the zone has used and that are words, as they are read at an instant
    /// (pg_timezone_abbrevs_zone).
    pub fn own_abbrevs_at(&self, utc: i64) -> Vec<AbbrevShown> {
        let is_word = |k: &&KnownAbbrev| k.name.bytes().all(|b| b.is_ascii_uppercase());
        let shown = |k: &KnownAbbrev| {
            let fixed = k.offset.map(|offset| (offset, k.is_dst));
            let (offset, is_dst) = fixed.unwrap_or_else(|| self.abbrev_at(&k.name, utc));
            AbbrevShown { abbrev: k.name.to_string(), offset, is_dst }
        };
        self.known_abbrevs().iter().filter(is_word).map(shown).collect()
    }

    /// The abbreviations of timezone_abbreviations, as they are read at an instant
    /// (pg_timezone_abbrevs_abbrevs).
    pub fn abbrevs_at(utc: i64) -> Vec<AbbrevShown> {
        let shown = |(name, meaning): &(&str, Abbrev)| {
            let (offset, is_dst) = match meaning {
                Abbrev::Fixed(offset, is_dst) => (*offset, *is_dst),
                Abbrev::Dynamic(zone) => TimeZone::by_name(zone)?.abbrev_at(name, utc),
            };
            Some(AbbrevShown { abbrev: name.to_ascii_uppercase(), offset, is_dst })
        };
        abbrev::all().iter().filter_map(shown).collect()
    }

    /// The local timestamp of an instant; None if it leaves the range.
    pub fn to_local(&self, utc: i64) -> Option<i64> {
        utc.checked_add(self.offset_at(utc) as i64 * USECS_PER_SEC)
    }

    /// The instant of a local timestamp; None if it leaves the range.
    pub fn from_local(&self, local: i64) -> Option<i64> {
        let tm = Tm::from_timestamp(local);
        tm.to_timestamp_at(self.offset_of_local(&tm))
    }
}

/// The error of an unknown zone: 22023.
#[cold]
pub(crate) fn not_recognized(name: &str) -> Error {
    Error::new(SqlState::INVALID_PARAMETER_VALUE, format!("time zone \"{name}\" not recognized"))
}

/// The seconds east of UTC that an abbreviation means at a local time.
pub(crate) fn abbrev_offset(zone: &TimeZone, abbreviation: &str, tm: &Tm) -> i32 {
    // A dynamic abbreviation means the zone's offset under that abbreviation if it was used around
    // then, else the zone's offset at that time.
    let offset = zone.offset_of_local(tm);
    let utc = tm.to_timestamp_at(offset);
    let used = utc.and_then(|utc| zone.abbrev_used_at(abbreviation, utc));
    used.map_or(offset, |(offset, _)| offset)
}

/// The cycles after 2000 whose years are used unchanged. Later years are moved back into the last
/// of these cycles, which lies within jiff's range and after the last known change of any zone.
const OWN_CYCLES: i64 = 16;

/// A year within jiff's range with the same calendar and the same rules.
fn cyclic_year(year: i32) -> i32 {
    let end = 2000 + OWN_CYCLES as i32 * 400;
    if year >= end { end - 400 + (year - end) % 400 } else { year }
}

/// The instant for jiff, moved by whole 400-year cycles into its range.
fn instant(utc: i64) -> jiff::Timestamp {
    const EPOCH_SECS: i64 = (POSTGRES_EPOCH_JDATE - UNIX_EPOCH_JDATE) as i64 * 86_400;
    let cycle = CYCLE_DAYS * USECS_PER_DAY;
    let end = OWN_CYCLES * cycle;
    let within = if utc >= end { end - cycle + (utc - end) % cycle } else { utc };
    let seconds = within.div_euclid(USECS_PER_SEC) + EPOCH_SECS;
    // 4714 BC to 8400 AD is inside jiff's range.
    jiff::Timestamp::from_second(seconds).unwrap_or(jiff::Timestamp::MIN)
}

/// A POSIX zone: `NAMEoffset[DSTNAME[offset][,rule]]`, offsets counted west. The name
/// may be short or missing: PostgreSQL takes `AT TIME ZONE '+3'`.
fn posix(spec: &str) -> Option<TimeZone> {
    let (abbrev, rest) = posix_name(spec)?;
    let (west, rest) = posix_offset(rest)?;
    if rest.is_empty() {
        return Some(TimeZone::fixed(spec, -west, abbrev));
    }
    // Without a rule PostgreSQL takes that of the United States.
    let full = if rest.contains(',') { spec.to_string() } else { format!("{spec},M3.2.0,M11.1.0") };
    let rules = Rules::posix(&full).ok()?;
    Some(TimeZone::new(spec, Kind::Ruled(rules)))
}

fn posix_name(spec: &str) -> Option<(&str, &str)> {
    if let Some(quoted) = spec.strip_prefix('<') {
        return quoted.split_once('>');
    }
    let end = spec.find(|c: char| c.is_ascii_digit() || ",+-".contains(c))?;
    Some(spec.split_at(end))
}

/// `[+-]hh[:mm[:ss]]` in seconds, and what follows.
fn posix_offset(spec: &str) -> Option<(i32, &str)> {
    let (sign, mut rest) = match spec.as_bytes().first()? {
        b'-' => (-1, &spec[1..]),
        b'+' => (1, &spec[1..]),
        _ => (1, spec),
    };
    let mut total = 0;
    for (i, (unit, limit)) in [(3600, 167), (60, 59), (1, 59)].into_iter().enumerate() {
        if i > 0 {
            match rest.strip_prefix(':') {
                Some(r) => rest = r,
                None => break,
            }
        }
        let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
        let value: i32 = rest[..end].parse().ok().filter(|v| *v <= limit)?;
        total += value * unit;
        rest = &rest[end..];
    }
    Some((sign * total, rest))
}
