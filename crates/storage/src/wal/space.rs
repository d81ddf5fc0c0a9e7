//! Disk space ahead of the log, so that a full disk fails a statement and not the server.
//!
//! ```text
//!   insert position        normal limit                                capacity end
//!        │                      │                                            │
//!   ─────┼──────────────────────┼──────────────────┬─────────────────────────┤
//!        │  normal appends      │ pledged: what it │ reserve: whatever else  │
//!        │                      │ takes to undo    │ must succeed            │
//! ```
//!
//! A transaction *pledges* the log space that undoing its changes would take, before it makes them
//! ([`super::Wal::pledge`]). So a full disk refuses new work while enough space is left for the
//! rollback, regardless of its size. The reserve is for other records that must succeed: page
//! splits in a rollback, freeing of trees, new bitmap pages.
//!
//! Segments exist, filled with zeros and synced, before the log reaches them: a background thread
//! keeps one whole segment between the insert position and the normal limit. If it cannot (ENOSPC),
//! a normal append fails before it reserves anything, and each such failure makes the thread try
//! once more. An append that must succeed may use the reserve, so that open transactions can still
//! end. The check is made before the reservation, not with it. Threads that pass it together can
//! exceed the limit by a record each, which the reserve (and for its end the margin) absorbs.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use parking_lot::{Condvar, Mutex};

use super::core::Core;
use super::{Lsn, WalError};

/// The delay between a failed attempt and the next one if no append needs it.
const RETRY_DELAY: Duration = Duration::from_secs(1);

/// Whether an append may be refused for lack of disk space.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Priority {
    /// The append may be refused: it is new work.
    #[default]
    Normal,
    /// The append ends or undoes existing work, and may use the reserve.
    MustSucceed,
}

#[derive(Debug, Default)]
struct State {
    /// The numbers of requested and completed attempts.
    asked: u64,
    done: u64,
    /// The reason why the last attempt failed, if it did.
    failure: Option<Arc<str>>,
    stop: bool,
}

/// The state shared by appenders and the thread that creates segments.
#[derive(Debug, Default)]
pub(super) struct SpaceMaker {
    state: Mutex<State>,
    to_maker: Condvar,
    to_waiters: Condvar,
    /// Set while an attempt is requested or running, so that appenders request it once.
    busy: AtomicBool,
}

impl SpaceMaker {
    pub(super) fn stop(&self) {
        self.state.lock().stop = true;
        self.to_maker.notify_all();
        self.to_waiters.notify_all();
    }

    /// Requests more space without waiting.
    fn ask(&self) {
        if !self.busy.swap(true, Ordering::AcqRel) {
            self.state.lock().asked += 1;
            self.to_maker.notify_one();
        }
    }

    /// Requests an attempt that starts from now on; returns its number.
    fn ask_urgently(&self, state: &mut State) -> u64 {
        state.asked += 1;
        self.to_maker.notify_one();
        state.asked
    }
}

impl Core {
    /// The last position where an append of this priority may end.
    fn limit(&self, priority: Priority) -> Lsn {
        let capacity_end = self.segments.capacity_end().0;
        let kept_back = match priority {
            Priority::Normal => self.reserve_bytes() + self.pledged(),
            Priority::MustSucceed => self.margin_bytes(),
        };
        Lsn(capacity_end.saturating_sub(kept_back))
    }

    fn pledged(&self) -> u64 {
        self.pledged.load(Ordering::Acquire)
    }

    /// Reserves `bytes` more of the space for appends that must succeed.
    pub(super) fn pledge(&self, bytes: u64) -> Result<(), WalError> {
        self.pledged.fetch_add(bytes, Ordering::AcqRel);
        self.ensure_space(0, Priority::Normal).inspect_err(|_| self.unpledge(bytes))
    }

    /// Gives a pledge back.
    pub(super) fn unpledge(&self, bytes: u64) {
        let before = self.pledged.fetch_sub(bytes, Ordering::AcqRel);
        debug_assert!(before >= bytes, "more is taken back than was pledged");
    }

    /// The lowest position where the log's capacity should end.
    pub(super) fn wanted_capacity(&self) -> u64 {
        self.ring.reserved() + self.ready_bytes() + self.reserve_bytes() + self.pledged()
    }

