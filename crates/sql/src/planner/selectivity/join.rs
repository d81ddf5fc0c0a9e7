//! Conditions over two tables, and how many rows a join has (eqjoinsel and its kin in selfuncs.c,
//! calc_joinrel_size_estimate in costsize.c).
//!
//! The most common values of the two sides are matched with each other: the share of matches is
//! known. The other values are taken to be spread over the values that are left. A semi join counts
//! only which rows of the outer side have a partner: all, if the inner side has at least as many
//! values as the outer one, else the ratio of the two numbers of values.

use super::scalar::order;
use super::variable::Variable;
use super::{DEFAULT_INEQUALITY, Estimator, UNKNOWN};
use crate::expr::Expr;
use crate::planner::{RteSet, rtes_of};
use crate::query::JoinKind;
use std::cmp::Ordering;
use steppe_catalog::builtin::Estimate;
use steppe_types::{Datum, Oid};

/// The default selectivity of a pattern.
const DEFAULT_MATCH: f64 = 0.005;

/// The two sides of a join.
#[derive(Clone, Copy)]
pub(crate) struct JoinSides<'a> {
    pub(crate) kind: JoinKind,
    pub(crate) outer_rows: f64,
    pub(crate) inner_rows: f64,
    /// The entries of the inner side.
    pub(crate) inner: &'a RteSet,
}

/// A side of an equality, and its number of values.
struct Side<'a> {
    variable: Variable<'a>,
    distinct: f64,
    is_guess: bool,
    /// A leaf has but some of the values, and these more often.
    is_parted: bool,
}

impl<'a> Side<'a> {
    fn common(&self) -> &'a [(Datum, f64)] {
        let found = self.variable.statistics.filter(|_| !self.is_parted);
        found.map_or(&[], |found| &found.most_common)
    }

    /// The fraction of rows with a value that is not common.
    fn others(&self) -> f64 {
        let common: f64 = self.common().iter().map(|(_, frequency)| frequency).sum();
        (1.0 - self.variable.null_fraction() - common).clamp(0.0, 1.0)
    }
}

impl<'a> Estimator<'a> {
    /// The number of rows of a join under conditions.
    pub(crate) fn join_rows(&self, sides: JoinSides<'a>, on: &[Expr]) -> f64 {
        let (outer, inner) = (sides.outer_rows, sides.inner_rows);
        let is_semi = matches!(sides.kind, JoinKind::Semi | JoinKind::Anti);
        let join = if is_semi { Some(sides) } else { None };
        let selected = Estimator { join, ..*self }.conjunction(on);
        match sides.kind {
            JoinKind::Inner => outer * inner * selected,
            JoinKind::Left => (outer * inner * selected).max(outer),
            JoinKind::Right => (outer * inner * selected).max(inner),
            JoinKind::Full => (outer * inner * selected).max(outer).max(inner),
            JoinKind::Semi | JoinKind::RightSemi => outer * selected,
            JoinKind::Anti | JoinKind::RightAnti => outer * (1.0 - selected),
        }
    }

    /// Fraction of pairs of rows that a condition over both selects; in a semi join, of the outer
    /// rows.
    pub(super) fn join_condition(&self, estimate: Estimate, left: &Expr, right: &Expr) -> f64 {
        match estimate {
            Estimate::Equal => self.join_equality(left, right),
            Estimate::NotEqual => self.join_inequality(left, right),
            Estimate::Match { negated: false, .. } => DEFAULT_MATCH,
            Estimate::Match { negated: true, .. } => 1.0 - DEFAULT_MATCH,
            Estimate::Less | Estimate::LessEqual | Estimate::Greater | Estimate::GreaterEqual => {
                DEFAULT_INEQUALITY
            }
            Estimate::Fixed(selectivity) => selectivity,
            Estimate::Elements | Estimate::None => UNKNOWN,
        }
    }

    fn join_equality(&self, left: &Expr, right: &Expr) -> f64 {
        let (left_side, right_side) = (self.side(left), self.side(right));
        let of_pairs = pairs(&left_side, &right_side);
        let Some(join) = &self.join else { return of_pairs };
        let (outer, inner) = match rtes_of(left).is_subset(join.inner) {
            true => (right_side, left_side),
            false => (left_side, right_side),
        };
        self.partners(&outer, &inner, join.inner_rows).min(join.inner_rows * of_pairs)
    }

