//! Transactions as clients see them (src/backend/access/transam/xact.c).
//!
//! ```text
//!               BEGIN                      error
//!   Idle ──────────────► Explicit ───────────────────► Failed
//!    │ statement             │ COMMIT, ROLLBACK           │ ROLLBACK (COMMIT too)
//!    ▼                       ▼                            ▼
//!   Implicit ── its end ──► Idle ◄────────────────────────┘
//! ```
//!
//! `Implicit` is the transaction of a statement outside a block, of several statements in one Query
//! message, or of the extended protocol's messages up to a Sync. In `Failed` the engine's
//! transaction is over and its locks are free. With savepoints it is rolled back to the innermost
//! one instead, so that ROLLBACK TO can continue from there.

mod modes;
mod nodes;
mod savepoints;

use std::sync::Arc;
use std::sync::atomic::Ordering;

use steppe_catalog::{Catalog, CatalogChanges};
use steppe_counting::accesses;
use steppe_exec::Transaction;
use steppe_sql::ast::{self, TransactionModes, TransactionStmt};
use steppe_txn::{Interrupt, Txn};
use steppe_types::{Error, Result, SqlState};
use steppe_wire::TransactionStatus;

use super::Session;
use super::tag::CommandTag;
use crate::activity::SessionCounts;
use crate::settings::Isolation;
use crate::workers;
use modes::engine_level;
use nodes::{OnNodes, roll_nodes_back};
use savepoints::Savepoint;

/// A rollback that writes more log than this first hands over the worker's other sessions.
const ROLLBACK_BYTES_MAX: u64 = 128 * 1024;

/// The state of a session's transaction block.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Block {
    /// The session is in no transaction.
    #[default]
    Idle,
    /// A transaction that ends by itself.
    Implicit,
    /// A BEGIN has started a block.
    Explicit,
    /// A block has failed.
    Failed,
}

/// The state of a session's transaction.
#[derive(Default)]
pub(super) struct TransactionState {
    pub(super) block: Block,
    /// The transaction that executions borrow, while it runs.
    pub(super) txn: Option<Transaction>,
    /// The savepoints, outermost first.
    savepoints: Vec<Savepoint>,
    isolation: Option<Isolation>,
    read_only: bool,
    deferrable: bool,
    /// A statement has run in it.
    queried: bool,
    /// The catalog version that its one snapshot was taken under (REPEATABLE READ).
    pub(super) snapshot_catalog: Option<Arc<Catalog>>,
    /// The running statement is one of several of a Query message.
    pub(super) is_one_of_several: bool,
    /// The running statement is its last one, if it ends by itself.
    pub(super) ends_with_statement: bool,
    /// An Execute has ended in it, and no Sync has come since.
    pub(super) is_pipelined: bool,
    /// The number of its exported snapshots that are held until it ends.
    exports_held: u32,
    timer: Option<tokio::task::JoinHandle<()>>,
}

impl TransactionState {
    /// The status for ReadyForQuery.
    pub(super) fn status(&self) -> TransactionStatus {
        match self.block {
            Block::Idle | Block::Implicit => TransactionStatus::Idle,
            Block::Explicit => TransactionStatus::InTransaction,
            Block::Failed => TransactionStatus::Failed,
        }
    }

    /// Whether a BEGIN is in force.
    pub(super) fn in_block(&self) -> bool {
        matches!(self.block, Block::Explicit | Block::Failed)
    }

    /// Whether only ROLLBACK and its kin are accepted.
    pub(super) fn is_failed(&self) -> bool {
        self.block == Block::Failed
    }

    /// Whether it may read only after it got a safe snapshot (SERIALIZABLE READ ONLY DEFERRABLE).
    fn awaits_safe_snapshot(&self) -> bool {
        self.deferrable && self.read_only && self.isolation == Some(Isolation::Serializable)
    }

    /// The engine's transaction.
    pub(super) fn txn(&mut self) -> Result<&mut Txn> {
        self.running().map(|transaction| &mut transaction.txn)
    }

    /// The transaction's own changes of the catalog.
    #[inline]
    pub(super) fn changes(&self) -> Option<&CatalogChanges> {
        self.txn.as_ref()?.changes()
    }

