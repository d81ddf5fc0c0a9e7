//! Errors of the storage layer, with PostgreSQL's error codes.
//!
//! A read error or a corrupt page fails the statement that found it. A failed write or sync stops
//! the store ([`StorageError::Fatal`] from then on): after a failed fsync the content of the disk
//! is unknown, so the only remedy is recovery.

use crate::PageId;
use crate::wal::{Lsn, WalError};
use std::fmt;
use std::path::PathBuf;
use steppe_types::{Error, SqlState, error::Severity};

/// `Result` with [`StorageError`].
pub type Result<T, E = StorageError> = std::result::Result<T, E>;

/// An error of the storage layer.
#[derive(Debug)]
pub enum StorageError {
    /// A file operation failed.
    Io(steppe_vfs::Error),
    /// The device is full; no data was changed.
    NoSpace(steppe_vfs::Error),
    /// A page or a file has invalid content.
    Corrupt {
        /// The file.
        file: PathBuf,
        /// The page in the file, if the file consists of pages.
        page: Option<PageId>,
        /// The kind of damage.
        what: String,
    },
    /// The data directory belongs to another version of the program.
    Incompatible {
        /// The version of its control file.
        found: u32,
        /// The version that this program reads and writes.
        known: u32,
    },
    /// The log has invalid content.
    CorruptLog {
        /// The position in the log.
        lsn: Lsn,
        /// The kind of damage.
        what: String,
    },
    /// A key longer than [`crate::MAX_KEY_LEN`] or an entry longer than [`crate::MAX_ENTRY_LEN`].
    EntryTooLarge {
        /// Bytes of the key.
        key_len: usize,
        /// Bytes of the value.
        value_len: usize,
    },
    /// The tree was dropped, or never existed.
    NoSuchTree(crate::TreeId),
    /// The log refused a record or a flush.
    Wal(WalError),
    /// The data directory belongs to a running server.
    Locked(PathBuf),
    /// A value given by the caller is invalid (a configuration error).
    Invalid(String),
    /// An earlier write or sync failed: the store accepts no more changes.
    Fatal(String),
}

impl fmt::Display for StorageError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            StorageError::Io(e) | StorageError::NoSpace(e) => e.fmt(f),
            StorageError::Corrupt { file, page: Some(page), what } => {
                write!(f, "invalid page {} in file \"{}\": {what}", page.0, file.display())
            }
            StorageError::Corrupt { file, page: None, what } => {
                write!(f, "file \"{}\" is corrupt: {what}", file.display())
            }
            StorageError::Incompatible { .. } => {
                f.write_str("database files are incompatible with server")
            }
            StorageError::CorruptLog { lsn, what } => {
                write!(f, "invalid write-ahead log record at {lsn}: {what}")
            }
            StorageError::EntryTooLarge { key_len, value_len } => write!(
                f,
                "entry of {key_len} key bytes and {value_len} value bytes exceeds the maximum \
                 of {} and {} together",
                crate::MAX_KEY_LEN,
                crate::MAX_ENTRY_LEN
            ),
            StorageError::NoSuchTree(id) => {
                write!(f, "tree {} of generation {} does not exist", id.root.0, id.generation)
            }
            StorageError::Wal(e) => e.fmt(f),
            StorageError::Locked(dir) => {
                write!(f, "data directory \"{}\" is in use by another server", dir.display())
            }
            StorageError::Invalid(what) => f.write_str(what),
            StorageError::Fatal(what) => {
                write!(f, "storage has stopped after an earlier failure: {what}")
            }
        }
    }
}

impl std::error::Error for StorageError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            StorageError::Io(e) | StorageError::NoSpace(e) => Some(e),
            StorageError::Wal(e) => Some(e),
            _ => None,
        }
    }
}

impl From<steppe_vfs::Error> for StorageError {
    fn from(e: steppe_vfs::Error) -> StorageError {
        if e.is_out_of_space() { StorageError::NoSpace(e) } else { StorageError::Io(e) }
    }
}

impl From<WalError> for StorageError {
    fn from(e: WalError) -> StorageError {
        StorageError::Wal(e)
    }
}

impl From<StorageError> for Error {
    #[cold]
    fn from(e: StorageError) -> Error {
        let message = e.to_string();
        match e {
            StorageError::Io(_) => Error::new(SqlState::IO_ERROR, message),
            StorageError::NoSpace(_) => {
                Error::new(SqlState::DISK_FULL, message).hint("Check free disk space.")
            }
            StorageError::Corrupt { .. } | StorageError::CorruptLog { .. } => {
                Error::new(SqlState::DATA_CORRUPTED, message)
            }
            StorageError::Incompatible { found, known } => incompatible(found, known, message),
            StorageError::EntryTooLarge { .. } => {
                Error::new(SqlState::PROGRAM_LIMIT_EXCEEDED, message)
            }
            StorageError::NoSuchTree(_) | StorageError::Invalid(_) => Error::internal(message),
            StorageError::Wal(e) => wal_error(&e, message),
            StorageError::Fatal(_) => {
                Error::new(SqlState::IO_ERROR, message).severity(Severity::Panic)
            }
            StorageError::Locked(_) => {
                Error::new(SqlState::OBJECT_IN_USE, message).severity(Severity::Fatal)
            }
        }
    }
}

/// The error with PostgreSQL's wording (ReadControlFile).
fn incompatible(found: u32, known: u32, message: String) -> Error {
    let detail = format!(
        "The data directory was initialized with control file version {found}, but the server \
         uses control file version {known}."
    );
    Error::new(SqlState::FEATURE_NOT_SUPPORTED, message)
        .detail(detail)
        .hint("It looks like you need to initialize a new data directory.")
        .severity(Severity::Fatal)
}

fn wal_error(e: &WalError, message: String) -> Error {
    match e {
        WalError::NoSpace(_) => {
            Error::new(SqlState::DISK_FULL, message).hint("Check free disk space.")
        }
        WalError::TooLarge { .. } => Error::new(SqlState::PROGRAM_LIMIT_EXCEEDED, message),
        WalError::PastEnd { .. } | WalError::Removed(_) | WalError::Corrupt { .. } => {
            Error::new(SqlState::DATA_CORRUPTED, message)
        }
        WalError::Io(_) => Error::new(SqlState::IO_ERROR, message),
        WalError::Failed(_) => Error::new(SqlState::IO_ERROR, message).severity(Severity::Panic),
    }
}
