//! Files, clock and randomness behind traits.
//!
//! Everything above this crate reaches the outside world only through these
//! traits, so that the whole engine runs unchanged on
//!
//! - [`RealVfs`], the operating system's files;
//! - [`CrashVfs`], a disk in memory: a power cut loses, reorders or tears unsynced writes, and it
//!   returns EIO or ENOSPC on demand. A seed determines all of this, so that runs can be repeated;
//! - [`SlowSyncVfs`], any of them with a chosen latency per sync.
//!
//! Every implementation guarantees:
//!
//! 1. Bytes written are on stable storage when a later `sync_data` or `sync_all`
//!    of the same file has returned `Ok`, and never earlier.
//! 2. A 512-byte sector is written whole or not at all. Larger writes are not atomic.
//! 3. A name created, renamed or removed is durable when a later `sync_dir` of
//!    its directory has returned `Ok`, and never earlier. A rename is atomic.
//! 4. Directories made by `create_dir_all` are durable when it returns.
//! 5. After a *failed* sync the unsynced bytes are lost even if a second sync
//!    succeeds (as on Linux); the only sound answer is to stop and recover.
//!
//! This crate knows nothing of pages, logs or rows.

mod aligned;
mod clock;
mod crash;
mod error;
mod random;
mod real;
mod reserve;
mod slow;
mod stats;

use std::path::Path;
use std::sync::Arc;

pub use aligned::{AlignedBuffer, DIRECT_ALIGNMENT};
pub use clock::{Clock, ManualClock, RealClock};
pub use crash::{CrashVfs, SECTOR_SIZE};
pub use error::{Error, ErrorKind, Result};
pub use random::{Random, RealRandom, SeededRandom};
pub use real::RealVfs;
pub use slow::SlowSyncVfs;
pub use stats::{IoCounts, IoStats};

/// How [`Vfs::open`] opens a file.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct OpenMode {
    /// Reads are allowed.
    pub read: bool,
    /// Writes are allowed.
    pub write: bool,
    /// Create the file if it does not exist. Needs `write`.
    pub create: bool,
    /// Create the file; fail with [`ErrorKind::AlreadyExists`] if it exists. Needs `write`.
    pub create_new: bool,
    /// Cut the file to length 0. Needs `write`.
    pub truncate: bool,
    /// Writes whose memory, offset and length are multiples of [`DIRECT_ALIGNMENT`] go to the
    /// device past the page cache, if the file system can (O_DIRECT). Other writes, and reads, use
    /// the page cache, and all see one another. Durability takes a sync in both cases.
    pub direct: bool,
}

impl OpenMode {
    /// Read an existing file.
    pub const READ: OpenMode = OpenMode {
        read: true,
        write: false,
        create: false,
        create_new: false,
        truncate: false,
        direct: false,
    };
    /// Read and write an existing file.
    pub const READ_WRITE: OpenMode = OpenMode { write: true, ..OpenMode::READ };
    /// Read and write a file, creating it if need be.
    pub const CREATE: OpenMode = OpenMode { create: true, ..OpenMode::READ_WRITE };
    /// Read and write a file that must not exist yet.
    pub const CREATE_NEW: OpenMode = OpenMode { create_new: true, ..OpenMode::READ_WRITE };
    /// Read and write a file, created if need be, that starts empty.
    pub const TRUNCATE: OpenMode = OpenMode { truncate: true, ..OpenMode::CREATE };

    /// The same, with writes past the page cache.
    #[must_use]
    pub const fn direct(self) -> OpenMode {
        OpenMode { direct: true, ..self }
    }
}

/// An open file. All methods take `&self`: offsets are explicit, so that any
/// number of threads use one handle.
pub trait File: Send + Sync {
    /// The path that the file was opened under (for messages; a rename does not change it).
    fn path(&self) -> &Path;

    /// Reads into `buffer` from `offset`, and returns how many bytes there were:
    /// fewer than asked for only at the end of the file.
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> Result<usize>;