    fn reserve_bytes(&self) -> u64 {
        self.options.reserve_segments.max(1) * self.options.segment_size
    }

    /// Bytes between the insert position and the normal limit.
    fn ready_bytes(&self) -> u64 {
        self.options.segment_size.max(self.options.max_record_len() as u64)
    }

    fn margin_bytes(&self) -> u64 {
        self.options.segment_size / 16
    }

    /// Ensures that `len` more bytes of log have a place on disk.
    pub(super) fn ensure_space(&self, len: u64, priority: Priority) -> Result<(), WalError> {
        // At most the bytes that are kept ready can be promised at once.
        let len = len.min(self.ready_bytes());
        let end = self.ring.reserved().saturating_add(len);
        if end + self.pledged() <= self.space_trigger.load(Ordering::Acquire) {
            return Ok(());
        }
        self.prepare_space(len, priority)
    }

    /// Called when an append of `len` bytes would pass the point where more segments are wanted.
    #[cold]
    fn prepare_space(&self, len: u64, priority: Priority) -> Result<(), WalError> {
        if !self.options.threads {
            return self.prepare_space_inline(len, priority);
        }
        self.space.ask();
        let fits = || self.ring.reserved().saturating_add(len) <= self.limit(priority).0;
        if fits() {
            return Ok(());
        }
        // An attempt that starts from now on decides.
        let mut state = self.space.state.lock();
        let mut ticket = self.space.ask_urgently(&mut state);
        loop {
            self.check_failed()?;
            if fits() {
                return Ok(());
            }
            if state.stop {
                return Err(WalError::Failed("it has been closed".into()));
            }
            if state.done >= ticket {
                if let Some(reason) = &state.failure {
                    return Err(WalError::NoSpace(Arc::clone(reason)));
                }
                // Space was made, but other appends used it first.
                ticket = self.space.ask_urgently(&mut state);
            }
            self.space.to_waiters.wait(&mut state);
        }
    }

    fn prepare_space_inline(&self, len: u64, priority: Priority) -> Result<(), WalError> {
        loop {
            let made = self.make_wanted_segments();
            if self.ring.reserved().saturating_add(len) <= self.limit(priority).0 {
                return Ok(());
            }
            made?;
        }
    }

    /// Creates segments until one whole segment (or the longest record) lies between the insert
    /// position and the normal limit.
    pub(super) fn make_wanted_segments(&self) -> Result<(), WalError> {
        let result = loop {
            if self.segments.capacity_end().0 >= self.wanted_capacity() {
                break Ok(());
            }
            if let Err(e) = self.segments.make_next() {
                break Err(e);
            }
        };
        self.update_space_trigger();
        match result {
            Err(WalError::Io(error)) => Err(self.fail(&error)),
            other => other,
        }
    }

    /// Sets the position past which appends call `prepare_space`; pledges count as appended.
    pub(super) fn update_space_trigger(&self) {
        let capacity_end = self.segments.capacity_end().0;
        let kept = self.reserve_bytes() + self.ready_bytes();
        self.space_trigger.store(capacity_end.saturating_sub(kept), Ordering::Release);
    }

    /// The thread that creates segments.
    pub(super) fn run_space_maker(&self) {
        crate::usage::work_as(crate::usage::Worker::WalWriter);
        let mut state = self.space.state.lock();
        loop {
            if state.stop {
                return;
            }
            if state.asked <= state.done {
                // If the disk is full, only an append that needs the space causes an attempt at
                // once; otherwise the thread tries again after a delay.
                if state.failure.is_none() {
                    self.space.to_maker.wait(&mut state);
                } else if self.space.to_maker.wait_for(&mut state, RETRY_DELAY).timed_out() {
                    self.space.busy.store(false, Ordering::Release);
                    state.failure = None;
                }
                continue;
            }
            let attempt = state.asked;
            drop(state);
            let result = self.make_wanted_segments();
            self.space.busy.store(result.is_err(), Ordering::Release);
            state = self.space.state.lock();
            state.done = attempt;
            state.failure = result.err().map(|e| match e {
                WalError::NoSpace(reason) | WalError::Failed(reason) => reason,
                other => other.to_string().into(),
            });
            self.space.to_waiters.notify_all();
        }
    }
}
