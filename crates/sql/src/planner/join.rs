//! Join order (joinrels.c, in small); how two sides are joined: `joinpath`.
//!
//! Inner joins are flattened into a list of units (base relations, or outer
//! joins as wholes) and a pool of conditions. The order is found by dynamic
//! programming over the units, or greedily where there are many. A condition
//! is applied at the lowest join that has all its columns.

use super::cost::{self, Estimator};
use super::equivalence::{Fixed, imply_equalities};
use super::joinpath::output_names;
use super::lateral::{lateral_references, looked_up};
use super::ordered::WantedOrder;
use super::prep::{drop_unused_outputs, is_barrier, push_down};
use super::scan::{ScanRequest, clamp_rows};
use super::selectivity::origins;
use super::upper::hash_distinct;
use super::{ColumnId, CtePlan, Planner, Rel, RteSet, and_all, conjuncts, node, rtes_of, to_slots};
use crate::deparse::quote_identifier;
use crate::expr::{CallSyntax, Expr, Place, TypeRef};
use crate::plan::*;
use crate::query::{FromItem, JoinKind, Query, Rte, RteKind};
use hashbrown::{HashMap, HashSet};
use std::cell::RefCell;
use std::sync::Arc;
use steppe_catalog::builtin::Strategy;
use steppe_types::{Datum, Error, Result};

/// Above this many units the order is found greedily.
const DYNAMIC_PROGRAMMING_LIMIT: usize = 9;

/// Sub-selects by entry.
pub(super) type SubSelects = RefCell<HashMap<usize, Box<Query>>>;

/// What a FROM clause is planned against.
pub(crate) struct FromContext<'q> {
    pub(crate) rtes: &'q [Rte],
    /// The entries' sub-selects, each until it is planned.
    pub(super) sub_selects: &'q SubSelects,
    /// Columns wanted of each entry.
    pub(crate) columns: HashMap<usize, Vec<ColumnId>>,
    /// Columns of siblings that LATERAL entries refer to.
    pub(crate) lateral: HashMap<usize, Vec<Expr>>,
    /// Expressions that a constant makes equal, whatever joins their tables.
    pub(crate) fixed: Fixed,
}

/// A part of the FROM clause that joins as a whole.
enum Unit {
    Rte(usize),
    Outer { kind: JoinKind, left: Box<FromItem>, right: Box<FromItem>, on: Vec<Expr> },
}

impl Unit {
    /// The unit as it stood in FROM.
    fn item(&self) -> FromItem {
        match self {
            Unit::Rte(rte) => FromItem::Rte(*rte),
            Unit::Outer { kind, left, right, on } => FromItem::Join {
                kind: *kind,
                left: left.clone(),
                right: right.clone(),
                on: and_all(on.clone()),
                using: Vec::new(),
                entry: None,
            },
        }
    }
}

impl FromContext<'_> {
    pub(super) fn estimator<'a>(&'a self, planner: &'a Planner<'_>) -> Estimator<'a> {
        planner.estimator(self.rtes)
    }
}

