//! Writes pages back: log first, then the doublewrite file, then in place.
//!
//! Conditions:
//!
//! - W1. A copy of a page is written only after the log is durable up to the
//!   copy's LSN.
//! - W2. Whenever a page in the data file may be torn, a good copy of the same write is durable in
//!   the doublewrite file. A batch is written there and synced before its first page is written in
//!   place. Its area is reused only after the data file was synced after the batch.
//! - W3. Writes of one page reach the file in the order of its versions: one batch at a time,
//!   copied under the mutex that also covers the write.
//!
//! ```text
//!   area 0                          area 1
//!  ┌────────┬────┬────┬───┬────┐   ┌────────┬────┬────┬───┬────┐
//!  │ header │page│page│ … │page│   │ header │page│page│ … │page│
//!  └────────┴────┴────┴───┴────┘   └────────┴────┴────┴───┴────┘
//!  header: magic u64 │ sequence u64 │ count u32 │ crc32c u32 │ page id u64 …
//! ```
//!
//! Batches alternate between the areas, so these hold the last two batches, and the newest copy of
//! a page in them is the last one written to its place. So restoring a damaged page from it never
//! restores an older state.

use super::latch::Copied;
use super::memory::PageBuf;
use super::{Pool, Version};
use crate::error::{Result, StorageError};
use crate::options::FatalCallback;
use crate::page;
use crate::types::{PAGE_SIZE, PageId};
use crate::usage::{self, Io};
use crate::wal::{Lsn, Wal};
use parking_lot::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use steppe_vfs::File;

/// The most pages in one batch.
pub(crate) const BATCH: usize = 128;

const AREAS: usize = 2;
const AREA_BYTES: u64 = ((1 + BATCH) * PAGE_SIZE) as u64;
const MAGIC: u64 = u64::from_le_bytes(*b"stpdblwr");
const HEADER_IDS: usize = 24;
/// Page ids have 48 bits in log records.
const MAX_PAGE_ID: u64 = 1 << 48;

/// The length of the doublewrite file.
pub(crate) const FILE_BYTES: u64 = AREAS as u64 * AREA_BYTES;

/// The writer of pages.
pub(crate) struct WriteBack {
    data: Arc<dyn File>,
    double: Arc<dyn File>,
    wal: Arc<Wal>,
    batch: Mutex<Batch>,
    failure: OnceLock<String>,
    on_fatal: Option<FatalCallback>,
    pub(crate) pages_written: AtomicU64,
}

struct Batch {
    /// The next batch's sequence number. Its parity selects the area.
    sequence: u64,
    /// Whether the data file has unsynced writes of the area's batch.
    unsynced: [bool; AREAS],
    /// The header page and the pages.
    pages: Vec<PageBuf>,
    members: Vec<(PageId, Version)>,
}

impl WriteBack {
    pub(crate) fn new(
        data: Arc<dyn File>,
        double: Arc<dyn File>,
        wal: Arc<Wal>,
        on_fatal: Option<FatalCallback>,
        sequence: u64,
    ) -> WriteBack {
        let batch = Batch {
            sequence,
            unsynced: [true; AREAS],
            pages: vec![*PageBuf::zeroed()],
            members: Vec::new(),
        };
        WriteBack {
            data,
            double,
            wal,
            batch: Mutex::new(batch),
            failure: OnceLock::new(),
            on_fatal,
            pages_written: AtomicU64::new(0),
        }
    }

    /// Stops the store for good.
    #[cold]
    pub(crate) fn fail(&self, what: impl std::fmt::Display) {
        let what = what.to_string();
        if self.failure.set(what.clone()).is_ok()
            && let Some(callback) = &self.on_fatal
        {
            callback(&what);
        }
    }

    /// Returns an error if the store has stopped.
    #[inline]
    pub(crate) fn check(&self) -> Result<()> {
        match self.failure.get() {
            None => Ok(()),
            Some(what) => Err(StorageError::Fatal(what.clone())),
        }
    }

