//! Concurrent threads with shared and own key ranges, a pool far smaller than the data, and scans.
//! The structure is checked at the end.

mod common;

use common::{new_tree, options, put, remove};
use std::ops::Bound;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use steppe_storage::{
    CheckpointState, Direction, LogHeader, StorageError, Store, StoreOptions, Tree,
};
use steppe_vfs::{CrashVfs, Random, SeededRandom};

fn random(rng: &SeededRandom, bound: u64) -> u64 {
    let mut bytes = [0; 8];
    rng.fill(&mut bytes).unwrap();
    u64::from_le_bytes(bytes) % bound
}

fn open(pool_pages: usize, background: bool) -> Store {
    let vfs = Arc::new(CrashVfs::new(1));
    let options = StoreOptions { background, ..options(&vfs, pool_pages) };
    Store::open(options, &mut ()).expect("a new store opens")
}

/// Adds 1 to the counter of `key`; the value is padded to make pages split.
fn increment(tree: &Tree, key: &[u8], padding: usize) {
    let done = tree.write(key, LogHeader::default(), |old, op| {
        let count = old.map_or(0, |v| u64::from_le_bytes(v[..8].try_into().unwrap()));
        match old {
            Some(_) => op.splice(0, 8, &(count + 1).to_le_bytes()),
            None => {
                let value = op.put_with();
                value.extend_from_slice(&1u64.to_le_bytes());
                value.resize(8 + padding, 0xee);
            }
        }
        Ok::<(), StorageError>(())
    });
    assert!(done.unwrap().is_some());
}

fn shared_counters(store: &Store, keys: u64, rounds: u64) {
    let tree = new_tree(store);
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let tree = tree.clone();
            scope.spawn(move || {
                let rng = SeededRandom::new(thread);
                for _ in 0..rounds {
                    let key = random(&rng, keys).to_be_bytes();
                    increment(&tree, &key, (key[7] as usize) * 2);
                }
            });
        }
        let scanned = tree.clone();
        scope.spawn(move || {
            for round in 0..20 {
                scan_is_ordered(&scanned, round % 2 == 0);
            }
        });
    });
    tree.check().unwrap();
    let mut total = 0;
    let mut cursor = tree.scan(Bound::Unbounded, Bound::Unbounded, Direction::Forward);
    while cursor.next_page().unwrap() {
        while let Some((_, value)) = cursor.next() {
            total += u64::from_le_bytes(value[..8].try_into().unwrap());
        }
    }
    assert_eq!(total, 4 * rounds, "no increment is lost");
    store.check_space(&[tree.id()]).unwrap();
}

fn scan_is_ordered(tree: &Tree, forward: bool) {
    let direction = if forward { Direction::Forward } else { Direction::Backward };
    let mut cursor = match forward {
        true => tree.scan_whole(),
        false => tree.scan(Bound::Unbounded, Bound::Unbounded, direction),
    };
    let mut last: Option<Vec<u8>> = None;
    while cursor.next_page().unwrap() {
        while let Some((key, _)) = cursor.next() {
            if let Some(last) = &last {
                assert!(if forward { last.as_slice() < key } else { last.as_slice() > key });
            }
            last = Some(key.to_vec());
        }
    }
}

#[test]
fn no_update_is_lost_in_memory() {
    shared_counters(&open(4096, true), 3000, 20_000);
}

#[test]
fn no_update_is_lost_with_eviction() {
    shared_counters(&open(64, true), 3000, 3000);
}

#[test]
fn no_update_is_lost_without_background_threads() {
    shared_counters(&open(64, false), 3000, 2000);
}

/// Every scan sees the keys that stay, while other keys are inserted and removed around them.
#[test]
fn scans_see_what_stays() {
    let store = open(64, true);
    let tree = new_tree(&store);
    for n in 0..2000u64 {
        put(&tree, &(n * 10).to_be_bytes(), &[1; 100]).unwrap();
    }
    let scans = AtomicU64::new(0);
    std::thread::scope(|scope| {
        for thread in 0..3u64 {
            let (tree, scans) = (tree.clone(), &scans);
            scope.spawn(move || {
                let rng = SeededRandom::new(thread);
                // Each thread has its own keys: it removes only keys that it has put.
                while scans.load(Ordering::Relaxed) < 12 {
                    let from = random(&rng, 1900) * 10;
                    let keys: Vec<_> =
                        (0..60).map(|i| (from + i * 10 + 1 + thread).to_be_bytes()).collect();
                    keys.iter().for_each(|key| put(&tree, key, &[2; 400]).unwrap());
                    keys.iter().for_each(|key| assert!(remove(&tree, key).unwrap()));
                }
            });
        }
        for round in 0..12 {
            let forward = round % 2 == 0;
            let direction = if forward { Direction::Forward } else { Direction::Backward };
            let mut cursor = match round % 4 {
                0 => tree.scan_whole(),
                _ => tree.scan(Bound::Unbounded, Bound::Unbounded, direction),
            };
            let mut seen = Vec::new();
            while cursor.next_page().unwrap() {
                while let Some((key, _)) = cursor.next() {
                    let key = u64::from_be_bytes(key.try_into().unwrap());
                    if key % 10 == 0 {
                        seen.push(key / 10);
                    }
                }
            }
            if !forward {
                seen.reverse();
            }
            assert!(seen.iter().copied().eq(0..2000), "round {round}: {} keys", seen.len());
            scans.fetch_add(1, Ordering::Relaxed);
        }
    });
    tree.check().unwrap();
    store.check_space(&[tree.id()]).unwrap();
}

