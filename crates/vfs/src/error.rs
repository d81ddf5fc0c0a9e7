//! One error type: the operation, its path, and the kind of failure.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// The result of an operation on files.
pub type Result<T> = std::result::Result<T, Error>;

/// The kinds of failure that callers distinguish.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ErrorKind {
    /// The file does not exist.
    NotFound,
    /// A file of this name exists and must not.
    AlreadyExists,
    /// The device or the quota is full (ENOSPC, EDQUOT): the same call may succeed later.
    OutOfSpace,
    /// Another process or handle holds the file's lock.
    Locked,
    /// The file ended before the bytes asked for.
    UnexpectedEof,
    /// The simulated machine has lost power ([`crate::CrashVfs`] only).
    PowerCut,
    /// Anything else; the device may be broken.
    Io,
}

/// A failed operation on a file.
#[derive(Debug)]
pub struct Error {
    operation: &'static str,
    path: PathBuf,
    kind: ErrorKind,
    source: io::Error,
}

impl Error {
    /// An error of the operating system, with what was being done to which path.
    pub fn from_io(operation: &'static str, path: &Path, source: io::Error) -> Error {
        let kind = match source.kind() {
            io::ErrorKind::NotFound => ErrorKind::NotFound,
            io::ErrorKind::AlreadyExists => ErrorKind::AlreadyExists,
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => ErrorKind::OutOfSpace,
            io::ErrorKind::UnexpectedEof => ErrorKind::UnexpectedEof,
            _ => ErrorKind::Io,
        };
        Error { operation, path: path.to_path_buf(), kind, source }
    }

    /// An error made by an implementation of [`crate::Vfs`] itself.
    pub fn new(operation: &'static str, path: &Path, kind: ErrorKind, message: &str) -> Error {
        let io_kind = match kind {
            ErrorKind::NotFound => io::ErrorKind::NotFound,
            ErrorKind::AlreadyExists => io::ErrorKind::AlreadyExists,
            ErrorKind::OutOfSpace => io::ErrorKind::StorageFull,
            ErrorKind::Locked => io::ErrorKind::WouldBlock,
            ErrorKind::UnexpectedEof => io::ErrorKind::UnexpectedEof,
            ErrorKind::PowerCut | ErrorKind::Io => io::ErrorKind::Other,
        };
        let source = io::Error::new(io_kind, message);
        Error { operation, path: path.to_path_buf(), kind, source }
    }

    /// A read that found fewer bytes than it needed.
    pub(crate) fn unexpected_eof(path: &Path, wanted: usize, offset: u64, got: usize) -> Error {
        let message = format!("read {got} of {wanted} bytes at offset {offset}");
        Error::new("read", path, ErrorKind::UnexpectedEof, &message)
    }

    /// The kind of failure.
    pub fn kind(&self) -> ErrorKind {
        self.kind
    }

    /// Whether the device or quota is full.
    pub fn is_out_of_space(&self) -> bool {
        self.kind == ErrorKind::OutOfSpace
    }

    /// The path that the operation was about.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The operation: "open", "write", "sync" …
    pub fn operation(&self) -> &'static str {
        self.operation
    }
}

impl fmt::Display for Error {
    /// As PostgreSQL words it: `could not write file "pg_wal/…": No space left on device`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "could not {} file \"{}\": {}", self.operation, self.path.display(), self.source)
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.source)
    }
}
