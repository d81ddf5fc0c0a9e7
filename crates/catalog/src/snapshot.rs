//! One immutable version of all schema objects.

use crate::relation::Relation;
use crate::{BOOTSTRAP_SUPERUSER, INFORMATION_SCHEMA, PG_CATALOG, PUBLIC};
use imbl::{HashMap, OrdMap};
use serde::{Deserialize, Serialize};
use std::sync::{Arc, LazyLock};
use steppe_types::Oid;

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
    pub comment: Option<Arc<str>>,
}

impl Schema {
    /// A schema without a comment, owned by the superuser.
    pub fn new(oid: Oid, name: impl Into<Arc<str>>) -> Schema {
        Schema { oid, name: name.into(), owner: BOOTSTRAP_SUPERUSER, comment: None }
    }
}

/// What a session calls its own schema of temporary objects.
pub const TEMPORARY_SCHEMA: &str = "pg_temp";

impl Schema {
    /// Whether it is some session's schema of temporary objects: `pg_temp_N`.
    pub fn is_temporary(&self) -> bool {
        self.name.strip_prefix(TEMPORARY_SCHEMA).is_some_and(|rest| rest.starts_with('_'))
    }
}

/// One version of the catalog. Cloning is O(1); changing a clone is O(log n).
#[derive(Clone, Debug)]
pub struct Catalog {
    /// Grows with every published change; cached plans name it.
    pub epoch: u64,
    schemas: OrdMap<Oid, Arc<Schema>>,
    relations: OrdMap<Oid, Arc<Relation>>,
    relations_by_name: HashMap<(Oid, Arc<str>), Oid>,
}

/// The built-in schemas with the system catalogs in them. Every version grows from clones of one
/// and the same, so the system catalogs are in memory once and cost DDL nothing.
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
            relations: OrdMap::new(),
            relations_by_name: HashMap::new(),
        };
        for (oid, name) in [(PG_CATALOG, "pg_catalog"), (INFORMATION_SCHEMA, "information_schema")]
        {
            catalog.put_schema(Schema::new(oid, name));
        }
        catalog.put_schema(Schema {
            owner: crate::system::DATABASE_OWNER,
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

    /// A schema by the name that a session with this search path gives it: `pg_temp` is its own
    /// schema of temporary objects, which is always in the path.
    pub fn schema_in(&self, name: &str, path: &[Oid]) -> Option<&Arc<Schema>> {
        if name != TEMPORARY_SCHEMA {
            return self.schema_named(name);
        }
        path.iter().filter_map(|oid| self.schema(*oid)).find(|schema| schema.is_temporary())
    }

    /// Whether a relation is temporary: it is in a temporary schema.
    pub fn is_temporary(&self, relation: &Relation) -> bool {
        self.schema(relation.schema).is_some_and(|schema| schema.is_temporary())
    }

    /// The relations of a schema, by OID.
    pub fn relations_in(&self, schema: Oid) -> impl Iterator<Item = &Arc<Relation>> {
        self.relations.values().filter(move |relation| relation.schema == schema)
    }

    /// All schemas by OID.
    pub fn schemas(&self) -> impl Iterator<Item = &Arc<Schema>> {
        self.schemas.values()
    }

    /// A relation by OID.
    pub fn relation(&self, oid: Oid) -> Option<&Arc<Relation>> {
        self.relations.get(&oid)
    }

    /// A relation by schema and name.
    pub fn relation_named(&self, schema: Oid, name: &str) -> Option<&Arc<Relation>> {
        let oid = self.relations_by_name.get(&(schema, Arc::from(name)))?;
        self.relations.get(oid)
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

    /// Adds or replaces a relation (also under a new name or schema).
    pub fn put_relation(&mut self, relation: impl Into<Arc<Relation>>) {
        let relation = relation.into();
        if let Some(old) = self.relations.get(&relation.oid) {
            self.relations_by_name.remove(&(old.schema, old.name.clone()));
        }
        self.relations_by_name.insert((relation.schema, relation.name.clone()), relation.oid);
        self.relations.insert(relation.oid, relation);
    }

    /// Removes a relation.
    pub fn remove_relation(&mut self, oid: Oid) -> Option<Arc<Relation>> {
        let old = self.relations.remove(&oid)?;
        self.relations_by_name.remove(&(old.schema, old.name.clone()));
        Some(old)
    }
}
