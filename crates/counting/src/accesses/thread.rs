//! The engine that a thread counts for, and the slots that the engine gave it.
//!
//! A thread enters an engine when it begins, or when it is lent to a session of another one. The
//! counts of a thread without an engine are lost.

use std::cell::{Cell, RefCell};
use std::sync::Arc;

use super::apart;
use super::slots::Slots;
use crate::RelationStatistics;

/// The slots of threads without an engine, which are never read.
static NOWHERE: Slots = Slots::new();

/// Slots of blocks that a thread keeps for its next ones.
const SPARE_MAX: usize = 256;

thread_local! {
    /// The slots that the thread counts in now.
    pub(super) static CURRENT: Cell<Option<&'static Slots>> = const { Cell::new(None) };
    static OWN: Own = const {
        Own { engine: RefCell::new(None), slots: Cell::new(None), spare: RefCell::new(Vec::new()) }
    };
}

/// A thread's part of an engine.
struct Own {
    engine: RefCell<Option<Arc<RelationStatistics>>>,
    /// The slots that it counts in outside of blocks.
    slots: Cell<Option<&'static Slots>>,
    /// Slots for its next blocks: the last ones used are the first ones used again.
    spare: RefCell<Vec<&'static Slots>>,
}

impl Own {
    /// Gives the engine all slots back.
    fn leave(&self) {
        apart::end_block();
        CURRENT.set(None);
        let Some(engine) = self.engine.take() else { return };
        self.slots.take().into_iter().for_each(|slots| engine.counts.give_thread(slots));
        engine.counts.give_blocks(&mut self.spare.borrow_mut());
    }
}

impl Drop for Own {
    fn drop(&mut self) {
        self.leave();
    }
}

impl RelationStatistics {
    /// The running thread works for this engine from now on, until it ends or enters another one.
    pub fn enter(self: &Arc<Self>) {
        // A thread that is ending no longer counts.
        let _ending = OWN.try_with(|own| {
            let is_there = own.engine.borrow().as_ref().is_some_and(|it| Arc::ptr_eq(it, self));
            if !is_there {
                own.leave();
                own.engine.replace(Some(Arc::clone(self)));
            }
        });
    }

    /// The engine that the running thread works for.
    pub fn entered() -> Option<Arc<RelationStatistics>> {
        OWN.try_with(|own| own.engine.borrow().clone()).ok().flatten()
    }
}

/// Does something with the engine that the running thread works for, if there is one.
pub(super) fn with_engine(work: impl FnOnce(&RelationStatistics)) {
    let _ending = OWN.try_with(|own| own.engine.borrow().as_deref().map(work));
}

/// Slots for a thread that counts for the first time.
#[cold]
pub(super) fn lease() -> &'static Slots {
    try_lease().unwrap_or(&NOWHERE)
}

fn try_lease() -> Option<&'static Slots> {
    let leased = OWN.try_with(|own| {
        let engine = own.engine.borrow();
        let slots = engine.as_ref()?.counts.take_thread();
        own.slots.set(Some(slots));
        CURRENT.set(Some(slots));
        Some(slots)
    });
    leased.ok().flatten()
}

/// The running thread's own slots, where it counts outside of blocks.
pub(super) fn own() -> Option<&'static Slots> {
    OWN.try_with(|own| own.slots.get()).ok().flatten()
}

/// The same; a thread without slots gets some. `None` if it works for no engine.
pub(super) fn own_or_new() -> Option<&'static Slots> {
    own().or_else(try_lease)
}

/// Slots for a block; `None` if the thread works for no engine.
pub(super) fn take_spare() -> Option<&'static Slots> {
    let taken = OWN.try_with(|own| {
        let spare = own.spare.borrow_mut().pop();
        spare
            .or_else(|| own.engine.borrow().as_ref().map(|engine| engine.counts.take_block(engine)))
    });
    taken.ok().flatten()
}

/// Keeps a block's slots for the next one.
pub(super) fn put_spare(slots: &'static Slots) {
    let _ending = OWN.try_with(|own| {
        let mut spare = own.spare.borrow_mut();
        if spare.len() < SPARE_MAX {
            spare.push(slots);
        } else if let Some(engine) = &*own.engine.borrow() {
            engine.counts.give_block(slots);
        }
    });
}
