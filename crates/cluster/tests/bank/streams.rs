//! Statements whose rows are streamed, several at a time.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use steppe_cluster::NodeId;
use steppe_cluster::commit::Outcome;
use steppe_cluster::transaction::{CursorId, Effect, Fetched, Participants, RemoteStatement};
use steppe_types::interrupt::{self, Interrupts};
use steppe_types::{Error, Result, SqlState};

use crate::clients::{READ_COMMITTED, added_up, transaction};
use crate::life::Coordinators;
use crate::postgres::Postgres;

fn reading(text: &str) -> RemoteStatement<'_> {
    RemoteStatement { text, types: &[], result_formats: &[], effect: Effect::Read }
}

fn changing(text: &str) -> RemoteStatement<'_> {
    RemoteStatement { effect: Effect::Rows, ..reading(text) }
}

fn one(
    transaction: &mut Participants,
    statement: &RemoteStatement<'_>,
    node: NodeId,
    batch: u32,
) -> CursorId {
    transaction.open(statement, &[(node, Vec::new())], batch, None).expect("it is sent")[0]
}

fn all(transaction: &mut Participants, cursor: CursorId) -> Result<Vec<u8>> {
    let mut rows = Vec::new();
    while transaction.fetch(cursor, &mut rows)? == Fetched::More {}
    transaction.close(cursor);
    Ok(rows)
}

fn run(transaction: &mut Participants, text: &str, node: NodeId) -> Result<()> {
    let cursor = one(transaction, &changing(text), node, 0);
    all(transaction, cursor).map(drop)
}

#[test]
fn statements_share_a_connection() {
    let Some(servers) = Postgres::start(1) else { return };
    let coordinators = Coordinators::new(&servers, 1, 0);
    let life = coordinators.life();
    let node = life.nodes[0];
    let mut transaction = transaction(&life, READ_COMMITTED);

    // In turn, in batches of different sizes.
    let series = reading("SELECT i FROM generate_series(1, 1000) AS i");
    let cursors = [7, 10, 0].map(|batch| one(&mut transaction, &series, node, batch));
    let mut rows = [Vec::new(), Vec::new(), Vec::new()];
    let mut open = 3;
    while open > 0 {
        open = 0;
        for (cursor, rows) in cursors.iter().zip(&mut rows) {
            let fetched = transaction.fetch(*cursor, rows).expect("rows");
            open += usize::from(fetched == Fetched::More);
        }
    }
    assert!(rows.iter().all(|rows| added_up(rows) == 500_500));

    // Rows that are large come in parts, and wait while another statement runs.
    let large = reading("SELECT repeat('x', 10000) FROM generate_series(1, 1000)");
    let cursor = one(&mut transaction, &large, node, 0);
    let mut rows = Vec::new();
    assert_eq!(transaction.fetch(cursor, &mut rows).expect("rows"), Fetched::More);
    assert!(rows.len() < 1 << 20, "{} bytes at once", rows.len());
    let other = one(&mut transaction, &series, node, 100);
    assert_eq!(added_up(&all(&mut transaction, other).expect("rows")), 500_500);
    rows.extend(all(&mut transaction, cursor).expect("rows"));
    assert_eq!(rows.len(), 1000 * (10_000 + 1 + 4 + 2 + 4));

    // One that is closed early is in no one's way.
    let cursor = one(&mut transaction, &large, node, 50);
    transaction.fetch(cursor, &mut rows).expect("rows");
    transaction.close(cursor);
    let other = one(&mut transaction, &series, node, 0);
    transaction.close(other);
    assert!(matches!(transaction.commit_in_place(None), Outcome::Committed));
}

