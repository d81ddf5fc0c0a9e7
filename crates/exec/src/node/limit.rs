//! LIMIT and OFFSET (PostgreSQL's nodeLimit.c).

use super::sort::SortKeys;
use super::{BoxedNode, CNode, CPlan, Input, Node};
use crate::batch::{BATCH_ROWS, RowBatch};
use crate::context::ExecContext;
use crate::expr::{CExpr, Row};
use crate::sorter::compare_rows;
use std::sync::Arc;
use steppe_types::{Datum, Error, Result, SqlState};

/// A compiled Limit.
pub(crate) struct LimitPlan {
    pub(crate) child: Arc<CPlan>,
    pub(crate) limit: Option<CExpr>,
    pub(crate) offset: Option<CExpr>,
    pub(crate) ties: Option<SortKeys>,
}

struct LimitNode {
    plan: Arc<CPlan>,
    child: Input,
    /// Rows still to skip and to hand up; `None` before the expressions were evaluated.
    state: Option<(u64, u64)>,
    /// WITH TIES: the last row handed up, with its computed keys.
    last: Vec<Datum>,
    finished: bool,
}

pub(super) fn start(plan: Arc<CPlan>, cx: &mut ExecContext) -> BoxedNode {
    let CNode::Limit(limit) = &plan.kind else { unreachable!("started as a limit") };
    let child = Input::new(&limit.child, cx);
    Box::new(LimitNode {
        plan: plan.clone(),
        child,
        state: None,
        last: Vec::new(),
        finished: false,
    })
}

/// The value of LIMIT or OFFSET; NULL is none.
fn count(
    expr: Option<&CExpr>,
    cx: &mut ExecContext,
    sqlstate: SqlState,
    what: &str,
) -> Result<Option<u64>> {
    let Some(expr) = expr else { return Ok(None) };
    match expr.eval(cx, Row::EMPTY)? {
        Datum::Null => Ok(None),
        Datum::Int8(v) => match u64::try_from(v) {
            Ok(v) => Ok(Some(v)),
            Err(_) => Err(Error::new(sqlstate, format!("{what} must not be negative"))),
        },
        _ => Err(Error::internal("LIMIT or OFFSET is not bigint")),
    }
}

impl LimitNode {
    fn extend_with(keys: &SortKeys, row: &[Datum], cx: &mut ExecContext) -> Result<Vec<Datum>> {
        let mut extended = row.to_vec();
        for expr in &keys.computed {
            extended.push(expr.eval(cx, Row::of(row))?);
        }
        Ok(extended)
    }
}

impl Node for LimitNode {
    fn next(&mut self, cx: &mut ExecContext, out: &mut RowBatch) -> Result<()> {
        let CNode::Limit(limit) = &self.plan.kind else {
            return Err(Error::internal("limit node over another plan"));
        };
        let (mut skip, mut left) = match self.state {
            Some(state) => state,
            None => {
                let offset = SqlState::INVALID_ROW_COUNT_IN_RESULT_OFFSET_CLAUSE;
                let skip = count(limit.offset.as_ref(), cx, offset, "OFFSET")?.unwrap_or(0);
                let rows = SqlState::INVALID_ROW_COUNT_IN_LIMIT_CLAUSE;
                (skip, count(limit.limit.as_ref(), cx, rows, "LIMIT")?.unwrap_or(u64::MAX))
            }
        };
        // LIMIT 0 requests no rows from its input, not even with ties.
        self.finished |= self.state.is_none() && left == 0;
        while !out.is_full() && !self.finished {
            if left == 0 && limit.ties.is_none() {
                self.finished = true;
                break;
            }
            let useful = skip.saturating_add(left).min(BATCH_ROWS as u64) as usize;
            if !self.child.advance(cx, useful.min(out.room() + skip as usize).max(1))? {
                self.finished = true;
                break;
            }
            if skip > 0 {
                skip -= 1;
                continue;
            }
            if let Some(keys) = &limit.ties {
                let row = Self::extend_with(keys, self.child.row(), cx)?;
                if left == 0 && compare_rows(&keys.columns, &row, &self.last).is_ne() {
                    self.finished = true;
                    break;
                }
                self.last = row;
            }
            left = left.saturating_sub(1);
            self.plan.emit(cx, Row::of(self.child.row()), out)?;
        }
        self.state = Some((skip, left));
        Ok(())
    }

    fn rescan(&mut self, cx: &mut ExecContext) -> Result<()> {
        self.state = None;
        self.finished = false;
        self.child.rescan(cx)
    }
}
