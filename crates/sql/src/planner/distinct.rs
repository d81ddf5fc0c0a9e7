//! DISTINCT and DISTINCT ON: by a hash table, or by leaving out equal neighbours of sorted rows
//! (create_distinct_paths in planner.c).
//!
//! ON keeps the first row of each group in the order of ORDER BY, whose keys therefore come first,
//! and is never hashed.

use super::cost;
use super::joinpath::output_names;
use super::ordered::ascending;
use super::scan::clamp_rows;
use super::sorting::{Grouping, Wish};
use super::targets::order_keys;
use super::{Planner, Rel, node};
use crate::expr::Expr;
use crate::plan::*;
use crate::query::*;
use steppe_types::Result;

impl Planner<'_> {
    /// DISTINCT; `targets` are the select list over the row of `rel`.
    pub(super) fn distinct(
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

    /// The number of rows that DISTINCT leaves.
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
}

/// Each combination of the keys once. They may take `memory_factor` times work_mem.
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
