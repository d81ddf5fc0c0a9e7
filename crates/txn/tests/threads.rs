//! Sessions in threads: money moves between accounts, and no snapshot ever sees
//! it on the way; a hot row is handed on in order; deadlocks end by themselves.

#![allow(missing_docs)]

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use steppe_txn::*;
use steppe_types::Result;
use steppe_vfs::{CrashVfs, SeededRandom};

fn open(background: bool) -> Arc<Engine> {
    let options = EngineOptions {
        pool_pages: 512,
        pages_max: 1 << 14,
        wal_buffers_bytes: 1 << 20,
        wal_segment_bytes: 1 << 20,
        undo_buffers_bytes: 256 << 10,
        undo_segment_bytes: 64 << 10,
        background,
        ..EngineOptions::default()
    };
    Engine::open(Arc::new(CrashVfs::new(1)), Path::new("data"), options).expect("opens")
}

const ACCOUNTS: u64 = 20;
const MONEY: i64 = 1000;

fn accounts(engine: &Arc<Engine>) -> (TableStore, Vec<RowId>) {
    let session = engine.new_session(DatabaseId::POSTGRES);
    let mut txn = Txn::begin(&session, IsolationLevel::ReadCommitted, false);
    txn.start_statement().expect("starts");
    let table = TableStore::create(&mut txn, Persistence::Logged).expect("creates");
    let ids = (0..ACCOUNTS)
        .map(|_| table.insert(&mut txn, &MONEY.to_le_bytes()).expect("inserts"))
        .collect();
    let wait = txn.commit().expect("commits");
    engine.wait_durable(wait.lsn).expect("flushes");
    (table, ids)
}

fn balance(row: &[u8]) -> i64 {
    i64::from_le_bytes(row.try_into().expect("8 bytes"))
}

/// Adds to the newest version, as READ COMMITTED does after its recheck.
fn add(txn: &mut Txn, table: &TableStore, id: RowId, amount: i64) -> Result<()> {
    loop {
        let outcome = table.modify(txn, id, &mut |current, out| {
            out.extend_from_slice(&(balance(current.row) + amount).to_le_bytes());
            Ok(Action::Replace { key_changed: false })
        })?;
        match outcome {
            ModifyOutcome::Done => return Ok(()),
            ModifyOutcome::MustWait(wait) => wait.wait_blocking()?,
            other => panic!("unexpected outcome {other:?}"),
        }
    }
}

fn transfer(session: &SessionHandle, table: &TableStore, ids: [RowId; 2]) -> Result<CommitWait> {
    let mut txn = Txn::begin(session, IsolationLevel::ReadCommitted, false);
    txn.start_statement()?;
    add(&mut txn, table, ids[0], -1)?;
    txn.start_statement()?;
    add(&mut txn, table, ids[1], 1)?;
    txn.commit()
}

fn sum(session: &SessionHandle, table: &TableStore) -> i64 {
    let mut txn = Txn::begin(session, IsolationLevel::RepeatableRead, true);
    txn.start_statement().expect("starts");
    let mut total = 0;
    let mut cursor = table.scan_all(txn.view()).expect("scans");
    while let Some((_, row)) = cursor.next().expect("reads") {
        total += balance(row);
    }
    let mut again = 0;
    let mut cursor = table.scan_all(txn.view()).expect("scans");
    let mut count = |_: RowId, row: &[u8]| {
        again += balance(row);
        Ok(())
    };
    while cursor.next_batch(&mut count).expect("reads") {}
    assert_eq!(total, again, "one snapshot, two answers");
    txn.rollback().expect("ends");
    total
}

