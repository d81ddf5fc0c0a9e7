//! The worker of a session: the one on the processor where its client's packets arrive, as far as
//! the workers stay evenly loaded.
//!
//! The kernel receives a packet on one processor, and wakes the worker that waits for it there. If
//! one worker serves all clients of one processor, the two soon share that processor. Its caches
//! have the data of both, and no wake-up crosses processors. If each worker serves clients of all
//! processors, every message crosses, and a fifth of the throughput is lost (select-only of
//! pgbench, whose two threads have eight clients each).
//!
//! A new session is given to the worker with the fewest sessions, and among equals to its
//! processor's. A session counts its answers, also those within transactions. After a number of
//! them, between transactions, it asks where its packets arrive by now (SO_INCOMING_CPU). It moves
//! if this is another worker's processor twice in a row. It then leaves its runtime with its
//! socket, and continues as a task of the other one:
//!
//! ```text
//!   worker 0: Seats::run ── session … Migration ─┐
//!   worker 1:                                    └─ Seats::run ── session …
//! ```
//!
//! Answers within a transaction count, since each of them crosses. When only transactions counted,
//! a session with sixteen statements a transaction followed its client only after seconds.
//! Meanwhile two processors did a third less
//! (docs/decisions/2026-11-23-sessions-follow-their-clients.md).
//!
//! A processor stands for a worker only by its number, so this decides which sessions share a
//! worker. Threads are not bound to processors. The kernel usually brings a worker and its clients
//! together. If all processors are busy, it may also leave two workers each on the other's
//! processor, so that all messages cross. Such a worker moves to its clients' processor, once
//! (docs/decisions/2026-11-24-workers-go-to-their-clients.md).

use std::cell::Cell;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::runtime::Handle;

use crate::processors;
use crate::stream::Stream;

/// The number of a session's answers between two looks.
const LOOK_EVERY: u32 = 256;

/// A worker with at least this many sessions may give one to a worker that is not less loaded. With
/// fewer, one worker would be idle while the other has too much to do.
const CROWD: usize = 6;

/// The receiving worker may have at most this many sessions more.
const AHEAD_MAX: usize = 4;

/// This many looks in a row of a worker's sessions show that it is not on its clients' processor.
const LOOKS_APART: u32 = 4;

/// Since the first of them, the worker must also have been interrupted this often: another thread
/// uses its processor. With a processor to spare, worker and clients are faster on two.
const INTERRUPTED_MIN: u64 = 2;

thread_local! {
    static APART: Cell<Apart> = const { Cell::new(Apart { looks: 0, interrupted: 0 }) };
}

/// Counts the looks for which a worker has not been on its clients' processor.
#[derive(Clone, Copy, Default)]
struct Apart {
    /// Looks in a row off the processor.
    looks: u32,
    /// The worker's count of interruptions at the first of them.
    interrupted: u64,
}

impl Apart {
    /// Counts a look. Returns whether the worker must move.
    fn look(self, is_apart: bool, interrupted: impl Fn() -> u64) -> (Apart, bool) {
        if !is_apart {
            return (Apart::default(), false);
        }
        let since = if self.looks == 0 { interrupted() } else { self.interrupted };
        let apart = Apart { looks: self.looks + 1, interrupted: since };
        if apart.looks < LOOKS_APART {
            return (apart, false);
        }
        (Apart::default(), interrupted() - since >= INTERRUPTED_MIN)
    }
}

/// Sessions of each worker.
pub(crate) struct Seats(pub(crate) Vec<(Handle, AtomicUsize)>);

/// A session's place on a worker, where it is counted.
pub(crate) struct Seat {
    seats: Arc<Seats>,
    worker: usize,
}

impl Drop for Seat {
    fn drop(&mut self) {
        self.seats.0[self.worker].1.fetch_sub(1, Ordering::Relaxed);
    }
}

/// A session that moves to another worker.
pub(crate) struct Migration {
    /// Its new place.
    pub to: Seat,
    /// The rest of the session.
    pub session: Pin<Box<dyn Future<Output = Option<Migration>> + Send>>,
}

impl Seats {
    fn load(&self, worker: usize) -> usize {
        self.0[worker].1.load(Ordering::Relaxed)
    }

    /// The worker of a processor.
    fn of_cpu(&self, cpu: usize) -> usize {
        cpu % self.0.len()
    }

    /// Chooses the worker of a new session.
    pub(crate) fn for_new(&self, cpu: Option<usize>) -> usize {
        let own = cpu.map(|cpu| self.of_cpu(cpu));
        let key = |worker: &usize| (self.load(*worker), own != Some(*worker));
        (0..self.0.len()).min_by_key(key).unwrap_or(0)
    }

