//! The cost of dropping a thousand tables, one by one and in one transaction, with a large and a
//! small buffer pool, and the throughput that other sessions lose meanwhile. PostgreSQL searches
//! its whole pool for the pages of a dropped table.

use std::fs;
use std::path::Path;
use std::time::Instant;

use super::client::Client;
use super::figure::{Figure, Limit, merge};
use super::options::Options;
use super::pgbench;
use super::server::{Kind, Server};
use super::workload::{Load, Workload};
use super::{Failure, Result, cliffs, interrupt, note};

/// For the command line.
pub(super) const NAME: &str = "cliffs-drops";
pub(super) const TITLE: &str = "dropping 1,000 tables, with two sizes of the buffer pool";

const TABLES: u32 = 1000;
const POOLS: [&str; 2] = ["4GB", "128MB"];

/// Measures on each server with each pool.
pub(super) fn measure(
    options: &Options,
    scratch: &Path,
    notes: &mut Vec<String>,
) -> Result<Vec<Figure>> {
    let mut figures: Vec<Figure> = Vec::new();
    for pool in POOLS {
        for kind in [Kind::PostgreSql, Kind::Steppe].into_iter().filter(|kind| options.wants(*kind))
        {
            let folder = scratch.join(format!("{NAME}-{pool}-{kind:?}"));
            fs::create_dir(&folder)?;
            let options = Options { shared_buffers: pool.to_owned(), ..options.clone() };
            match measure_on(kind, &options, &folder) {
                Ok(measured) => merge(&mut figures, measured),
                Err(Failure::Interrupted) => return Err(Failure::Interrupted),
                Err(failure) => note(notes, format!("{NAME}, {kind:?}, {pool}: {failure}")),
            }
        }
    }
    Ok(figures)
}

fn measure_on(kind: Kind, options: &Options, folder: &Path) -> Result<Vec<Figure>> {
    let server = Server::start(kind, options, folder)?;
    let pool = &options.shared_buffers;
    let mut client = Client::connect(server.port)?;
    let mut figures = Vec::new();
    let mut say = |title: &str, unit, value: f64, limit, target_to_postgresql| {
        let figure = Figure::new(kind, format!("{title}, pool of {pool}"), unit, value, limit);
        eprintln!("{kind:?}: {}: {value:.2} {unit}", figure.title);
        figures.push(figure.against_postgresql(target_to_postgresql));
    };
    let limit = Some(Limit::AtMost(0.3));
    make_tables(&mut client)?;
    say("DROP of 1,000 tables one by one", "s", drop_tables(&mut client)?, limit, Some(20.0));
    make_tables(&mut client)?;
    let started = Instant::now();
    client.query("BEGIN")?;
    drop_tables(&mut client)?;
    client.query("COMMIT")?;
    let seconds = started.elapsed().as_secs_f64();
    say("DROP of 1,000 tables in one transaction", "s", seconds, limit, Some(20.0));
    pgbench::initialise(options, &server, folder)?;
    let mut kept = Vec::new();
    for _ in 0..options.rounds {
        kept.push(beside_drops(options, &server, folder)?);
    }
    let kept = super::outcome::median(&kept).unwrap_or(f64::NAN);
    let title = "tpcb-like while 1,000 tables are dropped, to alone";
    say(title, "", kept, Some(Limit::AtLeast(0.9)), None);
    Ok(figures)
}

fn make_tables(client: &mut Client) -> Result<()> {
    let one = |n| {
        format!(
            "CREATE TABLE dropped_{n} (a integer PRIMARY KEY, b text); \
             INSERT INTO dropped_{n} VALUES (1, 'x');\n"
        )
    };
    client.query(&(0..TABLES).map(one).collect::<String>()).map(drop)
}

/// Drops the tables, a statement each; returns the seconds.
fn drop_tables(client: &mut Client) -> Result<f64> {
    let started = Instant::now();
    for n in 0..TABLES {
        interrupt::check()?;
        client.query(&format!("DROP TABLE dropped_{n}"))?;
    }
    Ok(started.elapsed().as_secs_f64())
}

/// The rate of pgbench in a run in which the tables are dropped, as a part of the rate in
/// one right before it.
fn beside_drops(options: &Options, server: &Server, folder: &Path) -> Result<f64> {
    let workload = cliffs::workloads(options.scale).into_iter().find(|w| w.name == "cliffs-tpcb");
    let Some(workload @ Workload { load: Load::Pgbench { script, mode, .. }, .. }) = &workload
    else {
        return Err(Failure::new("cliffs-tpcb is a script"));
    };
    let run = || pgbench::run(options, server, folder, workload, (script, mode), options.seconds);
    let mut client = Client::connect(server.port)?;
    make_tables(&mut client)?;
    let alone = run()?.transactions_per_second;
    let (beside, dropped) = std::thread::scope(|scope| {
        let dropping = scope.spawn(|| drop_tables(&mut client));
        let beside = run();
        (beside, dropping.join().unwrap_or_else(|_| Err(Failure::new("dropping died"))))
    });
    dropped?;
    Ok(beside?.transactions_per_second / alone)
}
