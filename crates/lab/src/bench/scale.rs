//! The one-time costs of thousands of leaves: making them, keeping them in memory, starting with
//! them, connecting, reading all of them and dropping them.
//!
//! Each server is started afresh for this, with a plain table of as many rows as the partitioned
//! one will have, for comparison. Memory is the resident size of the process right after a start,
//! before and after the leaves were made, and right after they were made. It is measured for Steppe
//! alone, because PostgreSQL's memory is spread over its sessions.

use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::client::{Client, USER};
use super::figure::{Figure, Limit, merge};
use super::options::Options;
use super::outcome::median;
use super::partitions::{self, LEAVES_A_LINE, Table};
use super::process::{as_user, run_client_watched};
use super::server::{Kind, Server};
use super::{Failure, Result, note, procfs};

/// One size of the experiment.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Scale {
    /// For the command line.
    pub(super) name: String,
    leaves: u32,
}

/// Fewer leaves are not measured here.
const LEAVES_MIN: u32 = 1000;
/// The greatest number of leaves in the published experiment, which makes two tables. Above it this
/// one makes one table.
const LEAVES_OF_TWO_TABLES: u32 = 6400;
/// Leaves made in one transaction, above [`LEAVES_OF_TWO_TABLES`].
const LEAVES_A_TRANSACTION: usize = 1000;
const PSQL_LIMIT: Duration = Duration::from_secs(900);
/// Statements or connections that a median is taken of.
const TRIES: u32 = 15;

/// The experiment at each of these numbers of leaves that is large enough.
pub(super) fn experiments(leaves: &[u32]) -> Vec<Scale> {
    let large = leaves.iter().filter(|leaves| **leaves >= LEAVES_MIN);
    large
        .map(|leaves| Scale { name: format!("partitions-scale-{leaves}"), leaves: *leaves })
        .collect()
}

impl Scale {
    pub(super) fn title(&self) -> String {
        format!("making, keeping, starting with and dropping {} leaves", self.leaves)
    }

    /// Measures each server that takes part with this number of leaves.
    pub(super) fn measure(
        &self,
        options: &Options,
        scratch: &Path,
        notes: &mut Vec<String>,
    ) -> Result<Vec<Figure>> {
        let mut figures: Vec<Figure> = Vec::new();
        for kind in [Kind::PostgreSql, Kind::Steppe] {
            if !options.wants(kind) || !options.takes_leaves(kind, self.leaves) {
                continue;
            }
            let folder = scratch.join(format!("{}-{kind:?}", self.name));
            fs::create_dir(&folder)?;
            match self.measure_on(kind, options, &folder) {
                Ok(measured) => merge(&mut figures, measured),
                Err(Failure::Interrupted) => return Err(Failure::Interrupted),
                Err(failure) => note(notes, format!("{}, {kind:?}: {failure}", self.name)),
            }
        }
        Ok(figures)
    }

    fn tables(&self) -> &'static [Table] {
        if self.leaves <= LEAVES_OF_TWO_TABLES { &Table::ALL } else { &[Table::Accounts] }
    }

    fn measure_on(&self, kind: Kind, options: &Options, folder: &Path) -> Result<Vec<Figure>> {
        let mut server = Server::start(kind, options, folder)?;
        let accounts = partitions::accounts(self.leaves);
        let mut client = Client::connect(server.port)?;
        client.query("CREATE SCHEMA plain; CREATE SCHEMA many")?;
        client.query(&partitions::tables("plain", 0, &[Table::Accounts]).concat())?;
        partitions::refill(&mut client, "plain", accounts)?;
        drop(client);
        server.restart()?;
        let mut run = Run {
            kind,
            leaves: self.leaves,
            made: self.leaves * self.tables().len() as u32,
            resident_before: resident(&server)?,
            figures: Vec::new(),
        };
        let script = folder.join("many.sql");
        let statements = partitions::tables("many", self.leaves, self.tables());
        fs::write(&script, script_of(&statements, self.leaves > LEAVES_OF_TWO_TABLES))?;
        run.make(&server, &script, folder)?;
        run.restart(&mut server)?;
        run.connect(&server, accounts)?;
        partitions::refill(&mut Client::connect(server.port)?, "many", accounts)?;
        run.count(&server)?;
        run.drop_all(&server)?;
        Ok(run.figures)
    }
}

/// A psql script of statements, which prints now and then how many it has run.
///
/// In the published experiment each statement is a transaction of its own, and so a flush of the
/// log. For more leaves a transaction makes a thousand.
fn script_of(statements: &[String], in_transactions: bool) -> String {
    let mut script = String::new();
    for (i, some) in statements.chunks(LEAVES_A_LINE).enumerate() {
        for some in some.chunks(LEAVES_A_TRANSACTION) {
            let (begin, end) = if in_transactions { ("BEGIN;\n", "COMMIT;\n") } else { ("", "") };
            script.push_str(begin);
            script.extend(some.iter().map(String::as_str));
            script.push_str(end);
        }
        // Writing to a String cannot fail.
        let _ = writeln!(script, "\\echo {}", i * LEAVES_A_LINE + some.len());
    }
    script
}

fn resident(server: &Server) -> Result<f64> {
    Ok(procfs::resident_bytes(server.pid())? as f64)
}

/// The measurements on one server.
struct Run {
    kind: Kind,
    /// The leaves of one table; `made` counts those of all tables.
    leaves: u32,
    made: u32,
    resident_before: f64,
    figures: Vec<Figure>,
}

impl Run {
    fn say(&mut self, title: String, unit: &'static str, value: f64, limit: Option<f64>) {
        eprintln!("{:?}: {title}: {value:.2} {unit}", self.kind);
        let limit = limit.map(Limit::AtMost);
        self.figures.push(Figure::new(self.kind, title, unit, value, limit));
    }

