//! SERIALIZABLE against the definition: transactions interleaved by seed, and of those that
//! committed a graph of who must come before whom. It has a cycle exactly if no serial order
//! explains what they saw (Adya, "Weak Consistency", 1999).
//!
//! Every read is also compared with what the snapshot has to show.

#![allow(missing_docs)]

mod support;

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;
use std::sync::Arc;

use steppe_txn::*;
use steppe_types::{Error, Result, SqlState};
use steppe_vfs::{CrashVfs, SeededRandom};

const KEYS: u8 = 12;
const SESSIONS: usize = 5;
const STEPS: usize = 400;

type Versions = BTreeMap<u8, Option<u32>>;

/// A transaction that has committed.
struct Committed {
    /// How many had committed when it took its snapshot.
    snapshot: usize,
    reads: BTreeSet<u8>,
    writes: Versions,
}

struct Running {
    txn: Txn,
    snapshot: usize,
    snapshot_lsn: Lsn,
    reads: BTreeSet<u8>,
    writes: Versions,
    read_only: bool,
    deferrable: bool,
    /// It has not got a safe snapshot yet.
    waits: bool,
}

struct Slot {
    session: SessionHandle,
    running: Option<Running>,
}

#[derive(Default)]
struct Tally {
    committed: usize,
    failed: usize,
    cycles: usize,
}

struct History {
    isolation: IsolationLevel,
    random: SeededRandom,
    table: TableStore,
    index: IndexStore,
    slots: Vec<Slot>,
    committed: Vec<Committed>,
    next_version: u32,
    failed: usize,
}

fn row_of(key: u8, version: u32) -> Vec<u8> {
    let mut row = vec![key];
    row.extend_from_slice(&version.to_le_bytes());
    row
}

fn parse(row: &[u8]) -> (u8, u32) {
    (row[0], u32::from_le_bytes(row[1..5].try_into().expect("a version")))
}

/// What made an operation end its transaction.
enum Stop {
    /// It would have to wait, or met a newer version: rolled back by us.
    Blocked,
    Error(Error),
}

impl From<Error> for Stop {
    fn from(error: Error) -> Stop {
        Stop::Error(error)
    }
}

impl History {
    fn open(seed: u64, isolation: IsolationLevel) -> History {
        let random = SeededRandom::new(seed);
        let options = EngineOptions {
            // Some histories keep few, so that the rest is summarised.
            serializable_kept: [1000, 3, 0][seed as usize % 3],
            ..support::options(&random)
        };
        let engine = support::open(&CrashVfs::new(seed), &options).expect("opens");
        let session = engine.new_session(DatabaseId::POSTGRES);
        let mut txn = Txn::begin(&session, IsolationLevel::ReadCommitted, false);
        txn.start_statement().expect("starts");
        let table = TableStore::create(&mut txn, Persistence::Logged).expect("creates");
        let index = IndexStore::create(&mut txn, true, Persistence::Logged).expect("creates");
        let mut writes = Versions::new();
        for key in (0..KEYS).step_by(2) {
            let id = table.insert(&mut txn, &row_of(key, u32::from(key))).expect("inserts");
            index.insert(&mut txn, &[key], false, id).expect("inserts");
            writes.insert(key, Some(u32::from(key)));
        }
        let _ = txn.commit().expect("commits");
        let slots = (0..SESSIONS)
            .map(|_| Slot { session: engine.new_session(DatabaseId::POSTGRES), running: None })
            .collect();
        let first = Committed { snapshot: 0, reads: BTreeSet::new(), writes };
        let committed = vec![first];
        History { isolation, random, table, index, slots, committed, next_version: 100, failed: 0 }
    }

    fn below(&self, n: u64) -> u64 {
        self.random.below(n)
    }

    /// What the key was after the first `commits` transactions.
    fn version(&self, key: u8, commits: usize) -> Option<u32> {
        let writers = self.committed[..commits].iter().rev();
        writers.filter_map(|c| c.writes.get(&key)).next().copied().flatten()
    }

