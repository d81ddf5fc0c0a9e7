//! Aggregation of rows that come in the order of the keys: a group ends where the key changes.

use super::calls::CallState;
use super::{AggPlan, agg_of};
use crate::batch::RowBatch;
use crate::context::ExecContext;
use crate::expr::Row;
use crate::hashing::equal_keys;
use crate::node::{BoxedNode, CPlan, Node, start as start_node};
use std::sync::Arc;
use steppe_types::{Datum, Result};

struct SortedNode {
    plan: Arc<CPlan>,
    child: BoxedNode,
    incoming: RowBatch,
    position: usize,
    is_finished: bool,
    /// The input has had no row.
    is_empty: bool,
    /// The key and the states of the present group.
    open: Option<(Vec<Datum>, Vec<CallState>)>,
}

pub(super) fn start(plan: &Arc<CPlan>, agg: &AggPlan, cx: &mut ExecContext) -> BoxedNode {
    Box::new(SortedNode {
        plan: plan.clone(),
        child: start_node(&agg.child, cx),
        incoming: RowBatch::new(agg.child.width),
        position: 0,
        is_finished: false,
        is_empty: true,
        open: None,
    })
}

impl SortedNode {
    /// Fills `out` with groups, as far as there are rows.
    fn run(&mut self, agg: &AggPlan, cx: &mut ExecContext, out: &mut RowBatch) -> Result<()> {
        let mut args = Vec::new();
        let mut key = Vec::with_capacity(agg.keys.len());
        while !out.is_full() && !self.is_finished {
            if self.position >= self.incoming.len() && !self.fetch(cx)? {
                self.is_finished = true;
                return match self.is_empty {
                    true => agg.finish_empty(&self.plan, cx, out),
                    false => self.close_group(agg, cx, out),
                };
            }
            key.clear();
            for expr in &agg.keys {
                key.push(expr.eval(cx, Row::of(self.incoming.row(self.position)))?);
            }
            let is_same = self
                .open
                .as_ref()
                .is_some_and(|(open, _)| equal_keys(&agg.key_types, open.iter(), key.iter()));
            if !is_same {
                let had_group = self.open.is_some();
                self.close_group(agg, cx, out)?;
                let mut states = Vec::with_capacity(agg.aggregates.len());
                agg.start_group(cx, &mut states)?;
                self.open = Some((key.clone(), states));
                if had_group && out.is_full() {
                    // The row at `position` opens the group that is now there: it is added
                    // below by the next call.
                    continue;
                }
            }
            if let Some((_, states)) = &mut self.open {
                let row = Row::of(self.incoming.row(self.position));
                agg.add(states, row, &mut args, cx)?;
            }
            self.position += 1;
        }
        Ok(())
    }

    /// Takes the child's next rows; false at the end.
    fn fetch(&mut self, cx: &mut ExecContext) -> Result<bool> {
        self.incoming.clear();
        self.position = 0;
        self.child.next(cx, &mut self.incoming)?;
        cx.check_interrupts()?;
        self.is_empty &= self.incoming.is_empty();
        Ok(!self.incoming.is_empty())
    }

    fn close_group(
        &mut self,
        agg: &AggPlan,
        cx: &mut ExecContext,
        out: &mut RowBatch,
    ) -> Result<()> {
        let Some((mut key, states)) = self.open.take() else { return Ok(()) };
        agg.finish_group((&mut key, states.into_iter()), &self.plan, cx, out)
    }
}

impl Node for SortedNode {
    fn next(&mut self, cx: &mut ExecContext, out: &mut RowBatch) -> Result<()> {
        let plan = self.plan.clone();
        let agg = agg_of(&plan)?;
        while out.is_empty() && !self.is_finished {
            self.run(agg, cx, out)?;
        }
        Ok(())
    }

    fn rescan(&mut self, cx: &mut ExecContext) -> Result<()> {
        self.is_finished = false;
        self.is_empty = true;
        self.open = None;
        self.incoming.clear();
        self.position = 0;
        self.child.rescan(cx)
    }
}
