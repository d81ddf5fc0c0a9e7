//! The thread that does what is due in pools: closes connections that were idle for too long,
//! wakes requests when a full node may be tried again, and tries nodes that are down.
//!
//! It never waits for a node. A try has a thread of its own, one a node.

use std::sync::{Arc, Weak};
use std::time::Instant;

use parking_lot::{Condvar, Mutex};
use steppe_types::{Error, Result};

use super::{OpenFailure, Opener, Pool};

/// A pool that the thread looks after.
pub(super) trait Kept: Send + Sync {
    /// Does what is due. Returns when it is to be called again.
    fn tick(self: Arc<Self>) -> Option<Instant>;
}

#[derive(Default)]
struct State {
    pools: Vec<Weak<dyn Kept>>,
    /// When the thread is to look, if not before.
    due: Option<Instant>,
    is_stopped: bool,
}

/// Wakes the thread.
#[derive(Default)]
pub(super) struct Bell {
    state: Mutex<State>,
    rung: Condvar,
}

impl Bell {
    pub(super) fn keep(&self, pool: Weak<dyn Kept>) {
        self.state.lock().pools.push(pool);
    }

    /// Has the thread look at the pools at a time, or before.
    pub(super) fn ring_at(&self, due: Instant) {
        let mut state = self.state.lock();
        if state.due.is_none_or(|at| due < at) {
            state.due = Some(due);
            self.rung.notify_all();
        }
    }

    fn run(&self) {
        let mut state = self.state.lock();
        while !state.is_stopped {
            match state.due {
                Some(at) if at <= Instant::now() => {
                    state.due = None;
                    state.pools.retain(|pool| pool.strong_count() > 0);
                    let pools = state.pools.clone();
                    drop(state);
                    let due = pools.iter().filter_map(|pool| pool.upgrade()?.tick()).min();
                    if let Some(due) = due {
                        self.ring_at(due);
                    }
                    state = self.state.lock();
                }
                Some(at) => {
                    let _timed_out = self.rung.wait_until(&mut state, at);
                }
                None => self.rung.wait(&mut state),
            }
        }
    }
}

/// The thread that looks after pools. It ends when this is dropped.
pub struct Keeper {
    pub(super) bell: Arc<Bell>,
}

impl Keeper {
    /// Starts the thread.
    pub fn start() -> Result<Keeper> {
        let bell = Arc::new(Bell::default());
        let of_thread = Arc::clone(&bell);
        let thread = std::thread::Builder::new().name("pool keeper".into());
        match thread.spawn(move || of_thread.run()) {
            Ok(_detached) => Ok(Keeper { bell }),
            Err(error) => {
                Err(Error::internal(format!("could not start the pools' thread: {error}")))
            }
        }
    }
}

impl Drop for Keeper {
    fn drop(&mut self) {
        self.bell.state.lock().is_stopped = true;
        self.bell.rung.notify_all();
    }
}

impl<O: Opener> Kept for Pool<O> {
    fn tick(self: Arc<Self>) -> Option<Instant> {
        let due_try = self.step(|core, now| core.tick(now));
        if let Some((key, generation)) = due_try {
            let attempt = Attempt { pool: Arc::clone(&self), is_over: false };
            let thread = std::thread::Builder::new().name("node try".into());
            // Without a thread it fails, and is repeated.
            let _ = thread.spawn(move || attempt.run(key, generation));
        }
        self.core.lock().announced_due()
    }
}

/// A try to reach a node that is down. Dropped, it has failed.
struct Attempt<O: Opener> {
    pool: Arc<Pool<O>>,
    is_over: bool,
}

impl<O: Opener> Attempt<O> {
    fn run(mut self, key: O::Key, generation: u64) {
        let deadline = Instant::now() + self.pool.connect_timeout();
        let opened = self.pool.opener.open(&key, deadline);
        self.is_over = true;
        match opened {
            Ok(connection) => {
                self.pool.step(|core, now| core.try_succeeded(key, connection, generation, now))
            }
            Err(failure) => {
                let failure = self.pool.named(failure);
                self.pool.step(|core, now| core.try_failed(failure, now));
            }
        }
    }
}

impl<O: Opener> Drop for Attempt<O> {
    fn drop(&mut self) {
        if !self.is_over {
            let failure = OpenFailure::Interrupted(Error::internal("a try of a node was given up"));
            self.pool.step(|core, now| core.try_failed(failure, now));
        }
    }
}
