//! The benchmark of Steppe: PostgreSQL, Steppe and a server that does nothing, on one machine,
//! under the same load, in turn.
//!
//! ```text
//!   for each group of workloads (workload.rs, partitions.rs, cliffs.rs, sysbench.rs,
//!     planning.rs, inserts.rs, functions.rs, triggers.rs): mostly one
//!     on each server: make their tables, run once without measurement
//!     for each round, for each workload
//!       PostgreSQL ── settle ── Steppe ── settle ── do-nothing ── settle
//!     on each server: compare what it holds with what it was told
//!   queries.rs (tpch.rs, joins.rs): each query of a suite on two servers in turn
//!   points_beside.rs: a point SELECT alone and beside two queries
//!   scale.rs, drops.rs, foreign_keys.rs, cluster.rs: what is measured once, on servers of its own
//!   report.rs: medians, ratios, verdicts, noise
//! ```
//!
//! The following makes the figures comparable:
//! - Measurements alternate, so that a machine that gets slower or faster over the
//!   minutes (a neighbour, heat) does so for every server.
//! - Between two of them the last server gets time to finish its background work. The benchmark
//!   forces no checkpoint: right after one PostgreSQL logs whole pages, which would flatter Steppe.
//!   The run without measurement avoids most of that.
//! - The load generator shares the processors with the server, as it does for everyone.
//!   The do-nothing server shows how much of the machine that costs.
//! - Processor time per transaction hardly depends on other load of the machine: it distinguishes a
//!   slow server from a busy machine.
//!
//! Every wait has a limit. Servers and files are removed however the benchmark ends (process.rs).

mod beside;
mod client;
mod cliffs;
mod cluster;
mod copy;
mod drops;
mod figure;
mod foreign_keys;
mod functions;
mod inserts;
mod interrupt;
mod joins;
mod machine;
mod options;
mod outcome;
mod partitions;
mod pgbench;
mod planning;
mod points_beside;
mod process;
mod procfs;
mod queries;
mod report;
mod scale;
mod server;
mod sysbench;
mod tpch;
mod triggers;
mod workload;

use std::collections::hash_map::{Entry, HashMap};
use std::fmt;
use std::path::Path;
use std::time::Instant;

pub use options::{Options, Request};

use beside::{Beside, Holding};
use client::Client;
use copy::CopyRows;
use figure::{Figure, Limit, merge};
use machine::Machine;
use outcome::{Outcome, Sample, Series};
use process::{Scratch, raise_file_limit};
use procfs::Usage;
use report::{Report, grouped};
use server::{Kind, Server};
use workload::{Data, Kept, Load, Workload};

/// The reason why a measurement failed.
#[derive(Debug, Clone, PartialEq)]
pub enum Failure {
    /// The user asked to stop.
    Interrupted,
    /// The benchmark failed with this message.
    Failed(String),
}

impl Failure {
    fn new(message: impl Into<String>) -> Failure {
        Failure::Failed(message.into())
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::Interrupted => f.write_str("interrupted"),
            Failure::Failed(message) => f.write_str(message),
        }
    }
}

impl std::error::Error for Failure {}

impl From<std::io::Error> for Failure {
    fn from(error: std::io::Error) -> Failure {
        Failure::Failed(error.to_string())
    }
}

type Result<T, E = Failure> = std::result::Result<T, E>;

