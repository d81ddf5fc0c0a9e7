//! How a store is opened.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use steppe_vfs::{RealVfs, Vfs};

/// Called once, with a message, when a write or sync failed and the store stopped.
pub type FatalCallback = Arc<dyn Fn(&str) + Send + Sync>;

/// Options of [`crate::Store::open`].
#[derive(Clone)]
pub struct StoreOptions {
    /// The file system.
    pub vfs: Arc<dyn Vfs>,
    /// The directory; created if need be.
    pub dir: PathBuf,
    /// Pages kept in memory at most (shared_buffers). At least 32.
    pub pool_pages: usize,
    /// Size of the address space, in pages: the largest data file. It is less where the process
    /// may not have so much.
    pub max_pages: u64,
    /// Run a background thread that keeps clean pages at hand and syncs the log.
    /// Without it everything happens inline in the calling threads, repeatably.
    pub background: bool,
    /// Bytes of the in-memory log ring (wal_buffers).
    pub wal_buffers_bytes: usize,
    /// Bytes of one log segment file.
    pub wal_segment_bytes: u64,
    /// Bytes of log segments kept for reuse (min_wal_size).
    pub min_wal_bytes: u64,
    /// The identity of a new store; `None`: a random one.
    pub system_id: Option<u64>,
    /// Told when the store stops.
    pub on_fatal: Option<FatalCallback>,
}

impl StoreOptions {
    /// Real files in `dir`, a 128 MiB pool, a background thread.
    pub fn new(dir: impl Into<PathBuf>) -> StoreOptions {
        StoreOptions {
            vfs: Arc::new(RealVfs::new()),
            dir: dir.into(),
            pool_pages: 16 * 1024,
            max_pages: 1 << 27,
            background: true,
            wal_buffers_bytes: 16 << 20,
            wal_segment_bytes: 16 << 20,
            min_wal_bytes: 80 << 20,
            system_id: None,
            on_fatal: None,
        }
    }
}

impl fmt::Debug for StoreOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StoreOptions")
            .field("dir", &self.dir)
            .field("pool_pages", &self.pool_pages)
            .field("max_pages", &self.max_pages)
            .field("background", &self.background)
            .finish_non_exhaustive()
    }
}
