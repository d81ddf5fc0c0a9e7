//! FOR and FOREACH.
//!
//! Whether a FOR counts integers is known only at its `..`: until then its variable is a name that
//! may be a new variable or one that exists.

use steppe_types::{Result, SqlState, oid};

use crate::keywords::Keyword;
use crate::lexer::{Kind, Token};
use crate::parse::Parser;
use crate::parse::declare::REFCURSOR;
use crate::tree::{
    ForEach, ForInteger, ForRows, Query, RowSource, Slot, SlotId, SqlKind, StatementKind,
};
use crate::types::Type;

/// The variable between FOR and IN.
struct LoopVariable {
    name: String,
    line: u32,
    start: usize,
    /// The variable of that name, if it is one scalar, or the first of a list.
    scalar: Option<SlotId>,
    /// The record of that name, or the row of a list.
    row: Option<SlotId>,
}

impl Parser<'_> {
    fn loop_variable(&mut self) -> Result<LoopVariable> {
        let token = self.next()?;
        let mut variable = LoopVariable {
            name: self.name_of(token),
            line: 0,
            start: token.start,
            scalar: None,
            row: None,
        };
        match token.kind {
            Kind::Variable(slot, _) => {
                variable.line = self.line_of(token.start);
                if self.is_record(slot) {
                    variable.row = Some(slot);
                } else {
                    variable.scalar = Some(slot);
                    if self.peek()?.is_mark(b',') {
                        variable.row = Some(self.scalars(token, slot)?);
                    }
                }
            }
            Kind::Word => {
                variable.line = self.line_of(token.start);
                if self.peek()?.is_mark(b',') {
                    return Err(self.not_a_variable(token));
                }
            }
            Kind::Compound => return Err(self.not_a_variable(token)),
            _ => return Err(self.syntax_error()),
        }
        Ok(variable)
    }

    /// FOR after its word.
    pub(super) fn for_loop(
        &mut self,
        first: Token,
        label: Option<String>,
    ) -> Result<StatementKind> {
        let variable = self.loop_variable()?;
        self.expect(Keyword::In)?;
        let token = self.next()?;
        if token.is(Keyword::Execute) {
            return self.for_dynamic(first, label, variable);
        }
        if let Kind::Variable(slot, _) = token.kind
            && self.is_refcursor(slot)
        {
            return self.for_cursor(first, label, variable, slot, token.start);
        }
        let reverse = self.is_word(token, Keyword::Reverse);
        if !reverse {
            self.push_back(token);
        }
        let until = [Kind::DotDot, Kind::Keyword(Keyword::Loop)];
        let piece = self.piece(&until, "LOOP", "expression")?;
        let text = self.piece_text(&piece);
        if piece.end.kind == Kind::DotDot {
            let first_value = self.checked(text, SqlKind::Expression, piece.start)?;
            return self.for_integer(first, label, variable, reverse, first_value);
        }
        if reverse {
            let message = "cannot specify REVERSE in query FOR loop";
            return Err(self.at(SqlState::SYNTAX_ERROR, message, token.start));
        }
        let query = self.checked(text, SqlKind::Statement, piece.start)?;
        let target = self.row_target(&variable, SqlState::SYNTAX_ERROR)?;
        self.for_rows(first, label, target, RowSource::Query(Query::Static(query)))
    }

    fn for_rows(
        &mut self,
        first: Token,
        label: Option<String>,
        target: SlotId,
        source: RowSource,
    ) -> Result<StatementKind> {
        let body = self.loop_body(first, label.as_deref())?;
        Ok(StatementKind::ForRows(Box::new(ForRows { label, target, source, body })))
    }

    fn for_integer(
        &mut self,
        first: Token,
        label: Option<String>,
        variable: LoopVariable,
        reverse: bool,
        first_value: crate::tree::Sql,
    ) -> Result<StatementKind> {
        let until = [Kind::Keyword(Keyword::Loop), Kind::Keyword(Keyword::By)];
        let (last, end) = self.expression(&until, "LOOP")?;
        let mut step = None;
        if end == Kind::Keyword(Keyword::By) {
            step = Some(self.expression_until(Keyword::Loop, "LOOP")?);
        }
        if variable.scalar.is_some() && variable.row.is_some() {
            let message = "integer FOR loop must have only one target variable";
            return Err(self.at(SqlState::SYNTAX_ERROR, message, variable.start));
        }
        let integer = Type::scalar(oid::INT4, 0, "integer");
        let slot = self.add_variable(&variable.name, variable.line, integer, true)?;
        let body = self.loop_body(first, label.as_deref())?;
        Ok(StatementKind::ForInteger(Box::new(ForInteger {
            label,
            variable: slot,
            reverse,
            first: first_value,
            last,
            step,
            body,
        })))
    }

    /// FOR … IN EXECUTE.
    fn for_dynamic(
        &mut self,
        first: Token,
        label: Option<String>,
        variable: LoopVariable,
    ) -> Result<StatementKind> {
        let (end_of_head, using) = (Kind::Keyword(Keyword::Loop), Kind::Keyword(Keyword::Using));
        let (text, end) = self.expression(&[end_of_head, using], "LOOP or USING")?;
        let target = self.row_target(&variable, SqlState::DATATYPE_MISMATCH)?;
        let mut parameters = Vec::new();
        if end == using {
            parameters = self.expressions(end_of_head, ", or LOOP")?;
        }
        let source = RowSource::Query(Query::Dynamic { text, parameters });
        self.for_rows(first, label, target, source)
    }

    /// FOR … IN a bound cursor: the variable is a new record.
    fn for_cursor(
        &mut self,
        first: Token,
        label: Option<String>,
        variable: LoopVariable,
        cursor: SlotId,
        at: usize,
    ) -> Result<StatementKind> {
        if variable.scalar.is_some() && variable.row.is_some() {
            let message = "cursor FOR loop must have only one target variable";
            return Err(self.at(SqlState::SYNTAX_ERROR, message, variable.start));
        }
        let bound = matches!(self.slot(cursor), Some(Slot::Scalar(slot)) if slot.cursor.is_some());
        if !bound {
            let message = "cursor FOR loop must use a bound cursor variable";
            return Err(self.at(SqlState::SYNTAX_ERROR, message, at));
        }
        let arguments = self.given_arguments(cursor, Kind::Keyword(Keyword::Loop))?;
        let target = self.add_variable(&variable.name, variable.line, Type::record(), true)?;
        self.for_rows(first, label, target, RowSource::Cursor { cursor, arguments })
    }

    fn is_refcursor(&self, slot: SlotId) -> bool {
        matches!(self.slot(slot), Some(Slot::Scalar(scalar)) if scalar.data_type.oid == REFCURSOR)
    }

    /// The record or row that takes the rows of a query.
    fn row_target(&mut self, variable: &LoopVariable, state: SqlState) -> Result<SlotId> {
        if let Some(row) = variable.row {
            self.check_assignable(row, variable.start)?;
            return Ok(row);
        }
        match variable.scalar {
            Some(slot) => self.one_scalar(&variable.name, slot, variable.line, variable.start),
            None => {
                let message = "loop variable of loop over rows must be a record variable or list \
                               of scalar variables";
                Err(self.at(state, message, variable.start))
            }
        }
    }

    /// FOREACH after its word.
    pub(super) fn for_each(
        &mut self,
        first: Token,
        label: Option<String>,
    ) -> Result<StatementKind> {
        let variable = self.loop_variable()?;
        let mut token = self.next()?;
        let mut slice = 0;
        if token.is(Keyword::Slice) {
            let number = self.next()?;
            if number.kind != Kind::Integer {
                return Err(self.syntax_error());
            }
            slice = self.text(number).parse().unwrap_or_default();
            token = self.next()?;
        }
        if !token.is(Keyword::In) {
            return Err(self.syntax_error());
        }
        self.expect(Keyword::Array)?;
        let array = self.expression_until(Keyword::Loop, "LOOP")?;
        // As PostgreSQL does, the loop's own checks come after its body.
        let (body, end_label) = self.loop_statements(first)?;
        let target = match variable.row.or(variable.scalar) {
            Some(slot) => slot,
            None => {
                let message =
                    "loop variable of FOREACH must be a known variable or list of variables";
                return Err(self.at(SqlState::SYNTAX_ERROR, message, variable.start));
            }
        };
        self.check_assignable(target, variable.start)?;
        self.check_labels(label.as_deref(), end_label)?;
        Ok(StatementKind::ForEach(Box::new(ForEach { label, target, slice, array, body })))
    }
}
