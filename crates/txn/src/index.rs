//! The index store: keys to row ids, with just enough about transactions in each
//! posting that most readers need not look at the row.
//!
//! ```text
//!   unique, no NULL in the key:   key            → [row id u64 │ flags ‖ xid] …
//!   else:                         key ‖ row id   → [flags ‖ xid]
//! ```
//!
//! A posting is live or deleted, and names the transaction that made it so. With
//! a snapshot that sees that transaction, the posting is *definitive*: live means
//! that the row version which the snapshot sees has this key, deleted means that
//! it has not. Otherwise the row is asked, and its key compared. So an index-only
//! scan needs no visibility map, and uniqueness is decided under one leaf latch:
//!
//! | a posting of another row | its transaction | the insert |
//! |---|---|---|
//! | live | committed or own | fails: duplicate |
//! | live or deleted | running, another's | waits for it |
//! | deleted | committed or own | goes ahead |
//!
//! A deleted posting goes when its xid is below the horizon: dropped in passing
//! by the next insert of the key, or by the purge. While a snapshot is held for
//! long, a key that many rows had since keeps only what that snapshot can need.

mod many;

use std::ops::Bound;

use steppe_storage::{Cursor, Direction, Tree, WriteOp};
use steppe_types::key::prefix_successor;
use steppe_types::{Error, Result};

use crate::change::{Change, DELETED, REVIVED, Reader, Word, corrupt, put_u64};
use crate::engine::Engine;
use crate::files::{File, FileId};
use crate::lock::LockWait;
use crate::purge::{Entries, Passed};
use crate::status::TxnStatus;
use crate::table::RowId;
use crate::txn::{Persistence, Txn};
use crate::view::View;

pub use many::{Found, LookupKeys};

const POSTING_LEN: usize = 16;
pub(crate) const PLAIN_LEN: usize = 8;

/// The postings of one key in a unique index.
pub(crate) struct Postings(Vec<(u64, Word)>);

