//! Window functions: one WindowAgg for each window that is called, over rows sorted
//! by its partition and order (planner.c's select_active_windows, create_window_paths).
//!
//! A WindowAgg hands its input row up with the calls' results behind it, so that
//! slots below stay what they are. Windows are taken in PostgreSQL's order, longest
//! common sort first: one sort then serves several, and rows that a window does not
//! tell apart come in the order PostgreSQL has them in.

use super::cost;
use super::joinpath::output_names;
use super::scan::type_width;
use super::sorting::Wish;
use super::{ColumnId, Planner, Rel, node, to_slots};
use crate::expr::{Expr, SortKey, TypeRef, WindowCall};
use crate::plan::*;
use crate::query::*;
use std::cmp::Ordering;
use std::sync::Arc;
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
            let window = window_to_slots(windows[number].clone(), &rel.layout)?;
            let written = sort_keys(&windows[number]);
            let written = written.iter().map(|key| &key.expr).collect();
            let wish = Wish { keys: sort_keys(&window), written, bound: None, rows: None };
            rel = self.sorted(rel, wish, &query.rtes)?;
            let first = rel.plan.types.len();
            slots.extend(own.iter().cloned().enumerate().map(|(i, call)| (call, first + i)));
            let own = own
                .into_iter()
                .map(|c| call_to_slots(c, &rel.layout))
                .collect::<Result<Vec<_>>>()?;
            rel = window_agg(rel, window, own, position + 1);
        }
        for target in &mut query.targets {
            replace_calls(&mut target.expr, &slots);
        }
        Ok(rel)
    }
}

fn window_agg(rel: Rel, window: WindowClause, calls: Vec<WindowCall>, number: usize) -> Rel {
    let mut cost = rel.plan.cost;
    cost.total += cost.rows * (cost::CPU_TUPLE + cost::CPU_OPERATOR * calls.len() as f64);
    cost.width += calls.iter().map(|c| type_width(c.ty)).sum::<u32>();
    let mut types = rel.plan.types.clone();
    types.extend(calls.iter().map(|c| c.ty));
    let builtins = steppe_catalog::Builtins::get();
    let called = calls.iter().map(|c| {
        let name = builtins.proc(c.func).map_or("?", |p| p.name);
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

/// What the window that is computed first wants its rows sorted by.
pub(super) fn first_window_keys(query: &Query) -> Option<Vec<SortKey>> {
    let mut calls = Vec::new();
    query.targets.iter().for_each(|t| collect_calls(&t.expr, &mut calls));
    let first = *window_order(query, &query.windows, &calls).first()?;
    Some(sort_keys(&query.windows[first]))
}

/// The windows that are called, in the order in which they are computed
/// (common_prefix_cmp: what was written last counts most).
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