    /// Whether a session may leave one worker for another.
    fn may_move(&self, from: usize, to: usize) -> bool {
        let (here, there) = (self.load(from), self.load(to));
        there + 1 < here || (here >= CROWD && there <= here + AHEAD_MAX)
    }

    /// Counts a session on a worker.
    pub(crate) fn take(self: &Arc<Seats>, worker: usize) -> Seat {
        self.0[worker].1.fetch_add(1, Ordering::Relaxed);
        Seat { seats: Arc::clone(self), worker }
    }

    /// Runs a session on a worker, then on each worker that it moves to.
    pub(crate) fn run(
        self: &Arc<Seats>,
        place: Seat,
        session: impl Future<Output = Option<Migration>> + Send + 'static,
    ) {
        let seats = Arc::clone(self);
        let (handle, _) = &self.0[place.worker];
        handle.spawn(async move {
            let moving = session.await;
            drop(place);
            if let Some(Migration { to, session }) = moving {
                seats.run(to, session);
            }
        });
    }
}

/// The state from which a session decides where to run.
pub(crate) struct SessionAffinity {
    seats: Arc<Seats>,
    worker: usize,
    /// Answers since the last look.
    answers: u32,
    /// The worker of the processor where its packets arrived at the last look, if it was another
    /// one.
    seen: Option<usize>,
}

impl SessionAffinity {
    pub(crate) fn new(place: &Seat) -> SessionAffinity {
        let Seat { seats, worker } = place;
        SessionAffinity { seats: Arc::clone(seats), worker: *worker, answers: 0, seen: None }
    }

    /// Counts an answer. Returns whether a look is due.
    #[inline]
    pub(crate) fn is_to_look(&mut self) -> bool {
        self.answers += 1;
        self.answers >= LOOK_EVERY
    }

    /// Looks, between transactions. Returns the place that the session must move to, if any.
    #[cold]
    pub(crate) fn elsewhere(&mut self, stream: &Stream) -> Option<Seat> {
        self.answers = 0;
        let cpu = stream.incoming_cpu();
        if stream.is_local() {
            self.bring_worker(cpu);
        }
        self.look(cpu)
    }

    /// Moves the calling thread's worker to the processor of its clients, if this session's packets
    /// arrive there and enough looks agree.
    fn bring_worker(&self, cpu: Option<usize>) {
        let Some(cpu) = cpu.filter(|cpu| self.seats.of_cpu(*cpu) == self.worker) else {
            return APART.set(Apart::default());
        };
        let is_apart = processors::current().is_some_and(|here| here != cpu);
        let (apart, goes) = APART.get().look(is_apart, processors::times_interrupted);
        APART.set(apart);
        if goes {
            processors::go_to(cpu);
        }
    }

