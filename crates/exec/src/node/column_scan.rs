//! Scans of stored rows by columns.
//!
//! ```text
//!   row_blocks         stored_input
//!   block of rows ──▶ condition ──▶ condition ──▶ next_columns: columns
//!                     columns a      columns b    next: the rows left, one by one
//!              └─ no condition ─▶ next_stored: the rows as they are
//! ```
//!
//! Rows are read in blocks, as bytes, from a table, a bitmap or an index. From each stretch of a
//! block only the needed columns are decoded, and only for the rows that need them
//! (`stored_input`).
//!
//! Rows, counts and errors are those of the row path:
//!
//! - A stretch ends behind the row with which the consumer has enough. The rows behind it are
//!   counted only if they are read later.
//! - If a kernel gives up, the rows of the stretch are filtered and projected one by one. The rows
//!   before a failing one are handed up first.
//! - A block is read ahead of its consumer; `row_blocks` says why that has no visible effect.
//!
//! The number of rows decoded ahead begins with the number wanted, and doubles while that is too
//! few. So LIMIT 1 and EXISTS decode one row.

use super::bitmap_blocks::BitmapBlocks;
use super::index_blocks::IndexBlocks;
use super::row_blocks::{BlockSource, Blocks, TableBlocks};
use super::stored_input::StoredInput;
use super::{BoxedNode, CNode, CPlan, ColumnPlan, Node, StoredSink, project_into};
use crate::access::{ScanColumn, TableAccess};
use crate::batch::RowBatch;
use crate::context::ExecContext;
use crate::expr::Row;
use crate::vector::{COLUMN_ROWS, ColumnBatch, StoredRows};
use std::ops::Range;
use std::sync::Arc;
use steppe_types::{Datum, Error, Result};

/// Fewer rows are not worth a call of kernels, if rows are wanted.
const KERNEL_ROWS_MIN: usize = 16;

struct ColumnScanNode {
    plan: Arc<CPlan>,
    blocks: Blocks,
    input: StoredInput,
    /// The number of rows decoded together, if the consumer does not want more.
    stretch: usize,
    row: Vec<Datum>,
    /// The number of rows whose keys were compared with a join's, and the number of matches.
    sought: (usize, usize),
}

/// The number of rows compared with a join's keys before the scan decides whether enough of them
/// are dropped.
const SOUGHT_ROWS: usize = 8 * COLUMN_ROWS;

pub(super) fn start(plan: Arc<CPlan>) -> BoxedNode {
    let columns = plan.kind.scanned().map_or(Box::default(), |scanned| scanned.positions());
    let source: Box<dyn BlockSource> = match &plan.kind {
        CNode::SeqScan(_) => Box::new(TableBlocks::default()),
        CNode::BitmapScan(_) => Box::new(BitmapBlocks::new(columns.clone())),
        CNode::IndexScan(_) => Box::new(IndexBlocks::default()),
        _ => unreachable!("started as a scan of stored rows"),
    };
    let (blocks, input) = (Blocks::new(source), StoredInput::new(columns));
    Box::new(ColumnScanNode { plan, blocks, input, stretch: 0, row: Vec::new(), sought: (0, 0) })
}

/// A scan of one table's stored rows.
#[derive(Clone, Copy)]
pub(super) struct Scanned<'p> {
    pub(super) table: &'p TableAccess,
    columns: &'p [ScanColumn],
}

impl CNode {
    /// The table and columns of a node that can hand up columns of stored rows.
    pub(super) fn scanned(&self) -> Option<Scanned<'_>> {
        let (table, columns) = match self {
            CNode::SeqScan(scan) if scan.is_of_stored_rows() => (&scan.table, &scan.columns),
            CNode::BitmapScan(scan) => (&scan.table, &scan.columns),
            CNode::IndexScan(scan) if scan.key_columns.is_none() => (&scan.table, &scan.columns),
            _ => return None,
        };
        let is_stored = |column: &ScanColumn| matches!(column, ScanColumn::Stored(_));
        columns.iter().all(is_stored).then_some(Scanned { table, columns })
    }
}

impl Scanned<'_> {
    /// The positions of the columns in the table.
    fn positions(&self) -> Box<[usize]> {
        let position = |column: &ScanColumn| match column {
            ScanColumn::Stored(i) => Some(*i),
            _ => None,
        };
        self.columns.iter().filter_map(position).collect()
    }
}

/// The plan's parts that the node's methods use.
struct Parts<'p> {
    plan: &'p CPlan,
    table: &'p TableAccess,
    columns: &'p ColumnPlan,
}

impl Parts<'_> {
    fn of(plan: &CPlan) -> Result<Parts<'_>> {
        match (plan.kind.scanned(), &plan.columns) {
            (Some(Scanned { table, .. }), Some(columns)) => Ok(Parts { plan, table, columns }),
            _ => Err(Error::internal("column scan node over another plan")),
        }
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

impl Parts<'_> {
    /// Counts rows that a join does not need as handed up, although they are dropped.
    fn useless(&self, cx: &mut ExecContext, rows: usize) {
        if rows > 0
            && let Some(instrument) = cx.instrument(self.plan.id)
        {
            instrument.rows += rows as u64;
        }
    }
}

