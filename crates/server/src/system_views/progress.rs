//! pg_stat_progress_copy, pg_stat_progress_vacuum and their kin: running commands.

use std::sync::atomic::{AtomicU64, Ordering};

use steppe_catalog::system::RowsBuilder;
use steppe_catalog::system::session::POSTGRES_DATABASE;
use steppe_counting::progress::{Progress, Utility};
use steppe_types::{Datum, Result};

use crate::services::SharedSession;

/// The rows of a view of commands other than COPY.
pub(super) fn rows(core: &SharedSession, view: &str) -> Result<Vec<Vec<Datum>>> {
    let mut builder = RowsBuilder::new(view)?;
    core.server.backends.for_each(|pid, backend| {
        let Some(progress) = backend.control.activity.progress() else { return };
        let common = [
            ("pid", Datum::Int4(pid)),
            ("datid", Datum::Oid(POSTGRES_DATABASE)),
            ("datname", Datum::Text(backend.database.clone())),
            ("relid", Datum::Oid(progress.relation)),
            ("phase", Datum::text(progress.phase().as_str())),
        ];
        let own = match (progress.utility, view) {
            (Utility::Vacuum, "pg_stat_progress_vacuum") => vacuum(&progress),
            (Utility::Analyze, "pg_stat_progress_analyze") => analyze(&progress),
            (Utility::BuildIndex { index, command }, "pg_stat_progress_create_index") => {
                let mut own = create_index(&progress);
                // As in PostgreSQL, an index that other sessions do not see yet has no OID.
                let shown = if command == "REINDEX" { index } else { 0 };
                own.push(("index_relid", Datum::Oid(shown)));
                own.push(("command", Datum::text(command)));
                own
            }
            _ => return,
        };
        builder.row(common.into_iter().chain(own));
    });
    builder.finish()
}

type Columns = Vec<(&'static str, Datum)>;

fn count(value: u64) -> Datum {
    Datum::Int8(value as i64)
}

/// VACUUM stores no dead rows and has no delay.
fn vacuum(progress: &Progress) -> Columns {
    let (pages, indexes) = (&progress.pages, &progress.indexes);
    vec![
        ("heap_blks_total", count(pages.total())),
        ("heap_blks_scanned", count(pages.done())),
        ("heap_blks_vacuumed", count(pages.done())),
        ("index_vacuum_count", count(u64::from(pages.total() > 0))),
        ("max_dead_tuple_bytes", count(0)),
        ("dead_tuple_bytes", count(0)),
        ("num_dead_item_ids", count(0)),
        ("indexes_total", count(indexes.total())),
        ("indexes_processed", count(indexes.done())),
        ("delay_time", Datum::Float8(0.0)),
    ]
}

/// Each leaf of a partitioned table is analyzed as a separate table.
fn analyze(progress: &Progress) -> Columns {
    vec![
        ("sample_blks_total", count(progress.pages.total())),
        ("sample_blks_scanned", count(progress.pages.done())),
        ("ext_stats_total", count(0)),
        ("ext_stats_computed", count(0)),
        ("child_tables_total", count(0)),
        ("child_tables_done", count(0)),
        ("current_child_table_relid", Datum::Oid(0)),
        ("delay_time", Datum::Float8(0.0)),
    ]
}

/// An index is built under its lock, so the build waits for no other session.
fn create_index(progress: &Progress) -> Columns {
    vec![
        ("lockers_total", count(0)),
        ("lockers_done", count(0)),
        ("current_locker_pid", count(0)),
        ("blocks_total", count(progress.pages.total())),
        ("blocks_done", count(progress.pages.done())),
        ("tuples_total", count(progress.entries.total())),
        ("tuples_done", count(progress.entries.done())),
        ("partitions_total", count(progress.partitions.total())),
        ("partitions_done", count(progress.partitions.done())),
    ]
}

/// The rows of pg_stat_progress_copy. The data are read from or written to the client or a file.
pub(super) fn copies(core: &SharedSession) -> Result<Vec<Vec<Datum>>> {
    let mut builder = RowsBuilder::new("pg_stat_progress_copy")?;
    core.server.backends.for_each(|pid, backend| {
        let Some(copy) = backend.control.activity.copy() else { return };
        let is_file = copy.is_file.load(Ordering::Relaxed);
        let count = |of: &AtomicU64| Datum::Int8(of.load(Ordering::Relaxed) as i64);
        builder.row([
            ("pid", Datum::Int4(pid)),
            ("datid", Datum::Oid(POSTGRES_DATABASE)),
            ("datname", Datum::Text(backend.database.clone())),
            ("relid", Datum::Oid(copy.relation)),
            ("command", Datum::text(if copy.is_from { "COPY FROM" } else { "COPY TO" })),
            ("type", Datum::text(if is_file { "FILE" } else { "PIPE" })),
            ("bytes_processed", count(&copy.bytes)),
            ("bytes_total", count(&copy.bytes_total)),
            ("tuples_processed", count(&copy.rows)),
            ("tuples_excluded", count(&copy.excluded)),
            ("tuples_skipped", count(&copy.skipped)),
        ]);
    });
    builder.finish()
}
