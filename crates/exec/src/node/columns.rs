//! Between nodes that hand up columns and nodes that take rows, and the other way round.

use super::{BoxedNode, CPlan, start};
use crate::batch::RowBatch;
use crate::context::ExecContext;
use crate::vector::ColumnBatch;
use std::sync::Arc;
use steppe_types::{Error, Result};

/// A child whose rows are taken as columns, whichever way it hands them up.
pub(crate) struct ColumnInput {
    node: BoxedNode,
    /// For the rows of a child that hands up no columns.
    rows: Option<RowBatch>,
}

impl ColumnInput {
    /// Starts the child.
    pub(crate) fn new(plan: &Arc<CPlan>, cx: &mut ExecContext) -> ColumnInput {
        let rows = plan.columns.is_none().then(|| RowBatch::new(plan.width));
        ColumnInput { node: start(plan, cx), rows }
    }

    /// Fills the empty batch `out`; leaves it empty at the end. With an error it has the rows
    /// before the one that failed.
    pub(crate) fn next(&mut self, cx: &mut ExecContext, out: &mut ColumnBatch) -> Result<()> {
        let Some(rows) = &mut self.rows else { return self.node.next_columns(cx, out) };
        rows.clear();
        rows.wanted = out.wanted.clamp(1, crate::batch::BATCH_ROWS);
        let filled = self.node.next(cx, rows);
        rows.iter().for_each(|row| out.push_row(row));
        filled
    }

    /// Starts again from the first row.
    pub(crate) fn rescan(&mut self, cx: &mut ExecContext) -> Result<()> {
        self.node.rescan(cx)
    }
}

/// The rows of a node that hands up columns, for a consumer that takes rows.
#[derive(Default)]
pub(crate) struct RowsOfColumns {
    batch: ColumnBatch,
    position: usize,
    /// What became of the row behind the batch's last one.
    failed: Option<Error>,
}

impl RowsOfColumns {
    /// Fills the empty batch `out` with the next rows; `fill` makes the next columns. A row that
    /// fails does so when its turn comes.
    pub(crate) fn next(
        &mut self,
        cx: &mut ExecContext,
        out: &mut RowBatch,
        fill: impl FnOnce(&mut ExecContext, &mut ColumnBatch) -> Result<()>,
    ) -> Result<()> {
        if self.position >= self.batch.len() {
            if let Some(error) = self.failed.take() {
                return Err(error);
            }
            self.batch.clear();
            self.position = 0;
            self.batch.wanted = out.wanted;
            self.failed = fill(cx, &mut self.batch).err();
        }
        self.position += self.batch.rows_into(self.position, out)?;
        match out.is_empty() {
            true => self.failed.take().map_or(Ok(()), Err),
            false => Ok(()),
        }
    }

    /// Forgets what has not been handed up.
    pub(crate) fn clear(&mut self) {
        *self = RowsOfColumns::default();
    }
}
