//! Stored rows in blocks, for scans that read them column by column.
//!
//! ```text
//!   TableBlocks   all rows of a table ─┐
//!   BitmapBlocks  those of a bitmap ───┼▶ Blocks: a block, and how much of it was looked at
//!   IndexBlocks   those of an index ───┘
//! ```
//!
//! A source reads ahead of its consumer, without a visible effect. The snapshot sees the same
//! version of a row at any time, and an error waits until the rows before it have been read. A
//! SERIALIZABLE transaction notes looked-up rows only as far as they are wanted.

use super::{CNode, CPlan};
use crate::context::ExecContext;
use crate::vector::COLUMN_ROWS;
use std::ops::Range;
use steppe_counting::accesses;
use steppe_txn::{RowBlock, RowCursor};
use steppe_types::{Error, Result};

/// The source of a scan's rows.
pub(super) trait BlockSource: Send {
    /// Begins, or begins again, at the first row.
    fn open(&mut self, plan: &CPlan, cx: &mut ExecContext) -> Result<()>;

    /// Replaces the rows of `block` by the next ones: about `wanted`, at least one. False at the
    /// end. With an error the block has the rows before the one that failed.
    fn next_rows(
        &mut self,
        plan: &CPlan,
        cx: &mut ExecContext,
        block: &mut RowBlock,
        wanted: usize,
    ) -> Result<bool>;

    /// Counts rows that the consumer has read.
    fn looked_at(&mut self, plan: &CPlan, rows: u64);
}

/// The rows of a scan, a block at a time.
pub(super) struct Blocks {
    source: Box<dyn BlockSource>,
    pub(super) block: RowBlock,
    /// The first row of the block that the consumer has not read.
    pub(super) position: usize,
    /// The number of rows for the next block, if its consumer does not want more.
    ahead: usize,
    /// The error of the row behind the block's last one.
    failed: Option<Error>,
    state: State,
}

enum State {
    Unopened,
    Open,
    Finished,
}

impl Blocks {
    pub(super) fn new(source: Box<dyn BlockSource>) -> Blocks {
        let block = RowBlock::default();
        Blocks { source, block, position: 0, ahead: 0, failed: None, state: State::Unopened }
    }

    /// Reads a block if no rows are left; false at the end.
    pub(super) fn fill(
        &mut self,
        plan: &CPlan,
        cx: &mut ExecContext,
        wanted: usize,
    ) -> Result<bool> {
        if self.position < self.block.len() {
            return Ok(true);
        }
        if let Some(error) = self.failed.take() {
            return Err(error);
        }
        match self.state {
            State::Unopened => {
                self.source.open(plan, cx)?;
                self.state = State::Open;
            }
            State::Open => {}
            State::Finished => return Ok(false),
        }
        cx.check_interrupts()?;
        let ahead = if cx.view()?.notes_reads() { wanted } else { wanted.max(self.ahead) };
        let wanted = ahead.clamp(1, COLUMN_ROWS);
        self.ahead = wanted * 2;
        self.position = 0;
        match self.source.next_rows(plan, cx, &mut self.block, wanted) {
            Ok(true) => Ok(true),
            Ok(false) => {
                self.position = self.block.len();
                self.state = State::Finished;
                Ok(false)
            }
            Err(error) if self.block.is_empty() => Err(error),
            Err(error) => {
                self.failed = Some(error);
                Ok(true)
            }
        }
    }

    /// The next rows to read, at most `most`.
    pub(super) fn stretch(&self, most: usize) -> Range<usize> {
        self.position..self.block.len().min(self.position + most)
    }

    /// Counts rows that the consumer has read.
    pub(super) fn looked_at(&mut self, plan: &CPlan, rows: usize) {
        if rows > 0 {
            self.source.looked_at(plan, rows as u64);
        }
    }

    /// Starts again from the first row.
    pub(super) fn rescan(&mut self) {
        self.state = State::Unopened;
        self.position = self.block.len();
        self.ahead = 0;
        self.failed = None;
    }
}

/// All rows of a table.
#[derive(Default)]
pub(super) struct TableBlocks {
    /// `None`: the table has no rows.
    cursor: Option<Box<RowCursor>>,
}

impl BlockSource for TableBlocks {
    fn open(&mut self, plan: &CPlan, cx: &mut ExecContext) -> Result<()> {
        let CNode::SeqScan(scan) = &plan.kind else {
            return Err(Error::internal("a table's rows are read by another plan"));
        };
        self.cursor = scan.open_rows(cx)?.map(Box::new);
        Ok(())
    }

    fn next_rows(
        &mut self,
        _: &CPlan,
        _: &mut ExecContext,
        block: &mut RowBlock,
        wanted: usize,
    ) -> Result<bool> {
        self.cursor.as_mut().map_or(Ok(false), |cursor| cursor.next_rows(block, wanted))
    }

    fn looked_at(&mut self, plan: &CPlan, rows: u64) {
        if let Some(scanned) = plan.kind.scanned() {
            accesses::found(scanned.table.oid, rows, 0);
        }
    }
}
