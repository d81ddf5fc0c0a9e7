//! The point fast path: one row by its full unique key, one row of VALUES, or a row of parameters.
//!
//! A point statement needs no plan nodes and no batches. A SELECT hands the stored row to the sink.
//! An UPDATE patches columns in the row under one leaf latch, and a DELETE marks the row there. An
//! UPDATE may assign an index's column its present value, as an ORM does that writes a whole object
//! back; then no index is changed. Other cases run with plan nodes: another value of such a column,
//! a value out of line, a row that becomes too long, a NULL. The point path has changed nothing by
//! then. A statement that meets a held row lock has changed nothing either. It hands the wait to
//! the session, which waits and runs the statement again over that row, even if another row has the
//! key by then. A SELECT … FOR that cannot lock its row at once, in the version that it sees, runs
//! with plan nodes.
//!
//! Compiled parts refer to a table only by its definition. The handles are in a separate
//! [`PointTable`], so that partitions with the same definition share the rest.

mod scratch;

use self::scratch::Scratch;
use crate::access::{IndexAccess, ScanColumn, TableAccess, is_stub};
use crate::change::outcome::{Attempted, ChangeKind, ChangeOf, of_modify};
use crate::change::{ModifyPlan, RowCommand, TableWriter};
use crate::context::ExecContext;
use crate::expr::{CExpr, Row, only_expression};
use crate::node::{CNode, CPlan, IndexPlan, LockRowsPlan};
use crate::row_wait::RowWait;
use crate::sink::RowSink;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use steppe_counting::accesses;
use steppe_sql::expr::{CallSyntax, Expr};
use steppe_sql::plan::{ModifyTable, PlanNode, PlannedStmt};
use steppe_sql::query::Command;
use steppe_txn::{Action, Current, LockOutcome, LockWait, RowId, RowLockMode, WaitPolicy};
use steppe_types::row::{ColumnRef, RowLayout};
use steppe_types::{Datum, Error, Result};

/// The result of a point statement.
pub(crate) enum PointOutcome {
    Done(u64),
    /// The row to wait for.
    MustWait(LockWait, RowWait),
    /// The statement changed nothing: run it with plan nodes.
    General,
}

/// A statement over one row.
pub(crate) enum PointPlan {
    Select {
        /// Output columns by position in the table, if all are plain.
        columns: Option<Box<[usize]>>,
    },
    /// SELECT … FOR UPDATE, FOR SHARE and the like.
    Lock {
        /// Output columns by position in the table.
        columns: Box<[usize]>,
        mode: RowLockMode,
    },
    /// UPDATE or DELETE.
    Change {
        /// Columns that the assignments and the recheck read.
        needed: Box<[usize]>,
        /// The table's other indexes, for a DELETE to take the row out of.
        others: Box<[IndexAccess]>,
        /// For each assignment: whether its column may be given another value in place.
        patched: Box<[Patched]>,
        /// Whether to try, if one of them may not be.
        hope: Hope,
    },
    Insert,
    /// SELECT of parameters, constants and fields of them, without FROM.
    Row,
}

/// Whether a column may be given another value in place.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Patched {
    /// Any value.
    Fixed,
    /// One that fits into the row.
    Variable,
    /// Only the value that it has.
    Not,
}

/// The number of statements that run with plan nodes after one whose row would not keep its keys. A
/// failed try is wasted, and the next statements are likely to fail, too.
const WITHOUT_HOPE: u32 = 32;

/// The statements that still run with plan nodes at once. (Two sessions may count one of them once:
/// it is only a guess.)
#[derive(Default)]
pub(crate) struct Hope(AtomicU32);

impl Hope {
    /// Whether to try.
    fn is_left(&self) -> bool {
        match self.0.load(Ordering::Relaxed) {
            0 => true,
            left => {
                self.0.store(left - 1, Ordering::Relaxed);
                false
            }
        }
    }

    fn lose(&self) {
        self.0.store(WITHOUT_HOPE, Ordering::Relaxed);
    }
}

/// The table that a statement finds its row in.
#[derive(Clone, Copy)]
pub(crate) struct PointTable<'a> {
    pub(crate) table: &'a TableAccess,
    /// The index whose key is looked up.
    pub(crate) index: &'a IndexAccess,
    /// The others.
    pub(crate) others: &'a [IndexAccess],
}

impl<'a> PointTable<'a> {
    /// The writer of the table's rows.
    fn writer(&self) -> TableWriter<'a> {
        TableWriter::with_indexes(self.table, Some(self.index), self.others)
    }
}

