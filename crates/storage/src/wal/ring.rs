//! The ring between appenders and the flusher: the one module of the log with
//! `unsafe` code.
//!
//! ```text
//!            released          published            reserved
//!               │                  │                   │
//!   ────────────┼──────────────────┼───────────────────┼───────────► LSN
//!     on disk:  │ consumer only    │ each reservation  │ released + size
//!     reusable  │ (reads)          │ its owner only    │
//! ```
//!
//! Byte `lsn` of the log lives at `lsn % size`. Four positions move forward only:
//!
//! - `reserved`: one fetch-add gives a writer its range. Ranges never overlap.
//! - the links: `links[start / 32 % n] = end` publishes a filled range (the idea
//!   of MySQL 8's `Link_buf`). Records are at least 40 bytes long, so two ranges
//!   never share a link of the same lap, and a link of an earlier lap holds an
//!   end at or before `start`: links need no clearing.
//! - `published`: the consumer follows the links. Everything before is filled.
//! - `released`: the consumer no longer needs anything before. The bytes up to `released + size`
//!   may be filled.
//!
//! The invariant that makes the shared bytes sound: **at any moment, each byte
//! of the buffer is touched by at most one party.** A byte at position p is
//!
//! 1. written only by the owner of the one [`Reservation`] that covers p (`fill` takes it by
//!    `&mut`), and only after the owner has seen `p < released + size` (acquire). So the consumer
//!    has released position p − size, which shares the byte, before (release);
//! 2. read, and changed, only by the one [`Consumer`], for p in `released..published`. It changes
//!    them by `&mut`, so that no reference to them exists. `published` passes p only by an acquire
//!    load of the link that the owner stored (release) after its last write, consuming the
//!    reservation.
//!
//! Deadlocks are impossible: the owner of the first unpublished range sees its space as soon as the
//! consumer has released everything published, since a record is never longer than the ring.

#![allow(unsafe_code)]

use std::cell::UnsafeCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use steppe_vfs::DIRECT_ALIGNMENT;

/// An atomic word: [`AtomicU64`], or shuttle's in the test of the protocol.
pub(super) trait Word: Send + Sync {
    fn new(value: u64) -> Self;
    fn load_acquire(&self) -> u64;
    fn store_release(&self, value: u64);
    fn fetch_add(&self, value: u64) -> u64;
}

impl Word for AtomicU64 {
    fn new(value: u64) -> AtomicU64 {
        AtomicU64::new(value)
    }

    fn load_acquire(&self) -> u64 {
        self.load(Ordering::Acquire)
    }

    fn store_release(&self, value: u64) {
        self.store(value, Ordering::Release);
    }

    /// Sequentially consistent: a reservation is also a point in the one order
    /// of commits, which snapshots compare against.
    fn fetch_add(&self, value: u64) -> u64 {
        self.fetch_add(value, Ordering::SeqCst)
    }
}

/// Keeps a hot word off its neighbours' cache lines (two lines, since they are fetched in pairs).
#[repr(align(128))]
struct Padded<T>(T);

/// Two records never start within the same 32 bytes.
const LINK_GRAIN: u64 = 32;

/// The state that appenders and the consumer share.
pub(super) struct Ring<W: Word = AtomicU64> {
    /// The buffer, with extra bytes for its alignment. The `size` cells from `first` on are used;
    /// `first` is at a multiple of [`DIRECT_ALIGNMENT`], so that whole blocks are written from here
    /// without a copy.
    cells: Box<[UnsafeCell<u8>]>,
    first: usize,
    size: usize,
    links: Box<[W]>,
    reserved: Padded<W>,
    released: Padded<W>,
}

// SAFETY: all fields but `cells` are `Sync` by themselves. Only `Ring::fill` and `Consumer` access
// `cells`. They keep the invariant in the module's header, so two threads touch one byte only with
// an acquire/release pair between them.
unsafe impl<W: Word> Sync for Ring<W> {}

/// A range of the log that its owner must fill and publish.
#[derive(Debug)]
#[must_use = "an unpublished range blocks the log for ever"]
pub(super) struct Reservation {
    start: u64,
    end: u64,
}

impl Reservation {
    pub(super) fn start(&self) -> u64 {
        self.start
    }

    pub(super) fn end(&self) -> u64 {
        self.end
    }
}

