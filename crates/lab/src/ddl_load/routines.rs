//! Functions, triggers, columns and foreign keys that change while clients use them.
//!
//! ```text
//!   16 clients      call functions and procedures, insert, delete: one statement after the other
//!   4 changers      replace and drop functions; make triggers anew and switch them off; add and drop
//!                   columns of tables that functions use; add and drop a foreign key (`changes`)
//! ```
//!
//! The following must hold for every interleaving:
//!
//! 1. the result of a call is that of one version of its function, and that version was in force
//!    between the call's begin and its end;
//! 2. all rows of an INSERT have the triggers of one version;
//! 3. a function reads all rows of a table whose columns change;
//! 4. from ADD CONSTRAINT to DROP CONSTRAINT no row refers to a key that is not there;
//! 5. every error is one of [`Call::allowed`].
//!
//! PostgreSQL itself breaks 1 and 5 now and then: a call that was planned before its function was
//! dropped fails with XX000, "cache lookup failed". Such errors are counted for PostgreSQL, and are
//! never allowed for Steppe.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use tokio::task::JoinSet;
use tokio_postgres::{Client, Statement};

use super::changes::{self, Changer};
use super::{HANG_TIMEOUT, Place, Result, broken, connect};
use crate::failure::Failure;
use steppe_vfs::SeededRandom;

/// Rows of the table whose columns change, and the sum of their values.
pub(super) const SHAPES: i64 = 10;
pub(super) const SHAPES_SUM: i64 = SHAPES * (SHAPES + 1) / 2;
/// Keys of `parent`. References may be to twice as many.
pub(super) const PARENTS: u64 = 20;

/// The state that all tasks share.
#[derive(Debug, Default)]
pub(super) struct Shared {
    stop: AtomicBool,
    /// The names of calls and changes that have not succeeded yet.
    missing: Mutex<BTreeSet<&'static str>>,
    /// The newest version of the functions whose commit was acknowledged.
    pub(super) version: AtomicI64,
}

