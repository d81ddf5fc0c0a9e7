//! Splits. A full node's upper part moves to a new page on its right:
//!
//! ```text
//!   parent  … │ k → N │ …            parent  … │ k → N │ sep → R │ …
//!   N  [k, u): a b c d e      ==>    N  [k, sep): a b c
//!                                    R  [sep, u): d e
//! ```
//!
//! as one log record with the image of R, the truncation of N, the separator in the parent and R's
//! bit. The root page stays the same: its content moves to two new pages.
//!
//! The cut is at the insertion if insertions have been ascending there (so that a load, or a
//! session's run of row ids, fills pages completely), otherwise in the middle of the bytes. A
//! leaf's separator is the shortest key that separates (Bayer and Unterauer, "Prefix B-Trees",
//! 1977).
//!
//! The last leaf has no upper fence, hence no common prefix: its keys are stored whole. When
//! ascending insertions have filled it, it gets a fence some distance ahead, and an empty leaf
//! follows it. Its keys lose their prefix, which makes room. So do the keys of the leaves that are
//! split off it until the insertions have reached the fence:
//!
//! ```text
//!   […00 01 70, ∞): …00 01 70 … …00 02 1F    ==>    […00 01 70, …01): 01 70 … 02 1F, room
//!                                                   […01, ∞):         empty
//! ```

use super::{Located, Target, Tree};
use crate::error::Result;
use crate::ops::kind;
use crate::page::edit::{self, NodeHeader, common_prefix};
use crate::page::node;
use crate::pool::Backoff;
use crate::pool::memory::PageRef;
use crate::pool::scratch::ScratchPage;
use crate::smo::Smo;
use crate::types::{LogHeader, PageId};
use crate::wal::Priority;
use steppe_types::key::prefix_successor;

/// The place where a node is cut.
struct Cut {
    /// The first slot that moves. (In an inner node its child becomes the right node's first child,
    /// and its key the separator.)
    slot: usize,
    separator: Vec<u8>,
}

impl Tree {
    /// Splits the node of `level` that covers `key`, and its parents as needed. `inserting`:
    /// whether `key` is about to be inserted there. If another thread has made room meanwhile, the
    /// split is harmless.
    pub(super) fn split(
        &self,
        key: &[u8],
        level: u8,
        inserting: bool,
        priority: Priority,
    ) -> Result<()> {
        let mut backoff = Backoff::default();
        loop {
            let located = self.locate(Target::Key(key), level)?;
            let outcome = match located.parent {
                None => self.split_root(key, level, inserting, located, priority)?,
                Some(_) => self.split_child(key, level, inserting, located, priority)?,
            };
            match outcome {
                Outcome::Done => return Ok(()),
                Outcome::Retry => backoff.wait(),
                Outcome::ParentFull => self.split(key, level + 1, false, priority)?,
            }
        }
    }

    fn split_child(
        &self,
        key: &[u8],
        level: u8,
        inserting: bool,
        located: Located,
        priority: Priority,
    ) -> Result<Outcome> {
        let Some(parent) = located.parent else { return Ok(Outcome::Retry) };
        let mut smo = Smo::of(self.store.inner(), self.id, priority);
        let right_id = smo.allocate()?;
        let pool = self.pool();
        if right_id == parent.id || right_id == located.id {
            return Err(pool.corrupt(right_id, USED_PAGE_IS_FREE));
        }
        let Some(parent_guard) = pool.upgrade(parent.id, parent.version) else {
            return Ok(Outcome::Retry);
        };
        let Some(left_guard) = pool.upgrade(located.id, located.version) else {
            return Ok(Outcome::Retry);
        };
        let (left, parent_page) = (left_guard.page(), parent_guard.page());
        if node::level(left) != level {
            return Ok(Outcome::Done);
        }
        let Some(cut) = self.choose_cut(left, key, inserting)? else { return Ok(Outcome::Done) };
        let suffix = node::suffix_of(parent_page, &cut.separator);
        if !edit::fits(parent_page, suffix.len(), node::CHILD_LEN) {
            return Ok(Outcome::ParentFull);
        }
        let in_parent = node::search(parent_page, suffix) == (parent.position, false);
        if !in_parent || !node::covers(left, &cut.separator) {
            return Err(pool.corrupt(located.id, "keys outside the fences"));
        }
        let right = right_half(left, right_id, &cut);
        smo.ops.image(right.page());
        smo.ops.truncate(located.id, cut.slot, &cut.separator);
        let child = edit::child_bytes(right_id);
        smo.ops.insert(parent.id, parent.position, suffix, &child);
        smo.guards.push(parent_guard);
        smo.guards.push(left_guard);
        smo.commit(kind::STRUCTURE, LogHeader::default(), &[])?;
        Ok(Outcome::Done)
    }

