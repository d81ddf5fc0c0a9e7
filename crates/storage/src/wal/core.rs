//! The running log: from the ring to the files, and durability.
//!
//! Two locks, always taken in this order:
//!
//! 1. `flush_lock`: one flush (write and sync) at a time. Its holder is the leader: the flusher
//!    thread, or a caller that found the lock free. After unlocking, the leader looks for requests
//!    that arrived during its flush and wakes the flusher for them. So a request that finds the
//!    lock taken wakes no thread.
//! 2. `writer`: moves published bytes from the ring to the files, without sync. The leader holds it
//!    during its write only, so that an appender that finds the ring full can write it out while a
//!    sync is under way.
//!
//! Groups form by themselves: the next flush writes and syncs all that is published during the
//! current sync.
//!
//! Records get their checksums here, before they are written: an appender only copies, and the
//! write would read the bytes anyway.

use std::cell::Cell;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering, fence};
use std::sync::{Arc, OnceLock};
use std::thread::Thread;
use std::time::{Duration, Instant};

use parking_lot::{Mutex, MutexGuard};
use steppe_vfs::{AlignedBuffer, File};

use super::record::{self, Invalid, Prefix};
use super::ring::{Consumer, Reservation, Ring};
use super::segment::{BLOCK_BYTES, BLOCK_SIZE, Segments};
use super::space::SpaceMaker;
use super::waiters::{Waiters, thread_waker};
use super::{Lsn, WalError, WalOptions};
use crate::usage::{Io, timed};

/// Writes up to this size are gathered into one buffer and written at once.
const GATHER_LIMIT: u64 = 64 * 1024;

/// The most bytes in the gather buffer: both ends are filled up to whole blocks.
const GATHER_MAX: usize = GATHER_LIMIT as usize + 2 * BLOCK_BYTES;

/// When this many bytes, or half of the ring, are waiting in the ring, the flusher writes them
/// without sync. A commit then finds little left to write, and appenders find room.
const WRITE_BEHIND: u64 = 1 << 20;

/// A write past the page cache takes as long as the device does. A caller that has better things to
/// do than wait writes at most this much.
const SHORT_WRITE: u64 = 128 * 1024;

/// The number of times that a leader checks whether appenders have finished copying before it
/// writes without them.
const SPINS_FOR_PUBLICATION: u32 = 200;

/// Segments by number, with their file handles.
type DirtyFiles = Vec<(u64, Arc<dyn File>)>;

/// The writing side of the files.
pub(super) struct Writer {
    consumer: Consumer,
    /// Everything before this position is in the files (though perhaps not durable).
    written: u64,
    /// Records that start before this have their checksums; at or after `written`.
    summed: u64,
    /// Files written since they were last synced.
    dirty: DirtyFiles,
    gather: AlignedBuffer,
}

/// The state that the log's handle, its threads and its futures share.
pub(super) struct Core {
    pub(super) options: WalOptions,
    pub(super) segments: Segments,
    pub(super) ring: Arc<Ring>,
    writer: Mutex<Writer>,
    flush_lock: Mutex<()>,
    durable: AtomicU64,
    /// The writer's `written`, for threads that do not hold the lock.
    written: AtomicU64,
    /// The flusher has been asked to write what is published.
    write_wanted: AtomicBool,
    /// The furthest position that a caller wants durable.
    requested: AtomicU64,
    pub(super) waiters: Waiters,
    pub(super) space: SpaceMaker,
    /// Appends that end past this position first make sure of disk space.
    pub(super) space_trigger: AtomicU64,
    /// Bytes of log reserved for undoing running transactions.
    pub(super) pledged: AtomicU64,
    failed: AtomicBool,
    failure: OnceLock<Arc<str>>,
    flusher: OnceLock<Thread>,
    /// Whether the flusher is parked, or about to be.
    flusher_idle: AtomicBool,
    /// The usual duration of a small flush, in nanoseconds.
    flush_nanos: AtomicU64,
    pub(super) stop: AtomicBool,
    counters: Counters,
}

#[derive(Default)]
struct Counters {
    writes: AtomicU64,
    syncs: AtomicU64,
    bytes_written: AtomicU64,
}

/// Counts of the log's I/O since it was opened (for pg_stat_wal).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WalStats {
    /// Writes to segment files.
    pub writes: u64,
    /// Syncs of segment files.
    pub syncs: u64,
    /// Bytes written, partial blocks counted in full.
    pub bytes_written: u64,
}