    /// A limit that is meant for one number of leaves.
    fn limit_at(&self, limits: &[(u32, f64)]) -> Option<f64> {
        limits.iter().find(|(leaves, _)| *leaves == self.leaves).map(|(_, limit)| *limit)
    }

    fn make(&mut self, server: &Server, script: &Path, folder: &Path) -> Result<()> {
        let mut psql = as_user(&PathBuf::from("psql"), None, None);
        psql.args(["-X", "-q", "-v", "ON_ERROR_STOP=1", "-h", "127.0.0.1", "-U", USER]);
        psql.args(["-p", &server.port.to_string(), "-d", USER, "-f"]).arg(script);
        let started = Instant::now();
        let (kind, made) = (self.kind, self.made);
        run_client_watched(psql, folder, PSQL_LIMIT, &mut |printed| {
            if let Some(so_far) = printed.lines().last() {
                eprintln!("{kind:?}: {so_far} of {made} leaves");
            }
        })?;
        let seconds = started.elapsed().as_secs_f64();
        let limit = self.limit_at(&[(6400, 3.0), (100_000, 20.0)]);
        let each = if self.leaves > LEAVES_OF_TWO_TABLES { "" } else { ", each a transaction" };
        let title = format!("{} leaves with keys made by psql{each}", self.made);
        self.say(title, "s", seconds, limit);
        self.memory(server, "made")
    }

    fn memory(&mut self, server: &Server, when: &str) -> Result<()> {
        if self.kind == Kind::Steppe {
            let bytes = (resident(server)? - self.resident_before) / f64::from(self.made);
            let title = format!("memory for each of {} leaves, when {when}", self.made);
            // Fewer leaves would be charged with the log's ring, which their making fills.
            let limit = self.limit_at(&[(100_000, 2048.0)]);
            self.say(title, "bytes", bytes, limit);
        }
        Ok(())
    }

    fn restart(&mut self, server: &mut Server) -> Result<()> {
        let seconds = server.restart()?.as_secs_f64();
        self.say(format!("restart with {} leaves", self.made), "s", seconds, Some(2.0));
        self.memory(server, "started")
    }

    /// The first statement of new connections, in turn on either table.
    fn connect(&mut self, server: &Server, accounts: u32) -> Result<()> {
        let first = |schema: &str, aid: u32| -> Result<f64> {
            let mut client = Client::connect(server.port)?;
            let started = Instant::now();
            client.query(&format!("SELECT abalance FROM {schema}.accounts WHERE aid = {aid}"))?;
            Ok(started.elapsed().as_secs_f64() * 1e6)
        };
        let (plain, many) = in_turn(|i| {
            let aid = 1 + i * (accounts / TRIES);
            // New sessions go to the workers by turns, which are not equally near to the client.
            if i % 2 == 0 {
                Ok((first("plain", aid)?, first("many", aid)?))
            } else {
                let many = first("many", aid)?;
                Ok((first("plain", aid)?, many))
            }
        })?;
        self.say("a connection's first SELECT, plain table".into(), "µs", plain, None);
        let title = format!("a connection's first SELECT, {} leaves", self.leaves);
        self.say(title, "µs", many, Some((plain * 1.1).ceil()));
        Ok(())
    }

    /// Reading all leaves, beyond what the same rows cost in one table.
    fn count(&mut self, server: &Server) -> Result<()> {
        let mut client = Client::connect(server.port)?;
        let mut count = |schema: &str| -> Result<f64> {
            let started = Instant::now();
            client.query(&format!("SELECT count(*) FROM {schema}.accounts"))?;
            Ok(started.elapsed().as_secs_f64() * 1e3)
        };
        let (plain, many) = in_turn(|_| Ok((count("plain")?, count("many")?)))?;
        let limit = self.limit_at(&[(6400, 10.0)]);
        let title = format!("count(*) over {} leaves, more than over one table", self.leaves);
        self.say(title, "ms", many - plain, limit);
        Ok(())
    }

    fn drop_all(&mut self, server: &Server) -> Result<()> {
        let mut client = Client::connect(server.port)?;
        let started = Instant::now();
        client.query("DROP TABLE many.accounts")?;
        let seconds = started.elapsed().as_secs_f64();
        let title = format!("DROP of the parent of {} leaves", self.leaves);
        self.say(title, "s", seconds, Some(5.0));
        Ok(())
    }
}

/// The medians of two things measured in turn.
fn in_turn(mut measure: impl FnMut(u32) -> Result<(f64, f64)>) -> Result<(f64, f64)> {
    let pairs = (0..TRIES).map(&mut measure).collect::<Result<Vec<_>>>()?;
    let (one, other): (Vec<f64>, Vec<f64>) = pairs.into_iter().unzip();
    Ok((median(&one).unwrap_or(f64::NAN), median(&other).unwrap_or(f64::NAN)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_leaves_are_made_in_transactions() {
        let statements = vec!["x;\n".to_owned(); 20_001];
        let script = script_of(&statements, true);
        assert_eq!(script.matches("BEGIN;").count(), 21);
        assert!(script.ends_with("BEGIN;\nx;\nCOMMIT;\n\\echo 20001\n"), "{script}");
        assert_eq!(script_of(&statements[..2], false), "x;\nx;\n\\echo 2\n");
    }

    #[test]
    fn only_many_leaves_are_a_scale() {
        let names: Vec<_> = experiments(&[100, 6400]).into_iter().map(|s| s.name).collect();
        assert_eq!(names, ["partitions-scale-6400"]);
    }
}
