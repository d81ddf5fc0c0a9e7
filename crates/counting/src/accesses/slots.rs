//! The memory that one thread, or one transaction block, counts in: slots of the relations that it
//! has accessed lately, and a list of other accesses.
//!
//! Only the thread that counts writes it. When a slot gets another relation, or the list is full,
//! their counts are handed over: a thread's to its database's counts, a block's to a map that stays
//! with the block.

use std::sync::Weak;
use std::sync::atomic::{AtomicI64, AtomicU32, AtomicU64, AtomicUsize, Ordering};

use parking_lot::Mutex;
use steppe_types::Oid;

use super::counts::{self, Counts, SHARDS_COUNT};
use super::{Accesses, COUNTERS, Known, changed, thread};
use crate::RelationStatistics;

/// Relations that a thread counts without handing counts over.
const SLOTS: usize = 64;
const _: () = assert!(SLOTS == u64::BITS as usize);
/// Accesses to other relations that it lists before it hands them over.
const LISTED_MAX: usize = 256;
/// One of this many such accesses gives its relation a slot, so that a frequently accessed relation
/// soon has one.
const TURNS: usize = 16;

/// Counts of one relation.
#[repr(align(64))]
struct Slot {
    last_scan: AtomicI64,
    counts: [AtomicU64; COUNTERS],
}

impl Slot {
    const fn new() -> Slot {
        Slot { last_scan: AtomicI64::new(0), counts: [const { AtomicU64::new(0) }; COUNTERS] }
    }

    fn read(&self) -> Accesses {
        let counts = self.counts.each_ref().map(|count| count.load(Ordering::Relaxed));
        Accesses::of(counts, self.last_scan.load(Ordering::Relaxed))
    }

    fn clear(&self) {
        self.counts.iter().for_each(|count| count.store(0, Ordering::Relaxed));
        self.last_scan.store(0, Ordering::Relaxed);
    }

    /// The changes of rows that are counted here.
    #[inline(always)]
    fn changes(&self) -> u64 {
        let [.., inserted, updated, _, deleted] = &self.counts;
        let changes = [inserted, updated, deleted].map(|count| count.load(Ordering::Relaxed));
        changes.into_iter().fold(0, u64::wrapping_add)
    }

    /// Counts accesses to the relation whose slot it is. The counting thread alone writes it.
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

/// An access in the list. Most listed relations are accessed once, for a row or two.
struct Listed {
    relation: AtomicU32,
    /// The counts, [`LISTED_BITS`] each.
    counts: AtomicU32,
    last_scan: AtomicI64,
}

impl Listed {
    const fn new() -> Listed {
        Listed {
            relation: AtomicU32::new(0),
            counts: AtomicU32::new(0),
            last_scan: AtomicI64::new(0),
        }
    }

    /// The counts in one number; `None` if they are too large.
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

/// The counts that a transaction block's slots hand over. They stay with the slots until the block
/// ends.
pub(super) struct Kept {
    pub(super) counts: Known,
    /// The database whose relations are counted.
    pub(super) database: Weak<RelationStatistics>,
}

/// Memory of a thread, or of a transaction block, to count in.
pub(super) struct Slots {
    /// The relation of each slot; 0 if the slot is free.
    relations: [AtomicU32; SLOTS],
    /// The slots in use, a bit each.
    held: AtomicU64,
    slots: [Slot; SLOTS],
    list: [Listed; LISTED_MAX],
    /// The number of listed accesses.
    listed: AtomicUsize,
    /// The number of accesses to relations without a slot, for [`TURNS`].
    others: AtomicUsize,
    /// Held while a slot gets another relation, the list is emptied or either is read, but not for
    /// counting. `None`: counts are handed over to the database of the running thread.
    pub(super) handing_over: Mutex<Option<Kept>>,
}

impl Slots {
    pub(super) const fn new() -> Slots {
        Slots {
            relations: [const { AtomicU32::new(0) }; SLOTS],
            held: AtomicU64::new(0),
            slots: [const { Slot::new() }; SLOTS],
            list: [const { Listed::new() }; LISTED_MAX],
            listed: AtomicUsize::new(0),
            others: AtomicUsize::new(0),
            handing_over: Mutex::new(None),
        }
    }

    /// The relation that has a slot now.
    #[inline]
    fn holder(&self, slot: usize) -> Oid {
        self.relations[slot].load(Ordering::Relaxed)
    }

    /// Counts accesses to a relation.
    #[inline(always)]
    pub(super) fn count(&self, relation: Oid, accesses: &Accesses) {
        let slot = relation as usize % SLOTS;
        if self.holder(slot) == relation {
            self.slots[slot].add(relation, accesses);
        } else {
            self.add_other(slot, relation, accesses);
        }
    }