impl Core {
    pub(super) fn new(
        options: WalOptions,
        segments: Segments,
        start: Lsn,
    ) -> Result<Core, WalError> {
        // The last block is written again as a whole: its beginning must be in the ring.
        let block_start = start.0 / BLOCK_SIZE * BLOCK_SIZE;
        let prefix_len = usize::try_from(start.0 - block_start).expect("below the block size");
        let mut prefix = vec![0; prefix_len];
        if segments.read(Lsn(block_start), &mut prefix)? < prefix_len {
            return Err(segments.corrupt(start, "the block before the end of the log is missing"));
        }
        let (ring, consumer) = Ring::new(options.ring_size, start.0, &prefix);
        let writer = Writer {
            consumer,
            written: start.0,
            summed: start.0,
            dirty: Vec::new(),
            gather: AlignedBuffer::new(GATHER_MAX),
        };
        let core = Core {
            options,
            segments,
            ring,
            writer: Mutex::new(writer),
            flush_lock: Mutex::new(()),
            durable: AtomicU64::new(start.0),
            written: AtomicU64::new(start.0),
            write_wanted: AtomicBool::new(false),
            requested: AtomicU64::new(0),
            waiters: Waiters::default(),
            space: SpaceMaker::default(),
            space_trigger: AtomicU64::new(0),
            pledged: AtomicU64::new(0),
            failed: AtomicBool::new(false),
            failure: OnceLock::new(),
            flusher: OnceLock::new(),
            flusher_idle: AtomicBool::new(false),
            flush_nanos: AtomicU64::new(0),
            stop: AtomicBool::new(false),
            counters: Counters::default(),
        };
        Ok(core)
    }

    // ---- failure ----

    pub(super) fn check_failed(&self) -> Result<(), WalError> {
        if self.failed.load(Ordering::Acquire) { Err(self.failure()) } else { Ok(()) }
    }

    fn failure(&self) -> WalError {
        WalError::Failed(self.failure.get().cloned().unwrap_or_else(|| "unknown".into()))
    }

    /// Marks the log as failed, since the content of the disk is unknown: it stops writing, wakes
    /// all waiters, and asks the server to stop.
    pub(super) fn fail(&self, error: &dyn std::fmt::Display) -> WalError {
        let first = self.failure.set(error.to_string().into()).is_ok();
        self.failed.store(true, Ordering::Release);
        self.waiters.wake_all();
        if first && let Some(on_fatal) = &self.options.on_fatal {
            on_fatal(&self.failure());
        }
        self.failure()
    }

    /// Ends the waits that remain after the threads have stopped.
    pub(super) fn close(&self) {
        // If the log failed before, that reason stays.
        let _ = self.failure.set("it has been closed".into());
        self.failed.store(true, Ordering::Release);
        self.waiters.wake_all();
    }

    // ---- appending ----

    /// Waits until the range fits the ring, writing the ring out meanwhile.
    pub(super) fn fill(&self, range: &mut Reservation, parts: &[&[u8]]) -> Result<(), WalError> {
        let (mut fruitless, mut is_full) = (0_u32, false);
        while !self.ring.fill(range, parts) {
            self.check_failed()?;
            if !std::mem::replace(&mut is_full, true) {
                crate::usage::log_ring_full();
            }
            let progress = match self.writer.try_lock() {
                Some(mut writer) => {
                    let before = writer.written;
                    self.write_out(&mut writer)?;
                    writer.written > before
                }
                None => false,
            };
            // Another thread is writing, or an earlier record is still being copied.
            fruitless = if progress { 0 } else { fruitless + 1 };
            match fruitless {
                0 => {}
                1..100 => std::thread::yield_now(),
                _ => std::thread::sleep(std::time::Duration::from_micros(50)),
            }
        }
        Ok(())
    }

    // ---- writing ----

    /// Writes the published bytes to the files, without sync.
    fn write_out(&self, writer: &mut Writer) -> Result<(), WalError> {
        self.check_failed()?;
        let published = writer.consumer.advance();
        while writer.written < published {
            let layout = self.segments.layout();
            let segment = layout.segment_of(Lsn(writer.written));
            let to = published.min(layout.start_of(segment + 1).0);
            let from = writer.written / BLOCK_SIZE * BLOCK_SIZE;
            let file = self.segment_for_writing(segment)?;
            self.sum_records(writer, to)?;
            self.write_range(writer, &*file, from, to).map_err(|e| self.fail(&e))?;
            if writer.dirty.last().is_none_or(|(last, _)| *last != segment) {
                writer.dirty.push((segment, file));
            }
            writer.written = to;
            self.written.store(to, Ordering::Release);
            // The last block stays in the ring: it is written again with what follows.
            writer.consumer.release(to / BLOCK_SIZE * BLOCK_SIZE);
        }
        Ok(())
    }

