//! INSERT of many rows into distributed tables: the same answers, and the same rows, as with plain
//! tables of one PostgreSQL.

mod support;

use support::two_nodes::TwoNodes;
use support::{Random, rows_of as rows, run};
use tokio_postgres::{Client, SimpleQueryMessage};

/// A distributed table's definition, and where its rows are.
const TABLES: [(&str, &str); 5] = [
    (
        "accounts (aid int PRIMARY KEY, bid int NOT NULL DEFAULT 1, balance numeric(12,2) DEFAULT 0, \
         note varchar(20), CONSTRAINT positive CHECK (balance >= 0))",
        "HASH (aid)",
    ),
    (
        "everything (name text, n bigint, b bool, r real, d double precision, day date, at timestamptz, \
         span interval, raw bytea, id uuid, words text[], grid int[], c char(5))",
        "HASH (name)",
    ),
    ("remainders (k bigint, v text)", "MODULO (k)"),
    ("turns (k int, v text)", "ROUNDROBIN"),
    ("branches (bid int PRIMARY KEY, city text)", "REPLICATION"),
];

/// A coordinator with distributed tables, and one PostgreSQL with plain ones.
struct Both {
    cluster: TwoNodes,
    steppe: Client,
    plain: Client,
}

/// Rows and row count, or the error with what it says of the failing row.
async fn answer(client: &Client, sql: &str) -> Vec<String> {
    match client.simple_query(sql).await {
        Ok(messages) => messages
            .iter()
            .filter_map(|message| match message {
                SimpleQueryMessage::Row(row) => {
                    let values = (0..row.len()).map(|i| row.get(i).unwrap_or("NULL"));
                    Some(values.collect::<Vec<_>>().join("|"))
                }
                SimpleQueryMessage::CommandComplete(count) => Some(format!("= {count}")),
                _ => None,
            })
            .collect(),
        Err(error) => {
            let error = error.as_db_error().expect("an answer");
            vec![format!(
                "ERROR {} {} {:?} {:?} {:?}",
                error.code().code(),
                error.message(),
                error.detail(),
                error.constraint(),
                error.column()
            )]
        }
    }
}

impl Both {
    async fn start() -> Option<Both> {
        let (cluster, steppe) = TwoNodes::start().await?;
        let plain = cluster.client_of("postgres").await;
        for (table, distribution) in TABLES {
            rows(&steppe, &format!("CREATE TABLE {table} DISTRIBUTE BY {distribution}")).await;
            rows(&plain, &format!("CREATE TABLE {table}")).await;
        }
        let both = Both { cluster, steppe, plain };
        both.same("CREATE TABLE here (a int, t text)").await;
        both.same("INSERT INTO here SELECT i, 'here ' || i FROM generate_series(1, 50) i").await;
        Some(both)
    }

    /// Both servers give the same answer.
    async fn same(&self, sql: &str) -> Vec<String> {
        let (found, expected) = (answer(&self.steppe, sql).await, answer(&self.plain, sql).await);
        assert_eq!(found, expected, "{sql}");
        found
    }

    /// The same, in any order.
    async fn same_rows(&self, sql: &str) {
        let (mut found, mut expected) =
            (answer(&self.steppe, sql).await, answer(&self.plain, sql).await);
        found.sort();
        expected.sort();
        assert_eq!(found, expected, "{sql}");
    }

    async fn refused(&self, sql: &str) {
        let found = answer(&self.steppe, sql).await;
        assert!(found[0].starts_with("ERROR 0A000"), "{sql}: {found:?}");
    }

    /// The nodes together have the rows that one server has, and each has some.
    async fn same_contents(&self, table: &str) {
        let all = format!("SELECT * FROM {table}");
        let mut found = Vec::new();
        for direct in &self.cluster.direct {
            let own = rows(direct, &all).await;
            assert!(!own.is_empty(), "{table} has all rows on one node");
            found.extend(own);
        }
        let mut expected = rows(&self.plain, &all).await;
        found.sort();
        expected.sort();
        assert_eq!(found, expected, "{table}");
    }
}

