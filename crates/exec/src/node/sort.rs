//! Sort (nodeSort.c).
//!
//! Rows are kept in the form in which the child hands them up. A [`Sorter`] takes rows, and spills.
//! Columns are kept as such ([`Held`]) and sorted by byte keys. When work_mem is full, a sorter of
//! rows takes them over, since files then cost more than comparisons. The node hands up columns or
//! rows, as the node above wants.
//!
//! The form is chosen when the plan is compiled, since the node above must know whether it gets
//! columns. The estimate decides: few rows of a child that could hand up columns are taken as rows.
//! In EXPLAIN ANALYZE for one key of text, columns take 1 µs more than rows for 3 rows, the same
//! for 20, and 2 of 6 µs less for 100. A scan of so few rows hands up rows anyway.

use super::columns::ColumnInput;
use super::sort_columns::{Held, computed, push_rows};
use super::{BoxedNode, CNode, CPlan, Node};
use crate::batch::RowBatch;
use crate::context::{ExecContext, Note, Versions};
use crate::expr::{CExpr, Row};
use crate::sorter::{SortColumn, SortMethod, Sorter, bound_from};
use crate::vector::{COLUMN_ROWS, ColumnBatch, VExpr, Vector};
use std::sync::Arc;
use steppe_types::{Datum, Error, Result};

/// A compiled Sort.
pub(crate) struct SortPlan {
    pub(crate) child: Arc<CPlan>,
    pub(crate) keys: SortKeys,
    pub(crate) bound: Option<CExpr>,
    /// The computed keys over the child's columns; `None` if rows are taken.
    pub(crate) columns: Option<Box<[VExpr]>>,
}

impl SortPlan {
    /// The bound of the rows that count, if there is one.
    pub(super) fn bound(&self, cx: &mut ExecContext) -> Result<Option<usize>> {
        match &self.bound {
            Some(expr) => bound_from(&expr.eval(cx, Row::EMPTY)?),
            None => Ok(None),
        }
    }

