//! Parsing of date/time pictures (parse_format).

use crate::interrupt::interruptible;

/// A field of a picture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Key {
    Meridiem { dots: bool },
    Era { dots: bool },
    Century,
    Day,
    Dy,
    DayOfYear,
    IsoDayOfYear,
    DayOfMonth,
    DayOfWeek,
    IsoDayOfWeek,
    Fraction(usize),
    Fixed,
    Hour24,
    Hour12,
    IsoWeek,
    IsoYear(usize),
    Julian,
    Minute,
    Month,
    Mon,
    MonthNumber,
    Millisecond,
    Microsecond,
    Offset,
    Quarter,
    Roman,
    SecondOfDay,
    Second,
    Zone,
    ZoneHour,
    ZoneMinute,
    Week,
    WeekOfMonth,
    YearComma,
    Year(usize),
}

/// How a name's letters are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Case {
    Upper,
    Capital,
    Lower,
}

/// Which calendar a field belongs to; pictures may not mix them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Convention {
    None,
    Gregorian,
    IsoWeek,
}

/// A field with its modifiers.
#[derive(Clone, Debug)]
pub(super) struct FieldNode {
    pub(super) key: Key,
    /// As written, for error messages.
    pub(super) name: String,
    pub(super) case: Case,
    /// FM: no padding.
    pub(super) fill: bool,
    /// TM: localized, so no padding either.
    pub(super) localized: bool,
    /// TH or th: an ordinal suffix.
    pub(super) ordinal: Option<Case>,
}

/// A piece of a picture.
#[derive(Clone, Debug)]
pub(super) enum Node {
    Field(FieldNode),
    /// Punctuation between fields.
    Separator(char),
    Space(char),
    Text(char),
}

/// Fields in the order they are tried: a longer one before its prefixes.
const KEYS: &[(&str, Key)] = &[
    ("A.D.", Key::Era { dots: true }),
    ("A.M.", Key::Meridiem { dots: true }),
    ("AD", Key::Era { dots: false }),
    ("AM", Key::Meridiem { dots: false }),
    ("B.C.", Key::Era { dots: true }),
    ("BC", Key::Era { dots: false }),
    ("CC", Key::Century),
    ("DAY", Key::Day),
    ("DDD", Key::DayOfYear),
    ("DD", Key::DayOfMonth),
    ("DY", Key::Dy),
    ("D", Key::DayOfWeek),
    ("FF1", Key::Fraction(1)),
    ("FF2", Key::Fraction(2)),
    ("FF3", Key::Fraction(3)),
    ("FF4", Key::Fraction(4)),
    ("FF5", Key::Fraction(5)),
    ("FF6", Key::Fraction(6)),
    ("FX", Key::Fixed),
    ("HH24", Key::Hour24),
    ("HH12", Key::Hour12),
    ("HH", Key::Hour12),
    ("IDDD", Key::IsoDayOfYear),
    ("ID", Key::IsoDayOfWeek),
    ("IW", Key::IsoWeek),
    ("IYYY", Key::IsoYear(4)),
    ("IYY", Key::IsoYear(3)),
    ("IY", Key::IsoYear(2)),
    ("I", Key::IsoYear(1)),
    ("J", Key::Julian),
    ("MI", Key::Minute),
    ("MM", Key::MonthNumber),
    ("MONTH", Key::Month),
    ("MON", Key::Mon),
    ("MS", Key::Millisecond),
    ("OF", Key::Offset),
    ("P.M.", Key::Meridiem { dots: true }),
    ("PM", Key::Meridiem { dots: false }),
    ("Q", Key::Quarter),
    ("RM", Key::Roman),
    ("SSSSS", Key::SecondOfDay),
    ("SSSS", Key::SecondOfDay),
    ("SS", Key::Second),
    ("TZH", Key::ZoneHour),
    ("TZM", Key::ZoneMinute),
    ("TZ", Key::Zone),
    ("US", Key::Microsecond),
    ("WW", Key::Week),
    ("W", Key::WeekOfMonth),
    ("Y,YYY", Key::YearComma),
    ("YYYY", Key::Year(4)),
    ("YYY", Key::Year(3)),
    ("YY", Key::Year(2)),
    ("Y", Key::Year(1)),
];

