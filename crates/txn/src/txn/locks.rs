//! The locks that a transaction takes by name: of relations, leaves, and advisory ones; and waiting for
//! another transaction.

use steppe_types::Result;

use super::Txn;
use crate::change::corrupt;
use crate::files::DatabaseId;
use crate::lock::{
    Acquire, AdvisoryKey, AdvisoryScope, LeavesLockMode, LockTag, LockWait, Mode, RelationLockMode,
    RelationUsers, SharedMode,
};

impl Txn {
    /// Waits for the end of the transaction `xid` of session `pid`; `None` if it has ended.
    pub(crate) fn wait_for(&self, pid: u32, xid: u64) -> Result<Option<LockWait>> {
        if pid == 0 {
            // There is no session to wait for.
            return Err(corrupt("a change: its transaction has not begun"));
        }
        let engine = self.engine();
        let still_running = || engine.status.is_run_by(xid, pid);
        let locks = &engine.locks;
        Ok(locks.wait_for_transaction(self.shared(), (pid, xid), still_running).wait())
    }

    /// Locks a relation until the transaction ends; `Ok(None)`: granted.
    pub fn lock_relation(&self, oid: u32, mode: RelationLockMode) -> Result<Option<LockWait>> {
        let locks = &self.engine().locks;
        Ok(locks.lock_relation(self.shared(), oid, mode, true)?.wait())
    }

    /// As [`Txn::lock_relation`], waiting in place.
    pub fn lock_relation_blocking(&self, oid: u32, mode: RelationLockMode) -> Result<()> {
        match self.lock_relation(oid, mode)? {
            Some(wait) => wait.wait_blocking(),
            None => Ok(()),
        }
    }

    /// Locks a relation if that needs no waiting.
    pub fn try_lock_relation(&self, oid: u32, mode: RelationLockMode) -> Result<bool> {
        let locks = &self.engine().locks;
        let acquired = locks.lock_relation(self.shared(), oid, mode, false)?;
        Ok(matches!(acquired, Acquire::Granted))
    }

    /// Locks the files of a partitioned table's leaves until the transaction ends: a
    /// scan that reads leaves one after the other and locks each at its turn keeps them from being
    /// given new files before that. `Ok(None)`: granted.
    pub fn lock_leaves(&self, table: u32, mode: LeavesLockMode) -> Result<Option<LockWait>> {
        let tag = LockTag::Leaves { database: self.database_id(), oid: table };
        self.lock_until_end(tag, mode as u8)
    }

    /// Locks a relation that all databases share until the transaction ends; `Ok(None)`: granted.
    pub fn lock_shared_relation(
        &self,
        oid: u32,
        mode: RelationLockMode,
    ) -> Result<Option<LockWait>> {
        let tag = LockTag::Relation { database: DatabaseId::SHARED, oid };
        self.lock_until_end(tag, mode as u8)
    }

    /// Locks an object of the catalog until the transaction ends. `class` is the OID of the catalog
    /// that it is in. `Ok(None)`: granted.
    pub fn lock_object(
        &self,
        class: u32,
        oid: u32,
        mode: RelationLockMode,
    ) -> Result<Option<LockWait>> {
        let tag = LockTag::Object { database: self.database_id(), class, oid };
        self.lock_until_end(tag, mode as u8)
    }

    /// Keeps other transactions from taking a name until this one ends. `hash` stands for the
    /// name: two names with one hash exclude each other. `Ok(None)`: granted.
    pub fn lock_name(&self, hash: u64) -> Result<Option<LockWait>> {
        let tag = LockTag::Name { database: self.database_id(), hash };
        self.lock_until_end(tag, RelationLockMode::AccessExclusive as u8)
    }

    fn lock_until_end(&self, tag: LockTag, mode: Mode) -> Result<Option<LockWait>> {
        let locks = &self.engine().locks;
        Ok(locks.lock_until_end(self.shared(), tag, mode)?.wait())
    }

    /// The relations of its database that the transaction has locked.
    pub fn locked_relations(&self) -> Vec<u32> {
        self.engine().locks.relations_of(self.shared())
    }

    /// The transactions of other sessions that use a relation now.
    pub fn users_of(&self, oid: u32) -> RelationUsers {
        self.engine().locks.users_of(self.shared(), oid)
    }

    /// Waits for one of them; `None`: they have ended.
    pub fn wait_for_users(&self, users: &mut RelationUsers) -> Option<LockWait> {
        self.engine().locks.wait_for_users(self.shared(), users).wait()
    }

    /// pg_advisory_lock and friends; `Ok(None)`: granted. After a wait for a
    /// session-level lock, call again: that counts it.
    pub fn lock_advisory(
        &self,
        key: AdvisoryKey,
        mode: SharedMode,
        scope: AdvisoryScope,
    ) -> Result<Option<LockWait>> {
        let locks = &self.engine().locks;
        Ok(locks.lock_advisory(self.shared(), key, mode, scope, true)?.wait())
    }

    /// pg_try_advisory_lock and friends.
    pub fn try_lock_advisory(
        &self,
        key: AdvisoryKey,
        mode: SharedMode,
        scope: AdvisoryScope,
    ) -> Result<bool> {
        let locks = &self.engine().locks;
        let acquired = locks.lock_advisory(self.shared(), key, mode, scope, false)?;
        Ok(matches!(acquired, Acquire::Granted))
    }

    /// pg_advisory_unlock: false if the session does not hold it.
    pub fn unlock_advisory(&self, key: AdvisoryKey, mode: SharedMode) -> bool {
        self.engine().locks.unlock_advisory(self.shared(), key, mode)
    }

    /// pg_advisory_unlock_all.
    pub fn unlock_all_advisory(&self) {
        self.engine().locks.unlock_all_advisory(self.shared());
    }
}
