//! FROM and WHERE: the entries, each planned, and their joins.
//!
//! `join_graph` finds the allowed joins, `join_order` the cheapest order, and `joinpath` the way to
//! join two sides.

use super::cost::{self, Estimator};
use super::eager_aggregate::{EagerAggregation, JoinedStates};
use super::equivalence::{Fixed, imply_equalities};
use super::join_clause::Clause;
use super::join_graph::{Graph, GraphBuilder};
use super::join_order::Search;
use super::joinpath::output_names;
use super::lateral::{lateral_references, looked_up};
use super::ordered::WantedOrder;
use super::path::{BaseTable, OrderUses, Side};
use super::prep::{drop_unused_outputs, is_barrier, push_down};
use super::scan::{ScanRequest, clamp_rows};
use super::selectivity::origins;
use super::window::push_run_condition;
use super::{ColumnId, CtePlan, Planner, Rel, RteSet, and_all, conjuncts, node, rtes_of, to_slots};
use crate::deparse::quote_identifier;
use crate::expr::{Expr, TypeRef};
use crate::plan::*;
use crate::query::{FromItem, JoinKind, Query, Rte, RteKind};
use hashbrown::{HashMap, HashSet};
use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;
use steppe_types::{Datum, Error, Result};

/// Sub-selects by entry.
pub(super) type SubSelects = RefCell<HashMap<usize, Box<Query>>>;

/// The context that a FROM clause is planned in.
pub(crate) struct FromContext<'q> {
    pub(crate) rtes: &'q [Rte],
    /// The entries' sub-selects, each until it is planned.
    pub(super) sub_selects: &'q SubSelects,
    /// Columns wanted of each entry.
    pub(crate) columns: HashMap<usize, Vec<ColumnId>>,
    /// Columns of siblings that LATERAL entries refer to.
    pub(crate) lateral: HashMap<usize, Vec<Expr>>,
    /// Expressions that a constant makes equal, for any join of their tables.
    pub(crate) fixed: Fixed,
}

impl FromContext<'_> {
    pub(super) fn estimator<'a>(&'a self, planner: &'a Planner<'_>) -> Estimator<'a> {
        planner.estimator(self.rtes)
    }
}

/// The ways to find FROM's rows.
pub(super) struct Joined {
    pub(super) cheapest: Rel,
    /// In a wanted order.
    pub(super) ordered: Vec<Rel>,
    /// With states in place of the rows that an aggregation takes in.
    pub(super) states: Vec<JoinedStates>,
}

impl Joined {
    fn of(cheapest: Rel) -> Joined {
        Joined { cheapest, ordered: Vec::new(), states: Vec::new() }
    }

    /// Leaves out the joins of rows that are aggregated already.
    fn in_orders(self) -> (Rel, Vec<Rel>) {
        (self.cheapest, self.ordered)
    }

    /// Each below a condition without columns.
    fn gated(self, filter: &Expr) -> Joined {
        let gated = |rel: Rel| gate(rel, filter.clone());
        let states = self.states.into_iter();
        Joined {
            cheapest: gated(self.cheapest),
            ordered: self.ordered.into_iter().map(gated).collect(),
            states: states.map(|s| JoinedStates { rel: gated(s.rel), ..s }).collect(),
        }
    }
}

