//! The page latch's protocol: all steps that change or read a page's state word.
//!
//! `Pool` and its clock act only through these functions, and so does the model in `latch_model`,
//! which runs them under random schedules over a weak memory.
//!
//! Condition L. *Between a version and its validation ([`validate`] true) the bytes read are those
//! of one unlatched state of the page.* It needs four rules:
//!
//! 1. The bytes change only under the latch, and the version has moved on when the latch is
//!    released ([`unlatch`] with `changed`).
//! 2. A thread that sees an unlatched word sees the bytes from before it: `unlatch` releases,
//!    the loads of a version acquire.
//! 3. A reader of a changed byte finds the word latched, or newer: a release fence
//!    stands between latching and the first change ([`try_latch`]), an acquire
//!    fence between the bytes and the second look at the word ([`validate`]).
//! 4. A page leaves memory only latched, its memory counting as changed.
//!
//! Condition E. *Eviction loses no change.* A page is discarded only when it is clean
//! ([`clock_look`], [`latch_idle`] compare the whole word). It becomes clean only if the written
//! copy is still its content ([`mark_clean`] compares the version). A thread that reads the page
//! back sees the written copy (`mark_clean` releases, latching acquires).
//!
//! Condition F. *The bytes read from the file between two looks that find a page out of memory
//! ([`absence`]) with the same word are the page.* The argument is in `past`.
//!
//! Condition C. *A checkpoint misses no change.* DIRTY is in the word before the log record's place
//! is reserved ([`set_dirty`]). So a thread that has seen the reservation sees the bit, or a later
//! state of the page.

use super::state::{
    self, Absence, DIRTY, EVICTED, LATCHED, REFERENCED, UNLATCHED, Version, latch, next_version,
    with_latch,
};
use std::sync::atomic::{AtomicU64, Ordering};

/// An atomic word: [`AtomicU64`], or the model's.
pub(super) trait StateWord {
    fn load(&self, order: Ordering) -> u64;
    fn store(&self, value: u64, order: Ordering);
    /// May fail spuriously. The value read on failure is only a hint.
    fn exchange(&self, from: u64, to: u64, order: Ordering) -> bool;
    fn fence(&self, order: Ordering);
}

impl StateWord for AtomicU64 {
    #[inline]
    fn load(&self, order: Ordering) -> u64 {
        self.load(order)
    }

    #[inline]
    fn store(&self, value: u64, order: Ordering) {
        self.store(value, order);
    }

    #[inline]
    fn exchange(&self, from: u64, to: u64, order: Ordering) -> bool {
        self.compare_exchange_weak(from, to, order, Ordering::Relaxed).is_ok()
    }

    #[inline]
    fn fence(&self, order: Ordering) {
        std::sync::atomic::fence(order);
    }
}

/// The version if the page is in memory, unlatched, and marked as in use for the clock.
#[inline]
pub(super) fn hot_version(word: &impl StateWord) -> Option<Version> {
    let state = word.load(Ordering::Acquire);
    (latch(state) == UNLATCHED && state & REFERENCED != 0).then(|| state::version(state))
}

/// The whole word, for a caller that decides by its latch field.
#[inline]
pub(super) fn look(word: &impl StateWord) -> u64 {
    word.load(Ordering::Acquire)
}

/// The page's word, if the page is not in memory. The fence also makes this look the later of two:
/// bytes read from the file before it are of no newer state.
#[inline]
pub(super) fn absence(word: &impl StateWord) -> Option<Absence> {
    word.fence(Ordering::Acquire);
    let state = word.load(Ordering::Acquire);
    (latch(state) == EVICTED).then_some(Absence(state))
}

/// Tells the clock that the page is in use. It is only a hint: it is lost if another thread changes
/// the word meanwhile.
#[inline]
pub(super) fn touch(word: &impl StateWord, state: u64) {
    let _ = word.exchange(state, state | REFERENCED, Ordering::Relaxed);
}

