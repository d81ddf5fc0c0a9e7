//! INSERT, UPDATE, DELETE with their constraints, and their visibility to concurrent sessions.

#![allow(missing_docs)]

mod support;

use steppe_types::row::RowWriter;
use steppe_types::{Datum, oid};
use support::{World, int4};

fn accounts() -> World {
    let mut w = World::new();
    w.table(
        "t",
        &["id int4 not-null", "v int4", "s text", "u int4"],
        &[("t_pkey", true, &["id"]), ("t_u_key", true, &["u"]), ("t_v", false, &["v", "-s"])],
    );
    w
}

#[test]
fn insert_update_delete() {
    let mut w = accounts();
    assert_eq!(w.count("insert into t values (1,10,'a',1),(2,20,'b',2),(3,30,'c',null)"), 3);
    assert_eq!(
        w.count("insert into t select g, g*10, 'x', null from generate_series(4,3000) g"),
        2997
    );
    assert_eq!(w.rows("select count(*), sum(v) from t"), ["3000|45015000"]);
    assert_eq!(w.rows("select s from t where v = 20"), ["b"]);
    assert_eq!(w.count("update t set v = v + 1 where id = 2"), 1);
    assert_eq!(w.rows("select v from t where id = 2"), ["21"]);
    assert_eq!(w.rows("select id from t where v = 20"), [""; 0]);
    assert_eq!(w.rows("select id from t where v = 21"), ["2"]);
    assert_eq!(w.count("update t set s = 'y', u = id where id > 2990"), 10);
    assert_eq!(w.rows("select id from t where u = 2995"), ["2995"]);
    assert_eq!(w.count("delete from t where id between 100 and 199"), 100);
    assert_eq!(w.rows("select count(*) from t where v >= 1000 and v < 2000"), ["0"]);
    assert_eq!(w.rows("delete from t where id = 1 returning id, s, tableoid > 0"), ["1|a|t"]);
    assert_eq!(w.rows("update t set v = 0 where id = 2 returning v, id"), ["0|2"]);
    assert_eq!(w.rows("insert into t values (1,1,'again',null) returning s"), ["again"]);
    assert_eq!(w.count("update t set id = id"), 2900);
}

#[test]
fn point_updates_with_parameters() {
    let mut w = World::new();
    w.table(
        "b",
        &["bid int4 not-null", "balance int4", "filler bpchar"],
        &[("b_pkey", true, &["bid"])],
    );
    w.rows("insert into b values (1,0,''),(2,null,'x')");
    for _ in 0..5 {
        let update = "update b set balance = balance + $1 where bid = $2";
        let (_, n) = w.run(update, vec![int4(7), int4(1)]).expect("update");
        assert_eq!(n, 1);
    }
    assert_eq!(
        w.run("select balance from b where bid = $1", vec![int4(1)]).expect("select").0,
        ["35"]
    );
    // A NULL cannot be patched in place: the statement runs with plan nodes.
    assert_eq!(w.count("update b set balance = 5 where bid = 2"), 1);
    assert_eq!(w.count("update b set balance = null where bid = 1"), 1);
    assert_eq!(w.rows("select bid, balance from b order by 1"), ["1|~", "2|5"]);
    assert_eq!(w.count("update b set balance = 9 where bid = 3"), 0);
    assert_eq!(
        w.run("update b set balance = balance + $1 where bid = $2", vec![int4(i32::MAX), int4(2)])
            .expect_err("overflows")
            .message(),
        "integer out of range"
    );
    assert_eq!(w.rows("select balance from b where bid = 2"), ["5"]);
    let (rows, _) = w
        .run("select bid from b where bid = $1", vec![(oid::INT8, Datum::Int8(1 << 40))])
        .expect("out of range is no row");
    assert!(rows.is_empty());
}

