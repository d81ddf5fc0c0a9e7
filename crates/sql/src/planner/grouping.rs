//! GROUP BY, grouping sets and aggregates.
//!
//! Grouping sets are ordinary groups over more rows. An Expand node below the aggregation repeats
//! each row once for every set, with NULL for the keys that the set leaves out. It adds the set's
//! number, which keeps equal sets separate, and the values of the GROUPING calls, which depend on
//! the set alone. All of these are keys.
//!
//! ```text
//!   Agg     keys: a, b, set, grouping(a, b)
//!    └ Expand  row ‖ a | NULL, b | NULL, set, grouping(a, b)
//! ```

use super::cost;
use super::eager_aggregate::{JoinedStates, STATES};
use super::joinpath::output_names;
use super::ordered::ascending;
use super::project_set::{project_sets, row_and};
use super::scan::{clamp_rows, type_width};
use super::sorting::has_order;
use super::sorting::{Grouping, Wish};
use super::subselect::replace_keys;
use super::{ColumnId, Planner, Rel, RteSet, node, returns_set, to_slots};
use crate::expr::{Aggregate, Expr, Place, SortKey, TypeRef};
use crate::plan::*;
use crate::query::*;
use std::sync::Arc;
use steppe_catalog::builtin;
use steppe_types::{Datum, Error, Result, oid};

/// The aggregation that a query's expressions need.
struct Wanted {
    /// GROUP BY; with grouping sets, then the columns that depend on a grouped primary key.
    keys: Vec<Expr>,
    /// The number of GROUP BY's keys among them.
    written: usize,
    /// Columns that depend on the keys: the groups' values follow those of the aggregates.
    dependent: Vec<Expr>,
    /// Arguments of the GROUPING calls.
    groupings: Vec<Vec<Expr>>,
    aggregates: Vec<Aggregate>,
    /// Whether there are grouping sets: after the keys come the set's number and `groupings`.
    sets: bool,
}

impl Wanted {
    fn of(query: &Query) -> Wanted {
        let mut wanted = Wanted {
            keys: query.group_by.clone(),
            written: query.group_by.len(),
            dependent: Vec::new(),
            groupings: Vec::new(),
            aggregates: Vec::new(),
            sets: query.grouping_sets.is_some(),
        };
        let roots = || {
            let windows = query.windows.iter().flat_map(WindowClause::keys);
            query.targets.iter().map(|t| &t.expr).chain(&query.having).chain(windows)
        };
        roots().for_each(|e| wanted.collect_calls(e));
        let mut extra = Vec::new();
        roots().for_each(|e| ungrouped_columns(e, &wanted.keys, &mut extra));
        match wanted.sets {
            true => wanted.keys.extend(extra),
            false => wanted.dependent = extra,
        }
        wanted
    }

    /// The aggregates, and the value of each dependent column in its group.
    fn all_aggregates(&self) -> Result<Vec<Aggregate>> {
        let any_value = builtin::functions_named("any_value").next();
        let any_value = any_value.ok_or_else(|| Error::internal("there is no any_value()"))?;
        let value = |column: &Expr| Aggregate {
            func: any_value.clone(),
            args: vec![column.clone()],
            distinct: false,
            order_by: Vec::new(),
            filter: None,
            star: false,
            levels_up: 0,
            ty: column.ty(),
            at: Place::NONE,
        };
        Ok(self.aggregates.iter().cloned().chain(self.dependent.iter().map(value)).collect())
    }

    fn collect_calls(&mut self, expr: &Expr) {
        if self.keys.contains(expr) {
            return;
        }
        match expr {
            Expr::Aggregate(a) => {
                if a.levels_up == 0 && !self.aggregates.contains(a) {
                    self.aggregates.push((**a).clone());
                }
            }
            Expr::Grouping { args, levels_up, .. } => {
                if *levels_up == 0 && !self.groupings.contains(args) {
                    self.groupings.push(args.clone());
                }
            }
            other => other.for_each_child(&mut |child| self.collect_calls(child)),
        }
    }

