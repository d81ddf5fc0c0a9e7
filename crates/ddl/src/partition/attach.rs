//! ATTACH PARTITION, of tables and of indexes.
//!
//! A table that is attached must look like a partition already: the parent's columns with their
//! types and NOT NULL, its CHECK constraints, and rows within the bound. Indexes that it lacks
//! are made; those it has are taken over.

use super::super::open::system_catalog;
use super::super::{DdlContext, foreign_key, identity, index, inherit, trigger};
use super::bound::check_rows;
use super::{attnum_in, check_default_partition, check_persistence, inherit_indexes, partition_of};
use std::sync::Arc;
use steppe_catalog::system::kind_of_relations;
use steppe_catalog::{Constraint, ConstraintKind, IndexInfo, PartitionOf, RelKind, Relation};
use steppe_sql::ast::{self, RangeVar};
use steppe_txn::RelationLockMode;
use steppe_types::{Error, Oid, Result, SqlState};

/// ALTER TABLE … ATTACH PARTITION.
pub(crate) fn attach(
    ctx: &mut DdlContext<'_>,
    parent: Relation,
    name: &RangeVar,
    written: &ast::PartitionBound,
) -> Result<()> {
    let table = ctx.open(name, RelationLockMode::AccessExclusive)?;
    match table.kind {
        RelKind::Table | RelKind::PartitionedTable => {}
        RelKind::Virtual => return Err(system_catalog(&table)),
        _ => return Err(wrong_kind(&table, "ATTACH PARTITION")),
    }
    table.refuse_distributed("ATTACH PARTITION")?;
    if table.partition_of.is_some() {
        return Err(wrong_type(format!("\"{}\" is already a partition", table.name)));
    }
    if !table.inherits.is_empty() {
        return Err(wrong_type("cannot attach inheritance child as partition"));
    }
    if table.kind != RelKind::PartitionedTable && ctx.catalog().children(table.oid).next().is_some()
    {
        return Err(wrong_type("cannot attach inheritance parent as partition"));
    }
    if is_below(ctx, &parent, table.oid) {
        return Err(Error::new(SqlState::DUPLICATE_TABLE, "circular inheritance not allowed")
            .detail(format!("\"{}\" is already a child of \"{}\".", parent.name, table.name)));
    }
    check_persistence(ctx, &parent, &table, "attach")?;
    check_columns(&parent, &table)?;
    trigger::check_child(&table, true)?;
    let mut partition = (*table).clone();
    let of = partition_of(ctx, &parent, &partition, written)?;
    adopt_constraints(&parent, &mut partition)?;
    identity::share(&parent, &mut partition)?;
    partition.partition_of = Some(of);
    let oid = partition.oid;
    ctx.put(partition)?;
    let catalog = ctx.catalog();
    let partition = catalog.relation(oid).ok_or_else(|| Error::internal("table has gone"))?;
    check_path(ctx, parent.clone(), partition)?;
    check_default_partition(ctx, &parent, |_, leaf| leaf)?;
    inherit_indexes(ctx, &parent, oid)?;
    trigger::clone_to_partition(ctx, &parent, oid)?;
    let mut table = (*ctx.lock_current(oid, RelationLockMode::AccessExclusive)?).clone();
    foreign_key::attach(ctx, &parent, &mut table)
}

/// The rows of a new partition belong there by the bounds of all levels.
fn check_path(ctx: &mut DdlContext<'_>, parent: Relation, partition: &Arc<Relation>) -> Result<()> {
    let catalog = ctx.catalog();
    let mut levels = vec![(parent, partition.oid)];
    while let Some((below, Some(of))) = levels.last().map(|(at, _)| (at.oid, &at.partition_of)) {
        let above = catalog.relation(of.parent);
        let above = above.ok_or_else(|| Error::internal("a parent has gone"))?;
        levels.push(((**above).clone(), below));
    }
    check_rows(ctx, partition, &levels, &|leaf| {
        let name = &leaf.name;
        let message =
            format!("partition constraint of relation \"{name}\" is violated by some row");
        Error::new(SqlState::CHECK_VIOLATION, message)
    })
}

/// Whether `table` is `ancestor` or a partition somewhere below it.
fn is_below(ctx: &mut DdlContext<'_>, table: &Relation, ancestor: Oid) -> bool {
    let catalog = ctx.catalog();
    let mut at = Some(table.oid);
    while let Some(oid) = at {
        if oid == ancestor {
            return true;
        }
        let of = catalog.relation(oid).and_then(|relation| relation.partition_of.as_ref());
        at = of.map(|of| of.parent);
    }
    false
}

