//! Sessions through an ordinary driver.

mod support;

use std::time::Duration;
use support::TestServer;
use tokio_postgres::error::SqlState;
use tokio_postgres::{Client, SimpleQueryMessage};

fn run(test: impl Future<Output = ()>) {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    runtime.expect("a runtime").block_on(test);
}

/// The first column of a simple query's rows.
async fn column(client: &Client, sql: &str) -> Vec<String> {
    let messages = client.simple_query(sql).await.unwrap_or_else(|e| panic!("{sql}: {e:?}"));
    let rows = messages.iter().filter_map(|message| match message {
        SimpleQueryMessage::Row(row) => Some(row.get(0).unwrap_or("NULL").to_owned()),
        _ => None,
    });
    rows.collect()
}

async fn code(client: &Client, sql: &str) -> SqlState {
    let error = client.simple_query(sql).await.err();
    let error = error.unwrap_or_else(|| panic!("{sql} succeeds"));
    error.code().unwrap_or_else(|| panic!("{sql}: {error:?}")).clone()
}

#[test]
fn values_make_the_round_trip_in_both_formats() {
    run(async {
        let server = TestServer::start();
        let client = server.client().await;
        client
            .batch_execute("create table t (a int primary key, b text, c bigint, d float8, e bool)")
            .await
            .unwrap();
        let insert = client.prepare("insert into t values ($1, $2, $3, $4, $5)").await.unwrap();
        for i in 0..10i32 {
            let text = (i % 3 > 0).then(|| format!("row {i}"));
            let (big, float, even) = (i64::from(i) << 40, f64::from(i) / 8.0, i % 2 == 0);
            client.execute(&insert, &[&i, &text, &big, &float, &even]).await.unwrap();
        }
        let select = client.prepare("select * from t where a = $1").await.unwrap();
        for i in 0..10i32 {
            let row = client.query_one(&select, &[&i]).await.unwrap();
            assert_eq!(row.get::<_, i32>(0), i);
            let text: Option<String> = row.get(1);
            assert_eq!(text, (i % 3 > 0).then(|| format!("row {i}")));
            assert_eq!(row.get::<_, i64>(2), i64::from(i) << 40);
            assert_eq!(row.get::<_, f64>(3), f64::from(i) / 8.0);
            assert_eq!(row.get::<_, bool>(4), i % 2 == 0);
        }
        let texts = column(&client, "select d from t where a = 3").await;
        assert_eq!(texts, ["0.375"]);
    });
}

#[test]
fn a_plan_of_one_shape_serves_other_literals() {
    run(async {
        let server = TestServer::start();
        let client = server.client().await;
        client.batch_execute("create table t (a int primary key, b text)").await.unwrap();
        for i in 0..20 {
            client
                .batch_execute(&format!("insert into t values ({i}, 'it''s {i}')"))
                .await
                .unwrap();
        }
        for i in 0..20 {
            let found = column(&client, &format!("select b from t where a = {i}")).await;
            assert_eq!(found, [format!("it's {i}")]);
        }
        // Literals of other types, and invalid ones, make other shapes.
        assert_eq!(column(&client, "select b from t where a = '7'").await, ["it's 7"]);
        assert!(column(&client, "select b from t where a = 7.5").await.is_empty());
        let bad = client.simple_query("select b from t where a = 'x'").await.unwrap_err();
        let bad = bad.as_db_error().unwrap();
        assert_eq!(bad.code(), &SqlState::INVALID_TEXT_REPRESENTATION);
        assert!(bad.position().is_some(), "the error points at the literal");
        // A change of the schema is visible at once.
        client.batch_execute("alter table t drop column b").await.unwrap();
        assert_eq!(code(&client, "select b from t where a = 1").await, SqlState::UNDEFINED_COLUMN);
    });
}

