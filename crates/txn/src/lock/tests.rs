//! The lock table against its specification.

use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use super::manager::Acquire;
use super::*;
use crate::files::DatabaseId;
use crate::session::{Interrupt, SessionRegistry, SessionShared};

struct Bench {
    manager: Arc<LockManager>,
    sessions: Vec<Arc<SessionShared>>,
}

fn bench(sessions: usize) -> Bench {
    let registry = Arc::new(SessionRegistry::new(1));
    let manager = LockManager::new(LockOptions::default(), Arc::clone(&registry));
    Bench { manager, sessions: (0..sessions).map(|_| registry.add(DatabaseId::POSTGRES)).collect() }
}

const ALL: [RelationLockMode; 8] = [
    RelationLockMode::AccessShare,
    RelationLockMode::RowShare,
    RelationLockMode::RowExclusive,
    RelationLockMode::ShareUpdateExclusive,
    RelationLockMode::Share,
    RelationLockMode::ShareRowExclusive,
    RelationLockMode::Exclusive,
    RelationLockMode::AccessExclusive,
];

impl Bench {
    fn relation(&self, who: usize, oid: u32, mode: RelationLockMode) -> Option<LockWait> {
        match self.manager.lock_relation(&self.sessions[who], oid, mode, true).expect("no bound") {
            Acquire::Wait(wait) => Some(wait),
            _ => None,
        }
    }

    fn try_relation(&self, who: usize, oid: u32, mode: RelationLockMode) -> bool {
        let acquired = self.manager.lock_relation(&self.sessions[who], oid, mode, false);
        matches!(acquired.expect("no bound"), Acquire::Granted)
    }

    fn row(&self, who: usize, row: u64, mode: RowLockMode) -> Option<LockWait> {
        let tag = LockTag::Row(9, row);
        let acquired =
            self.manager.lock_row_slow(&self.sessions[who], tag, mode, None, true, || true);
        match acquired.expect("no bound") {
            Acquire::Wait(wait) => Some(wait),
            _ => None,
        }
    }

    /// As a row is locked or written when nobody may wait.
    fn try_row(&self, who: usize, row: u64, mode: RowLockMode) -> bool {
        let tag = LockTag::Row(9, row);
        match self.manager.share_row(&self.sessions[who], tag, mode) {
            Sharing::Noted | Sharing::Had => true,
            Sharing::InTable => {
                self.manager.try_lock_row(&self.sessions[who], tag, mode).expect("no bound")
            }
        }
    }

    fn may_write(&self, who: usize, row: u64, mode: RowLockMode) -> bool {
        self.manager.row_claim(self.sessions[who].pid(), LockTag::Row(9, row), mode).is_free
    }

    fn end(&self, who: usize) {
        self.manager.release_to(&self.sessions[who], LockPosition(0));
    }
}

/// PostgreSQL's documentation, table 13.2, row by row.
const RELATION_TABLE: [&str; 8] = [
    ".......X", "......XX", "....XXXX", "...XXXXX", "..XX.XXX", "..XXXXXX", ".XXXXXXX", "XXXXXXXX",
];

/// PostgreSQL's documentation, table 13.3.
const ROW_TABLE: [&str; 4] = ["...X", "..XX", ".XXX", "XXXX"];

#[test]
fn relation_modes_conflict_as_documented() {
    for (held, row) in ALL.into_iter().zip(RELATION_TABLE) {
        for (wanted, cell) in ALL.into_iter().zip(row.chars()) {
            let bench = bench(2);
            assert!(bench.try_relation(0, 1, held));
            assert_eq!(bench.try_relation(1, 1, wanted), cell == '.', "{held:?} {wanted:?}");
            assert!(bench.try_relation(1, 2, wanted), "another relation");
            assert!(bench.try_relation(0, 1, held), "one's own");
            bench.end(0);
            assert!(bench.try_relation(1, 1, wanted), "after release");
            bench.end(1);
            assert_eq!(bench.manager.entry_count(), 0);
        }
    }
}

