//! pg_stat_statements: statements are counted from the start, and the extension shows them. Texts
//! and counts are those of PostgreSQL 18 with the module for the same statements.

mod support;

use support::{Raw, TestServer, rows};

fn ask(raw: &mut Raw, sql: &str) -> Vec<String> {
    let shown = |column: &Option<String>| column.clone().unwrap_or_else(|| "~".to_owned());
    let rows = rows(&raw.query(sql));
    rows.iter().map(|row| row.iter().map(shown).collect::<Vec<_>>().join("|")).collect()
}

const LIST: &str = "select calls, rows, query from pg_stat_statements order by query collate \"C\"";

#[test]
fn texts_calls_and_rows_are_postgresqls() {
    let server = TestServer::start();
    let mut raw = server.raw();
    raw.query("create table t (a int primary key, b text)");
    // This is counted before the extension exists.
    raw.query("create extension pg_stat_statements");
    let seen = ask(&mut raw, LIST);
    assert_eq!(
        seen,
        [
            "1|0|create extension pg_stat_statements",
            "1|0|create table t (a int primary key, b text)"
        ]
    );
    raw.query("select pg_stat_statements_reset()");
    for sql in [
        "insert into t values (1, 'a'), (2, 'b'), (3, null)",
        "select  *  from t where a = 1",
        "select * from t where a = 2;",
        "SELECT * FROM T WHERE A=3",
        "select a from t where a in (1,2,3)",
        "select a from t where a in (-1, 2)",
        "update t set b = 'z' where a = 1",
        "begin",
        "BEGIN",
        "rollback",
        "set work_mem = '5MB'",
        "set work_mem = 4000",
        "select 1; select 'two' as x; begin; commit",
        "prepare p(int) as select * from t where a = $1 and b = 'q'",
        "execute p(5)",
        "execute p(6)",
        "deallocate p",
        "create table w as select a from t where a < 3",
        "copy t to stdout",
        "begin; declare c cursor for select * from t where a > 0; fetch 2 from c; commit",
        "select nothing",
    ] {
        raw.query(sql);
    }
    assert_eq!(
        ask(&mut raw, LIST),
        [
            "4|0|begin",
            "2|0|commit",
            "1|3|copy t to stdout",
            "1|2|create table w as select a from t where a < $1",
            "1|0|deallocate $1",
            "1|0|declare c cursor for select * from t where a > $1",
            "1|2|fetch 2 from c",
            "1|3|insert into t values ($1, $2), ($3, $4), ($5, $6)",
            "2|0|prepare p(int) as select * from t where a = $1 and b = $2",
            "1|0|rollback",
            "3|3|select  *  from t where a = $1",
            "1|1|select $1",
            "1|1|select $1 as x",
            "2|4|select a from t where a in ($1 /*, ... */)",
            "1|1|select pg_stat_statements_reset()",
            "2|0|set work_mem = $1",
            "1|1|update t set b = $1 where a = $2",
        ]
    );
}

#[test]
fn what_runs_take_is_told() {
    let server = TestServer::start();
    let (mut raw, mut other) = (server.raw(), server.raw());
    raw.query("create extension pg_stat_statements; create table t (a int primary key, b text)");
    raw.query("select pg_stat_statements_reset()");
    for a in 0..10 {
        raw.query(&format!("insert into t values ({a}, 'x')"));
        other.query(&format!("select b from t where a = {a}"));
    }
    let of = "from pg_stat_statements where query like ";
    let insert = format!(
        "select calls, rows, wal_records > 0, wal_bytes > 100, shared_blks_hit > 0, \
         total_exec_time > 0, min_exec_time <= mean_exec_time, mean_exec_time <= max_exec_time, \
         abs(mean_exec_time * 10 - total_exec_time) < 0.001, stddev_exec_time >= 0, toplevel \
         {of} 'insert%'"
    );
    assert_eq!(ask(&mut raw, &insert), ["10|10|t|t|t|t|t|t|t|t|t"]);
    let select = format!("select calls, rows, wal_records {of} 'select b%'");
    assert_eq!(ask(&mut raw, &select), ["10|10|0"]);
    // A session that has ended has handed over its counts.
    drop(other);
    assert_eq!(ask(&mut raw, &select), ["10|10|0"]);
    // The time of a wait is part of a run's time.
    raw.query("select pg_sleep(0.05)");
    let slept = format!("select max_exec_time between 50 and 5000 {of} 'select pg_sleep%'");
    assert_eq!(ask(&mut raw, &slept), ["t"]);
    // A reset by queryid resets one statement.
    let forget =
        format!("select pg_stat_statements_reset(0, 0, queryid) is not null {of} 'insert%'");
    assert_eq!(ask(&mut raw, &forget), ["t"]);
    assert_eq!(ask(&mut raw, &insert), Vec::<String>::new());
    assert_eq!(ask(&mut raw, &select), ["10|10|0"]);
    let extremes = "select pg_stat_statements_reset(minmax_only => true) is not null";
    assert_eq!(ask(&mut raw, extremes), ["t"]);
    let times =
        format!("select calls, max_exec_time, stats_since < minmax_stats_since {of} 'select b%'");
    assert_eq!(ask(&mut raw, &times), ["10|0|t"]);
    let info = "select dealloc, stats_reset <= now() from pg_stat_statements_info";
    assert_eq!(ask(&mut raw, info), ["0|t"]);
}