#[test]
fn prepared_statements_follow_the_schema() {
    run(async {
        let server = TestServer::start();
        let client = server.client().await;
        let other = server.client().await;
        client.batch_execute("create table t (a int, b int)").await.unwrap();
        let insert = client.prepare("insert into t (a) values ($1)").await.unwrap();
        let select = client.prepare("select * from t").await.unwrap();
        client.execute(&insert, &[&1i32]).await.unwrap();
        other.batch_execute("create index on t (a); alter table t add column c int").await.unwrap();
        client.execute(&insert, &[&2i32]).await.unwrap();
        let changed = client.query(&select, &[]).await.unwrap_err();
        assert_eq!(changed.code(), Some(&SqlState::FEATURE_NOT_SUPPORTED));
        assert_eq!(column(&client, "select count(*) from t").await, ["2"]);
    });
}

#[test]
fn savepoints_nest() {
    run(async {
        let server = TestServer::start();
        let client = server.client().await;
        client.batch_execute("create table t (a int primary key)").await.unwrap();
        client
            .batch_execute("begin; insert into t values (1); savepoint a; insert into t values (2)")
            .await
            .unwrap();
        assert_eq!(code(&client, "insert into t values (1)").await, SqlState::UNIQUE_VIOLATION);
        assert_eq!(code(&client, "select 1").await, SqlState::IN_FAILED_SQL_TRANSACTION);
        client.batch_execute("rollback to a; insert into t values (3); savepoint b").await.unwrap();
        client.batch_execute("insert into t values (4); release a; commit").await.unwrap();
        assert_eq!(column(&client, "select a from t order by a").await, ["1", "3", "4"]);
        assert_eq!(code(&client, "savepoint x").await, SqlState::NO_ACTIVE_SQL_TRANSACTION);
    });
}

#[test]
fn schema_changes_are_transactional() {
    run(async {
        let server = TestServer::start();
        let client = server.client().await;
        let other = server.client().await;
        client
            .batch_execute("begin; create table t (a int); insert into t values (1)")
            .await
            .unwrap();
        assert_eq!(column(&client, "select a from t").await, ["1"]);
        assert_eq!(code(&other, "select a from t").await, SqlState::UNDEFINED_TABLE);
        client.batch_execute("savepoint s; drop table t").await.unwrap();
        assert_eq!(code(&client, "select a from t").await, SqlState::UNDEFINED_TABLE);
        client.batch_execute("rollback to s; commit").await.unwrap();
        assert_eq!(column(&other, "select a from t").await, ["1"]);
        client.batch_execute("begin; drop table t; rollback").await.unwrap();
        assert_eq!(column(&other, "select a from t").await, ["1"]);
    });
}

#[test]
fn set_is_transactional_and_local() {
    run(async {
        let server = TestServer::start();
        let client = server.client().await;
        let shown = async |name: &str| column(&client, &format!("show {name}")).await.remove(0);
        client.batch_execute("set work_mem = '1MB'").await.unwrap();
        client.batch_execute("begin; set work_mem = '2MB'; rollback").await.unwrap();
        assert_eq!(shown("work_mem").await, "1MB");
        client.batch_execute("begin; set local work_mem = '2MB'").await.unwrap();
        assert_eq!(shown("work_mem").await, "2MB");
        client.batch_execute("commit").await.unwrap();
        assert_eq!(shown("work_mem").await, "1MB");
        client.batch_execute("reset work_mem").await.unwrap();
        assert_eq!(shown("work_mem").await, "4MB");
        assert_eq!(code(&client, "set nonsense = 1").await, SqlState::UNDEFINED_OBJECT);
        assert_eq!(code(&client, "show nonsense").await, SqlState::UNDEFINED_OBJECT);
        assert_eq!(code(&client, "set work_mem = '1kB'").await, SqlState::INVALID_PARAMETER_VALUE);
        client.batch_execute("set app.tier = 'gold'").await.unwrap();
        assert_eq!(column(&client, "select current_setting('app.tier')").await, ["gold"]);
        assert_eq!(column(&client, "select set_config('work_mem', '3MB', false)").await, ["3MB"]);
        assert_eq!(shown("work_mem").await, "3MB");
        client.batch_execute("set search_path to \"$user\", public").await.unwrap();
        assert_eq!(shown("search_path").await, "\"$user\", public");
        client.batch_execute("begin isolation level repeatable read read only").await.unwrap();
        assert_eq!(shown("transaction_isolation").await, "repeatable read");
        assert_eq!(shown("transaction_read_only").await, "on");
        client.batch_execute("commit").await.unwrap();
        assert_eq!(shown("transaction_isolation").await, "read committed");
    });
}

