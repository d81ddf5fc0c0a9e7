//! Checks of whole trees, their sizes, and the first keys of their leaves.

use super::{Target, Tree};
use crate::error::{Result, StorageError};
use crate::page::{self, Kind, node};
use crate::pool::Backoff;
use crate::pool::memory::{PageBuf, PageRef};
use crate::store::Inner;
use crate::types::PageId;
use std::collections::HashSet;

/// Pages of a level that an estimate reads.
const SAMPLES: usize = 4;

/// The size of a tree.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TreeSize {
    /// Inner pages and leaves.
    pub pages: u64,
    /// Entries of leaves, dead ones included.
    pub entries: u64,
}

/// The result of reading a few pages of each level above the leaves.
struct Sample {
    /// The estimated pages of all levels.
    pages: u64,
    /// The estimated pages of the lowest level.
    leaves: u64,
    /// Keys of a few leaves, if requested.
    keys: Vec<Vec<u8>>,
}

impl Tree {
    /// The number of the tree's pages, by a walk over its inner pages.
    pub fn page_count(&self) -> Result<u64> {
        let mut pages = 1;
        for level in (1..=self.height()?).rev() {
            pages += self.children_of_level(level)?;
        }
        Ok(pages)
    }

    /// An estimate of the tree's pages from a few inner pages of each level; exact for a tree whose
    /// root is directly above its leaves.
    pub fn estimate_pages(&self) -> Result<u64> {
        self.sample(&mut PageBuf::zeroed(), false).map(|sample| sample.pages)
    }

    /// An estimate of the tree's pages and entries from a few pages of each level; exact for a tree
    /// of up to [`SAMPLES`] leaves.
    pub fn estimate_size(&self) -> Result<TreeSize> {
        let mut page = PageBuf::zeroed();
        let Sample { pages, leaves, keys } = self.sample(&mut page, true)?;
        let mut entries = 0;
        for key in &keys {
            self.copy_to(&mut page, Target::Key(key), 0)?;
            entries += node::slot_count(page.page()) as u64;
        }
        Ok(TreeSize { pages, entries: leaves * entries / keys.len() as u64 })
    }

    /// Reads a few inner pages of each level, each into `page`.
    fn sample(&self, page: &mut PageBuf, with_leaf_keys: bool) -> Result<Sample> {
        let mut sample = Sample { pages: 1, leaves: 1, keys: vec![Vec::new()] };
        self.copy_to(page, Target::Last, u8::MAX)?;
        let height = node::level(page.page());
        for level in (1..=height).rev() {
            let mut children = 0;
            let mut below = Vec::new();
            for key in &sample.keys {
                // `page` already holds the root.
                if level < height {
                    self.copy_to(page, Target::Key(key), level)?;
                }
                children += node::slot_count(page.page()) as u64 + 1;
                if level > 1 || with_leaf_keys {
                    self.add_child_keys(page.page(), &mut below)?;
                }
            }
            sample.leaves = sample.leaves * children / sample.keys.len() as u64;
            sample.pages += sample.leaves;
            let step = below.len().div_ceil(SAMPLES).max(1);
            sample.keys = below.into_iter().step_by(step).collect();
        }
        Ok(sample)
    }

    /// Adds a key of each child of an inner page.
    fn add_child_keys(&self, page: PageRef<'_>, keys: &mut Vec<Vec<u8>>) -> Result<()> {
        keys.push(node::lower_fence_key(page));
        for slot in 0..node::slot_count(page) {
            let mut key = Vec::new();
            if !node::full_key(page, slot, &mut key) {
                return Err(self.pool().corrupt(self.id.root, "entry outside the page"));
            }
            keys.push(key);
        }
        Ok(())
    }

    /// Calls `f` with a lower bound of each leaf's keys, from left to right: a scan from there
    /// begins with that leaf. It reads inner pages only, and none in a tree of one leaf.
    pub fn leaf_starts<E: From<StorageError>>(
        &self,
        f: &mut dyn FnMut(&[u8]) -> std::result::Result<(), E>,
    ) -> std::result::Result<(), E> {
        if self.height()? == 0 {
            return f(&[]);
        }
        let mut key = Vec::new();
        self.walk_level(1, &mut |page| {
            f(&node::lower_fence_key(page))?;
            for slot in 0..node::slot_count(page) {
                key.clear();
                if !node::full_key(page, slot, &mut key) {
                    return Err(self.pool().corrupt(self.id.root, "entry outside the page").into());
                }
                f(&key)?;
            }
            Ok(())
        })
    }

    /// The root's level.
    fn height(&self) -> Result<u8> {
        Ok(node::level(self.copy_of(Target::Last, u8::MAX)?.page()))
    }

    /// The children of all nodes of a level.
    fn children_of_level(&self, level: u8) -> Result<u64> {
        let mut children = 0;
        self.walk_level::<StorageError>(level, &mut |page| {
            children += node::slot_count(page) as u64 + 1;
            Ok(())
        })?;
        Ok(children)
    }