#[test]
fn it_can_be_turned_off_and_the_number_is_the_activitys() {
    let server = TestServer::start();
    let mut raw = server.raw();
    raw.query("create extension pg_stat_statements");
    raw.query("set pg_stat_statements.track_utility = off");
    raw.query("select pg_stat_statements_reset()");
    raw.query("begin");
    raw.query("rollback");
    assert_eq!(ask(&mut raw, LIST), ["1|1|select pg_stat_statements_reset()"]);
    let ours = "select s.queryid = a.query_id from pg_stat_activity a, pg_stat_statements s \
                where a.pid = pg_backend_pid() and s.query like 'select s.queryid%'";
    // It is listed after its first run.
    assert_eq!(ask(&mut raw, ours), Vec::<String>::new());
    assert_eq!(ask(&mut raw, ours), ["t"]);
    // EXPLAIN shows the same query identifier.
    raw.query("set compute_query_id = on; select pg_stat_statements_reset()");
    raw.query("select 5 as five");
    let plan = ask(&mut raw, "explain (verbose, costs off) select 6 as five").pop();
    let id =
        "select 'Query Identifier: ' || queryid from pg_stat_statements where query like '%five'";
    assert_eq!(plan, ask(&mut raw, id).pop());
    raw.query("set pg_stat_statements.track = none");
    raw.query("select 1 as unseen");
    let seen = "select count(*) from pg_stat_statements where query like '%unseen'";
    assert_eq!(ask(&mut raw, seen), ["0"]);
    assert_eq!(ask(&mut raw, "show pg_stat_statements.max"), ["5000"]);
    raw.query("drop extension pg_stat_statements");
    let gone = raw.query("select * from pg_stat_statements");
    assert!(rows(&gone).is_empty());
}

#[test]
fn times_of_io_are_shown_if_they_are_taken() {
    let server = TestServer::start();
    let mut raw = server.raw();
    raw.query("create extension pg_stat_statements");
    raw.query("set work_mem = '64kB'");
    let sort = "select g from generate_series(1, 60000) as g order by g desc offset 59999";
    let shown = "select temp_blks_written > 0, temp_blk_write_time > 0, temp_blk_read_time > 0 \
                 from pg_stat_statements where query like '%generate_series%offset%'";
    for (timed, expected) in [("off", ["t", "f", "f"]), ("on", ["t", "t", "t"])] {
        raw.query("select pg_stat_statements_reset()");
        raw.query(&format!("set track_io_timing = {timed}"));
        assert_eq!(rows(&raw.query(sort)), [[Some("1".to_owned())]]);
        let expected = expected.map(|value| Some(value.to_owned()));
        assert_eq!(rows(&raw.query(shown)), [expected], "{timed}");
    }
}

/// Functions whose statements are counted.
fn make_functions(raw: &mut Raw) {
    for sql in [
        "create extension pg_stat_statements",
        "create table t (a int primary key, b int)",
        "insert into t select i, i from generate_series(1, 10) i",
        "create function f(x int) returns int language plpgsql as $$
         declare r int;
         begin
             select b+1 into r from t where a = x;
             update t set b = b+1 where a = x and b > 0;
             create temp table if not exists made (a int);
             return r + 5;
         end $$",
        "create function g(x int) returns int language sql volatile as
         'select b + 7 from t where a = x and random() >= 0'",
        "set client_min_messages = error",
    ] {
        raw.query(sql);
    }
}

