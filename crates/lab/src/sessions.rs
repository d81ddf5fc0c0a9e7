//! Scripts that several sessions run in turn, for the effects of concurrent transactions. In the
//! golden corpus they are files that begin with `-- Sessions`.
//!
//! ```text
//!   A: BEGIN;                        a line is a session's name and what it sends
//!   A: UPDATE t SET v = 1;
//!   B: UPDATE t SET v = 2;           … waits
//!   A: COMMIT;                       … and B goes on, which is shown after A's answer
//!   B: \cancel                       a request to cancel what B waits in
//! ```
//!
//! After each line the script goes on when every session has answered or waits for another's
//! lock (pg_blocking_pids, as PostgreSQL's isolation tester does it), so that the output is the
//! same every time. Sessions connect when they are first named.
//!
//! A *schedule* is a script whose lines are in a random order ([`run_schedule`]). A line for a
//! session that waits is recorded and left out. At the end every transaction ends, and where
//! sessions wait for each other in a circle, the last one is canceled.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::task::JoinHandle;
use tokio_postgres::{Client, NoTls, SimpleQueryMessage};

/// The first line of such a script.
const MARK: &str = "-- Sessions";
/// The line that cancels a statement.
const CANCEL: &str = "\\cancel";
/// The time limit for an answer that waits for no other session.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(30);
/// The interval between looks at sessions that have not answered.
const LOOK: Duration = Duration::from_millis(5);
/// The number of other sessions of the script that a process waits for, including prepared
/// transactions (0). Other waits, as for auto-analyze, end by themselves and do not count.
const BLOCKERS: &str = "SELECT (SELECT count(*)::int FROM unnest(pg_blocking_pids($1)) AS pid \
                                WHERE pid = 0 OR pid = ANY($2::int[])) \
                        + cardinality(pg_safe_snapshot_blocking_pids($1))";

type Answer = Result<Vec<SimpleQueryMessage>, tokio_postgres::Error>;

/// Whether a script is for several sessions.
pub fn is_for_sessions(script: &str) -> bool {
    script.starts_with(MARK)
}

/// Runs a script and returns its output.
pub fn run(script: &str, address: SocketAddr, database: &str) -> io::Result<String> {
    play((script, ""), address, database, Busy::Refuse)
}

/// Runs a schedule and then an epilogue, which is for sessions without a transaction.
pub fn run_schedule(
    (schedule, epilogue): (&str, &str),
    address: SocketAddr,
    database: &str,
) -> io::Result<String> {
    play((schedule, epilogue), address, database, Busy::Skip)
}

/// The treatment of a line for a session that has not answered yet.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Busy {
    Refuse,
    Skip,
}

fn play(
    (script, epilogue): (&str, &str),
    address: SocketAddr,
    database: &str,
    busy: Busy,
) -> io::Result<String> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let place = Place { address, database: database.to_owned() };
        let mut stage = Stage {
            observer: place.connect().await?.client,
            place,
            busy,
            sessions: BTreeMap::new(),
            output: String::new(),
        };
        for line in script.lines() {
            stage.play(line).await?;
        }
        if busy == Busy::Skip {
            stage.end_transactions().await?;
        }
        for line in epilogue.lines() {
            stage.play(line).await?;
        }
        stage.finish().await
    })
}

struct Place {
    address: SocketAddr,
    database: String,
}

struct Session {
    client: Arc<Client>,
    pid: i32,
    /// The pending answer, and whether "waits" has been printed for it.
    pending: Option<(JoinHandle<Answer>, bool)>,
}

impl Place {
    async fn connect(&self) -> io::Result<Session> {
        let mut config = tokio_postgres::Config::new();
        config
            .host(self.address.ip().to_string())
            .port(self.address.port())
            .user("postgres")
            .dbname(&self.database);
        let (client, connection) = config.connect(NoTls).await.map_err(io::Error::other)?;
        // The connection ends with the client, which also sees its errors.
        tokio::spawn(connection);
        let row = client.query_one("SELECT pg_backend_pid()", &[]).await;
        let pid = row.and_then(|row| row.try_get(0)).map_err(io::Error::other)?;
        Ok(Session { client: Arc::new(client), pid, pending: None })
    }
}

