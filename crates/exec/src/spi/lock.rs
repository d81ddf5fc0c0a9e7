//! LOCK TABLE in a function, and what it locks (lockcmds.c).
//!
//! A table is locked with its descendants and partitions, unless ONLY is given. A view is locked
//! with the relations that it reads. Each relation is looked up after the lock of the one that
//! leads to it.

use super::{Spi, present};
use std::sync::Arc;
use steppe_catalog::{Catalog, NameSpace, RelKind, Relation};
use steppe_sql::ast::{LockMode, LockStmt, RangeVar};
use steppe_txn::RelationLockMode;
use steppe_types::{Error, Oid, Result, SqlState};

impl Spi<'_> {
    pub(super) fn lock_tables(&mut self, lock: &LockStmt) -> Result<()> {
        let mode = relation_lock_mode(lock.mode);
        for name in &lock.relations {
            let mut below = Below::of(&find_relation(&self.frame()?.names, name)?, name.inherit)?;
            while let Some((relation, with_descendants)) = below.next() {
                relation.refuse_distributed("LOCK TABLE")?;
                self.lock_one(&relation, mode, lock.nowait)?;
                below.add(&self.frame()?.names.catalog, relation.oid, with_descendants);
            }
        }
        Ok(())
    }

    fn lock_one(
        &mut self,
        relation: &Relation,
        mode: RelationLockMode,
        nowait: bool,
    ) -> Result<()> {
        let session = Arc::clone(self.session());
        self.lend(|txn| {
            let txn = &mut present(txn)?.txn;
            if nowait {
                return match txn.try_lock_relation(relation.oid, mode)? {
                    true => Ok(()),
                    false => Err(not_obtained(relation)),
                };
            }
            match txn.lock_relation(relation.oid, mode)? {
                Some(wait) => session.block_on(wait),
                None => Ok(()),
            }
        })
    }
}

/// The relations that LOCK TABLE locks for a name, one after the other.
pub struct Below {
    seen: Vec<Oid>,
    waiting: Vec<(Arc<Relation>, bool)>,
}

impl Below {
    /// Begins with the relation of the name; 42809 for one that is neither table nor view.
    pub fn of(relation: &Arc<Relation>, with_descendants: bool) -> Result<Below> {
        check_kind(relation)?;
        let waiting = vec![(Arc::clone(relation), with_descendants)];
        Ok(Below { seen: vec![relation.oid], waiting })
    }

    /// The next relation to lock.
    #[allow(clippy::should_implement_trait)]
    pub fn next(&mut self) -> Option<(Arc<Relation>, bool)> {
        self.waiting.pop()
    }

    /// Adds the relations that are locked together with one that has been locked.
    pub fn add(&mut self, catalog: &Catalog, relation: Oid, with_descendants: bool) {
        let mut found = below(catalog, relation, with_descendants);
        found.retain(|relation| !self.seen.contains(&relation.oid));
        self.seen.extend(found.iter().map(|relation| relation.oid));
        found.reverse();
        self.waiting.extend(found.into_iter().map(|relation| (relation, true)));
    }
}

fn below(catalog: &Catalog, relation: Oid, with_descendants: bool) -> Vec<Arc<Relation>> {
    let Some(relation) = catalog.relation(relation) else { return Vec::new() };
    let below: Vec<Oid> = match relation.kind {
        RelKind::View => relation.refers_to().collect(),
        _ if with_descendants => catalog.children(relation.oid).collect(),
        _ => Vec::new(),
    };
    let is_lockable = |relation: &&Arc<Relation>| check_kind(relation).is_ok();
    let below = below.into_iter().filter_map(|oid| catalog.relation(oid));
    below.filter(is_lockable).cloned().collect()
}

/// 55P03: NOWAIT.
pub fn not_obtained(relation: &Relation) -> Error {
    let message = format!("could not obtain lock on relation \"{}\"", relation.name);
    Error::new(SqlState::LOCK_NOT_AVAILABLE, message)
}

/// A relation by name along the search path (RangeVarGetRelid: errors have no position).
pub fn find_relation(names: &NameSpace, name: &RangeVar) -> Result<Arc<Relation>> {
    name.check_database()?;
    let (catalog, path) = (&names.catalog, &names.path);
    if let Some(schema) = &name.schema
        && catalog.schema_in(schema, path).is_none()
    {
        let message = format!("schema \"{schema}\" does not exist");
        return Err(Error::new(SqlState::INVALID_SCHEMA_NAME, message));
    }
    let found = catalog.relation_in(name.schema.as_deref(), &name.name, path);
    found.cloned().ok_or_else(|| name.undefined())
}

/// 42809 for a relation that is neither table nor view.
fn check_kind(relation: &Relation) -> Result<()> {
    let kind = match relation.kind {
        RelKind::Table | RelKind::PartitionedTable | RelKind::View | RelKind::Virtual => {
            return Ok(());
        }
        RelKind::Index => "indexes",
        RelKind::PartitionedIndex => "partitioned indexes",
        RelKind::Sequence => "sequences",
        RelKind::Composite => "composite types",
    };
    let message = format!("cannot lock relation \"{}\"", relation.name);
    Err(Error::new(SqlState::WRONG_OBJECT_TYPE, message)
        .detail(format!("This operation is not supported for {kind}.")))
}

/// The mode as the lock manager has it.
pub fn relation_lock_mode(mode: LockMode) -> RelationLockMode {
    match mode {
        LockMode::AccessShare => RelationLockMode::AccessShare,
        LockMode::RowShare => RelationLockMode::RowShare,
        LockMode::RowExclusive => RelationLockMode::RowExclusive,
        LockMode::ShareUpdateExclusive => RelationLockMode::ShareUpdateExclusive,
        LockMode::Share => RelationLockMode::Share,
        LockMode::ShareRowExclusive => RelationLockMode::ShareRowExclusive,
        LockMode::Exclusive => RelationLockMode::Exclusive,
        LockMode::AccessExclusive => RelationLockMode::AccessExclusive,
    }
}
