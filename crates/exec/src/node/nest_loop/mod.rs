//! Nested loop join (PostgreSQL's nodeNestloop.c).
//!
//! There are two implementations. [`rows`] sets the inner side's parameters and runs it, for each
//! outer row in turn. [`columns`] joins many outer rows together. The inner side is then an index
//! scan by keys that are columns of the outer row, or rows that are kept for all of them. Both hand
//! up the same rows in the same order.

mod columns;
mod compile;
mod inner;
mod kept;
mod lookup;
mod pairs;
mod rows;
#[cfg(test)]
mod tests;

use super::{BoxedNode, CPlan};
use crate::context::ExecContext;
use crate::expr::{CExpr, Row};
use std::sync::Arc;
use steppe_sql::expr::ExecParamId;
use steppe_sql::query::JoinKind;
use steppe_types::{Datum, Result};

pub(super) use compile::ColumnLoop;

/// Inner rows requested at a time, if one match is enough.
const PROBE_ROWS: usize = 16;

/// A compiled nested loop.
pub(crate) struct NestLoopPlan {
    pub(crate) kind: JoinKind,
    pub(crate) outer: Arc<CPlan>,
    pub(crate) inner: Arc<CPlan>,
    pub(crate) params: Arc<[(ExecParamId, CExpr)]>,
    pub(crate) on: Option<Arc<CExpr>>,
    /// The parts for joining many outer rows together; `None` if they are joined one by one.
    pub(crate) columns: Option<Arc<ColumnLoop>>,
}

impl NestLoopPlan {
    /// Sets the inner side's parameters for an outer row.
    fn set_params(&self, outer: &[Datum], cx: &mut ExecContext) -> Result<()> {
        for (id, expr) in self.params.iter() {
            let value = expr.eval(cx, Row::of(outer))?;
            cx.set_exec_param(*id, value);
        }
        Ok(())
    }
}

pub(super) fn start(plan: Arc<CPlan>, cx: &mut ExecContext) -> BoxedNode {
    match plan.columns {
        Some(_) => columns::start(plan, cx),
        None => rows::start(plan, cx),
    }
}
