//! Objects that a compiled statement keeps for the leaves it has touched.

use hashbrown::HashMap;
use parking_lot::RwLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use steppe_catalog::Relation;
use steppe_types::Oid;

/// The number of leaves for which one statement keeps compiled objects. For more leaves they are
/// made at each touch, so that cached plans do not fill the memory.
const COMPILED_MAX: usize = 8192;

/// The number of leaves of which one statement keeps handles, a quarter of a kilobyte each.
pub(crate) const HANDLES_MAX: usize = 128 * 1024;

/// An entry for each of a bounded number of leaves, shared by the executions of a statement.
pub(crate) struct ByLeaf<T> {
    entries: RwLock<HashMap<Oid, T>>,
    max: usize,
}

impl<T> Default for ByLeaf<T> {
    fn default() -> ByLeaf<T> {
        ByLeaf::new(COMPILED_MAX)
    }
}

impl<T> ByLeaf<T> {
    pub(crate) fn new(max: usize) -> ByLeaf<T> {
        ByLeaf { entries: RwLock::default(), max }
    }

    /// The result of `f` for a leaf's entry.
    pub(crate) fn get<R>(&self, leaf: Oid, f: impl FnOnce(&T) -> R) -> Option<R> {
        self.entries.read().get(&leaf).map(f)
    }

    /// Takes out a leaf's entry.
    pub(crate) fn take(&self, leaf: Oid) -> Option<T> {
        self.entries.write().remove(&leaf)
    }

    /// Keeps an entry, in the place of some other leaf's if there is no more room.
    pub(crate) fn put(&self, leaf: Oid, entry: T) {
        let mut entries = self.entries.write();
        if entries.len() >= self.max && !entries.contains_key(&leaf) {
            let other = entries.keys().next().copied();
            other.map(|other| entries.remove(&other));
        }
        entries.insert(leaf, entry);
    }
}

/// The epoch of no catalog.
const NO_EPOCH: u64 = u64::MAX;

/// Leaves of one chunk of [`ByPlace`].
const CHUNK: usize = 64;

type Chunk<T> = Box<[OnceLock<T>]>;

/// Something for each leaf by its place among all ([`steppe_partition::RoutedPartition`]), as long
/// as the catalog is the same. Entries are never removed, so a look-up never waits.
pub(crate) struct ByPlace<T> {
    chunks: OnceLock<Box<[OnceLock<Chunk<T>>]>>,
    leaves: usize,
}

impl<T> ByPlace<T> {
    /// Room for the handles of `leaves` leaves, but not for more than [`HANDLES_MAX`].
    pub(crate) fn of_handles(leaves: usize) -> ByPlace<T> {
        ByPlace { chunks: OnceLock::new(), leaves: leaves.min(HANDLES_MAX) }
    }

    /// Room for the compiled objects of as many leaves as [`ByLeaf`] has it for.
    pub(crate) fn of_compiled(leaves: usize) -> ByPlace<T> {
        ByPlace { chunks: OnceLock::new(), leaves: leaves.min(COMPILED_MAX) }
    }

    /// Whether there is room for a leaf.
    pub(crate) fn has_room(&self, place: u32) -> bool {
        (place as usize) < self.leaves
    }

    /// The entry of a leaf.
    #[inline]
    pub(crate) fn get(&self, place: u32) -> Option<&T> {
        let place = place as usize;
        self.chunks.get()?.get(place / CHUNK)?.get()?.get(place % CHUNK)?.get()
    }

    /// Adds an entry, unless there is one. The place must have room.
    pub(crate) fn put(&self, place: u32, value: T) -> &T {
        fn empty<T>(len: usize) -> Box<[OnceLock<T>]> {
            std::iter::repeat_with(OnceLock::new).take(len).collect()
        }
        let place = place as usize;
        let chunks = self.chunks.get_or_init(|| empty(self.leaves.div_ceil(CHUNK)));
        let chunk = chunks[place / CHUNK].get_or_init(|| empty(CHUNK));
        chunk[place % CHUNK].get_or_init(|| value)
    }
}