impl Postings {
    pub(crate) fn parse(value: &[u8]) -> Result<Postings> {
        let mut reader = Reader(value);
        let mut postings = Vec::with_capacity(value.len() / POSTING_LEN + 1);
        while !reader.0.is_empty() {
            postings.push((reader.u64()?, Word(reader.u64()?)));
        }
        Ok(Postings(postings))
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    pub(crate) fn word_of(&self, row: u64) -> Option<Word> {
        self.0.iter().find(|posting| posting.0 == row).map(|posting| posting.1)
    }

    /// Sets a row's word, adding its posting; `None` takes it out.
    pub(crate) fn set(&mut self, row: u64, word: Option<Word>) {
        let at = self.0.iter().position(|posting| posting.0 == row);
        match (at, word) {
            (Some(at), Some(word)) => self.0[at].1 = word,
            (Some(at), None) => {
                self.0.remove(at);
            }
            (None, Some(word)) => self.0.push((row, word)),
            (None, None) => {}
        }
    }

    /// Writes the postings back; no posting, no entry.
    pub(crate) fn store(&self, op: &mut WriteOp) {
        if self.0.is_empty() {
            op.remove();
            return;
        }
        let value = op.put_with();
        for &(row, word) in &self.0 {
            put_u64(value, row);
            put_u64(value, word.0);
        }
    }

    /// Drops deleted postings that nobody can see any more. Returns the newest of their deleters, or
    /// 0 if there were none.
    pub(crate) fn drop_dead(&mut self, horizon: u64) -> u64 {
        self.drop_if(|word| word.is_deleted() && word.xid() < horizon)
    }

    /// As [`Postings::drop_dead`], for the postings that the caller names.
    fn drop_if(&mut self, mut goes: impl FnMut(Word) -> bool) -> u64 {
        let mut newest = 0;
        self.0.retain(|&(_, word)| {
            let goes = goes(word);
            if goes {
                newest = newest.max(word.xid());
            }
            !goes
        });
        newest
    }
}

/// From so many postings of one key on, the insert looks for needless ones.
const CROWDED: usize = 16;

impl Postings {
    /// Keeps the list short while an old snapshot holds the horizon back: drops
    /// deleted postings that none of the held snapshots can need.
    ///
    /// The rows of one unique key have it one after the other: the next inserter
    /// waited for the deleter before. So in the order of their deletion, a row had
    /// the key from some time after the deletion before until its own. If no held
    /// snapshot lies between these two, nobody needs the posting. (A row that had
    /// the key twice is left alone.) Snapshots not yet published are newer than
    /// `position`, hence than all these deletions. What stays is about one deleted
    /// posting a held snapshot. Returns the newest deleter, as [`Postings::drop_dead`].
    fn drop_needless(&mut self, engine: &Engine) -> u64 {
        if self.0.len() < CROWDED {
            return 0;
        }
        let position = engine.insert_position();
        let held = engine.sessions.snapshot_ranges();
        let csn = |word: Word| engine.status.exact_csn(word.xid()).filter(|&c| c <= position);
        let deleted = self.0.iter().filter(|(_, word)| word.is_deleted());
        let mut ends: Vec<u64> = deleted.filter_map(|&(_, word)| csn(word)).collect();
        ends.sort_unstable();
        self.drop_if(|word| {
            let needless = word.is_deleted() && word.flags() & REVIVED == 0;
            let Some(end) = csn(word).filter(|_| needless) else { return false };
            let before = ends.partition_point(|&e| e < end);
            let Some(start) = before.checked_sub(1).map(|at| ends[at]) else { return false };
            !held.iter().any(|&(oldest, newest)| oldest < end && newest >= start)
        })
    }
}

/// The value of a plain entry.
pub(crate) fn plain_word(value: &[u8]) -> Result<Word> {
    let bytes = value.try_into().map_err(|_| corrupt("index posting"))?;
    Ok(Word(u64::from_le_bytes(bytes)))
}

/// What [`IndexStore::insert`] came to.
#[derive(Debug)]
pub enum IndexInsert {
    /// The posting is there.
    Done,
    /// This row has the key already.
    Duplicate(RowId),
    /// Another transaction is about to put or take the key away. Wait, then
    /// insert again.
    MustWait(LockWait),
}

/// How much a posting says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Visibility {
    /// The version of the row that the snapshot sees has this key.
    Definitive,
    /// It may or may not: read the row and compare.
    AskRow,
}

/// An entry of [`IndexStore::insert_batch`].
#[derive(Clone, Copy, Debug)]
pub struct IndexEntry<'a> {
    /// The encoded key.
    pub key: &'a [u8],
    /// Whether one of its columns is NULL.
    pub has_null: bool,
    /// The row.
    pub row: RowId,
}

/// What [`IndexStore::insert_batch`] came to.
#[derive(Debug)]
pub struct IndexBatch {
    /// How many entries, from the first on, are in the index now.
    pub consumed: usize,
    /// Why it stopped there ([`IndexInsert::Done`]: it did not).
    pub stopped: IndexInsert,
}

/// Tree entries one after the other, and where the key and the value of each end.
#[derive(Default)]
struct StoredEntries {
    keys: Vec<u8>,
    values: Vec<u8>,
    ends: Vec<(usize, usize)>,
}

impl StoredEntries {
    fn pairs(&self) -> Vec<(&[u8], &[u8])> {
        let starts = std::iter::once((0, 0)).chain(self.ends.iter().copied());
        let bounds = starts.zip(&self.ends);
        bounds.map(|(from, to)| (&self.keys[from.0..to.0], &self.values[from.1..to.1])).collect()
    }
}

/// An index. Cheap to clone.
#[derive(Clone)]
pub struct IndexStore {
    file: File,
    unique: bool,
}

/// What was found under the latch.
enum Step {
    Done,
    Duplicate(RowId),
    Running { pid: u32, xid: u64 },
}

