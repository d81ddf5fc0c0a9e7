//! Declarations.

use steppe_types::error::Severity;
use steppe_types::{Result, SqlState};

use crate::keywords::Keyword;
use crate::lexer::{Kind, Token, name, names};
use crate::names::{Found, Named};
use crate::parse::Parser;
use crate::scan::Lookup;
use crate::tree::{BoundCursor, Label, Row, Scroll, Slot, SlotId};
use crate::types::{Shadowed, Type};

/// The OID of `refcursor`.
pub(super) const REFCURSOR: u32 = 1790;

/// A variable's name as it is declared.
struct Declared {
    name: String,
    line: u32,
}

impl Parser<'_> {
    /// The declarations of a block; the token after them.
    pub(super) fn declarations(&mut self) -> Result<(Vec<SlotId>, Token)> {
        let first = self.slots.len();
        self.lookup = Lookup::Declare;
        let end = loop {
            let token = self.next()?;
            match token.kind {
                Kind::Keyword(Keyword::Declare) => {}
                Kind::Keyword(Keyword::Begin) => break token,
                Kind::Open => {
                    self.label()?;
                    let message = "block label must be placed before DECLARE, not after";
                    return Err(self.at(SqlState::SYNTAX_ERROR, message, token.start));
                }
                _ => self.declaration(token)?,
            }
        };
        self.lookup = Lookup::Normal;
        let declared = (first..self.slots.len())
            .filter(|&at| matches!(self.slots[at], Slot::Scalar(_) | Slot::Record(_)))
            .map(|at| SlotId(at as u32));
        Ok((declared.collect(), end))
    }

    fn declaration(&mut self, first: Token) -> Result<()> {
        let declared = self.declared_name(first)?;
        let token = self.next()?;
        match token.kind {
            Kind::Keyword(Keyword::Alias) => self.alias(&declared),
            Kind::Keyword(Keyword::No) => {
                self.expect(Keyword::Scroll)?;
                self.expect(Keyword::Cursor)?;
                self.cursor(declared, Scroll::No)
            }
            Kind::Keyword(Keyword::Scroll) => {
                self.expect(Keyword::Cursor)?;
                self.cursor(declared, Scroll::Yes)
            }
            Kind::Keyword(Keyword::Cursor) => self.cursor(declared, Scroll::Unsaid),
            Kind::Keyword(Keyword::Constant) => self.variable(declared, true),
            _ => {
                self.push_back(token);
                self.variable(declared, false)
            }
        }
    }

    /// The name of a variable to be declared: new in its block.
    fn declared_name(&mut self, token: Token) -> Result<Declared> {
        let is_name = match token.kind {
            Kind::Word => true,
            Kind::Keyword(word) => word.is_unreserved(),
            _ => false,
        };
        if !is_name {
            return Err(self.syntax_error());
        }
        let name = name(self.text(token));
        let line = self.line_of(token.start);
        if self.names.in_innermost(&name).is_some() {
            return Err(self.near("duplicate declaration"));
        }
        self.check_shadowed(&name, token.start)?;
        Ok(Declared { name, line })
    }

    /// A variable that hides another, if the settings ask for it.
    fn check_shadowed(&mut self, name: &str, at: usize) -> Result<()> {
        if self.options.shadowed == Shadowed::Allow || self.names.find(&[name]).is_none() {
            return Ok(());
        }
        let message = format!("variable \"{name}\" shadows a previously defined variable");
        let error = self.at(SqlState::DUPLICATE_ALIAS, message, at);
        if self.options.shadowed == Shadowed::Refuse {
            return Err(error);
        }
        self.warnings.push(error.severity(Severity::Warning));
        Ok(())
    }

    /// `name ALIAS FOR variable;`
    fn alias(&mut self, declared: &Declared) -> Result<()> {
        self.expect(Keyword::For)?;
        let token = self.next()?;
        let parts = match token.kind {
            Kind::Word => vec![name(self.text(token))],
            Kind::Keyword(word) if word.is_unreserved() => vec![name(self.text(token))],
            Kind::Compound => names(self.text(token)),
            _ => return Err(self.syntax_error()),
        };
        let borrowed: Vec<&str> = parts.iter().map(String::as_str).collect();
        let Some(Found { named, .. }) = self.names.find(&borrowed) else {
            let message = format!("variable \"{}\" does not exist", parts.join("."));
            return Err(self.at(SqlState::UNDEFINED_OBJECT, message, token.start));
        };
        self.expect_mark(b';')?;
        self.names.add(named, &declared.name);
        Ok(())
    }

    /// `type [COLLATE …] [NOT NULL] [:= …];`
    fn variable(&mut self, declared: Declared, constant: bool) -> Result<()> {
        let mut data_type = self.data_type()?;
        let mut token = self.next()?;
        let mut collation = None;
        if token.is(Keyword::Collate) {
            collation = Some((self.collation()?, token.start));
            token = self.next()?;
        }
        let mut not_null = None;
        if token.is(Keyword::Not) {
            not_null = Some(token.start);
            self.expect(Keyword::Null)?;
            token = self.next()?;
        }
        let default = match token.kind {
            Kind::Mark(b';') => None,
            Kind::Assign | Kind::Mark(b'=') | Kind::Keyword(Keyword::Default) => {
                Some(self.expression(&[Kind::Mark(b';')], ";")?.0)
            }
            _ => return Err(self.syntax_error()),
        };
        if let Some((collation, at)) = collation {
            if data_type.collation == 0 {
                let message = format!("collations are not supported by type {}", data_type.name);
                return Err(self.at(SqlState::DATATYPE_MISMATCH, message, at));
            }
            data_type.collation = collation;
        }
        let without_value = not_null.filter(|_| default.is_none());
        let slot = self.add_variable(&declared.name, declared.line, data_type, true)?;
        match self.slots.get_mut(slot.0 as usize) {
            Some(Slot::Scalar(scalar)) => {
                (scalar.constant, scalar.not_null) = (constant, not_null.is_some());
                scalar.default = default;
            }
            Some(Slot::Record(record)) => {
                (record.constant, record.not_null) = (constant, not_null.is_some());
                record.default = default;
            }
            _ => {}
        }
        if let Some(at) = without_value {
            let message = format!(
                "variable \"{}\" must have a default value, since it's declared NOT NULL",
                declared.name
            );
            return Err(self.at(SqlState::NULL_VALUE_NOT_ALLOWED, message, at));
        }
        Ok(())
    }

    fn collation(&mut self) -> Result<u32> {
        let token = self.next()?;
        let parts = match token.kind {
            Kind::Word => vec![name(self.text(token))],
            Kind::Keyword(word) if word.is_unreserved() => vec![name(self.text(token))],
            Kind::Compound => names(self.text(token)),
            _ => return Err(self.syntax_error()),
        };
        self.types.collation(&parts)
    }

    /// `CURSOR [(arguments)] FOR query;` after CURSOR.
    fn cursor(&mut self, declared: Declared, scroll: Scroll) -> Result<()> {
        self.names.open(Some(&declared.name), Label::Other);
        let mut arguments = None;
        let mut token = self.next()?;
        if token.is_mark(b'(') {
            arguments = Some(self.cursor_arguments(token)?);
            token = self.next()?;
        }
        if !token.is(Keyword::Is) && !token.is(Keyword::For) {
            return Err(self.syntax_error());
        }
        let query = self.sql_statement()?;
        self.names.close();
        let refcursor = Type::scalar(REFCURSOR, 0, "refcursor");
        let slot = self.add_variable(&declared.name, declared.line, refcursor, true)?;
        if let Some(Slot::Scalar(scalar)) = self.slots.get_mut(slot.0 as usize) {
            scalar.cursor = Some(BoundCursor { query, arguments, scroll });
        }
        Ok(())
    }

    /// The arguments of a cursor, after the parenthesis; the row of them.
    fn cursor_arguments(&mut self, open: Token) -> Result<SlotId> {
        let mut fields = Vec::new();
        loop {
            let token = self.next()?;
            let declared = self.declared_name(token)?;
            let data_type = self.data_type()?;
            let slot = self.add_variable(&declared.name, declared.line, data_type, true)?;
            fields.push((declared.name, slot));
            let token = self.next()?;
            match token.kind {
                Kind::Mark(b',') => {}
                Kind::Mark(b')') => break,
                _ => return Err(self.syntax_error()),
            }
        }
        let line = self.line_of(open.start);
        Ok(self.add_slot(Slot::Row(Row { line, fields })))
    }

    /// The type of the variable that `name%TYPE` names.
    pub(super) fn type_of_variable(&self, parts: &[String]) -> Option<Type> {
        let borrowed: Vec<&str> = parts.iter().map(String::as_str).collect();
        let found = self.names.find(&borrowed)?;
        let (Named::Scalar(slot) | Named::Record(slot)) = found.named else { return None };
        if found.parts != parts.len() {
            return None;
        }
        match self.slot(slot)? {
            Slot::Scalar(scalar) => Some(scalar.data_type.clone()),
            Slot::Record(record) => Some(record.data_type.clone()),
            _ => None,
        }
    }
}
