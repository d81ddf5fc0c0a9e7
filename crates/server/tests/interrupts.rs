//! Cancel and termination at every kind of wait, and the timeouts.

mod support;

use std::time::{Duration, Instant};

use support::{Raw, TestServer, bind, execute, message, parse, query, rows, sqlstate, sync};

fn one(raw: &mut Raw, sql: &str) -> String {
    let found = rows(&raw.query(sql));
    let column = found.first().and_then(|row| row.first().cloned().flatten());
    column.unwrap_or_else(|| "~".to_owned())
}

/// Waits until a session is at this wait.
fn wait_for(raw: &mut Raw, pid: &str, wait: &str) {
    let sql = format!(
        "select wait_event_type || '/' || wait_event from pg_stat_activity where pid = {pid}"
    );
    let patience = Instant::now() + Duration::from_secs(20);
    while one(raw, &sql) != wait {
        assert!(Instant::now() < patience, "{wait}: {}", one(raw, &sql));
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// For each wait: the statement of `holder`, the statement that then waits, and its wait event.
const WAITS: &[(&str, &str, &str)] = &[
    ("update t set b = 2 where a = 1", "update t set b = 3 where a = 1", "Lock/transactionid"),
    ("update t set b = 2 where a = 1", "update t set b = b + 1 where b > 0", "Lock/transactionid"),
    ("lock table t", "select * from t where a = 1", "Lock/relation"),
    ("lock table t", "insert into t values (9, 9)", "Lock/relation"),
    ("select pg_advisory_xact_lock(7)", "select pg_advisory_lock(7)", "Lock/advisory"),
    ("insert into t values (5, 5)", "insert into t values (5, 6)", "Lock/transactionid"),
    ("select 1", "select pg_sleep(100)", "Timeout/PgSleep"),
];

#[test]
fn every_wait_ends_by_a_cancel() {
    let server = TestServer::start();
    let (mut watcher, mut holder, mut waiter) = (server.raw(), server.raw(), server.raw());
    watcher.query("create table t (a int primary key, b int); insert into t values (1, 1)");
    let pid = one(&mut waiter, "select pg_backend_pid()");
    for (held, sql, wait) in WAITS {
        holder.query(&format!("begin; {held}"));
        waiter.send(&query(sql));
        wait_for(&mut watcher, &pid, wait);
        assert_eq!(one(&mut watcher, &format!("select pg_cancel_backend({pid})")), "t", "{sql}");
        assert_eq!(sqlstate(&waiter.until_ready()).as_deref(), Some("57014"), "{sql}");
        holder.query("rollback");
        assert_eq!(one(&mut waiter, "select 'lives'"), "lives", "{sql}");
    }
    assert_eq!(one(&mut watcher, "select count(*) from pg_locks where not granted"), "0");
}

#[test]
fn every_wait_ends_by_termination() {
    let server = TestServer::start();
    let (mut watcher, mut holder) = (server.raw(), server.raw());
    watcher.query("create table t (a int primary key, b int); insert into t values (1, 1)");
    for (held, sql, wait) in WAITS {
        let mut waiter = server.raw();
        let pid = one(&mut waiter, "select pg_backend_pid()");
        holder.query(&format!("begin; {held}"));
        waiter.send(&query(sql));
        wait_for(&mut watcher, &pid, wait);
        assert_eq!(one(&mut watcher, &format!("select pg_terminate_backend({pid})")), "t");
        let said: Vec<_> = std::iter::from_fn(|| waiter.receive()).collect();
        assert_eq!(sqlstate(&said).as_deref(), Some("57P01"), "{sql}");
        holder.query("rollback");
    }
    // A session that waits for its client, in a transaction and not.
    for sql in ["select 1", "begin; update t set b = 5"] {
        let mut waiter = server.raw();
        let pid = one(&mut waiter, "select pg_backend_pid()");
        waiter.query(sql);
        wait_for(&mut watcher, &pid, "Client/ClientRead");
        // A cancel has no effect here.
        assert_eq!(one(&mut watcher, &format!("select pg_cancel_backend({pid})")), "t");
        assert_eq!(one(&mut waiter, "select 'lives'"), "lives");
        assert_eq!(one(&mut watcher, &format!("select pg_terminate_backend({pid})")), "t");
        let said: Vec<_> = std::iter::from_fn(|| waiter.receive()).collect();
        assert_eq!(sqlstate(&said).as_deref(), Some("57P01"), "{sql}");
    }
    assert_eq!(one(&mut watcher, "select b from t where a = 1"), "1");
}

#[test]
fn a_copy_that_waits_for_data_can_be_canceled() {
    let server = TestServer::start();
    let (mut watcher, mut copier) = (server.raw(), server.raw());
    watcher.query("create table t (a int)");
    let pid = one(&mut copier, "select pg_backend_pid()");
    copier.send(&query("copy t from stdin"));
    // Its wait for the client before the COPY is the same, but a cancel would not end that.
    assert_eq!(copier.receive().map(|message| message.tag), Some(b'G'));
    copier.send(&support::message(b'd', b"1\n2\n"));
    wait_for(&mut watcher, &pid, "Client/ClientRead");
    assert_eq!(one(&mut watcher, &format!("select pg_cancel_backend({pid})")), "t");
    assert_eq!(sqlstate(&copier.until_ready()).as_deref(), Some("57014"));
    assert_eq!(one(&mut copier, "select count(*) from t"), "0");
}

#[test]
fn timeouts_have_postgresqls_codes() {
    let server = TestServer::start();
    let (mut holder, mut waiter) = (server.raw(), server.raw());
    holder.query("create table t (a int primary key, b int); insert into t values (1, 1)");
    holder.query("begin; lock table t; select pg_advisory_lock(1)");
    for (setting, sql, code) in [
        ("lock_timeout", "select * from t", "55P03"),
        ("lock_timeout", "select pg_advisory_lock(1)", "55P03"),
        ("statement_timeout", "select * from t", "57014"),
        ("statement_timeout", "select pg_sleep(100)", "57014"),
        ("statement_timeout", "select count(*) from generate_series(1, 1000000000000)", "57014"),
    ] {
        waiter.query(&format!("set {setting} = '30ms'"));
        assert_eq!(sqlstate(&waiter.query(sql)).as_deref(), Some(code), "{setting}: {sql}");
        waiter.query(&format!("reset {setting}"));
        assert_eq!(one(&mut waiter, "select 1"), "1");
    }
    for (setting, before, sql, code) in [
        ("transaction_timeout", "begin", "select pg_sleep(100)", "25P04"),
        ("transaction_timeout", "begin", "", "25P04"),
        ("idle_in_transaction_session_timeout", "begin", "", "25P03"),
        ("idle_session_timeout", "select 1", "", "57P05"),
    ] {
        let mut session = server.raw();
        session.query(&format!("set {setting} = '50ms'"));
        session.query(before);
        if !sql.is_empty() {
            session.send(&query(sql));
        }
        let said: Vec<_> = std::iter::from_fn(|| session.receive()).collect();
        assert_eq!(sqlstate(&said).as_deref(), Some(code), "{setting}: {before}; {sql}");
    }
}

/// As in PostgreSQL, the first waiting session waits for the transaction that owns the row, and the
/// others for the row.
#[test]
fn those_behind_the_next_one_wait_for_the_row() {
    let server = TestServer::start();
    let (mut watcher, mut holder) = (server.raw(), server.raw());
    let (mut next, mut behind) = (server.raw(), server.raw());
    watcher.query("create table t (a int primary key, b int); insert into t values (1, 1)");
    let (first, second) =
        (one(&mut next, "select pg_backend_pid()"), one(&mut behind, "select pg_backend_pid()"));
    holder.query("begin; update t set b = 2 where a = 1");
    next.send(&query("update t set b = b + 10 where a = 1"));
    wait_for(&mut watcher, &first, "Lock/transactionid");
    behind.send(&query("update t set b = b + 100 where a = 1"));
    wait_for(&mut watcher, &second, "Lock/tuple");
    let blocking = format!("select pg_blocking_pids({second}) @> array[{first}]");
    assert_eq!(one(&mut watcher, &blocking), "t");
    holder.query("commit");
    next.until_ready();
    behind.until_ready();
    assert_eq!(one(&mut watcher, "select b from t"), "112");
}

/// As in PostgreSQL, a transaction has ended once its commit is in the log. A later interrupt does
/// not change that: the client gets the tag first.
#[test]
fn a_commit_that_waits_for_its_flush_is_not_interrupted() {
    let server = TestServer::start_with(&[("debug_sync_delay", "300")]);
    let mut watcher = server.raw();
    watcher.query("create table t (a int primary key, b int); insert into t values (1, 0)");
    let mut expected = 0;
    for (before, last, tag) in [
        ("begin; update t set b = b + 1", "commit", "COMMIT"),
        ("select 1", "update t set b = b + 1", "UPDATE 1"),
    ] {
        let mut writer = server.raw();
        let pid = one(&mut writer, "select pg_backend_pid()");
        let mut commit = |how: &str, writer: &mut Raw| {
            writer.query(before);
            writer.send(&query(last));
            if !how.is_empty() {
                wait_for(&mut watcher, &pid, "IO/WalSync");
                assert_eq!(one(&mut watcher, &format!("select {how}({pid})")), "t");
            }
        };
        let done = |said: &[support::Message]| {
            let complete = said.iter().find(|message| message.tag == b'C');
            let text = complete.map(|message| String::from_utf8_lossy(&message.body).into_owned());
            assert_eq!(text.as_deref().map(|text| text.trim_end_matches('\0')), Some(tag));
        };

        commit("pg_cancel_backend", &mut writer);
        let said = writer.until_ready();
        done(&said);
        assert_eq!(sqlstate(&said), None, "{last}");
        assert_eq!(one(&mut writer, "select 'lives'"), "lives", "the cancel had nothing to end");

        writer.query("set statement_timeout = '50ms'");
        commit("", &mut writer);
        let said = writer.until_ready();
        done(&said);
        assert_eq!(sqlstate(&said), None, "{last}");

        commit("pg_terminate_backend", &mut writer);
        let said: Vec<_> = std::iter::from_fn(|| writer.receive()).collect();
        done(&said);
        assert_eq!(sqlstate(&said).as_deref(), Some("57P01"), "{last}");
        expected += 3;
        assert_eq!(one(&mut watcher, "select b from t"), expected.to_string());
    }
}

/// A change in a block may read a row that is not durable yet. Its tag is still sent at once.
/// COMMIT waits, and so does every answer that shows rows, or that there are none.
#[test]
fn a_tag_of_a_change_in_a_block_waits_for_no_flush() {
    let server = TestServer::start_with(&[("debug_sync_delay", "500")]);
    let mut watcher = server.raw();
    watcher.query("create table t (a int primary key, b int); insert into t values (1, 0)");
    let mut reader = server.raw();
    let mut writer = server.raw();
    let writing = one(&mut writer, "select pg_backend_pid()");
    // Whether the writer's commit was durable when the answer to a later statement arrived.
    let mut comes_after_flush = |statement: &str| {
        reader.query("begin");
        writer.send(&query("update t set b = b + 1 where a = 1"));
        wait_for(&mut watcher, &writing, "IO/WalSync");
        let end = one(&mut watcher, "select pg_current_wal_insert_lsn()");
        let durable = format!("select pg_current_wal_flush_lsn() >= '{end}'");
        let said = reader.query(statement);
        assert_eq!(sqlstate(&said), None, "{statement}");
        let is_durable = one(&mut watcher, &durable) == "t";
        reader.query("commit");
        assert_eq!(one(&mut watcher, &durable), "t", "COMMIT has waited: {statement}");
        writer.until_ready();
        is_durable
    };
    for statement in [
        "update t set b = b + 1 where a = 1 returning b",
        "update t set b = b + 1 where a = 1 and b < 0",
        "delete from t where a = 1 and b < 0",
        "select b from t where a = 1",
        "select b from t where a = 1 and b < 0",
    ] {
        assert!(comes_after_flush(statement), "{statement}");
    }
    // A busy machine may not answer within half a second, but it does at some try.
    let mut tries = 0..20;
    assert!(tries.any(|_| !comes_after_flush("update t set b = b + 1 where a = 1")));
}

/// Whether a statement of a client that disconnects still runs in pg_stat_activity after
/// `patience`.
fn outlives_its_client(server: &TestServer, before: &str, sql: &str, patience: Duration) -> bool {
    let (mut watcher, mut runner) = (server.raw(), server.raw());
    let pid = one(&mut runner, "select pg_backend_pid()");
    runner.query(before);
    runner.send(&query(sql));
    let is_at = |state: &str| {
        format!("select count(*) from pg_stat_activity where pid = {pid} and state = '{state}'")
    };
    let until = Instant::now() + Duration::from_secs(20);
    while one(&mut watcher, &is_at("active")) == "0" {
        assert!(Instant::now() < until, "{sql} does not begin");
        std::thread::sleep(Duration::from_millis(5));
    }
    // The server must notice the close, although an unread message comes before it.
    runner.send(&query("select 'never read'"));
    drop(runner);
    let until = Instant::now() + patience;
    while one(&mut watcher, &is_at("active")) != "0" {
        if Instant::now() > until {
            assert_eq!(one(&mut watcher, &format!("select pg_terminate_backend({pid})")), "t");
            return true;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    false
}

#[test]
fn a_statement_ends_with_its_client_where_that_is_looked_after() {
    let server = TestServer::start();
    let mut watcher = server.raw();
    watcher.query("create table t (a int primary key, b int); insert into t values (1, 1)");
    let mut holder = server.raw();
    holder.query("begin; lock table t");
    let (watched, long) =
        ("set client_connection_check_interval = '50ms'", Duration::from_secs(10));
    for sql in [
        "select pg_sleep(100)",
        "select count(*) from generate_series(1, 1000000000000)",
        "select b from t where a = 1",
    ] {
        assert!(!outlives_its_client(&server, watched, sql, long), "{sql}");
    }
    holder.query("rollback");
    // Its changes are rolled back, and its locks are free.
    let block = format!("{watched}; begin; update t set b = 2");
    assert!(!outlives_its_client(&server, &block, "select pg_sleep(100)", long));
    assert_eq!(one(&mut watcher, "update t set b = b + 10 returning b"), "11");
    let unwatched = "set client_connection_check_interval = 0";
    let short = Duration::from_millis(500);
    assert!(outlives_its_client(&server, unwatched, "select pg_sleep(100)", short));
}

/// Between the messages of the extended protocol, statement_timeout runs on. The client gets the
/// error at once, and the messages up to its Sync are skipped.
#[test]
fn statement_timeout_comes_between_messages() {
    let server = TestServer::start();
    let mut client = server.raw();
    client.query("set statement_timeout = '50ms'");
    client.send(&parse("named", "select 1"));
    client.send(&message(b'H', b""));
    assert_eq!(client.receive().map(|message| message.tag), Some(b'1'));
    let said = client.receive().expect("the time is up");
    assert_eq!((said.tag, said.field(b'C').as_deref()), (b'E', Some("57014")));
    let told = said.field(b'M');
    assert_eq!(told.as_deref(), Some("canceling statement due to statement timeout"));
    let rest = [bind("", "named", &[]), execute("", 0), sync()].concat();
    assert_eq!(client.tags(&rest), "Z");

    // It ends with the statement: an idle session gets no error, in a block or not.
    for begin in ["begin", "rollback"] {
        client.query(begin);
        std::thread::sleep(Duration::from_millis(150));
        let run = [bind("", "named", &[]), execute("", 0), sync()].concat();
        assert_eq!(client.tags(&run), "2DCZ", "the statement is there; {begin}");
    }
}