#[test]
fn row_modes_conflict_as_documented() {
    use RowLockMode::*;
    let modes = [KeyShare, Share, NoKeyUpdate, Update];
    for (held, row) in modes.into_iter().zip(ROW_TABLE) {
        for (wanted, cell) in modes.into_iter().zip(row.chars()) {
            let bench = bench(2);
            assert!(bench.row(0, 5, held).is_none());
            let wait = bench.row(1, 5, wanted);
            assert_eq!(wait.is_none(), cell == '.', "{held:?} {wanted:?}");
            bench.end(0);
            assert!(wait.is_none_or(|wait| wait.is_finished()));
            bench.end(1);
            assert_eq!(bench.manager.entry_count(), 0);
        }
    }
}

#[test]
fn row_modes_conflict_as_documented_on_lists_and_in_the_table() {
    use RowLockMode::*;
    let modes = [KeyShare, Share, NoKeyUpdate, Update];
    for (held, row) in modes.into_iter().zip(ROW_TABLE) {
        for (wanted, cell) in modes.into_iter().zip(row.chars()) {
            let bench = bench(2);
            assert!(bench.try_row(0, 5, held) && bench.try_row(0, 5, held));
            assert_eq!(bench.manager.entry_count(), usize::from(held > Share));
            if wanted > Share {
                assert_eq!(bench.may_write(1, 5, wanted), cell == '.', "{held:?} {wanted:?}");
            }
            assert_eq!(bench.try_row(1, 5, wanted), cell == '.', "{held:?} {wanted:?}");
            assert!(bench.may_write(1, 6, Update) && bench.try_row(1, 6, Update), "another row");
            bench.end(0);
            assert!(bench.try_row(1, 5, wanted), "after release");
            bench.end(1);
            assert_eq!(bench.manager.entry_count(), 0);
            assert!(bench.may_write(0, 5, Update), "nothing is counted any more");
        }
    }
}

#[test]
fn a_shared_row_is_in_the_table_from_the_first_writer_on() {
    use RowLockMode::{Share, Update};
    let bench = bench(3);
    assert!(bench.try_row(0, 5, Share) && bench.try_row(1, 5, Share));
    assert_eq!(bench.manager.report().len(), 0, "only waits for rows are told of");
    assert_eq!(bench.manager.entry_count(), 0);
    let wait = bench.row(2, 5, Update).expect("waits for both");
    assert_eq!((bench.manager.entry_count(), bench.manager.report().len()), (1, 1));
    assert_eq!(bench.manager.blocking(bench.sessions[2].pid()).len(), 2);
    bench.end(0);
    assert!(!wait.is_finished());
    bench.end(1);
    assert!(wait.is_finished());
    assert!(!bench.try_row(0, 5, Share), "the table knows of an owner");
    bench.end(2);
    assert!(bench.try_row(0, 5, Share));
    assert_eq!(bench.manager.entry_count(), 0, "and then it is nobody's");
}

#[test]
fn a_shared_row_is_upgraded_kept_and_given_back() {
    use RowLockMode::{KeyShare, Share, Update};
    let bench = bench(2);
    assert!(bench.try_row(0, 5, KeyShare));
    let savepoint = bench.manager.position(&bench.sessions[0]);
    assert!(bench.try_row(0, 5, KeyShare) && bench.try_row(0, 5, Share));
    assert!(bench.try_row(0, 6, Share));
    bench.manager.release_to(&bench.sessions[0], savepoint);
    assert!(bench.may_write(1, 6, Update), "released with the savepoint");
    assert!(bench.may_write(1, 5, RowLockMode::NoKeyUpdate), "SHARE is released");
    assert!(!bench.may_write(1, 5, Update), "KEY SHARE is not");
    assert!(bench.try_row(0, 5, Update), "its only holder may have more");
    bench.end(0);
    assert!(bench.try_row(0, 7, Share));
    bench.manager.release_row(&bench.sessions[0], LockTag::Row(9, 7), Share);
    assert!(bench.may_write(1, 7, Update));
    // More rows than a list has room for.
    for row in 0..100 {
        assert!(bench.try_row(0, row, Share));
    }
    assert!((0..100).all(|row| !bench.may_write(1, row, Update)));
    bench.end(0);
    assert!((0..100).all(|row| bench.may_write(1, row, Update)));
}

