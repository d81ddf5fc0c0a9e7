//! Random statements must have the same answer on Steppe and PostgreSQL.
//!
//! Statements come from a seed. Each runs with random planner switches (`enable_hashjoin` and so
//! on), since an answer may not depend on the plan. Errors are compared by their SQLSTATE.
//! Statements that Steppe refuses with 0A000 are counted, and the report has their number.
//!
//! There are eight [`Subject`]s. [`statements`] asks all kinds of statements over plain tables
//! ([`generate`]). [`plans`] asks joins, groups and orders over tables large enough to be planned
//! in many ways. [`constants`] places constants that fail where they are not needed. [`partitions`]
//! tests pruning more than SQL. [`routines`] runs random PL/pgSQL, triggers and foreign keys, and
//! compares notices, messages and contexts, too. [`schedules`] has several sessions change rows of
//! foreign keys in a fixed order of steps.

mod answer;
mod constants;
mod generate;
mod partitions;
mod plans;
mod routines;
mod schedules;
mod statements;

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use crate::golden::AUTOVACUUM;
use crate::oracle::Oracle;
use crate::process::{ServerOptions, ServerProcess, TempDir};
use answer::connect;
use generate::Generator;
use plans::Plans;
use steppe_vfs::SeededRandom;

const START_TIMEOUT: Duration = Duration::from_secs(60);
const SWITCHES: &[&str] = &[
    "enable_hashjoin",
    "enable_mergejoin",
    "enable_nestloop",
    "enable_indexscan",
    "enable_hashagg",
    "enable_sort",
    "enable_material",
    "enable_partitionwise_join",
    "enable_partitionwise_aggregate",
];

/// The subject of the statements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Subject {
    /// SQL in general.
    Statements,
    /// Constants that fail.
    Constants,
    /// Joins, groups and orders of tables with and without statistics.
    Plans,
    /// Partitioned tables: pruned, not pruned, and PostgreSQL.
    Partitions,
    /// Functions and blocks in PL/pgSQL.
    Routines,
    /// Triggers.
    Triggers,
    /// Foreign keys.
    Keys,
    /// Foreign keys under several sessions.
    Schedules,
}

/// The options of a run.
#[derive(Clone, Debug)]
pub struct Options {
    /// The binary `steppe`.
    pub server: PathBuf,
    /// PostgreSQL: `HOST:PORT`, or the directory of its binaries.
    pub postgres: String,
    /// The subject of the statements.
    pub subject: Subject,
    /// Where statements come from.
    pub seed: u64,
    /// The number of statements, or of schedules; `None` runs until it is interrupted.
    pub statements: Option<u64>,
}

/// The counts of a run.
#[derive(Clone, Copy, Debug, Default)]
pub struct Report {
    /// Statements with the same rows on both.
    pub equal: u64,
    /// Statements that both refused, with the same SQLSTATE or Steppe with 0A000.
    pub refused: u64,
    /// Statements that only Steppe refused, with 0A000.
    pub unsupported: u64,
    /// Statements that timed out on either server, or sent too many notices. (What they join is
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
        settings: ["shared_buffers=16MB", "work_mem=64kB", AUTOVACUUM].map(str::to_owned).to_vec(),
    };
    let (server, address) = ServerProcess::start(&server_options, START_TIMEOUT)?;
    let result = async {
        let (ours, theirs) = ((address, "postgres"), (oracle.address(), &*database));
        match options.subject {
            Subject::Statements | Subject::Constants | Subject::Plans => {
                let steppe = connect(ours.0, ours.1).await?;
                let postgres = connect(theirs.0, theirs.1).await?;
                let servers = (&steppe, &postgres);
                match options.subject {
                    Subject::Constants => {
                        constants::compare_all(options, servers, &mut report).await
                    }
                    Subject::Plans => {
                        statements::compare_all::<Plans>(options, servers, &mut report).await
                    }
                    _ => statements::compare_all::<Generator>(options, servers, &mut report).await,
                }
            }
            Subject::Partitions => {
                partitions::compare_all(options, (ours, theirs), &mut report).await
            }
            Subject::Schedules => {
                schedules::compare_all(options, (ours, theirs), oracle.major(), &mut report).await
            }
            Subject::Routines | Subject::Triggers | Subject::Keys => {
                let major = oracle.major();
                routines::compare_all(options, (ours, theirs), major, &mut report).await
            }
        }
    }
    .await;
    oracle.drop_database(&database)?;
    server.stop(START_TIMEOUT)?;
    result
}

fn throw_switches(random: &SeededRandom) -> String {
    let set = |switch: &&str| {
        let to = if random.chance(70, 100) { "on" } else { "off" };
        format!("SET {switch} = {to}")
    };
    SWITCHES.iter().map(set).collect::<Vec<_>>().join("; ")
}