    /// Computes the checksums of the published records that start before `to`.
    fn sum_records(&self, writer: &mut Writer, to: u64) -> Result<(), WalError> {
        while writer.summed < to {
            let start = writer.summed;
            let total_len = published_len(&writer.consumer, Lsn(start)).map_err(|invalid| {
                self.fail(&format!("the log's buffer is damaged at {}: {invalid}", Lsn(start)))
            })?;
            let (head, tail) = writer.consumer.read(start, start + total_len as u64);
            let crc = record::checksum(head, tail);
            writer.consumer.overwrite(start + record::CHECKSUM.start as u64, &crc.to_le_bytes());
            writer.summed = record::end_of(Lsn(start), total_len).0;
        }
        Ok(())
    }

    /// A segment that reserved records need. It nearly always exists: only a burst of appends that
    /// must succeed can exceed the reserve.
    fn segment_for_writing(&self, segment: u64) -> Result<Arc<dyn File>, WalError> {
        while self.segments.capacity_end() <= self.segments.layout().start_of(segment) {
            if let Err(e) = self.segments.make_next() {
                return Err(self.fail(&e));
            }
        }
        self.segments.existing(segment).map_err(|e| self.fail(&e))
    }

    /// Writes whole blocks: `from` is a block's start, and the last block is filled up with zeros
    /// after `to`. So the kernel never reads a recycled segment's old block first, and none of its
    /// bytes remain.
    fn write_range(
        &self,
        writer: &mut Writer,
        file: &dyn File,
        from: u64,
        to: u64,
    ) -> Result<(), steppe_vfs::Error> {
        let mut position = from;
        if to - from > GATHER_LIMIT {
            let whole = to / BLOCK_SIZE * BLOCK_SIZE;
            let (head, tail) = writer.consumer.read(from, whole);
            for part in [head, tail].into_iter().filter(|part| !part.is_empty()) {
                self.write_at(file, part, position)?;
                position += part.len() as u64;
            }
        }
        if position < to {
            let padded = to.next_multiple_of(BLOCK_SIZE) - position;
            let (head, tail) = writer.consumer.read(position, to);
            writer.gather.clear();
            writer.gather.extend_from_slice(head);
            writer.gather.extend_from_slice(tail);
            let padded = usize::try_from(padded).expect("a gathered write is small");
            writer.gather.pad_to(padded);
            self.write_at(file, &writer.gather, position)?;
        }
        Ok(())
    }

    fn write_at(&self, file: &dyn File, bytes: &[u8], lsn: u64) -> Result<(), steppe_vfs::Error> {
        self.counters.writes.fetch_add(1, Ordering::Relaxed);
        self.counters.bytes_written.fetch_add(bytes.len() as u64, Ordering::Relaxed);
        crate::usage::log_written(bytes.len());
        let place = self.segments.layout().offset_of(Lsn(lsn));
        timed(Io::LogWrite, || file.write_at(bytes, place))
    }

    /// Everything before this is in the files, though perhaps not durable.
    pub(super) fn written(&self) -> Lsn {
        Lsn(self.written.load(Ordering::Acquire))
    }

    /// Writes the log to the files at least up to `lsn`, without sync, so that it can be read from
    /// there.
    pub(super) fn write_past(&self, lsn: Lsn) -> Result<(), WalError> {
        loop {
            self.check_failed()?;
            let mut writer = self.writer.lock();
            self.write_out(&mut writer)?;
            if writer.written > lsn.0 {
                return Ok(());
            }
            // The record is reserved but still being copied.
            drop(writer);
            std::thread::yield_now();
        }
    }

    // ---- flushing ----

    pub(super) fn durable(&self) -> Lsn {
        Lsn(self.durable.load(Ordering::Acquire))
    }

    pub(super) fn stats(&self) -> WalStats {
        WalStats {
            writes: self.counters.writes.load(Ordering::Relaxed),
            syncs: self.counters.syncs.load(Ordering::Relaxed),
            bytes_written: self.counters.bytes_written.load(Ordering::Relaxed),
        }
    }

