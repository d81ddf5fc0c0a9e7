//! pg_stat_io, pg_stat_wal, pg_stat_bgwriter and pg_stat_checkpointer show the I/O of threads on
//! pages and on the log. Each thread counts its own ([`steppe_storage::usage`]). pg_stat_archiver,
//! pg_stat_recovery_prefetch and pg_stat_slru show what is never done here.
//!
//! A thread cannot set another thread's counters back. A reset stores the counters instead, and the
//! views show the difference.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use steppe_catalog::Catalog;
use steppe_catalog::system::RowsBuilder;
use steppe_storage::usage::{Totals, Worker, totals};
use steppe_storage::{CheckpointTotals, PAGE_SIZE};
use steppe_txn::Engine;
use steppe_types::numeric::Numeric;
use steppe_types::{Datum, Error, Result, SqlState};

use super::database::{DatabaseStatistics, SavedDatabase, SessionEnd};
use super::slru::SlruResets;
use crate::activity::Activity;
use crate::server::Server;
use crate::services::{SharedSession, now_micros};

/// The totals of all kinds of threads.
type AllTotals = [Totals; Worker::ALL.len()];

/// The totals of the clients' threads.
pub(super) fn by_clients() -> Totals {
    totals(Worker::ClientBackend)
}

fn all_totals() -> AllTotals {
    Worker::ALL.map(totals)
}

fn sum(all: &AllTotals) -> Totals {
    all.iter().fold(Totals::default(), |mut sum, one| {
        sum += *one;
        sum
    })
}

/// The counters at the last reset, and the counts between the reset and this start.
#[derive(Clone, Copy, Debug, Default)]
struct Since<T> {
    /// Microseconds since 2000-01-01 UTC.
    at: i64,
    counters: T,
    carried: T,
}

impl<T: Default> Since<T> {
    fn reset(at: i64, counters: T) -> Since<T> {
        Since { at, counters, carried: T::default() }
    }
}

/// The checkpointer's counters. The store counts its work, the server its reasons.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
struct Checkpoints {
    timed: u64,
    requested: u64,
    work: CheckpointTotals,
}

impl Since<Checkpoints> {
    fn done(&self, now: &Checkpoints) -> Checkpoints {
        let (work, before, carried) = (&now.work, &self.counters.work, &self.carried.work);
        Checkpoints {
            timed: now.timed - self.counters.timed + self.carried.timed,
            requested: now.requested - self.counters.requested + self.carried.requested,
            work: CheckpointTotals {
                done: work.done - before.done + carried.done,
                pages_written: work.pages_written - before.pages_written + carried.pages_written,
                write_time: work.write_time - before.write_time + carried.write_time,
                sync_time: work.sync_time - before.sync_time + carried.sync_time,
            },
        }
    }
}

impl Since<Totals> {
    fn done(&self, now: Totals) -> Totals {
        let mut done = now - self.counters;
        done += self.carried;
        done
    }
}

impl Since<AllTotals> {
    fn done(&self) -> AllTotals {
        let mut done = all_totals();
        for (at, done) in done.iter_mut().enumerate() {
            *done = *done - self.counters[at];
            *done += self.carried[at];
        }
        done
    }
}

/// The counts that the views show, and their start, as they are saved for the next start.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct SavedServer {
    io: (i64, AllTotals),
    wal: (i64, Totals),
    bgwriter: (i64, AllTotals),
    checkpointer: (i64, Checkpoints),
    others: [i64; 3],
    /// Empty if it was saved when all SLRU caches had one reset time, the last of `others`.
    slru: Vec<i64>,
    database: SavedDatabase,
}

/// The counters of the whole server at their last resets.
#[derive(Debug, Default)]
pub(crate) struct ServerStatistics {
    /// Checkpoints that checkpoint_timeout asked for.
    pub checkpoints_timed: AtomicU64,
    /// Checkpoints that max_wal_size or a CHECKPOINT asked for.
    pub checkpoints_requested: AtomicU64,
    /// The counters of relations and sessions.
    pub(crate) database: DatabaseStatistics,
    resets: Mutex<Resets>,
}

#[derive(Debug, Default)]
struct Resets {
    io: Since<AllTotals>,
    wal: Since<Totals>,
    bgwriter: Since<AllTotals>,
    checkpointer: Since<Checkpoints>,
    /// The resets of the counters that stay 0 here: archiver, recovery_prefetch, all of slru.
    others: [i64; 3],
    slru: SlruResets,
}

