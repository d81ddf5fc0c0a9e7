//! The next leaf of a scan, by the node above the last one: a scan in key order descends from the
//! root once for all leaves of such a node.
//!
//! The order is that of a descent (T2): the leaf's version is looked at, then the node above
//! validates. At that moment the leaf was the one that covers the key, and it had that version; the
//! copy of its content that this version validates is what it held then. Whatever is odd (a leaf
//! that is not in memory or is being changed, another tree's) is left to the descent from the
//! root, and to the errors that it knows.

use super::{Located, Target, Tree};
use crate::error::Result;
use crate::page::node;
use crate::page::{self, Kind};
use crate::pool::memory::PageRef;
use crate::types::PageId;

impl Tree {
    /// The node above the leaf that covers the key, as far as is known before it validates: that of
    /// the last leaf, if it covers this key, too. It may be a leaf, where there is nothing above.
    pub(super) fn above_leaf(&self, key: &[u8], above: &mut Option<Located>) -> Result<Located> {
        let pool = self.pool();
        if let Some(above) = above
            && node::covers(pool.page(above.id), key)
            && pool.validate(above.id, above.version)
        {
            return Ok(*above);
        }
        let found = self.locate(Target::Key(key), 1)?;
        *above = Some(found);
        Ok(found)
    }

    /// The child of a node at a position, as far as is known before the node validates.
    pub(super) fn child_of(&self, page: PageRef<'_>, position: usize) -> Option<PageId> {
        let child = node::child_at(page, position)?;
        (child.0 != 0 && child.0 < self.pool().max_pages()).then_some(child)
    }

    /// The leaf that covers the key, if it is in memory and to be found by the node above the last
    /// one; the processor is asked for the one behind it.
    #[inline]
    pub(super) fn next_leaf(
        &self,
        key: &[u8],
        above: &mut Option<Located>,
    ) -> Result<Option<Located>> {
        let pool = self.pool();
        let above = self.above_leaf(key, above)?;
        let page = pool.page(above.id);
        let position = node::child_position(page, key);
        let Some(id) = self.child_of(page, position).filter(|_| node::level(page) == 1) else {
            return Ok(None);
        };
        let Some(version) = pool.optimistic_at_once(id) else { return Ok(None) };
        if let Some(next) = self.child_of(page, position + 1) {
            pool.prefetch_with_entries(next);
        }
        let is_child = pool.validate(above.id, above.version);
        let leaf = Located { id, version, parent: None };
        Ok((is_child && self.is_own_leaf(pool.page(id))).then_some(leaf))
    }

    /// Whether a page is a leaf of this tree, as far as is known before it validates.
    pub(super) fn is_own_leaf(&self, page: PageRef<'_>) -> bool {
        page::kind(page) == Some(Kind::Node)
            && node::level(page) == 0
            && node::generation(page) == self.id.generation
    }
}
