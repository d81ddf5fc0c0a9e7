//! Set-returning functions in a select list (tlist.c's split_pathtarget_at_srfs).
//!
//! A ProjectSet node steps through calls that stand at the top of its columns, all
//! in lockstep. Calls inside other expressions are computed by a ProjectSet of
//! their own below, innermost first, and are columns of its row from then on:
//!
//! ```text
//!   f(g(x)) + 1        Result      $2 + 1
//!                       └ ProjectSet  …, f($1)
//!                          └ ProjectSet  …, g(x)
//! ```

use super::joinpath::output_names;
use super::{node, returns_set};
use crate::expr::{Expr, TypeRef};
use crate::plan::*;

/// The assumed number of rows of a set-returning function.
const ROWS_PER_CALL: f64 = 100.0;

/// `exprs` over a plan's output row; some call set-returning functions.
pub(crate) fn project_sets(mut plan: Plan, mut exprs: Vec<Expr>) -> Plan {
    loop {
        let at_top = |e: &Expr| match is_set_call(e) {
            true => !e.any_child(returns_set),
            false => !returns_set(e),
        };
        if exprs.iter().all(at_top) {
            let sets = exprs.iter().any(returns_set);
            return above(plan, exprs, sets);
        }
        let mut columns = row_and(&plan, []);
        exprs.iter_mut().for_each(|e| take_innermost(e, &mut columns));
        plan = above(plan, columns, true);
    }
}

/// A node that computes `exprs` over the plan's rows.
fn above(plan: Plan, exprs: Vec<Expr>, sets: bool) -> Plan {
    let (names, child_types, mut cost) = (output_names(&plan), plan.types.clone(), plan.cost);
    let kind = match sets {
        true => {
            cost.rows *= ROWS_PER_CALL;
            cost.total += cost.rows * super::cost::CPU_TUPLE;
            PlanNode::ProjectSet(Box::new(plan))
        }
        false => PlanNode::Result { one_time_filter: None, child: Some(Box::new(plan)) },
    };
    let mut plan = node(kind, child_types, names, cost);
    plan.types = exprs.iter().map(Expr::ty).collect();
    plan.project = Some(exprs);
    plan
}

fn is_set_call(expr: &Expr) -> bool {
    matches!(expr, Expr::Func { func, .. }
        if func.retset)
}

/// Moves the calls whose arguments call no further ones to `columns`, and refers to them there.
fn take_innermost(expr: &mut Expr, columns: &mut Vec<Expr>) {
    if !returns_set(expr) {
        return;
    }
    if is_set_call(expr) && !expr.any_child(returns_set) {
        let slot = Expr::Slot { index: columns.len(), ty: expr.ty() };
        columns.push(std::mem::replace(expr, slot));
        return;
    }
    let visited: Result<(), std::convert::Infallible> = expr.for_each_child_mut(&mut |child| {
        take_innermost(child, columns);
        Ok(())
    });
    match visited {
        Ok(()) => {}
        Err(never) => match never {},
    }
}

/// The slots of a plan's output row, followed by `further` expressions over it.
pub(crate) fn row_and(plan: &Plan, further: impl IntoIterator<Item = Expr>) -> Vec<Expr> {
    let slot = |(index, ty): (usize, &TypeRef)| Expr::Slot { index, ty: *ty };
    plan.types.iter().enumerate().map(slot).chain(further).collect()
}
