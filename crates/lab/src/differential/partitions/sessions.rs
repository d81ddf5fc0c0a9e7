//! Two sessions on one row of a partitioned table: the answer of the session that waits.
//!
//! ```text
//!   first    BEGIN  change ───────────────────────────── COMMIT or ROLLBACK
//!   second          BEGIN  look  statement … waits … ────────────────────── answer, COMMIT
//! ```
//!
//! All combinations of [`CHANGES`], [`STATEMENTS`], isolation levels and ends are asked of both
//! servers. A row that moves to another partition is deleted there, and its new version is not
//! followed. A session that waited for it fails with 40001 and PostgreSQL's message.

use std::net::SocketAddr;

use tokio_postgres::Client;

use super::super::Failure;
use super::super::answer::{Answer, ask, connect};

const TABLES: &str = "
    DROP TABLE IF EXISTS s;
    CREATE TABLE s (id integer, k integer, v integer, PRIMARY KEY (k, id)) PARTITION BY LIST (k);
    CREATE TABLE s_1 PARTITION OF s FOR VALUES IN (1);
    CREATE TABLE s_2 (v integer, k integer NOT NULL, id integer NOT NULL);
    ALTER TABLE s ATTACH PARTITION s_2 FOR VALUES IN (2);
    CREATE TABLE s_d PARTITION OF s DEFAULT;
    INSERT INTO s VALUES (1, 1, 10), (2, 2, 20), (3, 3, 30)";

/// The changes that the first session makes to row 1.
const CHANGES: &[&str] = &[
    "UPDATE s SET k = 2 WHERE id = 1",
    "UPDATE s SET k = 7, v = 11 WHERE id = 1",
    "UPDATE s SET k = 2 WHERE id = 1; UPDATE s SET k = 1 WHERE id = 1",
    "UPDATE s SET v = 11 WHERE id = 1; UPDATE s SET k = 2 WHERE id = 1",
    NO_KEY_UPDATE,
    "UPDATE s SET id = 4 WHERE id = 1",
    "DELETE FROM s WHERE id = 1",
    "DELETE FROM s WHERE id = 1; INSERT INTO s VALUES (1, 2, 12)",
];

/// The statements that the second session runs meanwhile.
const STATEMENTS: &[&str] = &[
    "UPDATE s SET v = v + 1 WHERE id = 1 RETURNING *",
    "UPDATE s SET v = v + 1 WHERE k = 1 AND id = 1 RETURNING *",
    "UPDATE s SET v = v + 1 RETURNING *",
    "UPDATE s_1 SET v = v + 1 WHERE k = 1 AND id = 1 RETURNING *",
    "UPDATE s SET k = 3 WHERE k = 1 RETURNING tableoid::regclass, *",
    "UPDATE s SET v = o.v FROM s o WHERE s.id = 1 AND o.id = 3 RETURNING s.*",
    "DELETE FROM s WHERE v = 10 RETURNING *",
    "DELETE FROM s WHERE k = 1 AND id = 1 RETURNING *",
    "SELECT * FROM s WHERE id = 1 FOR UPDATE",
    "SELECT * FROM s WHERE k = 1 AND id = 1 FOR SHARE",
    "SELECT * FROM s ORDER BY id FOR KEY SHARE",
    "SELECT * FROM s WHERE v = 10 FOR NO KEY UPDATE",
    "SELECT * FROM s WHERE k = 1 FOR UPDATE NOWAIT",
    "SELECT * FROM s ORDER BY id FOR UPDATE SKIP LOCKED",
    DO_NOTHING,
    "INSERT INTO s VALUES (1, 1, 99) ON CONFLICT (k, id) DO UPDATE SET v = s.v + 1 RETURNING *",
    "INSERT INTO s VALUES (1, 2, 99) RETURNING *",
];

const NO_KEY_UPDATE: &str = "UPDATE s SET v = 11 WHERE id = 1";
const DO_NOTHING: &str = "INSERT INTO s VALUES (1, 1, 99) ON CONFLICT DO NOTHING RETURNING *";

/// One combination.
#[derive(Clone, Copy, Debug)]
pub(super) struct Interleaving {
    change: &'static str,
    statement: &'static str,
    isolation: &'static str,
    end: &'static str,
}

impl Interleaving {
    /// All combinations.
    pub(super) fn all() -> impl Iterator<Item = Interleaving> {
        let ends = ["COMMIT", "ROLLBACK"];
        let levels = ["READ COMMITTED", "REPEATABLE READ"];
        let pairs = CHANGES.iter().flat_map(|change| STATEMENTS.iter().map(move |s| (change, s)));
        let all = pairs.flat_map(move |(change, statement)| {
            levels.into_iter().flat_map(move |isolation| {
                ends.into_iter().map(move |end| Interleaving { change, statement, isolation, end })
            })
        });
        // PostgreSQL waits for the transaction that updates the conflicting row, although it only
        // reports a conflict; in REPEATABLE READ it then fails. We neither wait nor fail: the key
        // stays.
        all.filter(|case| case.statement != DO_NOTHING || case.change != NO_KEY_UPDATE)
    }

    /// For people.
    pub(super) fn shown(&self) -> String {
        let Interleaving { change, statement, isolation, end } = self;
        format!("first: BEGIN; {change}; second, {isolation}: {statement}; first: {end}")
    }
}

/// Two sessions of a server, and one that sees when another waits.
pub(super) struct Sessions {
    first: Client,
    second: Client,
    second_pid: String,
    observer: Client,
}

impl Sessions {
    pub(super) async fn connect(address: SocketAddr, database: &str) -> Result<Sessions, Failure> {
        let (first, second) =
            (connect(address, database).await?, connect(address, database).await?);
        let observer = connect(address, database).await?;
        let Answer::Rows(rows) = ask(&second, "SELECT pg_backend_pid()").await? else {
            return Err("a session has no number".into());
        };
        let pid = rows.into_iter().flatten().flatten().next();
        let second_pid = pid.ok_or("a session has no number")?;
        Ok(Sessions { first, second, second_pid, observer })
    }

    /// The answer of the second session, then the rows of the table.
    pub(super) async fn run(&self, case: Interleaving) -> Result<[Answer; 2], Failure> {
        self.first.batch_execute(TABLES).await?;
        self.first.batch_execute(&format!("BEGIN; {}", case.change)).await?;
        // The snapshot of REPEATABLE READ is taken by a look.
        let begin = format!("BEGIN ISOLATION LEVEL {}; SELECT count(*) FROM s", case.isolation);
        self.second.batch_execute(&begin).await?;
        let answer = {
            let asked = ask(&self.second, case.statement);
            tokio::pin!(asked);
            let waiting = self.until_it_waits();
            tokio::select! {
                biased;
                answer = &mut asked => {
                    let answer = answer?;
                    self.first.batch_execute(case.end).await?;
                    answer
                }
                waits = waiting => {
                    waits?;
                    self.first.batch_execute(case.end).await?;
                    asked.await?
                }
            }
        };
        self.second.batch_execute("COMMIT").await?;
        let held = ask(&self.observer, "SELECT tableoid::regclass, * FROM s").await?;
        Ok([answer.sorted(), held.sorted()])
    }

    async fn until_it_waits(&self) -> Result<(), Failure> {
        let sql = format!(
            "SELECT pid FROM pg_stat_activity WHERE pid = {} AND wait_event_type = 'Lock'",
            self.second_pid
        );
        while ask(&self.observer, &sql).await? == Answer::Rows(Vec::new()) {
            tokio::task::yield_now().await;
        }
        Ok(())
    }
}
