//! The free pages of the data file, and its growth.
//!
//! The bitmap pages are authoritative. This is a copy of them in memory, plus the pages that were
//! handed out but whose bit is not logged yet, or never is (pages of unlogged trees). A page's
//! states are
//!
//! ```text
//!   free ──reserve──► reserved ──(record that sets the bit)──► in use
//!     ▲                  │ unreserve: the record was not appended   │
//!     └──────────────────┴◄──release── (record that clears the bit)─┘
//! ```
//!
//! so that a page is handed out once, and again only after the record that frees it is in the log.
//! The file is extended *before* pages in the new part are handed out: a full disk is an error of
//! the statement that asks for a page, never of the writer that evicts.
//!
//! # Giving space back
//!
//! The next checkpoint gives the space that a DROP or TRUNCATE has freed back to the file system,
//! as holes in the file. It does so in units of a [`CHUNK`] of neighbouring pages:
//!
//! ```text
//!   emptied ──note_emptied()──► candidate ──punch_holes()──► hole ──fill_hole()──► free pages
//!      └───────────────┬────────────┘                               (with space again)
//!                      └──► neither: a page of it was handed out
//! ```
//!
//! The bytes of a free page may be lost
//!
//! 1. *if no recovery needs them.* Redo from LSN r reads a page from disk only if a record at or
//!    after r changes the page before any record formats it. All pages of a candidate were free
//!    when it became one, before r was chosen. So the records that freed its pages, and all earlier
//!    ones about them, end at or before r. It is still a candidate at the end of the checkpoint:
//!    its pages have not been handed out since, so no later record is about them. Then r, like the
//!    records before it, is durable in the control file: no recovery starts before r.
//! 2. *if they are not being written.* The pages count as in use while the hole is made, so they
//!    are not handed out. The checkpoint has written all dirty pages.
//! 3. *if a reader can handle it.* A reader may have kept a page's id since before the page was
//!    freed. It then reads a page that was never written, and checks `is_used` before it reports
//!    damage.
//! 4. *if no later write can fail on a full disk.* A hole has no free pages. Before its pages are
//!    handed out, `fill_hole` makes the file system reserve the space again, as for a new part of
//!    the file. After a start all chunks without a page in use count as holes.
//!
//! A crash during this leaves some sectors with old content and some with zeros: by 1 that is
//! harmless.

use crate::error::{Result, StorageError};
use crate::page::bitmap::{self, PAGES_PER_BITMAP};
use crate::types::{PAGE_SIZE, PageId};
use crate::wal::Priority;
use parking_lot::Mutex;
use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::Arc;
use steppe_vfs::File;

/// The file grows by at least this many pages …
const MIN_GROWTH_PAGES: u64 = 64;
/// … and by at most this many.
const MAX_GROWTH_PAGES: u64 = 4096;
/// Free pages reserved for [`Priority::MustSucceed`]: a rollback may have to split a node while the
/// disk is full.
const RESERVE_PAGES: u64 = 32;
/// Pages of a chunk: one word of the map.
const CHUNK: u64 = 64;
/// The most neighbouring chunks that are filled at once.
const CHUNKS_FILLED: usize = 16;
/// The most chunks of one hole: their pages cannot be handed out meanwhile.
const CHUNKS_PUNCHED: usize = 256;

#[cfg(test)]
thread_local! {
    /// A deliberate bug: chunks that were emptied since the redo LSN was chosen are given back,
    /// too.
    pub(crate) static PUNCH_EARLY: std::cell::Cell<bool> = const { std::cell::Cell::new(false) };
}

/// The allocator.
pub(crate) struct Space {
    file: Arc<dyn File>,
    max_pages: u64,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// One bit a page: in use or reserved.
    words: Vec<u64>,
    file_pages: u64,
    /// Free pages that may be handed out, without pages of holes.
    free_pages: u64,
    /// Words whose pages are all free, and which probably have no space in the file.
    holes: BTreeSet<usize>,
    /// Words that were in use once and whose pages are all free.
    emptied: BTreeSet<usize>,
    /// The words that were in `emptied` when the running checkpoint began.
    candidates: BTreeSet<usize>,
    /// The words of the hole that is being made: their pages cannot be handed out.
    punching: Range<usize>,
    /// The word where the next search starts. So pages allocated one after the other are
    /// neighbours.
    next: usize,
}

