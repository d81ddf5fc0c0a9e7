//! A test of the latch's protocol, the clock and the write-back under shuttle's schedules and a
//! weak memory.
//!
//! Shuttle interleaves threads, but its atomics are sequentially consistent: a missing fence would
//! remain undetected. So the words here are not shuttle's. They live in a [`Memory`] with the view
//! semantics of release/acquire (Kang, Hur, Lahav, Vafeiadis, Dreyer, "A Promising Semantics for
//! Relaxed-Memory Concurrency", POPL 2017, without its promises). A cell keeps all values ever
//! stored. A thread has a *view*: how far it has seen each cell. A load returns any value that is
//! not older than the view. Releasing stores attach the view to the value, acquiring loads add it
//! to theirs; fences do so for the relaxed accesses around them.
//!
//! The model has two pages, fewer slots, and a file. It runs `latch`'s own code; page faults, clock
//! turns, write-back and checkpoints are small versions of `Pool`'s. It checks:
//!
//! - The bytes that an optimistic reader validates are one state of the page, which may lie in
//!   another frame after each fault (condition L).
//! - Evictions lose no increment (E).
//! - When a checkpoint ends, the file contains all changes that precede its redo position (C).
//! - There are never more pages in memory than slots.
//! - A reader past the pool reads one state of the page from the file (F); a model of its own
//!   checks this.
//!
//! Each [`Bug`] breaks one of the protocol's steps, and the test must find it.

use super::latch::{self, Copied, Found, StateWord};
use super::state::{self, EVICTED, LATCHED, REFERENCED, UNLATCHED, Version, with_latch};
use shuttle::rand::Rng;
use std::collections::HashMap;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

const PAGES: usize = 2;
const WRITERS: usize = 2;
const WRITES: usize = 2;
const READS: usize = 4;
const PAST_WRITES: usize = 6;
const PAST_READS: usize = 60;

/// A deliberate error in one step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Bug {
    /// Unlatching keeps the version.
    VersionKept,
    /// Unlatching and other releasing stores are relaxed.
    RelaxedRelease,
    /// Loads of a version do not acquire.
    RelaxedAcquire,
    /// The fence between the bytes and the second look is missing.
    NoAcquireFence,
    /// The fence between latching and the first change is missing.
    NoReleaseFence,
    /// A page is marked clean without a check of its version.
    CleanBlindly,
    /// A victim is latched without comparing the word that was seen.
    EvictBlindly,
    /// Bytes read from the file are used without a second look.
    NoSecondLook,
    /// The page becomes dirty after its record's place is reserved.
    DirtyTooLate,
    /// A reader looks up the page's frame before it takes the version.
    PlaceTooEarly,
}

// ----- weak memory -----

/// The newest message seen of each cell.
type View = Vec<usize>;

fn join(view: &mut View, other: &View) {
    view.iter_mut().zip(other).for_each(|(mine, &theirs)| *mine = (*mine).max(theirs));
}

#[derive(Clone)]
struct Message {
    value: u64,
    view: View,
}

#[derive(Clone)]
struct ThreadViews {
    current: View,
    /// The view that an acquire fence would add.
    read: View,
    /// The view at the last release fence.
    fenced: View,
}

struct Cells {
    /// Values in modification order.
    history: Vec<Vec<Message>>,
    threads: HashMap<shuttle::thread::ThreadId, ThreadViews>,
}

/// The shared memory of one execution.
struct Memory {
    cells: Mutex<Cells>,
    /// Each access is a point at which shuttle may switch threads.
    step: shuttle::sync::atomic::AtomicU64,
    bug: Option<Bug>,
}

impl Memory {
    fn new(cells: usize, bug: Option<Bug>) -> Memory {
        let first = Message { value: 0, view: vec![0; cells] };
        let cells = Cells { history: vec![vec![first]; cells], threads: HashMap::new() };
        Memory { cells: Mutex::new(cells), step: shuttle::sync::atomic::AtomicU64::new(0), bug }
    }

