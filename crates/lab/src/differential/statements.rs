//! Random statements over tables without partitions, of any [`Source`].
//!
//! Each runs with random planner switches. Rows are compared as a multiset, or in order where there
//! is an ORDER BY of all columns.

use tokio_postgres::Client;

use super::answer::{Answer, ask};
use super::generate::{STORED, Statement};
use super::{Failure, Options, Report};
use steppe_vfs::SeededRandom;

/// Statements between two new sets of tables.
const STATEMENTS_PER_SCHEMA: u64 = 150;

/// Makes tables and statements from a seed.
pub(super) trait Source {
    fn new(seed: u64) -> Self;

    /// The statements that make the tables.
    fn schema(&self) -> Vec<String>;

    fn statement(&mut self) -> Statement;

    /// The settings of Steppe for a statement.
    fn settings(random: &SeededRandom) -> String;
}

/// Compares statement after statement.
pub(super) async fn compare_all<S: Source>(
    options: &Options,
    (steppe, postgres): (&Client, &Client),
    report: &mut impl FnMut(&str),
) -> Result<Report, Failure> {
    let mut total = Report::default();
    let switches = SeededRandom::new(options.seed ^ 0x5377_6974_6368);
    let mut generator = S::new(options.seed);
    for number in 0..options.statements.unwrap_or(u64::MAX) {
        if number % STATEMENTS_PER_SCHEMA == 0 {
            generator = begin(options.seed.wrapping_add(number), steppe, postgres).await?;
        }
        let setting = S::settings(&switches);
        steppe.batch_execute(&setting).await?;
        let statement = generator.statement();
        let (mut ours, mut theirs) =
            (ask(steppe, &statement.sql).await?, ask(postgres, &statement.sql).await?);
        if !statement.ordered {
            (ours, theirs) = (ours.sorted(), theirs.sorted());
        }
        match (&ours, &theirs) {
            (Answer::Rows(a), Answer::Rows(b)) if a == b => total.equal += 1,
            (Answer::Error(code, _), _) | (_, Answer::Error(code, _)) if code == "57014" => {
                total.slow += 1;
                let who = if ours.code() == Some(code) { "Steppe" } else { "PostgreSQL" };
                report(&format!("{who} is too slow: {}\n    with {setting}", statement.sql));
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
            // The tables may differ now: begin with new ones.
            let seed = options.seed.wrapping_add(number).wrapping_mul(3);
            generator = begin(seed, steppe, postgres).await?;
        }
    }
    Ok(total)
}

/// Makes the tables of a seed on both servers.
async fn begin<S: Source>(seed: u64, steppe: &Client, postgres: &Client) -> Result<S, Failure> {
    let generator = S::new(seed);
    for statement in generator.schema() {
        // Steppe has a virtual column where PostgreSQL has a stored one; the values must be the
        // same.
        steppe.batch_execute(&statement.replace(STORED, "VIRTUAL")).await?;
        postgres.batch_execute(&statement).await?;
    }
    Ok(generator)
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
        ours.shown(),
        theirs.shown()
    )
}
