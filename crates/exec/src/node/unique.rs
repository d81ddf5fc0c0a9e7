//! Unique drops rows that equal the row before (the input is sorted). For columns it marks the rows
//! that differ from the row before, column by column, and hands up the marked ones.

use super::columns::{ColumnInput, ColumnNode, for_all};
use super::{BoxedNode, CNode, CPlan, Input, Node};
use crate::batch::RowBatch;
use crate::context::ExecContext;
use crate::expr::Row;
use crate::vector::{ColumnBatch, Vector, equal_values, mark_changes};
use std::sync::Arc;
use steppe_types::compare::equal_as;
use steppe_types::{Datum, Error, Oid, Result};

/// A compiled Unique.
pub(crate) struct UniquePlan {
    pub(crate) child: Arc<CPlan>,
    /// Columns compared, with their types.
    pub(crate) columns: Box<[(usize, Oid)]>,
}

struct UniqueNode {
    plan: Arc<CPlan>,
    child: Input,
    last: Option<Vec<Datum>>,
}

pub(super) fn start(plan: Arc<CPlan>, cx: &mut ExecContext) -> BoxedNode {
    let CNode::Unique(unique) = &plan.kind else { unreachable!("started as a unique") };
    if plan.columns.is_some() {
        let child = ColumnInput::new(&unique.child, cx);
        return for_all(UniqueColumnsNode { plan, child, last: None });
    }
    let child = Input::new(&unique.child, cx);
    Box::new(UniqueNode { plan, child, last: None })
}

impl Node for UniqueNode {
    fn next(&mut self, cx: &mut ExecContext, out: &mut RowBatch) -> Result<()> {
        let CNode::Unique(unique) = &self.plan.kind else {
            return Err(Error::internal("unique node over another plan"));
        };
        while !out.is_full() && self.child.advance(cx, out.room())? {
            let row = self.child.row();
            let same = self.last.as_ref().is_some_and(|last| {
                unique.columns.iter().zip(last).all(|((i, t), old)| equal_as(*t, &row[*i], old))
            });
            if !same {
                self.last = Some(unique.columns.iter().map(|(i, _)| row[*i].clone()).collect());
                self.plan.emit(cx, Row::of(row), out)?;
            }
        }
        Ok(())
    }

    fn rescan(&mut self, cx: &mut ExecContext) -> Result<()> {
        self.last = None;
        self.child.rescan(cx)
    }
}

struct UniqueColumnsNode {
    plan: Arc<CPlan>,
    child: ColumnInput,
    /// The compared columns of the last row, with one value each.
    last: Option<Vec<Vector>>,
}

impl UniqueColumnsNode {
    /// The places of the rows that differ from the one before.
    fn changes(&mut self, unique: &UniquePlan, batch: &ColumnBatch) -> Vec<u32> {
        let compared = || unique.columns.iter().map(|(i, t)| (&batch.columns[*i], *t));
        let mut changed = vec![false; batch.len()];
        compared().for_each(|(column, t)| mark_changes(t, column, &mut changed));
        let is_same = |((column, t), last): ((&Vector, Oid), &Vector)| {
            equal_values(t, (column, 0), (last, 0))
        };
        changed[0] = self.last.as_ref().is_none_or(|last| !compared().zip(last).all(is_same));
        let end = [batch.len() as u32 - 1];
        self.last = Some(compared().map(|(column, _)| column.gather(&end)).collect());
        (0..batch.len() as u32).filter(|i| changed[*i as usize]).collect()
    }

    fn fill(&mut self, cx: &mut ExecContext, out: &mut ColumnBatch) -> Result<()> {
        let plan = self.plan.clone();
        let CNode::Unique(unique) = &plan.kind else {
            return Err(Error::internal("unique node over another plan"));
        };
        let mut batch = ColumnBatch::new(unique.child.width);
        while out.is_empty() {
            batch.clear();
            batch.wanted = out.wanted;
            let filled = self.child.next(cx, &mut batch);
            if batch.is_empty() || cx.is_overtaken {
                return filled;
            }
            cx.check_interrupts()?;
            let places = self.changes(unique, &batch);
            match places.len() == batch.len() {
                true => plan.emit_columns(cx, &batch, out)?,
                false => plan.emit_columns(cx, &batch.gather(&places), out)?,
            }
            filled?;
        }
        Ok(())
    }
}

impl ColumnNode for UniqueColumnsNode {
    fn next_columns(&mut self, cx: &mut ExecContext, out: &mut ColumnBatch) -> Result<()> {
        self.fill(cx, out)
    }

    fn rescan(&mut self, cx: &mut ExecContext) -> Result<()> {
        self.last = None;
        self.child.rescan(cx)
    }
}
