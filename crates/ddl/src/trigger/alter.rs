//! ALTER TRIGGER … RENAME, ENABLE and DISABLE TRIGGER, COMMENT ON TRIGGER.

use super::super::drop::relation_name;
use super::super::open::system_catalog;
use super::super::{DdlContext, partition, truncate_name};
use super::check::without_triggers;
use super::drop::split;
use super::{exists, named, put, undefined};
use std::sync::Arc;
use steppe_catalog::trigger::{Trigger, TriggerEnabled};
use steppe_catalog::{Catalog, KeyTriggers, RareText, RelKind, Relation};
use steppe_sql::ast::{ObjectName, ObjectRef, RenameStmt, TriggerFiring, TriggerSet};
use steppe_txn::RelationLockMode;
use steppe_types::{Error, Oid, Result, SqlState};

/// ALTER TRIGGER name ON relation RENAME TO new (renametrig).
pub(in super::super) fn rename(ctx: &mut DdlContext<'_>, stmt: &RenameStmt) -> Result<()> {
    let (ObjectRef::Relation(relation), Some(name)) = (&stmt.object, &stmt.part) else {
        return Err(Error::internal("RENAME of a trigger without its name"));
    };
    let relation = ctx.open(relation, RelationLockMode::AccessExclusive)?;
    match relation.kind {
        RelKind::Table | RelKind::PartitionedTable | RelKind::View => {}
        RelKind::Virtual => return Err(system_catalog(&relation)),
        _ => return Err(without_triggers(&relation)),
    }
    let Some(trigger) = named(&relation, name) else { return Err(undefined(&relation, name)) };
    if trigger.parent != 0 {
        return Err(of_a_clone(ctx, &relation, name));
    }
    let new: Arc<str> = truncate_name(&stmt.new_name).into();
    rename_with_clones(ctx, &relation, trigger.oid, name, &new)
}

/// 0A000: a clone has its parent's name.
fn of_a_clone(ctx: &mut DdlContext<'_>, relation: &Relation, name: &str) -> Error {
    let catalog = ctx.catalog();
    let above = relation.partition_of.as_ref().and_then(|of| catalog.relation(of.parent));
    let above = above.map_or("?", |above| &*above.name);
    let message = format!("cannot rename trigger \"{name}\" on table \"{}\"", relation.name);
    Error::new(SqlState::FEATURE_NOT_SUPPORTED, message)
        .hint(format!("Rename the trigger on the partitioned table \"{above}\" instead."))
}

fn rename_with_clones(
    ctx: &mut DdlContext<'_>,
    relation: &Relation,
    oid: Oid,
    expected: &str,
    new: &Arc<str>,
) -> Result<()> {
    let mut triggers: Vec<Trigger> = relation.triggers.to_vec();
    let own = triggers.iter_mut().find(|own| own.oid == oid);
    let own = own.ok_or_else(|| Error::internal("a trigger has gone"))?;
    if own.name != *new {
        if named(relation, new).is_some() {
            return Err(exists(relation, new));
        }
        // A clone may have been made when the trigger had another name.
        if *own.name != *expected {
            let (name, table) = (&own.name, &relation.name);
            ctx.notice(format!("renamed trigger \"{name}\" on relation \"{table}\""));
        }
        own.name = new.clone();
        put(ctx, relation, triggers)?;
    }
    for child in partition::children(ctx, relation.oid)? {
        let child = ctx.lock_current(child.oid, RelationLockMode::AccessExclusive)?;
        let clones = child.triggers.iter().filter(|own| own.parent == oid);
        let clones: Vec<Oid> = clones.map(|clone| clone.oid).collect();
        for clone in clones {
            rename_with_clones(ctx, &child, clone, expected, new)?;
        }
    }
    Ok(())
}

/// The name of ENABLE or DISABLE TRIGGER in messages (alter_table_type_to_string).
pub(in super::super) fn switch_name(which: &TriggerSet, firing: TriggerFiring) -> &'static str {
    match (which, firing) {
        (TriggerSet::Named(_), TriggerFiring::Origin) => "ENABLE TRIGGER",
        (TriggerSet::Named(_), TriggerFiring::Always) => "ENABLE ALWAYS TRIGGER",
        (TriggerSet::Named(_), TriggerFiring::Replica) => "ENABLE REPLICA TRIGGER",
        (TriggerSet::Named(_), TriggerFiring::Disabled) => "DISABLE TRIGGER",
        (TriggerSet::All, TriggerFiring::Disabled) => "DISABLE TRIGGER ALL",
        (TriggerSet::All, _) => "ENABLE TRIGGER ALL",
        (TriggerSet::User, TriggerFiring::Disabled) => "DISABLE TRIGGER USER",
        (TriggerSet::User, _) => "ENABLE TRIGGER USER",
    }
}

