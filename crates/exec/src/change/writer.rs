//! Inserting rows: the table a leaf's worth at a time, then each index in key order.
//!
//! A batch meets its errors in another order than rows one at a time do: a duplicate key of a late
//! row may sort before that of an early one, and all rows are checked before any is stored. So a
//! batch that fails is taken back and its rows are put in one by one: the first that fails says
//! why (PostgreSQL's ExecInsert).

use super::route::{OpenLeaves, Placed};
use super::{ModifyPlan, Target, check_partition, check_row, deferred, duplicate_key};
use crate::access::{IndexAccess, TableAccess};
use crate::context::ExecContext;
use crate::row_wait::{Doing, RowWait};
use steppe_counting::accesses;
use steppe_txn::{IndexEntry, IndexInsert, NewRows, RowId};
use steppe_types::{Datum, Error, Result};

/// Inserts rows; its buffers are reused from batch to batch.
#[derive(Default)]
pub(crate) struct Inserter {
    rows: NewRows,
    key: Vec<u8>,
    ids: Vec<RowId>,
    keys: Vec<u8>,
    entries: Vec<KeyEntry>,
}

/// The rows of a batch, as the keys of its indexes are made from them.
#[derive(Clone, Copy)]
enum Rows<'a> {
    Values(&'a [&'a [Datum]]),
    Encoded(&'a NewRows),
}

impl Rows<'_> {
    fn len(self) -> usize {
        match self {
            Rows::Values(rows) => rows.len(),
            Rows::Encoded(rows) => rows.len(),
        }
    }

    /// Appends the key of row `i`; says whether the store is to treat it as having a
    /// NULL. `None`: a partial index leaves the row out.
    fn key(
        self,
        table: &TableAccess,
        index: &IndexAccess,
        i: usize,
        out: &mut Vec<u8>,
    ) -> Result<Option<bool>> {
        match self {
            Rows::Values(rows) => index.key_of(rows[i], out),
            Rows::Encoded(rows) => index.key_of_row(table, rows.row(i), out),
        }
    }

    /// The values of row `i`, for an error.
    fn values(self, table: &TableAccess, i: usize) -> Result<Vec<Datum>> {
        match self {
            Rows::Values(rows) => Ok(rows[i].to_vec()),
            Rows::Encoded(rows) => {
                let mut values = Vec::new();
                table.decode_all(rows.row(i), &mut values)?;
                Ok(values)
            }
        }
    }
}

/// A key in the buffer.
#[derive(Clone, Copy)]
struct KeyEntry {
    start: usize,
    end: usize,
    has_null: bool,
    /// Position of the row in the batch.
    row: usize,
}

impl Inserter {
    /// The ids of the rows inserted last.
    pub(crate) fn ids(&self) -> &[RowId] {
        &self.ids
    }

    /// Inserts rows that are complete, in column order.
    pub(crate) fn insert(
        &mut self,
        target: &Target,
        rows: &[&[Datum]],
        cx: &mut ExecContext,
    ) -> Result<()> {
        if target.is_constrained() {
            for row in rows {
                check_row(target, row, cx)?;
                check_partition(target, row, cx)?;
            }
        }
        self.insert_checked(target, rows, cx)
    }

    /// Inserts rows that satisfy the table's constraints.
    pub(super) fn insert_checked(
        &mut self,
        target: &Target,
        rows: &[&[Datum]],
        cx: &mut ExecContext,
    ) -> Result<()> {
        self.insert_rows(target, rows, cx)?;
        for index in &target.indexes {
            self.insert_keys(target, index, Rows::Values(rows), cx)?;
        }
        Ok(())
    }

    /// The table's part of that.
    pub(super) fn insert_rows(
        &mut self,
        target: &Target,
        rows: &[&[Datum]],
        cx: &mut ExecContext,
    ) -> Result<()> {
        self.ids.clear();
        let mut new = std::mem::take(&mut self.rows);
        new.clear();
        for row in rows {
            let txn = &mut cx.txn()?.txn;
            new.push_with(|out| target.table.append_row(txn, row, &[], out))?;
        }
        let stored = self.store_rows(target, &mut new, cx);
        self.rows = new;
        stored
    }

    /// Inserts rows that are encoded and satisfy the table's constraints.
    pub(crate) fn insert_encoded(
        &mut self,
        target: &Target,
        rows: &mut NewRows,
        cx: &mut ExecContext,
    ) -> Result<()> {
        self.ids.clear();
        self.store_rows(target, rows, cx)?;
        for index in &target.indexes {
            self.insert_keys(target, index, Rows::Encoded(rows), cx)?;
        }
        Ok(())
    }

