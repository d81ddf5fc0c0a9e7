//! Aggregation: plain, over sorted groups, or hashed with spilling
//! (PostgreSQL's nodeAgg.c).
//!
//! | file | subject |
//! |---|---|
//! | `plain`, `sorted`, `hashed` | the nodes that take rows, one a strategy |
//! | `calls` | the states of a group's calls there |
//! | `columns` | the nodes that take columns: plain and hashed |
//! | `groups` | the groups of keys that are columns |
//! | `distinct` | which values of DISTINCT arguments each group has had |
//! | `spilled` | rows of groups for which there is no room |
//!
//! The hash table takes new groups until work_mem × hash_mem_multiplier is full. From then on rows
//! of its groups are still added, and other rows are written to partitions by hash. When the
//! table's groups have been handed up, the partitions are aggregated one after the other in the
//! same way. States are never written.
//!
//! If a call has DISTINCT or ORDER BY, the arguments of a group's rows are kept in a sorter and
//! added to the aggregate when the group ends. The arguments of an ordered-set aggregate are sorted
//! by WITHIN GROUP and read then. If DISTINCT values may be added in any order, plain and hashed
//! aggregation find the duplicates by hash.

mod calls;
mod columns;
mod distinct;
mod groups;
mod hashed;
mod plain;
mod sorted;
mod spilled;

use super::{BoxedNode, CNode, CPlan, sort::SortKeys};
use crate::aggregate::{AggKind, AggState};
use crate::context::ExecContext;
use crate::expr::{CExpr, Row};
use std::sync::Arc;
use steppe_sql::plan::{AggMode, AggStrategy};
use steppe_types::{Datum, Error, Oid, Result};

pub(crate) use columns::{AggColumns, CallColumns};

/// One compiled aggregate call.
pub(crate) struct CAggregate {
    pub(crate) kind: AggKind,
    pub(crate) args: Box<[CExpr]>,
    pub(crate) filter: Option<CExpr>,
    /// Rows go through a sorter first: keys over the argument row.
    pub(crate) sort: Option<AggSort>,
    /// The type of the DISTINCT argument, if its values may be added in any order.
    pub(crate) distinct: Option<Oid>,
    /// The direct arguments of an ordered-set aggregate: the same for all rows of a group.
    pub(crate) direct: Box<[CExpr]>,
    pub(crate) ret: Oid,
}

/// The sort of the rows of a call with DISTINCT or ORDER BY.
pub(crate) struct AggSort {
    /// The keys over argument columns ‖ further sort expressions.
    pub(crate) keys: SortKeys,
    /// Expressions of the row that is sorted: arguments first.
    pub(crate) row: Box<[CExpr]>,
    pub(crate) distinct: bool,
}

/// A compiled Agg.
pub(crate) struct AggPlan {
    pub(crate) child: Arc<CPlan>,
    pub(crate) strategy: AggStrategy,
    pub(crate) mode: AggMode,
    pub(crate) keys: Box<[CExpr]>,
    pub(crate) key_types: Box<[Oid]>,
    pub(crate) aggregates: Box<[CAggregate]>,
    /// The expressions of an aggregation over columns; `None` if it takes rows.
    pub(crate) columns: Option<AggColumns>,
    /// The states of some call keep its rows' values.
    pub(crate) collects: bool,
    /// Keys of groups that exist even without rows: those of grouping sets without keys.
    pub(crate) empty_groups: Box<[Vec<Datum>]>,
    /// The groups may take this much more memory than work_mem.
    pub(crate) memory_factor: f64,
}

impl AggPlan {
    /// The bytes that the groups may take, and each call's distinct values.
    fn memory(&self, cx: &ExecContext) -> usize {
        let tables = 1 + self.aggregates.iter().filter(|call| call.distinct.is_some()).count();
        (cx.work_mem_bytes as f64 * self.memory_factor) as usize / tables
    }
}

impl CAggregate {
    /// Whether FILTER lets a row count.
    fn counts(&self, row: Row<'_>, cx: &mut ExecContext) -> Result<bool> {
        self.filter.as_ref().map_or(Ok(true), |filter| filter.holds(cx, row))
    }

    /// Appends a row's arguments.
    fn args_into(&self, row: Row<'_>, args: &mut Vec<Datum>, cx: &mut ExecContext) -> Result<()> {
        for expr in &self.args {
            args.push(expr.eval(cx, row)?);
        }
        Ok(())
    }

    /// The value to hand up for a state, unless functions of the catalog make it.
    fn result(&self, state: AggState, mode: AggMode) -> Result<Datum> {
        match mode {
            AggMode::Partial => self.kind.partial(state, self.ret),
            _ => self.kind.finish(state, self.ret),
        }
    }
}

/// Starts an aggregation.
pub(super) fn start(plan: Arc<CPlan>, cx: &mut ExecContext) -> BoxedNode {
    let CNode::Agg(agg) = &plan.kind else { unreachable!("started as an aggregation") };
    match (&agg.columns, agg.strategy) {
        (Some(columns), _) => columns::start(&plan, (agg, columns), cx),
        (None, AggStrategy::Plain) => plain::start(&plan, agg, cx),
        (None, AggStrategy::Sorted) => sorted::start(&plan, agg, cx),
        (None, AggStrategy::Hashed) => hashed::start(&plan, agg, cx),
    }
}

/// The aggregation that a node's plan is.
fn agg_of(plan: &CPlan) -> Result<&AggPlan> {
    match &plan.kind {
        CNode::Agg(agg) => Ok(agg),
        _ => Err(Error::internal("aggregation node over another plan")),
    }
}