impl Planner<'_> {
    /// Plans FROM and WHERE; conditions without columns become a one-time filter. The rows may
    /// come in the wanted order: then true is returned besides.
    pub(crate) fn plan_from_and_where(
        &mut self,
        query: &mut Query,
        wanted: HashSet<ColumnId>,
        order: Option<WantedOrder>,
    ) -> Result<(Rel, bool)> {
        let mut conditions = Vec::new();
        if let Some(filter) = query.filter.take() {
            conjuncts(filter, &mut conditions);
        }
        let mut items = std::mem::take(&mut query.from);
        let fixed = imply_equalities(&mut items, &mut conditions);
        let (constant, conditions): (Vec<Expr>, Vec<Expr>) =
            conditions.into_iter().partition(|c| rtes_of(c).is_empty() && !super::is_volatile(c));
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
        let planned = self.join_or_ordered(&from, items, conditions, order);
        query.rtes = rtes;
        let (rel, sorted) = planned?;
        let rel = match and_all(constant) {
            Some(filter) => gate(rel, filter),
            None => rel,
        };
        Ok((rel, sorted))
    }

    /// Joins all items, perhaps in an order; true if so.
    fn join_or_ordered(
        &mut self,
        from: &FromContext<'_>,
        items: Vec<FromItem>,
        conditions: Vec<Expr>,
        order: Option<WantedOrder>,
    ) -> Result<(Rel, bool)> {
        if items.is_empty() {
            let mut rel = result_rel();
            rel.plan.filter = and_all(conditions);
            return Ok((rel, false));
        }
        let Some(order) = order else {
            return Ok((self.join_items(from, items, conditions)?, false));
        };
        let unsorted = self.join_items(from, items.clone(), conditions.clone())?;
        match self.presorted(from, &order, &items, &conditions, &unsorted)? {
            Some(rel) => Ok((rel, true)),
            None => Ok((unsorted, false)),
        }
    }

    /// Joins a list of items under a pool of conditions.
    pub(super) fn join_items(
        &mut self,
        from: &FromContext<'_>,
        items: Vec<FromItem>,
        pool: Vec<Expr>,
    ) -> Result<Rel> {
        if items.iter().any(|item| from.has_lateral(item))
            && let Some(rel) = self.join_around_lateral(from, &items, &pool)?
        {
            return Ok(rel);
        }
        let (mut units, mut pool) = (Vec::new(), pool);
        items.into_iter().for_each(|i| flatten(i, &mut units, &mut pool));
        let (mut rels, mut lateral): (Vec<Rel>, Vec<FromItem>) = (Vec::new(), Vec::new());
        for unit in units {
            let item = unit.item();
            if from.refers_outside(&item) {
                lateral.push(item);
            } else {
                rels.push(self.plan_unit(from, unit, &mut pool)?);
            }
        }
        let mut joined = match rels.len() {
            0 => None,
            _ => Some(self.join_order(from, rels, &mut pool)?),
        };
        for item in lateral {
            joined = Some(self.lateral_join(from, joined, item, &mut pool)?);
        }
        let mut rel = joined.ok_or_else(|| Error::internal("FROM without any item"))?;
        if !pool.is_empty() {
            add_filter(&mut rel, pool)?;
        }
        Ok(rel)
    }

    fn plan_unit(
        &mut self,
        from: &FromContext<'_>,
        unit: Unit,
        pool: &mut Vec<Expr>,
    ) -> Result<Rel> {
        match unit {
            Unit::Rte(rte) => {
                let own = take_conditions(pool, &RteSet::one(rte));
                self.base_rel(from, rte, own)
            }
            Unit::Outer { kind, left, right, on } => {
                let mut rel = self.outer_join(from, kind, *left, *right, on, pool)?;
                // Conditions on the padded side hold for the joined rows.
                let above = take_conditions(pool, &rel.rtes);
                if !above.is_empty() {
                    add_filter(&mut rel, above)?;
                }
                Ok(rel)
            }
        }
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
                let scan = PlanNode::FunctionScan {
                    calls: calls.clone(),
                    ordinality: *ordinality,
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
        cost.total += rows * cost::CPU_TUPLE;
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
        let cost = Cost {
            startup: 0.0,
            total: rows * (cost::CPU_TUPLE + cost::CPU_OPERATOR * conditions.len() as f64),
            rows: clamp_rows(selected),
            width: types.iter().map(|t| super::scan::type_width(*t)).sum(),
        };
        let layout: Vec<ColumnId> = (1..=types.len() as i16).map(|a| (rte, a)).collect();
        let mut plan = node(scan, types, names, cost);
        plan.filter = and_all(conditions).map(|f| to_slots(f, &layout)).transpose()?;
        Ok(Rel { plan, layout, rtes: RteSet::one(rte) })
    }

    /// LEFT, RIGHT, FULL: each side is planned on its own; WHERE conditions go below only on the
    /// side that is not padded with NULLs.
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
            let (inner, params) = self.lateral_item(from, right, right_pool, &outer)?;
            return self.nest_loop(from, kind, outer, inner, params, on);
        }
        let right_single = match &right {
            FromItem::Rte(rte) => Some((*rte, right_pool.clone())),
            FromItem::Join { .. } => None,
        };
        let left_single = match (&left, kind) {
            (FromItem::Rte(rte), JoinKind::Semi) => Some((*rte, left_pool.clone())),
            _ => None,
        };
        let outer = self.join_items(from, vec![left], left_pool)?;
        let inner = self.join_items(from, vec![right], right_pool)?;
        let looked_up = match left_single {
            Some((rte, own)) => self.semi_join_by_lookup(from, rte, &own, &inner, &on)?,
            None => None,
        };
        // A RIGHT join is a LEFT join the other way round.
        let (kind, outer, inner, single) = match kind {
            JoinKind::Right => (JoinKind::Left, inner, outer, None),
            kind => (kind, outer, inner, right_single),
        };
        let rel = self.cheapest_join(from, kind, outer, inner, on, single)?;
        let total = rel.plan.cost.total;
        Ok(looked_up.filter(|other| other.plan.cost.total < total).unwrap_or(rel))
    }

    /// A semi join the other way round: each key of the inner side once, and for it the rows of
    /// the outer table `rte` by an index (PostgreSQL's JOIN_UNIQUE_INNER).
    fn semi_join_by_lookup(
        &mut self,
        from: &FromContext<'_>,
        rte: usize,
        own: &[Expr],
        inner: &Rel,
        on: &[Expr],
    ) -> Result<Option<Rel>> {
        let outer_set = RteSet::one(rte);
        let mut columns = Vec::with_capacity(on.len());
        for condition in on {
            let Expr::Func { args, syntax: CallSyntax::Operator(op), .. } = condition else {
                return Ok(None);
            };
            let [a, b] = args.as_slice() else { return Ok(None) };
            let equal = self.builtins.strategy(*op) == Some(Strategy::Equal);
            let (key, other) = if rtes_of(a).is_subset(&inner.rtes) { (a, b) } else { (b, a) };
            let Expr::Var { rte, column, levels_up: 0, .. } = key else { return Ok(None) };
            let position =
                inner.layout.iter().position(|id| *id == super::column_id(*rte, *column));
            match position {
                Some(position) if equal && rtes_of(other) == outer_set => columns.push(position),
                _ => return Ok(None),
            }
        }
        if columns.is_empty() || inner.plan.project.is_some() {
            return Ok(None);
        }
        columns.sort_unstable();
        columns.dedup();
        let mut unique = inner.clone();
        let slot = |index: &usize| Expr::Slot { index: *index, ty: inner.plan.types[*index] };
        unique.plan.project = Some(columns.iter().map(slot).collect());
        unique.plan.types = columns.iter().map(|i| inner.plan.types[*i]).collect();
        unique.layout = columns.iter().map(|i| inner.layout[*i]).collect();
        let keys = unique.plan.types.iter().enumerate();
        let keys = keys.map(|(index, ty)| Expr::Slot { index, ty: *ty }).collect();
        let unique = hash_distinct(unique, keys);
        self.index_nest_loop(from, JoinKind::Inner, &unique, rte, own, on)
    }

    /// Finds an order for inner joins.
    fn join_order(
        &mut self,
        from: &FromContext<'_>,
        rels: Vec<Rel>,
        pool: &mut Vec<Expr>,
    ) -> Result<Rel> {
        if rels.len() <= DYNAMIC_PROGRAMMING_LIMIT {
            return self.join_by_dynamic_programming(from, rels, pool);
        }
        let mut rels = rels;
        while rels.len() > 1 {
            let (i, j) = self.cheapest_pair(from, &rels, pool)?;
            let right = rels.swap_remove(j);
            let left = rels.swap_remove(i);
            let rtes = left.rtes.union(&right.rtes);
            let on = take_conditions(pool, &rtes);
            rels.push(self.join_pair(from, left, right, on)?);
        }
        rels.pop().ok_or_else(|| Error::internal("nothing to join"))
    }

    /// The pair with the fewest joined rows, connected ones first.
    fn cheapest_pair(
        &self,
        from: &FromContext<'_>,
        rels: &[Rel],
        pool: &[Expr],
    ) -> Result<(usize, usize)> {
        let conditions: Vec<(RteSet, &Expr)> = pool.iter().map(|c| (rtes_of(c), c)).collect();
        let mut best = (0, 1, f64::INFINITY);
        for i in 0..rels.len() {
            (self.ctx.interrupts)()?;
            for j in i + 1..rels.len() {
                let rtes = rels[i].rtes.union(&rels[j].rtes);
                let here = conditions.iter().filter(|(of, _)| of.is_subset(&rtes));
                let on: Vec<Expr> = here.map(|(_, c)| (*c).clone()).collect();
                let rows = rels[i].plan.cost.rows * rels[j].plan.cost.rows;
                let penalty = if on.is_empty() { 1e12 } else { 0.0 };
                let joined = rows * from.estimator(self).selectivity(&on) + penalty;
                if joined < best.2 {
                    best = (i, j, joined);
                }
            }
        }
        Ok((best.0, best.1))
    }

    /// Selinger's algorithm over subsets of units; cross products only where nothing connects.
    fn join_by_dynamic_programming(
        &mut self,
        from: &FromContext<'_>,
        rels: Vec<Rel>,
        pool: &mut Vec<Expr>,
    ) -> Result<Rel> {
        let count = rels.len();
        let full: u32 = (1 << count) - 1;
        let conditions: Vec<(RteSet, Expr)> = pool.drain(..).map(|c| (rtes_of(&c), c)).collect();
        let covered: RteSet = rels.iter().fold(RteSet::default(), |s, r| s.union(&r.rtes));
        let mut best: HashMap<u32, Rel> =
            rels.into_iter().enumerate().map(|(i, r)| (1u32 << i, r)).collect();
        for size in 2..=count as u32 {
            for set in (1..=full).filter(|s| s.count_ones() == size) {
                (self.ctx.interrupts)()?;
                self.best_split(from, set, &conditions, &mut best)?;
            }
        }
        // Those without columns (of outer queries, or volatile) belong above all joins.
        let left = |r: &RteSet| r.is_empty() || !r.is_subset(&covered);
        pool.extend(conditions.into_iter().filter(|(r, _)| left(r)).map(|(_, c)| c));
        best.remove(&full).ok_or_else(|| Error::internal("join order was not found"))
    }

    fn best_split(
        &mut self,
        from: &FromContext<'_>,
        set: u32,
        conditions: &[(RteSet, Expr)],
        best: &mut HashMap<u32, Rel>,
    ) -> Result<()> {
        for connected_only in [true, false] {
            // Of what costs the same the first is taken: the side that FROM has first is outer.
            let mut left = set & set.wrapping_neg();
            while left != set {
                let right = set & !left;
                if let (Some(l), Some(r)) = (best.get(&left), best.get(&right)) {
                    let rtes = l.rtes.union(&r.rtes);
                    let here = |(s, _): &&(RteSet, Expr)| {
                        s.is_subset(&rtes) && !s.is_subset(&l.rtes) && !s.is_subset(&r.rtes)
                    };
                    let on: Vec<Expr> =
                        conditions.iter().filter(here).map(|(_, c)| c.clone()).collect();
                    if !on.is_empty() || !connected_only {
                        let rel = self.join_pair(from, l.clone(), r.clone(), on)?;
                        let better =
                            best.get(&set).is_none_or(|b| rel.plan.cost.total < b.plan.cost.total);
                        if better {
                            best.insert(set, rel);
                        }
                    }
                }
                left = left.wrapping_sub(set) & set;
            }
            if best.contains_key(&set) {
                break;
            }
        }
        Ok(())
    }

    /// An inner join of two planned sides, the cheaper side round.
    pub(super) fn join_pair(
        &mut self,
        from: &FromContext<'_>,
        left: Rel,
        right: Rel,
        on: Vec<Expr>,
    ) -> Result<Rel> {
        let single =
            base_relation(&right, from).and_then(|rte| Some((rte, scan_conditions(&right, rte)?)));
        self.cheapest_join(from, JoinKind::Inner, left, right, on, single)
    }
}

