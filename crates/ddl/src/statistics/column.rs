//! Statistics of one column from a sample of its values (analyze.c: `compute_scalar_stats`,
//! `compute_distinct_stats`, `compute_trivial_stats`).
//!
//! Values of types with an ordering are sorted, and runs of equal values are counted. The longest
//! runs are the most common values, and the other values give the histogram. A column of a type
//! that has only `=` gets its most common values, but no histogram. A column of any other type gets
//! only the fraction of NULLs and the average width.
//!
//! The number of distinct values is estimated by Haas and Stokes' Duj1 (IBM Research Report RJ
//! 10025, 1998). Values wider than [`WIDTH_MAX`] are taken to be different from each other, and
//! are not kept.

use super::elements::element_statistics;
use std::cmp::Reverse;
use std::sync::Arc;
use steppe_catalog::{ColumnStatistics, builtin};
use steppe_functions::type_info::{size_in_memory, size_in_row};
use steppe_types::{Datum, Oid, Result, compare};

/// Values that take more bytes are not kept (WIDTH_THRESHOLD).
const WIDTH_MAX: usize = 1024;
/// From this fraction of the rows on, the number of distinct values is taken to grow with them.
const GROWING: f64 = 0.1;
/// How many values are tracked at least for a type without ordering.
const TRACKED_MIN: usize = 10;

/// The statistics that a column gets.
#[derive(Clone, Copy)]
pub(super) struct Wanted {
    pub(super) type_oid: Oid,
    /// How many values are kept in each list.
    pub(super) target: usize,
    /// The number of distinct values as ALTER COLUMN … SET (n_distinct = …) has it.
    pub(super) distinct: Option<f64>,
    /// Its values are an expression's: they are as wide as out of a row.
    pub(super) computed: bool,
}

/// The sampled values of a column, without NULLs and without what is too wide.
struct Counted<'v> {
    /// Sampled rows, and rows of the table.
    sampled: f64,
    rows: f64,
    nulls: usize,
    too_wide: usize,
    width: u32,
    values: Vec<&'v Datum>,
}

/// Distinct values among the sampled ones.
struct Distinct {
    /// How many there are.
    all: usize,
    /// How many of them came more than once.
    repeated: usize,
    /// There may be more, that were not tracked.
    more: bool,
}

/// Statistics of a column with these values in the sampled rows, for a table with this number of
/// rows. `None` if no rows were sampled.
pub(super) fn column_statistics(
    wanted: Wanted,
    sampled: &[&Datum],
    rows: f64,
) -> Result<ColumnStatistics> {
    if sampled.is_empty() {
        return Ok(ColumnStatistics::default());
    }
    let counted = Counted::of(wanted, sampled, rows)?;
    let mut found = ColumnStatistics {
        null_fraction: counted.null_fraction(),
        width: counted.width,
        ..ColumnStatistics::default()
    };
    if has_ordering(wanted.type_oid) {
        scalar(wanted, &counted, &mut found);
        let elements = element_statistics(wanted.type_oid, wanted.target, sampled)?;
        found.elements = elements.map(Arc::new);
    } else if has_equality(wanted.type_oid) {
        distinct(wanted, &counted, &mut found);
    }
    if let Some(told) = wanted.distinct {
        found.distinct = single(told);
    }
    Ok(found)
}

/// A number in PostgreSQL's precision.
pub(super) fn single(number: f64) -> f64 {
    f64::from(number as f32)
}

/// Whether a type's values have an order: an array's if its elements have one.
pub(super) fn has_ordering(type_oid: Oid) -> bool {
    builtin::ordering(type_oid).is_some()
        && builtin::ty(type_oid).is_none_or(|ty| !ty.is_true_array() || has_ordering(ty.element))
}

fn has_equality(type_oid: Oid) -> bool {
    if let Some(array) = builtin::ty(type_oid).filter(|ty| ty.is_true_array()) {
        return has_equality(array.element);
    }
    builtin::operator_of("=", type_oid, type_oid).is_some()
}