    /// The place of the aggregates' first result in the Agg node's row.
    fn first_aggregate(&self) -> usize {
        self.keys.len() + if self.sets { 1 + self.groupings.len() } else { 0 }
    }

    fn types(&self) -> Vec<TypeRef> {
        let mut types: Vec<TypeRef> = self.keys.iter().map(Expr::ty).collect();
        types.resize(self.first_aggregate(), TypeRef::plain(oid::INT4));
        types.extend(self.aggregates.iter().map(|a| a.ty));
        types.extend(self.dependent.iter().map(Expr::ty));
        types
    }

    /// Replaces keys, GROUPING and aggregates by their slots, outermost first.
    fn replace(&self, expr: &mut Expr) {
        if let Some(index) = self.keys.iter().position(|k| k == expr) {
            *expr = Expr::Slot { index, ty: expr.ty() };
            return;
        }
        if let Some(i) = self.dependent.iter().position(|column| column == expr) {
            let index = self.first_aggregate() + self.aggregates.len() + i;
            *expr = Expr::Slot { index, ty: expr.ty() };
            return;
        }
        match expr {
            Expr::Aggregate(a) => {
                if let Some(i) = self.aggregates.iter().position(|x| *x == **a) {
                    let index = self.first_aggregate() + i;
                    *expr = Expr::Slot { index, ty: a.ty };
                }
                return;
            }
            Expr::Grouping { args, levels_up: 0, .. } => {
                let ty = TypeRef::plain(oid::INT4);
                let found = self.groupings.iter().position(|g| g == args);
                *expr = match found.filter(|_| self.sets) {
                    Some(i) => Expr::Slot { index: self.keys.len() + 1 + i, ty },
                    // Without sets no key is ever left out.
                    None => Expr::Const(Datum::Int4(0), ty),
                };
                return;
            }
            _ => {}
        }
        let replaced: std::result::Result<(), std::convert::Infallible> =
            expr.for_each_child_mut(&mut |child| {
                self.replace(child);
                Ok(())
            });
        match replaced {
            Ok(()) => {}
            Err(never) => match never {},
        }
    }
}

/// A query's aggregates, in the order in which its aggregation has them.
pub(super) fn aggregates_of(query: &Query) -> Vec<Aggregate> {
    Wanted::of(query).aggregates
}

/// An aggregation over a plan's rows.
#[derive(Clone)]
pub(super) struct Aggregation {
    pub(super) mode: AggMode,
    pub(super) keys: Vec<Expr>,
    pub(super) aggregates: Vec<Aggregate>,
    pub(super) having: Option<Expr>,
    /// The share of the groups that HAVING keeps.
    pub(super) kept: f64,
    pub(super) types: Vec<TypeRef>,
    pub(super) groups: f64,
    pub(super) empty_groups: Vec<Vec<Datum>>,
    pub(super) strategy: AggStrategy,
    /// The order in which rows are grouped, if they are to come in one: of the first keys.
    pub(super) sort: Vec<SortKey>,
}

/// GROUP BY's keys in the order that they are sorted in. ORDER BY's leading keys come first
/// (preprocess_groupclause).
pub(super) fn group_sort_keys(query: &Query) -> Vec<SortKey> {
    let mut keys: Vec<SortKey> = Vec::with_capacity(query.group_by.len());
    let is_new = |keys: &[SortKey], expr: &Expr| keys.iter().all(|key| key.expr != *expr);
    for order in &query.order_by {
        let OrderBy { descending, nulls_first, target } = *order;
        let expr = &query.targets[target].expr;
        if !query.group_by.contains(expr) {
            break;
        }
        if is_new(&keys, expr) {
            keys.push(SortKey { expr: expr.clone(), descending, nulls_first });
        }
    }
    for expr in &query.group_by {
        if is_new(&keys, expr) {
            keys.push(ascending(expr.clone()));
        }
    }
    keys
}

