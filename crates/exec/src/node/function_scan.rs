//! Functions in FROM, and set-returning functions in the target list
//! (PostgreSQL's nodeFunctionscan.c, nodeProjectSet.c).
//!
//! Rows are made only when they are needed: `generate_series(1, 1e9) LIMIT 1` makes one row.

use super::{BoxedNode, CNode, CPlan, Input, Node};
use crate::batch::RowBatch;
use crate::context::ExecContext;
use crate::expr::{CExpr, Row, SetCall, SetCode, eval_args};
use crate::tuplestore::{StoreReader, TupleStore};
use std::sync::Arc;
use steppe_functions::{SetRows, as_one_value};
use steppe_types::{Datum, Error, Result};

/// A function in FROM.
pub(crate) enum FromCall {
    Set(SetCall),
    /// A scalar function is a set of one row.
    Scalar(CExpr),
}

/// A compiled FunctionScan.
pub(crate) struct FunctionScanPlan {
    /// The calls with the number of columns each yields.
    pub(crate) calls: Box<[(FromCall, usize)]>,
    pub(crate) ordinality: bool,
}

/// A running call.
enum Running {
    Set(Box<dyn SetRows>),
    /// The rows of a user's function, which has ended.
    Stored(Box<(TupleStore, StoreReader)>),
    Once(Option<Datum>),
    Ended,
}

impl Running {
    fn start(call: &FromCall, cx: &mut ExecContext) -> Result<Running> {
        match call {
            FromCall::Set(call) => start_set(call, cx, Row::EMPTY),
            FromCall::Scalar(expr) => Ok(Running::Once(Some(expr.eval(cx, Row::EMPTY)?))),
        }
    }

    /// Appends the next row's columns; false (and nothing appended) at the end.
    fn next(&mut self, width: usize, out: &mut Vec<Datum>, cx: &mut ExecContext) -> Result<bool> {
        let start = out.len();
        let more = match self {
            Running::Set(rows) => rows.next(out, &mut cx.functions)?,
            Running::Stored(stored) => stored.0.read_one(&mut stored.1, out)?,
            Running::Once(value) => match value.take() {
                Some(Datum::Record(columns)) if width != 1 => {
                    out.extend(columns.iter().cloned());
                    true
                }
                Some(value) => {
                    out.push(value);
                    true
                }
                None => false,
            },
            Running::Ended => false,
        };
        if !more {
            *self = Running::Ended;
            out.truncate(start);
            return Ok(false);
        }
        if width == 1 {
            as_one_value(out, start);
        }
        out.resize(start + width, Datum::Null);
        Ok(true)
    }

    /// Puts the next rows, of one column, into `out`; false when there are no more.
    fn fill(&mut self, out: &mut RowBatch, cx: &mut ExecContext) -> Result<bool> {
        let (wanted, start) = (out.room(), out.len());
        if let Running::Set(rows) = self {
            out.fill(|values| rows.fill(wanted, values, &mut cx.functions))?;
        } else {
            while !out.is_full() && self.next(1, out.open_row(), cx)? {
                out.finish_row();
            }
        }
        let more = out.len() - start == wanted;
        if !more {
            *self = Running::Ended;
        }
        Ok(more)
    }
}

fn start_set(call: &SetCall, cx: &mut ExecContext, row: Row<'_>) -> Result<Running> {
    match eval_args(&call.args, call.strict, cx, row)? {
        // A strict set-returning function over a NULL is the empty set.
        None => Ok(Running::Ended),
        Some(args) => Ok(match &call.code {
            SetCode::Native(function, info) => {
                Running::Set(function(&args, info, &mut cx.functions)?)
            }
            SetCode::Routine(routine) => {
                Running::Stored(Box::new((routine.rows(&args, cx)?, StoreReader::default())))
            }
        }),
    }
}

struct FunctionScanNode {
    plan: Arc<CPlan>,
    running: Option<Vec<Running>>,
    ordinal: i64,
}

pub(super) fn start_function_scan(plan: Arc<CPlan>) -> BoxedNode {
    Box::new(FunctionScanNode { plan, running: None, ordinal: 0 })
}