#[test]
fn no_snapshot_sees_money_on_its_way() {
    let engine = open(true);
    let (table, ids) = accounts(&engine);
    let stop = Arc::new(AtomicBool::new(false));
    let writers: Vec<_> = (0..3)
        .map(|seed| {
            let (engine, table, ids) = (Arc::clone(&engine), table.clone(), ids.clone());
            std::thread::spawn(move || {
                let (random, session) =
                    (SeededRandom::new(seed), engine.new_session(DatabaseId::POSTGRES));
                session.shared().set_deadlock_timeout(Duration::from_millis(5));
                let (mut commits, mut deadlocks) = (0, 0);
                while commits < 5000 {
                    let pair = [(); 2].map(|()| ids[random.below(ACCOUNTS) as usize]);
                    match transfer(&session, &table, pair) {
                        Ok(wait) if commits % 50 == 0 => {
                            engine.wait_durable(wait.lsn).expect("flushes");
                            commits += 1;
                        }
                        Ok(_) => commits += 1,
                        Err(error) => {
                            assert_eq!(error.sqlstate().as_str(), "40P01", "{error}");
                            deadlocks += 1;
                        }
                    }
                    assert!(deadlocks < 100_000, "no progress");
                }
            })
        })
        .collect();
    let reader = {
        let (engine, table, stop) = (Arc::clone(&engine), table.clone(), Arc::clone(&stop));
        std::thread::spawn(move || {
            let session = engine.new_session(DatabaseId::POSTGRES);
            let mut sums = 0;
            while !stop.load(Ordering::Relaxed) {
                assert_eq!(sum(&session, &table), ACCOUNTS as i64 * MONEY);
                sums += 1;
                if sums % 16 == 0 {
                    engine.checkpoint().expect("checkpoints");
                }
            }
        })
    };
    for writer in writers {
        writer.join().expect("no panic");
    }
    stop.store(true, Ordering::Relaxed);
    reader.join().expect("no panic");
    assert_eq!(engine.locks().entry_count(), 0);
    engine.close().expect("closes");
    assert_eq!(engine.undo_usage(), (0, 0));
}

/// Every session wants the same row: nobody is lost, nobody fails.
#[test]
fn a_hot_row_goes_from_hand_to_hand() {
    let engine = open(true);
    let (table, ids) = accounts(&engine);
    let threads: Vec<_> = (0..8)
        .map(|_| {
            let (engine, table, hot) = (Arc::clone(&engine), table.clone(), ids[0]);
            std::thread::spawn(move || {
                let session = engine.new_session(DatabaseId::POSTGRES);
                for _ in 0..3000 {
                    let mut txn = Txn::begin(&session, IsolationLevel::ReadCommitted, false);
                    txn.start_statement().expect("starts");
                    add(&mut txn, &table, hot, 1).expect("one row cannot deadlock");
                    let _ = txn.commit().expect("commits");
                }
            })
        })
        .collect();
    for thread in threads {
        thread.join().expect("no panic");
    }
    let session = engine.new_session(DatabaseId::POSTGRES);
    assert_eq!(sum(&session, &table), ACCOUNTS as i64 * MONEY + 8 * 3000);
}

/// Threads insert and delete the same few keys of a unique index: at any moment
/// a key has at most one row.
#[test]
fn a_unique_key_has_one_row() {
    let engine = open(true);
    let session = engine.new_session(DatabaseId::POSTGRES);
    let mut txn = Txn::begin(&session, IsolationLevel::ReadCommitted, false);
    txn.start_statement().expect("starts");
    let table = TableStore::create(&mut txn, Persistence::Logged).expect("creates");
    let index = IndexStore::create(&mut txn, true, Persistence::Logged).expect("creates");
    let _ = txn.commit().expect("commits");
    let threads: Vec<_> = (0..4u64)
        .map(|seed| {
            let (engine, table, index) = (Arc::clone(&engine), table.clone(), index.clone());
            std::thread::spawn(move || {
                let (random, session) =
                    (SeededRandom::new(seed), engine.new_session(DatabaseId::POSTGRES));
                for _ in 0..5000 {
                    put_or_take(&session, &table, &index, random.below(5) as u8, &random)
                        .expect("one key at a time cannot deadlock");
                }
            })
        })
        .collect();
    for thread in threads {
        thread.join().expect("no panic");
    }
    let mut txn = Txn::begin(&session, IsolationLevel::ReadCommitted, false);
    txn.start_statement().expect("starts");
    let mut keys = Vec::new();
    let mut cursor = table.scan_all(txn.view()).expect("scans");
    while let Some((_, row)) = cursor.next().expect("reads") {
        keys.push(row[0]);
    }
    keys.sort_unstable();
    let mut distinct = keys.clone();
    distinct.dedup();
    assert_eq!(keys, distinct);
    txn.rollback().expect("ends");
}

