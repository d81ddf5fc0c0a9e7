//! Lists of conditions (clausesel.c).
//!
//! Conditions are taken to be independent of each other, so that their selectivities are
//! multiplied. Two bounds of one expression are not: `x > 3 AND x < 5` leaves the rows above 3 and
//! the rows below 5 without the rows that either leaves, which are all that are not null.

use super::{DEFAULT_INEQUALITY, DEFAULT_RANGE, Estimator};
use crate::expr::{CallSyntax, Expr};
use crate::planner::cost::strip;
use crate::planner::{is_volatile, rtes_of};
use std::borrow::Borrow;
use steppe_catalog::builtin::Estimate;

/// The fraction that a range leaves whose bounds seem to contradict each other.
const EMPTY_RANGE: f64 = 1e-10;
/// The limit below zero of rounding errors of that fraction.
const ROUNDING: f64 = -0.01;

/// The bounds of one expression.
struct Range<'a> {
    of: &'a Expr,
    lower: Option<f64>,
    upper: Option<f64>,
}

impl Range<'_> {
    /// The narrower of two bounds on one side counts.
    fn add(&mut self, is_lower: bool, selectivity: f64) {
        let bound = if is_lower { &mut self.lower } else { &mut self.upper };
        *bound = Some(bound.map_or(selectivity, |known| known.min(selectivity)));
    }
}

impl Estimator<'_> {
    /// Fraction of rows that satisfy all conditions.
    pub(super) fn conjunction<E: Borrow<Expr>>(&self, conditions: &[E]) -> f64 {
        if let [one] = conditions {
            return self.clause(one.borrow());
        }
        match self.together(conditions) {
            None => self.independent(conditions.iter().map(E::borrow)),
            Some((selected, estimated)) => {
                let left = conditions.iter().zip(estimated).filter(|(_, estimated)| !estimated);
                selected * self.independent(left.map(|(condition, _)| condition.borrow()))
            }
        }
    }

    /// The selectivity without statistics on several columns together.
    pub(super) fn independent<'e>(&self, conditions: impl IntoIterator<Item = &'e Expr>) -> f64 {
        let (mut selected, mut ranges): (f64, Vec<Range<'_>>) = (1.0, Vec::new());
        for condition in conditions {
            let selectivity = self.clause(condition);
            match bound_of(condition) {
                None => selected *= selectivity,
                Some((of, is_lower)) => match ranges.iter_mut().find(|range| range.of == of) {
                    Some(range) => range.add(is_lower, selectivity),
                    None => {
                        let mut range = Range { of, lower: None, upper: None };
                        range.add(is_lower, selectivity);
                        ranges.push(range);
                    }
                },
            }
        }
        selected * ranges.iter().map(|range| self.range(range)).product::<f64>()
    }

    fn range(&self, range: &Range<'_>) -> f64 {
        let (lower, upper) = match (range.lower, range.upper) {
            (Some(lower), Some(upper)) => (lower, upper),
            (Some(bound), None) | (None, Some(bound)) => return bound,
            (None, None) => return 1.0,
        };
        if lower == DEFAULT_INEQUALITY || upper == DEFAULT_INEQUALITY {
            return DEFAULT_RANGE;
        }
        // Rows with NULL are left out by both.
        let inside = lower + upper - 1.0 + self.null_test(range.of, false);
        match inside {
            inside if inside > 0.0 => inside,
            inside if inside < ROUNDING => DEFAULT_RANGE,
            _ => EMPTY_RANGE,
        }
    }
}

/// The expression that a condition bounds by a value that no row decides, and whether from below.
fn bound_of(condition: &Expr) -> Option<(&Expr, bool)> {
    let Expr::Func { syntax: CallSyntax::Operator(op), args, .. } = condition else { return None };
    let [left, right] = args.as_slice() else { return None };
    let is_less = match op.estimate() {
        Estimate::Less | Estimate::LessEqual => true,
        Estimate::Greater | Estimate::GreaterEqual => false,
        _ => return None,
    };
    let is_fixed = |side: &Expr| rtes_of(side).is_empty() && !is_volatile(side);
    let single = |side: &Expr| rtes_of(side).is_one();
    match (single(left) && is_fixed(right), single(right) && is_fixed(left)) {
        (true, _) => Some((strip(left), !is_less)),
        (_, true) => Some((strip(right), is_less)),
        _ => None,
    }
}
