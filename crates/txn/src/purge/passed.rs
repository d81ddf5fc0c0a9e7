//! Dead entries that scans have passed, and pruning their leaves.
//!
//! A scan counts the dead entries that it passes between two live ones. Where there are many it
//! leaves a note: the tree, and the key of the first. It writes nothing itself: readers stay
//! readers. The purge then looks at that leaf, and at those behind it as long as they have dead
//! entries, and removes the dead ones, a leaf at a time.
//!
//! The notes are few and bounded: a scan that finds them full, or in use, goes on. It, or another,
//! comes by again while there is something to remove.

use std::cell::Cell;
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::Mutex;
use steppe_storage::{LogHeader, Pruned, TreeId};
use steppe_types::Result;

use crate::change::{Change, RowHeader, Word};
use crate::engine::Engine;
use crate::index::{PLAIN_LEN, Postings, plain_word};
use crate::rollback::Gone;

/// So many dead entries in a row are worth a note: looking at them costs as much as a descent.
const WORTH_A_NOTE: u32 = 64;
/// Notes kept.
const NOTES_MAX: usize = 32;
/// Leaves pruned for one note before others have their turn.
const LEAVES_PER_NOTE: usize = 64;

/// What a tree holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Entries {
    Rows,
    /// Of a unique index: lists, and plain entries for keys with NULL.
    UniquePostings,
    Postings,
}

impl Entries {
    /// If the entry with this value says nothing any more to anybody: its newest deleter.
    fn deleter_if_dead(self, value: &[u8], horizon: u64) -> Result<Option<u64>> {
        let settled =
            |word: Word| Some(word.xid()).filter(|&xid| word.is_deleted() && xid < horizon);
        match self {
            Entries::Rows => Ok(settled(RowHeader::split(value)?.0.word)),
            Entries::UniquePostings if value.len() != PLAIN_LEN => {
                let mut postings = Postings::parse(value)?;
                let newest = postings.drop_dead(horizon);
                Ok(Some(newest).filter(|_| postings.len() == 0))
            }
            Entries::UniquePostings | Entries::Postings => Ok(settled(plain_word(value)?)),
        }
    }
}

/// Where dead entries begin.
struct Note {
    tree: TreeId,
    entries: Entries,
    from: Vec<u8>,
}

/// The notes that scans have left.
#[derive(Default)]
pub(crate) struct PassedLeaves {
    notes: Mutex<Vec<Note>>,
    /// Whether there are any.
    some: AtomicBool,
}

impl PassedLeaves {
    #[cold]
    fn note(&self, tree: TreeId, entries: Entries, from: &[u8]) {
        let Some(mut notes) = self.notes.try_lock() else { return };
        let is_known = notes.iter().any(|note| note.tree == tree);
        if notes.len() < NOTES_MAX && !is_known {
            notes.push(Note { tree, entries, from: from.to_vec() });
            self.some.store(true, Ordering::Release);
        }
    }

    fn take(&self) -> Vec<Note> {
        if !self.some.swap(false, Ordering::AcqRel) {
            return Vec::new();
        }
        std::mem::take(&mut *self.notes.lock())
    }
}

/// The dead entries that a scan has passed since the last live one.
#[derive(Default)]
pub(crate) struct Passed {
    count: u32,
    first: Vec<u8>,
}

impl Passed {
    /// The scan has met an entry that it returns.
    #[inline]
    pub(crate) fn live(&mut self) {
        self.count = 0;
    }

    /// The scan passes an entry, whose key `key` says, that a transaction has deleted which its
    /// snapshot sees.
    #[inline]
    pub(crate) fn deleted(
        &mut self,
        engine: &Engine,
        word: Word,
        (tree, entries): (TreeId, Entries),
        key: impl FnOnce(&mut Vec<u8>),
    ) {
        if word.xid() >= engine.status.horizon() {
            return;
        }
        if self.count == 0 {
            self.first.clear();
            key(&mut self.first);
        }
        self.count += 1;
        if self.count == WORTH_A_NOTE {
            engine.passed.note(tree, entries, &self.first);
        }
    }
}

impl Engine {
    /// Prunes the leaves that scans have left notes of; says how many entries went.
    pub(super) fn purge_passed(&self, horizon: u64) -> Result<usize> {
        let mut removed = 0;
        for Note { tree, entries, mut from } in self.passed.take() {
            let tree = self.store.tree(tree);
            for _ in 0..LEAVES_PER_NOTE {
                let _not_freed_meanwhile = self.tree_gate.read();
                let newest = Cell::new(0);
                let is_doomed = |_: &[u8], value: &[u8]| {
                    let deleter = entries.deleter_if_dead(value, horizon)?;
                    newest.set(newest.get().max(deleter.unwrap_or(0)));
                    Ok(deleter.is_some())
                };
                let payload = |_: Option<&[u8]>, out: &mut Vec<u8>| {
                    Change::Purge { newest: newest.get() }.encode(out);
                };
                let log = LogHeader::default();
                let pruned = tree.prune_leaf::<Gone>(&from, log, is_doomed, payload);
                match pruned {
                    Ok(Pruned { removed: some @ 1.., next: Some(next), .. }) => {
                        removed += some;
                        from = next;
                    }
                    Ok(Pruned { removed: some, .. }) => {
                        removed += some;
                        break;
                    }
                    Err(Gone::Tree) => break,
                    Err(Gone::Other(error)) => return Err(error),
                }
            }
        }
        Ok(removed)
    }
}
