//! Aggregation below joins: Yan and Larson, "Eager aggregation and lazy aggregation" (VLDB 1995), as
//! PostgreSQL 19 does it (enable_eager_aggregate, min_eager_agg_group_size).
//!
//! ```text
//!   Finalize Aggregate    by the query's keys             states to results
//!    └ Join                                               each row carries a group's states
//!       ├ Partial Aggregate   by this side's keys         rows to states
//!       │  └ S                one table, or several that are joined already
//!       └ the other tables
//! ```
//!
//! Correctness. Above S, only the aggregates' input distinguishes the rows of a group of S, so that
//! each of them meets the same rows of the other tables. Aggregating the joined rows takes in the
//! group's rows once for each row that it meets; so does combining the group's states once for
//! each. That needs
//! 1. aggregates whose states can be combined, and that do not depend on the order of rows: no
//!    DISTINCT, no ORDER BY, no floats, whose sums are rounded, nothing that collects values. Their
//!    arguments and FILTERs read columns of S alone;
//! 2. that the partial step groups by every column of S that is read above, that is, by the query's
//!    keys, by conditions that joins above decide, and by outer joins;
//! 3. that values which are equal are the same (BTEQUALIMAGE_PROC), since one row stands for its
//!    group: `1.0` and `1.00`, `-0` and `0` are not, and nothing is grouped by them. Nor is one of
//!    them taken for the least;
//! 4. that no outer join above S pads its rows: a padded row has no state, where `count(*)` counts
//!    it. S may be the side that is kept, and may have an outer join within;
//! 5. that nothing fails or is volatile: arguments are evaluated for rows that meet no other. Those
//!    are columns, comparisons and sums and products of integers as numerics and of columns with a
//!    modifier, which are far from the 130,000 digits that fail. A volatile condition is one that is evaluated for each row;
//! 6. that there is a key: without any, the aggregate of no rows is a row.
//!
//! S is a least set of tables that has all that the aggregates read and whose groups have enough
//! rows each. The joins above are put in order again, with the states as one table of fewer rows.
//! The total cost decides, as between other plans.

use super::cost::strip;
use super::grouping::{Aggregation, aggregate_to_slots, aggregates_of};
use super::join_order::Search;
use super::ordered::ascending;
use super::path::Side;
use super::sorting::has_order;
use super::{ColumnId, PlannerSettings, Rel, RteSet, collect_columns, is_volatile};
use super::{returns_set, rtes_of, to_slots};
use crate::expr::{Aggregate, CallSyntax, Expr, TypeRef};
use crate::plan::{AggMode, AggStrategy, Cost};
use crate::query::{FromItem, Query, Rte, RteKind, WindowClause};
use hashbrown::HashSet;
use steppe_catalog::{Function, Operator};
use steppe_types::{Oid, Result, oid};

/// The range-table entry whose columns are states: no query has as many.
pub(super) const STATES: usize = usize::MAX;
/// At most `SETS_MAX` sets of tables are considered, small ones first, and at most `PLACES_MAX` are
/// tried. The search for an order of the joins has met all of them, but has not counted groups.
const SETS_MAX: usize = 64;
const PLACES_MAX: usize = 2;

/// An aggregation that may be done below joins.
pub(super) struct EagerAggregation {
    aggregates: Vec<Aggregate>,
    /// The entries that the aggregates read.
    reads: RteSet,
    /// The columns that are read above the joins besides.
    above: HashSet<ColumnId>,
}

/// Joined rows of which some columns are states.
#[derive(Clone)]
pub(super) struct JoinedStates {
    pub(super) rel: Rel,
    /// The aggregates, over the rows that the states are made of.
    pub(super) aggregates: Vec<Aggregate>,
}

/// Tables whose joined rows are to be aggregated.
struct Place {
    set: u128,
    keys: Vec<Expr>,
    groups: f64,
    /// The number of rows saved.
    saved: f64,
}

