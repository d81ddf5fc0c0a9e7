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
}

impl UndoBudget {
    /// Makes sure that a change which owes at most `cost` can be made.
    #[inline]
    pub(crate) fn prepare(&self, wal: &Wal, cost: u64) -> Result<()> {
        let needed = self.owed() + cost + END;
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
    pub(crate) fn owed(&self) -> u64 {
        self.owed.load(Ordering::Relaxed)
    }

    /// A change was made.
    #[inline]
    pub(crate) fn owe(&self, cost: u64) {
        self.owed.store(self.owed() + cost, Ordering::Relaxed);
    }

    /// All changes since `owed` was read are taken back.
    pub(crate) fn settle_to(&self, owed: u64) {
        self.owed.store(owed, Ordering::Relaxed);
    }

    /// The transaction has ended.
    pub(crate) fn release(&self, wal: &Wal) {
        let pledged = self.pledged.swap(0, Ordering::Relaxed);
        self.owed.store(0, Ordering::Relaxed);
        if pledged > 0 {
            wal.unpledge(pledged);
        }
    }
}
