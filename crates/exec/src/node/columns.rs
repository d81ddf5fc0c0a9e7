//! Adapters between nodes that hand up columns and nodes that take rows, and the filter and
//! projection of a node's columns.

use super::{BoxedNode, CPlan, ColumnPlan, Node, start};
use crate::batch::RowBatch;
use crate::context::ExecContext;
use crate::sink::RowSink;
use crate::vector::{ColumnBatch, GiveUp, ResultColumns, VExpr, Vector};
use std::borrow::Cow;
use std::sync::Arc;
use steppe_sql::expr::ExecParamId;
use steppe_types::{Error, Result};

impl ColumnPlan {
    /// Hands up the rows of `input`, which has the columns that the projection reads. An unchanged
    /// column is swapped with the one in `out`.
    pub(super) fn project_into(
        &self,
        cx: &mut ExecContext,
        input: &mut ColumnBatch,
        out: &mut ColumnBatch,
    ) -> Result<(), GiveUp> {
        let rows = input.len();
        let Some(project) = &self.project else {
            let spare = std::mem::take(&mut out.columns);
            out.set(rows, std::mem::replace(&mut input.columns, spare));
            return Ok(());
        };
        let mut columns = std::mem::take(&mut out.columns);
        columns.resize_with(project.len(), Default::default);
        for (expr, column) in project.iter().zip(&mut columns) {
            if !matches!(expr, VExpr::Slot(_)) {
                *column = expr.eval(cx, input)?;
            }
        }
        for (k, expr) in project.iter().enumerate() {
            let VExpr::Slot(slot) = expr else { continue };
            let again = |later: &VExpr| matches!(later, VExpr::Slot(s) if s == slot);
            match input.columns.get_mut(*slot) {
                None => return Err(GiveUp),
                Some(column) if project[k + 1..].iter().any(again) => columns[k] = column.clone(),
                // The memory of the column that was handed up before takes its place.
                Some(column) => std::mem::swap(&mut columns[k], column),
            }
        }
        out.set(rows, columns);
        Ok(())
    }
}

/// Fills the empty batch `out` by `fill`, with at least `least` rows unless there are no more. A
/// small batch costs each step above as much as a large one. `more` is reused for its memory.
pub(super) fn fill_many(
    cx: &mut ExecContext,
    (out, more): (&mut ColumnBatch, &mut ColumnBatch),
    least: usize,
    mut fill: impl FnMut(&mut ExecContext, &mut ColumnBatch) -> Result<()>,
) -> Result<()> {
    let mut filled = fill(cx, out);
    while filled.is_ok() && !out.is_empty() && out.len() < least && !out.is_large() {
        more.clear();
        more.columns.resize_with(out.columns.len(), Default::default);
        more.wanted = out.wanted.saturating_sub(out.len());
        filled = fill(cx, more);
        if more.is_empty() {
            break;
        }
        out.columns.iter_mut().zip(&more.columns).for_each(|(to, from)| to.append(from));
        out.set_rows(out.len() + more.len());
    }
    filled
}

/// A child whose rows are taken as columns. The child may hand up rows.
pub(crate) struct ColumnInput {
    plan: Arc<CPlan>,
    node: BoxedNode,
    /// For the rows of a child that hands up no columns.
    rows: Option<RowBatch>,
}

impl ColumnInput {
    /// Starts the child.
    pub(crate) fn new(plan: &Arc<CPlan>, cx: &mut ExecContext) -> ColumnInput {
        let rows = plan.columns.is_none().then(|| RowBatch::new(plan.width));
        ColumnInput { plan: plan.clone(), node: start(plan, cx), rows }
    }

    /// Run-time parameters that its rows depend on.
    pub(crate) fn dependencies(&self) -> &Arc<[ExecParamId]> {
        &self.plan.dependencies
    }

