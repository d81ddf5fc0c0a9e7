//! Statements that a node runs in a transaction of their own. The client sees no difference.

mod support;

use std::time::{Duration, Instant};
use support::two_nodes::TwoNodes;
use support::{bind, execute, parse, rows_of as rows, run, sync, tags};
use tokio_postgres::Client;

const SETTLES_WITHIN: Duration = Duration::from_secs(20);

async fn start() -> Option<(TwoNodes, Client)> {
    let (cluster, client) = TwoNodes::start().await?;
    for sql in [
        "CREATE TABLE accounts (aid int PRIMARY KEY, n int, f float8) DISTRIBUTE BY HASH (aid)",
        "CREATE TABLE items (aid int, i int, UNIQUE (aid, i) DEFERRABLE INITIALLY DEFERRED) \
         DISTRIBUTE BY HASH (aid)",
        "CREATE TABLE here (a int)",
        "CREATE SEQUENCE s",
        "CREATE FUNCTION noted(a int) RETURNS int LANGUAGE plpgsql AS \
         'BEGIN INSERT INTO here VALUES (a); RETURN a; END'",
        "INSERT INTO accounts VALUES (1, 10, 0.1)",
    ] {
        rows(&client, sql).await;
    }
    Some((cluster, client))
}

/// The last statements of the coordinator's sessions on both nodes.
async fn last_statements(cluster: &TwoNodes) -> Vec<String> {
    let sql = "SELECT query FROM pg_stat_activity WHERE application_name = 'steppe' ORDER BY 1";
    rows(&cluster.direct[0], sql).await
}

/// Whether the last statement of a session on a node was a COMMIT.
async fn has_committed(cluster: &TwoNodes) -> bool {
    let last = last_statements(cluster).await;
    last.iter().any(|query| query.contains("COMMIT"))
}

#[test]
fn lone_statements_need_no_commit() {
    run(async {
        let Some((cluster, client)) = start().await else { return };
        for (sql, is_alone) in [
            ("SELECT n FROM accounts WHERE aid = 1", true),
            ("UPDATE accounts SET n = n + 1 WHERE aid = 1", true),
            ("INSERT INTO accounts VALUES (2, nextval('s')) RETURNING aid", true),
            ("SELECT n FROM accounts WHERE aid = 1 FOR UPDATE", true),
            ("BEGIN; UPDATE accounts SET n = n + 1 WHERE aid = 1; COMMIT", false),
            ("SELECT n FROM accounts WHERE aid = 1; SELECT 1", true),
            ("UPDATE accounts SET n = n + 1 WHERE aid = 1; SELECT 1", false),
            ("SELECT n FROM accounts WHERE aid = 1", true),
            ("DO 'BEGIN PERFORM n FROM accounts WHERE aid = 1; END'", true),
            ("DO 'BEGIN UPDATE accounts SET n = n WHERE aid = 1; END'", false),
        ] {
            // The last statement of both nodes' sessions is another one before.
            for aid in 1..=8 {
                rows(&client, &format!("SELECT f FROM accounts WHERE aid = {aid}")).await;
            }
            assert!(!has_committed(&cluster).await);
            client.simple_query(sql).await.expect(sql);
            assert_eq!(has_committed(&cluster).await, !is_alone, "{sql}");
        }
        rows(&client, "SELECT f FROM accounts WHERE aid = 1").await;
        client.query("SELECT n FROM accounts WHERE aid = $1", &[&1_i32]).await.unwrap();
        client.execute("UPDATE accounts SET n = n + 1 WHERE aid = $1", &[&1_i32]).await.unwrap();
        assert!(!has_committed(&cluster).await, "in the extended protocol");
        client.simple_query("SET default_transaction_isolation = 'repeatable read'").await.unwrap();
        client.execute("UPDATE accounts SET n = n + 1 WHERE aid = $1", &[&1_i32]).await.unwrap();
        assert!(has_committed(&cluster).await, "REPEATABLE READ");
    });
}

#[test]
fn an_error_at_the_commit_is_the_statements() {
    run(async {
        let Some((_cluster, client)) = start().await else { return };
        client.simple_query("INSERT INTO items VALUES (1, 1)").await.unwrap();
        let failed = client.simple_query("INSERT INTO items VALUES (1, 1)").await.unwrap_err();
        assert_eq!(failed.code().unwrap().code(), "23505");
        let failed = client.execute("INSERT INTO items VALUES ($1, 1)", &[&1_i32]).await;
        assert_eq!(failed.unwrap_err().code().unwrap().code(), "23505");
        assert_eq!(rows(&client, "SELECT count(*) FROM items WHERE aid = 1").await, ["1"]);
    });
}

#[test]
fn a_statement_before_another_one_is_not_alone() {
    run(async {
        let Some((cluster, client)) = start().await else { return };
        // A message with two statements, the second of which fails.
        let both = "UPDATE accounts SET n = 0 WHERE aid = 1; SELECT 1/0";
        assert!(client.simple_query(both).await.is_err());
        // A pipeline: Execute, Execute, Sync.
        let mut raw = cluster.server.raw();
        let mut messages = parse("u", "UPDATE accounts SET n = 0 WHERE aid = 1");
        messages.extend(parse("f", "SELECT 1/0"));
        for statement in ["u", "f"] {
            messages.extend(bind("", statement, &[]));
            messages.extend(execute("", 0));
        }
        messages.extend(sync());
        raw.send(&messages);
        let answers = raw.until_ready();
        assert_eq!(tags(&answers), "112CEZ");
        // The same, with the failure first; and a Sync that comes later.
        let mut messages = bind("", "u", &[]);
        messages.extend(execute("", 0));
        raw.send(&messages);
        raw.send(&bind("", "f", &[]));
        let mut messages = execute("", 0);
        messages.extend(sync());
        raw.send(&messages);
        assert_eq!(tags(&raw.until_ready()), "2CEZ");
        assert_eq!(rows(&client, "SELECT n FROM accounts WHERE aid = 1").await, ["10"]);
    });
}

