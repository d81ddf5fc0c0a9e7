//! `<`, `<=`, `>` and `>=` with a value (scalarineqsel, ineq_histogram_selectivity: selfuncs.c).
//!
//! The most common values are in order, and are cut where the value is. The others are spread
//! evenly over the histogram's buckets. Binary search finds the bucket of the value, and the values
//! as numbers give the place in the bucket. A histogram's first and last bound are from the last
//! ANALYZE; where an index has the present ones, those count.

use super::scalar::{order, place};
use super::variable::{CommonValues, Variable};
use super::{Comparison, DEFAULT_INEQUALITY, Estimator, Operand};
use std::cmp::Ordering;
use steppe_catalog::RelKind;
use steppe_types::Datum;

/// A histogram is distrusted where less than this share of a bucket is left.
const CUTOFF: f64 = 0.01;

/// The values that a comparison selects.
#[derive(Clone, Copy)]
pub(super) struct Side {
    /// It selects the values below the bound.
    pub(super) is_less: bool,
    /// It selects the bound, too.
    pub(super) or_equal: bool,
}

impl Side {
    /// Whether the selected values, or the others, are the ones below the bound without the bound
    /// itself.
    fn is_without_equal(self) -> bool {
        self.is_less != self.or_equal
    }
}

impl Estimator<'_> {
    /// Fraction of rows where a column is on one side of a value. `is_less`: as it is written.
    pub(super) fn inequality(
        &self,
        sides: Option<&Comparison<'_, '_>>,
        is_less: bool,
        or_equal: bool,
    ) -> f64 {
        let Some(Comparison { variable, value, is_left }) = sides else {
            return DEFAULT_INEQUALITY;
        };
        match value {
            Operand::Null => 0.0,
            Operand::Unknown => DEFAULT_INEQUALITY,
            Operand::Value(value) => {
                let side = Side { is_less: is_less == *is_left, or_equal };
                self.is_on_side(variable, value, side)
            }
        }
    }

    pub(super) fn is_on_side(&self, variable: &Variable<'_>, value: &Datum, side: Side) -> f64 {
        let Some(found) = variable.statistics else { return DEFAULT_INEQUALITY };
        let common = CommonValues::of(variable);
        let selected = common.look_up(value).map_or(0.0, |(equal, below)| {
            let with_equal = if side.or_equal { equal } else { 0.0 };
            match side.is_less {
                true => below + with_equal,
                false => common.total() - below - equal + with_equal,
            }
        });
        let common = common.total();
        let others = 1.0 - found.null_fraction - common;
        // Without a histogram there are hardly any others.
        let share = self.histogram_share(variable, value, side).unwrap_or(0.5);
        (others * share + selected).clamp(0.0, 1.0)
    }

    /// The fraction of rows with a common value that is selected, and with any common value
    /// (mcv_selectivity).
    pub(super) fn common_values(
        &self,
        variable: &Variable<'_>,
        is_selected: impl Fn(&Datum) -> bool,
    ) -> (f64, f64) {
        let all = variable.statistics.iter().flat_map(|found| &found.most_common);
        all.fold((0.0, 0.0), |(selected, common), (value, frequency)| {
            let more = if is_selected(value) { *frequency } else { 0.0 };
            (selected + more, common + frequency)
        })
    }

    /// The share of the histogram on a side of a value.
    pub(super) fn histogram_share(
        &self,
        variable: &Variable<'_>,
        value: &Datum,
        side: Side,
    ) -> Option<f64> {
        let mut bounds = Bounds::of(variable)?;
        // Comparable with one, comparable with all.
        order(variable.type_oid, bounds.recorded.first()?, value)?;
        let (at, is_end_known) = bounds.search(self, variable, value, side);
        let buckets = (bounds.recorded.len() - 1) as f64;
        let below = match at {
            0 => 0.0,
            at if at >= bounds.recorded.len() => 1.0,
            at => self.share_below(variable, value, side, (&bounds, at)),
        };
        let share = if side.is_less { below } else { 1.0 - below };
        Some(match is_end_known {
            true => share.clamp(0.0, 1.0),
            false => share.clamp(CUTOFF / buckets, 1.0 - CUTOFF / buckets),
        })
    }

    /// The share below a value between the bounds `at - 1` and `at`.
    fn share_below(
        &self,
        variable: &Variable<'_>,
        value: &Datum,
        side: Side,
        (bounds, at): (&Bounds<'_>, usize),
    ) -> f64 {
        let in_bucket = place(value, bounds.get(at - 1), bounds.get(at)).unwrap_or(0.5);
        // The found share is of `<=`, except in the first bucket, which has its lower bound as
        // well.
        let without_equal = side.is_without_equal();
        let of_one = match at == 1 || without_equal {
            true => self.share_of_one(variable),
            false => 0.0,
        };
        let mut below = (at as f64 - 1.0 + in_bucket) / (bounds.recorded.len() - 1) as f64;
        if at == 1 {
            below += of_one * (1.0 - in_bucket);
        }
        if without_equal {
            below -= of_one;
        }
        below
    }

    /// The share of one value among those in the histogram.
    fn share_of_one(&self, variable: &Variable<'_>) -> f64 {
        let common = variable.statistics.map_or(0, |found| found.most_common.len());
        let others = self.distinct_values(variable).0 - common as f64;
        if others > 1.0 { 1.0 / others } else { 0.0 }
    }

    /// The first or the last value that is there now, by an index (get_actual_variable_range).
    fn actual_end(&self, variable: &Variable<'_>, is_last: bool) -> Option<Datum> {
        let (relation, column) = variable.column.filter(|(r, _)| r.kind == RelKind::Table)?;
        let entry = self.rtes.get(variable.rte?)?;
        if entry.inherit && self.ctx.catalog.children(relation.oid).next().is_some() {
            return None;
        }
        let begins_with = |info: &steppe_catalog::IndexInfo| {
            let first = info.keys.first().filter(|_| info.predicate.is_none())?;
            (i32::from(first.attnum) == column + 1).then_some(first.descending)
        };
        self.ctx.catalog.indexes_of(relation).find_map(|index| {
            let is_descending = begins_with(index.index.as_ref()?)?;
            self.ctx.sizes.end(index, is_last != is_descending)
        })
    }
}

