//! Walks over a whole query, sub-selects included.

use crate::expr::Expr;
use crate::query::{FromItem, Query, RteKind};
use steppe_types::interrupt;

/// Calls `f` on every expression node of a query and of all queries inside it, parents first.
pub fn for_each_expr(query: &mut Query, f: &mut dyn FnMut(&mut Expr)) {
    for_each_root(query, &mut |root| each_node(root, f));
    for rte in &mut query.rtes {
        if let RteKind::Subquery { query, .. } = &mut rte.kind {
            for_each_expr(query, f);
        }
    }
    if let Some(operation) = &mut query.set_operation {
        for_each_expr(&mut operation.left, f);
        for_each_expr(&mut operation.right, f);
    }
    for cte in &mut query.ctes {
        for_each_expr(&mut cte.query, f);
        if let Some(cycle) = &mut cte.cycle {
            let marks = [&mut cycle.mark_value, &mut cycle.mark_default, &mut cycle.unmarked];
            marks.into_iter().for_each(|mark| each_node(mark, f));
        }
    }
}

/// Calls `f(node, depth)` on every expression node at and below a query, parents first; `depth`
/// counts from `depth` how many query levels further in the node is.
pub fn for_each_node(query: &mut Query, depth: usize, f: &mut dyn FnMut(&mut Expr, usize)) {
    nodes(query, (depth, Order::ParentsFirst), f);
}

/// As [`for_each_node`], with children first: parts that `f` puts in are not walked over.
pub fn for_each_node_up(query: &mut Query, depth: usize, f: &mut dyn FnMut(&mut Expr, usize)) {
    nodes(query, (depth, Order::ChildrenFirst), f);
}

