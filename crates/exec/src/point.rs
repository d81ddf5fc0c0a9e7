//! The point fast path: one row by its full unique key, or one row of VALUES.
//!
//! Such a statement needs no plan nodes and no batches. A SELECT hands the row to
//! the sink as it is stored; an UPDATE patches fixed-width columns in the row
//! under one leaf latch. Where a case turns out to need more (an out-of-line
//! value, a NULL, a variable-width column), nothing has been done and the general
//! way is taken. An UPDATE that meets a held row lock has done nothing either: it
//! hands the wait to the session, which awaits it and runs the statement again.

use crate::access::ScanColumn;
use crate::context::ExecContext;
use crate::env::RowSink;
use crate::expr::{CExpr, Row};
use crate::modify::{Inserter, ModifyPlan, OpenLeaves};
use crate::node::{CNode, CPlan, IndexPlan, find_point, moved_concurrently, serialization};
use std::cell::Cell;
use std::sync::Arc;
use steppe_catalog::Builtins;
use steppe_sql::expr::Expr;
use steppe_sql::plan::{Plan, PlanNode};
use steppe_sql::query::Command;
use steppe_txn::{Action, Current, IsolationLevel, LockWait, ModifyOutcome, RowBuf, RowId};
use steppe_types::row::ColumnRef;
use steppe_types::{Datum, Error, Result};

/// How a point statement ended.
pub(crate) enum PointOutcome {
    Done(u64),
    MustWait(LockWait),
    /// Nothing was done: run it as a general plan.
    General,
}

/// A statement over one row.
pub(crate) enum PointPlan {
    Select {
        /// Output columns by position in the table, if all are plain.
        columns: Option<Box<[usize]>>,
    },
    Update {
        /// Columns that the assignments and the recheck read.
        needed: Box<[usize]>,
    },
    Insert,
}

/// A longer key is in no index, but a statement may ask for it: its buffer is not kept.
const KEY_BYTES_KEPT: usize = 8192;

/// Buffers of a point statement, reused by the thread's next one. The postings and the row
/// come from a page each, so they stay small.
#[derive(Default)]
struct Scratch {
    key: Vec<u8>,
    postings: Vec<u8>,
    row: RowBuf,
    values: Vec<Datum>,
}

thread_local! {
    static SCRATCH: Cell<Option<Box<Scratch>>> = const { Cell::new(None) };
}

impl Scratch {
    /// Lends the thread's buffers, the key and the values empty.
    fn with<T>(f: impl FnOnce(&mut Scratch) -> T) -> T {
        let mut scratch = SCRATCH.take().unwrap_or_default();
        scratch.key.clear();
        let result = f(&mut scratch);
        // Values may be large, or shared.
        scratch.values.clear();
        if scratch.key.capacity() > KEY_BYTES_KEPT {
            scratch.key = Vec::new();
        }
        SCRATCH.set(Some(scratch));
        result
    }

    /// The row that a scan looks up by its whole unique key, if there is one. It is left in
    /// `row`.
    fn find(&mut self, scan: &IndexPlan, cx: &mut ExecContext) -> Result<Option<RowId>> {
        if !scan.range.point_key(&scan.index, &mut self.key, cx)? {
            return Ok(None);
        }
        let (view, buffers) = (&cx.txn()?.view, (&mut self.postings, &mut self.row));
        find_point(&scan.table, &scan.index, view, &self.key, buffers.0, buffers.1)
    }
}

impl PointPlan {
    /// The fast path of a plan, if it has one.
    pub(crate) fn of(plan: &Plan, compiled: &Arc<CPlan>) -> Option<PointPlan> {
        match &compiled.kind {
            CNode::IndexScan(scan) if is_point(scan) => {
                Some(PointPlan::Select { columns: plain_columns(compiled, scan) })
            }
            CNode::Modify(modify) => Self::of_modify(plan, modify),
            _ => None,
        }
    }

