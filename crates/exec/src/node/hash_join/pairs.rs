//! Pairs of an outer and an inner row: how they are found for a batch of outer rows, and turned
//! into rows of the join.
//!
//! ```text
//!   outer batch ──heads──▶ Probe::collect ──▶ pairs with equal keys
//!                          Sides::pass     ──▶ those that satisfy ON
//!                          Probe::resolve  ──▶ rows to hand up, by the join's kind
//!                          Sides::emit     ──▶ filtered and projected columns
//! ```
//!
//! All steps keep the order in which the join of rows would find the pairs. An outer row that may
//! be handed up unmatched has a last pair without an inner row. If a kernel gives up, its work is
//! done again pair by pair with the expressions over rows. The steps before have no effects to
//! undo.

use super::HashJoinPlan;
use super::compile::{ColumnJoin, Output};
use super::table::{Comparison, Keyed, Table};
use crate::batch::RowBatch;
use crate::context::ExecContext;
use crate::expr::Row;
use crate::node::{CPlan, ColumnPlan};
use crate::vector::{ColumnBatch, GiveUp, NO_ROW, Vector};
use steppe_sql::query::JoinKind;
use steppe_types::{Datum, Result};

/// Links of chains followed between two checks for interrupts.
const STEPS: usize = 1 << 16;

/// Places of outer and inner rows, side by side.
#[derive(Default)]
pub(super) struct Pairs {
    pub(super) outer: Vec<u32>,
    pub(super) inner: Vec<u32>,
}

impl Pairs {
    fn len(&self) -> usize {
        self.outer.len()
    }

    fn clear(&mut self) {
        self.outer.clear();
        self.inner.clear();
    }

    #[inline]
    pub(super) fn push(&mut self, outer: u32, inner: u32) {
        self.outer.push(outer);
        self.inner.push(inner);
    }

    fn select(&self, places: &[u32]) -> Pairs {
        let at = |side: &[u32]| places.iter().map(|i| side[*i as usize]).collect();
        Pairs { outer: at(&self.outer), inner: at(&self.inner) }
    }
}

/// The progress of a batch of outer rows through the table.
#[derive(Default)]
pub(super) struct Probe {
    /// Heads of the chains in which the rows' keys can be.
    pub(super) heads: Vec<u32>,
    /// The present row; its chain has been entered and goes on at the candidate.
    row: u32,
    entered: bool,
    candidate: u32,
    /// The last row that had a match.
    matched: Option<u32>,
    /// The pairs found last.
    pub(super) pairs: Pairs,
}

/// The way pairs of a kind of join are collected.
pub(super) struct Collecting {
    /// Each row's last pair is one without an inner row.
    marks: bool,
    /// A row's first pair decides.
    first: bool,
    /// Further pairs of a row that has a match are of no use.
    until_matched: bool,
    /// Further pairs of an inner row that has a match are of no use either.
    once: bool,
}

impl Collecting {
    pub(super) fn new(join: &HashJoinPlan, columns: &ColumnJoin) -> Collecting {
        let one = matches!(join.kind, JoinKind::Semi | JoinKind::Anti);
        Collecting {
            marks: join.keeps_outer(),
            first: one && columns.on.is_empty(),
            until_matched: one,
            once: join.matches_once(),
        }
    }
}

impl Probe {
    /// Starts again with the first row.
    pub(super) fn restart(&mut self) {
        (self.row, self.entered, self.matched) = (0, false, None);
    }

    /// Whether all rows have been joined.
    pub(super) fn is_done(&self) -> bool {
        self.row as usize >= self.heads.len()
    }

    /// Collects the next pairs whose keys are equal, at most `limit`. `done` has the inner rows
    /// that have had a match.
    pub(super) fn collect(
        &mut self,
        (table, done): (&Table, &[bool]),
        comparison: &Comparison<'_>,
        how: &Collecting,
        limit: usize,
    ) {
        match comparison {
            Comparison::Integers(x, y) => {
                let equal = |o: u32, i: u32| x[o as usize] == y[i as usize];
                self.walk((table, done), equal, how, limit);
            }
            hashed => {
                let equal = |o: u32, i: u32| hashed.equal(o as usize, i);
                self.walk((table, done), equal, how, limit);
            }
        }
    }

