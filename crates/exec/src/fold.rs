//! Constants in conditions, before planning (eval_const_expressions in clauses.c, in small).
//!
//! `WHERE`s and `ON`s are folded, since the planner decides by them. `false AND …` makes an empty
//! plan, `id = 1 + 2` an estimate and an index search. Expressions that are only computed are
//! folded when they are compiled.
//!
//! The rules:
//!
//! - a call of an immutable function is evaluated here when all its arguments are constants;
//! - a strict function with a NULL constant among its arguments is NULL, and the others are not
//!   evaluated (`NULL <= a / 0`), unless one of them may fail when it is planned;
//! - AND and OR end at the constant that decides them;
//! - with `HAVING false` no row is read;
//! - an output column of a sub-select in FROM that nothing reads is not computed, unless it is
//!   volatile or returns a set (the planner's `drop_unused_outputs`).
//!
//! A call of constants that fails stays unchanged: a run of the plan raises the error first
//! (`constants`).

use crate::constants::may_fail;
use crate::expr::{CExpr, Compiler};
use std::convert::Infallible;
use std::sync::Arc;
use steppe_catalog::{Catalog, Function, builtin};
use steppe_functions::FnContext;
use steppe_sql::expr::{Expr, TypeRef};
use steppe_sql::negate::without_not;
use steppe_sql::plan::PlannedStmt;
use steppe_sql::query::{FromItem, Query, RteKind};
use steppe_sql::walk::for_each_root;
use steppe_types::Datum;
use steppe_types::datum::Array;

/// Folds the conditions of a query and of all queries in it.
pub fn fold_conditions(query: &mut Query, catalog: &Arc<Catalog>) {
    fold_query(query, catalog);
    for rte in &mut query.rtes {
        if let RteKind::Subquery { query, .. } = &mut rte.kind {
            fold_conditions(query, catalog);
        }
    }
    if let Some(operation) = &mut query.set_operation {
        fold_conditions(&mut operation.left, catalog);
        fold_conditions(&mut operation.right, catalog);
    }
    for cte in &mut query.ctes {
        fold_conditions(&mut cte.query, catalog);
    }
    for_each_root(query, &mut |root| fold_sub_selects(root, catalog));
}

fn fold_query(query: &mut Query, catalog: &Arc<Catalog>) {
    query.filter.iter_mut().for_each(|filter| fold(filter, catalog));
    query.from.iter_mut().for_each(|item| fold_joins(item, catalog));
    // Parts of HAVING are matched with the groups' keys by their text.
    let is_folded = |key: &Expr| {
        let mut folded = key.clone();
        fold(&mut folded, catalog);
        folded == *key
    };
    if query.group_by.iter().all(is_folded) {
        query.having.iter_mut().for_each(|having| fold(having, catalog));
    }
    // All groups fail the condition, so the rows need not be read.
    if let Some(Expr::Const(Datum::Null | Datum::Bool(false), _)) = &query.having {
        // An error in WHERE is raised when it is planned.
        let failing = query.filter.take().filter(|filter| may_fail(filter, catalog));
        let nothing = Expr::boolean(false);
        query.filter = Some(match failing {
            Some(filter) => Expr::And(vec![filter, nothing]),
            None => nothing,
        });
    }
}

fn fold_joins(item: &mut FromItem, catalog: &Arc<Catalog>) {
    if let FromItem::Join { left, right, on, .. } = item {
        fold_joins(left, catalog);
        fold_joins(right, catalog);
        on.iter_mut().for_each(|on| fold(on, catalog));
    }
}

fn fold_sub_selects(expr: &mut Expr, catalog: &Arc<Catalog>) {
    if let Expr::SubLink { query, .. } = expr {
        fold_conditions(query, catalog);
    }
    let visited: Result<(), Infallible> = expr.for_each_child_mut(&mut |child| {
        fold_sub_selects(child, catalog);
        Ok(())
    });
    match visited {
        Ok(()) => {}
        Err(never) => match never {},
    }
}

