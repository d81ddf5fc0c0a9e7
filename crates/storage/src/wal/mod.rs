//! The write-ahead log: one stream of records in one total order, without an
//! insertion lock.
//!
//! ```text
//!   append ─ reserve (one fetch-add) ─ copy ─ publish ─► ring ─► segment files
//!   append ─ reserve ─ copy ─ publish ──────────────────►  │        │
//!                                         flusher or leader┴─ write ┴ sync ─► durable ─► waiters
//! ```
//!
//! The log guarantees:
//!
//! 1. Records are in the log in the order of their reservations; a record's
//!    position is its LSN, and a reservation is the only shared step of an append.
//! 2. When [`Wal::flush`] (or the future of [`Wal::flush_async`]) up to a
//!    record's end has returned `Ok`, the record is read back after any crash.
//! 3. [`WalReader`] returns exactly a prefix of the appended records, without gaps and without
//!    other records. Damage to durable records is reported.
//! 4. After a failed write or sync nothing more is acknowledged ([`WalError::Failed`]), since the
//!    content of the disk is then unknown.
//! 5. If the disk is full, an append fails before it has changed anything ([`WalError::NoSpace`]).
//!
//! README.md beside this file describes the formats, the argument, and the assumptions about the
//! disk.

mod core;
mod error;
mod lsn;
mod reader;
mod record;
mod ring;
mod segment;
mod space;
mod waiters;

use std::cell::Cell;
use std::future::Future;
use std::path::Path;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::{Context, Poll};
use std::thread::JoinHandle;
use std::time::Duration;

use steppe_vfs::Vfs;

pub use self::core::WalStats;
pub use error::WalError;
pub use lsn::Lsn;
pub use reader::{OwnedRecord, Record, RecordReader, WalReader};
pub use record::{RecordHeader, USER_FLAGS};
pub use space::Priority;

pub(crate) use record::HEADER_LEN;

use self::core::Core;
use record::MAX_RECORD_LEN;
use segment::{BLOCK_SIZE, Layout, Segments};
use waiters::Ticket;

thread_local! {
    static LEAVES_FLUSHES: Cell<bool> = const { Cell::new(false) };
}

/// Makes the running thread leave flushes to the flusher from now on: the thread may be without a
/// processor for a while, and all commits would wait for it.
pub fn leave_flushes() {
    LEAVES_FLUSHES.set(true);
}

fn leaves_flushes() -> bool {
    LEAVES_FLUSHES.get()
}

/// Called once when the log fails: the server must stop. The caller holds locks of the log, so the
/// function must only pass on the news.
pub type OnFatal = Arc<dyn Fn(&WalError) + Send + Sync>;

/// Options of a log.
#[derive(Clone)]
pub struct WalOptions {
    /// Bytes of the in-memory ring (wal_buffers): a power of two, at least 16 KiB. A record must
    /// fit into a quarter of it.
    pub ring_size: usize,
    /// Bytes of log per segment (wal_segment_size): a power of two from 16 KiB
    /// to 1 GiB. Fixed when the log is created.
    pub segment_size: u64,
    /// Segments kept free for appends of [`Priority::MustSucceed`]; at least 1.
    pub reserve_segments: u64,
    /// The identity of the database: segments of another database are not read.
    pub system_id: u64,
    /// The longest time that bytes stay in memory if no thread waits for them.
    pub wal_writer_delay: Duration,
    /// Whether the log has threads of its own. Otherwise its callers do all work, in an order that
    /// a simulation can repeat.
    pub threads: bool,
    /// Called when the log fails.
    pub on_fatal: Option<OnFatal>,
}

impl Default for WalOptions {
    fn default() -> WalOptions {
        WalOptions {
            ring_size: 16 << 20,
            segment_size: 16 << 20,
            reserve_segments: 1,
            system_id: 0,
            wal_writer_delay: Duration::from_millis(200),
            threads: true,
            on_fatal: None,
        }
    }
}