    #[inline]
    fn walk(
        &mut self,
        (table, done): (&Table, &[bool]),
        equal: impl Fn(u32, u32) -> bool,
        how: &Collecting,
        limit: usize,
    ) {
        let Probe { heads, row, entered, candidate, matched, pairs } = self;
        pairs.clear();
        let mut steps = 0;
        while let Some(head) = heads.get(*row as usize) {
            if !std::mem::replace(entered, true) {
                *candidate = *head;
            } else if how.until_matched && *matched == Some(*row) {
                *candidate = NO_ROW;
            }
            let mut i = *candidate;
            while i != NO_ROW {
                steps += 1;
                if pairs.len() >= limit || steps > STEPS {
                    *candidate = i;
                    return;
                }
                let next = table.next(i);
                if equal(*row, i) && !(how.once && done[i as usize]) {
                    pairs.push(*row, i);
                    if how.first {
                        break;
                    }
                }
                i = next;
            }
            *candidate = NO_ROW;
            if how.marks {
                if pairs.len() >= limit {
                    return;
                }
                pairs.push(*row, NO_ROW);
            }
            *entered = false;
            *row += 1;
        }
    }

    /// Keeps the collected pairs that are to be handed up. With an error they are the pairs before
    /// the one that failed. Returns the number of pairs that did not pass.
    pub(super) fn resolve(
        &mut self,
        join: &HashJoinPlan,
        done: &mut [bool],
        mut passes: impl FnMut(usize, u32, u32) -> Result<bool>,
    ) -> (u64, Result<()>) {
        let collected = std::mem::take(&mut self.pairs);
        let mut dropped = 0;
        for (at, (o, i)) in collected.outer.iter().zip(&collected.inner).enumerate() {
            let (o, i) = (*o, *i);
            if i == NO_ROW {
                if self.matched != Some(o) {
                    self.pairs.push(o, NO_ROW);
                }
                continue;
            }
            let one = matches!(join.kind, JoinKind::Semi | JoinKind::Anti);
            if (one && self.matched == Some(o)) || (join.matches_once() && done[i as usize]) {
                continue;
            }
            match passes(at, o, i) {
                Ok(true) => {}
                Ok(false) => {
                    dropped += 1;
                    continue;
                }
                Err(error) => return (dropped, Err(error)),
            }
            self.matched = Some(o);
            if join.keeps_inner() || join.matches_once() {
                done[i as usize] = true;
            }
            if !matches!(join.kind, JoinKind::Anti | JoinKind::RightAnti) {
                self.pairs.push(o, i);
            }
        }
        (dropped, Ok(()))
    }
}

/// Both sides of the pairs, and the conditions and outputs over them.
pub(super) struct Sides<'a> {
    pub(super) plan: &'a CPlan,
    pub(super) join: &'a HashJoinPlan,
    pub(super) columns: &'a ColumnJoin,
    pub(super) outer: &'a Keyed,
    pub(super) inner: &'a Keyed,
}

