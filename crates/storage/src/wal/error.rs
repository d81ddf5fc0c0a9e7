//! How the log refuses.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use super::Lsn;

/// Why the log refused.
#[derive(Debug)]
pub enum WalError {
    /// A write or sync failed earlier (or now): what is durable is no longer
    /// known, and the server must stop and recover. Every later call says the same.
    Failed(Arc<str>),
    /// No disk space for more log. Nothing was appended; the log is intact, and
    /// the same call may succeed later (SQLSTATE 53100).
    NoSpace(Arc<str>),
    /// The record is longer than the log takes.
    TooLarge {
        /// Its length with its header.
        length: usize,
        /// The most that is taken.
        limit: usize,
    },
    /// A flush or read of a position that was never written, as a damaged page
    /// or a damaged pointer would ask for.
    PastEnd {
        /// What was asked for.
        lsn: Lsn,
        /// Where the log ends.
        end: Lsn,
    },
    /// The record's segment has been removed or recycled.
    Removed(Lsn),
    /// Bytes that were durable once are not what was written.
    Corrupt {
        /// The segment file.
        file: PathBuf,
        /// Where in the file.
        offset: u64,
        /// Where in the log.
        lsn: Lsn,
        /// What is wrong.
        reason: String,
    },
    /// An operation failed that does not put the log's durability in doubt: a read, or the start.
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