impl std::fmt::Debug for WalOptions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("WalOptions")
            .field("ring_size", &self.ring_size)
            .field("segment_size", &self.segment_size)
            .field("reserve_segments", &self.reserve_segments)
            .field("system_id", &self.system_id)
            .field("wal_writer_delay", &self.wal_writer_delay)
            .field("threads", &self.threads)
            .finish_non_exhaustive()
    }
}

impl WalOptions {
    /// The first position of a new log with this segment size.
    pub fn first_lsn(&self) -> Lsn {
        Lsn(self.segment_size)
    }

    /// The longest record that this log accepts, header included.
    pub fn max_record_len(&self) -> usize {
        (self.ring_size / 4).min(MAX_RECORD_LEN)
    }

    /// Whether a log with these options can continue at `start`.
    pub(crate) fn check(&self, start: Lsn) -> Result<(), String> {
        let min = 4 * BLOCK_SIZE;
        if !self.ring_size.is_power_of_two() || (self.ring_size as u64) < min {
            return Err(format!("wal_buffers must be a power of two of at least {min} bytes"));
        }
        let sizes = min..=1 << 30;
        if !self.segment_size.is_power_of_two() || !sizes.contains(&self.segment_size) {
            return Err(format!("wal_segment_size must be a power of two from {min} to 1 GiB"));
        }
        if start < self.first_lsn() || !start.0.is_multiple_of(record::ALIGNMENT) {
            return Err(format!("the log cannot start at {start}"));
        }
        Ok(())
    }
}

/// The position of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Appended {
    /// The record's first byte. It identifies the record, and is a commit record's commit sequence
    /// number.
    pub start: Lsn,
    /// The first byte after the record: a flush up to here makes it durable.
    pub end: Lsn,
}

impl Appended {
    /// The record's position; `None` if there is no record because the change was unlogged.
    pub fn record(self) -> Option<Lsn> {
        Some(self.start).filter(|start| start.is_valid())
    }
}

/// A running log.
pub struct Wal {
    core: Arc<Core>,
    threads: Vec<JoinHandle<()>>,
}

impl Wal {
    /// Opens the log in `dir` in order to append at `start`: the end of the log that [`WalReader`]
    /// found, or [`WalOptions::first_lsn`] for a new one. On return everything before `start` is
    /// durable, and everything past it has been removed.
    pub fn open(
        vfs: Arc<dyn Vfs>,
        dir: &Path,
        options: WalOptions,
        start: Lsn,
    ) -> Result<Wal, WalError> {
        if let Err(message) = options.check(start) {
            let kind = steppe_vfs::ErrorKind::Io;
            return Err(steppe_vfs::Error::new("open log", dir, kind, &message).into());
        }
        let layout = Layout { segment_size: options.segment_size, system_id: options.system_id };
        let segments = Segments::for_writing(vfs, dir, layout, start)?;
        let threads = options.threads;
        let core = Arc::new(Core::new(options, segments, start)?);
        match core.make_wanted_segments() {
            // On a full disk recovery must still be able to use the existing segments.
            Ok(()) | Err(WalError::NoSpace(_)) => {}
            Err(e) => return Err(e),
        }
        let mut wal = Wal { core, threads: Vec::new() };
        if threads {
            wal.spawn("wal flusher", Core::run_flusher, dir)?;
            wal.spawn("wal space", Core::run_space_maker, dir)?;
        }
        Ok(wal)
    }

    fn spawn(&mut self, name: &str, run: fn(&Core), dir: &Path) -> Result<(), WalError> {
        let core = Arc::clone(&self.core);
        let handle = std::thread::Builder::new()
            .name(name.to_owned())
            .spawn(move || run(&core))
            .map_err(|e| steppe_vfs::Error::from_io("start a thread for", dir, e))?;
        self.threads.push(handle);
        Ok(())
    }

    /// Appends a record; its body is the concatenation of the parts in `body`. It has its place in
    /// the log's order at once, and is durable after a flush up to its end.
    pub fn append(&self, header: RecordHeader, body: &[&[u8]]) -> Result<Appended, WalError> {
        self.append_with(Priority::Normal, header, body)
    }

