//! RETURN, RETURN NEXT and RETURN QUERY.

use steppe_types::{Result, SqlState, oid};

use crate::keywords::Keyword;
use crate::lexer::{Kind, Token};
use crate::parse::Parser;
use crate::tree::{Query, Returned, Slot, Statement, StatementKind};
use crate::types::RoutineKind;

impl Parser<'_> {
    /// RETURN of any kind.
    pub(super) fn return_statement(&mut self, first: Token) -> Result<Statement> {
        let token = self.next()?;
        self.not_end(token)?;
        if self.is_word(token, Keyword::Next) {
            return self.return_next(first);
        }
        if self.is_word(token, Keyword::Query) {
            return self.return_query(first);
        }
        self.push_back(token);
        let line = self.line_of(first.start);
        let returned = self.returned()?;
        Ok(Statement { line, kind: StatementKind::Return(returned) })
    }

    fn returned(&mut self) -> Result<Returned> {
        let signature = self.signature;
        let refused = if signature.returns_set {
            (
                SqlState::DATATYPE_MISMATCH,
                "RETURN cannot have a parameter in function returning set",
            )
        } else if signature.result.oid == oid::VOID || signature.kind == RoutineKind::EventTrigger {
            match signature.kind {
                RoutineKind::Procedure => {
                    (SqlState::SYNTAX_ERROR, "RETURN cannot have a parameter in a procedure")
                }
                _ => (
                    SqlState::DATATYPE_MISMATCH,
                    "RETURN cannot have a parameter in function returning void",
                ),
            }
        } else if self.out.is_some() {
            (
                SqlState::DATATYPE_MISMATCH,
                "RETURN cannot have a parameter in function with OUT parameters",
            )
        } else {
            return self.returned_value();
        };
        self.no_value(refused.0, refused.1)?;
        let out = self.out.filter(|_| !signature.returns_set && signature.result.oid != oid::VOID);
        Ok(out.map_or(Returned::Nothing, Returned::Variable))
    }

    /// The end of a RETURN that may have no value.
    fn no_value(&mut self, state: SqlState, message: &str) -> Result<()> {
        let token = self.next()?;
        if token.is_mark(b';') {
            return Ok(());
        }
        let error = self.at(state, message, token.start);
        Err(if self.signature.returns_set && message.starts_with("RETURN cannot") {
            error.hint("Use RETURN NEXT or RETURN QUERY.")
        } else {
            error
        })
    }

    /// A variable alone, or any expression.
    fn returned_value(&mut self) -> Result<Returned> {
        let token = self.next()?;
        if let Kind::Variable(slot, _) = token.kind
            && !matches!(self.slot(slot), Some(Slot::Field(_)) | None)
            && self.peek_raw()?.is_mark(b';')
        {
            self.next()?;
            return Ok(Returned::Variable(slot));
        }
        self.push_back(token);
        Ok(Returned::Expression(self.expression(&[Kind::Mark(b';')], ";")?.0))
    }

    fn check_returns_set(&self, what: &str, at: usize) -> Result<()> {
        if self.signature.returns_set {
            return Ok(());
        }
        let message = format!("cannot use {what} in a non-SETOF function");
        Err(self.at(SqlState::DATATYPE_MISMATCH, message, at))
    }

    fn return_next(&mut self, first: Token) -> Result<Statement> {
        self.check_returns_set("RETURN NEXT", first.start)?;
        let line = self.line_of(first.start);
        let returned = match self.out {
            Some(out) => {
                let message = "RETURN NEXT cannot have a parameter in function with OUT parameters";
                self.no_value(SqlState::DATATYPE_MISMATCH, message)?;
                Returned::Variable(out)
            }
            None => self.returned_value()?,
        };
        Ok(Statement { line, kind: StatementKind::ReturnNext(returned) })
    }

    fn return_query(&mut self, first: Token) -> Result<Statement> {
        self.check_returns_set("RETURN QUERY", first.start)?;
        let line = self.line_of(first.start);
        let token = self.next()?;
        let query = if token.is(Keyword::Execute) {
            let (semicolon, using) = (Kind::Mark(b';'), Kind::Keyword(Keyword::Using));
            let (text, end) = self.expression(&[semicolon, using], "; or USING")?;
            let mut parameters = Vec::new();
            if end == using {
                parameters = self.expressions(semicolon, ", or ;")?;
            }
            Query::Dynamic { text, parameters }
        } else {
            self.push_back(token);
            Query::Static(self.sql_statement()?)
        };
        Ok(Statement { line, kind: StatementKind::ReturnQuery(query) })
    }
}
