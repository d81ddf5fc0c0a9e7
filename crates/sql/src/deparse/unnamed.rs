//! Syntax that applies an operator or a cast without naming it: IS DISTINCT FROM, NULLIF, CASE with an
//! operand, USING, a cast of an array. A stored text with it would be bound to the built-in one again,
//! so it must not be kept for a user's.

use crate::expr::{CallSyntax, Expr};
use crate::query::{FromItem, Query, RteKind};
use crate::walk::for_each_top_expr;
use steppe_catalog::{FunctionRef, builtin};
use steppe_types::{Error, Result};

/// 0A000 for an expression whose text would not name a user's operator.
pub fn check_named(expr: &Expr) -> Result<()> {
    let mut found = None;
    each_node(expr, &mut |expr| found = found.or_else(|| unnamed(expr)));
    found.map_or(Ok(()), |construct| Err(refused(construct)))
}

/// The same for a query.
pub fn check_all_named(query: &Query) -> Result<()> {
    let mut found = None;
    for_each_node(query, &mut |expr| found = found.or_else(|| unnamed(expr)));
    for_each_query(query, &mut |query| {
        found = found.or_else(|| query.from.iter().any(joins_unnamed).then_some("JOIN/USING"));
    });
    found.map_or(Ok(()), |construct| Err(refused(construct)))
}

fn refused(construct: &str) -> Error {
    Error::not_supported(format!("{construct} by a user-defined operator or cast in a stored text"))
}

/// The construct of a node that applies a user's operator without naming it.
fn unnamed(expr: &Expr) -> Option<&'static str> {
    match expr {
        Expr::Distinct { eq, .. } if !is_built_in_equality(eq) => Some("IS DISTINCT FROM"),
        Expr::NullIf { eq, .. } if !is_built_in_equality(eq) => Some("NULLIF"),
        Expr::Case { operand: Some(_), whens, .. }
            if whens.iter().any(|(when, _)| is_of_own_operator(when)) =>
        {
            Some("CASE")
        }
        Expr::ArrayCoerce { element, .. } if calls_own(element) => Some("a cast of elements"),
        _ => None,
    }
}

/// Whether a cast of an array's elements calls a user's function.
fn calls_own(element: &Expr) -> bool {
    let mut is_own = false;
    each_node(element, &mut |expr| {
        is_own |= matches!(expr, Expr::Func { func, .. } if !func.is_built_in());
    });
    is_own
}

/// Whether the text is bound to the same function again, which one of the built-in `=` has.
fn is_built_in_equality(eq: &FunctionRef) -> bool {
    builtin::operators_named("=").any(|operator| operator.func == eq.oid)
}

fn is_of_own_operator(expr: &Expr) -> bool {
    matches!(expr, Expr::Func { syntax: CallSyntax::Operator(op), .. } if !op.is_built_in())
}

fn joins_unnamed(item: &FromItem) -> bool {
    let FromItem::Join { left, right, on, using, .. } = item else { return false };
    let mut is_own = false;
    let mut visit = |expr: &Expr| is_own |= is_of_own_operator(expr);
    if !using.is_empty() {
        on.iter().for_each(|on| each_node(on, &mut visit));
    }
    is_own || joins_unnamed(left) || joins_unnamed(right)
}

fn for_each_node(query: &Query, f: &mut dyn FnMut(&Expr)) {
    for_each_query(query, &mut |query| {
        for_each_top_expr(query, &mut |root| each_node(root, f));
    });
}

/// Calls `f` on a query and the queries in it, but for those of views. (Sub-selects in expressions are
/// nodes of these.)
fn for_each_query(query: &Query, f: &mut dyn FnMut(&Query)) {
    f(query);
    for rte in &query.rtes {
        if let RteKind::Subquery { query, view: None, .. } = &rte.kind {
            for_each_query(query, f);
        }
    }
    if let Some(operation) = &query.set_operation {
        for_each_query(&operation.left, f);
        for_each_query(&operation.right, f);
    }
    query.ctes.iter().for_each(|cte| for_each_query(&cte.query, f));
}

fn each_node(expr: &Expr, f: &mut dyn FnMut(&Expr)) {
    f(expr);
    match expr {
        Expr::SubLink { query, .. } => for_each_node(query, f),
        Expr::Domain { arg, .. } => return each_node(arg, f),
        _ => {}
    }
    expr.for_each_child(&mut |child| each_node(child, f));
}
