//! The engine of one data directory: store, status table, undo and locks under one roof.
//!
//! It holds the files of all its databases; which one a session, a file or a lock belongs to is a
//! [`DatabaseId`].

use std::collections::{BTreeSet, HashSet};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use parking_lot::{Mutex, RwLock};
use steppe_storage::wal::Wal;
use steppe_storage::{
    CheckpointState, CheckpointStats, FatalCallback, LogHeader, Lsn, Priority, StorageError, Store,
    Tree, TreeId,
};
use steppe_types::Result;
use steppe_vfs::Vfs;

use crate::change::{Change, put_u64};
use crate::files::{DatabaseId, DroppedFile, FileId, Files};
use crate::lock::{
    Acquire, AdvisoryKey, AdvisoryScope, LockManager, LockOptions, LockTag, LockWait,
    RelationLockMode, SharedMode,
};
use crate::prepared::{self, PreparedTransactions};
use crate::purge::PassedLeaves;
use crate::recovery::{self, RECORD_ACTIVE};
use crate::replay::Replay;
use crate::row_ids::RowIdRanges;
use crate::serializable::Serializable;
use crate::session::{Interrupt, SessionRegistry, SessionShared};
use crate::status::StatusTable;
use crate::undo::{UndoLog, UndoOptions};
use crate::undone::TakenBack;

/// Running transactions and pending drops that fit the control file.
const ACTIVE_IN_CONTROL_MAX: usize = 200;

/// Commits look at the horizon so seldom that none of them pays for more sessions than this.
const SESSIONS_PER_COMMIT: usize = 8;

/// How an engine is opened.
#[derive(Clone)]
pub struct EngineOptions {
    /// Pages of the buffer pool (shared_buffers / 8 KiB).
    pub pool_pages: usize,
    /// Largest data file, in pages.
    pub pages_max: u64,
    /// Bytes of the log's ring (wal_buffers).
    pub wal_buffers_bytes: usize,
    /// Bytes of one log segment.
    pub wal_segment_bytes: u64,
    /// Bytes of log segments kept for reuse (min_wal_size).
    pub wal_bytes_min: u64,
    /// The identity of a new data directory; `None`: a random one.
    pub system_id: Option<u64>,
    /// Bytes of full undo segments kept in memory; the rest spills to a file.
    pub undo_buffers_bytes: u64,
    /// Bytes of one undo segment, 16 KiB to 1 MiB.
    pub undo_segment_bytes: usize,
    /// Whether threads may run (page writer, log flusher, purge). Without them
    /// everything happens in the calling threads, repeatably.
    pub background: bool,
    /// How many commits go by between two looks at the horizon; more where there are many sessions.
    pub commits_per_horizon_check: u32,
    /// How many of the files that a transaction drops one log record lists: a record is bounded,
    /// a table's partitions are not.
    pub drops_per_record: usize,
    /// How many serializable transactions that have committed, but beside which others still
    /// run, are remembered one by one (10 for each connection in PostgreSQL).
    pub serializable_kept: usize,
    /// How many transactions may be prepared at the same time.
    pub max_prepared_transactions: usize,
    /// Settings of the lock table.
    pub locks: LockOptions,
    /// The first session's pid.
    pub first_pid: u32,
    /// Told when the store stops after a failed write.
    pub on_fatal: Option<FatalCallback>,
    /// Told what rollbacks of transactions, their parts and statements take back; not what
    /// recovery does.
    pub on_taken_back: Option<Arc<dyn Fn(TakenBack) + Send + Sync>>,
    /// Told what recovery does, and how far it is.
    pub on_progress: Option<recovery::Progress>,
    /// Bugs to plant, for the test of the crash simulation.
    #[cfg(feature = "planted-bugs")]
    pub planted_bug: Option<PlantedBug>,
}

