//! Append: one input after the other (UNION ALL). If all of them hand up columns, and the node has
//! no filter and no projection, it passes the columns on unchanged.

use super::{BoxedNode, CNode, CPlan, Node, pump, start as start_node};
use crate::batch::RowBatch;
use crate::context::ExecContext;
use crate::vector::ColumnBatch;
use std::sync::Arc;
use steppe_types::{Error, Result};

struct AppendNode {
    plan: Arc<CPlan>,
    /// The inputs, each started when its turn comes.
    children: Vec<Option<BoxedNode>>,
    current: usize,
    scratch: RowBatch,
}

pub(super) fn start(plan: Arc<CPlan>, _: &mut ExecContext) -> BoxedNode {
    let CNode::Append(children) = &plan.kind else { unreachable!("started as an append") };
    let width = children.first().map_or(plan.width, |c| c.width);
    let children = children.iter().map(|_| None).collect();
    Box::new(AppendNode { plan, children, current: 0, scratch: RowBatch::new(width) })
}

impl Node for AppendNode {
    fn next(&mut self, cx: &mut ExecContext, out: &mut RowBatch) -> Result<()> {
        let CNode::Append(plans) = &self.plan.kind else {
            return Err(Error::internal("append node over another plan"));
        };
        while let Some(child) = self.children.get_mut(self.current) {
            let child = child.get_or_insert_with(|| start_node(&plans[self.current], cx));
            pump(&self.plan, child, &mut self.scratch, cx, out)?;
            if !out.is_empty() {
                return Ok(());
            }
            self.current += 1;
        }
        Ok(())
    }

    fn next_columns(&mut self, cx: &mut ExecContext, out: &mut ColumnBatch) -> Result<()> {
        let CNode::Append(plans) = &self.plan.kind else {
            return Err(Error::internal("append node over another plan"));
        };
        while let Some(child) = self.children.get_mut(self.current) {
            let child = child.get_or_insert_with(|| start_node(&plans[self.current], cx));
            child.next_columns(cx, out)?;
            if !out.is_empty() {
                return Ok(());
            }
            self.current += 1;
        }
        Ok(())
    }

    fn rescan(&mut self, cx: &mut ExecContext) -> Result<()> {
        self.current = 0;
        self.children.iter_mut().flatten().try_for_each(|c| c.rescan(cx))
    }
}
