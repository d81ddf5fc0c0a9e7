//! Samples of tables' rows, for ANALYZE.
//!
//! As in PostgreSQL (src/backend/commands/analyze.c, `acquire_sample_rows`), sampling has two
//! stages that run together: random pages, and random rows of these pages. The time is bounded for
//! a table of any size. The tree's inner pages, a few hundredths of all, tell where pages begin.

use super::DdlContext;
use super::reservoir::Reservoir;
use std::sync::Arc;
use steppe_catalog::Relation;
use steppe_counting::progress::{Phase, Progress, Utility};
use steppe_exec::stored::{ColumnMap, TableAccess};
use steppe_functions::SessionHost;
use steppe_txn::{RowId, TableStore};
use steppe_types::{Datum, Result};

/// A uniform sample of a table's rows, and how much there is of it.
#[derive(Default)]
pub(super) struct Sample {
    /// All rows, estimated if not all pages were read.
    pub(super) rows: u64,
    pub(super) pages: u64,
    pub(super) sampled: Vec<Vec<Datum>>,
}

impl Sample {
    /// A sample of `wanted` rows of a table, from `wanted` of its pages, in their stored order.
    pub(super) fn of_table(
        ctx: &mut DdlContext<'_>,
        table: &Arc<Relation>,
        pages: u64,
        wanted: usize,
    ) -> Result<Sample> {
        let access = TableAccess::open(ctx.store.engine(), table)?;
        let none = Sample { rows: 0, pages, sampled: Vec::new() };
        let Some(store) = access.rows() else { return Ok(none) };
        if store.tree()?.is_none() {
            return Ok(none);
        }
        ctx.txn.start_statement()?;
        let session = Arc::clone(&ctx.session);
        let progress = session.begin_progress(Progress::new(Utility::Analyze, table.oid));
        progress.enter(Phase::AcquiringSampleRows);
        let mut sampled = Vec::new();
        let mut sample = || {
            let starts = some_pages(store, wanted, &*session)?;
            progress.pages.begin(starts.taken.len() as u64);
            let mut cursor = store.scan_all(ctx.txn.view())?;
            let mut rows = Reservoir::new(wanted);
            for start in &starts.taken {
                session.check_interrupts()?;
                cursor.seek(*start);
                cursor.next_batch(&mut |_, row| {
                    rows.offer(|| row.to_vec(), || session.random());
                    Ok(())
                })?;
                progress.pages.advance(1);
            }
            let (seen, rows) = rows.into_parts();
            for row in rows {
                let mut values = Vec::new();
                access.decode_all(&row, &mut values)?;
                sampled.push(values);
            }
            let share = starts.taken.len().max(1) as f64 / starts.of.max(1) as f64;
            Ok((seen as f64 / share).round() as u64)
        };
        let mut rows: Result<u64> = Ok(0);
        session.in_place(&mut || rows = sample());
        Ok(Sample { rows: rows?, pages, sampled })
    }

    /// Adds a leaf's sample to its partitioned table's, which is to have `wanted` rows: each has
    /// its share by its rows.
    pub(super) fn add_leaf(
        &mut self,
        wanted: usize,
        leaf: Sample,
        columns: Option<&ColumnMap>,
        session: &dyn SessionHost,
    ) {
        let mut added = leaf.sampled;
        let room = wanted.min(self.sampled.len() + added.len());
        let total = self.rows + leaf.rows;
        let share = (room as f64 * leaf.rows as f64 / total.max(1) as f64).round() as usize;
        let least = room.saturating_sub(self.sampled.len());
        let share = share.clamp(least, added.len().max(least));
        thin(&mut added, share, session);
        thin(&mut self.sampled, room - share, session);
        match columns {
            None => self.sampled.append(&mut added),
            Some(map) => self.sampled.extend(added.iter().map(|row| map.row_in_parent(row))),
        }
        self.rows = total;
        self.pages += leaf.pages;
    }
}

/// Randomly chosen pages, each by the row that it begins with, and the number of all pages.
struct SomePages {
    taken: Vec<RowId>,
    of: u64,
}

fn some_pages(store: &TableStore, wanted: usize, session: &dyn SessionHost) -> Result<SomePages> {
    let mut starts = Reservoir::new(wanted);
    store.page_starts(&mut |start| {
        starts.offer(|| start, || session.random());
        session.check_interrupts()
    })?;
    let (of, taken) = starts.into_parts();
    Ok(SomePages { taken, of })
}

/// Leaves `wanted` of the rows, each with the same chance.
fn thin(rows: &mut Vec<Vec<Datum>>, wanted: usize, session: &dyn SessionHost) {
    if wanted >= rows.len() {
        return;
    }
    let last = rows.len() - 1;
    for i in 0..wanted {
        let at = i + (session.random() * (last - i + 1) as f64) as usize;
        rows.swap(i, at.min(last));
    }
    rows.truncate(wanted);
}

#[cfg(test)]
mod tests {
    use super::*;
    use steppe_functions::NoSession;

    const WANTED: usize = 30_000;

    fn sample(rows: u64) -> Sample {
        let sampled = (0..rows.min(WANTED as u64)).map(|i| vec![Datum::Int8(i as i64)]);
        Sample { rows, pages: rows, sampled: sampled.collect() }
    }

    #[test]
    fn leaves_have_their_share() {
        let mut all = Sample::default();
        all.add_leaf(WANTED, sample(0), None, &NoSession);
        all.add_leaf(WANTED, sample(10), None, &NoSession);
        assert_eq!((all.rows, all.sampled.len()), (10, 10));
        all.add_leaf(WANTED, sample(90_000), None, &NoSession);
        assert_eq!((all.rows, all.pages, all.sampled.len()), (90_010, 90_010, WANTED));
        let marked = Sample { sampled: vec![vec![Datum::Null]; WANTED], ..sample(90_010) };
        all.add_leaf(WANTED, marked, None, &NoSession);
        let of_last = all.sampled.iter().filter(|row| row[0].is_null()).count();
        assert_eq!((all.sampled.len(), of_last), (WANTED, WANTED / 2));
    }
}
