//! Crash simulation. Random operations from a seed run on a disk that loses, reorders and tears
//! unsynced writes. The power is cut at a random write or sync. Recovery, itself sometimes cut,
//! follows, and the result is compared with a model.
//!
//! Operations run in one thread, so the log has their order. The state after recovery must be that
//! of a prefix of them: of all operations whose records end at or before the recovered end of the
//! log. The prefix includes all flushed operations.
//!
//! `STEPPE_CRASH_SEEDS=first..end` runs other seeds.

mod common;

use common::{Model, assert_same, options};
use std::collections::BTreeMap;
use std::sync::Arc;
use steppe_storage::{
    CheckpointState, LogHeader, LogRecord, Lsn, RecoveryHandler, Result, StorageError, Store,
    StoreOptions, TreeId,
};
use steppe_vfs::{CrashVfs, Random, SeededRandom};

const DROP: u8 = 64;
/// A number of operations that is never reached, for no power cut.
const NEVER: u64 = 1 << 60;

#[derive(Clone, Debug)]
enum Op {
    Create(TreeId),
    Put(TreeId, Vec<u8>, Vec<u8>),
    Remove(TreeId, Vec<u8>),
    /// The decision to drop; the drop itself may have to be repeated.
    Drop(TreeId),
}

type Forest = BTreeMap<TreeId, Model>;

/// The test's own record of the operations.
struct History {
    /// Each operation and the end of its record, in the order of the log.
    ops: Vec<(Lsn, Op)>,
    flushed: Lsn,
}

impl History {
    /// The state after the operations that end at or before `end`, and the trees whose drop was
    /// decided.
    fn state_at(&mut self, end: Lsn) -> (Forest, Vec<TreeId>) {
        self.ops.retain(|(lsn, _)| *lsn <= end);
        let (mut forest, mut dropped) = (Forest::new(), Vec::new());
        for (_, op) in &self.ops {
            match op {
                Op::Create(id) => drop(forest.insert(*id, Model::new())),
                Op::Put(id, key, value) => {
                    drop(forest.get_mut(id).unwrap().insert(key.clone(), value.clone()));
                }
                Op::Remove(id, key) => drop(forest.get_mut(id).unwrap().remove(key)),
                Op::Drop(id) => {
                    forest.remove(id);
                    dropped.push(*id);
                }
            }
        }
        (forest, dropped)
    }
}

/// Receives the records from recovery: payloads are operation numbers, without a gap.
#[derive(Default)]
struct Seen {
    redo: Lsn,
    payloads: Vec<(Lsn, u64)>,
    last_end: Lsn,
}

impl RecoveryHandler for Seen {
    fn begin(&mut self, _state: &[u8], redo: Lsn) -> Result<()> {
        self.redo = redo;
        Ok(())
    }

    fn record(&mut self, record: &LogRecord<'_>) -> Result<()> {
        assert!(record.start >= self.last_end);
        self.last_end = record.end;
        if let Ok(bytes) = record.payload.try_into() {
            self.payloads.push((record.end, u64::from_le_bytes(bytes)));
        }
        Ok(())
    }
}

struct Rng(SeededRandom);

impl Rng {
    fn below(&self, bound: u64) -> u64 {
        let mut bytes = [0; 8];
        self.0.fill(&mut bytes).unwrap();
        u64::from_le_bytes(bytes) % bound
    }

    fn one_in(&self, n: u64) -> bool {
        self.below(n) == 0
    }
}

struct Run {
    rng: Rng,
    history: History,
    /// Operation numbers, never reused.
    next: u64,
    forest: Forest,
    /// Whether checkpoints are taken. Without them (except one at the start of a round), more
    /// batches of pages are written between two syncs of the data file.
    checkpoints: bool,
}

fn small(vfs: &Arc<CrashVfs>) -> StoreOptions {
    StoreOptions {
        wal_buffers_bytes: 128 << 10,
        wal_segment_bytes: 256 << 10,
        min_wal_bytes: 0,
        ..options(vfs, 40)
    }
}

