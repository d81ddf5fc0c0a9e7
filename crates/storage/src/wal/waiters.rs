//! The queue of threads and futures that wait for the log to become durable.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Wake, Waker};
use std::thread::Thread;

use parking_lot::Mutex;

use super::Lsn;

/// A place in the queue: the position waited for, and a number that makes it unique.
pub(super) type Ticket = (u64, u64);

/// Wakers ordered by their positions. One flush removes its batch from the front and wakes it
/// outside the lock.
#[derive(Default)]
pub(super) struct Waiters {
    queue: Mutex<BTreeMap<Ticket, Waker>>,
    next_number: AtomicU64,
}

impl Waiters {
    /// Draws a ticket for a wait until `lsn`.
    pub(super) fn ticket(&self, lsn: Lsn) -> Ticket {
        (lsn.0, self.next_number.fetch_add(1, Ordering::Relaxed))
    }

    /// Queues the waker, and replaces the ticket's earlier one.
    pub(super) fn wait(&self, ticket: Ticket, waker: &Waker) {
        let replaced = self.queue.lock().insert(ticket, waker.clone());
        drop(replaced);
    }

    /// Removes the ticket from the queue.
    pub(super) fn leave(&self, ticket: Ticket) {
        let removed = self.queue.lock().remove(&ticket);
        drop(removed);
    }

    /// Wakes the waiters for positions up to `durable`.
    pub(super) fn wake_up_to(&self, durable: Lsn) {
        let ready = {
            let mut queue = self.queue.lock();
            let later = queue.split_off(&(durable.0.saturating_add(1), 0));
            std::mem::replace(&mut *queue, later)
        };
        ready.into_values().for_each(Waker::wake);
    }

    /// Wakes all waiters: the log has failed.
    pub(super) fn wake_all(&self) {
        let all = std::mem::take(&mut *self.queue.lock());
        all.into_values().for_each(Waker::wake);
    }
}

/// A waker that unparks a blocked thread.
struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

/// A waker for the running thread.
pub(super) fn thread_waker() -> Waker {
    Waker::from(Arc::new(Unpark(std::thread::current())))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicUsize;

    #[derive(Default)]
    struct Count(AtomicUsize);

    impl Wake for Count {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    #[test]
    fn wakes_a_batch_and_keeps_the_rest() {
        let waiters = Waiters::default();
        let counts: Vec<Arc<Count>> = (0..5).map(|_| Arc::default()).collect();
        let tickets: Vec<Ticket> = [10, 10, 20, 30, 40].map(|l| waiters.ticket(Lsn(l))).to_vec();
        for (ticket, count) in tickets.iter().zip(&counts) {
            waiters.wait(*ticket, &Waker::from(Arc::clone(count)));
            waiters.wait(*ticket, &Waker::from(Arc::clone(count)));
        }
        let woken = || counts.iter().map(|c| c.0.load(Ordering::Relaxed)).collect::<Vec<_>>();
        waiters.leave(tickets[3]);
        waiters.wake_up_to(Lsn(20));
        assert_eq!(woken(), [1, 1, 1, 0, 0]);
        waiters.wake_up_to(Lsn(39));
        assert_eq!(woken(), [1, 1, 1, 0, 0]);
        waiters.wake_all();
        assert_eq!(woken(), [1, 1, 1, 0, 1]);
    }
}