#[test]
fn statements_of_functions_are_counted_if_all_are() {
    let server = TestServer::start();
    let mut raw = server.raw();
    make_functions(&mut raw);
    let run = |raw: &mut Raw| {
        raw.query("select pg_stat_statements_reset()");
        for sql in [
            "select f(1)",
            "select f(2)",
            "select g(1)",
            "do $$ declare i int; begin for i in 1..3 loop perform b from t where a = i; end loop;
             for i in select a from t loop null; end loop; end $$",
            "do $$ begin execute 'select 1 + 1'; execute 'select 2 + 1'; end $$",
        ] {
            raw.query(sql);
        }
    };
    let list = "select toplevel, calls, rows, rtrim(regexp_replace(query, ' +', ' ', 'g'))
                from pg_stat_statements
                where query not like '%pg_stat_statements%' and query not like 'do%'
                order by query collate \"C\"";
    run(&mut raw);
    assert_eq!(ask(&mut raw, list), ["t|2|2|select f($1)", "t|1|1|select g($1)"]);
    raw.query("set pg_stat_statements.track = 'all'");
    run(&mut raw);
    let all = [
        "f|3|3|SELECT b from t where a = i",
        "f|2|0|create temp table if not exists made (a int)",
        "f|2|2|select $1 + $2",
        "f|1|10|select a from t",
        "f|1|1|select b + $2 from t where a = x and random() >= $3",
        "f|2|2|select b+$2 from t where a = x",
        "t|2|2|select f($1)",
        "t|1|1|select g($1)",
        "f|2|2|update t set b = b+$2 where a = x and b > $3",
    ];
    assert_eq!(ask(&mut raw, list), all);
    // What a session has counted is there after it has ended, too, and after its reset by id.
    let mut other = server.raw();
    drop(raw);
    let id = "select queryid from pg_stat_statements where query like 'select a from t%'";
    let id = ask(&mut other, id).remove(0);
    other.query(&format!("select pg_stat_statements_reset(0, 0, {id})"));
    let left: Vec<_> = all.iter().filter(|row| !row.ends_with("a from t")).collect();
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(10);
    while ask(&mut other, list).iter().collect::<Vec<_>>() != left {
        assert!(std::time::Instant::now() < deadline, "{:?}", ask(&mut other, list));
    }
}

#[test]
fn nested_statements_follow_the_settings_of_their_function() {
    let server = TestServer::start();
    let mut raw = server.raw();
    make_functions(&mut raw);
    raw.query("alter function f(int) set pg_stat_statements.track = 'all'");
    raw.query("select pg_stat_statements_reset()");
    raw.query("select f(3)");
    raw.query("select g(3)");
    let nested = "select count(*), sum(calls) from pg_stat_statements where not toplevel";
    assert_eq!(ask(&mut raw, nested), ["3|3"]);
    raw.query("set pg_stat_statements.track_utility = off");
    raw.query("select pg_stat_statements_reset()");
    raw.query("select f(3)");
    assert_eq!(ask(&mut raw, nested), ["2|2"]);
}

#[test]
fn planning_is_counted_when_a_plan_is_made() {
    let server = TestServer::start();
    let mut raw = server.raw();
    make_functions(&mut raw);
    // A new temporary table makes the plans of functions stale.
    raw.query("create temp table made (a int)");
    raw.query("set pg_stat_statements.track = 'all'");
    raw.query("select pg_stat_statements_reset()");
    raw.query("select b from t where a = 4");
    let list = "select plans, calls, toplevel, rtrim(regexp_replace(query, ' +', ' ', 'g')),
                       total_plan_time > 0, min_plan_time <= mean_plan_time,
                       mean_plan_time <= max_plan_time, stddev_plan_time >= 0
                from pg_stat_statements where query not like '%pg_stat_statements%'
                order by query collate \"C\"";
    assert_eq!(ask(&mut raw, list), ["0|1|t|select b from t where a = $1|f|t|t|t"]);
    raw.query("set pg_stat_statements.track_planning = on");
    raw.query("select pg_stat_statements_reset()");
    for sql in [
        // Its plan was made before.
        "select b from t where a = 5",
        "select b, a from t where a = 5",
        "select b, a from t where a = 6",
        "select f(1)",
        "select f(2)",
        "prepare p(int) as select b + 9 from t where a = $1",
        "execute p(1)",
        "execute p(2)",
        "explain select a, a from t",
    ] {
        raw.query(sql);
    }
    assert_eq!(
        ask(&mut raw, list),
        [
            "0|2|f|create temp table if not exists made (a int)|f|t|t|t",
            "0|1|t|explain select a, a from t|f|t|t|t",
            "1|2|t|prepare p(int) as select b + $2 from t where a = $1|t|t|t|t",
            "1|0|f|r + $4|t|t|t|t",
            "0|1|t|select b from t where a = $1|f|t|t|t",
            "1|2|f|select b+$2 from t where a = x|t|t|t|t",
            "1|2|t|select b, a from t where a = $1|t|t|t|t",
            "1|2|t|select f($1)|t|t|t|t",
            "1|2|f|update t set b = b+$2 where a = x and b > $3|t|t|t|t",
        ]
    );
    // Another setting of the planner needs another plan.
    raw.query("set enable_seqscan = off");
    raw.query("select b, a from t where a = 7");
    let plans = "select plans, calls from pg_stat_statements where query like 'select b, a%'";
    assert_eq!(ask(&mut raw, plans), ["2|3"]);
}
