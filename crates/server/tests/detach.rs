//! DETACH PARTITION … CONCURRENTLY beside sessions that use the partitioned table.

mod support;

use std::time::{Duration, Instant};

use support::{Raw, TestServer, bind, execute, parse, query, rows, sqlstate, sync};

const DETACH: &str = "alter table p detach partition p1 concurrently";

fn ask(raw: &mut Raw, sql: &str) -> Vec<String> {
    let rows = rows(&raw.query(sql));
    rows.into_iter().map(|row| row.into_iter().flatten().collect::<Vec<_>>().join("|")).collect()
}

/// A reader of a table with two partitions, and a session that detaches one and waits for the
/// reader.
struct Scene {
    reader: Raw,
    detacher: Raw,
    other: Raw,
    pid: String,
    _server: TestServer,
}

impl Scene {
    fn new() -> Scene {
        Scene::reading_in("begin")
    }

    fn reading_in(begin: &str) -> Scene {
        let server = TestServer::start();
        let (mut reader, mut detacher, mut other) = (server.raw(), server.raw(), server.raw());
        other.query(
            "create table p (a int primary key) partition by range (a); \
             create table p1 partition of p for values from (0) to (10); \
             create table p2 partition of p for values from (10) to (20); \
             insert into p values (1), (11)",
        );
        let pid = ask(&mut detacher, "select pg_backend_pid()").remove(0);
        assert_eq!(ask(&mut reader, &format!("{begin}; select count(*) from p")), ["2"]);
        detacher.send(&query(DETACH));
        let mut scene = Scene { reader, detacher, other, pid, _server: server };
        scene.wait_for_the_wait();
        scene
    }

    fn wait_for_the_wait(&mut self) {
        let patience = Instant::now() + Duration::from_secs(10);
        let event = format!(
            "select wait_event_type, wait_event from pg_stat_activity where pid = {}",
            self.pid
        );
        while ask(&mut self.other, &event) != ["Lock|virtualxid"] {
            assert!(Instant::now() < patience, "it does not wait");
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    fn pending(&mut self) -> Vec<String> {
        let sql = "select inhdetachpending from pg_inherits where inhrelid = 'p1'::regclass";
        ask(&mut self.other, sql)
    }
}

#[test]
fn nobody_waits_for_a_concurrent_detach() {
    let mut scene = Scene::new();
    // A reader that starts now does not see the partition, and does not wait.
    assert_eq!(scene.pending(), ["t"]);
    assert_eq!(ask(&mut scene.other, "select a from p"), ["11"]);
    assert_eq!(ask(&mut scene.other, "update p set a = 12 returning a"), ["12"]);
    let refused = scene.other.query("insert into p values (1)");
    assert_eq!(sqlstate(&refused).as_deref(), Some("23514"));
    assert!(sqlstate(&scene.other.query("insert into p1 values (2)")).is_none());
    let refused = scene.other.query("insert into p1 values (12)");
    assert_eq!(sqlstate(&refused).as_deref(), Some("23514"));
    scene.reader.query("commit");
    assert!(sqlstate(&scene.detacher.until_ready()).is_none());
    assert!(scene.pending().is_empty());
    assert_eq!(ask(&mut scene.other, "select count(*) from p1"), ["2"]);
    // The same through the extended protocol, without a concurrent reader.
    let sql = "alter table p detach partition p2 concurrently";
    let messages = [parse("", sql), bind("", "", &[]), execute("", 0), sync()].concat();
    assert_eq!(scene.other.tags(&messages), "12CZ");
    assert_eq!(ask(&mut scene.other, "select count(*) from p"), ["0"]);
}

#[test]
fn a_detach_that_was_interrupted_is_finalized() {
    let mut scene = Scene::new();
    let cancel = format!("select pg_cancel_backend({})", scene.pid);
    assert_eq!(ask(&mut scene.other, &cancel), ["t"]);
    assert_eq!(sqlstate(&scene.detacher.until_ready()).as_deref(), Some("57014"));
    assert_eq!(scene.pending(), ["t"]);
    let refused = scene.other.query(DETACH);
    assert_eq!(sqlstate(&refused).as_deref(), Some("55000"));
    scene.reader.query("rollback");
    let refused = scene.other.query("alter table p detach partition p1");
    assert_eq!(sqlstate(&refused).as_deref(), Some("55000"));
    // Its bound is not free yet.
    let overlaps = "create table p3 partition of p for values from (5) to (7)";
    assert_eq!(sqlstate(&scene.other.query(overlaps)).as_deref(), Some("42P17"));
    let refused = scene.other.query("alter table p detach partition p2 concurrently");
    assert_eq!(sqlstate(&refused).as_deref(), Some("55000"));
    assert!(sqlstate(&scene.other.query("alter table p detach partition p1 finalize")).is_none());
    assert!(scene.pending().is_empty());
    assert_eq!(ask(&mut scene.other, "select count(*) from p1"), ["1"]);
}

#[test]
fn an_older_snapshot_has_the_partition_still() {
    let mut scene = Scene::reading_in("begin isolation level repeatable read");
    assert_eq!(ask(&mut scene.other, "select count(*) from p"), ["1"]);
    assert_eq!(ask(&mut scene.reader, "select a from p order by a"), ["1", "11"]);
    assert_eq!(ask(&mut scene.reader, "select a from p where a = 1"), ["1"]);
    assert!(sqlstate(&scene.reader.query("insert into p values (2)")).is_none());
    assert_eq!(ask(&mut scene.reader, "update p set a = 3 where a = 2 returning a"), ["3"]);
    assert_eq!(ask(&mut scene.reader, "delete from p where a = 1 returning a"), ["1"]);
    // A session with a younger snapshot does not see it at any isolation level.
    scene.other.query("begin isolation level repeatable read");
    assert_eq!(ask(&mut scene.other, "select a from p"), ["11"]);
    scene.other.query("commit");
    scene.reader.query("commit");
    assert!(sqlstate(&scene.detacher.until_ready()).is_none());
    assert_eq!(ask(&mut scene.other, "select a from p1"), ["3"]);
}
