//! Calls of triggers (ExecBRInsertTriggers and the like in src/backend/commands/trigger.c).
//!
//! Triggers of one kind fire in the order of their names. A BEFORE ROW trigger gets the row from
//! the trigger before it, in the table's layout. It may return another row, or that the operation
//! is to be skipped. The results of other triggers are ignored.
//!
//! A trigger whose WHEN does not hold is not called. For an AFTER trigger that is decided when its
//! event is queued.
//!
//! Calls for many rows are one *run* where that changes nothing but their cost ([`Fired::call_run`]).
//! The function is looked up, its depth counted and its frame made once for the run. Each call still
//! begins with what a call begins with. Its variables are NULL or have their defaults, and it sees the
//! session's present names and settings: a run ends with a call that has changed these
//! ([`crate::spi::Spi::is_as_called`]). A run is made of calls that follow each other anyway, if
//!
//! * they are of one trigger, the only one that fires for these rows;
//! * it has no WHEN, no transition tables and no constraint, which decide something for each row;
//! * its function has no settings of its own, because these begin and end with a call;
//! * track_functions and EXPLAIN ANALYZE, which count and measure each call, are off.

use super::Target;
use super::hooks::{OldAndNew, RowCommand, Trigger, Triggers};
use super::transition::{Complete, tables_for};
use crate::context::ExecContext;
use crate::explain::TriggerRun;
use std::sync::Arc;
use std::time::{Duration, Instant};
use steppe_catalog::Relation;
use steppe_catalog::trigger::{Trigger as Definition, TriggerLevel, TriggerTiming};
use steppe_types::{Datum, Error, Oid, Result, SqlState};

/// The arguments of a trigger function (PostgreSQL's TriggerData).
#[derive(Clone, Copy)]
pub struct TriggerCall<'a> {
    trigger: &'a Trigger,
    /// The command that has happened, or is about to.
    pub command: RowCommand,
    /// The table that has the trigger.
    pub relation: &'a Arc<Relation>,
    /// The row before the change; for a statement, none.
    pub old: Option<&'a [Datum]>,
    /// The row after it.
    pub new: Option<&'a [Datum]>,
}

impl<'a> TriggerCall<'a> {
    /// The call for another row.
    pub fn for_row<'r>(&self, (old, new): OldAndNew<'r>) -> TriggerCall<'r>
    where
        'a: 'r,
    {
        TriggerCall { old, new, ..*self }
    }

    /// The trigger's name.
    pub fn name(&self) -> &str {
        &self.trigger.definition.name
    }

    /// The trigger's OID.
    pub fn oid(&self) -> Oid {
        self.trigger.definition.oid
    }

    /// The function that is called.
    pub fn function(&self) -> Oid {
        self.trigger.definition.function
    }

    /// Before or after.
    pub fn timing(&self) -> TriggerTiming {
        self.trigger.definition.timing
    }

    /// For a row or for a statement.
    pub fn level(&self) -> TriggerLevel {
        self.trigger.definition.level
    }

    /// The names of the transition tables with the old rows and the new ones.
    pub fn transition_tables(&self) -> [Option<&Arc<str>>; 2] {
        match &self.trigger.definition.transition {
            Some(names) => [names.old.as_ref(), names.new.as_ref()],
            None => [None, None],
        }
    }

    /// The arguments that CREATE TRIGGER gives it.
    pub fn arguments(&self) -> &[Arc<str>] {
        &self.trigger.definition.arguments
    }
}

/// The result of a trigger function.
pub enum TriggerAnswer {
    /// NULL: the operation on the row is skipped.
    Skip,
    /// The same row.
    Same,
    /// Another row in its place.
    Row(Vec<Datum>),
}

/// The rows that a trigger function is called for, one after the other.
pub trait TriggerRows {
    /// The next row, before and after its change.
    fn next(&mut self) -> Result<Option<OldAndNew<'_>>>;

    /// The function has answered for that row.
    fn answered(&mut self, answer: TriggerAnswer) -> Result<()>;

