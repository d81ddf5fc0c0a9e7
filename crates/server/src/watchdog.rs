//! A worker whose session does not yield is replaced by a thread in reserve.
//!
//! Sessions hand their worker over when they check for interrupts ([`crate::workers`]). A call into
//! a library, or a loop without such a check, would still delay all other sessions of its worker.
//! So each worker's runtime has several threads. All but one are in the *reserve*: they sit in a
//! task that blocks. One thread, the watchdog, asks each runtime for an answer again and again. If
//! no answer comes and no message began meanwhile, it releases a thread from the reserve, which
//! takes the waiting sessions from the stuck thread. Later it tries to put a thread back. If that
//! stops the runtime, the first thread is still stuck, and the thread is released again.
//!
//! ```text
//!   runtime of a worker      thread 1   runs sessions        (stuck)
//!                            thread 2   held in reserve  ──► runs sessions
//!                            thread 3   held in reserve
//!   watchdog                 asks, waits `PATIENCE`, lets out
//! ```
//!
//! Sessions pay one store a message for this. A server without work is checked rarely.

use std::cell::OnceCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{JoinHandle, Thread};
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};
use tokio::runtime::Handle;

use crate::{memory, outbox};

/// Threads of a worker in reserve: at most this many sessions may be stuck at a time. Sessions that
/// check for interrupts do not count, as the runtime gives them other threads.
pub(crate) const RESERVE: usize = 3;

/// How often the watchdog asks a worker.
const TICK: Duration = Duration::from_millis(4);

/// A worker that has not answered for this long is stuck.
const PATIENCE: Duration = Duration::from_millis(7);

/// After a message, the watchdog asks often for this long.
const AWAKE: Duration = Duration::from_secs(1);

/// Otherwise it asks this often.
const NAP: Duration = Duration::from_millis(100);

/// How long a thread is out of the reserve before the watchdog tries to put it back: at first, and
/// at most after several tries. Each try may stop the worker's sessions for [`PATIENCE`].
const OUT_MIN: Duration = Duration::from_millis(100);
const OUT_MAX: Duration = Duration::from_secs(2);

/// A thread in reserve serves its own tasks at least this often.
const HOLD_MAX: Duration = Duration::from_secs(1);

/// The shortest time between two returns of memory after large statements.
const GIVE_BACK_EVERY: Duration = Duration::from_secs(10);

/// How often the watchdog checks whether the process has grown.
const LOOK_EVERY: Duration = Duration::from_secs(30);

thread_local! {
    /// The worker whose thread this is.
    static OWN: OnceCell<Arc<Pulse>> = const { OnceCell::new() };
}

/// The state that a worker's threads share with the watchdog.
pub(crate) struct Pulse {
    /// Counts messages begun. Two threads may count one message: only a change matters.
    messages: AtomicU64,
    /// The number of the last question answered.
    answered: AtomicU64,
    naps: Arc<Naps>,
    reserve: Reserve,
}

impl Pulse {
    /// The calling thread belongs to this worker.
    pub(crate) fn enter(self: &Arc<Pulse>) {
        OWN.with(|own| own.set(Arc::clone(self)).ok());
    }
}

/// The calling worker begins a message.
#[inline]
pub(crate) fn note_message() {
    OWN.with(|own| {
        if let Some(pulse) = own.get() {
            let messages = pulse.messages.load(Ordering::Relaxed);
            pulse.messages.store(messages.wrapping_add(1), Ordering::Relaxed);
            if pulse.naps.asleep.load(Ordering::Relaxed) {
                pulse.naps.end();
            }
        }
    });
}

/// Whether the watchdog asks rarely.
#[derive(Default)]
struct Naps {
    asleep: AtomicBool,
    watchdog: Mutex<Option<Thread>>,
}

impl Naps {
    #[cold]
    fn end(&self) {
        self.asleep.store(false, Ordering::Relaxed);
        if let Some(watchdog) = &*self.watchdog.lock() {
            watchdog.unpark();
        }
    }
}

/// The threads in reserve.
#[derive(Default)]
struct Reserve {
    held: Mutex<Held>,
    changed: Condvar,
}

#[derive(Default)]
struct Held {
    now: usize,
    wanted: usize,
}

impl Reserve {
    /// Keeps the calling thread as long as the reserve wants it, and at most for [`HOLD_MAX`].
    /// Returns whether the reserve still wants it.
    fn hold(&self) -> bool {
        // The answers of this thread's sessions must not wait with it.
        outbox::send_now();
        let until = Instant::now() + HOLD_MAX;
        let mut held = self.held.lock();
        if held.now >= held.wanted {
            return false;
        }
        held.now += 1;
        while held.now <= held.wanted {
            if self.changed.wait_until(&mut held, until).timed_out() {
                held.now -= 1;
                return true;
            }
        }
        held.now -= 1;
        false
    }

    /// Releases a thread. Returns false if none is left.
    fn let_out(&self) -> bool {
        let mut held = self.held.lock();
        let any = held.wanted > 0;
        held.wanted -= usize::from(any);
        self.changed.notify_all();
        any
    }

    fn all_out(&self) {
        self.held.lock().wanted = 0;
        self.changed.notify_all();
    }
}

/// The watchdog's state of a worker.
struct Watched {
    handle: Handle,
    pulse: Arc<Pulse>,
    /// The number of the last question, when it was asked, and the count of messages then.
    asked: u64,
    asked_at: Instant,
    asked_with: u64,
    /// When a thread was last released or put back.
    changed_at: Instant,
    /// How long a thread stays out.
    out: Duration,
}

