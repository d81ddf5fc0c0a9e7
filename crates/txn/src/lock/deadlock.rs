//! Deadlock detection over the waits-for graph.
//!
//! A waiting session waits for every holder of a conflicting mode and for every
//! conflicting request ahead of it in the queue. The search starts from one
//! waiting session and looks for a path back to it. It latches every shard, so
//! that it sees one moment; that is rare: once per wait that lasts longer than
//! deadlock_timeout.
//!
//! One that waits for a holder waits for ever in a cycle; one that waits for a request that is
//! ahead in the queue need not. A cycle with such a soft edge is dissolved by letting
//! the later request go ahead, if no other cycle comes of that (PostgreSQL's
//! DeadLockCheck):
//!
//! ```text
//!   A  holds RowShare on t and a row                B  holds RowExclusive on t
//!   A  wants RowExclusive on t, behind C            B  wants A's row
//!   C  wants Share on t, because of B               A ⇢ C ⇢ B ⇢ A: A goes before C
//! ```

use std::sync::Arc;

use hashbrown::{HashMap, HashSet};
use parking_lot::MutexGuard;
use steppe_types::{Error, SqlState};

use super::manager::{LockManager, shard_of};
use super::table::Shard;
use super::wait::{WaitState, Waiter};
use super::{Described, LockTag};

/// So many ways of reordering queues are tried before a cycle counts as a deadlock.
const ATTEMPTS_MAX: u32 = 64;

type Waiting = HashMap<u32, Arc<Waiter>, foldhash::fast::RandomState>;

/// Somebody in the way of a waiting request.
#[derive(Clone, Copy)]
struct Blocker {
    pid: u32,
    /// It holds nothing that conflicts, but is ahead in the queue.
    is_soft: bool,
}

/// One edge of a cycle: who waits, for what, because of whom.
struct Edge {
    waiter: Arc<Waiter>,
    blocker: Blocker,
}

/// A request that has gone ahead of others in its queue.
struct Move {
    waiter: Arc<Waiter>,
    /// Who it went ahead of.
    before: u32,
    from: usize,
    to: usize,
}

struct Search<'a, 's> {
    shards: &'a mut [MutexGuard<'s, Shard>],
    waiting: &'a Waiting,
    moves: Vec<Move>,
    attempts: u32,
}

