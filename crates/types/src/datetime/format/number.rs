//! to_char of numbers (NUM_processor and its callers in formatting.c).
//!
//! The number is first written plainly with the picture's decimals; the picture is
//! then walked, each digit place taking the next character of that text, or blank
//! while the number hasn't begun.

use crate::error::{Error, Result, SqlState};
use crate::interrupt::interruptible;
use crate::numeric::Numeric;

/// Letters of the longest Roman numeral: that of 3888.
pub(super) const ROMAN_LENGTH_MAX: usize = 15;

/// A place or sign in a number's picture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Key {
    Comma,
    Point,
    Zero,
    Nine,
    Blank,
    Decimal,
    Exponent,
    Fill,
    Group,
    Currency,
    Minus,
    Plus,
    Bracket,
    Roman {
        lower: bool,
    },
    SignBoth,
    Sign,
    Ordinal {
        lower: bool,
    },
    Shift,
    /// SP and C: recognized, no effect.
    Spell,
}

pub(super) enum Node {
    Key(Key),
    Text(char),
}

/// Longer names first.
const KEYS: &[(&str, Key)] = &[
    ("EEEE", Key::Exponent),
    ("FM", Key::Fill),
    ("MI", Key::Minus),
    ("PL", Key::Plus),
    ("PR", Key::Bracket),
    ("RN", Key::Roman { lower: false }),
    ("SG", Key::SignBoth),
    ("SP", Key::Spell),
    ("TH", Key::Ordinal { lower: false }),
    (",", Key::Comma),
    (".", Key::Point),
    ("0", Key::Zero),
    ("9", Key::Nine),
    ("B", Key::Blank),
    ("C", Key::Spell),
    ("D", Key::Decimal),
    ("G", Key::Group),
    ("L", Key::Currency),
    ("S", Key::Sign),
    ("V", Key::Shift),
];

/// Where the sign of `S` stands.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Anchor {
    Before,
    After,
}

/// The properties of a picture (NUMDesc).
#[derive(Default)]
pub(super) struct Desc {
    pub(super) pre: usize,
    pub(super) post: usize,
    pub(super) shift: usize,
    pub(super) pre_sign: usize,
    pub(super) zero_start: usize,
    pub(super) zero_end: usize,
    pub(super) anchor: Option<Anchor>,
    pub(super) decimal: bool,
    pub(super) zero: bool,
    pub(super) blank: bool,
    pub(super) fill: bool,
    pub(super) bracket: bool,
    pub(super) minus: bool,
    pub(super) plus: bool,
    pub(super) roman: bool,
    pub(super) multi: bool,
    pub(super) exponent: bool,
}

#[cold]
fn syntax(message: &str) -> Error {
    Error::new(SqlState::SYNTAX_ERROR, message)
}

/// Parses a picture and describes it (parse_format, NUMDesc_prepare).
pub(super) fn parse(picture: &str) -> Result<(Vec<Node>, Desc)> {
    let mut nodes = Vec::new();
    let mut desc = Desc::default();
    let mut rest = picture;
    let mut steps = interruptible(std::iter::repeat(()));
    while let Some(first) = rest.chars().next() {
        steps.next();
        let found = KEYS.iter().find(|(name, _)| {
            rest.get(..name.len()).is_some_and(|head| {
                head == *name
                    || head.bytes().all(|c| !c.is_ascii_uppercase())
                        && head.eq_ignore_ascii_case(name)
            })
        });
        if let Some((name, key)) = found {
            let lower = first.is_ascii_lowercase();
            let key = match key {
                Key::Roman { .. } => Key::Roman { lower },
                Key::Ordinal { .. } => Key::Ordinal { lower },
                key => *key,
            };
            desc.add(key)?;
            nodes.push(Node::Key(key));
            rest = &rest[name.len()..];
        } else if first == '"' {
            rest = quoted(&rest[1..], &mut nodes);
        } else {
            let text = if rest.starts_with("\\\"") { &rest[1..] } else { rest };
            let c = text.chars().next().unwrap_or(first);
            nodes.push(Node::Text(c));
            rest = &text[c.len_utf8()..];
        }
    }
    Ok((nodes, desc))
}

