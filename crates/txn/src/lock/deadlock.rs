//! Deadlock detection over the waits-for graph.
//!
//! A waiting session waits for every holder of a conflicting mode and for every
//! conflicting request ahead of it in the queue. The search starts from one
//! waiting session and looks for a path back to it. It latches every shard, so
//! that it sees one moment; that is rare: once per wait that lasts longer than
//! deadlock_timeout. PostgreSQL may also dissolve a cycle by reordering a queue;
//! here the order of a queue is never changed, so such a cycle is an error too.

use std::sync::Arc;

use hashbrown::{HashMap, HashSet};
use parking_lot::MutexGuard;
use steppe_types::{Error, SqlState};

use super::manager::{LockManager, shard_of};
use super::table::Shard;
use super::wait::Waiter;
use super::{Described, LockTag};

/// One edge of a cycle: who waits, for what, because of whom.
struct Edge {
    waiter: Arc<Waiter>,
    blocker: u32,
}

struct Search<'a> {
    shards: &'a [MutexGuard<'a, Shard>],
    waiting: &'a HashMap<u32, Arc<Waiter>, foldhash::fast::RandomState>,
    start: u32,
    visited: HashSet<u32, foldhash::fast::RandomState>,
}

/// Whom a waiting request waits for.
pub(super) fn blockers(shards: &[MutexGuard<'_, Shard>], waiter: &Waiter) -> Vec<u32> {
    let Some(entry) = shards[shard_of(&waiter.tag)].get(&waiter.tag) else {
        return Vec::new();
    };
    let conflicts = waiter.tag.conflicts(waiter.mode);
    let holders = entry.holders.iter();
    let holds = holders.filter(|h| (h.explicit | h.implicit) & conflicts != 0).map(|h| h.pid);
    let ahead = entry.waiters.iter().take_while(|w| !std::ptr::eq(&***w, waiter));
    let wants = ahead.filter(|w| 1 << w.mode & conflicts != 0).map(|w| w.pid);
    holds.chain(wants).filter(|&pid| pid != waiter.pid).collect()
}

impl Search<'_> {
    fn blockers(&self, waiter: &Waiter) -> Vec<u32> {
        blockers(self.shards, waiter)
    }

    /// A path from `start` back to itself, depth first and without recursion:
    /// a thousand sessions may stand in one chain.
    fn find_cycle(&mut self) -> Option<Vec<Edge>> {
        let first = Arc::clone(self.waiting.get(&self.start)?);
        let mut stack = vec![(self.blockers(&first), first)];
        let mut path: Vec<Edge> = Vec::new();
        while let Some((blockers, waiter)) = stack.last_mut() {
            let Some(blocker) = blockers.pop() else {
                stack.pop();
                path.pop();
                continue;
            };
            let edge = Edge { waiter: Arc::clone(waiter), blocker };
            if blocker == self.start {
                path.push(edge);
                return Some(path);
            }
            if !self.visited.insert(blocker) {
                continue;
            }
            if let Some(next) = self.waiting.get(&blocker) {
                let next = Arc::clone(next);
                path.push(edge);
                stack.push((self.blockers(&next), next));
            }
        }
        None
    }
}

impl LockManager {
    /// Fails `waiter` with 40P01 if it stands in a cycle.
    pub(super) fn check_deadlock(&self, waiter: &Arc<Waiter>) {
        if let Some(error) = self.find_deadlock(waiter.pid) {
            self.fail_waiter(waiter, error);
        }
    }

    fn find_deadlock(&self, start: u32) -> Option<Error> {
        let shards: Vec<MutexGuard<'_, Shard>> = self.latch_all();
        let waiting = self.waiting().lock();
        let visited = HashSet::default();
        let cycle = Search { shards: &shards, waiting: &waiting, start, visited }.find_cycle()?;
        drop(waiting);
        drop(shards);
        let lines: Vec<String> = cycle.iter().map(|edge| self.describe(edge)).collect();
        Some(
            Error::new(SqlState::DEADLOCK_DETECTED, "deadlock detected")
                .detail(lines.join("\n"))
                .hint("See server log for query details."),
        )
    }

    /// A wait for a row is a wait for its owner's end, and PostgreSQL says so.
    fn describe(&self, edge: &Edge) -> String {
        let waiter = &edge.waiter;
        let owner_xid = self.xid_of(edge.blocker).filter(|&xid| xid != 0);
        let (tag, mode) = match (waiter.tag, owner_xid) {
            (LockTag::Row(..), Some(xid)) => (LockTag::Transaction(xid), 0),
            _ => (waiter.tag, waiter.mode),
        };
        format!(
            "Process {} waits for {} on {}; blocked by process {}.",
            waiter.pid,
            tag.mode_name(mode),
            Described(tag, self.database_oid()),
            edge.blocker
        )
    }
}
