//! Log space for rollback, set aside before it is needed.
//!
//! What a transaction would append to take its changes back is *owed*; the log keeps
//! what was *pledged* free for it. The condition is `owed <= pledged` before every
//! change, so that a full disk refuses the change and never its undoing. Pledges are
//! made in grains: a short transaction makes one.
//!
//! ```text
//!   pledged   ├────────── 16 KiB ──────────┼────────── 16 KiB ──────────┤
//!   owed      ├──── changes so far ────┼─ the next one ─┤
//! ```
//!
//! What a change owes is a bound on its compensations' records (`Change::undo_cost`), not
//! on page splits they may need where others have filled the room meanwhile: these,
//! rare and small, draw on the log's own reserve.

use std::sync::atomic::{AtomicU64, Ordering};

use steppe_storage::StorageError;
use steppe_storage::wal::Wal;
use steppe_types::Result;

use crate::change::Change;

/// Pledges are multiples of this.
const GRAIN: u64 = 16 << 10;

/// More than any single change owes, if it does not say so itself.
pub(crate) const ANY_CHANGE: u64 = 4 << 10;

/// The record that says that all is undone, and the share of the first grain.
const END: u64 = 128;

/// What one transaction owes and has pledged. Only its own thread changes it.
#[derive(Debug, Default)]
pub(crate) struct UndoBudget {
    owed: AtomicU64,
    pledged: AtomicU64,
    /// What changes of unlogged files would owe: it takes time to take them back, and no log.
    unlogged: AtomicU64,
}

/// What was owed at some time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Owed {
    logged: u64,
    unlogged: u64,
}

impl UndoBudget {
    /// Makes sure that a change which owes at most `cost` can be made.
    #[inline]
    pub(crate) fn prepare(&self, wal: &Wal, cost: u64) -> Result<()> {
        let needed = self.owed.load(Ordering::Relaxed) + cost + END;
        if needed <= self.pledged.load(Ordering::Relaxed) {
            return Ok(());
        }
        self.pledge(wal, needed)
    }

    #[cold]
    fn pledge(&self, wal: &Wal, needed: u64) -> Result<()> {
        let pledged = self.pledged.load(Ordering::Relaxed);
        let more = (needed - pledged).next_multiple_of(GRAIN);
        wal.pledge(more).map_err(StorageError::from)?;
        self.pledged.store(pledged + more, Ordering::Relaxed);
        Ok(())
    }

    /// What is owed now, for a later [`UndoBudget::settle_to`].
    pub(crate) fn owed(&self) -> Owed {
        Owed {
            logged: self.owed.load(Ordering::Relaxed),
            unlogged: self.unlogged.load(Ordering::Relaxed),
        }
    }

    /// All of it, as a measure of how long it takes.
    pub(crate) fn size(&self) -> u64 {
        let Owed { logged, unlogged } = self.owed();
        logged + unlogged
    }

    /// A change was made.
    #[inline]
    pub(crate) fn owe(&self, change: &Change<'_>) {
        let owed = if change.is_unlogged() { &self.unlogged } else { &self.owed };
        owed.store(owed.load(Ordering::Relaxed) + change.undo_cost(), Ordering::Relaxed);
    }

    /// All changes since `owed` was read are taken back.
    pub(crate) fn settle_to(&self, owed: Owed) {
        self.owed.store(owed.logged, Ordering::Relaxed);
        self.unlogged.store(owed.unlogged, Ordering::Relaxed);
    }

    /// The transaction has ended.
    pub(crate) fn release(&self, wal: &Wal) {
        let pledged = self.pledged.swap(0, Ordering::Relaxed);
        self.settle_to(Owed::default());
        if pledged > 0 {
            wal.unpledge(pledged);
        }
    }
}