impl Session {
    /// Whether it has been sent something that it has not answered.
    fn is_running(&self) -> bool {
        self.pending.as_ref().is_some_and(|(answer, _)| !answer.is_finished())
    }
}

/// The sessions of a script, and the output so far.
struct Stage {
    place: Place,
    busy: Busy,
    observer: Arc<Client>,
    sessions: BTreeMap<String, Session>,
    output: String,
}

impl Stage {
    async fn play(&mut self, line: &str) -> io::Result<()> {
        self.output.push_str(line);
        self.output.push('\n');
        if line.trim().is_empty() || line.starts_with("--") {
            return Ok(());
        }
        let Some((name, sql)) = line.split_once(": ") else {
            return Err(io::Error::other(format!("no session is named: {line}")));
        };
        if !self.sessions.contains_key(name) {
            let session = self.place.connect().await?;
            self.sessions.insert(name.to_owned(), session);
        }
        let session = self.sessions.get_mut(name).ok_or_else(|| io::Error::other("lost"))?;
        if sql == CANCEL {
            session.client.cancel_token().cancel_query(NoTls).await.map_err(io::Error::other)?;
            return self.settle(name, true).await;
        }
        if session.pending.is_some() {
            if self.busy == Busy::Skip {
                let _ = writeln!(self.output, "{name} still waits");
                return Ok(());
            }
            return Err(io::Error::other(format!("{name} has not answered yet: {line}")));
        }
        let (client, sql) = (Arc::clone(&session.client), sql.to_owned());
        let answer = tokio::spawn(async move { client.simple_query(&sql).await });
        session.pending = Some((answer, false));
        self.settle(name, false).await
    }

    /// Commits the transactions of all sessions. A session that waits commits once it has its answer.
    async fn end_transactions(&mut self) -> io::Result<()> {
        let mut left: Vec<String> = self.sessions.keys().cloned().collect();
        while let Some(last) = left.last().cloned() {
            let is_waiting = |name: &String| self.sessions[name].pending.is_some();
            match left.iter().position(|name| !is_waiting(name)) {
                Some(at) => {
                    let name = left.remove(at);
                    self.play(&format!("{name}: COMMIT")).await?;
                }
                None => self.play(&format!("{last}: {CANCEL}")).await?,
            }
        }
        Ok(())
    }

    /// Waits until every session has answered or waits for another one, then shows the answers:
    /// that of `name` first, because it was sent a statement last. With `must_answer` session
    /// `name` has to answer.
    async fn settle(&mut self, name: &str, must_answer: bool) -> io::Result<()> {
        let deadline = Instant::now() + ANSWER_TIMEOUT;
        while !self.is_settled(must_answer.then_some(name)).await? {
            if Instant::now() > deadline {
                return Err(io::Error::other(format!("no answer within {ANSWER_TIMEOUT:?}")));
            }
            tokio::time::sleep(LOOK).await;
        }
        self.show(name).await?;
        let others: Vec<String> = self.sessions.keys().filter(|n| *n != name).cloned().collect();
        for other in others {
            self.show(&other).await?;
        }
        Ok(())
    }

    /// Whether each session has answered, or waits for another's lock unless it must answer.
    async fn is_settled(&self, must_answer: Option<&str>) -> io::Result<bool> {
        let pending: Vec<_> = self.sessions.iter().filter(|(_, s)| s.is_running()).collect();
        let pids: Vec<i32> = self.sessions.values().map(|session| session.pid).collect();
        for (name, Session { pid, .. }) in &pending {
            if must_answer == Some(name.as_str()) {
                return Ok(false);
            }
            let row = self.observer.query_one(BLOCKERS, &[pid, &pids]).await;
            let blockers: i32 = row.and_then(|row| row.try_get(0)).map_err(io::Error::other)?;
            if blockers == 0 {
                return Ok(false);
            }
        }
        // A session that answered meanwhile may have released locks that another session was found
        // waiting for.
        Ok(pending.iter().all(|(_, session)| session.is_running()))
    }

