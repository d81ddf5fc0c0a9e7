//! Nested loop by columns: many outer rows are joined together.
//!
//! ```text
//!   outer batch ──▶ Inner: found rows ──▶ Pairs: filter, ON ──▶ by kind ──▶ filter, projection
//!                   a step: some outer rows, or some of the inner rows of one
//! ```
//!
//! The rows, their order, counts and errors are those of the loop over rows:
//!
//! - Pairs come in the order of the outer rows, and the pairs of an outer row in the order of the
//!   index. The snapshot sees the same rows at any time.
//! - If a kernel gives up, the pairs of the step are filtered, joined and projected one by one,
//!   with the parameters set as the inner scan has them; rows before a pair that fails are handed
//!   up before. The outer row whose key fails ends its batch likewise.
//! - A step begins with as many outer rows as rows are wanted. This doubles while it is too few, so
//!   LIMIT 1 and EXISTS look up one row. If one match of a row is enough, a step reads only a few
//!   of its entries at once, twice as many each time. The node asks the outer side for no more rows
//!   than are wanted, unless it hands up columns, which have no visible effects.
//! - EXPLAIN ANALYZE counts a loop of the inner scan for each outer row. It counts the rows that
//!   the join would have requested one by one. A SERIALIZABLE transaction notes each key as it is
//!   looked up.

use super::NestLoopPlan;
use super::compile::ColumnLoop;
use super::inner::{Inner, index_scan};
use super::lookup::Wanted;
use super::pairs::{Pairs, Resolving, Sides};
use crate::batch::RowBatch;
use crate::context::{ExecContext, Resources};
use crate::expr::Row;
use crate::node::columns::{ColumnInput, ColumnNode, fill_many, for_all};
use crate::node::{BoxedNode, CNode, CPlan, ColumnPlan};
use crate::vector::{COLUMN_ROWS, ColumnBatch, GiveUp, Vector};
use std::sync::Arc;
use std::time::Instant;
use steppe_sql::query::JoinKind;
use steppe_types::{Datum, Error, Result};

struct ColumnLoopNode {
    plan: Arc<CPlan>,
    outer: ColumnInput,
    batch: ColumnBatch,
    /// Batches that are appended to others.
    more: (ColumnBatch, ColumnBatch),
    inner: Inner,
    pairs: Pairs,
    /// The outer row that is being looked up has had a match.
    is_matched: bool,
    /// The number of rows looked up together, if the consumer does not want more.
    stretch: usize,
    /// The error of the outer row behind the batch's last one.
    failed: Option<Error>,
}

pub(super) fn start(plan: Arc<CPlan>, cx: &mut ExecContext) -> BoxedNode {
    let CNode::NestLoop(join @ NestLoopPlan { columns: Some(columns), .. }) = &plan.kind else {
        unreachable!("started as a nested loop of columns")
    };
    for_all(ColumnLoopNode {
        outer: ColumnInput::new(&join.outer, cx),
        batch: ColumnBatch::new(join.outer.width),
        more: Default::default(),
        inner: Inner::new(join, columns, cx),
        pairs: Pairs::default(),
        is_matched: false,
        stretch: 0,
        failed: None,
        plan: plan.clone(),
    })
}

/// The plan's parts.
#[derive(Clone, Copy)]
struct Parts<'a> {
    plan: &'a CPlan,
    join: &'a NestLoopPlan,
    columns: &'a ColumnLoop,
    /// The filter and projection of the pairs that match.
    emitted: &'a ColumnPlan,
}

