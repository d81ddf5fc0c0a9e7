//! Dropping a tree: all its pages become free.
//!
//! Bottom-up, one record for each inner node: a node of level 1 goes together
//! with the bits of all its leaves (which are not read), a higher one after its
//! children, the root last. So whatever a crash leaves is found from the root
//! again, and a page that was freed (and perhaps given away) is never reached
//! through a node that still stands: nodes that do have freed no child of level 0,
//! and children of higher levels are recognised by their generation.

use crate::error::Result;
use crate::ops::kind;
use crate::page::{self, Kind, node};
use crate::store::{Inner, Smo};
use crate::types::{LogHeader, PageId, TreeId};
use crate::wal::Priority;

/// Frees the tree's pages; returns how many there were.
pub(crate) fn drop_tree(store: &Inner, tree: TreeId) -> Result<u64> {
    if tree.root.0 == 0 || tree.root.0 >= store.pool.max_pages() || !store.space.is_used(tree.root)
    {
        return Ok(0);
    }
    drop_node(store, tree, tree.root)
}

fn drop_node(store: &Inner, tree: TreeId, id: PageId) -> Result<u64> {
    let guard = store.pool.latch(id)?;
    let page = guard.page();
    let ours = page::kind(page) == Some(Kind::Node)
        && node::generation(page) == tree.generation
        && page.u64_at(page::ROOT) == tree.root.0;
    if !ours {
        return Ok(0);
    }
    let level = node::level(page);
    let children: Option<Vec<PageId>> = match level {
        0 => Some(Vec::new()),
        _ => (0..=node::slot_count(page)).map(|position| node::child_at(page, position)).collect(),
    };
    let children = children.ok_or_else(|| store.pool.corrupt(id, "invalid child pointer"))?;
    let mut freed = 0;
    let guard = match level {
        0 | 1 => guard,
        _ => {
            drop(guard);
            for &child in &children {
                freed += drop_node(store, tree, child)?;
            }
            store.pool.latch(id)?
        }
    };
    let mut smo = Smo::new(store, Priority::MustSucceed);
    smo.ops.free(id);
    smo.free(id);
    if level == 1 {
        children.iter().for_each(|&child| smo.free(child));
        freed += children.len() as u64;
    }
    smo.guards.push(guard);
    smo.commit(kind::STRUCTURE, LogHeader::default(), &[])?;
    Ok(freed + 1)
}