    fn step(&mut self) {
        let at = self.below(SESSIONS as u64) as usize;
        let Some(mut running) = self.slots[at].running.take() else {
            let started = self.begin(at);
            self.slots[at].running = Some(started);
            return;
        };
        if running.waits {
            self.await_safety(&mut running);
            self.slots[at].running = Some(running);
            return;
        }
        if self.random.chance(1, 6) {
            self.end(running);
            return;
        }
        match self.operate(&mut running) {
            Ok(()) => self.slots[at].running = Some(running),
            Err(stop) => {
                if let Stop::Error(error) = stop {
                    self.expect_failure(&error, &running);
                }
                running.txn.rollback().expect("rolls back");
            }
        }
    }

    fn expect_failure(&mut self, error: &Error, running: &Running) {
        assert_eq!(error.sqlstate(), SqlState::SERIALIZATION_FAILURE, "{error}");
        assert_eq!(self.isolation, IsolationLevel::Serializable);
        assert!(!running.deferrable, "a deferrable transaction fails: {error}");
        self.failed += 1;
    }

    fn begin(&mut self, at: usize) -> Running {
        let read_only = self.random.chance(1, 4);
        let deferrable =
            read_only && self.isolation == IsolationLevel::Serializable && self.random.chance(1, 2);
        let mut running = Running {
            txn: Txn::begin(&self.slots[at].session, self.isolation, read_only),
            snapshot: 0,
            snapshot_lsn: Lsn(0),
            reads: BTreeSet::new(),
            writes: Versions::new(),
            read_only,
            deferrable,
            waits: deferrable,
        };
        if deferrable {
            self.await_safety(&mut running);
        } else {
            self.start_statement(&mut running);
        }
        running
    }

    fn await_safety(&self, running: &mut Running) {
        let wait = running.txn.await_safe_snapshot().expect("no failure while waiting");
        running.waits = wait.is_some();
        drop(wait);
        self.note_snapshot(running);
    }

    fn start_statement(&self, running: &mut Running) {
        running.txn.start_statement().expect("starts");
        self.note_snapshot(running);
    }

    fn note_snapshot(&self, running: &mut Running) {
        let lsn = running.txn.snapshot().lsn;
        if running.snapshot_lsn != lsn {
            (running.snapshot, running.snapshot_lsn) = (self.committed.len(), lsn);
        }
    }

    fn operate(&mut self, running: &mut Running) -> Result<(), Stop> {
        self.start_statement(running);
        let key = self.below(u64::from(KEYS)) as u8;
        let choices = if running.read_only { 4 } else { 8 };
        match self.below(choices) {
            0 => self.read_all(running)?,
            1 => {
                let other = self.below(u64::from(KEYS)) as u8;
                self.read_range(running, key.min(other), key.max(other))?;
            }
            2 | 3 => drop(self.read_key(running, key)?),
            _ => self.write(running, key)?,
        }
        Ok(())
    }

    /// Compares what was read of some keys with what the snapshot has to show.
    fn saw(&self, running: &mut Running, keys: impl Iterator<Item = u8>, seen: &BTreeMap<u8, u32>) {
        for key in keys {
            let expected = match running.writes.get(&key) {
                Some(own) => *own,
                None => self.version(key, running.snapshot),
            };
            assert_eq!(seen.get(&key).copied(), expected, "key {key}");
            running.reads.insert(key);
        }
    }

    fn read_all(&self, running: &mut Running) -> Result<()> {
        let mut cursor = self.table.scan_all(running.txn.view())?;
        let mut seen = BTreeMap::new();
        while let Some((_, row)) = cursor.next()? {
            let (key, version) = parse(row);
            assert_eq!(seen.insert(key, version), None, "key {key} is there twice");
        }
        self.saw(running, 0..KEYS, &seen);
        Ok(())
    }

    fn read_range(&self, running: &mut Running, from: u8, to: u8) -> Result<()> {
        let view = running.txn.view();
        let (lower, upper) = ([from], [to]);
        let bounds = (Bound::Included(&lower[..]), Bound::Included(&upper[..]));
        let direction =
            [Direction::Forward, Direction::Backward][usize::from(from.is_multiple_of(2))];
        let mut cursor = self.index.scan(view.clone(), bounds.0, bounds.1, direction)?;
        let (mut seen, mut buffer) = (BTreeMap::new(), RowBuf::new());
        while let Some((key, row, _)) = cursor.next()? {
            let key = key[0];
            if self.table.get(&view, row, &mut buffer)?.is_some() {
                assert_eq!(seen.insert(key, parse(buffer.row()).1), None);
            }
        }
        self.saw(running, from..=to, &seen);
        Ok(())
    }

