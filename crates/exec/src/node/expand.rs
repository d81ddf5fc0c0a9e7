//! Expand: each row once for every grouping set.

use super::{BoxedNode, CNode, CPlan, Input, Node};
use crate::batch::RowBatch;
use crate::context::ExecContext;
use crate::expr::{CExpr, Row};
use std::sync::Arc;
use steppe_types::{Datum, Error, Result};

/// A compiled Expand.
pub(crate) struct ExpandPlan {
    pub(crate) child: Arc<CPlan>,
    pub(crate) keys: Box<[CExpr]>,
    /// For each set, which keys it has.
    pub(crate) sets: Box<[Vec<bool>]>,
    /// For each set, its number and the values of the GROUPING calls.
    pub(crate) marks: Box<[Vec<Datum>]>,
}

struct ExpandNode {
    plan: Arc<CPlan>,
    child: Input,
    /// Keys of the present row.
    keys: Vec<Datum>,
    /// The next set of the present row.
    next_set: usize,
    added: Vec<Datum>,
}

pub(super) fn start(plan: Arc<CPlan>, cx: &mut ExecContext) -> BoxedNode {
    let CNode::Expand(expand) = &plan.kind else { unreachable!("started as an expand") };
    let child = Input::new(&expand.child, cx);
    let next_set = expand.sets.len();
    Box::new(ExpandNode { plan, child, keys: Vec::new(), next_set, added: Vec::new() })
}

impl Node for ExpandNode {
    fn next(&mut self, cx: &mut ExecContext, out: &mut RowBatch) -> Result<()> {
        let plan = self.plan.clone();
        let CNode::Expand(expand) = &plan.kind else {
            return Err(Error::internal("expand node over another plan"));
        };
        while !out.is_full() {
            if self.next_set == expand.sets.len() {
                if !self.child.advance(cx, out.room())? {
                    return Ok(());
                }
                self.next_set = 0;
                self.keys.clear();
                for key in &expand.keys {
                    self.keys.push(key.eval(cx, Row::of(self.child.row()))?);
                }
            }
            let set = &expand.sets[self.next_set];
            let masked = |(key, has): (&Datum, &bool)| if *has { key.clone() } else { Datum::Null };
            self.added.clear();
            self.added.extend(self.keys.iter().zip(set).map(masked));
            self.added.extend_from_slice(&expand.marks[self.next_set]);
            self.next_set += 1;
            plan.emit(cx, Row::pair(self.child.row(), &self.added), out)?;
        }
        Ok(())
    }

    fn rescan(&mut self, cx: &mut ExecContext) -> Result<()> {
        let CNode::Expand(expand) = &self.plan.kind else {
            return Err(Error::internal("expand node over another plan"));
        };
        self.next_set = expand.sets.len();
        self.child.rescan(cx)
    }
}