impl Space {
    /// An allocator for a file in which the pages of `words` are in use.
    pub(crate) fn new(
        file: Arc<dyn File>,
        max_pages: u64,
        file_pages: u64,
        words: Vec<u64>,
    ) -> Space {
        let space = Space { file, max_pages, state: Mutex::default() };
        let mut state = space.state.lock();
        state.words = words;
        state.cover(file_pages);
        let whole = (file_pages / CHUNK) as usize;
        state.holes = (0..whole).filter(|&word| state.words[word] == 0).collect();
        state.free_pages -= state.holes.len() as u64 * CHUNK;
        drop(state);
        space
    }

    /// Reserves a free page. If the file grows, `make_bitmap` creates (and logs) the bitmap pages
    /// of the new part; its pages are handed out afterwards.
    pub(crate) fn reserve(
        &self,
        priority: Priority,
        make_bitmap: &mut dyn FnMut(PageId) -> Result<()>,
    ) -> Result<PageId> {
        let mut state = self.state.lock();
        let reserve = if priority == Priority::MustSucceed { 0 } else { RESERVE_PAGES };
        if state.free_pages <= reserve
            && let Err(error) = self.make_room(&mut state, make_bitmap)
            && (state.free_pages == 0 || priority != Priority::MustSucceed)
        {
            return Err(error);
        }
        Ok(state.take().expect("there is a free page: counted or just made"))
    }

    /// Frees pages: reserved ones, or pages whose freeing has been logged.
    pub(crate) fn release(&self, ids: &[PageId]) {
        let mut state = self.state.lock();
        for &id in ids {
            let (word, bit) = place(id);
            debug_assert!(state.words[word] >> bit & 1 == 1, "page {} is free already", id.0);
            state.words[word] &= !(1 << bit);
            state.free_pages += 1;
            state.next = state.next.min(word);
            if state.words[word] == 0 && (word as u64 + 1) * CHUNK <= state.file_pages {
                state.emptied.insert(word);
            }
        }
    }

    /// The numbers of pages of the file and of pages in use.
    pub(crate) fn counts(&self) -> (u64, u64) {
        let state = self.state.lock();
        let without_space = (state.holes.len() + state.punching.len()) as u64 * CHUNK;
        (state.file_pages, state.file_pages - state.free_pages - without_space)
    }

    /// The number of pages of the file, and a bit for each page that is in use.
    pub(crate) fn used_words(&self) -> (u64, Vec<u64>) {
        let state = self.state.lock();
        (state.file_pages, state.words.clone())
    }

    /// Whether the page is in use (or reserved).
    pub(crate) fn is_used(&self, id: PageId) -> bool {
        let (word, bit) = place(id);
        let state = self.state.lock();
        !state.punching.contains(&word) && state.words.get(word).is_some_and(|w| w >> bit & 1 == 1)
    }

    /// Bytes that the next checkpoint can give back to the file system.
    pub(crate) fn bytes_to_give_back(&self) -> u64 {
        self.state.lock().emptied.len() as u64 * CHUNK * PAGE_SIZE as u64
    }

    /// Called before a checkpoint chooses its redo LSN: chunks that are empty now may be given back
    /// at its end.
    pub(crate) fn note_emptied(&self) {
        let mut state = self.state.lock();
        state.candidates = state.emptied.clone();
    }

    /// Gives back the chunks that were empty before the control file's durable redo LSN was chosen,
    /// and have been empty since.
    pub(crate) fn punch_holes(&self) {
        #[cfg(test)]
        if PUNCH_EARLY.get() {
            self.note_emptied();
        }
        loop {
            let Some(run) = self.state.lock().begin_hole() else { return };
            let (offset, len) = bytes_of(&run);
            // A failure costs only space. It is then unknown which part of the hole was made.
            let punched = self.file.punch_hole(offset, len).unwrap_or(true);
            self.state.lock().end_hole(punched);
        }
    }

    fn make_room(
        &self,
        state: &mut State,
        make_bitmap: &mut dyn FnMut(PageId) -> Result<()>,
    ) -> Result<()> {
        match state.first_holes() {
            Some(run) => self.fill_hole(state, run),
            None => self.grow(state, make_bitmap),
        }
    }

    fn fill_hole(&self, state: &mut State, mut run: Range<usize>) -> Result<()> {
        let fill = |run: &Range<usize>| {
            let (offset, len) = bytes_of(run);
            crate::usage::timed(crate::usage::Io::Extend, || self.file.fill_hole(offset, len))
        };
        if let Err(error) = fill(&run) {
            if run.len() == 1 {
                return Err(error.into());
            }
            // The disk may have space for one chunk.
            run.end = run.start + 1;
            fill(&run)?;
        }
        state.free_pages += run.len() as u64 * CHUNK;
        state.next = state.next.min(run.start);
        run.for_each(|word| {
            state.holes.remove(&word);
        });
        Ok(())
    }

