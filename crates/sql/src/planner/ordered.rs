//! Orders that an index yields (pathkeys.c, planagg.c): ORDER BY … LIMIT without a
//! sort, and min() and max() from an index's end.
//!
//! A join can be in one table's order too: the table is scanned by its index, and
//! the others are looked up for each of its rows, also by index. That pays where a
//! LIMIT needs few of the rows.

use super::join::{FromContext, add_filter, take_conditions};
use super::path::{OrderUses, Path, Paths, Side};
use super::scan::ScanRequest;
use super::{Planner, Rel, RteSet, conjuncts, is_volatile, returns_set, rtes_of, to_slots};
use crate::expr::{Expr, SortKey, SubLinkKind, TypeRef};
use crate::prune::{fixes, is_same};
use crate::query::*;
use crate::walk;
use std::sync::Arc;
use steppe_catalog::{IndexKey, RelKind, Relation};
use steppe_types::{Datum, Result, oid};

/// A table of a join that is looked up by index.
#[derive(Clone)]
struct Step {
    rte: usize,
    kind: JoinKind,
    on: Vec<Expr>,
}

/// The orders that a query can make use of, over FROM's rows.
pub(crate) struct WantedOrder {
    /// Each of one table's columns, the one with more keys first.
    pub(super) orders: Vec<Vec<SortKey>>,
    /// Whether LIMIT lets a part of the rows be enough.
    pub(super) is_bounded: bool,
}

/// The first sort of a query (standard_qp_callback).
enum FirstSort {
    /// By these keys.
    Keys(Vec<SortKey>),
    /// By these in any order, as they stand if nothing is better.
    Set(Vec<SortKey>),
}

impl FirstSort {
    fn of(query: &Query) -> Option<FirstSort> {
        if query.has_aggregates {
            let plain = query.grouping_sets.is_none() && !query.group_by.iter().any(returns_set);
            return plain.then(|| FirstSort::Set(super::grouping::group_sort_keys(query)));
        }
        if !query.windows.is_empty() {
            return super::window::first_window_keys(query).map(FirstSort::Keys);
        }
        if query.targets.iter().any(|t| returns_set(&t.expr)) {
            return None;
        }
        let mut keys: Vec<SortKey> = query.order_by.iter().map(|o| target_key(query, o)).collect();
        let further = |targets: &mut dyn Iterator<Item = usize>| {
            let sorted = |t: &usize| !query.order_by.iter().any(|o| o.target == *t);
            let key = |t: usize| ascending(query.targets[t].expr.clone());
            targets.filter(sorted).map(key).collect::<Vec<_>>()
        };
        match &query.distinct {
            Distinct::No => {}
            Distinct::On(on) => keys.extend(further(&mut on.iter().copied())),
            Distinct::All => {
                keys.extend(further(&mut (0..query.targets.len())));
                return Some(FirstSort::Set(keys));
            }
        }
        Some(FirstSort::Keys(keys))
    }
}

fn target_key(query: &Query, order: &OrderBy) -> SortKey {
    let OrderBy { descending, nulls_first, .. } = *order;
    SortKey { expr: query.targets[order.target].expr.clone(), descending, nulls_first }
}

/// A key in the default order.
pub(super) fn ascending(expr: Expr) -> SortKey {
    SortKey { expr, descending: false, nulls_first: false }
}