#[test]
fn a_read_only_transaction_refuses_changes() {
    run(async {
        let server = TestServer::start();
        let client = server.client().await;
        client.batch_execute("create table t (a int)").await.unwrap();
        client.batch_execute("begin read only").await.unwrap();
        assert_eq!(
            code(&client, "insert into t values (1)").await,
            SqlState::READ_ONLY_SQL_TRANSACTION
        );
        client.batch_execute("rollback").await.unwrap();
        assert_eq!(column(&client, "select count(*) from t").await, ["0"]);
    });
}

#[test]
fn portals_are_read_piece_by_piece() {
    run(async {
        let server = TestServer::start();
        let mut client = server.client().await;
        client.batch_execute("create table t (a int)").await.unwrap();
        client.batch_execute("insert into t select * from generate_series(1, 1000)").await.unwrap();
        let transaction = client.transaction().await.unwrap();
        let portal = transaction.bind("select a from t order by a", &[]).await.unwrap();
        let mut seen = Vec::new();
        loop {
            let rows = transaction.query_portal(&portal, 300).await.unwrap();
            if rows.is_empty() {
                break;
            }
            seen.extend(rows.iter().map(|row| row.get::<_, i32>(0)));
            // A portal that has begun does not see later changes.
            transaction.batch_execute("delete from t where a = 1000").await.unwrap();
        }
        assert_eq!(seen, (1..=1000).collect::<Vec<i32>>());
        transaction.commit().await.unwrap();
    });
}

#[test]
fn cursors_scroll_and_hold() {
    run(async {
        let server = TestServer::start();
        let client = server.client().await;
        client
            .batch_execute(
                "begin; declare c scroll cursor for select * from generate_series(1, 10) g;
                 declare f cursor for select * from generate_series(1, 10) g;
                 declare h cursor with hold for select * from generate_series(1, 3) g",
            )
            .await
            .unwrap();
        for (fetch, expected) in [
            ("fetch 2 from c", &["1", "2"][..]),
            ("fetch backward 1 from c", &["1"]),
            ("fetch prior from c", &[]),
            ("fetch next from c", &["1"]),
            ("fetch last from c", &["10"]),
            ("fetch absolute 4 from c", &["4"]),
            ("fetch relative -2 from c", &["2"]),
            ("fetch 0 from c", &["2"]),
            ("fetch backward all from c", &["1"]),
            ("fetch forward 3 from f", &["1", "2", "3"]),
            ("move 2 from f", &[]),
            ("fetch from f", &["6"]),
            ("fetch all from f", &["7", "8", "9", "10"]),
            ("fetch from f", &[]),
            ("fetch from h", &["1"]),
        ] {
            assert_eq!(column(&client, fetch).await, expected, "{fetch}");
        }
        client.batch_execute("commit").await.unwrap();
        assert_eq!(column(&client, "fetch all from h").await, ["2", "3"]);
        client.batch_execute("close h").await.unwrap();
        assert_eq!(code(&client, "fetch from c").await, SqlState::INVALID_CURSOR_NAME);
    });
}

