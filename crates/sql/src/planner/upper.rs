//! What stands above FROM and WHERE: DISTINCT, ORDER BY, LIMIT, row
//! locks, WITH (planner.c).

use super::by_value::bounded_rows;
use super::cost;
use super::eager_aggregate::{EagerAggregation, JoinedStates};
use super::inline::inline_ctes;
use super::join::Joined;
use super::joinpath::output_names;
use super::ordered::ascending;
use super::prep;
use super::project_set::{project_sets, row_and};
use super::recheck::Recheck;
use super::scan::clamp_rows;
use super::search_cycle;
use super::selectivity::origins;
use super::sorting::{Grouping, Wish, is_better};
use super::{
    ColumnId, CtePlan, Planner, Rel, RteSet, collect_columns, is_volatile, node, returns_set,
    to_slots,
};
use crate::expr::{Expr, SortKey, TypeRef};
use crate::parser::too_deep;
use crate::plan::*;
use crate::query::*;
use hashbrown::HashSet;
use std::sync::Arc;
use steppe_types::{Error, Result, oid};

/// How many queries may be planned within one another: a thread's stack is enough to run that many.
/// (PostgreSQL looks at its stack. Views can be nested as deep as one likes.)
const LEVELS_MAX: usize = 1500;
/// Stack that must be left before a query within another is planned, and how much to add when it is
/// not: one level takes 20 to 100 kB, by how far the compiler optimises.
const LEVEL_STACK: usize = 512 * 1024;
const MORE_STACK: usize = 16 * 1024 * 1024;

/// What a query's grouping takes in, or what there is in its stead.
#[derive(Clone)]
enum Input {
    Rows(Rel),
    States(JoinedStates),
}

impl Input {
    fn rel(&self) -> &Rel {
        match self {
            Input::Rows(rel) => rel,
            Input::States(states) => &states.rel,
        }
    }

