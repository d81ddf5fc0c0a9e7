//! Taking changes back: for ROLLBACK, ROLLBACK TO, and the losers of a crash.
//!
//! The description of a change comes from memory (undo) or from the log; taking
//! it back is the same. Each step is an ordinary tree write whose log record is a
//! *compensation*: it says where undo goes on, so that a crash in the middle of a
//! rollback, or in the middle of recovery, never undoes a step twice. Batches are
//! the exception: undoing one again does no harm, and says so (`SameRecord`).
//!
//! Nothing here waits, and nothing here can be refused for want of disk space.

use std::sync::Arc;

use steppe_storage::{LogHeader, Lsn, Priority, StorageError, Tree, TreeId, WriteOp};
use steppe_types::Result;

use crate::change::{Change, Reader, RowHeader, UndoNext, Word, apply_delta};
use crate::engine::Engine;
use crate::index::{Postings, plain_word};
use crate::lock::LockTag;
use crate::overflow::chunk_key;
use crate::recovery::RECORD_NOTE;
use crate::row_ids::row_id_of;
use crate::session::SessionShared;
use crate::table::splice_row;
use crate::txn::lsn_of;
use crate::undo::UndoPtr;
use crate::undone::{RowChanges, Undone};

/// Takes back the changes of one transaction.
pub(crate) struct Undoer<'a> {
    engine: &'a Engine,
    session: &'a Arc<SessionShared>,
    xid: u64,
}

/// A tree that is gone has nothing left to take back.
fn unless_gone<T: Default>(result: Result<T, Gone>) -> Result<T> {
    match result {
        Ok(value) => Ok(value),
        Err(Gone::Tree) => Ok(T::default()),
        Err(Gone::Other(error)) => Err(error),
    }
}

/// Why a step on a tree failed.
pub(crate) enum Gone {
    /// The tree does not exist any more.
    Tree,
    Other(steppe_types::Error),
}

impl From<StorageError> for Gone {
    fn from(error: StorageError) -> Gone {
        match error {
            StorageError::NoSuchTree(_) => Gone::Tree,
            other => Gone::Other(other.into()),
        }
    }
}

impl From<steppe_types::Error> for Gone {
    fn from(error: steppe_types::Error) -> Gone {
        Gone::Other(error)
    }
}

