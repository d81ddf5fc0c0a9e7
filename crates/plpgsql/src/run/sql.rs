//! Statements of SQL: static ones, EXECUTE, PERFORM and CALL, with INTO (exec_stmt_execsql,
//! exec_stmt_dynexecute, exec_stmt_perform and exec_stmt_call in pl_exec.c).

use std::sync::Arc;

use steppe_exec::{CallOutput, Prepared, RowSink, Spi};
use steppe_sql::ast::{self, CopyEndpoint, ExprKind, Statement};
use steppe_sql::parser;
use steppe_sql::query::Command;
use steppe_types::error::Severity;
use steppe_types::{Datum, Error, Oid, Result, SqlState, oid};

use super::code::{Into, SqlNumber, Var};
use super::context::{self, Shown};
use super::frame::Shape;
use super::plans::{Plan, shape_of_columns};
use super::value::Value;
use super::walk::{Rows, Run};
use crate::names::Named;
use crate::tree::SlotId;

const NO_DATA_FOUND: SqlState = SqlState(*b"P0002");
const TOO_MANY_ROWS: SqlState = SqlState(*b"P0003");

impl Run<'_, '_, '_> {
    /// Runs a statement over the variables; its errors show its text.
    pub(super) fn run_prepared(
        &mut self,
        prepared: &mut Prepared,
        shown: &Shown,
        limit: u64,
        sink: &mut dyn RowSink,
    ) -> Result<u64> {
        let values = self.state.frame.read_all()?;
        run_with(self.spi, prepared, values, shown, (limit, sink))
    }

    /// A statement of SQL.
    pub(super) fn execute(&mut self, number: SqlNumber, into: Option<Into>) -> Result<()> {
        self.with_plan(number, |run, plan| run.execute_plan(number, plan, into))
    }

    fn execute_plan(
        &mut self,
        number: SqlNumber,
        plan: &mut Plan,
        into: Option<Into>,
    ) -> Result<()> {
        let code = self.code;
        let shown = &code.pieces[number.0 as usize].shown;
        check_kind(plan.prepared.statement())?;
        let command = plan.prepared.command();
        let Some(into) = into else {
            let mut none = Rows::at_most(0);
            let processed = self.run_prepared(&mut plan.prepared, shown, 0, &mut none)?;
            if plan.prepared.returns_rows() {
                return Err(no_destination(command));
            }
            self.ran(command, processed);
            return Ok(());
        };
        let is_change = command.is_some_and(|command| command != Command::Select);
        let too_many = match into.strict || is_change {
            true => Some(Severity::Error),
            false => self.extra_check("too_many_rows").map(|(level, _)| level),
        };
        let limit = if too_many.is_some() { 2 } else { 1 };
        let mut rows = Rows::at_most(limit);
        let processed = match self.eval_row(plan, shown)? {
            Some(row) => {
                rows.rows.push(row.into());
                1
            }
            None => self.run_prepared(&mut plan.prepared, shown, limit as u64, &mut rows)?,
        };
        if !plan.prepared.returns_rows() {
            return Err(nothing_into());
        }
        self.ran(command, if is_change { processed } else { rows.rows.len() as u64 });
        if rows.rows.is_empty() && into.strict {
            return Err(no_rows(self.shown_variables(&plan.prepared)));
        }
        if let (Some(level), 2..) = (too_many, rows.rows.len()) {
            let detail = self.shown_variables(&plan.prepared);
            self.complain(level, too_many_rows(detail))?;
        }
        let shape = Arc::clone(plan.columns());
        self.take_first(into.target, &shape, rows)
    }

    /// The row of a query that needs no plan to run. `None`: it needs it.
    fn eval_row(&mut self, plan: &Plan, shown: &Shown) -> Result<Option<Vec<Datum>>> {
        if !plan.is_row() {
            return Ok(None);
        }
        let entered = context::enter_statement(shown);
        let row = plan.eval_row(&mut self.state.frame, self.spi);
        drop(entered);
        row.map_err(|error| shown.located(error))
    }

    /// Notes what a statement has done.
    pub(super) fn ran(&mut self, command: Option<Command>, processed: u64) {
        self.processed = processed;
        if command.is_some() {
            self.set_found(processed != 0);
        }
    }

    /// Assigns the first row to the target of INTO.
    fn take_first(&mut self, target: SlotId, shape: &Arc<Shape>, rows: Rows) -> Result<()> {
        let row = rows.rows.into_iter().next();
        self.move_row(target, shape, row)
    }

    /// PERFORM.
    pub(super) fn perform(&mut self, number: SqlNumber) -> Result<()> {
        let code = self.code;
        let shown = &code.pieces[number.0 as usize].shown;
        if self.plan(number)?.simple.is_some() {
            let entered = context::enter_statement(shown);
            let done = self.eval(number);
            drop(entered);
            done.map_err(|error| shown.located(error))?;
            self.ran(Some(Command::Select), 1);
            return Ok(());
        }
        let processed = self.with_plan(number, |run, plan| {
            run.run_prepared(&mut plan.prepared, shown, 0, &mut Rows::at_most(0))
        })?;
        self.ran(Some(Command::Select), processed);
        Ok(())
    }

    /// EXECUTE.
    pub(super) fn execute_dynamic(
        &mut self,
        query: SqlNumber,
        into: Option<Into>,
        parameters: &[SqlNumber],
    ) -> Result<()> {
        let text = self.dynamic_text(query)?;
        let (types, values) = self.dynamic_parameters(parameters)?;
        let shown = Shown::statement(Arc::clone(&text));
        let most = match into {
            None => 0,
            Some(into) if into.strict || self.extra_check("too_many_rows").is_some() => 2,
            Some(_) => 1,
        };
        let (mut last, mut rows) = (self.spi.prepare_like(&text, &types), Rows::at_most(most));
        match &mut last {
            Some(prepared) => self.run_dynamic(prepared, &values, &shown, &mut rows)?,
            None => {
                for part in parts(&text).map_err(|error| shown.located(error))? {
                    rows = Rows::at_most(most);
                    let prepared = self.spi.prepare(part, &types);
                    let prepared = prepared.map_err(|error| shown.located(error))?;
                    let prepared = last.insert(prepared);
                    self.run_dynamic(prepared, &values, &shown, &mut rows)?;
                }
            }
        }
        let Some(into) = into else { return Ok(()) };
        let Some(prepared) = last.filter(Prepared::returns_rows) else {
            return Err(nothing_into());
        };
        if rows.rows.is_empty() && into.strict {
            return Err(no_rows(self.shown_values(&types, &values)));
        }
        if rows.rows.len() > 1 {
            let extra = self.extra_check("too_many_rows");
            let level = match (into.strict, extra) {
                (false, Some((level, _))) => level,
                _ => Severity::Error,
            };
            let mut error = too_many_rows(self.shown_values(&types, &values));
            error.fields_mut().hint = None;
            self.complain(level, error)?;
        }
        self.take_first(into.target, &shape_of_columns(prepared.columns()), rows)
    }

    /// Runs a statement of the text of EXECUTE.
    fn run_dynamic(
        &mut self,
        prepared: &mut Prepared,
        values: &[Datum],
        shown: &Shown,
        rows: &mut Rows,
    ) -> Result<()> {
        check_dynamic(prepared.statement())?;
        let limit = rows.most() as u64;
        let processed = run_with(self.spi, prepared, values, shown, (limit, rows))?;
        let is_select = prepared.command() == Some(Command::Select) && limit > 0;
        self.processed = if is_select { rows.rows.len() as u64 } else { processed };
        Ok(())
    }

    /// The text that EXECUTE is given.
    pub(super) fn dynamic_text(&mut self, query: SqlNumber) -> Result<Arc<str>> {
        let value = self.eval_typed(query)?;
        match (&value.datum, value.ty) {
            (Datum::Null, _) => {
                let message = "query string argument of EXECUTE is null";
                Err(Error::new(SqlState::NULL_VALUE_NOT_ALLOWED, message))
            }
            (Datum::Text(text), oid::TEXT) => Ok(Arc::clone(text)),
            _ => self.text_of(&value).map(Arc::from),
        }
    }

    /// The values of USING and their types.
    pub(super) fn dynamic_parameters(
        &mut self,
        parameters: &[SqlNumber],
    ) -> Result<(Vec<Oid>, Vec<Datum>)> {
        let (mut types, mut values) = (Vec::new(), Vec::new());
        for parameter in parameters {
            let value = self.eval_typed(*parameter)?;
            types.push(if value.ty == oid::UNKNOWN { oid::TEXT } else { value.ty });
            values.push(value.datum);
        }
        Ok((types, values))
    }

    /// CALL and DO.
    pub(super) fn call_procedure(&mut self, number: SqlNumber, call: bool) -> Result<()> {
        let code = self.code;
        let shown = &code.pieces[number.0 as usize].shown;
        if !self.spi.is_atomic() {
            // The procedure may end the transaction.
            self.hold_loops()?;
        }
        let mut rows = Rows::at_most(1);
        let outs = self.with_plan(number, |run, plan| {
            run.run_prepared(&mut plan.prepared, shown, 0, &mut rows)?;
            if !call || rows.rows.is_empty() {
                return Ok(Vec::new());
            }
            let outs = run.spi.call_outputs(&plan.prepared)?;
            let targets = run.call_targets(number, plan.prepared.statement(), &outs)?;
            Ok(targets.into_iter().zip(outs).collect())
        })?;
        let row = rows.rows.into_iter().next();
        let row = row.iter().flat_map(|row| row.iter());
        for ((target, out), datum) in outs.into_iter().zip(row) {
            self.assign_value(target, Value::of(datum.clone(), out.ty))?;
        }
        Ok(())
    }

    /// The variables that take the OUT and INOUT arguments of a CALL.
    fn call_targets(
        &mut self,
        number: SqlNumber,
        statement: &Statement,
        outs: &[CallOutput],
    ) -> Result<Vec<SlotId>> {
        let Statement::Call(call) = statement else {
            return Err(Error::internal("a CALL has become another statement"));
        };
        let mut targets = Vec::with_capacity(outs.len());
        for out in outs {
            let given = out.argument.and_then(|at| call.call.args.get(at));
            let target = given.and_then(|given| self.writable(number, &given.value));
            targets.push(target.ok_or_else(|| not_writable(&out.name))?);
        }
        Ok(targets)
    }

    /// The variable that an argument is.
    fn writable(&self, number: SqlNumber, argument: &ast::Expr) -> Option<SlotId> {
        let ExprKind::ColumnRef(column) = &argument.kind else { return None };
        let parts: Vec<&str> = column.parts.iter().map(String::as_str).collect();
        let scope = self.code.pieces[number.0 as usize].scope;
        let found = self.code.names.find(scope, &parts)?;
        let slot = match found.named {
            Named::Scalar(slot) | Named::Record(slot) => slot,
            Named::Label(_) => return None,
        };
        match &parts[found.parts..] {
            [] => Some(slot),
            [field] => self.code.fields.get(&slot)?.get(*field).copied(),
            _ => None,
        }
    }

    /// The variables of a statement and their values, if print_strict_params asks for them.
    fn shown_variables(&mut self, prepared: &Prepared) -> Option<String> {
        if !self.code.print_strict_params {
            return None;
        }
        let mut list = Vec::new();
        let mut slots = prepared.variables().to_vec();
        slots.sort_unstable();
        for slot in slots {
            let slot = SlotId(slot as u32);
            let Var::Scalar(scalar) = self.code.var(slot) else { continue };
            let (ty, ..) = self.state.frame.type_of(self.code, slot);
            let datum = self.state.frame.value(slot).cloned().unwrap_or_default();
            let value = Value::of(datum, ty);
            list.push(format!("{} = {}", scalar.name, self.shown_value(&value)));
        }
        (!list.is_empty()).then(|| format!("parameters: {}", list.join(", ")))
    }

    /// The values of USING, if print_strict_params asks for them.
    fn shown_values(&self, types: &[Oid], values: &[Datum]) -> Option<String> {
        if !self.code.print_strict_params || values.is_empty() {
            return None;
        }
        let shown = types.iter().zip(values).enumerate().map(|(at, (ty, datum))| {
            let value = Value::of(datum.clone(), *ty);
            format!("${} = {}", at + 1, self.shown_value(&value))
        });
        Some(format!("parameters: {}", shown.collect::<Vec<_>>().join(", ")))
    }

    fn shown_value(&self, value: &Value) -> String {
        if value.datum.is_null() {
            return "NULL".to_owned();
        }
        let text = self.text_of(value).unwrap_or_default();
        format!("'{}'", text.replace('\'', "''"))
    }
}

