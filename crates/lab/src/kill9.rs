//! `kill -9` under load: what clients were promised must survive.
//!
//! ```text
//!   start ─► load from several clients ─► kill -9 at a random moment ─┐
//!     ▲       (each with a ledger)                                    │
//!     │                                    restart, sometimes killed  │
//!     └── verify through SQL ◄──────────── again while it recovers ◄──┘
//! ```
//!
//! A transaction moves money between two accounts, notes it in `entries`, writes four rows into
//! `parts` and deletes older ones. Some move an account to another partition, some roll back to a
//! savepoint, some roll back, and some are prepared before they commit or roll back. Meanwhile the
//! partitions of `accounts` are split, merged, exchanged, rewritten, detached and attached. After
//! each restart:
//!
//! 0. prepared transactions are still prepared, and are then committed or rolled back
//!    (`two_phase`);
//! 1. each client's ledger holds ([`Ledger::settle`]);
//! 2. each balance is what the ledgers say, so the total never changes;
//! 3. every index leads to the same rows as its table;
//! 4. the partitions are those of the last change, and no other tables are left (`shapes`).
//!
//! Rows that a reader was shown are promised as well: an answer waits until what
//! it shows is durable (docs/design.md 5.4).

mod shapes;
mod two_phase;

use std::collections::BTreeMap;
use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use steppe_vfs::SeededRandom;
use tokio::task::JoinSet;
use tokio_postgres::error::SqlState;
use tokio_postgres::{Client, NoTls, Row, SimpleQueryMessage};

use crate::failure::{Failure, Result};
use crate::ledger::{Ledger, PARTS_PER_TRANSACTION, PARTS_WINDOW, Transfer};
use crate::process::{ServerOptions, ServerProcess, TempDir};
use shapes::Shapes;

const ACCOUNTS: i32 = 50;
const REGIONS: i32 = 8;
/// Tables are created anew after this many cycles, so that the checks stay quick.
const CYCLES_PER_GENERATION: u64 = 25;
/// A restart recovers at most some seconds of load.
const READY_TIMEOUT: Duration = Duration::from_secs(120);

const SCHEMA: &str = "
    DROP TABLE IF EXISTS parts;
    DROP TABLE IF EXISTS entries;
    DROP TABLE IF EXISTS accounts;
    DROP TABLE IF EXISTS shapes;
    CREATE TABLE entries (
        client integer, number bigint, source integer NOT NULL, target integer NOT NULL,
        amount bigint NOT NULL, PRIMARY KEY (client, number));
    CREATE INDEX entries_target ON entries (target);
    CREATE TABLE parts (client integer, number bigint, part bigint, filler text,
        PRIMARY KEY (client, number, part));
    CREATE INDEX parts_filler ON parts (filler);";

/// How to run.
#[derive(Debug, Clone)]
pub struct Options {
    /// The binary `steppe`.
    pub server: PathBuf,
    /// How often to kill the server; `None` runs until a check fails.
    pub cycles: Option<u64>,
    /// Clients that write; one more reads.
    pub clients: usize,
    /// The longest load before a kill, in milliseconds.
    pub load_ms_max: u64,
    /// Chooses moments and transactions. The interleaving is the machine's.
    pub seed: u64,
}

type Ledgers = Vec<Arc<Mutex<Ledger>>>;

/// Runs the cycles; `report` gets a line for each.
pub async fn run(options: &Options, mut report: impl FnMut(&str)) -> Result<()> {
    let directory = TempDir::new("steppe-kill9")?;
    let result = run_in(options, directory.path(), &mut report).await;
    if result.is_err() {
        report(&format!("the data directory is kept in {}", directory.keep().display()));
    }
    result
}

