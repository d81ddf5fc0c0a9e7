//! The state of a node as its pool knows it: whether it is down or full, and when it is tried again.

use std::time::{Duration, Instant};

use steppe_types::Error;

use super::OpenFailure;

/// The pause after a node was found down; it doubles with each try that fails.
const DOWN_PAUSE: Duration = Duration::from_millis(100);
/// The longest such pause.
const LONGEST_DOWN_PAUSE: Duration = Duration::from_secs(2);
/// The pause after a node refused a connection because of its max_connections; it doubles, too.
const FULL_PAUSE: Duration = Duration::from_millis(10);
/// The longest such pause.
const LONGEST_FULL_PAUSE: Duration = Duration::from_millis(500);

/// Whether a node is up.
pub(super) enum Health<K> {
    /// The last try to reach it succeeded, or there was none.
    Up,
    /// The last try to reach it failed.
    Down(Down<K>),
}

/// A node that was not reached.
pub(super) struct Down<K> {
    error: Error,
    /// The key to try it with.
    key: K,
    retry_at: Instant,
    pause: Duration,
}

impl<K> Health<K> {
    /// Why the node is down.
    pub(super) fn error(&self) -> Option<&Error> {
        match self {
            Health::Up => None,
            Health::Down(down) => Some(&down.error),
        }
    }

    /// A request has not reached the node.
    pub(super) fn failed(&mut self, key: K, error: Error, now: Instant) {
        match self {
            Health::Down(down) => down.error = error,
            Health::Up => {
                let (retry_at, pause) = (now + DOWN_PAUSE, DOWN_PAUSE);
                *self = Health::Down(Down { error, key, retry_at, pause });
            }
        }
    }

    /// When a node that is down is tried again, and with which key.
    pub(super) fn next_try(&self) -> Option<(Instant, &K)> {
        match self {
            Health::Down(down) => Some((down.retry_at, &down.key)),
            Health::Up => None,
        }
    }

    /// A try has failed.
    pub(super) fn try_failed(&mut self, failure: OpenFailure, now: Instant) {
        let Health::Down(down) = self else { return };
        down.pause = (down.pause * 2).min(LONGEST_DOWN_PAUSE);
        down.retry_at = now + down.pause;
        match failure {
            OpenFailure::Down(newer) => down.error = newer,
            OpenFailure::Interrupted(_) => {}
            // It answers.
            OpenFailure::Full(_) | OpenFailure::Refused(_) => *self = Health::Up,
        }
    }
}

/// Whether a node was at its max_connections a moment ago.
#[derive(Default)]
pub(super) struct Full(Option<(Instant, Duration)>);

impl Full {
    /// The node has refused a connection.
    pub(super) fn refused(&mut self, now: Instant) {
        let pause = match self.0 {
            Some((_, pause)) => (pause * 2).min(LONGEST_FULL_PAUSE),
            None => FULL_PAUSE,
        };
        self.0 = Some((now + pause, pause));
    }

    /// The node has accepted one.
    pub(super) fn accepted(&mut self) {
        self.0 = None;
    }

    /// The node has room again.
    pub(super) fn has_room(&mut self, now: Instant) {
        if let Some((until, _)) = &mut self.0 {
            *until = (*until).min(now);
        }
    }

    /// Until when the node is not asked.
    pub(super) fn until(&self) -> Option<Instant> {
        self.0.map(|(until, _)| until)
    }
}
