//! The background analyzer: when it runs, how it yields to sessions, and its results.
//!
//! Each test has its own server process, whose counters count only its tables.

mod support;

use std::time::{Duration, Instant};

use support::process::Steppe;
use support::{Raw, TestDir, rows};

/// The machine may be busy.
const PATIENCE: Duration = Duration::from_secs(60);

/// The analyzer checks changed tables each second.
const TWO_LOOKS: &str = "select pg_sleep(2.5)";

fn ask(raw: &mut Raw, sql: &str) -> Vec<String> {
    let shown = |row: &Vec<Option<String>>| {
        row.iter().map(|c| c.clone().unwrap_or_else(|| "~".into())).collect::<Vec<_>>().join("|")
    };
    rows(&raw.query(sql)).iter().map(shown).collect()
}

/// Repeats a query until the answer is the wanted one.
fn wait_for(raw: &mut Raw, sql: &str, wanted: &[&str]) {
    let patience = Instant::now() + PATIENCE;
    loop {
        let found = ask(raw, sql);
        if found == wanted {
            return;
        }
        assert!(Instant::now() < patience, "{sql}: {found:?}, not {wanted:?}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

fn run(raw: &mut Raw, sql: &str) {
    let answer = raw.query(sql);
    let error = answer.iter().find(|message| message.tag == b'E');
    assert!(error.is_none(), "{sql}: {error:?}");
}

/// The statistics of a table: rows by ANALYZE and by counting, changes since, rounds.
fn standing(table: &str) -> String {
    format!(
        "select reltuples, n_live_tup, n_mod_since_analyze, autoanalyze_count, analyze_count, \
         last_autoanalyze is not null from pg_stat_all_tables, pg_class \
         where relid = pg_class.oid and relid = '{table}'::regclass"
    )
}

#[test]
fn a_table_is_analyzed_soon_after_it_has_grown() {
    let (dir, rows) = (TestDir::new(), "select g, g % 10 from generate_series");
    let server = Steppe::start_with(&dir, &["autovacuum_naptime=1h"]);
    let (mut raw, mut other) = (server.connect(), server.connect());
    run(&mut raw, "create table few (a int, b int); create table back (a int, b int)");
    run(&mut raw, "create table off (a int, b int) with (autovacuum_enabled = false)");
    run(&mut raw, "create table open (a int, b int); create table loaded (a int, b int)");
    run(&mut raw, "create temp table own (a int, b int)");
    run(&mut raw, &format!("insert into few {rows}(1, 50) g"));
    run(&mut raw, &format!("insert into off {rows}(1, 500) g"));
    run(&mut raw, &format!("insert into own {rows}(1, 500) g"));
    run(&mut raw, &format!("begin; insert into back {rows}(1, 500) g; rollback"));
    run(&mut other, &format!("begin; insert into open {rows}(1, 500) g"));
    run(&mut raw, &format!("insert into loaded {rows}(1, 500) g"));
    run(&mut raw, &format!("create table made as {rows}(1, 51) g"));
    wait_for(&mut raw, &standing("loaded"), &["500|500|0|1|0|t"]);
    wait_for(&mut raw, &standing("made"), &["51|51|0|1|0|t"]);
    run(&mut raw, TWO_LOOKS);
    // 50 are not more than the threshold. Other sessions' rows count only when they are committed.
    assert_eq!(ask(&mut raw, &standing("few")), ["-1|50|50|0|0|f"]);
    assert_eq!(ask(&mut raw, &standing("back")), ["-1|0|0|0|0|f"]);
    assert_eq!(ask(&mut raw, &standing("off")), ["-1|500|500|0|0|f"]);
    assert_eq!(ask(&mut raw, &standing("own")), ["-1|500|500|0|0|f"]);
    assert_eq!(ask(&mut raw, &standing("open")), ["-1|500|500|0|0|f"]);
    run(&mut raw, "analyze open");
    assert_eq!(ask(&mut raw, &standing("open")), ["0|500|500|0|1|f"]);
    run(&mut other, "commit");
    wait_for(&mut raw, &standing("open"), &["500|500|0|1|1|t"]);

    // 30 changes of 500 rows are fewer than 50 + 500 / 10. 450 are nearly all rows.
    run(&mut raw, "update loaded set b = 1 where a <= 20; delete from loaded where a <= 10");
    run(&mut raw, TWO_LOOKS);
    assert_eq!(ask(&mut raw, &standing("loaded")), ["500|490|30|1|0|t"]);
    run(&mut raw, "update loaded set b = 1 where a > 80");
    wait_for(&mut raw, &standing("loaded"), &["490|490|0|2|0|t"]);
    // 100 are enough, and the table changes no more.
    run(&mut raw, "delete from loaded where a > 400");
    wait_for(&mut raw, &standing("loaded"), &["390|390|0|3|0|t"]);
    run(&mut raw, "truncate loaded");
    assert_eq!(ask(&mut raw, &standing("loaded")), ["-1|0|0|3|0|t"]);
    run(&mut raw, &format!("insert into loaded {rows}(1, 60) g"));
    wait_for(&mut raw, &standing("loaded"), &["60|60|0|4|0|t"]);
    assert_eq!(ask(&mut raw, "select count(*) from pg_stats where tablename = 'loaded'"), ["2"]);
}

#[test]
fn each_nap_ends_with_a_look_at_all_tables() {
    let dir = TestDir::new();
    let server = Steppe::start_with(&dir, &["autovacuum_naptime=1s"]);
    let mut raw = server.connect();
    run(&mut raw, "create table t (a int) with (autovacuum_analyze_threshold = 2)");
    run(&mut raw, "insert into t values (1), (2), (3)");
    wait_for(&mut raw, &standing("t"), &["3|3|0|1|0|t"]);
    // A small share of changes needs the storage parameters.
    run(&mut raw, "create table large (a int) with (autovacuum_enabled = off)");
    run(&mut raw, "insert into large select generate_series(1, 2000); analyze large");
    run(&mut raw, "delete from large where a <= 60");
    run(
        &mut raw,
        "alter table large set (autovacuum_enabled, autovacuum_analyze_scale_factor = 0)",
    );
    wait_for(&mut raw, &standing("large"), &["1940|1940|0|1|1|t"]);
    run(&mut raw, "delete from large where a <= 120");
    wait_for(&mut raw, &standing("large"), &["1880|1880|0|2|1|t"]);
    run(&mut raw, "alter table large reset (autovacuum_analyze_scale_factor)");
    run(&mut raw, "delete from large where a <= 180");
    run(&mut raw, TWO_LOOKS);
    assert_eq!(ask(&mut raw, &standing("large")), ["1880|1820|60|2|1|t"]);
}

#[test]
fn parents_are_analyzed_by_what_their_leaves_have_seen() {
    let dir = TestDir::new();
    let server = Steppe::start_with(&dir, &["autovacuum_naptime=1s"]);
    let mut raw = server.connect();
    run(&mut raw, "create table p (a int, b int) partition by range (a)");
    run(
        &mut raw,
        "create table p_sub partition of p for values from (0) to (4000) \
                   partition by range (a)",
    );
    for leaf in 0..200 {
        let (parent, from) = (if leaf < 100 { "p_sub" } else { "p" }, leaf * 40);
        let to = from + 40;
        let create = format!("create table p{leaf} partition of {parent}");
        run(&mut raw, &format!("{create} for values from ({from}) to ({to})"));
    }
    // They are too few for each leaf, but enough for the whole table.
    run(&mut raw, "insert into p select g, g % 7 from generate_series(0, 7999) g");
    let sizes = "select relname, reltuples from pg_class \
                 where relname in ('p', 'p_sub', 'p7', 'p150') order by 1";
    wait_for(&mut raw, sizes, &["p|8000", "p150|-1", "p7|-1", "p_sub|4000"]);
    let of_parent = "select n_distinct from pg_stats where tablename = 'p' order by attname";
    assert_eq!(ask(&mut raw, of_parent), ["-1", "7"]);
    run(&mut raw, "update p set b = a");
    run(&mut raw, "insert into p select g, g from generate_series(0, 3999) g");
    let of_all = "select reltuples from pg_class where relname in ('p', 'p_sub') order by relname";
    wait_for(&mut raw, of_all, &["12000", "8000"]);
    wait_for(&mut raw, "select reltuples from pg_class where relname = 'p150'", &["40"]);
    // A parent table without own rows.
    run(&mut raw, "create table i (a int); create table i1 () inherits (i)");
    run(&mut raw, "insert into i1 select generate_series(1, 100)");
    wait_for(&mut raw, &standing("i1"), &["100|100|0|1|0|t"]);
    let is_done = "select autoanalyze_count > 0 from pg_stat_all_tables where relname = 'i'";
    wait_for(&mut raw, is_done, &["t"]);
}

#[test]
fn plans_are_made_anew_by_new_statistics() {
    let dir = TestDir::new();
    let server = Steppe::start(&dir);
    let (mut raw, mut other) = (server.connect(), server.connect());
    run(&mut raw, "create table t (a int primary key, b int)");
    run(&mut other, "set plan_cache_mode = force_generic_plan");
    run(&mut other, "prepare q as select a from t where b is null");
    run(&mut other, "execute q");
    run(&mut other, "begin; declare c cursor for select a from t");
    run(&mut raw, "insert into t select g, nullif(g % 2, 0) from generate_series(1, 20000) g");
    wait_for(&mut raw, &standing("t"), &["20000|20000|0|1|0|t"]);
    // A running statement keeps its plan.
    run(&mut other, "fetch all from c; commit");
    let explained = ask(&mut other, "explain execute q");
    let rows = explained[0].split("rows=").nth(1).and_then(|rest| rest.split(' ').next());
    let rows: f64 = rows.and_then(|rows| rows.parse().ok()).expect("a plan has an estimate");
    assert!((9500.0..10500.0).contains(&rows), "{explained:?}");
    assert_eq!(ask(&mut other, "execute q").len(), 10_000);
}

const WORKER: &str = "select usename, state, query from pg_stat_activity \
                      where backend_type = 'autovacuum worker'";
const AT_WORK: &str = "~|active|autovacuum: ANALYZE public.t";

#[test]
fn whoever_wants_its_lock_has_it_at_once() {
    let dir = TestDir::new();
    // A nap of a tenth of a second after each page makes it slow.
    let slow = ["autovacuum_vacuum_cost_delay=100ms", "autovacuum_vacuum_cost_limit=1"];
    let mut server = Steppe::start_with(&dir, &slow);
    let (mut raw, mut other) = (server.connect(), server.connect());
    run(&mut raw, "create table t (a int primary key, b text)");
    run(&mut raw, "insert into t select g, repeat('x', 500) from generate_series(1, 10000) g");
    wait_for(&mut raw, WORKER, &[AT_WORK]);
    let progress = "select relid::regclass, phase from pg_stat_progress_analyze";
    wait_for(&mut raw, progress, &["t|acquiring sample rows"]);
    // Readers and writers do not wait for it, and neither do other commands.
    let begun = Instant::now();
    run(&mut other, "update t set b = 'y' where a = 1; select count(*) from t");
    for round in 0..20 {
        run(&mut other, &format!("alter table t alter column b set default '{round}'"));
        run(&mut other, "begin; lock table t in share update exclusive mode; commit");
        std::thread::sleep(Duration::from_millis(100));
    }
    run(&mut other, "create index on t (b); truncate t");
    assert!(begun.elapsed() < Duration::from_secs(20), "{:?}", begun.elapsed());
    run(&mut raw, "insert into t select g, repeat('x', 500) from generate_series(1, 10000) g");
    wait_for(&mut raw, WORKER, &[AT_WORK]);
    // It can be cancelled and terminated like any session, and starts again.
    for signal in ["pg_cancel_backend", "pg_terminate_backend"] {
        let worker = "from pg_stat_activity where backend_type = 'autovacuum worker'";
        let pid = ask(&mut raw, &format!("select pid {worker}")).remove(0);
        assert_eq!(ask(&mut raw, &format!("select {signal}({pid})")), ["t"]);
        wait_for(&mut raw, &format!("select count(*) {worker} and pid = {pid}"), &["0"]);
        wait_for(&mut raw, WORKER, &[AT_WORK]);
    }
    // The server's stop does not wait for it either.
    let begun = Instant::now();
    server.signal("-TERM");
    assert!(server.child.wait().expect("it ends").success());
    assert!(begun.elapsed() < Duration::from_secs(15), "{:?}", begun.elapsed());
}

#[test]
fn a_restart_keeps_counts_and_a_crash_keeps_none_from_being_analyzed() {
    let dir = TestDir::new();
    let mut server = Steppe::start(&dir);
    let mut raw = server.connect();
    run(&mut raw, "create table t (a int)");
    run(&mut raw, "insert into t select generate_series(1, 1000)");
    wait_for(&mut raw, &standing("t"), &["1000|1000|0|1|0|t"]);
    run(&mut raw, "delete from t where a <= 30");
    server.signal("-TERM");
    assert!(server.child.wait().expect("it ends").success());
    let off = ["autovacuum=off"];
    let server = Steppe::start_with(&dir, &off);
    let mut raw = server.connect();
    assert_eq!(ask(&mut raw, &standing("t")), ["1000|970|30|1|0|t"]);
    run(&mut raw, "create table p (a int) partition by range (a)");
    run(&mut raw, "create table p1 partition of p for values from (0) to (100000)");
    run(&mut raw, "insert into p select generate_series(1, 5000)");
    run(&mut raw, "insert into t select generate_series(1, 20000)");
    run(&mut raw, TWO_LOOKS);
    let launcher = "select count(*) from pg_stat_activity where backend_type like 'autovacuum%'";
    assert_eq!(ask(&mut raw, launcher), ["0"]);
    let sizes = "select relname, reltuples from pg_class where relname in ('p', 'p1', 't') \
                 order by relname";
    assert_eq!(ask(&mut raw, sizes), ["p|-1", "p1|-1", "t|1000"]);
    server.signal("-KILL");
    drop(server);
    let server = Steppe::start(&dir);
    let mut raw = server.connect();
    wait_for(&mut raw, sizes, &["p|5000", "p1|5000", "t|20970"]);
    assert_eq!(ask(&mut raw, launcher), ["1"]);
}

#[test]
fn functions_of_users_run_in_pg_catalog_and_may_run_statements() {
    let dir = TestDir::new();
    let server = Steppe::start_with(&dir, &["autovacuum_naptime=1h"]);
    let mut raw = server.connect();
    run(
        &mut raw,
        "create function queries(int) returns text language plpgsql immutable as $$
         declare found int; begin
           select sum(i) into found from generate_series(1, $1 % 4 / 3) i;
           return coalesce(found, 0) || ' ' || current_setting('search_path');
         end $$;
         create function fails(int) returns int language plpgsql immutable
         as $$ begin return 100 / ($1 - 7); end $$",
    );
    run(&mut raw, "create table t (n int); create index by_queries on t (queries(n))");
    run(&mut raw, "create table u (n int); create statistics failing on fails(n), n from u");
    run(&mut raw, "insert into t select generate_series(1, 100)");
    let common = "select most_common_vals from pg_stats where tablename = 'by_queries'";
    wait_for(&mut raw, common, &["{\"0 pg_catalog, pg_temp\",\"1 pg_catalog, pg_temp\"}"]);
    // One table's error is logged, and the next one is analyzed.
    run(&mut raw, "insert into u select generate_series(1, 100)");
    run(&mut raw, "create table v as select generate_series(1, 100) as n");
    wait_for(&mut raw, &standing("v"), &["100|100|0|1|0|t"]);
    assert_eq!(ask(&mut raw, "select count(*) from pg_stats where tablename = 'u'"), ["0"]);
}
