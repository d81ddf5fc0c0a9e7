//! Statements that a function runs: PostgreSQL's server programming interface, in small.
//!
//! ```text
//!   outer statement ── calls ──▶ function ── Spi::execute ──▶ plan, run: rows
//!       its snapshot                          Spi::ddl ─────▶ change the catalog
//!       stays as it is                        each a command of the same transaction
//! ```
//!
//! What it guarantees: a function's statements run in the transaction of the statement that
//! calls it, one after the other, and each sees what those before it did, in tables and in
//! the catalog. The calling statement sees none of it: its snapshot is suspended and resumed
//! ([`steppe_txn::Txn::suspend_statement`]), and it goes on with the catalog that it was planned
//! against. If the function fails, the calling statement does.
//!
//! Planning and the catalog belong to the session, which does its part through
//! [`SessionHost::plan_for_function`] and [`SessionHost::ddl_for_function`].

use crate::access::StatementTxn;
use crate::context::ExecContext;
use crate::ddl::{self, DdlContext};
use crate::env::{IoContext, SessionHost};
use crate::partition::lock_mode;
use crate::sink::RowSink;
use crate::statement::{CompiledStmt, ExecEnv, Execution, FetchStatus};
use std::sync::Arc;
use steppe_catalog::Catalog;
use steppe_spill::TempSpace;
use steppe_sql::ast::Statement;
use steppe_sql::parser;
use steppe_sql::query::Command;
use steppe_txn::Txn;
use steppe_types::{Datum, Error, Oid, Result, SqlState};

/// What a function's statements see of the session: the catalog in force, and settings.
#[derive(Clone)]
pub struct FunctionFrame {
    /// The catalog, with what the transaction has changed in it.
    pub catalog: Arc<Catalog>,
    /// Settings that text input and output depend on; its names are those of `catalog`.
    pub io: Arc<IoContext>,
}

/// What a session needs to run DDL for a function.
pub struct FunctionDdl<'a> {
    /// The transaction.
    pub txn: &'a mut Txn,
    /// The session itself.
    pub session: Arc<dyn SessionHost>,
    /// Where spill files go.
    pub temp: Arc<TempSpace>,
    /// The statement's text, for error positions.
    pub source: &'a str,
}

/// DDL that a function runs.
pub type DdlFn<'f> = dyn FnMut(&mut DdlContext<'_>) -> Result<()> + 'f;

/// A running function's way to statements.
pub struct Spi<'c> {
    cx: &'c mut ExecContext,
}

/// A statement that a function may run several times.
pub(crate) struct Prepared {
    statement: Arc<Statement>,
    source: Arc<str>,
    types: Box<[Oid]>,
    compiled: Arc<CompiledStmt>,
    epoch: u64,
}

/// What a statement came to.
#[derive(Debug, Default)]
pub(crate) struct Answer {
    /// Its rows.
    pub(crate) rows: Vec<Box<[Datum]>>,
    /// How many it returned or changed.
    pub(crate) processed: u64,
}

impl RowSink for Answer {
    fn row(&mut self, row: &[Datum]) -> Result<()> {
        self.rows.push(row.into());
        Ok(())
    }
}

