//! Bitmaps: the rows that entries of indexes name, as a set (nodeBitmapIndexscan.c, nodeBitmapAnd.c,
//! nodeBitmapOr.c).
//!
//! The set is right for the snapshot. If an entry does not decide whether the row has this key, its
//! block is unsure. The scan then checks the conditions again over the row.

use super::index_entries::IndexEntries;
use super::index_scan::IndexPlan;
use super::row_set::{BLOCK_ROWS, Block, RowSet};
use super::{CNode, CPlan};
use crate::context::ExecContext;
use std::ops::Bound;
use std::time::Instant;
use steppe_counting::accesses;
use steppe_txn::{Direction, RowCursor, RowId, TableStore, Visibility};
use steppe_types::{Error, Result};

/// A bitmap's blocks with their numbers, in order.
pub(super) type SetBlocks = dyn Iterator<Item = (u64, Block)> + Send;

/// The counts since the last report to EXPLAIN ANALYZE.
#[derive(Default)]
pub(super) struct Counts {
    /// Blocks of the bitmap, exact and lossy ones.
    pub(super) exact: u64,
    pub(super) lossy: u64,
    /// Rows that the recheck has dropped.
    pub(super) removed: u64,
}

impl Counts {
    /// Adds the counts to the node's counters, if there are any.
    pub(super) fn note(&mut self, id: usize, cx: &mut ExecContext) {
        let counts = std::mem::take(self);
        if let Some(instrument) = cx.instrument(id) {
            instrument.exact_blocks += counts.exact;
            instrument.lossy_blocks += counts.lossy;
            instrument.rechecked += counts.removed;
        }
    }
}

/// Reads all rows of a block of a bitmap.
pub(super) fn rows_between(rows: &TableStore, number: u64, cx: &ExecContext) -> Result<RowCursor> {
    let first = RowId(number * BLOCK_ROWS);
    let last = RowId(first.0 + (BLOCK_ROWS - 1));
    let (from, to) = (Bound::Included(first), Bound::Included(last));
    rows.scan(cx.view()?.clone(), from, to, Direction::Forward)
}

/// The rows in a bitmap plan's result.
pub(super) fn rows_of(plan: &CPlan, cx: &mut ExecContext) -> Result<RowSet> {
    let begin = cx.instruments.is_some().then(Instant::now);
    let (mut set, mut entries) = (RowSet::new(cx.work_mem_bytes), 0);
    match &plan.kind {
        CNode::BitmapIndexScan(scan) => entries = add_entries(plan.id, scan, &mut set, cx)?,
        CNode::BitmapOr(inputs) => {
            for input in inputs {
                set.unite(rows_of(input, cx)?);
            }
        }
        CNode::BitmapAnd(inputs) => {
            for (i, input) in inputs.iter().enumerate() {
                match i {
                    0 => set = rows_of(input, cx)?,
                    _ => set.intersect(&rows_of(input, cx)?),
                }
                if set.is_empty() {
                    break;
                }
            }
        }
        _ => return Err(Error::internal("a bitmap of another plan")),
    }
    if let (Some(begin), Some(instrument)) = (begin, cx.instrument(plan.id)) {
        instrument.loops += 1;
        instrument.rows += entries;
        instrument.total += begin.elapsed();
        instrument.startup += begin.elapsed();
    }
    Ok(set)
}

/// Adds the rows of an index's entries; returns the number of entries.
fn add_entries(id: usize, scan: &IndexPlan, set: &mut RowSet, cx: &mut ExecContext) -> Result<u64> {
    let (mut entries, mut found) = (IndexEntries::all(scan, cx)?, 0);
    while entries.advance(scan, cx)? {
        let (_, row, visibility) = entries.entry()?;
        set.add(row.0, visibility == Visibility::Definitive);
        found += 1;
    }
    let (index, searches) = (scan.index.relation.oid, entries.searches);
    if searches > 0 {
        accesses::scanned(index, searches, cx.functions.statement_timestamp);
    }
    accesses::found(index, found, 0);
    if let Some(instrument) = cx.instrument(id) {
        instrument.searches += searches;
    }
    Ok(found)
}