/// A bug on purpose; see [`EngineOptions::planted_bug`].
#[cfg(feature = "planted-bugs")]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlantedBug {
    /// Some log records do not say which transaction they belong to, so that
    /// recovery cannot undo them: as if the record had been left out.
    SkipLogRecord,
    /// The waits for durability return at once.
    AcknowledgeBeforeFlush,
    /// What a transaction drops goes at its commit, even if it was rolled back to before that.
    DropsSurviveRollback,
    /// After a crash a prepared transaction has its changes, and not its locks.
    ForgetPreparedLocks,
    /// A crash rolls prepared transactions back.
    UndoPrepared,
    /// An UPDATE to the same bytes writes no version.
    NoVersionOfTheSame,
    /// What a transaction has deleted is purged before everybody sees it.
    PurgeUnsettled,
    /// After a crash unlogged files keep the trees that they had.
    KeepUnlogged,
    /// A prepared transaction's changes of unlogged files are not noted in the log.
    ForgetUnloggedOfPrepared,
    /// A statement goes on with the number of those that ran within it.
    ResumeWithInnerCommand,
}

impl Default for EngineOptions {
    fn default() -> EngineOptions {
        EngineOptions {
            pool_pages: 16 * 1024,
            pages_max: 1 << 27,
            wal_buffers_bytes: 16 << 20,
            wal_segment_bytes: 16 << 20,
            wal_bytes_min: 80 << 20,
            system_id: None,
            undo_buffers_bytes: 256 << 20,
            undo_segment_bytes: 1 << 20,
            background: true,
            commits_per_horizon_check: 32,
            drops_per_record: 512,
            serializable_kept: 1000,
            max_prepared_transactions: 0,
            locks: LockOptions::default(),
            first_pid: 1,
            on_fatal: None,
            on_taken_back: None,
            on_progress: None,
            #[cfg(feature = "planted-bugs")]
            planted_bug: None,
        }
    }
}

impl std::fmt::Debug for EngineOptions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("EngineOptions")
            .field("pool_pages", &self.pool_pages)
            .field("undo_buffers_bytes", &self.undo_buffers_bytes)
            .field("background", &self.background)
            .finish_non_exhaustive()
    }
}

/// An open data directory. Opening recovers; see `recovery`.
pub struct Engine {
    pub(crate) store: Store,
    pub(crate) status: StatusTable,
    pub(crate) undo: UndoLog,
    /// Dead entries that scans have met.
    pub(crate) passed: PassedLeaves,
    pub(crate) sessions: Arc<SessionRegistry>,
    pub(crate) locks: Arc<LockManager>,
    pub(crate) serializable: Serializable,
    pub(crate) prepared: PreparedTransactions,
    pub(crate) system: Tree,
    pub(crate) options: EngineOptions,
    pub(crate) files: Arc<Files>,
    /// Committed drops that are not finished yet.
    pub(crate) pending_drops: Mutex<BTreeSet<DroppedFile>>,
    /// Shared by those who clean up in trees, exclusive for those who free one.
    pub(crate) tree_gate: RwLock<()>,
    commits: AtomicU32,
    purge_thread: Mutex<Option<crate::purge::PurgeThread>>,
}

impl Engine {
    /// Opens the engine in `dir`, making a new one if there is none. After a
    /// crash: redoes the log, then undoes the transactions that had not ended.
    pub fn open(vfs: Arc<dyn Vfs>, dir: &Path, options: EngineOptions) -> Result<Arc<Engine>> {
        Replay::open(vfs, dir, options)?.finish()
    }

