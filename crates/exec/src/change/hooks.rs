//! The triggers that a statement can meet, compiled.
//!
//! The triggers are selected when the statement is compiled, and again for each kind of leaf.
//! Triggers that the statement's command or its columns exclude are left out. A statement without
//! triggers has no [`HookSet`], and its execution checks only that. The session's role
//! (session_replication_role) and WHEN decide when a trigger is to fire.
//!
//! Leaves with the same definition share a set, so the set has no OID of a table. Each call of a
//! trigger gets the table separately.

use super::{TargetRules, Written};
use crate::context::ExecContext;
use crate::expr::{CExpr, Compiler, Row};
use crate::registry::trigger_code;
use crate::routine::TriggerCode;
use std::sync::Arc;
use steppe_catalog::trigger::{
    Trigger as Definition, TriggerEnabled, TriggerEvents, TriggerLevel, TriggerTiming,
};
use steppe_catalog::{FunctionRef, Relation};
use steppe_sql::bind::trigger::stored_condition;
use steppe_sql::plan::ModifyTable;
use steppe_sql::query::Command;
use steppe_types::{Datum, Error, Oid, Result};

/// A row-changing command.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RowCommand {
    /// INSERT
    Insert,
    /// UPDATE
    Update,
    /// DELETE
    Delete,
    /// TRUNCATE, which has statement triggers only.
    Truncate,
}

/// A trigger with its function.
pub(crate) struct Trigger {
    pub(crate) definition: Definition,
    pub(crate) function: TriggerCode,
    when: Option<Condition>,
}

/// A compiled WHEN.
struct Condition {
    /// Over the old row, followed by the new one.
    holds: CExpr,
    /// The NULLs in place of a row that the command does not have.
    none: Box<[Datum]>,
}

/// The rows before and after a change.
pub type OldAndNew<'r> = (Option<&'r [Datum]>, Option<&'r [Datum]>);

impl Trigger {
    pub(super) fn compile(
        definition: &Definition,
        relation: &Arc<Relation>,
        compiler: &mut Compiler<'_>,
    ) -> Result<Arc<Trigger>> {
        let when = match &definition.when {
            None => None,
            Some(text) => {
                let bound = stored_condition(compiler.catalog(), relation, text)?;
                let none = vec![Datum::Null; relation.columns.len()].into();
                Some(Condition { holds: compiler.expr(&bound)?, none })
            }
        };
        let function = trigger_code(compiler.catalog(), definition.function);
        let function = function.ok_or_else(|| no_code(definition.function))?;
        Ok(Arc::new(Trigger { definition: definition.clone(), function, when }))
    }

    /// Whether calls for several rows may be one run of calls ([`super::trigger::Fired::call_run`]):
    /// it fires for each row or for none, when the rows have changed.
    pub(super) fn is_called_alike(&self) -> bool {
        let Definition { constraint, transition, .. } = &self.definition;
        let is_plain = self.when.is_none() && constraint.is_none() && transition.is_none();
        is_plain && self.function.is_called_alike()
    }

    /// Whether its calls may be deferred.
    #[inline]
    pub(super) fn is_deferrable(&self) -> bool {
        let constraint = self.definition.constraint;
        constraint.is_some_and(|constraint| constraint.deferral.is_deferrable())
    }

    /// Whether it is to fire for a change of these rows (TriggerEnabled).
    #[inline]
    pub(super) fn fires(&self, (old, new): OldAndNew<'_>, cx: &mut ExecContext) -> Result<bool> {
        if !self.definition.enabled.fires(cx.is_replica()?) {
            return Ok(false);
        }
        match &self.when {
            None => Ok(true),
            Some(Condition { holds, none }) => {
                let row = Row::pair(old.unwrap_or(none), new.unwrap_or(none));
                holds.holds(cx, row)
            }
        }
    }
}

/// Triggers in the order of their names.
pub(crate) type Triggers = Box<[Arc<Trigger>]>;

/// The triggers of one command.
#[derive(Default)]
pub(crate) struct CommandHooks {
    pub(crate) before_statement: Triggers,
    pub(crate) before_row: Triggers,
    pub(crate) after_row: Triggers,
    pub(crate) after_statement: Triggers,
    /// The INSTEAD OF triggers of a view.
    pub(crate) instead_of: Triggers,
}

/// The triggers of a table that a statement can meet.
#[derive(Default)]
pub(crate) struct HookSet {
    /// By command.
    of_command: [CommandHooks; 4],
}

/// The commands that a statement is of, in the order in which its statement triggers fire before
/// it.
pub(crate) fn commands_of(modify: &ModifyTable) -> &'static [RowCommand] {
    let updates = modify.on_conflict.as_ref().is_some_and(|conflict| conflict.update.is_some());
    match modify.command {
        Command::Insert if updates => &[RowCommand::Insert, RowCommand::Update],
        Command::Insert => &[RowCommand::Insert],
        Command::Update => &[RowCommand::Update],
        Command::Delete => &[RowCommand::Delete],
        Command::Select => &[],
    }
}

