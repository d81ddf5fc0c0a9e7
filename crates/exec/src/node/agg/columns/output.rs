//! Hands up finished groups, filtered and projected: as columns, or as rows if the filter or the
//! projection takes rows.

use super::super::agg_of;
use super::{AggPlan, Parts};
use crate::batch::RowBatch;
use crate::context::ExecContext;
use crate::node::columns::{ColumnNode, for_all};
use crate::node::{BoxedNode, CPlan, Node};
use crate::vector::{COLUMN_ROWS, ColumnBatch};
use std::sync::Arc;
use steppe_types::{Error, Result};

/// An aggregation that finishes its groups some at a time.
pub(super) trait Aggregation: Send + 'static {
    /// Puts the next groups, at most `most`, into the empty `out`; none if there are no more. With
    /// an error it has the groups before the one that failed.
    fn finish_some(
        &mut self,
        parts: Parts<'_>,
        most: usize,
        cx: &mut ExecContext,
        out: &mut ColumnBatch,
    ) -> Result<()>;

    /// Starts again from the first row.
    fn rescan(&mut self, agg: &AggPlan, cx: &mut ExecContext) -> Result<()>;
}

struct Output<A> {
    plan: Arc<CPlan>,
    aggregation: A,
    /// Groups to hand up, and the place of the next one.
    finished: ColumnBatch,
    position: usize,
    /// The error of the group behind them.
    failed: Option<Error>,
}

pub(super) fn start(plan: &Arc<CPlan>, aggregation: impl Aggregation) -> BoxedNode {
    let finished = ColumnBatch::default();
    let output = Output { plan: plan.clone(), aggregation, finished, position: 0, failed: None };
    match plan.columns.is_some() {
        true => for_all(output),
        false => Box::new(output),
    }
}

fn parts_of(plan: &CPlan) -> Result<Parts<'_>> {
    let agg = agg_of(plan)?;
    match &agg.columns {
        Some(columns) => Ok(Parts { id: plan.id, agg, columns }),
        None => Err(Error::internal("aggregation of columns without expressions")),
    }
}

impl<A: Aggregation> Output<A> {
    /// Finishes the next groups once the last ones have been handed up; false if there are no more.
    fn refill(&mut self, plan: &CPlan, most: usize, cx: &mut ExecContext) -> Result<bool> {
        self.position = 0;
        self.finished.clear();
        if let Some(error) = self.failed.take() {
            return Err(error);
        }
        let (parts, out) = (parts_of(plan)?, &mut self.finished);
        let done = self.aggregation.finish_some(parts, most.max(1), cx, out);
        if self.finished.is_empty() {
            return done.map(|()| false);
        }
        self.failed = done.err();
        Ok(true)
    }
}

impl<A: Aggregation> Node for Output<A> {
    fn next(&mut self, cx: &mut ExecContext, out: &mut RowBatch) -> Result<()> {
        let (plan, mut row) = (self.plan.clone(), Vec::new());
        while !out.is_full() {
            if self.position >= self.finished.len() && !self.refill(&plan, out.room(), cx)? {
                break;
            }
            row.clear();
            self.finished.row_into(self.position, &mut row)?;
            self.position += 1;
            plan.emit_owned(cx, &mut row, out)?;
        }
        Ok(())
    }

    fn rescan(&mut self, cx: &mut ExecContext) -> Result<()> {
        ColumnNode::rescan(self, cx)
    }
}

impl<A: Aggregation> ColumnNode for Output<A> {
    fn next_columns(&mut self, cx: &mut ExecContext, out: &mut ColumnBatch) -> Result<()> {
        let plan = self.plan.clone();
        while out.is_empty() && self.refill(&plan, out.wanted.min(COLUMN_ROWS), cx)? {
            cx.check_interrupts()?;
            plan.emit_columns(cx, &self.finished, out)?;
        }
        Ok(())
    }

    fn rescan(&mut self, cx: &mut ExecContext) -> Result<()> {
        self.finished.clear();
        self.position = 0;
        self.failed = None;
        self.aggregation.rescan(agg_of(&self.plan)?, cx)
    }
}
