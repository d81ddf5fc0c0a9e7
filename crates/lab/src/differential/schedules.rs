//! Foreign keys under two to four sessions, whose steps come in a fixed order from a seed.
//!
//! ```text
//!   A: BEGIN …      B: BEGIN …      A: INSERT INTO c …      B: DELETE FROM p …   (waits)
//!   B: (left out, it still waits)   A: COMMIT               B goes on: 23503
//! ```
//!
//! A *schedule* makes a referenced table, a referencing one, and one that refers to that, with random
//! actions, deferred or not, partitioned or not. Each session has a transaction of some statements
//! about few keys, at an isolation level of its own. Both servers must have the same steps wait and
//! go on, with the same rows, messages and contexts, and the same tables afterwards
//! ([`crate::sessions::run_schedule`]).
//!
//! At SERIALIZABLE a server may refuse transactions that harm no one, and PostgreSQL does so where it
//! locks a page of an index instead of a key. A schedule in which only one server refuses a
//! transaction for read/write dependencies counts as refused. The tables are compared in all others,
//! and no server may have an orphan in any.

use std::fmt::Write as _;
use std::io;

use super::partitions::Place;
use super::{Failure, Options, Report};
use crate::sessions::run_schedule;
use steppe_vfs::SeededRandom;

/// Keys of the referenced table are from 1 to this.
const KEYS: u64 = 4;
/// The first version of PostgreSQL with Steppe's SQLSTATE for RESTRICT.
const NEWEST: u32 = 18;
const NAMES: [char; 4] = ['A', 'B', 'C', 'D'];
const LEVELS: [&str; 3] = ["READ COMMITTED", "REPEATABLE READ", "SERIALIZABLE"];
/// A part of the message with which SERIALIZABLE refuses a transaction.
const DEPENDENCIES: &str = "due to read/write dependencies";
/// The beginning of the error of a statement that is cancelled.
const CANCELED: &str = "ERROR:  57014: ";
/// The number of differences after which a run ends.
const ENOUGH: u64 = 12;

/// The tables after all sessions have ended, and the rows whose keys are not there.
const EPILOGUE: &str = "\
A: SELECT * FROM p ORDER BY id
A: SELECT * FROM c ORDER BY id
A: SELECT * FROM g ORDER BY id
A: SELECT 'orphan' FROM c WHERE p IS NOT NULL AND p NOT IN (SELECT id FROM p) UNION ALL SELECT 'orphan' FROM g WHERE c IS NOT NULL AND c NOT IN (SELECT id FROM c)";
const ORPHAN: &str = "  orphan";

/// Compares schedule after schedule, the first of which is the seed's.
pub(super) async fn compare_all(
    options: &Options,
    (steppe, postgres): (Place<'_>, Place<'_>),
    major: u32,
    report: &mut impl FnMut(&str),
) -> Result<Report, Failure> {
    let mut total = Report::default();
    let mut seed = options.seed;
    let asked = options.statements.unwrap_or(u64::MAX);
    while total.equal + total.refused + total.different < asked && total.different < ENOUGH {
        let script = schedule(&SeededRandom::new(seed), major);
        let (ours, theirs) = (run(&script, steppe).await?, run(&script, postgres).await?);
        if ours.lines == theirs.lines && !ours.has_orphans() {
            total.equal += 1;
        } else if ours.has_dependencies != theirs.has_dependencies && !ours.has_orphans() {
            total.refused += 1;
        } else {
            total.different += 1;
            report(&shown(seed, &ours.lines, &theirs.lines));
        }
        seed = seed.wrapping_add(1);
    }
    Ok(total)
}

/// The output of a schedule on a server.
struct Ran {
    /// Rows and errors, and the steps that wait.
    lines: Vec<String>,
    /// A transaction was refused for read/write dependencies.
    has_dependencies: bool,
}

impl Ran {
    fn has_orphans(&self) -> bool {
        self.lines.iter().any(|line| line == ORPHAN)
    }
}

