//! The limit on a statement's memory, and the return of freed memory to the system.
//!
//! The process takes its memory from mimalloc (Leijen, Zorn, de Moura, "Mimalloc: Free List
//! Sharding in Action", 2019). Planning is mostly small allocations. It takes a fifth less time
//! than with the system's allocator.
//!
//! The allocator counts, for each thread, the bytes taken less the bytes given back. A session that
//! runs on a thread keeps its own count ([`Count::during`]), which begins at 0 with each message
//! ([`restart`]). The parallel workers of a statement report their counts ([`StatementMemory`]), so
//! that the limit is for all of them: one thread may free rows that another has allocated. Every
//! check for interrupts also checks the count: past `statement_memory_limit` the statement ends
//! with 53200. (The allocator itself cannot fail: that would end the process.) A function refuses a
//! single value beforehand if it would be larger than 1 GB.
//!
//! The allocator returns the freed memory of statements to the system when [`give_back`] asks for
//! it. That happens after a large statement, and as long as the process has much more memory than
//! at its least. (Many small statements leave as much as a large one, and a large one may end just
//! after the check.)

#![allow(unsafe_code)]

use std::alloc::{GlobalAlloc, Layout};
use std::cell::Cell;
use std::sync::atomic::{AtomicBool, AtomicIsize, AtomicUsize, Ordering};

use libmimalloc_sys as mimalloc;
use steppe_types::{Error, Result, SqlState};

use crate::settings::ServerSettings;

/// A statement that has held this many bytes leaves memory to return to the system.
const LARGE: isize = 64 << 20;

/// A parallel worker reports its count when it has changed by this many bytes.
const TOLD_EVERY: isize = 1 << 20;

thread_local! {
    static HELD: Cell<isize> = const { Cell::new(0) };

    /// The count that a parallel worker's thread has reported last.
    static TOLD: Cell<Option<isize>> = const { Cell::new(None) };
}

/// A large statement has run since the last [`give_back`].
static WAS_LARGE: AtomicBool = AtomicBool::new(false);

/// The least memory that the process had at any check, in bytes.
static LEAST: AtomicUsize = AtomicUsize::new(usize::MAX);

/// mimalloc, which counts.
struct Counting;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn note(bytes: isize) {
    HELD.set(HELD.get().wrapping_add(bytes));
}

/// The alignment of mimalloc's plain functions, for sizes that are not smaller
/// (`MI_MAX_ALIGN_SIZE`).
const ALIGNED_ANYWAY: usize = 16;

/// Whether mimalloc's plain functions, which are faster, align this size well enough.
#[inline]
fn is_plain(size: usize, align: usize) -> bool {
    align <= ALIGNED_ANYWAY && align <= size
}

// SAFETY: every call is passed to mimalloc with the caller's layout. Its plain functions align the
// sizes that `is_plain` accepts. Counting allocates nothing: the cell needs neither initialisation
// nor a destructor.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        note(layout.size() as isize);
        // SAFETY: any size and alignment of a layout will do.
        let taken = unsafe {
            match is_plain(layout.size(), layout.align()) {
                true => mimalloc::mi_malloc(layout.size()),
                false => mimalloc::mi_malloc_aligned(layout.size(), layout.align()),
            }
        };
        taken.cast()
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        note(layout.size() as isize);
        // SAFETY: as for `alloc`.
        let taken = unsafe {
            match is_plain(layout.size(), layout.align()) {
                true => mimalloc::mi_zalloc(layout.size()),
                false => mimalloc::mi_zalloc_aligned(layout.size(), layout.align()),
            }
        };
        taken.cast()
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        note(-(layout.size() as isize));
        // SAFETY: the caller has it from this allocator.
        unsafe { mimalloc::mi_free(pointer.cast()) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        note(size as isize - layout.size() as isize);
        // SAFETY: the caller has it from this allocator, and the size makes a valid layout.
        let taken = unsafe {
            match is_plain(size, layout.align()) {
                true => mimalloc::mi_realloc(pointer.cast(), size),
                false => mimalloc::mi_realloc_aligned(pointer.cast(), size, layout.align()),
            }
        };
        taken.cast()
    }
}

