//! Compares groups of reads with single ones, with writers between their steps.

use super::*;
use crate::options::StoreOptions;
use crate::store::Store;
use crate::types::LogHeader;
use std::cell::{Cell, RefCell};
use std::ops::Bound;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use steppe_vfs::{CrashVfs, Random, SeededRandom};

use crate::tree::Direction;

type Hook = Box<dyn FnMut()>;

thread_local! {
    /// A deliberate bug: bytes that were read are not validated.
    pub(super) static BELIEVE_ALL: Cell<bool> = const { Cell::new(false) };
    /// The actions between two steps.
    static BETWEEN: RefCell<Option<Hook>> = const { RefCell::new(None) };
}

/// Called between two steps of a group.
pub(super) fn between() {
    let Some(mut hook) = BETWEEN.take() else { return };
    hook();
    BETWEEN.set(Some(hook));
}

fn open(pool_pages: usize) -> Store {
    let options = StoreOptions {
        vfs: Arc::new(CrashVfs::new(1)),
        pool_pages,
        max_pages: 1 << 16,
        background: false,
        ..StoreOptions::new("db")
    };
    Store::open(options, &mut ()).expect("opens")
}

fn random(rng: &SeededRandom, bound: u64) -> u64 {
    let mut bytes = [0; 8];
    rng.fill(&mut bytes).expect("fills");
    u64::from_le_bytes(bytes) % bound
}

const KEYS: u64 = 3000;

/// Keys of twelve bytes; the first four identify a group of eight.
fn key_of(n: u64) -> [u8; 12] {
    let mut key = [0; 12];
    key[..4].copy_from_slice(&((n / 8) as u32 * 0x0001_0003).to_be_bytes());
    key[4..].copy_from_slice(&n.to_be_bytes());
    key
}

fn put(tree: &Tree, n: u64, value: &[u8]) {
    let done = tree.write(&key_of(n), LogHeader::default(), |_, op| {
        op.put(value);
        Ok::<(), StorageError>(())
    });
    done.expect("writes");
}

fn remove(tree: &Tree, n: u64) {
    let done = tree.write(&key_of(n), LogHeader::default(), |_, op| {
        op.remove();
        Ok::<(), StorageError>(())
    });
    done.expect("removes");
}

/// Puts, replaces or removes a run of keys, so that leaves split and merge.
fn change(tree: &Tree, rng: &SeededRandom) {
    let (first, count) = (random(rng, KEYS), 1 + random(rng, 30));
    let (what, byte, len) = (random(rng, 3), random(rng, 256) as u8, random(rng, 900) as usize);
    for n in first..(first + count).min(KEYS) {
        match what {
            0 => remove(tree, n),
            _ => put(tree, n, &vec![byte; len]),
        }
    }
}

fn differs() -> StorageError {
    StorageError::Invalid("another answer than a single read's".into())
}

/// The keys of a call: scattered, or close together.
fn some_keys(rng: &SeededRandom) -> Vec<u64> {
    let (first, count) = (random(rng, KEYS), 1 + random(rng, 50));
    let spread = [1, 8, KEYS][random(rng, 3) as usize];
    (0..count).map(|i| (first + i * random(rng, spread + 1)) % KEYS).collect()
}

/// A guess that is as often wrong as right.
fn some_spread(keys: &[u64]) -> Spread {
    if keys.len().is_multiple_of(2) { Spread::Beside } else { Spread::Anywhere }
}

fn read_group(tree: &Tree, keys: &[u64]) -> Result<()> {
    let (mut values, mut single, mut next) = (Vec::new(), Vec::new(), 0);
    tree.read_many(
        (keys.len(), some_spread(keys)),
        |i| key_of(keys[i]),
        &mut values,
        |i, start, values| {
            let there = tree.read(&key_of(keys[i]), &mut single)?;
            let same = start.is_some() == there && start.is_none_or(|at| values[at..] == single);
            if !same || i != next {
                return Err(differs());
            }
            next += 1;
            Ok(())
        },
    )?;
    if next == keys.len() { Ok(()) } else { Err(differs()) }
}

