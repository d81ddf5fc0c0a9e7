//! Reads of many keys, a group of descents at a time, so that they wait for memory together.
//!
//! ```text
//!            single reads                        a group
//!   key 1    root ░░ inner ░░░ leaf ░░░ entry    root ░ inner ░░ leaf ░░ entry
//!   key 2                                 root…  root ░ inner ░░ leaf ░░ entry
//!   key 3                                        root ░ inner ░░ leaf ░░ entry
//! ```
//!
//! A descent waits at each step for lines of memory that the step before has told it (░): the node's
//! header, its last slot, the slots where the key should be, the entry. Here all keys of a group
//! take a step before any takes the next, and each step asks the processor for what the next one
//! looks at: the misses of a group overlap (group prefetching: Chen, Ailamaki, Gibbons and Mowry,
//! "Improving Hash Join Performance through Prefetching", ICDE 2004; compare Kocberber, Falsafi and
//! Grot, "Asynchronous Memory Access Chaining", PVLDB 2015).
//!
//! *A key's read is what [`Tree::read`] would have found at the moment when its leaf was validated,
//! and later keys are read at later moments.* Each descent by itself takes the steps of a single
//! one in their order, whatever the others do between them: it takes a child's version before it
//! validates the node above ([`Tree::arrive`]; T2, and T3 with it), so at that moment the child
//! was the one that covers the key; what is read from the leaf counts only if this version still
//! holds after the reading. The leaf then is what it was when its version was taken, up to that
//! moment: its entries, its fences and its place in the tree. A key that is on the leaf of the last
//! one before it is looked for there, without a descent: that is `near`'s argument. The entries are
//! copied and validated one key after the other, so the moments are in the keys' order.
//!
//! A descent that meets anything else (a page out of memory, latched or of another tree; a version
//! that does not hold) is given up. Its key is read by itself when it is its turn, which waits,
//! loads, and knows the errors.

use super::{Located, Target, Tree};
use crate::error::{Result, StorageError};
use crate::page::{self, Kind, node};
use crate::pool::Version;
use crate::types::PageId;

/// Descents that are under way together: as many as a processor has misses (ten to twenty).
const GROUP: usize = 16;
/// From so many keys on one leaf on, a descent of its own for each costs more than waiting for one.
const LONG_RUN: usize = 4;

/// A descent: the last node that was arrived at, and what is known there.
#[derive(Clone, Copy)]
struct Way {
    id: PageId,
    version: Version,
    /// The child to go to, not yet arrived at.
    next: Option<PageId>,
    /// The level that the next node must have, unless it is the first.
    level: Option<u8>,
    /// Where the key should be in the node.
    guess: u16,
    /// In a leaf: the key's slot, or the one it would have, and whether it is there.
    looked: Option<(u16, bool)>,
}

impl Way {
    /// One that begins at a node that covers the key.
    fn from(id: PageId, version: Version) -> Way {
        Way { id, version, next: None, level: None, guess: 0, looked: None }
    }

    /// One that has found this slot in a leaf, or that the key is not there.
    fn at(leaf: &Located, (slot, found): (usize, bool)) -> Way {
        Way { looked: Some((slot as u16, found)), ..Way::from(leaf.id, leaf.version) }
    }
}

/// Where the keys of one call lie, as far as the caller knows. This decides only how many descents
/// begin together, never what is found.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Spread {
    /// Many on each leaf, in their order.
    Beside,
    /// Anywhere.
    Anywhere,
}

/// The keys before the next ones: how many of them lay beside each other.
struct Run {
    /// Where the last key was looked for.
    last: Option<Way>,
    /// So many keys were looked for on this leaf so far, and on the one before.
    keys: usize,
    before: usize,
}

impl Run {
    /// Before the first key the caller's word counts as what the leaves before have shown.
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

    /// How many descents to begin together: one leads to many keys that lie beside each other.
    #[inline]
    fn group(&self) -> usize {
        if self.before.min(self.keys) >= LONG_RUN { 1 } else { GROUP }
    }
}

/// Takes all descents that are under way a step further; `step` says whether they can go on.
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

/// The entries of a tree that begin with a key, as one leaf has them: see [`Tree::match_many`].
#[derive(Default, Debug)]
pub struct Matches {
    bytes: Vec<u8>,
    /// Where the rest of an entry's key ends, and its value.
    ends: Vec<(usize, usize)>,
    /// Whether the next leaf may have more.
    goes_on: bool,
}

impl Matches {
    /// What the entries have behind the key, and their values, in order.
    pub fn iter(&self) -> impl Iterator<Item = (&[u8], &[u8])> {
        let starts = std::iter::once(0).chain(self.ends.iter().map(|end| end.1));
        let parts = starts.zip(&self.ends);
        parts.map(|(start, end)| (&self.bytes[start..end.0], &self.bytes[end.0..end.1]))
    }

    /// Whether the leaf was left before the last entry that may begin with the key.
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
    /// `values` and calls `f` with `i`, where it begins, and `values`; `None`: there is no such key. Ends
    /// with the first error. `spread` is a guess.
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

    /// Looks for the entries that begin with each of `count` keys, in the keys' order: calls `f`
    /// with the key's number and those entries that are on the leaf of the first. Ends with the
    /// first error.
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

    /// One attempt to find the entries that begin with a key by itself.
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

    /// Descends for all keys and calls `visit` with each one's way, in order; `None`: given up.
    /// `visit` says by which way the leaf was validated that it has read.
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

    /// Looks for a key on the leaf of the last one; `None`: it is not for that.
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

    /// A descent that begins; `None` if the root is not in memory.
    #[inline]
    fn at_root(&self) -> Option<Way> {
        let (root, pool) = (self.id.root, self.pool());
        if root.0 >= pool.max_pages() {
            return None;
        }
        Some(Way::from(root, pool.optimistic_at_once(root)?))
    }

    /// Takes all descents to the leaves, and looks for the keys there.
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

    /// Arrives at the node that a descent goes to; false if that is not the one.
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

    /// Looks for the key in the node that a descent is at: the child to go to, or the entry. False if
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

    /// Appends the value of the key that a descent has found; says whether there is one. `None`: the
    /// leaf has changed.
    #[inline]
    fn copy_value(&self, way: &Way, values: &mut Vec<u8>) -> Option<bool> {
        let (slot, found) = way.looked?;
        let page = self.pool().page(way.id);
        let copied = !found || node::append_value(page, usize::from(slot), values);
        (copied && self.holds(way)).then_some(found)
    }

    /// Copies the entries of the leaf that begin with `key`, nothing of it validated yet; false if
    /// one does not lie in the page.
    #[inline]
    fn copy_matches(&self, way: &Way, key: &[u8], matches: &mut Matches) -> bool {
        matches.clear();
        let Some((slot, _)) = way.looked else { return false };
        let mut slot = usize::from(slot);
        let page = self.pool().page(way.id);
        let suffix = node::suffix_of(page, key);
        while node::starts_with(page, slot, suffix) {
            let Some(entry) = node::entry(page, slot) else { return false };
            // The page may have changed since the look at the slot.
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

    /// Whether the node that a descent is at is what it was when it arrived.
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
