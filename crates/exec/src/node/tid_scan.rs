//! Rows by ctid (nodeTidscan.c, nodeTidrangescan.c): named ones, in the order of their ids and once
//! each, or those between two ctids.
//!
//! The row's id follows from the ctid (`system_columns`). The row that the snapshot sees must have
//! exactly this ctid, since each version of the row has another one.

use super::key_check::elements;
use super::{BoxedNode, CNode, CPlan, Node};
use crate::access::{ScanColumn, TableAccess};
use crate::batch::RowBatch;
use crate::context::ExecContext;
use crate::expr::{CExpr, Row};
use crate::system_columns::{block_rows, ctid, row_of_ctid};
use std::ops::Bound;
use std::sync::Arc;
use steppe_counting::accesses;
use steppe_txn::{Direction, RowBuf, RowCursor, RowId, RowMeta};
use steppe_types::{Datum, Error, Result};

/// Block and offset.
type Tid = (u32, u16);

/// A compiled scan by ctid.
pub(crate) struct TidPlan {
    pub(crate) table: TableAccess,
    pub(crate) columns: Arc<[ScanColumn]>,
    pub(crate) rows: CTidRows,
}

pub(crate) enum CTidRows {
    /// Values, and arrays of them.
    Named { values: Box<[CExpr]>, arrays: Box<[CExpr]> },
    /// Values, whether the ctid is the greater one, and whether it may be equal.
    Between(Box<[(CExpr, bool, bool)]>),
}

enum Source {
    Unopened,
    /// The last one first.
    Named(Vec<Tid>),
    Range(Box<RowCursor>, Vec<(Tid, bool, bool)>),
    Finished,
}

struct TidScanNode {
    plan: Arc<CPlan>,
    source: Source,
    row: RowBuf,
    scratch: Vec<Datum>,
}

pub(super) fn start(plan: Arc<CPlan>) -> BoxedNode {
    let (source, row) = (Source::Unopened, RowBuf::new());
    Box::new(TidScanNode { plan, source, row, scratch: Vec::new() })
}

fn open(scan: &TidPlan, cx: &mut ExecContext) -> Result<Source> {
    match &scan.rows {
        CTidRows::Named { values, arrays } => {
            let mut tids = Vec::new();
            for value in values {
                tids.extend(tid_of(value.eval(cx, Row::EMPTY)?)?);
            }
            for array in arrays {
                for element in elements(array, cx)? {
                    tids.extend(tid_of(element)?);
                }
            }
            tids.sort_unstable_by(|a, b| b.cmp(a));
            tids.dedup();
            Ok(Source::Named(tids))
        }
        CTidRows::Between(bounds) => {
            let (mut first, mut last, mut known) = (0, u32::MAX, Vec::new());
            for (value, lower, inclusive) in bounds {
                let Some(tid) = tid_of(value.eval(cx, Row::EMPTY)?)? else {
                    return Ok(Source::Finished);
                };
                match lower {
                    true => first = first.max(tid.0),
                    false => last = last.min(tid.0),
                }
                known.push((tid, *lower, *inclusive));
            }
            let (true, Some(rows)) = (first <= last, scan.table.rows()) else {
                return Ok(Source::Finished);
            };
            let from = Bound::Included(RowId(block_rows(first).0));
            let to = Bound::Included(RowId(block_rows(last).1));
            let cursor = rows.scan(cx.view()?.clone(), from, to, Direction::Forward)?;
            Ok(Source::Range(Box::new(cursor), known))
        }
    }
}

/// `None`: the value is NULL, which equals no ctid.
fn tid_of(value: Datum) -> Result<Option<Tid>> {
    match value {
        Datum::Null => Ok(None),
        Datum::Tid(block, offset) => Ok(Some((block, offset))),
        _ => Err(Error::internal("a row is looked up by what is no ctid")),
    }
}

/// The ctid of a version of a row; `None` if the id is too great for one.
fn tid_of_row(id: RowId, meta: RowMeta) -> Option<Tid> {
    match ctid(id, meta.version()) {
        Ok(Datum::Tid(block, offset)) => Some((block, offset)),
        _ => None,
    }
}

impl TidScanNode {
    /// Puts the next row's columns into `scratch`; false at the end.
    fn next_row(&mut self, scan: &TidPlan, cx: &mut ExecContext) -> Result<bool> {
        let mut examined = 0u32;
        loop {
            examined += 1;
            if examined.is_multiple_of(256) {
                cx.check_interrupts()?;
            }
            let view = cx.view()?;
            match &mut self.source {
                Source::Unopened | Source::Finished => return Ok(false),
                Source::Named(tids) => {
                    let (Some(tid), Some(rows)) = (tids.pop(), scan.table.rows()) else {
                        return Ok(false);
                    };
                    let id = RowId(row_of_ctid(tid.0, tid.1));
                    let Some(meta) = rows.get_near(view, id, &mut self.row)? else { continue };
                    if tid_of_row(id, meta) == Some(tid) {
                        let (row, out) = (self.row.row(), &mut self.scratch);
                        scan.table.decode_columns(row, (id, meta), view, &scan.columns, out)?;
                        return Ok(true);
                    }
                }
                Source::Range(cursor, bounds) => {
                    let Some((id, meta, row)) = cursor.next_version()? else { return Ok(false) };
                    let holds = |tid: Tid| {
                        bounds.iter().all(|(bound, lower, inclusive)| match tid == *bound {
                            true => *inclusive,
                            false => (tid > *bound) == *lower,
                        })
                    };
                    if tid_of_row(id, meta).is_some_and(holds) {
                        let out = &mut self.scratch;
                        scan.table.decode_columns(row, (id, meta), view, &scan.columns, out)?;
                        return Ok(true);
                    }
                }
            }
        }
    }
}

impl Node for TidScanNode {
    fn next(&mut self, cx: &mut ExecContext, out: &mut RowBatch) -> Result<()> {
        let plan = self.plan.clone();
        let CNode::TidScan(scan) = &plan.kind else {
            return Err(Error::internal("tid scan node over another plan"));
        };
        if matches!(self.source, Source::Unopened) {
            self.source = open(scan, cx)?;
        }
        let mut read = 0;
        while !out.is_full() {
            self.scratch.clear();
            if !self.next_row(scan, cx)? {
                break;
            }
            read += 1;
            // The filter may drop one row after another.
            if read % 256 == 0 {
                cx.check_interrupts()?;
            }
            plan.emit_owned(cx, &mut self.scratch, out)?;
        }
        if read > 0 {
            accesses::found(scan.table.relation.oid, 0, read);
        }
        Ok(())
    }

    fn rescan(&mut self, _: &mut ExecContext) -> Result<()> {
        self.source = Source::Unopened;
        Ok(())
    }
}
