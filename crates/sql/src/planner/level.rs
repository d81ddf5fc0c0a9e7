//! One level of a query: a SELECT from its preparation to its plan (subquery_planner and
//! grouping_planner in planner.c).
//!
//! Rewrites of the query come first, then FROM and WHERE are planned, then the nodes above them
//! (`upper`; with row locks `lock_rows`). Queries may be nested [`LEVELS_MAX`] deep on any thread:
//! more stack is added where it runs out.

use super::eager_aggregate::EagerAggregation;
use super::join::Joined;
use super::prep;
use super::recheck::Recheck;
use super::upper::Input;
use super::{ColumnId, Planner, collect_columns};
use crate::parser::too_deep;
use crate::plan::*;
use crate::query::*;
use hashbrown::HashSet;
use steppe_types::{Error, Result};

/// The maximum number of nested queries that may be planned: a thread's stack is enough for that.
/// (PostgreSQL checks its stack. Views can be nested to any depth.)
const LEVELS_MAX: usize = 1500;
/// Stack that must be left before a query within another is planned, and how much to add when it is
/// not: one level takes 20 to 100 kB, by how far the compiler optimises.
const LEVEL_STACK: usize = 512 * 1024;
const MORE_STACK: usize = 16 * 1024 * 1024;

impl Planner<'_> {
    /// Plans a SELECT: the output row is the visible targets.
    pub(crate) fn query(&mut self, mut query: Query) -> Result<Plan> {
        prep::prepare(&mut query);
        self.prepared_query(query)
    }

    /// The same for one that is prepared, as that is done with the query around it.
    pub(super) fn prepared_query(&mut self, mut query: Query) -> Result<Plan> {
        if self.cte_levels.len() >= LEVELS_MAX {
            return Err(too_deep());
        }
        self.cte_levels.push(Vec::new());
        let around = std::mem::take(&mut self.bases);
        let planned = stacker::maybe_grow(LEVEL_STACK, MORE_STACK, || {
            self.with_constants_of(|planner| planner.query_with_ctes(&mut query))
        });
        self.bases = around;
        self.cte_levels.pop();
        planned
    }

    fn query_with_ctes(&mut self, query: &mut Query) -> Result<Plan> {
        if query.on_nodes {
            return self.partial_on_nodes(query);
        }
        if self.has_remote_scans
            && let Some(mut split) = self.split_for_nodes(query)
        {
            return self.plan_level(&mut split);
        }
        let Some(mut by_index) = self.extremes_by_index(query) else {
            return self.plan_level(query);
        };
        if query.filter.is_none() {
            return self.plan_level(&mut by_index);
        }
        // Few rows may satisfy the conditions: the index's end may be far from the first of them.
        let (before, constants) = (self.subplans.len(), self.constants.clone());
        let by_index = self.plan_level(&mut by_index)?;
        let ends: Vec<Plan> = self.subplans.drain(before..).collect();
        let after = std::mem::replace(&mut self.constants, constants);
        let aggregated = self.plan_level(query)?;
        let further = self.subplans[before..].iter().map(|plan| plan.cost.total).sum::<f64>();
        let cost = ends.iter().map(|plan| plan.cost.total).sum::<f64>() + by_index.cost.total;
        if aggregated.cost.total + further < cost {
            return Ok(aggregated);
        }
        self.subplans.truncate(before);
        self.subplans.extend(ends);
        self.constants = after;
        Ok(by_index)
    }

    fn plan_level(&mut self, query: &mut Query) -> Result<Plan> {
        super::union::sink_order(query);
        self.plan_ctes(query)?;
        self.preprocess(query)?;
        if let Some(operation) = query.set_operation.take() {
            let mut rels = self.set_operation(query, operation)?;
            // One Gather rather than one of each input, if that costs the same.
            if let Some(gathered) = rels.first().and_then(|rel| self.gathered(query, rel)) {
                rels.insert(0, gathered);
            }
            return self.finish_select(query, rels.into_iter().map(Input::Rows).collect());
        }
        self.simplify(query);
        self.drop_useless_group_keys(query);
        let recheck = Recheck::of_locks(query);
        let mut wanted = self.wanted_columns(query);
        recheck.collect_columns(&mut wanted);
        let order = self.wanted_order(query);
        let changed = self.changed.take();
        let locks = !query.row_locks.is_empty();
        let keeps_partners = std::mem::replace(&mut self.keeps_partners, locks);
        let eager = EagerAggregation::of(query, self.ctx.settings);
        let planned = self.plan_from_and_where(query, wanted, order, eager.as_ref());
        self.changed = changed;
        self.keeps_partners = keeps_partners;
        let Joined { cheapest, ordered, states } = planned?;
        let gathered = self.gathered(query, &cheapest);
        let rels = std::iter::once(cheapest).chain(gathered).chain(ordered);
        let states = states.into_iter().map(Input::States);
        let rels: Vec<Input> = rels.map(Input::Rows).chain(states).collect();
        if query.row_locks.is_empty() {
            return self.finish_select(query, rels);
        }
        let rows = rels.into_iter().map(Input::into_rel);
        cheapest_of(rows.map(|rel| self.finish_locking(query, rel, recheck.clone())))
    }

    /// Every column that targets, grouping, ordering and locking need (WHERE and FROM add theirs).
    fn wanted_columns(&self, query: &Query) -> HashSet<ColumnId> {
        let mut wanted = HashSet::new();
        query.targets.iter().for_each(|t| collect_columns(&t.expr, &mut wanted));
        query.group_by.iter().chain(&query.having).for_each(|e| collect_columns(e, &mut wanted));
        let windows = query.windows.iter().flat_map(WindowClause::keys);
        windows.for_each(|e| collect_columns(e, &mut wanted));
        for clause in &query.row_locks {
            wanted.extend(clause.rtes.iter().map(|rte| (*rte, ROW_ID)));
            let many = |rte: &&usize| self.is_in_many_tables(&query.rtes[**rte]);
            wanted.extend(clause.rtes.iter().filter(many).map(|rte| (*rte, TABLE_OID)));
        }
        wanted
    }
}

/// The plan that costs least.
fn cheapest_of(plans: impl Iterator<Item = Result<Plan>>) -> Result<Plan> {
    let mut best: Option<Plan> = None;
    for plan in plans {
        let plan = plan?;
        if best.as_ref().is_none_or(|best| plan.cost.beats(&best.cost)) {
            best = Some(plan);
        }
    }
    best.ok_or_else(lost_level)
}

pub(super) fn lost_level() -> Error {
    Error::internal("the planner lost track of query levels")
}
