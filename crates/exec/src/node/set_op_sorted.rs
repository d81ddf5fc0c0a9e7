//! INTERSECT and EXCEPT [ALL] of two inputs in the order of all their columns (PostgreSQL's
//! nodeSetOp.c): equal rows stand together, so that one row of each input is kept at a time.
//!
//! ```text
//!   left   1 1 3 4        a group of the left's, the right's read up to what is not less:
//!   right  1 2 3 3        1: (2, 1)   3: (1, 2)   4: (1, 0)
//! ```
//!
//! The two counts of a row decide how often it is handed up. The left side's first row is used. The
//! order stays that of the inputs.

use super::set_op::SetOpPlan;
use super::{BoxedNode, CNode, CPlan, Input, Node};
use crate::batch::{BATCH_ROWS, RowBatch};
use crate::context::ExecContext;
use crate::expr::Row;
use crate::sorter::compare_rows;
use std::cmp::Ordering;
use std::sync::Arc;
use steppe_sql::query::SetOp;
use steppe_types::{Datum, Error, Result};

/// An input at one of its rows.
struct Side {
    input: Input,
    has_row: bool,
}

struct SortedSetOpNode {
    plan: Arc<CPlan>,
    left: Side,
    right: Side,
    is_started: bool,
    /// The row of the last group, and the number of copies still to hand up.
    group: Vec<Datum>,
    copies: u64,
}

pub(super) fn start(plan: Arc<CPlan>, cx: &mut ExecContext) -> BoxedNode {
    let CNode::SetOp(op) = &plan.kind else { unreachable!("started as a set operation") };
    let left = Side { input: Input::new(&op.left, cx), has_row: false };
    let right = Side { input: Input::new(&op.right, cx), has_row: false };
    Box::new(SortedSetOpNode { plan, left, right, is_started: false, group: Vec::new(), copies: 0 })
}

impl Side {
    fn advance(&mut self, cx: &mut ExecContext) -> Result<()> {
        self.has_row = self.input.advance(cx, BATCH_ROWS)?;
        Ok(())
    }

    /// Passes rows whose order relative to `group` is the wanted one, and counts them.
    fn pass(
        &mut self,
        cx: &mut ExecContext,
        op: &SetOpPlan,
        group: &[Datum],
        wanted: Ordering,
    ) -> Result<u64> {
        let mut count = 0;
        while self.has_row && compare_rows(&op.order, self.input.row(), group) == wanted {
            count += 1;
            self.advance(cx)?;
        }
        Ok(count)
    }
}

impl SortedSetOpNode {
    /// Counts the next group; false at the end.
    fn next_group(&mut self, cx: &mut ExecContext, op: &SetOpPlan) -> Result<bool> {
        if !std::mem::replace(&mut self.is_started, true) {
            self.left.advance(cx)?;
            self.right.advance(cx)?;
        }
        let is_over = op.op == SetOp::Intersect && !self.right.has_row;
        if !self.left.has_row || is_over {
            return Ok(false);
        }
        cx.check_interrupts()?;
        self.group.clear();
        self.group.extend_from_slice(self.left.input.row());
        let left = self.left.pass(cx, op, &self.group, Ordering::Equal)?;
        self.right.pass(cx, op, &self.group, Ordering::Less)?;
        let right = self.right.pass(cx, op, &self.group, Ordering::Equal)?;
        self.copies = op.copies(left, right);
        Ok(true)
    }
}

impl Node for SortedSetOpNode {
    fn next(&mut self, cx: &mut ExecContext, out: &mut RowBatch) -> Result<()> {
        let plan = self.plan.clone();
        let CNode::SetOp(op) = &plan.kind else {
            return Err(Error::internal("set operation node over another plan"));
        };
        while !out.is_full() {
            if self.copies > 0 {
                self.copies -= 1;
                plan.emit(cx, Row::of(&self.group), out)?;
            } else if !self.next_group(cx, op)? {
                return Ok(());
            }
        }
        Ok(())
    }

    fn rescan(&mut self, cx: &mut ExecContext) -> Result<()> {
        self.is_started = false;
        self.copies = 0;
        self.left.input.rescan(cx)?;
        self.right.input.rescan(cx)
    }
}
