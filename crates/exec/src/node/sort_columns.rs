//! Sort of a child's columns.
//!
//! The rows are kept as columns and put in order by byte keys ([`sorted_rows`]); what is handed up
//! is gathered from them, as columns or as rows. With a bound, all but the first rows are dropped
//! whenever there are many more, and of those that come then only what is before the last one
//! that counts is kept.
//!
//! When work_mem is full, all rows go to the sorter of rows, which spills: such a sort is spent on
//! files, not on comparisons.

use super::columns::{ColumnInput, evaluate};
use super::sort::{SortPlan, note_method};
use super::{BoxedNode, CNode, CPlan, Node};
use crate::batch::RowBatch;
use crate::context::{ExecContext, Versions};
use crate::expr::Row;
use crate::sorter::{SortColumn, SortMethod, Sorter};
use crate::vector::{Barrier, COLUMN_ROWS, ColumnBatch, NO_ROW, VExpr, Vector, sorted_rows};
use std::borrow::Cow;
use std::sync::Arc;
use steppe_types::{Error, Result};

/// Rows that are kept at least before those beyond the bound are dropped.
const CUT_ROWS_MIN: usize = 2 * COLUMN_ROWS;
/// Bytes that a row takes beside its values: its place in the order, and the end of its key.
const ROW_BYTES: usize = size_of::<(u64, u32)>() + size_of::<usize>();

/// Rows that are being collected: payload and computed keys side by side.
struct Held {
    keys: Arc<[SortColumn]>,
    columns: Vec<Vector>,
    rows: usize,
    bytes: usize,
    bytes_peak: usize,
    bound: Option<usize>,
    is_cut: bool,
    barrier: Option<Barrier>,
}

impl Held {
    fn new(keys: &Arc<[SortColumn]>, stride: usize, bound: Option<usize>) -> Held {
        Held {
            keys: keys.clone(),
            columns: vec![Vector::default(); stride],
            rows: 0,
            bytes: 0,
            bytes_peak: 0,
            bound,
            is_cut: false,
            barrier: None,
        }
    }

    /// Adds a batch's rows. A column that nobody reads may have no values.
    fn add(&mut self, columns: &[&Vector], rows: usize) -> Result<()> {
        let before =
            self.barrier.as_ref().and_then(|barrier| barrier.before(&self.keys, columns, rows));
        let added = before.as_ref().map_or(rows, Vec::len);
        if added == 0 {
            return Ok(());
        }
        for (held, from) in self.columns.iter_mut().zip(columns) {
            let absent;
            let from = match (held.len(), from.len()) {
                (0, 0) => continue,
                (_, 0) => {
                    absent = Vector::default().pick(&vec![NO_ROW; rows]);
                    &absent
                }
                _ => *from,
            };
            if held.len() < self.rows {
                *held = held.pick(&vec![NO_ROW; self.rows]);
            }
            match &before {
                Some(places) => held.append_rows(from, places),
                None => held.append(from),
            }
        }
        let all = columns.iter().map(|column| column.bytes()).sum::<usize>();
        let keys = self.keys.iter().map(|key| columns[key.index].bytes()).sum::<usize>();
        self.rows += added;
        self.bytes += (all + keys) / rows.max(1) * added + added * ROW_BYTES;
        self.bytes_peak = self.bytes_peak.max(self.bytes);
        match self.bound {
            Some(bound) if self.rows >= bound.saturating_mul(2).max(CUT_ROWS_MIN) => self.cut(),
            _ => Ok(()),
        }
    }

    /// The rows in order, as many as count.
    fn order(&self) -> Result<Vec<u32>> {
        let columns: Vec<&Vector> = self.columns.iter().collect();
        let mut order = sorted_rows(&self.keys, &columns, self.rows)?;
        order.truncate(self.bound.unwrap_or(usize::MAX));
        Ok(order)
    }

    /// Keeps the rows that count.
    fn cut(&mut self) -> Result<()> {
        let order = self.order()?;
        for column in self.columns.iter_mut().filter(|column| column.len() > 0) {
            *column = column.gather(&order);
        }
        self.bytes = self.bytes / self.rows.max(1) * order.len();
        self.rows = order.len();
        self.is_cut = true;
        let columns: Vec<&Vector> = self.columns.iter().collect();
        self.barrier =
            self.rows.checked_sub(1).and_then(|last| Barrier::at(&self.keys, &columns, last));
        Ok(())
    }

    /// Whether no more rows are to be added.
    fn is_full(&self, cx: &ExecContext) -> bool {
        self.bytes > cx.work_mem_bytes || self.rows > u32::MAX as usize / 2
    }