    /// The number of columns of a stored row: the child's and the computed keys.
    fn stride(&self) -> usize {
        self.child.width + self.keys.computed.len()
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

/// Rows in their order.
enum Sorted {
    Columns { rows: ColumnBatch, order: Vec<u32>, next: usize },
    Rows(Box<Sorter>),
}

struct SortNode {
    plan: Arc<CPlan>,
    child: ColumnInput,
    sorted: Option<(Versions, Sorted)>,
}

pub(super) fn start(plan: Arc<CPlan>, cx: &mut ExecContext) -> BoxedNode {
    let CNode::Sort(sort) = &plan.kind else { unreachable!("started as a sort") };
    let child = ColumnInput::new(&sort.child, cx);
    Box::new(SortNode { plan, child, sorted: None })
}

impl SortNode {
    /// The rows, which are loaded at the first call.
    fn sorted(&mut self, sort: &SortPlan, cx: &mut ExecContext) -> Result<&mut Sorted> {
        if self.sorted.is_none() {
            let versions = cx.versions(&self.plan.dependencies);
            let sorted = match sort.columns.is_some() {
                true => self.load_columns(sort, cx)?,
                false => self.load_rows(sort, cx)?,
            };
            self.sorted = Some((versions, sorted));
        }
        match &mut self.sorted {
            Some((_, sorted)) => Ok(sorted),
            None => Err(Error::internal("sort was not loaded")),
        }
    }

    fn load_rows(&mut self, sort: &SortPlan, cx: &mut ExecContext) -> Result<Sorted> {
        let bound = sort.bound(cx)?;
        let (keys, stride) = (sort.keys.columns.clone(), sort.stride());
        let mut sorter = Sorter::new(keys, stride, bound, cx.work_mem_bytes, cx.temp()?);
        let mut batch = RowBatch::new(sort.child.width);
        let mut computed = Vec::new();
        loop {
            batch.clear();
            self.child.node().next(cx, &mut batch)?;
            if batch.is_empty() {
                break;
            }
            cx.check_interrupts()?;
            for row in batch.iter() {
                sort.keys.push(&mut sorter, row, &mut computed, cx)?;
            }
        }
        self.finish(sorter, cx)
    }

    fn load_columns(&mut self, sort: &SortPlan, cx: &mut ExecContext) -> Result<Sorted> {
        let bound = sort.bound(cx)?;
        let width = sort.child.width;
        let mut held = Held::new(&sort.keys.columns, sort.stride(), bound);
        let mut batch = ColumnBatch::new(width);
        while self.fill(sort, &mut batch, cx)? {
            let columns: Vec<&Vector> = batch.columns.iter().collect();
            held.add(&columns, batch.len())?;
            if held.is_full(cx) {
                let mut sorter = held.into_sorter(cx)?;
                while self.fill(sort, &mut batch, cx)? {
                    push_rows(&mut sorter, &batch)?;
                }
                return self.finish(sorter, cx);
            }
        }
        let (rows, order, how) = held.finish(width)?;
        note_method(&self.plan, how, cx);
        Ok(Sorted::Columns { rows, order, next: 0 })
    }

    /// All rows are in the sorter.
    fn finish(&mut self, mut sorter: Sorter, cx: &mut ExecContext) -> Result<Sorted> {
        sorter.finish()?;
        note_method(&self.plan, sorter.statistics(), cx);
        Ok(Sorted::Rows(Box::new(sorter)))
    }

    /// Fills `batch` with the child's next rows and their computed keys; false at the end.
    fn fill(
        &mut self,
        sort: &SortPlan,
        batch: &mut ColumnBatch,
        cx: &mut ExecContext,
    ) -> Result<bool> {
        batch.columns.truncate(sort.child.width);
        batch.clear();
        let filled = self.child.next(cx, batch);
        if filled.is_err() && cx.is_overtaken {
            return filled.map(|()| false);
        }
        cx.check_interrupts()?;
        if !batch.is_empty() && !sort.keys.computed.is_empty() {
            let mut computed = computed(sort, batch, cx)?;
            batch.columns.append(&mut computed);
        }
        filled?;
        Ok(!batch.is_empty())
    }
}

impl Sorted {
    /// Puts the next rows into the empty `out`; none at the end.
    fn next_columns(&mut self, width: usize, out: &mut ColumnBatch) -> Result<()> {
        let wanted = out.wanted.clamp(1, COLUMN_ROWS);
        match self {
            Sorted::Columns { rows, order, next } => {
                let places = &order[*next..order.len().min(*next + wanted)];
                *next += places.len();
                out.set(places.len(), rows.gather(places).columns);
            }
            Sorted::Rows(sorter) => {
                out.set(0, vec![Vector::default(); width]);
                let mut row = Vec::with_capacity(width);
                while out.len() < wanted && !out.is_large() && sorter.next(width, &mut row)? {
                    out.push_row(&row);
                    row.clear();
                }
            }
        }
        Ok(())
    }

    /// Appends the next row; false at the end.
    fn next_row(&mut self, width: usize, out: &mut Vec<Datum>) -> Result<bool> {
        match self {
            Sorted::Columns { rows, order, next } => {
                let Some(place) = order.get(*next) else { return Ok(false) };
                *next += 1;
                rows.row_into(*place as usize, out)?;
                Ok(true)
            }
            Sorted::Rows(sorter) => sorter.next(width, out),
        }
    }
}

/// EXPLAIN ANALYZE's "Sort Method" line.
fn note_method(plan: &CPlan, how: (SortMethod, u64), cx: &mut ExecContext) {
    let Some(instrument) = cx.instrument(plan.id) else { return };
    let (method, bytes) = how;
    let (method, on_disk) = (method.name(), method == SortMethod::ExternalMerge);
    let kilobytes = bytes.div_ceil(1024).max(25);
    instrument.note = Some(Note::Sort { method, on_disk, kilobytes });
}

fn sort_of(plan: &CPlan) -> Result<&SortPlan> {
    match &plan.kind {
        CNode::Sort(sort) => Ok(sort),
        _ => Err(Error::internal("sort node over another plan")),
    }
}

impl Node for SortNode {
    fn next(&mut self, cx: &mut ExecContext, out: &mut RowBatch) -> Result<()> {
        let plan = self.plan.clone();
        let sort = sort_of(&plan)?;
        let sorted = self.sorted(sort, cx)?;
        let (width, mut row) = (sort.child.width, Vec::new());
        while !out.is_full() {
            if plan.is_plain() {
                if !sorted.next_row(width, out.open_row())? {
                    break;
                }
                out.finish_row();
                continue;
            }
            row.clear();
            if !sorted.next_row(width, &mut row)? {
                break;
            }
            plan.emit_owned(cx, &mut row, out)?;
        }
        Ok(())
    }

    fn next_columns(&mut self, cx: &mut ExecContext, out: &mut ColumnBatch) -> Result<()> {
        let plan = self.plan.clone();
        let sort = sort_of(&plan)?;
        let width = sort.child.width;
        if plan.is_plain() {
            return self.sorted(sort, cx)?.next_columns(width, out);
        }
        let mut rows = ColumnBatch::new(width);
        while out.is_empty() {
            rows.wanted = out.wanted;
            self.sorted(sort, cx)?.next_columns(width, &mut rows)?;
            if rows.is_empty() {
                break;
            }
            cx.check_interrupts()?;
            plan.emit_columns(cx, &rows, out)?;
        }
        Ok(())
    }

    fn rescan(&mut self, cx: &mut ExecContext) -> Result<()> {
        match &mut self.sorted {
            Some((versions, sorted)) if versions.current(cx) => match sorted {
                Sorted::Columns { next, .. } => *next = 0,
                Sorted::Rows(sorter) => sorter.rewind()?,
            },
            _ => {
                self.sorted = None;
                self.child.rescan(cx)?;
            }
        }
        Ok(())
    }
}
