//! Power cuts at random operations, in the middle of SQL that changes schemas. Tables are made,
//! partitioned, attached, detached, altered, truncated and dropped, while sessions insert rows and
//! move them from one leaf to another, with savepoints and rollbacks.
//!
//! ```text
//!   a life:  open ─ statements, commits ─ power cut ─ recovery (cut, too) ─ checks ─┐
//!             ▲                                                                     │
//!             └─────────────────────────────────────────────────────────────────────┘
//! ```
//!
//! After each power cut:
//!
//! - the database has the rows and the catalog of some prefix of the commits, which includes each
//!   acknowledged commit; the catalog matches in every detail, down to files and statistics;
//! - each leaf's rows are within its bounds, and a query finds them in that leaf when it reads all
//!   leaves, when it prunes, and when it looks for a primary key;
//! - each index has the entries of its table's rows and no other, and each index of a partitioned
//!   table one part in every partition;
//! - DEFERRABLE keys are unique, and each row is found by its key;
//! - a statement and the cascades of its foreign keys are whole or absent, and no reference is without
//!   its key;
//! - each page of a file belongs to exactly one relation, or is free, and every tree is sound;
//! - and the next life goes on from there.
//!
//! One thread runs all sessions, in an order that the seed decides (`session` says how it treats a
//! wait). Reading order: `model`, `statement`, `ddl` and `dml`, `world`, `detaching`, `snapshot`,
//! `sequences`, `keyed`, `families`, `check`. The module `session` takes the place of the server.

#![allow(missing_docs)]

mod check;
mod ddl;
mod detaching;
mod dml;
mod families;
mod keyed;
mod model;
mod sequences;
mod session;
#[path = "../../../txn/tests/support/simulation.rs"]
#[allow(unreachable_pub)] // it is shared
mod simulation;
mod snapshot;
mod statement;
mod world;

use std::sync::Arc;

use steppe_txn::EngineOptions;
use steppe_vfs::{CrashVfs, SeededRandom};

use check::{first_difference, same_catalog};
use sequences::have_come_as_far;
use session::Instance;
use world::{Config, Version, World, differences};

/// The states that the database may have after recovery.
struct Expected {
    /// First the version of the last acknowledged commit, then the later versions in their order.
    /// Recovery may lose any number of these, but only from the end.
    versions: Vec<Version>,
}

impl Expected {
    fn of(before: Version, world: &mut World<'_>) -> Expected {
        let mut versions = vec![before];
        versions.extend(world.commits.drain(..).map(|(_, version)| version));
        versions.drain(..world.acknowledged);
        versions.extend(world.in_doubt.take());
        Expected { versions }
    }

    fn check(&self, recovered: &Version) {
        let mut of_state = self.versions.iter().filter(|known| known.state == recovered.state);
        let mut same =
            of_state.clone().filter(|known| same_catalog(&known.catalog, &recovered.catalog));
        if same.clone().any(|known| have_come_as_far(&recovered.state, &known.state)) {
            return;
        }
        if let Some(known) = same.next() {
            let difference = differences(&recovered.state, &known.state);
            panic!("a sequence has fallen back;\n{difference}");
        }
        if let Some(known) = of_state.next_back() {
            let difference = first_difference(&recovered.catalog, &known.catalog);
            panic!("the rows are right; found and expected in the catalog: {difference:#?}");
        }
        let last = self.versions.last().expect("at least the one before");
        let nearest = self.versions.iter().min_by_key(|known| {
            recovered.state.lines().symmetric_difference(&known.state.lines()).count()
        });
        panic!(
            "the recovered state is none of the {} possible ones; the nearest differs in\n{}",
            self.versions.len(),
            differences(&recovered.state, &nearest.unwrap_or(last).state)
        );
    }
}

/// Opens the database, cutting the power during recovery a few times.
fn recover(
    mut vfs: CrashVfs,
    random: &SeededRandom,
    options: &EngineOptions,
) -> (CrashVfs, Arc<Instance>) {
    for _ in 0..random.below(4) {
        vfs.cut_power_at(1 + random.below(60));
        let opened = Instance::open(&vfs, options);
        if let Err(error) = &opened {
            assert!(!vfs.is_powered(), "recovery failed by itself: {error}");
        }
        drop(opened);
        vfs = vfs.crash();
    }
    let instance = Instance::open(&vfs, options).expect("recovers");
    (vfs, instance)
}

/// Runs one life of the database, up to a power cut.
fn live(world: &mut World<'_>, vfs: &CrashVfs, random: &SeededRandom) -> Expected {
    let before = world.committed.clone();
    vfs.cut_power_at(1 + random.below(if random.chance(1, 2) { 80 } else { 600 }));
    for _ in 0..250 {
        if let Err(error) = world.step() {
            assert!(!vfs.is_powered(), "a step failed by itself: {error}");
            break;
        }
    }
    Expected::of(before, world)
}

fn run(seed: u64) {
    let random = SeededRandom::new(seed);
    let options = simulation::options(&random);
    let config = Config {
        sessions: 1 + random.below(3) as usize,
        ddl: 10 + random.below(50),
        memory_bytes: 1 << (10 + random.below(8)),
    };
    let mut vfs = CrashVfs::new(seed);
    let mut instance = Instance::open(&vfs, &options).expect("opens");
    for _ in 0..2 + random.below(3) {
        let mut world = World::open(&vfs, &instance, &random, config).expect("opens");
        let expected = live(&mut world, &vfs, &random);
        vfs.cut_power();
        drop(world);
        (vfs, instance) = recover(vfs.crash(), &random, &options);
        let mut world = World::open(&vfs, &instance, &random, config).expect("is readable");
        expected.check(&world.committed);
        world.check().expect("is sound");
    }
    go_on_quietly(&vfs, &instance, &random, config);
}

/// The database that was recovered last is used once more, closed, and must be sound.
fn go_on_quietly(vfs: &CrashVfs, instance: &Arc<Instance>, random: &SeededRandom, config: Config) {
    let mut world = World::open(vfs, instance, random, config).expect("opens");
    for _ in 0..60 {
        world.step().expect("nothing fails");
    }
    world.finish().expect("ends");
    world.acknowledge().expect("is durable");
    world.check().expect("is sound");
}

#[test]
fn every_recovery_gives_a_prefix_of_the_commits() {
    simulation::for_each_seed(120, run);
}
