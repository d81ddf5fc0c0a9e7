//! One immutable version of all schema objects.

use crate::extension::Extension;
use crate::objects::{Function, Node, NodeGroup, Objects, Operator, UserCast, UserType};
use crate::partition::{PartitionKey, PartitionOf};
use crate::references;
use crate::relation::{Constraint, RelKind, Relation};
use crate::{BOOTSTRAP_SUPERUSER, INFORMATION_SCHEMA, PG_CATALOG, PUBLIC, RareText};
use imbl::{OrdMap, OrdSet};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};
use std::sync::{Arc, LazyLock};
use steppe_partition::{PartitionBound, PartitionMap};
use steppe_types::{Error, Oid};

/// A schema (pg_namespace).
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Schema {
    /// OID.
    pub oid: Oid,
    /// Name.
    pub name: Arc<str>,
    /// Owner.
    pub owner: Oid,
    /// COMMENT ON SCHEMA.
    #[serde(default)]
    pub comment: Option<RareText>,
}

impl Schema {
    /// A schema without a comment, owned by the superuser.
    pub fn new(oid: Oid, name: impl Into<Arc<str>>) -> Schema {
        Schema { oid, name: name.into(), owner: BOOTSTRAP_SUPERUSER, comment: None }
    }
}

/// The name of a session's own schema of temporary objects.
pub const TEMPORARY_SCHEMA: &str = "pg_temp";

impl Schema {
    /// Whether it is a session's schema of temporary objects: `pg_temp_N`.
    pub fn is_temporary(&self) -> bool {
        self.name.strip_prefix(TEMPORARY_SCHEMA).is_some_and(|rest| rest.starts_with('_'))
    }
}

/// One version of the catalog. Cloning is O(1); changing a clone is O(log n).
#[derive(Clone, Debug)]
pub struct Catalog {
    /// Grows with every published change; cached plans contain it.
    pub epoch: u64,
    schemas: OrdMap<Oid, Arc<Schema>>,
    extensions: OrdMap<Oid, Arc<Extension>>,
    /// Users' functions.
    pub(crate) functions: Objects<Function>,
    /// Users' types.
    pub(crate) types: Objects<UserType>,
    /// Users' casts.
    pub(crate) casts: Objects<UserCast>,
    /// Users' operators.
    pub(crate) operators: Objects<Operator>,
    /// The nodes of the cluster.
    pub(crate) nodes: Objects<Node>,
    /// Groups of nodes.
    pub(crate) node_groups: Objects<NodeGroup>,
    relations: OrdMap<Oid, Arc<Relation>>,
    /// (hash of schema and name, relation). The nodes of a hash map would be many times as large.
    relations_by_name: OrdSet<(u64, Oid)>,
    /// The number of constraints with a name, by the hash of schema and name. A partition's
    /// constraints mostly have its parent's names. Keys are not counted: their indexes have the
    /// same names.
    constraint_names: OrdMap<u64, u32>,
    /// (parent, child) for partitions of tables and of indexes, and for INHERITS.
    children: OrdSet<(Oid, Oid)>,
    /// (parent, partition) of partitions that are being detached concurrently.
    pending_detaches: OrdSet<(Oid, Oid)>,
    /// (relation, function or type; the relation that refers to it), by [`references::referred`].
    referrers: OrdSet<(Oid, Oid)>,
    /// (table, the table with a foreign key that refers to it)
    references: OrdSet<(Oid, Oid)>,
    /// The partitions of each partitioned table by their bounds. An error means that the catalog
    /// contradicts itself there; the caller gets it.
    partition_maps: OrdMap<Oid, Result<PartitionMap, Arc<str>>>,
}

/// The built-in schemas with the system catalogs. Every version is based on clones of the same one,
/// so the system catalogs are in memory once and DDL does not copy them.
impl Default for Catalog {
    fn default() -> Catalog {
        static INITIAL: LazyLock<Catalog> = LazyLock::new(Catalog::initial);
        INITIAL.clone()
    }
}