#[test]
fn waits_end_by_cancel_and_timeouts() {
    run(async {
        let server = TestServer::start();
        let holder = server.client().await;
        let waiter = server.client().await;
        holder.batch_execute("create table t (a int primary key, b int)").await.unwrap();
        holder.batch_execute("insert into t values (1, 1)").await.unwrap();
        holder.batch_execute("begin; update t set b = 2 where a = 1").await.unwrap();
        let update = "update t set b = b + 10 where a = 1";
        waiter.batch_execute("set lock_timeout = '50ms'").await.unwrap();
        assert_eq!(code(&waiter, update).await, SqlState::LOCK_NOT_AVAILABLE);
        waiter.batch_execute("set lock_timeout = 0; set statement_timeout = '50ms'").await.unwrap();
        assert_eq!(code(&waiter, update).await, SqlState::QUERY_CANCELED);
        waiter.batch_execute("set statement_timeout = 0").await.unwrap();
        let token = waiter.cancel_token();
        let cancel = tokio::spawn(async move {
            tokio::time::sleep(Duration::from_millis(100)).await;
            token.cancel_query(tokio_postgres::NoTls).await.unwrap();
        });
        assert_eq!(code(&waiter, update).await, SqlState::QUERY_CANCELED);
        cancel.await.unwrap();
        // The end of the other transaction ends the wait, too.
        let waiting = tokio::spawn(async move {
            waiter.batch_execute(update).await.unwrap();
            waiter
        });
        tokio::time::sleep(Duration::from_millis(50)).await;
        holder.batch_execute("commit").await.unwrap();
        let waiter = waiting.await.unwrap();
        assert_eq!(column(&waiter, "select b from t").await, ["12"]);
    });
}

/// More sessions than workers compute without end, though their estimates are small, or plan for
/// minutes. Other sessions connect and get their answers, and all can be cancelled.
#[test]
fn what_takes_long_holds_up_nobody() {
    run(async {
        let server = TestServer::start();
        let series = "select sum(x) from generate_series(1, 100000000000) x";
        let recursion = "with recursive r (n) as (select 1 union all select n + 1 from r) \
                         select count(*) from r";
        let scans = (0..2000).map(|i| format!("generate_series(1, 1) a{i}"));
        let joins = format!("select 1 from {}", scans.collect::<Vec<_>>().join(", "));
        let mut tasks = Vec::new();
        for _ in 0..std::thread::available_parallelism().unwrap().get() {
            for sql in [series, recursion, &joins] {
                let (client, sql) = (server.client().await, sql.to_owned());
                let token = client.cancel_token();
                let task = tokio::spawn(async move { code(&client, &sql).await });
                tasks.push((token, task));
            }
        }
        let limit = Duration::from_secs(20);
        let answer = async {
            for _ in 0..10 {
                let client = server.client().await;
                assert_eq!(column(&client, "select 1").await, ["1"]);
            }
        };
        tokio::time::timeout(limit, answer).await.expect("other sessions get their answers");
        for (token, task) in tasks {
            token.cancel_query(tokio_postgres::NoTls).await.unwrap();
            let ended = tokio::time::timeout(limit, task).await.expect("the cancel is heard");
            assert_eq!(ended.unwrap(), SqlState::QUERY_CANCELED);
        }
    });
}

#[test]
fn many_sessions_on_one_row_lose_no_update() {
    run(async {
        let server = TestServer::start();
        let client = server.client().await;
        client.batch_execute("create table t (a int primary key, b int)").await.unwrap();
        client.batch_execute("insert into t values (1, 0)").await.unwrap();
        let mut tasks = Vec::new();
        for _ in 0..16 {
            let client = server.client().await;
            tasks.push(tokio::spawn(async move {
                let update = client.prepare("update t set b = b + 1 where a = $1").await.unwrap();
                for _ in 0..25 {
                    client.execute(&update, &[&1i32]).await.unwrap();
                }
            }));
        }
        for task in tasks {
            task.await.unwrap();
        }
        assert_eq!(column(&client, "select b from t").await, ["400"]);
    });
}

#[test]
fn an_idle_transaction_is_ended() {
    run(async {
        let server = TestServer::start();
        let client = server.client().await;
        client.batch_execute("set idle_in_transaction_session_timeout = '100ms'").await.unwrap();
        client.batch_execute("begin").await.unwrap();
        tokio::time::sleep(Duration::from_millis(400)).await;
        assert!(client.is_closed());
    });
}

