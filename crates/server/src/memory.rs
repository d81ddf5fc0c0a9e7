//! How much memory a statement has, and giving back what it had.
//!
//! The process takes its memory from mimalloc (Leijen, Zorn, de Moura: "Mimalloc: Free List Sharding
//! in Action", 2019): planning is mostly small allocations, and takes a fifth less time than with
//! the system's allocator.
//!
//! The allocator counts, for each thread, what is taken less what is given back. A session that
//! runs on a thread keeps its own count ([`Count::during`]), which begins at 0 with each message
//! ([`restart`]).
//! Threads that help with a statement tell what they have ([`StatementMemory`]), so that the limit is for all
//! of them: rows that one has taken memory for are given back by another.
//! A look for interrupts also looks at the count: past `statement_memory_limit` the statement
//! ends with 53200. (An allocator cannot fail itself: that would end the process.)
//! A single value is refused by its function beforehand if it would be larger than 1 GB.
//!
//! What statements had is given back to the system a little later, when the allocator is asked to
//! ([`give_back`]): after a large one, and as long as the process has much more than it had at the
//! least. (Many small ones leave as much, and one may end just after it was looked.)

#![allow(unsafe_code)]

use std::alloc::{GlobalAlloc, Layout};
use std::cell::Cell;
use std::sync::atomic::{AtomicBool, AtomicIsize, AtomicUsize, Ordering};

use libmimalloc_sys as mimalloc;
use steppe_types::{Error, Result, SqlState};

use crate::settings::ServerSettings;

/// A statement that has had so much leaves something to give back.
const LARGE: isize = 64 << 20;

/// A helper tells what it has when that has changed by so much.
const TOLD_EVERY: isize = 1 << 20;

thread_local! {
    static HELD: Cell<isize> = const { Cell::new(0) };

    /// What a thread that helps has told of its count.
    static TOLD: Cell<Option<isize>> = const { Cell::new(None) };
}

/// A large statement has run since the last [`give_back`].
static WAS_LARGE: AtomicBool = AtomicBool::new(false);

/// How much memory the process had at the least when it was looked, in bytes.
static LEAST: AtomicUsize = AtomicUsize::new(usize::MAX);

/// mimalloc, which counts.
struct Counting;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn note(bytes: isize) {
    HELD.set(HELD.get().wrapping_add(bytes));
}

/// What mimalloc's plain functions align to, for what is no smaller (`MI_MAX_ALIGN_SIZE`).
const ALIGNED_ANYWAY: usize = 16;

/// Whether mimalloc aligns so many bytes well without being asked to: it does so faster.
#[inline]
fn is_plain(size: usize, align: usize) -> bool {
    align <= ALIGNED_ANYWAY && align <= size
}

// SAFETY: every call goes to mimalloc, with the caller's layout: its plain functions give what
// `is_plain` lets them be asked for. Counting allocates nothing: the cell needs neither
// initialisation nor a destructor.
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
        // SAFETY: the caller has it from here.
        unsafe { mimalloc::mi_free(pointer.cast()) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        note(size as isize - layout.size() as isize);
        // SAFETY: the caller has it from here, and keeps to what a layout may be.
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
    /// That of the session that runs on this thread, for another one to go on with.
    pub(crate) fn take() -> Count {
        Count(HELD.replace(0))
    }

    /// Has the running thread go on with it.
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

/// What a session's thread and those that help it have.
#[derive(Default)]
pub(crate) struct StatementMemory {
    /// The helpers, as far as they have told.
    helpers: AtomicIsize,
    /// The session's thread, when it last looked.
    own: AtomicIsize,
}

impl StatementMemory {
    /// The session begins a message: nobody helps it.
    #[inline]
    pub(crate) fn restart(&self) {
        restart();
        if self.helpers.load(Ordering::Relaxed) != 0 {
            self.helpers.store(0, Ordering::Relaxed);
        }
    }

    /// This thread is going to help.
    pub(crate) fn begin_helping() {
        HELD.set(0);
        TOLD.set(Some(0));
    }

    /// This thread has helped.
    pub(crate) fn end_helping(&self) {
        if let Some(told) = TOLD.take() {
            self.helpers.fetch_add(HELD.get().wrapping_sub(told), Ordering::Relaxed);
        }
    }

    /// What all of them have.
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
        // Most statements are small and have no helpers, whom it would be of interest to.
        if helpers != 0 || held > LARGE || self.own.load(Ordering::Relaxed) != 0 {
            self.own.store(held, Ordering::Relaxed);
        }
        held.saturating_add(helpers)
    }
}

/// What each statement of a server may have, in bytes.
pub(crate) struct StatementLimit(AtomicIsize);

impl StatementLimit {
    /// What `statement_memory_limit` says.
    pub(crate) fn of(settings: &ServerSettings) -> StatementLimit {
        StatementLimit(AtomicIsize::new(limit_in(settings)))
    }

    /// Statements may have from now on what `statement_memory_limit` says.
    pub(crate) fn follow(&self, settings: &ServerSettings) {
        self.0.store(limit_in(settings), Ordering::Relaxed);
    }

    /// 53200 if the statement that runs on this thread has more than it may.
    #[inline]
    pub(crate) fn check(&self, memory: &StatementMemory) -> Result<()> {
        let held = memory.held();
        if held > LARGE { check_large(held, self) } else { Ok(()) }
    }

    /// 53200 if it would have with so many bytes more.
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

/// Whether there is something to give back after a large statement; it is taken as given back then.
pub(crate) fn was_large() -> bool {
    WAS_LARGE.load(Ordering::Relaxed) && WAS_LARGE.swap(false, Ordering::Relaxed)
}

/// Whether the process has much more memory than it had at the least.
pub(crate) fn has_grown() -> bool {
    let now = resident_bytes();
    let least = LEAST.fetch_min(now, Ordering::Relaxed).min(now);
    now - least > LARGE.unsigned_abs()
}

/// What the process has of the machine's memory; 0 where that is not known.
fn resident_bytes() -> usize {
    let pages = std::fs::read_to_string("/proc/self/statm").ok();
    let pages = pages.as_deref().and_then(|sizes| sizes.split(' ').nth(1)?.parse::<usize>().ok());
    // SAFETY: it takes no pointer.
    let page = usize::try_from(unsafe { libc::sysconf(libc::_SC_PAGESIZE) });
    pages.unwrap_or(0) * page.unwrap_or(0)
}

/// Gives back to the system what the allocator has free. May take a while.
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
            // Who gives it back does not matter.
            drop(kept);
            assert!(about(memory.held(), 0), "{}", memory.held());
            assert!(limit.check(&memory).is_ok());
        });
    }
}
