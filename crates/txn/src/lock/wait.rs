//! Waiting for a lock, as a future or in place.
//!
//! A [`LockWait`] is a request that stands in a queue. A session that can unwind
//! its statement awaits it; a larger statement calls [`LockWait::wait_blocking`].
//! Dropping it leaves the queue. The deadlines (deadlock_timeout, lock_timeout)
//! are watched by the waiting thread itself if it blocks, else by the lock
//! manager's monitor thread, which is started with the first awaited wait.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Waker};
use std::time::{Instant, SystemTime};

use parking_lot::{Condvar, Mutex};
use steppe_types::{Error, Result, SqlState};

use super::manager::LockManager;
use super::monitor::Watch;
use super::{LockTag, Mode};
use crate::files::DatabaseId;
use crate::session::SessionShared;

#[derive(Debug)]
pub(super) enum WaitState {
    Waiting,
    Granted,
    Failed(Error),
}

/// A request in a queue; shared between the queue and the [`LockWait`].
pub(crate) struct Waiter {
    pub(super) pid: u32,
    /// The session's database.
    pub(super) database: DatabaseId,
    pub(super) tag: LockTag,
    pub(super) mode: Mode,
    /// Whether a grant makes the session a holder. Waiting for the end of a
    /// transaction does not.
    pub(super) hold: bool,
    /// When the wait began.
    pub(super) since: SystemTime,
    state: Mutex<(WaitState, Option<Waker>)>,
    changed: Condvar,
    /// A strong relation request keeps others off the fast path; this is taken
    /// once, by the one that ends that claim without a grant.
    strong_claim: AtomicBool,
}

impl fmt::Debug for Waiter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Waiter({} {:?} mode {})", self.pid, self.tag, self.mode)
    }
}

impl Waiter {
    /// `pid` and `database` are those of the session that waits.
    pub(super) fn new(
        (pid, database): (u32, DatabaseId),
        tag: LockTag,
        mode: Mode,
        hold: bool,
    ) -> Waiter {
        let state = Mutex::new((WaitState::Waiting, None));
        let strong_claim = AtomicBool::new(true);
        let (since, changed) = (SystemTime::now(), Condvar::new());
        Waiter { pid, database, tag, mode, hold, since, state, changed, strong_claim }
    }

    pub(super) fn take_strong_claim(&self) -> bool {
        let failed = matches!(self.state.lock().0, WaitState::Failed(_));
        failed && self.strong_claim.swap(false, Ordering::AcqRel)
    }

    /// Ends the wait and wakes the session. The first ending stays.
    pub(super) fn finish(&self, end: WaitState) {
        let mut state = self.state.lock();
        if matches!(state.0, WaitState::Waiting) {
            state.0 = end;
        }
        let waker = state.1.take();
        drop(state);
        self.changed.notify_all();
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    /// Makes the waiting session look at its interrupts.
    pub(crate) fn nudge(&self) {
        let waker = self.state.lock().1.take();
        self.changed.notify_all();
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    pub(super) fn is_waiting(&self) -> bool {
        matches!(self.state.lock().0, WaitState::Waiting)
    }

    fn outcome(&self) -> Option<Result<()>> {
        match &self.state.lock().0 {
            WaitState::Waiting => None,
            WaitState::Granted => Some(Ok(())),
            WaitState::Failed(error) => Some(Err(error.clone())),
        }
    }
}

/// 55P03, as PostgreSQL words it when `lock_timeout` has passed.
pub(super) fn lock_timeout_error() -> Error {
    Error::new(SqlState::LOCK_NOT_AVAILABLE, "canceling statement due to lock timeout")
}

/// A lock request that has to wait. Await it, or call [`LockWait::wait_blocking`];
/// when it ends with `Ok`, run the operation again.
///
/// It is boxed: the futures of what may wait, but seldom does, are moved with each message.
#[must_use = "a request that is dropped leaves its queue"]
pub struct LockWait(Box<Request>);

/// What [`LockWait`] is about.
struct Request {
    manager: Arc<LockManager>,
    session: Arc<SessionShared>,
    waiter: Arc<Waiter>,
    deadlock_at: Option<Instant>,
    timeout_at: Option<Instant>,
    monitored: bool,
}

impl fmt::Debug for LockWait {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.waiter.fmt(f)
    }
}

impl LockWait {
    pub(super) fn new(
        manager: Arc<LockManager>,
        session: Arc<SessionShared>,
        waiter: Arc<Waiter>,
    ) -> LockWait {
        let now = Instant::now();
        let deadlock_at = Some(now + session.deadlock_timeout());
        let timeout_at = session.lock_timeout().map(|timeout| now + timeout);
        session.set_waiter(Some(Arc::clone(&waiter)));
        let monitored = false;
        LockWait(Box::new(Request { manager, session, waiter, deadlock_at, timeout_at, monitored }))
    }

