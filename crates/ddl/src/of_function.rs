//! Changes of the catalog that a function makes.
//!
//! ```text
//!   function ── Spi::execute ──▶ SessionHost::utility ──▶ utility ─┐
//!            ── SpiDdl::ddl ──────────────────────────────────────┴▶ change, in the transaction
//!            ── apart ──▶ an autonomous transaction, committed at once
//! ```
//!
//! A change by a function is visible to the function's next statements and to the session's later
//! ones, as if the client had made it. The statement that calls the function goes on with the
//! catalog that it was planned against.

use super::{DdlContext, Origin, command_name, detaches_concurrently, execute, is_ddl, truncated};
use std::sync::Arc;
use steppe_catalog::Relation;
use steppe_exec::{Spi, check_writable, has_truncate_triggers};
use steppe_functions::{SessionHost, UtilityCall};
use steppe_sql::ast::{IntoClause, Statement, TruncateStmt};
use steppe_sql::plan::ResultColumn;
use steppe_txn::{IsolationLevel, RelationLockMode, Txn};
use steppe_types::{Error, Oid, Result, SqlState};

/// Changes the catalog in the transaction of the statement that calls the function. A READ ONLY
/// transaction refuses it as `command`.
pub fn change<T>(
    session: &Arc<dyn SessionHost>,
    origin: Origin<'_>,
    command: &str,
    f: impl FnOnce(&mut DdlContext<'_>) -> Result<T>,
) -> Result<T> {
    check_writable(origin.txn, command)?;
    origin.txn.start_statement()?;
    let (store, frame) = (session.store()?, session.frame()?);
    // `Spi::in_transaction` runs the statements for nodes.
    let origin = Origin { reaches_nodes: true, ..origin };
    let mut context = DdlContext::new(store, &frame, session, origin);
    let (mut f, mut done) = (Some(f), None);
    session.in_place(&mut || done = f.take().map(|f| context.run(f)));
    done.unwrap_or_else(|| Err(no_ddl()))
}

/// Adds partitions to a table in a transaction of its own, which is committed when this returns.
/// `None` if it could not acquire its locks, and nothing was done. Then this session's transaction
/// holds a conflicting lock, or another one does for longer than a deadlock may last.
pub fn apart<T>(
    session: &Arc<dyn SessionHost>,
    table: Oid,
    f: impl FnOnce(&mut DdlContext<'_>) -> Result<T>,
) -> Result<Option<T>> {
    let Some(handle) = session.session_apart(table)? else { return Ok(None) };
    let mut txn = Txn::begin(&handle, IsolationLevel::ReadCommitted, false);
    txn.start_statement()?;
    let (store, frame, mut pending) = (session.store()?, session.frame()?, None);
    let parent_lock = RelationLockMode::ShareUpdateExclusive;
    let origin = Origin { parent_lock, ..Origin::new(&mut txn, &mut pending) };
    let mut context = DdlContext::new(store, &frame, session, origin);
    let (mut f, mut done) = (Some(f), None);
    session.in_place(&mut || done = f.take().map(|f| context.run(f)));
    let done = match done.unwrap_or_else(|| Err(no_ddl())) {
        Ok(done) => done,
        Err(error) => {
            txn.rollback()?;
            return match error.sqlstate() == SqlState::LOCK_NOT_AVAILABLE {
                true => Ok(None),
                false => Err(error),
            };
        }
    };
    let Some(changes) = pending.filter(|changes| !changes.is_empty()) else {
        txn.rollback()?;
        return Ok(Some(done));
    };
    let commit = txn.commit_with(|| store.publish(&changes))?;
    session.must_be_durable(commit.lsn);
    Ok(Some(done))
}

/// 0A000 for any statement without a plan in a function that is not VOLATILE (CommandIsReadOnly).
pub fn check_volatile(call: &UtilityCall<'_>) -> Result<()> {
    if !call.is_read_only {
        return Ok(());
    }
    let command = command_name(call.statement);
    let message = format!("{command} is not allowed in a non-volatile function");
    Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, message))
}