    fn read_key(&self, running: &mut Running, key: u8) -> Result<Option<RowId>> {
        let view = running.txn.view();
        let (mut postings, mut buffer) = (Vec::new(), RowBuf::new());
        let (mut seen, mut found) = (BTreeMap::new(), None);
        let mut candidates = self.index.lookup_unique(&view, &[key], &mut postings)?;
        while let Some((row, _)) = candidates.try_next()? {
            if self.table.get(&view, row, &mut buffer)?.is_some() {
                assert_eq!(seen.insert(key, parse(buffer.row()).1), None);
                found = Some(row);
            }
        }
        self.saw(running, std::iter::once(key), &seen);
        Ok(found)
    }

    fn write(&mut self, running: &mut Running, key: u8) -> Result<(), Stop> {
        let found = self.read_key(running, key)?;
        self.next_version += 1;
        let version = self.next_version;
        let txn = &mut running.txn;
        let Some(id) = found else {
            let id = self.table.insert(txn, &row_of(key, version))?;
            let IndexInsert::Done = self.index.insert(txn, &[key], false, id)? else {
                return Err(Stop::Blocked);
            };
            running.writes.insert(key, Some(version));
            return Ok(());
        };
        let delete = self.random.chance(1, 3);
        let mut change = |_: Current<'_>, out: &mut Vec<u8>| {
            if delete {
                return Ok(Action::Delete);
            }
            out.extend_from_slice(&row_of(key, version));
            Ok(Action::Replace { key_changed: false })
        };
        let ModifyOutcome::Done = self.table.modify(txn, id, &mut change)? else {
            return Err(Stop::Blocked);
        };
        if delete {
            self.index.mark_deleted(txn, &[key], false, id)?;
        }
        running.writes.insert(key, (!delete).then_some(version));
        Ok(())
    }

    fn end(&mut self, running: Running) {
        let Running { txn, snapshot, reads, writes, .. } = running;
        if self.random.chance(1, 8) {
            txn.rollback().expect("rolls back");
            return;
        }
        match txn.commit() {
            Ok(_) => self.committed.push(Committed { snapshot, reads, writes }),
            Err(error) => {
                assert_eq!(error.sqlstate(), SqlState::SERIALIZATION_FAILURE, "{error}");
                assert!(!running.deferrable, "a deferrable transaction fails: {error}");
                self.failed += 1;
            }
        }
    }

    /// Who must come after each transaction.
    fn dependencies(&self) -> Vec<BTreeSet<usize>> {
        let mut after = vec![BTreeSet::new(); self.committed.len()];
        for key in 0..KEYS {
            let writers: Vec<usize> = (0..self.committed.len())
                .filter(|&n| self.committed[n].writes.contains_key(&key))
                .collect();
            for pair in writers.windows(2) {
                after[pair[0]].insert(pair[1]);
            }
            for (reader, transaction) in self.committed.iter().enumerate() {
                if !transaction.reads.contains(&key) {
                    continue;
                }
                let unseen = writers.partition_point(|&n| n < transaction.snapshot);
                if let Some(&before) = unseen.checked_sub(1).and_then(|n| writers.get(n)) {
                    after[before].insert(reader);
                }
                if let Some(&next) = writers.get(unseen) {
                    after[reader].insert(next);
                }
            }
        }
        for (n, set) in after.iter_mut().enumerate() {
            set.remove(&n);
        }
        after
    }
}

/// How many transactions are on a cycle or behind one: zero if a serial order exists.
fn without_order(after: &[BTreeSet<usize>]) -> usize {
    let mut before = vec![0; after.len()];
    after.iter().flatten().for_each(|&n| before[n] += 1);
    let mut ready: Vec<usize> = (0..after.len()).filter(|&n| before[n] == 0).collect();
    let mut ordered = 0;
    while let Some(n) = ready.pop() {
        ordered += 1;
        for &next in &after[n] {
            before[next] -= 1;
            if before[next] == 0 {
                ready.push(next);
            }
        }
    }
    after.len() - ordered
}

