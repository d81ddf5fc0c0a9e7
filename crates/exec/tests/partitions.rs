//! Partitioned tables whose leaves have another layout than their parent, or lack its index.

#![allow(missing_docs)]

mod support;

use std::sync::Arc;
use steppe_catalog::Catalog;
use steppe_exec::prepare::{Snapshot, run_in_place};
use steppe_functions::{Host, SessionHost};
use steppe_txn::{DatabaseId, RelationLockMode, Txn};
use steppe_types::{Datum, oid};
use support::partitions::{partitioned, relation};
use support::{Rows, World};

#[test]
fn leaves_may_be_laid_out_otherwise() {
    let mut w = partitioned();
    assert_eq!(
        w.count("insert into p select g, g * 2, 's' || g from generate_series(0, 199) g"),
        200
    );
    assert_eq!(w.rows("select count(*), sum(v) from p1"), ["100|9900"]);
    assert_eq!(w.rows("select s, v, id from p2 where id = 150"), ["s150|300|150"]);
    assert_eq!(w.rows("select * from p where id = 150"), ["150|300|s150"]);
    assert_eq!(w.rows("select s from p where v = 300"), ["s150"]);
    assert_eq!(w.rows("select s, id from p where v = 20"), ["s10|10"]);
    assert_eq!(w.rows("update p set v = v + id where id = 150 returning *"), ["150|450|s150"]);
    assert_eq!(
        w.rows("update p set id = 50 + 150, s = 'far' where id = 1000 returning *"),
        [""; 0]
    );
    assert_eq!(w.rows("delete from p where v = 450 returning s, id"), ["s150|150"]);
    assert_eq!(w.rows("select id from p where id = 150"), [""; 0]);
    // From one layout to the other and back.
    assert_eq!(w.rows("delete from p where id = 10 returning v"), ["20"]);
    assert_eq!(w.rows("update p set id = 10 where id = 160 returning *"), ["10|320|s160"]);
    assert_eq!(
        w.rows("select tableoid = (select max(tableoid) from p1), v from p where id = 10"),
        ["t|320"]
    );
    assert_eq!(w.rows("update p set id = 160, v = 1 where id = 10 returning *"), ["160|1|s160"]);
    assert_eq!(w.rows("select s, v from p2 where id = 160"), ["s160|1"]);
    assert_eq!(w.rows("select id from p where v = 320"), [""; 0]);
    assert_eq!(w.rows("select count(*) from p"), ["198"]);
}

#[test]
fn conflicts_and_locks_are_the_leafs() {
    let mut w = partitioned();
    w.count("insert into p values (1, 1, 'a'), (101, 1, 'b')");
    let on_conflict = "insert into p values (101, 7, 'c') on conflict (id)";
    assert_eq!(w.count(&format!("{on_conflict} do nothing")), 0);
    let update = "do update set s = p.s || excluded.s, v = excluded.v where p.v = 1";
    assert_eq!(w.rows(&format!("{on_conflict} {update} returning *")), ["101|7|bc"]);
    assert_eq!(w.rows(&format!("{on_conflict} {update} returning *")), [""; 0]);
    let (state, message, _) = w.error(&format!("{on_conflict} do update set id = 5"));
    assert_eq!((&*state, &*message), ("0A000", "invalid ON UPDATE specification"));
    assert_eq!(
        w.rows("select s, id from p where v < 10 order by id for update"),
        ["a|1", "bc|101"]
    );
    let (state, message, _) = w.error("insert into p values (101, 1, 'x')");
    assert_eq!(state, "23505");
    assert_eq!(message, "duplicate key value violates unique constraint \"p2_pkey\"");
}

#[test]
fn errors_show_the_row_as_it_was_written() {
    let mut w = partitioned();
    w.check("p2", "small", "v < 1000");
    let (state, message, detail) = w.error("insert into p values (120, 2000, 'big')");
    assert_eq!(state, "23514");
    assert_eq!(message, "new row for relation \"p2\" violates check constraint \"small\"");
    assert_eq!(detail, "Failing row contains (120, 2000, big).");
    let (state, message, detail) = w.error("insert into p values (200, 1, 'x')");
    assert_eq!(state, "23514");
    assert_eq!(message, "no partition of relation \"p\" found for row");
    assert_eq!(detail, "Partition key of the failing row contains (id) = (200).");
    let (_, message, detail) = w.error("insert into p2 (id, v, s) values (7, 1, 'x')");
    assert_eq!(message, "new row for relation \"p2\" violates partition constraint");
    assert_eq!(detail, "Failing row contains (x, 1, 7).");
    w.count("insert into p values (120, 2, 'ok')");
    let (_, message, _) = w.error("update p2 set id = 3");
    assert_eq!(message, "new row for relation \"p2\" violates partition constraint");
    // The error of rows before the failing one is raised first.
    let (_, message, _) = w.error("insert into p values (120, 1, ''), (900, 1, '')");
    assert_eq!(message, "duplicate key value violates unique constraint \"p2_pkey\"");
}

#[test]
fn a_leaf_without_the_index_is_read_whole() {
    let w = partitioned();
    assert_eq!(
        w.explain("select s from p where v = 20 and s <> 'x'"),
        [
            "Append",
            "  ->  Bitmap Heap Scan on p1 p_1",
            "        Recheck Cond: (v = 20)",
            "        Filter: (s <> 'x'::text)",
            "        ->  Bitmap Index Scan on p1_v",
            "              Index Cond: (v = 20)",
            "  ->  Seq Scan on p2 p_2",
            "        Filter: ((v = 20) AND (s <> 'x'::text))",
        ]
    );
    assert_eq!(
        w.explain("select * from p where id = 150"),
        ["Index Scan using p2_pkey on p2 p", "  Index Cond: (id = 150)"]
    );
}

