//! Full scans of stored tables by columns.
//!
//! Rows come from the cursor in blocks, as bytes. The columns that the first condition of the
//! filter reads are decoded for all rows of a stretch of the block, those that the next one reads
//! for the rows that passed the first, and what only the consumer needs for the rows that are left
//! (late materialisation: Abadi et al., "Materialization Strategies in a Column-Oriented DBMS",
//! 2007).
//!
//! ```text
//!   RowCursor ──▶ block of rows ──▶ condition ──▶ condition ──▶ next_columns: columns
//!                                   columns a      columns b    next: the rows left, one by one
//! ```
//!
//! Why rows, counts and errors are those of the row path:
//!
//! - A stretch ends behind the row with which the consumer has what it wants: rows behind it are
//!   looked at again, or never, and are not counted until then.
//! - If a kernel gives up, the rows of the stretch are filtered and projected one by one, and rows
//!   before one that fails are handed up before.
//! - Which rows the snapshot sees is asked when the block is filled, which may be some rows earlier:
//!   a snapshot sees the same at any time.
//!
//! How many rows are looked at ahead begins with what is wanted, and doubles while that is too few:
//! LIMIT 1 and EXISTS decode a row.

use super::seq_scan::SeqScanPlan;
use super::{BoxedNode, CNode, CPlan, ColumnPlan, Node, project_into};
use crate::access::{ScanColumn, TableAccess};
use crate::accesses;
use crate::batch::RowBatch;
use crate::context::ExecContext;
use crate::expr::Row;
use crate::vector::{COLUMN_ROWS, ColumnBatch, GiveUp, StoredRows, VExpr};
use std::ops::Range;
use std::sync::Arc;
use steppe_txn::{RowBlock, RowCursor};
use steppe_types::{Datum, Error, Result};

/// Fewer rows than that are not worth calling kernels for, where rows are wanted.
const KERNEL_ROWS_MIN: usize = 16;

enum Source {
    Unopened,
    Open(Box<RowCursor>),
    Finished,
}

/// The rows of a table, a block at a time.
struct Blocks {
    source: Source,
    block: RowBlock,
    /// The first row of the block that nobody has looked at.
    position: usize,
    /// How many rows the next block is to have, if its consumer does not want more.
    ahead: usize,
    /// What became of the row behind the block's last one.
    failed: Option<Error>,
}

struct ColumnScanNode {
    plan: Arc<CPlan>,
    blocks: Blocks,
    input: StoredInput,
    /// How many rows are looked at together, if the consumer does not want more.
    stretch: usize,
    row: Vec<Datum>,
}

/// The columns of the rows that are looked at, as far as they have been decoded.
struct StoredInput {
    /// Positions of the scan's columns in the table.
    columns: Box<[usize]>,
    batch: ColumnBatch,
    decoded: Vec<bool>,
    /// Which rows of the block they are.
    rows: Vec<u32>,
}

pub(super) fn start(plan: Arc<CPlan>) -> BoxedNode {
    let CNode::SeqScan(scan) = &plan.kind else { unreachable!("started as a sequential scan") };
    let position = |column: &ScanColumn| match column {
        ScanColumn::Stored(i) => *i,
        // Such scans make no columns.
        _ => usize::MAX,
    };
    let input = StoredInput::new(scan.columns.iter().map(position).collect());
    let blocks = Blocks {
        source: Source::Unopened,
        block: RowBlock::default(),
        position: 0,
        ahead: 0,
        failed: None,
    };
    Box::new(ColumnScanNode { plan, blocks, input, stretch: 0, row: Vec::new() })
}

impl Blocks {
    /// Sees to it that there are rows to look at; false at the end of the table.
    fn fill(&mut self, scan: &SeqScanPlan, cx: &mut ExecContext, wanted: usize) -> Result<bool> {
        if self.position < self.block.len() {
            return Ok(true);
        }
        if let Some(error) = self.failed.take() {
            return Err(error);
        }
        if let Source::Unopened = self.source {
            let rows = scan.open_rows(cx)?;
            self.source = rows.map_or(Source::Finished, |rows| Source::Open(Box::new(rows)));
        }
        let Source::Open(cursor) = &mut self.source else { return Ok(false) };
        cx.check_interrupts()?;
        let wanted = wanted.max(self.ahead).clamp(1, COLUMN_ROWS);
        self.ahead = wanted * 2;
        self.position = 0;
        match cursor.next_rows(&mut self.block, wanted) {
            Ok(true) => Ok(true),
            Ok(false) => {
                self.source = Source::Finished;
                Ok(false)
            }
            Err(error) if self.block.is_empty() => Err(error),
            Err(error) => {
                self.failed = Some(error);
                Ok(true)
            }
        }
    }

