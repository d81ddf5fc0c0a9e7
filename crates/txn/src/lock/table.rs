//! The entries of the lock table: who holds a tag, who waits for it, and the
//! rules of granting. Pure data structure: no latches and no waiting here.

use std::collections::VecDeque;
use std::ops::{Deref, DerefMut};
use std::sync::Arc;

use hashbrown::HashMap;

use super::near::Near;
use super::wait::Waiter;
use super::{LockTag, Mode};

/// One session's share in a lock.
#[derive(Debug, Clone, Copy)]
pub(super) struct Holder {
    pub(super) pid: u32,
    /// Modes that were asked for, as a mask.
    pub(super) explicit: u8,
    /// Modes that the session owns through an uncommitted row version; entered
    /// on its behalf by the first session that had to wait for it.
    pub(super) implicit: u8,
}

impl Holder {
    fn modes(&self) -> u8 {
        self.explicit | self.implicit
    }
}

/// The shares of the sessions that hold a lock. Mostly there is one, which has no memory of its own: a
/// transaction may have millions of locks.
#[derive(Default, Debug)]
pub(super) enum Holders {
    #[default]
    None,
    One(Holder),
    Many(Vec<Holder>),
}

impl Deref for Holders {
    type Target = [Holder];

    fn deref(&self) -> &[Holder] {
        match self {
            Holders::None => &[],
            Holders::One(holder) => std::slice::from_ref(holder),
            Holders::Many(holders) => holders,
        }
    }
}

impl DerefMut for Holders {
    fn deref_mut(&mut self) -> &mut [Holder] {
        match self {
            Holders::None => &mut [],
            Holders::One(holder) => std::slice::from_mut(holder),
            Holders::Many(holders) => holders,
        }
    }
}

impl Holders {
    fn push(&mut self, new: Holder) {
        match self {
            Holders::None => *self = Holders::One(new),
            Holders::One(holder) => *self = Holders::Many(vec![*holder, new]),
            Holders::Many(holders) => holders.push(new),
        }
    }

    fn remove(&mut self, at: usize) {
        match self {
            Holders::None | Holders::One(_) => *self = Holders::None,
            Holders::Many(holders) => {
                holders.swap_remove(at);
            }
        }
    }
}

/// A lock that somebody holds or waits for.
#[derive(Default, Debug)]
pub(super) struct Entry {
    pub(super) holders: Holders,
    pub(super) waiters: VecDeque<Arc<Waiter>>,
}

/// One shard of the lock table.
pub(super) type Shard = HashMap<LockTag, Entry, Near<foldhash::fast::RandomState>>;

impl Entry {
    pub(super) fn is_empty(&self) -> bool {
        self.holders.is_empty() && self.waiters.is_empty()
    }

    /// Modes that others than `pid` hold.
    pub(super) fn held_by_others(&self, pid: u32) -> u8 {
        self.holders.iter().filter(|h| h.pid != pid).fold(0, |mask, h| mask | h.modes())
    }

    /// Modes that `pid` holds.
    pub(super) fn held_by(&self, pid: u32) -> u8 {
        self.holders.iter().find(|h| h.pid == pid).map_or(0, Holder::modes)
    }

    /// Modes that `pid` has asked for, and holds.
    pub(super) fn asked_by(&self, pid: u32) -> u8 {
        self.holders.iter().find(|h| h.pid == pid).map_or(0, |h| h.explicit)
    }

    /// Where a request of `pid` belongs in the queue, and whether it need not
    /// queue at all (`None`). A session that already holds what some waiter
    /// waits for goes before that waiter: behind it, both would wait for ever
    /// (PostgreSQL's ProcSleep). A row that none has in a way that conflicts is had
    /// at once, whatever waits for it (heap_lock_tuple).
    pub(super) fn queue_position(&self, tag: LockTag, pid: u32, mode: Mode) -> Option<usize> {
        let conflicts = tag.conflicts(mode);
        let mine = self.held_by(pid);
        let mut position = self.waiters.len();
        if mine != 0 {
            let blocked_by_me = |w: &Arc<Waiter>| tag.conflicts(w.mode) & mine != 0;
            position = self.waiters.iter().position(blocked_by_me).unwrap_or(position);
        }
        let ahead = self.waiters.iter().take(position).filter(|w| w.pid != pid);
        let wanted_ahead = match tag {
            LockTag::Row(..) => 0,
            _ => ahead.fold(0, |mask, w| mask | 1 << w.mode),
        };
        if conflicts & (self.held_by_others(pid) | wanted_ahead) == 0 {
            None
        } else {
            Some(position)
        }
    }

