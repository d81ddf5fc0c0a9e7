//! SQL within a body: its text and its kind.

use std::borrow::Cow;

use steppe_sql::parser::lexer::{Lexer, TokenKind};
use steppe_types::{Error, Result, SqlState};

use crate::error::position;
use crate::names::Scope;

/// The kind of a piece of SQL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SqlKind {
    /// A whole statement.
    Statement,
    /// An expression, or more of a query: anything that may follow SELECT.
    Expression,
    /// `target := expression`. The number of names that are the variable; subscripts and fields
    /// follow them.
    Assignment(u8),
}

/// A piece of SQL.
#[derive(Clone, Debug)]
pub struct Sql {
    /// Its text. An INTO clause has been replaced by blanks, so that places in it still count.
    pub text: String,
    /// Its kind.
    pub kind: SqlKind,
    /// Where it begins in the body, in bytes.
    pub start: u32,
    /// The names visible in it.
    pub scope: Scope,
}

/// Checks the syntax of SQL as PostgreSQL does when a function is created. A position in the error
/// counts the characters of the text.
pub fn check_syntax(text: &str, kind: SqlKind) -> Result<()> {
    if let SqlKind::Assignment(_) = kind
        && let Some(error) = refused_target(text)
    {
        return Err(error);
    }
    let (statement, before) = statement(text, kind);
    let parsed = steppe_sql::parser::parse(&statement).err().map(|error| {
        let at = error.fields().position.map(|at| at.saturating_sub(before).max(1));
        error.without_position().at(at)
    });
    let refused = if kind == SqlKind::Statement { None } else { refused_word(text) };
    match (parsed, refused) {
        (Some(error), Some(refused)) => {
            let first = error.fields().position < refused.fields().position;
            Err(if first { error } else { refused })
        }
        (Some(error), None) | (None, Some(error)) => Err(error),
        (None, None) => Ok(()),
    }
}

/// An expression becomes `SELECT expression`; an assignment the SELECT of its right side. And how
/// many characters stand before the SQL.
fn statement(text: &str, kind: SqlKind) -> (Cow<'_, str>, u32) {
    const SELECT: &str = "SELECT ";
    match kind {
        SqlKind::Statement => (Cow::Borrowed(text), 0),
        SqlKind::Expression => (Cow::Owned(format!("{SELECT}{text}")), SELECT.len() as u32),
        SqlKind::Assignment(_) => {
            let right = right_side(text);
            let blank = " ".repeat(text[..right].chars().count());
            (Cow::Owned(format!("{SELECT}{blank}{}", &text[right..])), SELECT.len() as u32)
        }
    }
}

/// The error at a token that the left side of an assignment may not have: outside brackets it is
/// names with points between them and subscripts.
fn refused_target(text: &str) -> Option<Error> {
    let (mut lexer, mut depth, mut after_point) = (Lexer::new(text), 0usize, true);
    loop {
        let token = lexer.next_token();
        let word = &text[token.start..token.end];
        match token.kind {
            TokenKind::Invalid => return None,
            TokenKind::End if depth > 0 => return None,
            TokenKind::Punctuation(b'(' | b'[') if depth > 0 || word == "[" => depth += 1,
            TokenKind::Punctuation(b')' | b']') if depth > 0 => depth -= 1,
            _ if depth > 0 => {}
            TokenKind::Operator if matches!(word, ":=" | "=") && !after_point => {
                return refused_subscript(&text[..token.start]);
            }
            TokenKind::Punctuation(b'.') if word == "." && !after_point => after_point = true,
            TokenKind::Word | TokenKind::QuotedIdentifier | TokenKind::Parameter if after_point => {
                after_point = false;
            }
            TokenKind::End => {
                let error = Error::new(SqlState::SYNTAX_ERROR, "syntax error at end of input");
                return Some(error.at(position(text, token.start)));
            }
            _ => {
                let message = format!("syntax error at or near \"{word}\"");
                let error = Error::new(SqlState::SYNTAX_ERROR, message);
                return Some(error.at(position(text, token.start)));
            }
        }
    }
}

/// The error in a target's subscripts, which are those of a column.
fn refused_subscript(target: &str) -> Option<Error> {
    if !target.contains('[') {
        return None;
    }
    check_syntax(target, SqlKind::Expression).err()
}

/// The error at a word that a SELECT may have and an expression may not: INTO and set operations.
fn refused_word(text: &str) -> Option<Error> {
    const WORDS: [&str; 4] = ["into", "union", "intersect", "except"];
    let (mut lexer, mut depth, mut previous) = (Lexer::new(text), 0usize, "");
    loop {
        let token = lexer.next_token();
        let word = &text[token.start..token.end];
        match token.kind {
            TokenKind::End | TokenKind::Invalid => return None,
            TokenKind::Punctuation(b'(' | b'[') => depth += 1,
            TokenKind::Punctuation(b')' | b']') => depth = depth.saturating_sub(1),
            // After AS or a point it is a name.
            TokenKind::Word
                if depth == 0
                    && !matches!(previous, "." | "as" | "AS")
                    && WORDS.iter().any(|refused| word.eq_ignore_ascii_case(refused)) =>
            {
                let message = format!("syntax error at or near \"{word}\"");
                let at = position(text, token.start);
                return Some(Error::new(SqlState::SYNTAX_ERROR, message).at(at));
            }
            _ => {}
        }
        previous = word;
    }
}

/// Where the right side of an assignment begins: after the first `:=` or `=` outside brackets.
fn right_side(text: &str) -> usize {
    let (mut lexer, mut depth) = (Lexer::new(text), 0usize);
    loop {
        let token = lexer.next_token();
        match token.kind {
            TokenKind::End | TokenKind::Invalid => return token.start,
            TokenKind::Punctuation(b'(' | b'[') => depth += 1,
            TokenKind::Punctuation(b')' | b']') => depth = depth.saturating_sub(1),
            TokenKind::Operator
                if depth == 0 && matches!(&text[token.start..token.end], ":=" | "=") =>
            {
                return token.end;
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statements_of_each_kind() {
        assert_eq!(statement("1 + 2", SqlKind::Expression), ("SELECT 1 + 2".into(), 7));
        let (assigned, before) = statement("a[b = 1].c := 2 = 3", SqlKind::Assignment(1));
        assert_eq!((&*assigned, before), ("SELECT               2 = 3", 7));
        assert_eq!(statement("x", SqlKind::Assignment(1)).0, "SELECT  ");
    }

    #[test]
    fn words_that_only_a_select_has() {
        let at = |text| refused_word(text).and_then(|error| error.fields().position);
        assert_eq!(at("1 into x"), Some(3));
        assert_eq!(at("(select 1 union select 2)"), None);
        assert_eq!(at("a.into + 1 as into"), None);
        assert_eq!(at("1 UNION select 2"), Some(3));
        let at = |text| refused_target(text).and_then(|error| error.fields().position);
        assert_eq!(at("a.b[c + (1)].e := 1"), None);
        assert_eq!(at("a[1:2] := 1"), None);
        assert_eq!(at("a[[1]] := 1"), Some(3));
        assert_eq!(at("a. := 1"), Some(4));
        assert_eq!(at("a.b old := 1"), Some(5));
        assert_eq!(at("a.b"), Some(4));
    }
}
