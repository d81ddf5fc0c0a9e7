//! Who holds and who waits for what, for pg_locks and pg_blocking_pids, in PostgreSQL's terms.
//!
//! PostgreSQL keeps row locks in the rows, and has no lock table entries for them. Only a waiter
//! for a row has one, so that there is an order: it is held by the one that is next and waits for
//! the owner's transaction, and waited for by those behind. Here the queue is the row's own, so
//! that view of it is made up when it is asked for.

use std::time::SystemTime;

use hashbrown::HashMap;

use super::manager::{LockManager, row_bucket, shard_of};
use super::table::Entry;
use super::wait::Waiter;
use super::{LockTag, SharedMode};
use crate::session::is_stand_in;

/// A lock that a session holds or waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LockReport {
    /// The session; meaningless if it is a prepared transaction.
    pub pid: u32,
    /// The prepared transaction that holds it.
    pub prepared: Option<u64>,
    /// What the lock is on.
    pub tag: LockTag,
    /// PostgreSQL's name of the mode.
    pub mode: &'static str,
    /// Held; otherwise waited for.
    pub granted: bool,
    /// Held without an entry in the shared table.
    pub fast_path: bool,
    /// Since when it is waited for.
    pub waits_since: Option<SystemTime>,
}

impl LockReport {
    fn held(pid: u32, tag: LockTag, mode: &'static str) -> LockReport {
        let (granted, fast_path) = (true, false);
        LockReport { pid, prepared: None, tag, mode, granted, fast_path, waits_since: None }
    }

    fn waited_for(waiter: &Waiter, tag: LockTag, mode: &'static str) -> LockReport {
        let lock = LockReport::held(waiter.pid, tag, mode);
        LockReport { granted: false, waits_since: Some(waiter.since), ..lock }
    }
}

/// PostgreSQL's names of the modes in a mask.
fn modes(tag: LockTag, mask: u8) -> impl Iterator<Item = &'static str> {
    (0..8).filter(move |mode| mask & 1 << mode != 0).map(move |mode| tag.mode_name(mode))
}

impl LockManager {
    /// All locks: of each session those that only it knows, then the shared table's. A lock
    /// that moves from one to the other meanwhile may be told twice or not at all, as the
    /// parts are looked at one after the other.
    pub fn report(&self) -> Vec<LockReport> {
        let mut found = Vec::new();
        let mut prepared: HashMap<u32, u64, foldhash::fast::RandomState> = HashMap::default();
        for session in self.sessions().all() {
            let pid = session.pid();
            let stands_for = session.is_stand_in().then(|| session.xid());
            prepared.extend(stands_for.map(|xid| (pid, xid)));
            let fast: Vec<_> = session.held_locks().fast.all().collect();
            let lock =
                |tag, mode| LockReport { prepared: stands_for, ..LockReport::held(pid, tag, mode) };
            for (oid, mask) in fast {
                let tag = LockTag::Relation { database: session.database(), oid };
                let lock = |mode| LockReport { fast_path: true, ..lock(tag, mode) };
                found.extend(modes(tag, mask).map(lock));
            }
            let xid = session.xid();
            if xid != 0 {
                // Every transaction has a lock on its own end.
                let tag = LockTag::Transaction(xid);
                found.push(lock(tag, tag.mode_name(SharedMode::Exclusive as u8)));
            }
        }
        for shard in self.latch_all() {
            for (&tag, entry) in shard.iter() {
                if let LockTag::Row(..) = tag {
                    self.report_row(tag, entry, &mut found);
                    continue;
                }
                let is_own_end = |mode| {
                    matches!(tag, LockTag::Transaction(_))
                        && mode == tag.mode_name(SharedMode::Exclusive as u8)
                };
                for holder in entry.holders.iter() {
                    let held = modes(tag, holder.explicit | holder.implicit);
                    let prepared = prepared.get(&holder.pid).copied();
                    let lock =
                        |mode| LockReport { prepared, ..LockReport::held(holder.pid, tag, mode) };
                    found.extend(held.filter(|mode| !is_own_end(*mode)).map(lock));
                }
                let wait = |waiter: &Waiter| {
                    LockReport::waited_for(waiter, tag, tag.mode_name(waiter.mode))
                };
                found.extend(entry.waiters.iter().map(|waiter| wait(waiter)));
            }
        }
        found
    }

    /// Who waits for a row; see the module's header.
    fn report_row(&self, tag: LockTag, entry: &Entry, found: &mut Vec<LockReport>) {
        for waiter in &entry.waiters {
            let mode = tag.mode_name(waiter.mode);
            let owner = entry.owner_waited_for(tag, waiter).and_then(|pid| self.xid_of(pid));
            let Some(xid) = owner.filter(|xid| *xid != 0) else {
                found.push(LockReport::waited_for(waiter, tag, mode));
                continue;
            };
            found.push(LockReport::held(waiter.pid, tag, mode));
            let end = LockTag::Transaction(xid);
            let shared = end.mode_name(SharedMode::Shared as u8);
            found.push(LockReport::waited_for(waiter, end, shared));
        }
    }

    /// The transaction that has a row locked (the one with the strongest lock, where several
    /// share it).
    pub(crate) fn row_locker(&self, tag: LockTag) -> Option<u64> {
        self.settle_sharers(row_bucket(&tag));
        let strongest = {
            let shard = self.shard(&tag);
            let holders = shard.get(&tag)?.holders.iter().filter(|h| h.explicit != 0);
            holders.max_by_key(|h| h.explicit)?.pid
        };
        self.xid_of(strongest).filter(|xid| *xid != 0)
    }

    /// How many transactions of each session have ended: with the session's number it is the
    /// virtual id of the one that it runs.
    pub fn transactions_ended(&self) -> HashMap<u32, u64, foldhash::fast::RandomState> {
        let sessions = self.sessions().all();
        sessions.into_iter().map(|session| (session.pid(), session.held_locks().ended)).collect()
    }

    /// The sessions that keep `pid` waiting: holders of what conflicts, and those that stand
    /// before it in the queue and conflicts. A prepared transaction is 0.
    pub fn blocking(&self, pid: u32) -> Vec<u32> {
        let shards = self.latch_all();
        let waiting = self.waiting().lock();
        let Some(waiter) = waiting.get(&pid) else { return Vec::new() };
        let mut pids = match shards[shard_of(&waiter.tag)].get(&waiter.tag) {
            // One that is not next waits for those before it, not for the row's owner.
            Some(entry) if entry.is_behind(waiter.tag, waiter) => {
                entry.conflicting_ahead(waiter.tag, waiter).map(|ahead| ahead.pid).collect()
            }
            _ => super::deadlock::blockers(&shards, waiter),
        };
        pids.iter_mut().filter(|pid| is_stand_in(**pid)).for_each(|pid| *pid = 0);
        pids.sort_unstable();
        pids.dedup();
        pids
    }

    /// What a session waits for, and whether nobody else is to get it before.
    pub fn waited_for(&self, pid: u32) -> Option<(LockTag, bool)> {
        let waiter = self.waiting().lock().get(&pid)?.clone();
        let shard = self.shard(&waiter.tag);
        let entry = shard.get(&waiter.tag);
        let is_behind = entry.is_some_and(|entry| entry.is_behind(waiter.tag, &waiter));
        Some((waiter.tag, !is_behind))
    }
}
