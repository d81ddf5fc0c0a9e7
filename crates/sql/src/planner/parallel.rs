//! Plans that several threads run: each thread below a Gather processes a part of the rows. In
//! PostgreSQL: allpaths.c, create_partial_grouping_paths in planner.c, cost_gather in costsize.c.
//!
//! ```text
//!   Agg (Finalize)                    states to results
//!    └ Gather                         of all threads
//!       └ Agg (Partial)               rows to states, in each thread
//!          └ Hash Join                each thread has all inner rows
//!             ├ Seq Scan (parallel)   and a part of the outer ones
//!             └ …                     found by each alone, or together
//! ```
//!
//! Threads share the plan that is cheapest for one thread, as in XPRS (Hong and Stonebraker,
//! "Optimization of parallel query execution plans in XPRS", 1993). The rows of its outermost table
//! are dealt out, if that is read whole. Whether that pays is decided by PostgreSQL's costs. Joins
//! that keep inner rows which no outer row of any thread has met are not shared.
//!
//! A plan below a Gather reads stored tables by the statement's view, and computes what PostgreSQL
//! calls parallel safe. Work that parallel workers cannot do stays above: sub-selects in
//! expressions, WITH queries, locks on rows and on partitions, temporary and virtual tables.

use super::grouping::Aggregation;
use super::path_cost::TableSize;
use super::scan::clamp_rows;
use super::sorting::{Wish, limited};
use super::{Planner, PlannerSettings, Rel, node};
use crate::expr::{ExecParamId, Expr, SortKey};
use crate::plan::*;
use crate::query::{Command, JoinKind, Query};
use std::collections::BTreeSet;
use steppe_catalog::objects::{Body, Parallel};
use steppe_catalog::{Function, RelKind, Relation};
use steppe_types::Result;

/// The share of its time that the leader has less for the plan, a worker
/// (get_parallel_divisor).
const LEADER_SHARE_LOST: f64 = 0.3;
/// Bytes of a row besides its columns.
const ROW_OVERHEAD: f64 = 24.0;
/// If a plan costs at least `MUCH_MORE` times as much as handing its rows over, one thread runs it
/// for all.
const MUCH_MORE: f64 = 4.0;
/// The cost of a row that has to come from one thread, in times of a row that may come from any
/// (cost_gather_merge).
const MERGED_ROW_FACTOR: f64 = 1.05;
/// One worker more for a table `PAGES_FACTOR` times as large (compute_parallel_worker).
const PAGES_FACTOR: f64 = 3.0;

/// Settings of plans that several threads run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ParallelSettings {
    /// max_parallel_workers_per_gather
    pub workers_max: usize,
    /// parallel_leader_participation
    pub leader_participates: bool,
    /// enable_parallel_append
    pub append: bool,
    /// parallel_setup_cost
    pub setup_cost: f64,
    /// parallel_tuple_cost
    pub tuple_cost: f64,
    /// min_parallel_table_scan_size in pages
    pub table_pages_min: f64,
    /// enable_parallel_hash
    pub hash: bool,
    /// enable_gathermerge
    pub merge: bool,
}

impl Default for ParallelSettings {
    fn default() -> ParallelSettings {
        ParallelSettings {
            workers_max: 2,
            leader_participates: true,
            append: true,
            setup_cost: 1000.0,
            tuple_cost: 0.1,
            table_pages_min: 1024.0,
            hash: true,
            merge: true,
        }
    }
}

/// Whether several threads may run a statement: it must be read-only.
pub(super) fn may_be(settings: &PlannerSettings, query: &Query) -> bool {
    settings.parallel.workers_max > 0
        && query.command == Command::Select
        && query.row_locks.is_empty()
        && query.ctes.iter().all(|cte| cte.query.command == Command::Select)
}

/// A plan of which each thread has a part of the rows, as its estimates are then.
pub(super) struct Shared {
    pub(super) plan: Plan,
    pub(super) workers: usize,
}

/// The place of a table in a query.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum TableIs {
    Alone,
    /// An input of an Append: the minimum size of a table does not apply.
    Member,
}