impl Planner<'_> {
    /// Plans FROM and WHERE; conditions without columns become a one-time filter. Besides the
    /// cheapest plan there may be some whose rows come in a wanted order, and some that have done
    /// a part of the aggregation.
    pub(super) fn plan_from_and_where(
        &mut self,
        query: &mut Query,
        wanted: HashSet<ColumnId>,
        order: Option<WantedOrder>,
        eager: Option<&EagerAggregation>,
    ) -> Result<Joined> {
        let (mut conditions, mut items) = (Vec::new(), std::mem::take(&mut query.from));
        items.iter_mut().for_each(|item| take_constants(item, &mut conditions));
        if let Some(filter) = query.filter.take() {
            conjuncts(filter, &mut conditions);
        }
        let fixed = imply_equalities(&mut items, &mut conditions);
        let (constant, conditions): (Vec<Expr>, Vec<Expr>) =
            conditions.into_iter().partition(is_constant);
        let mut all_wanted = wanted;
        for condition in &conditions {
            super::collect_columns(condition, &mut all_wanted);
        }
        items.iter().for_each(|i| collect_join_columns(i, &mut all_wanted));
        let lateral = lateral_references(query);
        lateral.values().flatten().for_each(|e| super::collect_columns(e, &mut all_wanted));
        let mut columns: HashMap<usize, Vec<ColumnId>> = HashMap::new();
        for id in all_wanted {
            columns.entry(id.0).or_default().push(id);
        }
        // Ascending attribute numbers, so that rows are decoded from left to right.
        columns.values_mut().for_each(|c| c.sort_unstable());
        let mut rtes = std::mem::take(&mut query.rtes);
        let sub_selects = &take_sub_selects(&mut rtes);
        let from = FromContext { rtes: &rtes, sub_selects, columns, lateral, fixed };
        let planned = self.join_or_ordered(&from, items, conditions, order, eager);
        query.rtes = rtes;
        let joined = planned?;
        Ok(match and_all(constant) {
            Some(filter) => joined.gated(&filter),
            None => joined,
        })
    }

    /// Joins all items most cheaply, and in wanted orders.
    fn join_or_ordered(
        &mut self,
        from: &FromContext<'_>,
        items: Vec<FromItem>,
        conditions: Vec<Expr>,
        order: Option<WantedOrder>,
        eager: Option<&EagerAggregation>,
    ) -> Result<Joined> {
        if items.is_empty() {
            let mut rel = result_rel();
            rel.plan.filter = and_all(conditions);
            return Ok(Joined::of(rel));
        }
        let Some(order) = order else {
            return self.join_in_orders(from, items, conditions, (None, &[]), eager);
        };
        let mut joined = self.join_in_orders(
            from,
            items.clone(),
            conditions.clone(),
            (Some(&order), &[]),
            eager,
        )?;
        let presorted = self.presorted(from, &order, &items, &conditions, &joined.cheapest)?;
        joined.ordered.extend(presorted);
        Ok(joined)
    }

    /// Joins a list of items under a pool of conditions.
    pub(super) fn join_items(
        &mut self,
        from: &FromContext<'_>,
        items: Vec<FromItem>,
        pool: Vec<Expr>,
    ) -> Result<Rel> {
        Ok(self.join_in_orders(from, items, pool, (None, &[]), None)?.cheapest)
    }

    /// The cheapest join of the items, and joins in one of the wanted orders or in one that a merge
    /// join above may use by these conditions. With `eager`, also joins of rows that are aggregated
    /// already.
    fn join_in_orders(
        &mut self,
        from: &FromContext<'_>,
        items: Vec<FromItem>,
        pool: Vec<Expr>,
        (wanted, above): (Option<&WantedOrder>, &[Rc<Clause>]),
        eager: Option<&EagerAggregation>,
    ) -> Result<Joined> {
        if items.iter().any(|item| from.has_lateral(item))
            && let Some(rel) = self.join_around_lateral(from, &items, &pool)?
        {
            return Ok(Joined::of(rel));
        }
        let mut pool = pool;
        let (mut graph, member) = GraphBuilder::new(self, from).build(items, &mut pool);
        let units = std::mem::take(&mut graph.units);
        let lateral = std::mem::take(&mut graph.lateral);
        let mut uses = order_uses(&graph, wanted, above);
        if !self.ctx.settings.mergejoin {
            uses.clauses = Rc::from([]);
        }
        let mut sides = Vec::with_capacity(units.len());
        for (at, unit) in units.into_iter().enumerate() {
            let own = graph.conditions.extract_if(.., |condition| condition.needs == 1 << at);
            let own = own.map(|condition| condition.clause.expr.clone()).collect();
            let mut side = self.plan_unit(from, unit, own)?;
            self.add_ordered_scans(from, &mut side, &uses)?;
            sides.push(side);
        }
        let eager = eager.filter(|_| sides.len() > 1 && lateral.is_empty() && pool.is_empty());
        let (mut joined, mut ordered, mut states) = (None, Vec::new(), Vec::new());
        if !sides.is_empty() {
            let mut search = Search::new(self, from, &graph, sides, uses);
            let (best, others) = search.best(&member)?;
            if let Some(eager) = eager.filter(|_| search.is_complete(&member)) {
                states = search.joined_states(eager, &best.cost)?;
            }
            joined = Some(self.build(&best)?);
            if lateral.is_empty() && (wanted.is_some() || !above.is_empty()) {
                ordered = others.iter().map(|path| self.build(path)).collect::<Result<_>>()?;
            }
        }
        for item in lateral {
            joined = Some(self.lateral_join(from, joined, item, &mut pool)?);
        }
        let mut rel = joined.ok_or_else(|| Error::internal("FROM without any item"))?;
        if !pool.is_empty() {
            for rel in &mut ordered {
                add_filter(rel, pool.clone())?;
            }
            add_filter(&mut rel, pool)?;
        }
        Ok(Joined { cheapest: rel, ordered, states })
    }

    /// A unit with the conditions on it.
    fn plan_unit(
        &mut self,
        from: &FromContext<'_>,
        unit: FromItem,
        own: Vec<Expr>,
    ) -> Result<Side> {
        let (kind, left, right, on) = match unit {
            FromItem::Rte(rte) => return self.base_side(from, rte, own),
            FromItem::Join { kind, left, right, on, .. } => (kind, left, right, on),
        };
        let mut conditions = Vec::new();
        on.into_iter().for_each(|on| conjuncts(on, &mut conditions));
        if kind == JoinKind::Inner {
            conditions.extend(own);
            let rel = self.join_items(from, vec![*left, *right], conditions)?;
            return self.side(rel, None);
        }
        let mut above = own;
        let mut rel = self.outer_join(from, kind, *left, *right, conditions, &mut above)?;
        // Conditions on the padded side hold for the joined rows.
        if !above.is_empty() {
            add_filter(&mut rel, above)?;
        }
        self.side(rel, None)
    }

    /// A range-table entry as a side of joins: a table may be looked up by their keys, unless it
    /// is the one row of a cursor that is wanted of it.
    fn base_side(&mut self, from: &FromContext<'_>, rte: usize, own: Vec<Expr>) -> Result<Side> {
        let rel = self.base_rel(from, rte, own.clone())?;
        let is_table = matches!(from.rtes[rte].kind, RteKind::Relation(_));
        let is_scan = match &rel.plan.scan().node {
            PlanNode::SeqScan { cursor, .. } => cursor.is_none(),
            PlanNode::Result { .. } | PlanNode::RemoteQuery(_) => false,
            _ => true,
        };
        let base = (is_table && is_scan).then_some(BaseTable { rte, own });
        self.side(rel, base)
    }

    /// A range-table entry with the conditions that concern it alone.
    fn base_rel(
        &mut self,
        from: &FromContext<'_>,
        rte: usize,
        conditions: Vec<Expr>,
    ) -> Result<Rel> {
        let entry = &from.rtes[rte];
        let columns = from.columns.get(&rte).cloned().unwrap_or_default();
        match &entry.kind {
            RteKind::Relation(relation) if relation.is_distributed() => {
                self.remote_scan(from, rte, relation, conditions)
            }
            RteKind::Relation(relation) => {
                let tuples = self.tuples_of(entry)?;
                self.note_base(from, rte, &conditions, tuples);
                // Sub-plans cannot go into an index condition's place but may filter.
                let request = ScanRequest {
                    rtes: from.rtes,
                    rte,
                    relation,
                    columns: &columns,
                    conditions: &conditions,
                };
                let rel = self.base_scan(&request)?;
                self.note_sensitive(&request, &rel);
                Ok(rel)
            }
            RteKind::Subquery { .. } => {
                let taken = from.sub_selects.borrow_mut().remove(&rte);
                let lost = || Error::internal("a sub-select was planned before");
                self.sub_select_rel(from, rte, conditions, *taken.ok_or_else(lost)?)
            }
            RteKind::Function { calls, ordinality } => {
                let columns = entry.columns.iter().map(|c| (Arc::clone(&c.name), c.ty));
                let scan = PlanNode::FunctionScan {
                    calls: calls.clone(),
                    ordinality: *ordinality,
                    columns: columns.collect(),
                    alias: entry.alias.clone(),
                };
                let estimator = from.estimator(self);
                let rows = calls.iter().map(|(call, _)| estimator.function_rows(call));
                let rows = rows.fold(1.0, f64::max);
                self.leaf_rel(from, rte, conditions, scan, rows)
            }
            RteKind::Values(rows) => {
                let count = rows.len() as f64;
                self.leaf_rel(from, rte, conditions, PlanNode::Values(rows.clone()), count)
            }
            RteKind::Cte { index, levels_up } => {
                let level = self.cte_levels.len().checked_sub(1 + levels_up);
                let found = level.and_then(|l| self.cte_levels[l].get(*index)).cloned();
                let Some((plan, name, rows)) = found else {
                    return Err(Error::internal("a WITH query was not planned"));
                };
                let scan = match plan {
                    CtePlan::SubPlan(plan) => {
                        self.note_outputs(rte, self.outputs.get(&plan).cloned());
                        PlanNode::CteScan { plan, name }
                    }
                    CtePlan::WorkTable(work_table) => PlanNode::WorkTableScan { work_table, name },
                };
                self.leaf_rel(from, rte, conditions, scan, rows)
            }
            RteKind::Join { .. } => Err(Error::internal("a join entry is no FROM item")),
        }
    }

    /// A sub-select in FROM, with the conditions on its columns.
    fn sub_select_rel(
        &mut self,
        from: &FromContext<'_>,
        rte: usize,
        conditions: Vec<Expr>,
        mut query: Query,
    ) -> Result<Rel> {
        let RteKind::Subquery { lateral, view, .. } = &from.rtes[rte].kind else {
            return Err(Error::internal("this entry is no sub-select"));
        };
        let mut kept = conditions;
        let (is_barrier, all) = (view.as_deref().is_some_and(is_barrier), kept.len());
        kept.retain(|c| is_barrier || !push_down(&mut query, rte, c));
        let columns = from.columns.get(&rte).map_or(&[][..], Vec::as_slice);
        let is_used = |at: usize| columns.contains(&super::column_id(rte, at as i32));
        drop_unused_outputs(&mut query, is_used);
        let outputs = origins(&query);
        kept.retain(|c| is_barrier || !push_run_condition(&mut query, rte, c));
        // What it takes from outside, or has been given, may be rewritten further.
        let child = match *lateral || kept.len() < all {
            true => self.query(query)?,
            false => self.prepared_query(query)?,
        };
        self.note_outputs(rte, Some(outputs));
        self.note_base(from, rte, &kept, child.cost.rows);
        self.derived_rel(from, rte, kept, child)
    }

    /// Its output row is the entry's columns.
    fn derived_rel(
        &mut self,
        from: &FromContext<'_>,
        rte: usize,
        conditions: Vec<Expr>,
        child: Plan,
    ) -> Result<Rel> {
        let rows = child.cost.rows;
        let mut cost = child.cost;
        cost.total += rows * self.costs().cpu_tuple;
        let entry = &from.rtes[rte];
        if conditions.is_empty() && child.types.len() == entry.columns.len() {
            // Its rows are wanted as they are (setrefs.c's trivial_subqueryscan).
            let layout = (1..=child.types.len() as i16).map(|a| (rte, a)).collect();
            return Ok(Rel { plan: child, layout, rtes: RteSet::one(rte) });
        }
        let alias = entry.alias.clone();
        let scan = PlanNode::SubqueryScan { child: Box::new(child), alias };
        let mut rel = self.leaf_rel(from, rte, conditions, scan, rows)?;
        let selected = rel.plan.cost.rows;
        rel.plan.cost = Cost { rows: selected, ..cost };
        Ok(rel)
    }

    /// A node whose input row is all columns of an entry.
    fn leaf_rel(
        &mut self,
        from: &FromContext<'_>,
        rte: usize,
        conditions: Vec<Expr>,
        scan: PlanNode,
        rows: f64,
    ) -> Result<Rel> {
        self.note_base(from, rte, &conditions, rows);
        let entry = &from.rtes[rte];
        let types: Vec<TypeRef> = entry.columns.iter().map(|c| c.ty).collect();
        let (alias, names) = (quote_identifier(&entry.alias), entry.columns.iter());
        let names: Arc<[Arc<str>]> =
            names.map(|c| format!("{alias}.{}", quote_identifier(&c.name)).into()).collect();
        let selected = rows * from.estimator(self).selectivity(&conditions);
        let costs = self.costs();
        let cost = Cost {
            startup: 0.0,
            total: rows * (costs.cpu_tuple + costs.cpu_operator * self.operators_of(&conditions)),
            rows: clamp_rows(selected),
            width: types.iter().map(|t| super::scan::type_width(*t)).sum(),
        };
        let layout: Vec<ColumnId> = (1..=types.len() as i16).map(|a| (rte, a)).collect();
        let mut plan = node(scan, types, names, cost);
        plan.filter = and_all(conditions).map(|f| to_slots(f, &layout)).transpose()?;
        Ok(Rel { plan, layout, rtes: RteSet::one(rte) })
    }

    /// LEFT, RIGHT, FULL: each side is planned on its own. WHERE conditions are moved below only on
    /// the side that is not padded with NULLs.
    fn outer_join(
        &mut self,
        from: &FromContext<'_>,
        kind: JoinKind,
        left: FromItem,
        right: FromItem,
        on: Vec<Expr>,
        pool: &mut Vec<Expr>,
    ) -> Result<Rel> {
        let (left_rtes, right_rtes) = (item_rtes(&left), item_rtes(&right));
        let mut on = on;
        let (mut left_pool, mut right_pool) = (Vec::new(), Vec::new());
        match kind {
            JoinKind::Left | JoinKind::Semi | JoinKind::Anti => {
                left_pool = take_conditions(pool, &left_rtes);
                right_pool = take_conditions(&mut on, &right_rtes);
            }
            JoinKind::Right => {
                right_pool = take_conditions(pool, &right_rtes);
                left_pool = take_conditions(&mut on, &left_rtes);
            }
            _ => {}
        }
        // A lateral right side needs the nested loop.
        let looks_right = matches!(kind, JoinKind::Left | JoinKind::Semi | JoinKind::Anti);
        if looks_right && from.refers_outside(&right) {
            let outer = self.join_items(from, vec![left], left_pool)?;
            right_pool.extend(looked_up(&right, &mut on));
            let (inner, params) = self.lateral_item(from, right, right_pool)?;
            return self.nest_loop(from, kind, outer, inner, params, on);
        }
        let above: Vec<Rc<Clause>> = on.iter().map(|on| self.clause(on.clone())).collect();
        let orders = (None, &above[..]);
        let outer = self.join_in_orders(from, vec![left], left_pool, orders, None)?.in_orders();
        let inner = self.join_in_orders(from, vec![right], right_pool, orders, None)?.in_orders();
        // A RIGHT join is a LEFT join the other way round.
        let (kind, outer, inner) = match kind {
            JoinKind::Right => (JoinKind::Left, inner, outer),
            kind => (kind, outer, inner),
        };
        self.cheapest_join_of(from, kind, outer, inner, on, None)
    }
}

