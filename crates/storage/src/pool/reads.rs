//! How many pages of each tree were read from the file.
//!
//! A page says whose it is, so that only a read counts. That is slow anyway; still, threads
//! count in different places, so that those which read one tree seldom meet.

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
    /// A good page was read; those that are no tree's do not count.
    pub(super) fn count(&self, page: PageRef<'_>) {
        if page::kind(page) == Some(Kind::Node) {
            let shard = SHARD.try_with(|shard| *shard).unwrap_or(0);
            *self.0[shard].0.lock().entry(edit::tree_of(page)).or_default() += 1;
        }
    }

    /// All there are.
    pub(crate) fn all(&self) -> HashMap<TreeId, u64> {
        let mut all = HashMap::new();
        for Shard(shard) in &self.0 {
            for (tree, reads) in &*shard.lock() {
                *all.entry(*tree).or_default() += reads;
            }
        }
        all
    }

    /// Forgets those of other trees.
    pub(crate) fn retain(&self, stays: impl Fn(TreeId) -> bool) {
        for Shard(shard) in &self.0 {
            shard.lock().retain(|tree, _| stays(*tree));
        }
    }
}