impl Planner<'_> {
    /// The rows of a query's FROM and WHERE by several threads, if they can find them.
    pub(super) fn gathered(&self, query: &Query, rel: &Rel) -> Option<Rel> {
        let shared = self.shared(query, &rel.plan)?;
        Some(Rel { plan: self.gather(shared, Vec::new()), ..rel.clone() })
    }

    /// Rows in the wanted order: sorted by one, or by several of which each sorts its part
    /// (create_ordered_paths, generate_useful_gather_paths).
    pub(super) fn sorted_by_workers(&self, query: &Query, rel: Rel, wish: Wish<'_>) -> Result<Rel> {
        let is_divisible =
            self.may_merge(&wish.keys) && wish.bound.iter().all(is_safe) && !wish.keys.is_empty();
        let shared = if is_divisible { self.shared(query, &rel.plan) } else { None };
        let Some(Shared { plan, workers }) = shared else {
            return self.sorted(rel, wish, &query.rtes);
        };
        let (rows, keys) = (wish.rows, wish.keys.clone());
        let part = self.sorted(Rel { plan, ..rel.clone() }, wish.clone(), &query.rtes)?.plan;
        let merged = self.gather(Shared { plan: part, workers }, keys);
        let at_once = self.sorted(rel, wish, &query.rtes)?;
        let is_cheaper = limited(&merged.cost, rows) < limited(&at_once.plan.cost, rows);
        Ok(if is_cheaper { Rel { plan: merged, ..at_once } } else { at_once })
    }

    /// Whether rows in this order can be merged: its keys are columns of theirs.
    fn may_merge(&self, keys: &[SortKey]) -> bool {
        let is_column = |key: &SortKey| matches!(key.expr, Expr::Slot { .. });
        self.is_parallel && self.ctx.settings.parallel.merge && keys.iter().all(is_column)
    }

    /// The aggregation in one step, or over states that several threads compute from their rows.
    /// `unsorted` is the plan of the rows if the child has them in the order of the keys.
    pub(super) fn aggregation_by_workers(
        &mut self,
        query: &Query,
        (child, unsorted): (Plan, Option<Plan>),
        what: Aggregation,
    ) -> Result<Rel> {
        let is_divisible = query.grouping_sets.is_none()
            && what.has_states()
            && what.aggregates.iter().all(|call| {
                is_safe_function(&call.func) && call.args.iter().chain(&call.filter).all(is_safe)
            })
            && what.keys.iter().all(is_safe);
        let rows = unsorted.as_ref().unwrap_or(&child);
        let shared = if is_divisible { self.shared(query, rows) } else { None };
        let Some(shared) = shared else { return self.aggregation(child, what) };
        let mut best = self.aggregation(child, what.clone())?;
        for in_parts in self.aggregations_of_states(query, shared, what)? {
            if in_parts.plan.cost.total < best.plan.cost.total {
                best = in_parts;
            }
        }
        Ok(best)
    }

    /// The ways to make groups of the states that several threads make of their rows: by hash, or
    /// in the order of the keys, which the threads' groups are in or are sorted in
    /// (create_partial_grouping_paths, gather_grouping_paths).
    fn aggregations_of_states(
        &mut self,
        query: &Query,
        shared: Shared,
        what: Aggregation,
    ) -> Result<Vec<Rel>> {
        let Shared { plan, workers } = shared;
        let mut part = what.of_a_part();
        part.groups = self.estimator(&query.rtes).groups(&query.group_by, plan.cost.rows);
        let states = what.of_states();
        if what.strategy != AggStrategy::Sorted {
            let part = self.aggregation(plan, part)?.plan;
            let states_of_all = self.gather(Shared { plan: part, workers }, Vec::new());
            return Ok(vec![self.aggregation(states_of_all, states)?]);
        }
        let mut ways = Vec::new();
        for strategy in [AggStrategy::Hashed, AggStrategy::Sorted] {
            if !self.may_merge(&states.sort) {
                break;
            }
            let part = Aggregation { strategy, ..part.clone() };
            let part = self.aggregation(plan.clone(), part)?;
            let keys = states.sort.clone();
            let wish = Wish { keys, written: Vec::new(), bound: None, rows: None };
            let part = self.sorted(part, wish, &[])?.plan;
            let merged = self.gather(Shared { plan: part, workers }, states.sort.clone());
            ways.push(self.aggregation(merged, states.clone())?);
        }
        Ok(ways)
    }

    /// All threads' rows, in the order of each if there is one (cost_gather, cost_gather_merge).
    fn gather(&self, shared: Shared, order: Vec<SortKey>) -> Plan {
        let Shared { plan, workers } = shared;
        let settings = &self.ctx.settings.parallel;
        let mut cost = plan.cost;
        cost.rows = clamp_rows(cost.rows * self.divisor(workers));
        let mut of_rows = settings.tuple_cost * cost.rows;
        if !order.is_empty() {
            let threads = workers as f64 + 1.0;
            let place = 2.0 * self.costs().cpu_operator * threads.log2();
            cost.startup += place * threads;
            cost.total += place * threads;
            of_rows *= MERGED_ROW_FACTOR;
            of_rows += (place + self.costs().cpu_operator) * cost.rows;
        }
        cost.startup += settings.setup_cost;
        cost.total += settings.setup_cost + of_rows;
        let (types, names) = (plan.types.clone(), super::joinpath::output_names(&plan));
        node(PlanNode::Gather { child: Box::new(plan), workers, order }, types, names, cost)
    }

    /// The work of the leader and `workers` workers, in times of one thread's
    /// (get_parallel_divisor).
    pub(super) fn divisor(&self, workers: usize) -> f64 {
        let workers = workers as f64;
        let leader = match self.ctx.settings.parallel.leader_participates {
            true => (1.0 - LEADER_SHARE_LOST * workers).max(0.0),
            false => 0.0,
        };
        workers + leader
    }

    /// The plan as several threads share it, if they can.
    fn shared(&self, query: &Query, plan: &Plan) -> Option<Shared> {
        let of_query = query.targets.iter().map(|target| &target.expr).chain(&query.having);
        let is_gathered = matches!(plan.node, PlanNode::Gather { .. });
        if !self.is_parallel || self.in_leaf || is_gathered || !query.row_locks.is_empty() {
            return None;
        }
        let shared = self.dealt_out(plan)?;
        let mut params = Params::default();
        params.collect(plan);
        let is_safe = params.are_inner() && !of_query.into_iter().any(is_unsafe);
        is_safe.then_some(shared)
    }

    /// The plan with the rows of its outermost table dealt out.
    pub(super) fn dealt_out(&self, plan: &Plan) -> Option<Shared> {
        if !has_safe_expressions(plan) {
            return None;
        }
        let plan_shared = |child: &Plan, make: &mut dyn FnMut(Plan) -> PlanNode| {
            let Shared { plan: part, workers } = self.dealt_out(child)?;
            let own = (plan.cost.total - child.cost.total).max(0.0);
            let divisor = self.divisor(workers);
            let mut cost = plan.cost;
            cost.total = part.cost.total + own / divisor;
            cost.startup = cost.startup.min(cost.total);
            cost.rows = clamp_rows(cost.rows / divisor);
            let shared = Plan { node: make(part), cost, ..without_node(plan) };
            Some(Shared { plan: shared, workers })
        };
        let is_shared_join = |kind: JoinKind| {
            matches!(kind, JoinKind::Inner | JoinKind::Left | JoinKind::Semi | JoinKind::Anti)
        };
        match &plan.node {
            PlanNode::SeqScan { .. } | PlanNode::BitmapScan { .. } => {
                self.dealt_out_table(plan, TableIs::Alone)
            }
            PlanNode::PartitionScan { .. } => self.dealt_out_leaves(plan),
            PlanNode::Append(inputs) => self.dealt_out_append(plan, inputs),
            PlanNode::Gather { child, workers, order } if order.is_empty() => {
                gathered_before(plan, child, *workers)
            }
            PlanNode::HashJoin { kind, .. } if is_shared_join(*kind) => self.dealt_out_hash(plan),
            PlanNode::NestLoop { kind, outer, inner, params, on }
                if is_shared_join(*kind) && self.is_safe_plan(inner) =>
            {
                plan_shared(outer, &mut |outer| PlanNode::NestLoop {
                    kind: *kind,
                    outer: Box::new(outer),
                    inner: inner.clone(),
                    params: params.clone(),
                    on: on.clone(),
                })
            }
            PlanNode::Result { one_time_filter: None, child: Some(child) } => {
                plan_shared(child, &mut |child| PlanNode::Result {
                    one_time_filter: None,
                    child: Some(Box::new(child)),
                })
            }
            PlanNode::SubqueryScan { child, alias } => plan_shared(child, &mut |child| {
                PlanNode::SubqueryScan { child: Box::new(child), alias: alias.clone() }
            }),
            _ => None,
        }
    }

    /// A hash join. Each thread has a table of all inner rows: found by itself or together with the
    /// others, as is cheaper, or by one thread for all.
    fn dealt_out_hash(&self, plan: &Plan) -> Option<Shared> {
        let PlanNode::HashJoin { kind, outer, inner, keys, on, memory_factor, .. } = &plan.node
        else {
            return None;
        };
        let Shared { plan: part, workers } = self.dealt_out(outer)?;
        let (alone, together) = (self.is_safe_plan(inner), self.found_together(inner));
        let (inner_plan, inner_cost, inner_rows) = match (alone, together) {
            (true, Some((_, cost))) if cost >= inner.cost.total => {
                ((**inner).clone(), inner.cost.total, self.found_alone(inner))
            }
            (_, Some((plan, cost))) => (plan, cost, InnerRows::Together),
            (true, None) => ((**inner).clone(), inner.cost.total, self.found_alone(inner)),
            (false, None) => return None,
        };
        let divisor = self.divisor(workers);
        let own = (plan.cost.total - outer.cost.total - inner.cost.total).max(0.0);
        // The table is made by one thread for all, or by each.
        let costs = self.costs();
        let a_row = costs.cpu_operator * keys.len() as f64 + costs.cpu_tuple;
        let making = (inner.cost.rows * a_row).min(own);
        let handed_over = match inner_rows {
            InnerRows::Once => inner.cost.rows * costs.cpu_tuple,
            InnerRows::Own | InnerRows::Together => 0.0,
        };
        let mut cost = plan.cost;
        let before = inner_cost + handed_over + making;
        cost.startup = part.cost.startup + before;
        cost.total = part.cost.total + before + (own - making) / divisor;
        cost.rows = clamp_rows(cost.rows / divisor);
        let node = PlanNode::HashJoin {
            kind: *kind,
            outer: Box::new(part),
            inner: Box::new(inner_plan),
            keys: keys.clone(),
            on: on.clone(),
            memory_factor: *memory_factor,
            inner_rows,
        };
        Some(Shared { plan: Plan { node, cost, ..without_node(plan) }, workers })
    }

    /// Whether one thread is to find an inner side's rows for all, which takes no longer: PostgreSQL
    /// lets each thread do it, on a processor of its own, which others may want. It is to be done
    /// where there is much more to do than to hand the rows over.
    fn found_alone(&self, plan: &Plan) -> InnerRows {
        let handed_over = plan.cost.rows * self.costs().cpu_tuple;
        match self.holds(plan) && plan.cost.total >= MUCH_MORE * handed_over {
            true => InnerRows::Once,
            false => InnerRows::Own,
        }
    }

    /// Whether memory holds the rows of a plan that threads share.
    fn holds(&self, plan: &Plan) -> bool {
        let bytes = plan.cost.rows * (f64::from(plan.cost.width) + ROW_OVERHEAD);
        self.ctx.settings.parallel.hash && bytes <= self.ctx.settings.work_mem_kb as f64 * 1024.0
    }

    /// A plan whose rows threads find together for each of them to have, as far as memory holds
    /// them, and its cost.
    fn found_together(&self, plan: &Plan) -> Option<(Plan, f64)> {
        if !self.holds(plan) {
            return None;
        }
        let shared = self.dealt_out(plan)?.plan;
        let cost = shared.cost.total + plan.cost.rows * self.costs().cpu_tuple;
        Some((shared, cost))
    }

    /// A table's rows by a full scan that is dealt out.
    pub(super) fn dealt_out_table(&self, plan: &Plan, is: TableIs) -> Option<Shared> {
        match &plan.node {
            PlanNode::SeqScan { cursor: None, .. } => self.dealt_out_scan(plan, is),
            PlanNode::BitmapScan { .. } => self.dealt_out_bitmap(plan, is),
            _ => None,
        }
    }

    /// The rows that a bitmap would name.
    fn dealt_out_bitmap(&self, plan: &Plan, is: TableIs) -> Option<Shared> {
        let PlanNode::BitmapScan { rel, recheck, columns, .. } = &plan.node else { return None };
        if !self.ctx.settings.seqscan {
            return None;
        }
        let mut conditions = Vec::new();
        super::conjuncts(recheck.clone(), &mut conditions);
        plan.filter.iter().for_each(|filter| super::conjuncts(filter.clone(), &mut conditions));
        let size = self.size_of(&rel.relation);
        let charge = self.costs().seq_scan(size, self.operators_of(&conditions));
        let cost = charge.for_rows(plan.cost.rows, plan.cost.width);
        let (rel, columns) = (rel.clone(), columns.clone());
        let node = PlanNode::SeqScan { rel, columns, cursor: None, parallel: false };
        let filter = super::and_all(super::cost::cheapest_first(conditions));
        self.dealt_out_scan(&Plan { node, filter, cost, ..without_node(plan) }, is)
    }

    /// Rows and pages of a table; of a partitioned one those of the average leaf.
    fn size_of(&self, table: &Relation) -> TableSize {
        let (rows, pages) = match self.known_leaf_size(table) {
            Some(size) => size,
            None => self.ctx.sizes.size(table),
        };
        TableSize { rows: rows.max(1.0), pages: pages.max(1.0) }
    }

    /// A full scan (cost_seqscan): the cost of its rows is shared, its pages are not cheaper.
    fn dealt_out_scan(&self, plan: &Plan, is: TableIs) -> Option<Shared> {
        let PlanNode::SeqScan { rel, columns, .. } = &plan.node else { return None };
        if !self.is_shared_table(&rel.relation) {
            return None;
        }
        let pages = self.size_of(&rel.relation).pages;
        let workers = self.workers_for(&rel.relation, pages, is)?;
        let divisor = self.divisor(workers);
        let mut cost = plan.cost;
        let reading = (pages * self.costs().seq_page).min(cost.total);
        cost.total = reading + (cost.total - reading) / divisor;
        cost.rows = clamp_rows(cost.rows / divisor);
        let (rel, columns) = (rel.clone(), columns.clone());
        let node = PlanNode::SeqScan { rel, columns, cursor: None, parallel: true };
        Some(Shared { plan: Plan { node, cost, ..without_node(plan) }, workers })
    }

    /// The number of workers for a table's size (compute_parallel_worker).
    fn workers_for(&self, table: &Relation, pages: f64, is: TableIs) -> Option<usize> {
        let settings = &self.ctx.settings.parallel;
        let option = table.options.iter().find(|(name, _)| &**name == "parallel_workers");
        let workers = match option.and_then(|(_, value)| value.parse::<usize>().ok()) {
            Some(workers) => workers,
            None if is == TableIs::Alone && pages < settings.table_pages_min => 0,
            None => {
                let mut threshold = settings.table_pages_min.max(1.0) * PAGES_FACTOR;
                let mut workers = 1;
                while pages >= threshold && workers < settings.workers_max {
                    threshold *= PAGES_FACTOR;
                    workers += 1;
                }
                workers
            }
        };
        Some(workers.min(settings.workers_max)).filter(|workers| *workers > 0)
    }

    /// Whether any thread can read a relation's rows.
    fn is_shared_table(&self, table: &Relation) -> bool {
        // A partitioned one stands for its leaves.
        let is_stored = matches!(table.kind, RelKind::Table | RelKind::PartitionedTable);
        is_stored && !self.ctx.catalog.is_temporary(table)
    }

    /// Whether each thread can run a plan from its beginning to its end, with the same rows.
    fn is_safe_plan(&self, plan: &Plan) -> bool {
        let is_safe = match &plan.node {
            PlanNode::SeqScan { rel, cursor: None, .. }
            | PlanNode::IndexScan { rel, .. }
            | PlanNode::BitmapScan { rel, .. }
            | PlanNode::BitmapIndexScan { rel, .. } => self.is_shared_table(&rel.relation),
            PlanNode::Agg { aggregates, .. } => {
                aggregates.iter().all(|call| is_safe_function(&call.func))
            }
            PlanNode::BitmapAnd(_)
            | PlanNode::BitmapOr(_)
            | PlanNode::NestLoop { .. }
            | PlanNode::HashJoin { .. }
            | PlanNode::MergeJoin { .. }
            | PlanNode::Materialize(_)
            | PlanNode::Memoize { .. }
            | PlanNode::Sort { .. }
            | PlanNode::Unique { .. }
            | PlanNode::Append(_)
            | PlanNode::SubqueryScan { .. } => true,
            PlanNode::Result { one_time_filter, .. } => one_time_filter.is_none(),
            _ => false,
        };
        let mut all = is_safe && has_safe_expressions(plan);
        for_each_child(plan, &mut |child| all = all && self.is_safe_plan(child));
        all
    }
}

