//! The threads and priorities of long statements and of the analyzer: they must not be the threads
//! that run short statements.
//!
//! Each test has its own server process, and reads its threads in /proc.

mod support;

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use support::process::Steppe;
use support::{Raw, TestDir, query, rows, sqlstate};

/// The machine may be busy.
const PATIENCE: Duration = Duration::from_secs(60);

/// A busy thread has used this much processor time, in hundredths of a second.
const BUSY_TICKS: u64 = 10;

/// How much higher the nice value of threads of low priority is.
const LOWER: i64 = 10;

/// Runs for longer than the test.
const LONG: &str = "select count(*) from generate_series(1, 1000000) a, \
                    generate_series(1, 100000) b where a + b < 0";

/// A thread of the server.
#[derive(Clone, Debug)]
struct Thread {
    name: String,
    nice: i64,
    /// Its processor time.
    ticks: u64,
}

fn threads(server: &Steppe) -> BTreeMap<String, Thread> {
    let tasks = std::fs::read_dir(format!("/proc/{}/task", server.child.id()));
    let read = |task: std::io::Result<std::fs::DirEntry>| {
        let path = task.ok()?.path();
        let stat = std::fs::read_to_string(path.join("stat")).ok()?;
        let (head, rest) = stat.rsplit_once(')')?;
        let fields: Vec<&str> = rest.split_ascii_whitespace().collect();
        // proc_pid_stat(5): utime, stime and nice are the 14th, 15th and 19th, state is the third.
        let ticks = fields[11].parse::<u64>().ok()? + fields[12].parse::<u64>().ok()?;
        let name = head.split_once('(')?.1.to_owned();
        let thread = Thread { name, nice: fields[16].parse().ok()?, ticks };
        Some((path.file_name()?.to_string_lossy().into_owned(), thread))
    };
    tasks.expect("it has threads").filter_map(read).collect()
}

/// The nice value of the server's first thread.
fn own_nice(server: &Steppe) -> i64 {
    threads(server)[&server.child.id().to_string()].nice
}

