//! What one transaction block has counted so far, for pg_stat_xact_all_tables and its kin.
//!
//! ```text
//!   BEGIN ──▶ count_apart: the thread counts into slots of the block
//!   the session waits, goes on on another thread ──▶ Apart takes them along
//!   COMMIT, ROLLBACK ──▶ settle: added to the thread's own, whose the block's are from then on
//! ```
//!
//! To count is what it is outside a block: an addition to the slots that the thread has in hand.
//! A statement that is a transaction by itself pays for a test of whether there are others when
//! the session is polled and when its transaction ends. Slots keep the relations that the last
//! block counted, so that blocks alike find them there; other relations are let go.
//!
//! A sum of counts reads the threads' own before the blocks', so that none is counted twice.

use std::cell::{Cell, RefCell};
use std::sync::atomic::Ordering;

use parking_lot::Mutex;
use steppe_types::Oid;

use super::{Accesses, CURRENT, Known, LEASE, SHARDS_COUNT, Slots, add_known, lease, shard};

/// Slots that a thread keeps for its next blocks.
const SPARE_MAX: usize = 256;

/// All slots of blocks.
static ALL: Mutex<Vec<&'static Slots>> = Mutex::new(Vec::new());
/// Those that no block has, nor any thread.
static FREE: Mutex<Vec<&'static Slots>> = Mutex::new(Vec::new());

thread_local! {
    /// The slots of the block that the thread works for: they are its `CURRENT`, too.
    static APART: Cell<Option<&'static Slots>> = const { Cell::new(None) };
    static SPARE: Spare = const { Spare(RefCell::new(Vec::new())) };
}

/// Slots for a thread's next blocks: the last ones used are the first ones used again.
struct Spare(RefCell<Vec<&'static Slots>>);

impl Drop for Spare {
    fn drop(&mut self) {
        FREE.lock().append(self.0.get_mut());
    }
}

fn take_spare() -> &'static Slots {
    let spare = SPARE.try_with(|spare| spare.0.borrow_mut().pop()).ok().flatten();
    spare.or_else(|| FREE.lock().pop()).unwrap_or_else(|| {
        let slots = Slots { handing_over: Mutex::new(Some(Known::new())), ..Slots::default() };
        let slots: &'static Slots = Box::leak(Box::new(slots));
        ALL.lock().push(slots);
        slots
    })
}

fn put_spare(slots: &'static Slots) {
    let is_kept = SPARE.try_with(|spare| {
        let mut spare = spare.0.borrow_mut();
        let has_room = spare.len() < SPARE_MAX;
        if has_room {
            spare.push(slots);
        }
        has_room
    });
    if is_kept != Ok(true) {
        FREE.lock().push(slots);
    }
}

/// The running thread's own slots, where it counts outside of blocks.
fn own() -> Option<&'static Slots> {
    LEASE.try_with(|lease| lease.0.get()).ok().flatten()
}