    fn has(&self, bug: Bug) -> bool {
        self.bug == Some(bug)
    }

    fn enter(&self) -> MutexGuard<'_, Cells> {
        self.step.load(Ordering::SeqCst);
        // A failed assertion in another thread poisons the lock.
        self.cells.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn load(&self, cell: usize, order: Ordering) -> u64 {
        let mut cells = self.enter();
        let (history, me) = cells.of(cell);
        let oldest = me.current[cell];
        // The load mostly returns the newest value, as on real machines.
        let newest = history.len() - 1;
        let stale = oldest < newest && shuttle::rand::thread_rng().gen_bool(0.4);
        let at =
            if stale { shuttle::rand::thread_rng().gen_range(oldest..=newest) } else { newest };
        me.read_from(&history[at], cell, at, order);
        history[at].value
    }

    fn store(&self, cell: usize, value: u64, order: Ordering) {
        let mut cells = self.enter();
        let (history, me) = cells.of(cell);
        let view = me.message_view(cell, history.len(), order);
        history.push(Message { value, view });
    }

    fn update(&self, cell: usize, order: Ordering, f: impl FnOnce(u64) -> Option<u64>) -> bool {
        let mut cells = self.enter();
        let (history, me) = cells.of(cell);
        let at = history.len() - 1;
        let Some(value) = f(history[at].value) else { return false };
        me.read_from(&history[at].clone(), cell, at, order);
        let mut view = me.message_view(cell, at + 1, order);
        // A read-modify-write continues the release sequence of the value that it read.
        join(&mut view, &history[at].view);
        history.push(Message { value, view });
        true
    }

    fn fence(&self, order: Ordering) {
        let mut cells = self.enter();
        let (_, me) = cells.of(0);
        if order == Ordering::Acquire {
            let read = me.read.clone();
            join(&mut me.current, &read);
        } else {
            me.fenced = me.current.clone();
        }
    }

    /// The newest value, for the final checks.
    fn last(&self, cell: usize) -> u64 {
        self.enter().history[cell].last().map_or(0, |message| message.value)
    }
}

impl Cells {
    fn of(&mut self, cell: usize) -> (&mut Vec<Message>, &mut ThreadViews) {
        let empty = vec![0; self.history.len()];
        let fresh = ThreadViews { current: empty.clone(), read: empty.clone(), fenced: empty };
        let me = self.threads.entry(shuttle::thread::current().id()).or_insert(fresh);
        (&mut self.history[cell], me)
    }
}

impl ThreadViews {
    fn read_from(&mut self, message: &Message, cell: usize, at: usize, order: Ordering) {
        self.current[cell] = self.current[cell].max(at);
        join(&mut self.read, &message.view);
        if matches!(order, Ordering::Acquire | Ordering::AcqRel) {
            join(&mut self.current, &message.view);
        }
    }

    fn message_view(&mut self, cell: usize, at: usize, order: Ordering) -> View {
        self.current[cell] = at;
        let releases = matches!(order, Ordering::Release | Ordering::AcqRel);
        let mut view = if releases { self.current.clone() } else { self.fenced.clone() };
        view[cell] = at;
        view
    }
}

/// A cell that the protocol uses as a state word. It applies the bugs of ordering.
struct Word<'m>(&'m Memory, usize);

impl StateWord for Word<'_> {
    fn load(&self, order: Ordering) -> u64 {
        let relaxed = self.0.has(Bug::RelaxedAcquire);
        self.0.load(self.1, if relaxed { Ordering::Relaxed } else { order })
    }

    fn store(&self, value: u64, order: Ordering) {
        let relaxed = self.0.has(Bug::RelaxedRelease);
        self.0.store(self.1, value, if relaxed { Ordering::Relaxed } else { order });
    }

    fn exchange(&self, from: u64, to: u64, order: Ordering) -> bool {
        self.0.update(self.1, order, |now| (now == from).then_some(to))
    }

    fn fence(&self, order: Ordering) {
        let missing = match order {
            Ordering::Acquire => Bug::NoAcquireFence,
            _ => Bug::NoReleaseFence,
        };
        if !self.0.has(missing) {
            self.0.fence(order);
        }
    }
}

