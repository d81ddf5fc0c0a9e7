//! How long a point SELECT takes while others read whole tables: its 99th percentile alone, and
//! beside two sessions that each run a query over all of TPC-H's largest table again and again.
//!
//! One client sends each SELECT after the answer to the one before. So a wait shows in one latency
//! and not in those of a queue.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use super::client::Client;
use super::figure::{Chapter, Figure, Limit, merge};
use super::options::Options;
use super::queries::{Place, Query};
use super::{Failure, Result, interrupt, note};

/// The sessions beside.
const QUERIES: usize = 2;
/// The bound for the 99th percentile beside queries, as a multiple of that alone.
const SLOWER_AT_MOST: f64 = 3.0;

/// Measures each server in turn; `query` runs beside, `setting` says how.
pub(super) fn measure(
    query: &Query,
    setting: &str,
    places: &mut [Place],
    options: &Options,
    notes: &mut Vec<String>,
) -> Result<Chapter> {
    let title = format!("a point SELECT beside {QUERIES} sessions that run {}", query.name);
    let mut chapter = Chapter { title, figures: Vec::new(), wrong: 0 };
    for place in places {
        match of_server(query, setting, place, options) {
            Ok(figures) => merge(&mut chapter.figures, figures),
            Err(Failure::Interrupted) => return Err(Failure::Interrupted),
            Err(failure) => {
                note(notes, format!("{}, {}: {failure}", chapter.title, place.kind.title()));
                chapter.wrong += 1;
            }
        }
    }
    Ok(chapter)
}

fn of_server(
    query: &Query,
    setting: &str,
    place: &mut Place,
    options: &Options,
) -> Result<Vec<Figure>> {
    let duration = Duration::from_secs(options.seconds.into());
    let alone = p99_us(&mut place.client, duration)?;
    let stop = AtomicBool::new(false);
    let port = place.port();
    let (beside, runs) = thread::scope(|scope| {
        let loads: Vec<_> =
            (0..QUERIES).map(|_| scope.spawn(|| run_until(query, setting, port, &stop))).collect();
        let beside = p99_us(&mut place.client, duration);
        stop.store(true, Ordering::Relaxed);
        let runs: Result<Vec<u32>> = loads
            .into_iter()
            .map(|load| load.join().map_err(|_| Failure::new("a session beside panicked"))?)
            .collect();
        (beside, runs)
    });
    let (beside, runs) = (beside?, runs?);
    if runs.contains(&0) {
        return Err(Failure::new("a session beside has run nothing"));
    }
    let figure = |title: &str, unit, value, limit| {
        Figure::new(place.kind, title.to_owned(), unit, value, limit)
    };
    let limit = Some(Limit::AtMost(SLOWER_AT_MOST));
    Ok(vec![
        figure("99th percentile alone", "µs", alone, None),
        figure("99th percentile beside them", "µs", beside, None),
        figure("the one as a multiple of the other", "×", beside / alone.max(1e-9), limit),
    ])
}

/// Runs a query until it is told to stop, at least once; says how often.
fn run_until(query: &Query, setting: &str, port: u16, stop: &AtomicBool) -> Result<u32> {
    let mut client = Client::connect(port)?;
    client.query(setting)?;
    let mut runs = 0;
    loop {
        client.rows(query.sql)?;
        runs += 1;
        if stop.load(Ordering::Relaxed) {
            return Ok(runs);
        }
    }
}

/// The 99th percentile of a point SELECT's latency over `duration`, in microseconds.
fn p99_us(client: &mut Client, duration: Duration) -> Result<f64> {
    let customers: u64 = client
        .query("SELECT max(c_custkey) FROM customer")?
        .and_then(|count| count.parse().ok())
        .ok_or_else(|| Failure::new("there are no customers"))?;
    let mut latencies = Vec::new();
    let started = Instant::now();
    let mut key = 0;
    while started.elapsed() < duration {
        interrupt::check()?;
        // All keys in an order that jumps: the step and the count have no common factor often
        // enough for that.
        key = (key + 7919) % customers;
        let sql = format!("SELECT c_name FROM customer WHERE c_custkey = {}", key + 1);
        let sent = Instant::now();
        client.query(&sql)?.ok_or_else(|| Failure::new(format!("{sql} found nothing")))?;
        latencies.push(sent.elapsed().as_secs_f64() * 1e6);
    }
    Ok(percentile(&mut latencies, 0.99))
}

/// The value that this share of all values does not exceed. It is NaN without values.
fn percentile(values: &mut [f64], share: f64) -> f64 {
    values.sort_by(f64::total_cmp);
    let place = (values.len() as f64 * share).ceil() as usize;
    values.get(place.saturating_sub(1)).copied().unwrap_or(f64::NAN)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_percentile_is_a_value_that_was_measured() {
        let mut values: Vec<f64> = (1..=200).rev().map(f64::from).collect();
        assert_eq!(percentile(&mut values, 0.99), 198.0);
        assert_eq!(percentile(&mut [5.0], 0.99), 5.0);
        assert!(percentile(&mut [], 0.99).is_nan());
    }
}