impl<'a> Undoer<'a> {
    pub(crate) fn new(engine: &'a Engine, session: &'a Arc<SessionShared>, xid: u64) -> Undoer<'a> {
        Undoer { engine, session, xid }
    }

    fn log_header(&self) -> LogHeader {
        LogHeader {
            xid: self.xid,
            prev_lsn: Lsn(self.session.last_lsn()),
            undo_next: None,
            priority: Priority::MustSucceed,
        }
    }

    fn write(
        &self,
        tree: &Tree,
        key: &[u8],
        next: UndoNext,
        mut f: impl FnMut(&[u8], &mut WriteOp) -> Result<()>,
    ) -> Result<()> {
        let payload = Change::Compensation { next, kept: None };
        let written = self.session.log_section(
            || self.engine.insert_position(),
            || {
                let result = tree.write::<Gone>(key, self.log_header(), |value, op| {
                    if let Some(value) = value {
                        payload.encode(op.payload());
                        f(value, op)?;
                    }
                    Ok(())
                });
                let lsn = lsn_of(result.as_ref().ok().copied().flatten());
                (result, lsn)
            },
        );
        unless_gone(written.map(|_| ()))
    }

    fn note(&self, next: u64, kept: Option<u64>) -> Result<()> {
        let payload = Change::Compensation { next: UndoNext::At(next), kept }.to_vec();
        self.append(RECORD_NOTE, &payload)
    }

    fn append(&self, kind: u8, payload: &[u8]) -> Result<()> {
        let appended = self.session.log_section(
            || self.engine.insert_position(),
            || {
                let result = self.engine.store.append(kind, self.log_header(), payload);
                let lsn = result.as_ref().ok().map(|a| a.start.0);
                (result, lsn)
            },
        );
        Ok(appended.map(|_| ())?)
    }

    /// Takes one change back. `next` is the log record before that of the
    /// change; `ptr` is its undo record, if it comes from memory.
    pub(crate) fn undo(&self, body: &[u8], next: u64, ptr: Option<UndoPtr>) -> Result<Undone> {
        let at_next = UndoNext::At(next);
        let none = RowChanges::default();
        match Change::decode(body)? {
            Change::RowInsert { tree, first, count } => {
                let inserted = self.undo_row_inserts(tree, first, count, next)?;
                return Ok(Undone::Rows(tree, RowChanges { inserted, ..none }));
            }
            Change::RowUpdate { tree, row, before, prefix, suffix, middle } => {
                self.undo_row_update(tree, row, at_next, before, (prefix, suffix, middle))?;
                return Ok(Undone::Rows(tree, RowChanges { updated: 1, ..none }));
            }
            Change::RowDelete { tree, row, before } => {
                self.undo_row_delete(tree, row, at_next, before)?;
                return Ok(Undone::Rows(tree, RowChanges { deleted: 1, ..none }));
            }
            Change::CreateFile { file } => {
                self.engine.free_new_file(file)?;
                self.note(next, None)?;
                return Ok(Undone::File(file));
            }
            Change::PostingInsert { tree, row, unique, before, key, .. } => {
                self.undo_posting(tree, row, unique, before, key, at_next)?;
            }
            Change::PostingDelete { tree, row, unique, before, key } => {
                self.undo_posting(tree, row, unique, Some(before), key, at_next)?;
            }
            Change::PostingBatch { tree, unique, entries } => {
                self.undo_posting_batch(tree, unique, entries, next)?;
            }
            Change::OverflowPut { tree, id, chunks } => {
                let (first, last) = (chunk_key(id, 0), chunk_key(id, chunks.saturating_sub(1)));
                self.prune(tree, &first, &last, at_next, |_, _| Ok(true))?;
            }
            Change::OverflowFree { tree, id, .. } => {
                if let Some(ptr) = ptr {
                    self.engine.undo.mark_undone(ptr)?;
                }
                if !tree.is_unlogged() {
                    self.note(next, Some(id))?;
                }
            }
            Change::Compensation { .. }
            | Change::SystemTree { .. }
            | Change::FileTree { .. }
            | Change::Purge { .. } => {}
        }
        Ok(Undone::Nothing)
    }

    /// Ends the transaction in the log.
    pub(crate) fn finish_in_log(&self, kind: u8) -> Result<()> {
        let result = self.append(kind, &[]);
        self.session.clear_transaction();
        result
    }

    /// Ends the transaction in the log and in the status table.
    pub(crate) fn finish(&self, kind: u8) -> Result<()> {
        let result = self.append(kind, &[]);
        let end = self.engine.insert_position();
        self.engine.status.set_aborted(self.xid, self.session.pid(), end);
        self.session.clear_transaction();
        result
    }

    /// Removes the entries from `first` to `last` that are ours, leaf by leaf. The last
    /// leaf's record says `done`, the others that the change is not undone yet.
    fn prune(
        &self,
        tree: TreeId,
        first: &[u8],
        last: &[u8],
        done: UndoNext,
        mut is_ours: impl FnMut(&[u8], &[u8]) -> Result<bool>,
    ) -> Result<()> {
        let tree = self.engine.store.tree(tree);
        let mut from = first.to_vec();
        loop {
            let pruned = self.session.log_section(
                || self.engine.insert_position(),
                || {
                    let is_doomed = |key: &[u8], value: &[u8]| -> Result<bool, Gone> {
                        Ok(key <= last && is_ours(key, value)?)
                    };
                    let payload = |after: Option<&[u8]>, out: &mut Vec<u8>| {
                        let is_last = after.is_none_or(|after| after > last);
                        let next = if is_last { done } else { UndoNext::SameRecord };
                        Change::Compensation { next, kept: None }.encode(out);
                    };
                    let result = tree.prune_leaf(&from, self.log_header(), is_doomed, payload);
                    let appended = result.as_ref().ok().and_then(|pruned| pruned.appended);
                    (result, lsn_of(appended))
                },
            );
            let after = match pruned {
                Ok(pruned) => pruned.next,
                Err(Gone::Tree) => return Ok(()),
                Err(Gone::Other(error)) => return Err(error),
            };
            match after.filter(|after| after.as_slice() <= last) {
                Some(after) => from = after,
                None => return Ok(()),
            }
        }
    }

    fn undo_row_inserts(&self, tree: TreeId, first: u64, count: u64, next: u64) -> Result<u64> {
        let last = first.saturating_add(count).saturating_sub(1);
        let mut rows = Vec::new();
        let is_ours = |key: &[u8], value: &[u8]| {
            // Not ours: another session's row id within the range of a batch.
            let ours = RowHeader::split(value)?.0.word.xid() == self.xid;
            if ours {
                rows.push(row_id_of(key)?);
            }
            Ok(ours)
        };
        let (from, to) = (first.to_be_bytes(), last.to_be_bytes());
        self.prune(tree, &from, &to, UndoNext::At(next), is_ours)?;
        rows.iter().for_each(|row| self.hand_on(tree, row.0));
        Ok(rows.len() as u64)
    }

    fn undo_row_update(
        &self,
        tree: TreeId,
        row: u64,
        next: UndoNext,
        before: RowHeader,
        (prefix, suffix, middle): (u32, u32, &[u8]),
    ) -> Result<()> {
        let handle = self.engine.store.tree(tree);
        self.write(&handle, &row.to_be_bytes(), next, |value, op| {
            let (header, bytes) = RowHeader::split(value)?;
            if header.word.xid() == self.xid {
                let mut old = bytes.to_vec();
                apply_delta(&mut old, prefix, suffix, middle)?;
                let (now_end, kept) = (bytes.len() - suffix as usize, old.len() - suffix as usize);
                splice_row(op, &before, &old[..kept], prefix as usize, now_end);
            }
            Ok(())
        })?;
        if before.word.xid() != self.xid {
            self.hand_on(tree, row);
        }
        Ok(())
    }

    fn undo_row_delete(
        &self,
        tree: TreeId,
        row: u64,
        next: UndoNext,
        before: RowHeader,
    ) -> Result<()> {
        let handle = self.engine.store.tree(tree);
        self.write(&handle, &row.to_be_bytes(), next, |value, op| {
            if RowHeader::split(value)?.0.word.xid() == self.xid {
                op.splice(0, crate::change::ROW_HEADER_LEN, &before.to_bytes());
            }
            Ok(())
        })?;
        if before.word.xid() != self.xid {
            self.hand_on(tree, row);
        }
        Ok(())
    }

    /// The row is no longer this transaction's: those that queued for it go on.
    fn hand_on(&self, tree: TreeId, row: u64) {
        let tag = LockTag::Row(tree.root.0, row);
        self.engine.locks.release_implicit_row(self.session.pid(), tag);
    }

    fn undo_posting(
        &self,
        tree: TreeId,
        row: u64,
        unique: bool,
        before: Option<Word>,
        key: &[u8],
        next: UndoNext,
    ) -> Result<()> {
        let handle = self.engine.store.tree(tree);
        self.write(&handle, key, next, |value, op| {
            if unique {
                let mut postings = Postings::parse(value)?;
                if postings.word_of(row).is_some_and(|word| word.xid() == self.xid) {
                    postings.set(row, before);
                    postings.store(op);
                }
                return Ok(());
            }
            if plain_word(value)?.xid() == self.xid {
                match before {
                    Some(word) => op.put(&word.0.to_le_bytes()),
                    None => op.remove(),
                }
            }
            Ok(())
        })
    }

    /// Takes the batch's entries out by leaves; one by one if a key's list has got another
    /// row's posting since.
    fn undo_posting_batch(
        &self,
        tree: TreeId,
        unique: bool,
        entries: &[u8],
        next: u64,
    ) -> Result<()> {
        let postings = decode_entries(entries)?;
        let (Some(first), Some(last)) = (postings.first(), postings.last()) else { return Ok(()) };
        let shared = std::cell::Cell::new(false);
        let is_ours = |key: &[u8], value: &[u8]| -> Result<bool> {
            let Ok(at) = postings.binary_search_by(|posting| posting.0.cmp(key)) else {
                return Ok(false);
            };
            if !unique {
                return Ok(plain_word(value)?.xid() == self.xid);
            }
            let list = Postings::parse(value)?;
            let ours = list.word_of(postings[at].1).is_some_and(|word| word.xid() == self.xid);
            let alone = list.len() == 1;
            shared.set(shared.get() || (ours && !alone));
            Ok(ours && alone)
        };
        // Should a crash come between the two passes, the batch is undone again.
        self.prune(tree, first.0, last.0, UndoNext::SameRecord, is_ours)?;
        if shared.get() {
            for &(key, row) in &postings {
                self.undo_posting(tree, row, unique, None, key, UndoNext::SameRecord)?;
            }
        }
        match tree.is_unlogged() {
            true => Ok(()),
            false => self.note(next, None),
        }
    }
}

/// The keys and rows of a batch of postings.
fn decode_entries(entries: &[u8]) -> Result<Vec<(&[u8], u64)>> {
    let mut reader = Reader(entries);
    let mut postings = Vec::new();
    while !reader.0.is_empty() {
        let len = usize::from(reader.u16()?);
        postings.push((reader.bytes(len)?, reader.u64()?));
    }
    Ok(postings)
}
