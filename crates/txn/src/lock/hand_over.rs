//! The locks of a transaction that is prepared: from its session to its stand-in, into the log,
//! and back after a crash.

use hashbrown::HashSet;
use steppe_types::{Error, Result, SqlState};

use super::manager::{LockManager, is_strong};
use super::{LockTag, Mode};
use crate::session::{HeldLocks, SessionShared};

type Keys = HashSet<(LockTag, Mode), foldhash::fast::RandomState>;

impl LockManager {
    /// What the session's transaction has asked for and got. Rows that it has changed it holds by
    /// having changed them; its end is waited for by all that find it running. Fails if it holds
    /// a lock for the session, too, which cannot be in two hands.
    pub(crate) fn locks_to_keep(&self, session: &SessionShared) -> Result<Vec<(LockTag, Mode)>> {
        let mut held = session.held_locks();
        let HeldLocks { order, session: by_session, fast, rows, .. } = &mut *held;
        let mut seen = Keys::default();
        let mut kept = Vec::new();
        for &(tag, mode) in order.iter() {
            let may_hold = !matches!(tag, LockTag::Transaction(_) | LockTag::Session(_));
            if !may_hold || !seen.insert((tag, mode)) {
                continue;
            }
            if by_session.keys().any(|(other, _)| *other == tag) {
                return Err(Error::new(
                    SqlState::FEATURE_NOT_SUPPORTED,
                    "cannot PREPARE while holding both session-level and transaction-level locks \
                     on the same object",
                ));
            }
            let is_own = rows.has(tag, mode) || fast.holds(tag, mode);
            if is_own || self.holds(session.pid(), tag, mode) {
                kept.push((tag, mode));
            }
        }
        Ok(kept)
    }

    /// The relations of its database that the session's transaction has asked to lock, each once.
    pub(crate) fn relations_of(&self, session: &SessionShared) -> Vec<u32> {
        let held = session.held_locks();
        let relation = |&(tag, _): &(LockTag, Mode)| match tag {
            LockTag::Relation { database, oid } if database == session.database() => Some(oid),
            _ => None,
        };
        let mut relations: Vec<u32> = held.order.iter().filter_map(relation).collect();
        relations.sort_unstable();
        relations.dedup();
        relations
    }

    /// Makes the transaction's locks those of another session, as if the first one's transaction
    /// had ended. They are all in the shared table then: one that comes for a strong lock while
    /// this goes on finds each of them, there or on the first session's fast path.
    pub(crate) fn hand_over(&self, from: &SessionShared, to: &SessionShared) {
        let mut held = from.held_locks();
        let mut taken = to.held_locks();
        taken.stands_for = Some((from.pid(), held.ended));
        held.ended += 1;
        for (tag, mode) in std::mem::take(&mut held.order) {
            if held.session.contains_key(&(tag, mode)) {
                continue;
            }
            let is_fast = held.fast.release(tag, mode);
            if is_fast {
                self.transfer(to.pid(), tag, mode);
            }
            if is_fast
                || self.hand_over_shared(&mut held.rows, to.pid(), (tag, mode))
                || self.change_owner(from.pid(), to.pid(), tag, mode)
            {
                taken.order.push((tag, mode));
            }
        }
    }

    /// After a crash: enters a lock of a prepared transaction.
    pub(crate) fn restore(&self, session: &SessionShared, tag: LockTag, mode: Mode) {
        session.held_locks().order.push((tag, mode));
        if let LockTag::Relation { oid, .. } = tag
            && is_strong(&tag, mode)
        {
            self.count_strong(oid);
        }
        self.transfer(session.pid(), tag, mode);
    }
}
