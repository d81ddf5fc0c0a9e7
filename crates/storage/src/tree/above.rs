//! Finds the next leaf of a scan through the parent of the last one: a scan in key order descends
//! from the root once for all leaves of a parent.
//!
//! The order is that of a descent (T2): the leaf's version is taken, then the parent validates. At
//! that moment the leaf was the one that covers the key, and it had that version. A copy of its
//! content that this version validates is its content at that moment. In any other case (a leaf
//! that is not in memory, is being changed, or belongs to another tree) the descent from the root
//! is used, which also reports errors.

use super::{Located, Target, Tree};
use crate::error::Result;
use crate::page::node;
use crate::page::{self, Kind};
use crate::pool::memory::PageRef;
use crate::types::PageId;

impl Tree {
    /// The parent of the leaf that covers the key, not yet validated. It is the last leaf's parent
    /// if that covers this key, too; otherwise a descent finds it. In a tree of one leaf it is that
    /// leaf.
    /// covers this key, too. In a tree of one leaf it is that leaf.
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

    /// The child of a node at a position; the node is not yet validated.
    pub(super) fn child_of(&self, page: PageRef<'_>, position: usize) -> Option<PageId> {
        let child = node::child_at(page, position)?;
        (child.0 != 0 && child.0 < self.pool().max_pages()).then_some(child)
    }

    /// The leaf that covers the key, if it is in memory and the last leaf's parent leads to it.
    /// Starts loading the following leaf.
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

    /// Whether a page is a leaf of this tree; the page is not yet validated.
    pub(super) fn is_own_leaf(&self, page: PageRef<'_>) -> bool {
        page::kind(page) == Some(Kind::Node)
            && node::level(page) == 0
            && node::generation(page) == self.id.generation
    }
}
