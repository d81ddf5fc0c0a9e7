//! DROP TRIGGER.

use super::super::depend::description;
use super::super::drop::relation_name;
use super::super::{DdlContext, partition};
use super::{named, put, undefined};
use std::sync::Arc;
use steppe_catalog::objects::Object;
use steppe_catalog::trigger::Trigger;
use steppe_catalog::{Catalog, Relation};
use steppe_sql::ast::{DropStmt, ObjectName, ObjectRef};
use steppe_txn::RelationLockMode;
use steppe_types::{Error, Oid, Result, SqlState};

/// The trigger and the relation that `name ON relation` means.
pub(super) fn split(name: &ObjectName) -> Result<(String, ObjectName)> {
    match name.parts().split_last() {
        Some((trigger, relation)) if !relation.is_empty() => {
            Ok((trigger.clone(), ObjectName(relation.to_vec())))
        }
        _ => Err(Error::internal("a trigger of nothing")),
    }
}

/// DROP TRIGGER [IF EXISTS] … ON ….
pub(in super::super) fn drop_triggers(ctx: &mut DdlContext<'_>, drop: &DropStmt) -> Result<()> {
    for object in &drop.objects {
        let ObjectRef::Name(name) = object else {
            return Err(Error::internal("DROP TRIGGER without a name"));
        };
        let (trigger, relation) = split(name)?;
        let relation_name = relation_name(&relation);
        let mode = RelationLockMode::AccessExclusive;
        let Some(relation) = ctx.try_open(&relation_name, mode)? else {
            let missing = match relation.schema() {
                Some(schema) if ctx.catalog().schema_in(schema, &ctx.search_path).is_none() => {
                    let message = format!("schema \"{schema}\" does not exist");
                    Error::new(SqlState::INVALID_SCHEMA_NAME, message)
                }
                _ => relation_name.undefined(),
            };
            let missing = if drop.if_exists { missing } else { relation_name.undefined() };
            ctx.skip_missing(drop.if_exists, missing)?;
            continue;
        };
        let Some(found) = named(&relation, &trigger) else {
            if drop.if_exists {
                let message = format!("trigger \"{trigger}\" for relation \"{}\"", relation.name);
                ctx.notice(format!("{message} does not exist, skipping"));
                continue;
            }
            return Err(undefined(&relation, &trigger));
        };
        check_is_no_clone(ctx, &relation, found)?;
        remove(ctx, relation.oid, found.oid)?;
    }
    Ok(())
}

/// 2BP01 for a clone, which is dropped with its parent's trigger only.
fn check_is_no_clone(
    ctx: &mut DdlContext<'_>,
    relation: &Relation,
    trigger: &Trigger,
) -> Result<()> {
    if trigger.parent == 0 {
        return Ok(());
    }
    let catalog = ctx.catalog();
    let path = ctx.search_path.clone();
    let above = parent_of(&catalog, relation, trigger.parent);
    let above = above.ok_or_else(|| Error::internal("a trigger's parent has gone"))?;
    let own = description(&catalog, &path, Object::Trigger(relation.oid, trigger.oid));
    let what = description(&catalog, &path, Object::Trigger(above.oid, trigger.parent));
    Err(required(&own, &what))
}

/// The partitioned table that has the trigger of which a partition has a clone.
fn parent_of<'c>(
    catalog: &'c Catalog,
    partition: &Relation,
    trigger: Oid,
) -> Option<&'c Arc<Relation>> {
    let of = partition.partition_of.as_ref()?;
    let above = catalog.relation(of.parent)?;
    above.triggers.iter().any(|own| own.oid == trigger).then_some(above)
}

/// 2BP01 for the constraint of a constraint trigger, which is dropped with the trigger only.
pub(in super::super) fn check_is_no_trigger(
    ctx: &mut DdlContext<'_>,
    table: &Relation,
    constraint: &str,
) -> Result<()> {
    let Some(trigger) = named(table, constraint).filter(|trigger| trigger.constraint.is_some())
    else {
        return Ok(());
    };
    let catalog = ctx.catalog();
    let of = Object::Trigger(table.oid, trigger.oid);
    let what = description(&catalog, &ctx.search_path, of);
    let own = format!("constraint {}", what.trim_start_matches("trigger "));
    Err(required(&own, &what))
}

/// 2BP01: an object is dropped with another one only.
fn required(own: &str, what: &str) -> Error {
    let message = format!("cannot drop {own} because {what} requires it");
    Error::new(SqlState::DEPENDENT_OBJECTS_STILL_EXIST, message)
        .hint(format!("You can drop {what} instead."))
}

/// Removes a trigger with its clones. Does nothing if the trigger does not exist any more.
pub(in super::super) fn remove(
    ctx: &mut DdlContext<'_>,
    relation: Oid,
    trigger: Oid,
) -> Result<()> {
    ctx.lock(relation, RelationLockMode::AccessExclusive)?;
    let Some(relation) = ctx.catalog().relation(relation).cloned() else { return Ok(()) };
    if !relation.triggers.iter().any(|own| own.oid == trigger) {
        return Ok(());
    }
    // Events of the trigger may be pending: they find it no more.
    if ctx.in_use.contains(&relation.oid) {
        ctx.check_not_in_use(&relation, "DROP TRIGGER")?;
    }
    let kept = relation.triggers.iter().filter(|own| own.oid != trigger).cloned().collect();
    put(ctx, &relation, kept)?;
    for child in partition::all_children(ctx, relation.oid)? {
        let clones = child.triggers.iter().filter(|own| own.parent == trigger);
        let clones: Vec<Oid> = clones.map(|clone| clone.oid).collect();
        clones.into_iter().try_for_each(|clone| remove(ctx, child.oid, clone))?;
    }
    Ok(())
}