/// The smallest key greater than all keys that start with `prefix`; `None` if
/// there is none.
fn successor_of(prefix: &[u8]) -> Option<Vec<u8>> {
    let mut key = prefix.to_vec();
    prefix_successor(&mut key).then_some(key)
}

impl IndexStore {
    /// The index whose postings are in `file`.
    pub fn open(engine: &Engine, file: FileId, unique: bool) -> IndexStore {
        IndexStore { file: File::new(&engine.files, file), unique }
    }

    /// Makes an index that goes away if the transaction does not commit, logged or not as its table
    /// is.
    pub fn create(txn: &mut Txn, unique: bool, persistence: Persistence) -> Result<IndexStore> {
        let file = txn.create_file(persistence)?;
        Ok(IndexStore::open(txn.engine(), file, unique))
    }

    /// The file, for the catalog.
    pub fn file(&self) -> FileId {
        self.file.id()
    }

    /// Starts loading what is looked at first, for a look that is about to come.
    #[inline]
    pub fn prefetch(&self) {
        self.file.prefetch();
    }

    /// The tree (for its size and its checks), if anything was ever written.
    pub fn tree(&self) -> Result<Option<&Tree>> {
        self.file.tree()
    }

    /// Whether two rows may not have the same key without NULL.
    pub fn is_unique(&self) -> bool {
        self.unique
    }

    fn is_list(&self, has_null: bool) -> bool {
        self.unique && !has_null
    }

    fn tree_key(&self, key: &[u8], has_null: bool, row: RowId) -> Vec<u8> {
        let mut tree_key = Vec::with_capacity(key.len() + 8);
        tree_key.extend_from_slice(key);
        if !self.is_list(has_null) {
            tree_key.extend_from_slice(&row.0.to_be_bytes());
        }
        tree_key
    }

    // ----- writing -----

    /// Adds a posting, if the key may be added.
    pub fn insert(
        &self,
        txn: &mut Txn,
        key: &[u8],
        has_null: bool,
        row: RowId,
    ) -> Result<IndexInsert> {
        txn.assign_xid();
        loop {
            let step = if self.is_list(has_null) {
                self.insert_unique_once(txn, key, row)?
            } else {
                self.insert_plain(txn, &self.tree_key(key, has_null, row), row)?
            };
            let (pid, xid) = match step {
                Step::Running { pid, xid } => (pid, xid),
                Step::Done | Step::Duplicate(_) => {
                    // A duplicate that was not there when this transaction looked, if that is
                    // what it is, had better be called so: it may try again.
                    let tree_key = self.tree_key(key, has_null, row);
                    txn.watched(|all, member| {
                        all.changed_key(member, self.file.number(), &tree_key)
                    })?;
                    return Ok(match step {
                        Step::Duplicate(row) => IndexInsert::Duplicate(row),
                        _ => IndexInsert::Done,
                    });
                }
            };
            if let Some(wait) = txn.wait_for(pid, xid)? {
                return Ok(IndexInsert::MustWait(wait));
            }
        }
    }

    /// In an index that is not unique, whether another row may have a row's key, too, now or when
    /// others have ended.
    pub fn may_be_shared(&self, txn: &Txn, key: &[u8], row: RowId) -> Result<bool> {
        Ok(self.others(&txn.view(), key, row)?.1.is_some())
    }

    /// In an index that is not unique, whether a row has its key for itself, as
    /// [`IndexStore::insert`] would say of a unique one; a row that has not got the key any more
    /// is in nobody's way.
    pub fn recheck(&self, txn: &mut Txn, key: &[u8], row: RowId) -> Result<IndexInsert> {
        loop {
            let (pid, xid) = match self.others(&txn.view(), key, row)? {
                (true, Some(Step::Duplicate(row))) => return Ok(IndexInsert::Duplicate(row)),
                (true, Some(Step::Running { pid, xid })) => (pid, xid),
                _ => return Ok(IndexInsert::Done),
            };
            if let Some(wait) = txn.wait_for(pid, xid)? {
                return Ok(IndexInsert::MustWait(wait));
            }
        }
    }

