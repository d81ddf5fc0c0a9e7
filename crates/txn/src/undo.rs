//! Undo: the older versions of rows, and what ROLLBACK needs.
//!
//! ```text
//!   row in its table                undo segments (1 MiB, in memory or spilled)
//!   ┌─────────────────────┐         ┌──────────────────────────────────────────┐
//!   │ xid 9 │ undo ───────┼────────►│ xid 9 │ chain │ prev lsn │ before: xid 5 ─┼─┐
//!   │ bytes (newest)      │         │       │ delta to the version before      │ │
//!   └─────────────────────┘         ├──────────────────────────────────────────┤ │
//!                                   │ xid 5 │ …                                │◄┘
//!                                   └──────────────────────────────────────────┘
//! ```
//!
//! A pointer is a segment's number and a word offset in it; segment numbers are
//! never reused. Writers append under a mutex of one of a few arenas; readers
//! copy words that no one changes any more. The words are atomics so that this
//! needs no `unsafe`: a record's words are stored before the row version that
//! points to them is published under its leaf's latch.
//!
//! A segment is reclaimed as a whole once all its xids are below the horizon; what its records
//! have deleted is purged as soon as each one's xid is (`reclaim`).
//! Beyond `memory_bytes_max` the oldest full segments move to a file; they are
//! read back piecewise. The file is scratch: it is emptied when the engine
//! opens, because nothing in undo is needed after a crash (the log has it all),
//! and the space of what is freed in it is given back at once.
//! That of prepared transactions is made again from the log; the pointers in their
//! rows are then those of an earlier run, below `first_segment`.

mod reclaim;

use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use hashbrown::HashMap;
use parking_lot::{Mutex, RwLock};
use steppe_storage::StorageError;
use steppe_types::{Error, Result};
use steppe_vfs::{File, OpenMode, Vfs};

/// A record's address; 0 is none.
pub(crate) type UndoPtr = u64;

const OFFSET_BITS: u32 = 17;
const HEAD_WORDS: usize = 4;
/// Bits of a record's length in its first word; the command id (32 bits) is above them.
const LEN_BITS: u32 = 24;
const _: () = assert!(1 << LEN_BITS > 8 << OFFSET_BITS, "a record is at most a segment long");
const DIRECTORY_SHARDS: usize = 16;
/// Set in a record's first word once ROLLBACK has undone it.
const UNDONE: u64 = 1 << 63;

/// How undo memory is bounded.
#[derive(Clone, Copy, Debug)]
pub(crate) struct UndoOptions {
    /// Full segments kept in memory, in bytes.
    pub(crate) memory_bytes_max: u64,
    /// Words of a segment, at most `1 << 17`.
    pub(crate) segment_words: usize,
    /// Number of independent append positions.
    pub(crate) arenas: usize,
}

/// The fixed part of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct UndoHead {
    /// The transaction that wrote it.
    pub(crate) xid: u64,
    /// The same transaction's previous record.
    pub(crate) chain: UndoPtr,
    /// The same transaction's log record before the one of this change.
    pub(crate) prev_lsn: u64,
    /// The command of its transaction that wrote it.
    pub(crate) cid: u32,
    /// Whether it was rolled back.
    pub(crate) undone: bool,
    len: usize,
}

enum Body {
    Memory(Box<[AtomicU64]>),
    /// At this offset of the spill file.
    Spilled(u64),
}

struct Segment {
    number: u64,
    used_words: AtomicUsize,
    max_xid: AtomicU64,
    /// What is before was shown to the purge.
    shown_words: AtomicUsize,
    /// The transaction of the first record that was not, as far as is known.
    next_xid_to_show: AtomicU64,
    body: RwLock<Body>,
}

/// Segments by number.
type DirectoryShard = RwLock<HashMap<u64, Arc<Segment>, foldhash::fast::RandomState>>;

#[derive(Default)]
struct Arena {
    current: Option<Arc<Segment>>,
}

#[derive(Default)]
struct Sealed {
    /// Full segments, oldest first.
    queue: VecDeque<Arc<Segment>>,
    spill_slots_free: Vec<u64>,
    spill_slots: u64,
}

/// All undo of an engine.
pub(crate) struct UndoLog {
    options: UndoOptions,
    vfs: Arc<dyn Vfs>,
    path: PathBuf,
    arenas: Box<[Mutex<Arena>]>,
    directory: Box<[DirectoryShard]>,
    next_segment: AtomicU64,
    /// Pointers into segments below are from before a crash.
    first_segment: AtomicU64,
    /// Where those lead now.
    restored: RwLock<HashMap<UndoPtr, UndoPtr, foldhash::fast::RandomState>>,
    sealed: Mutex<Sealed>,
    /// Bytes of full segments in memory.
    memory_bytes: AtomicU64,
    spill_file: Mutex<Option<Arc<dyn File>>>,
    buffers: Mutex<Vec<Box<[AtomicU64]>>>,
    /// Held while full segments are moved to the file, or freed: the horizon up to which all
    /// records were shown to the purge.
    reclaiming: Mutex<u64>,
}