    pub(super) fn running(&mut self) -> Result<&mut Transaction> {
        self.txn.as_mut().ok_or_else(|| Error::internal("no transaction is running"))
    }

    /// Undoes all changes after the savepoint at a position, and removes the savepoints after it.
    fn rollback_to(&mut self, at: usize) -> Result<()> {
        self.savepoints.truncate(at + 1);
        let lost = || Error::internal("no transaction is running");
        let running = self.txn.as_mut().ok_or_else(lost)?;
        self.savepoints.last().map_or(Ok(()), |savepoint| running.rollback_to(&savepoint.mark))
    }

    /// Removes the savepoint at a position and those after it, and keeps their changes.
    fn release(&mut self, at: usize) {
        if let (Some(running), Some(savepoint)) = (&mut self.txn, self.savepoints.get(at)) {
            running.release(&savepoint.mark);
        }
        self.savepoints.truncate(at);
    }

    /// Whether the running statement is all that it has done and will do, in READ COMMITTED.
    pub(super) fn is_one_statement(&self) -> bool {
        self.block == Block::Implicit
            && self.ends_with_statement
            && self.txn.as_ref().is_some_and(|running| running.has_done_nothing())
    }

    /// Whether each of its statements takes a snapshot.
    pub(super) fn is_read_committed(&self) -> bool {
        matches!(self.isolation, Some(Isolation::ReadCommitted | Isolation::ReadUncommitted))
    }

    /// The number of savepoints.
    pub(super) fn depth(&self) -> usize {
        self.savepoints.len()
    }
}

/// 25P02, for every statement that does not end a failed block.
pub(super) fn failed_block() -> Error {
    Error::new(
        SqlState::IN_FAILED_SQL_TRANSACTION,
        "current transaction is aborted, commands ignored until end of transaction block",
    )
}

/// Whether a statement may run in a failed block (IsTransactionExitStmt).
pub(super) fn ends_failed_block(statement: &ast::Statement) -> bool {
    matches!(
        statement,
        ast::Statement::Transaction(
            TransactionStmt::Commit { .. }
                | TransactionStmt::Rollback { .. }
                | TransactionStmt::RollbackTo(_)
                | TransactionStmt::Prepare(_)
        )
    )
}

impl Session {
    /// Ensures that a transaction runs. Outside a block it ends by itself.
    pub(super) fn start_transaction(&mut self) -> Result<()> {
        match self.transaction.block {
            Block::Failed => return Err(failed_block()),
            Block::Idle => {
                self.transaction.block = Block::Implicit;
                if self.transaction.is_one_of_several {
                    accesses::count_apart();
                }
            }
            Block::Implicit | Block::Explicit => {}
        }
        if self.transaction.txn.is_some() {
            return Ok(());
        }
        let isolation = self.settings.live.default_isolation;
        self.transaction.isolation = Some(isolation);
        self.transaction.read_only = self.settings.live.default_read_only;
        self.transaction.deferrable = self.settings.live.default_deferrable;
        self.transaction.queried = false;
        self.core.level.store(1, Ordering::Relaxed);
        let level = engine_level(isolation);
        self.tell_modes();
        let txn = Txn::begin(&self.core.handle, level, self.transaction.read_only);
        self.transaction.txn = Some(Transaction::new(txn));
        self.statement.env.transaction_timestamp = self.statement.env.statement_timestamp;
        self.control.activity.set_xact_start(self.statement.env.transaction_timestamp);
        self.start_transaction_timer();
        Ok(())
    }

    fn start_transaction_timer(&mut self) {
        let Some(limit) = self.settings.live.transaction_timeout else { return };
        let (server, pid) = (Arc::clone(self.server()), self.pid());
        self.transaction.timer = Some(self.server().timers.spawn(async move {
            tokio::time::sleep(limit).await;
            server.backends.signal(pid, Interrupt::TransactionTimeout);
        }));
    }

