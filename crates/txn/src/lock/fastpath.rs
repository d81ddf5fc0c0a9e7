//! Relation locks, with PostgreSQL's fast path (src/backend/storage/lmgr/README,
//! "Fast Path Locking").
//!
//! The weak modes (ACCESS SHARE, ROW SHARE, ROW EXCLUSIVE) conflict with none of
//! each other, and every statement takes one. They are noted in the session's
//! own list and never touch the shared table, as long as nobody holds or wants
//! a strong mode (SHARE and above) on a relation of the same hash bucket. A
//! strong request first raises the bucket's count, then moves the matching fast
//! locks of all sessions into the table, then queues as usual.
//!
//! Why nothing is missed: a session notes a fast lock under the latch of its
//! list after having seen a count of zero; the strong request raises the count
//! before it takes each session's latch. Whichever comes first under that latch,
//! the lock is found and moved, or the raised count is seen.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use steppe_types::Result;

use super::manager::{Acquire, LockManager};
use super::{LockTag, Mode, RelationLockMode};
use crate::session::{HeldLocks, SessionShared};

/// Relations on a session's fast path at most, as PostgreSQL's FP_LOCK_SLOTS_PER_BACKEND.
pub(crate) const FAST_SLOTS: usize = 16;

/// One relation on the fast path: its oid (0: free) and a mask of weak modes.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct FastSlot {
    oid: u32,
    modes: u8,
}

/// Notes a weak mode in the session's list; false if all slots are taken.
fn take(held: &mut HeldLocks, oid: u32, mode: Mode) -> bool {
    let slots = &mut held.fast;
    let mine = slots.iter().position(|slot| slot.oid == oid && slot.modes != 0);
    let Some(at) = mine.or_else(|| slots.iter().position(|slot| slot.modes == 0)) else {
        return false;
    };
    slots[at].oid = oid;
    slots[at].modes |= 1 << mode;
    true
}

/// Whether the session has the mode on its fast path.
fn has(held: &HeldLocks, oid: u32, mode: Mode) -> bool {
    held.fast.iter().any(|slot| slot.oid == oid && slot.modes & (1 << mode) != 0)
}

/// The relations on a session's fast path, with masks of the modes held.
pub(super) fn held(held: &HeldLocks) -> Vec<(u32, u8)> {
    let used = held.fast.iter().filter(|slot| slot.modes != 0);
    used.map(|slot| (slot.oid, slot.modes)).collect()
}

/// Drops a mode from the fast path; false if it is not there.
pub(super) fn release(held: &mut HeldLocks, tag: LockTag, mode: Mode) -> bool {
    let LockTag::Relation(oid) = tag else { return false };
    for slot in &mut held.fast {
        if slot.oid == oid && slot.modes & (1 << mode) != 0 {
            slot.modes &= !(1 << mode);
            return true;
        }
    }
    false
}

impl LockManager {
    /// Locks a relation for the session's transaction.
    pub(crate) fn lock_relation(
        self: &Arc<Self>,
        session: &Arc<SessionShared>,
        oid: u32,
        mode: RelationLockMode,
        block: bool,
    ) -> Result<Acquire> {
        let (tag, mode_number) = (LockTag::Relation(oid), mode as u8);
        if mode <= RelationLockMode::RowExclusive {
            let mut held = session.held_locks();
            if has(&held, oid, mode_number) {
                return Ok(Acquire::Granted);
            }
            let nobody_strong = self.strong_bucket(oid).load(Ordering::SeqCst) == 0;
            if nobody_strong && take(&mut held, oid, mode_number) {
                held.order.push((tag, mode_number));
                return Ok(Acquire::Granted);
            }
        }
        if mode > RelationLockMode::ShareUpdateExclusive {
            return self.lock_relation_strong(session, tag, oid, mode_number, block);
        }
        self.note(session, tag, mode_number)?;
        Ok(self.acquire(session, tag, mode_number, true, block))
    }

    /// The count stays raised while the mode is held (until `release_mode` takes
    /// it away) or wanted (until the wait fails), once for each.
    fn lock_relation_strong(
        self: &Arc<Self>,
        session: &Arc<SessionShared>,
        tag: LockTag,
        oid: u32,
        mode: Mode,
        block: bool,
    ) -> Result<Acquire> {
        if self.holds(session.pid(), tag, mode) {
            return Ok(Acquire::Granted);
        }
        self.note(session, tag, mode)?;
        self.strong_bucket(oid).fetch_add(1, Ordering::SeqCst);
        for other in self.sessions().all() {
            let mut held = other.held_locks();
            for slot in 0..FAST_SLOTS {
                let FastSlot { oid: slot_oid, modes } = held.fast[slot];
                if slot_oid != oid || modes == 0 {
                    continue;
                }
                for weak in (0..8).filter(|weak| modes & (1 << weak) != 0) {
                    self.transfer(other.pid(), tag, weak);
                }
                held.fast[slot] = FastSlot::default();
            }
        }
        let acquired = self.acquire(session, tag, mode, true, block);
        if matches!(acquired, Acquire::WouldBlock) {
            self.strong_bucket(oid).fetch_sub(1, Ordering::SeqCst);
        }
        Ok(acquired)
    }
}
