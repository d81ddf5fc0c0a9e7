//! Statements that a function runs: PostgreSQL's server programming interface, in small.
//!
//! ```text
//!   outer statement ── calls ──▶ function ── Spi::execute ──▶ plan, run: rows
//!       its snapshot                          SessionHost::utility ─▶ change the catalog
//!       stays as it is                        each a command of the same transaction
//! ```
//!
//! A function's statements run in the transaction of the statement that calls it, one after the
//! other. Each sees the changes of those before it, in tables and in the catalog. The calling
//! statement sees none of them. Its snapshot is suspended and resumed
//! ([`steppe_txn::Txn::suspend_statement`]), and it goes on with the catalog of its plan. If the
//! function fails, the calling statement fails.
//!
//! The session gives the state in which statements are planned and run at that point
//! ([`SessionHost::frame`]), and runs statements without a plan ([`SessionHost::utility`]). A
//! function's DDL changes the catalog in the transaction itself ([`Transaction`]).

use crate::context::ExecContext;
use crate::partition::lock_mode;
use crate::prepare::{Planning, PreparedPlan, is_plannable, parse_one, prepare, run_in_place};
use crate::sink::RowSink;
use crate::statement::ExecEnv;
use crate::transaction::{StatementTxn, Transaction};
use std::sync::Arc;
use steppe_catalog::Catalog;
use steppe_functions::{Frame, SessionHost, UtilityCall};
use steppe_sql::ast::Statement;
use steppe_sql::bind::Params;
use steppe_sql::query::Command;
use steppe_txn::Txn;
use steppe_types::{Datum, Error, Oid, Result, SqlState};

/// The interface through which a running function runs statements.
pub struct Spi<'c> {
    cx: &'c mut ExecContext,
}

/// A statement that a function may run several times.
pub struct Prepared(PreparedPlan);

/// The result of a statement.
#[derive(Debug, Default)]
pub struct Answer {
    /// Its rows.
    pub rows: Vec<Box<[Datum]>>,
    /// The number of rows that it returned or changed.
    pub processed: u64,
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
    pub fn session(&self) -> &Arc<dyn SessionHost> {
        &self.cx.functions.session
    }

    /// The session's state that the function sees at this point.
    pub fn frame(&self) -> Result<Frame> {
        self.session().frame()
    }

    /// The catalog in force, which may be newer than the one that the calling statement was
    /// planned with.
    pub fn catalog_in_force(&mut self) -> Result<Arc<Catalog>> {
        Ok(self.cx.newer_catalog()?.unwrap_or_else(|| self.cx.functions.catalog.clone()))
    }

    /// Plans a statement with parameters of these types.
    pub fn prepare(&mut self, text: &str, types: &[Oid]) -> Result<Prepared> {
        let statement = Arc::new(parse_one(text)?.statement);
        plan(&**self.session(), &statement, &Arc::from(text), Params::fixed(types)).map(Prepared)
    }

    /// Runs a planned statement to its end.
    pub fn run(&mut self, prepared: &mut Prepared, params: &[Datum]) -> Result<Answer> {
        let (work_mem_bytes, temp) = (self.cx.work_mem_bytes, self.cx.temp()?);
        let session = self.session().clone();
        let (now, start) =
            (self.cx.functions.statement_timestamp, self.cx.functions.transaction_timestamp);
        self.lend(|txn| {
            let params: Arc<[Datum]> = params.into();
            loop {
                let Frame { names, io, .. } = lock(&mut prepared.0, &*session, txn)?;
                let env = ExecEnv {
                    session: session.clone(),
                    io,
                    catalog: names.catalog,
                    statement_timestamp: now,
                    transaction_timestamp: start,
                    work_mem_bytes,
                    temp: temp.clone(),
                };
                let (compiled, mut answer) = (&prepared.0.compiled, Answer::default());
                compiled.check_constants(Some(&params), &env.catalog)?;
                if let Some(rows) = run_in_place(compiled, &params, &env, txn, &mut answer)? {
                    answer.processed = rows;
                    return Ok(answer);
                }
            }
        })
    }

    /// Runs one statement, with a plan or without.
    pub fn execute(&mut self, text: &str) -> Result<Answer> {
        let statement = Arc::new(parse_one(text)?.statement);
        if !is_plannable(&statement) {
            self.in_transaction(|session, transaction| {
                let (txn, pending) = transaction.for_ddl();
                let (statement, source) = (&*statement, text);
                session.utility(UtilityCall { session, txn, pending, statement, source })
            })?;
            return Ok(Answer::default());
        }
        let prepared = plan(&**self.session(), &statement, &Arc::from(text), Params::fixed(&[]))?;
        self.run(&mut Prepared(prepared), &[])
    }

