//! DROP CONSTRAINT, of a table and of what inherits from it.

use super::alter::{Reach, Scope, no_constraint};
use super::depend;
use super::inherit::invalid_table;
use super::{DdlContext, drop, not_null, partition, trigger};
use steppe_catalog::objects::Object;
use steppe_catalog::{Constraint, Relation};
use steppe_sql::ast::DropBehavior;
use steppe_txn::RelationLockMode;
use steppe_types::Result;

/// A dependent object prevents the drop of a constraint; with CASCADE it is dropped first.
pub(super) fn drop_dependents_of(
    ctx: &mut DdlContext<'_>,
    table: &Relation,
    name: &str,
    behavior: DropBehavior,
) -> Result<()> {
    let Some(constraint) = table.constraints.iter().find(|c| *c.name == *name) else {
        return Ok(());
    };
    let root = Object::Constraint(table.oid, constraint.oid);
    let dependents = depend::dependents(ctx, &[root], behavior)?;
    drop::drop_dependents(ctx, &dependents)
}

/// `DROP CONSTRAINT [IF EXISTS] name`, once its dependents have been dropped.
#[derive(Clone, Copy)]
pub(super) struct DropConstraint<'a> {
    pub(super) name: &'a str,
    pub(super) if_exists: bool,
}

/// DROP CONSTRAINT.
pub(super) fn drop_constraint(
    ctx: &mut DdlContext<'_>,
    table: Relation,
    dropped: DropConstraint<'_>,
    scope: Scope,
) -> Result<()> {
    let DropConstraint { name, if_exists } = dropped;
    let Some(at) = table.constraints.iter().position(|c| *c.name == *name) else {
        trigger::check_is_no_trigger(ctx, &table, name)?;
        return ctx.skip_missing(if_exists, no_constraint(&table, name));
    };
    let mut table = table;
    let constraint = table.constraints.remove(at);
    if constraint.is_inherited() && !scope.recursing {
        return Err(invalid_table(format!(
            "cannot drop inherited constraint \"{name}\" of relation \"{}\"",
            table.name
        )));
    }
    if let Some(key) = constraint.foreign_key().filter(|key| key.table != table.oid) {
        let referenced = ctx.lock_current(key.table, RelationLockMode::AccessExclusive)?;
        ctx.check_not_in_use(&referenced, "ALTER TABLE")?;
    }
    if let Some(position) = constraint.not_null_column() {
        not_null::check_droppable(&table, position)?;
        table.columns[position].not_null = false;
    }
    for child in partition::children(ctx, table.oid)? {
        let child = ctx.lock_current(child.oid, RelationLockMode::AccessExclusive)?;
        let theirs = ConstraintOf { table: &table, constraint: &constraint };
        drop_from_child(ctx, &child, theirs, scope.reach)?;
    }
    ctx.put(table)?;
    if let Some(index) = constraint.index() {
        let catalog = ctx.catalog();
        if let Some(index) = catalog.relation(index) {
            drop::drop_relation(ctx, index.clone())?;
        }
    }
    Ok(())
}

/// A constraint and its table.
struct ConstraintOf<'a> {
    table: &'a Relation,
    constraint: &'a Constraint,
}

/// A child loses a constraint of its parent's, unless it has it from elsewhere or, since only the
/// parent loses it, keeps it as its own.
fn drop_from_child(
    ctx: &mut DdlContext<'_>,
    child: &Relation,
    of_parent: ConstraintOf<'_>,
    reach: Reach,
) -> Result<()> {
    let ConstraintOf { table: parent, constraint: theirs } = of_parent;
    let belongs = |own: &Constraint| match own.parent {
        0 => own.is_inherited() && own.name == theirs.name && own.not_null_column().is_none(),
        parent => parent == theirs.oid,
    };
    let at = match theirs.not_null_column() {
        // It may have another name there.
        Some(position) => {
            let place = partition::attnum_in(child, parent, position)? as usize - 1;
            child.not_null_constraint(place)
        }
        None => child.constraints.iter().position(belongs),
    };
    let Some(at) = at.filter(|_| !theirs.no_inherit) else { return Ok(()) };
    let mut child = child.clone();
    let own = &mut child.constraints[at];
    if !reach.is_only() && own.inherit_count == 1 && !own.local {
        let (name, scope) = (own.name.clone(), Scope { reach, recursing: true });
        let dropped = DropConstraint { name: &name, if_exists: false };
        return drop_constraint(ctx, child, dropped, scope);
    }
    own.inherit_count -= 1;
    own.local |= reach.is_only() && own.inherit_count == 0;
    ctx.put(child)
}
