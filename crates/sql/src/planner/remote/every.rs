//! UPDATE and DELETE that run on all nodes of a table, each on its own rows.
//!
//! *Parts.* A table's rows are changed where they are. That is right if a node needs nothing else than the
//! row and replicated tables: the table itself is in the statement once, and no other table with a
//! part on each node. LIMIT in a sub-select would choose other rows on each node, so it is refused.
//!
//! *Copies.* All nodes change all copies in the same way if they see the same rows, and each new row depends
//! on its old one alone: no other table is in the statement. The coordinator holds
//! the table's lock ShareRowExclusive up to the end of the transaction: no other transaction changes the
//! table meanwhile, so that no node waits for a row that it must look at again. The nodes' row counts
//! are compared.
//!
//! In both cases all snapshots are taken in one passage of the gate, so that no commit over several nodes
//! is seen half.

use super::facts::Facts;
use super::{check_unchanged_key, for_each_query, refused};
use crate::plan::{RelationLock, RemoteTarget};
use crate::query::{Command, Query, RteKind};
use steppe_catalog::Relation;
use steppe_types::Result;

/// The target of such a statement; `None` if it is none. Error 0A000: it has a part that would not do the
/// same on each node.
pub(super) fn of_change(query: &Query, facts: &Facts) -> Result<Option<RemoteTarget>> {
    if !matches!(query.command, Command::Update | Command::Delete) {
        return Ok(None);
    }
    let Some(rte) = query.result_relation else { return Ok(None) };
    let RteKind::Relation(relation) = &query.rtes[rte].kind else { return Ok(None) };
    let Some(distribution) = &relation.distribution else { return Ok(None) };
    let is_target = |level: usize, at: usize| level == 0 && at == rte;
    let others = facts.tables.iter().filter(|table| !is_target(table.level, table.rte));
    for other in others {
        let copy = other.relation.distribution.as_ref().filter(|copy| copy.is_replicated());
        let has_all = |nodes: &[_]| distribution.nodes.iter().all(|node| nodes.contains(node));
        if !copy.is_some_and(|copy| has_all(&copy.nodes)) {
            return Ok(None);
        }
    }
    if distribution.is_replicated() && facts.tables.len() > 1 {
        // Which of several rows it takes, or in which order, may differ between the nodes.
        return Err(refused(relation, "a change by rows of other tables of replicated table"));
    }
    let mut has_limit = false;
    for_each_query(&mut query.clone(), &mut |query| {
        has_limit |= query.limit.is_some() || query.offset.is_some();
    });
    if has_limit {
        return Err(refused(relation, "LIMIT in a change of all nodes of distributed table"));
    }
    check_unchanged_key(query, relation, distribution)?;
    let nodes = distribution.nodes.clone();
    Ok(Some(match distribution.is_replicated() {
        true => RemoteTarget::All(nodes),
        false => RemoteTarget::Every(nodes),
    }))
}

/// The coordinator's lock of a changed table.
pub(super) fn lock(query: &Query, relation: &Relation) -> RelationLock {
    let is_replicated = relation.distribution.as_ref().is_some_and(|of| of.is_replicated());
    let reads = query.command != Command::Insert || query.on_conflict.is_some();
    match is_replicated && reads {
        true => RelationLock::ShareRowExclusive,
        false => RelationLock::RowExclusive,
    }
}
