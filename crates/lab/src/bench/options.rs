//! The command line.

use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use super::Failure;
use super::beside::Beside;
use super::queries::Suite;
use super::scale::{self, Scale};
use super::server::Kind;
use super::workload::{self, Section, Workload};
use super::{
    cliffs, cluster, drops, foreign_keys, functions, inserts, partitions, planning, sysbench,
    triggers,
};

/// The output of `bench --help`, before the list of workloads.
const USAGE: &str = "\
bench measures Steppe, PostgreSQL and a server that does nothing, in turn, on this machine,
with pgbench and COPY, and prints medians and ratios.

usage: bench [option]...
  --only NAME          only the workloads whose name begins with NAME (may be repeated);
                       all but the first ones listed are measured only if asked for
  --server NAME        only this server: postgresql, steppe or noop (may be repeated)
  --rounds N           measurements of each workload on each server (3)
  --seconds N          length of one pgbench run (8)
  --scale N            scale of the pgbench tables: N times 100,000 rows (20)
  --leaves N,N,…       numbers of leaves to measure partitions with (100,800,6400)
  --postgresql-leaves N  PostgreSQL takes part up to so many, beyond which making and
                       planning take it minutes (800)
  --copy-rows N        rows of one COPY measurement (2000000)
  --sysbench-rows N    rows of each of sysbench's four tables (200000)
  --tpch-scale F       scale of TPC-H's tables (1)
  --joins-size N       recordings of the join queries' tables, which are twenty times as many
                       rows (250000)
  --quick              the same as --rounds 1 --seconds 2 --copy-rows 200000
  --check              everything small (--rounds 1 --seconds 1 and few rows), and failure unless
                       all of it is measured and every answer is right
  --shared-buffers N   for PostgreSQL and Steppe (4GB)
  --sync-delay-ms N    each sync of PostgreSQL and Steppe takes so much longer (0)
  --steppe-bin PATH    the steppe program (beside bench, else target/release/steppe)
  --noop-bin PATH      the noop_server program (beside bench, else target/release/noop_server)
  --pg-bin DIR         a folder with PostgreSQL's postgres and initdb (what tools/pg18.sh prints)
  --pgbench PATH       the pgbench program (pgbench)
  --sysbench PATH      the sysbench program (sysbench)
  --work-dir DIR       where the servers' data goes while we measure (/var/tmp)
  --keep               leave the servers' data and logs there
  --output FILE        write the report, in Markdown, to FILE too
";

/// The options of a run.
#[derive(Debug, Clone, PartialEq)]
pub struct Options {
    pub(super) only: Vec<String>,
    pub(super) servers: Vec<Kind>,
    pub(super) rounds: u32,
    pub(super) seconds: u32,
    pub(super) scale: u32,
    pub(super) leaves: Vec<u32>,
    pub(super) postgresql_leaves: u32,
    pub(super) copy_rows: u64,
    pub(super) sysbench_rows: u32,
    pub(super) tpch_scale: f64,
    pub(super) joins_size: u32,
    pub(super) shared_buffers: String,
    pub(super) sync_delay_ms: u32,
    pub(super) check: bool,
    pub(super) steppe_bin: Option<PathBuf>,
    pub(super) noop_bin: Option<PathBuf>,
    pub(super) pg_bin: Option<PathBuf>,
    pub(super) pgbench: PathBuf,
    pub(super) sysbench: PathBuf,
    pub(super) work_dir: PathBuf,
    pub(super) keep: bool,
    pub(super) output: Option<PathBuf>,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            only: Vec::new(),
            servers: Vec::new(),
            rounds: 3,
            seconds: 8,
            scale: 20,
            leaves: vec![100, 800, 6400],
            postgresql_leaves: 800,
            copy_rows: 2_000_000,
            sysbench_rows: 200_000,
            tpch_scale: 1.0,
            joins_size: 250_000,
            shared_buffers: "4GB".to_owned(),
            sync_delay_ms: 0,
            check: false,
            steppe_bin: None,
            noop_bin: None,
            pg_bin: None,
            pgbench: PathBuf::from("pgbench"),
            sysbench: PathBuf::from("sysbench"),
            // /tmp is memory on many machines, where a sync costs nothing.
            work_dir: PathBuf::from("/var/tmp"),
            keep: false,
            output: None,
        }
    }
}

