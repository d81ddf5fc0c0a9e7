//! The pace of the analyzer's threads: a little work, a nap (vacuum.c, vacuum_delay_point).
//!
//! PostgreSQL adds up costs of pages, and sleeps autovacuum_vacuum_cost_delay whenever they come to
//! autovacuum_vacuum_cost_limit. Here a page costs what PostgreSQL takes for one that is in memory:
//! a thread asks between pages ([`nap_if_due`]), where it has no latch. It naps after two
//! milliseconds in any case, so that a session that wants its core has it soon.

use std::cell::Cell;
use std::time::{Duration, Instant};

use crate::settings::{ServerSettings, Value};

/// How long it works at a time at most.
const WORK_MAX: Duration = Duration::from_millis(2);

#[derive(Clone, Copy)]
struct Pace {
    nap: Duration,
    pages_between: i64,
    pages_left: i64,
    since: Instant,
}

thread_local! {
    /// The pace of this thread, if no session waits for its work.
    static PACE: Cell<Option<Pace>> = const { Cell::new(None) };
}

/// The running thread takes its time from now on; a table's own delay and limit go before those of
/// the settings.
pub(super) fn set(settings: &ServerSettings, delay: Option<f64>, limit: Option<i64>) {
    let milliseconds = |name| match settings.get(name) {
        Value::Real(milliseconds) => Some(milliseconds).filter(|delay| *delay >= 0.0),
        _ => None,
    };
    let delay = delay
        .or_else(|| milliseconds("autovacuum_vacuum_cost_delay"))
        .or_else(|| milliseconds("vacuum_cost_delay"));
    let number = |name| Some(settings.int(name)).filter(|limit| *limit > 0);
    let limit = limit
        .or_else(|| number("autovacuum_vacuum_cost_limit"))
        .or_else(|| number("vacuum_cost_limit"));
    let pages_between = limit.unwrap_or(200) / settings.int("vacuum_cost_page_hit").max(1);
    let nap = Duration::from_secs_f64(delay.unwrap_or(0.0) / 1000.0);
    let pace = Pace { nap, pages_between, pages_left: pages_between, since: Instant::now() };
    PACE.set(Some(pace).filter(|pace| !pace.nap.is_zero()));
}

/// The running thread takes its time until this is dropped at most: then sessions may wait for it.
pub(super) struct Pacing;

impl Drop for Pacing {
    fn drop(&mut self) {
        PACE.set(None);
    }
}

/// Naps if the running thread has worked enough; called between pages.
#[inline]
pub(crate) fn nap_if_due() {
    if let Some(pace) = PACE.get() {
        nap_if_worked(pace);
    }
}

#[cold]
fn nap_if_worked(mut pace: Pace) {
    pace.pages_left -= 1;
    if pace.pages_left <= 0 || pace.since.elapsed() >= WORK_MAX {
        std::thread::sleep(pace.nap);
        pace = Pace { pages_left: pace.pages_between, since: Instant::now(), ..pace };
    }
    PACE.set(Some(pace));
}
