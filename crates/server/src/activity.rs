//! The present activity of a session, for other readers (pg_stat_activity, the log).
//!
//! Only the session writes it. Its cache lines are its own, so that an update costs a few plain
//! stores and, once a statement, an uncontended lock of the statement's text.

use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU8, AtomicU64, Ordering};
use std::sync::{Arc, Weak};

use parking_lot::Mutex;
use steppe_counting::progress::Progress;
use steppe_types::Oid;
use steppe_wire::TransactionStatus;

/// pg_stat_activity.state
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    /// The session has had no message yet.
    Starting,
    /// A message is being handled.
    Active,
    /// Waits for its client.
    Idle,
    /// Waits for its client in a transaction block.
    IdleInTransaction,
    /// Waits for its client in a transaction block that has failed.
    IdleInFailedTransaction,
}

/// The wait of a session, except for locks (the lock manager knows those).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wait {
    /// The next message.
    ClientRead,
    /// Room in the socket.
    ClientWrite,
    /// The log to become durable.
    LogFlush,
    /// pg_sleep
    Sleep,
    /// A connection to a data node.
    RemoteConnection,
    /// The answer of a data node.
    RemoteAnswer,
}

/// track_activity_query_size, less PostgreSQL's terminator.
const QUERY_BYTES: usize = 1023;

/// The counters of a session, which it alone writes (pg_stat_database).
#[derive(Default)]
pub(crate) struct SessionCounts {
    pub commits: AtomicU64,
    pub rollbacks: AtomicU64,
    pub deadlocks: AtomicU64,
    /// Microseconds.
    pub active: AtomicU64,
    pub idle_in_transaction: AtomicU64,
}

impl SessionCounts {
    /// Adds to a counter. Only the session itself may call it.
    pub(crate) fn add(counter: &AtomicU64, amount: u64) {
        counter.store(counter.load(Ordering::Relaxed) + amount, Ordering::Relaxed);
    }
}

/// The progress of a COPY (pg_stat_progress_copy), which its session alone writes.
#[derive(Default)]
pub(crate) struct CopyProgress {
    /// The table, or 0 for a query.
    pub relation: Oid,
    pub is_from: bool,
    /// It reads or writes a file on the server.
    pub is_file: AtomicBool,
    /// The size of the file that is read.
    pub bytes_total: AtomicU64,
    /// The bytes of data, without the protocol's bytes.
    pub bytes: AtomicU64,
    pub rows: AtomicU64,
    /// Rows that WHERE left out.
    pub excluded: AtomicU64,
    /// Rows with a field that could not be read.
    pub skipped: AtomicU64,
}

impl CopyProgress {
    /// It reads or writes a file. `bytes` is the size of a file that it reads.
    pub(crate) fn begin_file(&self, bytes: u64) {
        self.bytes_total.store(bytes, Ordering::Relaxed);
        self.is_file.store(true, Ordering::Relaxed);
    }
}

/// A session's activity.
#[derive(Default)]
pub(crate) struct Activity {
    pub(crate) counts: SessionCounts,
    state: AtomicU8,
    wait: AtomicU8,
    /// Microseconds since 2000-01-01 UTC, or 0.
    xact_start: AtomicI64,
    query_start: AtomicI64,
    state_change: AtomicI64,
    /// When the first statement began that is not answered yet, or 0.
    active_since: AtomicI64,
    /// The session was idle in a transaction before the current message.
    was_idle_in_transaction: AtomicBool,
    /// 0 if it is not known.
    query_id: AtomicI64,
    query: Mutex<String>,
    application_name: Mutex<String>,
    /// A running COPY.
    copy: Mutex<Weak<CopyProgress>>,
    /// Another running command that reports its progress.
    progress: Mutex<Weak<Progress>>,
}

impl Activity {
    // ----- for the session -----

    /// A message is being handled.
    pub(crate) fn set_active(&self) {
        if matches!(self.state(), State::IdleInTransaction | State::IdleInFailedTransaction) {
            self.was_idle_in_transaction.store(true, Ordering::Relaxed);
        }
        self.state.store(State::Active as u8, Ordering::Relaxed);
    }

