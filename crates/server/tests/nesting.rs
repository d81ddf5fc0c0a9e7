//! Long and deep bodies of PL/pgSQL. Each has its right answer, or 54001, in time that is linear in
//! its size. In both cases the session lives.

mod support;

use std::time::{Duration, Instant};

use support::{Raw, TestServer, rows, sqlstate};

/// Statements of a body, and calls within each other.
const MANY: usize = 10_000;
/// How often a time is taken. The machine may be busy, so the fastest time counts.
const TIMES: usize = 6;

const SCHEMA: &str = "
create function down(n int) returns int language plpgsql as
    'begin if n = 0 then return 0; end if; return 1 + down(n - 1); end';
create function down_caught(n int) returns int language plpgsql as $$
declare r int;
begin
    if n = 0 then return 0; end if;
    begin r := 1 + down_caught(n - 1); exception when no_data_found then r := -1; end;
    return r;
end $$;
create procedure down_call(n int, inout deep int) language plpgsql as $$
begin
    if n > 0 then call down_call(n - 1, deep); deep := deep + 1; end if;
end $$;
create function down_execute(n int) returns int language plpgsql as $$
declare r int;
begin
    if n = 0 then return 0; end if;
    execute 'select 1 + down_execute($1)' into r using n - 1;
    return r;
end $$;
set check_function_bodies = off;
create function down_sql(n int) returns int language sql as
    'select case when n = 0 then 0 else 1 + down_sql(n - 1) end';
create table chain (n int primary key, next int references chain on delete cascade);
create table rows (n int);
create function insert_less() returns trigger language plpgsql as
    'begin if new.n > 1 then insert into rows values (new.n - 1); end if; return new; end';
create trigger insert_less before insert on rows for each row execute function insert_less();
create table noted (n int);";

/// The one value of a query, or its SQLSTATE.
fn answer(raw: &mut Raw, sql: &str) -> Result<String, String> {
    let messages = raw.query(sql);
    if let Some(state) = sqlstate(&messages) {
        return Err(state);
    }
    let first = rows(&messages).into_iter().next().and_then(|row| row.into_iter().next());
    Ok(first.flatten().unwrap_or_else(|| "none".to_owned()))
}

fn lives(raw: &mut Raw) {
    assert_eq!(answer(raw, "select 'lives'").as_deref(), Ok("lives"));
}

/// A session that waits longer for its answers.
fn patient(server: &TestServer) -> Raw {
    let raw = server.raw();
    raw.stream.set_read_timeout(Some(Duration::from_secs(120))).expect("a time-out is set");
    raw
}

/// Runs a body that counts in `n`, and returns its last count.
fn count(raw: &mut Raw, body: &str) -> Result<String, String> {
    let block = format!(
        "do $$ declare n int := 0; begin {body} delete from noted; insert into noted values (n); end $$"
    );
    let done = answer(raw, &block)?;
    assert_eq!(done, "none");
    answer(raw, "select n from noted")
}

/// Parts of a body that run one after the other. Each adds one to `n`.
const SEQUENTIAL: [&str; 7] = [
    "begin n := n + 1; exception when others then n := -1; end;",
    "begin perform 1 / 0; exception when division_by_zero then n := n + 1; end;",
    "begin insert into rows values (1); n := n + 1; exception when unique_violation then n := 0; end;",
    "if n < 0 then n := 0; else n := n + 1; end if;",
    "for i in 1 .. 1 loop n := n + i; end loop;",
    "declare x int := n; begin n := x + 1; end;",
    "case when n < 0 then n := 0; else n := n + 1; end case;",
];

#[test]
fn many_parts_of_a_body_take_linear_time() {
    let server = TestServer::start();
    let mut raw = patient(&server);
    assert_eq!(sqlstate(&raw.query(SCHEMA)), None);
    for part in SEQUENTIAL {
        let mut fastest = |size: usize, before: Duration| {
            let start = Instant::now();
            assert_eq!(count(&mut raw, &part.repeat(size)), Ok(size.to_string()), "{part}");
            before.min(start.elapsed())
        };
        let (mut small, mut large) = (Duration::MAX, Duration::MAX);
        for _ in 0..TIMES {
            small = fastest(MANY / 10, small);
            large = fastest(MANY, large);
            if large < small * 40 {
                break;
            }
        }
        // Ten times the text. Quadratic time would be a hundred times.
        assert!(large < small * 40, "{small:?} and {large:?}: {part}");
    }
    lives(&mut raw);
}

