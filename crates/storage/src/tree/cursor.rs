//! Scans over private copies of leaves.
//!
//! A page is copied without a latch and validated; then the cursor returns entries of the copy. A
//! new descent finds the next page (`above`: mostly from the last leaf's parent). It descends to
//! the key at which the copy ends: its upper fence, or for a backward scan its lower fence. Since
//! fences tile the key space (T1), splits and merges in between may change which page that is, but
//! the scan never sees a key twice or misses one.

use super::past::Way;
use super::{Direction, Located, Target, Tree};
use crate::error::Result;
use crate::page::node;
use crate::pool::memory::PageRef;
use crate::pool::scratch::ScratchPage;
use crate::types::{PAGE_SIZE, PageId};
use std::cmp::Ordering;
use std::ops::Bound;

/// A scan in progress.
///
/// ```ignore
/// let mut cursor = tree.scan(Bound::Unbounded, Bound::Unbounded, Direction::Forward);
/// while cursor.next_page()? {
///     while let Some((key, value)) = cursor.next() { … }
/// }
/// ```
///
/// Each page is a private copy taken at one moment. Between pages the tree may change in any way. A
/// key that exists throughout the scan is seen exactly once.
pub struct Cursor {
    tree: Tree,
    direction: Direction,
    /// The rest of the range: one end moves with each copied page.
    lower: Bound<Vec<u8>>,
    upper: Bound<Vec<u8>>,
    at_end: bool,
    /// The way of reading leaves.
    way: Way,
    /// A page of this range has been copied, so the next one is likely to be beside it.
    goes_on: bool,
    /// The last leaf's parent.
    above: Option<Located>,
    page: ScratchPage,
    /// The remaining slots of the copy.
    slots: std::ops::Range<usize>,
    /// The common prefix, then the last entry's suffix.
    key: Vec<u8>,
    /// The last entry's suffix in the copy.
    suffix: std::ops::Range<usize>,
    /// The last entry's value in the copy.
    value: std::ops::Range<usize>,
}

fn owned(bound: Bound<&[u8]>) -> Bound<Vec<u8>> {
    bound.map(<[u8]>::to_vec)
}

impl Cursor {
    pub(super) fn new(
        tree: Tree,
        lower: Bound<&[u8]>,
        upper: Bound<&[u8]>,
        direction: Direction,
    ) -> Cursor {
        Cursor {
            tree,
            direction,
            lower: owned(lower),
            upper: owned(upper),
            at_end: false,
            way: Way::Pool,
            goes_on: false,
            above: None,
            page: ScratchPage::new(),
            slots: 0..0,
            key: Vec::new(),
            suffix: 0..0,
            value: 0..0,
        }
    }

    /// A scan of all entries.
    pub(super) fn whole(tree: Tree) -> Cursor {
        let way = Way::of_whole_tree();
        let all = Cursor::new(tree, Bound::Unbounded, Bound::Unbounded, Direction::Forward);
        Cursor { way, ..all }
    }

    /// The scanned tree.
    pub fn tree(&self) -> &Tree {
        &self.tree
    }

    /// Starts again with new bounds, and keeps the buffers.
    pub fn reset(&mut self, lower: Bound<&[u8]>, upper: Bound<&[u8]>, direction: Direction) {
        self.lower = owned(lower);
        self.upper = owned(upper);
        self.direction = direction;
        self.at_end = false;
        self.way = Way::Pool;
        self.goes_on = false;
        self.slots = 0..0;
    }

    /// Continues with another part of the tree, from `lower` to before `upper`. The way of reading
    /// leaves stays the same.
    pub fn go_on_with(&mut self, lower: Bound<&[u8]>, upper: Bound<&[u8]>) {
        self.lower = owned(lower);
        self.upper = owned(upper);
        self.at_end = false;
        self.slots = 0..0;
    }

