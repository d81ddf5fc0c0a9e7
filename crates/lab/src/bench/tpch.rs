//! TPC-H: its tables at a scale, and its 22 queries with the parameters that the specification
//! has for validation (tests/tpch).
//!
//! Rows come from the crate tpchgen, which makes the same as the TPC's own generator, and go to
//! the server by COPY while they are made. Keys and indexes follow, then VACUUM ANALYZE.

use std::fmt::{Display, Write};

use tpchgen::generators::{
    CustomerGenerator, LineItemGenerator, NationGenerator, OrderGenerator, PartGenerator,
    PartSuppGenerator, RegionGenerator, SupplierGenerator,
};

use super::client::{Client, message};
use super::figure::Chapter;
use super::options::Options;
use super::queries::{Aims, Place, Query, compare, queries};
use super::{Result, points_beside};

const SCHEMA: &str = include_str!("../../../../tests/tpch/schema.sql");
const KEYS: &str = include_str!("../../../../tests/tpch/keys.sql");
const QUERIES: &[Query] = queries!("tpch": "q01" "q02" "q03" "q04" "q05" "q06" "q07" "q08" "q09"
    "q10" "q11" "q12" "q13" "q14" "q15" "q16" "q17" "q18" "q19" "q20" "q21" "q22");

/// Rows are sent in messages of about this size.
const MESSAGE_LEN: usize = 64 * 1024;

/// Makes the tables.
pub(super) fn load(client: &mut Client, options: &Options) -> Result<()> {
    client.script(SCHEMA)?;
    let scale = options.tpch_scale;
    copy(client, "region", RegionGenerator::new(scale, 1, 1).iter())?;
    copy(client, "nation", NationGenerator::new(scale, 1, 1).iter())?;
    copy(client, "part", PartGenerator::new(scale, 1, 1).iter())?;
    copy(client, "supplier", SupplierGenerator::new(scale, 1, 1).iter())?;
    copy(client, "partsupp", PartSuppGenerator::new(scale, 1, 1).iter())?;
    copy(client, "customer", CustomerGenerator::new(scale, 1, 1).iter())?;
    copy(client, "orders", OrderGenerator::new(scale, 1, 1).iter())?;
    copy(client, "lineitem", LineItemGenerator::new(scale, 1, 1).iter())?;
    client.script(KEYS)
}

fn copy(client: &mut Client, table: &str, rows: impl Iterator<Item: Display>) -> Result<()> {
    let mut rows = rows.peekable();
    let mut broken = Ok(());
    let messages = std::iter::from_fn(|| {
        rows.peek()?;
        let mut text = String::with_capacity(MESSAGE_LEN + 512);
        while let Some(row) = rows.next_if(|_| text.len() < MESSAGE_LEN) {
            // Writing to a String cannot fail. A row ends with a delimiter of its own.
            let _ = write!(text, "{row}");
            text.truncate(text.trim_end_matches('|').len());
            text.push('\n');
        }
        message(b'd', text.as_bytes()).map_err(|failure| broken = Err(failure)).ok()
    });
    client.copy_in(&format!("COPY {table} FROM STDIN (DELIMITER '|')"), messages)?;
    broken
}

/// Runs the queries, first in one process each, then as PostgreSQL does by default; last, a point
/// SELECT beside the first of them.
pub(super) fn measure(
    options: &Options,
    places: &mut [Place],
    notes: &mut Vec<String>,
) -> Result<Vec<Chapter>> {
    let scale = options.tpch_scale;
    let alone = ("without parallelism", "SET max_parallel_workers_per_gather = 0");
    let shared = ("with the default parallelism", "RESET max_parallel_workers_per_gather");
    let mut chapters = Vec::new();
    for ((how, setting), mean, least) in [(alone, 3.0, 1.0), (shared, 2.0, 0.8)] {
        let aims = Aims { mean: Some(mean), total: None, least };
        let title = format!("TPC-H at scale {scale} {how}");
        chapters.push(compare(title, QUERIES, setting, aims, places, options, notes)?);
    }
    if let Some(query) = QUERIES.first() {
        chapters.push(points_beside::measure(query, shared.1, places, options, notes)?);
    }
    Ok(chapters)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_end_where_columns_end() {
        let nation = NationGenerator::new(0.01, 1, 1).iter().next().unwrap().to_string();
        assert!(nation.ends_with('|') && !nation.contains(['\\', '\n']), "{nation}");
    }
}