/// The reading side; each ring has one.
pub(super) struct Consumer<W: Word = AtomicU64> {
    ring: Arc<Ring<W>>,
    published: u64,
    released: u64,
}

impl<W: Word> Ring<W> {
    /// A ring of `size` bytes (a power of two) in which the log continues at `start`. `prefix` is
    /// the log before `start` that must be readable.
    pub(super) fn new(size: usize, start: u64, prefix: &[u8]) -> (Arc<Ring<W>>, Consumer<W>) {
        assert!(size.is_power_of_two() && size as u64 >= 2 * LINK_GRAIN, "size of the log ring");
        assert!(prefix.len() <= size && prefix.len() as u64 <= start, "prefix of the log ring");
        let cells: Box<[UnsafeCell<u8>]> = zeroed_cells(size + DIRECT_ALIGNMENT);
        let first = cells.as_ptr().align_offset(DIRECT_ALIGNMENT);
        assert!(first <= DIRECT_ALIGNMENT, "bytes can be aligned");
        let links = (0..size as u64 / LINK_GRAIN).map(|_| W::new(0)).collect();
        let released = start - prefix.len() as u64;
        let ring = Ring {
            cells,
            first,
            size,
            links,
            reserved: Padded(W::new(start)),
            released: Padded(W::new(released)),
        };
        let mut own = Reservation { start: released, end: start };
        let filled = ring.fill(&mut own, &[prefix]);
        assert!(filled, "an empty ring has room for the prefix");
        let ring = Arc::new(ring);
        let consumer = Consumer { ring: Arc::clone(&ring), published: start, released };
        (ring, consumer)
    }

    pub(super) fn size(&self) -> usize {
        self.size
    }

    /// The first byte of the buffer.
    fn base(&self) -> *mut u8 {
        // The pointer comes from the slice of cells, so it may write all of them.
        UnsafeCell::raw_get(self.cells[self.first..].as_ptr())
    }

    /// The start of the next reservation.
    pub(super) fn reserved(&self) -> u64 {
        self.reserved.0.load_acquire()
    }

    /// Reserves the next `len` bytes: more than [`LINK_GRAIN`], a multiple of 8,
    /// at most the ring's size.
    pub(super) fn reserve(&self, len: u64) -> Reservation {
        debug_assert!(len > LINK_GRAIN && len.is_multiple_of(8) && len <= self.size() as u64);
        let start = self.reserved.0.fetch_add(len);
        Reservation { start, end: start + len }
    }

    /// Copies `parts` into the range and zeroes the rest. Returns `false`, without any change, if
    /// the ring still holds older bytes there.
    pub(super) fn fill(&self, range: &mut Reservation, parts: &[&[u8]]) -> bool {
        if range.end > self.released.0.load_acquire() + self.size() as u64 {
            return false;
        }
        let mut position = range.start;
        for part in parts {
            assert!(part.len() as u64 <= range.end - position, "parts exceed their reservation");
            self.copy_in(position, part);
            position += part.len() as u64;
        }
        const PADDING: [u8; 8] = [0; 8];
        while position < range.end {
            let count = (range.end - position).min(PADDING.len() as u64);
            self.copy_in(position, &PADDING[..usize::try_from(count).expect("at most 8")]);
            position += count;
        }
        true
    }

    /// Makes a filled range visible to the consumer.
    pub(super) fn publish(&self, range: Reservation) {
        self.links[self.link_of(range.start)].store_release(range.end);
    }

    fn link_of(&self, start: u64) -> usize {
        let index = (start / LINK_GRAIN) & (self.links.len() as u64 - 1);
        usize::try_from(index).expect("below the number of links")
    }

    fn offset_of(&self, position: u64) -> usize {
        let offset = position & (self.size() as u64 - 1);
        usize::try_from(offset).expect("below the ring's size")
    }

    /// Copies to `position`, and continues at the start of the buffer if it reaches the end. The
    /// caller owns the range (see `fill` and `Consumer::overwrite`).
    #[inline]
    fn copy_in(&self, position: u64, bytes: &[u8]) {
        let offset = self.offset_of(position);
        let first = bytes.len().min(self.size() - offset);
        let (head, tail) = bytes.split_at(first);
        let base = self.base();
        // SAFETY: `offset + head.len() <= size` and `tail.len() <= offset` hold by construction (a
        // range is never longer than the ring), so both copies stay in the buffer. `bytes` is a
        // shared borrow of other memory. Exclusive access to these bytes is condition 1 of the
        // module's header for a reservation, condition 2 for the consumer.
        unsafe {
            std::ptr::copy_nonoverlapping(head.as_ptr(), base.add(offset), head.len());
            if !tail.is_empty() {
                std::ptr::copy_nonoverlapping(tail.as_ptr(), base, tail.len());
            }
        }
    }
}