    fn fatal_unless_ok(&self, result: steppe_vfs::Result<()>) -> Result<()> {
        result.map_err(|error| {
            self.fail(&error);
            StorageError::Fatal(error.to_string())
        })
    }

    /// Makes all writes in place so far durable.
    pub(crate) fn sync(&self) -> Result<()> {
        self.check()?;
        self.sync_locked(&mut self.batch.lock())
    }

    fn sync_locked(&self, batch: &mut Batch) -> Result<()> {
        self.fatal_unless_ok(usage::timed(Io::DataSync, || self.data.sync_data()))?;
        usage::data_synced();
        batch.unsynced = [false; AREAS];
        Ok(())
    }

    /// Writes the batch's members (W1, W2).
    fn write_batch(&self, batch: &mut Batch) -> Result<()> {
        let count = batch.members.len();
        let newest = (1..=count).map(|i| page::lsn(batch.pages[i].page())).max();
        let newest = newest.unwrap_or(Lsn(0));
        self.wal.flush(newest)?;
        assert!(self.wal.durable_lsn() >= newest, "the log must be durable before the page (W1)");

        let area = (batch.sequence % AREAS as u64) as usize;
        if batch.unsynced[area] {
            self.sync_locked(batch)?;
        }
        write_header(batch);
        for page in &mut batch.pages[1..=count] {
            page::seal(page);
        }
        let offset = area as u64 * AREA_BYTES;
        let copies = PageBuf::all_bytes(&batch.pages[..=count]);
        self.fatal_unless_ok(usage::timed(Io::Write, || self.double.write_at(copies, offset)))?;
        self.fatal_unless_ok(usage::timed(Io::DataSync, || self.double.sync_data()))?;
        usage::data_synced();
        batch.unsynced[area] = true;
        batch.sequence += 1;
        let mut pages = &batch.pages[1..=count];
        // Consecutive pages are written together.
        for run in batch.members.chunk_by(|(a, _), (b, _)| a.0 + 1 == b.0) {
            let (these, rest) = pages.split_at(run.len());
            let place = run[0].0.0 * PAGE_SIZE as u64;
            let bytes = PageBuf::all_bytes(these);
            self.fatal_unless_ok(usage::timed(Io::Write, || self.data.write_at(bytes, place)))?;
            pages = rest;
        }
        self.pages_written.fetch_add(count as u64, Ordering::Relaxed);
        usage::written(count);
        Ok(())
    }
}

fn write_header(batch: &mut Batch) {
    let bytes = batch.pages[0].bytes_mut();
    bytes.fill(0);
    bytes[..8].copy_from_slice(&MAGIC.to_le_bytes());
    bytes[8..16].copy_from_slice(&batch.sequence.to_le_bytes());
    bytes[16..20].copy_from_slice(&(batch.members.len() as u32).to_le_bytes());
    for (index, (id, _)) in batch.members.iter().enumerate() {
        let at = HEADER_IDS + index * 8;
        bytes[at..at + 8].copy_from_slice(&id.0.to_le_bytes());
    }
    let crc = header_crc(bytes);
    bytes[20..24].copy_from_slice(&crc.to_le_bytes());
}

fn header_crc(bytes: &[u8; PAGE_SIZE]) -> u32 {
    let mut copy = *bytes;
    copy[20..24].fill(0);
    crc_fast::checksum(crc_fast::CrcAlgorithm::Crc32Iscsi, &copy) as u32
}

