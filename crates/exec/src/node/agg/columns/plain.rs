//! Aggregation of columns without GROUP BY: one group, which exists even without rows.

use super::calls::Calls;
use super::output::Aggregation;
use super::{AggPlan, Parts, for_each_batch};
use crate::context::ExecContext;
use crate::expr::Row;
use crate::node::columns::{ColumnInput, evaluate};
use crate::vector::ColumnBatch;
use std::ops::ControlFlow;
use steppe_types::Result;

pub(super) struct Plain {
    child: ColumnInput,
    calls: Calls,
    is_finished: bool,
}

impl Plain {
    pub(super) fn start(Parts { agg, .. }: Parts<'_>, cx: &mut ExecContext) -> Plain {
        Plain { child: ColumnInput::new(&agg.child, cx), calls: one_group(agg), is_finished: false }
    }
}

/// The calls of the one group.
fn one_group(agg: &AggPlan) -> Calls {
    let mut calls = Calls::new(agg);
    calls.grow(1);
    calls
}

/// Adds a batch's rows.
fn take(
    calls: &mut Calls,
    parts: Parts<'_>,
    batch: &ColumnBatch,
    cx: &mut ExecContext,
) -> Result<()> {
    let values = parts.columns.values.as_ref().map(|exprs| evaluate(exprs, batch, cx));
    if let Some(Ok(values)) = values {
        return calls.add(parts, &values, &vec![0; batch.len()], cx).map(drop);
    }
    let mut row = Vec::new();
    for i in 0..batch.len() {
        row.clear();
        batch.row_into(i, &mut row)?;
        calls.add_row(parts.agg, Row::of(&row), 0, cx)?;
    }
    Ok(())
}

impl Aggregation for Plain {
    fn finish_some(
        &mut self,
        parts: Parts<'_>,
        _most: usize,
        cx: &mut ExecContext,
        out: &mut ColumnBatch,
    ) -> Result<()> {
        if self.is_finished {
            return Ok(());
        }
        let Plain { child, calls, .. } = self;
        for_each_batch(
            parts.agg.child.width,
            cx,
            |cx, batch| child.next(cx, batch),
            |cx, batch| take(calls, parts, batch, cx).map(ControlFlow::Continue),
        )?;
        calls.finish_distinct(parts.agg, cx)?;
        self.is_finished = true;
        calls.finish(parts.agg, (0, 1), |_, _| Vec::new(), out)
    }

    fn rescan(&mut self, agg: &AggPlan, cx: &mut ExecContext) -> Result<()> {
        self.calls = one_group(agg);
        self.is_finished = false;
        self.child.rescan(cx)
    }
}
