//! Index scans: ranges of keys, rows fetched by id, or answered from the key.
//!
//! ```text
//!   equal = (a, b)   any = array   lower/upper on the next column
//!        └──────┬──────┘ one probe an element
//!               ▼
//!   probe: all keys between two prefixes, or one key
//! ```
//!
//! A posting that is definitive for the snapshot answers by itself; for any other
//! the visible version of the row is read and its key compared, so that a row is
//! found under the key it has at the snapshot and under no other.
//!
//! Keys are whole here, however long; an index has long ones shortened (`access/long_keys.rs`).

use super::key_cursor::{KeyCursor, KeyRange};
use super::{BoxedNode, CNode, CPlan, Node};
use crate::access::long_keys::shorten;
use crate::access::{IndexAccess, KeyValue, ScanColumn, TableAccess, key_value};
use crate::accesses;
use crate::batch::RowBatch;
use crate::context::ExecContext;
use crate::expr::{CExpr, Row};
use std::ops::Bound;
use std::sync::Arc;
use steppe_txn::{RowBuf, RowId, RowMeta, View, Visibility};
use steppe_types::key::{KeyPart, decode_key, encode_part};
use steppe_types::{Datum, Error, Result};

/// First byte of every key part that is not NULL.
const VALUE_MARKER: u8 = 1;

/// A compiled index range.
pub(crate) struct CIndexRange {
    pub(crate) equal: Box<[CExpr]>,
    pub(crate) equal_is_null: Box<[bool]>,
    pub(crate) any: Option<CExpr>,
    pub(crate) lower: Option<(CExpr, bool)>,
    pub(crate) upper: Option<(CExpr, bool)>,
    /// The next column IS NOT NULL.
    pub(crate) not_null: bool,
}

/// A compiled index scan.
pub(crate) struct IndexPlan {
    pub(crate) table: TableAccess,
    pub(crate) index: IndexAccess,
    pub(crate) range: CIndexRange,
    pub(crate) backward: bool,
    /// For each requested column its place in the key; `None`: rows are fetched.
    pub(crate) key_columns: Option<Box<[usize]>>,
    pub(crate) columns: Box<[ScanColumn]>,
}

/// One stretch of the index.
#[derive(Debug)]
enum Probe {
    /// One key of a unique index, without NULL, as the index has it.
    Point(Vec<u8>),
    Range(KeyRange),
}

impl Probe {
    /// One key that is whole, or the beginning of keys.
    fn equal(key: Vec<u8>, is_whole: bool, is_point: bool) -> Result<Probe> {
        let mut key = key;
        Ok(match (is_whole, is_point) {
            (true, true) => {
                shorten(&mut key, 0)?;
                Probe::Point(key)
            }
            (true, false) => Probe::Range(KeyRange::One(key)),
            (false, _) => {
                Probe::Range(KeyRange::Between(Bound::Included(key.clone()), Bound::Included(key)))
            }
        })
    }
}

/// The stretches that a scan visits, last one first.
#[derive(Debug, Default)]
pub(crate) struct Probes(Vec<Probe>);

/// The end of a range on one column, as the key's type sees it.
enum End {
    Open,
    /// Nothing satisfies it.
    Nothing,
    At(Vec<u8>, bool),
}

impl CIndexRange {
    /// Evaluates the range with the present parameters.
    pub(crate) fn probes(
        &self,
        index: &IndexAccess,
        backward: bool,
        cx: &mut ExecContext,
    ) -> Result<Probes> {
        let mut prefix = Vec::new();
        let Some(null_key) = self.equal_prefix(index, &mut prefix, cx)? else {
            return Ok(Probes::default());
        };
        let columns = self.equal.len();
        if let Some(any) = &self.any {
            return self.any_probes(any, index, prefix, null_key, backward, cx);
        }
        if self.lower.is_none() && self.upper.is_none() && !self.not_null {
            let is_whole = columns == index.parts.len();
            let probe = match prefix.is_empty() {
                true => Probe::Range(KeyRange::Between(Bound::Unbounded, Bound::Unbounded)),
                false => Probe::equal(prefix, is_whole, index.unique && !null_key)?,
            };
            return Ok(Probes(vec![probe]));
        }
        self.range_probe(index_part(index, columns)?, &prefix, cx)
    }

    /// Appends the key that a scan looks up which is one probe of a whole unique key;
    /// false if nothing can be equal to it.
    pub(crate) fn point_key(
        &self,
        index: &IndexAccess,
        key: &mut Vec<u8>,
        cx: &mut ExecContext,
    ) -> Result<bool> {
        let start = key.len();
        let found = self.equal_prefix(index, key, cx)?.is_some();
        shorten(key, start)?;
        Ok(found)
    }

