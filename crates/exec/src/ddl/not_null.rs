//! NOT NULL constraints that have names, and how they and columns that are NOT NULL without one
//! go down to what inherits from a table.
//!
//! A column is NOT NULL by its mark. A constraint of the column gives that a name, and counts the
//! parents whose column is NOT NULL, too, as far as they were so when it met them. A column has
//! one such constraint at most; a child's has the name that the child gave it, or its parent's.

use super::alter::{Scope, column_position, drop_constraint};
use super::constraint::set_not_null;
use super::{DdlContext, partition};
use steppe_catalog::{Catalog, Constraint, ConstraintKind, Relation};
use steppe_txn::RelationLockMode;
use steppe_types::{Error, Result, SqlState};

/// Where a table has the constraint that names a column's NOT NULL.
pub(super) fn named(table: &Relation, attnum: i16) -> Option<usize> {
    let is_of_column = |c: &Constraint| c.kind == ConstraintKind::NotNull && c.columns == [attnum];
    table.constraints.iter().position(is_of_column)
}

/// The parents of a table that have a column, too, as NOT NULL, and where they have it.
fn parents_with<'c>(
    catalog: &'c Catalog,
    table: &Relation,
    position: usize,
) -> impl Iterator<Item = (&'c Relation, usize)> {
    let name = table.columns[position].name.clone();
    table.parents().filter_map(move |parent| {
        let parent = catalog.relation(parent)?;
        let at = parent.column_index(&name).filter(|at| parent.columns[*at].not_null)?;
        Some((&**parent, at))
    })
}

/// The name of the constraint that makes a column NOT NULL in a parent.
pub(super) fn of_parent(catalog: &Catalog, table: &Relation, position: usize) -> Option<String> {
    let (parent, at) = parents_with(catalog, table, position).next()?;
    if let Some(named) = named(parent, at as i16 + 1) {
        return Some(parent.constraints[named].name.to_string());
    }
    of_parent(catalog, parent, at).or_else(|| Some(default_name(parent, at)))
}

/// What PostgreSQL calls the constraint that got no name.
fn default_name(table: &Relation, position: usize) -> String {
    format!("{}_{}_not_null", table.name, table.columns[position].name)
}

/// `[CONSTRAINT name] NOT NULL column` of ALTER TABLE, here and, if it `goes_down`, below.
pub(super) fn add(
    ctx: &mut DdlContext<'_>,
    relation: Relation,
    (name, column): (Option<&str>, &str),
    goes_down: bool,
) -> Result<Relation> {
    let position = existing_column(&relation, column)?;
    let attnum = position as i16 + 1;
    let Some(name) = name else { return set_not_null(ctx, relation, &[attnum], goes_down) };
    let existing = match named(&relation, attnum) {
        Some(at) => Some(relation.constraints[at].name.to_string()),
        None => relation.columns[position].not_null.then(|| default_name(&relation, position)),
    };
    match existing {
        Some(existing) if existing != name => Err(Error::new(
            SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE,
            format!(
                "cannot create not-null constraint \"{name}\" on column \"{column}\" of table \"{}\"",
                relation.name
            ),
        )
        .detail(format!(
            "A not-null constraint named \"{existing}\" already exists for this column."
        ))),
        _ => add_named(ctx, relation, (name, position), goes_down, false),
    }
}

/// 42703 for a column that is not there.
pub(super) fn existing_column(relation: &Relation, column: &str) -> Result<usize> {
    relation.column_index(column).ok_or_else(|| {
        let message =
            format!("column \"{column}\" of relation \"{}\" does not exist", relation.name);
        Error::new(SqlState::UNDEFINED_COLUMN, message)
    })
}

fn add_named(
    ctx: &mut DdlContext<'_>,
    relation: Relation,
    (name, position): (&str, usize),
    goes_down: bool,
    inherited: bool,
) -> Result<Relation> {
    let attnum = position as i16 + 1;
    let was_marked = relation.columns[position].not_null;
    let mut relation = set_not_null(ctx, relation, &[attnum], false)?;
    if let Some(at) = named(&relation, attnum) {
        let own = &mut relation.constraints[at];
        match inherited {
            true => own.inherit_count += 1,
            false => own.local = true,
        }
        ctx.put(relation.clone())?;
        return Ok(relation);
    }
    // What was NOT NULL without a name goes on so: it is the table's own.
    if !(inherited && was_marked) {
        let own = new_constraint(ctx, &relation, name, attnum)?;
        relation.constraints.push(if inherited { own.inherited() } else { own });
        ctx.put(relation.clone())?;
    }
    let children = if goes_down { partition::children(ctx, relation.oid)? } else { Vec::new() };
    for child in children {
        let child = ctx.lock_current(child.oid, RelationLockMode::AccessExclusive)?;
        let place = partition::attnum_in(&child, &relation, position)? as usize - 1;
        let done = add_named(ctx, (*child).clone(), (name, place), true, true);
        ctx.naming(&child, done)?;
    }
    Ok(relation)
}

/// The constraint of that name; 42710 if the table has one already.
fn new_constraint(
    ctx: &mut DdlContext<'_>,
    table: &Relation,
    name: &str,
    attnum: i16,
) -> Result<Constraint> {
    if table.constraints.iter().any(|c| *c.name == *name) {
        return Err(Error::new(
            SqlState::DUPLICATE_OBJECT,
            format!("constraint \"{name}\" for relation \"{}\" already exists", table.name),
        ));
    }
    Ok(Constraint::new(ctx.store.new_oid()?, name, ConstraintKind::NotNull, vec![attnum]))
}

