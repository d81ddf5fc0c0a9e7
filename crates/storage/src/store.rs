//! The store: opening, checkpoints, trees by id.

mod replay;

pub use replay::Replay;

use crate::control::{self, Control};
use crate::error::{Result, StorageError};
use crate::ops::kind;
use crate::options::StoreOptions;
use crate::pool::Pool;
use crate::pool::writeback;
use crate::recovery::{LogRecord, RecoveryHandler, RecoverySummary};
use crate::smo::Smo;
use crate::space::Space;
use crate::tree::{self, Tree};
use crate::types::{FIRST_USER_KIND, LogHeader, PAGE_SIZE, PageId, TreeId};
use crate::unlogged::Unlogged;
use crate::usage;
use crate::wal::{
    Appended, HEADER_LEN, Lsn, OwnedRecord, Priority, Record, RecordHeader, Wal, WalOptions,
};
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Weak};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use steppe_vfs::{File, FileLock, OpenMode, Random, Vfs};

/// A store. Its clones share one state.
#[derive(Clone)]
pub struct Store {
    inner: Arc<Inner>,
}

/// The state that the handles share.
pub(crate) struct Inner {
    pub(crate) pool: Pool,
    pub(crate) wal: Arc<Wal>,
    pub(crate) space: Space,
    pub(crate) unlogged: Unlogged,
    control_file: Arc<dyn File>,
    /// Locked during a whole checkpoint.
    pub(crate) control: Mutex<Control>,
    checkpoints: Mutex<CheckpointTotals>,
    redo: AtomicU64,
    next_generation: AtomicU64,
    /// The log position when a segment was last filled.
    switched: AtomicU64,
    min_wal_bytes: u64,
    summary: RecoverySummary,
    stop: Arc<AtomicBool>,
    cleaner: Mutex<Option<JoinHandle<()>>>,
    _lock: FileLock,
}

/// The input of the layer above to a checkpoint.
#[derive(Clone, Debug, Default)]
pub struct CheckpointState {
    /// The oldest record that an active transaction may need for its undo. The log is kept from
    /// here (or from the redo LSN if that is older). `None`: no transaction is active.
    pub oldest_needed: Option<Lsn>,
    /// Opaque state that recovery passes to [`RecoveryHandler::begin`]. At most 4000 bytes.
    pub state: Vec<u8>,
}

/// The result of a checkpoint.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CheckpointStats {
    /// The position where recovery would start.
    pub redo: Lsn,
    /// Pages written.
    pub pages_written: u64,
}

/// Totals of the checkpoints since the store was opened (for pg_stat_checkpointer).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct CheckpointTotals {
    /// Completed checkpoints.
    pub done: u64,
    /// Pages written by checkpoints.
    pub pages_written: u64,
    /// Time spent writing.
    pub write_time: Duration,
    /// Time spent syncing.
    pub sync_time: Duration,
}

/// The content of the control file (for pg_control_checkpoint and similar functions).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ControlData {
    /// The format of the file.
    pub version: u32,
    /// The store's identity.
    pub system_id: u64,
    /// The position where recovery would start.
    pub redo: Lsn,
    /// Bytes of a log segment.
    pub wal_segment_bytes: u64,
    /// The control file's path.
    pub path: PathBuf,
}

/// Counters since the store was opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StoreStats {
    /// Pages in memory.
    pub resident_pages: u64,
    /// Pages read from the data file.
    pub pages_read: u64,
    /// Pages written to the data file.
    pub pages_written: u64,
    /// Pages evicted.
    pub pages_evicted: u64,
    /// Pages of the data file.
    pub file_pages: u64,
    /// Pages of the data file in use.
    pub allocated_pages: u64,
}

/// The names of the store's files.
struct Files {
    lock: PathBuf,
    control: PathBuf,
    data: PathBuf,
    double: PathBuf,
    wal: PathBuf,
    unlogged: PathBuf,
}

impl Files {
    fn in_dir(dir: &Path) -> Files {
        Files {
            lock: dir.join("steppe.lock"),
            control: dir.join("control"),
            data: dir.join("data"),
            double: dir.join("doublewrite"),
            wal: dir.join("wal"),
            unlogged: dir.join("unlogged"),
        }
    }
}

