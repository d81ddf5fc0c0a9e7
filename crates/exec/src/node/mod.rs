//! Plan nodes: compiled, immutable [`CPlan`]s, and the [`Node`]s that run them.
//!
//! ```text
//!   Plan ──compile──▶ Arc<CPlan> ──start──▶ Box<dyn Node>
//!   (planner)         (plan cache,          (one execution)
//!                      shared)
//! ```
//!
//! Execution is pull-based, a batch at a time. `next` puts at least one row and at most
//! `out.wanted` rows into an empty batch. At the end it leaves the batch empty, and does so on
//! later calls. With an error the batch has the rows before the one that failed. The nodes above
//! get the error when they want that row, as if rows came one at a time. `rescan` starts again.
//! Nodes that hold work (sorted rows, hash tables) do it again only if a parameter they depend on
//! has changed.

mod agg;
mod alike;
mod append;
mod array_text;
mod bitmap;
mod bitmap_blocks;
mod bitmap_scan;
mod block_file;
mod column_scan;
pub(crate) mod columns;
mod compile;
mod compile_columns;
mod compile_scan;
mod cte;
mod expand;
mod function_scan;
mod gather;
mod gather_merge;
mod hash_join;
mod incremental_sort;
mod index_blocks;
mod index_entries;
mod index_scan;
mod key_check;
mod key_cursor;
mod limit;
mod lock_rows;
mod materialize;
mod memoize;
mod merge_append;
mod merge_join;
mod nest_loop;
mod partition_scan;
mod probes;
mod remote_insert;
mod remote_query;
mod remote_rows;
mod remote_scans;
mod remote_shared;
mod result;
mod row_blocks;
mod row_set;
mod seq_scan;
mod set_op;
mod set_op_sorted;
mod shared_rows;
mod sort;
mod sort_columns;
mod stored_input;
mod subquery;
mod tid_scan;
mod unique;
mod window;
mod window_frame;

use crate::batch::RowBatch;
use crate::context::{ExecContext, Resources};
use crate::expr::{CExpr, Row};
use crate::point::plain_columns;
use crate::sink::RowSink;
use crate::vector::{ColumnBatch, VExpr};
use std::sync::Arc;
use std::time::Instant;
use steppe_sql::expr::ExecParamId;
use steppe_types::{Datum, Error, Result};

pub(crate) use alike::Exchange;
pub(crate) use compile::{PlanCompiler, compile_plan};
pub(crate) use hash_join::SharedTable;
pub(crate) use index_scan::{IndexPlan, find_point, has_key};
pub(crate) use lock_rows::LockRowsPlan;
pub(crate) use remote_insert::RemoteInsertPlan;
pub(crate) use remote_scans::{OpenScans, RemoteRequest, begin as begin_scans};
pub(crate) use shared_rows::SharedRows;

/// A running plan node.
pub(crate) trait Node: Send {
    /// Fills the empty batch `out`; leaves it empty at the end.
    fn next(&mut self, cx: &mut ExecContext, out: &mut RowBatch) -> Result<()>;

    /// As [`Node::next`], as columns, for a node whose plan has [`CPlan::columns`].
    fn next_columns(&mut self, _: &mut ExecContext, _: &mut ColumnBatch) -> Result<()> {
        Err(Error::internal("node hands up no columns"))
    }

    /// As [`Node::next`], but hands the rows to the statement's sink, in their stored form if the
    /// sink takes it. For a node whose plan has [`stored_columns`].
    fn next_stored(&mut self, _: &mut ExecContext, _: &mut StoredSink<'_>) -> Result<()> {
        Err(Error::internal("node hands up no stored rows"))
    }

    /// Starts again from the first row, with the present parameters.
    fn rescan(&mut self, cx: &mut ExecContext) -> Result<()>;
}

