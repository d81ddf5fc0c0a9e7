//! Compares the B+tree with `BTreeMap`: random operations with keys and values of all lengths,
//! scans with all bounds in both directions, splits and merges.

mod common;

use common::{Model, assert_same, collect, new_store, new_tree, put, remove};
use proptest::prelude::*;
use std::ops::Bound;
use steppe_storage::{Direction, LogHeader, StorageError, Store, Tree};

#[derive(Clone, Debug)]
enum Op {
    Put(Vec<u8>, usize),
    Splice(prop::sample::Index, usize, usize, usize),
    Remove(prop::sample::Index),
    RemoveAbsent(Vec<u8>),
    Read(Vec<u8>),
    InsertMany(Vec<Vec<u8>>, usize),
    Scan(Bound<Vec<u8>>, Bound<Vec<u8>>, bool),
}

/// Keys that share prefixes and first bytes; a few are long.
fn key() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        6 => (0..2000u64).prop_map(|n| n.to_be_bytes().to_vec()),
        3 => prop::collection::vec(prop::sample::select(vec![0u8, 1, b'a', b'b', 255]), 0..12),
        2 => (0..40usize, any::<u8>()).prop_map(|(n, last)| {
            let mut key = vec![b'p'; n * 9];
            key.push(last);
            key
        }),
        1 => (1500..=2000usize, 0..4u8).prop_map(|(len, byte)| vec![byte; len]),
    ]
}

fn bound() -> impl Strategy<Value = Bound<Vec<u8>>> {
    prop_oneof![
        Just(Bound::Unbounded),
        key().prop_map(Bound::Included),
        key().prop_map(Bound::Excluded),
    ]
}

fn op() -> impl Strategy<Value = Op> {
    prop_oneof![
        6 => (key(), 0..700usize).prop_map(|(key, len)| Op::Put(key, len)),
        2 => (any::<prop::sample::Index>(), 0..50usize, 0..50usize, 0..60usize)
            .prop_map(|(at, offset, old, new)| Op::Splice(at, offset, old, new)),
        5 => any::<prop::sample::Index>().prop_map(Op::Remove),
        1 => key().prop_map(Op::RemoveAbsent),
        2 => key().prop_map(Op::Read),
        2 => (prop::collection::vec(key(), 1..60), 0..200usize)
            .prop_map(|(keys, len)| Op::InsertMany(keys, len)),
        1 => (bound(), bound(), any::<bool>()).prop_map(|(l, u, f)| Op::Scan(l, u, f)),
    ]
}

fn value(seed: usize, len: usize) -> Vec<u8> {
    (0..len).map(|i| (seed + i * 7) as u8).collect()
}

fn apply(tree: &Tree, model: &mut Model, seed: usize, op: Op) {
    match op {
        Op::Put(key, len) => {
            let value = value(seed, len.min(2700 - key.len()));
            put(tree, &key, &value).unwrap();
            model.insert(key, value);
        }
        Op::Splice(index, offset, old_len, new_len) => {
            let Some(key) = nth_key(model, index) else { return };
            // Every second splice has a head; some heads are too long.
            let head = value(seed + 1, if seed.is_multiple_of(2) { 0 } else { seed % 40 });
            splice(tree, model, &key, (offset, old_len), (&head, &value(seed, new_len)));
        }
        Op::Remove(index) => {
            let Some(key) = nth_key(model, index) else { return };
            assert!(remove(tree, &key).unwrap());
            model.remove(&key);
        }
        Op::RemoveAbsent(key) => {
            assert_eq!(remove(tree, &key).unwrap(), model.remove(&key).is_some());
        }
        Op::Read(key) => {
            let mut found = Vec::new();
            let exists = tree.read(&key, &mut found).unwrap();
            assert_eq!(exists.then_some(&found), model.get(&key));
        }
        Op::InsertMany(keys, len) => insert_many(tree, model, keys, seed, len),
        Op::Scan(lower, upper, forward) => scan(tree, model, &lower, &upper, forward),
    }
}

