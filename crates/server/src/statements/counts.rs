//! The counters of a statement's runs, and their sums.

use serde::{Deserialize, Serialize};
use steppe_storage::Usage;

/// The cost of one run.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Run {
    pub milliseconds: f64,
    /// It is the rest of a run that was counted already.
    pub goes_on: bool,
    pub rows: u64,
    pub usage: Usage,
    pub temp: Temporary,
}

/// Bytes of spill files.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Temporary {
    pub read: u64,
    pub written: u64,
}

/// The times of something that was done several times, in milliseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Timed {
    pub calls: u64,
    pub total: f64,
    /// Without meaning if there were no calls since the last reset.
    pub min: f64,
    pub max: f64,
    /// The number of calls that `min` and `max` cover.
    pub extremes_of: u64,
    /// The sum of the squares of the distances from the mean (Welford).
    pub squares: f64,
}

impl Timed {
    /// The average.
    pub(crate) fn mean(&self) -> f64 {
        if self.calls == 0 { 0.0 } else { self.total / self.calls as f64 }
    }

    /// The standard deviation of all calls.
    pub(crate) fn deviation(&self) -> f64 {
        if self.calls <= 1 { 0.0 } else { (self.squares / self.calls as f64).max(0.0).sqrt() }
    }

    /// Adds other calls.
    pub(crate) fn merge(&mut self, other: &Timed) {
        let (n, m) = (self.calls as f64, other.calls as f64);
        let apart = other.mean() - self.mean();
        self.squares += other.squares;
        if n > 0.0 && m > 0.0 {
            self.squares += apart * apart * n * m / (n + m);
        }
        if other.extremes_of > 0 {
            let first = self.extremes_of == 0;
            self.min = if first { other.min } else { self.min.min(other.min) };
            self.max = if first { other.max } else { self.max.max(other.max) };
            self.extremes_of += other.extremes_of;
        }
        self.calls += other.calls;
        self.total += other.total;
    }

    fn forget_extremes(&mut self) {
        (self.min, self.max, self.extremes_of) = (0.0, 0.0, 0);
    }
}

/// The costs of a statement: of its runs, and of planning it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Counts {
    #[serde(flatten)]
    pub runs: Timed,
    /// Counted while pg_stat_statements.track_planning is on.
    pub plans: Timed,
    pub rows: u64,
    /// The use by runs and by planning, as in PostgreSQL.
    pub usage: Usage,
    pub temp: Temporary,
    /// Higher for statements that ran often of late.
    pub score: f64,
}

impl Counts {
    /// Whether it was planned or run.
    pub(crate) fn is_used(&self) -> bool {
        self.runs.calls + self.plans.calls > 0
    }

    /// Adds other costs.
    pub(crate) fn merge(&mut self, other: &Counts) {
        self.runs.merge(&other.runs);
        self.plans.merge(&other.plans);
        self.rows += other.rows;
        self.usage += other.usage;
        self.temp.read += other.temp.read;
        self.temp.written += other.temp.written;
        self.score += (other.runs.calls + other.plans.calls) as f64;
    }

    /// Resets the minimum and the maximum.
    pub(crate) fn forget_extremes(&mut self) {
        self.runs.forget_extremes();
        self.plans.forget_extremes();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_order_of_merging_makes_no_difference() {
        let once =
            |ms| Timed { calls: 1, total: ms, min: ms, max: ms, extremes_of: 1, squares: 0.0 };
        let one = |ms: f64| Counts {
            runs: once(ms),
            plans: once(ms / 10.0),
            rows: 2,
            ..Counts::default()
        };
        let times = [3.0, 5.0, 1.0, 7.0];
        let mut all = Counts::default();
        times.iter().for_each(|ms| all.merge(&one(*ms)));
        let (mut left, mut right) = (Counts::default(), Counts::default());
        times[..3].iter().for_each(|ms| left.merge(&one(*ms)));
        right.merge(&one(times[3]));
        right.merge(&left);
        for counts in [all, right] {
            let Counts { runs, plans, rows, .. } = counts;
            assert_eq!((runs.calls, rows, runs.min, runs.max), (4, 8, 1.0, 7.0));
            assert_eq!(runs.mean(), 4.0);
            assert!((runs.deviation() - 5.0f64.sqrt()).abs() < 1e-9);
            assert_eq!((plans.calls, plans.min, plans.max), (4, 0.1, 0.7));
            assert!((plans.deviation() - 0.05f64.sqrt()).abs() < 1e-9);
        }
    }
}