impl Planner<'_> {
    /// The ways to group that there are for a query (can_hash and can_sort in
    /// create_grouping_paths).
    pub(super) fn group_strategies(&self, query: &Query) -> &'static [AggStrategy] {
        use AggStrategy::{Hashed, Plain, Sorted};
        if query.group_by.is_empty() && query.grouping_sets.is_none() {
            return &[Plain];
        }
        let (can_hash, can_sort): (&'static [AggStrategy], _) = (&[Hashed], &[Sorted]);
        if !query.group_by.iter().all(|key| has_order(key.ty())) {
            return can_hash;
        }
        if query.grouping_sets.is_some() {
            return if self.ctx.settings.hashagg { can_hash } else { can_sort };
        }
        // PostgreSQL hashes no group of a call with DISTINCT.
        let is_sorted =
            |a: &Aggregate| a.distinct && !a.is_distinct_by_hash() || !a.order_by.is_empty();
        match Wanted::of(query).aggregates.iter().any(is_sorted) {
            true => can_sort,
            false => &[Hashed, Sorted],
        }
    }

    /// The aggregation that the query needs, with the keys in an order that needs as little sorting
    /// as possible, and the order of the first keys.
    fn arranged(
        &self,
        query: &Query,
        rel: &Rel,
        strategy: AggStrategy,
    ) -> Result<(Wanted, Vec<SortKey>)> {
        let mut wanted = Wanted::of(query);
        if wanted.sets {
            return Ok((wanted, Vec::new()));
        }
        let mut sort = group_sort_keys(query);
        if strategy == AggStrategy::Sorted && !sort.iter().any(|key| returns_set(&key.expr)) {
            let over_row = |key: &SortKey| {
                Ok(SortKey { expr: to_slots(key.expr.clone(), &rel.layout)?, ..*key })
            };
            let over_row = sort.iter().map(over_row).collect::<Result<Vec<_>>>()?;
            let arranged = self.order_of(&rel.plan)?.arranged(&over_row);
            let written =
                |(i, key): (usize, SortKey)| SortKey { expr: sort[i].expr.clone(), ..key };
            sort = arranged.into_iter().map(written).collect();
        }
        wanted.keys = sort.iter().map(|key| key.expr.clone()).collect();
        wanted.written = sort.len();
        Ok((wanted, sort))
    }

    /// GROUP BY and aggregates. Afterwards the layout has no columns: keys and aggregates are
    /// slots, and the query's targets, HAVING and windows are rewritten to them.
    pub(crate) fn grouping(
        &mut self,
        query: &mut Query,
        rel: Rel,
        strategy: AggStrategy,
    ) -> Result<Rel> {
        let (wanted, written) = self.arranged(query, &rel, strategy)?;
        let (having, kept) = self.over_groups(query, &wanted);
        let groups = self.estimated_groups(query, &wanted, rel.plan.cost.rows);
        let by_leaf = self.groups_by_leaf(query, &wanted.keys, &rel)?;
        let Rel { plan: child, layout, .. } = rel;
        let to_slots = |e: &Expr| to_slots(e.clone(), &layout);
        let mut keys = wanted.keys.iter().map(to_slots).collect::<Result<Vec<_>>>()?;
        let mut aggregates = wanted.all_aggregates()?;
        let mut child = multiplied(child, &mut keys);
        let mut empty_groups = Vec::new();
        if let Some(sets) = &query.grouping_sets {
            let expand = Expand::of(&wanted, sets);
            empty_groups = expand.empty_groups(&wanted);
            child = expanded(child, &mut keys, expand, wanted.groupings.len());
            // Direct arguments are of a group, which lacks the keys that its set leaves out.
            let slots: Vec<_> = wanted.keys.iter().cloned().zip(keys.iter().cloned()).collect();
            let ordered_sets = aggregates.iter_mut().filter(|a| a.is_ordered_set());
            ordered_sets.flat_map(|a| &mut a.args).for_each(|arg| replace_keys(arg, &slots));
        }
        let to_slots = |a: Aggregate| aggregate_to_slots(a, &layout);
        let aggregates = aggregates.into_iter().map(to_slots).collect::<Result<Vec<_>>>()?;
        let types = wanted.types();
        let sort: Vec<SortKey> = match wanted.sets {
            true => keys.iter().map(|key| ascending(key.clone())).collect(),
            false => {
                let over_row = written.iter().zip(&keys);
                over_row.map(|(key, expr)| SortKey { expr: expr.clone(), ..*key }).collect()
            }
        };
        let mut unsorted = None;
        if strategy == AggStrategy::Sorted && !by_leaf {
            unsorted = self.is_parallel.then(|| child.clone());
            let written = written.iter().map(|key| &key.expr).collect();
            let wish = Wish { keys: sort.clone(), written, bound: None, rows: None };
            child = self.sorted_by_workers(query, bare(child), wish)?.plan;
        }
        let mut all = Aggregation {
            mode: AggMode::Simple,
            keys,
            aggregates,
            having,
            kept,
            types,
            groups,
            empty_groups,
            strategy,
            sort,
        };
        if by_leaf {
            return self.over_each_leaf(child, |planner, leaf, leaves| {
                all.groups = clamp_rows(groups / leaves);
                planner.aggregation(leaf, all)
            });
        }
        if !self.is_partial(query, &child, &all) {
            return self.aggregation_by_workers(query, (child, unsorted), all);
        }
        let rows = child.cost.rows;
        let (in_parts, states) = self.aggregation_in_parts(child.clone(), &all)?;
        let at_once = self.aggregation(child, all)?;
        // Fewer rows come out of the leaves.
        let saved = (rows - states) * self.costs().cpu_tuple * cost::APPEND_SHARE;
        let is_cheaper = in_parts.plan.cost.total - saved < at_once.plan.cost.total;
        Ok(if is_cheaper { in_parts } else { at_once })
    }

    /// Makes a query's expressions over its groups refer to slots. Returns HAVING, and the share of
    /// the groups that it keeps.
    fn over_groups(&self, query: &mut Query, wanted: &Wanted) -> (Option<Expr>, f64) {
        for target in &mut query.targets {
            wanted.replace(&mut target.expr);
        }
        query.windows.iter_mut().flat_map(|w| w.exprs_mut()).for_each(|e| wanted.replace(e));
        let mut having = query.having.take();
        let kept = having.as_ref().map_or(1.0, |h| self.estimator(&query.rtes).selectivity_of(h));
        having.iter_mut().for_each(|h| wanted.replace(h));
        (having, kept)
    }

    /// GROUP BY and aggregates, of rows that carry the states of an aggregation below them.
    pub(super) fn grouping_of_states(
        &mut self,
        query: &mut Query,
        states: JoinedStates,
        strategy: AggStrategy,
    ) -> Result<Rel> {
        let JoinedStates { rel, aggregates } = states;
        let (wanted, written) = self.arranged(query, &rel, strategy)?;
        let (having, kept) = self.over_groups(query, &wanted);
        let groups = self.estimated_groups(query, &wanted, rel.plan.cost.rows);
        let to_slots = |e: &Expr| to_slots(e.clone(), &rel.layout);
        let keys = wanted.keys.iter().map(to_slots).collect::<Result<Vec<_>>>()?;
        let sort = written.iter().zip(&keys);
        let sort = sort.map(|(key, expr)| SortKey { expr: expr.clone(), ..*key }).collect();
        let is_state = |column: &(usize, &ColumnId)| column.1.0 == STATES;
        let columns = rel.layout.iter().enumerate().filter(is_state);
        let of_state =
            columns.map(|(at, id)| (id.1, Expr::Slot { index: at, ty: rel.plan.types[at] }));
        let mut of_states: Vec<(i16, Expr)> = of_state.collect();
        of_states.sort_unstable_by_key(|(state, _)| *state);
        let row = keys.iter().cloned().chain(of_states.into_iter().map(|(_, slot)| slot)).collect();
        let all = Aggregation {
            mode: AggMode::Simple,
            types: wanted.types(),
            empty_groups: Vec::new(),
            keys,
            aggregates,
            having,
            kept,
            groups,
            strategy,
            sort,
        };
        let rows = self.project(row, rel)?;
        self.aggregation(rows.plan, all.of_states())
    }

    fn estimated_groups(&self, query: &Query, wanted: &Wanted, rows: f64) -> f64 {
        let estimator = self.estimator(&query.rtes);
        let Some(sets) = &query.grouping_sets else {
            return estimator.groups(&wanted.keys[..wanted.written], rows);
        };
        let of_set =
            |set: &Vec<usize>| estimator.groups(set.iter().map(|i| &wanted.keys[*i]), rows);
        sets.iter().map(of_set).sum()
    }

    pub(super) fn aggregation(&mut self, child: Plan, what: Aggregation) -> Result<Rel> {
        let Aggregation { mode, keys, aggregates, having, types, groups, .. } = what;
        let strategy = what.strategy;
        let child = match strategy {
            AggStrategy::Sorted => {
                let wish = Wish { keys: what.sort, written: Vec::new(), bound: None, rows: None };
                self.sorted(bare(child), wish, &[])?.plan
            }
            _ => child,
        };
        let width = types.iter().map(|t| type_width(*t)).sum();
        let calls = aggregates.len();
        let distinct = aggregates.iter().filter(|call| call.distinct).count();
        let how = Grouping { strategy, keys: keys.len(), calls, distinct, groups, width };
        let cost = self.grouping_cost(&child.cost, how);
        let names = self.agg_names(&child, &keys, &aggregates);
        let child = Box::new(child);
        let empty_groups = what.empty_groups;
        let memory_factor = self.ctx.settings.hash_mem_multiplier;
        let agg =
            PlanNode::Agg { child, strategy, mode, keys, aggregates, empty_groups, memory_factor };
        let mut plan = node(agg, types, names, cost);
        if having.is_some() {
            plan.cost.rows = clamp_rows(plan.cost.rows * what.kept);
            plan.filter = having;
        }
        Ok(bare(plan))
    }

    fn agg_names(&self, child: &Plan, keys: &[Expr], aggregates: &[Aggregate]) -> Arc<[Arc<str>]> {
        let child_names = output_names(child);
        let key = |k: &Expr| match k {
            Expr::Slot { index, .. } => child_names[*index].clone(),
            _ => "(expression)".into(),
        };
        let call = |a: &Aggregate| {
            let name = &*a.func.name;
            Arc::<str>::from(format!("({name}({}))", if a.star { "*" } else { "…" }))
        };
        keys.iter().map(key).chain(aggregates.iter().map(call)).collect()
    }
}

