//! ALTER CONSTRAINT of foreign keys, and changes of tables that they refer to.

use super::super::DdlContext;
use super::partitions::own_below;
use super::referenced::ReferencedKey;
use super::rows;
use std::sync::Arc;
use steppe_catalog::{
    Catalog, Constraint, ConstraintKind, Deferral, ForeignKey, RelKind, Relation,
};
use steppe_sql::ast::DropBehavior;
use steppe_txn::RelationLockMode;
use steppe_types::{Error, Oid, Result, SqlState};

/// The attributes that ALTER CONSTRAINT changes.
#[derive(Clone, Copy)]
pub(in super::super) struct Changes {
    pub(in super::super) deferral: Option<Deferral>,
    pub(in super::super) enforced: Option<bool>,
}

/// ALTER CONSTRAINT of the foreign key at a position.
pub(in super::super) fn alter(
    ctx: &mut DdlContext<'_>,
    mut table: Relation,
    at: usize,
    changes: Changes,
) -> Result<()> {
    let own = table.constraints[at].clone();
    if own.parent != 0 {
        return Err(derived(ctx, &table, &own));
    }
    alter_level(ctx, &mut table, at, changes)
}

fn alter_level(
    ctx: &mut DdlContext<'_>,
    table: &mut Relation,
    at: usize,
    changes: Changes,
) -> Result<()> {
    let own = table.constraints[at].clone();
    let Some(key) = own.foreign_key() else { return Ok(()) };
    let mut new = (**key).clone();
    let mut not_valid = own.not_valid;
    let is_enforced_now = changes.enforced == Some(true) && new.not_enforced;
    new.deferral = changes.deferral.unwrap_or(new.deferral);
    if let Some(enforced) = changes.enforced {
        not_valid |= !enforced;
        new.not_enforced = !enforced;
    }
    if is_enforced_now {
        not_valid = false;
    }
    ctx.lock(new.table, RelationLockMode::ShareRowExclusive)?;
    let kind = ConstraintKind::ForeignKey(Arc::new(new));
    table.constraints[at] = Constraint { kind, not_valid, ..own.clone() };
    ctx.put(table.clone())?;
    for (partition, theirs) in own_below(ctx, table, &own)? {
        let partition = ctx.lock_current(partition.oid, RelationLockMode::ShareRowExclusive)?;
        let mut partition = (*partition).clone();
        if let Some(at) = partition.constraints.iter().position(|c| c.oid == theirs.oid) {
            alter_level(ctx, &mut partition, at, changes)?;
        }
    }
    match is_enforced_now {
        true => rows::check(ctx, &Arc::new(table.clone()), &table.constraints[at]),
        false => Ok(()),
    }
}

/// A partition's constraint changes with its parent's only.
fn derived(ctx: &mut DdlContext<'_>, table: &Relation, own: &Constraint) -> Error {
    let message =
        format!("cannot alter constraint \"{}\" on relation \"{}\"", own.name, table.name);
    let error = Error::new(SqlState::INVALID_TABLE_DEFINITION, message);
    let catalog = ctx.catalog();
    let parent = table.parents().next().and_then(|oid| catalog.relation(oid));
    let theirs = parent.and_then(|parent| {
        let found = parent.constraints.iter().find(|theirs| theirs.oid == own.parent)?;
        Some((parent, found))
    });
    match theirs {
        None => error,
        Some((parent, theirs)) => error
            .detail(format!(
                "Constraint \"{}\" is derived from constraint \"{}\" of relation \"{}\".",
                own.name, theirs.name, parent.name
            ))
            .hint("You may alter the constraint it derives from instead."),
    }
}

/// The foreign keys that depend on a table's column, on a table, or on an index, each with its
/// table. The clones on partitions are left out.
pub(in super::super) fn dependents(
    catalog: &Catalog,
    table: Oid,
    of: impl Fn(&ForeignKey) -> bool,
) -> Vec<(Oid, Oid)> {
    let references = catalog.referencing(table).into_iter();
    references
        .filter(|reference| reference.constraint.parent == 0 && of(reference.key))
        .map(|reference| (reference.table.oid, reference.constraint.oid))
        .collect()
}

/// Removes a constraint without an index. A foreign key is removed from partitions, too.
pub(in super::super) fn remove(
    ctx: &mut DdlContext<'_>,
    table: Oid,
    constraint: Oid,
) -> Result<()> {
    let Some(found) = ctx.catalog().relation(table).cloned() else { return Ok(()) };
    let Some(at) = found.constraints.iter().position(|own| own.oid == constraint) else {
        return Ok(());
    };
    ctx.lock(table, RelationLockMode::AccessExclusive)?;
    let mut changed = (*found).clone();
    let own = changed.constraints.remove(at);
    for (partition, theirs) in own_below(ctx, &found, &own)? {
        remove(ctx, partition.oid, theirs.oid)?;
    }
    ctx.put(changed)
}

