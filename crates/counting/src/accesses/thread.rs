//! The database that a thread counts for, and the slots that the database gave it.
//!
//! A thread enters a database when it begins, or when it is lent to a session of another one. The
//! counts of a thread without a database are lost.

use std::cell::{Cell, RefCell};
use std::sync::Arc;

use super::apart;
use super::slots::Slots;
use crate::RelationStatistics;

/// The slots of threads without a database, which are never read.
static NOWHERE: Slots = Slots::new();

/// Slots of blocks that a thread keeps for its next ones.
const SPARE_MAX: usize = 256;

thread_local! {
    /// The slots that the thread counts in now.
    pub(super) static CURRENT: Cell<Option<&'static Slots>> = const { Cell::new(None) };
    static OWN: Own = const {
        Own { database: RefCell::new(None), slots: Cell::new(None), spare: RefCell::new(Vec::new()) }
    };
}

/// A thread's part of a database.
struct Own {
    database: RefCell<Option<Arc<RelationStatistics>>>,
    /// The slots that it counts in outside of blocks.
    slots: Cell<Option<&'static Slots>>,
    /// Slots for its next blocks: the last ones used are the first ones used again.
    spare: RefCell<Vec<&'static Slots>>,
}

impl Own {
    /// Gives the database all slots back.
    fn leave(&self) {
        apart::end_block();
        CURRENT.set(None);
        let Some(database) = self.database.take() else { return };
        self.slots.take().into_iter().for_each(|slots| database.counts.give_thread(slots));
        database.counts.give_blocks(&mut self.spare.borrow_mut());
    }
}

impl Drop for Own {
    fn drop(&mut self) {
        self.leave();
    }
}

impl RelationStatistics {
    /// The running thread works for this database from now on, until it ends or enters another one.
    pub fn enter(self: &Arc<Self>) {
        // A thread that is ending no longer counts.
        let _ending = OWN.try_with(|own| {
            let is_there = own.database.borrow().as_ref().is_some_and(|it| Arc::ptr_eq(it, self));
            if !is_there {
                own.leave();
                own.database.replace(Some(Arc::clone(self)));
            }
        });
    }

    /// The database that the running thread works for.
    pub fn entered() -> Option<Arc<RelationStatistics>> {
        OWN.try_with(|own| own.database.borrow().clone()).ok().flatten()
    }
}

/// Does something with the database that the running thread works for, if there is one.
pub(super) fn with_database(work: impl FnOnce(&RelationStatistics)) {
    let _ending = OWN.try_with(|own| own.database.borrow().as_deref().map(work));
}

/// Slots for a thread that counts for the first time.
#[cold]
pub(super) fn lease() -> &'static Slots {
    try_lease().unwrap_or(&NOWHERE)
}

fn try_lease() -> Option<&'static Slots> {
    let leased = OWN.try_with(|own| {
        let database = own.database.borrow();
        let slots = database.as_ref()?.counts.take_thread();
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

/// The same; a thread without slots gets some. `None` if it works for no database.
pub(super) fn own_or_new() -> Option<&'static Slots> {
    own().or_else(try_lease)
}

/// Slots for a block; `None` if the thread works for no database.
pub(super) fn take_spare() -> Option<&'static Slots> {
    let taken = OWN.try_with(|own| {
        let spare = own.spare.borrow_mut().pop();
        spare.or_else(|| {
            own.database.borrow().as_ref().map(|database| database.counts.take_block(database))
        })
    });
    taken.ok().flatten()
}

/// Keeps a block's slots for the next one.
pub(super) fn put_spare(slots: &'static Slots) {
    let _ending = OWN.try_with(|own| {
        let mut spare = own.spare.borrow_mut();
        if spare.len() < SPARE_MAX {
            spare.push(slots);
        } else if let Some(database) = &*own.database.borrow() {
            database.counts.give_block(slots);
        }
    });
}