#[test]
fn weak_locks_stay_out_of_the_table_until_a_strong_one_comes() {
    let bench = bench(3);
    for who in 0..2 {
        assert!(bench.try_relation(who, 1, RelationLockMode::RowExclusive));
    }
    assert_eq!(bench.manager.entry_count(), 0, "fast path");
    let wait = bench.relation(2, 1, RelationLockMode::AccessExclusive).expect("waits");
    assert_eq!(bench.manager.entry_count(), 1, "moved");
    assert!(!bench.try_relation(0, 1, RelationLockMode::Share), "behind the waiter");
    bench.end(0);
    assert!(!wait.is_finished());
    bench.end(1);
    assert!(wait.is_finished());
    wait.wait_blocking().expect("granted");
    assert!(!bench.try_relation(0, 1, RelationLockMode::AccessShare));
    bench.end(2);
    assert!(bench.try_relation(0, 1, RelationLockMode::AccessShare));
    assert_eq!(bench.manager.entry_count(), 0, "fast path again");
}

/// More relations than there are slots, each with two modes, two of which another session wants.
#[test]
fn weak_locks_are_out_of_the_table_however_many_they_are() {
    let bench = bench(2);
    for oid in 1..=100 {
        for mode in [RelationLockMode::AccessShare, RelationLockMode::RowExclusive] {
            assert!(bench.try_relation(0, oid, mode) && bench.try_relation(0, oid, mode));
        }
    }
    assert_eq!(bench.manager.entry_count(), 0, "fast path");
    assert_eq!(bench.manager.report().len(), 200);
    let waits = [3, 77].map(|oid| {
        let wait = bench.relation(1, oid, RelationLockMode::Exclusive).expect("waits");
        assert!(bench.try_relation(1, oid + 1, RelationLockMode::RowExclusive));
        wait
    });
    assert_eq!(bench.manager.entry_count(), 2, "moved");
    bench.end(0);
    assert!(waits.iter().all(|wait| wait.is_finished()));
    let left = bench.manager.report();
    assert!(left.len() == 4 && left.iter().all(|lock| lock.granted), "{left:?}");
    waits.into_iter().for_each(|wait| wait.wait_blocking().expect("granted"));
    bench.end(1);
    assert_eq!((bench.manager.entry_count(), bench.manager.report().len()), (0, 0));
}

#[test]
fn a_failed_strong_request_opens_the_fast_path_again() {
    let bench = bench(2);
    assert!(bench.try_relation(0, 1, RelationLockMode::AccessShare));
    let wait = bench.relation(1, 1, RelationLockMode::AccessExclusive).expect("waits");
    drop(wait);
    bench.end(1);
    bench.end(0);
    assert!(
        !bench.try_relation(1, 1, RelationLockMode::AccessShare) || {
            bench.manager.entry_count() == 0
        }
    );
}

#[test]
fn rows_are_handed_over_first_in_first_out() {
    let bench = bench(6);
    assert!(bench.row(0, 1, RowLockMode::Update).is_none());
    let waits: Vec<LockWait> =
        (1..6).map(|who| bench.row(who, 1, RowLockMode::Update).expect("waits")).collect();
    for who in 0..5 {
        bench.end(who);
        let finished = waits.iter().filter(|wait| wait.is_finished()).count();
        assert_eq!(finished, who + 1);
        assert!(waits[who].is_finished());
    }
}

/// A share request goes ahead of an update request if it is compatible with all holders; once
/// it has to wait, it stays behind.
#[test]
fn shares_overtake_for_others_that_share_only() {
    let bench = bench(5);
    assert!(bench.row(0, 1, RowLockMode::Share).is_none());
    let update = bench.row(1, 1, RowLockMode::Update).expect("waits");
    assert!(bench.row(2, 1, RowLockMode::Share).is_none());
    bench.end(0);
    assert!(!update.is_finished());
    bench.end(2);
    assert!(update.is_finished());
    let second = bench.row(4, 1, RowLockMode::Update).expect("waits");
    let share = bench.row(2, 1, RowLockMode::Share).expect("waits behind it");
    bench.end(1);
    assert!(second.is_finished() && !share.is_finished());
    bench.end(4);
    assert!(share.is_finished());
    // The holder itself goes first: behind a waiter it would wait for itself.
    let update = bench.row(3, 1, RowLockMode::Update).expect("waits");
    assert!(bench.row(2, 1, RowLockMode::NoKeyUpdate).is_none());
    bench.end(2);
    assert!(update.is_finished());
}