/// The one base relation a planned side scans, if it is no more than that.
fn base_relation(rel: &Rel, from: &FromContext<'_>) -> Option<usize> {
    let rte = rel.layout.first().map(|c| c.0)?;
    let single =
        rel.rtes == RteSet::one(rte) && matches!(from.rtes[rte].kind, RteKind::Relation(_));
    let scan = &rel.plan.scan().node;
    let is_scan =
        matches!(scan, PlanNode::SeqScan { cursor: None, .. } | PlanNode::IndexScan { .. });
    (single && is_scan).then_some(rte)
}

/// A scan's conditions back as columns. Only a plain sequential scan's filter is all of them.
fn scan_conditions(rel: &Rel, rte: usize) -> Option<Vec<Expr>> {
    let scan = rel.plan.scan();
    let above = matches!(rel.plan.node, PlanNode::PartitionScan { .. }) && !rel.plan.is_plain();
    if above || !matches!(scan.node, PlanNode::SeqScan { .. }) {
        return None;
    }
    let Some(filter) = scan.filter.clone() else { return Some(Vec::new()) };
    let back = filter.transform(&mut |e| match e {
        Expr::Slot { index, ty } => {
            let (_, attribute) = rel.layout[index];
            let column = if attribute < 0 { attribute.into() } else { i32::from(attribute) - 1 };
            let at = Place::NONE;
            Ok::<_, Error>(Expr::Var { rte, column, levels_up: 0, ty, at })
        }
        other => Ok(other),
    });
    let mut out = Vec::new();
    conjuncts(back.ok()?, &mut out);
    Some(out)
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

fn flatten(item: FromItem, units: &mut Vec<Unit>, pool: &mut Vec<Expr>) {
    match item {
        FromItem::Rte(rte) => units.push(Unit::Rte(rte)),
        FromItem::Join { kind: JoinKind::Inner, left, right, on, .. } => {
            flatten(*left, units, pool);
            flatten(*right, units, pool);
            if let Some(on) = on {
                conjuncts(on, pool);
            }
        }
        FromItem::Join { kind, left, right, on, .. } => {
            let mut conditions = Vec::new();
            if let Some(on) = on {
                conjuncts(on, &mut conditions);
            }
            units.push(Unit::Outer { kind, left, right, on: conditions });
        }
    }
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
        // A sub-select's own projection: the conditions are over what comes out of it.
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
