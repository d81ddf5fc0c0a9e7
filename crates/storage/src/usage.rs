//! Counters of what each thread does to pages and to the log. EXPLAIN (BUFFERS, WAL), pg_stat_io
//! and similar views show them.
//!
//! ```text
//!   thread ── its Counters (lines of memory that nobody else writes) ─┐
//!   thread ── its Counters ───────────────────────────────────────────┼─ totals(): read, summed
//!   ended  ── Counters for the next thread of the kind ───────────────┘
//! ```
//!
//! The counters only grow, and one thread at a time writes them. Counting is one addition to memory
//! of the thread's own, without a locked instruction and whether or not a reader exists. To measure
//! a piece of work, take [`Usage::now`] before and after it on the thread that does it. [`totals`]
//! adds up all threads. The counters belong to the process: two stores in one process share them.
//!
//! The time that I/O takes is measured only on request: track_io_timing and track_wal_io_timing of
//! the session that a thread works for ([`time_io`]), otherwise of the server.
//!
//! A thread begins as a client's backend; [`work_as`] changes its kind. The work that it did as one
//! kind stays counted under that kind.

use std::cell::Cell;
use std::ops::{AddAssign, Sub};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Instant;

use parking_lot::Mutex;
use serde::{Deserialize, Serialize};

/// The kind of a thread: pg_stat_io's backend_type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Worker {
    /// Runs statements.
    ClientBackend,
    /// Evicts pages ahead of need.
    BackgroundWriter,
    /// Takes checkpoints.
    Checkpointer,
    /// Recovers the store at the start.
    Startup,
    /// Writes and syncs the log.
    WalWriter,
}

impl Worker {
    /// All kinds.
    pub const ALL: [Worker; 5] = [
        Worker::ClientBackend,
        Worker::BackgroundWriter,
        Worker::Checkpointer,
        Worker::Startup,
        Worker::WalWriter,
    ];
}