/// Whether a BEFORE ROW trigger may change any column of a new version.
pub(super) fn rewrites_updates(relation: &Relation) -> bool {
    relation.triggers.iter().any(|trigger| {
        trigger.events.update
            && trigger.enabled != TriggerEnabled::Disabled
            && (trigger.timing, trigger.level) == (TriggerTiming::Before, TriggerLevel::Row)
    })
}

impl HookSet {
    /// The triggers for a statement of these commands; `None` if there are none.
    pub(super) fn of(
        relation: &Arc<Relation>,
        commands: &[RowCommand],
        rules: &TargetRules,
        compiler: &mut Compiler<'_>,
    ) -> Result<Option<Arc<HookSet>>> {
        if relation.triggers.is_empty() {
            return Ok(None);
        }
        let mut set = HookSet::default();
        let mut is_empty = true;
        for command in [RowCommand::Insert, RowCommand::Update, RowCommand::Delete] {
            // A row that moves is deleted here and inserted there.
            let moves = commands.contains(&RowCommand::Update) && rules.written.moves;
            if commands.contains(&command) || moves {
                let hooks = CommandHooks::of(relation, command, &rules.written, compiler)?;
                is_empty &= hooks.is_empty();
                set.of_command[command as usize] = hooks;
            }
        }
        Ok((!is_empty).then(|| Arc::new(set)))
    }

    /// The triggers of a table that is emptied; `None` if there are none.
    pub(super) fn of_truncate(
        relation: &Arc<Relation>,
        compiler: &mut Compiler<'_>,
    ) -> Result<Option<Arc<HookSet>>> {
        let (command, written) = (RowCommand::Truncate, Written::default());
        let hooks = CommandHooks::of(relation, command, &written, compiler)?;
        if hooks.is_empty() {
            return Ok(None);
        }
        let mut set = HookSet::default();
        set.of_command[command as usize] = hooks;
        Ok(Some(Arc::new(set)))
    }

    /// Whether the calls of any of them may be deferred.
    pub(super) fn has_deferrable(&self) -> bool {
        self.of_command.iter().any(|hooks| hooks.after_row.iter().any(|t| t.is_deferrable()))
    }

    /// The triggers of a command.
    pub(crate) fn command(&self, command: RowCommand) -> &CommandHooks {
        &self.of_command[command as usize]
    }
}

impl CommandHooks {
    fn of(
        relation: &Arc<Relation>,
        command: RowCommand,
        written: &Written,
        compiler: &mut Compiler<'_>,
    ) -> Result<CommandHooks> {
        let mut met = Vec::new();
        for definition in relation.triggers.iter().filter(|t| is_met(t, command, written)) {
            met.push(Trigger::compile(definition, relation, compiler)?);
        }
        met.sort_by(|a, b| a.definition.name.cmp(&b.definition.name));
        let of = |timing: TriggerTiming, level: TriggerLevel| {
            let is_so =
                |t: &&Arc<Trigger>| (t.definition.timing, t.definition.level) == (timing, level);
            met.iter().filter(is_so).cloned().collect()
        };
        Ok(CommandHooks {
            before_statement: of(TriggerTiming::Before, TriggerLevel::Statement),
            before_row: of(TriggerTiming::Before, TriggerLevel::Row),
            after_row: of(TriggerTiming::After, TriggerLevel::Row),
            after_statement: of(TriggerTiming::After, TriggerLevel::Statement),
            instead_of: of(TriggerTiming::InsteadOf, TriggerLevel::Row),
        })
    }

    fn is_empty(&self) -> bool {
        let before = [&self.before_statement, &self.before_row];
        let others = [&self.after_row, &self.after_statement, &self.instead_of];
        before.into_iter().chain(others).all(|triggers| triggers.is_empty())
    }
}

/// Whether a trigger may fire for a command that writes these columns.
fn is_met(trigger: &Definition, command: RowCommand, written: &Written) -> bool {
    let TriggerEvents { insert, update, delete, truncate } = trigger.events;
    let is_of = match command {
        RowCommand::Insert => insert,
        RowCommand::Delete => delete,
        RowCommand::Truncate => truncate,
        RowCommand::Update => {
            let mut columns = trigger.columns.iter();
            update
                && (trigger.columns.is_empty()
                    || columns.any(|attnum| written.assigns(*attnum as usize - 1)))
        }
    };
    is_of && trigger.enabled != TriggerEnabled::Disabled
}

#[cold]
fn no_code(function: Oid) -> Error {
    let found = FunctionRef::built_in(function);
    let name = found.as_ref().map_or("?", |function| &*function.name);
    Error::not_supported(format!("trigger function {name}"))
}