/// Pages of a new data file.
const INITIAL_PAGES: u64 = 64;
const MIN_POOL_PAGES: usize = 32;

fn wal_options(options: &StoreOptions, system_id: u64, segment_bytes: u64) -> WalOptions {
    let on_fatal = options.on_fatal.clone();
    WalOptions {
        ring_size: options.wal_buffers_bytes,
        segment_size: segment_bytes,
        system_id,
        threads: options.background,
        on_fatal: on_fatal.map(|tell| -> crate::wal::OnFatal {
            Arc::new(move |error: &crate::wal::WalError| tell(&error.to_string()))
        }),
        ..WalOptions::default()
    }
}

/// Creates the files of a new store. The control file gets its name last: a store exists iff it has
/// a control file.
fn create(options: &StoreOptions, files: &Files) -> Result<()> {
    let vfs = &*options.vfs;
    let existing =
        if vfs.exists(&files.data)? { vfs.open(&files.data, OpenMode::READ)?.len()? } else { 0 };
    if existing > INITIAL_PAGES * PAGE_SIZE as u64 {
        let what = "is missing, but there is a data file".into();
        return Err(StorageError::Corrupt { file: files.control.clone(), page: None, what });
    }
    let data = vfs.open(&files.data, OpenMode::TRUNCATE)?;
    data.reserve(INITIAL_PAGES * PAGE_SIZE as u64)?;
    data.sync_all()?;
    let double = vfs.open(&files.double, OpenMode::TRUNCATE)?;
    double.allocate(writeback::FILE_BYTES)?;
    double.sync_all()?;
    let system_id = match options.system_id {
        Some(id) => id,
        None => random_id()?,
    };
    let first_lsn = wal_options(options, system_id, options.wal_segment_bytes).first_lsn();
    let control = Control {
        sequence: 1,
        system_id,
        redo: first_lsn,
        durable: first_lsn,
        next_generation: 1,
        wal_segment_bytes: options.wal_segment_bytes,
        state: Vec::new(),
    };
    let unnamed = files.control.with_extension("new");
    let file = vfs.open(&unnamed, OpenMode::TRUNCATE)?;
    control::write(&*file, &control)?;
    file.sync_all()?;
    // Names become durable in any order, so all others must be durable before the control file's
    // name.
    vfs.sync_dir(&options.dir)?;
    vfs.rename(&unnamed, &files.control)?;
    vfs.sync_dir(&options.dir)?;
    Ok(())
}

fn random_id() -> Result<u64> {
    let mut bytes = [0; 8];
    steppe_vfs::RealRandom::new()?.fill(&mut bytes)?;
    Ok(u64::from_le_bytes(bytes))
}

impl Store {
    /// Whether the directory contains a store, intact or damaged.
    pub fn exists(vfs: &dyn Vfs, dir: &Path) -> Result<bool> {
        Ok(vfs.exists(&Files::in_dir(dir).control)?)
    }

    /// Opens the store in `options.dir`, or creates it if the directory has none. Recovery restores
    /// torn pages, redoes the log, and passes every record since the last checkpoint to `handler`.
    /// The caller then undoes unfinished transactions through ordinary writes.
    pub fn open(options: StoreOptions, handler: &mut dyn RecoveryHandler) -> Result<Store> {
        Replay::open(options, handler)?.finish()
    }

    pub(crate) fn inner(&self) -> &Inner {
        &self.inner
    }

    /// The result of the recovery when this store was opened.
    pub fn recovery_summary(&self) -> RecoverySummary {
        self.inner.summary
    }

    /// The store's identity, which no other store has.
    pub fn system_id(&self) -> u64 {
        self.inner.control.lock().system_id
    }

    /// Creates an empty tree, with one log record that contains the bytes that `payload` appends.
    /// To undo it, drop the tree.
    pub fn create_tree(
        &self,
        log: LogHeader,
        payload: impl FnOnce(TreeId, &mut Vec<u8>),
    ) -> Result<(TreeId, Appended)> {
        let inner = &*self.inner;
        let generation = inner.new_generation();
        let mut smo = Smo::new(inner, log.priority);
        let root = smo.allocate()?;
        let tree = TreeId { root, generation };
        smo.ops.empty_root(tree);
        let mut bytes = Vec::new();
        payload(tree, &mut bytes);
        let appended = smo.commit(kind::CREATE_TREE, log, &bytes)?;
        Ok((tree, appended))
    }

