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
