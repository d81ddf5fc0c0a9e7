//! The threads that run a part of a plan together (PostgreSQL's parallel.c and execParallel.c).
//! They take morsels (Leis et al., "Morsel-Driven Parallelism", 2014).
//!
//! ```text
//!   leader's thread:  Gather ── the part of the plan ──┐
//!   helper:                     the part of the plan ──┤ parts of the table that is scanned
//!   helper:                     the part of the plan ──┘ (ScanParts), until none is left
//! ```
//!
//! The threads share a [`Team`]: the signal to stop, the parts of the tables that they scan, and
//! rows that they find together before they go on (`node::shared_rows`). A helper has its own
//! nodes, context ([`ExecContext::for_helper`]) and counters. It has the statement's view and no
//! transaction, so it reads the same rows as the leader and can change nothing.
//!
//! **A helper never outlives the node that started it.** [`Helpers`] stops and joins its threads
//! when it is dropped. This happens before the statement's snapshot is released, while the view is
//! still valid. A helper checks for a stop with each check for interrupts, and when it hands rows
//! over. Only a few batches wait at a time.
//!
//! **A helper's error is the statement's error.** All other threads then stop, the leader at its
//! next check for interrupts. The first error is reported. An interrupt that a helper receives is
//! meant for the statement, and only one thread receives it, so it is handled like an error. A
//! panic of a helper is an error, too: rows would be missing.
//!
//! Helpers are threads of their own. Starting one takes some 50 µs; a plan that wants helpers takes
//! milliseconds at least. max_parallel_workers limits them over all sessions. They never run the
//! sessions' short statements, and give way to the threads that do
//! ([`SessionHost::begin_helping`]).

use crate::batch::{BATCH_ROWS, RowBatch};
use crate::context::{ExecContext, Instrument, Resources};
use crate::node::{BoxedNode, CPlan, SharedRows, SharedTable, start};
use crate::tuplestore::TupleStore;
use crate::vector::{COLUMN_ROWS, ColumnBatch};
use hashbrown::HashMap;
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

/// Batches of rows of one helper that wait for the leader.
const BATCHES_WAITING: usize = 2;

/// The interval at which a leader that waits for rows checks for interrupts.
const LOOK_EVERY: Duration = Duration::from_millis(5);

/// The helpers at work for all sessions.
static AT_WORK: AtomicUsize = AtomicUsize::new(0);

/// The state shared by the threads that run a part of a plan.
pub(crate) struct Team {
    /// The number of threads.
    threads: usize,
    is_stopped: AtomicBool,
    /// The reason, if it is an error of one of the threads.
    failed: Mutex<Option<Error>>,
    /// The parts of the tables that they scan, by the scans' numbers: one scan reads all leaves of
    /// a partitioned table, of which there may be thousands.
    parts: Mutex<HashMap<(usize, Oid), Arc<ScanParts>>>,
    /// The scans of the leaves of partitioned tables, by these tables' scans' numbers.
    leaves: Mutex<Numbered<usize, [Arc<CPlan>]>>,
    /// The rows that the threads find together, by the nodes' numbers.
    rows: Mutex<Numbered<usize, SharedRows>>,
    /// The hash tables that are made of those rows.
    tables: Mutex<Numbered<usize, SharedTable>>,
}

/// Shared objects by number. There are few of each kind.
type Numbered<N, T> = Vec<(N, Arc<T>)>;

/// The object with this number.
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

    /// The parts of the table that a scan reads. The first thread that calls this cuts the table.
    pub(crate) fn parts(&self, scan: (usize, Oid), rows: &TableStore) -> Result<Arc<ScanParts>> {
        let mut parts = self.parts.lock();
        if let Some(parts) = parts.get(&scan) {
            return Ok(Arc::clone(parts));
        }
        let cut = Arc::new(ScanParts::of(rows, self.threads)?);
        parts.insert(scan, Arc::clone(&cut));
        Ok(cut)
    }

    /// Records the leaf scans of a scan of a partitioned table. The leader has locked the leaves.
    pub(crate) fn put_leaves(&self, scan: usize, leaves: Vec<Arc<CPlan>>) {
        self.leaves.lock().push((scan, leaves.into()));
    }

    /// The leaf scans of a scan of a partitioned table.
    pub(crate) fn leaves(&self, scan: usize) -> Result<Arc<[Arc<CPlan>]>> {
        let leaves = numbered(&self.leaves.lock(), scan);
        leaves.ok_or_else(|| Error::internal("leaves that several threads scan are not known"))
    }

    /// The rows that the threads find together at a node. The first caller makes the `store`.
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

    /// An error if the threads are to stop: the error of the first one that failed.
    #[inline]
    pub(crate) fn check(&self) -> Result<()> {
        match self.is_stopped.load(Ordering::Acquire) {
            true => Err(self.why()),
            false => Ok(()),
        }
    }

    #[cold]
    fn why(&self) -> Error {
        // The client never sees the latter: the statement has ended already.
        let stopped = || Error::internal("parallel workers are stopped");
        self.failed.lock().clone().unwrap_or_else(stopped)
    }

    /// One thread has failed: the others stop.
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

/// The interrupts of a helper's long computations.
struct HelpersInterrupts {
    team: Arc<Team>,
    /// The interrupts of the leader's thread.
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

/// The right to run one helper.
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

/// The counters and resources of a finished helper.
struct Done {
    instruments: Option<Vec<Instrument>>,
    used: Resources,
}

/// The way in which the leader takes the rows of several threads.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum RowsCome {
    /// The leader takes the rows of any thread that has some.
    Together,
    /// The leader takes the rows of each thread separately: they are in order.
    Apart,
}

/// Rows as threads hand them over: as rows, or as columns.
pub(crate) trait HandedOver: Send + Sized + 'static {
    /// An empty batch for a plan's rows.
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
    /// The channels of the helpers' rows: one for all, or one for each. Empty once the leader takes
    /// no more rows.
    batches: Vec<Receiver<B>>,
    threads: Vec<JoinHandle<Done>>,
}

impl<B: HandedOver> Helpers<B> {
    /// Runs the plan in at most `wanted` threads, or fewer if the limits allow no more. Their rows
    /// come together or separately, as `come` says.
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
            // If the system has no thread for it, the others do more.
            let Ok(thread) = thread.stack_size(STACK_BYTES).spawn(work) else { break };
            helpers.threads.push(thread);
        }
        helpers.batches = batches;
        Ok(helpers)
    }

    /// The number of threads.
    pub(crate) fn len(&self) -> usize {
        self.threads.len()
    }

    /// Rows that a helper has handed over, if there are any yet.
    pub(crate) fn try_next(&self) -> Option<B> {
        self.batches.first().and_then(|batches| batches.try_recv().ok())
    }

    /// The next rows of any helper, or of helper `of` if their rows come separately; `None` at the
    /// end.
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

    /// Waits for the threads to end, and adds their counters to the leader's.
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
        // A helper that hands rows over then gets an error and ends.
        self.batches.clear();
        for thread in self.threads.drain(..) {
            // The thread's result is not needed any more.
            let _ended = thread.join();
        }
    }
}

/// The state that a helper's thread starts with.
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

/// Runs the plan until it ends or the leader takes no more rows.
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