// ----- the small pool -----

/// A mutex: its next holder sees everything that its last holder did.
#[derive(Default)]
struct Lock(shuttle::sync::Mutex<View>);

/// The layout of the memory.
const fn state_of(page: usize) -> usize {
    page
}
const fn frame_of(page: usize) -> usize {
    PAGES + page
}
const fn byte_of(frame: usize, half: usize) -> usize {
    2 * PAGES + frame * 2 + half
}
const fn disk_of(page: usize, half: usize) -> usize {
    4 * PAGES + page * 2 + half
}
const LOG: usize = 6 * PAGES;
const FIRST_SLOT: usize = LOG + 1;
/// A slot contains the page's number plus this; 0 is empty.
const SLOT_BIAS: u64 = 1;

/// The content of a page after `increments` increments. It differs from any content of another
/// page.
const fn content(page: usize, increments: u64) -> u64 {
    increments * PAGES as u64 + page as u64
}
const fn increments(content: u64) -> u64 {
    content / PAGES as u64
}

struct SmallPool {
    memory: Memory,
    slots: usize,
    free_slots: Mutex<Vec<usize>>,
    free: Lock,
    clock: Lock,
    batch: Lock,
    /// The log: pages and their new values.
    changes: Mutex<Vec<(usize, u64)>>,
}

impl SmallPool {
    fn new(slots: usize, bug: Option<Bug>) -> SmallPool {
        SmallPool {
            memory: Memory::new(FIRST_SLOT + slots, bug),
            slots,
            free_slots: Mutex::new((0..slots).collect()),
            free: Lock::default(),
            clock: Lock::default(),
            batch: Lock::default(),
            changes: Mutex::default(),
        }
    }

