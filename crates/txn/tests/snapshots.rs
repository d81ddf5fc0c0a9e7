//! What each session sees, against a model: sessions interleaved by seed, READ
//! COMMITTED and REPEATABLE READ, savepoints, rollbacks, long readers whose old
//! versions spill to the undo file, purges and checkpoints in between.

#![allow(missing_docs)]

mod support;

use steppe_vfs::{CrashVfs, SeededRandom};
use support::world::{Config, World};

fn run(seed: u64) {
    let random = SeededRandom::new(seed);
    let vfs = CrashVfs::new(seed);
    let options = support::options(&random);
    let engine = support::open(&vfs, &options).expect("opens");
    let config = Config {
        sessions: 2 + random.below(5) as usize,
        keys: 20 + random.below(200),
        checks: 15,
        tables_change: random.chance(1, 2),
    };
    let mut world = World::open(engine, &random, config).expect("opens");
    for _ in 0..400 {
        world.step().expect("nothing fails on a sound disk");
    }
    world.finish().expect("rolls back");
    world.engine.purge_all().expect("purges");
    world.check_structure().expect("is sound");
    world.check_sweep().expect("sweeps");
    let committed = world.committed.clone();
    let engine = std::sync::Arc::clone(&world.engine);
    drop(world);
    engine.close().expect("closes");
    assert_eq!(engine.undo_usage(), (0, 0), "all undo is reclaimed");
    drop(engine);
    let engine = support::open(&vfs, &options).expect("opens again");
    let world = World::open(engine, &random, config).expect("opens again");
    assert_eq!(world.committed, committed, "after a clean restart");
    world.check_structure().expect("is sound");
}

#[test]
fn every_session_sees_its_snapshot() {
    support::for_each_seed(12, run);
}
