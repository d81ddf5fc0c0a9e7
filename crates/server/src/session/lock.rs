//! LOCK TABLE (lockcmds.c).
//!
//! A table is locked with its descendants and partitions, unless ONLY is given. A view is locked
//! with the relations that it reads. Each relation is looked up after the lock of the one that
//! leads to it.

use std::sync::Arc;

use steppe_catalog::{RelKind, Relation};
use steppe_sql::ast::{self, LockStmt};
use steppe_txn::RelationLockMode;
use steppe_types::{Error, Oid, Result, SqlState};

use super::Session;
use super::tag::CommandTag;

impl Session {
    /// LOCK TABLE.
    pub(super) async fn lock_tables(&mut self, lock: &LockStmt) -> Result<CommandTag> {
        self.require_block("LOCK TABLE")?;
        let mode = lock_mode(lock.mode);
        for name in &lock.relations {
            let relation = self.find_relation(name)?;
            check_kind(&relation)?;
            let mut seen = vec![relation.oid];
            let mut waiting = vec![(relation, name.inherit)];
            while let Some((relation, with_descendants)) = waiting.pop() {
                self.lock_one(&relation, mode, lock.nowait).await?;
                self.refresh_names();
                let mut found = self.below(relation.oid, with_descendants);
                found.retain(|relation| !seen.contains(&relation.oid));
                seen.extend(found.iter().map(|relation| relation.oid));
                found.reverse();
                waiting.extend(found.into_iter().map(|relation| (relation, true)));
            }
        }
        Ok(CommandTag::Plain("LOCK TABLE"))
    }

    /// The relations that are locked together with a relation.
    fn below(&self, relation: Oid, with_descendants: bool) -> Vec<Arc<Relation>> {
        let catalog = &self.namespace.names.catalog;
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

    async fn lock_one(
        &mut self,
        relation: &Relation,
        mode: RelationLockMode,
        nowait: bool,
    ) -> Result<()> {
        let txn = self.transaction.txn()?;
        if nowait {
            if !txn.try_lock_relation(relation.oid, mode)? {
                let message = format!("could not obtain lock on relation \"{}\"", relation.name);
                return Err(Error::new(SqlState::LOCK_NOT_AVAILABLE, message));
            }
        } else if let Some(wait) = txn.lock_relation(relation.oid, mode)? {
            wait.await?;
        }
        Ok(())
    }
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

fn lock_mode(mode: ast::LockMode) -> RelationLockMode {
    match mode {
        ast::LockMode::AccessShare => RelationLockMode::AccessShare,
        ast::LockMode::RowShare => RelationLockMode::RowShare,
        ast::LockMode::RowExclusive => RelationLockMode::RowExclusive,
        ast::LockMode::ShareUpdateExclusive => RelationLockMode::ShareUpdateExclusive,
        ast::LockMode::Share => RelationLockMode::Share,
        ast::LockMode::ShareRowExclusive => RelationLockMode::ShareRowExclusive,
        ast::LockMode::Exclusive => RelationLockMode::Exclusive,
        ast::LockMode::AccessExclusive => RelationLockMode::AccessExclusive,
    }
}
