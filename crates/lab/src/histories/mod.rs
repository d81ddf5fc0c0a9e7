//! Random transactions that append to lists and read them, at each isolation level, across a
//! `kill -9`: finds anomalies that the level does not allow.
//!
//! ```text
//!   for each level:  load ─► kill -9 ─► restart ─► end what is prepared ─► load ─► check
//! ```
//!
//! The module [`check`] defines anomalies. One transaction in ten is prepared first.

pub mod check;

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use steppe_vfs::SeededRandom;
use tokio::task::JoinSet;
use tokio_postgres::error::SqlState;
use tokio_postgres::{Client, NoTls, SimpleQueryMessage};

use crate::failure::{Failure, Result};
use crate::process::{ServerOptions, ServerProcess, TempDir};
use check::{Element, End, Key, Level, Lists, Operation, Transaction, check};

const KEYS: u64 = 8;
const OPERATIONS_MAX: u64 = 6;
const TIMEOUT: Duration = Duration::from_secs(120);

/// How to run.
#[derive(Debug, Clone)]
pub struct Options {
    /// The binary `steppe`.
    pub server: PathBuf,
    /// Histories at each level; `None` runs until an anomaly is found.
    pub rounds: Option<u64>,
    /// Clients.
    pub clients: usize,
    /// Milliseconds of load before the kill, and after it.
    pub load_ms: u64,
    /// Chooses transactions. The interleaving is the machine's.
    pub seed: u64,
}

type Answer<T> = std::result::Result<T, tokio_postgres::Error>;

fn sql_name(level: Level) -> &'static str {
    match level {
        Level::ReadCommitted => "READ COMMITTED",
        Level::RepeatableRead => "REPEATABLE READ",
        Level::Serializable => "SERIALIZABLE",
    }
}

/// Runs the rounds; `report` gets a line for each history.
pub async fn run(options: &Options, mut report: impl FnMut(&str)) -> Result<()> {
    let directory = TempDir::new("steppe-histories")?;
    let server_options = ServerOptions {
        binary: options.server.clone(),
        data_dir: directory.path().join("data"),
        settings: ["shared_buffers=8MB", "max_prepared_transactions=100", "deadlock_timeout=50ms"]
            .map(str::to_owned)
            .to_vec(),
    };
    let random = SeededRandom::new(options.seed);
    let (mut round, mut caught) = (0, 0);
    while options.rounds.is_none_or(|rounds| round < rounds) {
        round += 1;
        for level in [Level::ReadCommitted, Level::RepeatableRead, Level::Serializable] {
            let (transactions, lists) = history(options, &server_options, &random, level).await?;
            let name = sql_name(level);
            check(&transactions, &lists, level)
                .map_err(|what| Failure::Broken(format!("{name}: {what}")))?;
            let is_stricter = check(&transactions, &lists, Level::Serializable).is_ok();
            caught += u64::from(!is_stricter);
            report(&format!(
                "round {round}, {name}: {}{}",
                summary(&transactions),
                if is_stricter { "" } else { ", but one at SERIALIZABLE" }
            ));
        }
    }
    // Anomalies that the other levels allow show that the load can make anomalies.
    match caught {
        0 if round > 0 => Err(Failure::Broken("no history needed SERIALIZABLE".into())),
        _ => Ok(()),
    }
}

fn summary(transactions: &[Transaction]) -> String {
    let count = |end: End| transactions.iter().filter(|t| t.end == end).count();
    let (committed, unknown) = (count(End::Committed), count(End::Unknown));
    let all = transactions.len();
    format!("{committed} of {all} transactions committed, {unknown} in doubt: no anomaly")
}

