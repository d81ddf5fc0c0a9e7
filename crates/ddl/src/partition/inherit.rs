//! The indexes that a partition has from its parent.

use super::super::index::IndexBuilder;
use super::super::inherit::invalid_table;
use super::super::{DdlContext, NameParts};
use super::attach::{Counterparts, find_counterpart, take_over};
use super::key::check_unique_covers_key;
use super::{attnum_in, children};
use std::sync::Arc;
use steppe_catalog::{Catalog, Constraint, ConstraintKind, IndexKey, RelKind, Relation};
use steppe_counting::progress::{Progress, Utility};
use steppe_txn::RelationLockMode;
use steppe_types::{Error, Oid, Result};

/// Gives a partition that CREATE TABLE makes an index for each that its parent has. The caller puts
/// the partition.
pub(crate) fn index_new_partition(
    ctx: &mut DdlContext<'_>,
    parent: &Relation,
    partition: &mut Relation,
) -> Result<()> {
    for index in &parent.indexes {
        let index = ctx.catalog().relation(*index).cloned();
        let index = index.ok_or_else(|| Error::internal("a parent's index has gone"))?;
        add_part(ctx, parent, &index, partition)?;
    }
    Ok(())
}

/// Gives a table that becomes a partition an index for each that its parent has: its own, or a new
/// one.
pub(crate) fn inherit_indexes(
    ctx: &mut DdlContext<'_>,
    parent: &Relation,
    partition: Oid,
) -> Result<()> {
    for index in &parent.indexes {
        let catalog = ctx.catalog();
        let found = (catalog.relation(*index).cloned(), catalog.relation(partition).cloned());
        // Do not hold a catalog version while the next one is made: that would copy its shared
        // nodes.
        drop(catalog);
        let (Some(index), Some(partition)) = found else {
            return Err(Error::internal("a partition or its parent's index has gone"));
        };
        // An index that lacks parts of its own would make the parent's invalid, too.
        index_partition(ctx, parent, &index, &partition, Counterparts::Valid)?;
    }
    Ok(())
}

/// Creates an index that a partitioned table has got on its partitions, too: a command whose
/// progress is shown.
pub(crate) fn spread_index(ctx: &mut DdlContext<'_>, table: &Relation, index: Oid) -> Result<()> {
    if table.kind != RelKind::PartitionedTable {
        return Ok(());
    }
    let utility = Utility::BuildIndex { index, command: "CREATE INDEX" };
    let progress = ctx.session.begin_progress(Progress::new(utility, table.oid));
    progress.partitions.begin(partitions_below(&ctx.catalog(), table.oid));
    ctx.spreading = Some(progress);
    let spread = spread_to_children(ctx, table, index);
    ctx.spreading = None;
    spread
}

/// The number of partitions below a table, the partitioned ones included.
fn partitions_below(catalog: &Catalog, table: Oid) -> u64 {
    catalog.children(table).map(|child| 1 + partitions_below(catalog, child)).sum()
}

fn spread_to_children(ctx: &mut DdlContext<'_>, table: &Relation, index: Oid) -> Result<()> {
    if table.kind != RelKind::PartitionedTable {
        return Ok(());
    }
    let catalog = ctx.catalog();
    let index = catalog.relation(index).ok_or_else(|| Error::internal("index has gone"))?;
    for child in children(ctx, table.oid)? {
        let child = ctx.lock_to_index(child.oid)?;
        let taken_over = index_partition(ctx, table, index, &child, Counterparts::All)?;
        let below = if taken_over { partitions_below(&ctx.catalog(), child.oid) } else { 0 };
        if let Some(progress) = &ctx.spreading {
            progress.partitions.advance(1 + below);
        }
    }
    Ok(())
}

/// Whether a partition has its part of an index already: the index is one that was taken over with
/// what it has below it.
fn has_part(catalog: &Catalog, parent_index: &Relation, partition: &Relation) -> bool {
    let mut of = catalog.indexes_of(partition).filter_map(|own| own.partition_of.as_ref());
    of.any(|of| of.parent == parent_index.oid)
}

