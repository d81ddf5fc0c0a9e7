//! Waiting at the gate, in place or as a future.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};
use steppe_types::interrupt::{self, Interrupts};
use steppe_types::{Error, Result, SqlState};

use super::queue::Ticket;
use super::{Gate, Passage};

/// The longest sleep between two checks for interrupts that cannot wake the waiter.
const SLICE: Duration = Duration::from_millis(10);

/// A request in front of the gate; shared between the gate, its [`PassageWait`], and the interrupts
/// of its statement.
#[derive(Default)]
pub(super) struct Waiter {
    state: Mutex<WaiterState>,
    changed: Condvar,
}

#[derive(Default)]
struct WaiterState {
    is_inside: bool,
    /// The interrupts have to be looked at.
    is_interrupted: bool,
    waker: Option<Waker>,
}

impl Waiter {
    /// The request is inside now.
    pub(super) fn let_in(&self) {
        let mut state = self.state.lock();
        state.is_inside = true;
        let waker = state.waker.take();
        drop(state);
        self.changed.notify_all();
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    /// Sleeps until the request is inside, an interrupt has called, or `until`.
    fn sleep(&self, until: Option<Instant>) {
        let mut state = self.state.lock();
        if !state.is_inside && !state.is_interrupted {
            match until {
                Some(until) => {
                    let _timed_out = self.changed.wait_until(&mut state, until);
                }
                None => self.changed.wait(&mut state),
            }
        }
        state.is_interrupted = false;
    }
}

/// Interrupts wake the waiter by this.
impl Wake for Waiter {
    fn wake(self: Arc<Waiter>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Waiter>) {
        self.state.lock().is_interrupted = true;
        self.changed.notify_all();
    }
}

/// Takes the waker from the interrupts again.
struct Lent<'a>(&'a dyn Interrupts);

impl Drop for Lent<'_> {
    fn drop(&mut self) {
        self.0.wake_by(None);
    }
}

/// A request that waits at the gate. Await it (a deadline or a cancel drops the future), or call
/// [`PassageWait::wait_in_place`].
#[must_use = "a request that is dropped leaves the queue"]
pub struct PassageWait {
    gate: Arc<Gate>,
    ticket: Ticket,
    waiter: Arc<Waiter>,
    /// The passage was handed out, and leaves by itself.
    is_taken: bool,
}

impl PassageWait {
    pub(super) fn new(gate: Arc<Gate>, ticket: Ticket, waiter: Arc<Waiter>) -> PassageWait {
        PassageWait { gate, ticket, waiter, is_taken: false }
    }

    /// The passage, if the request is inside by now.
    pub fn try_take(&mut self) -> Option<Passage> {
        let is_inside = self.waiter.state.lock().is_inside && !self.is_taken;
        is_inside.then(|| {
            self.is_taken = true;
            Passage { gate: Arc::clone(&self.gate), ticket: self.ticket }
        })
    }

    /// Waits in the calling thread. Errors: 55P03 at the deadline, and those of the statement's
    /// interrupts.
    pub fn wait_in_place(mut self, deadline: Option<Instant>) -> Result<Passage> {
        let Some(interrupts) = interrupt::current() else {
            return self.wait_until(deadline, None, || Ok(()));
        };
        let mut passed = Err(too_late());
        interrupts.wait(&mut || {
            let is_woken = interrupts.wake_by(Some(Waker::from(Arc::clone(&self.waiter))));
            let _lent = Lent(&*interrupts);
            let slice = (!is_woken).then_some(SLICE);
            passed = self.wait_until(deadline, slice, || interrupts.check());
        });
        passed
    }

    /// Waits until the deadline, or until `check` fails, which is called after each slice and when an
    /// interrupt calls.
    fn wait_until(
        &mut self,
        deadline: Option<Instant>,
        slice: Option<Duration>,
        check: impl Fn() -> Result<()>,
    ) -> Result<Passage> {
        loop {
            if let Some(passage) = self.try_take() {
                return Ok(passage);
            }
            check()?;
            let now = Instant::now();
            if deadline.is_some_and(|deadline| now >= deadline) {
                return Err(too_late());
            }
            self.waiter.sleep(slice.map(|slice| now + slice).into_iter().chain(deadline).min());
        }
    }
}

impl Future for PassageWait {
    type Output = Passage;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Passage> {
        self.waiter.state.lock().waker = Some(context.waker().clone());
        match self.try_take() {
            Some(passage) => Poll::Ready(passage),
            None => Poll::Pending,
        }
    }
}

impl Drop for PassageWait {
    fn drop(&mut self) {
        if !self.is_taken {
            self.gate.leave(self.ticket);
        }
    }
}

/// 55P03: the deadline of a request at the gate has passed.
pub(super) fn too_late() -> Error {
    let message = "could not take a consistent snapshot of several nodes in time";
    Error::new(SqlState::LOCK_NOT_AVAILABLE, message)
        .detail("A transaction over these nodes has not been committed on all of them yet.")
}