fn nth_key(model: &Model, index: prop::sample::Index) -> Option<Vec<u8>> {
    (!model.is_empty()).then(|| model.keys().nth(index.index(model.len())).unwrap().clone())
}

fn splice(
    tree: &Tree,
    model: &mut Model,
    key: &[u8],
    (offset, old_len): (usize, usize),
    (head, new): (&[u8], &[u8]),
) {
    let result = tree.write(key, LogHeader::default(), |_, op| {
        op.splice(offset, old_len, new);
        op.with_head(head);
        Ok::<(), StorageError>(())
    });
    let value = model.get_mut(key).unwrap();
    let fits = offset + old_len <= value.len()
        && key.len() + value.len() - old_len + new.len() <= 2700
        && head.len() <= offset;
    assert_eq!(result.is_ok(), fits);
    if fits {
        value[..head.len()].copy_from_slice(head);
        value.splice(offset..offset + old_len, new.iter().copied());
    }
}

fn insert_many(tree: &Tree, model: &mut Model, mut keys: Vec<Vec<u8>>, seed: usize, len: usize) {
    keys.sort();
    keys.dedup();
    let values: Vec<_> = (0..keys.len()).map(|i| value(seed + i, len)).collect();
    let entries: Vec<(&[u8], &[u8])> =
        keys.iter().zip(&values).map(|(k, v)| (&k[..], &v[..])).collect();
    let mut rest = &entries[..];
    while !rest.is_empty() {
        let mut announced = 0;
        let done = tree
            .insert_many(rest, LogHeader::default(), |count, _| {
                announced = count;
                Ok::<(), StorageError>(())
            })
            .unwrap();
        assert!(done.consumed > 0 || done.duplicate);
        for (key, value) in &rest[..done.consumed] {
            assert!(model.insert(key.to_vec(), value.to_vec()).is_none());
        }
        rest = &rest[done.consumed..];
        if done.duplicate {
            assert!(model.contains_key(rest[0].0));
            rest = &rest[1..];
        } else {
            assert_eq!(announced, done.consumed);
        }
    }
}

fn scan(tree: &Tree, model: &Model, lower: &Bound<Vec<u8>>, upper: &Bound<Vec<u8>>, forward: bool) {
    let in_range = |key: &Vec<u8>| {
        let above = match lower {
            Bound::Unbounded => true,
            Bound::Included(l) => key >= l,
            Bound::Excluded(l) => key > l,
        };
        above
            && match upper {
                Bound::Unbounded => true,
                Bound::Included(u) => key <= u,
                Bound::Excluded(u) => key < u,
            }
    };
    let mut expected: Vec<_> =
        model.iter().filter(|(k, _)| in_range(k)).map(|(k, v)| (k.clone(), v.clone())).collect();
    if !forward {
        expected.reverse();
    }
    let direction = if forward { Direction::Forward } else { Direction::Backward };
    let found = collect(
        tree,
        lower.as_ref().map(Vec::as_slice),
        upper.as_ref().map(Vec::as_slice),
        direction,
    );
    assert!(found == expected, "scan {lower:?} {upper:?} {direction:?}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn behaves_as_a_map(ops in prop::collection::vec(op(), 1..500)) {
        let store = new_store(64);
        let tree = new_tree(&store);
        let mut model = Model::new();
        for (seed, op) in ops.into_iter().enumerate() {
            apply(&tree, &mut model, seed, op);
        }
        assert_same(&tree, &model);
        prop_assert_eq!(tree.page_count().unwrap(), store.check_space(&[tree.id()]).unwrap());
        prop_assert_eq!(tree.first_key().unwrap(), model.keys().next().cloned());
        prop_assert_eq!(tree.last_key().unwrap(), model.keys().next_back().cloned());
        let pages = tree.page_count().unwrap();
        prop_assert_eq!(store.drop_tree(tree.id()).unwrap(), pages);
        prop_assert_eq!(store.check_space(&[]).unwrap(), 0);
        prop_assert!(matches!(tree.read(b"x", &mut Vec::new()), Err(StorageError::NoSuchTree(_))));
    }
}

