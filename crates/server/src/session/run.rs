//! Runs plans: takes the snapshot, runs point statements, sends rows to the client.
//!
//! A long statement must not delay the worker's other sessions. So they are handed over to another
//! thread first, which costs more than a hundred rows do. Hence a statement that was expected to be
//! brief stays in place until it has run for [`BRIEF_TIME`] or returned [`BRIEF_ROWS`]. Until then
//! it returns rows in growing chunks. The client gets the same rows at the same points in either
//! case.

use std::sync::Arc;
use std::time::{Duration, Instant};

use steppe_exec::{ExecOutcome, Execution, FetchStatus, RowSink, RowWait, Transaction};
use steppe_storage::Usage;
use steppe_txn::LockWait;
use steppe_types::{Error, Result};

use super::portal::PlanPortal;
use super::sink::{MarkingSink, ResultFormats, WireSink};
use super::tag::CommandTag;
use super::{SEND_AT_BYTES, Session};
use crate::low_priority;
use crate::plan_cache::CachedPlan;

/// Rows of the first chunk, before their size is known.
const FIRST_CHUNK_ROWS: u64 = 64;
const CHUNK_ROWS_MAX: u64 = 16 * 1024;
/// The next chunk of a brief statement has this many times the rows.
const CHUNK_GROWTH: u64 = 4;
/// A statement that has run for longer, or has returned more rows, is no longer brief.
const BRIEF_TIME: Duration = Duration::from_micros(250);
const BRIEF_ROWS: u64 = 1024;

/// How far a run of a portal got.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Progress {
    /// The portal has no more rows.
    Done,
    /// It has reached the row limit.
    Suspended,
}

/// The state of a plan's start.
pub(super) enum Start {
    /// It was a point statement, and has ended.
    Ended,
    /// Its execution has begun.
    Begun,
    /// It must be started again after this wait.
    Waits(StartWait),
    /// Its execution has begun. A node runs the statement.
    OnNode,
}

/// The wait of a plan's start.
pub(super) enum StartWait {
    /// Its relations must be locked.
    Plan,
    /// Another transaction has locked its one leaf.
    Leaf(LockWait),
    /// Another transaction has locked its one row.
    Row(LockWait, RowWait),
}

impl Session {
    /// Runs a plan until its end or `max_rows` (0 is no limit), and sends its rows to the client.
    /// Counts the run.
    pub(super) async fn run_plan(
        &mut self,
        portal: &mut PlanPortal,
        formats: &ResultFormats,
        max_rows: u64,
    ) -> Result<Progress> {
        if portal.done.is_some() {
            return Ok(Progress::Done);
        }
        if self.numbers_plans() {
            let statement = portal.plan.statement(&self.core.server.statements);
            self.control.activity.set_query_id(statement.id);
        }
        let is_explained = self.settings.live.auto_explain.is_some();
        if is_explained {
            self.begin_explained(portal);
        }
        let begun = self.counts_plans().then(|| self.run_begins());
        let has_ended = portal.execution.is_none()
            && match self.start_at_once(portal, formats, max_rows)? {
                Start::Ended => true,
                Start::Begun => false,
                start => Box::pin(self.start_plan(portal, formats, max_rows, start)).await?,
            };
        let progress = match has_ended {
            true => Progress::Done,
            false => Box::pin(self.fetch_to_client(portal, formats, max_rows)).await?,
        };
        if let Some(begun) = begun {
            self.count_plan(portal, begun);
        }
        if is_explained {
            self.end_explained(portal, progress);
        }
        Ok(progress)
    }

    /// Continues the start of a plan. Returns true if it was a point statement, or one of a node,
    /// which has then ended.
    pub(super) async fn start_plan(
        &mut self,
        portal: &mut PlanPortal,
        formats: &ResultFormats,
        max_rows: u64,
        mut start: Start,
    ) -> Result<bool> {
        loop {
            match start {
                Start::Ended => return Ok(true),
                Start::Begun => return Ok(false),
                Start::OnNode => return self.run_on_node(portal, formats).await,
                Start::Waits(StartWait::Plan) => {
                    self.lock_plan(&mut portal.plan).await?;
                    portal.is_locked = true;
                }
                Start::Waits(StartWait::Leaf(wait)) => wait.await?,
                Start::Waits(StartWait::Row(wait, row)) => {
                    wait.await.map_err(|error| row.failed(error))?;
                }
            }
            start = self.start_at_once(portal, formats, max_rows)?;
        }
    }