impl EagerAggregation {
    /// That of a query, if its aggregates have states to be joined.
    pub(super) fn of(query: &Query, settings: &PlannerSettings) -> Option<EagerAggregation> {
        let is_one_entry = matches!(query.from.as_slice(), [] | [FromItem::Rte(_)]);
        if !settings.eager_aggregate
            || !query.has_aggregates
            || is_one_entry
            || query.grouping_sets.is_some()
            || !query.row_locks.is_empty()
            || query.group_by.iter().any(|key| returns_set(key) || is_volatile(key))
        {
            return None;
        }
        let aggregates = aggregates_of(query);
        if aggregates.is_empty() || !aggregates.iter().all(|call| is_eager(call, &query.rtes)) {
            return None;
        }
        let inputs = aggregates.iter().flat_map(|call| call.args.iter().chain(&call.filter));
        let reads = inputs.fold(RteSet::default(), |all, input| all.union(&rtes_of(input)));
        let mut above = HashSet::new();
        let windows = query.windows.iter().flat_map(WindowClause::keys);
        let roots = query.targets.iter().map(|target| &target.expr).chain(&query.having);
        roots.chain(windows).for_each(|root| columns_outside_aggregates(root, &mut above));
        query.group_by.iter().for_each(|key| collect_columns(key, &mut above));
        Some(EagerAggregation { aggregates, reads, above })
    }
}

impl Search<'_, '_> {
    /// The ways to join all tables that aggregate some of them first.
    pub(super) fn joined_states(
        &mut self,
        what: &EagerAggregation,
        cheapest: &Cost,
    ) -> Result<Vec<JoinedStates>> {
        let mut found = Vec::new();
        // What the aggregation of all rows adds to the cheapest plan.
        let calls = what.aggregates.len() as f64;
        let above = cheapest.rows * self.planner.costs().cpu_operator * (1.0 + calls);
        for place in self.places(what) {
            let (states, aggregates) = self.partially_aggregated(what, &place)?;
            if states.plan.cost.total >= cheapest.total + above {
                continue;
            }
            let states = self.planner.side(states, None)?;
            let Some(path) = self.best_over(place.set, states)? else {
                continue;
            };
            found.push(JoinedStates { rel: self.planner.build(&path)?, aggregates });
        }
        Ok(found)
    }

    /// The sets of tables that it may pay to aggregate: minimal ones, by the rows that they save.
    fn places(&self, what: &EagerAggregation) -> Vec<Place> {
        let least = self.planner.ctx.settings.eager_group_rows_min;
        let may_be = |(set, side): &(u128, &Side)| {
            what.reads.is_subset(&side.rtes)
                && side.rows() >= least
                && self.graph.may_be_aggregated(*set)
        };
        let mut sets: Vec<(u128, &Side)> = self.partial_joins().filter(may_be).collect();
        sets.sort_unstable_by_key(|(set, _)| (set.count_ones(), *set));
        let mut places: Vec<Place> = Vec::new();
        for (set, side) in sets.into_iter().take(SETS_MAX) {
            let is_least = places.iter().all(|place| place.set & !set != 0);
            if is_least && let Some(place) = self.place(what, set, side) {
                places.push(place);
            }
        }
        places.sort_by(|a, b| b.saved.total_cmp(&a.saved));
        places.truncate(PLACES_MAX);
        places
    }

    /// A set of tables, if there are fewer groups of its rows than rows by far.
    fn place(&self, what: &EagerAggregation, set: u128, side: &Side) -> Option<Place> {
        let mut columns = what.above.clone();
        let outside = self.graph.decided_outside(set);
        outside.for_each(|clause| collect_columns(&clause.expr, &mut columns));
        let mut columns: Vec<ColumnId> =
            columns.into_iter().filter(|(rte, _)| side.rtes.contains(*rte)).collect();
        columns.sort_unstable();
        let rtes = self.from.rtes;
        let keys = columns.iter().map(|id| key_column(rtes, *id)).collect::<Option<Vec<_>>>()?;
        if keys.is_empty() {
            return None;
        }
        let rows = side.rows();
        let groups = self.from.estimator(self.planner).groups(&keys, rows);
        let least = self.planner.ctx.settings.eager_group_rows_min;
        (rows / groups >= least).then_some(Place { set, keys, groups, saved: rows - groups })
    }