    /// Appends the key parts of the columns that are compared for equality; says whether
    /// one of them is NULL. `None`: nothing can be equal to them.
    fn equal_prefix(
        &self,
        index: &IndexAccess,
        prefix: &mut Vec<u8>,
        cx: &mut ExecContext,
    ) -> Result<Option<bool>> {
        let mut null_key = false;
        for (i, expr) in self.equal.iter().enumerate() {
            let part = index_part(index, i)?;
            if self.equal_is_null.get(i).copied().unwrap_or(false) {
                null_key = true;
                encode_part(&Datum::Null, part, prefix)?;
                continue;
            }
            match key_value(expr.eval(cx, Row::EMPTY)?, part.type_oid)? {
                KeyValue::Exact(Datum::Null) => return Ok(None),
                KeyValue::Exact(value) => encode_part(&value, part, prefix)?,
                _ => return Ok(None),
            }
        }
        Ok(Some(null_key))
    }

    /// One probe for each distinct element.
    fn any_probes(
        &self,
        any: &CExpr,
        index: &IndexAccess,
        prefix: Vec<u8>,
        null_key: bool,
        backward: bool,
        cx: &mut ExecContext,
    ) -> Result<Probes> {
        let part = index_part(index, self.equal.len())?;
        let array = match any.eval(cx, Row::EMPTY)? {
            Datum::Null => return Ok(Probes::default()),
            Datum::Array(array) => array,
            _ => return Err(Error::internal("index search over a value that is not an array")),
        };
        let mut keys = Vec::with_capacity(array.elements.len());
        for element in array.elements.iter().filter(|e| !e.is_null()) {
            if let KeyValue::Exact(value) = key_value(element.clone(), part.type_oid)? {
                let mut key = prefix.clone();
                encode_part(&value, part, &mut key)?;
                keys.push(key);
            }
        }
        keys.sort_unstable();
        keys.dedup();
        // Probes are taken from the back.
        if !backward {
            keys.reverse();
        }
        let is_whole = self.equal.len() + 1 == index.parts.len();
        let is_point = index.unique && !null_key;
        let probes = keys.into_iter().map(|key| Probe::equal(key, is_whole, is_point));
        probes.collect::<Result<_>>().map(Probes)
    }

    /// A range on the column after the prefix; NULLs lie outside every range.
    fn range_probe(&self, part: &KeyPart, prefix: &[u8], cx: &mut ExecContext) -> Result<Probes> {
        let lower = end(self.lower.as_ref(), true, part, prefix, cx)?;
        let upper = end(self.upper.as_ref(), false, part, prefix, cx)?;
        let (first, last) = if part.descending { (upper, lower) } else { (lower, upper) };
        let bound = |end: End| match end {
            End::Nothing => None,
            End::Open => {
                let mut values = prefix.to_vec();
                values.push(VALUE_MARKER);
                Some(Bound::Included(values))
            }
            End::At(key, true) => Some(Bound::Included(key)),
            End::At(key, false) => Some(Bound::Excluded(key)),
        };
        let (Some(first), Some(last)) = (bound(first), bound(last)) else {
            return Ok(Probes::default());
        };
        Ok(Probes(vec![Probe::Range(KeyRange::Between(first, last))]))
    }
}

fn index_part(index: &IndexAccess, i: usize) -> Result<&KeyPart> {
    index.parts.get(i).ok_or_else(|| Error::internal("index has fewer columns than its search"))
}