/// Whether all bytes read from the page since `version` was taken are one consistent state of it
/// (condition L).
#[inline]
pub(super) fn validate(word: &impl StateWord, version: Version) -> bool {
    word.fence(Ordering::Acquire);
    let state = word.load(Ordering::Relaxed);
    latch(state) == UNLATCHED && state::version(state) == version
}

/// Takes the latch if the word is `state` (which is not latched).
#[inline]
pub(super) fn try_latch(word: &impl StateWord, state: u64) -> bool {
    debug_assert_ne!(latch(state), LATCHED);
    if !word.exchange(state, with_latch(state, LATCHED), Ordering::Acquire) {
        return false;
    }
    // The latched word must be visible before the first change of the page is.
    word.fence(Ordering::Release);
    true
}

/// Takes the latch if the page still has this version; returns the word before.
#[inline]
pub(super) fn upgrade(word: &impl StateWord, version: Version) -> Option<u64> {
    loop {
        let state = word.load(Ordering::Relaxed);
        if latch(state) != UNLATCHED || state::version(state) != version {
            return None;
        }
        if try_latch(word, state) {
            return Some(state);
        }
    }
}

/// Marks a latched page dirty. `before` is the word that unlatching restores; the result is the new
/// one.
#[inline]
pub(super) fn set_dirty(word: &impl StateWord, before: u64) -> u64 {
    let dirty = before | DIRTY;
    if dirty != before {
        word.store(with_latch(dirty, LATCHED), Ordering::Release);
    }
    dirty
}

/// Releases the latch: restores `before`, with the next version if anything changed.
#[inline]
pub(super) fn unlatch(word: &impl StateWord, before: u64, changed: bool) {
    debug_assert_ne!(latch(before), LATCHED);
    let state = if changed { next_version(before) } else { before };
    word.store(state, Ordering::Release);
}

/// The clock hand's finding about a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Found {
    /// In use, or spared this time.
    InUse,
    /// The page must be written before it can be evicted.
    Dirty,
    /// Clean, and now latched; contains the word before.
    Victim(u64),
}

/// Checks a page for the clock: spares a referenced page once, latches a clean one.
pub(super) fn clock_look(word: &impl StateWord) -> Found {
    let state = word.load(Ordering::Relaxed);
    if latch(state) != UNLATCHED {
        return Found::InUse;
    }
    if state & REFERENCED != 0 {
        // If another thread changes the word meanwhile, the page is in use: it is spared anyway.
        let _ = word.exchange(state, state & !REFERENCED, Ordering::Relaxed);
        return Found::InUse;
    }
    if state & DIRTY != 0 {
        return Found::Dirty;
    }
    if try_latch(word, state) { Found::Victim(state) } else { Found::InUse }
}

/// Latches a page that was just written, if no thread has touched it since.
pub(super) fn latch_idle(word: &impl StateWord) -> Option<u64> {
    let state = word.load(Ordering::Relaxed);
    let idle = latch(state) == UNLATCHED && state & (DIRTY | REFERENCED) == 0;
    (idle && try_latch(word, state)).then_some(state)
}

/// The result of [`copy_dirty`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Copied {
    /// The page is clean: there is nothing to write.
    Clean,
    /// A writer holds the latch: try again.
    Busy,
    /// A consistent copy of this version.
    Dirty(Version),
}

/// Copies a dirty page with `copy`, if that is possible now.
pub(super) fn copy_dirty(word: &impl StateWord, copy: impl FnOnce()) -> Copied {
    let state = word.load(Ordering::Acquire);
    if state & DIRTY == 0 {
        return Copied::Clean;
    }
    if latch(state) != UNLATCHED {
        return Copied::Busy;
    }
    let version = state::version(state);
    copy();
    if validate(word, version) { Copied::Dirty(version) } else { Copied::Busy }
}

/// Marks a page clean if its content is still the written copy (condition E).
pub(super) fn mark_clean(word: &impl StateWord, version: Version) {
    loop {
        let state = word.load(Ordering::Relaxed);
        if latch(state) != UNLATCHED || state::version(state) != version {
            return;
        }
        if word.exchange(state, state & !DIRTY, Ordering::Release) {
            return;
        }
    }
}
