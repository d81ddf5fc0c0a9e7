//! What the executor needs from the session around it.
//!
//! The executor knows no sockets, settings or sequences: the server hands it an
//! [`ExecEnv`] for each execution, whose [`SessionServices`] answer the functions
//! that look outside (nextval, current_setting, advisory locks …).

use crate::modify::KeyCheck;
use crate::spi::{DdlFn, FunctionDdl, FunctionFrame};
use crate::statement::CompiledStmt;
use std::sync::Arc;
use steppe_catalog::{Catalog, Relation, Sequences};
use steppe_counting::progress::Progress;
use steppe_spill::TempSpace;
use steppe_sql::ast::Statement;
use steppe_txn::{LockWait, RowId};
use steppe_types::row::RowLayout;
use steppe_types::{Datum, Error, Oid, Result};

pub use crate::io::IoContext;
use crate::vector::ResultColumns;

/// Receives the rows of a statement.
pub trait RowSink: Send {
    /// One row, in the statement's column order.
    fn row(&mut self, row: &[Datum]) -> Result<()>;

    /// One row as it is stored, of which the columns `columns` (positions in `layout`) make up
    /// the output. Returns false if the sink wants [`RowSink::row`] instead, e.g. because a
    /// column is kept out of line.
    fn raw_row(&mut self, row: &[u8], layout: &RowLayout, columns: &[usize]) -> Result<bool> {
        let _ = (row, layout, columns);
        Ok(false)
    }

    /// Rows that the last node of the plan has made as columns.
    fn columns(&mut self, rows: &ResultColumns<'_>) -> Result<()> {
        let mut row = Vec::new();
        for i in 0..rows.len() {
            row.clear();
            rows.row_into(i, &mut row)?;
            self.row(&row)?;
        }
        Ok(())
    }

    /// Forgets all rows that it was handed. Returns false if some have gone further already.
    fn take_back(&mut self) -> bool {
        false
    }
}

/// Advisory lock key: one bigint, or two integers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AdvisoryKey {
    /// `pg_advisory_lock(bigint)`
    Single(i64),
    /// `pg_advisory_lock(integer, integer)`
    Pair(i32, i32),
}

/// How an advisory lock is taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AdvisoryMode {
    /// `…_shared`
    pub shared: bool,
    /// `pg_advisory_xact_…`: held until the transaction ends.
    pub transaction: bool,
    /// `pg_try_…`: don't wait.
    pub try_only: bool,
}

/// What a session does for the functions a statement calls.
///
/// The defaults refuse with 0A000, so that a test environment implements only
/// what it needs.
pub trait SessionServices: Send + Sync {
    /// 57014 and its kin, if the statement is to stop.
    fn check_interrupts(&self) -> Result<()> {
        Ok(())
    }

    /// Waits for a lock in place, letting other sessions of the worker go on.
    fn block_on(&self, wait: LockWait) -> Result<()> {
        wait.wait_blocking()
    }

    /// A command begins whose progress is shown as long as the answer lives.
    fn begin_progress(&self, progress: Progress) -> Arc<Progress> {
        Arc::new(progress)
    }

    /// Does what may take long, letting other sessions of the worker go on.
    fn in_place(&self, work: &mut dyn FnMut()) {
        work();
    }

    /// The catalog in force, if it is newer than the one the statement was planned against: asked
    /// after a lock was taken in the middle of a statement.
    fn newer_catalog(&self, planned: &Arc<Catalog>) -> Option<Arc<Catalog>> {
        let _ = planned;
        None
    }

    /// Keeps the keys whose constraints are deferred, and gives the others back, to be checked at
    /// once.
    fn defer_key_checks(&self, checks: Vec<KeyCheck>) -> Vec<KeyCheck> {
        checks
    }

    /// The row of a table that a cursor is on; `None` if the cursor's row is in another table.
    fn cursor_row(
        &self,
        cursor: &str,
        table: &Relation,
        catalog: &Catalog,
    ) -> Result<Option<RowId>> {
        let _ = (cursor, table, catalog);
        Err(Error::not_supported("WHERE CURRENT OF in this context"))
    }

    /// What a function's statements see of the session at this point.
    fn function_frame(&self) -> Result<FunctionFrame> {
        Err(Error::not_supported("a function that runs statements in this context"))
    }

    /// Plans a statement that a function runs, with parameters of these types, against the
    /// catalog of [`SessionServices::function_frame`].
    fn plan_for_function(
        &self,
        statement: &Arc<Statement>,
        source: &Arc<str>,
        params: &[Oid],
    ) -> Result<Arc<CompiledStmt>> {
        let _ = (statement, source, params);
        Err(Error::not_supported("a function that runs statements in this context"))
    }

    /// Runs DDL for a function. Afterwards its changes are in force for what the function does
    /// next, and for the session's later statements.
    fn ddl_for_function(&self, call: FunctionDdl<'_>, f: &mut DdlFn<'_>) -> Result<()> {
        let _ = (call, f);
        Err(Error::not_supported("a function that changes the catalog in this context"))
    }

    /// Runs DDL that adds partitions to a table in a transaction of its own, which is committed when
    /// this returns. False: it could not have its locks, because this session's are in the way or
    /// others' for longer than a deadlock may last; nothing was done.
    fn ddl_apart(
        &self,
        table: Oid,
        services: &Arc<dyn SessionServices>,
        temp: Arc<TempSpace>,
        f: &mut DdlFn<'_>,
    ) -> Result<bool> {
        let _ = (table, services, temp, f);
        Err(Error::not_supported("a transaction apart in this context"))
    }

    /// What functions see from now on: what a statement has made of the catalog so far.
    fn see_catalog(&self, catalog: &Arc<Catalog>) {
        let _ = catalog;
    }

