//! The selectivity of a pattern by its text: the prefix that all its matches begin with, and a
//! guess for the rest by the number and the kinds of its characters. In PostgreSQL's
//! like_support.c: pattern_fixed_prefix, like_selectivity, regex_selectivity.

use steppe_catalog::builtin::PatternKind;

/// The selectivity of a literal character, of a class, and of any character.
const LITERAL: f64 = 0.2;
const OF_CLASS: f64 = 0.25;
const ANY: f64 = 0.9;
/// The factors of `%` and of a quantifier.
const ANY_STRING: f64 = 5.0;
const REPEATED: f64 = 2.0;

/// The part of a pattern that its prefix is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    None,
    Partial,
    Exact,
}

/// A pattern's fixed prefix.
#[derive(Debug, PartialEq)]
pub(super) struct Prefix {
    pub(super) kind: Kind,
    pub(super) text: String,
    /// The selectivity of the rest of the pattern among the texts with the prefix.
    pub(super) rest: f64,
}

impl Prefix {
    pub(super) fn of(pattern: &str, kind: PatternKind) -> Prefix {
        match kind {
            PatternKind::Like => of_like(pattern, false),
            PatternKind::LikeFolded => of_like(pattern, true),
            PatternKind::Regex => of_regex(pattern, false),
            PatternKind::RegexFolded => of_regex(pattern, true),
            PatternKind::Prefix => {
                Prefix { kind: Kind::Partial, text: pattern.to_string(), rest: 1.0 }
            }
        }
    }
}

/// The prefix of all texts that a pattern matches.
pub(in crate::planner) fn fixed_prefix(pattern: &str, kind: PatternKind) -> String {
    Prefix::of(pattern, kind).text
}

/// The least string that is greater than all that begin with `prefix` (make_greater_string).
pub(in crate::planner) fn least_greater(prefix: &str) -> Option<String> {
    let mut characters: Vec<char> = prefix.chars().collect();
    while let Some(last) = characters.pop() {
        // Between these two no character is.
        let next = match last {
            '\u{d7ff}' => Some('\u{e000}'),
            last => char::from_u32(u32::from(last) + 1),
        };
        if let Some(next) = next {
            characters.push(next);
            return Some(characters.into_iter().collect());
        }
    }
    None
}

fn of_like(pattern: &str, is_folded: bool) -> Prefix {
    let (mut text, mut rest) = (String::new(), pattern.chars());
    loop {
        let before = rest.clone();
        let literal = match rest.next() {
            Some('\\') => rest.next(),
            Some('%' | '_') | None => None,
            other => other,
        };
        match literal.filter(|c| !(is_folded && has_cases(*c))) {
            Some(literal) => text.push(literal),
            None => {
                rest = before;
                break;
            }
        }
    }
    let kind = match (rest.as_str().is_empty(), text.is_empty()) {
        (true, _) => Kind::Exact,
        (false, true) => Kind::None,
        (false, false) => Kind::Partial,
    };
    Prefix { kind, text, rest: like_selectivity(rest.as_str()) }
}

/// Whether a character may be written otherwise, as far as is known without a locale.
fn has_cases(c: char) -> bool {
    c.is_ascii_alphabetic() || !c.is_ascii()
}

fn like_selectivity(pattern: &str) -> f64 {
    let mut selected: f64 = 1.0;
    // Wildcards that come first have been counted.
    let mut rest = pattern.bytes().skip_while(|c| matches!(c, b'%' | b'_'));
    while let Some(byte) = rest.next() {
        selected *= match byte {
            b'%' => ANY_STRING,
            b'_' => ANY,
            b'\\' if rest.next().is_none() => 1.0,
            _ => LITERAL,
        };
    }
    selected.min(1.0)
}

/// The prefix of an anchored regular expression: the literals that it begins with, if it has no
/// alternatives.
fn of_regex(pattern: &str, is_folded: bool) -> Prefix {
    let none = || Prefix {
        kind: Kind::None,
        text: String::new(),
        rest: regex_selectivity(pattern.as_bytes(), 0),
    };
    let Some(anchored) = pattern.strip_prefix('^') else { return none() };
    // What SIMILAR TO becomes.
    let inner = anchored.strip_prefix("(?:").and_then(|inner| inner.strip_suffix(")$"));
    let (body, is_closed) = match (inner, anchored.strip_suffix('$')) {
        (Some(inner), _) if !inner.contains(['(', ')']) => (inner, true),
        (_, Some(body)) if !body.ends_with('\\') => (body, true),
        _ => (anchored, false),
    };
    if body.contains('|') {
        return none();
    }
    let (text, is_all) = literals(body, is_folded);
    match (is_all && is_closed, text.is_empty()) {
        (true, _) => Prefix { kind: Kind::Exact, text, rest: 1.0 },
        (false, true) => none(),
        (false, false) => {
            let rest = regex_selectivity(pattern.as_bytes(), text.len());
            Prefix { kind: Kind::Partial, text, rest }
        }
    }
}

