//! Options of a store.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use steppe_vfs::{RealVfs, Vfs};

/// Called once, with a message, when a write or sync has failed and the store has stopped.
pub type FatalCallback = Arc<dyn Fn(&str) + Send + Sync>;

/// Options of [`crate::Store::open`].
#[derive(Clone)]
pub struct StoreOptions {
    /// The file system.
    pub vfs: Arc<dyn Vfs>,
    /// The directory. It is created if it does not exist.
    pub dir: PathBuf,
    /// The most pages in memory (shared_buffers). At least 32.
    pub pool_pages: usize,
    /// The size of the address space in pages: the largest data file. It is smaller if the process
    /// may not reserve that much.
    pub max_pages: u64,
    /// Run a background thread that keeps free slots ready and syncs the log. Otherwise the calling
    /// threads do all work, in a repeatable order.
    pub background: bool,
    /// Bytes of the in-memory log ring (wal_buffers).
    pub wal_buffers_bytes: usize,
    /// Bytes of one log segment file.
    pub wal_segment_bytes: u64,
    /// Bytes of log segments kept for reuse (min_wal_size).
    pub min_wal_bytes: u64,
    /// The identity of a new store; `None` selects a random one.
    pub system_id: Option<u64>,
    /// Called when the store stops.
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