/// Whom a waiting request waits for.
pub(super) fn blockers(shards: &[MutexGuard<'_, Shard>], waiter: &Waiter) -> Vec<u32> {
    in_the_way(shards, waiter).into_iter().map(|blocker| blocker.pid).collect()
}

/// Holders first, then those that are only ahead.
fn in_the_way(shards: &[MutexGuard<'_, Shard>], waiter: &Waiter) -> Vec<Blocker> {
    let Some(entry) = shards[shard_of(&waiter.tag)].get(&waiter.tag) else {
        return Vec::new();
    };
    let conflicts = waiter.tag.conflicts(waiter.mode);
    let holders = entry.holders.iter();
    let holds = holders
        .filter(|h| (h.explicit | h.implicit) & conflicts != 0)
        .map(|h| Blocker { pid: h.pid, is_soft: false });
    let ahead = entry.waiters.iter().take_while(|w| !std::ptr::eq(&***w, waiter));
    let wants = ahead
        .filter(|w| 1 << w.mode & conflicts != 0)
        .map(|w| Blocker { pid: w.pid, is_soft: true });
    holds.chain(wants).filter(|blocker| blocker.pid != waiter.pid).collect()
}

impl Search<'_, '_> {
    /// Reorders queues until `start` is in no cycle. Fails, with everything as it was, if that
    /// cannot be.
    fn dissolve(&mut self, start: u32) -> Result<(), Vec<Edge>> {
        let Some(cycle) = self.cycle(start) else { return Ok(()) };
        // PostgreSQL finds a cycle's soft edges from its end.
        for edge in cycle.iter().rev().filter(|edge| edge.blocker.is_soft) {
            self.attempts += 1;
            if self.attempts > ATTEMPTS_MAX {
                break;
            }
            if self.is_settled(edge) || !self.let_ahead(edge) {
                continue;
            }
            if self.dissolve(start).is_ok() {
                return Ok(());
            }
            self.take_back();
        }
        Err(cycle)
    }

    /// A cycle of `start`, or one that a move may have made: such a one goes through what moved.
    fn cycle(&self, start: u32) -> Option<Vec<Edge>> {
        let moved = self.moves.iter().map(|moved| moved.waiter.pid);
        std::iter::once(start).chain(moved).find_map(|pid| self.cycle_of(pid))
    }

    /// Whether the two have changed places the other way round before.
    fn is_settled(&self, edge: &Edge) -> bool {
        let (waiter, blocker) = (edge.waiter.pid, edge.blocker.pid);
        self.moves.iter().any(|moved| moved.waiter.pid == blocker && moved.before == waiter)
    }

    /// Puts a waiting request before the one that it waits for.
    fn let_ahead(&mut self, edge: &Edge) -> bool {
        let (waiter, before) = (edge.waiter.clone(), edge.blocker.pid);
        let Some(entry) = self.shards[shard_of(&waiter.tag)].get_mut(&waiter.tag) else {
            return false;
        };
        let from = entry.waiters.iter().position(|w| Arc::ptr_eq(w, &waiter));
        let to = entry.waiters.iter().position(|w| w.pid == before);
        let (Some(from), Some(to)) = (from, to) else { return false };
        if let Some(moved) = entry.waiters.remove(from) {
            entry.waiters.insert(to, moved);
        }
        self.moves.push(Move { waiter, before, from, to });
        true
    }

    fn take_back(&mut self) {
        let Some(Move { waiter, from, to, .. }) = self.moves.pop() else { return };
        let Some(entry) = self.shards[shard_of(&waiter.tag)].get_mut(&waiter.tag) else { return };
        if let Some(moved) = entry.waiters.remove(to) {
            entry.waiters.insert(from, moved);
        }
    }

    /// A path from `start` back to itself, depth first and without recursion:
    /// a thousand sessions may stand in one chain.
    fn cycle_of(&self, start: u32) -> Option<Vec<Edge>> {
        let in_the_way = |waiter: &Waiter| in_the_way(self.shards, waiter).into_iter();
        let first = Arc::clone(self.waiting.get(&start)?);
        let mut visited: HashSet<u32, foldhash::fast::RandomState> = HashSet::default();
        let mut stack = vec![(in_the_way(&first), first)];
        let mut path: Vec<Edge> = Vec::new();
        while let Some((blockers, waiter)) = stack.last_mut() {
            let Some(blocker) = blockers.next() else {
                stack.pop();
                path.pop();
                continue;
            };
            let edge = Edge { waiter: Arc::clone(waiter), blocker };
            if blocker.pid == start {
                path.push(edge);
                return Some(path);
            }
            if !visited.insert(blocker.pid) {
                continue;
            }
            if let Some(next) = self.waiting.get(&blocker.pid) {
                let next = Arc::clone(next);
                path.push(edge);
                stack.push((in_the_way(&next), next));
            }
        }
        None
    }
}

impl LockManager {
    /// Fails `waiter` with 40P01 if it stands in a cycle that no other order of the queues
    /// dissolves.
    pub(super) fn check_deadlock(&self, waiter: &Arc<Waiter>) {
        if let Some(error) = self.find_deadlock(waiter.pid) {
            self.fail_waiter(waiter, error);
        }
    }

    fn find_deadlock(&self, start: u32) -> Option<Error> {
        let mut shards: Vec<MutexGuard<'_, Shard>> = self.latch_all();
        let mut waiting = self.waiting().lock();
        let mut search =
            Search { shards: &mut shards, waiting: &waiting, moves: Vec::new(), attempts: 0 };
        let dissolved = search.dissolve(start);
        let moves = std::mem::take(&mut search.moves);
        let Err(cycle) = dissolved else {
            for Move { waiter, .. } in moves {
                let entry = shards[shard_of(&waiter.tag)].get_mut(&waiter.tag);
                for granted in entry.map(|entry| entry.grant(waiter.tag)).unwrap_or_default() {
                    waiting.remove(&granted.pid);
                    granted.finish(WaitState::Granted);
                }
            }
            return None;
        };
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
        let owner_xid = self.xid_of(edge.blocker.pid).filter(|&xid| xid != 0);
        let (tag, mode) = match (waiter.tag, owner_xid) {
            (LockTag::Row(..), Some(xid)) => (LockTag::Transaction(xid), 0),
            _ => (waiter.tag, waiter.mode),
        };
        format!(
            "Process {} waits for {} on {}; blocked by process {}.",
            waiter.pid,
            tag.mode_name(mode),
            Described(tag, waiter.database),
            edge.blocker.pid
        )
    }
}
