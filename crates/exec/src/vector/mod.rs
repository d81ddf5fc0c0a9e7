//! Columns: the currency between plan nodes that handle many rows at once.
//!
//! The idea is from MonetDB/X100 (Boncz, Zukowski and Nes, 2005; Kersten et al., 2018, compare it
//! with compiled queries). A node hands its consumer some hundred rows as one [`Vector`] a column,
//! and each step of an expression runs in a tight loop over one type.
//!
//! ```text
//!   CPlan.columnar ──▶ Node::next_columns(&mut ColumnBatch)     scan, filter, join, aggregate
//!        no        ──▶ Node::next(&mut RowBatch)                everything else
//! ```
//!
//! Columns change only the time. These rules ensure it:
//!
//! - A batch is dense: it has only the rows that count, in the order in which the row path would
//!   hand them up. So a consumer cannot miss a selection.
//! - A kernel never fails. It may meet an overflow, a division by zero, or a value that its
//!   representation does not hold. Then it gives up with [`GiveUp`], and the node evaluates the
//!   rows of that batch one by one on the row path. That finds the error, its row and the rows
//!   before it.
//! - An expression is compiled to columns ([`VExpr::compile`]) only if it may be evaluated twice,
//!   in any order, and for rows that are not wanted. Such expressions have immutable and stable
//!   functions without effects, no sub-selects that depend on a row, no sequences, no locks.
//! - A column's representation may differ from batch to batch (a numeric column may have only small
//!   values here, but not there). A consumer checks each batch; [`Vector::datum`] always works.

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
