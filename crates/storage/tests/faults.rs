//! Full disks, failing disks, flipped bits. Errors name their cause. The store continues if it can
//! and stops if it must, and never returns wrong data.

mod common;

use common::{Model, assert_same, new_tree, options, put, remove};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use steppe_storage::{CheckpointState, LogHeader, StorageError, Store, StoreOptions, WriteOp};
use steppe_types::SqlState;
use steppe_vfs::CrashVfs;

fn checkpoint(store: &Store) -> Result<(), StorageError> {
    store.checkpoint(&mut |_| CheckpointState::default()).map(drop)
}

fn key(n: u64) -> [u8; 8] {
    (n.wrapping_mul(0x9e37_79b9_7f4a_7c15) % 100_000).to_be_bytes()
}

#[test]
fn a_full_disk_fails_statements_and_nothing_else() {
    let vfs = Arc::new(CrashVfs::new(3));
    let small_log =
        StoreOptions { wal_segment_bytes: 64 << 10, min_wal_bytes: 0, ..options(&vfs, 64) };
    let store = Store::open(small_log.clone(), &mut ()).unwrap();
    let tree = new_tree(&store);
    let mut model = Model::new();
    for n in 0..500 {
        put(&tree, &key(n), &[1; 200]).unwrap();
        model.insert(key(n).to_vec(), vec![1; 200]);
    }
    for round in 0..20 {
        vfs.set_free_space(Some(round * 20_000));
        let mut refused = 0;
        for n in 500 + round * 200..500 + round * 200 + 400 {
            match put(&tree, &key(n), &[2; 900]) {
                Ok(()) => drop(model.insert(key(n).to_vec(), vec![2; 900])),
                Err(error) => {
                    refused += 1;
                    let error: steppe_types::Error = error.into();
                    assert_eq!(error.sqlstate(), SqlState::DISK_FULL, "{error}");
                }
            }
            assert!(tree.read(&key(0), &mut Vec::new()).unwrap());
        }
        assert!(refused > 0 || round > 10, "round {round}: the disk was not full");
        store.check_healthy().unwrap();
        assert_same(&tree, &model);
        vfs.set_free_space(None);
        put(&tree, b"space again", b"").unwrap();
        assert!(remove(&tree, b"space again").unwrap());
        store.check_space(&[tree.id()]).unwrap();
        checkpoint(&store).unwrap();
    }
    let id = tree.id();
    store.close().unwrap();
    drop((tree, store));
    let vfs = Arc::new(vfs.crash());
    let store = Store::open(options(&vfs, 64), &mut ()).unwrap();
    assert_same(&store.tree(id), &model);
}

#[test]
fn a_failed_page_write_or_sync_stops_the_store() {
    for (file, sync) in [("data", false), ("data", true), ("doublewrite", true), ("control", true)]
    {
        let vfs = Arc::new(CrashVfs::new(4));
        let told = Arc::new(Mutex::new(Vec::new()));
        let messages = Arc::clone(&told);
        let on_fatal = Some(Arc::new(move |message: &str| {
            messages.lock().unwrap().push(message.to_owned());
        }) as steppe_storage::FatalCallback);
        let opened = Store::open(StoreOptions { on_fatal, ..options(&vfs, 64) }, &mut ());
        let store = opened.unwrap();
        let tree = new_tree(&store);
        let mut model = Model::new();
        for n in 0..300 {
            put(&tree, &key(n), &[1; 300]).unwrap();
            model.insert(key(n).to_vec(), vec![1; 300]);
        }
        store.wal().flush(store.wal().insert_position()).unwrap();
        if sync {
            vfs.fail_sync(file, 1)
        } else {
            vfs.fail_write(file, 1)
        }
        checkpoint(&store).unwrap_err();
        assert!(matches!(put(&tree, b"x", b"y"), Err(StorageError::Fatal(_))), "{file} {sync}");
        assert!(matches!(checkpoint(&store), Err(StorageError::Fatal(_))));
        assert_eq!(told.lock().unwrap().len(), 1, "told once: {file} {sync}");
        let id = tree.id();
        drop((tree, store));
        let vfs = Arc::new(vfs.crash());
        let store = Store::open(options(&vfs, 64), &mut ()).unwrap();
        assert_same(&store.tree(id), &model);
    }
}

