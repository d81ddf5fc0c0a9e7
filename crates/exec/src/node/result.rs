//! Result, Values and the rows of parameters: rows from expressions alone.
//!
//! A statement of many rows of one form is compiled for one of them, with the row's parameters as
//! its input row ([`crate::statement::CompiledStmt::of_rows`]): nothing is made of a row but its
//! values.

use super::{BoxedNode, CNode, CPlan, Node, pump, start as start_node};
use crate::batch::RowBatch;
use crate::context::ExecContext;
use crate::expr::{CExpr, Row};
use std::sync::Arc;
use steppe_types::{Error, Result};

/// A compiled Result.
pub(crate) struct ResultPlan {
    pub(crate) one_time_filter: Option<CExpr>,
    pub(crate) child: Option<Arc<CPlan>>,
}

struct ResultNode {
    plan: Arc<CPlan>,
    child: Option<BoxedNode>,
    scratch: RowBatch,
    state: Gate,
}

#[derive(PartialEq, Eq)]
enum Gate {
    Unknown,
    Open,
    Finished,
}

pub(super) fn start_result(plan: Arc<CPlan>, cx: &mut ExecContext) -> BoxedNode {
    let CNode::Result(result) = &plan.kind else { unreachable!("started as a result") };
    let child = result.child.as_ref().map(|c| start_node(c, cx));
    let width = result.child.as_ref().map_or(0, |c| c.width);
    let scratch = RowBatch::new(width);
    Box::new(ResultNode { plan: plan.clone(), child, scratch, state: Gate::Unknown })
}

impl Node for ResultNode {
    fn next(&mut self, cx: &mut ExecContext, out: &mut RowBatch) -> Result<()> {
        let CNode::Result(result) = &self.plan.kind else {
            return Err(Error::internal("result node over another plan"));
        };
        if self.state == Gate::Unknown {
            let open = match &result.one_time_filter {
                Some(filter) => filter.holds(cx, Row::EMPTY)?,
                None => true,
            };
            self.state = if open { Gate::Open } else { Gate::Finished };
        }
        if self.state == Gate::Finished {
            return Ok(());
        }
        match &mut self.child {
            Some(child) => pump(&self.plan, child, &mut self.scratch, cx, out),
            None => {
                self.state = Gate::Finished;
                self.plan.emit(cx, Row::EMPTY, out).map(drop)
            }
        }
    }

    fn rescan(&mut self, cx: &mut ExecContext) -> Result<()> {
        self.state = Gate::Unknown;
        self.child.as_mut().map_or(Ok(()), |c| c.rescan(cx))
    }
}

struct ValuesNode {
    plan: Arc<CPlan>,
    next: usize,
}

pub(super) fn start_values(plan: Arc<CPlan>) -> BoxedNode {
    Box::new(ValuesNode { plan, next: 0 })
}

impl Node for ValuesNode {
    fn next(&mut self, cx: &mut ExecContext, out: &mut RowBatch) -> Result<()> {
        let CNode::Values(lists) = &self.plan.kind else {
            return Err(Error::internal("values node over another plan"));
        };
        let mut row = Vec::new();
        while !out.is_full()
            && let Some(list) = lists.get(self.next)
        {
            self.next += 1;
            row.clear();
            for expr in list {
                row.push(expr.eval(cx, Row::EMPTY)?);
            }
            self.plan.emit_owned(cx, &mut row, out)?;
        }
        Ok(())
    }

    fn rescan(&mut self, _: &mut ExecContext) -> Result<()> {
        self.next = 0;
        Ok(())
    }
}

struct ParamRowsNode {
    plan: Arc<CPlan>,
    /// The first parameter of the next row.
    next: usize,
}

pub(super) fn start_param_rows(plan: Arc<CPlan>) -> BoxedNode {
    Box::new(ParamRowsNode { plan, next: 0 })
}

impl Node for ParamRowsNode {
    fn next(&mut self, cx: &mut ExecContext, out: &mut RowBatch) -> Result<()> {
        let CNode::ParamRows(width) = self.plan.kind else {
            return Err(Error::internal("rows of parameters over another plan"));
        };
        let params = cx.all_params().clone();
        while !out.is_full()
            && let Some(row) = params.get(self.next..self.next + width)
        {
            self.next += width;
            self.plan.emit(cx, Row::of(row), out)?;
        }
        Ok(())
    }

    fn rescan(&mut self, _: &mut ExecContext) -> Result<()> {
        self.next = 0;
        Ok(())
    }
}