#[test]
fn a_waiter_that_gives_up_lets_those_behind_through() {
    let bench = bench(4);
    assert!(bench.row(0, 1, RowLockMode::KeyShare).is_none());
    assert!(bench.row(3, 1, RowLockMode::NoKeyUpdate).is_none());
    let update = bench.row(1, 1, RowLockMode::Update).expect("waits");
    let share = bench.row(2, 1, RowLockMode::Share).expect("waits behind it");
    bench.end(3);
    assert!(!update.is_finished() && !share.is_finished());
    drop(update);
    assert!(share.is_finished());
}

#[test]
fn deadlocks_are_found_and_described() {
    let bench = bench(3);
    for who in 0..3 {
        bench.sessions[who].set_xid(100 + who as u64);
        assert!(bench.row(who, who as u64, RowLockMode::Update).is_none());
    }
    let first = bench.row(0, 1, RowLockMode::Update).expect("waits");
    let second = bench.row(1, 2, RowLockMode::Update).expect("waits");
    assert_eq!(bench.manager.check_all_deadlocks(), 0, "a chain is no cycle");
    let third = bench.row(2, 0, RowLockMode::Update).expect("waits");
    assert_eq!(bench.manager.check_all_deadlocks(), 1);
    let victim = [first, second, third].into_iter().find(LockWait::is_finished).expect("one");
    let error = victim.wait_blocking().expect_err("deadlock");
    assert_eq!(error.sqlstate().as_str(), "40P01");
    assert_eq!(error.message(), "deadlock detected");
    let detail = error.fields().detail.clone().expect("has detail");
    let lines: Vec<&str> = detail.lines().collect();
    assert_eq!(lines.len(), 3, "{detail}");
    assert_eq!(lines[0], "Process 1 waits for ShareLock on transaction 101; blocked by process 2.");
}

/// Session 0 would wait for a request that holds nothing, and does not if it goes before it.
#[test]
fn a_cycle_through_the_order_of_a_queue_is_dissolved() {
    let bench = bench(4);
    assert!(bench.row(0, 1, RowLockMode::Update).is_none());
    assert!(bench.relation(0, 7, RelationLockMode::RowShare).is_none());
    assert!(bench.relation(1, 7, RelationLockMode::RowExclusive).is_none());
    let row = bench.row(1, 1, RowLockMode::Update).expect("session 0 has it");
    let strong = bench.relation(2, 7, RelationLockMode::Share).expect("session 1 is in the way");
    let late = bench.relation(3, 7, RelationLockMode::RowExclusive).expect("session 2 is ahead");
    let weak = bench.relation(0, 7, RelationLockMode::RowExclusive).expect("both are ahead");
    assert_eq!(bench.manager.check_all_deadlocks(), 1, "one wait has ended");
    weak.wait_blocking().expect("has gone ahead");
    assert!(!late.is_finished(), "who is in no cycle stays where they are");
    bench.end(0);
    row.wait_blocking().expect("is handed on");
    assert!(!strong.is_finished());
    bench.end(1);
    strong.wait_blocking().expect("is next");
    bench.end(2);
    late.wait_blocking().expect("is last");
}

