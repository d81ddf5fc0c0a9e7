//! The tables of which many rows have changed, for the background analyzer.
//!
//! A thread that counts a change compares two sums of its own counters ([`note_if_many`]); once in
//! [`STEP`] changes it puts the table into a set that all threads of the database share. So the
//! analyzer learns of a table soon after it has grown, and checks no other. Several threads may
//! each have counted fewer changes than that, so the analyzer also checks all tables now and then.
//! (PostgreSQL's autovacuum does only that, in autovacuum.c, do_autovacuum.)
//!
//! A block's counts are noted again when the block has ended, because other sessions do not see its
//! rows before.

use std::sync::atomic::{AtomicBool, Ordering};

use hashbrown::HashSet;
use parking_lot::Mutex;
use steppe_types::Oid;

use super::thread::with_database;
use crate::RelationStatistics;

/// The number of changes after which a counter notes its table, as a power of two. It is less than
/// autovacuum_analyze_threshold (50).
const STEP_BITS: u32 = 5;

/// The tables of a database that were noted.
#[derive(Debug, Default)]
pub(super) struct ChangedTables {
    tables: Mutex<HashSet<Oid>>,
    /// Whether there is any, for frequent checks without the lock.
    is_any: AtomicBool,
}

impl ChangedTables {
    pub(super) fn note(&self, table: Oid) {
        self.tables.lock().insert(table);
        self.is_any.store(true, Ordering::Release);
    }
}

/// Whether a counter of changes passes a step when `more` are added to it.
#[inline(always)]
pub(super) fn is_step(counted: u64, more: u64) -> bool {
    counted >> STEP_BITS != counted.wrapping_add(more) >> STEP_BITS
}

/// Notes a table if the running thread's counter of its changes passes a step when `more` are added
/// to it.
#[inline(always)]
pub(super) fn note_if_many(table: Oid, counted: u64, more: u64) {
    if is_step(counted, more) {
        note(table);
    }
}

#[cold]
fn note(table: Oid) {
    with_database(|database| database.counts.changed.note(table));
}

impl RelationStatistics {
    /// Whether tables have been noted.
    pub fn has_changed_tables(&self) -> bool {
        self.counts.changed.is_any.load(Ordering::Acquire)
    }

    /// Takes the tables that were noted since the last time.
    pub fn take_changed_tables(&self) -> Vec<Oid> {
        let ChangedTables { tables, is_any } = &self.counts.changed;
        is_any.store(false, Ordering::Relaxed);
        std::mem::take(&mut *tables.lock()).into_iter().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Apart, count_apart, inserted, scanned, settle, updated};
    use super::*;

    const BASE: Oid = 16_384;

    #[test]
    fn a_table_is_noted_when_many_of_its_rows_have_changed() {
        let counts = RelationStatistics::of_postgres();
        counts.enter();
        let taken = || counts.take_changed_tables();
        scanned(BASE, 1000, 7);
        inserted(BASE, 20);
        (0..11).for_each(|_| updated(BASE, false));
        assert_eq!(taken(), [0; 0]);
        updated(BASE, true);
        assert!(counts.has_changed_tables());
        assert_eq!(taken(), [BASE]);
        inserted(BASE, 1000);
        assert_eq!(taken(), [BASE]);
        // Too many relations for slots: each is counted in many small parts.
        let tables = || (0..1000).map(|i| BASE + 1 + i * 64);
        (0..40).for_each(|_| tables().for_each(|table| inserted(table, 1)));
        assert!(taken().len() > 900);
        // A block's changes are noted once more when it has ended.
        Apart::default().during(|| {
            count_apart();
            inserted(BASE + 2, 50);
            assert_eq!(taken(), [BASE + 2]);
            settle();
            assert_eq!(taken(), [BASE + 2]);
        });
    }
}
