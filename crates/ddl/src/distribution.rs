//! Distributed tables as objects: DISTRIBUTE BY of a new table, and what is refused of one that is
//! there (parse_utilcmd.c and heap.c of Postgres-XL, whose messages these are).
//!
//! A distributed table has no file here, and neither have its indexes. So no statement can read or
//! write rows here by mistake: [`steppe_exec::stored::TableAccess`] refuses to open it. Statements
//! that would not get that far are refused by name.

use super::node::{find, find_group, refused};
use super::{DdlContext, truncate_name};
use std::sync::Arc;
use steppe_catalog::objects::{Node, NodeKind};
use steppe_catalog::{Distribution, DistributionMethod as Method, Relation};
use steppe_sql::ast::{
    self, AlterTableCommand, ConstraintKind, CreateTableStmt, DistributeBy, DistributionMethod,
    NodeSet, TableElement,
};
use steppe_sql::bind::is_system_column;
use steppe_types::{Error, Oid, Result, SqlState};

/// The distribution of a new table that has all its columns.
pub(super) fn of_new(
    ctx: &mut DdlContext<'_>,
    create: &CreateTableStmt,
    table: &Relation,
) -> Result<Option<Arc<Distribution>>> {
    let Some(written) = create.distribution.as_deref() else { return Ok(None) };
    let is_temporary = ctx.catalog().is_temporary(table);
    refuse_kinds(create, table, is_temporary)
        .map_err(|error| error.at(written.location.position(ctx.source)))?;
    let nodes = nodes(ctx, written.to.as_ref())?;
    let (method, key) = match &written.by {
        Some(by) => method(ctx, table, by)?,
        None => default_method(create, table),
    };
    let distribution = Distribution::new(method, key, nodes);
    Ok(Some(Arc::new(with_group(ctx, table, distribution)?)))
}

/// A distribution by a hash in the group of the tables that have the same one and keys of the same
/// type, or else in a new group.
pub(super) fn with_group(
    ctx: &mut DdlContext<'_>,
    table: &Relation,
    distribution: Distribution,
) -> Result<Distribution> {
    let key_type = |table: &Relation, of: &Distribution| {
        let column = of.key().and_then(|key| table.columns.get(usize::try_from(key - 1).ok()?));
        column.map(|column| column.type_oid)
    };
    let Some(own) = key_type(table, &distribution) else { return Ok(distribution) };
    let is_like = |other: &Relation| {
        let of = other.distribution.as_deref()?;
        let ty = key_type(other, of).filter(|ty| *ty == own)?;
        (of.group != 0 && of.is_colocated_with(&distribution, (ty, own))).then_some(of.group)
    };
    let found = ctx.catalog().relations().find_map(|other| is_like(other));
    let group = found.map_or_else(|| ctx.store.new_oid(), Ok)?;
    Ok(Distribution { group, ..distribution })
}

/// 0A000 for a table that cannot be distributed yet.
fn refuse_kinds(create: &CreateTableStmt, table: &Relation, is_temporary: bool) -> Result<()> {
    let what = if is_temporary {
        "DISTRIBUTE BY of a temporary table"
    } else if create.relation.persistence == ast::Persistence::Unlogged {
        "DISTRIBUTE BY of an unlogged table"
    } else if create.partition_by.is_some() {
        "DISTRIBUTE BY of a partitioned table"
    } else if create.partition_bound.is_some() || table.partition_of.is_some() {
        "DISTRIBUTE BY of a partition"
    } else if !table.inherits.is_empty() {
        "DISTRIBUTE BY with INHERITS"
    } else if table.columns.iter().any(|column| column.generated) {
        "DISTRIBUTE BY with generated columns"
    } else {
        return Ok(());
    };
    Err(Error::not_supported(what))
}

/// 0A000 for the distribution of the table of CREATE TABLE AS or SELECT INTO.
pub(super) fn refuse_of_query(
    ctx: &DdlContext<'_>,
    distribution: Option<&ast::Distribution>,
) -> Result<()> {
    let Some(distribution) = distribution else { return Ok(()) };
    let what = if distribution.by.is_some() { "DISTRIBUTE BY" } else { "TO NODE" };
    let error = Error::not_supported(format!("CREATE TABLE AS with {what}"));
    Err(error.at(distribution.location.position(ctx.source)))
}

