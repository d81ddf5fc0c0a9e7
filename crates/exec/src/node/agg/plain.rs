//! Aggregation of rows without GROUP BY: one group, which exists even without rows.

use super::{AggPlan, agg_of};
use crate::batch::RowBatch;
use crate::context::ExecContext;
use crate::expr::Row;
use crate::node::{BoxedNode, CPlan, Node, start as start_node};
use std::sync::Arc;
use steppe_types::Result;

struct PlainNode {
    plan: Arc<CPlan>,
    child: BoxedNode,
    is_finished: bool,
}

pub(super) fn start(plan: &Arc<CPlan>, agg: &AggPlan, cx: &mut ExecContext) -> BoxedNode {
    let child = start_node(&agg.child, cx);
    Box::new(PlainNode { plan: plan.clone(), child, is_finished: false })
}

impl Node for PlainNode {
    fn next(&mut self, cx: &mut ExecContext, out: &mut RowBatch) -> Result<()> {
        if self.is_finished {
            return Ok(());
        }
        let agg = agg_of(&self.plan)?;
        let mut states = Vec::with_capacity(agg.aggregates.len());
        agg.start_group(cx, &mut states)?;
        let (mut incoming, mut args) = (RowBatch::new(agg.child.width), Vec::new());
        loop {
            incoming.clear();
            self.child.next(cx, &mut incoming)?;
            if incoming.is_empty() {
                break;
            }
            cx.check_interrupts()?;
            for row in incoming.iter() {
                agg.add(&mut states, Row::of(row), &mut args, cx)?;
            }
        }
        self.is_finished = true;
        let mut row = Vec::with_capacity(agg.aggregates.len());
        agg.finish_group((&mut row, states.into_iter()), &self.plan, cx, out)
    }

    fn rescan(&mut self, cx: &mut ExecContext) -> Result<()> {
        self.is_finished = false;
        self.child.rescan(cx)
    }
}
