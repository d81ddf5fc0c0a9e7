//! Costs and selectivities (costsize.c, selfuncs.c, clausesel.c), with
//! PostgreSQL's default parameters.

use super::rtes_of;
use crate::bind::index::is_mutable;
use crate::expr::{CallSyntax, Expr};
use crate::plan::Cost;
use crate::query::{Rte, RteKind};
use std::cmp::Ordering;
use steppe_catalog::builtin::Strategy;
use steppe_catalog::{Builtins, ColumnStatistics, Relation};
use steppe_types::io::IoContext;
use steppe_types::{Datum, Oid, compare, interrupt};

pub(crate) const SEQ_PAGE: f64 = 1.0;
pub(crate) const RANDOM_PAGE: f64 = 4.0;
/// What an Append costs a row, as a share of [`CPU_TUPLE`].
pub(crate) const APPEND_SHARE: f64 = 0.5;
pub(crate) const CPU_TUPLE: f64 = 0.01;
pub(crate) const CPU_INDEX_TUPLE: f64 = 0.005;
pub(crate) const CPU_OPERATOR: f64 = 0.0025;

const DEFAULT_EQ_SELECTIVITY: f64 = 0.005;
pub(super) const DEFAULT_INEQ_SELECTIVITY: f64 = 0.333_333_333_333_333_3;
pub(super) const DEFAULT_RANGE_SELECTIVITY: f64 = 0.005;
const DEFAULT_DISTINCT: f64 = 200.0;

/// How many operators are taken to be evaluated for an array that is not known, and from how many
/// elements on a list is looked up by a hash.
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

/// How many operators are evaluated for each row (cost_qual_eval). What no row decides is
/// computed once.
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

fn list_length(array: &Expr) -> Option<usize> {
    match strip(array) {
        Expr::Array { elements, .. } => Some(elements.len()),
        Expr::Const(Datum::Array(array), _) => Some(array.elements.len()),
        _ => None,
    }
}

/// Estimates over one query's range table.
pub(crate) struct Estimator<'a> {
    pub(crate) rtes: &'a [Rte],
    #[allow(dead_code)]
    pub(crate) io: &'a IoContext,
    /// What the parameters are expected to be; empty if that is not known.
    pub(crate) values: &'a [Datum],
}