impl PointPlan {
    /// The fast path of a plan, if it has one.
    pub(crate) fn of(stmt: &PlannedStmt, compiled: &Arc<CPlan>) -> Option<PointPlan> {
        let plan = &stmt.plan;
        match &compiled.kind {
            CNode::IndexScan(scan) if is_point(scan) => {
                Some(PointPlan::Select { columns: plain_columns(compiled, &scan.columns) })
            }
            CNode::LockRows(lock) => Self::of_lock(compiled, lock),
            CNode::Result(result) => {
                let is_bare = result.child.is_none() && result.one_time_filter.is_none();
                let is_ready = plan.project.as_ref().is_some_and(|row| row.iter().all(is_ready));
                (is_bare && compiled.filter.is_none() && is_ready).then_some(PointPlan::Row)
            }
            CNode::Modify(modify) => Self::of_modify(stmt, modify),
            _ => None,
        }
    }

    fn of_lock(root: &CPlan, lock: &LockRowsPlan) -> Option<PointPlan> {
        let (CNode::IndexScan(scan), [one]) = (&lock.child.kind, &lock.locks[..]) else {
            return None;
        };
        let is_bare = lock.child.filter.is_none() && lock.child.project.is_none();
        let is_one_row = is_point(scan) && one.leaf.is_none() && lock.outer_joins.is_empty();
        (is_bare && is_one_row).then_some(())?;
        Some(PointPlan::Lock { columns: plain_columns(root, &scan.columns)?, mode: one.mode })
    }

    fn of_modify(stmt: &PlannedStmt, modify: &ModifyPlan) -> Option<PointPlan> {
        let PlanNode::Modify(planned) = &stmt.plan.node else { return None };
        let target = &modify.target;
        let checked = !target.view_checks.is_empty() || !target.generated.is_empty();
        if modify.returning || modify.on_conflict.is_some() || checked || target.hooks.is_some() {
            return None;
        }
        let of = match modify.command {
            Command::Delete => Some(RowCommand::Delete),
            Command::Update => Some(RowCommand::Update),
            _ => None,
        };
        if of.is_some_and(|command| target.has_keys(command)) {
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
                let may_patch = modify.target.checks.is_empty()
                    && modify.target.never_null.is_empty()
                    && planned.assignments.iter().all(|(_, e)| is_calm(e, stmt));
                may_patch.then(|| Self::change((stmt, planned), modify, scan)).flatten()
            }
            (Command::Delete, CNode::IndexScan(scan)) if is_point(scan) => {
                Self::change((stmt, planned), modify, scan)
            }
            _ => None,
        }
    }

    fn change(
        (stmt, planned): (&PlannedStmt, &ModifyTable),
        modify: &ModifyPlan,
        scan: &IndexPlan,
    ) -> Option<PointPlan> {
        let mut needed = Vec::new();
        let exprs = planned.assignments.iter().map(|(_, e)| e).chain(&planned.recheck);
        for expr in exprs {
            collect_slots(expr, &mut needed);
        }
        needed.sort_unstable();
        needed.dedup();
        // A slot past the target row would be the child's.
        let width = modify.target.table.layout.len();
        let fits = needed.iter().all(|slot| *slot < width);
        if !fits || !planned.recheck.iter().all(|e| is_calm(e, stmt)) {
            return None;
        }
        let others = modify.target.indexes.iter();
        let others = others.filter(|index| index.oid != scan.index.oid);
        let assigned = planned.assignments.iter();
        let patched = assigned.map(|(column, expr)| is_patched(modify, *column, expr));
        Some(PointPlan::Change {
            needed: needed.into(),
            others: others.cloned().collect(),
            patched: patched.collect(),
            hope: Hope::default(),
        })
    }

    /// The scan that finds the row of a compiled point statement.
    pub(crate) fn scan(root: &CPlan) -> Option<&IndexPlan> {
        match &root.kind {
            CNode::IndexScan(scan) => Some(scan),
            CNode::Modify(modify) => PointPlan::scan(&modify.child),
            _ => None,
        }
    }

    /// Runs the statement, perhaps over another table than the one that it was compiled for, and
    /// over the row that it has waited for, if any.
    pub(crate) fn run(
        &self,
        root: &Arc<CPlan>,
        (over, awaited): (Option<PointTable<'_>>, Option<RowId>),
        cx: &mut ExecContext,
        sink: &mut dyn RowSink,
    ) -> Result<PointOutcome> {
        let own = |scan| over.unwrap_or_else(|| self.own_table(scan));
        match (self, &root.kind) {
            (PointPlan::Select { columns }, CNode::IndexScan(scan)) => Scratch::with(|scratch| {
                select(root, (scan, own(scan)), columns.as_deref(), scratch, cx, sink)
            }),
            (PointPlan::Lock { columns, mode }, CNode::LockRows(rows)) => {
                let CNode::IndexScan(scan) = &rows.child.kind else {
                    return Err(Error::internal("point statement over another scan"));
                };
                let found = (&**scan, own(scan));
                Scratch::with(|scratch| lock(found, (columns, *mode), scratch, cx, sink))
            }
            (PointPlan::Change { needed, patched, hope, .. }, CNode::Modify(modify)) => {
                let CNode::IndexScan(scan) = &modify.child.kind else {
                    return Err(Error::internal("point statement over another scan"));
                };
                let is_sure = patched.iter().all(|patched| *patched == Patched::Fixed);
                if !is_sure && !hope.is_left() {
                    return Ok(PointOutcome::General);
                }
                let change = Change { modify, needed, patched };
                let found = (own(scan), awaited);
                let outcome = Scratch::with(|scratch| change.run((scan, found), scratch, cx))?;
                if !is_sure && matches!(outcome, PointOutcome::General) {
                    hope.lose();
                }
                Ok(outcome)
            }
            (PointPlan::Insert, CNode::Modify(modify)) => insert(modify, cx),
            (PointPlan::Row, CNode::Result(_)) => {
                let project = root.project.as_deref().unwrap_or_default().iter();
                let row = project.map(|value| value.eval(cx, Row::EMPTY));
                sink.row(&row.collect::<Result<Vec<_>>>()?)?;
                Ok(PointOutcome::Done(1))
            }
            _ => Err(Error::internal("point plan over another node")),
        }
    }

    /// The table that it was compiled for.
    fn own_table<'a>(&'a self, scan: &'a IndexPlan) -> PointTable<'a> {
        let others = match self {
            PointPlan::Change { others, .. } => &others[..],
            PointPlan::Select { .. }
            | PointPlan::Lock { .. }
            | PointPlan::Insert
            | PointPlan::Row => &[],
        };
        PointTable { table: &scan.table, index: &scan.index, others }
    }
}