    /// Fills the empty batch `out`; leaves it empty at the end. With an error it has the rows
    /// before the one that failed.
    pub(crate) fn next(&mut self, cx: &mut ExecContext, out: &mut ColumnBatch) -> Result<()> {
        let Some(rows) = &mut self.rows else { return self.node.next_columns(cx, out) };
        rows.clear();
        rows.wanted = out.wanted.clamp(1, crate::batch::BATCH_ROWS);
        let filled = self.node.next(cx, rows);
        out.columns.resize_with(rows.width(), Default::default);
        rows.iter().for_each(|row| out.push_row(row));
        filled
    }

    /// The child, for a consumer that takes its rows.
    pub(crate) fn node(&mut self) -> &mut BoxedNode {
        &mut self.node
    }

    /// Starts again from the first row.
    pub(crate) fn rescan(&mut self, cx: &mut ExecContext) -> Result<()> {
        self.node.rescan(cx)
    }
}

/// A node that makes columns.
pub(crate) trait ColumnNode: Send + 'static {
    /// As [`Node::next_columns`].
    fn next_columns(&mut self, cx: &mut ExecContext, out: &mut ColumnBatch) -> Result<()>;

    /// As [`Node::rescan`].
    fn rescan(&mut self, cx: &mut ExecContext) -> Result<()>;
}

/// The node for consumers of columns and of rows.
struct ForAll<N> {
    node: N,
    rows: RowsOfColumns,
}

/// The node for a consumer of either kind.
pub(crate) fn for_all(node: impl ColumnNode) -> BoxedNode {
    Box::new(ForAll { node, rows: RowsOfColumns::default() })
}

impl<N: ColumnNode> Node for ForAll<N> {
    fn next(&mut self, cx: &mut ExecContext, out: &mut RowBatch) -> Result<()> {
        let ForAll { node, rows } = self;
        rows.next(cx, out, |cx, columns| node.next_columns(cx, columns))
    }

    fn next_columns(&mut self, cx: &mut ExecContext, out: &mut ColumnBatch) -> Result<()> {
        self.node.next_columns(cx, out)
    }

    fn rescan(&mut self, cx: &mut ExecContext) -> Result<()> {
        self.rows = RowsOfColumns::default();
        self.node.rescan(cx)
    }
}

/// The rows of a node that hands up columns, for a consumer that takes rows, and for the statement's
/// sink.
#[derive(Default)]
pub(crate) struct RowsOfColumns {
    batch: ColumnBatch,
    position: usize,
    /// The error of the row behind the batch's last one.
    failed: Option<Error>,
}

impl RowsOfColumns {
    /// Fills the empty batch `out` with the next rows; `fill` makes the next columns. A row's error
    /// is returned when its turn comes.
    fn next(
        &mut self,
        cx: &mut ExecContext,
        out: &mut RowBatch,
        fill: impl FnOnce(&mut ExecContext, &mut ColumnBatch) -> Result<()>,
    ) -> Result<()> {
        self.refill(cx, out.wanted, fill)?;
        self.position += self.batch.rows_into(self.position, out)?;
        match out.is_empty() {
            true => self.failed.take().map_or(Ok(()), Err),
            false => Ok(()),
        }
    }

    /// As [`Self::next`], but hands at most `wanted` rows to the sink and returns their number.
    pub(crate) fn hand_over(
        &mut self,
        cx: &mut ExecContext,
        (wanted, sink): (usize, &mut dyn RowSink),
        fill: impl FnOnce(&mut ExecContext, &mut ColumnBatch) -> Result<()>,
    ) -> Result<usize> {
        self.refill(cx, wanted, fill)?;
        let rows = wanted.min(self.batch.len() - self.position);
        if rows == 0 {
            return self.failed.take().map_or(Ok(0), Err);
        }
        sink.columns(&ResultColumns::of(&self.batch, self.position, rows))?;
        self.position += rows;
        Ok(rows)
    }

