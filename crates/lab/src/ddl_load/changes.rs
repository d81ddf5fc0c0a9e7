//! The objects that [`super::routines`] uses, and the tasks that change them.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use tokio_postgres::Client;
use tokio_postgres::error::SqlState;

use super::routines::{Counts, PARENTS, SHAPES, Shared};
use super::{Result, broken};
use crate::failure::Failure;
use steppe_vfs::SeededRandom;

/// The objects that a changer changes.
#[derive(Clone, Copy, Debug)]
pub(super) enum Subject {
    Functions,
    Triggers,
    Columns,
    Keys,
}

/// All of them.
pub(super) const ALL: &[Subject] =
    &[Subject::Functions, Subject::Triggers, Subject::Columns, Subject::Keys];

/// The names of all changes.
pub(super) const NAMES: &[&str] = &[
    "replace",
    "drop and create",
    "drop, create",
    "new triggers",
    "switch triggers",
    "add column",
    "drop column",
    "change type",
    "add key",
    "drop key",
];

const TABLES: &str = "
    CREATE TABLE work (a bigint, b bigint, note text);
    CREATE TABLE shape (k bigint PRIMARY KEY, v bigint);
    CREATE TABLE parent (id int PRIMARY KEY);
    CREATE TABLE child (n int, pid int);
    CREATE INDEX child_pid ON child (pid);
    CREATE FUNCTION set_a() RETURNS trigger LANGUAGE plpgsql AS
        $$ BEGIN NEW.a := TG_ARGV[0]; RETURN NEW; END $$;
    CREATE FUNCTION set_b() RETURNS trigger LANGUAGE plpgsql AS
        $$ BEGIN NEW.b := TG_ARGV[0]; RETURN NEW; END $$;
    CREATE FUNCTION count_new() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN
            IF (SELECT count(*) FROM newer) <> 3 THEN RAISE 'not all new rows'; END IF;
            RETURN NULL;
        END $$;
    CREATE TRIGGER counts AFTER INSERT ON work REFERENCING NEW TABLE AS newer
        FOR EACH STATEMENT EXECUTE FUNCTION count_new();
    CREATE FUNCTION by_row() RETURNS bigint LANGUAGE plpgsql AS $$
        DECLARE r shape%ROWTYPE; total bigint := 0;
        BEGIN
            FOR r IN SELECT * FROM shape LOOP total := total + r.v; END LOOP;
            RETURN total;
        END $$;
    CREATE FUNCTION by_record() RETURNS bigint LANGUAGE plpgsql AS $$
        DECLARE r record; total bigint := 0;
        BEGIN
            FOR r IN SELECT * FROM shape ORDER BY k LOOP total := total + r.v; END LOOP;
            RETURN total;
        END $$;
    CREATE FUNCTION of_column() RETURNS bigint LANGUAGE plpgsql AS
        $$ BEGIN RETURN (SELECT max(extra) FROM shape); END $$;
    CREATE FUNCTION try_child(p int) RETURNS int LANGUAGE plpgsql AS $$
        BEGIN
            INSERT INTO child VALUES (0, p);
            RETURN 1;
        EXCEPTION WHEN foreign_key_violation THEN
            RETURN 0;
        END $$;";

const ORPHANS: &str =
    "SELECT count(*) FROM child WHERE pid IS NOT NULL AND pid NOT IN (SELECT id FROM parent)";

/// Makes the tables, and the first version of all that changes.
pub(super) async fn create(client: &Client) -> Result<()> {
    client.batch_execute(TABLES).await?;
    let fill = format!(
        "INSERT INTO shape SELECT n, n FROM generate_series(1, {SHAPES}) n;
         INSERT INTO parent SELECT generate_series(1, {PARENTS});
         {}; {}",
        functions("CREATE", 0),
        triggers(0)
    );
    Ok(client.batch_execute(&fill).await?)
}

/// The functions of a version. Their bodies make their results in several statements.
fn functions(create: &str, version: i64) -> String {
    let (whole, rows) = match version % 3 {
        0 => (
            format!("a := {version}; PERFORM count(*) FROM shape; b := {version};"),
            format!("RETURN NEXT {version}; PERFORM 1; RETURN NEXT {version};"),
        ),
        1 => (
            format!("SELECT {version}, {version} INTO a, b;"),
            format!("RETURN QUERY SELECT {version}::bigint FROM generate_series(1, 3);"),
        ),
        _ => (
            format!(
                "BEGIN a := {version}; b := 1 / (a - a); EXCEPTION WHEN division_by_zero THEN b := a; END;"
            ),
            format!("FOR i IN 1 .. 2 LOOP RETURN NEXT {version}; END LOOP;"),
        ),
    };
    format!(
        "{create} FUNCTION whole(OUT a bigint, OUT b bigint) LANGUAGE plpgsql AS $$ BEGIN {whole} END $$;
         {create} FUNCTION rows_of_whole() RETURNS SETOF bigint LANGUAGE plpgsql AS $$ BEGIN {rows} END $$;
         {create} PROCEDURE whole_of(INOUT a bigint, INOUT b bigint) LANGUAGE plpgsql AS $$ BEGIN {whole} END $$"
    )
}

fn triggers(version: u64) -> String {
    format!(
        "CREATE TRIGGER a BEFORE INSERT ON work FOR EACH ROW EXECUTE FUNCTION set_a('{version}');
         CREATE TRIGGER b BEFORE INSERT ON work FOR EACH ROW EXECUTE FUNCTION set_b('{version}')"
    )
}

/// A task that changes objects of one kind.
pub(super) struct Changer {
    client: Client,
    random: SeededRandom,
    shared: Arc<Shared>,
    counts: Counts,
}

