//! The outcome of an attempt to change a row, to lock it, or to put a key into an index.
//!
//! Only this module reads the engine's results. It turns each into one of a few outcomes, or into
//! PostgreSQL's error. The caller decides how to go on: a plan's node waits in its thread, a point
//! statement hands the wait to its session.
//!
//! | the engine found | READ COMMITTED | REPEATABLE READ and above |
//! |---|---|---|
//! | no such row, or this command has changed it | gone | gone |
//! | a command that ran within this one has changed it | 27000 | 27000 |
//! | deleted since the snapshot | gone | 40001 |
//! | moved to another partition since | 40001 | 40001 |
//! | another version since | newer: recheck, try again | 40001 |

use crate::access::{IndexAccess, TableAccess};
use crate::context::ExecContext;
use crate::row_wait::RowWait;
use std::sync::Arc;
use steppe_catalog::Relation;
use steppe_txn::{
    IndexInsert, IsolationLevel, LockOutcome, LockWait, ModifyOutcome, OwnCommand, RowId,
    RowVersion, Txn,
};
use steppe_types::{Error, Result, SqlState};

/// The kind of a change of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ChangeKind {
    Update,
    /// Also for a row that moves to another partition.
    Delete,
    /// SELECT … FOR.
    Lock,
    /// Inserts a key of the row that another row may have.
    InsertKey,
}

/// The change that is attempted, for its error messages.
#[derive(Clone, Copy)]
pub(crate) struct ChangeOf<'a> {
    pub(crate) kind: ChangeKind,
    pub(crate) row: RowId,
    /// The table; the index that a key is put into.
    pub(crate) relation: &'a Arc<Relation>,
    /// The transaction keeps to one snapshot.
    pub(crate) repeatable: bool,
}

/// The outcome of an attempt.
pub(crate) enum Attempted {
    Done,
    /// The row was deleted, never existed, or was changed by this command already.
    Gone,
    /// The caller kept the version that its snapshot sees.
    Kept,
    /// READ COMMITTED: the newest version is one that the snapshot does not see.
    Newer(RowVersion),
    /// Another transaction has it: wait, then try again.
    Wait(LockWait, RowWait),
    /// Another transaction has it, and the attempt was not to wait.
    Held,
}

/// The outcome of an attempt to lock a conflicting row. The row's newest version counts, even if
/// the snapshot does not see it.
pub(crate) enum InTheWay {
    /// Locked, in the version that the snapshot sees.
    Seen,
    /// Locked, in one that it does not see.
    Newer(RowVersion),
    /// This transaction's command has written it.
    Own(RowVersion),
    Gone,
    Wait(LockWait, RowWait),
}

impl<'a> ChangeOf<'a> {
    #[inline]
    pub(crate) fn new(
        kind: ChangeKind,
        row: RowId,
        relation: &'a Arc<Relation>,
        txn: &Txn,
    ) -> ChangeOf<'a> {
        let repeatable = txn.isolation() != IsolationLevel::ReadCommitted;
        ChangeOf { kind, row, relation, repeatable }
    }

    fn wait(&self) -> RowWait {
        RowWait::new(self.kind, self.row, self.relation)
    }
}

/// The outcome of [`steppe_txn::TableStore::modify`].
#[inline]
pub(crate) fn of_modify(outcome: ModifyOutcome, of: &ChangeOf<'_>) -> Result<Attempted> {
    Ok(match outcome {
        ModifyOutcome::Done => Attempted::Done,
        ModifyOutcome::Kept => Attempted::Kept,
        ModifyOutcome::NotFound | ModifyOutcome::SelfUpdated { by: OwnCommand::This } => {
            Attempted::Gone
        }
        ModifyOutcome::SelfUpdated { by: OwnCommand::Later } => {
            return Err(changed_within(of.kind));
        }
        ModifyOutcome::DeletedConcurrently { updated } if of.repeatable => {
            return Err(serialization(if updated { "update" } else { "delete" }));
        }
        ModifyOutcome::DeletedConcurrently { .. } => Attempted::Gone,
        ModifyOutcome::MovedConcurrently => return Err(moved_concurrently(of.repeatable)),
        ModifyOutcome::UpdatedConcurrently { .. } if of.repeatable => {
            return Err(serialization("update"));
        }
        ModifyOutcome::UpdatedConcurrently { newest } => Attempted::Newer(newest),
        ModifyOutcome::MustWait(wait) => Attempted::Wait(wait, of.wait()),
    })
}