    /// The groups of a set of tables with their states, and the aggregates over its rows.
    fn partially_aggregated(
        &mut self,
        what: &EagerAggregation,
        place: &Place,
    ) -> Result<(Rel, Vec<Aggregate>)> {
        let Rel { plan, layout, rtes } = self.build_joined(place.set)?;
        let slots = |expr: &Expr| to_slots(expr.clone(), &layout);
        let keys = place.keys.iter().map(slots).collect::<Result<Vec<_>>>()?;
        let over_row = |call: &Aggregate| aggregate_to_slots(call.clone(), &layout);
        let aggregates = what.aggregates.iter().map(over_row).collect::<Result<Vec<_>>>()?;
        let is_hashed = self.planner.ctx.settings.hashagg;
        let is_sorted = !is_hashed && keys.iter().all(|key| has_order(key.ty()));
        let all = Aggregation {
            mode: AggMode::Simple,
            aggregates: aggregates.clone(),
            having: None,
            kept: 1.0,
            types: Vec::new(),
            groups: place.groups,
            empty_groups: Vec::new(),
            strategy: if is_sorted { AggStrategy::Sorted } else { AggStrategy::Hashed },
            sort: keys.iter().cloned().map(ascending).collect(),
            keys,
        };
        let part = self.planner.aggregation(plan, all.of_a_part())?;
        let columns = rtes_and_columns(&place.keys);
        let states = (1..=aggregates.len() as i16).map(|state| (STATES, state));
        let layout = columns.chain(states).collect();
        Ok((Rel { plan: part.plan, layout, rtes }, aggregates))
    }
}

fn rtes_and_columns(keys: &[Expr]) -> impl Iterator<Item = ColumnId> {
    keys.iter().filter_map(|key| match key {
        Expr::Var { rte, column, .. } => Some(super::column_id(*rte, *column)),
        _ => None,
    })
}

/// A column as a key of the partial step, if its equal values are the same.
fn key_column(rtes: &[Rte], (rte, attribute): ColumnId) -> Option<Expr> {
    let column = usize::try_from(attribute).ok()?.checked_sub(1)?;
    let ty = rtes.get(rte)?.columns.get(column)?.ty;
    let key =
        Expr::Var { rte, column: column as i32, levels_up: 0, ty, at: crate::expr::Place::NONE };
    has_equal_images(&key, rtes).then_some(key)
}

/// Whether equal values of an expression are the same. A table's column with a modifier has all its
/// values in one form.
fn has_equal_images(expr: &Expr, rtes: &[Rte]) -> bool {
    let TypeRef { oid: of, typmod } = expr.ty();
    let is_stored =
        |rte: usize| matches!(rtes.get(rte), Some(Rte { kind: RteKind::Relation(_), .. }));
    let is_in_one_form = matches!(strip(expr), Expr::Var { rte, levels_up: 0, .. } if is_stored(*rte) && typmod >= 0);
    match of {
        oid::BPCHAR | oid::NUMERIC => is_in_one_form && strip(expr) == expr,
        oid::BOOL | oid::INT2 | oid::INT4 | oid::INT8 | oid::OID | oid::DATE | oid::TIME => true,
        oid::TIMESTAMP | oid::TIMESTAMPTZ | oid::UUID | oid::BYTEA => true,
        oid::TEXT | oid::VARCHAR | oid::NAME => true,
        _ => false,
    }
}

/// Collects the columns that are read of a group, not of its rows.
fn columns_outside_aggregates(expr: &Expr, out: &mut HashSet<ColumnId>) {
    match expr {
        Expr::Aggregate(call) if call.levels_up == 0 => {}
        Expr::Var { .. } => collect_columns(expr, out),
        other => other.for_each_child(&mut |child| columns_outside_aggregates(child, out)),
    }
}

