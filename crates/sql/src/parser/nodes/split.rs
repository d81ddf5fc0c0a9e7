//! Where statements begin and end, by their tokens alone.
//!
//! A semicolon ends a statement unless it is inside parentheses (CREATE RULE) or in the body of a
//! function (BEGIN ATOMIC … END), as psql has it (psqlscan.l). Names can be written in ways that
//! mislead this rule, so the caller compares its result with the grammar's.

use super::super::lexer::{Lexer, Token, TokenKind};

/// A statement's tokens.
pub(super) struct Tokens {
    /// The tokens of the statement. Only those statements have all of theirs whose first word the
    /// caller has asked for.
    pub(super) tokens: Vec<Token>,
    /// The token behind it: a semicolon, the end of the text, or one that is invalid.
    pub(super) end: Token,
}

/// The statements of a text.
pub(super) struct Split<'a> {
    source: &'a str,
    lexer: Lexer<'a>,
    is_over: bool,
}

impl<'a> Split<'a> {
    pub(super) fn new(source: &'a str) -> Split<'a> {
        Split { source, lexer: Lexer::new(source), is_over: false }
    }

    /// The next statement, which may be empty. `wanted`: the words that begin statements whose
    /// tokens are kept.
    pub(super) fn next(&mut self, wanted: &[&str]) -> Option<Tokens> {
        if self.is_over {
            return None;
        }
        let first = self.lexer.next_token();
        let is_kept = wanted.iter().any(|word| is_word(self.source, first, word));
        let (mut tokens, mut nesting) = (Vec::new(), Nesting::default());
        nesting.may_have_body = is_word(self.source, first, "create");
        let mut token = first;
        loop {
            let is_end = matches!(token.kind, TokenKind::End | TokenKind::Invalid);
            if is_end || token.kind == TokenKind::Punctuation(b';') && nesting.is_none() {
                self.is_over = is_end;
                return Some(Tokens { tokens, end: token });
            }
            nesting.follow(self.source, token);
            if is_kept {
                tokens.push(token);
            }
            token = self.lexer.next_token();
        }
    }
}

/// The parentheses and function bodies that are open.
#[derive(Default)]
struct Nesting {
    parentheses: usize,
    /// The statement is a CREATE.
    may_have_body: bool,
    /// BEGIN ATOMIC, and CASE inside it: END closes either.
    bodies: usize,
    /// The token before, if there is one.
    last: Option<Token>,
}

impl Nesting {
    fn is_none(&self) -> bool {
        self.parentheses == 0 && self.bodies == 0
    }

    fn follow(&mut self, source: &str, token: Token) {
        let last = self.last.replace(token);
        let last_is = |word| last.is_some_and(|last| is_word(source, last, word));
        match token.kind {
            TokenKind::Punctuation(b'(') => self.parentheses += 1,
            TokenKind::Punctuation(b')') => {
                self.parentheses = self.parentheses.saturating_sub(1);
            }
            TokenKind::Word
                if self.may_have_body && is_word(source, token, "atomic") && last_is("begin") =>
            {
                self.bodies += 1;
            }
            TokenKind::Word if self.bodies > 0 => {
                let is_name = last_is("as")
                    || last.is_some_and(|last| last.kind == TokenKind::Punctuation(b'.'));
                if is_name {
                    // A label.
                } else if is_word(source, token, "case") {
                    self.bodies += 1;
                } else if is_word(source, token, "end") {
                    self.bodies -= 1;
                }
            }
            _ => {}
        }
    }
}

/// Whether a token is this word, in any case.
pub(super) fn is_word(source: &str, token: Token, word: &str) -> bool {
    token.kind == TokenKind::Word && source[token.start..token.end].eq_ignore_ascii_case(word)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The statements that begin with CREATE, and how many statements there are.
    fn split(source: &str) -> (Vec<&str>, usize) {
        let mut split = Split::new(source);
        let (mut found, mut count) = (Vec::new(), 0);
        while let Some(Tokens { tokens, .. }) = split.next(&["create"]) {
            count += 1;
            if let (Some(first), Some(last)) = (tokens.first(), tokens.last()) {
                found.push(&source[first.start..last.end]);
            }
        }
        (found, count)
    }

    #[test]
    fn semicolons_end_statements() {
        assert_eq!(
            split("create a; select ';' ; CREATE b -- ;"),
            (vec!["create a", "CREATE b"], 3)
        );
        assert_eq!(split(""), (vec![], 1));
        assert_eq!(split(";;").1, 3);
        assert_eq!(split("create a 'x").1, 1, "an open string ends the text");
    }

    #[test]
    fn semicolons_inside_do_not() {
        for one in [
            "create rule r as on insert to t do (select 1; select 2)",
            "create function f() returns int begin atomic select 1; select 2; end",
            "create function f() returns int begin atomic select case when a then b end; end",
            "create function f() returns int begin atomic select a.end, 1 as end; select 2; end",
            "create procedure p() as 'begin; end;'",
        ] {
            assert_eq!(split(&format!("{one}; create x")), (vec![one, "create x"], 2), "{one}");
        }
    }
}