#[test]
fn constraints_say_what_postgresql_says() {
    let mut w = accounts();
    w.check("t", "t_v_check", "v < 1000");
    w.rows("insert into t values (1,10,'a',1)");
    assert_eq!(
        w.error("insert into t values (1,1,'b',2)"),
        (
            "23505".into(),
            "duplicate key value violates unique constraint \"t_pkey\"".into(),
            "Key (id)=(1) already exists.".into()
        )
    );
    assert_eq!(w.error("insert into t values (2,1,'b',1)").2, "Key (u)=(1) already exists.");
    assert_eq!(
        w.error("insert into t values (null,1,'b',1)"),
        (
            "23502".into(),
            "null value in column \"id\" of relation \"t\" violates not-null constraint".into(),
            "Failing row contains (null, 1, b, 1).".into()
        )
    );
    assert_eq!(
        w.error("update t set v = 5000"),
        (
            "23514".into(),
            "new row for relation \"t\" violates check constraint \"t_v_check\"".into(),
            "Failing row contains (1, 5000, a, 1).".into()
        )
    );
    assert_eq!(w.rows("select * from t"), ["1|10|a|1"], "failed statements leave nothing");
    w.rows("insert into t values (2,10,'a',null),(3,10,'a',null)");
    assert_eq!(
        w.error("insert into t values (7,1,'',null),(8,1,'',null),(7,1,'',null)").0,
        "23505"
    );
    assert_eq!(w.rows("select count(*) from t"), ["3"]);
}

#[test]
fn on_conflict() {
    let mut w = accounts();
    w.rows("insert into t values (1,10,'a',1)");
    assert_eq!(w.count("insert into t values (1,0,'z',9),(2,0,'z',2) on conflict do nothing"), 1);
    assert_eq!(
        w.rows("insert into t values (1,5,'q',7) on conflict (id) do update set v = t.v + excluded.v returning id, v, s"),
        ["1|15|a"]
    );
    assert_eq!(
        w.count(
            "insert into t values (1,5,'q',7) on conflict (id) do update set v = 0 where t.v > 100"
        ),
        0
    );
    assert_eq!(
        w.error(
            "insert into t values (9,1,'',90),(9,2,'',91) on conflict (id) do update set v = 3"
        )
        .1,
        "ON CONFLICT DO UPDATE command cannot affect row a second time"
    );
    assert_eq!(w.error("insert into t values (50,1,'',1) on conflict (id) do nothing").0, "23505");
    assert_eq!(w.rows("select id, v, s, u from t order by 1"), ["1|15|a|1", "2|0|z|2"]);
}

#[test]
fn long_values_go_out_of_line_and_come_back() {
    let mut w = World::new();
    w.table("l", &["id int4 not-null", "a text", "b text"], &[("l_pkey", true, &["id"])]);
    let (a, b) = ("a".repeat(9000), "b".repeat(3000));
    w.rows(&format!("insert into l values (1, '{a}', '{b}'), (2, 'short', null)"));
    assert_eq!(w.rows("select a, b from l where id = 1"), [format!("{a}|{b}")]);
    w.rows("update l set b = 'now short' where id = 1");
    assert_eq!(w.rows("select a, b from l where id = 1"), [format!("{a}|now short")]);
    w.rows("update l set id = 3 where id = 1");
    assert_eq!(w.rows("select length(a), b from l where id = 3"), ["9000|now short"]);
    assert_eq!(w.count("delete from l"), 2);
}

