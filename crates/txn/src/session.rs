//! What the engine knows of a session: its identity, the snapshots it holds,
//! its transaction's place in the log, its locks and its interrupts.
//!
//! Everything that other threads look at is here, in one padded slot a session,
//! so that taking a snapshot or a weak relation lock touches no shared line.
//!
//! Publishing a snapshot (hazard-pointer style): the slot gets a lower bound
//! first, then a fence, then the snapshot is taken. What computes the horizon
//! reads the log position first, then fences, then reads the slots. If it misses
//! the slot, the snapshot was taken after its log position: nothing that it
//! reclaims below that position can be missed by the snapshot.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering, fence};
use std::task::Waker;
use std::time::Duration;

use hashbrown::HashMap;
use parking_lot::{Mutex, MutexGuard, RwLock};
use steppe_types::error::Severity;
use steppe_types::{Error, Result, SqlState};

use crate::files::DatabaseId;
use crate::lock::{FastLocks, LockTag, Mode, Waiter};

/// Set in the process ids of stand-ins for prepared transactions, which no client sees.
const STAND_IN: u32 = 1 << 31;

/// Whether a process id is that of a stand-in.
pub(crate) fn is_stand_in(pid: u32) -> bool {
    pid & STAND_IN != 0
}

/// No snapshot is held.
pub(crate) const NO_SNAPSHOT: u64 = u64::MAX;

/// Why a session must stop what it does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Interrupt {
    /// A CancelRequest or pg_cancel_backend.
    Cancel = 1,
    /// pg_terminate_backend or shutdown.
    Terminate = 2,
    /// statement_timeout has passed.
    StatementTimeout = 4,
    /// transaction_timeout has passed.
    TransactionTimeout = 8,
    /// idle_in_transaction_session_timeout has passed.
    IdleInTransactionTimeout = 16,
    /// The client has gone (client_connection_check_interval).
    ClientLost = 32,
}

/// The locks of one session.
#[derive(Default)]
pub(crate) struct HeldLocks {
    /// The transaction's, in the order of acquisition (savepoints are positions
    /// in it). May name a lock more than once, or one that was never granted.
    pub(crate) order: Vec<(LockTag, Mode)>,
    /// Session-level advisory locks, with counts.
    pub(crate) session: HashMap<(LockTag, Mode), u32, foldhash::fast::RandomState>,
    /// The session-level lock that is waited for: last in `order` until it is counted.
    pub(crate) awaited: Option<(LockTag, Mode)>,
    /// How many transactions have released their locks.
    pub(crate) ended: u64,
    /// Of a stand-in: the session whose transaction it has, and how many of that had ended then.
    pub(crate) stands_for: Option<(u32, u64)>,
    /// Weak relation locks on the fast path; see `lock::fastpath`.
    pub(crate) fast: FastLocks,
    /// Rows that it shares without an entry in the table; see `lock::sharers`.
    pub(crate) rows: crate::lock::SharedRows,
}

/// The part of a session that other threads see.
#[repr(align(128))]
pub struct SessionShared {
    pid: u32,
    /// Of a stand-in: none, for what it holds says where it is.
    database: DatabaseId,
    /// The oldest snapshot held, or [`NO_SNAPSHOT`].
    snapshot_min: AtomicU64,
    /// The newest snapshot held (meaningless without a minimum).
    snapshot_max: AtomicU64,
    /// The running transaction, or 0.
    xid: AtomicU64,
    /// Not after the transaction's first log record; 0 if it has none.
    first_lsn: AtomicU64,
    /// The transaction's last log record; 0 if it has none.
    last_lsn: AtomicU64,
    /// Odd while the session appends to the log for its transaction.
    logging: AtomicU64,
    interrupts: AtomicU32,
    gives_way: AtomicBool,
    deadlock_timeout_ms: AtomicU64,
    lock_timeout_ms: AtomicU64,
    locks: Mutex<HeldLocks>,
    waiter: Mutex<Option<Arc<Waiter>>>,
    /// Wakes a wait of the session for something else than a lock.
    waker: Mutex<Option<Waker>>,
}

impl std::fmt::Debug for SessionShared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Session({})", self.pid)
    }
}

impl SessionShared {
    fn new(pid: u32, database: DatabaseId) -> SessionShared {
        let locks = HeldLocks { fast: FastLocks::new(database), ..HeldLocks::default() };
        SessionShared {
            pid,
            database,
            snapshot_min: AtomicU64::new(NO_SNAPSHOT),
            snapshot_max: AtomicU64::new(0),
            xid: AtomicU64::new(0),
            first_lsn: AtomicU64::new(0),
            last_lsn: AtomicU64::new(0),
            logging: AtomicU64::new(0),
            interrupts: AtomicU32::new(0),
            gives_way: AtomicBool::new(false),
            deadlock_timeout_ms: AtomicU64::new(1000),
            lock_timeout_ms: AtomicU64::new(0),
            locks: Mutex::new(locks),
            waiter: Mutex::default(),
            waker: Mutex::default(),
        }
    }