fn vfs_error(error: steppe_vfs::Error) -> Error {
    StorageError::from(error).into()
}

#[cold]
fn missing(ptr: UndoPtr) -> Error {
    Error::internal(format!("undo record {ptr:#x} does not exist"))
}

fn store_bytes(words: &[AtomicU64], bytes: &[u8]) {
    for (word, chunk) in words.iter().zip(bytes.chunks(8)) {
        let mut buffer = [0; 8];
        buffer[..chunk.len()].copy_from_slice(chunk);
        word.store(u64::from_le_bytes(buffer), Ordering::Relaxed);
    }
}

fn load_bytes(words: &[AtomicU64], len: usize, out: &mut Vec<u8>) {
    out.clear();
    out.reserve(words.len() * 8);
    for word in words {
        out.extend_from_slice(&word.load(Ordering::Relaxed).to_le_bytes());
    }
    out.truncate(len);
}

impl UndoLog {
    pub(crate) fn new(options: UndoOptions, vfs: Arc<dyn Vfs>, path: PathBuf) -> UndoLog {
        let segment_words = options.segment_words.clamp(2048, 1 << OFFSET_BITS);
        UndoLog {
            options: UndoOptions { segment_words, ..options },
            vfs,
            path,
            arenas: (0..options.arenas.max(1)).map(|_| Mutex::default()).collect(),
            directory: (0..DIRECTORY_SHARDS).map(|_| RwLock::default()).collect(),
            next_segment: AtomicU64::new(1),
            first_segment: AtomicU64::new(1),
            restored: RwLock::default(),
            sealed: Mutex::default(),
            memory_bytes: AtomicU64::new(0),
            spill_file: Mutex::new(None),
            buffers: Mutex::default(),
            reclaiming: Mutex::new(0),
        }
    }

    /// After a crash: numbers segments above those of `last` and all pointers before it. Comes
    /// before the first record.
    pub(crate) fn number_after(&self, last: UndoPtr) {
        let first = (last >> OFFSET_BITS) + 1;
        self.next_segment.store(first, Ordering::Relaxed);
        self.first_segment.store(first, Ordering::Release);
    }

    /// A record from before a crash is here again.
    pub(crate) fn restored(&self, old: UndoPtr, new: UndoPtr) {
        self.restored.write().insert(old, new);
    }

    /// Where a pointer leads.
    #[inline]
    fn follow(&self, ptr: UndoPtr) -> UndoPtr {
        if ptr >> OFFSET_BITS >= self.first_segment.load(Ordering::Acquire) {
            return ptr;
        }
        self.restored.read().get(&ptr).copied().unwrap_or(ptr)
    }

    fn shard(&self, number: u64) -> &DirectoryShard {
        &self.directory[number as usize % DIRECTORY_SHARDS]
    }

    fn segment_bytes(&self) -> u64 {
        self.options.segment_words as u64 * 8
    }

    /// Appends a record; may be called under a leaf's latch: it takes one mutex
    /// and does no I/O (see [`UndoLog::spill_if_needed`]).
    pub(crate) fn append(
        &self,
        arena: u32,
        xid: u64,
        chain: UndoPtr,
        prev_lsn: u64,
        cid: u32,
        body: &[u8],
    ) -> Result<UndoPtr> {
        let words_needed = HEAD_WORDS + body.len().div_ceil(8);
        if words_needed > self.options.segment_words {
            return Err(Error::internal("undo record is larger than a segment"));
        }
        let mut arena = self.arenas[arena as usize % self.arenas.len()].lock();
        let segment = match &arena.current {
            Some(s)
                if s.used_words.load(Ordering::Relaxed) + words_needed
                    <= self.options.segment_words =>
            {
                s
            }
            _ => {
                if let Some(full) = arena.current.take() {
                    self.seal(full);
                }
                arena.current.insert(self.new_segment())
            }
        };
        let at = segment.used_words.load(Ordering::Relaxed);
        let content = segment.body.read();
        let Body::Memory(words) = &*content else {
            return Err(Error::internal("an open undo segment was spilled"));
        };
        let head = [u64::from(cid) << LEN_BITS | body.len() as u64, xid, chain, prev_lsn];
        for (word, value) in words[at..].iter().zip(head) {
            word.store(value, Ordering::Relaxed);
        }
        store_bytes(&words[at + HEAD_WORDS..at + words_needed], body);
        drop(content);
        segment.max_xid.fetch_max(xid, Ordering::Relaxed);
        segment.used_words.store(at + words_needed, Ordering::Release);
        Ok(segment.number << OFFSET_BITS | at as u64)
    }