    fn look(&mut self, cpu: Option<usize>) -> Option<Seat> {
        let own = cpu.map(|cpu| self.seats.of_cpu(cpu));
        let other = own.filter(|own| *own != self.worker);
        let again = other.filter(|_| other == self.seen);
        self.seen = other;
        let to = again.filter(|to| self.seats.may_move(self.worker, *to))?;
        (self.worker, self.seen) = (to, None);
        Some(self.seats.take(to))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc;
    use std::time::Duration;
    use tokio::runtime::{Builder, Runtime};

    fn workers(count: usize) -> (Vec<Runtime>, Arc<Seats>) {
        let make = |at: usize| {
            let builder = &mut Builder::new_multi_thread();
            builder.worker_threads(1).thread_name(format!("worker {at}")).build().expect("starts")
        };
        let runtimes: Vec<Runtime> = (0..count).map(make).collect();
        let worker = |runtime: &Runtime| (runtime.handle().clone(), AtomicUsize::default());
        let seats = Seats(runtimes.iter().map(worker).collect());
        (runtimes, Arc::new(seats))
    }

    fn loads(seats: &Seats) -> Vec<usize> {
        (0..seats.0.len()).map(|worker| seats.load(worker)).collect()
    }

    fn dealt(seats: &Arc<Seats>, cpus: &[usize]) -> Vec<(Seat, SessionAffinity)> {
        let deal = |cpu: &usize| {
            let place = seats.take(seats.for_new(Some(*cpu)));
            let home = SessionAffinity::new(&place);
            (place, home)
        };
        cpus.iter().map(deal).collect()
    }

    /// Lets all sessions look, with their packets on the same processors, until none moves any
    /// more.
    fn settle(sessions: &mut [(Seat, SessionAffinity)], cpus: &[usize]) -> usize {
        let mut moves = 0;
        loop {
            let before = moves;
            for ((place, home), cpu) in sessions.iter_mut().zip(cpus) {
                assert!(
                    home.seen.is_some() || home.look(Some(*cpu)).is_none(),
                    "at the first look"
                );
                if let Some(to) = home.look(Some(*cpu)) {
                    (*place, moves) = (to, moves + 1);
                }
            }
            if moves == before {
                return moves;
            }
        }
    }

    #[test]
    fn new_sessions_go_where_there_are_fewest_then_to_their_processor() {
        let (_runtimes, seats) = workers(2);
        let sessions = dealt(&seats, &[1, 1, 1, 0, 2]);
        let places: Vec<usize> = sessions.iter().map(|(place, _)| place.worker).collect();
        assert_eq!(places, [1, 0, 1, 0, 0]);
        assert_eq!(loads(&seats), [3, 2]);
        drop(sessions);
        assert_eq!(loads(&seats), [0, 0]);
    }

    #[test]
    fn a_crowd_is_sorted_by_processors() {
        let (_runtimes, seats) = workers(2);
        // Eight sessions of each processor arrive in the worst order: each worker has half of each.
        let cpus: Vec<usize> = (0..16).map(|at| usize::from(at % 4 >= 2)).collect();
        let mut sessions = dealt(&seats, &cpus);
        settle(&mut sessions, &cpus);
        assert_eq!(loads(&seats), [8, 8]);
        for ((place, home), cpu) in sessions.iter().zip(&cpus) {
            assert_eq!((place.worker, home.worker), (*cpu, *cpu));
        }
    }

    #[test]
    fn workers_stay_even() {
        let (_runtimes, seats) = workers(2);
        for (sessions, apart) in [(2, 0), (9, 1), (12, 2), (16, 6), (40, 6)] {
            let cpus = vec![0; sessions];
            let mut sessions = dealt(&seats, &cpus);
            settle(&mut sessions, &cpus);
            let loads = loads(&seats);
            assert_eq!(loads[0] - loads[1], apart, "{loads:?}");
        }
    }

    #[test]
    fn a_worker_goes_where_its_clients_are_if_it_is_not_alone_where_it_is() {
        let looks = |looks: &[(bool, u64)]| {
            let mut apart = Apart::default();
            let look = |(is_apart, interrupted): &(bool, u64)| {
                let (next, goes) = apart.look(*is_apart, || *interrupted);
                apart = next;
                goes
            };
            looks.iter().map(look).collect::<Vec<bool>>()
        };
        let not = [false; 3];
        assert_eq!(looks(&[(true, 7), (true, 7), (true, 8), (true, 9)])[..3], not);
        assert!(looks(&[(true, 7), (true, 7), (true, 8), (true, 9)])[3]);
        // The processor has no other thread to run.
        assert!(!looks(&[(true, 7), (true, 7), (true, 7), (true, 8)])[3]);
        // The worker has been on the processor meanwhile.
        let met = [(true, 1), (true, 2), (false, 3), (true, 4), (true, 5), (true, 6), (true, 7)];
        assert_eq!(looks(&met), [false, false, false, false, false, false, true]);
    }

    #[test]
    fn a_look_is_due_by_all_answers_and_waits_for_the_end_of_the_transaction() {
        let (_runtimes, seats) = workers(1);
        let mut sessions = dealt(&seats, &[0]);
        let (_, home) = &mut sessions[0];
        assert!((1..LOOK_EVERY).all(|_| !home.is_to_look()));
        assert!((0..3).all(|_| home.is_to_look()));
    }

    #[test]
    fn a_session_without_a_processor_stays() {
        let (_runtimes, seats) = workers(2);
        let mut sessions = dealt(&seats, &[0; 20]);
        for (_, home) in &mut sessions {
            assert!((0..3).all(|_| home.look(None).is_none()));
        }
        // Twice in a row, not twice.
        let (_, home) = &mut sessions[1];
        assert_eq!(home.worker, 1);
        assert!(
            [Some(0), Some(1), Some(0), None, Some(0)]
                .map(|cpu| home.look(cpu))
                .iter()
                .all(Option::is_none)
        );
    }

    #[test]
    fn what_moves_goes_on_on_the_other_worker() {
        let (runtimes, seats) = workers(2);
        let (said, heard) = mpsc::channel();
        let thread = || std::thread::current().name().map(str::to_owned);
        let (first, to) = (seats.take(0), seats.take(1));
        let session = async move {
            let _ = said.send(thread());
            let rest = async move {
                let _ = said.send(thread());
                None
            };
            Some(Migration { to, session: Box::pin(rest) })
        };
        seats.run(first, session);
        let names: Vec<_> = heard.iter().collect();
        assert_eq!(names, [Some("worker 0".to_owned()), Some("worker 1".to_owned())]);
        for runtime in runtimes {
            runtime.shutdown_timeout(Duration::from_secs(10));
        }
        assert_eq!(loads(&seats), [0, 0]);
    }
}