    /// Starts a plan as far as it can without waiting. After the wait that it returns, the caller
    /// starts it again. It is not a future: a future is moved when it is made, and takes room in
    /// those of its callers. Most point statements need only this call.
    pub(super) fn start_at_once(
        &mut self,
        portal: &mut PlanPortal,
        formats: &ResultFormats,
        max_rows: u64,
    ) -> Result<Start> {
        // A point statement that has waited for a row keeps the plan that it has described.
        if portal.awaited.is_none() {
            if let Some(command) = portal.plan.refused_read_only {
                self.check_writable(command)?;
            }
            if !self.is_still_locked(portal) {
                return Ok(Start::Waits(StartWait::Plan));
            }
            self.set_now();
            if let Some(wait) = self.lock_leaf(portal)? {
                return Ok(Start::Waits(wait));
            }
            if portal.describes {
                // It is sent only now, because a new plan may have other columns.
                self.wire.out.extend_from_slice(&portal.plan.description);
            }
        }
        if max_rows > 0 || portal.measures_nodes() {
            self.start_statement()?;
        } else if self.is_of_a_node(portal, formats) {
            self.start_statement()?;
            self.start_execution(portal)?;
            return Ok(Start::OnNode);
        } else if let Some(outcome) = self.run_point(portal, formats)? {
            self.end_statement();
            return Ok(match outcome {
                ExecOutcome::Done { rows } => {
                    portal.done = Some(tag_of(&portal.plan, rows));
                    portal.handed_rows = rows;
                    Start::Ended
                }
                ExecOutcome::MustWait(wait, row) => {
                    // The statement has changed nothing. It runs again when it owns the row.
                    portal.awaited = Some(row.row());
                    Start::Waits(StartWait::Row(wait, row))
                }
            });
        }
        self.start_execution(portal)?;
        Ok(Start::Begun)
    }

    /// `now` in literals is the transaction's time.
    fn set_now(&mut self) {
        let now = self.statement.env.transaction_timestamp;
        if self.statement.env.io.now != now {
            Arc::make_mut(&mut self.statement.env.io).now = now;
        }
    }

    /// Starts a statement, and runs it if it is a point statement.
    fn run_point(
        &mut self,
        portal: &mut PlanPortal,
        formats: &ResultFormats,
    ) -> Result<Option<ExecOutcome>> {
        self.start_statement()?;
        let compiled = &portal.plan.compiled;
        let within = (&self.statement.env, &*self.core.server.engine);
        let mut sink = WireSink {
            out: &mut self.wire.out,
            columns: compiled.columns(),
            formats,
            io: &self.statement.env.io,
            rows_at: None,
        };
        let before = Usage::now();
        let txn = &mut self.transaction.txn;
        let outcome = compiled.run_point(
            (portal.leaf, portal.awaited),
            &portal.params,
            within,
            txn,
            &mut sink,
        );
        portal.spent += Usage::now() - before;
        outcome
    }

    /// Starts a plan's execution at the running statement's snapshot.
    pub(super) fn start_execution(&mut self, portal: &mut PlanPortal) -> Result<()> {
        let engine = &self.core.server.engine;
        let of_leaf = match portal.leaf {
            Some(leaf) => portal.plan.compiled.of_leaf(leaf, &self.statement.env, engine)?,
            None => None,
        };
        // A leaf keeps its keys. Any other plan must also fit partitions that were added meanwhile.
        if of_leaf.is_none() {
            self.settle_plan(&mut portal.plan)?;
        }
        let params = Arc::clone(&portal.params);
        let compiled = of_leaf.as_ref().unwrap_or(&portal.plan.compiled);
        let start = match portal.measures_nodes() {
            true => Execution::start_analyzed,
            false => Execution::start,
        };
        let mut execution =
            start(compiled, params, &self.statement.env, &mut self.transaction.txn)?;
        if let Some(awaited) = portal.awaited {
            execution.change_only(awaited);
        }
        portal.execution = Some(Box::new(execution));
        Ok(())
    }