impl ColumnScanNode {
    /// Whether it pays off to look for keys: not if most rows match.
    fn seeks(&self) -> bool {
        let (rows, useful) = self.sought;
        rows < SOUGHT_ROWS || useful < rows / 4 * 3
    }

    /// The rows to decode together if `wanted` are wanted.
    fn stretch_for(&self, parts: &Parts<'_>, wanted: usize) -> Range<usize> {
        let wanted = wanted.clamp(1, COLUMN_ROWS);
        let filters = !parts.columns.filter.is_empty();
        self.blocks.stretch(if filters { wanted.max(self.stretch) } else { wanted })
    }

    /// Reads more rows the next time if too few of these passed.
    fn adapt(&mut self, looked_at: usize, passed: usize, wanted: usize) {
        if passed < wanted {
            self.stretch = (looked_at.max(self.stretch) * 2).min(COLUMN_ROWS);
        } else if passed * 2 < looked_at {
            self.stretch = looked_at / 2;
        }
    }

    /// The next rows of a stretch as columns. Perhaps none of them pass.
    fn columns_of_stretch(
        &mut self,
        parts: &Parts<'_>,
        cx: &mut ExecContext,
        out: &mut ColumnBatch,
    ) -> Result<()> {
        let wanted = out.wanted.max(1);
        let stretch = self.stretch_for(parts, wanted);
        let table = parts.table;
        let decode = |row: &[u8], i: usize| table.decode_column(row, i);
        let stored = StoredRows::new(&table.layout, &self.blocks.block, stretch.clone(), &decode);
        self.input.begin(stretch.clone());
        let filtered = self.input.filter(parts.columns, cx, (&stored, stretch.end), (wanted, true));
        let sought = cx.sought(parts.plan.id).filter(|_| self.seeks()).cloned();
        let done = filtered.and_then(|end| {
            let passed = self.input.rows.len();
            let useless = match &sought {
                Some(sought) if passed > 0 => self.input.seek(parts.columns, sought, &stored)?,
                _ => 0,
            };
            if !self.input.rows.is_empty() {
                self.input.project(parts.columns, cx, &stored, out)?;
            }
            Ok((end, passed, useless))
        });
        let Ok((end, passed, useless)) = done else {
            return self.one_by_one(parts, cx, stretch, out);
        };
        if sought.is_some() {
            self.sought = (self.sought.0 + passed, self.sought.1 + passed - useless);
            parts.useless(cx, useless);
        }
        self.blocks.position = end;
        let looked_at = end - stretch.start;
        parts.dropped(cx, looked_at - passed);
        self.adapt(looked_at, passed, wanted);
        Ok(())
    }

    /// The rows of a stretch as columns, if kernels cannot make them.
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

    /// Puts the next rows of a stretch into `out`. Perhaps none of them pass.
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
        let table = parts.table;
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

    /// Hands the next rows of a stretch to the sink in their stored form. (There is no filter.)
    fn stored_of_stretch(
        &mut self,
        parts: &Parts<'_>,
        cx: &mut ExecContext,
        out: &mut StoredSink<'_>,
    ) -> Result<()> {
        for i in self.blocks.stretch(out.wanted - out.rows) {
            self.blocks.position = i + 1;
            let row = parts.table.whole(self.blocks.block.row(i))?;
            if !out.sink.raw_row(&row, &parts.table.layout, out.columns)? {
                drop(row);
                let mut one = RowBatch::wanting(parts.plan.width, 1);
                self.decode_row(parts, i)?;
                parts.plan.emit_owned(cx, &mut self.row, &mut one)?;
                one.iter().try_for_each(|row| out.sink.row(row))?;
            }
            out.rows += 1;
        }
        Ok(())
    }

    /// Decodes row `i` of the block, and moves behind it.
    #[inline]
    fn decode_row(&mut self, parts: &Parts<'_>, i: usize) -> Result<()> {
        self.blocks.position = i + 1;
        self.row.clear();
        let row = self.blocks.block.row(i);
        parts.table.decode_stored(row, &self.input.columns, &mut self.row)
    }

    /// Fills a batch. `take` takes one stretch, `wanted` is the number of rows still wanted.
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
            match self.blocks.fill(&plan, cx, wanted(out)) {
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
        self.blocks.looked_at(&plan, read);
        result
    }
}

impl Node for ColumnScanNode {
    fn next(&mut self, cx: &mut ExecContext, out: &mut RowBatch) -> Result<()> {
        self.fill(cx, (out, |out| out.room()), Self::rows_of_stretch)
    }

    fn next_columns(&mut self, cx: &mut ExecContext, out: &mut ColumnBatch) -> Result<()> {
        // The rows of one stretch are a batch.
        let wanted = |out: &ColumnBatch| if out.is_empty() { out.wanted.max(1) } else { 0 };
        self.fill(cx, (out, wanted), Self::columns_of_stretch)
    }

    fn next_stored(&mut self, cx: &mut ExecContext, out: &mut StoredSink<'_>) -> Result<()> {
        self.fill(cx, (out, |out| out.wanted - out.rows), Self::stored_of_stretch)
    }

    fn rescan(&mut self, _: &mut ExecContext) -> Result<()> {
        self.blocks.rescan();
        self.sought = (0, 0);
        Ok(())
    }
}
