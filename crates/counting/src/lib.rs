//! Counts of running statements.
//!
//! - [`accesses`]: rows read from relations and written to them, for pg_stat_all_tables and the
//!   background analyzer.
//! - [`blocks`]: pages read from disk for them, for pg_statio_all_tables.
//! - [`progress`]: the progress of long commands, for pg_stat_progress_*.
//!
//! [`RelationStatistics`] has the counts of one database's relations.
//!
//! The executor and DDL count, and sessions show the counts: this crate is below all of them.
//! Counting a row is an addition to memory that only the running thread writes.

pub mod accesses;
pub mod blocks;
pub mod progress;
mod statistics;

pub use statistics::RelationStatistics;
