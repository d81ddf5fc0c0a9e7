//! The statistics of several columns that ANALYZE computes (src/backend/statistics: mvdistinct.c,
//! dependencies.c, mcv.c).
//!
//! The sampled rows are grouped by their values in the columns. NULL counts as a value.
//!
//! - The number of groups gives the number of distinct combinations (Duj1, as for one column).
//! - The degree of a dependency is the fraction of rows in whose group, by the deciding columns,
//!   the decided column has only one value.
//! - The largest groups are the most common combinations. Each is kept with the frequency that it
//!   would have if the columns were independent.
//!
//! An expression is one more column. The statistics of the expression alone are kept, too.

use super::column::{Wanted, column_statistics};
use super::target;
use crate::DdlContext;
use crate::sample::Sample;
use crate::scan::{evaluator, with_functions};
use std::cmp::{Ordering, Reverse};
use std::sync::Arc;
use steppe_catalog::{
    Column, ColumnStatistics, Combination, ExtendedFound, ExtendedStatistics, Relation,
    StatisticsKind,
};
use steppe_sql::bind::{of_stored, statistics_exprs};
use steppe_types::{Datum, Oid, Result, compare};

/// The relative error of a frequency with which a combination is still kept (mcv.c).
const ERROR: f64 = 0.04;

/// The sampled values of an object's columns.
struct Columns<'a> {
    types: Vec<Oid>,
    /// By row.
    rows: Vec<Vec<&'a Datum>>,
    /// Rows of the table.
    total: f64,
}

/// Replaces what is known of a table's statistics objects, if any rows were sampled.
pub(crate) fn compute(
    ctx: &mut DdlContext<'_>,
    table: &mut Relation,
    sample: &Sample,
    inherited: bool,
) -> Result<()> {
    if sample.sampled.is_empty() || table.extended.is_empty() {
        return Ok(());
    }
    let was = Arc::new(table.clone());
    let columns = &was.columns;
    for object in table.extended.iter_mut() {
        ctx.session.check_interrupts()?;
        let positions = object.columns.iter().map(|attnum| *attnum as usize - 1);
        let positions: Vec<usize> = positions.collect();
        let most = kept(ctx, object, columns);
        if most == 0 {
            continue;
        }
        let computed = computed(ctx, &was, object, &sample.sampled)?;
        let rows = sample.sampled.iter().zip(&computed);
        let rows = rows
            .map(|(row, computed)| positions.iter().map(|at| &row[*at]).chain(computed).collect());
        let types = positions.iter().map(|at| columns[*at].type_oid);
        let types = types.chain(object.expressions.iter().map(|expr| expr.type_oid)).collect();
        let sampled = Columns { types, rows: rows.collect(), total: sample.rows as f64 };
        let mut found = sampled.find(object, most, inherited);
        found.expressions = sampled.of_each(positions.len(), most)?;
        object.found.retain(|known| known.inherited != inherited);
        object.found.push(found);
        object.found.sort_by_key(|known| known.inherited);
    }
    Ok(())
}

/// How many combinations are kept: as many as the object says, or else as of the column of which
/// most values are (statext_compute_stattarget).
pub(super) fn kept(ctx: &DdlContext<'_>, object: &ExtendedStatistics, columns: &[Column]) -> usize {
    let own = object.target.and_then(|own| usize::try_from(own).ok());
    let of_columns =
        object.columns.iter().map(|attnum| target(ctx, &columns[*attnum as usize - 1]));
    let of_expressions = (!object.expressions.is_empty()).then_some(ctx.statistics_target);
    own.unwrap_or_else(|| of_columns.chain(of_expressions).max().unwrap_or(0))
}

/// The values of an object's expressions, by row.
fn computed(
    ctx: &mut DdlContext<'_>,
    table: &Arc<Relation>,
    object: &ExtendedStatistics,
    rows: &[Vec<Datum>],
) -> Result<Vec<Vec<Datum>>> {
    let catalog = ctx.catalog();
    let exprs = statistics_exprs(&catalog, table, object)?.into_iter();
    let exprs = exprs.map(|expr| of_stored(&catalog, table, expr)).collect::<Result<Vec<_>>>()?;
    let mut evaluator = evaluator(ctx, &exprs)?;
    let session = Arc::clone(&ctx.session);
    let values = |row: &Vec<Datum>| {
        session.check_interrupts()?;
        Ok(evaluator.evaluate(row)?.to_vec())
    };
    with_functions(ctx, || rows.iter().map(values).collect())
}

impl<'a> Columns<'a> {
    fn find(&self, object: &ExtendedStatistics, most: usize, inherited: bool) -> ExtendedFound {
        let has = |kind| object.kinds.contains(&kind);
        let members = object.members();
        let named =
            |columns: &[usize]| -> Vec<i16> { columns.iter().map(|at| members[*at]).collect() };
        let mut found = ExtendedFound { inherited, ..ExtendedFound::default() };
        if has(StatisticsKind::Distinct) {
            let all = subsets(self.types.len()).into_iter().filter(|columns| columns.len() > 1);
            found.distinct =
                all.map(|columns| (named(&columns), self.distinct(&columns))).collect();
        }
        if has(StatisticsKind::Dependencies) {
            let all = dependencies(self.types.len()).into_iter();
            let all = all.map(|columns| (named(&columns), self.degree(&columns)));
            found.dependencies = all.filter(|(_, degree)| *degree > 0.0).collect();
        }
        if has(StatisticsKind::MostCommon) {
            found.most_common = self.most_common(most);
        }
        found
    }