#[test]
fn many_rows_are_inserted_as_by_postgresql() {
    run(async {
        let Some(both) = Both::start().await else { return };
        for sql in [
            "INSERT INTO accounts VALUES (1, 1, 5, 'one'), (2, 1, 6.555, NULL), (3, 2, DEFAULT, 'a,b'), \
             (4, 4, 1, '{\"x\\y\"}'), (5, 5, 5, 'NULL'), (6, 6, 6, '')",
            "INSERT INTO accounts (note, aid) VALUES ('r7', 7), ('r8', 8), ('r9', 9) \
             RETURNING aid, reverse(note), balance + 1, bid",
            "INSERT INTO accounts SELECT i, i % 3, i, 'n' || i FROM generate_series(10, 5000) i",
            "INSERT INTO accounts SELECT i, i % 3, i, 'n' || i FROM generate_series(5001, 30000) i \
             RETURNING aid",
            "INSERT INTO accounts (aid, note) SELECT 40000 + a, t FROM here WHERE a > 10 ORDER BY a \
             RETURNING *",
            "WITH w AS (SELECT a + 50000 AS k FROM here) INSERT INTO accounts (aid) SELECT k FROM w",
            "INSERT INTO accounts (aid) VALUES ((SELECT max(a) + 60000 FROM here)) RETURNING aid",
            "INSERT INTO accounts (aid, note) SELECT aid + 100000, note FROM accounts WHERE bid = 1",
            "INSERT INTO remainders SELECT a.aid, h.t FROM accounts a JOIN here h ON h.a = a.aid",
            "INSERT INTO turns SELECT count(*), min(note) FROM accounts",
            "INSERT INTO accounts (aid) SELECT 1 WHERE false",
            "INSERT INTO accounts (aid) SELECT 1 WHERE false RETURNING *",
            "INSERT INTO remainders SELECT i, 'v' || i FROM generate_series(-50, 50) i",
            "INSERT INTO branches VALUES (1, 'one'), (2, 'two') RETURNING city, bid",
            "INSERT INTO branches SELECT a + 10, t FROM here",
            "INSERT INTO branches VALUES (3, 'three')",
            "INSERT INTO turns SELECT a, t FROM here",
            "INSERT INTO turns VALUES (1, 'x'), (2, 'y') RETURNING k + 1",
            "INSERT INTO turns VALUES (3, 'z')",
            "INSERT INTO everything SELECT 'name ' || i, i, i % 2 = 0, 0.1 * i, 1.0 / 3 * i, \
             date '2026-11-27' + i, timestamptz '2026-11-27 12:00:00.5+00' - i * interval '1 hour', \
             interval '-1 mon 2 days -00:00:01' * i, decode('00ff5c22', 'hex'), \
             ('00000000-0000-0000-0000-0000000000' || lpad(i::text, 2, '0'))::uuid, \
             ARRAY['a\"b', NULL, 'c,d'], ARRAY[[i, 2], [3, NULL]], 'c' \
             FROM generate_series(1, 40) i",
            "INSERT INTO here SELECT aid FROM accounts WHERE aid < 5",
            "INSERT INTO everything (name) VALUES (NULL), ('other'), ('third')",
            "INSERT INTO everything (name, d, r) VALUES ('nan', 'NaN', '-Infinity'), ('x', 1e300, 1e-30)",
        ] {
            both.same(sql).await;
        }
        for table in ["accounts", "everything", "remainders", "turns"] {
            both.same_contents(table).await;
        }
        let expected = rows(&both.plain, "SELECT * FROM branches ORDER BY 1").await;
        for direct in &both.cluster.direct {
            assert_eq!(rows(direct, "SELECT * FROM branches ORDER BY 1").await, expected);
        }
        // The first statement on the rows finds them by their keys.
        both.same("SELECT note FROM accounts WHERE aid = 12345").await;
        both.same("SELECT words, grid FROM everything WHERE name = 'name 7'").await;
    });
}