    /// Counts an access to a relation if another one has its slot.
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
        // A reader that sees the new number sees the entry, too.
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
                Some(kept) => kept.counts.entry(before).or_default().add(&counts),
                None => thread::with_database(|database| database.counts.add_one(before, counts)),
            }
        }
        self.slots[slot].clear();
        self.relations[slot].store(relation, Ordering::Relaxed);
        self.held.store(self.held.load(Ordering::Relaxed) | 1 << slot, Ordering::Relaxed);
    }

    /// Hands over the listed accesses.
    #[cold]
    fn empty_list(&self) {
        let mut kept = self.handing_over.lock();
        match &mut *kept {
            Some(kept) => self.in_list().for_each(|(relation, counts)| {
                kept.counts.entry(relation).or_default().add(&counts);
            }),
            None => thread::with_database(|database| self.list_to(&database.counts)),
        }
        self.listed.store(0, Ordering::Relaxed);
    }

    /// Adds the listed accesses to a database's counts; the caller holds `handing_over`.
    fn list_to(&self, counts: &Counts) {
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
                counts.add_to_shard(shard, some.map(|at| list[usize::from(*at)].read()));
            }
        }
    }

    /// The listed accesses; the caller holds `handing_over`.
    pub(super) fn in_list(&self) -> impl Iterator<Item = (Oid, Accesses)> {
        self.list[..self.listed.load(Ordering::Acquire)].iter().map(Listed::read)
    }

    /// Adds all that is counted here.
    pub(super) fn add_to(&self, all: &mut Known) {
        self.collect(self.handing_over.lock().as_ref(), all);
    }

    /// The same; the caller holds the lock of `kept`.
    fn collect(&self, kept: Option<&Kept>, all: &mut Known) {
        for (at, slot) in self.slots.iter().enumerate() {
            let relation = self.holder(at);
            if relation != 0 {
                all.entry(relation).or_default().add(&slot.read());
            }
        }
        let kept = kept.iter().flat_map(|kept| &kept.counts);
        let kept = kept.map(|(relation, accesses)| (*relation, *accesses));
        for (relation, accesses) in self.in_list().chain(kept) {
            all.entry(relation).or_default().add(&accesses);
        }
    }

    /// The counts of one relation here.
    pub(super) fn of(&self, relation: Oid) -> Accesses {
        let kept = self.handing_over.lock();
        let slot = relation as usize % SLOTS;
        let has_slot = self.holder(slot) == relation;
        let mut sum = if has_slot { self.slots[slot].read() } else { Accesses::NONE };
        let listed = self.in_list().filter(|(listed, _)| *listed == relation);
        listed.for_each(|(_, accesses)| sum.add(&accesses));
        let kept = kept.as_ref().and_then(|kept| kept.counts.get(&relation));
        kept.into_iter().for_each(|accesses| sum.add(accesses));
        sum
    }

    /// Adds a block's counts to the running thread's own, and frees the slots of relations that
    /// were not counted this time. Returns counts of relations that are too many for slots.
    pub(super) fn settle_to(&self, own: &Slots) -> Known {
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
        let rest = kept.as_mut().map(|kept| &mut kept.counts).filter(|rest| !rest.is_empty());
        rest.map(std::mem::take).unwrap_or_default()
    }

    /// Adds a block's counts to its database's, on any thread, and gives the memory back.
    pub(super) fn end(&'static self) {
        let mut kept = self.handing_over.lock();
        let database = kept.as_ref().and_then(|kept| kept.database.upgrade());
        if let Some(database) = &database {
            let mut all = Known::new();
            self.collect(kept.as_ref(), &mut all);
            database.counts.add(all);
        }
        self.clear(&mut kept);
        drop(kept);
        match database {
            Some(database) => database.counts.give_block(self),
            None => counts::give_to_pool(self),
        }
    }

    /// Forgets all counts, and the relations that have slots.
    fn clear(&self, kept: &mut Option<Kept>) {
        self.relations.iter().for_each(|relation| relation.store(0, Ordering::Relaxed));
        self.held.store(0, Ordering::Relaxed);
        self.slots.iter().for_each(Slot::clear);
        self.listed.store(0, Ordering::Relaxed);
        kept.iter_mut().for_each(|kept| kept.counts.clear());
    }

    /// Makes the slots as new.
    pub(super) fn reset(&self) {
        let mut kept = self.handing_over.lock();
        self.clear(&mut kept);
        *kept = None;
    }
}
