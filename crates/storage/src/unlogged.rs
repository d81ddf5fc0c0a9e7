//! Unlogged trees: their changes are not in the log, and a crash empties them.
//!
//! PostgreSQL resets an unlogged relation from its init fork (reinit.c). Here the log contains only
//! the creation and the drop of an unlogged tree, and the bitmap pages do not contain its pages:
//! those are in use in memory only.
//!
//! ```text
//!                     bit on disk   bit in memory   page LSN
//!   logged tree            1              1         its last record
//!   unlogged tree          0              1         where the log was when it became the tree's
//!   after a crash          0              0         (whatever it was)
//!   after a clean stop     0              1         the file `unlogged` says which pages
//! ```
//!
//! Correctness conditions:
//!
//! - U1. *After a crash the tree's pages are free.* The allocator starts from the bitmap pages, in
//!   which no page of an unlogged tree is in use.
//! - U2. *After a crash the tree does not exist.* The layer that stores the ids of trees calls
//!   [`Store::forget_tree`] for each unlogged one before it reads any tree. That formats the root
//!   if it still exists. If the tree was dropped before, the drop's record has formatted its root.
//!   So for all users of the tree's id (undo of a prepared transaction, a repeated drop) it does
//!   not exist, like a dropped logged tree.
//! - U3. *Redo leaves an unlogged tree's pages alone, and repeats a logged tree's later changes of
//!   them*. A page becomes an unlogged tree's after the record that freed it was appended, and its
//!   LSN is then the log's position: older records for it are not applied. It reaches the disk
//!   after the log is durable up to there (storage's condition 1), so none of those records is
//!   missing. A logged tree that gets the page formats it in a record that is still younger.
//! - U4. *A clean stop keeps everything.* [`Store::seal_unlogged`] is called first. The next
//!   checkpoint writes all pages. Then a file is written that lists the pages of unlogged trees,
//!   the number of that checkpoint and the end of the log. A start uses it only if both still
//!   match, and removes it durably before anything is written: it is valid for one start. If a step
//!   fails, the file is missing or does not match, and the trees are emptied. If only the last step
//!   fails, the sync of the directory, the file may exist, and is right.
//! - U5. *Generations are never reused*, since the record that creates a tree has its generation.
//!
//! ```text
//!  the file:
//!  ┌ magic u64 ┬ crc32c u32 ┬ 0 u32 ┬ system id u64 ┬ checkpoint u64 ┬ end of log u64 ┬
//!  ┬ runs: first page u64, count u64 … ┐
//! ```

use crate::control::Control;
use crate::error::{Result, StorageError};
use crate::ops::kind;
use crate::page::{self, Kind, node};
use crate::recovery;
use crate::smo::Smo;
use crate::store::{Inner, Store};
use crate::types::{LogHeader, PageId, TreeId};
use crate::wal::{Appended, Lsn, Priority};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering, fence};
use steppe_vfs::{OpenMode, Vfs, parent_dir};

const MAGIC: u64 = u64::from_le_bytes(*b"steppe\0u");
const HEAD_LEN: usize = 40;

/// The store's state for unlogged trees.
pub(crate) struct Unlogged {
    vfs: Arc<dyn Vfs>,
    path: PathBuf,
    /// Whether the trees have the content that they had when the store was closed.
    kept: bool,
    /// Whether writes to unlogged trees are refused.
    sealed: AtomicBool,
}

/// Pages that belong to unlogged trees, as runs (first, count).
type Runs = Vec<(u64, u64)>;

impl Unlogged {
    /// Reads the file that a clean stop has left, and removes it. Marks its pages in `words`, which
    /// have a bit for each page of the data file.
    pub(crate) fn open(
        vfs: &Arc<dyn Vfs>,
        path: &Path,
        control: &Control,
        end: Lsn,
        words: &mut [u64],
    ) -> Result<Unlogged> {
        let mut unlogged = Unlogged {
            vfs: Arc::clone(vfs),
            path: path.to_path_buf(),
            kept: false,
            sealed: AtomicBool::new(false),
        };
        if !vfs.exists(path)? {
            return Ok(unlogged);
        }
        let file = vfs.open(path, OpenMode::READ)?;
        let mut bytes = vec![0; usize::try_from(file.len()?).unwrap_or(0)];
        file.read_exact_at(&mut bytes, 0)?;
        let runs = decode(&bytes, control, end).filter(|runs| are_free(runs, words));
        if let Some(runs) = runs {
            let pages = runs.iter().flat_map(|&(first, count)| first..first + count);
            pages.for_each(|page| words[(page / 64) as usize] |= 1 << (page % 64));
            unlogged.kept = true;
        }
        unlogged.remove()?;
        Ok(unlogged)
    }