/// Measures and returns the report, in Markdown.
///
/// Call it on the main thread: servers are tied to the life of the thread that
/// starts them.
pub fn run(options: &Options) -> Result<String> {
    interrupt::watch()?;
    let work_dir = options.work_dir.display();
    let scratch = Scratch::create(&options.work_dir, options.keep)
        .map_err(|error| Failure::new(format!("cannot make a folder in {work_dir}: {error}")))?;
    let machine = Machine::look(scratch.path());
    let load_before = machine::load_average();
    let mut notes = Vec::new();
    if let Err(failure) = raise_file_limit(options.connections() + 500, scratch.path()) {
        note(&mut notes, format!("the limit of open files stays as it is: {failure}"));
    }
    let mut found = Found { notes, ..Found::default() };
    let workloads = options.workloads();
    if workloads.iter().any(|workload| matches!(workload.load, Load::Sysbench(_))) {
        sysbench::look(options, scratch.path())?;
    }
    let delay = |workload: &Workload| workload.conditions.sync_delay_ms;
    for (n, on_one_device) in workloads.chunk_by(|a, b| delay(a) == delay(b)).enumerate() {
        let sync_delay_ms = options.sync_delay_ms + delay(&on_one_device[0]);
        let options = Options { sync_delay_ms, ..options.clone() };
        let folder = scratch.path().join(format!("servers-{n}"));
        std::fs::create_dir(&folder)?;
        let bench = Bench::start(&options, &folder, machine.processors, &mut found)?;
        bench.run(on_one_device, &mut found)?;
    }
    let mut chapters = Vec::new();
    for suite in options.suites() {
        let folder = scratch.path().join(suite.name());
        std::fs::create_dir(&folder)?;
        chapters.extend(suite.measure(options, &folder, &mut found)?);
    }
    let Found { outcomes, mut figures, mut notes, postgresql } = found;
    for scale in options.scales() {
        figures.extend(scale.measure(options, scratch.path(), &mut notes)?);
    }
    if options.drops() {
        figures.extend(drops::measure(options, scratch.path(), &mut notes)?);
    }
    if options.foreign_keys() {
        figures.extend(foreign_keys::measure(options, scratch.path(), &mut notes)?);
    }
    if options.cluster() {
        figures.extend(cluster::measure(options, scratch.path(), &mut notes)?);
    }
    let report = Report {
        options,
        machine: &machine,
        load_before,
        load_after: machine::load_average(),
        postgresql,
        outcomes: &outcomes,
        figures: &figures,
        chapters: &chapters,
        notes: &notes,
    };
    let text = report.render();
    if options.check && !report.is_whole() {
        eprintln!("{text}");
        return Err(Failure::new("something was not measured, or answered wrongly"));
    }
    Ok(text)
}

/// The results so far.
#[derive(Default)]
struct Found {
    outcomes: Vec<Outcome>,
    figures: Vec<Figure>,
    notes: Vec<String>,
    /// PostgreSQL with its version, if it took part.
    postgresql: Option<String>,
}

/// Starts the wanted servers that are available, and notes the others.
fn start_servers(
    options: &Options,
    scratch: &Path,
    notes: &mut Vec<String>,
) -> Result<Vec<Server>> {
    let mut servers = Vec::new();
    for kind in Kind::ALL.into_iter().filter(|kind| options.wants(*kind)) {
        match Server::start(kind, options, scratch) {
            Ok(server) => {
                eprintln!("{} is ready on port {}", server.label, server.port);
                servers.push(server);
            }
            Err(Failure::Interrupted) => return Err(Failure::Interrupted),
            Err(failure) => note(notes, format!("{} is left out: {failure}", kind.title())),
        }
    }
    if servers.is_empty() {
        return Err(Failure::new("there is no server to measure"));
    }
    Ok(servers)
}

fn note(notes: &mut Vec<String>, text: String) {
    eprintln!("bench: {text}");
    notes.push(text);
}

/// The state of a benchmark under way.
struct Bench<'a> {
    options: &'a Options,
    scratch: &'a Path,
    processors: usize,
    servers: Vec<Server>,
    /// The tables that several workloads share, and the number of items written to each.
    kept: HashMap<(Kind, String), u64>,
    /// Made when first needed: they are large.
    copy_rows: Option<CopyRows>,
    figures: Vec<Figure>,
    notes: Vec<String>,
}