    /// The value of an expression over parameters: `$1 + $2`.
    pub fn value(&mut self, expression: &str, params: &[(Oid, Datum)]) -> Result<Datum> {
        let (types, values): (Vec<Oid>, Vec<Datum>) = params.iter().cloned().unzip();
        let mut prepared = self.prepare(&format!("SELECT {expression}"), &types)?;
        self.run(&mut prepared, &values)?.value()
    }

    /// Runs code in the transaction that is no statement with a plan. The calling statement is
    /// suspended meanwhile.
    pub fn in_transaction<T>(
        &mut self,
        f: impl FnOnce(&Arc<dyn SessionHost>, &mut Transaction) -> Result<T>,
    ) -> Result<T> {
        let session = Arc::clone(self.session());
        self.lend(|txn| f(&session, present(txn)?))
    }

    /// Lends the transaction out while the calling statement is suspended. Afterwards
    /// [`Self::frame`] includes all changes, also those of other transactions.
    fn lend<T>(&mut self, f: impl FnOnce(&mut Option<Transaction>) -> Result<T>) -> Result<T> {
        let Some(statement) = self.cx.take_txn() else {
            return Err(Error::not_supported("a function that runs statements in this context"));
        };
        let (mut transaction, view) = statement.into_parts();
        let outer = transaction.txn.suspend_statement();
        let mut lent = Some(transaction);
        let done = f(&mut lent);
        let lost = || Error::internal("the transaction was not given back");
        let mut transaction = lent.ok_or_else(lost)?;
        transaction.txn.resume_statement(outer);
        transaction.forget_no_changes();
        let done = done.and_then(|done| transaction.rebase(&**self.session()).map(|()| done));
        self.cx.lend_txn(Some(StatementTxn::with_view(transaction, view)));
        done
    }
}

impl Answer {
    /// The one value of the one row.
    pub fn value(self) -> Result<Datum> {
        let value = self.rows.first().and_then(|row| row.first()).cloned();
        value.ok_or_else(|| Error::internal("a statement with one value had none"))
    }
}

fn present(txn: &mut Option<Transaction>) -> Result<&mut Transaction> {
    txn.as_mut().ok_or_else(|| Error::internal("a function's statement has no transaction"))
}

/// 25006 if a READ ONLY transaction would run a command.
pub fn check_writable(txn: &Txn, command: &str) -> Result<()> {
    if !txn.is_read_only() {
        return Ok(());
    }
    let message = format!("cannot execute {command} in a read-only transaction");
    Err(Error::new(SqlState::READ_ONLY_SQL_TRANSACTION, message))
}

/// Plans a statement for the catalog in force.
fn plan(
    session: &dyn SessionHost,
    statement: &Arc<Statement>,
    source: &Arc<str>,
    params: Params,
) -> Result<PreparedPlan> {
    let frame = session.frame()?;
    let planning = Planning {
        names: &frame.names,
        io: &frame.io,
        planner: &frame.planner,
        older: frame.older.as_deref(),
        database: &frame.database,
        interrupts: &|| session.check_interrupts(),
        for_cursor: false,
        values: &[],
    };
    Ok(prepare(&planning, statement, source, params)?)
}

/// Locks the relations of a statement. Afterwards the statement is planned for the catalog in
/// force, which is returned.
fn lock(
    prepared: &mut PreparedPlan,
    session: &dyn SessionHost,
    txn: &mut Option<Transaction>,
) -> Result<Frame> {
    let transaction = present(txn)?;
    loop {
        transaction.rebase(session)?;
        if prepared.epoch != session.frame()?.names.catalog.epoch {
            let params = prepared.declared.clone();
            *prepared = plan(session, &prepared.statement, &prepared.source, params)?;
        }
        let planned = prepared.compiled.planned();
        if planned.command != Command::Select {
            check_writable(&transaction.txn, "data-modifying statements")?;
        }
        for (relation, mode) in &planned.relations {
            if let Some(wait) = transaction.txn.lock_relation(*relation, lock_mode(*mode))? {
                session.block_on(wait)?;
            }
        }
        // A change of a table before we had its lock has moved the epoch.
        transaction.rebase(session)?;
        let frame = session.frame()?;
        if frame.names.catalog.epoch == prepared.epoch {
            return Ok(frame);
        }
    }
}
