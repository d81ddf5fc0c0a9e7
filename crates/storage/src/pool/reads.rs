//! Counts pages of each tree that were read from the file.
//!
//! Finding the tree needs the page, so only reads are counted. Reads are slow anyway. Threads count
//! in different shards, so that threads that read the same tree seldom contend.

use crate::page::{self, Kind, edit};
use crate::types::TreeId;
use parking_lot::Mutex;
use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::memory::PageRef;

const SHARDS: usize = 16;

static NEXT_THREAD: AtomicUsize = AtomicUsize::new(0);

thread_local! {
    static SHARD: usize = NEXT_THREAD.fetch_add(1, Ordering::Relaxed) % SHARDS;
}

#[derive(Default)]
#[repr(align(128))]
struct Shard(Mutex<HashMap<TreeId, u64>>);

/// Counts by tree.
#[derive(Default)]
pub(crate) struct TreeReads([Shard; SHARDS]);

impl TreeReads {
    /// Counts a good page that was read, if it is a tree's.
    pub(super) fn count(&self, page: PageRef<'_>) {
        if page::kind(page) == Some(Kind::Node) {
            let shard = SHARD.try_with(|shard| *shard).unwrap_or(0);
            *self.0[shard].0.lock().entry(edit::tree_of(page)).or_default() += 1;
        }
    }

    /// The counts of all trees.
    pub(crate) fn all(&self) -> HashMap<TreeId, u64> {
        let mut all = HashMap::new();
        for Shard(shard) in &self.0 {
            for (tree, reads) in &*shard.lock() {
                *all.entry(*tree).or_default() += reads;
            }
        }
        all
    }

    /// Removes the counts of trees for which `stays` is false.
    pub(crate) fn retain(&self, stays: impl Fn(TreeId) -> bool) {
        for Shard(shard) in &self.0 {
            shard.lock().retain(|tree, _| stays(*tree));
        }
    }
}
