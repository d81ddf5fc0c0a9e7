//! Memoize over the inner side of a nested loop: where outer rows repeat their values, the inner
//! rows of these are kept (get_memoize_path in joinpath.c, cost_memoize_rescan in costsize.c).
//!
//! It is right where the inner side's rows depend on its parameters alone. The inner side has no
//! volatile function, and each outer row reads it to its end, which semi and anti joins do not do.
//! Parameters that are only compared for equality by an operator that hashes may be distinguished
//! by it ("logical"). Others are distinguished by their bytes ("binary"): 1.0 and 1.00 may lead to
//! different rows. Parameters of a LATERAL sub-select or function are of the latter kind. The whole
//! inner side is checked, with its sub-selects and WITH queries, where PostgreSQL checks its output
//! columns.

use super::join::FromContext;
use super::join_build::output_names;
use super::join_clause::Clause;
use super::join_cost::Rescan;
use super::path::{Pair, Path, Step};
use super::pathkeys::no_order;
use super::sorting::has_order;
use super::{Planner, Rel, is_volatile, node, rtes_of, strip};
use crate::expr::{ExecParamId, Expr};
use crate::plan::*;
use crate::query::JoinKind;
use std::rc::Rc;

/// Bytes of an entry, and of each of its rows, besides the rows' columns.
const ENTRY_BYTES: f64 = 48.0;
const ROW_BYTES: f64 = 40.0;

/// An inner side whose rows are kept.
#[derive(Debug)]
pub(super) struct Memoized {
    pub(super) child: Rc<Path>,
    pub(super) keys: Vec<Expr>,
    pub(super) is_binary: bool,
    /// The cost of a run, on average.
    pub(super) again: Rescan,
}

