//! The state word of a page: latch, flags and version in one atomic.
//!
//! ```text
//!  63      56  55      54        53    48 47                              0
//! ┌──────────┬───────┬──────────┬────────┬─────────────────────────────────┐
//! │  latch   │ dirty │referenced│   0    │             version             │
//! └──────────┴───────┴──────────┴────────┴─────────────────────────────────┘
//!
//!               fault                         latch
//!   EVICTED ───────────► LATCHED ◄──────────────────────── UNLATCHED
//!      ▲                    │ └──────────────────────────────►│
//!      └────────────────────┘        unlatch (version + 1 if changed)
//!         discard (version + 1)
//! ```
//!
//! - A page's bytes change only while it is LATCHED, and its version changes before it becomes
//!   UNLATCHED or EVICTED. So if two loads both find it unlatched with the same version, reads
//!   between them see one consistent page.
//! - While a page is LATCHED only the holder changes the word.
//! - The holder sets DIRTY before it reserves its log record (the checkpoint's argument needs this
//!   order). Only the writer of the page's copy clears it, and only if the version is still that of
//!   the copy.
//! - REFERENCED is a hint for the clock.

/// The page was never loaded, or was discarded. A fresh mapping's zeros mean this.
pub(super) const EVICTED: u64 = 0;
/// In memory, and not latched.
pub(super) const UNLATCHED: u64 = 1;
/// Exclusively latched.
pub(super) const LATCHED: u64 = 2;

pub(super) const DIRTY: u64 = 1 << 55;
pub(super) const REFERENCED: u64 = 1 << 54;
const LATCH_SHIFT: u32 = 56;
const VERSION_MASK: u64 = (1 << 48) - 1;

/// The latch field.
#[inline]
pub(super) fn latch(state: u64) -> u64 {
    state >> LATCH_SHIFT
}

/// The word with another latch field.
#[inline]
pub(super) fn with_latch(state: u64, latch: u64) -> u64 {
    state & ((1 << LATCH_SHIFT) - 1) | latch << LATCH_SHIFT
}

/// The version.
#[inline]
pub(super) fn version(state: u64) -> Version {
    Version(state & VERSION_MASK)
}

/// The word with the next version.
#[inline]
pub(super) fn next_version(state: u64) -> u64 {
    state & !VERSION_MASK | (state + 1) & VERSION_MASK
}

/// A page's version, which an optimistic reader remembers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Version(u64);

/// The word of a page that is not in memory. A page has each such word only once: a thread that
/// brings the page into memory, or tries to, changes its version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Absence(pub(super) u64);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_do_not_touch_each_other() {
        let state = with_latch(DIRTY | REFERENCED | VERSION_MASK, LATCHED);
        assert_eq!(latch(state), LATCHED);
        let next = next_version(state);
        assert_eq!(version(next), Version(0));
        assert_eq!((next & DIRTY, next & REFERENCED, latch(next)), (DIRTY, REFERENCED, LATCHED));
        assert_eq!(latch(with_latch(next, EVICTED)), EVICTED);
    }
}
