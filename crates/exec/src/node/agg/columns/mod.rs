//! Aggregation of columns: plain or hashed.
//!
//! Of each batch the values of all keys, conditions and arguments are computed first, each once
//! however many calls have it; then the rows find their groups; then each call takes in its
//! arguments, in one loop. Where a value gives up, the rows of that batch are taken one by one
//! into the same states. Rows of one group are taken in their order either way.
//!
//! An error is the one that comes first by row, and of a row's by call: what fails of a batch is
//! either found a row at a time, or by calls which each say in which row they stopped.
//!
//! [`plain`] and [`hashed`] make groups, [`output`] hands up what has become of them.

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
    /// All of them, each once; the others say at which place. `None`: they are evaluated row by
    /// row.
    pub(crate) values: Option<Box<[VExpr]>>,
    /// The child's columns that they read.
    pub(crate) reads: Box<[usize]>,
    pub(crate) keys: Box<[usize]>,
    pub(crate) calls: Box<[CallColumns]>,
}

/// The expressions of a call.
pub(crate) struct CallColumns {
    pub(crate) filter: Option<usize>,
    pub(crate) args: Box<[usize]>,
}

/// What an aggregation over columns computes, and how.
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

/// Hands each batch that `next` makes to `take`, until one is empty or `take` wants no more. With an
/// error it takes the rows before the one that failed, first.
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