    /// Whether there is no other row.
    fn is_done(&self) -> bool;
}

/// The one row of a call, or none.
struct OneRow<'r> {
    row: Option<OldAndNew<'r>>,
    answer: TriggerAnswer,
}

impl TriggerRows for OneRow<'_> {
    fn next(&mut self) -> Result<Option<OldAndNew<'_>>> {
        Ok(self.row.take())
    }

    fn answered(&mut self, answer: TriggerAnswer) -> Result<()> {
        self.answer = answer;
        Ok(())
    }

    fn is_done(&self) -> bool {
        self.row.is_none()
    }
}

#[cold]
pub(super) fn of_another_table() -> Error {
    Error::internal("a trigger has answered a row of another table")
}

/// The command and the table that triggers are fired for.
#[derive(Clone, Copy)]
pub(super) struct Fired<'a> {
    pub(super) command: RowCommand,
    pub(super) relation: &'a Arc<Relation>,
    /// The captured rows of the statement, for triggers at its end.
    pub(super) captured: &'a [Complete],
}

impl Fired<'_> {
    /// Calls a trigger that is to fire.
    pub(super) fn call(
        &self,
        trigger: &Trigger,
        rows: OldAndNew<'_>,
        cx: &mut ExecContext,
    ) -> Result<TriggerAnswer> {
        let mut one = OneRow { row: Some(rows), answer: TriggerAnswer::Skip };
        let begin = cx.instruments.is_some().then(Instant::now);
        let called = self.call_run(trigger, &mut one, cx);
        if let Some(begin) = begin
            && !cx.is_broken()
        {
            cx.count_trigger(&trigger.definition, self.relation, begin.elapsed());
        }
        called.map(|()| one.answer)
    }

    /// Calls a trigger for one row or several, one after the other, as [`Self::call`] does for each:
    /// see the module's reasons, which must hold ([`ExecContext::calls_are_alike`]).
    pub(super) fn call_run(
        &self,
        trigger: &Trigger,
        rows: &mut dyn TriggerRows,
        cx: &mut ExecContext,
    ) -> Result<()> {
        let Fired { command, relation, captured } = *self;
        let of = TriggerCall { trigger, command, relation, old: None, new: None };
        let session = cx.functions.session.clone();
        let tables = tables_for(&trigger.definition, relation, command, captured);
        session.enter_trigger(relation.oid, tables);
        let called = trigger.function.fire(&of, rows, cx);
        session.leave_trigger();
        called
    }

    /// Fires statement triggers.
    pub(super) fn statement(&self, triggers: &Triggers, cx: &mut ExecContext) -> Result<()> {
        for trigger in triggers {
            if trigger.fires((None, None), cx)? {
                self.call(trigger, (None, None), cx)?;
            }
        }
        Ok(())
    }
}

impl ExecContext {
    /// Whether calls of a trigger may be a run: see the module's reasons.
    pub(super) fn calls_are_alike(&self, trigger: &Trigger) -> Result<bool> {
        let is_counted = || Ok::<bool, Error>(!self.counts_no_calls()?);
        Ok(trigger.is_called_alike() && self.instruments.is_none() && !is_counted()?)
    }

    /// Counts a call for EXPLAIN ANALYZE.
    fn count_trigger(&mut self, trigger: &Definition, relation: &Arc<Relation>, time: Duration) {
        let runs = &mut self.trigger_runs;
        let at = runs.iter().position(|run| run.oid == trigger.oid);
        let at = at.unwrap_or_else(|| {
            runs.push(TriggerRun {
                oid: trigger.oid,
                name: trigger.name.clone(),
                is_constraint: trigger.constraint.is_some(),
                relation: relation.clone(),
                calls: 0,
                time: Duration::ZERO,
            });
            runs.len() - 1
        });
        runs[at].calls += 1;
        runs[at].time += time;
    }