/// The targets of pg_stat_reset_shared, the [`Resets::others`] first.
const TARGETS: [&str; 7] =
    ["archiver", "recovery_prefetch", "slru", "bgwriter", "checkpointer", "io", "wal"];

impl ServerStatistics {
    /// Counts from now on.
    pub(crate) fn new(engine: &Engine) -> ServerStatistics {
        let statistics = ServerStatistics::default();
        let now = now_micros();
        let mut resets = statistics.resets.lock();
        resets.io.at = now;
        resets.wal.at = now;
        resets.bgwriter.at = now;
        resets.checkpointer.at = now;
        resets.others = [now; 3];
        resets.slru.reset(None, now);
        drop(resets);
        statistics.database.begin(now, engine);
        statistics
    }

    /// A session has ended.
    pub(crate) fn session_ended(&self, activity: &Activity, session_time: i64, end: SessionEnd) {
        self.database.session_ended(activity, session_time, end);
    }

    fn checkpoints(&self, engine: &Engine) -> Checkpoints {
        Checkpoints {
            timed: self.checkpoints_timed.load(Ordering::Relaxed),
            requested: self.checkpoints_requested.load(Ordering::Relaxed),
            work: engine.store().checkpoint_totals(),
        }
    }

    /// The counts to save, when all sessions have ended.
    pub(crate) fn save(&self, server: &Server, catalog: &Catalog) -> Result<SavedServer> {
        let saved = self.database.save(server.files(), catalog)?;
        let resets = self.resets.lock();
        let checkpoints = resets.checkpointer.done(&self.checkpoints(&server.engine));
        Ok(SavedServer {
            io: (resets.io.at, resets.io.done()),
            wal: (resets.wal.at, resets.wal.done(sum(&all_totals()))),
            bgwriter: (resets.bgwriter.at, resets.bgwriter.done()),
            checkpointer: (resets.checkpointer.at, checkpoints),
            others: resets.others,
            slru: resets.slru.0.to_vec(),
            database: saved,
        })
    }

    /// Continues from the saved counts, before there are sessions.
    pub(crate) fn restore(
        &self,
        saved: SavedServer,
        engine: &Engine,
        catalog: &Catalog,
    ) -> Result<()> {
        let mut resets = self.resets.lock();
        (resets.io.at, resets.io.carried) = saved.io;
        (resets.wal.at, resets.wal.carried) = saved.wal;
        (resets.bgwriter.at, resets.bgwriter.carried) = saved.bgwriter;
        (resets.checkpointer.at, resets.checkpointer.carried) = saved.checkpointer;
        resets.others = saved.others;
        match saved.slru.try_into() {
            Ok(slru) => resets.slru = SlruResets(slru),
            Err(_) => resets.slru.reset(None, saved.others[2]),
        }
        self.database.restore(saved.database, engine, catalog)
    }
}

/// When the counters of SLRU caches were last reset.
pub(super) fn slru_resets(core: &SharedSession) -> SlruResets {
    core.server.statistics.resets.lock().slru
}

/// `pg_stat_reset_slru(target)`. Without a target, it resets all.
pub(crate) fn reset_slru(core: &SharedSession, target: Option<&str>) -> Datum {
    core.server.statistics.resets.lock().slru.reset(target, now_micros());
    Datum::text("")
}

/// `pg_stat_reset_shared(target)`. Without a target, it resets all.
pub(crate) fn reset_shared(core: &SharedSession, target: Option<&str>) -> Result<Datum> {
    if let Some(unknown) = target.filter(|target| !TARGETS.contains(target)) {
        let message = format!("unrecognized reset target: \"{unknown}\"");
        return Err(Error::new(SqlState::INVALID_PARAMETER_VALUE, message).hint(
            "Target must be \"archiver\", \"bgwriter\", \"checkpointer\", \"io\", \
             \"recovery_prefetch\", \"slru\", or \"wal\".",
        ));
    }
    let is_meant = |name: &str| target.is_none_or(|target| target == name);
    let statistics = &core.server.statistics;
    let (at, all) = (now_micros(), all_totals());
    let checkpoints = statistics.checkpoints(&core.server.engine);
    let mut resets = statistics.resets.lock();
    for (name, reset) in TARGETS.iter().zip(&mut resets.others) {
        if is_meant(name) {
            *reset = at;
        }
    }
    if is_meant("slru") {
        resets.slru.reset(None, at);
    }
    if is_meant("io") {
        resets.io = Since::reset(at, all);
    }
    if is_meant("wal") {
        resets.wal = Since::reset(at, sum(&all));
    }
    if is_meant("bgwriter") {
        resets.bgwriter = Since::reset(at, all);
    }
    if is_meant("checkpointer") {
        resets.checkpointer = Since::reset(at, checkpoints);
    }
    Ok(Datum::text(""))
}

