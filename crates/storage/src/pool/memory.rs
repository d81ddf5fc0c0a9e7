//! Page memory: the only module of this crate with `unsafe` code.
//!
//! A page in memory lies in a *frame*; the frames are one anonymous mapping, as large as the pool.
//! Another mapping has an [`Entry`] for each page id: the state word, and the page's frame. It is
//! an array, reserved but not committed. So a page is found by arithmetic, as in vmcache (Leis et
//! al., "Virtual-Memory Assisted Buffer Management", SIGMOD 2023). vmcache also works without
//! frames: a page's address follows from its id, and the kernel supplies and reclaims its memory.
//! But then the kernel clears and maps two pages of its own for each page read, and unmaps them for
//! each evicted one. That is two thirds of the cost of a page that is read from the page cache.
//! Here frames are reused without the kernel.
//!
//! Invariants that make the safe interface sound:
//!
//! - M1. A mapping is readable and writable from `new` to `drop`, over its whole length. Each entry
//!   names a frame of the mapping, even the entry of a page that is not in memory (the frame is
//!   then another page's). So a load never faults, even for a stale page id.
//! - M2. Every access checks or masks its offset against `PAGE_SIZE`, so that an offset read from a
//!   torn page cannot leave the page.
//! - M3. A `&` or `&mut` to mapped bytes never exists while another thread may write them.
//!   [`PageRef`] copies out: words by relaxed atomics, ranges by `racy_copy`. Only the holder of
//!   the page's exclusive latch lends a slice (`PageMut::bytes`), and it does not write while the
//!   slice lives.
//! - M4. A page has at most one [`PageMut`] at a time: the pool makes it from the exclusive latch's
//!   guard, [`PageBuf`] from `&mut self`. A frame holds at most one page in memory: the pool takes
//!   a frame off its free list before it places a page there, and puts it back after the page has
//!   left memory.
//! - M5. The bytes that `racy_copy` returns may mix two versions of a page. They are plain bytes
//!   (every bit pattern is valid), and the callers discard them unless the page's version validates
//!   (a seqlock, as in Boehm, "Can seqlocks get along with programming language memory models?",
//!   MSPC 2012).
#![allow(unsafe_code)]

use crate::types::{PAGE_SIZE, PageId};
use std::cmp::Ordering;
use std::io;
use std::marker::PhantomData;
use std::ops::Deref;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU8, AtomicU16, AtomicU32, AtomicU64, Ordering::Relaxed};

/// Bytes that the processor loads at once, on known machines.
const CACHE_LINE: usize = 64;

/// An anonymous mapping of zeros.
struct Mapping {
    base: NonNull<u8>,
    len: usize,
}

// SAFETY: a mapping is plain memory owned by this value. M2 to M4 govern access.
unsafe impl Send for Mapping {}
// SAFETY: as above.
unsafe impl Sync for Mapping {}

impl Mapping {
    fn new(len: usize) -> io::Result<Mapping> {
        // SAFETY: a fresh private anonymous mapping, aliasing nothing.
        let address = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                len,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE,
                -1,
                0,
            )
        };
        if address == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let base = NonNull::new(address.cast::<u8>())
            .ok_or_else(|| io::Error::other("mmap returned address 0"))?;
        Ok(Mapping { base, len })
    }

    /// Asks the kernel for huge pages: a random read then misses the TLB once, not three times.
    /// Correctness does not depend on the kernel's decision.
    fn advise_huge_pages(&self) {
        // SAFETY: the range is the whole mapping. The advice does not change its content.
        unsafe { libc::madvise(self.base.as_ptr().cast(), self.len, libc::MADV_HUGEPAGE) };
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: this is exactly the range that `new` mapped. All borrows of it end before `self`
        // does.
        unsafe { libc::munmap(self.base.as_ptr().cast(), self.len) };
    }
}

/// The entry of a page id, in memory or not. Both words are on one cache line.
#[repr(C, align(16))]
struct Entry {
    state: AtomicU64,
    /// The page's frame. It changes like the page's bytes: under the latch, so that readers
    /// validate it.
    frame: AtomicU32,
}