impl<'a> Parts<'a> {
    fn of(plan: &'a CPlan) -> Result<Parts<'a>> {
        let wrong = || Error::internal("nested loop of columns over another plan");
        let CNode::NestLoop(join) = &plan.kind else { return Err(wrong()) };
        let (Some(columns), Some(emitted)) = (&join.columns, &plan.columns) else {
            return Err(wrong());
        };
        Ok(Parts { plan, join, columns, emitted })
    }

    fn sides(&self) -> (&'a NestLoopPlan, &'a ColumnLoop) {
        (self.join, self.columns)
    }

    /// Whether one match of an outer row is enough.
    fn first_only(&self) -> bool {
        matches!(self.join.kind, JoinKind::Semi | JoinKind::Anti)
    }

    fn wanted(&self, limit: usize) -> Wanted {
        let any = self.columns.filter.is_empty() && self.columns.on.is_empty();
        Wanted { limit, first: self.first_only(), any }
    }
}

/// The counts of a step's pairs.
#[derive(Default)]
struct Passed {
    /// Pairs dropped by the scan's filter, by ON, and above the join.
    filtered: u64,
    join_filtered: u64,
    dropped: u64,
    /// Pairs that the scan's filter let pass.
    scanned: u64,
    /// Whether the row behind the done ones has had a match.
    is_matched: bool,
}

impl ColumnLoopNode {
    /// Fills a batch: as much as is wanted is looked for anyway.
    fn fill(&mut self, cx: &mut ExecContext, out: &mut ColumnBatch) -> Result<()> {
        let mut more = std::mem::take(&mut self.more.0);
        let least = out.wanted.min(COLUMN_ROWS) / 4;
        let filled = fill_many(cx, (out, &mut more), least, |cx, out| self.fill_some(cx, out));
        self.more.0 = more;
        filled
    }

    fn fill_some(&mut self, cx: &mut ExecContext, out: &mut ColumnBatch) -> Result<()> {
        let plan = self.plan.clone();
        let parts = Parts::of(&plan)?;
        while out.is_empty() {
            cx.check_interrupts()?;
            let limit = out.wanted.clamp(1, COLUMN_ROWS).max(self.stretch);
            if self.inner.is_done() {
                // Columns have no visible effects.
                let (wanted, least) = match parts.join.outer.columns.is_some() {
                    true => (limit, limit / 4),
                    false => (out.wanted, 0),
                };
                if !self.fetch_outer(parts, cx, (wanted, least))? {
                    break;
                }
            }
            self.join_some(parts, cx, limit, out)?;
        }
        Ok(())
    }

    /// Moves to the next outer rows; false at the end.
    fn fetch_outer(
        &mut self,
        parts: Parts<'_>,
        cx: &mut ExecContext,
        (wanted, least): (usize, usize),
    ) -> Result<bool> {
        if let Some(error) = self.failed.take() {
            return Err(error);
        }
        self.batch.clear();
        self.batch.wanted = wanted;
        let (outer, batches) = (&mut self.outer, (&mut self.batch, &mut self.more.1));
        if let Err(error) = fill_many(cx, batches, least, |cx, batch| outer.next(cx, batch)) {
            if self.batch.is_empty() || cx.is_overtaken {
                return Err(error);
            }
            self.failed = Some(error);
        }
        self.is_matched = false;
        if let Err(error) = self.inner.begin(parts.sides(), &self.batch, cx) {
            if self.inner.rows() == 0 {
                return Err(error);
            }
            self.failed = Some(error);
        }
        Ok(self.inner.rows() > 0)
    }

    /// Looks up some outer rows and hands up their joined rows.
    fn join_some(
        &mut self,
        parts: Parts<'_>,
        cx: &mut ExecContext,
        limit: usize,
        out: &mut ColumnBatch,
    ) -> Result<()> {
        let from = self.inner.row() as u32;
        let since = cx.instruments.is_some().then(|| (Resources::of(cx), Instant::now()));
        self.inner.step(parts.sides(), parts.wanted(limit), cx)?;
        let how = Resolving {
            kind: parts.join.kind,
            done: from..self.inner.row() as u32,
            is_matched: self.is_matched,
        };
        let result = match self.by_columns(parts, cx, &how, out) {
            Ok(passed) => {
                self.count_pairs(parts, cx, &passed);
                self.is_matched = passed.is_matched;
                Ok(())
            }
            Err(GiveUp) => self.by_rows(parts, cx, &how, out),
        };
        if let Some(since) = since {
            self.count_scan(parts, cx, since);
        }
        if self.is_matched && parts.first_only() && !self.inner.is_done() {
            self.inner.skip();
            self.is_matched = false;
        }
        let wanted = out.wanted.max(1);
        if out.len() < wanted {
            self.stretch = (limit * 2).min(COLUMN_ROWS);
        } else if out.len() * 2 < limit {
            self.stretch = limit / 2;
        }
        result
    }