    /// The engine over a store whose log was replayed, once what had not ended is taken back.
    pub(crate) fn recovered(
        store: Store,
        mut analysis: recovery::Analysis,
        (vfs, dir): (Arc<dyn Vfs>, &Path),
        options: EngineOptions,
    ) -> Result<Arc<Engine>> {
        let system = match analysis.system_tree() {
            Some(id) => id,
            None => {
                let log = LogHeader::default();
                let payload = |tree, out: &mut Vec<u8>| Change::SystemTree { tree }.encode(out);
                store.create_tree(log, payload)?.0
            }
        };
        let undo_options = UndoOptions {
            memory_bytes_max: options.undo_buffers_bytes,
            segment_words: options.undo_segment_bytes / 8,
            arenas: if options.background { 16 } else { 2 },
        };
        let undo = UndoLog::new(undo_options, vfs, dir.join("undo.spill"));
        undo.discard_leftovers()?;
        let sessions = Arc::new(SessionRegistry::new(options.first_pid));
        let prepared = find_prepared(&mut analysis, &store, &sessions, &options)?;
        let running: Vec<(u64, u32)> =
            prepared.iter().map(|found| (found.xid, found.stand_in.pid())).collect();
        let engine = Arc::new(Engine {
            status: StatusTable::after_crash(analysis.next_xid(), &running),
            undo,
            passed: PassedLeaves::default(),
            locks: LockManager::new(options.locks, Arc::clone(&sessions)),
            serializable: Serializable::new(options.serializable_kept),
            prepared: PreparedTransactions::new(options.max_prepared_transactions),
            sessions,
            files: Arc::new(Files::new(store.clone(), store.tree(system))),
            system: store.tree(system),
            store,
            pending_drops: Mutex::default(),
            tree_gate: RwLock::new(()),
            commits: AtomicU32::new(0),
            purge_thread: Mutex::new(None),
            options,
        });
        reset_unlogged(&engine)?;
        prepared::restore(&engine, prepared)?;
        recovery::finish(&engine, analysis)?;
        engine.checkpoint()?;
        if engine.options.background {
            *engine.purge_thread.lock() = crate::purge::PurgeThread::start(&engine);
        }
        Ok(engine)
    }

    /// The log: `durable_lsn`, `flush`, `flush_async`.
    pub fn wal(&self) -> &Wal {
        self.store.wal()
    }

    /// The store below.
    pub fn store(&self) -> &Store {
        &self.store
    }

    /// The tree of cells (for checks of the whole store).
    pub fn system_tree_id(&self) -> TreeId {
        self.system.id()
    }

    /// The heavyweight locks.
    pub fn locks(&self) -> &Arc<LockManager> {
        &self.locks
    }

    /// Bytes of undo in memory, and segments in its spill file.
    pub fn undo_usage(&self) -> (u64, u64) {
        self.undo.usage()
    }

    /// The oldest xid that may still be unfinished, not durable, or too new for
    /// a held snapshot; and the next xid.
    pub fn xid_horizon(&self) -> (u64, u64) {
        (self.status.horizon(), self.status.next_xid())
    }

    /// Blocks until everything before `lsn` is durable.
    pub fn wait_durable(&self, lsn: Lsn) -> Result<()> {
        #[cfg(feature = "planted-bugs")]
        if self.options.planted_bug == Some(PlantedBug::AcknowledgeBeforeFlush) {
            return Ok(());
        }
        self.wal().flush(lsn).map_err(|e| steppe_storage::StorageError::from(e).into())
    }

    /// Makes the log before this moment redundant.
    pub fn checkpoint(&self) -> Result<CheckpointStats> {
        // The store calls back with what we then know; an append that fails
        // there must fail the checkpoint, else recovery would miss losers.
        let mut failure = None;
        let result = self.store.checkpoint(&mut |_redo| match self.checkpoint_state() {
            Ok(state) => state,
            Err(error) => {
                // Only a log that has failed refuses such a record, and then
                // the store's own flush fails this checkpoint as well.
                failure = Some(error);
                CheckpointState { oldest_needed: Some(Lsn(0)), state: Vec::new() }
            }
        });
        match failure {
            Some(error) => Err(error),
            None => Ok(result?),
        }
    }

