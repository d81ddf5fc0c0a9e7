//! A session's own counts that are not handed over yet.

use std::sync::Arc;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::Mutex;
use steppe_storage::Usage;
use steppe_storage::usage::IoTimes;

use super::counts::Timed;
use super::{Counts, Run, Statement, Statements, Temporary};

/// Statements that a session counts without handing over. A transaction of pgbench has fewer.
const SLOTS: usize = 8;

/// A slot that counts for a statement.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place {
    at: usize,
    serial: u64,
}

/// A session's slots. Only the session writes them; any thread may read them.
#[derive(Default)]
pub(crate) struct Tally {
    /// Empty before the first statement, so that an idle connection has no slots.
    slots: OnceLock<Box<Slots>>,
}

#[derive(Default)]
struct Slots {
    slots: [Slot; SLOTS],
    /// The owner of each slot. The lock is held to change or read owners, not to count.
    owners: Mutex<[Option<Arc<Statement>>; SLOTS]>,
}

/// Counts of one statement, which one session writes.
#[derive(Default)]
struct Slot {
    /// The serial of the session's object. The owner may be another object of the same statement.
    serial: AtomicU64,
    generation: AtomicU64,
    runs: TimedCells,
    plans: TimedCells,
    rows: AtomicU64,
    hit: AtomicU64,
    read: AtomicU64,
    dirtied: AtomicU64,
    written: AtomicU64,
    log_records: AtomicU64,
    log_bytes: AtomicU64,
    times: Times,
    temp_read: AtomicU64,
    temp_written: AtomicU64,
}

/// [`Timed`], whose floats are bits.
#[derive(Default)]
struct TimedCells {
    calls: AtomicU64,
    total: AtomicU64,
    min: AtomicU64,
    max: AtomicU64,
    squares: AtomicU64,
}

/// Only one thread at a time writes.
fn add(counter: &AtomicU64, amount: u64) {
    if amount > 0 {
        counter.store(counter.load(Ordering::Relaxed).wrapping_add(amount), Ordering::Relaxed);
    }
}

fn float(cell: &AtomicU64) -> f64 {
    f64::from_bits(cell.load(Ordering::Relaxed))
}

fn set_float(cell: &AtomicU64, value: f64) {
    cell.store(value.to_bits(), Ordering::Relaxed);
}

/// The times of I/O, in nanoseconds.
#[derive(Default)]
struct Times {
    read: AtomicU64,
    write: AtomicU64,
    spill_read: AtomicU64,
    spill_write: AtomicU64,
}

impl Slot {
    fn add(&self, run: &Run) {
        if run.goes_on {
            self.runs.lengthen(run.milliseconds);
        } else {
            self.runs.add(run.milliseconds);
        }
        add(&self.rows, run.rows);
        self.add_usage(run.usage);
        add(&self.temp_read, run.temp.read);
        add(&self.temp_written, run.temp.written);
    }

    fn add_usage(&self, usage: Usage) {
        let Usage { hit, read, dirtied, written, log_records, log_bytes, times } = usage;
        add(&self.hit, hit);
        add(&self.read, read);
        add(&self.dirtied, dirtied);
        add(&self.written, written);
        add(&self.log_records, log_records);
        add(&self.log_bytes, log_bytes);
        self.times.add(&times);
    }

    fn counts(&self) -> Counts {
        let value = |cell: &AtomicU64| cell.load(Ordering::Relaxed);
        Counts {
            runs: self.runs.read(),
            plans: self.plans.read(),
            rows: value(&self.rows),
            usage: Usage {
                hit: value(&self.hit),
                read: value(&self.read),
                dirtied: value(&self.dirtied),
                written: value(&self.written),
                log_records: value(&self.log_records),
                log_bytes: value(&self.log_bytes),
                times: self.times.read(),
            },
            temp: Temporary { read: value(&self.temp_read), written: value(&self.temp_written) },
            score: 0.0,
        }
    }

    /// The counts for the slot's owner; `None` if they are stale.
    fn counts_for(&self, owner: &Statement) -> Option<Counts> {
        let generation = self.generation.load(Ordering::Relaxed);
        let counts = owner.is_listed.load(Ordering::Acquire)
            && generation >= owner.born.load(Ordering::Relaxed);
        let mut shown = counts.then(|| self.counts())?;
        if generation < owner.extremes_born.load(Ordering::Relaxed) {
            shown.forget_extremes();
        }
        Some(shown)
    }

    fn clear(&self) {
        let cells = [
            &self.serial,
            &self.rows,
            &self.hit,
            &self.read,
            &self.dirtied,
            &self.written,
            &self.log_records,
            &self.log_bytes,
            &self.temp_read,
            &self.temp_written,
        ];
        let others = self.times.cells().into_iter();
        let others = others.chain(self.runs.cells()).chain(self.plans.cells());
        cells.into_iter().chain(others).for_each(|cell| cell.store(0, Ordering::Relaxed));
    }
}

impl TimedCells {
    fn cells(&self) -> [&AtomicU64; 5] {
        [&self.calls, &self.total, &self.min, &self.max, &self.squares]
    }