/// Whether an aggregate's states may be made of rows that are not joined yet.
fn is_eager(call: &Aggregate, rtes: &[Rte]) -> bool {
    let is_exact = |of: Oid| matches!(of, oid::INT2 | oid::INT4 | oid::INT8 | oid::NUMERIC);
    let is_plain = !call.distinct && call.order_by.is_empty() && call.levels_up == 0;
    let Some(name) = call.func.built_in_name().filter(|_| is_plain) else { return false };
    let takes = match (name, call.args.as_slice()) {
        ("count", _) => true,
        ("min" | "max", [arg]) => has_equal_images(arg, rtes),
        ("bool_and" | "bool_or" | "every", [_]) => true,
        ("bit_and" | "bit_or" | "bit_xor", [arg])
        | ("sum" | "avg", [arg])
        | ("stddev" | "stddev_samp" | "stddev_pop", [arg])
        | ("variance" | "var_samp" | "var_pop", [arg]) => is_exact(arg.ty().oid),
        _ => false,
    };
    takes && call.args.iter().chain(&call.filter).all(never_fails)
}

/// Whether an expression has a value for every row, the same each time.
fn never_fails(expr: &Expr) -> bool {
    let own = match expr {
        Expr::Var { levels_up: 0, .. } | Expr::Const(..) | Expr::Param { .. } => true,
        Expr::And(_) | Expr::Or(_) | Expr::Not(_) | Expr::BoolTest { .. } => true,
        Expr::IsNull { arg, .. } => has_plain_order(arg.ty().oid),
        Expr::Case { .. } | Expr::CaseOperand(_) | Expr::Coalesce { .. } => true,
        Expr::Relabel { .. } => true,
        Expr::Func { func, args, syntax, .. } => match syntax {
            CallSyntax::Operator(op) => is_safe_operator(op, args),
            CallSyntax::ImplicitCast | CallSyntax::ExplicitCast => is_widening(func),
            _ => false,
        },
        _ => false,
    };
    own && expr.children().into_iter().all(never_fails)
}

/// Comparisons; sums and products of numerics.
fn is_safe_operator(operator: &Operator, args: &[Expr]) -> bool {
    let Some(name) = operator.built_in_name() else { return false };
    let compares = operator.estimate().is_of_comparison() && operator.result == oid::BOOL;
    let calculates = matches!(name, "+" | "-" | "*") && operator.result == oid::NUMERIC;
    let are_plain = args.iter().all(|arg| has_plain_order(arg.ty().oid));
    let are_numeric = [operator.left, operator.right].iter().all(|of| *of == oid::NUMERIC);
    compares && are_plain || calculates && are_numeric && args.iter().all(has_few_digits)
}

/// Whether a number is so short that a calculation with it does not overflow a numeric. A column
/// has at most the digits of its type, 1,000 at the most.
fn has_few_digits(expr: &Expr) -> bool {
    match expr {
        Expr::Var { ty, .. } => ty.oid != oid::NUMERIC || ty.typmod >= 0,
        other => other.children().into_iter().all(has_few_digits),
    }
}

/// Types whose values can all be compared.
fn has_plain_order(of: Oid) -> bool {
    matches!(
        of,
        oid::BOOL
            | oid::INT2
            | oid::INT4
            | oid::INT8
            | oid::NUMERIC
            | oid::FLOAT4
            | oid::FLOAT8
            | oid::TEXT
            | oid::VARCHAR
            | oid::BPCHAR
            | oid::DATE
            | oid::TIMESTAMP
    )
}

/// Casts of integers to types that have room for all of them.
fn is_widening(func: &Function) -> bool {
    const WIDENING: [&str; 6] =
        ["i2toi4", "int28", "int48", "int2_numeric", "int4_numeric", "int8_numeric"];
    func.built_in_source().is_some_and(|source| WIDENING.contains(&source))
}
