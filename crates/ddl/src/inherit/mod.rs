//! Inheritance: tables that have other tables' columns and constraints, and whose rows are among
//! theirs (tablecmds.c).
//!
//! `create` is about INHERITS, and `alter` about INHERIT and NO INHERIT of ALTER TABLE.
//!
//! A column or constraint counts the parents that it comes from, and is the table's own besides
//! if its definition has it: what a parent loses, a child loses unless it has it from elsewhere.
//! A partition inherits too, from its one parent and everything.

mod alter;
mod create;

pub(super) use alter::{add_parent, matching_column, remove_parent};
pub(super) use create::{
    Merged, check_generation, check_written_once, merge_checks, parents_of_new,
};

use super::{DdlContext, partition};
use std::sync::Arc;
use steppe_catalog::{Column, RelKind, Relation, Shared};
use steppe_sql::bind::typename::format_type;
use steppe_txn::RelationLockMode;
use steppe_types::{Error, Oid, Result, SqlState};

/// 42P16
pub(super) fn invalid_table(message: impl Into<String>) -> Error {
    Error::new(SqlState::INVALID_TABLE_DEFINITION, message)
}

fn wrong_type(message: impl Into<String>) -> Error {
    Error::new(SqlState::WRONG_OBJECT_TYPE, message)
}

fn more_than_once(parent: &Relation) -> Error {
    Error::new(
        SqlState::DUPLICATE_TABLE,
        format!("relation \"{}\" would be inherited from more than once", parent.name),
    )
}

/// A table that inherits from another, however far below it.
pub(super) struct Inheritor {
    pub(super) table: Arc<Relation>,
    /// How many of its parents are the other one or inherit from it.
    pub(super) parents: i16,
}

/// The tables that inherit from a table and its partitions, level by level, locked.
pub(super) fn inheritors(ctx: &mut DdlContext<'_>, table: Oid) -> Result<Vec<Inheritor>> {
    let mut found: Vec<Inheritor> = Vec::new();
    let (mut parent, mut at) = (table, 0);
    loop {
        for child in partition::children(ctx, parent)? {
            match found.iter_mut().find(|known| known.table.oid == child.oid) {
                Some(known) => known.parents += 1,
                None => {
                    let mode = RelationLockMode::AccessExclusive;
                    ctx.lock(child.oid, mode)?;
                    found.push(Inheritor { table: child, parents: 1 });
                }
            }
        }
        let Some(next) = found.get(at) else { return Ok(found) };
        (parent, at) = (next.table.oid, at + 1);
    }
}

/// Whether a child's column is of its parent's type, 42804, and collation, 42P21.
pub(super) fn check_same_type(child: &Relation, own: &Column, column: &Column) -> Result<()> {
    let (state, what) = if own.declared_type() != column.declared_type() {
        (SqlState::DATATYPE_MISMATCH, "type")
    } else if own.collation != column.collation {
        (SqlState::COLLATION_MISMATCH, "collation")
    } else {
        return Ok(());
    };
    let (child, column) = (&child.name, &column.name);
    let message = format!("child table \"{child}\" has different {what} for column \"{column}\"");
    Err(Error::new(state, message))
}

/// The column that a child inherits from one parent, without NOT NULL. Only partitions inherit an
/// identity.
pub(super) fn inherited_column(column: &Column, is_partition: bool) -> Column {
    let mut own = Column {
        not_null: false,
        missing: None,
        comment: None,
        statistics: None,
        options: Shared::default(),
        ..column.clone()
    };
    if is_partition {
        (own.inherit_count, own.local) = (0, true);
        return own;
    }
    (own.inherit_count, own.local) = (1, false);
    if own.identity.take().is_some() {
        own.default = None;
    }
    own
}

/// `integer versus bigint`
fn versus(a: &Column, b: &Column) -> String {
    let [a, b] = [a, b].map(|column| format_type(column.type_oid, column.typmod));
    format!("{a} versus {b}")
}

/// Whether a table may be inherited from by one that is temporary or not: 42809.
fn check_parent(
    ctx: &mut DdlContext<'_>,
    parent: &Relation,
    child_is_temporary: bool,
    partition: &str,
) -> Result<()> {
    if ctx.catalog().is_temporary(parent) && !child_is_temporary {
        let message = format!("cannot inherit from temporary relation \"{}\"", parent.name);
        return Err(wrong_type(message));
    }
    if parent.kind == RelKind::PartitionedTable && parent.partition_of.is_none() {
        let message = format!("cannot inherit from partitioned table \"{}\"", parent.name);
        return Err(wrong_type(message));
    }
    if parent.partition_of.is_some() {
        return Err(wrong_type(format!("cannot inherit from {partition}")));
    }
    Ok(())
}