    /// Fills `buffer` from `offset`; [`ErrorKind::UnexpectedEof`] if the file ends before.
    fn read_exact_at(&self, buffer: &mut [u8], offset: u64) -> Result<()> {
        let read = self.read_at(buffer, offset)?;
        if read == buffer.len() {
            return Ok(());
        }
        Err(Error::unexpected_eof(self.path(), buffer.len(), offset, read))
    }

    /// Writes all of `bytes` at `offset`, extending the file if need be (with
    /// zeros between its old end and `offset`).
    fn write_at(&self, bytes: &[u8], offset: u64) -> Result<()>;

    /// Makes the file's bytes, and its length as far as they need it, durable (fdatasync).
    fn sync_data(&self) -> Result<()>;

    /// Makes the file's bytes and all its metadata durable (fsync).
    fn sync_all(&self) -> Result<()>;

    /// The file's length in bytes.
    fn len(&self) -> Result<u64>;

    /// Whether the file has no bytes.
    fn is_empty(&self) -> Result<bool> {
        Ok(self.len()? == 0)
    }

    /// Cuts the file to `len` bytes or extends it with zeros (sparsely: a later
    /// write inside may still meet a full disk).
    fn set_len(&self, len: u64) -> Result<()>;

    /// Makes the file at least `len` bytes long, writing zeros past its old end, so that later
    /// writes below `len` neither meet a full disk nor change metadata. Only a later sync makes
    /// this durable.
    fn allocate(&self, len: u64) -> Result<()>;

    /// Makes the file at least `len` bytes long, with zeros past its old end, so that later writes
    /// below `len` do not meet a full disk. Unlike [`File::allocate`] it writes nothing if the file
    /// system can promise the space, and the first write into it changes metadata then. Only a
    /// later sync makes this durable.
    fn reserve(&self, len: u64) -> Result<()>;

    /// Gives the space of `len` bytes at `offset` back to the file system. Returns false, with
    /// nothing done, if the file system does not support it. The file keeps its length, and the
    /// bytes read as zeros; after a crash before the next sync, each sector may read as before. A
    /// later write there may meet a full disk, unless [`File::fill_hole`] is called before.
    fn punch_hole(&self, offset: u64, len: u64) -> Result<bool>;

    /// Has the file system promise the space of `len` bytes at `offset` again, so that later writes
    /// there do not meet a full disk. The bytes read as before. Only a later sync makes this
    /// durable.
    fn fill_hole(&self, offset: u64, len: u64) -> Result<()>;
}

/// An exclusive lock on a path, held until dropped (or until the process ends).
pub struct FileLock {
    /// The holder of the lock, which it releases when it is dropped.
    _holder: Box<dyn std::any::Any + Send + Sync>,
}

impl FileLock {
    /// Wraps a value that releases the lock when it is dropped.
    pub fn new(holder: impl std::any::Any + Send + Sync) -> FileLock {
        FileLock { _holder: Box::new(holder) }
    }
}

impl std::fmt::Debug for FileLock {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("FileLock")
    }
}

/// A file system.
pub trait Vfs: Send + Sync {
    /// Opens a file.
    fn open(&self, path: &Path, mode: OpenMode) -> Result<Arc<dyn File>>;

    /// Whether a file or a directory of this name exists.
    fn exists(&self, path: &Path) -> Result<bool>;

    /// The names of the files and directories in `path`, sorted. Names that are
    /// not UTF-8 are left out: the engine never makes one.
    fn list_dir(&self, path: &Path) -> Result<Vec<String>>;

    /// Makes a directory and those above it, durably.
    fn create_dir_all(&self, path: &Path) -> Result<()>;

    /// Renames a file, replacing `to` if it exists.
    fn rename(&self, from: &Path, to: &Path) -> Result<()>;

    /// Removes a file. Handles that are open on it stay usable.
    fn remove(&self, path: &Path) -> Result<()>;

    /// Makes the names in a directory durable.
    fn sync_dir(&self, path: &Path) -> Result<()>;

    /// Takes the exclusive advisory lock of `path`, creating the file if need
    /// be; [`ErrorKind::Locked`] if another holder has it.
    fn lock_file(&self, path: &Path) -> Result<FileLock>;
}

/// The directory that holds `path`: "." for a bare name.
pub fn parent_dir(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    }
}
