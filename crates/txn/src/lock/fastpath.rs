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
//!
//! PostgreSQL's fast path holds a fixed number of relations; ours has no end, so that what
//! touches many partitions pays for each the same little.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use hashbrown::HashMap;
use steppe_types::Result;

use super::manager::{Acquire, LockManager};
use super::{LockTag, Mode, RelationLockMode};
use crate::files::DatabaseId;
use crate::session::SessionShared;

/// Relations that a session has on its fast path without a map: more than most statements use.
const SLOTS: usize = u16::BITS as usize;
/// Room in the map that is worth keeping when it is empty.
const MORE_KEPT: usize = 1024;

/// One relation on the fast path: its oid and a mask of weak modes (0: free).
#[derive(Clone, Copy, Default, Debug)]
struct Slot {
    oid: u32,
    modes: u8,
}

/// The weak modes that a session holds without an entry in the shared table. However many they
/// are: a statement over a hundred thousand leaves locks each. They are on relations of the
/// session's database; a relation that all databases share has no fast path.
#[derive(Default)]
pub(crate) struct FastLocks {
    database: DatabaseId,
    slots: [Slot; SLOTS],
    /// The slots that are not free, a bit each.
    used: u16,
    /// Relations that are in no slot.
    more: HashMap<u32, u8, foldhash::fast::RandomState>,
}

impl FastLocks {
    /// Of a session in `database`.
    pub(crate) fn new(database: DatabaseId) -> FastLocks {
        FastLocks { database, ..FastLocks::default() }
    }

    /// The relation's OID, if the tag is of one that can be here.
    fn oid_of(&self, tag: LockTag) -> Option<u32> {
        match tag {
            LockTag::Relation { database, oid } if database == self.database => Some(oid),
            _ => None,
        }
    }

    /// A relation's slot.
    #[inline]
    fn slot_of(&self, oid: u32) -> Option<usize> {
        let mut left = self.used;
        while left != 0 {
            let at = left.trailing_zeros() as usize;
            if self.slots[at].oid == oid {
                return Some(at);
            }
            left &= left - 1;
        }
        None
    }

    fn modes_of(&mut self, oid: u32) -> Option<&mut u8> {
        match self.slot_of(oid) {
            Some(at) => Some(&mut self.slots[at].modes),
            None if self.more.is_empty() => None,
            None => self.more.get_mut(&oid),
        }
    }

    /// Notes a mode; false if it was noted already.
    fn add(&mut self, oid: u32, mode: Mode) -> bool {
        let bit = 1 << mode;
        if let Some(modes) = self.modes_of(oid) {
            let is_new = *modes & bit == 0;
            *modes |= bit;
            return is_new;
        }
        let free = self.used.trailing_ones() as usize;
        match self.slots.get_mut(free) {
            Some(slot) => {
                *slot = Slot { oid, modes: bit };
                self.used |= 1 << free;
            }
            None => drop(self.more.insert(oid, bit)),
        }
        true
    }

    pub(super) fn has(&mut self, oid: u32, mode: Mode) -> bool {
        self.modes_of(oid).is_some_and(|modes| *modes & (1 << mode) != 0)
    }

    pub(super) fn holds(&mut self, tag: LockTag, mode: Mode) -> bool {
        self.oid_of(tag).is_some_and(|oid| self.has(oid, mode))
    }

    /// Drops a mode; false if it is not here.
    pub(super) fn release(&mut self, tag: LockTag, mode: Mode) -> bool {
        let Some(oid) = self.oid_of(tag) else { return false };
        let bit = 1 << mode;
        let Some(modes) = self.modes_of(oid).filter(|modes| **modes & bit != 0) else {
            return false;
        };
        *modes &= !bit;
        if *modes == 0 {
            self.forget(oid);
        }
        true
    }

    /// Takes out a relation that has no modes any more.
    fn forget(&mut self, oid: u32) {
        if let Some(at) = self.slot_of(oid) {
            self.used &= !(1 << at);
            return;
        }
        self.more.remove(&oid);
        if self.more.is_empty() && self.more.capacity() > MORE_KEPT {
            self.more = HashMap::default();
        }
    }

    /// Drops all modes of a relation, and says which they were.
    fn take(&mut self, oid: u32) -> u8 {
        let modes = self.modes_of(oid).map_or(0, std::mem::take);
        if modes != 0 {
            self.forget(oid);
        }
        modes
    }

    /// The relations, with masks of the modes held.
    pub(super) fn all(&self) -> impl Iterator<Item = (u32, u8)> {
        let used = self.slots.iter().filter(|slot| slot.modes != 0);
        debug_assert_eq!(used.clone().count(), self.used.count_ones() as usize);
        let more = self.more.iter().map(|(oid, modes)| (*oid, *modes));
        used.map(|slot| (slot.oid, slot.modes)).chain(more)
    }
}

impl LockManager {
    /// Locks a relation of the session's database for its transaction.
    pub(crate) fn lock_relation(
        self: &Arc<Self>,
        session: &Arc<SessionShared>,
        oid: u32,
        mode: RelationLockMode,
        block: bool,
    ) -> Result<Acquire> {
        let (tag, mode_number) =
            (LockTag::Relation { database: session.database(), oid }, mode as u8);
        if mode <= RelationLockMode::RowExclusive {
            let mut held = session.held_locks();
            if self.strong_bucket(oid).load(Ordering::SeqCst) == 0 {
                if held.fast.add(oid, mode_number) {
                    held.order.push((tag, mode_number));
                }
                return Ok(Acquire::Granted);
            }
            if held.fast.has(oid, mode_number) {
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
        let database = session.database();
        for other in self.sessions().all().iter().filter(|other| other.database() == database) {
            let mut held = other.held_locks();
            let modes = held.fast.take(oid);
            for weak in (0..8).filter(|weak| modes & (1 << weak) != 0) {
                self.transfer(other.pid(), tag, weak);
            }
        }
        let acquired = self.acquire(session, tag, mode, true, block);
        if matches!(acquired, Acquire::WouldBlock) {
            self.strong_bucket(oid).fetch_sub(1, Ordering::SeqCst);
        }
        Ok(acquired)
    }
}