    /// Frees all pages of a tree and returns their number. It reads only the tree's inner pages.
    /// Later uses of the tree return [`StorageError::NoSuchTree`]. It cannot be undone. It may be
    /// repeated after a crash or at any time: for a tree that does not exist the result is 0 pages.
    pub fn drop_tree(&self, id: TreeId) -> Result<u64> {
        tree::drop_tree(&self.inner, id)
    }

    /// The handle of a tree.
    pub fn tree(&self, id: TreeId) -> Tree {
        Tree::new(self.clone(), id)
    }

    /// Appends a record of the caller's own kind (≥ [`FIRST_USER_KIND`]).
    pub fn append(&self, kind: u8, log: LogHeader, payload: &[u8]) -> Result<Appended> {
        debug_assert!(kind >= FIRST_USER_KIND, "kinds below are storage's own");
        self.inner.append(kind, log, &[payload])
    }

    /// Fills the current segment of the log, so that the next record is in the next segment, and
    /// waits until all of it is on stable storage (pg_switch_wal). Returns the log position before
    /// the fill. If a segment has just begun, nothing is filled.
    pub fn switch_segment(&self) -> Result<Lsn> {
        const FILLER_BYTES: u64 = 64 << 10;
        static ZEROS: [u8; FILLER_BYTES as usize] = [0; FILLER_BYTES as usize];
        let wal = &self.inner.wal;
        let came_to = wal.insert_position();
        if came_to.0 == self.inner.switched.load(Ordering::Relaxed) {
            return Ok(came_to);
        }
        let (_, offset) = wal.segment_of(came_to);
        let end = came_to.0 - offset + wal.options().segment_size;
        let most = FILLER_BYTES.min((wal.options().max_record_len() - HEADER_LEN) as u64);
        // Other threads may append meanwhile: the last filler may extend into the next segment.
        let mut position = came_to;
        while position.0 < end {
            let body = (end - position.0).saturating_sub(HEADER_LEN as u64).min(most);
            let none = LogHeader::default();
            let appended = self.inner.append(kind::FILLER, none, &[&ZEROS[..body as usize]])?;
            position = appended.end;
        }
        wal.flush(position)?;
        self.inner.switched.store(position.0, Ordering::Relaxed);
        Ok(came_to)
    }

