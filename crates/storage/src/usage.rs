//! What threads have done to pages and to the log: for EXPLAIN's BUFFERS and WAL, pg_stat_io
//! and their kin.
//!
//! ```text
//!   thread ── its Counters (lines of memory that nobody else writes) ─┐
//!   thread ── its Counters ───────────────────────────────────────────┼─ totals(): read, summed
//!   ended  ── Counters for the next thread of the kind ───────────────┘
//! ```
//!
//! The counters only grow and are written by one thread at a time: counting is one addition to
//! memory that is the thread's own, with no test of whether anybody asks and no locked
//! instruction. To learn what a piece of work cost, take [`Usage::now`] before and after
//! it on the thread that does it; what all have done is in [`totals`]. They
//! count for the process: a second store in it counts along.
//!
//! What I/O takes is measured where it is asked for: track_io_timing and track_wal_io_timing, by
//! the session that a thread works for ([`time_io`]), or else the server's.
//!
//! A thread begins as a client's backend; [`work_as`] says what else it is. What it did as one
//! kind stays with that kind.

use std::cell::Cell;
use std::ops::{AddAssign, Sub};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Instant;

use parking_lot::Mutex;
use serde::{Deserialize, Serialize};

/// What a thread works as: pg_stat_io's backend_type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Worker {
    /// It runs statements.
    ClientBackend,
    /// It evicts pages ahead of need.
    BackgroundWriter,
    /// It takes checkpoints.
    Checkpointer,
    /// It recovers.
    Startup,
    /// It writes and syncs the log.
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
        /// What one thread counts, on cache lines of its own.
        #[derive(Default)]
        #[repr(align(128))]
        struct Counters {
            $($name: AtomicU64,)*
        }

        /// What the threads of a kind have counted.
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
    /// Visits of pages that were in memory.
    hit,
    /// Pages read from the data file.
    read,
    /// Those of them that were read past the pool.
    bulk_read,
    /// By how many reads.
    bulk_reads,
    /// Clean pages made dirty.
    dirtied,
    /// Pages written to the data file.
    written,
    /// Pages that were given room in memory.
    allocated,
    /// Pages that left memory.
    evicted,
    /// Times the data file was made longer.
    extended,
    /// By how many pages.
    extended_pages,
    /// Syncs of the data file and the doublewrite area.
    data_syncs,
    /// Log records.
    log_records,
    /// Their bytes.
    log_bytes,
    /// Records that found the log's ring full.
    log_ring_full,
    /// Writes to the log's segments.
    log_writes,
    /// Bytes written to them.
    log_bytes_written,
    /// Syncs of them.
    log_syncs,
    /// Segments made.
    log_segments,
    /// Their bytes.
    log_segment_bytes,
    /// Nanoseconds that reads of pages took, as far as they were timed; so the others below.
    read_time,
    /// Writes of pages and of the doublewrite area.
    write_time,
    /// Making the data file longer.
    extend_time,
    /// Syncs of the data file and the doublewrite area.
    data_sync_time,
    /// Writes to the log's segments.
    log_write_time,
    /// Syncs of them.
    log_sync_time,
    /// Making segments.
    log_segment_time,
    /// Reads of temporary files.
    spill_read_time,
    /// Writes of them.
    spill_write_time,
}

/// Which I/O a thread times.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Timing {
    /// Of pages: track_io_timing.
    pub pages: bool,
    /// Of the log: track_wal_io_timing.
    pub log: bool,
}

/// All counters there are, by kind.
struct Registry {
    all: Vec<(Worker, &'static Counters)>,
    /// Those whose thread has ended.
    free: Vec<(Worker, &'static Counters)>,
}

static REGISTRY: Mutex<Registry> = Mutex::new(Registry { all: Vec::new(), free: Vec::new() });

thread_local! {
    static CURRENT: Cell<Option<&'static Counters>> = const { Cell::new(None) };
    static LEASE: Lease = const { Lease(Cell::new(None)) };
    static TIMING: Cell<Option<Timing>> = const { Cell::new(None) };
}

/// What threads time that work for no session: seldom written, and read where there is I/O.
static TIMED_PAGES: AtomicBool = AtomicBool::new(false);
static TIMED_LOG: AtomicBool = AtomicBool::new(false);

/// Says which I/O threads time that are not told anything else.
pub fn time_io_by_default(timing: Timing) {
    TIMED_PAGES.store(timing.pages, Ordering::Relaxed);
    TIMED_LOG.store(timing.log, Ordering::Relaxed);
}

/// Says which I/O the running thread times from now on; `None`: that of the default.
#[inline]
pub fn time_io(timing: Option<Timing>) {
    TIMING.set(timing);
}

/// Which I/O the running thread times.
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
    /// Syncing it.
    LogSync,
    /// Making a segment.
    LogSegment,
    /// Reading a temporary file.
    SpillRead,
    /// Writing one.
    SpillWrite,
}

/// Does I/O, and counts what it takes if that is asked for.
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

/// Gives a thread's counters to the next thread of the kind when it ends: they are never freed,
/// and there are no more of them than threads at a time.
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
        // What other destructors of this thread still count is counted apart.
        CURRENT.set(None);
        self.end();
    }
}