    /// The statistics of each member from this one on, separately.
    fn of_each(&self, first: usize, target: usize) -> Result<Vec<ColumnStatistics>> {
        let of = |at: usize| {
            let type_oid = self.types[at];
            let wanted = Wanted { type_oid, target, distinct: None, computed: true };
            let values: Vec<&Datum> = self.rows.iter().map(|row| row[at]).collect();
            column_statistics(wanted, &values, self.total)
        };
        (first..self.types.len()).map(of).collect()
    }

    fn order(&self, columns: &[usize], a: &[&Datum], b: &[&Datum]) -> Ordering {
        let each = columns.iter().map(|at| compare::compare_as(self.types[*at], a[*at], b[*at]));
        each.fold(Ordering::Equal, Ordering::then)
    }

    /// The rows in the order of some columns.
    fn sorted(&self, columns: &[usize]) -> Vec<&Vec<&'a Datum>> {
        let mut rows: Vec<&Vec<&Datum>> = self.rows.iter().collect();
        rows.sort_by(|a, b| self.order(columns, a, b));
        rows
    }

    /// How many distinct combinations of columns the table has (estimate_ndistinct).
    fn distinct(&self, columns: &[usize]) -> f64 {
        let rows = self.sorted(columns);
        let groups = rows.chunk_by(|a, b| self.order(columns, a, b).is_eq());
        let (groups, once) = groups.fold((0.0, 0.0), |(groups, once), group| {
            (groups + 1.0, if group.len() == 1 { once + 1.0 } else { once })
        });
        let sampled = rows.len() as f64;
        let estimate = sampled * groups / ((sampled - once) + once * sampled / self.total);
        (estimate.max(groups).min(self.total) + 0.5).floor()
    }

    /// The share of rows in whose groups by all but the last column that has one value.
    fn degree(&self, columns: &[usize]) -> f64 {
        let deciding = &columns[..columns.len() - 1];
        let rows = self.sorted(columns);
        let groups = rows.chunk_by(|a, b| self.order(deciding, a, b).is_eq());
        // They are sorted by the last one, too.
        let is_decided = |group: &&[&Vec<&Datum>]| match (group.first(), group.last()) {
            (Some(first), Some(last)) => self.order(columns, first, last).is_eq(),
            _ => false,
        };
        let supporting: usize = groups.filter(is_decided).map(<[_]>::len).sum();
        supporting as f64 / rows.len() as f64
    }

    /// The combinations that are certainly common, at most `most` of them (statext_mcv_build).
    fn most_common(&self, most: usize) -> Vec<Combination> {
        let columns: Vec<usize> = (0..self.types.len()).collect();
        let rows = self.sorted(&columns);
        let groups = rows.chunk_by(|a, b| self.order(&columns, a, b).is_eq());
        let mut groups: Vec<(usize, &Vec<&Datum>)> =
            groups.filter_map(|group| Some((group.len(), *group.first()?))).collect();
        groups.sort_by_key(|(count, _)| Reverse(*count));
        groups.truncate(most);
        let least = self.least_count();
        let common = groups.into_iter().take_while(|(count, _)| *count as f64 >= least);
        let sampled = rows.len() as f64;
        let by_column: Vec<Vec<&Vec<&Datum>>> =
            columns.iter().map(|column| self.sorted(&[*column])).collect();
        let share_of = |column: usize, values: &[&Datum]| {
            let sorted = &by_column[column];
            let end = |past: fn(Ordering) -> bool| {
                sorted.partition_point(|row| past(self.order(&[column], row, values)))
            };
            (end(Ordering::is_le) - end(Ordering::is_lt)) as f64 / sampled
        };
        let kept = common.map(|(count, values)| Combination {
            values: values.iter().map(|value| (*value).clone()).collect(),
            frequency: count as f64 / sampled,
            base_frequency: columns.iter().map(|column| share_of(*column, values)).product(),
        });
        kept.collect()
    }

    /// How often a combination must have come for its frequency to be exact enough
    /// (get_mincount_for_mcv_list).
    fn least_count(&self) -> f64 {
        let (sampled, total) = (self.rows.len() as f64, self.total);
        let below = total - sampled + ERROR * sampled * (total - 1.0);
        if below == 0.0 { 0.0 } else { sampled * (total - sampled) / below }
    }
}

/// All sets of columns, by size, each ascending.
fn subsets(columns: usize) -> Vec<Vec<usize>> {
    let sets = (1u32..1 << columns)
        .map(|set| (0..columns).filter(|column| set >> column & 1 == 1).collect::<Vec<usize>>());
    let mut sets: Vec<Vec<usize>> = sets.collect();
    sets.sort_by(|a, b| a.len().cmp(&b.len()).then_with(|| a.cmp(b)));
    sets
}

/// All sets of columns with each column that is none of them, which they might decide.
fn dependencies(columns: usize) -> Vec<Vec<usize>> {
    let with = |deciding: Vec<usize>| {
        let others = (0..columns).filter(|column| !deciding.contains(column));
        let all = others.map(|decided| [&deciding[..], &[decided]].concat());
        all.collect::<Vec<Vec<usize>>>()
    };
    subsets(columns).into_iter().flat_map(with).collect()
}
