//! Reads of many keys as groups of descents, which wait for memory together.
//!
//! ```text
//!            single reads                        a group
//!   key 1    root ░░ inner ░░░ leaf ░░░ entry    root ░ inner ░░ leaf ░░ entry
//!   key 2                                 root…  root ░ inner ░░ leaf ░░ entry
//!   key 3                                        root ░ inner ░░ leaf ░░ entry
//! ```
//!
//! A descent waits at each step for memory lines whose addresses the step before has found (░): the
//! node's header, its last slot, the slots where the key should be, the entry. Here all keys of a
//! group take a step before any takes the next, and each step prefetches the lines for the next
//! one. So the misses of a group overlap (group prefetching: Chen, Ailamaki, Gibbons and Mowry,
//! "Improving Hash Join Performance through Prefetching", ICDE 2004). Compare Kocberber, Falsafi
//! and Grot, "Asynchronous Memory Access Chaining", PVLDB 2015.
//!
//! *A key's read returns what [`Tree::read`] would find at the moment when the key's leaf is
//! validated. Later keys are read at later moments.* Each descent takes the steps of a single one
//! in their order, regardless of the other descents' steps in between. It takes a child's version
//! before it validates the parent ([`Tree::arrive`]; T2, and T3 with it), so at that moment the
//! child was the one that covers the key. Bytes read from the leaf are used only if this version
//! still holds after the read. Then the leaf did not change since its version was taken: neither
//! its entries, nor its fences, nor its place in the tree. A key on the previous key's leaf is
//! searched there, without a descent: that is `near`'s argument. The entries are copied and
//! validated one key after the other, so the moments are in the keys' order.
//!
//! In any other case (a page out of memory, latched or of another tree; a version that does not
//! hold) the descent is abandoned. When it is the key's turn, a single read is made, which waits,
//! loads pages, and reports errors.

use super::{Located, Target, Tree};
use crate::error::{Result, StorageError};
use crate::page::{self, Kind, node};
use crate::pool::Version;
use crate::types::PageId;

/// Descents in progress together: as many as a processor can have misses (ten to twenty).
const GROUP: usize = 16;
/// From this many keys on one leaf on, a descent for each key costs more than waiting for one.
const LONG_RUN: usize = 4;

/// A descent: the last node that it has reached, and its findings there.
#[derive(Clone, Copy)]
struct Way {
    id: PageId,
    version: Version,
    /// The next child, not yet reached.
    next: Option<PageId>,
    /// The level that the next node must have, unless it is the first.
    level: Option<u8>,
    /// The likely slot of the key in the node.
    guess: u16,
    /// In a leaf: the key's slot or insertion slot, and whether the key exists.
    looked: Option<(u16, bool)>,
}

impl Way {
    /// A descent that begins at a node that covers the key.
    fn from(id: PageId, version: Version) -> Way {
        Way { id, version, next: None, level: None, guess: 0, looked: None }
    }

    /// A descent that has found this slot in a leaf, or that the key does not exist.
    fn at(leaf: &Located, (slot, found): (usize, bool)) -> Way {
        Way { looked: Some((slot as u16, found)), ..Way::from(leaf.id, leaf.version) }
    }
}

/// The distribution of the keys of one call, as the caller expects it. It affects only the number
/// of descents that begin together, never the result.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Spread {
    /// Many on each leaf, in key order.
    Beside,
    /// Scattered over the tree.
    Anywhere,
}

/// The preceding keys: how many of them were on the same leaf.
struct Run {
    /// The place where the last key was searched.
    last: Option<Way>,
    /// Keys searched on this leaf so far, and on the leaf before.
    keys: usize,
    before: usize,
}

impl Run {
    /// Before the first key the caller's expectation stands in for the preceding leaves.
    fn new(spread: Spread) -> Run {
        let shown = match spread {
            Spread::Beside => LONG_RUN,
            Spread::Anywhere => 0,
        };
        Run { last: None, keys: shown, before: shown }
    }

    #[inline]
    fn went(&mut self, way: Option<Way>) {
        let leaf = |way: &Option<Way>| way.map(|way| way.id);
        if leaf(&way) == leaf(&self.last) {
            self.keys += 1;
        } else {
            (self.before, self.keys) = (self.keys, 1);
        }
        self.last = way;
    }

    /// The number of descents to begin together: one, if it leads to many keys on the same leaf.
    #[inline]
    fn group(&self) -> usize {
        if self.before.min(self.keys) >= LONG_RUN { 1 } else { GROUP }
    }
}

/// Advances all descents in progress by a step; `step` returns whether a descent can continue.
#[inline]
fn advance(ways: &mut [Option<Way>], mut step: impl FnMut(usize, &mut Way) -> bool) {
    for (i, slot) in ways.iter_mut().enumerate() {
        if let Some(way) = slot
            && way.looked.is_none()
            && !step(i, way)
        {
            *slot = None;
        }
    }
}

