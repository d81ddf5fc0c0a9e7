//! The buffer pool. It finds pages through an array of all page ids (see `memory` and `state`).
//!
//! - A page is found by arithmetic and one array access, without a hash table.
//! - Readers take no latch: they remember the page's version, read, and validate
//!   ([`Pool::optimistic`], [`Pool::validate`]).
//! - Writers hold the exclusive latch as a [`PageGuard`]. It is taken from a
//!   version (failing if the page moved on) or by waiting.
//! - At most `capacity` pages are in memory. Each resident page lies in a frame, whose number is
//!   its slot of `resident`, over which the clock hand moves. If all slots are in use, a page is
//!   evicted first.
//!
//! Latch order: parent before child, left before right, tree pages before bitmap pages. A thread
//! that holds a latch *waits* only for bitmap pages and fresh pages. It only tries to latch other
//! pages, and the operation restarts if that fails. So deadlocks are impossible. The pool's own
//! mutexes (`clock`, then `WriteBack`'s) are taken after any latch, and their holders wait for no
//! latch.

pub(crate) mod evict;
mod latch;
#[cfg(test)]
mod latch_model;
pub(crate) mod memory;
pub(crate) mod past;
mod reads;
pub(crate) mod scratch;
mod state;
pub(crate) mod writeback;

use crate::error::{Result, StorageError};
use crate::page::{self, Bad};
use crate::types::{PAGE_SIZE, PageId};
use crate::usage;
use memory::{PageMemory, PageMut, PageRef};
use parking_lot::Mutex;
use reads::TreeReads;
use state::{EVICTED, LATCHED, REFERENCED, UNLATCHED, with_latch};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use writeback::WriteBack;

pub(crate) use state::{Absence, Version};

/// The `resident` array's value for a slot without a page.
const EMPTY: u64 = u64::MAX;

/// The buffer pool.
pub(crate) struct Pool {
    memory: PageMemory,
    file: Arc<dyn steppe_vfs::File>,
    /// The page in each slot.
    resident: Box<[AtomicU64]>,
    free_slots: Mutex<Vec<u32>>,
    clock: Mutex<evict::Clock>,
    pub(crate) writeback: WriteBack,
    pub(crate) counters: Counters,
}

/// Counts since the start.
#[derive(Default)]
pub(crate) struct Counters {
    pub(crate) read: AtomicU64,
    pub(crate) reads_of_trees: TreeReads,
    pub(crate) evicted: AtomicU64,
}

/// The expected state of a page that is read from the file.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Load {
    /// A good page; anything else is an error.
    Existing,
    /// Any content: the page is about to be formatted.
    Fresh,
    /// For recovery: a page that was never written is all zeros. If the caller formats the page, a
    /// damaged one is replaced by zeros, too.
    Redo { formatted: bool },
}

/// Waits longer and longer.
#[derive(Default)]
pub(crate) struct Backoff(u32);

impl Backoff {
    pub(crate) fn wait(&mut self) {
        self.0 += 1;
        match self.0 {
            0..=40 => std::hint::spin_loop(),
            41..=200 => std::thread::yield_now(),
            _ => std::thread::sleep(Duration::from_micros(50)),
        }
    }
}

impl Pool {
    /// An empty pool over `file` with at most `max_pages` page ids. It has at least enough for the
    /// file's present pages and for `capacity` pages.
    pub(crate) fn new(
        capacity: usize,
        max_pages: u64,
        file: Arc<dyn steppe_vfs::File>,
        writeback: WriteBack,
    ) -> Result<Pool> {
        let min_pages = (file.len()? / PAGE_SIZE as u64).max(capacity as u64).saturating_mul(2);
        let memory = PageMemory::new(capacity, max_pages, min_pages.min(max_pages));
        let memory = memory.map_err(|e| {
            let what = format!("could not reserve addresses for {capacity} pages: {e}");
            StorageError::Invalid(what)
        })?;
        let slots = u32::try_from(capacity)
            .map_err(|_| StorageError::Invalid("too many shared buffers".into()))?;
        Ok(Pool {
            memory,
            file,
            resident: (0..capacity).map(|_| AtomicU64::new(EMPTY)).collect(),
            free_slots: Mutex::new((0..slots).rev().collect()),
            clock: Mutex::new(evict::Clock::default()),
            writeback,
            counters: Counters::default(),
        })
    }

    /// The data file's name, for messages.
    pub(crate) fn path(&self) -> &Path {
        self.file.path()
    }

    /// Page ids are below this limit.
    pub(crate) fn max_pages(&self) -> u64 {
        self.memory.max_pages()
    }

    /// The number of pages in memory.
    pub(crate) fn resident_pages(&self) -> usize {
        self.resident.len() - self.free_slots.lock().len()
    }

    pub(crate) fn corrupt(&self, id: PageId, what: impl Into<String>) -> StorageError {
        StorageError::Corrupt { file: self.path().to_path_buf(), page: Some(id), what: what.into() }
    }

