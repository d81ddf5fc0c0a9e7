//! Statements of distributed tables that one node can run as a whole (Postgres-XL's fast query
//! shipping, pgxcship.c).
//!
//! ```text
//!   Query ──facts────▶ the value of each table's key ──▶ the node: where the plan runs, not here
//!     │
//!     ├──values──▶ what the coordinator computes: now(), defaults, INSERT's row: parameters
//!     └──text────▶ the statement, with qualified names, for the node
//! ```
//!
//! The rule: a node may run a statement if it would give the same rows where all rows of all tables
//! were on that node. That holds if every distributed table in it, at any depth, is read only where
//! its key equals one and the same value, and if the node has every replicated table in it. The
//! facts say so ([`facts`]). The node computes only what it computes as the coordinator would
//! ([`values`]). A statement that does not fit is refused (0A000), never sent in part.

mod every;
mod facts;
mod insert;
mod partial;
mod parts;
mod scan;
mod text;
mod values;

use self::facts::{Facts, has_distributed};
use self::values::Values;
use super::subselect::contains_sublink;
use super::{Planner, result_targets};
use crate::bind::relation_of;
use crate::expr::{Expr, TypeRef};
use crate::plan::{
    Cost, OtherKey, Plan, PlanNode, RelationLock, RemoteEffect, RemoteQuery, RemoteTarget,
};
use crate::query::{Command, Query, Rte, RteKind};
use crate::walk;
use std::sync::Arc;
use steppe_catalog::objects::Node;
use steppe_catalog::{Distribution, RelKind, Relation};
use steppe_types::{Error, Oid, Result, SqlState};

/// The cost of a round trip to a node, in the planner's units (DEFAULT_FDW_STARTUP_COST).
const ROUND_TRIP: f64 = 100.0;
/// The rows that a statement of one key is expected to return.
const ROWS: f64 = 10.0;

impl Planner<'_> {
    /// The plan of a statement with distributed tables that a node runs as a whole. `None`: it has no
    /// distributed table, or the coordinator runs it over scans of them ([`scan`]). Error 0A000: it can
    /// do neither.
    pub(super) fn remote(&mut self, query: &Query) -> Result<Option<Plan>> {
        // A server without nodes has no distributed tables.
        let has_nodes = !self.ctx.catalog.stored::<Node>().is_empty();
        if !has_nodes || !has_distributed(query) {
            return Ok(None);
        }
        if insert::is_of_rows(query) {
            let source = insert::source_of(query);
            if has_distributed(&source) {
                if !can_scan(&source) {
                    return Err(insert::unreadable(query));
                }
                self.has_remote_scans = true;
            }
            return Ok(None);
        }
        let relations = self.relations.len();
        let whole = self.whole(&mut query.clone());
        let is_refused =
            whole.as_ref().is_err_and(|error| error.sqlstate() == SqlState::FEATURE_NOT_SUPPORTED);
        match is_refused && can_scan(query) {
            true => {
                self.relations.truncate(relations);
                self.has_remote_scans = true;
                // With its literals it may be a whole statement.
                self.depends_on_literals |= !self.param_types.is_empty();
                Ok(None)
            }
            false => whole.map(Some),
        }
    }

    fn whole(&mut self, query: &mut Query) -> Result<Plan> {
        let facts = Facts::of(query)?;
        let Some(first) = facts.tables.iter().find(|table| table.relation.is_distributed()) else {
            return Err(Error::internal("a distributed table was not found again"));
        };
        let first = Arc::clone(&first.relation);
        let target = target(query, &facts)?;
        if let RemoteTarget::Key { others, .. } = &target
            && let Some(other) = others.first()
        {
            // Two parameters are not known to be equal. Literals in their place are.
            self.depends_on_literals = true;
            if can_scan(query) {
                return Err(other.error.clone());
            }
        }
        for table in &facts.tables {
            let lock = match query.result_relation {
                Some(rte) if table.level == 0 && table.rte == rte => {
                    every::lock(query, &table.relation)
                }
                _ if facts.locks_rows => RelationLock::RowShare,
                _ => RelationLock::AccessShare,
            };
            self.use_relation(table.relation.oid, lock);
        }
        let effect = match query.command {
            Command::Select if facts.locks_rows => RemoteEffect::Any,
            Command::Select => RemoteEffect::Read,
            _ => RemoteEffect::Rows,
        };
        let mut values = Values::new(self.param_types.len());
        parts::separate(query);
        values.hoist(query, &first)?;
        let (text, params) = Values::numbered(0, |name| text::of(self.ctx.catalog, query, name))?;
        let key = inserted_parameter(query, &first)
            .and_then(|key| params.iter().position(|param| *param == key));
        let target = match (target, key) {
            (RemoteTarget::Key { distribution, type_oid, others, .. }, Some(place)) => {
                RemoteTarget::Parameter { distribution, place, type_oid, others }
            }
            (target, _) => target,
        };
        let types = &self.param_types;
        let params = params.into_iter().map(|index| values.value(index, types)).collect();
        let types: Vec<TypeRef> = result_targets(query).map(|target| target.expr.ty()).collect();
        let slot_names = result_targets(query).map(|target| Arc::clone(&target.name)).collect();
        let rows = if types.is_empty() { 0.0 } else { ROWS };
        let cost = Cost { startup: ROUND_TRIP, total: ROUND_TRIP + rows, rows, width: 0 };
        let columns = types.clone();
        let remote = RemoteQuery {
            text: text.into(),
            params,
            target,
            effect,
            columns,
            params_before: 0,
            is_whole: true,
        };
        let node = PlanNode::RemoteQuery(Box::new(remote));
        Ok(Plan { node, filter: None, project: None, types, slot_names, cost })
    }
}