    fn split_root(
        &self,
        key: &[u8],
        level: u8,
        inserting: bool,
        located: Located,
        priority: Priority,
    ) -> Result<Outcome> {
        let mut smo = Smo::of(self.store.inner(), self.id, priority);
        let left_id = smo.allocate()?;
        let right_id = smo.allocate()?;
        if located.id == left_id || located.id == right_id {
            return Err(self.pool().corrupt(located.id, USED_PAGE_IS_FREE));
        }
        let Some(guard) = self.pool().upgrade(located.id, located.version) else {
            return Ok(Outcome::Retry);
        };
        let root = guard.page();
        if node::level(root) != level {
            // The tree has lost the level meanwhile, or never had it.
            return Ok(Outcome::Done);
        }
        let Some(cut) = self.choose_cut(root, key, inserting)? else { return Ok(Outcome::Done) };
        let (header, ..) = edit::parts(root);
        let left = node_with(
            NodeHeader { id: left_id, upper: Some(&cut.separator), ..header },
            root,
            0..cut.slot,
        );
        let right = right_half(root, right_id, &cut);
        let mut above = ScratchPage::zeroed();
        let new_root = NodeHeader { level: header.level + 1, first_child: left_id, ..header };
        edit::init(&mut above.page_mut(), new_root);
        edit::append(&mut above.page_mut(), &cut.separator, &edit::child_bytes(right_id));
        for page in [&left, &right, &above] {
            smo.ops.image(page.page());
        }
        smo.guards.push(guard);
        smo.commit(kind::STRUCTURE, LogHeader::default(), &[])?;
        Ok(Outcome::Done)
    }

    /// Chooses the cut; `None` if the node has room after all.
    fn choose_cut(&self, page: PageRef<'_>, key: &[u8], inserting: bool) -> Result<Option<Cut>> {
        if node::level(page) > 0 {
            return Ok(cut_inner(page, key));
        }
        let count = node::slot_count(page);
        if count == 0 || (count == 1 && !inserting) {
            return Ok(None);
        }
        let (slot, found) = node::search(page, node::suffix_of(page, key));
        if inserting && found {
            return Ok(None);
        }
        let ascending = inserting && slot > 0 && edit::is_ascending(page, slot);
        if ascending
            && slot == count
            && let Some(cut) = cut_ahead(page, key)
        {
            return Ok(Some(cut));
        }
        if ascending || count == 1 {
            let cut = Cut { slot, separator: separator_at(page, slot, key) };
            if fits(page, &cut) {
                return Ok(Some(cut));
            }
        }
        cut_in_the_middle(page)
            .map(Some)
            .ok_or_else(|| self.pool().corrupt(self.id.root, "a full leaf cannot be split"))
    }
}

/// The error if the bitmap has a tree's page as free: a split would wait for a page that it has
/// latched itself.
const USED_PAGE_IS_FREE: &str = "the allocation bitmap has a page of a tree as free";

/// The result of an attempt to split.
enum Outcome {
    Done,
    Retry,
    ParentFull,
}

fn full_key(page: PageRef<'_>, slot: usize) -> Vec<u8> {
    let mut key = Vec::new();
    let complete = node::full_key(page, slot, &mut key);
    assert!(complete, "a latched page is intact");
    key
}

/// A cut of the last leaf that keeps all its entries there and gives it a fence ahead of `key`. Its
/// keys then share a prefix, which makes room. `None` if it is not the last leaf or would not gain
/// enough.
///
/// The fence leaves the last two bytes of the key free to count: row ids reach it after 256 to
/// 65,536 more. A nearer fence would move too often, a farther one would leave less prefix.
fn cut_ahead(page: PageRef<'_>, key: &[u8]) -> Option<Cut> {
    if node::upper_fence(page).is_some() {
        return None;
    }
    let shared = common_prefix(&full_key(page, 0), key).min(key.len().checked_sub(2)?);
    let mut separator = key[..shared].to_vec();
    if !prefix_successor(&mut separator) {
        return None;
    }
    let slot = node::slot_count(page);
    let gain = common_prefix(&node::lower_fence_key(page), &separator) * slot;
    let cut = Cut { slot, separator };
    (gain >= edit::CAPACITY / 16 && fits(page, &cut)).then_some(cut)
}

/// The shortest key k with `below` < k ≤ `above`.
fn separator(below: &[u8], above: &[u8]) -> Vec<u8> {
    debug_assert!(below < above);
    above[..common_prefix(below, above) + 1].to_vec()
}

