//! TRUNCATE with the triggers of its tables.

use steppe_catalog::trigger::TriggerTiming;
use steppe_ddl as ddl;
use steppe_sql::ast::{Statement, TruncateStmt};
use steppe_types::Result;

use super::Session;

impl Session {
    /// Empties tables between their BEFORE and AFTER STATEMENT triggers.
    pub(super) fn truncate(
        &mut self,
        statement: &Statement,
        truncate: &TruncateStmt,
        source: &str,
    ) -> Result<&'static str> {
        let mut tables = self.with_ddl(source, |context| ddl::truncated(context, truncate))?;
        tables.retain(|table| steppe_exec::has_truncate_triggers(table));
        let fire = |session: &mut Session, timing: TriggerTiming| -> Result<()> {
            if tables.is_empty() {
                return Ok(());
            }
            let (env, txn) = (&session.statement.env, &mut session.transaction.txn);
            tokio::task::block_in_place(|| steppe_exec::fire_truncate(&tables, timing, env, txn))?;
            session.refresh_names();
            Ok(())
        };
        fire(self, TriggerTiming::Before)?;
        let tag = self.with_ddl(source, |context| ddl::execute(statement, context))?;
        fire(self, TriggerTiming::After)?;
        Ok(tag)
    }
}
