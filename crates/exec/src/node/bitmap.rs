//! Bitmaps: the rows that entries of indexes name, as a set (nodeBitmapIndexscan.c, nodeBitmapAnd.c,
//! nodeBitmapOr.c).
//!
//! What the set says is true of the snapshot: an entry that does not tell whether the row has this
//! key makes its block unsure, and the row that is read then is held to the conditions again.

use super::index_entries::IndexEntries;
use super::index_scan::IndexPlan;
use super::row_set::RowSet;
use super::{CNode, CPlan};
use crate::accesses;
use crate::context::ExecContext;
use std::time::Instant;
use steppe_txn::Visibility;
use steppe_types::{Error, Result};

/// The rows that a bitmap's plan names.
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

/// Adds the rows that an index's entries name; returns how many entries there are.
fn add_entries(id: usize, scan: &IndexPlan, set: &mut RowSet, cx: &mut ExecContext) -> Result<u64> {
    let (mut entries, mut found) = (IndexEntries::new(scan, cx)?, 0);
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
