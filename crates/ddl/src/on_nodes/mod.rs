//! The tables on nodes follow the catalog.
//!
//! A distributed table's table on a node is a function of the catalog alone ([`NodeTable`]): its
//! schema and name, its columns without their defaults, its CHECKs, keys and indexes. A statement
//! keeps this function's value before its first change of the table, and compares it with the value
//! at its end. The statements for the nodes are made from the difference ([`change`]). So they do
//! not depend on what the words of the statement would mean on a node: a search path, a schema that
//! is missing there, a sequence, a function in a default. A change that comes by CASCADE is among
//! them, and a change that the nodes cannot follow is refused when it is found, in the statement.
//!
//! *Condition:* at the end of each statement the nodes' tables are what [`NodeTable`] says, if they
//! were so before it. A change of rows ([`command`]) is the only thing that the comparison does not
//! find.
//!
//! The statements are left in the transaction's catalog changes, in the order of the tables' first
//! changes. The session takes them and runs them in the transaction's own sessions on the nodes.
//! An error of a node is the statement's.

mod change;
mod table;

use super::DdlContext;
use steppe_catalog::{NodeStatement, Relation};
use steppe_types::{Error, Oid, Result, SqlState};

use table::NodeTable;

/// The distributed tables that a statement has changed.
#[derive(Default)]
pub(crate) struct Touched {
    /// Each with its value before the first change; `None` if it is new.
    tables: Vec<(Oid, Option<NodeTable>)>,
    /// CASCADE is written: on nodes, too, dependents are dropped.
    pub(super) cascades: bool,
}

/// Keeps the value of a distributed table before the first change of the table or of an index of
/// it. `relation` is about to be put or removed.
pub(super) fn touch(ctx: &mut DdlContext<'_>, relation: &Relation) {
    let table = match &relation.index {
        Some(info) => info.table,
        None => relation.oid,
    };
    if ctx.touched.tables.iter().any(|(known, _)| *known == table) {
        return;
    }
    let catalog = ctx.catalog();
    let before = catalog.relation(table);
    if relation.is_distributed() || before.is_some_and(|before| before.is_distributed()) {
        let before = before.and_then(|before| NodeTable::of(&catalog, before));
        ctx.touched.tables.push((table, before));
    }
}

/// Leaves the statements for the nodes of all tables that the statement has changed. 0A000 for a
/// change that nodes cannot follow.
pub(super) fn finish(ctx: &mut DdlContext<'_>) -> Result<()> {
    let touched = std::mem::take(&mut ctx.touched);
    if touched.tables.is_empty() {
        return Ok(());
    }
    let catalog = ctx.catalog();
    for (oid, before) in touched.tables {
        let after = catalog.relation(oid).and_then(|table| NodeTable::of(&catalog, table));
        if let (Some(before), Some(after)) = (&before, &after)
            && before.distribution != after.distribution
        {
            // The nodes of both must lose the old table before they get the new one.
            for text in change::drop_empty(before) {
                leave(ctx, &before.distribution.nodes, text)?;
            }
            for text in change::statements(None, Some(after), false)? {
                leave(ctx, &after.distribution.nodes, text)?;
            }
            continue;
        }
        let texts = change::statements(before.as_ref(), after.as_ref(), touched.cascades)?;
        let Some(table) = after.or(before) else { continue };
        let nodes = &table.distribution.nodes;
        texts.into_iter().try_for_each(|text| leave(ctx, nodes, text))?;
    }
    Ok(())
}

/// Leaves a statement about a distributed table's rows for its nodes: `words`, the table's name, and
/// `rest`.
pub(super) fn command(
    ctx: &mut DdlContext<'_>,
    table: &Relation,
    (words, rest): (&str, &str),
) -> Result<()> {
    let node_table = value(ctx, table)?;
    let text = format!("{words} {}{rest}", node_table.full_name());
    leave(ctx, &node_table.distribution.nodes, text)
}

/// As [`command`], about an index of the table.
pub(super) fn index_command(
    ctx: &mut DdlContext<'_>,
    (table, index): (&Relation, &Relation),
    words: &str,
) -> Result<()> {
    let node_table = value(ctx, table)?;
    let text = format!("{words} {}", node_table.beside(&index.name));
    leave(ctx, &node_table.distribution.nodes, text)
}

fn value(ctx: &mut DdlContext<'_>, table: &Relation) -> Result<NodeTable> {
    let found = NodeTable::of(&ctx.catalog(), table);
    found.ok_or_else(|| Error::internal("a statement for nodes about a local table"))
}

fn leave(ctx: &mut DdlContext<'_>, nodes: &[Oid], text: String) -> Result<()> {
    if !ctx.reaches_nodes {
        let message = "distributed tables cannot be changed in this context";
        return Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, message));
    }
    let statement = NodeStatement { nodes: nodes.into(), text };
    ctx.store.changes(ctx.pending).add_for_nodes(statement);
    Ok(())
}