    /// Comes after the redo LSN is chosen. Transactions whose records are all
    /// before it would be unknown to recovery, so they are listed: in the control
    /// file itself if there is room, else in a log record after the redo LSN.
    fn checkpoint_state(&self) -> Result<CheckpointState> {
        let mut oldest = None;
        let mut active: Vec<(u64, u64)> = Vec::new();
        // Transactions first: a commit enters its drops into the pending ones
        // before it leaves the list of running transactions.
        // Sessions before stand-ins: that is the way a transaction goes when it is prepared.
        for session in self.sessions.all().into_iter().chain(self.prepared.stand_ins()) {
            if let Some((xid, first, last)) = session.logged_transaction() {
                active.push((xid, last));
                oldest = Some(oldest.map_or(first, |oldest: u64| oldest.min(first)));
            }
        }
        active.sort_unstable();
        active.dedup();
        let drops: Vec<DroppedFile> = self.pending_drops.lock().iter().copied().collect();
        // What is not listed here because it is finished must be so in the durable log: drops
        // that were pending, trees made for files.
        self.files.wait_for_makers();
        self.flush_all()?;
        let mut state = Vec::new();
        put_u64(&mut state, self.status.next_xid());
        state.extend_from_slice(&self.system.id().to_bytes());
        if active.len() + drops.len() <= ACTIVE_IN_CONTROL_MAX {
            state.extend_from_slice(&recovery::encode_active(&active, &drops));
        } else {
            state.extend_from_slice(&recovery::encode_active(&[], &[]));
            self.log_active(&active, &drops)?;
        }
        Ok(CheckpointState { oldest_needed: oldest.map(Lsn), state })
    }

    fn log_active(&self, mut active: &[(u64, u64)], mut drops: &[DroppedFile]) -> Result<()> {
        let log = LogHeader { priority: Priority::MustSucceed, ..LogHeader::default() };
        while !(active.is_empty() && drops.is_empty()) {
            let (some_active, rest) = active.split_at(active.len().min(128));
            let (some_drops, more) = drops.split_at(drops.len().min(128));
            let body = recovery::encode_active(some_active, some_drops);
            let appended = self.store.append(RECORD_ACTIVE, log, &body)?;
            self.wal().flush(appended.end).map_err(steppe_storage::StorageError::from)?;
            (active, drops) = (rest, more);
        }
        Ok(())
    }

    /// A clean shutdown: cleans up, takes a checkpoint, stops. Sessions must be
    /// idle; their open transactions are undone at the next start. Prepared ones are restored.
    /// Unlogged files stay as they are, unless there are open transactions: the log cannot say
    /// what those have changed in them.
    pub fn close(&self) -> Result<()> {
        if let Some(thread) = self.purge_thread.lock().take() {
            thread.stop();
        }
        self.flush_all()?;
        self.advance_horizon();
        self.undo.seal_all();
        self.purge()?;
        self.store.seal_unlogged();
        let is_open = |session: &Arc<SessionShared>| session.xid() != 0 && !session.is_stand_in();
        let any_open = self.sessions.all().iter().any(is_open);
        self.checkpoint()?;
        if !any_open {
            match self.store.keep_unlogged() {
                // A full disk keeps nobody from stopping: the next start finds them empty.
                Err(StorageError::NoSpace(_)) => {}
                kept => kept?,
            }
        }
        Ok(self.store.close()?)
    }

    pub(crate) fn flush_all(&self) -> Result<()> {
        let wal = self.wal();
        Ok(wal.flush(wal.insert_position()).map_err(steppe_storage::StorageError::from)?)
    }

    // ----- sessions -----

    /// A new session in a database.
    pub fn new_session(self: &Arc<Self>, database: DatabaseId) -> SessionHandle {
        SessionHandle(Arc::new(SessionInner::new(self, self.sessions.add(database))))
    }

    /// Interrupts the session with this pid; false if there is none.
    pub fn interrupt(&self, pid: u32, interrupt: Interrupt) -> bool {
        let session = self.sessions.find(pid);
        session.inspect(|session| session.interrupt(interrupt)).is_some()
    }

    // ----- horizon -----

    pub(crate) fn insert_position(&self) -> u64 {
        self.wal().insert_position().0
    }