fn zeroed_cells(size: usize) -> Box<[UnsafeCell<u8>]> {
    // The allocator's pages are zeroed on demand, so an unused ring costs no memory.
    let bytes: Box<[u8]> = vec![0; size].into_boxed_slice();
    let raw = Box::into_raw(bytes) as *mut [UnsafeCell<u8>];
    // SAFETY: `UnsafeCell<u8>` has the layout of `u8`, and `raw` is a unique pointer that a box of
    // the same size and alignment has just released.
    unsafe { Box::from_raw(raw) }
}

impl<W: Word> Consumer<W> {
    /// Follows the links; returns the end of the contiguously filled range.
    pub(super) fn advance(&mut self) -> u64 {
        loop {
            let link = self.ring.links[self.ring.link_of(self.published)].load_acquire();
            if link <= self.published {
                return self.published;
            }
            self.published = link;
        }
    }

    /// The bytes `from..to`, in two parts if they continue at the start of the buffer. They must
    /// lie within `released..published`.
    pub(super) fn read(&self, from: u64, to: u64) -> (&[u8], &[u8]) {
        assert!(self.released <= from && from <= to && to <= self.published, "not readable");
        let len = usize::try_from(to - from).expect("at most the ring's size");
        let offset = self.ring.offset_of(from);
        let first = len.min(self.ring.size() - offset);
        let base = self.ring.base();
        // SAFETY: both parts lie in the buffer, as in `copy_in`. They are not written while the
        // slices live: the range is below `published`, so its reservations are consumed. The bytes'
        // next lap waits for `release`, which needs `&mut self` (condition 2 of the module's
        // header).
        unsafe {
            let head = std::slice::from_raw_parts(base.add(offset), first);
            let tail = std::slice::from_raw_parts(base, len - first);
            (head, tail)
        }
    }

    /// Overwrites the bytes at `position`. They must lie within `released..published`.
    pub(super) fn overwrite(&mut self, position: u64, bytes: &[u8]) {
        let end = position + bytes.len() as u64;
        assert!(self.released <= position && end <= self.published, "not the consumer's");
        self.ring.copy_in(position, bytes);
    }

