//! The tokens of a body, before names are looked up: SQL's own ([`steppe_sql::parser::lexer`]), with
//! PL/pgSQL's reserved words, and `<<`, `>>`, `:=`, `=>` and `..` distinguished.
//!
//! Every byte of the body is read once. An unterminated string, comment or name is PostgreSQL's
//! error; a token is never longer than the body.

use steppe_sql::parser::NAME_BYTES_MAX;
use steppe_sql::parser::lexer::{Lexer as SqlLexer, TokenKind};
use steppe_types::{Error, Result, SqlState};

use crate::error::position;
use crate::keywords::{self, Keyword};
use crate::tree::SlotId;

/// The kind of a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// The end of the body.
    End,
    /// A keyword.
    Keyword(Keyword),
    /// A name that has not been looked up.
    Name,
    /// `$n`, not looked up.
    Parameter,
    /// A name that is no variable.
    Word,
    /// `a.b` or `a.b.c` that is no variable.
    Compound,
    /// A variable: its slot, and whether the name has one part.
    Variable(SlotId, bool),
    /// A mark of one character.
    Mark(u8),
    /// `:=`
    Assign,
    /// `=>`
    Arrow,
    /// `..`
    DotDot,
    /// `<<`
    Open,
    /// `>>`
    Close,
    /// A string.
    String,
    /// An integer.
    Integer,
    /// Any other token of SQL.
    Other,
}

/// A token and its bytes in the body.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Token {
    /// Its kind.
    pub(crate) kind: Kind,
    /// Its first byte.
    pub(crate) start: usize,
    /// The byte after its last one.
    pub(crate) end: usize,
}

impl Token {
    /// Whether it is this keyword.
    pub(crate) fn is(self, keyword: Keyword) -> bool {
        self.kind == Kind::Keyword(keyword)
    }

    /// Whether it is this mark.
    pub(crate) fn is_mark(self, mark: u8) -> bool {
        self.kind == Kind::Mark(mark)
    }
}

/// The lexer of one body.
#[derive(Clone, Debug)]
pub(crate) struct Lexer<'a> {
    body: &'a str,
    sql: SqlLexer<'a>,
    /// Where the text of `sql` begins in the body.
    base: usize,
}

impl<'a> Lexer<'a> {
    pub(crate) fn new(body: &'a str) -> Lexer<'a> {
        Lexer { body, sql: SqlLexer::new(body), base: 0 }
    }

    /// The next token.
    pub(crate) fn token(&mut self) -> Result<Token> {
        let found = self.sql.next_token();
        let (start, mut end) = (found.start + self.base, found.end + self.base);
        let text = &self.body[start..end];
        let kind = match found.kind {
            TokenKind::End => Kind::End,
            TokenKind::Word => word(text),
            TokenKind::QuotedIdentifier if text.starts_with('"') => Kind::Name,
            TokenKind::String => Kind::String,
            TokenKind::OtherString => match text.as_bytes()[0] {
                b'u' | b'U' => Kind::Other,
                b'n' | b'N' => {
                    // N'…' is the name `n`, then a string: `nchar` is no keyword here.
                    end = start + 1;
                    self.base = end;
                    self.sql = SqlLexer::new(&self.body[end..]);
                    Kind::Name
                }
                _ => Kind::String,
            },
            TokenKind::Integer if text.parse::<i32>().is_ok() => Kind::Integer,
            TokenKind::Parameter => Kind::Parameter,
            TokenKind::Punctuation(mark) if text.len() == 1 => Kind::Mark(mark),
            TokenKind::Punctuation(_) => Kind::DotDot,
            TokenKind::Operator => operator(text),
            TokenKind::Invalid => self.invalid(start, text)?,
            _ => Kind::Other,
        };
        Ok(Token { kind, start, end })
    }

    /// A token that no valid text holds: PostgreSQL's error, or a character that its scanner
    /// hands on to the grammar.
    fn invalid(&self, start: usize, text: &str) -> Result<Kind> {
        let message = match text.as_bytes() {
            [b'/', b'*', ..] => "unterminated /* comment",
            [b'"', b'"', ..] => "zero-length delimited identifier",
            [b'"', ..] | [b'u' | b'U', b'&', b'"', ..] => "unterminated quoted identifier",
            [b'b' | b'B', b'\'', ..] => "unterminated bit string literal",
            [b'x' | b'X', b'\'', ..] => "unterminated hexadecimal string literal",
            [b'\'', ..] | [_, b'\'', ..] | [b'u' | b'U', b'&', b'\'', ..] => {
                "unterminated quoted string"
            }
            [b'$', digit, ..] if digit.is_ascii_digit() => "trailing junk after parameter",
            [b'$', _, ..] => "unterminated dollar-quoted string",
            [digit, _, ..] if digit.is_ascii_digit() || *digit == b'.' => {
                "trailing junk after numeric literal"
            }
            _ => return Ok(Kind::Other),
        };
        let message = format!("{message} at or near \"{text}\"");
        Err(Error::new(SqlState::SYNTAX_ERROR, message).at(position(self.body, start)))
    }
}

fn word(text: &str) -> Kind {
    // The length of the longest keyword.
    const LONGEST: usize = 8;
    if text.len() > LONGEST {
        return Kind::Name;
    }
    keywords::reserved(&text.to_ascii_lowercase()).map_or(Kind::Name, Kind::Keyword)
}

fn operator(text: &str) -> Kind {
    match text.as_bytes() {
        [mark] => Kind::Mark(*mark),
        b":=" => Kind::Assign,
        b"=>" => Kind::Arrow,
        b"<<" => Kind::Open,
        b">>" => Kind::Close,
        _ => Kind::Other,
    }
}

/// The name that one token is: folded or without its quotes, and cut to a name's length.
pub(crate) fn name(text: &str) -> String {
    let mut name = match text.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')) {
        Some(inner) => inner.replace("\"\"", "\""),
        None => text.to_ascii_lowercase(),
    };
    if name.len() > NAME_BYTES_MAX {
        name.truncate(name.floor_char_boundary(NAME_BYTES_MAX));
    }
    name
}

/// The names of a compound one (`a.b.c`), with what stands between its parts skipped.
pub(crate) fn names(text: &str) -> Vec<String> {
    let mut lexer = SqlLexer::new(text);
    let mut names = Vec::new();
    loop {
        let token = lexer.next_token();
        match token.kind {
            TokenKind::End | TokenKind::Invalid => return names,
            TokenKind::Punctuation(_) => {}
            _ => names.push(name(&text[token.start..token.end])),
        }
    }
}