/// The orders of rows that are of use to the joins of a FROM clause, to the nodes above it, and to
/// the query.
fn order_uses(graph: &Graph, wanted: Option<&WantedOrder>, above: &[Rc<Clause>]) -> OrderUses {
    let of_specials = graph.specials.iter().flat_map(|special| special.on.iter());
    let within = graph.conditions.iter().map(|condition| &condition.clause);
    let all = within.chain(of_specials).chain(above);
    let is_merged = |clause: &&Rc<Clause>| clause.equality.as_ref().is_some_and(|e| e.merges);
    OrderUses {
        clauses: all.filter(is_merged).cloned().collect(),
        wanted: wanted.map_or_else(|| Rc::from([]), |wanted| Rc::from(wanted.orders.as_slice())),
        rtes: RteSet::default(),
        is_bounded: wanted.is_some_and(|wanted| wanted.is_bounded),
    }
}

/// Whether no row decides a condition.
fn is_constant(condition: &Expr) -> bool {
    rtes_of(condition).is_empty() && !super::is_volatile(condition)
}

/// Takes the conditions that no row decides out of inner joins: they are decided once, for all that
/// is joined.
fn take_constants(item: &mut FromItem, out: &mut Vec<Expr>) {
    let FromItem::Join { kind: JoinKind::Inner, left, right, on, .. } = item else { return };
    take_constants(left, out);
    take_constants(right, out);
    let mut conditions = Vec::new();
    on.take().into_iter().for_each(|on| conjuncts(on, &mut conditions));
    let (constant, rest): (Vec<Expr>, Vec<Expr>) = conditions.into_iter().partition(is_constant);
    out.extend(constant);
    *on = and_all(rest);
}