impl Planner<'_> {
    /// The inner side of a nested loop with its rows kept, if that may be of use. It is looked up
    /// by `on`.
    pub(super) fn memoized(
        &self,
        from: &FromContext<'_>,
        pair: &Pair<'_>,
        on: &[Rc<Clause>],
        (inner, params): (&Rc<Path>, &[(ExecParamId, Expr)]),
    ) -> Option<Rc<Path>> {
        let is_read_whole = !matches!(pair.kind, JoinKind::Semi | JoinKind::Anti);
        let Step::Planned(rel) = &inner.step else { return None };
        if !is_read_whole || computes_anew(&rel.plan) {
            return None;
        }
        let is_compared = |(_, outer): &(ExecParamId, Expr)| {
            on.iter().filter(|on| names(&on.expr, outer)).all(|on| is_key(on, outer))
        };
        let is_binary = !params.iter().all(is_compared);
        self.kept_by(from, pair.outer.rows(), (inner, params), is_binary)
    }

    /// A LATERAL item with its rows kept, if that may be of use. Its parameters are anywhere in it.
    pub(super) fn memoized_item(
        &self,
        from: &FromContext<'_>,
        kind: JoinKind,
        outer_rows: f64,
        (inner, params): (&Rc<Path>, &[(ExecParamId, Expr)]),
    ) -> Option<Rc<Path>> {
        let is_read_whole = !matches!(kind, JoinKind::Semi | JoinKind::Anti);
        let Step::Planned(rel) = &inner.step else { return None };
        if !is_read_whole || !self.is_repeatable(&rel.plan) {
            return None;
        }
        self.kept_by(from, outer_rows, (inner, params), true)
    }

    fn kept_by(
        &self,
        from: &FromContext<'_>,
        calls: f64,
        (inner, params): (&Rc<Path>, &[(ExecParamId, Expr)]),
        is_binary: bool,
    ) -> Option<Rc<Path>> {
        let hashes = params.iter().all(|(_, outer)| has_order(outer.ty()));
        if !self.ctx.settings.memoize || calls < 2.0 || is_binary && !hashes {
            return None;
        }
        let estimator = from.estimator(self);
        if params.iter().any(|(_, outer)| estimator.distinct_is_guess(outer)) {
            return None;
        }
        let values = estimator.groups(params.iter().map(|(_, outer)| outer), calls);
        let again = self.memoized_rescan(&inner.cost, calls, values);
        let key = |(id, outer): &(ExecParamId, Expr)| Expr::ExecParam { id: *id, ty: outer.ty() };
        let keys = params.iter().map(key).collect();
        let mut cost = inner.cost;
        cost.startup += self.costs().cpu_tuple;
        cost.total += self.costs().cpu_tuple;
        let step = Step::Memoize(Memoized { child: inner.clone(), keys, is_binary, again });
        Some(Rc::new(Path { cost, step, order: no_order() }))
    }

    /// Whether a plan yields the same rows whenever it runs with the same parameters, without side
    /// effects.
    fn is_repeatable(&self, plan: &Plan) -> bool {
        let mut is_repeatable = match &plan.node {
            PlanNode::Modify(_)
            | PlanNode::RemoteInsert(_)
            | PlanNode::LockRows { .. }
            | PlanNode::RecursiveUnion { .. }
            | PlanNode::WorkTableScan { .. } => false,
            PlanNode::CteScan { plan, .. } => self.is_repeatable(&self.subplans[*plan]),
            _ => true,
        };
        for_each_expr(plan, &mut |e| is_repeatable = is_repeatable && self.has_one_value(e));
        for_each_child(plan, &mut |c| is_repeatable = is_repeatable && self.is_repeatable(c));
        is_repeatable
    }

    fn has_one_value(&self, expr: &Expr) -> bool {
        let here = match expr {
            Expr::SubPlan(sub) => self.is_repeatable(&self.subplans[sub.plan]),
            Expr::Func { func, .. } => !func.is_volatile(),
            _ => true,
        };
        here && !expr.any_child(|child| !self.has_one_value(child))
    }

    /// The average cost of one of `calls` runs with `values` different parameters.
    fn memoized_rescan(&self, input: &Cost, calls: f64, values: f64) -> Rescan {
        let (tuple, operator) = (self.costs().cpu_tuple, self.costs().cpu_operator);
        let entry = ENTRY_BYTES + input.rows * (f64::from(input.width) + ROW_BYTES);
        let entries = (self.hash_memory() / entry).floor().max(1.0);
        let values = values.max(1.0);
        let evicted = 1.0 - entries.min(values) / values;
        let hits = (calls - values) / calls * (entries / values.max(entries));
        let misses = 1.0 - hits.clamp(0.0, 1.0);
        let mut total = input.total * misses + operator;
        total += tuple * evicted + operator * evicted * input.rows;
        total += tuple + operator * input.rows;
        Rescan { startup: input.startup * misses + tuple, total }
    }

    /// The node.
    pub(super) fn memoize(&self, rel: Rel, memoized: &Memoized) -> Rel {
        let (types, names) = (rel.plan.types.clone(), output_names(&rel.plan));
        let cost = rel.plan.cost;
        let memoize = PlanNode::Memoize {
            child: Box::new(rel.plan),
            keys: memoized.keys.clone(),
            is_binary: memoized.is_binary,
            memory_factor: self.ctx.settings.hash_mem_multiplier,
        };
        Rel { plan: node(memoize, types, names, cost), ..rel }
    }
}

/// Whether a plan's rows may be others when it runs again with the same parameters.
fn computes_anew(plan: &Plan) -> bool {
    let is_scan = matches!(plan.node, PlanNode::IndexScan { .. } | PlanNode::BitmapScan { .. });
    !is_scan || plan.filter.iter().chain(plan.project.iter().flatten()).any(is_volatile)
}

/// Whether a condition names an expression of the outer side.
fn names(on: &Expr, outer: &Expr) -> bool {
    on == outer || on.any_child(|child| names(child, outer))
}

/// Whether a condition only equates an expression with its other side.
fn is_key(on: &Clause, outer: &Expr) -> bool {
    on.equality.as_ref().is_some_and(|equality| {
        let is_it = |side: &Expr| strip(side) == outer;
        let other = if is_it(&equality.left) { &equality.right } else { &equality.left };
        (is_it(&equality.left) || is_it(&equality.right))
            && rtes_of(other).iter().all(|rte| !rtes_of(outer).contains(rte))
    })
}