/// The sink for a statement's rows in their stored form.
pub(crate) struct StoredSink<'a> {
    /// The output columns' positions in the table.
    pub(crate) columns: &'a [usize],
    pub(crate) sink: &'a mut dyn RowSink,
    /// The most rows to hand up.
    pub(crate) wanted: usize,
    /// The number of rows handed up, also before an error.
    pub(crate) rows: usize,
}

/// The positions of a plan's output columns in its table, if it does nothing but fetch rows by an
/// index or a bitmap and hand up stored columns of them.
pub(crate) fn stored_columns(plan: &CPlan) -> Option<Box<[usize]>> {
    match &plan.kind {
        CNode::IndexScan(scan) if scan.key_columns.is_none() => plain_columns(plan, &scan.columns),
        CNode::BitmapScan(scan) if plan.columns.is_some() => plain_columns(plan, &scan.columns),
        _ => None,
    }
}

/// A node of a running tree.
pub(crate) type BoxedNode = Box<dyn Node>;

/// A compiled plan node with the parts that all nodes have.
pub(crate) struct CPlan {
    /// Position in pre-order over the statement: names its counters.
    pub(crate) id: usize,
    pub(crate) filter: Option<Arc<CExpr>>,
    pub(crate) project: Option<Arc<[CExpr]>>,
    /// The node hands up columns ([`Node::next_columns`]), and by [`Node::next`] their rows.
    pub(crate) columns: Option<Arc<ColumnPlan>>,
    /// Columns of the output row.
    pub(crate) width: usize,
    /// Run-time parameters the subtree reads from outside.
    pub(crate) dependencies: Arc<[ExecParamId]>,
    pub(crate) kind: CNode,
}

/// A node's filter and projection over columns.
#[derive(Default)]
pub(crate) struct ColumnPlan {
    /// The conditions of the filter, which must all hold, in this order.
    pub(crate) filter: Box<[VExpr]>,
    pub(crate) project: Option<Box<[VExpr]>>,
    /// The input columns that each condition reads, and behind them those of the projection.
    pub(crate) reads: Box<[Box<[usize]>]>,
}

impl CPlan {
    /// The statement that nodes run, if the plan only hands up its rows as they are.
    pub(crate) fn as_remote(&self) -> Option<&remote_query::RemotePlan> {
        match (&self.kind, &self.filter, &self.project) {
            (CNode::RemoteQuery(remote), None, None) => Some(remote),
            _ => None,
        }
    }
}

impl std::fmt::Debug for CPlan {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "CPlan({})", self.id)
    }
}

/// The compiled parts of each kind of node.
pub(crate) enum CNode {
    Result(result::ResultPlan),
    Values(Box<[Box<[CExpr]>]>),
    /// The rows that a statement's parameters make, with this number of parameters a row.
    ParamRows(usize),
    FunctionScan(function_scan::FunctionScanPlan),
    RemoteQuery(Box<remote_query::RemotePlan>),
    RemoteInsert(Box<remote_insert::RemoteInsertPlan>),
    SeqScan(seq_scan::SeqScanPlan),
    IndexScan(Box<index_scan::IndexPlan>),
    TidScan(Box<tid_scan::TidPlan>),
    BitmapScan(Box<bitmap_scan::BitmapPlan>),
    BitmapIndexScan(Box<index_scan::IndexPlan>),
    BitmapAnd(Box<[Arc<CPlan>]>),
    BitmapOr(Box<[Arc<CPlan>]>),
    PartitionScan(Box<partition_scan::PartitionScanPlan>),
    NestLoop(nest_loop::NestLoopPlan),
    HashJoin(hash_join::HashJoinPlan),
    MergeJoin(merge_join::MergeJoinPlan),
    Gather(gather::GatherPlan),
    SharedRows {
        child: Arc<CPlan>,
        once: bool,
    },
    Materialize(Arc<CPlan>),
    Memoize(memoize::MemoizePlan),
    Sort(sort::SortPlan),
    IncrementalSort(incremental_sort::IncrementalSortPlan),
    Limit(limit::LimitPlan),
    Agg(agg::AggPlan),
    Expand(expand::ExpandPlan),
    WindowAgg(Box<window::WindowPlan>),
    Unique(unique::UniquePlan),
    Append(Box<[Arc<CPlan>]>),
    MergeAppend(merge_append::MergeAppendPlan),
    SetOp(set_op::SetOpPlan),
    Subquery(Arc<CPlan>),
    ProjectSet(function_scan::ProjectSetPlan),
    LockRows(lock_rows::LockRowsPlan),
    CteScan(cte::CteScanPlan),
    RecursiveUnion(cte::RecursiveUnionPlan),
    WorkTableScan(usize),
    Modify(Box<crate::change::ModifyPlan>),
}