    /// Starts a statement in the running transaction, with its snapshot.
    pub(super) fn start_statement(&mut self) -> Result<()> {
        self.transaction.queried = true;
        if matches!(
            self.transaction.isolation,
            Some(Isolation::RepeatableRead | Isolation::Serializable)
        ) {
            let catalog = &self.namespace.names.catalog;
            self.transaction.snapshot_catalog.get_or_insert_with(|| Arc::clone(catalog));
        }
        if self.transaction.awaits_safe_snapshot() {
            while let Some(wait) = self.transaction.txn()?.await_safe_snapshot()? {
                tokio::task::block_in_place(|| wait.wait_blocking())?;
            }
        }
        self.transaction.txn()?.start_statement()
    }

    /// Ends a statement and releases its snapshot.
    pub(super) fn end_statement(&mut self) {
        let exported = self.core.exported.load(Ordering::Relaxed);
        if let Some(Transaction { txn, .. }) = &mut self.transaction.txn {
            if exported != self.transaction.exports_held {
                self.transaction.exports_held = exported;
                txn.hold_snapshot(txn.snapshot());
            }
            txn.end_statement();
        }
    }

    /// Withdraws the snapshots that the transaction has exported.
    fn forget_exports(&mut self) {
        if self.core.exported.load(Ordering::Relaxed) != 0 {
            self.core.exported.store(0, Ordering::Relaxed);
            let pid = self.core.handle.pid();
            self.server().exported.lock().retain(|_, snapshot| snapshot.pid != pid);
        }
        self.transaction.exports_held = 0;
    }

    /// 25001 for a command that cannot be rolled back (PreventInTransactionBlock).
    pub(super) fn prevent_in_block(&self, command: &str) -> Result<()> {
        if !self.in_block_of_any_kind() {
            return Ok(());
        }
        let message = format!("{command} cannot run inside a transaction block");
        Err(Error::new(SqlState::ACTIVE_SQL_TRANSACTION, message))
    }

    /// 25P01 for a command that needs a block (RequireTransactionBlock).
    pub(super) fn require_block(&self, command: &str) -> Result<()> {
        if self.in_block_of_any_kind() {
            return Ok(());
        }
        self.require_begun(command)
    }

    /// Whether statements share a transaction: after BEGIN, within one Query message, or after
    /// another statement of a pipeline (BeginImplicitTransactionBlock).
    pub(super) fn in_block_of_any_kind(&self) -> bool {
        self.transaction.in_block()
            || self.transaction.is_one_of_several
            || self.transaction.is_pipelined
    }

    /// 25P01 for a command that needs a BEGIN.
    fn require_begun(&self, command: &str) -> Result<()> {
        if self.transaction.in_block() {
            return Ok(());
        }
        let message = format!("{command} can only be used in transaction blocks");
        Err(Error::new(SqlState::NO_ACTIVE_SQL_TRANSACTION, message))
    }

    /// Ends the transaction of a statement outside a block.
    pub(super) async fn end_implicit(&mut self) -> Result<()> {
        match self.transaction.block {
            Block::Implicit => self.commit_waiting().await,
            _ => Ok(()),
        }
    }

    /// Commits. The client gets the answer when the log is durable.
    pub(super) fn commit(&mut self) -> Result<()> {
        match self.begin_commit()? {
            None => Ok(()),
            Some(on_nodes) => {
                self.commit_on_nodes(*on_nodes)?;
                self.forget_transaction(true);
                Ok(())
            }
        }
    }

    /// As [`Self::commit`]. The worker's other sessions continue while a node commits.
    pub(super) async fn commit_waiting(&mut self) -> Result<()> {
        let Some(on_nodes) = self.begin_commit()? else { return Ok(()) };
        if on_nodes.is_on_one_node() {
            Box::pin(self.commit_on_one_node(*on_nodes)).await?;
        } else {
            self.commit_on_nodes(*on_nodes)?;
        }
        self.forget_transaction(true);
        Ok(())
    }

