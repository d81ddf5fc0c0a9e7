//! PostgreSQL's advanced regular expressions rewritten for Rust's engines
//! (the syntax of src/backend/regex/regc_lex.c and regcomp.c).
//!
//! The translation is one pass without recursion, so that no pattern is too deep
//! for it; the engines bound their own depth and size.

use super::regex::RegexFlags;
use crate::{Error, Result, SqlState};
use std::iter::Peekable;
use std::str::Chars;

/// Largest repetition count (DUPMAX).
const REPEAT_MAX: u32 = 255;

/// 2201B with one of the regex library's own messages.
#[cold]
pub(super) fn invalid(reason: &str) -> Error {
    Error::new(
        SqlState::INVALID_REGULAR_EXPRESSION,
        format!("invalid regular expression: {reason}"),
    )
}

fn bad_escape() -> Error {
    invalid("invalid escape \\ sequence")
}

fn bad_operand() -> Error {
    invalid("quantifier operand invalid")
}

/// A translated pattern, with properties that the engines do not report.
#[derive(Debug, Default)]
pub(super) struct Translated {
    pub(super) pattern: String,
    /// Look-around (other than word boundaries) or back-references.
    pub(super) needs_backtracking: bool,
    /// Outside of look-around: the numbers of greedy and lazy quantifiers, and whether there is
    /// alternation.
    pub(super) greedy: usize,
    pub(super) lazy: usize,
    pub(super) alternation: bool,
    /// The text of a group after a repetition can depend on rules that the engines do not share: a
    /// group inside may or may not be reset by a later round, and a round may be empty.
    pub(super) groups_unknown: bool,
    /// The same for groups inside a repetition alone. With a back-reference even a match can depend
    /// on them.
    pub(super) rounds_unknown: bool,
    pub(super) back_references: bool,
}

/// The kind of the last token, which decides whether a quantifier may follow.
#[derive(Clone, Copy, PartialEq)]
enum Last {
    Nothing,
    Atom,
    Constraint,
    Quantifier,
}

#[derive(Default)]
struct Group {
    look_around: bool,
    captures: bool,
    /// Where its first branch begins in the output.
    start: usize,
    /// Where its later branches begin.
    branches: Vec<usize>,
    /// So far the group has only characters that stand for themselves.
    literal: bool,
    /// Has captures inside, in branches or optional parts.
    conditional_captures: bool,
    inner_captures: bool,
    optional_parts: bool,
    /// Whether the current branch takes at least one character, with and without its last atom, and
    /// whether a finished branch takes none.
    takes_some: bool,
    took_some_before: bool,
    may_be_empty: bool,
    /// The number of characters that the current branch takes, with and without its last atom, and
    /// that all finished branches take; `None` if it varies.
    width: Width,
    width_before: Width,
    finished: Option<Width>,
}

/// A number of characters, or `None` where it varies.
#[derive(Clone, Copy, PartialEq)]
struct Width(Option<usize>);

impl Default for Width {
    fn default() -> Width {
        Width(Some(0))
    }
}

impl Width {
    fn plus(self, other: Width, times: Option<usize>) -> Width {
        let extent = other.0.zip(times).and_then(|(width, times)| width.checked_mul(times));
        Width(self.0.zip(extent).and_then(|(a, b)| a.checked_add(b)))
    }
}

impl Group {
    fn finish_branch(&mut self) {
        self.finished = Some(match self.finished {
            Some(width) if width != self.width => Width(None),
            _ => self.width,
        });
        self.may_be_empty |= !self.takes_some;
        self.takes_some = false;
        self.width = Width::default();
    }

    fn total_width(&self) -> Width {
        self.finished.unwrap_or_default()
    }
}

