//! Merging inputs that are each in order (PostgreSQL's nodeMergeAppend.c).

use super::{BoxedNode, CNode, CPlan, Input, Node};
use crate::batch::{BATCH_ROWS, RowBatch};
use crate::context::ExecContext;
use crate::expr::Row;
use crate::heap::InputHeap;
use crate::sorter::{SortColumn, compare_rows};
use std::sync::Arc;
use steppe_types::{Datum, Error, Result};

/// The most rows that are requested in advance from all inputs together, but at least one from
/// each.
const ROWS_AHEAD_MAX: usize = 64 * BATCH_ROWS;

/// A compiled Merge Append.
pub(crate) struct MergeAppendPlan {
    pub(super) children: Box<[Arc<CPlan>]>,
    /// The order of each, and of all.
    pub(super) keys: Arc<[SortColumn]>,
}

struct MergeAppendNode {
    plan: Arc<CPlan>,
    /// Started when a row is wanted.
    merged: Option<MergedInputs>,
}

pub(super) fn start(plan: Arc<CPlan>) -> BoxedNode {
    Box::new(MergeAppendNode { plan, merged: None })
}

impl Node for MergeAppendNode {
    fn next(&mut self, cx: &mut ExecContext, out: &mut RowBatch) -> Result<()> {
        let CNode::MergeAppend(MergeAppendPlan { children, keys }) = &self.plan.kind else {
            return Err(Error::internal("merge append node over another plan"));
        };
        let merged = match &mut self.merged {
            Some(merged) => merged,
            none => none.insert(MergedInputs::new(keys, children, cx)),
        };
        merged.fill(cx, out, |cx, row, out| self.plan.emit(cx, Row::of(row), out).map(drop))
    }

    fn rescan(&mut self, _: &mut ExecContext) -> Result<()> {
        self.merged = None;
        Ok(())
    }
}

/// Rows of several inputs, in order.
pub(super) struct MergedInputs {
    keys: Arc<[SortColumn]>,
    inputs: Vec<Input>,
    heap: InputHeap,
    started: bool,
    /// The first input's row has been handed out.
    is_used: bool,
}

impl MergedInputs {
    pub(super) fn new(
        keys: &Arc<[SortColumn]>,
        plans: &[Arc<CPlan>],
        cx: &mut ExecContext,
    ) -> MergedInputs {
        let inputs = plans.iter().map(|plan| Input::new(plan, cx)).collect();
        let (keys, heap) = (keys.clone(), InputHeap::default());
        MergedInputs { keys, inputs, heap, started: false, is_used: false }
    }

    /// Hands rows to `emit` until the batch is full, or to the end.
    pub(super) fn fill(
        &mut self,
        cx: &mut ExecContext,
        out: &mut RowBatch,
        mut emit: impl FnMut(&mut ExecContext, &[Datum], &mut RowBatch) -> Result<()>,
    ) -> Result<()> {
        let ahead = (ROWS_AHEAD_MAX / self.inputs.len().max(1)).min(out.wanted).max(1);
        if !self.started {
            self.start(cx, ahead)?;
        }
        while !out.is_full() {
            self.move_on(cx, ahead)?;
            let Some(first) = self.heap.first() else { break };
            emit(cx, self.inputs[first].row(), out)?;
            self.is_used = true;
        }
        Ok(())
    }

    /// Reads the row behind one that has been handed out, but only when another row is wanted.
    fn move_on(&mut self, cx: &mut ExecContext, ahead: usize) -> Result<()> {
        if let Some(first) = self.heap.first().filter(|_| self.is_used) {
            self.is_used = false;
            let ended = !self.inputs[first].advance(cx, ahead)?;
            let MergedInputs { keys, inputs, heap, .. } = self;
            heap.moved_on(ended, |a, b| is_before(keys, inputs, a, b));
        }
        Ok(())
    }

    fn start(&mut self, cx: &mut ExecContext, ahead: usize) -> Result<()> {
        let mut begun = Vec::with_capacity(self.inputs.len());
        for (number, input) in self.inputs.iter_mut().enumerate() {
            if input.advance(cx, ahead)? {
                begun.push(number);
            }
        }
        self.heap = InputHeap::new(begun, |a, b| is_before(&self.keys, &self.inputs, a, b));
        self.started = true;
        Ok(())
    }
}

/// Whether input `a`'s row comes before input `b`'s.
fn is_before(keys: &[SortColumn], inputs: &[Input], a: usize, b: usize) -> bool {
    compare_rows(keys, inputs[a].row(), inputs[b].row()).then(a.cmp(&b)).is_lt()
}
