//! Two statements of foreign keys, on servers of their own: ADD FOREIGN KEY over rows that are
//! there, and DELETE of parents whose children have an index.

use std::fs;
use std::path::Path;
use std::time::Instant;

use super::client::Client;
use super::figure::{Figure, merge};
use super::options::Options;
use super::outcome::median;
use super::server::{Kind, Server};
use super::{Failure, Result, interrupt, note};

/// For the command line.
pub(super) const NAME: &str = "foreign-key-statements";
pub(super) const TITLE: &str = "ADD FOREIGN KEY over 5,000,000 rows, and DELETE of 10,000 parents";

/// Rows that ADD FOREIGN KEY checks; with --check, a hundredth.
const ROWS: u32 = 5_000_000;
const PARENTS: u32 = 100_000;
/// Parents that are deleted.
const DELETED: u32 = 10_000;

/// Measures on each server.
pub(super) fn measure(
    options: &Options,
    scratch: &Path,
    notes: &mut Vec<String>,
) -> Result<Vec<Figure>> {
    let mut figures: Vec<Figure> = Vec::new();
    for kind in [Kind::PostgreSql, Kind::Steppe].into_iter().filter(|kind| options.wants(*kind)) {
        let folder = scratch.join(format!("{NAME}-{kind:?}"));
        fs::create_dir(&folder)?;
        match measure_on(kind, options, &folder) {
            Ok(measured) => merge(&mut figures, measured),
            Err(Failure::Interrupted) => return Err(Failure::Interrupted),
            Err(failure) => note(notes, format!("{NAME}, {kind:?}: {failure}")),
        }
    }
    Ok(figures)
}

fn measure_on(kind: Kind, options: &Options, folder: &Path) -> Result<Vec<Figure>> {
    let server = Server::start(kind, options, folder)?;
    let mut client = Client::connect(server.port)?;
    let rows = if options.check { ROWS / 100 } else { ROWS };
    client.script(&tables(rows))?;
    let (mut added, mut deleted) = (Vec::new(), Vec::new());
    for _ in 0..options.rounds {
        added.push(timed(&mut client, ADD)?);
        client.query(DROP)?;
        client.query("BEGIN")?;
        deleted.push(timed(&mut client, &delete())?);
        client.query("ROLLBACK")?;
    }
    let figure = |title: &str, seconds: &[f64]| {
        let median = median(seconds).unwrap_or(f64::NAN);
        eprintln!("{kind:?}: {title}: {median:.3} s");
        Figure::new(kind, title.to_owned(), "s", median, None).against_postgresql(Some(2.0))
    };
    Ok(vec![
        figure("ADD FOREIGN KEY over 5,000,000 rows", &added),
        figure("DELETE of 10,000 parents with an indexed child", &deleted),
    ])
}

const ADD: &str = "ALTER TABLE key_rows ADD CONSTRAINT key_rows_parent FOREIGN KEY (parent) \
                   REFERENCES key_parents";
const DROP: &str = "ALTER TABLE key_rows DROP CONSTRAINT key_rows_parent";

/// The statements that make the tables. The workload deletes the parents with high numbers, so
/// the children refer to the other parents only.
fn tables(rows: u32) -> String {
    let all = PARENTS + DELETED;
    format!(
        "CREATE TABLE key_parents (id integer PRIMARY KEY, b text);\n\
         INSERT INTO key_parents SELECT i, 'parent' FROM generate_series(1, {all}) AS i;\n\
         CREATE TABLE key_rows (id integer, parent integer);\n\
         INSERT INTO key_rows SELECT i, 1 + i % {PARENTS} FROM generate_series(1, {rows}) AS i;\n\
         CREATE TABLE key_children (id integer, parent integer REFERENCES key_parents);\n\
         INSERT INTO key_children SELECT i, 1 + i % {PARENTS} FROM generate_series(1, 500000) AS i;\n\
         CREATE INDEX ON key_children (parent);\n\
         ANALYZE key_parents;\nANALYZE key_rows;\nANALYZE key_children;\n"
    )
}

fn delete() -> String {
    format!("DELETE FROM key_parents WHERE id > {PARENTS}")
}

/// Runs a statement; returns the seconds.
fn timed(client: &mut Client, statement: &str) -> Result<f64> {
    interrupt::check()?;
    let started = Instant::now();
    client.query(statement)?;
    Ok(started.elapsed().as_secs_f64())
}