    fn into_rel(self) -> Rel {
        match self {
            Input::Rows(rel) => rel,
            Input::States(states) => states.rel,
        }
    }
}

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

    /// WITH queries become sub-plans that run once.
    pub(crate) fn plan_ctes(&mut self, query: &mut Query) -> Result<()> {
        for (index, mut cte) in std::mem::take(&mut query.ctes).into_iter().enumerate() {
            let name = cte.name.clone();
            if cte.references == 0 && cte.query.command == Command::Select {
                // Nothing reads it: it is not run.
                let unread = (CtePlan::SubPlan(usize::MAX), name, 0.0);
                self.cte_levels.last_mut().ok_or_else(lost_level)?.push(unread);
                continue;
            }
            search_cycle::add_columns(&mut cte, index)?;
            let outputs = origins(&cte.query);
            let plan = match cte.query.set_operation {
                Some(_) if cte.recursive => self.recursive_union(*cte.query, &name)?,
                _ => self.statement(*cte.query)?,
            };
            let rows = plan.cost.rows;
            self.subplans.push(plan);
            self.outputs.insert(self.subplans.len() - 1, outputs);
            let reference = (CtePlan::SubPlan(self.subplans.len() - 1), name, rows);
            self.cte_levels.last_mut().ok_or_else(lost_level)?.push(reference);
        }
        Ok(())
    }

    fn recursive_union(&mut self, mut query: Query, name: &Arc<str>) -> Result<Plan> {
        inline_ctes(&mut query);
        // The terms sit one level below the query that holds the set operation.
        self.cte_levels.push(Vec::new());
        let left = self.plan_ctes(&mut query);
        let operation = query.set_operation.take().ok_or_else(lost_level)?;
        let left = left.and_then(|()| self.query(*operation.left));
        let level = self.cte_levels.pop().ok_or_else(lost_level)?;
        let left = left?;
        let work_table = self.work_tables;
        self.work_tables += 1;
        let reference = (CtePlan::WorkTable(work_table), name.clone(), left.cost.rows * 10.0);
        self.cte_levels.last_mut().ok_or_else(lost_level)?.push(reference);
        self.cte_levels.push(level);
        let right = self.query(*operation.right);
        self.cte_levels.pop();
        self.cte_levels.last_mut().ok_or_else(lost_level)?.pop();
        let right = right?;
        let mut cost = left.cost;
        cost.total += right.cost.total * 10.0;
        cost.rows += right.cost.rows * 10.0;
        let (types, names) = (left.types.clone(), output_names(&left));
        let (left, right) = (Box::new(left), Box::new(right));
        let union = PlanNode::RecursiveUnion { left, right, all: operation.all, work_table };
        Ok(node(union, types, names, cost))
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

    /// Grouping, targets, DISTINCT, ORDER BY and LIMIT over FROM's rows, which were found in one way
    /// or in several: what all of it costs with each decides.
    fn finish_select(&mut self, query: &mut Query, mut inputs: Vec<Input>) -> Result<Plan> {
        let rows = inputs.iter().map(|input| input.rel().plan.cost.rows);
        self.note_limit(query, rows.fold(0.0, f64::max));
        let mut ways = self.strategies(query);
        if inputs.len() == 1 && ways.len() == 1 {
            let (Some(input), Some(way)) = (inputs.pop(), ways.pop()) else {
                return Err(lost_level());
            };
            return self.finish_in_one_way(query, input, way);
        }
        let each = inputs.iter().flat_map(|input| ways.iter().map(move |way| (input, way)));
        let mut best: Option<(Plan, bool)> = None;
        for (input, way) in each {
            let plan = self.finish_in_one_way(&mut query.clone(), input.clone(), *way)?;
            let in_order = way.gives_order(query) && !groups_by_sort(&plan);
            let is_first = |(best, ordered): &(Plan, bool)| {
                is_better((&plan.cost, in_order), (&best.cost, *ordered))
            };
            if best.as_ref().is_none_or(is_first) {
                best = Some((plan, in_order));
            }
        }
        best.map(|(plan, _)| plan).ok_or_else(lost_level)
    }

    fn finish_in_one_way(
        &mut self,
        query: &mut Query,
        input: Input,
        way: Strategy,
    ) -> Result<Plan> {
        let rel = match (query.has_aggregates, input) {
            (true, Input::Rows(rel)) => self.grouping(query, rel, way.groups)?,
            (true, Input::States(states)) => self.grouping_of_states(query, states, way.groups)?,
            (false, input) => input.into_rel(),
        };
        let rel = match query.windows.is_empty() {
            true => rel,
            false => self.windows(query, rel)?,
        };
        let rel = self.project_sorted(query, rel, way.distinct)?;
        let plan = self.limit(query, rel.plan)?;
        Ok(drop_hidden(query, plan))
    }

    /// Targets, DISTINCT and ORDER BY: what may be is computed before rows are sorted, the rest
    /// ([`late_targets`]) of rows that are kept.
    fn project_sorted(&mut self, query: &Query, rel: Rel, way: AggStrategy) -> Result<Rel> {
        let late = late_targets(query);
        if !late.contains(&true) || self.needs_no_sort(query, &rel)? {
            let rel = self.project_targets(query, rel)?;
            let targets = row_and(&rel.plan, []);
            let rel = self.distinct(query, rel, &targets, way)?;
            return self.order(query, rel, &targets, sort_bound(query));
        }
        let mut targets = targets_over(query, &rel.layout)?;
        // The row that is sorted: what late targets read, then what the others compute.
        let mut columns = row_and(&rel.plan, []);
        for (target, _) in targets.iter_mut().zip(&late).filter(|(_, late)| !**late) {
            if !matches!(target, Expr::Slot { .. }) {
                let slot = Expr::Slot { index: columns.len(), ty: target.ty() };
                columns.push(std::mem::replace(target, slot));
            }
        }
        let rel = match columns.len() > rel.plan.types.len() {
            true => Rel { plan: project_sets(rel.plan, columns), ..rel },
            false => rel,
        };
        // Sets computed late: how many sorted rows LIMIT needs is not known.
        let sets = targets.iter().zip(&late).any(|(target, late)| *late && returns_set(target));
        let bound = if sets { None } else { sort_bound(query) };
        let rel = self.distinct(query, rel, &targets, way)?;
        let rel = self.order(query, rel, &targets, bound)?;
        self.project(targets, rel)
    }

    /// Whether rows come as ORDER BY and DISTINCT want them: all targets are computed of them as they
    /// come then.
    fn needs_no_sort(&self, query: &Query, rel: &Rel) -> Result<bool> {
        let keys = order_keys(query, &targets_over(query, &rel.layout)?);
        Ok(matches!(query.distinct, Distinct::No) && self.gives_order(&rel.plan, &keys)?)
    }

    /// DISTINCT; `targets` are the select list over the row of `rel`.
    fn distinct(
        &mut self,
        query: &Query,
        rel: Rel,
        targets: &[Expr],
        way: AggStrategy,
    ) -> Result<Rel> {
        let all: Vec<usize>;
        let on = match &query.distinct {
            Distinct::No => return Ok(rel),
            Distinct::All if way == AggStrategy::Hashed => {
                let groups =
                    self.distinct_rows(query, &(0..targets.len()).collect::<Vec<_>>(), &rel);
                return Ok(self.hashed_distinct(rel, targets.to_vec(), groups));
            }
            Distinct::All => {
                all = (0..targets.len()).collect();
                &all
            }
            Distinct::On(on) => on,
        };
        let groups = self.distinct_rows(query, on, &rel);
        let mut keys = order_keys(query, targets);
        let mut written: Vec<&Expr> =
            query.order_by.iter().map(|o| &query.targets[o.target].expr).collect();
        for target in on.iter().filter(|t| !query.order_by.iter().any(|o| o.target == **t)) {
            keys.push(ascending(targets[*target].clone()));
            written.push(&query.targets[*target].expr);
        }
        if matches!(query.distinct, Distinct::All) {
            let arranged = self.order_of(&rel.plan)?.arranged(&keys);
            written = arranged.iter().map(|(i, _)| written[*i]).collect();
            keys = arranged.into_iter().map(|(_, key)| key).collect();
        }
        let wish = Wish { keys, written, bound: None, rows: None };
        let sorted = self.sorted_by_workers(query, rel, wish)?;
        let (types, names) = (sorted.plan.types.clone(), output_names(&sorted.plan));
        let slot = |target: &usize| match &targets[*target] {
            Expr::Slot { index, .. } => Some(*index),
            _ => None,
        };
        let columns: Vec<usize> = on.iter().filter_map(slot).collect();
        let mut cost = sorted.plan.cost;
        cost.total += cost.rows * self.costs().cpu_operator * columns.len() as f64;
        cost.rows = groups;
        let unique = PlanNode::Unique { child: Box::new(sorted.plan), columns };
        Ok(Rel { plan: node(unique, types, names, cost), ..sorted })
    }

    /// How many rows DISTINCT leaves.
    fn distinct_rows(&self, query: &Query, targets: &[usize], rel: &Rel) -> f64 {
        let estimator = self.estimator(&query.rtes);
        let each = targets.iter().map(|t| &query.targets[*t].expr);
        clamp_rows(estimator.groups(each, rel.plan.cost.rows))
    }

    /// Each combination of the keys once, by hash.
    pub(super) fn hashed_distinct(&self, rel: Rel, keys: Vec<Expr>, groups: f64) -> Rel {
        let how = Grouping {
            strategy: AggStrategy::Hashed,
            keys: keys.len(),
            calls: 0,
            distinct: 0,
            groups,
            width: rel.plan.cost.width,
        };
        let cost = self.grouping_cost(&rel.plan.cost, how);
        let mut rel = hash_distinct(rel, keys, self.ctx.settings.hash_mem_multiplier);
        rel.plan.cost = cost;
        rel
    }

    /// ORDER BY.
    fn order(
        &mut self,
        query: &Query,
        rel: Rel,
        targets: &[Expr],
        bound: Option<Expr>,
    ) -> Result<Rel> {
        if query.order_by.is_empty() {
            return Ok(rel);
        }
        let keys = order_keys(query, targets);
        let written = query.order_by.iter().map(|o| &query.targets[o.target].expr).collect();
        let rows = bound.as_ref().and_then(|_| self.limit_rows(query));
        self.sorted_by_workers(query, rel, Wish { keys, written, bound, rows })
    }

    /// Computes all targets, hidden ones too; slots are then target positions.
    fn project_targets(&mut self, query: &Query, rel: Rel) -> Result<Rel> {
        let exprs = targets_over(query, &rel.layout)?;
        self.project(exprs, rel)
    }

    pub(super) fn project(&mut self, exprs: Vec<Expr>, mut rel: Rel) -> Result<Rel> {
        let types: Vec<TypeRef> = exprs.iter().map(Expr::ty).collect();
        if exprs.iter().any(returns_set) {
            let plan = project_sets(rel.plan, exprs);
            return Ok(Rel { plan, layout: Vec::new(), rtes: RteSet::default() });
        }
        if rel.plan.project.is_some() {
            let (names, cost) = (output_names(&rel.plan), rel.plan.cost);
            let child_types = rel.plan.types.clone();
            let child = Some(Box::new(rel.plan));
            let above = PlanNode::Result { one_time_filter: None, child };
            rel.plan = node(above, child_types, names, cost);
        }
        let identity = rel.plan.types.len() == exprs.len()
            && exprs
                .iter()
                .enumerate()
                .all(|(i, e)| matches!(e, Expr::Slot { index, .. } if *index == i));
        rel.plan.cost.width = types.iter().map(|t| super::scan::type_width(*t)).sum();
        rel.plan.types = types;
        if !identity {
            rel.plan.project = Some(exprs);
        }
        // From here on slots are addressed by position.
        Ok(Rel { layout: Vec::new(), rtes: RteSet::default(), ..rel })
    }

    /// How many rows a LIMIT lets be read.
    fn limit_rows(&self, query: &Query) -> Option<f64> {
        let limit = query.limit.as_ref()?;
        Some(bounded_rows(Some(limit), query.offset.as_ref(), self.ctx.values))
    }

    fn limit(&mut self, query: &Query, plan: Plan) -> Result<Plan> {
        if query.limit.is_none() && query.offset.is_none() {
            return Ok(plan);
        }
        let ties = query.with_ties.then(|| order_keys(query, &row_and(&plan, [])));
        let mut cost = plan.cost;
        if let Some(rows) = self.limit_rows(query) {
            let share = (rows / cost.rows.max(1.0)).min(1.0);
            cost.total = cost.startup + (cost.total - cost.startup) * share;
            cost.rows = rows.min(cost.rows);
        }
        let (types, names) = (plan.types.clone(), output_names(&plan));
        let (limit, offset) = (query.limit.clone(), query.offset.clone());
        let limit = PlanNode::Limit { child: Box::new(plan), limit, offset, ties };
        Ok(node(limit, types, names, cost))
    }

    /// FOR UPDATE: rows are locked after sorting, so that a LIMIT locks no more than it returns.
    /// The raw columns travel through the sort, since a locked row may have to be read again.
    fn finish_locking(&mut self, query: &Query, rel: Rel, recheck: Recheck) -> Result<Plan> {
        let layout = rel.layout.clone();
        let Recheck { conditions, outer_joins } = recheck;
        let recheck = super::and_all(conditions).map(|e| to_slots(e, &layout)).transpose()?;
        let padded = |rtes: &RteSet| {
            let inside = |(_, id): &(usize, &ColumnId)| rtes.contains(id.0);
            layout.iter().enumerate().filter(inside).map(|(slot, _)| slot).collect()
        };
        let outer_joins = outer_joins
            .into_iter()
            .map(|(on, rtes)| Ok((to_slots(on, &layout)?, padded(&rtes))))
            .collect::<Result<_>>()?;
        let names = output_names(&rel.plan);
        let exprs = targets_over(query, &layout)?;
        let rel = self.order(query, rel, &exprs, None)?;
        let locks = self.row_locks(query, &layout)?;
        let cost = rel.plan.cost;
        let types = rel.plan.types.clone();
        let lock = PlanNode::LockRows { child: Box::new(rel.plan), locks, recheck, outer_joins };
        let mut plan = node(lock, types, names, cost);
        plan.types = exprs.iter().map(Expr::ty).collect();
        plan.project = Some(exprs);
        let plan = self.limit(query, plan)?;
        Ok(drop_hidden(query, plan))
    }

    fn row_locks(&mut self, query: &Query, layout: &[ColumnId]) -> Result<Vec<RowLock>> {
        let mut locks: Vec<RowLock> = Vec::new();
        for clause in &query.row_locks {
            for rte in &clause.rtes {
                let RteKind::Relation(relation) = &query.rtes[*rte].kind else { continue };
                let row_id = layout.iter().position(|c| *c == (*rte, ROW_ID)).ok_or_else(|| {
                    Error::internal("the row id of a locked table is not in the plan's row")
                })?;
                let leaf = layout.iter().position(|c| *c == (*rte, TABLE_OID));
                let leaf = leaf.filter(|_| self.is_in_many_tables(&query.rtes[*rte]));
                for member in self.members(&query.rtes[*rte]) {
                    self.use_relation(member.relation.oid, RelationLock::RowShare);
                }
                let of_table = |(slot, id): (usize, &ColumnId)| {
                    (id.0 == *rte && id.1 != ROW_ID).then_some((slot, id.1))
                };
                let columns = layout.iter().enumerate().filter_map(of_table).collect();
                let alias = query.rtes[*rte].alias.clone();
                let rel = ScanRelation { relation: relation.clone(), alias };
                self.use_relation(relation.oid, RelationLock::RowShare);
                locks.push(RowLock {
                    rel,
                    row_id,
                    leaf,
                    columns,
                    strength: clause.strength,
                    wait: clause.wait,
                });
            }
        }
        Ok(locks)
    }
}

