//! Columns: the currency between plan nodes that handle many rows at once.
//!
//! The idea is MonetDB/X100's (Boncz, Zukowski and Nes, 2005; compared with compiled queries by
//! Kersten et al., 2018): a node hands its consumer some hundred rows as one [`Vector`] a column,
//! and each step of an expression runs in a tight loop over one type.
//!
//! ```text
//!   CPlan.columnar ──▶ Node::next_columns(&mut ColumnBatch)     scan, filter, join, aggregate
//!        no        ──▶ Node::next(&mut RowBatch)                everything else
//! ```
//!
//! Columns change nothing but time. What makes that so:
//!
//! - A batch is dense: its rows are those that count, in the order in which the row path would
//!   hand them up. There is no selection to forget.
//! - A kernel never fails. Where it would have to (an overflow, a division by zero, a value that
//!   its representation does not hold), it gives up with [`GiveUp`], and the node evaluates the
//!   rows of that batch one by one on the row path, which finds the error, the row it is in and
//!   the rows before it.
//! - Only expressions that may be evaluated twice, in any order and for rows that nobody asks
//!   for are compiled to columns ([`VExpr::compile`]): immutable and stable functions without
//!   effects, no sub-selects, no sequences, no locks.
//! - A column's representation may differ from batch to batch (a numeric column whose values are
//!   small here is not there). A consumer looks at each batch; [`Vector::datum`] is always there.

mod batch;
mod block;
mod column;
mod decode;
mod expr;
mod gather;
mod keys;
mod order;
mod result;

pub(crate) use batch::{COLUMN_ROWS, ColumnBatch};
pub(crate) use block::{read_block, write_block};
pub(crate) use column::{Data, IntKind, Nulls, Texts, Vector};
pub(crate) use decode::{DecodeRow, StoredRows};
pub(crate) use expr::{GiveUp, VExpr};
pub(crate) use gather::NO_ROW;
pub(crate) use keys::{NO_PLACE, compare_at, equal_values, hash_rows, mark_changes, null_keys};
pub(crate) use order::{Barrier, sorted_rows};
pub use result::{ResultColumns, ResultValue};
