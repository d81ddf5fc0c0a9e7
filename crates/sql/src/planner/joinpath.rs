//! Join methods (joinpath.c): the cheapest way to join one side to another.
//!
//! Candidates are [`Path`]s ([`super::path`]). Paths with the same inputs share them. A plan is
//! made of the chosen one alone, at the end. `lookup_path` has nested loops by the values of outer
//! rows; `merge_path` has merge joins.

use super::join::FromContext;
use super::join_clause::{Clause, JoinKey, join_keys};
use super::join_cost::{self, HashSize, Means};
use super::lookup_path::Lookups;
use super::path::{BaseTable, JoinStep, Method, Pair, Path, Paths, Side, Step, is_kept};
use super::path_cost::CostParameters;
use super::pathkeys::no_order;
use super::scan::clamp_rows;
use super::selectivity::JoinSides;
use super::{Planner, Rel, RteSet};
use crate::expr::{ExecParamId, Expr};
use crate::plan::*;
use crate::query::JoinKind;
use std::rc::Rc;
use steppe_types::{Error, Result, SqlState};

pub(super) use super::join_build::output_names;

impl Planner<'_> {
    /// The settings of costs.
    pub(super) fn costs(&self) -> &CostParameters {
        &self.ctx.settings.costs
    }

    /// The cheapest method for a given outer and inner side. `single` names the inner side's base
    /// relation and its own conditions, for an index scan by join key.
    pub(super) fn cheapest_join(
        &mut self,
        from: &FromContext<'_>,
        kind: JoinKind,
        outer: Rel,
        inner: Rel,
        on: Vec<Expr>,
        single: Option<(usize, Vec<Expr>)>,
    ) -> Result<Rel> {
        self.cheapest_join_of(from, kind, (outer, Vec::new()), (inner, Vec::new()), on, single)
    }

    /// The same, where there are plans of the sides besides the cheapest ones, in other orders.
    pub(super) fn cheapest_join_of(
        &mut self,
        from: &FromContext<'_>,
        kind: JoinKind,
        (outer, outer_ordered): (Rel, Vec<Rel>),
        (inner, inner_ordered): (Rel, Vec<Rel>),
        on: Vec<Expr>,
        single: Option<(usize, Vec<Expr>)>,
    ) -> Result<Rel> {
        if let Some(by_leaf) = self.partitionwise_join(from, kind, &outer, &inner, &on, &single)? {
            return Ok(by_leaf);
        }
        let rows = clamp_rows(self.join_rows(from, kind, &input(&outer), &input(&inner), &on));
        let base = single.map(|(rte, own)| BaseTable { rte, own });
        let (mut outer, mut inner) = (self.side(outer, None)?, self.side(inner, base)?);
        for (side, ordered) in [(&mut outer, outer_ordered), (&mut inner, inner_ordered)] {
            for rel in ordered {
                let order = self.path_order(&rel)?;
                side.ordered.push(Path::planned(rel, order));
            }
        }
        let on: Rc<[Rc<Clause>]> = on.into_iter().map(|on| self.clause(on)).collect();
        let pair = Pair { kind, outer: &outer, inner: &inner, on, same: &[], rows, pairs: rows };
        let mut paths = Paths::default();
        self.consider_join(from, &pair, &mut Lookups::default(), &mut paths)?;
        let path = paths.best.ok_or_else(no_full_join)?;
        self.build(&path)
    }

    /// Considers all methods, with either side hashed.
    pub(super) fn consider_join(
        &mut self,
        from: &FromContext<'_>,
        pair: &Pair<'_>,
        lookups: &mut Lookups,
        paths: &mut Paths,
    ) -> Result<()> {
        let keys = join_keys(&pair.on, &pair.outer.rtes, &pair.inner.rtes);
        if pair.kind != JoinKind::Full {
            self.consider_nest_loop(pair, paths);
            self.consider_lookup(from, pair, lookups, paths)?;
        }
        if !keys.is_empty() {
            self.consider_hash_join(from, (pair.kind, pair.outer, pair.inner), pair, &keys, paths);
            if let Some(kind) = self.other_way_round(pair.kind) {
                let keys = join_keys(&pair.on, &pair.inner.rtes, &pair.outer.rtes);
                self.consider_hash_join(from, (kind, pair.inner, pair.outer), pair, &keys, paths);
            }
        }
        // A FULL JOIN whose conditions name no columns is one group: every pair is a candidate.
        let is_one_group =
            pair.kind == JoinKind::Full && pair.on.iter().all(|clause| clause.rtes.is_empty());
        let merged: Vec<JoinKey> = keys.iter().filter(|key| key.merges).copied().collect();
        if !merged.is_empty() || keys.is_empty() && is_one_group {
            self.consider_merge_join(from, pair, merged, paths);
        }
        Ok(())
    }

    /// The join of two partitioned tables leaf by leaf, where that is wanted and gives the join.
    pub(super) fn joined_by_leaf(
        &mut self,
        from: &FromContext<'_>,
        pair: &Pair<'_>,
    ) -> Result<Option<Rc<Path>>> {
        let (Step::Planned(outer), Step::Planned(inner)) =
            (&pair.outer.best.step, &pair.inner.best.step)
        else {
            return Ok(None);
        };
        if !self.ctx.settings.partitionwise_join {
            return Ok(None);
        }
        let on: Vec<Expr> = pair.on.iter().map(|clause| clause.expr.clone()).collect();
        let single = pair.inner.base.as_ref().map(|base| (base.rte, base.own.clone()));
        let joined = self.partitionwise_join(from, pair.kind, outer, inner, &on, &single)?;
        joined.map(|rel| Ok(Path::planned(rel.clone(), self.path_order(&rel)?))).transpose()
    }

    /// The kind of a join whose sides change places; inner joins are considered both ways anyway.
    fn other_way_round(&self, kind: JoinKind) -> Option<JoinKind> {
        match kind {
            JoinKind::Left => Some(JoinKind::Right),
            JoinKind::Full => Some(JoinKind::Full),
            JoinKind::Semi if !self.keeps_partners => Some(JoinKind::RightSemi),
            JoinKind::Anti => Some(JoinKind::RightAnti),
            _ => None,
        }
    }

    /// Each value of the inner side's keys once makes a semi join an inner one, either way
    /// (JOIN_UNIQUE_INNER). The inner rows are no more then: a change that rechecks its row
    /// (`recheck`) needs them.
    pub(super) fn consider_distinct_inner(
        &mut self,
        from: &FromContext<'_>,
        pair: &Pair<'_>,
        lookups: &mut Lookups,
        paths: &mut Paths,
    ) -> Result<()> {
        let keys = join_keys(&pair.on, &pair.outer.rtes, &pair.inner.rtes);
        if self.keeps_partners || keys.len() < pair.on.len() || keys.is_empty() {
            return Ok(());
        }
        let mut columns: Vec<Expr> = Vec::with_capacity(keys.len());
        let mut values = 1.0;
        for key in &keys {
            let Some((_, column @ Expr::Var { levels_up: 0, .. }, _)) = key.sides(&pair.on) else {
                return Ok(());
            };
            values *= key.inner_distinct(&pair.on, |e| from.estimator(self).distinct(e));
            if !columns.contains(column) {
                columns.push(column.clone());
            }
        }
        let input = pair.inner.best.cost;
        let rows = clamp_rows(values.min(input.rows));
        let compared = self.costs().cpu_operator * input.rows * keys.len() as f64;
        let hashed = input.total + compared + rows * self.costs().cpu_tuple;
        let sorted = join_cost::sorted(&input, &self.means()).total + compared;
        let is_sorted = sorted < hashed && keys.iter().all(|key| key.merges);
        let total = if is_sorted { sorted } else { hashed };
        let cost = Cost { startup: total, total, rows, ..input };
        let step = Step::Distinct { child: pair.inner.best.clone(), columns, is_sorted };
        let best = Rc::new(Path { cost, step, order: no_order() });
        let distinct = Side::of(pair.inner.rtes.clone(), best);
        for (outer, inner) in [(pair.outer, &distinct), (&distinct, pair.outer)] {
            let on = pair.on.clone();
            let (rows, pairs) = (pair.rows, pair.rows);
            let kind = JoinKind::Inner;
            let inner = Pair { kind, outer, inner, on, same: &[], rows, pairs };
            self.consider_join(from, &inner, lookups, paths)?;
        }
        Ok(())
    }

    fn consider_nest_loop(&self, pair: &Pair<'_>, paths: &mut Paths) {
        let (settings, means, inner) = (self.ctx.settings, self.means(), &pair.inner.best);
        let cost = join_cost::materialized(&inner.cost, &means);
        let (step, order) = (Step::Materialize(inner.clone()), inner.order.clone());
        let kept = Rc::new(Path { cost, step, order });
        let is_kept_anyway = matches!(&inner.step, Step::Planned(rel) if is_kept(&rel.plan));
        let (again, kept_again) = (inner.rescan(&means), kept.rescan(&means));
        for (outer, useful) in paths.outers(pair.outer) {
            let is_worth_it = !outer.is_one_row() && kept_again.total < again.total;
            // One row that is expected may be many: keeping the inner rows costs next to nothing.
            let keeps =
                !is_kept_anyway && (inner.is_computed_anew() || settings.material && is_worth_it);
            let (inner, again) = if keeps { (&kept, kept_again) } else { (inner, again) };
            let cost = self.shape(pair, pair.kind, outer, inner).nest_loop(again, false);
            paths.consider(cost, settings.nestloop, (&outer.order, useful), || {
                Step::Join(JoinStep {
                    method: Method::NestLoop(Rc::from([])),
                    kind: pair.kind,
                    outer: outer.clone(),
                    inner: inner.clone(),
                    on: pair.on.clone(),
                })
            });
        }
    }

    fn consider_hash_join(
        &self,
        from: &FromContext<'_>,
        (kind, outer, inner): (JoinKind, &Side, &Side),
        pair: &Pair<'_>,
        keys: &[JoinKey],
        paths: &mut Paths,
    ) {
        let (outer, inner) = (&outer.best, &inner.best);
        let size = HashSize::of(inner.cost.rows, inner.cost.width, self.hash_memory());
        let distinct =
            |key: &JoinKey| key.inner_distinct(&pair.on, |e| from.estimator(self).distinct(e));
        let values = keys.iter().map(distinct).fold(1.0, f64::max);
        let shape = self.shape_by_keys((from, pair, keys), kind, outer, inner);
        let cost = shape.hash_join(keys.len() as f64, 1.0 / values, size);
        paths.consider_in_any_order(cost, self.ctx.settings.hashjoin, || {
            let step = Step::Join(JoinStep {
                method: Method::Hash(keys.to_vec(), size),
                kind,
                outer: outer.clone(),
                inner: inner.clone(),
                on: pair.on.clone(),
            });
            (no_order(), step)
        });
    }

    /// A nested loop over an inner side that these parameters, set by the outer row, run.
    pub(super) fn nest_loop(
        &mut self,
        from: &FromContext<'_>,
        kind: JoinKind,
        outer: Rel,
        inner: Rel,
        params: Vec<(ExecParamId, Expr)>,
        on: Vec<Expr>,
    ) -> Result<Rel> {
        let rows = self.join_rows(from, kind, &input(&outer), &input(&inner), &on);
        let on: Rc<[Rc<Clause>]> = on.into_iter().map(|on| self.clause(on)).collect();
        let (outer, inner) = (self.side(outer, None)?, self.side(inner, None)?);
        let (rows, pairs) = (clamp_rows(rows), rows);
        let pair = Pair { kind, outer: &outer, inner: &inner, on, same: &[], rows, pairs };
        let mut paths = Paths::default();
        if params.is_empty() {
            self.consider_nest_loop(&pair, &mut paths);
        } else {
            let params: Rc<[(ExecParamId, Expr)]> = Rc::from(params);
            let memoized = self.memoized_item(from, kind, outer.rows(), (&inner.best, &params));
            let outer_order = outer.best.order.clone();
            let useful = paths.length(&outer_order);
            for inner in std::iter::once(inner.best.clone()).chain(memoized) {
                let outer = outer.best.clone();
                let rescan = inner.rescan(&self.means());
                let cost = self.shape(&pair, kind, &outer, &inner).nest_loop(rescan, false);
                paths.consider(cost, true, (&outer_order, useful), || {
                    let (method, on) = (Method::NestLoop(params.clone()), pair.on.clone());
                    Step::Join(JoinStep { method, kind, outer, inner, on })
                });
            }
        }
        let path = paths.best.ok_or_else(|| Error::internal("no nested loop was found"))?;
        self.build(&path)
    }

    /// Conditions above a join.
    pub(super) fn filtered(
        &self,
        from: &FromContext<'_>,
        path: Rc<Path>,
        conditions: Rc<[Rc<Clause>]>,
    ) -> Rc<Path> {
        if conditions.is_empty() {
            return path;
        }
        let mut cost = path.cost;
        cost.total +=
            cost.rows * self.costs().cpu_operator * self.operators_of_clauses(&conditions);
        cost.rows = clamp_rows(cost.rows * self.selectivity_of_clauses(from, &conditions));
        let order = path.order.clone();
        Rc::new(Path { cost, step: Step::Filter(path, conditions), order })
    }

    pub(super) fn means(&self) -> Means {
        Means { costs: *self.costs(), memory: self.work_memory() }
    }

    /// The cost parameters and memory of sorts, or `None` if sorts are disabled (enable_sort).
    pub(super) fn sorting(&self) -> Option<Means> {
        self.ctx.settings.sort.then(|| self.means())
    }

    /// work_mem in bytes.
    fn work_memory(&self) -> f64 {
        self.ctx.settings.work_mem_kb as f64 * 1024.0
    }

    /// The memory that a hash table may take.
    pub(super) fn hash_memory(&self) -> f64 {
        self.work_memory() * self.ctx.settings.hash_mem_multiplier
    }

    /// The number of rows of a join (calc_joinrel_size_estimate).
    pub(super) fn join_rows(
        &self,
        from: &FromContext<'_>,
        kind: JoinKind,
        outer: &JoinInput<'_>,
        inner: &JoinInput<'_>,
        on: &[Expr],
    ) -> f64 {
        // A side without entries is one row.
        let outer_rows = if outer.rtes.is_empty() { 1.0 } else { outer.rows };
        let sides = JoinSides { kind, outer_rows, inner_rows: inner.rows, inner: inner.rtes };
        from.estimator(self).join_rows(sides, on)
    }
}

/// The properties of a side that the estimate of a join needs.
pub(super) struct JoinInput<'j> {
    pub(super) rows: f64,
    pub(super) rtes: &'j RteSet,
}

pub(super) fn input(rel: &Rel) -> JoinInput<'_> {
    JoinInput { rows: rel.plan.cost.rows, rtes: &rel.rtes }
}

pub(super) fn no_full_join() -> Error {
    Error::new(
        SqlState::FEATURE_NOT_SUPPORTED,
        "FULL JOIN is only supported with merge-joinable or hash-joinable join conditions",
    )
}
