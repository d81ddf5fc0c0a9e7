//! From the parser's error messages to PostgreSQL's errors.
//!
//! The binding hands over the message alone, so that the SQLSTATE and the cursor
//! position are worked out here. The SQLSTATE follows from the message: the grammar
//! has few messages that are not syntax errors. The position follows from the
//! token that the message quotes (`… at or near "x"`): if it occurs once, that is
//! the place; if it occurs several times, the first occurrence up to which the text
//! already fails in the same way, found by bisection, is. That holds because an
//! LR(1) parser reports an error on the first token that no valid text could have
//! there, whatever follows.

use steppe_types::{Error, SqlState};

use super::lexer::{Lexer, TokenKind};
use crate::ast::Location;

/// PostgreSQL's error for the parser's message about `source`.
pub(super) fn from_message(message: &str, source: &str) -> Error {
    if message.starts_with("memory exhausted") {
        // The grammar's stack is full (10,000 entries). PostgreSQL calls this a
        // syntax error; it is the same limit as the one on depth.
        return too_deep();
    }
    let error = Error::new(sqlstate(message), message);
    let error = match hint(message) {
        Some(hint) => error.hint(hint),
        None => error,
    };
    if message == "invalid Unicode escape" {
        return bad_unicode_escape(source);
    }
    error.at(position(message, source))
}

/// 54001, with PostgreSQL's hint.
pub(super) fn too_deep() -> Error {
    Error::new(SqlState::STATEMENT_TOO_COMPLEX, "stack depth limit exceeded").hint(
        "Increase the configuration parameter \"max_stack_depth\" (currently 2048kB), after \
         ensuring the platform's stack depth limit is adequate.",
    )
}

/// A NUL byte, which no PostgreSQL string holds.
pub(super) fn embedded_nul() -> Error {
    Error::new(
        SqlState::CHARACTER_NOT_IN_REPERTOIRE,
        "invalid byte sequence for encoding \"UTF8\": 0x00",
    )
}

/// A syntax error on the token at a place.
pub(super) fn syntax_error_at(source: &str, location: Location) -> Error {
    let mut message = "syntax error".to_owned();
    if let Some(rest) = location.offset().and_then(|offset| source.get(offset..)) {
        let token = Lexer::new(rest).next_token();
        message = format!("syntax error at or near \"{}\"", &rest[token.start..token.end]);
    }
    Error::new(SqlState::SYNTAX_ERROR, message).at(location.position(source))
}

/// Messages of gram.y and scan.l that are not syntax errors, by how they begin.
const SQLSTATES: &[(&str, SqlState)] = &[
    ("invalid byte sequence", SqlState::CHARACTER_NOT_IN_REPERTOIRE),
    ("unsafe use of \\'", SqlState(*b"22P06")),
    ("invalid Unicode escape", SqlState::INVALID_ESCAPE_SEQUENCE),
    ("precision for type float", SqlState::INVALID_PARAMETER_VALUE),
    ("frame ", SqlState::WINDOWING_ERROR),
    ("aggregates cannot have output", SqlState::FEATURE_NOT_SUPPORTED),
    ("current database cannot be changed", SqlState::FEATURE_NOT_SUPPORTED),
    ("CREATE SCHEMA IF NOT EXISTS cannot", SqlState::FEATURE_NOT_SUPPORTED),
    ("UNENCRYPTED PASSWORD", SqlState::FEATURE_NOT_SUPPORTED),
    ("WITH CHECK OPTION not supported", SqlState::FEATURE_NOT_SUPPORTED),
    ("stack depth limit exceeded", SqlState::STATEMENT_TOO_COMPLEX),
    ("out of memory", SqlState::OUT_OF_MEMORY),
];

fn sqlstate(message: &str) -> SqlState {
    let listed = SQLSTATES.iter().find(|(start, _)| message.starts_with(start));
    let quotes_token = message.contains(" at or near \"");
    match listed {
        // With a quoted token it is the scanner's own error, which is a syntax error.
        Some((start, _)) if quotes_token && start.starts_with("invalid Unicode") => {
            SqlState::SYNTAX_ERROR
        }
        Some(&(_, sqlstate)) => sqlstate,
        None if message.ends_with("not yet implemented") => SqlState::FEATURE_NOT_SUPPORTED,
        None if message.contains(" constraints cannot be marked ") => {
            SqlState::FEATURE_NOT_SUPPORTED
        }
        None => SqlState::SYNTAX_ERROR,
    }
}

fn hint(message: &str) -> Option<&'static str> {
    match message {
        "LIMIT #,# syntax is not supported" => Some("Use separate LIMIT and OFFSET clauses."),
        _ if message.starts_with("unsafe use of \\'") => {
            Some("Use '' to write quotes in strings. \\' is insecure in client-only encodings.")
        }
        _ => None,
    }
}

/// The cursor position, where the message lets it be known.
fn position(message: &str, source: &str) -> Option<u32> {
    if message.ends_with(" at end of input") {
        return offset_position(source.len(), source);
    }
    let Some((_, quoted)) = message.split_once(" at or near \"") else {
        return offset_position(phrase(message, source)?, source);
    };
    let quoted = quoted.strip_suffix('"')?;
    let places = occurrences(quoted, source);
    // The first place up to which the text fails in the same way.
    let first = places.partition_point(|&(_, end)| match super::raw_parse(&source[..end]) {
        Err(failure) => failure != message,
        Ok(_) => true,
    });
    let &(start, _) = places.get(first.min(places.len().checked_sub(1)?))?;
    offset_position(start, source)
}

