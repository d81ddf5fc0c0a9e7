//! Incremental sort: rows that come in the order of the first keys are sorted by the
//! rest, group after group (PostgreSQL's nodeIncrementalSort.c).
//!
//! ```text
//!   rows ──▶ held, till so many and the prefix changes ──▶ sorted by all keys     (full)
//!              └─ the prefix does not change: the rest of its group ──▶ sorted    (prefix)
//! ```
//!
//! Small groups are sorted several at a time by all keys, since a sorter for each would cost more.
//! A large group is sorted by the keys behind the prefix, which all its rows have in common. At
//! most one group is held. With a bound, no rows are read after the group that reaches it.

use super::sort::SortKeys;
use super::{BoxedNode, CNode, CPlan, Input, Node};
use crate::batch::{BATCH_ROWS, RowBatch};
use crate::context::{ExecContext, Note, SortGroups};
use crate::expr::{CExpr, Row};
use crate::sorter::{SortColumn, SortMethod, Sorter, bound_from, compare_rows};
use std::collections::VecDeque;
use std::sync::Arc;
use steppe_types::{Datum, Error, Result};

/// The fewest rows that are sorted at a time.
const ROWS_MIN: usize = 32;
/// If one group has more rows held than this, it has a sorter of its own.
const ROWS_HELD_MAX: usize = 64;

/// A compiled incremental Sort.
pub(crate) struct IncrementalSortPlan {
    pub(crate) child: Arc<CPlan>,
    pub(crate) keys: SortKeys,
    /// The number of leading keys that the rows are already sorted by.
    pub(crate) presorted: usize,
    pub(crate) bound: Option<CExpr>,
}

impl IncrementalSortPlan {
    fn prefix(&self) -> &[SortColumn] {
        &self.keys.columns[..self.presorted]
    }
}

struct IncrementalSortNode {
    plan: Arc<CPlan>,
    child: Input,
    /// Rows that the bound still lets through; known once the node has begun.
    left: Option<Option<usize>>,
    /// Sorted rows to hand up, the first group first.
    sorted: VecDeque<Sorter>,
    /// A row that begins the next group, with its computed keys.
    carried: Option<Vec<Datum>>,
    ended: bool,
    scratch: Vec<Datum>,
    full: SortGroups,
    prefix: SortGroups,
}

pub(super) fn start(plan: Arc<CPlan>, cx: &mut ExecContext) -> BoxedNode {
    let CNode::IncrementalSort(sort) = &plan.kind else { unreachable!("started as a sort") };
    let child = Input::new(&sort.child, cx);
    Box::new(IncrementalSortNode {
        plan: plan.clone(),
        child,
        left: None,
        sorted: VecDeque::new(),
        carried: None,
        ended: false,
        scratch: Vec::new(),
        full: SortGroups::default(),
        prefix: SortGroups::default(),
    })
}

impl IncrementalSortNode {
    /// The next row with its computed keys. `ahead`: the number of rows that are wanted at least.
    fn next_row(
        &mut self,
        sort: &IncrementalSortPlan,
        ahead: usize,
        cx: &mut ExecContext,
    ) -> Result<Option<Vec<Datum>>> {
        if let Some(row) = self.carried.take() {
            return Ok(Some(row));
        }
        if self.ended || !self.child.advance(cx, ahead)? {
            self.ended = true;
            return Ok(None);
        }
        let mut row = self.child.row().to_vec();
        for expr in &sort.keys.computed {
            let value = expr.eval(cx, Row::of(self.child.row()))?;
            row.push(value);
        }
        Ok(Some(row))
    }

    /// Reads and sorts the next groups; false if there are none.
    fn load(&mut self, sort: &IncrementalSortPlan, cx: &mut ExecContext) -> Result<bool> {
        cx.check_interrupts()?;
        let left = match self.left {
            Some(left) => left,
            None => match &sort.bound {
                Some(expr) => bound_from(&expr.eval(cx, Row::EMPTY)?)?,
                None => None,
            },
        };
        self.left = Some(left);
        let wanted = left.map_or(ROWS_MIN, |left| left.clamp(1, ROWS_MIN));
        let mut held: Vec<Vec<Datum>> = Vec::new();
        while held.len() <= ROWS_HELD_MAX {
            let missing = wanted.saturating_sub(held.len()).max(1);
            let Some(row) = self.next_row(sort, missing, cx)? else { break };
            if held.len() >= wanted
                && let Some(last) = held.last()
                && compare_rows(sort.prefix(), &row, last).is_ne()
            {
                self.carried = Some(row);
                break;
            }
            held.push(row);
        }
        let Some(last) = held.last() else { return Ok(false) };
        let pivot = match self.carried.is_none() && !self.ended {
            true => Some(last.clone()),
            false => None,
        };
        // The rows of a group that goes on are sorted separately from the rows before.
        let before = match &pivot {
            Some(pivot) => held
                .iter()
                .position(|row| compare_rows(sort.prefix(), row, pivot).is_eq())
                .unwrap_or(held.len()),
            None => held.len(),
        };
        let of_group = held.split_off(before);
        if !held.is_empty() {
            let sorter = self.sorted_rows(sort, (0, left), held, cx)?;
            self.note(sorter, true, cx);
        }
        if let Some(pivot) = pivot {
            let left = left.map(|left| left.saturating_sub(before));
            self.load_group(sort, &pivot, of_group, left, cx)?;
        }
        Ok(true)
    }

