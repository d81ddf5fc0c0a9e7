//! Checks of CREATE TRIGGER: whether the kind of relation may have such a trigger, and whether the
//! parts of the statement fit each other.

use super::super::open::system_catalog;
use steppe_catalog::system::kind_of_relations;
use steppe_catalog::{RelKind, Relation};
use steppe_sql::ast::{CreateTriggerStmt, TriggerTiming};
use steppe_types::{Error, Result, SqlState};

/// 42809 for a trigger that such a relation cannot have; 42501 for a system catalog.
pub(super) fn check_relation(relation: &Relation, stmt: &CreateTriggerStmt) -> Result<()> {
    let refused = |what: &str, detail: &str| {
        let message = format!("\"{}\" is {what}", relation.name);
        Err(Error::new(SqlState::WRONG_OBJECT_TYPE, message).detail(detail))
    };
    match relation.kind {
        RelKind::Table | RelKind::PartitionedTable if stmt.timing == TriggerTiming::InsteadOf => {
            refused("a table", "Tables cannot have INSTEAD OF triggers.")
        }
        RelKind::PartitionedTable if stmt.for_each_row && !stmt.transitions.is_empty() => {
            let message = format!("\"{}\" is a partitioned table", relation.name);
            Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, message).detail(
                "ROW triggers with transition tables are not supported on partitioned tables.",
            ))
        }
        RelKind::View if stmt.timing != TriggerTiming::InsteadOf && stmt.for_each_row => {
            refused("a view", "Views cannot have row-level BEFORE or AFTER triggers.")
        }
        RelKind::View if stmt.events.truncate => {
            refused("a view", "Views cannot have TRUNCATE triggers.")
        }
        RelKind::Table | RelKind::PartitionedTable | RelKind::View => Ok(()),
        RelKind::Virtual => Err(system_catalog(relation)),
        RelKind::Sequence | RelKind::Composite => Err(without_triggers(relation)),
        RelKind::Index | RelKind::PartitionedIndex => {
            let message = format!("cannot open relation \"{}\"", relation.name);
            Err(unsupported(relation, message))
        }
    }
}

fn unsupported(relation: &Relation, message: String) -> Error {
    let kind = kind_of_relations(relation);
    Error::new(SqlState::WRONG_OBJECT_TYPE, message)
        .detail(format!("This operation is not supported for {kind}."))
}

/// 42809: a relation of a kind that has no triggers.
pub(super) fn without_triggers(relation: &Relation) -> Error {
    unsupported(relation, format!("relation \"{}\" cannot have triggers", relation.name))
}

/// 0A000 for parts of the statement that do not fit each other.
pub(super) fn check_kind(stmt: &CreateTriggerStmt) -> Result<()> {
    let refused = |message: &str| Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, message));
    if stmt.for_each_row && stmt.events.truncate {
        return refused("TRUNCATE FOR EACH ROW triggers are not supported");
    }
    if stmt.timing != TriggerTiming::InsteadOf {
        return Ok(());
    }
    if !stmt.for_each_row {
        return refused("INSTEAD OF triggers must be FOR EACH ROW");
    }
    if stmt.when.is_some() {
        return refused("INSTEAD OF triggers cannot have WHEN conditions");
    }
    if !stmt.columns.is_empty() {
        return refused("INSTEAD OF triggers cannot have column lists");
    }
    Ok(())
}
