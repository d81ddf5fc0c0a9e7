//! Join methods (joinpath.c): what joins one side to another most cheaply.
//!
//! Candidates are [`Path`]s: what they cost, and what they are made of, shared with all others
//! that have the same inputs. A plan is made of the cheapest one alone, at the end.

use super::join::FromContext;
use super::join_clause::{Clause, JoinKey, join_keys};
use super::join_cost::{self, HashSize, JoinShape, Means, Rescan};
use super::join_graph::Alternatives;
use super::memoize::Memoized;
use super::path_cost::CostParameters;
use super::scan::{ScanRequest, clamp_rows};
use super::selectivity::JoinSides;
use super::{Planner, Rel, RteSet, is_volatile, rtes_of};
use crate::expr::{ExecParamId, Expr};
use crate::plan::*;
use crate::query::{JoinKind, RteKind};
use hashbrown::HashMap;
use std::rc::Rc;
use steppe_catalog::RelKind;
use steppe_types::{Error, Result, SqlState};

pub(super) use super::join_build::output_names;

/// What a plan that a setting forbids costs more.
const FORBIDDEN: f64 = 1e10;

/// A way to get rows.
#[derive(Debug)]
pub(super) struct Path {
    pub(super) cost: Cost,
    pub(super) step: Step,
}

#[derive(Debug)]
pub(super) enum Step {
    /// What has been planned already.
    Planned(Box<Rel>),
    Materialize(Rc<Path>),
    Memoize(Memoized),
    /// Each value of these columns once, by a hash table or sorted.
    Distinct {
        child: Rc<Path>,
        columns: Vec<Expr>,
        is_sorted: bool,
    },
    Filter(Rc<Path>, Rc<[Rc<Clause>]>),
    Join(JoinStep),
}

#[derive(Debug)]
pub(super) struct JoinStep {
    pub(super) method: Method,
    pub(super) kind: JoinKind,
    pub(super) outer: Rc<Path>,
    pub(super) inner: Rc<Path>,
    pub(super) on: Rc<[Rc<Clause>]>,
}

#[derive(Debug)]
pub(super) enum Method {
    /// With parameters that the outer row sets.
    NestLoop(Rc<[(ExecParamId, Expr)]>),
    Hash(Vec<JoinKey>, HashSize),
    Merge(Vec<JoinKey>),
}

/// One side of a join.
#[derive(Clone, Debug)]
pub(super) struct Side {
    pub(super) rtes: RteSet,
    pub(super) best: Rc<Path>,
    pub(super) base: Option<Rc<BaseTable>>,
}

/// The table that a side is, with the conditions on it: it may be looked up by a join's keys.
#[derive(Debug)]
pub(super) struct BaseTable {
    pub(super) rte: usize,
    pub(super) own: Vec<Expr>,
}

/// Two sides to join.
pub(super) struct Pair<'p> {
    pub(super) kind: JoinKind,
    pub(super) outer: &'p Side,
    pub(super) inner: &'p Side,
    pub(super) on: Rc<[Rc<Clause>]>,
    /// What says the same as these conditions.
    pub(super) same: &'p [Alternatives],
    /// Rows of the join.
    pub(super) rows: f64,
    /// Pairs of rows that match.
    pub(super) pairs: f64,
}

/// A scan by the values of outer rows.
#[derive(Clone, Debug)]
struct Lookup {
    path: Rc<Path>,
    params: Rc<[(ExecParamId, Expr)]>,
    /// Conditions that it leaves.
    rest: Rc<[Rc<Clause>]>,
}

/// Lookups, by table and conditions.
#[derive(Default)]
pub(super) struct Lookups(HashMap<(usize, Vec<*const Clause>), Option<Lookup>>);

/// The cheapest path so far.
#[derive(Default)]
pub(super) struct Cheapest(pub(super) Option<Rc<Path>>);

impl Cheapest {
    fn consider(&mut self, cost: Cost, is_allowed: bool, step: impl FnOnce() -> Step) {
        let mut cost = cost;
        if !is_allowed {
            cost.total += FORBIDDEN;
        }
        if self.0.as_ref().is_none_or(|best| cost.beats(&best.cost)) {
            self.0 = Some(Rc::new(Path { cost, step: step() }));
        }
    }
}