/// A relation whose columns are slots.
fn bare(plan: Plan) -> Rel {
    Rel { plan, layout: Vec::new(), rtes: RteSet::default() }
}

/// Keys with set-returning functions multiply the rows before they are grouped.
fn multiplied(child: Plan, keys: &mut [Expr]) -> Plan {
    if !keys.iter().any(returns_set) {
        return child;
    }
    let width = child.types.len();
    let moved: Vec<Expr> = keys
        .iter_mut()
        .enumerate()
        .map(|(i, key)| {
            let slot = Expr::Slot { index: width + i, ty: key.ty() };
            std::mem::replace(key, slot)
        })
        .collect();
    let exprs = row_and(&child, moved);
    project_sets(child, exprs)
}

/// The columns that the Expand node appends to a row for each set.
struct Expand {
    /// The keys of each set.
    sets: Vec<Vec<bool>>,
    /// Values of the GROUPING calls for each set.
    groupings: Vec<Vec<i32>>,
}

impl Expand {
    fn of(wanted: &Wanted, sets: &[Vec<usize>]) -> Expand {
        // Dependent columns stay with the keys that they depend on, which every set has.
        let has = |set: &Vec<usize>, i: usize| i >= wanted.written || set.contains(&i);
        let bits = |set: &Vec<usize>, args: &[Expr]| {
            args.iter().fold(0, |bits, arg| {
                let key = wanted.keys.iter().position(|k| k == arg);
                bits << 1 | i32::from(!key.is_some_and(|k| set.contains(&k)))
            })
        };
        Expand {
            sets: sets
                .iter()
                .map(|s| (0..wanted.keys.len()).map(|i| has(s, i)).collect())
                .collect(),
            groupings: sets
                .iter()
                .map(|s| wanted.groupings.iter().map(|g| bits(s, g)).collect())
                .collect(),
        }
    }