/// No place in the queue is one that both come out of: each wants what the other one holds. The
/// second is told at once.
#[test]
fn two_that_want_more_of_what_both_hold_are_a_deadlock_at_once() {
    let bench = bench(3);
    assert!(bench.relation(0, 7, RelationLockMode::Share).is_none());
    assert!(bench.relation(1, 7, RelationLockMode::Share).is_none());
    let first = bench.relation(0, 7, RelationLockMode::RowExclusive).expect("waits");
    let behind = bench.relation(2, 7, RelationLockMode::RowExclusive).expect("waits");
    let second = bench.relation(1, 7, RelationLockMode::RowExclusive).expect("has failed");
    assert!(second.is_finished());
    let error = second.wait_blocking().expect_err("deadlock");
    assert_eq!(error.sqlstate().as_str(), "40P01");
    let detail = error.fields().detail.as_deref().expect("has detail");
    let expected = "Process 2 waits for RowExclusiveLock on relation 7 of database 5; blocked by \
                    process 1.\nProcess 1 waits for RowExclusiveLock on relation 7 of database 5; \
                    blocked by process 2.";
    assert_eq!(detail, expected);
    assert_eq!(bench.manager.check_all_deadlocks(), 0);
    assert!(!first.is_finished() && !behind.is_finished());
    bench.end(1);
    first.wait_blocking().expect("is alone with the lock");
}

/// Reordering one queue would only move the cycle: each of three wants what the next one holds.
#[test]
fn a_cycle_that_no_order_dissolves_is_an_error() {
    let bench = bench(3);
    for who in 0..3 {
        assert!(bench.relation(who, who as u32, RelationLockMode::AccessExclusive).is_none());
    }
    let waits: Vec<_> = (0..3)
        .filter_map(|who| bench.relation(who, (who as u32 + 1) % 3, RelationLockMode::Share))
        .collect();
    assert_eq!((waits.len(), bench.manager.check_all_deadlocks()), (3, 1));
    let failed = waits.into_iter().find(LockWait::is_finished).expect("one");
    assert_eq!(failed.wait_blocking().expect_err("deadlock").sqlstate().as_str(), "40P01");
}

#[test]
fn a_blocked_thread_finds_its_deadlock_by_itself() {
    let bench = bench(2);
    for session in &bench.sessions {
        session.set_deadlock_timeout(Duration::from_millis(20));
    }
    assert!(bench.try_relation(0, 1, RelationLockMode::AccessExclusive));
    assert!(bench.try_relation(1, 2, RelationLockMode::AccessExclusive));
    let other = bench.relation(0, 2, RelationLockMode::AccessShare).expect("waits");
    let mine = bench.relation(1, 1, RelationLockMode::AccessShare).expect("waits");
    let error = mine.wait_blocking().expect_err("deadlock");
    assert_eq!(error.sqlstate().as_str(), "40P01");
    assert!(error.fields().detail.as_ref().is_some_and(|d| {
        d.starts_with("Process 2 waits for AccessShareLock on relation 1 of database 5; ")
    }));
    bench.end(1);
    other.wait_blocking().expect("goes on after the victim's end");
}

#[test]
fn lock_timeout_and_cancel_end_a_wait() {
    let bench = bench(2);
    assert!(bench.row(0, 1, RowLockMode::Update).is_none());
    bench.sessions[1].set_lock_timeout(Some(Duration::from_millis(20)));
    let wait = bench.row(1, 1, RowLockMode::Update).expect("waits");
    let error = wait.wait_blocking().expect_err("times out");
    assert_eq!(error.sqlstate().as_str(), "55P03");
    bench.sessions[1].set_lock_timeout(None);
    let wait = bench.row(1, 1, RowLockMode::Update).expect("waits");
    let session = Arc::clone(&bench.sessions[1]);
    let canceller = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(30));
        session.interrupt(Interrupt::Cancel);
    });
    let error = wait.wait_blocking().expect_err("cancelled");
    assert_eq!(error.sqlstate().as_str(), "57014");
    canceller.join().expect("does not panic");
}

/// The monitor's thread watches the deadlines of awaited waits.
#[test]
fn an_awaited_wait_times_out_too() {
    let bench = bench(2);
    assert!(bench.row(0, 1, RowLockMode::Update).is_none());
    bench.sessions[1].set_lock_timeout(Some(Duration::from_millis(20)));
    let mut wait = bench.row(1, 1, RowLockMode::Update).expect("waits");
    let mut context = Context::from_waker(Waker::noop());
    let mut pinned = std::pin::Pin::new(&mut wait);
    for _ in 0..500 {
        if let Poll::Ready(end) = std::future::Future::poll(pinned.as_mut(), &mut context) {
            assert_eq!(end.expect_err("times out").sqlstate().as_str(), "55P03");
            return;
        }
        std::thread::sleep(Duration::from_millis(2));
    }
    panic!("the wait never ended");
}

