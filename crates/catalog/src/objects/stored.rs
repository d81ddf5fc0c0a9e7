//! Objects that are stored one by one and found by OID or by name in a schema: users' functions
//! and types.
//!
//! The store, private versions, merging and publishing treat all of them the same way. Each kind
//! says through [`StoredKind`] where a version of the catalog keeps it. Several objects of a kind may
//! share a name, as overloaded functions do.

use crate::object_id::ObjectId;
use crate::snapshot::{Catalog, name_hash};
use imbl::{OrdMap, OrdSet};
use std::sync::Arc;
use steppe_types::Oid;

/// A kind of object that a version of the catalog keeps in [`Objects`].
pub trait StoredKind: Sized {
    /// The object's OID.
    fn oid(&self) -> Oid;
    /// The schema that it is in.
    fn schema(&self) -> Oid;
    /// Its name, without its schema.
    fn name(&self) -> &str;
    /// The identity of the object with an OID.
    fn id(oid: Oid) -> ObjectId;
    /// The objects of this kind in a version.
    fn of(catalog: &Catalog) -> &Objects<Self>;
    /// The same, to be changed.
    fn of_mut(catalog: &mut Catalog) -> &mut Objects<Self>;
}

/// All objects of a kind in one version. Cloning is O(1); changing a clone is O(log n).
#[derive(Debug)]
pub struct Objects<T> {
    by_oid: OrdMap<Oid, Arc<T>>,
    /// (hash of schema and name, object)
    by_name: OrdSet<(u64, Oid)>,
}

impl<T> Default for Objects<T> {
    fn default() -> Objects<T> {
        Objects { by_oid: OrdMap::new(), by_name: OrdSet::new() }
    }
}

impl<T> Clone for Objects<T> {
    fn clone(&self) -> Objects<T> {
        Objects { by_oid: self.by_oid.clone(), by_name: self.by_name.clone() }
    }
}

impl<T: StoredKind> Objects<T> {
    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.by_oid.is_empty()
    }

    /// The object with an OID.
    pub fn get(&self, oid: Oid) -> Option<&Arc<T>> {
        self.by_oid.get(&oid)
    }

    /// All objects by OID.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<T>> {
        self.by_oid.values()
    }

    /// The objects of a name in a schema, by OID.
    pub fn named<'a>(&'a self, schema: Oid, name: &'a str) -> impl Iterator<Item = &'a Arc<T>> {
        let hash = name_hash(schema, name);
        let same_hash = self.by_name.range((hash, 0)..=(hash, Oid::MAX));
        let found = same_hash.filter_map(|(_, oid)| self.by_oid.get(oid));
        found.filter(move |object| object.schema() == schema && object.name() == name)
    }

    /// Adds or replaces an object (also under a new name or schema).
    pub(crate) fn put(&mut self, object: Arc<T>) {
        let name = name_of(&*object);
        if let Some(old) = self.by_oid.insert(object.oid(), object) {
            self.by_name.remove(&name_of(&*old));
        }
        self.by_name.insert(name);
    }

    /// Removes an object.
    pub(crate) fn remove(&mut self, oid: Oid) {
        if let Some(old) = self.by_oid.remove(&oid) {
            self.by_name.remove(&name_of(&*old));
        }
    }
}

/// An entry of `by_name`.
fn name_of<T: StoredKind>(object: &T) -> (u64, Oid) {
    (name_hash(object.schema(), object.name()), object.oid())
}

impl Catalog {
    /// The objects of a kind that this version stores: users' ones.
    pub fn stored<T: StoredKind>(&self) -> &Objects<T> {
        T::of(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::objects::{TypeDefinition, UserType};

    fn named(oid: Oid, schema: Oid, name: &str) -> Arc<UserType> {
        let definition = TypeDefinition::Enum { labels: Default::default() };
        Arc::new(UserType::new(oid, schema, name, definition))
    }

    fn oids(objects: &Objects<UserType>, schema: Oid, name: &str) -> Vec<Oid> {
        objects.named(schema, name).map(|object| object.oid).collect()
    }

    #[test]
    fn objects_are_found_by_oid_and_by_name() {
        let mut objects = Objects::default();
        objects.put(named(3, 1, "a"));
        objects.put(named(2, 1, "a"));
        objects.put(named(4, 2, "a"));
        assert_eq!(oids(&objects, 1, "a"), [2, 3], "in the order of their OIDs");
        let before = objects.clone();
        objects.put(named(3, 2, "b"));
        assert_eq!((oids(&objects, 1, "a"), oids(&objects, 2, "b")), (vec![2], vec![3]));
        objects.remove(2);
        assert!(objects.get(2).is_none() && oids(&objects, 1, "a").is_empty());
        assert_eq!(oids(&before, 1, "a"), [2, 3], "an older version stays as it is");
    }
}
