//! The parser: recursive descent with the look-ahead that PostgreSQL's grammar has, so that an
//! error is found at the same token and the same moment.
//!
//! [`block`] has blocks and the choice among statements, [`declare`] and [`data_type`] declarations,
//! [`sql`] pieces of SQL, the other modules a family of statements each. [`signature`] makes the
//! variables that a body begins with.

mod block;
mod control;
mod cursor;
mod data_type;
mod declare;
mod for_loop;
mod message;
mod returning;
mod signature;
mod sql;
mod target;

use std::collections::HashMap;

use steppe_types::{Error, Result, SqlState};

use crate::error::{CompileError, moved, position, too_deep};
use crate::keywords::Keyword;
use crate::lexer::{Kind, Lexer, Token};
use crate::names::{Named, Visible};
use crate::scan::Lookup;
use crate::tree::{Program, Record, Scalar, Slot, SlotId};
use crate::types::{Options, Signature, Type, TypeClass, Types};

/// How deep blocks, loops, IF and CASE may nest. PostgreSQL's grammar has room for about 3,300.
pub const NESTING_MAX: usize = 1000;

/// Stack that one level may need.
const LEVEL_STACK: usize = 128 * 1024;

/// Parses a function's body.
pub fn parse(
    body: &str,
    signature: &Signature,
    options: &Options,
    types: &mut dyn Types,
) -> std::result::Result<Program, CompileError> {
    let mut parser = Parser::new(body, signature, options, types);
    match parser.function() {
        Ok(parts) => Ok(parser.finish(parts)),
        Err(error) => Err(CompileError {
            error,
            near_line: parser.line,
            function: signature.name.clone(),
            warnings: parser.warnings,
        }),
    }
}

/// The parser of one body.
pub(crate) struct Parser<'a> {
    pub(crate) body: &'a str,
    pub(crate) signature: &'a Signature,
    pub(crate) options: Options,
    pub(crate) types: &'a mut dyn Types,
    pub(crate) lexer: Lexer<'a>,
    /// Tokens that were given back, the next one last.
    pub(crate) pushed: Vec<Token>,
    /// The token that was read last: errors are reported at it.
    pub(crate) current: Token,
    pub(crate) lookup: Lookup,
    pub(crate) names: Visible,
    pub(crate) slots: Vec<Slot>,
    pub(crate) fields: HashMap<(SlotId, String), SlotId>,
    pub(crate) out: Option<SlotId>,
    pub(crate) warnings: Vec<Error>,
    dump: bool,
    /// Where each line break is.
    breaks: Vec<usize>,
    /// The line that was asked for last: an error without a position is reported near it.
    line: u32,
    depth: usize,
}

impl<'a> Parser<'a> {
    fn new(
        body: &'a str,
        signature: &'a Signature,
        options: &Options,
        types: &'a mut dyn Types,
    ) -> Parser<'a> {
        Parser {
            body,
            signature,
            options: *options,
            types,
            lexer: Lexer::new(body),
            pushed: Vec::new(),
            current: Token { kind: Kind::End, start: 0, end: 0 },
            lookup: Lookup::Normal,
            names: Visible::new(),
            slots: Vec::new(),
            fields: HashMap::new(),
            out: None,
            warnings: Vec::new(),
            dump: false,
            breaks: body
                .bytes()
                .enumerate()
                .filter(|&(_, b)| b == b'\n')
                .map(|(at, _)| at)
                .collect(),
            line: 1,
            depth: 0,
        }
    }

    /// The line of a place in the body.
    fn line_of(&mut self, offset: usize) -> u32 {
        self.line = self.breaks.partition_point(|&at| at < offset) as u32 + 1;
        self.line
    }

    /// One level deeper.
    fn nested<R>(&mut self, step: impl FnOnce(&mut Self) -> Result<R>) -> Result<R> {
        if self.depth == NESTING_MAX {
            return Err(too_deep());
        }
        self.depth += 1;
        let result = stacker::maybe_grow(LEVEL_STACK, 8 * LEVEL_STACK, || step(self));
        self.depth -= 1;
        result
    }

    /// An error at the token that was read last, which it quotes.
    fn near(&self, message: &str) -> Error {
        let text = self.text(self.current);
        let message = match self.current.kind {
            Kind::End => format!("{message} at end of input"),
            _ => format!("{message} at or near \"{text}\""),
        };
        self.at(SqlState::SYNTAX_ERROR, message, self.current.start)
    }

    fn syntax_error(&self) -> Error {
        self.near("syntax error")
    }

    /// An error at a place.
    fn at(
        &self,
        state: SqlState,
        message: impl std::convert::Into<String>,
        offset: usize,
    ) -> Error {
        Error::new(state, message).at(position(self.body, offset))
    }

    /// An error of a text that begins at a place, with its position moved to the body.
    fn moved(&self, error: Error, start: usize) -> Error {
        let at = moved(self.body, start, error.fields().position);
        error.without_position().at(at)
    }

    /// Reads a keyword that has to be next.
    fn expect(&mut self, word: Keyword) -> Result<Token> {
        let token = self.next()?;
        if token.is(word) { Ok(token) } else { Err(self.syntax_error()) }
    }

    /// Reads a mark that has to be next.
    fn expect_mark(&mut self, mark: u8) -> Result<Token> {
        let token = self.next()?;
        if token.is_mark(mark) { Ok(token) } else { Err(self.syntax_error()) }
    }

    /// The end of the body is an error here.
    fn not_end(&self, token: Token) -> Result<Token> {
        match token.kind {
            Kind::End => Err(self.near("unexpected end of function definition")),
            _ => Ok(token),
        }
    }

    pub(crate) fn add_slot(&mut self, slot: Slot) -> SlotId {
        let id = SlotId(self.slots.len() as u32);
        self.slots.push(slot);
        id
    }

    fn slot(&self, id: SlotId) -> Option<&Slot> {
        self.slots.get(id.0 as usize)
    }

    /// A new variable of a type. `visible`: under its name, too.
    fn add_variable(
        &mut self,
        name: &str,
        line: u32,
        data_type: Type,
        visible: bool,
    ) -> Result<SlotId> {
        let (name_text, type_name) = (name.to_owned(), data_type.name.clone());
        let slot = match data_type.class {
            TypeClass::Scalar => Slot::Scalar(Scalar {
                name: name_text,
                line,
                data_type,
                constant: false,
                not_null: false,
                default: None,
                cursor: None,
                promise: None,
            }),
            TypeClass::Record => Slot::Record(Record {
                name: name_text,
                line,
                data_type,
                constant: false,
                not_null: false,
                default: None,
            }),
            TypeClass::Pseudo => {
                let message = format!("variable \"{name}\" has pseudo-type {type_name}");
                return Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, message));
            }
        };
        let id = self.add_slot(slot);
        if visible {
            self.add_name(id, name);
        }
        Ok(id)
    }

    /// Makes a variable visible under a name.
    fn add_name(&mut self, id: SlotId, name: &str) {
        let named = match self.slot(id) {
            Some(Slot::Record(_)) => Named::Record(id),
            _ => Named::Scalar(id),
        };
        self.names.add(named, name);
    }
}