    /// Joins the found rows by columns.
    fn by_columns(
        &mut self,
        parts: Parts<'_>,
        cx: &mut ExecContext,
        how: &Resolving,
        out: &mut ColumnBatch,
    ) -> Result<Passed, GiveUp> {
        let Parts { join, columns, emitted, .. } = parts;
        let found = self.inner.found();
        let decode = |row: &[u8], i: usize| index_scan(join)?.table.decode_column(row, i);
        let inner = self.inner.columns(parts.sides(), &decode).map_err(|_| GiveUp)?;
        let outer = &self.batch.columns[..];
        let sides = Sides { outer, inner };
        let pairs = &mut self.pairs;
        pairs.begin((found.outer, found.inner), outer.len() + columns.columns);
        let is_read_above = |slot: usize| emitted.reads.iter().any(|r| r.contains(&slot));
        let is_read_by_on = |slot: usize| {
            is_read_above(slot) || columns.on.iter().any(|on| on.reads.contains(&slot))
        };
        pairs.narrow(&columns.filter, cx, &sides, is_read_by_on)?;
        let scanned = pairs.found.clone();
        pairs.narrow(&columns.on, cx, &sides, is_read_above)?;
        let mut passed = match cx.instruments.is_some() {
            true => drops(parts, found.outer, (&scanned, &pairs.found)),
            false => Passed::default(),
        };
        passed.is_matched = pairs.resolve(how);
        let matched = pairs.len();
        for (k, condition) in emitted.filter.iter().enumerate() {
            pairs.load(&emitted.reads[k], &sides)?;
            let places = condition.select(cx, &pairs.batch)?;
            if places.len() < pairs.len() {
                let later = &emitted.reads[k + 1..];
                pairs.keep(&places, |slot| later.iter().any(|reads| reads.contains(&slot)));
            }
        }
        passed.dropped = (matched - pairs.len()) as u64;
        if pairs.len() > 0 {
            if let Some(reads) = emitted.reads.last() {
                pairs.load(reads, &sides)?;
            }
            emitted.project_into(cx, &mut pairs.batch, out)?;
        }
        Ok(passed)
    }

    /// Joins the found rows pair by pair. With an error `out` has the rows before it.
    fn by_rows(
        &mut self,
        parts: Parts<'_>,
        cx: &mut ExecContext,
        how: &Resolving,
        out: &mut ColumnBatch,
    ) -> Result<()> {
        let mut rows = RowBatch::new(parts.plan.width);
        let result = self.rows_of(parts, cx, how, &mut rows);
        out.set(0, (0..parts.plan.width).map(|_| Vector::default()).collect());
        rows.iter().for_each(|row| out.push_row(row));
        result
    }

    fn rows_of(
        &mut self,
        parts: Parts<'_>,
        cx: &mut ExecContext,
        how: &Resolving,
        out: &mut RowBatch,
    ) -> Result<()> {
        let mut outer = Vec::new();
        let nulls = vec![Datum::Null; parts.join.inner.width];
        let mut k = 0;
        for row in how.done.start..=how.done.end {
            if row as usize >= self.inner.rows() {
                break;
            }
            self.is_matched &= row == how.done.start;
            outer.clear();
            self.batch.row_into(row as usize, &mut outer)?;
            let begin = k;
            k += self.inner.found().outer[k..].iter().take_while(|of| **of == row).count();
            if begin < k || how.kind != JoinKind::Inner {
                self.join_row(parts, cx, (&outer, begin..k), out)?;
            }
            if row < how.done.end && !self.is_matched {
                match how.kind {
                    JoinKind::Left => parts.plan.emit(cx, Row::pair(&outer, &nulls), out)?,
                    JoinKind::Anti => parts.plan.emit(cx, Row::of(&outer), out)?,
                    _ => false,
                };
            }
        }
        self.is_matched &= (how.done.end as usize) < self.inner.rows();
        Ok(())
    }

