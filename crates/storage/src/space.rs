//! Which pages of the data file are free, and how the file grows.
//!
//! The bitmap pages are the truth; this is a copy of them in memory, plus the
//! pages that were handed out but whose bit is not logged yet. A page goes
//!
//! ```text
//!   free ──reserve──► reserved ──(record that sets the bit)──► in use
//!     ▲                  │ unreserve: the record was not appended   │
//!     └──────────────────┴◄──release── (record that clears the bit)─┘
//! ```
//!
//! so that a page is handed out once, and again only after the record that frees
//! it is in the log. The file is extended *before* pages in the new part are
//! handed out: a full disk is an error of the statement that asks, never of the
//! writer that evicts.

use crate::error::{Result, StorageError};
use crate::page::bitmap::{self, PAGES_PER_BITMAP};
use crate::types::{PAGE_SIZE, PageId};
use crate::wal::Priority;
use parking_lot::Mutex;
use std::sync::Arc;
use steppe_vfs::File;

/// The file grows by at least this many pages …
const MIN_GROWTH_PAGES: u64 = 64;
/// … and by at most this many.
const MAX_GROWTH_PAGES: u64 = 4096;
/// Free pages that only [`Priority::MustSucceed`] gets: rollbacks may have to
/// split, too, when the disk is full.
const RESERVE_PAGES: u64 = 32;

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
    free_pages: u64,
    /// Where the search goes on: neighbours in time become neighbours in place.
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
        drop(state);
        space
    }

    /// A free page, now reserved. `make_bitmap` makes (logs) the bitmap pages of a
    /// part that the file grows by; nobody gets a page of that part before.
    pub(crate) fn reserve(
        &self,
        priority: Priority,
        make_bitmap: &mut dyn FnMut(PageId) -> Result<()>,
    ) -> Result<PageId> {
        let mut state = self.state.lock();
        let reserve = if priority == Priority::MustSucceed { 0 } else { RESERVE_PAGES };
        if state.free_pages <= reserve
            && let Err(error) = self.grow(&mut state, make_bitmap)
            && (state.free_pages == 0 || priority != Priority::MustSucceed)
        {
            return Err(error);
        }
        Ok(state.take().expect("there is a free page: counted or just made"))
    }

    /// Frees pages: reserved ones, or those whose freeing has been logged.
    pub(crate) fn release(&self, ids: &[PageId]) {
        let mut state = self.state.lock();
        for &id in ids {
            let (word, bit) = place(id);
            debug_assert!(state.words[word] >> bit & 1 == 1, "page {} is free already", id.0);
            state.words[word] &= !(1 << bit);
            state.free_pages += 1;
            state.next = state.next.min(word);
        }
    }

    /// Pages of the file, and how many of them are in use.
    pub(crate) fn counts(&self) -> (u64, u64) {
        let state = self.state.lock();
        (state.file_pages, state.file_pages - state.free_pages)
    }

    /// Whether the page is in use (or reserved).
    pub(crate) fn is_used(&self, id: PageId) -> bool {
        let (word, bit) = place(id);
        self.state.lock().words.get(word).is_some_and(|w| w >> bit & 1 == 1)
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

/// The places of bitmap pages among `pages`.
pub(crate) fn bitmap_pages(pages: std::ops::Range<u64>) -> impl Iterator<Item = PageId> {
    let first = pages.start.saturating_sub(1).next_multiple_of(PAGES_PER_BITMAP) + 1;
    (first..pages.end).step_by(PAGES_PER_BITMAP as usize).map(PageId)
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
        self.free_pages = pages - used;
    }

    /// The next free page of the file.
    fn take(&mut self) -> Option<PageId> {
        let count = self.words.len();
        for step in 0..=count {
            let word = (self.next + step) % count;
            let bit = self.words[word].trailing_ones();
            let id = PageId(word as u64 * 64 + u64::from(bit));
            if bit < 64 && id.0 < self.file_pages {
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
    use std::collections::BTreeSet;
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
