//! How often relations are scanned, and what is read from and written to them: for
//! pg_stat_all_tables and its kin.
//!
//! ```text
//!   thread ── a few slots, a list; written by the thread alone ─┐
//!   thread ── a few slots, a list                               ├─ totals(): read, summed
//!   shards ◄─ a slot's counts when another relation needs it,   │
//!             what is in the list when it is full              ─┤
//!   transaction block ── the same, its own until it ends       ─┘
//! ```
//!
//! Counting an access to a relation that the thread has accessed lately is an addition to memory
//! that only the thread writes. A statement that accesses thousands of leaves in turn finds none of
//! them there. Such accesses are listed, and a long list is added to the shards, one shard after
//! the other. Counts are kept by OID, for one database ([`counts`]), which the thread has entered
//! ([`thread`]). Changes count even if the transaction rolls back, as in PostgreSQL. A block has
//! counts of its own ([`apart`]). A table of which many rows have changed is noted for the analyzer
//! ([`changed`]).

mod apart;
mod changed;
mod counts;
mod live;
mod maintenance;
mod saved;
mod slots;
mod thread;
mod trees;

pub use apart::{Apart, Unsettled, count_apart, of_transaction, settle};
pub use live::{Estimates, Mark};
pub use maintenance::{Maintenance, Rounds};
pub use saved::SavedAccesses;

pub(crate) use counts::Counts;
pub(crate) use live::LiveRows;
pub(crate) use trees::Trees;

use std::cell::Cell;

use hashbrown::HashMap;
use serde::{Deserialize, Serialize};
use steppe_types::Oid;

use thread::{CURRENT, lease};

/// Counts of a relation, besides the time of the last scan.
const COUNTERS: usize = 7;

