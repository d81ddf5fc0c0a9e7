//! Orders that an index yields (pathkeys.c, planagg.c): ORDER BY … LIMIT without a
//! sort, and min() and max() from an index's end.
//!
//! A join can be in one table's order too: the table is scanned by its index, and
//! the others are looked up for each of its rows, also by index. That pays where a
//! LIMIT needs few of the rows.

use super::cost;
use super::join::{FromContext, add_filter, take_conditions};
use super::scan::ScanRequest;
use super::{Planner, Rel, RteSet, conjuncts, returns_set, rtes_of};
use crate::expr::{Expr, SubLinkKind, TypeRef};
use crate::query::*;
use crate::walk;
use std::sync::Arc;
use steppe_catalog::{RelKind, Relation};
use steppe_types::{Datum, Result, oid};

/// The order that a query wants its rows in.
pub(crate) struct WantedOrder {
    targets: Vec<Target>,
    order_by: Vec<OrderBy>,
    /// Rows that LIMIT lets through, if it does.
    bound: Option<f64>,
    /// The only table that ORDER BY names columns of.
    rte: usize,
}

impl WantedOrder {
    /// The order of a query whose rows stay as they come out of FROM, if ORDER BY names plain
    /// columns of one table.
    pub(crate) fn of(query: &Query, bound: Option<f64>) -> Option<WantedOrder> {
        let plain = !query.has_aggregates
            && query.windows.is_empty()
            && matches!(query.distinct, Distinct::No)
            && !query.targets.iter().any(|t| returns_set(&t.expr));
        let mut rtes = RteSet::default();
        for order in &query.order_by {
            rtes = rtes.union(&rtes_of(&query.targets[order.target].expr));
        }
        let mut rtes = rtes.iter();
        let (Some(rte), None) = (rtes.next(), rtes.next()) else { return None };
        let wanted = plain && matches!(query.rtes[rte].kind, RteKind::Relation(_));
        wanted.then(|| WantedOrder {
            targets: query.targets.clone(),
            order_by: query.order_by.clone(),
            bound,
            rte,
        })
    }

    /// What taking the bounded number of rows costs: of a plan in order, by and by.
    fn cost_of(&self, rel: &Rel) -> f64 {
        let cost = &rel.plan.cost;
        let share = self.bound.map_or(1.0, |b| (b / cost.rows.max(1.0)).min(1.0));
        cost.startup + (cost.total - cost.startup) * share
    }
}

/// A table of a join that is looked up by index.
struct Step {
    rte: usize,
    kind: JoinKind,
    on: Vec<Expr>,
}