    fn new_segment(&self) -> Arc<Segment> {
        let number = self.next_segment.fetch_add(1, Ordering::Relaxed);
        let words = self.buffers.lock().pop();
        let words = words.unwrap_or_else(|| {
            (0..self.options.segment_words).map(|_| AtomicU64::new(0)).collect()
        });
        let segment = Arc::new(Segment {
            number,
            used_words: AtomicUsize::new(0),
            max_xid: AtomicU64::new(0),
            shown_words: AtomicUsize::new(0),
            next_xid_to_show: AtomicU64::new(0),
            body: RwLock::new(Body::Memory(words)),
        });
        self.shard(number).write().insert(number, Arc::clone(&segment));
        segment
    }

    fn seal(&self, segment: Arc<Segment>) {
        self.memory_bytes.fetch_add(self.segment_bytes(), Ordering::Relaxed);
        self.sealed.lock().queue.push_back(segment);
    }

    /// Seals the segments in use, so that [`UndoLog::reclaim`] may take them.
    pub(crate) fn seal_all(&self) {
        for arena in &self.arenas {
            let mut arena = arena.lock();
            if let Some(full) = arena.current.take() {
                self.seal(full);
            }
        }
    }

    /// Runs `f` on the words of a record, from its head on.
    fn with_words<T>(
        &self,
        ptr: UndoPtr,
        f: impl FnOnce(&Segment, usize, &Body) -> Result<T>,
    ) -> Result<T> {
        let ptr = self.follow(ptr);
        let (number, at) = (ptr >> OFFSET_BITS, (ptr & ((1 << OFFSET_BITS) - 1)) as usize);
        let shard = self.shard(number).read();
        let Some(segment) = shard.get(&number) else { return Err(missing(ptr)) };
        if at + HEAD_WORDS > segment.used_words.load(Ordering::Acquire) {
            return Err(missing(ptr));
        }
        f(segment, at, &segment.body.read())
    }

    /// Copies a record's body into `out`.
    pub(crate) fn read(&self, ptr: UndoPtr, out: &mut Vec<u8>) -> Result<UndoHead> {
        self.with_words(ptr, |segment, at, body| {
            let (head, words_end) = match body {
                Body::Memory(words) => {
                    let head = head_in_memory(words, at);
                    let end = at + HEAD_WORDS + head.len.div_ceil(8);
                    let inside = end <= segment.used_words.load(Ordering::Acquire);
                    if inside {
                        load_bytes(&words[at + HEAD_WORDS..end], head.len, out);
                    }
                    (head, inside)
                }
                Body::Spilled(offset) => {
                    let position = offset + at as u64 * 8;
                    let head = self.spilled_head(position)?;
                    let end = at + HEAD_WORDS + head.len.div_ceil(8);
                    let inside = end <= segment.used_words.load(Ordering::Acquire);
                    if inside {
                        out.clear();
                        out.resize(head.len, 0);
                        let body_at = position + HEAD_WORDS as u64 * 8;
                        self.spill_file()?.read_exact_at(out, body_at).map_err(vfs_error)?;
                    }
                    (head, inside)
                }
            };
            if words_end { Ok(head) } else { Err(missing(ptr)) }
        })
    }

    /// A record's head.
    pub(crate) fn head(&self, ptr: UndoPtr) -> Result<UndoHead> {
        self.with_words(ptr, |_, at, body| match body {
            Body::Memory(words) => Ok(head_in_memory(words, at)),
            Body::Spilled(offset) => self.spilled_head(offset + at as u64 * 8),
        })
    }

    fn spilled_head(&self, position: u64) -> Result<UndoHead> {
        let mut bytes = [0; HEAD_WORDS * 8];
        self.spill_file()?.read_exact_at(&mut bytes, position).map_err(vfs_error)?;
        Ok(head_of(words_of(&bytes)))
    }

    /// Notes that ROLLBACK has undone a record.
    pub(crate) fn mark_undone(&self, ptr: UndoPtr) -> Result<()> {
        self.with_words(ptr, |_, at, body| match body {
            Body::Memory(words) => {
                words[at].fetch_or(UNDONE, Ordering::Relaxed);
                Ok(())
            }
            Body::Spilled(offset) => {
                // The last byte of the little-endian first word holds the mark.
                let position = offset + at as u64 * 8 + 7;
                self.spill_file()?.write_at(&[0x80], position).map_err(vfs_error)
            }
        })
    }

