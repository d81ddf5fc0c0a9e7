//! IF, CASE, loops without a variable, EXIT and CONTINUE.

use steppe_types::{Result, SqlState, oid};

use crate::keywords::Keyword;
use crate::lexer::{Kind, Token};
use crate::parse::Parser;
use crate::tree::{Branch, Case, Label, Statement, StatementKind};
use crate::types::Type;

/// Statements of a loop, and the label at its end with its place.
type LoopStatements = (Vec<Statement>, Option<(String, usize)>);

impl Parser<'_> {
    /// IF.
    pub(super) fn if_statement(&mut self, first: Token) -> Result<Statement> {
        let mut branches = Vec::new();
        let mut start = first;
        let mut token;
        loop {
            let condition = self.expression_until(Keyword::Then, "THEN")?;
            let (body, end) = self.nested(Self::statements)?;
            branches.push(Branch { line: self.line_of(start.start), condition, body });
            (start, token) = (end, end);
            if !end.is(Keyword::Elsif) {
                break;
            }
        }
        let mut otherwise = Vec::new();
        if token.is(Keyword::Else) {
            (otherwise, token) = self.nested(Self::statements)?;
        }
        self.end_of(token, Keyword::If)?;
        Ok(self.at_line(first, StatementKind::If { branches, otherwise }))
    }

    /// `END word;` where END should have been read.
    fn end_of(&mut self, end: Token, word: Keyword) -> Result<()> {
        if !end.is(Keyword::End) {
            return Err(self.syntax_error());
        }
        self.expect(word)?;
        self.expect_mark(b';')?;
        Ok(())
    }

    /// CASE.
    pub(super) fn case(&mut self, first: Token) -> Result<Statement> {
        let mut subject = None;
        let mut token = self.next()?;
        if !token.is(Keyword::When) {
            self.push_back(token);
            subject = Some(self.expression_until(Keyword::When, "WHEN")?);
            token = Token { kind: Kind::Keyword(Keyword::When), ..self.current };
        }
        let mut branches = Vec::new();
        while token.is(Keyword::When) {
            let condition = self.expression_until(Keyword::Then, "THEN")?;
            let (body, end) = self.nested(Self::statements)?;
            branches.push(Branch { line: self.line_of(token.start), condition, body });
            token = end;
        }
        let mut otherwise = None;
        if token.is(Keyword::Else) {
            let (body, end) = self.nested(Self::statements)?;
            (otherwise, token) = (Some(body), end);
        }
        self.end_of(token, Keyword::Case)?;
        let line = self.line_of(first.start);
        let mut case = Case { subject: None, branches, otherwise };
        if let Some(subject) = subject {
            // A name that no body has; PostgreSQL's, since messages show it.
            let name = format!("__Case__Variable_{}__", self.slots.len());
            let integer = Type::scalar(oid::INT4, 0, "integer");
            let slot = self.add_variable(&name, line, integer, true)?;
            for branch in &mut case.branches {
                let values = std::mem::take(&mut branch.condition.text);
                branch.condition.text = format!("\"{name}\" IN ({values})");
                branch.condition.scope = self.names.scope();
            }
            case.subject = Some((subject, slot));
        }
        Ok(Statement { line, kind: StatementKind::Case(Box::new(case)) })
    }

    /// A loop of any kind after its label.
    pub(super) fn any_loop(&mut self, first: Token, label: Option<String>) -> Result<Statement> {
        self.names.open(label.as_deref(), Label::Loop);
        let kind = match first.kind {
            Kind::Keyword(Keyword::For) => self.for_loop(first, label)?,
            Kind::Keyword(Keyword::Foreach) => self.for_each(first, label)?,
            Kind::Keyword(Keyword::While) => {
                let condition = self.expression_until(Keyword::Loop, "LOOP")?;
                let body = self.loop_body(first, label.as_deref())?;
                StatementKind::While { label, condition, body }
            }
            _ => {
                let body = self.loop_body(first, label.as_deref())?;
                StatementKind::Loop { label, body }
            }
        };
        self.names.close();
        Ok(Statement { line: self.line, kind })
    }

    /// The statements of a loop up to `END LOOP label;`, with its label checked.
    pub(super) fn loop_body(
        &mut self,
        first: Token,
        label: Option<&str>,
    ) -> Result<Vec<Statement>> {
        let (body, end_label) = self.loop_statements(first)?;
        self.check_labels(label, end_label)?;
        Ok(body)
    }

    /// The statements of a loop up to `END LOOP label;`; that label and where it is.
    pub(super) fn loop_statements(&mut self, first: Token) -> Result<LoopStatements> {
        let (body, end) = self.nested(Self::statements)?;
        if !end.is(Keyword::End) {
            return Err(self.syntax_error());
        }
        self.expect(Keyword::Loop)?;
        let end_label = self.optional_name()?;
        self.expect_mark(b';')?;
        self.line_of(first.start);
        Ok((body, end_label))
    }

    /// EXIT and CONTINUE.
    pub(super) fn exit(&mut self, first: Token) -> Result<Statement> {
        let exit = first.is(Keyword::Exit);
        let label = self.optional_name()?;
        let token = self.next()?;
        let condition = match token.kind {
            Kind::Mark(b';') => None,
            Kind::Keyword(Keyword::When) => Some(self.expression(&[Kind::Mark(b';')], ";")?.0),
            _ => return Err(self.syntax_error()),
        };
        let line = self.line_of(first.start);
        match &label {
            Some((label, at)) => self.check_exit_label(exit, label, *at)?,
            None if !self.names.in_loop() => {
                let message = if exit {
                    "EXIT cannot be used outside a loop, unless it has a label"
                } else {
                    "CONTINUE cannot be used outside a loop"
                };
                return Err(self.at(SqlState::SYNTAX_ERROR, message, first.start));
            }
            None => {}
        }
        let label = label.map(|(label, _)| label);
        Ok(Statement { line, kind: StatementKind::Exit { exit, label, condition } })
    }

    fn check_exit_label(&self, exit: bool, label: &str, at: usize) -> Result<()> {
        let message = match self.names.label(label) {
            None => format!(
                "there is no label \"{label}\" attached to any block or loop enclosing this \
                 statement"
            ),
            Some(kind) if kind != Label::Loop && !exit => {
                format!("block label \"{label}\" cannot be used in CONTINUE")
            }
            Some(_) => return Ok(()),
        };
        Err(self.at(SqlState::SYNTAX_ERROR, message, at))
    }
}
