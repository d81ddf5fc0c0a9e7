//! Stored rows in blocks, for scans that read them column by column.
//!
//! ```text
//!   TableBlocks   all rows of a table ─┐
//!   BitmapBlocks  those of a bitmap ───┼▶ Blocks: a block, and how much of it was looked at
//!   IndexBlocks   those of an index ───┘
//! ```
//!
//! A source reads ahead of its consumer. That shows nowhere: which version of a row the snapshot
//! sees is the same at any time, an error waits until the rows before it have been looked at, and
//! what SERIALIZABLE has to note of rows that are looked up is noted of no more rows than are
//! wanted.

use super::{CNode, CPlan};
use crate::context::ExecContext;
use crate::vector::COLUMN_ROWS;
use std::ops::Range;
use steppe_counting::accesses;
use steppe_txn::{RowBlock, RowCursor};
use steppe_types::{Error, Result};

/// Where a scan's rows come from.
pub(super) trait BlockSource: Send {
    /// Begins, or begins again, at the first row.
    fn open(&mut self, plan: &CPlan, cx: &mut ExecContext) -> Result<()>;

    /// Puts the next rows into `block`, in place of those that it has: about `wanted`, at least
    /// one. False at the end. With an error the block has the rows before the one that failed.
    fn next_rows(
        &mut self,
        plan: &CPlan,
        cx: &mut ExecContext,
        block: &mut RowBlock,
        wanted: usize,
    ) -> Result<bool>;

    /// Counts rows that have been looked at.
    fn looked_at(&mut self, plan: &CPlan, rows: u64);
}

/// The rows of a scan, a block at a time.
pub(super) struct Blocks {
    source: Box<dyn BlockSource>,
    pub(super) block: RowBlock,
    /// The first row of the block that nobody has looked at.
    pub(super) position: usize,
    /// How many rows the next block is to have, if its consumer does not want more.
    ahead: usize,
    /// What became of the row behind the block's last one.
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

    /// Sees to it that there are rows to look at; false at the end.
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

    /// The rows that are looked at next, at most so many.
    pub(super) fn stretch(&self, most: usize) -> Range<usize> {
        self.position..self.block.len().min(self.position + most)
    }

    /// Counts rows that have been looked at.
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
    /// `None`: there are none.
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