struct Translator<'a> {
    input: Peekable<Chars<'a>>,
    flags: RegexFlags,
    out: Translated,
    groups: Vec<Group>,
    /// The group that has just been closed, for a quantifier that may follow.
    closed: Option<Group>,
    /// Capturing groups opened and, by number, whether they are closed.
    open_captures: Vec<Option<usize>>,
    captures_closed: Vec<bool>,
    /// The group that the last token referred back to, for a quantifier that may follow.
    referred: Option<usize>,
    last: Last,
}

/// Translates a pattern; directors and embedded options change `flags`.
pub(super) fn translate(pattern: &str, flags: RegexFlags) -> Result<(Translated, RegexFlags)> {
    let mut flags = flags;
    let mut rest = pattern;
    if let Some(tail) = rest.strip_prefix("***") {
        match tail.chars().next() {
            Some('=') => flags.literal = true,
            Some(':') => flags.literal = false,
            _ => return Err(bad_operand()),
        }
        rest = &tail[1..];
    }
    if !flags.literal
        && let Some(tail) = rest.strip_prefix("(?")
        && tail.starts_with(|c: char| c.is_ascii_alphabetic())
    {
        let end = tail.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(tail.len());
        if !tail[end..].starts_with(')') {
            return Err(invalid("invalid embedded option"));
        }
        for option in tail[..end].chars() {
            if option == 'g' || !flags.set(option) {
                return Err(invalid("invalid embedded option"));
            }
        }
        rest = &tail[end + 1..];
    }
    let mut translator = Translator {
        input: rest.chars().peekable(),
        flags,
        out: Translated::default(),
        groups: Vec::new(),
        closed: None,
        open_captures: Vec::new(),
        captures_closed: Vec::new(),
        referred: None,
        last: Last::Nothing,
    };
    translator.out.pattern.push_str(if flags.ignore_case { "(?i)" } else { "" });
    if flags.literal {
        rest.chars().for_each(|c| push_literal(c, &mut translator.out.pattern));
    } else {
        translator.run()?;
    }
    Ok((translator.out, flags))
}

/// A character that stands for itself, inside and outside of brackets.
fn push_literal(c: char, out: &mut String) {
    if c.is_ascii() && !c.is_ascii_alphanumeric() {
        // Written as a number, a character needs no backslash.
        out.push_str(&format!("\\x{:02X}", c as u32));
    } else {
        out.push(c);
    }
}