    /// Whether `lsn` is durable; an error if it never becomes durable.
    pub(super) fn check_durable(&self, lsn: Lsn) -> Result<bool, WalError> {
        if self.durable() >= lsn {
            return Ok(true);
        }
        self.check_failed()?;
        let end = Lsn(self.ring.reserved());
        if lsn > end {
            return Err(WalError::PastEnd { lsn, end });
        }
        Ok(false)
    }

    /// Notes that a caller wants `lsn` durable, and wakes the flusher if it sleeps. A working
    /// flusher looks for requests once more after unlocking.
    pub(super) fn request(&self, lsn: Lsn) {
        self.requested.fetch_max(lsn.0, Ordering::SeqCst);
        // Pairs with the fence in `lead_and_hand_over`: either this thread sees the lock free, or
        // its holder sees the request.
        fence(Ordering::SeqCst);
        if !self.flush_lock.is_locked() {
            self.wake_flusher();
        }
    }

    /// Flushes the published bytes in the calling thread if no other thread is flushing and recent
    /// flushes took no longer than `at_most`. Returns whether `lsn` is durable.
    pub(super) fn try_flush(&self, lsn: Lsn, at_most: Duration) -> Result<bool, WalError> {
        if self.check_durable(lsn)? {
            return Ok(true);
        }
        self.requested.fetch_max(lsn.0, Ordering::SeqCst);
        let lately = Duration::from_nanos(self.flush_nanos.load(Ordering::Relaxed));
        let waiting = lsn.0.saturating_sub(self.written().0);
        if lately > at_most || waiting > SHORT_WRITE || !self.options.threads {
            return Ok(false);
        }
        let Some(leadership) = self.flush_lock.try_lock() else { return Ok(false) };
        self.lead_and_hand_over(leadership)?;
        self.check_durable(lsn)
    }

    /// Flushes once; requests that arrived during the flush are left to the flusher.
    fn lead_and_hand_over(&self, leadership: MutexGuard<'_, ()>) -> Result<(), WalError> {
        let led = self.lead(&leadership);
        drop(leadership);
        fence(Ordering::SeqCst);
        if self.options.threads && self.requested.load(Ordering::SeqCst) > self.durable().0 {
            self.wake_flusher();
        }
        led
    }

    /// Wakes the flusher to write when much is waiting, unless it has already been asked.
    pub(super) fn write_behind(&self, end: Lsn) {
        let much = WRITE_BEHIND.min(self.ring.size() as u64 / 2);
        if end.0.saturating_sub(self.written().0) > much
            && self.options.threads
            && !self.write_wanted.load(Ordering::Relaxed)
            && !self.write_wanted.swap(true, Ordering::SeqCst)
        {
            self.wake_flusher();
        }
    }

    fn wake_flusher(&self) {
        // One swap decides which thread wakes the flusher: a group costs one wake-up.
        if self.flusher_idle.load(Ordering::SeqCst)
            && self.flusher_idle.swap(false, Ordering::SeqCst)
            && let Some(flusher) = self.flusher.get()
        {
            flusher.unpark();
        }
    }

    /// Blocks until everything before `lsn` is durable.
    pub(super) fn flush(&self, lsn: Lsn) -> Result<(), WalError> {
        while !self.check_durable(lsn)? {
            self.requested.fetch_max(lsn.0, Ordering::SeqCst);
            if !self.options.threads {
                let leadership = self.flush_lock.lock();
                if !self.check_durable(lsn)? {
                    self.lead(&leadership)?;
                }
            } else if !super::leaves_flushes()
                && let Some(leadership) = self.flush_lock.try_lock()
            {
                // Flushing in this thread saves two thread switches.
                self.lead_and_hand_over(leadership)?;
            } else {
                self.wait_for_leader(lsn)?;
            }
        }
        Ok(())
    }

    /// Waits while another thread flushes; the flusher thread flushes the rest.
    fn wait_for_leader(&self, lsn: Lsn) -> Result<(), WalError> {
        let ticket = self.waiters.ticket(lsn);
        self.waiters.wait(ticket, &thread_waker());
        self.wake_flusher();
        let result = loop {
            match self.check_durable(lsn) {
                Ok(false) => std::thread::park(),
                Ok(true) => break Ok(()),
                Err(e) => break Err(e),
            }
        };
        self.waiters.leave(ticket);
        result
    }

