//! Window functions: one WindowAgg for each window that is called, over rows sorted
//! by its partition and order (planner.c's select_active_windows, create_window_paths).
//!
//! A WindowAgg hands its input row up with the calls' results behind it, so that slots below stay
//! the same. Windows are taken in PostgreSQL's order, longest common sort first. One sort then
//! serves several, and rows that a window does not distinguish come in PostgreSQL's order.
//!
//! A condition of the query around on a function that only grows from row to row, or only
//! falls, becomes the last window's run condition: a partition ends where it is not true any more.
//! The rows behind would all be dropped, so that nothing else changes.

use super::cost;
use super::joinpath::output_names;
use super::prep::may_push;
use super::scan::type_width;
use super::sorting::Wish;
use super::subselect::contains_sublink;
use super::{ColumnId, Planner, Rel, and_all, is_volatile, node, rtes_of, to_slots};
use crate::expr::{CallSyntax, Expr, SortKey, TypeRef, WindowCall};
use crate::plan::*;
use crate::query::*;
use std::cmp::Ordering;
use std::sync::Arc;
use steppe_catalog::builtin::Strategy;
use steppe_catalog::{FunctionRef, OperatorRef, builtin};
use steppe_types::Result;

impl Planner<'_> {
    /// Plans the windows of a query; its targets then refer to the results.
    pub(crate) fn windows(&mut self, query: &mut Query, mut rel: Rel) -> Result<Rel> {
        let windows = std::mem::take(&mut query.windows);
        let mut calls: Vec<WindowCall> = Vec::new();
        query.targets.iter().for_each(|t| collect_calls(&t.expr, &mut calls));
        let mut slots: Vec<(WindowCall, usize)> = Vec::new();
        let order = window_order(query, &windows, &calls);
        for (position, number) in order.into_iter().enumerate() {
            let own: Vec<WindowCall> =
                calls.iter().filter(|c| c.window == number).cloned().collect();
            let mut window = windows[number].clone();
            if own.iter().all(ignores_frame) {
                window.frame = Frame { explicit: true, ..ROWS_SO_FAR };
            }
            let mut conditions = std::mem::take(&mut window.run_conditions);
            let window = window_to_slots(window, &rel.layout)?;
            let written = sort_keys(&windows[number]);
            let written = written.iter().map(|key| &key.expr).collect();
            let wish = Wish { keys: sort_keys(&window), written, bound: None, rows: None };
            rel = self.sorted_by_workers(query, rel, wish)?;
            let first = rel.plan.types.len();
            slots.extend(own.iter().cloned().enumerate().map(|(i, call)| (call, first + i)));
            let own = own
                .into_iter()
                .map(|c| call_to_slots(c, &rel.layout))
                .collect::<Result<Vec<_>>>()?;
            for condition in &mut conditions {
                replace_calls(condition, &slots);
            }
            rel = window_agg(rel, window, own, and_all(conditions), position + 1);
        }
        for target in &mut query.targets {
            replace_calls(&mut target.expr, &slots);
        }
        Ok(rel)
    }
}

/// The frame of functions that use none.
const ROWS_SO_FAR: Frame = Frame {
    explicit: false,
    between: false,
    mode: FrameMode::Rows,
    start: FrameBound::UnboundedPreceding,
    end: FrameBound::CurrentRow,
    exclusion: FrameExclusion::NoOthers,
};

/// Whether a function's results only grow from row to row of a partition, and do not depend on the
/// frame: another one may then be taken (optimize_window_clauses).
fn ignores_frame(call: &WindowCall) -> bool {
    let names = ["row_number", "rank", "dense_rank", "percent_rank", "cume_dist", "ntile"];
    !call.aggregate && call.func.built_in_name().is_some_and(|name| names.contains(&name))
}

/// The direction in which a call's results change from row to row of a partition: whether they
/// never fall, and whether they never rise (window_row_number_support and its like,
/// int8inc_support).
fn changes(call: &WindowCall, window: &WindowClause) -> (bool, bool) {
    if ignores_frame(call) {
        return (true, false);
    }
    let frame = &window.frame;
    let counts =
        call.aggregate && call.func.built_in_name() == Some("count") && call.filter.is_none();
    if !counts || frame.exclusion != FrameExclusion::NoOthers {
        return (false, false);
    }
    let are_peers = window.order_by.is_empty() && !frame.explicit;
    let grows = frame.start == FrameBound::UnboundedPreceding;
    (are_peers || grows, are_peers || frame.end == FrameBound::UnboundedFollowing)
}