/// The same columns, in any order (MergeAttributesIntoExisting).
fn check_columns(parent: &Relation, table: &Relation) -> Result<()> {
    for column in table.columns.iter().filter(|column| !column.dropped) {
        if column.identity.is_some() {
            return Err(Error::new(
                SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE,
                format!(
                    "table \"{}\" being attached contains an identity column \"{}\"",
                    table.name, column.name
                ),
            )
            .detail("The new partition may not contain an identity column."));
        }
        if parent.column_index(&column.name).is_none() {
            return Err(mismatch(format!(
                "table \"{}\" contains column \"{}\" not found in parent \"{}\"",
                table.name, column.name, parent.name
            ))
            .detail("The new partition may contain only the columns present in parent."));
        }
    }
    let mut live = parent.columns.iter().enumerate().filter(|(_, column)| !column.dropped);
    live.try_for_each(|(at, _)| inherit::matching_column(table, parent, at).map(drop))
}

/// The parent's CHECK and NOT NULL constraints, which the table must have, are the parent's from
/// now on (MergeConstraintsIntoExisting).
pub(crate) fn adopt_constraints(parent: &Relation, table: &mut Relation) -> Result<()> {
    let is_partition = parent.partition_key.is_some();
    for constraint in parent.constraints.iter().filter(|theirs| !theirs.no_inherit) {
        let at = match constraint.kind {
            ConstraintKind::Check { .. } => own_check(table, constraint)?,
            ConstraintKind::NotNull => own_not_null(table, parent, constraint)?,
            ConstraintKind::Primary { .. }
            | ConstraintKind::Unique { .. }
            | ConstraintKind::ForeignKey(_) => continue,
        };
        let own = &mut table.constraints[at];
        let conflicts = |with: &str| {
            let message = format!("constraint \"{}\" conflicts with {with} constraint", own.name);
            let message = format!("{message} on child table \"{}\"", table.name);
            Err(Error::new(SqlState::INVALID_OBJECT_DEFINITION, message))
        };
        if own.no_inherit {
            return conflicts("non-inherited");
        }
        if own.not_valid && !constraint.not_valid {
            return conflicts("NOT VALID");
        }
        own.inherit_count += 1;
        own.local &= !is_partition;
    }
    Ok(())
}

/// Where a table has its parent-to-be's CHECK: 42804 if it has not.
fn own_check(table: &Relation, theirs: &Constraint) -> Result<usize> {
    let at = table.constraints.iter().position(|own| own.name == theirs.name);
    let Some(at) = at else {
        return Err(mismatch(format!("child table is missing constraint \"{}\"", theirs.name)));
    };
    if table.constraints[at].kind != theirs.kind {
        return Err(mismatch(format!(
            "child table \"{}\" has different definition for check constraint \"{}\"",
            table.name, theirs.name
        )));
    }
    Ok(at)
}

/// Where a table has its parent-to-be's NOT NULL, which [`inherit::matching_column`] has seen to.
fn own_not_null(table: &Relation, parent: &Relation, theirs: &Constraint) -> Result<usize> {
    let position = theirs.not_null_column();
    let place = position.map(|position| attnum_in(table, parent, position)).transpose()?;
    let found = place.and_then(|attnum| table.not_null_constraint(attnum as usize - 1));
    found.ok_or_else(|| Error::internal("NOT NULL without a constraint"))
}

/// ALTER INDEX … ATTACH PARTITION.
pub(crate) fn attach_index(
    ctx: &mut DdlContext<'_>,
    parent: &Relation,
    name: &RangeVar,
) -> Result<()> {
    match parent.kind {
        RelKind::PartitionedIndex => {}
        RelKind::Index => return Err(wrong_kind(parent, "ATTACH PARTITION")),
        _ => return Err(wrong_type(format!("\"{}\" is not an index", parent.name))),
    }
    let own = ctx.open(name, RelationLockMode::AccessExclusive)?;
    let (Some(info), Some(parent_info)) = (&own.index, &parent.index) else {
        let message = format!("\"{}\" is not an index", own.name);
        return Err(Error::new(SqlState::INVALID_OBJECT_DEFINITION, message));
    };
    if own.partition_of.as_ref().is_some_and(|of| of.parent == parent.oid) {
        return Ok(());
    }
    let message =
        format!("cannot attach index \"{}\" as a partition of index \"{}\"", own.name, parent.name);
    let refused = |detail: String| {
        let state = SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE;
        Err(Error::new(state, message.clone()).detail(detail))
    };
    let differs = |detail: String| {
        let state = SqlState::INVALID_OBJECT_DEFINITION;
        Err(Error::new(state, message.clone()).detail(detail))
    };
    let catalog = ctx.catalog();
    let (Some(table), Some(parent_table)) =
        (catalog.relation(info.table), catalog.relation(parent_info.table))
    else {
        return Err(Error::internal("an index's table has gone"));
    };
    for sibling in catalog.children(parent.oid) {
        let sibling = catalog.relation(sibling).and_then(|index| index.index.as_ref());
        if sibling.is_some_and(|sibling| sibling.table == table.oid) {
            let detail =
                format!("Another index is already attached for partition \"{}\".", table.name);
            return refused(detail);
        }
    }
    if own.partition_of.is_some() {
        return refused(format!("Index \"{}\" is already attached to another index.", own.name));
    }
    if table.partition_of.as_ref().is_none_or(|of| of.parent != parent_table.oid) {
        return refused(format!(
            "Index \"{}\" is not an index on any partition of table \"{}\".",
            own.name, parent_table.name
        ));
    }
    if !is_counterpart(parent_table, parent_info, table, info)? {
        return differs("The index definitions do not match.".into());
    }
    if index::constraint_of(parent_table, parent.oid).is_some()
        && index::constraint_of(table, own.oid).is_none()
    {
        return differs(format!(
            "The index \"{}\" belongs to a constraint in table \"{}\" but no constraint exists for \
             index \"{}\".",
            parent.name, parent_table.name, own.name
        ));
    }
    take_over(ctx, parent, parent_table, &own, table)
}

