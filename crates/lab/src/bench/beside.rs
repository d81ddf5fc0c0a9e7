//! Sessions that stay open while a workload is measured, with savepoints, exception blocks,
//! a snapshot, or only their connections.

use std::net::TcpStream;

use super::client::Client;
use super::{Failure, Result, interrupt};

/// The sessions that a workload keeps open beside itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Beside {
    /// Open transactions with `each` savepoints. A row was inserted in each of them, because a
    /// savepoint without a change does not count as a subtransaction.
    Savepoints { sessions: u32, each: u32 },
    /// An open transaction in which a function has run this number of exception blocks, each with a
    /// change.
    ExceptionBlocks(u32),
    /// A REPEATABLE READ transaction that has read.
    Snapshot,
    /// Connections that have run a statement and wait for the next one.
    Idle(u32),
}

/// The sessions; dropping them ends them.
#[derive(Default)]
pub(super) struct Holding {
    sessions: Vec<Client>,
    _idle: Vec<TcpStream>,
    /// The answer of [`SEEN`] in the snapshot.
    seen: Option<String>,
}

/// Savepoints sent at once.
const SAVEPOINTS_AT_ONCE: u32 = 100;
const EXCEPTION_BLOCKS: &str = "\
CREATE TABLE IF NOT EXISTS bench_savepoints (n integer);
CREATE OR REPLACE FUNCTION bench_exception_blocks(times integer) RETURNS void AS $$
BEGIN
    FOR i IN 1..times LOOP
        BEGIN
            INSERT INTO bench_savepoints VALUES (i);
        EXCEPTION WHEN unique_violation THEN
            NULL;
        END;
    END LOOP;
END $$ LANGUAGE plpgsql";
const SEEN: &str = "SELECT sum(bbalance) FROM pgbench_branches";

impl Beside {
    /// Starts the sessions.
    pub(super) fn begin(self, port: u16) -> Result<Holding> {
        let mut holding = Holding::default();
        match self {
            Beside::Savepoints { sessions, each } => {
                let create = "CREATE TABLE IF NOT EXISTS bench_savepoints (n integer)";
                Client::connect(port)?.query(create)?;
                for _ in 0..sessions {
                    let mut session = Client::connect(port)?;
                    session.query("BEGIN")?;
                    for first in (0..each).step_by(SAVEPOINTS_AT_ONCE as usize) {
                        interrupt::check()?;
                        let some = first..each.min(first + SAVEPOINTS_AT_ONCE);
                        session.query(&some.map(savepoint).collect::<String>())?;
                    }
                    holding.sessions.push(session);
                }
            }
            Beside::ExceptionBlocks(count) => {
                let mut session = Client::connect(port)?;
                session.query(EXCEPTION_BLOCKS)?;
                session.query("BEGIN")?;
                session.query(&format!("SELECT bench_exception_blocks({count})"))?;
                holding.sessions.push(session);
            }
            Beside::Snapshot => {
                let mut session = Client::connect(port)?;
                session.query("BEGIN ISOLATION LEVEL REPEATABLE READ")?;
                holding.seen = session.query(SEEN)?;
                holding.sessions.push(session);
            }
            Beside::Idle(count) => {
                for _ in 0..count {
                    interrupt::check()?;
                    let mut session = Client::connect(port)?;
                    session.query("SELECT 1")?;
                    holding._idle.push(session.into_stream());
                }
            }
        }
        Ok(holding)
    }
}

fn savepoint(n: u32) -> String {
    format!("SAVEPOINT s{n}; INSERT INTO bench_savepoints VALUES ({n});")
}

impl Holding {
    /// Ends the sessions, and checks that a snapshot still sees the same rows.
    pub(super) fn end(mut self) -> Result<()> {
        for session in &mut self.sessions {
            if let Some(seen) = &self.seen {
                let now = session.query(SEEN)?;
                if now.as_ref() != Some(seen) {
                    return Err(Failure::new(format!(
                        "WRONG DATA: the snapshot saw {seen} and now sees {now:?}"
                    )));
                }
            }
            session.query("ROLLBACK")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_savepoint_has_a_change() {
        assert_eq!(
            (7..9).map(savepoint).collect::<String>(),
            "SAVEPOINT s7; INSERT INTO bench_savepoints VALUES (7);\
             SAVEPOINT s8; INSERT INTO bench_savepoints VALUES (8);"
        );
    }
}