    /// Whether a row has the key, and what stands in its way: rather a row that has it for sure
    /// than one that may have it.
    fn others(&self, view: &View, key: &[u8], row: RowId) -> Result<(bool, Option<Step>)> {
        let (mut has_key, mut found) = (false, None);
        let Some(tree) = self.file.tree()? else { return Ok((false, None)) };
        let upper = successor_of(key);
        let upper = upper.as_deref().map_or(Bound::Unbounded, Bound::Excluded);
        let mut cursor = tree.scan(Bound::Included(key), upper, Direction::Forward);
        loop {
            while let Some((entry, value)) = cursor.next() {
                let Some((of_entry, id)) = entry.split_last_chunk::<8>() else {
                    return Err(corrupt("index key"));
                };
                // A key that the keeper of the index has shortened may begin as another one and
                // its row do.
                if of_entry != key {
                    continue;
                }
                let (id, word) = (u64::from_be_bytes(*id), plain_word(value)?);
                if id == row.0 {
                    has_key = !word.is_deleted();
                    continue;
                }
                match Self::obstacle(view, id, word) {
                    Some(step @ Step::Duplicate(_)) => found = Some(step),
                    Some(step) if found.is_none() => found = Some(step),
                    _ => {}
                }
            }
            if !cursor.next_page()? {
                return Ok((has_key, found));
            }
        }
    }

    /// Whether a posting of another row stands in the way.
    fn obstacle(view: &View, row: u64, word: Word) -> Option<Step> {
        let xid = word.xid();
        let committed = Step::Duplicate(RowId(row));
        if xid == view.snapshot.xid {
            return (!word.is_deleted()).then_some(committed);
        }
        match view.engine().status.status(xid) {
            TxnStatus::InProgress(pid) => Some(Step::Running { pid, xid }),
            TxnStatus::Committed(csn) if !word.is_deleted() => {
                view.observe(csn);
                Some(committed)
            }
            TxnStatus::Committed(_) | TxnStatus::Aborted(_) => None,
        }
    }

    fn insert_unique_once(&self, txn: &mut Txn, key: &[u8], row: RowId) -> Result<Step> {
        let view = txn.view();
        let handle = self.file.tree_for_write()?;
        let tree = handle.id();
        let mut step = Step::Done;
        let mut undo = 0;
        txn.write(handle, key, |value, op| {
            (step, undo) = (Step::Done, 0);
            let mut postings = Postings::parse(value.unwrap_or(&[]))?;
            let others = postings.0.iter().filter(|posting| posting.0 != row.0);
            let mut obstacles = others.filter_map(|&(row, word)| Self::obstacle(&view, row, word));
            if let Some(obstacle) = obstacles.next() {
                step = obstacle;
                return Ok(());
            }
            drop(obstacles);
            let dead = postings.drop_dead(view.engine().status.horizon());
            let before = postings.word_of(row.0);
            let gone = dead.max(postings.drop_needless(view.engine()));
            postings.set(row.0, before);
            if before.is_some_and(|word| !word.is_deleted()) {
                return Ok(());
            }
            Change::PostingInsert { tree, row: row.0, unique: true, before, gone, key }
                .encode(op.payload());
            undo = txn.append_undo(op.payload())?;
            let flags = if before.is_some() { REVIVED } else { 0 };
            postings.set(row.0, Some(Word::new(txn.xid(), flags)));
            postings.store(op);
            Ok(())
        })?;
        if undo != 0 {
            txn.chain(undo)?;
        }
        Ok(step)
    }

