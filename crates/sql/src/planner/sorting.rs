//! Sort nodes, and the costs of sorting and grouping (pathkeys.c; cost_sort, cost_incremental_sort
//! and cost_agg in costsize.c). Rows that come in order need no Sort; rows in the order of the
//! first keys get an incremental one.

use super::cost;
use super::joinpath::output_names;
use super::{Planner, Rel, node};
use crate::expr::{Expr, SortKey, TypeRef};
use crate::plan::*;
use crate::query::Rte;
use steppe_types::Result;

/// The added cost of a disabled node.
pub(super) const DISABLED: f64 = 1e10;
/// The memory of a hash table, in times of work_mem (hash_mem_multiplier).
const HASH_MEMORY: f64 = 2.0;
/// Bytes of a row besides its columns.
const ROW_OVERHEAD: f64 = 24.0;
const PAGE_BYTES: f64 = 8192.0;
/// At most `MERGE_ORDER` runs are merged at a time.
const MERGE_ORDER: f64 = 6.0;

/// An order that rows are wanted in.
#[derive(Clone)]
pub(super) struct Wish<'q> {
    /// Over the output row of the sorted plan.
    pub(super) keys: Vec<SortKey>,
    /// The same expressions as the query has them, for estimates.
    pub(super) written: Vec<&'q Expr>,
    /// Only the first `bound` rows are wanted.
    pub(super) bound: Option<Expr>,
    /// That bound, as far as it is known.
    pub(super) rows: Option<f64>,
}