/// Adds the rows of a view.
type Provider = fn(&SharedSession, &mut RowsBuilder);

/// The rows of one of these views; `None` for any other view.
pub(super) fn rows(core: &SharedSession, view: &str) -> Result<Option<Vec<Vec<Datum>>>> {
    let provider: Provider = match view {
        "pg_stat_io" => io,
        "pg_stat_wal" => wal,
        "pg_stat_bgwriter" => bgwriter,
        "pg_stat_checkpointer" => checkpointer,
        "pg_stat_archiver" => archiver,
        "pg_stat_recovery_prefetch" => recovery_prefetch,
        "pg_stat_slru" => super::slru::rows,
        _ => return Ok(None),
    };
    let mut builder = RowsBuilder::new(view)?;
    provider(core, &mut builder);
    builder.finish().map(Some)
}

fn count(value: u64) -> Datum {
    Datum::Int8(value as i64)
}

fn bytes(value: u64) -> Datum {
    Datum::Numeric(Numeric::from(value))
}

fn milliseconds(time: Duration) -> Datum {
    Datum::Float8(time.as_secs_f64() * 1e3)
}

/// Nanoseconds, as milliseconds.
pub(super) fn nanoseconds(time: u64) -> Datum {
    milliseconds(Duration::from_nanos(time))
}

/// The log is not archived.
fn archiver(core: &SharedSession, builder: &mut RowsBuilder) {
    builder.row([
        ("archived_count", Datum::Int8(0)),
        ("failed_count", Datum::Int8(0)),
        ("stats_reset", Datum::TimestampTz(core.server.statistics.resets.lock().others[0])),
    ]);
}

/// Recovery does not prefetch.
fn recovery_prefetch(core: &SharedSession, builder: &mut RowsBuilder) {
    let zero = || Datum::Int8(0);
    builder.row([
        ("stats_reset", Datum::TimestampTz(core.server.statistics.resets.lock().others[1])),
        ("prefetch", zero()),
        ("hit", zero()),
        ("skip_init", zero()),
        ("skip_new", zero()),
        ("skip_fpw", zero()),
        ("skip_rep", zero()),
        ("wal_distance", Datum::Int4(0)),
        ("block_distance", Datum::Int4(0)),
        ("io_depth", Datum::Int4(0)),
    ]);
}

/// Pages are never in the log as a whole (the doublewrite area is for that).
fn wal(core: &SharedSession, builder: &mut RowsBuilder) {
    let since = core.server.statistics.resets.lock().wal;
    let done = since.done(sum(&all_totals()));
    builder.row([
        ("wal_records", count(done.log_records)),
        ("wal_fpi", Datum::Int8(0)),
        ("wal_bytes", bytes(done.log_bytes)),
        ("wal_buffers_full", count(done.log_ring_full)),
        ("stats_reset", Datum::TimestampTz(since.at)),
    ]);
}

/// The background writer has no limit to stop at.
fn bgwriter(core: &SharedSession, builder: &mut RowsBuilder) {
    let since = core.server.statistics.resets.lock().bgwriter;
    let done = since.done();
    let writer = Worker::ALL.iter().position(|worker| *worker == Worker::BackgroundWriter);
    builder.row([
        ("buffers_clean", count(writer.map_or(0, |at| done[at].written))),
        ("maxwritten_clean", Datum::Int8(0)),
        ("buffers_alloc", count(sum(&done).allocated)),
        ("stats_reset", Datum::TimestampTz(since.at)),
    ]);
}

fn checkpointer(core: &SharedSession, builder: &mut RowsBuilder) {
    let statistics = &core.server.statistics;
    let since = statistics.resets.lock().checkpointer;
    let done = since.done(&statistics.checkpoints(&core.server.engine));
    let zero = || Datum::Int8(0);
    builder.row([
        ("num_timed", count(done.timed)),
        ("num_requested", count(done.requested)),
        ("num_done", count(done.work.done)),
        ("restartpoints_timed", zero()),
        ("restartpoints_req", zero()),
        ("restartpoints_done", zero()),
        ("write_time", milliseconds(done.work.write_time)),
        ("sync_time", milliseconds(done.work.sync_time)),
        ("buffers_written", count(done.work.pages_written)),
        ("slru_written", zero()),
        ("stats_reset", Datum::TimestampTz(since.at)),
    ]);
}

