//! Foreign keys under concurrent sessions. After any mix of statements, and after a kill of the server,
//! each row's referenced row exists.

mod support;

use std::io::{ErrorKind, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use support::process::Steppe;
use support::{Message, Random, Raw, TestDir, TestServer, query, rows, sqlstate};

/// Keys of the referenced tables.
const KEYS: u64 = 12;

/// A referencing table of each kind. `parts` is partitioned, and so is `keys`, which it refers to.
const SCHEMA: &str = "
    create table parent (id int primary key, note int default 0);
    create table refused (id int, pid int references parent on update cascade);
    create index on refused (pid);
    create table cascades (id int, pid int references parent on delete cascade on update cascade);
    create table nulls (id int, pid int references parent on delete set null on update set null);
    create index on nulls (pid);
    create table later (id int, pid int references parent deferrable initially deferred);
    create table keys (id int primary key) partition by hash (id);
    create table keys0 partition of keys for values with (modulus 2, remainder 0);
    create table keys1 partition of keys for values with (modulus 2, remainder 1);
    create table parts (id int, pid int references keys on delete cascade) partition by list (id);
    create table parts0 partition of parts for values in (0);
    create table parts1 partition of parts default;";

const CHILDREN: [(&str, &str); 5] = [
    ("refused", "parent"),
    ("cascades", "parent"),
    ("nulls", "parent"),
    ("later", "parent"),
    ("parts", "keys"),
];

/// The errors that a transaction may have: foreign keys and unique keys, serialization, deadlock.
const EXPECTED: [&str; 4] = ["23503", "23505", "40001", "40P01"];

fn statement(random: &mut Random) -> String {
    let (child, parent) = CHILDREN[random.below(CHILDREN.len() as u64) as usize];
    let (key, other, id) = (random.below(KEYS), random.below(KEYS), random.below(4));
    match random.below(10) {
        0 | 1 => format!("insert into {parent} values ({key})"),
        2 | 3 => format!("insert into {child} values ({id}, {key})"),
        4 => format!("insert into {child} select {id}, g from generate_series({key}, {key} + 1) g"),
        5 => format!("delete from {parent} where id = {key}"),
        6 if parent == "parent" => format!("update parent set id = {other} where id = {key}"),
        6 | 7 => format!("update {child} set pid = {other} where pid = {key}"),
        8 => format!("delete from {child} where pid = {key}"),
        _ => format!("update parent set note = note + 1 where id = {key}"),
    }
}

/// The time in which a few contests end on any machine.
const PATIENCE: Duration = Duration::from_secs(60);
/// The least number of contests at an isolation level before a kill. Their kinds take turns.
const CONTESTS_MIN: u64 = 6;
const LEVELS: [&str; 3] = ["read committed", "repeatable read", "serializable"];

/// The answer to a query. `None`: the server is killed.
fn ask(raw: &mut Raw, text: &str) -> Option<Vec<Message>> {
    raw.stream.write_all(&query(text)).ok()?;
    let answer = raw.until_ready();
    answer.last().is_some_and(|message| message.tag == b'Z').then_some(answer)
}

/// A transaction of some statements. False: the server is killed.
fn transaction(raw: &mut Raw, random: &mut Random) -> bool {
    let level = LEVELS[random.below(3) as usize];
    let mut statements = vec![format!("begin isolation level {level}")];
    statements.extend((0..1 + random.below(4)).map(|_| statement(random)));
    statements.push("commit".into());
    for text in statements {
        let Some(answer) = ask(raw, &text) else { return false };
        if let Some(found) = sqlstate(&answer) {
            assert!(EXPECTED.contains(&found.as_str()), "{found}: {text}");
            return ask(raw, "rollback").is_some();
        }
    }
    true
}

/// The rows whose keys are not there.
fn orphans(raw: &mut Raw) -> Vec<String> {
    let mut found = Vec::new();
    for (child, parent) in CHILDREN {
        let text = format!(
            "select c.pid from {child} c where pid is not null \
             and not exists (select from {parent} p where p.id = c.pid)"
        );
        let answer = raw.query(&text);
        assert_eq!(sqlstate(&answer), None, "{text}");
        found.extend(rows(&answer).iter().map(|row| format!("{child}: {row:?}")));
    }
    found
}

#[test]
fn concurrent_changes_leave_no_orphan() {
    let server = TestServer::start_with(&[("deadlock_timeout", "20ms")]);
    let mut raw = server.raw();
    assert_eq!(sqlstate(&raw.query(SCHEMA)), None);
    for round in 0..6 {
        thread::scope(|scope| {
            for client in 0..6 {
                let mut raw = server.raw();
                scope.spawn(move || {
                    let mut random = Random(round * 100 + client);
                    for number in 0..60 {
                        assert!(transaction(&mut raw, &mut random));
                        if number % 3 == 0 {
                            assert_eq!(orphans(&mut raw), Vec::<String>::new());
                        }
                    }
                });
            }
        });
        assert_eq!(orphans(&mut raw), Vec::<String>::new(), "round {round}");
    }
}

/// Two sessions that insert a reference to a key and delete the key at once, and one that watches.
struct Contest {
    level: &'static str,
    sessions: [Raw; 2],
    second_pid: String,
    watcher: Raw,
}

impl Contest {
    fn new(server: &Steppe, level: &'static str) -> Contest {
        let mut sessions = [server.connect(), server.connect()];
        let found = rows(&sessions[1].query("select pg_backend_pid()"));
        let second_pid = found[0][0].clone().expect("a session has a number");
        Contest { level, sessions, second_pid, watcher: server.connect() }
    }

    /// Runs one statement in a transaction, and the other one before its commit: that must wait.
    /// `None`: the server is killed.
    fn run(&mut self, first: &str, second: &str) -> Option<()> {
        let [holder, waiter] = &mut self.sessions;
        let level = self.level;
        let begin = format!("begin isolation level {level}");
        ask(holder, &begin)?;
        ask(waiter, &begin)?;
        // The changes of other sessions may make a transaction fail at SERIALIZABLE.
        let is_refused = |answer: &[Message]| {
            level == "serializable" && sqlstate(answer).as_deref() == Some("40001")
        };
        let answer = ask(holder, first)?;
        if is_refused(&answer) {
            ask(holder, "rollback")?;
            return ask(waiter, "rollback").map(drop);
        }
        assert_eq!(sqlstate(&answer), None, "{level}: {first}");
        waiter.stream.write_all(&query(second)).ok()?;
        let blockers = format!("select cardinality(pg_blocking_pids({}))", self.second_pid);
        let mut has_waited = true;
        while rows(&ask(&mut self.watcher, &blockers)?) == [[Some("0".to_owned())]] {
            match has_bytes(waiter) {
                Some(0) => return None,
                Some(_) => {
                    has_waited = false;
                    break;
                }
                None => {}
            }
        }
        let has_failed = is_refused(&ask(holder, "commit")?);
        let answer = waiter.until_ready();
        if answer.last().is_none_or(|message| message.tag != b'Z') {
            return None;
        }
        let state = sqlstate(&answer);
        let is_right = match state.as_deref() {
            Some("40001") => has_waited || is_refused(&answer),
            Some("23503") => has_waited && !has_failed,
            // CASCADE deletes the reference.
            _ => has_waited && (has_failed || second.starts_with("delete from keys")),
        };
        assert!(is_right, "{level}: {second} after {first}: {state:?}, it waited: {has_waited}");
        ask(waiter, "commit").map(drop)
    }
}

/// How many bytes of an answer have come, none if the connection has ended. `None`: no answer yet.
fn has_bytes(raw: &mut Raw) -> Option<usize> {
    raw.stream.set_nonblocking(true).expect("does not wait");
    let found = raw.stream.peek(&mut [0]);
    raw.stream.set_nonblocking(false).expect("waits");
    match found {
        Err(error) if error.kind() == ErrorKind::WouldBlock => None,
        found => Some(found.unwrap_or(0)),
    }
}

/// Contests about new keys until the server is killed.
fn contests(mut contest: Contest, keys: std::ops::Range<u64>, done: &AtomicU64) {
    for key in keys {
        let (child, parent) =
            [("refused", "parent"), ("later", "parent"), ("parts", "keys")][(key % 3) as usize];
        if ask(&mut contest.watcher, &format!("insert into {parent} values ({key})")).is_none() {
            return;
        }
        // The checks of `later` and `parent` come with the statements, not at COMMIT.
        let now = "set constraints all immediate";
        let insert = format!("insert into {child} values (0, {key}); {now}");
        let delete = format!("delete from {parent} where id = {key}; {now}");
        let ran = match key % 2 {
            0 => contest.run(&insert, &delete),
            _ => contest.run(&delete, &insert),
        };
        if ran.is_none() {
            return;
        }
        done.fetch_add(1, Ordering::Relaxed);
    }
    panic!("there are not enough keys")
}

/// At each isolation level two sessions contend for a key, and others change rows at random.
#[test]
fn a_kill_leaves_no_orphan() {
    let dir = TestDir::new();
    let settings = ["deadlock_timeout=20ms"];
    let mut server = Steppe::start_with(&dir, &settings);
    assert_eq!(sqlstate(&server.connect().query(SCHEMA)), None);
    for round in 0..4 {
        let stop = Arc::new(AtomicBool::new(false));
        let clients: Vec<_> = (0..4)
            .map(|client| {
                let (mut raw, stop) = (server.connect(), Arc::clone(&stop));
                thread::spawn(move || {
                    let mut random = Random(round * 1000 + client);
                    while !stop.load(Ordering::Relaxed) && transaction(&mut raw, &mut random) {}
                })
            })
            .collect();
        let contesting: Vec<_> = LEVELS
            .into_iter()
            .zip(1..)
            .map(|(level, number)| {
                let (contest, done) = (Contest::new(&server, level), Arc::new(AtomicU64::new(0)));
                let first = round * 10_000_000 + number * 1_000_000;
                let counted = Arc::clone(&done);
                let keys = first..first + 1_000_000;
                (thread::spawn(move || contests(contest, keys, &counted)), done)
            })
            .collect();
        // The moment of the kill: some load later.
        let least = Instant::now() + Duration::from_millis(250 + 70 * round);
        let is_enough = |done: &AtomicU64| done.load(Ordering::Relaxed) >= CONTESTS_MIN;
        let has_failed = || contesting.iter().any(|(contest, _)| contest.is_finished());
        let is_early = || Instant::now() < least || !contesting.iter().all(|(_, n)| is_enough(n));
        while is_early() && !has_failed() {
            assert!(Instant::now() < least + PATIENCE, "no session goes on");
            thread::sleep(Duration::from_millis(5));
        }
        server.signal("-9");
        stop.store(true, Ordering::Relaxed);
        for client in clients {
            client.join().expect("a client ends with the server");
        }
        for (contest, _) in contesting {
            contest.join().expect("two sessions have contended as they should");
        }
        // Its clients may see the end before the kernel releases the data directory.
        server.child.wait().expect("it ends");
        server = Steppe::start_with(&dir, &settings);
        assert_eq!(orphans(&mut server.connect()), Vec::<String>::new(), "round {round}");
    }
}

/// One session waits for another, which then commits or rolls back.
fn waiting(
    server: &TestServer,
    (holder, holds): (&mut Raw, &str),
    (waiter, waits): (&mut Raw, &str),
    end: &str,
) -> Option<String> {
    assert_eq!(sqlstate(&holder.query("begin")), None);
    assert_eq!(sqlstate(&holder.query(holds)), None, "{holds}");
    let mut watcher = server.raw();
    thread::scope(|scope| {
        let waiter = scope.spawn(|| sqlstate(&waiter.query(waits)));
        let blocked = "select 1 from pg_locks where not granted";
        while !waiter.is_finished() && rows(&watcher.query(blocked)).is_empty() {
            thread::yield_now();
        }
        assert!(!waiter.is_finished(), "{waits} has not waited for {holds}");
        assert_eq!(sqlstate(&holder.query(end)), None);
        waiter.join().expect("the waiter ends")
    })
}

#[test]
fn a_check_and_a_delete_wait_for_each_other() {
    let server = TestServer::start();
    let (mut a, mut b) = (server.raw(), server.raw());
    assert_eq!(sqlstate(&a.query(SCHEMA)), None);
    a.query("insert into parent values (1), (2), (3)");
    let insert = "insert into refused values (1, 1)";
    let delete = "delete from parent where id = 1";
    // The referenced row is deleted first.
    let failed = waiting(&server, (&mut a, delete), (&mut b, insert), "rollback");
    assert_eq!(failed, None);
    b.query("delete from refused");
    let failed = waiting(&server, (&mut a, delete), (&mut b, insert), "commit");
    assert_eq!(failed.as_deref(), Some("23503"));
    // The referencing row comes first.
    let (insert, delete) = ("insert into refused values (1, 2)", "delete from parent where id = 2");
    let failed = waiting(&server, (&mut a, insert), (&mut b, delete), "commit");
    assert_eq!(failed.as_deref(), Some("23503"));
    b.query("delete from refused");
    let failed = waiting(&server, (&mut a, insert), (&mut b, delete), "rollback");
    assert_eq!(failed, None);
    // An update that keeps the key does not wait.
    a.query("begin; insert into refused values (1, 3)");
    assert_eq!(sqlstate(&b.query("update parent set note = 1 where id = 3")), None);
    b.query("begin; update parent set note = 2 where id = 3");
    assert_eq!(sqlstate(&a.query("insert into refused values (2, 3)")), None);
    assert_eq!((sqlstate(&a.query("commit")), sqlstate(&b.query("commit"))), (None, None));
}

#[test]
fn the_checks_of_a_batch_wait_in_turn() {
    let server = TestServer::start();
    let (mut a, mut b) = (server.raw(), server.raw());
    assert_eq!(sqlstate(&a.query(SCHEMA)), None);
    a.query("insert into parent select generate_series(1, 20)");
    let insert = "insert into refused select g, g from generate_series(1, 20) g";
    let delete = "delete from parent where id = 7";
    let failed = waiting(&server, (&mut a, delete), (&mut b, insert), "rollback");
    assert_eq!(failed, None);
    b.query("delete from refused");
    // The one that waits for row 7 has not locked row 8 yet.
    let end = "delete from parent where id = 8; commit";
    let failed = waiting(&server, (&mut a, delete), (&mut b, insert), end);
    assert_eq!(failed.as_deref(), Some("23503"));
    let insert = "insert into refused select g, g from generate_series(9, 20) g";
    let delete = "delete from parent where id = 15";
    let failed = waiting(&server, (&mut a, insert), (&mut b, delete), "commit");
    assert_eq!(failed.as_deref(), Some("23503"));
    b.query("delete from refused");
    let failed = waiting(&server, (&mut a, insert), (&mut b, delete), "rollback");
    assert_eq!(failed, None);
    // The rows that updates keep the key of are not waited for.
    a.query("begin; update parent set note = 1 where id % 3 = 0");
    let insert = "insert into refused select g, g from generate_series(9, 14) g";
    assert_eq!(sqlstate(&b.query(insert)), None);
    assert_eq!(sqlstate(&a.query("commit")), None);
    assert_eq!(orphans(&mut a), Vec::<String>::new());
}

#[test]
fn a_snapshot_does_not_hide_references() {
    let server = TestServer::start();
    let (mut a, mut b) = (server.raw(), server.raw());
    assert_eq!(sqlstate(&a.query(SCHEMA)), None);
    for level in ["repeatable read", "serializable"] {
        a.query("delete from cascades; delete from refused; delete from parent");
        a.query("insert into parent values (1), (2), (3)");
        // Rows that the snapshot does not see refer to the keys.
        a.query(&format!("begin isolation level {level}; select count(*) from parent"));
        b.query("insert into refused values (1, 1); insert into cascades values (1, 2)");
        a.query("savepoint s");
        assert_eq!(sqlstate(&a.query("delete from parent where id = 1")).as_deref(), Some("23503"));
        a.query("rollback to s");
        assert_eq!(sqlstate(&a.query("delete from parent where id = 2")).as_deref(), Some("40001"));
        a.query("rollback");
        // Keys that the snapshot does not see are not there.
        a.query(&format!("begin isolation level {level}; select count(*) from parent"));
        b.query("insert into parent values (4)");
        let insert = "insert into refused values (2, 4)";
        assert_eq!(sqlstate(&a.query(insert)).as_deref(), Some("23503"));
        a.query("rollback");
        // Keys that it sees and that are deleted.
        a.query(&format!("begin isolation level {level}; select count(*) from parent"));
        b.query("delete from parent where id = 3");
        let insert = "insert into refused values (2, 3)";
        assert_eq!(sqlstate(&a.query(insert)).as_deref(), Some("40001"));
        a.query("rollback");
        assert_eq!(orphans(&mut a), Vec::<String>::new());
    }
}

/// The referencing table and its column get other names after the statement has started, before its
/// foreign key's action is planned.
#[test]
fn an_action_finds_what_was_renamed_meanwhile() {
    let server = TestServer::start();
    let (mut deleting, mut renaming) = (server.raw(), server.raw());
    let schema = "
        create table pk (id int primary key);
        create table fk (id int references pk on delete cascade on update set null);
        insert into pk values (1), (2), (3);
        insert into fk values (1), (2), (3);
        create function pause() returns trigger language plpgsql as
            'begin perform pg_advisory_xact_lock(1); return coalesce(new, old); end';
        create trigger pause before update or delete on pk
            for each row execute function pause();";
    assert_eq!(sqlstate(&renaming.query(schema)), None);
    let statements = [
        ("delete from pk where id = 1", "alter table fk rename to other"),
        ("update pk set id = 20 where id = 2", "alter table other rename column id to ref"),
        ("delete from pk where id = 3", "create schema s; alter table other set schema s"),
    ];
    for (statement, rename) in statements {
        assert_eq!(sqlstate(&renaming.query("select pg_advisory_lock(1)")), None);
        thread::scope(|scope| {
            let paused = scope.spawn(|| sqlstate(&deleting.query(statement)));
            let waits = "select 1 from pg_locks where locktype = 'advisory' and not granted";
            while rows(&renaming.query(waits)).is_empty() {
                assert!(!paused.is_finished(), "{statement} did not wait");
                thread::sleep(Duration::from_millis(2));
            }
            assert_eq!(sqlstate(&renaming.query(rename)), None, "{rename}");
            assert_eq!(sqlstate(&renaming.query("select pg_advisory_unlock(1)")), None);
            assert_eq!(paused.join().expect("the session lives"), None, "{statement}");
        });
    }
    let left = renaming.query("select ref from s.other");
    assert_eq!(rows(&left), [[None::<String>]]);
}