/// A histogram's bounds, the first and the last as they are now where that is known.
struct Bounds<'a> {
    recorded: &'a [Datum],
    first: Option<Datum>,
    last: Option<Datum>,
}

impl<'a> Bounds<'a> {
    fn of(variable: &Variable<'a>) -> Option<Bounds<'a>> {
        let recorded = &variable.statistics?.histogram[..];
        (recorded.len() >= 2).then_some(Bounds { recorded, first: None, last: None })
    }

    fn get(&self, at: usize) -> &Datum {
        let end = match at {
            0 => self.first.as_ref(),
            at if at + 1 == self.recorded.len() => self.last.as_ref(),
            _ => None,
        };
        end.unwrap_or(&self.recorded[at])
    }

    /// The number of bounds below a value, and whether the end that is next to it is the present
    /// one.
    fn search(
        &mut self,
        estimator: &Estimator<'_>,
        variable: &Variable<'_>,
        value: &Datum,
        side: Side,
    ) -> (usize, bool) {
        let (count, mut is_end_known) = (self.recorded.len(), false);
        if count == 2 {
            self.first = estimator.actual_end(variable, false);
            self.last = estimator.actual_end(variable, true);
            is_end_known = self.first.is_some() && self.last.is_some();
        }
        let (mut from, mut to) = (0, count);
        while from < to {
            let probe = (from + to) / 2;
            if probe == 0 && count > 2 {
                self.first = estimator.actual_end(variable, false);
                is_end_known = self.first.is_some();
            } else if probe + 1 == count && count > 2 {
                self.last = estimator.actual_end(variable, true);
                is_end_known = self.last.is_some();
            }
            let is_below = match order(variable.type_oid, self.get(probe), value) {
                Some(Ordering::Less) => true,
                Some(Ordering::Equal) => !side.is_without_equal(),
                _ => false,
            };
            match is_below {
                true => from = probe + 1,
                false => to = probe,
            }
        }
        (from, is_end_known)
    }
}
