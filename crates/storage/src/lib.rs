//! Storage: pages, buffer pool, B+trees, space, write-ahead log, checkpoint and
//! recovery. Keys and rows are bytes here; no SQL type is known.
//!
//! What the layer above gets:
//!
//! - [`Store`]: one data file and one log in a directory. [`Store::open`] recovers.
//! - [`Tree`]: an ordered map from byte keys to byte values. Reads take no latch;
//!   a write changes one leaf under its latch and appends exactly one log record,
//!   which carries the caller's payload, so that page change and payload are in
//!   the log together or not at all.
//! - [`Cursor`]: ordered scans over private copies of leaves.
//! - [`RecoveryHandler`]: is shown every log record since the last checkpoint.
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
//! 2. Every page change is described by a log record that can be redone on that
//!    page alone, and is applied iff the page's LSN is below the record's end.
//! 3. A structure modification is one log record; it is never undone.
//! 4. A page is reachable from exactly one tree iff its bit in the allocation
//!    bitmap is set.
//! 5. Nothing read from a page without its latch is used before the page's
//!    version has been validated; nothing read from disk before its checksum.

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
    CheckpointState, CheckpointStats, CheckpointTotals, ControlData, Store, StoreStats,
};
pub use tree::{
    Cursor, Direction, InsertMany, Matches, Near, Pruned, Spread, Tree, TreeSize, WriteOp,
};
pub use types::{
    FIRST_USER_KIND, LogHeader, MAX_ENTRY_LEN, MAX_KEY_LEN, PAGE_SIZE, PageId, TreeId,
};
pub use usage::{Totals, Usage, Worker};
pub use wal::{Appended, Lsn, Priority};
