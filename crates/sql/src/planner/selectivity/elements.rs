//! `@>`, `<@` and `&&` of arrays, and `= ANY` of a column of arrays (array_selfuncs.c).
//!
//! Elements are taken to be independent of each other. With statistics of a column's elements each
//! common one has its own frequency, others less than half of the least.

use super::scalar::order;
use super::{Estimator, Operand, joins};
use crate::expr::Expr;
use crate::planner::rtes_of;
use std::cmp::Ordering;
use steppe_catalog::ElementStatistics;
use steppe_catalog::builtin::Estimate;
use steppe_catalog::objects::Operator;
use steppe_types::{Datum, Oid};

/// Defaults without statistics.
const DEFAULT_CONTAINS: f64 = 0.005;
const DEFAULT_OVERLAP: f64 = 0.01;

/// The relation between a column's array and a given array.
#[derive(Clone, Copy, PartialEq)]
enum Question {
    Contains,
    Overlaps,
    IsContained,
}

impl Estimator<'_> {
    /// Fraction of rows where a column of arrays is in a relation to an array.
    pub(super) fn element_condition(&self, op: &Operator, left: &Expr, right: &Expr) -> f64 {
        let name = op.built_in_name().unwrap_or_default();
        let unknown = if name == "&&" { DEFAULT_OVERLAP } else { DEFAULT_CONTAINS };
        if joins(left, right) {
            return unknown;
        }
        let Some(sides) = self.sides(left, right) else { return unknown };
        let question = match (name, sides.is_left) {
            ("&&", _) => Question::Overlaps,
            ("@>", true) | ("<@", false) => Question::Contains,
            _ => Question::IsContained,
        };
        let array = match &sides.value {
            Operand::Null => return 0.0,
            Operand::Unknown => return unknown,
            Operand::Value(value) => value,
        };
        let Datum::Array(array) = &**array else { return unknown };
        let found = sides.variable.statistics;
        let elements = found.and_then(|found| found.elements.as_deref());
        let share = share(question, elements, array.element_type, &array.elements);
        share * (1.0 - sides.variable.null_fraction())
    }

    /// `value = ANY (column)` and `value <> ALL (column)`. `None` for any other condition
    /// (scalararraysel_containment).
    pub(super) fn element_of_column(
        &self,
        op: &Operator,
        left: &Expr,
        array: &Expr,
        is_all: bool,
    ) -> Option<f64> {
        let is_one = match op.estimate() {
            Estimate::Equal => true,
            Estimate::NotEqual => false,
            _ => return None,
        };
        if rtes_of(array).is_empty() || !rtes_of(left).is_empty() {
            return None;
        }
        let variable = self.variable(array);
        let value = match self.operand(left) {
            Operand::Null => return Some(0.0),
            Operand::Unknown => return None,
            Operand::Value(value) => value,
        };
        let elements = variable.statistics.and_then(|found| found.elements.as_deref());
        // `x <> ALL (a)` is not `x = ANY (a)`; `x = ALL (a)` means that `a` has no other.
        let question = if is_all == is_one { Question::IsContained } else { Question::Contains };
        let share = share(question, elements, left.ty().oid, &[value.into_owned()]);
        let share = share * (1.0 - variable.null_fraction());
        Some(if is_one { share } else { 1.0 - share })
    }
}

/// The fraction of arrays that are in a relation to an array with these elements.
fn share(
    question: Question,
    found: Option<&ElementStatistics>,
    type_oid: Oid,
    elements: &[Datum],
) -> f64 {
    let has_null = elements.iter().any(Datum::is_null);
    let mut wanted: Vec<&Datum> = elements.iter().filter(|e| !e.is_null()).collect();
    let compare = |a: &Datum, b: &Datum| order(type_oid, a, b).unwrap_or(Ordering::Less);
    wanted.sort_by(|a, b| compare(a, b));
    wanted.dedup_by(|a, b| compare(a, b).is_eq());
    match question {
        // An array with a NULL element is contained in no array.
        Question::Contains if has_null => 0.0,
        Question::Contains => {
            wanted.into_iter().map(|e| frequency(found, type_oid, e)).product::<f64>()
        }
        Question::Overlaps => {
            let missed = wanted.into_iter().map(|e| 1.0 - frequency(found, type_oid, e));
            1.0 - missed.product::<f64>()
        }
        Question::IsContained => found
            .and_then(|found| contained_share(found, type_oid, &wanted))
            .unwrap_or(DEFAULT_CONTAINS),
    }
}