    /// The session's process id, as clients see it.
    pub fn pid(&self) -> u32 {
        self.pid
    }

    /// The session's database.
    pub fn database(&self) -> DatabaseId {
        self.database
    }

    /// Whether it only stands for a prepared transaction.
    pub(crate) fn is_stand_in(&self) -> bool {
        is_stand_in(self.pid)
    }

    /// The running transaction's id, or 0.
    pub fn xid(&self) -> u64 {
        self.xid.load(Ordering::Acquire)
    }

    pub(crate) fn set_xid(&self, xid: u64) {
        self.xid.store(xid, Ordering::Release);
    }

    // ----- snapshots -----

    /// Takes a snapshot: publishes, then reads the log's position.
    pub(crate) fn publish_snapshot(&self, position: impl Fn() -> u64) -> u64 {
        // Until the snapshot is known, it may be anything from the bound on.
        self.snapshot_max.store(u64::MAX, Ordering::Release);
        self.snapshot_min.store(position(), Ordering::Release);
        fence(Ordering::SeqCst);
        let snapshot = position();
        self.snapshot_max.store(snapshot, Ordering::Release);
        snapshot
    }

    /// Says which snapshots are still held, all of them taken before.
    pub(crate) fn hold_snapshots(&self, oldest: u64, newest: u64) {
        self.snapshot_max.store(newest, Ordering::Release);
        self.snapshot_min.store(oldest, Ordering::Release);
    }

    /// The oldest snapshot held, or [`NO_SNAPSHOT`].
    pub(crate) fn oldest_held(&self) -> u64 {
        self.snapshot_min.load(Ordering::Acquire)
    }

    /// The newest snapshot held: that of the statement which runs, for the session itself.
    pub fn newest_held(&self) -> Option<u64> {
        let holds = self.oldest_held() != NO_SNAPSHOT;
        holds.then(|| self.snapshot_max.load(Ordering::Acquire))
    }

    pub(crate) fn drop_snapshots(&self) {
        self.snapshot_min.store(NO_SNAPSHOT, Ordering::Release);
    }

    // ----- the log -----

    /// Runs `append`, which may append to the log for this transaction and
    /// returns the start of what it appended. A checkpoint that sees the odd
    /// number waits, and then sees the LSN.
    pub(crate) fn log_section<T>(
        &self,
        position: impl Fn() -> u64,
        append: impl FnOnce() -> (T, Option<u64>),
    ) -> T {
        if self.first_lsn.load(Ordering::Relaxed) == 0 {
            self.first_lsn.store(position().max(1), Ordering::Release);
        }
        self.logging.fetch_add(1, Ordering::SeqCst);
        let (result, appended) = append();
        if let Some(lsn) = appended {
            self.last_lsn.store(lsn, Ordering::Release);
        }
        self.logging.fetch_add(1, Ordering::SeqCst);
        result
    }

    pub(crate) fn last_lsn(&self) -> u64 {
        self.last_lsn.load(Ordering::Acquire)
    }

    /// Not after the transaction's first log record, if it has one.
    pub(crate) fn first_lsn(&self) -> Option<u64> {
        Some(self.first_lsn.load(Ordering::Acquire)).filter(|&lsn| lsn != 0)
    }

    /// Adopts a loser after a crash, or a prepared transaction: the chain goes on from `last_lsn`.
    pub(crate) fn adopt(&self, xid: u64, first_lsn: u64, last_lsn: u64) {
        self.first_lsn.store(first_lsn.max(1), Ordering::Release);
        self.last_lsn.store(last_lsn, Ordering::Release);
        self.set_xid(xid);
    }

    /// Ends the transaction as far as checkpoints see it.
    pub(crate) fn clear_transaction(&self) {
        self.xid.store(0, Ordering::Release);
        self.first_lsn.store(0, Ordering::Release);
        self.last_lsn.store(0, Ordering::Release);
    }

    /// The transaction's (xid, first LSN, last LSN), if it has logged anything
    /// before this call; waits out an append in progress.
    pub(crate) fn logged_transaction(&self) -> Option<(u64, u64, u64)> {
        let before = self.logging.load(Ordering::SeqCst);
        if before % 2 == 1 {
            let mut spins = 0u32;
            while self.logging.load(Ordering::SeqCst) == before {
                spins += 1;
                if spins.is_multiple_of(64) {
                    std::thread::yield_now()
                } else {
                    std::hint::spin_loop()
                }
            }
        }
        let (xid, last) = (self.xid(), self.last_lsn());
        let first = self.first_lsn.load(Ordering::Acquire);
        (xid != 0 && last != 0 && first != 0).then_some((xid, first, last))
    }

