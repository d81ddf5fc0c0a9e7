//! Forty joins of 5 to 12 tables whose data is skewed and correlated, in the manner of the join
//! order benchmark (Leis et al., How good are query optimizers, really?, 2015): tests/joins/schema.sql
//! says how. Besides times, how far the planners' estimates of rows are off is compared
//! ([`crate::q_error`]).

use super::Result;
use super::client::Client;
use super::figure::{Chapter, Figure, merge};
use super::options::Options;
use super::queries::{Aims, Place, Query, compare, queries};
use super::{Failure, note};
use crate::q_error::{Errors, q_error};

const SCHEMA: &str = include_str!("../../../../tests/joins/schema.sql");
const QUERIES: &[Query] = queries!("joins": "01" "02" "03" "04" "05" "06" "07" "08" "09" "10"
    "11" "12" "13" "14" "15" "16" "17" "18" "19" "20" "21" "22" "23" "24" "25" "26" "27" "28" "29"
    "30" "31" "32" "33" "34" "35" "36" "37" "38" "39" "40");

/// Makes the tables.
pub(super) fn load(client: &mut Client, options: &Options) -> Result<()> {
    client.script(&SCHEMA.replace(":size", &options.joins_size.to_string()))
}

/// Runs the queries, and then looks at the estimates of their plans.
pub(super) fn measure(
    options: &Options,
    places: &mut [Place],
    notes: &mut Vec<String>,
) -> Result<Vec<Chapter>> {
    let setting = "SET max_parallel_workers_per_gather = 0";
    let aims = Aims { mean: None, total: Some(2.0), least: 0.7 };
    let title = format!("Joins of 5 to 12 tables, {} recordings", options.joins_size);
    let mut chapter = compare(title, QUERIES, setting, aims, places, options, notes)?;
    for place in places {
        let errors = errors(place, notes)?;
        for (what, share) in [("median", 0.5), ("95th percentile", 0.95)] {
            let title = format!("q-error of all plan nodes, {what}");
            let figure = Figure::new(place.kind, title, "", errors.within(share), None);
            merge(&mut chapter.figures, vec![figure.against_postgresql(Some(1.0))]);
        }
    }
    Ok(vec![chapter])
}

fn errors(place: &mut Place, notes: &mut Vec<String>) -> Result<Errors> {
    let mut all = Vec::new();
    for Query { name, sql } in QUERIES {
        let explain = format!("EXPLAIN (ANALYZE, TIMING OFF, SUMMARY OFF) {sql}");
        let plan = match place.client.rows(&explain) {
            Ok(plan) => plan,
            Err(Failure::Interrupted) => return Err(Failure::Interrupted),
            Err(failure) => {
                note(notes, format!("estimates of {name}, {}: {failure}", place.kind.title()));
                continue;
            }
        };
        let lines = plan.iter().flatten().flatten();
        all.extend(lines.filter_map(|line| q_error(line)));
    }
    Ok(Errors::new(all))
}
