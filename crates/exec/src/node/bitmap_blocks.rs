//! The rows of a bitmap, in blocks.
//!
//! ```text
//!   sure block     row ids ──get_block──▶ rows
//!   unsure block   row ids ──get_block──▶ rows ──recheck──▶ rows
//!   lossy block    all rows between       rows ──recheck──▶ rows
//! ```
//!
//! Rows are read in the order of their ids, as in `bitmap_scan`. A block that is handed up has rows
//! of sure blocks of the bitmap, or of one other block. The conditions to check again are the
//! index's. They have no effects, and their errors wait for their row's turn like other errors.

use super::bitmap::{Counts, SetBlocks, rows_between, rows_of};
use super::bitmap_scan::BitmapPlan;
use super::row_blocks::BlockSource;
use super::row_set::{BLOCK_ROWS, Bits, Block};
use super::{CNode, CPlan};
use crate::context::ExecContext;
use crate::expr::Row;
use steppe_counting::accesses;
use steppe_txn::{RowBlock, RowCursor, RowId};
use steppe_types::{Datum, Error, Result};

pub(super) struct BitmapBlocks {
    /// The later blocks of the bitmap.
    blocks: Option<Box<SetBlocks>>,
    current: Current,
    /// Positions of the scan's columns in the table.
    columns: Box<[usize]>,
    ids: Vec<RowId>,
    places: Vec<u32>,
    /// Rows whose conditions are to be checked again, and the columns of one row.
    found: RowBlock,
    row: Vec<Datum>,
    counts: Counts,
}

/// The present block of the bitmap.
enum Current {
    None,
    /// Its number, its rows, and the next place.
    Bits(u64, Box<Bits>, u64),
    /// Its number, and the cursor over all its rows.
    Lossy(u64, Option<Box<RowCursor>>),
}

impl BitmapBlocks {
    pub(super) fn new(columns: Box<[usize]>) -> BitmapBlocks {
        BitmapBlocks {
            blocks: None,
            current: Current::None,
            columns,
            ids: Vec::new(),
            places: Vec::new(),
            found: RowBlock::default(),
            row: Vec::new(),
            counts: Counts::default(),
        }
    }

    /// Moves to the next block; false if there is none.
    fn go_on(&mut self) -> bool {
        if !matches!(self.current, Current::None) {
            return true;
        }
        let next = self.blocks.as_mut().and_then(Iterator::next);
        let Some((number, block)) = next else { return false };
        self.current = match block {
            Block::Bits(bits) => {
                self.counts.exact += 1;
                Current::Bits(number, bits, 0)
            }
            Block::Lossy => {
                self.counts.lossy += 1;
                Current::Lossy(number, None)
            }
        };
        true
    }

    /// Takes the ids of the next rows, at most `wanted`, of sure blocks or of one unsure block.
    /// Returns whether the block is unsure.
    fn take_ids(&mut self, wanted: usize) -> bool {
        self.ids.clear();
        loop {
            let Current::Bits(number, bits, from) = &mut self.current else { return false };
            let is_unsure = bits.is_unsure();
            if is_unsure && !self.ids.is_empty() {
                return false;
            }
            let first = *number * BLOCK_ROWS;
            while self.ids.len() < wanted
                && let Some(bit) = bits.next(*from)
            {
                self.ids.push(RowId(first + bit));
                *from = bit + 1;
            }
            if self.ids.len() >= wanted {
                return is_unsure;
            }
            self.current = Current::None;
            if is_unsure || !self.go_on() {
                return is_unsure;
            }
        }
    }

    /// Puts rows of one kind into `block`; there may be none.
    fn fetch(
        &mut self,
        scan: &BitmapPlan,
        cx: &mut ExecContext,
        block: &mut RowBlock,
        wanted: usize,
    ) -> Result<()> {
        let Some(rows) = scan.table.rows() else { return Ok(()) };
        if let Current::Lossy(number, cursor) = &mut self.current {
            *block = RowBlock::default();
            let cursor = match cursor {
                Some(cursor) => cursor,
                none => none.insert(Box::new(rows_between(rows, *number, cx)?)),
            };
            let read = cursor.next_rows(&mut self.found, wanted);
            if let Ok(false) = read {
                self.current = Current::None;
            }
            return self.hold(scan, cx, block).and(read.map(drop));
        }
        let is_unsure = self.take_ids(wanted);
        let view = cx.view()?;
        if !is_unsure {
            return rows.get_block(view, &self.ids, block, &mut self.places);
        }
        *block = RowBlock::default();
        let read = rows.get_block(view, &self.ids, &mut self.found, &mut self.places);
        self.hold(scan, cx, block).and(read)
    }

    /// Keeps the found rows that satisfy the bitmap's conditions.
    fn hold(
        &mut self,
        scan: &BitmapPlan,
        cx: &mut ExecContext,
        block: &mut RowBlock,
    ) -> Result<()> {
        for i in 0..self.found.len() {
            self.row.clear();
            let row = self.found.row(i);
            scan.table.decode_stored(row, &self.columns, &mut self.row)?;
            match scan.recheck.holds(cx, Row::of(&self.row))? {
                true => block.push(row),
                false => self.counts.removed += 1,
            }
        }
        Ok(())
    }
}

fn scan_in(plan: &CPlan) -> Result<&BitmapPlan> {
    match &plan.kind {
        CNode::BitmapScan(scan) => Ok(scan),
        _ => Err(Error::internal("a bitmap's rows are read by another plan")),
    }
}

impl BlockSource for BitmapBlocks {
    fn open(&mut self, plan: &CPlan, cx: &mut ExecContext) -> Result<()> {
        self.current = Current::None;
        self.blocks = Some(Box::new(rows_of(&scan_in(plan)?.bitmap, cx)?.into_blocks()));
        Ok(())
    }

    fn next_rows(
        &mut self,
        plan: &CPlan,
        cx: &mut ExecContext,
        block: &mut RowBlock,
        wanted: usize,
    ) -> Result<bool> {
        let scan = scan_in(plan)?;
        let mut result = Ok(false);
        while let Ok(false) = result
            && self.go_on()
        {
            result = self.fetch(scan, cx, block, wanted).map(|()| !block.is_empty());
            if let Ok(false) = result {
                cx.check_interrupts()?;
            }
        }
        self.counts.note(plan.id, cx);
        result
    }

    fn looked_at(&mut self, plan: &CPlan, rows: u64) {
        if let Some(scanned) = plan.kind.scanned() {
            accesses::found(scanned.table.relation.oid, 0, rows);
        }
    }
}
