//! Sort.

use super::{BoxedNode, CNode, CPlan, Node, sort_columns, start as start_node};
use crate::batch::RowBatch;
use crate::context::{ExecContext, Note, Versions};
use crate::expr::{CExpr, Row};
use crate::sorter::{SortColumn, SortMethod, Sorter, bound_from};
use crate::vector::VExpr;
use std::sync::Arc;
use steppe_types::{Datum, Error, Result};

/// A compiled Sort.
pub(crate) struct SortPlan {
    pub(crate) child: Arc<CPlan>,
    pub(crate) keys: SortKeys,
    pub(crate) bound: Option<CExpr>,
    /// The computed keys over the child's columns; `None`: it takes rows.
    pub(crate) columns: Option<Box<[VExpr]>>,
}

impl SortPlan {
    /// How many rows count, if not all.
    pub(super) fn bound(&self, cx: &mut ExecContext) -> Result<Option<usize>> {
        match &self.bound {
            Some(expr) => bound_from(&expr.eval(cx, Row::EMPTY)?),
            None => Ok(None),
        }
    }
}

/// Sort keys over rows of some width: plain columns are named, others computed and appended.
pub(crate) struct SortKeys {
    pub(crate) columns: Arc<[SortColumn]>,
    pub(crate) computed: Box<[CExpr]>,
}

impl SortKeys {
    /// Adds a row with its computed keys to a sorter.
    pub(crate) fn push(
        &self,
        sorter: &mut Sorter,
        row: &[Datum],
        computed: &mut Vec<Datum>,
        cx: &mut ExecContext,
    ) -> Result<()> {
        computed.clear();
        for expr in &self.computed {
            computed.push(expr.eval(cx, Row::of(row))?);
        }
        sorter.push(Row::pair(row, computed))
    }
}

struct SortNode {
    plan: Arc<CPlan>,
    child: BoxedNode,
    sorted: Option<(Versions, Sorter)>,
    scratch: Vec<Datum>,
}

pub(super) fn start(plan: Arc<CPlan>, cx: &mut ExecContext) -> BoxedNode {
    let CNode::Sort(sort) = &plan.kind else { unreachable!("started as a sort") };
    if sort.columns.is_some() {
        return sort_columns::start(plan, cx);
    }
    let child = start_node(&sort.child, cx);
    Box::new(SortNode { plan: plan.clone(), child, sorted: None, scratch: Vec::new() })
}

impl SortNode {
    fn load(&mut self, cx: &mut ExecContext) -> Result<()> {
        let CNode::Sort(sort) = &self.plan.kind else {
            return Err(Error::internal("sort node over another plan"));
        };
        let bound = sort.bound(cx)?;
        let width = sort.child.width;
        let mut sorter = Sorter::new(
            sort.keys.columns.clone(),
            width + sort.keys.computed.len(),
            bound,
            cx.work_mem_bytes,
            cx.temp()?,
        );
        let versions = cx.versions(&self.plan.dependencies);
        let mut batch = RowBatch::new(width);
        let mut computed = Vec::new();
        loop {
            batch.clear();
            self.child.next(cx, &mut batch)?;
            if batch.is_empty() {
                break;
            }
            cx.check_interrupts()?;
            for row in batch.iter() {
                sort.keys.push(&mut sorter, row, &mut computed, cx)?;
            }
        }
        sorter.finish()?;
        note_method(&self.plan, sorter.statistics(), cx);
        self.sorted = Some((versions, sorter));
        Ok(())
    }
}

/// EXPLAIN ANALYZE's "Sort Method" line.
pub(super) fn note_method(plan: &CPlan, how: (SortMethod, u64), cx: &mut ExecContext) {
    let Some(instrument) = cx.instrument(plan.id) else { return };
    let (method, bytes) = how;
    let (method, on_disk) = (method.name(), method == SortMethod::ExternalMerge);
    let kilobytes = bytes.div_ceil(1024).max(25);
    instrument.note = Some(Note::Sort { method, on_disk, kilobytes });
}

impl Node for SortNode {
    fn next(&mut self, cx: &mut ExecContext, out: &mut RowBatch) -> Result<()> {
        if self.sorted.is_none() {
            self.load(cx)?;
        }
        let CNode::Sort(sort) = &self.plan.kind else {
            return Err(Error::internal("sort node over another plan"));
        };
        let width = sort.child.width;
        let Some((_, sorter)) = &mut self.sorted else {
            return Err(Error::internal("sort was not loaded"));
        };
        while !out.is_full() {
            if self.plan.is_plain() {
                if !sorter.next(width, out.open_row())? {
                    break;
                }
                out.finish_row();
                continue;
            }
            self.scratch.clear();
            if !sorter.next(width, &mut self.scratch)? {
                break;
            }
            self.plan.emit_owned(cx, &mut self.scratch, out)?;
        }
        Ok(())
    }

    fn rescan(&mut self, cx: &mut ExecContext) -> Result<()> {
        match &mut self.sorted {
            Some((versions, sorter)) if versions.current(cx) => sorter.rewind(),
            _ => {
                self.sorted = None;
                self.child.rescan(cx)
            }
        }
    }
}
