//! Plans under their locks.
//!
//! PostgreSQL's parse analysis locks each table before it looks at the table's columns. Here a
//! plan is made, or found in the cache, and what it touches is locked then; if others have changed
//! the catalog meanwhile, the plan is made anew. A statement that nobody has been told the columns
//! of may come out of that with others, or with other types of parameters. One that was prepared
//! or described earlier must keep them: [`Session::lock_plan`].
//!
//! An error of a statement that cannot be bound may be about what another session is about to
//! change: the statement waits for what it has named, and is bound again.

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
use crate::system_views::session::Named;

impl Session {
    /// The plan of a statement of which nobody has been told anything, and what it touches locked.
    pub(super) async fn plan_locked(
        &mut self,
        statement: &Arc<Statement>,
        source: &Arc<str>,
        params: &Params,
    ) -> Result<Arc<CachedPlan>> {
        self.made_locked(statement, |session| session.plan(statement, source, params.clone(), ""))
            .await
    }

    /// The plan that `make` finds or makes of a statement, and what it touches locked.
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

    /// Locks what a plan touches (awaiting a lock lets the worker's other sessions go on); whether
    /// it is still the plan for the catalog in force then.
    pub(super) async fn lock_relations_of(&mut self, plan: &CachedPlan) -> Result<bool> {
        for (oid, lock) in &plan.compiled.planned().relations {
            let wait = self.transaction.txn()?.lock_relation(*oid, lock_mode(*lock))?;
            if let Some(wait) = wait {
                wait.await?;
            }
        }
        // Another session that changed a table before this one had its lock has moved the epoch.
        self.refresh_names_after_locks();
        let is_good = self.is_as_planned(plan);
        if is_good && plan.shows_session {
            self.show_named();
        }
        Ok(is_good)
    }

    /// Whether the catalog is another one now that the relations are locked which a statement named
    /// that could not be bound.
    #[cold]
    async fn has_changed_meanwhile(
        &mut self,
        statement: &Statement,
        error: &Error,
    ) -> Result<bool> {
        let named = std::mem::take(&mut self.planning.unbound_relations);
        // What no change of a table mends.
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

    /// Whether a portal's plan was locked when it was made, and is still good.
    pub(super) fn is_still_locked(&mut self, portal: &PlanPortal) -> bool {
        if !portal.is_locked {
            return false;
        }
        self.refresh_names_after_locks();
        self.is_as_planned(&portal.plan)
    }

    /// Locks what the plan of a statement touches whose columns the client has been told.
    /// Afterwards it is the plan for the catalog in force.
    pub(super) async fn lock_plan(&mut self, plan: &mut Arc<CachedPlan>) -> Result<()> {
        self.refresh_names();
        if self.is_current(plan) && self.lock_relations_of(plan).await? {
            return Ok(());
        }
        // Apart, so that each message's future is small: it is moved when it is made.
        Box::pin(self.lock_plan_anew(plan)).await
    }

    async fn lock_plan_anew(&mut self, plan: &mut Arc<CachedPlan>) -> Result<()> {
        let old = Arc::clone(plan);
        let anew = self.made_locked(&old.statement, |session| session.plan_again(&old)).await?;
        *plan = same_columns(&old, anew)?;
        Ok(())
    }

    /// Locks the leaf that a locked plan is about with these parameters, if it is one leaf: the
    /// statement made for it runs instead of the plan's. What it gives back is to be waited for
    /// before the caller tries again.
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
            // Before we had its lock the leaf may have been dropped, or its bounds changed.
            return Ok(Some(StartWait::Plan));
        }
        portal.leaf = Some(leaf);
        Ok(None)
    }

    /// Makes the plan fit the snapshot that has just been taken. Partitions may be added under
    /// locks that a reader does not wait for: one that has come since the plan was looked at may
    /// have rows that the snapshot sees, so that both are had again.
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

    /// Leaves what the session has named where the views that show it look.
    #[cold]
    fn show_named(&self) {
        let named = Named { cursors: self.portals.shown(), statements: self.statements.shown() };
        *self.core.named.lock() = named;
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