    /// A statement begins.
    pub(crate) fn set_query(&self, text: &str, now: i64) {
        if self.was_idle_in_transaction.load(Ordering::Relaxed) {
            self.was_idle_in_transaction.store(false, Ordering::Relaxed);
            let idle = now - self.state_change();
            SessionCounts::add(&self.counts.idle_in_transaction, idle.max(0) as u64);
        }
        if self.active_since.load(Ordering::Relaxed) == 0 {
            self.active_since.store(now, Ordering::Relaxed);
        }
        self.query_start.store(now, Ordering::Relaxed);
        self.state_change.store(now, Ordering::Relaxed);
        self.query_id.store(0, Ordering::Relaxed);
        let mut query = self.query.lock();
        query.clear();
        query.push_str(&text[..text.floor_char_boundary(QUERY_BYTES)]);
    }

    /// The statement's query identifier is known.
    pub(crate) fn set_query_id(&self, id: i64) {
        self.query_id.store(id, Ordering::Relaxed);
    }

    /// All messages are answered.
    pub(crate) fn set_idle(&self, status: TransactionStatus, now: i64) {
        let state = match status {
            TransactionStatus::Idle => State::Idle,
            TransactionStatus::InTransaction => State::IdleInTransaction,
            TransactionStatus::Failed => State::IdleInFailedTransaction,
        };
        let since = self.active_since.load(Ordering::Relaxed);
        if since != 0 {
            SessionCounts::add(&self.counts.active, (now - since).max(0) as u64);
            self.active_since.store(0, Ordering::Relaxed);
        }
        self.state.store(state as u8, Ordering::Relaxed);
        self.state_change.store(now, Ordering::Relaxed);
    }

    /// A transaction begins, or has ended (0).
    pub(crate) fn set_xact_start(&self, at: i64) {
        self.xact_start.store(at, Ordering::Relaxed);
    }

    /// The session begins to wait, or has ended its wait.
    pub(crate) fn set_wait(&self, wait: Option<Wait>) {
        self.wait.store(wait.map_or(0, |wait| wait as u8 + 1), Ordering::Relaxed);
    }

    /// application_name has changed.
    pub(crate) fn set_application_name(&self, name: &str) {
        name.clone_into(&mut self.application_name.lock());
    }

    /// A COPY begins. It runs as long as the returned value lives.
    pub(crate) fn begin_copy(&self, relation: Oid, is_from: bool) -> Arc<CopyProgress> {
        let progress = Arc::new(CopyProgress { relation, is_from, ..CopyProgress::default() });
        *self.copy.lock() = Arc::downgrade(&progress);
        progress
    }

    /// A command begins. It runs as long as the returned value lives.
    pub(crate) fn begin_progress(&self, progress: Progress) -> Arc<Progress> {
        let progress = Arc::new(progress);
        *self.progress.lock() = Arc::downgrade(&progress);
        progress
    }

    // ----- for any thread -----

    pub(crate) fn progress(&self) -> Option<Arc<Progress>> {
        self.progress.lock().upgrade()
    }

    pub(crate) fn copy(&self) -> Option<Arc<CopyProgress>> {
        self.copy.lock().upgrade()
    }

    pub(crate) fn state(&self) -> State {
        match self.state.load(Ordering::Relaxed) {
            0 => State::Starting,
            1 => State::Active,
            2 => State::Idle,
            3 => State::IdleInTransaction,
            _ => State::IdleInFailedTransaction,
        }
    }

    pub(crate) fn wait(&self) -> Option<Wait> {
        match (self.state(), self.wait.load(Ordering::Relaxed)) {
            (State::Active, 0) | (State::Starting, _) => None,
            (State::Active, 2) => Some(Wait::ClientWrite),
            (State::Active, 3) => Some(Wait::LogFlush),
            (State::Active, 4) => Some(Wait::Sleep),
            (State::Active, 5) => Some(Wait::RemoteConnection),
            (State::Active, 6) => Some(Wait::RemoteAnswer),
            _ => Some(Wait::ClientRead),
        }
    }

    pub(crate) fn xact_start(&self) -> i64 {
        self.xact_start.load(Ordering::Relaxed)
    }

    pub(crate) fn query_start(&self) -> i64 {
        self.query_start.load(Ordering::Relaxed)
    }

    pub(crate) fn state_change(&self) -> i64 {
        self.state_change.load(Ordering::Relaxed)
    }

    pub(crate) fn query_id(&self) -> i64 {
        self.query_id.load(Ordering::Relaxed)
    }

    pub(crate) fn query(&self) -> String {
        self.query.lock().clone()
    }

    pub(crate) fn application_name(&self) -> String {
        self.application_name.lock().clone()
    }
}