#[test]
fn the_plan_names_no_leaf() {
    let mut w = partitioned();
    let stmt = w.compile("select id from p where v = $1", &[oid::INT4]).expect("compiles");
    let plan = format!("{:?}", stmt.planned().plan);
    assert!(!plan.contains("\"p1\"") && !plan.contains("\"p2\""), "{plan}");
    // A scan reads the leaves again for each outer row.
    w.count("insert into p values (1, 1, 'a'), (101, 2, 'b'), (102, 1, 'c')");
    let rows =
        w.rows("select x, (select count(*) from p where v = x) from generate_series(0, 2) x");
    assert_eq!(rows, ["0|0", "1|2", "2|1"]);
    let catalog = Arc::new(w.catalog.clone());
    assert_eq!(catalog.children(relation(&w, "p").oid).count(), 2);
}

/// Runs a statement in place in the open transaction.
fn run_in_open(w: &mut World, text: &str, params: &[i32]) -> (Vec<String>, u64) {
    let types = vec![oid::INT4; params.len()];
    let plan = w.prepare(text, &types).expect("statement is prepared");
    let params: Arc<[Datum]> = params.iter().map(|v| Datum::Int4(*v)).collect();
    let (env, mut sink) = (w.env(), Rows::of(&plan.compiled));
    let done = run_in_place(
        &plan.compiled,
        &params,
        (&env, &w.engine),
        &mut w.txn,
        (0, Snapshot::New),
        &mut sink,
    );
    let rows = done.expect("statement runs").expect("the catalog stays");
    (sink.rows, rows)
}

/// Runs a statement in place in a transaction of its own.
fn run_alone(w: &mut World, text: &str, params: &[i32]) -> (Vec<String>, u64) {
    w.begin();
    let done = run_in_open(w, text, params);
    w.commit();
    done
}

#[test]
fn a_statement_in_place_locks_the_one_leaf_it_is_about() {
    let mut w = partitioned();
    for id in [1, 2, 101, 102] {
        let (_, rows) = run_alone(&mut w, "insert into p values ($1, $1 * 10, 'x')", &[id]);
        assert_eq!(rows, 1);
    }
    let is_free = |w: &World, table: &str| {
        let txn = Txn::begin(&w.engine.new_session(DatabaseId::POSTGRES), w.isolation, false);
        let wait = txn.lock_relation(relation(w, table).oid, RelationLockMode::AccessExclusive);
        let is_free = wait.expect("a lock or a wait").is_none();
        txn.rollback().expect("rollback");
        is_free
    };
    w.begin();
    let update = "update p set v = v + 1 where id = $1 returning id, v, s";
    assert_eq!(run_in_open(&mut w, update, &[101]), (vec!["101|1011|x".to_owned()], 1));
    assert_eq!((is_free(&w, "p1"), is_free(&w, "p2")), (true, false));
    // Each statement sees what those before it did.
    assert_eq!(run_in_open(&mut w, "select v from p where id = $1", &[101]).0, ["1011"]);
    let (rows, _) = run_in_open(&mut w, "select sum(v) from p where id > $1", &[1]);
    assert_eq!(rows, ["2051"]);
    w.rollback();
    assert_eq!(run_alone(&mut w, "delete from p where id = $1", &[2]), (Vec::new(), 1));
    assert_eq!(run_alone(&mut w, "delete from p where id = $1", &[1000]), (Vec::new(), 0));
    assert_eq!(w.sorted("select id, v from p"), ["101|1010", "102|1020", "1|10"]);
}

#[test]
fn a_statement_in_place_waits_for_its_row() {
    let mut w = partitioned();
    run_alone(&mut w, "insert into p values (1, $1, 'x')", &[10]);
    let update = "update p set v = v + $1 where id = 1";
    w.begin();
    assert_eq!(run_in_open(&mut w, update, &[1]).1, 1);
    let mut other = w.another();
    let waiting = std::thread::spawn(move || run_alone(&mut other, update, &[100]).1);
    std::thread::sleep(std::time::Duration::from_millis(50));
    assert!(!waiting.is_finished(), "the row is another transaction's");
    w.commit();
    assert_eq!(waiting.join().expect("the wait ends"), 1);
    assert_eq!(w.rows("select v from p where id = 1"), ["111"]);
}

/// A session whose catalog others have changed since it planned.
struct Overtaken(Arc<Catalog>);

impl Host for Overtaken {}

impl SessionHost for Overtaken {
    fn newer_catalog(&self, _: &Arc<Catalog>) -> Option<Arc<Catalog>> {
        Some(Arc::clone(&self.0))
    }
}

#[test]
fn a_statement_in_place_does_nothing_by_a_plan_of_before() {
    let mut w = partitioned();
    run_alone(&mut w, "insert into p values (1, $1, 'x')", &[10]);
    let params: Arc<[Datum]> = Arc::new([Datum::Int4(1)]);
    for text in ["delete from p where id = $1 returning v", "select v from p where id >= $1"] {
        let plan = w.prepare(text, &[oid::INT4]).expect("statement is prepared");
        let mut env = w.env();
        env.session = Arc::new(Overtaken(Arc::clone(&env.catalog)));
        let mut sink = Rows::of(&plan.compiled);
        w.begin();
        let done = run_in_place(
            &plan.compiled,
            &params,
            (&env, &w.engine),
            &mut w.txn,
            (0, Snapshot::New),
            &mut sink,
        );
        assert_eq!(done.expect("no error"), None, "{text}");
        assert!(sink.rows.is_empty());
        w.commit();
    }
    assert_eq!(w.rows("select id, v from p"), ["1|10"]);
}
