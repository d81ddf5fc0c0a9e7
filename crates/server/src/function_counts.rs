//! Calls of users' functions, and the time that they take (pgstat_function.c).
//!
//! A session counts the calls of its transaction by itself, and adds them to the server's counts when
//! the transaction ends. The time of a call includes that of the calls within it; its own time does
//! not.

use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};
use std::time::Instant;

use hashbrown::HashMap;
use parking_lot::Mutex;
use steppe_catalog::objects::{Body, Function};
use steppe_functions::CountedCall;
use steppe_types::{Datum, Oid};

/// track_functions
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Tracked {
    /// Calls are not counted.
    #[default]
    None,
    /// Calls of functions in procedural languages.
    Procedural,
    /// Those of functions in SQL, too.
    All,
}

impl Tracked {
    /// The value of the setting.
    pub(crate) fn of(word: &str) -> Tracked {
        match word {
            "pl" => Tracked::Procedural,
            "all" => Tracked::All,
            _ => Tracked::None,
        }
    }
}

/// The counts of a function. Times are in nanoseconds.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Counts {
    pub(crate) calls: u64,
    pub(crate) total: u64,
    pub(crate) own: u64,
}

/// The counts of a function as views show them: times in milliseconds.
pub(crate) struct ShownCounts {
    pub(crate) calls: Datum,
    pub(crate) total: Datum,
    pub(crate) own: Datum,
}

impl Counts {
    /// As views show them.
    pub(crate) fn shown(self) -> ShownCounts {
        let milliseconds = |nanos: u64| Datum::Float8(nanos as f64 / 1e6);
        ShownCounts {
            calls: Datum::Int8(i64::try_from(self.calls).unwrap_or(i64::MAX)),
            total: milliseconds(self.total),
            own: milliseconds(self.own),
        }
    }
}

type ByFunction = HashMap<Oid, Counts, foldhash::fast::RandomState>;

/// The counts of all sessions' transactions that have ended.
#[derive(Default)]
pub(crate) struct FunctionStatistics(Mutex<ByFunction>);

impl FunctionStatistics {
    /// The counts of a function; `None` if it has not been called.
    pub(crate) fn get(&self, function: Oid) -> Option<Counts> {
        self.0.lock().get(&function).copied()
    }

    /// The counts of all functions.
    pub(crate) fn all(&self) -> Vec<(Oid, Counts)> {
        self.0.lock().iter().map(|(function, counts)| (*function, *counts)).collect()
    }

    /// Forgets a function's counts.
    pub(crate) fn reset(&self, function: Oid) {
        self.0.lock().remove(&function);
    }

    /// Forgets all counts.
    pub(crate) fn reset_all(&self) {
        self.0.lock().clear();
    }
}

/// The counts of a session's transaction.
#[derive(Default)]
pub(crate) struct FunctionCounts {
    tracked: AtomicU8,
    /// The time of all counted calls so far.
    total: AtomicU64,
    counts: Mutex<ByFunction>,
}

impl FunctionCounts {
    /// Follows the setting.
    pub(crate) fn track(&self, tracked: Tracked) {
        self.tracked.store(tracked as u8, Ordering::Relaxed);
    }

    /// Begins to count a call, if calls of this kind are counted.
    pub(crate) fn begin(&self, function: &Function) -> Option<CountedCall> {
        let least = match function.body {
            Body::Procedural { .. } => Tracked::Procedural,
            _ => Tracked::All,
        };
        if self.tracked.load(Ordering::Relaxed) < least as u8 {
            return None;
        }
        let own = self.counts.lock().entry(function.oid).or_default().total;
        let before = self.total.load(Ordering::Relaxed);
        Some(CountedCall { function: function.oid, began: Instant::now(), before, own })
    }

    /// Counts a call that ends.
    pub(crate) fn end(&self, call: CountedCall) {
        let took = u64::try_from(call.began.elapsed().as_nanos()).unwrap_or(u64::MAX);
        let within = self.total.load(Ordering::Relaxed) - call.before;
        let own = took.saturating_sub(within);
        self.total.fetch_add(own, Ordering::Relaxed);
        let mut counts = self.counts.lock();
        let counts = counts.entry(call.function).or_default();
        counts.calls += 1;
        // A call within a call of the same function is part of that one's time.
        counts.total = call.own + took;
        counts.own += own;
    }

    /// The counts of a function in the running transaction.
    pub(crate) fn get(&self, function: Oid) -> Option<Counts> {
        self.counts.lock().get(&function).copied()
    }

    /// The counts of all functions in the running transaction.
    pub(crate) fn all(&self) -> Vec<(Oid, Counts)> {
        self.counts.lock().iter().map(|(function, counts)| (*function, *counts)).collect()
    }

    /// Adds the counts to the server's when the transaction ends.
    pub(crate) fn hand_over(&self, server: &FunctionStatistics) {
        let mut counts = self.counts.lock();
        if counts.is_empty() {
            return;
        }
        let mut all = server.0.lock();
        for (function, more) in counts.drain() {
            let sum = all.entry(function).or_default();
            sum.calls += more.calls;
            sum.total += more.total;
            sum.own += more.own;
        }
    }
}