#[test]
fn advisory_locks_are_held_by_sessions() {
    run(async {
        let server = TestServer::start();
        let (a, b) = (server.client().await, server.client().await);
        assert_eq!(column(&a, "select pg_try_advisory_lock(7)").await, ["t"]);
        assert_eq!(column(&b, "select pg_try_advisory_lock(7)").await, ["f"]);
        assert_eq!(column(&a, "select pg_advisory_unlock(7)").await, ["t"]);
        assert_eq!(column(&b, "select pg_try_advisory_lock(7)").await, ["t"]);
    });
}

#[test]
fn stopping_ends_sessions_with_57p01() {
    run(async {
        let server = TestServer::start();
        let mut raw = server.raw();
        let stopped = tokio::task::spawn_blocking(move || server.stop());
        let goodbye = tokio::task::spawn_blocking(move || raw.until_ready()).await.unwrap();
        stopped.await.unwrap();
        assert_eq!(support::sqlstate(&goodbye).as_deref(), Some("57P01"));
    });
}

#[test]
fn an_older_snapshot_does_not_look_through_a_younger_index() {
    run(async {
        let server = TestServer::start();
        let (reader, writer) = (server.client().await, server.client().await);
        writer
            .batch_execute("create table t (k int); insert into t values (1), (2)")
            .await
            .unwrap();
        reader
            .batch_execute("set enable_seqscan = off; begin isolation level repeatable read")
            .await
            .unwrap();
        assert_eq!(column(&reader, "select count(*) from t where k = 1").await, ["1"]);
        // The index is built over the remaining rows: it has no entry for the deleted row.
        writer.batch_execute("delete from t where k = 1; create index on t (k)").await.unwrap();
        assert_eq!(column(&reader, "select count(*) from t where k = 1").await, ["1"]);
        reader.batch_execute("commit").await.unwrap();
        assert_eq!(column(&reader, "select count(*) from t where k = 1").await, ["0"]);
        let plan = column(&reader, "explain (costs off) select * from t where k = 1").await;
        assert!(plan.iter().any(|line| line.contains("Index")), "{plan:?}");
    });
}

/// A statement about one leaf locks it before it takes its snapshot. So it sees the changes of
/// TRUNCATE and INSERT that it waited for.
#[test]
fn a_statement_about_one_leaf_sees_what_it_has_waited_for() {
    run(async {
        let server = TestServer::start();
        let (owner, waiter) = (server.client().await, server.client().await);
        owner
            .batch_execute(
                "create table p (k int, v int) partition by list (k);
                 create table p1 partition of p for values in (1);
                 create table p2 partition of p for values in (2);
                 insert into p values (1, 10), (2, 20)",
            )
            .await
            .unwrap();
        let get = waiter.prepare("select v from p where k = $1").await.unwrap();
        assert_eq!(waiter.query_one(&get, &[&1i32]).await.unwrap().get::<_, i32>(0), 10);
        owner.batch_execute("begin; truncate p1; insert into p values (1, 11)").await.unwrap();
        // Another leaf is not locked.
        assert_eq!(waiter.query_one(&get, &[&2i32]).await.unwrap().get::<_, i32>(0), 20);
        let pid: i32 = waiter.query_one("select pg_backend_pid()", &[]).await.unwrap().get(0);
        let waits = async {
            let waits = format!("select count(*) from pg_locks where pid = {pid} and not granted");
            while column(&owner, &waits).await != ["1"] {
                tokio::task::yield_now().await;
            }
            owner.batch_execute("commit").await.unwrap();
        };
        let one = [&1i32 as &(dyn tokio_postgres::types::ToSql + Sync)];
        let (row, ()) = tokio::join!(waiter.query_one(&get, &one), waits);
        assert_eq!(row.unwrap().get::<_, i32>(0), 11);
    });
}

