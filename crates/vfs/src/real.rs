//! The operating system's files.

use std::fs::{self, DirBuilder, OpenOptions, TryLockError};
use std::os::unix::fs::{DirBuilderExt, FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::aligned::is_aligned;
use crate::reserve::{fill_hole, punch_hole, reserve};
use crate::{Error, ErrorKind, File, FileLock, IoStats, OpenMode, Result, Vfs, parent_dir};

/// The operating system's file system.
#[derive(Debug, Default, Clone)]
pub struct RealVfs {
    stats: Arc<IoStats>,
}

impl RealVfs {
    /// The file system, with counters at 0.
    pub fn new() -> RealVfs {
        RealVfs::default()
    }

    /// Counts of reads, writes and syncs through this instance.
    pub fn stats(&self) -> &IoStats {
        &self.stats
    }
}

/// Only the server's user can read its files, as in PostgreSQL.
const PRIVATE_FILE: u32 = 0o600;
const PRIVATE_DIR: u32 = 0o700;

/// Zeros to write from when a file is preallocated.
static ZEROS: Zeros = Zeros([0; 1 << 20]);

/// Aligned as [`crate::DIRECT_ALIGNMENT`] asks.
#[repr(align(4096))]
struct Zeros([u8; 1 << 20]);

#[derive(Debug)]
struct RealFile {
    file: fs::File,
    /// The same file, for aligned writes past the page cache.
    direct: Option<fs::File>,
    path: PathBuf,
    stats: Arc<IoStats>,
}

impl RealFile {
    fn error(&self, operation: &'static str, source: std::io::Error) -> Error {
        Error::from_io(operation, &self.path, source)
    }

    fn write(&self, bytes: &[u8], offset: u64) -> std::io::Result<()> {
        self.stats.count_write(bytes.len() as u64);
        if let Some(direct) = &self.direct
            && is_aligned(bytes, offset)
        {
            match direct.write_all_at(bytes, offset) {
                // The device needs another alignment, or the rest of a short write is not aligned.
                Err(e) if e.raw_os_error() == Some(libc::EINVAL) => {}
                written => return written,
            }
        }
        self.file.write_all_at(bytes, offset)
    }
}

/// Opens the file once more, for writes past the page cache; `None` if the file system does not
/// support them (tmpfs).
fn open_direct(path: &Path) -> std::io::Result<Option<fs::File>> {
    match OpenOptions::new().write(true).custom_flags(libc::O_DIRECT).open(path) {
        Ok(file) => Ok(Some(file)),
        Err(e) if e.raw_os_error() == Some(libc::EINVAL) => Ok(None),
        Err(e) => Err(e),
    }
}

impl File for RealFile {
    fn path(&self) -> &Path {
        &self.path
    }

    fn read_at(&self, buffer: &mut [u8], offset: u64) -> Result<usize> {
        let mut done = 0;
        while done < buffer.len() {
            match self.file.read_at(&mut buffer[done..], offset + done as u64) {
                Ok(0) => break,
                Ok(read) => done += read,
                Err(e) if e.kind() == std::io::ErrorKind::Interrupted => {}
                Err(e) => return Err(self.error("read", e)),
            }
        }
        self.stats.count_read(done);
        Ok(done)
    }

    fn write_at(&self, bytes: &[u8], offset: u64) -> Result<()> {
        self.write(bytes, offset).map_err(|e| self.error("write", e))
    }

    fn sync_data(&self) -> Result<()> {
        self.stats.count_sync();
        self.file.sync_data().map_err(|e| self.error("fdatasync", e))
    }

    fn sync_all(&self) -> Result<()> {
        self.stats.count_sync();
        self.file.sync_all().map_err(|e| self.error("fsync", e))
    }

    fn len(&self) -> Result<u64> {
        Ok(self.file.metadata().map_err(|e| self.error("stat", e))?.len())
    }

    fn set_len(&self, len: u64) -> Result<()> {
        self.stats.count_write(0);
        self.file.set_len(len).map_err(|e| self.error("truncate", e))
    }

    /// Zeros are really written rather than asked for with fallocate: on ext4
    /// and XFS the first write into a fallocated extent changes metadata, which
    /// would make each fdatasync of a fresh log segment commit the journal too.
    fn allocate(&self, len: u64) -> Result<()> {
        let mut position = self.len()?;
        while position < len {
            let all = &ZEROS.0;
            // Up to a multiple of the length of ZEROS, so that what follows is aligned.
            let room = all.len() as u64 - position % all.len() as u64;
            let count = (len - position).min(room);
            let zeros = &all[..usize::try_from(count).expect("at most the size of ZEROS")];
            self.write(zeros, position).map_err(|e| self.error("extend", e))?;
            position += count;
        }
        Ok(())
    }

    fn reserve(&self, len: u64) -> Result<()> {
        let end = self.len()?;
        if end >= len {
            return Ok(());
        }
        self.stats.count_write(0);
        match reserve(&self.file, end, len).map_err(|e| self.error("extend", e))? {
            true => Ok(()),
            false => self.allocate(len),
        }
    }

    fn punch_hole(&self, offset: u64, len: u64) -> Result<bool> {
        self.stats.count_write(0);
        punch_hole(&self.file, offset, len).map_err(|e| self.error("punch a hole into", e))
    }

    /// A file system that cannot promise space has made no hole either.
    fn fill_hole(&self, offset: u64, len: u64) -> Result<()> {
        self.stats.count_write(0);
        fill_hole(&self.file, offset, len).map(drop).map_err(|e| self.error("extend", e))
    }
}

impl Vfs for RealVfs {
    fn open(&self, path: &Path, mode: OpenMode) -> Result<Arc<dyn File>> {
        let file = OpenOptions::new()
            .read(mode.read)
            .write(mode.write)
            .create(mode.create)
            .create_new(mode.create_new)
            .truncate(mode.truncate)
            .mode(PRIVATE_FILE)
            .open(path)
            .map_err(|e| Error::from_io("open", path, e))?;
        let direct = match mode.direct && mode.write {
            true => open_direct(path).map_err(|e| Error::from_io("open", path, e))?,
            false => None,
        };
        let (path, stats) = (path.to_path_buf(), Arc::clone(&self.stats));
        Ok(Arc::new(RealFile { file, direct, path, stats }))
    }

    fn exists(&self, path: &Path) -> Result<bool> {
        path.try_exists().map_err(|e| Error::from_io("stat", path, e))
    }

    fn list_dir(&self, path: &Path) -> Result<Vec<String>> {
        let failed = |e| Error::from_io("read directory", path, e);
        let mut names = Vec::new();
        for entry in fs::read_dir(path).map_err(failed)? {
            if let Ok(name) = entry.map_err(failed)?.file_name().into_string() {
                names.push(name);
            }
        }
        names.sort_unstable();
        Ok(names)
    }

    fn create_dir_all(&self, path: &Path) -> Result<()> {
        let mut missing = Vec::new();
        let mut dir = path;
        while !self.exists(dir)? {
            missing.push(dir);
            dir = parent_dir(dir);
        }
        for dir in missing.into_iter().rev() {
            // The directories above it are not the server's own.
            let mode = if dir == path { PRIVATE_DIR } else { 0o777 };
            match DirBuilder::new().mode(mode).create(dir) {
                Ok(()) => self.sync_dir(parent_dir(dir))?,
                // Another thread or process has made it meanwhile.
                Err(_) if dir.is_dir() => {}
                Err(e) => return Err(Error::from_io("create directory", dir, e)),
            }
        }
        if path.is_dir() {
            return Ok(());
        }
        Err(Error::new("create directory", path, ErrorKind::AlreadyExists, "Not a directory"))
    }

    fn rename(&self, from: &Path, to: &Path) -> Result<()> {
        fs::rename(from, to).map_err(|e| Error::from_io("rename", from, e))
    }

    fn remove(&self, path: &Path) -> Result<()> {
        fs::remove_file(path).map_err(|e| Error::from_io("remove", path, e))
    }

    fn sync_dir(&self, path: &Path) -> Result<()> {
        self.stats.count_sync();
        fs::File::open(path)
            .and_then(|dir| dir.sync_all())
            .map_err(|e| Error::from_io("fsync", path, e))
    }

    fn lock_file(&self, path: &Path) -> Result<FileLock> {
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .mode(PRIVATE_FILE)
            .open(path)
            .map_err(|e| Error::from_io("open", path, e))?;
        match file.try_lock() {
            Ok(()) => Ok(FileLock::new(file)),
            Err(TryLockError::WouldBlock) => {
                Err(Error::new("lock", path, ErrorKind::Locked, "it is locked by another process"))
            }
            Err(TryLockError::Error(e)) => Err(Error::from_io("lock", path, e)),
        }
    }
}
