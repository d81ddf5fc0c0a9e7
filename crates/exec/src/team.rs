//! The threads that run a part of a plan together (PostgreSQL's parallel.c and execParallel.c;
//! morsels: Leis et al., "Morsel-Driven Parallelism", 2014).
//!
//! ```text
//!   leader's thread:  Gather ── the part of the plan ──┐
//!   helper:                     the part of the plan ──┤ parts of the table that is scanned
//!   helper:                     the part of the plan ──┘ (ScanParts), until none is left
//! ```
//!
//! What all of them have in common is a [`Team`]: whether to go on, and the parts of the table.
//! All else a helper has of its own: nodes, a context ([`ExecContext::for_helper`]), counters. It
//! has the statement's view and no transaction, so that it reads what the leader reads and can
//! change nothing.
//!
//! **A helper never outlives the node that has called it.** [`Helpers`] stops and joins its threads
//! when it is dropped, before the statement's snapshot can go: a view is valid no longer. A helper
//! looks whether to stop with each part of the table, with each look for interrupts, and when it
//! hands rows over, of which only a few batches wait at a time.
//!
//! **A helper's error is the statement's**: it goes the way of the rows, and whose comes first is
//! told. An interrupt that a helper meets has come for the statement, and goes the same way. A
//! helper that panics is an error, too: rows would be missing.
//!
//! Helpers are threads of their own, begun for the statement (some 50 µs, where a plan that wants
//! them takes milliseconds at least) and bounded by max_parallel_workers over all sessions. They
//! are never the threads that run the sessions' short statements, and give way to those
//! ([`SessionServices::begin_helping`]).

use crate::batch::RowBatch;
use crate::context::{ExecContext, Instrument, Resources};
use crate::env::SessionServices;
use crate::node::{CPlan, start};
use parking_lot::Mutex;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread::JoinHandle;
use std::time::Duration;
use steppe_txn::{ScanParts, TableStore};
use steppe_types::interrupt::{self, Interrupts};
use steppe_types::{Error, Result, SqlState};

/// Address space for deep expressions, as the sessions' threads have it.
const STACK_BYTES: usize = 64 << 20;

/// Batches of rows that wait for the leader, a helper.
const BATCHES_WAITING: usize = 2;

/// How often a leader that waits for rows looks for interrupts.
const LOOK_EVERY: Duration = Duration::from_millis(5);

/// The helpers at work for all sessions.
static AT_WORK: AtomicUsize = AtomicUsize::new(0);

/// What the threads have in common that run a part of a plan.
#[derive(Debug)]
pub(crate) struct Team {
    /// How many they are.
    threads: usize,
    is_stopped: AtomicBool,
    parts: Mutex<Option<Arc<ScanParts>>>,
}

impl Team {
    pub(crate) fn new(threads: usize) -> Team {
        Team { threads, is_stopped: AtomicBool::new(false), parts: Mutex::new(None) }
    }

    /// The parts of the table that they scan. Whoever comes first cuts it.
    pub(crate) fn parts(&self, rows: &TableStore) -> Result<Arc<ScanParts>> {
        let mut parts = self.parts.lock();
        if let Some(parts) = &*parts {
            return Ok(parts.clone());
        }
        let cut = Arc::new(ScanParts::of(rows, self.threads)?);
        *parts = Some(cut.clone());
        Ok(cut)
    }

    /// 57014 if they are to stop.
    #[inline]
    pub(crate) fn check(&self) -> Result<()> {
        match self.is_stopped.load(Ordering::Relaxed) {
            true => Err(stopped()),
            false => Ok(()),
        }
    }

    fn stop(&self) {
        self.is_stopped.store(true, Ordering::Relaxed);
        if let Some(parts) = &*self.parts.lock() {
            parts.stop();
        }
    }
}

/// Nobody is told of it.
#[cold]
fn stopped() -> Error {
    Error::new(SqlState::QUERY_CANCELED, "canceling statement due to user request")
}

/// What ends the long computations of a helper.
struct HelpersInterrupts {
    team: Arc<Team>,
    /// Those of the leader's thread.
    statement: Option<Arc<dyn Interrupts>>,
}

impl Interrupts for HelpersInterrupts {
    fn check(&self) -> Result<()> {
        self.team.check()?;
        self.statement.as_ref().map_or(Ok(()), |statement| statement.check())
    }

    fn reserve(&self, bytes: usize) -> Result<()> {
        self.statement.as_ref().map_or(Ok(()), |statement| statement.reserve(bytes))
    }
}

/// One of the helpers that there may be at a time.
struct Permit;

impl Permit {
    fn take(most: usize) -> Option<Permit> {
        let one_more = |now: usize| (now < most).then_some(now + 1);
        AT_WORK.fetch_update(Ordering::Relaxed, Ordering::Relaxed, one_more).ok().map(|_| Permit)
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        AT_WORK.fetch_sub(1, Ordering::Relaxed);
    }
}

/// What a helper has done.
struct Done {
    instruments: Option<Vec<Instrument>>,
    used: Resources,
}