#[test]
fn a_failed_insert_leaves_nothing() {
    run(async {
        let Some(both) = Both::start().await else { return };
        both.same("INSERT INTO accounts SELECT i FROM generate_series(1, 20) i").await;
        for sql in [
            "INSERT INTO accounts (aid) VALUES (100), (7), (101)",
            "INSERT INTO accounts (aid) VALUES (100), (101), (100)",
            "INSERT INTO accounts (aid) VALUES (100), (NULL)",
            "INSERT INTO accounts (aid, bid) VALUES (100, 1), (102, NULL)",
            "INSERT INTO accounts (aid, balance) VALUES (100, 1), (101, -1)",
            "INSERT INTO accounts (aid, note) VALUES (100, 'short'), (101, 'a text of more than 20')",
            "INSERT INTO accounts (aid, balance) SELECT i, 1e9 * i FROM generate_series(100, 105) i",
            "INSERT INTO accounts (aid) SELECT 10 / (110 - i) FROM generate_series(100, 120) i",
            "INSERT INTO branches VALUES (1, 'a'), (2, 'b'), (1, 'c')",
            "INSERT INTO accounts (aid) VALUES (1, 2), (3, 4)",
            "INSERT INTO accounts (aid) SELECT t FROM here",
            "BEGIN",
            "INSERT INTO accounts (aid) VALUES (200), (201), (202)",
            "SAVEPOINT s",
            "INSERT INTO accounts (aid) VALUES (203), (204), (205), (5)",
            "ROLLBACK TO s",
            "INSERT INTO accounts (aid) VALUES (203), (204)",
            "SAVEPOINT t",
            "INSERT INTO accounts (aid) SELECT i FROM generate_series(300, 400) i",
            "ROLLBACK TO t",
            "COMMIT",
            "BEGIN",
            "INSERT INTO accounts (aid) SELECT i FROM generate_series(500, 700) i",
            "ROLLBACK",
            "DO $$ BEGIN INSERT INTO accounts (aid) SELECT i FROM generate_series(800, 900) i; \
             INSERT INTO accounts (aid) VALUES (801), (1000); \
             EXCEPTION WHEN unique_violation THEN INSERT INTO accounts (aid) VALUES (950), (951); END $$",
        ] {
            both.same(sql).await;
        }
        both.same_contents("accounts").await;
        for direct in &both.cluster.direct {
            assert_eq!(rows(direct, "SELECT count(*) FROM branches").await, ["0"]);
        }
    });
}

#[test]
fn on_conflict_with_many_rows_is_one_statement() {
    run(async {
        let Some(both) = Both::start().await else { return };
        both.same("INSERT INTO accounts SELECT i, 1, i FROM generate_series(1, 20) i").await;
        for sql in [
            "INSERT INTO accounts (aid) SELECT i FROM generate_series(10, 30) i ON CONFLICT DO NOTHING",
            "INSERT INTO accounts (aid) VALUES (31), (31), (32) ON CONFLICT (aid) DO NOTHING",
            "INSERT INTO accounts (aid, balance) SELECT i, 7 FROM generate_series(25, 40) i \
             ON CONFLICT (aid) DO UPDATE SET balance = accounts.balance + excluded.balance, \
             note = left(now()::text, 0) WHERE accounts.aid <> 27",
            "INSERT INTO accounts (aid) VALUES (50), (51), (50) ON CONFLICT (aid) DO UPDATE SET bid = 2",
            "INSERT INTO accounts AS a (aid) SELECT i FROM generate_series(1, 20000) i \
             ON CONFLICT (aid) DO UPDATE SET bid = a.bid + 1",
            "INSERT INTO accounts (aid) SELECT (i + 1) / 2 FROM generate_series(1, 40001) i \
             ON CONFLICT (aid) DO UPDATE SET bid = accounts.bid + 1",
            // The same row twice, far from each other.
            "INSERT INTO accounts (aid) SELECT CASE i WHEN 30000 THEN 1 ELSE i END \
             FROM generate_series(1, 30000) i ON CONFLICT (aid) DO UPDATE SET bid = accounts.bid + 1",
            "PREPARE p (int, numeric) AS INSERT INTO accounts (aid, balance) VALUES ($1, $2), ($1 + 1, $2) \
             ON CONFLICT (aid) DO UPDATE SET balance = $2 + accounts.balance",
            "EXECUTE p (5, 2.5)",
            "EXECUTE p (70000, 2.5)",
        ] {
            both.same(sql).await;
        }
        for sql in [
            "INSERT INTO accounts (aid) SELECT i FROM generate_series(15, 35) i ON CONFLICT DO NOTHING \
             RETURNING aid",
            "INSERT INTO accounts (aid) SELECT i FROM generate_series(19990, 20010) i \
             ON CONFLICT (aid) DO UPDATE SET note = 'known' RETURNING aid, note",
        ] {
            both.same_rows(sql).await;
        }
        both.same_contents("accounts").await;
        for sql in [
            "INSERT INTO accounts (aid) VALUES (1), (2) ON CONFLICT (aid) DO UPDATE SET aid = 9",
            "INSERT INTO accounts (aid) VALUES (1), (2) ON CONFLICT (aid) DO UPDATE SET \
             bid = (SELECT max(a) FROM here)",
            "INSERT INTO accounts (aid) VALUES (91), (92) RETURNING random()",
            "INSERT INTO accounts (aid) VALUES (91), (92) RETURNING (SELECT max(a) FROM here)",
        ] {
            both.refused(sql).await;
        }
        both.same_contents("accounts").await;
    });
}