fn quoted<'a>(rest: &'a str, nodes: &mut Vec<Node>) -> &'a str {
    let mut chars = interruptible(rest.char_indices());
    while let Some((i, c)) = chars.next() {
        match c {
            '"' => return &rest[i + 1..],
            '\\' => nodes.push(Node::Text(chars.next().map_or('\\', |(_, c)| c))),
            c => nodes.push(Node::Text(c)),
        }
    }
    ""
}

impl Desc {
    fn add(&mut self, key: Key) -> Result<()> {
        if self.exponent && key != Key::Exponent {
            return Err(syntax("\"EEEE\" must be the last pattern used"));
        }
        match key {
            Key::Nine | Key::Zero => self.add_digit(key)?,
            Key::Blank => self.blank |= self.pre == 0 && self.post == 0 && !self.zero,
            Key::Decimal | Key::Point => {
                if self.decimal {
                    return Err(syntax("multiple decimal points"));
                }
                if self.multi {
                    return Err(syntax("cannot use \"V\" and decimal point together"));
                }
                self.decimal = true;
            }
            Key::Fill => self.fill = true,
            Key::Sign => self.add_sign()?,
            Key::Minus | Key::Plus | Key::SignBoth | Key::Bracket => self.add_own_sign(key)?,
            Key::Roman { .. } if self.roman => return Err(syntax("cannot use \"RN\" twice")),
            Key::Roman { .. } => self.roman = true,
            Key::Shift => {
                if self.decimal {
                    return Err(syntax("cannot use \"V\" and decimal point together"));
                }
                self.multi = true;
            }
            Key::Exponent => {
                if self.exponent {
                    return Err(syntax("cannot use \"EEEE\" twice"));
                }
                let others = self.fill_aside() || self.fill || self.roman;
                if others {
                    return Err(syntax("\"EEEE\" is incompatible with other formats").detail(
                        "\"EEEE\" may only be used together with digit and decimal point \
                         patterns.",
                    ));
                }
                self.exponent = true;
            }
            Key::Comma | Key::Group | Key::Currency | Key::Ordinal { .. } | Key::Spell => {}
        }
        if self.roman && (self.fill_aside() || self.decimal || self.zero || self.exponent) {
            return Err(syntax("\"RN\" is incompatible with other formats")
                .detail("\"RN\" may only be used together with \"FM\"."));
        }
        Ok(())
    }

    /// Whether anything but digits, the point and FM is asked for.
    fn fill_aside(&self) -> bool {
        let sign = self.anchor.is_some() || self.bracket || self.minus || self.plus;
        self.blank || sign || self.multi
    }

    fn add_digit(&mut self, key: Key) -> Result<()> {
        if self.bracket {
            let digit = if key == Key::Zero { '0' } else { '9' };
            return Err(syntax(&format!("\"{digit}\" must be ahead of \"PR\"")));
        }
        if key == Key::Nine && self.multi {
            self.shift += 1;
            return Ok(());
        }
        if key == Key::Zero && !self.zero && !self.decimal {
            self.zero = true;
            self.zero_start = self.pre + 1;
        }
        if self.decimal {
            self.post += 1;
        } else {
            self.pre += 1;
        }
        if key == Key::Zero {
            self.zero_end = self.pre + self.post;
        }
        Ok(())
    }

    fn add_sign(&mut self) -> Result<()> {
        if self.anchor.is_some() {
            return Err(syntax("cannot use \"S\" twice"));
        }
        if self.plus || self.minus || self.bracket {
            let message = "cannot use \"S\" and \"PL\"/\"MI\"/\"SG\"/\"PR\" together";
            return Err(syntax(message));
        }
        if self.decimal {
            self.anchor = Some(Anchor::After);
        } else {
            self.anchor = Some(Anchor::Before);
            self.pre_sign = self.pre;
        }
        Ok(())
    }

    fn add_own_sign(&mut self, key: Key) -> Result<()> {
        let (name, others) = match key {
            Key::Minus => ("MI", ""),
            Key::Plus => ("PL", ""),
            Key::SignBoth => ("SG", ""),
            _ => ("PR", "\"S\"/\"PL\"/\"MI\"/\"SG\""),
        };
        let clash = self.anchor.is_some() || key == Key::Bracket && (self.plus || self.minus);
        if clash && key == Key::Bracket {
            return Err(syntax(&format!("cannot use \"{name}\" and {others} together")));
        }
        if clash {
            return Err(syntax(&format!("cannot use \"S\" and \"{name}\" together")));
        }
        self.minus |= matches!(key, Key::Minus | Key::SignBoth);
        self.plus |= matches!(key, Key::Plus | Key::SignBoth);
        self.bracket |= key == Key::Bracket;
        Ok(())
    }
}

