//! The catalog and search path that resolve a statement's names.
//!
//! ```text
//!   search_path = "$user", public, no_such      the setting: names
//!        │ resolve, in one version of the catalog
//!        ▼
//!   path = pg_catalog, public                   schemas that exist, in the order they are searched
//! ```
//!
//! It guarantees that all schemas of the path exist in its catalog. So binding a statement needs
//! neither the setting nor the session.

use std::sync::Arc;

use steppe_types::Oid;

use crate::{Catalog, OnCommit, PG_CATALOG, TEMPORARY_SCHEMA};

/// The catalog version in use and the search path resolved in it.
#[derive(Clone, Debug)]
pub struct NameSpace {
    /// The catalog.
    pub catalog: Arc<Catalog>,
    /// Searched schemas, pg_catalog included.
    pub path: Arc<[Oid]>,
    /// The schema of new objects.
    pub creation: Option<Oid>,
    /// Whether new objects belong to the session's temporary schema, which may have to be created
    /// first.
    pub creates_temporary: bool,
    /// Whether a commit must empty or drop temporary tables of the session.
    pub acts_on_commit: bool,
}

impl NameSpace {
    /// The name space without a session.
    pub fn initial(catalog: Arc<Catalog>) -> NameSpace {
        let path = Arc::from([PG_CATALOG]);
        NameSpace { catalog, path, creation: None, creates_temporary: false, acts_on_commit: false }
    }

    /// Resolves a search path. Schemas that do not exist are skipped. pg_catalog is searched first
    /// unless the path names it, and the session's temporary objects before it
    /// (recomputeNamespacePath).
    pub fn resolve(
        catalog: Arc<Catalog>,
        names: &[String],
        user: &str,
        temporary_schema: &str,
    ) -> NameSpace {
        let mut path = Vec::with_capacity(names.len() + 2);
        for name in names {
            let name = match name.as_str() {
                "$user" => user,
                TEMPORARY_SCHEMA => temporary_schema,
                other => other,
            };
            if let Some(schema) = catalog.schema_named(name)
                && !path.contains(&schema.oid)
            {
                path.push(schema.oid);
            }
        }
        let creation = path.first().copied();
        let creates_temporary = names.first().is_some_and(|name| name == TEMPORARY_SCHEMA);
        if !path.contains(&PG_CATALOG) {
            path.insert(0, PG_CATALOG);
        }
        let mut acts_on_commit = false;
        if let Some(temporary) = catalog.schema_named(temporary_schema) {
            if !path.contains(&temporary.oid) {
                path.insert(0, temporary.oid);
            }
            let mut tables = catalog.relations_in(temporary.oid);
            acts_on_commit = tables.any(|table| table.on_commit != OnCommit::PreserveRows);
        }
        NameSpace { catalog, path: path.into(), creation, creates_temporary, acts_on_commit }
    }
}
