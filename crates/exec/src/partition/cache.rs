//! What a compiled statement keeps for the leaves it has touched.

use hashbrown::HashMap;
use parking_lot::RwLock;
use std::sync::Arc;
use steppe_catalog::Relation;
use steppe_types::Oid;

/// Leaves that one statement keeps something for. A statement over more leaves makes
/// the rest anew at each touch, so that cached plans do not fill the memory.
const LEAVES_MAX: usize = 8192;

/// Something for each of a bounded number of leaves, shared by the executions of a statement.
pub(super) struct ByLeaf<T> {
    entries: RwLock<HashMap<Oid, T>>,
}

impl<T> Default for ByLeaf<T> {
    fn default() -> ByLeaf<T> {
        ByLeaf { entries: RwLock::default() }
    }
}

impl<T> ByLeaf<T> {
    /// What `f` makes of a leaf's entry.
    pub(super) fn get<R>(&self, leaf: Oid, f: impl FnOnce(&T) -> R) -> Option<R> {
        self.entries.read().get(&leaf).map(f)
    }

    /// Keeps an entry, in the place of some other leaf's if there is no more room.
    pub(super) fn put(&self, leaf: Oid, entry: T) {
        let mut entries = self.entries.write();
        if entries.len() >= LEAVES_MAX && !entries.contains_key(&leaf) {
            let other = entries.keys().next().copied();
            other.map(|other| entries.remove(&other));
        }
        entries.insert(leaf, entry);
    }
}

/// Something made from a leaf's version.
pub(crate) struct LeafCache<T> {
    /// The leaf's version, and what was made from it.
    entries: ByLeaf<(Arc<Relation>, Arc<T>)>,
}

impl<T> Default for LeafCache<T> {
    fn default() -> LeafCache<T> {
        LeafCache { entries: ByLeaf::default() }
    }
}

impl<T> LeafCache<T> {
    /// What was made from this version of the leaf.
    pub(crate) fn get(&self, leaf: &Arc<Relation>) -> Option<Arc<T>> {
        let of_version = |(version, value): &(Arc<Relation>, Arc<T>)| {
            Arc::ptr_eq(version, leaf).then(|| value.clone())
        };
        self.entries.get(leaf.oid, of_version).flatten()
    }

    /// Keeps what was made.
    pub(crate) fn put(&self, leaf: &Arc<Relation>, value: &Arc<T>) {
        self.entries.put(leaf.oid, (leaf.clone(), value.clone()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use steppe_catalog::RelKind;

    fn leaf(oid: Oid) -> Arc<Relation> {
        Arc::new(Relation::new(oid, 2200, "leaf", RelKind::Table))
    }

    #[test]
    fn keeps_the_newest_version_of_a_bounded_number_of_leaves() {
        let cache = LeafCache::default();
        let first = leaf(1);
        cache.put(&first, &Arc::new(7));
        assert_eq!(cache.get(&first).as_deref(), Some(&7));
        assert!(cache.get(&leaf(1)).is_none(), "another version");
        for oid in 2..20_000 {
            cache.put(&leaf(oid), &Arc::new(oid));
        }
        assert_eq!(cache.entries.entries.read().len(), LEAVES_MAX);
    }
}