/// Whether a column may be given another value in place: no index and no bound depends on it. A
/// column of variable width must also get a ready value. Other values may take long to compute, and
/// this happens under a latch.
fn is_patched(modify: &ModifyPlan, column: usize, value: &Expr) -> Patched {
    let target = &modify.target;
    let is_key = target.indexes.iter().any(|index| index.reads(column))
        || target.partition.as_ref().is_some_and(|partition| partition.reads(column));
    match target.table.layout.is_fixed(column) {
        _ if is_key => Patched::Not,
        true => Patched::Fixed,
        false if is_at_hand(value) => Patched::Variable,
        false => Patched::Not,
    }
}

/// Whether it is a ready value, perhaps with a cast to its column's type.
fn is_at_hand(expr: &Expr) -> bool {
    match expr {
        Expr::Const(..) | Expr::Param { .. } | Expr::Slot { .. } => true,
        Expr::Relabel { arg, .. } => is_at_hand(arg),
        Expr::Func { func, args, syntax: CallSyntax::ImplicitCast, .. } => {
            func.is_built_in() && args.iter().all(is_at_hand)
        }
        _ => false,
    }
}

/// Whether a value needs no code but the executor's own, which is done at once.
fn is_ready(expr: &Expr) -> bool {
    match expr {
        Expr::Const(..) | Expr::Param { .. } => true,
        Expr::Relabel { arg, .. } | Expr::Field { arg, .. } => is_ready(arg),
        _ => false,
    }
}

/// Whether the scan is one look-up of a whole unique key.
fn is_point(scan: &IndexPlan) -> bool {
    scan.index.unique && scan.range.is_whole_key(&scan.index)
}

