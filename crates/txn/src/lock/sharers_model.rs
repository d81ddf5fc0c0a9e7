//! The protocol of `sharers.rs` in small, under shuttle's schedules: one row, one who shares it,
//! one who shares it in the table, one who writes it, one who locks it for update, and one who writes another row of the bucket.
//! Checked: nobody shares a row that has a writer or an owner. Each [`Bug`] does one step wrong
//! and must be found.

use std::sync::Arc;

use shuttle::sync::Mutex;
use shuttle::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};
use shuttle::thread;

/// A step done wrong on purpose.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Bug {
    /// A writer does not look at the counts.
    WriterIsBlind,
    /// The sharer looks at the row before it is counted.
    LooksTooEarly,
    /// The sharer of the table looks at the row before it is in the table.
    EntersTooLate,
    /// The sharer does not look at the bucket again.
    NoSecondLook,
    /// The bucket is claimed after the counts were looked at.
    ClaimsTooLate,
    /// What is moved is not counted any more before it is in the table.
    MovedTooLate,
}

#[derive(Default)]
struct Entry {
    shared: u32,
    is_owned: bool,
}

#[derive(Default)]
struct World {
    bug: Option<Bug>,
    /// The sharer's own list.
    noted: Mutex<bool>,
    /// How many are noted.
    count: AtomicU64,
    /// Entries and claims of the bucket.
    in_table: AtomicU64,
    table: Mutex<Entry>,
    latch: AtomicBool,
    /// The row has a version whose writer runs.
    is_written: AtomicBool,
    /// How many believe that they share the row.
    sharers: AtomicU64,
}

impl World {
    fn has(&self, bug: Bug) -> bool {
        self.bug == Some(bug)
    }

    fn latched<T>(&self, f: impl FnOnce() -> T) -> T {
        while self.latch.swap(true, SeqCst) {
            thread::yield_now();
        }
        let result = f();
        self.latch.store(false, SeqCst);
        result
    }

    /// Whether the row is as it was.
    fn look(&self) -> bool {
        loop {
            while self.latch.load(SeqCst) {
                thread::yield_now();
            }
            let is_free = !self.is_written.load(SeqCst);
            if !self.latch.load(SeqCst) {
                return is_free;
            }
        }
    }

    fn share(&self) {
        let early = self.look();
        {
            let mut noted = self.noted.lock().expect("nobody panics here");
            if self.in_table.load(SeqCst) != 0 {
                return;
            }
            *noted = true;
            self.count.fetch_add(1, SeqCst);
            if !self.has(Bug::NoSecondLook) && self.in_table.load(SeqCst) != 0 {
                *noted = false;
                self.count.fetch_sub(1, SeqCst);
                return;
            }
        }
        let is_free = if self.has(Bug::LooksTooEarly) { early } else { self.look() };
        if is_free {
            self.believe();
        }
        let mut noted = self.noted.lock().expect("nobody panics here");
        if std::mem::take(&mut *noted) {
            self.count.fetch_sub(1, SeqCst);
            return;
        }
        drop(noted);
        self.leave_table();
    }

    /// Nobody has the row otherwise while a sharer believes that it shares it.
    fn believe(&self) {
        self.sharers.fetch_add(1, SeqCst);
        for _ in 0..2 {
            let is_owned = self.table.lock().expect("nobody panics here").is_owned;
            assert!(!is_owned && !self.is_written.load(SeqCst), "shared and exclusive");
            thread::yield_now();
        }
        self.sharers.fetch_sub(1, SeqCst);
    }

    fn leave_table(&self) {
        self.table.lock().expect("nobody panics here").shared -= 1;
        self.in_table.fetch_sub(1, SeqCst);
    }

    fn share_in_table(&self) {
        let early = self.look();
        {
            let mut entry = self.table.lock().expect("nobody panics here");
            if entry.is_owned {
                return;
            }
            entry.shared += 1;
            self.in_table.fetch_add(1, SeqCst);
        }
        let is_free = if self.has(Bug::EntersTooLate) { early } else { self.look() };
        if is_free {
            self.believe();
        }
        self.leave_table();
    }

    fn settle(&self) {
        if self.count.load(SeqCst) == 0 {
            return;
        }
        let mut noted = self.noted.lock().expect("nobody panics here");
        if std::mem::take(&mut *noted) {
            let late = self.has(Bug::MovedTooLate);
            if late {
                self.count.fetch_sub(1, SeqCst);
            }
            self.table.lock().expect("nobody panics here").shared += 1;
            self.in_table.fetch_add(1, SeqCst);
            if !late {
                self.count.fetch_sub(1, SeqCst);
            }
        }
    }

    fn write(&self) {
        let is_written = self.latched(|| {
            if !self.has(Bug::WriterIsBlind) {
                self.settle();
            }
            let entry = self.table.lock().expect("nobody panics here");
            let is_free = self.in_table.load(SeqCst) == 0 || entry.shared == 0 && !entry.is_owned;
            drop(entry);
            self.is_written.store(is_free, SeqCst);
            is_free
        });
        if is_written {
            assert_eq!(self.sharers.load(SeqCst), 0, "written and shared");
            thread::yield_now();
            self.latched(|| self.is_written.store(false, SeqCst));
        }
    }

    fn lock_for_update(&self) {
        let is_owned = self.latched(|| {
            if self.has(Bug::ClaimsTooLate) {
                self.settle();
            }
            self.in_table.fetch_add(1, SeqCst);
            if !self.has(Bug::ClaimsTooLate) {
                self.settle();
            }
            let mut entry = self.table.lock().expect("nobody panics here");
            entry.is_owned = entry.shared == 0 && !self.is_written.load(SeqCst);
            let is_owned = entry.is_owned;
            drop(entry);
            self.in_table.fetch_add(u64::from(is_owned), SeqCst);
            self.in_table.fetch_sub(1, SeqCst);
            is_owned
        });
        if is_owned {
            assert_eq!(self.sharers.load(SeqCst), 0, "owned and shared");
            thread::yield_now();
            self.table.lock().expect("nobody panics here").is_owned = false;
            self.in_table.fetch_sub(1, SeqCst);
        }
    }
}

fn run(bug: Option<Bug>, schedules: usize) {
    let scenario = move || {
        let world = Arc::new(World { bug, ..World::default() });
        let actors: [fn(&World); 5] = [
            World::share,
            World::share_in_table,
            World::write,
            World::lock_for_update,
            World::settle,
        ];
        let threads = actors.map(|act| {
            let world = Arc::clone(&world);
            thread::spawn(move || (0..2).for_each(|_| act(&world)))
        });
        threads.into_iter().for_each(|thread| thread.join().expect("keeps the condition"));
        assert_eq!((world.count.load(SeqCst), world.in_table.load(SeqCst)), (0, 0));
    };
    shuttle::check_random(scenario, schedules);
    // Some need few switches of threads, but at the right moments.
    shuttle::check_pct(scenario, schedules, 4);
}

#[test]
fn nobody_shares_what_another_has() {
    run(None, 5_000);
}

#[test]
fn each_step_is_needed() {
    use Bug::*;
    for bug in
        [WriterIsBlind, LooksTooEarly, EntersTooLate, NoSecondLook, ClaimsTooLate, MovedTooLate]
    {
        let found = std::panic::catch_unwind(|| run(Some(bug), 20_000));
        assert!(found.is_err(), "{bug:?} goes unnoticed");
    }
}