impl CPlan {
    /// Filters and projects an input row into `out`; false if the filter dropped it.
    #[inline]
    pub(crate) fn emit(
        &self,
        cx: &mut ExecContext,
        row: Row<'_>,
        out: &mut RowBatch,
    ) -> Result<bool> {
        if !self.passes(cx, row)? {
            return Ok(false);
        }
        match &self.project {
            None => out.push(row),
            Some(project) => {
                project_into(project, cx, row, out)?;
            }
        }
        Ok(true)
    }

    /// [`Self::emit`] for a row that may be moved from; `row` is left in an unspecified state.
    #[inline]
    pub(crate) fn emit_owned(
        &self,
        cx: &mut ExecContext,
        row: &mut Vec<Datum>,
        out: &mut RowBatch,
    ) -> Result<bool> {
        if !self.passes(cx, Row::of(row))? {
            return Ok(false);
        }
        match &self.project {
            None => out.push_owned(row),
            Some(project) => {
                project_into(project, cx, Row::of(row), out)?;
            }
        }
        Ok(true)
    }

    /// [`Self::emit`] of a semi join: the outer row, with the inner one that it matched if the
    /// output has columns of it.
    #[inline]
    pub(crate) fn emit_semi(
        &self,
        cx: &mut ExecContext,
        (outer, inner): (&[Datum], &[Datum]),
        out: &mut RowBatch,
    ) -> Result<bool> {
        let outer_alone = self.project.is_none() && self.width == outer.len();
        self.emit(cx, if outer_alone { Row::of(outer) } else { Row::pair(outer, inner) }, out)
    }

    #[inline]
    pub(crate) fn passes(&self, cx: &mut ExecContext, row: Row<'_>) -> Result<bool> {
        let Some(filter) = &self.filter else { return Ok(true) };
        let holds = filter.holds(cx, row)?;
        if !holds && let Some(instrument) = cx.instrument(self.id) {
            instrument.filtered += 1;
        }
        Ok(holds)
    }

    /// Whether a join's pair of rows satisfies its ON condition. A pair that does not is counted.
    #[inline]
    pub(crate) fn joins(
        &self,
        on: Option<&CExpr>,
        cx: &mut ExecContext,
        pair: Row<'_>,
    ) -> Result<bool> {
        let Some(on) = on else { return Ok(true) };
        let holds = on.holds(cx, pair)?;
        if !holds && let Some(instrument) = cx.instrument(self.id) {
            instrument.join_filtered += 1;
        }
        Ok(holds)
    }

    /// Whether rows pass through unchanged.
    pub(crate) fn is_plain(&self) -> bool {
        self.filter.is_none() && self.project.is_none()
    }
}

/// Evaluates `project` over `row` into a new row of `out`.
#[inline]
pub(crate) fn project_into(
    project: &[CExpr],
    cx: &mut ExecContext,
    row: Row<'_>,
    out: &mut RowBatch,
) -> Result<()> {
    for expr in project {
        match expr.eval(cx, row) {
            Ok(value) => out.open_row_unchecked().push(value),
            Err(error) => {
                out.abandon_row();
                return Err(error);
            }
        }
    }
    out.finish_row();
    Ok(())
}

