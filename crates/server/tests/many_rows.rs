//! Statements of thousands of rows, parameters and list elements: their results, their limits, and
//! memory and time that grow linearly.

mod support;

use support::{Message, Raw, TestServer, bind, describe, execute, parse, rows, sqlstate, sync};

fn one(raw: &mut Raw, sql: &str) -> String {
    let messages = raw.query(sql);
    assert_eq!(sqlstate(&messages), None, "{sql:.200}");
    let rows = rows(&messages);
    assert_eq!(rows.len(), 1, "{sql:.60}");
    let columns = rows[0].iter().map(|value| value.as_deref().unwrap_or("NULL"));
    columns.collect::<Vec<_>>().join("|")
}

fn done(raw: &mut Raw, sql: &str) {
    assert_eq!(sqlstate(&raw.query(sql)), None, "{sql:.200}");
}

fn joined(count: usize, separator: &str, item: impl Fn(usize) -> String) -> String {
    (0..count).map(item).collect::<Vec<_>>().join(separator)
}

/// Makes `(…), (…)` of four parameters each.
fn rows_of_params(rows: usize) -> String {
    let row = |i| format!("(${},${},${},${})", 4 * i + 1, 4 * i + 2, 4 * i + 3, 4 * i + 4);
    joined(rows, ",", row)
}

fn values(rows: usize) -> Vec<String> {
    let row = |i: usize| [i.to_string(), (i * 7).to_string(), format!("s{i}"), "2024-02-29".into()];
    (0..rows).flat_map(row).collect()
}

fn run(raw: &mut Raw, statement: &str, values: &[String]) -> Vec<Message> {
    let values: Vec<&str> = values.iter().map(String::as_str).collect();
    raw.send(&[bind("", statement, &values), execute("", 0), sync()].concat());
    raw.until_ready()
}

#[test]
fn sixty_thousand_parameters_are_bound() {
    const ROWS: usize = 15_000;
    let server = TestServer::start();
    let mut raw = server.raw();
    done(&mut raw, "create table t (id int primary key, k bigint, s varchar(10), d date)");
    let text = format!("insert into t (id, k, s, d) values {}", rows_of_params(ROWS));
    raw.send(&[parse("many", &text), describe(b'S', "many"), sync()].concat());
    let messages = raw.until_ready();
    assert_eq!(sqlstate(&messages), None);
    let described = messages.iter().find(|m| m.tag == b't').expect("parameters are described");
    assert_eq!(described.body[..2], 60_000u16.to_be_bytes());
    let types: Vec<&[u8]> = described.body[2..].chunks(4).collect();
    assert_eq!(types.len(), 4 * ROWS);
    // integer, bigint, character varying, date
    for (i, oid) in [23u32, 20, 1043, 1082].into_iter().enumerate() {
        assert!(types.iter().skip(i).step_by(4).all(|ty| **ty == oid.to_be_bytes()), "{oid}");
    }
    let all = values(ROWS);
    assert_eq!(sqlstate(&run(&mut raw, "many", &all)), None);
    let state = "select count(*), sum(id), sum(k), max(s), min(d) from t";
    assert_eq!(one(&mut raw, state), "15000|112492500|787447500|s9999|2024-02-29");

    // Run it again after a change of the table: first with one more column, then with one less.
    done(&mut raw, "delete from t; alter table t add extra text default 'more'");
    assert_eq!(sqlstate(&run(&mut raw, "many", &all)), None);
    assert_eq!(one(&mut raw, "select count(extra) from t"), "15000");
    let failed = run(&mut raw, "many", &all);
    assert_eq!(sqlstate(&failed).as_deref(), Some("23505"));
    done(&mut raw, "delete from t; alter table t drop k");
    assert_eq!(sqlstate(&run(&mut raw, "many", &all)).as_deref(), Some("42703"));
    assert_eq!(one(&mut raw, "select count(*) from t"), "0");

    // A value that is invalid for its type, and one that its column refuses.
    done(&mut raw, "alter table t add k bigint");
    let mut wrong = all.clone();
    wrong[4 * 12_345] = "x".into();
    assert_eq!(sqlstate(&run(&mut raw, "many", &wrong)).as_deref(), Some("22P02"));
    wrong = all;
    wrong[4 * 12_345 + 2] = "eleven char".into();
    assert_eq!(sqlstate(&run(&mut raw, "many", &wrong)).as_deref(), Some("22001"));
    assert_eq!(one(&mut raw, "select count(*) from t"), "0");
    server.stop();
}

