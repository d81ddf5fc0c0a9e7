//! The program: start, refusals, stop, and the data that survives.

mod support;

use std::fs::Permissions;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;
use std::process::{Command, Output, Stdio};

use support::process::{Steppe, command};
use support::{TestDir, rows, sqlstate};

fn failure(output: &Output) -> String {
    assert!(!output.status.success());
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn data_survives_a_clean_stop_and_a_kill() {
    let dir = TestDir::new();
    for (round, signal) in ["-TERM", "-INT", "-KILL", "-TERM"].into_iter().enumerate() {
        let mut server = Steppe::start(&dir);
        let mut raw = server.connect();
        if round == 0 {
            raw.query("create table t (a int primary key)");
        }
        raw.query(&format!("insert into t values ({round})"));
        // An uncommitted row is lost at any end of the server.
        let mut open = server.connect();
        open.query(&format!("begin; insert into t values ({})", 100 + round));
        let found = rows(&raw.query("select count(*) from t"));
        assert_eq!(found, [[Some((round + 1).to_string())]]);
        server.signal(signal);
        let status = server.child.wait().expect("it ends");
        assert_eq!(status.success(), signal != "-KILL", "{signal}: {status}");
    }
    let server = Steppe::start(&dir);
    let found = rows(&server.connect().query("select a from t order by a"));
    let numbers: Vec<_> = found.iter().map(|row| row[0].as_deref().unwrap()).collect();
    assert_eq!(numbers, ["0", "1", "2", "3"]);
}

#[test]
fn unlogged_tables_survive_a_clean_stop_only() {
    let dir = TestDir::new();
    let server = Steppe::start(&dir);
    let mut raw = server.connect();
    raw.query(
        "create unlogged table u (id serial primary key, t text); create index on u (t);
         create table l (a int); create unlogged sequence s start 7",
    );
    raw.query("insert into u (t) select 'row ' || i from generate_series(1, 2000) i");
    raw.query("insert into l select i from generate_series(1, 2000) i");
    raw.query("update u set t = t || '!' where id % 3 = 0; delete from u where id % 5 = 0");
    raw.query("begin; insert into u (t) values ('gone'); rollback; select nextval('s')");
    let mut open = server.connect();
    open.query("begin; insert into u (t) values ('open'); delete from u where id < 100");
    let shown = |server: &Steppe| {
        rows(&server.connect().query(
            "select count(*), (select count(*) from u where t like 'row 3%'), \
             (select count(*) from l) from u",
        ))
    };
    let before = shown(&server);
    server.stop("-TERM");
    // A failed start in between is no crash.
    let taken = std::net::TcpListener::bind("127.0.0.1:0").expect("binds");
    let address = taken.local_addr().expect("is bound").to_string();
    let mut command = Command::new(env!("CARGO_BIN_EXE_steppe"));
    command.arg("serve").arg("--data-dir").arg(dir.0.join("data")).args(["--listen", &address]);
    let output = command.output().expect("the server is run");
    assert!(failure(&output).contains("could not listen"));
    let server = Steppe::start(&dir);
    assert_eq!(shown(&server), before, "after a clean stop");
    let mut raw = server.connect();
    raw.query("insert into u (t) values ('row 3 more'); checkpoint; insert into l values (0)");
    // The answer is sent when all changes before it are durable.
    raw.query("insert into u (t) select 'row' from generate_series(1, 500) i");
    server.stop("-KILL");
    let server = Steppe::start(&dir);
    let numbers = |row: &[&str]| row.iter().map(|n| Some((*n).to_owned())).collect::<Vec<_>>();
    assert_eq!(shown(&server), [numbers(&["0", "0", "2001"])], "after a kill");
    let mut raw = server.connect();
    let found = rows(&raw.query("insert into u (t) values ('new') returning id, nextval('s')"));
    assert_eq!(found, [numbers(&["1", "7"])]);
    // Rows stay from here on, when the table and its sequence are logged.
    raw.query("alter table u set logged");
    server.stop("-KILL");
    let server = Steppe::start(&dir);
    let found = rows(&server.connect().query("select id, t from u where t = 'new'"));
    assert_eq!(found, [numbers(&["1", "new"])]);
    let next = rows(&server.connect().query("select nextval('u_id_seq') > 1"));
    assert_eq!(next, [numbers(&["t"])]);
}

#[test]
fn a_second_server_is_refused() {
    let dir = TestDir::new();
    let _first = Steppe::start(&dir);
    let second = command(&dir).output().expect("it is run");
    assert!(failure(&second).contains("in use by another"), "{second:?}");
}

#[test]
fn mistakes_are_told_before_anything_is_made() {
    let dir = TestDir::new();
    std::fs::create_dir(dir.0.join("data")).unwrap();
    std::fs::write(dir.0.join("data/thesis.txt"), "x").unwrap();
    let refused = command(&dir).output().expect("it is run");
    assert!(failure(&refused).contains("not a Steppe data directory"), "{refused:?}");
    let dir = TestDir::new();
    let bad = command(&dir).args(["-c", "work_mem=banana"]).output().expect("it is run");
    assert!(failure(&bad).contains("invalid value for parameter \"work_mem\""), "{bad:?}");
}

#[test]
fn a_database_that_has_gone_is_missed() {
    let dir = TestDir::new();
    let mut server = Steppe::start(&dir);
    server.connect().query("create table t (a int)");
    server.signal("-TERM");
    assert!(server.child.wait().expect("it ends").success());
    // As if a volume is not mounted: first the folder is missing, then it is empty.
    let (base, aside) = (dir.0.join("data/base"), dir.0.join("aside"));
    std::fs::rename(&base, &aside).unwrap();
    for _ in 0..2 {
        let refused = command(&dir).output().expect("it is run");
        assert!(failure(&refused).contains("there is no database in"), "{refused:?}");
        std::fs::create_dir_all(&base).unwrap();
        assert_eq!(std::fs::read_dir(&base).unwrap().count(), 0);
    }
    std::fs::remove_dir(&base).unwrap();
    std::fs::rename(&aside, &base).unwrap();
    let server = Steppe::start(&dir);
    assert!(rows(&server.connect().query("select a from t")).is_empty());
}

#[test]
fn what_the_server_writes_is_its_users_only() {
    let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    let dir = TestDir::new();
    let data = dir.0.join("data");
    // An existing directory becomes private, as with initdb.
    std::fs::create_dir(&data).unwrap();
    std::fs::set_permissions(&data, Permissions::from_mode(0o755)).unwrap();
    let mut server = Steppe::start(&dir);
    server.connect().query("create table t (a int)");
    server.signal("-TERM");
    assert!(server.child.wait().expect("it ends").success());
    let mut seen = 0;
    let mut folders = vec![data.clone()];
    while let Some(folder) = folders.pop() {
        assert_eq!(mode(&folder), 0o700, "{}", folder.display());
        for entry in std::fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            match path.is_dir() {
                true => folders.push(path),
                false => assert_eq!(mode(&path), 0o600, "{}", path.display()),
            }
            seen += 1;
        }
    }
    assert!(seen > 5, "{seen} files and folders");
    std::fs::set_permissions(&data, Permissions::from_mode(0o750)).unwrap();
    drop(Steppe::start(&dir));
    for open_to_others in [0o755, 0o701, 0o770] {
        std::fs::set_permissions(&data, Permissions::from_mode(open_to_others)).unwrap();
        let refused = command(&dir).output().expect("it is run");
        assert!(failure(&refused).contains("has invalid permissions"), "{refused:?}");
    }
}