impl Translator<'_> {
    fn run(&mut self) -> Result<()> {
        while let Some(c) = self.input.next() {
            self.token(c)?;
        }
        if self.groups.is_empty() { Ok(()) } else { Err(invalid("parentheses () not balanced")) }
    }

    fn emit(&mut self, text: &str, last: Last) -> Result<()> {
        self.out.pattern.push_str(text);
        self.set_last(last, false);
        Ok(())
    }

    fn literal(&mut self, c: char) -> Result<()> {
        push_literal(c, &mut self.out.pattern);
        self.set_last(Last::Atom, true);
        Ok(())
    }

    /// Notes what kind of token came, here and in the innermost group.
    fn set_last(&mut self, last: Last, literal: bool) {
        self.last = last;
        self.closed = None;
        self.referred = None;
        if let Some(group) = self.groups.last_mut() {
            group.literal &= literal;
            if last == Last::Atom {
                group.took_some_before = group.takes_some;
                group.takes_some = true;
                group.width_before = group.width;
                group.width = group.width.plus(Width(Some(1)), Some(1));
            }
        }
    }

    fn in_look_around(&self) -> bool {
        self.groups.iter().any(|group| group.look_around)
    }

    fn token(&mut self, c: char) -> Result<()> {
        match c {
            '\\' => self.escape(),
            '[' => self.bracket(),
            '(' => self.open_group(),
            ')' => self.close_group(),
            '|' => {
                self.out.alternation |= !self.in_look_around();
                self.out.pattern.push('|');
                self.last = Last::Nothing;
                if let Some(group) = self.groups.last_mut() {
                    group.branches.push(self.out.pattern.len());
                    group.optional_parts = true;
                    group.finish_branch();
                }
                Ok(())
            }
            '*' | '+' | '?' => self.quantifier(&c.to_string()),
            '{' if self.input.peek().is_some_and(char::is_ascii_digit) => {
                let bound = self.bound()?;
                self.quantifier(&bound)
            }
            '^' if self.flags.newline_anchors => self.emit("(?m:^)", Last::Constraint),
            '^' => self.emit("\\A", Last::Constraint),
            '$' if self.flags.newline_anchors => self.emit("(?m:$)", Last::Constraint),
            '$' => self.emit("\\z", Last::Constraint),
            '.' if self.flags.newline_stops => self.emit("[^\\n]", Last::Atom),
            '.' => self.emit("(?s:.)", Last::Atom),
            ' ' | '\t' | '\n' | '\r' | '\u{b}' | '\u{c}' if self.flags.expanded => Ok(()),
            '#' if self.flags.expanded => {
                while self.input.next_if(|c| *c != '\n').is_some() {}
                Ok(())
            }
            _ => self.literal(c),
        }
    }

    fn quantifier(&mut self, text: &str) -> Result<()> {
        if self.last != Last::Atom {
            return Err(bad_operand());
        }
        let optional = matches!(text.as_bytes(), [b'*' | b'?'] | [b'{', b'0', ..]);
        let repeats = !matches!(text, "?" | "{0}" | "{1}" | "{0,1}" | "{1,1}");
        let closed = self.closed.take();
        if let Some(group) = self.groups.last_mut() {
            let atom = closed.as_ref().map_or(Width(Some(1)), Group::total_width);
            group.width = group.width_before.plus(atom, exact_count(text));
            group.literal = false;
            group.optional_parts |= optional;
            if optional {
                group.takes_some = group.took_some_before;
            }
        }
        if let Some(closed) = closed {
            // If all rounds have the same length, a text can be cut into rounds in one way only.
            let captures = closed.captures || closed.inner_captures;
            let varies = closed.may_be_empty || closed.total_width() == Width(None);
            let unknown = repeats && (closed.conditional_captures || captures && varies);
            self.out.groups_unknown |= unknown;
            self.out.rounds_unknown |= unknown;
        }
        // A reference to a group without a match fails, even if it need not be repeated.
        let guarded = self.referred.take().filter(|_| optional && !is_never(text));
        if let Some(number) = guarded {
            let start = self.out.pattern.len() - reference(number).len();
            self.out.pattern.insert_str(start, &format!("(?({number})"));
        }
        self.out.pattern.push_str(text);
        let lazy = self.input.next_if_eq(&'?').is_some();
        if lazy {
            self.out.pattern.push('?');
        }
        if guarded.is_some() {
            self.out.pattern.push_str("|(?!))");
        }
        if !self.in_look_around() {
            let count = if lazy { &mut self.out.lazy } else { &mut self.out.greedy };
            *count += 1;
        }
        self.last = Last::Quantifier;
        Ok(())
    }

    fn bound_number(&mut self) -> Result<Option<u32>> {
        let mut number = None;
        while let Some(digit) = self.input.peek().and_then(|c| c.to_digit(10)) {
            self.input.next();
            let value = number.unwrap_or(0) * 10 + digit;
            if value > REPEAT_MAX {
                return Err(invalid("invalid repetition count(s)"));
            }
            number = Some(value);
        }
        Ok(number)
    }

    fn bound(&mut self) -> Result<String> {
        let least = self.bound_number()?.unwrap_or(0);
        let text = if self.input.next_if_eq(&',').is_some() {
            match self.bound_number()? {
                Some(most) if most < least => {
                    return Err(invalid("invalid repetition count(s)"));
                }
                Some(most) => format!("{{{least},{most}}}"),
                None => format!("{{{least},}}"),
            }
        } else {
            format!("{{{least}}}")
        };
        match self.input.next() {
            Some('}') => Ok(text),
            Some(_) => Err(invalid("invalid repetition count(s)")),
            None => Err(invalid("braces {} not balanced")),
        }
    }

    fn open_group(&mut self) -> Result<()> {
        let mut capture = None;
        let mut look_around = false;
        let is_plain = self.input.next_if_eq(&'?').is_none();
        let opening = if is_plain && self.in_look_around() {
            // Groups in look-around do not capture.
            "(?:"
        } else if is_plain {
            self.captures_closed.push(false);
            capture = Some(self.captures_closed.len() - 1);
            "("
        } else {
            match self.input.next() {
                Some(':') => "(?:",
                Some('#') => {
                    while self.input.next().is_some_and(|c| c != ')') {}
                    return Ok(());
                }
                behind_or_ahead => {
                    look_around = true;
                    let behind = behind_or_ahead == Some('<');
                    let kind = if behind { self.input.next() } else { behind_or_ahead };
                    match (behind, kind) {
                        (false, Some('=')) => "(?=",
                        (false, Some('!')) => "(?!",
                        (true, Some('=')) => "(?<=",
                        (true, Some('!')) => "(?<!",
                        _ => return Err(bad_operand()),
                    }
                }
            }
        };
        self.out.needs_backtracking |= look_around;
        self.emit(opening, Last::Nothing)?;
        self.groups.push(Group {
            look_around,
            captures: capture.is_some(),
            start: self.out.pattern.len(),
            literal: true,
            ..Group::default()
        });
        self.open_captures.push(capture);
        Ok(())
    }

    fn close_group(&mut self) -> Result<()> {
        let (Some(mut group), Some(capture)) = (self.groups.pop(), self.open_captures.pop()) else {
            return Err(invalid("parentheses () not balanced"));
        };
        if let Some(capture) = capture {
            self.captures_closed[capture] = true;
        }
        if group.literal && !group.branches.is_empty() {
            self.longest_branch_first(&group);
        }
        group.finish_branch();
        // PostgreSQL takes the longest branch, not the first. The group's text is known only if
        // that makes no difference.
        self.out.groups_unknown |= group.captures
            && !group.branches.is_empty()
            && !group.literal
            && group.total_width() == Width(None);
        group.conditional_captures |= group.inner_captures && group.optional_parts;
        self.emit(")", if group.look_around { Last::Constraint } else { Last::Atom })?;
        if let Some(outer) = self.groups.last_mut() {
            outer.inner_captures |= group.captures || group.inner_captures;
            outer.conditional_captures |= group.conditional_captures;
            outer.optional_parts |= group.optional_parts;
            outer.takes_some = outer.took_some_before || !group.may_be_empty;
            outer.width = outer.width_before.plus(group.total_width(), Some(1));
        }
        self.closed = Some(group);
        Ok(())
    }

    /// PostgreSQL gives a group the longest branch that lets the rest match, the engines the first.
    /// For plain words it suffices to order the branches.
    fn longest_branch_first(&mut self, group: &Group) {
        let body = self.out.pattern.split_off(group.start);
        // Plain words hold no "|": it is written as a number.
        let mut branches: Vec<&str> = body.split('|').collect();
        branches.sort_by_key(|branch| std::cmp::Reverse(branch.len()));
        self.out.pattern.push_str(&branches.join("|"));
    }

    fn escape(&mut self) -> Result<()> {
        let Some(c) = self.input.next() else { return Err(bad_escape()) };
        match c {
            'A' => self.emit("\\A", Last::Constraint),
            'Z' => self.emit("\\z", Last::Constraint),
            'm' => self.emit("\\b{start}", Last::Constraint),
            'M' => self.emit("\\b{end}", Last::Constraint),
            'y' => self.emit("\\b", Last::Constraint),
            'Y' => self.emit("\\B", Last::Constraint),
            'd' => self.emit("[0-9]", Last::Atom),
            'D' => self.emit("[^0-9]", Last::Atom),
            'w' => self.emit(&format!("[{WORD}]"), Last::Atom),
            'W' => self.emit(&format!("[^{WORD}]"), Last::Atom),
            's' | 'S' => self.emit(&format!("\\{c}"), Last::Atom),
            '1'..='9' => self.back_reference(c),
            _ => {
                let c = self.character_escape(c)?;
                self.literal(c)
            }
        }
    }

    /// `\n`: a group that is already closed, else (two digits and more) octal.
    fn back_reference(&mut self, first: char) -> Result<()> {
        let mut digits = first.to_string();
        while digits.len() < 3 {
            match self.input.next_if(char::is_ascii_digit) {
                Some(digit) => digits.push(digit),
                None => break,
            }
        }
        let number: usize = digits.parse().unwrap_or(usize::MAX);
        let known = self.captures_closed.get(number - 1) == Some(&true);
        if known && !self.in_look_around() {
            self.out.needs_backtracking = true;
            self.out.back_references = true;
            self.emit(&reference(number), Last::Atom)?;
            self.referred = Some(number);
            if let Some(group) = self.groups.last_mut() {
                (group.width, group.takes_some) = (Width(None), group.took_some_before);
            }
            return Ok(());
        }
        if known || digits.len() == 1 {
            return Err(invalid("invalid backreference number"));
        }
        match u32::from_str_radix(&digits, 8).ok().and_then(char::from_u32) {
            Some(c) => self.literal(c),
            None => Err(bad_escape()),
        }
    }

    /// An escape that stands for one character, in brackets or not.
    fn character_escape(&mut self, c: char) -> Result<char> {
        Ok(match c {
            'a' => '\u{7}',
            'b' => '\u{8}',
            'B' => '\\',
            'c' => match self.input.next() {
                Some(c) => char::from((c as u32 & 0x1F) as u8),
                None => return Err(bad_escape()),
            },
            'e' => '\u{1b}',
            'f' => '\u{c}',
            'n' => '\n',
            'r' => '\r',
            't' => '\t',
            'v' => '\u{b}',
            'u' => self.numbered(16, 4, 4)?,
            'U' => self.numbered(16, 8, 8)?,
            'x' => self.numbered(16, 1, 255)?,
            '0' => self.numbered(8, 0, 2)?,
            c if c.is_ascii_alphanumeric() => return Err(bad_escape()),
            c => c,
        })
    }

    fn numbered(&mut self, radix: u32, least: usize, most: usize) -> Result<char> {
        let (mut value, mut count) = (0u32, 0);
        while count < most
            && let Some(digit) = self.input.peek().and_then(|c| c.to_digit(radix))
        {
            self.input.next();
            value = value.checked_mul(radix).ok_or_else(bad_escape)? + digit;
            count += 1;
        }
        if count < least {
            return Err(bad_escape());
        }
        char::from_u32(value).ok_or_else(bad_escape)
    }

    /// `[…]`, whose parts are emitted as they come.
    fn bracket(&mut self) -> Result<()> {
        let rest: String = self.input.clone().take(6).collect();
        for (boundary, translated) in [("[:<:]]", "\\b{start}"), ("[:>:]]", "\\b{end}")] {
            if rest == boundary {
                self.input.by_ref().take(6).for_each(drop);
                return self.emit(translated, Last::Constraint);
            }
        }
        let negated = self.input.next_if_eq(&'^').is_some();
        let mut class = String::from(if negated { "[^" } else { "[" });
        if negated && self.flags.newline_stops {
            class.push_str("\\n");
        }
        let mut first = true;
        loop {
            let Some(c) = self.input.next() else {
                return Err(invalid("brackets [] not balanced"));
            };
            match c {
                ']' if !first => break,
                '[' if matches!(self.input.peek(), Some(':')) => {
                    let name = self.named(':')?;
                    class.push_str(class_of(&name)?);
                }
                '\\' if matches!(self.input.peek(), Some('d' | 'w' | 's')) => {
                    let name = self.input.next();
                    class.push_str(match name {
                        Some('d') => "0-9",
                        Some('w') => WORD,
                        _ => "\\s",
                    });
                }
                _ => {
                    let low = self.bracket_character(c)?;
                    self.range(low, &mut class)?;
                }
            }
            first = false;
        }
        class.push(']');
        self.emit(&class, Last::Atom)
    }

    /// One character of a bracket expression that began with `c`.
    fn bracket_character(&mut self, c: char) -> Result<char> {
        match c {
            '[' if matches!(self.input.peek(), Some('.' | '=')) => {
                let delimiter = self.input.peek().copied().unwrap_or('.');
                let name = self.named(delimiter)?;
                let mut characters = name.chars();
                match (characters.next(), characters.next()) {
                    (Some(c), None) => Ok(c),
                    _ => Err(invalid("invalid collating element")),
                }
            }
            '\\' => match self.input.next() {
                Some(c) => self.character_escape(c),
                None => Err(bad_escape()),
            },
            c => Ok(c),
        }
    }

    /// `low`, or `low-high` if a range follows.
    fn range(&mut self, low: char, class: &mut String) -> Result<()> {
        let mut ahead = self.input.clone();
        let is_range = ahead.next() == Some('-') && ahead.next().is_some_and(|c| c != ']');
        push_literal(low, class);
        if !is_range {
            return Ok(());
        }
        self.input.next();
        let Some(c) = self.input.next() else {
            return Err(invalid("brackets [] not balanced"));
        };
        let high = self.bracket_character(c)?;
        if high < low {
            return Err(invalid("invalid character range"));
        }
        class.push('-');
        push_literal(high, class);
        Ok(())
    }

    /// The name in `[:name:]`, `[.name.]` or `[=name=]`, after the `[`.
    fn named(&mut self, delimiter: char) -> Result<String> {
        self.input.next();
        let mut name = String::new();
        loop {
            match self.input.next() {
                None => return Err(invalid("brackets [] not balanced")),
                Some(c) if c == delimiter && self.input.peek() == Some(&']') => {
                    self.input.next();
                    return Ok(name);
                }
                Some(c) => name.push(c),
            }
        }
    }
}

