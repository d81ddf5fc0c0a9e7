//! Bitmap scans: entries of indexes are made into a set of rows, and the rows are read in their
//! order (nodeBitmapHeapscan.c, nodeBitmapIndexscan.c).
//!
//! ```text
//!   Bitmap Heap Scan         reads the set's rows; holds those that are not sure to `recheck`
//!     └─ BitmapOr            united
//!          ├─ Bitmap Index Scan    `row_set`: one bit a row
//!          └─ BitmapAnd      intersected
//! ```
//!
//! The set is made when the first row is wanted (`bitmap`). This node hands up rows. If columns can
//! be handed up, another node reads the same rows (`bitmap_blocks`).

use super::bitmap::{Counts, SetBlocks, rows_between, rows_of};
use super::row_set::{BLOCK_ROWS, Bits, Block};
use super::{BoxedNode, CNode, CPlan, Node};
use crate::access::{ScanColumn, TableAccess};
use crate::batch::RowBatch;
use crate::context::ExecContext;
use crate::expr::{CExpr, Row};
use std::sync::Arc;
use steppe_counting::accesses;
use steppe_txn::{RowBuf, RowCursor, RowId, RowMeta};
use steppe_types::{Datum, Error, Result};

/// A compiled scan of a bitmap's rows.
pub(crate) struct BitmapPlan {
    pub(crate) table: TableAccess,
    pub(crate) columns: Arc<[ScanColumn]>,
    /// The conditions to check again for rows of unsure and lossy blocks.
    pub(crate) recheck: CExpr,
    pub(crate) bitmap: Arc<CPlan>,
}

struct BitmapScanNode {
    plan: Arc<CPlan>,
    /// `None` before the bitmap has been made.
    blocks: Option<Box<SetBlocks>>,
    current: Current,
    row: RowBuf,
    scratch: Vec<Datum>,
    counts: Counts,
}

/// The present block.
enum Current {
    None,
    /// Its number, its rows, and the next place.
    Bits(u64, Box<Bits>, u64),
    Lossy(Box<RowCursor>),
}

pub(super) fn start(plan: Arc<CPlan>) -> BoxedNode {
    Box::new(BitmapScanNode {
        plan,
        blocks: None,
        current: Current::None,
        row: RowBuf::new(),
        scratch: Vec::new(),
        counts: Counts::default(),
    })
}

impl BitmapScanNode {
    /// Puts the next row's columns into `scratch`; false at the end.
    fn next_row(&mut self, scan: &BitmapPlan, cx: &mut ExecContext) -> Result<bool> {
        loop {
            match &mut self.current {
                Current::None => {
                    let next = self.blocks.as_mut().and_then(Iterator::next);
                    let Some((number, block)) = next else { return Ok(false) };
                    self.open(number, block, scan, cx)?;
                }
                Current::Bits(number, bits, from) => {
                    let Some(bit) = bits.next(*from) else {
                        self.current = Current::None;
                        continue;
                    };
                    *from = bit + 1;
                    let (id, is_unsure) = (RowId(*number * BLOCK_ROWS + bit), bits.is_unsure());
                    let Some(rows) = scan.table.rows() else { return Ok(false) };
                    let view = cx.view()?;
                    let Some(meta) = rows.get_near(view, id, &mut self.row)? else { continue };
                    self.decode(scan, (id, meta), cx)?;
                    if !is_unsure || self.holds(scan, cx)? {
                        return Ok(true);
                    }
                }
                Current::Lossy(cursor) => {
                    let Some((id, meta, row)) = cursor.next_version()? else {
                        self.current = Current::None;
                        continue;
                    };
                    self.scratch.clear();
                    let (view, out) = (cx.view()?, &mut self.scratch);
                    scan.table.decode_columns(row, (id, meta), view, &scan.columns, out)?;
                    if self.holds(scan, cx)? {
                        return Ok(true);
                    }
                    cx.check_interrupts()?;
                }
            }
        }
    }

    fn open(
        &mut self,
        number: u64,
        block: Block,
        scan: &BitmapPlan,
        cx: &mut ExecContext,
    ) -> Result<()> {
        self.current = match block {
            Block::Bits(bits) => {
                self.counts.exact += 1;
                Current::Bits(number, bits, 0)
            }
            Block::Lossy => {
                self.counts.lossy += 1;
                let Some(rows) = scan.table.rows() else { return Ok(()) };
                Current::Lossy(Box::new(rows_between(rows, number, cx)?))
            }
        };
        Ok(())
    }

    fn decode(
        &mut self,
        scan: &BitmapPlan,
        found: (RowId, RowMeta),
        cx: &mut ExecContext,
    ) -> Result<()> {
        self.scratch.clear();
        let (view, out) = (cx.view()?, &mut self.scratch);
        scan.table.decode_columns(self.row.row(), found, view, &scan.columns, out)
    }

    /// Whether a row satisfies the bitmap's conditions.
    fn holds(&mut self, scan: &BitmapPlan, cx: &mut ExecContext) -> Result<bool> {
        let holds = scan.recheck.holds(cx, Row::of(&self.scratch))?;
        self.counts.removed += u64::from(!holds);
        Ok(holds)
    }
}

impl Node for BitmapScanNode {
    fn next(&mut self, cx: &mut ExecContext, out: &mut RowBatch) -> Result<()> {
        let plan = self.plan.clone();
        let CNode::BitmapScan(scan) = &plan.kind else {
            return Err(Error::internal("bitmap scan node over another plan"));
        };
        if self.blocks.is_none() {
            self.blocks = Some(Box::new(rows_of(&scan.bitmap, cx)?.into_blocks()));
        }
        let (mut examined, mut read) = (0u32, 0);
        while !out.is_full() {
            examined += 1;
            if examined.is_multiple_of(256) {
                cx.check_interrupts()?;
            }
            if !self.next_row(scan, cx)? {
                break;
            }
            read += 1;
            plan.emit_owned(cx, &mut self.scratch, out)?;
        }
        if read > 0 {
            accesses::found(scan.table.relation.oid, 0, read);
        }
        self.counts.note(plan.id, cx);
        Ok(())
    }

    fn rescan(&mut self, _: &mut ExecContext) -> Result<()> {
        self.blocks = None;
        self.current = Current::None;
        Ok(())
    }
}