impl Shared {
    pub(super) fn is_over(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    pub(super) fn succeeded(&self, name: &'static str) {
        self.missing().remove(name);
    }

    fn missing(&self) -> std::sync::MutexGuard<'_, BTreeSet<&'static str>> {
        self.missing.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// How often something has happened.
pub(super) type Counts = BTreeMap<String, u64>;

/// A statement of a client.
#[derive(Clone, Copy, Debug)]
struct Call {
    name: &'static str,
    sql: &'static str,
    /// The rule for its rows.
    result: Shape,
    /// The errors that PostgreSQL gives under this load.
    allowed: &'static [&'static str],
}

/// A rule for the rows of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Shape {
    /// All values are the number of one version of the functions.
    Version,
    /// All values of all rows are equal, or all are null.
    Equal,
    /// The sum of the values of `shape`.
    Sum,
    /// Anything.
    Any,
}

/// 42883: the function is dropped just now.
const NO_FUNCTION: &[&str] = &["42883"];
/// The column is dropped just now (42703), or it has another type than in the plan (42804).
const NO_COLUMN: &[&str] = &["42703", "42804"];
/// The key is not there, or is referred to (23503). A statement on one table of the foreign key needs
/// the other, and so does a change of the foreign key (40P01).
const NO_KEY: &[&str] = &["23503", "40P01"];

const CALLS: &[Call] = &[
    Call {
        name: "function",
        sql: "SELECT a, b FROM whole()",
        result: Shape::Version,
        allowed: NO_FUNCTION,
    },
    Call {
        name: "set",
        sql: "SELECT * FROM rows_of_whole()",
        result: Shape::Version,
        allowed: NO_FUNCTION,
    },
    Call {
        name: "in SQL",
        sql: "SELECT (w).a, (w).b FROM (SELECT whole() AS w OFFSET 0) x",
        result: Shape::Version,
        allowed: NO_FUNCTION,
    },
    Call {
        name: "procedure",
        sql: "CALL whole_of(NULL, NULL)",
        result: Shape::Version,
        allowed: NO_FUNCTION,
    },
    Call {
        name: "insert with triggers",
        sql: "INSERT INTO work (note) SELECT 'x' FROM generate_series(1, 3) RETURNING a, b",
        result: Shape::Equal,
        allowed: &[],
    },
    Call { name: "rows", sql: "SELECT by_row()::bigint", result: Shape::Sum, allowed: NO_COLUMN },
    Call {
        name: "records",
        sql: "SELECT by_record()::bigint",
        result: Shape::Sum,
        allowed: NO_COLUMN,
    },
    Call {
        name: "column",
        sql: "SELECT of_column()::bigint",
        result: Shape::Any,
        allowed: NO_COLUMN,
    },
    Call {
        name: "insert reference",
        sql: "INSERT INTO child SELECT n, 1 + (random() * 39)::int FROM generate_series(1, 2) n",
        result: Shape::Any,
        allowed: NO_KEY,
    },
    Call {
        name: "caught reference",
        sql: "SELECT try_child(1 + (random() * 39)::int)::bigint",
        result: Shape::Any,
        allowed: NO_KEY,
    },
    Call {
        name: "delete key",
        sql: "DELETE FROM parent WHERE id = 1 + (random() * 19)::int",
        result: Shape::Any,
        allowed: NO_KEY,
    },
    Call {
        name: "insert key",
        sql: "INSERT INTO parent SELECT 1 + (random() * 19)::int ON CONFLICT DO NOTHING",
        result: Shape::Any,
        allowed: NO_KEY,
    },
];

/// Runs the load; returns a line about it.
pub(super) async fn load(
    (place, is_steppe): (&Place, bool),
    clients: usize,
    seconds: u64,
    random: &SeededRandom,
) -> Result<String> {
    let setup = connect(place).await?;
    changes::create(&setup).await?;
    let names = CALLS.iter().map(|call| call.name).chain(changes::NAMES.iter().copied());
    let missing = Mutex::new(names.collect());
    let shared = Arc::new(Shared { missing, ..Shared::default() });
    let mut tasks: JoinSet<Result<Counts>> = JoinSet::new();
    for number in 0..clients {
        let user = User {
            client: connect(place).await?,
            random: SeededRandom::new(random.next()),
            shared: shared.clone(),
            is_steppe,
            prepares: number % 2 == 0,
        };
        tasks.spawn(user.run());
    }
    for what in changes::ALL {
        let random = SeededRandom::new(random.next());
        let changer = Changer::new(connect(place).await?, random, shared.clone());
        tasks.spawn(changer.run(*what));
    }
    let counts = tokio::time::timeout(
        Duration::from_secs(seconds) + 3 * HANG_TIMEOUT,
        wait(seconds, &shared, &mut tasks),
    );
    let counts = counts.await.unwrap_or_else(|_| broken("a session does not answer".into()))?;
    // Else nothing has been shown.
    match &*shared.missing() {
        missing if missing.is_empty() => Ok(format!("{counts:?}")),
        missing => broken(format!("too little happened: no {missing:?}; {counts:?}")),
    }
}

/// Waits until the time is over and all tasks have ended, or the first has failed. Where the machine
/// is busy, the time is longer: until each call and change has succeeded.
async fn wait(
    seconds: u64,
    shared: &Shared,
    tasks: &mut JoinSet<Result<Counts>>,
) -> Result<Counts> {
    let mut counts = Counts::new();
    let start = Instant::now();
    let (least, most) = (Duration::from_secs(seconds), Duration::from_secs(seconds) + HANG_TIMEOUT);
    let mut looks = tokio::time::interval(Duration::from_millis(50));
    loop {
        tokio::select! {
            _ = looks.tick(), if !shared.is_over() => {
                let is_over = start.elapsed() >= least && shared.missing().is_empty();
                shared.stop.store(is_over || start.elapsed() >= most, Ordering::Relaxed);
            }
            ended = tasks.join_next() => {
                let Some(ended) = ended else { return Ok(counts) };
                for (what, count) in ended.map_err(io::Error::other)?? {
                    *counts.entry(what).or_default() += count;
                }
            }
        }
    }
}

/// A client that calls.
struct User {
    client: Client,
    random: SeededRandom,
    shared: Arc<Shared>,
    is_steppe: bool,
    prepares: bool,
}

impl User {
    async fn run(self) -> Result<Counts> {
        let mut counts = Counts::new();
        let mut prepared: Vec<Option<Statement>> = vec![None; CALLS.len()];
        while !self.shared.is_over() {
            let at = self.random.below(CALLS.len() as u64) as usize;
            let call = &CALLS[at];
            match self.call(call, &mut prepared[at]).await {
                Ok(()) => {
                    self.shared.succeeded(call.name);
                    *counts.entry(call.name.to_owned()).or_default() += 1;
                }
                Err(Failure::Sql(error)) => {
                    let code = error.code().map(|code| code.code().to_owned());
                    let code =
                        code.ok_or(Failure::Sql(error)).map_err(|lost| at_call(call, &lost))?;
                    self.judge(call, &code)?;
                    *counts.entry(format!("{}: {code}", call.name)).or_default() += 1;
                }
                Err(failure) => return Err(at_call(call, &failure)),
            }
        }
        Ok(counts)
    }