/// The request of a command line.
#[derive(Debug, PartialEq)]
pub enum Request {
    /// To measure.
    Run(Box<Options>),
    /// To print this.
    Help(String),
}

impl Options {
    /// Reads the arguments after the program's name.
    pub fn parse(mut arguments: impl Iterator<Item = String>) -> Result<Request, String> {
        let mut options = Options::default();
        while let Some(name) = arguments.next() {
            match name.as_str() {
                "--help" | "-h" => return Ok(Request::Help(help())),
                "--keep" => options.keep = true,
                "--check" => options.make_small(),
                "--quick" => {
                    (options.rounds, options.seconds, options.copy_rows) = (1, 2, 200_000);
                }
                _ => {
                    let value = arguments.next();
                    options.set(&name, value.ok_or_else(|| format!("{name} needs a value"))?)?;
                }
            }
        }
        let nothing_else = options.scales().is_empty()
            && options.suites().is_empty()
            && !options.drops()
            && !options.foreign_keys()
            && !options.cluster();
        if options.workloads().is_empty() && nothing_else {
            return Err(format!("no workload's name begins with {}", options.only.join(" or ")));
        }
        Ok(Request::Run(Box::new(options)))
    }

    /// Makes everything so small that the run tests the benchmark and not the speed.
    fn make_small(&mut self) {
        self.check = true;
        (self.rounds, self.seconds, self.scale) = (1, 1, 1);
        (self.copy_rows, self.sysbench_rows) = (20_000, 1000);
        (self.tpch_scale, self.joins_size) = (0.01, 1200);
        self.shared_buffers = "128MB".to_owned();
    }

    fn set(&mut self, name: &str, value: String) -> Result<(), String> {
        match name {
            "--only" => self.only.push(value),
            "--server" => self.servers.push(Kind::named(&value).ok_or_else(|| {
                format!("unknown server {value}: it is postgresql, steppe or noop")
            })?),
            "--rounds" => self.rounds = number(name, &value, 1, 1000)?,
            "--seconds" => self.seconds = number(name, &value, 1, 3600)?,
            "--scale" => self.scale = number(name, &value, 1, 10_000)?,
            "--leaves" => {
                let counts = value.split(',').map(|count| number(name, count, 1, 1_000_000));
                self.leaves = counts.collect::<Result<_, _>>()?;
            }
            "--postgresql-leaves" => {
                self.postgresql_leaves = number(name, &value, 0, 1_000_000)?;
            }
            "--copy-rows" => self.copy_rows = number(name, &value, 4, 20_000_000)?,
            "--shared-buffers" => self.shared_buffers = value,
            "--sync-delay-ms" => self.sync_delay_ms = number(name, &value, 0, 1000)?,
            "--steppe-bin" => self.steppe_bin = Some(value.into()),
            "--noop-bin" => self.noop_bin = Some(value.into()),
            "--pg-bin" => self.pg_bin = Some(value.into()),
            "--sysbench" => self.sysbench = value.into(),
            "--sysbench-rows" => self.sysbench_rows = number(name, &value, 100, 100_000_000)?,
            "--tpch-scale" => self.tpch_scale = number(name, &value, 0.001, 1000.0)?,
            "--joins-size" => self.joins_size = number(name, &value, 1200, 100_000_000)?,
            "--pgbench" => self.pgbench = value.into(),
            "--work-dir" => self.work_dir = value.into(),
            "--output" => self.output = Some(value.into()),
            _ => return Err(format!("unknown option {name}")),
        }
        Ok(())
    }

    /// Writes the report to the file that was asked for, if one was.
    pub fn write_output(&self, report: &str) -> Result<(), Failure> {
        let Some(file) = &self.output else { return Ok(()) };
        std::fs::write(file, report)
            .map_err(|error| Failure::new(format!("cannot write {}: {error}", file.display())))
    }

