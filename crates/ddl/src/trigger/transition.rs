//! REFERENCING: the names of transition tables.

use super::super::truncate_name;
use std::sync::Arc;
use steppe_catalog::trigger::{TransitionNames, Trigger};
use steppe_catalog::{RelKind, Relation};
use steppe_sql::ast::{CreateTriggerStmt, TriggerTiming, TriggerTransition};
use steppe_types::{Error, Result, SqlState};

fn refused(message: impl Into<String>) -> Error {
    Error::new(SqlState::FEATURE_NOT_SUPPORTED, message)
}

fn invalid(message: &str) -> Error {
    Error::new(SqlState::INVALID_OBJECT_DEFINITION, message)
}

/// The transition tables that a statement names, if any. 0A000 and 42P17 where the trigger cannot
/// have them.
pub(super) fn names(
    relation: &Relation,
    stmt: &CreateTriggerStmt,
) -> Result<Option<Arc<TransitionNames>>> {
    if stmt.transitions.is_empty() {
        return Ok(None);
    }
    let mut names = TransitionNames::default();
    for transition in &stmt.transitions {
        check(relation, stmt, transition)?;
        let place = if transition.is_new { &mut names.new } else { &mut names.old };
        if place.is_some() {
            return Err(invalid(match transition.is_new {
                true => "NEW TABLE cannot be specified multiple times",
                false => "OLD TABLE cannot be specified multiple times",
            }));
        }
        *place = Some(truncate_name(&transition.name).into());
    }
    if names.old.is_some() && names.old == names.new {
        return Err(invalid("OLD TABLE name and NEW TABLE name cannot be the same"));
    }
    Ok(Some(Arc::new(names)))
}

fn check(
    relation: &Relation,
    stmt: &CreateTriggerStmt,
    transition: &TriggerTransition,
) -> Result<()> {
    if !transition.is_table {
        let message = "ROW variable naming in the REFERENCING clause is not supported";
        let hint = "Use OLD TABLE or NEW TABLE for naming transition tables.";
        return Err(refused(message).hint(hint));
    }
    if relation.kind == RelKind::View {
        let message = format!("\"{}\" is a view", relation.name);
        return Err(Error::new(SqlState::WRONG_OBJECT_TYPE, message)
            .detail("Triggers on views cannot have transition tables."));
    }
    if stmt.for_each_row && relation.partition_of.is_some() {
        return Err(refused("ROW triggers with transition tables are not supported on partitions"));
    }
    if stmt.for_each_row && !relation.inherits.is_empty() {
        return Err(refused(
            "ROW triggers with transition tables are not supported on inheritance children",
        ));
    }
    if stmt.timing != TriggerTiming::After {
        return Err(invalid("transition table name can only be specified for an AFTER trigger"));
    }
    let events = &stmt.events;
    if events.truncate {
        return Err(refused("TRUNCATE triggers with transition tables are not supported"));
    }
    if [events.insert, events.update, events.delete].into_iter().filter(|is| *is).count() != 1 {
        return Err(refused(
            "transition tables cannot be specified for triggers with more than one event",
        ));
    }
    if !stmt.columns.is_empty() {
        return Err(refused(
            "transition tables cannot be specified for triggers with column lists",
        ));
    }
    match transition.is_new {
        true if events.delete => {
            Err(invalid("NEW TABLE can only be specified for an INSERT or UPDATE trigger"))
        }
        false if events.insert => {
            Err(invalid("OLD TABLE can only be specified for a DELETE or UPDATE trigger"))
        }
        _ => Ok(()),
    }
}

/// 0A000 if a table has a row trigger with transition tables: it can become no child of another
/// (FindTriggerIncompatibleWithInheritance).
pub(in super::super) fn check_child(table: &Relation, is_partition: bool) -> Result<()> {
    let is_so = |trigger: &&Trigger| trigger.is_row() && trigger.transition.is_some();
    let Some(trigger) = table.triggers.iter().find(is_so) else { return Ok(()) };
    let (what, detail) = match is_partition {
        true => {
            ("a partition", "ROW triggers with transition tables are not supported on partitions.")
        }
        false => (
            "an inheritance child",
            "ROW triggers with transition tables are not supported in inheritance hierarchies.",
        ),
    };
    let (name, table) = (&trigger.name, &table.name);
    let message = format!("trigger \"{name}\" prevents table \"{table}\" from becoming {what}");
    Err(refused(message).detail(detail))
}
