//! A table ten times the pool: random reads and updates over time, with checkpoints during them, a
//! cold scan, and the recovery from a gigabyte of log.
//!
//! `cargo run --release -p steppe-storage --example pressure [SECONDS [DIRECTORY]]`
//!
//! Each line is a window of time: operations per second, and the longest one. Expected: the last
//! window is as good as the first, and a checkpoint increases no maximum by more than a write or
//! two of the disk.

use std::ops::Bound;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};
use steppe_storage::{
    CheckpointState, Direction, LogHeader, Result, StorageError, Store, StoreOptions, Tree, TreeId,
};

const POOL_BYTES: usize = 64 << 20;
const TABLE_BYTES: u64 = 640 << 20;
const LOG_BYTES: u64 = 1 << 30;
const VALUE: [u8; 120] = [7; 120];
const THREADS: u64 = 2;
const WINDOWS: u32 = 6;

fn main() -> Result<()> {
    let mut args = std::env::args().skip(1);
    let seconds: u64 = args.next().and_then(|n| n.parse().ok()).unwrap_or(60);
    let base = args.next().map_or_else(std::env::temp_dir, PathBuf::from);
    let dir = base.join(format!("steppe-pressure-{}", std::process::id()));
    let result = measure(Duration::from_secs(seconds), &dir);
    let _ = std::fs::remove_dir_all(&dir);
    result
}

fn open(dir: &std::path::Path) -> Result<Store> {
    let options = StoreOptions { pool_pages: POOL_BYTES / 8192, ..StoreOptions::new(dir) };
    Store::open(options, &mut ())
}

fn measure(duration: Duration, dir: &std::path::Path) -> Result<()> {
    let store = open(dir)?;
    let (id, _) = store.create_tree(LogHeader::default(), |_, _| {})?;
    let rows = load(&store, id)?;
    store.close()?;
    drop(store);
    let store = open(dir)?;
    let tree = store.tree(id);
    scan(&store, &tree)?;
    windows("random reads", &store, duration, |n| {
        let mut value = Vec::new();
        tree.read(&key(n, rows), &mut value).map(drop)
    })?;
    windows("random updates", &store, duration * 3, |n| update(&tree, n, rows))?;
    println!("{:?}", store.stats());
    drop(tree);
    recover(dir, store, id, rows)
}

fn load(store: &Store, id: TreeId) -> Result<u64> {
    let tree = store.tree(id);
    let (start, mut rows) = (Instant::now(), 0u64);
    while store.stats().allocated_pages * 8192 < TABLE_BYTES {
        let keys: Vec<_> = (rows..rows + 1000).map(u64::to_be_bytes).collect();
        let entries: Vec<(&[u8], &[u8])> = keys.iter().map(|k| (&k[..], &VALUE[..])).collect();
        let mut rest = &entries[..];
        while !rest.is_empty() {
            let ok = |_: usize, _: &mut Vec<u8>| Ok::<(), StorageError>(());
            rest = &rest[tree.insert_many(rest, LogHeader::default(), ok)?.consumed..];
        }
        rows += 1000;
    }
    checkpoint(store)?;
    let rate = TABLE_BYTES as f64 / 1e6 / start.elapsed().as_secs_f64();
    println!("load: {rows} rows, {rate:.0} MB/s with its checkpoint");
    Ok(rows)
}

fn checkpoint(store: &Store) -> Result<()> {
    store.checkpoint(&mut |_| CheckpointState::default()).map(drop)
}

fn scan(store: &Store, tree: &Tree) -> Result<()> {
    let (start, before) = (Instant::now(), store.stats().pages_read);
    let mut cursor = tree.scan(Bound::Unbounded, Bound::Unbounded, Direction::Forward);
    let mut rows = 0u64;
    while cursor.next_page()? {
        while cursor.next().is_some() {
            rows += 1;
        }
    }
    let read = (store.stats().pages_read - before) as f64 * 8192.0 / 1e6;
    let rate = read / start.elapsed().as_secs_f64();
    println!("scan past the pool: {rows} rows, {rate:.0} MB/s");
    Ok(())
}

