//! Replay of a log in portions, as a standby does it, beside recovery from the whole of it.
//!
//! A primary runs a random world. A standby begins with a copy of its directory, and gets the log
//! in portions. The test ends the replay after each portion. Then its trees are, byte for byte, those
//! of a recovery that finds the same log in one piece. They have what was committed up to there.

#![allow(missing_docs)]

mod support;

use std::collections::BTreeMap;
use std::ops::Bound;
use std::path::Path;
use std::sync::Arc;

use steppe_storage::Direction;
use steppe_storage::wal::{OwnedRecord, Record, RecordReader};
use steppe_txn::{Engine, EngineOptions, Lsn, Replay, TreeId};
use steppe_vfs::{CrashVfs, OpenMode, SeededRandom, Vfs};
use support::model::{Prepared, State, without_unlogged};
use support::world::{Config, World};

const CONFIG: Config = Config { sessions: 3, keys: 120, checks: 0, tables_change: true };
const PORTIONS: usize = 4;

/// The committed state, and the prepared transactions by their identifiers.
type Held = (State, BTreeMap<String, Prepared>);

/// The records that a primary has sent, and its contents at the portions' ends.
struct Sent {
    base: CrashVfs,
    portions: Vec<Vec<OwnedRecord>>,
    held: Vec<Held>,
}

/// The directory as it is, on a disk of its own.
fn copy_of(vfs: &CrashVfs) -> CrashVfs {
    let copy = CrashVfs::new(2);
    copy.create_dir_all(Path::new("data/wal")).expect("makes");
    for dir in ["data", "data/wal"].map(Path::new) {
        for name in vfs.list_dir(dir).expect("lists") {
            let path = dir.join(&name);
            let Ok(file) = vfs.open(&path, OpenMode::READ) else { continue };
            if path.ends_with("wal") || path.ends_with("steppe.lock") {
                continue;
            }
            let mut bytes = vec![0; file.len().expect("has a length") as usize];
            file.read_exact_at(&mut bytes, 0).expect("reads");
            let to = copy.open(&path, OpenMode::TRUNCATE).expect("opens");
            to.write_at(&bytes, 0).expect("writes");
            to.sync_all().expect("syncs");
        }
        copy.sync_dir(dir).expect("syncs");
    }
    copy
}

/// The records from `from` on.
fn send(log: &mut RecordReader, engine: &Engine, from: &mut Lsn, to: &mut Vec<OwnedRecord>) {
    let end = engine.wal().insert_position();
    engine.wait_durable(end).expect("flushes");
    while *from < end {
        let Record { start, end, header, body } = log.read(*from).expect("is in the log");
        to.push(OwnedRecord { start, end, header, body: body.to_vec() });
        *from = end;
    }
}

fn run_primary(seed: u64, random: &SeededRandom, options: &EngineOptions) -> Sent {
    let vfs = CrashVfs::new(seed);
    let engine = support::open(&vfs, options).expect("opens");
    let mut world = World::open(Arc::clone(&engine), random, CONFIG).expect("opens");
    let mut from = engine.wal().insert_position();
    engine.wait_durable(from).expect("flushes");
    let mut sent = Sent { base: copy_of(&vfs), portions: Vec::new(), held: Vec::new() };
    let (mut log, start) = (engine.wal().record_reader(), world.committed.clone());
    for _ in 0..PORTIONS {
        let mut portion = Vec::new();
        for _ in 0..random.below(120) {
            world.step().expect("a step");
            send(&mut log, &engine, &mut from, &mut portion);
        }
        sent.portions.push(portion);
        let (mut state, mut prepared) = (start.clone(), BTreeMap::new());
        for (_, changes) in &world.commits {
            changes.apply(&mut state);
            changes.apply_to_prepared(&mut prepared);
        }
        prepared.values_mut().for_each(Prepared::forget_unlogged);
        sent.held.push((without_unlogged(&state), prepared));
    }
    sent
}

fn replay_of(vfs: &CrashVfs, options: &EngineOptions) -> Replay {
    Replay::open(Arc::new(vfs.clone()), Path::new("data"), options.clone()).expect("opens")
}

type Trees = BTreeMap<TreeId, Vec<(Vec<u8>, Vec<u8>)>>;

/// All entries of all trees.
fn trees_of(engine: &Engine) -> Trees {
    let mut trees = Trees::new();
    for id in engine.trees().expect("lists").into_iter().chain([engine.system_tree_id()]) {
        let tree = engine.store().tree(id);
        let mut cursor = tree.scan(Bound::Unbounded, Bound::Unbounded, Direction::Forward);
        let entries = trees.entry(id).or_default();
        while cursor.next_page().expect("reads") {
            while let Some((key, value)) = cursor.next() {
                entries.push((key.to_vec(), value.to_vec()));
            }
        }
    }
    trees
}

fn check(engine: Arc<Engine>, (state, prepared): &Held) {
    let random = SeededRandom::new(1);
    let mut world = World::open(engine, &random, CONFIG).expect("opens");
    world.set_prepared(prepared.clone());
    world.check_structure().expect("is sound");
    assert_eq!(world.committed, *state);
}

fn run(seed: u64) {
    let random = SeededRandom::new(seed);
    let options = support::options(&random);
    let sent = run_primary(seed, &random, &options);
    for count in 1..=PORTIONS {
        let vfs = copy_of(&sent.base);
        let mut replay = replay_of(&vfs, &options);
        for portion in &sent.portions[..count] {
            for OwnedRecord { start, end, header, body } in portion {
                assert_eq!(replay.position(), *start);
                let record = Record { start: *start, end: *end, header: *header, body };
                replay.apply(&record).expect("applies");
            }
            // A standby is killed now and then, and goes on from what it has received.
            if random.chance(1, 3) {
                replay.flush().expect("flushes");
                drop(replay);
                replay = replay_of(&vfs, &options);
            }
        }
        replay.flush().expect("flushes");
        let in_one_piece = support::open(&copy_of(&vfs), &options).expect("recovers");
        let in_portions = replay.finish().expect("ends");
        assert!(trees_of(&in_portions) == trees_of(&in_one_piece), "after portion {count}");
        check(in_portions, &sent.held[count - 1]);
    }
}

#[test]
fn a_log_in_portions_is_replayed_as_in_one_piece() {
    support::for_each_seed(30, run);
}

#[test]
fn a_record_that_is_not_the_next_is_refused() {
    let random = SeededRandom::new(7);
    let options = support::options(&random);
    let sent = run_primary(7, &random, &options);
    let records: Vec<&OwnedRecord> = sent.portions.iter().flatten().take(2).collect();
    let [_, OwnedRecord { start, end, header, body }] = records[..] else { panic!("too few") };
    let mut replay = replay_of(&sent.base, &options);
    let record = Record { start: *start, end: *end, header: *header, body };
    let error = replay.apply(&record).expect_err("one is missing");
    assert_eq!(error.sqlstate().as_str(), "XX001", "{error}");
}