/// The name that the definition of a new column gives its NOT NULL, be it inherited or not; 42601
/// if it gave another one before.
pub(super) fn name_written(
    ctx: &mut DdlContext<'_>,
    relation: &mut Relation,
    position: usize,
    name: &str,
) -> Result<()> {
    let attnum = position as i16 + 1;
    let at = named(relation, attnum);
    if let Some(own) = at.map(|at| &relation.constraints[at]).filter(|own| own.local) {
        if *own.name == *name {
            return Ok(());
        }
        let message =
            format!("conflicting not-null constraint names \"{}\" and \"{name}\"", own.name);
        return Err(Error::new(SqlState::SYNTAX_ERROR, message));
    }
    // The parents' constraint, if they name it, is called as it was written here.
    let inherited = at.map(|at| relation.constraints.remove(at));
    let own = new_constraint(ctx, relation, name, attnum)?;
    let inherit_count = match inherited {
        Some(inherited) => inherited.inherit_count,
        None => parents_with(&ctx.catalog(), relation, position).count() as i16,
    };
    relation.constraints.push(Constraint { inherit_count, ..own });
    ctx.put(relation.clone())
}

/// A table that gets a parent: the constraints of its columns that are the parent's, too.
pub(super) fn adopt(parent: &Relation, table: &mut Relation) {
    let is_partition = parent.partition_key.is_some();
    for column in parent.columns.iter().filter(|column| column.not_null && !column.dropped) {
        let position = table.column_index(&column.name);
        let Some(at) = position.and_then(|position| named(table, position as i16 + 1)) else {
            continue;
        };
        let own = &mut table.constraints[at];
        own.inherit_count += 1;
        own.local &= !is_partition;
    }
}

/// DROP NOT NULL.
pub(super) fn drop(
    ctx: &mut DdlContext<'_>,
    table: Relation,
    column: &str,
    only: bool,
) -> Result<()> {
    let position = column_position(&table, column)?;
    refuse_identity(&table, position, SqlState::SYNTAX_ERROR)?;
    let scope = Scope { only, recursing: false };
    match named(&table, position as i16 + 1) {
        Some(at) => {
            let name = table.constraints[at].name.clone();
            drop_constraint(ctx, table, &name, false, scope)
        }
        // Children may be NOT NULL for themselves.
        None if !table.columns[position].not_null => Ok(()),
        None => drop_mark(ctx, table, position, only),
    }
}

/// A column that may be NULL from now on; those of children that were NOT NULL for its sake, too.
fn drop_mark(ctx: &mut DdlContext<'_>, table: Relation, position: usize, only: bool) -> Result<()> {
    check_droppable(&table, position)?;
    let mut table = table;
    table.columns[position].not_null = false;
    ctx.put(table.clone())?;
    drop_below(ctx, &table, position, only)
}

/// A primary key's and an identity's columns stay NOT NULL.
pub(super) fn check_droppable(table: &Relation, position: usize) -> Result<()> {
    let name = &table.columns[position].name;
    if table.primary_key().is_some_and(|k| k.columns.contains(&(position as i16 + 1))) {
        return Err(Error::new(
            SqlState::INVALID_TABLE_DEFINITION,
            format!("column \"{name}\" is in a primary key"),
        ));
    }
    refuse_identity(table, position, SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE)
}

fn refuse_identity(table: &Relation, position: usize, state: SqlState) -> Result<()> {
    let column = &table.columns[position];
    let message =
        format!("column \"{}\" of relation \"{}\" is an identity column", column.name, table.name);
    if column.identity.is_some() { Err(Error::new(state, message)) } else { Ok(()) }
}

/// What the loss of a column's NOT NULL, which the catalog knows of, does to the table's children.
pub(super) fn drop_below(
    ctx: &mut DdlContext<'_>,
    table: &Relation,
    position: usize,
    only: bool,
) -> Result<()> {
    for child in partition::children(ctx, table.oid)? {
        let child = ctx.lock_current(child.oid, RelationLockMode::AccessExclusive)?;
        let place = partition::attnum_in(&child, table, position)? as usize - 1;
        let done = drop_from_child(ctx, (*child).clone(), place, only);
        ctx.naming(&child, done)?;
    }
    Ok(())
}

/// A child keeps what is its own, what another parent has, and all if ONLY the parent loses it.
fn drop_from_child(
    ctx: &mut DdlContext<'_>,
    child: Relation,
    position: usize,
    only: bool,
) -> Result<()> {
    let has_elsewhere = of_parent(&ctx.catalog(), &child, position).is_some();
    let Some(at) = named(&child, position as i16 + 1) else {
        let is_own = child.partition_of.is_none() && child.is_local(position);
        let keeps = only || is_own || has_elsewhere || !child.columns[position].not_null;
        return if keeps { Ok(()) } else { drop_mark(ctx, child, position, false) };
    };
    let mut child = child;
    let own = &mut child.constraints[at];
    if !own.is_inherited() {
        return Ok(());
    }
    if !only && own.inherit_count == 1 && !own.local {
        if has_elsewhere {
            return Ok(());
        }
        let name = own.name.clone();
        return drop_constraint(ctx, child, &name, false, Scope { only, recursing: true });
    }
    own.inherit_count -= 1;
    own.local |= only;
    ctx.put(child)
}
