//! LOCK TABLE ([`steppe_exec::spi::Below`] says what it locks).

use steppe_catalog::Relation;
use steppe_exec::spi::{Below, not_obtained, relation_lock_mode};
use steppe_sql::ast::LockStmt;
use steppe_txn::RelationLockMode;
use steppe_types::Result;

use super::Session;
use super::tag::CommandTag;

impl Session {
    /// LOCK TABLE.
    pub(super) async fn lock_tables(&mut self, lock: &LockStmt) -> Result<CommandTag> {
        self.require_block("LOCK TABLE")?;
        let mode = relation_lock_mode(lock.mode);
        for name in &lock.relations {
            let mut below = Below::of(&self.find_relation(name)?, name.inherit)?;
            while let Some((relation, with_descendants)) = below.next() {
                relation.refuse_distributed("LOCK TABLE")?;
                self.lock_one(&relation, mode, lock.nowait).await?;
                self.refresh_names();
                below.add(&self.namespace.names.catalog, relation.oid, with_descendants);
            }
        }
        Ok(CommandTag::Plain("LOCK TABLE"))
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
                return Err(not_obtained(relation));
            }
        } else if let Some(wait) = txn.lock_relation(relation.oid, mode)? {
            wait.await?;
        }
        Ok(())
    }
}