#[test]
fn a_flipped_bit_is_an_error_that_names_the_page() {
    let mut noticed = 0;
    for seed in 0..60 {
        let vfs = Arc::new(CrashVfs::new(seed));
        let store = Store::open(options(&vfs, 64), &mut ()).unwrap();
        let tree = new_tree(&store);
        for n in 0..400 {
            put(&tree, &key(n), &n.to_be_bytes().repeat(25)).unwrap();
        }
        checkpoint(&store).unwrap();
        let id = tree.id();
        drop((tree, store));
        // Both areas of the doublewrite file get an invalid header, so the page cannot be restored.
        vfs.flip_bit(Path::new("db/doublewrite"), 9, 1).unwrap();
        vfs.flip_bit(Path::new("db/doublewrite"), 129 * 8192 + 9, 1).unwrap();
        let byte = vfs.flip_random_bit(Path::new("db/data")).unwrap();
        let store = match Store::open(options(&vfs, 64), &mut ()) {
            Ok(store) => store,
            Err(error) => {
                assert_names(&error, byte);
                noticed += 1;
                continue;
            }
        };
        let tree = store.tree(id);
        for n in 0..400 {
            let mut value = Vec::new();
            match tree.read(&key(n), &mut value) {
                Ok(found) => assert!(found && value == n.to_be_bytes().repeat(25), "seed {seed}"),
                Err(error) => {
                    assert_names(&error, byte);
                    noticed += 1;
                }
            }
        }
    }
    assert!(noticed > 0);
}

fn assert_names(error: &StorageError, byte: u64) {
    let StorageError::Corrupt { file, page: Some(page), .. } = error else {
        panic!("not a corrupt page: {error}");
    };
    assert_eq!((file.as_path(), page.0), (Path::new("db/data"), byte / 8192));
}

#[test]
fn torn_pages_are_restored_from_the_doublewrite_file() {
    let vfs = Arc::new(CrashVfs::new(9));
    let store = Store::open(options(&vfs, 64), &mut ()).unwrap();
    let tree = new_tree(&store);
    let mut model = Model::new();
    for n in 0..400 {
        put(&tree, &key(n), &[n as u8; 200]).unwrap();
        model.insert(key(n).to_vec(), vec![n as u8; 200]);
    }
    checkpoint(&store).unwrap();
    let id = tree.id();
    drop((tree, store));
    vfs.flip_bit(Path::new("db/data"), id.root.0 * 8192 + 100, 3).unwrap();
    let store = Store::open(options(&vfs, 64), &mut ()).unwrap();
    assert_eq!(store.recovery_summary().restored_pages, 1);
    assert_same(&store.tree(id), &model);
}

#[test]
fn a_failing_closure_changes_nothing() {
    let vfs = Arc::new(CrashVfs::new(5));
    let store = Store::open(options(&vfs, 64), &mut ()).unwrap();
    let tree = new_tree(&store);
    put(&tree, b"k", b"v").unwrap();
    let before = store.wal().insert_position();
    let calls = AtomicU64::new(0);
    let result = tree.write(b"k", LogHeader::default(), |_, op: &mut WriteOp| {
        calls.fetch_add(1, Ordering::Relaxed);
        op.put(b"w");
        Err(StorageError::Invalid("no".into()))
    });
    assert!(result.is_err() && calls.into_inner() == 1);
    assert_eq!(store.wal().insert_position(), before);
    let mut value = Vec::new();
    assert!(tree.read(b"k", &mut value).unwrap() && value == b"v");
}

#[test]
fn a_second_opener_is_refused() {
    let vfs = Arc::new(CrashVfs::new(6));
    let store = Store::open(options(&vfs, 64), &mut ()).unwrap();
    assert!(matches!(Store::open(options(&vfs, 64), &mut ()), Err(StorageError::Locked(_))));
    drop(store);
    Store::open(options(&vfs, 64), &mut ()).unwrap();
}

#[test]
fn a_segment_that_was_filled_is_read_past() {
    let vfs = Arc::new(CrashVfs::new(11));
    let small_log =
        StoreOptions { wal_segment_bytes: 64 << 10, min_wal_bytes: 0, ..options(&vfs, 64) };
    let store = Store::open(small_log.clone(), &mut ()).unwrap();
    let tree = new_tree(&store);
    let mut model = Model::new();
    for n in 0..40 {
        put(&tree, &key(n), &[n as u8; 100]).unwrap();
        model.insert(key(n).to_vec(), vec![n as u8; 100]);
        if n % 3 == 0 {
            let before = store.wal().insert_position();
            let came_to = store.switch_segment().unwrap();
            let now = store.wal().insert_position();
            assert_eq!(came_to, before, "nobody else appends");
            let (before, _) = store.wal().segment_of(before);
            assert_ne!(store.wal().segment_of(now), (before, 0), "in the next segment");
            assert!(store.wal().segment_of(now).1 < 64, "at its beginning");
            assert!(store.wal().is_durable(now));
            assert_eq!(store.switch_segment().unwrap(), now, "nothing has come since");
            assert_eq!(store.wal().insert_position(), now);
        }
    }
    let id = tree.id();
    drop((tree, store));
    let vfs = Arc::new(vfs.crash());
    let store = Store::open(StoreOptions { vfs, ..small_log }, &mut ()).unwrap();
    // The last fill has waited until all writes were durable.
    assert_same(&store.tree(id), &model);
}
