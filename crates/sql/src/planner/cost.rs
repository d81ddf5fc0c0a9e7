//! Costs (costsize.c), and the defaults of the settings that they come from (`path_cost`). Numbers
//! of rows: `selectivity`.

use super::path_cost::CostParameters;
use super::{Planner, rtes_of};
use crate::bind::index::is_mutable;
use crate::expr::{Expr, SubLinkKind, SubPlan};
use crate::plan::Cost;
use steppe_types::{Datum, interrupt};

pub(crate) use super::selectivity::Estimator;

pub(crate) const SEQ_PAGE: f64 = 1.0;
pub(crate) const RANDOM_PAGE: f64 = 4.0;
/// The cost of a row of an Append, as a share of [`CPU_TUPLE`].
pub(crate) const APPEND_SHARE: f64 = 0.5;
pub(crate) const CPU_TUPLE: f64 = 0.01;
pub(crate) const CPU_INDEX_TUPLE: f64 = 0.005;
pub(crate) const CPU_OPERATOR: f64 = 0.0025;

/// The number of operators assumed for an unknown array, and the number of elements from which on a
/// list is looked up by a hash.
const UNKNOWN_ARRAY: f64 = 10.0;
const HASHED_LIST_MIN: usize = 9;

/// Conditions in the order in which they are evaluated: cheap ones first, otherwise as they are
/// (order_qual_clauses).
pub(crate) fn cheapest_first(conditions: Vec<Expr>) -> Vec<Expr> {
    if conditions.len() < 2 {
        return conditions;
    }
    let mut counted: Vec<(f64, Expr)> =
        conditions.into_iter().map(|condition| (operators_in(&condition), condition)).collect();
    counted.sort_by(|(a, _), (b, _)| a.total_cmp(b));
    counted.into_iter().map(|(_, condition)| condition).collect()
}

/// The number of operators evaluated for each row (cost_qual_eval). What no row decides is computed
/// once.
fn operators_in(expr: &Expr) -> f64 {
    interrupt::check_unwinding();
    if rtes_of(expr).is_empty() && !is_mutable(expr) {
        return 0.0;
    }
    let own = match expr {
        Expr::SubPlan(sub) => return if sub.runs_once() { 0.0 } else { f64::INFINITY },
        Expr::SubLink { .. } => return f64::INFINITY,
        Expr::Func { .. } | Expr::Distinct { .. } | Expr::NullIf { .. } | Expr::MinMax { .. } => {
            1.0
        }
        Expr::CoerceViaIo { .. } => 2.0,
        Expr::RowCompare { left, .. } => left.len() as f64,
        Expr::ScalarArrayOp { all, array, .. } => match list_length(array) {
            Some(length) if !all && length >= HASHED_LIST_MIN => 2.0,
            Some(length) => length as f64 * 0.5,
            None => UNKNOWN_ARRAY * 0.5,
        },
        _ => 0.0,
    };
    own + expr.children().into_iter().map(operators_in).sum::<f64>()
}

impl Planner<'_> {
    /// The cost of conditions in operators for each row: one each, as most have, and their
    /// sub-selects (cost_qual_eval). The number of rows that an earlier condition leaves is
    /// ignored.
    pub(super) fn operators_of<'e>(&self, conditions: impl IntoIterator<Item = &'e Expr>) -> f64 {
        let operators = |condition| match self.subplans.is_empty() {
            true => 1.0,
            false => 1.0 + self.sub_selects_of(condition) / self.costs().cpu_operator,
        };
        conditions.into_iter().map(operators).sum()
    }

    /// The cost of an expression's sub-selects each time.
    fn sub_selects_of(&self, expr: &Expr) -> f64 {
        let own = match expr {
            Expr::SubPlan(sub) => self.subplans.get(sub.plan).map(|plan| per_call(sub, &plan.cost)),
            _ => None,
        };
        let of_children = expr.children().into_iter().map(|child| self.sub_selects_of(child));
        own.unwrap_or(0.0) + of_children.sum::<f64>()
    }
}

/// The cost of one call of a sub-select whose plan costs `plan` (cost_subplan). EXISTS reads one
/// row, and ANY and ALL half of them. A sub-select that is hashed, or runs once, has no cost per
/// call.
pub(super) fn per_call(sub: &SubPlan, plan: &Cost) -> f64 {
    let Cost { startup, total, rows, .. } = *plan;
    match sub.kind {
        _ if sub.runs_once() || sub.hash_keys.is_some() => 0.0,
        SubLinkKind::Exists => startup + (total - startup) / rows.max(1.0),
        SubLinkKind::Any | SubLinkKind::All => startup + (total - startup) * 0.5,
        _ => total,
    }
}

/// The number of elements of an array, if that is known.
pub(crate) fn list_length(array: &Expr) -> Option<usize> {
    match strip(array) {
        Expr::Array { elements, .. } => Some(elements.len()),
        Expr::Const(Datum::Array(array), _) => Some(array.elements.len()),
        _ => None,
    }
}

/// A relabelled column is the column.
pub(crate) fn strip(expr: &Expr) -> &Expr {
    match expr {
        Expr::Relabel { arg, .. } => strip(arg),
        other => other,
    }
}

/// log2(n), at least 1.
pub(crate) fn log2(n: f64) -> f64 {
    n.max(2.0).log2()
}

/// Adds the cost of merging the rows of `inputs` inputs (cost_merge_append).
pub(crate) fn add_merge(cost: &mut Cost, inputs: f64, costs: &CostParameters) {
    let place = 2.0 * costs.cpu_operator * log2(inputs);
    cost.startup += place * inputs;
    cost.total += place * (inputs + cost.rows) + APPEND_SHARE * costs.cpu_tuple * cost.rows;
}

/// Cost of sorting the input's rows.
pub(crate) fn sort_cost(input: &Cost, bound: Option<f64>, costs: &CostParameters) -> Cost {
    let rows = input.rows.max(2.0);
    let kept = bound.map_or(rows, |b| (2.0 * b).clamp(2.0, rows));
    let compare = 2.0 * costs.cpu_operator;
    let startup = input.total + compare * rows * log2(kept);
    Cost { startup, total: startup + costs.cpu_operator * rows, ..*input }
}
