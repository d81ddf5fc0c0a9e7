//! Dropping a tree: all its pages become free.
//!
//! The drop works bottom-up, with one record for each inner node. A node of level 1 is freed
//! together with the bits of all its leaves (which are not read), a higher node after its children,
//! the root last. So after a crash the remaining nodes are still reachable from the root. A page
//! that was freed (and perhaps reused) is never reached through a remaining node: such a node has
//! freed no leaf, and a child of a higher level is recognised by its generation.

use crate::error::Result;
use crate::ops::kind;
use crate::page::{self, Kind, node};
use crate::pool::memory::PageRef;
use crate::smo::Smo;
use crate::store::Inner;
use crate::types::{LogHeader, PageId, TreeId};
use crate::wal::Priority;
use std::collections::HashSet;

/// Frees the tree's pages; returns their number.
pub(crate) fn drop_tree(store: &Inner, tree: TreeId) -> Result<u64> {
    if tree.root.0 == 0 || tree.root.0 >= store.pool.max_pages() {
        return Ok(0);
    }
    drop_node(store, tree, tree.root, None)
}

/// `expected_level` is the level that follows from the parent: a damaged pointer must not lead into
/// a cycle.
fn drop_node(store: &Inner, tree: TreeId, id: PageId, expected_level: Option<u8>) -> Result<u64> {
    if !store.space.is_used(id) {
        // A drop that a crash interrupted has freed it; its space may have been given back.
        return Ok(0);
    }
    let guard = store.pool.latch(id)?;
    let page = guard.page();
    let ours = page::kind(page) == Some(Kind::Node)
        && node::generation(page) == tree.generation
        && page.u64_at(page::ROOT) == tree.root.0;
    if !ours {
        return Ok(0);
    }
    let level = node::level(page);
    if expected_level.is_some_and(|expected| expected != level) {
        return Err(store.pool.corrupt(id, "wrong level"));
    }
    let children = children_of(store, page, level)
        .ok_or_else(|| store.pool.corrupt(id, "invalid child pointer"))?;
    let mut freed = 0;
    let guard = match level {
        0 | 1 => guard,
        _ => {
            drop(guard);
            for &child in &children {
                freed += drop_node(store, tree, child, Some(level - 1))?;
            }
            store.pool.latch(id)?
        }
    };
    let mut smo = Smo::of(store, tree, Priority::MustSucceed);
    smo.ops.free(id);
    smo.free(id);
    if level == 1 {
        children.iter().for_each(|&child| smo.free(child));
        freed += children.len() as u64;
    }
    smo.guards.push(guard);
    match id == tree.root {
        // The root of an unlogged tree, too, is freed in the log: redo must not leave a root that
        // could be found again.
        true => smo.commit_logged(kind::STRUCTURE, LogHeader::default(), &[])?,
        false => smo.commit(kind::STRUCTURE, LogHeader::default(), &[])?,
    };
    Ok(freed + 1)
}

/// The children of a node: pages in use, each once. Leaves are freed unread. Children of a higher
/// level may already have been freed by a drop that a crash interrupted.
fn children_of(store: &Inner, page: PageRef<'_>, level: u8) -> Option<Vec<PageId>> {
    if level == 0 {
        return Some(Vec::new());
    }
    let (file_pages, _) = store.space.counts();
    let in_file = |id: &PageId| id.0 != 0 && id.0 < file_pages;
    let count = node::slot_count(page);
    let children: Option<Vec<PageId>> =
        (0..=count).map(|position| node::child_at(page, position).filter(in_file)).collect();
    let children = children?;
    let distinct: HashSet<PageId> = children.iter().copied().collect();
    let used = level > 1 || children.iter().all(|&id| store.space.is_used(id));
    (distinct.len() == children.len() && used).then_some(children)
}
