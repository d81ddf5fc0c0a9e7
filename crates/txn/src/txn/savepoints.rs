//! Positions in a transaction, and what is taken back to them.
//!
//! A savepoint is a position that the layer above keeps under a name. To release one is to forget it.

use std::sync::Arc;

use steppe_types::Result;

use super::{Txn, stop_the_server};
use crate::budget::Owed;
#[cfg(feature = "planted-bugs")]
use crate::engine::PlantedBug;
use crate::lock::{LockPosition, LockTag, SharedMode};
use crate::rollback::Undoer;
use crate::undo::UndoPtr;
use crate::undone::UndoneSum;

/// A point in a transaction to which it can be rolled back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UndoPosition {
    undo: UndoPtr,
    owed: Owed,
    locks: LockPosition,
    drops: usize,
}

impl Txn {
    /// The present position, for a later [`Txn::rollback_to_position`].
    pub fn undo_position(&self) -> UndoPosition {
        let locks = self.engine().locks.position(self.shared());
        let (undo, owed, drops) = (self.last_undo, self.budget.owed(), self.drops.len());
        UndoPosition { undo, owed, locks, drops }
    }

    /// Takes back what was done after `position`, keeping locks: a part of a statement, or all of
    /// it.
    pub fn rollback_to_position(&mut self, position: UndoPosition) -> Result<()> {
        self.undo_until(position.undo)?;
        self.budget.settle_to(position.owed);
        #[cfg(feature = "planted-bugs")]
        if self.engine().options.planted_bug == Some(PlantedBug::DropsSurviveRollback) {
            return Ok(());
        }
        self.drops.truncate(position.drops);
        Ok(())
    }

    /// Takes back what was done after `position`, and gives back the locks that were acquired
    /// since: ROLLBACK TO SAVEPOINT. The position stays valid.
    pub fn rollback_to_savepoint(&mut self, position: UndoPosition) -> Result<()> {
        self.rollback_to_position(position)?;
        let locks = Arc::clone(&self.engine().locks);
        locks.release_to(self.shared(), position.locks);
        if self.xid != 0 {
            // Those that wait for this transaction because of a key may go on now.
            let exclusive = SharedMode::Exclusive as u8;
            locks.release_mode(self.shared().pid(), LockTag::Transaction(self.xid), exclusive);
        }
        Ok(())
    }

    pub(super) fn undo_until(&mut self, until: UndoPtr) -> Result<()> {
        let session = Arc::clone(&self.session);
        let undoer = Undoer::new(&session.engine, &session.shared, self.xid);
        let mut body = std::mem::take(&mut self.body);
        let mut undone = UndoneSum::default();
        while self.last_undo != until && self.last_undo != 0 {
            let step = session.engine.undo.read(self.last_undo, &mut body).and_then(|head| {
                let taken_back = undoer.undo(&body, head.prev_lsn, Some(self.last_undo))?;
                undone.add(&session.engine, taken_back);
                Ok(head.chain)
            });
            match step {
                Ok(chain) => self.last_undo = chain,
                // Half undone is no state to go on from: only recovery, which
                // starts over from the log, can finish this.
                Err(error) => return Err(stop_the_server("roll back", &session.engine, &error)),
            }
        }
        undone.tell(&session.engine);
        self.body = body;
        Ok(())
    }
}