/// The literal characters that a regular expression begins with, and whether they are all of it.
fn literals(body: &str, is_folded: bool) -> (String, bool) {
    let (mut text, mut rest) = (String::new(), body.chars().peekable());
    while let Some(character) = rest.next() {
        let literal = match character {
            '\\' => rest.next().filter(|c| !c.is_ascii_alphanumeric()),
            '.' | '[' | '(' | ')' | '$' | '^' | '*' | '+' | '?' | '{' => None,
            other => Some(other),
        };
        let Some(literal) = literal.filter(|c| !(is_folded && has_cases(*c))) else {
            return (text, false);
        };
        match rest.peek() {
            // It may be missing.
            Some('*' | '?' | '{') => return (text, false),
            Some('+') => {
                text.push(literal);
                return (text, false);
            }
            _ => text.push(literal),
        }
    }
    (text, true)
}

fn regex_selectivity(pattern: &[u8], prefix: usize) -> f64 {
    let selected = match pattern {
        [body @ .., b'$'] if body.last() != Some(&b'\\') => regex_part(body),
        // Anything may follow.
        all => regex_part(all) * ANY_STRING,
    };
    let of_prefix = LITERAL.powi(i32::try_from(prefix).unwrap_or(i32::MAX));
    match prefix > 0 && of_prefix > 0.0 {
        true => (selected / of_prefix).clamp(0.0, 1.0),
        false => selected.clamp(0.0, 1.0),
    }
}

/// The selectivity of a part of a regular expression. Parentheses count as a whole.
fn regex_part(pattern: &[u8]) -> f64 {
    let (mut selected, mut depth, mut opened, mut at): (f64, usize, usize, usize) = (1.0, 0, 0, 0);
    while let Some(byte) = pattern.get(at) {
        let factor = match byte {
            b'(' => {
                if depth == 0 {
                    opened = at;
                }
                depth += 1;
                1.0
            }
            b')' if depth > 0 => {
                depth -= 1;
                if depth == 0 {
                    selected *= regex_part(&pattern[opened + 1..at]);
                }
                1.0
            }
            b'|' if depth == 0 => {
                selected += regex_part(&pattern[at + 1..]);
                break;
            }
            b'[' => {
                let (end, share) = class(pattern, at);
                at = end;
                share
            }
            b'.' => ANY,
            b'*' | b'?' | b'+' => REPEATED,
            b'{' => {
                at += pattern[at..].iter().take_while(|c| **c != b'}').count();
                REPEATED
            }
            b'\\' => {
                at += 1;
                if at >= pattern.len() {
                    break;
                }
                LITERAL
            }
            _ => LITERAL,
        };
        if depth == 0 {
            selected *= factor;
        }
        at += 1;
    }
    selected.min(1.0)
}

/// The end of the class that begins at a bracket, and its selectivity.
fn class(pattern: &[u8], at: usize) -> (usize, f64) {
    let is_negated = pattern.get(at + 1) == Some(&b'^');
    let mut end = at + if is_negated { 2 } else { 1 };
    // A bracket that comes first is in the class.
    if pattern.get(end) == Some(&b']') {
        end += 1;
    }
    end += pattern.iter().skip(end).take_while(|c| **c != b']').count();
    (end, if is_negated { 1.0 - OF_CLASS } else { OF_CLASS })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn like(pattern: &str) -> (Kind, String, f64) {
        let Prefix { kind, text, rest } = Prefix::of(pattern, PatternKind::Like);
        (kind, text, rest)
    }

    #[test]
    fn prefixes_of_like() {
        assert_eq!(like("abc"), (Kind::Exact, "abc".into(), 1.0));
        assert_eq!(like("a\\%c%"), (Kind::Partial, "a%c".into(), 1.0));
        assert_eq!(like("a%bc"), (Kind::Partial, "a".into(), LITERAL * LITERAL));
        assert_eq!(like("%a%b"), (Kind::None, "".into(), LITERAL * ANY_STRING * LITERAL));
        let folded = Prefix::of("12ab%", PatternKind::LikeFolded);
        assert_eq!((folded.kind, &*folded.text), (Kind::Partial, "12"));
    }

    #[test]
    fn prefixes_of_regular_expressions() {
        let regex = |pattern: &str| {
            let Prefix { kind, text, .. } = Prefix::of(pattern, PatternKind::Regex);
            (kind, text)
        };
        assert_eq!(regex("^abc"), (Kind::Partial, "abc".into()));
        assert_eq!(regex("^abc$"), (Kind::Exact, "abc".into()));
        assert_eq!(regex("^(?:abc)$"), (Kind::Exact, "abc".into()));
        assert_eq!(regex("^abc*"), (Kind::Partial, "ab".into()));
        assert_eq!(regex("^a\\.b+x"), (Kind::Partial, "a.b".into()));
        assert_eq!(regex("^abc|d"), (Kind::None, "".into()));
        assert_eq!(regex("abc"), (Kind::None, "".into()));
    }

    #[test]
    fn rests_of_regular_expressions() {
        let rest = |pattern: &str| regex_selectivity(pattern.as_bytes(), 0);
        assert!((rest("ab") - 0.2).abs() < 1e-9);
        assert!((rest("ab$") - 0.04).abs() < 1e-9);
        assert!((rest("[^]a]x(a|b)$") - 0.75 * 0.2 * 0.4).abs() < 1e-9);
        assert!((rest("a{2,3}$") - 0.4).abs() < 1e-9);
    }
}