#[test]
fn the_coordinator_computes_rows_once() {
    run(async {
        let Some(both) = Both::start().await else { return };
        for sql in [
            "CREATE SEQUENCE s START 100",
            "CREATE FUNCTION next(int) RETURNS int VOLATILE LANGUAGE plpgsql AS \
             'BEGIN RETURN $1 + nextval(''s''); END'",
            "INSERT INTO accounts (aid) SELECT nextval('s') FROM generate_series(1, 30) RETURNING aid",
            "INSERT INTO accounts (aid) VALUES (next(1000)), (next(2000)) RETURNING aid",
            "INSERT INTO branches SELECT nextval('s'), 'c' FROM generate_series(1, 5)",
            "CREATE FUNCTION put(int) RETURNS bigint LANGUAGE plpgsql AS $$ DECLARE n bigint; BEGIN \
             INSERT INTO accounts (aid) SELECT $1 + i FROM generate_series(1, 5) i; \
             GET DIAGNOSTICS n = ROW_COUNT; RETURN n; END $$",
            "SELECT put(5000), put(6000)",
        ] {
            both.same(sql).await;
        }
        rows(
            &both.steppe,
            "INSERT INTO branches SELECT 900 + i, random()::text FROM generate_series(1, 9) i",
        )
        .await;
        let copies = "SELECT * FROM branches ORDER BY 1";
        let first = rows(&both.cluster.direct[0], copies).await;
        assert_eq!(first.len(), 14);
        assert_eq!(first, rows(&both.cluster.direct[1], copies).await);
        both.same_contents("accounts").await;
        let plan =
            rows(&both.steppe, "EXPLAIN (COSTS OFF, VERBOSE) INSERT INTO branches VALUES (1, 'a')")
                .await;
        assert_eq!(plan[0], "Remote Insert on public.branches");
        assert!(plan.iter().any(|line| line.contains("Node/s: n1, n2")), "{plan:?}");
    });
}