impl Path {
    pub(super) fn planned(rel: Rel) -> Rc<Path> {
        Rc::new(Path { cost: rel.plan.cost, step: Step::Planned(Box::new(rel)) })
    }

    /// Whether a system catalog would be computed again with each scan: however few rows are
    /// expected, the first scan's are kept then.
    fn is_computed_anew(&self) -> bool {
        match &self.step {
            Step::Planned(rel) => matches!(&rel.plan.node,
                PlanNode::SeqScan { rel, .. } if rel.relation.kind == RelKind::Virtual),
            Step::Materialize(_) | Step::Memoize(_) => false,
            Step::Distinct { child, .. } | Step::Filter(child, _) => child.is_computed_anew(),
            Step::Join(join) => match join.method {
                Method::NestLoop(_) => {
                    join.outer.is_computed_anew() || join.inner.is_computed_anew()
                }
                Method::Hash(..) => join.outer.is_computed_anew(),
                Method::Merge(_) => false,
            },
        }
    }

    /// Whether there is one row at most, whatever the tables have.
    fn is_one_row(&self) -> bool {
        let Step::Planned(rel) = &self.step else { return false };
        match &rel.plan.node {
            PlanNode::Result { child: None, .. } => true,
            PlanNode::Values(rows) => rows.len() < 2,
            PlanNode::Agg { strategy: AggStrategy::Plain, .. } => true,
            PlanNode::IndexScan { index, range, .. } => {
                let info = index.index.as_ref();
                info.is_some_and(|info| info.is_unique_now() && range.is_whole_key(info.keys.len()))
            }
            _ => false,
        }
    }

    fn rescan(&self, means: &Means) -> Rescan {
        let whole = Rescan { startup: self.cost.startup, total: self.cost.total };
        match &self.step {
            Step::Materialize(_) => join_cost::kept_rows(&self.cost, means),
            Step::Memoize(memoized) => memoized.again,
            Step::Planned(rel) if is_kept(&rel.plan) => join_cost::kept_rows(&self.cost, means),
            // The table is there already.
            Step::Join(JoinStep { method: Method::Hash(_, size), .. }) if size.batches <= 1.0 => {
                Rescan { startup: 0.0, total: whole.total - whole.startup }
            }
            _ => whole,
        }
    }
}

impl Side {
    pub(super) fn planned(rel: Rel, base: Option<BaseTable>) -> Side {
        Side { rtes: rel.rtes.clone(), best: Path::planned(rel), base: base.map(Rc::new) }
    }

    pub(super) fn rows(&self) -> f64 {
        self.best.cost.rows
    }
}