fn offset_position(offset: usize, source: &str) -> Option<u32> {
    Location::new(u32::try_from(offset).ok()?).position(source)
}

/// Where a quoted token can be: the tokens with that text or, for an error inside
/// or at the start of one (an escape, an unterminated string), the text itself.
fn occurrences(quoted: &str, source: &str) -> Vec<(usize, usize)> {
    let mut places = Vec::new();
    let mut lexer = Lexer::new(source);
    loop {
        let token = lexer.next_token();
        if token.kind == TokenKind::End {
            break;
        }
        if &source[token.start..token.end] == quoted {
            places.push((token.start, token.end));
        }
        if token.kind == TokenKind::Invalid && source[token.start..].starts_with(quoted) {
            let end = token.start + quoted.len();
            if places.last() != Some(&(token.start, end)) {
                places.push((token.start, end));
            }
        }
    }
    if places.is_empty() && source.matches(quoted).take(2).count() == 1 {
        places.extend(source.find(quoted).map(|start| (start, start + quoted.len())));
    }
    places
}

/// Where the words are that a message without a quoted token is about.
fn phrase(message: &str, source: &str) -> Option<usize> {
    let (words, which): (&[&str], usize) = match message {
        "LIMIT #,# syntax is not supported" => (&["limit"], 0),
        "frame start cannot be UNBOUNDED FOLLOWING" => (&["unbounded", "following"], 0),
        "frame end cannot be UNBOUNDED PRECEDING" => (&["and", "unbounded", "preceding"], 1),
        "frame starting from current row cannot have preceding rows" => {
            (&["current", "row", "and", ""], 3)
        }
        "MATCH PARTIAL not yet implemented" => (&["match", "partial"], 0),
        _ if message.starts_with("precision for type float") => (&["float", "(", ""], 2),
        _ => return None,
    };
    let mut lexer = Lexer::new(source);
    let mut tokens = Vec::new();
    loop {
        let token = lexer.next_token();
        if token.kind == TokenKind::End {
            break;
        }
        tokens.push(token.start..token.end);
    }
    // An empty word stands for any token.
    let matches = |window: &[std::ops::Range<usize>]| {
        let mut pairs = window.iter().zip(words);
        pairs.all(|(at, word)| word.is_empty() || source[at.clone()].eq_ignore_ascii_case(word))
    };
    let found = tokens.windows(words.len()).find(|window| matches(window))?;
    Some(found[which].start)
}

/// PostgreSQL's error for a malformed `\u` escape in an E string, which its scanner
/// finds, or a malformed escape in a U& string, which its parser does.
fn bad_unicode_escape(source: &str) -> Error {
    let mut lexer = Lexer::new(source);
    let message = "invalid Unicode escape";
    loop {
        let token = lexer.next_token();
        let text = &source.as_bytes()[token.start..token.end];
        let at = |offset: usize| offset_position(token.start + offset, source);
        match (token.kind, text.first()) {
            (TokenKind::End, _) => return Error::new(SqlState::INVALID_ESCAPE_SEQUENCE, message),
            (TokenKind::OtherString | TokenKind::Invalid, Some(b'e' | b'E')) => {
                if let Some(offset) = bad_escape(text, |escape| match escape {
                    [b'u', rest @ ..] => Some((rest, 4)),
                    [b'U', rest @ ..] => Some((rest, 8)),
                    _ => None,
                }) {
                    return Error::new(SqlState::INVALID_ESCAPE_SEQUENCE, message)
                        .hint("Unicode escapes must be \\uXXXX or \\UXXXXXXXX.")
                        .at(at(offset));
                }
            }
            (TokenKind::OtherString | TokenKind::QuotedIdentifier, Some(b'u' | b'U')) => {
                if let Some(offset) = bad_escape(text, |escape| match escape {
                    [b'\\', ..] => None,
                    [b'+', rest @ ..] => Some((rest, 6)),
                    rest => Some((rest, 4)),
                }) {
                    return Error::new(SqlState::SYNTAX_ERROR, message)
                        .hint("Unicode escapes must be \\XXXX or \\+XXXXXX.")
                        .at(at(offset));
                }
            }
            _ => {}
        }
    }
}

/// The first backslash whose escape has too few hexadecimal digits. `digits` says,
/// for what follows a backslash, where its digits begin and how many there must be.
fn bad_escape(text: &[u8], digits: impl Fn(&[u8]) -> Option<(&[u8], usize)>) -> Option<usize> {
    let mut at = 0;
    while at < text.len() {
        if text[at] != b'\\' {
            at += 1;
            continue;
        }
        if let Some((rest, count)) = digits(&text[at + 1..]) {
            let found = rest.iter().take(count).take_while(|byte| byte.is_ascii_hexdigit()).count();
            if found < count {
                return Some(at);
            }
        }
        at += 2;
    }
    None
}

/// A `$n` that runs into a word, which the binding's scanner lets pass as a
/// parameter with an alias.
pub(super) fn junk_after_parameter(source: &str) -> Option<Error> {
    let bytes = source.as_bytes();
    let suspicious = bytes.windows(2).any(|pair| pair[0] == b'$' && pair[1].is_ascii_digit());
    if !suspicious {
        return None;
    }
    let mut lexer = Lexer::new(source);
    loop {
        let token = lexer.next_token();
        let text = &source[token.start..token.end];
        match token.kind {
            TokenKind::End => return None,
            TokenKind::Invalid if text.starts_with('$') => {
                let message = format!("trailing junk after parameter at or near \"{text}\"");
                let position = offset_position(token.start, source);
                return Some(Error::new(SqlState::SYNTAX_ERROR, message).at(position));
            }
            _ => {}
        }
    }
}