    /// The workloads to measure, in the order of the table.
    pub(super) fn workloads(&self) -> Vec<Workload> {
        let mut all = self.all_workloads();
        // A compared workload needs the one that it is compared with, which stands before it.
        let mut wanted: Vec<String> = Vec::new();
        for workload in all.iter().rev() {
            if self.asks_for(workload) || wanted.contains(&workload.name) {
                wanted.push(workload.name.clone());
                wanted.extend(workload.flat.iter().map(|flat| flat.name.clone()));
            }
        }
        all.retain(|workload| wanted.contains(&workload.name));
        all
    }

    fn all_workloads(&self) -> Vec<Workload> {
        let mut all = workload::of_servers();
        all.extend(partitions::workloads(&self.leaves));
        all.extend(cliffs::workloads(self.scale));
        all.extend(sysbench::workloads());
        all.extend(planning::workloads());
        all.extend(inserts::workloads());
        all.extend(functions::workloads());
        all.extend(triggers::workloads());
        all
    }

    fn asks_for(&self, workload: &Workload) -> bool {
        match self.only.is_empty() {
            true => workload.section == Section::Servers,
            false => self.names(&workload.name),
        }
    }

    /// Whether an --only is the beginning of this.
    fn names(&self, name: &str) -> bool {
        self.only.iter().any(|only| name.starts_with(only))
    }

    /// The experiments with many leaves that are asked for.
    pub(super) fn scales(&self) -> Vec<Scale> {
        let mut all = scale::experiments(&self.leaves);
        all.retain(|scale| self.names(&scale.name));
        all
    }

    /// The suites of queries that are asked for.
    pub(super) fn suites(&self) -> Vec<Suite> {
        Suite::ALL.into_iter().filter(|suite| self.names(suite.name())).collect()
    }

    /// Whether dropping tables is to be measured.
    pub(super) fn drops(&self) -> bool {
        self.names(drops::NAME)
    }

    /// Whether the statements of foreign keys are to be measured.
    pub(super) fn foreign_keys(&self) -> bool {
        self.names(foreign_keys::NAME)
    }

    /// Whether a coordinator over nodes is to be measured.
    pub(super) fn cluster(&self) -> bool {
        self.names(cluster::NAME)
    }

    /// The connections that a server must accept: PostgreSQL's default, or more for idle
    /// connections.
    pub(super) fn connections(&self) -> u32 {
        let idle = self.workloads().into_iter().filter_map(|w| match w.conditions.beside {
            Some(Beside::Idle(count)) => Some(count + 100),
            _ => None,
        });
        idle.max().unwrap_or(100)
    }

    /// Whether a server is to be measured with this number of leaves.
    pub(super) fn takes_leaves(&self, server: Kind, leaves: u32) -> bool {
        server != Kind::PostgreSql || leaves <= self.postgresql_leaves
    }

    pub(super) fn wants(&self, server: Kind) -> bool {
        self.servers.is_empty() || self.servers.contains(&server)
    }

    /// The length of one run without measurement before the rounds.
    pub(super) fn warm_up_seconds(&self) -> u32 {
        (self.seconds / 4).max(1)
    }

    /// The time after which a pgbench run counts as hung. It only has to finish the running
    /// transactions when its time is over.
    pub(super) fn run_limit(&self) -> Duration {
        Duration::from_secs(u64::from(self.seconds) + 60)
    }
}

fn number<N: FromStr + PartialOrd + std::fmt::Display>(
    name: &str,
    value: &str,
    min: N,
    max: N,
) -> Result<N, String> {
    value
        .parse()
        .ok()
        .filter(|number| (&min..=&max).contains(&number))
        .ok_or_else(|| format!("{name} takes a number from {min} to {max}, not {value}"))
}

