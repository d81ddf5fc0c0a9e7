//! The cost of a partition map: time to build it leaf by leaf, bytes a leaf, and nanoseconds to
//! route a row and to find the partition of `key = $1`.
//!
//! `cargo run --release -p steppe-partition --example route_bench [LEAVES]`
//!
//! Each leaf is added to a clone, as DDL does it that replaces a parent's map while readers hold
//! the old one. The bytes are the growth of the process. The time is the thread's processor time,
//! the best of several rounds. Rows are random, so it is mostly the time that the processor waits
//! for its caches.

use std::hint::black_box;
use std::time::Instant;
use steppe_partition::{
    BoundValue, Comparison, Operand, PartitionBound, PartitionMap, PartitionStrategy, Predicate,
    PruningSteps, RangeDatum,
};
use steppe_types::io::IoContext;
use steppe_types::{Datum, Result, oid};

const ROUNDS: u32 = 8;
const ROUTED: u32 = 500_000;

fn main() -> Result<()> {
    let leaves: u32 = std::env::args().nth(1).and_then(|n| n.parse().ok()).unwrap_or(100_000);
    let int8 = |n: u32| Datum::Int8(i64::from(n) * 1000);
    let range = |n: u32| PartitionBound::Range {
        lower: vec![RangeDatum::Value(BoundValue::new(oid::INT8, int8(n)))],
        upper: vec![RangeDatum::Value(BoundValue::new(oid::INT8, int8(n + 1)))],
    };
    let key = |n: u32| Datum::Int8(i64::from(n) * 1000 + i64::from(n % 1000));
    measure("range, int8", PartitionStrategy::Range, oid::INT8, leaves, range, key)?;
    let list = |n: u32| PartitionBound::List { values: vec![BoundValue::new(oid::INT8, int8(n))] };
    measure("list, int8", PartitionStrategy::List, oid::INT8, leaves, list, int8)?;
    let hash = |n: u32| PartitionBound::Hash { modulus: leaves, remainder: n };
    measure("hash, int8", PartitionStrategy::Hash, oid::INT8, leaves, hash, int8)
}

fn measure(
    name: &str,
    strategy: PartitionStrategy,
    type_oid: u32,
    leaves: u32,
    bound: impl Fn(u32) -> PartitionBound,
    key: impl Fn(u32) -> Datum,
) -> Result<()> {
    let before = resident_bytes();
    let started = Instant::now();
    let mut map = PartitionMap::new(strategy, &[type_oid])?;
    for n in 0..leaves {
        let mut next = map.clone();
        if let Err(error) = next.attach(n + 1, &bound(n)) {
            panic!("the bounds are disjoint: {error:?}");
        }
        map = next;
    }
    let built = started.elapsed();
    let bytes = resident_bytes().saturating_sub(before);
    let mut scratch = Vec::new();
    let route_nanos = best_of(leaves, |leaf| {
        black_box(map.route(&[key(leaf)], &mut scratch)?);
        Ok(())
    })?;
    let equal =
        Predicate::Compare { column: 0, operator: Comparison::Equal, operand: Operand::Slot(0) };
    let steps = PruningSteps::compile(&equal, 1);
    let point_nanos = best_of(leaves, |leaf| {
        black_box(steps.route(&map, &mut |_| Ok(Some(key(leaf))), &mut scratch)?);
        Ok(())
    })?;
    let context = IoContext::default();
    let prune_nanos = best_of(leaves, |leaf| {
        let set = steps.evaluate(&map, &|_| Ok(Some(key(leaf))), &context)?;
        black_box(map.select(&set).count());
        Ok(())
    })?;
    println!(
        "{name:12} {leaves} leaves: built in {:6.1} ms, {:4} bytes a leaf, {route_nanos:4.0} ns to \
         route a row, {point_nanos:4.0} ns to route by =, {prune_nanos:4.0} ns to prune by =",
        built.as_secs_f64() * 1e3,
        bytes / leaves as usize,
    );
    Ok(())
}

/// Nanoseconds that `work` takes for a leaf, the best of several rounds over leaves
/// at random.
fn best_of(leaves: u32, mut work: impl FnMut(u32) -> Result<()>) -> Result<f64> {
    let mut at: u64 = 1;
    let mut best = f64::INFINITY;
    for _ in 0..ROUNDS {
        let started = cpu_nanos();
        for _ in 0..ROUTED {
            at = at.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            work((((at >> 32) * u64::from(leaves)) >> 32) as u32)?;
        }
        best = best.min((cpu_nanos() - started) as f64 / f64::from(ROUTED));
    }
    Ok(best)
}

/// Nanoseconds that this thread has run (0 where the kernel does not say).
fn cpu_nanos() -> u64 {
    let line = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    line.split_whitespace().next().and_then(|n| n.parse().ok()).unwrap_or(0)
}

/// The process's resident memory (0 where the kernel does not say).
fn resident_bytes() -> usize {
    const PAGE_BYTES: usize = 4096;
    let line = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    line.split_whitespace().nth(1).and_then(|n| n.parse().ok()).unwrap_or(0) * PAGE_BYTES
}