    /// Copies the next leaf's entries; false at the end of the range. A page may have no entries in
    /// the range, although the range continues.
    pub fn next_page(&mut self) -> Result<bool> {
        self.slots = 0..0;
        if self.at_end || self.range_is_empty() {
            self.at_end = true;
            return Ok(false);
        }
        let id = loop {
            if let Some(id) = self.copy_page()? {
                break id;
            }
        };
        self.goes_on = true;
        let page = self.page.page();
        self.slots = first_slot(page, &self.lower)..end_slot(page, &self.upper);
        self.key.clear();
        let (offset, _) = node::lower_fence(page);
        self.key.extend_from_slice(&self.page.bytes()[offset..][..node::prefix_len(page)]);
        let moves_on = match self.direction {
            Direction::Forward => self.advance_lower(),
            Direction::Backward => self.advance_upper(),
        };
        match moves_on {
            true => Ok(true),
            false => Err(self.tree.pool().corrupt(id, "a scan cannot get past the page's fences")),
        }
    }

    fn range_is_empty(&self) -> bool {
        let (Bound::Included(low) | Bound::Excluded(low)) = &self.lower else { return false };
        match &self.upper {
            Bound::Included(high) => low > high,
            Bound::Excluded(high) => low >= high,
            Bound::Unbounded => false,
        }
    }

    /// Tries once to copy the next leaf; returns its id.
    fn copy_page(&mut self) -> Result<Option<PageId>> {
        let target = match (self.direction, &self.lower, &self.upper) {
            (Direction::Forward, Bound::Unbounded, _) => Target::Key(&[]),
            (Direction::Forward, Bound::Included(key) | Bound::Excluded(key), _) => {
                Target::Key(key)
            }
            (Direction::Backward, _, Bound::Unbounded) => Target::Last,
            (Direction::Backward, _, Bound::Included(key)) => Target::Key(key),
            (Direction::Backward, _, Bound::Excluded(key)) => Target::Below(key),
        };
        let mut leaf = None;
        if let Target::Key(key) = target {
            let to = (&mut self.above, &mut *self.page);
            if let Some(id) = self.way.copy_leaf(&self.tree, (key, &self.upper), to)? {
                return Ok(Some(id));
            }
            if self.goes_on && self.direction == Direction::Forward {
                leaf = self.tree.next_leaf(key, &mut self.above)?;
            }
        }
        let leaf = leaf.map_or_else(|| self.tree.locate(target, 0), Ok)?;
        let pool = self.tree.pool();
        let page = pool.page(leaf.id);
        let slots_end = node::SLOTS + node::slot_count(page) * node::SLOT_SIZE;
        let heap_start = usize::from(page.u16_at(node::HEAP_START)).min(PAGE_SIZE);
        let copy = self.page.bytes_mut();
        let complete = page.copy_to(0, &mut copy[..slots_end])
            && page.copy_to(heap_start, &mut copy[heap_start..]);
        Ok((complete && pool.validate(leaf.id, leaf.version)).then_some(leaf.id))
    }

    /// Moves the range to behind the copy; false if that is not ahead (the page is damaged).
    fn advance_lower(&mut self) -> bool {
        let Some(fence) = node::upper_fence_key(self.page.page()) else {
            self.at_end = true;
            return true;
        };
        let moves_on = match &self.lower {
            Bound::Unbounded => true,
            Bound::Included(at) | Bound::Excluded(at) => fence > *at,
        };
        self.lower = Bound::Included(fence);
        moves_on
    }

    /// As [`Cursor::advance_lower`], downwards.
    fn advance_upper(&mut self) -> bool {
        let fence = node::lower_fence_key(self.page.page());
        self.at_end = fence.is_empty();
        let moves_on = match &self.upper {
            _ if self.at_end => true,
            Bound::Unbounded => true,
            Bound::Included(at) => fence <= *at,
            Bound::Excluded(at) => fence < *at,
        };
        self.upper = Bound::Excluded(fence);
        moves_on
    }

    /// The next entry of the copied page, in the scan's direction. `None` when the page has no more
    /// entries; [`Cursor::next_page`] then reads the next one. Holds no latch.
    #[expect(clippy::should_implement_trait, reason = "lends from the cursor")]
    #[inline]
    pub fn next(&mut self) -> Option<(&[u8], &[u8])> {
        self.advance().then(|| (self.key(), self.value()))
    }

