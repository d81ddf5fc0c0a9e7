//! Shared parts of the integration tests: stores on a simulated disk, and models.
#![allow(dead_code)] // each test binary uses its own part

use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::Arc;
use steppe_storage::{Cursor, Direction, LogHeader, StorageError, Store, StoreOptions, Tree};
use steppe_vfs::CrashVfs;

pub(crate) type Model = BTreeMap<Vec<u8>, Vec<u8>>;

/// Options of a store without threads on a disk in memory.
pub(crate) fn options(vfs: &Arc<CrashVfs>, pool_pages: usize) -> StoreOptions {
    StoreOptions {
        vfs: Arc::clone(vfs) as Arc<dyn steppe_vfs::Vfs>,
        pool_pages,
        max_pages: 1 << 20,
        background: false,
        wal_buffers_bytes: 1 << 20,
        wal_segment_bytes: 1 << 20,
        min_wal_bytes: 1 << 20,
        system_id: Some(42),
        ..StoreOptions::new("db")
    }
}

pub(crate) fn new_store(pool_pages: usize) -> Store {
    let vfs = Arc::new(CrashVfs::new(7));
    Store::open(options(&vfs, pool_pages), &mut ()).expect("a new store opens")
}

pub(crate) fn new_tree(store: &Store) -> Tree {
    let (id, _) = store.create_tree(LogHeader::default(), |_, _| {}).expect("a tree is made");
    store.tree(id)
}

pub(crate) fn put(tree: &Tree, key: &[u8], value: &[u8]) -> Result<(), StorageError> {
    tree.write(key, LogHeader::default(), |_, op| {
        op.put(value);
        Ok::<(), StorageError>(())
    })
    .map(drop)
}

pub(crate) fn remove(tree: &Tree, key: &[u8]) -> Result<bool, StorageError> {
    let appended = tree.write(key, LogHeader::default(), |_, op| {
        op.remove();
        Ok::<(), StorageError>(())
    })?;
    Ok(appended.is_some())
}

/// All entries of a range, in the order of the scan.
pub(crate) fn collect(
    tree: &Tree,
    lower: Bound<&[u8]>,
    upper: Bound<&[u8]>,
    direction: Direction,
) -> Vec<(Vec<u8>, Vec<u8>)> {
    entries_of(tree.scan(lower, upper, direction))
}

fn entries_of(mut cursor: Cursor) -> Vec<(Vec<u8>, Vec<u8>)> {
    let mut entries = Vec::new();
    while cursor.next_page().expect("scan") {
        while let Some((key, value)) = cursor.next() {
            entries.push((key.to_vec(), value.to_vec()));
        }
    }
    entries
}

/// Compares a tree's entries with a model, in both directions, and checks its structure.
pub(crate) fn assert_same(tree: &Tree, model: &Model) {
    tree.check().expect("the structure is sound");
    let expected: Vec<_> = model.iter().map(|(k, v)| (k.clone(), v.clone())).collect();
    let all = |direction| collect(tree, Bound::Unbounded, Bound::Unbounded, direction);
    let forward = all(Direction::Forward);
    assert!(forward == expected, "{} entries, expected {}", forward.len(), expected.len());
    assert!(entries_of(tree.scan_whole()) == expected, "the scan past the pool differs");
    let mut backward = all(Direction::Backward);
    backward.reverse();
    assert!(backward == expected, "backward scan differs");
}
