//! The counts of one transaction block so far, for pg_stat_xact_all_tables and its kin.
//!
//! ```text
//!   BEGIN ──▶ count_apart: the thread counts into slots of the block
//!   the session waits, and continues on another thread ──▶ Apart takes them along
//!   COMMIT, ROLLBACK ──▶ settle: the counts are added to the thread's own
//! ```
//!
//! Counting costs what it does outside a block: an addition to the thread's current slots. A
//! statement that is a transaction by itself pays for a test of whether there are others when the
//! session is polled and when its transaction ends. Slots keep the relations that the last block
//! counted, because the next block often counts the same ones. Other relations lose their slots.
//!
//! A sum of counts reads the threads' own before the blocks', so that none is counted twice.

use std::cell::Cell;

use steppe_types::Oid;

use super::counts::Counts;
use super::slots::Slots;
use super::thread::{CURRENT, own, own_or_new, put_spare, take_spare, with_database};
use super::{Accesses, Known};
use crate::RelationStatistics;

thread_local! {
    /// The slots of the block that the thread works for: they are its `CURRENT`, too.
    static APART: Cell<Option<&'static Slots>> = const { Cell::new(None) };
}

/// Has the running thread count for a transaction block, if it does not yet. Its session has begun
/// a block, or a statement that may change many rows before they become visible to others.
pub fn count_apart() {
    if APART.get().is_none()
        && let Some(slots) = take_spare()
    {
        go_on(slots);
    }
}

fn go_on(slots: &'static Slots) {
    APART.set(Some(slots));
    CURRENT.set(Some(slots));
}

/// Has the running thread count into its own slots again.
#[inline]
fn come_back() -> Option<&'static Slots> {
    let apart = APART.get();
    if apart.is_some() {
        APART.set(None);
        CURRENT.set(own());
    }
    apart
}

/// The transaction has ended: its counts are added to the thread's own.
#[inline]
pub fn settle() {
    if let Some(slots) = come_back() {
        settle_to_own(slots);
    }
}

fn settle_to_own(slots: &'static Slots) {
    let Some(own) = own_or_new() else { return slots.end() };
    let rest = slots.settle_to(own);
    if !rest.is_empty() {
        with_database(|database| database.counts.add(rest));
    }
    put_spare(slots);
}

/// Ends the running thread's block: the thread ends, or works for another database.
pub(super) fn end_block() {
    if let Some(slots) = APART.take() {
        slots.end();
    }
}

/// The counts of the transaction that the running thread works for.
pub fn of_transaction() -> Known {
    let mut all = Known::new();
    if let Some(slots) = APART.get() {
        slots.add_to(&mut all);
    }
    all
}

/// The counts of running blocks for a table: the running thread's own, and all others.
pub(super) fn unsettled(counts: &Counts, table: Oid) -> [Accesses; 2] {
    let own = APART.get();
    let (mut mine, mut others) = (Accesses::NONE, Accesses::NONE);
    counts.for_each_block(|slots| {
        let is_own = own.is_some_and(|own| std::ptr::eq(own, slots));
        if is_own { &mut mine } else { &mut others }.add(&slots.of(table));
    });
    [mine, others]
}

/// Changes of tables' rows that running blocks have counted.
pub struct Unsettled(Known);

impl RelationStatistics {
    /// The changes of tables' rows that running blocks have counted so far.
    pub fn unsettled(&self) -> Unsettled {
        let mut all = Known::new();
        self.counts.for_each_block(|slots| slots.add_to(&mut all));
        Unsettled(all)
    }
}

impl Unsettled {
    /// The changes of one table.
    pub fn of(&self, table: Oid) -> u64 {
        self.0.get(&table).map_or(0, Accesses::changes)
    }
}

