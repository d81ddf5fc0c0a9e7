//! What is deleted goes as fast as it comes: beside undo that is not full, after an old snapshot,
//! and after a crash that has made undo forget it.

#![allow(missing_docs)]

use std::path::Path;
use std::sync::Arc;

use steppe_txn::*;
use steppe_vfs::CrashVfs;

fn open(vfs: &CrashVfs) -> Arc<Engine> {
    let options = EngineOptions {
        pool_pages: 512,
        pages_max: 1 << 14,
        wal_buffers_bytes: 1 << 20,
        wal_segment_bytes: 1 << 20,
        wal_bytes_min: 1 << 20,
        system_id: Some(7),
        background: false,
        ..EngineOptions::default()
    };
    Engine::open(Arc::new(vfs.clone()), Path::new("data"), options).expect("opens")
}

fn begin(session: &SessionHandle) -> Txn {
    let mut txn = Txn::begin(session, IsolationLevel::ReadCommitted, false);
    txn.start_statement().expect("starts");
    txn
}

fn commit(txn: Txn) {
    let engine = Arc::clone(txn.engine());
    let lsn = txn.commit().expect("commits").lsn;
    engine.wait_durable(lsn).expect("flushes");
}

/// A table used as a queue, with a unique and another index on its number.
struct Queue {
    table: TableStore,
    indexes: [IndexStore; 2],
    rows: std::collections::VecDeque<(u64, RowId)>,
    next: u64,
}

impl Queue {
    fn create(session: &SessionHandle) -> Queue {
        let mut txn = begin(session);
        let table = TableStore::create(&mut txn, Persistence::Logged).expect("creates");
        let indexes = [true, false]
            .map(|u| IndexStore::create(&mut txn, u, Persistence::Logged).expect("creates"));
        commit(txn);
        Queue { table, indexes, rows: Default::default(), next: 0 }
    }

    fn reopen(&mut self, engine: &Engine) {
        self.table = TableStore::open(engine, self.table.file());
        self.indexes = [true, false].map(|unique| {
            IndexStore::open(engine, self.indexes[usize::from(!unique)].file(), unique)
        });
    }

    fn push(&mut self, txn: &mut Txn) {
        let key = self.next.to_be_bytes();
        let row = self.table.insert(txn, &key).expect("inserts");
        for index in &self.indexes {
            let inserted = index.insert(txn, &key, false, row).expect("inserts");
            assert!(matches!(inserted, IndexInsert::Done));
        }
        self.rows.push_back((self.next, row));
        self.next += 1;
    }

    fn pop(&mut self, txn: &mut Txn) {
        let (number, row) = self.rows.pop_front().expect("there is one");
        self.table.modify(txn, row, &mut |_, _| Ok(Action::Delete)).expect("deletes");
        for index in &self.indexes {
            index.mark_deleted(txn, &number.to_be_bytes(), false, row).expect("marks");
        }
    }

    /// Entries of the table and its indexes, dead ones included.
    fn entries(&self) -> [usize; 3] {
        let trees = [
            self.table.tree().expect("reads"),
            self.indexes[0].tree().expect("reads"),
            self.indexes[1].tree().expect("reads"),
        ];
        trees.map(|tree| {
            let tree = tree.expect("was written to");
            let all = std::ops::Bound::Unbounded;
            let mut cursor = tree.scan(all, all, steppe_storage::Direction::Forward);
            let mut count = 0;
            while cursor.next_page().expect("reads") {
                count += cursor.remaining();
            }
            count
        })
    }

    fn pages(&self) -> u64 {
        let tree = self.indexes[0].tree().expect("reads").expect("was written to");
        tree.page_count().expect("reads")
    }

    /// What a reader meets.
    fn scan(&self, session: &SessionHandle) -> [usize; 3] {
        let txn = begin(session);
        let mut rows = self.table.scan_all(txn.view()).expect("scans");
        let mut found = [0; 3];
        while rows.next().expect("reads").is_some() {
            found[0] += 1;
        }
        let all = std::ops::Bound::Unbounded;
        for (index, found) in self.indexes.iter().zip(&mut found[1..]) {
            let direction = steppe_storage::Direction::Forward;
            let mut postings = index.scan(txn.view(), all, all, direction).expect("scans");
            while postings.next().expect("reads").is_some() {
                *found += 1;
            }
        }
        commit(txn);
        found
    }
}

#[test]
fn a_queue_is_cleaned_up_after_as_fast_as_it_moves() {
    let engine = open(&CrashVfs::new(1));
    let session = engine.new_session(DatabaseId::POSTGRES);
    let mut queue = Queue::create(&session);
    for n in 0..2000 {
        let mut txn = begin(&session);
        queue.push(&mut txn);
        if n >= 3 {
            queue.pop(&mut txn);
        }
        commit(txn);
        if n % 10 == 9 {
            engine.purge().expect("purges");
            assert_eq!(queue.entries(), [3; 3], "after {n}");
        }
    }
    assert!(queue.pages() <= 2, "{} pages", queue.pages());
    // So that nothing of this is due to full segments of undo.
    assert_eq!(engine.undo_usage(), (1 << 20, 0));
}

#[test]
fn what_an_old_snapshot_has_held_goes_when_it_ends() {
    let engine = open(&CrashVfs::new(1));
    let (session, old) =
        (engine.new_session(DatabaseId::POSTGRES), engine.new_session(DatabaseId::POSTGRES));
    let mut queue = Queue::create(&session);
    let mut txn = begin(&session);
    (0..3).for_each(|_| queue.push(&mut txn));
    commit(txn);
    let mut reader = begin(&old);
    let view = reader.view();
    reader.hold_snapshot(view.snapshot());
    for _ in 0..500 {
        let mut txn = begin(&session);
        queue.push(&mut txn);
        queue.pop(&mut txn);
        commit(txn);
        engine.purge().expect("purges");
    }
    assert_eq!(queue.entries(), [503; 3]);
    let mut rows = queue.table.scan_all(view.clone()).expect("scans");
    let mut seen = Vec::new();
    while let Some((_, row)) = rows.next().expect("reads") {
        seen.push(row.to_vec());
    }
    assert_eq!(seen, [0u64, 1, 2].map(|n| n.to_be_bytes().to_vec()));
    reader.release_snapshot(view.snapshot());
    reader.rollback().expect("ends");
    engine.purge().expect("purges");
    assert_eq!(queue.entries(), [3; 3]);
}

#[test]
fn what_a_crash_has_made_undo_forget_goes_when_a_scan_passes_it() {
    let vfs = CrashVfs::new(1);
    let engine = open(&vfs);
    let session = engine.new_session(DatabaseId::POSTGRES);
    let mut queue = Queue::create(&session);
    for _ in 0..30 {
        let mut txn = begin(&session);
        (0..100).for_each(|_| queue.push(&mut txn));
        commit(txn);
    }
    for _ in 0..20 {
        let mut txn = begin(&session);
        (0..100).for_each(|_| queue.pop(&mut txn));
        commit(txn);
    }
    engine.checkpoint().expect("checkpoints");
    drop((session, engine));
    let engine = open(&vfs.crash());
    let session = engine.new_session(DatabaseId::POSTGRES);
    queue.reopen(&engine);
    engine.purge_all().expect("purges");
    assert_eq!(queue.entries(), [3000; 3], "the log before the checkpoint is not looked at");
    assert_eq!(queue.scan(&session), [1000; 3]);
    let removed = engine.purge().expect("purges");
    assert_eq!(removed, 6000);
    assert_eq!(queue.entries(), [1000; 3]);
    assert_eq!(queue.scan(&session), [1000; 3]);
}
