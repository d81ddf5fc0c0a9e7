//! Bitmaps: the rows that entries of indexes name, as a set (nodeBitmapIndexscan.c, nodeBitmapAnd.c,
//! nodeBitmapOr.c).
//!
//! What the set says is true of the snapshot: an entry that does not tell whether the row has this
//! key makes its block unsure, and the row that is read then is held to the conditions again.

use super::index_scan::IndexPlan;
use super::key_check::KeyChecks;
use super::key_cursor::KeyCursor;
use super::probes::{Probe, Probes};
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
    let Some(mut checks) = KeyChecks::new(&scan.range.checks, &scan.index, cx)? else {
        return Ok(0);
    };
    let mut probes = Probes::new(scan, cx)?;
    let (mut found, mut searches, mut examined, mut fetches) = (0, 0, 0u32, 0);
    let mut postings = Vec::new();
    while let Some(probe) = probes.next(scan, cx)? {
        searches += 1;
        match probe {
            Probe::Point(key) => {
                if !checks.pass(&key, &scan.index)? {
                    continue;
                }
                let view = cx.view()?;
                let mut rows = scan.index.store.lookup_unique(view, &key, &mut postings)?;
                while let Some((row, visibility)) = rows.try_next()? {
                    set.add(row.0, visibility == Visibility::Definitive);
                    found += 1;
                }
                cx.check_interrupts()?;
            }
            Probe::Range(range) => {
                let view = cx.view()?.clone();
                let mut cursor = KeyCursor::open(&scan.index, view, range, false)?;
                while cursor.advance(&scan.table, &scan.index, &mut fetches, cx)? {
                    examined += 1;
                    if examined.is_multiple_of(256) {
                        cx.check_interrupts()?;
                    }
                    let (key, row, visibility) = cursor.entry();
                    if checks.is_empty() || checks.pass(key, &scan.index)? {
                        set.add(row.0, visibility == Visibility::Definitive);
                        found += 1;
                    }
                }
            }
        }
    }
    let index = scan.index.relation.oid;
    if searches > 0 {
        accesses::scanned(index, searches, cx.functions.statement_timestamp);
    }
    accesses::found(index, found, 0);
    if let Some(instrument) = cx.instrument(id) {
        instrument.searches += searches;
    }
    Ok(found)
}