/// Takes the conditions that these entries alone decide out of the pool.
pub(crate) fn take_conditions(pool: &mut Vec<Expr>, rtes: &RteSet) -> Vec<Expr> {
    let mut taken = Vec::new();
    pool.retain(|condition| {
        let used = rtes_of(condition);
        let here = !used.is_empty() && used.is_subset(rtes);
        if here {
            taken.push(condition.clone());
        }
        !here
    });
    taken
}

/// The leaves of a FROM item.
pub(crate) fn item_rtes(item: &FromItem) -> RteSet {
    match item {
        FromItem::Rte(rte) => RteSet::one(*rte),
        FromItem::Join { left, right, .. } => item_rtes(left).union(&item_rtes(right)),
    }
}

fn collect_join_columns(item: &FromItem, out: &mut HashSet<ColumnId>) {
    if let FromItem::Join { left, right, on, .. } = item {
        collect_join_columns(left, out);
        collect_join_columns(right, out);
        if let Some(on) = on {
            super::collect_columns(on, out);
        }
    }
}

/// One row without columns.
pub(crate) fn result_rel() -> Rel {
    let cost = Cost { startup: 0.0, total: cost::CPU_TUPLE, rows: 1.0, width: 0 };
    let result = PlanNode::Result { one_time_filter: None, child: None };
    let plan = node(result, Vec::new(), Arc::from([]), cost);
    Rel { plan, layout: Vec::new(), rtes: RteSet::default() }
}

