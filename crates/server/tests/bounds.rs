//! Limits that settings set, and the errors of a session that reaches one.

mod support;

use support::{Raw, TestServer, rows, sqlstate};

fn one(raw: &mut Raw, sql: &str) -> String {
    let found = rows(&raw.query(sql));
    let column = found.first().and_then(|row| row.first().cloned().flatten());
    column.unwrap_or_else(|| "~".to_owned())
}

#[test]
fn a_full_lock_table_refuses_locks_and_goes_on() {
    let server = TestServer::start_with(&[("max_locks_per_transaction", "10")]);
    let (mut greedy, mut other) = (server.raw(), server.raw());
    other.query("create table t (a int primary key); insert into t values (1)");
    for lock in ["pg_advisory_xact_lock", "pg_advisory_lock"] {
        let sql = format!("select count({lock}(g)) from generate_series(1, 1000000) as g");
        let said = greedy.query(&sql);
        assert_eq!(sqlstate(&said).as_deref(), Some("53200"), "{lock}");
        let error = said.iter().find(|message| message.tag == b'E').expect("an error");
        assert_eq!(error.field(b'M').as_deref(), Some("out of shared memory"));
        let hint = "You might need to increase \"max_locks_per_transaction\".";
        assert_eq!(error.field(b'H').as_deref(), Some(hint));
        // Session-level locks outlive the failed statement, and other sessions find the table full.
        let stays = lock == "pg_advisory_lock";
        let is_free = one(&mut other, "select pg_try_advisory_xact_lock(1)");
        assert_eq!(is_free, if stays { "f" } else { "t" }, "{lock}");
        let more = "select count(pg_advisory_xact_lock(-g)) from generate_series(1, 20000) as g";
        assert_eq!(sqlstate(&other.query(more)).as_deref(), stays.then_some("53200"), "{lock}");
        greedy.query("select pg_advisory_unlock_all()");
        assert_eq!(one(&mut other, "select a from t for update"), "1");
    }
}

#[test]
fn old_versions_beyond_their_memory_are_found_again() {
    let server = TestServer::start_with(&[("undo_buffers", "1")]);
    let (mut reader, mut writer) = (server.raw(), server.raw());
    writer.query("create table t (a int primary key, b text)");
    writer.query("insert into t select g, repeat('x', 400) from generate_series(1, 2000) as g");
    reader.query("begin isolation level repeatable read; select 1 from t limit 1");
    for round in 0..20 {
        writer.query(&format!("update t set b = repeat('{}', 400)", round % 10));
    }
    let sum = "select count(*), sum(length(b)), min(b) = repeat('x', 400) from t";
    let seen = rows(&reader.query(sum));
    let seen: Vec<_> = seen[0].iter().flatten().map(String::as_str).collect();
    assert_eq!(seen, ["2000", "800000", "t"]);
}
