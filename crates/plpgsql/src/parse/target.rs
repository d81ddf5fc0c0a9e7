//! Variables that take values: INTO, loop variables, and what is no variable.

use steppe_types::{Error, Result, SqlState};

use crate::keywords::Keyword;
use crate::lexer::{Kind, Token};
use crate::parse::Parser;
use crate::tree::{IntoClause, Row, Slot, SlotId};

/// The most variables of one INTO.
const TARGETS_MAX: usize = 1024;

impl Parser<'_> {
    /// The target of INTO; STRICT before it, where it may stand.
    pub(super) fn target_of_into(&mut self, may_be_strict: bool) -> Result<IntoClause> {
        let mut token = self.next()?;
        let strict = may_be_strict && token.is(Keyword::Strict);
        if strict {
            token = self.next()?;
        }
        let Kind::Variable(slot, _) = token.kind else {
            return Err(self.current_is_no_variable(token));
        };
        if !self.is_record(slot) {
            let target = self.scalars(token, slot)?;
            return Ok(IntoClause { target, strict });
        }
        self.check_assignable(slot, token.start)?;
        let next = self.next()?;
        if next.is_mark(b',') {
            let message = "record variable cannot be part of multiple-item INTO list";
            return Err(self.at(SqlState::SYNTAX_ERROR, message, next.start));
        }
        self.push_back(next);
        Ok(IntoClause { target: slot, strict })
    }

    /// A list of scalars whose first has been read; the row of them.
    pub(super) fn scalars(&mut self, first: Token, slot: SlotId) -> Result<SlotId> {
        self.check_assignable(slot, first.start)?;
        let mut fields = vec![(self.name_of(first), slot)];
        let end = loop {
            let comma = self.next()?;
            if !comma.is_mark(b',') {
                break comma;
            }
            if fields.len() >= TARGETS_MAX {
                let message = "too many INTO variables specified";
                return Err(self.at(SqlState::PROGRAM_LIMIT_EXCEEDED, message, comma.start));
            }
            let token = self.next()?;
            let Kind::Variable(slot, _) = token.kind else {
                return Err(self.current_is_no_variable(token));
            };
            self.check_assignable(slot, token.start)?;
            if self.is_record(slot) {
                return Err(self.not_scalar(token));
            }
            fields.push((self.name_of(token), slot));
        };
        self.push_back(end);
        let line = self.line_of(first.start);
        Ok(self.add_slot(Slot::Row(Row { line, fields })))
    }

    /// The row of one scalar.
    pub(super) fn one_scalar(
        &mut self,
        name: &str,
        slot: SlotId,
        line: u32,
        at: usize,
    ) -> Result<SlotId> {
        self.check_assignable(slot, at)?;
        let fields = vec![(name.to_owned(), slot)];
        Ok(self.add_slot(Slot::Row(Row { line, fields })))
    }

    /// Whether a slot holds more than one value.
    pub(super) fn is_record(&self, slot: SlotId) -> bool {
        matches!(self.slot(slot), Some(Slot::Record(_) | Slot::Row(_)))
    }

    pub(super) fn not_scalar(&self, token: Token) -> Error {
        let message = format!("\"{}\" is not a scalar variable", self.name_of(token));
        self.at(SqlState::SYNTAX_ERROR, message, token.start)
    }

    /// A word where a variable has to be.
    pub(super) fn not_a_variable(&self, word: Token) -> Error {
        let message = format!("\"{}\" is not a known variable", self.name_of(word));
        self.at(SqlState::SYNTAX_ERROR, message, word.start)
    }

    /// The token just read, where a variable has to be.
    pub(super) fn current_is_no_variable(&self, token: Token) -> Error {
        match token.kind {
            Kind::Word | Kind::Compound => self.not_a_variable(token),
            _ => self.syntax_error(),
        }
    }
}
