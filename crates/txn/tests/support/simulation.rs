//! What simulations of power cuts have in common, in whichever crate they are: small databases
//! on simulated disks, and which seeds are run.

use std::path::Path;
use std::sync::Arc;

use steppe_txn::{Engine, EngineOptions};
use steppe_vfs::{CrashVfs, SeededRandom};

const DIR: &str = "data";

/// A small database, so that eviction, spilling and segment changes happen.
pub fn options(random: &SeededRandom) -> EngineOptions {
    EngineOptions {
        pool_pages: 32 + random.below(64) as usize,
        pages_max: 1 << 14,
        wal_buffers_bytes: 64 << 10,
        wal_segment_bytes: 64 << 10,
        wal_bytes_min: 64 << 10,
        system_id: Some(7),
        undo_buffers_bytes: 32 << 10,
        undo_segment_bytes: 16 << 10,
        background: false,
        commits_per_horizon_check: 1 + random.below(8) as u32,
        drops_per_record: 1,
        max_prepared_transactions: 4,
        ..EngineOptions::default()
    }
}

pub fn open(vfs: &CrashVfs, options: &EngineOptions) -> steppe_types::Result<Arc<Engine>> {
    Engine::open(Arc::new(vfs.clone()), Path::new(DIR), options.clone())
}

/// The seeds to run: one by `STEPPE_SEED`, endless with `STEPPE_ENDLESS`, else
/// `STEPPE_SEEDS` of them or the default.
pub fn for_each_seed(default_count: u64, mut run: impl FnMut(u64)) {
    let number = |name: &str| std::env::var(name).ok().and_then(|v| v.parse::<u64>().ok());
    if let Some(seed) = number("STEPPE_SEED") {
        println!("seed {seed}");
        return run(seed);
    }
    let first = number("STEPPE_FIRST_SEED").unwrap_or(1);
    let endless = std::env::var_os("STEPPE_ENDLESS").is_some();
    let count =
        if endless { u64::MAX - first } else { number("STEPPE_SEEDS").unwrap_or(default_count) };
    for seed in first..first + count {
        let guard = SeedOnPanic(seed);
        run(seed);
        std::mem::forget(guard);
        if endless && seed.is_multiple_of(100) {
            println!("{seed} seeds passed");
        }
    }
}

struct SeedOnPanic(u64);

impl Drop for SeedOnPanic {
    fn drop(&mut self) {
        eprintln!(
            "failing seed: {0} (replay: STEPPE_SEED={0} cargo test -p {1} …)",
            self.0,
            env!("CARGO_PKG_NAME")
        );
    }
}
