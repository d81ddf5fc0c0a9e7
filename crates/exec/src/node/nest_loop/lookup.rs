//! Looking up the inner rows of a batch of outer rows.
//!
//! ```text
//!   outer rows ──keys──▶ entries of the index ──▶ rows of the table, one block
//!                        (outer row, row id)      (outer row), in the order of the entries
//! ```
//!
//! A step goes through the outer rows in their order, and through the entries of each in the order
//! of the index, until it has read as many as are wanted. Keys are looked up together. A cursor
//! reads a key that has more entries than that, or is too long to be whole in the index. It goes on
//! with the next step. The step decides which rows the snapshot sees as an index scan does
//! ([`crate::node::index_scan`]): if an entry does not decide it, the row is read and its key
//! compared.

use super::compile::Key;
use super::inner::index_scan;
use super::{NestLoopPlan, PROBE_ROWS};
use crate::access::long_keys::group_of;
use crate::access::{KeyValue, ScanColumn, key_value};
use crate::context::ExecContext;
use crate::expr::{CExpr, Row};
use crate::node::IndexPlan;
use crate::node::index_scan::has_key;
use crate::node::key_cursor::{KeyCursor, KeyRange};
use crate::node::probes::CKeySearch;
use crate::vector::{ColumnBatch, GiveUp, Vector};
use std::borrow::Cow;
use std::ops::Bound;
use steppe_counting::accesses;
use steppe_txn::{LookupKeys, RowBlock, RowBuf, RowId, Visibility};
use steppe_types::key::{decode_key, encode_part};
use steppe_types::{Datum, Error, Result};

/// Entries read between two checks for interrupts.
const STEPS: u32 = 256;

/// The limits of a step.
#[derive(Clone, Copy)]
pub(super) struct Wanted {
    /// The most entries, or outer rows without any.
    pub(super) limit: usize,
    /// One match of an outer row is enough.
    pub(super) first: bool,
    /// Every found row is a match.
    pub(super) any: bool,
}

/// The progress of a batch of outer rows through the index.
#[derive(Default)]
pub(super) struct Lookup {
    /// The keys that are searched for, one after the other, and where each ends.
    keys: Vec<u8>,
    ends: Vec<usize>,
    /// For each outer row, whether its key equals no entry's key.
    nothing: Vec<bool>,
    /// The first outer row that has not been looked up to its end.
    row: usize,
    /// The entries of that row that are left, if a cursor goes through them.
    cursor: Option<KeyCursor>,
    /// Entries of one outer row after which a step ends, where one match is enough.
    probe: usize,
    /// Keys have many entries, of which hardly any is needed.
    is_crowded: bool,
    together: LookupKeys,
    postings: steppe_txn::Found,
    entries: Entries,
    places: Vec<u32>,
    pub(super) found: Found,
    pub(super) counts: Counts,
}