async fn run_in(options: &Options, directory: &Path, report: &mut impl FnMut(&str)) -> Result<()> {
    let server_options = ServerOptions {
        binary: options.server.clone(),
        data_dir: directory.join("data"),
        // Small enough that pages are evicted, and checkpoints run, under this load.
        settings: [
            "shared_buffers=8MB",
            "max_wal_size=32MB",
            "checkpoint_timeout=30s",
            "max_prepared_transactions=100",
        ]
        .map(str::to_owned)
        .to_vec(),
    };
    let random = SeededRandom::new(options.seed);
    let (mut server, mut address) = start(&server_options)?;
    let mut ledgers = Ledgers::new();
    let mut shapes = Arc::new(Mutex::new(Shapes::new()));
    let mut cycle = 0;
    while options.cycles.is_none_or(|cycles| cycle < cycles) {
        if cycle % CYCLES_PER_GENERATION == 0 {
            shapes = Arc::new(Mutex::new(Shapes::new()));
            prepare(address, &shapes).await?;
            ledgers = (0..options.clients).map(|_| Arc::default()).collect();
        }
        cycle += 1;
        let load_ms = 50 + random.below(options.load_ms_max);
        let load_time = Duration::from_millis(load_ms);
        let end = load(address, (&ledgers, &shapes), &random, server, load_time).await?;
        let recoveries_killed = kill_recoveries(&server_options, &random)?;
        (server, address) = start(&server_options)?;
        let verified = verify(address, &ledgers, &shapes, &random).await;
        verified.map_err(|failure| match failure {
            Failure::Broken(what) => {
                let output = server.output();
                Failure::Broken(format!("cycle {cycle}: {what}\nthe server printed:\n{output}"))
            }
            other => other,
        })?;
        let committed: usize = ledgers.iter().map(|ledger| lock(ledger).committed_count()).sum();
        report(&format!(
            "cycle {cycle}: {load_ms} ms of load, {end}, killed in recovery {recoveries_killed} \
             times: {committed} commits and {} changes of partitions hold",
            lock(&shapes).number()
        ));
    }
    server.stop(READY_TIMEOUT)?;
    Ok(())
}

fn start(options: &ServerOptions) -> Result<(ServerProcess, SocketAddr)> {
    Ok(ServerProcess::start(options, READY_TIMEOUT)?)
}

/// Starts the server a few times only to kill it while it recovers.
fn kill_recoveries(options: &ServerOptions, random: &SeededRandom) -> Result<u64> {
    let times = random.below(3);
    for _ in 0..times {
        let server = ServerProcess::spawn(options)?;
        std::thread::sleep(Duration::from_millis(random.below(60)));
        server.kill()?;
    }
    Ok(times)
}

async fn connect(address: SocketAddr) -> Result<Client> {
    let config =
        format!("host={} port={} user=postgres dbname=postgres", address.ip(), address.port());
    let (client, connection) = tokio_postgres::connect(&config, NoTls).await?;
    // It ends with an error when the server is killed: the client's calls say so too.
    tokio::spawn(connection);
    Ok(client)
}

async fn prepare(address: SocketAddr, shapes: &Mutex<Shapes>) -> Result<()> {
    let client = connect(address).await?;
    client.batch_execute(SCHEMA).await?;
    let create = lock(shapes).create();
    client.batch_execute(&create).await?;
    let fill = format!(
        "INSERT INTO accounts SELECT id, id % {REGIONS}, 0 FROM generate_series(1, {ACCOUNTS}) id"
    );
    client.batch_execute(&fill).await?;
    Ok(())
}

/// Runs the clients until the time is over, then ends the server under them.
async fn load(
    address: SocketAddr,
    (ledgers, shapes): (&Ledgers, &Arc<Mutex<Shapes>>),
    random: &SeededRandom,
    server: ServerProcess,
    duration: Duration,
) -> Result<&'static str> {
    let mut clients = JoinSet::new();
    for (number, ledger) in ledgers.iter().enumerate() {
        let writer = Writer {
            client: connect(address).await?,
            number: i32::try_from(number).unwrap_or(i32::MAX),
            ledger: Arc::clone(ledger),
            random: SeededRandom::new(random.next()),
        };
        clients.spawn(writer.run());
    }
    clients.spawn(read(connect(address).await?, ledgers.clone()));
    let (changer, own) = (connect(address).await?, SeededRandom::new(random.next()));
    clients.spawn(shapes::change(changer, Arc::clone(shapes), own));
    tokio::time::sleep(duration).await;
    // A clean stop in the middle of transactions is a kind of crash, too.
    let end = if random.chance(1, 8) {
        tokio::task::spawn_blocking(move || server.stop(READY_TIMEOUT))
            .await
            .map_err(io::Error::other)??;
        "stopped"
    } else {
        server.kill()?;
        "killed"
    };
    while let Some(ended) = clients.join_next().await {
        ended.map_err(io::Error::other)??;
    }
    Ok(end)
}

/// One client that writes.
struct Writer {
    client: Client,
    number: i32,
    ledger: Arc<Mutex<Ledger>>,
    random: SeededRandom,
}

/// Why a client's transaction did not commit.
enum Ended {
    /// The connection is lost: the server was killed.
    Connection,
    /// A deadlock's victim, or the account has been moved meanwhile: roll back and go on.
    Victim,
}

