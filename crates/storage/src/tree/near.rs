//! Reads of keys that lie close together: the previous key's leaf is tried first.
//!
//! A [`Near`] remembers the leaf that a descent found, and its version. While the leaf has that
//! version, a descent for a key that it covers would end there. Any change of its entries, its
//! fences, its place in the tree or the page's use moves its version on (a split, a merge and a
//! freed page's next use latch it to change it). So a read that this version validates has found
//! what [`Tree::read`] would find at that moment, whether or not the key exists. If validation
//! fails, the read starts again at the root. Readers of neighbours thus need one descent for each
//! leaf.
//!
//! Compare PostgreSQL's heap fetches of an index scan, which keep the page of the last row pinned
//! (heapam_handler.c) and, as here, do not count another access to it.

use super::{Looked, Tree};
use crate::error::Result;
use crate::page::node;
use crate::pool::Version;
use crate::types::{PageId, TreeId};

/// The last position of a reader of neighbouring keys.
#[derive(Clone, Copy, Debug)]
pub struct Near {
    tree: TreeId,
    leaf: PageId,
    version: Version,
    /// The slot after the last key's.
    next: usize,
}

impl Tree {
    /// As [`Tree::read`], for a reader of keys that are likely to lie on the last key's leaf.
    #[inline]
    pub fn read_near(
        &self,
        key: &[u8],
        value: &mut Vec<u8>,
        near: &mut Option<Near>,
    ) -> Result<bool> {
        if let Some(near) = near
            && let Some(found) = self.read_there(key, value, near)
        {
            return Ok(found);
        }
        value.clear();
        let Looked { leaf, slot, found } = self.read_from_root(key, value)?;
        let next = slot + usize::from(found);
        *near = Some(Near { tree: self.id, leaf: leaf.id, version: leaf.version, next });
        Ok(found)
    }

    /// Reads from the last key's leaf; `None` if the leaf does not cover the key, or has changed.
    fn read_there(&self, key: &[u8], value: &mut Vec<u8>, near: &mut Near) -> Option<bool> {
        if near.tree != self.id {
            return None;
        }
        let pool = self.pool();
        let page = pool.page(near.leaf);
        if !node::covers(page, key) {
            return None;
        }
        let suffix = node::suffix_of(page, key);
        let (slot, found) = match node::is_at(page, near.next, suffix) {
            true => (near.next, true),
            false => node::search(page, suffix),
        };
        value.clear();
        let copied = !found || node::append_value(page, slot, value);
        if !copied || !pool.validate(near.leaf, near.version) {
            return None;
        }
        near.next = slot + usize::from(found);
        Some(found)
    }
}
