//! The threads that run sessions.
//!
//! Each worker is a runtime with one thread at work. Sessions are dealt to workers, and mostly stay
//! (see [`crate::affinity`]). The thread reads a message, runs its statement and writes its answer
//! without a wake-up of another thread. This measures faster than one work-stealing runtime. A
//! statement that may take long, or waits in place, first hands over its thread's other sessions
//! ([`tokio::task::block_in_place`]). A statement that turns out to take long does so when it
//! checks for interrupts ([`unblock_if_long`]). [`crate::watchdog`] handles statements that do not
//! check.

use std::cell::Cell;
use std::future::Future;
use std::sync::atomic::AtomicUsize;
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};

use steppe_counting::RelationStatistics;
use tokio::runtime::{Builder, Handle, Runtime};

use crate::affinity::{Migration, Seats, SessionAffinity};
use crate::outbox::{self, Outbox};
use crate::watchdog::{self, Watchdog};

/// Address space for the deepest expressions that the parser's limit allows. Pages are allocated
/// only when they are touched.
pub(crate) const STACK_BYTES: usize = 64 << 20;

/// How long a session lets other sessions run first.
const YIELD_MAX: Duration = Duration::from_millis(1);

/// A worker works for one session alone if its last messages, this many, were that session's.
const ALONE_AFTER: u32 = 16;

/// The longest sync that a worker does itself when its other sessions may have work meanwhile:
/// about the cost of waking the flusher and being woken by it.
const SYNC_BESIDE_OTHERS_MAX: Duration = Duration::from_micros(60);

/// The same when only one session has had work lately, which waits for the sync in any case.
/// Another session may get a message meanwhile, so it must not be long.
const SYNC_ALONE_MAX: Duration = Duration::from_micros(200);

/// When a session has worked for longer, the answers of its worker's other sessions are sent.
const SHORT_MAX: Duration = Duration::from_micros(50);

/// A session that has worked this long without a pause hands over its worker's other sessions. It
/// is many times the cost of that.
const HOLD_MAX: Duration = Duration::from_millis(2);

/// It does so again after twice that time, four times, and so on up to this.
const HOLD_AGAIN_MAX: Duration = Duration::from_millis(50);

/// A longer text is read after a hand-over.
const TEXT_BYTES_MAX: usize = 16 * 1024;

/// How long a thread has worked on the current message.
#[derive(Clone, Copy)]
struct Busy {
    /// The message, by its number in `WORK`.
    work: u64,
    /// When the message was first checked, or has last handed the worker over.
    since: Instant,
    /// After this time the thread hands the worker over (again).
    limit: Duration,
}

thread_local! {
    /// Messages handled by this thread's sessions.
    static WORK: Cell<u64> = const { Cell::new(0) };
    /// The session of the last message, and the number of messages before it of the same session.
    static STREAK: Cell<(i32, u32)> = const { Cell::new((0, 0)) };
    static BUSY: Cell<Option<Busy>> = const { Cell::new(None) };
}

/// Another thread continues with this one's other sessions until the current session waits. The
/// session itself belongs to the other thread from then on, too.
pub(crate) fn unblock() {
    let Ok(runtime) = Handle::try_current() else { return };
    // The runtime takes the worker back from a short blocking call while no other thread has it. So
    // this waits until a task has run on the other thread. (That thread may hand the worker over at
    // that moment. A session that works for long calls this again.)
    let (taken, was_taken) = mpsc::channel();
    runtime.spawn(async move { taken.send(()) });
    // It fails if the runtime ends, where it has no effect.
    let _ = tokio::task::block_in_place(|| was_taken.recv());
}

/// Hands over before a text that takes long to read.
pub(crate) fn unblock_if_large(text: &str) {
    if text.len() > TEXT_BYTES_MAX {
        unblock();
    }
}

