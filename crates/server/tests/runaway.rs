//! Functions that do not end by themselves: endless loops are canceled at once, and endless
//! recursion ends with 54001. In both cases the session lives.

mod support;

use std::time::{Duration, Instant};

use support::{Raw, TestServer, query, rows, sqlstate};

/// The time from the request to the answer of the canceled session.
const AT_ONCE: Duration = Duration::from_millis(10);
/// How often each loop is canceled. The machine may be busy: the fastest time counts.
const TIMES: usize = 8;

/// Bodies of blocks that run until they are canceled.
const ENDLESS: &[&str] = &[
    "begin loop null; end loop; end",
    "declare i int := 0; begin loop i := (i + 1) % 1000; end loop; end",
    "begin while true loop end loop; end",
    "begin for i in 1 .. 2000000000 loop end loop; end",
    "begin for i in reverse 2000000000 .. 1 loop continue when i > 5; end loop; end",
    "declare a int[]; i int := 0; begin loop i := i % 100000 + 1; a[i] := i; end loop; end",
    "declare s text := ''; begin loop s := left(s || 'x', 10000); end loop; end",
    "declare a int[]; begin loop a := (a || 1)[1:1000]; end loop; end",
    "begin loop execute 'select 1'; end loop; end",
    "begin loop perform count(*) from t where i > 0; end loop; end",
    "declare r record; begin for r in select * from generate_series(1, 2000000000) loop \
     null; end loop; end",
    "declare c cursor for select * from generate_series(1, 2000000000); begin \
     for r in c loop null; end loop; end",
    "begin loop raise debug 'x'; end loop; end",
    "begin perform doubling(60); end",
    // A handler of OTHERS does not catch a cancel.
    "begin loop begin perform 1 / 0; exception when others then null; end; end loop; end",
    "begin loop begin loop null; end loop; exception when others then null; end; end loop; end",
    "begin loop begin insert into t values (1); exception when unique_violation then null; end; \
     end loop; end",
];

/// Statements that call themselves again and again, in both languages and by triggers.
const RECURSIVE: &[&str] = &[
    "select own(1)",
    "select by_sql(1)",
    "select sql_alone(1)",
    "select rows_of_own(1)",
    "insert into before_row values (1)",
    "insert into after_row values (1)",
    "call again(1)",
    "select by_execute(1)",
];

const SCHEMA: &str = "
create table t (i int primary key); insert into t values (1);
create function doubling(n int) returns int language plpgsql as
    'begin if n = 0 then return 0; end if; return doubling(n - 1) + doubling(n - 1); end';
set check_function_bodies = off;
create function own(n int) returns int language plpgsql as 'begin return own(n + 1); end';
create function by_plpgsql(n int) returns int language plpgsql as
    'begin return by_sql(n + 1); end';
create function by_sql(n int) returns int language sql as 'select by_plpgsql(n + 1)';
create function rows_of_own(n int) returns setof int language plpgsql as
    'begin return query select * from rows_of_own(n + 1); end';
create function sql_alone(n int) returns int language sql as
    'select case when n < 0 then 0 else sql_alone(n + 1) end';
create table before_row (i int);
create function before_row() returns trigger language plpgsql as
    'begin insert into before_row values (new.i + 1); return new; end';
create trigger before_row before insert on before_row
    for each row execute function before_row();
create table after_row (i int);
create function after_row() returns trigger language plpgsql as
    'begin insert into after_row values (new.i + 1); return null; end';
create trigger after_row after insert on after_row for each row execute function after_row();
create procedure again(n int) language plpgsql as 'begin call again(n + 1); end';
create function by_execute(n int) returns int language plpgsql as
    'declare r int; begin execute ''select by_execute($1)'' into r using n + 1; return r; end';
create function caught(n int) returns int language plpgsql as
    'begin return caught(n + 1); exception when statement_too_complex then return n; end';
";

fn one(raw: &mut Raw, sql: &str) -> String {
    let found = rows(&raw.query(sql));
    let column = found.first().and_then(|row| row.first().cloned().flatten());
    column.unwrap_or_else(|| "~".to_owned())
}

/// Waits until the session runs a statement with this text.
fn wait_until_active(watcher: &mut Raw, pid: &str, text: &str) {
    let sql = format!(
        "select count(*) from pg_stat_activity where pid = {pid} and state = 'active' \
         and query = $q${text}$q$"
    );
    let patience = Instant::now() + Duration::from_secs(20);
    while one(watcher, &sql) != "1" {
        assert!(Instant::now() < patience, "not active: {text}");
    }
}

#[test]
fn endless_loops_are_canceled_at_once() {
    let server = TestServer::start();
    let (mut watcher, mut runner) = (server.raw(), server.raw());
    assert_eq!(sqlstate(&watcher.query(SCHEMA)), None);
    let pid = one(&mut runner, "select pg_backend_pid()");
    for body in ENDLESS {
        let statement = format!("do $$ {body} $$");
        let mut fastest = Duration::MAX;
        for _ in 0..TIMES {
            runner.send(&query(&statement));
            wait_until_active(&mut watcher, &pid, &statement);
            let start = Instant::now();
            assert_eq!(one(&mut watcher, &format!("select pg_cancel_backend({pid})")), "t");
            assert_eq!(sqlstate(&runner.until_ready()).as_deref(), Some("57014"), "{body}");
            fastest = fastest.min(start.elapsed());
            if fastest <= AT_ONCE {
                break;
            }
        }
        assert!(fastest <= AT_ONCE, "{fastest:?}: {body}");
        assert_eq!(one(&mut runner, "select 'lives'"), "lives", "{body}");
    }
}

#[test]
fn endless_recursion_ends_with_54001() {
    let server = TestServer::start();
    let mut runner = server.raw();
    assert_eq!(sqlstate(&runner.query(SCHEMA)), None);
    for sql in RECURSIVE {
        let answer = runner.query(sql);
        assert_eq!(sqlstate(&answer).as_deref(), Some("54001"), "{sql}");
        let error = answer.iter().find(|message| message.tag == b'E');
        let said = |code| error.and_then(|error| error.field(code)).unwrap_or_default();
        assert_eq!(said(b'M'), "stack depth limit exceeded", "{sql}");
        assert!(said(b'H').contains("\"max_stack_depth\""), "{sql}: {}", said(b'H'));
        assert_eq!(one(&mut runner, "select 'lives'"), "lives", "{sql}");
    }
    // It can be caught, and nothing of it stays.
    assert_eq!(one(&mut runner, "select caught(1) > 10"), "t");
    assert_eq!(one(&mut runner, "select count(*) from before_row"), "0");
    assert_eq!(one(&mut runner, "select count(*) from after_row"), "0");
}
