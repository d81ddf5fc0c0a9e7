//! The lexer of date/time input (ParseDateTime) and its keywords (datetktbl,
//! deltatktbl).

/// Most fields in one input (MAXDATEFIELDS).
const MAX_FIELDS: usize = 25;
/// Longest input looked at (MAXDATELEN and then some).
const MAX_LENGTH: usize = 128 + 25;
/// Keywords are compared up to this length (TOKMAXLEN).
const TOKEN_LENGTH: usize = 10;

/// The error in an input (the DTERR codes).
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    BadFormat,
    FieldOverflow,
    /// Field overflow that another field order might cure.
    MonthDayOverflow,
    IntervalOverflow,
    ZoneOverflow,
    BadZone(String),
}

/// The form of a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Number,
    Date,
    Time,
    /// A signed number.
    Zone,
    Text,
    /// A signed word.
    Special,
}

/// One field of the input, in lower case.
#[derive(Clone, Debug)]
pub(crate) struct Field {
    pub(crate) kind: Kind,
    pub(crate) text: String,
}

/// The meaning of a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Word {
    Ignore,
    Month(i32),
    DayOfWeek,
    Am,
    Pm,
    Ad,
    Bc,
    /// Daylight-saving time modifier.
    Dst,
    Now,
    Today,
    Tomorrow,
    Yesterday,
    Zulu,
    Epoch,
    Infinity,
    NegInfinity,
    /// The label of a Julian day.
    Julian,
    /// The `t` before an ISO time.
    IsoTime,
    /// A unit label that dates don't take.
    Unit,
}

/// A unit of intervals.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unit {
    Microsecond,
    Millisecond,
    Second,
    Minute,
    Hour,
    Day,
    Week,
    Month,
    Quarter,
    Year,
    Decade,
    Century,
    Millennium,
}

/// A keyword as the tables compare it.
fn key(word: &str) -> &str {
    word.get(..TOKEN_LENGTH).unwrap_or(word)
}

/// The meaning of a word in a date or time; lower case.
pub(crate) fn word(text: &str) -> Option<Word> {
    use Word::*;
    Some(match key(text) {
        "infinity" | "+infinity" => Infinity,
        "-infinity" => NegInfinity,
        "ad" => Ad,
        "bc" => Bc,
        "am" => Am,
        "pm" => Pm,
        "allballs" => Zulu,
        "at" | "on" => Ignore,
        "now" => Now,
        "today" => Today,
        "tomorrow" => Tomorrow,
        "yesterday" => Yesterday,
        "epoch" => Epoch,
        "dst" => Dst,
        "jan" | "january" => Month(1),
        "feb" | "february" => Month(2),
        "mar" | "march" => Month(3),
        "apr" | "april" => Month(4),
        "may" => Month(5),
        "jun" | "june" => Month(6),
        "jul" | "july" => Month(7),
        "aug" | "august" => Month(8),
        "sep" | "sept" | "september" => Month(9),
        "oct" | "october" => Month(10),
        "nov" | "november" => Month(11),
        "dec" | "december" => Month(12),
        "sun" | "sunday" | "mon" | "monday" | "tue" | "tues" | "tuesday" | "wed" | "weds"
        | "wednesday" | "thu" | "thur" | "thurs" | "thursday" | "fri" | "friday" | "sat"
        | "saturday" => DayOfWeek,
        "j" | "jd" | "julian" => Julian,
        "t" => IsoTime,
        "d" | "dow" | "doy" | "h" | "isodow" | "isoyear" | "m" | "mm" | "s" | "y" => Unit,
        _ => return None,
    })
}

/// The meaning of a word in an interval; lower case.
pub(crate) fn unit(text: &str) -> Option<Unit> {
    use Unit::*;
    Some(match key(text) {
        "us" | "usec" | "usecs" | "useconds" | "usecond" | "microsecon" => Microsecond,
        "ms" | "msec" | "msecs" | "mseconds" | "msecond" | "millisecon" => Millisecond,
        "s" | "sec" | "secs" | "second" | "seconds" => Second,
        "m" | "min" | "mins" | "minute" | "minutes" => Minute,
        "h" | "hr" | "hrs" | "hour" | "hours" => Hour,
        "d" | "day" | "days" => Day,
        "w" | "week" | "weeks" => Week,
        "mon" | "mons" | "month" | "months" => Month,
        "qtr" | "quarter" => Quarter,
        "y" | "yr" | "yrs" | "year" | "years" => Year,
        "dec" | "decs" | "decade" | "decades" => Decade,
        "c" | "cent" | "century" | "centuries" => Century,
        "mil" | "mils" | "millennia" | "millennium" => Millennium,
        _ => return None,
    })
}