    async fn fetch_to_client(
        &mut self,
        portal: &mut PlanPortal,
        formats: &ResultFormats,
        max_rows: u64,
    ) -> Result<Progress> {
        let (mut handed, mut chunk) = (0, FIRST_CHUNK_ROWS);
        if max_rows == 0
            && let Some(execution) = &mut portal.execution
        {
            execution.allow_helpers();
        }
        let (mut is_heavy, begun) = (portal.plan.is_heavy, Instant::now());
        let mut rows_at = (max_rows == 0).then_some(self.wire.out.len());
        loop {
            let wanted = if max_rows == 0 { chunk } else { chunk.min(max_rows - handed) };
            let (before, plan) = (self.wire.out.len(), Arc::clone(&portal.plan));
            let mut sink = WireSink {
                out: &mut self.wire.out,
                columns: plan.compiled.columns(),
                formats,
                io: &self.statement.env.io,
                rows_at,
            };
            let status = fetch(portal, &mut self.transaction.txn, wanted, &mut sink, is_heavy)?;
            match status {
                FetchStatus::Done { rows } => {
                    self.finish_execution(portal, rows);
                    return Ok(Progress::Done);
                }
                FetchStatus::Suspended { rows } => {
                    handed += rows;
                    portal.handed_rows += rows;
                }
            }
            if max_rows > 0 && handed >= max_rows {
                self.suspend(portal)?;
                return Ok(Progress::Suspended);
            }
            is_heavy |= handed >= BRIEF_ROWS || begun.elapsed() > BRIEF_TIME;
            let chunk_max = if is_heavy { CHUNK_ROWS_MAX } else { chunk * CHUNK_GROWTH };
            let row_bytes = ((self.wire.out.len() - before) as u64 / wanted.max(1)).max(1);
            chunk = (SEND_AT_BYTES as u64 / row_bytes).clamp(1, chunk_max);
            if self.wire.out.len() >= SEND_AT_BYTES {
                rows_at = None;
                Box::pin(self.pass_rows_on()).await?;
            }
        }
    }

    /// Suspends a portal that will continue, and keeps its snapshot.
    pub(super) fn suspend(&mut self, portal: &mut PlanPortal) -> Result<()> {
        if portal.held.is_none() {
            let txn = self.transaction.txn()?;
            let snapshot = txn.snapshot();
            txn.hold_snapshot(snapshot);
            portal.held = Some(snapshot);
        }
        self.end_statement();
        Ok(())
    }

    /// Ends a plan. `rows` is the number for its tag.
    pub(super) fn finish_execution(&mut self, portal: &mut PlanPortal, rows: u64) {
        portal.finish(rows, &mut self.transaction.txn);
        self.end_statement();
    }
}

fn tag_of(plan: &CachedPlan, rows: u64) -> CommandTag {
    CommandTag::of_command(plan.compiled.planned().command, rows)
}

/// Fetches rows. A heavy plan runs without delaying the worker's other sessions. It runs on a
/// thread of low priority if it takes long and only reads.
pub(super) fn fetch(
    portal: &mut PlanPortal,
    txn: &mut Option<Transaction>,
    wanted: u64,
    sink: &mut dyn RowSink,
    is_heavy: bool,
) -> Result<FetchStatus> {
    let gives_way = portal.gives_way();
    let (compiled, place) = (&portal.plan.compiled, &mut portal.place);
    let Some(execution) = &mut portal.execution else {
        return Err(Error::internal("portal has no execution"));
    };
    let helped = execution.used_by_helpers();
    let mut work = || {
        // The counters belong to the thread.
        let (before, spilled) = (Usage::now(), steppe_spill::transferred());
        let status = match compiled.planned().positions {
            None => execution.fetch(txn, wanted, sink),
            Some(_) => {
                let columns = compiled.columns().len();
                execution.fetch(txn, wanted, &mut MarkingSink { sink, columns, place })
            }
        };
        let after = steppe_spill::transferred();
        let spilled = (after.0 - spilled.0, after.1 - spilled.1);
        (status, Usage::now() - before, spilled)
    };
    let begun = is_heavy.then(Instant::now);
    let (status, used, spilled) = if is_heavy { aside(gives_way, work) } else { work() };
    portal.took = begun.map(|begun| begun.elapsed());
    let by_helpers = portal.execution.as_ref().map_or(helped, |it| it.used_by_helpers());
    portal.spent += used;
    portal.spent += by_helpers.0 - helped.0;
    portal.spilled.read += spilled.0 + by_helpers.1.0 - helped.1.0;
    portal.spilled.written += spilled.1 + by_helpers.1.1 - helped.1.1;
    status
}

/// Runs work after handing over the worker's other sessions.
pub(super) fn aside<T: Send>(gives_way: bool, work: impl FnOnce() -> T + Send) -> T {
    tokio::task::block_in_place(|| if gives_way { low_priority::run(work) } else { work() })
}