/// The entries on one leaf that begin with a key: see [`Tree::match_many`].
#[derive(Default, Debug)]
pub struct Matches {
    bytes: Vec<u8>,
    /// The ends of the rest of each entry's key, and of its value.
    ends: Vec<(usize, usize)>,
    /// Whether the next leaf may have more such entries.
    goes_on: bool,
}

impl Matches {
    /// The parts of the entries' keys behind the given key, and their values, in order.
    pub fn iter(&self) -> impl Iterator<Item = (&[u8], &[u8])> {
        let starts = std::iter::once(0).chain(self.ends.iter().map(|end| end.1));
        let parts = starts.zip(&self.ends);
        parts.map(|(start, end)| (&self.bytes[start..end.0], &self.bytes[end.0..end.1]))
    }

    /// Whether more entries beyond the leaf may begin with the key.
    pub fn goes_on(&self) -> bool {
        self.goes_on
    }

    fn clear(&mut self) {
        self.bytes.clear();
        self.ends.clear();
        self.goes_on = false;
    }
}

impl Tree {
    /// As [`Tree::read`] for `count` keys, in their order: appends the value of key number `i` to
    /// `values` and calls `f` with `i`, the value's offset and `values`. The offset is `None` if
    /// the key does not exist. Ends with the first error. `spread` is a guess.
    pub fn read_many<K: AsRef<[u8]>, E: From<StorageError>>(
        &self,
        (count, spread): (usize, Spread),
        key: impl Fn(usize) -> K,
        values: &mut Vec<u8>,
        mut f: impl FnMut(usize, Option<usize>, &mut Vec<u8>) -> Result<(), E>,
    ) -> Result<(), E> {
        self.for_each((count, spread), &key, |i, way| {
            let start = values.len();
            let mut leaf = way.and_then(|way| Some((way, self.copy_value(&way, values)?)));
            if leaf.is_none() {
                values.truncate(start);
                let looked = self.read_from_root(key(i).as_ref(), values)?;
                leaf = Some((Way::at(&looked.leaf, (looked.slot, looked.found)), looked.found));
            }
            f(i, leaf.is_some_and(|(_, found)| found).then_some(start), values)?;
            Ok(leaf.map(|(way, _)| way))
        })
    }

    /// Finds entries that begin with each of `count` keys, in the keys' order: calls `f` with the
    /// key's number and the entries that are on the leaf that covers the key. Ends with the first
    /// error.
    pub fn match_many<K: AsRef<[u8]>, E: From<StorageError>>(
        &self,
        count: usize,
        key: impl Fn(usize) -> K,
        matches: &mut Matches,
        mut f: impl FnMut(usize, &Matches) -> Result<(), E>,
    ) -> Result<(), E> {
        self.for_each((count, Spread::Anywhere), &key, |i, way| {
            let key = key(i);
            let mut way =
                way.filter(|way| self.copy_matches(way, key.as_ref(), matches) && self.holds(way));
            while way.is_none() {
                way = self.match_single(key.as_ref(), matches)?;
            }
            f(i, matches)?;
            Ok(way)
        })
    }

    /// Tries once to find the entries that begin with a key, by a single descent.
    #[cold]
    fn match_single(&self, key: &[u8], matches: &mut Matches) -> Result<Option<Way>> {
        let pool = self.pool();
        let leaf = self.locate(Target::Key(key), 0)?;
        let page = pool.page(leaf.id);
        let way = Way::at(&leaf, node::search(page, node::suffix_of(page, key)));
        let copied = self.copy_matches(&way, key, matches);
        match (self.holds(&way), copied) {
            (true, true) => Ok(Some(way)),
            (true, false) => Err(pool.corrupt(leaf.id, "entry outside the page")),
            (false, _) => Ok(None),
        }
    }

    /// Descends for all keys and calls `visit` with each one's way, in order; `None` if the descent
    /// was abandoned. `visit` returns the way by which it has validated the leaf that it read.
    #[inline]
    fn for_each<K: AsRef<[u8]>, E: From<StorageError>>(
        &self,
        (count, spread): (usize, Spread),
        key: &impl Fn(usize) -> K,
        mut visit: impl FnMut(usize, Option<Way>) -> Result<Option<Way>, E>,
    ) -> Result<(), E> {
        let (mut ways, mut run) = ([None; GROUP], Run::new(spread));
        let mut next = 0;
        while next < count {
            if let Some(way) = run.last.and_then(|last| self.look_near(&last, key(next).as_ref())) {
                run.went(visit(next, Some(way))?);
                next += 1;
                continue;
            }
            let ways = &mut ways[..run.group().min(count - next)];
            ways.fill(self.at_root());
            self.descend(&|i| key(next + i), ways);
            for way in ways {
                #[cfg(test)]
                tests::between();
                run.went(visit(next, *way)?);
                next += 1;
            }
        }
        Ok(())
    }