    fn store_rows(
        &mut self,
        target: &Target,
        rows: &mut NewRows,
        cx: &mut ExecContext,
    ) -> Result<()> {
        let store = target.table.rows_for_write()?;
        let txn = &mut cx.txn()?.txn;
        if rows.len() == 1 {
            self.ids.push(store.insert(txn, rows.row(0))?);
        } else {
            accesses::count_apart();
            store.insert_batch(txn, rows, &mut self.ids)?;
        }
        accesses::inserted(target.table.oid, rows.len() as u64);
        Ok(())
    }

    /// One index's part.
    fn insert_keys(
        &mut self,
        target: &Target,
        index: &IndexAccess,
        rows: Rows<'_>,
        cx: &mut ExecContext,
    ) -> Result<()> {
        self.keys.clear();
        self.entries.clear();
        for i in 0..rows.len() {
            let start = self.keys.len();
            self.key.clear();
            let has_null = rows.key(&target.table, index, i, &mut self.key)?;
            // A partial index leaves rows out.
            let Some(has_null) = has_null else { continue };
            self.keys.extend_from_slice(&self.key);
            self.entries.push(KeyEntry { start, end: self.keys.len(), has_null, row: i });
        }
        let keys = &self.keys;
        // Row ids ascend with the position, which orders the postings of one key.
        self.entries.sort_by(|a, b| keys[a.start..a.end].cmp(&keys[b.start..b.end]));
        let entries: Vec<IndexEntry<'_>> = self
            .entries
            .iter()
            .map(|e| IndexEntry {
                key: &keys[e.start..e.end],
                has_null: e.has_null,
                row: self.ids[e.row],
            })
            .collect();
        let deferrable = index.deferrable;
        let mut done = 0;
        while done < entries.len() {
            let batch = index.store.insert_batch(&mut cx.txn()?.txn, &entries[done..])?;
            done += batch.consumed;
            match batch.stopped {
                IndexInsert::Done => {}
                IndexInsert::Duplicate(_) => {
                    let row = rows.values(&target.table, self.entries[done].row)?;
                    return Err(duplicate_key(&target.table, index, &row, &cx.functions));
                }
                IndexInsert::MustWait(wait) => {
                    let row = entries[done].row;
                    RowWait::new(Doing::InsertingKey, row, &index.relation).wait(wait, cx)?;
                }
            }
        }
        for entry in entries.iter().filter(|_| deferrable) {
            deferred::note(index, entry.key, entry.has_null, entry.row, cx)?;
        }
        Ok(())
    }
}

impl ModifyPlan {
    /// [`Self::insert`] whose error is that of the first row that fails. What the statement did
    /// before stays.
    pub(super) fn insert_in_order(
        &self,
        rows: &[&[Datum]],
        open: &mut OpenLeaves,
        inserter: &mut Inserter,
        cx: &mut ExecContext,
    ) -> Result<Vec<Placed>> {
        if rows.len() <= 1 {
            return self.insert(rows, open, inserter, cx);
        }
        let mark = cx.mark()?;
        let inserted = self.insert(rows, open, inserter, cx);
        let Err(error) = inserted else { return inserted };
        if is_of_a_row(&error) {
            cx.rollback_to(mark)?;
            for row in rows {
                cx.check_interrupts()?;
                self.insert(&[row], open, inserter, cx)?;
            }
        }
        Err(error)
    }
}

/// Whether an error is about what a row holds (classes 22, 23 and 54), not about what becomes of
/// the statement.
fn is_of_a_row(error: &Error) -> bool {
    matches!(&error.sqlstate().0[..2], b"22" | b"23" | b"54")
}

/// Adds one key, waiting for the transaction that is about to decide about it; 23505 for a
/// duplicate.
pub(super) fn insert_key(
    target: &Target,
    index: &IndexAccess,
    key: &[u8],
    has_null: bool,
    id: RowId,
    row: &[Datum],
    cx: &mut ExecContext,
) -> Result<()> {
    loop {
        match index.store.insert(&mut cx.txn()?.txn, key, has_null, id)? {
            IndexInsert::Done if index.deferrable => {
                return deferred::note(index, key, has_null, id, cx);
            }
            IndexInsert::Done => return Ok(()),
            IndexInsert::Duplicate(_) => {
                return Err(duplicate_key(&target.table, index, row, &cx.functions));
            }
            IndexInsert::MustWait(wait) => {
                RowWait::new(Doing::InsertingKey, id, &index.relation).wait(wait, cx)?;
            }
        }
    }
}
