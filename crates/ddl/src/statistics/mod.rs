//! Statistics that ANALYZE computes from a sample of a table's rows
//! (src/backend/commands/analyze.c).
//!
//! Where the sample is the whole table, the results are PostgreSQL's to the last digit: the same
//! values, in the same order, with frequencies in single precision.

mod column;
mod elements;
pub(super) mod extended;
pub(super) mod index;

use self::column::{Wanted, column_statistics};
use super::DdlContext;
use super::sample::Sample;
use std::sync::Arc;
use steppe_catalog::{Column, ColumnStatistics, Relation};
use steppe_types::{Datum, Result};

/// Rows to sample for each value that is kept, as many as PostgreSQL's `std_typanalyze` wants
/// (after Chaudhuri, Motwani and Narasayya, 1998).
const ROWS_A_VALUE: usize = 300;
/// The least number of rows to sample.
const ROWS_MIN: usize = 100;

/// The columns of a table that are analysed.
pub(super) struct Subject {
    table: Arc<Relation>,
    /// Their positions, and how many values are kept of each.
    columns: Vec<(usize, usize)>,
    /// How many combinations are kept at most of columns together.
    combinations: usize,
}

impl Subject {
    /// The columns of these names, or all if there are no names. Columns with SET STATISTICS 0, and
    /// columns that are not stored, are left out.
    pub(super) fn of(ctx: &DdlContext<'_>, table: &Arc<Relation>, names: &[String]) -> Subject {
        let is_asked = |c: &Column| names.is_empty() || names.iter().any(|name| **name == *c.name);
        let stored = table.columns.iter().enumerate();
        let stored = stored.filter(|(_, c)| !c.dropped && !c.is_virtual && is_asked(c));
        let columns = stored.map(|(position, column)| (position, target(ctx, column)));
        let columns = columns.filter(|(_, target)| *target > 0).collect();
        let objects = table.extended.iter();
        let combinations = objects.map(|object| extended::kept(ctx, object, &table.columns));
        let combinations = combinations.max().unwrap_or(0);
        Subject { table: Arc::clone(table), columns, combinations }
    }

    /// How many rows are to be sampled, from as many pages.
    pub(super) fn sample_rows(&self) -> usize {
        let most = self.columns.iter().map(|(_, target)| *target);
        let most = most.chain([self.combinations]).max().unwrap_or(0);
        (ROWS_A_VALUE * most).max(ROWS_MIN)
    }

    /// Replaces the statistics of the columns, if any rows were sampled. `inherited` says whether
    /// the statistics include the rows of children.
    pub(super) fn compute(
        &self,
        sample: &Sample,
        inherited: bool,
        known: &mut Vec<ColumnStatistics>,
    ) -> Result<()> {
        if sample.sampled.is_empty() {
            return Ok(());
        }
        known.resize(self.table.columns.len(), ColumnStatistics::default());
        for (position, target) in &self.columns {
            let column = &self.table.columns[*position];
            let distinct = distinct_told(column, inherited);
            let wanted =
                Wanted { type_oid: column.type_oid, target: *target, distinct, computed: false };
            let values = sample.sampled.iter().map(|row| &row[*position]);
            let values: Vec<&Datum> = values.collect();
            known[*position] = column_statistics(wanted, &values, sample.rows as f64)?;
        }
        Ok(())
    }
}

/// How many values are kept of a column.
fn target(ctx: &DdlContext<'_>, column: &Column) -> usize {
    let own = column.statistics.and_then(|own| usize::try_from(own).ok());
    own.unwrap_or(ctx.statistics_target)
}

/// The value of ALTER COLUMN … SET (n_distinct = …), which overrides the computed one; 0 says
/// nothing.
fn distinct_told(column: &Column, inherited: bool) -> Option<f64> {
    let wanted = if inherited { "n_distinct_inherited" } else { "n_distinct" };
    let told = column.options.iter().find(|(name, _)| **name == *wanted)?.1.trim().parse::<f64>();
    told.ok().filter(|told| *told != 0.0)
}