impl Planner<'_> {
    /// A relation's rows in the wanted order.
    pub(super) fn sorted(&self, rel: Rel, wish: Wish<'_>, rtes: &[Rte]) -> Result<Rel> {
        let order = self.order_of(&rel.plan)?;
        let needed = order.needed(&wish.keys);
        let keys: Vec<SortKey> = needed.iter().map(|i| wish.keys[*i].clone()).collect();
        let known = order.prefix(&keys);
        if known == keys.len() {
            return Ok(rel);
        }
        let (input, settings) = (rel.plan.cost, self.ctx.settings);
        let mut cost = self.sort_cost(&input, wish.rows);
        if !settings.sort {
            cost.total += DISABLED;
        }
        let mut presorted = 0;
        if known > 0 && settings.incremental_sort {
            let estimator = self.estimator(rtes);
            let written = needed.iter().take(known).filter_map(|i| wish.written.get(*i));
            let groups = estimator.groups(written.copied(), input.rows);
            let by_groups = self.incremental_sort_cost(&input, groups, wish.rows);
            if limited(&by_groups, wish.rows) <= limited(&cost, wish.rows) {
                (cost, presorted) = (by_groups, known);
            }
        }
        let (types, names) = (rel.plan.types.clone(), output_names(&rel.plan));
        let child = Box::new(rel.plan);
        let sort = PlanNode::Sort { child, keys, presorted, bound: wish.bound };
        Ok(Rel { plan: node(sort, types, names, cost), ..rel })
    }

    /// Whether a plan's rows come in the order of the wanted keys that it does not fix.
    pub(super) fn gives_order(&self, plan: &Plan, keys: &[SortKey]) -> Result<bool> {
        let order = self.order_of(plan)?;
        let needed: Vec<SortKey> =
            order.needed(keys).into_iter().map(|i| keys[i].clone()).collect();
        Ok(order.prefix(&needed) == needed.len())
    }

    /// The cost of sorting all the rows.
    fn sort_cost(&self, input: &Cost, bound: Option<f64>) -> Cost {
        let mut cost = cost::sort_cost(input, bound, self.costs());
        let kept = bound.map_or(input.rows, |bound| bound.min(input.rows));
        let bytes = kept * (f64::from(input.width) + ROW_OVERHEAD);
        let memory = self.work_mem();
        if bytes > memory {
            let runs = (bytes / memory).max(2.0);
            let passes = (runs.ln() / MERGE_ORDER.ln()).ceil().max(1.0);
            let pages = 2.0 * (bytes / PAGE_BYTES).ceil() * passes;
            let read = pages * (self.costs().seq_page * 0.75 + self.costs().random_page * 0.25);
            cost.startup += read;
            cost.total += read;
        }
        cost
    }

    /// The cost of sorting each group of rows with equal first keys.
    pub(super) fn incremental_sort_cost(
        &self,
        input: &Cost,
        groups: f64,
        bound: Option<f64>,
    ) -> Cost {
        let groups = groups.clamp(1.0, input.rows.max(1.0));
        let run = (input.total - input.startup).max(0.0) / groups;
        let group = Cost { startup: 0.0, total: 0.0, rows: input.rows / groups, ..*input };
        let sorted = self.sort_cost(&group, bound);
        let startup = sorted.startup + input.startup + run;
        let further = (sorted.total + run) * (groups - 1.0);
        let rows = (self.costs().cpu_tuple + 2.0 * self.costs().cpu_operator) * input.rows;
        let total = startup + (sorted.total - sorted.startup) + further + rows;
        Cost { startup, total: total + 2.0 * self.costs().cpu_tuple * groups, ..*input }
    }

    fn work_mem(&self) -> f64 {
        self.ctx.settings.work_mem_kb as f64 * 1024.0
    }

    /// The cost of grouping: rows in the order of the keys, by hash, or all in one group.
    pub(super) fn grouping_cost(&self, input: &Cost, how: Grouping) -> Cost {
        let Grouping { strategy, keys, calls, distinct, groups, width } = how;
        let per_row = self.costs().cpu_operator * (keys + calls) as f64;
        let (work, out) = (input.rows * per_row, groups * self.costs().cpu_tuple);
        match strategy {
            AggStrategy::Sorted => {
                let total = input.total + work + out;
                Cost { startup: input.startup, total, rows: groups, width }
            }
            AggStrategy::Plain => {
                let startup = input.total + work;
                Cost { startup, total: startup + out, rows: groups, width }
            }
            AggStrategy::Hashed => {
                let mut startup = input.total + work + self.spill_cost(input, groups, width);
                if distinct > 0 {
                    let values = input.rows * (distinct as f64);
                    startup += DISTINCT_TABLES + 2.0 * self.costs().cpu_operator * values;
                }
                if !self.ctx.settings.hashagg {
                    startup += DISABLED;
                }
                Cost { startup, total: startup + out, rows: groups, width }
            }
        }
    }

    /// The cost of writing and reading the rows whose groups do not fit in memory.
    fn spill_cost(&self, input: &Cost, groups: f64, width: u32) -> f64 {
        let held = self.work_mem() * HASH_MEMORY;
        let table = groups * (f64::from(width) + 2.0 * ROW_OVERHEAD);
        if table <= held {
            return 0.0;
        }
        let bytes = input.rows * (f64::from(input.width) + ROW_OVERHEAD) * (1.0 - held / table);
        let pages = bytes / PAGE_BYTES;
        // As cost_agg: partitions are written in pieces, and hashing has a CPU cost of its own.
        2.0 * pages * (self.costs().random_page + self.costs().seq_page) / 2.0
            + input.rows * 2.0 * self.costs().cpu_tuple
    }
}

/// The fixed cost of tables of distinct values. Some thousand rows are sorted as fast, and come in
/// PostgreSQL's order.
const DISTINCT_TABLES: f64 = 100.0;

/// A way to group.
pub(super) struct Grouping {
    pub(super) strategy: AggStrategy,
    /// The number of keys.
    pub(super) keys: usize,
    /// The number of aggregates.
    pub(super) calls: usize,
    /// The number of aggregates with DISTINCT.
    pub(super) distinct: usize,
    pub(super) groups: f64,
    /// The width of the output rows.
    pub(super) width: u32,
}

/// The cost of the wanted rows: of all, if there is no bound.
pub(super) fn limited(cost: &Cost, rows: Option<f64>) -> f64 {
    let share = rows.map_or(1.0, |rows| (rows / cost.rows.max(1.0)).min(1.0));
    cost.startup + (cost.total - cost.startup) * share
}

/// Whether values of a type can be sorted.
pub(super) fn has_order(ty: TypeRef) -> bool {
    steppe_catalog::builtin::ordering(ty.oid).is_some()
}