    fn spill_file(&self) -> Result<Arc<dyn File>> {
        let mut file = self.spill_file.lock();
        if let Some(file) = &*file {
            return Ok(Arc::clone(file));
        }
        let opened = self.vfs.open(&self.path, OpenMode::TRUNCATE).map_err(vfs_error)?;
        *file = Some(Arc::clone(&opened));
        Ok(opened)
    }

    /// Empties the scratch file that an earlier run has left.
    pub(crate) fn discard_leftovers(&self) -> Result<()> {
        if self.vfs.exists(&self.path).map_err(vfs_error)? {
            self.vfs.open(&self.path, OpenMode::TRUNCATE).map_err(vfs_error)?;
        }
        Ok(())
    }

    /// Moves the oldest full segments to the file while memory is over its
    /// bound. Called between row operations, never under a latch.
    pub(crate) fn spill_if_needed(&self) -> Result<()> {
        let bytes = || self.memory_bytes.load(Ordering::Relaxed);
        let bytes_max = self.options.memory_bytes_max;
        if bytes() <= bytes_max {
            return Ok(());
        }
        // One mover at a time, and none while segments are freed. A caller that finds
        // another at work goes on, unless memory runs away from that one.
        let _only_one = match self.reclaiming.try_lock() {
            Some(guard) => guard,
            None if bytes() <= bytes_max.saturating_mul(2) => return Ok(()),
            None => self.reclaiming.lock(),
        };
        while bytes() > bytes_max {
            let mut sealed = self.sealed.lock();
            let in_memory = |s: &&Arc<Segment>| matches!(*s.body.read(), Body::Memory(_));
            let Some(segment) = sealed.queue.iter().find(in_memory).cloned() else { return Ok(()) };
            let slot = sealed.spill_slots_free.pop().unwrap_or_else(|| {
                sealed.spill_slots += 1;
                sealed.spill_slots - 1
            });
            drop(sealed);
            if let Err(error) = self.spill(&segment, slot * self.segment_bytes()) {
                self.sealed.lock().spill_slots_free.push(slot);
                return Err(error);
            }
        }
        Ok(())
    }

    fn spill(&self, segment: &Segment, offset: u64) -> Result<()> {
        let file = self.spill_file()?;
        let mut body = segment.body.write();
        let Body::Memory(words) = &*body else { return Ok(()) };
        let used = segment.used_words.load(Ordering::Acquire);
        let mut bytes = Vec::new();
        load_bytes(&words[..used], used * 8, &mut bytes);
        file.write_at(&bytes, offset).map_err(vfs_error)?;
        let Body::Memory(words) = std::mem::replace(&mut *body, Body::Spilled(offset)) else {
            return Ok(());
        };
        drop(body);
        self.memory_bytes.fetch_sub(self.segment_bytes(), Ordering::Relaxed);
        self.keep_buffer(words);
        Ok(())
    }

    fn keep_buffer(&self, words: Box<[AtomicU64]>) {
        let mut buffers = self.buffers.lock();
        if buffers.len() < self.arenas.len() {
            buffers.push(words);
        }
    }

    /// Bytes of undo in memory, and segments in the spill file.
    pub(crate) fn usage(&self) -> (u64, u64) {
        let open = self.arenas.iter().filter(|a| a.lock().current.is_some()).count() as u64;
        let sealed = self.sealed.lock();
        let spilled = sealed.spill_slots - sealed.spill_slots_free.len() as u64;
        drop(sealed);
        let full = self.memory_bytes.load(Ordering::Relaxed);
        (full + open * self.segment_bytes(), spilled)
    }
}

fn head_of([first, xid, chain, prev_lsn]: [u64; HEAD_WORDS]) -> UndoHead {
    let len = (first & ((1 << LEN_BITS) - 1)) as usize;
    let cid = (first >> LEN_BITS) as u32;
    UndoHead { xid, chain, prev_lsn, cid, undone: first & UNDONE != 0, len }
}

fn head_in_memory(words: &[AtomicU64], at: usize) -> UndoHead {
    head_of([0, 1, 2, 3].map(|i| words[at + i].load(Ordering::Relaxed)))
}