/// Folds an expression from its leaves up.
fn fold(expr: &mut Expr, catalog: &Arc<Catalog>) {
    let visited: Result<(), Infallible> = expr.for_each_child_mut(&mut |child| {
        fold(child, catalog);
        Ok(())
    });
    match visited {
        Ok(()) => {}
        Err(never) => match never {},
    }
    let folded = match expr {
        Expr::Func { func, args, .. } => {
            let is_foldable = func.is_immutable()
                && !func.retset
                && args.iter().all(|arg| matches!(arg, Expr::Const(..)));
            match is_foldable {
                true => evaluate(expr, catalog),
                false => {
                    is_null_call(func, args, catalog).then(|| Expr::Const(Datum::Null, expr.ty()))
                }
            }
        }
        Expr::Array { elements, .. } => {
            let is_foldable = elements.iter().all(|element| matches!(element, Expr::Const(..)));
            is_foldable.then(|| evaluate(expr, catalog)).flatten()
        }
        Expr::Relabel { arg, ty, .. } => match &**arg {
            Expr::Const(Datum::Array(array), _) => relabelled(array, *ty),
            Expr::Const(..) => evaluate(expr, catalog),
            _ => None,
        },
        Expr::And(args) => junction(args, true, catalog),
        Expr::Or(args) => junction(args, false, catalog),
        _ => None,
    };
    *expr = match folded {
        Some(folded) => folded,
        None => without_not(std::mem::replace(expr, Expr::boolean(true))),
    };
}

/// Whether a call of folded arguments is NULL for any values of the others. This is so for a strict
/// function with NULL among them, unless one may fail.
fn is_null_call(func: &Function, args: &[Expr], catalog: &Arc<Catalog>) -> bool {
    func.strict
        && !func.retset
        && args.iter().any(|arg| matches!(arg, Expr::Const(Datum::Null, _)))
        && !args.iter().any(|arg| may_fail(arg, catalog))
}

/// A constant array as one of elements of another type: `'{a}'::varchar[]` as `text[]`.
fn relabelled(array: &Array, ty: TypeRef) -> Option<Expr> {
    let element = builtin::ty(ty.oid).filter(|ty| ty.len == -1 && ty.element != 0)?.element;
    let array = Array { element_type: element, ..array.clone() };
    Some(Expr::Const(Datum::Array(Arc::new(array)), ty))
}

/// AND (`neutral` is true) or OR with constants among its arguments.
fn junction(args: &mut Vec<Expr>, neutral: bool, catalog: &Arc<Catalog>) -> Option<Expr> {
    for arg in std::mem::take(args) {
        match (arg, neutral) {
            (Expr::And(below), true) | (Expr::Or(below), false) => args.extend(below),
            (arg, _) => args.push(arg),
        }
    }
    let is = |arg: &Expr, value: bool| matches!(arg, Expr::Const(Datum::Bool(v), _) if *v == value);
    if let Some(at) = args.iter().position(|arg| is(arg, !neutral)) {
        // An error before the constant is raised when it is planned.
        if args[..at].iter().any(|arg| may_fail(arg, catalog)) {
            return None;
        }
        return Some(Expr::boolean(!neutral));
    }
    args.retain(|arg| !is(arg, neutral));
    match args.len() {
        0 => Some(Expr::boolean(neutral)),
        1 => args.pop(),
        _ => None,
    }
}

/// A call of an immutable function, an array or another type, of constants.
fn evaluate(call: &Expr, catalog: &Arc<Catalog>) -> Option<Expr> {
    let ty = call.ty();
    let stmt = PlannedStmt::nothing();
    match Compiler::new(&stmt, FnContext::pure(Arc::clone(catalog))).expr(call) {
        Ok(CExpr::Const(value)) => Some(Expr::Const(value, ty)),
        _ => None,
    }
}