/// Takes a condition of the query around on the entry `rte` into the window that is computed last,
/// if its function only grows or falls (check_and_push_window_quals). True: it need not be checked
/// again. It does not help in a window below, which hands all its rows up.
pub(super) fn push_run_condition(query: &mut Query, rte: usize, condition: &Expr) -> bool {
    let Expr::Func { func, args, ty, syntax: CallSyntax::Operator(op) } = condition else {
        return false;
    };
    let ([left, right], Distinct::No) = (args.as_slice(), &query.distinct) else { return false };
    let (column, value, is_left) = match (left, right) {
        (Expr::Var { rte: r, column, levels_up: 0, .. }, value) if *r == rte => {
            (column, value, true)
        }
        (value, Expr::Var { rte: r, column, levels_up: 0, .. }) if *r == rte => {
            (column, value, false)
        }
        _ => return false,
    };
    let is_value = rtes_of(value).is_empty() && !is_volatile(value) && !contains_sublink(value);
    let target = usize::try_from(*column)
        .ok()
        .and_then(|column| query.targets.iter().filter(|t| !t.hidden).nth(column));
    let Some(Target { expr: expr @ Expr::Window(call), .. }) = target else { return false };
    let mut calls = Vec::new();
    query.targets.iter().for_each(|t| collect_calls(&t.expr, &mut calls));
    let is_last = window_order(query, &query.windows, &calls).last() == Some(&call.window);
    if !is_value || !is_last || !may_push(query) || call.args.iter().any(contains_sublink) {
        return false;
    }
    let Some(strategy) = op.strategy() else { return false };
    let (grows, falls) = changes(call, &query.windows[call.window]);
    let upper = matches!(strategy, Strategy::Less | Strategy::LessEqual) == is_left;
    let (func, op, is_all) = match strategy {
        Strategy::Equal if grows || falls => {
            // Till it has grown past the value: before, rows are dropped one by one.
            let wanted =
                if grows == is_left { Strategy::LessEqual } else { Strategy::GreaterEqual };
            let Some(limit) = same_types(op, wanted) else { return false };
            (limit.0, limit.1, false)
        }
        Strategy::Equal => return false,
        _ if if upper { grows } else { falls } => (func.clone(), op.clone(), true),
        _ => return false,
    };
    let (expr, value, number) = (expr.clone(), value.clone(), call.window);
    let args = if is_left { vec![expr, value] } else { vec![value, expr] };
    let condition = Expr::Func { func, args, ty: *ty, syntax: CallSyntax::Operator(op) };
    query.windows[number].run_conditions.push(condition);
    is_all
}

/// The operator of another strategy over the same types.
fn same_types(known: &OperatorRef, wanted: Strategy) -> Option<(FunctionRef, OperatorRef)> {
    let name = if wanted == Strategy::LessEqual { "<=" } else { ">=" };
    let found = builtin::operator_of(name, known.left, known.right)?;
    Some((found.built_in_function()?, found))
}

fn window_agg(
    rel: Rel,
    window: WindowClause,
    calls: Vec<WindowCall>,
    run_condition: Option<Expr>,
    number: usize,
) -> Rel {
    let mut cost = rel.plan.cost;
    cost.total += cost.rows * (cost::CPU_TUPLE + cost::CPU_OPERATOR * calls.len() as f64);
    cost.width += calls.iter().map(|c| type_width(c.ty)).sum::<u32>();
    let mut types = rel.plan.types.clone();
    types.extend(calls.iter().map(|c| c.ty));
    let called = calls.iter().map(|c| {
        let name = &*c.func.name;
        Arc::<str>::from(format!("({name}({}) OVER w{})", if c.star { "*" } else { "…" }, number))
    });
    let names = output_names(&rel.plan).iter().cloned().chain(called).collect();
    let name = window.name.clone().unwrap_or_else(|| format!("w{}", number).into());
    let agg = PlanNode::WindowAgg {
        child: Box::new(rel.plan),
        name,
        partition_by: window.partition_by,
        order_by: window.order_by,
        frame: window.frame,
        calls,
        run_condition,
    };
    Rel { plan: node(agg, types, names, cost), ..rel }
}