/// Whether a condition is a constant that no row satisfies.
fn is_never(filter: &Expr) -> bool {
    matches!(filter, Expr::Const(Datum::Bool(false) | Datum::Null, _))
}

/// Puts a condition without columns above a plan: decided once.
fn gate(rel: Rel, filter: Expr) -> Rel {
    let Rel { plan, layout, rtes } = rel;
    if let PlanNode::Result { one_time_filter: None, child: None } = plan.node
        && plan.filter.is_none()
    {
        let filter = if is_never(&filter) { Expr::boolean(false) } else { filter };
        let result = PlanNode::Result { one_time_filter: Some(filter), child: None };
        return Rel { plan: Plan { node: result, ..plan }, layout, rtes };
    }
    let (types, names, cost) = (plan.types.clone(), output_names(&plan), plan.cost);
    if is_never(&filter) {
        let filter = Some(Expr::boolean(false));
        let result = PlanNode::Result { one_time_filter: filter, child: None };
        let cost = Cost { startup: 0.0, total: 0.0, rows: 1.0, ..cost };
        return Rel { plan: node(result, types, names, cost), layout, rtes };
    }
    let result = PlanNode::Result { one_time_filter: Some(filter), child: Some(Box::new(plan)) };
    Rel { plan: node(result, types, names, cost), layout, rtes }
}

