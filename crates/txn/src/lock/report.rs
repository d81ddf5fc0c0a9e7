//! Who holds and who waits for what, for pg_locks and pg_blocking_pids.

use hashbrown::HashMap;

use super::manager::LockManager;
use super::{LockTag, Mode, SharedMode};
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
            let held = session.held_locks();
            let (fast, shared): (Vec<_>, Vec<_>) =
                (held.fast.all().collect(), held.rows.all().collect());
            drop(held);
            let lock = |tag, mode, fast_path| LockReport {
                pid,
                prepared: stands_for,
                tag,
                mode,
                granted: true,
                fast_path,
            };
            for (oid, mask) in fast {
                let tag = LockTag::Relation(oid);
                found.extend(modes(tag, mask).map(|mode| lock(tag, mode, true)));
            }
            // PostgreSQL has no fast path for them.
            let row = |(tag, mode): (LockTag, Mode)| lock(tag, tag.mode_name(mode), false);
            found.extend(shared.into_iter().map(row));
            let xid = session.xid();
            if xid != 0 {
                // Every transaction has a lock on its own end.
                let tag = LockTag::Transaction(xid);
                found.push(lock(tag, tag.mode_name(SharedMode::Exclusive as u8), false));
            }
        }
        for shard in self.latch_all() {
            for (&tag, entry) in shard.iter() {
                let is_own_end = |mode| {
                    matches!(tag, LockTag::Transaction(_))
                        && mode == tag.mode_name(SharedMode::Exclusive as u8)
                };
                for holder in &entry.holders {
                    let held = modes(tag, holder.explicit | holder.implicit);
                    found.extend(held.filter(|mode| !is_own_end(*mode)).map(|mode| LockReport {
                        pid: holder.pid,
                        prepared: prepared.get(&holder.pid).copied(),
                        tag,
                        mode,
                        granted: true,
                        fast_path: false,
                    }));
                }
                found.extend(entry.waiters.iter().map(|waiter| LockReport {
                    pid: waiter.pid,
                    prepared: None,
                    tag,
                    mode: tag.mode_name(waiter.mode),
                    granted: false,
                    fast_path: false,
                }));
            }
        }
        found
    }

    /// The sessions that keep `pid` waiting: holders of what conflicts, and whoever stands
    /// before it in the queue and conflicts. A prepared transaction is 0.
    pub fn blocking(&self, pid: u32) -> Vec<u32> {
        let shards = self.latch_all();
        let waiting = self.waiting().lock();
        let mut pids = match waiting.get(&pid) {
            Some(waiter) => super::deadlock::blockers(&shards, waiter),
            None => Vec::new(),
        };
        pids.iter_mut().filter(|pid| is_stand_in(**pid)).for_each(|pid| *pid = 0);
        pids.sort_unstable();
        pids.dedup();
        pids
    }

    /// What a session waits for, and whether it is the next one to get it.
    pub fn waited_for(&self, pid: u32) -> Option<(LockTag, bool)> {
        let tag = self.waiting().lock().get(&pid)?.tag;
        let shard = self.shard(&tag);
        let next = shard.get(&tag).and_then(|entry| entry.waiters.front());
        Some((tag, next.is_none_or(|waiter| waiter.pid == pid)))
    }
}
