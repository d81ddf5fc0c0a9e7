//! Index scans: ranges of keys, rows fetched by id, or answered from the key.
//!
//! ```text
//!   probes  what is searched for, one stretch of the index after the other
//!      │    a stretch: all keys between two prefixes, or one key
//!   checks  further conditions on the entry's key (`key_check`)
//!      │
//!    row    fetched by its id, or answered from the key
//! ```
//!
//! A posting that is definitive for the snapshot answers alone. For any other posting, the visible
//! version of the row is read and its key compared. So a row is found only under the key that it
//! has at the snapshot.
//!
//! If the scan is the whole statement and hands up only stored columns, the sink gets the rows in
//! their stored form. The rows, their order, the checks for interrupts and the rows before a
//! failing one stay the same. This saves making values that would be copied at once.
//!
//! Another node serves a consumer of columns, with the same rows (`column_scan`, `index_blocks`).
//! This node serves a consumer of rows, and keeps no rows in between: most scans have few.
//!
//! Keys are whole here, however long; an index has long ones shortened (`access/long_keys.rs`).

use super::key_check::{CKeyCheck, KeyChecks};
use super::key_cursor::KeyCursor;
use super::probes::{CKeyEnd, CKeySearch, Probe, Probes};
use super::{BoxedNode, CNode, CPlan, Node, StoredSink, column_scan};
use crate::access::long_keys::shorten;
use crate::access::{IndexAccess, KeyValue, ScanColumn, TableAccess, key_value};
use crate::batch::RowBatch;
use crate::context::ExecContext;
use crate::expr::Row;
use crate::vector::ColumnBatch;
use std::sync::Arc;
use steppe_counting::accesses;
use steppe_txn::{RowBuf, RowId, RowMeta, View, Visibility};
use steppe_types::key::{decode_key, encode_part};
use steppe_types::{Datum, Error, Result};

/// A compiled index range.
pub(crate) struct CIndexRange {
    pub(crate) keys: Box<[CKeySearch]>,
    pub(crate) lower: Option<CKeyEnd>,
    pub(crate) upper: Option<CKeyEnd>,
    /// The column after `keys` IS NOT NULL.
    pub(crate) not_null: bool,
    pub(crate) checks: Box<[CKeyCheck]>,
}

/// A compiled index scan.
pub(crate) struct IndexPlan {
    pub(crate) table: TableAccess,
    pub(crate) index: IndexAccess,
    pub(crate) range: Arc<CIndexRange>,
    pub(crate) backward: bool,
    /// The place of each requested column in the key; `None` if rows are fetched.
    pub(crate) key_columns: Option<Arc<[usize]>>,
    pub(crate) columns: Arc<[ScanColumn]>,
}

impl CIndexRange {
    /// Appends the key that a scan looks up which is one probe of a whole unique key;
    /// false if nothing can be equal to it.
    pub(crate) fn point_key(
        &self,
        index: &IndexAccess,
        key: &mut Vec<u8>,
        cx: &mut ExecContext,
    ) -> Result<bool> {
        let start = key.len();
        for (search, part) in self.keys.iter().zip(&index.parts) {
            let CKeySearch::Equal(value) = search else {
                return Err(Error::internal("a point has another search than equality"));
            };
            match key_value(value.eval(cx, Row::EMPTY)?, part.type_oid)? {
                KeyValue::Exact(Datum::Null) => return Ok(false),
                KeyValue::Exact(value) => encode_part(&value, part, key)?,
                _ => return Ok(false),
            }
        }
        shorten(key, start)?;
        Ok(true)
    }

    /// Whether all columns of an index are compared with one value, and nothing else.
    pub(crate) fn is_whole_key(&self, index: &IndexAccess) -> bool {
        self.keys.len() == index.parts.len()
            && self.checks.is_empty()
            && self.keys.iter().all(|key| matches!(key, CKeySearch::Equal(_)))
    }
}

/// A row that a point probe has found.
pub(crate) fn find_point(
    table: &TableAccess,
    index: &IndexAccess,
    view: &View,
    key: &[u8],
    postings: &mut Vec<u8>,
    row: &mut RowBuf,
) -> Result<Option<(RowId, RowMeta)>> {
    let Some(rows) = table.rows() else { return Ok(None) };
    let mut candidates = index.store.lookup_unique(view, key, postings)?;
    while let Some((id, visibility)) = candidates.try_next()? {
        let Some(meta) = rows.get(view, id, row)? else { continue };
        if visibility == Visibility::Definitive || has_key(table, index, row.row(), key)? {
            return Ok(Some((id, meta)));
        }
    }
    Ok(None)
}

/// Whether the index would have a row version under this key.
pub(crate) fn has_key(
    table: &TableAccess,
    index: &IndexAccess,
    row: &[u8],
    key: &[u8],
) -> Result<bool> {
    let mut actual = Vec::with_capacity(key.len());
    Ok(index.key_of_row(table, row, &mut actual)?.is_some() && actual == key)
}