    // ----- locks, interrupts -----

    pub(crate) fn held_locks(&self) -> MutexGuard<'_, HeldLocks> {
        self.locks.lock()
    }

    pub(crate) fn set_waiter(&self, waiter: Option<Arc<Waiter>>) {
        *self.waiter.lock() = waiter;
    }

    /// deadlock_timeout.
    pub fn deadlock_timeout(&self) -> Duration {
        Duration::from_millis(self.deadlock_timeout_ms.load(Ordering::Relaxed))
    }

    /// Sets deadlock_timeout.
    pub fn set_deadlock_timeout(&self, timeout: Duration) {
        let ms = u64::try_from(timeout.as_millis()).unwrap_or(u64::MAX);
        self.deadlock_timeout_ms.store(ms, Ordering::Relaxed);
    }

    /// lock_timeout; `None` is 0: wait for ever.
    pub fn lock_timeout(&self) -> Option<Duration> {
        match self.lock_timeout_ms.load(Ordering::Relaxed) {
            0 => None,
            ms => Some(Duration::from_millis(ms)),
        }
    }

    /// Sets lock_timeout; `None` waits for ever.
    pub fn set_lock_timeout(&self, timeout: Option<Duration>) {
        let ms = timeout.map_or(0, |t| u64::try_from(t.as_millis()).unwrap_or(u64::MAX).max(1));
        self.lock_timeout_ms.store(ms, Ordering::Relaxed);
    }

    /// Has what the session runs cancelled as soon as somebody waits for a relation that it has
    /// locked: it works for itself, and can begin again.
    pub fn give_way_to_all(&self) {
        self.gives_way.store(true, Ordering::Relaxed);
    }

    pub(crate) fn gives_way(&self) -> bool {
        self.gives_way.load(Ordering::Relaxed)
    }

    /// Interrupts the session: what it runs or waits for fails soon.
    pub fn interrupt(&self, interrupt: Interrupt) {
        self.interrupts.fetch_or(interrupt as u32, Ordering::SeqCst);
        let waiter = self.waiter.lock().clone();
        if let Some(waiter) = waiter {
            waiter.nudge();
        }
        let waker = self.waker.lock().clone();
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    /// From now on `waker` is called by each interrupt; `None` ends that. The caller checks for
    /// interrupts behind this call: one may have come before it.
    pub fn wake_by(&self, waker: Option<Waker>) {
        *self.waker.lock() = waker;
    }

    /// Forgets a cancel or statement timeout that came too late for its statement.
    pub fn clear_statement_interrupts(&self) {
        let late = Interrupt::Cancel as u32 | Interrupt::StatementTimeout as u32;
        self.interrupts.fetch_and(!late, Ordering::AcqRel);
    }

    /// Whether the statement's time was up; it is not any more.
    pub fn take_statement_timeout(&self) -> bool {
        let bit = Interrupt::StatementTimeout as u32;
        self.has_interrupt() && self.interrupts.fetch_and(!bit, Ordering::AcqRel) & bit != 0
    }

    /// Whether an interrupt is pending. One relaxed load: call it per batch of rows.
    pub fn has_interrupt(&self) -> bool {
        self.interrupts.load(Ordering::Relaxed) != 0
    }

    /// Fails if an interrupt is pending (PostgreSQL's CHECK_FOR_INTERRUPTS), and
    /// consumes it, except for termination, which stays.
    pub fn check_interrupts(&self) -> Result<()> {
        if !self.has_interrupt() {
            return Ok(());
        }
        let terminate = Interrupt::Terminate as u32;
        let pending = self.interrupts.fetch_and(terminate, Ordering::AcqRel);
        if pending == 0 {
            // Another thread of the same statement has just consumed it.
            return Ok(());
        }
        let is = |interrupt: Interrupt| pending & interrupt as u32 != 0;
        Err(if is(Interrupt::Terminate) {
            let message = "terminating connection due to administrator command";
            Error::new(SqlState::ADMIN_SHUTDOWN, message).severity(Severity::Fatal)
        } else if is(Interrupt::ClientLost) {
            Error::new(SqlState::CONNECTION_FAILURE, "connection to client lost")
                .severity(Severity::Fatal)
        } else if is(Interrupt::TransactionTimeout) {
            let message = "terminating connection due to transaction timeout";
            Error::new(SqlState(*b"25P04"), message).severity(Severity::Fatal)
        } else if is(Interrupt::IdleInTransactionTimeout) {
            let message = "terminating connection due to idle-in-transaction timeout";
            Error::new(SqlState::IDLE_IN_TRANSACTION_SESSION_TIMEOUT, message)
                .severity(Severity::Fatal)
        } else if is(Interrupt::StatementTimeout) {
            statement_timed_out()
        } else {
            Error::new(SqlState::QUERY_CANCELED, "canceling statement due to user request")
        })
    }
}

