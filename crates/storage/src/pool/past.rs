//! Reading pages past the pool, for scans of more of them than the pool has use for.
//!
//! A scan of a large table would drive out of memory what others need, to look at each page once;
//! and to give a page memory and take it back costs more than to read it. PostgreSQL's answer is a
//! ring of 32 buffers for a scan of more than a quarter of shared_buffers (`freelist.c`). Here such
//! a scan reads what is not in memory into pages of its own, several at a time; it gives the pool
//! nothing to evict. As long as the pool has room that nobody asks for, a scan may fill it, so that
//! the next scan finds in memory what fits.
//!
//! Condition F: *if a page's word is the same before the file is read and after it, and says that
//! the page is not in memory, then what was read is the page, as it was all the time between.*
//!
//! 1. *The file has the page's last state.* Only a clean page leaves memory, and it is clean since
//!    its last state was written in place (conditions E of `latch`, W3 of `writeback`). Who writes it
//!    does so before `mark_clean` releases the word; who evicts it acquires that, and releases the
//!    word that is seen here.
//! 2. *Nobody writes it meanwhile.* The pages of a batch are dirty until it is written, also in
//!    place: a dirty page is not evicted, so of one that is out of memory no write is under way. A
//!    new write needs a change, that needs a latch, and the latch another word ([`latch::try_latch`]).
//!    From there the word does not come back to what it was: loading a page counts as a change, and
//!    so does evicting it, or a loading that failed. The version has 48 bits.
//! 3. *Beside the pool,* the file is written to by recovery, before there are scans; past its end;
//!    and in holes, which are made of free pages only.
//! 4. *A later look is a later one.* It comes behind an acquire fence: a reader of bytes that were
//!    written after the first look finds the word of their latching, or a later one.
//!
//! What a free page holds is nobody's: that the page is in use, and whose it is, does not follow
//! from F. The caller knows it from the page above, which it validates after the later look: the
//! page was that one's child then, and its content is F's. So one look does for several purposes:
//! the word taken for the reading of *neighbours* is compared only when the scan gets to them.
//! A page that does not pass (its checksum, its place, its tree) is left to the pool, which knows
//! when that is damage.

use super::memory::PageBuf;
use super::{Absence, Pool};
use crate::page;
use crate::types::{PAGE_SIZE, PageId};
use crate::usage;
use std::sync::atomic::Ordering;

/// The most pages that are read at once (PostgreSQL's default of io_combine_limit).
const RUN: usize = 16;
/// Other pages that may stand between two that are wanted.
const GAP: u64 = 2;

#[cfg(test)]
thread_local! {
    /// A bug on purpose: the word is not compared with that from before the reading.
    pub(crate) static BELIEVE_OLD_READS: std::cell::Cell<bool> = const { std::cell::Cell::new(false) };
}

/// Pages that one scan has read past the pool.
#[derive(Default)]
pub(crate) struct PagesRead {
    /// Those of the last read, neighbours in the file. (Their number never shrinks.)
    pages: Vec<PageBuf>,
    first: u64,
    /// Which of them were wanted, and what their words were before.
    wanted: Vec<(PageId, Absence)>,
}

impl PagesRead {
    /// Whether the page is here as it is now, `now` being its word.
    pub(crate) fn has(&self, id: PageId, now: Absence) -> bool {
        #[cfg(test)]
        if BELIEVE_OLD_READS.get() {
            return self.wanted.iter().any(|&(wanted, _)| wanted == id);
        }
        self.wanted.contains(&(id, now))
    }
}

impl Pool {
    /// Pages of a scan that is to read past the pool: more than a quarter of it.
    pub(crate) fn is_large(&self, pages: u64) -> bool {
        pages > self.resident.len() as u64 / 4
    }

    /// Whether there is room for pages that nobody has to give way to.
    pub(crate) fn has_spare_room(&self) -> bool {
        self.free_slots.lock().len() > 2 * self.low_water() + RUN
    }

    /// Reads the first of the pages, and those that follow it in the file closely, as far as they
    /// are not in memory. If that fails, there are none.
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
            // The pool tells the page it is from the others.
            _ => into.wanted.clear(),
        }
    }

    /// Copies a page that was read past the pool, if it is here as it is now (`now` being its word)
    /// and is good. It is then not here any more.
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
