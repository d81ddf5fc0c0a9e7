//! What the executor and DDL ask of the session around them, besides what functions ask.
//!
//! The executor knows no sockets, settings or sequences: the server hands it an
//! [`ExecEnv`](crate::ExecEnv) for each execution, whose [`SessionHost`] waits for locks, keeps
//! what is checked later, and knows which catalog is in force. The defaults are those of no
//! session, as [`Host`]'s are.

use super::host::Host;
use crate::spi::{DdlFn, FunctionDdl, FunctionFrame};
use crate::statement::CompiledStmt;
use std::sync::Arc;
use steppe_catalog::{Catalog, Relation, Sequences};
use steppe_counting::progress::Progress;
use steppe_spill::TempSpace;
use steppe_sql::ast::Statement;
use steppe_txn::{LockWait, RowId};
use steppe_types::{Datum, Error, Oid, Result};

/// A row's key that another row may have, too.
#[derive(Clone, Debug)]
pub struct KeyCheck {
    /// The index.
    pub index: Oid,
    /// The key, as it is stored there.
    pub key: Box<[u8]>,
    /// The row.
    pub row: RowId,
}

/// What a session does for the statements that it runs.
pub trait SessionHost: Host {
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
    /// catalog of [`SessionHost::function_frame`].
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
        session: &Arc<dyn SessionHost>,
        temp: Arc<TempSpace>,
        f: &mut DdlFn<'_>,
    ) -> Result<bool> {
        let _ = (table, session, temp, f);
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

    /// The rows of a virtual catalog table, in its column order.
    fn virtual_rows(&self, relation: Oid) -> Result<Vec<Vec<Datum>>> {
        let _ = relation;
        Err(Error::not_supported("this system catalog"))
    }

    /// The running thread is going to help with the statement, beside those that run the sessions'.
    fn begin_helping(&self) {}

    /// The running thread has helped.
    fn end_helping(&self) {}
}

/// No session: for constant folding, where only pure functions run.
pub struct NoSession;

impl Host for NoSession {}

impl SessionHost for NoSession {}
