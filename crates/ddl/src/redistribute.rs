//! ALTER TABLE … DISTRIBUTE BY, TO, ADD NODE and DELETE NODE (redistrib.c of Postgres-XL).
//!
//! The catalog gets the new distribution. The table is dropped on its old nodes, which refuse that if
//! it has rows there, and made on its new ones: see [`on_nodes`](super::on_nodes). Rows do not move
//! yet.

use super::DdlContext;
use super::distribution::{check_keys_of, method, nodes, with_group};
use std::sync::Arc;
use steppe_catalog::{Distribution, Relation};
use steppe_sql::ast::{AlterTableCommand as Command, NodeSet};
use steppe_types::{Error, Oid, Result, SqlState};

/// The action's name, if it is one about nodes.
fn action(command: &Command) -> Option<&'static str> {
    Some(match command {
        Command::DistributeBy(_) => "DISTRIBUTE BY",
        Command::ToNodes(_) => "TO NODE",
        Command::AddNodes(_) => "ADD NODE",
        Command::DeleteNodes(_) => "DELETE NODE",
        _ => return None,
    })
}

/// Whether the actions are about nodes. 0A000 for such an action beside another one.
pub(super) fn is_asked(commands: &[Command]) -> Result<bool> {
    let Some(name) = commands.iter().find_map(action) else { return Ok(false) };
    match commands.iter().all(|command| action(command).is_some()) {
        true => Ok(true),
        false => Err(Error::not_supported(format!("ALTER TABLE … {name} beside other actions"))),
    }
}

/// Gives a table that is locked against everybody the distribution that the actions say. Errors:
/// 0A000 for a local table, 42710 and 42704 for a node that the table has or lacks, 42P16 if no node
/// is left, and those of CREATE TABLE.
pub(super) fn alter(
    ctx: &mut DdlContext<'_>,
    table: &Relation,
    commands: &[Command],
) -> Result<()> {
    let Some(old) = table.distribution.as_deref() else {
        let name = commands.iter().find_map(action).unwrap_or_default();
        return Err(Error::not_supported(format!("ALTER TABLE … {name} of a local table"))
            .hint("create_distributed_table of the extension citus distributes it."));
    };
    let (mut by, mut on) = ((old.method, old.key), old.nodes.to_vec());
    for command in commands {
        match command {
            Command::DistributeBy(written) => by = method(ctx, table, written)?,
            Command::ToNodes(set) => on = nodes(ctx, Some(set))?,
            Command::AddNodes(names) => add(ctx, table, &mut on, names)?,
            Command::DeleteNodes(names) => delete(ctx, table, &mut on, names)?,
            _ => return Err(Error::internal("an action that is not about nodes")),
        }
    }
    on.sort_unstable();
    if by == (old.method, old.key) && *on == *old.nodes {
        return Ok(());
    }
    let new = Distribution::new(by.0, by.1, on);
    check_keys_of(ctx, table, &new)?;
    let new = with_group(ctx, table, new)?;
    ctx.put(Relation { distribution: Some(Arc::new(new)), ..table.clone() })
}

fn add(
    ctx: &mut DdlContext<'_>,
    table: &Relation,
    on: &mut Vec<Oid>,
    names: &[String],
) -> Result<()> {
    let added = nodes(ctx, Some(&NodeSet::Nodes(names.to_vec())))?;
    if added.iter().any(|node| on.contains(node)) {
        let message = format!("table \"{}\" is on one of these nodes already", table.name);
        return Err(Error::new(SqlState::DUPLICATE_OBJECT, message));
    }
    on.extend(added);
    Ok(())
}

fn delete(
    ctx: &mut DdlContext<'_>,
    table: &Relation,
    on: &mut Vec<Oid>,
    names: &[String],
) -> Result<()> {
    let deleted = nodes(ctx, Some(&NodeSet::Nodes(names.to_vec())))?;
    if deleted.iter().any(|node| !on.contains(node)) {
        let message = format!("table \"{}\" is not on all of these nodes", table.name);
        return Err(Error::new(SqlState::UNDEFINED_OBJECT, message));
    }
    on.retain(|node| !deleted.contains(node));
    match on.is_empty() {
        false => Ok(()),
        true => {
            let message = format!("table \"{}\" would be on no node", table.name);
            Err(Error::new(SqlState::INVALID_TABLE_DEFINITION, message))
        }
    }
}
