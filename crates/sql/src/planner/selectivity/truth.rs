//! NULL tests, boolean columns and boolean functions (nulltestsel, booltestsel, boolvarsel,
//! function_selectivity: selfuncs.c, plancat.c).

use super::{DEFAULT_FUNCTION, Estimator, UNKNOWN};
use crate::expr::{BoolTest, Expr};
use crate::planner::cost::strip;
use steppe_catalog::Function;
use steppe_catalog::builtin::{Estimate, PatternKind};
use steppe_types::Datum;

/// The fraction of NULLs where nothing is known of it.
const DEFAULT_NULL: f64 = 0.005;

/// Fractions of the rows where a boolean column is true, false and NULL.
struct Shares {
    truth: f64,
    falsehood: f64,
    null: f64,
}

impl Estimator<'_> {
    /// Fraction of rows where an expression is NULL, or is not.
    pub(super) fn null_test(&self, arg: &Expr, negated: bool) -> f64 {
        let is_system = matches!(strip(arg), Expr::Var { column, .. } if *column < 0);
        let nulls = match self.variable(arg).statistics {
            Some(found) => found.null_fraction,
            None if is_system => 0.0,
            None => DEFAULT_NULL,
        };
        if negated { 1.0 - nulls } else { nulls }
    }

    /// Fraction of rows of which `IS TRUE` and its kin hold.
    pub(super) fn boolean_test(&self, arg: &Expr, test: BoolTest) -> f64 {
        let Some(Shares { truth, falsehood, null }) = self.shares(arg) else {
            return match test {
                BoolTest::Unknown => DEFAULT_NULL,
                BoolTest::NotUnknown => 1.0 - DEFAULT_NULL,
                BoolTest::True | BoolTest::NotFalse => self.clause(arg),
                BoolTest::False | BoolTest::NotTrue => 1.0 - self.clause(arg),
            };
        };
        match test {
            BoolTest::Unknown => null,
            BoolTest::NotUnknown => 1.0 - null,
            BoolTest::True => truth,
            BoolTest::NotTrue => 1.0 - truth,
            BoolTest::False => falsehood,
            BoolTest::NotFalse => 1.0 - falsehood,
        }
    }

    fn shares(&self, arg: &Expr) -> Option<Shares> {
        let found = self.variable(arg).statistics?;
        let null = found.null_fraction;
        let truth = match found.most_common.first() {
            Some((Datum::Bool(true), frequency)) => *frequency,
            Some((_, frequency)) => 1.0 - frequency - null,
            None => (1.0 - null) / 2.0,
        };
        Some(Shares { truth, falsehood: 1.0 - truth - null, null })
    }

    /// Fraction of rows where an expression that is no known condition is true.
    pub(super) fn boolean_variable(&self, arg: &Expr) -> f64 {
        let variable = self.variable(arg);
        match (variable.statistics, arg) {
            (Some(_), _) => self.equals(&variable, &Datum::Bool(true)),
            (None, Expr::Func { .. }) => DEFAULT_FUNCTION,
            (None, _) => UNKNOWN,
        }
    }

    /// Fraction of rows for which a function is true.
    pub(super) fn boolean_function(&self, func: &Function, args: &[Expr]) -> f64 {
        match (func.built_in_source(), args) {
            (Some("text_starts_with"), [left, right]) => {
                let pattern = PatternKind::Prefix;
                let estimate = Estimate::Match { pattern, negated: false };
                self.comparison(estimate, estimate, left, right)
            }
            _ => DEFAULT_FUNCTION,
        }
    }
}
