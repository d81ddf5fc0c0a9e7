//! LANGUAGE sql: functions whose bodies are statements (functions.c).
//!
//! A body is parsed once for a session. Each statement is planned when a call first runs it, so it
//! may use what a statement before it has made. The plans are kept with the routine; a call takes
//! a copy, which shares them, so calls may run within each other.
//!
//! The last statement that returns rows gives the result. For a function that returns one value
//! its first row is read, and no more of it is run than that needs. A set is given row by row to the
//! caller. A function that returns nothing drops all rows.

use crate::prepare::is_plannable;
use crate::routine::{CallTypes, Language, Routine};
use crate::sink::{Dropped, RowSink};
use crate::spi::{Prepared, Spi, SqlKind};
use parking_lot::Mutex;
use std::sync::Arc;
use steppe_catalog::objects::Function;
use steppe_catalog::{Catalog, FunctionRef, builtin};
use steppe_functions::{Frame, SessionHost};
use steppe_sql::ast::{CopyEndpoint, Statement, TransactionStmt};
use steppe_sql::bind::sql_function::{
    Arguments, BodyStatement, ResultShape, Returned, SqlFunctionBody, composite_result, parse_body,
    result_shape, returns_no_rows,
};
use steppe_sql::bind::typename::TypeNames;
use steppe_sql::bind::{BindContext, Params, Variables, bind_query, has_no_arbiter};
use steppe_types::{Datum, Error, Oid, Result, SqlState, oid};

/// The language.
pub(crate) struct SqlLanguage;

impl Language for SqlLanguage {
    fn name(&self) -> &'static str {
        "sql"
    }

    fn compile(
        &self,
        function: &FunctionRef,
        call: &Arc<CallTypes>,
        _: &mut Spi<'_>,
    ) -> Result<Arc<dyn Routine>> {
        let body = parse_body(function).map_err(|error| {
            let line = format!("SQL function \"{}\" during startup", function.name);
            in_body(error, function.source(), 0).within(line)
        })?;
        let plans = body.statements.iter().map(|_| None).collect();
        Ok(Arc::new(SqlRoutine {
            function: function.clone(),
            types: Arc::clone(call),
            body,
            plans: Mutex::new(plans),
        }))
    }

    fn validate(
        &self,
        function: &Function,
        frame: &Frame,
        session: &Arc<dyn SessionHost>,
    ) -> Result<()> {
        let _ = session;
        let context = |error: Error| match error.fields().position {
            Some(_) => error,
            None => error.within(format!("SQL function \"{}\"", function.name)),
        };
        check(function, frame).map_err(context)
    }
}

/// Binds a body for the declared types; one with polymorphic types is only parsed.
fn check(function: &Function, frame: &Frame) -> Result<()> {
    let body = parse_body(function)?;
    let is_polymorphic = |ty: &Oid| builtin::ty(*ty).is_some_and(|ty| ty.kind == b'p');
    if function.args.iter().any(is_polymorphic) {
        return Ok(());
    }
    let catalog = &frame.names.catalog;
    let result = Declared::of(function, &function.args, function.ret, None, catalog);
    let last = body.statements.len().checked_sub(1);
    for (i, statement) in body.statements.iter().enumerate() {
        let returned = (Some(i) == last).then(|| result.returned());
        if !is_plannable(&statement.statement) {
            if returned.is_some_and(|returned| !result.is_nothing(&returned)) {
                return Err(result.mismatch(frame));
            }
            continue;
        }
        let arguments = Arguments::of(function, &function.args, returned);
        let context = BindContext {
            catalog,
            search_path: &frame.names.path,
            io: &frame.io,
            source: &body.text,
        };
        let params = Params::variables(Arc::new(arguments));
        match bind_query(&context, &statement.statement, params) {
            Ok(_) => {}
            // The index may be made before the call.
            Err(error) if has_no_arbiter(&error.error) => {}
            Err(unbound) => return Err(unbound.into()),
        }
    }
    match last.is_none() && !result.is_nothing(&result.returned()) {
        true => Err(result.mismatch(frame)),
        false => Ok(()),
    }
}

/// The declared result of a function for a call.
struct Declared(Returned);

