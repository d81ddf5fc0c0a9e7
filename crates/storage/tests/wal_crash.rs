//! Power cuts during log operations: at every operation of a random history, again after recovery,
//! and with threads.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use steppe_storage::wal::{Lsn, RecordHeader, Wal, WalError, WalOptions, WalReader};
use steppe_vfs::{CrashVfs, SeededRandom, SlowSyncVfs};

const DIR: &str = "pg_wal";

fn options(threads: bool) -> WalOptions {
    WalOptions {
        ring_size: 16 << 10,
        segment_size: 16 << 10,
        system_id: 1,
        threads,
        wal_writer_delay: Duration::from_millis(1),
        ..WalOptions::default()
    }
}

/// The expected body of the record with this number.
fn body_of(number: u64) -> Vec<u8> {
    let random = SeededRandom::new(number);
    let len = match random.below(20) {
        0 => random.below(3500),
        1..=4 => random.below(600),
        _ => random.below(120),
    };
    (0..len).map(|_| u8::try_from(random.below(256)).expect("a byte")).collect()
}

/// The test's own record of the log: the record numbers in order, and how many of them were
/// acknowledged.
#[derive(Clone, Debug, Default)]
struct Ledger {
    appended: Vec<(u64, Lsn)>,
    acknowledged: usize,
    /// The position where reading starts: records before it were given up.
    first: Option<Lsn>,
    next_number: u64,
}

/// Appends, flushes and recycles until the power fails or `steps` operations are done.
fn work(wal: &Wal, random: &SeededRandom, steps: u64, ledger: &mut Ledger) -> Result<(), WalError> {
    for _ in 0..steps {
        match random.below(10) {
            0..7 => {
                let number = ledger.next_number;
                ledger.next_number += 1;
                let header = RecordHeader { xid: number, ..RecordHeader::default() };
                let appended = wal.append(header, &[&body_of(number)])?;
                ledger.appended.push((number, appended.end));
            }
            7..9 => {
                let upto = ledger.appended.len();
                if let Some((_, end)) = ledger.appended.last() {
                    wal.flush(*end)?;
                    ledger.acknowledged = upto;
                }
            }
            _ if random.chance(1, 4) && ledger.acknowledged > 20 => {
                // As at a checkpoint, everything up to ten records before the acknowledged ones is
                // no longer needed.
                let keep = ledger.acknowledged - 10;
                let first = ledger.appended[keep - 1].1;
                ledger.appended.drain(..keep);
                ledger.acknowledged -= keep;
                ledger.first = Some(first);
                wal.remove_before(first, 48 << 10)?;
            }
            _ => wal.request_flush(),
        }
    }
    Ok(())
}

/// Recovers, checks the ledger against the log, and cuts the ledger to the log's records.
fn recover(vfs: &CrashVfs, ledger: &mut Ledger, context: &str) -> Lsn {
    let from = ledger.first.unwrap_or(options(false).first_lsn());
    let known = match ledger.acknowledged {
        0 => from,
        count => ledger.appended[count - 1].1,
    };
    let vfs = Arc::new(vfs.clone());
    let mut reader = WalReader::open(vfs, Path::new(DIR), &options(false), from, known);
    let mut count = 0;
    while let Some(record) = reader.next().unwrap_or_else(|e| panic!("{context}: {e}")) {
        let number = record.header.xid;
        let Some((expected, end)) = ledger.appended.get(count) else {
            panic!("{context}: record {number} was never appended, or not after the others");
        };
        assert_eq!((number, record.end), (*expected, *end), "{context}");
        assert_eq!(record.body, body_of(number), "{context}");
        count += 1;
    }
    assert!(count >= ledger.acknowledged, "{context}: {count} of {}", ledger.acknowledged);
    ledger.appended.truncate(count);
    reader.position()
}

fn start(vfs: &CrashVfs, start: Lsn, threads: bool) -> Result<Wal, WalError> {
    Wal::open(Arc::new(vfs.clone()), Path::new(DIR), options(threads), start)
}

