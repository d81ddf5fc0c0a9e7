//! pg_stat_slru (pgstat_slru.c): PostgreSQL's caches of small facts about transactions.
//!
//! Steppe has no such caches: undo and memory hold these facts. So all counts are zero, and a reset
//! only sets the time of the reset.

use steppe_catalog::system::RowsBuilder;
use steppe_types::Datum;

use super::io;
use crate::services::SharedSession;

/// PostgreSQL's caches. The last name is for the caches of extensions (slru_names).
const NAMES: [&str; 8] = [
    "commit_timestamp",
    "multixact_member",
    "multixact_offset",
    "notify",
    "serializable",
    "subtransaction",
    "transaction",
    "other",
];

/// The counters of pg_stat_slru, in its order.
const COUNTERS: [&str; 7] =
    ["blks_zeroed", "blks_hit", "blks_read", "blks_written", "blks_exists", "flushes", "truncates"];

/// When each was last reset, in microseconds since 2000-01-01 UTC.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct SlruResets(pub [i64; NAMES.len()]);

impl SlruResets {
    /// Resets one cache, or all. An unknown name means the last (pgstat_get_slru_index).
    pub(super) fn reset(&mut self, name: Option<&str>, at: i64) {
        match name {
            None => self.0 = [at; NAMES.len()],
            Some(name) => {
                let found = NAMES.iter().position(|known| *known == name);
                self.0[found.unwrap_or(NAMES.len() - 1)] = at;
            }
        }
    }
}

/// pg_stat_slru
pub(super) fn rows(core: &SharedSession, builder: &mut RowsBuilder) {
    for (name, at) in NAMES.iter().zip(io::slru_resets(core).0) {
        let counters = COUNTERS.map(|counter| (counter, Datum::Int8(0)));
        let ends = [("name", Datum::text(*name)), ("stats_reset", Datum::TimestampTz(at))];
        builder.row(counters.into_iter().chain(ends));
    }
}

/// The rows of pg_stat_get_slru().
pub(crate) fn counters(core: &SharedSession) -> Vec<Vec<Datum>> {
    let row = |(name, at): (&&str, i64)| {
        let mut row = vec![Datum::text(*name)];
        row.extend(COUNTERS.map(|_| Datum::Int8(0)));
        row.push(Datum::TimestampTz(at));
        row
    };
    NAMES.iter().zip(io::slru_resets(core).0).map(row).collect()
}
