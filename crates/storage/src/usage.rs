//! What the running thread has done to pages and to the log, for EXPLAIN's BUFFERS and WAL.
//!
//! The counters only grow and belong to one thread: counting is one addition to
//! thread-local memory, with no test of whether anybody asks. Who wants to know what a piece
//! of work cost takes [`Usage::now`] before and after it on the thread that does it.

use std::cell::Cell;
use std::ops::{AddAssign, Sub};

/// Counters of one thread.
struct Counters {
    hit: Cell<u64>,
    read: Cell<u64>,
    dirtied: Cell<u64>,
    written: Cell<u64>,
    log_records: Cell<u64>,
    log_bytes: Cell<u64>,
}

thread_local! {
    static COUNTERS: Counters = const {
        Counters {
            hit: Cell::new(0),
            read: Cell::new(0),
            dirtied: Cell::new(0),
            written: Cell::new(0),
            log_records: Cell::new(0),
            log_bytes: Cell::new(0),
        }
    };
}

fn add(counter: impl FnOnce(&Counters) -> &Cell<u64>, amount: u64) {
    COUNTERS.with(|counters| {
        let counter = counter(counters);
        counter.set(counter.get().wrapping_add(amount));
    });
}

/// A page was visited that was in memory.
#[inline]
pub(crate) fn hit() {
    add(|counters| &counters.hit, 1);
}

/// A page was read from the data file.
pub(crate) fn read() {
    add(|counters| &counters.read, 1);
}

/// A clean page was made dirty.
pub(crate) fn dirtied() {
    add(|counters| &counters.dirtied, 1);
}

/// Dirty pages were written by the thread that needed their room.
pub(crate) fn written(pages: usize) {
    add(|counters| &counters.written, pages as u64);
}

/// A record went to the log.
#[inline]
pub(crate) fn logged(bytes: usize) {
    add(|counters| &counters.log_records, 1);
    add(|counters| &counters.log_bytes, bytes as u64);
}

/// What was done to pages and to the log.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
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
}

impl Usage {
    /// All that this thread has done so far.
    pub fn now() -> Usage {
        COUNTERS.with(|counters| Usage {
            hit: counters.hit.get(),
            read: counters.read.get(),
            dirtied: counters.dirtied.get(),
            written: counters.written.get(),
            log_records: counters.log_records.get(),
            log_bytes: counters.log_bytes.get(),
        })
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
    }
}
