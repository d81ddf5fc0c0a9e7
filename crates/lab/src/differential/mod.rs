//! Random statements, asked of Steppe and of PostgreSQL, must have the same answer.
//!
//! Statements come from a seed ([`generate`]). Each is also asked with the planner's
//! switches thrown at random (`enable_hashjoin` and so on), since an answer may not
//! depend on the plan. Rows are compared as a multiset, or in order where there is an
//! ORDER BY of all columns; errors by their SQLSTATE. What Steppe refuses with 0A000 is
//! counted, not excused: the report says how much of it there was.

mod generate;

use std::fmt;
use std::io;
use std::path::PathBuf;
use std::time::Duration;

use tokio_postgres::{Client, NoTls, SimpleQueryMessage};

use crate::oracle::Oracle;
use crate::process::{ServerOptions, ServerProcess, TempDir};
use generate::{Generator, Statement};
use steppe_vfs::SeededRandom;

/// Statements between two new sets of tables.
const STATEMENTS_PER_SCHEMA: u64 = 150;
/// How long either server may think about one statement, in milliseconds.
const STATEMENT_TIMEOUT_MS: u64 = 5_000;
const START_TIMEOUT: Duration = Duration::from_secs(60);
const SWITCHES: &[&str] = &[
    "enable_hashjoin",
    "enable_mergejoin",
    "enable_nestloop",
    "enable_indexscan",
    "enable_hashagg",
    "enable_sort",
];

/// What to run.
#[derive(Clone, Debug)]
pub struct Options {
    /// The binary `steppe`.
    pub server: PathBuf,
    /// PostgreSQL: `HOST:PORT`, or the directory of its binaries.
    pub postgres: String,
    /// Where statements come from.
    pub seed: u64,
    /// How many.
    pub statements: u64,
}

/// What came out.
#[derive(Clone, Copy, Debug, Default)]
pub struct Report {
    /// Statements with the same rows on both.
    pub equal: u64,
    /// Statements that both refused, with the same SQLSTATE or Steppe with 0A000.
    pub refused: u64,
    /// Statements that only Steppe refused, with 0A000.
    pub unsupported: u64,
    /// Statements that either server had no answer to in time. (What they join is
    /// random, and the server under test is mostly an unoptimised build.)
    pub slow: u64,
    /// Statements with different answers.
    pub different: u64,
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Report { equal, refused, unsupported, slow, different } = self;
        write!(
            f,
            "{equal} equal, {refused} refused by both, {unsupported} not supported, \
             {slow} too slow, {different} different"
        )
    }
}

/// What a server made of a statement.
#[derive(Debug, PartialEq, Eq)]
enum Answer {
    Rows(Vec<Vec<Option<String>>>),
    Error(String, String),
}

/// Why the run could not go on.
pub type Failure = Box<dyn std::error::Error>;

/// Runs the statements; `report` gets a line for each difference.
pub async fn run(options: &Options, mut report: impl FnMut(&str)) -> Result<Report, Failure> {
    let oracle = Oracle::open(&options.postgres)?;
    let database = format!("differential_{}", std::process::id());
    oracle.create_database(&database)?;
    let directory = TempDir::new("steppe-differential")?;
    let server_options = ServerOptions {
        binary: options.server.clone(),
        data_dir: directory.path().join("data"),
        // Little memory: sorts and hashes spill, too.
        settings: vec!["shared_buffers=16MB".into(), "work_mem=64kB".into()],
    };
    let (server, address) = ServerProcess::start(&server_options, START_TIMEOUT)?;
    let result = async {
        let steppe = connect(address, "postgres").await?;
        let postgres = connect(oracle.address(), &database).await?;
        compare_all(options, &steppe, &postgres, &mut report).await
    }
    .await;
    oracle.drop_database(&database)?;
    server.stop(START_TIMEOUT)?;
    result
}

async fn connect(address: std::net::SocketAddr, database: &str) -> Result<Client, Failure> {
    let config =
        format!("host={} port={} user=postgres dbname={database}", address.ip(), address.port());
    let (client, connection) = tokio_postgres::connect(&config, NoTls).await?;
    tokio::spawn(connection);
    client.batch_execute(&format!("SET statement_timeout = {STATEMENT_TIMEOUT_MS}")).await?;
    Ok(client)
}

