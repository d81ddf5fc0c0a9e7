//! Which worker a session lives on: where its client's packets come in, as far as that leaves the
//! workers even.
//!
//! The kernel takes in a packet on one processor, and wakes the worker that waits for it there. If
//! the clients of one processor are all served by one worker, the two soon share that processor:
//! its caches have what both need, and nobody is woken across. If each worker serves clients of
//! all processors, every message crosses, and a fifth of the throughput is lost (select-only of
//! pgbench, whose two threads have eight clients each).
//!
//! A new session goes to the worker with the fewest, its processor's among equals. Now and then
//! (all its answers count, also those within transactions) one that is between transactions looks
//! where its packets come in by now (SO_INCOMING_CPU), and moves if it finds twice in a row that
//! this is another worker's processor. It then leaves its runtime with its socket, and goes on as
//! a task of the other one:
//!
//! ```text
//!   worker 0: Seats::run ── session … Migration ─┐
//!   worker 1:                                    └─ Seats::run ── session …
//! ```
//!
//! Answers within a transaction count, since it is they that cross: counted between transactions, a
//! session of transactions of sixteen statements followed its client after seconds, when two
//! processors did a third less (docs/decisions/2026-11-23-sessions-follow-their-clients.md).
//!
//! Processors stand for workers by their number, so that this is about who is together with whom;
//! no thread is bound to a processor. The kernel brings a worker and its clients together, as a
//! rule. Where all processors have something to do it may also leave two workers each on the
//! other's, with nothing between them but messages across. A worker that finds itself so goes to
//! its clients' processor, once (docs/decisions/2026-11-24-workers-go-to-their-clients.md).

use std::cell::Cell;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::runtime::Handle;

use crate::processors;
use crate::stream::Stream;

/// How many answers a session gives between two looks.
const LOOK_EVERY: u32 = 256;

/// A worker with so many sessions may give one up for the sake of who is with whom: with fewer that
/// would leave one idle while the other has too much to do.
const CROWD: usize = 6;

/// To one that has so many more at most.
const AHEAD_MAX: usize = 4;

/// So many looks in a row of a worker's sessions tell that it is not where its clients are.
const LOOKS_APART: u32 = 4;

/// And that it shares the processor where it is: times that it was interrupted there meanwhile.
/// With a processor to spare the two are better off apart.
const INTERRUPTED_MIN: u64 = 2;

thread_local! {
    static APART: Cell<Apart> = const { Cell::new(Apart { looks: 0, interrupted: 0 }) };
}

/// For how long a worker has not been on its clients' processor.
#[derive(Clone, Copy, Default)]
struct Apart {
    /// Looks in a row that found it so.
    looks: u32,
    /// How often it had been interrupted at the first one.
    interrupted: u64,
}

impl Apart {
    /// One more look; whether the worker is to go there.
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

/// A session that goes on elsewhere.
pub(crate) struct Migration {
    /// Where.
    pub to: Seat,
    /// What is left of it.
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

    /// The worker for a new session.
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

    /// Runs a session on a worker, then where it moves to.
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

/// What a session knows of where it lives.
pub(crate) struct SessionAffinity {
    seats: Arc<Seats>,
    worker: usize,
    /// Answers since the last look.
    answers: u32,
    /// Where its packets came in at the last look, if that was another worker's.
    seen: Option<usize>,
}

impl SessionAffinity {
    pub(crate) fn new(place: &Seat) -> SessionAffinity {
        let Seat { seats, worker } = place;
        SessionAffinity { seats: Arc::clone(seats), worker: *worker, answers: 0, seen: None }
    }

    /// Counts an answer; whether it is time to look where the session should live.
    #[inline]
    pub(crate) fn is_to_look(&mut self) -> bool {
        self.answers += 1;
        self.answers >= LOOK_EVERY
    }

    /// Looks, between transactions: whether, and where, the session is to go on elsewhere.
    #[cold]
    pub(crate) fn elsewhere(&mut self, stream: &Stream) -> Option<Seat> {
        self.answers = 0;
        let cpu = stream.incoming_cpu();
        if stream.is_local() {
            self.bring_worker(cpu);
        }
        self.look(cpu)
    }

    /// Has the worker, whose thread this is, go to the processor of its clients, if this session's
    /// packets come in there and it is time.
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

    /// Looks of all sessions, their packets where they were, until none moves any more.
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
        // Eight each that came in the worst order: each worker has half of each.
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
        // Nobody else wants the processor.
        assert!(!looks(&[(true, 7), (true, 7), (true, 7), (true, 8)])[3]);
        // It has been there meanwhile.
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
