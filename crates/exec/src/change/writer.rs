//! Writes rows to the table and to each index, and cleans up after deleted rows.
//!
//! Only [`TableWriter`] stores rows and cleans up after deleted and replaced ones. Plan nodes,
//! point statements, COPY, ON CONFLICT and rewrites by DDL all use it. [`Inserter`] inserts
//! batches: first into the table, a leaf's worth at a time, then into each index in key order.

use super::outcome::{Attempted, ChangeKind, ChangeOf, of_key, of_modify};
use super::{Target, Written, check_partition, check_row, deferred, duplicate_key};
use crate::access::{IndexAccess, TableAccess};
use crate::context::ExecContext;
use steppe_counting::accesses;
use steppe_txn::{Action, IndexEntry, NewRows, RowId, RowVersion, Txn};
use steppe_types::{Datum, Error, Result};

/// Writes rows of one table. It only writes storage: rows, entries of indexes, values out of line,
/// and their counters.
#[derive(Clone, Copy)]
pub struct TableWriter<'a> {
    table: &'a TableAccess,
    /// The index that a point statement has searched, which is not among the others.
    searched: Option<&'a IndexAccess>,
    indexes: &'a [IndexAccess],
}

impl<'a> TableWriter<'a> {
    /// For the table alone: it has no indexes, or their entries are inserted separately.
    pub fn new(table: &'a TableAccess) -> TableWriter<'a> {
        TableWriter { table, searched: None, indexes: &[] }
    }

    /// For the table with all its indexes.
    pub(crate) fn with_indexes(
        table: &'a TableAccess,
        searched: Option<&'a IndexAccess>,
        indexes: &'a [IndexAccess],
    ) -> TableWriter<'a> {
        TableWriter { table, searched, indexes }
    }

    /// Puts encoded rows into the table; their ids are appended.
    pub fn insert(&self, rows: &mut NewRows, ids: &mut Vec<RowId>, txn: &mut Txn) -> Result<()> {
        let store = self.table.rows_for_write()?;
        if rows.len() == 1 && !rows.are_of_others() {
            ids.push(store.insert(txn, rows.row(0))?);
        } else {
            accesses::count_apart();
            store.insert_batch(txn, rows, ids)?;
        }
        accesses::inserted(self.table.oid, rows.len() as u64);
        Ok(())
    }

    /// Inserts the rows of a table that is rewritten into its new file. They are not new rows, so
    /// they are not counted.
    pub fn rewrite(&self, rows: &mut NewRows, txn: &mut Txn) -> Result<()> {
        let mut ids = Vec::with_capacity(rows.len());
        self.table.rows_for_write()?.insert_batch(txn, rows, &mut ids)
    }

    /// Puts a change in place if `version` still is the row's newest one, waiting for other writers.
    /// The row's index entries are for [`TableWriter::finish_replace`] and
    /// [`TableWriter::finish_delete`].
    pub(super) fn change(
        &self,
        id: RowId,
        version: &RowVersion,
        action: Action,
        new: &[u8],
        cx: &mut ExecContext,
    ) -> Result<Attempted> {
        let rows = self.table.rows_for_write()?;
        let kind = match action {
            Action::Delete | Action::Move => ChangeKind::Delete,
            Action::Replace { .. } | Action::Keep => ChangeKind::Update,
        };
        loop {
            let txn = &mut cx.txn()?.txn;
            let of = ChangeOf::new(kind, id, &self.table.relation, txn);
            let outcome = rows.modify_in(txn, id, action.mode(), &mut |current, out| {
                if current.meta != version.meta {
                    return Ok(Action::Keep);
                }
                out.extend_from_slice(new);
                Ok(action)
            })?;
            match of_modify(outcome, &of)? {
                Attempted::Kept | Attempted::Held => {
                    let message = "the version to be changed is not the one that was seen";
                    return Err(Error::internal(message));
                }
                Attempted::Wait(wait, at) => at.wait(wait, cx)?,
                attempted => return Ok(attempted),
            }
        }
    }

    /// Cleans up after a row was deleted, or moved to another leaf. Removes it from the indexes,
    /// and frees its out-of-line values. `row` is the deleted version, `key` a buffer.
    pub(crate) fn finish_delete(
        &self,
        id: RowId,
        row: &[u8],
        key: &mut Vec<u8>,
        cx: &mut ExecContext,
    ) -> Result<()> {
        accesses::deleted(self.table.oid);
        for index in self.searched.into_iter().chain(self.indexes) {
            key.clear();
            if let Some(has_null) = index.within(cx, || index.key_of_row(self.table, row, key))? {
                index.store.mark_deleted(&mut cx.txn()?.txn, key, has_null, id)?;
            }
        }
        self.table.let_go(&mut cx.txn()?.txn, row, |_| true)
    }