impl Run {
    fn log(&mut self) -> (LogHeader, u64) {
        self.next += 1;
        (LogHeader::change(self.next, Lsn::INVALID), self.next)
    }

    /// Works until the power fails or `steps` operations are done.
    fn work(&mut self, store: &Store, steps: u64) -> Result<()> {
        for _ in 0..steps {
            self.step(store)?;
        }
        Ok(())
    }

    fn step(&mut self, store: &Store) -> Result<()> {
        match self.rng.below(1000) {
            _ if self.forest.is_empty() => self.create(store),
            0..3 if self.forest.len() < 3 => self.create(store),
            3..5 => self.drop_one(store),
            5..9 if self.checkpoints => {
                store.checkpoint(&mut |_| CheckpointState::default()).map(drop)
            }
            9..40 => {
                let end = store.wal().insert_position();
                store.wal().flush(end)?;
                self.history.flushed = end;
                Ok(())
            }
            40..60 => self.remove(store),
            _ => self.put(store),
        }
    }

    fn create(&mut self, store: &Store) -> Result<()> {
        let (header, number) = self.log();
        let (id, appended) = store
            .create_tree(header, |_, payload| payload.extend_from_slice(&number.to_le_bytes()))?;
        self.history.ops.push((appended.end, Op::Create(id)));
        self.forest.insert(id, Model::new());
        Ok(())
    }

    fn pick(&self) -> TreeId {
        let n = self.rng.below(self.forest.len() as u64) as usize;
        *self.forest.keys().nth(n).unwrap()
    }

    fn drop_one(&mut self, store: &Store) -> Result<()> {
        let id = self.pick();
        let (header, number) = self.log();
        let appended = store.append(DROP, header, &number.to_le_bytes())?;
        self.history.ops.push((appended.end, Op::Drop(id)));
        self.forest.remove(&id);
        // As in a commit, the decision must be durable before pages are freed.
        store.wal().flush(appended.end)?;
        self.history.flushed = appended.end;
        store.drop_tree(id).map(drop)
    }

    fn key(&self) -> Vec<u8> {
        let mut key = self.rng.below(1000).to_be_bytes().to_vec();
        key.truncate(8 - self.rng.below(2) as usize);
        if self.rng.one_in(30) {
            key.resize(8 + self.rng.below(900) as usize, 7);
        }
        key
    }

    fn put(&mut self, store: &Store) -> Result<()> {
        let (id, key) = (self.pick(), self.key());
        let (header, number) = self.log();
        let value = vec![number as u8; self.rng.below(900) as usize];
        let spliced = self.rng.one_in(3);
        let head = vec![!number as u8; self.rng.below(2) as usize];
        let mut new = value.clone();
        let appended = store.tree(id).write(&key, header, |old, op| {
            op.payload().extend_from_slice(&number.to_le_bytes());
            match old {
                Some(old) if spliced && old.len() >= 4 => {
                    op.splice(1, 2, &value[..value.len().min(5)]);
                    op.with_head(&head);
                    let rest = &old[head.len()..1];
                    new = [&head, rest, &value[..value.len().min(5)], &old[3..]].concat();
                }
                _ => {
                    op.put(&value);
                    new.clone_from(&value);
                }
            }
            Ok::<(), StorageError>(())
        })?;
        let appended = appended.expect("a put changes something");
        self.history.ops.push((appended.end, Op::Put(id, key.clone(), new.clone())));
        self.forest.get_mut(&id).unwrap().insert(key, new);
        Ok(())
    }

    fn remove(&mut self, store: &Store) -> Result<()> {
        let id = self.pick();
        let model = &self.forest[&id];
        if model.is_empty() {
            return Ok(());
        }
        // The removed keys are neighbours, so that pages become empty and merge.
        let n = self.rng.below(model.len() as u64) as usize;
        let keys: Vec<_> = model.keys().skip(n).take(20).cloned().collect();
        for key in keys {
            let (header, number) = self.log();
            let appended = store.tree(id).write(&key, header, |_, op| {
                op.payload().extend_from_slice(&number.to_le_bytes());
                op.remove();
                Ok::<(), StorageError>(())
            })?;
            let appended = appended.expect("the key is there");
            self.history.ops.push((appended.end, Op::Remove(id, key.clone())));
            self.forest.get_mut(&id).unwrap().remove(&key);
        }
        Ok(())
    }