    /// The sessions whose modes a request of `pid` waits for.
    pub(super) fn in_the_way(&self, tag: LockTag, pid: u32, mode: Mode) -> Vec<u32> {
        let conflicts = tag.conflicts(mode);
        let holders = self.holders.iter();
        holders.filter(|h| h.pid != pid && h.modes() & conflicts != 0).map(|h| h.pid).collect()
    }

    /// Whether a request of `pid` would wait for a waiter that waits for what `pid` has: no place
    /// in the queue is one that both come out of.
    pub(super) fn is_deadlock(&self, tag: LockTag, pid: u32, mode: Mode) -> bool {
        let mine = self.held_by(pid);
        let first = self.waiters.iter().find(|w| tag.conflicts(w.mode) & mine != 0);
        first.is_some_and(|w| tag.conflicts(mode) & self.held_by(w.pid) != 0)
    }

    /// The requests that stand before another in the queue and conflict with it.
    pub(super) fn conflicting_ahead<'a>(
        &'a self,
        tag: LockTag,
        waiter: &'a Waiter,
    ) -> impl Iterator<Item = &'a Arc<Waiter>> {
        let ahead = self.waiters.iter().take_while(move |w| !std::ptr::eq(&***w, waiter));
        ahead.filter(move |w| tag.conflicts(waiter.mode) & (1 << w.mode) != 0)
    }

    /// Whether a request for a row stands behind another that conflicts with it.
    pub(super) fn is_behind(&self, tag: LockTag, waiter: &Waiter) -> bool {
        matches!(tag, LockTag::Row(..)) && self.conflicting_ahead(tag, waiter).next().is_some()
    }

    /// The session that keeps a request for a row waiting, if it is one of those that are next.
    pub(super) fn owner_waited_for(&self, tag: LockTag, waiter: &Waiter) -> Option<u32> {
        let conflicts = tag.conflicts(waiter.mode);
        let mut holders = self.holders.iter().filter(|h| h.pid != waiter.pid);
        let owner = holders.find(|h| h.modes() & conflicts != 0)?;
        (!self.is_behind(tag, waiter)).then_some(owner.pid)
    }

    pub(super) fn add_explicit(&mut self, pid: u32, mode: Mode) {
        match self.holders.iter_mut().find(|h| h.pid == pid) {
            Some(holder) => holder.explicit |= 1 << mode,
            None => self.holders.push(Holder { pid, explicit: 1 << mode, implicit: 0 }),
        }
    }

    pub(super) fn add_implicit(&mut self, pid: u32, mode: Mode) {
        match self.holders.iter_mut().find(|h| h.pid == pid) {
            Some(holder) => holder.implicit |= 1 << mode,
            None => self.holders.push(Holder { pid, explicit: 0, implicit: 1 << mode }),
        }
    }

    /// Makes a mode of one session another's; false if the first does not hold it.
    pub(super) fn hand_over(&mut self, from: u32, to: u32, mode: Mode) -> bool {
        let Some(holder) = self.holders.iter().find(|h| h.pid == from) else { return false };
        let (explicit, implicit) = (holder.explicit & 1 << mode, holder.implicit & 1 << mode);
        self.remove(from, explicit, implicit);
        if explicit != 0 {
            self.add_explicit(to, mode);
        }
        if implicit != 0 {
            self.add_implicit(to, mode);
        }
        explicit | implicit != 0
    }

    /// Takes modes away from `pid`; returns the explicit ones that it really held.
    pub(super) fn remove(&mut self, pid: u32, explicit: u8, implicit: u8) -> u8 {
        let Some(at) = self.holders.iter().position(|h| h.pid == pid) else { return 0 };
        let holder = &mut self.holders[at];
        let removed = holder.explicit & explicit;
        holder.explicit &= !explicit;
        holder.implicit &= !implicit;
        if holder.modes() == 0 {
            self.holders.remove(at);
        }
        removed
    }

    /// Grants, in the order of the queue, every request that conflicts neither
    /// with a holder nor with an earlier request that must go on waiting
    /// (PostgreSQL's ProcLockWakeup). Returns those to wake.
    pub(super) fn grant(&mut self, tag: LockTag) -> Vec<Arc<Waiter>> {
        let mut granted = Vec::new();
        let mut ahead = 0u8;
        let mut at = 0;
        while let Some(waiter) = self.waiters.get(at) {
            let blockers = self.held_by_others(waiter.pid) | ahead;
            if tag.conflicts(waiter.mode) & blockers != 0 {
                ahead |= 1 << waiter.mode;
                at += 1;
                continue;
            }
            let Some(waiter) = self.waiters.remove(at) else { break };
            if waiter.hold {
                self.add_explicit(waiter.pid, waiter.mode);
            }
            granted.push(waiter);
        }
        granted
    }
}
