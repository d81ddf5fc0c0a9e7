//! Row locks that sessions share (KEY SHARE and SHARE), without a line of memory that they share.
//!
//! The two modes go together with each other, and a row that many read with FOR SHARE would have
//! each of them change the same entry of the table, under the latch of the row's page. As long as
//! nobody holds or wants a row of the same hash bucket otherwise, such a lock is noted in the
//! session's own list, and counted for the bucket in one of several arrays, a *stripe*, which
//! mostly one thread uses. One that wants to write or to lock exclusively looks at the bucket's
//! count in every stripe, and first moves what is noted there into the table: so all that ever
//! waits, or is waited for, is in the table.
//!
//! ```text
//!   FOR SHARE            note, count ──── fence ──── bucket of the table empty? ── row as it was?
//!   FOR UPDATE           claim the bucket ── fence ── counts? move what is noted ── the table
//!   UPDATE, DELETE       latch the page ──── fence ── counts? move what is noted ── the table
//! ```
//!
//! Why no two conflicting locks are granted: of two that meet, each first says what it wants and
//! then looks for the other (Dekker), so that one of them at least sees the other.
//!
//! - FOR UPDATE claims the bucket in the table. Either the sharer sees the claim and goes to the
//!   table, or its count is seen, and its lock is moved there.
//! - A writer latches the page. Either the sharer, when it looks at the row, finds the page latched
//!   (and waits until the row has its new version, which it does not want), or its count is seen.
//!
//! A session that locks many rows enters them in the table, but needs the latch as little
//! ([`crate::TableStore::share_rows`]): its entry takes the place of the count, because a writer that has
//! the latch looks at the table as well.
//!
//! What is noted is counted before the latch of the session's list is let go, and what is moved
//! is in the table before it is not counted any more: a reader of a count of zero misses nothing.
//!
//! `sharers_model.rs` has each of these steps under all kinds of schedules, and done wrong.
//!
//! The idea is that of PostgreSQL's fast path for relations (`fastpath.rs`), with counts that
//! grow in both directions, since rows are written as often as they are shared.

use std::cell::Cell;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering, fence};

use steppe_types::Result;

use super::manager::{LockManager, ROW_BUCKETS, full, row_bucket};
use super::{LockTag, Mode, RowLockMode};
use crate::session::{HeldLocks, SessionShared};

/// Rows that a session has without an entry in the table. A session that locks more than a few has
/// other work than locking.
const SLOTS: usize = 8;

/// A writer looks at one count of each.
const STRIPES_MAX: usize = 16;

/// One row on a session's own list, with a mask of its modes, and where each is counted.
#[derive(Clone, Copy, Debug)]
struct Slot {
    tag: LockTag,
    mode: Mode,
    stripe: u8,
}

/// The rows that a session shares without an entry in the table.
#[derive(Default)]
pub(crate) struct SharedRows([Option<Slot>; SLOTS]);

impl SharedRows {
    pub(super) fn has(&self, tag: LockTag, mode: Mode) -> bool {
        self.0.iter().flatten().any(|slot| (slot.tag, slot.mode) == (tag, mode))
    }

    /// Takes out what `wanted` says.
    fn take(&mut self, wanted: impl Fn(&Slot) -> bool) -> Option<Slot> {
        self.0.iter_mut().find_map(|place| place.take_if(|slot| wanted(slot)))
    }
}

/// How many locks are noted, by stripe and bucket.
pub(super) struct Sharers(Box<[Box<[AtomicU32]>]>);

thread_local! {
    static NUMBER: Cell<Option<usize>> = const { Cell::new(None) };
}

/// The running thread's number among those that have asked.
fn thread_number() -> usize {
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    NUMBER.get().unwrap_or_else(|| {
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        NUMBER.set(Some(number));
        number
    })
}

impl Sharers {
    pub(super) fn new() -> Sharers {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let stripe = || (0..ROW_BUCKETS).map(|_| AtomicU32::new(0)).collect();
        Sharers((0..cores.min(STRIPES_MAX)).map(|_| stripe()).collect())
    }

    fn own_stripe(&self) -> u8 {
        (thread_number() % self.0.len()) as u8
    }

    fn add(&self, stripe: u8, bucket: usize) {
        self.0[usize::from(stripe)][bucket].fetch_add(1, Ordering::SeqCst);
    }

    fn remove(&self, stripe: u8, bucket: usize) {
        let before = self.0[usize::from(stripe)][bucket].fetch_sub(1, Ordering::SeqCst);
        debug_assert!(before > 0, "counted before");
    }

    /// Whether anybody is counted for the bucket. The caller has said before what it wants.
    #[inline]
    fn any(&self, bucket: usize) -> bool {
        fence(Ordering::SeqCst);
        self.0.iter().any(|stripe| stripe[bucket].load(Ordering::SeqCst) != 0)
    }
}

/// What has become of a wish to share a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sharing {
    /// The session has it, on its list or in the table. The row may have another version since the caller has
    /// seen it: that is to be looked at now.
    Noted,
    /// It had it before.
    Had,
    /// The table is for it, or in the table others stand in the way.
    InTable,
}