/// Runs a statement of [`SessionHost::utility`] if it is DDL. False: it is not.
pub fn utility(call: UtilityCall<'_>) -> Result<bool> {
    let UtilityCall { session, txn, pending, statement, source, mut in_use, .. } = call;
    if !is_ddl(statement) {
        return Ok(false);
    }
    let command = command_name(statement);
    if let Some(command) = ends_transactions(statement) {
        return Err(not_in_function(command));
    }
    in_use.extend(session.relations_in_use());
    let origin = Origin { source, in_use, ..Origin::new(txn, pending) };
    let run = |context: &mut DdlContext<'_>| {
        if let Statement::Truncate(truncate) = statement {
            check_fires_nothing(context, truncate)?;
        }
        if let Statement::Reindex(reindex) = statement
            && let Some((command, of)) = super::reindexes_many(context, reindex)?
        {
            let error = not_in_function(command);
            return Err(match of {
                Some(of) => error.context(of),
                None => error,
            });
        }
        execute(statement, context)
    };
    change(session, origin, command, run).map(|_| true)
}

/// Makes the table of [`SessionHost::create_table_as`].
pub fn create_table_as(
    call: UtilityCall<'_>,
    into: &IntoClause,
    columns: &[ResultColumn],
    if_not_exists: bool,
) -> Result<Option<Arc<Relation>>> {
    let UtilityCall { session, txn, pending, source, .. } = call;
    let origin = Origin { source, ..Origin::new(txn, pending) };
    change(session, origin, "CREATE TABLE AS", |context| {
        super::create_table_as(context, into, columns, if_not_exists)
    })
}

/// DISCARD TEMP in a function.
pub fn discard_temporary(call: UtilityCall<'_>) -> Result<()> {
    let UtilityCall { session, txn, pending, source, mut in_use, .. } = call;
    in_use.extend(session.relations_in_use());
    let origin = Origin { source, in_use, ..Origin::new(txn, pending) };
    change(session, origin, "DISCARD TEMP", super::discard_temporary)
}

/// The command, if it needs transactions of its own (PreventInTransactionBlock).
fn ends_transactions(statement: &Statement) -> Option<&'static str> {
    match statement {
        Statement::Vacuum(vacuum) if vacuum.is_vacuum => Some("VACUUM"),
        Statement::CreateIndex(create) if create.concurrently => Some("CREATE INDEX CONCURRENTLY"),
        Statement::Drop(drop) if drop.concurrently => Some("DROP INDEX CONCURRENTLY"),
        other if detaches_concurrently(other).is_some() => {
            Some("ALTER TABLE ... DETACH CONCURRENTLY")
        }
        _ => None,
    }
}

/// 0A000 for a TRUNCATE of tables with triggers for it, which only the session fires.
fn check_fires_nothing(context: &mut DdlContext<'_>, truncate: &TruncateStmt) -> Result<()> {
    match truncated(context, truncate)?.iter().any(|table| has_truncate_triggers(table)) {
        true => {
            Err(Error::not_supported("TRUNCATE of a table with TRUNCATE triggers in a function"))
        }
        false => Ok(()),
    }
}

/// Changes of the catalog by a function that runs statements.
pub trait SpiDdl {
    /// Changes the catalog. `command` is what a READ ONLY transaction refuses it as.
    fn ddl<T>(
        &mut self,
        command: &str,
        source: &str,
        f: impl FnOnce(&mut DdlContext<'_>) -> Result<T>,
    ) -> Result<T>;
}

impl SpiDdl for Spi<'_> {
    fn ddl<T>(
        &mut self,
        command: &str,
        source: &str,
        f: impl FnOnce(&mut DdlContext<'_>) -> Result<T>,
    ) -> Result<T> {
        self.in_transaction(|session, transaction| {
            let (txn, pending) = transaction.for_ddl();
            change(session, Origin { source, ..Origin::new(txn, pending) }, command, f)
        })
    }
}

/// 25001: the command needs transactions of its own.
fn not_in_function(command: &str) -> Error {
    let message = format!("{command} cannot be executed from a function");
    Error::new(SqlState::ACTIVE_SQL_TRANSACTION, message)
}

fn no_ddl() -> Error {
    Error::internal("the session has run no DDL")
}