/// The threads that run a part of a plan for a statement.
pub(crate) struct Helpers {
    team: Arc<Team>,
    /// `None` once nobody takes rows any more.
    batches: Option<Receiver<Result<RowBatch>>>,
    threads: Vec<JoinHandle<Done>>,
}

impl Helpers {
    /// Has as many threads as may be, at most `wanted`, run the plan.
    pub(crate) fn call(
        plan: &Arc<CPlan>,
        (wanted, most): (usize, usize),
        team: &Arc<Team>,
        cx: &ExecContext,
    ) -> Result<Helpers> {
        let (sender, receiver) = sync_channel(BATCHES_WAITING * wanted.max(1));
        let mut helpers =
            Helpers { team: team.clone(), batches: Some(receiver), threads: Vec::new() };
        for _ in 0..wanted {
            let Some(permit) = Permit::take(most) else { break };
            let helper = Helper {
                plan: plan.clone(),
                cx: cx.for_helper(team.clone())?,
                batches: sender.clone(),
                statement: interrupt::current(),
                times_io: steppe_storage::usage::times_pages(),
            };
            let thread = std::thread::Builder::new().name("steppe-parallel".to_owned());
            let work = move || {
                let _permit = permit;
                helper.work()
            };
            // A system that has no thread for it leaves more to the others.
            let Ok(thread) = thread.stack_size(STACK_BYTES).spawn(work) else { break };
            helpers.threads.push(thread);
        }
        Ok(helpers)
    }

    /// How many they are.
    pub(crate) fn len(&self) -> usize {
        self.threads.len()
    }

    /// Rows that a helper has handed over, if there are any yet.
    pub(crate) fn try_next(&self) -> Result<Option<RowBatch>> {
        match self.batches.as_ref().map(Receiver::try_recv) {
            Some(Ok(batch)) => batch.map(Some),
            _ => Ok(None),
        }
    }

    /// The next rows of any helper; `None` once all of them have ended.
    pub(crate) fn next(&self, cx: &ExecContext) -> Result<Option<RowBatch>> {
        let Some(batches) = &self.batches else { return Ok(None) };
        loop {
            match batches.recv_timeout(LOOK_EVERY) {
                Ok(batch) => return batch.map(Some),
                Err(RecvTimeoutError::Timeout) => cx.check_interrupts()?,
                Err(RecvTimeoutError::Disconnected) => return Ok(None),
            }
        }
    }

    /// Waits for the threads' ends, and counts what they have done as the leader's.
    pub(crate) fn finish(&mut self, cx: &mut ExecContext) -> Result<()> {
        self.batches = None;
        for thread in self.threads.drain(..) {
            let done = thread.join().map_err(|_| Error::internal("a parallel worker panicked"))?;
            cx.helped.add(done.used);
            let (own, other) = (cx.instruments.iter_mut().flatten(), done.instruments);
            own.zip(other.into_iter().flatten()).for_each(|(own, other)| own.add(other));
        }
        Ok(())
    }
}

impl Drop for Helpers {
    fn drop(&mut self) {
        self.team.stop();
        // Whoever wants to hand rows over learns that nobody takes them.
        self.batches = None;
        for thread in self.threads.drain(..) {
            // What became of it nobody wants to know any more.
            let _ended = thread.join();
        }
    }
}

/// What a helper's thread begins with.
struct Helper {
    plan: Arc<CPlan>,
    cx: ExecContext,
    batches: SyncSender<Result<RowBatch>>,
    statement: Option<Arc<dyn Interrupts>>,
    times_io: bool,
}

impl Helper {
    fn work(self) -> Done {
        let Helper { plan, mut cx, batches, statement, times_io } = self;
        let services: Arc<dyn SessionServices> = cx.functions.services.clone();
        services.begin_helping();
        steppe_storage::usage::time_io(Some(steppe_storage::usage::Timing {
            pages: times_io,
            log: false,
        }));
        let before = Resources::now();
        let team = cx.team().cloned();
        let interrupts =
            team.map(|team| Arc::new(HelpersInterrupts { team, statement }) as Arc<dyn Interrupts>);
        let worked = interrupt::during(&mut { interrupts }, || {
            interrupt::catching(|| hand_over(&plan, &mut cx, &batches))
        });
        if let Err(error) = worked {
            // If nobody takes it, the statement has ended already.
            let _taken = batches.send(Err(error));
        }
        Done { instruments: cx.instruments.take(), used: Resources::now().since(before) }
    }
}

/// Runs the plan until it ends or nobody takes its rows.
fn hand_over(
    plan: &Arc<CPlan>,
    cx: &mut ExecContext,
    batches: &SyncSender<Result<RowBatch>>,
) -> Result<()> {
    let mut node = start(plan, cx);
    loop {
        let mut batch = RowBatch::new(plan.width);
        let filled = node.next(cx, &mut batch);
        let is_end = batch.is_empty();
        if !is_end && batches.send(Ok(batch)).is_err() {
            return Ok(());
        }
        filled?;
        if is_end {
            return Ok(());
        }
    }
}