    /// As [`Wal::append`]; with [`Priority::MustSucceed`] the record may use the disk space
    /// reserved for ending existing work.
    pub fn append_with(
        &self,
        priority: Priority,
        header: RecordHeader,
        body: &[&[u8]],
    ) -> Result<Appended, WalError> {
        const MAX_PARTS: usize = 8;
        let core = &*self.core;
        core.check_failed()?;
        let total_len =
            record::header_len(&header) + body.iter().map(|part| part.len()).sum::<usize>();
        let limit = core.options.max_record_len();
        if total_len > limit {
            return Err(WalError::TooLarge { length: total_len, limit });
        }
        let len = (total_len as u64).next_multiple_of(record::ALIGNMENT);
        core.ensure_space(len, priority)?;

        let mut range = core.ring.reserve(len);
        let (start, end) = (Lsn(range.start()), Lsn(range.end()));
        let total_len = u32::try_from(total_len).expect("the limit is below 4 GiB");
        let header = record::encode(&header, start, total_len, core.durable());
        core.write_behind(end);
        if body.len() < MAX_PARTS {
            let mut parts: [&[u8]; MAX_PARTS] = [&[]; MAX_PARTS];
            parts[0] = header.bytes();
            parts[1..=body.len()].copy_from_slice(body);
            core.fill(&mut range, &parts[..=body.len()])?;
        } else {
            let parts: Vec<&[u8]> =
                std::iter::once(header.bytes()).chain(body.iter().copied()).collect();
            core.fill(&mut range, &parts)?;
        }
        core.ring.publish(range);
        crate::usage::logged(len as usize);
        Ok(Appended { start, end })
    }

    /// Reserves `bytes` more of log for the appends of [`Priority::MustSucceed`] that undo the
    /// caller's coming changes. Waits for the disk space, and fails if the disk is full; so it is
    /// called before a page is latched. [`Wal::unpledge`] gives the space back.
    pub fn pledge(&self, bytes: u64) -> Result<(), WalError> {
        self.core.check_failed()?;
        self.core.pledge(bytes)
    }

    /// Gives up a pledge: the work has ended or has been undone.
    pub fn unpledge(&self, bytes: u64) {
        self.core.unpledge(bytes);
    }

    /// The options that the log was opened with.
    pub fn options(&self) -> &WalOptions {
        &self.core.options
    }

    /// The start of the next record. It takes one atomic load, and is also the number of a
    /// snapshot: the snapshot sees the commits whose records start before it.
    pub fn insert_position(&self) -> Lsn {
        Lsn(self.core.ring.reserved())
    }

    /// Everything before this is in the files, though perhaps not on stable storage.
    pub fn written_lsn(&self) -> Lsn {
        self.core.written()
    }

    /// The name of the segment that contains `lsn`, and the offset in it.
    pub fn segment_of(&self, lsn: Lsn) -> (String, u64) {
        let layout = self.core.segments.layout();
        let segment = layout.segment_of(lsn);
        (layout.file_name(segment), lsn.0 - layout.start_of(segment).0)
    }

    /// Everything before this is on stable storage.
    pub fn durable_lsn(&self) -> Lsn {
        self.core.durable()
    }

    /// Whether everything before `lsn` is on stable storage.
    pub fn is_durable(&self, lsn: Lsn) -> bool {
        self.durable_lsn() >= lsn
    }

    /// Blocks until everything before `lsn` is on stable storage. The caller must not hold a page
    /// latch.
    pub fn flush(&self, lsn: Lsn) -> Result<(), WalError> {
        self.core.flush(lsn)
    }

    /// Flushes everything before `lsn` in the calling thread if this is expected to take no longer
    /// than `at_most`. Returns false if the caller should use [`Wal::flush_async`]. Leading a flush
    /// saves two thread switches, but the thread does nothing else meanwhile.
    pub fn try_flush(&self, lsn: Lsn, at_most: Duration) -> Result<bool, WalError> {
        self.core.try_flush(lsn, at_most)
    }

