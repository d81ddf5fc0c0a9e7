//! What prepared transactions promise, one test each. (That they survive crashes at any moment is
//! the business of tests/crash.rs.)

#![allow(missing_docs)]

use std::path::Path;
use std::sync::Arc;

use steppe_txn::*;
use steppe_vfs::CrashVfs;

const TABLE: FileId = FileId { database: DatabaseId::POSTGRES, number: RelFileNumber(20) };

fn open_with(vfs: &CrashVfs, max_prepared_transactions: usize) -> Arc<Engine> {
    let options = EngineOptions {
        pool_pages: 64,
        pages_max: 1 << 14,
        wal_buffers_bytes: 64 << 10,
        wal_segment_bytes: 64 << 10,
        wal_bytes_min: 64 << 10,
        system_id: Some(7),
        background: false,
        max_prepared_transactions,
        ..EngineOptions::default()
    };
    Engine::open(Arc::new(vfs.clone()), Path::new("data"), options).expect("opens")
}

fn open(vfs: &CrashVfs) -> Arc<Engine> {
    open_with(vfs, 10)
}

fn begin(session: &SessionHandle, isolation: IsolationLevel) -> Txn {
    let mut txn = Txn::begin(session, isolation, false);
    txn.start_statement().expect("starts");
    txn
}

fn read_committed(session: &SessionHandle) -> Txn {
    begin(session, IsolationLevel::ReadCommitted)
}

fn replace(txn: &mut Txn, row: RowId, with: &[u8]) -> ModifyOutcome {
    let table = TableStore::open(txn.engine(), TABLE);
    let modified = table.modify(txn, row, &mut |_, out| {
        out.extend_from_slice(with);
        Ok(Action::Replace { key_changed: false })
    });
    modified.expect("is readable")
}

fn value(engine: &Engine, txn: &Txn, row: RowId) -> Option<Vec<u8>> {
    let mut buffer = RowBuf::new();
    let found = TableStore::open(engine, TABLE).get(&txn.view(), row, &mut buffer);
    found.expect("is readable").map(|_| buffer.row().to_vec())
}

/// A database with two rows.
fn with_rows(engine: &Arc<Engine>) -> [RowId; 2] {
    let session = engine.new_session(DatabaseId::POSTGRES);
    let mut txn = read_committed(&session);
    let table = TableStore::open(engine, TABLE);
    let rows = [b"first", b"other"].map(|row| table.insert(&mut txn, row).expect("inserts"));
    engine.wait_durable(txn.commit().expect("commits").lsn).expect("flushes");
    rows
}

fn code(result: steppe_types::Result<()>) -> String {
    result.expect_err("refused").sqlstate().as_str().to_owned()
}

#[test]
fn identifiers_are_checked_and_unique_and_few() {
    let vfs = CrashVfs::new(1);
    let engine = open_with(&vfs, 1);
    let session = engine.new_session(DatabaseId::POSTGRES);
    let prepare = |gid: &str| read_committed(&session).prepare(gid, &[], None);
    assert_eq!(code(prepare(&"x".repeat(200))), "22023");
    prepare(&"x".repeat(199)).expect("short enough");
    assert_eq!(code(prepare(&"x".repeat(199))), "42710");
    assert_eq!(code(prepare("y")), "53200");
    assert_eq!(code(engine.hold_prepared("y").map(drop)), "42704");
    let held = engine.hold_prepared(&"x".repeat(199)).expect("is there");
    assert_eq!(code(engine.hold_prepared(&"x".repeat(199)).map(drop)), "55000");
    drop(held);
    let held = engine.hold_prepared(&"x".repeat(199)).expect("was given back");
    let _ = held.rollback().expect("ends");
    prepare("y").expect("there is room again");
    drop(session);
    assert_eq!(
        code(
            read_committed(&open_with(&CrashVfs::new(2), 0).new_session(DatabaseId::POSTGRES))
                .prepare("y", &[], None)
        ),
        "55000"
    );
}

