//! Inserting rows: the table a leaf's worth at a time, then each index in key order.

use super::{Target, check_row, duplicate_key};
use crate::access::IndexAccess;
use crate::context::ExecContext;
use steppe_txn::{IndexEntry, IndexInsert, RowId};
use steppe_types::{Datum, Result};

/// Inserts rows; its buffers are reused from batch to batch.
#[derive(Default)]
pub(crate) struct Inserter {
    /// Encoded rows one after the other, and where each ends.
    rows: Vec<u8>,
    ends: Vec<usize>,
    row: Vec<u8>,
    ids: Vec<RowId>,
    keys: Vec<u8>,
    entries: Vec<KeyEntry>,
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
        self.insert_rows(target, rows, cx)?;
        for index in &target.indexes {
            self.insert_keys(target, index, rows, cx)?;
        }
        Ok(())
    }

    /// The table's part: constraints of the row itself, then the rows.
    pub(crate) fn insert_rows(
        &mut self,
        target: &Target,
        rows: &[&[Datum]],
        cx: &mut ExecContext,
    ) -> Result<()> {
        self.rows.clear();
        self.ends.clear();
        self.ids.clear();
        for row in rows {
            check_row(target, row, cx)?;
            target.table.encode(&mut cx.txn()?.txn, row, &[], &mut self.row)?;
            self.rows.extend_from_slice(&self.row);
            self.ends.push(self.rows.len());
        }
        let store = target.table.rows_for_write()?;
        let txn = &mut cx.txn()?.txn;
        if let [_] = rows {
            self.ids.push(store.insert(txn, &self.rows)?);
            return Ok(());
        }
        let starts = std::iter::once(0).chain(self.ends.iter().copied());
        let slices: Vec<&[u8]> =
            starts.zip(&self.ends).map(|(start, end)| &self.rows[start..*end]).collect();
        store.insert_batch(txn, &slices, &mut self.ids)
    }

    /// One index's part.
    fn insert_keys(
        &mut self,
        target: &Target,
        index: &IndexAccess,
        rows: &[&[Datum]],
        cx: &mut ExecContext,
    ) -> Result<()> {
        self.keys.clear();
        self.entries.clear();
        for (i, row) in rows.iter().enumerate() {
            let start = self.keys.len();
            let mut key = std::mem::take(&mut self.row);
            key.clear();
            let has_null = index.key_of(row, &mut key)?;
            self.keys.extend_from_slice(&key);
            self.row = key;
            if let Some(has_null) = has_null {
                self.entries.push(KeyEntry { start, end: self.keys.len(), has_null, row: i });
            }
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
        let mut done = 0;
        while done < entries.len() {
            let batch = index.store.insert_batch(&mut cx.txn()?.txn, &entries[done..])?;
            done += batch.consumed;
            match batch.stopped {
                IndexInsert::Done => {}
                IndexInsert::Duplicate(_) => {
                    let row = rows[self.entries[done].row];
                    return Err(duplicate_key(&target.table, index, row, &cx.functions));
                }
                IndexInsert::MustWait(wait) => cx.functions.services.block_on(wait)?,
            }
        }
        Ok(())
    }
}

/// Adds one key, waiting for whoever is about to decide about it; 23505 for a duplicate.
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
            IndexInsert::Done => return Ok(()),
            IndexInsert::Duplicate(_) => {
                return Err(duplicate_key(&target.table, index, row, &cx.functions));
            }
            IndexInsert::MustWait(wait) => cx.functions.services.block_on(wait)?,
        }
    }
}
