//! Time: the wall clock for timestamps, the monotonic one for intervals.

use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

/// A source of time.
pub trait Clock: Send + Sync {
    /// Microseconds since 1970-01-01 00:00:00 UTC. May jump when the machine's clock is set.
    fn now_micros(&self) -> i64;

    /// Microseconds since some fixed moment; they never decrease.
    fn monotonic_micros(&self) -> u64;
}

/// The machine's clocks.
#[derive(Debug)]
pub struct RealClock {
    started: Instant,
}

impl RealClock {
    /// A clock whose monotonic time starts at 0 now.
    pub fn new() -> RealClock {
        RealClock { started: Instant::now() }
    }
}

impl Default for RealClock {
    fn default() -> RealClock {
        RealClock::new()
    }
}

impl Clock for RealClock {
    fn now_micros(&self) -> i64 {
        let micros = |d: std::time::Duration| i64::try_from(d.as_micros()).unwrap_or(i64::MAX);
        match SystemTime::now().duration_since(UNIX_EPOCH) {
            Ok(since) => micros(since),
            Err(before) => -micros(before.duration()),
        }
    }

    fn monotonic_micros(&self) -> u64 {
        u64::try_from(self.started.elapsed().as_micros()).unwrap_or(u64::MAX)
    }
}

/// A clock that moves only when told to.
#[derive(Debug, Default)]
pub struct ManualClock {
    wall_start_micros: AtomicI64,
    elapsed_micros: AtomicU64,
}

impl ManualClock {
    /// A clock that shows `wall_micros` since 1970 until it is advanced.
    pub fn new(wall_micros: i64) -> ManualClock {
        ManualClock {
            wall_start_micros: AtomicI64::new(wall_micros),
            elapsed_micros: AtomicU64::new(0),
        }
    }

    /// Moves both clocks forward.
    pub fn advance_micros(&self, micros: u64) {
        self.elapsed_micros.fetch_add(micros, Ordering::SeqCst);
    }
}

impl Clock for ManualClock {
    fn now_micros(&self) -> i64 {
        let elapsed = self.elapsed_micros.load(Ordering::SeqCst);
        self.wall_start_micros.load(Ordering::SeqCst).saturating_add_unsigned(elapsed)
    }

    fn monotonic_micros(&self) -> u64 {
        self.elapsed_micros.load(Ordering::SeqCst)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn manual_clock_moves_only_when_told() {
        let clock = ManualClock::new(-5);
        assert_eq!((clock.now_micros(), clock.monotonic_micros()), (-5, 0));
        clock.advance_micros(12);
        assert_eq!((clock.now_micros(), clock.monotonic_micros()), (7, 12));
    }

    #[test]
    fn real_clock_is_past_2020_and_monotonic() {
        let clock = RealClock::new();
        assert!(clock.now_micros() > 1_577_836_800_000_000);
        let before = clock.monotonic_micros();
        assert!(clock.monotonic_micros() >= before);
    }
}
