//! Which run-time parameters a plan reads from outside itself.
//!
//! What a node keeps between re-scans (a sorted input, a hash table, a sub-select's
//! result) is valid as long as these parameters have not been set again. The
//! working table of a recursive union counts as a parameter too: its number is
//! `exec_params + work_table`.

use std::collections::BTreeSet;
use std::sync::Arc;
use steppe_sql::expr::{Aggregate, ExecParamId, Expr, SubPlanId};
use steppe_sql::plan::{Plan, PlanNode, PlannedStmt};

/// The dependencies of a statement's sub-plans, and the means to get a plan's.
pub(crate) struct Dependencies {
    exec_params: usize,
    subplans: Vec<BTreeSet<ExecParamId>>,
}

impl Dependencies {
    pub(crate) fn of(stmt: &PlannedStmt) -> Dependencies {
        let mut all = Dependencies {
            exec_params: stmt.exec_params,
            subplans: vec![BTreeSet::new(); stmt.subplans.len()],
        };
        // A sub-plan may use others, in any order: repeat until nothing is added.
        loop {
            let mut changed = false;
            for (i, plan) in stmt.subplans.iter().enumerate() {
                let found = all.collect(plan);
                changed |= found != all.subplans[i];
                all.subplans[i] = found;
            }
            if !changed {
                return all;
            }
        }
    }

    /// What a sub-plan reads from outside.
    pub(crate) fn of_subplan(&self, id: SubPlanId) -> Arc<[ExecParamId]> {
        self.subplans.get(id).into_iter().flatten().copied().collect()
    }

    /// What a plan reads from outside.
    pub(crate) fn of_plan(&self, plan: &Plan) -> Arc<[ExecParamId]> {
        self.collect(plan).into_iter().collect()
    }

    fn collect(&self, plan: &Plan) -> BTreeSet<ExecParamId> {
        let mut out = BTreeSet::new();
        for_each_expr(plan, &mut |e| self.expr(e, &mut out));
        let mut add = |child: &Plan| out.extend(self.collect(child));
        match &plan.node {
            PlanNode::NestLoop { outer, inner, params, .. } => {
                add(outer);
                let mut inner = self.collect(inner);
                params.iter().for_each(|(id, _)| {
                    inner.remove(id);
                });
                out.extend(inner);
            }
            PlanNode::RecursiveUnion { left, right, work_table, .. } => {
                add(left);
                let mut right = self.collect(right);
                right.remove(&(self.exec_params + work_table));
                out.extend(right);
            }
            PlanNode::WorkTableScan { work_table, .. } => {
                out.insert(self.exec_params + work_table);
            }
            PlanNode::CteScan { plan, .. } => {
                out.extend(self.subplans.get(*plan).into_iter().flatten());
            }
            _ => for_each_child(plan, &mut add),
        }
        out
    }

    fn expr(&self, expr: &Expr, out: &mut BTreeSet<ExecParamId>) {
        match expr {
            Expr::ExecParam { id, .. } => {
                out.insert(*id);
            }
            Expr::SubPlan(sub) => {
                let mut inner = self.subplans.get(sub.plan).cloned().unwrap_or_default();
                sub.args.iter().for_each(|(id, _)| {
                    inner.remove(id);
                });
                sub.test.iter().for_each(|e| self.expr(e, &mut inner));
                sub.columns.iter().for_each(|id| {
                    inner.remove(id);
                });
                sub.args.iter().for_each(|(_, e)| self.expr(e, &mut inner));
                sub.hash_keys.iter().flatten().for_each(|e| self.expr(e, &mut inner));
                out.extend(inner);
            }
            other => other.for_each_child(&mut |child| self.expr(child, out)),
        }
    }
}

/// Calls `f` on each child plan.
pub(crate) fn for_each_child<'a>(plan: &'a Plan, f: &mut dyn FnMut(&'a Plan)) {
    match &plan.node {
        PlanNode::Result { child, .. } => child.iter().for_each(|c| f(c)),
        PlanNode::NestLoop { outer, inner, .. }
        | PlanNode::HashJoin { outer, inner, .. }
        | PlanNode::MergeJoin { outer, inner, .. } => {
            f(outer);
            f(inner);
        }
        PlanNode::SetOp { left, right, .. } | PlanNode::RecursiveUnion { left, right, .. } => {
            f(left);
            f(right);
        }
        PlanNode::Materialize(child) | PlanNode::ProjectSet(child) => f(child),
        PlanNode::Sort { child, .. }
        | PlanNode::Memoize { child, .. }
        | PlanNode::Limit { child, .. }
        | PlanNode::Agg { child, .. }
        | PlanNode::Expand { child, .. }
        | PlanNode::WindowAgg { child, .. }
        | PlanNode::Unique { child, .. }
        | PlanNode::SubqueryScan { child, .. }
        | PlanNode::LockRows { child, .. }
        | PlanNode::PartitionScan { template: child, .. } => f(child),
        PlanNode::Append(children)
        | PlanNode::MergeAppend { children, .. }
        | PlanNode::BitmapAnd(children)
        | PlanNode::BitmapOr(children) => children.iter().for_each(f),
        PlanNode::BitmapScan { bitmap, .. } => f(bitmap),
        PlanNode::Modify(modify) => f(&modify.child),
        PlanNode::Values(_)
        | PlanNode::FunctionScan { .. }
        | PlanNode::SeqScan { .. }
        | PlanNode::IndexScan { .. }
        | PlanNode::BitmapIndexScan { .. }
        | PlanNode::TidScan { .. }
        | PlanNode::CteScan { .. }
        | PlanNode::WorkTableScan { .. } => {}
    }
}