impl Pair<'_> {
    fn shape(
        &self,
        kind: JoinKind,
        outer: &Path,
        inner: &Path,
        costs: CostParameters,
    ) -> JoinShape {
        JoinShape {
            costs,
            kind,
            outer: outer.cost,
            inner: inner.cost,
            rows: self.rows,
            pairs: self.pairs,
            conditions: self.on.len() as f64,
            is_inner_unique: false,
        }
    }
}

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
        if let Some(by_leaf) = self.partitionwise_join(from, kind, &outer, &inner, &on, &single)? {
            return Ok(by_leaf);
        }
        let rows = clamp_rows(self.join_rows(from, kind, &input(&outer), &input(&inner), &on));
        let outer = Side::planned(outer, None);
        let base = single.map(|(rte, own)| BaseTable { rte, own });
        let inner = Side::planned(inner, base);
        let on: Rc<[Rc<Clause>]> = on.into_iter().map(|on| self.clause(on)).collect();
        let pair = Pair { kind, outer: &outer, inner: &inner, on, same: &[], rows, pairs: rows };
        let mut cheapest = Cheapest::default();
        self.consider_join(from, &pair, &mut Lookups::default(), &mut cheapest)?;
        let path = cheapest.0.ok_or_else(no_full_join)?;
        self.build(&path)
    }

    /// Considers all methods, with either side hashed.
    pub(super) fn consider_join(
        &mut self,
        from: &FromContext<'_>,
        pair: &Pair<'_>,
        lookups: &mut Lookups,
        cheapest: &mut Cheapest,
    ) -> Result<()> {
        let keys = join_keys(&pair.on, &pair.outer.rtes, &pair.inner.rtes);
        if pair.kind != JoinKind::Full {
            self.consider_nest_loop(pair, cheapest);
            self.consider_lookup(from, pair, lookups, cheapest)?;
        }
        if !keys.is_empty() {
            self.consider_hash_join(
                from,
                (pair.kind, pair.outer, pair.inner),
                pair,
                &keys,
                cheapest,
            );
            if let Some(kind) = self.other_way_round(pair.kind) {
                let keys = join_keys(&pair.on, &pair.inner.rtes, &pair.outer.rtes);
                self.consider_hash_join(
                    from,
                    (kind, pair.inner, pair.outer),
                    pair,
                    &keys,
                    cheapest,
                );
            }
        }
        // A FULL JOIN whose conditions name no columns is one group: every pair is a candidate.
        let is_one_group =
            pair.kind == JoinKind::Full && pair.on.iter().all(|clause| clause.rtes.is_empty());
        let merged: Vec<JoinKey> = keys.iter().filter(|key| key.merges).copied().collect();
        if !merged.is_empty() || keys.is_empty() && is_one_group {
            self.consider_merge_join(pair, merged, cheapest);
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
        Ok(joined.map(Path::planned))
    }

    /// The kind of a join whose sides change places; inner joins are asked both ways anyway.
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
    /// (JOIN_UNIQUE_INNER). The inner rows are no more then: a change that looks at its row again
    /// (`recheck`) needs them.
    pub(super) fn consider_distinct_inner(
        &mut self,
        from: &FromContext<'_>,
        pair: &Pair<'_>,
        lookups: &mut Lookups,
        cheapest: &mut Cheapest,
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
        let best = Rc::new(Path { cost, step });
        let distinct = Side { rtes: pair.inner.rtes.clone(), best, base: None };
        for (outer, inner) in [(pair.outer, &distinct), (&distinct, pair.outer)] {
            let on = pair.on.clone();
            let (rows, pairs) = (pair.rows, pair.rows);
            let kind = JoinKind::Inner;
            let inner = Pair { kind, outer, inner, on, same: &[], rows, pairs };
            self.consider_join(from, &inner, lookups, cheapest)?;
        }
        Ok(())
    }

    fn consider_nest_loop(&self, pair: &Pair<'_>, cheapest: &mut Cheapest) {
        let (settings, means) = (self.ctx.settings, self.means());
        let (outer, inner) = (&pair.outer.best, &pair.inner.best);
        let step = |inner: &Rc<Path>| {
            Step::Join(JoinStep {
                method: Method::NestLoop(Rc::from([])),
                kind: pair.kind,
                outer: outer.clone(),
                inner: inner.clone(),
                on: pair.on.clone(),
            })
        };
        let cost = join_cost::materialized(&inner.cost, &means);
        let kept = Path { cost, step: Step::Materialize(inner.clone()) };
        let is_kept_anyway = matches!(&inner.step, Step::Planned(rel) if is_kept(&rel.plan));
        let (again, kept_again) = (inner.rescan(&means), kept.rescan(&means));
        let is_worth_it = !outer.is_one_row() && kept_again.total < again.total;
        let keeps =
            !is_kept_anyway && (inner.is_computed_anew() || settings.material && is_worth_it);
        // One row that is expected may be many: keeping the inner rows costs next to nothing.
        if keeps {
            let cost =
                pair.shape(pair.kind, outer, &kept, *self.costs()).nest_loop(kept_again, false);
            cheapest.consider(cost, settings.nestloop, || step(&Rc::new(kept)));
        } else {
            let plain = pair.shape(pair.kind, outer, inner, *self.costs()).nest_loop(again, false);
            cheapest.consider(plain, settings.nestloop, || step(inner));
        }
    }

    fn consider_lookup(
        &mut self,
        from: &FromContext<'_>,
        pair: &Pair<'_>,
        lookups: &mut Lookups,
        cheapest: &mut Cheapest,
    ) -> Result<()> {
        let Some(base) = &pair.inner.base else { return Ok(()) };
        self.consider_lookup_by(from, pair, (base, &pair.on), lookups, cheapest)?;
        match self.most_repeated(base.rte, pair) {
            Some(on) => self.consider_lookup_by(from, pair, (base, &on), lookups, cheapest),
            None => Ok(()),
        }
    }

    /// The join's conditions, each as it compares the table with the largest of the outer entries:
    /// the more often an index is searched, the more of it is in the cache. Nothing if they are
    /// that already.
    fn most_repeated(&self, rte: usize, pair: &Pair<'_>) -> Option<Rc<[Rc<Clause>]>> {
        let rows = |clause: &Clause| {
            let others = clause.rtes.iter().filter(|other| *other != rte);
            let rows = others.filter_map(|other| self.bases.get(&other)).map(|base| base.rows);
            if clause.rtes.contains(rte) { rows.reduce(f64::min).unwrap_or(0.0) } else { 0.0 }
        };
        let mut is_other = false;
        let mut most = |of: &Alternatives| {
            let first = &of.first;
            let found =
                of.all().fold(first, |most, one| if rows(one) > rows(most) { one } else { most });
            is_other |= !Rc::ptr_eq(found, first);
            found.clone()
        };
        let on = pair.same.iter().map(&mut most).collect();
        is_other.then_some(on)
    }

    fn consider_lookup_by(
        &mut self,
        from: &FromContext<'_>,
        pair: &Pair<'_>,
        (base, on): (&BaseTable, &[Rc<Clause>]),
        lookups: &mut Lookups,
        cheapest: &mut Cheapest,
    ) -> Result<()> {
        let found = self.lookup(from, base, on, lookups)?;
        let Some(Lookup { path: inner, params, rest }) = found else { return Ok(()) };
        let outer = &pair.outer.best;
        let memoized = self.memoized(from, pair, on, (&inner, &params));
        for inner in std::iter::once(inner).chain(memoized) {
            let mut shape = pair.shape(pair.kind, outer, &inner, *self.costs());
            shape.conditions = rest.len() as f64;
            let cost = shape.nest_loop(inner.rescan(&self.means()), rest.is_empty());
            cheapest.consider(cost, self.ctx.settings.nestloop, || {
                let (method, kind) = (Method::NestLoop(params.clone()), pair.kind);
                let (outer, on) = (outer.clone(), rest.clone());
                Step::Join(JoinStep { method, kind, outer, inner, on })
            });
        }
        Ok(())
    }

    fn consider_hash_join(
        &self,
        from: &FromContext<'_>,
        (kind, outer, inner): (JoinKind, &Side, &Side),
        pair: &Pair<'_>,
        keys: &[JoinKey],
        cheapest: &mut Cheapest,
    ) {
        let (outer, inner) = (&outer.best, &inner.best);
        let size = HashSize::of(inner.cost.rows, inner.cost.width, self.hash_memory());
        let distinct =
            |key: &JoinKey| key.inner_distinct(&pair.on, |e| from.estimator(self).distinct(e));
        let values = keys.iter().map(distinct).fold(1.0, f64::max);
        let cost = pair.shape(kind, outer, inner, *self.costs()).hash_join(
            keys.len() as f64,
            1.0 / values,
            size,
        );
        cheapest.consider(cost, self.ctx.settings.hashjoin, || {
            Step::Join(JoinStep {
                method: Method::Hash(keys.to_vec(), size),
                kind,
                outer: outer.clone(),
                inner: inner.clone(),
                on: pair.on.clone(),
            })
        });
    }

    fn consider_merge_join(&self, pair: &Pair<'_>, keys: Vec<JoinKey>, cheapest: &mut Cheapest) {
        let (outer, inner) = (&pair.outer.best, &pair.inner.best);
        let sorted = |cost: &Cost| match keys.is_empty() {
            true => *cost,
            false => join_cost::sorted(cost, &self.means()),
        };
        let shape = pair.shape(pair.kind, outer, inner, *self.costs());
        let cost = shape.merge_join(keys.len() as f64, sorted(&outer.cost), sorted(&inner.cost));
        let is_only_way = keys.is_empty();
        cheapest.consider(cost, self.ctx.settings.mergejoin || is_only_way, || {
            Step::Join(JoinStep {
                method: Method::Merge(keys),
                kind: pair.kind,
                outer: outer.clone(),
                inner: inner.clone(),
                on: pair.on.clone(),
            })
        });
    }

    /// A scan of a table by what outer rows have for it: in an index, or in the one partition
    /// that they ask for.
    fn lookup(
        &mut self,
        from: &FromContext<'_>,
        base: &BaseTable,
        on: &[Rc<Clause>],
        lookups: &mut Lookups,
    ) -> Result<Option<Lookup>> {
        let key = (base.rte, on.iter().map(Rc::as_ptr).collect());
        if let Some(known) = lookups.0.get(&key) {
            return Ok(known.clone());
        }
        let found = self.new_lookup(from, base, on)?;
        Ok(lookups.0.entry(key).insert(found).get().clone())
    }

    /// How often a scan runs by values of these entries: as often as the smallest of them has rows,
    /// whatever it is joined with before (get_loop_count).
    fn loops_of(&self, params: &super::subselect::Correlation) -> f64 {
        let entries =
            params.iter().flat_map(|(_, outer)| rtes_of(outer).iter().collect::<Vec<_>>());
        let rows = entries.filter_map(|rte| self.bases.get(&rte)).map(|base| base.rows);
        rows.reduce(f64::min).unwrap_or(1.0).max(1.0)
    }

    fn new_lookup(
        &mut self,
        from: &FromContext<'_>,
        base: &BaseTable,
        on: &[Rc<Clause>],
    ) -> Result<Option<Lookup>> {
        let rte = base.rte;
        let RteKind::Relation(relation) = &from.rtes[rte].kind else { return Ok(None) };
        let mut params = Vec::new();
        let inner_set = RteSet::one(rte);
        let mut conditions = base.own.clone();
        let mut rest = Vec::new();
        for clause in on {
            if !clause.rtes.overlaps(&inner_set) || is_volatile(&clause.expr) {
                rest.push(clause.clone());
                continue;
            }
            conditions.push(self.outer_vars_to_params(clause.expr.clone(), rte, &mut params)?);
        }
        if params.is_empty() {
            return Ok(None);
        }
        let columns = from.columns.get(&rte).cloned().unwrap_or_default();
        let request = ScanRequest {
            rtes: from.rtes,
            rte,
            relation,
            columns: &columns,
            conditions: &conditions,
        };
        let loops = self.loops_of(&params);
        let before = std::mem::replace(&mut self.scan_loops, loops);
        let inner = self.base_scan(&request);
        self.scan_loops = before;
        let inner = inner?;
        if !is_looked_up(&inner.plan) && !self.picks_partition(&request, base.own.len())? {
            return Ok(None);
        }
        let (path, params) = (Path::planned(inner), Rc::from(params));
        Ok(Some(Lookup { path, params, rest: Rc::from(rest) }))
    }

    /// Columns of other entries than `rte` become parameters.
    fn outer_vars_to_params(
        &mut self,
        expr: Expr,
        rte: usize,
        params: &mut super::subselect::Correlation,
    ) -> Result<Expr> {
        expr.transform(&mut |e| match e {
            Expr::Var { rte: r, levels_up: 0, .. } if r != rte => Ok(self.param_for(e, params)),
            other => Ok(other),
        })
    }

    /// A nested loop whose inner side, a table, is looked up by the outer row's values.
    pub(super) fn index_nest_loop(
        &mut self,
        from: &FromContext<'_>,
        kind: JoinKind,
        outer: &Rel,
        rte: usize,
        own: &[Expr],
        on: &[Expr],
    ) -> Result<Option<Rel>> {
        let base = BaseTable { rte, own: own.to_vec() };
        let on: Rc<[Rc<Clause>]> = on.iter().map(|on| self.clause(on.clone())).collect();
        let Some(found) = self.lookup(from, &base, &on, &mut Lookups::default())? else {
            return Ok(None);
        };
        let Lookup { path: inner, params, rest } = found;
        let rows = outer.plan.cost.rows * inner.cost.rows;
        let rows = clamp_rows(rows * self.selectivity_of_clauses(from, &rest));
        let rows = if kind == JoinKind::Left { rows.max(outer.plan.cost.rows) } else { rows };
        let outer = Side::planned(outer.clone(), None);
        let pair =
            Pair { kind, outer: &outer, inner: &outer, on: rest, same: &[], rows, pairs: rows };
        let shape = pair.shape(kind, &outer.best, &inner, *self.costs());
        let mut cost = shape.nest_loop(inner.rescan(&self.means()), pair.on.is_empty());
        if !self.ctx.settings.nestloop {
            cost.total += FORBIDDEN;
        }
        let (method, on) = (Method::NestLoop(params), pair.on.clone());
        let step = JoinStep { method, kind, outer: outer.best.clone(), inner, on };
        self.build(&Rc::new(Path { cost, step: Step::Join(step) })).map(Some)
    }

    fn selectivity_of_clauses(&self, from: &FromContext<'_>, on: &[Rc<Clause>]) -> f64 {
        let exprs: Vec<Expr> = on.iter().map(|clause| clause.expr.clone()).collect();
        from.estimator(self).selectivity(&exprs)
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
        let (outer, inner) = (Side::planned(outer, None), Side::planned(inner, None));
        let (rows, pairs) = (clamp_rows(rows), rows);
        let pair = Pair { kind, outer: &outer, inner: &inner, on, same: &[], rows, pairs };
        let mut cheapest = Cheapest::default();
        if params.is_empty() {
            self.consider_nest_loop(&pair, &mut cheapest);
        } else {
            let (outer, inner) = (outer.best.clone(), inner.best.clone());
            let rescan = inner.rescan(&self.means());
            let cost = pair.shape(kind, &outer, &inner, *self.costs()).nest_loop(rescan, false);
            cheapest.consider(cost, true, || {
                let (method, on) = (Method::NestLoop(Rc::from(params)), pair.on.clone());
                Step::Join(JoinStep { method, kind, outer, inner, on })
            });
        }
        let path = cheapest.0.ok_or_else(|| Error::internal("no nested loop was found"))?;
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
        cost.total += cost.rows * self.costs().cpu_operator * conditions.len() as f64;
        cost.rows = clamp_rows(cost.rows * self.selectivity_of_clauses(from, &conditions));
        Rc::new(Path { cost, step: Step::Filter(path, conditions) })
    }

    fn means(&self) -> Means {
        Means { costs: *self.costs(), memory: self.work_memory() }
    }

    /// work_mem in bytes.
    fn work_memory(&self) -> f64 {
        self.ctx.settings.work_mem_kb as f64 * 1024.0
    }

    /// What a hash table may take.
    pub(super) fn hash_memory(&self) -> f64 {
        self.work_memory() * self.ctx.settings.hash_mem_multiplier
    }

    /// How many rows a join has (calc_joinrel_size_estimate).
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

/// What the estimate of a join knows of a side.
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

/// Whether a plan's rows are kept, or are as cheap to get again.
fn is_kept(plan: &Plan) -> bool {
    matches!(
        plan.node,
        PlanNode::Values(_)
            | PlanNode::CteScan { .. }
            | PlanNode::Materialize(_)
            | PlanNode::Result { child: None, .. }
    )
}

/// Whether a scan goes for its rows, and does not read a whole table.
fn is_looked_up(plan: &Plan) -> bool {
    match &plan.scan().node {
        PlanNode::SeqScan { .. } | PlanNode::Result { .. } => false,
        PlanNode::Append(children) => children.iter().all(is_looked_up),
        _ => true,
    }
}