    fn sorter(
        &self,
        sort: &IncrementalSortPlan,
        (known, left): (usize, Option<usize>),
        cx: &mut ExecContext,
    ) -> Result<Sorter> {
        let width = sort.child.width + sort.keys.computed.len();
        let columns = match known {
            0 => sort.keys.columns.clone(),
            known => sort.keys.columns[known..].into(),
        };
        Ok(Sorter::new(columns, width, left, cx.work_mem_bytes, cx.temp()?))
    }

    /// Sorts rows whose first `known` keys are equal.
    fn sorted_rows(
        &self,
        sort: &IncrementalSortPlan,
        by: (usize, Option<usize>),
        rows: Vec<Vec<Datum>>,
        cx: &mut ExecContext,
    ) -> Result<Sorter> {
        let mut sorter = self.sorter(sort, by, cx)?;
        for row in &rows {
            sorter.push(Row::of(row))?;
        }
        sorter.finish()?;
        Ok(sorter)
    }

    /// The rest of a group whose first rows are held.
    fn load_group(
        &mut self,
        sort: &IncrementalSortPlan,
        pivot: &[Datum],
        held: Vec<Vec<Datum>>,
        left: Option<usize>,
        cx: &mut ExecContext,
    ) -> Result<()> {
        let mut sorter = self.sorter(sort, (sort.presorted, left), cx)?;
        for row in &held {
            sorter.push(Row::of(row))?;
        }
        let mut rows = held.len();
        while let Some(row) = self.next_row(sort, rows.min(BATCH_ROWS), cx)? {
            if rows.is_multiple_of(BATCH_ROWS) {
                cx.check_interrupts()?;
            }
            if compare_rows(sort.prefix(), &row, pivot).is_ne() {
                self.carried = Some(row);
                break;
            }
            sorter.push(Row::of(&row))?;
            rows += 1;
        }
        sorter.finish()?;
        self.note(sorter, false, cx);
        Ok(())
    }

    /// Counts a sorted batch for EXPLAIN ANALYZE, and queues it.
    fn note(&mut self, sorter: Sorter, full: bool, cx: &mut ExecContext) {
        if let Some(instrument) = cx.instrument(self.plan.id) {
            let (method, bytes) = sorter.statistics();
            let groups = if full { &mut self.full } else { &mut self.prefix };
            groups.count += 1;
            let kilobytes = bytes.div_ceil(1024).max(25);
            groups.add(method == SortMethod::ExternalMerge, method.name(), kilobytes);
            let (full, prefix) = (self.full.clone(), self.prefix.clone());
            instrument.note = Some(Note::IncrementalSort { full, prefix });
        }
        self.sorted.push_back(sorter);
    }
}

impl Node for IncrementalSortNode {
    fn next(&mut self, cx: &mut ExecContext, out: &mut RowBatch) -> Result<()> {
        let plan = self.plan.clone();
        let CNode::IncrementalSort(sort) = &plan.kind else {
            return Err(Error::internal("incremental sort node over another plan"));
        };
        let width = sort.child.width;
        while !out.is_full() {
            if self.left == Some(Some(0)) {
                break;
            }
            let Some(sorter) = self.sorted.front_mut() else {
                // Rows in `out` are handed up before more are read.
                if !out.is_empty() || !self.load(sort, cx)? {
                    break;
                }
                continue;
            };
            self.scratch.clear();
            if !sorter.next(width, &mut self.scratch)? {
                self.sorted.pop_front();
                continue;
            }
            if let Some(Some(left)) = &mut self.left {
                *left -= 1;
            }
            plan.emit_owned(cx, &mut self.scratch, out)?;
        }
        Ok(())
    }

    fn rescan(&mut self, cx: &mut ExecContext) -> Result<()> {
        self.left = None;
        self.sorted.clear();
        self.carried = None;
        self.ended = false;
        self.child.rescan(cx)
    }
}
