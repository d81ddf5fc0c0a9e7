//! The log's vocabulary until `wal/` lands (replaced by it, same names).

/// A byte position in the log.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Lsn(pub u64);

/// Where an appended record starts and ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Appended {
    /// First byte of the record.
    pub start: Lsn,
    /// First byte after it.
    pub end: Lsn,
}

/// Why the log refused.
#[derive(Debug)]
pub struct WalError(pub String);

impl std::fmt::Display for WalError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for WalError {}

/// The log.
pub struct Wal;
