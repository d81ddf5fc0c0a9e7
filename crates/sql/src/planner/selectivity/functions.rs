//! The number of rows that a function in FROM or in a select list yields
//! (generate_series_int4_support and its kin, array_unnest_support).

use super::{Estimator, Operand};
use crate::expr::Expr;
use crate::planner::cost::strip;
use crate::planner::scan::clamp_rows;
use steppe_catalog::Function;
use steppe_types::Datum;

/// The number of elements of an unknown array.
const UNKNOWN_ELEMENTS: f64 = 10.0;
const USECS_PER_DAY: f64 = 86_400_000_000.0;
const DAYS_PER_MONTH: f64 = 30.0;

impl Estimator<'_> {
    /// Rows that a call in FROM yields.
    pub(crate) fn function_rows(&self, call: &Expr) -> f64 {
        let Expr::Func { func, args, .. } = call else { return 1.0 };
        if !func.retset {
            return 1.0;
        }
        clamp_rows(self.known_rows(func, args).unwrap_or_else(|| f64::from(func.rows)))
    }

    /// Rows that the calls of set-returning functions in an expression make of one: those of the
    /// call with most (expression_returns_set_rows, of all that are in step).
    pub(crate) fn set_rows(&self, expr: &Expr) -> f64 {
        let children = expr.children();
        let below = children.into_iter().map(|child| self.set_rows(child));
        below.fold(self.function_rows(expr), f64::max)
    }

    fn known_rows(&self, function: &Function, args: &[Expr]) -> Option<f64> {
        match (function.built_in_name(), args) {
            (Some("generate_series"), _) => self.series_rows(args),
            (Some("unnest"), [array]) => Some(self.array_length(array)),
            _ => None,
        }
    }

    /// The number of numbers or points in time in a series.
    fn series_rows(&self, args: &[Expr]) -> Option<f64> {
        let mut numbers = Vec::with_capacity(3);
        for arg in args.iter().take(3) {
            match self.operand(arg) {
                Operand::Null => return Some(0.0),
                Operand::Value(value) => numbers.push(measure(&value)?),
                Operand::Unknown => return None,
            }
        }
        let (first, last, step) = match numbers[..] {
            [first, last] => (first, last, 1.0),
            [first, last, step] => (first, last, step),
            _ => return None,
        };
        let rows = ((last - first) / step).floor() + 1.0;
        (step != 0.0 && rows.is_finite()).then(|| rows.max(0.0))
    }

    /// The number of elements of an array (estimate_array_length).
    fn array_length(&self, array: &Expr) -> f64 {
        match (strip(array), self.operand(array)) {
            (Expr::Array { elements, multidim: false, .. }, _) => elements.len() as f64,
            (_, Operand::Value(value)) => match &*value {
                Datum::Array(array) => array.elements.len() as f64,
                _ => UNKNOWN_ELEMENTS,
            },
            (_, Operand::Null) => 0.0,
            (Expr::Var { .. }, Operand::Unknown) => {
                let elements = self.variable(array).statistics.and_then(|s| s.elements.as_deref());
                elements.map_or(UNKNOWN_ELEMENTS, |found| found.average_count)
            }
            _ => UNKNOWN_ELEMENTS,
        }
    }
}

/// The step of a series, as a number.
fn measure(value: &Datum) -> Option<f64> {
    Some(match value {
        Datum::Int4(value) => f64::from(*value),
        Datum::Int8(value) => *value as f64,
        Datum::Numeric(value) => value.to_f64().ok()?,
        Datum::Timestamp(micros) | Datum::TimestampTz(micros) => *micros as f64,
        Datum::Interval(interval) => {
            let days = f64::from(interval.months) * DAYS_PER_MONTH + f64::from(interval.days);
            interval.micros as f64 + days * USECS_PER_DAY
        }
        _ => return None,
    })
}