    fn grow(
        &self,
        state: &mut State,
        make_bitmap: &mut dyn FnMut(PageId) -> Result<()>,
    ) -> Result<()> {
        let step = (state.file_pages / 8).clamp(MIN_GROWTH_PAGES, MAX_GROWTH_PAGES);
        let pages = (state.file_pages + step).min(self.max_pages);
        if pages == state.file_pages {
            let full = steppe_vfs::Error::new(
                "extend",
                self.file.path(),
                steppe_vfs::ErrorKind::OutOfSpace,
                "the data file has its maximal size",
            );
            return Err(StorageError::NoSpace(full));
        }
        let bytes = pages * PAGE_SIZE as u64;
        crate::usage::timed(crate::usage::Io::Extend, || self.file.reserve(bytes))?;
        crate::usage::extended(pages - state.file_pages);
        for bitmap in bitmap_pages(state.file_pages..pages) {
            make_bitmap(bitmap)?;
        }
        state.cover(pages);
        Ok(())
    }
}

/// The bitmap pages among `pages`.
pub(crate) fn bitmap_pages(pages: std::ops::Range<u64>) -> impl Iterator<Item = PageId> {
    let first = pages.start.saturating_sub(1).next_multiple_of(PAGES_PER_BITMAP) + 1;
    (first..pages.end).step_by(PAGES_PER_BITMAP as usize).map(PageId)
}

/// The offset and length in the file of the pages of some words.
fn bytes_of(run: &Range<usize>) -> (u64, u64) {
    let bytes = |words: usize| words as u64 * CHUNK * PAGE_SIZE as u64;
    (bytes(run.start), bytes(run.len()))
}

/// The first of the words, with its following neighbours, at most `most`.
fn first_run(words: &BTreeSet<usize>, most: usize) -> Option<Range<usize>> {
    let first = *words.first()?;
    let end = (first + 1..first + most).find(|word| !words.contains(word));
    Some(first..end.unwrap_or(first + most))
}

fn place(id: PageId) -> (usize, u32) {
    ((id.0 / 64) as usize, (id.0 % 64) as u32)
}

impl State {
    /// Extends the map to a file of `pages` pages.
    fn cover(&mut self, pages: u64) {
        self.words.resize(pages.div_ceil(64) as usize, 0);
        self.words[0] |= 1;
        for id in bitmap_pages(0..pages) {
            let (word, bit) = place(id);
            self.words[word] |= 1 << bit;
        }
        self.file_pages = pages;
        let used: u64 = self.words.iter().map(|w| u64::from(w.count_ones())).sum();
        self.free_pages = pages - used - self.holes.len() as u64 * CHUNK;
    }

    fn first_holes(&self) -> Option<Range<usize>> {
        first_run(&self.holes, CHUNKS_FILLED)
    }

    /// Withdraws candidates so that their pages are not handed out.
    fn begin_hole(&mut self) -> Option<Range<usize>> {
        let run = first_run(&self.candidates, CHUNKS_PUNCHED)?;
        for word in run.clone() {
            debug_assert!(self.words[word] == 0 && !self.holes.contains(&word));
            self.candidates.remove(&word);
            self.emptied.remove(&word);
            self.words[word] = u64::MAX;
        }
        self.free_pages -= run.len() as u64 * CHUNK;
        self.punching = run.clone();
        Some(run)
    }

    fn end_hole(&mut self, punched: bool) {
        let run = std::mem::take(&mut self.punching);
        self.words[run.clone()].fill(0);
        match punched {
            true => self.holes.extend(run),
            false => self.free_pages += run.len() as u64 * CHUNK,
        }
    }

    fn is_hole(&self, word: usize) -> bool {
        self.words[word] == 0 && self.holes.contains(&word)
    }