    fn word(&self, page: usize) -> Word<'_> {
        Word(&self.memory, state_of(page))
    }

    fn locked<T>(&self, lock: &Lock, f: impl FnOnce() -> T) -> T {
        let mut view = lock.0.lock().unwrap_or_else(PoisonError::into_inner);
        {
            let mut cells = self.memory.enter();
            let (_, me) = cells.of(0);
            join(&mut me.current, &view);
        }
        let result = f();
        let mut cells = self.memory.enter();
        *view = cells.of(0).1.current.clone();
        result
    }

    /// `PageMemory::page`: the page's frame.
    fn frame(&self, page: usize) -> usize {
        self.memory.load(frame_of(page), Ordering::Relaxed) as usize
    }

    fn read_bytes(&self, page: usize) -> (u64, u64) {
        self.read_frame(self.frame(page))
    }

    fn read_frame(&self, frame: usize) -> (u64, u64) {
        let half = |half| self.memory.load(byte_of(frame, half), Ordering::Relaxed);
        (half(0), half(1))
    }

    fn write_bytes(&self, page: usize, value: u64) {
        let frame = self.frame(page);
        for half in 0..2 {
            self.memory.store(byte_of(frame, half), value, Ordering::Relaxed);
        }
    }

    /// `Pool::optimistic`.
    fn optimistic(&self, page: usize) -> Version {
        let word = self.word(page);
        if let Some(version) = latch::hot_version(&word) {
            return version;
        }
        loop {
            let state = latch::look(&word);
            match state::latch(state) {
                EVICTED => {
                    if let Some(before) = self.fault(page) {
                        self.unlatch(page, before, true);
                    }
                }
                UNLATCHED => {
                    latch::touch(&word, state);
                    return state::version(state);
                }
                _ => shuttle::thread::yield_now(),
            }
        }
    }

    fn unlatch(&self, page: usize, before: u64, changed: bool) {
        let changed = changed && !self.memory.has(Bug::VersionKept);
        latch::unlatch(&self.word(page), before, changed);
    }

    /// `Pool::fault`: latches the page and returns the word to restore.
    fn fault(&self, page: usize) -> Option<u64> {
        let slot = self.take_slot();
        let word = self.word(page);
        let state = word.load(Ordering::Relaxed);
        if state::latch(state) != EVICTED || !latch::try_latch(&word, state) {
            self.give_slot(slot);
            return None;
        }
        self.memory.store(frame_of(page), slot as u64, Ordering::Relaxed);
        for half in 0..2 {
            let value = self.memory.load(disk_of(page, half), Ordering::Relaxed);
            self.memory.store(byte_of(slot, half), value, Ordering::Relaxed);
        }
        self.memory.store(FIRST_SLOT + slot, page as u64 + SLOT_BIAS, Ordering::Release);
        Some(with_latch(state, UNLATCHED) | REFERENCED)
    }

    fn take_slot(&self) -> usize {
        loop {
            match self.with_free_slots(Vec::pop) {
                Some(slot) => return slot,
                None => self.locked(&self.clock, || self.turn()),
            }
            shuttle::thread::yield_now();
        }
    }

    fn give_slot(&self, slot: usize) {
        self.with_free_slots(|free| {
            assert!(!free.contains(&slot), "a slot is freed once");
            free.push(slot);
        });
    }

    /// The free list is under a mutex, so a thread that takes a frame has seen the earlier use of
    /// it.
    fn with_free_slots<T>(&self, f: impl FnOnce(&mut Vec<usize>) -> T) -> T {
        let slots = || self.free_slots.lock().unwrap_or_else(PoisonError::into_inner);
        self.locked(&self.free, || f(&mut slots()))
    }

    /// `Pool::latch_load`: latches the page and returns the word to restore.
    fn latched(&self, page: usize) -> u64 {
        loop {
            let word = self.word(page);
            let state = word.load(Ordering::Relaxed);
            match state::latch(state) {
                EVICTED => {
                    if let Some(before) = self.fault(page) {
                        return before;
                    }
                }
                UNLATCHED if latch::try_latch(&word, state) => return state,
                _ => {}
            }
            shuttle::thread::yield_now();
        }
    }

    /// `Pool::turn` and `Pool::write_and_evict`, once around.
    fn turn(&self) {
        for slot in 0..self.slots {
            let held = self.memory.load(FIRST_SLOT + slot, Ordering::Acquire);
            let Some(page) = held.checked_sub(SLOT_BIAS) else { continue };
            let page = page as usize;
            let word = self.word(page);
            let seen = word.load(Ordering::Relaxed);
            match latch::clock_look(&word) {
                Found::InUse => {}
                Found::Dirty => {
                    self.write_page(page);
                    if let Some(before) = latch::latch_idle(&word) {
                        self.discard(slot, page, before);
                    }
                }
                Found::Victim(before) => self.discard(slot, page, before),
            }
            if self.memory.has(Bug::EvictBlindly) && state::latch(seen) == UNLATCHED {
                word.store(with_latch(seen, LATCHED), Ordering::Release);
                self.discard(slot, page, seen);
            }
        }
    }

    fn discard(&self, slot: usize, page: usize, before: u64) {
        self.memory.store(FIRST_SLOT + slot, 0, Ordering::Release);
        self.unlatch(page, with_latch(before, EVICTED), true);
        self.give_slot(slot);
    }

    /// `Pool::write_pages` for one page; false if a writer holds it.
    fn write_page(&self, page: usize) -> bool {
        self.locked(&self.batch, || {
            let word = self.word(page);
            let mut copy = (0, 0);
            let version = match latch::copy_dirty(&word, || copy = self.read_bytes(page)) {
                Copied::Clean => return true,
                Copied::Busy => return false,
                Copied::Dirty(version) => version,
            };
            assert_eq!(copy.0, copy.1, "the copy of page {page} is torn");
            self.memory.store(disk_of(page, 0), copy.0, Ordering::Relaxed);
            self.memory.store(disk_of(page, 1), copy.1, Ordering::Relaxed);
            if self.memory.has(Bug::CleanBlindly) {
                let state = word.load(Ordering::Relaxed);
                latch::mark_clean(&word, state::version(state));
            } else {
                latch::mark_clean(&word, version);
            }
            true
        })
    }

    // ----- the threads' work -----

    /// A change as `Tree::write` makes it: version, latch, dirty, log, bytes.
    fn increment(&self, page: usize) {
        let word = self.word(page);
        let mut before = loop {
            let version = self.optimistic(page);
            match latch::upgrade(&word, version) {
                Some(before) => break before,
                None => shuttle::thread::yield_now(),
            }
        };
        let value = content(page, increments(self.read_bytes(page).0) + 1);
        if !self.memory.has(Bug::DirtyTooLate) {
            before = latch::set_dirty(&word, before);
        }
        self.memory.update(LOG, Ordering::AcqRel, |end| Some(end + 1));
        // Shuttle does not switch threads here, so the list is in the log's order.
        self.changes.lock().unwrap_or_else(PoisonError::into_inner).push((page, value));
        if self.memory.has(Bug::DirtyTooLate) {
            before = latch::set_dirty(&word, before);
        }
        self.write_bytes(page, value);
        self.unlatch(page, before, true);
    }

    fn read(&self, page: usize) -> u64 {
        loop {
            let early = self.memory.has(Bug::PlaceTooEarly).then(|| self.frame(page));
            let version = self.optimistic(page);
            let (a, b) = self.read_frame(early.unwrap_or_else(|| self.frame(page)));
            if latch::validate(&self.word(page), version) {
                assert_eq!(a, b, "page {page} is torn");
                assert!(a == content(page, increments(a)) || a == 0, "not page {page}");
                return a;
            }
            shuttle::thread::yield_now();
        }
    }

    /// `Tree::copy_past`: the page as it is in the file, if it stays out of memory meanwhile.
    fn read_past(&self, page: usize) -> Option<u64> {
        let word = self.word(page);
        let before = latch::absence(&word)?;
        let half = |half| self.memory.load(disk_of(page, half), Ordering::Relaxed);
        let (a, b) = (half(0), half(1));
        if !self.memory.has(Bug::NoSecondLook) && latch::absence(&word) != Some(before) {
            return None;
        }
        assert_eq!(a, b, "page {page} is torn in the file");
        Some(a)
    }

    /// `Store::checkpoint`.
    fn checkpoint(&self) {
        // The checkpoint begins at a random time.
        for _ in 0..shuttle::rand::thread_rng().gen_range(0..60) {
            self.memory.step.load(Ordering::SeqCst);
        }
        let redo = self.memory.load(LOG, Ordering::Acquire) as usize;
        let mut pages = Vec::new();
        for slot in 0..self.slots {
            let held = self.memory.load(FIRST_SLOT + slot, Ordering::Acquire);
            let Some(page) = held.checked_sub(SLOT_BIAS) else { continue };
            if latch::look(&self.word(page as usize)) & state::DIRTY != 0 {
                pages.push(page as usize);
            }
        }
        for page in pages {
            while !self.write_page(page) {
                shuttle::thread::yield_now();
            }
        }
        let on_disk: Vec<u64> = (0..PAGES).map(|p| self.memory.last(disk_of(p, 0))).collect();
        let changes = self.changes.lock().unwrap_or_else(PoisonError::into_inner);
        for &(page, value) in &changes[..redo] {
            assert!(on_disk[page] >= value, "the checkpoint missed a change of page {page}");
        }
    }
}