#[test]
fn read_committed_checks_again_and_repeatable_read_fails() {
    let mut a = accounts();
    a.rows("insert into t values (1,10,'a',1),(2,20,'b',2)");
    let mut b = a.another();
    // b's statement begins before a commits, so it must wait until a's commit.
    a.begin();
    a.rows("update t set v = 11 where id = 1");
    let worker = std::thread::spawn(move || {
        let n = b.count("update t set v = v * 2 where v in (10, 20)");
        (b, n)
    });
    std::thread::sleep(std::time::Duration::from_millis(100));
    a.commit();
    let (mut b, n) = worker.join().expect("no panic");
    assert_eq!(n, 1, "row 1 does not qualify any more");
    assert_eq!(b.rows("select v from t order by id"), ["11", "40"]);

    b.isolation = steppe_txn::IsolationLevel::RepeatableRead;
    b.begin();
    assert_eq!(b.rows("select v from t where id = 1"), ["11"]);
    a.rows("update t set v = 12 where id = 1");
    assert_eq!(b.rows("select v from t where id = 1"), ["11"]);
    assert_eq!(
        b.error("update t set v = 0 where id = 1"),
        (
            "40001".into(),
            "could not serialize access due to concurrent update".into(),
            String::new()
        )
    );
    b.rollback();
}

#[test]
fn for_update_locks_the_newest_version() {
    let mut a = accounts();
    a.rows("insert into t values (1,10,'a',1),(2,20,'b',2)");
    let mut b = a.another();
    a.begin();
    assert_eq!(a.rows("select v from t where id = 1 for update"), ["10"]);
    assert_eq!(
        b.error("select v from t where id = 1 for update nowait"),
        ("55P03".into(), "could not obtain lock on row in relation \"t\"".into(), String::new())
    );
    assert_eq!(b.rows("select id from t order by id for update skip locked"), ["2"]);
    a.rows("update t set v = 99 where id = 1");
    let worker = std::thread::spawn(move || {
        b.rows("select id, v from t where v < 1000 order by id for update")
    });
    std::thread::sleep(std::time::Duration::from_millis(100));
    a.commit();
    assert_eq!(worker.join().expect("no panic"), ["1|99", "2|20"]);
}

/// A row of two fields to load.
struct Values([Datum; 2]);

impl steppe_exec::Fields for Values {
    fn write(&self, i: usize, row: &mut RowWriter<'_>) -> steppe_types::Result<()> {
        row.push(&self.0[i])
    }

    fn value(&self, i: usize) -> steppe_types::Result<Option<Datum>> {
        Ok(Some(self.0[i].clone()))
    }
}

#[test]
fn bulk_loading_fills_defaults_and_checks_constraints() {
    // Computed columns are stored from values, plain ones are encoded as they are read.
    for (expression, expected) in [("$2 + 1", "1778"), ("$2", "1777")] {
        bulk_insert_with(expression, expected);
    }
}

fn bulk_insert_with(expression: &str, expected: &str) {
    use steppe_exec::BulkInsert;
    let same = |i| Values([Datum::Int4(i), Datum::Int4(i)]);
    let mut w = accounts();
    let sql = format!("insert into t (id, v) values ($1, {expression})");
    let stmt = w.compile(&sql, &[oid::INT4, oid::INT4]).expect("compiles");
    let mut bulk = BulkInsert::new(&stmt, 2).expect("an insert of one row");
    w.begin();
    w.txn.as_mut().expect("open").txn.start_statement().expect("statement");
    let env = w.env();
    for i in 0..2500 {
        bulk.push(&same(i), &env).expect("push");
    }
    assert_eq!(bulk.pending_rows(), 2500);
    bulk.flush(&env, &mut w.txn).expect("flush");
    assert_eq!(bulk.pending_rows(), 0);
    w.commit();
    assert_eq!(w.rows("select count(*), count(s) from t"), ["2500|0"]);
    assert_eq!(w.rows("select v from t where id = 1777"), [expected]);
    w.begin();
    w.txn.as_mut().expect("open").txn.start_statement().expect("statement");
    bulk.push(&same(2500), &env).expect("push");
    bulk.push(&same(5), &env).expect("push");
    bulk.flush(&env, &mut w.txn).expect_err("duplicate");
    bulk.store_row(0, &env, &mut w.txn).expect("the first is good");
    let error = bulk.store_row(1, &env, &mut w.txn).expect_err("duplicate");
    assert_eq!(error.fields().detail.as_deref(), Some("Key (id)=(5) already exists."));
    w.rollback();
}