/// Whether the coordinator can run a statement over scans of distributed tables. It changes rows of none
/// of them, and locks no rows. A row that an UPDATE or DELETE finds changed is joined again, with the rows
/// that the others had; a node cannot be asked for those. So these read no rows of nodes.
fn can_scan(query: &Query) -> bool {
    let mut can = true;
    for_each_query(&mut query.clone(), &mut |query| {
        let changed = query.result_relation.and_then(|rte| relation_of(&query.rtes[rte]));
        let is_here = changed.is_none_or(|table| !table.is_distributed());
        let is_cte = |rte: &Rte| matches!(rte.kind, RteKind::Cte { .. });
        can &= query.row_locks.is_empty() && query.current_of.is_none();
        can &= match query.command {
            Command::Select => true,
            Command::Insert => is_here,
            Command::Update | Command::Delete => {
                is_here && !has_distributed(query) && !query.rtes.iter().any(is_cte)
            }
        };
    });
    can
}

/// Where a statement runs.
fn target(query: &Query, facts: &Facts) -> Result<RemoteTarget> {
    let mut keyed: Option<Keyed<'_>> = None;
    let mut copies: Vec<(&Relation, &Arc<Distribution>)> = Vec::new();
    for table in &facts.tables {
        let relation = &*table.relation;
        let Some(distribution) = &relation.distribution else {
            return Err(mixed(relation, facts));
        };
        let Some(key) = distribution.key() else {
            copies.push((relation, distribution));
            continue;
        };
        let is_inserted = query.command == Command::Insert
            && table.level == 0
            && query.result_relation == Some(table.rte);
        let column = usize::try_from(key - 1).unwrap_or(0);
        let found = match is_inserted {
            true => inserted_value(query, relation, column)?,
            false => facts.values_of((table.level, table.rte, column)),
        };
        let type_oid = relation.columns.get(column).map_or(0, |column| column.type_oid);
        if found.is_empty() {
            let of_change = every::of_change(query, facts)?;
            return of_change.ok_or_else(|| without_key(relation, distribution));
        }
        let table = Keyed { relation, distribution, type_oid, values: found, others: Vec::new() };
        match &mut keyed {
            None => keyed = Some(table),
            Some(before) => before.add(table)?,
        }
    }
    if let Some((rte, _)) = query.result_relation.zip(keyed.as_ref())
        && let RteKind::Relation(relation) = &query.rtes[rte].kind
        && relation.distribution.as_ref().is_some_and(|own| own.key().is_none())
    {
        return Err(refused(relation, "a change by rows of other tables of distributed table"));
    }
    let Some(keyed) = keyed else {
        return of_copies(query, facts, &copies);
    };
    let Keyed { relation, distribution, type_oid, .. } = keyed;
    if let Some((copy, _)) = copies.first().filter(|_| facts.locks_rows) {
        return Err(refused(copy, "a row lock beside replicated table"));
    }
    if let Some((copy, _)) = copies.iter().find(|(_, copy)| {
        !copy.is_replicated() || !distribution.nodes.iter().all(|node| copy.nodes.contains(node))
    }) {
        return Err(apart(relation, copy));
    }
    let Some(key) = keyed.values.first().cloned() else {
        return Err(without_key(relation, distribution));
    };
    check_unchanged_key(query, relation, distribution)?;
    let others = keyed.others(&key)?.into();
    Ok(RemoteTarget::Key { distribution: Arc::clone(distribution), key, type_oid, others })
}