fn run(slots: usize, bug: Option<Bug>) {
    let pool = Arc::new(SmallPool::new(slots, bug));
    let mut threads = Vec::new();
    for writer in 0..WRITERS {
        let pool = Arc::clone(&pool);
        threads.push(shuttle::thread::spawn(move || {
            for n in 0..WRITES {
                pool.increment((writer + n) % PAGES);
            }
        }));
    }
    let reader = Arc::clone(&pool);
    threads.push(shuttle::thread::spawn(move || {
        let mut seen = [0; PAGES];
        for n in 0..READS {
            let value = reader.read(n % PAGES);
            assert!(value >= seen[n % PAGES], "a reader goes back in time");
            seen[n % PAGES] = value;
        }
    }));
    let checkpointer = Arc::clone(&pool);
    threads.push(shuttle::thread::spawn(move || checkpointer.checkpoint()));
    let cleaner = Arc::clone(&pool);
    threads.push(shuttle::thread::spawn(move || cleaner.locked(&cleaner.clock, || cleaner.turn())));
    for thread in threads {
        assert!(thread.join().is_ok(), "a thread panicked");
    }
    let mut resident = 0;
    for page in 0..PAGES {
        resident += usize::from(state::latch(pool.memory.last(state_of(page))) != EVICTED);
    }
    assert!(resident <= slots, "{resident} pages in {slots} slots");
    for page in 0..PAGES {
        let before = pool.latched(page);
        let value = pool.read_bytes(page);
        assert_eq!(value, (value.0, value.0));
        let made = (0..WRITERS).flat_map(|w| (0..WRITES).map(move |n| (w + n) % PAGES));
        let made = made.filter(|&p| p == page).count() as u64;
        assert_eq!(increments(value.0), made, "page {page}");
        pool.unlatch(page, before, false);
    }
}