    /// Starts again from the first row.
    fn rescan(&mut self) {
        self.source = Source::Unopened;
        self.position = self.block.len();
        self.ahead = 0;
        self.failed = None;
    }

    /// The rows that are looked at next, at most so many.
    fn stretch(&self, most: usize) -> Range<usize> {
        self.position..self.block.len().min(self.position + most)
    }
}

impl StoredInput {
    fn new(columns: Box<[usize]>) -> StoredInput {
        let width = columns.len();
        let batch = ColumnBatch::new(width);
        StoredInput { columns, batch, decoded: vec![false; width], rows: Vec::new() }
    }

    /// Begins with these rows of a block.
    fn begin(&mut self, rows: Range<usize>) {
        self.batch.columns.resize_with(self.columns.len(), Default::default);
        self.decoded.fill(false);
        self.rows.clear();
        self.rows.extend(rows.start as u32..rows.end as u32);
        self.batch.set_rows(self.rows.len());
    }

    /// Decodes columns that have not been.
    fn decode(&mut self, stored: &StoredRows<'_>, columns: &[usize]) -> Result<(), GiveUp> {
        let stored = stored.only(&self.rows);
        for slot in columns {
            let column = *self.columns.get(*slot).ok_or(GiveUp)?;
            if !std::mem::replace(&mut self.decoded[*slot], true) {
                stored.column(column, &mut self.batch.columns[*slot])?;
            }
        }
        Ok(())
    }

    /// Keeps these of the rows, by their places among them; of their columns those that are read
    /// later.
    fn keep(&mut self, places: &[u32], is_read: impl Fn(usize) -> bool) {
        for (slot, decoded) in self.decoded.iter_mut().enumerate() {
            if *decoded && is_read(slot) {
                let column = &mut self.batch.columns[slot];
                *column = column.gather(places);
            } else {
                *decoded = false;
            }
        }
        // In ascending order, so that none is overwritten before it is read.
        places.iter().enumerate().for_each(|(to, from)| self.rows[to] = self.rows[*from as usize]);
        self.rows.truncate(places.len());
        self.batch.set_rows(places.len());
    }

    /// Leaves the rows of a stretch that pass the filter, the first `wanted` of them; says where
    /// the next stretch begins, which is `end` if there are fewer. `for_columns`: what the
    /// projection reads is kept.
    fn filter(
        &mut self,
        plan: &ColumnPlan,
        cx: &mut ExecContext,
        (stored, end): (&StoredRows<'_>, usize),
        (wanted, for_columns): (usize, bool),
    ) -> Result<usize, GiveUp> {
        let is_projected = |slot: usize| for_columns && plan.is_projected(slot);
        for (k, condition) in plan.filter.iter().enumerate() {
            self.decode(stored, &plan.reads[k])?;
            let places = condition.select(cx, &self.batch)?;
            if places.len() < self.rows.len() {
                let later = &plan.reads[k + 1..plan.filter.len()];
                let is_read = |slot| is_projected(slot) || later.iter().any(|s| s.contains(&slot));
                self.keep(&places, is_read);
            }
            if self.rows.is_empty() {
                return Ok(end);
            }
        }
        if self.rows.len() < wanted {
            return Ok(end);
        }
        if self.rows.len() > wanted {
            let first: Vec<u32> = (0..wanted as u32).collect();
            self.keep(&first, is_projected);
        }
        Ok(self.rows.last().map_or(end, |last| *last as usize + 1))
    }

    /// Hands up the rows.
    fn project(
        &mut self,
        plan: &ColumnPlan,
        cx: &mut ExecContext,
        stored: &StoredRows<'_>,
        out: &mut ColumnBatch,
    ) -> Result<(), GiveUp> {
        let rows = self.rows.len();
        let Some(project) = &plan.project else {
            let all: Vec<usize> = (0..self.columns.len()).collect();
            self.decode(stored, &all)?;
            let spare = std::mem::take(&mut out.columns);
            out.set(rows, std::mem::replace(&mut self.batch.columns, spare));
            return Ok(());
        };
        if let Some(read) = plan.reads.last() {
            self.decode(stored, read)?;
        }
        let mut columns = std::mem::take(&mut out.columns);
        columns.resize_with(project.len(), Default::default);
        for (expr, column) in project.iter().zip(&mut columns) {
            if !matches!(expr, VExpr::Slot(_)) {
                *column = expr.eval(cx, &self.batch)?;
            }
        }
        for (k, expr) in project.iter().enumerate() {
            let VExpr::Slot(slot) = expr else { continue };
            let again = |later: &VExpr| matches!(later, VExpr::Slot(s) if s == slot);
            match self.batch.columns.get_mut(*slot) {
                None => return Err(GiveUp),
                Some(column) if project[k + 1..].iter().any(again) => columns[k] = column.clone(),
                // Its place gets the memory of the column that was handed up before.
                Some(column) => std::mem::swap(&mut columns[k], column),
            }
        }
        out.set(rows, columns);
        Ok(())
    }
}

impl ColumnPlan {
    /// Whether an input column is part of what is handed up.
    fn is_projected(&self, slot: usize) -> bool {
        self.project.is_none() || self.reads.last().is_some_and(|read| read.contains(&slot))
    }
}

/// What the node's methods work on.
struct Parts<'p> {
    plan: &'p CPlan,
    scan: &'p SeqScanPlan,
    columns: &'p ColumnPlan,
}

