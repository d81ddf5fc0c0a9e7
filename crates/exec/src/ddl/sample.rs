//! Samples of tables' rows, for ANALYZE.

use super::DdlContext;
use super::scan::scan_pages;
use crate::access::TableAccess;
use crate::env::SessionServices;
use crate::partition::ColumnMap;
use crate::progress::{Phase, Progress, Utility};
use std::sync::Arc;
use steppe_catalog::Relation;
use steppe_types::{Datum, Result};

/// Rows sampled: 300 × the default statistics target, as PostgreSQL.
const SAMPLE_ROWS: usize = 30_000;

/// A uniform sample of a table's rows, and how much there is of it.
#[derive(Default)]
pub(super) struct Sample {
    pub(super) rows: u64,
    pub(super) pages: u64,
    pub(super) sampled: Vec<Vec<Datum>>,
}

impl Sample {
    /// All rows counted, and some of them in their stored order (Vitter's algorithm R).
    pub(super) fn of_table(
        ctx: &mut DdlContext<'_>,
        table: &Arc<Relation>,
        pages: u64,
    ) -> Result<Sample> {
        let access = TableAccess::open(ctx.store.database(), table)?;
        let services = ctx.services.clone();
        let (mut count, mut sample) = (0u64, Vec::<(u64, Vec<Datum>)>::new());
        let progress = services.begin_progress(Progress::new(Utility::Analyze, table.oid));
        progress.enter(Phase::AcquiringSampleRows);
        progress.pages.begin(pages);
        scan_pages(ctx, &access, &mut || progress.pages.advance(1), &mut |_, values| {
            count += 1;
            if sample.len() < SAMPLE_ROWS {
                sample.push((count, values.to_vec()));
            } else {
                let at = (services.random() * count as f64) as usize;
                if let Some(slot) = sample.get_mut(at) {
                    *slot = (count, values.to_vec());
                }
            }
            Ok(())
        })?;
        sample.sort_by_key(|(at, _)| *at);
        let sampled = sample.into_iter().map(|(_, row)| row).collect();
        Ok(Sample { rows: count, pages, sampled })
    }

    /// Adds a leaf's sample to its partitioned table's: each has its share by its rows.
    pub(super) fn add_leaf(
        &mut self,
        leaf: Sample,
        columns: Option<&ColumnMap>,
        services: &dyn SessionServices,
    ) {
        let mut added = leaf.sampled;
        let room = SAMPLE_ROWS.min(self.sampled.len() + added.len());
        let total = self.rows + leaf.rows;
        let share = (room as f64 * leaf.rows as f64 / total.max(1) as f64).round() as usize;
        let least = room.saturating_sub(self.sampled.len());
        let share = share.clamp(least, added.len().max(least));
        thin(&mut added, share, services);
        thin(&mut self.sampled, room - share, services);
        match columns {
            None => self.sampled.append(&mut added),
            Some(map) => self.sampled.extend(added.iter().map(|row| map.row_in_parent(row))),
        }
        self.rows = total;
        self.pages += leaf.pages;
    }
}

/// Leaves `wanted` of the rows, each with the same chance.
fn thin(rows: &mut Vec<Vec<Datum>>, wanted: usize, services: &dyn SessionServices) {
    if wanted >= rows.len() {
        return;
    }
    let last = rows.len() - 1;
    for i in 0..wanted {
        let at = i + (services.random() * (last - i + 1) as f64) as usize;
        rows.swap(i, at.min(last));
    }
    rows.truncate(wanted);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::env::NoServices;

    fn sample(rows: u64) -> Sample {
        let sampled = (0..rows.min(SAMPLE_ROWS as u64)).map(|i| vec![Datum::Int8(i as i64)]);
        Sample { rows, pages: rows, sampled: sampled.collect() }
    }

    #[test]
    fn leaves_have_their_share() {
        let mut all = Sample::default();
        all.add_leaf(sample(0), None, &NoServices);
        all.add_leaf(sample(10), None, &NoServices);
        assert_eq!((all.rows, all.sampled.len()), (10, 10));
        all.add_leaf(sample(90_000), None, &NoServices);
        assert_eq!((all.rows, all.pages, all.sampled.len()), (90_010, 90_010, SAMPLE_ROWS));
        let marked = Sample { sampled: vec![vec![Datum::Null]; SAMPLE_ROWS], ..sample(90_010) };
        all.add_leaf(marked, None, &NoServices);
        let of_last = all.sampled.iter().filter(|row| row[0].is_null()).count();
        assert_eq!((all.sampled.len(), of_last), (SAMPLE_ROWS, SAMPLE_ROWS / 2));
    }
}