    /// Reads the record that starts at `lsn` and passes it to `f`, for undo after a crash. A
    /// checkpoint's `oldest_needed` must have kept the record.
    pub fn read_record<T>(
        &self,
        lsn: Lsn,
        f: impl FnOnce(&LogRecord<'_>) -> Result<T>,
    ) -> Result<T> {
        let OwnedRecord { start, end, header, body } = self.inner.wal.read_at(lsn)?;
        f(&LogRecord::of(&Record { start, end, header, body: &body })?)
    }

    /// The log: `insert_position`, `durable_lsn`, `flush` and others.
    pub fn wal(&self) -> &Wal {
        &self.inner.wal
    }

    /// Makes all log before this moment unnecessary for redo, while writers continue (a fuzzy
    /// checkpoint). `collect` is called once the redo LSN is chosen; it returns the log to keep for
    /// the transactions that are active then.
    ///
    /// A checkpoint misses no change, since a writer marks its page dirty before it reserves its
    /// record. So the page of a record before the redo LSN is marked when the dirty pages are
    /// listed, unless the page was written since. Either way the page is on disk, with that
    /// record's change, before the control file says so.
    pub fn checkpoint(
        &self,
        collect: &mut dyn FnMut(Lsn) -> CheckpointState,
    ) -> Result<CheckpointStats> {
        usage::working_as(usage::Worker::Checkpointer, || self.inner.checkpoint(collect))
    }

    /// Totals of the checkpoints since the store was opened.
    pub fn checkpoint_totals(&self) -> CheckpointTotals {
        *self.inner.checkpoints.lock()
    }

    /// The content of the control file.
    pub fn control_data(&self) -> ControlData {
        // `control` is not locked here: a checkpoint holds it all the time.
        let log = self.inner.wal.options();
        ControlData {
            version: control::VERSION,
            system_id: log.system_id,
            redo: Lsn(self.inner.redo.load(Ordering::Relaxed)),
            wal_segment_bytes: log.segment_size,
            path: self.inner.control_file.path().to_path_buf(),
        }
    }

    /// Bytes logged since the redo LSN of the last checkpoint (for max_wal_size).
    pub fn wal_bytes_since_checkpoint(&self) -> u64 {
        let redo = self.inner.redo.load(Ordering::Relaxed);
        self.inner.wal.insert_position().0.saturating_sub(redo)
    }

    /// Bytes of the data file that the next checkpoint gives back to the file system.
    pub fn bytes_to_give_back(&self) -> u64 {
        self.inner.space.bytes_to_give_back()
    }

    /// Counters since the store was opened.
    pub fn stats(&self) -> StoreStats {
        let pool = &self.inner.pool;
        let (file_pages, allocated_pages) = self.inner.space.counts();
        StoreStats {
            resident_pages: pool.resident_pages() as u64,
            pages_read: pool.counters.read.load(Ordering::Relaxed),
            pages_written: pool.writeback.pages_written.load(Ordering::Relaxed),
            pages_evicted: pool.counters.evicted.load(Ordering::Relaxed),
            file_pages,
            allocated_pages,
        }
    }

    /// Pages read from the data file, by tree, recovery's reads included.
    pub fn page_reads(&self) -> HashMap<TreeId, u64> {
        self.inner.pool.counters.reads_of_trees.all()
    }

    /// Removes the counts of pages read for trees for which `stays` is false.
    pub fn forget_page_reads(&self, stays: impl Fn(TreeId) -> bool) {
        self.inner.pool.counters.reads_of_trees.retain(stays);
    }

    /// Returns an error if an earlier write or sync failed.
    pub fn check_healthy(&self) -> Result<()> {
        self.inner.pool.writeback.check()
    }

    /// Flushes the log and stops the background thread, without a checkpoint: one taken before
    /// makes the next start quick. (Dropping the last handle only stops the threads: log that was
    /// not flushed is lost, as in a crash.)
    pub fn close(&self) -> Result<()> {
        self.inner.stop_cleaner();
        self.inner.wal.flush(self.inner.wal.insert_position())?;
        Ok(())
    }

    /// Checks that exactly the pages of `trees` are in use in the allocation bitmap. The store must
    /// not change meanwhile. Returns the number of these pages.
    pub fn check_space(&self, trees: &[TreeId]) -> Result<u64> {
        tree::check_space(&self.inner, trees.iter().map(|&id| self.tree(id)))
    }
}

impl Inner {
    /// A generation that no tree has had.
    pub(crate) fn new_generation(&self) -> u64 {
        self.next_generation.fetch_add(1, Ordering::Relaxed)
    }

    /// Appends a record, unless the store has stopped.
    #[inline]
    pub(crate) fn append(&self, kind: u8, log: LogHeader, body: &[&[u8]]) -> Result<Appended> {
        self.pool.writeback.check()?;
        let LogHeader { xid, prev_lsn, undo_next, priority } = log;
        let header = RecordHeader { kind, flags: 0, xid, prev_lsn, undo_next };
        Ok(self.wal.append_with(priority, header, body)?)
    }

    /// Creates a bitmap page. Runs under the allocator's mutex when the file grows.
    pub(crate) fn make_bitmap(&self, id: PageId) -> Result<()> {
        let mut smo = Smo::new(self, Priority::MustSucceed);
        smo.guards.push(self.pool.latch_fresh(id)?);
        smo.ops.bitmap_init(id);
        smo.commit(kind::STRUCTURE, LogHeader::default(), &[]).map(drop)
    }