/// One end of a range: `lower` tells which.
fn end(
    limit: Option<&(CExpr, bool)>,
    lower: bool,
    part: &KeyPart,
    prefix: &[u8],
    cx: &mut ExecContext,
) -> Result<End> {
    let Some((expr, inclusive)) = limit else { return Ok(End::Open) };
    let at = |value: &Datum, inclusive: bool| {
        let mut key = prefix.to_vec();
        encode_part(value, part, &mut key)?;
        Ok(End::At(key, inclusive))
    };
    match key_value(expr.eval(cx, Row::EMPTY)?, part.type_oid)? {
        KeyValue::Exact(Datum::Null) => Ok(End::Nothing),
        KeyValue::Exact(value) => at(&value, *inclusive),
        // x > 1.5 is x > 1, x < 1.5 is x <= 1.
        KeyValue::Above(value) => at(&value, !lower),
        KeyValue::BelowAll => Ok(if lower { End::Open } else { End::Nothing }),
        KeyValue::AboveAll => Ok(if lower { End::Nothing } else { End::Open }),
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
fn has_key(table: &TableAccess, index: &IndexAccess, row: &[u8], key: &[u8]) -> Result<bool> {
    let mut actual = Vec::with_capacity(key.len());
    Ok(index.key_of_row(table, row, &mut actual)?.is_some() && actual == key)
}

struct IndexScanNode {
    plan: Arc<CPlan>,
    /// `None` before the range has been evaluated.
    probes: Option<Probes>,
    cursor: Option<KeyCursor>,
    row: RowBuf,
    postings: Vec<u8>,
    scratch: Vec<Datum>,
    key_values: Vec<Datum>,
    /// Probes made, and rows of the table looked at, for EXPLAIN ANALYZE.
    counts: Counts,
}

#[derive(Default)]
struct Counts {
    searches: u64,
    fetches: u64,
}

pub(super) fn start(plan: Arc<CPlan>) -> BoxedNode {
    Box::new(IndexScanNode {
        plan,
        probes: None,
        cursor: None,
        row: RowBuf::new(),
        postings: Vec::new(),
        scratch: Vec::new(),
        key_values: Vec::new(),
        counts: Counts::default(),
    })
}

impl IndexScanNode {
    /// Puts the next visible row's columns into `scratch`; false at the end.
    fn next_row(&mut self, scan: &IndexPlan, cx: &mut ExecContext) -> Result<bool> {
        loop {
            if self.cursor.is_some() {
                if self.next_from_range(scan, cx)? {
                    return Ok(true);
                }
                self.cursor = None;
            }
            let view = &cx.txn()?.view;
            let probe = self.probes.as_mut().and_then(|p| p.0.pop());
            self.counts.searches += u64::from(probe.is_some());
            match probe {
                None => return Ok(false),
                Some(Probe::Point(key)) => {
                    let (postings, row) = (&mut self.postings, &mut self.row);
                    let found = find_point(&scan.table, &scan.index, view, &key, postings, row)?;
                    if let Some(found) = found {
                        self.counts.fetches += 1;
                        let (row, out) = (self.row.row(), &mut self.scratch);
                        scan.table.decode_columns(row, found, view, &scan.columns, out)?;
                        return Ok(true);
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
    fn next_from_range(&mut self, scan: &IndexPlan, cx: &mut ExecContext) -> Result<bool> {
        let Some(rows) = scan.table.rows() else { return Ok(false) };
        let Some(cursor) = &mut self.cursor else { return Ok(false) };
        let (key_values, out) = (&mut self.key_values, &mut self.scratch);
        while cursor.advance(&scan.table, &scan.index, &mut self.counts.fetches, cx)? {
            let (key, id, visibility) = cursor.entry();
            if let (Some(places), Visibility::Definitive) = (&scan.key_columns, visibility) {
                key_values.clear();
                decode_key(key, &scan.index.parts, key_values)?;
                for (place, column) in places.iter().zip(&scan.columns) {
                    out.push(match column {
                        ScanColumn::Stored(_) => key_values[*place].clone(),
                        ScanColumn::RowId => Datum::Int8(id.0 as i64),
                        ScanColumn::TableOid => Datum::Oid(scan.table.relation.oid),
                        ScanColumn::Version(_) | ScanColumn::Form(..) => return Err(no_version()),
                    });
                }
                return Ok(true);
            }
            self.counts.fetches += 1;
            let view = &cx.txn()?.view;
            let Some(meta) = rows.get(view, id, &mut self.row)? else { continue };
            let row = self.row.row();
            if visibility == Visibility::AskRow && !has_key(&scan.table, &scan.index, row, key)? {
                continue;
            }
            scan.table.decode_columns(row, (id, meta), view, &scan.columns, out)?;
            return Ok(true);
        }
        Ok(false)
    }
}

#[cold]
fn no_version() -> Error {
    Error::internal("a system column was to be read from an index")
}

impl Node for IndexScanNode {
    fn next(&mut self, cx: &mut ExecContext, out: &mut RowBatch) -> Result<()> {
        let plan = self.plan.clone();
        let CNode::IndexScan(scan) = &plan.kind else {
            return Err(Error::internal("index scan node over another plan"));
        };
        if self.probes.is_none() {
            self.probes = Some(scan.range.probes(&scan.index, scan.backward, cx)?);
        }
        let before = (self.counts.searches, self.counts.fetches);
        let (mut examined, mut found) = (0u32, 0);
        while !out.is_full() {
            examined += 1;
            if examined.is_multiple_of(256) {
                cx.check_interrupts()?;
            }
            self.scratch.clear();
            if !self.next_row(scan, cx)? {
                break;
            }
            found += 1;
            plan.emit_owned(cx, &mut self.scratch, out)?;
        }
        let index = scan.index.relation.oid;
        let searches = self.counts.searches - before.0;
        if searches > 0 {
            accesses::scanned(index, searches, cx.functions.statement_timestamp);
        }
        accesses::found(index, found, self.counts.fetches - before.1);
        if let Some(instrument) = cx.instrument(plan.id) {
            let counts = std::mem::take(&mut self.counts);
            instrument.searches += counts.searches;
            instrument.fetches += counts.fetches;
        }
        Ok(())
    }

    fn rescan(&mut self, _: &mut ExecContext) -> Result<()> {
        self.probes = None;
        self.cursor = None;
        Ok(())
    }
}