/// The nodes of TO, by their OIDs; without TO all data nodes.
pub(super) fn nodes(ctx: &mut DdlContext<'_>, to: Option<&NodeSet>) -> Result<Vec<Oid>> {
    let mut nodes: Vec<Oid> = match to {
        None => {
            let catalog = ctx.catalog();
            let is_data = |node: &&Arc<Node>| node.kind == NodeKind::DataNode;
            catalog.stored::<Node>().iter().filter(is_data).map(|node| node.oid).collect()
        }
        Some(NodeSet::Group(name)) => find_group(ctx, name)?.members.clone(),
        Some(NodeSet::Nodes(names)) => {
            let mut nodes = Vec::with_capacity(names.len());
            for name in names {
                let node = find(ctx, name)?;
                if node.kind != NodeKind::DataNode {
                    return Err(refused(name, "not a Datanode"));
                }
                nodes.push(node.oid);
            }
            nodes
        }
    };
    nodes.sort_unstable();
    nodes.dedup();
    match nodes.is_empty() {
        true => Err(Error::new(SqlState::UNDEFINED_OBJECT, "No Datanode defined in cluster")),
        false => Ok(nodes),
    }
}

/// The method that is written, and the attribute number of its key.
pub(super) fn method(
    ctx: &DdlContext<'_>,
    table: &Relation,
    by: &DistributeBy,
) -> Result<(Method, i16)> {
    let (method, word) = match by.method {
        DistributionMethod::Hash => (Method::Hash, "hash"),
        DistributionMethod::Modulo => (Method::Modulo, "modulo"),
        DistributionMethod::RoundRobin => return Ok((Method::RoundRobin, 0)),
        DistributionMethod::Replication => return Ok((Method::Replicated, 0)),
        DistributionMethod::Range => {
            let error = Error::not_supported("DISTRIBUTE BY RANGE");
            return Err(error.at(by.location.position(ctx.source)));
        }
    };
    let name = truncate_name(by.column.as_deref().unwrap_or_default());
    let at = by.location;
    if is_system_column(name) {
        let message = "Invalid distribution column specified";
        return Err(ctx.error(SqlState::INVALID_TABLE_DEFINITION, message, at));
    }
    let Some(position) = table.column_index(name) else {
        let message = format!("column \"{name}\" named in DISTRIBUTE BY does not exist");
        return Err(ctx.error(SqlState::UNDEFINED_COLUMN, message, at));
    };
    if !method.takes(table.columns[position].type_oid) {
        let message = format!("Column {name} is not a {word} distributable data type");
        return Err(ctx.error(SqlState::WRONG_OBJECT_TYPE, message, at));
    }
    Ok((method, position as i16 + 1))
}

/// The method of TO alone: by the hash of the first column of the primary key or of another unique
/// key, else of the first column whose type has a hash, else each row on the next node.
fn default_method(create: &CreateTableStmt, table: &Relation) -> (Method, i16) {
    let takes = |at: &usize| Method::Hash.takes(table.columns[*at].type_oid);
    let by_key = key_column(create, true).or_else(|| key_column(create, false));
    let by_key = by_key.and_then(|name| table.column_index(truncate_name(name)));
    let live = (0..table.columns.len()).filter(|at| !table.columns[*at].dropped);
    match by_key.filter(takes).or_else(|| live.into_iter().find(takes)) {
        Some(position) => (Method::Hash, position as i16 + 1),
        None => (Method::RoundRobin, 0),
    }
}

/// The first column of the statement's first primary, or other unique, key.
fn key_column<'a>(create: &'a CreateTableStmt, primary: bool) -> Option<&'a str> {
    let key = |constraint: &'a ast::Constraint| match &constraint.kind {
        ConstraintKind::PrimaryKey(index) if primary => Some(index),
        ConstraintKind::Unique { index, .. } if !primary => Some(index),
        _ => None,
    };
    create.elements.iter().find_map(|element| match element {
        TableElement::Column(column) => {
            column.constraints.iter().find_map(key).map(|_| column.name.as_str())
        }
        TableElement::Constraint(constraint) => {
            key(constraint)?.columns.first().map(String::as_str)
        }
        TableElement::Like(_) => None,
    })
}

