//! Partitioned tables and their partitions (tablecmds.c, parse_utilcmd.c, partbounds.c).
//!
//! `key`: PARTITION BY; `bound`: FOR VALUES; `inherit`: the indexes that a partition has from its
//! parent; `attach`: tables that become partitions; `detach`: and cease to be; `convert`: plain
//! tables that become partitioned, and cease to be.
//! A statement that adds a partition holds ACCESS EXCLUSIVE on the parent; only an extension whose
//! tables grow by themselves adds them under SHARE UPDATE EXCLUSIVE ([`DdlContext::parent_lock`]).

mod attach;
mod bound;
pub mod convert;
mod detach;
mod inherit;
mod key;

pub(super) use attach::{adopt_constraints, attach, attach_index, require_partitioned, wrong_kind};
pub(super) use bound::{check_default_partition, partition_of};
pub use detach::{Detaching, begin_detach, detaches_concurrently, finish_detach};
pub(super) use detach::{check_not_detaching, detach, finalize};
use inherit::inherit_indexes;
pub(super) use inherit::{index_new_partition, spread_index};
pub(super) use key::{check_unique_covers_key, key_reads, partition_key, rename_in_key};

use super::DdlContext;
use std::sync::Arc;
use steppe_catalog::{Catalog, RelKind, Relation};
use steppe_partition::PartitionMap;
use steppe_sql::ast::{self, RangeVar};
use steppe_types::{Error, Oid, Result, SqlState};

fn invalid(message: impl Into<String>) -> Error {
    Error::new(SqlState::INVALID_OBJECT_DEFINITION, message)
}

/// Finds and locks the parent that PARTITION OF names: 42P17 if it is none.
fn open_parent(ctx: &mut DdlContext<'_>, name: &RangeVar) -> Result<Arc<Relation>> {
    let parent = ctx.open(name, ctx.parent_lock)?;
    match parent.kind {
        RelKind::PartitionedTable => Ok(parent),
        RelKind::Table => Err(invalid(format!("\"{}\" is not partitioned", parent.name))),
        _ => Err(Error::new(
            SqlState::WRONG_OBJECT_TYPE,
            format!("\"{}\" is not a table", parent.name),
        )),
    }
}

/// 42809 for storage parameters of what has no storage.
pub(super) fn check_options(table: &Relation, options: &[ast::DefElem]) -> Result<()> {
    if table.kind != RelKind::PartitionedTable || options.is_empty() {
        return Ok(());
    }
    let message = "cannot specify storage parameters for a partitioned table";
    Err(Error::new(SqlState::WRONG_OBJECT_TYPE, message)
        .hint("Specify storage parameters for its leaf partitions instead."))
}

/// The parent that a CREATE TABLE names, locked. `None` if it names none.
pub(super) fn parent_of_new(
    ctx: &mut DdlContext<'_>,
    create: &ast::CreateTableStmt,
    partition: &Relation,
) -> Result<Option<Arc<Relation>>> {
    if create.partition_bound.is_none() {
        return Ok(None);
    }
    let name = create.inherits.first();
    let name = name.ok_or_else(|| Error::internal("PARTITION OF without a parent"))?;
    let parent = open_parent(ctx, name)?;
    check_persistence(ctx, &parent, partition, "create")?;
    Ok(Some(parent))
}

/// A partition is temporary exactly if its parent is: 42809.
fn check_persistence(
    ctx: &mut DdlContext<'_>,
    parent: &Relation,
    partition: &Relation,
    verb: &str,
) -> Result<()> {
    let catalog = ctx.catalog();
    let refused = match (catalog.is_temporary(partition), catalog.is_temporary(parent)) {
        (true, false) => "temporary relation as partition of permanent",
        (false, true) => "permanent relation as partition of temporary",
        _ => return Ok(()),
    };
    Err(Error::new(
        SqlState::WRONG_OBJECT_TYPE,
        format!("cannot {verb} a {refused} relation \"{}\"", parent.name),
    ))
}

/// The map of a table that is partitioned.
fn map_of(catalog: &Catalog, table: Oid) -> Result<&PartitionMap> {
    let map = catalog.partition_map(table)?;
    map.ok_or_else(|| Error::internal(format!("relation {table} has no partition map")))
}

/// The partitions of a table or of an index, or what inherits from a table: what goes down from a
/// parent goes to these. A partition that is being detached gets nothing any more.
pub(super) fn children(ctx: &mut DdlContext<'_>, parent: Oid) -> Result<Vec<Arc<Relation>>> {
    let mut children = all_children(ctx, parent)?;
    children.retain(|child| !child.is_detaching());
    Ok(children)
}

/// The same, and a partition that is being detached, which is dropped with its parent, too.
pub(super) fn all_children(ctx: &mut DdlContext<'_>, parent: Oid) -> Result<Vec<Arc<Relation>>> {
    let catalog = ctx.catalog();
    let children = catalog.children(parent).map(|child| {
        let found = catalog.relation(child).cloned();
        found.ok_or_else(|| {
            Error::internal(format!("relation {parent} has a child {child} that is not there"))
        })
    });
    children.collect()
}

/// The tables that hold the rows of a table: itself, or the leaves below it.
pub(super) fn leaves(
    ctx: &mut DdlContext<'_>,
    table: &Arc<Relation>,
) -> Result<Vec<Arc<Relation>>> {
    if table.kind != RelKind::PartitionedTable {
        return Ok(vec![table.clone()]);
    }
    let mut found = Vec::new();
    for child in children(ctx, table.oid)? {
        found.extend(leaves(ctx, &child)?);
    }
    Ok(found)
}

/// The attribute number in a child of the parent's column at a position.
pub(super) fn attnum_in(child: &Relation, parent: &Relation, position: usize) -> Result<i16> {
    let name = &parent.columns[position].name;
    if let Some(column) = child.columns.get(position)
        && column.name == *name
        && !column.dropped
    {
        return Ok(position as i16 + 1);
    }
    let found = child.column_index(name).map(|position| position as i16 + 1);
    found.ok_or_else(|| {
        Error::internal(format!("partition \"{}\" has no column \"{name}\"", child.name))
    })
}