    async fn show(&mut self, name: &str) -> io::Result<()> {
        let Some(session) = self.sessions.get_mut(name) else { return Ok(()) };
        let Some((answer, was_said)) = session.pending.take() else { return Ok(()) };
        if !answer.is_finished() {
            if !was_said {
                let _ = writeln!(self.output, "{name} waits");
            }
            session.pending = Some((answer, true));
            return Ok(());
        }
        if was_said {
            let _ = writeln!(self.output, "{name} goes on");
        }
        match answer.await.map_err(io::Error::other)? {
            Ok(messages) => show_messages(&messages, &mut self.output),
            Err(error) => show_error(&error, &mut self.output)?,
        }
        Ok(())
    }

    async fn finish(self) -> io::Result<String> {
        let silent = self.sessions.iter().find(|(_, session)| session.pending.is_some());
        match silent {
            Some((name, _)) => Err(io::Error::other(format!("{name} still waits at the end"))),
            None => Ok(self.output),
        }
    }
}

fn show_messages(messages: &[SimpleQueryMessage], output: &mut String) {
    for message in messages {
        match message {
            SimpleQueryMessage::RowDescription(columns) => {
                let names: Vec<&str> = columns.iter().map(|column| column.name()).collect();
                let _ = writeln!(output, "  {}", names.join("|"));
            }
            SimpleQueryMessage::Row(row) => {
                let values: Vec<&str> = (0..row.len()).map(|i| row.get(i).unwrap_or("")).collect();
                let _ = writeln!(output, "  {}", values.join("|"));
            }
            SimpleQueryMessage::CommandComplete(rows) => {
                let _ = writeln!(output, "  ({rows} rows)");
            }
            _ => {}
        }
    }
}

fn show_error(error: &tokio_postgres::Error, output: &mut String) -> io::Result<()> {
    let Some(error) = error.as_db_error() else {
        return Err(io::Error::other(format!("a session ended: {error}")));
    };
    let (severity, code) = (error.severity(), error.code().code());
    let _ = writeln!(output, "  {severity}:  {code}: {}", error.message());
    let parts = [("DETAIL", error.detail()), ("HINT", error.hint()), ("CONTEXT", error.where_())];
    for (label, text) in parts {
        if let Some(text) = text {
            let _ = writeln!(output, "  {label}:  {}", without_numbers(text));
        }
    }
    Ok(())
}

/// Hides numbers that differ between runs (process and transaction ids) or servers (places of
/// rows).
pub(crate) fn without_numbers(text: &str) -> String {
    let mut result = String::new();
    for word in text.split_inclusive(' ') {
        let number = word.trim_start_matches(|c: char| c.is_ascii_digit());
        let is_id = ["rocess ", "ransaction ", "pivot "].iter().any(|name| result.ends_with(name));
        if result.ends_with(" tuple ") && word.starts_with('(') {
            result.push_str("(#,#) ");
        } else if is_id && number.len() < word.len() {
            result.push('#');
            result.push_str(number);
        } else {
            result.push_str(word);
        }
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_processes_are_hidden() {
        let detail = "Process 12 waits for ShareLock on transaction 7; blocked by process 3.";
        let shown = "Process # waits for ShareLock on transaction #; blocked by process #.";
        assert_eq!(without_numbers(detail), shown);
        let context = "while updating tuple (0,12) in relation \"t\"";
        assert_eq!(without_numbers(context), "while updating tuple (#,#) in relation \"t\"");
        assert_eq!(without_numbers("Key (id)=(7) already exists."), "Key (id)=(7) already exists.");
    }
}