/// Keeps a bucket's newcomers off their own lists.
pub(super) struct Claim<'a>(&'a AtomicU32);

impl Drop for Claim<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

impl LockManager {
    /// Notes a shared lock in the session's own list, if that will do.
    pub(crate) fn share_row(
        &self,
        session: &SessionShared,
        tag: LockTag,
        mode: RowLockMode,
    ) -> Sharing {
        let bucket = row_bucket(&tag);
        let in_table = &self.row_buckets()[bucket];
        if mode > RowLockMode::Share || in_table.load(Ordering::Relaxed) != 0 {
            return Sharing::InTable;
        }
        let mode = mode as u8;
        let mut held = session.held_locks();
        let HeldLocks { rows, order, .. } = &mut *held;
        if rows.has(tag, mode) {
            return Sharing::Had;
        }
        let free = rows.0.iter_mut().find(|place| place.is_none());
        let Some(place) = free.filter(|_| order.len() < self.locks_max()) else {
            return Sharing::InTable;
        };
        let stripe = self.sharers().own_stripe();
        *place = Some(Slot { tag, mode, stripe });
        self.sharers().add(stripe, bucket);
        fence(Ordering::SeqCst);
        if in_table.load(Ordering::SeqCst) != 0 {
            *place = None;
            self.sharers().remove(stripe, bucket);
            return Sharing::InTable;
        }
        order.push((tag, mode));
        Sharing::Noted
    }

    /// Without the leaf's latch: enters a shared mode in the table if that needs no waiting. As for
    /// [`Self::share_row`], the caller then looks whether the row has the version that it has seen.
    pub(crate) fn share_row_in_table(
        &self,
        session: &SessionShared,
        tag: LockTag,
        mode: RowLockMode,
    ) -> Result<Sharing> {
        debug_assert!(mode <= RowLockMode::Share, "shared modes");
        let (pid, mode) = (session.pid(), mode as u8);
        // Under the latch of the session's list, as what is moved there by others.
        let mut held = session.held_locks();
        if held.rows.has(tag, mode) {
            return Ok(Sharing::Had);
        }
        let shard = self.shard(&tag);
        let has_room = held.order.len() < self.locks_max()
            && (!self.is_full(&shard) || shard.contains_key(&tag));
        let sharing = self.with_entry_of(shard, tag, |entry| {
            let sharing = if entry.asked_by(pid) & (1 << mode) != 0 {
                Some(Sharing::Had)
            } else if !has_room {
                None
            } else if entry.queue_position(tag, pid, mode).is_some() {
                Some(Sharing::InTable)
            } else {
                entry.add_explicit(pid, mode);
                Some(Sharing::Noted)
            };
            (sharing, Vec::new())
        });
        if sharing == Some(Sharing::Noted) {
            held.order.push((tag, mode));
        }
        drop(held);
        fence(Ordering::SeqCst);
        sharing.ok_or_else(full)
    }

    /// Takes a lock off the session's own list; false if it is not there.
    pub(super) fn unshare(&self, rows: &mut SharedRows, tag: LockTag, mode: Mode) -> bool {
        let LockTag::Row(..) = tag else { return false };
        let taken = rows.take(|slot| (slot.tag, slot.mode) == (tag, mode));
        if let Some(slot) = taken {
            self.sharers().remove(slot.stripe, row_bucket(&tag));
        }
        taken.is_some()
    }

    /// Before the table is asked for an exclusive mode: nobody shares a row of the bucket on its
    /// own list, and while the claim is held nobody begins to.
    pub(super) fn claim_row(&self, tag: &LockTag) -> Claim<'_> {
        let bucket = row_bucket(tag);
        let in_table = &self.row_buckets()[bucket];
        in_table.fetch_add(1, Ordering::SeqCst);
        self.settle_sharers(bucket);
        Claim(in_table)
    }

    /// Moves what is noted for the bucket into the table, if anything is.
    #[inline]
    pub(super) fn settle_sharers(&self, bucket: usize) {
        if self.sharers().any(bucket) {
            self.move_sharers(bucket);
        }
    }

    #[cold]
    fn move_sharers(&self, bucket: usize) {
        for session in self.sessions().all() {
            let mut held = session.held_locks();
            while let Some(slot) = held.rows.take(|slot| row_bucket(&slot.tag) == bucket) {
                self.transfer(session.pid(), slot.tag, slot.mode);
                self.sharers().remove(slot.stripe, bucket);
            }
        }
    }

    /// Makes a lock on one session's list another's, in the table; false if it is not there.
    pub(super) fn hand_over_shared(
        &self,
        rows: &mut SharedRows,
        to: u32,
        (tag, mode): (LockTag, Mode),
    ) -> bool {
        let taken = rows.take(|slot| (slot.tag, slot.mode) == (tag, mode));
        if let Some(slot) = taken {
            self.transfer(to, tag, mode);
            self.sharers().remove(slot.stripe, row_bucket(&tag));
        }
        taken.is_some()
    }
}