    /// The states of the sequences, for DDL that has locked the sequence that it changes.
    fn sequences(&self) -> Result<&Sequences> {
        Err(Error::not_supported("sequences in this context"))
    }

    /// nextval by the sequence's OID. It, currval and setval wait for a transaction that changes the
    /// sequence, and keep others from changing it until this one ends.
    fn nextval(&self, sequence: Oid) -> Result<i64> {
        let _ = sequence;
        Err(Error::not_supported("nextval in this context"))
    }

    /// currval by the sequence's OID.
    fn currval(&self, sequence: Oid) -> Result<i64> {
        let _ = sequence;
        Err(Error::not_supported("currval in this context"))
    }

    /// lastval.
    fn lastval(&self) -> Result<i64> {
        Err(Error::not_supported("lastval in this context"))
    }

    /// setval(sequence, value, is_called).
    fn setval(&self, sequence: Oid, value: i64, is_called: bool) -> Result<i64> {
        let _ = (sequence, value, is_called);
        Err(Error::not_supported("setval in this context"))
    }

    /// current_setting; `None` if there is no such setting.
    fn setting(&self, name: &str) -> Result<Option<String>> {
        let _ = name;
        Ok(None)
    }

    /// set_config, `None` resets: returns the new value as shown.
    fn set_setting(&self, name: &str, value: Option<&str>, local: bool) -> Result<String> {
        let _ = (name, value, local);
        Err(Error::not_supported("set_config in this context"))
    }

    /// pg_backend_pid.
    fn backend_pid(&self) -> i32 {
        0
    }

    /// current_database.
    fn database(&self) -> Arc<str> {
        Arc::from(steppe_catalog::DATABASE_NAME)
    }

    /// current_user and its OID.
    fn current_user(&self) -> (Arc<str>, Oid) {
        (Arc::from(steppe_catalog::SUPERUSER_NAME), steppe_catalog::BOOTSTRAP_SUPERUSER)
    }

    /// session_user.
    fn session_user(&self) -> Arc<str> {
        self.current_user().0
    }

    /// The effective search path, first the creation schema; implicit schemas on demand.
    fn search_path(&self, include_implicit: bool) -> Vec<Arc<str>> {
        let _ = include_implicit;
        vec![Arc::from("public")]
    }

    /// clock_timestamp: microseconds since 2000-01-01 UTC.
    fn clock_timestamp(&self) -> i64 {
        0
    }

    /// A uniformly distributed number from 0 (inclusive) to 1 (exclusive).
    fn random(&self) -> f64 {
        0.0
    }

    /// setseed
    fn set_seed(&self, seed: f64) -> Result<()> {
        let _ = seed;
        Ok(())
    }

    /// Sixteen random bytes for UUIDs.
    fn random_bytes(&self) -> [u8; 16] {
        [0; 16]
    }

    /// Takes an advisory lock; false if `try_only` and it is not free.
    fn advisory_lock(&self, key: AdvisoryKey, mode: AdvisoryMode) -> Result<bool> {
        let _ = (key, mode);
        Err(Error::not_supported("advisory locks in this context"))
    }

    /// Releases a session-level advisory lock; false if it was not held.
    fn advisory_unlock(&self, key: AdvisoryKey, shared: bool) -> Result<bool> {
        let _ = (key, shared);
        Err(Error::not_supported("advisory locks in this context"))
    }

    /// Releases all session-level advisory locks.
    fn advisory_unlock_all(&self) {}

    /// pg_sleep, interruptible.
    fn sleep(&self, micros: i64) -> Result<()> {
        let _ = micros;
        Ok(())
    }

    /// pg_cancel_backend (false) and pg_terminate_backend (true).
    fn signal_backend(&self, pid: i32, terminate: bool) -> Result<bool> {
        let _ = (pid, terminate);
        Ok(false)
    }

    /// The rows of a virtual catalog table, in its column order.
    fn virtual_rows(&self, relation: Oid) -> Result<Vec<Vec<Datum>>> {
        let _ = relation;
        Err(Error::not_supported("this system catalog"))
    }

    /// Functions of the catalog and the server that only the session can compute
    /// (pg_get_indexdef, pg_relation_size …), by prosrc. `None`: unknown here too.
    fn call(&self, source: &str, args: &[Datum]) -> Option<Result<Datum>> {
        let _ = (source, args);
        None
    }

    /// The running thread is going to help with the statement, beside those that run the sessions'.
    fn begin_helping(&self) {}

    /// The running thread has helped.
    fn end_helping(&self) {}

    /// Sends a notice to the client.
    fn notice(&self, notice: Error) {
        let _ = notice;
    }
}

/// Services that refuse everything: for constant folding, where only pure functions run.
pub struct NoServices;

impl SessionServices for NoServices {}

/// What functions see of the session.
#[derive(Clone)]
pub struct FnContext {
    /// The session's services.
    pub services: Arc<dyn SessionServices>,
    /// Settings that text input and output depend on.
    pub io: Arc<IoContext>,
    /// The catalog the statement was planned against.
    pub catalog: Arc<Catalog>,
    /// statement_timestamp: microseconds since 2000-01-01 UTC.
    pub statement_timestamp: i64,
    /// now, transaction_timestamp.
    pub transaction_timestamp: i64,
}

impl FnContext {
    /// A context in which only pure functions work.
    pub fn pure(catalog: Arc<Catalog>) -> FnContext {
        FnContext {
            services: Arc::new(NoServices),
            io: Arc::new(IoContext::default()),
            catalog,
            statement_timestamp: 0,
            transaction_timestamp: 0,
        }
    }
}