/// Taken on the fast path, moved into the table by a request that comes to nothing, and taken on the
/// fast path again after a savepoint.
#[test]
fn a_lock_in_two_places_is_left_in_neither() {
    for again_before in [false, true] {
        let bench = bench(2);
        let mode = RelationLockMode::RowExclusive;
        assert!(bench.relation(0, 7, mode).is_none());
        drop(bench.relation(1, 7, RelationLockMode::AccessExclusive).expect("waits"));
        assert_eq!(bench.manager.entry_count(), 1, "moved");
        if again_before {
            assert!(bench.relation(0, 7, mode).is_none());
        }
        let position = bench.manager.position(&bench.sessions[0]);
        assert!(bench.relation(0, 7, mode).is_none());
        bench.manager.release_to(&bench.sessions[0], position);
        assert!(!bench.manager.report().is_empty(), "still held");
        bench.end(0);
        assert_eq!(bench.manager.entry_count(), 0, "left behind");
        assert!(bench.try_relation(1, 7, RelationLockMode::AccessExclusive));
        bench.end(1);
    }
}

/// A row that a session shares on its own list, and after a savepoint asks the table for, as it does
/// when it has written the row in between.
#[test]
fn a_shared_row_in_two_places_is_left_in_neither() {
    let bench = bench(2);
    let mode = RowLockMode::Share;
    assert!(bench.try_row(0, 1, mode));
    assert_eq!(bench.manager.entry_count(), 0, "on its own list");
    let position = bench.manager.position(&bench.sessions[0]);
    assert!(bench.row(0, 1, mode).is_none());
    bench.manager.release_to(&bench.sessions[0], position);
    assert_eq!(bench.manager.entry_count(), 1, "still held");
    bench.end(0);
    assert_eq!(bench.manager.entry_count(), 0, "left behind");
    assert!(bench.may_write(1, 1, RowLockMode::Update));
}

#[test]
fn savepoints_release_what_came_after_them() {
    let bench = bench(2);
    assert!(bench.row(0, 1, RowLockMode::Share).is_none());
    let position = bench.manager.position(&bench.sessions[0]);
    assert!(bench.row(0, 1, RowLockMode::Share).is_none());
    assert!(bench.row(0, 2, RowLockMode::Update).is_none());
    assert!(bench.try_relation(0, 7, RelationLockMode::RowShare));
    bench.manager.release_to(&bench.sessions[0], position);
    assert!(bench.row(1, 2, RowLockMode::Update).is_none());
    assert!(bench.try_relation(1, 7, RelationLockMode::AccessExclusive));
    assert!(bench.row(1, 1, RowLockMode::Update).is_some(), "taken before the savepoint");
}

#[test]
fn files_of_leaves_are_kept_or_replaced() {
    let bench = bench(4);
    let leaves = LockTag::Leaves { database: DatabaseId::POSTGRES, oid: 7 };
    let ask = |who: usize, mode: LeavesLockMode| {
        let asked = bench.manager.lock_until_end(&bench.sessions[who], leaves, mode as u8);
        asked.expect("no bound").wait()
    };
    assert!(ask(0, LeavesLockMode::Read).is_none() && ask(1, LeavesLockMode::Read).is_none());
    let wait = ask(2, LeavesLockMode::Replace).expect("readers are in the way");
    assert!(ask(0, LeavesLockMode::Read).is_none(), "who has it is not kept waiting");
    bench.end(0);
    assert!(!wait.is_finished());
    bench.end(1);
    assert!(wait.is_finished() && ask(3, LeavesLockMode::Replace).is_none());
    assert!(ask(0, LeavesLockMode::Read).is_some());
}

