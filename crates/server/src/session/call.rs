//! CALL and DO (ExecuteCallStmt and ExecuteDoStmt in src/backend/commands/functioncmds.c).
//!
//! Outside a transaction block the procedure may end the transaction. For that the session is lent
//! to it as [`TransactionControl`]. Each transaction that it begins is an implicit one, not a
//! transaction block.

use std::sync::Arc;

use steppe_exec::routine::{BoundCall, bind_call, call_procedure, run_inline};
use steppe_exec::{Transaction, TransactionControl};
use steppe_sql::ast::{CallStmt, DoStmt, TransactionModes};
use steppe_sql::bind::Params;
use steppe_sql::parser::prosrc;
use steppe_sql::plan::ResultColumn;
use steppe_types::{Error, Oid, Result};

use super::Session;
use super::explain::BoundParams;
use super::sink::ResultFormats;
use super::tag::CommandTag;
use crate::services::now_micros;
use crate::settings::Isolation;

impl Session {
    /// CALL. A procedure with OUT arguments answers one row.
    pub(super) fn call(
        &mut self,
        call: &CallStmt,
        source: &str,
        formats: &ResultFormats,
        describe: bool,
        bound: &BoundParams,
    ) -> Result<CommandTag> {
        let procedure = self.bound_call(call, source, bound.declared())?;
        let row = self.run_procedural(|env, txn, control| {
            call_procedure(&procedure, &bound.values, env, txn, control)
        })?;
        if let Some(row) = row {
            self.put_rows(procedure.columns(), &[row], formats, describe)?;
        }
        Ok(CommandTag::Plain("CALL"))
    }

    /// The columns of a CALL's row; `None` if it has none.
    pub(super) fn call_columns(&self, call: &CallStmt) -> Result<Option<Vec<ResultColumn>>> {
        let columns = self.bound_call(call, "", Params::variable(&[]))?.columns().to_vec();
        Ok((!columns.is_empty()).then_some(columns))
    }

    /// The types of a CALL's parameters. A type that is not declared is inferred.
    pub(super) fn call_params(
        &mut self,
        call: &CallStmt,
        source: &str,
        declared: &[Oid],
    ) -> Result<Arc<[Oid]>> {
        self.start_transaction()?;
        self.refresh_names();
        let bound = self.bound_call(call, source, Params::variable(declared))?;
        Ok(bound.param_types().into())
    }

    fn bound_call(&self, call: &CallStmt, source: &str, params: Params) -> Result<BoundCall> {
        let (names, io) = (&self.namespace.names, &self.statement.env.io);
        bind_call(names, io, call, source, params)
    }

    /// DO.
    pub(super) fn run_do(&mut self, stmt: &DoStmt, source: &str) -> Result<CommandTag> {
        let language = stmt.language.as_deref().unwrap_or("plpgsql");
        let done = self.run_procedural(|env, txn, control| {
            run_inline(language, &stmt.body, env, txn, control)
        });
        done.map_err(|error| prosrc::in_command(error, &stmt.body, source))?;
        Ok(CommandTag::Plain("DO"))
    }

    /// Runs code that may end the transaction unless a block is open.
    fn run_procedural<T>(
        &mut self,
        run: impl FnOnce(
            &steppe_exec::ExecEnv,
            &mut Option<Transaction>,
            Option<&mut dyn TransactionControl>,
        ) -> Result<T>,
    ) -> Result<T> {
        self.start_statement()?;
        let is_atomic = self.in_block_of_any_kind();
        let env = self.statement.env.clone();
        let mut txn = self.transaction.txn.take();
        let control = (!is_atomic).then_some(&mut *self as &mut dyn TransactionControl);
        let done = run(&env, &mut txn, control);
        if txn.is_some() {
            self.transaction.txn = txn;
        }
        let done = done?;
        self.end_statement();
        self.refresh_names();
        Ok(done)
    }

    /// Ends the transaction, and begins another one.
    fn next_transaction(&mut self, commit: bool, chain: bool) -> Result<()> {
        let modes = self.transaction_modes();
        match commit {
            true => self.commit()?,
            false => self.rollback()?,
        }
        self.start_transaction()?;
        // This transaction begins within a statement, so its time is not the statement's.
        self.statement.env.transaction_timestamp = now_micros();
        if chain {
            self.set_transaction_modes(&modes)?;
        }
        self.refresh_names();
        // The one snapshot of the transaction belongs to the catalog of its beginning.
        let has_one = matches!(
            self.settings.live.default_isolation,
            Isolation::RepeatableRead | Isolation::Serializable
        );
        if has_one || chain {
            self.start_statement()?;
        }
        Ok(())
    }

    fn lost_transaction() -> Error {
        Error::internal("a procedure has lost its transaction")
    }
}

impl TransactionControl for Session {
    fn end(&mut self, transaction: Transaction, commit: bool, chain: bool) -> Result<Transaction> {
        self.transaction.txn = Some(transaction);
        self.next_transaction(commit, chain)?;
        self.transaction.txn.take().ok_or_else(Session::lost_transaction)
    }

    fn now(&self) -> i64 {
        self.statement.env.transaction_timestamp
    }

    fn set_modes(
        &mut self,
        transaction: Transaction,
        modes: &TransactionModes,
    ) -> (Option<Transaction>, Result<()>) {
        self.transaction.txn = Some(transaction);
        let done = self.set_transaction_modes(modes);
        (self.transaction.txn.take(), done)
    }
}