/// `to_char(numeric, picture)`; also for the integers.
pub fn numeric_to_char(value: &Numeric, picture: &str) -> Result<String> {
    if picture.is_empty() {
        return Ok(String::new());
    }
    let (nodes, mut desc) = parse(picture)?;
    if desc.exponent {
        return scientific(value, &desc);
    }
    if desc.roman {
        // A number outside the range of integers has no Roman numeral.
        let number = value.to_i32().map_or_else(|_| value.to_string(), |v| v.to_string());
        return Ok(fill(&nodes, desc, &number));
    }
    let mut value = value.clone();
    if desc.multi {
        value = value.mul(&Numeric::parse(&format!("1e{}", desc.shift))?)?;
        desc.pre += desc.shift;
    }
    let value = value.round(desc.post as i32)?;
    Ok(fill(&nodes, desc, &value.to_string()))
}

/// `to_char` of a floating-point number, with as many significant digits as are sure in
/// its type.
pub fn float_to_char(value: f64, digits: u32, picture: &str) -> Result<String> {
    if picture.is_empty() {
        return Ok(String::new());
    }
    let (nodes, mut desc) = parse(picture)?;
    if desc.exponent {
        return Ok(scientific_float(value, &desc));
    }
    if desc.roman {
        return Ok(fill(&nodes, desc, &format!("{value:.0}")));
    }
    let mut value = value;
    if desc.multi {
        value *= 10f64.powi(desc.shift as i32);
        desc.pre += desc.shift;
    }
    let plain = |value: f64, decimals: usize| match value.is_finite() {
        true => format!("{value:.decimals$}"),
        false => Numeric::from_f64(value).to_string(),
    };
    let whole = plain(value.abs(), 0).len();
    desc.post = desc.post.min((digits as usize).saturating_sub(whole));
    let text = plain(value, desc.post);
    Ok(fill(&nodes, desc, &text))
}

/// The EEEE form of a floating-point number (C's %e).
fn scientific_float(value: f64, desc: &Desc) -> String {
    if !value.is_finite() {
        return no_number(desc);
    }
    let text = format!("{value:.*e}", desc.post);
    let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let space = if value.is_sign_negative() { "" } else { " " };
    let (sign, exponent) = match exponent.strip_prefix('-') {
        Some(exponent) => ('-', exponent),
        None => ('+', exponent),
    };
    format!("{space}{digits}e{sign}{exponent:0>2}")
}

/// The EEEE form of NaN and the infinities: unfilled places.
fn no_number(desc: &Desc) -> String {
    format!(" {}.{}", "#".repeat(desc.pre), "#".repeat(desc.post + 4))
}

/// The EEEE form.
fn scientific(value: &Numeric, desc: &Desc) -> Result<String> {
    if !value.is_finite() {
        return Ok(no_number(desc));
    }
    let text = value.abs().to_string();
    let point = text.find('.').unwrap_or(text.len()) as i32;
    let exponent = match text.find(|c: char| matches!(c, '1'..='9')) {
        None => 0,
        Some(first) if (first as i32) < point => point - 1 - first as i32,
        Some(first) => point - first as i32,
    };
    // The digits that decide the rounding, with the point after the first.
    let mut digits = text.replace('.', "");
    digits.drain(..digits.find(|c: char| c != '0').unwrap_or(digits.len() - 1));
    digits.truncate(desc.post + 2);
    digits.insert(1, '.');
    let digits = Numeric::parse(&digits)?.round(desc.post as i32)?;
    let minus = if value.signum() < 0 { '-' } else { ' ' };
    let sign = if exponent < 0 { '-' } else { '+' };
    Ok(format!("{minus}{digits}e{sign}{:02}", exponent.abs()))
}