/// Parts that contain each other: the first and the last half, around a middle.
const NESTED: [(&str, &str); 7] = [
    ("begin ", "end; "),
    ("if true then ", "end if; "),
    ("begin ", "exception when others then n := -1; end; "),
    ("loop ", "exit; end loop; "),
    ("case when true then ", "end case; "),
    ("for i in 1 .. 1 loop ", "end loop; "),
    ("if false then n := -1; else ", "end if; "),
];

#[test]
fn nested_parts_have_an_answer() {
    let server = TestServer::start();
    let mut raw = patient(&server);
    assert_eq!(sqlstate(&raw.query(SCHEMA)), None);
    for (open, close) in NESTED {
        for depth in [10, 100, 400, MANY] {
            let body = format!("{}n := n + 1; {}", open.repeat(depth), close.repeat(depth));
            let start = Instant::now();
            match count(&mut raw, &body) {
                Ok(found) => assert_eq!(found, "1", "{depth} times {open}"),
                Err(state) => {
                    assert_eq!(state, "54001", "{depth} times {open}");
                    assert_eq!(depth, MANY, "{depth} times {open}");
                }
            }
            assert!(start.elapsed() < Duration::from_secs(20), "{depth} times {open}");
            lives(&mut raw);
        }
    }
    // A chain of alternatives is no nesting.
    let chain: String = (0..MANY).map(|at| format!("elsif n = {at} then n := {at};")).collect();
    let body = format!("n := 9998; if n < 0 then null; {chain} end if; n := n + 1;");
    assert_eq!(count(&mut raw, &body), Ok("9999".to_owned()));
    let chain: String = (0..MANY).map(|at| format!("when {at} then n := {at};")).collect();
    let body = format!("n := 9998; case n {chain} end case; n := n + 1;");
    assert_eq!(count(&mut raw, &body), Ok("9999".to_owned()));
}

#[test]
fn deep_calls_have_an_answer() {
    let server = TestServer::start();
    let mut raw = patient(&server);
    assert_eq!(sqlstate(&raw.query(SCHEMA)), None);
    let calls = [
        "select down({})",
        "select down_caught({})",
        "call down_call({}, 0)",
        "select down_execute({})",
        "select down_sql({})",
    ];
    for call in calls {
        for depth in [50, MANY] {
            let sql = call.replace("{}", &depth.to_string());
            let start = Instant::now();
            match answer(&mut raw, &sql) {
                Ok(found) => assert_eq!(found, depth.to_string(), "{sql}"),
                Err(state) => {
                    assert_eq!(state, "54001", "{sql}");
                    assert_eq!(depth, MANY, "{sql}");
                }
            }
            assert!(start.elapsed() < Duration::from_secs(60), "{sql}");
            lives(&mut raw);
        }
    }
}

#[test]
fn deep_triggers_and_cascades_have_an_answer() {
    let server = TestServer::start();
    let mut raw = patient(&server);
    assert_eq!(sqlstate(&raw.query(SCHEMA)), None);
    for depth in [50, MANY] {
        match answer(&mut raw, &format!("insert into rows values ({depth})")) {
            Ok(_) => {
                let found = answer(&mut raw, "select count(*) from rows");
                assert_eq!(found, Ok(depth.to_string()));
            }
            Err(state) => {
                assert_eq!((state.as_str(), depth), ("54001", MANY));
                assert_eq!(answer(&mut raw, "select count(*) from rows").as_deref(), Ok("0"));
            }
        }
        assert_eq!(sqlstate(&raw.query("truncate rows")), None);
    }
    // Cascades are a queue, and not a recursion.
    let fill = format!(
        "insert into chain select g, nullif(g - 1, 0) from generate_series(1, {MANY}) g; \
         create index on chain (next)"
    );
    assert_eq!(sqlstate(&raw.query(&fill)), None);
    assert_eq!(sqlstate(&raw.query("delete from chain where n = 1")), None);
    assert_eq!(answer(&mut raw, "select count(*) from chain").as_deref(), Ok("0"));
    lives(&mut raw);
}