    fn remove(&self) -> Result<()> {
        self.vfs.remove(&self.path)?;
        self.vfs.sync_dir(parent_dir(&self.path))?;
        Ok(())
    }

    /// Writes the file and makes it durable.
    fn save(&self, bytes: &[u8]) -> Result<()> {
        let file = self.vfs.open(&self.path, OpenMode::TRUNCATE)?;
        file.write_at(bytes, 0)?;
        file.sync_all()?;
        self.vfs.sync_dir(parent_dir(&self.path))?;
        Ok(())
    }
}

fn crc_of(bytes: &[u8]) -> u32 {
    let algorithm = crc_fast::CrcAlgorithm::Crc32Iscsi;
    let mut digest = crc_fast::Digest::new(algorithm);
    digest.update(&bytes[..8]);
    digest.update(&bytes[12..]);
    digest.finalize() as u32
}

fn encode(control: &Control, end: Lsn, runs: &Runs) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(HEAD_LEN + runs.len() * 16);
    bytes.extend_from_slice(&MAGIC.to_le_bytes());
    bytes.extend_from_slice(&[0; 8]);
    for word in [control.system_id, control.sequence, end.0] {
        bytes.extend_from_slice(&word.to_le_bytes());
    }
    for (first, count) in runs {
        bytes.extend_from_slice(&first.to_le_bytes());
        bytes.extend_from_slice(&count.to_le_bytes());
    }
    let crc = crc_of(&bytes);
    bytes[8..12].copy_from_slice(&crc.to_le_bytes());
    bytes
}

/// `None`: the file is damaged, or records have been logged since it was written.
fn decode(bytes: &[u8], control: &Control, end: Lsn) -> Option<Runs> {
    let word = |at: usize| Some(u64::from_le_bytes(bytes.get(at..at + 8)?.try_into().ok()?));
    let head = [word(0)?, word(16)?, word(24)?, word(32)?];
    if head != [MAGIC, control.system_id, control.sequence, end.0] {
        return None;
    }
    let (runs, rest) = bytes[HEAD_LEN..].as_chunks::<16>();
    if !rest.is_empty() || word(8)? as u32 != crc_of(bytes) {
        return None;
    }
    let run_of = |run: &[u8; 16]| {
        let number = u128::from_le_bytes(*run);
        (number as u64, (number >> 64) as u64)
    };
    Some(runs.iter().map(run_of).collect())
}

/// Whether the pages are in the file, and not in use by another tree.
fn are_free(runs: &Runs, words: &[u64]) -> bool {
    runs.iter().all(|&(first, count)| {
        let end = first.checked_add(count).filter(|&end| end <= words.len() as u64 * 64);
        end.is_some_and(|end| {
            (first..end).all(|page| words[(page / 64) as usize] >> (page % 64) & 1 == 0)
        })
    })
}

/// The pages in `used` that are not in `logged`, without page 0 and the bitmap pages.
fn runs_beside(used: &[u64], logged: &[u64], file_pages: u64) -> Runs {
    let mut runs = Runs::new();
    for (at, (used, logged)) in used.iter().zip(logged).enumerate() {
        let mut bits = used & !logged;
        while bits != 0 {
            let page = at as u64 * 64 + u64::from(bits.trailing_zeros());
            bits &= bits - 1;
            let is_own = page == 0 || crate::space::bitmap_pages(page..page + 1).next().is_some();
            if is_own || page >= file_pages {
                continue;
            }
            match runs.last_mut() {
                Some((first, count)) if *first + *count == page => *count += 1,
                _ => runs.push((page, 1)),
            }
        }
    }
    runs
}

impl Inner {
    /// Called instead of a log append: a latched and marked page of an unlogged tree is about to
    /// change. Returns the log's position.
    #[inline]
    pub(crate) fn unlogged_change(&self) -> Result<Appended> {
        self.pool.writeback.check()?;
        // This check follows the marking of the page: see `seal_unlogged`.
        if self.unlogged.sealed.load(Ordering::SeqCst) {
            return Err(StorageError::Invalid("the database is being closed".into()));
        }
        Ok(Appended { start: Lsn::INVALID, end: self.wal.insert_position() })
    }
}

impl Inner {
    /// Whether a checkpoint may skip a page: recovery does not need an unlogged tree's pages. It is
    /// called after the redo LSN is chosen. A logged tree that gets the page later formats it in a
    /// record behind that LSN, and one that is changing it now has it latched. A free page must be
    /// written: otherwise it would be written when its space has been given back.
    pub(crate) fn may_stay_dirty(&self, id: PageId) -> bool {
        if self.unlogged.sealed.load(Ordering::SeqCst) {
            return false;
        }
        let Some(version) = self.pool.peek(id) else { return false };
        let page = self.pool.page(id);
        let generation = node::generation(page);
        page::kind(page) == Some(Kind::Node)
            && TreeId { root: id, generation }.is_unlogged()
            && self.pool.validate(id, version)
            && self.space.is_used(id)
    }
}

