//! The cost of the B+tree: nanoseconds per random read, random insert, ascending insert and
//! in-place update, with 8-byte keys and 120-byte values.
//!
//! `cargo run --release -p steppe-storage --example tree_bench [ROWS [DIRECTORY]]`
//!
//! The first figure is the threads' own processor time (from the kernel), so that a busy machine
//! does not distort it; the second is elapsed time. Inserts and updates include their log record's
//! append, not its flush (sessions wait for that together). The pool holds all pages.

use std::ops::Bound;
use std::path::PathBuf;
use std::time::Instant;
use steppe_storage::{Direction, LogHeader, Result, StorageError, Store, StoreOptions, Tree};

const VALUE: [u8; 120] = [7; 120];

fn main() -> Result<()> {
    let mut args = std::env::args().skip(1);
    let rows: u64 = args.next().and_then(|n| n.parse().ok()).unwrap_or(1_000_000);
    let base = args.next().map_or_else(std::env::temp_dir, PathBuf::from);
    let dir = base.join(format!("steppe-tree-bench-{}", std::process::id()));
    let result = measure(rows, &dir);
    let _ = std::fs::remove_dir_all(&dir);
    result
}

fn measure(rows: u64, dir: &std::path::Path) -> Result<()> {
    let pool_pages = rows as usize / 10 + 4096;
    let options = StoreOptions { pool_pages, ..StoreOptions::new(dir) };
    let store = Store::open(options, &mut ())?;
    for threads in [1, 2] {
        let tree = new_tree(&store)?;
        each("random insert", threads, rows, |n| put(&tree, &scattered(n)))?;
        println!("{:40} {} pages", "", tree.page_count()?);
        let tree = new_tree(&store)?;
        each("ascending insert", threads, rows, |n| put(&tree, &n.to_be_bytes()))?;
        println!("{:40} {} pages", "", tree.page_count()?);
        let mut found = 0u64;
        each_with(threads, "random read", rows, Vec::new, |n, value| {
            let key = (scattered_number(n) % rows).to_be_bytes();
            tree.read(&key, value).map(drop)
        })?;
        each("random update in place", threads, rows, |n| {
            let key = (scattered_number(n) % rows).to_be_bytes();
            tree.write(&key, LogHeader::default(), |_, op| {
                op.splice(8, 8, &n.to_le_bytes());
                op.payload().extend_from_slice(&VALUE[..24]);
                Ok::<(), StorageError>(())
            })
            .map(drop)
        })?;
        let (start, before) = (Instant::now(), cpu_nanos());
        let mut cursor = tree.scan(Bound::Unbounded, Bound::Unbounded, Direction::Forward);
        while cursor.next_page()? {
            while cursor.next().is_some() {
                found += 1;
            }
        }
        report("scan", 1, found, cpu_nanos() - before, start);
        batches(&store, threads, rows)?;
    }
    Ok(())
}

fn batches(store: &Store, threads: u64, rows: u64) -> Result<()> {
    let tree = new_tree(store)?;
    each("ascending insert, 1000 a statement", threads, rows / 1000, |n| {
        let keys: Vec<_> = (n * 1000..(n + 1) * 1000).map(u64::to_be_bytes).collect();
        let entries: Vec<(&[u8], &[u8])> = keys.iter().map(|k| (&k[..], &VALUE[..])).collect();
        let mut rest = &entries[..];
        while !rest.is_empty() {
            let ok = |_: usize, _: &mut Vec<u8>| Ok::<(), StorageError>(());
            rest = &rest[tree.insert_many(rest, LogHeader::default(), ok)?.consumed..];
        }
        Ok(())
    })
}

fn new_tree(store: &Store) -> Result<Tree> {
    let (id, _) = store.create_tree(LogHeader::default(), |_, _| {})?;
    Ok(store.tree(id))
}

fn put(tree: &Tree, key: &[u8]) -> Result<()> {
    tree.write(key, LogHeader::default(), |_, op| {
        op.put(&VALUE);
        Ok::<(), StorageError>(())
    })
    .map(drop)
}

/// A bijection of the numbers, far from the identity.
fn scattered_number(n: u64) -> u64 {
    n.wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29).wrapping_mul(0xbf58_476d_1ce4_e5b9)
}

fn scattered(n: u64) -> [u8; 8] {
    scattered_number(n).to_be_bytes()
}

fn each(
    name: &str,
    threads: u64,
    count: u64,
    work: impl Fn(u64) -> Result<()> + Sync,
) -> Result<()> {
    each_with(threads, name, count, || (), |n, ()| work(n))
}

/// Runs `work` for 0..count, distributed among the threads in runs.
fn each_with<S>(
    threads: u64,
    name: &str,
    count: u64,
    state: impl Fn() -> S + Sync,
    work: impl Fn(u64, &mut S) -> Result<()> + Sync,
) -> Result<()> {
    let start = Instant::now();
    let cpu_nanos = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..threads)
            .map(|thread| {
                let (work, state) = (&work, &state);
                scope.spawn(move || {
                    let mut state = state();
                    let share = count / threads;
                    let before = cpu_nanos();
                    (thread * share..(thread + 1) * share).try_for_each(|n| work(n, &mut state))?;
                    Ok::<u64, StorageError>(cpu_nanos() - before)
                })
            })
            .collect();
        let join = |worker: std::thread::ScopedJoinHandle<'_, Result<u64>>| {
            worker.join().expect("no worker panics")
        };
        workers.into_iter().map(join).sum::<Result<u64>>()
    })?;
    report(name, threads, count, cpu_nanos, start);
    Ok(())
}

/// Nanoseconds that this thread has run (0 if the kernel does not report it).
fn cpu_nanos() -> u64 {
    let line = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    line.split_whitespace().next().and_then(|n| n.parse().ok()).unwrap_or(0)
}

fn report(name: &str, threads: u64, count: u64, cpu_nanos: u64, start: Instant) {
    let count = count.max(1) as f64;
    let wall = start.elapsed().as_nanos() as f64 * threads as f64 / count;
    let cpu = cpu_nanos as f64 / count;
    println!("{name:36} {threads} threads {cpu:8.0} ns of processor time, {wall:8.0} ns elapsed");
}
