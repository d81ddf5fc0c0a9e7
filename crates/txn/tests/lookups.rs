//! Rows and keys that are looked up many at a time, beside single reads.

#![allow(missing_docs)]

use std::ops::Bound;
use std::path::Path;
use std::sync::Arc;

use steppe_txn::*;
use steppe_vfs::{CrashVfs, Random, SeededRandom};

const ROWS: usize = 1500;

fn open() -> Arc<Engine> {
    let options = EngineOptions {
        pool_pages: 128,
        pages_max: 1 << 14,
        wal_buffers_bytes: 64 << 10,
        wal_segment_bytes: 1 << 20,
        wal_bytes_min: 1 << 20,
        system_id: Some(7),
        background: false,
        ..EngineOptions::default()
    };
    Engine::open(Arc::new(CrashVfs::new(1)), Path::new("data"), options).expect("opens")
}

fn begin(session: &SessionHandle, level: IsolationLevel) -> Txn {
    let mut txn = Txn::begin(session, level, false);
    txn.start_statement().expect("starts");
    txn
}

fn commit(txn: Txn) {
    let engine = Arc::clone(txn.engine());
    engine.wait_durable(txn.commit().expect("commits").lsn).expect("flushes");
}

fn random(rng: &SeededRandom, bound: usize) -> usize {
    let mut bytes = [0; 8];
    rng.fill(&mut bytes).expect("fills");
    (u64::from_le_bytes(bytes) % bound as u64) as usize
}

/// A table, an index over groups of rows, and a unique one.
struct World {
    table: TableStore,
    groups: IndexStore,
    numbers: IndexStore,
    ids: Vec<RowId>,
    /// Which version each row has; `None`: deleted.
    versions: Vec<Option<usize>>,
}

fn row_of(n: usize, version: usize) -> Vec<u8> {
    let mut row = format!("row {n} in version {version} ").into_bytes();
    // Some are as long as a row can be: what is longer is stored elsewhere.
    let len = if n.is_multiple_of(50) { 2400 } else { n % 90 };
    row.resize(row.len() + len, version as u8);
    row
}

/// Groups of unequal size, the largest of several leaves.
fn group_of(n: usize, version: usize) -> [u8; 6] {
    let group = if n < 600 { 7 } else { (n / 5 + version) as u32 };
    let mut key = [0; 6];
    key[..4].copy_from_slice(&group.to_be_bytes());
    key[5] = n as u8;
    key
}

fn number_of(n: usize) -> [u8; 8] {
    (n as u64 * 77).to_be_bytes()
}

impl World {
    fn new(session: &SessionHandle) -> World {
        let mut txn = begin(session, IsolationLevel::ReadCommitted);
        let table = TableStore::create(&mut txn, Persistence::Logged).expect("creates");
        let groups = IndexStore::create(&mut txn, false, Persistence::Logged).expect("creates");
        let numbers = IndexStore::create(&mut txn, true, Persistence::Logged).expect("creates");
        let mut ids = Vec::new();
        for n in 0..ROWS {
            let id = table.insert(&mut txn, &row_of(n, 0)).expect("inserts");
            groups.insert(&mut txn, &group_of(n, 0), false, id).expect("inserts");
            numbers.insert(&mut txn, &number_of(n), false, id).expect("inserts");
            ids.push(id);
        }
        commit(txn);
        World { table, groups, numbers, ids, versions: vec![Some(0); ROWS] }
    }

    /// Changes some rows in a transaction.
    fn change(&mut self, txn: &mut Txn, rng: &SeededRandom) {
        for _ in 0..100 {
            let n = random(rng, ROWS);
            let Some(version) = self.versions[n] else { continue };
            let (id, delete) = (self.ids[n], random(rng, 4) == 0);
            let mut f = |_: Current<'_>, out: &mut Vec<u8>| {
                out.extend_from_slice(&row_of(n, version + 1));
                Ok(if delete { Action::Delete } else { Action::Replace { key_changed: false } })
            };
            let done = self.table.modify(txn, id, &mut f).expect("modifies");
            if !matches!(done, ModifyOutcome::Done) {
                continue;
            }
            let old = group_of(n, version);
            self.groups.mark_deleted(txn, &old, false, id).expect("marks");
            if delete {
                self.numbers.mark_deleted(txn, &number_of(n), false, id).expect("marks");
            } else {
                let new = group_of(n, version + 1);
                self.groups.insert(txn, &new, false, id).expect("inserts");
            }
            self.versions[n] = (!delete).then_some(version + 1);
        }
    }
}

fn compare_rows(world: &World, view: &View, rng: &SeededRandom) -> usize {
    let (first, step) = (random(rng, ROWS), 1 + random(rng, ROWS));
    let mut ids: Vec<RowId> =
        (0..random(rng, 300)).map(|i| world.ids[(first + i * step) % ROWS]).collect();
    ids.push(RowId(u64::MAX));
    ids.push(ids[0]);
    if random(rng, 2) == 0 {
        ids.sort_unstable();
    }
    let (mut block, mut places, mut buffer) = (RowBlock::default(), Vec::new(), RowBuf::new());
    world.table.get_block(view, &ids, &mut block, &mut places).expect("reads");
    let mut next = 0;
    for (place, &id) in ids.iter().enumerate() {
        let Some(meta) = world.table.get(view, id, &mut buffer).expect("reads") else { continue };
        assert_eq!(places[next] as usize, place);
        assert_eq!(block.row(next), buffer.row());
        assert_eq!(block.meta(next), Some(meta));
        next += 1;
    }
    assert_eq!((block.len(), places.len()), (next, next));
    next
}

