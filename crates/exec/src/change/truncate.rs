//! The statement triggers of TRUNCATE (ExecuteTruncateGuts in src/backend/commands/tablecmds.c).
//!
//! BEFORE triggers of all tables fire before the first table is emptied, AFTER triggers after the
//! last one. The caller empties the tables in between.

use super::hooks::{HookSet, RowCommand};
use super::trigger::Fired;
use crate::context::ExecContext;
use crate::expr::Compiler;
use crate::statement::ExecEnv;
use crate::transaction::{StatementTxn, Transaction};
use std::sync::Arc;
use steppe_catalog::Relation;
use steppe_catalog::trigger::TriggerTiming;
use steppe_functions::FnContext;
use steppe_sql::plan::PlannedStmt;
use steppe_types::Result;

/// Whether a table has triggers for TRUNCATE.
pub fn has_truncate_triggers(table: &Relation) -> bool {
    table.triggers.iter().any(|trigger| trigger.events.truncate)
}

/// Fires the triggers that tables have for TRUNCATE, before or after.
pub fn fire_truncate(
    tables: &[Arc<Relation>],
    timing: TriggerTiming,
    env: &ExecEnv,
    txn: &mut Option<Transaction>,
) -> Result<()> {
    let mut cx = env.context(txn);
    let fired = tables.iter().try_for_each(|table| fire(table, timing, &mut cx));
    *txn = cx.take_txn().map(StatementTxn::into_transaction);
    fired
}

fn fire(table: &Arc<Relation>, timing: TriggerTiming, cx: &mut ExecContext) -> Result<()> {
    let (plan, catalog) = (PlannedStmt::nothing(), cx.functions.catalog.clone());
    let mut compiler = Compiler::new(&plan, FnContext::pure(catalog));
    let Some(hooks) = HookSet::of_truncate(table, &mut compiler)? else { return Ok(()) };
    let hooks = hooks.command(RowCommand::Truncate);
    let triggers = match timing {
        TriggerTiming::Before => &hooks.before_statement,
        _ => &hooks.after_statement,
    };
    let fired = Fired { command: RowCommand::Truncate, relation: table, captured: &[] };
    fired.statement(triggers, cx)
}
