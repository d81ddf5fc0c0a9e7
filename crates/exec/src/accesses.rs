//! How often relations are scanned, and what is read from and written to them: for
//! pg_stat_all_tables and its kin.
//!
//! ```text
//!   thread ── a few slots, written by the thread alone ──────┐
//!   thread ── a few slots                                    ├─ totals(): read, summed
//!   SHARDS ◄─ a slot's counts when another relation needs it ┘
//! ```
//!
//! To count an access to a relation that the thread has met lately is an addition to memory that
//! only the thread writes. Counts are kept by OID, for the process: it has one database. What a
//! transaction did counts though it is rolled back, as in PostgreSQL.

use std::cell::Cell;
use std::sync::atomic::{AtomicI64, AtomicU32, AtomicU64, Ordering};

use hashbrown::HashMap;
use parking_lot::Mutex;
use steppe_types::Oid;

macro_rules! counters {
    ($($(#[$doc:meta])* $name:ident,)*) => {
        /// Accesses to one relation.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        pub struct Accesses {
            $($(#[$doc])* pub $name: u64,)*
            /// When it was scanned for the last time: microseconds since 2000-01-01 UTC; 0: never.
            pub last_scan: i64,
        }

        #[derive(Default)]
        #[repr(align(64))]
        struct Slot {
            relation: AtomicU32,
            last_scan: AtomicI64,
            $($name: AtomicU64,)*
        }

        impl Slot {
            fn read(&self) -> Accesses {
                Accesses {
                    $($name: self.$name.load(Ordering::Relaxed),)*
                    last_scan: self.last_scan.load(Ordering::Relaxed),
                }
            }

            fn clear(&self) {
                $(self.$name.store(0, Ordering::Relaxed);)*
                self.last_scan.store(0, Ordering::Relaxed);
            }
        }

        impl Accesses {
            const NONE: Accesses = Accesses { $($name: 0,)* last_scan: 0 };

            /// These and others.
            pub fn add(&mut self, other: &Accesses) {
                $(self.$name = self.$name.wrapping_add(other.$name);)*
                self.last_scan = self.last_scan.max(other.last_scan);
            }

            /// What has come since.
            pub fn since(&self, before: &Accesses) -> Accesses {
                let last = self.last_scan;
                Accesses {
                    $($name: self.$name.wrapping_sub(before.$name),)*
                    last_scan: if last > before.last_scan { last } else { 0 },
                }
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

/// Relations that a thread counts without handing over.
const SLOTS: usize = 16;
const SHARDS_COUNT: usize = 64;

#[derive(Default)]
struct Slots {
    slots: [Slot; SLOTS],
    /// Held while a slot changes hands or is looked at, not to count.
    handing_over: Mutex<()>,
}

type Shard = Mutex<Option<HashMap<Oid, Accesses>>>;

static SHARDS: [Shard; SHARDS_COUNT] = [const { Mutex::new(None) }; SHARDS_COUNT];
/// Relations that are forgotten.
static GONE: Mutex<Accesses> = Mutex::new(Accesses::NONE);
static THREADS: Mutex<Vec<&'static Slots>> = Mutex::new(Vec::new());
/// Slots of threads that have ended, for the next ones.
static FREE: Mutex<Vec<&'static Slots>> = Mutex::new(Vec::new());

thread_local! {
    static CURRENT: Cell<Option<&'static Slots>> = const { Cell::new(None) };
    static LEASE: Lease = const { Lease(Cell::new(None)) };
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

#[cold]
fn take(slots: &Slots, slot: &Slot, relation: Oid) {
    let _held = slots.handing_over.lock();
    let before = slot.relation.load(Ordering::Relaxed);
    if before != 0 {
        let mut shard = shard(before).lock();
        shard.get_or_insert_default().entry(before).or_default().add(&slot.read());
    }
    slot.clear();
    slot.relation.store(relation, Ordering::Relaxed);
}

#[inline]
fn slot(relation: Oid) -> &'static Slot {
    let slots = CURRENT.get().unwrap_or_else(lease);
    let slot = &slots.slots[relation as usize % SLOTS];
    if slot.relation.load(Ordering::Relaxed) != relation {
        take(slots, slot, relation);
    }
    slot
}

/// Nobody else writes it.
#[inline]
fn add(counter: &AtomicU64, amount: u64) {
    counter.store(counter.load(Ordering::Relaxed).wrapping_add(amount), Ordering::Relaxed);
}

/// A relation is scanned so many times at `now`; what is found is counted apart.
#[inline]
pub(crate) fn scanned(relation: Oid, times: u64, now: i64) {
    let slot = slot(relation);
    add(&slot.scans, times);
    slot.last_scan.store(now, Ordering::Relaxed);
}

/// A scan has found something.
#[inline]
pub(crate) fn found(relation: Oid, returned: u64, fetched: u64) {
    let slot = slot(relation);
    add(&slot.returned, returned);
    add(&slot.fetched, fetched);
}

/// Rows are inserted.
#[inline]
pub(crate) fn inserted(table: Oid, rows: u64) {
    add(&slot(table).inserted, rows);
}

/// A row is updated.
#[inline]
pub(crate) fn updated(table: Oid, key_changed: bool) {
    let slot = slot(table);
    add(&slot.updated, 1);
    if !key_changed {
        add(&slot.hot_updated, 1);
    }
}

/// A row is deleted.
#[inline]
pub(crate) fn deleted(table: Oid) {
    add(&slot(table).deleted, 1);
}

/// One relation's.
fn total(relation: Oid) -> Accesses {
    let known = shard(relation).lock();
    let mut sum =
        known.as_ref().and_then(|known| known.get(&relation).copied()).unwrap_or_default();
    drop(known);
    for slots in &*THREADS.lock() {
        let _held = slots.handing_over.lock();
        let slot = &slots.slots[relation as usize % SLOTS];
        if slot.relation.load(Ordering::Relaxed) == relation {
            sum.add(&slot.read());
        }
    }
    sum
}

/// All relations that were accessed. (A slot that changes hands in that very moment may be missed,
/// and is there the next time.)
pub fn totals() -> HashMap<Oid, Accesses> {
    let mut all: HashMap<Oid, Accesses> = HashMap::new();
    for shard in &SHARDS {
        all.extend(shard.lock().iter().flatten().map(|(oid, counts)| (*oid, *counts)));
    }
    for slots in &*THREADS.lock() {
        let _held = slots.handing_over.lock();
        for slot in &slots.slots {
            let relation = slot.relation.load(Ordering::Relaxed);
            if relation != 0 {
                all.entry(relation).or_default().add(&slot.read());
            }
        }
    }
    all
}

/// Accesses to all relations, those included that are gone.
pub fn sum() -> Accesses {
    let mut sum = *GONE.lock();
    totals().values().for_each(|accesses| sum.add(accesses));
    sum
}

/// What VACUUM and ANALYZE have done to a table.
#[derive(Clone, Copy, Debug, Default)]
pub struct Maintenance {
    /// How often, when for the last time, and for how long in all.
    pub vacuumed: Rounds,
    /// The same of ANALYZE.
    pub analyzed: Rounds,
    /// The table's counts when it was vacuumed, and when it was analyzed.
    pub at_vacuum: Accesses,
    /// Likewise.
    pub at_analyze: Accesses,
    /// Rows that ANALYZE found.
    pub rows: f64,
}

/// Rounds of one kind.
#[derive(Clone, Copy, Debug, Default)]
pub struct Rounds {
    /// How many.
    pub count: u64,
    /// When the last one ended: microseconds since 2000-01-01 UTC.
    pub last: i64,
    /// What they took.
    pub microseconds: i64,
}

impl Rounds {
    fn add(&mut self, begun: i64, ended: i64) {
        self.count += 1;
        self.last = ended;
        self.microseconds += ended - begun;
    }
}

static MAINTENANCE: Mutex<Option<HashMap<Oid, Maintenance>>> = Mutex::new(None);

fn maintain(table: Oid, note: impl FnOnce(&mut Maintenance, Accesses)) {
    let now = total(table);
    note(MAINTENANCE.lock().get_or_insert_default().entry(table).or_default(), now);
}

/// A table has been vacuumed.
pub(crate) fn vacuumed(table: Oid, begun: i64, ended: i64) {
    maintain(table, |maintenance, now| {
        maintenance.vacuumed.add(begun, ended);
        maintenance.at_vacuum = now;
    });
}

/// A table has been analyzed.
pub(crate) fn analyzed(table: Oid, rows: f64, begun: i64, ended: i64) {
    maintain(table, |maintenance, now| {
        maintenance.analyzed.add(begun, ended);
        maintenance.at_analyze = now;
        maintenance.rows = rows;
    });
}

/// What was done to tables.
pub fn maintenance() -> HashMap<Oid, Maintenance> {
    MAINTENANCE.lock().clone().unwrap_or_default()
}

/// Forgets what was done to tables.
pub fn forget_maintenance(of: impl Fn(Oid) -> bool) {
    if let Some(maintenance) = &mut *MAINTENANCE.lock() {
        maintenance.retain(|table, _| !of(*table));
    }
}

/// Forgets relations that are gone.
pub fn forget_all_but(exists: impl Fn(Oid) -> bool) {
    if let Some(maintenance) = &mut *MAINTENANCE.lock() {
        maintenance.retain(|table, _| exists(*table));
    }
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
                        // More relations than slots.
                        let relation = BASE + i % 40;
                        scanned(relation, 1, 7);
                        found(relation, 2, 1);
                        inserted(relation, 3);
                        updated(relation, i % 2 == 0);
                        deleted(relation);
                    }
                })
            })
            .collect();
        threads.into_iter().for_each(|thread| thread.join().expect("it only counts"));
        let all = totals();
        let of = |i: Oid| all[&(BASE + i)];
        let mut sum = Accesses::default();
        (0..40).for_each(|i| sum.add(&of(i)));
        let expected = Accesses {
            scans: 4000,
            returned: 8000,
            fetched: 4000,
            inserted: 12_000,
            updated: 4000,
            hot_updated: 2000,
            deleted: 4000,
            last_scan: 7,
        };
        assert_eq!(sum, expected);
        assert_eq!(of(3).since(&of(3)), Accesses::default());
    }
}
