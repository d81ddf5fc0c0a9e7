//! SET CONSTRAINTS, and the deferred checks of a transaction (AfterTriggerSetState and
//! AfterTriggerFireDeferred in src/backend/commands/trigger.c).

use steppe_exec::DueEvents;
use steppe_exec::spi::named_constraints;
use steppe_sql::ast::SetConstraintsStmt;
use steppe_types::Result;

use super::Session;

impl Session {
    /// SET CONSTRAINTS.
    pub(super) fn set_constraints(&mut self, set: &SetConstraintsStmt) -> Result<()> {
        let (catalog, path) = (self.newest_catalog(), &self.namespace.names.path);
        let named = named_constraints(&catalog, path, set)?;
        if !self.transaction.in_block() {
            return Ok(());
        }
        let transaction = self.transaction.running()?;
        transaction.set_constraints(named.as_deref(), set.deferred);
        let due = transaction.take_due(false);
        self.run_deferred(due)
    }

    /// Runs the deferred events at the end of the transaction. They may queue others.
    pub(super) fn check_deferred(&mut self) -> Result<()> {
        loop {
            let running = self.transaction.txn.as_mut();
            let due = running.map(|running| running.take_due(true)).unwrap_or_default();
            if due.is_empty() {
                return Ok(());
            }
            self.run_deferred(due)?;
        }
    }

    fn run_deferred(&mut self, due: DueEvents) -> Result<()> {
        if due.is_empty() {
            return Ok(());
        }
        self.refresh_names();
        self.start_statement()?;
        let (env, txn) = (&self.statement.env, &mut self.transaction.txn);
        tokio::task::block_in_place(|| steppe_exec::run_deferred(due, env, txn))?;
        self.end_statement();
        Ok(())
    }
}
