//! The threads that run sessions.
//!
//! Each worker is a runtime of its own with one thread at work, to which sessions are dealt
//! (and where they mostly stay, see [`crate::affinity`]): a message is read, its statement
//! run and its answer written without a wake-up between threads, which measures faster
//! than one work-stealing runtime. A statement that may take long, or waits in place, hands its thread's
//! other sessions over first ([`tokio::task::block_in_place`]), and one that turns out
//! to take long does so when it looks for interrupts ([`unblock_if_long`]), so that it
//! holds up nobody. For those that do not look there is [`crate::watchdog`].

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

/// Address space for the deepest expressions that pass the parser's limit; pages
/// are taken only as they are touched.
pub(crate) const STACK_BYTES: usize = 64 << 20;

/// How long a session lets others go first.
const YIELD_MAX: Duration = Duration::from_millis(1);

/// A worker whose last messages, this many, were one session's works for that one alone.
const ALONE_AFTER: u32 = 16;

/// How long a sync a worker does itself when its sessions may have work meanwhile: about what
/// waking the flusher and being woken by it costs.
const SYNC_BESIDE_OTHERS_MAX: Duration = Duration::from_micros(60);

/// And when only one session has had work lately, which waits for the sync in any case. Another
/// may come back meanwhile, so it must not be long.
const SYNC_ALONE_MAX: Duration = Duration::from_micros(200);

/// The answers of a worker's other sessions do not wait for one that has worked for longer.
const SHORT_MAX: Duration = Duration::from_micros(50);

/// A session that has worked for so long without a pause hands its worker's others over: many
/// times what that costs.
const HOLD_MAX: Duration = Duration::from_millis(2);

/// It does so again after twice that time, four times, and so on up to this.
const HOLD_AGAIN_MAX: Duration = Duration::from_millis(50);

/// What is read in line with other sessions' messages.
const TEXT_BYTES_MAX: usize = 16 * 1024;

/// How long a thread has been at what is in hand.
#[derive(Clone, Copy)]
struct Busy {
    /// Which message, by `WORK`.
    work: u64,
    /// When it was first asked about, or has handed the worker over last.
    since: Instant,
    /// When it hands the worker over (again).
    limit: Duration,
}

thread_local! {
    /// Messages handled by this thread's sessions.
    static WORK: Cell<u64> = const { Cell::new(0) };
    /// Whose message was the last one, and how many before it were the same session's.
    static STREAK: Cell<(i32, u32)> = const { Cell::new((0, 0)) };
    static BUSY: Cell<Option<Busy>> = const { Cell::new(None) };
}

/// Lets another thread go on with this one's other sessions, until the session in hand waits for
/// something; it is the other thread's from then on, too.
pub(crate) fn unblock() {
    let Ok(runtime) = Handle::try_current() else { return };
    // The runtime gives a worker back to one that is done while no other thread has it: so we are
    // done when something has run there. (It may happen even then, if that thread hands it over
    // just now: a session that goes on for long does this again.)
    let (taken, was_taken) = mpsc::channel();
    runtime.spawn(async move { taken.send(()) });
    // It fails where the runtime ends, which is as good.
    let _ = tokio::task::block_in_place(|| was_taken.recv());
}

/// The same before a text that takes long to read.
pub(crate) fn unblock_if_large(text: &str) {
    if text.len() > TEXT_BYTES_MAX {
        unblock();
    }
}

/// The same, if the session has worked on its message for a while: again and again, since the
/// runtime may give the worker back.
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

/// Says that a session of this thread handles a message.
#[inline]
pub(crate) fn note_work(session: i32) {
    WORK.set(WORK.get().wrapping_add(1));
    watchdog::note_message();
    let (last, streak) = STREAK.get();
    STREAK.set((session, if last == session { streak.saturating_add(1) } else { 0 }));
}

/// How long a sync is to be done by this worker itself; a longer one is the flusher's.
pub(crate) fn longest_sync() -> Duration {
    let alone = STREAK.get().1 >= ALONE_AFTER;
    if alone { SYNC_ALONE_MAX } else { SYNC_BESIDE_OTHERS_MAX }
}

/// Lets the worker's other sessions go first, as long as any of them has something to do and
/// `is_done` is false: what they commit meanwhile shares the flush that the caller wants, and a
/// worker that would be idle loses nothing by doing it.
pub(crate) async fn yield_to_others(is_done: impl Fn() -> bool) {
    let started = Instant::now();
    let mut seen = WORK.get();
    loop {
        // Their clients' next messages are to come in the next pass.
        outbox::send_now();
        // Comes back when every session that was ready, or has got a message, has run.
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
    /// Goes first: a runtime ends when all its threads do, also those in reserve.
    watchdog: Watchdog,
    runtimes: Vec<Runtime>,
    affinity: Arc<Seats>,
}

impl Workers {
    /// One worker a core. `max_connections`: all sessions may wait in place at once.
    /// They count for `counted`.
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

    /// Gives a session to a worker; `cpu` is where its client's packets come in.
    pub(crate) fn deal<F>(&self, cpu: Option<usize>, session: impl FnOnce(SessionAffinity) -> F)
    where
        F: Future<Output = Option<Migration>> + Send + 'static,
    {
        let place = self.affinity.take(self.affinity.for_new(cpu));
        let home = SessionAffinity::new(&place);
        self.affinity.run(place, session(home));
    }

    /// Stops without waiting for sessions: they have ended, or are not to be waited for.
    pub(crate) fn stop(self) {
        drop(self.watchdog);
        for runtime in self.runtimes {
            runtime.shutdown_background();
        }
    }
}