    /// What the request is for.
    pub fn tag(&self) -> LockTag {
        self.0.waiter.tag
    }

    /// Whether the wait is over (granted or failed), without waiting.
    pub fn is_finished(&self) -> bool {
        !self.0.waiter.is_waiting()
    }

    /// Waits in the calling thread.
    pub fn wait_blocking(mut self) -> Result<()> {
        self.0.wait_blocking()
    }
}

impl Request {
    fn wait_blocking(&mut self) -> Result<()> {
        loop {
            if let Some(end) = self.check_now() {
                return end;
            }
            let deadline = match (self.deadlock_at, self.timeout_at) {
                (Some(a), Some(b)) => Some(a.min(b)),
                (a, b) => a.or(b),
            };
            let mut state = self.waiter.state.lock();
            // Under the state's latch: a nudge or a grant between the check
            // above and this line would have no one to notify.
            if !matches!(state.0, WaitState::Waiting) || self.session.has_interrupt() {
                continue;
            }
            match deadline {
                Some(at) => {
                    let _timed_out = self.waiter.changed.wait_until(&mut state, at);
                }
                None => self.waiter.changed.wait(&mut state),
            }
        }
    }

    /// Looks at the grant, the interrupts and the deadlines, once.
    fn check_now(&mut self) -> Option<Result<()>> {
        if let Some(end) = self.waiter.outcome() {
            return Some(end);
        }
        if let Err(interrupt) = self.session.check_interrupts() {
            self.manager.fail_waiter(&self.waiter, interrupt);
            return self.waiter.outcome();
        }
        let now = Instant::now();
        if self.timeout_at.is_some_and(|at| now >= at) {
            self.manager.fail_waiter(&self.waiter, lock_timeout_error());
            return self.waiter.outcome();
        }
        if self.deadlock_at.is_some_and(|at| now >= at) {
            self.deadlock_at = None;
            self.manager.check_deadlock(&self.waiter);
            return self.waiter.outcome();
        }
        None
    }
}

impl Future for LockWait {
    type Output = Result<()>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<()>> {
        self.0.poll(context)
    }
}

impl Request {
    fn poll(&mut self, context: &mut Context<'_>) -> Poll<Result<()>> {
        self.waiter.state.lock().1 = Some(context.waker().clone());
        if let Some(end) = self.check_now() {
            return Poll::Ready(end);
        }
        if !self.monitored {
            self.monitored = true;
            let waiter = Arc::downgrade(&self.waiter);
            if let Some(at) = self.deadlock_at.take() {
                self.manager.watch(at, waiter.clone(), Watch::Deadlock);
            }
            if let Some(at) = self.timeout_at {
                self.manager.watch(at, waiter, Watch::LockTimeout);
            }
        }
        Poll::Pending
    }
}

impl Drop for Request {
    fn drop(&mut self) {
        self.session.set_waiter(None);
        if self.waiter.is_waiting() {
            let error =
                Error::new(SqlState::QUERY_CANCELED, "canceling statement due to user request");
            self.manager.fail_waiter(&self.waiter, error);
        }
    }
}
