//! The pace of the analyzer's threads: a little work, a nap (vacuum.c, vacuum_delay_point).
//!
//! PostgreSQL adds up the costs of pages. It sleeps autovacuum_vacuum_cost_delay when they reach
//! autovacuum_vacuum_cost_limit. Here a page has PostgreSQL's cost of a page in memory. A thread
//! calls [`nap_if_due`] between pages, where it holds no latch. It also naps after two
//! milliseconds, so that a session that needs its core gets it soon.

use std::cell::Cell;
use std::time::{Duration, Instant};

use crate::settings::{ServerSettings, Value};

/// The longest work between two naps.
const WORK_MAX: Duration = Duration::from_millis(2);

#[derive(Clone, Copy)]
struct Pace {
    nap: Duration,
    pages_between: i64,
    pages_left: i64,
    since: Instant,
}

thread_local! {
    /// The pace of this thread, while no session waits for its work.
    static PACE: Cell<Option<Pace>> = const { Cell::new(None) };
}

/// Sets the running thread's pace. A table's own delay and limit override the settings.
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

/// The running thread keeps its pace at most until this is dropped. After that, sessions may wait
/// for it.
pub(super) struct Pacing;

impl Drop for Pacing {
    fn drop(&mut self) {
        PACE.set(None);
    }
}

/// Naps if the running thread has worked long enough. The caller is between pages.
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