impl Node for FunctionScanNode {
    fn next(&mut self, cx: &mut ExecContext, out: &mut RowBatch) -> Result<()> {
        let CNode::FunctionScan(scan) = &self.plan.kind else {
            return Err(Error::internal("function scan node over another plan"));
        };
        if self.running.is_none() {
            let running: Result<Vec<Running>> =
                scan.calls.iter().map(|(call, _)| Running::start(call, cx)).collect();
            self.running = Some(running?);
        }
        let Some(running) = &mut self.running else {
            return Err(Error::internal("function scan has no calls"));
        };
        if let ([call], [(_, 1)], false) = (&mut running[..], &scan.calls[..], scan.ordinality)
            && self.plan.is_plain()
        {
            cx.check_interrupts()?;
            call.fill(out, cx)?;
            return Ok(());
        }
        if let ([Running::Stored(stored)], [(_, 2..)], false) =
            (&mut running[..], &scan.calls[..], scan.ordinality)
            && self.plan.is_plain()
            && stored.0.width() == out.width()
        {
            cx.check_interrupts()?;
            return stored.0.read(&mut stored.1, out);
        }
        let mut row = Vec::new();
        let mut produced = 0u32;
        while !out.is_full() {
            produced += 1;
            if produced.is_multiple_of(1024) {
                cx.check_interrupts()?;
            }
            row.clear();
            let mut any = false;
            for (call, (_, width)) in running.iter_mut().zip(&scan.calls) {
                if call.next(*width, &mut row, cx)? {
                    any = true;
                } else {
                    row.resize(row.len() + width, Datum::Null);
                }
            }
            if !any {
                break;
            }
            if scan.ordinality {
                self.ordinal += 1;
                row.push(Datum::Int8(self.ordinal));
            }
            self.plan.emit_owned(cx, &mut row, out)?;
        }
        Ok(())
    }

    fn rescan(&mut self, _: &mut ExecContext) -> Result<()> {
        self.running = None;
        self.ordinal = 0;
        Ok(())
    }
}

/// A target of a ProjectSet.
pub(crate) enum SetTarget {
    Set(SetCall),
    Scalar(CExpr),
}

/// A compiled ProjectSet.
pub(crate) struct ProjectSetPlan {
    pub(crate) child: Arc<CPlan>,
    pub(crate) targets: Box<[SetTarget]>,
}

struct ProjectSetNode {
    plan: Arc<CPlan>,
    child: Input,
    /// The calls over the present input row; `None` where a scalar stands.
    running: Option<Vec<Option<Running>>>,
}

pub(super) fn start_project_set(plan: Arc<CPlan>, cx: &mut ExecContext) -> BoxedNode {
    let CNode::ProjectSet(project) = &plan.kind else { unreachable!("started as a project-set") };
    let child = Input::new(&project.child, cx);
    Box::new(ProjectSetNode { plan, child, running: None })
}

impl ProjectSetNode {
    /// One output row: each set's next value, or NULL once it has ended, beside the scalars. False
    /// when all sets have ended.
    fn next_row(
        &mut self,
        project: &ProjectSetPlan,
        cx: &mut ExecContext,
        row: &mut Vec<Datum>,
    ) -> Result<bool> {
        let Some(running) = &mut self.running else { return Ok(false) };
        let mut any = false;
        for (target, call) in project.targets.iter().zip(running) {
            match (target, call) {
                (SetTarget::Set(_), Some(call)) => {
                    if call.next(1, row, cx)? {
                        any = true;
                    } else {
                        row.push(Datum::Null);
                    }
                }
                (SetTarget::Scalar(expr), _) => row.push(expr.eval(cx, Row::of(self.child.row()))?),
                (SetTarget::Set(_), None) => {
                    return Err(Error::internal("set-returning target was not started"));
                }
            }
        }
        Ok(any)
    }
}

impl Node for ProjectSetNode {
    fn next(&mut self, cx: &mut ExecContext, out: &mut RowBatch) -> Result<()> {
        let plan = self.plan.clone();
        let CNode::ProjectSet(project) = &plan.kind else {
            return Err(Error::internal("project-set node over another plan"));
        };
        let mut row = Vec::with_capacity(plan.width);
        while !out.is_full() {
            if self.running.is_none() {
                if !self.child.advance(cx, out.room())? {
                    return Ok(());
                }
                cx.check_interrupts()?;
                let input = Row::of(self.child.row());
                let start = |target: &SetTarget| match target {
                    SetTarget::Set(call) => start_set(call, cx, input).map(Some),
                    SetTarget::Scalar(_) => Ok(None),
                };
                self.running = Some(project.targets.iter().map(start).collect::<Result<Vec<_>>>()?);
            }
            if let Some([Some(call)]) = self.running.as_deref_mut() {
                cx.check_interrupts()?;
                if !call.fill(out, cx)? {
                    self.running = None;
                }
                continue;
            }
            row.clear();
            if self.next_row(project, cx, &mut row)? {
                out.push_owned(&mut row);
            } else {
                self.running = None;
            }
        }
        Ok(())
    }

    fn rescan(&mut self, cx: &mut ExecContext) -> Result<()> {
        self.running = None;
        self.child.rescan(cx)
    }
}
