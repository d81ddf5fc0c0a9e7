//! Errors of the log.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use super::Lsn;

/// The reason why the log refused a call.
#[derive(Debug)]
pub enum WalError {
    /// A write or sync has failed: it is unknown what is durable, and the server must stop and
    /// recover. Every later call returns the same error.
    Failed(Arc<str>),
    /// The disk has no space for more log. The record was not appended, the log is intact, and the
    /// same call may succeed later (SQLSTATE 53100).
    NoSpace(Arc<str>),
    /// The record is longer than the log allows.
    TooLarge {
        /// The record's length with its header.
        length: usize,
        /// The longest allowed length.
        limit: usize,
    },
    /// A flush or read of a position that was never written. A damaged page or pointer can ask for
    /// one.
    PastEnd {
        /// The position asked for.
        lsn: Lsn,
        /// The end of the log.
        end: Lsn,
    },
    /// The record's segment has been removed or recycled.
    Removed(Lsn),
    /// Bytes that were durable differ from what was written.
    Corrupt {
        /// The segment file.
        file: PathBuf,
        /// The offset in the file.
        offset: u64,
        /// The position in the log.
        lsn: Lsn,
        /// The kind of damage.
        reason: String,
    },
    /// A read or the start failed; the log's durability is not in doubt.
    Io(steppe_vfs::Error),
}

impl fmt::Display for WalError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            WalError::Failed(reason) => write!(f, "the write-ahead log has failed: {reason}"),
            WalError::NoSpace(reason) => {
                write!(f, "could not extend the write-ahead log: {reason}")
            }
            WalError::TooLarge { length, limit } => {
                write!(f, "a log record of {length} bytes exceeds the limit of {limit} bytes")
            }
            WalError::PastEnd { lsn, end } => {
                write!(f, "log position {lsn} is past the end of the log at {end}")
            }
            WalError::Removed(lsn) => {
                write!(f, "the log segment of position {lsn} has already been removed")
            }
            WalError::Corrupt { file, offset, lsn, reason } => write!(
                f,
                "the write-ahead log is damaged in file \"{}\" at offset {offset} \
                 (position {lsn}): {reason}",
                file.display()
            ),
            WalError::Io(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for WalError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            WalError::Io(error) => Some(error),
            _ => None,
        }
    }
}

impl From<steppe_vfs::Error> for WalError {
    fn from(error: steppe_vfs::Error) -> WalError {
        WalError::Io(error)
    }
}