/// Numbers that a plan's nodes take: a hash join's Hash node has one of its own.
pub(crate) fn count_nodes(plan: &Plan) -> usize {
    let mut total = 1 + usize::from(matches!(plan.node, PlanNode::HashJoin { .. }));
    for_each_child(plan, &mut |child| total += count_nodes(child));
    total
}

/// Calls `f` on each expression of a node, not of its children.
pub(crate) fn for_each_expr<'a>(plan: &'a Plan, f: &mut dyn FnMut(&'a Expr)) {
    for_each_shown_expr(plan, f);
    match &plan.node {
        PlanNode::LockRows { recheck, .. } => recheck.iter().for_each(f),
        PlanNode::Modify(modify) => modify.recheck.iter().for_each(f),
        _ => {}
    }
}

/// [`for_each_expr`] without conditions that repeat, for rows that have changed meanwhile, what
/// nodes below have decided: EXPLAIN does not show them.
pub(crate) fn for_each_shown_expr<'a>(plan: &'a Plan, f: &mut dyn FnMut(&'a Expr)) {
    plan.filter.iter().for_each(&mut *f);
    plan.project.iter().flatten().for_each(&mut *f);
    match &plan.node {
        PlanNode::Result { one_time_filter, .. } => one_time_filter.iter().for_each(f),
        PlanNode::Values(lists) => lists.iter().flatten().for_each(f),
        PlanNode::FunctionScan { calls, .. } => calls.iter().for_each(|(e, _)| f(e)),
        PlanNode::IndexScan { range, .. } | PlanNode::BitmapIndexScan { range, .. } => {
            range.for_each_value(f);
        }
        PlanNode::BitmapScan { recheck, .. } => f(recheck),
        PlanNode::TidScan { rows, .. } => rows.for_each_value(f),
        PlanNode::NestLoop { params, on, .. } => {
            params.iter().for_each(|(_, e)| f(e));
            on.iter().for_each(f);
        }
        PlanNode::HashJoin { keys, on, .. } => {
            keys.iter().for_each(|(a, b, _)| {
                f(a);
                f(b);
            });
            on.iter().for_each(f);
        }
        PlanNode::MergeJoin { keys, on, .. } => {
            keys.iter().for_each(|(a, b)| {
                f(a);
                f(b);
            });
            on.iter().for_each(f);
        }
        PlanNode::Sort { keys, bound, .. } => {
            keys.iter().for_each(|k| f(&k.expr));
            bound.iter().for_each(f);
        }
        PlanNode::Limit { limit, offset, ties, .. } => {
            limit.iter().chain(offset).for_each(&mut *f);
            ties.iter().flatten().for_each(|k| f(&k.expr));
        }
        PlanNode::Agg { keys, aggregates, .. } => {
            keys.iter().for_each(&mut *f);
            aggregates.iter().for_each(|a| for_each_aggregate_expr(a, f));
        }
        PlanNode::Expand { keys, .. } => keys.iter().for_each(f),
        PlanNode::WindowAgg { partition_by, order_by, frame, calls, run_condition, .. } => {
            run_condition.iter().for_each(&mut *f);
            partition_by.iter().for_each(&mut *f);
            order_by.iter().for_each(|k| f(&k.expr));
            frame.start.offset().into_iter().chain(frame.end.offset()).for_each(&mut *f);
            calls.iter().flat_map(|c| c.args.iter().chain(&c.filter)).for_each(f);
        }
        PlanNode::LockRows { outer_joins, .. } => outer_joins.iter().for_each(|(on, _)| f(on)),
        PlanNode::Modify(modify) => {
            modify.assignments.iter().for_each(|(_, e)| f(e));
            modify.generated.iter().chain(&modify.never_null).for_each(|(_, e)| f(e));
            modify.checks.iter().chain(&modify.view_checks).for_each(|(_, e)| f(e));
            if let Some((assignments, filter)) =
                modify.on_conflict.as_ref().and_then(|c| c.update.as_ref())
            {
                assignments.iter().for_each(|(_, e)| f(e));
                filter.iter().for_each(f);
            }
        }
        PlanNode::SeqScan { .. }
        | PlanNode::BitmapAnd(_)
        | PlanNode::BitmapOr(_)
        | PlanNode::PartitionScan { .. }
        | PlanNode::Materialize(_)
        | PlanNode::Memoize { .. }
        | PlanNode::Unique { .. }
        | PlanNode::Append(_)
        | PlanNode::MergeAppend { .. }
        | PlanNode::SetOp { .. }
        | PlanNode::SubqueryScan { .. }
        | PlanNode::ProjectSet(_)
        | PlanNode::CteScan { .. }
        | PlanNode::RecursiveUnion { .. }
        | PlanNode::WorkTableScan { .. } => {}
    }
}

/// Calls `f` on each expression of an aggregate call.
pub(crate) fn for_each_aggregate_expr<'a>(a: &'a Aggregate, f: &mut dyn FnMut(&'a Expr)) {
    a.args.iter().for_each(&mut *f);
    a.order_by.iter().for_each(|k| f(&k.expr));
    a.filter.iter().for_each(f);
}