/// A session's count.
#[derive(Debug, Default)]
pub(crate) struct Count(isize);

/// The session that runs on this thread begins a message.
#[inline]
fn restart() {
    HELD.set(0);
}

impl Count {
    /// The count of the session that runs on this thread, for another thread to continue.
    pub(crate) fn take() -> Count {
        Count(HELD.replace(0))
    }

    /// The running thread continues the count.
    pub(crate) fn give_back(self) {
        HELD.set(self.0);
    }

    #[cfg(test)]
    pub(crate) fn bytes(&self) -> isize {
        self.0
    }

    /// Runs a piece of the session's work.
    pub(crate) fn during<T>(&mut self, work: impl FnOnce() -> T) -> T {
        let others = HELD.replace(self.0);
        let done = work();
        self.0 = HELD.replace(others);
        done
    }
}

/// The memory of a session's thread and of its parallel workers.
#[derive(Default)]
pub(crate) struct StatementMemory {
    /// The counts that the parallel workers have reported.
    helpers: AtomicIsize,
    /// The count of the session's thread at its last check.
    own: AtomicIsize,
}

impl StatementMemory {
    /// The session begins a message: it has no parallel workers.
    #[inline]
    pub(crate) fn restart(&self) {
        restart();
        if self.helpers.load(Ordering::Relaxed) != 0 {
            self.helpers.store(0, Ordering::Relaxed);
        }
    }

    /// This thread becomes a parallel worker.
    pub(crate) fn begin_helping() {
        HELD.set(0);
        TOLD.set(Some(0));
    }

    /// This thread is no longer a parallel worker.
    pub(crate) fn end_helping(&self) {
        if let Some(told) = TOLD.take() {
            self.helpers.fetch_add(HELD.get().wrapping_sub(told), Ordering::Relaxed);
        }
    }

    /// The bytes that all of them have.
    #[inline]
    fn held(&self) -> isize {
        let held = HELD.get();
        if let Some(told) = TOLD.get() {
            if held.wrapping_sub(told).abs() >= TOLD_EVERY {
                self.helpers.fetch_add(held.wrapping_sub(told), Ordering::Relaxed);
                TOLD.set(Some(held));
            }
            return self.own.load(Ordering::Relaxed) + self.helpers.load(Ordering::Relaxed);
        }
        let helpers = self.helpers.load(Ordering::Relaxed);
        // Most statements are small and have no parallel workers, which alone read `own`.
        if helpers != 0 || held > LARGE || self.own.load(Ordering::Relaxed) != 0 {
            self.own.store(held, Ordering::Relaxed);
        }
        held.saturating_add(helpers)
    }
}

/// The limit of each statement of a server, in bytes.
pub(crate) struct StatementLimit(AtomicIsize);

impl StatementLimit {
    /// The limit that `statement_memory_limit` sets.
    pub(crate) fn of(settings: &ServerSettings) -> StatementLimit {
        StatementLimit(AtomicIsize::new(limit_in(settings)))
    }

    /// Statements get the limit that `statement_memory_limit` sets now.
    pub(crate) fn follow(&self, settings: &ServerSettings) {
        self.0.store(limit_in(settings), Ordering::Relaxed);
    }

    /// 53200 if the statement that runs on this thread has more than it may.
    #[inline]
    pub(crate) fn check(&self, memory: &StatementMemory) -> Result<()> {
        let held = memory.held();
        if held > LARGE { check_large(held, self) } else { Ok(()) }
    }

    /// 53200 if the statement would have more than it may with `bytes` more.
    pub(crate) fn reserve(&self, bytes: usize, memory: &StatementMemory) -> Result<()> {
        let bytes = isize::try_from(bytes).unwrap_or(isize::MAX);
        let held = memory.held().max(0).saturating_add(bytes);
        if held > LARGE { check_large(held, self) } else { Ok(()) }
    }
}

