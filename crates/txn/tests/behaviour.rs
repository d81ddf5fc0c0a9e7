//! Single promises of the interface, one test each.

#![allow(missing_docs)]

use std::path::Path;
use std::sync::Arc;

use steppe_txn::*;
use steppe_vfs::CrashVfs;

fn open(vfs: &CrashVfs) -> Arc<Engine> {
    open_with_segments(vfs, 64 << 10)
}

fn open_with_segments(vfs: &CrashVfs, wal_segment_bytes: u64) -> Arc<Engine> {
    let options = EngineOptions {
        pool_pages: 64,
        pages_max: 1 << 14,
        wal_buffers_bytes: 64 << 10,
        wal_segment_bytes,
        wal_bytes_min: 64 << 10,
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

fn table_of(session: &SessionHandle, rows: &[&[u8]]) -> (TableStore, Vec<RowId>) {
    let mut txn = begin(session);
    let table = TableStore::create(&mut txn, Persistence::Logged).expect("creates");
    let mut new = NewRows::default();
    rows.iter().for_each(|row| new.push(row));
    let mut ids = Vec::new();
    table.insert_batch(&mut txn, &mut new, &mut ids).expect("inserts");
    let wait = txn.commit().expect("commits");
    session.engine().wait_durable(wait.lsn).expect("flushes");
    (table, ids)
}

fn replace(txn: &mut Txn, table: &TableStore, id: RowId, row: &[u8]) -> ModifyOutcome {
    let mut f = |_: Current<'_>, out: &mut Vec<u8>| {
        out.extend_from_slice(row);
        Ok(Action::Replace { key_changed: false })
    };
    table.modify(txn, id, &mut f).expect("modifies")
}

#[test]
fn who_reads_what_is_not_durable_waits_for_it() {
    let engine = open(&CrashVfs::new(1));
    let (a, b) =
        (engine.new_session(DatabaseId::POSTGRES), engine.new_session(DatabaseId::POSTGRES));
    let (table, ids) = table_of(&a, &[b"old"]);
    let mut txn = begin(&a);
    replace(&mut txn, &table, ids[0], b"new");
    let written = txn.commit().expect("commits").lsn;
    assert!(!engine.wal().is_durable(written));
    let txn = begin(&b);
    let mut buffer = RowBuf::new();
    assert!(b.observed_lsn() < written);
    table.get(&txn.view(), ids[0], &mut buffer).expect("reads").expect("is there");
    assert_eq!(buffer.row(), b"new");
    assert_eq!(b.observed_lsn(), written);
    assert!(txn.commit().expect("commits").lsn >= written, "a reader's commit waits, too");
}

#[test]
fn a_held_snapshot_outlives_its_statement() {
    let engine = open(&CrashVfs::new(1));
    let (a, b) =
        (engine.new_session(DatabaseId::POSTGRES), engine.new_session(DatabaseId::POSTGRES));
    let (table, ids) = table_of(&a, &[b"one", b"two"]);
    let mut reader = begin(&b);
    let view = reader.view();
    reader.hold_snapshot(view.snapshot());
    reader.end_statement();
    for n in 0..100u8 {
        let mut txn = begin(&a);
        replace(&mut txn, &table, ids[0], &[n; 50]);
        engine.wait_durable(txn.commit().expect("commits").lsn).expect("flushes");
        engine.purge_all().expect("purges");
        reader.start_statement().expect("starts");
        reader.end_statement();
    }
    let mut buffer = RowBuf::new();
    table.get(&view, ids[0], &mut buffer).expect("reads").expect("is there");
    assert_eq!(buffer.row(), b"one");
    reader.release_snapshot(view.snapshot());
    engine.purge_all().expect("purges");
    assert_eq!(engine.undo_usage(), (0, 0));
    reader.rollback().expect("ends");
}

#[test]
fn key_share_goes_beside_an_update_that_leaves_the_key_alone() {
    let engine = open(&CrashVfs::new(1));
    let (a, b) =
        (engine.new_session(DatabaseId::POSTGRES), engine.new_session(DatabaseId::POSTGRES));
    let (table, ids) = table_of(&a, &[b"one", b"two"]);
    let mut writer = begin(&a);
    replace(&mut writer, &table, ids[0], b"eno");
    let mut sharer = begin(&b);
    let mut lock = |mode| table.lock_row(&mut sharer, ids[0], mode, WaitPolicy::DontWait);
    assert!(matches!(lock(RowLockMode::KeyShare), Ok(LockOutcome::Locked)));
    assert!(matches!(lock(RowLockMode::Share), Ok(LockOutcome::WouldBlock)));
    let _ = writer.commit().expect("commits");
    let mut writer = begin(&a);
    let delete = &mut |_: Current<'_>, _: &mut Vec<u8>| Ok(Action::Delete);
    let outcome = table.modify(&mut writer, ids[0], delete).expect("modifies");
    let ModifyOutcome::MustWait(wait) = outcome else { panic!("{outcome:?}") };
    assert!(!wait.is_finished());
    sharer.rollback().expect("ends");
    assert!(wait.is_finished(), "the lock was handed over");
    wait.wait_blocking().expect("granted");
    let outcome = table.modify(&mut writer, ids[0], delete).expect("modifies");
    assert!(matches!(outcome, ModifyOutcome::Done));
    writer.rollback().expect("ends");
}

#[test]
fn a_command_does_not_meet_its_own_changes() {
    let engine = open(&CrashVfs::new(1));
    let session = engine.new_session(DatabaseId::POSTGRES);
    let (table, ids) = table_of(&session, &[b"one"]);
    let mut txn = begin(&session);
    assert!(matches!(replace(&mut txn, &table, ids[0], b"two"), ModifyOutcome::Done));
    let again = replace(&mut txn, &table, ids[0], b"six");
    assert!(matches!(again, ModifyOutcome::SelfUpdated { by: OwnCommand::This }));
    let mut buffer = RowBuf::new();
    table.get(&txn.view(), ids[0], &mut buffer).expect("reads").expect("is there");
    assert_eq!(buffer.row(), b"one");
    txn.start_statement().expect("starts");
    table.get(&txn.view(), ids[0], &mut buffer).expect("reads").expect("is there");
    assert_eq!(buffer.row(), b"two");
    assert!(matches!(replace(&mut txn, &table, ids[0], b"two"), ModifyOutcome::Done));
    let again = replace(&mut txn, &table, ids[0], b"two");
    let is_skipped = matches!(again, ModifyOutcome::SelfUpdated { by: OwnCommand::This });
    assert!(is_skipped, "the same bytes are a new version");
    txn.rollback().expect("ends");
}

/// A statement with others within it, as a function's are: each with its own number.
#[test]
fn a_statement_goes_on_with_its_own_number() {
    let engine = open(&CrashVfs::new(1));
    let session = engine.new_session(DatabaseId::POSTGRES);
    let (table, ids) = table_of(&session, &[b"one", b"two", b"three"]);
    let seen = |txn: &Txn| {
        let (view, mut buffer) = (txn.view(), RowBuf::new());
        let rows = ids.iter().map(|&id| {
            table.get(&view, id, &mut buffer).expect("reads").expect("is there");
            String::from_utf8(buffer.row().to_vec()).expect("is text")
        });
        rows.collect::<Vec<_>>().join(" ")
    };
    let by = |txn: &mut Txn, id| match replace(txn, &table, id, b"again") {
        ModifyOutcome::SelfUpdated { by } => by,
        other => panic!("{other:?}"),
    };
    let is_done = |outcome| matches!(outcome, ModifyOutcome::Done);
    let mut txn = begin(&session);
    txn.use_command();
    let number = txn.command_id();
    assert!(is_done(replace(&mut txn, &table, ids[0], b"outer")));

    let outer = txn.suspend_statement();
    txn.start_statement().expect("starts");
    assert_eq!(seen(&txn), "outer two three", "what has run so far");
    assert!(is_done(replace(&mut txn, &table, ids[1], b"inner")));
    txn.resume_statement(outer);
    assert_eq!((txn.command_id(), &*seen(&txn)), (number, "one two three"));
    assert_eq!(by(&mut txn, ids[0]), OwnCommand::This, "is met again");
    assert_eq!(by(&mut txn, ids[1]), OwnCommand::Later, "is taken away");
    let locked = table.lock_row(&mut txn, ids[1], RowLockMode::Update, WaitPolicy::DontWait);
    let Ok(LockOutcome::SelfUpdated { by: OwnCommand::Later, newest: Some(newest) }) = locked
    else {
        panic!("{locked:?}");
    };
    assert_eq!(newest.row, b"inner");
    assert!(is_done(replace(&mut txn, &table, ids[2], b"late")));

    let outer = txn.suspend_statement();
    txn.start_statement().expect("starts");
    assert_eq!(seen(&txn), "outer inner late");
    assert!(is_done(replace(&mut txn, &table, ids[0], b"over")));
    txn.resume_statement(outer);
    assert_eq!(seen(&txn), "one two three");
    assert_eq!(by(&mut txn, ids[0]), OwnCommand::This, "it was the first of them");
    txn.end_statement();
    txn.start_statement().expect("starts");
    assert_eq!(seen(&txn), "over inner late");
    txn.rollback().expect("ends");
}

/// What only reads takes no numbers: they are bounded.
#[test]
fn statements_that_only_read_take_no_numbers() {
    let engine = open(&CrashVfs::new(1));
    let session = engine.new_session(DatabaseId::POSTGRES);
    let (table, ids) = table_of(&session, &[b"one"]);
    let mut txn = begin(&session);
    let lend = |txn: &mut Txn| {
        let outer = txn.suspend_statement();
        txn.start_statement().expect("starts");
        let number = txn.command_id();
        txn.resume_statement(outer);
        number
    };
    assert_eq!([lend(&mut txn), lend(&mut txn)], [0, 0]);
    txn.use_command();
    assert_eq!([lend(&mut txn), lend(&mut txn)], [1, 1]);
    assert!(matches!(replace(&mut txn, &table, ids[0], b"two"), ModifyOutcome::Done));
    assert_eq!((txn.command_id(), lend(&mut txn)), (0, 1));
    txn.start_statement().expect("starts");
    assert_eq!(txn.command_id(), 1);
    txn.rollback().expect("ends");
}

/// Rolling back to a savepoint hands the row to the one that waits for it.
#[test]
fn rollback_to_a_savepoint_lets_waiters_go_on() {
    let engine = open(&CrashVfs::new(1));
    let (a, b) =
        (engine.new_session(DatabaseId::POSTGRES), engine.new_session(DatabaseId::POSTGRES));
    let (table, ids) = table_of(&a, &[b"one", b"two"]);
    let mut first = begin(&a);
    replace(&mut first, &table, ids[1], b"own");
    let savepoint = first.undo_position();
    replace(&mut first, &table, ids[0], b"eno");
    let mut second = begin(&b);
    let outcome = replace(&mut second, &table, ids[0], b"six");
    let ModifyOutcome::MustWait(wait) = outcome else { panic!("{outcome:?}") };
    first.rollback_to_savepoint(savepoint).expect("rolls back");
    assert!(wait.is_finished());
    drop(wait);
    assert!(matches!(replace(&mut second, &table, ids[0], b"six"), ModifyOutcome::Done));
}

/// A part of a transaction is taken back with and without its locks.
#[test]
fn a_part_is_taken_back_by_its_position() {
    let engine = open(&CrashVfs::new(1));
    let (a, b) =
        (engine.new_session(DatabaseId::POSTGRES), engine.new_session(DatabaseId::POSTGRES));
    let (table, ids) = table_of(&a, &[b"one", b"two"]);
    let mut first = begin(&a);
    replace(&mut first, &table, ids[1], b"own");
    let position = first.undo_position();
    let locked = table.lock_row(&mut first, ids[0], RowLockMode::Update, WaitPolicy::Block);
    assert!(matches!(locked, Ok(LockOutcome::Locked)));
    replace(&mut first, &table, ids[0], b"eno");
    let mut second = begin(&b);
    let outcome = replace(&mut second, &table, ids[0], b"six");
    let ModifyOutcome::MustWait(wait) = outcome else { panic!("{outcome:?}") };
    first.rollback_to_position(position).expect("takes back");
    assert!(!wait.is_finished(), "a statement keeps its locks");
    first.rollback_to_savepoint(position).expect("takes back");
    assert!(wait.is_finished());
    drop(wait);
    assert!(matches!(replace(&mut second, &table, ids[0], b"six"), ModifyOutcome::Done));
    assert!(matches!(replace(&mut second, &table, ids[1], b"six"), ModifyOutcome::MustWait(_)));
    first.rollback_to_savepoint(position).expect("it stays valid");
}

#[test]
fn a_full_disk_fails_the_statement_and_nothing_else() {
    let vfs = CrashVfs::new(3);
    // The log keeps one segment for rollbacks: as much as this one needs.
    let engine = open_with_segments(&vfs, 256 << 10);
    let session = engine.new_session(DatabaseId::POSTGRES);
    let (table, ids) = table_of(&session, &[b"one"]);
    vfs.set_free_space(Some(600 << 10));
    let mut txn = begin(&session);
    let row = [7; 1000];
    let error = loop {
        if let Err(error) = table.insert(&mut txn, &row) {
            break error;
        }
        txn.start_statement().expect("starts");
    };
    assert_eq!(error.sqlstate().as_str(), "53100", "{error}");
    txn.rollback().expect("a rollback finds its space");
    vfs.set_free_space(None);
    let mut txn = begin(&session);
    let mut seen = Vec::new();
    let mut cursor = table.scan_all(txn.view()).expect("scans");
    while let Some((id, row)) = cursor.next().expect("reads") {
        seen.push((id, row.to_vec()));
    }
    assert_eq!(seen, [(ids[0], b"one".to_vec())]);
    table.insert(&mut txn, &row).expect("there is space again");
    let wait = txn.commit().expect("commits");
    engine.wait_durable(wait.lsn).expect("flushes");
}

#[test]
fn cells_survive() {
    let vfs = CrashVfs::new(4);
    let engine = open(&vfs);
    let cell = |key| CellId { database: DatabaseId::POSTGRES, key };
    engine.cell_put(cell(9), b"nine").expect("puts");
    let increment = &mut |old: Option<&[u8]>, new: &mut Vec<u8>| {
        new.extend_from_slice(old.unwrap_or(b""));
        new.push(b'!');
        Ok(true)
    };
    let lsn = engine.cell_update(cell(9), increment).expect("updates");
    engine.wait_durable(lsn).expect("flushes");
    drop(engine);
    let engine = open(&vfs.crash());
    assert_eq!(engine.cell_get(cell(9)).expect("reads").as_deref(), Some(&b"nine!"[..]));
    assert_eq!(engine.cell_get(cell(8)).expect("reads"), None);
}

/// Two databases have a file of the same number, a cell of the same key and relations of the same
/// OID, and nothing in common. What is shared is one for both.
#[test]
fn databases_do_not_meet() {
    let vfs = CrashVfs::new(14);
    let ids = [DatabaseId::POSTGRES, DatabaseId(6)];
    let rows_of = |engine: &Engine, id| {
        TableStore::open(engine, FileId { database: id, number: RelFileNumber(1) })
    };
    let engine = open(&vfs);
    let sessions = ids.map(|id| engine.new_session(id));
    let [mut a, mut b] = sessions.each_ref().map(begin);
    for (txn, bytes) in [(&mut a, b"of 5"), (&mut b, b"of 6")] {
        rows_of(&engine, txn.database_id()).insert(txn, bytes).expect("inserts");
        let cell = CellId { database: txn.database_id(), key: 1 };
        engine.cell_put(cell, bytes).expect("puts");
        let exclusive = RelationLockMode::AccessExclusive;
        assert!(txn.try_lock_relation(7, RelationLockMode::RowExclusive).expect("no bound"));
        assert!(txn.try_lock_relation(8, exclusive).expect("no bound"));
        assert!(txn.lock_name(3).expect("no bound").is_none());
        assert!(txn.lock_object(1259, 3, exclusive).expect("no bound").is_none());
        let advisory = (AdvisoryKey::Big(3), SharedMode::Exclusive);
        let scope = AdvisoryScope::Transaction;
        assert!(txn.try_lock_advisory(advisory.0, advisory.1, scope).expect("no bound"));
    }
    assert!(a.try_lock_relation(7, RelationLockMode::AccessExclusive).expect("no bound"));
    assert_eq!(a.locked_relations(), [7, 8]);
    let share = RelationLockMode::AccessShare;
    assert!(a.lock_shared_relation(1260, share).expect("no bound").is_none());
    assert!(b.lock_shared_relation(1260, RelationLockMode::Share).expect("no bound").is_none());
    let wait = a.lock_shared_relation(1260, RelationLockMode::RowExclusive).expect("no bound");
    let committed = b.commit().expect("commits");
    wait.expect("it is one relation").wait_blocking().expect("is granted");
    let committed = a.commit().expect("commits").lsn.max(committed.lsn);
    engine.wait_durable(committed).expect("flushes");
    assert_eq!(engine.locks().entry_count(), 0);
    drop(sessions);
    drop(engine);

    let engine = open(&vfs.crash());
    for (id, bytes) in ids.into_iter().zip([b"of 5", b"of 6"]) {
        let cell = CellId { database: id, key: 1 };
        assert_eq!(engine.cell_get(cell).expect("reads").as_deref(), Some(&bytes[..]));
        let txn = begin(&engine.new_session(id));
        let mut cursor = rows_of(&engine, id).scan_all(txn.view()).expect("scans");
        assert_eq!(cursor.next().expect("reads").expect("is there").1, bytes);
        assert!(cursor.next().expect("reads").is_none());
    }
}

/// A key that row after row takes and leaves, under a reader that stays.
#[test]
fn a_long_reader_does_not_crowd_a_unique_key() {
    let engine = open(&CrashVfs::new(5));
    let (a, b) =
        (engine.new_session(DatabaseId::POSTGRES), engine.new_session(DatabaseId::POSTGRES));
    let mut txn = begin(&a);
    let table = TableStore::create(&mut txn, Persistence::Logged).expect("creates");
    let index = IndexStore::create(&mut txn, true, Persistence::Logged).expect("creates");
    let mut row = table.insert(&mut txn, b"0").expect("inserts");
    assert!(matches!(index.insert(&mut txn, b"key", false, row), Ok(IndexInsert::Done)));
    let first = row;
    let _ = txn.commit().expect("commits");
    let mut reader = Txn::begin(&b, IsolationLevel::RepeatableRead, true);
    reader.start_statement().expect("starts");
    for _ in 0..1000 {
        let mut txn = begin(&a);
        let delete = &mut |_: Current<'_>, _: &mut Vec<u8>| Ok(Action::Delete);
        assert!(matches!(table.modify(&mut txn, row, delete), Ok(ModifyOutcome::Done)));
        index.mark_deleted(&mut txn, b"key", false, row).expect("marks");
        row = table.insert(&mut txn, b"1").expect("inserts");
        assert!(matches!(index.insert(&mut txn, b"key", false, row), Ok(IndexInsert::Done)));
        let _ = txn.commit().expect("commits");
    }
    let (view, mut postings, mut buffer) = (reader.view(), Vec::new(), RowBuf::new());
    let mut seen = Vec::new();
    let mut candidates = index.lookup_unique(&view, b"key", &mut postings).expect("reads");
    while let Some((id, _)) = candidates.try_next().expect("reads") {
        if table.get(&view, id, &mut buffer).expect("reads").is_some() {
            seen.push(id);
        }
    }
    assert_eq!(seen, [first], "the reader still finds its row");
    assert!(postings.len() < 400, "{} bytes of postings", postings.len());
    reader.rollback().expect("ends");
}

/// What a crash has made everybody forget: VACUUM finds it, and its space is used again.
#[test]
fn a_sweep_finds_what_was_deleted_before_the_checkpoint() {
    let mut vfs = CrashVfs::new(6);
    let engine = open(&vfs);
    let session = engine.new_session(DatabaseId::POSTGRES);
    let mut txn = begin(&session);
    let table = TableStore::create(&mut txn, Persistence::Logged).expect("creates");
    let index = IndexStore::create(&mut txn, false, Persistence::Logged).expect("creates");
    let values = OverflowStore::create(&mut txn, Persistence::Logged).expect("creates");
    engine.wait_durable(txn.commit().expect("commits").lsn).expect("flushes");
    let files = [table.file(), index.file(), values.file()];
    drop((session, table, index, values, engine));
    let mut pages = Vec::new();
    for _ in 0..6 {
        let engine = open(&vfs);
        let session = engine.new_session(DatabaseId::POSTGRES);
        let table = TableStore::open(&engine, files[0]);
        let index = IndexStore::open(&engine, files[1], false);
        let values = OverflowStore::open(&engine, files[2]);
        let check = &mut || Ok(());
        engine.sweep_rows(&table, check).expect("sweeps");
        engine.sweep_index(&index, check).expect("sweeps");
        let references = &mut |_: &[u8], _: &mut Vec<OverflowRef>| Ok(());
        engine.sweep_values(&table, &values, references, check).expect("sweeps").expect("may");
        if let Some(tree) = table.tree().expect("opens") {
            assert_eq!(tree.first_key().expect("reads"), None);
        }
        check_space(&engine, &files);
        pages.push(engine.store().stats().allocated_pages);

        let mut txn = begin(&session);
        let mut rows = Vec::new();
        let noise: Vec<u8> =
            (0..9000u64).map(|n| (n.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 56) as u8).collect();
        for n in 0..300u32 {
            let value = values.put(&mut txn, &noise).expect("puts");
            let row = table.insert(&mut txn, &[7; 100]).expect("inserts");
            let inserted = index.insert(&mut txn, &n.to_be_bytes(), false, row);
            assert!(matches!(inserted, Ok(IndexInsert::Done)));
            rows.push((n, row, value));
        }
        engine.wait_durable(txn.commit().expect("commits").lsn).expect("flushes");
        let mut txn = begin(&session);
        for (n, row, value) in rows {
            let delete = &mut |_: Current<'_>, _: &mut Vec<u8>| Ok(Action::Delete);
            assert!(matches!(table.modify(&mut txn, row, delete), Ok(ModifyOutcome::Done)));
            index.mark_deleted(&mut txn, &n.to_be_bytes(), false, row).expect("marks");
            values.free(&mut txn, value).expect("frees");
        }
        engine.wait_durable(txn.commit().expect("commits").lsn).expect("flushes");
        engine.checkpoint().expect("writes");
        drop(session);
        drop(engine);
        vfs = vfs.crash();
    }
    let first = pages[1];
    assert!(pages[1..].iter().all(|&count| count <= first + 2), "{pages:?}");
}

/// Every page belongs to one of these files, or to the database itself.
fn check_space(engine: &Engine, files: &[FileId]) {
    let trees = files.iter().map(|&file| engine.tree_of(file).expect("is known"));
    let mut trees: Vec<TreeId> = trees.flatten().collect();
    trees.push(engine.system_tree_id());
    engine.store().check_space(&trees).expect("every page is accounted for");
}

#[test]
fn a_file_has_no_pages_before_its_first_entry() {
    let vfs = CrashVfs::new(6);
    let engine = open(&vfs);
    let pages = |engine: &Engine| engine.store().stats().allocated_pages;
    let session = engine.new_session(DatabaseId::POSTGRES);
    let before = pages(&engine);
    let mut txn = begin(&session);
    let tables: Vec<TableStore> = (0..5)
        .map(|_| TableStore::create(&mut txn, Persistence::Logged).expect("creates"))
        .collect();
    let index = IndexStore::create(&mut txn, true, Persistence::Logged).expect("creates");
    engine.wait_durable(txn.commit().expect("commits").lsn).expect("flushes");
    assert_eq!(pages(&engine), before, "nothing was written");

    {
        let txn = begin(&session);
        let view = txn.view();
        let mut buffer = RowBuf::new();
        assert!(tables[0].scan_all(view.clone()).expect("scans").next().expect("reads").is_none());
        assert!(tables[0].get(&view, RowId(1), &mut buffer).expect("reads").is_none());
        let mut key = Vec::new();
        let mut found = index.lookup_unique(&view, b"key", &mut key).expect("looks");
        assert!(found.try_next().expect("reads").is_none());
    }

    // The first write makes the tree; taking the write back does not unmake it.
    let mut txn = begin(&session);
    tables[0].insert(&mut txn, b"row").expect("inserts");
    txn.rollback().expect("rolls back");
    assert_eq!(pages(&engine), before + 1);
    let mut files: Vec<FileId> = tables.iter().map(TableStore::file).collect();
    check_space(&engine, &files);

    // A drop frees it; the empty files go without a trace.
    let mut txn = begin(&session);
    txn.drop_files_at_commit(&files);
    let _ = txn.commit().expect("commits");
    assert_eq!(pages(&engine), before);
    drop((session, tables, index, engine));
    let engine = open(&vfs);
    files.retain(|&file| engine.tree_of(file).expect("is known").is_some());
    assert_eq!(files, []);
}

/// More files than one log record may list.
#[test]
fn a_transaction_drops_any_number_of_files() {
    let vfs = CrashVfs::new(7);
    let engine = open(&vfs);
    let session = engine.new_session(DatabaseId::POSTGRES);
    let files: Vec<FileId> = (0..2000)
        .map(|_| {
            let (table, _) = table_of(&session, &[b"row"]);
            table.file()
        })
        .collect();
    check_space(&engine, &files);
    let mut txn = begin(&session);
    txn.drop_files_at_commit(&files);
    let _ = txn.commit().expect("commits");
    check_space(&engine, &[]);
    drop((session, engine));
    let engine = open(&vfs);
    assert!(files.iter().all(|file| engine.tree_of(*file).expect("is known").is_none()));
}

#[test]
fn a_table_that_is_rolled_back_takes_its_pages_along() {
    let vfs = CrashVfs::new(7);
    let engine = open(&vfs);
    let session = engine.new_session(DatabaseId::POSTGRES);
    let mut txn = begin(&session);
    let before = txn.undo_position();
    let table = TableStore::create(&mut txn, Persistence::Logged).expect("creates");
    table.insert(&mut txn, b"row").expect("inserts");
    let file = table.file();
    assert!(engine.tree_of(file).expect("is known").is_some());
    txn.rollback_to_savepoint(before).expect("rolls back");
    assert_eq!(engine.tree_of(file).expect("is known"), None);
    check_space(&engine, &[]);
    // The number is not used again.
    let other = TableStore::create(&mut txn, Persistence::Logged).expect("creates").file();
    assert_ne!(other, file);
    let _ = txn.commit().expect("commits");
}

/// The log says that the first value goes until a checkpoint comes: what has its number by then
/// would go with it.
#[test]
fn recovery_leaves_values_alone_that_came_after_one_was_removed() {
    let durable = |txn: Txn| {
        let engine = Arc::clone(txn.engine());
        let wait = txn.commit().expect("commits");
        engine.wait_durable(wait.lsn).expect("flushes");
    };
    let vfs = CrashVfs::new(1);
    let session = open(&vfs).new_session(DatabaseId::POSTGRES);
    let mut txn = begin(&session);
    let file = OverflowStore::create(&mut txn, Persistence::Logged).expect("creates").file();
    let values = OverflowStore::open(session.engine(), file);
    let first = values.put(&mut txn, b"first").expect("puts");
    durable(txn);
    // After the next start nothing has been asked for a number when the value goes.
    let vfs = vfs.crash();
    let engine = open(&vfs);
    let session = engine.new_session(DatabaseId::POSTGRES);
    let values = OverflowStore::open(&engine, file);
    let mut txn = begin(&session);
    values.free(&mut txn, first).expect("frees");
    durable(txn);
    engine.purge_all().expect("purges");
    let mut found = Vec::new();
    assert!(values.get(first, &mut found).is_err(), "it has gone");
    let mut txn = begin(&session);
    let second = values.put(&mut txn, b"second").expect("puts");
    durable(txn);
    let engine = open(&vfs.crash());
    OverflowStore::open(&engine, file).get(second, &mut found).expect("is there");
    assert_eq!(found, b"second");
}

#[test]
fn undo_after_a_crash_reads_and_writes_the_log_in_pieces() {
    const ROWS: u64 = 3000;
    let vfs = CrashVfs::new(1);
    let engine = open_with_segments(&vfs, 1 << 20);
    let session = engine.new_session(DatabaseId::POSTGRES);
    let rows: Vec<[u8; 8]> = (0..ROWS).map(u64::to_be_bytes).collect();
    let rows: Vec<&[u8]> = rows.iter().map(|row| &row[..]).collect();
    let (table, ids) = table_of(&session, &rows);
    engine.checkpoint().expect("checkpoints");
    let mut txn = begin(&session);
    for &id in &ids {
        replace(&mut txn, &table, id, b"changed");
    }
    let file = table.file();
    engine.wait_durable(engine.wal().insert_position()).expect("flushes");
    std::mem::forget(txn);
    let vfs = vfs.crash();
    let said = Arc::new(std::sync::Mutex::new(Vec::new()));
    let listener = Arc::clone(&said);
    let options = EngineOptions {
        pool_pages: 64,
        pages_max: 1 << 14,
        wal_buffers_bytes: 64 << 10,
        wal_segment_bytes: 1 << 20,
        wal_bytes_min: 64 << 10,
        background: false,
        on_progress: Some(Arc::new(move |message: &str| {
            listener.lock().expect("nobody panics").push(message.to_owned());
        })),
        ..EngineOptions::default()
    };
    let engine = Engine::open(Arc::new(vfs.clone()), Path::new("data"), options).expect("recovers");
    let counts = vfs.stats().counts();
    assert!(counts.reads < ROWS / 5 && counts.writes < ROWS / 5, "{counts:?}");
    let said = said.lock().expect("nobody panics").join("; ");
    assert!(said.contains("undo of 3000 records of 1 transactions took"), "{said}");
    let session = engine.new_session(DatabaseId::POSTGRES);
    let txn = begin(&session);
    let table = TableStore::open(&engine, file);
    let mut buffer = RowBuf::new();
    for (n, &id) in ids.iter().enumerate() {
        table.get(&txn.view(), id, &mut buffer).expect("reads").expect("is there");
        assert_eq!(buffer.row(), (n as u64).to_be_bytes());
    }
}
