//! The server's views of itself: activity, locks, prepared statements and cursors, reloaded
//! settings.

mod support;

use std::time::{Duration, Instant};

use support::{Raw, TestServer, query, rows};

fn text(rows: &[Vec<Option<String>>]) -> Vec<String> {
    let shown = |column: &Option<String>| column.clone().unwrap_or_else(|| "~".to_owned());
    rows.iter().map(|row| row.iter().map(shown).collect::<Vec<_>>().join("|")).collect()
}

fn ask(raw: &mut Raw, sql: &str) -> Vec<String> {
    text(&rows(&raw.query(sql)))
}

fn pid(raw: &mut Raw) -> String {
    ask(raw, "select pg_backend_pid()").remove(0)
}

/// Repeats a query until the answer is the wanted one.
fn wait_for(raw: &mut Raw, sql: &str, wanted: &[&str]) {
    let patience = Instant::now() + Duration::from_secs(10);
    loop {
        let found = ask(raw, sql);
        if found == wanted {
            return;
        }
        assert!(Instant::now() < patience, "{sql}: {found:?}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn activity_tells_states_and_waits() {
    let server = TestServer::start();
    let (mut watcher, mut owner, mut waiter) = (server.raw(), server.raw(), server.raw());
    let (owner_pid, waiter_pid) = (pid(&mut owner), pid(&mut waiter));
    watcher.query("create table t (a int primary key, b int); insert into t values (1, 1)");
    let state = |pid: &str| {
        format!(
            "select state, wait_event_type, wait_event, query from pg_stat_activity where pid = {pid}"
        )
    };
    let select = "select pg_backend_pid()";
    wait_for(&mut watcher, &state(&owner_pid), &[&format!("idle|Client|ClientRead|{select}")]);
    let update = "begin; update t set b = 2 where a = 1";
    owner.query(update);
    let idle = format!("idle in transaction|Client|ClientRead|{update}");
    wait_for(&mut watcher, &state(&owner_pid), &[&idle]);
    let known = "select xact_start is not null and backend_xid is not null \
                 and query_start <= state_change from pg_stat_activity where pid = ";
    assert_eq!(ask(&mut watcher, &format!("{known}{owner_pid}")), ["t"]);

    let blocked = "update t set b = 3 where a = 1";
    waiter.send(&query(blocked));
    let waits = format!(
        "select state, wait_event_type, query from pg_stat_activity where pid = {waiter_pid}"
    );
    wait_for(&mut watcher, &waits, &[&format!("active|Lock|{blocked}")]);
    let blockers = format!("select pg_blocking_pids({waiter_pid})");
    assert_eq!(ask(&mut watcher, &blockers), [format!("{{{owner_pid}}}")]);
    assert_eq!(ask(&mut watcher, &format!("select pg_blocking_pids({owner_pid})")), ["{}"]);
    let not_granted =
        format!("select count(*) from pg_locks where pid = {waiter_pid} and not granted");
    assert_eq!(ask(&mut watcher, &not_granted), ["1"]);
    let granted = format!(
        "select mode, granted, fastpath from pg_locks where pid = {owner_pid} \
         and relation = 't'::regclass and locktype = 'relation'"
    );
    assert_eq!(ask(&mut watcher, &granted), ["RowExclusiveLock|t|t"]);

    owner.query("rollback");
    waiter.until_ready();
    wait_for(&mut watcher, &state(&waiter_pid), &[&format!("idle|Client|ClientRead|{blocked}")]);
    owner.query("begin; select nope");
    let failed = format!("select state from pg_stat_activity where pid = {owner_pid}");
    wait_for(&mut watcher, &failed, &["idle in transaction (aborted)"]);
    // A session that has ended is not shown, and holds no locks.
    drop(owner);
    wait_for(
        &mut watcher,
        &format!("select count(*) from pg_stat_activity where pid = {owner_pid}"),
        &["0"],
    );
    wait_for(
        &mut watcher,
        &format!("select count(*) from pg_locks where pid = {owner_pid}"),
        &["0"],
    );
}

#[test]
fn advisory_locks_are_shown_by_their_keys() {
    let server = TestServer::start();
    let mut raw = server.raw();
    raw.query("select pg_advisory_lock(77777777777), pg_advisory_lock_shared(-1, 2)");
    let locks = "select classid, objid, objsubid, mode from pg_locks \
                 where locktype = 'advisory' order by objsubid";
    assert_eq!(ask(&mut raw, locks), ["18|468366449|1|ExclusiveLock", "4294967295|2|2|ShareLock"]);
    raw.query("select pg_advisory_unlock_all()");
    assert!(ask(&mut raw, locks).is_empty());
}

#[test]
fn a_session_sees_what_it_has_named() {
    let server = TestServer::start();
    let (mut raw, mut other) = (server.raw(), server.raw());
    raw.query("prepare p (int) as select $1, 'x'::text");
    raw.send(&[support::parse("q", "select 1 where $1 = 2"), support::sync()].concat());
    raw.until_ready();
    let prepared = "select name, parameter_types, result_types, from_sql, \
                    prepare_time <= now() from pg_prepared_statements order by name";
    let expected = ["p|{integer}|{integer,text}|t|t", "q|{integer}|{integer}|f|t"];
    assert_eq!(ask(&mut raw, prepared), expected);
    assert!(ask(&mut other, prepared).is_empty());
    let declare = "begin; declare c binary scroll cursor with hold for select 1";
    raw.query(declare);
    let cursors = "select name, statement, is_holdable, is_binary, is_scrollable from pg_cursors";
    assert_eq!(ask(&mut raw, cursors), [format!("c|{declare}|t|t|t")]);
    assert!(ask(&mut other, cursors).is_empty());
}

#[test]
fn settings_are_read_again() {
    let server = TestServer::start();
    let (mut raw, mut other) = (server.raw(), server.raw());
    assert_eq!(ask(&mut raw, "show work_mem"), ["4MB"]);
    other.query("set work_mem = '9MB'");
    let path = ask(&mut raw, "show data_directory").remove(0) + "/steppe.conf";
    let before = std::fs::read_to_string(&path).expect("it was made");
    let lines = before.lines().count();
    let text = format!("{before}work_mem = 7MB\nmax_connections = 7\nnope = 1\napp.x = 'y'\n");
    std::fs::write(&path, text).expect("it is written");
    assert_eq!(ask(&mut raw, "select pg_reload_conf()"), ["t"]);
    assert_eq!(ask(&mut raw, "show work_mem; show app.x"), ["7MB", "y"]);
    // A value that the session has set stays until it is reset.
    assert_eq!(ask(&mut other, "show work_mem"), ["9MB"]);
    assert_eq!(ask(&mut other, "reset work_mem; show work_mem"), ["7MB"]);
    let row = "select setting, source, sourcefile, sourceline, pending_restart \
               from pg_settings where name = ";
    let work_mem = format!("7168|configuration file|{path}|{}|f", lines + 1);
    assert_eq!(ask(&mut raw, &format!("{row}'work_mem'")), [work_mem]);
    assert_eq!(ask(&mut raw, &format!("{row}'max_connections'")), ["100|default|~|~|t"]);
    assert_eq!(ask(&mut server.raw(), "show work_mem"), ["7MB"]);
    // The command line's values stay.
    assert_eq!(ask(&mut raw, "show shared_buffers"), ["8MB"]);
    std::fs::write(&path, before).expect("it is written");
    raw.query("select pg_reload_conf()");
    assert_eq!(ask(&mut raw, "show work_mem"), ["4MB"]);
}

#[test]
fn a_copy_tells_how_far_it_is() {
    let server = TestServer::start();
    let (mut watcher, mut copier) = (server.raw(), server.raw());
    watcher.query("create table t (a int, b text)");
    let progress = "select relid::regclass, command, type, bytes_processed, bytes_total, \
                    tuples_processed, datname, tuples_skipped from pg_stat_progress_copy";
    assert!(ask(&mut watcher, progress).is_empty());
    copier.send(&query("copy t from stdin"));
    assert_eq!(copier.receive().map(|message| message.tag), Some(b'G'));
    // Rows count when they are stored, a thousand at a time.
    copier.send(&support::message(b'd', "1\tx\n".repeat(1500).as_bytes()));
    wait_for(&mut watcher, progress, &["t|COPY FROM|PIPE|6000|0|1000|postgres|0"]);
    copier.send(&support::message(b'f', b"no more\0"));
    copier.until_ready();
    assert!(ask(&mut watcher, progress).is_empty());
}

#[test]
fn reading_and_writing_is_timed_where_it_is_asked_for() {
    let server = TestServer::start();
    let (mut timed, mut other) = (server.raw(), server.raw());
    let spilt = "explain (analyze, costs off, timing off, summary off) \
                 select * from generate_series(1, 20000) as g order by g";
    let fill = "create table t as select g from generate_series(1, 50000) as g; \
                insert into t select g from generate_series(1, 50000) as g; drop table t";
    let extended = "select extends > 0, extend_time > 0 from pg_stat_io \
                    where backend_type = 'client backend' and object = 'relation' and context = 'normal'";
    for raw in [&mut timed, &mut other] {
        raw.query("set work_mem = '64kB'");
    }
    other.query(fill);
    assert_eq!(ask(&mut other, extended), ["t|f"]);
    timed.query("set track_io_timing = on");
    let has_times = |plan: Vec<String>| plan.iter().any(|line| line.contains("I/O Timings: temp"));
    assert!(has_times(ask(&mut timed, spilt)));
    // The two sessions may share a thread, but each has its own setting.
    assert!(!has_times(ask(&mut other, spilt)));
    timed.query(fill);
    timed.query(&fill.replace("50000", "200000"));
    assert_eq!(ask(&mut timed, extended), ["t|t"]);
    assert_eq!(ask(&mut timed, "select blk_write_time > 0 from pg_stat_database"), ["t"]);
    timed.query("reset track_io_timing");
    assert!(!has_times(ask(&mut timed, spilt)));
}

/// A page read from disk counts once for its relation, also when the relation is given new files,
/// or would have been.
#[test]
fn pages_read_from_disk_count_for_their_relations() {
    let mut server = TestServer::start();
    server.raw().query(
        "create table t (a int primary key, b text); \
         create table other (a int); \
         insert into t select g, repeat('x', 100) from generate_series(1, 20000) as g; \
         insert into t select 0, string_agg(md5(g::text), '') from generate_series(1, 500) as g; \
         insert into other select g from generate_series(1, 1000) as g",
    );
    server.restart();
    let mut raw = server.raw();
    let tables = "select relname, heap_blks_read, idx_blks_read, toast_blks_read, heap_blks_hit, \
                  idx_blks_hit from pg_statio_user_tables order by relname";
    assert_eq!(ask(&mut raw, tables), ["other|0|~|~|~|~", "t|0|0|0|~|~"]);
    raw.query("set enable_indexscan = off; set enable_bitmapscan = off");
    // The second time, the table is in memory.
    for _ in 0..2 {
        raw.query("select count(*) from t where a < -1");
    }
    let is_all = "select heap_blks_read = pg_relation_size('t') / 8192, heap_blks_read > 200, \
                  idx_blks_read, toast_blks_read from pg_statio_user_tables where relname = 't'";
    assert_eq!(ask(&mut raw, is_all), ["t|t|0|0"]);
    raw.query("reset enable_indexscan; select length(b) from t where a = 0");
    let found = "select i.idx_blks_read, t.idx_blks_read, toast_blks_read > 0 \
                 from pg_statio_user_indexes as i join pg_statio_user_tables as t using (relid) \
                 where indexrelname = 't_pkey'";
    assert_eq!(ask(&mut raw, found), ["2|2|t"]);
    for command in ["begin; reindex table t; rollback", "reindex table t", "truncate t"] {
        raw.query(command);
        let goes_on = "select heap_blks_read > 200, idx_blks_read >= 2, toast_blks_read > 0 \
                       from pg_statio_user_tables where relname = 't'";
        assert_eq!(ask(&mut raw, goes_on), ["t|t|t"], "{command}");
    }
    let is_part = "select sum(heap_blks_read + idx_blks_read + toast_blks_read) <= \
                   (select blks_read from pg_stat_database) from pg_statio_user_tables";
    assert_eq!(ask(&mut raw, is_part), ["t"]);
    raw.query("select pg_stat_reset_single_table_counters('t'::regclass)");
    assert_eq!(ask(&mut raw, is_all), ["t|f|2|0"]);
    raw.query("select pg_stat_reset()");
    assert_eq!(ask(&mut raw, tables), ["other|0|~|~|~|~", "t|0|0|0|~|~"]);
}

/// For a partitioned index all partitions count, including partitioned ones. Done are those before
/// the leaf whose lock is awaited.
#[test]
fn an_index_tells_on_how_many_partitions_it_is() {
    let server = TestServer::start();
    let (mut worker, mut watcher) = (server.raw(), server.raw());
    worker.query(
        "create table p (a int, b int) partition by range (a); \
         create table p1 partition of p for values from (0) to (10); \
         create table p2 partition of p for values from (10) to (20) partition by list (b); \
         create table p21 partition of p2 for values in (1); \
         create table p22 partition of p2 for values in (2); \
         create table p3 partition of p for values from (20) to (30); \
         create table p4 partition of p for values from (30) to (40); \
         insert into p select g, 1 + g % 2 from generate_series(0, 39) as g; \
         create index p1_b on p1 (b); \
         create index p3_b on p3 (b)",
    );
    let progress = "select relid::regclass, command, index_relid::oid, phase <> 'initializing', \
                    partitions_total, partitions_done, blocks_total - blocks_done, \
                    tuples_total - tuples_done from pg_stat_progress_create_index";
    let commands = [
        ("create index p_b on p (b)", "p|CREATE INDEX|0|t|6|4|0|0"),
        // All indexes of its partitions are new. The index of p3 waits for its lock.
        ("alter table p add constraint p_ab unique (a, b)", "p|CREATE INDEX|0|t|6|4|0|0"),
    ];
    for (command, waiting) in commands {
        watcher.query("begin; lock table p3 in row exclusive mode");
        worker.send(&query(command));
        wait_for(&mut watcher, progress, &[waiting]);
        watcher.query("commit");
        worker.until_ready();
        assert!(ask(&mut watcher, progress).is_empty());
    }
}

/// Each command is shown at work in its phase, and no more when it is done.
#[test]
fn long_commands_tell_how_far_they_are() {
    let server = TestServer::start();
    let (mut worker, mut watcher) = (server.raw(), server.raw());
    worker.query(
        "create table t (a int, b text); \
         insert into t select g, repeat('x', 100) from generate_series(1, 100000) as g; \
         create index t_a on t (a)",
    );
    let commands = [
        (
            "create index t_b on t (b, a)",
            "create_index",
            "blocks_done <= blocks_total",
            "building index: ",
        ),
        ("reindex index t_a", "create_index", "tuples_done <= tuples_total", "building index: "),
        ("analyze t", "analyze", "sample_blks_scanned > 0", ""),
        ("vacuum t", "vacuum", "heap_blks_scanned <= heap_blks_total", "vacuuming "),
    ];
    for (command, view, truth, phase) in commands {
        let view = format!("pg_stat_progress_{view}");
        let seen = format!(
            "select relid::regclass, datname, {truth} from {view} where phase like '{phase}%'"
        );
        let patience = Instant::now() + Duration::from_secs(30);
        let mut done = false;
        // A round may be too short to be seen.
        while !done {
            assert!(Instant::now() < patience, "{command} is not seen");
            worker.send(&query(command));
            for _ in 0..20 {
                let found = ask(&mut watcher, &seen);
                if found.iter().any(|row| row == "t|postgres|t") {
                    done = true;
                    break;
                }
            }
            worker.until_ready();
            if command.starts_with("create") {
                worker.query("drop index t_b");
            }
        }
        assert_eq!(ask(&mut watcher, &format!("select count(*) from {view}")), ["0"]);
    }
}

#[test]
fn servers_of_a_process_count_their_own_relations() {
    let servers = [10, 20].map(|rows| (rows, TestServer::start()));
    for (rows, server) in &servers {
        let mut raw = server.raw();
        raw.query("create table t (a int)");
        raw.query(&format!("insert into t select generate_series(1, {rows})"));
    }
    for (rows, server) in &servers {
        let sql = "select n_tup_ins, n_live_tup from pg_stat_user_tables where relname = 't'";
        assert_eq!(ask(&mut server.raw(), sql), [format!("{rows}|{rows}")]);
    }
}
