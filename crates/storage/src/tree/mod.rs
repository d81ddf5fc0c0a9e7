//! B+trees with optimistic lock coupling (Leis, Haubenschild, Neumann,
//! "Optimistic Lock Coupling", 2019), fence keys instead of sibling links, and
//! redo-only structure modifications.
//!
//! ```text
//!              ┌───────── root (never moves) ─────────┐
//!              │ first child │ k1 → c1 │ k2 → c2 │ …  │
//!              └─────┬────────────┬────────────┬──────┘
//!     [-inf, k1) ────┘  [k1, k2) ─┘            └─ [k2, …)   fences
//! ```
//!
//! Conditions:
//!
//! - T1. A child's fences are the separators beside its pointer in the parent. Its level is one
//!   less than the parent's. Its keys lie between its fences. (So a leaf's upper fence is the first
//!   key that it does not cover, and a scan continues there.)
//! - T2. A descent takes a child's version before it validates the parent: at that moment the child
//!   was the one that covers the key. Bytes read from the child are used only if this version still
//!   holds afterwards.
//! - T3. A page's generation is compared on each step: even a descent through a dropped tree
//!   notices a page that was freed and given to another tree.
//! - T4. Everything that may fail (room, space, the caller's decision) precedes the append;
//!   everything after it cannot fail.
//!
//! A structure modification (`split`, `merge`) is one log record over parent, both children and the
//! allocation bitmap. It is complete in itself: after a crash it is either whole or absent, and it
//! is never undone.

mod above;
mod check;
mod cursor;
mod drop;
mod group;
mod merge;
mod near;
mod past;
mod prune;
mod split;

pub use check::TreeSize;
pub(crate) use check::check_space;
pub use cursor::Cursor;
pub(crate) use drop::drop_tree;
pub use group::{Matches, Spread};
pub use near::Near;
pub use prune::Pruned;

use crate::error::{Result, StorageError};
use crate::ops::{OpsBuffer, kind};
use crate::page::{self, Kind, edit, node};
use crate::pool::memory::PageMut;
use crate::pool::{Backoff, PageGuard, Pool, Version};
use crate::store::Store;
use crate::types::{LogHeader, MAX_ENTRY_LEN, MAX_KEY_LEN, PageId, TreeId};
use crate::wal::{Appended, Priority};
use std::cell::Cell;
use std::ops::Bound;

/// A handle on a tree; cheap to clone. The tree itself lives in the store.
#[derive(Clone)]
pub struct Tree {
    store: Store,
    id: TreeId,
}

/// The direction of a scan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// Ascending keys.
    Forward,
    /// Descending keys.
    Backward,
}

/// The action of [`Tree::write`] on the entry, which its closure sets.
///
/// It starts as "keep" with an empty payload each time the closure is called.
#[derive(Debug, Default)]
pub struct WriteOp {
    change: Change,
    value: Vec<u8>,
    /// With a splice: the bytes that overwrite the value's beginning, before the spliced range.
    head: Vec<u8>,
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
    /// Resets to "keep" with an empty payload.
    fn clear(&mut self) {
        self.change = Change::Keep;
        self.value.clear();
        self.payload.clear();
    }

    /// Leaves the entry unchanged; no record is logged.
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

    /// Replaces `old_len` bytes of the value at `offset` by `new`. Only these are logged. The entry
    /// must exist and its value must contain the range.
    pub fn splice(&mut self, offset: usize, old_len: usize, new: &[u8]) {
        self.splice_with(offset, old_len).extend_from_slice(new);
    }

    /// As [`WriteOp::splice`], with the new bytes built in place: returns an empty buffer.
    pub fn splice_with(&mut self, offset: usize, old_len: usize) -> &mut Vec<u8> {
        self.change = Change::Splice { offset, old_len };
        self.value.clear();
        self.head.clear();
        &mut self.value
    }

