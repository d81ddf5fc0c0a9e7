//! Nested loops whose inner side, a table, is looked up by the values of outer rows (parameterised
//! paths in indxpath.c): in an index, or in the one partition of these values.

use super::join::FromContext;
use super::join_clause::Clause;
use super::join_graph::Alternatives;
use super::path::{BaseTable, FORBIDDEN, JoinStep, Method, Pair, Path, Paths, Side, Step};
use super::pathkeys::no_order;
use super::scan::{ScanRequest, clamp_rows};
use super::{Planner, Rel, RteSet, is_volatile, rtes_of};
use crate::expr::{ExecParamId, Expr};
use crate::plan::*;
use crate::query::{JoinKind, RteKind};
use hashbrown::HashMap;
use std::rc::Rc;
use steppe_types::Result;

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

impl Planner<'_> {
    pub(super) fn consider_lookup(
        &mut self,
        from: &FromContext<'_>,
        pair: &Pair<'_>,
        lookups: &mut Lookups,
        paths: &mut Paths,
    ) -> Result<()> {
        let Some(base) = &pair.inner.base else { return Ok(()) };
        self.consider_lookup_by(from, pair, (base, &pair.on), lookups, paths)?;
        match self.most_repeated(base.rte, pair) {
            Some(on) => self.consider_lookup_by(from, pair, (base, &on), lookups, paths),
            None => Ok(()),
        }
    }

    /// The join's conditions, each in the form that compares the table with the largest of the
    /// outer entries: the more often an index is searched, the more of it is in the cache. `None`
    /// if they have that form already.
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
        paths: &mut Paths,
    ) -> Result<()> {
        let found = self.lookup(from, base, on, lookups)?;
        let Some(Lookup { path: inner, params, rest }) = found else { return Ok(()) };
        let memoized = self.memoized(from, pair, on, (&inner, &params));
        let outers = paths.outers(pair.outer);
        let conditions = self.operators_of_clauses(&rest);
        for inner in std::iter::once(inner).chain(memoized) {
            let again = inner.rescan(&self.means());
            for (outer, useful) in &outers {
                let mut shape = self.shape(pair, pair.kind, outer, &inner);
                shape.conditions = conditions;
                let cost = shape.nest_loop(again, rest.is_empty());
                paths.consider(cost, self.ctx.settings.nestloop, (&outer.order, *useful), || {
                    let (method, kind) = (Method::NestLoop(params.clone()), pair.kind);
                    let (outer, inner, on) = (Rc::clone(outer), inner.clone(), rest.clone());
                    Step::Join(JoinStep { method, kind, outer, inner, on })
                });
            }
        }
        Ok(())
    }

    /// A scan of a table by the values of outer rows: in an index, or in the one partition of these
    /// values.
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

    /// The number of runs of a scan by values of these entries: the rows of the smallest of them,
    /// even if it is joined with others before (get_loop_count).
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
        if relation.is_distributed() {
            return Ok(None);
        }
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
        let (path, params) = (Path::planned(inner, no_order()), Rc::from(params));
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
        let outer = Side::of(outer.rtes.clone(), Path::planned(outer.clone(), no_order()));
        let pair =
            Pair { kind, outer: &outer, inner: &outer, on: rest, same: &[], rows, pairs: rows };
        let shape = self.shape(&pair, kind, &outer.best, &inner);
        let mut cost = shape.nest_loop(inner.rescan(&self.means()), pair.on.is_empty());
        if !self.ctx.settings.nestloop {
            cost.total += FORBIDDEN;
        }
        let (method, on) = (Method::NestLoop(params), pair.on.clone());
        let step = JoinStep { method, kind, outer: outer.best.clone(), inner, on };
        self.build(&Rc::new(Path { cost, step: Step::Join(step), order: no_order() })).map(Some)
    }

    pub(super) fn selectivity_of_clauses(&self, from: &FromContext<'_>, on: &[Rc<Clause>]) -> f64 {
        let exprs: Vec<Expr> = on.iter().map(|clause| clause.expr.clone()).collect();
        from.estimator(self).selectivity(&exprs)
    }
}

/// Whether a scan looks its rows up, and does not read a whole table.
fn is_looked_up(plan: &Plan) -> bool {
    match &plan.scan().node {
        PlanNode::SeqScan { .. } | PlanNode::Result { .. } => false,
        PlanNode::Append(children) => children.iter().all(is_looked_up),
        _ => true,
    }
}
