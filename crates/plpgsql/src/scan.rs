//! Tokens with names looked up: what the parser reads.
//!
//! A name may become a variable, a word or a keyword. It depends on where the parser is, so a token
//! is made only when the parser asks for it, and is kept as it is when the parser gives it back.

use steppe_types::Result;

use crate::keywords::{self, Keyword};
use crate::lexer::{self, Kind, Token};
use crate::names::Named;
use crate::parse::Parser;
use crate::tree::{Field, Slot, SlotId};

/// How names are looked up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lookup {
    /// All of them.
    Normal,
    /// Names are left alone, in declarations.
    Declare,
    /// Compound ones, in SQL: each `record.field` gets its slot.
    Sql,
}

impl Parser<'_> {
    /// The next token.
    pub(crate) fn next(&mut self) -> Result<Token> {
        let first = self.raw()?;
        let token = match first.kind {
            Kind::Name | Kind::Parameter => self.resolve(first)?,
            _ => first,
        };
        self.current = token;
        Ok(token)
    }

    /// Gives a token back: it is the next one. [`Parser::next`] finds it as it is.
    pub(crate) fn push_back(&mut self, token: Token) {
        self.pushed.push(token);
    }

    /// The next token, which stays.
    pub(crate) fn peek(&mut self) -> Result<Token> {
        let token = self.next()?;
        self.push_back(token);
        Ok(token)
    }

    /// The next token, not looked up, which stays.
    pub(crate) fn peek_raw(&mut self) -> Result<Token> {
        let token = self.raw()?;
        self.push_back(token);
        Ok(token)
    }

    /// The next two, not looked up, which stay.
    pub(crate) fn peek_two(&mut self) -> Result<(Token, Token)> {
        let first = self.raw()?;
        let second = self.raw()?;
        self.push_back(second);
        self.push_back(first);
        Ok((first, second))
    }

    fn raw(&mut self) -> Result<Token> {
        match self.pushed.pop() {
            Some(token) => Ok(token),
            None => self.lexer.token(),
        }
    }

    /// A name with the parts that follow it.
    fn resolve(&mut self, first: Token) -> Result<Token> {
        let second = self.raw()?;
        if !second.is_mark(b'.') {
            // At the start of a statement a name is a variable only if it is assigned to: words that
            // begin statements need not be reserved.
            let assigned = matches!(second.kind, Kind::Assign | Kind::Mark(b'=' | b'['));
            let lookup = assigned || !self.at_statement_start();
            self.push_back(second);
            return Ok(self.simple(first, lookup));
        }
        let third = self.raw()?;
        if third.kind != Kind::Name {
            self.push_back(third);
            self.push_back(second);
            return Ok(self.simple(first, true));
        }
        let fourth = self.raw()?;
        if !fourth.is_mark(b'.') {
            self.push_back(fourth);
            return Ok(self.compound(first, third));
        }
        let fifth = self.raw()?;
        if fifth.kind == Kind::Name {
            return Ok(self.compound(first, fifth));
        }
        self.push_back(fifth);
        self.push_back(fourth);
        Ok(self.compound(first, third))
    }

    fn at_statement_start(&self) -> bool {
        match self.current.kind {
            Kind::Mark(mark) => mark == b';',
            Kind::Keyword(word) => {
                matches!(word, Keyword::Begin | Keyword::Then | Keyword::Else | Keyword::Loop)
            }
            _ => false,
        }
    }

    fn simple(&mut self, token: Token, lookup: bool) -> Token {
        let name = lexer::name(self.text(token));
        if lookup
            && self.lookup == Lookup::Normal
            && let Some(found) = self.names.find(&[&name])
            && let Named::Scalar(slot) | Named::Record(slot) = found.named
        {
            return Token { kind: Kind::Variable(slot, true), ..token };
        }
        let keyword = (!self.is_quoted(token)).then(|| keywords::unreserved(&name)).flatten();
        Token { kind: keyword.map_or(Kind::Word, Kind::Keyword), ..token }
    }

    fn compound(&mut self, first: Token, last: Token) -> Token {
        let token = Token { kind: Kind::Compound, start: first.start, end: last.end };
        if self.lookup == Lookup::Declare {
            return token;
        }
        let names = lexer::names(self.text(token));
        let parts: Vec<&str> = names.iter().map(String::as_str).collect();
        let slot = match self.names.find(&parts) {
            Some(found) => match found.named {
                Named::Record(record) => match parts.get(found.parts) {
                    Some(field) => self.field(record, field),
                    None => record,
                },
                Named::Scalar(slot) => slot,
                Named::Label(_) => return token,
            },
            None => return token,
        };
        Token { kind: Kind::Variable(slot, false), ..token }
    }

    /// The slot of a record's field.
    fn field(&mut self, record: SlotId, name: &str) -> SlotId {
        if let Some(&slot) = self.fields.get(&(record, name.to_owned())) {
            return slot;
        }
        let slot = self.add_slot(Slot::Field(Field { record, name: name.to_owned() }));
        self.fields.insert((record, name.to_owned()), slot);
        slot
    }

    /// A token's text.
    pub(crate) fn text(&self, token: Token) -> &str {
        &self.body[token.start..token.end]
    }

    /// Whether a token is a quoted name.
    pub(crate) fn is_quoted(&self, token: Token) -> bool {
        self.body[token.start..].starts_with('"')
    }

    /// The name that a token is, with the parts of a compound one joined.
    pub(crate) fn name_of(&self, token: Token) -> String {
        match token.kind {
            Kind::Compound | Kind::Variable(_, false) => lexer::names(self.text(token)).join("."),
            _ => lexer::name(self.text(token)),
        }
    }

    /// Whether a token is a keyword that wins over a variable of its name.
    pub(crate) fn is_word(&self, token: Token, word: Keyword) -> bool {
        match token.kind {
            Kind::Keyword(found) => found == word,
            Kind::Variable(_, true) => {
                !self.is_quoted(token) && self.text(token).eq_ignore_ascii_case(word.text())
            }
            _ => false,
        }
    }
}
