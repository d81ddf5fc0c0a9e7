//! Threads of low priority that run long plans, so that short statements run first.
//!
//! A worker's thread cannot lower its own priority for a while. It may not raise it again (without
//! CAP_SYS_NICE), and it runs short statements once the long one has ended. So the worker's thread
//! lends a long plan to a thread that has a low priority for good, and sleeps until that thread is
//! done.
//!
//! ```text
//!   worker's thread    hands its sessions over ── sleeps ──────────────── answers, commits
//!   low-priority thread                          └─ runs the plan ─┘       waits for the next plan
//! ```
//!
//! The guarantees:
//!
//! - The plan runs as on the lending thread, which neither continues nor unwinds before the plan
//!   has ended. The lending thread's state of its session moves with the plan and back ([`Lent`]).
//! - A lent plan only reads. The lender commits. If a page must leave memory and needs a flush of
//!   the log, the log's flusher does it. So a flush never depends on a thread of low priority.
//! - A thread of low priority starts no thread of the runtime, because that thread would inherit
//!   its priority. So it has no handle of the runtime. (The parallel workers of its plan shall
//!   inherit it.)
//!
//! A thread is started when there are more long plans than threads. It ends after a while without a
//! plan. For the alternatives, see docs/decisions/2026-11-26-long-statements-give-way.md.

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

/// A thread without a plan for this long ends.
const IDLE_MAX: Duration = Duration::from_secs(10);

type Job = Box<dyn FnOnce() + Send>;

/// Plans that no thread has taken, and the number of threads that wait for one.
struct Waiting {
    jobs: VecDeque<Job>,
    idle: usize,
}

static WAITING: Mutex<Waiting> = Mutex::new(Waiting { jobs: VecDeque::new(), idle: 0 });
static MORE: Condvar = Condvar::new();

thread_local! {
    static LOW_PRIORITY: Cell<bool> = const { Cell::new(false) };
}

/// Runs `work` on a thread of low priority, and waits for it. A panic continues in the caller.
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
    // SAFETY: the job borrows from this frame. `at_work` is dropped only after the job has run or
    // was dropped. Until the wait for that ends, nothing can panic or return.
    let job = unsafe { transmute::<Box<dyn FnOnce() + Send + '_>, Job>(job) };
    hand_in(job);
    // The channel carries no message: this is an error once the sender is dropped.
    let _ended = has_ended.recv();
    lent.give_back();
    match ended {
        Some(Ok(done)) => done,
        Some(Err(panic)) => resume_unwind(panic),
        None => resume_unwind(Box::new("a thread that gives way has panicked")),
    }
}

/// Gives the job to a thread. Runs it here if no thread can be started.
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

/// The body of a thread: runs plans until there has been none for a while.
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

/// A thread's state of the session that it works for.
struct Lent {
    /// Ends the statement on a cancel or timeout.
    interrupts: Option<Arc<dyn Interrupts>>,
    /// The kinds of I/O that it times.
    timing: Timing,
    /// The memory that the statement has.
    memory: memory::Count,
    /// The engine that its accesses to relations are counted for.
    engine: Option<Arc<RelationStatistics>>,
    /// The access counts that its transaction keeps separately.
    counted: Apart,
}

impl Lent {
    /// Takes the state from the running thread, which keeps its interrupts, too.
    fn take() -> Lent {
        Lent {
            interrupts: interrupt::current(),
            timing: timing(),
            memory: memory::Count::take(),
            engine: RelationStatistics::entered(),
            counted: Apart::take(),
        }
    }

    /// Runs `work` with this state on the running thread.
    fn during<T>(&mut self, work: impl FnOnce() -> T) -> T {
        let Lent { interrupts, timing, memory, engine, counted } = self;
        engine.iter().for_each(RelationStatistics::enter);
        time_io(Some(*timing));
        let done = memory.during(|| interrupt::during(interrupts, || counted.during(work)));
        time_io(None);
        done
    }

    /// Gives the state back to the running thread.
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
        // The count of this thread includes the allocations of the other, except for the little
        // that both keep.
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