    /// The groups that are there without any row: those of sets without keys.
    fn empty_groups(&self, wanted: &Wanted) -> Vec<Vec<Datum>> {
        let empty = |(_, set): &(usize, &Vec<bool>)| !set.contains(&true);
        let row = |(number, _): (usize, &Vec<bool>)| {
            let mut row = vec![Datum::Null; wanted.keys.len()];
            row.push(Datum::Int4(number as i32));
            row.extend(self.groupings[number].iter().map(|v| Datum::Int4(*v)));
            row
        };
        self.sets.iter().enumerate().filter(empty).map(row).collect()
    }
}

/// Repeats the child's rows for each set; the keys are then slots of the longer row.
fn expanded(child: Plan, keys: &mut Vec<Expr>, expand: Expand, groupings: usize) -> Plan {
    let width = child.types.len();
    let (names, mut cost, mut types) = (output_names(&child), child.cost, child.types.clone());
    let copies = expand.sets.len() as f64;
    cost.rows *= copies;
    cost.total += cost.rows * cost::CPU_TUPLE;
    let added: Vec<TypeRef> = keys
        .iter()
        .map(Expr::ty)
        .chain(std::iter::repeat_n(TypeRef::plain(oid::INT4), 1 + groupings))
        .collect();
    types.extend(&added);
    let key_name = |key: &Expr| match key {
        Expr::Slot { index, .. } => names[*index].clone(),
        _ => "(expression)".into(),
    };
    let further = std::iter::repeat_n(Arc::<str>::from("(grouping)"), 1 + groupings);
    let names: Vec<Arc<str>> =
        names.iter().cloned().chain(keys.iter().map(key_name)).chain(further).collect();
    let slot = |(i, ty): (usize, &TypeRef)| Expr::Slot { index: width + i, ty: *ty };
    let slots: Vec<Expr> = added.iter().enumerate().map(slot).collect();
    let node_kind = PlanNode::Expand {
        child: Box::new(child),
        keys: std::mem::replace(keys, slots),
        sets: expand.sets,
        groupings: expand.groupings,
    };
    node(node_kind, types, names.into(), cost)
}

/// Columns outside the keys: they depend on a grouped primary key.
fn ungrouped_columns(expr: &Expr, keys: &[Expr], out: &mut Vec<Expr>) {
    let known = keys.contains(expr) || out.contains(expr);
    if known || matches!(expr, Expr::Aggregate(_) | Expr::Grouping { .. }) {
        return;
    }
    if matches!(expr, Expr::Var { levels_up: 0, .. }) {
        out.push(expr.clone());
        return;
    }
    expr.for_each_child(&mut |child| ungrouped_columns(child, keys, out));
}

pub(super) fn aggregate_to_slots(
    mut aggregate: Aggregate,
    layout: &[ColumnId],
) -> Result<Aggregate> {
    let exprs = aggregate
        .args
        .iter_mut()
        .chain(aggregate.order_by.iter_mut().map(|k| &mut k.expr))
        .chain(&mut aggregate.filter);
    for expr in exprs {
        let taken = std::mem::replace(expr, Expr::Default(TypeRef::plain(0)));
        *expr = to_slots(taken, layout)?;
    }
    Ok(aggregate)
}