impl Catalog {
    fn initial() -> Catalog {
        let mut catalog = Catalog {
            epoch: 1,
            schemas: OrdMap::new(),
            extensions: OrdMap::new(),
            functions: Objects::default(),
            types: Objects::default(),
            casts: Objects::default(),
            operators: Objects::default(),
            nodes: Objects::default(),
            node_groups: Objects::default(),
            relations: OrdMap::new(),
            relations_by_name: OrdSet::new(),
            constraint_names: OrdMap::new(),
            children: OrdSet::new(),
            pending_detaches: OrdSet::new(),
            referrers: OrdSet::new(),
            references: OrdSet::new(),
            partition_maps: OrdMap::new(),
        };
        for (oid, name) in [(PG_CATALOG, "pg_catalog"), (INFORMATION_SCHEMA, "information_schema")]
        {
            let comment = (oid == PG_CATALOG).then(|| "system catalog schema".to_string().into());
            catalog.put_schema(Schema { comment, ..Schema::new(oid, name) });
        }
        catalog.put_schema(Schema {
            owner: crate::system::DATABASE_OWNER,
            comment: Some("standard public schema".to_string().into()),
            ..Schema::new(PUBLIC, "public")
        });
        for relation in crate::system::relations() {
            catalog.put_relation(relation.clone());
        }
        catalog
    }

    /// A schema by OID.
    pub fn schema(&self, oid: Oid) -> Option<&Arc<Schema>> {
        self.schemas.get(&oid)
    }

    /// A schema by name.
    pub fn schema_named(&self, name: &str) -> Option<&Arc<Schema>> {
        self.schemas.values().find(|s| &*s.name == name)
    }

    /// A schema by name for a session with this search path: `pg_temp` is the session's own schema
    /// of temporary objects, which is always in the path.
    pub fn schema_in(&self, name: &str, path: &[Oid]) -> Option<&Arc<Schema>> {
        if name != TEMPORARY_SCHEMA {
            return self.schema_named(name);
        }
        path.iter().filter_map(|oid| self.schema(*oid)).find(|schema| schema.is_temporary())
    }

    /// The relation of a name, with or without a schema, for a session with this search path.
    pub fn relation_in(
        &self,
        schema: Option<&str>,
        name: &str,
        path: &[Oid],
    ) -> Option<&Arc<Relation>> {
        match schema {
            Some(schema) => self.relation_named(self.schema_in(schema, path)?.oid, name),
            None => path.iter().find_map(|schema| self.relation_named(*schema, name)),
        }
    }

    /// Whether a relation is temporary: it is in a temporary schema.
    pub fn is_temporary(&self, relation: &Relation) -> bool {
        self.schema(relation.schema).is_some_and(|schema| schema.is_temporary())
    }

    /// Whether it is a temporary table of another session than the one with this search path: only
    /// its own session may read its rows.
    pub fn is_of_other_session(&self, relation: &Relation, path: &[Oid]) -> bool {
        self.is_temporary(relation) && !path.contains(&relation.schema)
    }

    /// The relations of a schema, by OID.
    pub fn relations_in(&self, schema: Oid) -> impl Iterator<Item = &Arc<Relation>> {
        self.relations.values().filter(move |relation| relation.schema == schema)
    }

    /// All schemas by OID.
    pub fn schemas(&self) -> impl Iterator<Item = &Arc<Schema>> {
        self.schemas.values()
    }

    /// The installed extensions by OID.
    pub fn extensions(&self) -> impl Iterator<Item = &Arc<Extension>> {
        self.extensions.values()
    }

    /// An installed extension by OID.
    pub fn extension(&self, oid: Oid) -> Option<&Arc<Extension>> {
        self.extensions.get(&oid)
    }

    /// An installed extension by name.
    pub fn extension_named(&self, name: &str) -> Option<&Arc<Extension>> {
        self.extensions.values().find(|e| &*e.name == name)
    }