/// The separator between the entries before `slot` and the others when `key` is inserted between
/// them: it decides on which side `key` is. The key stays left if that makes enough room there (the
/// following entries belong to another run and should stay separate), otherwise it starts the right
/// node.
fn separator_at(page: PageRef<'_>, slot: usize, key: &[u8]) -> Vec<u8> {
    let count = node::slot_count(page);
    let room_made: usize = (slot..count).map(|slot| cost(page, slot)).sum();
    if slot == 0 || room_made >= edit::CAPACITY / 8 {
        separator(key, &full_key(page, slot))
    } else {
        separator(&full_key(page, slot - 1), key)
    }
}

/// Bytes of an entry and its slot.
fn cost(page: PageRef<'_>, slot: usize) -> usize {
    let heap = node::entry(page, slot).map_or(0, |e| node::heap_cost(e.key_len, e.value_len));
    heap + node::SLOT_SIZE
}

/// Whether both halves fit their pages, fences included.
fn fits(page: PageRef<'_>, cut: &Cut) -> bool {
    let (lower, upper) = (node::lower_fence_key(page), node::upper_fence_key(page));
    let count = node::slot_count(page);
    let sep = &cut.separator;
    let left_prefix = common_prefix(&lower, sep);
    let right_prefix = upper.as_deref().map_or(0, |upper| common_prefix(sep, upper));
    let upper_len = upper.as_ref().map_or(0, Vec::len);
    let left = edit::size_with_fences(page, 0..cut.slot, lower.len(), sep.len(), left_prefix);
    let right = edit::size_with_fences(page, cut.slot..count, sep.len(), upper_len, right_prefix);
    left <= edit::CAPACITY && right <= edit::CAPACITY
}

/// The cut nearest to the middle of the bytes whose halves fit. It always exists: a half loses at
/// least one entry, and the separator adds at most the bytes of that entry's key.
fn cut_in_the_middle(page: PageRef<'_>) -> Option<Cut> {
    let count = node::slot_count(page);
    let total: usize = (0..count).map(|slot| cost(page, slot)).sum();
    let mut left = 0;
    let middle = (0..count)
        .find(|&slot| {
            left += cost(page, slot);
            left >= total / 2
        })
        .unwrap_or(count / 2);
    let distance = |slot: &usize| slot.abs_diff(middle);
    let mut slots: Vec<usize> = (1..count).collect();
    slots.sort_by_key(distance);
    slots.into_iter().find_map(|slot| {
        let separator = separator(&full_key(page, slot - 1), &full_key(page, slot));
        Some(Cut { slot, separator }).filter(|cut| fits(page, cut))
    })
}

/// The cut of an inner node at a key, which moves up. At the right edge of an ascending load nearly
/// everything stays left.
fn cut_inner(page: PageRef<'_>, key: &[u8]) -> Option<Cut> {
    let count = node::slot_count(page);
    if count < 2 {
        return None;
    }
    let at_edge = node::child_position(page, key) == count && node::upper_fence(page).is_none();
    let slot = if at_edge { count - 1 - count / 16 } else { count / 2 };
    let slot = slot.clamp(1, count - 1);
    let whole = |slot| Cut { slot, separator: full_key(page, slot) };
    let cut = whole(slot);
    if fits(page, &cut) {
        return Some(cut);
    }
    let mut slots: Vec<usize> = (1..count).collect();
    slots.sort_by_key(|s| s.abs_diff(count / 2));
    slots.into_iter().map(whole).find(|cut| fits(page, cut))
}

/// The node for the upper part of `page`.
fn right_half(page: PageRef<'_>, id: PageId, cut: &Cut) -> ScratchPage {
    let (header, _, upper) = edit::parts(page);
    let count = node::slot_count(page);
    let header = NodeHeader { id, lower: &cut.separator, upper: upper.as_deref(), ..header };
    if header.level == 0 {
        return node_with(header, page, cut.slot..count);
    }
    let first_child =
        node::child_at(page, cut.slot + 1).expect("child pointers of a latched node are intact");
    node_with(NodeHeader { first_child, ..header }, page, cut.slot + 1..count)
}

/// A fresh node with some of the entries of `source`.
pub(super) fn node_with(
    header: NodeHeader<'_>,
    source: PageRef<'_>,
    slots: std::ops::Range<usize>,
) -> ScratchPage {
    let mut page = ScratchPage::zeroed();
    edit::init(&mut page.page_mut(), header);
    edit::append_range(&mut page.page_mut(), source, slots);
    page
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn separators_are_short_and_separate() {
        assert_eq!(separator(b"abcde", b"abdzz"), b"abd");
        assert_eq!(separator(b"", b"x"), b"x");
        assert_eq!(separator(b"ab", b"abc"), b"abc");
    }
}