/// A server of root does not give root's rights to its clients. Without --user they get no file of
/// the machine, and with it those of the user. (If the tests do not run as root, there are no
/// rights to drop.)
#[test]
fn a_server_of_root_touches_no_files_of_the_machine() {
    let dir = TestDir::new();
    let id = Command::new("id").arg("-u").output().expect("id is run");
    if id.stdout.trim_ascii() != b"0" {
        let other = command(&dir).args(["--user", "root"]).output().expect("it is run");
        assert!(failure(&other).contains("only root can become another user"), "{other:?}");
        return;
    }
    let written = dir.0.join("written");
    let copies = [
        format!("copy (select 1) to '{}'", written.display()),
        "create table t (a text); copy t from '/etc/hostname'".to_owned(),
    ];
    let mut server = Steppe::start(&dir);
    for copy in &copies {
        let answer = server.connect().query(copy);
        assert_eq!(sqlstate(&answer).as_deref(), Some("42501"), "{copy}");
    }
    assert!(!written.exists());
    server.signal("-TERM");
    assert!(server.child.wait().expect("it ends").success());
    let other = command(&dir).args(["--user", "nobody"]).output().expect("it is run");
    assert!(failure(&other).contains("has wrong ownership"), "{other:?}");
    let unknown = command(&dir).args(["--user", "no_such_user"]).output().expect("it is run");
    assert!(failure(&unknown).contains("there is no operating-system user"), "{unknown:?}");

    let dir = TestDir::new();
    std::fs::set_permissions(&dir.0, Permissions::from_mode(0o777)).unwrap();
    let mut dropped = command(&dir);
    dropped.args(["--user", "nobody"]).stdout(Stdio::piped()).stderr(Stdio::null());
    let server = Steppe::ready(dropped.spawn().expect("the server is run"));
    let target = dir.0.join("written");
    let answer = server.connect().query(&format!("copy (select 1) to '{}'", target.display()));
    assert_eq!(sqlstate(&answer), None);
    let owner = |path: &Path| std::fs::metadata(path).unwrap().uid();
    assert_ne!(owner(&target), 0);
    assert_eq!(owner(&target), owner(&dir.0.join("data")));
    let answer = server.connect().query("create table t (a text); copy t from '/etc/shadow'");
    assert_eq!(sqlstate(&answer).as_deref(), Some("42501"));
}