/// Random rows with keys that collide, with and without ON CONFLICT.
#[test]
fn random_inserts_do_what_one_server_does() {
    run(async {
        let Some(both) = Both::start().await else { return };
        let mut random = Random(20_261_128);
        let mut failed = 0;
        for _ in 0..150 {
            let rows: Vec<String> = (0..=random.below(6))
                .map(|_| {
                    let note =
                        ["NULL", "'x'", "'a,\"b\"'", "'\\'", "'{}'"][random.below(5) as usize];
                    let balance = random.below(12) as i64 - 1;
                    format!("({}, {balance}, {note})", random.below(60))
                })
                .collect();
            let end = [
                "",
                " ON CONFLICT DO NOTHING",
                " ON CONFLICT (aid) DO UPDATE SET balance = excluded.balance + 1",
                " ON CONFLICT (aid) DO UPDATE SET note = excluded.note WHERE accounts.balance > 3",
            ][random.below(4) as usize];
            let sql = format!(
                "INSERT INTO accounts (aid, balance, note) VALUES {}{end}",
                rows.join(", ")
            );
            let (found, expected) =
                (answer(&both.steppe, &sql).await, answer(&both.plain, &sql).await);
            // The error may name any of several wrong rows.
            match expected[0].starts_with("ERROR") {
                true => assert!(
                    found[0].starts_with("ERROR 23") || found[0].starts_with("ERROR 21"),
                    "{sql}: {found:?}"
                ),
                false => assert_eq!(found, expected, "{sql}"),
            }
            failed += usize::from(expected[0].starts_with("ERROR"));
        }
        assert!((10..140).contains(&failed), "{failed} failed");
        both.same_contents("accounts").await;
    });
}

/// How many sessions of a node wait for another transaction.
async fn waiting(direct: &Client) -> String {
    let sql = "SELECT count(*) FROM pg_locks l JOIN pg_stat_activity a USING (pid) \
               WHERE NOT granted AND a.datname = current_database()";
    rows(direct, sql).await.remove(0)
}

#[test]
fn copies_of_a_row_are_waited_for_on_the_first_node_alone() {
    run(async {
        let Some(both) = Both::start().await else { return };
        let other = both.cluster.server.client().await;
        rows(&both.steppe, "BEGIN; INSERT INTO branches VALUES (1, 'a'), (2, 'b')").await;
        let second = tokio::spawn(async move {
            answer(&other, "INSERT INTO branches VALUES (1, 'c'), (3, 'd')").await
        });
        let [first, last] = &both.cluster.direct[..] else { panic!("two nodes") };
        while waiting(first).await == "0" {
            tokio::task::yield_now().await;
        }
        // It would have come there by now.
        for _ in 0..100 {
            assert_eq!(waiting(last).await, "0");
        }
        rows(&both.steppe, "COMMIT").await;
        let found = second.await.expect("an answer");
        assert!(found[0].starts_with("ERROR 23505"), "{found:?}");
        for direct in [first, last] {
            assert_eq!(rows(direct, "SELECT * FROM branches ORDER BY 1").await, ["1|a", "2|b"]);
        }
    });
}

#[test]
fn a_node_that_is_lost_in_the_middle_undoes_all() {
    run(async {
        let Some(both) = Both::start().await else { return };
        rows(&both.steppe, "BEGIN").await;
        rows(&both.steppe, "INSERT INTO accounts SELECT i FROM generate_series(1, 9000) i").await;
        let end = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity \
                   WHERE datname = 'n1' AND state = 'idle in transaction'";
        assert_eq!(rows(&both.cluster.direct[1], end).await, ["t"]);
        let sql = "INSERT INTO accounts SELECT i FROM generate_series(10000, 19000) i";
        let found = answer(&both.steppe, sql).await;
        assert!(found[0].starts_with("ERROR 08006") && found[0].contains("n1"), "{found:?}");
        rows(&both.steppe, "ROLLBACK").await;
        for direct in &both.cluster.direct {
            assert_eq!(rows(direct, "SELECT count(*) FROM accounts").await, ["0"]);
        }
        both.same("INSERT INTO accounts SELECT i FROM generate_series(1, 100) i").await;
        both.same_contents("accounts").await;
        // A limit of time ends the statement on all nodes.
        rows(&both.steppe, "SET statement_timeout = 300").await;
        let sql = "INSERT INTO accounts SELECT i FROM generate_series(1000, 100000000) i";
        let found = answer(&both.steppe, sql).await;
        assert!(found[0].starts_with("ERROR 57014"), "{found:?}");
        rows(&both.steppe, "RESET statement_timeout").await;
        both.same_contents("accounts").await;
    });
}