/// The outcome of [`steppe_txn::TableStore::lock_row`], for SELECT … FOR, or for triggers that need
/// the row locked before it is changed.
pub(crate) fn of_lock(outcome: LockOutcome, of: &ChangeOf<'_>) -> Result<Attempted> {
    Ok(match outcome {
        LockOutcome::Locked => Attempted::Done,
        LockOutcome::SelfUpdated { by: OwnCommand::Later, .. } if of.kind != ChangeKind::Lock => {
            return Err(changed_within(of.kind));
        }
        LockOutcome::NotFound | LockOutcome::SelfUpdated { .. } => Attempted::Gone,
        LockOutcome::DeletedConcurrently { updated } if of.repeatable => {
            // PostgreSQL calls the deletion an update in the error of SELECT … FOR, too.
            let is_update = updated || of.kind == ChangeKind::Lock;
            return Err(serialization(if is_update { "update" } else { "delete" }));
        }
        LockOutcome::DeletedConcurrently { .. } => Attempted::Gone,
        LockOutcome::MovedConcurrently => return Err(moved_concurrently(of.repeatable)),
        LockOutcome::UpdatedConcurrently { .. } if of.repeatable => {
            return Err(serialization("update"));
        }
        LockOutcome::UpdatedConcurrently { newest } => Attempted::Newer(newest),
        LockOutcome::WouldBlock => Attempted::Held,
        LockOutcome::MustWait(wait) => Attempted::Wait(wait, of.wait()),
    })
}

/// The outcome of locking a row for ON CONFLICT.
pub(crate) fn of_conflict(outcome: LockOutcome, of: &ChangeOf<'_>) -> Result<InTheWay> {
    Ok(match outcome {
        LockOutcome::Locked => InTheWay::Seen,
        LockOutcome::UpdatedConcurrently { newest } => InTheWay::Newer(newest),
        LockOutcome::SelfUpdated { newest: Some(newest), .. } => InTheWay::Own(newest),
        LockOutcome::NotFound
        | LockOutcome::DeletedConcurrently { .. }
        | LockOutcome::MovedConcurrently
        | LockOutcome::SelfUpdated { newest: None, .. } => InTheWay::Gone,
        LockOutcome::MustWait(wait) => InTheWay::Wait(wait, of.wait()),
        LockOutcome::WouldBlock => {
            return Err(Error::internal("a blocking lock request did not block"));
        }
    })
}

/// The outcome of inserting a row's key. True: the row has the key. False: the transaction that had
/// to decide has ended, so try again. `duplicate` makes the error if another row has the key.
///
/// A transaction that changes the other row, even without its key, may still delete it or give it
/// another key. So it is waited for first (_bt_check_unique).
pub(crate) fn of_key(
    outcome: IndexInsert,
    (table, index): (&TableAccess, &IndexAccess),
    row: RowId,
    cx: &mut ExecContext,
    duplicate: impl FnOnce(&mut ExecContext) -> Result<Error>,
) -> Result<bool> {
    let wait = match outcome {
        IndexInsert::Done => return Ok(true),
        IndexInsert::MustWait(wait) => wait,
        IndexInsert::Duplicate(other) => {
            match table.rows_for_write()?.wait_for_change(&mut cx.txn()?.txn, other)? {
                Some(wait) => wait,
                None => return Err(duplicate(cx)?),
            }
        }
    };
    RowWait::new(ChangeKind::InsertKey, row, &index.relation).wait(wait, cx)?;
    Ok(false)
}

/// 27000: a command within the running one has changed the row that it was about to change.
#[cold]
fn changed_within(kind: ChangeKind) -> Error {
    let what = if kind == ChangeKind::Delete { "deleted" } else { "updated" };
    let message = format!(
        "tuple to be {what} was already modified by an operation triggered by the current command"
    );
    Error::new(SqlState::TRIGGERED_DATA_CHANGE_VIOLATION, message).hint(
        "Consider using an AFTER trigger instead of a BEFORE trigger to propagate changes to other \
         rows.",
    )
}

/// 40001: another transaction got there first.
#[cold]
pub(crate) fn serialization(what: &str) -> Error {
    Error::new(
        SqlState::SERIALIZATION_FAILURE,
        format!("could not serialize access due to concurrent {what}"),
    )
}

/// 40001: the row's new version is in another partition, and the statement cannot follow it there.
#[cold]
fn moved_concurrently(repeatable: bool) -> Error {
    if repeatable {
        return serialization("update");
    }
    Error::new(
        SqlState::SERIALIZATION_FAILURE,
        "tuple to be locked was already moved to another partition due to concurrent update",
    )
}