#[test]
fn the_configuration_file_is_read() {
    let dir = TestDir::new();
    drop(Steppe::start(&dir));
    let path = dir.0.join("data/steppe.conf");
    let mut text = std::fs::read_to_string(&path).expect("it was made");
    assert!(text.contains("#shared_buffers = '128MB'"), "{text}");
    text.push_str("work_mem = 7MB\napp.tier = 'gold'\n");
    std::fs::write(&path, text).unwrap();
    let server = Steppe::start(&dir);
    let mut raw = server.connect();
    assert_eq!(rows(&raw.query("show work_mem")), [[Some("7MB".to_owned())]]);
    assert_eq!(rows(&raw.query("show app.tier")), [[Some("gold".to_owned())]]);
}

#[test]
fn the_log_tells_what_it_is_asked_to() {
    let dir = TestDir::new();
    let log = dir.0.join("log");
    let child = command(&dir)
        .args(["-c", "log_statement=mod", "-c", "log_connections=on"])
        .args(["-c", "log_disconnections=on"])
        .stdout(Stdio::piped())
        .stderr(std::fs::File::create(&log).expect("a file"))
        .spawn();
    let server = Steppe::ready(child.expect("the server is run"));
    let mut raw = server.connect();
    raw.query("create table t (a int primary key)");
    raw.query("insert into t values (1)");
    raw.query("insert into t values (1)");
    raw.query("select 'quiet'");
    raw.query("set log_min_duration_statement = 0; select 'timed'");
    raw.query("select 'timed too'");
    drop(raw);
    // The configuration file is read again at SIGHUP.
    let conf = dir.0.join("data/steppe.conf");
    std::fs::write(&conf, "work_mem = 7MB\nnope = 1\nlog_statement = all\n").unwrap();
    server.signal("-HUP");
    let mut raw = server.connect();
    let patience = std::time::Instant::now() + std::time::Duration::from_secs(10);
    while rows(&raw.query("show work_mem")) != [[Some("7MB".to_owned())]] {
        assert!(std::time::Instant::now() < patience, "steppe.conf was not read again");
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    drop(raw);
    drop(server);
    let text = std::fs::read_to_string(&log).expect("the log is there");
    // The session's number may be any.
    let (_, authorized) = text.split_once("authorized\" pid=").expect("it is logged");
    let pid: String = authorized.chars().take_while(char::is_ascii_digit).collect();
    let text = text.replace(&format!("pid={pid} "), "pid=1 ");
    for expected in [
        "message=\"connection authorized\" pid=1 user=postgres database=postgres",
        "message=statement statement=\"create table t (a int primary key)\"",
        "message=statement statement=\"insert into t values (1)\"",
        " ERROR pid=1 sqlstate=23505 message=\"duplicate key value violates unique constraint \\\"t_pkey\\\"\"",
        " statement=\"select 'timed too'\"",
        "message=disconnection pid=1",
        "message=\"received SIGHUP, reloading configuration files\"",
        "message=\"parameter \\\"work_mem\\\" changed to \\\"7168\\\"\"",
        "message=\"steppe.conf, line 2: unrecognized configuration parameter \\\"nope\\\"\"",
    ] {
        assert!(text.contains(expected), "{expected}\nis not in\n{text}");
    }
    // The command line's log_statement stays.
    assert!(!text.contains("quiet") && !text.contains("show work_mem"), "{text}");
}

impl Steppe {
    fn stop(mut self, signal: &str) {
        self.signal(signal);
        self.child.wait().expect("it ends");
    }
}

/// The counters of table t and of an UPDATE of it, and when they began.
fn counted(server: &Steppe) -> Vec<Vec<Option<String>>> {
    let mut raw = server.connect();
    let mut shown = rows(&raw.query(
        "select n_tup_ins, n_tup_upd, n_live_tup, n_mod_since_analyze, idx_scan, analyze_count \
         from pg_stat_user_tables",
    ));
    shown.extend(rows(&raw.query("select calls, rows from pg_stat_statements where query ~ '^u'")));
    shown.extend(rows(&raw.query(
        "select stats_reset, tup_updated, (select wal_records > 1000 from pg_stat_wal), \
         (select num_requested from pg_stat_checkpointer) from pg_stat_database",
    )));
    shown
}

#[test]
fn counts_survive_a_clean_stop_only() {
    let dir = TestDir::new();
    let server = Steppe::start(&dir);
    let mut raw = server.connect();
    raw.query("create extension pg_stat_statements");
    raw.query("create table t (a int primary key, b int) with (autovacuum_enabled = off)");
    raw.query("insert into t select g, g from generate_series(1, 100) g; analyze t");
    raw.query("begin; insert into t values (200, 1); rollback");
    (1..=1000)
        .for_each(|i| drop(raw.query(&format!("update t set b = -{i} where a = {}", i % 100))));
    raw.query("checkpoint");
    drop(raw);
    let before = counted(&server);
    let numbers = |row: &[&str]| row.iter().map(|n| Some((*n).to_owned())).collect::<Vec<_>>();
    // ANALYZE was counted before the commit of the rows that it saw.
    assert_eq!(before[0], numbers(&["101", "990", "100", "1090", "1000", "1"]));
    assert_eq!(before[1], numbers(&["1000", "990"]));
    assert_eq!(before[2][1..], numbers(&["990", "t", "1"]));
    server.stop("-TERM");
    // The second round checks that carried counts are carried again.
    for _ in 0..2 {
        let server = Steppe::start(&dir);
        assert!(!dir.0.join("data/statistics.json").exists());
        assert_eq!(counted(&server), before);
        server.stop("-TERM");
    }
    // Statistics from before a crash are not the last counts.
    let left = std::fs::read(dir.0.join("data/statistics.json")).expect("it was left");
    let server = Steppe::start(&dir);
    server.connect().query("update t set b = -2 where a = 1");
    server.stop("-KILL");
    std::fs::write(dir.0.join("data/statistics.json"), left).expect("it is put back");
    let server = Steppe::start(&dir);
    let after = counted(&server);
    assert_eq!(after[0], numbers(&["0", "0", "0", "0", "0", "0"]));
    assert_eq!(after.len(), 2, "no statement, {after:?}");
    server.stop("-TERM");
    // An unreadable file does not prevent a start.
    std::fs::write(dir.0.join("data/statistics.json"), "{\"format\":").expect("it is written");
    assert_eq!(rows(&Steppe::start(&dir).connect().query("select count(*) from t")).len(), 1);
}