/// Adds conditions to a relation's own filter.
pub(super) fn add_filter(rel: &mut Rel, conditions: Vec<Expr>) -> Result<()> {
    if rel.plan.project.is_some() {
        // A sub-select's own projection: the conditions are over its output.
        let plan = rel.plan.clone();
        let (types, names, cost) = (plan.types.clone(), output_names(&plan), plan.cost);
        let above = PlanNode::Result { one_time_filter: None, child: Some(Box::new(plan)) };
        rel.plan = node(above, types, names, cost);
    }
    let mut all = Vec::new();
    if let Some(filter) = rel.plan.filter.take() {
        conjuncts(filter, &mut all);
    }
    for condition in conditions {
        all.push(to_slots(condition, &rel.layout)?);
    }
    rel.plan.cost.rows = clamp_rows(rel.plan.cost.rows * 0.25);
    rel.plan.filter = and_all(all);
    Ok(())
}

/// Takes the sub-selects out of their entries: each is planned once, and a copy of each level of
/// nested ones with all that is in it would take memory by the square of their number.
fn take_sub_selects(rtes: &mut [Rte]) -> SubSelects {
    let query = |(i, rte): (usize, &mut Rte)| match &mut rte.kind {
        RteKind::Subquery { query, .. } => Some((i, std::mem::take(query))),
        _ => None,
    };
    RefCell::new(rtes.iter_mut().enumerate().filter_map(query).collect())
}
