//! The thread that looks at awaited waits when their time has come: for deadlocks
//! after `deadlock_timeout`, and for `lock_timeout`.
//!
//! Nearly all waits end long before. So a wait that begins does not wake the
//! monitor (unless its time comes first), and one that has ended is dropped when
//! the monitor wakes for whichever is then the oldest: about one wake-up in
//! `deadlock_timeout`, however many waits there are.

use std::collections::BinaryHeap;
use std::sync::{Arc, Weak};
use std::time::Instant;

use parking_lot::{Condvar, Mutex};

use super::manager::LockManager;
use super::wait::{Waiter, lock_timeout_error};

/// What the monitor does when a time has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Watch {
    Deadlock,
    LockTimeout,
}

struct Alarm {
    at: Instant,
    waiter: Weak<Waiter>,
    watch: Watch,
}

impl Alarm {
    /// The wait it is for, while it lasts.
    fn waiter(&self) -> Option<Arc<Waiter>> {
        self.waiter.upgrade().filter(|waiter| waiter.is_waiting())
    }
}

impl PartialEq for Alarm {
    fn eq(&self, other: &Alarm) -> bool {
        self.at == other.at
    }
}
impl Eq for Alarm {}
impl PartialOrd for Alarm {
    fn partial_cmp(&self, other: &Alarm) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}
impl Ord for Alarm {
    /// The earliest is the greatest: `BinaryHeap` pops the greatest.
    fn cmp(&self, other: &Alarm) -> std::cmp::Ordering {
        other.at.cmp(&self.at)
    }
}

/// Alarms that are kept without asking whether their waits have ended.
const ALARMS_MIN: usize = 1024;

#[derive(Default)]
struct State {
    alarms: BinaryHeap<Alarm>,
    /// At so many alarms those of ended waits are dropped.
    crowded_at: usize,
    running: bool,
}

impl State {
    fn add(&mut self, alarm: Alarm) {
        if self.alarms.len() >= self.crowded_at {
            self.alarms.retain(|alarm| alarm.waiter().is_some());
            self.crowded_at = ALARMS_MIN.max(self.alarms.len() * 2);
        }
        self.alarms.push(alarm);
    }

    /// When the next wait that lasts is to be looked at.
    fn next_at(&mut self) -> Option<Instant> {
        while let Some(alarm) = self.alarms.peek() {
            if alarm.waiter().is_some() {
                return Some(alarm.at);
            }
            self.alarms.pop();
        }
        None
    }
}

/// What the monitor's thread shares with those that wait.
#[derive(Default)]
pub(super) struct Monitor {
    shared: Arc<(Mutex<State>, Condvar)>,
}

impl Monitor {
    /// Has `waiter` looked at when `at` has come, unless its wait has ended by then.
    pub(super) fn watch(
        &self,
        manager: &Arc<LockManager>,
        at: Instant,
        waiter: Weak<Waiter>,
        watch: Watch,
    ) {
        let mut state = self.shared.0.lock();
        let is_next = state.alarms.peek().is_none_or(|next| at < next.at);
        state.add(Alarm { at, waiter, watch });
        if state.running {
            if is_next {
                self.shared.1.notify_one();
            }
            return;
        }
        state.running = true;
        let (shared, manager) = (Arc::clone(&self.shared), Arc::downgrade(manager));
        let spawned = std::thread::Builder::new()
            .name("steppe-lock-monitor".into())
            .spawn(move || run(&shared, &manager));
        if spawned.is_err() {
            // Tried again with the next wait; until then waits have no deadlines.
            state.running = false;
        }
    }
}

fn run(shared: &(Mutex<State>, Condvar), manager: &Weak<LockManager>) {
    loop {
        let mut state = shared.0.lock();
        let Some(at) = state.next_at() else {
            // Nothing to watch: the next awaited wait starts a new thread.
            state.running = false;
            return;
        };
        if Instant::now() < at {
            let _timed_out = shared.1.wait_until(&mut state, at);
            continue;
        }
        let alarm = state.alarms.pop();
        drop(state);
        let Some(alarm) = alarm else { continue };
        let (Some(manager), Some(waiter)) = (manager.upgrade(), alarm.waiter()) else {
            continue;
        };
        match alarm.watch {
            Watch::Deadlock => manager.check_deadlock(&waiter),
            Watch::LockTimeout => manager.fail_waiter(&waiter, lock_timeout_error()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::LockTag;
    use super::super::wait::WaitState;
    use super::*;
    use crate::files::DatabaseId;
    use std::time::Duration;

    fn waiter(pid: u32) -> Arc<Waiter> {
        Arc::new(Waiter::new((pid, DatabaseId::POSTGRES), LockTag::Row(1, 1), 1, true))
    }

    #[test]
    fn ended_waits_are_forgotten_and_do_not_gather() {
        let mut state = State::default();
        let start = Instant::now();
        let lasting = waiter(1);
        for n in 0..100_000 {
            let short = waiter(2);
            let watched = if n == 70_000 { &lasting } else { &short };
            let at = start + Duration::from_micros(n);
            state.add(Alarm { at, waiter: Arc::downgrade(watched), watch: Watch::Deadlock });
            short.finish(WaitState::Granted);
            assert!(state.alarms.len() <= ALARMS_MIN + 1);
        }
        assert_eq!(state.next_at(), Some(start + Duration::from_micros(70_000)));
        lasting.finish(WaitState::Granted);
        assert_eq!(state.next_at(), None);
        assert!(state.alarms.is_empty());
    }
}