/// The number as a Roman numeral; out of 1 to 3999 there is none.
pub(super) fn roman(number: &str) -> String {
    let value = number.parse::<u32>().ok().filter(|v| (1..4000).contains(v));
    let Some(mut left) = value else { return "#".repeat(ROMAN_LENGTH_MAX) };
    let steps = [
        (1000, "M"),
        (900, "CM"),
        (500, "D"),
        (400, "CD"),
        (100, "C"),
        (90, "XC"),
        (50, "L"),
        (40, "XL"),
        (10, "X"),
        (9, "IX"),
        (5, "V"),
        (4, "IV"),
        (1, "I"),
    ];
    let mut out = String::new();
    for (step, numeral) in steps {
        while left >= step {
            out.push_str(numeral);
            left -= step;
        }
    }
    out
}

/// The walk over a picture (NUMProc).
struct Walk {
    desc: Desc,
    number: Vec<u8>,
    negative: bool,
    /// Places before the number's first digit.
    spaces: usize,
    /// Place in `number`.
    at: usize,
    /// Places of the picture passed.
    place: usize,
    count: usize,
    sign_written: bool,
    in_number: bool,
    /// With FM: the last character of the fraction that isn't a zero.
    last_relevant: Option<usize>,
    /// Where the result ends early.
    end: Option<usize>,
    out: String,
}

fn fill(nodes: &[Node], mut desc: Desc, text: &str) -> String {
    let (negative, digits) = match text.strip_prefix('-') {
        Some(digits) => (true, digits),
        None => (false, text),
    };
    let mut number = digits.as_bytes().to_vec();
    let mut spaces = 0;
    let whole = digits.find('.').unwrap_or(digits.len());
    if desc.roman {
        number = roman(text).into_bytes();
    } else if whole < desc.pre {
        spaces = desc.pre - whole;
    } else if whole > desc.pre {
        number = vec![b'#'; desc.pre + desc.post + 1];
        number[desc.pre] = b'.';
    }
    if !negative && desc.fill {
        desc.bracket = false;
    }
    let sign_written = if desc.plus || desc.minus {
        desc.minus
    } else {
        if desc.anchor == Some(Anchor::Before) && desc.pre == desc.pre_sign {
            desc.anchor = Some(Anchor::After);
        }
        !negative && desc.fill && desc.anchor.is_none()
    };
    let mut count = (desc.post + desc.pre).saturating_sub(1);
    if !sign_written && spaces == 0 {
        count += 1;
    }
    let last_relevant = last_relevant(&desc, &number, spaces);
    let mut walk = Walk {
        desc,
        number,
        negative,
        spaces,
        at: 0,
        place: 0,
        count,
        sign_written,
        in_number: false,
        last_relevant,
        end: None,
        out: String::new(),
    };
    for node in interruptible(nodes.iter()) {
        match node {
            Node::Text(c) => walk.out.push(*c),
            Node::Key(key) => walk.step(*key),
        }
    }
    if let Some(end) = walk.end {
        walk.out.truncate(end);
    }
    walk.out
}

fn last_relevant(desc: &Desc, number: &[u8], spaces: usize) -> Option<usize> {
    if !(desc.fill && desc.decimal) {
        return None;
    }
    let point = number.iter().position(|c| *c == b'.')?;
    let last = number.iter().rposition(|c| *c != b'0').unwrap_or(point).max(point);
    // Places of a 0 in the picture stay.
    let asked =
        if desc.zero_end > spaces { (number.len() - 1).min(desc.zero_end - spaces) } else { 0 };
    Some(last.max(asked))
}

impl Walk {
    fn step(&mut self, key: Key) {
        let fill = self.desc.fill;
        let blank_or = |shown: bool, c: char| match (shown, fill) {
            (true, _) => Some(c),
            (false, true) => None,
            (false, false) => Some(' '),
        };
        match key {
            Key::Nine | Key::Zero | Key::Point | Key::Decimal => self.digit(key),
            Key::Comma | Key::Group => self.out.extend(blank_or(self.in_number, ',')),
            Key::Currency => self.out.push(' '),
            Key::Roman { lower } => {
                let text = String::from_utf8_lossy(&self.number).into_owned();
                let text = if lower { text.to_ascii_lowercase() } else { text };
                let width = if fill { 0 } else { ROMAN_LENGTH_MAX };
                self.out.push_str(&format!("{text:>width$}"));
            }
            Key::Ordinal { lower } => self.ordinal(lower),
            Key::Minus => self.out.extend(blank_or(self.negative, '-')),
            Key::Plus => self.out.extend(blank_or(!self.negative, '+')),
            Key::SignBoth => self.out.push(if self.negative { '-' } else { '+' }),
            _ => {}
        }
    }