    /// Moves to the next entry, as [`Cursor::next`]; false when the page has no more entries.
    #[inline]
    pub fn advance(&mut self) -> bool {
        let is_there = self.advance_to_value();
        if is_there {
            self.read_key();
        }
        is_there
    }

    /// As [`Cursor::advance`] for a caller that mostly needs values only: [`Cursor::read_key`] must
    /// be called before [`Cursor::key`].
    #[inline]
    pub fn advance_to_value(&mut self) -> bool {
        let slot = match self.direction {
            Direction::Forward => self.slots.next(),
            Direction::Backward => self.slots.next_back(),
        };
        // The copy was validated, and the page's entries were validated when it was read from disk.
        let entry = slot.and_then(|slot| node::entry(self.page.page(), slot));
        let Some(entry) = entry else { return false };
        self.suffix = entry.key_offset..entry.key_offset + entry.key_len;
        self.value = entry.value_offset..entry.value_offset + entry.value_len;
        true
    }

    /// Assembles the key of the current entry.
    #[inline]
    pub fn read_key(&mut self) {
        self.key.truncate(node::prefix_len(self.page.page()));
        self.key.extend_from_slice(&self.page.bytes()[self.suffix.clone()]);
    }

    /// The place in the copied page of the current entry's value.
    #[inline]
    pub fn value_place(&self) -> std::ops::Range<usize> {
        self.value.clone()
    }

    /// The part of the copied page that contains its values, and the part's offset in the page.
    pub fn values(&self) -> (usize, &[u8]) {
        let start = usize::from(self.page.page().u16_at(node::HEAP_START)).min(PAGE_SIZE);
        (start, &self.page.bytes()[start..])
    }

    /// The current entry's key.
    #[inline]
    pub fn key(&self) -> &[u8] {
        &self.key
    }

    /// The current entry's value.
    #[inline]
    pub fn value(&self) -> &[u8] {
        &self.page.bytes()[self.value.clone()]
    }

    /// The number of remaining entries of the copied page.
    pub fn remaining(&self) -> usize {
        self.slots.len()
    }
}

/// The first slot in the range. The page need not cover the bound's key.
fn first_slot(page: PageRef<'_>, lower: &Bound<Vec<u8>>) -> usize {
    let (key, skip_equal) = match lower {
        Bound::Unbounded => return 0,
        Bound::Included(key) => (key, false),
        Bound::Excluded(key) => (key, true),
    };
    match position(page, key) {
        Position::Below => 0,
        Position::At(slot, found) => slot + usize::from(found && skip_equal),
        Position::Above => node::slot_count(page),
    }
}

/// The slot past the last one in the range.
fn end_slot(page: PageRef<'_>, upper: &Bound<Vec<u8>>) -> usize {
    let (key, with_equal) = match upper {
        Bound::Unbounded => return node::slot_count(page),
        Bound::Included(key) => (key, true),
        Bound::Excluded(key) => (key, false),
    };
    match position(page, key) {
        Position::Below => 0,
        Position::At(slot, found) => slot + usize::from(found && with_equal),
        Position::Above => node::slot_count(page),
    }
}

/// The position of a key relative to a leaf.
enum Position {
    /// The key is before the leaf's lower fence.
    Below,
    /// The key is between the fences: its slot, and whether it exists.
    At(usize, bool),
    /// The key is at or after the leaf's upper fence.
    Above,
}

fn position(page: PageRef<'_>, key: &[u8]) -> Position {
    let (offset, len) = node::lower_fence(page);
    if page.compare(offset, len, key) == Ordering::Greater {
        return Position::Below;
    }
    if let Some((offset, len)) = node::upper_fence(page)
        && page.compare(offset, len, key) != Ordering::Greater
    {
        return Position::Above;
    }
    let (slot, found) = node::search(page, node::suffix_of(page, key));
    Position::At(slot, found)
}