impl Sides<'_> {
    /// The pairs that satisfy the ON condition. A pair without an inner row need not satisfy it.
    pub(super) fn pass(&self, cx: &mut ExecContext, pairs: &Pairs) -> Result<Vec<bool>, GiveUp> {
        let there = |i: &u32| pairs.inner[*i as usize] != NO_ROW;
        let mut places: Vec<u32> = (0..pairs.len() as u32).filter(there).collect();
        for on in &self.columns.on {
            if places.is_empty() {
                break;
            }
            let batch = self.batch(&pairs.select(&places), &on.reads, false);
            let holds = on.condition.select(cx, &batch)?;
            places = holds.iter().map(|i| places[*i as usize]).collect();
        }
        let mut out = vec![false; pairs.len()];
        places.iter().for_each(|i| out[*i as usize] = true);
        Ok(out)
    }

    /// Whether a pair satisfies the ON condition, by its rows.
    pub(super) fn passes(&self, cx: &mut ExecContext, outer: u32, inner: u32) -> Result<bool> {
        let Some(on) = &self.join.on else { return Ok(true) };
        let width = (self.join.outer.width, self.join.inner.width);
        let (mut o, mut i) = (Vec::new(), Vec::new());
        row_into(self.outer, width.0, outer, &mut o)?;
        row_into(self.inner, width.1, inner, &mut i)?;
        on.holds(cx, Row::pair(&o, &i))
    }

    /// Filters and projects pairs into the empty batch `out`. With an error it has the pairs before
    /// the one that failed.
    pub(super) fn emit(
        &self,
        cx: &mut ExecContext,
        pairs: &Pairs,
        out: &mut ColumnBatch,
    ) -> Result<()> {
        if pairs.len() == 0 {
            return Ok(());
        }
        let Some(columns) = &self.plan.columns else { return self.emit_rows(cx, pairs, out) };
        match self.emit_columns(cx, columns, pairs, out) {
            Ok(dropped) => {
                if let Some(instrument) = cx.instrument(self.plan.id) {
                    instrument.filtered += dropped as u64;
                }
                Ok(())
            }
            Err(GiveUp) => self.emit_rows(cx, pairs, out),
        }
    }

    /// [`Self::emit`] by columns; returns the number of pairs that the filter dropped.
    fn emit_columns(
        &self,
        cx: &mut ExecContext,
        columns: &ColumnPlan,
        pairs: &Pairs,
        out: &mut ColumnBatch,
    ) -> Result<usize, GiveUp> {
        let inner_alone = self.join.emits_inner();
        let mut narrowed = None;
        for (condition, reads) in columns.filter.iter().zip(&self.columns.filter_reads) {
            let pairs = narrowed.as_ref().unwrap_or(pairs);
            let holds = condition.select(cx, &self.batch(pairs, reads, inner_alone))?;
            if holds.len() < pairs.len() {
                narrowed = Some(pairs.select(&holds));
            }
        }
        let kept = narrowed.as_ref().unwrap_or(pairs);
        if kept.len() == 0 {
            return Ok(pairs.len());
        }
        let batch = self.batch(kept, &self.columns.output_reads, inner_alone);
        let project = columns.project.as_deref().unwrap_or_default();
        let mut vectors = Vec::with_capacity(self.columns.outputs.len());
        for output in &self.columns.outputs {
            vectors.push(match *output {
                Output::Column(slot) => self.column(kept, slot, inner_alone),
                Output::Computed(i) => project.get(i).ok_or(GiveUp)?.eval(cx, &batch)?,
            });
        }
        out.set(kept.len(), vectors);
        Ok(pairs.len() - kept.len())
    }

    /// [`Self::emit`] pair by pair.
    fn emit_rows(&self, cx: &mut ExecContext, pairs: &Pairs, out: &mut ColumnBatch) -> Result<()> {
        let mut rows = RowBatch::new(self.plan.width);
        let emitted = self.rows_of(cx, pairs, &mut rows);
        out.set(0, (0..self.plan.width).map(|_| Vector::default()).collect());
        rows.iter().for_each(|row| out.push_row(row));
        emitted
    }

    fn rows_of(&self, cx: &mut ExecContext, pairs: &Pairs, out: &mut RowBatch) -> Result<()> {
        let width = (self.join.outer.width, self.join.inner.width);
        let (mut o, mut i) = (Vec::new(), Vec::new());
        for (outer, inner) in pairs.outer.iter().zip(&pairs.inner) {
            row_into(self.outer, width.0, *outer, &mut o)?;
            row_into(self.inner, width.1, *inner, &mut i)?;
            match self.join.kind {
                JoinKind::Semi => self.plan.emit_semi(cx, (&o, &i), out)?,
                JoinKind::Anti => self.plan.emit(cx, Row::of(&o), out)?,
                _ if self.join.emits_inner() => self.plan.emit(cx, Row::of(&i), out)?,
                _ => self.plan.emit(cx, Row::pair(&o, &i), out)?,
            };
        }
        Ok(())
    }

    /// A batch of the pairs' columns, of which only `reads` have values.
    fn batch(&self, pairs: &Pairs, reads: &[usize], inner_alone: bool) -> ColumnBatch {
        let outer = if inner_alone { 0 } else { self.join.outer.width };
        let mut batch = ColumnBatch::new(0);
        let mut columns = Vec::new();
        columns.resize_with(outer + self.join.inner.width, Vector::default);
        reads.iter().for_each(|slot| columns[*slot] = self.column(pairs, *slot, inner_alone));
        batch.set(pairs.len(), columns);
        batch
    }

    /// A column of the pairs.
    fn column(&self, pairs: &Pairs, slot: usize, inner_alone: bool) -> Vector {
        match if inner_alone { Some(slot) } else { slot.checked_sub(self.join.outer.width) } {
            Some(slot) => self.inner.columns[slot].pick(&pairs.inner),
            None => self.outer.columns[slot].pick(&pairs.outer),
        }
    }
}

/// Puts row `i` into `out`, with NULLs for a missing row and for unread columns.
pub(super) fn row_into(from: &Keyed, width: usize, i: u32, out: &mut Vec<Datum>) -> Result<()> {
    out.clear();
    if i == NO_ROW {
        out.resize(width, Datum::Null);
        return Ok(());
    }
    for column in &from.columns {
        out.push(if column.len() == 0 { Datum::Null } else { column.datum(i as usize)? });
    }
    Ok(())
}