/// The pool's memory: the frames, and an entry for each page id.
pub(crate) struct PageMemory {
    frames: Mapping,
    entries: Mapping,
    frame_count: usize,
    max_pages: u64,
}

impl PageMemory {
    /// Frames for `frame_count` pages in memory, and entries for `max_pages` ids. If the process
    /// may not reserve that much (`ulimit -v`, a checker's own limits), there are fewer entries,
    /// but at least `min_pages`. All states start as 0.
    pub(crate) fn new(
        frame_count: usize,
        mut max_pages: u64,
        min_pages: u64,
    ) -> io::Result<PageMemory> {
        loop {
            match Self::reserve(frame_count, max_pages) {
                Err(e) if max_pages / 2 < min_pages => return Err(e),
                Err(_) => max_pages /= 2,
                memory => return memory,
            }
        }
    }

    fn reserve(frame_count: usize, max_pages: u64) -> io::Result<PageMemory> {
        let too_large = || io::Error::other("address space for the buffer pool is too large");
        let ids = usize::try_from(max_pages).map_err(|_| too_large())?;
        let frames = frame_count.checked_mul(PAGE_SIZE).filter(|_| frame_count > 0);
        let entries = ids.checked_mul(size_of::<Entry>()).ok_or_else(too_large)?;
        let frames = Mapping::new(frames.ok_or_else(too_large)?)?;
        frames.advise_huge_pages();
        Ok(PageMemory { frames, entries: Mapping::new(entries)?, frame_count, max_pages })
    }

    /// Page ids are below this.
    #[inline]
    pub(crate) fn max_pages(&self) -> u64 {
        self.max_pages
    }

    #[inline]
    fn entry(&self, id: PageId) -> &Entry {
        assert!(id.0 < self.max_pages, "page id {} is beyond the address space", id.0);
        // SAFETY: in bounds by the assertion, and aligned (mappings are page-aligned). The memory
        // is accessed as an Entry only, and zeros are a valid Entry.
        unsafe { &*self.entries.base.as_ptr().cast::<Entry>().add(id.0 as usize) }
    }

    /// The page's state word.
    #[inline]
    pub(crate) fn state(&self, id: PageId) -> &AtomicU64 {
        &self.entry(id).state
    }

    /// The page for reading without a latch (M3, M5). The frame is part of the reading: the reader
    /// has taken the version before, and validates it afterwards.
    #[inline]
    pub(crate) fn page(&self, id: PageId) -> PageRef<'_> {
        let frame = self.entry(id).frame.load(Relaxed) as usize;
        debug_assert!(frame < self.frame_count);
        // SAFETY: in bounds of the mapping by M1, since `place` checks the frame that it stores,
        // and frame 0 always exists.
        let base = unsafe { self.frames.base.as_ptr().add(frame * PAGE_SIZE) };
        PageRef { base, memory: PhantomData }
    }

    /// Puts a page into a frame; the bytes there stay unchanged.
    ///
    /// # Safety
    /// The caller holds the page's exclusive latch, and no other page in memory lies in this frame
    /// until the page has left memory (M4).
    pub(super) unsafe fn place(&self, id: PageId, frame: u32) {
        assert!((frame as usize) < self.frame_count, "there is no frame {frame}");
        self.entry(id).frame.store(frame, Relaxed);
    }

    /// The page for writing. Only the pool calls this, from an exclusive latch's guard.
    ///
    /// # Safety
    /// The caller holds the page's exclusive latch for as long as the result lives,
    /// and makes no second one (M4).
    #[inline]
    pub(super) unsafe fn page_mut(&self, id: PageId) -> PageMut<'_> {
        PageMut { page: self.page(id) }
    }

    /// Asks the processor to load a page's state word, header and first slots.
    ///
    /// The rest of a long slot array is loaded once a key's likely position is known. Trees of a
    /// row or two, as leaves of a partitioned table often are, have no rest. A line loaded in vain
    /// evicts another one from the cache.
    #[inline]
    pub(crate) fn prefetch(&self, id: PageId) {
        if id.0 < self.max_pages {
            prefetch_line(std::ptr::from_ref(self.state(id)).cast());
            self.page(id).prefetch(0);
        }
    }

    /// As [`PageMemory::prefetch`], and also the page's end, where the first entries lie. A tree of
    /// a row or two has no others.
    #[inline]
    pub(crate) fn prefetch_with_entries(&self, id: PageId) {
        if id.0 < self.max_pages {
            self.prefetch(id);
            self.page(id).prefetch(PAGE_SIZE - 2 * CACHE_LINE);
        }
    }
}