/// A waiter for a row goes on waiting when its owner is prepared, and is blocked by nobody that
/// has a process id.
#[test]
fn waiters_wait_for_the_end_of_a_prepared_transaction() {
    for commit in [true, false] {
        let engine = open(&CrashVfs::new(3));
        let [row, _] = with_rows(&engine);
        let (owner, waiter) =
            (engine.new_session(DatabaseId::POSTGRES), engine.new_session(DatabaseId::POSTGRES));
        let mut txn = read_committed(&owner);
        txn.lock_relation_blocking(5, RelationLockMode::RowExclusive).expect("granted");
        assert!(matches!(replace(&mut txn, row, b"mine"), ModifyOutcome::Done));
        let mut other = read_committed(&waiter);
        let mut users = other.users_of(5);
        let ModifyOutcome::MustWait(wait) = replace(&mut other, row, b"yours") else {
            panic!("the row has an owner");
        };
        assert_eq!(engine.locks().blocking(waiter.pid()), [owner.pid()]);
        txn.prepare("x", b"note", None).expect("prepares");
        assert!(!wait.is_finished());
        assert_eq!(engine.locks().blocking(waiter.pid()), [0]);
        drop(wait);
        let wait_for_user = other.wait_for_users(&mut users).expect("it still uses the relation");
        assert!(!wait_for_user.is_finished());
        drop(wait_for_user);
        let ModifyOutcome::MustWait(wait) = replace(&mut other, row, b"yours") else {
            panic!("the row has an owner still");
        };
        // The session that prepared is free, and no other than the rest.
        let mut next = read_committed(&owner);
        assert_eq!(value(&engine, &next, row).expect("is there"), b"first");
        assert!(matches!(replace(&mut next, row, b"again"), ModifyOutcome::MustWait(_)));
        next.rollback().expect("rolls back");
        let held = engine.hold_prepared("x").expect("is there");
        assert_eq!(held.note(), b"note");
        let ended = if commit { held.commit_with(|| ()) } else { held.rollback() };
        let _ = ended.expect("ends");
        assert!(wait.is_finished());
        assert!(other.wait_for_users(&mut users).is_none());
        other.start_statement().expect("starts");
        let expected: &[u8] = if commit { b"mine" } else { b"first" };
        assert_eq!(value(&engine, &other, row).expect("is there"), expected);
        assert!(matches!(replace(&mut other, row, b"yours"), ModifyOutcome::Done));
        other.rollback().expect("rolls back");
        assert_eq!(engine.locks().entry_count(), 0);
    }
}

/// Strong, weak and advisory locks are held on, also after a crash; a session's own stay its own.
#[test]
fn locks_are_kept() {
    let vfs = CrashVfs::new(4);
    let engine = open(&vfs);
    let session = engine.new_session(DatabaseId::POSTGRES);
    let txn = read_committed(&session);
    txn.lock_relation_blocking(5, RelationLockMode::AccessShare).expect("granted");
    txn.lock_relation_blocking(6, RelationLockMode::AccessExclusive).expect("granted");
    let advise = |txn: &Txn, key, scope| {
        let mode = SharedMode::Exclusive;
        txn.try_lock_advisory(AdvisoryKey::Big(key), mode, scope).expect("no bound")
    };
    assert!(advise(&txn, 1, AdvisoryScope::Transaction));
    assert!(advise(&txn, 2, AdvisoryScope::Session));
    txn.prepare("x", &[], None).expect("prepares");
    let check = |engine: &Arc<Engine>, by_session: bool| {
        let other = engine.new_session(DatabaseId::POSTGRES);
        let txn = read_committed(&other);
        let lock = |oid, mode| txn.try_lock_relation(oid, mode).expect("no bound");
        assert!(lock(5, RelationLockMode::Exclusive), "ACCESS SHARE is in nobody's way but one's");
        assert!(!lock(5, RelationLockMode::AccessExclusive));
        assert!(!lock(6, RelationLockMode::AccessShare));
        assert!(!advise(&txn, 1, AdvisoryScope::Transaction));
        assert_eq!(advise(&txn, 2, AdvisoryScope::Transaction), !by_session);
        let report = engine.locks().report();
        assert_eq!(report.iter().filter(|lock| lock.prepared.is_some()).count(), 4);
        txn.rollback().expect("rolls back");
    };
    check(&engine, true);
    session.unlock_all_advisory();
    check(&engine, false);
    drop((session, engine));
    let engine = open(&vfs.crash());
    check(&engine, false);
    let _ = engine.hold_prepared("x").expect("is there").commit_with(|| ()).expect("commits");
    assert_eq!(engine.locks().entry_count(), 0);
    let session = engine.new_session(DatabaseId::POSTGRES);
    let txn = read_committed(&session);
    txn.lock_relation_blocking(6, RelationLockMode::RowExclusive).expect("granted");
    let fast = engine.locks().report().into_iter().any(|lock| lock.fast_path);
    assert!(fast, "no strong lock is counted any more");
}

#[test]
fn a_lock_in_two_hands_cannot_be_kept() {
    let engine = open(&CrashVfs::new(5));
    let session = engine.new_session(DatabaseId::POSTGRES);
    let txn = read_committed(&session);
    for scope in [AdvisoryScope::Transaction, AdvisoryScope::Session] {
        let (tag, mode) = (AdvisoryKey::Big(1), SharedMode::Shared);
        assert!(txn.try_lock_advisory(tag, mode, scope).expect("no bound"));
    }
    assert_eq!(code(txn.prepare("x", &[], None)), "0A000");
    assert!(engine.prepared_transactions().is_empty());
}

