//! The numbers of rows that conditions leave and joins make, and of groups (clausesel.c,
//! selfuncs.c, like_support.c, array_selfuncs.c, costsize.c).
//!
//! ```text
//!   clauses      lists of conditions; two bounds of one expression are a range
//!   together     what CREATE STATISTICS found about several columns
//!   variable     what is known of a column or another expression over one table
//!   equality     = and <>: by the most common values, and by how many values there are
//!   inequality   < and its kin: by the most common values and the histogram
//!   scalar       values as numbers, for their place between two bounds of a histogram
//!   membership   = ANY, <> ALL
//!   pattern      LIKE, ~, ^@: by the fixed prefix, and by what of the histogram matches
//!   truth        NULL tests, boolean columns
//!   elements     @>, <@, && of arrays
//!   join         conditions over two tables; how many rows a join has
//!   groups       how many groups there are
//!   functions    how many rows a set-returning function has
//! ```
//!
//! The estimates are the ones of PostgreSQL 18 from the same statistics. A fraction is a
//! probability; a table's rows are counted as the table is now, not as they were when it was
//! analyzed.

mod clauses;
mod elements;
mod equality;
mod functions;
mod groups;
mod inequality;
mod join;
mod membership;
mod merge;
mod pattern;
mod pattern_prefix;
mod scalar;
mod together;
mod truth;
mod variable;

pub(crate) use join::JoinSides;
pub(super) use pattern_prefix::{fixed_prefix, least_greater};
pub(crate) use variable::{Bases, Origin, origins};

use super::cost::strip;
use super::or_clauses::share_left;
use super::{PlannerContext, rtes_of};
use crate::expr::{CallSyntax, Expr, RowCompareOp};
use crate::query::Rte;
use std::borrow::{Borrow, Cow};
use steppe_catalog::builtin::Estimate;
use steppe_catalog::objects::Operator;
use steppe_types::{Datum, interrupt};
use variable::Variable;

/// Fractions of rows where nothing is known (selfuncs.h).
const DEFAULT_EQUAL: f64 = 0.005;
const DEFAULT_INEQUALITY: f64 = 0.333_333_333_333_333_3;
const DEFAULT_RANGE: f64 = 0.005;
const DEFAULT_FUNCTION: f64 = 0.333_333_3;
const UNKNOWN: f64 = 0.5;
/// The number of distinct values, if it is not known.
const DEFAULT_DISTINCT: f64 = 200.0;

/// Estimates over one query's range table.
#[derive(Clone, Copy)]
pub(crate) struct Estimator<'a> {
    rtes: &'a [Rte],
    ctx: &'a PlannerContext<'a>,
    /// The estimates of entries that have been planned.
    bases: Option<&'a Bases>,
    /// The join that conditions belong to, if it is a semi or an anti join.
    join: Option<JoinSides<'a>>,
    /// A partitioned table stands for its average leaf.
    in_leaf: bool,
}

/// The side of a comparison that is no column, as far as planning has its value.
enum Operand<'e> {
    Null,
    Value(Cow<'e, Datum>),
    Unknown,
}

/// `variable op value` or the other way round.
struct Comparison<'a, 'e> {
    variable: Variable<'a>,
    value: Operand<'e>,
    is_left: bool,
}

impl<'a> Estimator<'a> {
    /// Estimates for conditions on base relations.
    pub(crate) fn new(ctx: &'a PlannerContext<'a>, rtes: &'a [Rte]) -> Estimator<'a> {
        Estimator { rtes, ctx, bases: None, join: None, in_leaf: false }
    }

    /// The query's entries.
    pub(crate) fn rtes(&self) -> &'a [Rte] {
        self.rtes
    }

    /// With the estimates of the entries that have been planned.
    pub(crate) fn with_bases(self, bases: &'a Bases) -> Estimator<'a> {
        Estimator { bases: Some(bases), ..self }
    }

    /// Estimates for partitioned tables' leaves, each with its partner, or for all their rows.
    pub(crate) fn in_leaf(self, in_leaf: bool) -> Estimator<'a> {
        Estimator { in_leaf, ..self }
    }

    /// Fraction of rows that satisfy all conditions.
    pub(crate) fn selectivity<E: Borrow<Expr>>(&self, conditions: &[E]) -> f64 {
        self.conjunction(conditions).clamp(1e-10, 1.0)
    }

    /// Fraction of rows that satisfy a condition.
    pub(crate) fn selectivity_of(&self, condition: &Expr) -> f64 {
        self.selectivity(std::slice::from_ref(condition))
    }