/// Has the running thread count apart, if it does not yet: its session has begun a block, or a
/// statement that may change many rows before they are there for others.
pub fn count_apart() {
    if APART.get().is_none() {
        go_on(take_spare());
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

/// The transaction has ended: what it counted apart, if it did, is the thread's own.
#[inline]
pub fn settle() {
    if let Some(slots) = come_back() {
        slots.settle();
    }
}

/// What the transaction that the running thread works for has counted apart.
pub fn of_transaction() -> Known {
    let mut all = Known::new();
    if let Some(slots) = APART.get() {
        slots.add_to(&mut all);
    }
    all
}

/// What blocks under way have counted of a table: the running thread's own, and all others.
pub(super) fn unsettled(table: Oid) -> [Accesses; 2] {
    let own = APART.get();
    let (mut mine, mut others) = (Accesses::NONE, Accesses::NONE);
    for_each(|slots| {
        let is_own = own.is_some_and(|own| std::ptr::eq(own, slots));
        if is_own { &mut mine } else { &mut others }.add(&slots.of(table));
    });
    [mine, others]
}

/// Changes of tables' rows that blocks under way have counted.
pub struct Unsettled(Known);

impl Unsettled {
    /// As it is now.
    pub fn now() -> Unsettled {
        let mut all = Known::new();
        for_each(|slots| slots.add_to(&mut all));
        Unsettled(all)
    }

    /// Of one table.
    pub fn of(&self, table: Oid) -> u64 {
        self.0.get(&table).map_or(0, Accesses::changes)
    }
}

/// Looks at the slots of all blocks.
pub(super) fn for_each(look: impl FnMut(&'static Slots)) {
    ALL.lock().iter().copied().for_each(look);
}

impl Slots {
    /// Adds what is counted here to the running thread's own, and lets go of the relations that
    /// were not counted this time.
    fn settle(&'static self) {
        let own = own().unwrap_or_else(lease);
        let mut kept = self.handing_over.lock();
        let mut held = self.held.load(Ordering::Relaxed);
        while held != 0 {
            let at = held.trailing_zeros() as usize;
            held &= held - 1;
            let counts = self.slots[at].read();
            if counts == Accesses::NONE {
                self.relations[at].store(0, Ordering::Relaxed);
                self.held.store(self.held.load(Ordering::Relaxed) & !(1 << at), Ordering::Relaxed);
            } else {
                own.count(self.holder(at), &counts);
                self.slots[at].clear();
            }
        }
        self.in_list().for_each(|(relation, counts)| own.count(relation, &counts));
        self.listed.store(0, Ordering::Relaxed);
        let rest = kept.as_mut().filter(|kept| !kept.is_empty()).map(std::mem::take);
        drop(kept);
        if let Some(rest) = rest {
            settle_rest(rest);
        }
        put_spare(self);
    }
}

/// Adds counts of relations that are too many for slots, one shard's together.
fn settle_rest(rest: Known) {
    let mut rest: Vec<(Oid, Accesses)> = rest.into_iter().collect();
    let shard_of = |relation: Oid| relation as usize % SHARDS_COUNT;
    rest.sort_unstable_by_key(|(relation, _)| shard_of(*relation));
    for some in rest.chunk_by(|(a, _), (b, _)| shard_of(*a) == shard_of(*b)) {
        add_known(shard(some[0].0), some.iter().copied());
    }
}

/// What a session's block counts apart while no thread works for the session.
#[derive(Default)]
pub struct Apart(Option<&'static Slots>);

impl Apart {
    /// Takes what the running thread counts apart from it, for another one to go on with.
    pub fn take() -> Apart {
        Apart(come_back())
    }

    /// Has the running thread go on with it.
    pub fn give_back(mut self) {
        if let Some(slots) = self.0.take() {
            go_on(slots);
        }
    }

    /// Does a part of the session's work, in which a block may begin, go on and end.
    #[inline]
    pub fn during<T>(&mut self, work: impl FnOnce() -> T) -> T {
        let _within = Within::enter(self);
        work()
    }
}

impl Drop for Apart {
    /// A session that has gone without an end of its transaction.
    fn drop(&mut self) {
        if let Some(slots) = self.0.take() {
            slots.settle();
        }
    }
}

/// A part of a session's work is being done; it may end in a panic.
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
    use super::super::{deleted, inserted, searched, total, totals};
    use super::*;

    /// Not the OIDs of any other test's relations.
    const BASE: Oid = 3_100_000_000;

    fn rows_of(relations: impl Iterator<Item = Oid>, all: &Known) -> u64 {
        relations.map(|relation| all.get(&relation).map_or(0, |counts| counts.inserted)).sum()
    }

    #[test]
    fn sessions_on_a_thread_see_their_own_transaction_only() {
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
        let went_on = std::thread::spawn(move || {
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
        let all = totals();
        assert_eq!((all[&BASE].inserted, all[&BASE].deleted), (1111, 2));
        drop(other);
        assert_eq!((total(BASE), total(BASE + 1)), (all[&BASE], all[&(BASE + 1)]));
        assert!(APART.get().is_none());
    }

    #[test]
    fn a_block_keeps_what_its_slots_do_not() {
        let relations = || (0..500).map(|i| BASE + 1000 + i * 8);
        let mut session = Apart::default();
        session.during(|| {
            for rows in [3, 300] {
                count_apart();
                relations().for_each(|relation| inserted(relation, rows));
                assert_eq!(rows_of(relations(), &of_transaction()), 500 * rows);
                let before = rows_of(relations(), &totals());
                settle();
                assert_eq!(rows_of(relations(), &totals()), before);
            }
        });
        assert_eq!(rows_of(relations(), &totals()), 500 * 303);
        assert_eq!(total(BASE + 1000 + 499 * 8).inserted, 303);
    }

    #[test]
    fn a_panic_leaves_the_thread_counting_for_itself() {
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
        assert_eq!(total(BASE + 5000).inserted, 1);
    }
}