/// 57014: statement_timeout.
pub fn statement_timed_out() -> Error {
    Error::new(SqlState::QUERY_CANCELED, "canceling statement due to statement timeout")
}

/// All sessions, by pid.
pub(crate) struct SessionRegistry {
    sessions: RwLock<HashMap<u32, Arc<SessionShared>, foldhash::fast::RandomState>>,
    /// How many these are, for callers that do not want to lock them.
    count: AtomicUsize,
    next_pid: AtomicU32,
    next_stand_in: AtomicU32,
}

impl SessionRegistry {
    pub(crate) fn new(first_pid: u32) -> SessionRegistry {
        SessionRegistry {
            sessions: RwLock::default(),
            count: AtomicUsize::new(0),
            next_pid: AtomicU32::new(first_pid.max(1)),
            next_stand_in: AtomicU32::new(1),
        }
    }

    /// Makes a session with a pid that no other session has.
    pub(crate) fn add(&self, database: DatabaseId) -> Arc<SessionShared> {
        // Positive as an int4: drivers store it in one.
        self.add_with(database, || self.next_pid.fetch_add(1, Ordering::Relaxed) & !STAND_IN)
    }

    /// Makes a session that stands for a prepared transaction.
    pub(crate) fn add_stand_in(&self) -> Arc<SessionShared> {
        let next = || self.next_stand_in.fetch_add(1, Ordering::Relaxed) | STAND_IN;
        self.add_with(DatabaseId::SHARED, next)
    }

    fn add_with(&self, database: DatabaseId, next_pid: impl Fn() -> u32) -> Arc<SessionShared> {
        let mut sessions = self.sessions.write();
        loop {
            let pid = next_pid();
            if pid == 0 || sessions.contains_key(&pid) {
                continue;
            }
            let session = Arc::new(SessionShared::new(pid, database));
            sessions.insert(pid, Arc::clone(&session));
            self.count.store(sessions.len(), Ordering::Relaxed);
            return session;
        }
    }

    pub(crate) fn remove(&self, pid: u32) {
        let mut sessions = self.sessions.write();
        sessions.remove(&pid);
        self.count.store(sessions.len(), Ordering::Relaxed);
    }

    /// How many there are, or were just now.
    pub(crate) fn count(&self) -> usize {
        self.count.load(Ordering::Relaxed)
    }

    pub(crate) fn find(&self, pid: u32) -> Option<Arc<SessionShared>> {
        self.sessions.read().get(&pid).cloned()
    }

    pub(crate) fn all(&self) -> Vec<Arc<SessionShared>> {
        self.sessions.read().values().cloned().collect()
    }

    /// Has a session hold a snapshot that another one holds; false if that holds it no longer.
    pub(crate) fn share_snapshot(&self, lsn: u64, from: u32, to: &SessionShared) -> bool {
        // A look for the oldest snapshot comes before or after this, so that it finds one
        // of the two, though they are not next to one another.
        let sessions = self.sessions.write();
        let Some(from) = sessions.get(&from).filter(|from| from.oldest_held() <= lsn) else {
            return false;
        };
        debug_assert!(!std::ptr::eq(&**from, to), "one's own snapshot is not imported");
        to.hold_snapshots(lsn, lsn);
        true
    }

    /// The oldest snapshot held, at most `position`, which the caller has read
    /// from the log before this call (see the module's header).
    pub(crate) fn oldest_snapshot(&self, position: u64) -> u64 {
        fence(Ordering::SeqCst);
        let sessions = self.sessions.read();
        let held = sessions.values().map(|s| s.snapshot_min.load(Ordering::Acquire));
        held.fold(position, u64::min)
    }

    /// The range of held snapshots of every session that holds one.
    pub(crate) fn snapshot_ranges(&self) -> Vec<(u64, u64)> {
        fence(Ordering::SeqCst);
        let sessions = self.sessions.read();
        let ranges = sessions.values().map(|s| {
            (s.snapshot_min.load(Ordering::Acquire), s.snapshot_max.load(Ordering::Acquire))
        });
        ranges.filter(|range| range.0 != NO_SNAPSHOT).collect()
    }
}
