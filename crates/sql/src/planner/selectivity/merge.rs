//! The parts of its sides that a merge join reads (mergejoinscansel in selfuncs.c).
//!
//! A merge ends where one of its sides does, and passes over the rows before the other's first one.
//! Histograms and most common values determine where the sides begin and end.

use super::Estimator;
use super::inequality::Side;
use super::scalar::order;
use super::variable::Variable;
use crate::expr::Expr;
use std::cmp::Ordering;
use steppe_types::Datum;

/// The most common values are all values if at least this share of the rows has one or is NULL.
const NEARLY_ALL: f64 = 0.99999;
const ALL: (f64, f64) = (0.0, 1.0);

impl Estimator<'_> {
    /// The part of each side's rows that a merge of them reads: from where to where.
    pub(in crate::planner) fn parts_merged(&self, left: &Expr, right: &Expr) -> [(f64, f64); 2] {
        let (left, right) = (self.variable(left), self.variable(right));
        let (Some(of_left), Some(of_right)) = (ends(&left), ends(&right)) else { return [ALL; 2] };
        let up_to = Side { is_less: true, or_equal: true };
        let below = Side { is_less: true, or_equal: false };
        let (mut left_end, mut right_end) =
            (self.is_on_side(&left, of_right.1, up_to), self.is_on_side(&right, of_left.1, up_to));
        // One of them only is read to its end, and one of them only does not begin at once.
        match left_end.total_cmp(&right_end) {
            Ordering::Less => right_end = 1.0,
            Ordering::Greater => left_end = 1.0,
            Ordering::Equal => (left_end, right_end) = (1.0, 1.0),
        }
        let (mut left_start, mut right_start) =
            (self.is_on_side(&left, of_right.0, below), self.is_on_side(&right, of_left.0, below));
        match left_start.total_cmp(&right_start) {
            Ordering::Less => left_start = 0.0,
            Ordering::Greater => right_start = 0.0,
            Ordering::Equal => (left_start, right_start) = (0.0, 0.0),
        }
        let part = |start: f64, end: f64| if start < end { (start, end) } else { ALL };
        [part(left_start, left_end), part(right_start, right_end)]
    }
}

/// The least and the greatest value, as far as it is known (get_variable_range).
fn ends<'a>(variable: &Variable<'a>) -> Option<(&'a Datum, &'a Datum)> {
    let found = variable.statistics?;
    let mut ends = found.histogram.first().zip(found.histogram.last());
    let common = found.most_common.iter().map(|(_, frequency)| frequency).sum::<f64>();
    if ends.is_none() && common + found.null_fraction < NEARLY_ALL {
        return None;
    }
    for (value, _) in found.most_common.iter() {
        let (least, greatest) = ends.unwrap_or((value, value));
        let is_less = order(variable.type_oid, value, least)?.is_lt();
        let is_greater = order(variable.type_oid, value, greatest)?.is_gt();
        ends =
            Some((if is_less { value } else { least }, if is_greater { value } else { greatest }));
    }
    ends
}