#[test]
fn no_bind_has_more_parameters_than_it_can_count() {
    let server = TestServer::start();
    let mut raw = server.raw();
    done(&mut raw, "create table t (id int, k bigint, s text, d date)");
    let text = format!("insert into t values {}", rows_of_params(17_000));
    raw.send(&[parse("", &text), sync()].concat());
    assert_eq!(sqlstate(&raw.until_ready()), None);
    let failed = run(&mut raw, "", &values(1));
    assert_eq!(sqlstate(&failed).as_deref(), Some("08P01"));
    let error = failed.iter().find(|m| m.tag == b'E').and_then(|m| m.field(b'M'));
    let message = "bind message supplies 4 parameters, but prepared statement \"\" requires 68000";
    assert_eq!(error.as_deref(), Some(message));
    raw.send(&[parse("", "select $268435456::int"), sync()].concat());
    assert_eq!(sqlstate(&raw.until_ready()).as_deref(), Some("42P02"));
    server.stop();
}

/// A structure for each pair of them would take gigabytes and minutes.
#[test]
fn memory_and_time_grow_with_the_statement() {
    let server = TestServer::start_with(&[("statement_memory_limit", "100MB")]);
    let mut raw = server.raw();
    done(&mut raw, "create table t (id int primary key, k bigint, s text)");
    done(&mut raw, "set statement_timeout = '120s'");
    let row = |i| format!("({i}, {}, 's{i}')", 3 * i);
    let literals = format!("insert into t values {}", joined(10_000, ", ", row));
    done(&mut raw, &literals);
    // The rows have two forms, so they take the general way.
    let row = |i: usize| match i % 2 {
        0 => format!("({}, {i} + 1, DEFAULT)", 200_000 + i),
        _ => format!("({}, {i}, 's')", 200_000 + i),
    };
    done(&mut raw, &format!("insert into t values {}", joined(2_000, ", ", row)));
    assert_eq!(one(&mut raw, "select count(*) from t"), "12000");
    let numbers = joined(10_000, ",", |i| (2 * i).to_string());
    for (condition, count) in [
        (format!("id in ({numbers})"), "5000"),
        (format!("k + 0 not in ({numbers})"), "8666"),
        (format!("id = any (array[{numbers}])"), "5000"),
        (format!("id = any ('{{{numbers}}}')"), "5000"),
    ] {
        let counted = one(&mut raw, &format!("select count(*) from t where {condition}"));
        assert_eq!(counted, count, "{condition:.30}");
    }
    let either = joined(10_000, " or ", |i| format!("s = 's{i}'"));
    let counted =
        one(&mut raw, &format!("select count(nullif({either}, false)) from t where id < 9"));
    assert_eq!(counted, "9");
    server.stop();
}

#[test]
fn many_rows_end_when_they_are_to() {
    let server = TestServer::start();
    let mut raw = server.raw();
    done(&mut raw, "create table t (id int primary key, k bigint, s text)");
    let row = |i| format!("({i}, {}, 's{i}')", 3 * i);
    let literals = format!("insert into t values {}", joined(60_000, ", ", row));
    done(&mut raw, "set statement_timeout = '30ms'");
    assert_eq!(sqlstate(&raw.query(&literals)).as_deref(), Some("57014"));
    done(&mut raw, "reset statement_timeout");
    assert_eq!(one(&mut raw, "select count(*) from t"), "0");
    server.stop();
}