    /// Commits a transaction that has no sessions on nodes. One that has some is returned, ready to be
    /// committed.
    fn begin_commit(&mut self) -> Result<Option<Box<OnNodes>>> {
        self.end_block_now();
        self.check_deferred()?;
        self.keep_held_cursors()?;
        self.portals.end_transaction(&mut self.transaction);
        // A function of this very statement may have created a temporary table.
        if self.transaction.changes().is_some() {
            self.refresh_names();
        }
        if self.transaction.txn.is_some() && self.namespace.names.acts_on_commit {
            self.start_statement()?;
            self.with_ddl("", steppe_ddl::on_commit)?;
        }
        let is_on_nodes = |running: &Transaction| {
            running.participants_if_any().is_some_and(|participants| !participants.is_empty())
        };
        let unpreparable = match self.transaction.txn.as_ref().is_some_and(is_on_nodes) {
            true => self.why_not_preparable(),
            false => None,
        };
        let Some(mut running) = self.transaction.txn.take() else {
            self.forget_transaction(true);
            return Ok(None);
        };
        let participants = running.take_participants();
        let local = running.into_parts();
        if let Some(participants) = participants.filter(|participants| !participants.is_empty()) {
            // Boxed, so that the message's future is small.
            return Ok(Some(Box::new(OnNodes { participants, local, unpreparable })));
        }
        let (txn, changes) = local;
        let commit = match changes {
            None => txn.commit()?,
            // A session that waits for our locks sees the new catalog version when it gets them.
            Some(changes) => {
                let server = Arc::clone(self.server());
                let waits = txn.drops_files();
                let commit = || txn.commit_with(|| server.catalog.publish(&changes));
                let commit = if waits { tokio::task::block_in_place(commit)? } else { commit()? };
                // The published version is no longer the transaction's own.
                self.namespace_version = 0;
                server.cluster.follow(&server);
                commit
            }
        };
        SessionCounts::add(&self.control.activity.counts.commits, 1);
        if commit.wrote {
            self.core.flush_to.fetch_max(commit.lsn.0, Ordering::AcqRel);
        }
        self.forget_transaction(true);
        Ok(None)
    }

    /// Rolls back. The session is idle then.
    pub(super) fn rollback(&mut self) -> Result<()> {
        self.portals.end_transaction(&mut self.transaction);
        let rolled_back = self.rollback_engine();
        self.forget_transaction(false);
        rolled_back
    }

    fn rollback_engine(&mut self) -> Result<()> {
        self.remote.give_back();
        self.forget_exports();
        match self.transaction.txn.take() {
            Some(mut running) => {
                roll_nodes_back(&mut running);
                let Transaction { txn, .. } = running;
                SessionCounts::add(&self.control.activity.counts.rollbacks, 1);
                if txn.rollback_bytes() > ROLLBACK_BYTES_MAX {
                    workers::unblock();
                }
                txn.rollback()
            }
            None => Ok(()),
        }
    }

    /// Ends the block even if its last command fails: an error needs no ROLLBACK then.
    pub(super) fn end_block_now(&mut self) {
        self.transaction.block = Block::Implicit;
    }

    pub(super) fn forget_transaction(&mut self, committed: bool) {
        if let Some(timer) = self.transaction.timer.take() {
            timer.abort();
        }
        self.remote.give_back();
        self.transaction.block = Block::Idle;
        self.transaction.isolation = None;
        if self.transaction.snapshot_catalog.take().is_some() && self.namespace.older.is_some() {
            self.namespace_version = 0;
        }
        self.transaction.is_one_of_several = false;
        self.transaction.is_pipelined = false;
        self.transaction.ends_with_statement = false;
        self.control.activity.set_xact_start(0);
        self.forget_exports();
        accesses::settle();
        self.core.routines.end_transaction();
        self.core.function_levels.lock().end_transaction();
        self.core.function_counts.hand_over(&self.core.server.function_statistics);
        self.transaction.savepoints.clear();
        self.core.settings.lock().end_level(1, committed);
        self.core.level.store(1, Ordering::Relaxed);
        self.refresh_settings();
    }