impl<'c> Spi<'c> {
    /// For a function that is called in this execution.
    pub(crate) fn new(cx: &'c mut ExecContext) -> Spi<'c> {
        Spi { cx }
    }

    /// The session.
    pub(crate) fn session(&self) -> &Arc<dyn SessionHost> {
        &self.cx.functions.session
    }

    /// What the function sees at this point.
    pub(crate) fn frame(&self) -> Result<FunctionFrame> {
        self.session().function_frame()
    }

    /// The catalog in force, which may be newer than the one that the calling statement was
    /// planned with.
    pub(crate) fn catalog_in_force(&self) -> Arc<Catalog> {
        let planned = &self.cx.functions.catalog;
        self.session().newer_catalog(planned).unwrap_or_else(|| planned.clone())
    }

    /// Plans a statement with parameters of these types.
    pub(crate) fn prepare(&mut self, text: &str, types: &[Oid]) -> Result<Prepared> {
        let statement = Arc::new(single(text)?);
        let source: Arc<str> = Arc::from(text);
        let epoch = self.frame()?.catalog.epoch;
        let compiled = self.session().plan_for_function(&statement, &source, types)?;
        Ok(Prepared { statement, source, types: types.into(), compiled, epoch })
    }

    /// Runs a planned statement to its end.
    pub(crate) fn run(&mut self, prepared: &mut Prepared, params: &[Datum]) -> Result<Answer> {
        let (work_mem_bytes, temp) = (self.cx.work_mem_bytes, self.cx.temp()?);
        let session = self.session().clone();
        let (now, start) =
            (self.cx.functions.statement_timestamp, self.cx.functions.transaction_timestamp);
        self.in_transaction(|txn| {
            lock(prepared, &session, txn)?;
            let FunctionFrame { catalog, io } = session.function_frame()?;
            let env = ExecEnv {
                session,
                io,
                catalog,
                statement_timestamp: now,
                transaction_timestamp: start,
                work_mem_bytes,
                temp,
            };
            prepared.compiled.check_constants(Some(params), &env.catalog)?;
            present(txn)?.start_statement()?;
            let mut answer = Answer::default();
            let mut execution = Execution::start(&prepared.compiled, params.into(), &env, txn)?;
            match execution.fetch(txn, 0, &mut answer)? {
                FetchStatus::Done { rows } | FetchStatus::Suspended { rows } => {
                    answer.processed = rows;
                }
            }
            Ok(answer)
        })
    }

    /// Runs one statement, a query or DDL.
    pub(crate) fn execute(&mut self, text: &str) -> Result<Answer> {
        let statement = single(text)?;
        if ddl::is_ddl(&statement) {
            let command = ddl::command_name(&statement);
            self.ddl(command, text, |ctx| ddl::execute(&statement, ctx).map(|_| ()))?;
            return Ok(Answer::default());
        }
        let mut prepared = self.prepare(text, &[])?;
        self.run(&mut prepared, &[])
    }

    /// The value of an expression over parameters: `$1 + $2`.
    pub(crate) fn value(&mut self, expression: &str, params: &[(Oid, Datum)]) -> Result<Datum> {
        let (types, values): (Vec<Oid>, Vec<Datum>) = params.iter().cloned().unzip();
        let mut prepared = self.prepare(&format!("SELECT {expression}"), &types)?;
        self.run(&mut prepared, &values)?.value()
    }

    /// Changes the catalog. `command` is what a READ ONLY transaction would refuse it as.
    pub(crate) fn ddl<T>(
        &mut self,
        command: &str,
        source: &str,
        f: impl FnOnce(&mut DdlContext<'_>) -> Result<T>,
    ) -> Result<T> {
        let (session, temp) = (self.session().clone(), self.cx.temp()?);
        let (mut f, mut done) = (Some(f), None);
        self.in_transaction(|txn| {
            let txn = present(txn)?;
            if txn.is_read_only() {
                return Err(read_only(command));
            }
            txn.start_statement()?;
            let call = FunctionDdl { txn, session: session.clone(), temp, source };
            session.ddl_for_function(call, &mut |ctx| {
                let f = f.take().ok_or_else(|| Error::internal("DDL was run twice"))?;
                done = Some(f(ctx)?);
                Ok(())
            })
        })?;
        done.ok_or_else(|| Error::internal("the session has run no DDL"))
    }

    /// The same in a transaction apart, which commits at once. False: its locks on `table` could
    /// not be had, and nothing has been done.
    pub(crate) fn ddl_apart(&mut self, table: Oid, f: &mut DdlFn<'_>) -> Result<bool> {
        let (session, temp) = (self.session().clone(), self.cx.temp()?);
        session.ddl_apart(table, &session, temp, f)
    }

    /// Lends the transaction out while the calling statement is suspended.
    fn in_transaction<T>(&mut self, f: impl FnOnce(&mut Option<Txn>) -> Result<T>) -> Result<T> {
        let Some(StatementTxn { mut txn, view }) = self.cx.take_txn() else {
            return Err(Error::not_supported("a function that runs statements in this context"));
        };
        let outer = txn.suspend_statement();
        let mut lent = Some(txn);
        let done = f(&mut lent);
        let mut txn = lent.ok_or_else(|| Error::internal("the transaction was not given back"))?;
        txn.resume_statement(outer);
        self.cx.lend_txn(Some(StatementTxn { txn, view }));
        done
    }
}

impl Answer {
    /// The one value of the one row.
    pub(crate) fn value(self) -> Result<Datum> {
        let value = self.rows.first().and_then(|row| row.first()).cloned();
        value.ok_or_else(|| Error::internal("a statement with one value had none"))
    }
}

fn present(txn: &mut Option<Txn>) -> Result<&mut Txn> {
    txn.as_mut().ok_or_else(|| Error::internal("a function's statement has no transaction"))
}

fn single(text: &str) -> Result<Statement> {
    let mut statements = parser::parse(text)?;
    match (statements.pop(), statements.is_empty()) {
        (Some(parsed), true) => Ok(parsed.statement),
        _ => Err(Error::internal("a function's text is not one statement")),
    }
}

fn read_only(command: &str) -> Error {
    let message = format!("cannot execute {command} in a read-only transaction");
    Error::new(SqlState::READ_ONLY_SQL_TRANSACTION, message)
}

/// Locks what a statement touches. Afterwards it is planned for the catalog in force.
fn lock(
    prepared: &mut Prepared,
    session: &Arc<dyn SessionHost>,
    txn: &mut Option<Txn>,
) -> Result<()> {
    loop {
        let epoch = session.function_frame()?.catalog.epoch;
        if prepared.epoch != epoch {
            prepared.compiled = session.plan_for_function(
                &prepared.statement,
                &prepared.source,
                &prepared.types,
            )?;
            prepared.epoch = epoch;
        }
        let planned = prepared.compiled.planned();
        let txn = present(txn)?;
        if txn.is_read_only() && planned.command != Command::Select {
            return Err(read_only("data-modifying statements"));
        }
        for (relation, mode) in &planned.relations {
            if let Some(wait) = txn.lock_relation(*relation, lock_mode(*mode))? {
                session.block_on(wait)?;
            }
        }
        // A change of a table before we had its lock has moved the epoch.
        if session.function_frame()?.catalog.epoch == prepared.epoch {
            return Ok(());
        }
    }
}
