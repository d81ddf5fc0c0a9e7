//! Temporary objects (namespace.c).
//!
//! A session's temporary tables, sequences and views are ordinary ones in a schema of its own,
//! `pg_temp_N`, which is made when the first of them is. It stands first in the session's search
//! path and in no other session's.
//!
//! ```text
//!   CREATE TEMP TABLE ──▶ pg_temp_17 ──┬─ COMMIT       ON COMMIT DELETE ROWS, DROP
//!                                      ├─ DISCARD TEMP everything in it goes
//!                                      ├─ session ends the schema goes
//!                                      └─ start-up     after a crash: all of them go
//! ```
//!
//! They are logged like any other table: a crash leaves them whole until the next
//! start takes them away.

use super::depend;
use super::{DdlContext, drop};
use std::sync::Arc;
use steppe_catalog::objects::Object;
use steppe_catalog::{CatalogStore, OnCommit, RelKind, Relation, Schema};
use steppe_txn::{IsolationLevel, RelationLockMode, SessionHandle, TableStore, Txn};
use steppe_types::{Error, Oid, Result, SqlState};

impl DdlContext<'_> {
    /// The session's schema of temporary objects; made if it is not there.
    pub(super) fn own_temporary_schema(&mut self) -> Result<Oid> {
        let name = &*Arc::clone(&self.temporary_schema);
        let oid = match self.catalog().schema_named(name) {
            Some(schema) => schema.oid,
            None => {
                let oid = self.store.new_oid()?;
                let changes = self.store.changes(self.pending);
                self.store.put_schema(changes, Schema::new(oid, name));
                oid
            }
        };
        if !self.search_path.contains(&oid) {
            self.search_path.insert(0, oid);
        }
        Ok(oid)
    }

    fn temporary_relations(&mut self) -> Vec<Arc<Relation>> {
        let catalog = self.catalog();
        match catalog.schema_named(&self.temporary_schema) {
            Some(schema) => catalog.relations_in(schema.oid).cloned().collect(),
            None => Vec::new(),
        }
    }
}

/// Empties or drops the session's temporary tables at the end of a transaction
/// (PreCommit_on_commit_actions).
pub fn on_commit(ctx: &mut DdlContext<'_>) -> Result<()> {
    check_references(ctx)?;
    for table in ctx.temporary_relations() {
        // It may have been dropped with another one already, or its parent may have changed it.
        let Some(table) = ctx.catalog().relation(table.oid).cloned() else { continue };
        match table.on_commit {
            OnCommit::PreserveRows => {}
            OnCommit::DeleteRows => {
                if has_rows(ctx, &table)? {
                    ctx.lock(table.oid, RelationLockMode::AccessExclusive)?;
                    drop::empty_table(ctx, &table)?;
                }
            }
            OnCommit::Drop => drop_with_dependents(ctx, table)?,
        }
    }
    Ok(())
}

/// 0A000 if a table would lose its rows and one that refers to it would not.
fn check_references(ctx: &mut DdlContext<'_>) -> Result<()> {
    let catalog = ctx.catalog();
    let is_emptied = |table: &Relation| table.on_commit == OnCommit::DeleteRows;
    for table in ctx.temporary_relations().iter().filter(|table| is_emptied(table)) {
        for by in catalog.referencing(table.oid).iter().map(|by| by.table) {
            if !is_emptied(by) {
                let message = "unsupported ON COMMIT and foreign key combination";
                return Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, message).detail(format!(
                    "Table \"{}\" references \"{}\", but they do not have the same ON COMMIT \
                     setting.",
                    by.name, table.name
                )));
            }
        }
    }
    Ok(())
}

fn has_rows(ctx: &DdlContext<'_>, table: &Relation) -> Result<bool> {
    let Some(storage) = table.storage else { return Ok(false) };
    match TableStore::open(ctx.store.engine(), storage).tree()? {
        Some(tree) => Ok(tree.first_key()?.is_some()),
        None => Ok(false),
    }
}

/// DISCARD TEMP: drops all objects in the session's temporary schema, but not the schema.
pub fn discard_temporary(ctx: &mut DdlContext<'_>) -> Result<()> {
    for relation in ctx.temporary_relations() {
        drop_with_dependents(ctx, relation)?;
    }
    Ok(())
}

fn drop_with_dependents(ctx: &mut DdlContext<'_>, relation: Arc<Relation>) -> Result<()> {
    if relation.kind == RelKind::Index {
        // An index is dropped with its table.
        return Ok(());
    }
    ctx.lock(relation.oid, RelationLockMode::AccessExclusive)?;
    let views = depend::silently(&ctx.catalog(), Object::Relation(relation.oid));
    drop::drop_dependents(ctx, &views)?;
    drop::drop_relation(ctx, relation)
}

/// Drops temporary schemas with their objects, in a transaction of its own. That is the schema of a
/// session that ends, or at start-up the schemas that a crash has left.
pub fn drop_temporary_schemas(
    store: &CatalogStore,
    session: &SessionHandle,
    wanted: impl Fn(&Schema) -> bool,
) -> Result<()> {
    let published = store.published();
    let doomed = |s: &&Arc<Schema>| s.is_temporary() && wanted(s);
    let schemas: Vec<Oid> = published.schemas().filter(doomed).map(|s| s.oid).collect();
    if schemas.is_empty() {
        return Ok(());
    }
    let mut txn = Txn::begin(session, IsolationLevel::ReadCommitted, false);
    let mut pending = None;
    for schema in schemas {
        let catalog = store.changes(&mut pending).catalog().clone();
        for relation in catalog.relations_in(schema) {
            txn.lock_relation_blocking(relation.oid, RelationLockMode::AccessExclusive)?;
            txn.drop_files_at_commit(&super::files_of(relation));
            store.remove_relation(store.changes(&mut pending), relation.oid);
        }
        store.remove_schema(store.changes(&mut pending), schema);
    }
    match pending {
        Some(mut changes) => {
            store.write(&mut txn, &mut changes)?;
            txn.commit_with(|| store.publish(&changes)).map(|_| ())
        }
        None => txn.rollback(),
    }
}