    /// After an error, a block fails, and any other transaction is rolled back. An error of this
    /// ends the session.
    pub(super) fn abort_after_error(&mut self) -> Result<()> {
        match self.transaction.block {
            Block::Idle | Block::Implicit => self.rollback(),
            Block::Failed => Ok(()),
            Block::Explicit => {
                self.transaction.block = Block::Failed;
                let within = self
                    .transaction
                    .depth()
                    .checked_sub(1)
                    .filter(|_| self.transaction.txn.is_some());
                self.portals.fail_deeper(within, &mut self.transaction);
                match within {
                    Some(innermost) => self.rollback_to(innermost),
                    // A panic may have dropped the transaction, which undoes all of it.
                    None => {
                        self.transaction.savepoints.clear();
                        let rolled_back = self.rollback_engine();
                        self.core.settings.lock().end_level(1, false);
                        self.refresh_settings();
                        rolled_back
                    }
                }
            }
        }
    }

    /// Rolls back at the end of the session.
    pub(super) fn close_transaction(&mut self) {
        self.wire.copy = None;
        self.portals.end_transaction(&mut self.transaction);
        // A failed rollback has stopped the server, and the client is disconnected: the error is
        // dropped.
        let _ = self.rollback_engine();
        self.portals.clear();
    }

    // ----- statements -----

    /// BEGIN, COMMIT and their kin.
    pub(super) async fn transaction_statement(
        &mut self,
        stmt: &TransactionStmt,
    ) -> Result<CommandTag> {
        match stmt {
            TransactionStmt::Begin { modes, start } => self.begin(modes, *start),
            TransactionStmt::Commit { chain } => Box::pin(self.end_block(true, *chain)).await,
            TransactionStmt::Rollback { chain } => Box::pin(self.end_block(false, *chain)).await,
            TransactionStmt::Savepoint(name) => self.savepoint(name),
            TransactionStmt::Release(name) => self.release_savepoint(name),
            TransactionStmt::RollbackTo(name) => self.rollback_to_savepoint(name),
            TransactionStmt::Prepare(gid) => self.prepare_transaction(gid),
            TransactionStmt::CommitPrepared(gid) => self.end_prepared(gid, true),
            TransactionStmt::RollbackPrepared(gid) => self.end_prepared(gid, false),
        }
    }

    fn begin(&mut self, modes: &TransactionModes, start: bool) -> Result<CommandTag> {
        if self.transaction.in_block() {
            self.warn(
                SqlState::ACTIVE_SQL_TRANSACTION,
                "there is already a transaction in progress",
            );
        } else {
            // Earlier statements of the same message belong to the block, too.
            self.transaction.block = Block::Explicit;
            let started = self.start_transaction();
            if let Err(error) = started {
                self.transaction.block = Block::Idle;
                return Err(error);
            }
            accesses::count_apart();
        }
        if let Err(error) = self.set_transaction_modes(modes) {
            if self.transaction.txn.as_ref().is_some_and(|running| running.txn.xid() == 0)
                && !self.transaction.queried
            {
                // BEGIN itself failed, so there is no block.
                self.transaction.block = Block::Implicit;
            }
            return Err(error);
        }
        Ok(CommandTag::Plain(if start { "START TRANSACTION" } else { "BEGIN" }))
    }

    /// COMMIT and ROLLBACK.
    async fn end_block(&mut self, commit: bool, chain: bool) -> Result<CommandTag> {
        let no_block = !self.transaction.in_block();
        if no_block && chain {
            let what = if commit { "COMMIT AND CHAIN" } else { "ROLLBACK AND CHAIN" };
            return Err(self.require_begun(what).err().unwrap_or_else(failed_block));
        }
        if no_block {
            self.warn(SqlState::NO_ACTIVE_SQL_TRANSACTION, "there is no transaction in progress");
        }
        let modes =
            (self.transaction.isolation, self.transaction.read_only, self.transaction.deferrable);
        let commits = commit && !self.transaction.is_failed();
        if commits {
            self.commit_waiting().await?;
        } else {
            self.rollback()?;
        }
        if chain {
            self.transaction.block = Block::Explicit;
            self.start_transaction()?;
            accesses::count_apart();
            let (isolation, read_only, deferrable) = modes;
            if let Some(isolation) = isolation {
                self.set_isolation(isolation)?;
            }
            self.transaction.deferrable = deferrable;
            self.set_read_only(read_only)?;
        }
        Ok(CommandTag::Plain(if commits { "COMMIT" } else { "ROLLBACK" }))
    }
}