impl<'v> Counted<'v> {
    fn of(wanted: Wanted, sampled: &[&'v Datum], rows: f64) -> Result<Counted<'v>> {
        let type_oid = wanted.type_oid;
        let fixed = builtin::ty(type_oid).and_then(|ty| u32::try_from(ty.len).ok());
        let mut values = Vec::with_capacity(sampled.len());
        let (mut nulls, mut too_wide, mut bytes) = (0, 0, 0);
        for value in sampled {
            if value.is_null() {
                nulls += 1;
                continue;
            }
            if fixed.is_none() {
                let size = size_in_memory(value, type_oid)?;
                bytes += if wanted.computed { size } else { size_in_row(value, type_oid)? };
                if size > WIDTH_MAX {
                    too_wide += 1;
                    continue;
                }
            }
            values.push(*value);
        }
        let average = bytes / (sampled.len() - nulls).max(1);
        let width = fixed.unwrap_or(u32::try_from(average).unwrap_or(u32::MAX));
        let sampled = sampled.len() as f64;
        Ok(Counted { sampled, rows, nulls, too_wide, width, values })
    }

    fn null_fraction(&self) -> f64 {
        single(self.nulls as f64 / self.sampled)
    }

    /// pg_statistic.stadistinct.
    fn distinct(&self, found: &Distinct) -> f64 {
        if self.values.is_empty() && self.too_wide == 0 {
            return 0.0;
        }
        if found.repeated == 0 {
            return single(-(1.0 - self.null_fraction()));
        }
        let complete = !found.more && self.too_wide == 0 && found.repeated == found.all;
        let count = match complete {
            true => found.all as f64,
            false => self.estimate(found),
        };
        if count > GROWING * self.rows { single(-(count / self.rows)) } else { single(count) }
    }

    /// Duj1: how many distinct values there are in the whole table.
    fn estimate(&self, found: &Distinct) -> f64 {
        let once = (found.all - found.repeated + self.too_wide) as f64;
        let distinct = once + found.repeated as f64;
        let sampled = self.sampled - self.nulls as f64;
        let rows = self.rows * (1.0 - self.null_fraction());
        let estimate = match rows > 0.0 {
            true => sampled * distinct / ((sampled - once) + once * sampled / rows),
            false => 0.0,
        };
        (estimate.max(distinct).min(rows) + 0.5).floor()
    }

    /// How many of the most common values are worth keeping, of which so many came so many times
    /// (analyze_mcv_list): those that are certainly more common than the others, were they not
    /// kept, would be taken to be. The test is the hypergeometric distribution's, two deviations off.
    fn worth_keeping(&self, counts: &[usize], distinct: f64) -> usize {
        if self.sampled == self.rows || self.rows <= 1.0 {
            return counts.len();
        }
        let in_table = if distinct < 0.0 { -distinct * self.rows } else { distinct };
        let (all, sampled) = (self.rows, self.sampled);
        let mut kept = counts.len();
        while let Some(count) = kept.checked_sub(1).map(|last| counts[last] as f64) {
            let before: usize = counts[..kept - 1].iter().sum();
            let left = 1.0 - before as f64 / sampled - self.null_fraction();
            let others = in_table - (kept - 1) as f64;
            let share = left.clamp(0.0, 1.0) / if others > 1.0 { others } else { 1.0 };
            let of_value = all * count / sampled;
            let variance =
                sampled * of_value * (all - of_value) * (all - sampled) / (all * all * (all - 1.0));
            if count > share * sampled + 2.0 * variance.sqrt() + 0.5 {
                break;
            }
            kept -= 1;
        }
        kept
    }

    /// The most common of the values counted, the most common first, as they are to be kept.
    fn keep_common(
        &self,
        wanted: Wanted,
        mut tracked: Vec<(usize, &Datum)>,
        all: &Distinct,
        found: &mut ColumnStatistics,
    ) -> usize {
        let whole = !all.more && tracked.len() == all.all && self.too_wide == 0;
        tracked.truncate(wanted.target);
        if !(whole && found.distinct > 0.0 && all.all <= wanted.target) {
            let counts: Vec<usize> = tracked.iter().map(|(count, _)| *count).collect();
            tracked.truncate(self.worth_keeping(&counts, found.distinct));
        }
        let kept = tracked
            .iter()
            .map(|(count, value)| ((*value).clone(), single(*count as f64 / self.sampled)));
        found.most_common = kept.collect();
        tracked.len()
    }
}

/// Statistics of a type with an ordering.
fn scalar(wanted: Wanted, counted: &Counted<'_>, found: &mut ColumnStatistics) {
    let mut sorted: Vec<(&Datum, usize)> = counted.values.iter().copied().zip(0..).collect();
    sorted.sort_by(|(a, _), (b, _)| compare::compare_as(wanted.type_oid, a, b));
    let same =
        |a: &(&Datum, usize), b: &(&Datum, usize)| compare::equal_as(wanted.type_oid, a.0, b.0);
    // Where runs of equal values begin, and how long they are.
    let mut runs: Vec<(usize, usize)> = Vec::new();
    for run in sorted.chunk_by(same) {
        let next = runs.last().map_or(0, |(start, length)| start + length);
        runs.push((next, run.len()));
    }
    let mut repeated: Vec<(usize, usize)> = runs.iter().copied().filter(|run| run.1 > 1).collect();
    let all = Distinct { all: runs.len(), repeated: repeated.len(), more: false };
    found.distinct = counted.distinct(&all);
    repeated.sort_by_key(|(_, length)| Reverse(*length));
    let tracked = repeated.iter().map(|(start, length)| (*length, sorted[*start].0)).collect();
    let kept = counted.keep_common(wanted, tracked, &all, found);
    let mut common: Vec<usize> = repeated[..kept].iter().map(|(start, _)| *start).collect();
    common.sort_unstable();
    let is_rest = |run: &&(usize, usize)| common.binary_search(&run.0).is_err();
    let rest = runs.iter().filter(is_rest).flat_map(|(start, length)| *start..start + length);
    let rest: Vec<&Datum> = rest.map(|at| sorted[at].0).collect();
    found.histogram = bounds(&rest, (runs.len() - kept).min(wanted.target + 1));
    if sorted.len() > 1 {
        (found.correlation, found.correlated) = (correlation(&sorted), true);
    }
}

/// `count` of the values, evenly spaced, the first and the last among them.
fn bounds(values: &[&Datum], count: usize) -> Vec<Datum> {
    if count < 2 {
        return Vec::new();
    }
    (0..count).map(|i| values[i * (values.len() - 1) / (count - 1)].clone()).collect()
}

/// The correlation of values' order with the order in which they are stored.
fn correlation(sorted: &[(&Datum, usize)]) -> f64 {
    let n = sorted.len() as f64;
    let places = sorted.iter().zip(0u32..);
    let products: f64 = places.map(|((_, place), rank)| f64::from(rank) * *place as f64).sum();
    let (sum, squares) = ((n - 1.0) * n / 2.0, (n - 1.0) * n * (2.0 * n - 1.0) / 6.0);
    single((n * products - sum * sum) / (n * squares - sum * sum))
}

/// Statistics of a type that has `=` but no ordering: as many values as are tracked, the most
/// common first, then the latest.
fn distinct(wanted: Wanted, counted: &Counted<'_>, found: &mut ColumnStatistics) {
    let most = (2 * wanted.target).max(TRACKED_MIN);
    let mut tracked: Vec<(usize, &Datum)> = Vec::new();
    for value in &counted.values {
        let known = tracked.iter().position(|(_, v)| compare::equal_as(wanted.type_oid, v, value));
        match known {
            Some(mut at) => {
                tracked[at].0 += 1;
                while at > 0 && tracked[at].0 > tracked[at - 1].0 {
                    tracked.swap(at, at - 1);
                    at -= 1;
                }
            }
            None => {
                let at = tracked.iter().position(|(count, _)| *count == 1);
                tracked.insert(at.unwrap_or(tracked.len()), (1, value));
                tracked.truncate(most);
            }
        }
    }
    let repeated = tracked.iter().take_while(|(count, _)| *count > 1);
    let (repeated, rows) = repeated.fold((0, 0), |(n, rows), (count, _)| (n + 1, rows + count));
    let once = counted.values.len() - rows;
    let all = Distinct { all: repeated + once, repeated, more: tracked.len() == most };
    found.distinct = counted.distinct(&all);
    counted.keep_common(wanted, tracked, &all, found);
}

#[cfg(test)]
mod tests {
    use super::*;
    use steppe_types::oid;

    fn found(values: &[Datum], rows: f64) -> ColumnStatistics {
        let wanted = Wanted { type_oid: oid::INT4, target: 10, distinct: None, computed: false };
        column_statistics(wanted, &values.iter().collect::<Vec<_>>(), rows).expect("computed")
    }

    /// A value that is not more common than by chance is no most common value of a table of which a
    /// part was seen.
    #[test]
    fn chance_makes_no_common_value() {
        let mut values: Vec<Datum> = (0..1000).map(Datum::Int4).collect();
        values.extend([Datum::Int4(3), Datum::Int4(7)]);
        values.extend(vec![Datum::Int4(5); 100]);
        let whole = found(&values, values.len() as f64);
        assert_eq!(whole.most_common.len(), 3);
        let part = found(&values, 20_000.0);
        assert_eq!(part.most_common, [(Datum::Int4(5), single(101.0 / 1102.0))]);
        assert!(part.distinct < -0.1, "{}", part.distinct);
        assert_eq!((part.histogram.len(), &part.histogram[0]), (11, &Datum::Int4(0)));
    }
}