/// The output's columns, if there is no filter and no computed column.
pub(crate) fn plain_columns(plan: &CPlan, columns: &[ScanColumn]) -> Option<Box<[usize]>> {
    if plan.filter.is_some() {
        return None;
    }
    let stored = |slot: usize| match columns.get(slot) {
        Some(ScanColumn::Stored(i)) => Some(*i),
        _ => None,
    };
    match &plan.project {
        None => (0..columns.len()).map(stored).collect(),
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
/// volatile function, and runs no sub-select but one that is an expression alone.
fn is_calm(expr: &Expr, stmt: &PlannedStmt) -> bool {
    let here = match expr {
        Expr::Func { func, .. } => !func.is_volatile(),
        Expr::SubPlan(sub) => {
            only_expression(sub, &stmt.subplans).is_some_and(|value| is_calm(value, stmt))
        }
        _ => true,
    };
    let mut calm = here;
    expr.for_each_child(&mut |child| calm = calm && is_calm(child, stmt));
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
    (scan, of): (&IndexPlan, PointTable<'_>),
    columns: Option<&[usize]>,
    scratch: &mut Scratch,
    cx: &mut ExecContext,
    sink: &mut dyn RowSink,
) -> Result<PointOutcome> {
    let Some(found) = scratch.find(scan, of, cx)? else { return Ok(PointOutcome::Done(0)) };
    let Scratch { row: buffer, values: input, .. } = scratch;
    if let Some(columns) = columns
        && sink.raw_row(&of.table.whole(buffer.row())?, &of.table.layout, columns)?
    {
        return Ok(PointOutcome::Done(1));
    }
    of.table.decode_columns(buffer.row(), found, &cx.txn()?.view, &scan.columns, input)?;
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

/// Locks the row, if it can be locked at once.
fn lock(
    (scan, of): (&IndexPlan, PointTable<'_>),
    (columns, mode): (&[usize], RowLockMode),
    scratch: &mut Scratch,
    cx: &mut ExecContext,
    sink: &mut dyn RowSink,
) -> Result<PointOutcome> {
    let Some((id, _)) = scratch.find(scan, of, cx)? else { return Ok(PointOutcome::Done(0)) };
    let rows = of.table.rows_for_write()?;
    let outcome = rows.lock_row(&mut cx.txn()?.txn, id, mode, WaitPolicy::DontWait)?;
    // The row is locked by another transaction, changed or deleted: the plan's nodes handle that.
    let LockOutcome::Locked = outcome else {
        accesses::searches_again(of.index.oid);
        return Ok(PointOutcome::General);
    };
    let row = &*of.table.whole(scratch.row.row())?;
    if !sink.raw_row(row, &of.table.layout, columns)? {
        let values = columns.iter().map(|column| of.table.decode_column(row, *column));
        sink.row(&values.collect::<Result<Vec<_>>>()?)?;
    }
    Ok(PointOutcome::Done(1))
}

/// The reason why the row was not changed.
enum Kept {
    /// The row does not satisfy the statement's WHERE.
    Filtered,
    /// The change cannot be made by patching.
    Unpatchable,
    /// The row committed after the snapshot of a REPEATABLE READ transaction.
    TooNew,
}

/// An UPDATE or DELETE of one row.
struct Change<'a> {
    modify: &'a ModifyPlan,
    needed: &'a [usize],
    patched: &'a [Patched],
}

impl Change<'_> {
    fn run(
        &self,
        (scan, (of, awaited)): (&IndexPlan, (PointTable<'_>, Option<RowId>)),
        scratch: &mut Scratch,
        cx: &mut ExecContext,
    ) -> Result<PointOutcome> {
        let found = match awaited {
            None => scratch.find(scan, of, cx)?.map(|(id, _)| id),
            awaited => awaited,
        };
        let Some(id) = found else { return Ok(PointOutcome::Done(0)) };
        let (rows, layout) = (of.table.rows_for_write()?, &of.table.layout);
        // Evaluation needs the context while the transaction is borrowed.
        let Some(mut txn) = cx.take_txn() else {
            return Err(Error::internal("statement needs a transaction and has none"));
        };
        let deletes = self.modify.command == Command::Delete;
        let (kind, mode) = match deletes {
            true => (ChangeKind::Delete, RowLockMode::Update),
            false => (ChangeKind::Update, RowLockMode::NoKeyUpdate),
        };
        let attempt = ChangeOf::new(kind, id, &of.table.relation, &txn.txn);
        let xid = txn.txn.xid();
        let of_own = !deletes && self.modify.target.has_keys_of_own(RowCommand::Update);
        let mut kept = None;
        scratch.values.resize(layout.len(), Datum::Null);
        let outcome = rows.modify_in(&mut txn.txn, id, mode, &mut |current, out| {
            kept = if attempt.repeatable && !current.visible_to_snapshot {
                Some(Kept::TooNew)
            } else if of_own && current.meta.xid() == xid {
                // Its deferred checks are made anew.
                Some(Kept::Unpatchable)
            } else {
                match self.recheck(layout, current, &mut scratch.values, cx)? {
                    None if !deletes => self.patch(of.table, current, scratch, out, cx)?,
                    kept => kept,
                }
            };
            Ok(match kept {
                Some(_) => Action::Keep,
                None if deletes => {
                    scratch.deleted.clear();
                    scratch.deleted.extend_from_slice(current.row);
                    Action::Delete
                }
                None => Action::Replace { key_changed: false },
            })
        });
        cx.lend_txn(Some(txn));
        match of_modify(outcome?, &attempt)? {
            Attempted::Done if deletes => {
                let Scratch { key, deleted, .. } = scratch;
                of.writer().finish_delete(id, deleted, key, cx)?;
                Ok(PointOutcome::Done(1))
            }
            Attempted::Done => {
                // The changed columns are part of no key.
                accesses::updated(of.table.oid, false);
                Ok(PointOutcome::Done(1))
            }
            Attempted::Kept | Attempted::Newer(_) if matches!(kept, Some(Kept::Unpatchable)) => {
                if awaited.is_none() {
                    accesses::searches_again(of.index.oid);
                }
                Ok(PointOutcome::General)
            }
            // The condition was checked over the newest version.
            Attempted::Kept | Attempted::Newer(_) | Attempted::Gone => Ok(PointOutcome::Done(0)),
            // Plan nodes compute whether the key changes, which decides how the row is waited for.
            Attempted::Wait(..) if !deletes && self.modify.target.written.is_key => {
                Ok(PointOutcome::General)
            }
            Attempted::Wait(wait, at) => Ok(PointOutcome::MustWait(wait, at)),
            Attempted::Held => Err(Error::internal("a change of a row did not wait")),
        }
    }

    /// The reason why the statement does not change the present row, if there is one. Otherwise the
    /// needed values.
    fn recheck(
        &self,
        layout: &RowLayout,
        current: Current<'_>,
        values: &mut [Datum],
        cx: &mut ExecContext,
    ) -> Result<Option<Kept>> {
        // Out-of-line values may not be fetched under a latch.
        if is_stub(current.row) {
            return Ok(Some(Kept::Unpatchable));
        }
        for column in self.needed {
            if matches!(layout.column_ref(current.row, *column)?, ColumnRef::OutOfLine(_)) {
                return Ok(Some(Kept::Unpatchable));
            }
            values[*column] = layout.decode_column(current.row, *column)?;
        }
        let holds = match &self.modify.recheck {
            Some(recheck) => recheck.holds(cx, Row::of(values))?,
            None => true,
        };
        Ok((!holds).then_some(Kept::Filtered))
    }

    /// Writes the changed row to `out`, or returns why it cannot.
    fn patch(
        &self,
        table: &TableAccess,
        current: Current<'_>,
        Scratch { values, stored, .. }: &mut Scratch,
        out: &mut Vec<u8>,
        cx: &mut ExecContext,
    ) -> Result<Option<Kept>> {
        let layout = &table.layout;
        out.extend_from_slice(current.row);
        for ((column, expr), patched) in self.modify.assignments.iter().zip(self.patched) {
            let value = expr.eval(cx, Row::of(values))?;
            // A row may be older than a NOT NULL constraint.
            let is_allowed = !value.is_null() || !self.modify.target.not_null.contains(column);
            let is_patched = match patched {
                Patched::Fixed => layout.patch_fixed(out, *column, &value),
                Patched::Variable => {
                    layout.patch_variable(out, *column, &value, stored)?
                        && table.is_short(out.len())
                }
                Patched::Not => false,
            };
            let is_done =
                is_patched || (is_allowed && layout.holds(current.row, *column, &value, stored)?);
            if !is_done {
                return Ok(Some(Kept::Unpatchable));
            }
        }
        Ok(None)
    }
}

/// The values of the one row of an INSERT.
pub(crate) fn values_of(modify: &ModifyPlan) -> Option<&[CExpr]> {
    match (&modify.child.kind, &modify.child.project) {
        (CNode::Result(_), Some(project)) => Some(project),
        (CNode::Values(lists), None) => lists.first().map(|list| &**list),
        _ => None,
    }
}

fn insert(modify: &ModifyPlan, cx: &mut ExecContext) -> Result<PointOutcome> {
    let Some(exprs) = values_of(modify) else { return Ok(PointOutcome::General) };
    let row = exprs.iter().map(|e| e.eval(cx, Row::EMPTY)).collect::<Result<Vec<_>>>()?;
    modify.insert_one(&row, cx).map(|stored| PointOutcome::Done(u64::from(stored)))
}