impl<'a> Bench<'a> {
    /// Starts the servers.
    fn start(
        options: &'a Options,
        scratch: &'a Path,
        processors: usize,
        found: &mut Found,
    ) -> Result<Bench<'a>> {
        let servers = start_servers(options, scratch, &mut found.notes)?;
        let postgresql = servers.iter().find(|server| server.kind == Kind::PostgreSql);
        if let Some(server) = postgresql {
            found.postgresql = Some(server.label.clone());
        }
        let (kept, figures, notes) = (HashMap::new(), Vec::new(), Vec::new());
        Ok(Bench { options, scratch, processors, servers, kept, copy_rows: None, figures, notes })
    }

    /// Measures workloads, a group after the other.
    fn run(mut self, workloads: &[Workload], found: &mut Found) -> Result<()> {
        for group in workloads.chunk_by(|one, other| one.group == other.group) {
            found.outcomes.extend(self.measure(group)?);
        }
        found.figures.append(&mut self.figures);
        found.notes.append(&mut self.notes);
        Ok(())
    }

    /// Measures workloads in turn on every server that can play them.
    ///
    /// A server that fails is left out of the rest of a workload, with a note.
    fn measure(&mut self, group: &[Workload]) -> Result<Vec<Outcome>> {
        let mut all = Vec::new();
        for workload in group {
            let mut of_servers = Vec::new();
            for number in 0..self.servers.len() {
                of_servers.push(self.begin(number, workload)?);
            }
            all.push(of_servers);
        }
        for round in 1..=self.options.rounds {
            for (workload, of_servers) in group.iter().zip(&mut all) {
                for (number, slot) in of_servers.iter_mut().enumerate() {
                    let Some(measured) = slot else { continue };
                    match self.sample(number, workload, self.options.seconds) {
                        Ok(sample) => {
                            self.say(number, workload, round, &sample);
                            measured.samples.push(sample);
                        }
                        Err(failure) => {
                            self.give_up(number, workload, &failure)?;
                            *slot = None;
                        }
                    }
                }
            }
        }
        let mut outcomes = Vec::new();
        for (workload, mut of_servers) in group.iter().zip(all) {
            for (number, measured) in of_servers.iter_mut().enumerate() {
                let Some(measured) = measured else { continue };
                if let Err(failure) = self.verify(number, workload, measured) {
                    self.give_up(number, workload, &failure)?;
                    measured.is_wrong = true;
                }
                self.clear(number, workload)?;
            }
            let series = of_servers.into_iter().flatten().collect();
            outcomes.push(Outcome { workload: workload.clone(), series });
        }
        Ok(outcomes)
    }

    /// Readies a server for a workload; `None` if it does not play it.
    fn begin(&mut self, number: usize, workload: &Workload) -> Result<Option<Series>> {
        if matches!(workload.load, Load::Copy) && self.copy_rows.is_none() {
            self.copy_rows = Some(CopyRows::generate(self.options.copy_rows)?);
        }
        let server = &self.servers[number];
        let suits = match &workload.data {
            _ if server.kind == Kind::Noop => workload.suits_noop(),
            // PostgreSQL would need a process for each.
            _ if matches!(workload.conditions.beside, Some(Beside::Idle(_))) => {
                server.kind == Kind::Steppe
            }
            Data::Leaves(leaves) => self.options.takes_leaves(server.kind, leaves.count),
            Data::Made { leaves, .. } => self.options.takes_leaves(server.kind, *leaves),
            _ => true,
        };
        if !suits {
            return Ok(None);
        }
        let series = Series {
            kind: server.kind,
            label: server.label.clone(),
            samples: Vec::new(),
            is_wrong: false,
        };
        if let Err(failure) = self.prepare(number, workload) {
            self.give_up(number, workload, &failure)?;
            return Ok(None);
        }
        Ok(Some(series))
    }

    /// Notes why a server has no figure for this workload; fails only if the user wants to stop.
    fn give_up(&mut self, number: usize, workload: &Workload, failure: &Failure) -> Result<()> {
        if *failure == Failure::Interrupted {
            return Err(Failure::Interrupted);
        }
        let label = &self.servers[number].label;
        note(&mut self.notes, format!("{}, {label}: {failure}", workload.name));
        Ok(())
    }

    /// Makes the tables that a workload needs, and runs it once without measurement.
    fn prepare(&mut self, number: usize, workload: &Workload) -> Result<()> {
        let server = &mut self.servers[number];
        server.check()?;
        if server.kind != Kind::Noop {
            self.make_tables(number, workload)?;
        }
        if matches!(workload.load, Load::Pgbench { .. } | Load::Sysbench(_)) {
            self.sample(number, workload, self.options.warm_up_seconds())?;
        }
        Ok(())
    }

    fn make_tables(&mut self, number: usize, workload: &Workload) -> Result<()> {
        let server = &self.servers[number];
        let Some(table) = workload.data.kept() else {
            if let Data::Own { create, .. } = &workload.data {
                Client::connect(server.port)?.query(create)?;
            }
            return Ok(());
        };
        let Entry::Vacant(place) = self.kept.entry((server.kind, table)) else { return Ok(()) };
        match &workload.data {
            Data::PgbenchRead | Data::PgbenchChanged => {
                let started = Instant::now();
                pgbench::initialise(self.options, server, self.scratch)?;
                let text = format!(
                    "pgbench -i -s {} took {:.1} s on {}",
                    self.options.scale,
                    started.elapsed().as_secs_f64(),
                    server.label
                );
                note(&mut self.notes, text);
            }
            Data::Leaves(leaves) => leaves.make(&mut Client::connect(server.port)?)?,
            Data::Sysbench => {
                let made = sysbench::prepare(self.options, server, self.scratch)?;
                merge(&mut self.figures, vec![made]);
            }
            Data::Made { create, .. } => Client::connect(server.port)?.script(create)?,
            Data::Own { create, .. } | Data::Kept(Kept { create, .. }) => {
                Client::connect(server.port)?.query(create)?;
            }
        }
        place.insert(0);
        Ok(())
    }

    /// Brings a workload's tables into the state in which each of its runs finds them.
    fn reset_tables(&self, number: usize, workload: &Workload) -> Result<()> {
        let server = &self.servers[number];
        match &workload.data {
            _ if server.kind == Kind::Noop => {}
            Data::PgbenchRead | Data::PgbenchChanged | Data::Kept(_) => {}
            Data::Made { refill: Some(refill), .. } => {
                Client::connect(server.port)?.script(refill)?;
            }
            Data::Sysbench | Data::Made { .. } => {}
            Data::Own { table, .. } => {
                Client::connect(server.port)?.query(&format!("TRUNCATE TABLE {table}"))?;
            }
            Data::Leaves(leaves) => leaves.refill(&mut Client::connect(server.port)?)?,
        }
        Ok(())
    }

    fn sample(&mut self, number: usize, workload: &Workload, seconds: u32) -> Result<Sample> {
        interrupt::check()?;
        self.servers[number].check()?;
        self.reset_tables(number, workload)?;
        if workload.conditions.writes_nothing {
            // Earlier workloads' pages are written and their statistics gathered now.
            Client::connect(self.servers[number].port)?.query("CHECKPOINT")?;
        }
        let beside = self.begin_beside(number, workload)?;
        let server = &mut self.servers[number];
        server.settle()?;
        let logged_before = logged_bytes(server, workload)?;
        let used_before = Usage::now(server.pid());
        let started = Instant::now();
        let mut sample =
            play(self.options, server, self.scratch, workload, seconds, self.copy_rows.as_ref())?;
        sample.elapsed_seconds = started.elapsed().as_secs_f64();
        sample.usage = Usage::now(server.pid()).since(&used_before);
        sample.logged = logged_bytes(server, workload)? - logged_before;
        server.check()?;
        beside.end()?;
        server.settle()?;
        if workload.data.is_told()
            && let Some(table) = workload.data.kept()
            && let Some(told) = self.kept.get_mut(&(server.kind, table))
        {
            *told += sample.items;
        }
        Ok(sample)
    }

    /// Starts the sessions that stay open meanwhile. The memory of idle ones is measured at their
    /// first start.
    fn begin_beside(&mut self, number: usize, workload: &Workload) -> Result<Holding> {
        let Some(beside) = workload.conditions.beside else { return Ok(Holding::default()) };
        let server = &self.servers[number];
        let resident = || procfs::resident_bytes(server.pid()).map(|bytes| bytes as f64);
        let before = resident()?;
        let holding = beside.begin(server.port)?;
        if let (Beside::Idle(count), Kind::Steppe) = (beside, server.kind) {
            let title = format!("memory for each of {count} idle connections");
            let bytes = (resident()? - before) / f64::from(count);
            let limit = Some(Limit::AtMost(30.0 * 1024.0));
            if self.figures.iter().all(|figure| figure.title != title) {
                self.figures.push(Figure::new(server.kind, title, "bytes", bytes, limit));
            }
        }
        Ok(holding)
    }

    /// Progress, a line a measurement.
    fn say(&self, number: usize, workload: &Workload, round: u32, sample: &Sample) {
        let (server_us, client_us) = sample.cpu_us();
        eprintln!(
            "{:<32} {round}/{} {:<16} {:>12} {:<6} CPU µs: server {server_us:.2}, client \
             {client_us:.2}; others {:.0}%",
            workload.name,
            self.options.rounds,
            self.servers[number].label,
            grouped(sample.items_per_second),
            workload.unit(),
            sample.others_share(self.processors) * 100.0
        );
    }

    /// Drops a workload's own table, so that the next one has the space.
    fn clear(&mut self, number: usize, workload: &Workload) -> Result<()> {
        let (port, kind) = (self.servers[number].port, self.servers[number].kind);
        let (Data::Own { table, .. }, false) = (&workload.data, kind == Kind::Noop) else {
            return Ok(());
        };
        let dropped = Client::connect(port)
            .and_then(|mut client| client.query(&format!("DROP TABLE {table}")));
        match dropped {
            Ok(_) => Ok(()),
            Err(failure) => self.give_up(number, workload, &failure),
        }
    }

    /// Compares the rows on a server after the last run with the rows that were written.
    fn verify(&self, number: usize, workload: &Workload, series: &Series) -> Result<()> {
        let server = &self.servers[number];
        let (Some(last), false) = (series.samples.last(), server.kind == Kind::Noop) else {
            return Ok(());
        };
        if workload.conditions.writes_nothing && server.kind == Kind::Steppe {
            let logged = series.samples.iter().map(|sample| sample.logged).max();
            same("bytes of the log", logged.unwrap_or(0), 0)?;
        }
        let mut client = Client::connect(server.port)?;
        let mut number_of = |sql: &str| -> Result<i64> {
            let text = client.query(sql)?.unwrap_or_default();
            text.parse().map_err(|_| Failure::new(format!("{sql} was answered {text:?}")))
        };
        match &workload.data {
            Data::PgbenchRead | Data::Sysbench | Data::Made { .. } => {}
            Data::PgbenchChanged => {
                // Every transaction adds one delta to one row of each table.
                let moved = number_of("SELECT sum(delta) FROM pgbench_history")?;
                for (table, column) in [
                    ("pgbench_accounts", "abalance"),
                    ("pgbench_tellers", "tbalance"),
                    ("pgbench_branches", "bbalance"),
                ] {
                    let sum = number_of(&format!("SELECT sum({column}) FROM {table}"))?;
                    same(&format!("sum of {table}.{column}"), sum, moved)?;
                }
            }
            Data::Own { table, .. } => {
                let count = number_of(&format!("SELECT count(*) FROM {table}"))?;
                same(&format!("rows in {table}"), count, last.items.try_into().unwrap_or(-1))?;
            }
            Data::Leaves(_) | Data::Kept(_) => {
                let table = workload.data.kept().unwrap_or_default();
                let told = self.kept.get(&(server.kind, table.clone()));
                let told = told.map_or(-1, |items| (*items).try_into().unwrap_or(-1));
                let held = workload.data.held().map_or(Ok(told), |sql| number_of(&sql))?;
                same(&format!("changes of {table}"), held, told)?;
            }
        }
        Ok(())
    }
}