async fn compare_all(
    options: &Options,
    steppe: &Client,
    postgres: &Client,
    report: &mut impl FnMut(&str),
) -> Result<Report, Failure> {
    let mut total = Report::default();
    let switches = SeededRandom::new(options.seed ^ 0x5377_6974_6368);
    let mut generator = Generator::new(options.seed);
    for number in 0..options.statements {
        if number % STATEMENTS_PER_SCHEMA == 0 {
            generator = begin(options.seed.wrapping_add(number), steppe, postgres).await?;
        }
        let setting = throw_switches(&switches);
        steppe.batch_execute(&setting).await?;
        let statement = generator.statement();
        let (ours, theirs) = (ask(steppe, &statement).await?, ask(postgres, &statement).await?);
        match (&ours, &theirs) {
            (Answer::Rows(a), Answer::Rows(b)) if a == b => total.equal += 1,
            (Answer::Error(code, _), _) | (_, Answer::Error(code, _)) if code == "57014" => {
                total.slow += 1;
                report(&format!("too slow: {}", statement.sql));
            }
            // What is not supported may be wrong in PostgreSQL for a reason of its own.
            (Answer::Error(a, _), Answer::Error(b, _)) if a == b || a == "0A000" => {
                total.refused += 1;
            }
            (Answer::Error(code, message), Answer::Rows(_)) if code == "0A000" => {
                total.unsupported += 1;
                report(&format!("not supported: {message}\n    {}", statement.sql));
            }
            _ => {
                total.different += 1;
                let place = format!("--seed {} statement {number}", options.seed);
                report(&difference(&place, &setting, &statement, &ours, &theirs));
            }
        }
        if matches!(ours, Answer::Error(..)) != matches!(theirs, Answer::Error(..)) {
            // The tables may have parted: begin with new ones.
            let seed = options.seed.wrapping_add(number).wrapping_mul(3);
            generator = begin(seed, steppe, postgres).await?;
        }
    }
    Ok(total)
}

/// Makes the tables of a seed on both servers.
async fn begin(seed: u64, steppe: &Client, postgres: &Client) -> Result<Generator, Failure> {
    let generator = Generator::new(seed);
    for statement in generator.schema() {
        steppe.batch_execute(&statement).await?;
        postgres.batch_execute(&statement).await?;
    }
    Ok(generator)
}

fn throw_switches(random: &SeededRandom) -> String {
    let set = |switch: &&str| {
        let to = if random.chance(70, 100) { "on" } else { "off" };
        format!("SET {switch} = {to}")
    };
    SWITCHES.iter().map(set).collect::<Vec<_>>().join("; ")
}

async fn ask(client: &Client, statement: &Statement) -> Result<Answer, Failure> {
    let messages = match client.simple_query(&statement.sql).await {
        Ok(messages) => messages,
        Err(error) => {
            let answer = error.as_db_error().ok_or_else(|| {
                io::Error::other(format!("a server went away over: {}", statement.sql))
            })?;
            return Ok(Answer::Error(answer.code().code().into(), answer.message().into()));
        }
    };
    let mut rows = Vec::new();
    for message in messages {
        if let SimpleQueryMessage::Row(row) = message {
            rows.push((0..row.len()).map(|i| row.get(i).map(str::to_owned)).collect());
        }
    }
    if !statement.ordered {
        rows.sort();
    }
    Ok(Answer::Rows(rows))
}

fn difference(
    place: &str,
    setting: &str,
    statement: &Statement,
    ours: &Answer,
    theirs: &Answer,
) -> String {
    format!(
        "DIFFERENT, {place} (schema of statement {STATEMENTS_PER_SCHEMA}s):\n    {}\n    \
         with {setting}\n    Steppe:     {}\n    PostgreSQL: {}",
        statement.sql,
        shown(ours),
        shown(theirs)
    )
}

fn shown(answer: &Answer) -> String {
    match answer {
        Answer::Error(code, message) => format!("{code} {message}"),
        Answer::Rows(rows) => {
            let cell = |cell: &Option<String>| cell.clone().unwrap_or_else(|| "∅".into());
            let row =
                |row: &Vec<Option<String>>| row.iter().map(cell).collect::<Vec<_>>().join("|");
            let first: Vec<String> = rows.iter().take(12).map(row).collect();
            format!("{} rows: {}", rows.len(), first.join("  "))
        }
    }
}
