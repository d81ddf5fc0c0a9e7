//! Savepoints of a function, and transactions that a procedure ends (SPI_commit, SPI_rollback, and
//! exception blocks of pl_exec.c).
//!
//! A savepoint is a position in the transaction's undo. It has no number, writes nothing and takes no
//! lock, so other sessions do not notice it.
//!
//! Only the code that CALL or DO runs outside a transaction block may end the transaction. It has a
//! [`TransactionControl`], which a function that an expression calls never gets. So whether code may
//! end the transaction follows from the way in which it was called, as in PostgreSQL.

use super::{Spi, present};
use crate::transaction::{SavepointMark, StatementTxn, Transaction};
use std::sync::Arc;
use steppe_sql::ast::TransactionModes;
use steppe_types::{Error, Result, SqlState};

/// The session's part in ending a transaction while a procedure runs.
pub trait TransactionControl {
    /// Commits the transaction or rolls it back, and begins another one, in which a statement has
    /// started. With `chain` it has the modes of the one that ended. After an error there is no
    /// transaction.
    fn end(&mut self, transaction: Transaction, commit: bool, chain: bool) -> Result<Transaction>;

    /// The time at which the present transaction began: microseconds since 2000-01-01 UTC.
    fn now(&self) -> i64;

    /// SET TRANSACTION. The transaction comes back, also after an error.
    fn set_modes(
        &mut self,
        transaction: Transaction,
        modes: &TransactionModes,
    ) -> (Option<Transaction>, Result<()>);
}

/// A point to which a function's changes can be undone.
pub struct SpiSavepoint {
    mark: SavepointMark,
    /// The level of settings that began there.
    level: u32,
    /// The cursor that was opened last.
    last_opened: u64,
}

impl Spi<'_> {
    /// Sets a savepoint. It ends with [`Self::release`] or [`Self::rollback_to`].
    pub fn savepoint(&mut self) -> Result<SpiSavepoint> {
        self.be_heard()?;
        let Some(statement) = self.cx.take_txn() else { return Err(no_transaction()) };
        let (mut transaction, view) = statement.into_parts();
        let mark = transaction.mark();
        self.cx.lend_txn(Some(StatementTxn::with_view(transaction, view)));
        let level = self.session().begin_settings();
        self.savepoints += 1;
        Ok(SpiSavepoint { mark, level, last_opened: self.last_opened() })
    }

    /// Undoes all changes since a savepoint, and ends the savepoint. Locks that were acquired since
    /// are released.
    pub fn rollback_to(&mut self, savepoint: SpiSavepoint) -> Result<()> {
        self.savepoints = self.savepoints.saturating_sub(1);
        self.session().end_settings(savepoint.level, false);
        self.close_cursors_since(savepoint.last_opened)?;
        let (mark, session) = (&savepoint.mark, Arc::clone(self.session()));
        self.lend(|txn| {
            let transaction = present(txn)?;
            let had_changes = transaction.changes().is_some();
            transaction.rollback_to(mark)?;
            transaction.release(mark);
            if had_changes && transaction.changes().is_none() {
                session.forget_catalog();
            }
            Ok(())
        })
    }

    /// Ends a savepoint, and keeps the changes since.
    pub fn release(&mut self, savepoint: SpiSavepoint) {
        self.savepoints = self.savepoints.saturating_sub(1);
        self.session().end_settings(savepoint.level, true);
        if let Ok(statement) = self.cx.txn() {
            statement.release(&savepoint.mark);
        }
    }

    /// Commits the transaction, and begins another one. 2D000 where the code may not. Cursors must
    /// have been held ([`super::SpiCursor::hold`]).
    pub fn commit(&mut self, chain: bool) -> Result<()> {
        self.end_transaction(true, chain)
    }

    /// Rolls the transaction back, and begins another one. 2D000 where the code may not.
    pub fn rollback(&mut self, chain: bool) -> Result<()> {
        self.end_transaction(false, chain)
    }

    /// 2D000 where the code may not end the transaction.
    pub fn check_may_end(&self, commit: bool) -> Result<()> {
        let refused =
            |message: &str| Err(Error::new(SqlState::INVALID_TRANSACTION_TERMINATION, message));
        match (self.control.is_some(), self.savepoints, commit) {
            (false, ..) => refused("invalid transaction termination"),
            (true, 0, _) => Ok(()),
            (true, _, true) => refused("cannot commit while a subtransaction is active"),
            (true, _, false) => refused("cannot roll back while a subtransaction is active"),
        }
    }

    /// SET TRANSACTION. 0A000 for a function, 25001 after the first statement of the transaction.
    pub(super) fn set_modes(&mut self, modes: &TransactionModes) -> Result<()> {
        let Some(control) = &mut self.control else {
            return Err(Error::not_supported("SET TRANSACTION in a function"));
        };
        if self.has_queried && modes.isolation.is_some() {
            let message = "SET TRANSACTION ISOLATION LEVEL must be called before any query";
            return Err(Error::new(SqlState::ACTIVE_SQL_TRANSACTION, message));
        }
        let statement = self.cx.take_txn().ok_or_else(no_transaction)?;
        let (transaction, view) = statement.into_parts();
        let (transaction, done) = control.set_modes(transaction, modes);
        let back = transaction.map(|transaction| StatementTxn::with_view(transaction, view));
        self.cx.lend_txn(back);
        done
    }

    fn end_transaction(&mut self, commit: bool, chain: bool) -> Result<()> {
        self.check_may_end(commit)?;
        let Some(control) = &mut self.control else { return Err(no_transaction()) };
        let statement = self.cx.take_txn().ok_or_else(no_transaction)?;
        let next = control.end(statement.into_transaction(), commit, chain)?;
        self.has_queried = false;
        self.cx.functions.transaction_timestamp = control.now();
        self.cx.lend_txn(Some(StatementTxn::new(next)));
        self.see_frame()
    }
}

#[cold]
fn no_transaction() -> Error {
    Error::not_supported("a function that runs statements in this context")
}