#[inline]
fn prefetch_line(address: *const u8) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: a prefetch never faults, at any address.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(address.cast::<i8>()) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = address;
}

/// A page, for reading. Another thread may be writing it: see M3 and M5.
#[derive(Clone, Copy)]
pub(crate) struct PageRef<'a> {
    base: *mut u8,
    memory: PhantomData<&'a [u8; PAGE_SIZE]>,
}

macro_rules! word_access {
    ($($get:ident, $put:ident, $int:ty, $atomic:ty;)*) => {
        impl PageRef<'_> { $(
            /// The little-endian word at `offset` (multiples of its size; masked into the page).
            #[inline]
            pub(crate) fn $get(self, offset: usize) -> $int {
                let offset = offset & (PAGE_SIZE - size_of::<$int>());
                // SAFETY: in bounds and aligned by the mask (M2), since pages are 8-byte aligned.
                let word = unsafe { &*self.base.add(offset).cast::<$atomic>() };
                <$int>::from_le(word.load(Relaxed))
            }
        )* }
        impl PageMut<'_> { $(
            /// Stores the word at `offset` (multiples of its size).
            #[inline]
            pub(crate) fn $put(&mut self, offset: usize, value: $int) {
                assert!(offset % size_of::<$int>() == 0 && offset < PAGE_SIZE);
                // SAFETY: in bounds and aligned by the assertion.
                let word = unsafe { &*self.page.base.add(offset).cast::<$atomic>() };
                word.store(value.to_le(), Relaxed);
            }
        )* }
    };
}

word_access! {
    u8_at, put_u8, u8, AtomicU8;
    u16_at, put_u16, u16, AtomicU16;
    u64_at, put_u64, u64, AtomicU64;
}

/// Up to 8 bytes as a number that sorts as they do.
#[inline]
fn leading_bytes(bytes: &[u8]) -> u64 {
    match bytes.first_chunk::<8>() {
        Some(word) => u64::from_be_bytes(*word),
        None => {
            let number = bytes.iter().fold(0, |number, &byte| number << 8 | u64::from(byte));
            number << (64 - 8 * bytes.len())
        }
    }
}

#[inline]
fn in_page(offset: usize, len: usize) -> bool {
    offset <= PAGE_SIZE && len <= PAGE_SIZE - offset
}

impl<'a> PageRef<'a> {
    /// Asks the processor to load the line at `offset` (masked into the page) and the next line.
    #[inline]
    pub(crate) fn prefetch(self, offset: usize) {
        let line = self.base.wrapping_add(offset & (PAGE_SIZE - 1));
        prefetch_line(line);
        prefetch_line(line.wrapping_add(CACHE_LINE));
    }

    /// Asks the processor to load all lines of a range (masked into the page).
    #[inline]
    pub(crate) fn prefetch_range(self, offset: usize, len: usize) {
        let first = offset & (PAGE_SIZE - CACHE_LINE);
        let end = (offset + len).min(PAGE_SIZE);
        for line in (first..end).step_by(CACHE_LINE) {
            prefetch_line(self.base.wrapping_add(line));
        }
    }

    /// Copies `len` bytes at `offset` to `target`. The bytes may be torn (M5).
    ///
    /// # Safety
    /// The range lies in the page, and `target` is good for `len` bytes.
    #[inline]
    unsafe fn racy_copy(self, offset: usize, target: *mut u8, len: usize) {
        // SAFETY: the caller keeps this function's contract. M1 keeps the source mapped.
        unsafe { std::ptr::copy_nonoverlapping(self.base.add(offset), target, len) };
    }

