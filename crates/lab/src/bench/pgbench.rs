//! Runs pgbench and reads what it reports.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use super::client::USER;
use super::options::Options;
use super::process::{as_user, run_client};
use super::server::Server;
use super::workload::{Script, Workload};
use super::{Failure, Result};

/// One run of pgbench.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Run {
    pub(super) transactions: u64,
    pub(super) transactions_per_second: f64,
    pub(super) latency_ms: f64,
}

/// How long `pgbench -i` may take.
const INITIALISE_LIMIT: Duration = Duration::from_secs(600);

/// Makes pgbench's own tables.
pub(super) fn initialise(options: &Options, server: &Server, scratch: &Path) -> Result<()> {
    let mut command = pgbench(options, server);
    command.args(["-i", "-q", "-s", &options.scale.to_string(), USER]);
    run_client(command, scratch, INITIALISE_LIMIT).map(drop)
}

/// Runs a script for some seconds.
pub(super) fn run(
    options: &Options,
    server: &Server,
    scratch: &Path,
    workload: &Workload,
    (script, mode): (&Script, &str),
    seconds: u32,
) -> Result<Run> {
    let mut command = pgbench(options, server);
    // pgbench's threads, like the servers', are as many as processors.
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    let threads = processors.min(workload.clients as usize);
    command.args(["-n", "-M", mode, "-c", &workload.clients.to_string()]);
    command.args(["-j", &threads.to_string(), "-T", &seconds.to_string()]);
    match script {
        Script::Builtin(name) => command.args(["-b", name]),
        Script::Custom(text) => {
            let file: PathBuf = scratch.join(format!("{}.sql", workload.name));
            fs::write(&file, text.as_bytes())?;
            command.arg("-f").arg(file)
        }
    };
    command.arg(USER);
    let report = run_client(command, scratch, options.run_limit())?;
    parse(&report).ok_or_else(|| Failure::new("pgbench's report could not be read"))
}

fn pgbench(options: &Options, server: &Server) -> Command {
    let mut command = as_user(&options.pgbench, None, None);
    command.args(["-h", "127.0.0.1", "-p", &server.port.to_string(), "-U", USER]);
    command
}

fn parse(report: &str) -> Option<Run> {
    let after = |label: &str| {
        let rest = report.lines().find_map(|line| line.strip_prefix(label))?;
        rest.split([' ', '/']).next()
    };
    Some(Run {
        transactions: after("number of transactions actually processed: ")?.parse().ok()?,
        transactions_per_second: after("tps = ")?.parse().ok()?,
        latency_ms: after("latency average = ")?.parse().ok()?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_is_read() {
        let report = "pgbench (15.18, server 18.4)\n\
            transaction type: <builtin: select only>\nscaling factor: 20\nquery mode: prepared\n\
            number of clients: 16\nnumber of threads: 2\nmaximum number of tries: 1\n\
            duration: 2 s\nnumber of transactions actually processed: 91234\n\
            number of failed transactions: 0 (0.000%)\nlatency average = 0.350 ms\n\
            initial connection time = 21.5 ms\n\
            tps = 45678.901234 (without initial connection time)\n";
        let run =
            Run { transactions: 91234, transactions_per_second: 45678.901234, latency_ms: 0.35 };
        assert_eq!(parse(report), Some(run));
        // With -t, the count comes with what was asked for.
        let of_all = report.replace("processed: 91234", "processed: 91234/91234");
        assert_eq!(parse(&of_all), Some(run));
        assert_eq!(parse("pgbench: error: no"), None);
    }
}
