//! Nested loop of rows: the inner side is run for each outer row.

use super::{NestLoopPlan, PROBE_ROWS};
use crate::batch::RowBatch;
use crate::context::ExecContext;
use crate::expr::Row;
use crate::node::{BoxedNode, CNode, CPlan, Input, Node, start as start_node};
use std::sync::Arc;
use steppe_sql::query::JoinKind;
use steppe_types::{Datum, Error, Result};

struct NestLoopNode {
    plan: Arc<CPlan>,
    outer: Input,
    inner: BoxedNode,
    inner_started: bool,
    batch: RowBatch,
    position: usize,
    /// An outer row is being joined.
    open: bool,
    matched: bool,
    nulls: Vec<Datum>,
}

pub(super) fn start(plan: Arc<CPlan>, cx: &mut ExecContext) -> BoxedNode {
    let CNode::NestLoop(join) = &plan.kind else { unreachable!("started as a nested loop") };
    Box::new(NestLoopNode {
        outer: Input::new(&join.outer, cx),
        inner: start_node(&join.inner, cx),
        inner_started: false,
        batch: RowBatch::new(join.inner.width),
        position: 0,
        open: false,
        matched: false,
        nulls: vec![Datum::Null; join.inner.width],
        plan: plan.clone(),
    })
}

impl NestLoopNode {
    fn open_outer(
        &mut self,
        join: &NestLoopPlan,
        cx: &mut ExecContext,
        wanted: usize,
    ) -> Result<bool> {
        if !self.outer.advance(cx, wanted)? {
            return Ok(false);
        }
        join.set_params(self.outer.row(), cx)?;
        if std::mem::replace(&mut self.inner_started, true) {
            self.inner.rescan(cx)?;
        }
        self.batch.clear();
        self.position = 0;
        self.matched = false;
        self.open = true;
        Ok(true)
    }

    /// Joins the open outer row until `out` is full or the inner side has ended.
    fn join_open(
        &mut self,
        join: &NestLoopPlan,
        cx: &mut ExecContext,
        out: &mut RowBatch,
    ) -> Result<()> {
        let first_only = matches!(join.kind, JoinKind::Semi | JoinKind::Anti);
        while !out.is_full() {
            if self.position == self.batch.len() {
                self.batch.clear();
                self.batch.wanted = if first_only { PROBE_ROWS } else { crate::batch::BATCH_ROWS };
                self.position = 0;
                self.inner.next(cx, &mut self.batch)?;
                if self.batch.is_empty() {
                    self.open = false;
                    return self.end_outer(join, cx, out);
                }
                cx.check_interrupts()?;
            }
            let pair = Row::pair(self.outer.row(), self.batch.row(self.position));
            self.position += 1;
            if !self.plan.joins(join.on.as_deref(), cx, pair)? {
                continue;
            }
            self.matched = true;
            match join.kind {
                JoinKind::Semi => {
                    self.open = false;
                    let inner = self.batch.row(self.position - 1);
                    self.plan.emit_semi(cx, (self.outer.row(), inner), out)?;
                    return Ok(());
                }
                JoinKind::Anti => {
                    self.open = false;
                    return Ok(());
                }
                _ => {
                    self.plan.emit(cx, pair, out)?;
                }
            }
        }
        Ok(())
    }

    fn end_outer(
        &mut self,
        join: &NestLoopPlan,
        cx: &mut ExecContext,
        out: &mut RowBatch,
    ) -> Result<()> {
        match join.kind {
            JoinKind::Left if !self.matched => {
                self.plan.emit(cx, Row::pair(self.outer.row(), &self.nulls), out)?;
            }
            JoinKind::Anti if !self.matched => {
                self.plan.emit(cx, Row::of(self.outer.row()), out)?;
            }
            _ => {}
        }
        Ok(())
    }
}

impl Node for NestLoopNode {
    fn next(&mut self, cx: &mut ExecContext, out: &mut RowBatch) -> Result<()> {
        let plan = self.plan.clone();
        let CNode::NestLoop(join) = &plan.kind else {
            return Err(Error::internal("nested loop node over another plan"));
        };
        while !out.is_full() {
            if !self.open && !self.open_outer(join, cx, out.room())? {
                return Ok(());
            }
            self.join_open(join, cx, out)?;
        }
        Ok(())
    }

    fn rescan(&mut self, cx: &mut ExecContext) -> Result<()> {
        self.open = false;
        self.outer.rescan(cx)
        // The inner side is re-scanned for each outer row.
    }
}
