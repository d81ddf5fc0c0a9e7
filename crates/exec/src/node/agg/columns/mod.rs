//! Aggregation of columns: plain or hashed.
//!
//! For each batch the values of all keys, conditions and arguments are computed first, each only
//! once even if several calls use it. Then the rows find their groups. Then each call adds its
//! arguments in one loop. If a value gives up, the rows of that batch are added one by one to the
//! same states. The rows of one group are added in their order either way.
//!
//! The error of the first row is reported, and of its first call if several fail. Errors in a batch
//! are found either a row at a time, or by calls that each return the row in which they stopped.
//!
//! [`plain`] and [`hashed`] make groups, [`output`] hands up their results.

mod calls;
mod hashed;
mod output;
mod plain;

use super::AggPlan;
use crate::context::ExecContext;
use crate::node::{BoxedNode, CPlan};
use crate::vector::{ColumnBatch, VExpr};
use std::ops::ControlFlow;
use std::sync::Arc;
use steppe_sql::plan::AggStrategy;
use steppe_types::Result;

/// The expressions of an aggregation over columns.
pub(crate) struct AggColumns {
    /// All expressions, each once. `keys` and `calls` have their places. `None`: they are evaluated
    /// row by row.
    pub(crate) values: Option<Box<[VExpr]>>,
    /// The child's columns that the expressions read.
    pub(crate) reads: Box<[usize]>,
    pub(crate) keys: Box<[usize]>,
    pub(crate) calls: Box<[CallColumns]>,
}

/// The expressions of a call.
pub(crate) struct CallColumns {
    pub(crate) filter: Option<usize>,
    pub(crate) args: Box<[usize]>,
}

/// The parts of an aggregation over columns.
#[derive(Clone, Copy)]
struct Parts<'a> {
    /// EXPLAIN's number for the node.
    id: usize,
    agg: &'a AggPlan,
    columns: &'a AggColumns,
}

pub(super) fn start(
    plan: &Arc<CPlan>,
    (agg, columns): (&AggPlan, &AggColumns),
    cx: &mut ExecContext,
) -> BoxedNode {
    let parts = Parts { id: plan.id, agg, columns };
    match agg.strategy {
        AggStrategy::Plain => output::start(plan, plain::Plain::start(parts, cx)),
        _ => output::start(plan, hashed::Hashed::start(parts, cx)),
    }
}

/// Hands each batch that `next` makes to `take`, until one is empty or `take` wants no more. With
/// an error it first takes the rows before the one that failed.
fn for_each_batch(
    width: usize,
    cx: &mut ExecContext,
    mut next: impl FnMut(&mut ExecContext, &mut ColumnBatch) -> Result<()>,
    mut take: impl FnMut(&mut ExecContext, &ColumnBatch) -> Result<ControlFlow<()>>,
) -> Result<()> {
    let mut batch = ColumnBatch::new(width);
    loop {
        batch.clear();
        let filled = next(cx, &mut batch);
        if filled.is_err() && cx.is_overtaken {
            return filled;
        }
        if !batch.is_empty() {
            cx.check_interrupts()?;
            let goes_on = take(cx, &batch)?;
            filled?;
            if goes_on.is_break() {
                return Ok(());
            }
        } else {
            return filled;
        }
    }
}
