//! Power cuts while space is given back: trees are dropped before and during checkpoints.

use crate::error::{Result, StorageError};
use crate::options::StoreOptions;
use crate::space::PUNCH_EARLY;
use crate::store::{CheckpointState, Store};
use crate::types::{LogHeader, TreeId};
use std::sync::Arc;
use steppe_vfs::{CrashVfs, SeededRandom};

fn open(vfs: &Arc<CrashVfs>) -> Result<Store> {
    let options = StoreOptions {
        vfs: Arc::clone(vfs) as Arc<dyn steppe_vfs::Vfs>,
        pool_pages: 64,
        max_pages: 1 << 20,
        background: false,
        ..StoreOptions::new("db")
    };
    Store::open(options, &mut ())
}

/// Writes `rows` rows; three rows fill a page.
fn fill(store: &Store, id: TreeId, rows: u64, byte: u8) -> Result<()> {
    for row in 0..rows {
        store.tree(id).write(&row.to_be_bytes(), LogHeader::default(), |_, op| {
            op.put(&[byte; 2500]);
            Ok::<(), StorageError>(())
        })?;
    }
    Ok(())
}

fn flush(store: &Store) -> Result<()> {
    Ok(store.wal().flush(store.wal().insert_position())?)
}

/// Keeps one tree, and creates and drops others, some during a checkpoint.
fn live(store: &Store, kept: TreeId, random: &SeededRandom) -> Result<()> {
    for round in 0..4 {
        let (victim, _) = store.create_tree(LogHeader::default(), |_, _| {})?;
        fill(store, victim, 250 + random.below(250), 1)?;
        let (other, _) = store.create_tree(LogHeader::default(), |_, _| {})?;
        fill(store, other, 250 + random.below(250), 2)?;
        store.checkpoint(&mut |_| CheckpointState::default())?;
        store.drop_tree(victim)?;
        let mut dropped = Ok(0);
        store.checkpoint(&mut |_| {
            // Recovery from this checkpoint changes these pages before it reads that they are free.
            dropped = fill(store, other, 250, 3).and_then(|()| store.drop_tree(other));
            CheckpointState::default()
        })?;
        dropped?;
        fill(store, kept, 100 + 50 * round, 4)?;
        flush(store)?;
    }
    Ok(())
}

fn run(seed: u64) {
    let random = SeededRandom::new(seed);
    let mut vfs = Arc::new(CrashVfs::new(seed));
    let store = open(&vfs).expect("opens");
    let (kept, _) = store.create_tree(LogHeader::default(), |_, _| {}).expect("creates");
    fill(&store, kept, 30, 9).expect("writes");
    flush(&store).expect("flushes");
    drop(store);
    for _ in 0..3 {
        vfs.cut_power_at(20 + random.below(400));
        if let Ok(store) = open(&vfs) {
            // The work ends with the power cut or by itself.
            let _ = live(&store, kept, &random);
        }
        vfs = Arc::new(vfs.crash());
        let store = open(&vfs).expect("recovers");
        let mut value = Vec::new();
        for row in 0..30u64 {
            assert!(store.tree(kept).read(&row.to_be_bytes(), &mut value).expect("reads"));
        }
        store.tree(kept).check().expect("is sound");
        let (next, _) = store.create_tree(LogHeader::default(), |_, _| {}).expect("creates");
        fill(&store, next, 300, 5).expect("finds room");
        store.tree(next).check().expect("is sound");
        store.drop_tree(next).expect("drops");
        store.checkpoint(&mut |_| CheckpointState::default()).expect("checkpoints");
    }
}

#[test]
fn what_is_given_back_is_not_missed_after_a_power_cut() {
    (1..=40).for_each(run);
}

/// Tests the test: giving back too early is found.
#[test]
fn giving_back_what_recovery_needs_is_caught() {
    let caught = (1..=20).any(|seed| {
        let early = move || {
            PUNCH_EARLY.set(true);
            run(seed);
        };
        std::thread::spawn(early).join().is_err()
    });
    assert!(caught);
}

#[test]
fn a_dropped_tree_gives_its_space_back() {
    let vfs = Arc::new(CrashVfs::new(1));
    let store = open(&vfs).expect("opens");
    let (id, _) = store.create_tree(LogHeader::default(), |_, _| {}).expect("creates");
    fill(&store, id, 3000, 1).expect("writes");
    store.checkpoint(&mut |_| CheckpointState::default()).expect("checkpoints");
    vfs.set_free_space(Some(0));
    let pages = store.drop_tree(id).expect("drops");
    assert!(store.bytes_to_give_back() > pages * 8192 * 8 / 10);
    store.checkpoint(&mut |_| CheckpointState::default()).expect("checkpoints");
    assert_eq!(store.bytes_to_give_back(), 0);
    // Only a tree that needs free space can show how much is left.
    let gone = store.tree(id).read(b"key", &mut Vec::new());
    assert!(matches!(gone, Err(StorageError::NoSuchTree(_))), "{gone:?}");
    vfs.set_free_space(None);
    let (next, _) = store.create_tree(LogHeader::default(), |_, _| {}).expect("creates");
    let before = store.stats().file_pages;
    fill(&store, next, 2500, 2).expect("writes");
    assert_eq!(store.stats().file_pages, before, "the holes are filled first");
    store.check_space(&[next]).expect("agrees");
}
