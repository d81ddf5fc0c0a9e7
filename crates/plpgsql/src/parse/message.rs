//! RAISE, ASSERT and GET DIAGNOSTICS.

use steppe_types::error::Severity;
use steppe_types::{Error, Result, SqlState};

use crate::conditions;
use crate::keywords::Keyword;
use crate::lexer::{Kind, Token, name};
use crate::parse::Parser;
use crate::tree::{
    DiagnosticsItem, Raise, RaiseLevel, RaiseOption, SlotId, Sql, Statement, StatementKind,
};

const SEMICOLON: Kind = Kind::Mark(b';');
const COMMA: Kind = Kind::Mark(b',');
const USING: Kind = Kind::Keyword(Keyword::Using);

const LEVELS: [(Keyword, RaiseLevel); 6] = [
    (Keyword::Exception, RaiseLevel::Client(Severity::Error)),
    (Keyword::Warning, RaiseLevel::Client(Severity::Warning)),
    (Keyword::Notice, RaiseLevel::Client(Severity::Notice)),
    (Keyword::Info, RaiseLevel::Client(Severity::Info)),
    (Keyword::Log, RaiseLevel::Log),
    (Keyword::Debug, RaiseLevel::Client(Severity::Debug)),
];

const OPTIONS: [(Keyword, RaiseOption); 9] = [
    (Keyword::Errcode, RaiseOption::Errcode),
    (Keyword::Message, RaiseOption::Message),
    (Keyword::Detail, RaiseOption::Detail),
    (Keyword::Hint, RaiseOption::Hint),
    (Keyword::Column, RaiseOption::Column),
    (Keyword::Constraint, RaiseOption::Constraint),
    (Keyword::Datatype, RaiseOption::Datatype),
    (Keyword::Table, RaiseOption::Table),
    (Keyword::Schema, RaiseOption::Schema),
];

const ITEMS: [(Keyword, DiagnosticsItem); 13] = [
    (Keyword::RowCount, DiagnosticsItem::RowCount),
    (Keyword::PgRoutineOid, DiagnosticsItem::RoutineOid),
    (Keyword::PgContext, DiagnosticsItem::Context),
    (Keyword::PgExceptionDetail, DiagnosticsItem::ExceptionDetail),
    (Keyword::PgExceptionHint, DiagnosticsItem::ExceptionHint),
    (Keyword::PgExceptionContext, DiagnosticsItem::ExceptionContext),
    (Keyword::ColumnName, DiagnosticsItem::ColumnName),
    (Keyword::ConstraintName, DiagnosticsItem::ConstraintName),
    (Keyword::PgDatatypeName, DiagnosticsItem::DatatypeName),
    (Keyword::MessageText, DiagnosticsItem::MessageText),
    (Keyword::TableName, DiagnosticsItem::TableName),
    (Keyword::SchemaName, DiagnosticsItem::SchemaName),
    (Keyword::ReturnedSqlstate, DiagnosticsItem::ReturnedSqlstate),
];

