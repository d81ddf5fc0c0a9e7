//! The parts of a table that threads take one after the other to scan it together: the morsels of
//! Leis et al., "Morsel-Driven Parallelism" (2014), and what PostgreSQL's
//! table_block_parallelscan_nextpage hands out.
//!
//! The ends of parts are first row ids of leaves, as the nodes above them had them when the scan
//! began. Parts tile the row ids: whatever is split or merged meanwhile, each row is in one of
//! them. A part is taken by adding to a number, once for some thousand rows; towards the end they
//! get smaller, so that threads end at about the same time.

use std::ops::Bound;
use std::sync::atomic::{AtomicUsize, Ordering};

use steppe_types::Result;

use crate::table::{RowId, TableStore};

/// The leaves of a part, of a table that is large for it.
const LEAVES_MAX: usize = 64;
/// A table is cut into so many parts a thread at least, if it has as many leaves.
const PARTS_PER_THREAD: usize = 16;
/// So many of the parts that each thread may expect are cut into smaller ones.
const LAST_PARTS: usize = 2;
/// How many of those one makes.
const PIECES: usize = 4;

/// What of a table is still to be scanned.
#[derive(Debug)]
pub struct ScanParts {
    /// Where each part begins, but the first, which begins with the table.
    starts: Vec<RowId>,
    next: AtomicUsize,
}

impl ScanParts {
    /// Cuts a table into parts for so many threads. Reads no leaf.
    pub fn of(table: &TableStore, threads: usize) -> Result<ScanParts> {
        let mut leaves = Vec::new();
        table.page_starts(&mut |start| {
            leaves.push(start);
            Ok(())
        })?;
        Ok(ScanParts::of_leaves(&leaves, threads))
    }

    fn of_leaves(leaves: &[RowId], threads: usize) -> ScanParts {
        let threads = threads.max(1);
        let of_part = (leaves.len() / (threads * PARTS_PER_THREAD)).clamp(1, LEAVES_MAX);
        let of_last = (of_part / PIECES).max(1);
        let last = leaves.len().saturating_sub(threads * LAST_PARTS * of_part);
        let (mut starts, mut at) = (Vec::new(), 0);
        loop {
            at += if at < last { of_part } else { of_last };
            match leaves.get(at) {
                Some(start) => starts.push(*start),
                None => break,
            }
        }
        // Separators that are cut short may mean the same id.
        starts.dedup();
        ScanParts { starts, next: AtomicUsize::new(0) }
    }

    /// The next part that nobody has taken.
    pub(crate) fn take(&self) -> Option<(Bound<RowId>, Bound<RowId>)> {
        let part = self.next.fetch_add(1, Ordering::Relaxed);
        let start = |i: usize| self.starts.get(i).copied();
        let from = match part.checked_sub(1) {
            None => Bound::Unbounded,
            Some(before) => Bound::Included(start(before)?),
        };
        Some((from, start(part).map_or(Bound::Unbounded, Bound::Excluded)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn taken(leaves: u64, threads: usize) -> Vec<(Bound<RowId>, Bound<RowId>)> {
        let leaves: Vec<RowId> = (0..leaves).map(|leaf| RowId(leaf * 40)).collect();
        let parts = ScanParts::of_leaves(&leaves, threads);
        std::iter::from_fn(|| parts.take()).collect()
    }

    #[test]
    fn parts_tile_the_row_ids() {
        for (leaves, threads) in [(0, 1), (1, 3), (2, 3), (100, 3), (10_000, 3), (10_000, 1)] {
            let parts = taken(leaves, threads);
            assert_eq!(parts.first().map(|part| part.0), Some(Bound::Unbounded));
            assert_eq!(parts.last().map(|part| part.1), Some(Bound::Unbounded));
            for pair in parts.windows(2) {
                let (Bound::Excluded(end), Bound::Included(start)) = (pair[0].1, pair[1].0) else {
                    panic!("{pair:?}");
                };
                assert_eq!(end, start);
            }
            assert!(parts.len() as u64 <= leaves.max(1));
        }
    }

    #[test]
    fn the_last_parts_are_smaller() {
        let width = |part: &(Bound<RowId>, Bound<RowId>)| match part {
            (Bound::Included(from), Bound::Excluded(to)) => to.0 - from.0,
            other => panic!("{other:?}"),
        };
        let parts = taken(10_000, 3);
        let inner = &parts[1..parts.len() - 1];
        assert_eq!(inner.first().map(width), Some(64 * 40));
        assert_eq!(inner.last().map(width), Some(16 * 40));
    }
}