/// Whether a partition's index is what its parent's is (CompareIndexInfo).
pub(super) fn is_counterpart(
    parent: &Relation,
    parent_info: &IndexInfo,
    table: &Relation,
    info: &IndexInfo,
) -> Result<bool> {
    if info.unique != parent_info.unique
        || info.nulls_not_distinct != parent_info.nulls_not_distinct
        || info.predicate != parent_info.predicate
        || info.keys.len() != parent_info.keys.len()
        || info.include.len() != parent_info.include.len()
    {
        return Ok(false);
    }
    let moved = |attnum: i16| match attnum {
        0 => Ok(0),
        attnum => attnum_in(table, parent, attnum as usize - 1),
    };
    // ASC and DESC may differ (CompareIndexInfo).
    for (own, model) in info.keys.iter().zip(&parent_info.keys) {
        let same = own.attnum == moved(model.attnum)?
            && own.expression == model.expression
            && own.opclass == model.opclass
            && own.collation(table) == model.collation(parent);
        if !same {
            return Ok(false);
        }
    }
    for (own, model) in info.include.iter().zip(&parent_info.include) {
        if *own != moved(*model)? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Makes a partition's own index, and the constraint on it, the parent's.
pub(super) fn take_over(
    ctx: &mut DdlContext<'_>,
    parent_index: &Relation,
    parent: &Relation,
    own: &Arc<Relation>,
    table: &Arc<Relation>,
) -> Result<()> {
    let of = PartitionOf { parent: parent_index.oid, bound: None, detach_pending: false };
    ctx.put(Relation { partition_of: Some(of), ..(**own).clone() })?;
    let serves = |c: &&Constraint, oid: Oid| c.index() == Some(oid);
    let Some(model) = parent.constraints.iter().find(|c| serves(c, parent_index.oid)) else {
        return Ok(());
    };
    let mut table = (**table).clone();
    for constraint in &mut table.constraints {
        if serves(&&*constraint, own.oid) {
            (constraint.inherit_count, constraint.local) = (1, false);
            constraint.parent = model.oid;
        }
    }
    ctx.put(table)
}

/// The indexes of a partition that may become parts of its parent's.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Counterparts {
    All,
    /// Those of which no part is missing.
    Valid,
}

/// An index of the partition that matches the parent's and is not attached yet.
pub(super) fn find_counterpart(
    ctx: &mut DdlContext<'_>,
    parent: &Relation,
    parent_index: &Relation,
    table: &Relation,
    of: Counterparts,
) -> Result<Option<Arc<Relation>>> {
    let Some(parent_info) = &parent_index.index else { return Ok(None) };
    let wants_constraint = index::constraint_of(parent, parent_index.oid).is_some();
    let catalog = ctx.catalog();
    for own in catalog.indexes_of(table) {
        let Some(info) = own.index.as_ref().filter(|_| own.partition_of.is_none()) else {
            continue;
        };
        let serves = index::constraint_of(table, own.oid).is_some();
        if (of == Counterparts::All || catalog.is_valid_index(own))
            && info.primary == parent_info.primary
            && (serves || !wants_constraint)
            && is_counterpart(parent, parent_info, table, info)?
        {
            return Ok(Some(own.clone()));
        }
    }
    Ok(None)
}

fn wrong_type(message: impl Into<String>) -> Error {
    Error::new(SqlState::WRONG_OBJECT_TYPE, message)
}

fn mismatch(message: impl Into<String>) -> Error {
    Error::new(SqlState::DATATYPE_MISMATCH, message)
}

/// 42809 for ATTACH and DETACH PARTITION of what is not partitioned.
pub(crate) fn require_partitioned(table: &Relation, action: &str) -> Result<()> {
    match table.kind {
        RelKind::PartitionedTable => Ok(()),
        _ => Err(wrong_kind(table, action)),
    }
}

/// 42809: no action for such a kind of relation.
pub(crate) fn wrong_kind(table: &Relation, action: &str) -> Error {
    let kind = kind_of_relations(table);
    wrong_type(format!("ALTER action {action} cannot be performed on relation \"{}\"", table.name))
        .detail(format!("This operation is not supported for {kind}."))
}