/// The select list over a plan's row.
fn targets_over(query: &Query, layout: &[ColumnId]) -> Result<Vec<Expr>> {
    query.targets.iter().map(|t| to_slots(t.expr.clone(), layout)).collect()
}

/// How a query groups, and how it leaves out duplicates.
#[derive(Clone, Copy)]
struct Strategy {
    groups: AggStrategy,
    distinct: AggStrategy,
}

impl Strategy {
    /// Whether rows come in an order of groups or of what DISTINCT keeps.
    fn gives_order(self, query: &Query) -> bool {
        query.has_aggregates && self.groups == AggStrategy::Sorted
            || matches!(query.distinct, Distinct::All) && self.distinct == AggStrategy::Sorted
    }
}

/// Whether groups come from a sort of all their rows: then their order is no reason to prefer it.
/// Of few rows in the estimate there may be many, and a hash table of groups does not grow with
/// them. (PostgreSQL's order wins a tie here, too.)
fn groups_by_sort(plan: &Plan) -> bool {
    if let PlanNode::Agg { child, .. } | PlanNode::Unique { child, .. } = &plan.node {
        return matches!(child.node, PlanNode::Sort { .. });
    }
    let mut found = false;
    for_each_child(plan, &mut |child| found |= groups_by_sort(child));
    found
}

