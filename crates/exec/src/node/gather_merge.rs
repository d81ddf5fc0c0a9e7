//! Gather Merge: the rows of a plan that several threads run, each in an order, in that order
//! (PostgreSQL's nodeGatherMerge.c).
//!
//! The thread of the statement runs the plan itself before it waits for other threads' first rows,
//! so a sort takes its parts of the table then. Each helper has a channel of its own, in which only
//! a few batches wait. So a helper whose rows are used late does not keep many rows in memory.

use super::gather::{Crew, gather_of};
use super::{BoxedNode, CPlan, Input, Node};
use crate::batch::RowBatch;
use crate::context::ExecContext;
use crate::expr::Row;
use crate::heap::InputHeap;
use crate::sorter::{SortColumn, compare_rows};
use std::sync::Arc;
use steppe_types::{Datum, Error, Result};

struct GatherMergeNode {
    plan: Arc<CPlan>,
    /// Called when a row is wanted.
    merged: Option<MergedThreads>,
}

pub(super) fn start(plan: Arc<CPlan>) -> BoxedNode {
    Box::new(GatherMergeNode { plan, merged: None })
}

impl Node for GatherMergeNode {
    fn next(&mut self, cx: &mut ExecContext, out: &mut RowBatch) -> Result<()> {
        let merged = match &mut self.merged {
            Some(merged) => merged,
            none => none.insert(MergedThreads::call(&self.plan, cx, out.wanted)?),
        };
        while !out.is_full() {
            let Some(row) = merged.next(cx, out.wanted)? else { break };
            self.plan.emit(cx, Row::of(row), out)?;
        }
        Ok(())
    }

    fn rescan(&mut self, _: &mut ExecContext) -> Result<()> {
        self.merged = None;
        Ok(())
    }
}

/// The rows of a helper that have arrived.
struct Arrived {
    batch: RowBatch,
    position: usize,
}

/// The rows of all threads, in order.
struct MergedThreads {
    order: Arc<[SortColumn]>,
    crew: Crew<RowBatch>,
    /// The arrived rows, by the helpers' numbers.
    helpers: Vec<Arrived>,
    /// The leader's own, behind the helpers in number.
    own: Option<Input>,
    heap: InputHeap,
    /// The first one's row has been handed out.
    is_used: bool,
    is_done: bool,
}

impl MergedThreads {
    /// Runs the plan until each thread has a row or has ended.
    fn call(plan: &CPlan, cx: &mut ExecContext, wanted: usize) -> Result<MergedThreads> {
        let order = gather_of(plan).and_then(|gather| Some((gather.order.clone()?, &gather.child)));
        let (order, child) = order.ok_or_else(|| Error::internal("rows are merged in no order"))?;
        let mut crew = Crew::call(plan, cx)?;
        let own = crew.own.take().map(|node| Input::of(node, child.width));
        let none = || Arrived { batch: RowBatch::new(child.width), position: 0 };
        let helpers = (0..crew.helpers.len()).map(|_| none()).collect();
        let heap = InputHeap::default();
        let mut merged =
            MergedThreads { order, crew, helpers, own, heap, is_used: false, is_done: false };
        let mut begun = Vec::with_capacity(merged.helpers.len() + 1);
        for number in (0..=merged.helpers.len()).rev() {
            if merged.advance(number, cx, wanted)? {
                begun.push(number);
            }
        }
        let MergedThreads { order, helpers, own, .. } = &merged;
        merged.heap = InputHeap::new(begun, |a, b| is_before(order, (helpers, own), a, b));
        Ok(merged)
    }

    /// The next row of all; reads on behind the last one first.
    fn next(&mut self, cx: &mut ExecContext, wanted: usize) -> Result<Option<&[Datum]>> {
        if let Some(first) = self.heap.first().filter(|_| self.is_used) {
            let ended = !self.advance(first, cx, wanted)?;
            let MergedThreads { order, helpers, own, heap, .. } = self;
            heap.moved_on(ended, |a, b| is_before(order, (helpers, own), a, b));
        }
        let Some(first) = self.heap.first() else {
            if !std::mem::replace(&mut self.is_done, true) {
                self.crew.helpers.finish(cx)?;
            }
            return Ok(None);
        };
        self.is_used = true;
        Ok(Some(head(&self.helpers, &self.own, first)))
    }

    /// Moves on to a thread's next row; false at its end.
    fn advance(&mut self, number: usize, cx: &mut ExecContext, wanted: usize) -> Result<bool> {
        if let Some(arrived) = self.helpers.get_mut(number)
            && arrived.position + 1 < arrived.batch.len()
        {
            arrived.position += 1;
            return Ok(true);
        }
        let before = cx.set_team(Some(self.crew.team.clone()));
        let moved = match (self.helpers.get_mut(number), &mut self.own) {
            (Some(arrived), _) => self.crew.helpers.next(number, cx).map(|rows| {
                let rows = rows.map(|batch| *arrived = Arrived { batch, position: 0 });
                rows.is_some()
            }),
            (None, Some(own)) => own.advance(cx, wanted),
            (None, None) => Ok(false),
        };
        cx.set_team(before);
        moved
    }
}

/// The present row of a thread.
fn head<'r>(helpers: &'r [Arrived], own: &'r Option<Input>, number: usize) -> &'r [Datum] {
    match (helpers.get(number), own) {
        (Some(arrived), _) => arrived.batch.row(arrived.position),
        (None, Some(own)) => own.row(),
        (None, None) => &[],
    }
}

/// Whether thread `a`'s row comes before thread `b`'s.
fn is_before(
    order: &[SortColumn],
    (helpers, own): (&[Arrived], &Option<Input>),
    a: usize,
    b: usize,
) -> bool {
    let (left, right) = (head(helpers, own, a), head(helpers, own, b));
    compare_rows(order, left, right).then(a.cmp(&b)).is_lt()
}