    fn judge(&self, call: &Call, code: &str) -> Result<()> {
        let is_allowed = call.allowed.contains(&code) || (!self.is_steppe && code == "XX000");
        match is_allowed {
            true => Ok(()),
            false => broken(format!("{code} is not allowed: {}", call.sql)),
        }
    }

    async fn call(&self, call: &Call, prepared: &mut Option<Statement>) -> Result<()> {
        let before = self.shared.version.load(Ordering::SeqCst);
        let values = match self.prepares {
            true => {
                if prepared.is_none() {
                    *prepared = Some(self.client.prepare(call.sql).await?);
                }
                let statement = prepared.as_ref().ok_or_else(|| io::Error::other("prepared"))?;
                let rows = self.client.query(statement, &[]).await?;
                let row = |row: &tokio_postgres::Row| -> Vec<Option<i64>> {
                    (0..row.len()).map(|column| row.get(column)).collect()
                };
                rows.iter().flat_map(row).collect()
            }
            false => self.simple(call.sql).await?,
        };
        // The newest version may have been published, but not acknowledged yet.
        let after = self.shared.version.load(Ordering::SeqCst) + 1;
        check(call, &values, before..=after)
    }

    async fn simple(&self, sql: &str) -> Result<Vec<Option<i64>>> {
        let mut values = Vec::new();
        for message in self.client.simple_query(sql).await? {
            if let tokio_postgres::SimpleQueryMessage::Row(row) = message {
                values.extend((0..row.len()).map(|column| row.get(column)?.parse().ok()));
            }
        }
        Ok(values)
    }
}

fn check(
    call: &Call,
    values: &[Option<i64>],
    versions: std::ops::RangeInclusive<i64>,
) -> Result<()> {
    let are_equal = values.windows(2).all(|pair| pair[0] == pair[1]);
    let is_right = match call.result {
        Shape::Version => {
            let version = values.first().copied().flatten();
            are_equal && version.is_some_and(|version| versions.contains(&version))
        }
        Shape::Equal => are_equal && !values.is_empty(),
        Shape::Sum => values == [Some(SHAPES_SUM)],
        Shape::Any => true,
    };
    match is_right {
        true => Ok(()),
        false => broken(format!("{values:?} of the versions {versions:?}: {}", call.sql)),
    }
}

fn at_call(call: &Call, failure: &Failure) -> Failure {
    Failure::Broken(format!("{failure}: {}", call.sql))
}
