//! What a session does just now, for those who ask (pg_stat_activity, the log).
//!
//! Only the session writes; its lines of memory are its own, so that telling costs a few
//! plain stores and, once a statement, an uncontended lock around the statement's text.

use std::sync::atomic::{AtomicI64, AtomicU8, Ordering};

use parking_lot::Mutex;
use steppe_wire::TransactionStatus;

use crate::services::now_micros;

/// pg_stat_activity.state
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    /// Nothing was asked yet.
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

/// What a session waits for, locks aside (the lock manager knows those).
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
}

/// track_activity_query_size, less PostgreSQL's terminator.
const QUERY_BYTES: usize = 1023;

/// A session's doings.
#[derive(Default)]
pub(crate) struct Activity {
    state: AtomicU8,
    wait: AtomicU8,
    /// Microseconds since 2000-01-01 UTC; 0: none.
    xact_start: AtomicI64,
    query_start: AtomicI64,
    state_change: AtomicI64,
    query: Mutex<String>,
    application_name: Mutex<String>,
}

impl Activity {
    // ----- for the session -----

    /// A message is being handled.
    pub(crate) fn set_active(&self) {
        self.state.store(State::Active as u8, Ordering::Relaxed);
    }

    /// A statement begins.
    pub(crate) fn set_query(&self, text: &str, now: i64) {
        self.query_start.store(now, Ordering::Relaxed);
        self.state_change.store(now, Ordering::Relaxed);
        let mut query = self.query.lock();
        query.clear();
        query.push_str(&text[..text.floor_char_boundary(QUERY_BYTES)]);
    }

    /// All that was asked is answered.
    pub(crate) fn set_idle(&self, status: TransactionStatus) {
        let state = match status {
            TransactionStatus::Idle => State::Idle,
            TransactionStatus::InTransaction => State::IdleInTransaction,
            TransactionStatus::Failed => State::IdleInFailedTransaction,
        };
        self.state.store(state as u8, Ordering::Relaxed);
        self.state_change.store(now_micros(), Ordering::Relaxed);
    }

    /// A transaction begins, or (0) has ended.
    pub(crate) fn set_xact_start(&self, at: i64) {
        self.xact_start.store(at, Ordering::Relaxed);
    }

    /// Something is waited for, or no longer.
    pub(crate) fn set_wait(&self, wait: Option<Wait>) {
        self.wait.store(wait.map_or(0, |wait| wait as u8 + 1), Ordering::Relaxed);
    }

    /// application_name has changed.
    pub(crate) fn set_application_name(&self, name: &str) {
        name.clone_into(&mut self.application_name.lock());
    }

    // ----- for anybody -----

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

    pub(crate) fn query(&self) -> String {
        self.query.lock().clone()
    }

    pub(crate) fn application_name(&self) -> String {
        self.application_name.lock().clone()
    }
}