/// A cursor over the bytes that collects fields.
struct Lexer<'a> {
    bytes: &'a [u8],
    at: usize,
    text: String,
}

impl Lexer<'_> {
    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    fn peek_is(&self, test: impl Fn(u8) -> bool) -> bool {
        self.peek().is_some_and(test)
    }

    fn take(&mut self) {
        if let Some(c) = self.peek() {
            self.text.push(c.to_ascii_lowercase() as char);
            self.at += 1;
        }
    }

    fn take_while(&mut self, test: impl Fn(u8) -> bool) {
        while self.peek_is(&test) {
            self.take();
        }
    }

    /// A field that begins with a digit.
    fn number(&mut self) -> Kind {
        self.take_while(|c| c.is_ascii_digit());
        match self.peek() {
            Some(b':') => {
                self.take_while(|c| c.is_ascii_digit() || c == b':' || c == b'.');
                Kind::Time
            }
            Some(delimiter @ (b'-' | b'/' | b'.')) => {
                self.take();
                if !self.peek_is(|c| c.is_ascii_digit()) {
                    // A month name, or nothing.
                    self.take_while(|c| c.is_ascii_alphanumeric() || c == delimiter);
                    return Kind::Date;
                }
                let mut kind = if delimiter == b'.' { Kind::Number } else { Kind::Date };
                self.take_while(|c| c.is_ascii_digit());
                // The delimiters must match to get a three-field date.
                if self.peek() == Some(delimiter) {
                    kind = Kind::Date;
                    self.take_while(|c| c.is_ascii_digit() || c == delimiter);
                }
                kind
            }
            _ => Kind::Number,
        }
    }

    /// A field that begins with a letter: a keyword, a zone, or a date.
    fn word(&mut self) -> Kind {
        self.take_while(|c| c.is_ascii_alphabetic());
        let is_date = match self.peek() {
            Some(b'-' | b'/' | b'.') => true,
            Some(c) if c == b'+' || c.is_ascii_digit() => word(&self.text).is_none(),
            _ => false,
        };
        if !is_date {
            return Kind::Text;
        }
        self.take_while(|c| c.is_ascii_alphanumeric() || b"+-/_.:".contains(&c));
        Kind::Date
    }

    /// A field that begins with a sign.
    fn signed(&mut self) -> Result<Kind, Fault> {
        self.take();
        while self.peek_is(is_space) {
            self.at += 1;
        }
        if self.peek_is(|c| c.is_ascii_digit()) {
            self.take_while(|c| c.is_ascii_digit() || b":.-".contains(&c));
            Ok(Kind::Zone)
        } else if self.peek_is(|c| c.is_ascii_alphabetic()) {
            self.take_while(|c| c.is_ascii_alphabetic());
            Ok(Kind::Special)
        } else {
            Err(Fault::BadFormat)
        }
    }
}

fn is_space(c: u8) -> bool {
    matches!(c, b' ' | b'\t'..=b'\r')
}

/// Splits an input into fields.
pub(crate) fn split(input: &str) -> Result<Vec<Field>, Fault> {
    let mut fields = Vec::new();
    let mut lexer = Lexer { bytes: input.as_bytes(), at: 0, text: String::new() };
    let mut length = 0;
    while let Some(c) = lexer.peek() {
        let kind = match c {
            c if is_space(c) => {
                lexer.at += 1;
                continue;
            }
            b'0'..=b'9' => lexer.number(),
            b'.' => {
                // Fractional seconds.
                lexer.take();
                lexer.take_while(|c| c.is_ascii_digit());
                Kind::Number
            }
            c if c.is_ascii_alphabetic() => lexer.word(),
            b'+' | b'-' => lexer.signed()?,
            c if c.is_ascii_punctuation() => {
                lexer.at += 1;
                continue;
            }
            _ => return Err(Fault::BadFormat),
        };
        let text = std::mem::take(&mut lexer.text);
        length += text.len() + 1;
        if fields.len() == MAX_FIELDS || length > MAX_LENGTH {
            return Err(Fault::BadFormat);
        }
        fields.push(Field { kind, text });
    }
    Ok(fields)
}
