//! Relations as a statement finds them: by name along the search path, and locked.
//!
//! A relation is looked up again once its lock is held: it may have been dropped, renamed or changed
//! during the wait.

use super::DdlContext;
use std::sync::Arc;
use steppe_catalog::{ObjectId, RelKind, Relation};
use steppe_sql::ast::RangeVar;
use steppe_txn::RelationLockMode;
use steppe_types::{Error, Oid, Result, SqlState};

impl DdlContext<'_> {
    /// Finds a relation by name along the search path.
    pub(crate) fn find(&mut self, name: &RangeVar) -> Result<Option<Arc<Relation>>> {
        name.check_database()?;
        let catalog = self.catalog();
        Ok(catalog.relation_in(name.schema.as_deref(), &name.name, &self.search_path).cloned())
    }

    /// Finds and locks a relation: 42P01. After a wait it is looked up again, since it may have
    /// been dropped, renamed or changed meanwhile.
    pub(crate) fn open(
        &mut self,
        name: &RangeVar,
        mode: RelationLockMode,
    ) -> Result<Arc<Relation>> {
        self.try_open(name, mode)?.ok_or_else(|| name.undefined())
    }

    /// As [`DdlContext::open`]; `None` if there is no such relation.
    pub(crate) fn try_open(
        &mut self,
        name: &RangeVar,
        mode: RelationLockMode,
    ) -> Result<Option<Arc<Relation>>> {
        loop {
            let Some(found) = self.find(name)? else { return Ok(None) };
            self.lock(found.oid, mode)?;
            match self.find(name)? {
                Some(now) if now.oid == found.oid => return Ok(Some(now)),
                _ => continue,
            }
        }
    }

    /// Finds and locks a table that can be changed: 42809 for other kinds.
    pub(crate) fn open_table(
        &mut self,
        name: &RangeVar,
        mode: RelationLockMode,
    ) -> Result<Arc<Relation>> {
        let relation = self.open(name, mode)?;
        match relation.kind {
            RelKind::Table | RelKind::PartitionedTable => Ok(relation),
            RelKind::Virtual => Err(system_catalog(&relation)),
            _ => Err(Error::new(
                SqlState::WRONG_OBJECT_TYPE,
                format!("\"{}\" is not a table", relation.name),
            )),
        }
    }

    /// Locks a relation, waiting in place.
    pub fn lock(&self, oid: Oid, mode: RelationLockMode) -> Result<()> {
        match self.txn.lock_relation(oid, mode)? {
            Some(wait) => self.session.block_on(wait),
            None => Ok(()),
        }
    }

    /// Locks an object, waiting in place.
    pub(crate) fn lock_object(&self, id: ObjectId, mode: RelationLockMode) -> Result<()> {
        match self.store.lock_object(self.txn, id, mode)? {
            Some(wait) => self.session.block_on(wait),
            None => Ok(()),
        }
    }

    /// Locks a relation and returns its current version. The same statement may have changed it
    /// through another parent.
    pub(crate) fn lock_current(
        &mut self,
        oid: Oid,
        mode: RelationLockMode,
    ) -> Result<Arc<Relation>> {
        self.lock(oid, mode)?;
        let found = self.catalog().relation(oid).cloned();
        found.ok_or_else(|| Error::internal("a relation has gone"))
    }

    /// Locks a table for CREATE INDEX and returns its current version. SHARE lets others make
    /// indexes of it at the same time; the table's object has the list of them, which one changes
    /// after the other.
    pub(crate) fn lock_to_index(&mut self, oid: Oid) -> Result<Arc<Relation>> {
        self.lock(oid, RelationLockMode::Share)?;
        self.lock_object(ObjectId::Relation(oid), RelationLockMode::AccessExclusive)?;
        self.lock_current(oid, RelationLockMode::Share)
    }
}

/// 42501: system catalogs are not changed.
pub(super) fn system_catalog(relation: &Relation) -> Error {
    Error::new(
        SqlState::INSUFFICIENT_PRIVILEGE,
        format!("permission denied: \"{}\" is a system catalog", relation.name),
    )
}
