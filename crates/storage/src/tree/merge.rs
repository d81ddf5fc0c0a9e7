//! Merges: the inverse of splits, one log record each.
//!
//! ```text
//!   parent  … │ k → L │ s → R │ …         parent  … │ k → L │ …
//!   L [k, s): a                    ==>     L [k, u): a b
//!   R [s, u): b                            R free
//! ```
//!
//! Merges are optional: one is tried after a removal, is abandoned if another thread is in the way,
//! and a later removal tries again.

use super::split::node_with;
use super::{Located, Parent, Target, Tree};
use crate::error::Result;
use crate::ops::kind;
use crate::page::edit::{self, NodeHeader, common_prefix};
use crate::page::node;
use crate::pool::PageGuard;
use crate::pool::memory::PageRef;
use crate::pool::scratch::ScratchPage;
use crate::smo::Smo;
use crate::types::LogHeader;
use crate::wal::Priority;

/// A node with fewer bytes than this should be merged.
const UNDERFULL: usize = edit::CAPACITY / 4;
/// A merged node must have free space, or the next insertion would split it again.
const MERGED_LIMIT: usize = edit::CAPACITY * 3 / 4;

/// Whether the node should be merged. The check is made at every eighth entry and for an empty
/// node: after every removal it would often read a full neighbour in vain.
pub(super) fn is_underfull(page: PageRef<'_>) -> bool {
    is_sparse(page) && node::slot_count(page).is_multiple_of(8)
}

/// Whether the node has so few bytes that several removals at once justify a merge attempt.
pub(super) fn is_sparse(page: PageRef<'_>) -> bool {
    node::used(page) < UNDERFULL
}

impl Tree {
    /// Merges the leaf of `key` with a neighbour if that is possible right now, and then inner
    /// nodes, upwards.
    pub(super) fn merge_after_remove(&self, key: &[u8], priority: Priority) {
        let mut level = 0;
        // A failure costs nothing but the merge: the removal itself is done. If the store has
        // stopped, the next call reports it.
        while let Ok(true) = self.try_merge(key, level, priority) {
            level += 1;
        }
    }

    /// Returns whether the parent should be checked, too.
    fn try_merge(&self, key: &[u8], level: u8, priority: Priority) -> Result<bool> {
        let located = self.locate(Target::Key(key), level)?;
        if located.parent.is_none() {
            self.collapse_root(located, priority)?;
            return Ok(false);
        }
        let Some((pair, merged)) = self.latch_mergeable(located, level)? else { return Ok(false) };
        let mut smo = Smo::of(self.store.inner(), self.id, priority);
        smo.ops.image(merged.page());
        smo.ops.free(pair.right.id());
        smo.ops.remove(pair.parent.id(), pair.separator_slot);
        smo.free(pair.right.id());
        let parent = pair.parent.page();
        let slots_left = node::slot_count(parent) - 1;
        let parent_underfull = slots_left == 0 || node::used(parent) < UNDERFULL;
        smo.guards.extend(pair.into_guards());
        smo.commit(kind::STRUCTURE, LogHeader::default(), &[])?;
        Ok(parent_underfull)
    }

