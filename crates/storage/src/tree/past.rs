//! Reads the leaves of a large scan past the pool: see `pool::past`, whose condition F is used
//! here.
//!
//! A descent ends at the leaf's parent (level 1), which also shows the next pages. The order is
//! that of T2, with the word of a page out of memory as its version: the leaf's word is read, then
//! the parent validates. At that moment the leaf was the one that covers the key, and its content
//! was that of the file between the two reads of its word. In any other case (a leaf in memory, a
//! page that fails its checks or belongs to another tree) the descent through the pool is used,
//! which also reports errors.

use super::{Located, Target, Tree};
use crate::error::Result;
use crate::page::node;
use crate::pool::memory::PageBuf;
use crate::pool::past::PagesRead;
use crate::types::PageId;
use std::ops::Bound;

/// Leaves that a scan reads through the pool before it checks the tree's size.
const FIRST_LEAVES: u32 = 16;

/// The way of reading leaves that are not in memory.
pub(super) enum Way {
    /// Into the pool.
    Pool,
    /// Into the pool for this many more leaves; then the tree's size decides.
    Undecided(u32),
    /// Past the pool.
    Past(Box<PagesRead>),
}

impl Way {
    /// The way of a scan of all entries.
    pub(super) fn of_whole_tree() -> Way {
        Way::Undecided(FIRST_LEAVES)
    }

    /// Copies the leaf that covers `key` past the pool, if that is the scan's way and is possible.
    /// Leaves from `end` on are not read ahead.
    #[inline]
    pub(super) fn copy_leaf(
        &mut self,
        tree: &Tree,
        (key, end): (&[u8], &Bound<Vec<u8>>),
        (above, copy): (&mut Option<Located>, &mut PageBuf),
    ) -> Result<Option<PageId>> {
        match self {
            Way::Pool => return Ok(None),
            Way::Undecided(0) => {
                *self = match tree.is_large()? {
                    true => Way::Past(Box::default()),
                    false => Way::Pool,
                };
            }
            Way::Undecided(left) => {
                *left -= 1;
                return Ok(None);
            }
            Way::Past(_) => {}
        }
        match self {
            Way::Past(read) => tree.copy_past((key, end), above, read, copy),
            _ => Ok(None),
        }
    }
}

impl Tree {
    /// Whether a scan of all leaves should read past the pool. The number of leaves is an estimate,
    /// as if all nodes were as full as the leftmost ones.
    fn is_large(&self) -> Result<bool> {
        let pool = self.pool();
        let root = self.locate(Target::Last, u8::MAX)?;
        let mut leaves = 1u64;
        for level in (1..=node::level(pool.page(root.id))).rev() {
            let first = self.locate(Target::Key(&[]), level)?;
            leaves = leaves.saturating_mul(node::slot_count(pool.page(first.id)) as u64 + 1);
        }
        Ok(pool.is_large(leaves))
    }

    /// Copies the leaf that covers `key`; `None` if it must be read through the pool.
    fn copy_past(
        &self,
        (key, end): (&[u8], &Bound<Vec<u8>>),
        above: &mut Option<Located>,
        read: &mut PagesRead,
        copy: &mut PageBuf,
    ) -> Result<Option<PageId>> {
        let pool = self.pool();
        let above = self.above_leaf(key, above)?;
        let page = pool.page(above.id);
        let child = |position| self.child_of(page, position);
        let position = node::child_position(page, key);
        let Some(leaf) = child(position).filter(|_| node::level(page) == 1) else {
            return Ok(None);
        };
        let Some(absence) = pool.absence(leaf) else { return Ok(None) };
        if !read.has(leaf, absence) {
            if pool.has_spare_room() {
                return Ok(None);
            }
            let last = match end {
                Bound::Included(end) | Bound::Excluded(end) if node::covers(page, end) => {
                    node::child_position(page, end)
                }
                _ => node::slot_count(page),
            };
            let siblings = position..=last.max(position);
            pool.read_past(siblings.map_while(child), read);
        }
        // This follows the read: the later look of condition F. Then the parent validates (T2).
        let Some(absence) = pool.absence(leaf) else { return Ok(None) };
        let is_child = pool.validate(above.id, above.version);
        let taken = is_child && pool.take_past(leaf, absence, read, copy);
        Ok((taken && self.is_own_leaf(copy.page())).then_some(leaf))
    }
}

#[cfg(test)]
mod tests {
    use super::super::Cursor;
    use super::*;
    use crate::error::StorageError;
    use crate::options::StoreOptions;
    use crate::pool::past::BELIEVE_OLD_READS;
    use crate::store::{CheckpointState, Store};
    use crate::types::{LogHeader, PAGE_SIZE};
    use crate::usage;
    use std::path::Path;
    use std::sync::Arc;
    use steppe_vfs::CrashVfs;

