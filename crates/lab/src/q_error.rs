//! How far row estimates are off, Steppe's beside PostgreSQL's.
//!
//! The q-error of a plan node is the factor by which its estimate is off:
//! `max(estimate / rows, rows / estimate)`, of at least one row each (Moerkotte, Neumann and
//! Steidl, "Preventing bad plans by bounding the impact of cardinality estimation errors", 2009).
//! It is computed for every node that ran, by EXPLAIN ANALYZE of each query of a corpus, on both
//! servers. Each has its own plans with other nodes, so the distributions are compared.

use std::fs;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use crate::failure::Result;
use crate::oracle::{Oracle, query};
use crate::process::{ServerOptions, ServerProcess, TempDir};

const SERVER_TIMEOUT: Duration = Duration::from_secs(60);
/// A query is ended after this long.
const QUERY_TIMEOUT: &str = "60s";

/// The options of a run.
#[derive(Clone, Debug)]
pub struct Options {
    /// The binary `steppe`.
    pub server: PathBuf,
    /// The directory of PostgreSQL's binaries.
    pub postgres: PathBuf,
    /// The directory with `schema.sql` and `queries.sql`, one query a line.
    pub corpus: PathBuf,
    /// Queries with a node off by more are named.
    pub shown: f64,
}

/// The q-errors of all nodes of all queries, ascending.
pub(crate) struct Errors(Vec<f64>);

impl Errors {
    pub(crate) fn new(mut all: Vec<f64>) -> Errors {
        all.sort_by(f64::total_cmp);
        Errors(all)
    }

    /// The q-error that a share of the nodes stay within.
    pub(crate) fn within(&self, share: f64) -> f64 {
        let last = self.0.len().saturating_sub(1) as f64;
        self.0.get((last * share).round() as usize).copied().unwrap_or(1.0)
    }

    fn line(&self, name: &str) -> String {
        let [median, p90, p95, all] = [0.5, 0.9, 0.95, 1.0].map(|share| self.within(share));
        let nodes = self.0.len();
        format!(
            "{name:<10} {nodes:>5} nodes  median {median:.2}  p90 {p90:.2}  p95 {p95:.2}  max {all:.0}"
        )
    }
}

/// Runs the corpus on both and reports.
pub fn run(options: &Options, mut report: impl FnMut(&str)) -> Result<()> {
    let read = |name: &str| fs::read_to_string(options.corpus.join(name));
    let (schema, queries) = (read("schema.sql")?, read("queries.sql")?);
    let queries: Vec<&str> = queries.lines().filter(|line| !line.trim().is_empty()).collect();
    let oracle = Oracle::open(&options.postgres.to_string_lossy())?;
    oracle.create_database("q_error")?;
    let directory = TempDir::new("steppe-q-error")?;
    let server = ServerOptions {
        binary: options.server.clone(),
        data_dir: directory.path().join("data"),
        settings: Vec::new(),
    };
    let (server, steppe) = ServerProcess::start(&server, SERVER_TIMEOUT)?;
    let places = [("PostgreSQL", oracle.address(), "q_error"), ("Steppe", steppe, "postgres")];
    for (name, address, database) in places {
        let client = Client { address, database };
        client.run(&schema)?;
        let errors = errors(&client, &queries, options.shown, &mut report)?;
        report(&errors.line(name));
    }
    server.stop(SERVER_TIMEOUT)?;
    oracle.drop_database("q_error")?;
    Ok(())
}

fn errors(
    client: &Client,
    queries: &[&str],
    shown: f64,
    report: &mut impl FnMut(&str),
) -> Result<Errors> {
    let mut all = Vec::new();
    for query in queries {
        let explain = format!(
            "SET statement_timeout = '{QUERY_TIMEOUT}'; SET max_parallel_workers_per_gather = 0; \
             EXPLAIN (ANALYZE, TIMING OFF, SUMMARY OFF) {query}"
        );
        let plan = client.run(&explain)?;
        let of_query: Vec<f64> = plan.lines().filter_map(q_error).collect();
        let worst = of_query.iter().copied().fold(1.0, f64::max);
        if worst > shown {
            report(&format!("{worst:>10.0}  {query}"));
        }
        all.extend(of_query);
    }
    Ok(Errors::new(all))
}

/// The q-error of the node that a line of EXPLAIN ANALYZE is about, if it ran.
pub(crate) fn q_error(line: &str) -> Option<f64> {
    let (cost, actual) = line.split_once("(actual ")?;
    let rows = |text: &str| {
        let number = text.split_once("rows=")?.1;
        number.split([' ', ')']).next()?.parse::<f64>().ok()
    };
    let (estimate, actual) = (rows(cost)?.max(1.0), rows(actual)?.max(1.0));
    Some((estimate / actual).max(actual / estimate))
}

/// A database on a server.
struct Client {
    address: SocketAddr,
    database: &'static str,
}

impl Client {
    /// The statements' results in psql's unaligned format.
    fn run(&self, sql: &str) -> Result<String> {
        Ok(query(self.address, self.database, sql)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn q_errors_of_lines() {
        let line =
            "  ->  Seq Scan on t  (cost=0.00..9.00 rows=10 width=4) (actual rows=40.00 loops=1)";
        assert_eq!(q_error(line), Some(4.0));
        let none = "Seq Scan on t  (cost=0.00..9.00 rows=3 width=4) (actual rows=0.00 loops=1)";
        assert_eq!(q_error(none), Some(3.0));
        assert_eq!(q_error("Result  (cost=0.00..9.00 rows=3 width=4) (never executed)"), None);
    }
}