/// Gives a partition the counterpart of one of its parent's indexes: one of its own, perhaps only
/// if that is valid, or a new one. Whether it is one that there was.
fn index_partition(
    ctx: &mut DdlContext<'_>,
    parent: &Relation,
    parent_index: &Relation,
    partition: &Arc<Relation>,
    of: Counterparts,
) -> Result<bool> {
    if has_part(&ctx.catalog(), parent_index, partition) {
        return Ok(true);
    }
    let own = find_counterpart(ctx, parent, parent_index, partition, of)?;
    if let Some(own) = own {
        // REINDEX may be giving it another file.
        let own = ctx.lock_current(own.oid, RelationLockMode::Share)?;
        // As it is: one that was made ONLY for the partition stays without parts, and the parent's
        // is not valid either until it has them.
        take_over(ctx, parent_index, parent, &own, partition)?;
        return Ok(true);
    }
    let mut table = (**partition).clone();
    let oid = add_part(ctx, parent, parent_index, &mut table)?;
    ctx.put(table.clone())?;
    spread_to_children(ctx, &table, oid).map(|()| false)
}

/// Makes a partition's part of its parent's index, and of the constraint that the index serves. The
/// caller puts the partition.
fn add_part(
    ctx: &mut DdlContext<'_>,
    parent: &Relation,
    parent_index: &Relation,
    partition: &mut Relation,
) -> Result<Oid> {
    let info = parent_index.index.as_ref();
    let info = info.ok_or_else(|| Error::internal("relation is not an index"))?;
    if info.primary && partition.primary_key().is_some() {
        return Err(invalid_table(format!(
            "multiple primary keys for table \"{}\" are not allowed",
            partition.name
        )));
    }
    let moved = |attnum: i16| match attnum {
        0 => Ok(0),
        attnum => attnum_in(partition, parent, attnum as usize - 1),
    };
    let keys =
        info.keys.iter().map(|key| Ok(IndexKey { attnum: moved(key.attnum)?, ..key.clone() }));
    let keys = keys.collect::<Result<Vec<_>>>()?;
    if info.unique {
        let attnums: Vec<i16> = keys.iter().map(|key| key.attnum).collect();
        let what = if info.primary { "PRIMARY KEY" } else { "UNIQUE" };
        check_unique_covers_key(partition, &attnums, what)?;
    }
    let include = info.include.iter().map(|a| moved(*a)).collect::<Result<Vec<_>>>()?;
    let constraint = parent.constraints.iter().find(|c| c.index() == Some(parent_index.oid));
    let names: Vec<&str> = parent_index.columns.iter().map(|column| &*column.name).collect();
    let (named_after, label) = match (info.primary, constraint) {
        (true, _) => (String::new(), "pkey"),
        (false, Some(_)) => (names.join("_"), "key"),
        (false, None) => (names.join("_"), "idx"),
    };
    let name = match constraint {
        Some(_) => ctx.choose_key_name(partition, &named_after, label)?,
        None => {
            let parts = NameParts { table: &partition.name, columns: &named_after, label };
            ctx.choose_name(partition.schema, parts)?
        }
    };
    let columns = constraint.iter().flat_map(|constraint| &constraint.columns);
    let columns = columns.map(|attnum| moved(*attnum)).collect::<Result<Vec<_>>>()?;
    let new = IndexBuilder {
        name: name.clone(),
        key_names: names.iter().take(keys.len()).map(|name| name.to_string()).collect(),
        keys,
        include,
        unique: info.unique,
        primary: info.primary,
        nulls_not_distinct: info.nulls_not_distinct,
        deferral: info.deferral,
        predicate: info.predicate.clone(),
        options: parent_index.options.to_vec(),
        parent: Some(parent_index.oid),
        comment: None,
    };
    let oid = new.finish(ctx, partition)?;
    if let Some(constraint) = constraint {
        let kind = match info.primary {
            true => ConstraintKind::Primary { index: oid },
            false => ConstraintKind::Unique { index: oid },
        };
        let copy = Constraint::new(ctx.store.new_oid()?, name, kind, columns);
        partition.constraints.push(Constraint { parent: constraint.oid, ..copy.inherited() });
    }
    Ok(oid)
}