impl Watched {
    fn new(handle: Handle, pulse: Arc<Pulse>) -> Watched {
        let now = Instant::now();
        let mut watched = Watched {
            handle,
            pulse,
            asked: 0,
            asked_at: now,
            asked_with: 0,
            changed_at: now,
            out: OUT_MIN,
        };
        (0..RESERVE).for_each(|_| watched.put_back());
        watched
    }

    fn put_back(&mut self) {
        self.pulse.reserve.held.lock().wanted += 1;
        let pulse = Arc::clone(&self.pulse);
        self.handle.spawn(async move {
            // A task that was woken last waits in a slot from which no other thread takes it, and
            // the runtime may run tasks from outside before it. After the yield, this task runs
            // behind it.
            tokio::task::yield_now().await;
            while pulse.reserve.hold() {
                tokio::task::yield_now().await;
            }
        });
        self.changed_at = Instant::now();
    }

    /// Checks the worker once. Returns whether all is well.
    fn look(&mut self) -> bool {
        let messages = self.pulse.messages.load(Ordering::Relaxed);
        let has_answered = self.pulse.answered.load(Ordering::Relaxed) == self.asked;
        if !has_answered && messages == self.asked_with {
            if self.asked_at.elapsed() >= PATIENCE && self.pulse.reserve.let_out() {
                // If a thread was put back just now, that was too early.
                let soon = self.changed_at.elapsed() < OUT_MIN;
                self.out = if soon { (self.out * 2).min(OUT_MAX) } else { OUT_MIN };
                self.changed_at = Instant::now();
                self.asked_at = Instant::now();
            }
            return false;
        }
        let is_full = self.pulse.reserve.held.lock().wanted == RESERVE;
        if !is_full && self.changed_at.elapsed() >= self.out {
            self.put_back();
        }
        if has_answered {
            self.ask();
        }
        self.asked_at = Instant::now();
        self.asked_with = messages;
        is_full
    }

    fn ask(&mut self) {
        self.asked += 1;
        let (pulse, asked) = (Arc::clone(&self.pulse), self.asked);
        self.handle.spawn(async move { pulse.answered.store(asked, Ordering::Relaxed) });
    }
}

/// The watchdog of all workers.
pub(crate) struct Watchdog {
    naps: Arc<Naps>,
    pulses: Vec<Arc<Pulse>>,
    stops: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Watchdog {
    /// A watchdog without workers.
    pub(crate) fn new() -> Watchdog {
        Watchdog { naps: Arc::default(), pulses: Vec::new(), stops: Arc::default(), thread: None }
    }

    /// The state for the threads of one more worker.
    pub(crate) fn pulse(&mut self) -> Arc<Pulse> {
        let pulse = Arc::new(Pulse {
            messages: AtomicU64::new(0),
            answered: AtomicU64::new(0),
            naps: Arc::clone(&self.naps),
            reserve: Reserve::default(),
        });
        self.pulses.push(Arc::clone(&pulse));
        pulse
    }

    /// Begins to watch. The runtimes' handles are in the order of their pulses.
    pub(crate) fn start<'a>(
        &mut self,
        handles: impl Iterator<Item = &'a Handle>,
    ) -> std::io::Result<()> {
        let pulses = self.pulses.iter().cloned();
        let watched =
            handles.zip(pulses).map(|(handle, pulse)| Watched::new(handle.clone(), pulse));
        let mut watched: Vec<Watched> = watched.collect();
        let (naps, stops) = (Arc::clone(&self.naps), Arc::clone(&self.stops));
        let watch = move || {
            let (mut awake_since, mut given_back) = (Instant::now(), Instant::now());
            let mut looked = given_back;
            // Later sizes are compared with the size at the start.
            memory::has_grown();
            while !stops.load(Ordering::Relaxed) {
                let mut all_well = true;
                // Each worker is checked, regardless of the others.
                watched.iter_mut().for_each(|one| all_well &= one.look());
                let sleepy = all_well && awake_since.elapsed() >= AWAKE;
                naps.asleep.store(sleepy, Ordering::Relaxed);
                std::thread::park_timeout(if sleepy { NAP } else { TICK });
                let is_to_look = looked.elapsed() >= LOOK_EVERY;
                looked = if is_to_look { Instant::now() } else { looked };
                let was_large = given_back.elapsed() >= GIVE_BACK_EVERY && memory::was_large();
                if was_large || is_to_look && memory::has_grown() {
                    given_back = Instant::now();
                    // It may take longer than sessions may wait for the watchdog.
                    let _started = std::thread::Builder::new().spawn(memory::give_back);
                }
                if sleepy && !naps.asleep.load(Ordering::Relaxed) {
                    awake_since = Instant::now();
                }
            }
        };
        let thread = std::thread::Builder::new().name("steppe-watchdog".into()).spawn(watch);
        let thread = thread.inspect_err(|_| self.let_all_go())?;
        *self.naps.watchdog.lock() = Some(thread.thread().clone());
        self.thread = Some(thread);
        Ok(())
    }
}

impl Watchdog {
    fn let_all_go(&self) {
        self.pulses.iter().for_each(|pulse| pulse.reserve.all_out());
    }
}

impl Drop for Watchdog {
    /// Stops, and releases all threads in reserve, which could not end otherwise.
    fn drop(&mut self) {
        self.stops.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            thread.thread().unpark();
            // It sleeps at most one nap, and never panics.
            let _ended = thread.join();
        }
        self.let_all_go();
    }
}