#[test]
fn a_statement_that_changes_something_here_is_not_alone() {
    run(async {
        let Some((cluster, client)) = start().await else { return };
        client.simple_query("INSERT INTO accounts VALUES (7, noted(7))").await.unwrap();
        assert!(has_committed(&cluster).await);
        // Both or none: the key is taken.
        let failed = client.simple_query("INSERT INTO accounts VALUES (7, noted(8))").await;
        assert_eq!(failed.unwrap_err().code().unwrap().code(), "23505");
        assert_eq!(rows(&client, "SELECT a FROM here").await, ["7"]);
        assert_eq!(rows(&client, "SELECT n FROM accounts WHERE aid = 7").await, ["7"]);
    });
}

#[test]
fn a_time_out_ends_the_statement_on_its_node() {
    run(async {
        let Some((cluster, client)) = start().await else { return };
        let node = match rows(&cluster.direct[0], "SELECT aid FROM accounts").await.is_empty() {
            true => &cluster.direct[1],
            false => &cluster.direct[0],
        };
        node.simple_query("BEGIN; UPDATE accounts SET n = 11 WHERE aid = 1").await.unwrap();
        client.simple_query("SET statement_timeout = '200ms'").await.unwrap();
        let began = Instant::now();
        let failed = client.simple_query("UPDATE accounts SET n = 12 WHERE aid = 1").await;
        let failed = failed.unwrap_err();
        assert_eq!(failed.code().unwrap().code(), "57014");
        assert!(failed.as_db_error().unwrap().message().contains("statement timeout"));
        assert!(began.elapsed() < SETTLES_WITHIN);
        // The node has no waiter any more.
        let waiting = "SELECT count(*) FROM pg_locks WHERE NOT granted";
        assert_eq!(rows(node, waiting).await, ["0"]);
        node.simple_query("COMMIT").await.unwrap();
        assert_eq!(rows(&client, "SELECT n FROM accounts WHERE aid = 1").await, ["11"]);
    });
}

#[test]
fn a_lost_connection_is_told() {
    run(async {
        let Some((cluster, client)) = start().await else { return };
        let end = "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity \
                   WHERE application_name = 'steppe'";
        // An idle connection that the node has closed is replaced.
        rows(&cluster.direct[0], end).await;
        assert_eq!(rows(&client, "SELECT n FROM accounts WHERE aid = 1").await, ["10"]);
        let node = match rows(&cluster.direct[0], "SELECT aid FROM accounts").await.is_empty() {
            true => &cluster.direct[1],
            false => &cluster.direct[0],
        };
        node.simple_query("BEGIN; UPDATE accounts SET n = 11 WHERE aid = 1").await.unwrap();
        let change = client.simple_query("UPDATE accounts SET n = 12 WHERE aid = 1");
        let ends = async {
            let waiting = "SELECT count(*) FROM pg_locks WHERE NOT granted";
            while rows(node, waiting).await == ["0"] {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
            rows(node, end).await;
        };
        let (failed, ()) = tokio::join!(change, ends);
        // The node has said that it ends the session, before any commit.
        let failed = failed.unwrap_err();
        assert_eq!(failed.code().unwrap().code(), "08006", "{failed:?}");
        node.simple_query("COMMIT").await.unwrap();
        assert_eq!(rows(&client, "SELECT n FROM accounts WHERE aid = 1").await, ["11"]);
    });
}

#[test]
fn long_answers_are_passed_on() {
    run(async {
        let Some((_cluster, client)) = start().await else { return };
        let insert = "DO $$ BEGIN FOR i IN 1..3000 LOOP \
                      INSERT INTO items VALUES (5, i); END LOOP; END $$";
        client.simple_query(insert).await.unwrap();
        let all = "SELECT count(i), sum(i) FROM (SELECT i FROM items WHERE aid = 5) s";
        assert_eq!(rows(&client, all).await, ["3000|4501500"]);
        assert_eq!(rows(&client, "SELECT i FROM items WHERE aid = 5").await.len(), 3000);
        let sum = "DO $$ DECLARE r record; n int := 0; BEGIN \
                   FOR r IN SELECT i FROM items WHERE aid = 5 LOOP n := n + r.i; END LOOP; \
                   IF n <> 4501500 THEN RAISE EXCEPTION '%', n; END IF; END $$";
        // Twice: the second run knows that there are many rows.
        client.simple_query(sum).await.unwrap();
        client.simple_query(sum).await.unwrap();
        // Floats in both formats, for any value of extra_float_digits.
        let text = "SELECT f FROM accounts WHERE aid = 1";
        let binary = |client: Client| async move {
            let row = client.query_one(text, &[]).await.unwrap();
            (row.get::<_, f64>(0), client)
        };
        assert_eq!(rows(&client, text).await, ["0.1"]);
        client
            .simple_query("UPDATE accounts SET f = 0.1::float8 + 0.2 WHERE aid = 1")
            .await
            .unwrap();
        assert_eq!(rows(&client, text).await, ["0.30000000000000004"]);
        client.simple_query("SET extra_float_digits = 0").await.unwrap();
        assert_eq!(rows(&client, text).await, ["0.3"]);
        let (value, _client) = binary(client).await;
        assert_eq!(value.to_bits(), (0.1_f64 + 0.2).to_bits());
    });
}