    /// Fraction of rows that satisfy one condition (clause_selectivity).
    fn clause(&self, clause: &Expr) -> f64 {
        interrupt::check_unwinding();
        let selected = match clause {
            Expr::Const(Datum::Bool(true), _) => 1.0,
            Expr::Const(..) => 0.0,
            Expr::And(args) => self.conjunction(args),
            Expr::Or(args) => {
                let any = 1.0 - args.iter().map(|a| 1.0 - self.clause(a)).product::<f64>();
                share_left(args, any, self)
            }
            Expr::Not(arg) => 1.0 - self.clause(arg),
            Expr::IsNull { arg, negated } => self.null_test(arg, *negated),
            Expr::BoolTest { arg, test } => self.boolean_test(arg, *test),
            Expr::Func { syntax: CallSyntax::Operator(op), args, .. } => self.operator(op, args),
            Expr::Func { func, args, .. } => self.boolean_function(func, args),
            Expr::Distinct { left, right, negated, .. } => {
                let equal = self.comparison(Estimate::Equal, Estimate::Equal, left, right);
                if *negated { equal } else { 1.0 - equal }
            }
            Expr::ScalarArrayOp { all, left, array, syntax, .. } => {
                self.any_or_all(left, array, *all, syntax)
            }
            Expr::RowCompare { left, right, op, .. } => self.row(*op, left, right),
            Expr::Relabel { arg, .. } => self.clause(arg),
            Expr::Param { .. } | Expr::ExecParam { .. } => match self.operand(clause) {
                Operand::Value(value) => f64::from(u8::from(matches!(*value, Datum::Bool(true)))),
                Operand::Null => 0.0,
                Operand::Unknown => UNKNOWN,
            },
            other => self.boolean_variable(other),
        };
        selected.clamp(0.0, 1.0)
    }

    /// Fraction of rows for which an operator is true.
    fn operator(&self, operator: &Operator, args: &[Expr]) -> f64 {
        match args {
            [left, right] => self.call(operator, left, right),
            _ => UNKNOWN,
        }
    }

    fn call(&self, operator: &Operator, left: &Expr, right: &Expr) -> f64 {
        match operator.estimate() {
            Estimate::Elements => self.element_condition(operator, left, right),
            estimate => self.comparison(estimate, operator.join_estimate(), left, right),
        }
    }

    /// The same by estimators: one for a condition on one table, one for two.
    fn comparison(&self, estimate: Estimate, joined: Estimate, left: &Expr, right: &Expr) -> f64 {
        match joins(left, right) {
            true => self.join_condition(joined, left, right),
            false => self.restriction(estimate, self.sides(left, right).as_ref()),
        }
    }

    /// Fraction of a table's rows by an operator's estimator. `sides` is `None` where a column is
    /// compared with another of the same row, say.
    fn restriction(&self, estimate: Estimate, sides: Option<&Comparison<'_, '_>>) -> f64 {
        match estimate {
            Estimate::Equal => self.equality(sides, false),
            Estimate::NotEqual => self.equality(sides, true),
            Estimate::Less => self.inequality(sides, true, false),
            Estimate::LessEqual => self.inequality(sides, true, true),
            Estimate::Greater => self.inequality(sides, false, false),
            Estimate::GreaterEqual => self.inequality(sides, false, true),
            Estimate::Match { pattern, negated } => self.matching(sides, pattern, negated),
            Estimate::Fixed(selectivity) => selectivity,
            Estimate::Elements | Estimate::None => UNKNOWN,
        }
    }

    /// `(a, b) < (x, y)` by its first columns (rowcomparesel).
    fn row(&self, op: RowCompareOp, left: &[Expr], right: &[Expr]) -> f64 {
        let ([left, ..], [right, ..]) = (left, right) else { return UNKNOWN };
        let estimate = match op {
            RowCompareOp::Lt => Estimate::Less,
            RowCompareOp::Le => Estimate::LessEqual,
            RowCompareOp::Gt => Estimate::Greater,
            RowCompareOp::Ge => Estimate::GreaterEqual,
        };
        self.comparison(estimate, estimate, left, right)
    }

    /// The side that is over a table's columns, and the other, which is not
    /// (get_restriction_variable).
    fn sides<'e>(&self, left: &'e Expr, right: &'e Expr) -> Option<Comparison<'a, 'e>> {
        let (side, other, is_left) = match (rtes_of(left).is_empty(), rtes_of(right).is_empty()) {
            (false, true) => (left, right, true),
            (true, false) => (right, left, false),
            _ => return None,
        };
        Some(Comparison { variable: self.variable(side), value: self.operand(other), is_left })
    }

    /// The value of an expression that no row decides, as far as it is known.
    fn operand<'e>(&self, expr: &'e Expr) -> Operand<'e> {
        match strip(expr) {
            Expr::Const(Datum::Null, _) => Operand::Null,
            Expr::Const(value, _) => Operand::Value(Cow::Borrowed(value)),
            Expr::Param { index, .. } => match self.ctx.values.get(*index) {
                Some(Datum::Null) => Operand::Null,
                Some(value) => Operand::Value(Cow::Owned(value.clone())),
                None => Operand::Unknown,
            },
            other => match self.ctx.sizes.value(other) {
                Some(Datum::Null) => Operand::Null,
                Some(value) => Operand::Value(Cow::Owned(value)),
                None => Operand::Unknown,
            },
        }
    }
}

/// Whether two sides are over more than one table together.
fn joins(left: &Expr, right: &Expr) -> bool {
    let (left, right) = (rtes_of(left), rtes_of(right));
    match (left.is_empty(), right.is_empty()) {
        (true, _) => !right.is_empty() && !right.is_one(),
        (_, true) => !left.is_one(),
        _ => !left.is_one() || left != right,
    }
}