    /// Calls `f` with a copy of each node of a level, from left to right.
    fn walk_level<E: From<StorageError>>(
        &self,
        level: u8,
        f: &mut dyn FnMut(PageRef<'_>) -> std::result::Result<(), E>,
    ) -> std::result::Result<(), E> {
        let mut key = Vec::new();
        loop {
            let page = self.copy_of(Target::Key(&key), level)?;
            if node::level(page.page()) == level {
                f(page.page())?;
            }
            match node::upper_fence_key(page.page()) {
                Some(fence) if fence > key => key = fence,
                Some(_) => {
                    let what = "a walk cannot get past the page's fences";
                    let id = PageId(page.page().u64_at(page::PAGE_ID));
                    return Err(self.pool().corrupt(id, what).into());
                }
                None => return Ok(()),
            }
        }
    }

    /// A consistent copy of a node.
    fn copy_of(&self, target: Target<'_>, level: u8) -> Result<Box<PageBuf>> {
        let mut copy = PageBuf::zeroed();
        self.copy_to(&mut copy, target, level).map(|()| copy)
    }

    fn copy_to(&self, copy: &mut PageBuf, target: Target<'_>, level: u8) -> Result<()> {
        loop {
            let located = self.locate(target, level)?;
            self.pool().page(located.id).copy_page(copy);
            if self.pool().validate(located.id, located.version) {
                return Ok(());
            }
        }
    }

    /// Checks the tree's structure: order, fences, levels, and that each page is reachable once.
    /// The tree must not change meanwhile. Returns its pages, root first.
    pub fn check(&self) -> Result<Vec<PageId>> {
        let mut checker = Checker { tree: self, pages: Vec::new(), seen: HashSet::new() };
        checker.check_node(self.id.root, None, &[], None)?;
        Ok(checker.pages)
    }
}

struct Checker<'t> {
    tree: &'t Tree,
    pages: Vec<PageId>,
    seen: HashSet<PageId>,
}

impl Checker<'_> {
    fn bad<T>(&self, id: PageId, what: &str) -> Result<T> {
        Err(self.tree.pool().corrupt(id, what))
    }

    fn check_node(
        &mut self,
        id: PageId,
        level: Option<u8>,
        lower: &[u8],
        upper: Option<&[u8]>,
    ) -> Result<()> {
        if id.0 == 0 || id.0 >= self.tree.pool().max_pages() {
            return self.bad(id, "pointer out of range");
        }
        if !self.seen.insert(id) {
            return self.bad(id, "page is reachable twice");
        }
        self.pages.push(id);
        let copy = self.copy(id)?;
        let page = copy.page();
        self.check_header(id, page, level)?;
        if node::lower_fence_key(page) != lower || node::upper_fence_key(page).as_deref() != upper {
            return self.bad(id, "fences are not the separators in the parent");
        }
        let mut keys = Vec::new();
        for slot in 0..node::slot_count(page) {
            let mut key = Vec::new();
            if !node::full_key(page, slot, &mut key) || !node::covers(page, &key) {
                return self.bad(id, "key outside the fences");
            }
            keys.push(key);
        }
        if keys.windows(2).any(|pair| pair[0] >= pair[1]) {
            return self.bad(id, "keys out of order");
        }
        let level = node::level(page);
        if level == 0 {
            return Ok(());
        }
        for position in 0..=keys.len() {
            let lower = if position == 0 { lower } else { &keys[position - 1] };
            let upper = keys.get(position).map(Vec::as_slice).or(upper);
            let Some(child) = node::child_at(page, position) else {
                return self.bad(id, "invalid child pointer");
            };
            self.check_node(child, Some(level - 1), lower, upper)?;
        }
        Ok(())
    }

    fn check_header(&self, id: PageId, page: PageRef<'_>, level: Option<u8>) -> Result<()> {
        let tree = self.tree.id;
        if id == tree.root && node::generation(page) != tree.generation {
            return Err(StorageError::NoSuchTree(tree));
        }
        let ours = page::kind(page) == Some(Kind::Node)
            && node::generation(page) == tree.generation
            && page.u64_at(page::ROOT) == tree.root.0
            && page.u64_at(page::PAGE_ID) == id.0;
        if !ours {
            return self.bad(id, "page of another tree");
        }
        if level.is_some_and(|level| level != node::level(page)) {
            return self.bad(id, "wrong level");
        }
        node::validate(page).or_else(|what| self.bad(id, what))
    }

    fn copy(&self, id: PageId) -> Result<Box<PageBuf>> {
        let pool = self.tree.pool();
        let mut copy = PageBuf::zeroed();
        let mut backoff = Backoff::default();
        loop {
            let version = pool.optimistic(id)?;
            pool.page(id).copy_page(&mut copy);
            if pool.validate(id, version) {
                return Ok(copy);
            }
            backoff.wait();
        }
    }
}

/// Checks that exactly the pages of these trees are in use; returns their number.
pub(crate) fn check_space(store: &Inner, trees: impl Iterator<Item = Tree>) -> Result<u64> {
    let mut reachable = HashSet::new();
    for tree in trees {
        for id in tree.check()? {
            if !reachable.insert(id) {
                return Err(store.pool.corrupt(id, "page belongs to two trees"));
            }
            if !store.space.is_used(id) {
                return Err(store.pool.corrupt(id, "page of a tree is marked free"));
            }
        }
    }
    let (file_pages, used) = store.space.counts();
    let own = 1 + crate::space::bitmap_pages(0..file_pages).count() as u64;
    let leaked = used - own - reachable.len() as u64;
    if leaked > 0 {
        let what = format!("{leaked} pages are in use but belong to no tree");
        return Err(store.pool.corrupt(PageId(0), what));
    }
    Ok(reachable.len() as u64)
}
