//! Full scans of stored and virtual tables, and the one row of WHERE CURRENT OF.

use super::{BoxedNode, CNode, CPlan, Node};
use crate::access::{ScanColumn, TableAccess};
use crate::batch::{BATCH_ROWS, RowBatch};
use crate::context::ExecContext;
use std::collections::VecDeque;
use std::sync::Arc;
use steppe_counting::accesses;
use steppe_functions::TransitionRows;
use steppe_sql::query::CursorName;
use steppe_txn::{RowBuf, RowCursor, RowId};
use steppe_types::{Datum, Error, Result, SqlState};

/// A compiled full scan.
pub(crate) struct SeqScanPlan {
    pub(crate) table: TableAccess,
    pub(crate) columns: Arc<[ScanColumn]>,
    /// Rows come from the session ([`crate::SessionHost::virtual_rows`]).
    pub(crate) is_virtual: bool,
    /// Only the present row of this cursor.
    pub(crate) cursor: Option<CursorName>,
    /// The scan's number in the team, if several threads share its rows.
    pub(crate) shared_as: Option<usize>,
}

impl SeqScanPlan {
    /// Whether the rows are all that a table has stored.
    pub(super) fn is_of_stored_rows(&self) -> bool {
        !self.is_virtual && self.cursor.is_none()
    }

    /// Begins a scan of the stored rows, if there are any.
    pub(super) fn open_rows(&self, cx: &mut ExecContext) -> Result<Option<RowCursor>> {
        let Some(rows) = self.table.rows() else { return Ok(None) };
        accesses::scanned(self.table.relation.oid, 1, cx.functions.statement_timestamp);
        let view = cx.view()?.clone();
        match cx.team().zip(self.shared_as) {
            Some((team, number)) => {
                let parts = team.parts((number, self.table.relation.oid), rows)?;
                rows.scan_parts(view, parts).map(Some)
            }
            None => rows.scan_all(view).map(Some),
        }
    }
}

enum Source {
    Unopened,
    Stored(Box<RowCursor>),
    Virtual(std::vec::IntoIter<Vec<Datum>>),
    /// A transition table, and the number of rows that have been read of it.
    Transition {
        rows: Arc<dyn TransitionRows>,
        read: usize,
        batch: VecDeque<Vec<Datum>>,
    },
    /// One row, if the snapshot sees it.
    Row(RowId),
    Finished,
}

struct SeqScanNode {
    plan: Arc<CPlan>,
    source: Source,
    scratch: Vec<Datum>,
    ordinal: u64,
}

pub(super) fn start(plan: Arc<CPlan>) -> BoxedNode {
    Box::new(SeqScanNode { plan, source: Source::Unopened, scratch: Vec::new(), ordinal: 0 })
}

fn open(scan: &SeqScanPlan, cx: &mut ExecContext) -> Result<Source> {
    if scan.is_virtual {
        let transition = cx.functions.session.transition_rows(scan.table.relation.oid);
        if let Some(rows) = transition {
            return Ok(Source::Transition { rows, read: 0, batch: VecDeque::new() });
        }
        let rows = cx.functions.session.virtual_rows(scan.table.relation.oid)?;
        return Ok(Source::Virtual(rows.into_iter()));
    }
    if let Some(cursor) = &scan.cursor {
        let (table, cursor) = (&scan.table.relation, name_of(cursor, cx)?);
        let row = cx.functions.session.cursor_row(&cursor, table, &cx.functions.catalog)?;
        return Ok(row.map_or(Source::Finished, Source::Row));
    }
    let rows = scan.open_rows(cx)?;
    Ok(rows.map_or(Source::Finished, |rows| Source::Stored(Box::new(rows))))
}

