//! Objects that are dropped while another session makes objects that refer to them: no reference is
//! left without its object. PostgreSQL 18 has the same rule for schemas and relations only.

mod support;

use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

use support::{Raw, TestServer, rows, sqlstate};

/// Objects to refer to: CREATE, an object that refers to it, DROP, and the error of the CREATE that
/// comes too late.
const CASES: [(&str, &str, &str, &str); 14] = [
    ("create type {} as enum ('a')", "create table r (a {})", "drop type {}", "42704"),
    ("create type {} as enum ('a')", "create table r (a {}[])", "drop type {}", "42704"),
    ("create type {} as enum ('a')", "create domain r as {}", "drop type {}", "42704"),
    (
        "create type {} as enum ('a')",
        "create function r({}) returns int language sql as 'select 1'",
        "drop type {}",
        "42704",
    ),
    ("create type {} as enum ('a')", "create type r as (a {})", "drop type {}", "42704"),
    ("create domain {} as int", "create view r as select 1::{} as a", "drop domain {}", "42704"),
    ("create type {} as (a int)", "create table r (a {})", "drop type {}", "42P01"),
    (
        "create function {}() returns int language sql as 'select 1'",
        "create table r (a int default {}())",
        "drop function {}",
        "42883",
    ),
    (
        "create function {}(int) returns bool language sql immutable as 'select true'",
        "create table r (a int check ({}(a)))",
        "drop function {}",
        "42883",
    ),
    (
        "create function {}(int) returns bool language sql as 'select true'",
        "create domain r as int check ({}(value))",
        "drop function {}",
        "42883",
    ),
    (
        "create function {}() returns int language sql as 'select 1'",
        "create view r as select {}()",
        "drop function {}",
        "42883",
    ),
    (
        "create function {}() returns trigger language plpgsql as 'begin return new; end'",
        "create trigger r before insert on other for each row execute function {}()",
        "drop function {}",
        "42883",
    ),
    ("create schema {}", "create table {}.r (a int)", "drop schema {}", "3F000"),
    ("create schema {}", "create type {}.r as enum ('a')", "drop schema {}", "3F000"),
];

fn done(raw: &mut Raw, text: &str) {
    let answer = raw.query(text);
    assert_eq!(sqlstate(&answer), None, "{text}");
}

/// Runs `waiting` in a session, after `first` in a transaction of another one, which then commits.
/// Returns the SQLSTATE of `waiting`.
fn behind(server: &TestServer, first: &str, waiting: &str) -> Option<String> {
    let (mut holder, mut watcher) = (server.raw(), server.raw());
    done(&mut holder, &format!("begin; {first}"));
    thread::scope(|scope| {
        let (sender, ended) = channel();
        scope.spawn(move || {
            let mut raw = server.raw();
            let _ = sender.send(sqlstate(&raw.query(waiting)));
        });
        loop {
            let waits = watcher.query("select 1 from pg_locks where not granted limit 1");
            match ended.recv_timeout(Duration::from_millis(2)) {
                Err(RecvTimeoutError::Timeout) if rows(&waits).is_empty() => continue,
                Err(_) => break,
                Ok(state) => panic!("{waiting} did not wait for {first}: {state:?}"),
            }
        }
        done(&mut holder, "commit");
        ended.recv_timeout(Duration::from_secs(10)).expect("the statement ends")
    })
}

#[test]
fn a_drop_waits_for_what_refers_to_the_object() {
    let server = TestServer::start();
    let mut raw = server.raw();
    done(&mut raw, "create table other (a int)");
    for (number, (create, refer, drop, _)) in CASES.iter().enumerate() {
        let [create, refer, drop] = [create, refer, drop].map(|text| named(text, number, "d"));
        done(&mut raw, &create);
        assert_eq!(behind(&server, &refer, &drop).as_deref(), Some("2BP01"), "{refer}; {drop}");
        done(&mut raw, &format!("{drop} cascade"));
    }
}

#[test]
fn what_refers_to_an_object_waits_for_its_drop() {
    let server = TestServer::start();
    let mut raw = server.raw();
    done(&mut raw, "create table other (a int)");
    for (number, (create, refer, drop, expected)) in CASES.iter().enumerate() {
        let [create, refer, drop] = [create, refer, drop].map(|text| named(text, number, "r"));
        done(&mut raw, &create);
        assert_eq!(behind(&server, &drop, &refer).as_deref(), Some(*expected), "{drop}; {refer}");
    }
}

/// A case's text: `{}` is the object that is referred to, `r` the one that refers to it.
fn named(text: &str, number: usize, run: &str) -> String {
    let text = text.replace("{}", &format!("x{number}{run}"));
    text.replace(" r ", &format!(" r{number}{run} "))
        .replace(" r(", &format!(" r{number}{run}("))
        .replace(".r ", &format!(".r{number}{run} "))
}

/// CASCADE also drops objects that another session has made on its dependents while it waited.
#[test]
fn a_cascade_finds_what_was_made_while_it_waited() {
    let server = TestServer::start();
    let mut raw = server.raw();
    done(&mut raw, "create type e as enum ('a'); create table t (a e)");
    let made = behind(&server, "create view v as select a from t", "drop type e cascade");
    assert_eq!(made, None);
    let left = raw.query("select relname from pg_class where relname in ('v')");
    assert_eq!(rows(&left), Vec::<Vec<Option<String>>>::new());
    assert_eq!(sqlstate(&raw.query("select * from t")), None);
}

/// A function may be replaced while a transaction holds a new caller of it.
#[test]
fn replacing_a_function_waits_for_no_caller() {
    let server = TestServer::start();
    let (mut raw, mut other) = (server.raw(), server.raw());
    done(&mut raw, "create function f() returns int language sql as 'select 1'");
    done(&mut raw, "begin; create table t (a int default f())");
    done(&mut other, "create or replace function f() returns int language sql as 'select 2'");
    done(&mut raw, "commit");
}