    /// Copies the range into `target`; false if it is not inside the page.
    #[inline]
    #[must_use]
    pub(crate) fn copy_to(self, offset: usize, target: &mut [u8]) -> bool {
        if !in_page(offset, target.len()) {
            return false;
        }
        // SAFETY: the range is in the page by the check above. `target` has the copied length.
        unsafe { self.racy_copy(offset, target.as_mut_ptr(), target.len()) };
        true
    }

    /// Appends the range to `target`; false if it is not inside the page.
    #[inline]
    #[must_use]
    pub(crate) fn append_to(self, offset: usize, len: usize, target: &mut Vec<u8>) -> bool {
        if !in_page(offset, len) {
            return false;
        }
        target.reserve(len);
        let old_len = target.len();
        // SAFETY: the range is in the page by the check. `reserve` made room for `len` bytes, and
        // the copy initialises them before the length covers them.
        unsafe {
            self.racy_copy(offset, target.as_mut_ptr().add(old_len), len);
            target.set_len(old_len + len);
        }
        true
    }

    /// `count` bytes (1 to 8, inside the page) as a number that sorts as they do.
    #[inline]
    fn big_endian(self, offset: usize, count: usize) -> u64 {
        debug_assert!((1..=8).contains(&count) && in_page(offset, count));
        let mut word = [0u8; 8];
        if offset + 8 <= PAGE_SIZE {
            // SAFETY: inside the page by the condition. A copy of constant length is one load.
            unsafe { self.racy_copy(offset, word.as_mut_ptr(), 8) };
            return u64::from_be_bytes(word) & (u64::MAX << (64 - 8 * count));
        }
        // SAFETY: inside the page, as the caller has ensured. At most 8 bytes are copied.
        unsafe { self.racy_copy(offset, word.as_mut_ptr(), count) };
        u64::from_be_bytes(word)
    }

    /// Compares the range with `other` as byte strings. A range that is not inside
    /// the page (torn) is cut to it.
    #[inline]
    pub(crate) fn compare(self, offset: usize, len: usize, other: &[u8]) -> Ordering {
        let offset = offset.min(PAGE_SIZE);
        let len = len.min(PAGE_SIZE - offset);
        let common = len.min(other.len());
        let mut at = 0;
        while at < common {
            let chunk = (common - at).min(8);
            let ours = self.big_endian(offset + at, chunk);
            let theirs = leading_bytes(&other[at..at + chunk]);
            match ours.cmp(&theirs) {
                Ordering::Equal => at += chunk,
                unequal => return unequal,
            }
        }
        len.cmp(&other.len())
    }

    /// Compares two ranges, which must lie in the page, as byte strings.
    pub(crate) fn compare_ranges(self, a: (usize, usize), b: (usize, usize)) -> Ordering {
        assert!(in_page(a.0, a.1) && in_page(b.0, b.1));
        let common = a.1.min(b.1);
        let mut at = 0;
        while at < common {
            let chunk = (common - at).min(8);
            match self.big_endian(a.0 + at, chunk).cmp(&self.big_endian(b.0 + at, chunk)) {
                Ordering::Equal => at += chunk,
                unequal => return unequal,
            }
        }
        a.1.cmp(&b.1)
    }

    /// The range's first four bytes as a number that sorts as they do, zeros behind a shorter
    /// one. It must lie in the page.
    #[inline]
    pub(crate) fn head_of(self, offset: usize, len: usize) -> u32 {
        assert!(in_page(offset, len));
        match len {
            0 => 0,
            _ => (self.big_endian(offset, len.min(4)) >> 32) as u32,
        }
    }

    /// Copies the whole page.
    pub(crate) fn copy_page(self, target: &mut PageBuf) {
        // SAFETY: source and target are whole pages.
        unsafe { self.racy_copy(0, target.0.as_mut_ptr(), PAGE_SIZE) };
    }
}

