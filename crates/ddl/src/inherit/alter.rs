//! ALTER TABLE … INHERIT and NO INHERIT.

use super::super::{DdlContext, partition, trigger};
use super::create::of_different_kind;
use super::{check_parent, check_same_type, inheritors, more_than_once, wrong_type};
use steppe_catalog::{Column, Constraint, ConstraintKind, RelKind, Relation};
use steppe_sql::ast::RangeVar;
use steppe_txn::RelationLockMode;
use steppe_types::{Error, Result, SqlState};

/// INHERIT: the table must have the parent's columns and constraints already.
pub(crate) fn add_parent(ctx: &mut DdlContext<'_>, table: Relation, name: &RangeVar) -> Result<()> {
    check_is_no_partition(&table)?;
    if table.kind == RelKind::PartitionedTable {
        return Err(wrong_type("cannot change inheritance of partitioned table"));
    }
    let parent = ctx.open_table(name, RelationLockMode::ShareUpdateExclusive)?;
    parent.refuse_distributed("INHERIT")?;
    trigger::check_child(&table, false)?;
    let is_temporary = ctx.catalog().is_temporary(&table);
    check_parent(ctx, &parent, is_temporary, "a partition")?;
    let is_below = inheritors(ctx, table.oid)?.iter().any(|below| below.table.oid == parent.oid);
    if parent.oid == table.oid || is_below {
        return Err(Error::new(SqlState::DUPLICATE_TABLE, "circular inheritance not allowed")
            .detail(format!("\"{}\" is already a child of \"{}\".", parent.name, table.name)));
    }
    if table.inherits.contains(&parent.oid) {
        return Err(more_than_once(&parent));
    }
    let mut table = table;
    for (position, _) in parent.columns.iter().enumerate().filter(|(_, column)| !column.dropped) {
        let at = matching_column(&table, &parent, position)?;
        table.columns[at].inherit_count += 1;
    }
    partition::adopt_constraints(&parent, &mut table)?;
    table.inherits.push(parent.oid);
    ctx.put(table)
}

/// NO INHERIT: what came from the parent alone is the table's own.
pub(crate) fn remove_parent(
    ctx: &mut DdlContext<'_>,
    table: Relation,
    name: &RangeVar,
) -> Result<()> {
    check_is_no_partition(&table)?;
    let parent = ctx.open(name, RelationLockMode::AccessShare)?;
    if !table.inherits.contains(&parent.oid) {
        return Err(Error::new(
            SqlState::UNDEFINED_TABLE,
            format!("relation \"{}\" is not a parent of relation \"{}\"", parent.name, table.name),
        ));
    }
    let mut table = table;
    table.inherits.retain(|oid| *oid != parent.oid);
    for column in table.columns.iter_mut().filter(|column| column.inherit_count > 0) {
        let is_theirs = |theirs: &Column| !theirs.dropped && theirs.name == column.name;
        if parent.columns.iter().any(is_theirs) {
            column.inherit_count -= 1;
            column.local |= column.inherit_count == 0;
        }
    }
    for own in table.constraints.iter_mut().filter(|own| own.is_inherited()) {
        let is_check = |c: &Constraint| matches!(c.kind, ConstraintKind::Check { .. });
        let is_theirs = match own.kind {
            ConstraintKind::NotNull => own.not_null_column().is_some_and(|position| {
                let at = parent.column_index(&table.columns[position].name);
                at.is_some_and(|at| parent.inheritable_not_null(at).is_some())
            }),
            _ => {
                is_check(own)
                    && parent.constraints.iter().any(|c| c.name == own.name && is_check(c))
            }
        };
        if is_theirs {
            own.inherit_count -= 1;
            own.local |= own.inherit_count == 0;
        }
    }
    ctx.put(table)
}

fn check_is_no_partition(table: &Relation) -> Result<()> {
    match &table.partition_of {
        Some(_) => Err(wrong_type("cannot change inheritance of a partition")),
        None => Ok(()),
    }
}

/// The position of a table's column that is its parent-to-be's: 42804
/// (MergeAttributesIntoExisting).
pub(crate) fn matching_column(
    table: &Relation,
    parent: &Relation,
    position: usize,
) -> Result<usize> {
    let column = &parent.columns[position];
    let name = &column.name;
    let mismatch = |message| Err(Error::new(SqlState::DATATYPE_MISMATCH, message));
    let Some(at) = table.column_index(name) else {
        return mismatch(format!("child table is missing column \"{name}\""));
    };
    let own = &table.columns[at];
    check_same_type(table, own, column)?;
    if !own.not_null && parent.inheritable_not_null(position).is_some() {
        return mismatch(format!(
            "column \"{name}\" in child table \"{}\" must be marked NOT NULL",
            table.name
        ));
    }
    match (column.generated, own.generated) {
        (true, false) => {
            mismatch(format!("column \"{name}\" in child table must be a generated column"))
        }
        (false, true) => {
            mismatch(format!("column \"{name}\" in child table must not be a generated column"))
        }
        _ if column.generation() != own.generation() => {
            Err(of_different_kind(column, SqlState::DATATYPE_MISMATCH))
        }
        _ => Ok(at),
    }
}
