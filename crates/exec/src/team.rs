//! The threads that run a part of a plan together (PostgreSQL's parallel.c and execParallel.c;
//! morsels: Leis et al., "Morsel-Driven Parallelism", 2014).
//!
//! ```text
//!   leader's thread:  Gather ── the part of the plan ──┐
//!   helper:                     the part of the plan ──┤ parts of the table that is scanned
//!   helper:                     the part of the plan ──┘ (ScanParts), until none is left
//! ```
//!
//! What all of them have in common is a [`Team`]: whether to go on, the parts of the tables that are
//! dealt out, and rows that they find together before they go on (`node::shared_rows`).
//! All else a helper has of its own: nodes, a context ([`ExecContext::for_helper`]), counters. It
//! has the statement's view and no transaction, so that it reads what the leader reads and can
//! change nothing.
//!
//! **A helper never outlives the node that has called it.** [`Helpers`] stops and joins its threads
//! when it is dropped, before the statement's snapshot can go: a view is valid no longer. A helper
//! looks whether to stop with each look for interrupts, and when it hands rows over, of which only
//! a few batches wait at a time.
//!
//! **A helper's error is the statement's**: all others stop, the leader within its next look for
//! interrupts, and whose error comes first is told. An interrupt that a helper meets has come for
//! the statement (and is told to one thread only): it goes the same way. A helper that panics is an
//! error, too: rows would be missing.
//!
//! Helpers are threads of their own, begun for the statement (some 50 µs, where a plan that wants
//! them takes milliseconds at least) and bounded by max_parallel_workers over all sessions. They
//! are never the threads that run the sessions' short statements, and give way to those
//! ([`SessionHost::begin_helping`]).

use crate::batch::{BATCH_ROWS, RowBatch};
use crate::context::{ExecContext, Instrument, Resources};
use crate::node::{BoxedNode, CPlan, SharedRows, SharedTable, start};
use crate::tuplestore::TupleStore;
use crate::vector::{COLUMN_ROWS, ColumnBatch};
use parking_lot::Mutex;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread::JoinHandle;
use std::time::Duration;
use steppe_functions::SessionHost;
use steppe_txn::{ScanParts, TableStore};
use steppe_types::interrupt::{self, Interrupts};
use steppe_types::{Error, Oid, Result};

/// Address space for deep expressions, as the sessions' threads have it.
const STACK_BYTES: usize = 64 << 20;

/// Batches of rows that wait for the leader, a helper.
const BATCHES_WAITING: usize = 2;

/// How often a leader that waits for rows looks for interrupts.
const LOOK_EVERY: Duration = Duration::from_millis(5);

/// The helpers at work for all sessions.
static AT_WORK: AtomicUsize = AtomicUsize::new(0);

/// What the threads have in common that run a part of a plan.
pub(crate) struct Team {
    /// How many they are.
    threads: usize,
    is_stopped: AtomicBool,
    /// Why, if it is an error of one of them.
    failed: Mutex<Option<Error>>,
    /// The parts of the tables that they scan, by the scans' numbers: one scan reads all leaves of
    /// a partitioned table.
    parts: Mutex<Numbered<(usize, Oid), ScanParts>>,
    /// The scans of the leaves of partitioned tables, by these tables' scans' numbers.
    leaves: Mutex<Numbered<usize, [Arc<CPlan>]>>,
    /// The rows that they find together, by the nodes' numbers.
    rows: Mutex<Numbered<usize, SharedRows>>,
    /// The tables that are made of those.
    tables: Mutex<Numbered<usize, SharedTable>>,
}

/// What the threads share, by numbers: there are few of each kind.
type Numbered<N, T> = Vec<(N, Arc<T>)>;

/// What is known by this number.
fn numbered<N: PartialEq, T: ?Sized>(all: &[(N, Arc<T>)], number: N) -> Option<Arc<T>> {
    all.iter().find(|(known, _)| *known == number).map(|(_, found)| Arc::clone(found))
}

impl Team {
    pub(crate) fn new(threads: usize) -> Team {
        let (parts, rows) = (Mutex::default(), Mutex::default());
        let (is_stopped, failed) = (AtomicBool::new(false), Mutex::default());
        let (leaves, tables) = (Mutex::default(), Mutex::default());
        Team { threads, is_stopped, failed, parts, leaves, rows, tables }
    }