/// A back-reference in a group of its own, separate from digits that follow.
fn reference(number: usize) -> String {
    format!("(?:\\{number})")
}

/// Whether a quantifier takes its atom away.
fn is_never(quantifier: &str) -> bool {
    matches!(quantifier, "{0}" | "{0,0}")
}

/// The n of `{n}`.
fn exact_count(quantifier: &str) -> Option<usize> {
    quantifier.strip_prefix('{')?.strip_suffix('}')?.parse().ok()
}

/// Letters, digits and underscores, inside brackets: as in POSIX only ASCII has digits.
const WORD: &str = "\\p{Alphabetic}0-9_";

/// A POSIX class, inside brackets, as the locale C.UTF-8 of PostgreSQL's own provider has it.
fn class_of(name: &str) -> Result<&'static str> {
    Ok(match name {
        "alnum" => "\\p{Alphabetic}0-9",
        "alpha" => "\\p{Alphabetic}",
        "ascii" => "\\x00-\\x7F",
        "blank" => "\\x20\\t",
        "cntrl" => "\\p{Cc}",
        "digit" => "0-9",
        "graph" => "\\p{L}\\p{M}\\p{N}\\p{P}\\p{S}\\p{Cf}\\p{Co}",
        "lower" => "\\p{Lowercase}",
        "print" => "\\p{L}\\p{M}\\p{N}\\p{P}\\p{S}\\p{Cf}\\p{Co}\\p{Zs}",
        "punct" => "[\\p{P}\\p{S}--\\p{Alphabetic}]",
        "space" => "\\s",
        "upper" => "\\p{Uppercase}",
        "word" => WORD,
        "xdigit" => "0-9A-Fa-f",
        _ => return Err(invalid("invalid character class")),
    })
}