macro_rules! counters {
    ($($(#[$doc:meta])* $name:ident,)*) => {
        /// Accesses to one relation.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
        #[serde(default)]
        pub struct Accesses {
            $($(#[$doc])* pub $name: u64,)*
            /// When it was scanned for the last time, in microseconds since 2000-01-01 UTC; 0 means
            /// never.
            pub last_scan: i64,
        }

        impl Accesses {
            const NONE: Accesses = Accesses { $($name: 0,)* last_scan: 0 };

            #[inline(always)]
            fn counts(&self) -> [u64; COUNTERS] {
                [$(self.$name,)*]
            }

            fn of(counts: [u64; COUNTERS], last_scan: i64) -> Accesses {
                let [$($name,)*] = counts;
                Accesses { $($name,)* last_scan }
            }
        }
    };
}

counters! {
    /// Scans: of a table from its beginning, searches of an index.
    scans,
    /// Rows read by scans of a table, entries found by those of an index.
    returned,
    /// Rows fetched from the table for an index.
    fetched,
    /// Rows inserted.
    inserted,
    /// Rows updated.
    updated,
    /// Rows updated without a changed key in any index.
    hot_updated,
    /// Rows deleted.
    deleted,
}

impl Accesses {
    /// Adds other accesses.
    pub fn add(&mut self, other: &Accesses) {
        let (counts, others) = (self.counts(), other.counts());
        let sums = std::array::from_fn(|i| counts[i].wrapping_add(others[i]));
        *self = Accesses::of(sums, self.last_scan.max(other.last_scan));
    }

    /// Rows inserted, updated and deleted.
    #[inline(always)]
    pub fn changes(&self) -> u64 {
        self.inserted.wrapping_add(self.updated).wrapping_add(self.deleted)
    }

    /// The accesses since `before`.
    pub fn since(&self, before: &Accesses) -> Accesses {
        let (counts, others) = (self.counts(), before.counts());
        let more = std::array::from_fn(|i| counts[i].wrapping_sub(others[i]));
        let is_newer = self.last_scan > before.last_scan;
        Accesses::of(more, if is_newer { self.last_scan } else { 0 })
    }
}

type Known = HashMap<Oid, Accesses>;

thread_local! {
    /// Whether the thread runs autovacuum.
    static AUTOMATIC: Cell<bool> = const { Cell::new(false) };
}

/// Counts accesses to a relation.
#[inline(always)]
fn count(relation: Oid, accesses: Accesses) {
    CURRENT.get().unwrap_or_else(lease).count(relation, &accesses);
}

/// A relation is scanned `times` times at `now`; [`found`] counts the rows.
#[inline]
pub fn scanned(relation: Oid, times: u64, now: i64) {
    count(relation, Accesses { scans: times, last_scan: now, ..Accesses::NONE });
}

/// A scan has found rows or entries.
#[inline]
pub fn found(relation: Oid, returned: u64, fetched: u64) {
    count(relation, Accesses { returned, fetched, ..Accesses::NONE });
}

/// An index is searched once at `now`, and that many entries are found and their rows fetched.
#[inline]
pub fn searched(index: Oid, hits: u64, now: i64) {
    let found = Accesses { returned: hits, fetched: hits, ..Accesses::NONE };
    count(index, Accesses { scans: 1, last_scan: now, ..found });
}

/// Uncounts a search that found a row: the search is repeated, and counted again.
#[cold]
pub fn searches_again(index: Oid) {
    let less = 1_u64.wrapping_neg();
    count(index, Accesses { scans: less, returned: less, fetched: less, ..Accesses::NONE });
}

/// Rows are inserted.
#[inline]
pub fn inserted(table: Oid, rows: u64) {
    count(table, Accesses { inserted: rows, ..Accesses::NONE });
}

/// A row is updated.
#[inline]
pub fn updated(table: Oid, key_changed: bool) {
    let hot_updated = u64::from(!key_changed);
    count(table, Accesses { updated: 1, hot_updated, ..Accesses::NONE });
}

/// A row is deleted.
#[inline]
pub fn deleted(table: Oid) {
    count(table, Accesses { deleted: 1, ..Accesses::NONE });
}

/// Marks the work as the background analyzer's, which no user has asked for.
pub fn automatically<T>(work: impl FnOnce() -> T) -> T {
    AUTOMATIC.set(true);
    let done = work();
    AUTOMATIC.set(false);
    done
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::RelationStatistics;

    const BASE: Oid = 16_384;

    #[test]
    fn all_threads_count_and_none_is_lost() {
        let counts = RelationStatistics::of_postgres();
        let threads: Vec<_> = (0..4)
            .map(|_| {
                let counts = Arc::clone(&counts);
                std::thread::spawn(move || {
                    counts.enter();
                    for i in 0..1000 {
                        // More relations than slots, and now and then more than a list takes.
                        let relation = BASE + i % 40 * 8;
                        scanned(relation, 1, 7);
                        found(relation, 2, 1);
                        searched(relation, 0, 7);
                        inserted(relation, if i % 100 < 40 { 300 } else { 3 });
                        updated(relation, i % 2 == 0);
                        deleted(relation);
                    }
                })
            })
            .collect();
        threads.into_iter().for_each(|thread| thread.join().expect("it only counts"));
        let all = counts.totals();
        let of = |i: Oid| all[&(BASE + i * 8)];
        let mut sum = Accesses::default();
        (0..40).for_each(|i| sum.add(&of(i)));
        let expected = Accesses {
            scans: 8000,
            returned: 8000,
            fetched: 4000,
            inserted: 4 * (400 * 300 + 600 * 3),
            updated: 4000,
            hot_updated: 2000,
            deleted: 4000,
            last_scan: 7,
        };
        assert_eq!(sum, expected);
        assert_eq!(of(3).since(&of(3)), Accesses::default());
        assert_eq!(
            (counts.totals_of(BASE + 3 * 8).0, counts.totals_of(BASE + 39 * 8).0),
            (of(3), of(39))
        );
    }

    /// Waits until the thread has given back what it had, too.
    fn on_a_thread(work: impl FnOnce() + Send) {
        std::thread::scope(|scope| scope.spawn(work).join()).expect("it only counts");
    }

    #[test]
    fn databases_of_a_process_count_apart() {
        let databases = [(); 2].map(|()| RelationStatistics::of_postgres());
        let inserted_in = |database: &Arc<RelationStatistics>| database.totals_of(BASE).0.inserted;
        for (rows, database) in [1, 2].into_iter().zip(&databases) {
            on_a_thread(|| {
                database.enter();
                (0..1000).for_each(|i| inserted(BASE + i, rows));
                count_apart();
                inserted(BASE, rows * 10);
            });
        }
        // A thread that works for none.
        on_a_thread(|| inserted(BASE, 4));
        assert_eq!(databases.each_ref().map(inserted_in), [11, 22]);
        let [one, other] = &databases;
        on_a_thread(|| {
            for database in [one, other, one] {
                database.enter();
                inserted(BASE, 100);
                assert!(RelationStatistics::entered().is_some_and(|it| Arc::ptr_eq(&it, database)));
            }
        });
        assert_eq!(databases.each_ref().map(inserted_in), [211, 122]);
    }

    #[test]
    fn a_database_that_is_gone_leaves_its_memory_without_counts() {
        let first = RelationStatistics::of_postgres();
        let mut session = Apart::default();
        on_a_thread(|| {
            first.enter();
            (0..1000).for_each(|i| inserted(BASE + i, 1000));
            session.during(|| {
                count_apart();
                (0..1000).for_each(|i| deleted(BASE + i));
            });
        });
        let gone = Arc::downgrade(&first);
        drop(first);
        assert!(gone.upgrade().is_none());
        drop(session);
        let next = RelationStatistics::of_postgres();
        on_a_thread(|| {
            next.enter();
            inserted(BASE + 1, 5);
        });
        let all = next.totals().into_iter().map(|(of, counts)| (of, counts.inserted));
        assert_eq!(all.collect::<Vec<_>>(), [(BASE + 1, 5)]);
        assert_eq!(next.sum().deleted, 0);
    }
}
