//! A table that is there becomes a distributed one, and back (create_distributed_table.c and
//! undistribute_table of Citus, whose messages these are).
//!
//! The table stays what it is: its OID, columns, defaults, constraints, views over it. Its rows stay
//! in its file, which becomes that of a new table, and the caller moves them by ordinary statements.
//!
//! ```text
//!   t (rows, indexes)  ──distribute──▶  t (on nodes, empty)        t_rows (rows)
//!   t (on nodes)       ──localize────▶  t (no rows, empty indexes)
//! ```
//!
//! The tables on nodes are made and dropped as those of CREATE and DROP TABLE are: they follow the
//! catalog.

use super::distribution::with_group;
use super::partition::convert::keep_rows;
use super::{DdlContext, build, files_of, table, truncate_name};
use std::sync::Arc;
use steppe_catalog::distribution::shards::Shards;
use steppe_catalog::objects::{Node, NodeKind};
use steppe_catalog::{Distribution, DistributionMethod, RelKind, Relation};
use steppe_txn::{Persistence, RelationLockMode};
use steppe_types::{Error, Oid, Result, SqlState};

/// The distribution that a table gets.
#[derive(Clone, Copy, Debug)]
pub enum Wanted<'a> {
    /// By the hash of a column.
    Hash {
        /// The column's name.
        column: &'a str,
        /// The number of shards.
        shards: usize,
        /// The tables that it is together with.
        together: Together,
    },
    /// All rows on each node.
    Replicated,
}

/// The tables that have the same keys on the same nodes.
#[derive(Clone, Copy, Debug)]
pub enum Together {
    /// All with as many shards and a key of the same type.
    Default,
    /// A new group of tables.
    None,
    /// This table's.
    With(Oid),
}

/// Distributes a table over all data nodes. Returns the table that has its rows now, if it had a
/// file with some. Errors: 42P16 if it is distributed, 42P17 for a key that the nodes cannot keep
/// unique, 42703 and 42704 for the column, 55000 without a node, 0A000 for a kind of table.
pub fn distribute(
    ctx: &mut DdlContext<'_>,
    oid: Oid,
    wanted: Wanted<'_>,
    has_rows: bool,
) -> Result<Option<Oid>> {
    let plain = lock_table(ctx, oid)?;
    check_kind(ctx, &plain)?;
    let distribution = match wanted {
        Wanted::Replicated => {
            Distribution::new(DistributionMethod::Replicated, 0, data_nodes(ctx)?)
        }
        Wanted::Hash { column, shards, together } => {
            by_hash(ctx, &plain, column, (shards, together))?
        }
    };
    check_keys(ctx, &plain, &distribution)?;
    let rows = has_rows.then(|| keep_rows(ctx, &plain)).transpose()?;
    if rows.is_none() {
        ctx.txn.drop_files_at_commit(&files_of(&plain));
    }
    let mut relation = (*plain).clone();
    relation.distribution = Some(Arc::new(distribution));
    (relation.storage, relation.overflow, relation.statistics) = (None, None, None);
    let indexes = relation.indexes.clone();
    ctx.put(relation)?;
    for index in &indexes {
        let index = index_of(ctx, *index)?;
        ctx.txn.drop_files_at_commit(&files_of(&index));
        ctx.put(Relation { storage: None, overflow: None, ..(*index).clone() })?;
    }
    Ok(rows)
}

/// Makes a distributed table a local one without rows, and drops its tables on the nodes. Error
/// 42P16: it is not distributed.
pub fn localize(ctx: &mut DdlContext<'_>, oid: Oid) -> Result<()> {
    let distributed = lock_table(ctx, oid)?;
    if !distributed.is_distributed() {
        let message = "cannot undistribute table because the table is not distributed";
        return Err(Error::new(SqlState::INVALID_TABLE_DEFINITION, message));
    }
    if ctx.catalog().is_referenced(oid) {
        return Err(Error::not_supported("undistribute_table of a table with foreign keys"));
    }
    let mut plain = (*distributed).clone();
    (plain.distribution, plain.statistics) = (None, None);
    table::create_storage(ctx, &mut plain, Persistence::Logged)?;
    ctx.put(plain.clone())?;
    for index in &plain.indexes {
        let mut index = (*index_of(ctx, *index)?).clone();
        build::build(ctx, &plain, &mut index)?;
        ctx.put(index)?;
    }
    Ok(())
}

/// The table, locked against everybody.
fn lock_table(ctx: &mut DdlContext<'_>, oid: Oid) -> Result<Arc<Relation>> {
    ctx.lock(oid, RelationLockMode::AccessExclusive)?;
    let relation = ctx.catalog().relation(oid).cloned();
    relation.ok_or_else(|| {
        let message = "could not create Citus table: relation does not exist";
        Error::new(SqlState::UNDEFINED_TABLE, message)
    })
}

fn index_of(ctx: &mut DdlContext<'_>, index: Oid) -> Result<Arc<Relation>> {
    let index = ctx.catalog().relation(index).cloned();
    index.ok_or_else(|| Error::internal("a table's index has gone"))
}