async fn history(
    options: &Options,
    server_options: &ServerOptions,
    random: &SeededRandom,
    level: Level,
) -> Result<(Vec<Transaction>, Lists)> {
    let (server, address) = ServerProcess::start(server_options, TIMEOUT)?;
    let client = connect(address).await?;
    let table = "DROP TABLE IF EXISTS lists; CREATE TABLE lists (key integer PRIMARY KEY, \
                 elements bigint[] NOT NULL)";
    client.batch_execute(table).await?;
    let shared = Arc::new(Shared { level, ..Shared::new() });
    let mut clients = start_clients(address, options.clients, &shared, random).await?;
    tokio::time::sleep(Duration::from_millis(options.load_ms)).await;
    server.kill()?;
    join(&mut clients).await?;
    let (server, address) = ServerProcess::start(server_options, TIMEOUT)?;
    let client = connect(address).await?;
    end_prepared(&client, random).await?;
    let mut clients = start_clients(address, options.clients, &shared, random).await?;
    tokio::time::sleep(Duration::from_millis(options.load_ms)).await;
    shared.stop.store(1, Ordering::Relaxed);
    join(&mut clients).await?;
    let all = client.simple_query("SELECT key, elements FROM lists").await?;
    let lists = rows(&all).into_iter().collect();
    drop(client);
    server.stop(TIMEOUT)?;
    let transactions = std::mem::take(&mut *shared.transactions());
    Ok((transactions, lists))
}

/// The state that the clients of a history share.
struct Shared {
    level: Level,
    next_element: AtomicU64,
    stop: AtomicU64,
    transactions: Mutex<Vec<Transaction>>,
}

impl Shared {
    fn new() -> Shared {
        Shared {
            level: Level::Serializable,
            next_element: AtomicU64::new(1),
            stop: AtomicU64::new(0),
            transactions: Mutex::default(),
        }
    }

    fn transactions(&self) -> std::sync::MutexGuard<'_, Vec<Transaction>> {
        self.transactions.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

async fn connect(address: SocketAddr) -> Result<Client> {
    let config =
        format!("host={} port={} user=postgres dbname=postgres", address.ip(), address.port());
    let (client, connection) = tokio_postgres::connect(&config, NoTls).await?;
    // It ends with an error when the server is killed: the client's calls say so too.
    tokio::spawn(connection);
    Ok(client)
}

async fn start_clients(
    address: SocketAddr,
    count: usize,
    shared: &Arc<Shared>,
    random: &SeededRandom,
) -> Result<JoinSet<Result<()>>> {
    let mut clients = JoinSet::new();
    for _ in 0..count {
        let client = connect(address).await?;
        let (shared, random) = (Arc::clone(shared), SeededRandom::new(random.next()));
        clients.spawn(Runner { client, shared, random }.run());
    }
    Ok(clients)
}

async fn join(clients: &mut JoinSet<Result<()>>) -> Result<()> {
    while let Some(ended) = clients.join_next().await {
        ended.map_err(io::Error::other)??;
    }
    Ok(())
}

/// Commits or rolls back the transactions that the kill has left prepared: their clients do not
/// know their end.
async fn end_prepared(client: &Client, random: &SeededRandom) -> Result<()> {
    for message in client.simple_query("SELECT gid FROM pg_prepared_xacts").await? {
        let SimpleQueryMessage::Row(row) = message else { continue };
        let command = if random.chance(1, 2) { "COMMIT PREPARED" } else { "ROLLBACK PREPARED" };
        client.batch_execute(&format!("{command} '{}'", row.get(0).unwrap_or(""))).await?;
    }
    Ok(())
}

/// Keys and lists, as text has them: {1,2,3}.
fn rows(messages: &[SimpleQueryMessage]) -> Vec<(Key, Vec<Element>)> {
    let rows = messages.iter().filter_map(|message| match message {
        SimpleQueryMessage::Row(row) => Some((row.get(0)?.parse().ok()?, row.get(1)?)),
        _ => None,
    });
    rows.map(|(key, list)| {
        let elements = list.trim_matches(['{', '}']).split(',');
        (key, elements.filter_map(|element| element.parse().ok()).collect())
    })
    .collect()
}

/// One client.
struct Runner {
    client: Client,
    shared: Arc<Shared>,
    random: SeededRandom,
}

impl Runner {
    async fn run(self) -> Result<()> {
        while self.shared.stop.load(Ordering::Relaxed) == 0 {
            let mut transaction = Transaction { operations: Vec::new(), end: End::RolledBack };
            let answer = self.transaction(&mut transaction).await;
            self.shared.transactions().push(transaction);
            let Err(error) = answer else { continue };
            match error.code() {
                Some(code)
                    if [SqlState::T_R_SERIALIZATION_FAILURE, SqlState::T_R_DEADLOCK_DETECTED]
                        .contains(code) =>
                {
                    if self.client.batch_execute("ROLLBACK").await.is_err() {
                        return Ok(());
                    }
                }
                Some(_) => return Err(Failure::Sql(error)),
                None => return Ok(()), // killed
            }
        }
        Ok(())
    }

