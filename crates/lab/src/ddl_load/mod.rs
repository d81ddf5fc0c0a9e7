//! DDL under load: leaves are attached and detached while clients read and write, without a visible
//! effect on them.
//!
//! ```text
//!   16 clients   transfers between accounts, moves of accounts to other regions, sums
//!   DDL on `accounts`   split, merge, exchange, rewrite, detach and attach: a transaction each
//!   DDL on `entries`    windows are created ahead, detached, attached, dropped: one by one
//! ```
//!
//! The following must hold for every interleaving:
//!
//! 1. every statement that sums the accounts sees all of them and the same total;
//! 2. an UPDATE of an account that exists finds exactly one row;
//! 3. every error is one that PostgreSQL gives, too ([`Allowed`]);
//! 4. in the end each balance is what the clients' ledgers say, and each acknowledged entry is
//!    there once.
//!
//! The same load runs against PostgreSQL: that is how the list of errors was made.
//!
//! The other [`Subject`] is functions, triggers, columns and foreign keys, which change while clients
//! use them ([`routines`]).

mod changes;
mod client;
mod ddl;
mod routines;

use std::collections::BTreeMap;
use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::time::Duration;

use tokio::task::JoinSet;
use tokio_postgres::error::SqlState;
use tokio_postgres::{Client, NoTls};

use crate::failure::Failure;
use crate::oracle::Oracle;
use crate::process::{ServerOptions, ServerProcess, TempDir};
use client::{Done, LoadClient};
use steppe_vfs::SeededRandom;

const ACCOUNTS: i32 = 200;
const BALANCE: i64 = 1000;
const REGIONS: i32 = 16;
/// Entries are numbered; a leaf holds this many numbers.
const WINDOW: i64 = 40;
const START_TIMEOUT: Duration = Duration::from_secs(60);
/// Statements here are short: a wait of this length means that the server hangs.
const HANG_TIMEOUT: Duration = Duration::from_secs(60);

type Result<T> = std::result::Result<T, Failure>;

/// The objects that change under load.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Subject {
    /// The leaves of partitioned tables.
    Leaves,
    /// Functions, triggers, columns and foreign keys.
    Routines,
}

/// How to run.
#[derive(Debug, Clone)]
pub struct Options {
    /// The objects that change.
    pub subject: Subject,
    /// The binary `steppe`, unless PostgreSQL is asked.
    pub server: PathBuf,
    /// PostgreSQL instead: `HOST:PORT`, or the directory of its binaries.
    pub postgres: Option<String>,
    /// Clients that read and write.
    pub clients: usize,
    /// How long.
    pub seconds: u64,
    /// Chooses statements. The interleaving is the machine's.
    pub seed: u64,
}

/// Errors that PostgreSQL gives under this load, too: the client rolls back and goes on. A deadlock
/// (40P01) is not allowed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Allowed {
    /// 40001: the row that was waited for has been moved to another partition.
    Moved,
    /// 23514: the window of an entry is not attached just now.
    NoPartition,
}

impl Allowed {
    fn of(error: &tokio_postgres::Error) -> Option<Allowed> {
        let error = error.as_db_error()?;
        let (code, message) = (error.code(), error.message());
        let moved = "tuple to be locked was already moved to another partition \
                     due to concurrent update";
        if *code == SqlState::T_R_SERIALIZATION_FAILURE && message == moved {
            return Some(Allowed::Moved);
        }
        let missing = "no partition of relation \"entries\" found for row";
        (*code == SqlState::CHECK_VIOLATION && message == missing).then_some(Allowed::NoPartition)
    }
}

/// The state that all tasks share.
#[derive(Debug, Default)]
struct Shared {
    stop: AtomicBool,
    /// The greatest number that a client has used for an entry.
    newest_entry: AtomicI64,
}

impl Shared {
    fn is_over(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }
}

/// Runs the load; `report` gets a line at the end.
pub async fn run(options: &Options, report: impl FnMut(&str)) -> Result<()> {
    if let Some(place) = &options.postgres {
        let oracle = Oracle::open(place)?;
        let database = format!("ddl_load_{}", std::process::id());
        oracle.create_database(&database)?;
        let place = Place { address: oracle.address(), database: database.clone() };
        let result = load(options, (&place, false), report).await;
        oracle.drop_database(&database)?;
        return result;
    }
    let directory = TempDir::new("steppe-ddl-load")?;
    let server_options = ServerOptions {
        binary: options.server.clone(),
        data_dir: directory.path().join("data"),
        settings: vec!["shared_buffers=16MB".into(), "deadlock_timeout=100ms".into()],
    };
    let (server, address) = ServerProcess::start(&server_options, START_TIMEOUT)?;
    let place = Place { address, database: "postgres".to_owned() };
    load(options, (&place, true), report).await?;
    server.stop(START_TIMEOUT)?;
    Ok(())
}

/// A database on a server.
#[derive(Debug, Clone)]
struct Place {
    address: SocketAddr,
    database: String,
}

async fn connect(Place { address, database }: &Place) -> Result<Client> {
    let config =
        format!("host={} port={} user=postgres dbname={database}", address.ip(), address.port());
    let (client, connection) = tokio_postgres::connect(&config, NoTls).await?;
    tokio::spawn(connection);
    let timeout_ms = HANG_TIMEOUT.as_millis();
    client.batch_execute(&format!("SET statement_timeout = {timeout_ms}")).await?;
    Ok(client)
}