/// The values of a key for a batch of outer rows.
enum Values<'a> {
    Column(Cow<'a, Vector>),
    /// The same for all, once it has been needed.
    Same(&'a CExpr, Option<Datum>),
    /// The values are computed row by row, because a kernel has given up.
    ByRow,
}

/// Entries whose rows are to be fetched.
#[derive(Default)]
struct Entries {
    outer: Vec<u32>,
    rows: Vec<RowId>,
    visibility: Vec<Visibility>,
    /// The end of each entry's key in `keys`, if the keys are needed.
    ends: Vec<usize>,
    keys: Vec<u8>,
}

/// Rows that a step has found.
#[derive(Default)]
pub(super) struct Found {
    /// For each found row its outer row, and its place in `rows` or `columns`.
    pub(super) outer: Vec<u32>,
    pub(super) inner: Vec<u32>,
    pub(super) rows: RowBlock,
    /// The columns of an index-only scan, in place of rows.
    pub(super) columns: Vec<Vector>,
}

/// The counts of a step, for EXPLAIN ANALYZE and the statistics.
#[derive(Default)]
pub(super) struct Counts {
    pub(super) loops: u64,
    pub(super) searches: u64,
    pub(super) fetches: u64,
}

impl Entries {
    fn clear(&mut self) {
        self.outer.clear();
        self.rows.clear();
        self.visibility.clear();
        self.ends.clear();
        self.keys.clear();
    }

    /// Takes an entry, with its key if the index alone answers.
    fn push(&mut self, outer: usize, entry: (RowId, Visibility, &[u8]), answers: bool) {
        let (row, visibility, key) = entry;
        self.outer.push(outer as u32);
        self.rows.push(row);
        self.visibility.push(visibility);
        if answers || visibility == Visibility::AskRow {
            self.keys.extend_from_slice(key);
        }
        self.ends.push(self.keys.len());
    }

    fn key(&self, i: usize) -> &[u8] {
        let start = if i == 0 { 0 } else { self.ends[i - 1] };
        &self.keys[start..self.ends[i]]
    }
}

impl Lookup {
    /// Takes the keys of a batch of outer rows. With an error [`Self::rows`] is the number of rows
    /// before the one that failed.
    pub(super) fn begin(
        &mut self,
        join: &NestLoopPlan,
        keys: &[Key],
        outer: &ColumnBatch,
        cx: &mut ExecContext,
    ) -> Result<()> {
        self.keys.clear();
        self.ends.clear();
        self.nothing.clear();
        (self.row, self.cursor, self.probe) = (0, None, PROBE_ROWS);
        let mut values: Vec<Values<'_>> = Vec::with_capacity(keys.len());
        for key in keys {
            values.push(match key {
                Key::Column(column) => match outer.columns.get(*column) {
                    Some(column) => Values::Column(Cow::Borrowed(column)),
                    None => return Err(Error::internal("a search has no such outer column")),
                },
                Key::Same(value) => Values::Same(value, None),
                Key::Computed(value) => match value.eval(cx, outer) {
                    Ok(column) => Values::Column(Cow::Owned(column)),
                    Err(GiveUp) => Values::ByRow,
                },
            });
        }
        for i in 0..outer.len() {
            let exists = self.push_key(join, &mut values, (outer, i), cx)?;
            self.ends.push(self.keys.len());
            self.nothing.push(!exists);
        }
        Ok(())
    }

    /// Appends the key of an outer row; false if nothing can be equal to it.
    fn push_key(
        &mut self,
        join: &NestLoopPlan,
        values: &mut [Values<'_>],
        (outer, i): (&ColumnBatch, usize),
        cx: &mut ExecContext,
    ) -> Result<bool> {
        let scan = index_scan(join)?;
        for (at, (values, part)) in values.iter_mut().zip(&scan.index.parts).enumerate() {
            let value = match values {
                Values::Column(column) => column.datum(i)?,
                Values::Same(_, Some(value)) => value.clone(),
                Values::Same(value, known) => known.insert(value.eval(cx, Row::EMPTY)?).clone(),
                Values::ByRow => key_by_row(join, at, (outer, i), cx)?,
            };
            match key_value(value, part.type_oid)? {
                KeyValue::Exact(Datum::Null) => return Ok(false),
                KeyValue::Exact(value) => encode_part(&value, part, &mut self.keys)?,
                _ => return Ok(false),
            }
        }
        Ok(true)
    }

    /// The number of outer rows.
    pub(super) fn rows(&self) -> usize {
        self.ends.len()
    }

    /// The outer row that is looked up next, or is being.
    pub(super) fn row(&self) -> usize {
        self.row
    }

    /// Skips the rest of the present outer row, which has its match.
    pub(super) fn skip(&mut self) {
        self.row += 1;
        self.cursor = None;
        self.probe = PROBE_ROWS;
    }

    fn key(&self, row: usize) -> &[u8] {
        let start = if row == 0 { 0 } else { self.ends[row - 1] };
        &self.keys[start..self.ends[row]]
    }

    /// Looks up the next outer rows.
    pub(super) fn step(
        &mut self,
        scan: &IndexPlan,
        keys: &[Key],
        wanted: Wanted,
        cx: &mut ExecContext,
    ) -> Result<()> {
        self.entries.clear();
        self.counts = Counts::default();
        let from = self.row;
        let is_point = scan.index.unique && keys.len() == scan.index.parts.len();
        if self.cursor.is_none() && !self.is_crowded {
            self.look_up(scan, is_point, wanted, cx)?;
        }
        if self.row == from {
            self.walk(scan, keys, wanted, cx)?;
        }
        match scan.key_columns {
            None => self.fetch(scan, is_point, cx)?,
            Some(_) => self.answer(scan, is_point, cx)?,
        }
        let index = scan.index.relation.oid;
        if self.counts.searches > 0 {
            accesses::scanned(index, self.counts.searches, cx.functions.statement_timestamp);
        }
        accesses::found(index, self.found.outer.len() as u64, self.counts.fetches);
        Ok(())
    }

    /// Looks up the entries of many outer rows together, as long as they are not too many.
    fn look_up(
        &mut self,
        scan: &IndexPlan,
        is_point: bool,
        wanted: Wanted,
        cx: &mut ExecContext,
    ) -> Result<()> {
        let mut together = std::mem::take(&mut self.together);
        together.clear();
        let mut until = self.row;
        while until < self.rows() && until - self.row < wanted.limit {
            let key = self.key(until);
            if group_of(key).is_some() {
                break;
            }
            if !self.nothing[until] {
                together.push(key);
            }
            until += 1;
        }
        let view = cx.view()?;
        let postings = &mut self.postings;
        scan.index.store.lookup_many(view, &together, 0, wanted.limit, postings)?;
        let keys = self.postings.keys();
        let is_too_much = keys == 0 && !together.is_empty();
        let entries = self.postings.rows().len();
        self.is_crowded = wanted.first && (is_too_much || entries > keys * PROBE_ROWS);
        let mut next = 0;
        while self.row < until {
            if !self.nothing[self.row] {
                if next == keys || !self.take_postings(next, scan, is_point, wanted) {
                    break;
                }
                self.counts.searches += 1;
                next += 1;
            }
            self.counts.loops += 1;
            self.row += 1;
        }
        self.together = together;
        Ok(())
    }

    /// Takes the entries of a key that was looked up for the present outer row; false if some of
    /// their keys are not whole in the index.
    fn take_postings(
        &mut self,
        i: usize,
        scan: &IndexPlan,
        is_point: bool,
        wanted: Wanted,
    ) -> bool {
        let Lookup { postings, entries, row, .. } = self;
        let range = postings.rows_of(i);
        if range.clone().any(|at| group_of(postings.key(at)).is_some()) {
            return false;
        }
        for n in 0..range.len() {
            let at = if scan.backward { range.end - 1 - n } else { range.start + n };
            let visibility = postings.visibility(at);
            let entry = (postings.rows()[at], visibility, postings.key(at));
            entries.push(*row, entry, scan.key_columns.is_some());
            // Only one row has a unique key; for other keys one row is enough.
            if (is_point || wanted.any && wanted.first) && visibility == Visibility::Definitive {
                break;
            }
        }
        true
    }

    /// Goes through the entries of outer rows one after the other.
    fn walk(
        &mut self,
        scan: &IndexPlan,
        keys: &[Key],
        wanted: Wanted,
        cx: &mut ExecContext,
    ) -> Result<()> {
        let from = self.row;
        while self.row < self.rows() {
            let room = wanted.limit.saturating_sub(self.entries.rows.len() + self.row - from);
            if room == 0 {
                break;
            }
            if self.nothing[self.row] {
                self.counts.loops += 1;
                self.skip();
                continue;
            }
            let mut cursor = match self.cursor.take() {
                Some(cursor) => cursor,
                None => self.open(scan, keys, cx)?,
            };
            let most = if wanted.first { self.probe.min(wanted.limit) } else { room };
            if self.take_entries(&mut cursor, scan, (most, wanted), cx)? {
                self.skip();
                continue;
            }
            self.cursor = Some(cursor);
            if wanted.first {
                // After these have been read it is known whether more are needed.
                self.probe *= 2;
                break;
            }
        }
        Ok(())
    }

    /// Takes at most `most` entries of the present outer row from its cursor. Returns whether no
    /// more are needed.
    fn take_entries(
        &mut self,
        cursor: &mut KeyCursor,
        scan: &IndexPlan,
        (most, wanted): (usize, Wanted),
        cx: &mut ExecContext,
    ) -> Result<bool> {
        let mut examined = 0u32;
        for _ in 0..most {
            if !cursor.advance(&scan.table, &scan.index, &mut self.counts.fetches, cx)? {
                return Ok(true);
            }
            let (key, id, visibility) = cursor.entry();
            self.entries.push(self.row, (id, visibility, key), scan.key_columns.is_some());
            if wanted.any && wanted.first && visibility == Visibility::Definitive {
                return Ok(true);
            }
            examined += 1;
            if examined.is_multiple_of(STEPS) {
                cx.check_interrupts()?;
            }
        }
        Ok(false)
    }

    /// Begins with the entries of the present outer row.
    fn open(&mut self, scan: &IndexPlan, keys: &[Key], cx: &mut ExecContext) -> Result<KeyCursor> {
        self.counts.loops += 1;
        self.counts.searches += 1;
        let key = self.key(self.row).to_vec();
        let range = match keys.len() == scan.index.parts.len() {
            true => KeyRange::One(key),
            false => KeyRange::Between(Bound::Included(key.clone()), Bound::Included(key)),
        };
        KeyCursor::open(&scan.index, cx.view()?.clone(), range, scan.backward)
    }

    /// Fetches the rows of the entries, and keeps the rows that the snapshot sees with their key.
    fn fetch(&mut self, scan: &IndexPlan, is_point: bool, cx: &mut ExecContext) -> Result<()> {
        let Lookup { entries, places, found, counts, .. } = self;
        found.outer.clear();
        found.inner.clear();
        let Some(rows) = scan.table.rows() else { return Ok(()) };
        rows.get_block(cx.view()?, &entries.rows, &mut found.rows, places)?;
        counts.fetches += entries.rows.len() as u64;
        for (i, place) in places.iter().enumerate() {
            let place = *place as usize;
            let outer = entries.outer[place];
            if is_point && found.outer.last() == Some(&outer) {
                continue;
            }
            let is_asked = entries.visibility[place] == Visibility::AskRow;
            let (row, key) = (found.rows.row(i), entries.key(place));
            if is_asked && !has_key(&scan.table, &scan.index, row, key)? {
                continue;
            }
            found.outer.push(outer);
            found.inner.push(i as u32);
        }
        Ok(())
    }

    /// Makes the output from the definitive entries, and from the rows of others.
    fn answer(&mut self, scan: &IndexPlan, is_point: bool, cx: &mut ExecContext) -> Result<()> {
        let Lookup { entries, found, counts, .. } = self;
        found.outer.clear();
        found.inner.clear();
        let (Some(rows), Some(places)) = (scan.table.rows(), &scan.key_columns) else {
            return Ok(());
        };
        found.columns.resize_with(places.len(), Vector::default);
        found.columns.iter_mut().for_each(Vector::clear);
        let view = cx.view()?;
        let (mut buffer, mut values, mut row) = (RowBuf::new(), Vec::new(), Vec::new());
        for (i, outer) in entries.outer.iter().enumerate() {
            if is_point && found.outer.last() == Some(outer) {
                continue;
            }
            row.clear();
            if entries.visibility[i] == Visibility::Definitive {
                values.clear();
                decode_key(entries.key(i), &scan.index.parts, &mut values)?;
                row.extend(places.iter().map(|place| values[*place].clone()));
            } else {
                counts.fetches += 1;
                if rows.get_near(view, entries.rows[i], &mut buffer)?.is_none()
                    || !has_key(&scan.table, &scan.index, buffer.row(), entries.key(i))?
                {
                    continue;
                }
                for column in scan.columns.iter() {
                    let ScanColumn::Stored(column) = column else { continue };
                    row.push(scan.table.decode_column(buffer.row(), *column)?);
                }
            }
            found.columns.iter_mut().zip(&row).for_each(|(column, value)| column.push(value));
            found.inner.push(found.outer.len() as u32);
            found.outer.push(*outer);
        }
        Ok(())
    }
}

/// Key `at` of an outer row, as the scan computes it when it is run for that row.
#[cold]
fn key_by_row(
    join: &NestLoopPlan,
    at: usize,
    (outer, i): (&ColumnBatch, usize),
    cx: &mut ExecContext,
) -> Result<Datum> {
    let mut row = Vec::new();
    outer.row_into(i, &mut row)?;
    join.set_params(&row, cx)?;
    match index_scan(join)?.range.keys.get(at) {
        Some(CKeySearch::Equal(value)) => value.eval(cx, Row::EMPTY),
        _ => Err(Error::internal("a computed key is searched for in another way")),
    }
}
