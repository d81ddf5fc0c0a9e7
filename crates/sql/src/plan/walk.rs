//! Walks over a plan: the children of a node, and its expressions.

use super::{Plan, PlanNode, RemoteTarget};
use crate::expr::{Aggregate, Expr};

/// The children of a node, shared or not.
macro_rules! each_child {
    ($plan:expr, $f:expr, $($reborrow:tt)+) => {
        match $($reborrow)+ $plan.node {
            PlanNode::Result { child, .. } => child.into_iter().for_each(|c| $f(c)),
            PlanNode::NestLoop { outer, inner, .. }
            | PlanNode::HashJoin { outer, inner, .. }
            | PlanNode::MergeJoin { outer, inner, .. } => {
                $f(outer);
                $f(inner);
            }
            PlanNode::SetOp { left, right, .. } | PlanNode::RecursiveUnion { left, right, .. } => {
                $f(left);
                $f(right);
            }
            PlanNode::Materialize(child) | PlanNode::ProjectSet(child) => $f(child),
            PlanNode::Sort { child, .. }
            | PlanNode::Memoize { child, .. }
            | PlanNode::Limit { child, .. }
            | PlanNode::Agg { child, .. }
            | PlanNode::Expand { child, .. }
            | PlanNode::WindowAgg { child, .. }
            | PlanNode::Unique { child, .. }
            | PlanNode::Gather { child, .. }
            | PlanNode::SubqueryScan { child, .. }
            | PlanNode::LockRows { child, .. }
            | PlanNode::PartitionScan { template: child, .. } => $f(child),
            PlanNode::Append(children)
            | PlanNode::MergeAppend { children, .. }
            | PlanNode::BitmapAnd(children)
            | PlanNode::BitmapOr(children) => children.into_iter().for_each($f),
            PlanNode::BitmapScan { bitmap, .. } => $f(bitmap),
            PlanNode::Modify(modify) => $f($($reborrow)+ modify.child),
            PlanNode::RemoteInsert(insert) => $f($($reborrow)+ insert.child),
            PlanNode::Values(_)
            | PlanNode::RemoteQuery(_)
            | PlanNode::FunctionScan { .. }
            | PlanNode::SeqScan { .. }
            | PlanNode::IndexScan { .. }
            | PlanNode::BitmapIndexScan { .. }
            | PlanNode::TidScan { .. }
            | PlanNode::CteScan { .. }
            | PlanNode::WorkTableScan { .. } => {}
        }
    };
}

/// Calls `f` on each child plan.
pub fn for_each_child<'a>(plan: &'a Plan, f: &mut dyn FnMut(&'a Plan)) {
    each_child!(plan, f, &)
}

/// Calls `f` on each child plan, mutably.
pub(crate) fn for_each_child_mut(plan: &mut Plan, f: &mut dyn FnMut(&mut Plan)) {
    each_child!(plan, f, &mut)
}

/// Calls `f` on each expression of a node, not of its children.
pub fn for_each_expr<'a>(plan: &'a Plan, f: &mut dyn FnMut(&'a Expr)) {
    for_each_shown_expr(plan, f);
    match &plan.node {
        PlanNode::LockRows { recheck, .. } => recheck.iter().for_each(f),
        PlanNode::Modify(modify) => modify.recheck.iter().for_each(f),
        _ => {}
    }
}

/// [`for_each_expr`] without the conditions for EvalPlanQual, which repeat decisions of nodes
/// below: EXPLAIN does not show them.
pub fn for_each_shown_expr<'a>(plan: &'a Plan, f: &mut dyn FnMut(&'a Expr)) {
    plan.filter.iter().for_each(&mut *f);
    plan.project.iter().flatten().for_each(&mut *f);
    match &plan.node {
        PlanNode::Result { one_time_filter, .. } => one_time_filter.iter().for_each(f),
        PlanNode::Values(lists) => lists.iter().flatten().for_each(f),
        PlanNode::RemoteQuery(remote) => {
            remote.params.iter().for_each(&mut *f);
            if let RemoteTarget::Key { key, .. } = &remote.target {
                f(key);
            }
            if let RemoteTarget::Key { others, .. } | RemoteTarget::Parameter { others, .. } =
                &remote.target
            {
                others.iter().for_each(|other| f(&other.key));
            }
        }
        PlanNode::RemoteInsert(insert) => insert.params.iter().for_each(f),
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
        | PlanNode::Gather { .. }
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
fn for_each_aggregate_expr<'a>(a: &'a Aggregate, f: &mut dyn FnMut(&'a Expr)) {
    a.args.iter().for_each(&mut *f);
    a.order_by.iter().for_each(|k| f(&k.expr));
    a.filter.iter().for_each(f);
}

/// Whether the rows of a plan's outermost scan are dealt out to several threads.
pub fn is_dealt_out(plan: &Plan) -> bool {
    match &plan.node {
        PlanNode::SeqScan { parallel, .. } => *parallel,
        PlanNode::Append(children) => children.first().is_some_and(is_dealt_out),
        PlanNode::PartitionScan { template: outer, .. }
        | PlanNode::NestLoop { outer, .. }
        | PlanNode::HashJoin { outer, .. }
        | PlanNode::SubqueryScan { child: outer, .. }
        | PlanNode::Result { child: Some(outer), .. } => is_dealt_out(outer),
        _ => false,
    }
}