macro_rules! counters {
    ($($(#[$doc:meta])* $name:ident,)*) => {
        /// The counters of one thread, on cache lines of its own.
        #[derive(Default)]
        #[repr(align(128))]
        struct Counters {
            $($name: AtomicU64,)*
        }

        /// The sums of the counters of all threads of a kind.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
        #[serde(default)]
        pub struct Totals {
            $($(#[$doc])* pub $name: u64,)*
        }

        impl Counters {
            fn read(&self) -> Totals {
                Totals { $($name: self.$name.load(Ordering::Relaxed),)* }
            }
        }

        impl AddAssign for Totals {
            fn add_assign(&mut self, other: Totals) {
                $(self.$name = self.$name.wrapping_add(other.$name);)*
            }
        }

        impl Sub for Totals {
            type Output = Totals;

            fn sub(self, before: Totals) -> Totals {
                Totals { $($name: self.$name.wrapping_sub(before.$name),)* }
            }
        }
    };
}

counters! {
    /// Page accesses that found the page in memory.
    hit,
    /// Pages read from the data file.
    read,
    /// Pages of `read` that were read past the pool.
    bulk_read,
    /// Reads of the data file that brought the pages of `bulk_read`.
    bulk_reads,
    /// Clean pages made dirty.
    dirtied,
    /// Pages written to the data file.
    written,
    /// Pages that were given a place in memory.
    allocated,
    /// Pages that left memory.
    evicted,
    /// Times the data file was made longer.
    extended,
    /// Pages by which the data file was made longer.
    extended_pages,
    /// Syncs of the data file and the doublewrite area.
    data_syncs,
    /// Log records.
    log_records,
    /// Bytes of log records.
    log_bytes,
    /// Records that found the log's ring full.
    log_ring_full,
    /// Writes to the log's segments.
    log_writes,
    /// Bytes written to the log's segments.
    log_bytes_written,
    /// Syncs of the log's segments.
    log_syncs,
    /// Log segments created.
    log_segments,
    /// Bytes of the created log segments.
    log_segment_bytes,
    /// Nanoseconds that timed reads of pages took. The following times are in nanoseconds, too, and
    /// cover timed I/O only.
    read_time,
    /// Writes of pages and of the doublewrite area.
    write_time,
    /// Making the data file longer.
    extend_time,
    /// Syncs of the data file and the doublewrite area.
    data_sync_time,
    /// Writes to the log's segments.
    log_write_time,
    /// Syncs of the log's segments.
    log_sync_time,
    /// Creation of log segments.
    log_segment_time,
    /// Reads of temporary files.
    spill_read_time,
    /// Writes of temporary files.
    spill_write_time,
}

/// The kinds of I/O that a thread times.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Timing {
    /// I/O of pages: track_io_timing.
    pub pages: bool,
    /// I/O of the log: track_wal_io_timing.
    pub log: bool,
}

/// The counters of all threads, with their kinds.
struct Registry {
    all: Vec<(Worker, &'static Counters)>,
    /// Counters of threads that have ended, for reuse.
    free: Vec<(Worker, &'static Counters)>,
}

static REGISTRY: Mutex<Registry> = Mutex::new(Registry { all: Vec::new(), free: Vec::new() });

thread_local! {
    static CURRENT: Cell<Option<&'static Counters>> = const { Cell::new(None) };
    static LEASE: Lease = const { Lease(Cell::new(None)) };
    static TIMING: Cell<Option<Timing>> = const { Cell::new(None) };
}

/// The timing of threads that work for no session. It is seldom written, and read at each I/O.
static TIMED_PAGES: AtomicBool = AtomicBool::new(false);
static TIMED_LOG: AtomicBool = AtomicBool::new(false);

/// Sets the timing of threads that have none of their own.
pub fn time_io_by_default(timing: Timing) {
    TIMED_PAGES.store(timing.pages, Ordering::Relaxed);
    TIMED_LOG.store(timing.log, Ordering::Relaxed);
}

/// Sets the timing of the running thread; `None` restores the default.
#[inline]
pub fn time_io(timing: Option<Timing>) {
    TIMING.set(timing);
}

/// The kinds of I/O that the running thread times.
pub fn timing() -> Timing {
    TIMING.get().unwrap_or_else(|| Timing {
        pages: TIMED_PAGES.load(Ordering::Relaxed),
        log: TIMED_LOG.load(Ordering::Relaxed),
    })
}

/// Whether the running thread times I/O of pages.
pub fn times_pages() -> bool {
    timing().pages
}

/// I/O that can be timed.
#[derive(Clone, Copy, Debug)]
pub enum Io {
    /// Reading a page.
    Read,
    /// Writing pages, to their places or to the doublewrite area.
    Write,
    /// Making the data file longer.
    Extend,
    /// Syncing the data file or the doublewrite area.
    DataSync,
    /// Writing to a segment of the log.
    LogWrite,
    /// Syncing a segment of the log.
    LogSync,
    /// Creating a segment of the log.
    LogSegment,
    /// Reading a temporary file.
    SpillRead,
    /// Writing a temporary file.
    SpillWrite,
}

/// Does I/O, and adds its duration to the thread's counters if such I/O is timed.
#[inline]
pub fn timed<T>(io: Io, work: impl FnOnce() -> T) -> T {
    let timing = timing();
    let is_of_log = matches!(io, Io::LogWrite | Io::LogSync | Io::LogSegment);
    if !(if is_of_log { timing.log } else { timing.pages }) {
        return work();
    }
    let begun = Instant::now();
    let result = work();
    let counters = current();
    let counter = match io {
        Io::Read => &counters.read_time,
        Io::Write => &counters.write_time,
        Io::Extend => &counters.extend_time,
        Io::DataSync => &counters.data_sync_time,
        Io::LogWrite => &counters.log_write_time,
        Io::LogSync => &counters.log_sync_time,
        Io::LogSegment => &counters.log_segment_time,
        Io::SpillRead => &counters.spill_read_time,
        Io::SpillWrite => &counters.spill_write_time,
    };
    add(counter, begun.elapsed().as_nanos() as u64);
    result
}

/// Gives a thread's counters to the next thread of the kind when it ends. Counters are never freed,
/// so a kind has as many as its threads that ever ran at the same time.
struct Lease(Cell<Option<(Worker, &'static Counters)>>);

impl Lease {
    fn end(&self) {
        if let Some(lease) = self.0.take() {
            REGISTRY.lock().free.push(lease);
        }
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        // Destructors of this thread that run later use other counters.
        CURRENT.set(None);
        self.end();
    }
}

/// Sets the kind of the running thread, and returns its kind before.
#[cold]
pub fn work_as(worker: Worker) -> Worker {
    let before = LEASE.try_with(|lease| {
        let before = lease.0.get();
        lease.end();
        before
    });
    let mut registry = REGISTRY.lock();
    let free = registry.free.iter().position(|(kind, _)| *kind == worker);
    let counters = match free {
        Some(at) => registry.free.swap_remove(at).1,
        None => {
            let counters: &'static Counters = Box::leak(Box::default());
            registry.all.push((worker, counters));
            counters
        }
    };
    drop(registry);
    // A thread whose thread-locals are already being destroyed keeps the counters for ever.
    let _no_lease = LEASE.try_with(|lease| lease.0.set(Some((worker, counters))));
    CURRENT.set(Some(counters));
    before.ok().flatten().map_or(Worker::ClientBackend, |(kind, _)| kind)
}

/// Has the running thread work as another kind while `f` runs.
pub fn working_as<T>(worker: Worker, f: impl FnOnce() -> T) -> T {
    let before = work_as(worker);
    let result = at_work(worker, f);
    work_as(before);
    result
}

/// Whether the only thread of a kind has something to do. It has a cache line of its own.
#[repr(align(128))]
struct Gauge(AtomicBool);

static AT_WORK: [Gauge; Worker::ALL.len()] =
    [const { Gauge(AtomicBool::new(false)) }; Worker::ALL.len()];

/// Marks the only thread of a kind as working while `f` runs.
pub(crate) fn at_work<T>(worker: Worker, f: impl FnOnce() -> T) -> T {
    let Gauge(gauge) = &AT_WORK[worker as usize];
    gauge.store(true, Ordering::Relaxed);
    let result = f();
    gauge.store(false, Ordering::Relaxed);
    result
}

/// Whether the only thread of a kind works now. If not, it waits for work.
pub fn is_at_work(worker: Worker) -> bool {
    AT_WORK[worker as usize].0.load(Ordering::Relaxed)
}

/// The counters of all threads of a kind since the process started.
pub fn totals(worker: Worker) -> Totals {
    let registry = REGISTRY.lock();
    let of_kind = registry.all.iter().filter(|(kind, _)| *kind == worker);
    of_kind.fold(Totals::default(), |mut sum, (_, counters)| {
        sum += counters.read();
        sum
    })
}

#[inline]
fn current() -> &'static Counters {
    match CURRENT.get() {
        Some(counters) => counters,
        None => first(),
    }
}

#[cold]
fn first() -> &'static Counters {
    work_as(Worker::ClientBackend);
    // `work_as` has just set it.
    CURRENT.get().unwrap_or_else(|| Box::leak(Box::default()))
}

#[inline]
fn add(counter: &AtomicU64, amount: u64) {
    // Only this thread writes the counter.
    counter.store(counter.load(Ordering::Relaxed).wrapping_add(amount), Ordering::Relaxed);
}

/// Counts an access to a page in memory.
#[inline]
pub(crate) fn hit() {
    add(&current().hit, 1);
}

/// Counts a page read from the data file.
pub(crate) fn read() {
    add(&current().read, 1);
}

/// Counts a read of several pages at once, past the pool.
pub(crate) fn bulk_asked() {
    add(&current().bulk_reads, 1);
}

/// Counts a page of such a read that was used.
pub(crate) fn bulk_read() {
    let counters = current();
    add(&counters.read, 1);
    add(&counters.bulk_read, 1);
}

/// Counts a clean page made dirty.
pub(crate) fn dirtied() {
    add(&current().dirtied, 1);
}

/// Counts dirty pages written.
pub(crate) fn written(pages: usize) {
    add(&current().written, pages as u64);
}

/// Counts a page that got a place in memory.
pub(crate) fn allocated() {
    add(&current().allocated, 1);
}

/// Counts evicted pages.
pub(crate) fn evicted(pages: usize) {
    add(&current().evicted, pages as u64);
}

/// Counts an extension of the data file.
pub(crate) fn extended(pages: u64) {
    add(&current().extended, 1);
    add(&current().extended_pages, pages);
}

/// Counts a sync of the data file or the doublewrite area.
pub(crate) fn data_synced() {
    add(&current().data_syncs, 1);
}

/// Counts a log record.
#[inline]
pub(crate) fn logged(bytes: usize) {
    let counters = current();
    add(&counters.log_records, 1);
    add(&counters.log_bytes, bytes as u64);
}

/// Counts a record that found the log's ring full.
pub(crate) fn log_ring_full() {
    add(&current().log_ring_full, 1);
}

/// Counts a write of a part of the log to its segment.
pub(crate) fn log_written(bytes: usize) {
    add(&current().log_writes, 1);
    add(&current().log_bytes_written, bytes as u64);
}

/// Counts a sync of a log segment.
pub(crate) fn log_synced() {
    add(&current().log_syncs, 1);
}

/// Counts a created log segment.
pub(crate) fn log_segment_made(bytes: u64) {
    add(&current().log_segments, 1);
    add(&current().log_segment_bytes, bytes);
}

/// Page and log activity of one thread.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Usage {
    /// Page accesses that found the page in memory.
    pub hit: u64,
    /// Pages read from the data file.
    pub read: u64,
    /// Clean pages made dirty.
    pub dirtied: u64,
    /// Pages written to make room.
    pub written: u64,
    /// Log records.
    pub log_records: u64,
    /// Bytes of log records.
    pub log_bytes: u64,
    /// Duration of the I/O.
    pub times: IoTimes,
}

impl Usage {
    /// The activity of this thread so far.
    pub fn now() -> Usage {
        let counters = current();
        let value = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        Usage {
            hit: value(&counters.hit),
            read: value(&counters.read),
            dirtied: value(&counters.dirtied),
            written: value(&counters.written),
            log_records: value(&counters.log_records),
            log_bytes: value(&counters.log_bytes),
            times: IoTimes::of(counters),
        }
    }
}

impl Sub for Usage {
    type Output = Usage;

    fn sub(self, before: Usage) -> Usage {
        Usage {
            hit: self.hit.wrapping_sub(before.hit),
            read: self.read.wrapping_sub(before.read),
            dirtied: self.dirtied.wrapping_sub(before.dirtied),
            written: self.written.wrapping_sub(before.written),
            log_records: self.log_records.wrapping_sub(before.log_records),
            log_bytes: self.log_bytes.wrapping_sub(before.log_bytes),
            times: self.times - before.times,
        }
    }
}

impl AddAssign for Usage {
    fn add_assign(&mut self, other: Usage) {
        self.hit += other.hit;
        self.read += other.read;
        self.dirtied += other.dirtied;
        self.written += other.written;
        self.log_records += other.log_records;
        self.log_bytes += other.log_bytes;
        self.times += other.times;
    }
}

/// The duration of timed I/O, in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct IoTimes {
    /// Reading pages.
    pub read: u64,
    /// Writing pages, and making the data file longer.
    pub write: u64,
    /// Reading temporary files.
    pub spill_read: u64,
    /// Writing temporary files.
    pub spill_write: u64,
}

impl IoTimes {
    fn of(counters: &Counters) -> IoTimes {
        let value = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        IoTimes {
            read: value(&counters.read_time),
            write: value(&counters.write_time).wrapping_add(value(&counters.extend_time)),
            spill_read: value(&counters.spill_read_time),
            spill_write: value(&counters.spill_write_time),
        }
    }
}

impl Sub for IoTimes {
    type Output = IoTimes;

    fn sub(self, before: IoTimes) -> IoTimes {
        IoTimes {
            read: self.read.wrapping_sub(before.read),
            write: self.write.wrapping_sub(before.write),
            spill_read: self.spill_read.wrapping_sub(before.spill_read),
            spill_write: self.spill_write.wrapping_sub(before.spill_write),
        }
    }
}

impl AddAssign for IoTimes {
    fn add_assign(&mut self, other: IoTimes) {
        self.read += other.read;
        self.write += other.write;
        self.spill_read += other.spill_read;
        self.spill_write += other.spill_write;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_an_ended_thread_counted_stays_with_its_kind() {
        let before = totals(Worker::Checkpointer);
        for _ in 0..3 {
            let thread = std::thread::spawn(|| {
                working_as(Worker::Checkpointer, || written(5));
                written(100);
            });
            thread.join().expect("it only counts");
        }
        assert_eq!((totals(Worker::Checkpointer) - before).written, 15);
    }
}