    fn insert_plain(&self, txn: &mut Txn, tree_key: &[u8], row: RowId) -> Result<Step> {
        let handle = self.file.tree_for_write()?;
        let tree = handle.id();
        let horizon = txn.engine().status.horizon();
        let mut undo = 0;
        txn.write(handle, tree_key, |value, op| {
            undo = 0;
            let before = value.map(plain_word).transpose()?;
            if before.is_some_and(|word| !word.is_deleted()) {
                return Ok(());
            }
            let before = before.filter(|word| word.xid() >= horizon);
            let (gone, key) = (0, tree_key);
            Change::PostingInsert { tree, row: row.0, unique: false, before, gone, key }
                .encode(op.payload());
            undo = txn.append_undo(op.payload())?;
            op.put(&Word::new(txn.xid(), 0).0.to_le_bytes());
            Ok(())
        })?;
        if undo != 0 {
            txn.chain(undo)?;
        }
        Ok(Step::Done)
    }

    /// Adds many postings, sorted by key (and row id): a leaf's worth at a time,
    /// one log and one undo record each. Stops at the first that cannot be added.
    pub fn insert_batch(&self, txn: &mut Txn, entries: &[IndexEntry<'_>]) -> Result<IndexBatch> {
        let word = Word::new(txn.assign_xid(), 0);
        let stored = self.stored_entries(entries, word);
        let pairs = stored.pairs();
        let mut consumed = 0;
        while consumed < entries.len() {
            // One record undoes postings of one kind only.
            let list = self.is_list(entries[consumed].has_null);
            let same_kind = |e: &&IndexEntry<'_>| self.is_list(e.has_null) == list;
            let mut run = entries[consumed..].iter().take_while(same_kind).count();
            // Equal neighbours are the single insert's business.
            let ascending = pairs[consumed..consumed + run].windows(2);
            run = ascending.take_while(|pair| pair[0].0 < pair[1].0).count() + 1;
            let inserted =
                self.insert_run(txn, &pairs[consumed..consumed + run], list, &entries[consumed..])?;
            consumed += inserted.0;
            if inserted.1 || inserted.0 == 0 {
                let entry = &entries[consumed];
                match self.insert(txn, entry.key, entry.has_null, entry.row)? {
                    IndexInsert::Done => consumed += 1,
                    stopped => return Ok(IndexBatch { consumed, stopped }),
                }
            }
        }
        Ok(IndexBatch { consumed, stopped: IndexInsert::Done })
    }

    /// The keys and values of new entries as the tree holds them.
    fn stored_entries(&self, entries: &[IndexEntry<'_>], word: Word) -> StoredEntries {
        let mut stored = StoredEntries::default();
        for entry in entries {
            let list = self.is_list(entry.has_null);
            stored.keys.extend_from_slice(entry.key);
            if list {
                put_u64(&mut stored.values, entry.row.0);
            } else {
                stored.keys.extend_from_slice(&entry.row.0.to_be_bytes());
            }
            put_u64(&mut stored.values, word.0);
            stored.ends.push((stored.keys.len(), stored.values.len()));
        }
        stored
    }

    /// Inserts the new keys of a run; says how many, and whether a key exists.
    fn insert_run(
        &self,
        txn: &mut Txn,
        pairs: &[(&[u8], &[u8])],
        unique: bool,
        entries: &[IndexEntry<'_>],
    ) -> Result<(usize, bool)> {
        let handle = self.file.tree_for_write()?;
        let tree = handle.id();
        let mut undo = 0;
        let inserted = txn.logged(|log| {
            let inserted = handle.insert_many(pairs, log, |count, payload| {
                let mut list = Vec::new();
                for ((key, _), entry) in pairs.iter().zip(entries).take(count) {
                    // Keys are at most MAX_KEY_LEN bytes long.
                    list.extend_from_slice(&(key.len() as u16).to_le_bytes());
                    list.extend_from_slice(key);
                    put_u64(&mut list, entry.row.0);
                }
                Change::PostingBatch { tree, unique, entries: &list }.encode(payload);
                undo = txn.append_undo(payload)?;
                Ok::<(), Error>(())
            })?;
            Ok((inserted, inserted.appended))
        })?;
        if inserted.consumed > 0 {
            txn.chain(undo)?;
            for (key, _) in &pairs[..inserted.consumed] {
                txn.watched(|all, member| all.changed_key(member, self.file.number(), key))?;
            }
        }
        Ok((inserted.consumed, inserted.duplicate))
    }

    /// Marks a posting as deleted: the row was deleted, or has another key now.
    /// The caller owns the row.
    pub fn mark_deleted(
        &self,
        txn: &mut Txn,
        key: &[u8],
        has_null: bool,
        row: RowId,
    ) -> Result<()> {
        let xid = txn.assign_xid();
        let Some(handle) = self.file.tree()? else { return Ok(()) };
        let tree = handle.id();
        let unique = self.is_list(has_null);
        let tree_key = self.tree_key(key, has_null, row);
        let mut undo = 0;
        txn.write(handle, &tree_key, |value, op| {
            undo = 0;
            let Some(value) = value else { return Ok(()) };
            let mut postings = if unique { Some(Postings::parse(value)?) } else { None };
            let before = match &postings {
                Some(postings) => postings.word_of(row.0),
                None => Some(plain_word(value)?),
            };
            let Some(before) = before.filter(|word| !word.is_deleted()) else { return Ok(()) };
            let deleted = Word::new(xid, DELETED | before.flags() & REVIVED);
            Change::PostingDelete { tree, row: row.0, unique, before, key: &tree_key }
                .encode(op.payload());
            undo = txn.append_undo(op.payload())?;
            match &mut postings {
                Some(postings) => {
                    postings.set(row.0, Some(deleted));
                    postings.store(op);
                }
                None => op.put(&deleted.0.to_le_bytes()),
            }
            Ok(())
        })?;
        if undo != 0 {
            txn.chain(undo)?;
        }
        txn.watched(|all, member| all.changed_key(member, self.file.number(), &tree_key))
    }

    // ----- reading -----

    /// Looks a key without NULL up in a unique index. The candidates are in
    /// `buffer`, which is reused; nothing is allocated.
    pub fn lookup_unique<'a>(
        &self,
        view: &'a View,
        key: &[u8],
        buffer: &'a mut Vec<u8>,
    ) -> Result<Candidates<'a>> {
        let range = Bound::Included(key);
        view.reads(|all, member| all.read_keys(member, self.file.number(), range, range))?;
        let found = match self.file.tree()? {
            Some(tree) => tree.read(key, buffer)?,
            None => false,
        };
        if !found {
            buffer.clear();
        }
        Ok(Candidates { view, rest: Reader(&buffer[..]) })
    }

    /// Scans keys between two bounds, which are *prefixes* of encoded keys:
    /// `Included(k)` takes in all keys that start with `k`, `Excluded(k)` leaves
    /// all of them out. (A column's encoding is never a prefix of another's, so
    /// this is equality of the leading columns.)
    pub fn scan(
        &self,
        view: View,
        lower: Bound<&[u8]>,
        upper: Bound<&[u8]>,
        direction: Direction,
    ) -> Result<IndexCursor> {
        let (after_lower, after_upper) = match (lower, upper) {
            (Bound::Excluded(l), Bound::Included(u)) => (successor_of(l), successor_of(u)),
            (Bound::Excluded(l), _) => (successor_of(l), None),
            (_, Bound::Included(u)) => (None, successor_of(u)),
            _ => (None, None),
        };
        // A prefix of 0xFF only has no successor: nothing comes after it.
        let nothing = matches!(lower, Bound::Excluded(_)) && after_lower.is_none();
        let lower = match lower {
            Bound::Excluded(_) => after_lower.as_deref().map_or(Bound::Unbounded, Bound::Included),
            other => other,
        };
        let upper = match upper {
            Bound::Included(_) => after_upper.as_deref().map_or(Bound::Unbounded, Bound::Excluded),
            other => other,
        };
        view.reads(|all, member| all.read_keys(member, self.file.number(), lower, upper))?;
        Ok(IndexCursor {
            cursor: self.file.tree()?.map(|tree| tree.scan(lower, upper, direction)),
            view,
            unique: self.unique,
            key_len: 0,
            list_at: None,
            done: nothing,
            passed: Passed::default(),
        })
    }
}

/// The rows that may have a key: see [`IndexStore::lookup_unique`].
pub struct Candidates<'a> {
    view: &'a View,
    rest: Reader<'a>,
}