/// Runs a statement over some values; its errors show its text.
fn run_with(
    spi: &mut Spi<'_>,
    prepared: &mut Prepared,
    values: &[Datum],
    shown: &Shown,
    (limit, sink): (u64, &mut dyn RowSink),
) -> Result<u64> {
    let entered = context::enter_statement(shown);
    let done = spi.run_limited(prepared, values, limit, sink);
    drop(entered);
    done.map_err(|error| shown.located(error))
}

/// The statements of a text.
fn parts(text: &str) -> Result<Vec<&str>> {
    let parsed = parser::parse(text)?;
    match parsed.len() {
        1 => Ok(vec![text]),
        _ => Ok(parsed.iter().map(|statement| statement.text(text)).collect()),
    }
}

/// 0A000 for statements that no function runs.
fn check_kind(statement: &Statement) -> Result<()> {
    let message = match statement {
        Statement::Transaction(_) => "unsupported transaction command in PL/pgSQL",
        Statement::Copy(copy) if copy.endpoint == CopyEndpoint::Stdio => {
            "cannot COPY to/from client in PL/pgSQL"
        }
        _ => return Ok(()),
    };
    Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, message))
}

fn check_dynamic(statement: &Statement) -> Result<()> {
    match statement {
        Statement::Transaction(_) => {
            let message = "EXECUTE of transaction commands is not implemented";
            Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, message))
        }
        Statement::Copy(_) => check_kind(statement),
        Statement::Select(select) if select.has_into() => {
            let message = "EXECUTE of SELECT ... INTO is not implemented";
            let hint =
                "You might want to use EXECUTE ... INTO or EXECUTE CREATE TABLE ... AS instead.";
            Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, message).hint(hint))
        }
        _ => Ok(()),
    }
}

fn no_destination(command: Option<Command>) -> Error {
    let error = Error::new(SqlState::SYNTAX_ERROR, "query has no destination for result data");
    match command {
        Some(Command::Select) => {
            error.hint("If you want to discard the results of a SELECT, use PERFORM instead.")
        }
        _ => error,
    }
}

fn nothing_into() -> Error {
    Error::new(SqlState::SYNTAX_ERROR, "INTO used with a command that cannot return data")
}

fn no_rows(detail: Option<String>) -> Error {
    let error = Error::new(NO_DATA_FOUND, "query returned no rows");
    match detail {
        Some(detail) => error.detail(detail),
        None => error,
    }
}

fn too_many_rows(detail: Option<String>) -> Error {
    let error = Error::new(TOO_MANY_ROWS, "query returned more than one row")
        .hint("Make sure the query returns a single row, or use LIMIT 1.");
    match detail {
        Some(detail) => error.detail(detail),
        None => error,
    }
}

fn not_writable(name: &str) -> Error {
    let message = format!(
        "procedure parameter \"{name}\" is an output parameter but corresponding argument is not \
         writable"
    );
    Error::new(SqlState::SYNTAX_ERROR, message)
}
