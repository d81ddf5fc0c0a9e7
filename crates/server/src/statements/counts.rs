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

/// The costs of some runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Counts {
    pub calls: u64,
    /// Milliseconds.
    pub total: f64,
    /// Milliseconds; without meaning if there were no runs since the last reset.
    pub min: f64,
    pub max: f64,
    /// The number of runs that `min` and `max` cover.
    pub extremes_of: u64,
    /// The sum of the squares of the distances from the mean (Welford).
    pub squares: f64,
    pub rows: u64,
    pub usage: Usage,
    pub temp: Temporary,
    /// Higher for statements that ran often of late.
    pub score: f64,
}

impl Counts {
    /// Milliseconds, on average.
    pub(crate) fn mean(&self) -> f64 {
        if self.calls == 0 { 0.0 } else { self.total / self.calls as f64 }
    }

    /// The standard deviation of all runs.
    pub(crate) fn deviation(&self) -> f64 {
        if self.calls <= 1 { 0.0 } else { (self.squares / self.calls as f64).max(0.0).sqrt() }
    }

    /// Adds other runs.
    pub(crate) fn merge(&mut self, other: &Counts) {
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
        self.rows += other.rows;
        self.usage += other.usage;
        self.temp.read += other.temp.read;
        self.temp.written += other.temp.written;
        self.score += m;
    }

    /// Resets the minimum and the maximum.
    pub(crate) fn forget_extremes(&mut self) {
        (self.min, self.max, self.extremes_of) = (0.0, 0.0, 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_order_of_merging_makes_no_difference() {
        let one = |ms: f64| Counts {
            calls: 1,
            total: ms,
            min: ms,
            max: ms,
            extremes_of: 1,
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
            assert_eq!((counts.calls, counts.rows, counts.min, counts.max), (4, 8, 1.0, 7.0));
            assert_eq!(counts.mean(), 4.0);
            assert!((counts.deviation() - 5.0f64.sqrt()).abs() < 1e-9);
        }
    }
}