    fn join_inequality(&self, left: &Expr, right: &Expr) -> f64 {
        match &self.join {
            None => 1.0 - pairs(&self.side(left), &self.side(right)),
            // A row finds a partner unless all inner rows have its value.
            Some(join) => {
                let outer = if rtes_of(left).is_subset(join.inner) { right } else { left };
                1.0 - self.variable(outer).null_fraction()
            }
        }
    }

    fn side(&self, expr: &Expr) -> Side<'a> {
        let variable = self.variable(expr);
        let (distinct, is_guess) = self.distinct_values(&variable);
        let is_parted = self.parted_by(&variable) > 1.0;
        Side { variable, distinct, is_guess, is_parted }
    }

    /// Fraction of the outer rows that have a partner (eqjoinsel_semi).
    fn partners(&self, outer: &Side<'_>, inner: &Side<'_>, inner_rows: f64) -> f64 {
        let base = inner.variable.rte.and_then(|rte| self.bases?.get(&rte)).map(|base| base.rows);
        let (mut distinct, mut is_guess) = (inner.distinct, inner.is_guess);
        for rows in base.into_iter().chain([inner_rows]) {
            if distinct >= rows {
                (distinct, is_guess) = (rows, false);
            }
        }
        let (mine, theirs) = (outer.common(), inner.common());
        let found = match mine.is_empty() || theirs.is_empty() {
            true => Matches::default(),
            false => {
                let kept = theirs.len().min(distinct as usize);
                Matches::of(outer.variable.type_oid, mine, &theirs[..kept])
            }
        };
        let matches = found.count as f64;
        let share = match outer.is_guess || is_guess {
            true => 0.5,
            false => match (outer.distinct - matches, distinct - matches) {
                (mine, theirs) if mine <= theirs || theirs < 0.0 => 1.0,
                (mine, theirs) => theirs / mine,
            },
        };
        let uncertain = 1.0 - found.of_left - outer.variable.null_fraction();
        found.of_left + share * uncertain.clamp(0.0, 1.0)
    }
}

/// Fraction of pairs of rows with equal values (eqjoinsel_inner).
fn pairs(left: &Side<'_>, right: &Side<'_>) -> f64 {
    let (mine, theirs) = (left.common(), right.common());
    if mine.is_empty() || theirs.is_empty() {
        let values = (1.0 - left.variable.null_fraction()) * (1.0 - right.variable.null_fraction());
        return values / left.distinct.max(right.distinct).max(1.0);
    }
    let found = Matches::of(left.variable.type_oid, mine, theirs);
    let sum = |common: &[(Datum, f64)]| common.iter().map(|(_, f)| f).sum::<f64>();
    let unmatched_left = (sum(mine) - found.of_left).clamp(0.0, 1.0);
    let unmatched_right = (sum(theirs) - found.of_right).clamp(0.0, 1.0);
    // The smaller estimate of the two sides.
    let seen_from = |unmatched: f64, own: &Side<'_>, other: &Side<'_>, other_unmatched: f64| {
        let mut all = found.of_both;
        let beyond_common = other.distinct - other.common().len() as f64;
        if beyond_common > 0.0 {
            all += unmatched * other.others() / beyond_common;
        }
        let beyond_matched = other.distinct - found.count as f64;
        if beyond_matched > 0.0 {
            all += own.others() * (other.others() + other_unmatched) / beyond_matched;
        }
        all
    };
    let from_left = seen_from(unmatched_left, left, right, unmatched_right);
    let from_right = seen_from(unmatched_right, right, left, unmatched_left);
    from_left.min(from_right).clamp(0.0, 1.0)
}

/// The common part of two lists of common values.
#[derive(Debug, Default)]
struct Matches {
    count: usize,
    of_left: f64,
    of_right: f64,
    /// The sum of the products of their frequencies.
    of_both: f64,
}

impl Matches {
    fn of(type_oid: Oid, left: &[(Datum, f64)], right: &[(Datum, f64)]) -> Matches {
        let compare = |a: &Datum, b: &Datum| order(type_oid, a, b).unwrap_or(Ordering::Less);
        let mut sorted: Vec<&(Datum, f64)> = right.iter().collect();
        sorted.sort_by(|a, b| compare(&a.0, &b.0));
        let mut found = Matches::default();
        for (value, frequency) in left {
            if let Ok(at) = sorted.binary_search_by(|known| compare(&known.0, value)) {
                let other = sorted[at].1;
                found.count += 1;
                found.of_left += frequency;
                found.of_right += other;
                found.of_both += frequency * other;
            }
        }
        found
    }
}
