//! The lock manager: the sharded table, and who holds what.

use std::hash::BuildHasher;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Weak};
use std::time::Instant;

use hashbrown::{HashMap, HashSet, hash_map};
use parking_lot::{Mutex, MutexGuard};
use steppe_types::{Error, Result, SqlState};

use super::monitor::{Monitor, Watch};
use super::near::{Near, scattered};
use super::sharers::Sharers;
use super::table::Shard;
use super::wait::{LockWait, WaitState, Waiter};
use super::{AdvisoryKey, LockTag, Mode, RelationLockMode, RowLockMode, SharedMode};
use crate::files::DatabaseId;
use crate::session::{HeldLocks, Interrupt, SessionRegistry, SessionShared};

const SHARDS: usize = 64;
/// Entries of a session's list of locks whose memory is worth keeping when it is empty.
const ORDER_KEPT: usize = 1024;
pub(super) const ROW_BUCKETS: usize = 4096;
/// Buckets of PostgreSQL's FastPathStrongRelationLocks.
const STRONG_BUCKETS: usize = 1024;

/// Settings of the lock manager.
#[derive(Clone, Copy, Debug)]
pub struct LockOptions {
    /// Locks that there may be in the table before 53200, those of one session and those of all.
    /// (What is entered on somebody's behalf always finds room.)
    pub max_locks: usize,
}

impl Default for LockOptions {
    fn default() -> LockOptions {
        LockOptions { max_locks: 4 << 20 }
    }
}

/// Whether an advisory lock ends with the transaction or with the session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AdvisoryScope {
    /// pg_advisory_xact_lock and friends.
    Transaction,
    /// pg_advisory_lock and friends: counted, and survive ROLLBACK.
    Session,
}

/// How many locks a transaction had; see `release_to`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub(crate) struct LockPosition(pub(crate) usize);

/// The transaction whose uncommitted version of a row is in the way.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RowOwner {
    pub(crate) pid: u32,
    pub(crate) xid: u64,
    pub(crate) mode: RowLockMode,
}

/// How a row stands to a session that is about to write it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RowClaim {
    /// Nobody else has it or comes first.
    pub(crate) is_free: bool,
    /// The modes that the session has locked it in, as a mask.
    pub(crate) own: u8,
}

/// What a request came to.
pub(crate) enum Acquire {
    /// The session holds it.
    Granted,
    /// The owner that was in the way has ended meanwhile: look again.
    Retry,
    /// It stands in the queue.
    Wait(LockWait),
    /// It would have had to wait and was told not to.
    WouldBlock,
}

impl Acquire {
    /// What is to be waited for, if anything is.
    pub(crate) fn wait(self) -> Option<LockWait> {
        match self {
            Acquire::Wait(wait) => Some(wait),
            _ => None,
        }
    }
}

/// All heavyweight locks.
pub struct LockManager {
    options: LockOptions,
    sessions: Arc<SessionRegistry>,
    shards: Box<[Mutex<Shard>]>,
    /// Row entries by hash of the tag: zero means that no lock needs to be
    /// looked up, which is what nearly every row write finds.
    row_buckets: Box<[AtomicU32]>,
    /// Row locks that are not in the table.
    sharers: Sharers,
    /// Strong relation locks held or wanted, by hash of the oid.
    strong: Box<[AtomicU32]>,
    waiting: Mutex<HashMap<u32, Arc<Waiter>, foldhash::fast::RandomState>>,
    monitor: Monitor,
}

fn hash_of(tag: &LockTag) -> u64 {
    Near(foldhash::fast::FixedState::with_seed(0x5354_4550)).hash_one(tag)
}

/// The shard of a tag: that of all rows of a block ([`super::near`]).
pub(super) fn shard_of(tag: &LockTag) -> usize {
    (hash_of(tag) >> 48) as usize % SHARDS
}

pub(super) fn row_bucket(tag: &LockTag) -> usize {
    scattered(hash_of(tag), ROW_BUCKETS)
}

/// Whether a mode keeps others from the fast path. (Nobody has a shared relation there.)
pub(super) fn is_strong(tag: &LockTag, mode: Mode) -> bool {
    let has_fast_path =
        matches!(tag, LockTag::Relation { database, .. } if *database != DatabaseId::SHARED);
    has_fast_path && mode > RelationLockMode::ShareUpdateExclusive as u8
}