fn match_group(tree: &Tree, keys: &[u64]) -> Result<()> {
    let (mut matches, mut next) = (Matches::default(), 0);
    let prefix = |i: usize| key_of(keys[i])[..4].to_vec();
    tree.match_many(keys.len(), prefix, &mut matches, |i, matches| {
        let (from, mut end) = (prefix(i), prefix(i));
        end.extend_from_slice(&[0xff; 9]);
        let bounds = (Bound::Included(&from[..]), Bound::Included(&end[..]));
        let mut cursor = tree.scan(bounds.0, bounds.1, Direction::Forward);
        let mut all = Vec::new();
        while cursor.next_page()? {
            while let Some((key, value)) = cursor.next() {
                all.push((key[4..].to_vec(), value.to_vec()));
            }
        }
        let found: Vec<_> = matches.iter().map(|(k, v)| (k.to_vec(), v.to_vec())).collect();
        let same = if matches.goes_on() { all.starts_with(&found) } else { all == found };
        next += 1;
        if same && i + 1 == next { Ok(()) } else { Err(differs()) }
    })?;
    if next == keys.len() { Ok(()) } else { Err(differs()) }
}

/// Reads groups with changes between their steps; fails with the first difference.
fn run(seed: u64, pool_pages: usize, changes: bool) -> Result<()> {
    let store = open(pool_pages);
    let (id, _) = store.create_tree(LogHeader::default(), |_, _| {}).expect("creates");
    let tree = store.tree(id);
    let rng = Arc::new(SeededRandom::new(seed));
    (0..KEYS).for_each(|n| put(&tree, n, &vec![n as u8; (n % 500) as usize]));
    let (changed, random_of_hook) = (tree.clone(), Arc::clone(&rng));
    BETWEEN.set(changes.then(|| {
        let hook = move || {
            if random(&random_of_hook, 4) == 0 {
                change(&changed, &random_of_hook);
            }
        };
        Box::new(hook) as Hook
    }));
    let mut result = Ok(());
    for _ in 0..60 {
        let keys = some_keys(&rng);
        result = read_group(&tree, &keys).and_then(|()| match_group(&tree, &keys));
        if result.is_err() {
            break;
        }
    }
    BETWEEN.set(None);
    tree.check().expect("is sound");
    result
}

#[test]
fn a_group_reads_what_single_reads_would() {
    for seed in 0..4 {
        for pool_pages in [64, 1024] {
            run(seed, pool_pages, false).expect("without changes");
            run(seed, pool_pages, true).expect("with changes between the steps");
        }
    }
}

#[test]
fn who_does_not_validate_is_caught() {
    BELIEVE_ALL.set(true);
    let caught = (0..4).filter(|&seed| run(seed, 1024, true).is_err()).count();
    BELIEVE_ALL.set(false);
    assert!(caught > 0, "the test cannot see a reader that believes everything");
}

/// A value that shows whether it is complete.
fn counted(count: u64, len: u64) -> Vec<u8> {
    count.to_le_bytes().repeat(1 + len as usize)
}

fn count_in(value: &[u8]) -> u64 {
    let words = value.as_chunks::<8>().0;
    assert!(words.iter().all(|word| word == &words[0]), "a value of two versions");
    u64::from_le_bytes(words[0])
}

#[test]
fn groups_beside_threads_that_write() {
    let store = open(256);
    let (id, _) = store.create_tree(LogHeader::default(), |_, _| {}).expect("creates");
    let tree = store.tree(id);
    (0..KEYS).step_by(3).for_each(|n| put(&tree, n, &counted(1, n % 50)));
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let rng = SeededRandom::new(7);
            for round in 2..30 {
                for n in 0..KEYS {
                    match n % 3 {
                        0 => put(&tree, n, &counted(round, random(&rng, 60))),
                        _ if random(&rng, 2) == 0 => put(&tree, n, &counted(0, random(&rng, 60))),
                        _ => remove(&tree, n),
                    }
                }
            }
            done.store(true, Ordering::Release);
        });
        let (rng, mut single, mut values) = (SeededRandom::new(8), Vec::new(), Vec::new());
        while !done.load(Ordering::Acquire) {
            let keys: Vec<u64> = some_keys(&rng).iter().map(|n| n / 3 * 3).collect();
            let count = |n: u64, single: &mut Vec<u8>| {
                assert!(tree.read(&key_of(n), single).expect("reads"), "it is always there");
                count_in(single)
            };
            let before: Vec<u64> = keys.iter().map(|&n| count(n, &mut single)).collect();
            values.clear();
            let read = tree.read_many(
                (keys.len(), some_spread(&keys)),
                |i| key_of(keys[i]),
                &mut values,
                |i, start, values| {
                    let found = count_in(&values[start.expect("it is always there")..]);
                    let after = count(keys[i], &mut single);
                    assert!(before[i] <= found && found <= after, "a version out of its time");
                    Ok::<(), StorageError>(())
                },
            );
            read.expect("reads");
        }
    });
    tree.check().expect("is sound");
}
