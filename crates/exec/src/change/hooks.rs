//! The triggers that a statement can meet, compiled.
//!
//! The triggers are selected when the statement is compiled, and again for each kind of leaf.
//! Triggers that the statement's command, its columns or the session's role exclude are left out. A
//! statement without triggers has no [`HookSet`], and its execution checks only that.
//!
//! Leaves with the same definition share a set, so the set has no OID of a table. Each call of a
//! trigger gets the table separately.

use super::{TargetRules, Written};
use crate::registry::{TriggerFn, trigger_function};
use std::sync::Arc;
use steppe_catalog::trigger::{
    Trigger as Definition, TriggerEnabled, TriggerEvents, TriggerLevel, TriggerTiming,
};
use steppe_catalog::{FunctionRef, Relation};
use steppe_sql::plan::ModifyTable;
use steppe_sql::query::Command;
use steppe_types::{Error, Oid, Result};

/// A row-changing command.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RowCommand {
    /// INSERT
    Insert,
    /// UPDATE
    Update,
    /// DELETE
    Delete,
}

/// A trigger with its function.
pub(crate) struct Trigger {
    pub(crate) definition: Definition,
    pub(crate) function: TriggerFn,
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
}

/// The triggers of a table that a statement can meet.
#[derive(Default)]
pub(crate) struct HookSet {
    insert: CommandHooks,
    update: CommandHooks,
    delete: CommandHooks,
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
        relation: &Relation,
        commands: &[RowCommand],
        rules: &TargetRules,
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
                let hooks = CommandHooks::of(relation, command, &rules.written)?;
                is_empty &= hooks.is_empty();
                *set.command_mut(command) = hooks;
            }
        }
        Ok((!is_empty).then(|| Arc::new(set)))
    }

    /// The triggers of a command.
    pub(crate) fn command(&self, command: RowCommand) -> &CommandHooks {
        match command {
            RowCommand::Insert => &self.insert,
            RowCommand::Update => &self.update,
            RowCommand::Delete => &self.delete,
        }
    }

    fn command_mut(&mut self, command: RowCommand) -> &mut CommandHooks {
        match command {
            RowCommand::Insert => &mut self.insert,
            RowCommand::Update => &mut self.update,
            RowCommand::Delete => &mut self.delete,
        }
    }
}

impl CommandHooks {
    fn of(relation: &Relation, command: RowCommand, written: &Written) -> Result<CommandHooks> {
        let mut met = Vec::new();
        for definition in relation.triggers.iter().filter(|t| fires(t, command, written)) {
            let function = function_of(definition)?;
            met.push(Arc::new(Trigger { definition: definition.clone(), function }));
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
        })
    }

    fn is_empty(&self) -> bool {
        let all =
            [&self.before_statement, &self.before_row, &self.after_row, &self.after_statement];
        all.into_iter().all(|triggers| triggers.is_empty())
    }
}

/// Whether a trigger fires for a command that writes these columns, in a session that replays
/// nothing.
fn fires(trigger: &Definition, command: RowCommand, written: &Written) -> bool {
    let TriggerEvents { insert, update, delete } = trigger.events;
    let is_of = match command {
        RowCommand::Insert => insert,
        RowCommand::Delete => delete,
        RowCommand::Update => {
            let mut columns = trigger.columns.iter();
            update
                && (trigger.columns.is_empty()
                    || columns.any(|attnum| written.assigns(*attnum as usize - 1)))
        }
    };
    is_of && matches!(trigger.enabled, TriggerEnabled::Origin | TriggerEnabled::Always)
}

fn function_of(trigger: &Definition) -> Result<TriggerFn> {
    if trigger.when.is_some() {
        return Err(Error::not_supported("WHEN of a trigger"));
    }
    trigger_function(trigger.function).ok_or_else(|| no_code(trigger.function))
}

#[cold]
fn no_code(function: Oid) -> Error {
    let found = FunctionRef::built_in(function);
    let name = found.as_ref().map_or("?", |function| &*function.name);
    Error::not_supported(format!("trigger function {name}"))
}