/// Hands over if the session has worked on its message for a while. It does so repeatedly, since
/// the runtime may give the worker back.
pub(crate) fn unblock_if_long() {
    let work = WORK.get();
    let busy = match BUSY.get() {
        Some(busy) if busy.work == work => {
            let elapsed = busy.since.elapsed();
            if elapsed > SHORT_MAX {
                outbox::send_now();
            }
            if elapsed <= busy.limit {
                return;
            }
            unblock();
            Busy { limit: (busy.limit * 2).min(HOLD_AGAIN_MAX), since: Instant::now(), work }
        }
        _ => Busy { limit: HOLD_MAX, since: Instant::now(), work },
    };
    BUSY.set(Some(busy));
}

/// Counts a message of a session of this thread.
#[inline]
pub(crate) fn note_work(session: i32) {
    WORK.set(WORK.get().wrapping_add(1));
    watchdog::note_message();
    let (last, streak) = STREAK.get();
    STREAK.set((session, if last == session { streak.saturating_add(1) } else { 0 }));
}

/// The longest sync that this worker does itself. The flusher does a longer one.
pub(crate) fn longest_sync() -> Duration {
    let alone = STREAK.get().1 >= ALONE_AFTER;
    if alone { SYNC_ALONE_MAX } else { SYNC_BESIDE_OTHERS_MAX }
}

/// Lets the worker's other sessions run first, while any of them has work and `is_done` is false.
/// Their commits then share the flush that the caller waits for. The worker would be idle
/// otherwise.
pub(crate) async fn yield_to_others(is_done: impl Fn() -> bool) {
    let started = Instant::now();
    let mut seen = WORK.get();
    loop {
        // Sends their answers, so that their clients' next messages arrive in the next pass.
        outbox::send_now();
        // Returns when every session that was ready or has got a message has run.
        tokio::task::yield_now().await;
        let now = WORK.get();
        if now == seen || is_done() || started.elapsed() > YIELD_MAX {
            return;
        }
        seen = now;
    }
}

/// The workers.
pub(crate) struct Workers {
    /// It is dropped first: a runtime ends when all its threads do, including the reserve.
    watchdog: Watchdog,
    runtimes: Vec<Runtime>,
    affinity: Arc<Seats>,
}

impl Workers {
    /// Starts one worker a core. `max_connections` is the number of sessions that may wait in place
    /// at once. The workers' accesses count for `counted`.
    pub(crate) fn start(
        max_connections: usize,
        counted: &Arc<RelationStatistics>,
    ) -> std::io::Result<Workers> {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let mut watchdog = Watchdog::new();
        let make = |_| {
            let mut builder = Builder::new_multi_thread();
            let (outbox, pulse) = (Outbox::new(), watchdog.pulse());
            if let Some(outbox) = outbox.clone() {
                builder.on_thread_park(move || outbox.empty_before_sleep());
            }
            let counted = Arc::clone(counted);
            builder.on_thread_start(move || {
                counted.enter();
                pulse.enter();
                outbox.iter().for_each(|outbox| outbox.enter());
            });
            builder
                .worker_threads(1 + watchdog::RESERVE)
                .max_blocking_threads(max_connections + 16)
                .thread_name("steppe-worker")
                .thread_stack_size(STACK_BYTES)
                .enable_all()
                .build()
        };
        let runtimes = (0..cores).map(make).collect::<std::io::Result<Vec<_>>>()?;
        watchdog.start(runtimes.iter().map(Runtime::handle))?;
        let worker = |runtime: &Runtime| (runtime.handle().clone(), AtomicUsize::default());
        let affinity = Arc::new(Seats(runtimes.iter().map(worker).collect()));
        Ok(Workers { watchdog, runtimes, affinity })
    }

    /// Gives a session to a worker. `cpu` is the processor where its client's packets arrive.
    pub(crate) fn deal<F>(&self, cpu: Option<usize>, session: impl FnOnce(SessionAffinity) -> F)
    where
        F: Future<Output = Option<Migration>> + Send + 'static,
    {
        let place = self.affinity.take(self.affinity.for_new(cpu));
        let home = SessionAffinity::new(&place);
        self.affinity.run(place, session(home));
    }

    /// Stops without waiting for sessions: they have ended, or need not be waited for.
    pub(crate) fn stop(self) {
        drop(self.watchdog);
        for runtime in self.runtimes {
            runtime.shutdown_background();
        }
    }
}
