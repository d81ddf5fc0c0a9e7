//! The choice between two ways to the same rows, above all when they cost nearly the same
//! (pathnode.c: compare_path_costs_fuzzily, add_path).
//!
//! An estimate is not right to a hundredth. Totals that differ by less than that are *about the
//! same* ([`FUZZ_FACTOR`]): something else decides between them, and only if that is the same, too,
//! the lower total does. All other times the lower total does at once.
//!
//! | of two | decides first if totals are about the same |
//! |---|---|
//! | paths of joins and plans with row locks ([`Cost::beats`]) | the sooner first row |
//! | scans of a table ([`scan_beats`]) | fewer conditions left to the filter |
//! | plans of a query ([`Finished::beats`]) | rows that come in an order, if the first one comes no later |
//!
//! A path that costs more may still be wanted, for its order. [`Cost::is_no_dearer`] decides when
//! it is not, and `path::Paths` keeps it otherwise. There nothing is about the same, since of two
//! paths that each think so of the other none would be left.

use crate::plan::*;
use std::cmp::Ordering;

/// Costs that differ by a smaller factor are about the same (STD_FUZZ_FACTOR).
const FUZZ_FACTOR: f64 = 1.01;
/// Costs that differ by a smaller factor are the same: rounded in another order.
const ROUNDING_FACTOR: f64 = 1.000_000_000_1;

/// The order of two costs, equal if they are about the same.
fn fuzzily(cost: f64, other: f64) -> Ordering {
    match cost.max(other) <= cost.min(other) * FUZZ_FACTOR {
        true => Ordering::Equal,
        false => cost.total_cmp(&other),
    }
}

/// Whether a cost is less than another by more than the tolerance of nearly equal costs.
pub(super) fn is_clearly_less(cost: f64, other: f64) -> bool {
    fuzzily(cost, other) == Ordering::Less
}

impl Cost {
    /// Whether a path is the better one of two for all rows. To start sooner by less than a
    /// hundredth of the total does not count, where PostgreSQL compares by a factor: a small table
    /// that is hashed first would weigh more than its saving.
    pub(super) fn beats(&self, other: &Cost) -> bool {
        match fuzzily(self.total, other.total) {
            Ordering::Equal => {}
            differ => return differ == Ordering::Less,
        }
        let about = (FUZZ_FACTOR - 1.0) * self.total.min(other.total);
        match self.startup - other.startup {
            later if later.abs() > about => later < 0.0,
            _ => self.total * ROUNDING_FACTOR < other.total,
        }
    }

    /// Whether a path costs at most as much as another, to its first row either if that counts.
    pub(super) fn is_no_dearer(&self, other: &Cost, first_row_counts: bool) -> bool {
        self.total <= other.total && (!first_row_counts || self.startup <= other.startup)
    }
}

/// Whether a scan is the better one of two, by their costs and by how many conditions their filters
/// have. One that leaves less to its filter reads no more if its estimate is wrong, as that of
/// a queue's rows is, which are all new when they are counted and mostly done later.
pub(super) fn scan_beats(
    (scan, filters): (&Cost, usize),
    (other, other_filters): (&Cost, usize),
) -> bool {
    match fuzzily(scan.total, other.total) {
        Ordering::Equal if filters != other_filters => filters < other_filters,
        _ => scan.total < other.total,
    }
}

/// A plan of a whole query.
pub(super) struct Finished {
    pub(super) plan: Plan,
    /// Its rows come in an order that costs nothing besides.
    in_order: bool,
}

impl Finished {
    /// `in_order`: its rows come in the order of groups, or of the rows that DISTINCT keeps. If
    /// these come from a sort of all rows, that is no reason to prefer it: of few rows in the
    /// estimate there may be many, and a hash table of groups does not grow with them.
    /// (PostgreSQL's order decides here, too.)
    pub(super) fn new(plan: Plan, in_order: bool) -> Finished {
        let in_order = in_order && !groups_by_sort(&plan);
        Finished { plan, in_order }
    }

    /// Whether it is the better one of two.
    pub(super) fn beats(&self, other: &Finished) -> bool {
        let (cost, other_cost) = (&self.plan.cost, &other.plan.cost);
        match (self.in_order, other.in_order) {
            (true, false) => !other.is_clearly_cheaper(self),
            (false, true) => self.is_clearly_cheaper(other),
            _ => cost.total < other_cost.total,
        }
    }

    /// Whether it costs less than one in order, by more than an order is worth: of the totals, or
    /// of the costs before the first row.
    fn is_clearly_cheaper(&self, ordered: &Finished) -> bool {
        let (cost, ordered) = (&self.plan.cost, &ordered.plan.cost);
        cost.total < ordered.total
            && (fuzzily(cost.total, ordered.total) == Ordering::Less
                || fuzzily(cost.startup, ordered.startup) == Ordering::Less)
    }
}

/// Whether groups, or the rows that DISTINCT keeps, come from a sort of all their rows.
fn groups_by_sort(plan: &Plan) -> bool {
    if let PlanNode::Agg { child, .. } | PlanNode::Unique { child, .. } = &plan.node {
        return matches!(child.node, PlanNode::Sort { .. });
    }
    let mut found = false;
    for_each_child(plan, &mut |child| found |= groups_by_sort(child));
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::planner::node;

    fn cost(startup: f64, total: f64) -> Cost {
        Cost { startup, total, rows: 1.0, width: 4 }
    }

    fn finished(startup: f64, total: f64, in_order: bool) -> Finished {
        let result = PlanNode::Result { one_time_filter: None, child: None };
        let names = Vec::new().into();
        Finished::new(node(result, Vec::new(), names, cost(startup, total)), in_order)
    }

    #[test]
    fn of_paths_that_cost_about_the_same_the_first_row_decides() {
        assert!(cost(0.0, 100.9).beats(&cost(50.0, 100.0)));
        assert!(!cost(0.0, 101.1).beats(&cost(50.0, 100.0)));
        assert!(cost(0.9, 100.0).beats(&cost(0.0, 100.5)));
        assert!(!cost(0.0, 100.0).beats(&cost(0.0, 100.0)));
    }

    #[test]
    fn of_scans_that_cost_about_the_same_the_filter_decides() {
        assert!(scan_beats((&cost(0.0, 100.9), 1), (&cost(0.0, 100.0), 2)));
        assert!(!scan_beats((&cost(0.0, 101.1), 1), (&cost(0.0, 100.0), 2)));
        assert!(scan_beats((&cost(0.0, 100.0), 2), (&cost(0.0, 100.5), 2)));
    }

    #[test]
    fn of_plans_that_cost_about_the_same_an_order_decides() {
        let hashed = finished(90.0, 100.0, false);
        assert!(finished(90.0, 100.9, true).beats(&hashed));
        assert!(!hashed.beats(&finished(90.0, 100.9, true)));
        assert!(!finished(90.0, 101.1, true).beats(&hashed));
        assert!(!finished(91.0, 100.5, true).beats(&hashed));
        assert!(hashed.beats(&finished(91.0, 100.5, true)));
        assert!(finished(95.0, 99.0, true).beats(&hashed));
    }
}