impl Candidates<'_> {
    /// The next candidate.
    pub fn try_next(&mut self) -> Result<Option<(RowId, Visibility)>> {
        while !self.rest.0.is_empty() {
            let (row, word) = (RowId(self.rest.u64()?), Word(self.rest.u64()?));
            match self.view.posting(word) {
                Some(true) => return Ok(Some((row, Visibility::Definitive))),
                Some(false) => {}
                None => return Ok(Some((row, Visibility::AskRow))),
            }
        }
        Ok(None)
    }
}

/// A scan over an index.
pub struct IndexCursor {
    /// `None`: there are no entries yet.
    cursor: Option<Cursor>,
    view: View,
    unique: bool,
    /// How much of the entry's key is the index's: in an entry of one posting the row follows.
    key_len: usize,
    /// In an entry that is a list of postings, `[row id][word]` each: where the next one is.
    list_at: Option<usize>,
    done: bool,
    passed: Passed,
}

impl IndexCursor {
    /// The next posting that the snapshot sees or may see: key, row, and how much
    /// the posting says.
    #[allow(clippy::should_implement_trait)] // lends from the cursor
    pub fn next(&mut self) -> Result<Option<(&[u8], RowId, Visibility)>> {
        while let Some((row, word)) = self.next_posting()? {
            let visibility = match self.view.posting(word) {
                Some(true) => Visibility::Definitive,
                Some(false) => {
                    self.pass_deleted(word);
                    continue;
                }
                None => Visibility::AskRow,
            };
            self.passed.live();
            return Ok(Some((self.key(), row, visibility)));
        }
        Ok(None)
    }

