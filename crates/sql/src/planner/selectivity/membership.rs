//! `= ANY`, `<> ALL` and their kin (scalararraysel: selfuncs.c).
//!
//! A row has one value at most, so that the rows selected by several values of `= ANY` are
//! disjoint: the fractions are added, unless their sum is more than all.

use super::{Comparison, Estimator, Operand, UNKNOWN, joins};
use crate::expr::{CallSyntax, Expr};
use crate::planner::cost::strip;
use crate::planner::rtes_of;
use std::borrow::Cow;
use steppe_catalog::builtin::Estimate;
use steppe_catalog::objects::Operator;
use steppe_types::Datum;

/// The number of elements of an unknown array.
const UNKNOWN_ELEMENTS: usize = 10;

/// The fractions that elements select, together.
struct Together {
    is_all: bool,
    /// Each value is searched, or excluded, by equality: their selected rows do not overlap.
    is_disjoint: bool,
    independent: f64,
    disjoint: f64,
}

impl Together {
    fn new(is_all: bool, estimate: Estimate) -> Together {
        let of_all = if is_all { 1.0 } else { 0.0 };
        let disjoint = if is_all { Estimate::NotEqual } else { Estimate::Equal };
        let is_disjoint = estimate == disjoint;
        Together { is_all, is_disjoint, independent: of_all, disjoint: of_all }
    }

    fn add(&mut self, selected: f64) {
        match self.is_all {
            true => {
                self.independent *= selected;
                self.disjoint += selected - 1.0;
            }
            false => {
                self.independent += selected - self.independent * selected;
                self.disjoint += selected;
            }
        }
    }

    fn selectivity(&self) -> f64 {
        match self.is_disjoint && (0.0..=1.0).contains(&self.disjoint) {
            true => self.disjoint,
            false => self.independent,
        }
    }
}

impl Estimator<'_> {
    /// Fraction of rows where the left side is in a relation to an element of the array, or to all.
    pub(super) fn any_or_all(
        &self,
        left: &Expr,
        array: &Expr,
        is_all: bool,
        syntax: &CallSyntax,
    ) -> f64 {
        let CallSyntax::Operator(op) = syntax else { return UNKNOWN };
        let (estimate, joined) = (op.estimate(), op.join_estimate());
        if let Some(of_column) = self.element_of_column(op, left, array, is_all) {
            return of_column;
        }
        let is_known = matches!(strip(array), Expr::Array { multidim: false, .. });
        let values = (!is_known).then(|| self.operand(array));
        let mut together = Together::new(is_all, estimate);
        match (strip(array), values) {
            (_, Some(Operand::Null)) => return 0.0,
            (_, Some(Operand::Value(value))) => {
                let Datum::Array(values) = &*value else { return UNKNOWN };
                let values = values.elements.iter().map(|value| match value {
                    Datum::Null => Operand::Null,
                    value => Operand::Value(Cow::Borrowed(value)),
                });
                self.add_values(&mut together, op, left, values);
            }
            (Expr::Array { elements, .. }, None) => {
                // A value that no row decides joins the tables on the left, if these are several.
                let is_one = !joins(left, &Expr::Const(Datum::Null, left.ty()));
                let is_value = |of: &&Expr| is_one && rtes_of(of).is_empty();
                let values = elements.iter().filter(is_value).map(|element| self.operand(element));
                self.add_values(&mut together, op, left, values);
                for element in elements.iter().filter(|of| !is_value(of)) {
                    together.add(self.comparison(estimate, joined, left, element));
                }
            }
            _ => {
                // The values are not known, nor that they differ.
                together.is_disjoint = false;
                let of_one = match joins(left, array) {
                    true => self.join_condition(joined, left, array),
                    false => self.by_value(estimate, left, Operand::Unknown),
                };
                (0..UNKNOWN_ELEMENTS).for_each(|_| together.add(of_one));
            }
        }
        together.selectivity()
    }

    /// Adds the fractions selected by values that no row decides. What is known of the left side is
    /// looked up once.
    fn add_values<'e>(
        &self,
        together: &mut Together,
        operator: &Operator,
        left: &Expr,
        values: impl Iterator<Item = Operand<'e>>,
    ) {
        if rtes_of(left).is_empty() {
            let selected = self.restriction(operator.estimate(), None);
            return values.for_each(|_| together.add(selected));
        }
        let (variable, value) = (self.variable(left), Operand::Unknown);
        if operator.estimate() == Estimate::Equal {
            let frequencies = self.frequencies(&variable);
            return values.for_each(|value| {
                together.add(match value {
                    Operand::Null => 0.0,
                    Operand::Value(value) => frequencies.of(&value),
                    Operand::Unknown => self.equals_unknown(&variable),
                });
            });
        }
        let mut sides = Comparison { variable, value, is_left: true };
        for value in values {
            sides.value = value;
            together.add(self.restriction(operator.estimate(), Some(&sides)));
        }
    }

    fn by_value(&self, estimate: Estimate, left: &Expr, value: Operand<'_>) -> f64 {
        let variable = || self.variable(left);
        let is_column = !rtes_of(left).is_empty();
        let sides = is_column.then(|| Comparison { variable: variable(), value, is_left: true });
        self.restriction(estimate, sides.as_ref())
    }
}