/// ENABLE and DISABLE TRIGGER (EnableDisableTrigger). `with_clones`: without ONLY.
pub(in super::super) fn switch(
    ctx: &mut DdlContext<'_>,
    relation: &Relation,
    which: &TriggerSet,
    firing: TriggerFiring,
    with_clones: bool,
) -> Result<()> {
    let enabled = match firing {
        TriggerFiring::Origin => TriggerEnabled::Origin,
        TriggerFiring::Replica => TriggerEnabled::Replica,
        TriggerFiring::Always => TriggerEnabled::Always,
        TriggerFiring::Disabled => TriggerEnabled::Disabled,
    };
    if let TriggerSet::Named(name) = which
        && named(relation, name).is_none()
    {
        return Err(undefined(relation, name));
    }
    let is_meant = |trigger: &Trigger| match which {
        TriggerSet::Named(name) => *trigger.name == **name,
        TriggerSet::All | TriggerSet::User => true,
    };
    switch_those(ctx, relation, &is_meant, enabled, with_clones)?;
    match which {
        TriggerSet::All => switch_keys(ctx, relation.oid, (enabled, with_clones), None),
        TriggerSet::Named(_) | TriggerSet::User => Ok(()),
    }
}

/// Switches the table's part in each foreign key. `above` limits this to the keys that were
/// switched for the table that it is a partition of.
fn switch_keys(
    ctx: &mut DdlContext<'_>,
    table: Oid,
    (enabled, with_clones): (TriggerEnabled, bool),
    above: Option<&[KeyTriggers]>,
) -> Result<()> {
    let table = ctx.lock_current(table, RelationLockMode::ShareRowExclusive)?;
    let mut switched = key_triggers_of(&ctx.catalog(), &table, enabled);
    if let Some(above) = above {
        switched.retain(|own| {
            let is_of =
                |parent: Oid| above.iter().any(|a| (a.constraint, a.acts) == (parent, own.acts));
            match own.acts {
                true => is_of(own.constraint),
                false => {
                    table.constraints.iter().any(|c| c.oid == own.constraint && is_of(c.parent))
                }
            }
        });
    }
    let is_switched = |own: &&KeyTriggers| {
        switched.iter().any(|new| (new.constraint, new.acts) == (own.constraint, own.acts))
    };
    let mut all: Vec<KeyTriggers> =
        table.key_triggers.iter().filter(|own| !is_switched(own)).copied().collect();
    all.extend(switched.iter().filter(|own| own.enabled != TriggerEnabled::Origin));
    if *table.key_triggers != *all {
        ctx.put(Relation { key_triggers: all.into(), ..(*table).clone() })?;
    }
    if !with_clones || switched.is_empty() {
        return Ok(());
    }
    for child in partition::children(ctx, table.oid)? {
        if child.partition_of.is_some() {
            switch_keys(ctx, child.oid, (enabled, true), Some(&switched))?;
        }
    }
    Ok(())
}

/// The table's parts in foreign keys: the checks of its own keys, and the actions of the keys that
/// refer to it or to a table that it is a partition of.
fn key_triggers_of(
    catalog: &Catalog,
    table: &Arc<Relation>,
    enabled: TriggerEnabled,
) -> Vec<KeyTriggers> {
    let of = |constraint: Oid, acts| KeyTriggers { constraint, acts, enabled };
    let mut parts: Vec<KeyTriggers> =
        table.foreign_keys().map(|(own, _)| of(own.oid, false)).collect();
    let mut at = Some(table);
    while let Some(above) = at {
        let references = catalog.referencing(above.oid).into_iter();
        let whole = references.filter(|reference| reference.constraint.parent == 0);
        parts.extend(whole.map(|reference| of(reference.constraint.oid, true)));
        at = above.partition_of.as_ref().and_then(|of| catalog.relation(of.parent));
    }
    parts
}

fn switch_those(
    ctx: &mut DdlContext<'_>,
    relation: &Relation,
    is_meant: &dyn Fn(&Trigger) -> bool,
    enabled: TriggerEnabled,
    with_clones: bool,
) -> Result<()> {
    let mut triggers: Vec<Trigger> = relation.triggers.to_vec();
    let mut above = Vec::new();
    for trigger in triggers.iter_mut().filter(|trigger| is_meant(trigger)) {
        trigger.enabled = enabled;
        above.extend(trigger.is_row().then_some(trigger.oid));
    }
    put(ctx, relation, triggers)?;
    if !with_clones || above.is_empty() {
        return Ok(());
    }
    for child in partition::children(ctx, relation.oid)? {
        let child = ctx.lock_current(child.oid, RelationLockMode::ShareRowExclusive)?;
        let is_clone = |trigger: &Trigger| above.contains(&trigger.parent);
        if child.triggers.iter().any(is_clone) {
            switch_those(ctx, &child, &is_clone, enabled, true)?;
        }
    }
    Ok(())
}

/// COMMENT ON TRIGGER name ON relation.
pub(in super::super) fn comment(
    ctx: &mut DdlContext<'_>,
    name: &ObjectName,
    text: Option<RareText>,
) -> Result<()> {
    let (trigger, relation) = split(name)?;
    let relation = ctx.open(&relation_name(&relation), RelationLockMode::ShareUpdateExclusive)?;
    let Some(found) = named(&relation, &trigger) else {
        return Err(undefined(&relation, &trigger));
    };
    let oid = found.oid;
    let mut relation = (*relation).clone();
    for own in relation.triggers.iter_mut().filter(|own| own.oid == oid) {
        own.comment = text.clone();
    }
    ctx.put(relation)
}