/// The tables that cannot be distributed.
fn check_kind(ctx: &mut DdlContext<'_>, table: &Relation) -> Result<()> {
    let name = &table.name;
    if table.is_distributed() {
        let message = format!("table \"{name}\" is already distributed");
        return Err(Error::new(SqlState::INVALID_TABLE_DEFINITION, message));
    }
    let catalog = ctx.catalog();
    let is_generated = table.columns.iter().any(|column| !column.dropped && column.generated);
    let what = match table.kind {
        RelKind::PartitionedTable => "distributing a partitioned table",
        RelKind::Table if catalog.is_temporary(table) => "distributing a temporary table",
        RelKind::Table if table.persistence() != Persistence::Logged => {
            "distributing an unlogged table"
        }
        RelKind::Table if table.partition_of.is_some() => "distributing a partition",
        RelKind::Table
            if !table.inherits.is_empty() || catalog.children(table.oid).next().is_some() =>
        {
            "distributing a table with inheritance"
        }
        RelKind::Table if is_generated => "distributing a table with generated columns",
        RelKind::Table if !table.triggers.is_empty() => "distributing a table with triggers",
        RelKind::Table
            if table.foreign_keys().next().is_some() || catalog.is_referenced(table.oid) =>
        {
            "distributing a table with foreign keys"
        }
        RelKind::Table => return Ok(()),
        _ => {
            let message = format!("{name} is not a regular, foreign or partitioned table");
            return Err(Error::new(SqlState::WRONG_OBJECT_TYPE, message));
        }
    };
    Err(Error::not_supported(what))
}

/// All data nodes, by their OIDs in order.
fn data_nodes(ctx: &mut DdlContext<'_>) -> Result<Vec<Oid>> {
    let catalog = ctx.catalog();
    let is_data = |node: &&Arc<Node>| node.kind == NodeKind::DataNode;
    let nodes = catalog.stored::<Node>();
    let mut nodes: Vec<Oid> = nodes.iter().filter(is_data).map(|node| node.oid).collect();
    nodes.sort_unstable();
    match nodes.is_empty() {
        false => Ok(nodes),
        true => Err(Error::new(
            SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE,
            "no worker nodes are available for placing shards",
        )
        .hint("Add more worker nodes.")),
    }
}

/// The distribution by the hash of a column.
fn by_hash(
    ctx: &mut DdlContext<'_>,
    table: &Relation,
    column: &str,
    (count, together): (usize, Together),
) -> Result<Distribution> {
    let column = truncate_name(column);
    let Some(position) = table.column_index(column) else {
        let message = format!("column \"{column}\" of relation \"{}\" does not exist", table.name);
        return Err(Error::new(SqlState::UNDEFINED_COLUMN, message));
    };
    let (key, type_oid) = (position as i16 + 1, table.columns[position].type_oid);
    if !DistributionMethod::Hash.takes(type_oid) {
        let message = "data type of the distribution column has no default operator class for \
                       specified partition method";
        let detail = "Partition column types must have a default operator class defined.";
        return Err(Error::new(SqlState::UNDEFINED_OBJECT, message).detail(detail));
    }
    if let Together::With(other) = together {
        return like(ctx, table, (key, type_oid), other);
    }
    let nodes = data_nodes(ctx)?;
    let shards = Shards::even(count, nodes.len());
    let own = Distribution { shards, ..Distribution::new(DistributionMethod::Hash, key, nodes) };
    match together {
        Together::Default => with_group(ctx, table, own),
        _ => Ok(Distribution { group: ctx.store.new_oid()?, ..own }),
    }
}

/// The distribution of another table: 22023 if their keys cannot be together.
fn like(
    ctx: &mut DdlContext<'_>,
    table: &Relation,
    (key, type_oid): (i16, Oid),
    other: Oid,
) -> Result<Distribution> {
    ctx.lock(other, RelationLockMode::AccessShare)?;
    let catalog = ctx.catalog();
    let found = catalog.relation(other);
    let of = found.and_then(|other| Some((other, other.distribution.as_deref()?)));
    let Some((other, of)) = of.filter(|(_, of)| of.method == DistributionMethod::Hash) else {
        let name = found.map_or("", |other| &*other.name);
        let message = format!("relation {name} should be a hash distributed table");
        return Err(Error::new(SqlState::INVALID_PARAMETER_VALUE, message));
    };
    let of_other = other.columns.get(usize::try_from(of.key - 1).unwrap_or(0));
    if of_other.is_none_or(|column| column.type_oid != type_oid) {
        let message = format!("cannot colocate tables {} and {}", other.name, table.name);
        let detail =
            format!("Distribution column types don't match for {} and {}.", other.name, table.name);
        return Err(Error::new(SqlState::INVALID_PARAMETER_VALUE, message).detail(detail));
    }
    Ok(Distribution { key, ..of.clone() })
}

/// 42P17 for a unique index that the nodes cannot keep.
fn check_keys(ctx: &mut DdlContext<'_>, table: &Relation, of: &Distribution) -> Result<()> {
    let catalog = ctx.catalog();
    for index in catalog.indexes_of(table) {
        let Some(info) = index.index.as_ref().filter(|info| info.unique) else { continue };
        let attnums: Vec<i16> = info.keys.iter().map(|key| key.attnum).collect();
        if !of.keeps_unique(&attnums) {
            let message = format!("cannot create constraint on \"{}\"", table.name);
            let detail = "Distributed relations cannot have UNIQUE, EXCLUDE, or PRIMARY KEY \
                          constraints that do not include the partition column (with an equality \
                          operator if EXCLUDE).";
            return Err(Error::new(SqlState::INVALID_OBJECT_DEFINITION, message).detail(detail));
        }
    }
    Ok(())
}
