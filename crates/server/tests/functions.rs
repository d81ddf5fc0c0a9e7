//! Functions that are created, replaced and dropped while other sessions call them.

mod support;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use support::{
    Message, Raw, TestServer, bind, describe, execute, parse, rows, run, sqlstate, sync, tags,
};
use tokio_postgres::Client;

/// Sessions that call.
const CALLERS: usize = 16;
/// How often the functions are replaced.
const VERSIONS: u64 = 40;

/// A call sees the function as it was at some moment between the call's begin and its end.
async fn call(client: Client, newest: Arc<AtomicU64>, is_over: Arc<AtomicBool>) -> u64 {
    let mut calls = 0;
    let prepared = client.prepare("SELECT version(0::bigint), n FROM versions(1::bigint) n").await;
    let prepared = prepared.expect("the functions are there");
    while !is_over.load(Ordering::Relaxed) {
        let before = newest.load(Ordering::SeqCst);
        let row = client.query_one(&prepared, &[]).await.expect("called");
        // The newest one may have been published, but not told yet.
        let after = newest.load(Ordering::SeqCst) + 1;
        for column in 0..2 {
            let seen = row.get::<_, i64>(column) as u64;
            assert!((before..=after).contains(&seen), "{seen} is not in {before}..={after}");
        }
        calls += 1;
    }
    calls
}

/// The functions of a version: one that is inlined, one that is run.
fn create(version: u64) -> String {
    let body = match version % 3 {
        0 => format!("SELECT $1 + {version}"),
        1 => format!("SELECT 1; SELECT $1 + {version}"),
        _ => format!("SELECT $1 + {version} FROM generate_series(1, 1)"),
    };
    format!(
        "CREATE OR REPLACE FUNCTION version(bigint) RETURNS bigint LANGUAGE sql AS '{body}';
         CREATE OR REPLACE FUNCTION versions(bigint) RETURNS SETOF bigint LANGUAGE sql STABLE
           AS 'SELECT $1 - 1 + {version}'"
    )
}

#[test]
fn calls_see_a_version_of_their_time() {
    run(replaced_while_called());
}

async fn replaced_while_called() {
    let server = TestServer::start();
    let writer = server.client().await;
    writer.batch_execute(&create(0)).await.expect("created");
    let (newest, is_over) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicBool::new(false)));
    let mut callers = Vec::new();
    for _ in 0..CALLERS {
        let client = server.client().await;
        callers.push(tokio::spawn(call(client, newest.clone(), is_over.clone())));
    }
    for version in 1..=VERSIONS {
        let replaced = match version % 4 {
            0 => format!(
                "BEGIN; DROP FUNCTION version(bigint); DROP FUNCTION versions(bigint); {}; COMMIT",
                create(version)
            ),
            1 => format!("BEGIN; {}; ROLLBACK; BEGIN; {}; COMMIT", create(9999), create(version)),
            _ => format!("BEGIN; {}; COMMIT", create(version)),
        };
        writer.batch_execute(&replaced).await.expect("replaced");
        newest.store(version, Ordering::SeqCst);
    }
    is_over.store(true, Ordering::Relaxed);
    for caller in callers {
        assert!(caller.await.expect("no panic") > 0, "a caller has called");
    }
}

#[test]
fn functions_and_the_protocol_share_prepared_statements() {
    let server = TestServer::start();
    let mut raw = server.raw();
    let named = [
        parse("sum", "SELECT $1::int + $2::int AS x"),
        parse("shown", "SHOW work_mem"),
        parse("made", "CREATE TABLE made AS SELECT 5 AS a"),
        parse("nothing", ""),
        parse("again", "EXECUTE again"),
        sync(),
    ];
    assert_eq!(tags(&raw_answers(&mut raw, &named)), "11111Z");
    let function = "CREATE FUNCTION f(query text) RETURNS text LANGUAGE plpgsql AS $$
        DECLARE r text; BEGIN EXECUTE query INTO r; RETURN r; END $$";
    assert_eq!(sqlstate(&raw.query(function)), None);
    let mut asked = |query: &str| {
        let answer = raw.query(&format!("SELECT f('{query}')"));
        sqlstate(&answer).unwrap_or_else(|| format!("{:?}", rows(&answer)))
    };
    assert_eq!(asked("EXECUTE sum(4, 5)"), r#"[[Some("9")]]"#);
    assert_eq!(asked("EXECUTE shown"), r#"[[Some("4MB")]]"#);
    assert_eq!(asked("EXECUTE sum(4)"), "42601");
    assert_eq!(asked("EXECUTE unknown"), "26000");
    for code in [
        "EXECUTE ''EXECUTE made''; EXECUTE ''EXECUTE nothing''",
        "PREPARE own (int) AS SELECT a + $1 FROM made",
    ] {
        let code = code.replace("''", "'");
        assert_eq!(sqlstate(&raw.query(&format!("DO $$ BEGIN {code}; END $$"))), None, "{code}");
    }
    let again = raw.query("DO $$ BEGIN EXECUTE 'EXECUTE again'; END $$");
    assert_eq!(sqlstate(&again).as_deref(), Some("0A000"));
    let run = [bind("", "own", &["7"]), execute("", 0), sync()];
    assert_eq!(rows(&raw_answers(&mut raw, &run)), [[Some("12".to_owned())]]);
    assert_eq!(sqlstate(&raw.query("DO $$ BEGIN DEALLOCATE own; END $$")), None);
    let gone = raw_answers(&mut raw, &run);
    assert_eq!(sqlstate(&gone).as_deref(), Some("26000"));
    server.stop();
}

/// An EXECUTE that the protocol has prepared may name itself.
#[test]
fn an_execute_that_executes_itself_ends() {
    let server = TestServer::start();
    let mut raw = server.raw();
    let named = [
        parse("one", "SELECT 1 AS x"),
        parse("other", "EXECUTE one"),
        parse("again", "EXECUTE again"),
        parse("first", "EXECUTE second"),
        parse("second", "EXECUTE first"),
        parse("plans", "EXPLAIN EXECUTE plans"),
        parse("makes", "CREATE TABLE made AS EXECUTE makes"),
        sync(),
    ];
    assert_eq!(tags(&raw_answers(&mut raw, &named)), "1111111Z");
    assert_eq!(rows(&raw.query("EXECUTE other")), [[Some("1".to_owned())]]);
    for (name, error) in
        [("again", "54001"), ("first", "54001"), ("plans", "0A000"), ("makes", "42809")]
    {
        let by_text = raw.query(&format!("EXECUTE {name}"));
        assert_eq!(sqlstate(&by_text).as_deref(), Some(error), "{name}");
        let run = [bind("", name, &[]), describe(b'P', ""), execute("", 0), sync()];
        let by_protocol = raw_answers(&mut raw, &run);
        assert!(sqlstate(&by_protocol).is_some(), "{name}");
    }
    let run = [bind("", "other", &[]), describe(b'P', ""), execute("", 0), sync()];
    assert_eq!(tags(&raw_answers(&mut raw, &run)), "2TDCZ");
    server.stop();
}

fn raw_answers(raw: &mut Raw, messages: &[Vec<u8>]) -> Vec<Message> {
    raw.send(&messages.concat());
    raw.until_ready()
}