    /// Writes and syncs all published bytes, at least once.
    pub(super) fn flush_published(&self) -> Result<(), WalError> {
        let leadership = self.flush_lock.lock();
        self.lead_and_hand_over(leadership)
    }

    /// Does one flush: the holder of the flush lock is the leader.
    fn lead(&self, _leadership: &MutexGuard<'_, ()>) -> Result<(), WalError> {
        let requested = self.requested.load(Ordering::SeqCst);
        let (before, start) = (self.written(), Instant::now());
        let (written, dirty) = self.write_group(requested)?;
        for (_, file) in &dirty {
            self.counters.syncs.fetch_add(1, Ordering::Relaxed);
            crate::usage::log_synced();
            timed(Io::LogSync, || file.sync_data()).map_err(|e| self.fail(&e))?;
        }
        if !dirty.is_empty() && written.saturating_sub(before.0) <= SHORT_WRITE {
            self.note_flush(start.elapsed());
        }
        // Another thread's write may have failed in the meantime; its lost bytes would be below
        // `written`.
        self.check_failed()?;
        self.durable.store(written, Ordering::Release);
        self.waiters.wake_up_to(Lsn(written));
        Ok(())
    }

    /// Moves the usual duration of a flush by an eighth of the distance towards this one.
    fn note_flush(&self, took: Duration) {
        let took = u64::try_from(took.as_nanos()).unwrap_or(u64::MAX);
        let usual = self.flush_nanos.load(Ordering::Relaxed);
        self.flush_nanos.store(usual - usual / 8 + took / 8, Ordering::Relaxed);
    }

    /// Writes the published bytes. It first waits a moment for appenders that are still copying
    /// requested records.
    fn write_group(&self, requested: u64) -> Result<(u64, DirtyFiles), WalError> {
        let mut writer = self.writer.lock();
        let mut spins = 0;
        while writer.consumer.advance() < requested && spins < SPINS_FOR_PUBLICATION {
            spins += 1;
            if spins.is_multiple_of(20) {
                std::thread::yield_now();
            } else {
                std::hint::spin_loop();
            }
        }
        self.write_out(&mut writer)?;
        Ok((writer.written, std::mem::take(&mut writer.dirty)))
    }

    /// The flusher thread: it flushes while there are requests, writes when much is waiting, and
    /// otherwise sleeps. Every `wal_writer_delay` it also flushes bytes that no thread waits for,
    /// even if it is often woken to write.
    pub(super) fn run_flusher(&self) {
        use crate::usage::{Worker, at_work, work_as};
        work_as(Worker::WalWriter);
        let flushed = Cell::new(Instant::now());
        let flush = || {
            flushed.set(Instant::now());
            at_work(Worker::WalWriter, || self.flush_published())
        };
        let write = || at_work(Worker::WalWriter, || self.write_out(&mut self.writer.lock()));
        if self.flusher.set(std::thread::current()).is_err() {
            return;
        }
        let wanted = || self.requested.load(Ordering::SeqCst) > self.durable().0;
        let write_wanted = || self.write_wanted.load(Ordering::SeqCst);
        while !self.stop.load(Ordering::SeqCst) {
            if wanted() {
                if flush().is_err() {
                    return;
                }
                continue;
            }
            if self.write_wanted.swap(false, Ordering::SeqCst) {
                let is_due = flushed.get().elapsed() >= self.options.wal_writer_delay;
                if (if is_due { flush() } else { write() }).is_err() {
                    return;
                }
                continue;
            }
            self.flusher_idle.store(true, Ordering::SeqCst);
            if wanted() || write_wanted() || self.stop.load(Ordering::SeqCst) {
                self.flusher_idle.store(false, Ordering::SeqCst);
                continue;
            }
            std::thread::park_timeout(self.options.wal_writer_delay);
            let slept_through = self.flusher_idle.swap(false, Ordering::SeqCst);
            let behind = self.ring.reserved() > self.durable().0;
            if slept_through && behind && flush().is_err() {
                return;
            }
        }
    }
}

/// The checked length of the record at `start`: only its appender has seen it before.
fn published_len(consumer: &Consumer, start: Lsn) -> Result<usize, Invalid> {
    let (head, tail) = consumer.read(start.0, start.0 + Prefix::LEN as u64);
    let prefix = match tail {
        [] => Prefix::decode(head, start),
        _ => Prefix::decode(&[head, tail].concat(), start),
    };
    prefix.map(|prefix| prefix.total_len)
}