impl Planner<'_> {
    /// All the ways there are to choose from.
    fn strategies(&self, query: &Query) -> Vec<Strategy> {
        use AggStrategy::{Hashed, Sorted};
        let both: &[AggStrategy] = &[Hashed, Sorted];
        let groups = match query.has_aggregates {
            true => self.group_strategies(query),
            false => &both[..1],
        };
        let distinct = match &query.distinct {
            Distinct::All if query.targets.iter().all(|t| has_order(t.expr.ty())) => both,
            _ => &both[..1],
        };
        let pairs = groups.iter().flat_map(|g| distinct.iter().map(|d| (*g, *d)));
        pairs.map(|(groups, distinct)| Strategy { groups, distinct }).collect()
    }
}

/// Whether values of a type can be sorted.
pub(super) fn has_order(ty: TypeRef) -> bool {
    steppe_catalog::Builtins::get().ordering(ty.oid).is_some()
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

fn lost_level() -> Error {
    Error::internal("the planner lost track of query levels")
}

/// Each combination of the keys once; they may take so many times work_mem.
pub(super) fn hash_distinct(rel: Rel, keys: Vec<Expr>, memory_factor: f64) -> Rel {
    let (types, names) = (rel.plan.types.clone(), output_names(&rel.plan));
    let input = rel.plan.cost;
    let total = input.total + input.rows * cost::CPU_OPERATOR * keys.len().max(1) as f64;
    let rows = clamp_rows((input.rows * 0.5).max(1.0));
    let cost = Cost { startup: total, total: total + rows * cost::CPU_TUPLE, rows, ..input };
    let agg = PlanNode::Agg {
        child: Box::new(rel.plan),
        strategy: AggStrategy::Hashed,
        mode: AggMode::Simple,
        keys,
        aggregates: Vec::new(),
        empty_groups: Vec::new(),
        memory_factor,
    };
    Rel { plan: node(agg, types, names, cost), ..rel }
}

/// Which targets are computed after sorting, of the rows that are kept: calls of volatile functions
/// and sub-selects that ORDER BY and DISTINCT do not look at, and set-returning functions if it
/// looks at none of these (planner.c, make_sort_input_target).
fn late_targets(query: &Query) -> Vec<bool> {
    let sorted = |i: usize| match &query.distinct {
        Distinct::All => true,
        Distinct::On(on) => on.contains(&i) || query.order_by.iter().any(|o| o.target == i),
        Distinct::No => query.order_by.iter().any(|o| o.target == i),
    };
    let is_set = |i: usize| returns_set(&query.targets[i].expr);
    let late_sets = !(0..query.targets.len()).any(|i| sorted(i) && is_set(i));
    let late = |i: usize| match is_set(i) {
        true => late_sets,
        false => is_volatile(&query.targets[i].expr),
    };
    let has_order = !query.order_by.is_empty();
    (0..query.targets.len()).map(|i| has_order && !sorted(i) && late(i)).collect()
}

fn order_keys(query: &Query, targets: &[Expr]) -> Vec<SortKey> {
    let key = |o: &OrderBy| SortKey {
        expr: targets[o.target].clone(),
        descending: o.descending,
        nulls_first: o.nulls_first,
    };
    query.order_by.iter().map(key).collect()
}

/// How many rows a sort must keep: LIMIT + OFFSET.
pub(super) fn sort_bound(query: &Query) -> Option<Expr> {
    if query.with_ties {
        return None;
    }
    let limit = query.limit.clone()?;
    let Some(offset) = query.offset.clone() else { return Some(limit) };
    let ty = TypeRef::plain(oid::INT8);
    let builtins = steppe_catalog::Builtins::get();
    let plus =
        builtins.operators_named("+").find(|o| o.left == oid::INT8 && o.right == oid::INT8)?;
    let syntax = crate::expr::CallSyntax::Operator(plus.oid);
    Some(Expr::Func { func: plus.func, args: vec![limit, offset], ty, syntax })
}

/// The final row has only the visible targets.
fn drop_hidden(query: &Query, plan: Plan) -> Plan {
    if query.targets.iter().all(|t| !t.hidden) {
        return plan;
    }
    let visible: Vec<usize> =
        (0..query.targets.len()).filter(|i| !query.targets[*i].hidden).collect();
    let types: Vec<TypeRef> = visible.iter().map(|i| plan.types[*i]).collect();
    let mut plan = plan;
    match &mut plan.project {
        Some(exprs) if !exprs.iter().any(returns_set) => {
            let kept = visible.iter().map(|i| exprs[*i].clone()).collect();
            *exprs = kept;
        }
        Some(_) => {
            let (names, cost, child_types) = (output_names(&plan), plan.cost, plan.types.clone());
            let result = PlanNode::Result { one_time_filter: None, child: Some(Box::new(plan)) };
            plan = node(result, child_types, names, cost);
            plan.project = Some(slots(&visible, &types));
        }
        None => plan.project = Some(slots(&visible, &types)),
    }
    plan.types = types;
    plan
}

fn slots(visible: &[usize], types: &[TypeRef]) -> Vec<Expr> {
    visible.iter().zip(types).map(|(i, ty)| Expr::Slot { index: *i, ty: *ty }).collect()
}