    /// The page's memory. Bytes read from it are valid only if [`Pool::validate`] confirms a
    /// version taken before this call: the page's frame is part of the reading.
    #[inline]
    pub(crate) fn page(&self, id: PageId) -> PageRef<'_> {
        self.memory.page(id)
    }

    /// Starts loading the memory that [`Pool::optimistic`] and the first access to the page need.
    #[inline]
    pub(crate) fn prefetch(&self, id: PageId) {
        self.memory.prefetch(id);
    }

    /// As [`Pool::prefetch`], and the page's first entries.
    #[inline]
    pub(crate) fn prefetch_with_entries(&self, id: PageId) {
        self.memory.prefetch_with_entries(id);
    }

    /// The page's version. Reads the page if it is not in memory, and waits while it is latched.
    #[inline]
    pub(crate) fn optimistic(&self, id: PageId) -> Result<Version> {
        match latch::hot_version(self.memory.state(id)) {
            Some(version) => {
                usage::hit();
                Ok(version)
            }
            None => self.optimistic_slow(id),
        }
    }

    /// The version if the page is in memory and unlatched right now.
    #[inline]
    pub(crate) fn optimistic_if_resident(&self, id: PageId) -> Option<Version> {
        latch::hot_version(self.memory.state(id)).inspect(|_| usage::hit())
    }

    /// As [`Pool::optimistic_if_resident`], even if the clock's hand has passed since the page's
    /// last use.
    #[inline]
    pub(crate) fn optimistic_at_once(&self, id: PageId) -> Option<Version> {
        self.optimistic_if_resident(id).or_else(|| self.optimistic_if_idle(id))
    }

    #[cold]
    fn optimistic_if_idle(&self, id: PageId) -> Option<Version> {
        let word = self.memory.state(id);
        let state = latch::look(word);
        (state::latch(state) == UNLATCHED).then(|| {
            usage::hit();
            latch::touch(word, state);
            state::version(state)
        })
    }

    /// The version if the page is in memory and unlatched right now. It does not count as a use of
    /// the page.
    pub(crate) fn peek(&self, id: PageId) -> Option<Version> {
        let state = latch::look(self.memory.state(id));
        (state::latch(state) == UNLATCHED).then(|| state::version(state))
    }

    #[cold]
    fn optimistic_slow(&self, id: PageId) -> Result<Version> {
        let word = self.memory.state(id);
        let (mut backoff, mut faulted) = (Backoff::default(), false);
        loop {
            let state = latch::look(word);
            match state::latch(state) {
                EVICTED => faulted |= self.fault(id, Load::Existing)?.is_some(),
                UNLATCHED => {
                    if !faulted {
                        usage::hit();
                    }
                    latch::touch(word, state);
                    return Ok(state::version(state));
                }
                _ => backoff.wait(),
            }
        }
    }

    /// The page's word, if the page is not in memory.
    #[inline]
    pub(crate) fn absence(&self, id: PageId) -> Option<Absence> {
        latch::absence(self.memory.state(id))
    }

    /// Whether all bytes read from the page since `version` was taken are one consistent state of
    /// it.
    #[inline]
    pub(crate) fn validate(&self, id: PageId, version: Version) -> bool {
        latch::validate(self.memory.state(id), version)
    }

    /// Takes the exclusive latch if the page still has this version.
    pub(crate) fn upgrade(&self, id: PageId, version: Version) -> Option<PageGuard<'_>> {
        latch::upgrade(self.memory.state(id), version).map(|before| self.guard(id, before))
    }

    fn try_latch(&self, id: PageId, state: u64) -> Option<PageGuard<'_>> {
        latch::try_latch(self.memory.state(id), state).then(|| self.guard(id, state))
    }

    /// The guard of a latch that was just taken.
    fn guard(&self, id: PageId, before: u64) -> PageGuard<'_> {
        PageGuard { pool: self, id, before, changed: false }
    }

    /// Takes the exclusive latch; waits and reads the page if necessary. The caller must hold no
    /// latch, unless the page is at the end of the latch order (a bitmap page).
    pub(crate) fn latch(&self, id: PageId) -> Result<PageGuard<'_>> {
        self.latch_load(id, Load::Existing)
    }

    /// Takes the latch of a page that no other thread uses, with any content. The holder must
    /// format it.
    pub(crate) fn latch_fresh(&self, id: PageId) -> Result<PageGuard<'_>> {
        self.latch_load(id, Load::Fresh)
    }

    /// Takes the latch for redo. A page that was never written is accepted, and a damaged one if it
    /// is going to be formatted.
    pub(crate) fn latch_for_redo(&self, id: PageId, formatted: bool) -> Result<PageGuard<'_>> {
        self.latch_load(id, Load::Redo { formatted })
    }

    fn latch_load(&self, id: PageId, load: Load) -> Result<PageGuard<'_>> {
        let word = self.memory.state(id);
        let mut backoff = Backoff::default();
        loop {
            let state = word.load(Ordering::Relaxed);
            let guard = match state::latch(state) {
                EVICTED => self.fault(id, load)?,
                UNLATCHED => self.try_latch(id, state).inspect(|_| usage::hit()),
                _ => None,
            };
            if let Some(guard) = guard {
                return Ok(guard);
            }
            backoff.wait();
        }
    }

    /// Brings an evicted page into memory. Returns it latched, or `None` if another thread is doing
    /// so.
    #[cold]
    #[allow(unsafe_code)]
    fn fault(&self, id: PageId, load: Load) -> Result<Option<PageGuard<'_>>> {
        let slot = self.take_slot()?;
        let word = self.memory.state(id);
        let state = word.load(Ordering::Relaxed);
        let guard = (state::latch(state) == EVICTED).then(|| self.try_latch(id, state)).flatten();
        let Some(mut guard) = guard else {
            self.free_slots.lock().push(slot);
            return Ok(None);
        };
        // SAFETY: `guard` is the exclusive latch. The slot was free, and belongs to this page until
        // it is freed, here or by `evict`, after the page has left memory.
        unsafe { self.memory.place(id, slot) };
        if let Err(error) = self.load(&mut guard, load) {
            guard.abandon();
            self.free_slots.lock().push(slot);
            return Err(error);
        }
        guard.before = with_latch(guard.before, UNLATCHED) | REFERENCED;
        guard.changed = true;
        self.resident[slot as usize].store(id.0, Ordering::Release);
        usage::allocated();
        Ok(Some(guard))
    }

    /// Fills a latched page, whose frame holds another page's bytes, from the file.
    fn load(&self, guard: &mut PageGuard<'_>, load: Load) -> Result<()> {
        if load == Load::Fresh {
            guard.page_mut().zero(0, PAGE_SIZE);
            return Ok(());
        }
        let id = guard.id;
        let place = id.0 * PAGE_SIZE as u64;
        let mut page = guard.page_mut();
        let bytes = page.all_bytes_mut();
        let read = usage::timed(usage::Io::Read, || self.file.read_at(bytes, place))?;
        // A file that ends before the page reads as zeros.
        bytes[read..].fill(0);
        self.counters.read.fetch_add(1, Ordering::Relaxed);
        usage::read();
        // The page is verified before its latch is released; bytes read before that do not
        // validate.
        match (page::verify_latched(&page, id), load) {
            (Ok(()), _) => self.counters.reads_of_trees.count(*page),
            (Err(Bad::NeverWritten), Load::Redo { .. })
            | (Err(_), Load::Redo { formatted: true }) => page.zero(0, PAGE_SIZE),
            (Err(bad), _) => return Err(self.corrupt(id, bad.what())),
        }
        Ok(())
    }

    fn take_slot(&self) -> Result<u32> {
        let mut backoff = Backoff::default();
        loop {
            if let Some(slot) = self.free_slots.lock().pop() {
                return Ok(slot);
            }
            if self.make_room()? == 0 {
                backoff.wait();
            }
        }
    }
}