/// Builds the running node of a plan.
pub(crate) fn start(plan: &Arc<CPlan>, cx: &mut ExecContext) -> BoxedNode {
    let node = start_bare(plan, cx);
    if cx.instruments.is_none() {
        return node;
    }
    Box::new(Instrumented { inner: node, id: plan.id, started: false, in_loop: false })
}

fn start_bare(plan: &Arc<CPlan>, cx: &mut ExecContext) -> BoxedNode {
    let plan = plan.clone();
    match &plan.kind {
        CNode::Result(_) => result::start_result(plan, cx),
        CNode::Values(_) => result::start_values(plan),
        CNode::ParamRows(_) => result::start_param_rows(plan),
        CNode::FunctionScan(_) => function_scan::start_function_scan(plan),
        CNode::RemoteQuery(_) => remote_query::start(plan),
        CNode::RemoteInsert(_) => remote_insert::start(plan, cx),
        CNode::SeqScan(_) | CNode::BitmapScan(_) if plan.columns.is_some() => {
            column_scan::start(plan)
        }
        CNode::SeqScan(_) => seq_scan::start(plan),
        CNode::IndexScan(_) => index_scan::start(plan),
        CNode::TidScan(_) => tid_scan::start(plan),
        CNode::BitmapScan(_)
        | CNode::BitmapIndexScan(_)
        | CNode::BitmapAnd(_)
        | CNode::BitmapOr(_) => bitmap_scan::start(plan),
        CNode::PartitionScan(_) => partition_scan::start(plan),
        CNode::NestLoop(_) => nest_loop::start(plan, cx),
        CNode::HashJoin(_) => hash_join::start(plan, cx),
        CNode::MergeJoin(_) => merge_join::start(plan, cx),
        CNode::Gather(gather::GatherPlan { order: None, .. }) => gather::start(plan),
        CNode::Gather(_) => gather_merge::start(plan),
        CNode::SharedRows { .. } => shared_rows::start(plan),
        CNode::Materialize(_) => materialize::start(plan, cx),
        CNode::Memoize(_) => memoize::start(plan, cx),
        CNode::Sort(_) => sort::start(plan, cx),
        CNode::IncrementalSort(_) => incremental_sort::start(plan, cx),
        CNode::Limit(_) => limit::start(plan, cx),
        CNode::Agg(_) => agg::start(plan, cx),
        CNode::Expand(_) => expand::start(plan, cx),
        CNode::WindowAgg(_) => window::start(plan, cx),
        CNode::Unique(_) => unique::start(plan, cx),
        CNode::Append(_) => append::start(plan, cx),
        CNode::MergeAppend(_) => merge_append::start(plan),
        CNode::SetOp(_) => set_op::start(plan, cx),
        CNode::Subquery(_) => subquery::start(plan, cx),
        CNode::ProjectSet(_) => function_scan::start_project_set(plan, cx),
        CNode::LockRows(_) => lock_rows::start(plan, cx),
        CNode::CteScan(_) => cte::start_scan(plan),
        CNode::RecursiveUnion(_) => cte::start_recursive(plan, cx),
        CNode::WorkTableScan(_) => cte::start_work_table(plan),
        CNode::Modify(_) => crate::change::start(plan, cx),
    }
}

/// Counts and times a node (PostgreSQL's instrument.c). A fetch stays on one thread, so the
/// thread's counters are the node's, with those of its helper threads.
struct Instrumented {
    inner: BoxedNode,
    id: usize,
    started: bool,
    in_loop: bool,
}

impl Node for Instrumented {
    fn next(&mut self, cx: &mut ExecContext, out: &mut RowBatch) -> Result<()> {
        let (before, begin) = (Resources::of(cx), Instant::now());
        let result = self.inner.next(cx, out);
        self.count(cx, (before, begin), out.len());
        result
    }