fn put_or_take(
    session: &SessionHandle,
    table: &TableStore,
    index: &IndexStore,
    key: u8,
    random: &SeededRandom,
) -> Result<()> {
    let mut txn = Txn::begin(session, IsolationLevel::ReadCommitted, false);
    txn.start_statement()?;
    let row = table.insert(&mut txn, &[key])?;
    let holder = loop {
        match index.insert(&mut txn, &[key], false, row)? {
            IndexInsert::Done => break None,
            IndexInsert::Duplicate(holder) => break Some(holder),
            IndexInsert::MustWait(wait) => wait.wait_blocking()?,
        }
    };
    let Some(holder) = holder else {
        if random.chance(1, 3) {
            return txn.rollback();
        }
        return txn.commit().map(drop);
    };
    txn.rollback()?;
    let mut txn = Txn::begin(session, IsolationLevel::ReadCommitted, false);
    txn.start_statement()?;
    loop {
        match table.modify(&mut txn, holder, &mut |_, _| Ok(Action::Delete))? {
            ModifyOutcome::Done => {
                index.mark_deleted(&mut txn, &[key], false, holder)?;
                return txn.commit().map(drop);
            }
            ModifyOutcome::MustWait(wait) => wait.wait_blocking()?,
            ModifyOutcome::NotFound | ModifyOutcome::DeletedConcurrently { .. } => {
                return txn.rollback();
            }
            other => panic!("unexpected outcome {other:?}"),
        }
    }
}

/// A row that is locked FOR SHARE keeps its value, though writers write it as soon as they may; and
/// one that waits for it gets it.
#[test]
fn nobody_writes_a_row_that_is_shared() {
    let engine = open(true);
    let (table, ids) = accounts(&engine);
    let hot = ids[0];
    let stop = Arc::new(AtomicBool::new(false));
    let locked = |txn: &mut Txn, mode: RowLockMode| loop {
        match table.lock_row(txn, hot, mode, WaitPolicy::Block).expect("locks") {
            LockOutcome::Locked => return true,
            LockOutcome::MustWait(wait) => wait.wait_blocking().expect("is granted"),
            LockOutcome::UpdatedConcurrently { .. } => return false,
            other => panic!("unexpected outcome {other:?}"),
        }
    };
    std::thread::scope(|scope| {
        for reader in 0..3_u64 {
            let (engine, table, stop) = (&engine, &table, &stop);
            scope.spawn(move || {
                let session = engine.new_session(DatabaseId::POSTGRES);
                let mut round = reader;
                while !stop.load(Ordering::Relaxed) {
                    round += 1;
                    let mut txn = Txn::begin(&session, IsolationLevel::ReadCommitted, false);
                    txn.start_statement().expect("starts");
                    let mode = [RowLockMode::Share, RowLockMode::KeyShare][round as usize % 2];
                    if locked(&mut txn, mode) && mode == RowLockMode::Share {
                        let mut row = RowBuf::new();
                        let mut read = |txn: &mut Txn| {
                            txn.start_statement().expect("starts");
                            let found = table.get(&txn.view(), hot, &mut row).expect("reads");
                            found.map(|_| balance(row.row()))
                        };
                        let before = read(&mut txn);
                        (0..round % 3).for_each(|_| std::thread::yield_now());
                        assert_eq!(read(&mut txn), before, "somebody has written it");
                    }
                    let _ = txn.commit().expect("commits");
                }
            });
        }
        let writers: Vec<_> = (0..2)
            .map(|writer| {
                let (engine, table) = (&engine, &table);
                scope.spawn(move || {
                    let session = engine.new_session(DatabaseId::POSTGRES);
                    for n in 0..3000 {
                        let mut txn = Txn::begin(&session, IsolationLevel::ReadCommitted, false);
                        txn.start_statement().expect("starts");
                        if (n + writer) % 4 == 0 {
                            locked(&mut txn, RowLockMode::Update);
                        }
                        add(&mut txn, table, hot, 1).expect("writes");
                        // Who takes the row for shared now is found out when this commits.
                        (0..n % 3).for_each(|_| std::thread::yield_now());
                        let _ = txn.commit().expect("commits");
                    }
                })
            })
            .collect();
        writers.into_iter().for_each(|writer| writer.join().expect("writes"));
        stop.store(true, Ordering::Relaxed);
    });
    let session = engine.new_session(DatabaseId::POSTGRES);
    assert_eq!(sum(&session, &table), ACCOUNTS as i64 * MONEY + 6000);
}
