//! Paths: ways to get rows, before one of them is made a plan (pathnode.c).
//!
//! A path has its cost, its parts, and the order of its rows. [`Paths`] keeps the cheapest path to
//! a set of entries, and the cheapest one for each order that a node above may use (add_path).
//! [`super::ties`] defines cheapest.

use super::join::FromContext;
use super::join_clause::{Clause, JoinKey};
use super::join_cost::{self, HashSize, JoinShape, Means, Rescan};
use super::join_graph::Alternatives;
use super::memoize::Memoized;
use super::merge_path::Sorting;
use super::pathkeys::{KnownKey, PathOrder, covers};
use super::ties::is_clearly_less;
use super::{Planner, Rel, RteSet};
use crate::expr::{ExecParamId, Expr, SortKey};
use crate::plan::*;
use crate::query::JoinKind;
use std::rc::Rc;
use steppe_catalog::RelKind;
use steppe_types::Result;

/// The added cost of a plan that a setting forbids.
pub(super) const FORBIDDEN: f64 = 1e10;

/// A way to get rows.
#[derive(Debug)]
pub(super) struct Path {
    pub(super) cost: Cost,
    pub(super) step: Step,
    pub(super) order: PathOrder,
}

#[derive(Debug)]
pub(super) enum Step {
    /// A part that has been planned already.
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
    /// The way in which each side gets the order of the keys.
    Merge {
        keys: Vec<JoinKey>,
        outer: Sorting,
        inner: Sorting,
    },
}

/// One side of a join.
#[derive(Clone, Debug)]
pub(super) struct Side {
    pub(super) rtes: RteSet,
    pub(super) best: Rc<Path>,
    /// In orders that may be of use.
    pub(super) ordered: Vec<Rc<Path>>,
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
    /// Conditions that are equivalent to these.
    pub(super) same: &'p [Alternatives],
    /// Rows of the join.
    pub(super) rows: f64,
    /// Pairs of rows that match.
    pub(super) pairs: f64,
}

/// The orders of a set's rows that a node above may use.
#[derive(Clone)]
pub(super) struct OrderUses {
    /// The conditions that a merge join may have as keys.
    pub(super) clauses: Rc<[Rc<Clause>]>,
    /// The orders that the query wants its rows in.
    pub(super) wanted: Rc<[Vec<SortKey>]>,
    /// The set's entries.
    pub(super) rtes: RteSet,
    /// LIMIT lets a part of the rows be enough.
    pub(super) is_bounded: bool,
}

/// The best paths so far.
#[derive(Default)]
pub(super) struct Paths {
    pub(super) best: Option<Rc<Path>>,
    pub(super) ordered: Vec<Rc<Path>>,
    /// The conditions by which a merge join with something else may be made.
    merged: Vec<Rc<Clause>>,
    /// The orders that the query wants its rows in.
    wanted: Rc<[Vec<SortKey>]>,
    /// LIMIT lets a part of the rows be enough.
    is_bounded: bool,
    /// The cost parameters and memory of a sort, if one may be done.
    sorting: Option<Means>,
}

impl Paths {
    /// Keeps paths in orders that may be of use, too.
    pub(super) fn in_orders(uses: OrderUses, sorting: Option<Means>) -> Paths {
        let OrderUses { clauses, wanted, rtes, is_bounded } = uses;
        let leads_out = |clause: &&Rc<Clause>| !clause.rtes.is_subset(&rtes);
        let merged = clauses.iter().filter(leads_out).cloned().collect();
        Paths { merged, wanted, is_bounded, sorting, ..Paths::default() }
    }

    /// Adds a path that comes in this order, `useful` of whose keys may be of use, unless an
    /// existing path is better.
    pub(super) fn consider(
        &mut self,
        cost: Cost,
        is_allowed: bool,
        (order, useful): (&PathOrder, usize),
        step: impl FnOnce() -> Step,
    ) {
        let cost = charged(cost, is_allowed);
        let is_best = self.best.as_ref().is_none_or(|best| cost.beats(&best.cost));
        let is_kept = self.is_kept(&cost, order, useful);
        if is_best || is_kept {
            let path = Rc::new(Path { cost, step: step(), order: order.clone() });
            self.keep(path, (is_best, is_kept));
        }
    }

