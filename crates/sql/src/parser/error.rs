//! From the parser's error messages to PostgreSQL's errors.
//!
//! The binding hands over the message alone. [`cursor`] fetches the position; the
//! SQLSTATE and the hint, which the binding drops, follow from the message, since the
//! grammar has few that are not plain syntax errors.

use steppe_types::{Error, SqlState};

use super::cursor::{Cursor, cursor};
use super::lexer::{Lexer, TokenKind};
use crate::ast::Location;

/// PostgreSQL's error for the parser's message about `source`.
pub(super) fn from_message(message: &str, source: &str) -> Error {
    if message.starts_with("memory exhausted") {
        // The grammar's stack is full (10,000 entries). PostgreSQL calls this a
        // syntax error; it is the same limit as the one on depth.
        return too_deep();
    }
    let cursor = cursor(source);
    let in_scanner = cursor.is_some_and(|cursor| cursor.in_scanner);
    let error = Error::new(sqlstate(message, in_scanner), message);
    let error = match hint(message, in_scanner) {
        Some(hint) => error.hint(hint),
        None => error,
    };
    error.at(cursor.and_then(|Cursor { position, .. }| position))
}

/// An error about `text`, which has the same bytes as `source` but for some that are blanks: its place
/// counts the characters of `source`.
pub(super) fn moved(error: Error, text: &str, source: &str) -> Error {
    let Some(position) = error.fields().position else { return error };
    let before = usize::try_from(position).unwrap_or(1).saturating_sub(1);
    let offset = text.char_indices().nth(before).map_or(text.len(), |(offset, _)| offset);
    error.without_position().at(offset_position(offset, source))
}

/// 54001, with PostgreSQL's hint.
pub(crate) fn too_deep() -> Error {
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
    ("unrecognized partitioning strategy", SqlState::INVALID_PARAMETER_VALUE),
    ("modulus for hash partition provided more than once", SqlState::DUPLICATE_OBJECT),
    ("remainder for hash partition provided more than once", SqlState::DUPLICATE_OBJECT),
    ("frame ", SqlState::WINDOWING_ERROR),
    ("aggregates cannot have output", SqlState::FEATURE_NOT_SUPPORTED),
    ("current database cannot be changed", SqlState::FEATURE_NOT_SUPPORTED),
    ("CREATE OR REPLACE CONSTRAINT TRIGGER is not", SqlState::FEATURE_NOT_SUPPORTED),
    ("CREATE SCHEMA IF NOT EXISTS cannot", SqlState::FEATURE_NOT_SUPPORTED),
    ("UNENCRYPTED PASSWORD", SqlState::FEATURE_NOT_SUPPORTED),
    ("WITH CHECK OPTION not supported", SqlState::FEATURE_NOT_SUPPORTED),
    ("stack depth limit exceeded", SqlState::STATEMENT_TOO_COMPLEX),
    ("out of memory", SqlState::OUT_OF_MEMORY),
];

fn sqlstate(message: &str, in_scanner: bool) -> SqlState {
    let listed = SQLSTATES.iter().find(|(start, _)| message.starts_with(start));
    match listed {
        // In a string the scanner finds it; in U&'…' the step after it, whose error, like
        // one that quotes a token, is a syntax error.
        Some((start, _)) if start.starts_with("invalid Unicode") => {
            if in_scanner && message == *start {
                SqlState::INVALID_ESCAPE_SEQUENCE
            } else {
                SqlState::SYNTAX_ERROR
            }
        }
        Some(&(_, sqlstate)) => sqlstate,
        None if message.ends_with("not yet implemented") => SqlState::FEATURE_NOT_SUPPORTED,
        None if message.contains(" constraints cannot be marked ") => {
            SqlState::FEATURE_NOT_SUPPORTED
        }
        None => SqlState::SYNTAX_ERROR,
    }
}

fn hint(message: &str, in_scanner: bool) -> Option<&'static str> {
    match message {
        "LIMIT #,# syntax is not supported" => Some("Use separate LIMIT and OFFSET clauses."),
        "missing argument" => Some("Use NONE to denote the missing argument of a unary operator."),
        "invalid Unicode escape" if in_scanner => {
            Some("Unicode escapes must be \\uXXXX or \\UXXXXXXXX.")
        }
        "invalid Unicode escape" => Some("Unicode escapes must be \\XXXX or \\+XXXXXX."),
        _ if message.starts_with("unsafe use of \\'") => {
            Some("Use '' to write quotes in strings. \\' is insecure in client-only encodings.")
        }
        _ => None,
    }
}

fn offset_position(offset: usize, source: &str) -> Option<u32> {
    Location::new(u32::try_from(offset).ok()?).position(source)
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