fn ascending(store: &Store, rows: u64, batch: usize) -> (Tree, Model) {
    let tree = new_tree(store);
    let mut model = Model::new();
    let keys: Vec<[u8; 8]> = (0..rows).map(u64::to_be_bytes).collect();
    let body = [7u8; 120];
    for chunk in keys.chunks(batch) {
        let entries: Vec<(&[u8], &[u8])> = chunk.iter().map(|k| (&k[..], &body[..])).collect();
        let mut rest = &entries[..];
        while !rest.is_empty() {
            let ok = |_: usize, _: &mut Vec<u8>| Ok::<(), StorageError>(());
            let done = tree.insert_many(rest, LogHeader::default(), ok).unwrap();
            assert!(done.consumed > 0);
            rest = &rest[done.consumed..];
        }
    }
    model.extend(keys.iter().map(|k| (k.to_vec(), body.to_vec())));
    (tree, model)
}

#[test]
fn ascending_loads_fill_pages() {
    let store = new_store(512);
    for batch in [1, 1000] {
        let (tree, model) = ascending(&store, 20_000, batch);
        assert_same(&tree, &model);
        // A row has 120 bytes of value and at least 10 of slot and length.
        let bytes = 20_000 * 140;
        let pages = tree.page_count().unwrap();
        assert!(pages < bytes / 8192 * 110 / 100, "{pages} pages in batches of {batch}");
        let estimate = tree.estimate_size().unwrap();
        assert!(estimate.pages.abs_diff(pages) < pages / 4, "{estimate:?}, {pages} counted");
        assert!(estimate.entries.abs_diff(20_000) < 2_000, "{estimate:?}");
        assert_eq!(leaf_by_leaf(&tree), model.into_iter().collect::<Vec<_>>());
    }
}

/// All entries; each leaf is read by a scan of its own from its first key.
fn leaf_by_leaf(tree: &Tree) -> Vec<(Vec<u8>, Vec<u8>)> {
    let mut starts = Vec::new();
    let mut take = |key: &[u8]| {
        starts.push(key.to_vec());
        Ok::<(), StorageError>(())
    };
    tree.leaf_starts(&mut take).unwrap();
    let mut entries = Vec::new();
    let mut cursor = tree.scan(Bound::Unbounded, Bound::Unbounded, Direction::Forward);
    for start in &starts {
        cursor.reset(Bound::Included(start), Bound::Unbounded, Direction::Forward);
        assert!(cursor.next_page().unwrap());
        while let Some((key, value)) = cursor.next() {
            entries.push((key.to_vec(), value.to_vec()));
        }
    }
    entries
}

#[test]
fn a_tree_of_one_leaf_begins_anywhere() {
    let store = new_store(64);
    let tree = new_tree(&store);
    assert_eq!(leaf_by_leaf(&tree), []);
    put(&tree, b"a", b"1").unwrap();
    assert_eq!(leaf_by_leaf(&tree), [(b"a".to_vec(), b"1".to_vec())]);
}

/// Rows are short: the last leaf gets a fence ahead, so that its keys share a prefix.
#[test]
fn ascending_ids_are_stored_short() {
    let store = new_store(512);
    for batch in [1, 1000] {
        let tree = new_tree(&store);
        let mut model = Model::new();
        // More ids than the 65,536 up to a fence.
        let keys: Vec<[u8; 8]> = (1..=70_000u64).map(u64::to_be_bytes).collect();
        for chunk in keys.chunks(batch) {
            let entries: Vec<(&[u8], &[u8])> =
                chunk.iter().map(|k| (&k[..], &[7; 23][..])).collect();
            let mut rest = &entries[..];
            while !rest.is_empty() {
                let ok = |_: usize, _: &mut Vec<u8>| Ok::<(), StorageError>(());
                let done = tree.insert_many(rest, LogHeader::default(), ok).unwrap();
                rest = &rest[done.consumed..];
            }
            model.extend(chunk.iter().map(|k| (k.to_vec(), vec![7; 23])));
        }
        tree.check().unwrap();
        assert_same(&tree, &model);
        assert_eq!(tree.last_key().unwrap().as_deref(), keys.last().map(|k| &k[..]));
        // A row has 23 bytes of value, 8 of slot, 2 of length, 3 of key.
        let pages = tree.page_count().unwrap();
        assert!(pages < 70_000 * 36 / 8128 * 102 / 100, "{pages} pages in batches of {batch}");
    }
}