    fn of_modify(plan: &Plan, modify: &ModifyPlan) -> Option<PointPlan> {
        let PlanNode::Modify(planned) = &plan.node else { return None };
        let checked = !modify.target.view_checks.is_empty() || !modify.target.generated.is_empty();
        if modify.returning || modify.on_conflict.is_some() || checked {
            return None;
        }
        match (modify.command, &modify.child.kind) {
            (Command::Insert, CNode::Result(result))
                if result.child.is_none() && result.one_time_filter.is_none() =>
            {
                (modify.child.filter.is_none()).then_some(PointPlan::Insert)
            }
            (Command::Insert, CNode::Values(lists)) => {
                (lists.len() == 1 && modify.child.filter.is_none()).then_some(PointPlan::Insert)
            }
            (Command::Update, CNode::IndexScan(scan)) if is_point(scan) => {
                let indexed = |c: &usize| {
                    let partition = modify.target.partition.as_ref();
                    modify.target.indexes.iter().any(|i| i.reads(*c))
                        || partition.is_some_and(|p| p.reads(*c))
                };
                let assigned_plain = planned.assignments.iter().all(|(c, e)| {
                    !indexed(c) && modify.target.table.layout.is_fixed(*c) && is_calm(e)
                });
                let calm = planned.recheck.iter().all(is_calm);
                if !assigned_plain || !calm || !modify.target.checks.is_empty() {
                    return None;
                }
                let mut needed = Vec::new();
                let width = modify.target.table.layout.len();
                let exprs = planned.assignments.iter().map(|(_, e)| e).chain(&planned.recheck);
                for expr in exprs {
                    collect_slots(expr, &mut needed);
                }
                needed.sort_unstable();
                needed.dedup();
                // A slot past the target row would be the child's.
                needed
                    .iter()
                    .all(|slot| *slot < width)
                    .then(|| PointPlan::Update { needed: needed.into() })
            }
            _ => None,
        }
    }

    /// Runs the statement.
    pub(crate) fn run(
        &self,
        root: &Arc<CPlan>,
        cx: &mut ExecContext,
        sink: &mut dyn RowSink,
    ) -> Result<PointOutcome> {
        match (self, &root.kind) {
            (PointPlan::Select { columns }, CNode::IndexScan(scan)) => {
                Scratch::with(|scratch| select(root, scan, columns.as_deref(), scratch, cx, sink))
            }
            (PointPlan::Update { needed }, CNode::Modify(modify)) => {
                Scratch::with(|scratch| update(modify, needed, scratch, cx))
            }
            (PointPlan::Insert, CNode::Modify(modify)) => insert(modify, cx),
            _ => Err(Error::internal("point plan over another node")),
        }
    }
}

/// Whether the scan is one look-up of a whole unique key.
fn is_point(scan: &IndexPlan) -> bool {
    let range = &scan.range;
    scan.index.unique
        && range.equal.len() == scan.index.parts.len()
        && range.any.is_none()
        && !range.equal_is_null.contains(&true)
}

/// The output's columns, if there is no filter and nothing is computed.
fn plain_columns(plan: &CPlan, scan: &IndexPlan) -> Option<Box<[usize]>> {
    if plan.filter.is_some() {
        return None;
    }
    let stored = |slot: usize| match scan.columns.get(slot) {
        Some(ScanColumn::Stored(i)) => Some(*i),
        _ => None,
    };
    match &plan.project {
        None => (0..scan.columns.len()).map(stored).collect(),
        Some(project) => project
            .iter()
            .map(|e| match e {
                CExpr::Slot(slot) => stored(*slot),
                _ => None,
            })
            .collect(),
    }
}

/// Whether an expression may be evaluated under a latch, more than once: it calls no
/// volatile function and runs no sub-select.
fn is_calm(expr: &Expr) -> bool {
    let here = match expr {
        Expr::Func { func, .. } => {
            Builtins::get().proc(*func).is_some_and(|proc| proc.volatility != b'v')
        }
        Expr::SubPlan(_) => false,
        _ => true,
    };
    let mut calm = here;
    expr.for_each_child(&mut |child| calm = calm && is_calm(child));
    calm
}

fn collect_slots(expr: &Expr, out: &mut Vec<usize>) {
    if let Expr::Slot { index, .. } = expr {
        out.push(*index);
    }
    expr.for_each_child(&mut |child| collect_slots(child, out));
}

fn select(
    plan: &Arc<CPlan>,
    scan: &IndexPlan,
    columns: Option<&[usize]>,
    scratch: &mut Scratch,
    cx: &mut ExecContext,
    sink: &mut dyn RowSink,
) -> Result<PointOutcome> {
    let Some(id) = scratch.find(scan, cx)? else { return Ok(PointOutcome::Done(0)) };
    let Scratch { row: buffer, values: input, .. } = scratch;
    if let Some(columns) = columns
        && sink.raw_row(buffer.row(), &scan.table.layout, columns)?
    {
        return Ok(PointOutcome::Done(1));
    }
    scan.table.decode_columns(buffer.row(), id, &scan.columns, input)?;
    if !plan.passes(cx, Row::of(input))? {
        return Ok(PointOutcome::Done(0));
    }
    match &plan.project {
        None => sink.row(input)?,
        Some(project) => {
            let row = project.iter().map(|e| e.eval(cx, Row::of(input)));
            sink.row(&row.collect::<Result<Vec<_>>>()?)?;
        }
    }
    Ok(PointOutcome::Done(1))
}

