//! Transactions over the coordinator and two nodes, which are databases of PostgreSQL 15: everywhere or
//! nowhere, also over crashes, and nothing is left behind.
//!
//! DDL of a distributed table changes both nodes and the coordinator's catalog in one transaction.

mod support;

use std::process::Stdio;
use std::time::{Duration, Instant};

use support::postgres::Postgres;
use support::process::{Steppe, command};
use support::{Raw, TestDir, TestServer, sqlstate};

/// Waits for what must come by itself.
fn until(what: &str, is_so: impl Fn() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(60);
    while !is_so() {
        assert!(Instant::now() < deadline, "it does not happen that {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Two nodes, each a server of its own.
struct Nodes([Postgres; 2]);

impl Nodes {
    fn start() -> Option<Nodes> {
        let start = || Postgres::start(&["max_prepared_transactions=20"]);
        Some(Nodes([start()?, start()?]))
    }

    fn introduce(&self, raw: &mut Raw) {
        for (node, name) in self.0.iter().zip(["n1", "n2"]) {
            done(raw, &node.create_node(name));
        }
    }

    /// The nodes that have a table.
    fn with(&self, table: &str) -> Vec<usize> {
        let sql = format!("SELECT to_regclass('{table}') IS NOT NULL");
        (0..2).filter(|i| self.0[*i].query(&sql) == "t").collect()
    }

    /// Whether all transactions have ended: none is prepared, has a record, or is open in a session.
    fn are_quiet(&self) -> bool {
        let sql = "SELECT (SELECT count(*) FROM pg_prepared_xacts) + \
                   (SELECT count(*) FROM steppe_cluster.commit_records) + \
                   (SELECT count(*) FROM pg_stat_activity WHERE application_name = 'steppe' \
                    AND state LIKE 'idle in%')";
        self.0.iter().all(|node| node.try_query(sql).is_some_and(|count| count == "0"))
    }
}

/// Runs a statement that must succeed.
fn done(raw: &mut Raw, sql: &str) {
    let answer = raw.query(sql);
    let error = answer.iter().find(|message| message.tag == b'E');
    let message = error.and_then(|error| error.field(b'M'));
    assert_eq!(message, None, "{sql}");
}

fn fails(raw: &mut Raw, sql: &str) -> String {
    sqlstate(&raw.query(sql)).unwrap_or_else(|| panic!("{sql} succeeds"))
}

fn create(table: &str) -> String {
    format!("CREATE TABLE {table} (k int PRIMARY KEY) DISTRIBUTE BY HASH (k)")
}

fn is_here(raw: &mut Raw, table: &str) -> bool {
    let answer = raw.query(&format!("SELECT to_regclass('{table}') IS NOT NULL"));
    support::rows(&answer)[0][0].as_deref() == Some("t")
}

/// The tables that are everywhere; the others must be nowhere.
fn check(nodes: &Nodes, raw: &mut Raw, tables: &[(&str, bool)]) {
    for (table, exists) in tables {
        let expected: &[usize] = if *exists { &[0, 1] } else { &[] };
        assert_eq!(nodes.with(table), expected, "{table}");
        assert_eq!(is_here(raw, table), *exists, "{table}");
    }
    until("nothing is left on the nodes", || nodes.are_quiet());
}

fn cluster() -> Option<(Nodes, TestServer, Raw)> {
    let nodes = Nodes::start()?;
    let server = TestServer::start();
    let mut raw = server.raw();
    nodes.introduce(&mut raw);
    Some((nodes, server, raw))
}

#[test]
fn a_transaction_ends_everywhere_in_the_same_way() {
    let Some((nodes, server, mut raw)) = cluster() else { return };
    done(&mut raw, "BEGIN");
    done(&mut raw, &create("a"));
    assert!(nodes.with("a").is_empty());
    assert!(!is_here(&mut server.raw(), "a"));
    done(&mut raw, "COMMIT AND CHAIN");
    done(&mut raw, &create("b"));
    done(&mut raw, "ROLLBACK AND CHAIN");
    done(&mut raw, &create("c"));
    done(&mut raw, "COMMIT");
    done(&mut raw, &create("d"));
    check(&nodes, &mut raw, &[("a", true), ("b", false), ("c", true), ("d", true)]);

    // What is refused, before it has changed anything.
    done(&mut raw, "BEGIN ISOLATION LEVEL SERIALIZABLE");
    assert_eq!(fails(&mut raw, &create("e")), "0A000");
    done(&mut raw, "ROLLBACK");
    done(&mut raw, "BEGIN");
    done(&mut raw, &create("e"));
    assert_eq!(fails(&mut raw, "PREPARE TRANSACTION 'x'"), "0A000");
    done(&mut raw, "BEGIN");
    done(&mut raw, "CREATE TEMP TABLE t (a int)");
    done(&mut raw, &create("e"));
    assert_eq!(fails(&mut raw, "COMMIT"), "0A000");
    check(&nodes, &mut raw, &[("e", false)]);

    // One database under two names would wait for itself.
    assert_eq!(fails(&mut raw, &nodes.0[0].create_node("n3")), "42710");

    // A procedure that commits.
    let text = "DO $$ BEGIN EXECUTE $c$SQL1$c$; COMMIT; EXECUTE $c$SQL2$c$; ROLLBACK; END $$";
    let text = text.replace("SQL1", &create("f")).replace("SQL2", &create("g"));
    done(&mut raw, &text);
    check(&nodes, &mut raw, &[("f", true), ("g", false)]);
}

#[test]
fn savepoints_reach_the_nodes() {
    let Some((nodes, _server, mut raw)) = cluster() else { return };
    let steps = |raw: &mut Raw, text: &str| {
        for step in text.split(';').map(str::trim) {
            match step.strip_prefix("+") {
                Some(table) => done(raw, &create(table)),
                None => done(raw, step),
            }
        }
    };
    steps(&mut raw, "BEGIN; +a1; SAVEPOINT s; +a2; ROLLBACK TO s; +a3; COMMIT");
    check(&nodes, &mut raw, &[("a1", true), ("a2", false), ("a3", true)]);
    // Before the first statement for a node.
    steps(&mut raw, "BEGIN; SAVEPOINT r; SAVEPOINT s; +b1; ROLLBACK TO s; +b2; COMMIT");
    check(&nodes, &mut raw, &[("b1", false), ("b2", true)]);
    steps(
        &mut raw,
        "BEGIN; SAVEPOINT r; +c1; SAVEPOINT s; +c2; RELEASE s; +c3; ROLLBACK TO r; +c4",
    );
    steps(&mut raw, "SAVEPOINT t; SAVEPOINT u; ROLLBACK TO u; +c5; RELEASE t; COMMIT");
    check(&nodes, &mut raw, &[("c1", false), ("c2", false), ("c3", false)]);
    check(&nodes, &mut raw, &[("c4", true), ("c5", true)]);

    // An error, of the node or here, and what was before it.
    nodes.0[1].query("CREATE TABLE clash (k int)");
    steps(&mut raw, "BEGIN; +d1; SAVEPOINT s; +d2");
    let answer = raw.query(&create("clash"));
    let error = answer.iter().find(|message| message.tag == b'E').expect("an error");
    assert_eq!(error.field(b'C').as_deref(), Some("42P07"));
    assert!(error.field(b'W').is_some_and(|context| context.contains("remote node \"n2\"")));
    steps(&mut raw, "ROLLBACK TO s; +d3; COMMIT");
    check(&nodes, &mut raw, &[("d1", true), ("d2", false), ("d3", true)]);
    assert_eq!(nodes.with("clash"), [1]);

    // Blocks with handlers, as many as a loop runs.
    let text = "DO $$ BEGIN EXECUTE 'SQL e0'; FOR i IN 1..40 LOOP BEGIN EXECUTE 'SQL e' || i; \
                IF i % 2 = 0 THEN RAISE 'no'; END IF; EXCEPTION WHEN raise_exception THEN NULL; END; \
                END LOOP; END $$";
    let sql = |text: &str| text.replace("' || i", "' || i || ' (k int) DISTRIBUTE BY HASH (k)'");
    let text = sql(text).replace("SQL e0", &create("e0")).replace("SQL", "CREATE TABLE");
    done(&mut raw, &text);
    check(&nodes, &mut raw, &[("e0", true), ("e1", true), ("e2", false), ("e39", true)]);
    check(&nodes, &mut raw, &[("e40", false)]);
}

#[test]
fn an_end_of_a_client_or_a_statement_leaves_nothing() {
    let Some((nodes, server, mut raw)) = cluster() else { return };
    let mut leaves = server.raw();
    done(&mut leaves, "BEGIN");
    done(&mut leaves, &create("a"));
    drop(leaves);
    until("the nodes have rolled back", || nodes.are_quiet());
    done(&mut raw, &create("b"));
    check(&nodes, &mut raw, &[("a", false), ("b", true)]);

    // A statement that waits on a node, and its time-out.
    let (session, mut other) = (&nodes.0[0], server.raw());
    let holder = session.hold("BEGIN; LOCK TABLE b");
    done(&mut raw, "SET statement_timeout = 300");
    let begun = Instant::now();
    assert_eq!(fails(&mut raw, "DROP TABLE b"), "57014");
    assert!(begun.elapsed() < Duration::from_secs(3), "{:?}", begun.elapsed());
    done(&mut raw, "RESET statement_timeout");
    drop(holder);
    check(&nodes, &mut raw, &[("b", true)]);

    // A session that is idle in a transaction for too long.
    done(&mut other, "SET idle_in_transaction_session_timeout = 200");
    done(&mut other, "BEGIN");
    done(&mut other, &create("c"));
    until("the nodes have rolled back", || nodes.are_quiet());
    check(&nodes, &mut raw, &[("c", false)]);
}

#[test]
fn a_node_that_ends_undoes_all() {
    let Some((mut nodes, server, mut raw)) = cluster() else { return };
    done(&mut raw, "BEGIN");
    done(&mut raw, &create("a"));
    nodes.0[1].kill();
    let state = fails(&mut raw, "COMMIT");
    assert!(matches!(state.as_str(), "08006" | "57P01" | "57P02"), "{state}");
    nodes.0[1].start_again();
    until("it can be used again", || uses_both(&server));
    check(&nodes, &mut raw, &[("a", false), ("probe", true)]);

    // Within a block with a handler: the transaction can only be rolled back.
    done(&mut raw, "BEGIN");
    done(&mut raw, &create("b"));
    done(&mut raw, "SAVEPOINT s");
    nodes.0[0].kill();
    fails(&mut raw, &create("c"));
    done(&mut raw, "ROLLBACK TO s");
    fails(&mut raw, "COMMIT");
    nodes.0[0].start_again();
    until("it can be used again", || uses_both(&server));
    check(&nodes, &mut raw, &[("b", false), ("c", false)]);
}

/// Runs a statement that needs both nodes. Whether it succeeds.
fn uses_both(server: &TestServer) -> bool {
    let mut raw = server.raw();
    raw.query("DROP TABLE IF EXISTS probe");
    sqlstate(&raw.query(&create("probe"))).is_none()
}

#[test]
fn a_node_that_cannot_prepare_refuses() {
    let (Some(one), Some(two)) = (Postgres::start(&[]), Postgres::start(&[])) else { return };
    let nodes = Nodes([one, two]);
    let server = TestServer::start();
    let mut raw = server.raw();
    nodes.introduce(&mut raw);
    let answer = raw.query(&create("a"));
    let error = answer.iter().find(|message| message.tag == b'E').expect("an error");
    assert_eq!(error.field(b'C').as_deref(), Some("55000"));
    assert!(error.field(b'H').is_some_and(|hint| hint.contains("max_prepared_transactions")));
    check(&nodes, &mut raw, &[("a", false)]);
}

/// The coordinator is killed at a point of a commit. Afterwards all is there, or nothing.
#[test]
fn a_coordinator_that_is_killed_leaves_whole_transactions() {
    let Some(nodes) = Nodes::start() else { return };
    let dir = TestDir::new();
    let first = Steppe::start(&dir);
    nodes.introduce(&mut first.connect());
    drop(first);
    let points = [
        ("BeforeSend:Prepare", Some(false)),
        ("AfterSend:Prepare", Some(false)),
        ("BeforeRead:Prepare", Some(false)),
        ("BeforeSend:Decide", Some(false)),
        ("AfterSend:Decide", None),
        ("BeforeRead:Decide", Some(true)),
        ("BeforeSend:Finish", Some(true)),
        ("AfterSend:Finish", Some(true)),
        ("BeforeRead:Finish", Some(true)),
    ];
    for (i, (point, commits)) in points.into_iter().enumerate() {
        let table = format!("t{i}");
        killed_at(&dir, point, &table);
        let again = Steppe::start(&dir);
        let mut raw = again.connect();
        until("nothing is left on the nodes", || nodes.are_quiet());
        let found = nodes.with(&table);
        until("the local part has ended", || {
            support::rows(&again.connect().query("SELECT gid FROM pg_prepared_xacts")).is_empty()
        });
        assert!(found.is_empty() || found == [0, 1], "{point}: {found:?}");
        assert_eq!(is_here(&mut raw, &table), !found.is_empty(), "{point}");
        if let Some(commits) = commits {
            assert_eq!(!found.is_empty(), commits, "{point}");
        }
        done(&mut raw, &create(&format!("after{i}")));
        // The next server is to be killed in its own commit, not in the recovery of this one's.
        until("its record is deleted", || nodes.are_quiet());
    }
}

/// Starts the coordinator, which is killed at a point of the commit of a new table.
fn killed_at(dir: &TestDir, point: &str, table: &str) {
    let mut command = command(dir);
    command.env("STEPPE_KILL_AT", point).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut doomed = Steppe::ready(command.spawn().expect("the server is run"));
    let mut raw = doomed.connect();
    raw.send(&support::query(&create(table)));
    let ended = doomed.child.wait().expect("it ends");
    assert!(!ended.success(), "{point}");
}

/// The view shows a transaction in doubt while a node is down. It ends when the node is back.
#[test]
fn a_transaction_in_doubt_is_shown() {
    let Some(mut nodes) = Nodes::start() else { return };
    let dir = TestDir::new();
    let first = Steppe::start(&dir);
    nodes.introduce(&mut first.connect());
    drop(first);
    let prepared = "SELECT count(*) FROM pg_prepared_xacts";
    for (point, table, state) in
        [("BeforeSend:Decide", "a", "undecided"), ("BeforeSend:Finish", "b", "committing")]
    {
        killed_at(&dir, point, table);
        let participant = (0..2).find(|i| nodes.0[*i].query(prepared) == "1").expect("prepared");
        let down = if state == "undecided" { 1 - participant } else { participant };
        nodes.0[down].kill();
        let again = Steppe::start(&dir);
        let view = format!(
            "SELECT node_name, detail IS NOT NULL, since < now() FROM pgxc_prepared_xacts \
             WHERE state = '{state}' AND node_name IS NOT NULL"
        );
        until("it is shown", || {
            let rows = support::rows(&again.connect().query(&view));
            let name = Some(format!("n{}", participant + 1));
            rows.len() == 1 && rows[0][0] == name && rows[0][1].as_deref() == Some("t")
        });
        nodes.0[down].start_again();
        let shown = "SELECT gid FROM pgxc_prepared_xacts";
        let mut raw = again.connect();
        until("it ends", || support::rows(&again.connect().query(shown)).is_empty());
        check(&nodes, &mut raw, &[(table, state == "committing")]);
    }
}
