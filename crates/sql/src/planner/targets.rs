//! The select list: the targets that are computed before rows are sorted, and the ones computed for
//! the rows kept (make_sort_input_target and apply_scanjoin_target_to_paths in planner.c).
//!
//! Before: expressions of DISTINCT and ORDER BY, and expressions that may be computed for dropped
//! rows. After: volatile expressions and set-returning functions. Hidden targets, which only
//! DISTINCT and ORDER BY use, are dropped at last.

use super::joinpath::output_names;
use super::limit::sort_bound;
use super::project_set::{project_sets, row_and};
use super::sorting::Wish;
use super::{ColumnId, Planner, Rel, RteSet, is_volatile, node, returns_set, to_slots};
use crate::expr::{Expr, SortKey, TypeRef};
use crate::plan::*;
use crate::query::*;
use steppe_types::Result;

impl Planner<'_> {
    /// Targets, DISTINCT and ORDER BY: most targets are computed before rows are sorted, the rest
    /// ([`late_targets`]) of rows that are kept.
    pub(super) fn project_sorted(
        &mut self,
        query: &Query,
        rel: Rel,
        way: AggStrategy,
    ) -> Result<Rel> {
        let late = late_targets(query);
        if !late.contains(&true) || self.needs_no_sort(query, &rel)? {
            let rel = self.project_targets(query, rel)?;
            let targets = row_and(&rel.plan, []);
            let rel = self.distinct(query, rel, &targets, way)?;
            return self.order(query, rel, &targets, sort_bound(query));
        }
        let mut targets = targets_over(query, &rel.layout)?;
        // The row that is sorted: the columns that late targets read, then the other targets.
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

    /// ORDER BY.
    pub(super) fn order(
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
}

/// The select list over a plan's row.
pub(super) fn targets_over(query: &Query, layout: &[ColumnId]) -> Result<Vec<Expr>> {
    query.targets.iter().map(|t| to_slots(t.expr.clone(), layout)).collect()
}

/// The targets that are computed after sorting, for the rows that are kept: calls of volatile
/// functions and sub-selects that ORDER BY and DISTINCT do not use, and set-returning functions if
/// ORDER BY and DISTINCT use none (make_sort_input_target in planner.c).
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

pub(super) fn order_keys(query: &Query, targets: &[Expr]) -> Vec<SortKey> {
    let key = |o: &OrderBy| SortKey {
        expr: targets[o.target].clone(),
        descending: o.descending,
        nulls_first: o.nulls_first,
    };
    query.order_by.iter().map(key).collect()
}

/// The final row has only the visible targets.
pub(super) fn drop_hidden(query: &Query, plan: Plan) -> Plan {
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