/// Objects made from leaves' versions.
pub(crate) struct LeafCache<T> {
    entries: ByLeaf<OfLeaf<T>>,
}

/// An object made from a leaf's version.
struct OfLeaf<T> {
    version: Arc<Relation>,
    made: Arc<T>,
    /// The epoch of a catalog that has this version of the leaf, if one has been noted. An epoch is
    /// one catalog's for ever, so in that catalog the leaf need not be looked up.
    epoch: AtomicU64,
}

impl<T> Default for LeafCache<T> {
    fn default() -> LeafCache<T> {
        LeafCache { entries: ByLeaf::default() }
    }
}

impl<T> LeafCache<T> {
    /// The object made from this version of the leaf.
    pub(crate) fn get(&self, leaf: &Arc<Relation>) -> Option<Arc<T>> {
        let of_version =
            |kept: &OfLeaf<T>| Arc::ptr_eq(&kept.version, leaf).then(|| kept.made.clone());
        self.entries.get(leaf.oid, of_version).flatten()
    }

    /// Notes that this version of a leaf, whose object is kept, is that of the catalog with an epoch.
    pub(crate) fn note(&self, leaf: &Arc<Relation>, epoch: u64) {
        self.entries.get(leaf.oid, |kept| {
            if Arc::ptr_eq(&kept.version, leaf) {
                kept.epoch.store(epoch, Ordering::Relaxed);
            }
        });
    }

    /// The result of `f` for the object made from a leaf's version in the catalog with an epoch, if
    /// that has been noted.
    pub(crate) fn noted<R>(&self, leaf: Oid, epoch: u64, f: impl FnOnce(&T) -> R) -> Option<R> {
        let of_epoch =
            |kept: &OfLeaf<T>| (kept.epoch.load(Ordering::Relaxed) == epoch).then(|| f(&kept.made));
        self.entries.get(leaf, of_epoch).flatten()
    }

    /// Keeps the object made from this version of the leaf.
    pub(crate) fn put(&self, leaf: &Arc<Relation>, value: &Arc<T>) {
        let (version, made) = (leaf.clone(), value.clone());
        self.entries.put(leaf.oid, OfLeaf { version, made, epoch: AtomicU64::new(NO_EPOCH) });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use steppe_catalog::RelKind;

    #[test]
    fn keeps_what_was_put_first_at_a_place() {
        let by_place = ByPlace::<u32>::of_handles(130);
        for place in 0..130 {
            assert_eq!(by_place.get(place), None);
            assert_eq!(by_place.put(place, place * 10), &(place * 10));
            assert_eq!(by_place.put(place, 7), &(place * 10));
        }
        assert_eq!((by_place.get(129), by_place.get(130)), (Some(&1290), None));
        assert_eq!((by_place.has_room(129), by_place.has_room(130)), (true, false));
    }

    #[test]
    fn gives_up_what_is_taken_out() {
        let by_leaf = ByLeaf::default();
        by_leaf.put(7, "seven");
        assert_eq!((by_leaf.take(7), by_leaf.take(7)), (Some("seven"), None));
        assert_eq!(by_leaf.get(7, |value| *value), None);
    }

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
        assert_eq!(cache.noted(1, 5, |value| *value), None);
        cache.note(&leaf(1), 5);
        assert_eq!(cache.noted(1, 5, |value| *value), None, "another version");
        cache.note(&first, 5);
        assert_eq!(cache.noted(1, 5, |value| *value), Some(7));
        assert_eq!(cache.noted(1, 6, |value| *value), None);
        cache.put(&leaf(1), &Arc::new(8));
        assert_eq!(cache.noted(1, 5, |value| *value), None, "another version");
        for oid in 2..20_000 {
            cache.put(&leaf(oid), &Arc::new(oid));
        }
        assert_eq!(cache.entries.entries.read().len(), COMPILED_MAX);
    }
}
