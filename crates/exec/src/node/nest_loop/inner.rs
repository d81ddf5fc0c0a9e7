//! The source of the inner rows of a nested loop by columns.

use super::NestLoopPlan;
use super::compile::{ColumnLoop, InnerSide};
use super::kept::Kept;
use super::lookup::{Lookup, Wanted};
use super::pairs::InnerRows;
use crate::context::ExecContext;
use crate::node::{CNode, IndexPlan};
use crate::vector::{ColumnBatch, DecodeRow, StoredRows, Vector};
use steppe_types::{Datum, Error, Result};

/// The inner rows, and the progress of a batch of outer rows through them.
pub(super) enum Inner {
    /// The rows that an index has for a key.
    Lookup(Box<Lookup>),
    /// The same for every outer row.
    Kept(Box<Kept>),
}

/// The pairs found by a step.
pub(super) struct Step<'a> {
    /// The outer row of each pair.
    pub(super) outer: &'a [u32],
    /// The inner row of each pair.
    pub(super) inner: &'a [u32],
    /// Runs of the inner side that have begun, and searches of its index.
    pub(super) loops: u64,
    pub(super) searches: u64,
    /// Rows fetched.
    pub(super) fetches: u64,
}

impl Inner {
    /// The inner side that the plan names.
    pub(super) fn new(join: &NestLoopPlan, columns: &ColumnLoop, cx: &mut ExecContext) -> Inner {
        match (&columns.inner, &join.inner.kind) {
            (InnerSide::Kept, CNode::Materialize(child)) => {
                Inner::Kept(Box::new(Kept::new(child, cx)))
            }
            _ => Inner::Lookup(Box::default()),
        }
    }

    /// Takes a batch of outer rows. With an error [`Self::rows`] is the number of rows before the
    /// one that failed.
    pub(super) fn begin(
        &mut self,
        (join, columns): (&NestLoopPlan, &ColumnLoop),
        outer: &ColumnBatch,
        cx: &mut ExecContext,
    ) -> Result<()> {
        match (self, &columns.inner) {
            (Inner::Lookup(lookup), InnerSide::Index { keys, .. }) => {
                lookup.begin(join, keys, outer, cx)
            }
            (Inner::Kept(kept), InnerSide::Kept) => {
                kept.begin(outer.len());
                Ok(())
            }
            _ => Err(another_side()),
        }
    }

    /// The number of outer rows.
    pub(super) fn rows(&self) -> usize {
        match self {
            Inner::Lookup(lookup) => lookup.rows(),
            Inner::Kept(kept) => kept.outer_rows(),
        }
    }

    /// The outer row that is joined next, or is being.
    pub(super) fn row(&self) -> usize {
        match self {
            Inner::Lookup(lookup) => lookup.row(),
            Inner::Kept(kept) => kept.row(),
        }
    }

    /// Whether all outer rows have been joined.
    pub(super) fn is_done(&self) -> bool {
        self.row() >= self.rows()
    }

    /// Skips the rest of the present outer row, which has its match.
    pub(super) fn skip(&mut self) {
        match self {
            Inner::Lookup(lookup) => lookup.skip(),
            Inner::Kept(kept) => kept.skip(),
        }
    }

    /// Finds the next pairs.
    pub(super) fn step(
        &mut self,
        (join, columns): (&NestLoopPlan, &ColumnLoop),
        wanted: Wanted,
        cx: &mut ExecContext,
    ) -> Result<()> {
        match (self, &columns.inner) {
            (Inner::Lookup(lookup), InnerSide::Index { keys, .. }) => {
                lookup.step(index_scan(join)?, keys, wanted, cx)
            }
            (Inner::Kept(kept), InnerSide::Kept) => kept.step(wanted, cx),
            _ => Err(another_side()),
        }
    }

    /// The pairs found by the last step.
    pub(super) fn found(&self) -> Step<'_> {
        match self {
            Inner::Lookup(lookup) => Step {
                outer: &lookup.found.outer,
                inner: &lookup.found.inner,
                loops: lookup.counts.loops,
                searches: lookup.counts.searches,
                fetches: lookup.counts.fetches,
            },
            Inner::Kept(kept) => Step {
                outer: &kept.found.outer,
                inner: &kept.found.inner,
                loops: kept.found.loops,
                searches: 0,
                fetches: 0,
            },
        }
    }

    /// The found rows by columns; `decode` is for rare forms of stored values.
    pub(super) fn columns<'a>(
        &'a self,
        (join, columns): (&'a NestLoopPlan, &'a ColumnLoop),
        decode: &'a DecodeRow<'a>,
    ) -> Result<InnerRows<'a>> {
        match (self, &columns.inner) {
            (Inner::Lookup(lookup), InnerSide::Index { positions, .. }) => {
                let scan = index_scan(join)?;
                if scan.key_columns.is_some() {
                    return Ok(InnerRows::Columns(&lookup.found.columns));
                }
                let layout = &scan.table.layout;
                let rows = 0..lookup.found.rows.len();
                let stored = StoredRows::new(layout, &lookup.found.rows, rows, decode);
                Ok(InnerRows::Stored(stored, positions))
            }
            (Inner::Kept(kept), InnerSide::Kept) => Ok(InnerRows::Columns(kept.columns())),
            _ => Err(another_side()),
        }
    }

    /// Appends the inner row of found pair `i`, as the inner side's input row, to `out`.
    pub(super) fn row_into(
        &self,
        (join, columns): (&NestLoopPlan, &ColumnLoop),
        i: usize,
        out: &mut Vec<Datum>,
    ) -> Result<()> {
        match (self, &columns.inner) {
            (Inner::Lookup(lookup), InnerSide::Index { positions, .. }) => {
                let row = *lookup.found.inner.get(i).ok_or_else(another_side)?;
                let scan = index_scan(join)?;
                if scan.key_columns.is_some() {
                    return value_of(&lookup.found.columns, row, out);
                }
                scan.table.decode_stored(lookup.found.rows.row(row as usize), positions, out)
            }
            (Inner::Kept(kept), InnerSide::Kept) => {
                let row = *kept.found.inner.get(i).ok_or_else(another_side)?;
                value_of(kept.columns(), row, out)
            }
            _ => Err(another_side()),
        }
    }

    /// Drops the outer rows.
    pub(super) fn rescan(&mut self, cx: &mut ExecContext) -> Result<()> {
        match self {
            Inner::Lookup(lookup) => {
                **lookup = Lookup::default();
                Ok(())
            }
            Inner::Kept(kept) => kept.rescan(cx),
        }
    }
}

/// Appends the values of a row.
fn value_of(columns: &[Vector], row: u32, out: &mut Vec<Datum>) -> Result<()> {
    for column in columns {
        out.push(column.datum(row as usize)?);
    }
    Ok(())
}

/// The scan of the inner side.
pub(super) fn index_scan(join: &NestLoopPlan) -> Result<&IndexPlan> {
    match &join.inner.kind {
        CNode::IndexScan(scan) => Ok(scan),
        _ => Err(another_side()),
    }
}

#[cold]
fn another_side() -> Error {
    Error::internal("nested loop of columns over another inner side")
}
