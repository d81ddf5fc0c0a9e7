//! Any file system with a slow log device: each sync takes a chosen time longer.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crate::{File, FileLock, OpenMode, Result, Vfs};

/// Wraps a [`Vfs`] so that each sync of a file takes `sync_delay` longer.
pub struct SlowSyncVfs {
    inner: Arc<dyn Vfs>,
    sync_delay_nanos: Arc<AtomicU64>,
}

impl SlowSyncVfs {
    /// Slows `inner` down.
    pub fn new(inner: Arc<dyn Vfs>, sync_delay: Duration) -> SlowSyncVfs {
        let vfs = SlowSyncVfs { inner, sync_delay_nanos: Arc::default() };
        vfs.set_sync_delay(sync_delay);
        vfs
    }

    /// Changes the delay, for files that are open too.
    pub fn set_sync_delay(&self, sync_delay: Duration) {
        let nanos = u64::try_from(sync_delay.as_nanos()).unwrap_or(u64::MAX);
        self.sync_delay_nanos.store(nanos, Ordering::Relaxed);
    }
}

struct SlowFile {
    inner: Arc<dyn File>,
    sync_delay_nanos: Arc<AtomicU64>,
}

impl SlowFile {
    fn wait(&self) {
        let nanos = self.sync_delay_nanos.load(Ordering::Relaxed);
        if nanos > 0 {
            std::thread::sleep(Duration::from_nanos(nanos));
        }
    }
}

impl File for SlowFile {
    fn path(&self) -> &Path {
        self.inner.path()
    }

    fn read_at(&self, buffer: &mut [u8], offset: u64) -> Result<usize> {
        self.inner.read_at(buffer, offset)
    }

    fn write_at(&self, bytes: &[u8], offset: u64) -> Result<()> {
        self.inner.write_at(bytes, offset)
    }

    fn sync_data(&self) -> Result<()> {
        self.wait();
        self.inner.sync_data()
    }

    fn sync_all(&self) -> Result<()> {
        self.wait();
        self.inner.sync_all()
    }

    fn len(&self) -> Result<u64> {
        self.inner.len()
    }

    fn set_len(&self, len: u64) -> Result<()> {
        self.inner.set_len(len)
    }

    fn allocate(&self, len: u64) -> Result<()> {
        self.inner.allocate(len)
    }

    fn reserve(&self, len: u64) -> Result<()> {
        self.inner.reserve(len)
    }

    fn punch_hole(&self, offset: u64, len: u64) -> Result<bool> {
        self.inner.punch_hole(offset, len)
    }

    fn fill_hole(&self, offset: u64, len: u64) -> Result<()> {
        self.inner.fill_hole(offset, len)
    }
}

impl Vfs for SlowSyncVfs {
    fn open(&self, path: &Path, mode: OpenMode) -> Result<Arc<dyn File>> {
        let inner = self.inner.open(path, mode)?;
        Ok(Arc::new(SlowFile { inner, sync_delay_nanos: Arc::clone(&self.sync_delay_nanos) }))
    }

    fn exists(&self, path: &Path) -> Result<bool> {
        self.inner.exists(path)
    }

    fn list_dir(&self, path: &Path) -> Result<Vec<String>> {
        self.inner.list_dir(path)
    }

    fn create_dir_all(&self, path: &Path) -> Result<()> {
        self.inner.create_dir_all(path)
    }

    fn rename(&self, from: &Path, to: &Path) -> Result<()> {
        self.inner.rename(from, to)
    }

    fn remove(&self, path: &Path) -> Result<()> {
        self.inner.remove(path)
    }

    fn sync_dir(&self, path: &Path) -> Result<()> {
        self.inner.sync_dir(path)
    }

    fn lock_file(&self, path: &Path) -> Result<FileLock> {
        self.inner.lock_file(path)
    }
}
