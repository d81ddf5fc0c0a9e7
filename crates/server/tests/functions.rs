//! Functions that are created, replaced and dropped while other sessions call them.

mod support;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use support::{TestServer, run};
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