    /// Considers a path whose order is of no use. The path is computed only if it is kept.
    pub(super) fn consider_in_any_order(
        &mut self,
        cost: Cost,
        is_allowed: bool,
        path: impl FnOnce() -> (PathOrder, Step),
    ) {
        let cost = charged(cost, is_allowed);
        if self.best.as_ref().is_none_or(|best| cost.beats(&best.cost)) {
            let (order, step) = path();
            self.best = Some(Rc::new(Path { cost, step, order }));
        }
    }

    /// Whether the best path is clearly cheaper than a path without useful order whose cost is at
    /// least `least`.
    pub(super) fn is_hopeless(&self, least: f64) -> bool {
        self.best.as_ref().is_some_and(|best| is_clearly_less(best.cost.total, least))
    }

    /// The cheapest path of an outer side, followed by the paths whose order the join may hand on.
    /// Each has the number of its keys that may be of use.
    pub(super) fn outers<'p>(&self, side: &'p Side) -> Vec<(&'p Rc<Path>, usize)> {
        let with_length = |path: &'p Rc<Path>| (path, self.length(&path.order));
        let mut outers: Vec<(&Rc<Path>, usize)> = side.paths().map(with_length).collect();
        let mut is_first = true;
        outers.retain(|(_, useful)| std::mem::take(&mut is_first) || *useful > 0);
        outers
    }

    /// Whether any order may be of use.
    pub(super) fn wants_order(&self) -> bool {
        !self.wanted.is_empty() || !self.merged.is_empty()
    }

    /// Adds a path, and drops the paths that it is better than.
    pub(super) fn add(&mut self, path: Rc<Path>) {
        let is_best = self.best.as_ref().is_none_or(|best| path.cost.beats(&best.cost));
        let is_kept = self.is_kept(&path.cost, &path.order, self.length(&path.order));
        self.keep(path, (is_best, is_kept));
    }

    fn keep(&mut self, path: Rc<Path>, (is_best, is_kept): (bool, bool)) {
        if is_kept {
            let mut ordered = std::mem::take(&mut self.ordered);
            ordered.retain(|other| {
                !path.cost.is_no_dearer(&other.cost, self.is_bounded)
                    || !covers(&path.order, &other.order, self.length(&other.order))
            });
            ordered.push(path.clone());
            self.ordered = ordered;
        }
        if is_best {
            self.best = Some(path);
        }
    }

    /// The number of keys that may be of use.
    pub(super) fn useful(&self, keys: &[SortKey]) -> usize {
        self.length(&keys.iter().map(|key| Rc::new(KnownKey::of(key.clone()))).collect())
    }

    /// The number of keys of an order that may be of use (truncate_useless_pathkeys).
    pub(super) fn length(&self, order: &PathOrder) -> usize {
        let is_merged = |known: &KnownKey, clause: &Clause| {
            let equality = clause.equality.as_ref();
            equality.is_some_and(|sides| known.is(&sides.left) || known.is(&sides.right))
        };
        let merged = order.iter().take_while(|known| {
            !known.is_descending() && self.merged.iter().any(|clause| is_merged(known, clause))
        });
        let given = |wanted: &Vec<SortKey>| {
            order.iter().zip(wanted).take_while(|(known, wanted)| known.gives(wanted)).count()
        };
        let wanted = self.wanted.iter().map(given).max();
        merged.count().max(wanted.unwrap_or(0))
    }

    /// Whether to sort the cheapest path's rows costs less than a path in an order that only merge
    /// joins may use, which can sort them as well. (PostgreSQL keeps such paths. What they could save is
    /// the sort of many more rows above a nested loop, for a merge join that must then beat a hash
    /// join.) If a part of the rows may be enough, not to have to sort is worth more.
    fn is_dearer_than_sorting(&self, cost: &Cost, order: &PathOrder) -> bool {
        let (Some(best), Some(means)) = (&self.best, &self.sorting) else { return false };
        let is_wanted = |wanted: &Vec<SortKey>| {
            order.first().zip(wanted.first()).is_some_and(|(known, wanted)| known.gives(wanted))
        };
        !self.is_bounded
            && cost.total > join_cost::sorted(&best.cost, means).total
            && !self.wanted.iter().any(is_wanted)
    }

    /// Whether a path is kept for its order: the order is of use, a sort of the best path is not
    /// cheaper, and every path with this order costs more.
    fn is_kept(&self, cost: &Cost, order: &PathOrder, useful: usize) -> bool {
        let is_bounded = self.is_bounded;
        let is_better = |known: &Rc<Path>| {
            known.cost.is_no_dearer(cost, is_bounded) && covers(&known.order, order, useful)
        };
        useful > 0
            && !self.is_dearer_than_sorting(cost, order)
            && !self.ordered.iter().any(is_better)
    }
}