impl Ended {
    fn of(error: tokio_postgres::Error) -> Result<Ended> {
        match error.code() {
            None => Ok(Ended::Connection),
            Some(code) if *code == SqlState::ADMIN_SHUTDOWN => Ok(Ended::Connection),
            Some(code) if *code == SqlState::CRASH_SHUTDOWN => Ok(Ended::Connection),
            Some(code) if *code == SqlState::T_R_DEADLOCK_DETECTED => Ok(Ended::Victim),
            Some(code) if *code == SqlState::T_R_SERIALIZATION_FAILURE => Ok(Ended::Victim),
            Some(_) => Err(Failure::Sql(error)),
        }
    }
}

impl Writer {
    async fn run(self) -> Result<()> {
        loop {
            let number = lock(&self.ledger).next_number();
            match self.transaction(number).await {
                Ok(()) => {}
                Err(error) => match Ended::of(error)? {
                    Ended::Connection => return Ok(()),
                    Ended::Victim => {
                        lock(&self.ledger).commit_refused();
                        if self.client.batch_execute("ROLLBACK").await.is_err() {
                            return Ok(());
                        }
                    }
                },
            }
        }
    }

    async fn transaction(&self, number: i64) -> std::result::Result<(), tokio_postgres::Error> {
        let transfer = Transfer {
            source: 1 + self.below(ACCOUNTS),
            target: 1 + self.below(ACCOUNTS),
            amount: i64::from(self.below(1000)),
        };
        let client = &self.client;
        client.batch_execute("BEGIN").await?;
        let note = "INSERT INTO entries (client, number, source, target, amount) \
                    VALUES ($1, $2, $3, $4, $5)";
        let Transfer { source, target, amount } = transfer;
        client.execute(note, &[&self.number, &number, &source, &target, &amount]).await?;
        if self.random.chance(1, 6) {
            self.detour(number).await?;
        }
        let change = "UPDATE accounts SET balance = balance + $1 WHERE id = $2";
        client.execute(change, &[&-amount, &source]).await?;
        if self.random.chance(1, 4) {
            let relocate = "UPDATE accounts SET region = $1 WHERE id = $2";
            client.execute(relocate, &[&self.below(REGIONS), &target]).await?;
        }
        client.execute(change, &[&amount, &target]).await?;
        let parts = "INSERT INTO parts SELECT $1, $2, part, repeat(md5(part::text), 4) \
                     FROM generate_series(1, $3::bigint) part";
        client.execute(parts, &[&self.number, &number, &PARTS_PER_TRANSACTION]).await?;
        let old = "DELETE FROM parts WHERE client = $1 AND number <= $2";
        client.execute(old, &[&self.number, &(number - PARTS_WINDOW)]).await?;
        if self.random.chance(1, 10) {
            return client.batch_execute("ROLLBACK").await;
        }
        if self.random.chance(1, 6) {
            return self.end_in_two_phases(number, transfer).await;
        }
        lock(&self.ledger).commit_sent(number, transfer);
        client.batch_execute("COMMIT").await?;
        lock(&self.ledger).commit_acknowledged();
        Ok(())
    }

    /// Work that is rolled back to a savepoint: it must stay invisible.
    async fn detour(&self, number: i64) -> std::result::Result<(), tokio_postgres::Error> {
        let client = &self.client;
        client.batch_execute("SAVEPOINT detour").await?;
        let change = "UPDATE accounts SET balance = balance + 1000000 WHERE id = $1";
        client.execute(change, &[&(1 + self.below(ACCOUNTS))]).await?;
        let note = "INSERT INTO entries VALUES ($1, $2, 0, 0, 0)";
        client.execute(note, &[&self.number, &-number]).await?;
        client.batch_execute("ROLLBACK TO SAVEPOINT detour").await
    }

    fn below(&self, bound: i32) -> i32 {
        i32::try_from(self.random.below(bound.unsigned_abs().into())).unwrap_or(0)
    }
}

/// The client that reads, and adds the rows that it was shown to the ledgers.
async fn read(client: Client, ledgers: Ledgers) -> Result<()> {
    loop {
        for (number, ledger) in (0i32..).zip(&ledgers) {
            let newest =
                "SELECT number FROM entries WHERE client = $1 ORDER BY number DESC LIMIT 1";
            match client.query_opt(newest, &[&number]).await {
                Ok(Some(row)) => lock(ledger).observe(row.get(0)),
                Ok(None) => {}
                Err(error) => match Ended::of(error)? {
                    Ended::Connection => return Ok(()),
                    Ended::Victim => {}
                },
            }
        }
    }
}

