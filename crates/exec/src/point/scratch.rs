//! The buffers of a point statement.

use super::PointTable;
use crate::context::ExecContext;
use crate::node::{IndexPlan, find_point};
use std::cell::Cell;
use steppe_counting::accesses;
use steppe_txn::{RowBuf, RowId, RowMeta};
use steppe_types::{Datum, Result};

/// A longer key is in no index, but a statement may search for it: its buffer is not kept.
const KEY_BYTES_KEPT: usize = 8192;

/// Buffers of a point statement, reused by the thread's next one. The postings and the row
/// come from a page each, so they stay small.
#[derive(Default)]
pub(super) struct Scratch {
    pub(super) key: Vec<u8>,
    postings: Vec<u8>,
    pub(super) row: RowBuf,
    /// A row that has been deleted.
    pub(super) deleted: Vec<u8>,
    /// The stored form of an assigned value.
    pub(super) stored: Vec<u8>,
    pub(super) values: Vec<Datum>,
}

thread_local! {
    static SCRATCH: Cell<Option<Box<Scratch>>> = const { Cell::new(None) };
}

impl Scratch {
    /// Lends the thread's buffers, the key and the values empty.
    pub(super) fn with<T>(f: impl FnOnce(&mut Scratch) -> T) -> T {
        let mut scratch = SCRATCH.take().unwrap_or_default();
        scratch.key.clear();
        let result = f(&mut scratch);
        // Values may be large, or shared.
        scratch.values.clear();
        if scratch.key.capacity() > KEY_BYTES_KEPT {
            scratch.key = Vec::new();
        }
        SCRATCH.set(Some(scratch));
        result
    }

    /// The row that a scan looks up by its whole unique key, if there is one. It is left in
    /// `row`.
    pub(super) fn find(
        &mut self,
        scan: &IndexPlan,
        of: PointTable<'_>,
        cx: &mut ExecContext,
    ) -> Result<Option<(RowId, RowMeta)>> {
        if !scan.range.point_key(of.index, &mut self.key, cx)? {
            return Ok(None);
        }
        let (view, buffers) = (&cx.txn()?.view, (&mut self.postings, &mut self.row));
        let found = find_point(of.table, of.index, view, &self.key, buffers.0, buffers.1)?;
        let hits = u64::from(found.is_some());
        accesses::searched(of.index.oid, hits, cx.functions.statement_timestamp);
        Ok(found)
    }
}