/// The tables with keys that a statement has, so far.
struct Keyed<'a> {
    /// The first one.
    relation: &'a Relation,
    distribution: &'a Arc<Distribution>,
    type_oid: Oid,
    /// The values that its key equals, each of which names the node.
    values: Vec<Expr>,
    /// Others whose keys equal none of these values.
    others: Vec<Keyed<'a>>,
}

impl<'a> Keyed<'a> {
    /// Adds a table. Error 0A000: its rows may be, or are, on another node.
    fn add(&mut self, table: Keyed<'a>) -> Result<()> {
        let types = (self.type_oid, table.type_oid);
        if !self.distribution.is_colocated_with(table.distribution, types) {
            return Err(apart(self.relation, table.relation));
        }
        match self.values.iter().any(|value| table.values.contains(value)) {
            true => self.values.retain(|value| table.values.contains(value)),
            false => self.others.push(table),
        }
        Ok(())
    }

    /// The keys of the others that must be on the node of `key`, where that is not known yet. Error
    /// 0A000: one is on another.
    fn others(&self, key: &Expr) -> Result<Vec<OtherKey>> {
        let mut unknown = Vec::new();
        for table in &self.others {
            let error = apart(self.relation, table.relation);
            let Some(other) = table.values.first() else { return Err(error) };
            if let (Expr::Const(one, _), Expr::Const(other, _)) = (key, other) {
                let place = self.distribution.place(self.type_oid, one)?;
                if self.distribution.place(table.type_oid, other)? != place {
                    return Err(error);
                }
                continue;
            }
            unknown.push(OtherKey { key: other.clone(), type_oid: table.type_oid, error });
        }
        Ok(unknown)
    }
}

/// A statement of tables without keys: a query of replicated tables runs on any node that has them
/// all, and an INSERT of a row into one runs on all its nodes.
fn of_copies(
    query: &Query,
    facts: &Facts,
    copies: &[(&Relation, &Arc<Distribution>)],
) -> Result<RemoteTarget> {
    let Some((first, of)) = copies.first() else {
        return Err(Error::internal("a statement has no distributed table"));
    };
    if let Some(target) = every::of_change(query, facts)? {
        return Ok(target);
    }
    if let Some((relation, _)) = copies.iter().find(|(_, copy)| !copy.is_replicated()) {
        return Err(refused(relation, "a statement of the round-robin distributed table"));
    }
    match query.command {
        Command::Select if facts.locks_rows => {
            Err(refused(first, "a lock of rows of replicated table"))
        }
        Command::Select => {
            let has = |node: &Oid| copies.iter().all(|(_, copy)| copy.nodes.contains(node));
            let nodes: Box<[Oid]> = of.nodes.iter().copied().filter(has).collect();
            match copies.iter().find(|_| nodes.is_empty()) {
                Some((other, _)) => Err(apart(first, other)),
                None => Ok(RemoteTarget::Any(nodes)),
            }
        }
        // It is one of rows.
        Command::Insert => Err(Error::internal("an INSERT has no key")),
        Command::Update => Err(refused(first, "UPDATE of the replicated table")),
        Command::Delete => Err(refused(first, "DELETE of the replicated table")),
    }
}

