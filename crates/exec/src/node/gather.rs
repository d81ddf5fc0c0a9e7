//! Gather: the rows of a plan that several threads run (PostgreSQL's nodeGather.c).
//!
//! Helpers hand their rows over in batches. While no rows have arrived, the thread of the statement
//! runs the plan as well (parallel_leader_participation). The rows have no order. They are columns
//! if the plan hands those up: each thread may have made millions of groups.
//!
//! The leader runs the plan alone, with the same rows, if no helper is free (max_parallel_workers).
//! It also does if the client fetches a few rows at a time, since helpers would wait for its
//! messages. It also does in a SERIALIZABLE transaction, whose reads only its own thread can note.

use super::columns::{ColumnNode, for_all};
use super::partition_scan::leaves_for_all;
use super::{BoxedNode, CNode, CPlan, Node, start as start_node};
use crate::batch::RowBatch;
use crate::context::{ExecContext, Note};
use crate::expr::Row;
use crate::sorter::SortColumn;
use crate::team::{HandedOver, Helpers, RowsCome, Team};
use crate::vector::ColumnBatch;
use std::sync::Arc;
use steppe_types::{Error, Result};

/// A compiled Gather.
pub(crate) struct GatherPlan {
    pub(crate) child: Arc<CPlan>,
    /// The number of helpers that it wants.
    pub(crate) workers: usize,
    /// The order of the rows of each, in which they are merged (`gather_merge`).
    pub(crate) order: Option<Arc<[SortColumn]>>,
    /// The scans of partitioned tables below. The leader finds their leaves for all threads.
    pub(crate) scans: Box<[Arc<CPlan>]>,
}

/// The threads that run the plan.
pub(super) struct Crew<B> {
    pub(super) team: Arc<Team>,
    /// The helpers. They end before the leader's own node and the team.
    pub(super) helpers: Helpers<B>,
    /// The leader's own node, until it has no more rows.
    pub(super) own: Option<BoxedNode>,
}

struct GatherNode {
    plan: Arc<CPlan>,
    crew: Option<Crew<RowBatch>>,
    batch: RowBatch,
    /// The next row of the batch.
    position: usize,
    is_done: bool,
}

pub(super) fn start(plan: Arc<CPlan>) -> BoxedNode {
    if plan.columns.is_some() {
        return for_all(GatherColumnsNode { plan, crew: None, batch: ColumnBatch::default() });
    }
    let width = gather_of(&plan).map_or(0, |gather| gather.child.width);
    let batch = RowBatch::new(width);
    Box::new(GatherNode { plan, crew: None, batch, position: 0, is_done: false })
}

pub(super) fn gather_of(plan: &CPlan) -> Option<&GatherPlan> {
    match &plan.kind {
        CNode::Gather(gather) => Some(gather),
        _ => None,
    }
}

/// The value of an integer setting, or 0.
fn count(cx: &ExecContext, name: &str) -> Result<usize> {
    let value = cx.functions.session.setting(name)?;
    Ok(value.and_then(|value| value.parse().ok()).unwrap_or(0))
}

impl<B: HandedOver> Crew<B> {
    pub(super) fn call(plan: &CPlan, cx: &mut ExecContext) -> Result<Crew<B>> {
        let Some(gather) = gather_of(plan) else {
            return Err(Error::internal("gather node over another plan"));
        };
        let may_be_helped = cx.may_be_helped && !cx.view()?.notes_reads();
        let most = if may_be_helped { count(cx, "max_parallel_workers")? } else { 0 };
        let team = Arc::new(Team::new(gather.workers + 1));
        for scan in &gather.scans {
            team.put_leaves(scan.id, leaves_for_all(scan, cx)?);
        }
        let come = if gather.order.is_some() { RowsCome::Apart } else { RowsCome::Together };
        let helpers = Helpers::call(&gather.child, (gather.workers, most), come, &team, cx)?;
        if let Some(instrument) = cx.instrument(plan.id) {
            instrument.note = Some(Note::Gather { launched: helpers.len() as u64 });
        }
        let participates = helpers.len() == 0 || leader_participates(cx)?;
        let own = participates.then(|| start_node(&gather.child, cx));
        Ok(Crew { team, helpers, own })
    }

    /// Puts the next rows of any thread into the empty batch; leaves it empty once all have ended.
    fn next(&mut self, cx: &mut ExecContext, batch: &mut B) -> Result<()> {
        if let Some(rows) = self.helpers.try_next() {
            *batch = rows;
            return Ok(());
        }
        if let Some(own) = &mut self.own {
            let before = cx.set_team(Some(self.team.clone()));
            let filled = batch.fill(own, cx);
            cx.set_team(before);
            if filled.is_err() || !batch.is_empty() {
                return filled;
            }
            self.own = None;
        }
        let before = cx.set_team(Some(self.team.clone()));
        let rows = self.helpers.next(0, cx);
        cx.set_team(before);
        if let Some(rows) = rows? {
            *batch = rows;
            return Ok(());
        }
        self.helpers.finish(cx)
    }
}

fn leader_participates(cx: &ExecContext) -> Result<bool> {
    let value = cx.functions.session.setting("parallel_leader_participation")?;
    Ok(value.is_none_or(|value| value != "off"))
}

impl Node for GatherNode {
    fn next(&mut self, cx: &mut ExecContext, out: &mut RowBatch) -> Result<()> {
        while !out.is_full() && !self.is_done {
            if self.position < self.batch.len() {
                let row = Row::of(self.batch.row(self.position));
                self.position += 1;
                self.plan.emit(cx, row, out)?;
                continue;
            }
            if !out.is_empty() {
                break;
            }
            let crew = match &mut self.crew {
                Some(crew) => crew,
                none => none.insert(Crew::call(&self.plan, cx)?),
            };
            self.batch.clear();
            self.position = 0;
            crew.next(cx, &mut self.batch)?;
            self.is_done = self.batch.is_empty();
        }
        Ok(())
    }

    fn rescan(&mut self, _: &mut ExecContext) -> Result<()> {
        self.crew = None;
        self.batch.clear();
        self.position = 0;
        self.is_done = false;
        Ok(())
    }
}

/// The rows as columns.
struct GatherColumnsNode {
    plan: Arc<CPlan>,
    crew: Option<Crew<ColumnBatch>>,
    /// The batch that a thread has handed over last.
    batch: ColumnBatch,
}

impl ColumnNode for GatherColumnsNode {
    fn next_columns(&mut self, cx: &mut ExecContext, out: &mut ColumnBatch) -> Result<()> {
        let GatherColumnsNode { plan, crew, batch } = self;
        let crew = match crew {
            Some(crew) => crew,
            none => none.insert(Crew::call(plan, cx)?),
        };
        while out.is_empty() {
            batch.clear();
            let filled = crew.next(cx, batch);
            if batch.is_empty() {
                return filled;
            }
            plan.emit_own_columns(cx, batch, out)?;
            filled?;
        }
        Ok(())
    }

    fn rescan(&mut self, _: &mut ExecContext) -> Result<()> {
        self.crew = None;
        Ok(())
    }
}