/// Why the row was kept as it is.
enum Kept {
    /// It does not satisfy the statement's WHERE.
    Filtered,
    /// The change cannot be made by patching.
    Unpatchable,
    /// It committed after the snapshot of a REPEATABLE READ transaction.
    TooNew,
}

fn update(
    modify: &ModifyPlan,
    needed: &[usize],
    scratch: &mut Scratch,
    cx: &mut ExecContext,
) -> Result<PointOutcome> {
    let CNode::IndexScan(scan) = &modify.child.kind else {
        return Err(Error::internal("point update over another scan"));
    };
    let Some(id) = scratch.find(scan, cx)? else { return Ok(PointOutcome::Done(0)) };
    let rows = modify.target.table.rows_for_write()?;
    // Evaluation needs the context while the transaction is borrowed.
    let Some(mut txn) = cx.take_txn() else {
        return Err(Error::internal("statement needs a transaction and has none"));
    };
    let repeatable = txn.txn.isolation() != IsolationLevel::ReadCommitted;
    let mut kept = None;
    let values = &mut scratch.values;
    values.resize(modify.target.table.layout.len(), Datum::Null);
    let outcome = rows.modify(&mut txn.txn, id, &mut |current, out| {
        kept = if repeatable && !current.visible_to_snapshot {
            Some(Kept::TooNew)
        } else {
            patch(modify, needed, current, values, out, cx)?
        };
        Ok(match kept {
            Some(_) => Action::Keep,
            None => Action::Replace { key_changed: false },
        })
    });
    cx.lend_txn(Some(txn));
    match outcome? {
        ModifyOutcome::Done => Ok(PointOutcome::Done(1)),
        ModifyOutcome::Kept | ModifyOutcome::UpdatedConcurrently { .. } => match kept {
            Some(Kept::Unpatchable) => Ok(PointOutcome::General),
            Some(Kept::TooNew) => Err(serialization("update")),
            Some(Kept::Filtered) | None => Ok(PointOutcome::Done(0)),
        },
        ModifyOutcome::DeletedConcurrently if repeatable => Err(serialization("delete")),
        ModifyOutcome::MovedConcurrently => Err(moved_concurrently(repeatable)),
        ModifyOutcome::NotFound
        | ModifyOutcome::DeletedConcurrently
        | ModifyOutcome::SelfUpdated => Ok(PointOutcome::Done(0)),
        ModifyOutcome::MustWait(wait) => Ok(PointOutcome::MustWait(wait)),
    }
}

/// Writes the changed row to `out`, or says why not.
fn patch(
    modify: &ModifyPlan,
    needed: &[usize],
    current: Current<'_>,
    values: &mut [Datum],
    out: &mut Vec<u8>,
    cx: &mut ExecContext,
) -> Result<Option<Kept>> {
    let layout = &modify.target.table.layout;
    for column in needed {
        // Out-of-line values may not be fetched under a latch.
        if matches!(layout.column_ref(current.row, *column)?, ColumnRef::OutOfLine(_)) {
            return Ok(Some(Kept::Unpatchable));
        }
        values[*column] = layout.decode_column(current.row, *column)?;
    }
    if let Some(recheck) = &modify.recheck
        && !recheck.holds(cx, Row::of(values))?
    {
        return Ok(Some(Kept::Filtered));
    }
    out.extend_from_slice(current.row);
    for (column, expr) in &modify.assignments {
        let value = expr.eval(cx, Row::of(values))?;
        if !layout.patch_fixed(out, *column, &value) {
            return Ok(Some(Kept::Unpatchable));
        }
    }
    Ok(None)
}

fn insert(modify: &ModifyPlan, cx: &mut ExecContext) -> Result<PointOutcome> {
    let exprs = match (&modify.child.kind, &modify.child.project) {
        (CNode::Result(_), Some(project)) => project,
        (CNode::Values(lists), None) => &lists[0],
        _ => return Ok(PointOutcome::General),
    };
    let row = exprs.iter().map(|e| e.eval(cx, Row::EMPTY)).collect::<Result<Vec<_>>>()?;
    modify.insert(&[&row], &mut OpenLeaves::default(), &mut Inserter::default(), cx)?;
    Ok(PointOutcome::Done(1))
}