    /// [`Store::checkpoint`]
    fn checkpoint(
        &self,
        collect: &mut dyn FnMut(Lsn) -> CheckpointState,
    ) -> Result<CheckpointStats> {
        let mut current = self.control.lock();
        self.space.note_emptied();
        let redo = self.wal.insert_position();
        let next_generation = self.next_generation.load(Ordering::Relaxed);
        let CheckpointState { oldest_needed, state } = collect(redo);
        let mut dirty = self.pool.dirty_pages();
        dirty.retain(|id| !self.may_stay_dirty(*id));
        let begin = Instant::now();
        let pages_written = self.pool.write_all(&dirty)?;
        let write_time = begin.elapsed();
        self.wal.flush(redo)?;
        self.pool.writeback.sync()?;
        let sync_time = begin.elapsed() - write_time;
        let next = Control {
            sequence: current.sequence + 1,
            redo,
            durable: self.wal.durable_lsn(),
            next_generation,
            state,
            ..current.clone()
        };
        // If the control file cannot be written, the old checkpoint stays valid. If its sync fails,
        // it is unknown which checkpoint is valid.
        control::write(&*self.control_file, &next).inspect_err(|e| {
            if !matches!(e, StorageError::Invalid(_)) {
                self.pool.writeback.fail(e);
            }
        })?;
        *current = next;
        self.redo.store(redo.0, Ordering::Relaxed);
        let keep = oldest_needed.map_or(redo, |lsn| lsn.min(redo));
        self.wal.remove_before(keep, self.min_wal_bytes)?;
        self.space.punch_holes();
        let mut totals = self.checkpoints.lock();
        totals.done += 1;
        totals.pages_written += pages_written;
        totals.write_time += write_time;
        totals.sync_time += sync_time;
        Ok(CheckpointStats { redo, pages_written })
    }

    /// Starts the thread that keeps slots free, so that readers seldom wait for writes.
    fn start_cleaner(&self, store: Weak<Inner>) -> Result<()> {
        let stop = Arc::clone(&self.stop);
        let run = move || {
            usage::work_as(usage::Worker::BackgroundWriter);
            while !stop.load(Ordering::Acquire) {
                std::thread::park_timeout(Duration::from_millis(5));
                let Some(store) = store.upgrade() else { return };
                // An error has stopped the store, and the next caller gets it.
                let keep_free = || store.pool.keep_free(store.pool.low_water());
                if usage::at_work(usage::Worker::BackgroundWriter, keep_free).is_err() {
                    return;
                }
            }
        };
        let handle = std::thread::Builder::new()
            .name("page cleaner".into())
            .spawn(run)
            .map_err(|e| steppe_vfs::Error::from_io("start a thread for", self.pool.path(), e))?;
        *self.cleaner.lock() = Some(handle);
        Ok(())
    }

    fn stop_cleaner(&self) {
        self.stop.store(true, Ordering::Release);
        let Some(handle) = self.cleaner.lock().take() else { return };
        handle.thread().unpark();
        // The cleaner itself drops the store if it held the last handle.
        if handle.thread().id() != std::thread::current().id() {
            // The panic hook has reported a panic of that thread.
            let _ = handle.join();
        }
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        self.stop_cleaner();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::page::bitmap::PAGES_PER_BITMAP;
    use steppe_vfs::CrashVfs;

    fn options(vfs: &Arc<CrashVfs>) -> StoreOptions {
        StoreOptions {
            vfs: Arc::clone(vfs) as Arc<dyn steppe_vfs::Vfs>,
            pool_pages: 64,
            max_pages: 1 << 20,
            background: false,
            ..StoreOptions::new("db")
        }
    }

    /// The file grows over several bitmap pages (they are small in tests), with power cuts.
    #[test]
    fn the_file_grows_past_its_bitmap_pages() {
        let mut vfs = Arc::new(CrashVfs::new(1));
        let mut store = Store::open(options(&vfs), &mut ()).unwrap();
        let (id, _) = store.create_tree(LogHeader::default(), |_, _| {}).unwrap();
        let mut row = 0u64;
        while store.stats().file_pages < 3 * PAGES_PER_BITMAP {
            let put = store.tree(id).write(&row.to_be_bytes(), LogHeader::default(), |_, op| {
                op.put(&[7; 2500]);
                Ok::<(), StorageError>(())
            });
            put.unwrap();
            row += 1;
            if row.is_multiple_of(500) {
                store.wal().flush(store.wal().insert_position()).unwrap();
                drop(store);
                vfs = Arc::new(vfs.crash());
                store = Store::open(options(&vfs), &mut ()).unwrap();
                store.checkpoint(&mut |_| CheckpointState::default()).unwrap();
                store.check_space(&[id]).unwrap();
            }
        }
        assert!(store.check_space(&[id]).unwrap() > 2 * PAGES_PER_BITMAP);
        let pages = store.tree(id).page_count().unwrap();
        assert_eq!(store.drop_tree(id).unwrap(), pages);
        store.check_space(&[]).unwrap();
    }
}