impl Store {
    /// As [`Store::create_tree`], for an unlogged tree. Its record has no payload: after a crash
    /// there is nothing to undo.
    pub fn create_unlogged_tree(&self, log: LogHeader) -> Result<TreeId> {
        let inner = self.inner();
        let generation = inner.new_generation();
        let mut smo = Smo::of(inner, TreeId::unlogged(PageId(0), generation), log.priority);
        let tree = TreeId::unlogged(smo.allocate()?, generation);
        smo.ops.empty_root(tree);
        smo.commit_logged(kind::CREATE_TREE, log, &[])?;
        Ok(tree)
    }

    /// Whether unlogged trees have the content that they had when the store was closed. If not,
    /// they are empty or half written, and each must be forgotten.
    pub fn has_kept_unlogged(&self) -> bool {
        self.inner().unlogged.kept || self.recovery_summary().created
    }

    /// Makes an unlogged tree that a crash has emptied nonexistent (U2). Safe to repeat.
    pub fn forget_tree(&self, tree: TreeId) -> Result<()> {
        let inner = self.inner();
        let in_file = tree.root.0 != 0 && tree.root.0 < inner.space.counts().0;
        if !in_file || inner.space.is_used(tree.root) {
            return Ok(());
        }
        let guard = inner.pool.latch_for_redo(tree.root, true)?;
        let page = guard.page();
        if page::kind(page) != Some(Kind::Node) || node::generation(page) != tree.generation {
            return Ok(());
        }
        let mut smo = Smo::of(inner, tree, Priority::MustSucceed);
        smo.ops.free(tree.root);
        smo.guards.push(guard);
        smo.commit_logged(kind::STRUCTURE, LogHeader::default(), &[]).map(drop)
    }

    /// Refuses changes of unlogged trees from now on: the next checkpoint writes all of them.
    ///
    /// A writer marks its page before it checks whether it may write, and the checkpoint writes
    /// each page that is marked or latched. So a change is either refused or written.
    pub fn seal_unlogged(&self) {
        self.inner().unlogged.sealed.store(true, Ordering::SeqCst);
        fence(Ordering::SeqCst);
    }