impl Key {
    /// Whether the field is read as digits, so that a number before it has a fixed width.
    pub(super) fn is_digits(self) -> bool {
        !matches!(
            self,
            Key::Meridiem { .. }
                | Key::Era { .. }
                | Key::Day
                | Key::Dy
                | Key::Fixed
                | Key::Month
                | Key::Mon
                | Key::Offset
                | Key::Roman
                | Key::Zone
                | Key::ZoneHour
        )
    }

    /// Whether TH and th after the field have an effect: it is a number, but not a
    /// displacement.
    pub(super) fn is_ordinal(self) -> bool {
        self.is_digits() && self != Key::ZoneMinute
    }

    pub(super) fn convention(self) -> Convention {
        match self {
            Key::IsoDayOfYear | Key::IsoDayOfWeek | Key::IsoWeek | Key::IsoYear(_) => {
                Convention::IsoWeek
            }
            Key::DayOfYear
            | Key::DayOfMonth
            | Key::DayOfWeek
            | Key::Month
            | Key::Mon
            | Key::MonthNumber
            | Key::Roman
            | Key::Week
            | Key::WeekOfMonth
            | Key::YearComma
            | Key::Year(_) => Convention::Gregorian,
            _ => Convention::None,
        }
    }
}

/// The field at the front of a picture: upper or lower case throughout, or
/// capitalized where it is a name.
fn keyword(picture: &str) -> Option<(&'static str, Key, Case)> {
    KEYS.iter().find_map(|(name, key)| {
        let head = picture.get(..name.len())?;
        let case = if head == *name {
            Case::Upper
        } else if head.eq_ignore_ascii_case(name) {
            let lower = !head.bytes().any(|c| c.is_ascii_uppercase());
            let named = matches!(key, Key::Day | Key::Dy | Key::Month | Key::Mon);
            let capital = head.bytes().next().is_some_and(|c| c.is_ascii_uppercase())
                && !head.bytes().skip(1).any(|c| c.is_ascii_uppercase());
            match (lower, named && capital) {
                (true, _) => Case::Lower,
                (_, true) => Case::Capital,
                _ => return None,
            }
        } else {
            return None;
        };
        Some((*name, *key, case))
    })
}

/// Parses a picture.
pub(super) fn parse(picture: &str) -> Vec<Node> {
    let mut nodes = Vec::new();
    let mut rest = picture;
    let mut steps = interruptible(std::iter::repeat(()));
    while !rest.is_empty() {
        steps.next();
        let (mut fill, mut localized) = (false, false);
        match rest.get(..2) {
            Some("FM" | "fm") => fill = true,
            Some("TM" | "tm") => localized = true,
            _ => {}
        }
        if fill || localized {
            rest = &rest[2..];
        }
        if let Some((name, key, case)) = keyword(rest) {
            let name = rest[..name.len()].to_string();
            rest = &rest[name.len()..];
            let ordinal = match rest.get(..2) {
                Some("TH") => Some(Case::Upper),
                Some("th") => Some(Case::Lower),
                _ => None,
            };
            // SP (spell) is recognized and has no effect.
            if ordinal.is_some() || rest.starts_with("SP") {
                rest = &rest[2..];
            }
            nodes.push(Node::Field(FieldNode { key, name, case, fill, localized, ordinal }));
        } else if let Some(c) = rest.chars().next() {
            // A modifier without a field is dropped; the rest is text even if it looks like a
            // modifier.
            rest = literal(rest, c, &mut nodes);
        }
    }
    nodes
}

/// Parses text between fields; returns what follows.
fn literal<'a>(rest: &'a str, first: char, nodes: &mut Vec<Node>) -> &'a str {
    if first == '"' {
        let mut chars = interruptible(rest[1..].char_indices());
        while let Some((i, c)) = chars.next() {
            match c {
                '"' => return &rest[i + 2..],
                // A backslash quotes the next character, if there is one.
                '\\' => nodes.push(Node::Text(chars.next().map_or('\\', |(_, c)| c))),
                c => nodes.push(Node::Text(c)),
            }
        }
        return "";
    }
    // Outside of quotes a backslash is special only before a quote.
    let rest = if rest.starts_with("\\\"") { &rest[1..] } else { rest };
    let c = rest.chars().next().unwrap_or(first);
    nodes.push(if is_separator(c) {
        Node::Separator(c)
    } else if c.is_ascii_whitespace() || c == '\x0b' {
        Node::Space(c)
    } else {
        Node::Text(c)
    });
    &rest[c.len_utf8()..]
}

/// ASCII punctuation.
pub(super) fn is_separator(c: char) -> bool {
    c.is_ascii_punctuation()
}