    async fn transaction(&self, transaction: &mut Transaction) -> Answer<()> {
        let level = sql_name(self.shared.level);
        self.client.batch_execute(&format!("BEGIN ISOLATION LEVEL {level}")).await?;
        for _ in 0..1 + self.random.below(OPERATIONS_MAX) {
            match self.random.below(8) {
                0 => self.read_all(transaction).await?,
                1..5 => self.read(transaction).await?,
                _ => self.append(transaction).await?,
            }
        }
        match self.random.below(10) {
            0 => self.client.batch_execute("ROLLBACK").await,
            1 => self.end_in_two_phases(transaction).await,
            _ => self.end(transaction, "COMMIT").await,
        }
    }

    /// Sends what ends the transaction; a refusal has rolled it back.
    async fn end(&self, transaction: &mut Transaction, command: &str) -> Answer<()> {
        transaction.end = End::Unknown;
        let answer = self.client.batch_execute(command).await;
        transaction.end = match &answer {
            Ok(()) => End::Committed,
            Err(error) if error.code().is_some() => End::RolledBack,
            Err(_) => End::Unknown,
        };
        answer
    }

    async fn end_in_two_phases(&self, transaction: &mut Transaction) -> Answer<()> {
        let gid = self.shared.next_element.fetch_add(1, Ordering::Relaxed);
        self.end(transaction, &format!("PREPARE TRANSACTION '{gid}'")).await?;
        self.end(transaction, &format!("COMMIT PREPARED '{gid}'")).await
    }

    fn key(&self) -> Key {
        Key::try_from(self.random.below(KEYS)).unwrap_or(0)
    }

    async fn read(&self, transaction: &mut Transaction) -> Answer<()> {
        let key = self.key();
        let query = format!("SELECT key, elements FROM lists WHERE key = {key}");
        let found = rows(&self.client.simple_query(&query).await?).into_iter().next();
        let list = found.map(|(_, list)| list).unwrap_or_default();
        transaction.operations.push(Operation::Read(key, list));
        Ok(())
    }

    async fn read_all(&self, transaction: &mut Transaction) -> Answer<()> {
        let all = self.client.simple_query("SELECT key, elements FROM lists").await?;
        let mut all: Lists = rows(&all).into_iter().collect();
        for key in 0..KEYS as Key {
            let list = all.remove(&key).unwrap_or_default();
            transaction.operations.push(Operation::Read(key, list));
        }
        Ok(())
    }

    async fn append(&self, transaction: &mut Transaction) -> Answer<()> {
        let (key, element) = (self.key(), self.shared.next_element.fetch_add(1, Ordering::Relaxed));
        // Noted before the statement: the element of a rolled back transaction must not be read
        // either.
        transaction.operations.push(Operation::Append(key, element));
        let append = format!(
            "INSERT INTO lists VALUES ({key}, ARRAY[{element}]) ON CONFLICT (key) \
             DO UPDATE SET elements = lists.elements || excluded.elements"
        );
        self.client.batch_execute(&append).await
    }
}