fn help() -> String {
    let mut help = USAGE.to_owned();
    help.push_str("\nworkloads:\n");
    let options = Options::default();
    for workload in options.all_workloads() {
        help.push_str(&format!("  {:<32} {}\n", workload.name, workload.title));
    }
    for scale in scale::experiments(&options.leaves) {
        help.push_str(&format!("  {:<32} {}\n", scale.name, scale.title()));
    }
    help.push_str(&format!("  {:<32} {}\n", drops::NAME, drops::TITLE));
    help.push_str(&format!("  {:<32} {}\n", foreign_keys::NAME, foreign_keys::TITLE));
    help.push_str(&format!("  {:<32} {}\n", cluster::NAME, cluster::TITLE));
    for suite in Suite::ALL {
        help.push_str(&format!("  {:<32} {}\n", suite.name(), suite.title()));
    }
    help
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Result<Request, String> {
        Options::parse(line.split_ascii_whitespace().map(str::to_owned))
    }

    fn options(line: &str) -> Options {
        match parse(line).unwrap() {
            Request::Run(options) => *options,
            Request::Help(_) => panic!("help was not asked for"),
        }
    }

    fn names(line: &str) -> Vec<String> {
        options(line).workloads().into_iter().map(|workload| workload.name).collect()
    }

    #[test]
    fn later_options_refine_quick() {
        let options = options("--quick --seconds 1 --server noop --server steppe");
        assert_eq!((options.rounds, options.seconds), (1, 1));
        assert!(options.wants(Kind::Noop) && !options.wants(Kind::PostgreSql));
        assert_eq!(options.warm_up_seconds(), 1);
    }

    #[test]
    fn only_takes_the_beginning_of_names() {
        assert_eq!(
            names("--only select-simple --only tpcb"),
            ["select-simple-16", "select-simple-64", "tpcb-prepared-32"]
        );
        assert_eq!(names("").len(), workload::of_servers().len());
    }

    #[test]
    fn partitions_come_when_asked_for_and_with_what_they_are_compared_with() {
        assert_eq!(
            names("--only partitions-select-simple-8"),
            ["partitions-select-simple-0", "partitions-select-simple-800"]
        );
        let many = options("--only partitions --leaves 7,100000");
        assert_eq!(many.workloads().len(), 3 + 4 * 2 * 3);
        let scales: Vec<_> = many.scales().into_iter().map(|scale| scale.name).collect();
        assert_eq!(scales, ["partitions-scale-100000"]);
        assert!(
            !many.takes_leaves(Kind::PostgreSql, 6400) && many.takes_leaves(Kind::Steppe, 6400)
        );
        assert!(options("").scales().is_empty());
    }

    #[test]
    fn cliffs_come_with_all_that_they_stand_on() {
        assert_eq!(
            names("--only cliffs-hits-z"),
            ["cliffs-hits-narrow", "cliffs-hits-uniform", "cliffs-hits-zipfian"]
        );
        let all = options("--only cliffs");
        assert!(all.drops() && all.connections() == 10_100);
        assert!(!options("").drops() && options("").connections() == 100);
        assert!(options("--only cliffs-drops").workloads().is_empty());
    }

    #[test]
    fn suites_and_the_clients_workloads_come_when_asked_for() {
        let all =
            options("--only tpch --only joins --only sysbench --only planning --only inserts");
        assert_eq!(all.suites(), Suite::ALL);
        assert_eq!(all.workloads().len(), 10 + 3 + 2);
        assert!(options("").suites().is_empty() && !options("").check);
        assert!(options("--only joins").workloads().is_empty());
        let small = options("--only tpch --check --tpch-scale 0.002");
        assert!(small.check && (small.tpch_scale, small.rounds) == (0.002, 1));
    }

    #[test]
    fn no_two_have_one_name() {
        let all = options("").all_workloads();
        let names: std::collections::HashSet<_> = all.iter().map(|w| &w.name).collect();
        assert_eq!(names.len(), all.len());
    }

    #[test]
    fn nonsense_is_refused() {
        for line in [
            "--rounds 0",
            "--leaves 1,,2",
            "--seconds x",
            "--bogus 1",
            "--scale",
            "--server oracle",
            "--tpch-scale 0",
            "--joins-size 1199",
        ] {
            assert!(parse(line).is_err(), "{line}");
        }
        assert_eq!(parse("--only nothing").unwrap_err(), "no workload's name begins with nothing");
        assert!(matches!(parse("-h").unwrap(), Request::Help(text) if text.contains("copy-4")));
    }
}