impl Parts<'_> {
    fn of(plan: &CPlan) -> Result<Parts<'_>> {
        match (&plan.kind, &plan.columns) {
            (CNode::SeqScan(scan), Some(columns)) => Ok(Parts { plan, scan, columns }),
            _ => Err(Error::internal("column scan node over another plan")),
        }
    }

    fn table(&self) -> &TableAccess {
        &self.scan.table
    }

    /// Counts rows that kernels have dropped.
    fn dropped(&self, cx: &mut ExecContext, rows: usize) {
        if rows > 0
            && let Some(instrument) = cx.instrument(self.plan.id)
        {
            instrument.filtered += rows as u64;
        }
    }
}

impl ColumnScanNode {
    /// How many rows are looked at together, of which so many are wanted.
    fn stretch_for(&self, parts: &Parts<'_>, wanted: usize) -> Range<usize> {
        let wanted = wanted.clamp(1, COLUMN_ROWS);
        let filters = !parts.columns.filter.is_empty();
        self.blocks.stretch(if filters { wanted.max(self.stretch) } else { wanted })
    }

    /// Looks at more rows the next time if too few of those passed.
    fn adapt(&mut self, looked_at: usize, passed: usize, wanted: usize) {
        if passed < wanted {
            self.stretch = (looked_at.max(self.stretch) * 2).min(COLUMN_ROWS);
        } else if passed * 2 < looked_at {
            self.stretch = looked_at / 2;
        }
    }

    /// The next rows of a stretch as columns; none need pass.
    fn columns_of_stretch(
        &mut self,
        parts: &Parts<'_>,
        cx: &mut ExecContext,
        out: &mut ColumnBatch,
    ) -> Result<()> {
        let wanted = out.wanted.max(1);
        let stretch = self.stretch_for(parts, wanted);
        let table = parts.table();
        let decode = |row: &[u8], i: usize| table.decode_column(row, i);
        let stored = StoredRows::new(&table.layout, &self.blocks.block, stretch.clone(), &decode);
        self.input.begin(stretch.clone());
        let filtered = self.input.filter(parts.columns, cx, (&stored, stretch.end), (wanted, true));
        let done = filtered.and_then(|end| {
            if !self.input.rows.is_empty() {
                self.input.project(parts.columns, cx, &stored, out)?;
            }
            Ok(end)
        });
        let Ok(end) = done else { return self.one_by_one(parts, cx, stretch, out) };
        self.blocks.position = end;
        let (looked_at, passed) = (end - stretch.start, self.input.rows.len());
        parts.dropped(cx, looked_at - passed);
        self.adapt(looked_at, passed, wanted);
        Ok(())
    }

    /// The rows of a stretch as columns where kernels cannot make them.
    fn one_by_one(
        &mut self,
        parts: &Parts<'_>,
        cx: &mut ExecContext,
        stretch: Range<usize>,
        out: &mut ColumnBatch,
    ) -> Result<()> {
        out.clear();
        out.columns.resize_with(parts.plan.width, Default::default);
        let mut one = RowBatch::new(parts.plan.width);
        for i in stretch {
            self.decode_row(parts, i)?;
            parts.plan.emit_owned(cx, &mut self.row, &mut one)?;
            one.iter().for_each(|row| out.push_row(row));
            one.clear();
            if out.len() >= out.wanted || out.is_large() {
                break;
            }
        }
        Ok(())
    }