/// Runs a workload once. The caller adds the processor time.
fn play(
    options: &Options,
    server: &Server,
    scratch: &Path,
    workload: &Workload,
    seconds: u32,
    copy_rows: Option<&CopyRows>,
) -> Result<Sample> {
    match (&workload.load, &workload.data) {
        (Load::Pgbench { script, mode, rows_per_transaction }, _) => {
            let run = pgbench::run(options, server, scratch, workload, (script, mode), seconds)?;
            let rate = run.transactions_per_second * *rows_per_transaction as f64;
            Ok(Sample::new(run.transactions * rows_per_transaction, rate, Some(run.latency_ms)))
        }
        (Load::Sysbench(script), _) => {
            let run = sysbench::run(options, server, scratch, script, workload.clients, seconds)?;
            let rate = run.transactions_per_second;
            Ok(Sample::new(run.transactions, rate, Some(run.latency_ms)))
        }
        (Load::Copy, Data::Own { table, .. }) => {
            let rows = copy_rows.ok_or_else(|| Failure::new("COPY wants rows"))?;
            let run = rows.load(server, table, workload.clients)?;
            Ok(Sample::new(run.rows, run.rows as f64 / run.seconds, None))
        }
        (Load::Inserts(protocol), Data::Own { table, .. }) => {
            let run = inserts::run(server, table, *protocol, seconds)?;
            Ok(Sample::new(run.rows, run.rows as f64 / run.seconds, None))
        }
        (Load::Copy | Load::Inserts(_), _) => Err(Failure::new("rows want a table of their own")),
    }
}

/// The length of the log so far, if the workload must not make it longer.
fn logged_bytes(server: &Server, workload: &Workload) -> Result<i64> {
    if !workload.conditions.writes_nothing || server.kind == Kind::Noop {
        return Ok(0);
    }
    let sql = "SELECT pg_current_wal_insert_lsn() - '0/0'::pg_lsn";
    let text = Client::connect(server.port)?.query(sql)?.unwrap_or_default();
    text.parse().map_err(|_| Failure::new(format!("{sql} was answered {text:?}")))
}

fn same(what: &str, held: i64, told: i64) -> Result<()> {
    if held == told {
        return Ok(());
    }
    Err(Failure::new(format!("WRONG DATA: {what}: the server holds {held} and was told {told}")))
}