/// 42P16 if the nodes of a new table cannot keep a key unique.
pub(super) fn check_key_of_new(table: &Relation, attnums: &[i16]) -> Result<()> {
    check_key(table, attnums).map_err(|_| {
        let message =
            "Unique index of partitioned table must contain the hash distribution column.";
        Error::new(SqlState::INVALID_TABLE_DEFINITION, message)
    })
}

/// 0A000 if the nodes of a table cannot keep an index unique.
pub(super) fn check_key(table: &Relation, attnums: &[i16]) -> Result<()> {
    match table.distribution.as_deref() {
        Some(distribution) if !distribution.keeps_unique(attnums) => {
            let message = "Cannot create index whose evaluation cannot be enforced to remote nodes";
            Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, message))
        }
        _ => Ok(()),
    }
}

/// 0A000 if the nodes of a distribution cannot keep an index of the table unique.
pub(super) fn check_keys_of(
    ctx: &mut DdlContext<'_>,
    table: &Relation,
    distribution: &Distribution,
) -> Result<()> {
    let of = Relation { distribution: Some(Arc::new(distribution.clone())), ..table.clone() };
    for index in ctx.catalog().indexes_of(table) {
        if let Some(info) = index.index.as_ref().filter(|info| info.unique) {
            let attnums: Vec<i16> = info.keys.iter().map(|key| key.attnum).collect();
            check_key(&of, &attnums)?;
        }
    }
    Ok(())
}

/// 0A000 for an action of ALTER TABLE that the nodes of a distributed table cannot follow. (All others
/// are found by the table's change.)
pub(super) fn check_actions(
    ctx: &mut DdlContext<'_>,
    relation: &Relation,
    commands: &[AlterTableCommand],
) -> Result<()> {
    refuse_index(ctx, relation, "ALTER INDEX")?;
    if !relation.is_distributed() {
        return Ok(());
    }
    commands
        .iter()
        .find_map(refused_action)
        .map_or(Ok(()), |action| relation.refuse_distributed(&format!("ALTER TABLE … {action}")))
}

/// The name of an action that is refused.
fn refused_action(command: &AlterTableCommand) -> Option<&'static str> {
    use AlterTableCommand as Command;
    let is_generated =
        |constraint: &ast::Constraint| matches!(constraint.kind, ConstraintKind::Generated { .. });
    Some(match command {
        Command::AddColumn { column, .. } if column.constraints.iter().any(is_generated) => {
            "ADD COLUMN … GENERATED"
        }
        Command::AlterColumnType { using: Some(_), .. } => "ALTER COLUMN TYPE … USING",
        Command::AddConstraint(constraint) => match constraint.kind {
            ConstraintKind::NotNull { .. } if constraint.not_valid => "ADD NOT NULL NOT VALID",
            ConstraintKind::Exclude(_) => "ADD EXCLUDE",
            _ => return None,
        },
        Command::AddColumn { .. }
        | Command::DropColumn { .. }
        | Command::ColumnDefault { .. }
        | Command::SetNotNull(_)
        | Command::DropNotNull(_)
        | Command::AlterColumnType { .. }
        | Command::DropConstraint { .. }
        | Command::ValidateConstraint(_)
        | Command::AddIdentity { .. }
        | Command::SetIdentity { .. }
        | Command::DropIdentity { .. }
        | Command::SetOptions(_)
        | Command::ResetOptions(_)
        | Command::ChangeOwner(_)
        | Command::DistributeBy(_)
        | Command::ToNodes(_)
        | Command::AddNodes(_)
        | Command::DeleteNodes(_) => return None,
        _ => "this action",
    })
}

/// 0A000 for an index of a distributed table.
pub(super) fn refuse_index(
    ctx: &mut DdlContext<'_>,
    relation: &Relation,
    what: &str,
) -> Result<()> {
    let Some(info) = &relation.index else { return Ok(()) };
    ctx.catalog().relation(info.table).map_or(Ok(()), |table| table.refuse_distributed(what))
}