    /// Saves the places of unlogged trees, so that the next start finds them (U4). It is called
    /// after [`Store::seal_unlogged`] and a checkpoint, directly before [`Store::close`].
    pub fn keep_unlogged(&self) -> Result<()> {
        let inner = self.inner();
        let control = inner.control.lock();
        let end = inner.wal.insert_position();
        inner.wal.flush(end)?;
        let (file_pages, used) = inner.space.used_words();
        let (logged, _) = recovery::read_bitmaps(&inner.pool, file_pages)?;
        let runs = runs_beside(&used, &logged, file_pages);
        inner.unlogged.save(&encode(&control, end, &runs))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::StoreOptions;
    use crate::store::CheckpointState;
    use steppe_vfs::CrashVfs;

    fn open(vfs: &Arc<CrashVfs>) -> Store {
        let options = StoreOptions {
            vfs: Arc::clone(vfs) as Arc<dyn Vfs>,
            pool_pages: 64,
            max_pages: 1 << 20,
            background: false,
            ..StoreOptions::new("db")
        };
        Store::open(options, &mut ()).unwrap()
    }

    fn fill(store: &Store, tree: TreeId, rows: std::ops::Range<u64>) {
        put(store, tree, rows, 100);
    }

    fn put(store: &Store, tree: TreeId, rows: std::ops::Range<u64>, length: usize) {
        for row in rows {
            let put = store.tree(tree).write(&row.to_be_bytes(), LogHeader::default(), |_, op| {
                op.put(&row.to_le_bytes().repeat(length));
                Ok::<(), StorageError>(())
            });
            assert_eq!(put.unwrap().unwrap().record().is_some(), !tree.is_unlogged());
        }
    }

    fn checkpoint(store: &Store) {
        store.checkpoint(&mut |_| CheckpointState::default()).unwrap();
    }

    fn count(store: &Store, tree: TreeId) -> usize {
        store.tree(tree).check().unwrap();
        let mut cursor = store.tree(tree).scan(
            std::ops::Bound::Unbounded,
            std::ops::Bound::Unbounded,
            crate::Direction::Forward,
        );
        let mut rows = 0;
        while cursor.next_page().unwrap() {
            while cursor.next().is_some() {
                rows += 1;
            }
        }
        rows
    }

    #[test]
    fn a_clean_stop_keeps_and_a_crash_forgets() {
        let vfs = Arc::new(CrashVfs::new(1));
        let store = open(&vfs);
        let (logged, _) = store.create_tree(LogHeader::default(), |_, _| {}).unwrap();
        let tree = store.create_unlogged_tree(LogHeader::default()).unwrap();
        fill(&store, tree, 0..2000);
        fill(&store, logged, 0..10);
        let few = store.checkpoint(&mut |_| CheckpointState::default()).unwrap().pages_written;
        assert!(few < 20, "{few} pages: those of the unlogged tree may wait");
        store.seal_unlogged();
        let refused = store.tree(tree).write(b"k", LogHeader::default(), |_, op| {
            op.put(b"v");
            Ok::<(), StorageError>(())
        });
        assert!(refused.is_err());
        checkpoint(&store);
        store.keep_unlogged().unwrap();
        store.close().unwrap();
        drop(store);

        let vfs = Arc::new(vfs.crash());
        let store = open(&vfs);
        assert!(store.has_kept_unlogged());
        assert_eq!((count(&store, tree), count(&store, logged)), (2000, 10));
        store.check_space(&[tree, logged]).unwrap();
        fill(&store, tree, 2000..2500);
        checkpoint(&store);
        drop(store);

        let vfs = Arc::new(vfs.crash());
        let store = open(&vfs);
        assert!(!store.has_kept_unlogged());
        store.forget_tree(tree).unwrap();
        let gone = store.tree(tree).read(b"k", &mut Vec::new());
        assert!(matches!(gone, Err(StorageError::NoSuchTree(_))));
        assert_eq!(store.drop_tree(tree).unwrap(), 0);
        store.check_space(&[logged]).unwrap();
    }

    /// A file is ignored if a record was logged after it.
    #[test]
    fn what_is_logged_later_ends_the_promise() {
        let vfs = Arc::new(CrashVfs::new(2));
        let store = open(&vfs);
        let (logged, _) = store.create_tree(LogHeader::default(), |_, _| {}).unwrap();
        let tree = store.create_unlogged_tree(LogHeader::default()).unwrap();
        fill(&store, tree, 0..100);
        store.seal_unlogged();
        checkpoint(&store);
        store.keep_unlogged().unwrap();
        fill(&store, logged, 0..1);
        store.close().unwrap();
        drop(store);
        let store = open(&Arc::new(vfs.crash()));
        assert!(!store.has_kept_unlogged());
        store.forget_tree(tree).unwrap();
        store.check_space(&[logged]).unwrap();
    }

    /// Pages change between logged and unlogged trees while the power fails.
    #[test]
    fn pages_change_hands_over_crashes() {
        for seed in 0..12 {
            let mut vfs = Arc::new(CrashVfs::new(seed));
            let mut store = open(&vfs);
            let (kept, _) = store.create_tree(LogHeader::default(), |_, _| {}).unwrap();
            let mut rows = 0;
            for round in 0..6u64 {
                // Redo has records for pages that it has not formatted, with another layout than
                // the unlogged tree gives them.
                let (gone, _) = store.create_tree(LogHeader::default(), |_, _| {}).unwrap();
                put(&store, gone, 0..1000, 30);
                checkpoint(&store);
                put(&store, gone, 0..1000, 31);
                store.drop_tree(gone).unwrap();
                let first = store.create_unlogged_tree(LogHeader::default()).unwrap();
                fill(&store, first, 0..400);
                if (seed + round) % 3 == 0 {
                    checkpoint(&store);
                }
                let second = store.create_unlogged_tree(LogHeader::default()).unwrap();
                fill(&store, second, 0..200);
                store.drop_tree(first).unwrap();
                fill(&store, kept, rows..rows + 100);
                rows += 100;
                fill(&store, second, 200..400);
                assert_eq!(count(&store, second), 400);
                store.check_space(&[kept, second]).unwrap();
                store.wal().flush(store.wal().insert_position()).unwrap();
                drop(store);
                vfs = Arc::new(vfs.crash());
                store = open(&vfs);
                for tree in [first, second] {
                    store.forget_tree(tree).unwrap();
                    let gone = store.tree(tree).read(b"k", &mut Vec::new());
                    assert!(matches!(gone, Err(StorageError::NoSuchTree(_))), "seed {seed}");
                }
                assert_eq!(count(&store, kept) as u64, rows, "seed {seed}");
                store.check_space(&[kept]).unwrap();
            }
        }
    }
}