fn backend_type(worker: Worker) -> &'static str {
    match worker {
        Worker::ClientBackend => "client backend",
        Worker::BackgroundWriter => "background writer",
        Worker::Checkpointer => "checkpointer",
        Worker::Startup => "startup",
        Worker::WalWriter => "walwriter",
    }
}

/// Pages and the log, by kind of thread. Reads of large scans past the buffer pool have their own
/// context; their time is in the row of all other reads. Times are those of timed I/O
/// (track_io_timing, track_wal_io_timing).
fn io(core: &SharedSession, builder: &mut RowsBuilder) {
    let since = core.server.statistics.resets.lock().io;
    for (worker, done) in Worker::ALL.iter().zip(since.done()) {
        let reset = Datum::TimestampTz(since.at);
        relation_row(*worker, done, reset.clone(), builder);
        bulk_read_row(*worker, done, reset.clone(), builder);
        log_rows(*worker, done, reset, builder);
    }
}

fn relation_row(worker: Worker, done: Totals, reset: Datum, builder: &mut RowsBuilder) {
    if worker == Worker::WalWriter {
        return;
    }
    let pages = |pages: u64| bytes(pages * PAGE_SIZE as u64);
    // Only users of pages read them.
    let reads_pages = matches!(worker, Worker::ClientBackend | Worker::Startup);
    let by_users = |value: Datum| if reads_pages { value } else { Datum::Null };
    builder.row([
        ("backend_type", Datum::text(backend_type(worker))),
        ("object", Datum::text("relation")),
        ("context", Datum::text("normal")),
        ("reads", by_users(count(done.read - done.bulk_read))),
        ("read_bytes", by_users(pages(done.read - done.bulk_read))),
        ("read_time", by_users(nanoseconds(done.read_time))),
        ("writes", count(done.written)),
        ("write_bytes", pages(done.written)),
        ("write_time", nanoseconds(done.write_time)),
        ("writebacks", Datum::Int8(0)),
        ("writeback_time", Datum::Float8(0.0)),
        ("extends", by_users(count(done.extended))),
        ("extend_bytes", by_users(pages(done.extended_pages))),
        ("extend_time", by_users(nanoseconds(done.extend_time))),
        ("hits", by_users(count(done.hit))),
        ("evictions", by_users(count(done.evicted))),
        ("fsyncs", count(done.data_syncs)),
        ("fsync_time", nanoseconds(done.data_sync_time)),
        ("stats_reset", reset),
    ]);
}

fn bulk_read_row(worker: Worker, done: Totals, reset: Datum, builder: &mut RowsBuilder) {
    if worker != Worker::ClientBackend {
        return;
    }
    builder.row([
        ("backend_type", Datum::text(backend_type(worker))),
        ("object", Datum::text("relation")),
        ("context", Datum::text("bulkread")),
        ("reads", count(done.bulk_reads)),
        ("read_bytes", bytes(done.bulk_read * PAGE_SIZE as u64)),
        ("stats_reset", reset),
    ]);
}

fn log_rows(worker: Worker, done: Totals, reset: Datum, builder: &mut RowsBuilder) {
    let kinds = [
        // Each segment is written and synced once when it is made.
        ("init", done.log_segments, done.log_segment_bytes, done.log_segments),
        ("normal", done.log_writes, done.log_bytes_written, done.log_syncs),
    ];
    // The making of a segment is timed as a whole.
    let times = [(done.log_segment_time, 0), (done.log_write_time, done.log_sync_time)];
    for ((context, writes, written, syncs), (write, sync)) in kinds.into_iter().zip(times) {
        builder.row([
            ("backend_type", Datum::text(backend_type(worker))),
            ("object", Datum::text("wal")),
            ("context", Datum::text(context)),
            ("writes", count(writes)),
            ("write_bytes", bytes(written)),
            ("write_time", nanoseconds(write)),
            ("fsyncs", count(syncs)),
            ("fsync_time", nanoseconds(sync)),
            ("stats_reset", reset.clone()),
        ]);
    }
}
