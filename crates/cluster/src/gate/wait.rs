//! Waiting at the gate, in place or as a future.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};
use steppe_types::{Error, Result, SqlState, interrupt};

use super::queue::Ticket;
use super::{Gate, Passage};

/// A waiter in place looks at its statement's interrupts this often, since they wake no thread.
const INTERRUPTS_EVERY: Duration = Duration::from_millis(20);

/// A request in front of the gate; shared between the gate and its [`PassageWait`].
#[derive(Default)]
pub(super) struct Waiter {
    state: Mutex<(bool, Option<Waker>)>,
    changed: Condvar,
}

impl Waiter {
    /// The request is inside now.
    pub(super) fn let_in(&self) {
        let mut state = self.state.lock();
        state.0 = true;
        let waker = state.1.take();
        drop(state);
        self.changed.notify_all();
        if let Some(waker) = waker {
            waker.wake();
        }
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
        let is_inside = self.waiter.state.lock().0 && !self.is_taken;
        is_inside.then(|| {
            self.is_taken = true;
            Passage { gate: Arc::clone(&self.gate), ticket: self.ticket }
        })
    }

    /// Waits in the calling thread. Errors: 55P03 at the deadline, and those of the statement's
    /// interrupts.
    pub fn wait_in_place(mut self, deadline: Option<Instant>) -> Result<Passage> {
        loop {
            if let Some(passage) = self.try_take() {
                return Ok(passage);
            }
            interrupt::check()?;
            let now = Instant::now();
            if deadline.is_some_and(|deadline| now >= deadline) {
                return Err(too_late());
            }
            let next = now + INTERRUPTS_EVERY;
            let mut state = self.waiter.state.lock();
            if !state.0 {
                let until = deadline.map_or(next, |deadline| deadline.min(next));
                let _timed_out = self.waiter.changed.wait_until(&mut state, until);
            }
        }
    }
}

impl Future for PassageWait {
    type Output = Passage;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Passage> {
        self.waiter.state.lock().1 = Some(context.waker().clone());
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
