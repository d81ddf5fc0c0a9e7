//! The run-time parameters that a plan reads from outside itself.
//!
//! A node keeps results between re-scans, such as a sorted input, a hash table or a sub-select's
//! result. They are valid as long as these parameters have not been set again. The working table of
//! a recursive union counts as a parameter, too: its number is `exec_params + work_table`.

use std::collections::BTreeSet;
use std::sync::Arc;
use steppe_sql::expr::{ExecParamId, Expr, SubPlanId};
use steppe_sql::plan::{Plan, PlanNode, PlannedStmt};
pub(crate) use steppe_sql::plan::{for_each_child, for_each_expr, for_each_shown_expr};

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

    /// The parameters that a sub-plan reads from outside.
    pub(crate) fn of_subplan(&self, id: SubPlanId) -> Arc<[ExecParamId]> {
        self.subplans.get(id).into_iter().flatten().copied().collect()
    }

    /// The parameters that a plan reads from outside.
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

/// Numbers that a plan's nodes take: a hash join's Hash node has one of its own.
pub(crate) fn count_nodes(plan: &Plan) -> usize {
    let mut total = 1 + usize::from(matches!(plan.node, PlanNode::HashJoin { .. }));
    for_each_child(plan, &mut |child| total += count_nodes(child));
    total
}
