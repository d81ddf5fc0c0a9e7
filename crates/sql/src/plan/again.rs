//! Whether a plan's rows may be read at another time than they are asked for.
//!
//! A cursor that moves backward runs its plan again, and a cursor of a function reads rows before
//! they are asked for. The program cannot notice either if the rows are *fixed*. They are if they depend
//! on the snapshot and the parameters alone, and reading them has no effect.

use super::{Plan, PlanNode, PlannedStmt, ScanRelation, for_each_child, for_each_expr};
use crate::expr::Expr;
use crate::query::Command;
use steppe_catalog::{FunctionRef, RelKind};
use steppe_types::oid::FIRST_NORMAL_OID;

/// Whether a second run of a plan returns the same rows in the same order, and is cheap
/// (ExecSupportsBackwardScan).
pub fn goes_backward(plan: &Plan) -> bool {
    match &plan.node {
        PlanNode::SeqScan { .. }
        | PlanNode::IndexScan { .. }
        | PlanNode::TidScan { .. }
        | PlanNode::PartitionScan { .. }
        | PlanNode::FunctionScan { .. }
        | PlanNode::Values(_)
        | PlanNode::CteScan { .. }
        | PlanNode::Materialize(_)
        | PlanNode::Sort { presorted: 0, .. } => true,
        PlanNode::Result { child: Some(child), .. }
        | PlanNode::SubqueryScan { child, .. }
        | PlanNode::Limit { child, .. } => goes_backward(child),
        PlanNode::Append(children) => children.iter().all(goes_backward),
        _ => false,
    }
}

/// Whether a plan locks rows (SELECT FOR UPDATE and the like).
pub fn locks_rows(plan: &Plan) -> bool {
    let mut found = matches!(plan.node, PlanNode::LockRows { .. });
    for_each_child(plan, &mut |child| found |= locks_rows(child));
    found
}

/// Whether a plan reads rows of nodes, which are others when they are asked again.
pub fn reads_nodes(stmt: &PlannedStmt) -> bool {
    fn reads(plan: &Plan) -> bool {
        let mut found = matches!(plan.node, PlanNode::RemoteQuery(_));
        for_each_child(plan, &mut |child| found = found || reads(child));
        found
    }
    reads(&stmt.plan) || stmt.subplans.iter().any(reads)
}

/// Whether a statement's rows are fixed. It is a SELECT that locks no rows, reads tables of users
/// alone, and calls only built-in functions that are IMMUTABLE: a STABLE one may depend on a setting
/// that changes meanwhile, and a user's may do anything.
pub fn has_fixed_rows(stmt: &PlannedStmt) -> bool {
    stmt.command == Command::Select && is_fixed(&stmt.plan) && stmt.subplans.iter().all(is_fixed)
}

fn is_fixed(plan: &Plan) -> bool {
    let is_here = match &plan.node {
        PlanNode::SeqScan { rel, .. }
        | PlanNode::IndexScan { rel, .. }
        | PlanNode::TidScan { rel, .. }
        | PlanNode::BitmapScan { rel, .. }
        | PlanNode::BitmapIndexScan { rel, .. }
        | PlanNode::PartitionScan { rel, .. } => is_of_user(rel),
        PlanNode::HashJoin { keys, .. } => keys.iter().all(|(.., equal)| is_pure(equal)),
        PlanNode::Agg { aggregates, .. } => aggregates.iter().all(|call| is_pure(&call.func)),
        PlanNode::WindowAgg { calls, .. } => calls.iter().all(|call| is_pure(&call.func)),
        PlanNode::LockRows { .. }
        | PlanNode::Modify(_)
        | PlanNode::RemoteQuery(_)
        | PlanNode::RemoteInsert(_) => false,
        _ => true,
    };
    let mut is_fixed_below = is_here;
    for_each_expr(plan, &mut |expr| is_fixed_below &= is_fixed_expr(expr));
    for_each_child(plan, &mut |child| is_fixed_below = is_fixed_below && is_fixed(child));
    is_fixed_below
}

/// A table of pg_catalog has rows that the server makes as they are read. A sequence's row is not
/// versioned.
fn is_of_user(rel: &ScanRelation) -> bool {
    rel.relation.oid >= FIRST_NORMAL_OID && rel.relation.kind != RelKind::Sequence
}

fn is_fixed_expr(expr: &Expr) -> bool {
    let is_here = match expr {
        Expr::Func { func, .. }
        | Expr::Distinct { eq: func, .. }
        | Expr::NullIf { eq: func, .. }
        | Expr::ScalarArrayOp { func, .. } => is_pure(func),
        Expr::RowCompare { lt, eq, .. } => lt.iter().chain(eq).all(is_pure),
        // Text input and output of some types depend on settings.
        Expr::CoerceViaIo { .. } => false,
        _ => true,
    };
    is_here && !expr.any_child(|child| !is_fixed_expr(child))
}

fn is_pure(function: &FunctionRef) -> bool {
    function.is_built_in() && function.is_immutable()
}