#[test]
fn a_rollback_to_a_savepoint_ends_what_was_opened_in_it() {
    let Some(servers) = Postgres::start(1) else { return };
    servers[0].query("CREATE TABLE t (i int PRIMARY KEY)");
    let coordinators = Coordinators::new(&servers, 1, 0);
    let life = coordinators.life();
    let node = life.nodes[0];
    let mut transaction = transaction(&life, READ_COMMITTED);
    run(&mut transaction, "INSERT INTO public.t VALUES (1)", node).expect("a row");
    let series = reading("SELECT i FROM generate_series(1, 1000) AS i");
    let before = one(&mut transaction, &series, node, 10);

    let mark = transaction.mark();
    run(&mut transaction, "INSERT INTO public.t VALUES (2)", node).expect("a row");
    let inside = one(&mut transaction, &series, node, 10);
    let error =
        run(&mut transaction, "INSERT INTO public.t VALUES (1)", node).expect_err("a duplicate");
    assert_eq!(error.sqlstate(), SqlState::UNIQUE_VIOLATION);
    assert!(error.fields().context.as_deref().is_some_and(|text| text.contains("dn1")));
    transaction.rollback_to(mark);
    let ended = transaction.fetch(inside, &mut Vec::new()).expect_err("it is not open");
    assert_eq!(ended.sqlstate(), SqlState::INVALID_CURSOR_NAME);

    assert_eq!(added_up(&all(&mut transaction, before).expect("rows")), 500_500);
    run(&mut transaction, "INSERT INTO public.t VALUES (3)", node).expect("a row");
    transaction.release(mark);
    assert!(matches!(transaction.commit_in_place(None), Outcome::Committed));
    assert_eq!(servers[0].value("SELECT string_agg(i::text, ' ' ORDER BY i) FROM t"), "1 3");
}

/// A statement waits inside of the gate for a row that a commit has locked which waits at the gate.
#[test]
fn a_statement_that_waits_for_a_lock_leaves_the_gate() {
    let Some(servers) = Postgres::start(2) else { return };
    for server in &servers {
        server.query("CREATE TABLE t (i int); INSERT INTO t VALUES (0)");
    }
    let coordinators = Coordinators::new(&servers, 1, 0);
    let life = coordinators.life();
    let update = changing("UPDATE public.t SET i = i + 1");
    let both: Vec<_> = life.nodes.iter().map(|node| (*node, Vec::new())).collect();
    let change = |transaction: &mut Participants| {
        let deadline = Instant::now() + Duration::from_secs(20);
        let cursors = transaction.open(&update, &both, 0, Some(deadline)).expect("it is sent");
        cursors.into_iter().for_each(|cursor| drop(all(transaction, cursor).expect("a row")));
    };
    let mut first = transaction(&life, READ_COMMITTED);
    change(&mut first);
    thread::scope(|scope| {
        let second = scope.spawn(|| {
            let mut second = transaction(&life, READ_COMMITTED);
            change(&mut second);
            second.commit_in_place(None)
        });
        let waiting = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'";
        let all_wait = || servers.iter().all(|server| server.value(waiting) == "1");
        assert!(crate::life::holds_within(Duration::from_secs(20), all_wait));
        let outcome = first.commit_in_place(None);
        assert!(matches!(outcome, Outcome::Committed), "{outcome:?}");
        let outcome = second.join().expect("it ends");
        assert!(matches!(outcome, Outcome::Committed), "{outcome:?}");
    });
    assert!(servers.iter().all(|server| server.value("SELECT i FROM t") == "2"));
}

/// A cancel that is noticed at the next look.
struct Cancel(AtomicBool);

impl Interrupts for Cancel {
    fn check(&self) -> Result<()> {
        match self.0.swap(false, Ordering::SeqCst) {
            true => Err(Error::new(SqlState::QUERY_CANCELED, "canceling statement")),
            false => Ok(()),
        }
    }

    fn reserve(&self, _: usize) -> Result<()> {
        Ok(())
    }
}

#[test]
fn a_cancel_reaches_the_node() {
    let Some(servers) = Postgres::start(1) else { return };
    let coordinators = Coordinators::new(&servers, 1, 0);
    let life = coordinators.life();
    let mut transaction = transaction(&life, READ_COMMITTED);
    let mark = transaction.mark();
    let cursor = one(&mut transaction, &reading("SELECT pg_sleep(60)"), life.nodes[0], 0);
    let cancel = Arc::new(Cancel(AtomicBool::new(true)));
    let mut interrupts: Option<Arc<dyn Interrupts>> = Some(cancel);
    let began = Instant::now();
    let fetched = interrupt::during(&mut interrupts, || transaction.fetch(cursor, &mut Vec::new()));
    assert_eq!(fetched.expect_err("a cancel").sqlstate(), SqlState::QUERY_CANCELED);
    assert!(began.elapsed() < Duration::from_secs(30));
    // The transaction goes on from the savepoint, in the same session.
    transaction.rollback_to(mark);
    let series = reading("SELECT i FROM generate_series(1, 10) AS i");
    let cursor = one(&mut transaction, &series, life.nodes[0], 0);
    assert_eq!(added_up(&all(&mut transaction, cursor).expect("rows")), 55);
    assert!(matches!(transaction.commit_in_place(None), Outcome::Committed));
}
