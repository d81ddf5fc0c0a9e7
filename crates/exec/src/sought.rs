//! The keys that a hash join looks for, for the scan of its outer side.
//!
//! Some joins hand up no outer rows without a match. When such a join has its table, it needs only
//! rows whose key may be in it. The scan below drops other rows after it has decoded only their
//! keys (Gubner, Boncz et al. and others push such filters down as Bloom filters). Here the filter
//! is the array of the table's buckets: each bucket has a filter of its rows' hashes.
//!
//! Only the time changes. Dropped rows are counted as handed up, a scan whose output can fail drops
//! none, and a row whose key is in the table is never dropped.

use crate::vector::NO_ROW;
use std::sync::Arc;
use steppe_types::Oid;

/// Bits of a bucket's filter.
const FILTER_BITS: u32 = 32;
/// A bucket without rows.
const NO_ENTRY: u64 = NO_ROW as u64;

/// The buckets of a hash join's table. Each has the first row of a chain, and a filter of
/// [`FILTER_BITS`] bits with one bit for each row of the chain.
#[derive(Default)]
pub(crate) struct Buckets(Vec<u64>);

impl Buckets {
    /// Buckets for `rows` rows.
    pub(crate) fn new(rows: usize) -> Buckets {
        Buckets(vec![NO_ENTRY; rows.next_power_of_two().max(64)])
    }

    /// The topmost bits of a hash choose the bucket.
    #[inline]
    fn shift(&self) -> u32 {
        64 - self.0.len().trailing_zeros()
    }

    /// Puts a row at the head of its chain; returns the row behind it, or [`NO_ROW`].
    #[inline]
    pub(crate) fn insert(&mut self, hash: u64, row: u32) -> u32 {
        let at = (hash >> self.shift()) as usize;
        let entry = &mut self.0[at];
        let next = *entry as u32;
        *entry = (*entry >> 32 << 32) | filter_bit(hash) | u64::from(row);
        next
    }

    /// For each hash, the head of the chain that may have its key.
    pub(crate) fn find(&self, hashes: &[u64], out: &mut Vec<u32>) {
        let shift = self.shift();
        let head = |hash: &u64| {
            let entry = self.0[(hash >> shift) as usize];
            if entry & filter_bit(*hash) == 0 { NO_ROW } else { entry as u32 }
        };
        out.clear();
        out.extend(hashes.iter().map(head));
    }

    /// The places of the hashes whose keys may be in the table.
    pub(crate) fn places(&self, hashes: &[u64]) -> Vec<u32> {
        let shift = self.shift();
        let places = hashes.iter().enumerate().filter(|(_, hash)| {
            let entry = self.0[(**hash >> shift) as usize];
            entry & filter_bit(**hash) != 0
        });
        places.map(|(place, _)| place as u32).collect()
    }
}

/// The bit of a hash in the filter of its bucket, above the row's number. It depends on other bits
/// than the bucket does.
#[inline]
fn filter_bit(hash: u64) -> u64 {
    1 << (32 + (hash as u32 & (FILTER_BITS - 1)))
}

/// The keys that a join looks for in a scan.
pub(crate) struct Sought {
    /// Number of the scan's node.
    pub(crate) scan: usize,
    /// The scan's columns that have the keys, and the types that they are hashed as.
    pub(crate) columns: Box<[usize]>,
    pub(crate) types: Box<[Oid]>,
    pub(crate) buckets: Arc<Buckets>,
}
