//! Join methods (joinpath.c, in small): what joins one side to another most cheaply.

use super::cost;
use super::join::FromContext;
use super::scan::{ScanRequest, clamp_rows};
use super::selectivity::JoinSides;
use super::{ColumnId, Planner, Rel, RteSet, and_all, node, rtes_of, to_slots};
use crate::expr::{CallSyntax, Expr, TypeRef};
use crate::plan::*;
use crate::query::{JoinKind, RteKind};
use std::sync::Arc;
use steppe_types::{Error, Oid, Result, SqlState};

impl Planner<'_> {
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
        let mut best: Option<Rel> = None;
        let mut consider = |rel: Rel| {
            if best.as_ref().is_none_or(|b| rel.plan.cost.beats(&b.plan.cost)) {
                best = Some(rel);
            }
        };
        let settings = self.ctx.settings;
        let penalty = |rel: Rel, enabled: bool| {
            let mut rel = rel;
            if !enabled {
                rel.plan.cost.total += 1e10;
            }
            rel
        };
        let keys = self.equi_keys(&outer, &inner, &on);
        if !keys.is_empty() {
            let enabled = settings.hashjoin;
            let rel = self.hash_join(from, kind, outer.clone(), inner.clone(), &on, &keys)?;
            consider(penalty(rel, enabled));
            if let Some(rel) =
                self.merge_join(from, kind, outer.clone(), inner.clone(), &on, &keys)?
            {
                consider(penalty(rel, settings.mergejoin));
            }
        }
        if kind == JoinKind::Full && keys.is_empty() && on.iter().all(|c| rtes_of(c).is_empty()) {
            // Without conditions that name columns every pair is a candidate: one group.
            if let Some(rel) =
                self.merge_join(from, kind, outer.clone(), inner.clone(), &on, &keys)?
            {
                consider(rel);
            }
        }
        if kind != JoinKind::Full {
            if let Some((rte, conditions)) = single
                && let Some(rel) =
                    self.index_nest_loop(from, kind, &outer, rte, &conditions, &on)?
            {
                consider(penalty(rel, settings.nestloop));
            }
            let rel = self.nest_loop(from, kind, outer, inner, Vec::new(), on)?;
            consider(penalty(rel, settings.nestloop));
        }
        best.ok_or_else(|| {
            Error::new(
                SqlState::FEATURE_NOT_SUPPORTED,
                "FULL JOIN is only supported with merge-joinable or hash-joinable join conditions",
            )
        })
    }

    /// Equality conditions with one side each: (outer expression, inner expression, operator,
    /// position in `on`).
    pub(super) fn equi_keys(
        &self,
        outer: &Rel,
        inner: &Rel,
        on: &[Expr],
    ) -> Vec<(Expr, Expr, Oid, usize)> {
        let mut keys = Vec::new();
        for (i, condition) in on.iter().enumerate() {
            let Expr::Func { args, syntax: CallSyntax::Operator(op), .. } = condition else {
                continue;
            };
            let [a, b] = args.as_slice() else { continue };
            let Some(operator) = self.builtins.operator(*op) else { continue };
            if operator.name != "=" || !operator.can_hash || super::is_volatile(condition) {
                continue;
            }
            let (ra, rb) = (rtes_of(a), rtes_of(b));
            if ra.is_empty() || rb.is_empty() {
                continue;
            }
            if ra.is_subset(&outer.rtes) && rb.is_subset(&inner.rtes) {
                keys.push((a.clone(), b.clone(), operator.oid, i));
            } else if rb.is_subset(&outer.rtes) && ra.is_subset(&inner.rtes) {
                keys.push((b.clone(), a.clone(), operator.commutator, i));
            }
        }
        keys
    }

    fn hash_join(
        &mut self,
        from: &FromContext<'_>,
        kind: JoinKind,
        outer: Rel,
        inner: Rel,
        on: &[Expr],
        keys: &[(Expr, Expr, Oid, usize)],
    ) -> Result<Rel> {
        let rows = self.join_rows(from, kind, &outer, &inner, on);
        let (o, i) = (&outer.plan.cost, &inner.plan.cost);
        let build = i.total + i.rows * (cost::CPU_OPERATOR * keys.len() as f64 + cost::CPU_TUPLE);
        let cost = Cost {
            startup: build + o.startup,
            total: build
                + o.total
                + o.rows * cost::CPU_OPERATOR * keys.len() as f64
                + rows * cost::CPU_TUPLE,
            rows: clamp_rows(rows),
            width: o.width + i.width,
        };
        let slot_keys = keys
            .iter()
            .map(|(a, b, op, _)| {
                let func = self.builtins.operator(*op).map_or(0, |o| o.func);
                Ok((to_slots(a.clone(), &outer.layout)?, to_slots(b.clone(), &inner.layout)?, func))
            })
            .collect::<Result<Vec<_>>>()?;
        let rest = rest_of(on, keys);
        let width = outer.layout.len();
        let (layout, types, names, rtes) = combine(&outer, &inner);
        let on = and_all(rest).map(|e| to_slots(e, &layout)).transpose()?;
        let (outer, inner) = (Box::new(outer.plan), Box::new(inner.plan));
        let join = PlanNode::HashJoin { kind, outer, inner, keys: slot_keys, on };
        let rel = Rel { plan: node(join, types, names, cost), layout, rtes };
        Ok(self.handed_up(kind, width, rel))
    }

    fn merge_join(
        &mut self,
        from: &FromContext<'_>,
        kind: JoinKind,
        outer: Rel,
        inner: Rel,
        on: &[Expr],
        keys: &[(Expr, Expr, Oid, usize)],
    ) -> Result<Option<Rel>> {
        let same_type = |k: &&(Expr, Expr, Oid, usize)| {
            k.0.ty().oid == k.1.ty().oid && self.builtins.operator(k.2).is_some_and(|o| o.can_merge)
        };
        let found = keys.len();
        let keys: Vec<_> = keys.iter().filter(same_type).cloned().collect();
        // Without any key the merge is over one group: only FULL joins ask for that.
        if keys.is_empty() && (found > 0 || kind != JoinKind::Full) {
            return Ok(None);
        }
        let rows = self.join_rows(from, kind, &outer, &inner, on);
        let sorted = |rel: Rel, side: Vec<Expr>| -> Result<Rel> {
            if side.is_empty() {
                return Ok(rel);
            }
            let sort_keys = side
                .into_iter()
                .map(|e| {
                    let expr = to_slots(e, &rel.layout)?;
                    Ok(crate::expr::SortKey { expr, descending: false, nulls_first: false })
                })
                .collect::<Result<_>>()?;
            Ok(sort_rel(rel, sort_keys))
        };
        let outer = sorted(outer, keys.iter().map(|k| k.0.clone()).collect())?;
        let inner = sorted(inner, keys.iter().map(|k| k.1.clone()).collect())?;
        let (o, i) = (&outer.plan.cost, &inner.plan.cost);
        let cost = Cost {
            startup: o.startup + i.startup,
            total: o.total
                + i.total
                + (o.rows + i.rows) * cost::CPU_OPERATOR
                + rows * cost::CPU_TUPLE,
            rows: clamp_rows(rows),
            width: o.width + i.width,
        };
        let slot_keys = keys
            .iter()
            .map(|(a, b, ..)| {
                Ok((to_slots(a.clone(), &outer.layout)?, to_slots(b.clone(), &inner.layout)?))
            })
            .collect::<Result<Vec<_>>>()?;
        let rest = rest_of(on, &keys);
        let width = outer.layout.len();
        let (layout, types, names, rtes) = combine(&outer, &inner);
        let on = and_all(rest).map(|e| to_slots(e, &layout)).transpose()?;
        let (outer, inner) = (Box::new(outer.plan), Box::new(inner.plan));
        let join = PlanNode::MergeJoin { kind, outer, inner, keys: slot_keys, on };
        let rel = Rel { plan: node(join, types, names, cost), layout, rtes };
        Ok(Some(self.handed_up(kind, width, rel)))
    }

    /// A nested loop whose inner side is looked up by the outer row's values: in an index, or in
    /// the one partition that they ask for.
    pub(super) fn index_nest_loop(
        &mut self,
        from: &FromContext<'_>,
        kind: JoinKind,
        outer: &Rel,
        rte: usize,
        own: &[Expr],
        on: &[Expr],
    ) -> Result<Option<Rel>> {
        let RteKind::Relation(relation) = &from.rtes[rte].kind else { return Ok(None) };
        let mut params = Vec::new();
        let inner_set = RteSet::one(rte);
        let mut conditions = own.to_vec();
        let mut rest = Vec::new();
        for condition in on {
            let used = rtes_of(condition);
            if !used.overlaps(&inner_set) || super::is_volatile(condition) {
                rest.push(condition.clone());
                continue;
            }
            conditions.push(self.outer_vars_to_params(condition.clone(), rte, &mut params)?);
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
        let inner = self.base_scan(&request)?;
        let is_looked_up = matches!(inner.plan.scan().node, PlanNode::IndexScan { .. });
        if !is_looked_up && !self.picks_partition(&request, own.len())? {
            return Ok(None);
        }
        let params = params
            .into_iter()
            .map(|(id, e)| Ok((id, to_slots(e, &outer.layout)?)))
            .collect::<Result<Vec<_>>>()?;
        self.nest_loop(from, kind, outer.clone(), inner, params, rest).map(Some)
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

    pub(super) fn nest_loop(
        &mut self,
        from: &FromContext<'_>,
        kind: JoinKind,
        outer: Rel,
        inner: Rel,
        params: Vec<(usize, Expr)>,
        on: Vec<Expr>,
    ) -> Result<Rel> {
        let parameterised = !params.is_empty();
        let rows = if parameterised {
            (outer.plan.cost.rows * inner.plan.cost.rows * from.estimator(self).selectivity(&on))
                .max(if kind == JoinKind::Left { outer.plan.cost.rows } else { 0.0 })
        } else {
            self.join_rows(from, kind, &outer, &inner, &on)
        };
        let inner = match parameterised || is_cheap_to_rescan(&inner.plan) {
            true => inner,
            false => materialize(inner),
        };
        let (o, i) = (&outer.plan.cost, &inner.plan.cost);
        let rescan = match &inner.plan.node {
            PlanNode::Materialize(_) => i.rows * cost::CPU_OPERATOR,
            _ => i.total,
        };
        let loops = (o.rows - 1.0).max(0.0);
        let checks = o.rows * i.rows * cost::CPU_OPERATOR * on.len() as f64;
        let cost = Cost {
            startup: o.startup + i.startup,
            total: o.total + i.total + loops * rescan + checks + rows * cost::CPU_TUPLE,
            rows: clamp_rows(rows),
            width: o.width + i.width,
        };
        let width = outer.layout.len();
        let (layout, types, names, rtes) = combine(&outer, &inner);
        let on = and_all(on).map(|e| to_slots(e, &layout)).transpose()?;
        let (outer, inner) = (Box::new(outer.plan), Box::new(inner.plan));
        let join = PlanNode::NestLoop { kind, outer, inner, params, on };
        let rel = Rel { plan: node(join, types, names, cost), layout, rtes };
        Ok(self.handed_up(kind, width, rel))
    }

    /// Semi and anti joins hand up the outer row alone, unless what it was joined with is kept.
    fn handed_up(&self, kind: JoinKind, outer: usize, rel: Rel) -> Rel {
        match kind {
            JoinKind::Anti => {}
            JoinKind::Semi if !self.keeps_partners => {}
            _ => return rel,
        }
        let Rel { mut plan, mut layout, rtes } = rel;
        layout.truncate(outer);
        plan.types.truncate(outer);
        plan.slot_names = plan.slot_names.iter().take(outer).cloned().collect();
        Rel { plan, layout, rtes }
    }

    pub(super) fn join_rows(
        &self,
        from: &FromContext<'_>,
        kind: JoinKind,
        outer: &Rel,
        inner: &Rel,
        on: &[Expr],
    ) -> f64 {
        let sides = JoinSides {
            kind,
            outer_rows: outer.plan.cost.rows,
            inner_rows: inner.plan.cost.rows,
            inner: &inner.rtes,
        };
        from.estimator(self).join_rows(sides, on)
    }
}

/// Sorts a relation's rows.
pub(crate) fn sort_rel(rel: Rel, keys: Vec<crate::expr::SortKey>) -> Rel {
    let cost = cost::sort_cost(&rel.plan.cost, None);
    let types = rel.plan.types.clone();
    let names = output_names(&rel.plan);
    let sort = PlanNode::Sort { child: Box::new(rel.plan), keys, bound: None };
    Rel { plan: node(sort, types, names, cost), ..rel }
}

fn materialize(rel: Rel) -> Rel {
    let mut cost = rel.plan.cost;
    cost.total += cost.rows * 2.0 * cost::CPU_OPERATOR;
    let types = rel.plan.types.clone();
    let names = output_names(&rel.plan);
    let plan = node(PlanNode::Materialize(Box::new(rel.plan)), types, names, cost);
    Rel { plan, ..rel }
}

/// Names of a plan's output slots, for the node above.
pub(crate) fn output_names(plan: &Plan) -> Arc<[Arc<str>]> {
    match &plan.project {
        None => plan.slot_names.clone(),
        Some(exprs) => exprs
            .iter()
            .map(|e| match e {
                Expr::Slot { index, .. } => {
                    plan.slot_names.get(*index).cloned().unwrap_or_else(|| "?".into())
                }
                other => format!("({})", shape(other)).into(),
            })
            .collect(),
    }
}

/// A rough name for a computed column.
fn shape(expr: &Expr) -> &'static str {
    match expr {
        Expr::Aggregate(_) => "aggregate",
        Expr::Func { .. } => "expression",
        Expr::Const(..) => "constant",
        _ => "value",
    }
}

fn is_cheap_to_rescan(plan: &Plan) -> bool {
    matches!(
        plan.node,
        PlanNode::Values(_)
            | PlanNode::CteScan { .. }
            | PlanNode::Materialize(_)
            | PlanNode::Result { child: None, .. }
    )
}

#[allow(clippy::type_complexity)]
fn combine(outer: &Rel, inner: &Rel) -> (Vec<ColumnId>, Vec<TypeRef>, Arc<[Arc<str>]>, RteSet) {
    let layout = outer.layout.iter().chain(&inner.layout).copied().collect();
    let types = outer.plan.types.iter().chain(&inner.plan.types).copied().collect();
    let names = output_names(&outer.plan);
    let names = names.iter().chain(output_names(&inner.plan).iter()).cloned().collect();
    (layout, types, names, outer.rtes.union(&inner.rtes))
}

fn rest_of(on: &[Expr], keys: &[(Expr, Expr, Oid, usize)]) -> Vec<Expr> {
    let used = |i: usize| keys.iter().any(|k| k.3 == i);
    on.iter().enumerate().filter(|(i, _)| !used(*i)).map(|(_, e)| e.clone()).collect()
}
