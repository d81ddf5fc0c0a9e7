//! How often relations are scanned, and what is read from and written to them: for
//! pg_stat_all_tables and its kin.
//!
//! ```text
//!   thread ── a few slots, a list; written by the thread alone ─┐
//!   thread ── a few slots, a list                               ├─ totals(): read, summed
//!   SHARDS ◄─ a slot's counts when another relation needs it,   │
//!             what is in the list when it is full              ─┤
//!   transaction block ── the same, its own until it ends       ─┘
//! ```
//!
//! To count an access to a relation that the thread has met lately is an addition to memory that
//! only the thread writes. A statement that accesses thousands of leaves in turn finds none of them
//! there: such accesses are listed, and looked up by relation once there are many, one shard's
//! together. Counts are kept by OID, for the process: it has one database. What a transaction did
//! counts though it is rolled back, as in PostgreSQL. A block counts apart from its thread
//! ([`apart`]). A table of which many rows have changed is noted for the analyzer ([`changed`]).

mod apart;
mod changed;
mod live;
mod maintenance;
mod saved;
mod trees;

pub use apart::{Apart, Unsettled, count_apart, of_transaction, settle};
pub use changed::{has_changed_tables, take_changed_tables};
pub use live::{Estimates, Mark};
pub use maintenance::{Maintenance, Rounds};
pub use saved::SavedAccesses;

pub(crate) use live::LiveRows;
pub(crate) use trees::Trees;

use std::cell::Cell;
use std::sync::atomic::{AtomicI64, AtomicU32, AtomicU64, AtomicUsize, Ordering};

use hashbrown::HashMap;
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use steppe_catalog::Catalog;
use steppe_types::Oid;

use crate::RelationStatistics;

/// Counts of a relation, besides the time of the last scan.
const COUNTERS: usize = 7;

