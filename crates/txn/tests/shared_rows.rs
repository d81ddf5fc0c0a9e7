//! Rows that are locked in a shared mode together ([`TableStore::share_rows`]): up to the first that
//! is not as the snapshot sees it, and nothing of that one.

#![allow(missing_docs)]

use std::path::Path;
use std::sync::Arc;

use steppe_txn::*;
use steppe_vfs::CrashVfs;

const KEY_SHARE: RowLockMode = RowLockMode::KeyShare;

fn open() -> Arc<Engine> {
    let options = EngineOptions {
        pool_pages: 64,
        pages_max: 1 << 14,
        wal_buffers_bytes: 64 << 10,
        wal_segment_bytes: 64 << 10,
        wal_bytes_min: 64 << 10,
        system_id: Some(7),
        background: false,
        ..EngineOptions::default()
    };
    Engine::open(Arc::new(CrashVfs::new(1)), Path::new("data"), options).expect("opens")
}

fn begin(session: &SessionHandle) -> Txn {
    let mut txn = Txn::begin(session, IsolationLevel::ReadCommitted, false);
    txn.start_statement().expect("starts");
    txn
}

/// Three committed rows, and three sessions: one that is at a row, one that shares rows, and one
/// that asks which locks there are.
struct Rows {
    table: TableStore,
    ids: Vec<RowId>,
    other: SessionHandle,
    sharing: SessionHandle,
    asking: SessionHandle,
}

impl Rows {
    fn new() -> Rows {
        let engine = open();
        let session = || engine.new_session(DatabaseId::POSTGRES);
        let (other, sharing, asking) = (session(), session(), session());
        let mut txn = begin(&other);
        let table = TableStore::create(&mut txn, Persistence::Logged).expect("creates");
        let (mut new, mut ids) = (NewRows::default(), Vec::new());
        [b"a", b"b", b"c"].iter().for_each(|row| new.push(*row));
        table.insert_batch(&mut txn, &mut new, &mut ids).expect("inserts");
        engine.wait_durable(txn.commit().expect("commits").lsn).expect("flushes");
        Rows { table, ids, other, sharing, asking }
    }

    fn share(&self, txn: &mut Txn, ids: &[RowId]) -> usize {
        self.table.share_rows(txn, ids, KEY_SHARE).expect("locks")
    }

    /// Which rows another session could lock FOR UPDATE now.
    fn free(&self) -> Vec<bool> {
        let mut txn = begin(&self.asking);
        let mut is_free = |id: &RowId| {
            let asked =
                self.table.lock_row(&mut txn, *id, RowLockMode::Update, WaitPolicy::DontWait);
            match asked.expect("asks") {
                LockOutcome::Locked => true,
                LockOutcome::WouldBlock => false,
                other => panic!("{other:?}"),
            }
        };
        let free = self.ids.iter().map(&mut is_free).collect();
        txn.rollback().expect("ends");
        free
    }

    fn change(&self, txn: &mut Txn, action: Action) {
        let outcome = self.table.modify(txn, self.ids[1], &mut |_, out| {
            out.extend_from_slice(if action == Action::Delete { b"" } else { b"B" });
            Ok(action)
        });
        assert!(matches!(outcome.expect("changes"), ModifyOutcome::Done));
    }
}

const REPLACE: Action = Action::Replace { key_changed: false };

#[test]
fn rows_are_shared_up_to_one_that_another_session_has_locked() {
    let rows = Rows::new();
    let mut other = begin(&rows.other);
    let locked =
        rows.table.lock_row(&mut other, rows.ids[1], RowLockMode::Update, WaitPolicy::Block);
    assert!(matches!(locked, Ok(LockOutcome::Locked)));
    let mut txn = begin(&rows.sharing);
    assert_eq!(rows.share(&mut txn, &rows.ids), 1);
    assert_eq!(rows.free(), [false, false, true], "the first is shared, the second the other's");
    other.rollback().expect("ends");
    assert_eq!(rows.free(), [false, true, true], "nothing was kept of the second");
    assert_eq!(rows.share(&mut txn, &rows.ids[1..]), 2);
    assert_eq!(rows.free(), [false, false, false]);
    let _ = txn.commit().expect("commits");
    assert_eq!(rows.free(), [true, true, true]);
}

#[test]
fn a_shared_mode_of_another_session_does_not_stand_in_the_way() {
    let rows = Rows::new();
    let (mut other, mut txn) = (begin(&rows.other), begin(&rows.sharing));
    assert_eq!(rows.share(&mut other, &rows.ids), 3);
    assert_eq!(rows.share(&mut txn, &rows.ids), 3);
    other.rollback().expect("ends");
    assert_eq!(rows.free(), [false, false, false]);
    txn.rollback().expect("ends");
    assert_eq!(rows.free(), [true, true, true]);
}

#[test]
fn nothing_is_kept_of_a_row_that_another_session_is_changing() {
    let rows = Rows::new();
    for action in [REPLACE, Action::Replace { key_changed: true }] {
        let mut other = begin(&rows.other);
        rows.change(&mut other, action);
        let mut txn = begin(&rows.sharing);
        assert_eq!(rows.share(&mut txn, &rows.ids), 1, "{action:?}");
        let _ = other.commit().expect("commits");
        assert_eq!(rows.free(), [false, true, true], "{action:?}");
        txn.rollback().expect("ends");
    }
}

#[test]
fn nothing_is_kept_of_a_row_that_has_changed_since_the_snapshot() {
    let rows = Rows::new();
    let mut txn = begin(&rows.sharing);
    let mut other = begin(&rows.other);
    rows.change(&mut other, REPLACE);
    let _ = other.commit().expect("commits");
    assert_eq!(rows.share(&mut txn, &rows.ids), 1);
    assert_eq!(rows.free(), [false, true, true]);
    txn.rollback().expect("ends");
}

#[test]
fn a_deleted_row_is_not_shared() {
    let rows = Rows::new();
    let mut txn = begin(&rows.sharing);
    let mut other = begin(&rows.other);
    rows.change(&mut other, Action::Delete);
    assert_eq!(rows.share(&mut txn, &rows.ids), 1);
    other.rollback().expect("ends");
    assert_eq!(rows.free(), [false, true, true]);
    txn.rollback().expect("ends");
}

#[test]
fn a_lock_that_the_transaction_had_before_is_kept() {
    let rows = Rows::new();
    let mut txn = begin(&rows.sharing);
    assert_eq!(rows.share(&mut txn, &rows.ids[1..2]), 1);
    let mut other = begin(&rows.other);
    rows.change(&mut other, REPLACE);
    assert_eq!(rows.share(&mut txn, &rows.ids), 1);
    let _ = other.commit().expect("commits");
    assert_eq!(rows.free(), [false, false, true]);
    txn.rollback().expect("ends");
}