/// PARTITION BY, then ORDER BY, each expression once.
fn sort_keys(window: &WindowClause) -> Vec<SortKey> {
    let mut keys: Vec<SortKey> = Vec::new();
    let partition = window.partition_by.iter().map(|e| SortKey {
        expr: e.clone(),
        descending: false,
        nulls_first: false,
    });
    for key in partition.chain(window.order_by.iter().cloned()) {
        if keys.iter().all(|k| k.expr != key.expr) {
            keys.push(key);
        }
    }
    keys
}

/// The sort keys of the window that is computed first.
pub(super) fn first_window_keys(query: &Query) -> Option<Vec<SortKey>> {
    let mut calls = Vec::new();
    query.targets.iter().for_each(|t| collect_calls(&t.expr, &mut calls));
    let first = *window_order(query, &query.windows, &calls).first()?;
    Some(sort_keys(&query.windows[first]))
}

/// The windows that are called, in the order in which they are computed (common_prefix_cmp: the one
/// written last counts most).
fn window_order(query: &Query, windows: &[WindowClause], calls: &[WindowCall]) -> Vec<usize> {
    let mut written: Vec<Expr> = Vec::new();
    let ordered = query.order_by.iter().map(|o| &query.targets[o.target].expr);
    let keys =
        windows.iter().flat_map(|w| w.order_by.iter().map(|k| &k.expr).chain(&w.partition_by));
    for expr in ordered.chain(keys) {
        if !written.contains(expr) {
            written.push(expr.clone());
        }
    }
    let rank = |key: &SortKey| {
        let at = written.iter().position(|e| *e == key.expr);
        (at, key.descending, key.nulls_first)
    };
    let mut order: Vec<usize> =
        (0..windows.len()).filter(|i| calls.iter().any(|c| c.window == *i)).collect();
    order.sort_by(|a, b| {
        let (a, b) = (sort_keys(&windows[*a]), sort_keys(&windows[*b]));
        let differing = a.iter().zip(&b).map(|(a, b)| rank(b).cmp(&rank(a)));
        let first = differing.into_iter().find(|o| o.is_ne()).unwrap_or(Ordering::Equal);
        first.then(b.len().cmp(&a.len()))
    });
    order
}

fn collect_calls(expr: &Expr, out: &mut Vec<WindowCall>) {
    if let Expr::Window(call) = expr {
        if !out.contains(call) {
            out.push((**call).clone());
        }
        return;
    }
    expr.for_each_child(&mut |child| collect_calls(child, out));
}

fn replace_calls(expr: &mut Expr, slots: &[(WindowCall, usize)]) {
    if let Expr::Window(call) = expr {
        if let Some((_, index)) = slots.iter().find(|(c, _)| c == &**call) {
            *expr = Expr::Slot { index: *index, ty: call.ty };
        }
        return;
    }
    let replaced: std::result::Result<(), std::convert::Infallible> =
        expr.for_each_child_mut(&mut |child| {
            replace_calls(child, slots);
            Ok(())
        });
    match replaced {
        Ok(()) => {}
        Err(never) => match never {},
    }
}

fn window_to_slots(mut window: WindowClause, layout: &[ColumnId]) -> Result<WindowClause> {
    for expr in window.exprs_mut() {
        in_place(expr, layout)?;
    }
    Ok(window)
}

fn call_to_slots(mut call: WindowCall, layout: &[ColumnId]) -> Result<WindowCall> {
    for expr in call.args.iter_mut().chain(&mut call.filter) {
        in_place(expr, layout)?;
    }
    Ok(call)
}

fn in_place(expr: &mut Expr, layout: &[ColumnId]) -> Result<()> {
    let taken = std::mem::replace(expr, Expr::Default(TypeRef::plain(0)));
    *expr = to_slots(taken, layout)?;
    Ok(())
}