macro_rules! counters {
    ($($(#[$doc:meta])* $name:ident,)*) => {
        /// Accesses to one relation.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
        #[serde(default)]
        pub struct Accesses {
            $($(#[$doc])* pub $name: u64,)*
            /// When it was scanned for the last time: microseconds since 2000-01-01 UTC; 0: never.
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
    /// Those of them whose keys are what they were in every index.
    hot_updated,
    /// Rows deleted.
    deleted,
}

impl Accesses {
    /// These and others.
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

    /// What has come since.
    pub fn since(&self, before: &Accesses) -> Accesses {
        let (counts, others) = (self.counts(), before.counts());
        let more = std::array::from_fn(|i| counts[i].wrapping_sub(others[i]));
        let is_newer = self.last_scan > before.last_scan;
        Accesses::of(more, if is_newer { self.last_scan } else { 0 })
    }
}

type Known = HashMap<Oid, Accesses>;

/// Relations that a thread counts without handing over.
const SLOTS: usize = 64;
const _: () = assert!(SLOTS == u64::BITS as usize);
/// Accesses to other relations that it lists before it hands them over.
const LISTED_MAX: usize = 256;
/// Of so many such accesses one gets its relation a slot: one that is accessed often has it soon.
const TURNS: usize = 16;
const SHARDS_COUNT: usize = 64;

/// Counts of one relation.
#[derive(Default)]
#[repr(align(64))]
struct Slot {
    last_scan: AtomicI64,
    counts: [AtomicU64; COUNTERS],
}

impl Slot {
    fn read(&self) -> Accesses {
        let counts = self.counts.each_ref().map(|count| count.load(Ordering::Relaxed));
        Accesses::of(counts, self.last_scan.load(Ordering::Relaxed))
    }

    fn clear(&self) {
        self.counts.iter().for_each(|count| count.store(0, Ordering::Relaxed));
        self.last_scan.store(0, Ordering::Relaxed);
    }

    /// Rows that have changed, by what is counted here.
    #[inline(always)]
    fn changes(&self) -> u64 {
        let [.., inserted, updated, _, deleted] = &self.counts;
        let changes = [inserted, updated, deleted].map(|count| count.load(Ordering::Relaxed));
        changes.into_iter().fold(0, u64::wrapping_add)
    }

    /// Counts accesses to the relation whose slot it is. Nobody else writes it.
    #[inline(always)]
    fn add(&self, relation: Oid, accesses: &Accesses) {
        let more = accesses.changes();
        if more != 0 {
            changed::note_if_many(relation, self.changes(), more);
        }
        for (count, more) in self.counts.iter().zip(accesses.counts()) {
            if more != 0 {
                let sum = count.load(Ordering::Relaxed).wrapping_add(more);
                count.store(sum, Ordering::Relaxed);
            }
        }
        if accesses.last_scan != 0 {
            self.last_scan.store(accesses.last_scan, Ordering::Relaxed);
        }
    }
}

/// Bits of a count in the list.
const LISTED_BITS: u32 = 4;
const LISTED_COUNT_MAX: u64 = (1 << LISTED_BITS) - 1;
const _: () = assert!(COUNTERS as u32 * LISTED_BITS <= u32::BITS);

/// An access in the list: to most relations there is one of a row or two.
#[derive(Default)]
struct Listed {
    relation: AtomicU32,
    /// The counts, [`LISTED_BITS`] each.
    counts: AtomicU32,
    last_scan: AtomicI64,
}

impl Listed {
    /// The counts in one number; `None`: they are too large.
    #[inline(always)]
    fn pack(accesses: &Accesses) -> Option<u32> {
        let counts = accesses.counts();
        let all = counts.iter().fold(0, |all, count| all | count);
        let packed = counts.iter().rev().fold(0, |p, count| p << LISTED_BITS | *count as u32);
        (all <= LISTED_COUNT_MAX).then_some(packed)
    }

    fn read(&self) -> (Oid, Accesses) {
        let packed = u64::from(self.counts.load(Ordering::Relaxed));
        let count = |i: usize| packed >> (i as u32 * LISTED_BITS) & LISTED_COUNT_MAX;
        let accesses =
            Accesses::of(std::array::from_fn(count), self.last_scan.load(Ordering::Relaxed));
        (self.relation.load(Ordering::Relaxed), accesses)
    }
}

struct Slots {
    /// Whose each slot is; 0: nobody's.
    relations: [AtomicU32; SLOTS],
    /// The slots that are somebody's, a bit each.
    held: AtomicU64,
    slots: [Slot; SLOTS],
    list: [Listed; LISTED_MAX],
    /// How many are listed.
    listed: AtomicUsize,
    /// Accesses to relations without a slot so far, to know whose turn it is.
    others: AtomicUsize,
    /// Held while a slot changes hands, the list is emptied or either is looked at, not to count.
    /// What a transaction block's slots hand over stays here: `None`, it goes to `SHARDS`.
    handing_over: Mutex<Option<Known>>,
}

impl Default for Slots {
    fn default() -> Slots {
        Slots {
            relations: std::array::from_fn(|_| AtomicU32::default()),
            held: AtomicU64::default(),
            slots: std::array::from_fn(|_| Slot::default()),
            list: std::array::from_fn(|_| Listed::default()),
            listed: AtomicUsize::default(),
            others: AtomicUsize::default(),
            handing_over: Mutex::default(),
        }
    }
}

impl Slots {
    /// The relation that has a slot now.
    #[inline]
    fn holder(&self, slot: usize) -> Oid {
        self.relations[slot].load(Ordering::Relaxed)
    }

    /// Counts accesses to a relation.
    #[inline(always)]
    fn count(&self, relation: Oid, accesses: &Accesses) {
        let slot = relation as usize % SLOTS;
        if self.holder(slot) == relation {
            self.slots[slot].add(relation, accesses);
        } else {
            self.add_other(slot, relation, accesses);
        }
    }

    /// Counts an access to a relation whose slot another one has.
    #[inline(never)]
    fn add_other(&self, slot: usize, relation: Oid, accesses: &Accesses) {
        let others = self.others.load(Ordering::Relaxed).wrapping_add(1);
        self.others.store(others, Ordering::Relaxed);
        let gets_slot = others.is_multiple_of(TURNS) || self.holder(slot) == 0;
        let packed = Listed::pack(accesses).filter(|_| !gets_slot);
        let Some(packed) = packed else {
            self.give(slot, relation);
            return self.slots[slot].add(relation, accesses);
        };
        let mut listed = self.listed.load(Ordering::Relaxed);
        if listed == LISTED_MAX {
            self.empty_list();
            listed = 0;
        }
        let entry = &self.list[listed];
        entry.relation.store(relation, Ordering::Relaxed);
        entry.counts.store(packed, Ordering::Relaxed);
        entry.last_scan.store(accesses.last_scan, Ordering::Relaxed);
        // A thread that sees that it is listed sees what is listed.
        self.listed.store(listed + 1, Ordering::Release);
    }

    /// Gives a slot to another relation.
    #[cold]
    fn give(&self, slot: usize, relation: Oid) {
        let mut kept = self.handing_over.lock();
        let before = self.holder(slot);
        if before != 0 {
            let counts = self.slots[slot].read();
            match &mut *kept {
                Some(kept) => kept.entry(before).or_default().add(&counts),
                None => add_known(shard(before), [(before, counts)]),
            }
        }
        self.slots[slot].clear();
        self.relations[slot].store(relation, Ordering::Relaxed);
        self.held.store(self.held.load(Ordering::Relaxed) | 1 << slot, Ordering::Relaxed);
    }

    /// Hands over what is listed.
    #[cold]
    fn empty_list(&self) {
        let mut kept = self.handing_over.lock();
        match &mut *kept {
            Some(kept) => {
                self.in_list().for_each(|(r, counts)| kept.entry(r).or_default().add(&counts))
            }
            None => self.list_to_shards(),
        }
        self.listed.store(0, Ordering::Relaxed);
    }

    /// Adds what is listed to `SHARDS`; `handing_over` is held.
    fn list_to_shards(&self) {
        let list = &self.list[..self.listed.load(Ordering::Relaxed)];
        let shard_of =
            |listed: &Listed| listed.relation.load(Ordering::Relaxed) as usize % SHARDS_COUNT;
        // Where each shard's entries end in the order of shards.
        let mut ends = [0; SHARDS_COUNT];
        list.iter().for_each(|listed| ends[shard_of(listed)] += 1);
        let mut sum = 0;
        for end in &mut ends {
            sum += *end;
            *end = sum;
        }
        let (mut in_order, mut begins) = ([0_u16; LISTED_MAX], ends);
        for (at, listed) in list.iter().enumerate() {
            let place = &mut begins[shard_of(listed)];
            *place -= 1;
            in_order[*place] = at as u16;
        }
        for (shard, (begin, end)) in begins.into_iter().zip(ends).enumerate() {
            if begin < end {
                let some = in_order[begin..end].iter();
                add_known(&SHARDS[shard], some.map(|at| list[usize::from(*at)].read()));
            }
        }
    }

    /// What is listed; `handing_over` is held.
    fn in_list(&self) -> impl Iterator<Item = (Oid, Accesses)> {
        self.list[..self.listed.load(Ordering::Acquire)].iter().map(Listed::read)
    }

    /// Adds all that is counted here.
    fn add_to(&self, all: &mut Known) {
        let kept = self.handing_over.lock();
        for (at, slot) in self.slots.iter().enumerate() {
            let relation = self.holder(at);
            if relation != 0 {
                all.entry(relation).or_default().add(&slot.read());
            }
        }
        let kept = kept.iter().flatten().map(|(relation, accesses)| (*relation, *accesses));
        for (relation, accesses) in self.in_list().chain(kept) {
            all.entry(relation).or_default().add(&accesses);
        }
    }

    /// What is counted here of one relation.
    fn of(&self, relation: Oid) -> Accesses {
        let kept = self.handing_over.lock();
        let slot = relation as usize % SLOTS;
        let has_slot = self.holder(slot) == relation;
        let mut sum = if has_slot { self.slots[slot].read() } else { Accesses::NONE };
        let listed = self.in_list().filter(|(listed, _)| *listed == relation);
        listed.for_each(|(_, accesses)| sum.add(&accesses));
        let kept = kept.as_ref().and_then(|kept| kept.get(&relation));
        kept.into_iter().for_each(|accesses| sum.add(accesses));
        sum
    }
}

type Shard = Mutex<Option<Known>>;

static SHARDS: [Shard; SHARDS_COUNT] = [const { Mutex::new(None) }; SHARDS_COUNT];
/// Relations that are forgotten.
static GONE: Mutex<Accesses> = Mutex::new(Accesses::NONE);
static THREADS: Mutex<Vec<&'static Slots>> = Mutex::new(Vec::new());
/// Slots of threads that have ended, for the next ones.
static FREE: Mutex<Vec<&'static Slots>> = Mutex::new(Vec::new());

thread_local! {
    static CURRENT: Cell<Option<&'static Slots>> = const { Cell::new(None) };
    static LEASE: Lease = const { Lease(Cell::new(None)) };
    /// What the thread does nobody has asked for.
    static AUTOMATIC: Cell<bool> = const { Cell::new(false) };
}

/// Gives a thread's slots to the next one when it ends.
struct Lease(Cell<Option<&'static Slots>>);

impl Drop for Lease {
    fn drop(&mut self) {
        CURRENT.set(None);
        FREE.lock().extend(self.0.take());
    }
}

#[cold]
fn lease() -> &'static Slots {
    let free = FREE.lock().pop();
    let slots = free.unwrap_or_else(|| {
        let slots: &'static Slots = Box::leak(Box::default());
        THREADS.lock().push(slots);
        slots
    });
    CURRENT.set(Some(slots));
    // A thread that is being taken apart keeps them.
    let _ending = LEASE.try_with(|lease| lease.0.set(Some(slots)));
    slots
}

fn shard(relation: Oid) -> &'static Shard {
    &SHARDS[relation as usize % SHARDS_COUNT]
}

fn add_known(shard: &Shard, some: impl IntoIterator<Item = (Oid, Accesses)>) {
    let mut shard = shard.lock();
    let known = shard.get_or_insert_default();
    for (relation, accesses) in some {
        let counted = known.entry(relation).or_default();
        changed::note_if_many(relation, counted.changes(), accesses.changes());
        counted.add(&accesses);
    }
}

/// Counts accesses to a relation.
#[inline(always)]
fn count(relation: Oid, accesses: Accesses) {
    CURRENT.get().unwrap_or_else(lease).count(relation, &accesses);
}

/// A relation is scanned so many times at `now`; what is found is counted apart.
#[inline]
pub fn scanned(relation: Oid, times: u64, now: i64) {
    count(relation, Accesses { scans: times, last_scan: now, ..Accesses::NONE });
}

/// A scan has found something.
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

/// A search that found a row was for nothing: it is done, and counted, again.
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

/// One relation's.
fn total(relation: Oid) -> Accesses {
    let known = shard(relation).lock();
    let mut sum =
        known.as_ref().and_then(|known| known.get(&relation).copied()).unwrap_or_default();
    drop(known);
    THREADS.lock().iter().for_each(|slots| sum.add(&slots.of(relation)));
    apart::for_each(|slots| sum.add(&slots.of(relation)));
    sum
}

/// What is counted of one relation, and how many of its rows' changes blocks under way have.
pub fn totals_of(relation: Oid) -> (Accesses, u64) {
    let [mine, others] = apart::unsettled(relation);
    (total(relation), mine.changes() + others.changes())
}

/// All relations that were accessed. (What a thread hands over in that very moment may be missed,
/// and is there the next time. Nothing is counted twice: where counts go is read before where they
/// come from.)
pub fn totals() -> HashMap<Oid, Accesses> {
    let mut all = Known::new();
    for shard in &SHARDS {
        all.extend(shard.lock().iter().flatten().map(|(oid, counts)| (*oid, *counts)));
    }
    THREADS.lock().iter().for_each(|slots| slots.add_to(&mut all));
    apart::for_each(|slots| slots.add_to(&mut all));
    all
}

/// Accesses to all relations, those included that are gone.
pub fn sum() -> Accesses {
    let mut sum = *GONE.lock();
    totals().values().for_each(|accesses| sum.add(accesses));
    sum
}

/// Does what the background analyzer does, and nobody has asked for.
pub fn automatically<T>(work: impl FnOnce() -> T) -> T {
    AUTOMATIC.set(true);
    let done = work();
    AUTOMATIC.set(false);
    done
}

impl RelationStatistics {
    /// Forgets relations that are gone.
    pub fn forget_all_but(&self, catalog: &Catalog) {
        let exists = |relation: Oid| catalog.relation(relation).is_some();
        self.forget_maintenance(|table| !exists(table));
        self.rows.forget_all_but(catalog);
        self.trees.lock().forget_all_but(catalog);
        for shard in &SHARDS {
            if let Some(counts) = &mut *shard.lock() {
                counts.retain(|relation, accesses| {
                    let stays = exists(*relation);
                    if !stays {
                        GONE.lock().add(accesses);
                    }
                    stays
                });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Not the OIDs of any other test's relations.
    const BASE: Oid = 3_000_000_000;

    #[test]
    fn all_threads_count_and_none_is_lost() {
        let threads: Vec<_> = (0..4)
            .map(|_| {
                std::thread::spawn(|| {
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
        let all = totals();
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
        assert_eq!((total(BASE + 3 * 8), total(BASE + 39 * 8)), (of(3), of(39)));
    }
}