/// The version before, and the one before that, are reachable after a crash, for as long as the
/// transaction is prepared and then for those who began before its end.
#[test]
fn older_versions_outlive_a_crash() {
    let vfs = CrashVfs::new(6);
    let engine = open(&vfs);
    let [row, other] = with_rows(&engine);
    let session = engine.new_session(DatabaseId::POSTGRES);
    let mut txn = read_committed(&session);
    for with in [&b"second"[..], b"third", b"first of all"] {
        assert!(matches!(replace(&mut txn, row, with), ModifyOutcome::Done));
        txn.start_statement().expect("starts");
    }
    let savepoint = txn.undo_position();
    assert!(matches!(replace(&mut txn, other, b"taken back"), ModifyOutcome::Done));
    txn.rollback_to_savepoint(savepoint).expect("rolls back");
    txn.prepare("x", &[], None).expect("prepares");
    drop((session, engine));
    let engine = open(&vfs.crash());
    let (reader, late) =
        (engine.new_session(DatabaseId::POSTGRES), engine.new_session(DatabaseId::POSTGRES));
    let before = begin(&reader, IsolationLevel::RepeatableRead);
    assert_eq!(value(&engine, &before, row).expect("is there"), b"first");
    assert_eq!(value(&engine, &before, other).expect("is there"), b"other");
    let _ = engine.hold_prepared("x").expect("is there").commit_with(|| ()).expect("commits");
    let after = read_committed(&late);
    assert_eq!(value(&engine, &after, row).expect("is there"), b"first of all");
    engine.purge_all().expect("purges");
    assert_eq!(value(&engine, &before, row).expect("is there"), b"first");
    before.rollback().expect("rolls back");
    after.rollback().expect("rolls back");
    engine.wait_durable(Lsn(u64::MAX >> 1)).ok();
    engine.close().expect("closes");
    assert_eq!(engine.undo_usage(), (0, 0), "all undo is reclaimed");
}

/// Half of a write skew: reads one row, then changes the other.
fn half(txn: &mut Txn, read: RowId, change: RowId) -> steppe_types::Result<()> {
    let table = TableStore::open(txn.engine(), TABLE);
    table.get(&txn.view(), read, &mut RowBuf::new())?;
    let changed = table.modify(txn, change, &mut |_, out| {
        out.extend_from_slice(b"changed");
        Ok(Action::Replace { key_changed: false })
    })?;
    assert!(matches!(changed, ModifyOutcome::Done));
    Ok(())
}

/// Write skew, one half of which is prepared: the other half fails, and the prepared one never.
#[test]
fn a_prepared_serializable_transaction_is_no_victim() {
    for crash in [false, true] {
        let vfs = CrashVfs::new(7);
        let mut engine = open(&vfs);
        let [a, b] = with_rows(&engine);
        let session = engine.new_session(DatabaseId::POSTGRES);
        let mut one = begin(&session, IsolationLevel::Serializable);
        half(&mut one, b, a).expect("nobody is in the way");
        let other = engine.new_session(DatabaseId::POSTGRES);
        // It takes its snapshot before the first is prepared, unless a crash comes between.
        let mut two = begin(&other, IsolationLevel::Serializable);
        one.prepare("x", &[], None).expect("prepares");
        drop(session);
        if crash {
            drop((two, other, engine));
            engine = open(&vfs.crash());
            two = begin(&engine.new_session(DatabaseId::POSTGRES), IsolationLevel::Serializable);
        }
        let end = half(&mut two, a, b).and_then(|()| two.commit().map(drop));
        assert_eq!(code(end), "40001");
        let held = engine.hold_prepared("x").expect("is there");
        let _ = held.commit_with(|| ()).expect("commits");
    }
}

/// The log is kept from the first record of a prepared transaction on, however much comes after.
#[test]
fn checkpoints_keep_the_log_of_prepared_transactions() {
    let vfs = CrashVfs::new(8);
    let engine = open(&vfs);
    let [row, other] = with_rows(&engine);
    let session = engine.new_session(DatabaseId::POSTGRES);
    let mut txn = read_committed(&session);
    assert!(matches!(replace(&mut txn, row, b"prepared"), ModifyOutcome::Done));
    txn.prepare("x", &[], None).expect("prepares");
    for n in 0..3000_u32 {
        let mut txn = read_committed(&session);
        assert!(matches!(replace(&mut txn, other, &n.to_le_bytes()), ModifyOutcome::Done));
        let _ = txn.commit().expect("commits");
        if n % 500 == 0 {
            let _ = engine.checkpoint().expect("checkpoints");
        }
    }
    drop(session);
    engine.close().expect("closes");
    drop(engine);
    let engine = open(&vfs);
    let _ = engine.checkpoint().expect("checkpoints");
    drop(engine);
    let engine = open(&vfs.crash());
    let held = engine.hold_prepared("x").expect("is there");
    let _ = held.rollback().expect("rolls back");
    let session = engine.new_session(DatabaseId::POSTGRES);
    assert_eq!(value(&engine, &read_committed(&session), row).expect("is there"), b"first");
}
