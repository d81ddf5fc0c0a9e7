//! A disk that fills up at random moments, under sessions that do random things.
//!
//! What must hold: a statement that finds no space fails with 53100 and nothing else
//! happens; every rollback goes through, however much the transaction has done; the
//! database lives, opens again on the full disk after a power cut, and has lost nothing.

#![allow(missing_docs)]

mod support;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use steppe_txn::*;
use steppe_vfs::{CrashVfs, SeededRandom};
use support::model::{Prepared, without_unlogged};
use support::world::{Config, World};

/// Counts how often the database gave up, but for the power cuts.
fn watch(options: &mut EngineOptions) -> Arc<AtomicUsize> {
    let stops = Arc::new(AtomicUsize::new(0));
    let seen = Arc::clone(&stops);
    options.on_fatal = Some(Arc::new(move |what: &str| {
        if !what.contains("the power was cut") {
            eprintln!("stopped: {what}");
            seen.fetch_add(1, Ordering::SeqCst);
        }
    }));
    stops
}

fn is_disk_full(error: &steppe_types::Error) -> bool {
    error.sqlstate().as_str() == "53100"
}

/// Steps on a disk that has little space left; returns how many were refused.
fn steps_on_a_full_disk(world: &mut World<'_>, count: u64) -> u64 {
    let mut refused = 0;
    for _ in 0..count {
        if let Err(error) = world.step() {
            assert!(is_disk_full(&error), "{error:?}");
            world.in_doubt = None;
            refused += 1;
        }
    }
    refused
}

fn run(seed: u64) -> u64 {
    let random = SeededRandom::new(seed);
    let mut options = support::options(&random);
    let stops = watch(&mut options);
    let config = Config {
        sessions: 1 + random.below(4) as usize,
        keys: 20 + random.below(400),
        checks: 5,
        tables_change: false,
    };
    let mut vfs = CrashVfs::new(seed);
    let mut engine = support::open(&vfs, &options).expect("opens");
    let mut refused = 0;
    for _ in 0..3 {
        let mut world = World::open(Arc::clone(&engine), &random, config).expect("opens");
        for _ in 0..random.below(100) {
            world.step().expect("there is space");
        }
        vfs.set_free_space(Some(random.below(200 << 10)));
        refused += steps_on_a_full_disk(&mut world, 150);
        let crash = random.chance(1, 2);
        if crash {
            world.acknowledge().expect("flushes what has its space");
            let (committed, mut prepared) =
                (without_unlogged(&world.committed), world.prepared.clone());
            prepared.values_mut().for_each(Prepared::forget_unlogged);
            vfs.cut_power();
            drop(world);
            drop(engine);
            vfs = vfs.crash();
            vfs.set_free_space(Some(0));
            engine = support::open(&vfs, &options).expect("opens on a full disk");
            world = World::open(Arc::clone(&engine), &random, config).expect("is readable");
            assert_eq!(world.committed, committed);
            world.set_prepared(prepared);
        }
        world.finish().expect("every rollback has its space");
        vfs.set_free_space(None);
        world.check_structure().expect("is sound");
    }
    assert_eq!(stops.load(Ordering::SeqCst), 0, "the database has stopped");
    refused
}

#[test]
fn a_full_disk_refuses_work_and_nothing_else() {
    let refused = std::cell::Cell::new(0);
    support::for_each_seed(10, |seed| refused.set(refused.get() + run(seed)));
    assert!(refused.get() > 0, "no disk was ever full");
}

/// One transaction that changes far more than the log's fixed reserve could take back.
#[test]
fn a_large_transaction_on_a_full_disk_rolls_back() {
    for seed in 1..=6 {
        let random = SeededRandom::new(seed);
        let mut options = support::options(&random);
        options.pool_pages = 256;
        let stops = watch(&mut options);
        let vfs = CrashVfs::new(seed);
        let engine = support::open(&vfs, &options).expect("opens");
        let session = engine.new_session(DatabaseId::POSTGRES);
        let mut txn = Txn::begin(&session, IsolationLevel::ReadCommitted, false);
        txn.start_statement().expect("starts");
        let table = TableStore::create(&mut txn, Persistence::Logged).expect("creates");
        let mut rows = NewRows::default();
        (0..3000u32).for_each(|n| rows.push(&[n.to_le_bytes(); 30].concat()));
        let mut ids = Vec::new();
        table.insert_batch(&mut txn, &mut rows, &mut ids).expect("inserts");
        engine.wait_durable(txn.commit().expect("commits").lsn).expect("flushes");
        engine.checkpoint().expect("writes");

        // Space for several times the log's reserve, used up by one transaction.
        vfs.set_free_space(Some((500 << 10) + random.below(800 << 10)));
        let mut txn = Txn::begin(&session, IsolationLevel::ReadCommitted, false);
        let refusal = (0..1_000_000u32).find_map(|n| {
            let id = ids[random.below(ids.len() as u64) as usize];
            txn.start_statement().expect("starts");
            let result = table.modify(&mut txn, id, &mut |current, out| {
                out.extend_from_slice(current.row);
                let at = random.below(out.len() as u64 - 4) as usize;
                out[at..at + 4].copy_from_slice(&n.to_le_bytes());
                Ok(Action::Replace { key_changed: false })
            });
            result.err()
        });
        let refusal = refusal.expect("the disk is full at last");
        assert!(is_disk_full(&refusal), "{refusal:?}");
        vfs.set_free_space(Some(0));
        if random.chance(1, 2) {
            txn.rollback().expect("the space for it was set aside");
        } else {
            drop(txn);
        }
        assert_eq!(stops.load(Ordering::SeqCst), 0, "the database has stopped");
        let mut txn = Txn::begin(&session, IsolationLevel::ReadCommitted, false);
        txn.start_statement().expect("starts");
        let mut buffer = RowBuf::new();
        for (id, row) in ids.iter().zip((0..rows.len()).map(|i| rows.row(i))) {
            table.get(&txn.view(), *id, &mut buffer).expect("reads").expect("is there");
            assert_eq!(buffer.row(), row);
        }
    }
}
