//! The clock, which chooses the pages that are evicted.
//!
//! One hand moves over the resident slots. A referenced page is spared once. A clean page is
//! latched, and its slot is freed with its frame. Dirty pages are collected, written as one batch,
//! and then evicted, too. Batches keep the cost of the doublewrite's syncs per page small.

use super::latch::{self, Copied};
use super::state::{self, DIRTY, LATCHED};
use super::{EMPTY, PageGuard, Pool, writeback};
use crate::error::Result;
use crate::types::PageId;
use std::sync::atomic::Ordering;

/// The most pages evicted at a time.
const BATCH: usize = 64;

/// The position of the clock's hand.
#[derive(Default)]
pub(super) struct Clock {
    hand: usize,
}

/// The pages that one turn of the hand found.
#[derive(Default)]
struct Found<'a> {
    victims: Vec<(usize, PageGuard<'a>)>,
    dirty: Vec<(usize, PageId)>,
}

impl Pool {
    /// Evicts some pages if all slots are in use; returns the number of free slots afterwards.
    pub(super) fn make_room(&self) -> Result<usize> {
        self.keep_free(1)
    }

    /// The background writer starts when fewer slots than this are free.
    pub(crate) fn low_water(&self) -> usize {
        (self.resident.len() / 32).clamp(1, 4 * BATCH)
    }

    /// Evicts until `wanted` slots are free, or until no more pages can be evicted now.
    pub(crate) fn keep_free(&self, wanted: usize) -> Result<usize> {
        let mut clock = self.clock.lock();
        loop {
            let free = self.free_slots.lock().len();
            if free >= wanted {
                return Ok(free);
            }
            let batch = (self.resident.len() / 16).clamp(1, BATCH);
            let dirty_batch = (self.resident.len() / 4).min(writeback::BATCH);
            let found = self.turn(&mut clock, batch, dirty_batch);
            let mut freed = found.victims.len();
            self.discard(found.victims);
            if freed < batch || found.dirty.len() >= dirty_batch {
                freed += self.write_and_evict(&found.dirty)?;
            }
            if freed == 0 {
                return Ok(self.free_slots.lock().len());
            }
        }
    }

    /// Moves the hand until it has found enough pages, at most twice around.
    ///
    /// It also stops at a batch of dirty pages. If dirty pages were passed over while clean ones
    /// turn up, the few clean pages of a pool full of dirty ones would evict one another. Two pages
    /// that one operation needs at the same time (a parent and its child) could do so for ever.
    fn turn(&self, clock: &mut Clock, batch: usize, dirty_batch: usize) -> Found<'_> {
        let mut found = Found::default();
        for _ in 0..2 * self.resident.len() + 1 {
            let slot = clock.hand;
            clock.hand = (clock.hand + 1) % self.resident.len();
            let id = PageId(self.resident[slot].load(Ordering::Acquire));
            if id.0 == EMPTY {
                continue;
            }
            match latch::clock_look(self.memory.state(id)) {
                latch::Found::InUse => {}
                latch::Found::Dirty if found.dirty.contains(&(slot, id)) => {}
                latch::Found::Dirty => found.dirty.push((slot, id)),
                latch::Found::Victim(before) => {
                    found.victims.push((slot, self.guard(id, before)));
                }
            }
            if found.victims.len() >= batch || found.dirty.len() >= dirty_batch {
                break;
            }
        }
        found
    }

    /// Writes dirty pages, then evicts the ones that no thread has touched meanwhile.
    fn write_and_evict(&self, dirty: &[(usize, PageId)]) -> Result<usize> {
        let ids: Vec<PageId> = dirty.iter().map(|&(_, id)| id).collect();
        self.write_pages(&ids)?;
        let victims: Vec<_> = dirty
            .iter()
            .filter_map(|&(slot, id)| {
                let before = latch::latch_idle(self.memory.state(id))?;
                Some((slot, self.guard(id, before)))
            })
            .collect();
        let count = victims.len();
        self.discard(victims);
        Ok(count)
    }

    /// Frees the victims' slots.
    fn discard(&self, victims: Vec<(usize, PageGuard<'_>)>) {
        self.counters.evicted.fetch_add(victims.len() as u64, Ordering::Relaxed);
        crate::usage::evicted(victims.len());
        let mut slots = Vec::with_capacity(victims.len());
        for (slot, guard) in victims {
            debug_assert_eq!(guard.before & DIRTY, 0, "a dirty page is never discarded");
            let state = self.memory.state(guard.id()).load(Ordering::Relaxed);
            debug_assert_eq!(state::latch(state), LATCHED);
            self.resident[slot].store(EMPTY, Ordering::Release);
            guard.abandon();
            slots.push(slot as u32);
        }
        self.free_slots.lock().extend(slots);
    }

    /// The ids of the pages in memory that are dirty or about to become dirty.
    pub(crate) fn dirty_pages(&self) -> Vec<PageId> {
        let mut ids: Vec<PageId> = self
            .resident
            .iter()
            .map(|slot| PageId(slot.load(Ordering::Acquire)))
            .filter(|&id| id.0 != EMPTY)
            .filter(|&id| self.memory.state(id).load(Ordering::Acquire) & DIRTY != 0)
            .collect();
        ids.sort_unstable();
        ids
    }

    /// The page's dirty copy for the writer, if it is dirty and can be copied now.
    pub(super) fn copy_dirty(&self, id: PageId, target: &mut super::memory::PageBuf) -> Copied {
        latch::copy_dirty(self.memory.state(id), || self.page(id).copy_page(target))
    }

    /// Marks a page clean if its content is still what was written.
    pub(super) fn mark_clean(&self, id: PageId, version: super::Version) {
        latch::mark_clean(self.memory.state(id), version);
    }
}
