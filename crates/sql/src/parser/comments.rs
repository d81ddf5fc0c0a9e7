//! Nested comments, which PostgreSQL's scanner reads in quadratic time.
//!
//! At each `/*` it takes the whole run of operator characters that follows, and puts all but two of
//! them back. Twenty thousand of them in a row cost it seconds that cannot be interrupted.
//! [`flattened`] takes the inner marks out first, so that the scanner sees one comment of the same
//! length, in bytes and in characters.

use std::borrow::Cow;

use steppe_types::{Error, Result, SqlState};

use super::lexer::{Lexer, TokenKind};
use crate::ast::Location;

/// At most this many marks are left to the scanner.
const MARKS_MAX: usize = 100;

/// The text with no comment inside another, if it has many; an error if one does not end.
pub(super) fn flattened(source: &str) -> Result<Cow<'_, str>> {
    if source.matches("/*").nth(MARKS_MAX).is_none() {
        return Ok(Cow::Borrowed(source));
    }
    let mut bytes = source.as_bytes().to_vec();
    let (mut lexer, mut end) = (Lexer::new(source), 0);
    loop {
        let token = lexer.next_token();
        flatten_between(&mut bytes[end..token.start]);
        let text = &source[token.start..token.end];
        match token.kind {
            TokenKind::End => break,
            TokenKind::Invalid if text.starts_with("/*") => return Err(unterminated(source, text)),
            _ => end = token.end,
        }
    }
    // Marks are ASCII, and so are their replacements.
    Ok(String::from_utf8(bytes).map_or(Cow::Borrowed(source), Cow::Owned))
}

/// Flattens the text between two tokens: blanks and comments.
fn flatten_between(bytes: &mut [u8]) {
    let (mut at, mut depth) = (0, 0usize);
    while let Some(pair) = bytes.get_mut(at..at + 2) {
        match (&*pair, depth) {
            (b"--", 0) => {
                let rest = bytes[at..].iter();
                at += rest.take_while(|byte| !matches!(byte, b'\n' | b'\r')).count();
            }
            (b"/*", _) => {
                if depth > 0 {
                    pair.fill(b' ');
                }
                depth += 1;
                at += 2;
            }
            (b"*/", 1..) => {
                depth -= 1;
                if depth > 0 {
                    pair.fill(b' ');
                }
                at += 2;
            }
            ([first, _], _) => {
                // Part of a run that the scanner would take for a mark.
                if depth > 0 && matches!(first, b'/' | b'*') {
                    pair[0] = b' ';
                }
                at += 1;
            }
            _ => at += 1,
        }
    }
}

/// PostgreSQL's error.
fn unterminated(source: &str, text: &str) -> Error {
    let message = format!("unterminated /* comment at or near \"{text}\"");
    let offset = u32::try_from(source.len() - text.len()).ok().map(Location::new);
    Error::new(SqlState::SYNTAX_ERROR, message)
        .at(offset.and_then(|location| location.position(source)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parser::parse;

    #[test]
    fn comments_are_of_one_level_afterwards() {
        let nested =
            format!("select /* é {}x{} */ '/*' -- /*\n, 1", "/*".repeat(200), "*/".repeat(200));
        let flat = flattened(&nested).unwrap();
        assert_eq!(flat.len(), nested.len());
        assert_eq!(flat.chars().count(), nested.chars().count());
        assert_eq!(flat.matches("/*").count(), 3);
        assert!(flat.ends_with("*/ '/*' -- /*\n, 1"), "{flat}");
        assert_eq!(parse(&nested).unwrap()[0].range, 0..nested.len());
        assert!(matches!(flattened("select /* /* */ */ 1"), Ok(Cow::Borrowed(_))));
    }

    #[test]
    fn errors_stay_where_they_are() {
        let nested = format!("select 'é' {}é{} )", "/*".repeat(200), "*/".repeat(200));
        let error = parse(&nested).unwrap_err();
        assert_eq!(error.message(), "syntax error at or near \")\"");
        assert_eq!(error.fields().position, Some(nested.chars().count() as u32));
        let open = format!("select 'é' {}", "/*".repeat(200));
        let error = parse(&open).unwrap_err();
        assert!(error.message().starts_with("unterminated /* comment at or near \"/*/*"));
        assert_eq!(error.fields().position, Some(12));
    }

    #[test]
    fn many_are_read_in_linear_time() {
        let nested = format!("select 1 {}{}", "/*".repeat(200_000), "*/".repeat(200_000));
        let started = std::time::Instant::now();
        parse(&nested).unwrap();
        assert!(started.elapsed() < std::time::Duration::from_secs(10));
    }
}