/// Waits until this many threads have been busy since `since`, and returns them.
fn at_work(server: &Steppe, since: &BTreeMap<String, Thread>, wanted: usize) -> Vec<Thread> {
    let patience = Instant::now() + PATIENCE;
    loop {
        let now = threads(server);
        let worked = |(id, thread): (&String, &Thread)| {
            let before = since.get(id).map_or(0, |thread| thread.ticks);
            (thread.ticks >= before + BUSY_TICKS).then(|| thread.clone())
        };
        let busy: Vec<Thread> = now.iter().filter_map(worked).collect();
        if busy.len() >= wanted {
            return busy;
        }
        assert!(Instant::now() < patience, "{busy:?} at work, {wanted} wanted");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Checks that the threads of short statements have the server's priority.
fn assert_workers_do_not(server: &Steppe) {
    let ordinary = own_nice(server);
    let workers: Vec<Thread> =
        threads(server).into_values().filter(|thread| thread.name == "steppe-worker").collect();
    assert!(!workers.is_empty());
    assert!(workers.iter().all(|worker| worker.nice == ordinary), "{workers:?}");
}

/// Runs a statement, returns the threads that run it, and cancels it.
fn runners(server: &Steppe, raw: &mut Raw, sql: &str, wanted: usize) -> Vec<Thread> {
    let pid = rows(&raw.query("select pg_backend_pid()"))[0][0].clone().expect("it has one");
    let before = threads(server);
    raw.send(&query(sql));
    let busy = at_work(server, &before, wanted);
    assert_workers_do_not(server);
    let mut other = server.connect();
    other.query(&format!("select pg_cancel_backend({pid})"));
    let answer = raw.until_ready();
    assert_eq!(sqlstate(&answer).as_deref(), Some("57014"), "{sql}");
    busy
}

#[test]
fn a_long_statement_gives_way() {
    let dir = TestDir::new();
    let server = Steppe::start(&dir);
    let (mut raw, ordinary) = (server.connect(), own_nice(&server));
    raw.query("create table t (n bigint)");
    let lower = (ordinary + LOWER).min(19);
    let statements = [
        LONG.to_owned(),
        format!("copy ({LONG}) to stdout"),
        format!("explain analyze {LONG}"),
        format!("begin; declare c cursor for {LONG}; fetch c"),
    ];
    for sql in statements {
        for thread in runners(&server, &mut raw, &sql, 1) {
            assert_eq!((&*thread.name, thread.nice), ("steppe-long", lower), "{sql}");
        }
        raw.query("rollback");
    }
    // The session's next statement runs on its own thread again.
    assert_eq!(rows(&raw.query("select 1")).len(), 1);
    // A statement that writes may hold locks that other sessions wait for.
    for thread in runners(&server, &mut raw, &format!("insert into t {LONG}"), 1) {
        assert_eq!((&*thread.name, thread.nice), ("steppe-worker", ordinary));
    }
}

#[test]
fn sessions_go_on_with_their_own_threads_beside_long_statements() {
    let dir = TestDir::new();
    let server = Steppe::start(&dir);
    let mut long: Vec<Raw> = (0..4).map(|_| server.connect()).collect();
    let before = threads(&server);
    long.iter_mut().for_each(|raw| raw.send(&query(LONG)));
    let busy = at_work(&server, &before, 4);
    assert!(busy.iter().all(|thread| thread.name == "steppe-long"), "{busy:?}");
    // Threads that start now run beside them.
    let mut others: Vec<Raw> = (0..20).map(|_| server.connect()).collect();
    for raw in &mut others {
        raw.send(&query("select pg_sleep(0.3)"));
    }
    for raw in &mut others {
        assert_eq!(rows(&raw.until_ready()).len(), 1);
        assert_workers_do_not(&server);
    }
}

#[test]
fn helpers_give_way_as_much_as_their_leader() {
    let dir = TestDir::new();
    let server = Steppe::start(&dir);
    let (mut raw, ordinary) = (server.connect(), own_nice(&server));
    raw.query("create table t as select g from generate_series(1, 20000) g; analyze t");
    raw.query("set parallel_setup_cost = 0; set parallel_tuple_cost = 0");
    raw.query("set min_parallel_table_scan_size = 0");
    let sql = "select count(*) from t a join t b on a.g < b.g + 1 and a.g + b.g <> 0";
    let before = threads(&server);
    let busy = runners(&server, &mut raw, sql, 3);
    let mut names: Vec<&str> = busy.iter().map(|thread| &*thread.name).collect();
    names.sort_unstable();
    assert_eq!(names.first(), Some(&"steppe-long"), "{busy:?}, {before:?}");
    assert!(names.iter().skip(1).all(|name| *name == "steppe-parallel"), "{busy:?}");
    let lower = (ordinary + LOWER).min(19);
    assert!(busy.iter().all(|thread| thread.nice == lower), "{busy:?}");
}

#[test]
fn the_analyzer_gives_way() {
    let dir = TestDir::new();
    let server = Steppe::start_with(&dir, &["autovacuum_naptime=1s"]);
    let mut raw = server.connect();
    raw.query("create table t as select g, g::text as s from generate_series(1, 100000) g");
    let analyzed = "select autoanalyze_count > 0 from pg_stat_user_tables where relname = 't'";
    let patience = Instant::now() + PATIENCE;
    while rows(&raw.query(analyzed))[0][0].as_deref() != Some("t") {
        assert!(Instant::now() < patience);
        std::thread::sleep(Duration::from_millis(50));
    }
    let lower = (own_nice(&server) + LOWER).min(19);
    let all: Vec<Thread> = threads(&server).into_values().collect();
    // Only this is long here. (It may have taken less than a hundredth of a second.)
    let mut long = all.iter().filter(|thread| thread.name == "steppe-long");
    assert!(long.any(|thread| thread.nice == lower), "{all:?}");
    assert_workers_do_not(&server);
}