impl Estimator<'_> {
    /// Fraction of rows that satisfy all conditions.
    pub(crate) fn selectivity(&self, conditions: &[Expr]) -> f64 {
        self.conjunction(conditions).clamp(1e-10, 1.0)
    }

    /// The value of a constant, or of a parameter if it is known; `None`, too, for NULL.
    pub(super) fn known<'e>(&'e self, expr: &'e Expr) -> Option<&'e Datum> {
        let value = match expr {
            Expr::Const(value, _) => value,
            Expr::Param { index, .. } => self.values.get(*index)?,
            _ => return None,
        };
        (!value.is_null()).then_some(value)
    }

    /// Fraction of rows that satisfy a condition.
    pub(crate) fn selectivity_of(&self, condition: &Expr) -> f64 {
        self.selectivity(std::slice::from_ref(condition))
    }

    pub(super) fn clause(&self, clause: &Expr) -> f64 {
        match clause {
            Expr::Const(Datum::Bool(true), _) => 1.0,
            Expr::Const(..) => 0.0,
            Expr::And(args) => self.selectivity(args),
            Expr::Or(args) => 1.0 - args.iter().map(|a| 1.0 - self.clause(a)).product::<f64>(),
            Expr::Not(arg) => 1.0 - self.clause(arg),
            Expr::IsNull { arg, negated } => self.null_test(arg, *negated),
            Expr::Func { syntax: CallSyntax::Operator(op), args, .. } if args.len() == 2 => {
                self.comparison(*op, &args[0], &args[1])
            }
            Expr::ScalarArrayOp { left, array, all: false, syntax, .. } => {
                let count = match &**array {
                    Expr::Array { elements, .. } => elements.len() as f64,
                    Expr::Const(Datum::Array(a), _) => a.elements.len() as f64,
                    _ => 10.0,
                };
                match syntax {
                    CallSyntax::Operator(op)
                        if Builtins::get().strategy(*op) == Some(Strategy::Equal) =>
                    {
                        (self.equality(left, None) * count).min(1.0)
                    }
                    _ => 0.5,
                }
            }
            Expr::SubPlan(_) | Expr::BoolTest { .. } => 0.5,
            Expr::Var { .. } => 0.5,
            _ => 0.25,
        }
    }

    /// Fraction of rows where an expression is NULL, or is not.
    pub(super) fn null_test(&self, arg: &Expr, negated: bool) -> f64 {
        let nulls = self.column(arg).map_or(0.005, |s| s.null_fraction);
        if negated { 1.0 - nulls } else { nulls }
    }

    fn comparison(&self, op: Oid, left: &Expr, right: &Expr) -> f64 {
        let builtins = Builtins::get();
        let (column, value, flipped) = match (strip(left), strip(right)) {
            (l @ Expr::Var { .. }, r) if !matches!(r, Expr::Var { .. }) => (l, r, false),
            (l, r @ Expr::Var { .. }) if !matches!(l, Expr::Var { .. }) => (r, l, true),
            (l @ Expr::Var { .. }, r @ Expr::Var { .. }) => return self.join_equality(op, l, r),
            _ => return 0.25,
        };
        match builtins.strategy(op) {
            Some(Strategy::Equal) => self.equality(column, self.known(value)),
            Some(strategy) => {
                let less = matches!(strategy, Strategy::Less | Strategy::LessEqual) != flipped;
                self.inequality(column, self.known(value), less)
            }
            None => match builtins.operator(op).map(|o| o.name) {
                Some("<>") => 1.0 - self.equality(column, self.known(value)),
                Some("~~" | "~") => DEFAULT_RANGE_SELECTIVITY,
                _ => 0.25,
            },
        }
    }

    /// `a.x = b.y`: one over the greater number of distinct values.
    fn join_equality(&self, op: Oid, left: &Expr, right: &Expr) -> f64 {
        if Builtins::get().strategy(op) != Some(Strategy::Equal) {
            return DEFAULT_INEQ_SELECTIVITY;
        }
        1.0 / self.distinct(left).max(self.distinct(right)).max(1.0)
    }

    /// Estimated number of distinct values of an expression.
    pub(crate) fn distinct(&self, expr: &Expr) -> f64 {
        let Expr::Var { rte, column, .. } = strip(expr) else { return DEFAULT_DISTINCT };
        let Some(relation) = self.relation(*rte) else { return DEFAULT_DISTINCT };
        let rows = relation.statistics.as_ref().map_or(0.0, |s| s.rows);
        if unique_column(relation, *column) {
            return rows.max(DEFAULT_DISTINCT);
        }
        match self.column(expr).map(|s| s.distinct) {
            Some(d) if d > 0.0 => d,
            Some(d) if d < 0.0 => (-d * rows).max(1.0),
            _ => DEFAULT_DISTINCT,
        }
    }

    fn equality(&self, column: &Expr, value: Option<&Datum>) -> f64 {
        if let Expr::Var { rte, column: c, .. } = strip(column)
            && let Some(relation) = self.relation(*rte)
            && unique_column(relation, *c)
        {
            let rows = relation.statistics.as_ref().map_or(1000.0, |s| s.rows);
            return 1.0 / rows.max(1.0);
        }
        let Some(stats) = self.column(column) else { return DEFAULT_EQ_SELECTIVITY };
        if let Some(value) = value
            && let ty = strip(column).ty().oid
            && let Some((_, frequency)) =
                stats.most_common.iter().find(|(v, _)| order(ty, v, value) == Some(Ordering::Equal))
        {
            return *frequency;
        }
        let common: f64 = stats.most_common.iter().map(|(_, f)| f).sum();
        let others = (self.distinct(column) - stats.most_common.len() as f64).max(1.0);
        ((1.0 - common - stats.null_fraction) / others).clamp(0.0, 1.0)
    }

    /// `column < value` (or `>`), from the histogram.
    fn inequality(&self, column: &Expr, value: Option<&Datum>, less: bool) -> f64 {
        let ty = strip(column).ty().oid;
        let (Some(stats), Some(value)) = (self.column(column), value) else {
            return DEFAULT_INEQ_SELECTIVITY;
        };
        if stats.histogram.len() < 2 {
            return DEFAULT_INEQ_SELECTIVITY;
        }
        let is_less = |bound: &&Datum| order(ty, bound, value) == Some(Ordering::Less);
        let below = stats.histogram.iter().filter(is_less).count();
        let buckets = (stats.histogram.len() - 1) as f64;
        let fraction = ((below as f64 - 0.5) / buckets).clamp(0.0, 1.0);
        if less { fraction } else { 1.0 - fraction }.max(0.0001)
    }

    fn relation(&self, rte: usize) -> Option<&Relation> {
        match &self.rtes.get(rte)?.kind {
            RteKind::Relation(relation) => Some(relation),
            _ => None,
        }
    }

    fn column(&self, expr: &Expr) -> Option<&ColumnStatistics> {
        let Expr::Var { rte, column, .. } = strip(expr) else { return None };
        let stats = self.relation(*rte)?.statistics.as_ref()?;
        stats.columns.get(usize::try_from(*column).ok()?)
    }
}

/// A relabelled column is the column.
pub(crate) fn strip(expr: &Expr) -> &Expr {
    match expr {
        Expr::Relabel { arg, .. } => strip(arg),
        other => other,
    }
}

/// The order of two values of a type, or of numbers of two types; `None`: they cannot be compared.
fn order(ty: Oid, a: &Datum, b: &Datum) -> Option<Ordering> {
    use Datum::{Float4, Float8, Int2, Int4, Int8};
    let comparable = match (a, b) {
        (Int2(_) | Int4(_) | Int8(_), Int2(_) | Int4(_) | Int8(_)) => true,
        (Float4(_) | Float8(_), Float4(_) | Float8(_)) => true,
        _ => std::mem::discriminant(a) == std::mem::discriminant(b),
    };
    comparable.then(|| compare::compare_as(ty, a, b))
}

/// Whether the column alone is the primary key: known from the table itself, without ANALYZE.
fn unique_column(relation: &Relation, column: i32) -> bool {
    relation
        .primary_key()
        .is_some_and(|k| k.columns.len() == 1 && i32::from(k.columns[0]) - 1 == column)
}

/// log2(n), at least 1.
pub(crate) fn log2(n: f64) -> f64 {
    n.max(2.0).log2()
}

/// Adds what merging the rows of so many inputs costs (cost_merge_append).
pub(crate) fn add_merge(cost: &mut Cost, inputs: f64) {
    let place = 2.0 * CPU_OPERATOR * log2(inputs);
    cost.startup += place * inputs;
    cost.total += place * (inputs + cost.rows) + APPEND_SHARE * CPU_TUPLE * cost.rows;
}

/// Cost of sorting the input's rows.
pub(crate) fn sort_cost(input: &Cost, bound: Option<f64>) -> Cost {
    let rows = input.rows.max(2.0);
    let kept = bound.map_or(rows, |b| (2.0 * b).clamp(2.0, rows));
    let compare = 2.0 * CPU_OPERATOR;
    let startup = input.total + compare * rows * log2(kept);
    Cost { startup, total: startup + CPU_OPERATOR * rows, ..*input }
}