impl Pool {
    /// Writes the dirty pages among `ids` in batches, and marks them clean if they have not changed
    /// since. Returns the pages that a writer held: a caller that holds no latch may try them
    /// again.
    pub(crate) fn write_pages(&self, ids: &[PageId]) -> Result<Vec<PageId>> {
        self.writeback.check()?;
        let mut busy = Vec::new();
        for chunk in ids.chunks(BATCH) {
            let mut guard = self.writeback.batch.lock();
            let batch = &mut *guard;
            batch.members.clear();
            for &id in chunk {
                let position = batch.members.len() + 1;
                if batch.pages.len() == position {
                    batch.pages.push(*PageBuf::zeroed());
                }
                match self.copy_dirty(id, &mut batch.pages[position]) {
                    Copied::Clean => {}
                    Copied::Busy => busy.push(id),
                    Copied::Dirty(version) => batch.members.push((id, version)),
                }
            }
            if batch.members.is_empty() {
                continue;
            }
            self.writeback.write_batch(batch)?;
            for &(id, version) in &batch.members {
                self.mark_clean(id, version);
            }
        }
        Ok(busy)
    }

    /// Writes all dirty pages among `ids`, and waits for their writers. The caller must hold no
    /// latch.
    pub(crate) fn write_all(&self, ids: &[PageId]) -> Result<u64> {
        let before = self.writeback.pages_written.load(Ordering::Relaxed);
        let mut left = self.write_pages(ids)?;
        let mut backoff = super::Backoff::default();
        while !left.is_empty() {
            backoff.wait();
            left = self.write_pages(&left)?;
        }
        Ok(self.writeback.pages_written.load(Ordering::Relaxed) - before)
    }
}

/// The result of reading the doublewrite file at the start.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Restored {
    /// Pages restored in place.
    pub(crate) pages: u64,
    /// The next sequence number.
    pub(crate) next_sequence: u64,
}

/// Restores pages that were torn in place from their doublewrite copies, and syncs the data file.
/// Safe to repeat.
pub(crate) fn restore(data: &dyn File, double: &dyn File) -> Result<Restored> {
    let mut areas = Vec::new();
    for area in 0..AREAS {
        let mut header = PageBuf::zeroed();
        let offset = area as u64 * AREA_BYTES;
        double.read_at(header.bytes_mut(), offset)?;
        if let Some((sequence, ids)) = read_header(header.bytes()) {
            areas.push((sequence, offset, ids));
        }
    }
    areas.sort_unstable_by_key(|&(sequence, ..)| std::cmp::Reverse(sequence));
    let next_sequence = areas.first().map_or(0, |&(sequence, ..)| sequence + 1);
    let mut restored = Restored { pages: 0, next_sequence };
    for (_, offset, ids) in areas {
        for (index, id) in ids.into_iter().enumerate() {
            let at = offset + ((1 + index) * PAGE_SIZE) as u64;
            restored.pages += u64::from(restore_page(data, double, id, at)?);
        }
    }
    if restored.pages > 0 {
        data.sync_data()?;
    }
    Ok(restored)
}

fn restore_page(data: &dyn File, double: &dyn File, id: PageId, at: u64) -> Result<bool> {
    let mut page = PageBuf::zeroed();
    let place = id.0 * PAGE_SIZE as u64;
    data.read_at(page.bytes_mut(), place)?;
    if page::verify(&page, id).is_ok() {
        return Ok(false);
    }
    double.read_at(page.bytes_mut(), at)?;
    if page::verify(&page, id).is_err() {
        // The batch never became durable, so none of it was written in place: the page is as its
        // last write left it, and redo decides whether it is good.
        return Ok(false);
    }
    data.write_at(page.bytes(), place)?;
    Ok(true)
}

fn read_header(bytes: &[u8; PAGE_SIZE]) -> Option<(u64, Vec<PageId>)> {
    let word = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().expect("8 bytes"));
    let half = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().expect("4 bytes"));
    let count = half(16) as usize;
    let good = word(0) == MAGIC && count <= BATCH && half(20) == header_crc(bytes);
    if !good {
        return None;
    }
    let ids = (0..count).map(|i| PageId(word(HEADER_IDS + i * 8)));
    let ids: Vec<PageId> = ids.filter(|id| id.0 < MAX_PAGE_ID).collect();
    (ids.len() == count).then_some((word(8), ids))
}