    /// A relation by OID.
    pub fn relation(&self, oid: Oid) -> Option<&Arc<Relation>> {
        self.relations.get(&oid)
    }

    /// A relation by schema and name.
    pub fn relation_named(&self, schema: Oid, name: &str) -> Option<&Arc<Relation>> {
        self.relation_hashed(name_hash(schema, name), schema, name)
    }

    fn relation_hashed(&self, hash: u64, schema: Oid, name: &str) -> Option<&Arc<Relation>> {
        let mut from = 0;
        loop {
            // A range would also search its end.
            let (_, oid) =
                *self.relations_by_name.get_next(&(hash, from)).filter(|n| n.0 == hash)?;
            let relation = self.relations.get(&oid);
            if relation.is_some_and(|found| found.schema == schema && *found.name == *name) {
                return relation;
            }
            from = oid.checked_add(1)?;
        }
    }

    /// All relations by OID.
    pub fn relations(&self) -> impl Iterator<Item = &Arc<Relation>> {
        self.relations.values()
    }

    /// The indexes of a table, in the table's order.
    pub fn indexes_of<'a>(
        &'a self,
        table: &'a Relation,
    ) -> impl Iterator<Item = &'a Arc<Relation>> {
        table.indexes.iter().filter_map(|oid| self.relations.get(oid))
    }

    /// Adds or replaces a schema.
    pub fn put_schema(&mut self, schema: Schema) {
        self.schemas.insert(schema.oid, Arc::new(schema));
    }

    /// Removes a schema.
    pub fn remove_schema(&mut self, oid: Oid) {
        self.schemas.remove(&oid);
    }

    /// Adds or replaces an extension.
    pub fn put_extension(&mut self, extension: Extension) {
        self.extensions.insert(extension.oid, Arc::new(extension));
    }

    /// Removes an extension.
    pub fn remove_extension(&mut self, oid: Oid) {
        self.extensions.remove(&oid);
    }

    /// Adds or replaces a relation (also under a new name or schema).
    pub fn put_relation(&mut self, relation: impl Into<Arc<Relation>>) {
        let mut relation = relation.into();
        // A relation that others already refer to has been compacted before.
        if let Some(new) = Arc::get_mut(&mut relation) {
            let parent = new.partition_of.as_ref().map(|of| of.parent);
            new.compact(parent.and_then(|parent| self.relations.get(&parent)).map(|p| &**p));
            self.share_names(new);
        }
        let old = self.relations.insert(relation.oid, relation.clone());
        let name = name_of(&relation);
        match old.as_deref().map(name_of) {
            Some(old) if old == name => {}
            old => {
                old.map(|old| self.relations_by_name.remove(&old));
                self.relations_by_name.insert(name);
            }
        }
        self.count_names(old.as_deref(), Some(&relation));
        self.link(old.as_deref(), Some(&relation));
    }

    /// Shares one name between a constraint and its index, which are equal.
    fn share_names(&self, new: &mut Relation) {
        if let Some(table) = new.index.as_ref().and_then(|info| self.relations.get(&info.table)) {
            let its = table.constraints.iter().find(|c| c.index() == Some(new.oid));
            its.into_iter().for_each(|constraint| share(&mut new.name, &constraint.name));
        }
        for constraint in &mut new.constraints {
            let index = constraint.index().and_then(|index| self.relations.get(&index));
            index.into_iter().for_each(|index| share(&mut constraint.name, &index.name));
        }
    }

    /// Removes a relation.
    pub fn remove_relation(&mut self, oid: Oid) -> Option<Arc<Relation>> {
        let old = self.relations.remove(&oid)?;
        self.relations_by_name.remove(&name_of(&old));
        self.count_names(Some(&old), None);
        self.link(Some(&old), None);
        Some(old)
    }

    /// Whether a constraint of a table in a schema has this name.
    pub fn has_constraint(&self, schema: Oid, name: &str) -> bool {
        let hash = name_hash(schema, name);
        self.constraint_names.contains_key(&hash)
            || self.relation_hashed(hash, schema, name).is_some_and(|index| self.serves_key(index))
    }

    /// Whether neither a relation nor a constraint in a schema has this name.
    pub fn is_free_for_key(&self, schema: Oid, name: &str) -> bool {
        let hash = name_hash(schema, name);
        !self.constraint_names.contains_key(&hash)
            && self.relation_hashed(hash, schema, name).is_none()
    }

    /// Whether an index belongs to a primary key or a unique constraint.
    fn serves_key(&self, index: &Relation) -> bool {
        let table = index.index.as_ref().and_then(|info| self.relations.get(&info.table));
        table.is_some_and(|table| table.constraints.iter().any(|c| c.index() == Some(index.oid)))
    }

    /// Keeps `constraint_names` consistent with a relation's version.
    fn count_names(&mut self, old: Option<&Relation>, new: Option<&Relation>) {
        let [before, after] =
            [old, new].map(|relation| relation.map_or(&[][..], |r| &r.constraints));
        let is_moved = old.map(|relation| relation.schema) != new.map(|relation| relation.schema);
        let is_same = !is_moved && counted_names(before).eq(counted_names(after));
        if is_same || before.is_empty() && after.is_empty() {
            return;
        }
        for name in counted_names(before) {
            let hash = name_hash(old.map_or(0, |relation| relation.schema), name);
            match self.constraint_names.get_mut(&hash) {
                Some(count) if *count > 1 => *count -= 1,
                _ => drop(self.constraint_names.remove(&hash)),
            }
        }
        for name in counted_names(after) {
            let hash = name_hash(new.map_or(0, |relation| relation.schema), name);
            *self.constraint_names.entry(hash).or_default() += 1;
        }
    }

    /// The relations that refer to a relation, a function or a type by a query, a text or a column,
    /// and the sequences that a table owns, by OID.
    pub fn referrers(&self, object: Oid) -> impl Iterator<Item = &Arc<Relation>> {
        let of = self.referrers.range((object, 0)..=(object, Oid::MAX));
        of.filter_map(|(_, referrer)| self.relations.get(referrer))
    }

    /// The tables with foreign keys that refer to a table.
    pub(crate) fn referencing_tables(&self, table: Oid) -> impl Iterator<Item = Oid> {
        self.references.range((table, 0)..=(table, Oid::MAX)).map(|(_, referencing)| *referencing)
    }

    // ----- partitions and inheritance -----

    /// The partitions of a table or index, or the tables that inherit from it, by OID.
    pub fn children(&self, parent: Oid) -> impl DoubleEndedIterator<Item = Oid> {
        self.children.range((parent, 0)..=(parent, Oid::MAX)).map(|(_, child)| *child)
    }

    /// pg_index.indisvalid: an index of a partitioned table is valid if each partition has its
    /// part.
    pub fn is_valid_index(&self, index: &Relation) -> bool {
        let (RelKind::PartitionedIndex, Some(info)) = (index.kind, &index.index) else {
            return true;
        };
        let is_in = |table: Oid| self.relation(table).is_some_and(|table| !table.is_detaching());
        let is_part = |part: &&Arc<Relation>| part.index.as_ref().is_some_and(|i| is_in(i.table));
        let parts = self.children(index.oid).filter_map(|part| self.relation(part));
        let valid = parts.filter(is_part).filter(|part| self.is_valid_index(part)).count();
        valid == self.children(info.table).filter(|child| is_in(*child)).count()
    }

    /// The partitions of a table that DETACH PARTITION … CONCURRENTLY has marked. Partition maps do
    /// not contain them.
    pub fn pending_detaches(&self, parent: Oid) -> impl Iterator<Item = &Arc<Relation>> {
        let of = self.pending_detaches.range((parent, 0)..=(parent, Oid::MAX));
        of.filter_map(|(_, partition)| self.relations.get(partition))
    }

    /// Whether any partition is being detached.
    pub fn has_pending_detaches(&self) -> bool {
        !self.pending_detaches.is_empty()
    }

    /// A table's partition map that includes partitions being detached. Their bounds stay reserved
    /// until the end of DETACH, so their rows do not belong in the default partition. `None`: no
    /// partition is being detached.
    pub fn map_with_pending(&self, table: Oid) -> steppe_types::Result<Option<PartitionMap>> {
        let mut pending = self.pending_detaches(table).peekable();
        let Some(map) = self.partition_map(table)?.filter(|_| pending.peek().is_some()) else {
            return Ok(None);
        };
        let mut map = map.clone();
        for partition in pending {
            let bound = partition.partition_of.as_ref().and_then(|of| of.bound.as_ref());
            if bound.is_some_and(|bound| map.attach(partition.oid, bound).is_err()) {
                let what = "a partition that is being detached has no place";
                return Err(Error::internal(what));
            }
        }
        Ok(Some(map))
    }

    /// All reserved bounds of a partitioned table, including those of partitions being detached.
    pub fn map_of_taken(&self, table: Oid) -> steppe_types::Result<Cow<'_, PartitionMap>> {
        if let Some(map) = self.map_with_pending(table)? {
            return Ok(Cow::Owned(map));
        }
        let map = self.partition_map(table)?.map(Cow::Borrowed);
        map.ok_or_else(|| Error::internal(format!("relation {table} has no partition map")))
    }

    /// This version for reading data as of an older one: it includes partitions that have been
    /// marked for DETACH since. `None`: there are none.
    pub fn with_partitions_of(&self, older: &Catalog) -> Option<Catalog> {
        let of = |catalog: &Catalog, partition: Oid| {
            let relation = catalog.relations.get(&partition)?;
            relation.partition_of.as_ref().map(|of| (of.parent, of.detach_pending))
        };
        let was_there =
            |(parent, partition): &&(Oid, Oid)| of(older, *partition) == Some((*parent, false));
        let mut seen: Option<Catalog> = None;
        for (_, partition) in self.pending_detaches.iter().filter(was_there) {
            let Some(relation) = self.relations.get(partition) else { continue };
            let mut attached = (**relation).clone();
            if let Some(of) = &mut attached.partition_of {
                of.detach_pending = false;
            }
            seen.get_or_insert_with(|| self.clone()).put_relation(attached);
        }
        seen
    }

    /// A table and all its descendants, level by level, each once (find_all_inheritors). Partitions
    /// being detached are not included.
    pub fn descendants(&self, table: &Arc<Relation>) -> Vec<Arc<Relation>> {
        let mut found = vec![table.clone()];
        let mut at = 0;
        while let Some(parent) = found.get(at).map(|relation| relation.oid) {
            for child in self.children(parent) {
                let known = found.iter().any(|relation| relation.oid == child);
                let child = self.relations.get(&child).filter(|child| !child.is_detaching());
                found.extend(child.filter(|_| !known).cloned());
            }
            at += 1;
        }
        found
    }

    /// The partitions of a partitioned table by their bounds; `None` for another relation. XX000 if
    /// the catalog contradicts itself.
    pub fn partition_map(&self, table: Oid) -> steppe_types::Result<Option<&PartitionMap>> {
        match self.partition_maps.get(&table) {
            None => Ok(None),
            Some(Ok(map)) => Ok(Some(map)),
            Some(Err(what)) => {
                Err(Error::internal(format!("partitions of relation {table}: {what}")))
            }
        }
    }

    /// Keeps `referrers`, `references`, `children` and `partition_maps` consistent with a relation's
    /// version.
    fn link(&mut self, old: Option<&Relation>, new: Option<&Relation>) {
        if let Some(relation) = old {
            for referred in references::referred(relation) {
                self.referrers.remove(&(referred, relation.oid));
            }
            for (_, key) in relation.foreign_keys() {
                self.references.remove(&(key.table, relation.oid));
            }
        }
        if let Some(relation) = new {
            for referred in references::referred(relation) {
                self.referrers.insert((referred, relation.oid));
            }
            for (_, key) in relation.foreign_keys() {
                self.references.insert((key.table, relation.oid));
            }
        }
        if old.map(lineage) != new.map(lineage) {
            if let Some(old) = old {
                self.unlink_from_parents(old);
            }
            if let Some(new) = new {
                self.link_to_parents(new);
            }
        }
        let Some(relation) = new.or(old) else { return };
        match new.and_then(|new| new.partition_key.as_ref()) {
            None => {
                self.partition_maps.remove(&relation.oid);
            }
            Some(key) if !self.partition_maps.contains_key(&relation.oid) => {
                let map = self.map_of_children(relation.oid, key);
                self.partition_maps.insert(relation.oid, map);
            }
            Some(_) => {}
        }
    }

    fn link_to_parents(&mut self, child: &Relation) {
        for parent in child.parents() {
            self.children.insert((parent, child.oid));
        }
        if let Some(of) = child.partition_of.as_ref().filter(|of| of.detach_pending) {
            self.pending_detaches.insert((of.parent, child.oid));
        }
        self.change_parent_map(child, |map, bound| {
            map.attach(child.oid, bound).map_err(|e| format!("{e:?}").into())
        });
    }

    fn unlink_from_parents(&mut self, child: &Relation) {
        for parent in child.parents() {
            self.children.remove(&(parent, child.oid));
            self.pending_detaches.remove(&(parent, child.oid));
        }
        self.change_parent_map(child, |map, bound| {
            map.detach(child.oid, bound).map_err(|e| e.message().into())
        });
    }

    /// Changes the map of the child's parent, if it exists. The parent may be added later (its map
    /// is made then), or may have been removed.
    fn change_parent_map(
        &mut self,
        child: &Relation,
        change: impl FnOnce(&mut PartitionMap, &PartitionBound) -> Result<(), Arc<str>>,
    ) {
        let Some(of) = child.attached() else { return };
        let (Some(bound), Some(entry)) = (&of.bound, self.partition_maps.get_mut(&of.parent))
        else {
            return;
        };
        if let Ok(map) = entry
            && let Err(what) = change(map, bound)
        {
            *entry = Err(what);
        }
    }

    fn map_of_children(&self, parent: Oid, key: &PartitionKey) -> Result<PartitionMap, Arc<str>> {
        let mut map = key.empty_map().map_err(|e| Arc::from(e.message()))?;
        for child in self.children(parent) {
            let of = self.relations.get(&child).and_then(|child| child.attached());
            if let Some(bound) = of.and_then(|of| of.bound.as_ref()) {
                map.attach(child, bound).map_err(|e| Arc::from(format!("{e:?}")))?;
            }
        }
        Ok(map)
    }
}

/// Replaces its own name by `other` if they are equal.
fn share(own: &mut Arc<str>, other: &Arc<str>) {
    if own == other {
        *own = other.clone();
    }
}

/// The hash of a relation's name in a schema.
pub(crate) fn name_hash(schema: Oid, name: &str) -> u64 {
    BuildHasherDefault::<DefaultHasher>::default().hash_one((schema, name))
}

/// An entry of `relations_by_name`.
fn name_of(relation: &Relation) -> (u64, Oid) {
    (name_hash(relation.schema, &relation.name), relation.oid)
}

/// The names of constraints without an index.
fn counted_names(constraints: &[Constraint]) -> impl Iterator<Item = &str> {
    constraints.iter().filter(|own| own.index().is_none()).map(|constraint| &*constraint.name)
}

/// The properties that determine a relation's parents.
fn lineage(relation: &Relation) -> (Option<&PartitionOf>, &[Oid]) {
    (relation.partition_of.as_ref(), &relation.inherits)
}