/// A copy of a node that is going to be another kind's.
pub(super) fn without_node(plan: &Plan) -> Plan {
    Plan {
        node: PlanNode::Result { one_time_filter: None, child: None },
        filter: plan.filter.clone(),
        project: plan.project.clone(),
        types: plan.types.clone(),
        slot_names: plan.slot_names.clone(),
        cost: plan.cost,
    }
}

/// The shared part of a Gather that was planned before, for a plan over fewer rows.
fn gathered_before(plan: &Plan, child: &Plan, workers: usize) -> Option<Shared> {
    if plan.filter.is_some() {
        return None;
    }
    let Some(project) = &plan.project else {
        return Some(Shared { plan: child.clone(), workers });
    };
    let mut part = child.clone();
    if part.project.is_some() {
        let (types, names) = (child.types.clone(), super::joinpath::output_names(child));
        let above = PlanNode::Result { one_time_filter: None, child: Some(Box::new(part)) };
        part = node(above, types, names, child.cost);
    }
    part.project = Some(project.clone());
    part.types = plan.types.clone();
    Some(Shared { plan: part, workers })
}

/// The run-time parameters that a plan reads, and the ones that it sets itself.
#[derive(Default)]
struct Params {
    read: BTreeSet<ExecParamId>,
    set: BTreeSet<ExecParamId>,
}