async fn run(script: &str, (address, database): Place<'_>) -> Result<Ran, Failure> {
    let (script, database) = (script.to_owned(), database.to_owned());
    let ran =
        tokio::task::spawn_blocking(move || run_schedule((&script, EPILOGUE), address, &database));
    let output = ran.await.map_err(io::Error::other)??;
    let has_dependencies = output.contains(DEPENDENCIES);
    Ok(Ran { lines: compared(&output), has_dependencies })
}

/// The lines of output that must be equal: all but the reasons of read/write dependencies, and the
/// places at which cancelled statements wait.
fn compared(output: &str) -> Vec<String> {
    let (mut lines, mut is_dependency, mut is_cancel) = (Vec::new(), false, false);
    for line in output.lines() {
        let is_more = line.starts_with("  DETAIL:") || line.starts_with("  HINT:");
        // The first waiter for a row has this context in PostgreSQL, and those behind it have none.
        let is_place = is_cancel && line.starts_with("  CONTEXT:  while ");
        is_cancel = line.contains(CANCELED);
        if !(is_place || is_dependency && is_more) {
            is_dependency = line.contains(DEPENDENCIES);
            lines.push(unnumbered(line));
        }
    }
    lines
}

/// PostgreSQL has a copy of a key for each partition of the referenced table, with a number in its name
/// (`_fkey_1`, before 18 `_fkey1`).
fn unnumbered(line: &str) -> String {
    let without = |line: String, n: u32| {
        let line = line.replace(&format!("_fkey_{n}\""), "_fkey\"");
        line.replace(&format!("_fkey{n}\""), "_fkey\"")
    };
    (1..=2).fold(line.to_owned(), without)
}

/// Both outputs up to the first difference.
fn shown(seed: u64, ours: &[String], theirs: &[String]) -> String {
    let common = ours.iter().zip(theirs).take_while(|(a, b)| a == b).count();
    let next = |lines: &[String]| {
        let lines: Vec<&str> = lines.iter().skip(common).take(4).map(String::as_str).collect();
        lines.join("\n            ")
    };
    format!(
        "DIFFERENT, --of schedules --seed {seed} --statements 1:\n{}\n    Steppe: {}\n    PostgreSQL: {}",
        ours[..common].join("\n"),
        next(ours),
        next(theirs)
    )
}

/// The source of a schedule.
struct Draw<'a> {
    random: &'a SeededRandom,
    /// The foreign key of `c` can be deferred.
    deferrable: bool,
    /// RESTRICT has the SQLSTATE that it has here.
    has_restrict: bool,
}

fn schedule(random: &SeededRandom, major: u32) -> String {
    let draw = Draw { random, deferrable: random.chance(1, 3), has_restrict: major >= NEWEST };
    let mut script = String::from("-- Sessions\n");
    for statement in draw.tables() {
        let _ = writeln!(script, "A: {statement}");
    }
    let count = 2 + draw.below(3) as usize;
    let mut sessions: Vec<(char, Vec<String>)> =
        NAMES[..count].iter().map(|name| (*name, draw.transaction())).collect();
    for (name, _) in &sessions {
        // A deadlock stays, so that the end of the schedule finds it.
        let _ = writeln!(script, "{name}: SET search_path = world; SET deadlock_timeout = '1h'");
    }
    while !sessions.is_empty() {
        let at = draw.below(sessions.len() as u64) as usize;
        let (name, steps) = &mut sessions[at];
        match steps.pop() {
            Some(step) => {
                let _ = writeln!(script, "{name}: {step}");
            }
            None => drop(sessions.remove(at)),
        }
    }
    script
}