impl Declared {
    fn of(
        function: &Function,
        args: &[Oid],
        ret: Oid,
        columns: Option<crate::routine::Columns>,
        catalog: &Catalog,
    ) -> Declared {
        let columns = columns.or_else(|| composite_result(function, args, ret, catalog));
        Declared(Returned { ty: ret, columns, is_procedure: function.is_procedure() })
    }

    fn returned(&self) -> Returned {
        self.0.clone()
    }

    fn is_nothing(&self, returned: &Returned) -> bool {
        returned.ty == oid::VOID
    }

    fn mismatch(&self, frame: &Frame) -> Error {
        let names = TypeNames { catalog: &frame.names.catalog, path: &frame.names.path };
        returns_no_rows(&names.format(self.0.ty, -1))
    }
}

/// An error whose position, if it has one, is `before` characters further in the body.
fn in_body(mut error: Error, body: &str, before: u32) -> Error {
    if let Some(position) = error.fields().position {
        error = error.without_position().at(Some(position.saturating_add(before)));
        error.in_query(body);
    }
    error
}

/// A function that a session has compiled for some types.
struct SqlRoutine {
    function: FunctionRef,
    types: Arc<CallTypes>,
    body: SqlFunctionBody,
    /// The plans of the statements that a call has run.
    plans: Mutex<Box<[Option<Prepared>]>>,
}

/// The rows that a call takes from its last statement.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Wanted {
    FirstRow,
    AllRows,
}

impl Routine for SqlRoutine {
    fn call(&self, args: &[Datum], spi: &mut Spi<'_>) -> Result<Datum> {
        let mut first = FirstRow(None);
        let shape = self.run(args, Wanted::FirstRow, spi, &mut first)?;
        Ok(match (shape, first.0) {
            (ResultShape::Nothing, _) | (_, None) => Datum::Null,
            (ResultShape::Value, Some(row)) => row.first().cloned().unwrap_or(Datum::Null),
            (ResultShape::Row, Some(row)) => Datum::Record(row.into()),
        })
    }

    fn call_set(&self, args: &[Datum], spi: &mut Spi<'_>, sink: &mut dyn RowSink) -> Result<()> {
        let width = self.types.columns.as_ref().map(|columns| columns.len());
        let mut rows = Rows { sink, width, row: Vec::new() };
        self.run(args, Wanted::AllRows, spi, &mut rows).map(|_| ())
    }
}

impl SqlRoutine {
    /// Runs all statements. The rows of the last one go to the sink.
    fn run(
        &self,
        args: &[Datum],
        wanted: Wanted,
        spi: &mut Spi<'_>,
        sink: &mut dyn RowSink,
    ) -> Result<ResultShape> {
        let mut shape = ResultShape::Nothing;
        let last = self.body.statements.len().checked_sub(1);
        for number in 0..self.body.statements.len() {
            let is_last = Some(number) == last;
            let done = self.statement(number, is_last, args, wanted, spi, sink);
            shape = done.map_err(|error| self.in_statement(number, error))?;
        }
        match last {
            None if self.types.ret != oid::VOID => Err(self.no_rows(spi)?),
            _ => Ok(shape),
        }
    }

    fn statement(
        &self,
        number: usize,
        is_last: bool,
        args: &[Datum],
        wanted: Wanted,
        spi: &mut Spi<'_>,
        sink: &mut dyn RowSink,
    ) -> Result<ResultShape> {
        let statement = &self.body.statements[number];
        let kept = self.plans.lock()[number].clone();
        let mut prepared = match kept {
            Some(prepared) => prepared,
            None => self.prepare(statement, is_last, spi)?,
        };
        let is_nothing = !is_last || self.types.ret == oid::VOID;
        let shape = match is_nothing {
            true => ResultShape::Nothing,
            false if prepared.command().is_none() || !prepared.returns_rows() => {
                return Err(self.no_rows(spi)?);
            }
            false => {
                let types: Vec<Oid> = prepared.columns().iter().map(|c| c.ty.oid).collect();
                let catalog = spi.catalog_in_force()?;
                result_shape(&catalog, &self.returned(&catalog), &types)
            }
        };
        match (is_nothing, wanted) {
            (true, _) => spi.run_limited(&mut prepared, args, 0, &mut Dropped)?,
            (false, Wanted::FirstRow) => spi.run_limited(&mut prepared, args, 1, sink)?,
            (false, Wanted::AllRows) => spi.run_limited(&mut prepared, args, 0, sink)?,
        };
        self.plans.lock()[number] = Some(prepared);
        Ok(shape)
    }

