//! SubqueryScan: a filter and projection over a sub-select in FROM.

use super::{BoxedNode, CNode, CPlan, Node, pump, start as start_node};
use crate::batch::RowBatch;
use crate::context::ExecContext;
use std::sync::Arc;
use steppe_types::Result;

struct SubqueryNode {
    plan: Arc<CPlan>,
    child: BoxedNode,
    scratch: RowBatch,
}

pub(super) fn start(plan: Arc<CPlan>, cx: &mut ExecContext) -> BoxedNode {
    let CNode::Subquery(child) = &plan.kind else { unreachable!("started as a sub-query scan") };
    let (width, child) = (child.width, start_node(child, cx));
    Box::new(SubqueryNode { plan, child, scratch: RowBatch::new(width) })
}

impl Node for SubqueryNode {
    fn next(&mut self, cx: &mut ExecContext, out: &mut RowBatch) -> Result<()> {
        pump(&self.plan, &mut self.child, &mut self.scratch, cx, out)
    }

    fn rescan(&mut self, cx: &mut ExecContext) -> Result<()> {
        self.child.rescan(cx)
    }
}
