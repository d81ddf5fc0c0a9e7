//! Constraint triggers: AFTER ROW triggers that may be deferred (afterTriggerCheckState in
//! src/backend/commands/trigger.c).

use super::hooks::{OldAndNew, Trigger};
use super::trigger::Fired;
use crate::context::ExecContext;
use crate::deferred::{DeferredEvent, TriggerRow};
use crate::expr::Compiler;
use std::sync::Arc;
use steppe_catalog::Relation;
use steppe_catalog::trigger::Trigger as Definition;
use steppe_functions::FnContext;
use steppe_sql::plan::PlannedStmt;
use steppe_types::{Error, Result};

impl Fired<'_> {
    /// Adds the call to the transaction's deferred events if the trigger is deferred now.
    pub(super) fn defer(
        &self,
        trigger: &Trigger,
        (old, new): OldAndNew<'_>,
        cx: &mut ExecContext,
    ) -> Result<bool> {
        let is_deferrable = |trigger: &Definition| {
            trigger.constraint.is_some_and(|constraint| constraint.deferral.is_deferrable())
        };
        if !is_deferrable(&trigger.definition) {
            return Ok(false);
        }
        // What is compiled for one partition serves others, whose triggers have OIDs of their own.
        let mut own = self.relation.triggers.iter();
        let own = own.find(|own| own.name == trigger.definition.name);
        let own = own.ok_or_else(|| Error::internal("a row's table lacks its trigger"))?;
        let Some(constraint) = own.constraint else { return Ok(false) };
        let deferred = cx.txn()?.deferred_mut();
        if !deferred.is_deferred(constraint.oid, constraint.deferral) {
            return Ok(false);
        }
        let row = TriggerRow {
            table: self.relation.oid,
            trigger: own.oid,
            constraint: constraint.oid,
            command: self.command,
            old: old.map(Box::from),
            new: new.map(Box::from),
        };
        cx.defer(DeferredEvent::Trigger(Box::new(row)), constraint.deferral)?;
        Ok(true)
    }
}

/// The trigger that was called last, which is mostly the next one, too.
pub(super) type Last = Option<(Arc<Relation>, Arc<Trigger>)>;

/// Calls a deferred trigger. Does nothing if it has been dropped meanwhile.
pub(super) fn run(of: &TriggerRow, last: &mut Last, cx: &mut ExecContext) -> Result<()> {
    let is_it = |(_, trigger): &(Arc<Relation>, Arc<Trigger>)| trigger.definition.oid == of.trigger;
    if !last.as_ref().is_some_and(is_it) {
        let catalog = Arc::clone(&cx.functions.catalog);
        let Some(relation) = catalog.relation(of.table).cloned() else { return Ok(()) };
        let definition = relation.triggers.iter().find(|trigger| trigger.oid == of.trigger);
        let Some(definition) = definition else { return Ok(()) };
        let plan = PlannedStmt::nothing();
        let mut compiler = Compiler::new(&plan, FnContext::pure(catalog));
        let trigger = Trigger::compile(definition, &relation, &mut compiler)?;
        *last = Some((relation, trigger));
    }
    let Some((relation, trigger)) = last else { return Ok(()) };
    let fired = Fired { command: of.command, relation, captured: &[] };
    fired.call(trigger, (of.old.as_deref(), of.new.as_deref()), cx).map(drop)
}
