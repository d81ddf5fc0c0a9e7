//! B+trees.

use crate::store::Store;
use crate::types::{LogHeader, TreeId};
use crate::wal::Appended;
use crate::{Result, StorageError};
use std::ops::Bound;

/// A handle on a tree; cheap to clone. The tree itself lives in the store.
#[derive(Clone)]
pub struct Tree {
    store: Store,
    id: TreeId,
}

/// Which way a scan goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// Ascending keys.
    Forward,
    /// Descending keys.
    Backward,
}

/// What [`Tree::write`] is to do with the entry, filled in by its closure.
///
/// It starts as "keep" with an empty payload each time the closure is called.
#[derive(Debug, Default)]
pub struct WriteOp {
    change: Change,
    value: Vec<u8>,
    payload: Vec<u8>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Change {
    #[default]
    Keep,
    Put,
    Splice {
        offset: usize,
        old_len: usize,
    },
    Remove,
}

impl WriteOp {
    /// Leaves the entry as it is; nothing is logged.
    pub fn keep(&mut self) {
        self.change = Change::Keep;
    }

    /// Inserts the entry, or replaces its whole value.
    pub fn put(&mut self, value: &[u8]) {
        let buffer = self.put_with();
        buffer.extend_from_slice(value);
    }

    /// As [`WriteOp::put`], with the value built in place: returns an empty buffer.
    pub fn put_with(&mut self) -> &mut Vec<u8> {
        self.change = Change::Put;
        self.value.clear();
        &mut self.value
    }

    /// Replaces `old_len` bytes of the value at `offset` by `new`. Only these are
    /// logged. The entry must exist and the range must lie inside its value.
    pub fn splice(&mut self, offset: usize, old_len: usize, new: &[u8]) {
        self.change = Change::Splice { offset, old_len };
        self.value.clear();
        self.value.extend_from_slice(new);
    }

    /// Removes the entry (no change if it does not exist).
    pub fn remove(&mut self) {
        self.change = Change::Remove;
    }

    /// The bytes to log with the change, in the same record; opaque to storage.
    pub fn payload(&mut self) -> &mut Vec<u8> {
        &mut self.payload
    }
}

/// What [`Tree::insert_many`] did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InsertMany {
    /// How many of the entries, from the first on, are now in the tree.
    pub consumed: usize,
    /// Whether it stopped because the next entry's key exists already.
    pub duplicate: bool,
    /// The one log record of the batch; `None` if nothing was inserted.
    pub appended: Option<Appended>,
}

impl Tree {
    pub(crate) fn new(store: Store, id: TreeId) -> Tree {
        Tree { store, id }
    }

    /// The tree's identity.
    pub fn id(&self) -> TreeId {
        self.id
    }

    /// The store the tree lives in.
    pub fn store(&self) -> &Store {
        &self.store
    }

    /// Copies the value of `key` into `value` (replacing what is there) and
    /// returns true, or returns false. Takes no latch and never waits for a writer
    /// longer than one page change takes.
    pub fn read(&self, key: &[u8], value: &mut Vec<u8>) -> Result<bool> {
        let _ = (key, value);
        Err(StorageError::NoSuchTree(self.id))
    }

    /// Reads, decides and writes one entry, atomically.
    ///
    /// `f` sees the current value and says what to do in `op`. It runs under the
    /// leaf's latch: it must not wait, nor call into storage, except for reserving
    /// what it needs of its own (an undo record). It may run more than once (if
    /// the leaf has to be split first): what counts is its last run. If it fails,
    /// nothing has happened.
    ///
    /// Returns where the change was logged; `None` if nothing changed. The record
    /// is in the log's buffer, not yet durable: see `Wal::flush`.
    pub fn write<E: From<StorageError>>(
        &self,
        key: &[u8],
        log: LogHeader,
        f: impl FnMut(Option<&[u8]>, &mut WriteOp) -> Result<(), E>,
    ) -> Result<Option<Appended>, E> {
        let _ = (key, log, f);
        Err(StorageError::NoSuchTree(self.id).into())
    }

    /// Inserts as many of `entries` (sorted by key, strictly ascending) as fit on
    /// one leaf, at least one, with one log record. Stops at a key that exists.
    /// `payload` is called under the latch, with the number of entries that will
    /// be inserted, and appends the bytes to log in the same record; it may run
    /// more than once (the last run counts). The caller goes on with the rest.
    pub fn insert_many<E: From<StorageError>>(
        &self,
        entries: &[(&[u8], &[u8])],
        log: LogHeader,
        payload: impl FnMut(usize, &mut Vec<u8>) -> Result<(), E>,
    ) -> Result<InsertMany, E> {
        let _ = (entries, log, payload);
        Err(StorageError::NoSuchTree(self.id).into())
    }

    /// The smallest key, if any.
    pub fn first_key(&self) -> Result<Option<Vec<u8>>> {
        Err(StorageError::NoSuchTree(self.id))
    }

    /// The greatest key, if any.
    pub fn last_key(&self) -> Result<Option<Vec<u8>>> {
        Err(StorageError::NoSuchTree(self.id))
    }

    /// A scan of the keys between two bounds. Nothing is read until
    /// [`Cursor::next_page`].
    pub fn scan(&self, lower: Bound<&[u8]>, upper: Bound<&[u8]>, direction: Direction) -> Cursor {
        let _ = (lower, upper, direction);
        Cursor { tree: self.clone() }
    }

    /// The number of the tree's pages, by a walk over its inner pages.
    pub fn page_count(&self) -> Result<u64> {
        Err(StorageError::NoSuchTree(self.id))
    }

    /// A guess of [`Tree::page_count`] from one page a level.
    pub fn estimate_page_count(&self) -> Result<u64> {
        Err(StorageError::NoSuchTree(self.id))
    }

    /// Checks the tree's structure: order, fences, levels, no page reachable
    /// twice. Needs a quiet tree. Returns its pages, root first.
    pub fn check(&self) -> Result<Vec<crate::PageId>> {
        Err(StorageError::NoSuchTree(self.id))
    }
}

/// A scan in progress.
///
/// ```ignore
/// let mut cursor = tree.scan(Bound::Unbounded, Bound::Unbounded, Direction::Forward);
/// while cursor.next_page()? {
///     while let Some((key, value)) = cursor.next() { … }
/// }
/// ```
///
/// Each page is a private copy taken at one moment; between pages the tree may
/// change in any way: a key that was there throughout is seen exactly once.
pub struct Cursor {
    tree: Tree,
}

impl Cursor {
    /// Copies the next leaf's entries; false at the end of the range. A page may
    /// have no entries in the range: that is not the end.
    pub fn next_page(&mut self) -> Result<bool> {
        Err(StorageError::NoSuchTree(self.tree.id))
    }

    /// The next entry of the copied page, in the scan's direction; `None` when the
    /// page is used up (call [`Cursor::next_page`] then). Holds no latch.
    #[allow(clippy::should_implement_trait)] // lends from the cursor, as Iterator cannot
    pub fn next(&mut self) -> Option<(&[u8], &[u8])> {
        None
    }

    /// Starts over with new bounds, keeping the buffers.
    pub fn reset(&mut self, lower: Bound<&[u8]>, upper: Bound<&[u8]>, direction: Direction) {
        let _ = (lower, upper, direction);
    }
}