/// One history of `lives` lives. Each ends with a power cut at a random operation, and is checked
/// after recovery.
fn history(seed: u64, lives: u64) {
    let random = SeededRandom::new(seed);
    let mut vfs = CrashVfs::new(seed);
    let mut ledger = Ledger::default();
    let mut position = options(false).first_lsn();
    for life in 0..lives {
        let context = format!("seed {seed}, life {life}");
        let dies = random.chance(2, 3);
        if dies {
            vfs.cut_power_at(1 + random.below(120));
        }
        if let Ok(wal) = start(&vfs, position, false) {
            // The recovered records are durable from here on.
            ledger.acknowledged = ledger.appended.len();
            let result = work(&wal, &random, 200, &mut ledger);
            assert!(result.is_ok() || !vfs.is_powered(), "{context}: {result:?}");
        }
        // Sometimes the process is killed instead of a power cut.
        vfs = if vfs.is_powered() && random.chance(2, 3) { vfs.restart() } else { vfs.crash() };
        position = recover(&vfs, &mut ledger, &context);
    }
}

#[test]
fn histories_of_power_cuts() {
    for seed in 0..400 {
        history(seed, 8);
    }
}

#[test]
fn a_power_cut_at_every_operation() {
    for seed in 0..4 {
        let run = |cut: Option<u64>| {
            let random = SeededRandom::new(seed);
            let vfs = CrashVfs::new(seed);
            let wal = start(&vfs, options(false).first_lsn(), false).expect("opens");
            let mut ledger = Ledger::default();
            let before = vfs.operations();
            if let Some(cut) = cut {
                vfs.cut_power_at(cut);
            }
            let result = work(&wal, &random, 400, &mut ledger);
            assert_eq!(result.is_ok(), cut.is_none());
            (vfs.operations() - before, vfs, ledger)
        };
        let (operations, ..) = run(None);
        assert!(operations > 100, "{operations}");
        for cut in 1..=operations {
            let (_, vfs, ledger) = run(Some(cut));
            for outcome in 0..3 {
                let context = format!("seed {seed}, operation {cut}, outcome {outcome}");
                let after = vfs.crash_with_seed(outcome * 1000 + cut);
                let mut ledger = ledger.clone();
                let end = recover(&after, &mut ledger, &context);
                // The recovered log accepts records again and keeps them.
                let wal = start(&after, end, false).expect("opens");
                ledger.acknowledged = ledger.appended.len();
                let random = SeededRandom::new(cut);
                work(&wal, &random, 20, &mut ledger).expect("works");
                drop(wal);
                recover(&after.crash(), &mut ledger, &context);
            }
        }
    }
}

#[test]
fn threads_lose_nothing_that_was_acknowledged() {
    for seed in 0..60 {
        let random = SeededRandom::new(seed);
        let vfs = CrashVfs::new(seed);
        // Syncs take a while, so that appends continue meanwhile.
        let slow = SlowSyncVfs::new(Arc::new(vfs.clone()), Duration::from_micros(200));
        let first = options(true).first_lsn();
        let wal = Wal::open(Arc::new(slow), Path::new(DIR), options(true), first).expect("opens");
        vfs.cut_power_at(1 + random.below(80));
        let acknowledged = Mutex::new(Vec::new());
        let appended = Mutex::new(std::collections::BTreeMap::new());
        std::thread::scope(|scope| {
            for thread in 0..4_u64 {
                let (wal, acknowledged, appended) = (&wal, &acknowledged, &appended);
                scope.spawn(move || {
                    for i in 0..100 {
                        let number = thread * 1000 + i;
                        let header = RecordHeader { xid: number, ..RecordHeader::default() };
                        let Ok(record) = wal.append(header, &[&body_of(number)]) else { return };
                        appended.lock().insert(record.start, number);
                        if i % 3 == 0 {
                            match wal.flush(record.end) {
                                Ok(()) => acknowledged.lock().push(number),
                                Err(_) => return,
                            }
                        }
                    }
                });
            }
        });
        drop(wal);
        let vfs = Arc::new(vfs.crash());
        let from = options(true).first_lsn();
        let mut reader = WalReader::open(vfs, Path::new(DIR), &options(true), from, from);
        let mut found = std::collections::BTreeSet::new();
        while let Some(record) = reader.next().unwrap_or_else(|e| panic!("seed {seed}: {e}")) {
            let number = record.header.xid;
            assert_eq!(record.body, body_of(number), "seed {seed}");
            if let Some(expected) = appended.lock().get(&record.start) {
                assert_eq!(number, *expected, "seed {seed}");
            }
            found.insert(number);
        }
        for number in acknowledged.into_inner() {
            assert!(found.contains(&number), "seed {seed}: {number} was acknowledged");
        }
    }
}