/// A page, for the holder of its exclusive latch (M4).
pub(crate) struct PageMut<'a> {
    page: PageRef<'a>,
}

impl<'a> Deref for PageMut<'a> {
    type Target = PageRef<'a>;

    #[inline]
    fn deref(&self) -> &PageRef<'a> {
        &self.page
    }
}

impl PageMut<'_> {
    /// The bytes of a range, which must lie in the page.
    #[inline]
    pub(crate) fn bytes(&self, offset: usize, len: usize) -> &[u8] {
        assert!(in_page(offset, len));
        // SAFETY: in the page. It is not written while the slice lives: the owner would need `&mut
        // self`, any other thread its latch (M3, M4).
        unsafe { std::slice::from_raw_parts(self.page.base.add(offset), len) }
    }

    /// All bytes of the page.
    pub(crate) fn all_bytes(&self) -> &[u8; PAGE_SIZE] {
        // SAFETY: as for `bytes`. Arrays of bytes need no alignment.
        unsafe { &*self.page.base.cast() }
    }

    /// All bytes of the page, to read a file's page into. Another thread may read them; its
    /// validation fails.
    pub(crate) fn all_bytes_mut(&mut self) -> &mut [u8; PAGE_SIZE] {
        // SAFETY: as above, and the borrow is exclusive, since the latch keeps other threads from
        // writing (M3, M4).
        unsafe { &mut *self.page.base.cast() }
    }

    /// Stores bytes at `offset`; the range must lie in the page.
    #[inline]
    pub(crate) fn write(&mut self, offset: usize, bytes: &[u8]) {
        assert!(in_page(offset, bytes.len()));
        // SAFETY: in the page. `bytes` cannot overlap it, since `self` is borrowed mutably and
        // `bytes` from elsewhere.
        unsafe {
            std::ptr::copy_nonoverlapping(bytes.as_ptr(), self.page.base.add(offset), bytes.len());
        }
    }

    /// Moves `len` bytes inside the page; both ranges must lie in it.
    #[inline]
    pub(crate) fn move_within(&mut self, from: usize, to: usize, len: usize) {
        assert!(in_page(from, len) && in_page(to, len));
        // SAFETY: both ranges are in the page, and `copy` allows overlap.
        unsafe { std::ptr::copy(self.page.base.add(from), self.page.base.add(to), len) };
    }

    /// Copies `len` bytes from another page; the ranges must lie in their pages.
    #[inline]
    pub(crate) fn copy_range(&mut self, to: usize, source: PageRef<'_>, from: usize, len: usize) {
        assert!(in_page(to, len) && in_page(from, len));
        // SAFETY: both ranges are in their pages, and `copy` allows that they are one page.
        unsafe { std::ptr::copy(source.base.add(from), self.page.base.add(to), len) };
    }

    /// Zeroes a range, which must lie in the page.
    pub(crate) fn zero(&mut self, offset: usize, len: usize) {
        assert!(in_page(offset, len));
        // SAFETY: in the page.
        unsafe { std::ptr::write_bytes(self.page.base.add(offset), 0, len) };
    }

    /// Overwrites the whole page.
    pub(crate) fn copy_from(&mut self, source: &PageBuf) {
        self.write(0, &source.0);
    }
}

/// A private page outside the pool, aligned for direct I/O.
#[repr(C, align(4096))]
#[derive(Clone)]
pub(crate) struct PageBuf([u8; PAGE_SIZE]);

impl PageBuf {
    /// A page of zeros.
    pub(crate) fn zeroed() -> Box<PageBuf> {
        Box::new(PageBuf([0; PAGE_SIZE]))
    }