/// The counts of a session's block while no thread works for the session.
#[derive(Default)]
pub struct Apart(Option<&'static Slots>);

impl Apart {
    /// Takes the block's counts from the running thread, so that another one can continue them.
    pub fn take() -> Apart {
        Apart(come_back())
    }

    /// Lets the running thread continue the block's counts.
    pub fn give_back(mut self) {
        if let Some(slots) = self.0.take() {
            go_on(slots);
        }
    }

    /// Runs a part of the session's work, in which a block may begin, continue and end.
    #[inline]
    pub fn during<T>(&mut self, work: impl FnOnce() -> T) -> T {
        let _within = Within::enter(self);
        work()
    }
}

impl Drop for Apart {
    /// A session has ended before its transaction.
    fn drop(&mut self) {
        if let Some(slots) = self.0.take() {
            slots.end();
        }
    }
}

/// Takes the block's counts back from the thread, even if the work panics.
struct Within<'a>(&'a mut Apart);

impl<'a> Within<'a> {
    #[inline]
    fn enter(apart: &'a mut Apart) -> Within<'a> {
        if let Some(slots) = apart.0.take() {
            go_on(slots);
        }
        Within(apart)
    }
}

impl Drop for Within<'_> {
    #[inline]
    fn drop(&mut self) {
        self.0.0 = come_back();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::super::{deleted, inserted, searched};
    use super::*;

    const BASE: Oid = 16_384;

    fn database() -> Arc<RelationStatistics> {
        let counts = RelationStatistics::of_postgres();
        counts.enter();
        counts
    }

    fn rows_of(relations: impl Iterator<Item = Oid>, all: &Known) -> u64 {
        relations.map(|relation| all.get(&relation).map_or(0, |counts| counts.inserted)).sum()
    }

    #[test]
    fn sessions_on_a_thread_see_their_own_transaction_only() {
        let counts = database();
        let (mut one, mut other) = (Apart::default(), Apart::default());
        inserted(BASE, 1);
        one.during(|| {
            count_apart();
            inserted(BASE, 10);
        });
        other.during(|| {
            assert!(of_transaction().is_empty());
            inserted(BASE, 100);
            count_apart();
            searched(BASE + 1, 2, 7);
        });
        inserted(BASE, 1000);
        let there = Arc::clone(&counts);
        let went_on = std::thread::spawn(move || {
            there.enter();
            one.during(|| {
                count_apart();
                deleted(BASE);
                let mine = of_transaction();
                assert_eq!((mine[&BASE].inserted, mine[&BASE].deleted), (10, 1));
                assert_eq!(mine.get(&(BASE + 1)), None);
                settle();
                deleted(BASE);
                assert!(of_transaction().is_empty());
            });
        });
        went_on.join().expect("it only counts");
        other.during(|| assert_eq!(of_transaction()[&(BASE + 1)].fetched, 2));
        let all = counts.totals();
        assert_eq!((all[&BASE].inserted, all[&BASE].deleted), (1111, 2));
        drop(other);
        assert_eq!(
            (counts.totals_of(BASE).0, counts.totals_of(BASE + 1).0),
            (all[&BASE], all[&(BASE + 1)])
        );
        assert!(APART.get().is_none());
    }

    #[test]
    fn a_block_keeps_what_its_slots_do_not() {
        let counts = database();
        let relations = || (0..500).map(|i| BASE + 1000 + i * 8);
        let mut session = Apart::default();
        session.during(|| {
            for rows in [3, 300] {
                count_apart();
                relations().for_each(|relation| inserted(relation, rows));
                assert_eq!(rows_of(relations(), &of_transaction()), 500 * rows);
                let before = rows_of(relations(), &counts.totals());
                settle();
                assert_eq!(rows_of(relations(), &counts.totals()), before);
            }
        });
        assert_eq!(rows_of(relations(), &counts.totals()), 500 * 303);
        assert_eq!(counts.totals_of(BASE + 1000 + 499 * 8).0.inserted, 303);
    }

    #[test]
    fn a_panic_leaves_the_thread_counting_for_itself() {
        let counts = database();
        let mut session = Apart::default();
        let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            session.during(|| {
                count_apart();
                inserted(BASE + 5000, 1);
                panic!("as planned");
            });
        }));
        assert!(panicked.is_err() && APART.get().is_none());
        drop(session);
        assert_eq!(counts.totals_of(BASE + 5000).0.inserted, 1);
    }
}
