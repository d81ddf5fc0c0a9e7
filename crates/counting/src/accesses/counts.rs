//! The counts of all threads of a database.
//!
//! The database knows the slots of all its threads and blocks, including free ones: a sum reads them
//! all. The memory of slots is never freed. After a database has ended, the next one uses its slots
//! ([`POOL`]).

use std::sync::Arc;

use hashbrown::HashMap;
use parking_lot::Mutex;
use steppe_catalog::Catalog;
use steppe_types::Oid;

use super::changed::{ChangedTables, is_step};
use super::slots::{Kept, Slots};
use super::{Accesses, Known, apart};
use crate::RelationStatistics;

pub(super) const SHARDS_COUNT: usize = 64;

/// Slots that no database has, without counts.
static POOL: Mutex<Vec<&'static Slots>> = Mutex::new(Vec::new());

/// Gives slots to the next database that needs some.
pub(super) fn give_to_pool(slots: &'static Slots) {
    slots.reset();
    POOL.lock().push(slots);
}

/// The accesses to the relations of one database.
pub(crate) struct Counts {
    shards: [Mutex<Known>; SHARDS_COUNT],
    /// The counts of forgotten relations.
    pub(super) gone: Mutex<Accesses>,
    threads: Mutex<Owned>,
    blocks: Mutex<Owned>,
    pub(super) changed: ChangedTables,
}

/// The slots of a database's threads, or of its blocks.
#[derive(Default)]
struct Owned {
    all: Vec<&'static Slots>,
    /// The slots that no thread or block uses.
    free: Vec<&'static Slots>,
}

impl Owned {
    fn take(&mut self) -> &'static Slots {
        self.free.pop().unwrap_or_else(|| {
            let pooled = POOL.lock().pop();
            let slots = pooled.unwrap_or_else(|| Box::leak(Box::new(Slots::new())));
            self.all.push(slots);
            slots
        })
    }
}

impl Default for Counts {
    fn default() -> Counts {
        Counts {
            shards: std::array::from_fn(|_| Mutex::default()),
            gone: Mutex::default(),
            threads: Mutex::default(),
            blocks: Mutex::default(),
            changed: ChangedTables::default(),
        }
    }
}

impl Drop for Counts {
    /// All threads have left the database. Blocks that have not ended keep their slots.
    fn drop(&mut self) {
        let threads = std::mem::take(&mut self.threads.get_mut().all);
        let blocks = std::mem::take(&mut self.blocks.get_mut().free);
        threads.into_iter().chain(blocks).for_each(give_to_pool);
    }
}

fn shard_of(relation: Oid) -> usize {
    relation as usize % SHARDS_COUNT
}

impl Counts {
    /// Slots for a thread.
    pub(super) fn take_thread(&self) -> &'static Slots {
        self.threads.lock().take()
    }

    /// A thread has ended, or works for another database. Its counts stay where they are.
    pub(super) fn give_thread(&self, slots: &'static Slots) {
        self.threads.lock().free.push(slots);
    }

    /// Slots for a block of `database`.
    pub(super) fn take_block(&self, database: &Arc<RelationStatistics>) -> &'static Slots {
        let slots = self.blocks.lock().take();
        slots.handing_over.lock().get_or_insert_with(|| Kept {
            counts: Known::new(),
            database: Arc::downgrade(database),
        });
        slots
    }

    /// A block has ended and left no counts there.
    pub(super) fn give_block(&self, slots: &'static Slots) {
        self.blocks.lock().free.push(slots);
    }

    /// The same for several blocks.
    pub(super) fn give_blocks(&self, slots: &mut Vec<&'static Slots>) {
        self.blocks.lock().free.append(slots);
    }

    /// Calls `look` with the slots of all blocks.
    pub(super) fn for_each_block(&self, look: impl FnMut(&'static Slots)) {
        self.blocks.lock().all.iter().copied().for_each(look);
    }

    pub(super) fn add_one(&self, relation: Oid, accesses: Accesses) {
        self.add_to_shard(shard_of(relation), [(relation, accesses)]);
    }

    /// Adds counts of relations of one shard.
    pub(super) fn add_to_shard(
        &self,
        shard: usize,
        some: impl IntoIterator<Item = (Oid, Accesses)>,
    ) {
        let mut known = self.shards[shard].lock();
        for (relation, accesses) in some {
            let counted = known.entry(relation).or_default();
            if is_step(counted.changes(), accesses.changes()) {
                self.changed.note(relation);
            }
            counted.add(&accesses);
        }
    }

    /// Adds counts of any relations, shard by shard.
    pub(super) fn add(&self, all: Known) {
        let mut all: Vec<(Oid, Accesses)> = all.into_iter().collect();
        all.sort_unstable_by_key(|(relation, _)| shard_of(*relation));
        for some in all.chunk_by(|(a, _), (b, _)| shard_of(*a) == shard_of(*b)) {
            self.add_to_shard(shard_of(some[0].0), some.iter().copied());
        }
    }

    /// The counts of one relation.
    pub(super) fn total(&self, relation: Oid) -> Accesses {
        let mut sum = {
            let known = self.shards[shard_of(relation)].lock();
            known.get(&relation).copied().unwrap_or_default()
        };
        self.threads.lock().all.iter().for_each(|slots| sum.add(&slots.of(relation)));
        self.for_each_block(|slots| sum.add(&slots.of(relation)));
        sum
    }

    fn forget_all_but(&self, exists: impl Fn(Oid) -> bool) {
        for shard in &self.shards {
            shard.lock().retain(|relation, accesses| {
                let stays = exists(*relation);
                if !stays {
                    self.gone.lock().add(accesses);
                }
                stays
            });
        }
    }
}

impl RelationStatistics {
    /// The counts of one relation, and the changes of its rows that running blocks have counted.
    pub fn totals_of(&self, relation: Oid) -> (Accesses, u64) {
        let [mine, others] = apart::unsettled(&self.counts, relation);
        (self.counts.total(relation), mine.changes() + others.changes())
    }

    /// All relations that were accessed. (Counts that a thread hands over at that moment may be
    /// missed, and appear the next time. A count is read at most once: shards are read before the
    /// threads' slots, and these before the blocks'.)
    pub fn totals(&self) -> HashMap<Oid, Accesses> {
        let mut all = Known::new();
        for shard in &self.counts.shards {
            all.extend(shard.lock().iter().map(|(oid, counts)| (*oid, *counts)));
        }
        self.counts.threads.lock().all.iter().for_each(|slots| slots.add_to(&mut all));
        self.counts.for_each_block(|slots| slots.add_to(&mut all));
        all
    }

    /// Accesses to all relations, including dropped ones.
    pub fn sum(&self) -> Accesses {
        let mut sum = *self.counts.gone.lock();
        self.totals().values().for_each(|accesses| sum.add(accesses));
        sum
    }

    /// Forgets dropped relations.
    pub fn forget_all_but(&self, catalog: &Catalog) {
        let exists = |relation: Oid| catalog.relation(relation).is_some();
        self.forget_maintenance(|table| !exists(table));
        self.rows.forget_all_but(catalog);
        self.trees.lock().forget_all_but(catalog);
        self.counts.forget_all_but(exists);
    }
}