#[test]
fn two_interleaved_ascending_runs_fill_pages() {
    let store = new_store(512);
    let tree = new_tree(&store);
    for row in 0..5000u64 {
        for run in 0..4u64 {
            put(&tree, &(run * 1_000_000 + row).to_be_bytes(), &[1; 120]).unwrap();
        }
    }
    tree.check().unwrap();
    let pages = tree.page_count().unwrap();
    assert!(pages < 20_000 * 140 / 8192 * 115 / 100, "{pages} pages");
}

#[test]
fn a_queue_gives_its_pages_back() {
    let store = new_store(64);
    let tree = new_tree(&store);
    let mut most = 0;
    for row in 0..30_000u64 {
        put(&tree, &row.to_be_bytes(), &[1; 120]).unwrap();
        if row >= 500 {
            assert!(remove(&tree, &(row - 500).to_be_bytes()).unwrap());
        }
        if row % 1000 == 0 {
            most = most.max(store.check_space(&[tree.id()]).unwrap());
        }
    }
    assert!(most < 30, "{most} pages for 500 rows");
    for row in 29_500..30_000u64 {
        assert!(remove(&tree, &row.to_be_bytes()).unwrap());
    }
    assert_eq!(tree.check().unwrap(), [tree.id().root], "an empty tree is its root");
}

#[test]
fn too_large_entries_are_refused() {
    let store = new_store(64);
    let tree = new_tree(&store);
    for (key, value) in [(2001, 0), (2000, 701), (0, 2701)] {
        let error = put(&tree, &vec![1; key], &vec![2; value]).unwrap_err();
        assert!(matches!(error, StorageError::EntryTooLarge { .. }));
    }
    let mut model = Model::new();
    for i in 0..100u8 {
        let (mut key, value) = (vec![9; 2000], vec![i; 700]);
        key[1999] = i;
        put(&tree, &key, &value).unwrap();
        model.insert(key, value);
    }
    assert_same(&tree, &model);
}

/// Reads neighbours one after the other, while leaves between and below them split and merge.
#[test]
fn neighbours_are_read_as_each_alone() {
    let store = new_store(256);
    let tree = new_tree(&store);
    let rng = steppe_vfs::SeededRandom::new(5);
    let (mut model, mut near) = (Model::new(), None);
    for round in 0..3000usize {
        let from = rng.below(4000);
        // Runs of puts, then of removals, create and free leaves.
        for at in from..from + rng.below(30) {
            let key = (at * (1 + at % 3)).to_be_bytes().to_vec();
            if round / 100 % 2 == 0 {
                let value = value(round, rng.below(300) as usize);
                put(&tree, &key, &value).unwrap();
                model.insert(key, value);
            } else {
                assert_eq!(remove(&tree, &key).unwrap(), model.remove(&key).is_some());
            }
        }
        let from = from.saturating_sub(rng.below(20));
        let backward = rng.below(4) == 0;
        for step in 0..40 {
            let at = if backward { from.saturating_sub(step) } else { from + step };
            // Shorter and longer keys lie between the others.
            let mut key = at.to_be_bytes().to_vec();
            match rng.below(8) {
                0 => key.push(0),
                1 => key.truncate(rng.below(9) as usize),
                _ => {}
            }
            let mut found = vec![1];
            let exists = tree.read_near(&key, &mut found, &mut near).unwrap();
            assert_eq!(exists.then_some(&found), model.get(&key), "round {round}, {key:?}");
        }
    }
    // A position in one tree is not used in another.
    let other = new_tree(&store);
    let mut found = Vec::new();
    model.keys().for_each(|key| assert!(!other.read_near(key, &mut found, &mut near).unwrap()));
}