impl Draw<'_> {
    fn below(&self, bound: u64) -> u64 {
        self.random.below(bound)
    }

    fn pick<'t>(&self, all: &[&'t str]) -> &'t str {
        all[self.below(all.len() as u64) as usize]
    }

    fn key(&self) -> u64 {
        1 + self.below(KEYS)
    }

    fn actions(&self) -> String {
        let action = |event| match self.below(6) {
            0 => String::new(),
            1 if self.has_restrict => format!(" ON {event} RESTRICT"),
            2 => format!(" ON {event} SET NULL"),
            3 => format!(" ON {event} SET DEFAULT"),
            _ => format!(" ON {event} CASCADE"),
        };
        action("DELETE") + &action("UPDATE")
    }

    /// The statements that make and fill the tables.
    fn tables(&self) -> Vec<String> {
        let deferred = match self.deferrable {
            true => self.pick(&[" DEFERRABLE", " DEFERRABLE INITIALLY DEFERRED"]),
            false => "",
        };
        let parts = |table: &str| match self.random.chance(1, 4) {
            true => format!(
                " PARTITION BY RANGE (id); \
                 CREATE TABLE {table}_low PARTITION OF {table} FOR VALUES FROM (MINVALUE) TO (3); \
                 CREATE TABLE {table}_high PARTITION OF {table} FOR VALUES FROM (3) TO (MAXVALUE)"
            ),
            false => String::new(),
        };
        let (of_c, of_g) = (self.actions(), self.actions());
        let mut tables = vec![
            "SET client_min_messages = error; DROP SCHEMA IF EXISTS world CASCADE; \
             CREATE SCHEMA world; SET search_path = world"
                .to_owned(),
            format!("CREATE TABLE p (id int PRIMARY KEY, v int DEFAULT 0){}", parts("p")),
            format!(
                "CREATE TABLE c (id int PRIMARY KEY, p int DEFAULT 2 REFERENCES p{of_c}{deferred}, \
                 v int DEFAULT 0){}",
                parts("c")
            ),
            format!("CREATE TABLE g (id int PRIMARY KEY, c int DEFAULT 1 REFERENCES c{of_g})"),
        ];
        tables.extend(self.random.chance(1, 2).then(|| "CREATE INDEX ON c (p)".to_owned()));
        tables.extend(self.random.chance(1, 2).then(|| "CREATE INDEX ON g (c)".to_owned()));
        tables.push("INSERT INTO p VALUES (1), (2), (3)".to_owned());
        tables.push("INSERT INTO c VALUES (1, 1), (2, 2), (3, 1)".to_owned());
        tables.push("INSERT INTO g VALUES (1, 1), (2, 3)".to_owned());
        tables
    }

    /// A transaction, its last step first.
    fn transaction(&self) -> Vec<String> {
        let level = LEVELS[self.below(3) as usize];
        let mut steps = vec![format!("BEGIN ISOLATION LEVEL {level}")];
        steps.extend((0..1 + self.below(3)).map(|_| self.statement()));
        steps.push(self.pick(&["COMMIT", "COMMIT", "COMMIT", "ROLLBACK"]).to_owned());
        steps.reverse();
        steps
    }

    /// A statement about one row, and the rows that its action reaches.
    fn statement(&self) -> String {
        let (key, other) = (self.key(), self.key());
        match self.below(16) {
            0 => format!("INSERT INTO p VALUES ({key})"),
            1..4 => format!("INSERT INTO c VALUES ({}, {key})", 4 + self.below(3)),
            4 => format!("INSERT INTO g VALUES ({}, {key})", 4 + self.below(3)),
            5..8 => format!("DELETE FROM p WHERE id = {key}"),
            8 | 9 => format!("UPDATE p SET id = {other} WHERE id = {key}"),
            10 => format!("UPDATE p SET v = v + 1 WHERE id = {key}"),
            11 | 12 => format!("UPDATE c SET p = {other} WHERE id = {key}"),
            13 => format!("DELETE FROM c WHERE id = {key}"),
            14 if self.deferrable => {
                format!("SET CONSTRAINTS ALL {}", self.pick(&["DEFERRED", "IMMEDIATE"]))
            }
            14 => format!("SELECT v FROM p WHERE id = {key} FOR UPDATE"),
            _ => format!("SELECT count(*) FROM c WHERE p = {key}"),
        }
    }
}