    /// The parts of the table that a scan reads. The first thread that asks cuts it.
    pub(crate) fn parts(&self, scan: (usize, Oid), rows: &TableStore) -> Result<Arc<ScanParts>> {
        let mut parts = self.parts.lock();
        if let Some(parts) = numbered(&parts, scan) {
            return Ok(parts);
        }
        let cut = Arc::new(ScanParts::of(rows, self.threads)?);
        parts.push((scan, cut.clone()));
        Ok(cut)
    }

    /// Says which scans of leaves a scan of a partitioned table comes to: the leader has locked
    /// them.
    pub(crate) fn put_leaves(&self, scan: usize, leaves: Vec<Arc<CPlan>>) {
        self.leaves.lock().push((scan, leaves.into()));
    }

    /// The scans of leaves that a scan of a partitioned table comes to.
    pub(crate) fn leaves(&self, scan: usize) -> Result<Arc<[Arc<CPlan>]>> {
        let leaves = numbered(&self.leaves.lock(), scan);
        leaves.ok_or_else(|| Error::internal("leaves that several threads scan are not known"))
    }

    /// The rows that the threads find together at a node; `store`: for the first thread that asks.
    pub(crate) fn rows(&self, node: usize, store: impl FnOnce() -> TupleStore) -> Arc<SharedRows> {
        let mut rows = self.rows.lock();
        numbered(&rows, node).unwrap_or_else(|| {
            let new = Arc::new(SharedRows::new(store()));
            rows.push((node, new.clone()));
            new
        })
    }

    /// The hash table that is made of the rows that the threads find together at a node.
    pub(crate) fn table(&self, node: usize) -> Arc<SharedTable> {
        let mut tables = self.tables.lock();
        numbered(&tables, node).unwrap_or_else(|| {
            let new = Arc::new(SharedTable::default());
            tables.push((node, new.clone()));
            new
        })
    }

    /// An error if they are to stop: that of the first one that has failed.
    #[inline]
    pub(crate) fn check(&self) -> Result<()> {
        match self.is_stopped.load(Ordering::Acquire) {
            true => Err(self.why()),
            false => Ok(()),
        }
    }

    #[cold]
    fn why(&self) -> Error {
        // Nobody is told the latter: the statement has ended already.
        let stopped = || Error::internal("parallel workers are stopped");
        self.failed.lock().clone().unwrap_or_else(stopped)
    }

    /// One of them has failed: the others stop.
    fn fail(&self, error: Error) {
        if !self.is_stopped.load(Ordering::Acquire) {
            self.failed.lock().get_or_insert(error);
        }
        self.stop();
    }

    fn stop(&self) {
        self.is_stopped.store(true, Ordering::Release);
    }
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

/// How the rows of several threads come.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum RowsCome {
    /// The leader takes the rows of any thread that has some.
    Together,
    /// Those of each by themselves: they are in order.
    Apart,
}

/// Rows as threads hand them over: as rows, or as columns.
pub(crate) trait HandedOver: Send + Sized + 'static {
    /// No rows of a plan.
    fn none(plan: &CPlan) -> Self;

    fn is_empty(&self) -> bool;

    /// Fills the empty batch with a node's next rows; leaves it empty at the end.
    fn fill(&mut self, node: &mut BoxedNode, cx: &mut ExecContext) -> Result<()>;
}

impl HandedOver for RowBatch {
    fn none(plan: &CPlan) -> RowBatch {
        RowBatch::new(plan.width)
    }

    fn is_empty(&self) -> bool {
        RowBatch::is_empty(self)
    }

    fn fill(&mut self, node: &mut BoxedNode, cx: &mut ExecContext) -> Result<()> {
        self.wanted = BATCH_ROWS;
        node.next(cx, self)
    }
}

impl HandedOver for ColumnBatch {
    fn none(plan: &CPlan) -> ColumnBatch {
        ColumnBatch::new(plan.width)
    }

    fn is_empty(&self) -> bool {
        ColumnBatch::is_empty(self)
    }

    fn fill(&mut self, node: &mut BoxedNode, cx: &mut ExecContext) -> Result<()> {
        self.wanted = COLUMN_ROWS;
        node.next_columns(cx, self)
    }
}

/// The threads that run a part of a plan for a statement.
pub(crate) struct Helpers<B> {
    team: Arc<Team>,
    /// Their rows, of all together or of each: none once nobody takes rows any more.
    batches: Vec<Receiver<B>>,
    threads: Vec<JoinHandle<Done>>,
}