    /// Hands the rows to a sorter of rows.
    fn into_sorter(self, cx: &ExecContext) -> Result<Sorter> {
        let (keys, stride) = (self.keys, self.columns.len());
        let mut sorter = Sorter::new(keys, stride, self.bound, cx.work_mem_bytes, cx.temp()?);
        let mut batch = ColumnBatch::default();
        batch.set(self.rows, self.columns);
        push_rows(&mut sorter, &batch)?;
        Ok(sorter)
    }
}

fn push_rows(sorter: &mut Sorter, batch: &ColumnBatch) -> Result<()> {
    let mut row = Vec::new();
    for i in 0..batch.len() {
        row.clear();
        batch.row_into(i, &mut row)?;
        sorter.push(Row::of(&row))?;
    }
    Ok(())
}

/// Rows in their order.
enum Sorted {
    Columns { rows: ColumnBatch, order: Vec<u32>, next: usize },
    Rows(Box<Sorter>),
}

struct SortColumnsNode {
    plan: Arc<CPlan>,
    child: ColumnInput,
    sorted: Option<(Versions, Sorted)>,
}

pub(super) fn start(plan: Arc<CPlan>, cx: &mut ExecContext) -> BoxedNode {
    let CNode::Sort(sort) = &plan.kind else { unreachable!("started as a sort") };
    let child = ColumnInput::new(&sort.child, cx);
    Box::new(SortColumnsNode { plan: plan.clone(), child, sorted: None })
}

impl SortColumnsNode {
    fn load(&mut self, sort: &SortPlan, cx: &mut ExecContext) -> Result<Sorted> {
        let bound = sort.bound(cx)?;
        let width = sort.child.width;
        let mut held = Held::new(&sort.keys.columns, width + sort.keys.computed.len(), bound);
        let mut batch = ColumnBatch::new(width);
        while self.fill(sort, &mut batch, cx)? {
            let columns: Vec<&Vector> = batch.columns.iter().collect();
            held.add(&columns, batch.len())?;
            if held.is_full(cx) {
                let mut sorter = held.into_sorter(cx)?;
                while self.fill(sort, &mut batch, cx)? {
                    push_rows(&mut sorter, &batch)?;
                }
                sorter.finish()?;
                note_method(&self.plan, sorter.statistics(), cx);
                return Ok(Sorted::Rows(Box::new(sorter)));
            }
        }
        let order = held.order()?;
        let method = if held.is_cut { SortMethod::TopN } else { SortMethod::Quicksort };
        note_method(&self.plan, (method, held.bytes_peak as u64), cx);
        let (mut rows, mut columns) = (ColumnBatch::default(), held.columns);
        columns.truncate(width);
        rows.set(held.rows, columns);
        Ok(Sorted::Columns { rows, order, next: 0 })
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

/// The keys of a batch's rows that are not columns.
fn computed(sort: &SortPlan, batch: &ColumnBatch, cx: &mut ExecContext) -> Result<Vec<Vector>> {
    let exprs: &[VExpr] = sort.columns.as_deref().unwrap_or_default();
    if let Ok(values) = evaluate(exprs, batch, cx) {
        return Ok(values.into_iter().map(Cow::into_owned).collect());
    }
    let mut columns = vec![Vector::default(); sort.keys.computed.len()];
    let mut row = Vec::new();
    for i in 0..batch.len() {
        row.clear();
        batch.row_into(i, &mut row)?;
        for (column, expr) in columns.iter_mut().zip(&sort.keys.computed) {
            column.push(&expr.eval(cx, Row::of(&row))?);
        }
    }
    Ok(columns)
}

impl Sorted {
    /// Puts the next rows into the empty `out`: none at the end.
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
    fn next_row(&mut self, width: usize, out: &mut Vec<steppe_types::Datum>) -> Result<bool> {
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

fn sort_of(plan: &CPlan) -> Result<&SortPlan> {
    match &plan.kind {
        CNode::Sort(sort) => Ok(sort),
        _ => Err(Error::internal("sort node over another plan")),
    }
}

impl SortColumnsNode {
    /// The rows, which are loaded when they are first asked for.
    fn sorted(&mut self, sort: &SortPlan, cx: &mut ExecContext) -> Result<&mut Sorted> {
        if self.sorted.is_none() {
            let versions = cx.versions(&self.plan.dependencies);
            let sorted = self.load(sort, cx)?;
            self.sorted = Some((versions, sorted));
        }
        match &mut self.sorted {
            Some((_, sorted)) => Ok(sorted),
            None => Err(Error::internal("sort was not loaded")),
        }
    }
}

impl Node for SortColumnsNode {
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