    /// More time for a call that was counted already.
    fn lengthen(&self, ms: f64) {
        set_float(&self.total, float(&self.total) + ms);
    }

    fn add(&self, ms: f64) {
        let calls = self.calls.load(Ordering::Relaxed);
        let total = float(&self.total);
        if calls == 0 {
            set_float(&self.min, ms);
            set_float(&self.max, ms);
        } else {
            if ms < float(&self.min) {
                set_float(&self.min, ms);
            }
            if ms > float(&self.max) {
                set_float(&self.max, ms);
            }
            // Welford: the distances from the mean before and from the mean after.
            let apart = ms - total / calls as f64;
            let apart_after = ms - (total + ms) / (calls + 1) as f64;
            set_float(&self.squares, float(&self.squares) + apart * apart_after);
        }
        set_float(&self.total, total + ms);
        self.calls.store(calls + 1, Ordering::Relaxed);
    }

    fn read(&self) -> Timed {
        let calls = self.calls.load(Ordering::Relaxed);
        let (total, squares) = (float(&self.total), float(&self.squares));
        let (min, max) = (float(&self.min), float(&self.max));
        Timed { calls, total, min, max, extremes_of: calls, squares }
    }
}

impl Times {
    fn cells(&self) -> [&AtomicU64; 4] {
        [&self.read, &self.write, &self.spill_read, &self.spill_write]
    }

    fn add(&self, times: &IoTimes) {
        // Mostly, none is timed.
        if *times == IoTimes::default() {
            return;
        }
        let IoTimes { read, write, spill_read, spill_write } = *times;
        for (cell, amount) in self.cells().into_iter().zip([read, write, spill_read, spill_write]) {
            add(cell, amount);
        }
    }

    fn read(&self) -> IoTimes {
        let [read, write, spill_read, spill_write] =
            self.cells().map(|cell| cell.load(Ordering::Relaxed));
        IoTimes { read, write, spill_read, spill_write }
    }
}

impl Slots {
    /// Adds a slot's counts to its owner, and frees the slot.
    fn release(&self, at: usize, owners: &mut [Option<Arc<Statement>>; SLOTS]) {
        let slot = &self.slots[at];
        if let Some(owner) = owners[at].take()
            && let Some(counts) = slot.counts_for(&owner)
        {
            owner.handed_over.lock().merge(&counts);
        }
        slot.clear();
    }

    #[cold]
    fn take(&self, at: usize, statements: &Statements, statement: &Arc<Statement>) {
        let mut owners = self.owners.lock();
        self.release(at, &mut owners);
        let (owner, generation) = statements.listed(statement);
        let slot = &self.slots[at];
        owners[at] = Some(owner);
        slot.generation.store(generation, Ordering::Relaxed);
        slot.serial.store(statement.serial, Ordering::Relaxed);
    }
}

impl Tally {
    /// The slot of a statement. It is valid until the session asks for another statement's. Only
    /// the session may call it.
    pub(crate) fn place(&self, statements: &Statements, statement: &Arc<Statement>) -> Place {
        let slots = self.slots.get_or_init(Box::default);
        let at = statement.serial as usize % SLOTS;
        let slot = &slots.slots[at];
        let is_ours = slot.serial.load(Ordering::Relaxed) == statement.serial
            && slot.generation.load(Ordering::Relaxed)
                == statements.generation.load(Ordering::Relaxed);
        if !is_ours {
            slots.take(at, statements, statement);
        }
        Place { at, serial: statement.serial }
    }

    /// Counts a run. Only the session may call it.
    pub(crate) fn count(&self, place: Place, run: &Run) {
        if let Some(slot) = self.slot(place) {
            slot.add(run);
        }
    }

    /// Counts the planning of a statement. Only the session may call it.
    pub(crate) fn count_planning(&self, place: Place, milliseconds: f64, usage: Usage) {
        if let Some(slot) = self.slot(place) {
            slot.plans.add(milliseconds);
            slot.add_usage(usage);
        }
    }

    /// A place that still is its statement's.
    fn slot(&self, place: Place) -> Option<&Slot> {
        let slot = &self.slots.get()?.slots[place.at];
        let is_ours = slot.serial.load(Ordering::Relaxed) == place.serial;
        debug_assert!(is_ours, "a place was kept past that of another statement");
        is_ours.then_some(slot)
    }

    /// Hands all counts over. The session calls it at its end.
    pub(crate) fn hand_over(&self) {
        let Some(slots) = self.slots.get() else { return };
        let mut owners = slots.owners.lock();
        (0..SLOTS).for_each(|at| slots.release(at, &mut owners));
    }

    /// Calls `f` with the counts that are not handed over.
    pub(super) fn for_each(&self, mut f: impl FnMut(&Statement, &Counts)) {
        let Some(slots) = self.slots.get() else { return };
        let owners = slots.owners.lock();
        for (owner, slot) in owners.iter().zip(&slots.slots) {
            if let Some(owner) = owner
                && let Some(counts) = slot.counts_for(owner)
            {
                f(owner, &counts);
            }
        }
    }
}