    /// The key of the entry that [`IndexCursor::next`] has come to.
    #[inline]
    pub fn key(&self) -> &[u8] {
        let key = self.cursor.as_ref().map_or(&[][..], Cursor::key);
        key.get(..self.key_len).unwrap_or_default()
    }

    /// The next posting, whether or not the snapshot sees it.
    #[inline]
    fn next_posting(&mut self) -> Result<Option<(RowId, Word)>> {
        let Some(cursor) = self.cursor.as_mut().filter(|_| !self.done) else { return Ok(None) };
        loop {
            if let Some(at) = self.list_at {
                let mut rest = Reader(cursor.value().get(at..).unwrap_or_default());
                if !rest.0.is_empty() {
                    self.list_at = Some(at + POSTING_LEN);
                    return Ok(Some((RowId(rest.u64()?), Word(rest.u64()?))));
                }
                self.list_at = None;
            }
            if !cursor.advance() {
                if cursor.next_page()? {
                    continue;
                }
                self.done = true;
                return Ok(None);
            }
            let (key, value) = (cursor.key(), cursor.value());
            if self.unique && value.len() != PLAIN_LEN {
                (self.key_len, self.list_at) = (key.len(), Some(0));
                continue;
            }
            let Some((key, row)) = key.split_last_chunk::<8>() else {
                return Err(corrupt("index key"));
            };
            self.key_len = key.len();
            let word = Word(Reader(value).u64()?);
            return Ok(Some((RowId(u64::from_be_bytes(*row)), word)));
        }
    }

    fn pass_deleted(&mut self, word: Word) {
        let Some(cursor) = &self.cursor else { return };
        let entries = if self.unique { Entries::UniquePostings } else { Entries::Postings };
        let place = (cursor.tree().id(), entries);
        let key = |out: &mut Vec<u8>| out.extend_from_slice(cursor.key());
        self.passed.deleted(self.view.engine(), word, place, key);
    }
}