/// Runs a writer whose pages evict one another from the only slot, and a reader of the file.
fn run_past(bug: Option<Bug>) {
    let pool = Arc::new(SmallPool::new(1, bug));
    let writer = Arc::clone(&pool);
    let writer = shuttle::thread::spawn(move || {
        (0..PAST_WRITES).for_each(|n| writer.increment(n % PAGES));
    });
    let mut seen = [0; PAGES];
    for n in 0..PAST_READS {
        let page = n % PAGES;
        if let Some(value) = pool.read_past(page) {
            assert!(value >= seen[page], "a reader of the file goes back in time");
            seen[page] = value;
        }
        shuttle::thread::yield_now();
    }
    assert!(writer.join().is_ok(), "the writer panicked");
}

#[test]
fn reads_past_the_pool_are_of_one_state() {
    shuttle::check_pct(|| run_past(None), 300, 3);
    let search = || shuttle::check_pct(|| run_past(Some(Bug::NoSecondLook)), 3000, 3);
    assert!(std::panic::catch_unwind(search).is_err(), "the planted bug was not found");
}

#[test]
fn random_schedules() {
    shuttle::check_random(|| run(1, None), 1500);
    shuttle::check_random(|| run(PAGES, None), 1500);
}

#[test]
fn schedules_with_few_preemptions() {
    shuttle::check_pct(|| run(1, None), 1000, 3);
    shuttle::check_pct(|| run(PAGES, None), 1000, 3);
}

/// Tests the test: a planted error is found soon.
#[test]
fn planted_bugs_are_found() {
    use Bug::*;
    let bugs = [
        VersionKept,
        RelaxedRelease,
        RelaxedAcquire,
        NoAcquireFence,
        NoReleaseFence,
        CleanBlindly,
        EvictBlindly,
        DirtyTooLate,
        PlaceTooEarly,
    ];
    for bug in bugs {
        // A page cannot change its frame if there is only one.
        let worlds = if bug == PlaceTooEarly { [PAGES, 1] } else { [1, PAGES] };
        let found = worlds.into_iter().any(|slots| {
            let search = move || shuttle::check_random(move || run(slots, Some(bug)), 20_000);
            std::panic::catch_unwind(search).is_err()
        });
        assert!(found, "{bug:?} was not found");
    }
}
