//! Automatic ANALYZE: the background process that keeps statistics current (autovacuum.c).
//!
//! ```text
//!   sessions ── count changes; once in a while ──▶ set of changed tables (steppe_counting::accesses)
//!   launcher ── each second: is there any? ── due.rs: over its threshold? ──▶ queue
//!            ── each autovacuum_naptime: all tables ─────────────────────────▶ queue
//!   worker   ── takes some tables, analyzes them in one transaction ──▶ one catalog version
//! ```
//!
//! A table is analyzed by PostgreSQL's rule: more of its rows have changed than
//! autovacuum_analyze_threshold + autovacuum_analyze_scale_factor × reltuples. PostgreSQL checks
//! once in autovacuum_naptime. Here some tables are analyzed within a second or two, so that newly
//! loaded tables get good plans at once: tables never analyzed, tables of which half has changed,
//! and tables that have changed enough and no longer change. The others wait for the nap's end, so
//! that a table that changes all the time is not sampled all the time. A partitioned table is
//! analyzed, too, by the changes of all its leaves.
//!
//! The worker never delays a session. It takes no lock that it would wait for, and is cancelled
//! when a session waits for one of its locks. It returns to such a table later, and after each
//! failure later still. It has its own thread, and naps as autovacuum_vacuum_cost_delay and
//! autovacuum_vacuum_cost_limit set (pace.rs). An error is logged and never ends the server.
//!
//! Tables need no vacuum: undo holds old versions until no snapshot can see them, and transaction
//! ids do not run out. So the settings and storage parameters named autovacuum_vacuum_…,
//! autovacuum_freeze_… and autovacuum_multixact_freeze_… are accepted and shown. Only the two of
//! the pace have an effect.

mod due;
pub(crate) mod pace;
mod worker;

use std::sync::Arc;
use std::time::{Duration, Instant};

use hashbrown::{HashMap, HashSet};
use parking_lot::Mutex;
use steppe_counting::RelationStatistics;
use steppe_types::Oid;
use tokio::runtime::Handle;
use tokio::sync::watch;

use crate::log;
use crate::server::{Phase, Server};
use due::{Candidate, Due};

/// How often the launcher checks whether tables have changed.
const TICK: Duration = Duration::from_secs(1);
/// The most changing tables that are checked each second. More wait for the nap's end.
const CHANGING_MAX: usize = 64;
/// A table whose lock was not available is retried after this time, then after twice the last wait.
const LATER_MIN: Duration = Duration::from_secs(1);
/// The same, after an error.
const LATER_AFTER_ERROR: Duration = Duration::from_secs(10);
/// The longest wait before a retry.
const LATER_MAX: Duration = Duration::from_secs(300);

/// The analyzer's state.
pub(crate) struct Autovacuum {
    /// The launcher's process id, which no session has.
    pub(crate) pid: i32,
    work: Mutex<Work>,
}

#[derive(Default)]
struct Work {
    /// Tables to analyze, in order.
    queue: std::collections::VecDeque<Oid>,
    /// The queued tables, and the tables that workers have taken.
    known: HashSet<Oid, foldhash::fast::RandomState>,
    /// Tables that are due and may still change, with their numbers of changes.
    changing: HashMap<Oid, u64, foldhash::fast::RandomState>,
    /// Tables to retry later.
    later: HashMap<Oid, Later, foldhash::fast::RandomState>,
    workers: usize,
    started: Option<Instant>,
}

#[derive(Clone, Copy)]
struct Later {
    at: Instant,
    waits: Duration,
}

impl Work {
    fn push(&mut self, table: Oid) {
        if self.known.insert(table) {
            self.queue.push_back(table);
        }
    }

    /// Queues a table, unless it waits for its retry.
    fn push_unless_left(&mut self, table: Oid) {
        if !self.later.contains_key(&table) {
            self.push(table);
        }
    }

    /// Some tables for a worker, which ends if there are none.
    fn take(&mut self, most: usize) -> Vec<Oid> {
        let some = self.queue.len().min(most);
        self.queue.drain(..some).collect()
    }

    /// A table is analyzed, or has been dropped.
    fn done(&mut self, table: Oid) {
        self.known.remove(&table);
        self.later.remove(&table);
    }

    /// The transaction ended before this table's turn: it is the next again.
    fn put_back(&mut self, table: Oid) {
        self.queue.push_front(table);
    }

