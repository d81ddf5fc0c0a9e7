//! The ten OLTP workloads of sysbench (Debian's package has them), over four tables of their own,
//! right after sysbench's `prepare`, without ANALYZE.
//!
//! Read-only workloads run first and DELETE last, because it removes rows that the others need.

use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use super::client::USER;
use super::figure::Figure;
use super::options::Options;
use super::pgbench::Run;
use super::process::{as_user, run_client};
use super::server::Server;
use super::workload::{Conditions, Data, Load, Section, Workload};
use super::{Failure, Result};

const SCRIPTS: [&str; 10] = [
    "oltp_point_select",
    "oltp_read_only",
    "select_random_points",
    "select_random_ranges",
    "oltp_read_write",
    "oltp_write_only",
    "oltp_update_index",
    "oltp_update_non_index",
    "oltp_insert",
    "oltp_delete",
];
const TABLES: u32 = 4;
const CLIENTS: u32 = 16;
const PREPARE_LIMIT: Duration = Duration::from_secs(1800);

/// One for each script.
pub(super) fn workloads() -> Vec<Workload> {
    let workload = |script: &'static str| Workload {
        name: format!("sysbench-{script}"),
        title: format!("{script}, {CLIENTS} clients"),
        load: Load::Sysbench(script),
        data: Data::Sysbench,
        clients: CLIENTS,
        target_to_postgresql: Some(2.5),
        target_to_noop: None,
        section: Section::Sysbench,
        group: format!("sysbench-{script}"),
        flat: None,
        conditions: Conditions::default(),
    };
    SCRIPTS.into_iter().map(workload).collect()
}

/// Fails if there is no sysbench.
pub(super) fn look(options: &Options, scratch: &Path) -> Result<()> {
    let mut command = Command::new(&options.sysbench);
    command.arg("--version");
    run_client(command, scratch, Duration::from_secs(10)).map(drop).map_err(|failure| {
        Failure::new(format!(
            "{failure}: install it (Debian: apt-get install sysbench), say where it is with \
             --sysbench, or measure something else with --only"
        ))
    })
}

/// Makes and fills the tables; the figure is how long that took.
pub(super) fn prepare(options: &Options, server: &Server, scratch: &Path) -> Result<Figure> {
    let started = Instant::now();
    let mut command = sysbench(options, server, "oltp_read_write", TABLES);
    command.arg("prepare");
    run_client(command, scratch, PREPARE_LIMIT)?;
    let seconds = started.elapsed().as_secs_f64();
    let title = format!("sysbench prepare, {TABLES} tables of {} rows", options.sysbench_rows);
    eprintln!("{}: {title}: {seconds:.1} s", server.label);
    Ok(Figure::new(server.kind, title, "s", seconds, None).against_postgresql(Some(2.0)))
}

/// Runs a script for some seconds.
pub(super) fn run(
    options: &Options,
    server: &Server,
    scratch: &Path,
    script: &str,
    clients: u32,
    seconds: u32,
) -> Result<Run> {
    let mut command = sysbench(options, server, script, clients);
    command.args([&format!("--time={seconds}"), "run"]);
    let report = run_client(command, scratch, options.run_limit())?;
    parse(&report).ok_or_else(|| Failure::new("sysbench's report could not be read"))
}

fn sysbench(options: &Options, server: &Server, script: &str, threads: u32) -> Command {
    let mut command = as_user(&options.sysbench, None, None);
    command.args([script, "--db-driver=pgsql", "--pgsql-host=127.0.0.1"]);
    command.arg(format!("--pgsql-port={}", server.port));
    command.args([format!("--pgsql-user={USER}"), format!("--pgsql-db={USER}")]);
    command.args([format!("--tables={TABLES}"), format!("--threads={threads}")]);
    command.arg(format!("--table-size={}", options.sysbench_rows));
    command
}

fn parse(report: &str) -> Option<Run> {
    let after = |label: &str| {
        let rest = report.lines().find_map(|line| line.trim_start().strip_prefix(label))?;
        Some(rest.trim_start())
    };
    // "transactions:     12345  (2057.10 per sec.)"
    let (transactions, rate) = after("transactions:")?.split_once('(')?;
    Some(Run {
        transactions: transactions.trim().parse().ok()?,
        transactions_per_second: rate.split(' ').next()?.parse().ok()?,
        latency_ms: after("avg:")?.parse().ok()?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_is_read() {
        let report = "SQL statistics:\n    queries performed:\n        read:   24360\n    \
            transactions:                        1218   (60.62 per sec.)\n    \
            queries:                             24360  (1212.46 per sec.)\n\n\
            Latency (ms):\n         min:                                    9.83\n         \
            avg:                                  263.44\n";
        let run = Run { transactions: 1218, transactions_per_second: 60.62, latency_ms: 263.44 };
        assert_eq!(parse(report), Some(run));
        assert_eq!(parse("FATAL: no"), None);
    }
}