fn limit_in(settings: &ServerSettings) -> isize {
    let bytes = match isize::try_from(settings.int("statement_memory_limit")) {
        Ok(0) | Err(_) => quarter_of_the_machine(),
        Ok(megabytes) => megabytes.saturating_mul(1 << 20),
    };
    bytes.max(LARGE)
}

#[cold]
fn check_large(held: isize, limit: &StatementLimit) -> Result<()> {
    WAS_LARGE.store(true, Ordering::Relaxed);
    let limit = limit.0.load(Ordering::Relaxed);
    if held <= limit {
        return Ok(());
    }
    let detail = format!(
        "The statement needs {} kB; statement_memory_limit is {} kB.",
        held >> 10,
        limit >> 10
    );
    Err(Error::new(SqlState::OUT_OF_MEMORY, "out of memory").detail(detail))
}

fn quarter_of_the_machine() -> isize {
    // SAFETY: both take no pointers.
    let (pages, size) =
        unsafe { (libc::sysconf(libc::_SC_PHYS_PAGES), libc::sysconf(libc::_SC_PAGESIZE)) };
    let bytes =
        isize::try_from(pages).unwrap_or(-1).saturating_mul(isize::try_from(size).unwrap_or(1));
    if bytes > 0 { bytes / 4 } else { isize::MAX }
}

/// Whether a large statement has run since the last call that returned true.
pub(crate) fn was_large() -> bool {
    WAS_LARGE.load(Ordering::Relaxed) && WAS_LARGE.swap(false, Ordering::Relaxed)
}

/// Whether the process has much more memory than it had at its least.
pub(crate) fn has_grown() -> bool {
    let now = resident_bytes();
    let least = LEAST.fetch_min(now, Ordering::Relaxed).min(now);
    now - least > LARGE.unsigned_abs()
}

/// The resident memory of the process; 0 where the system does not report it.
fn resident_bytes() -> usize {
    let pages = std::fs::read_to_string("/proc/self/statm").ok();
    let pages = pages.as_deref().and_then(|sizes| sizes.split(' ').nth(1)?.parse::<usize>().ok());
    // SAFETY: it takes no pointer.
    let page = usize::try_from(unsafe { libc::sysconf(libc::_SC_PAGESIZE) });
    pages.unwrap_or(0) * page.unwrap_or(0)
}

/// Returns the allocator's free memory to the system. It may take a while.
pub(crate) fn give_back() {
    // SAFETY: it takes no pointer, and the allocator's own locks where it needs any.
    unsafe { mimalloc::mi_collect(true) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_count_is_the_sessions_own() {
        let (mut count, mut other) = (Count::default(), Count::default());
        let kept = count.during(|| vec![0u8; 1 << 20]);
        other.during(|| drop(vec![0u8; 5000]));
        assert!((1 << 20..(1 << 20) + 4096).contains(&count.0), "{}", count.0);
        assert!(other.0.abs() < 4096, "{}", other.0);
        count.during(|| drop(kept));
        assert!(count.0.abs() < 4096, "{}", count.0);
    }

    #[test]
    fn what_helpers_have_is_the_statements() {
        let memory = StatementMemory::default();
        let help = || {
            StatementMemory::begin_helping();
            let kept = vec![0u8; 80 << 20];
            let held = memory.held();
            memory.end_helping();
            (kept, held)
        };
        let helped = std::thread::scope(|scope| scope.spawn(help).join());
        let (kept, of_helper) = helped.unwrap_or_default();
        let about = |held: isize, wanted: isize| (held - wanted).abs() < 1 << 16;
        assert!(about(of_helper, 80 << 20), "{of_helper}");
        Count::default().during(|| {
            assert!(about(memory.held(), 80 << 20), "{}", memory.held());
            let limit = StatementLimit(AtomicIsize::new(70 << 20));
            assert!(limit.check(&memory).is_err());
            // Any thread may free it.
            drop(kept);
            assert!(about(memory.held(), 0), "{}", memory.held());
            assert!(limit.check(&memory).is_ok());
        });
    }
}