impl<B: HandedOver> Helpers<B> {
    /// Has as many threads as may be, at most `wanted`, run the plan. Their rows come together, or
    /// apart for each of them.
    pub(crate) fn call(
        plan: &Arc<CPlan>,
        (wanted, most): (usize, usize),
        come: RowsCome,
        team: &Arc<Team>,
        cx: &ExecContext,
    ) -> Result<Helpers<B>> {
        let (mut sender, receiver) = sync_channel(BATCHES_WAITING * wanted.max(1));
        let mut helpers = Helpers { team: team.clone(), batches: Vec::new(), threads: Vec::new() };
        let mut batches = vec![receiver];
        for _ in 0..wanted {
            let Some(permit) = Permit::take(most) else { break };
            if come == RowsCome::Apart && !helpers.threads.is_empty() {
                let own = sync_channel(BATCHES_WAITING);
                sender = own.0;
                batches.push(own.1);
            }
            let helper = Helper {
                team: team.clone(),
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
        helpers.batches = batches;
        Ok(helpers)
    }

    /// How many they are.
    pub(crate) fn len(&self) -> usize {
        self.threads.len()
    }

    /// Rows that a helper has handed over, if there are any yet.
    pub(crate) fn try_next(&self) -> Option<B> {
        self.batches.first().and_then(|batches| batches.try_recv().ok())
    }

    /// The next rows of any helper, or of this one if they come apart; `None` at the end.
    pub(crate) fn next(&self, of: usize, cx: &ExecContext) -> Result<Option<B>> {
        let Some(batches) = self.batches.get(of) else { return Ok(None) };
        loop {
            match batches.recv_timeout(LOOK_EVERY) {
                Ok(batch) => return Ok(Some(batch)),
                Err(RecvTimeoutError::Timeout) => cx.check_interrupts()?,
                Err(RecvTimeoutError::Disconnected) => {
                    // A helper that has failed has no more rows either.
                    return self.team.check().map(|()| None);
                }
            }
        }
    }

    /// Waits for the threads' ends, and counts what they have done as the leader's.
    pub(crate) fn finish(&mut self, cx: &mut ExecContext) -> Result<()> {
        self.batches.clear();
        while let Some(thread) = self.threads.pop() {
            let done = thread.join().map_err(|_| Error::internal("a parallel worker panicked"))?;
            cx.helped.add(done.used);
            let (own, other) = (cx.instruments.iter_mut().flatten(), done.instruments);
            own.zip(other.into_iter().flatten()).for_each(|(own, other)| own.add(other));
        }
        Ok(())
    }
}

impl<B> Drop for Helpers<B> {
    fn drop(&mut self) {
        self.team.stop();
        // A helper that wants to hand rows over learns that nobody takes them.
        self.batches.clear();
        for thread in self.threads.drain(..) {
            // What became of it nobody wants to know any more.
            let _ended = thread.join();
        }
    }
}

/// What a helper's thread begins with.
struct Helper<B> {
    team: Arc<Team>,
    plan: Arc<CPlan>,
    cx: ExecContext,
    batches: SyncSender<B>,
    statement: Option<Arc<dyn Interrupts>>,
    times_io: bool,
}

impl<B: HandedOver> Helper<B> {
    fn work(self) -> Done {
        let Helper { team, plan, mut cx, batches, statement, times_io } = self;
        let session: Arc<dyn SessionHost> = cx.functions.session.clone();
        session.begin_helping();
        steppe_storage::usage::time_io(Some(steppe_storage::usage::Timing {
            pages: times_io,
            log: false,
        }));
        let before = Resources::now();
        let of_helper = HelpersInterrupts { team: team.clone(), statement };
        let interrupts: Option<Arc<dyn Interrupts>> = Some(Arc::new(of_helper));
        let worked = interrupt::during(&mut { interrupts }, || {
            interrupt::catching(|| hand_over(&plan, &mut cx, &batches))
        });
        session.end_helping();
        if let Err(error) = worked {
            team.fail(error);
        }
        Done { instruments: cx.instruments.take(), used: Resources::now().since(before) }
    }
}

/// Runs the plan until it ends or nobody takes its rows.
fn hand_over<B: HandedOver>(
    plan: &Arc<CPlan>,
    cx: &mut ExecContext,
    batches: &SyncSender<B>,
) -> Result<()> {
    let mut node = start(plan, cx);
    loop {
        let mut batch = B::none(plan);
        let filled = batch.fill(&mut node, cx);
        let is_end = batch.is_empty();
        if !is_end && batches.send(batch).is_err() {
            return Ok(());
        }
        filled?;
        if is_end {
            return Ok(());
        }
    }
}