    /// Moves the horizon as far as it goes now, and returns it.
    pub fn advance_horizon(&self) -> u64 {
        let position = self.insert_position();
        let durable = self.wal().durable_lsn().0;
        let limit = self.sessions.oldest_snapshot(position).min(durable);
        self.status.advance_horizon(limit)
    }

    /// Called at every commit; looks at the horizon every so often. A look reads a line of memory
    /// of each session, idle ones too: the more there are, the more commits share it.
    pub(crate) fn count_commit(&self) {
        let count = self.commits.fetch_add(1, Ordering::Relaxed);
        let shared_by = (self.sessions.count() / SESSIONS_PER_COMMIT) as u32;
        if count.is_multiple_of(shared_by.max(self.options.commits_per_horizon_check).max(1)) {
            self.advance_horizon();
        }
    }

    // ----- files -----

    /// Whether unlogged files are as they were when the engine was closed; a crash has emptied
    /// them.
    pub fn has_kept_unlogged(&self) -> bool {
        self.store.has_kept_unlogged()
    }

    /// How many crashes have emptied the unlogged files: what is not in a file and shall share
    /// their fate remembers this number.
    pub fn unlogged_crashes(&self) -> Result<u64> {
        self.files.unlogged_crashes()
    }

    /// The tree of a file, if anything was ever written to it.
    pub fn tree_of(&self, file: FileId) -> Result<Option<TreeId>> {
        self.files.tree_of(file)
    }

    /// The trees of all files.
    pub fn trees(&self) -> Result<HashSet<TreeId>> {
        self.files.all_trees()
    }

    /// Of these files, those that have trees to be freed.
    pub(crate) fn files_with_trees(&self, files: &[FileId]) -> Result<Vec<DroppedFile>> {
        let mut found = Vec::new();
        for &file in files {
            found.extend(self.files.tree_of(file)?.map(|tree| DroppedFile { file, tree }));
        }
        Ok(found)
    }

    /// Frees files whose drop has committed.
    pub(crate) fn free_files(&self, files: &[DroppedFile]) -> Result<()> {
        for &dropped in files {
            let _nobody_cleans_up = self.tree_gate.write();
            self.files.remove(dropped)?;
            self.pending_drops.lock().remove(&dropped);
        }
        Ok(())
    }

    /// Frees a file whose creation is undone.
    pub(crate) fn free_new_file(&self, file: FileId) -> Result<()> {
        let files = self.files_with_trees(&[file])?;
        self.free_files(&files)
    }
}

/// What a session owns; shared with its transactions and cursors.
pub(crate) struct SessionInner {
    pub(crate) engine: Arc<Engine>,
    pub(crate) shared: Arc<SessionShared>,
    /// See [`SessionHandle::observed_lsn`].
    pub(crate) observed_lsn: AtomicU64,
    pub(crate) ranges: Mutex<RowIdRanges>,
}

impl SessionInner {
    pub(crate) fn new(engine: &Arc<Engine>, shared: Arc<SessionShared>) -> SessionInner {
        SessionInner {
            engine: Arc::clone(engine),
            shared,
            observed_lsn: AtomicU64::new(0),
            ranges: Mutex::default(),
        }
    }
}

/// Empties the unlogged files, unless they are as they were.
fn reset_unlogged(engine: &Engine) -> Result<()> {
    #[cfg(feature = "planted-bugs")]
    if engine.options.planted_bug == Some(PlantedBug::KeepUnlogged) {
        return Ok(());
    }
    match engine.has_kept_unlogged() {
        true => Ok(()),
        false => engine.files.reset_unlogged(),
    }
}