    /// A table is to be retried after `least`, or after twice the last wait.
    fn leave(&mut self, table: Oid, least: Duration) {
        self.known.remove(&table);
        let waited = self.later.get(&table).map_or(Duration::ZERO, |later| later.waits);
        let waits = (waited * 2).clamp(least, LATER_MAX);
        self.later.insert(table, Later { at: Instant::now() + waits, waits });
    }

    /// Leaves all queued tables for later.
    fn leave_all(&mut self, least: Duration) {
        while let Some(table) = self.queue.pop_front() {
            self.leave(table, least);
        }
    }

    /// Queues the tables whose retry is due.
    fn come_back(&mut self, now: Instant) {
        let due = self.later.iter().filter(|(_, later)| later.at <= now).map(|(oid, _)| *oid);
        due.collect::<Vec<_>>().into_iter().for_each(|table| self.push(table));
    }
}

impl Autovacuum {
    /// An analyzer without work.
    pub(crate) fn new(pid: i32) -> Autovacuum {
        Autovacuum { pid, work: Mutex::default() }
    }

    /// Whether there are tables to check.
    fn has_changed(&self, counted: &RelationStatistics) -> bool {
        counted.has_changed_tables() || !self.work.lock().changing.is_empty()
    }
}

/// Whether tables are analyzed: AutoVacuumingActive.
pub(crate) fn is_active(server: &Server) -> bool {
    let settings = server.settings.current();
    let is_on = |name| settings.get(name) == crate::settings::Value::Bool(true);
    is_on("autovacuum") && is_on("track_counts")
}

/// Runs the launcher on threads that run no statements, until the server stops.
pub(crate) fn launch(server: &Arc<Server>, background: &Handle, mut phase: watch::Receiver<Phase>) {
    let server = Arc::clone(server);
    background.spawn(async move {
        // The first look is at all tables, and at the tables whose counters a crash has lost.
        let (mut last_round, mut is_first) = (None, true);
        loop {
            if is_active(&server) {
                let nap = u64::try_from(server.settings.int("autovacuum_naptime")).unwrap_or(60);
                let has_napped = |round: Instant| round.elapsed().as_secs() >= nap;
                let is_round = last_round.is_none_or(has_napped);
                if is_round {
                    last_round = Some(Instant::now());
                }
                if is_round || server.autovacuum.has_changed(&server.relation_statistics) {
                    let server = Arc::clone(&server);
                    let look = move || look(&server, is_round, is_first);
                    is_first &= tokio::task::spawn_blocking(look).await.is_err();
                }
                server.autovacuum.work.lock().come_back(Instant::now());
                start_worker(&server);
            } else {
                last_round = None;
            }
            tokio::select! {
                () = tokio::time::sleep(TICK) => {}
                _ = phase.wait_for(|phase| *phase != Phase::Running) => return,
            }
        }
    });
}

/// Queues the due tables, of all tables or of the changed ones.
fn look(server: &Server, is_round: bool, is_first: bool) {
    let mut changed = server.relation_statistics.take_changed_tables();
    let before = std::mem::take(&mut server.autovacuum.work.lock().changing);
    let due = Due::new(server);
    let (tables, candidates) = if is_round {
        (due.of_all(is_first), Vec::new())
    } else {
        changed.extend(before.keys());
        changed.sort_unstable();
        changed.dedup();
        (Vec::new(), due.of_changed(&changed))
    };
    let mut work = server.autovacuum.work.lock();
    for table in tables {
        work.push_unless_left(table);
    }
    for Candidate { table, is_urgent, changes } in candidates {
        let is_wanted = is_urgent || before.get(&table) == Some(&changes);
        if is_wanted && !work.known.contains(&table) {
            work.push_unless_left(table);
        } else if work.changing.len() < CHANGING_MAX {
            // A table that a worker has taken is checked again when it is done.
            work.changing.insert(table, changes);
        }
    }
}

/// Starts a worker if tables are queued: at most one a tick, and at most autovacuum_max_workers.
fn start_worker(server: &Arc<Server>) {
    let most = usize::try_from(server.settings.int("autovacuum_max_workers")).unwrap_or(1);
    let mut work = server.autovacuum.work.lock();
    let waits = work.workers > 0 && work.started.is_some_and(|started| started.elapsed() < TICK);
    if work.queue.is_empty() || work.workers >= most || waits {
        return;
    }
    work.workers += 1;
    work.started = Some(Instant::now());
    drop(work);
    if let Err(error) = worker::start(server) {
        server.autovacuum.work.lock().workers -= 1;
        let message = "could not start an autovacuum worker";
        log::write(log::Level::Warning, &[("message", &message), ("error", &error)]);
    }
}