#[test]
fn session_advisory_locks_count_and_outlive_the_transaction() {
    let bench = bench(2);
    let tag = AdvisoryKey::Big(42);
    let (session, exclusive) = (AdvisoryScope::Session, SharedMode::Exclusive);
    let lock = |who: usize, scope| {
        let acquired =
            bench.manager.lock_advisory(&bench.sessions[who], tag, exclusive, scope, false);
        matches!(acquired.expect("no bound"), Acquire::Granted)
    };
    assert!(lock(0, session) && lock(0, session) && lock(0, AdvisoryScope::Transaction));
    bench.end(0);
    assert!(!lock(1, session));
    assert!(bench.manager.unlock_advisory(&bench.sessions[0], tag, exclusive));
    assert!(!lock(1, session), "counted");
    assert!(bench.manager.unlock_advisory(&bench.sessions[0], tag, exclusive));
    assert!(!bench.manager.unlock_advisory(&bench.sessions[0], tag, exclusive));
    assert!(lock(1, session));
    bench.manager.unlock_all_advisory(&bench.sessions[1]);
    assert_eq!(bench.manager.entry_count(), 0);
}

/// Each shard refuses what is beyond its share of all locks.
#[test]
fn the_table_is_bounded_for_all_sessions_together() {
    let registry = Arc::new(SessionRegistry::new(1));
    let options = LockOptions { max_locks: 640 };
    let manager = LockManager::new(options, Arc::clone(&registry));
    let sessions = [registry.add(DatabaseId::POSTGRES), registry.add(DatabaseId::POSTGRES)];
    let mut granted = 0;
    let mut refused = 0;
    for i in 0..2000 {
        // Rows of as many blocks, which are in all shards.
        let tag = LockTag::Row(7, i << 5);
        match manager.try_lock_row(&sessions[i as usize % 2], tag, RowLockMode::Update) {
            Ok(taken) => granted += u32::from(taken),
            Err(error) => {
                assert_eq!(error.sqlstate(), steppe_types::SqlState::OUT_OF_MEMORY);
                refused += 1;
            }
        }
    }
    assert!(granted <= 640 && granted > 500, "{granted}");
    assert_eq!(granted + refused, 2000);
    let advisory = (AdvisoryKey::Big(1), SharedMode::Exclusive);
    let ask = |scope| manager.lock_advisory(&sessions[0], advisory.0, advisory.1, scope, false);
    assert!(ask(AdvisoryScope::Session).is_err() && ask(AdvisoryScope::Transaction).is_err());
    sessions.iter().for_each(|session| manager.release_to(session, LockPosition(0)));
    assert_eq!(manager.entry_count(), 0);
    assert!(ask(AdvisoryScope::Session).is_ok());
}

/// A session-level lock that was waited for is in nobody's list once it is counted.
#[test]
fn a_session_level_lock_that_was_waited_for_is_the_sessions_alone() {
    let bench = bench(2);
    let (tag, exclusive) = (AdvisoryKey::Big(42), SharedMode::Exclusive);
    let ask = |who: usize, scope| {
        bench.manager.lock_advisory(&bench.sessions[who], tag, exclusive, scope, true)
    };
    assert!(matches!(ask(0, AdvisoryScope::Session), Ok(Acquire::Granted)));
    let Ok(Acquire::Wait(wait)) = ask(1, AdvisoryScope::Session) else { panic!("it is held") };
    assert!(bench.manager.unlock_advisory(&bench.sessions[0], tag, exclusive));
    wait.wait_blocking().expect("it is free");
    assert!(matches!(ask(1, AdvisoryScope::Session), Ok(Acquire::Granted)));
    assert!(bench.manager.locks_to_keep(&bench.sessions[1]).expect("in one hand").is_empty());
    assert!(bench.manager.unlock_advisory(&bench.sessions[1], tag, exclusive));
    assert_eq!(bench.manager.entry_count(), 0);
}