    /// Searches a key on the last key's leaf; `None` if the leaf does not cover it.
    #[inline]
    fn look_near(&self, last: &Way, key: &[u8]) -> Option<Way> {
        let page = self.pool().page(last.id);
        if !node::covers(page, key) {
            return None;
        }
        let (slot, found) = last.looked?;
        let (next, suffix) = (usize::from(slot) + usize::from(found), node::suffix_of(page, key));
        let (slot, found) = match node::is_at(page, next, suffix) {
            true => (next, true),
            false => node::search(page, suffix),
        };
        Some(Way { looked: Some((slot as u16, found)), ..*last })
    }

    /// Begins a descent; `None` if the root is not in memory.
    #[inline]
    fn at_root(&self) -> Option<Way> {
        let (root, pool) = (self.id.root, self.pool());
        if root.0 >= pool.max_pages() {
            return None;
        }
        Some(Way::from(root, pool.optimistic_at_once(root)?))
    }

    /// Moves all descents to the leaves, and searches the keys there.
    #[inline]
    fn descend<K: AsRef<[u8]>>(&self, key: &impl Fn(usize) -> K, ways: &mut [Option<Way>]) {
        let page = |way: &Way| self.pool().page(way.id);
        while ways.iter().flatten().any(|way| way.looked.is_none()) {
            advance(ways, |_, way| self.arrive(way));
            #[cfg(test)]
            tests::between();
            advance(ways, |i, way| {
                let page = page(way);
                way.guess = node::guess_slot(page, node::suffix_of(page, key(i).as_ref())) as u16;
                true
            });
            advance(ways, |i, way| self.step(way, key(i).as_ref()));
            #[cfg(test)]
            tests::between();
        }
    }

    /// Moves a descent to its next node; false if that is not the expected node.
    #[inline]
    fn arrive(&self, way: &mut Way) -> bool {
        let pool = self.pool();
        if let Some(child) = way.next.take() {
            let Some(version) = pool.optimistic_at_once(child) else { return false };
            if !self.holds(way) {
                return false;
            }
            (way.id, way.version) = (child, version);
        }
        let page = pool.page(way.id);
        let ours =
            node::generation(page) == self.id.generation && page::kind(page) == Some(Kind::Node);
        let level = node::level(page);
        if !ours || way.level.is_some_and(|expected| expected != level) {
            return false;
        }
        way.level = Some(level);
        node::prefetch_last_slot(page);
        true
    }

    /// Searches the key in a descent's current node: sets the next child, or the entry. False if
    /// there is no child.
    #[inline]
    fn step(&self, way: &mut Way, key: &[u8]) -> bool {
        let pool = self.pool();
        let page = pool.page(way.id);
        let guess = usize::from(way.guess);
        let (slot, found) = node::search_near(page, node::suffix_of(page, key), guess);
        let Some(below) = way.level.and_then(|level| level.checked_sub(1)) else {
            node::prefetch_entry(page, slot);
            way.looked = Some((slot as u16, found));
            return true;
        };
        let child = node::child_at(page, slot + usize::from(found))
            .filter(|child| child.0 != 0 && child.0 < pool.max_pages());
        if let Some(child) = child {
            pool.prefetch(child);
        }
        (way.next, way.level) = (child, Some(below));
        child.is_some()
    }

    /// Appends the value of the key that a descent has found; returns whether the key exists.
    /// `None`: the leaf has changed.
    #[inline]
    fn copy_value(&self, way: &Way, values: &mut Vec<u8>) -> Option<bool> {
        let (slot, found) = way.looked?;
        let page = self.pool().page(way.id);
        let copied = !found || node::append_value(page, usize::from(slot), values);
        (copied && self.holds(way)).then_some(found)
    }

    /// Copies the entries of the leaf that begin with `key`, without validation; false if one does
    /// not lie in the page.
    #[inline]
    fn copy_matches(&self, way: &Way, key: &[u8], matches: &mut Matches) -> bool {
        matches.clear();
        let Some((slot, _)) = way.looked else { return false };
        let mut slot = usize::from(slot);
        let page = self.pool().page(way.id);
        let suffix = node::suffix_of(page, key);
        while node::starts_with(page, slot, suffix) {
            let Some(entry) = node::entry(page, slot) else { return false };
            // The page may have changed since the slot was read.
            let Some(rest_len) = entry.key_len.checked_sub(suffix.len()) else { return false };
            let bytes = &mut matches.bytes;
            if !page.append_to(entry.key_offset + suffix.len(), rest_len, bytes) {
                return false;
            }
            let key_end = bytes.len();
            if !page.append_to(entry.value_offset, entry.value_len, bytes) {
                return false;
            }
            matches.ends.push((key_end, bytes.len()));
            slot += 1;
        }
        matches.goes_on = slot >= node::slot_count(page)
            && node::upper_fence(page).is_some_and(|(offset, len)| {
                len >= key.len() && page.compare(offset, key.len(), key).is_eq()
            });
        true
    }

    /// Whether a descent's current node is unchanged since it was reached.
    #[inline]
    fn holds(&self, way: &Way) -> bool {
        #[cfg(test)]
        if tests::BELIEVE_ALL.get() {
            return true;
        }
        self.pool().validate(way.id, way.version)
    }
}

#[cfg(test)]
#[path = "group_tests.rs"]
mod tests;