/// [`for_each_node`] for one expression.
pub fn for_each_level(expr: &mut Expr, depth: usize, f: &mut dyn FnMut(&mut Expr, usize)) {
    nodes_of(expr, (depth, Order::ParentsFirst), f);
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Order {
    ParentsFirst,
    ChildrenFirst,
}

fn nodes(query: &mut Query, (depth, order): (usize, Order), f: &mut dyn FnMut(&mut Expr, usize)) {
    let below = (depth + 1, order);
    for_each_root(query, &mut |root| nodes_of(root, (depth, order), f));
    for rte in &mut query.rtes {
        if let RteKind::Subquery { query, .. } = &mut rte.kind {
            nodes(query, below, f);
        }
    }
    if let Some(operation) = &mut query.set_operation {
        nodes(&mut operation.left, below, f);
        nodes(&mut operation.right, below, f);
    }
    for cte in &mut query.ctes {
        nodes(&mut cte.query, below, f);
    }
}

fn nodes_of(expr: &mut Expr, (depth, order): (usize, Order), f: &mut dyn FnMut(&mut Expr, usize)) {
    if order == Order::ParentsFirst {
        f(expr, depth);
    }
    if let Expr::SubLink { query, .. } = expr {
        nodes(query, (depth + 1, order), f);
    }
    let visited: Result<(), std::convert::Infallible> = expr.for_each_child_mut(&mut |child| {
        nodes_of(child, (depth, order), f);
        Ok(())
    });
    match visited {
        Ok(()) => {}
        Err(never) => match never {},
    }
    if order == Order::ChildrenFirst {
        f(expr, depth);
    }
}

/// Calls `f(query, depth)` on a query and all queries inside it, inner ones first: parts that `f`
/// puts in are not walked over.
pub fn for_each_query(query: &mut Query, depth: usize, f: &mut dyn FnMut(&mut Query, usize)) {
    interrupt::check_unwinding();
    for_each_root(query, &mut |root| queries_of(root, depth, f));
    for rte in &mut query.rtes {
        if let RteKind::Subquery { query, .. } = &mut rte.kind {
            for_each_query(query, depth + 1, f);
        }
    }
    if let Some(operation) = &mut query.set_operation {
        for_each_query(&mut operation.left, depth + 1, f);
        for_each_query(&mut operation.right, depth + 1, f);
    }
    for cte in &mut query.ctes {
        for_each_query(&mut cte.query, depth + 1, f);
    }
    f(query, depth);
}

fn queries_of(expr: &mut Expr, depth: usize, f: &mut dyn FnMut(&mut Query, usize)) {
    if let Expr::SubLink { query, .. } = expr {
        for_each_query(query, depth + 1, f);
    }
    let visited: Result<(), std::convert::Infallible> = expr.for_each_child_mut(&mut |child| {
        queries_of(child, depth, f);
        Ok(())
    });
    match visited {
        Ok(()) => {}
        Err(never) => match never {},
    }
}

fn each_node(expr: &mut Expr, f: &mut dyn FnMut(&mut Expr)) {
    f(expr);
    if let Expr::SubLink { query, .. } = expr {
        for_each_expr(query, f);
    }
    let visited: Result<(), std::convert::Infallible> = expr.for_each_child_mut(&mut |child| {
        each_node(child, f);
        Ok(())
    });
    match visited {
        Ok(()) => {}
        Err(never) => match never {},
    }
}

/// Calls `f` on the root of each expression of this query level (not of queries inside FROM).
pub fn for_each_root(query: &mut Query, f: &mut dyn FnMut(&mut Expr)) {
    query.targets.iter_mut().chain(&mut query.returning).for_each(|t| f(&mut t.expr));
    query.from.iter_mut().for_each(|item| join_conditions(item, f));
    query.group_by.iter_mut().for_each(&mut *f);
    query.windows.iter_mut().flat_map(|w| w.exprs_mut()).for_each(&mut *f);
    query.assignments.iter_mut().for_each(|(_, e)| f(e));
    query.view_checks.iter_mut().for_each(|(_, e)| f(e));
    for e in [&mut query.filter, &mut query.having, &mut query.limit, &mut query.offset] {
        e.iter_mut().for_each(&mut *f);
    }
    if let Some(conflict) = &mut query.on_conflict
        && let Some((assignments, filter)) = &mut conflict.update
    {
        assignments.iter_mut().for_each(|(_, e)| f(e));
        filter.iter_mut().for_each(&mut *f);
    }
    for rte in &mut query.rtes {
        match &mut rte.kind {
            RteKind::Function { calls, .. } => calls.iter_mut().for_each(|(e, _)| f(e)),
            RteKind::Values(rows) => rows.iter_mut().flatten().for_each(&mut *f),
            RteKind::Join { columns } => columns.iter_mut().for_each(&mut *f),
            RteKind::Relation(_) | RteKind::Subquery { .. } | RteKind::Cte { .. } => {}
        }
    }
}

fn join_conditions(item: &mut FromItem, f: &mut dyn FnMut(&mut Expr)) {
    if let FromItem::Join { left, right, on, .. } = item {
        join_conditions(left, f);
        join_conditions(right, f);
        on.iter_mut().for_each(f);
    }
}

/// Read-only roots of this query level.
pub fn for_each_top_expr<'q>(query: &'q Query, f: &mut dyn FnMut(&'q Expr)) {
    query.targets.iter().chain(&query.returning).for_each(|t| f(&t.expr));
    query.from.iter().for_each(|item| top_join_conditions(item, f));
    query.group_by.iter().for_each(&mut *f);
    query.windows.iter().flat_map(|w| w.keys()).for_each(&mut *f);
    query.assignments.iter().for_each(|(_, e)| f(e));
    for e in [&query.filter, &query.having, &query.limit, &query.offset] {
        e.iter().for_each(&mut *f);
    }
    for rte in &query.rtes {
        match &rte.kind {
            RteKind::Function { calls, .. } => calls.iter().for_each(|(e, _)| f(e)),
            RteKind::Values(rows) => rows.iter().flatten().for_each(&mut *f),
            _ => {}
        }
    }
}

fn top_join_conditions<'q>(item: &'q FromItem, f: &mut dyn FnMut(&'q Expr)) {
    if let FromItem::Join { left, right, on, .. } = item {
        top_join_conditions(left, f);
        top_join_conditions(right, f);
        on.iter().for_each(f);
    }
}

/// Calls `f` on every node of an expression and of the queries inside it, parents first, with the
/// number of query levels between them. Where it returns false, the nodes below are skipped.
pub fn visit_levels(expr: &Expr, depth: usize, f: &mut dyn FnMut(&Expr, usize) -> bool) {
    if !f(expr, depth) {
        return;
    }
    if let Expr::SubLink { query, .. } = expr {
        levels_of_query(query, depth + 1, f);
    }
    expr.for_each_child(&mut |child| visit_levels(child, depth, f));
}

fn levels_of_query(query: &Query, depth: usize, f: &mut dyn FnMut(&Expr, usize) -> bool) {
    for_each_top_expr(query, &mut |root| visit_levels(root, depth, f));
    for rte in &query.rtes {
        if let RteKind::Subquery { query, .. } = &rte.kind {
            levels_of_query(query, depth + 1, f);
        }
    }
    if let Some(operation) = &query.set_operation {
        levels_of_query(&operation.left, depth + 1, f);
        levels_of_query(&operation.right, depth + 1, f);
    }
    for cte in &query.ctes {
        levels_of_query(&cte.query, depth + 1, f);
    }
}

/// An expression that is all about queries at least `by` levels out, as it reads there.
pub(crate) fn moved_out(mut expr: Expr, by: usize) -> Expr {
    for_each_level(&mut expr, 0, &mut |node, depth| match node {
        Expr::Var { levels_up, .. } if *levels_up >= depth + by => *levels_up -= by,
        Expr::Aggregate(call) if call.levels_up >= depth + by => call.levels_up -= by,
        Expr::Grouping { levels_up, .. } if *levels_up >= depth + by => *levels_up -= by,
        _ => {}
    });
    expr
}
