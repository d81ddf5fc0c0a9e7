//! Transactions: snapshots, row versions and undo, locks, savepoints, recovery;
//! the row store and the index store on top of storage's trees. Rows and keys
//! are bytes here; SQL is not known.
//!
//! ```text
//!            ┌ log position ─────────────────────────────────────────────────►
//!   T7       │   write row 1 ("a")     commit record ends at 400
//!   reader A │                     snapshot 350: 400 > 350, follows undo: old row
//!   reader B │                                         snapshot 410: sees "a"
//!   T9       │                              update row 1 ("b") … running
//!   reader B │                                         T9 is running: undo: "a"
//! ```
//!
//! Reading order: `status` (who ended when), `view` (what a snapshot sees),
//! `change` and `undo` (older versions), `table` and `index` (the stores),
//! `files` (where they are), `txn` and `rollback`, `recovery`, `prepared`, `purge`,
//! `lock`, `serializable`. README.md has the argument.

mod budget;
mod cells;
mod change;
mod cursor;
mod engine;
mod files;
mod index;
mod lock;
mod new_rows;
mod overflow;
mod parts;
mod prepared;
mod purge;
mod recovery;
mod replay;
mod rollback;
mod row_ids;
mod serializable;
mod session;
mod status;
mod sweep;
mod system;
mod table;
mod txn;
mod undo;
mod undone;
mod view;
mod xids;

pub use cells::{CellId, CellUpdate};
pub use cursor::{RowBlock, RowCursor};
#[cfg(feature = "planted-bugs")]
pub use engine::PlantedBug;
pub use engine::{Engine, EngineOptions, SessionHandle};
pub use files::{DatabaseId, FileId, RelFileNumber};
pub use index::{
    Candidates, Found, IndexBatch, IndexCursor, IndexEntry, IndexInsert, IndexStore, LookupKeys,
    Visibility,
};
pub use lock::{
    AdvisoryKey, AdvisoryScope, LeavesLockMode, LockManager, LockOptions, LockReport, LockTag,
    LockWait, RelationLockMode, RelationUsers, RowLockMode, SharedMode,
};
pub use new_rows::NewRows;
pub use overflow::{OverflowRef, OverflowStore, ValueForm};
pub use parts::ScanParts;
pub use prepared::{Attached, HeldPrepared, PreparedTransaction};
pub use recovery::Progress;
pub use replay::Replay;
pub use serializable::{Granule, SireadReport};
pub use session::{Interrupt, SessionShared, statement_timed_out};
pub use steppe_storage::{Direction, Lsn, TreeId};
pub use sweep::{Checkpoint, FindReferences, Swept};
pub use system::VersionOwners;
pub use table::{
    Action, Current, LockOutcome, ModifyOutcome, OwnCommand, RowId, TableStore, WaitPolicy,
};
pub use txn::{CommitWait, IsolationLevel, Persistence, Txn, UndoPosition};
pub use undone::{RowChanges, TakenBack};
pub use view::{RowBuf, RowMeta, RowVersion, Snapshot, View};
pub use xids::XidStatus;