async fn verify(
    address: SocketAddr,
    ledgers: &Ledgers,
    shapes: &Mutex<Shapes>,
    random: &SeededRandom,
) -> Result<()> {
    let client = connect(address).await?;
    two_phase::settle(&client, ledgers, random).await?;
    shapes::verify(&client, shapes).await?;
    let mut balances: BTreeMap<i32, i64> = (1..=ACCOUNTS).map(|id| (id, 0)).collect();
    for (number, ledger) in (0i32..).zip(ledgers) {
        let entries = client
            .query(
                "SELECT number, source, target, amount FROM entries WHERE client = $1",
                &[&number],
            )
            .await?;
        let entry = |row: &Row| {
            let transfer = Transfer { source: row.get(1), target: row.get(2), amount: row.get(3) };
            (row.get(0), transfer)
        };
        let entries: Vec<(i64, Transfer)> = entries.iter().map(entry).collect();
        let parts = client
            .query(
                "SELECT number, count(*) FROM parts WHERE client = $1 GROUP BY number",
                &[&number],
            )
            .await?;
        let parts: Vec<(i64, i64)> = parts.iter().map(|row| (row.get(0), row.get(1))).collect();
        let mut ledger = lock(ledger);
        let settled = ledger.settle(&entries, &parts);
        settled.map_err(|what| Failure::Broken(format!("client {number}: {what}")))?;
        ledger.apply(&mut balances);
    }
    verify_balances(&client, &balances).await?;
    verify_indexes(&client).await
}

async fn verify_balances(client: &Client, want: &BTreeMap<i32, i64>) -> Result<()> {
    let rows = client.query("SELECT id, balance FROM accounts", &[]).await?;
    let have: BTreeMap<i32, i64> = rows.iter().map(|row| (row.get(0), row.get(1))).collect();
    if rows.len() != have.len() || have.len() != want.len() {
        return Err(Failure::Broken(format!("{} accounts, not {}", rows.len(), want.len())));
    }
    match want.iter().find(|&(id, balance)| have.get(id) != Some(balance)) {
        Some((id, balance)) => {
            let found = have.get(id);
            Err(Failure::Broken(format!("account {id} has {found:?}, the ledgers say {balance}")))
        }
        None => Ok(()),
    }
}

/// Reads each table through each of its indexes and without any, and compares the rows.
async fn verify_indexes(client: &Client) -> Result<()> {
    const INDEXES: [(&str, &str, &str, &str); 5] = [
        // Each partition has its own.
        ("accounts_", "accounts", "id, balance", "id > 0"),
        ("entries_pkey", "entries", "client, number, target", "client >= 0"),
        ("entries_target", "entries", "target, client, number", "target >= 0"),
        ("parts_pkey", "parts", "client, number, part", "client >= 0"),
        ("parts_filler", "parts", "filler, client, number, part", "filler > ''"),
    ];
    for (index, table, columns, condition) in INDEXES {
        let query = format!("SELECT {columns} FROM {table} WHERE {condition} ORDER BY {columns}");
        client.batch_execute("SET enable_seqscan = off; SET enable_bitmapscan = off").await?;
        client.batch_execute("SET enable_indexscan = on; SET enable_indexonlyscan = on").await?;
        let plan = texts(&client.simple_query(&format!("EXPLAIN (COSTS OFF) {query}")).await?);
        let used = format!(" using {index}");
        if !plan.iter().any(|line| line.contains(&used)) {
            return Err(Failure::Broken(format!("{query} does not use {index}: {plan:?}")));
        }
        let through_index = texts(&client.simple_query(&query).await?);
        client.batch_execute("SET enable_seqscan = on; SET enable_indexscan = off").await?;
        client.batch_execute("SET enable_indexonlyscan = off").await?;
        let from_table = texts(&client.simple_query(&query).await?);
        if through_index != from_table {
            let (indexed, scanned) = (through_index.len(), from_table.len());
            let what = format!("{index} leads to {indexed} rows, {table} has {scanned}");
            return Err(Failure::Broken(format!("{what}, or they differ in content")));
        }
    }
    Ok(())
}

/// Each row as one text.
fn texts(messages: &[SimpleQueryMessage]) -> Vec<String> {
    let rows = messages.iter().filter_map(|message| match message {
        SimpleQueryMessage::Row(row) => Some(row),
        _ => None,
    });
    rows.map(|row| {
        let columns = (0..row.len()).map(|column| row.get(column).unwrap_or("NULL"));
        columns.collect::<Vec<_>>().join("|")
    })
    .collect()
}

fn lock<T>(shared: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}