/// A cost, with the added cost of a method that should not be used.
fn charged(cost: Cost, is_allowed: bool) -> Cost {
    let besides = if is_allowed { 0.0 } else { FORBIDDEN };
    Cost { total: cost.total + besides, ..cost }
}

impl Path {
    pub(super) fn planned(rel: Rel, order: PathOrder) -> Rc<Path> {
        Rc::new(Path { cost: rel.plan.cost, step: Step::Planned(Box::new(rel)), order })
    }

    /// Whether a system catalog would be computed again with each scan: however few rows are
    /// expected, the first scan's are kept then.
    pub(super) fn is_computed_anew(&self) -> bool {
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
                Method::Merge { .. } => false,
            },
        }
    }

    /// Whether there is one row at most, for any content of the tables.
    pub(super) fn is_one_row(&self) -> bool {
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

    pub(super) fn rescan(&self, means: &Means) -> Rescan {
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
    pub(super) fn of(rtes: RteSet, best: Rc<Path>) -> Side {
        Side { rtes, best, ordered: Vec::new(), base: None }
    }

    /// The cheapest path, then those in orders that may be of use.
    pub(super) fn paths(&self) -> impl Iterator<Item = &Rc<Path>> {
        let others = self.ordered.iter().filter(|path| !Rc::ptr_eq(path, &self.best));
        std::iter::once(&self.best).chain(others)
    }

    pub(super) fn rows(&self) -> f64 {
        self.best.cost.rows
    }
}

impl Planner<'_> {
    /// Makes a planned part a side of joins.
    pub(super) fn side(&self, rel: Rel, base: Option<BaseTable>) -> Result<Side> {
        let (rtes, order) = (rel.rtes.clone(), self.path_order(&rel)?);
        Ok(Side { base: base.map(Rc::new), ..Side::of(rtes, Path::planned(rel, order)) })
    }

    pub(super) fn shape(
        &self,
        pair: &Pair<'_>,
        kind: JoinKind,
        outer: &Path,
        inner: &Path,
    ) -> JoinShape {
        JoinShape {
            costs: *self.costs(),
            kind,
            outer: outer.cost,
            inner: inner.cost,
            rows: pair.rows,
            pairs: pair.pairs,
            conditions: self.operators_of_clauses(&pair.on),
            is_inner_unique: false,
        }
    }

    /// The shape of a join by keys: the other conditions are evaluated for each pair with the same
    /// keys, of which there are more than come out (approx_tuple_count).
    pub(super) fn shape_by_keys(
        &self,
        (from, pair, keys): (&FromContext<'_>, &Pair<'_>, &[JoinKey]),
        kind: JoinKind,
        outer: &Path,
        inner: &Path,
    ) -> JoinShape {
        let mut shape = self.shape(pair, kind, outer, inner);
        let is_other = |(i, _): &(usize, &Rc<Clause>)| keys.iter().all(|key| key.clause != *i);
        let others = pair.on.iter().enumerate().filter(is_other);
        let selected = |expr: &Expr| from.estimator(self).selectivity_of(expr);
        let passed: f64 = others.map(|(_, clause)| clause.pairs(selected)).product();
        if passed < 1.0 {
            let all = (outer.cost.rows * inner.cost.rows).max(shape.pairs);
            shape.pairs = (shape.pairs / passed.max(f64::MIN_POSITIVE)).min(all);
        }
        shape
    }

    pub(super) fn operators_of_clauses(&self, on: &[Rc<Clause>]) -> f64 {
        self.operators_of(on.iter().map(|clause| &clause.expr))
    }
}

/// Whether a plan's rows are kept, or are as cheap to get again.
pub(super) fn is_kept(plan: &Plan) -> bool {
    matches!(
        plan.node,
        PlanNode::Values(_)
            | PlanNode::CteScan { .. }
            | PlanNode::Materialize(_)
            | PlanNode::Result { child: None, .. }
    )
}