fn scattered(n: u64) -> u64 {
    n.wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29).wrapping_mul(0xbf58_476d_1ce4_e5b9)
}

fn key(n: u64, rows: u64) -> [u8; 8] {
    (scattered(n) % rows).to_be_bytes()
}

fn update(tree: &Tree, n: u64, rows: u64) -> Result<()> {
    tree.write(&key(n, rows), LogHeader::default(), |_, op| {
        op.splice(8, 8, &n.to_le_bytes());
        op.payload().extend_from_slice(&VALUE[..24]);
        Ok::<(), StorageError>(())
    })
    .map(drop)
}

/// Runs `work` in some threads and prints the figures of each window. A checkpoint is taken in the
/// middle of every second window.
fn windows(
    name: &str,
    store: &Store,
    duration: Duration,
    work: impl Fn(u64) -> Result<()> + Sync,
) -> Result<()> {
    let (stop, longest) = (AtomicBool::new(false), AtomicU64::new(0));
    let done = AtomicU64::new(0);
    std::thread::scope(|scope| {
        let worker = |thread: u64| {
            let mut n = thread << 40;
            while !stop.load(Ordering::Relaxed) {
                let start = Instant::now();
                work(n)?;
                longest.fetch_max(start.elapsed().as_micros() as u64, Ordering::Relaxed);
                done.fetch_add(1, Ordering::Relaxed);
                n += 1;
            }
            Ok::<(), StorageError>(())
        };
        let workers: Vec<_> =
            (0..THREADS).map(|thread| scope.spawn(move || worker(thread))).collect();
        for window in 0..WINDOWS {
            let start = Instant::now();
            std::thread::sleep(duration / WINDOWS / 2);
            let with_checkpoint = window % 2 == 1;
            if with_checkpoint {
                checkpoint(store)?;
            }
            std::thread::sleep((duration / WINDOWS).saturating_sub(start.elapsed()));
            let rate = done.swap(0, Ordering::Relaxed) as f64 / start.elapsed().as_secs_f64();
            let longest_ms = longest.swap(0, Ordering::Relaxed) as f64 / 1e3;
            let took = start.elapsed().as_secs_f64();
            let checkpointed = if with_checkpoint { ", with a checkpoint" } else { "" };
            println!(
                "{name}: {rate:9.0}/s, longest {longest_ms:7.1} ms ({took:.1} s{checkpointed})"
            );
        }
        stop.store(true, Ordering::Relaxed);
        workers.into_iter().try_for_each(|worker| worker.join().expect("no worker panics"))
    })
}

fn recover(dir: &std::path::Path, store: Store, id: TreeId, rows: u64) -> Result<()> {
    checkpoint(&store)?;
    let tree = store.tree(id);
    // Neighbours are changed together: this measures the log, not the pool.
    let mut n = 0u64;
    while store.wal_bytes_since_checkpoint() < LOG_BYTES {
        let key = ((scattered(n / 64) + n % 64) % rows).to_be_bytes();
        tree.write(&key, LogHeader::default(), |_, op| {
            op.splice(8, 8, &n.to_le_bytes());
            op.payload().extend_from_slice(&VALUE[..24]);
            Ok::<(), StorageError>(())
        })?;
        n += 1;
    }
    store.wal().flush(store.wal().insert_position())?;
    store.close()?;
    drop((tree, store));
    let start = Instant::now();
    let summary = open(dir)?.recovery_summary();
    let took = start.elapsed();
    println!("recovery of {} MB of log, {} records: {took:.1?}", LOG_BYTES >> 20, summary.records);
    println!(
        "  of which finding its end {:.1?}, redo {:.1?}",
        summary.scan_time, summary.redo_time
    );
    Ok(())
}