/// The name of a cursor. 42704 for a variable without a value (fetch_cursor_param_value).
fn name_of(cursor: &CursorName, cx: &ExecContext) -> Result<Arc<str>> {
    match cursor {
        CursorName::Given(name) => Ok(Arc::clone(name)),
        CursorName::Variable { number, param } => match cx.param(*param)? {
            Datum::Text(name) => Ok(Arc::clone(name)),
            _ => {
                let message = format!("no value found for parameter {}", number + 1);
                Err(Error::new(SqlState::UNDEFINED_OBJECT, message))
            }
        },
    }
}

/// The requested columns of a virtual row.
fn virtual_columns(
    scan: &SeqScanPlan,
    row: &mut [Datum],
    ordinal: u64,
    out: &mut Vec<Datum>,
) -> Result<()> {
    for column in scan.columns.iter() {
        out.push(match column {
            ScanColumn::Stored(i) => {
                let value = row.get(*i).cloned();
                value.ok_or_else(|| Error::internal("virtual row is too short"))?
            }
            ScanColumn::TableOid => Datum::Oid(scan.table.relation.oid),
            ScanColumn::RowId => Datum::Int8(ordinal as i64),
            ScanColumn::Version(column) => column.of_computed(ordinal)?,
            ScanColumn::Form(..) => return Err(Error::internal("what is not stored has no form")),
        });
    }
    Ok(())
}

impl Node for SeqScanNode {
    fn next(&mut self, cx: &mut ExecContext, out: &mut RowBatch) -> Result<()> {
        let plan = &self.plan;
        let CNode::SeqScan(scan) = &plan.kind else {
            return Err(Error::internal("sequential scan node over another plan"));
        };
        if matches!(self.source, Source::Unopened) {
            self.source = open(scan, cx)?;
        }
        let (mut examined, mut read) = (0u32, 0);
        while !out.is_full() {
            examined += 1;
            if examined.is_multiple_of(256) {
                cx.check_interrupts()?;
            }
            self.scratch.clear();
            match &mut self.source {
                Source::Stored(cursor) => match cursor.next_version()? {
                    Some((id, meta, row)) => {
                        read += 1;
                        let (view, out) = (cx.view()?, &mut self.scratch);
                        scan.table.decode_columns(row, (id, meta), view, &scan.columns, out)?;
                    }
                    None => self.source = Source::Finished,
                },
                Source::Virtual(rows) => match rows.next() {
                    Some(mut row) => {
                        self.ordinal += 1;
                        virtual_columns(scan, &mut row, self.ordinal, &mut self.scratch)?;
                    }
                    None => self.source = Source::Finished,
                },
                Source::Transition { rows, read, batch } => {
                    if batch.is_empty() {
                        let mut more = Vec::new();
                        rows.read(*read, BATCH_ROWS, &mut more)?;
                        *read += more.len();
                        batch.extend(more);
                    }
                    match batch.pop_front() {
                        Some(mut row) => {
                            self.ordinal += 1;
                            virtual_columns(scan, &mut row, self.ordinal, &mut self.scratch)?;
                        }
                        None => self.source = Source::Finished,
                    }
                }
                Source::Row(id) => {
                    let (id, mut buffer) = (*id, RowBuf::new());
                    let view = cx.view()?;
                    let found = scan.table.rows_for_write()?.get(view, id, &mut buffer)?;
                    self.source = Source::Finished;
                    if let Some(meta) = found {
                        let (row, scratch) = (buffer.row(), &mut self.scratch);
                        scan.table.decode_columns(row, (id, meta), view, &scan.columns, scratch)?;
                        plan.emit_owned(cx, &mut self.scratch, out)?;
                    }
                }
                Source::Unopened | Source::Finished => {}
            }
            if matches!(self.source, Source::Finished) {
                break;
            }
            plan.emit_owned(cx, &mut self.scratch, out)?;
        }
        if read > 0 {
            accesses::found(scan.table.relation.oid, read, 0);
        }
        Ok(())
    }

    fn rescan(&mut self, _: &mut ExecContext) -> Result<()> {
        self.source = Source::Unopened;
        self.ordinal = 0;
        Ok(())
    }
}