    /// Takes the next free page that has space in the file.
    fn take(&mut self) -> Option<PageId> {
        let count = self.words.len();
        for step in 0..=count {
            let word = (self.next + step) % count;
            let bit = self.words[word].trailing_ones();
            let id = PageId(word as u64 * 64 + u64::from(bit));
            if bit < 64 && id.0 < self.file_pages && !self.is_hole(word) {
                if self.words[word] == 0 {
                    self.emptied.remove(&word);
                    self.candidates.remove(&word);
                }
                debug_assert!(!bitmap::is_bitmap_page(id));
                self.words[word] |= 1 << bit;
                self.free_pages -= 1;
                self.next = word;
                return Some(id);
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;
    use steppe_vfs::{CrashVfs, OpenMode, Vfs};

    #[test]
    fn pages_are_handed_out_once_until_released() {
        let vfs = CrashVfs::new(1);
        let file = vfs.open(Path::new("data"), OpenMode::CREATE).unwrap();
        let space = Space::new(file, 200, 2, vec![0b11]);
        let mut seen = BTreeSet::new();
        let mut no_bitmap = |_| panic!("the file does not reach the second bitmap page");
        while let Ok(id) = space.reserve(Priority::MustSucceed, &mut no_bitmap) {
            assert!(id.0 >= 2 && seen.insert(id), "{id:?}");
        }
        assert_eq!(seen.len(), 198);
        space.release(&[PageId(77), PageId(5)]);
        assert!(matches!(
            space.reserve(Priority::Normal, &mut no_bitmap),
            Err(StorageError::NoSpace(_))
        ));
        assert_eq!(space.reserve(Priority::MustSucceed, &mut no_bitmap).unwrap(), PageId(5));
        assert_eq!(space.reserve(Priority::MustSucceed, &mut no_bitmap).unwrap(), PageId(77));
        assert!(space.is_used(PageId(5)));
    }

    #[test]
    fn what_is_empty_over_a_checkpoint_is_given_back_and_promised_again() {
        let vfs = CrashVfs::new(1);
        let file = vfs.open(Path::new("data"), OpenMode::CREATE).unwrap();
        let pages = 4 * CHUNK;
        file.reserve(pages * PAGE_SIZE as u64).unwrap();
        let space = Space::new(Arc::clone(&file), pages, pages, vec![u64::MAX; 4]);
        let bytes = [7; 100];
        let written = |id: u64| {
            let mut found = [1; 100];
            file.read_exact_at(&mut found, id * PAGE_SIZE as u64).unwrap();
            found == bytes
        };
        for id in 0..pages {
            file.write_at(&bytes, id * PAGE_SIZE as u64).unwrap();
        }
        let all = |word: u64| (word * CHUNK..(word + 1) * CHUNK).map(PageId).collect::<Vec<_>>();
        let mut no_bitmap = |_| panic!("the file does not grow");
        (1..4).for_each(|word| space.release(&all(word)));
        space.note_emptied();
        // One page of the first chunk is handed out meanwhile, and freed again.
        let id = space.reserve(Priority::Normal, &mut no_bitmap).unwrap();
        assert_eq!(id, PageId(CHUNK));
        space.release(&[id]);
        vfs.set_free_space(Some(0));
        space.punch_holes();
        assert!(written(CHUNK) && !written(2 * CHUNK) && !written(4 * CHUNK - 1));
        assert_eq!(space.counts(), (pages, CHUNK));
        assert_eq!(space.bytes_to_give_back(), CHUNK * PAGE_SIZE as u64);
        // On a full disk only one hole can be filled.
        vfs.set_free_space(Some(CHUNK * PAGE_SIZE as u64));
        let must = Priority::MustSucceed;
        let handed_out = (0..).map_while(|_| space.reserve(must, &mut no_bitmap).ok());
        assert_eq!(handed_out.collect::<Vec<_>>(), [all(1), all(2)].concat());
        assert!(!space.is_used(PageId(3 * CHUNK)));
    }

    #[test]
    fn a_new_bitmap_page_is_asked_for_when_the_file_reaches_it() {
        let vfs = CrashVfs::new(1);
        let file = vfs.open(Path::new("data"), OpenMode::CREATE).unwrap();
        let pages = PAGES_PER_BITMAP - 1;
        let mut words = vec![u64::MAX; pages.div_ceil(64) as usize];
        words[(pages / 64) as usize] = (1 << (pages % 64)) - 1;
        let space = Space::new(file, 1 << 20, pages, words);
        let second = PageId(1 + PAGES_PER_BITMAP);
        let mut made = Vec::new();
        let mut make = |id| {
            made.push(id);
            Ok(())
        };
        let id = space.reserve(Priority::Normal, &mut make).unwrap();
        assert!(id != second && made == [second]);
        assert_eq!(bitmap_pages(0..2).collect::<Vec<_>>(), [PageId(1)]);
        assert_eq!(bitmap_pages(2..second.0).count(), 0);
    }
}