    /// Checks the recovered store against the history, and finishes the drops.
    fn verify(&mut self, store: &Store, seen: &Seen) {
        let end = store.recovery_summary().end;
        assert!(end >= self.history.flushed, "flushed to {}, back to {end}", self.history.flushed);
        let (forest, dropped) = self.history.state_at(end);
        let expected: Vec<Lsn> =
            self.history.ops.iter().map(|(lsn, _)| *lsn).filter(|lsn| *lsn > seen.redo).collect();
        let shown: Vec<Lsn> = seen.payloads.iter().map(|(lsn, _)| *lsn).collect();
        assert_eq!(shown, expected, "records shown to the recovery handler");
        for id in dropped {
            store.drop_tree(id).expect("dropping can be repeated");
        }
        for (id, model) in &forest {
            assert_same(&store.tree(*id), model);
        }
        let ids: Vec<TreeId> = forest.keys().copied().collect();
        store.check_space(&ids).expect("bitmap and trees agree");
        self.history.flushed = Lsn::INVALID;
        self.forest = forest;
    }
}

/// Opens until it succeeds; the power may fail during recovery, too.
fn recover(run: &mut Run, mut vfs: Arc<CrashVfs>) -> (Arc<CrashVfs>, Store) {
    let mut cuts = run.rng.below(4);
    loop {
        if cuts > 0 {
            cuts -= 1;
            vfs.cut_power_at(1 + run.rng.below(60));
        } else {
            vfs.cut_power_at(NEVER);
        }
        let mut seen = Seen::default();
        match Store::open(small(&vfs), &mut seen) {
            Ok(store) if vfs.is_powered() => {
                vfs.cut_power_at(NEVER);
                run.verify(&store, &seen);
                return (vfs, store);
            }
            Ok(store) => drop(store),
            Err(error) => assert!(!vfs.is_powered(), "recovery failed: {error}"),
        }
        vfs = Arc::new(vfs.crash());
    }
}

fn run_seed(seed: u64) {
    let mut run = Run {
        rng: Rng(SeededRandom::new(seed)),
        history: History { ops: Vec::new(), flushed: Lsn::INVALID },
        next: 0,
        forest: Forest::new(),
        checkpoints: seed.is_multiple_of(2),
    };
    let vfs = Arc::new(CrashVfs::new(seed));
    let (mut vfs, mut store) = recover(&mut run, vfs);
    for _ in 0..3 {
        store.checkpoint(&mut |_| CheckpointState::default()).unwrap();
        let steps = 50 + run.rng.below(2500);
        vfs.cut_power_at(1 + run.rng.below(800));
        if let Err(error) = run.work(&store, steps) {
            assert!(!vfs.is_powered(), "seed {seed}: {error}");
        }
        drop(store);
        let killed_only = vfs.is_powered() && run.rng.one_in(2);
        vfs = Arc::new(if killed_only { vfs.restart() } else { vfs.crash() });
        (vfs, store) = recover(&mut run, vfs);
    }
}

fn seeds() -> std::ops::Range<u64> {
    let Ok(range) = std::env::var("STEPPE_CRASH_SEEDS") else { return 0..250 };
    let (first, end) = range.split_once("..").expect("first..end");
    first.parse().expect("a number")..end.parse().expect("a number")
}

#[test]
fn recovers_from_power_cuts_at_any_operation() {
    for seed in seeds() {
        let result = std::panic::catch_unwind(|| run_seed(seed));
        if let Err(panic) = result {
            eprintln!("seed {seed} failed; repeat it with STEPPE_CRASH_SEEDS={seed}..{}", seed + 1);
            std::panic::resume_unwind(panic);
        }
    }
}