    /// Latches a node with a neighbour that it can be merged with, and builds the merged node. The
    /// left neighbour is tried first: removals from left to right leave it nearly empty, so that
    /// merging with it is cheap.
    fn latch_mergeable(&self, located: Located, level: u8) -> Result<Option<Mergeable<'_>>> {
        let Some(Parent { position, .. }) = located.parent else { return Ok(None) };
        for separator_slot in [position.checked_sub(1), Some(position)].into_iter().flatten() {
            let Some(mut pair) = self.latch_pair(located, separator_slot)? else { continue };
            let (left, right) = (pair.left.page(), pair.right.page());
            if node::level(left) != level || node::level(right) != level {
                return Ok(None);
            }
            if let Some(merged) = pair.merge() {
                // The keys of two neighbours are in order, unless a page is damaged.
                node::validate(merged.page())
                    .map_err(|what| self.pool().corrupt(located.id, what))?;
                return Ok(Some((pair, merged)));
            }
        }
        Ok(None)
    }

    /// Latches a node, its neighbour on the other side of a separator in the parent, and the
    /// parent.
    fn latch_pair(&self, located: Located, separator_slot: usize) -> Result<Option<Pair<'_>>> {
        let pool = self.pool();
        let Some(parent) = located.parent else { return Ok(None) };
        let page = pool.page(parent.id);
        let neighbour = match parent.position == separator_slot {
            true => node::child_at(page, parent.position + 1),
            false => node::child_at(page, parent.position - 1),
        };
        let has_neighbour = separator_slot < node::slot_count(page);
        if !pool.validate(parent.id, parent.version) || !has_neighbour {
            return Ok(None);
        }
        let Some(neighbour) = neighbour else { return Ok(None) };
        // The neighbour is read, if necessary, before any latch is taken.
        let neighbour_version = pool.optimistic(neighbour)?;
        let parent_guard = pool.upgrade(parent.id, parent.version);
        let node_guard = pool.upgrade(located.id, located.version);
        let neighbour_guard = pool.upgrade(neighbour, neighbour_version);
        let (Some(parent_guard), Some(node_guard), Some(neighbour_guard)) =
            (parent_guard, node_guard, neighbour_guard)
        else {
            return Ok(None);
        };
        let (left, right) = match parent.position == separator_slot {
            true => (node_guard, neighbour_guard),
            false => (neighbour_guard, node_guard),
        };
        Ok(Some(Pair { parent: parent_guard, left, right, separator_slot }))
    }

    /// A root with only one child takes over the child's content.
    fn collapse_root(&self, located: Located, priority: Priority) -> Result<()> {
        let pool = self.pool();
        let page = pool.page(located.id);
        let child = node::child_at(page, 0);
        let collapsible = node::level(page) > 0 && node::slot_count(page) == 0;
        let Some(child) = child.filter(|_| collapsible) else { return Ok(()) };
        if !pool.validate(located.id, located.version) {
            return Ok(());
        }
        let child_version = pool.optimistic(child)?;
        let root_guard = pool.upgrade(located.id, located.version);
        let child_guard = pool.upgrade(child, child_version);
        let (Some(root_guard), Some(child_guard)) = (root_guard, child_guard) else {
            return Ok(());
        };
        let source = child_guard.page();
        let (header, ..) = edit::parts(source);
        let header = NodeHeader { id: located.id, ..header };
        let merged = node_with(header, source, 0..node::slot_count(source));
        let mut smo = Smo::of(self.store.inner(), self.id, priority);
        smo.ops.image(merged.page());
        smo.ops.free(child);
        smo.free(child);
        smo.guards.push(root_guard);
        smo.guards.push(child_guard);
        smo.commit(kind::STRUCTURE, LogHeader::default(), &[]).map(drop)
    }
}

/// Two neighbours, and the merged node.
type Mergeable<'a> = (Pair<'a>, ScratchPage);

/// Two neighbours and their parent, latched.
struct Pair<'a> {
    parent: PageGuard<'a>,
    left: PageGuard<'a>,
    right: PageGuard<'a>,
    /// The parent's slot of the right node.
    separator_slot: usize,
}

impl<'a> Pair<'a> {
    fn into_guards(self) -> [PageGuard<'a>; 3] {
        [self.parent, self.left, self.right]
    }

    /// The merged node, if both nodes fit one page well.
    fn merge(&mut self) -> Option<ScratchPage> {
        let (left, right) = (self.left.page(), self.right.page());
        let (header, lower, _) = edit::parts(left);
        let (_, _, upper) = edit::parts(right);
        let prefix = upper.as_deref().map_or(0, |upper| common_prefix(&lower, upper));
        let (left_count, right_count) = (node::slot_count(left), node::slot_count(right));
        let upper_len = upper.as_ref().map_or(0, Vec::len);
        let mut separator = Vec::new();
        let mut size = edit::size_with_fences(left, 0..left_count, lower.len(), upper_len, prefix)
            + edit::size_with_fences(right, 0..right_count, 0, 0, prefix);
        if header.level > 0 {
            if !node::full_key(self.parent.page(), self.separator_slot, &mut separator) {
                return None;
            }
            let suffix_len = separator.len() - prefix;
            size += node::SLOT_SIZE + node::heap_cost(suffix_len, node::CHILD_LEN);
        }
        let one_is_empty = left_count == 0 || right_count == 0;
        let limit = if one_is_empty { edit::CAPACITY } else { MERGED_LIMIT };
        if size > limit || left_count + right_count + 1 > node::MAX_SLOTS {
            return None;
        }
        let header = NodeHeader { lower: &lower, upper: upper.as_deref(), ..header };
        let mut merged = node_with(header, left, 0..left_count);
        if header.level > 0 {
            let child = node::child_at(right, 0)?;
            edit::append(&mut merged.page_mut(), &separator, &edit::child_bytes(child));
        }
        edit::append_range(&mut merged.page_mut(), right, 0..right_count);
        Some(merged)
    }
}