/// A broken promise.
fn broken<T>(what: String) -> Result<T> {
    Err(Failure::Broken(what))
}

async fn load(
    options: &Options,
    (place, is_steppe): (&Place, bool),
    mut report: impl FnMut(&str),
) -> Result<()> {
    let random = SeededRandom::new(options.seed);
    let summary = match options.subject {
        Subject::Leaves => load_leaves(options, place, &random).await?,
        Subject::Routines => {
            let (clients, seconds) = (options.clients, options.seconds);
            routines::load((place, is_steppe), clients, seconds, &random).await?
        }
    };
    report(&summary);
    Ok(())
}

/// Runs the load on leaves; returns a line about it.
async fn load_leaves(options: &Options, place: &Place, random: &SeededRandom) -> Result<String> {
    let setup = connect(place).await?;
    ddl::create(&setup).await?;
    let shared = Arc::new(Shared::default());
    let mut clients = JoinSet::new();
    for number in 0..options.clients {
        let client = connect(place).await?;
        let number = i32::try_from(number).unwrap_or(i32::MAX);
        let random = SeededRandom::new(random.next());
        clients.spawn(LoadClient::new(client, number, random, shared.clone()).run());
    }
    let mut changers = JoinSet::new();
    let changer = connect(place).await?;
    let accounts = ddl::Accounts::new(changer, SeededRandom::new(random.next()), shared.clone());
    changers.spawn(accounts.run());
    let changer = connect(place).await?;
    let entries = ddl::Entries::new(changer, SeededRandom::new(random.next()), shared.clone());
    changers.spawn(entries.run());
    let finished = wait(options, &shared, &mut clients, &mut changers).await;
    shared.stop.store(true, Ordering::Relaxed);
    let (done, changes) = finished?;
    verify(&setup, &done).await?;
    // Else nothing has been shown.
    let moved: u64 = done.iter().map(|done| done.moves).sum();
    if changes.len() < 4 || changes.values().any(|count| *count == 0) || moved == 0 {
        return broken(format!("too little happened: {changes:?}, {moved} moves"));
    }
    Ok(summary(&done, &changes))
}

type Changes = BTreeMap<&'static str, u64>;

/// Waits until the time is over and all tasks have ended, or the first has failed.
async fn wait(
    options: &Options,
    shared: &Shared,
    clients: &mut JoinSet<Result<Done>>,
    changers: &mut JoinSet<Result<Changes>>,
) -> Result<(Vec<Done>, Changes)> {
    let (mut done, mut changes) = (Vec::new(), Changes::new());
    let end = tokio::time::sleep(Duration::from_secs(options.seconds));
    tokio::pin!(end);
    loop {
        tokio::select! {
            () = &mut end, if !shared.is_over() => shared.stop.store(true, Ordering::Relaxed),
            Some(ended) = clients.join_next() => done.push(ended.map_err(io::Error::other)??),
            Some(ended) = changers.join_next() => {
                for (what, count) in ended.map_err(io::Error::other)?? {
                    *changes.entry(what).or_default() += count;
                }
            }
            else => return Ok((done, changes)),
        }
    }
}

async fn verify(client: &Client, done: &[Done]) -> Result<()> {
    let mut want: BTreeMap<i32, i64> = (1..=ACCOUNTS).map(|id| (id, BALANCE)).collect();
    let mut entries: BTreeMap<(i32, i64), i64> = BTreeMap::new();
    for done in done {
        for (number, transfer) in &done.transfers {
            *want.entry(transfer.source).or_default() -= transfer.amount;
            *want.entry(transfer.target).or_default() += transfer.amount;
            entries.insert((done.client, *number), transfer.amount);
        }
    }
    let rows = client.query("SELECT id, balance FROM accounts ORDER BY id", &[]).await?;
    let have: Vec<(i32, i64)> = rows.iter().map(|row| (row.get(0), row.get(1))).collect();
    if have != want.into_iter().collect::<Vec<_>>() {
        return broken(format!("the balances are not what the ledgers say: {have:?}"));
    }
    let sql = "SELECT client, number, amount FROM entries ORDER BY client, number";
    let rows = client.query(sql, &[]).await?;
    let have: Vec<_> = rows.iter().map(|row| ((row.get(0), row.get(1)), row.get(2))).collect();
    let want: Vec<((i32, i64), i64)> = entries.into_iter().collect();
    if have == want {
        return Ok(());
    }
    let lost = want.iter().find(|entry| !have.contains(entry));
    let more = have.iter().find(|entry| !want.contains(entry));
    broken(format!(
        "{} entries, {} were acknowledged; lost: {lost:?}; not acknowledged: {more:?}",
        have.len(),
        want.len()
    ))
}

fn summary(done: &[Done], changes: &Changes) -> String {
    let sum = |count: fn(&Done) -> u64| done.iter().map(count).sum::<u64>();
    let refused = |which: Allowed| -> u64 {
        done.iter().map(|done| done.refused.iter().filter(|r| **r == which).count() as u64).sum()
    };
    format!(
        "{} transfers, {} moves, {} sums; {changes:?}; refused: {} moved rows, \
         {} entries without a window",
        sum(|done| done.transfers.len() as u64),
        sum(|done| done.moves),
        sum(|done| done.sums),
        refused(Allowed::Moved),
        refused(Allowed::NoPartition),
    )
}