    /// Joins an outer row with these of the found rows, as the inner scan and the loop of rows do.
    fn join_row(
        &mut self,
        parts: Parts<'_>,
        cx: &mut ExecContext,
        (outer, found): (&[Datum], std::ops::Range<usize>),
        out: &mut RowBatch,
    ) -> Result<()> {
        let Parts { plan, join, .. } = parts;
        join.set_params(outer, cx)?;
        let (mut inner, mut stored) = (RowBatch::new(join.inner.width), Vec::new());
        for i in found {
            if self.is_matched && parts.first_only() {
                break;
            }
            stored.clear();
            self.inner.row_into(parts.sides(), i, &mut stored)?;
            inner.clear();
            if !join.inner.emit_owned(cx, &mut stored, &mut inner)? {
                continue;
            }
            if let Some(instrument) = cx.instrument(join.inner.id) {
                instrument.rows += 1;
            }
            let pair = Row::pair(outer, inner.row(0));
            if !plan.joins(join.on.as_deref(), cx, pair)? {
                continue;
            }
            self.is_matched = true;
            match join.kind {
                JoinKind::Anti => {}
                JoinKind::Semi => {
                    plan.emit_semi(cx, (outer, inner.row(0)), out)?;
                }
                _ => {
                    plan.emit(cx, pair, out)?;
                }
            }
        }
        Ok(())
    }

    /// Counts pairs that kernels have dropped and let pass.
    fn count_pairs(&self, parts: Parts<'_>, cx: &mut ExecContext, passed: &Passed) {
        if let Some(instrument) = cx.instrument(parts.plan.id) {
            instrument.join_filtered += passed.join_filtered;
            instrument.filtered += passed.dropped;
        }
        if let Some(instrument) = cx.instrument(parts.join.inner.id) {
            instrument.filtered += passed.filtered;
            instrument.rows += passed.scanned;
        }
    }

    /// Counts the look-ups of a step as loops of the inner scan.
    fn count_scan(&self, parts: Parts<'_>, cx: &mut ExecContext, since: (Resources, Instant)) {
        let (found, used) = (self.inner.found(), Resources::of(cx).since(since.0));
        if let Some(instrument) = cx.instrument(parts.join.inner.id) {
            instrument.loops += found.loops;
            instrument.searches += found.searches;
            instrument.fetches += found.fetches;
            instrument.total += since.1.elapsed();
            instrument.add_used(used);
        }
    }
}

/// Counts the found pairs that the scan's filter and ON have dropped and let pass. If one match is
/// enough, only the pairs up to an outer row's match count. `scanned`: the pairs that the filter
/// lets pass. `matched`: the pairs that match.
fn drops(parts: Parts<'_>, outer: &[u32], (scanned, matched): (&[u32], &[u32])) -> Passed {
    let mut passed = Passed::default();
    let (mut scanned, mut matched) = (scanned.iter().peekable(), matched.iter().peekable());
    let mut last_match = None;
    for (place, row) in outer.iter().enumerate() {
        let is = |next: Option<&u32>| next.is_some_and(|next| *next as usize == place);
        let is_scanned = scanned.next_if(|next| is(Some(*next))).is_some();
        let is_match = matched.next_if(|next| is(Some(*next))).is_some();
        if parts.first_only() && last_match == Some(row) {
            continue;
        }
        match (is_scanned, is_match) {
            (false, _) => passed.filtered += 1,
            (true, false) => {
                passed.scanned += 1;
                passed.join_filtered += 1;
            }
            (true, true) => {
                passed.scanned += 1;
                last_match = Some(row);
            }
        }
    }
    passed
}

impl ColumnNode for ColumnLoopNode {
    fn next_columns(&mut self, cx: &mut ExecContext, out: &mut ColumnBatch) -> Result<()> {
        self.fill(cx, out)
    }

    fn rescan(&mut self, cx: &mut ExecContext) -> Result<()> {
        self.batch.clear();
        (self.is_matched, self.stretch, self.failed) = (false, 0, None);
        self.inner.rescan(cx)?;
        self.outer.rescan(cx)
    }
}