#[test]
fn bulk_insert_of_long_rows_and_nulls() {
    use steppe_exec::BulkInsert;
    let mut w = World::new();
    w.table("t", &["id int4 not-null", "s text"], &[("t_pkey", true, &["id"])]);
    let stmt = w
        .compile("insert into t (id, s) values ($1, $2)", &[oid::INT4, oid::TEXT])
        .expect("compiles");
    let mut bulk = BulkInsert::new(&stmt, 2).expect("an insert of one row");
    w.begin();
    w.txn.as_mut().expect("open").txn.start_statement().expect("statement");
    let env = w.env();
    // Values in the row, out of line, and beyond the reach of narrow offsets.
    for (id, length) in [(1, 100), (2, 5000), (3, 100_000)] {
        let text = "x".repeat(length);
        bulk.push(&Values([Datum::Int4(id), Datum::text(&*text)]), &env).expect("push");
    }
    let null = bulk.push(&Values([Datum::Null, Datum::Null]), &env).expect_err("not null");
    assert_eq!(null.sqlstate(), steppe_types::SqlState::NOT_NULL_VIOLATION);
    bulk.flush(&env, &mut w.txn).expect("flush");
    w.commit();
    assert_eq!(w.rows("select id, length(s) from t order by id"), ["1|100", "2|5000", "3|100000"]);
}

#[test]
fn portals_suspend_and_go_on() {
    use steppe_exec::{Execution, FetchStatus};
    use support::Rows;
    let mut w = accounts();
    w.rows("insert into t select g, g, '', null from generate_series(1,10) g");
    let stmt = w.compile("select id from t order by id", &[]).expect("compiles");
    w.begin();
    w.txn.as_mut().expect("open").txn.start_statement().expect("statement");
    let env = w.env();
    let mut portal = Execution::start(&stmt, Vec::new().into(), &env, &mut w.txn).expect("starts");
    let mut sink = Rows::of(&stmt);
    let fetch = |portal: &mut Execution, w: &mut World, sink: &mut Rows, n| {
        portal.fetch(&mut w.txn, n, sink).expect("fetch")
    };
    assert_eq!(fetch(&mut portal, &mut w, &mut sink, 4), FetchStatus::Suspended { rows: 4 });
    assert_eq!(fetch(&mut portal, &mut w, &mut sink, 6), FetchStatus::Suspended { rows: 6 });
    assert_eq!(fetch(&mut portal, &mut w, &mut sink, 5), FetchStatus::Done { rows: 10 });
    assert_eq!(sink.rows.len(), 10);
    w.commit();
}

#[test]
fn a_portal_tells_apart_what_has_changed_since_it_was_opened() {
    use steppe_exec::Execution;
    use support::Rows;
    let mut w = accounts();
    w.rows("insert into t select g, g, '', null from generate_series(1,5) g");
    let mut other = w.another();
    let stmt = w.compile("select id, v from t order by id for update", &[]).expect("compiles");
    w.begin();
    let txn = w.txn.as_mut().expect("open");
    txn.txn.start_statement().expect("statement");
    let env = w.env();
    let mut portal = Execution::start(&stmt, Vec::new().into(), &env, &mut w.txn).expect("starts");
    let txn = w.txn.as_mut().expect("open");
    txn.txn.hold_snapshot(txn.txn.snapshot());
    let mut sink = Rows::of(&stmt);
    portal.fetch(&mut w.txn, 1, &mut sink).expect("fetch");
    w.rows("update t set v = 20 where id = 2");
    w.rows("delete from t where id = 4");
    other.rows("update t set v = 30 where id = 3");
    portal.fetch(&mut w.txn, 0, &mut sink).expect("fetch");
    // The scan skips the transaction's own changes and follows those of others.
    assert_eq!(sink.rows, ["1|1", "3|30", "5|5"]);
    assert_eq!(w.rows("select id, v from t order by id"), ["1|1", "2|20", "3|30", "5|5"]);
    w.commit();
}
