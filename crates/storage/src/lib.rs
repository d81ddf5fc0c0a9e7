//! Storage: pages, buffer pool, B+trees, space, write-ahead log, checkpoint and recovery. Keys and
//! rows are bytes here; this crate knows no SQL type.
//!
//! The interface for the layer above:
//!
//! - [`Store`]: one data file and one log in a directory. [`Store::open`] recovers.
//! - [`Tree`]: an ordered map from byte keys to byte values. Reads take no latch. A write changes
//!   one leaf under its latch and appends exactly one log record. The record contains the caller's
//!   payload, so the log has both the page change and the payload, or neither.
//! - [`Cursor`]: ordered scans over private copies of leaves.
//! - [`RecoveryHandler`]: receives every log record since the last checkpoint.
//!
//! ```text
//!   Tree ── latches ── Pool ── WriteBack ── doublewrite, data file
//!    │                                        (after the log is durable)
//!    └──── page operations ── Wal ── log segments
//! ```
//!
//! Correctness conditions (see README.md beside this crate for the argument):
//!
//! 1. A page reaches the data file only after the log is durable up to its LSN.
//! 2. A log record describes every page change, and can be redone on that page alone. It is applied
//!    iff the page's LSN is below the record's end.
//! 3. A structure modification is one log record; it is never undone.
//! 4. A page is reachable from exactly one tree iff its bit in the allocation
//!    bitmap is set.
//! 5. Bytes read from a page without its latch are used only after the page's version has been
//!    validated, bytes read from disk only after their checksum.

mod control;
mod error;
mod ops;
mod options;
mod page;
mod pool;
mod recovery;
mod smo;
mod space;
#[cfg(test)]
mod space_crash_tests;
mod store;
mod tree;
mod types;
mod unlogged;
pub mod usage;
pub mod wal;

pub use error::{Result, StorageError};
pub use options::{FatalCallback, StoreOptions};
pub use recovery::{LogRecord, RecoveryHandler, RecoverySummary, RedoProgress};
pub use store::{
    CheckpointState, CheckpointStats, CheckpointTotals, ControlData, Replay, Store, StoreStats,
};
pub use tree::{
    Cursor, Direction, InsertMany, Matches, Near, Pruned, Spread, Tree, TreeSize, WriteOp,
};
pub use types::{
    FIRST_USER_KIND, LogHeader, MAX_ENTRY_LEN, MAX_KEY_LEN, PAGE_SIZE, PageId, TreeId,
};
pub use usage::{Totals, Usage, Worker};
pub use wal::{Appended, Lsn, Priority};