impl Parser<'_> {
    /// The entry of a table whose keyword a token is.
    fn choice<V: Copy>(&self, token: Token, table: &[(Keyword, V)]) -> Option<V> {
        table.iter().find(|(word, _)| self.is_word(token, *word)).map(|&(_, value)| value)
    }

    /// RAISE.
    pub(super) fn raise(&mut self, first: Token) -> Result<Statement> {
        let line = self.line_of(first.start);
        let mut raise = Raise {
            level: RaiseLevel::Client(Severity::Error),
            condition: None,
            format: None,
            parameters: Vec::new(),
            options: Vec::new(),
        };
        let mut token = self.next()?;
        self.not_end(token)?;
        if token.kind != SEMICOLON {
            if let Some(level) = self.choice(token, &LEVELS) {
                raise.level = level;
                token = self.next()?;
            }
            self.not_end(token)?;
            let end = match token.kind {
                Kind::String => self.raise_format(token, &mut raise)?,
                USING => USING,
                _ => {
                    raise.condition = Some(self.raise_condition(token)?);
                    self.next()?.kind
                }
            };
            if end != SEMICOLON && end != USING {
                return Err(self.syntax_error());
            }
            if end == USING {
                raise.options = self.raise_options()?;
            }
        }
        check_parameters(&raise)?;
        Ok(Statement { line, kind: StatementKind::Raise(Box::new(raise)) })
    }

    /// The format and its parameters; what ends them.
    fn raise_format(&mut self, token: Token, raise: &mut Raise) -> Result<Kind> {
        raise.format = Some(self.string(token)?);
        let mut end = self.next()?.kind;
        while end == COMMA {
            let (sql, next) = self.expression(&[COMMA, SEMICOLON, USING], ", or ; or USING")?;
            raise.parameters.push(sql);
            end = next;
        }
        Ok(end)
    }

    /// A condition by its name or its code.
    fn raise_condition(&mut self, token: Token) -> Result<(String, SqlState)> {
        if self.is_word(token, Keyword::Sqlstate) {
            return self.sqlstate_code();
        }
        let is_name = match token.kind {
            Kind::Word => true,
            Kind::Keyword(word) => word.is_unreserved(),
            _ => false,
        };
        if !is_name {
            return Err(self.syntax_error());
        }
        let name = name(self.text(token));
        let state = conditions::of_name(&name)?;
        Ok((name, state))
    }

    fn raise_options(&mut self) -> Result<Vec<(RaiseOption, Sql)>> {
        let mut options = Vec::new();
        loop {
            let token = self.next()?;
            self.not_end(token)?;
            let Some(option) = self.choice(token, &OPTIONS) else {
                return Err(self.near("unrecognized RAISE statement option"));
            };
            if !matches!(self.next()?.kind, Kind::Mark(b'=') | Kind::Assign) {
                return Err(self.near("syntax error, expected \"=\""));
            }
            let (sql, end) = self.expression(&[COMMA, SEMICOLON], ", or ;")?;
            options.push((option, sql));
            if end == SEMICOLON {
                return Ok(options);
            }
        }
    }

    /// ASSERT.
    pub(super) fn assert(&mut self, first: Token) -> Result<Statement> {
        let line = self.line_of(first.start);
        let (condition, end) = self.expression(&[COMMA, SEMICOLON], ", or ;")?;
        let mut message = None;
        if end == COMMA {
            message = Some(self.expression(&[SEMICOLON], ";")?.0);
        }
        Ok(Statement { line, kind: StatementKind::Assert { condition, message } })
    }

    /// GET DIAGNOSTICS.
    pub(super) fn get_diagnostics(&mut self, first: Token) -> Result<Statement> {
        let mut token = self.next()?;
        let stacked = token.is(Keyword::Stacked);
        if stacked || token.is(Keyword::Current) {
            token = self.next()?;
        }
        if !token.is(Keyword::Diagnostics) {
            return Err(self.syntax_error());
        }
        let mut items = Vec::new();
        loop {
            items.push(self.diagnostics_item()?);
            match self.next()?.kind {
                COMMA => {}
                SEMICOLON => break,
                _ => return Err(self.syntax_error()),
            }
        }
        let line = self.line_of(first.start);
        for &(_, item) in &items {
            self.check_item(stacked, item, first.start)?;
        }
        Ok(Statement { line, kind: StatementKind::GetDiagnostics { stacked, items } })
    }

    fn diagnostics_item(&mut self) -> Result<(SlotId, DiagnosticsItem)> {
        let token = self.next()?;
        let Kind::Variable(slot, _) = token.kind else {
            return Err(self.current_is_no_variable(token));
        };
        if self.is_record(slot) || self.peek_raw()?.is_mark(b'[') {
            return Err(self.not_scalar(token));
        }
        self.check_assignable(slot, token.start)?;
        if !matches!(self.next()?.kind, Kind::Mark(b'=') | Kind::Assign) {
            return Err(self.syntax_error());
        }
        let token = self.next()?;
        match self.choice(token, &ITEMS) {
            Some(item) => Ok((slot, item)),
            None => Err(self.near("unrecognized GET DIAGNOSTICS item")),
        }
    }

    fn check_item(&self, stacked: bool, item: DiagnosticsItem, at: usize) -> Result<()> {
        let allowed = match item {
            DiagnosticsItem::RowCount | DiagnosticsItem::RoutineOid => !stacked,
            DiagnosticsItem::Context => true,
            _ => stacked,
        };
        if allowed {
            return Ok(());
        }
        let area = if stacked { "STACKED" } else { "CURRENT" };
        let message =
            format!("diagnostics item {} is not allowed in GET {area} DIAGNOSTICS", item.name());
        Err(self.at(SqlState::SYNTAX_ERROR, message, at))
    }
}

/// The format has as many places as there are parameters.
fn check_parameters(raise: &Raise) -> Result<()> {
    let Some(format) = &raise.format else { return Ok(()) };
    let places = format.replace("%%", "").matches('%').count();
    let message = match places.cmp(&raise.parameters.len()) {
        std::cmp::Ordering::Less => "too many parameters specified for RAISE",
        std::cmp::Ordering::Greater => "too few parameters specified for RAISE",
        std::cmp::Ordering::Equal => return Ok(()),
    };
    Err(Error::new(SqlState::SYNTAX_ERROR, message))
}