    /// A future that is ready when everything before `lsn` is on stable storage.
    pub fn flush_async(&self, lsn: Lsn) -> FlushFuture {
        FlushFuture { core: Arc::clone(&self.core), lsn, ticket: None }
    }

    /// Starts a flush of everything in the log now, without waiting for it.
    pub fn request_flush(&self) {
        self.core.request(self.insert_position());
    }

    /// Reads the record that starts at `lsn`, durable or not.
    pub fn read_at(&self, lsn: Lsn) -> Result<OwnedRecord, WalError> {
        let end = self.insert_position();
        if lsn >= end {
            return Err(WalError::PastEnd { lsn, end });
        }
        self.core.write_past(lsn)?;
        reader::read_record(&self.core.segments, lsn)
    }

    /// A reader for many records, which reads them as [`Wal::read_at`] does.
    pub fn record_reader(&self) -> RecordReader {
        RecordReader::new(Arc::clone(&self.core))
    }

    /// Gives up the segments that end at or before `lsn`. The caller no longer needs anything
    /// before it, even after a crash: the control file must durably contain that. Up to
    /// `min_wal_size` bytes ahead of the insert position the segments are recycled, the others are
    /// removed.
    pub fn remove_before(&self, lsn: Lsn, min_wal_size: u64) -> Result<usize, WalError> {
        self.core.check_failed()?;
        let lsn = lsn.min(self.durable_lsn());
        let ahead = self.insert_position().0.saturating_add(min_wal_size);
        let recycle_until = Lsn(ahead.max(self.core.wanted_capacity()));
        let removed = self.core.segments.remove_before(lsn, recycle_until);
        self.core.update_space_trigger();
        removed
    }

    /// Counts of writes and syncs.
    pub fn stats(&self) -> WalStats {
        self.core.stats()
    }

    /// Flushes everything and stops the threads: the end of a clean shutdown.
    pub fn shutdown(mut self) -> Result<Lsn, WalError> {
        let end = self.insert_position();
        let flushed = self.core.flush(end);
        self.stop_threads();
        flushed.map(|()| end)
    }

    fn stop_threads(&mut self) {
        self.core.stop.store(true, Ordering::SeqCst);
        self.core.space.stop();
        for thread in self.threads.drain(..) {
            thread.thread().unpark();
            // If the thread has panicked, it has reported that; there is nothing left to stop.
            let _ = thread.join();
        }
        self.core.close();
    }
}

impl Drop for Wal {
    /// Stops the threads. Bytes that were not flushed are lost, as in a crash; [`Wal::shutdown`]
    /// flushes first.
    fn drop(&mut self) {
        self.stop_threads();
    }
}

/// Ready when the log is durable up to a position. It holds no lock and borrows nothing; dropping
/// it ends the wait.
pub struct FlushFuture {
    core: Arc<Core>,
    lsn: Lsn,
    ticket: Option<Ticket>,
}

impl Future for FlushFuture {
    type Output = Result<(), WalError>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let core = Arc::clone(&self.core);
        match core.check_durable(self.lsn) {
            Ok(true) => return Poll::Ready(Ok(())),
            Err(e) => return Poll::Ready(Err(e)),
            Ok(false) if !core.options.threads => return Poll::Ready(core.flush(self.lsn)),
            Ok(false) => {}
        }
        let lsn = self.lsn;
        let ticket = *self.ticket.get_or_insert_with(|| core.waiters.ticket(lsn));
        core.waiters.wait(ticket, context.waker());
        core.request(self.lsn);
        // The flush may have ended between the first check and the entry in the queue.
        match core.check_durable(self.lsn) {
            Ok(true) => Poll::Ready(Ok(())),
            Err(e) => Poll::Ready(Err(e)),
            Ok(false) => Poll::Pending,
        }
    }
}

impl Drop for FlushFuture {
    fn drop(&mut self) {
        if let Some(ticket) = self.ticket {
            self.core.waiters.leave(ticket);
        }
    }
}