/// Scans past the pool while pages change, leave memory and return. A later scan sees the same or a
/// later state.
#[test]
fn scans_past_the_pool_do_not_go_back_in_time() {
    const KEYS: u64 = 6000;
    let store = open(64, true);
    let tree = new_tree(&store);
    (0..KEYS).for_each(|key| increment(&tree, &key.to_be_bytes(), 200));
    let scans_left = AtomicU64::new(40);
    std::thread::scope(|scope| {
        for thread in 0..2 {
            let (tree, scans_left) = (tree.clone(), &scans_left);
            scope.spawn(move || {
                let rng = SeededRandom::new(thread);
                while scans_left.load(Ordering::Relaxed) > 0 {
                    increment(&tree, &random(&rng, KEYS).to_be_bytes(), 200);
                }
            });
        }
        let mut seen = vec![0u64; KEYS as usize];
        while scans_left.fetch_sub(1, Ordering::Relaxed) > 1 {
            let (mut cursor, mut keys) = (tree.scan_whole(), 0..KEYS);
            while cursor.next_page().unwrap() {
                while let Some((key, value)) = cursor.next() {
                    let key = u64::from_be_bytes(key.try_into().unwrap());
                    assert_eq!(Some(key), keys.next());
                    let count = u64::from_le_bytes(value[..8].try_into().unwrap());
                    assert!(count >= seen[key as usize], "key {key}: {count}");
                    seen[key as usize] = count;
                }
            }
            assert_eq!(keys.next(), None);
        }
        scans_left.store(0, Ordering::Relaxed);
    });
    tree.check().unwrap();
}

#[test]
fn checkpoints_run_beside_writers() {
    let vfs = Arc::new(CrashVfs::new(1));
    let background = StoreOptions { background: true, ..options(&vfs, 128) };
    let store = Store::open(background, &mut ()).unwrap();
    let tree = new_tree(&store);
    let writers_left = AtomicU64::new(3);
    std::thread::scope(|scope| {
        for thread in 0..3u64 {
            let (tree, writers_left) = (tree.clone(), &writers_left);
            scope.spawn(move || {
                for n in 0..4000u64 {
                    put(&tree, &(n * 3 + thread).to_be_bytes(), &[thread as u8; 100]).unwrap();
                }
                writers_left.fetch_sub(1, Ordering::SeqCst);
            });
        }
        while writers_left.load(Ordering::SeqCst) > 0 {
            store.checkpoint(&mut |_| CheckpointState::default()).unwrap();
        }
    });
    let id = tree.id();
    store.close().unwrap();
    drop((tree, store));
    let vfs = Arc::new(vfs.crash());
    let store = Store::open(options(&vfs, 128), &mut ()).unwrap();
    let tree = store.tree(id);
    tree.check().unwrap();
    let mut value = Vec::new();
    for n in 0..12_000u64 {
        assert!(tree.read(&n.to_be_bytes(), &mut value).unwrap());
        assert_eq!(value, [(n % 3) as u8; 100]);
    }
    assert_eq!(store.check_space(&[id]).unwrap(), tree.page_count().unwrap());
}

#[test]
fn a_table_ten_times_the_pool_works() {
    let store = open(64, true);
    let tree = new_tree(&store);
    let rng = SeededRandom::new(5);
    let rows = 40_000u64;
    for n in 0..rows {
        put(&tree, &n.to_be_bytes(), &[(n % 251) as u8; 120]).unwrap();
    }
    assert!(tree.page_count().unwrap() > 640);
    let mut value = Vec::new();
    for _ in 0..5000 {
        let n = random(&rng, rows);
        assert!(tree.read(&n.to_be_bytes(), &mut value).unwrap());
        assert_eq!(value, [(n % 251) as u8; 120]);
        increment(&tree, &(rows + random(&rng, 100)).to_be_bytes(), 50);
    }
    let stats = store.stats();
    assert!(stats.resident_pages <= 64, "{stats:?}");
    assert!(stats.pages_evicted > 3000, "{stats:?}");
    tree.check().unwrap();
    assert_eq!(store.drop_tree(tree.id()).unwrap(), stats.allocated_pages - 2);
}

/// A reader of neighbours sees each earlier write, even if its leaf has changed.
#[test]
fn neighbours_are_never_read_from_a_leaf_as_it_was() {
    let store = open(64, true);
    let tree = new_tree(&store);
    let written: Vec<AtomicU64> = (0..600).map(|_| AtomicU64::new(0)).collect();
    let is_read = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for thread in 0..2u64 {
            let (tree, written, is_read) = (tree.clone(), &written, &is_read);
            scope.spawn(move || {
                let rng = SeededRandom::new(thread);
                while !is_read.load(Ordering::Relaxed) {
                    // Each thread has its own keys; others beside them are inserted and removed.
                    let at = random(&rng, 300) * 2 + thread;
                    let beside = [(at * 10 + 1).to_be_bytes(), (at * 10 + 2).to_be_bytes()];
                    beside.iter().for_each(|key| put(&tree, key, &[2; 2000]).unwrap());
                    increment(&tree, &(at * 10).to_be_bytes(), 100);
                    written[at as usize].fetch_add(1, Ordering::Release);
                    beside.iter().for_each(|key| assert!(remove(&tree, key).unwrap()));
                }
            });
        }
        let (mut near, mut value, mut stale) = (None, Vec::new(), None);
        for _ in 0..150 {
            for (at, written) in written.iter().enumerate() {
                let before = written.load(Ordering::Acquire);
                let key = (at as u64 * 10).to_be_bytes();
                let found = tree.read_near(&key, &mut value, &mut near).unwrap();
                let count =
                    if found { u64::from_le_bytes(value[..8].try_into().unwrap()) } else { 0 };
                stale = stale.or((count < before).then_some((at, count, before)));
            }
        }
        is_read.store(true, Ordering::Relaxed);
        assert_eq!(stale, None);
    });
    tree.check().unwrap();
}