/// 42P16 for SET LOGGED or UNLOGGED of a table that refers to an unlogged one, or to which a logged
/// one refers.
pub(in super::super) fn check_logged(
    ctx: &mut DdlContext<'_>,
    table: &Relation,
    logged: bool,
) -> Result<()> {
    let catalog = ctx.catalog();
    let others: Vec<Arc<Relation>> = match logged {
        true => {
            let referenced =
                table.foreign_keys().filter_map(|(_, key)| catalog.relation(key.table));
            referenced.filter(|other| other.is_unlogged()).cloned().collect()
        }
        false => {
            let references = catalog.referencing(table.oid).into_iter().map(|by| by.table);
            references.filter(|other| !other.is_unlogged()).cloned().collect()
        }
    };
    let Some(other) = others.iter().find(|other| other.oid != table.oid) else { return Ok(()) };
    let (to, kind) = if logged { ("logged", "unlogged") } else { ("unlogged", "logged") };
    let message = format!(
        "could not change table \"{}\" to {to} because it references {kind} table \"{}\"",
        table.name, other.name
    );
    let schema = catalog.schema(table.schema).map_or("public", |schema| &schema.name);
    Err(Error::new(SqlState::INVALID_TABLE_DEFINITION, message).table(schema, &table.name))
}

/// A column's type has changed. The foreign keys over it, on both sides, get other operators
/// (42804 if there are none), and the rows are checked again.
pub(in super::super) fn retyped(
    ctx: &mut DdlContext<'_>,
    table: Oid,
    attnums: &[i16],
) -> Result<()> {
    let catalog = ctx.catalog();
    let is_read = |columns: &[i16]| columns.iter().any(|attnum| attnums.contains(attnum));
    let Some(relation) = catalog.relation(table) else { return Ok(()) };
    let mut concerned: Vec<(Oid, Oid)> = Vec::new();
    for (own, key) in relation.foreign_keys() {
        if is_read(&own.columns) || key.table == table && is_read(&key.columns) {
            concerned.push((table, own.oid));
        }
    }
    for by in catalog.referencing(table) {
        if by.table.oid != table && is_read(&by.key.columns) {
            concerned.push((by.table.oid, by.constraint.oid));
        }
    }
    for (referencing, constraint) in concerned {
        let referencing = ctx.lock_current(referencing, RelationLockMode::AccessExclusive)?;
        let mut changed = (*referencing).clone();
        let Some(at) = changed.constraints.iter().position(|own| own.oid == constraint) else {
            continue;
        };
        let own = changed.constraints[at].clone();
        let Some(key) = own.foreign_key() else { continue };
        let catalog = ctx.catalog();
        let Some(referenced) = catalog.relation(key.table) else { continue };
        let found = ReferencedKey { index: key.index, columns: key.columns.to_vec() };
        let operators =
            found.operators(&changed, &own.columns, (referenced, &own.name), &catalog)?;
        let kind =
            ConstraintKind::ForeignKey(Arc::new(ForeignKey { operators, ..(**key).clone() }));
        changed.constraints[at].kind = kind;
        ctx.put(changed.clone())?;
        if !own.not_valid {
            rows::check(ctx, &Arc::new(changed), &own)?;
        }
    }
    Ok(())
}

/// The tables of a TRUNCATE. CASCADE adds the tables that refer to one of them. Without it, such a
/// table makes the statement fail with 0A000 (heap_truncate_check_FKs).
pub(in super::super) fn truncated(
    ctx: &mut DdlContext<'_>,
    tables: Vec<Arc<Relation>>,
    (behavior, notices): (DropBehavior, bool),
) -> Result<Vec<Arc<Relation>>> {
    let mut tables = tables;
    let mut at = 0;
    while at < tables.len() {
        let table = Arc::clone(&tables[at]);
        at += 1;
        let mut above = Some(table.oid);
        let mut referencing: Vec<Arc<Relation>> = Vec::new();
        let catalog = ctx.catalog();
        while let Some(oid) = above {
            referencing.extend(catalog.referencing(oid).into_iter().map(|by| by.table.clone()));
            let of = catalog.relation(oid).and_then(|table| table.partition_of.as_ref());
            above = of.map(|of| of.parent);
        }
        referencing.retain(|by| !tables.iter().any(|known| known.oid == by.oid));
        referencing.sort_unstable_by_key(|by| by.oid);
        referencing.dedup_by_key(|by| by.oid);
        // A partition has a notice of its own, though it is truncated with its parent.
        for by in referencing {
            if behavior == DropBehavior::Restrict {
                let (name, other) = (&table.name, &by.name);
                let message = "cannot truncate a table referenced in a foreign key constraint";
                return Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, message)
                    .detail(format!("Table \"{other}\" references \"{name}\"."))
                    .hint(format!(
                        "Truncate table \"{other}\" at the same time, or use TRUNCATE ... CASCADE."
                    )));
            }
            if notices {
                ctx.notice(format!("truncate cascades to table \"{}\"", by.name));
            }
            let by = ctx.lock_current(by.oid, RelationLockMode::AccessExclusive)?;
            let catalog = ctx.catalog();
            for below in catalog.descendants(&by) {
                if by.kind != RelKind::PartitionedTable && below.oid != by.oid {
                    continue;
                }
                if !tables.iter().any(|known| known.oid == below.oid) {
                    ctx.lock(below.oid, RelationLockMode::AccessExclusive)?;
                    tables.push(below);
                }
            }
        }
    }
    Ok(tables)
}

/// \[NOT\] DEFERRABLE and INITIALLY DEFERRED as written.
pub(in super::super) fn deferral_of(
    deferrable: Option<bool>,
    initially_deferred: bool,
) -> Option<Deferral> {
    Some(match (deferrable?, initially_deferred) {
        (_, true) => Deferral::InitiallyDeferred,
        (true, false) => Deferral::InitiallyImmediate,
        (false, false) => Deferral::NotDeferrable,
    })
}