struct IndexScanNode {
    plan: Arc<CPlan>,
    /// `None` before the range has been evaluated.
    probes: Option<Probes>,
    checks: KeyChecks,
    cursor: Option<KeyCursor>,
    row: RowBuf,
    postings: Vec<u8>,
    scratch: Vec<Datum>,
    key_values: Vec<Datum>,
    /// Probes made, and rows of the table read, for EXPLAIN ANALYZE.
    counts: Counts,
    /// For a consumer of columns.
    columns: Option<BoxedNode>,
}

#[derive(Default)]
struct Counts {
    searches: u64,
    fetches: u64,
    /// Entries that checks have dropped.
    examined: u32,
}

pub(super) fn start(plan: Arc<CPlan>) -> BoxedNode {
    Box::new(IndexScanNode {
        plan,
        probes: None,
        checks: KeyChecks::default(),
        cursor: None,
        row: RowBuf::new(),
        postings: Vec::new(),
        scratch: Vec::new(),
        key_values: Vec::new(),
        counts: Counts::default(),
        columns: None,
    })
}

/// A result of the scan.
enum Found {
    /// A row of the table, which is in `row`.
    Row(RowId, RowMeta),
    /// A definitive entry, whose columns are in `scratch`.
    Entry,
}

/// The scan's counts at the beginning of a batch.
type Before = (u64, u64);

impl IndexScanNode {
    /// Evaluates the keys to search for.
    fn begin(&mut self, scan: &IndexPlan, cx: &mut ExecContext) -> Result<()> {
        let probes = Probes::new(scan, cx)?;
        let checks = KeyChecks::new(&scan.range.checks, &scan.index, cx)?;
        (self.probes, self.checks) = match checks {
            Some(checks) => (Some(probes), checks),
            None => (Some(Probes::nothing()), KeyChecks::default()),
        };
        Ok(())
    }

    /// Moves to the next visible row; `None` at the end.
    fn next_found(&mut self, scan: &IndexPlan, cx: &mut ExecContext) -> Result<Option<Found>> {
        loop {
            if self.cursor.is_some() {
                if let Some(found) = self.next_from_range(scan, cx)? {
                    return Ok(Some(found));
                }
                self.cursor = None;
            }
            let Some(probes) = &mut self.probes else { return Ok(None) };
            let probe = probes.next(scan, cx)?;
            let view = cx.view()?;
            self.counts.searches += u64::from(probe.is_some());
            match probe {
                None => return Ok(None),
                Some(Probe::Point(key)) => {
                    let (postings, row) = (&mut self.postings, &mut self.row);
                    let found = find_point(&scan.table, &scan.index, view, &key, postings, row)?;
                    let passes = self.checks.is_empty() || self.checks.pass(&key, &scan.index)?;
                    if let Some((id, meta)) = found.filter(|_| passes) {
                        self.counts.fetches += 1;
                        return Ok(Some(Found::Row(id, meta)));
                    }
                }
                Some(Probe::Range(range)) => {
                    let cursor = KeyCursor::open(&scan.index, view.clone(), range, scan.backward);
                    self.cursor = Some(cursor?);
                }
            }
        }
    }

    /// The next visible row of the range that the scan is in.
    fn next_from_range(&mut self, scan: &IndexPlan, cx: &mut ExecContext) -> Result<Option<Found>> {
        let Some(rows) = scan.table.rows() else { return Ok(None) };
        let Some(cursor) = &mut self.cursor else { return Ok(None) };
        let (key_values, out) = (&mut self.key_values, &mut self.scratch);
        while cursor.advance(&scan.table, &scan.index, &mut self.counts.fetches, cx)? {
            let (key, id, visibility) = cursor.entry();
            if !self.checks.is_empty() && !self.checks.pass(key, &scan.index)? {
                self.counts.examined += 1;
                if self.counts.examined.is_multiple_of(256) {
                    cx.check_interrupts()?;
                }
                continue;
            }
            if let (Some(places), Visibility::Definitive) = (&scan.key_columns, visibility) {
                key_values.clear();
                decode_key(key, &scan.index.parts, key_values)?;
                for (place, column) in places.iter().zip(scan.columns.iter()) {
                    out.push(match column {
                        ScanColumn::Stored(_) => key_values[*place].clone(),
                        ScanColumn::RowId => Datum::Int8(id.0 as i64),
                        ScanColumn::TableOid => Datum::Oid(scan.table.relation.oid),
                        ScanColumn::Version(_) | ScanColumn::Form(..) => return Err(no_version()),
                    });
                }
                return Ok(Some(Found::Entry));
            }
            self.counts.fetches += 1;
            let view = cx.view()?;
            let Some(meta) = rows.get_near(view, id, &mut self.row)? else { continue };
            let row = self.row.row();
            if visibility == Visibility::AskRow && !has_key(&scan.table, &scan.index, row, key)? {
                continue;
            }
            return Ok(Some(Found::Row(id, meta)));
        }
        Ok(None)
    }