    /// Whether the session replays changes of another server: session_replication_role is replica.
    #[inline]
    pub(super) fn is_replica(&mut self) -> Result<bool> {
        if let Some(known) = self.replica {
            return Ok(known);
        }
        let role = self.functions.session.setting("session_replication_role")?;
        let is_replica = role.as_deref() == Some("replica");
        self.replica = Some(is_replica);
        Ok(is_replica)
    }
}

impl Target {
    /// The triggers that fire for a row before a command, if there are any.
    #[inline]
    pub(crate) fn before_row(&self, command: RowCommand) -> Option<&Triggers> {
        let hooks = self.hooks.as_deref()?;
        Some(&hooks.command(command).before_row).filter(|triggers| !triggers.is_empty())
    }

    /// Fires BEFORE ROW triggers for a new row, or a new version. `None`: it is not to be stored.
    pub(super) fn fire_before(
        &self,
        triggers: &Triggers,
        old: Option<&[Datum]>,
        mut new: Vec<Datum>,
        cx: &mut ExecContext,
    ) -> Result<Option<Vec<Datum>>> {
        let command = if old.is_some() { RowCommand::Update } else { RowCommand::Insert };
        let fired = Fired { command, relation: &self.table.relation, captured: &[] };
        for trigger in triggers {
            if !trigger.fires((old, Some(&new)), cx)? {
                continue;
            }
            match fired.call(trigger, (old, Some(&new)), cx)? {
                TriggerAnswer::Skip => return Ok(None),
                TriggerAnswer::Same => {}
                TriggerAnswer::Row(row) if row.len() == new.len() => {
                    new = row;
                    if command == RowCommand::Insert && trigger.definition.parent != 0 {
                        self.check_stays(trigger, &new, cx)?;
                    }
                }
                TriggerAnswer::Row(_) => return Err(of_another_table()),
            }
        }
        Ok(Some(new))
    }

    /// Fires BEFORE ROW DELETE triggers. False: the row stays.
    pub(super) fn fire_before_delete(&self, old: &[Datum], cx: &mut ExecContext) -> Result<bool> {
        let fired =
            Fired { command: RowCommand::Delete, relation: &self.table.relation, captured: &[] };
        let triggers = self.before_row(RowCommand::Delete);
        for trigger in triggers.map_or(&[][..], |triggers| &triggers[..]) {
            if !trigger.fires((Some(old), None), cx)? {
                continue;
            }
            if let TriggerAnswer::Skip = fired.call(trigger, (Some(old), None), cx)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// 0A000: a partitioned table's trigger has changed the row so that it belongs to another
    /// partition.
    fn check_stays(&self, trigger: &Trigger, row: &[Datum], cx: &mut ExecContext) -> Result<()> {
        match &self.partition {
            Some(partition) if !partition.holds(self.table.oid, row, cx)? => {
                let message = "moving row to another partition during a BEFORE FOR EACH ROW \
                     trigger is not supported";
                let (name, table) = (&trigger.definition.name, &self.table.relation);
                let schema = cx.functions.catalog.schema(table.schema);
                let schema = schema.map_or("public", |schema| &schema.name);
                Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, message).detail(format!(
                    "Before executing trigger \"{name}\", the row was to be in partition \
                     \"{schema}.{table}\".",
                    table = table.name
                )))
            }
            _ => Ok(()),
        }
    }

    /// Queues the AFTER ROW triggers of a change, and captures it for transition tables, if there
    /// are any.
    #[inline]
    pub(super) fn queue_after(
        &self,
        command: RowCommand,
        old: Option<&[Datum]>,
        new: Option<&[Datum]>,
        cx: &mut ExecContext,
    ) -> Result<()> {
        if let Some(captures) = &self.captures {
            self.capture(captures, command, (old, new), cx)?;
        }
        match &self.hooks {
            Some(hooks) if !hooks.command(command).after_row.is_empty() => {
                cx.queue_row(&self.table.relation, hooks, command, (old, new))
            }
            _ => Ok(()),
        }
    }
}