/// The fraction of arrays that an element is in.
fn frequency(found: Option<&ElementStatistics>, type_oid: Oid, element: &Datum) -> f64 {
    let Some(found) = found.filter(|found| !found.most_common.is_empty()) else {
        return DEFAULT_CONTAINS;
    };
    let compare =
        |known: &(Datum, f64)| order(type_oid, &known.0, element).unwrap_or(Ordering::Less);
    match found.most_common.binary_search_by(compare) {
        Ok(at) => found.most_common[at].1,
        Err(_) => DEFAULT_CONTAINS.min(found.min_frequency / 2.0),
    }
}

/// The factor that limits the number of elements used (EFFORT in array_selfuncs.c).
const EFFORT: f64 = 100.0;

/// The fraction of arrays that have no other elements than these (mcelem_array_contained_selec).
/// For each number of elements, it has the fraction of arrays with that number, and the probability
/// that all of them are among these.
fn contained_share(found: &ElementStatistics, type_oid: Oid, wanted: &[&Datum]) -> Option<f64> {
    let is_known = !found.most_common.is_empty() && found.counts.len() >= 2;
    let compare = |a: &Datum, b: &Datum| order(type_oid, a, b).unwrap_or(Ordering::Less);
    let found = Some(found).filter(|_| is_known)?;
    // The expected number of elements that are not common, and the probability that no unwanted
    // common one is there.
    let (mut rest, mut without) = (found.average_count, 1.0);
    for (element, frequency) in &found.most_common {
        rest -= frequency;
        if wanted.binary_search_by(|e| compare(e, element)).is_err() {
            without *= 1.0 - frequency;
        }
    }
    without *= (-rest).exp();
    let mut frequencies: Vec<f64> =
        wanted.iter().map(|e| frequency(Some(found), type_oid, e)).collect();
    let common: Vec<f64> = found.most_common.iter().map(|(_, frequency)| *frequency).collect();
    let count = common.len() as f64;
    let most = ((count * count + 4.0 * EFFORT * count).sqrt() - count) / 2.0;
    if frequencies.len() > most as usize {
        frequencies.sort_by(|a, b| b.total_cmp(a));
        frequencies.truncate(most as usize);
    }
    let most = frequencies.len();
    let of_wanted = distribution(&frequencies, most, 0.0);
    let of_common = distribution(&common, most, rest);
    let of_counts = count_shares(&found.counts, most);
    let share = |at: usize| match of_common[at] > 0.0 {
        true => of_counts[at] * without * of_wanted[at] / of_common[at],
        false => 0.0,
    };
    let all: f64 = (0..=most).map(share).sum();
    Some((all * (1.0 - found.null_frequency)).clamp(0.0, 1.0))
}

/// The probabilities that 0, 1, … `most` of independent events happen, among them rare ones that
/// happen `rest` times on average (calc_distr).
fn distribution(events: &[f64], most: usize, rest: f64) -> Vec<f64> {
    let mut row = vec![0.0; most + 1];
    row[0] = 1.0;
    for event in events {
        for happened in (0..=most).rev() {
            let before = if happened > 0 { row[happened - 1] * event } else { 0.0 };
            row[happened] = row[happened] * (1.0 - event) + before;
        }
    }
    if rest <= DEFAULT_CONTAINS {
        return row;
    }
    let (mut all, mut rare) = (vec![0.0; most + 1], (-rest).exp());
    for happened in 0..=most {
        for (at, of_common) in row[..=most - happened].iter().enumerate() {
            all[at + happened] += of_common * rare;
        }
        rare *= rest / (happened + 1) as f64;
    }
    all
}

/// The shares of arrays with 0, 1, … `most` different elements, by a histogram (calc_hist).
fn count_shares(histogram: &[f64], most: usize) -> Vec<f64> {
    let bucket = 1.0 / (histogram.len() - 1) as f64;
    let (mut at, mut before) = (0, 0.0);
    let part = |length: f64| if length > 0.0 { 0.5 / length } else { 0.0 };
    let share = |count: usize| {
        let reached = histogram[at..].iter().take_while(|bound| **bound <= count as f64).count();
        at += reached;
        if reached == 0 {
            return if before > 0.0 { bucket / before } else { 0.0 };
        }
        let after = histogram.get(at).map_or(0.0, |next| next - histogram[at - 1]);
        let share = bucket * ((reached - 1) as f64 + part(after) + part(before));
        before = after;
        share
    };
    (0..=most).map(share).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_of_counts() {
        // Half of the arrays have one element, the others up to three.
        assert_eq!(count_shares(&[1.0, 1.0, 3.0], 3), [0.0, 0.625, 0.25, 0.125]);
    }

    #[test]
    fn distributions() {
        assert_eq!(distribution(&[0.5, 0.5], 2, 0.0), [0.25, 0.5, 0.25]);
        let with_rare = distribution(&[], 1, 1.0);
        assert!((with_rare[0] - with_rare[1]).abs() < 1e-12);
    }
}
