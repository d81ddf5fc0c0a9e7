//! Constraint triggers: AFTER ROW triggers that may be deferred (afterTriggerCheckState in
//! src/backend/commands/trigger.c).

use super::hooks::{OldAndNew, Trigger};
use super::put_off::PutOff;
use super::trigger::Fired;
use crate::context::ExecContext;
use crate::deferred::{DeferredEvent, TriggerRow};
use crate::expr::Compiler;
use std::sync::Arc;
use steppe_catalog::Relation;
use steppe_catalog::trigger::ConstraintTrigger;
use steppe_functions::FnContext;
use steppe_sql::plan::PlannedStmt;
use steppe_types::{Error, Oid, Result};

impl Fired<'_> {
    /// The trigger of the row's table, with its constraint, if it is DEFERRABLE. What is compiled for
    /// one partition serves others, whose triggers have OIDs of their own.
    fn deferrable(&self, trigger: &Trigger) -> Result<Option<(Oid, ConstraintTrigger)>> {
        if !trigger.is_deferrable() {
            return Ok(None);
        }
        let mut own = self.relation.triggers.iter();
        let own = own.find(|own| own.name == trigger.definition.name);
        let own = own.ok_or_else(|| Error::internal("a row's table lacks its trigger"))?;
        Ok(own.constraint.map(|constraint| (own.oid, constraint)))
    }

    /// Whether the call has moved to the transaction's deferred events.
    #[inline]
    pub(super) fn is_put_off(&self, trigger: &Trigger, put_off: &PutOff) -> Result<bool> {
        let own = self.deferrable(trigger)?;
        Ok(own.is_some_and(|(_, own)| put_off.has(own.oid, own.deferral)))
    }

    /// Moves the call to the transaction's deferred events if the trigger is deferred now.
    pub(super) fn put_off(
        &self,
        trigger: &Trigger,
        (old, new): OldAndNew<'_>,
        put_off: &mut PutOff,
        cx: &mut ExecContext,
    ) -> Result<()> {
        let Some((trigger, constraint)) = self.deferrable(trigger)? else { return Ok(()) };
        if !put_off.ask(constraint.oid, constraint.deferral, cx)? {
            return Ok(());
        }
        let row = TriggerRow {
            table: self.relation.oid,
            trigger,
            constraint: constraint.oid,
            command: self.command,
            old: old.map(Box::from),
            new: new.map(Box::from),
        };
        cx.defer(DeferredEvent::Trigger(Box::new(row)), constraint.deferral)
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