    /// Returns everything before `position` to the writers.
    pub(super) fn release(&mut self, position: u64) {
        assert!(position <= self.published, "only what was published can be released");
        if position > self.released {
            self.released = position;
            self.ring.released.0.store_release(position);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_go_round_and_wait_for_release() {
        let (ring, mut consumer) = Ring::<AtomicU64>::new(256, 1000, b"12345678");
        assert_eq!(consumer.read(992, 1000).0.len() + consumer.read(992, 1000).1.len(), 8);
        let mut first = ring.reserve(120);
        let mut second = ring.reserve(120);
        let mut third = ring.reserve(48);
        assert_eq!((first.start(), third.end(), ring.reserved()), (1000, 1288, 1288));
        assert!(ring.fill(&mut second, &[&[2; 100], &[3; 17]]));
        ring.publish(second);
        assert_eq!(consumer.advance(), 1000, "the first range is a gap");
        assert!(ring.fill(&mut first, &[&[1; 120]]));
        ring.publish(first);
        assert_eq!(consumer.advance(), 1240);
        assert!(!ring.fill(&mut third, &[&[4; 48]]), "no room");
        let (a, b) = consumer.read(1000, 1240);
        let all = [a, b].concat();
        assert_eq!(all, [&[1; 120][..], &[2; 100], &[3; 17], &[0; 3]].concat());
        consumer.release(1120);
        assert!(ring.fill(&mut third, &[&[4; 48]]));
        ring.publish(third);
        assert_eq!(consumer.advance(), 1288);
        let (a, b) = consumer.read(1240, 1288);
        assert_eq!((a.len(), [a, b].concat()), (40, vec![4; 48]), "goes round at 1280");
        consumer.overwrite(1276, &[5; 8]);
        let (a, b) = consumer.read(1272, 1288);
        assert_eq!((a, b), (&[4, 4, 4, 4, 5, 5, 5, 5][..], &[5, 5, 5, 5, 4, 4, 4, 4][..]));
    }

    #[test]
    fn many_laps_between_threads() {
        const RECORDS: u64 = 20_000;
        let (ring, mut consumer) = Ring::<AtomicU64>::new(4096, 8, b"");
        std::thread::scope(|scope| {
            for thread in 0..3_u8 {
                let ring = &ring;
                scope.spawn(move || {
                    for i in 0..RECORDS {
                        let len = 40 + (i * 8 + u64::from(thread) * 16) % 512;
                        let mut range = ring.reserve(len);
                        let start = range.start().to_le_bytes();
                        let length = len.to_le_bytes();
                        let body = vec![thread; usize::try_from(len).expect("small") - 16];
                        while !ring.fill(&mut range, &[&start, &length, &body]) {
                            std::thread::yield_now();
                        }
                        ring.publish(range);
                    }
                });
            }
            let mut position = 8;
            for _ in 0..3 * RECORDS {
                while consumer.advance() == position {
                    std::thread::yield_now();
                }
                let word = |at: u64| {
                    let (a, b) = consumer.read(at, at + 8);
                    u64::from_le_bytes([a, b].concat().try_into().expect("8 bytes"))
                };
                assert_eq!(word(position), position);
                let end = position + word(position + 8);
                let (a, b) = consumer.read(position + 16, end);
                let body = [a, b].concat();
                assert!(body.iter().all(|byte| *byte == body[0]), "a mixture at {position}");
                consumer.overwrite(position, &[0xFF; 8]);
                consumer.release(end);
                position = end;
            }
        });
    }

    /// The publish protocol under shuttle's schedules: small ring, several laps.
    mod shuttle_model {
        use super::*;

        struct ShuttleWord(shuttle::sync::atomic::AtomicU64);

        impl Word for ShuttleWord {
            fn new(value: u64) -> ShuttleWord {
                ShuttleWord(shuttle::sync::atomic::AtomicU64::new(value))
            }

            fn load_acquire(&self) -> u64 {
                self.0.load(Ordering::SeqCst)
            }

            fn store_release(&self, value: u64) {
                self.0.store(value, Ordering::SeqCst);
            }

            fn fetch_add(&self, value: u64) -> u64 {
                self.0.fetch_add(value, Ordering::SeqCst)
            }
        }

        const WRITERS: u8 = 3;
        const PER_WRITER: u64 = 3;
        const LEN: u64 = 40;

        fn writers_and_a_consumer() {
            let (ring, mut consumer) = Ring::<ShuttleWord>::new(128, 64, b"");
            let writers: Vec<_> = (0..WRITERS)
                .map(|writer| {
                    let ring = Arc::clone(&ring);
                    shuttle::thread::spawn(move || {
                        for _ in 0..PER_WRITER {
                            let mut range = ring.reserve(LEN);
                            let start = range.start().to_le_bytes();
                            while !ring.fill(&mut range, &[&start, &[writer + 1; 32]]) {
                                shuttle::thread::yield_now();
                            }
                            ring.publish(range);
                        }
                    })
                })
                .collect();
            let end = 64 + LEN * PER_WRITER * u64::from(WRITERS);
            let mut position = 64;
            while position < end {
                let published = consumer.advance();
                if published == position {
                    shuttle::thread::yield_now();
                    continue;
                }
                while position < published {
                    let (a, b) = consumer.read(position, position + LEN);
                    let record = [a, b].concat();
                    assert_eq!(record[..8], position.to_le_bytes());
                    assert!((1..=WRITERS).contains(&record[8]));
                    assert!(record[8..].iter().all(|byte| *byte == record[8]));
                    consumer.overwrite(position, &[0xFF; 8]);
                    position += LEN;
                }
                consumer.release(position);
            }
            assert_eq!(position, end);
            for writer in writers {
                writer.join().expect("a writer ends");
            }
        }

        #[test]
        fn random_schedules() {
            shuttle::check_random(writers_and_a_consumer, 2000);
        }

        #[test]
        fn schedules_with_few_preemptions() {
            shuttle::check_pct(writers_and_a_consumer, 1000, 3);
        }
    }
}
