//! Threads that run long plans, and give way to those that run short statements.
//!
//! A worker's thread cannot give way itself: a thread that has lowered its priority may not raise it
//! again (without CAP_SYS_NICE), and the runtime lets it go on with short statements once the long
//! one has ended. So the worker's thread lends a long plan to a thread that has a low priority for
//! good, and sleeps until that thread is done.
//!
//! ```text
//!   worker's thread    hands its sessions over ── sleeps ──────────────── answers, commits
//!   thread that gives way                        └─ runs the plan ─┘       waits for the next plan
//! ```
//!
//! What it guarantees:
//!
//! - The plan runs as on the thread that lends it, which neither goes on nor unwinds before the plan
//!   has ended: what the thread has of its session goes along and comes back ([`Lent`]).
//! - Only what reads is to be run here. A commit is the lender's; a flush that a page needs which
//!   must leave memory is left to the log's flusher. So nobody waits for a thread that gives way to
//!   make something durable.
//! - A thread that gives way begins no thread of the runtime, which would have its priority: it does
//!   not know the runtime. (The helpers of a parallel plan are to have it.)
//!
//! Threads are begun when there are more long plans than threads, and end after a while without
//! one. Why not otherwise: docs/decisions/2026-11-26-long-statements-give-way.md.

#![allow(unsafe_code)]

use std::cell::Cell;
use std::collections::VecDeque;
use std::mem::transmute;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::{Arc, mpsc};
use std::time::Duration;

use parking_lot::{Condvar, Mutex};
use steppe_counting::RelationStatistics;
use steppe_counting::accesses::Apart;
use steppe_storage::usage::{Timing, time_io, timing};
use steppe_storage::wal;
use steppe_types::interrupt::{self, Interrupts};

use crate::workers::STACK_BYTES;
use crate::{memory, processors};

/// A thread that has had nothing to do for so long ends.
const IDLE_MAX: Duration = Duration::from_secs(10);

type Job = Box<dyn FnOnce() + Send>;

/// Plans that no thread has yet, and how many threads wait for one.
struct Waiting {
    jobs: VecDeque<Job>,
    idle: usize,
}

static WAITING: Mutex<Waiting> = Mutex::new(Waiting { jobs: VecDeque::new(), idle: 0 });
static MORE: Condvar = Condvar::new();

thread_local! {
    static LOW_PRIORITY: Cell<bool> = const { Cell::new(false) };
}

/// Runs `work` on a thread that gives way, and waits for it; a panic goes on in the caller.
pub(crate) fn run<T: Send>(work: impl FnOnce() -> T + Send) -> T {
    if LOW_PRIORITY.get() {
        return work();
    }
    let mut lent = Lent::take();
    let mut ended = None;
    let (at_work, has_ended) = mpsc::channel::<()>();
    let job: Box<dyn FnOnce() + Send + '_> = Box::new({
        let (lent, ended) = (&mut lent, &mut ended);
        move || {
            *ended = Some(lent.during(|| catch_unwind(AssertUnwindSafe(work))));
            drop(at_work);
        }
    });
    // SAFETY: what it borrows is there until it has run or was dropped, as `at_work` is only then
    // dropped, and nothing before the end of the wait for that can panic or return.
    let job = unsafe { transmute::<Box<dyn FnOnce() + Send + '_>, Job>(job) };
    hand_in(job);
    // Nobody ever sends: this is an error once there is no sender any more.
    let _ended = has_ended.recv();
    lent.give_back();
    match ended {
        Some(Ok(done)) => done,
        Some(Err(panic)) => resume_unwind(panic),
        None => resume_unwind(Box::new("a thread that gives way has panicked")),
    }
}

/// Lets a thread have it; runs it here if the system has none.
fn hand_in(job: Job) {
    let mut waiting = WAITING.lock();
    waiting.jobs.push_back(job);
    if waiting.idle >= waiting.jobs.len() {
        MORE.notify_one();
        return;
    }
    let thread = std::thread::Builder::new().name("steppe-long".to_owned());
    if thread.stack_size(STACK_BYTES).spawn(serve).is_err() {
        let job = waiting.jobs.pop_back();
        drop(waiting);
        if let Some(job) = job {
            job();
        }
    }
}

/// What a thread does: plans, until there has been none for a while.
fn serve() {
    processors::give_way();
    wal::leave_flushes();
    LOW_PRIORITY.set(true);
    let mut waiting = WAITING.lock();
    loop {
        if let Some(job) = waiting.jobs.pop_front() {
            drop(waiting);
            job();
            waiting = WAITING.lock();
            continue;
        }
        waiting.idle += 1;
        let waited = MORE.wait_for(&mut waiting, IDLE_MAX);
        waiting.idle -= 1;
        if waited.timed_out() && waiting.jobs.is_empty() {
            return;
        }
    }
}

/// What a thread has of the session that it works for.
struct Lent {
    /// Who can end the statement.
    interrupts: Option<Arc<dyn Interrupts>>,
    /// Which I/O it times.
    timing: Timing,
    /// The memory that the statement has.
    memory: memory::Count,
    /// The engine that its accesses to relations are counted for.
    engine: Option<Arc<RelationStatistics>>,
    /// What its transaction counts apart.
    counted: Apart,
}

impl Lent {
    /// Takes it from the running thread; its interrupts stay there, too.
    fn take() -> Lent {
        Lent {
            interrupts: interrupt::current(),
            timing: timing(),
            memory: memory::Count::take(),
            engine: RelationStatistics::entered(),
            counted: Apart::take(),
        }
    }

    /// Has the running thread work for the session.
    fn during<T>(&mut self, work: impl FnOnce() -> T) -> T {
        let Lent { interrupts, timing, memory, engine, counted } = self;
        engine.iter().for_each(RelationStatistics::enter);
        time_io(Some(*timing));
        let done = memory.during(|| interrupt::during(interrupts, || counted.during(work)));
        time_io(None);
        done
    }

    /// Gives it to the running thread.
    fn give_back(self) {
        self.memory.give_back();
        self.counted.give_back();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_lent_comes_back() {
        let mut here = memory::Count::default();
        let (kept, on) = here.during(|| {
            run(|| (vec![0u8; 1 << 20], std::thread::current().name().map(str::to_owned)))
        });
        assert_eq!(on.as_deref(), Some("steppe-long"));
        assert!(here.bytes() > 1_000_000, "{here:?}");
        here.during(|| drop(kept));
        // What was taken there is known here: less the little that the two threads keep.
        assert!(here.bytes().abs() < 1 << 16, "{here:?}");
    }

    #[test]
    fn a_panic_goes_on_where_the_plan_came_from() {
        let panicked = catch_unwind(|| run(|| -> () { resume_unwind(Box::new(5)) }));
        assert_eq!(panicked.unwrap_err().downcast_ref::<i32>(), Some(&5));
        assert_eq!(run(|| run(|| 6)), 6);
    }

    #[test]
    fn many_run_at_once() {
        let barrier = std::sync::Barrier::new(8);
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| run(|| barrier.wait()));
            }
        });
    }
}