impl Planner<'_> {
    /// FROM's rows in the wanted order without a sort, where that is cheaper than `unsorted`
    /// with one.
    pub(crate) fn presorted(
        &mut self,
        from: &FromContext<'_>,
        order: &WantedOrder,
        items: &[FromItem],
        conditions: &[Expr],
        unsorted: &Rel,
    ) -> Result<Option<Rel>> {
        let single = matches!(items, [FromItem::Rte(_)]);
        if !single && order.bound.is_none() {
            return Ok(None);
        }
        let (mut steps, mut pool) = (Vec::new(), conditions.to_vec());
        if !items.iter().all(|item| chain(item, &mut steps, &mut pool)) {
            return Ok(None);
        }
        let Some(first) = steps.iter().position(|s| s.rte == order.rte) else { return Ok(None) };
        let first = steps.remove(first);
        if first.kind != JoinKind::Inner {
            return Ok(None);
        }
        let Some(rel) = self.in_order(from, order, steps, pool)? else { return Ok(None) };
        let with_sort = cost::sort_cost(&unsorted.plan.cost, order.bound);
        let forbidden = if self.ctx.settings.sort { 0.0 } else { 1e10 };
        Ok((order.cost_of(&rel) < with_sort.total + forbidden).then_some(rel))
    }

    fn in_order(
        &mut self,
        from: &FromContext<'_>,
        order: &WantedOrder,
        mut steps: Vec<Step>,
        mut pool: Vec<Expr>,
    ) -> Result<Option<Rel>> {
        let own = take_conditions(&mut pool, &RteSet::one(order.rte));
        let RteKind::Relation(relation) = &from.rtes[order.rte].kind else { return Ok(None) };
        let columns = from.columns.get(&order.rte).cloned().unwrap_or_default();
        let request = ScanRequest {
            rtes: from.rtes,
            rte: order.rte,
            relation,
            columns: &columns,
            conditions: &own,
        };
        let ordered = self.ordered_scan(&request, &order.targets, &order.order_by)?;
        let Some(mut rel) = ordered else { return Ok(None) };
        while !steps.is_empty() {
            let Some((at, joined)) = self.next_step(from, &rel, &steps, &pool)? else {
                return Ok(None);
            };
            let step = steps.remove(at);
            let covered = rel.rtes.union(&RteSet::one(step.rte));
            let decided = take_conditions(&mut pool, &covered);
            rel = joined;
            if step.kind == JoinKind::Left && !decided.is_empty() {
                add_filter(&mut rel, decided)?;
            }
        }
        Ok(pool.is_empty().then_some(rel))
    }

    /// The first table that can be looked up by what is joined already.
    fn next_step(
        &mut self,
        from: &FromContext<'_>,
        rel: &Rel,
        steps: &[Step],
        pool: &[Expr],
    ) -> Result<Option<(usize, Rel)>> {
        for (at, step) in steps.iter().enumerate() {
            let covered = rel.rtes.union(&RteSet::one(step.rte));
            let mut on = match step.kind {
                JoinKind::Left => step.on.clone(),
                _ => {
                    let here = |c: &&Expr| {
                        let used = rtes_of(c);
                        !used.is_empty() && used.is_subset(&covered)
                    };
                    pool.iter().filter(here).cloned().collect()
                }
            };
            if !on.iter().all(|c| rtes_of(c).is_subset(&covered)) {
                continue;
            }
            let own = take_conditions(&mut on, &RteSet::one(step.rte));
            if let Some(joined) = self.index_nest_loop(from, step.kind, rel, step.rte, &own, &on)? {
                return Ok(Some((at, joined)));
            }
        }
        Ok(None)
    }

    /// min and max of indexed columns without groups: each a sub-select that reads one end of
    /// the index (preprocess_minmax_aggregates).
    pub(crate) fn extremes_by_index(&self, query: &mut Query) {
        let [FromItem::Rte(rte)] = query.from.as_slice() else { return };
        let RteKind::Relation(relation) = &query.rtes[*rte].kind else { return };
        let plain = query.has_aggregates
            && query.group_by.is_empty()
            && query.grouping_sets.is_none()
            && query.having.is_none()
            && query.windows.is_empty()
            && query.ctes.is_empty()
            && self.ctx.settings.indexscan;
        if !plain || !query.targets.iter().all(|t| self.is_extreme(&t.expr, *rte, relation)) {
            return;
        }
        let (table, rte) = (query.rtes[*rte].clone(), *rte);
        let filter = query.filter.take();
        for target in &mut query.targets {
            replace_extremes(&mut target.expr, &|column, ty, descending| {
                one_end(&table, rte, filter.as_ref(), column, ty, descending)
            });
        }
        query.from.clear();
        query.has_aggregates = false;
    }

    /// Whether an expression's columns are only in min and max calls that an index answers, and
    /// there is one.
    fn is_extreme(&self, expr: &Expr, rte: usize, relation: &Arc<Relation>) -> bool {
        let Some((column, ..)) = extreme(expr) else {
            let children = expr.children();
            return !matches!(expr, Expr::Var { .. } | Expr::Aggregate(_) | Expr::SubLink { .. })
                && !children.is_empty()
                && children.iter().any(|c| has_aggregate(c))
                && children.iter().all(|c| {
                    !has_aggregate(c) && rtes_of(c).is_empty() || self.is_extreme(c, rte, relation)
                });
        };
        let Expr::Var { rte: r, column, .. } = column else { return false };
        let leads = |index: &Arc<Relation>| {
            index.index.as_ref().is_some_and(|info| {
                info.predicate.is_none()
                    && self.ctx.has_all_versions(index)
                    && info.keys.first().is_some_and(|k| i32::from(k.attnum) == column + 1)
            })
        };
        *r == rte
            && relation.kind != RelKind::Virtual
            && self.ctx.catalog.indexes_of(relation).any(leads)
    }
}

