//! Names that are longer than a name may be (truncate_identifier in scansup.c).
//!
//! The grammar's scanner truncates them silently here, where PostgreSQL's raises a notice. The text
//! is read again for it, but only one in which something could be that long.

use std::borrow::Cow;

use steppe_types::error::Severity;
use steppe_types::{Error, SqlState};

use super::lexer::{Lexer, Token, TokenKind};

/// The longest name, in bytes (NAMEDATALEN - 1).
pub const NAME_BYTES_MAX: usize = 63;

/// The NOTICEs for the names of a text that are cut, in their order.
pub fn truncation_notices(source: &str) -> Vec<Error> {
    let mut notices = Vec::new();
    if !may_have_long_name(source.as_bytes()) {
        return notices;
    }
    let mut lexer = Lexer::new(source);
    loop {
        let token = lexer.next_token();
        if matches!(token.kind, TokenKind::End | TokenKind::Invalid) {
            return notices;
        }
        if let Some(name) = name(token, source)
            && name.len() > NAME_BYTES_MAX
        {
            let end = name.floor_char_boundary(NAME_BYTES_MAX);
            let message =
                format!("identifier \"{name}\" will be truncated to \"{}\"", &name[..end]);
            notices.push(Error::new(SqlState::NAME_TOO_LONG, message).severity(Severity::Notice));
        }
    }
}

/// Whether a token is a name that may be cut.
pub(super) fn is_long(token: Token) -> bool {
    matches!(token.kind, TokenKind::Word | TokenKind::QuotedIdentifier)
        && token.end - token.start > NAME_BYTES_MAX
}

/// The name that a token is: folded, or without its quotes.
fn name(token: Token, source: &str) -> Option<Cow<'_, str>> {
    if !is_long(token) {
        return None;
    }
    let text = &source[token.start..token.end];
    match token.kind {
        TokenKind::Word => Some(text.to_ascii_lowercase().into()),
        // U&"…" is not decoded: its escapes make it shorter.
        _ => {
            let inner = text.strip_prefix('"')?.strip_suffix('"')?;
            Some(if inner.contains('"') {
                inner.replace("\"\"", "\"").into()
            } else {
                inner.into()
            })
        }
    }
}

/// Whether any run of bytes without a space is that long, or a name is quoted.
fn may_have_long_name(source: &[u8]) -> bool {
    source.len() > NAME_BYTES_MAX
        && (source.contains(&b'"')
            || source
                .split(|byte| byte.is_ascii_whitespace())
                .any(|run| run.len() > NAME_BYTES_MAX))
}

#[cfg(test)]
mod tests {
    use super::truncation_notices;

    fn messages(source: &str) -> Vec<String> {
        truncation_notices(source).iter().map(|notice| notice.message().to_owned()).collect()
    }

    #[test]
    fn names_what_is_cut() {
        let long = "X".repeat(64);
        let (folded, cut) = ("x".repeat(64), "x".repeat(63));
        assert_eq!(
            messages(&format!("select {long}, '{long}'")),
            [format!("identifier \"{folded}\" will be truncated to \"{cut}\"")]
        );
        let cut = "X".repeat(63);
        assert_eq!(
            messages(&format!("select 1 as \"{long}\"")),
            [format!("identifier \"{long}\" will be truncated to \"{cut}\"")]
        );
        assert!(messages(&format!("select {cut}")).is_empty());
    }

    #[test]
    fn cuts_between_characters() {
        let long = format!("\"{}é\"", "x".repeat(62));
        let (whole, cut) = (format!("{}é", "x".repeat(62)), "x".repeat(62));
        assert_eq!(
            messages(&format!("select {long}")),
            [format!("identifier \"{whole}\" will be truncated to \"{cut}\"")]
        );
    }
}