    fn next_columns(&mut self, cx: &mut ExecContext, out: &mut ColumnBatch) -> Result<()> {
        let (before, begin) = (Resources::of(cx), Instant::now());
        let result = self.inner.next_columns(cx, out);
        self.count(cx, (before, begin), out.len());
        result
    }

    fn rescan(&mut self, cx: &mut ExecContext) -> Result<()> {
        self.in_loop = false;
        self.inner.rescan(cx)
    }
}

impl Instrumented {
    /// Counts the resources used and the rows handed up since.
    fn count(&mut self, cx: &mut ExecContext, since: (Resources, Instant), rows: usize) {
        let (elapsed, used) = (since.1.elapsed(), Resources::of(cx).since(since.0));
        let first = !std::mem::replace(&mut self.in_loop, true);
        self.started = true;
        if let Some(instrument) = cx.instrument(self.id) {
            instrument.total += elapsed;
            instrument.add_used(used);
            instrument.rows += rows as u64;
            if first {
                instrument.loops += 1;
                instrument.startup += elapsed;
            }
        }
    }
}

/// A child node with a batch of its rows and a place in it: for nodes that take
/// their input row by row.
pub(crate) struct Input {
    node: BoxedNode,
    batch: RowBatch,
    position: usize,
    finished: bool,
    /// The error of the row behind the batch's last one.
    failed: Option<Error>,
}

impl Input {
    pub(crate) fn new(plan: &Arc<CPlan>, cx: &mut ExecContext) -> Input {
        Input::of(start(plan, cx), plan.width)
    }

    /// The rows of a node that has started.
    pub(crate) fn of(node: BoxedNode, width: usize) -> Input {
        Input { node, batch: RowBatch::new(width), position: 0, finished: false, failed: None }
    }

    /// Moves to the next row; false at the end. `wanted` bounds the number of rows requested from
    /// the child if its rows have run out. An error is returned when its row's turn comes. A node
    /// that needs only the rows before it never gets the error.
    pub(crate) fn advance(&mut self, cx: &mut ExecContext, wanted: usize) -> Result<bool> {
        self.position += 1;
        if self.position < self.batch.len() {
            return Ok(true);
        }
        if self.finished {
            return Ok(false);
        }
        if let Some(error) = self.failed.take() {
            return Err(error);
        }
        self.batch.clear();
        self.batch.wanted = wanted.clamp(1, crate::batch::BATCH_ROWS);
        self.position = 0;
        if let Err(error) = self.node.next(cx, &mut self.batch) {
            if self.batch.is_empty() || cx.is_overtaken {
                return Err(error);
            }
            self.failed = Some(error);
        }
        self.finished = self.batch.is_empty();
        Ok(!self.finished)
    }

    /// The row that [`Self::advance`] moved to.
    #[inline]
    pub(crate) fn row(&self) -> &[Datum] {
        self.batch.row(self.position)
    }

    pub(crate) fn rescan(&mut self, cx: &mut ExecContext) -> Result<()> {
        self.batch.clear();
        self.position = 0;
        self.finished = false;
        self.failed = None;
        self.node.rescan(cx)
    }
}

/// Hands a child's rows through a node's filter and projection: the whole of
/// nodes that add nothing else.
pub(crate) fn pump(
    plan: &CPlan,
    child: &mut BoxedNode,
    scratch: &mut RowBatch,
    cx: &mut ExecContext,
    out: &mut RowBatch,
) -> Result<()> {
    if plan.is_plain() {
        return child.next(cx, out);
    }
    while out.is_empty() {
        scratch.clear();
        scratch.wanted = out.wanted;
        let filled = child.next(cx, scratch);
        if scratch.is_empty() {
            return filled;
        }
        cx.check_interrupts()?;
        for row in scratch.iter() {
            plan.emit(cx, Row::of(row), out)?;
        }
        filled?;
    }
    Ok(())
}