/// The exclusive latch of a page in memory.
pub(crate) struct PageGuard<'a> {
    pool: &'a Pool,
    id: PageId,
    /// The state that unlatching restores.
    before: u64,
    /// Whether unlatching must change the version.
    changed: bool,
}

impl<'a> PageGuard<'a> {
    /// The latched page's id.
    #[inline]
    pub(crate) fn id(&self) -> PageId {
        self.id
    }

    /// The page for reading.
    #[inline]
    pub(crate) fn page(&self) -> PageRef<'a> {
        self.pool.page(self.id)
    }

    /// The page for writing.
    #[inline]
    #[allow(unsafe_code)]
    pub(crate) fn page_mut(&mut self) -> PageMut<'_> {
        let state = self.pool.memory.state(self.id).load(Ordering::Relaxed);
        debug_assert_eq!(state::latch(state), LATCHED);
        // SAFETY: `self` is the exclusive latch, and is borrowed mutably by the result.
        unsafe { self.pool.memory.page_mut(self.id) }
    }

    /// Marks the page dirty, and its version as changed. It must precede the append of the record
    /// that describes the change (the checkpoint relies on it).
    #[inline]
    pub(crate) fn will_change(&mut self) {
        self.changed = true;
        let before = self.before;
        self.before = latch::set_dirty(self.pool.memory.state(self.id), before);
        if self.before != before {
            usage::dirtied();
        }
    }

    /// Returns the page to "evicted": its loading failed, or it is the clock's victim.
    fn abandon(mut self) {
        self.before = with_latch(self.before, EVICTED);
        self.changed = true;
    }
}

impl Drop for PageGuard<'_> {
    fn drop(&mut self) {
        if self.changed && std::thread::panicking() {
            self.pool.writeback.fail("a thread panicked while it was changing a page");
        }
        latch::unlatch(self.pool.memory.state(self.id), self.before, self.changed);
    }
}