    fn prepare(
        &self,
        statement: &BodyStatement,
        is_last: bool,
        spi: &mut Spi<'_>,
    ) -> Result<Prepared> {
        refuse_statement(&statement.statement)?;
        let catalog = spi.catalog_in_force()?;
        let returned = is_last.then(|| self.returned(&catalog));
        let arguments = Arguments::of(&self.function, &self.types.args, returned);
        let variables: Arc<dyn Variables> = Arc::new(arguments);
        spi.prepare_with(&statement.text, SqlKind::Statement, variables)
    }

    fn returned(&self, catalog: &Catalog) -> Returned {
        let CallTypes { args, ret, columns, .. } = &*self.types;
        Declared::of(&self.function, args, *ret, columns.clone(), catalog).0
    }

    /// 42P13: the last statement returns no rows.
    fn no_rows(&self, spi: &mut Spi<'_>) -> Result<Error> {
        let frame = spi.frame()?;
        Ok(Declared(self.returned(&frame.names.catalog)).mismatch(&frame))
    }

    /// The error of a statement, with the place in the body.
    fn in_statement(&self, number: usize, error: Error) -> Error {
        let before = self.body.statements[number].before;
        let line = format!("SQL function \"{}\" statement {}", self.function.name, number + 1);
        in_body(error, &self.body.text, before).within(line)
    }
}

/// 0A000: COMMIT and its like are not allowed in a function, nor is COPY with the client.
fn refuse_statement(statement: &Statement) -> Result<()> {
    use TransactionStmt::{
        Begin, Commit, CommitPrepared, Prepare, Release, Rollback, RollbackPrepared, RollbackTo,
        Savepoint,
    };
    if let Statement::Copy(copy) = statement
        && copy.endpoint == CopyEndpoint::Stdio
    {
        let message = "cannot COPY to/from client in an SQL function";
        return Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, message));
    }
    let Statement::Transaction(transaction) = statement else { return Ok(()) };
    let command = match transaction {
        Begin { start: true, .. } => "START TRANSACTION",
        Begin { .. } => "BEGIN",
        Commit { .. } => "COMMIT",
        Rollback { .. } | RollbackTo(_) => "ROLLBACK",
        Savepoint(_) => "SAVEPOINT",
        Release(_) => "RELEASE",
        Prepare(_) => "PREPARE TRANSACTION",
        CommitPrepared(_) => "COMMIT PREPARED",
        RollbackPrepared(_) => "ROLLBACK PREPARED",
    };
    let message = format!("{command} is not allowed in an SQL function");
    Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, message))
}

/// Keeps the first row.
struct FirstRow(Option<Vec<Datum>>);

impl RowSink for FirstRow {
    fn row(&mut self, row: &[Datum]) -> Result<()> {
        self.0.get_or_insert_with(|| row.to_vec());
        Ok(())
    }

    fn take_back(&mut self) -> bool {
        self.0 = None;
        true
    }
}

/// Gives rows on. A value that is a row becomes its columns, as the caller has them.
struct Rows<'s> {
    sink: &'s mut dyn RowSink,
    /// The number of columns of a composite result.
    width: Option<usize>,
    row: Vec<Datum>,
}

impl RowSink for Rows<'_> {
    fn row(&mut self, row: &[Datum]) -> Result<()> {
        let (Some(width), [value]) = (self.width, row) else { return self.sink.row(row) };
        match value {
            Datum::Record(columns) => self.sink.row(columns),
            Datum::Null if width != 1 => {
                self.row.clear();
                self.row.resize(width, Datum::Null);
                self.sink.row(&self.row)
            }
            _ => self.sink.row(row),
        }
    }

    fn take_back(&mut self) -> bool {
        self.sink.take_back()
    }
}