/// pg_dump reads with several sessions in this way: each sees the first one's snapshot.
#[test]
fn a_snapshot_is_taken_over_as_long_as_its_transaction_runs() {
    run(async {
        let server = TestServer::start();
        let (owner, other) = (server.client().await, server.client().await);
        other.batch_execute("create table t (a int); insert into t values (1)").await.unwrap();
        let begin = "begin isolation level repeatable read";
        for level in ["read committed", "repeatable read"] {
            let count = format!("select count(*) from t where '{level}' is not null");
            owner.batch_execute(&format!("begin isolation level {level}")).await.unwrap();
            let name = column(&owner, "select pg_export_snapshot()").await.remove(0);
            let seen = column(&owner, &count).await;
            other.batch_execute("insert into t values (2)").await.unwrap();
            let import = format!("set transaction snapshot '{name}'");
            other.batch_execute(&format!("{begin}; {import}")).await.unwrap();
            assert_eq!(column(&other, &count).await, seen, "{level}");
            // It holds the snapshot itself from now on.
            owner.batch_execute("commit; delete from t").await.unwrap();
            owner.batch_execute("vacuum t").await.unwrap();
            assert_eq!(column(&other, &count).await, seen, "{level}");
            other.batch_execute("commit; insert into t values (3)").await.unwrap();
            other.batch_execute(begin).await.unwrap();
            assert_eq!(code(&other, &import).await, SqlState::UNDEFINED_OBJECT);
            other.batch_execute("rollback").await.unwrap();
        }
        owner.batch_execute("begin").await.unwrap();
        let name = column(&owner, "select pg_export_snapshot()").await.remove(0);
        assert!(owner.batch_execute("select 1 / 0").await.is_err());
        other.batch_execute(begin).await.unwrap();
        let import = format!("set transaction snapshot '{name}'");
        assert_eq!(code(&other, &import).await, SqlState::UNDEFINED_OBJECT, "it has failed");
        other.batch_execute("rollback; begin isolation level serializable").await.unwrap();
        assert_eq!(code(&other, &import).await, SqlState::UNDEFINED_OBJECT);
    });
}

/// Two clients' threads exchange their ten sessions each. Sessions may move to other workers, and
/// keep all their state.
#[test]
fn sessions_have_all_they_had_wherever_they_live() {
    const TURNS: i32 = 600;
    let server = TestServer::start();
    server.raw().query("create table t (a int primary key, b int)");
    let mut halves = [0, 1].map(|half| {
        let session = |n| {
            let mut raw = server.raw();
            raw.query(&format!("set application_name = 'session {half} {n}'"));
            raw.query(&format!("create temp table own as select {n} as n, 0 as turns"));
            raw.query("prepare p as update own set turns = turns + 1 returning n, turns");
            raw.query(&format!("insert into t values ({}, 0)", 100 * half + n));
            (n, raw)
        };
        (0..10).map(session).collect::<Vec<_>>()
    });
    for round in 0..3 {
        std::thread::scope(|scope| {
            for (half, sessions) in halves.iter_mut().enumerate() {
                scope.spawn(move || {
                    for turn in 1..=TURNS {
                        for (n, raw) in sessions.iter_mut() {
                            let said = raw.query("execute p");
                            let turns = (round * TURNS + turn).to_string();
                            let expected = vec![vec![Some(n.to_string()), Some(turns)]];
                            assert_eq!(support::rows(&said), expected, "half {half}");
                        }
                    }
                });
            }
        });
        for (_, raw) in halves.iter_mut().flatten() {
            raw.query("begin; update t set b = b + 1 where a % 100 = 0; commit");
        }
        // The other thread continues with them.
        halves.swap(0, 1);
    }
    for (half, sessions) in halves.iter_mut().rev().enumerate() {
        for (n, raw) in sessions {
            let said = raw.query("select current_setting('application_name')");
            assert_eq!(support::rows(&said), [[Some(format!("session {half} {n}"))]]);
        }
    }
    let said = server.raw().query("select sum(b) from t");
    assert_eq!(support::rows(&said), [[Some("120".to_owned())]]);
}