    fn ordinal(&mut self, lower: bool) {
        let shown = !self.desc.roman
            && self.number.first() != Some(&b'#')
            && !self.negative
            && !self.desc.decimal;
        if !shown {
            return;
        }
        let teen = self.number.len() > 1 && self.number[self.number.len() - 2] == b'1';
        let suffix = match self.number.last() {
            Some(b'1') if !teen => "ST",
            Some(b'2') if !teen => "ND",
            Some(b'3') if !teen => "RD",
            _ => "TH",
        };
        let suffix = if lower { suffix.to_ascii_lowercase() } else { suffix.to_string() };
        self.out.push_str(&suffix);
    }

    /// Whether the zero before the point of a fraction gives way to a blank.
    fn gives_way(&self) -> bool {
        !self.desc.zero && self.at == 0 && self.number.first() == Some(&b'0') && self.desc.post != 0
    }

    /// Whether nothing of the fraction remains but its point.
    fn ends_at_point(&self) -> bool {
        self.last_relevant.is_some_and(|i| self.number[i] == b'.')
    }

    /// One place (NUM_numpart_to_char).
    fn digit(&mut self, key: Key) {
        if self.desc.roman {
            return;
        }
        self.in_number = false;
        self.leading_sign();
        let fill = self.desc.fill;
        let zero_here = self.desc.zero && self.desc.zero_start <= self.place + 1;
        if self.place < self.spaces && !zero_here {
            if !fill {
                self.out.push(' ');
            }
        } else if self.place < self.spaces {
            self.out.push('0');
            self.in_number = true;
        } else {
            self.character(key);
        }
        self.trailing_sign();
        self.place += 1;
    }

    fn leading_sign(&mut self) {
        let begins =
            self.place >= self.spaces || self.desc.zero && self.desc.zero_start == self.place + 1;
        if self.sign_written || !begins || self.gives_way() && !self.ends_at_point() {
            return;
        }
        match self.desc.anchor {
            Some(Anchor::Before) => self.out.push(if self.negative { '-' } else { '+' }),
            Some(Anchor::After) => return,
            None if self.desc.bracket => self.out.push(if self.negative { '<' } else { ' ' }),
            None if self.negative => self.out.push('-'),
            None if !self.desc.fill => self.out.push(' '),
            None => {}
        }
        self.sign_written = true;
    }

    /// The next character of the number.
    fn character(&mut self, key: Key) {
        let suppressed = self.last_relevant.is_some_and(|last| self.at > last) && key != Key::Zero;
        let Some(c) = self.number.get(self.at).copied() else {
            // The number is shorter than the picture (NaN, a double's lacking digits).
            // PostgreSQL writes its terminating zero byte here, which ends the result.
            if !suppressed && self.end.is_none() {
                self.end = Some(self.out.len());
            }
            return;
        };
        if c == b'.' {
            // FM9.9 of a whole number keeps its point.
            if !self.ends_at_point() || self.desc.fill {
                self.out.push('.');
            }
        } else if suppressed {
            // A trailing zero that FM suppresses.
        } else if self.gives_way() {
            if !self.desc.fill {
                self.out.push(' ');
            } else if self.ends_at_point() {
                self.out.push('0');
            }
        } else {
            self.out.push(c as char);
            self.in_number = true;
        }
        self.at += 1;
    }

    fn trailing_sign(&mut self) {
        let mut end = self.count + usize::from(self.spaces > 0) + usize::from(self.desc.decimal);
        if self.last_relevant == Some(self.at) {
            end = self.place;
        }
        if self.place + 1 != end {
            return;
        }
        if self.sign_written && self.desc.bracket {
            self.out.push(if self.negative { '>' } else { ' ' });
        } else if self.desc.anchor == Some(Anchor::After) {
            self.out.push(if self.negative { '-' } else { '+' });
        }
    }
}
