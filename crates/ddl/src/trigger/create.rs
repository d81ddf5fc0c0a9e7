//! CREATE [OR REPLACE] [CONSTRAINT] TRIGGER (CreateTriggerFiringOn).

use super::super::{DdlContext, truncate_name};
use super::check::{check_kind, check_relation};
use super::clones::{clone_below, lock_below};
use super::{exists, named, put, transition};
use std::sync::Arc;
use steppe_catalog::objects::FunctionRef;
use steppe_catalog::trigger::{
    ConstraintTrigger, Trigger, TriggerEnabled, TriggerEvents, TriggerLevel, TriggerTiming,
};
use steppe_catalog::{Deferral, RelKind, Relation};
use steppe_sql::ast::{self, CreateTriggerStmt, ObjectName};
use steppe_sql::bind::trigger::bind_trigger_condition;
use steppe_sql::deparse;
use steppe_txn::RelationLockMode;
use steppe_types::{Error, Oid, Result, SqlState, oid};

/// CREATE TRIGGER.
pub(in super::super) fn create_trigger(
    ctx: &mut DdlContext<'_>,
    stmt: &CreateTriggerStmt,
) -> Result<()> {
    let relation = ctx.open(&stmt.relation, RelationLockMode::ShareRowExclusive)?;
    check_relation(&relation, stmt)?;
    relation.refuse_distributed("CREATE TRIGGER")?;
    let from = match &stmt.constraint_relation {
        Some(from) => ctx.open(from, RelationLockMode::AccessShare)?.oid,
        None => 0,
    };
    let is_cloned = stmt.for_each_row && relation.kind == RelKind::PartitionedTable;
    if is_cloned {
        lock_below(ctx, relation.oid, RelationLockMode::ShareRowExclusive)?;
    }
    check_kind(stmt)?;
    let transition = transition::names(&relation, stmt)?;
    let mut trigger = Trigger { transition, ..described(stmt) };
    if let Some(when) = &stmt.when {
        let bound = ctx.binding(|b| bind_trigger_condition(b, &relation, &trigger, when))?;
        trigger.when = Some(deparse::trigger_condition(&bound, &relation, &ctx.catalog()).into());
    }
    trigger.function = function(ctx, &stmt.function)?;
    let replaced = replaced(&relation, stmt, Made::ByItself)?;
    trigger.columns = columns(&relation, &stmt.columns)?.into();
    if stmt.is_constraint {
        let deferral = match (stmt.deferrable, stmt.initially_deferred) {
            (false, _) => Deferral::NotDeferrable,
            (true, false) => Deferral::InitiallyImmediate,
            (true, true) => Deferral::InitiallyDeferred,
        };
        let oid = ctx.store.new_oid()?;
        trigger.constraint = Some(ConstraintTrigger { oid, from, deferral });
    }
    let trigger = add(ctx, &relation, trigger, replaced.as_ref())?;
    match is_cloned {
        true => clone_below(ctx, &relation, &trigger, stmt.replace),
        false => Ok(()),
    }
}

/// A trigger as far as the statement alone tells.
fn described(stmt: &CreateTriggerStmt) -> Trigger {
    let ast::TriggerEvents { insert, delete, update, truncate } = stmt.events;
    Trigger {
        oid: 0,
        name: truncate_name(&stmt.name).into(),
        function: 0,
        timing: match stmt.timing {
            ast::TriggerTiming::Before => TriggerTiming::Before,
            ast::TriggerTiming::After => TriggerTiming::After,
            ast::TriggerTiming::InsteadOf => TriggerTiming::InsteadOf,
        },
        level: if stmt.for_each_row { TriggerLevel::Row } else { TriggerLevel::Statement },
        events: TriggerEvents { insert, update, delete, truncate },
        columns: Vec::new().into(),
        when: None,
        arguments: stmt.args.iter().map(|arg| Arc::from(arg.as_str())).collect(),
        enabled: TriggerEnabled::Origin,
        parent: 0,
        constraint: None,
        transition: None,
        comment: None,
    }
}

