//! Plans whose relations are locked.
//!
//! PostgreSQL's parse analysis locks each table before it reads the table's columns. Here the
//! session first makes a plan, or finds it in the cache, and then locks its relations. If another
//! session has changed the catalog meanwhile, it plans again. The new plan may have other columns
//! or parameter types, if the client has not been sent them. A statement that was prepared or
//! described earlier must keep them: [`Session::lock_plan`].
//!
//! Another session may be about to change the cause of a binding error. So the statement waits for
//! the relations that it names, and is bound again.

use std::sync::Arc;

use steppe_exec::lock_mode;
use steppe_sql::ast::{self, Statement};
use steppe_sql::bind::Params;
use steppe_txn::RelationLockMode;
use steppe_types::{Error, Result, SqlState};

use super::Session;
use super::plan::same_columns;
use super::portal::PlanPortal;
use super::run::StartWait;
use crate::plan_cache::CachedPlan;

impl Session {
    /// The plan of a statement that the client knows nothing of, with its relations locked.
    pub(super) async fn plan_locked(
        &mut self,
        statement: &Arc<Statement>,
        source: &Arc<str>,
        params: &Params,
    ) -> Result<Arc<CachedPlan>> {
        self.made_locked(statement, |session| session.plan(statement, source, params.clone(), ""))
            .await
    }

    /// The plan that `make` finds or makes for a statement, with its relations locked.
    pub(super) async fn made_locked(
        &mut self,
        statement: &Statement,
        mut make: impl FnMut(&mut Session) -> Result<Arc<CachedPlan>>,
    ) -> Result<Arc<CachedPlan>> {
        loop {
            self.refresh_names();
            match make(self) {
                Ok(plan) => {
                    if self.lock_relations_of(&plan).await? {
                        return Ok(plan);
                    }
                }
                Err(error) => {
                    if !self.has_changed_meanwhile(statement, &error).await? {
                        return Err(error);
                    }
                }
            }
        }
    }

    /// Locks the relations of a plan. The worker's other sessions continue during a wait. Returns
    /// whether the plan is still valid for the catalog.
    pub(super) async fn lock_relations_of(&mut self, plan: &CachedPlan) -> Result<bool> {
        for (oid, lock) in &plan.compiled.planned().relations {
            let wait = self.transaction.txn()?.lock_relation(*oid, lock_mode(*lock))?;
            if let Some(wait) = wait {
                wait.await?;
            }
        }
        // The epoch has changed if another session changed a table before this one had its lock.
        self.refresh_names_after_locks();
        let is_good = self.is_as_planned(plan);
        if is_good && plan.shows_session {
            self.show_unnamed();
        }
        Ok(is_good)
    }

    /// Locks the relations that a statement names, after its binding failed. Returns whether the
    /// catalog has changed.
    #[cold]
    async fn has_changed_meanwhile(
        &mut self,
        statement: &Statement,
        error: &Error,
    ) -> Result<bool> {
        let named = std::mem::take(&mut self.planning.unbound_relations);
        // A change of a table cannot remove these errors.
        if named.is_empty() || error.sqlstate() == SqlState::FEATURE_NOT_SUPPORTED {
            return Ok(false);
        }
        let epoch = self.namespace.names.catalog.epoch;
        let target = written(statement).and_then(|name| self.find_relation(name).ok());
        for oid in named {
            let mode = match target.as_ref().is_some_and(|target| target.oid == oid) {
                true => RelationLockMode::RowExclusive,
                false => RelationLockMode::AccessShare,
            };
            if let Some(wait) = self.transaction.txn()?.lock_relation(oid, mode)? {
                wait.await?;
            }
        }
        self.refresh_names();
        Ok(self.namespace.names.catalog.epoch != epoch)
    }

    /// Whether a portal's plan was locked when it was made, and is still valid.
    pub(super) fn is_still_locked(&mut self, portal: &PlanPortal) -> bool {
        if !portal.is_locked {
            return false;
        }
        self.refresh_names_after_locks();
        self.is_as_planned(&portal.plan)
    }

    /// Locks the relations of a plan whose columns the client knows. The plan is then valid for the
    /// current catalog.
    pub(super) async fn lock_plan(&mut self, plan: &mut Arc<CachedPlan>) -> Result<()> {
        self.refresh_names();
        if self.is_current(plan) && self.lock_relations_of(plan).await? {
            return Ok(());
        }
        // Boxed, so that each message's future is small: it is moved when it is made.
        Box::pin(self.lock_plan_anew(plan)).await
    }

    async fn lock_plan_anew(&mut self, plan: &mut Arc<CachedPlan>) -> Result<()> {
        let old = Arc::clone(plan);
        let anew = self.made_locked(&old.statement, |session| session.plan_again(&old)).await?;
        *plan = same_columns(&old, anew)?;
        Ok(())
    }

    /// Locks the one leaf that the parameters select, if it is one. The leaf's own plan then runs
    /// instead. The caller must await the returned wait before it tries again.
    pub(super) fn lock_leaf(&mut self, portal: &mut PlanPortal) -> Result<Option<StartWait>> {
        portal.leaf = None;
        let Some((leaf, mode)) = portal.plan.compiled.leaf(&portal.params, &self.statement.env)?
        else {
            return Ok(None);
        };
        if let Some(wait) = self.transaction.txn()?.lock_relation(leaf.oid(), mode)? {
            return Ok(Some(StartWait::Leaf(wait)));
        }
        self.refresh_names_after_locks();
        if !self.is_as_planned(&portal.plan) {
            // The leaf may have been dropped, or its bounds changed, before its lock was granted.
            return Ok(Some(StartWait::Plan));
        }
        portal.leaf = Some(leaf);
        Ok(None)
    }

    /// Makes the plan fit the new snapshot. Sessions may add partitions under locks that do not
    /// conflict with a reader's. A partition that was added after the plan was checked may have
    /// rows that the snapshot sees. Then the session takes both again.
    pub(super) fn settle_plan(&mut self, plan: &mut Arc<CachedPlan>) -> Result<()> {
        while plan.reads_partitions && self.catalog_has_moved() {
            self.end_statement();
            loop {
                *plan = self.replan(plan)?;
                let txn = self.transaction.txn()?;
                for (oid, lock) in &plan.compiled.planned().relations {
                    if let Some(wait) = txn.lock_relation(*oid, lock_mode(*lock))? {
                        tokio::task::block_in_place(|| wait.wait_blocking())?;
                    }
                }
                self.refresh_names();
                if self.is_as_planned(plan) {
                    break;
                }
            }
            self.start_statement()?;
        }
        Ok(())
    }

    /// Stores the session's portal without a name for the view that shows it.
    #[cold]
    fn show_unnamed(&self) {
        *self.core.unnamed_portal.lock() = self.portals.shown_unnamed();
    }
}

/// The table that a statement writes.
fn written(statement: &Statement) -> Option<&ast::RangeVar> {
    match statement {
        Statement::Insert(insert) => Some(&insert.relation),
        Statement::Update(update) => Some(&update.relation),
        Statement::Delete(delete) => Some(&delete.relation),
        _ => None,
    }
}