    /// Makes the next columns if all rows of the last ones have been taken.
    fn refill(
        &mut self,
        cx: &mut ExecContext,
        wanted: usize,
        fill: impl FnOnce(&mut ExecContext, &mut ColumnBatch) -> Result<()>,
    ) -> Result<()> {
        if self.position < self.batch.len() {
            return Ok(());
        }
        if let Some(error) = self.failed.take() {
            return Err(error);
        }
        self.batch.clear();
        self.position = 0;
        self.batch.wanted = wanted;
        self.failed = fill(cx, &mut self.batch).err();
        match cx.is_overtaken {
            true => self.failed.take().map_or(Ok(()), Err),
            false => Ok(()),
        }
    }
}

impl CPlan {
    /// Filters and projects a node's rows into the empty batch `out`. With an error it has the
    /// rows before the one that failed.
    pub(crate) fn emit_columns(
        &self,
        cx: &mut ExecContext,
        rows: &ColumnBatch,
        out: &mut ColumnBatch,
    ) -> Result<()> {
        let done = match &self.columns {
            Some(columns) => columns.emit(cx, rows, out),
            None => Err(GiveUp),
        };
        let Ok(dropped) = done else { return self.emit_one_by_one(cx, rows, out) };
        if dropped > 0
            && let Some(instrument) = cx.instrument(self.id)
        {
            instrument.filtered += dropped as u64;
        }
        Ok(())
    }

    /// As [`Self::emit_columns`], of rows with no other reader, so that columns can be moved.
    pub(crate) fn emit_own_columns(
        &self,
        cx: &mut ExecContext,
        rows: &mut ColumnBatch,
        out: &mut ColumnBatch,
    ) -> Result<()> {
        let Some(columns) = self.columns.as_ref().filter(|plan| plan.filter.is_empty()) else {
            return self.emit_columns(cx, rows, out);
        };
        let done = columns.project_into(cx, rows, out);
        done.or_else(|GiveUp| self.emit_one_by_one(cx, rows, out))
    }

    /// [`Self::emit_columns`] where a kernel gives up.
    fn emit_one_by_one(
        &self,
        cx: &mut ExecContext,
        rows: &ColumnBatch,
        out: &mut ColumnBatch,
    ) -> Result<()> {
        out.set(0, vec![Vector::default(); self.width]);
        let (mut row, mut one) = (Vec::new(), RowBatch::new(self.width));
        for i in 0..rows.len() {
            row.clear();
            rows.row_into(i, &mut row)?;
            self.emit_owned(cx, &mut row, &mut one)?;
            one.iter().for_each(|row| out.push_row(row));
            one.clear();
        }
        Ok(())
    }
}

impl ColumnPlan {
    /// Puts the rows that pass the filter into `out`, projected; returns the number of others.
    fn emit(
        &self,
        cx: &mut ExecContext,
        rows: &ColumnBatch,
        out: &mut ColumnBatch,
    ) -> Result<usize, GiveUp> {
        let mut kept = Cow::Borrowed(rows);
        for condition in &self.filter {
            let places = condition.select(cx, &kept)?;
            if places.len() < kept.len() {
                kept = Cow::Owned(kept.gather(&places));
            }
            if kept.is_empty() {
                return Ok(rows.len());
            }
        }
        let dropped = rows.len() - kept.len();
        let columns = match &self.project {
            None => kept.into_owned().columns,
            Some(project) => {
                evaluate(project, &kept, cx)?.into_iter().map(Cow::into_owned).collect()
            }
        };
        out.set(rows.len() - dropped, columns);
        Ok(dropped)
    }
}

/// The values of expressions. An expression that is a column of the batch is borrowed.
pub(super) fn evaluate<'a>(
    exprs: &[VExpr],
    batch: &'a ColumnBatch,
    cx: &mut ExecContext,
) -> Result<Vec<Cow<'a, Vector>>, GiveUp> {
    let value = |expr: &VExpr| match expr {
        VExpr::Slot(index) => batch.columns.get(*index).map(Cow::Borrowed).ok_or(GiveUp),
        expr => expr.eval(cx, batch).map(Cow::Owned),
    };
    exprs.iter().map(value).collect()
}