impl Changer {
    pub(super) fn new(client: Client, random: SeededRandom, shared: Arc<Shared>) -> Changer {
        Changer { client, random, shared, counts: Counts::new() }
    }

    pub(super) async fn run(mut self, what: Subject) -> Result<Counts> {
        let mut number = 0;
        while !self.shared.is_over() {
            number += 1;
            match what {
                Subject::Functions => self.functions(number).await?,
                Subject::Triggers => self.triggers(number).await?,
                Subject::Columns => self.columns(number).await?,
                Subject::Keys => self.keys().await?,
            }
        }
        Ok(self.counts)
    }

    /// Runs a change, which must succeed.
    async fn change(&mut self, what: &'static str, sql: &str) -> Result<()> {
        let done = self.client.batch_execute(sql).await;
        done.map_err(|error| Failure::Broken(format!("{}: {sql}", Failure::Sql(error))))?;
        self.shared.succeeded(what);
        *self.counts.entry(what.to_owned()).or_default() += 1;
        Ok(())
    }

    async fn functions(&mut self, version: u64) -> Result<()> {
        const DROP: &str =
            "DROP FUNCTION whole; DROP FUNCTION rows_of_whole; DROP PROCEDURE whole_of";
        let version = i64::try_from(version).unwrap_or(i64::MAX);
        let create = functions("CREATE", version);
        let replace = functions("CREATE OR REPLACE", version);
        match self.random.below(5) {
            0 => {
                self.change("drop and create", &format!("BEGIN; {DROP}; {create}; COMMIT")).await?;
            }
            1 => {
                self.client.batch_execute(&format!("BEGIN; {DROP}; COMMIT")).await?;
                self.change("drop, create", &format!("BEGIN; {create}; COMMIT")).await?;
            }
            2 => {
                let other = functions("CREATE OR REPLACE", i64::MAX);
                let sql = format!("BEGIN; {other}; ROLLBACK; BEGIN; {replace}; COMMIT");
                self.change("replace", &sql).await?;
            }
            3 => {
                let sql = format!(
                    "BEGIN; {replace}; ALTER FUNCTION whole() SET work_mem = '1MB';
                     ALTER FUNCTION rows_of_whole() ROWS 7; COMMIT"
                );
                self.change("replace", &sql).await?;
            }
            _ => self.change("replace", &format!("BEGIN; {replace}; COMMIT")).await?,
        }
        self.shared.version.store(version, Ordering::SeqCst);
        Ok(())
    }

    async fn triggers(&mut self, version: u64) -> Result<()> {
        match self.random.below(3) {
            0 => {
                let drop = "DROP TRIGGER a ON work; DROP TRIGGER b ON work";
                let sql = format!("BEGIN; {drop}; {}; COMMIT", triggers(version));
                self.change("new triggers", &sql).await
            }
            1 => {
                let replace = triggers(version).replace("CREATE", "CREATE OR REPLACE");
                let sql = format!("BEGIN; LOCK work; {replace}; COMMIT");
                self.change("new triggers", &sql).await
            }
            _ => {
                let to = if self.random.chance(1, 2) { "DISABLE" } else { "ENABLE" };
                let sql = format!("ALTER TABLE work {to} TRIGGER a, {to} TRIGGER b");
                self.change("switch triggers", &sql).await
            }
        }
    }

    /// Each change and its reverse.
    async fn columns(&mut self, number: u64) -> Result<()> {
        if self.random.chance(1, 4) {
            let (to, back) = ("numeric", "bigint");
            self.change("change type", &format!("ALTER TABLE shape ALTER v TYPE {to}")).await?;
            return self
                .change("change type", &format!("ALTER TABLE shape ALTER v TYPE {back}"))
                .await;
        }
        let add = format!("ALTER TABLE shape ADD COLUMN extra bigint DEFAULT {number}");
        self.change("add column", &add).await?;
        self.change("drop column", "ALTER TABLE shape DROP COLUMN extra").await
    }

    /// Adds the foreign key when there are no orphans, sees that there are none, and drops it.
    async fn keys(&mut self) -> Result<()> {
        const ADD: &str = "BEGIN; LOCK TABLE parent, child IN SHARE ROW EXCLUSIVE MODE;
            DELETE FROM child WHERE pid NOT IN (SELECT id FROM parent);
            ALTER TABLE child ADD CONSTRAINT to_parent FOREIGN KEY (pid) REFERENCES parent
                ON DELETE CASCADE; COMMIT";
        const DROP: &str = "ALTER TABLE child DROP CONSTRAINT to_parent";
        if !self.but_for_deadlocks("add key", ADD).await? {
            return Ok(());
        }
        for _ in 0..3 {
            let orphans: i64 = self.client.query_one(ORPHANS, &[]).await?.get(0);
            if orphans > 0 {
                return broken(format!("{orphans} orphans under a foreign key"));
            }
        }
        while !self.but_for_deadlocks("drop key", DROP).await? {}
        // Only newer rows matter.
        self.client.batch_execute("DELETE FROM child WHERE n <> 1").await?;
        Ok(())
    }

    /// Runs a change; false if it was a deadlock's victim.
    async fn but_for_deadlocks(&mut self, what: &'static str, sql: &str) -> Result<bool> {
        match self.client.batch_execute(sql).await {
            Ok(()) => {
                self.shared.succeeded(what);
                *self.counts.entry(what.to_owned()).or_default() += 1;
                Ok(true)
            }
            Err(error) if error.code() == Some(&SqlState::T_R_DEADLOCK_DETECTED) => {
                *self.counts.entry(format!("{what}: 40P01")).or_default() += 1;
                self.client.batch_execute("ROLLBACK").await?;
                Ok(false)
            }
            Err(error) => Err(Failure::Broken(format!("{}: {sql}", Failure::Sql(error)))),
        }
    }
}