impl Planner<'_> {
    /// The orders that the query can make use of.
    pub(crate) fn wanted_order(&self, query: &Query) -> Option<WantedOrder> {
        let is_bounded = query.limit.is_some();
        let mut orders = Vec::new();
        match FirstSort::of(query)? {
            FirstSort::Keys(keys) => add_prefixes(query, keys, &mut orders),
            FirstSort::Set(keys) => {
                self.add_orders_of_indexes(query, &keys, &mut orders);
                add_prefixes(query, keys, &mut orders);
            }
        }
        (!orders.is_empty()).then_some(WantedOrder { orders, is_bounded })
    }

    /// The orders that indexes give of some of the keys.
    fn add_orders_of_indexes(
        &self,
        query: &Query,
        keys: &[SortKey],
        orders: &mut Vec<Vec<SortKey>>,
    ) {
        let Some(rte) = keys.iter().find_map(|key| rtes_of(&key.expr).iter().next()) else {
            return;
        };
        let Some(relation) = stored_here(&query.rtes[rte]) else { return };
        let mut conditions = Vec::new();
        query.filter.iter().for_each(|f| conjuncts(f.clone(), &mut conditions));
        for index in self.ctx.catalog.indexes_of(relation) {
            let Some(info) = &index.index else { continue };
            let mut order: Vec<SortKey> = Vec::new();
            let mut turned = None;
            for stored in &info.keys {
                let (at, ty) = (usize::try_from(stored.attnum - 1), stored.type_oid);
                let Ok(at) = at else { break };
                let column = Expr::var(rte, at, TypeRef::plain(ty));
                match keys.iter().find(|key| is_same(&key.expr, &column)) {
                    Some(key) => {
                        let turned = *turned.get_or_insert(key.descending != stored.descending);
                        order.push(SortKey {
                            expr: key.expr.clone(),
                            descending: stored.descending != turned,
                            nulls_first: stored.nulls_first != turned,
                        });
                    }
                    None if conditions.iter().any(|c| fixes(c, &column)) => {}
                    None => break,
                }
            }
            if !order.is_empty() && !orders.contains(&order) {
                orders.push(order);
            }
        }
    }

    /// FROM's rows in each of the orders that can be had without a sort, where `cheapest` is not in
    /// it anyway.
    pub(crate) fn presorted(
        &mut self,
        from: &FromContext<'_>,
        order: &WantedOrder,
        items: &[FromItem],
        conditions: &[Expr],
        cheapest: &Rel,
    ) -> Result<Vec<Rel>> {
        let single = matches!(items, [FromItem::Rte(_)]);
        let (mut steps, mut pool) = (Vec::new(), conditions.to_vec());
        let is_chain = items.iter().all(|item| chain(item, &mut steps, &mut pool));
        let mut found: Vec<Rel> = Vec::new();
        if !is_chain || !single && !order.is_bounded {
            return Ok(found);
        }
        for keys in &order.orders {
            // What a longer one begins with is in its order as well.
            if self.is_given(std::iter::once(cheapest).chain(&found), keys)? {
                continue;
            }
            let Some(lead) = keys.iter().find_map(|k| rtes_of(&k.expr).iter().next()) else {
                continue;
            };
            let mut steps = steps.clone();
            let Some(first) = steps.iter().position(|s| s.rte == lead) else { continue };
            let first = steps.remove(first);
            if first.kind != JoinKind::Inner {
                continue;
            }
            found.extend(self.in_order(from, (lead, keys), steps, pool.clone())?);
        }
        Ok(found)
    }

    /// Adds the scans of a table in the orders of its indexes that a merge join, or the query, may
    /// use.
    pub(super) fn add_ordered_scans(
        &mut self,
        from: &FromContext<'_>,
        side: &mut Side,
        uses: &OrderUses,
    ) -> Result<()> {
        let Some(base) = side.base.clone().filter(|_| !uses.clauses.is_empty()) else {
            return Ok(());
        };
        let RteKind::Relation(relation) = &from.rtes[base.rte].kind else { return Ok(()) };
        let uses = OrderUses { rtes: side.rtes.clone(), ..uses.clone() };
        let mut paths = Paths::in_orders(uses, self.sorting());
        paths.add(side.best.clone());
        let columns = from.columns.get(&base.rte).cloned().unwrap_or_default();
        let request = ScanRequest {
            rtes: from.rtes,
            rte: base.rte,
            relation,
            columns: &columns,
            conditions: &base.own,
        };
        for order in self.index_orders(&request, &paths) {
            let (targets, order_by): (Vec<Target>, Vec<OrderBy>) =
                order.iter().enumerate().map(as_order_by).unzip();
            if let Some(rel) = self.ordered_scan(&request, &targets, &order_by)? {
                let order = self.path_order(&rel)?;
                paths.add(Path::planned(rel, order));
            }
        }
        side.ordered = paths.ordered;
        Ok(())
    }

    /// The orders of a table's indexes, as far as they are of use.
    fn index_orders(&self, request: &ScanRequest<'_>, paths: &Paths) -> Vec<Vec<SortKey>> {
        let mut orders: Vec<Vec<SortKey>> = Vec::new();
        for index in self.ctx.catalog.indexes_of(request.relation) {
            let Some(info) = &index.index else { continue };
            let key = |stored: &IndexKey| {
                let at = usize::try_from(stored.attnum - 1).ok()?;
                let column = request.relation.columns.get(at)?;
                let ty = TypeRef { oid: column.type_oid, typmod: column.typmod };
                Some(SortKey {
                    expr: Expr::var(request.rte, at, ty),
                    descending: stored.descending,
                    nulls_first: stored.nulls_first,
                })
            };
            let is_fixed = |key: &SortKey| request.conditions.iter().any(|c| fixes(c, &key.expr));
            let keys = info.keys.iter().map_while(key).filter(|key| !is_fixed(key));
            let mut keys: Vec<SortKey> = keys.collect();
            keys.truncate(paths.useful(&keys));
            if !keys.is_empty() && !orders.contains(&keys) {
                orders.push(keys);
            }
        }
        orders
    }

    /// Whether one of the relations is in an order.
    fn is_given<'r>(&self, found: impl Iterator<Item = &'r Rel>, keys: &[SortKey]) -> Result<bool> {
        for rel in found {
            let over_row = |key: &SortKey| {
                let expr = to_slots(key.expr.clone(), &rel.layout)?;
                Ok(SortKey { expr, ..*key })
            };
            let keys = keys.iter().map(over_row).collect::<Result<Vec<_>>>();
            let Ok(keys) = keys else { continue };
            if self.gives_order(&rel.plan, &keys)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn in_order(
        &mut self,
        from: &FromContext<'_>,
        (rte, keys): (usize, &[SortKey]),
        mut steps: Vec<Step>,
        mut pool: Vec<Expr>,
    ) -> Result<Option<Rel>> {
        let own = take_conditions(&mut pool, &RteSet::one(rte));
        let Some(relation) = stored_here(&from.rtes[rte]) else { return Ok(None) };
        let columns = from.columns.get(&rte).cloned().unwrap_or_default();
        let request =
            ScanRequest { rtes: from.rtes, rte, relation, columns: &columns, conditions: &own };
        let (targets, order_by): (Vec<Target>, Vec<OrderBy>) =
            keys.iter().enumerate().map(as_order_by).unzip();
        let ordered = self.ordered_scan(&request, &targets, &order_by)?;
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

    /// The first table that can be looked up by the tables joined already.
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

    /// min and max of indexed columns without groups: each a sub-select that reads one end of the
    /// index (preprocess_minmax_aggregates). `None` for a query with other aggregates.
    pub(crate) fn extremes_by_index(&self, query: &Query) -> Option<Query> {
        let [FromItem::Rte(rte)] = query.from.as_slice() else { return None };
        let relation = stored_here(&query.rtes[*rte])?;
        let plain = query.has_aggregates
            && query.group_by.is_empty()
            && query.grouping_sets.is_none()
            && !query.having.as_ref().is_some_and(is_volatile)
            && query.windows.is_empty()
            && query.ctes.is_empty()
            && self.ctx.settings.indexscan;
        let mut roots = query.targets.iter().map(|t| &t.expr).chain(&query.having);
        let is_any = roots.clone().any(has_aggregate);
        if !plain || !is_any || !roots.all(|e| self.is_of_extremes(e, *rte, relation)) {
            return None;
        }
        let (table, rte) = (query.rtes[*rte].clone(), *rte);
        let mut query = query.clone();
        let filter = query.filter.take();
        let targets = query.targets.iter_mut().map(|target| &mut target.expr);
        for expr in targets.chain(&mut query.having) {
            replace_extremes(expr, &|column, ty, descending| {
                one_end(&table, rte, filter.as_ref(), column, ty, descending)
            });
        }
        query.filter = query.having.take();
        query.from.clear();
        query.has_aggregates = false;
        Some(query)
    }

    /// Whether an expression's columns are only in min and max calls that an index computes.
    fn is_of_extremes(&self, expr: &Expr, rte: usize, relation: &Arc<Relation>) -> bool {
        let Some((column, ..)) = extreme(expr) else {
            return match expr {
                Expr::Var { .. } | Expr::Aggregate(_) | Expr::Grouping { .. } => false,
                Expr::SubLink { .. } => !refers_to_level(expr),
                other => {
                    let children = other.children();
                    children.into_iter().all(|c| self.is_of_extremes(c, rte, relation))
                }
            };
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

/// The maximum number of an index's keys.
const INDEX_KEYS_MAX: usize = 32;

/// Adds the longest prefix of the keys that is one table's, and the prefixes of that.
fn add_prefixes(query: &Query, keys: Vec<SortKey>, orders: &mut Vec<Vec<SortKey>>) {
    let mut lead = None;
    let is_of_lead = |key: &SortKey| {
        let rtes = rtes_of(&key.expr);
        let mut rtes = rtes.iter();
        let (Some(rte), None) = (rtes.next(), rtes.next()) else { return false };
        *lead.get_or_insert(rte) == rte
    };
    let mut keys: Vec<SortKey> =
        keys.into_iter().take(INDEX_KEYS_MAX).take_while(is_of_lead).collect();
    let is_table = |rte: usize| matches!(query.rtes[rte].kind, RteKind::Relation(_));
    if !lead.is_some_and(is_table) {
        return;
    }
    while !keys.is_empty() {
        if !orders.contains(&keys) {
            orders.push(keys.clone());
        }
        keys.pop();
    }
}

/// A key as ORDER BY has it.
fn as_order_by((target, key): (usize, &SortKey)) -> (Target, OrderBy) {
    let SortKey { descending, nulls_first, .. } = *key;
    let order = OrderBy { target, descending, nulls_first };
    (Target::plain(key.expr.clone(), "".into()), order)
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
    let name = call.func.built_in_name()?;
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

/// Whether a sub-select reads something of the query that it stands in.
fn refers_to_level(expr: &Expr) -> bool {
    let mut found = false;
    walk::visit_levels(expr, 0, &mut |e, depth| {
        found |= match e {
            Expr::Var { levels_up, .. } | Expr::Grouping { levels_up, .. } => *levels_up == depth,
            Expr::Aggregate(call) => call.levels_up == depth,
            _ => false,
        };
        !found
    });
    found
}

fn has_aggregate(expr: &Expr) -> bool {
    matches!(expr, Expr::Aggregate(_)) || expr.any_child(has_aggregate)
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

/// The table of an entry, unless its rows are on nodes, where its indexes are.
fn stored_here(entry: &Rte) -> Option<&Arc<Relation>> {
    match &entry.kind {
        RteKind::Relation(relation) if !relation.is_distributed() => Some(relation),
        _ => None,
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
