//! Reads pages past the pool, for scans of more pages than the pool should hold.
//!
//! A scan of a large table would evict pages that others need, only to use each page once. Giving a
//! page memory and taking it back also costs more than reading it. PostgreSQL uses a ring of 32
//! buffers for a scan of more than a quarter of shared_buffers (`freelist.c`). Here such a scan
//! reads pages that are not in memory into pages of its own, several at a time, and the pool has
//! nothing to evict. While the pool has spare room, a scan may fill it, so that the next scan finds
//! those pages in memory.
//!
//! Condition F. *If a page's word is the same before and after the file is read, and says that the
//! page is not in memory, then the bytes read are the page's state during all that time.*
//!
//! 1. *The file has the page's last state.* Only a clean page leaves memory, and it is clean since
//!    its last state was written in place (conditions E of `latch`, W3 of `writeback`). The thread
//!    that writes it does so before `mark_clean` releases the word. The thread that evicts it
//!    acquires that word, and releases the word that the reader sees.
//! 2. *The page is not written meanwhile.* The pages of a batch are dirty until the batch is
//!    written in place. A dirty page is not evicted, so a page out of memory has no write under
//!    way. A new write needs a change, a change needs a latch, and the latch changes the word
//!    ([`latch::try_latch`]). From there the word never returns to its old value: a load of a page
//!    counts as a change, and so does an eviction or a failed load. The version has 48 bits.
//! 3. *Other writes to the file do not matter.* Recovery writes before scans exist. Extensions
//!    write past the file's end. Holes consist of free pages only.
//! 4. *A later look is really later.* It follows an acquire fence: a reader of bytes that were
//!    written after the first look finds the word of their latching, or a later one.
//!
//! F does not say whether the page is in use, or to which tree it belongs: a free page may contain
//! anything. The caller knows that from the parent page, which it validates after the later look:
//! the page was the parent's child then, and its content is F's. So one look serves several
//! purposes: the word taken before a read of *neighbours* is compared only when the scan reaches
//! them. If a page fails the check (its checksum, its place, its tree), the pool reads it and
//! decides whether it is damaged.

use super::memory::PageBuf;
use super::{Absence, Pool};
use crate::page;
use crate::types::{PAGE_SIZE, PageId};
use crate::usage;
use std::sync::atomic::Ordering;

/// The most pages that are read at once (PostgreSQL's default of io_combine_limit).
const RUN: usize = 16;
/// The most unwanted pages between two wanted pages of one read.
const GAP: u64 = 2;

#[cfg(test)]
thread_local! {
    /// A deliberate bug: the word is not compared with the one from before the read.
    pub(crate) static BELIEVE_OLD_READS: std::cell::Cell<bool> = const { std::cell::Cell::new(false) };
}

/// Pages that one scan has read past the pool.
#[derive(Default)]
pub(crate) struct PagesRead {
    /// The pages of the last read, consecutive in the file. (The vector never shrinks.)
    pages: Vec<PageBuf>,
    first: u64,
    /// The wanted pages among them, and their words before the read.
    wanted: Vec<(PageId, Absence)>,
}

impl PagesRead {
    /// Whether the page's current state is here. `now` is the page's current word.
    pub(crate) fn has(&self, id: PageId, now: Absence) -> bool {
        #[cfg(test)]
        if BELIEVE_OLD_READS.get() {
            return self.wanted.iter().any(|&(wanted, _)| wanted == id);
        }
        self.wanted.contains(&(id, now))
    }
}

impl Pool {
    /// Whether a scan of this many pages should read past the pool: more than a quarter of it.
    pub(crate) fn is_large(&self, pages: u64) -> bool {
        pages > self.resident.len() as u64 / 4
    }

    /// Whether the pool has room for pages without evicting others.
    pub(crate) fn has_spare_room(&self) -> bool {
        self.free_slots.lock().len() > 2 * self.low_water() + RUN
    }

    /// Reads the first of the pages, and the pages that follow it closely in the file, if they are
    /// not in memory. If the read fails, `into` is empty.
    pub(crate) fn read_past(&self, ids: impl Iterator<Item = PageId>, into: &mut PagesRead) {
        into.wanted.clear();
        let mut end = 0;
        for id in ids.take(RUN) {
            let Some(absence) = self.absence(id) else { continue };
            if into.wanted.is_empty() {
                (into.first, end) = (id.0, id.0);
            }
            if id.0 < end || id.0 - end > GAP || id.0 - into.first >= RUN as u64 {
                break;
            }
            end = id.0 + 1;
            into.wanted.push((id, absence));
        }
        if into.wanted.is_empty() {
            return;
        }
        let count = (end - into.first) as usize;
        debug_assert!(count <= RUN && into.wanted.len() <= count);
        if into.pages.len() < count {
            into.pages.resize(count, *PageBuf::zeroed());
        }
        let bytes = PageBuf::all_bytes_mut(&mut into.pages[..count]);
        let place = into.first * PAGE_SIZE as u64;
        match usage::timed(usage::Io::Read, || self.file.read_at(bytes, place)) {
            Ok(read) if read == bytes.len() => usage::bulk_asked(),
            // The pool reads the pages one by one and finds the bad one.
            _ => into.wanted.clear(),
        }
    }

    /// Copies a page that was read past the pool, if its current state is here and is good (`now`
    /// is its current word). The page is then removed from here.
    pub(crate) fn take_past(
        &self,
        id: PageId,
        now: Absence,
        from: &mut PagesRead,
        copy: &mut PageBuf,
    ) -> bool {
        if !from.has(id, now) {
            return false;
        }
        from.wanted.retain(|&(wanted, _)| wanted != id);
        let page = &from.pages[(id.0 - from.first) as usize];
        if page::verify(page, id).is_err() {
            return false;
        }
        copy.clone_from(page);
        self.counters.read.fetch_add(1, Ordering::Relaxed);
        self.counters.reads_of_trees.count(copy.page());
        usage::bulk_read();
        true
    }
}
