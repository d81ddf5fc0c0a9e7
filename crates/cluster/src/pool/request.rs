//! Waiting for a connection, as a future or in place.
//!
//! Dropping a request leaves the queue. A grant that it had already goes to the next.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};
use steppe_types::interrupt::{self, Interrupts};
use steppe_types::{Error, Result};

use super::core::Ticket;
use super::lease::Place;
use super::{Opener, Pool};

/// The longest sleep between two looks for interrupts that cannot wake the waiter.
const SLICE: Duration = Duration::from_millis(10);

/// A request for a connection. Await it, or call [`Request::wait_in_place`].
///
/// As a future it checks the interrupts of the polling thread at each poll. The caller has it
/// polled when one arrives, and sets a deadline by dropping it.
#[must_use = "a request that is dropped leaves its queue"]
pub struct Request<O: Opener> {
    pool: Arc<Pool<O>>,
    key: O::Key,
    ticket: Ticket,
    /// Its end was not taken yet.
    is_open: bool,
}

impl<O: Opener> fmt::Debug for Request<O> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Request({} {})", self.pool.name(), self.ticket)
    }
}

/// It may be moved: no pointer points into it.
impl<O: Opener> Unpin for Request<O> {}

impl<O: Opener> Request<O> {
    pub(super) fn new(pool: Arc<Pool<O>>, key: O::Key, ticket: Ticket) -> Request<O> {
        Request { pool, key, ticket, is_open: true }
    }

    /// Whether the request waits for nothing any more.
    pub fn is_ended(&self) -> bool {
        self.pool.core.lock().is_ended(self.ticket)
    }

    /// 53300, for a caller that gives up because its own deadline has passed.
    pub fn timed_out(&self) -> Error {
        self.pool.timed_out()
    }

    /// Waits in the calling thread: 08006 if the node is down, 53300 if the deadline passes first,
    /// or the interrupt's error.
    pub fn wait_in_place(mut self, deadline: Instant) -> Result<Place<O>> {
        if let Some(end) = self.end_or_sleep(None) {
            return end;
        }
        let Some(interrupts) = interrupt::current() else { return self.wait(None, deadline) };
        let mut ended = Err(Error::internal("a session has not waited"));
        let mut request = Some(self);
        interrupts.wait(&mut || {
            if let Some(request) = request.take() {
                ended = request.wait(Some(&*interrupts), deadline);
            }
        });
        ended
    }

    fn wait(mut self, interrupts: Option<&dyn Interrupts>, deadline: Instant) -> Result<Place<O>> {
        let bell = Arc::new(Bell::default());
        let waker = Waker::from(Arc::clone(&bell));
        let lent = interrupts.map(|interrupts| Lent::to(interrupts, &waker));
        loop {
            if let Some(end) = self.end_or_sleep(Some(&waker)) {
                return end;
            }
            if let Some(lent) = &lent {
                lent.interrupts.check()?;
            }
            let now = Instant::now();
            if now >= deadline {
                return Err(self.pool.timed_out());
            }
            match &lent {
                Some(Lent { is_woken: false, .. }) => bell.wait_until(deadline.min(now + SLICE)),
                _ => bell.wait_until(deadline),
            }
        }
    }

    /// The request's end. If it has not come, `waker` is called when it does.
    fn end_or_sleep(&mut self, waker: Option<&Waker>) -> Option<Result<Place<O>>> {
        let mut core = self.pool.core.lock();
        let Some(end) = core.take(self.ticket) else {
            if let Some(waker) = waker {
                core.sleep(self.ticket, waker.clone());
            }
            return None;
        };
        drop(core);
        self.is_open = false;
        let (pool, key) = (Arc::clone(&self.pool), self.key.clone());
        Some(end.map(|grant| Place::new(pool, key, self.ticket, grant)))
    }
}

/// Wakes a thread. A call before the thread sleeps is not lost.
#[derive(Default)]
struct Bell {
    is_rung: Mutex<bool>,
    rung: Condvar,
}

impl Bell {
    fn wait_until(&self, until: Instant) {
        let mut is_rung = self.is_rung.lock();
        while !*is_rung && !self.rung.wait_until(&mut is_rung, until).timed_out() {}
        *is_rung = false;
    }
}

impl Wake for Bell {
    fn wake(self: Arc<Bell>) {
        *self.is_rung.lock() = true;
        self.rung.notify_all();
    }
}

/// A waker that interrupts call, until this is dropped.
struct Lent<'a> {
    interrupts: &'a dyn Interrupts,
    /// They call it.
    is_woken: bool,
}

impl<'a> Lent<'a> {
    fn to(interrupts: &'a dyn Interrupts, waker: &Waker) -> Lent<'a> {
        Lent { interrupts, is_woken: interrupts.wake_by(Some(waker.clone())) }
    }
}

impl Drop for Lent<'_> {
    fn drop(&mut self) {
        self.interrupts.wake_by(None);
    }
}

impl<O: Opener> Future for Request<O> {
    type Output = Result<Place<O>>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        if let Some(end) = self.end_or_sleep(Some(context.waker())) {
            return Poll::Ready(end);
        }
        match interrupt::check() {
            Ok(()) => Poll::Pending,
            Err(interrupt) => Poll::Ready(Err(interrupt)),
        }
    }
}

impl<O: Opener> Drop for Request<O> {
    fn drop(&mut self) {
        if self.is_open {
            self.pool.step(|core, now| core.leave(self.ticket, now));
        }
    }
}
