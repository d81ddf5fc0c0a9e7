//! The numbers of rows: where a table's go on, and the ranges that sessions reserve.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use steppe_storage::{Tree, TreeId};
use steppe_types::Result;

use crate::files::DatabaseId;
use crate::rollback::Gone;
use crate::table::RowId;

/// What the sessions share about a table.
#[derive(Debug)]
pub(crate) struct TableShared {
    next_row: AtomicU64,
    /// The database and the owner that its changes are counted for, if they are
    /// ([`crate::TableStore::open_counted`]).
    owner: OnceLock<(DatabaseId, u32)>,
}

impl TableShared {
    /// The next id is above the first eight bytes of the greatest key.
    pub(crate) fn open(tree: &Tree) -> Result<TableShared, Gone> {
        let last = tree.last_key()?;
        let last = last.map(|key| row_id_of(key.get(..8).unwrap_or(&key))).transpose()?;
        let next_row = AtomicU64::new(last.map_or(1, |row| row.0 + 1));
        Ok(TableShared { next_row, owner: OnceLock::new() })
    }

    /// The database and the owner that changes are counted for.
    pub(crate) fn owner(&self) -> Option<(DatabaseId, u32)> {
        self.owner.get().copied()
    }

    /// A file has one owner: the first one that is set stays.
    pub(crate) fn set_owner(&self, database: DatabaseId, owner: u32) {
        self.owner.get_or_init(|| (database, owner));
    }

    pub(crate) fn next(&self) -> u64 {
        self.next_row.load(Ordering::Relaxed)
    }

    pub(crate) fn take_one(&self) -> u64 {
        self.next_row.fetch_add(1, Ordering::Relaxed)
    }
}

pub(crate) fn row_id_of(key: &[u8]) -> Result<RowId> {
    let bytes = key.try_into().map_err(|_| crate::change::corrupt("row id"))?;
    Ok(RowId(u64::from_be_bytes(bytes)))
}

/// Row ids that a session has reserved, by table. A range doubles each time, so
/// that a script's few rows are numbered in the order of their insertion while
/// sessions that insert much do not meet at the right edge.
///
/// A table has one place where its range can be; there another table's may take its turn.
#[derive(Default, Debug)]
pub(crate) struct RowIdRanges {
    places: Vec<(Option<TreeId>, RowIdRange)>,
}

#[derive(Clone, Copy, Debug, Default)]
struct RowIdRange {
    next: u64,
    end: u64,
    last_size: u64,
}

/// So many ids are reserved at once, at most.
pub(crate) const RANGE_SIZE_MAX: u64 = 1024;
/// Tables a session remembers ranges of.
const RANGES_MAX: usize = 64;

impl RowIdRanges {
    fn range(&mut self, tree: TreeId) -> &mut RowIdRange {
        if self.places.is_empty() {
            self.places.resize_with(RANGES_MAX, Default::default);
        }
        let at = (tree.generation % RANGES_MAX as u64) as usize;
        let (owner, range) = &mut self.places[at];
        if *owner != Some(tree) {
            (*owner, *range) = (Some(tree), RowIdRange::default());
        }
        range
    }

    /// Up to `wanted` consecutive ids: the first, and how many.
    pub(crate) fn take(&mut self, tree: TreeId, shared: &TableShared, wanted: u64) -> (u64, u64) {
        let range = self.range(tree);
        if range.next == range.end {
            let size = (range.last_size * 2).clamp(1, RANGE_SIZE_MAX).max(wanted);
            range.last_size = size.min(RANGE_SIZE_MAX);
            range.next = shared.next_row.fetch_add(size, Ordering::Relaxed);
            range.end = range.next + size;
        }
        let (first, count) = (range.next, wanted.min(range.end - range.next));
        range.next += count;
        (first, count)
    }
}
