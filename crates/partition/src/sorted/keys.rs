//! The keys of one node.

use crate::key::Key;

/// Ascending keys, each with a hint: a number that is less only if the key is.
///
/// Hints lie together, eight to a cache line, and mostly decide alone.
#[derive(Clone, Debug, Default)]
pub(super) struct Keys {
    hints: Vec<u64>,
    keys: Vec<Key>,
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
        self.search(key, |other| other <= key)
    }

    /// How many keys are below `key`.
    #[inline]
    pub(super) fn below(&self, key: &Key) -> usize {
        self.search(key, |other| other < key)
    }

    /// How many keys `precede`, which is told from those whose hint is `key`'s.
    #[inline]
    fn search(&self, key: &Key, precede: impl Fn(&Key) -> bool) -> usize {
        let hint = key.hint();
        let start = self.hints.partition_point(|other| *other < hint);
        if self.hints.get(start) != Some(&hint) {
            return start;
        }
        let tied = self.hints[start..].partition_point(|other| *other == hint);
        start + self.keys[start..start + tied].partition_point(precede)
    }

    pub(super) fn insert(&mut self, at: usize, key: Key) {
        self.hints.insert(at, key.hint());
        self.keys.insert(at, key);
    }

    pub(super) fn set(&mut self, at: usize, key: Key) {
        self.hints[at] = key.hint();
        self.keys[at] = key;
    }

    pub(super) fn remove(&mut self, at: usize) {
        self.hints.remove(at);
        self.keys.remove(at);
    }

    pub(super) fn split_off(&mut self, at: usize) -> Keys {
        Keys { hints: self.hints.split_off(at), keys: self.keys.split_off(at) }
    }

    pub(super) fn extend(&mut self, more: &Keys) {
        self.hints.extend_from_slice(&more.hints);
        self.keys.extend_from_slice(&more.keys);
    }
}
