//! Inner rows that are the same for all outer rows, kept as columns, as Materialize keeps rows for
//! the loop of rows.
//!
//! ```text
//!   child ──▶ columns, up to work_mem ──▶ every outer row with some of them, or
//!        └──▶ rest, on disk           ──▶ one outer row with a block of it
//! ```
//!
//! The child is read only as far as needed. A semi join that finds its matches early, or a LIMIT,
//! leaves the rest unread.

use super::lookup::Wanted;
use crate::context::{ExecContext, Versions};
use crate::expr::Row;
use crate::node::CPlan;
use crate::node::columns::ColumnInput;
use crate::tuplestore::{StoreReader, TupleStore};
use crate::vector::{COLUMN_ROWS, ColumnBatch, Vector};
use std::sync::Arc;
use steppe_types::{Error, Result};

/// The inner rows, and the progress of a batch of outer rows through them.
pub(super) struct Kept {
    child: ColumnInput,
    width: usize,
    /// The versions of the parameters that the child depends on, once it has been read.
    versions: Option<Versions>,
    is_finished: bool,
    /// The error of the row behind the last one that the child has handed up.
    failed: Option<Error>,
    incoming: ColumnBatch,
    /// The rows in memory, and the bytes they take.
    rows: usize,
    columns: Vec<Vector>,
    bytes: usize,
    /// The rows behind them, and a block of these.
    rest: Option<TupleStore>,
    reader: StoreReader,
    block: ColumnBatch,
    /// The first outer row that has not been joined with all inner rows, whether it has been begun,
    /// and with how many of those in memory it has been joined.
    row: usize,
    is_begun: bool,
    position: usize,
    outer_rows: usize,
    pub(super) found: Met,
}

/// The pairs of a step.
#[derive(Default)]
pub(super) struct Met {
    pub(super) outer: Vec<u32>,
    pub(super) inner: Vec<u32>,
    /// The inner rows are those of the block.
    in_block: bool,
    /// Outer rows that have been begun.
    pub(super) loops: u64,
}

impl Kept {
    /// Rows of this child.
    pub(super) fn new(child: &Arc<CPlan>, cx: &mut ExecContext) -> Kept {
        let width = child.width;
        Kept {
            child: ColumnInput::new(child, cx),
            width,
            versions: None,
            is_finished: false,
            failed: None,
            incoming: ColumnBatch::new(width),
            rows: 0,
            columns: vec![Vector::default(); width],
            bytes: 0,
            rest: None,
            reader: StoreReader::default(),
            block: ColumnBatch::new(width),
            row: 0,
            is_begun: false,
            position: 0,
            outer_rows: 0,
            found: Met::default(),
        }
    }

    /// Takes a batch of `outer_rows` outer rows.
    pub(super) fn begin(&mut self, outer_rows: usize) {
        self.outer_rows = outer_rows;
        self.row = 0;
        self.restart();
    }

    /// The outer row that is joined next, or is being.
    pub(super) fn row(&self) -> usize {
        self.row
    }

    /// The number of outer rows.
    pub(super) fn outer_rows(&self) -> usize {
        self.outer_rows
    }

    /// Skips the rest of the present outer row, which has its match.
    pub(super) fn skip(&mut self) {
        self.row += 1;
        self.restart();
    }

    fn restart(&mut self) {
        (self.is_begun, self.position) = (false, 0);
        self.reader.rewind();
    }

    /// Finds the next pairs.
    pub(super) fn step(&mut self, wanted: Wanted, cx: &mut ExecContext) -> Result<()> {
        self.found.outer.clear();
        self.found.inner.clear();
        (self.found.in_block, self.found.loops) = (false, 0);
        let from = self.row;
        while self.row < self.outer_rows {
            let met = self.found.outer.len();
            let room = wanted.limit.saturating_sub(met + self.row - from);
            if room == 0 {
                break;
            }
            if !std::mem::replace(&mut self.is_begun, true) {
                self.found.loops += 1;
            }
            if self.position < self.rows {
                let until = self.rows.min(self.position + room);
                self.meet(self.position, until);
                self.position = until;
            } else if self.is_finished && self.rest.is_none() {
                self.skip();
            } else if met > 0 {
                // The row behind these may not be needed.
                break;
            } else if self.rest.is_some() {
                if self.read_block(room)? {
                    self.found.in_block = true;
                    self.meet(0, self.block.len());
                    break;
                }
                match self.is_finished {
                    true => self.skip(),
                    false => self.read_child(cx)?,
                }
            } else {
                self.read_child(cx)?;
            }
        }
        Ok(())
    }

    /// Pairs of the present outer row.
    fn meet(&mut self, from: usize, until: usize) {
        let inner = from as u32..until as u32;
        self.found.outer.resize(self.found.outer.len() + inner.len(), self.row as u32);
        self.found.inner.extend(inner);
    }

    /// The columns of the inner rows that the pairs are of.
    pub(super) fn columns(&self) -> &[Vector] {
        if self.found.in_block { &self.block.columns } else { &self.columns }
    }

    /// Reads rows that are not in memory; false if there are no more as yet.
    fn read_block(&mut self, room: usize) -> Result<bool> {
        let Some(rest) = &mut self.rest else { return Ok(false) };
        self.block.clear();
        self.block.columns.resize_with(self.width, Vector::default);
        let mut row = Vec::with_capacity(self.width);
        while self.block.len() < room.min(COLUMN_ROWS) && !self.block.is_large() {
            row.clear();
            if !rest.read_one(&mut self.reader, &mut row)? {
                break;
            }
            self.block.push_row(&row);
        }
        Ok(!self.block.is_empty())
    }

    /// Keeps the child's next rows.
    fn read_child(&mut self, cx: &mut ExecContext) -> Result<()> {
        if let Some(error) = self.failed.take() {
            return Err(error);
        }
        cx.check_interrupts()?;
        if self.versions.is_none() {
            self.versions = Some(cx.versions(self.child.dependencies()));
        }
        self.incoming.clear();
        if let Err(error) = self.child.next(cx, &mut self.incoming) {
            if self.incoming.is_empty() || cx.is_overtaken {
                return Err(error);
            }
            self.failed = Some(error);
        }
        self.is_finished = self.incoming.is_empty();
        if self.rest.is_none() && self.bytes >= cx.work_mem_bytes {
            self.rest = Some(cx.new_store(self.width));
        }
        if let Some(rest) = &mut self.rest {
            let mut row = Vec::with_capacity(self.width);
            for i in 0..self.incoming.len() {
                row.clear();
                self.incoming.row_into(i, &mut row)?;
                rest.push(Row::of(&row))?;
            }
            return Ok(());
        }
        self.rows += self.incoming.len();
        for (kept, column) in self.columns.iter_mut().zip(&self.incoming.columns) {
            self.bytes += column.bytes();
            kept.append(column);
        }
        Ok(())
    }

    /// Drops the outer rows, and the inner ones if they have changed.
    pub(super) fn rescan(&mut self, cx: &mut ExecContext) -> Result<()> {
        self.begin(0);
        let Some(versions) = &self.versions else { return Ok(()) };
        if versions.current(cx) {
            return Ok(());
        }
        (self.versions, self.is_finished, self.failed) = (None, false, None);
        (self.rows, self.bytes, self.rest) = (0, 0, None);
        self.columns = vec![Vector::default(); self.width];
        self.child.rescan(cx)
    }
}