    /// The page for reading through the page accessors.
    #[inline]
    pub(crate) fn page(&self) -> PageRef<'_> {
        PageRef { base: self.0.as_ptr().cast_mut(), memory: PhantomData }
    }

    /// The page for writing through the page accessors.
    #[inline]
    pub(crate) fn page_mut(&mut self) -> PageMut<'_> {
        let base = self.0.as_mut_ptr();
        PageMut { page: PageRef { base, memory: PhantomData } }
    }

    /// The page's bytes.
    #[inline]
    pub(crate) fn bytes(&self) -> &[u8; PAGE_SIZE] {
        &self.0
    }

    /// The page's bytes, for writing.
    #[inline]
    pub(crate) fn bytes_mut(&mut self) -> &mut [u8; PAGE_SIZE] {
        &mut self.0
    }

    /// The bytes of consecutive pages in memory.
    pub(crate) fn all_bytes(pages: &[PageBuf]) -> &[u8] {
        const { assert!(size_of::<PageBuf>() == PAGE_SIZE, "nothing between two pages") }
        // SAFETY: the pages are borrowed as long as the bytes are. They consist only of their
        // bytes, without gaps.
        unsafe { std::slice::from_raw_parts(pages.as_ptr().cast(), size_of_val(pages)) }
    }

    /// As [`PageBuf::all_bytes`], for writing.
    pub(crate) fn all_bytes_mut(pages: &mut [PageBuf]) -> &mut [u8] {
        let len = size_of_val(pages);
        // SAFETY: as above. The borrow is exclusive, and any bytes make a page.
        unsafe { std::slice::from_raw_parts_mut(pages.as_mut_ptr().cast(), len) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_and_ranges_stay_inside_the_page() {
        let mut buffer = PageBuf::zeroed();
        let mut page = buffer.page_mut();
        page.put_u64(PAGE_SIZE - 8, 7);
        page.put_u16(2, 0xabcd);
        assert_eq!(page.u64_at(usize::MAX), 7);
        assert_eq!(page.u16_at(2), 0xabcd);
        let mut bytes = Vec::new();
        assert!(!page.append_to(PAGE_SIZE - 3, 4, &mut bytes));
        assert!(page.append_to(2, 2, &mut bytes));
        assert_eq!(bytes, [0xcd, 0xab]);
        assert_eq!(page.compare(PAGE_SIZE + 5, 100, b""), Ordering::Equal);
    }

    #[test]
    fn compare_orders_as_slices_do() {
        let words: [&[u8]; 7] =
            [b"", b"a", b"a\0", b"abcdefgh", b"abcdefgha", b"abcdefgi", b"\xff\xff"];
        let mut buffer = PageBuf::zeroed();
        for a in words {
            buffer.page_mut().write(100, a);
            for b in words {
                buffer.page_mut().write(200, b);
                let ranges = ((100, a.len()), (200, b.len()));
                assert_eq!(
                    buffer.page().compare_ranges(ranges.0, ranges.1),
                    a.cmp(b),
                    "{a:?} {b:?}"
                );
                assert_eq!(buffer.page().compare(100, a.len(), b), a.cmp(b), "{a:?} {b:?}");
            }
        }
    }

    #[test]
    fn fewer_addresses_than_asked_for_will_do() {
        // More than any processor can address.
        let memory = PageMemory::new(16, 1 << 48, 16).unwrap();
        assert!((16..1 << 48).contains(&memory.max_pages()));
        assert!(PageMemory::new(16, 1 << 48, 1 << 47).is_err());
    }

    #[test]
    fn a_page_lies_where_it_was_placed() {
        let memory = PageMemory::new(2, 16, 16).unwrap();
        // SAFETY: the test has a single thread, and the two pages lie in different frames.
        unsafe {
            memory.place(PageId(3), 1);
            memory.place(PageId(4), 0);
            memory.page_mut(PageId(3)).write(10, b"hello");
            memory.page_mut(PageId(4)).write(10, b"world");
        }
        assert_eq!(memory.page(PageId(3)).u8_at(10), b'h');
        // SAFETY: the test has a single thread, and page 3 is no longer in memory.
        unsafe { memory.place(PageId(5), 1) };
        assert_eq!(memory.page(PageId(5)).u8_at(10), b'h');
        assert_eq!(memory.page(PageId(4)).u8_at(10), b'w');
    }
}
