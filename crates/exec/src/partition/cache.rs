//! What a compiled statement keeps for the leaves it has touched.

use hashbrown::HashMap;
use parking_lot::RwLock;
use std::sync::Arc;
use steppe_catalog::Relation;
use steppe_types::Oid;

/// Leaves that one statement keeps something for. A statement over more leaves makes
/// the rest anew at each touch, so that cached plans do not fill the memory.
pub(super) const LEAVES_MAX: usize = 8192;

/// Something made from a leaf's version, shared by the executions of a statement.
pub(crate) struct LeafCache<T> {
    entries: RwLock<HashMap<Oid, Entry<T>>>,
}

/// The leaf's version, and what was made from it.
type Entry<T> = (Arc<Relation>, Arc<T>);

impl<T> Default for LeafCache<T> {
    fn default() -> LeafCache<T> {
        LeafCache { entries: RwLock::default() }
    }
}

impl<T> LeafCache<T> {
    /// What was made from this version of the leaf.
    pub(crate) fn get(&self, leaf: &Arc<Relation>) -> Option<Arc<T>> {
        let entries = self.entries.read();
        let (version, value) = entries.get(&leaf.oid)?;
        Arc::ptr_eq(version, leaf).then(|| value.clone())
    }

    /// Keeps what was made, in the place of some other leaf's if there is no more room.
    pub(crate) fn put(&self, leaf: &Arc<Relation>, value: &Arc<T>) {
        let mut entries = self.entries.write();
        if entries.len() >= LEAVES_MAX && !entries.contains_key(&leaf.oid) {
            let other = entries.keys().next().copied();
            other.map(|other| entries.remove(&other));
        }
        entries.insert(leaf.oid, (leaf.clone(), value.clone()));
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
        assert_eq!(cache.entries.read().len(), LEAVES_MAX);
    }
}