/// 53200, with PostgreSQL's words.
#[cold]
pub(super) fn full() -> Error {
    Error::new(SqlState::OUT_OF_MEMORY, "out of shared memory")
        .hint("You might need to increase \"max_locks_per_transaction\".")
}

impl LockManager {
    pub(crate) fn new(options: LockOptions, sessions: Arc<SessionRegistry>) -> Arc<LockManager> {
        let manager = LockManager {
            options,
            sessions,
            shards: (0..SHARDS).map(|_| Mutex::default()).collect(),
            row_buckets: (0..ROW_BUCKETS).map(|_| AtomicU32::new(0)).collect(),
            sharers: Sharers::new(),
            strong: (0..STRONG_BUCKETS).map(|_| AtomicU32::new(0)).collect(),
            waiting: Mutex::default(),
            monitor: Monitor::default(),
        };
        Arc::new(manager)
    }

    pub(super) fn xid_of(&self, pid: u32) -> Option<u64> {
        self.sessions.find(pid).map(|session| session.xid())
    }

    pub(super) fn waiting(&self) -> &Mutex<HashMap<u32, Arc<Waiter>, foldhash::fast::RandomState>> {
        &self.waiting
    }

    pub(super) fn latch_all(&self) -> Vec<MutexGuard<'_, Shard>> {
        self.shards.iter().map(Mutex::lock).collect()
    }

    pub(super) fn shard(&self, tag: &LockTag) -> MutexGuard<'_, Shard> {
        self.shards[shard_of(tag)].lock()
    }

    fn strong_count(&self, oid: u32) -> &AtomicU32 {
        &self.strong[oid as usize % STRONG_BUCKETS]
    }

    /// Finds or makes the entry of a tag and runs `f` on it; removes it if it is
    /// empty afterwards. Wakes those that `f` returns.
    pub(super) fn with_entry<T>(
        &self,
        tag: LockTag,
        f: impl FnOnce(&mut super::table::Entry) -> (T, Vec<Arc<Waiter>>),
    ) -> T {
        self.with_entry_of(self.shard(&tag), tag, f)
    }

    /// As [`Self::with_entry`], in the tag's shard.
    pub(super) fn with_entry_of<T>(
        &self,
        mut shard: MutexGuard<'_, Shard>,
        tag: LockTag,
        f: impl FnOnce(&mut super::table::Entry) -> (T, Vec<Arc<Waiter>>),
    ) -> T {
        let row_count =
            || matches!(tag, LockTag::Row(..)).then(|| &self.row_buckets[row_bucket(&tag)]);
        // A transaction may have millions of locks: the tag is looked for once.
        let (result, woken) = match shard.entry(tag) {
            hash_map::Entry::Occupied(mut found) => {
                let done = f(found.get_mut());
                if found.get().is_empty() {
                    found.remove();
                    if let Some(count) = row_count() {
                        count.fetch_sub(1, Ordering::SeqCst);
                    }
                }
                done
            }
            hash_map::Entry::Vacant(place) => {
                let mut entry = super::table::Entry::default();
                let done = f(&mut entry);
                if !entry.is_empty() {
                    place.insert(entry);
                    if let Some(count) = row_count() {
                        count.fetch_add(1, Ordering::SeqCst);
                    }
                }
                done
            }
        };
        for waiter in &woken {
            self.waiting.lock().remove(&waiter.pid);
            waiter.finish(WaitState::Granted);
        }
        result
    }

    // ----- requests -----

    /// Asks for `mode` on `tag` for the session. `hold`: a grant is kept until
    /// the transaction ends. `block`: whether it may queue.
    pub(super) fn acquire(
        self: &Arc<Self>,
        session: &Arc<SessionShared>,
        tag: LockTag,
        mode: Mode,
        hold: bool,
        block: bool,
    ) -> Acquire {
        let pid = session.pid();
        let (mut is_deadlock, mut in_the_way) = (false, Vec::new());
        let waiter = self.with_entry(tag, |entry| {
            if entry.held_by(pid) & (1 << mode) != 0 {
                if hold {
                    entry.add_explicit(pid, mode);
                }
                return (Ok(()), Vec::new());
            }
            let Some(position) = entry.queue_position(tag, pid, mode) else {
                if hold {
                    entry.add_explicit(pid, mode);
                }
                return (Ok(()), Vec::new());
            };
            if !block {
                return (Err(None), Vec::new());
            }
            // A wait for a row is one for a transaction, which PostgreSQL looks at in its time.
            let is_of_transaction = matches!(tag, LockTag::Row(..) | LockTag::Transaction(_));
            is_deadlock = !is_of_transaction && entry.is_deadlock(tag, pid, mode);
            if let LockTag::Relation { .. } | LockTag::Object { .. } | LockTag::Name { .. } = tag {
                in_the_way = entry.in_the_way(tag, pid, mode);
            }
            let waiter = Arc::new(Waiter::new((pid, session.database()), tag, mode, hold));
            entry.waiters.insert(position, Arc::clone(&waiter));
            self.waiting.lock().insert(pid, Arc::clone(&waiter));
            (Err(Some(waiter)), Vec::new())
        });
        match waiter {
            Ok(()) => Acquire::Granted,
            Err(None) => Acquire::WouldBlock,
            Err(Some(waiter)) => {
                self.have_give_way(&in_the_way);
                if is_deadlock {
                    self.check_deadlock(&waiter);
                }
                Acquire::Wait(LockWait::new(Arc::clone(self), Arc::clone(session), waiter))
            }
        }
    }

    /// Cancels what those sessions run that give way to all. (PostgreSQL's waiters look for a worker
    /// of autovacuum when deadlock_timeout has passed: proc.c, ProcSleep.)
    fn have_give_way(&self, sessions: &[u32]) {
        let found = sessions.iter().filter_map(|pid| self.sessions.find(*pid));
        found.filter(|session| session.gives_way()).for_each(|s| s.interrupt(Interrupt::Cancel));
    }

    /// Waits for the end of a transaction (or for its ROLLBACK TO SAVEPOINT).
    pub(crate) fn wait_for_transaction(
        self: &Arc<Self>,
        session: &Arc<SessionShared>,
        owner: (u32, u64),
        still_running: impl Fn() -> bool,
    ) -> Acquire {
        let tag = LockTag::Transaction(owner.1);
        if !self.add_on_behalf(owner.0, tag, SharedMode::Exclusive as u8, still_running) {
            return Acquire::Retry;
        }
        match self.acquire(session, tag, SharedMode::Shared as u8, false, true) {
            Acquire::Granted => Acquire::Retry,
            other => other,
        }
    }

    /// Enters a mode that `pid` owns without having asked for it. False if the
    /// owner has ended: it publishes its end first and takes its list of locks
    /// afterwards, so under the latch of that list one of the two is seen.
    fn add_on_behalf(
        &self,
        pid: u32,
        tag: LockTag,
        mode: Mode,
        still_running: impl Fn() -> bool,
    ) -> bool {
        let Some(owner) = self.sessions.find(pid) else { return false };
        let mut held = owner.held_locks();
        if !still_running() {
            return false;
        }
        held.order.push((tag, mode));
        self.enter(pid, tag, mode);
        true
    }

    /// Enters a mode in the table that is in the session's list.
    pub(super) fn enter(&self, pid: u32, tag: LockTag, mode: Mode) {
        self.with_entry(tag, |entry| {
            entry.add_implicit(pid, mode);
            ((), Vec::new())
        });
    }

    /// Queues for a row. `owner` is the transaction whose uncommitted version
    /// is in the way, if that is what is in the way.
    pub(crate) fn lock_row_slow(
        self: &Arc<Self>,
        session: &Arc<SessionShared>,
        tag: LockTag,
        mode: RowLockMode,
        owner: Option<RowOwner>,
        block: bool,
        still_running: impl Fn() -> bool,
    ) -> Result<Acquire> {
        if let Some(owner) = owner
            && !self.add_on_behalf(owner.pid, tag, owner.mode as u8, still_running)
        {
            return Ok(Acquire::Retry);
        }
        self.holds_or_has_room(session.pid(), tag, mode as u8)?;
        self.note(session, tag, mode as u8)?;
        let _claim = (mode > RowLockMode::Share).then(|| self.claim_row(&tag));
        Ok(self.acquire(session, tag, mode as u8, true, block))
    }

    /// Under the leaf's latch: takes the row lock if that needs no waiting.
    pub(crate) fn try_lock_row(
        &self,
        session: &Arc<SessionShared>,
        tag: LockTag,
        mode: RowLockMode,
    ) -> Result<bool> {
        let pid = session.pid();
        if self.holds_or_has_room(pid, tag, mode as u8)? {
            return Ok(true);
        }
        self.note(session, tag, mode as u8)?;
        let _claim = (mode > RowLockMode::Share).then(|| self.claim_row(&tag));
        Ok(self.with_entry(tag, |entry| {
            let held = entry.held_by(pid) & (1 << mode as u8) != 0;
            let free = held || entry.queue_position(tag, pid, mode as u8).is_none();
            if free {
                entry.add_explicit(pid, mode as u8);
            }
            (free, Vec::new())
        }))
    }

    /// Under the leaf's latch: whether the session may write the row in `mode`
    /// as far as explicit locks and queues go, and what it has asked for before.
    /// A few loads if there are none.
    pub(crate) fn row_claim(&self, pid: u32, tag: LockTag, mode: RowLockMode) -> RowClaim {
        let bucket = row_bucket(&tag);
        self.settle_sharers(bucket);
        if self.row_buckets[bucket].load(Ordering::Acquire) == 0 {
            return RowClaim { is_free: true, own: 0 };
        }
        let shard = self.shard(&tag);
        let Some(entry) = shard.get(&tag) else { return RowClaim { is_free: true, own: 0 } };
        let is_free = entry.held_by(pid) & (1 << mode as u8) != 0
            || entry.queue_position(tag, pid, mode as u8).is_none();
        RowClaim { is_free, own: entry.asked_by(pid) }
    }

    /// Remembers that the session may hold `mode` on `tag`, so that the end of
    /// the transaction releases it. Comes before queueing: a grant may arrive
    /// from another thread at any time.
    pub(super) fn note(&self, session: &SessionShared, tag: LockTag, mode: Mode) -> Result<()> {
        let mut held = session.held_locks();
        if held.order.len() >= self.options.max_locks {
            return Err(full());
        }
        held.order.push((tag, mode));
        Ok(())
    }

    /// Whether the session has the mode; 53200 if it has not, nobody has any on the tag, and the
    /// table is full. Each shard is for its share of all locks, so that nobody counts them all.
    pub(super) fn holds_or_has_room(&self, pid: u32, tag: LockTag, mode: Mode) -> Result<bool> {
        let shard = self.shard(&tag);
        match shard.get(&tag) {
            Some(entry) => Ok(entry.asked_by(pid) & (1 << mode) != 0),
            None if self.is_full(&shard) => Err(full()),
            None => Ok(false),
        }
    }

    /// Locks for the session's transaction what has no fast path and is no row.
    pub(crate) fn lock_until_end(
        self: &Arc<Self>,
        session: &Arc<SessionShared>,
        tag: LockTag,
        mode: Mode,
    ) -> Result<Acquire> {
        if self.holds(session.pid(), tag, mode) {
            return Ok(Acquire::Granted);
        }
        self.note(session, tag, mode)?;
        Ok(self.acquire(session, tag, mode, true, true))
    }

    /// Asks for an advisory lock; `Ok(None)` if granted.
    pub(crate) fn lock_advisory(
        self: &Arc<Self>,
        session: &Arc<SessionShared>,
        key: AdvisoryKey,
        mode: SharedMode,
        scope: AdvisoryScope,
        block: bool,
    ) -> Result<Acquire> {
        let (tag, mode) = (LockTag::Advisory { database: session.database(), key }, mode as u8);
        self.holds_or_has_room(session.pid(), tag, mode)?;
        if scope == AdvisoryScope::Transaction {
            self.note(session, tag, mode)?;
            return Ok(self.acquire(session, tag, mode, true, block));
        }
        // Counted when granted; a grant that comes later is asked for again by
        // the caller (it then holds the mode and is counted at once).
        let acquired = self.acquire(session, tag, mode, true, block);
        match acquired {
            Acquire::Granted => {
                let mut held = session.held_locks();
                *held.session.entry((tag, mode)).or_insert(0) += 1;
                // The transaction has nothing to do with it any more.
                if held.awaited.take() == Some((tag, mode)) {
                    held.order.pop();
                }
            }
            // Should the statement fail after the grant, the transaction's end
            // gives back what nobody has counted.
            Acquire::Wait(_) => {
                let again = session.held_locks().awaited == Some((tag, mode));
                if !again {
                    self.note(session, tag, mode)?;
                    session.held_locks().awaited = Some((tag, mode));
                }
            }
            _ => {}
        }
        Ok(acquired)
    }

    /// Gives one session-level advisory lock back; false if it was not held.
    pub(crate) fn unlock_advisory(
        &self,
        session: &SessionShared,
        key: AdvisoryKey,
        mode: SharedMode,
    ) -> bool {
        let (tag, mode) = (LockTag::Advisory { database: session.database(), key }, mode as u8);
        let mut held = session.held_locks();
        let Some(count) = held.session.get_mut(&(tag, mode)) else { return false };
        *count -= 1;
        if *count == 0 {
            held.session.remove(&(tag, mode));
            if !held.order.contains(&(tag, mode)) {
                drop(held);
                self.release_mode(session.pid(), tag, mode);
            }
        }
        true
    }

    /// Gives all session-level advisory locks back.
    pub(crate) fn unlock_all_advisory(&self, session: &SessionShared) {
        let mut held = session.held_locks();
        let mut mine: Vec<(LockTag, Mode)> = held.session.drain().map(|(key, _)| key).collect();
        mine.retain(|key| !held.order.contains(key));
        drop(held);
        for (tag, mode) in mine {
            self.release_mode(session.pid(), tag, mode);
        }
    }

    // ----- release -----

    /// Whether the session has asked for and got the mode.
    pub(crate) fn holds(&self, pid: u32, tag: LockTag, mode: Mode) -> bool {
        let shard = self.shard(&tag);
        shard.get(&tag).is_some_and(|entry| entry.asked_by(pid) & (1 << mode) != 0)
    }

    /// How many locks the session's transaction has.
    pub(crate) fn position(&self, session: &SessionShared) -> LockPosition {
        LockPosition(session.held_locks().order.len())
    }

    /// Releases what was acquired after `position`, and hands it on. The locks
    /// that were there before stay, even if they were asked for again since.
    pub(crate) fn release_to(&self, session: &SessionShared, position: LockPosition) {
        let mut held = session.held_locks();
        held.ended += u64::from(position.0 == 0);
        held.awaited = None;
        if held.order.len() <= position.0 {
            return;
        }
        let mut released = std::mem::take(&mut held.order);
        held.order.extend(released.drain(..position.0));
        if !held.order.is_empty() || !held.session.is_empty() {
            let HeldLocks { order, session: by_session, fast, rows, .. } = &mut *held;
            let earlier: HashSet<(LockTag, Mode), foldhash::fast::RandomState> =
                order.iter().copied().collect();
            released.retain(|&(tag, mode)| {
                let is_earlier = earlier.contains(&(tag, mode));
                // A lock that is in the table may be on one of the session's own lists, too: by
                // another way of asking for it, or since it was moved. The end of the transaction
                // looks for what is listed once in one place.
                if is_earlier && self.holds(session.pid(), tag, mode) {
                    let _ = fast.release(tag, mode) || self.unshare(rows, tag, mode);
                }
                !is_earlier && !by_session.contains_key(&(tag, mode))
            });
        }
        let HeldLocks { fast, rows, .. } = &mut *held;
        released.retain(|&(tag, mode)| !fast.release(tag, mode) && !self.unshare(rows, tag, mode));
        if released.is_empty() && held.order.is_empty() && released.capacity() <= ORDER_KEPT {
            // The session's next transaction finds the list's memory again.
            held.order = released;
            return;
        }
        drop(held);
        for (tag, mode) in released {
            self.release_mode(session.pid(), tag, mode);
        }
    }

    /// Takes a mode away from a session and hands the lock to the next waiters.
    pub(crate) fn release_mode(&self, pid: u32, tag: LockTag, mode: Mode) {
        let removed = self.with_entry(tag, |entry| {
            let removed = entry.remove(pid, 1 << mode, 1 << mode);
            (removed, entry.grant(tag))
        });
        if let LockTag::Relation { oid, .. } = tag
            && is_strong(&tag, mode)
            && removed != 0
        {
            self.strong_count(oid).fetch_sub(1, Ordering::SeqCst);
        }
    }

    /// A row's uncommitted version was rolled back to a savepoint: a session that was
    /// waiting for it goes on, unless the row is locked explicitly as well.
    pub(crate) fn release_implicit_row(&self, pid: u32, tag: LockTag) {
        if self.row_buckets[row_bucket(&tag)].load(Ordering::Acquire) == 0 {
            return;
        }
        self.with_entry(tag, |entry| {
            entry.remove(pid, 0, 0xFF);
            ((), entry.grant(tag))
        });
    }

    /// Gives one explicit row lock back before the transaction's end.
    pub(crate) fn release_row(&self, session: &SessionShared, tag: LockTag, mode: RowLockMode) {
        let mut held = session.held_locks();
        if let Some(at) = held.order.iter().rposition(|key| *key == (tag, mode as u8)) {
            held.order.remove(at);
            let is_wanted = held.order.contains(&(tag, mode as u8));
            if is_wanted || self.unshare(&mut held.rows, tag, mode as u8) {
                return;
            }
            drop(held);
            self.with_entry(tag, |entry| {
                entry.remove(session.pid(), 1 << mode as u8, 0);
                ((), entry.grant(tag))
            });
        }
    }

    /// Takes a waiter out of its queue with an error, if it still waits.
    pub(super) fn fail_waiter(&self, waiter: &Arc<Waiter>, error: Error) {
        self.with_entry(waiter.tag, |entry| {
            let at = entry.waiters.iter().position(|w| Arc::ptr_eq(w, waiter));
            let Some(at) = at else { return ((), Vec::new()) };
            entry.waiters.remove(at);
            self.waiting.lock().remove(&waiter.pid);
            waiter.finish(WaitState::Failed(error));
            ((), entry.grant(waiter.tag))
        });
        if let LockTag::Relation { oid, .. } = waiter.tag
            && is_strong(&waiter.tag, waiter.mode)
            && !waiter.is_waiting()
        {
            self.forget_strong_wait(oid, waiter);
        }
    }

    /// A strong request that left its queue without a grant no longer keeps
    /// others off the fast path.
    fn forget_strong_wait(&self, oid: u32, waiter: &Waiter) {
        if waiter.take_strong_claim() {
            self.strong_count(oid).fetch_sub(1, Ordering::SeqCst);
        }
    }

    pub(super) fn strong_bucket(&self, oid: u32) -> &AtomicU32 {
        self.strong_count(oid)
    }

    pub(super) fn row_buckets(&self) -> &[AtomicU32] {
        &self.row_buckets
    }

    pub(super) fn sharers(&self) -> &Sharers {
        &self.sharers
    }

    pub(super) fn locks_max(&self) -> usize {
        self.options.max_locks
    }

    /// Whether a shard has no room for another tag.
    pub(super) fn is_full(&self, shard: &Shard) -> bool {
        shard.len() >= self.options.max_locks.div_ceil(SHARDS)
    }

    pub(super) fn sessions(&self) -> &SessionRegistry {
        &self.sessions
    }

    /// A strong mode is held from here on.
    pub(super) fn count_strong(&self, oid: u32) {
        self.strong_count(oid).fetch_add(1, Ordering::SeqCst);
    }

    /// Makes a mode of one session another's; false if the first does not hold it.
    pub(super) fn change_owner(&self, from: u32, to: u32, tag: LockTag, mode: Mode) -> bool {
        self.with_entry(tag, |entry| (entry.hand_over(from, to, mode), Vec::new()))
    }

    /// Enters an explicit mode that the session had on its fast path.
    pub(super) fn transfer(&self, pid: u32, tag: LockTag, mode: Mode) {
        self.with_entry(tag, |entry| {
            entry.add_explicit(pid, mode);
            ((), Vec::new())
        });
    }

    // ----- monitor -----

    /// Has a wait looked at when its time has come.
    pub(super) fn watch(self: &Arc<Self>, at: Instant, waiter: Weak<Waiter>, watch: Watch) {
        self.monitor.watch(self, at, waiter, watch);
    }

    /// Looks for deadlocks among all waits now, whatever their age. For callers
    /// that run without threads and timers; returns how many waits were failed.
    pub fn check_all_deadlocks(&self) -> usize {
        let mut waiters: Vec<Arc<Waiter>> = self.waiting.lock().values().cloned().collect();
        waiters.sort_by_key(|waiter| waiter.pid);
        let before = waiters.len();
        for waiter in &waiters {
            if waiter.is_waiting() {
                self.check_deadlock(waiter);
            }
        }
        before - waiters.iter().filter(|waiter| waiter.is_waiting()).count()
    }

    /// Number of entries in the table (for tests and pg_locks).
    pub fn entry_count(&self) -> usize {
        self.shards.iter().map(|shard| shard.lock().len()).sum()
    }
}