type Postings = Vec<(Vec<u8>, RowId, Visibility)>;

fn scanned(index: &IndexStore, view: &View, key: &[u8]) -> Postings {
    let key = Bound::Included(key);
    let mut cursor = index.scan(view.clone(), key, key, Direction::Forward).expect("begins");
    let mut all = Vec::new();
    while let Some((key, row, visibility)) = cursor.next().expect("reads") {
        all.push((key.to_vec(), row, visibility));
    }
    all
}

/// Looks keys up with a limit, as a caller has to: what is too much is scanned for.
fn looked_up(
    index: &IndexStore,
    view: &View,
    keys: &LookupKeys,
    most: usize,
) -> (Vec<Postings>, usize) {
    let (mut found, mut all, mut scans) = (Found::default(), Vec::new(), 0);
    while all.len() < keys.len() {
        index.lookup_many(view, keys, all.len(), most, &mut found).expect("reads");
        assert!(found.rows().len() <= most);
        for i in 0..found.keys() {
            let postings = found
                .rows_of(i)
                .map(|at| (found.key(at).to_vec(), found.rows()[at], found.visibility(at)));
            all.push(postings.collect());
        }
        if found.keys() == 0 {
            scans += 1;
            all.push(scanned(index, view, keys.key(all.len())));
        }
    }
    (all, scans)
}

fn compare_keys(world: &World, view: &View, rng: &SeededRandom) {
    let (mut groups, mut numbers) = (LookupKeys::default(), LookupKeys::default());
    for _ in 0..60 {
        let n = random(rng, ROWS + 20);
        let len = [4, 6][random(rng, 2)];
        groups.push(&group_of(n, random(rng, 3))[..len]);
        numbers.push(&number_of(n));
    }
    for most in [100, 5000] {
        for (index, keys) in [(&world.groups, &groups), (&world.numbers, &numbers)] {
            let (all, scans) = looked_up(index, view, keys, most);
            for (i, postings) in all.iter().enumerate() {
                assert_eq!(*postings, scanned(index, view, keys.key(i)));
            }
            let has_large = all.iter().any(|postings| postings.len() > most);
            assert_eq!(scans > 0, has_large, "what fits is looked up");
        }
    }
}

fn compare(world: &World, view: &View, rng: &SeededRandom) {
    let found: usize = (0..5).map(|_| compare_rows(world, view, rng)).sum();
    assert!(found > 0);
    compare_keys(world, view, rng);
}

#[test]
fn many_lookups_find_what_single_ones_do() {
    for seed in 0..3 {
        let rng = SeededRandom::new(seed);
        let engine = open();
        let (a, b) =
            (engine.new_session(DatabaseId::POSTGRES), engine.new_session(DatabaseId::POSTGRES));
        let mut world = World::new(&a);
        let (mut old, mut own) = (begin(&b, IsolationLevel::RepeatableRead), None);
        let c = engine.new_session(DatabaseId::POSTGRES);
        let mut cautious = begin(&c, IsolationLevel::Serializable);
        for _ in 0..4 {
            compare(&world, &old.view(), &rng);
            let mut txn = begin(&a, IsolationLevel::ReadCommitted);
            world.change(&mut txn, &rng);
            txn.start_statement().expect("starts");
            compare(&world, &txn.view(), &rng);
            world.change(&mut txn, &rng);
            // Changes of a command that is not over, and of one that runs.
            compare(&world, &txn.view(), &rng);
            compare(&world, &old.view(), &rng);
            commit(txn);
            compare(&world, &old.view(), &rng);
            compare(&world, &cautious.view(), &rng);
            own = Some(begin(&a, IsolationLevel::ReadCommitted));
            compare(&world, &own.as_ref().expect("is there").view(), &rng);
            commit(own.take().expect("is there"));
        }
        old.end_statement();
        cautious.end_statement();
        assert!(own.is_none());
        old.rollback().expect("ends");
        cautious.rollback().expect("ends");
    }
}

#[test]
fn what_was_looked_up_is_noted_as_read() {
    let rng = SeededRandom::new(1);
    let engine = open();
    let (a, b) =
        (engine.new_session(DatabaseId::POSTGRES), engine.new_session(DatabaseId::POSTGRES));
    let mut world = World::new(&a);
    let mut reader = begin(&a, IsolationLevel::Serializable);
    let (mut block, mut places) = (RowBlock::default(), Vec::new());
    let view = reader.view();
    world.table.get_block(&view, &world.ids, &mut block, &mut places).expect("reads");
    let mut writer = begin(&b, IsolationLevel::Serializable);
    let view = writer.view();
    world.table.get_block(&view, &world.ids, &mut block, &mut places).expect("reads");
    world.change(&mut writer, &rng);
    commit(writer);
    reader.start_statement().expect("starts");
    let id = world.ids[0];
    let mut f = |_: Current<'_>, out: &mut Vec<u8>| {
        out.extend_from_slice(b"write skew");
        Ok(Action::Replace { key_changed: false })
    };
    let failed = match world.table.modify(&mut reader, id, &mut f) {
        Err(error) => error,
        Ok(_) => reader.commit().expect_err("each has read what the other one writes"),
    };
    assert_eq!(failed.sqlstate().to_string(), "40001");
}