    /// Puts the next rows of a stretch into `out`; none need pass.
    fn rows_of_stretch(
        &mut self,
        parts: &Parts<'_>,
        cx: &mut ExecContext,
        out: &mut RowBatch,
    ) -> Result<()> {
        let wanted = out.room();
        let stretch = self.stretch_for(parts, wanted);
        if parts.columns.filter.is_empty() || stretch.len() < KERNEL_ROWS_MIN {
            return self.filter_rows(parts, cx, stretch, out);
        }
        let table = parts.table();
        let decode = |row: &[u8], i: usize| table.decode_column(row, i);
        let stored = StoredRows::new(&table.layout, &self.blocks.block, stretch.clone(), &decode);
        self.input.begin(stretch.clone());
        let filtered =
            self.input.filter(parts.columns, cx, (&stored, stretch.end), (wanted, false));
        let Ok(end) = filtered else { return self.filter_rows(parts, cx, stretch, out) };
        let mut passed = 0;
        let mut result = Ok(());
        while result.is_ok() && passed < self.input.rows.len() {
            let row = self.input.rows[passed] as usize;
            passed += 1;
            result = self.decode_row(parts, row).and_then(|()| match &parts.plan.project {
                None => {
                    out.push_owned(&mut self.row);
                    Ok(())
                }
                Some(project) => project_into(project, cx, Row::of(&self.row), out),
            });
        }
        if result.is_ok() {
            self.blocks.position = end;
            self.adapt(end - stretch.start, passed, wanted);
        }
        parts.dropped(cx, self.blocks.position - stretch.start - passed);
        result
    }

    /// Filters and projects rows of the block, as many as there is room for.
    fn filter_rows(
        &mut self,
        parts: &Parts<'_>,
        cx: &mut ExecContext,
        rows: Range<usize>,
        out: &mut RowBatch,
    ) -> Result<()> {
        let (from, before, wanted) = (rows.start, out.len(), out.room());
        for i in rows {
            if out.is_full() {
                break;
            }
            self.decode_row(parts, i)?;
            parts.plan.emit_owned(cx, &mut self.row, out)?;
        }
        self.adapt(self.blocks.position - from, out.len() - before, wanted);
        Ok(())
    }

    /// Decodes row `i` of the block: the next one is looked at next.
    #[inline]
    fn decode_row(&mut self, parts: &Parts<'_>, i: usize) -> Result<()> {
        self.blocks.position = i + 1;
        self.row.clear();
        let row = self.blocks.block.row(i);
        parts.table().decode_stored(row, &self.input.columns, &mut self.row)
    }

    /// Fills a batch: `take` takes one stretch, `wanted` says how many more rows are.
    fn fill<B>(
        &mut self,
        cx: &mut ExecContext,
        (out, wanted): (&mut B, fn(&B) -> usize),
        take: fn(&mut Self, &Parts<'_>, &mut ExecContext, &mut B) -> Result<()>,
    ) -> Result<()> {
        let plan = self.plan.clone();
        let parts = Parts::of(&plan)?;
        let (mut read, mut result) = (0, Ok(()));
        while result.is_ok() && wanted(out) > 0 {
            match self.blocks.fill(parts.scan, cx, wanted(out)) {
                Ok(true) => {}
                Ok(false) => break,
                Err(error) => {
                    result = Err(error);
                    break;
                }
            }
            let from = self.blocks.position;
            result = take(self, &parts, cx, out);
            read += self.blocks.position - from;
        }
        if read > 0 {
            accesses::found(parts.table().oid, read as u64, 0);
        }
        result
    }
}

impl Node for ColumnScanNode {
    fn next(&mut self, cx: &mut ExecContext, out: &mut RowBatch) -> Result<()> {
        self.fill(cx, (out, |out| out.room()), Self::rows_of_stretch)
    }

    fn next_columns(&mut self, cx: &mut ExecContext, out: &mut ColumnBatch) -> Result<()> {
        // What one stretch gives is a batch.
        let wanted = |out: &ColumnBatch| if out.is_empty() { out.wanted.max(1) } else { 0 };
        self.fill(cx, (out, wanted), Self::columns_of_stretch)
    }

    fn rescan(&mut self, _: &mut ExecContext) -> Result<()> {
        self.blocks.rescan();
        Ok(())
    }
}
