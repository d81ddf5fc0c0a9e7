//! The interval value.

/// An interval: months, days and microseconds are kept apart, as in PostgreSQL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Interval {
    /// Months (years are 12 of them).
    pub months: i32,
    /// Days.
    pub days: i32,
    /// Microseconds.
    pub micros: i64,
}
