//! Reads the parts of a statement from its tokens.
//!
//! Names, strings and options are PostgreSQL's, so its grammar reads them: [`Reader::grammar`]
//! gives it the part of the text inside a statement of its own that takes the same. Key words,
//! escapes, truncation and errors are therefore PostgreSQL's.

use std::ops::Range;

use steppe_types::{Error, Result, SqlState};

use super::super::error::syntax_error_at;
use super::super::lexer::{Token, TokenKind};
use super::split::{Tokens, is_word};
use crate::ast::{
    AlterTableCommand, DefElem, DefValue, Location, NodeOption, ObjectName, Statement,
};

/// A place in a statement's tokens.
pub(super) struct Reader<'a> {
    source: &'a str,
    tokens: &'a [Token],
    end: Token,
    pub(super) at: usize,
}

impl<'a> Reader<'a> {
    pub(super) fn new(source: &'a str, statement: &'a Tokens, at: usize) -> Reader<'a> {
        Reader { source, tokens: &statement.tokens, end: statement.end, at }
    }

    /// The token `ahead` of the present one.
    fn peek(&self, ahead: usize) -> Token {
        self.tokens.get(self.at + ahead).copied().unwrap_or(self.end)
    }

    /// The place of the present token.
    pub(super) fn start(&self) -> usize {
        self.peek(0).start
    }

    /// The end of the token before.
    pub(super) fn end_of_last(&self) -> usize {
        let last = self.at.checked_sub(1).and_then(|last| self.tokens.get(last));
        last.map_or(0, |token| token.end)
    }

    pub(super) fn location(&self) -> Location {
        location(self.start())
    }

    pub(super) fn is_at_end(&self) -> bool {
        self.at >= self.tokens.len()
    }

    /// Whether these words are next, in any case.
    pub(super) fn is(&self, words: &[&str]) -> bool {
        let is = |(ahead, word): (usize, &&str)| is_word(self.source, self.peek(ahead), word);
        words.iter().enumerate().all(is)
    }

    /// Whether this mark is `ahead` of the present token.
    pub(super) fn is_mark(&self, ahead: usize, mark: u8) -> bool {
        self.peek(ahead).kind == TokenKind::Punctuation(mark)
    }

    /// Whether this operator is next.
    pub(super) fn is_operator(&self, operator: &str) -> bool {
        let token = self.peek(0);
        token.kind == TokenKind::Operator && self.source[token.start..token.end] == *operator
    }

    /// The present token if it is a word, in lower case.
    pub(super) fn word(&self) -> Option<String> {
        let token = self.peek(0);
        let is_word = token.kind == TokenKind::Word;
        is_word.then(|| self.source[token.start..token.end].to_ascii_lowercase())
    }

    /// The present token's place as the protocol counts it.
    pub(super) fn position(&self) -> Option<u32> {
        self.location().position(self.source)
    }

    /// Skips these words if they are next.
    pub(super) fn skip(&mut self, words: &[&str]) -> bool {
        let is_there = self.is(words);
        if is_there {
            self.at += words.len();
        }
        is_there
    }

    /// Skips this mark if it is next.
    pub(super) fn skip_mark(&mut self, mark: u8) -> bool {
        let is_there = self.is_mark(0, mark);
        if is_there {
            self.at += 1;
        }
        is_there
    }

    pub(super) fn expect(&mut self, word: &str) -> Result<()> {
        if self.skip(&[word]) { Ok(()) } else { Err(self.unexpected()) }
    }

    pub(super) fn expect_end(&self) -> Result<()> {
        if self.is_at_end() { Ok(()) } else { Err(self.unexpected()) }
    }

    /// 42601 at the present token.
    pub(super) fn unexpected(&self) -> Error {
        let token = self.peek(0);
        match token.kind {
            TokenKind::End => Error::new(SqlState::SYNTAX_ERROR, "syntax error at end of input")
                .at(location(token.start).position(self.source)),
            // The grammar's scanner says what is wrong with it.
            TokenKind::Invalid => match self.grammar("SELECT ", token.start..token.end, "") {
                Err(error) => error,
                Ok(_) => syntax_error_at(self.source, location(token.start)),
            },
            _ => syntax_error_at(self.source, location(token.start)),
        }
    }

    /// Moves past the parenthesis that closes the present one. Returns what is between them.
    pub(super) fn parenthesized(&mut self) -> Result<Range<usize>> {
        let start = self.peek(0).end;
        if self.is_mark(0, b'(') && self.skip_enclosed() {
            return Ok(start..self.end_of_last() - 1);
        }
        Err(self.unexpected())
    }

    /// Moves on to the next token, or past all of what is in parentheses or brackets if they begin
    /// here. False: they do not end.
    pub(super) fn skip_enclosed(&mut self) -> bool {
        let mut depth = 0usize;
        while !self.is_at_end() {
            match self.peek(0).kind {
                TokenKind::Punctuation(b'(' | b'[') => depth += 1,
                TokenKind::Punctuation(b')' | b']') => depth = depth.saturating_sub(1),
                _ => {}
            }
            self.at += 1;
            if depth == 0 {
                return true;
            }
        }
        false
    }

    /// Whether the present token may be a name.
    fn is_name(&self) -> bool {
        matches!(self.peek(0).kind, TokenKind::Word | TokenKind::QuotedIdentifier)
    }

    /// A name.
    pub(super) fn name(&mut self) -> Result<String> {
        if !self.is_name() {
            return Err(self.unexpected());
        }
        let range = self.peek(0).start..self.peek(0).end;
        let mut names = self.names_in(range)?;
        self.at += 1;
        names.pop().ok_or_else(|| self.unexpected())
    }

    /// Names in parentheses, or (Postgres-XL's manual has both) without.
    pub(super) fn names(&mut self) -> Result<Vec<String>> {
        if self.is_mark(0, b'(') {
            let range = self.parenthesized()?;
            return self.names_in(range);
        }
        let start = self.start();
        loop {
            if !self.is_name() {
                return Err(self.unexpected());
            }
            self.at += 1;
            if !self.skip_mark(b',') {
                return self.names_in(start..self.end_of_last());
            }
        }
    }

    /// Names in parentheses.
    pub(super) fn names_in_parentheses(&mut self) -> Result<Vec<String>> {
        let range = self.parenthesized()?;
        self.names_in(range)
    }

    fn names_in(&self, range: Range<usize>) -> Result<Vec<String>> {
        match self.grammar("COPY a (", range, ") TO STDOUT")? {
            Statement::Copy(copy) => Ok(copy.columns),
            _ => Err(self.unexpected()),
        }
    }

    /// A string.
    pub(super) fn string(&mut self) -> Result<String> {
        let token = self.peek(0);
        if !matches!(token.kind, TokenKind::String | TokenKind::OtherString) {
            return Err(self.unexpected());
        }
        match self.grammar("NOTIFY a, ", token.start..token.end, "")? {
            Statement::Notify(notify) => {
                self.at += 1;
                Ok(notify.payload.unwrap_or_default())
            }
            _ => Err(self.unexpected()),
        }
    }

    /// WITH (…), which may be missing.
    pub(super) fn options(&mut self) -> Result<Vec<NodeOption>> {
        const BEFORE: &str = "ALTER TABLE a SET (";
        if !self.skip(&["with"]) {
            return Ok(Vec::new());
        }
        let range = self.parenthesized()?;
        let first = range.start;
        let Statement::AlterTable(mut alter) = self.grammar(BEFORE, range, ")")? else {
            return Err(self.unexpected());
        };
        let Some(AlterTableCommand::SetOptions(options)) = alter.commands.pop() else {
            return Err(self.unexpected());
        };
        let place = |elem: &DefElem| elem.location.offset().map(|at| at + first - BEFORE.len());
        Ok(options.into_iter().map(|elem| option(place(&elem), elem)).collect())
    }

    /// The statement that PostgreSQL's grammar reads in a part of the text, between these texts. Its
    /// locations are those in all three together. The place of an error is one in the source.
    fn grammar(&self, before: &str, range: Range<usize>, after: &str) -> Result<Statement> {
        let start = location(range.start).position(self.source).unwrap_or(1);
        let text = format!("{before}{}{after}", &self.source[range.clone()]);
        let parsed = super::super::grammar(&text, &text).map_err(|error| {
            let position = error.fields().position;
            let moved = position.map(|at| (start + at).saturating_sub(before.len() as u32 + 1));
            error.without_position().at(moved)
        });
        match <[_; 1]>::try_from(parsed?) {
            Ok([parsed]) => Ok(parsed.statement),
            Err(_) => Err(syntax_error_at(self.source, location(range.start))),
        }
    }
}

/// The place at a byte offset.
pub(super) fn location(offset: usize) -> Location {
    u32::try_from(offset).map_or(Location::NONE, Location::new)
}

fn option(place: Option<usize>, elem: DefElem) -> NodeOption {
    NodeOption {
        name: match elem.namespace {
            Some(namespace) => format!("{namespace}.{}", elem.name),
            None => elem.name,
        },
        value: elem.value.map(text_of),
        location: place.map_or(Location::NONE, location),
    }
}

/// An option's value as text (defGetString in define.c).
fn text_of(value: DefValue) -> String {
    match value {
        DefValue::Integer(value) => value.to_string(),
        DefValue::Float(text) | DefValue::String(text) => text,
        DefValue::Boolean(value) => value.to_string(),
        DefValue::TypeName(name) => name.name.to_string(),
        DefValue::List(parts) => ObjectName(parts.into_iter().map(text_of).collect()).to_string(),
        DefValue::Star => "*".to_owned(),
        // The grammar has no roles and no expressions there.
        DefValue::Role(_) | DefValue::Expr(_) => String::new(),
    }
}