    /// Cleans up after a version was replaced: moves index entries whose keys have changed, and
    /// frees out-of-line values that the new version does not have. `old` and `new` are the
    /// versions' values.
    pub(super) fn finish_replace(
        &self,
        written: &Written,
        (id, version): (RowId, &RowVersion),
        (old, new): (&[Datum], &[Datum]),
        cx: &mut ExecContext,
    ) -> Result<()> {
        // The row counts as updated even if a key fails: undo of the row undoes the count, too.
        let moved = self
            .move_entries(written, id, (old, new), cx)
            .inspect_err(|_| accesses::updated(self.table.oid, true))?;
        accesses::updated(self.table.oid, moved);
        self.table.let_go(&mut cx.txn()?.txn, &version.row, |column| written.has(column))
    }

    /// Moves the entries of indexes whose key has changed; whether there are any.
    fn move_entries(
        &self,
        written: &Written,
        id: RowId,
        (old, new): (&[Datum], &[Datum]),
        cx: &mut ExecContext,
    ) -> Result<bool> {
        let mut moved = false;
        for index in written.indexes.iter().filter_map(|at| self.indexes.get(*at)) {
            let (mut before, mut after) = (Vec::new(), Vec::new());
            let was = index.within(cx, || index.key_of(old, &mut before))?;
            let is = index.within(cx, || index.key_of(new, &mut after))?;
            if was.is_some() == is.is_some() && before == after {
                continue;
            }
            moved = true;
            if let Some(has_null) = is {
                insert_key(self.table, index, &after, has_null, id, new, cx)?;
            }
            if let Some(had_null) = was {
                index.store.mark_deleted(&mut cx.txn()?.txn, &before, had_null, id)?;
            }
        }
        Ok(moved)
    }
}

/// Inserts rows; its buffers are reused from batch to batch.
#[derive(Default)]
pub(crate) struct Inserter {
    rows: NewRows,
    key: Vec<u8>,
    ids: Vec<RowId>,
    keys: Vec<u8>,
    entries: Vec<KeyEntry>,
    /// Whether BEFORE ROW triggers are called ahead of the rows before, once it is known
    /// ([`super::quiet`]).
    pub(super) calls_ahead: Option<bool>,
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

    /// Appends the key of row `i`; returns whether the store is to treat it as having a NULL.
    /// `None`: a partial index leaves the row out.
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

    /// The part of the table.
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
        TableWriter::new(&target.table).insert(rows, &mut self.ids, &mut cx.txn()?.txn)
    }

    /// The part of one index.
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
            let key = &mut self.key;
            let has_null = index.within(cx, || rows.key(&target.table, index, i, key))?;
            // A partial index leaves rows out.
            let Some(has_null) = has_null else { continue };
            self.keys.extend_from_slice(&self.key);
            self.entries.push(KeyEntry { start, end: self.keys.len(), has_null, row: i });
        }
        let keys = &self.keys;
        // Row ids ascend with the position, which orders the postings of one key.
        self.entries.sort_by(|a, b| keys[a.start..a.end].cmp(&keys[b.start..b.end]));
        let mut entries: Vec<IndexEntry<'_>> = self
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
            if done == entries.len() {
                break;
            }
            of_key(batch.stopped, (&target.table, index), entries[done].row, cx, |cx| {
                let row = rows.values(&target.table, self.entries[done].row)?;
                Ok(duplicate_key(&target.table, index, &row, &cx.functions))
            })?;
        }
        if deferrable {
            // The keys are checked in the order of their rows.
            entries.sort_by_key(|entry| entry.row);
        }
        for entry in entries.iter().filter(|_| deferrable) {
            deferred::note(index, entry.key, entry.has_null, entry.row, cx)?;
        }
        Ok(())
    }
}

/// Adds one key. Waits for a transaction that is about to decide about the key; 23505 for a
/// duplicate.
pub(super) fn insert_key(
    table: &TableAccess,
    index: &IndexAccess,
    key: &[u8],
    has_null: bool,
    id: RowId,
    row: &[Datum],
    cx: &mut ExecContext,
) -> Result<()> {
    loop {
        let outcome = index.store.insert(&mut cx.txn()?.txn, key, has_null, id)?;
        let duplicate = |cx: &mut ExecContext| Ok(duplicate_key(table, index, row, &cx.functions));
        if of_key(outcome, (table, index), id, cx, duplicate)? {
            break;
        }
    }
    match index.deferrable {
        true => deferred::note(index, key, has_null, id, cx),
        false => Ok(()),
    }
}