/// Says what the running thread is from now on.
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
    // A thread that is being taken apart keeps them for good.
    let _no_lease = LEASE.try_with(|lease| lease.0.set(Some((worker, counters))));
    CURRENT.set(Some(counters));
    before.ok().flatten().map_or(Worker::ClientBackend, |(kind, _)| kind)
}

/// Has the running thread work as another kind for the time of `f`.
pub fn working_as<T>(worker: Worker, f: impl FnOnce() -> T) -> T {
    let before = work_as(worker);
    let result = at_work(worker, f);
    work_as(before);
    result
}

/// Whether a kind of which there is one has something to do, on a line of its own.
#[repr(align(128))]
struct Gauge(AtomicBool);

static AT_WORK: [Gauge; Worker::ALL.len()] =
    [const { Gauge(AtomicBool::new(false)) }; Worker::ALL.len()];

/// Says, for the time of `f`, that the only thread of a kind works.
pub(crate) fn at_work<T>(worker: Worker, f: impl FnOnce() -> T) -> T {
    let Gauge(gauge) = &AT_WORK[worker as usize];
    gauge.store(true, Ordering::Relaxed);
    let result = f();
    gauge.store(false, Ordering::Relaxed);
    result
}

/// Whether a kind of which there is one works just now, or else waits for work.
pub fn is_at_work(worker: Worker) -> bool {
    AT_WORK[worker as usize].0.load(Ordering::Relaxed)
}

/// What all threads of a kind have done since the process started.
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
    // Just set.
    CURRENT.get().unwrap_or_else(|| Box::leak(Box::default()))
}

#[inline]
fn add(counter: &AtomicU64, amount: u64) {
    // Nobody else writes it.
    counter.store(counter.load(Ordering::Relaxed).wrapping_add(amount), Ordering::Relaxed);
}

/// A page was visited that was in memory.
#[inline]
pub(crate) fn hit() {
    add(&current().hit, 1);
}

/// A page was read from the data file.
pub(crate) fn read() {
    add(&current().read, 1);
}

/// Pages were asked for at once, to be used past the pool.
pub(crate) fn bulk_asked() {
    add(&current().bulk_reads, 1);
}

/// One of them was used.
pub(crate) fn bulk_read() {
    let counters = current();
    add(&counters.read, 1);
    add(&counters.bulk_read, 1);
}

/// A clean page was made dirty.
pub(crate) fn dirtied() {
    add(&current().dirtied, 1);
}

/// Dirty pages were written.
pub(crate) fn written(pages: usize) {
    add(&current().written, pages as u64);
}

/// A page got room in memory.
pub(crate) fn allocated() {
    add(&current().allocated, 1);
}

/// Pages left memory.
pub(crate) fn evicted(pages: usize) {
    add(&current().evicted, pages as u64);
}

/// The data file was made longer.
pub(crate) fn extended(pages: u64) {
    add(&current().extended, 1);
    add(&current().extended_pages, pages);
}

/// The data file or the doublewrite area was synced.
pub(crate) fn data_synced() {
    add(&current().data_syncs, 1);
}

/// A record went to the log.
#[inline]
pub(crate) fn logged(bytes: usize) {
    let counters = current();
    add(&counters.log_records, 1);
    add(&counters.log_bytes, bytes as u64);
}

/// A record found the log's ring full.
pub(crate) fn log_ring_full() {
    add(&current().log_ring_full, 1);
}

/// A part of the log was written to its segment.
pub(crate) fn log_written(bytes: usize) {
    add(&current().log_writes, 1);
    add(&current().log_bytes_written, bytes as u64);
}

/// A segment of the log was synced.
pub(crate) fn log_synced() {
    add(&current().log_syncs, 1);
}

/// A segment of the log was made.
pub(crate) fn log_segment_made(bytes: u64) {
    add(&current().log_segments, 1);
    add(&current().log_segment_bytes, bytes);
}

/// What was done to pages and to the log.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Usage {
    /// Visits of pages that were in memory.
    pub hit: u64,
    /// Pages read from the data file.
    pub read: u64,
    /// Clean pages made dirty.
    pub dirtied: u64,
    /// Pages written to make room.
    pub written: u64,
    /// Log records.
    pub log_records: u64,
    /// Their bytes.
    pub log_bytes: u64,
    /// What I/O took.
    pub times: IoTimes,
}

impl Usage {
    /// All that this thread has done so far.
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

/// What I/O took, in nanoseconds, as far as it was timed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct IoTimes {
    /// Reading pages.
    pub read: u64,
    /// Writing pages, and making the data file longer.
    pub write: u64,
    /// Reading temporary files.
    pub spill_read: u64,
    /// Writing them.
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
