//! The keys of one node.

use crate::key::Key;

/// Ascending keys, each with a hint. A lesser hint means a lesser key.
///
/// Hints lie together, eight to a cache line. They mostly decide a comparison alone, and always if
/// each determines its key.
#[derive(Clone, Debug)]
pub(super) struct Keys {
    hints: Vec<u64>,
    keys: Vec<Key>,
    /// All keys so far are short.
    are_short: bool,
}

impl Default for Keys {
    fn default() -> Keys {
        Keys { hints: Vec::new(), keys: Vec::new(), are_short: true }
    }
}

impl Keys {
    pub(super) fn len(&self) -> usize {
        self.keys.len()
    }

    pub(super) fn as_slice(&self) -> &[Key] {
        &self.keys
    }

    /// How many keys are not above `key`.
    #[inline]
    pub(super) fn not_above(&self, key: &Key) -> usize {
        self.search(key, true)
    }

    /// How many keys are below `key`.
    #[inline]
    pub(super) fn below(&self, key: &Key) -> usize {
        self.search(key, false)
    }

    /// How many keys are below `key`, or equal to it if those count.
    #[inline]
    fn search(&self, key: &Key, equal_count: bool) -> usize {
        let hint = key.hint();
        let start = self.hints.partition_point(|other| *other < hint);
        if self.hints.get(start) != Some(&hint) {
            return start;
        }
        if self.are_short && key.short().is_some() {
            return start + usize::from(equal_count);
        }
        let tied = self.hints[start..].partition_point(|other| *other == hint);
        let precedes = |other: &Key| other < key || equal_count && other == key;
        start + self.keys[start..start + tied].partition_point(precedes)
    }

    pub(super) fn insert(&mut self, at: usize, key: Key) {
        self.are_short &= key.short().is_some();
        self.hints.insert(at, key.hint());
        self.keys.insert(at, key);
    }

    pub(super) fn set(&mut self, at: usize, key: Key) {
        self.are_short &= key.short().is_some();
        self.hints[at] = key.hint();
        self.keys[at] = key;
    }

    pub(super) fn remove(&mut self, at: usize) {
        self.hints.remove(at);
        self.keys.remove(at);
    }

    pub(super) fn split_off(&mut self, at: usize) -> Keys {
        let (hints, keys) = (self.hints.split_off(at), self.keys.split_off(at));
        Keys { hints, keys, are_short: self.are_short }
    }

    pub(super) fn extend(&mut self, more: &Keys) {
        self.are_short &= more.are_short;
        self.hints.extend_from_slice(&more.hints);
        self.keys.extend_from_slice(&more.keys);
    }
}
