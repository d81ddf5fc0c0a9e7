//! The rows of an index scan, in blocks.
//!
//! ```text
//!   entries ──▶ row ids ──get_block──▶ rows ──▶ those that have the entry's key
//!           └─▶ keys, where an entry does not tell whether the row has it
//! ```
//!
//! Rows are read in the order of the entries, as many as are wanted. The error of an entry is
//! returned after the rows of the entries before it.

use super::index_entries::IndexEntries;
use super::index_scan::{IndexPlan, has_key};
use super::row_blocks::BlockSource;
use super::{CNode, CPlan};
use crate::context::ExecContext;
use steppe_counting::accesses;
use steppe_txn::{RowBlock, RowId, Visibility};
use steppe_types::{Error, Result};

#[derive(Default)]
pub(super) struct IndexBlocks {
    entries: Option<IndexEntries>,
    ids: Vec<RowId>,
    places: Vec<u32>,
    /// The places of unsure entries, and where their keys end in `keys`.
    unsure: Vec<(u32, usize)>,
    keys: Vec<u8>,
    /// Rows whose keys are to be compared.
    found: RowBlock,
}

impl IndexBlocks {
    /// Takes the next entries, at most `wanted`. An error is returned after the entries before it.
    fn take_entries(
        &mut self,
        scan: &IndexPlan,
        cx: &mut ExecContext,
        wanted: usize,
    ) -> Result<()> {
        self.ids.clear();
        self.unsure.clear();
        self.keys.clear();
        let Some(entries) = &mut self.entries else { return Ok(()) };
        while self.ids.len() < wanted && entries.advance(scan, cx)? {
            let (key, row, visibility) = entries.entry()?;
            if visibility == Visibility::AskRow {
                self.keys.extend_from_slice(key);
                self.unsure.push((self.ids.len() as u32, self.keys.len()));
            }
            self.ids.push(row);
        }
        Ok(())
    }

    /// Looks up the rows of the entries; there may be none.
    fn fetch(
        &mut self,
        scan: &IndexPlan,
        cx: &mut ExecContext,
        block: &mut RowBlock,
    ) -> Result<()> {
        let Some(rows) = scan.table.rows() else { return Ok(()) };
        let view = cx.view()?;
        if self.unsure.is_empty() {
            return rows.get_block(view, &self.ids, block, &mut self.places);
        }
        *block = RowBlock::default();
        let read = rows.get_block(view, &self.ids, &mut self.found, &mut self.places);
        self.keep_keys(scan, block).and(read)
    }

    /// Keeps the found rows that have the keys of their entries.
    fn keep_keys(&self, scan: &IndexPlan, block: &mut RowBlock) -> Result<()> {
        let (mut unsure, mut start) = (self.unsure.iter().peekable(), 0);
        for (i, place) in self.places.iter().enumerate() {
            let row = self.found.row(i);
            // Rows of entries before this one were not found.
            while let Some((_, end)) = unsure.next_if(|(of, _)| of < place) {
                start = *end;
            }
            let end = unsure.peek().filter(|(of, _)| of == place).map(|(_, end)| *end);
            let has_key = match end {
                None => true,
                Some(end) => has_key(&scan.table, &scan.index, row, &self.keys[start..end])?,
            };
            if has_key {
                block.push(row);
            }
        }
        Ok(())
    }

    /// Counts searches and fetches since the last call.
    fn count(
        &mut self,
        (plan, scan): (&CPlan, &IndexPlan),
        cx: &mut ExecContext,
        before: (u64, u64),
    ) {
        let Some(entries) = &self.entries else { return };
        let (searches, fetches) = (entries.searches - before.0, entries.fetches - before.1);
        let index = scan.index.relation.oid;
        if searches > 0 {
            accesses::scanned(index, searches, cx.functions.statement_timestamp);
        }
        accesses::found(index, 0, fetches);
        if let Some(instrument) = cx.instrument(plan.id) {
            instrument.searches += searches;
            instrument.fetches += fetches;
        }
    }
}

fn scan_in(plan: &CPlan) -> Result<&IndexPlan> {
    match &plan.kind {
        CNode::IndexScan(scan) => Ok(scan),
        _ => Err(Error::internal("an index's rows are read by another plan")),
    }
}

impl BlockSource for IndexBlocks {
    fn open(&mut self, plan: &CPlan, cx: &mut ExecContext) -> Result<()> {
        self.entries = Some(IndexEntries::new(scan_in(plan)?, cx)?);
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
        loop {
            let before = self.entries.as_ref().map_or((0, 0), |e| (e.searches, e.fetches));
            let taken = self.take_entries(scan, cx, wanted);
            if let Some(entries) = &mut self.entries {
                entries.fetches += self.ids.len() as u64;
            }
            let fetched = self.fetch(scan, cx, block);
            self.count((plan, scan), cx, before);
            fetched.and(taken)?;
            if !block.is_empty() || self.ids.is_empty() {
                return Ok(!block.is_empty());
            }
            cx.check_interrupts()?;
        }
    }

    fn looked_at(&mut self, plan: &CPlan, rows: u64) {
        if let CNode::IndexScan(scan) = &plan.kind {
            accesses::found(scan.index.relation.oid, rows, 0);
        }
    }
}
