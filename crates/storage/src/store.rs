//! The store: opening, recovery, checkpoints, trees by id.

use crate::options::StoreOptions;
use crate::tree::Tree;
use crate::types::{LogHeader, TreeId};
use crate::wal::{Appended, Lsn, Wal};
use crate::{Result, StorageError};
use std::sync::Arc;

/// A store; clones share it.
#[derive(Clone)]
pub struct Store {
    inner: Arc<StoreInner>,
}

struct StoreInner {
    wal: Wal,
}

/// A log record as the layer above sees it.
#[derive(Clone, Copy, Debug)]
pub struct LogRecord<'a> {
    /// Where the record starts: its identity.
    pub start: Lsn,
    /// Where it ends.
    pub end: Lsn,
    /// Below [`crate::FIRST_USER_KIND`]: a change of pages; else the caller's own.
    pub kind: u8,
    /// The transaction, or 0.
    pub xid: u64,
    /// The transaction's previous record, or 0.
    pub prev_lsn: Lsn,
    /// The caller's payload: empty for pure structure modifications.
    pub payload: &'a [u8],
}

/// Is shown the log during recovery, in order.
pub trait RecoveryHandler {
    /// Comes first: the state that was handed to the last complete checkpoint
    /// (empty if there is none) and where redo starts.
    fn begin(&mut self, state: &[u8], redo: Lsn) -> Result<()>;

    /// Each record from the redo LSN on, after its page changes were redone.
    fn record(&mut self, record: &LogRecord<'_>) -> Result<()>;
}

/// A handler for stores without transactions (tests, tools).
impl RecoveryHandler for () {
    fn begin(&mut self, _state: &[u8], _redo: Lsn) -> Result<()> {
        Ok(())
    }

    fn record(&mut self, _record: &LogRecord<'_>) -> Result<()> {
        Ok(())
    }
}

/// What the layer above adds to a checkpoint.
#[derive(Clone, Debug, Default)]
pub struct CheckpointState {
    /// The oldest record that an active transaction may need for its undo; the
    /// log is kept from here (or from the redo LSN if that is older). `None`: no
    /// transaction is active.
    pub oldest_needed: Option<Lsn>,
    /// Opaque; comes back in [`RecoveryHandler::begin`]. At most 4000 bytes.
    pub state: Vec<u8>,
}

/// What a checkpoint did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CheckpointStats {
    /// Recovery would start here.
    pub redo: Lsn,
    /// Pages written.
    pub pages_written: u64,
}

/// What recovery did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RecoverySummary {
    /// Whether the store was new.
    pub created: bool,
    /// Where redo started.
    pub redo: Lsn,
    /// The end of the log.
    pub end: Lsn,
    /// Records seen.
    pub records: u64,
    /// Torn pages restored from the doublewrite file.
    pub restored_pages: u64,
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

impl Store {
    /// Opens the store in `options.dir`, creating it if the directory holds none,
    /// and recovers: torn pages are restored, the log is redone, and `handler` is
    /// shown every record since the last checkpoint. The caller then undoes what
    /// must not stay, through ordinary writes.
    pub fn open(options: StoreOptions, handler: &mut dyn RecoveryHandler) -> Result<Store> {
        let _ = (options, handler);
        Err(StorageError::Invalid("not built yet".into()))
    }

    /// What recovery did when this store was opened.
    pub fn recovery_summary(&self) -> RecoverySummary {
        RecoverySummary::default()
    }

    /// Makes an empty tree, with one log record that carries what `payload`
    /// appends. To undo it, drop it.
    pub fn create_tree(
        &self,
        log: LogHeader,
        payload: impl FnOnce(TreeId, &mut Vec<u8>),
    ) -> Result<(TreeId, Appended)> {
        let _ = (log, payload);
        Err(StorageError::Invalid("not built yet".into()))
    }

    /// Frees all pages of a tree and returns how many. Costs its inner pages only.
    /// Nobody may use the tree any more; one who does gets
    /// [`StorageError::NoSuchTree`]. Not undoable; safe to repeat after a crash
    /// (or at any time: a tree that is gone is no error, 0 pages).
    pub fn drop_tree(&self, id: TreeId) -> Result<u64> {
        Err(StorageError::NoSuchTree(id))
    }

    /// The handle of a tree.
    pub fn tree(&self, id: TreeId) -> Tree {
        Tree::new(self.clone(), id)
    }

    /// Appends a record of the caller's own kind (≥ [`crate::FIRST_USER_KIND`]).
    pub fn append(&self, kind: u8, log: LogHeader, payload: &[u8]) -> Result<Appended> {
        let _ = (kind, log, payload);
        Err(StorageError::Invalid("not built yet".into()))
    }

    /// Reads back the record that starts at `lsn` (as long as a checkpoint's
    /// `oldest_needed` has kept it) and shows it to `f`. For undo after a crash.
    pub fn read_record<T>(
        &self,
        lsn: Lsn,
        f: impl FnOnce(&LogRecord<'_>) -> Result<T>,
    ) -> Result<T> {
        let _ = (lsn, f);
        Err(StorageError::Invalid("not built yet".into()))
    }

    /// The log: `insert_position`, `durable_lsn`, `flush` and friends.
    pub fn wal(&self) -> &Wal {
        &self.inner.wal
    }

    /// Makes everything before this moment redundant in the log (fuzzy: writers
    /// go on). `collect` is called once the redo LSN is chosen and says what to
    /// keep for the transactions that are active then.
    pub fn checkpoint(
        &self,
        collect: &mut dyn FnMut(Lsn) -> CheckpointState,
    ) -> Result<CheckpointStats> {
        let _ = collect;
        Err(StorageError::Invalid("not built yet".into()))
    }

    /// Bytes logged since the redo LSN of the last checkpoint (for max_wal_size).
    pub fn wal_bytes_since_checkpoint(&self) -> u64 {
        0
    }

    /// Counters.
    pub fn stats(&self) -> StoreStats {
        StoreStats::default()
    }

    /// Stops background threads after flushing the log. Dropping the last handle
    /// does the same. Not a checkpoint: take one before for a quick start.
    pub fn close(&self) -> Result<()> {
        Ok(())
    }
}