fn run(seed: u64, isolation: IsolationLevel) -> Tally {
    let mut history = History::open(seed, isolation);
    (0..STEPS).for_each(|_| history.step());
    let stuck = without_order(&history.dependencies());
    let tally = Tally {
        committed: history.committed.len(),
        failed: history.failed,
        cycles: usize::from(stuck > 0),
    };
    for slot in &mut history.slots {
        if let Some(running) = slot.running.take() {
            running.txn.rollback().expect("rolls back");
        }
    }
    tally
}

impl Tally {
    fn add(&mut self, seed: u64, isolation: IsolationLevel) {
        let tally = run(seed, isolation);
        assert!(
            isolation == IsolationLevel::RepeatableRead || tally.cycles == 0,
            "seed {seed}: no serial order explains the history"
        );
        self.committed += tally.committed;
        self.failed += tally.failed;
        self.cycles += tally.cycles;
    }
}

#[test]
fn what_commits_has_a_serial_order() {
    let mut sum = Tally::default();
    support::for_each_seed(300, |seed| sum.add(seed, IsolationLevel::Serializable));
    println!("{} committed, {} failed", sum.committed, sum.failed);
    assert!(sum.failed > 0, "nothing ever failed: there was nothing to prevent");
    assert!(sum.committed > sum.failed * 2, "{} failed of {}", sum.failed, sum.committed);
}

/// The tester sees what SERIALIZABLE prevents.
#[test]
fn repeatable_read_does_not() {
    let mut sum = Tally::default();
    (0..20).for_each(|seed| sum.add(seed, IsolationLevel::RepeatableRead));
    assert!(sum.cycles > 10, "{} of 20 histories have a cycle", sum.cycles);
}

/// Two accounts, whose sum must not fall below zero: each withdrawal looks at both and takes
/// from one, or puts something in. Threads, so that reads and writes really overlap.
#[test]
fn threads_keep_what_each_transaction_keeps() {
    let history = History::open(1, IsolationLevel::Serializable);
    let engine = Arc::clone(history.slots[0].session.engine());
    let failed: usize = std::thread::scope(|scope| {
        let (history, engine) = (&history, &engine);
        let run = move |n: u64| {
            let session = engine.new_session(DatabaseId::POSTGRES);
            let random = SeededRandom::new(n);
            (0..2000).filter(|_| withdraw(history, &session, &random).is_none()).count()
        };
        let threads: Vec<_> = (0..4).map(|n| scope.spawn(move || run(n))).collect();
        threads.into_iter().map(|thread| thread.join().expect("no panic")).sum()
    });
    println!("{failed} of 8000 failed");
}

fn balance(history: &History, txn: &Txn) -> (i32, i32) {
    let (view, mut buffer) = (txn.view(), RowBuf::new());
    let mut of = |key: u8| -> Result<i32> {
        let mut postings = Vec::new();
        let mut candidates = history.index.lookup_unique(&view, &[key], &mut postings)?;
        while let Some((row, _)) = candidates.try_next()? {
            if history.table.get(&view, row, &mut buffer)?.is_some() {
                return Ok(parse(buffer.row()).1 as i32);
            }
        }
        panic!("account {key} is gone")
    };
    (of(0).unwrap_or(i32::MIN), of(2).unwrap_or(i32::MIN))
}

/// One transaction; `None` if it failed.
fn withdraw(history: &History, session: &SessionHandle, random: &SeededRandom) -> Option<()> {
    let mut txn = Txn::begin(session, IsolationLevel::Serializable, false);
    txn.start_statement().ok()?;
    let (first, second) = balance(history, &txn);
    if first == i32::MIN || second == i32::MIN {
        return None; // a read has failed
    }
    assert!(first + second >= 0, "{first} + {second}");
    std::thread::yield_now();
    let change = if first + second >= 3 { -3 } else { 2 };
    let (id, key, old) =
        if random.chance(1, 2) { (RowId(1), 0, first) } else { (RowId(2), 2, second) };
    let new = row_of(key, (old + change) as u32);
    let mut replace = |_: Current<'_>, out: &mut Vec<u8>| {
        out.extend_from_slice(&new);
        Ok(Action::Replace { key_changed: false })
    };
    match history.table.modify(&mut txn, id, &mut replace) {
        Ok(ModifyOutcome::Done) => txn.commit().ok().map(drop),
        _ => None,
    }
}