/// Threads that lock random relations in random modes: no two hold what
/// conflicts, and everybody gets through.
#[test]
fn conflicting_modes_never_meet() {
    use std::sync::atomic::{AtomicU32, Ordering};
    let bench = Arc::new(bench(4));
    let held: Arc<[[AtomicU32; 8]; 3]> = Arc::default();
    let threads: Vec<_> = (0..4)
        .map(|who| {
            let (bench, held) = (Arc::clone(&bench), Arc::clone(&held));
            std::thread::spawn(move || {
                let random = steppe_vfs::SeededRandom::new(who as u64);
                for _ in 0..2000 {
                    let (oid, mode) = (random.below(3) as usize, random.below(8) as usize);
                    if let Some(wait) = bench.relation(who, oid as u32, ALL[mode]) {
                        wait.wait_blocking().expect("one lock at a time cannot deadlock");
                    }
                    held[oid][mode].fetch_add(1, Ordering::SeqCst);
                    for (other, count) in held[oid].iter().enumerate() {
                        let mine = u32::from(other == mode);
                        if RELATION_CONFLICTS[mode] & (1 << other) != 0 {
                            assert_eq!(count.load(Ordering::SeqCst), mine);
                        }
                    }
                    held[oid][mode].fetch_sub(1, Ordering::SeqCst);
                    bench.end(who);
                }
            })
        })
        .collect();
    for thread in threads {
        thread.join().expect("no conflict");
    }
    assert_eq!(bench.manager.entry_count(), 0);
}

/// All users of the relation are waited for, each once; later ones are not, and nobody is
/// kept from using it meanwhile.
#[test]
fn users_of_a_relation_are_waited_for_to_their_end() {
    let bench = bench(4);
    assert!(bench.relation(0, 7, RelationLockMode::AccessShare).is_none());
    assert!(bench.relation(1, 7, RelationLockMode::ShareUpdateExclusive).is_none());
    assert!(bench.relation(2, 8, RelationLockMode::AccessShare).is_none());
    let (locks, waiting) = (&bench.manager, &bench.sessions[3]);
    let mut users = locks.users_of(waiting, 7);
    let mut next = || match locks.wait_for_users(waiting, &mut users) {
        Acquire::Wait(wait) => Some(wait),
        _ => None,
    };
    let first = next().expect("two use it");
    assert!(!first.is_finished());
    assert!(bench.try_relation(2, 7, RelationLockMode::RowExclusive), "nobody stands in the way");
    bench.end(1);
    assert!(first.is_finished());
    let second = next().expect("one still uses it");
    // A rollback to a savepoint ends nothing.
    locks.release_to(&bench.sessions[0], LockPosition(1));
    assert!(second.is_finished());
    let third = next().expect("it goes on");
    bench.end(0);
    assert!(third.is_finished());
    assert!(bench.relation(0, 7, RelationLockMode::AccessShare).is_none(), "its next transaction");
    assert!(next().is_none());
    (0..4).for_each(|who| bench.end(who));
    assert_eq!(locks.entry_count(), 0);
}

#[test]
fn who_gives_way_is_cancelled_by_whoever_waits_for_its_relation() {
    use RelationLockMode::{AccessExclusive, AccessShare, RowExclusive, ShareUpdateExclusive};
    let bench = bench(3);
    let is_cancelled = || {
        let cancelled = bench.sessions[0].has_interrupt();
        bench.sessions[0].clear_statement_interrupts();
        cancelled
    };
    assert!(bench.try_relation(0, 7, ShareUpdateExclusive));
    assert!(bench.try_relation(0, 8, AccessShare));
    drop(bench.relation(1, 7, ShareUpdateExclusive));
    assert!(!is_cancelled(), "nobody has said that it gives way");
    bench.sessions[0].give_way_to_all();
    assert!(bench.relation(1, 7, RowExclusive).is_none());
    assert!(!bench.try_relation(1, 7, ShareUpdateExclusive));
    assert!(!is_cancelled());
    // A lock on the fast path is in the way, too.
    for (oid, mode) in [(7, ShareUpdateExclusive), (8, AccessExclusive)] {
        let wait = bench.relation(2, oid, mode).expect("it waits");
        assert!(is_cancelled());
        drop(wait);
    }
    bench.end(0);
    assert!(bench.relation(2, 8, AccessExclusive).is_none());
    assert!(!is_cancelled());
}
