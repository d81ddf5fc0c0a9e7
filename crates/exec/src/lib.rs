//! The executor: compiled expressions, plan nodes, the point fast path, EXPLAIN.
//!
//! ```text
//!   steppe_sql::PlannedStmt
//!        │ CompiledStmt::compile            once per cached plan
//!        ▼
//!   CompiledStmt ── run_point ──▶ one row by its unique key, without plan nodes
//!        │
//!        └── Execution::start, fetch ──▶ batches of rows pulled through nodes
//! ```
//!
//! A statement's answer is PostgreSQL's. work_mem bounds the memory of each node that sorts, hashes
//! or keeps rows, and further rows are put into temporary files. Every loop over rows checks for
//! interrupts. The executor does not panic on any input.
//!
//! The executor knows no sockets and no settings: see [`steppe_functions::SessionHost`].

mod access;
mod aggregate;
mod batch;
mod bulk;
mod change;
pub mod constants;
mod context;
mod deferred;
mod deps;
pub mod explain;
mod expr;
mod fold;
mod hashing;
mod heap;
mod node;
mod partition;
mod point;
pub mod prepare;
pub mod registry;
pub mod routine;
mod row_wait;
mod sink;
mod sorter;
mod sought;
pub mod spi;
mod sql_language;
mod statement;
pub mod stored;
mod system_columns;
mod team;
mod transaction;
mod tuplestore;
mod vector;
pub mod watch;

pub use bulk::{BulkInsert, Fields};
pub use change::{
    OldAndNew, RowCommand, TriggerAnswer, TriggerCall, TriggerRows, fire_truncate,
    has_truncate_triggers, run_deferred,
};
pub use context::{Instrument, LeafRun, Note};
pub use deferred::{DeferredEvent, DueEvents, KeyOfRow, TriggerRow};
pub use expr::assign_slice;
pub use fold::fold_conditions;
pub use partition::lock_mode;
pub use row_wait::RowWait;
pub use sink::RowSink;
pub use spi::{
    Answer, CallOutput, Prepared, SharedPlans, SimpleExpression, Spi, SpiCursor, SpiPortal,
    SpiSavepoint, SqlKind, TransactionControl, check_writable,
};
pub use statement::{CompiledStmt, ExecEnv, ExecOutcome, Execution, FetchStatus, LeafOfStatement};
pub use system_columns::{row_of_ctid, shown_place};
pub use transaction::{SavepointMark, Transaction};
pub use tuplestore::{StoreReader, TupleStore};
pub use vector::{ResultColumns, ResultValue};