fn words_of(bytes: &[u8]) -> [u64; HEAD_WORDS] {
    let mut words = [0; HEAD_WORDS];
    for (word, chunk) in words.iter_mut().zip(bytes.chunks_exact(8)) {
        let mut buffer = [0; 8];
        buffer.copy_from_slice(chunk);
        *word = u64::from_le_bytes(buffer);
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;
    use steppe_vfs::CrashVfs;

    fn log(memory_bytes_max: u64) -> UndoLog {
        let options = UndoOptions { memory_bytes_max, segment_words: 2048, arenas: 2 };
        let vfs = CrashVfs::new(1);
        UndoLog::new(options, Arc::new(vfs), PathBuf::from("undo"))
    }

    fn fill(log: &UndoLog, count: u64) -> Vec<UndoPtr> {
        let body = |n: u64| vec![n as u8; 100 + n as usize % 50];
        let mut pointers = Vec::new();
        for n in 0..count {
            let ptr =
                log.append(n as u32, n + 1, n, n * 3, u32::MAX - n as u32, &body(n)).expect("fits");
            pointers.push(ptr);
            log.spill_if_needed().expect("spills");
        }
        let mut out = Vec::new();
        for (n, &ptr) in pointers.iter().enumerate() {
            let n = n as u64;
            let head = log.read(ptr, &mut out).expect("is there");
            assert_eq!((head.xid, head.chain, head.prev_lsn), (n + 1, n, n * 3));
            assert_eq!((head.cid, head), (u32::MAX - n as u32, log.head(ptr).expect("is there")));
            assert_eq!(out, body(n));
        }
        pointers
    }

    #[test]
    fn records_read_back_from_memory_and_from_the_file() {
        let log = log(64 << 10);
        fill(&log, 3000);
        let (memory, spilled) = log.usage();
        assert!(memory <= (64 << 10) + 3 * 16384, "{memory} bytes in memory");
        assert!(spilled > 10, "{spilled} segments spilled");
    }

    #[test]
    fn pointers_from_before_a_crash_lead_to_the_restored_records() {
        let log = log(64 << 10);
        let old = 7 << OFFSET_BITS | 40;
        log.number_after(old);
        let new = log.append(0, 3, 0, 0, 0, b"before").expect("fits");
        assert!(new >> OFFSET_BITS > 7);
        log.restored(old, new);
        let mut out = Vec::new();
        assert_eq!(log.read(old, &mut out).expect("restored").xid, 3);
        assert_eq!(out, b"before");
        assert!(log.read(old + 1, &mut out).is_err());
        log.seal_all();
        log.reclaim(4, |_, _| Ok(())).expect("frees");
        assert!(log.restored.read().is_empty());
    }

    #[test]
    fn records_are_shown_once_they_are_settled_in_segments_in_use_too() {
        let log = log(64 << 10);
        let body = [7; 40];
        for xid in [5, 3, 9, 4] {
            log.append(0, xid, 0, 0, 0, &body).expect("fits");
        }
        let shown_below = |horizon| {
            let mut shown = Vec::new();
            let mut show = |head: &UndoHead, _: &[u8]| {
                shown.push(head.xid);
                Ok(())
            };
            log.reclaim(horizon, &mut show).expect("shows");
            shown
        };
        assert_eq!(shown_below(4), [0; 0]);
        assert_eq!(shown_below(6), [5, 3]);
        assert_eq!(shown_below(9), [0; 0]);
        // One that fails is shown again.
        let fails = log.reclaim(10, |_, _| Err(Error::internal("full disk")));
        assert!(fails.is_err());
        assert_eq!(shown_below(10), [9, 4]);
        log.seal_all();
        assert_eq!((shown_below(10), log.usage()), (Vec::new(), (0, 0)));
    }

    #[test]
    fn reclaimed_segments_show_every_record_once_and_free_their_space() {
        let log = log(64 << 10);
        let pointers = fill(&log, 3000);
        log.mark_undone(pointers[0]).expect("spilled record");
        log.mark_undone(pointers[2999]).expect("record in memory");
        log.seal_all();
        let mut seen = vec![0; 3001];
        let mut undone = Vec::new();
        let mut count = |head: &UndoHead, _: &[u8]| {
            seen[head.xid as usize] += 1;
            if head.undone {
                undone.push(head.xid);
            }
            Ok(())
        };
        log.reclaim(1500, &mut count).expect("half");
        assert!(log.spill_file().expect("is open").len().expect("is known") > 0);
        log.reclaim(5000, &mut count).expect("rest");
        assert_eq!(log.spill_file().expect("is open").len().expect("is known"), 0);
        undone.sort_unstable();
        assert_eq!(undone, [1, 3000]);
        assert!(seen[1..].iter().all(|&n| n == 1));
        assert_eq!(log.usage(), (0, 0));
        assert!(log.read(pointers[5], &mut Vec::new()).is_err());
    }
}