/// The function without arguments of a name: 42883 if there is none, 42P17 if it returns something
/// else than trigger.
fn function(ctx: &mut DdlContext<'_>, name: &ObjectName) -> Result<Oid> {
    let catalog = ctx.catalog();
    if let Some(schema) = name.schema()
        && catalog.schema_in(schema, &ctx.search_path).is_none()
    {
        let message = format!("schema \"{schema}\" does not exist");
        return Err(Error::new(SqlState::INVALID_SCHEMA_NAME, message));
    }
    let mut first: Option<(usize, FunctionRef)> = None;
    catalog.functions_in(name.schema(), name.name(), &ctx.search_path, &mut |place, function| {
        let is_earlier = first.as_ref().is_none_or(|(earlier, _)| place < *earlier);
        if function.args.is_empty() && is_earlier {
            first = Some((place, function));
        }
    });
    let Some((_, function)) = first else {
        let message = format!("function {name}() does not exist");
        return Err(Error::new(SqlState::UNDEFINED_FUNCTION, message));
    };
    if function.ret != oid::TRIGGER {
        let message = format!("function {name} must return type trigger");
        return Err(Error::new(SqlState::INVALID_OBJECT_DEFINITION, message));
    }
    Ok(function.oid)
}

/// UPDATE OF: 42703 for an unknown column, 42701 for one that is named twice.
fn columns(relation: &Relation, names: &[String]) -> Result<Vec<i16>> {
    let mut columns = Vec::with_capacity(names.len());
    for name in names {
        let Some(position) = relation.column_index(name) else {
            let message =
                format!("column \"{name}\" of relation \"{}\" does not exist", relation.name);
            return Err(Error::new(SqlState::UNDEFINED_COLUMN, message));
        };
        let attnum = position as i16 + 1;
        if columns.contains(&attnum) {
            let message = format!("column \"{name}\" specified more than once");
            return Err(Error::new(SqlState::DUPLICATE_COLUMN, message));
        }
        columns.push(attnum);
    }
    Ok(columns)
}

/// Where a trigger comes from.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Made {
    /// By a statement that names its relation.
    ByItself,
    /// As the clone of a partitioned table's trigger.
    AsClone,
}

/// The trigger of the same name, which OR REPLACE replaces: 42710 without, or if it is a clone or a
/// constraint trigger.
fn replaced(relation: &Relation, stmt: &CreateTriggerStmt, made: Made) -> Result<Option<Trigger>> {
    replaced_by(relation, truncate_name(&stmt.name), stmt.replace, made)
}

/// [`replaced`] by the trigger's name.
pub(super) fn replaced_by(
    relation: &Relation,
    name: &str,
    or_replace: bool,
    made: Made,
) -> Result<Option<Trigger>> {
    let Some(old) = named(relation, name) else { return Ok(None) };
    if !or_replace {
        return Err(exists(relation, name));
    }
    let refused = |what: &str| {
        let table = &relation.name;
        let message = format!("trigger \"{name}\" for relation \"{table}\" is {what}");
        Err(Error::new(SqlState::DUPLICATE_OBJECT, message))
    };
    if old.parent != 0 && made == Made::ByItself {
        return refused("an internal or a child trigger");
    }
    if old.constraint.is_some() {
        return refused("a constraint trigger");
    }
    Ok(Some(old.clone()))
}

/// Gives a relation a trigger. One that replaces another keeps its OID and its comment.
pub(super) fn add(
    ctx: &mut DdlContext<'_>,
    relation: &Relation,
    mut trigger: Trigger,
    replaced: Option<&Trigger>,
) -> Result<Trigger> {
    trigger.oid = match replaced {
        Some(old) => old.oid,
        None => ctx.store.new_oid()?,
    };
    trigger.comment = replaced.and_then(|old| old.comment.clone());
    let mut triggers: Vec<Trigger> = relation.triggers.to_vec();
    triggers.retain(|other| other.oid != trigger.oid);
    triggers.push(trigger.clone());
    put(ctx, relation, triggers)?;
    Ok(trigger)
}
