//! EXECUTE DIRECT and the connections behind it, with PostgreSQL 15 as the data node.

mod support;

use std::time::{Duration, Instant};

use support::postgres::Postgres;
use support::{
    Message, Raw, TestServer, bind, describe, execute, parse, rows, rows_of, run, sqlstate, sync,
};
use tokio_postgres::Client;

/// A coordinator with one node.
fn cluster(settings: &[(&str, &str)]) -> Option<(Postgres, TestServer)> {
    let node = Postgres::start(&[])?;
    let server = TestServer::start_with(settings);
    let mut raw = server.raw();
    assert_eq!(sqlstate(&raw.query(&node.create_node("dn1"))), None);
    Some((node, server))
}

fn direct(query: &str) -> String {
    format!("EXECUTE DIRECT ON (dn1) $q${query}$q$")
}

fn error(messages: &[Message]) -> [Option<String>; 3] {
    let error = messages.iter().find(|message| message.tag == b'E').expect("an error");
    [b'C', b'M', b'W'].map(|field| error.field(field))
}

/// Waits for what must come by itself.
fn until(what: &str, is_so: impl Fn() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(10);
    while !is_so() {
        assert!(Instant::now() < deadline, "it does not happen that {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn column(raw: &mut Raw, sql: &str) -> Vec<String> {
    let answer = raw.query(sql);
    assert_eq!(sqlstate(&answer), None, "{sql}: {:?}", error(&answer));
    rows(&answer).into_iter().map(|row| row[0].clone().unwrap_or_default()).collect()
}

#[test]
fn the_node_answers_as_it_is() {
    let Some((node, server)) = cluster(&[]) else { return };
    let mut raw = server.raw();
    let answer = raw.query(&direct("SELECT relname, oid FROM pg_class WHERE oid = 1259"));
    assert_eq!(support::tags(&answer), "TDCZ");
    assert_eq!(rows(&answer), [[Some("pg_class".into()), Some("1259".into())]]);
    assert!(answer[0].body.windows(8).any(|bytes| bytes == b"relname\0"));
    assert_eq!(answer[2].body, b"EXECUTE DIRECT\0");

    // Many rows are passed on without being kept.
    let answer = raw.query(&direct("SELECT repeat('x', 1000) FROM generate_series(1, 50000)"));
    assert_eq!(rows(&answer).len(), 50_000);

    // The session's settings are the node's.
    let date = direct("SELECT date '2026-11-27'");
    assert_eq!(column(&mut raw, &date), ["2026-11-27"]);
    raw.query("SET DateStyle = 'German'");
    assert_eq!(column(&mut raw, &date), ["27.11.2026"]);
    assert_eq!(column(&mut server.raw(), &date), ["2026-11-27"]);

    // An error has all that the node says.
    let answer = raw.query(&direct("SELECT 1/0"));
    let context = Some("remote node \"dn1\"".into());
    assert_eq!(error(&answer), [Some("22012".into()), Some("division by zero".into()), context]);
    let answer = raw.query(&direct("SELECT nothing"));
    let failed = answer.iter().find(|message| message.tag == b'E').unwrap();
    assert_eq!((failed.field(b'p').as_deref(), failed.field(b'P')), (Some("8"), None));
    assert_eq!(failed.field(b'q').as_deref(), Some("SELECT nothing"));
    assert_eq!(column(&mut raw, &direct("SELECT 1")), ["1"]);

    let refused = |raw: &mut Raw, sql: &str| sqlstate(&raw.query(sql)).unwrap_or_default();
    assert_eq!(refused(&mut raw, &direct("INSERT INTO t VALUES (1)")), "0A000");
    assert_eq!(refused(&mut raw, &direct("WITH d AS (DELETE FROM t) SELECT 1")), "0A000");
    assert_eq!(refused(&mut raw, &direct("SELECT 1; SELECT 2")), "0A000");
    assert_eq!(refused(&mut raw, &direct("BEGIN")), "0A000");
    assert_eq!(refused(&mut raw, &direct("SELEKT 1")), "42601");
    assert_eq!(refused(&mut raw, "EXECUTE DIRECT ON (dn1, dn1) 'SELECT 1'"), "0A000");
    assert_eq!(refused(&mut raw, "EXECUTE DIRECT ON (dn2) 'SELECT 1'"), "42704");

    // What a statement leaves in its session, the next user does not find.
    assert_eq!(column(&mut raw, &direct("CREATE TEMP TABLE left_behind (a int)")).len(), 0);
    assert_eq!(refused(&mut raw, &direct("SELECT * FROM left_behind")), "42P01");
    assert_eq!(node.sessions("idle"), 1);
}

#[test]
fn the_extended_protocol_describes_what_the_node_describes() {
    let Some((_node, server)) = cluster(&[]) else { return };
    let mut raw = server.raw();
    let query = direct("SELECT g, 'x' || g FROM generate_series(1, 5) AS g");
    let bytes = [parse("s", &query), describe(b'S', "s"), sync()].concat();
    assert_eq!(raw.tags(&bytes), "1tTZ");
    let bytes =
        [bind("", "s", &[]), describe(b'P', ""), execute("", 2), execute("", 0), sync()].concat();
    assert_eq!(raw.tags(&bytes), "2TDDsDDDCZ");
    let bytes = [parse("", &direct("SET work_mem = '4MB'")), describe(b'S', ""), sync()].concat();
    assert_eq!(raw.tags(&bytes), "1tnZ");
    let bytes = [parse("", &direct("SELECT nothing")), describe(b'S', ""), sync()].concat();
    assert_eq!(raw.tags(&bytes), "1tEZ");
    run(async {
        // Binary values, as the client asks for them.
        let client = server.client().await;
        let rows = client.query(&query, &[]).await.unwrap();
        assert_eq!(rows.iter().map(|row| row.get::<_, i32>(0)).sum::<i32>(), 15);
        assert_eq!(rows[4].get::<_, String>(1), "x5");
    });
}

async fn fails(client: &Client, sql: &str) -> (String, Duration) {
    let begun = Instant::now();
    let failed = client.simple_query(sql).await.unwrap_err();
    let state = failed.code().map(|state| state.code().to_owned());
    (state.unwrap_or_else(|| panic!("{failed:?}")), begun.elapsed())
}

#[test]
fn a_statement_that_ends_early_ends_on_the_node() {
    let Some((node, server)) = cluster(&[("max_pool_size", "1")]) else { return };
    run(async {
        let client = server.client().await;
        let sleep = direct("SELECT pg_sleep(60)");
        client.simple_query("SET statement_timeout = 300").await.unwrap();
        let (state, after) = fails(&client, &sleep).await;
        assert_eq!(state, "57014");
        assert!(after < Duration::from_millis(500), "{after:?}");
        until("the statement ends", || node.sessions("active") == 0);
        client.simple_query("RESET statement_timeout").await.unwrap();

        // A cancel, of one that runs on the node and of one that waits for its connection.
        let (waiting, looking) = (server.client().await, server.client().await);
        let (token, of_waiting) = (client.cancel_token(), waiting.cancel_token());
        let cancels = async {
            until("it runs on the node", || node.sessions("active") == 1);
            let waits = "SELECT wait_event_type || wait_event FROM pg_stat_activity WHERE \
                         wait_event LIKE 'Remote%' ORDER BY 1";
            while rows_of(&looking, waits).await
                != ["IPC|RemoteAnswer", "IPC|RemoteConnection"].map(|event| event.replace('|', ""))
            {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
            of_waiting.cancel_query(tokio_postgres::NoTls).await.unwrap();
            let cancelled = Instant::now();
            tokio::time::sleep(Duration::from_millis(100)).await;
            token.cancel_query(tokio_postgres::NoTls).await.unwrap();
            (cancelled, Instant::now())
        };
        let ended = |client: Client| {
            let sleep = sleep.clone();
            async move { (fails(&client, &sleep).await.0, Instant::now()) }
        };
        let (first, second) = (ended(client), async {
            tokio::time::sleep(Duration::from_millis(200)).await;
            ended(waiting).await
        });
        let (first, second, cancelled) = tokio::join!(first, second, cancels);
        assert_eq!((&*first.0, &*second.0), ("57014", "57014"));
        let limit = Duration::from_millis(100);
        assert!(second.1 - cancelled.0 < limit, "{:?}", second.1 - cancelled.0);
        assert!(first.1 - cancelled.1 < limit, "{:?}", first.1 - cancelled.1);
        until("nothing runs on the node", || node.sessions("active") == 0);
    });
}

#[test]
fn a_node_that_is_down_is_named_and_comes_back() {
    let Some((mut node, server)) = cluster(&[]) else { return };
    let mut raw = server.raw();
    let one = direct("SELECT 1");
    assert_eq!(column(&mut raw, &one), ["1"]);
    node.kill();
    let begun = Instant::now();
    for _ in 0..100 {
        let [state, message, _] = error(&raw.query(&one));
        assert_eq!(state.as_deref(), Some("08006"));
        assert!(message.unwrap().starts_with("connection to node \"dn1\" failed: "));
    }
    assert!(begun.elapsed() < Duration::from_secs(5));
    node.start_again();
    until("the node is used again", || sqlstate(&server.raw().query(&one)).is_none());

    // A statement that runs when its node ends.
    raw.send(&support::query(&direct("SELECT pg_sleep(60)")));
    until("it runs", || node.sessions("active") == 1);
    node.kill();
    let [state, message, _] = error(&raw.until_ready());
    assert_eq!(state.as_deref(), Some("08006"));
    assert!(message.unwrap().starts_with("connection to node \"dn1\" failed: "));
}

#[test]
fn many_clients_share_few_connections_and_leave_none() {
    let Some((node, server)) = cluster(&[("max_pool_size", "5"), ("max_connections", "300")])
    else {
        return;
    };
    run(async {
        let mut clients = Vec::new();
        for _ in 0..200 {
            clients.push(server.client().await);
        }
        let tasks: Vec<_> = clients
            .into_iter()
            .map(|client| {
                tokio::spawn(async move {
                    let sql = direct(
                        "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'steppe'",
                    );
                    for _ in 0..5 {
                        let count: u32 = rows_of(&client, &sql).await[0].parse().unwrap();
                        assert!((1..=5).contains(&count), "{count} connections");
                    }
                })
            })
            .collect();
        for task in tasks {
            task.await.unwrap();
        }
    });
    assert_eq!(node.sessions("idle"), 5);

    // Clients that disconnect while they wait for the node, for rows, or for a connection.
    let queries = ["SELECT pg_sleep(60)", "SELECT repeat('x', 1000) FROM generate_series(1, 1e7)"];
    for i in 0..40 {
        let mut raw = server.raw();
        raw.query("SET client_connection_check_interval = 50");
        raw.send(&support::query(&direct(queries[i % 2])));
    }
    until("all statements are ended", || node.sessions("active") == 0);
    let mut raw = server.raw();
    assert_eq!(column(&mut raw, &direct("SELECT 1")), ["1"]);
    assert!(node.sessions("%") <= 5);
}