/// The tables of inner joins, and of left joins to one table; false for anything else.
fn chain(item: &FromItem, steps: &mut Vec<Step>, pool: &mut Vec<Expr>) -> bool {
    match item {
        FromItem::Rte(rte) => {
            steps.push(Step { rte: *rte, kind: JoinKind::Inner, on: Vec::new() });
            true
        }
        FromItem::Join { kind: JoinKind::Inner, left, right, on, .. } => {
            on.iter().for_each(|on| conjuncts(on.clone(), pool));
            chain(left, steps, pool) && chain(right, steps, pool)
        }
        FromItem::Join { kind: JoinKind::Left, left, right, on, .. } => {
            let FromItem::Rte(rte) = **right else { return false };
            let mut conditions = Vec::new();
            on.iter().for_each(|on| conjuncts(on.clone(), &mut conditions));
            let known = chain(left, steps, pool);
            steps.push(Step { rte, kind: JoinKind::Left, on: conditions });
            known
        }
        FromItem::Join { .. } => false,
    }
}

/// min or max of a plain column: the column, its type, and whether the greatest is wanted.
fn extreme(expr: &Expr) -> Option<(&Expr, TypeRef, bool)> {
    let Expr::Aggregate(call) = expr else { return None };
    let name = steppe_catalog::Builtins::get().proc(call.func)?.name;
    let plain = matches!(name, "min" | "max")
        && !call.distinct
        && call.order_by.is_empty()
        && call.filter.is_none()
        && call.levels_up == 0;
    match call.args.as_slice() {
        [column @ Expr::Var { column: 0.., levels_up: 0, ty, .. }]
            if plain && ty.oid == call.ty.oid =>
        {
            Some((column, *ty, name == "max"))
        }
        _ => None,
    }
}

fn has_aggregate(expr: &Expr) -> bool {
    matches!(expr, Expr::Aggregate(_)) || expr.children().into_iter().any(has_aggregate)
}

fn replace_extremes(expr: &mut Expr, one_end: &dyn Fn(&Expr, TypeRef, bool) -> Expr) {
    if let Some((column, ty, descending)) = extreme(expr) {
        *expr = one_end(column, ty, descending);
        return;
    }
    let replaced: std::result::Result<(), std::convert::Infallible> =
        expr.for_each_child_mut(&mut |child| {
            replace_extremes(child, one_end);
            Ok(())
        });
    match replaced {
        Ok(()) => {}
        Err(never) => match never {},
    }
}

/// Whether a table's column is declared so, and theirs that are read with it.
fn is_not_null(table: &Rte, column: &Expr) -> bool {
    let RteKind::Relation(relation) = &table.kind else { return false };
    let Expr::Var { column, .. } = column else { return false };
    usize::try_from(*column).is_ok_and(|column| relation.is_not_null_below(column))
}

/// `(SELECT column FROM table WHERE column IS NOT NULL AND filter ORDER BY column LIMIT 1)`
fn one_end(
    table: &Rte,
    rte: usize,
    filter: Option<&Expr>,
    column: &Expr,
    ty: TypeRef,
    descending: bool,
) -> Expr {
    let mut query = Query::new(Command::Select);
    query.rtes = vec![table.clone()];
    query.from = vec![FromItem::Rte(0)];
    let mut conditions = Vec::new();
    if !is_not_null(table, column) {
        conditions.push(Expr::IsNull { arg: Box::new(column.clone()), negated: true });
    }
    filter.into_iter().for_each(|f| conjuncts(f.clone(), &mut conditions));
    query.filter = super::and_all(conditions);
    query.targets = vec![Target::plain(column.clone(), "".into())];
    query.order_by = vec![OrderBy { target: 0, descending, nulls_first: descending }];
    query.limit = Some(Expr::Const(Datum::Int8(1), TypeRef::plain(oid::INT8)));
    // One level further in: the table is its first entry, outer columns are one level further out.
    walk::for_each_node(&mut query, 0, &mut |e, depth| {
        if let Expr::Var { rte: r, levels_up, .. } = e {
            if *levels_up == depth && *r == rte {
                *r = 0;
            } else if *levels_up > depth {
                *levels_up += 1;
            }
        }
    });
    Expr::SubLink { kind: SubLinkKind::Scalar, test: None, query: Box::new(query), ty }
}