    /// In addition to the splice, which must lie behind it, overwrites the value's beginning with
    /// `head`. The bytes between the two are neither written nor logged.
    pub fn with_head(&mut self, head: &[u8]) {
        self.head.extend_from_slice(head);
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

/// The result of [`Tree::insert_many`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InsertMany {
    /// The number of entries, from the first on, that are now in the tree.
    pub consumed: usize,
    /// Whether it stopped because the next entry's key exists already.
    pub duplicate: bool,
    /// The one log record of the batch; `None` if no entry was inserted.
    pub appended: Option<Appended>,
}

/// The destination of a descent.
#[derive(Clone, Copy)]
pub(crate) enum Target<'k> {
    /// The node that covers the key.
    Key(&'k [u8]),
    /// The node that covers the keys just below the key.
    Below(&'k [u8]),
    /// The rightmost node.
    Last,
}

/// A node found by a descent, not yet validated.
#[derive(Clone, Copy)]
pub(crate) struct Located {
    pub(crate) id: PageId,
    pub(crate) version: Version,
    pub(crate) parent: Option<Parent>,
}

/// The validated place where a reader searched for a key.
struct Looked {
    leaf: Located,
    /// The key's slot, or its insertion slot.
    slot: usize,
    found: bool,
}

/// The parent, and the position of the child that was taken.
#[derive(Clone, Copy)]
pub(crate) struct Parent {
    pub(crate) id: PageId,
    pub(crate) version: Version,
    pub(crate) position: usize,
}

/// The number of times that a descent may find a foreign page behind a valid pointer before it
/// reports corruption: a page of a tree that is being dropped looks foreign for a moment.
const FOREIGN_LIMIT: u32 = 1000;

/// Buffers of a write, which the thread's next write reuses.
#[derive(Default)]
struct Scratch {
    op: WriteOp,
    ops: OpsBuffer,
}

thread_local! {
    static SCRATCH: Cell<Option<Box<Scratch>>> = const { Cell::new(None) };
}

/// Borrows the thread's buffers; a nested borrower gets its own.
struct ScratchGuard(Option<Box<Scratch>>);

impl ScratchGuard {
    fn take() -> ScratchGuard {
        ScratchGuard(Some(SCRATCH.take().unwrap_or_default()))
    }

    fn get(&mut self) -> &mut Scratch {
        self.0.get_or_insert_default()
    }
}

impl Drop for ScratchGuard {
    fn drop(&mut self) {
        SCRATCH.set(self.0.take());
    }
}

/// The result of a write under the latch.
enum Outcome {
    Done(Option<Appended>),
    /// Logged and applied; the leaf is now so empty that it should be merged.
    Underfull(Appended),
    /// The leaf must be split first.
    NoRoom {
        inserting: bool,
    },
}

impl Tree {
    pub(crate) fn new(store: Store, id: TreeId) -> Tree {
        Tree { store, id }
    }

    /// The tree's identity.
    pub fn id(&self) -> TreeId {
        self.id
    }

    /// The tree's store.
    pub fn store(&self) -> &Store {
        &self.store
    }

    /// Starts loading the memory that a coming descent reads first.
    #[inline]
    pub fn prefetch_root(&self) {
        self.pool().prefetch_with_entries(self.id.root);
    }

    #[inline]
    fn pool(&self) -> &Pool {
        &self.store.inner().pool
    }

    /// Descends to the node of `level` (or the root, if that is lower) for `target`.
    #[inline]
    pub(crate) fn locate(&self, target: Target<'_>, level: u8) -> Result<Located> {
        let mut foreign = 0;
        let mut backoff = Backoff::default();
        loop {
            if let Some(located) = self.try_locate(target, level, &mut foreign)? {
                return Ok(located);
            }
            backoff.wait();
        }
    }

    /// Tries once to descend; `None` if a page changed on the way.
    #[inline]
    fn try_locate(
        &self,
        target: Target<'_>,
        stop_level: u8,
        foreign: &mut u32,
    ) -> Result<Option<Located>> {
        let pool = self.pool();
        if self.id.root.0 >= pool.max_pages() {
            return Err(StorageError::NoSuchTree(self.id));
        }
        let (mut id, mut parent) = (self.id.root, None);
        let Some(mut version) = self.optimistic_in_use(id)? else {
            return Err(StorageError::NoSuchTree(self.id));
        };
        let mut expected_level = None;
        loop {
            let page = pool.page(id);
            let level = node::level(page);
            let ours = node::generation(page) == self.id.generation
                && page::kind(page) == Some(Kind::Node);
            if !ours || expected_level.is_some_and(|expected| expected != level) {
                return self.foreign_page(id, version, foreign);
            }
            if level <= stop_level {
                return Ok(Some(Located { id, version, parent }));
            }
            let position = match target {
                Target::Key(key) => node::child_position(page, key),
                Target::Below(key) => node::child_position_below(page, key),
                Target::Last => node::slot_count(page),
            };
            let child = node::child_at(page, position)
                .filter(|child| child.0 != 0 && child.0 < pool.max_pages());
            let Some(child) = child else {
                return match pool.validate(id, version) {
                    true => Err(pool.corrupt(id, "invalid child pointer")),
                    false => Ok(None),
                };
            };
            pool.prefetch(child);
            let child_version = match pool.optimistic_if_resident(child) {
                Some(version) => version,
                None if pool.validate(id, version) => match self.optimistic_in_use(child)? {
                    Some(version) => version,
                    None => return self.foreign_child(child, id, version, foreign),
                },
                None => return Ok(None),
            };
            if !pool.validate(id, version) {
                return Ok(None);
            }
            parent = Some(Parent { id, version, position });
            (id, version, expected_level) = (child, child_version, Some(level - 1));
        }
    }

    /// As [`Pool::optimistic`]. `None` if the page cannot be read and has been freed: its space may
    /// have been given back.
    #[inline]
    fn optimistic_in_use(&self, id: PageId) -> Result<Option<Version>> {
        match self.pool().optimistic(id) {
            Err(StorageError::Corrupt { .. }) if !self.store.inner().space.is_used(id) => Ok(None),
            read => read.map(Some),
        }
    }

    /// Handles a page that has been freed, though its parent led to it a moment ago.
    #[cold]
    fn foreign_child(
        &self,
        id: PageId,
        parent: PageId,
        version: Version,
        foreign: &mut u32,
    ) -> Result<Option<Located>> {
        *foreign += 1;
        if *foreign > FOREIGN_LIMIT && self.pool().validate(parent, version) {
            return Err(self.pool().corrupt(id, "a page of the tree is marked free"));
        }
        Ok(None)
    }

    /// Handles a page that does not belong to the tree: it is torn, dropped, or corrupt.
    #[cold]
    fn foreign_page(
        &self,
        id: PageId,
        version: Version,
        foreign: &mut u32,
    ) -> Result<Option<Located>> {
        if !self.pool().validate(id, version) {
            return Ok(None);
        }
        if id == self.id.root {
            return Err(StorageError::NoSuchTree(self.id));
        }
        *foreign += 1;
        if *foreign > FOREIGN_LIMIT {
            return Err(self.pool().corrupt(id, "page does not belong to the tree above it"));
        }
        Ok(None)
    }

    /// Copies the value of `key` into `value` (replacing its content) and returns true, or returns
    /// false if the key does not exist. Takes no latch, and waits for a writer at most for one page
    /// change.
    pub fn read(&self, key: &[u8], value: &mut Vec<u8>) -> Result<bool> {
        value.clear();
        Ok(self.read_from_root(key, value)?.found)
    }

    /// As [`Tree::read`], but appends to `value`, and returns the place where the key was searched.
    #[inline]
    fn read_from_root(&self, key: &[u8], value: &mut Vec<u8>) -> Result<Looked> {
        let (pool, start) = (self.pool(), value.len());
        loop {
            let leaf = self.locate(Target::Key(key), 0)?;
            let page = pool.page(leaf.id);
            let (slot, found) = node::search(page, node::suffix_of(page, key));
            value.truncate(start);
            let copied = !found || node::append_value(page, slot, value);
            if pool.validate(leaf.id, leaf.version) {
                return match copied {
                    true => Ok(Looked { leaf, slot, found }),
                    false => Err(pool.corrupt(leaf.id, "entry outside the page")),
                };
            }
        }
    }

    /// Latches the leaf that covers `key`.
    fn latch_leaf(&self, key: &[u8]) -> Result<PageGuard<'_>> {
        let mut backoff = Backoff::default();
        loop {
            let leaf = self.locate(Target::Key(key), 0)?;
            if let Some(guard) = self.pool().upgrade(leaf.id, leaf.version) {
                // T1 and T2 guarantee this, but a page with damaged fences must not be written to.
                if !node::covers(guard.page(), key) {
                    let what = "page does not cover the keys that its parent leads to it";
                    return Err(self.pool().corrupt(guard.id(), what));
                }
                return Ok(guard);
            }
            backoff.wait();
        }
    }

    /// Reads, decides and writes one entry, atomically.
    ///
    /// `f` gets the current value and sets the action in `op`. It runs under the leaf's latch: it
    /// must not wait or call into storage, except to reserve its own space (an undo record). It may
    /// run more than once (if the leaf has to be split first): its last run counts. If it fails,
    /// the tree is unchanged.
    ///
    /// Returns the place of the change in the log; `None` if nothing changed. The record is in the
    /// log's buffer, not yet durable: see `Wal::flush`. (A change of an unlogged tree has no
    /// record: see [`Appended::record`].)
    pub fn write<E: From<StorageError>>(
        &self,
        key: &[u8],
        log: LogHeader,
        mut f: impl FnMut(Option<&[u8]>, &mut WriteOp) -> Result<(), E>,
    ) -> Result<Option<Appended>, E> {
        check_len(key.len(), 0)?;
        let mut scratch = ScratchGuard::take();
        loop {
            let mut guard = self.latch_leaf(key)?;
            match self.write_latched(&mut guard, key, log, scratch.get(), &mut f)? {
                Outcome::Done(appended) => return Ok(appended),
                Outcome::Underfull(appended) => {
                    drop(guard);
                    // A merge never justifies the use of space reserved for rollbacks, not even
                    // during a rollback.
                    self.merge_after_remove(key, Priority::Normal);
                    return Ok(Some(appended));
                }
                Outcome::NoRoom { inserting } => {
                    drop(guard);
                    self.split(key, 0, inserting, log.priority)?;
                }
            }
        }
    }

    fn write_latched<E: From<StorageError>>(
        &self,
        guard: &mut PageGuard<'_>,
        key: &[u8],
        log: LogHeader,
        scratch: &mut Scratch,
        f: &mut impl FnMut(Option<&[u8]>, &mut WriteOp) -> Result<(), E>,
    ) -> Result<Outcome, E> {
        let id = guard.id();
        let page = guard.page();
        let (slot, found) = node::search(page, node::suffix_of(page, key));
        let entry = if found { node::entry(page, slot) } else { None };
        scratch.op.clear();
        {
            let view = guard.page_mut();
            let current = entry.map(|e| view.bytes(e.value_offset, e.value_len));
            f(current, &mut scratch.op)?;
        }
        let value_len = entry.map(|e| e.value_len);
        let WriteOp { change, value, head, payload } = &scratch.op;
        let suffix = node::suffix_of(page, key);
        scratch.ops.clear();
        match (*change, value_len) {
            (Change::Keep, _) | (Change::Remove, None) => return Ok(Outcome::Done(None)),
            (Change::Put, None) => {
                check_len(key.len(), value.len())?;
                if !edit::fits(page, suffix.len(), value.len()) {
                    return Ok(Outcome::NoRoom { inserting: true });
                }
                scratch.ops.insert(id, slot, suffix, value);
            }
            (Change::Put, Some(_)) => {
                check_len(key.len(), value.len())?;
                if !edit::fits_value(page, slot, value.len()) {
                    return Ok(Outcome::NoRoom { inserting: false });
                }
                scratch.ops.replace(id, slot, value);
            }
            (Change::Splice { offset, old_len }, current) => {
                let new_len = spliced_len(current, offset, old_len, value.len())?;
                check_len(key.len(), new_len)?;
                if head.len() > offset {
                    return Err(StorageError::Invalid("splice within the new head".into()).into());
                }
                if !edit::fits_value(page, slot, new_len) {
                    return Ok(Outcome::NoRoom { inserting: false });
                }
                scratch.ops.splice(id, slot, (offset, old_len), (head, value));
            }
            (Change::Remove, Some(_)) => scratch.ops.remove(id, slot),
        }
        guard.will_change();
        let body = [scratch.ops.finish(), payload.as_slice()];
        let appended = self.append_change(log, &body)?;
        // All steps from here on cannot fail (T4).
        let mut page = guard.page_mut();
        match (*change, value_len) {
            (Change::Put, None) => edit::insert(&mut page, slot, suffix, value),
            (Change::Put, Some(_)) => edit::replace(&mut page, slot, value),
            (Change::Splice { offset, old_len }, _) => {
                edit::splice(&mut page, slot, (offset, old_len), (head, value));
            }
            (Change::Remove, _) => edit::remove(&mut page, slot),
            (Change::Keep, _) => {}
        }
        stamp(&mut page, appended);
        let underfull = *change == Change::Remove && merge::is_underfull(*page);
        Ok(if underfull { Outcome::Underfull(appended) } else { Outcome::Done(Some(appended)) })
    }

    /// Logs a change of a latched leaf that is marked as changing. For an unlogged tree it returns
    /// the log's position.
    #[inline]
    fn append_change(&self, log: LogHeader, body: &[&[u8]]) -> Result<Appended> {
        match self.id.is_unlogged() {
            false => self.store.inner().append(kind::CHANGE, log, body),
            true => self.store.inner().unlogged_change(),
        }
    }

    /// Inserts as many of `entries` (sorted by key, strictly ascending) as fit on one leaf, at
    /// least one, with one log record. Stops at a key that exists. `payload` is called under the
    /// latch, with the number of entries that will be inserted, and appends the bytes to log in the
    /// same record. It may run more than once (the last run counts). The caller continues with the
    /// remaining entries.
    pub fn insert_many<E: From<StorageError>>(
        &self,
        entries: &[(&[u8], &[u8])],
        log: LogHeader,
        mut payload: impl FnMut(usize, &mut Vec<u8>) -> Result<(), E>,
    ) -> Result<InsertMany, E> {
        let none = InsertMany { consumed: 0, duplicate: false, appended: None };
        let Some(&(first, _)) = entries.first() else { return Ok(none) };
        let mut scratch = ScratchGuard::take();
        let Scratch { op, ops } = scratch.get();
        loop {
            let mut guard = self.latch_leaf(first)?;
            let page = guard.page();
            let (slot, found) = node::search(page, node::suffix_of(page, first));
            if found {
                return Ok(InsertMany { duplicate: true, ..none });
            }
            let count = how_many_fit(page, slot, entries)?;
            if count == 0 {
                drop(guard);
                self.split(first, 0, true, log.priority)?;
                continue;
            }
            op.clear();
            payload(count, &mut op.payload)?;
            let batch = &entries[..count];
            let suffixed = batch.iter().map(|&(key, value)| (node::suffix_of(page, key), value));
            ops.clear();
            ops.insert_many(guard.id(), slot, suffixed.clone());
            guard.will_change();
            let body = [ops.finish(), op.payload.as_slice()];
            let appended = self.append_change(log, &body)?;
            let mut page = guard.page_mut();
            edit::insert_many(&mut page, slot, suffixed);
            stamp(&mut page, appended);
            return Ok(InsertMany { consumed: count, duplicate: false, appended: Some(appended) });
        }
    }

    /// The smallest key, if any.
    pub fn first_key(&self) -> Result<Option<Vec<u8>>> {
        self.end_key(Direction::Forward)
    }

    /// The greatest key, if any.
    pub fn last_key(&self) -> Result<Option<Vec<u8>>> {
        self.end_key(Direction::Backward)
    }

    fn end_key(&self, direction: Direction) -> Result<Option<Vec<u8>>> {
        let mut cursor = self.scan(Bound::Unbounded, Bound::Unbounded, direction);
        while cursor.next_page()? {
            if let Some((key, _)) = cursor.next() {
                return Ok(Some(key.to_vec()));
            }
        }
        Ok(None)
    }

    /// A scan of the keys between two bounds. Reading starts with [`Cursor::next_page`].
    pub fn scan(&self, lower: Bound<&[u8]>, upper: Bound<&[u8]>, direction: Direction) -> Cursor {
        Cursor::new(self.clone(), lower, upper, direction)
    }

    /// A scan of all entries, in ascending order. If the tree is large for the pool, the scan reads
    /// past it.
    pub fn scan_whole(&self) -> Cursor {
        Cursor::whole(self.clone())
    }
}

/// Records in the page that its last change is in this record. (A page of an unlogged tree keeps
/// the LSN that it was created with.)
#[inline]
fn stamp(page: &mut PageMut<'_>, appended: Appended) {
    if appended.record().is_some() {
        page::set_lsn(page, appended.end);
    }
}

fn check_len(key_len: usize, value_len: usize) -> Result<()> {
    if key_len > MAX_KEY_LEN || key_len + value_len > MAX_ENTRY_LEN {
        return Err(StorageError::EntryTooLarge { key_len, value_len });
    }
    Ok(())
}

/// The value's length after a splice.
fn spliced_len(
    current: Option<usize>,
    offset: usize,
    old_len: usize,
    new_len: usize,
) -> Result<usize> {
    match current {
        Some(len) if offset <= len && old_len <= len - offset => Ok(len - old_len + new_len),
        Some(_) => Err(StorageError::Invalid("splice outside the value".into())),
        None => Err(StorageError::Invalid("splice of an entry that does not exist".into())),
    }
}

/// The number of entries that fit before slot `slot` of this leaf. They must be in ascending order
/// and not too long.
fn how_many_fit(
    page: crate::pool::memory::PageRef<'_>,
    slot: usize,
    entries: &[(&[u8], &[u8])],
) -> Result<usize> {
    let mut limit = Vec::new();
    let limited = if slot < node::slot_count(page) {
        node::full_key(page, slot, &mut limit)
    } else {
        node::upper_fence(page).is_some_and(|(offset, len)| page.append_to(offset, len, &mut limit))
    };
    let prefix_len = node::prefix_len(page);
    let mut room = node::room(page);
    let most = entries.len().min(node::MAX_SLOTS - node::slot_count(page));
    let mut count = 0;
    for (key, value) in &entries[..most] {
        check_len(key.len(), value.len())?;
        if count > 0 && entries[count - 1].0 >= *key {
            return Err(StorageError::Invalid("entries to insert are not ascending".into()));
        }
        let suffix_len = key.len() - prefix_len.min(key.len());
        let cost = node::SLOT_SIZE + node::heap_cost(suffix_len, value.len());
        if cost > room {
            break;
        }
        room -= cost;
        count += 1;
    }
    if limited && count > 0 && entries[count - 1].0 >= limit.as_slice() {
        count = entries[..count].partition_point(|(key, _)| *key < limit.as_slice());
    }
    Ok(count)
}