    const KEYS: u64 = 4000;

    fn put(tree: &Tree, key: u64, byte: u8) {
        let put = tree.write(&key.to_be_bytes(), LogHeader::default(), |_, op| {
            op.put(&[byte; 500]);
            Ok::<(), StorageError>(())
        });
        put.unwrap();
    }

    /// A tree of some hundred leaves in a pool of 64 pages; the file has all leaves.
    fn large_tree(vfs: &Arc<CrashVfs>) -> Tree {
        let options = StoreOptions {
            vfs: Arc::clone(vfs) as Arc<dyn steppe_vfs::Vfs>,
            pool_pages: 64,
            max_pages: 1 << 20,
            background: false,
            ..StoreOptions::new("db")
        };
        let store = Store::open(options, &mut ()).unwrap();
        let (id, _) = store.create_tree(LogHeader::default(), |_, _| {}).unwrap();
        let tree = store.tree(id);
        (0..KEYS).for_each(|key| put(&tree, key, 1));
        store.checkpoint(&mut |_| CheckpointState::default()).unwrap();
        tree
    }

    fn read(tree: &Tree, key: u64) {
        assert!(tree.read(&key.to_be_bytes(), &mut Vec::new()).unwrap());
    }

    /// The first byte of each remaining value.
    fn rest(cursor: &mut Cursor) -> Vec<u8> {
        let mut seen = Vec::new();
        while cursor.next_page().unwrap() {
            while let Some((_, value)) = cursor.next() {
                seen.push(value[0]);
            }
        }
        seen
    }

    #[test]
    fn a_large_scan_reads_past_the_pool_and_counts_what_it_reads() {
        let tree = large_tree(&Arc::new(CrashVfs::new(1)));
        let evicted = tree.store().stats().pages_evicted;
        let before = usage::totals(usage::Worker::ClientBackend);
        let usage_before = usage::Usage::now();
        assert_eq!(rest(&mut tree.scan_whole()), [1; KEYS as usize]);
        let done = usage::totals(usage::Worker::ClientBackend) - before;
        let read = usage::Usage::now().read - usage_before.read;
        let leaves = tree.page_count().unwrap();
        assert!(leaves > 200 && (leaves - 100..=leaves).contains(&read), "{read} of {leaves}");
        assert!(done.bulk_read > leaves - 100 && done.bulk_reads > leaves / 20, "{done:?}");
        assert!(done.bulk_reads < leaves / 2, "several at a time: {done:?}");
        let evicted = tree.store().stats().pages_evicted - evicted;
        assert!(evicted < 40, "{evicted} pages were driven out");
    }

    /// Changes pages that the scan has read ahead, and evicts them again.
    fn sees_changes_of_what_was_read_ahead() -> bool {
        let tree = large_tree(&Arc::new(CrashVfs::new(1)));
        let mut cursor = tree.scan_whole();
        let mut seen = 0;
        while seen < KEYS / 2 {
            assert!(cursor.next_page().unwrap());
            while cursor.next().is_some() {
                seen += 1;
            }
        }
        (0..KEYS).for_each(|key| put(&tree, key, 2));
        (0..KEYS / 4).for_each(|key| read(&tree, key));
        rest(&mut cursor).iter().all(|&byte| byte == 2)
    }

    #[test]
    fn a_page_that_changed_since_it_was_read_ahead_is_read_again() {
        assert!(sees_changes_of_what_was_read_ahead());
        BELIEVE_OLD_READS.set(true);
        let fooled = !sees_changes_of_what_was_read_ahead();
        BELIEVE_OLD_READS.set(false);
        assert!(fooled, "the planted bug was not found");
    }

    #[test]
    fn a_damaged_page_is_the_error_that_it_is_through_the_pool() {
        let vfs = Arc::new(CrashVfs::new(1));
        let tree = large_tree(&vfs);
        let absent = |id: &u64| tree.pool().absence(PageId(*id)).is_some();
        let page = (150..250).find(absent).unwrap();
        vfs.flip_bit(Path::new("db/data"), page * PAGE_SIZE as u64 + 4000, 1).unwrap();
        let mut cursor = tree.scan_whole();
        let error = loop {
            match cursor.next_page() {
                Ok(more) => assert!(more, "the damage was not noticed"),
                Err(error) => break error,
            }
        };
        assert!(
            matches!(error, StorageError::Corrupt { page: Some(id), .. } if id == PageId(page)),
            "{error}"
        );
    }
}
