//! RAISE, ASSERT and GET DIAGNOSTICS (exec_stmt_raise, exec_stmt_assert, exec_stmt_getdiag in
//! pl_exec.c), and the extra checks that settings ask for.

use std::sync::Arc;

use steppe_types::error::Severity;
use steppe_types::{Datum, Error, Result, SqlState, oid};

use super::code::{Raise, SqlNumber};
use super::context;
use super::value::Value;
use super::walk::Run;
use crate::conditions;
use crate::tree::{DiagnosticsItem, RaiseLevel, RaiseOption, SlotId};

const RAISE_EXCEPTION: SqlState = SqlState(*b"P0001");
const ASSERT_FAILURE: SqlState = SqlState(*b"P0004");
const NO_HANDLER: SqlState = SqlState(*b"0Z002");

/// The texts of a RAISE.
#[derive(Default)]
struct Raised {
    state: Option<SqlState>,
    /// The condition as it was named: the message of an error without one.
    condition: Option<String>,
    message: Option<String>,
    detail: Option<String>,
    hint: Option<String>,
    column: Option<String>,
    constraint: Option<String>,
    datatype: Option<String>,
    table: Option<String>,
    schema: Option<String>,
}

impl Run<'_, '_, '_> {
    /// RAISE.
    pub(super) fn raise(&mut self, raise: &Raise) -> Result<()> {
        if raise.again {
            return match &self.error {
                None => {
                    let message =
                        "RAISE without parameters cannot be used outside an exception handler";
                    Err(Error::new(NO_HANDLER, message))
                }
                Some(error) => {
                    // The caught error is raised again, with the context lines that it has.
                    self.is_located = true;
                    Err(Error::clone(error))
                }
            };
        }
        let mut raised = Raised::default();
        if let Some((name, state)) = &raise.condition {
            (raised.state, raised.condition) = (Some(*state), Some(name.clone()));
        }
        if let Some(format) = &raise.format {
            raised.message = Some(self.formatted(format, &raise.parameters)?);
        }
        for (option, value) in &raise.options {
            self.raise_option(&mut raised, *option, *value)?;
        }
        self.send(raise.level, raised)
    }

    /// The format with a value for each `%`.
    fn formatted(&mut self, format: &str, parameters: &[SqlNumber]) -> Result<String> {
        let (mut message, mut parameters) =
            (String::with_capacity(format.len()), parameters.iter());
        let mut rest = format;
        while let Some((before, after)) = rest.split_once('%') {
            message.push_str(before);
            if let Some(after) = after.strip_prefix('%') {
                message.push('%');
                rest = after;
                continue;
            }
            rest = after;
            let Some(parameter) = parameters.next() else {
                return Err(Error::internal("unexpected RAISE parameter list length"));
            };
            let value = self.eval_typed(*parameter)?;
            match value.datum.is_null() {
                true => message.push_str("<NULL>"),
                false => message.push_str(&self.text_of(&value)?),
            }
        }
        message.push_str(rest);
        Ok(message)
    }

    fn raise_option(
        &mut self,
        raised: &mut Raised,
        option: RaiseOption,
        number: SqlNumber,
    ) -> Result<()> {
        let value = self.eval_typed(number)?;
        if value.datum.is_null() {
            let message = "RAISE statement option cannot be null";
            return Err(Error::new(SqlState::NULL_VALUE_NOT_ALLOWED, message));
        }
        let text = self.text_of(&value)?;
        let (place, name) = match option {
            RaiseOption::Errcode => {
                if raised.state.is_some() {
                    return Err(already("ERRCODE"));
                }
                raised.state = Some(conditions::raised(&text)?);
                raised.condition = Some(text);
                return Ok(());
            }
            RaiseOption::Message => (&mut raised.message, "MESSAGE"),
            RaiseOption::Detail => (&mut raised.detail, "DETAIL"),
            RaiseOption::Hint => (&mut raised.hint, "HINT"),
            RaiseOption::Column => (&mut raised.column, "COLUMN"),
            RaiseOption::Constraint => (&mut raised.constraint, "CONSTRAINT"),
            RaiseOption::Datatype => (&mut raised.datatype, "DATATYPE"),
            RaiseOption::Table => (&mut raised.table, "TABLE"),
            RaiseOption::Schema => (&mut raised.schema, "SCHEMA"),
        };
        if place.is_some() {
            return Err(already(name));
        }
        *place = Some(text);
        Ok(())
    }

    /// An error, or a message to the client.
    fn send(&mut self, level: RaiseLevel, raised: Raised) -> Result<()> {
        let is_error = level == RaiseLevel::Client(Severity::Error);
        // PostgreSQL takes 00000 for no SQLSTATE at all.
        let state = raised.state.filter(|state| *state != SqlState::SUCCESSFUL_COMPLETION);
        let state = state.unwrap_or(match level {
            RaiseLevel::Client(Severity::Error) => RAISE_EXCEPTION,
            RaiseLevel::Client(Severity::Warning) => SqlState::WARNING,
            _ => SqlState::SUCCESSFUL_COMPLETION,
        });
        let message = raised.message.or(raised.condition);
        let message = message.unwrap_or_else(|| state.as_str().to_owned());
        let mut error = Error::new(state, message);
        let fields = error.fields_mut();
        (fields.detail, fields.hint) = (raised.detail, raised.hint);
        (fields.column, fields.constraint) = (raised.column, raised.constraint);
        (fields.datatype, fields.table, fields.schema) =
            (raised.datatype, raised.table, raised.schema);
        if is_error {
            return Err(error);
        }
        match level {
            RaiseLevel::Client(severity) => self.notify(error.severity(severity)),
            RaiseLevel::Log => {
                self.spi.be_heard()?;
                self.spi.session().log(error.within(context::lines(0)));
                Ok(())
            }
        }
    }

    /// Sends a notice with the lines of all that runs.
    fn notify(&mut self, notice: Error) -> Result<()> {
        self.spi.be_heard()?;
        self.spi.session().notice(notice.within(context::lines(0)));
        Ok(())
    }

    /// ASSERT.
    pub(super) fn assert(
        &mut self,
        condition: SqlNumber,
        message: Option<SqlNumber>,
    ) -> Result<()> {
        let setting = self.spi.session().setting("plpgsql.check_asserts")?;
        if setting.as_deref() == Some("off") || self.condition(condition)? {
            return Ok(());
        }
        let mut text = None;
        if let Some(message) = message {
            let value = self.eval_typed(message)?;
            if !value.datum.is_null() {
                text = Some(self.text_of(&value)?);
            }
        }
        Err(Error::new(ASSERT_FAILURE, text.unwrap_or_else(|| "assertion failed".to_owned())))
    }

    /// GET DIAGNOSTICS.
    pub(super) fn get_diagnostics(
        &mut self,
        stacked: bool,
        items: &[(SlotId, DiagnosticsItem)],
    ) -> Result<()> {
        if stacked && self.error.is_none() {
            let message = "GET STACKED DIAGNOSTICS cannot be used outside an exception handler";
            return Err(Error::new(NO_HANDLER, message));
        }
        for (target, item) in items {
            let value = self.diagnostics_item(*item, stacked);
            self.assign_value(*target, value)?;
        }
        Ok(())
    }

    fn diagnostics_item(&self, item: DiagnosticsItem, stacked: bool) -> Value {
        match item {
            DiagnosticsItem::RowCount => {
                return Value::of(Datum::Int8(self.processed as i64), oid::INT8);
            }
            DiagnosticsItem::RoutineOid => {
                return Value::of(Datum::Oid(self.code.oid), oid::OID);
            }
            DiagnosticsItem::Context if !stacked => {
                return Value::of(Datum::text(context::lines(0)), oid::TEXT);
            }
            _ => {}
        }
        let Some(error) = &self.error else { return Value::null(oid::TEXT) };
        let fields = error.fields();
        let text = match item {
            DiagnosticsItem::ReturnedSqlstate => Some(fields.sqlstate.as_str().to_owned()),
            DiagnosticsItem::MessageText => Some(fields.message.clone()),
            DiagnosticsItem::ExceptionDetail => fields.detail.clone(),
            DiagnosticsItem::ExceptionHint => fields.hint.clone(),
            DiagnosticsItem::ExceptionContext | DiagnosticsItem::Context => {
                Some(self.context_of(error))
            }
            DiagnosticsItem::ColumnName => fields.column.clone(),
            DiagnosticsItem::ConstraintName => fields.constraint.clone(),
            DiagnosticsItem::DatatypeName => fields.datatype.clone(),
            DiagnosticsItem::TableName => fields.table.clone(),
            DiagnosticsItem::SchemaName => fields.schema.clone(),
            DiagnosticsItem::RowCount | DiagnosticsItem::RoutineOid => None,
        };
        Value::of(Datum::text(text.unwrap_or_default()), oid::TEXT)
    }

    /// The lines of a caught error, and then the callers' lines.
    fn context_of(&self, error: &Arc<Error>) -> String {
        let own = error.fields().context.clone().unwrap_or_default();
        let outer = context::lines(1);
        match (own.is_empty(), outer.is_empty()) {
            (_, true) => own,
            (true, false) => outer,
            (false, false) => format!("{own}\n{outer}"),
        }
    }

    /// The severity that an extra check is asked for with, and the setting that asks.
    pub(super) fn extra_check(&self, name: &str) -> Option<(Severity, &'static str)> {
        let asks = |setting: &str| {
            let value = self.spi.session().setting(setting).ok().flatten()?;
            value.split(',').map(str::trim).any(|word| word == name || word == "all").then_some(())
        };
        if asks("plpgsql.extra_errors").is_some() {
            return Some((Severity::Error, "extra_errors"));
        }
        asks("plpgsql.extra_warnings").map(|()| (Severity::Warning, "extra_warnings"))
    }

    /// An error, or a warning of it.
    pub(super) fn complain(&mut self, level: Severity, error: Error) -> Result<()> {
        if level == Severity::Error {
            return Err(error);
        }
        self.notify(error.severity(level))
    }
}

fn already(option: &str) -> Error {
    Error::new(SqlState::SYNTAX_ERROR, format!("RAISE option already specified: {option}"))
}