    /// Puts the next visible row's columns into `scratch`; false at the end.
    fn next_row(&mut self, scan: &IndexPlan, cx: &mut ExecContext) -> Result<bool> {
        self.scratch.clear();
        match self.next_found(scan, cx)? {
            None => Ok(false),
            Some(Found::Entry) => Ok(true),
            Some(Found::Row(id, meta)) => self.decode(scan, (id, meta), cx).map(|()| true),
        }
    }

    /// Puts the columns of the row in `row` into `scratch`.
    fn decode(
        &mut self,
        scan: &IndexPlan,
        found: (RowId, RowMeta),
        cx: &mut ExecContext,
    ) -> Result<()> {
        let (row, out, view) = (self.row.row(), &mut self.scratch, cx.view()?);
        scan.table.decode_columns(row, found, view, &scan.columns, out)
    }

    /// Starts a batch.
    fn before(&mut self, scan: &IndexPlan, cx: &mut ExecContext) -> Result<Before> {
        if self.probes.is_none() {
            self.begin(scan, cx)?;
        }
        Ok((self.counts.searches, self.counts.fetches))
    }

    /// Counts a batch with `found` rows.
    fn count(&mut self, scan: &IndexPlan, cx: &mut ExecContext, (before, found): (Before, u64)) {
        let index = scan.index.relation.oid;
        let searches = self.counts.searches - before.0;
        if searches > 0 {
            accesses::scanned(index, searches, cx.functions.statement_timestamp);
        }
        accesses::found(index, found, self.counts.fetches - before.1);
        if let Some(instrument) = cx.instrument(self.plan.id) {
            let counts = std::mem::take(&mut self.counts);
            instrument.searches += counts.searches;
            instrument.fetches += counts.fetches;
        }
    }
}

#[cold]
fn no_version() -> Error {
    Error::internal("a system column was to be read from an index")
}

impl Node for IndexScanNode {
    fn next(&mut self, cx: &mut ExecContext, out: &mut RowBatch) -> Result<()> {
        if let Some(columns) = &mut self.columns {
            return columns.next(cx, out);
        }
        let plan = self.plan.clone();
        let CNode::IndexScan(scan) = &plan.kind else {
            return Err(Error::internal("index scan node over another plan"));
        };
        let before = self.before(scan, cx)?;
        let (mut examined, mut found) = (0u32, 0);
        while !out.is_full() {
            examined += 1;
            if examined.is_multiple_of(256) {
                cx.check_interrupts()?;
            }
            if !self.next_row(scan, cx)? {
                break;
            }
            found += 1;
            plan.emit_owned(cx, &mut self.scratch, out)?;
        }
        self.count(scan, cx, (before, found));
        Ok(())
    }

    fn next_columns(&mut self, cx: &mut ExecContext, out: &mut ColumnBatch) -> Result<()> {
        if self.probes.is_some() {
            return Err(Error::internal("rows of an index scan are followed by columns"));
        }
        let plan = &self.plan;
        self.columns.get_or_insert_with(|| column_scan::start(plan.clone())).next_columns(cx, out)
    }

    fn next_stored(&mut self, cx: &mut ExecContext, out: &mut StoredSink<'_>) -> Result<()> {
        let plan = self.plan.clone();
        let CNode::IndexScan(scan) = &plan.kind else {
            return Err(Error::internal("index scan node over another plan"));
        };
        let before = self.before(scan, cx)?;
        let mut batch = RowBatch::wanting(plan.width, 1);
        while out.rows < out.wanted {
            if (out.rows + 1).is_multiple_of(256) {
                cx.check_interrupts()?;
            }
            self.scratch.clear();
            let Some(found) = self.next_found(scan, cx)? else { break };
            if let Found::Row(id, meta) = found {
                let row = scan.table.whole(self.row.row())?;
                if out.sink.raw_row(&row, &scan.table.layout, out.columns)? {
                    out.rows += 1;
                    continue;
                }
                drop(row);
                self.decode(scan, (id, meta), cx)?;
            }
            batch.clear();
            plan.emit_owned(cx, &mut self.scratch, &mut batch)?;
            for row in batch.iter() {
                out.sink.row(row)?;
                out.rows += 1;
            }
        }
        self.count(scan, cx, (before, out.rows as u64));
        Ok(())
    }

    fn rescan(&mut self, cx: &mut ExecContext) -> Result<()> {
        self.probes = None;
        self.cursor = None;
        self.columns.as_mut().map_or(Ok(()), |columns| columns.rescan(cx))
    }
}
