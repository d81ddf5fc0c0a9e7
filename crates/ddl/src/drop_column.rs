//! DROP COLUMN, from a table and from what inherits from it.
//!
//! The column keeps its position and is marked as dropped. Indexes and constraints over it are
//! dropped.

use super::alter::{Reach, Scope, column_position};
use super::depend;
use super::inherit::invalid_table;
use super::{DdlContext, create_statistics, drop, index, partition, types};
use std::sync::Arc;
use steppe_catalog::objects::Object;
use steppe_catalog::{Relation, Shared};
use steppe_sql::ast::DropBehavior;
use steppe_sql::bind::is_system_column;
use steppe_txn::RelationLockMode;
use steppe_types::{Error, Oid, Result, SqlState};

/// `DROP COLUMN [IF EXISTS] name [CASCADE]`.
#[derive(Clone, Copy)]
pub(super) struct DropColumn<'a> {
    pub(super) name: &'a str,
    pub(super) behavior: DropBehavior,
    pub(super) if_exists: bool,
}

/// DROP COLUMN [IF EXISTS].
pub(super) fn drop_column(
    ctx: &mut DdlContext<'_>,
    table: Relation,
    column: DropColumn<'_>,
    scope: Scope,
) -> Result<()> {
    let DropColumn { name, behavior, if_exists } = column;
    let Some(position) = table.column_index(name) else {
        if is_system_column(name) {
            let message = format!("cannot drop system column \"{name}\"");
            return Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, message));
        }
        let missing = column_position(&table, name).map(drop);
        return missing.or_else(|missing| ctx.skip_missing(if_exists, missing));
    };
    if table.inherit_count(position) > 0 && !scope.recursing {
        return Err(invalid_table(format!("cannot drop inherited column \"{name}\"")));
    }
    types::check_not_stored(ctx, &table)?;
    let attnum = position as i16 + 1;
    if partition::key_reads(ctx, &table, attnum)? {
        return Err(invalid_table(format!(
            "cannot drop column \"{name}\" because it is part of the partition key of relation \
             \"{}\"",
            table.name
        )));
    }
    if !scope.recursing {
        let mut roots = Vec::new();
        lost_with(ctx, &table, position, scope.reach, &mut roots)?;
        let dependents = depend::dependents(ctx, &roots, behavior)?;
        drop::drop_dependents(ctx, &dependents)?;
    }
    let oid = table.oid;
    remove(ctx, oid, attnum)?;
    for child in partition::children(ctx, oid)? {
        let child = ctx.lock_current(child.oid, RelationLockMode::AccessExclusive)?;
        let column = DropColumn { if_exists: false, ..column };
        drop_from_child(ctx, (*child).clone(), column, scope.reach)?;
    }
    Ok(())
}

/// A column and the columns that children lose with it, the children's first.
fn lost_with(
    ctx: &mut DdlContext<'_>,
    table: &Relation,
    position: usize,
    reach: Reach,
    lost: &mut Vec<Object>,
) -> Result<()> {
    let below = match reach.is_only() {
        true => Vec::new(),
        false => partition::children(ctx, table.oid)?,
    };
    for child in below {
        let child = ctx.lock_current(child.oid, RelationLockMode::AccessExclusive)?;
        let at = child.column_index(&table.columns[position].name);
        if let Some(at) = at.filter(|at| is_lost(&child, *at)) {
            lost_with(ctx, &child, at, reach, lost)?;
        }
    }
    lost.push(Object::Column(table.oid, position as i16 + 1));
    Ok(())
}

/// Whether a child has a column from one parent alone.
fn is_lost(child: &Relation, position: usize) -> bool {
    child.inherit_count(position) == 1 && !child.is_local(position)
}

/// A child loses its parent's column, unless it has it from elsewhere or, since only the parent
/// loses it, keeps it as its own.
fn drop_from_child(
    ctx: &mut DdlContext<'_>,
    child: Relation,
    column: DropColumn<'_>,
    reach: Reach,
) -> Result<()> {
    let name = column.name;
    let Some(position) = child.column_index(name) else {
        return Err(Error::internal(format!("\"{}\" has not inherited \"{name}\"", child.name)));
    };
    if !reach.is_only() && is_lost(&child, position) {
        let scope = Scope { reach, recursing: true };
        return drop_column(ctx, child, column, scope);
    }
    let mut child = child;
    let column = &mut child.columns[position];
    column.inherit_count -= 1;
    column.local |= reach.is_only();
    ctx.put(child)
}

/// Marks a column as dropped, and drops its indexes, constraints and sequences.
pub(super) fn remove(ctx: &mut DdlContext<'_>, table: Oid, attnum: i16) -> Result<()> {
    let position = attnum as usize - 1;
    let catalog = ctx.catalog();
    // The table, or the column itself, may have been dropped already.
    let Some(shared) = catalog.relation(table) else { return Ok(()) };
    if shared.columns[position].dropped {
        return Ok(());
    }
    let mut indexes: Vec<Arc<Relation>> = Vec::new();
    for index in catalog.indexes_of(shared) {
        if index::depends_on(&catalog, shared, index, attnum)? {
            indexes.push(index.clone());
        }
    }
    let mut kept = shared.extended.clone();
    for object in shared.extended.iter() {
        if create_statistics::depends_on(&catalog, shared, object, attnum)? {
            kept.retain(|other| other.oid != object.oid);
        }
    }
    let mut table = (**shared).clone();
    table.constraints.retain(|c| !c.columns.contains(&attnum));
    mark(&mut table, attnum);
    if !table.extended.is_empty() {
        table.extended = kept;
    }
    if let Some(known) = &mut table.statistics {
        Arc::make_mut(known).forget(position);
    }
    ctx.put(table)?;
    for index in indexes {
        drop::drop_relation(ctx, index)?;
    }
    drop_sequences(ctx, shared.oid, attnum)
}

/// Marks a column as dropped.
pub(super) fn mark(table: &mut Relation, attnum: i16) {
    let position = attnum as usize - 1;
    let column = &mut table.columns[position];
    column.name = format!("........pg.dropped.{attnum}........").into();
    column.dropped = true;
    column.not_null = false;
    column.default = None;
    (column.generated, column.is_virtual) = (false, false);
    column.identity = None;
    column.options = Shared::default();
    (column.inherit_count, column.local) = (0, true);
}

fn drop_sequences(ctx: &mut DdlContext<'_>, table: Oid, attnum: i16) -> Result<()> {
    let catalog = ctx.catalog();
    let is_owned =
        |r: &&Arc<Relation>| r.sequence.as_ref().and_then(|s| s.owned_by) == Some((table, attnum));
    for sequence in catalog.referrers(table).filter(is_owned) {
        drop::drop_relation(ctx, sequence.clone())?;
    }
    Ok(())
}
