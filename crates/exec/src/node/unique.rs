//! Unique: drops rows equal to the one before (input sorted).

use super::{BoxedNode, CNode, CPlan, Input, Node};
use crate::batch::RowBatch;
use crate::context::ExecContext;
use crate::expr::Row;
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