/// The value that an INSERT gives to the key.
fn inserted_value(query: &Query, relation: &Relation, column: usize) -> Result<Vec<Expr>> {
    if !query.from.is_empty() {
        return Err(refused(relation, "INSERT of more than one row into distributed table"));
    }
    Ok(query.targets.get(column).map(|target| target.expr.clone()).into_iter().collect())
}

/// The parameter that an INSERT gives to the key, which is evaluated once.
fn inserted_parameter(query: &Query, relation: &Relation) -> Option<usize> {
    let key = relation.distribution.as_ref()?.key().filter(|_| query.command == Command::Insert)?;
    let column = usize::try_from(key - 1).ok()?;
    match query.assignments.iter().find(|(at, _)| *at == column)? {
        (_, Expr::Param { index, .. }) => Some(*index),
        _ => None,
    }
}

/// An UPDATE may not move a row to another node yet.
fn check_unchanged_key(query: &Query, relation: &Relation, of: &Distribution) -> Result<()> {
    let Some(key) = of.key().and_then(|key| usize::try_from(key - 1).ok()) else { return Ok(()) };
    let mut assigned: Vec<&(usize, Expr)> = query.assignments.iter().collect();
    if let Some((assignments, _)) = query.on_conflict.as_ref().and_then(|c| c.update.as_ref()) {
        assigned.extend(assignments);
    }
    match assigned.iter().any(|(column, _)| *column == key) {
        true => Err(refused(relation, "a change of the distribution column of distributed table")),
        false => Ok(()),
    }
}

/// 0A000 for a statement that does not name the key.
fn without_key(relation: &Relation, distribution: &Distribution) -> Error {
    let key = distribution.key().and_then(|key| usize::try_from(key - 1).ok());
    let name = key.and_then(|key| relation.columns.get(key)).map_or("", |column| &*column.name);
    refused(relation, "a statement that does not name the key of distributed table")
        .hint(format!("Compare column \"{name}\" with a value by =."))
}

/// 0A000 for tables whose rows may be on different nodes.
fn apart(one: &Relation, other: &Relation) -> Error {
    let message = format!(
        "a statement of distributed tables \"{}\" and \"{}\" whose rows can be on different nodes \
         is not supported",
        one.name, other.name
    );
    Error::new(SqlState::FEATURE_NOT_SUPPORTED, message)
        .hint("Join tables that are distributed in the same way by their keys.")
}

/// 0A000 for a table of this server beside distributed ones.
fn mixed(local: &Relation, facts: &Facts) -> Error {
    let distributed = facts.tables.iter().find(|table| table.relation.is_distributed());
    let name = distributed.map_or("", |table| &*table.relation.name);
    let what = match local.kind {
        RelKind::Virtual => "system catalog",
        _ => "local relation",
    };
    let message = format!(
        "a statement of distributed table \"{name}\" and {what} \"{}\" is not supported",
        local.name
    );
    Error::new(SqlState::FEATURE_NOT_SUPPORTED, message)
}

/// 0A000 for a part of a statement that no node can run.
fn refused(relation: &Relation, what: &str) -> Error {
    let message = format!("{what} \"{}\" is not supported", relation.name);
    Error::new(SqlState::FEATURE_NOT_SUPPORTED, message)
}

/// Calls `f` on a query and all queries inside it.
fn for_each_query(query: &mut Query, f: &mut dyn FnMut(&mut Query)) {
    walk::for_each_query(query, 0, &mut |query, _| f(query));
}
