//! Hash join with hybrid spilling (PostgreSQL's nodeHash.c, nodeHashjoin.c;
//! Grace hash join).
//!
//! The inner side is loaded into a table. If it outgrows work_mem × hash_mem_multiplier, half of
//! its partitions by hash are written to disk. This repeats with half of the others. Outer rows of
//! partitions in memory are joined at once, other outer rows are written to disk as well. Then the
//! partitions are joined one after the other. A partition that is still too large is split again by
//! other bits of the hash, up to [`DEPTH_MAX`] times. Past that its rows have one key, which cannot
//! be split, and it is joined in memory.
//!
//! ```text
//!   inner ──▶ table ──(work_mem full)──▶ inner partitions ┐
//!   outer ──▶ probe                 ──▶ outer partitions ┴─▶ table, probe (each)
//! ```
//!
//! A NULL key matches nothing. Such rows are kept only if the join's kind hands them up unmatched.
//!
//! There are two implementations: [`rows`] takes rows of datums, [`columns`] takes columns. Both
//! hand up the same rows in the same order.

mod columns;
mod compile;
mod pairs;
mod rows;
mod shared_table;
mod spill;
mod table;
#[cfg(test)]
mod tests;

use super::{BoxedNode, CPlan};
use crate::context::{ExecContext, Note};
use crate::expr::CExpr;
use std::sync::Arc;
use steppe_sql::query::JoinKind;
use steppe_types::Oid;

pub(super) use compile::ColumnJoin;
pub(crate) use shared_table::SharedTable;

const PARTITIONS: usize = 32;
const DEPTH_MAX: u32 = 5;

/// A compiled hash join.
pub(crate) struct HashJoinPlan {
    pub(crate) kind: JoinKind,
    pub(crate) outer: Arc<CPlan>,
    pub(crate) inner: Arc<CPlan>,
    pub(crate) outer_keys: Box<[CExpr]>,
    pub(crate) inner_keys: Box<[CExpr]>,
    /// Types to hash and compare the keys as.
    pub(crate) types: Box<[Oid]>,
    pub(crate) on: Option<CExpr>,
    /// The keys and the ON condition over columns, if a side hands up columns.
    pub(crate) columns: Option<ColumnJoin>,
    /// The table may take this much more memory than work_mem.
    pub(crate) memory_factor: f64,
    /// EXPLAIN's number for the Hash node below the join.
    pub(crate) hash_id: usize,
}

impl HashJoinPlan {
    /// Whether unmatched outer rows are handed up.
    fn keeps_outer(&self) -> bool {
        matches!(self.kind, JoinKind::Left | JoinKind::Full | JoinKind::Anti)
    }

    /// Whether unmatched inner rows are handed up.
    fn keeps_inner(&self) -> bool {
        matches!(self.kind, JoinKind::Right | JoinKind::Full | JoinKind::RightAnti)
    }

    /// Whether a matched inner row is not needed any more.
    fn matches_once(&self) -> bool {
        matches!(self.kind, JoinKind::RightSemi | JoinKind::RightAnti)
    }

    /// Whether inner rows alone are filtered and handed up.
    fn emits_inner(&self) -> bool {
        self.matches_once()
    }
}

/// Records the figures of EXPLAIN ANALYZE's line about buckets, batches and memory, for a table
/// with `rows` rows and `bytes` bytes.
fn note_size(
    join: &HashJoinPlan,
    (rows, bytes): (usize, usize),
    batches: usize,
    cx: &mut ExecContext,
) {
    let buckets = rows.next_power_of_two().max(1024) as u64;
    let memory_kilobytes = bytes.div_ceil(1024).max(1) as u64;
    if let Some(instrument) = cx.instrument(join.hash_id) {
        instrument.note = Some(Note::Hash { buckets, batches: batches as u64, memory_kilobytes });
    }
}

pub(super) fn start(plan: Arc<CPlan>, cx: &mut ExecContext) -> BoxedNode {
    match plan.columns {
        Some(_) => columns::start(plan, cx),
        None => rows::start(plan, cx),
    }
}