impl Params {
    fn collect(&mut self, plan: &Plan) {
        for_each_expr(plan, &mut |expr| self.collect_read(expr));
        if let PlanNode::NestLoop { params, .. } = &plan.node {
            self.set.extend(params.iter().map(|(id, _)| *id));
        }
        for_each_child(plan, &mut |child| self.collect(child));
    }

    fn collect_read(&mut self, expr: &Expr) {
        if let Expr::ExecParam { id, .. } = expr {
            self.read.insert(*id);
        }
        expr.for_each_child(&mut |child| self.collect_read(child));
    }

    /// Whether all of them are set inside: one from outside may change while parallel workers run.
    fn are_inner(&self) -> bool {
        self.read.is_subset(&self.set)
    }
}

pub(super) fn has_safe_expressions(plan: &Plan) -> bool {
    let mut all = true;
    for_each_expr(plan, &mut |expr| all = all && is_safe(expr));
    all
}

/// The parallel safety of a function (proparallel). A function of the user's is unsafe unless it is
/// declared otherwise. One that is written in SQL runs statements, for which there is one session.
fn parallel_of(function: &Function) -> Parallel {
    // The functions of a user's aggregate may be users', too: the leader calls them.
    if function.is_aggregate() && !function.is_built_in() && function.parallel == Parallel::Safe {
        return Parallel::Restricted;
    }
    let is_native = match function.body {
        Body::Native { .. } => true,
        _ => function.built_in_source().is_some_and(|source| !source.contains(' ')),
    };
    if is_native { function.parallel } else { Parallel::Unsafe }
}

fn is_safe_function(function: &Function) -> bool {
    parallel_of(function) == Parallel::Safe && !function.is_volatile()
}

/// Whether helpers can evaluate an expression.
fn is_safe(expr: &Expr) -> bool {
    let own = match expr {
        Expr::Func { func, .. }
        | Expr::Distinct { eq: func, .. }
        | Expr::NullIf { eq: func, .. }
        | Expr::ScalarArrayOp { func, .. } => is_safe_function(func),
        Expr::SubPlan(_) | Expr::SubLink { .. } => false,
        _ => true,
    };
    own && expr.children().into_iter().all(is_safe)
}

/// Whether PostgreSQL runs a query by one process that computes this.
fn is_unsafe(expr: &Expr) -> bool {
    let own = match expr {
        Expr::Func { func, .. } => parallel_of(func) == Parallel::Unsafe,
        Expr::Aggregate(call) => parallel_of(&call.func) == Parallel::Unsafe,
        _ => false,
    };
    own || expr.children().into_iter().any(is_unsafe)
}