/// The transactions that were prepared before this start, with a stand-in for each.
fn find_prepared(
    analysis: &mut recovery::Analysis,
    store: &Store,
    sessions: &SessionRegistry,
    #[cfg_attr(not(feature = "planted-bugs"), allow(unused_variables))] options: &EngineOptions,
) -> Result<Vec<prepared::Found>> {
    #[cfg(feature = "planted-bugs")]
    if options.planted_bug == Some(PlantedBug::UndoPrepared) {
        return Ok(Vec::new());
    }
    let found = analysis.take_prepared(store)?.into_iter().map(|(xid, prepare_lsn)| {
        let stand_in = sessions.add_stand_in();
        prepared::Found { xid, prepare_lsn, stand_in }
    });
    let found = found.collect();
    analysis.report(store.recovery_summary());
    Ok(found)
}

impl Drop for SessionInner {
    fn drop(&mut self) {
        let locks = &self.engine.locks;
        locks.unlock_all_advisory(&self.shared);
        locks.release_to(&self.shared, crate::lock::LockPosition(0));
        self.engine.sessions.remove(self.shared.pid());
    }
}

/// A connection's place in the engine. One transaction at a time. Clones share
/// it; the last one to go releases what it holds.
#[derive(Clone)]
pub struct SessionHandle(pub(crate) Arc<SessionInner>);

impl SessionHandle {
    /// The process id that clients see.
    pub fn pid(&self) -> u32 {
        self.0.shared.pid()
    }

    /// The part that other threads may use: interrupts, timeouts.
    pub fn shared(&self) -> &Arc<SessionShared> {
        &self.0.shared
    }

    /// The engine.
    pub fn engine(&self) -> &Arc<Engine> {
        &self.0.engine
    }

    /// Fails if an interrupt is pending.
    pub fn check_interrupts(&self) -> Result<()> {
        self.0.shared.check_interrupts()
    }

    /// Locks a relation until the transaction ends, as [`crate::Txn::lock_relation`], for a caller
    /// that has lent its transaction out.
    pub fn lock_relation(&self, oid: u32, mode: RelationLockMode) -> Result<Option<LockWait>> {
        let locks = &self.0.engine.locks;
        Ok(locks.lock_relation(self.shared(), oid, mode, true)?.wait())
    }

    /// Whether the session has locked a relation in this mode, which is stronger than
    /// ROW EXCLUSIVE.
    pub fn holds_relation(&self, oid: u32, mode: RelationLockMode) -> bool {
        let tag = LockTag::Relation { database: self.0.shared.database(), oid };
        self.0.engine.locks.holds(self.pid(), tag, mode as u8)
    }

    /// pg_advisory_lock and friends, as [`crate::Txn::lock_advisory`], for a caller that
    /// has lent its transaction out.
    pub fn lock_advisory(
        &self,
        key: AdvisoryKey,
        mode: SharedMode,
        scope: AdvisoryScope,
    ) -> Result<Option<LockWait>> {
        let locks = &self.0.engine.locks;
        Ok(locks.lock_advisory(self.shared(), key, mode, scope, true)?.wait())
    }

    /// pg_try_advisory_lock and friends.
    pub fn try_lock_advisory(
        &self,
        key: AdvisoryKey,
        mode: SharedMode,
        scope: AdvisoryScope,
    ) -> Result<bool> {
        let locks = &self.0.engine.locks;
        let acquired = locks.lock_advisory(self.shared(), key, mode, scope, false)?;
        Ok(matches!(acquired, Acquire::Granted))
    }

    /// pg_advisory_unlock: false if the session does not hold it.
    pub fn unlock_advisory(&self, key: AdvisoryKey, mode: SharedMode) -> bool {
        self.0.engine.locks.unlock_advisory(self.shared(), key, mode)
    }

    /// pg_advisory_unlock_all.
    pub fn unlock_all_advisory(&self) {
        self.0.engine.locks.unlock_all_advisory(self.shared());
    }

    /// The greatest commit position that the session has read from and that was
    /// not durable then. Rows and commits may be reported to the client only
    /// when the log is durable up to here (early lock release, docs/design.md 5.4).
    pub fn observed_lsn(&self) -> Lsn {
        Lsn(self.0.observed_lsn.load(Ordering::Acquire))
    }
}
