//! Commits over several nodes under faults. Messages are late, lost or executed after their connection has
//! broken. Nodes and coordinators crash at any step. A coordinator runs beside its successor. A person ends
//! prepared transactions by hand. Foreign transactions have names like Steppe's. One seed is one history,
//! so that it can be repeated:
//!
//! ```text
//!   STEPPE_SEED=42 cargo test -p steppe-cluster --test commit_simulation
//!   STEPPE_SEEDS=100000 cargo test -p steppe-cluster --test commit_simulation
//!   cargo test -p steppe-cluster --features planted-bugs      # does it find bugs?
//! ```
//!
//! Readers check that they see all of a transaction or nothing. In the end, when all nodes are up:
//!
//! 1. A transaction is on all of its nodes, or on none.
//! 2. A transaction whose client was told COMMIT is there; one that was rolled back is not.
//! 3. Every prepared transaction, record and fence has been removed, and foreign ones are untouched.

#![allow(missing_docs)]

mod simulation;

use simulation::world::{Told, World};
use steppe_vfs::SeededRandom;

/// The faults of a run, each with its weight.
struct Faults {
    broken_connection: usize,
    node_crash: usize,
    coordinator_crash: usize,
    split: usize,
    by_hand: usize,
    foreign: usize,
    impatience: usize,
}

impl Faults {
    /// Every run has some of them.
    fn some(random: &SeededRandom) -> Faults {
        let weight = |most: usize| match random.below(2) {
            0 => 0,
            _ => 1 + random.below(most as u64) as usize,
        };
        Faults {
            broken_connection: weight(12),
            node_crash: weight(6),
            coordinator_crash: weight(6),
            split: weight(3),
            by_hand: weight(3),
            foreign: weight(2),
            impatience: weight(8),
        }
    }
}

/// One thing happens.
fn event(world: &mut World, faults: &Faults) {
    if world.lives.is_empty() {
        return;
    }
    let at = world.below(world.lives.len());
    let place = world.below(world.nodes.len());
    let weights = [
        300, // a connection moves on
        14,  // a client begins
        20,  // a reader begins
        20,  // a coordinator looks at a node
        20,  // it asks again
        8,   // a node comes back
        6,   // records go
        faults.broken_connection,
        faults.node_crash,
        faults.coordinator_crash,
        faults.split,
        faults.by_hand,
        faults.foreign,
        faults.impatience,
    ];
    let mut pick = world.below(weights.iter().sum());
    let kind = weights.iter().position(|weight| match pick.checked_sub(*weight) {
        None => true,
        Some(rest) => {
            pick = rest;
            false
        }
    });
    match kind.expect("is below the sum") {
        0 => world.step(),
        1 => world.begin(at),
        2 => world.read(at),
        3 => world.look(at, place),
        4 => world.retry(at),
        5 => world.nodes[place].is_up = true,
        6 => world.sweep(at),
        7 => world.break_any(),
        8 => world.crash_node(place),
        9 => {
            let is_zombie = world.lives[at].is_zombie;
            let id = world.kill(at);
            if !is_zombie {
                world.new_life(id);
            }
        }
        10 => world.split(at),
        11 => world.end_by_hand(),
        12 => world.prepare_foreign(),
        _ => world.lose_patience(at, world.chance(2)),
    }
    world.poll_gates();
}

/// Everything that is under way ends.
fn drain(world: &mut World) {
    for _ in 0..200_000 {
        world.step();
        world.poll_gates();
        if !world.has_busy_connections() {
            let mut is_quiet = true;
            for at in 0..world.lives.len() {
                is_quiet &= world.lives[at].is_quiet();
                world.retry(at);
            }
            if is_quiet {
                return;
            }
        }
    }
    panic!("work is left: {:?}", world.left());
}

fn end(world: &mut World) {
    for node in &mut world.nodes {
        node.is_up = true;
    }
    while let Some(at) = world.lives.iter().position(|life| life.is_zombie) {
        world.kill(at);
    }
    drain(world);
    for _ in 0..3 {
        for at in 0..world.lives.len() {
            for place in 0..world.nodes.len() {
                world.look(at, place);
            }
        }
        drain(world);
    }
    for at in 0..world.lives.len() {
        world.sweep(at);
    }
    drain(world);
}

fn check(world: &World) {
    for (mark, one) in world.history.iter().enumerate() {
        let writers = one.writers.len();
        let there = world.nodes.iter().filter(|node| node.committed.contains(&mark)).count();
        assert!(one.by_hand || there == 0 || there == writers, "{mark} is half there: {one:?}");
        match one.told {
            Some(Told::Committed) if !one.by_hand || !one.gave_up => {
                assert_eq!(there, writers, "{mark} was acknowledged: {one:?}");
            }
            Some(Told::RolledBack) if !one.by_hand => {
                assert_eq!(there, 0, "{mark} was rolled back: {one:?}");
            }
            _ => {}
        }
    }
    for (place, gid) in &world.foreign {
        assert!(world.nodes[*place].prepared.contains_key(gid), "{gid} is foreign");
    }
    let any_by_hand = world.history.iter().any(|one| one.by_hand);
    for (place, node) in world.nodes.iter().enumerate() {
        let is_foreign = |gid: &String| world.foreign.contains(&(place, gid.clone()));
        let left: Vec<_> = node.prepared.keys().filter(|gid| !is_foreign(gid)).collect();
        assert!(left.is_empty(), "{left:?} are left on {}", node.id);
        // A foreign prepared transaction keeps fences, as it keeps all old rows.
        let keeps = node.prepared.is_empty() && node.holds_fences();
        assert!(!keeps, "fences are left on {}", node.id);
        let records = node.commit_records();
        assert!(any_by_hand || records == 0, "{records} records are left on {}", node.id);
    }
    for life in &world.lives {
        let doubts = life.recovery.in_doubt();
        // A life that lists a transaction before its predecessor ends it takes that for a person's hand.
        let any_split = world.history.iter().any(|one| one.is_unguarded);
        assert!(any_by_hand || any_split || doubts.is_empty(), "in doubt: {doubts:?}");
        assert!(life.recovery.is_idle(), "in doubt: {doubts:?}");
    }
}

fn run(seed: u64) {
    let random = SeededRandom::new(seed);
    let faults = Faults::some(&random);
    let (nodes, coordinators) = (2 + random.below(3) as usize, 1 + random.below(4) / 3);
    let events = 200 + random.below(800);
    let mut world = World::new(random, nodes, coordinators);
    for _ in 0..events {
        event(&mut world, &faults);
    }
    end(&mut world);
    check(&world);
}

fn seeds(default: u64) -> std::ops::RangeInclusive<u64> {
    let number = |name| std::env::var(name).ok()?.parse::<u64>().ok();
    match (number("STEPPE_SEED"), number("STEPPE_SEEDS")) {
        (Some(seed), _) => seed..=seed,
        (None, count) => 1..=count.unwrap_or(default),
    }
}

#[test]
fn every_transaction_is_there_wholly_or_not_at_all() {
    for seed in seeds(3000) {
        let ran = std::panic::catch_unwind(|| run(seed));
        assert!(ran.is_ok(), "seed {seed} fails: STEPPE_SEED={seed}");
    }
}

/// The test of the tester: with a planted bug, some seed must fail soon.
#[cfg(feature = "planted-bugs")]
mod planted {
    use steppe_cluster::commit::{PlantedBug, plant};

    /// The first seed that finds the bug.
    fn seed_that_finds(bug: PlantedBug) -> Option<u64> {
        plant(Some(bug));
        let found =
            (1..=20_000).find(|seed| std::panic::catch_unwind(|| super::run(*seed)).is_err());
        plant(None);
        found
    }

    macro_rules! bugs {
        ($($name:ident: $bug:ident;)*) => { $(
            #[test]
            fn $name() {
                let seed = seed_that_finds(PlantedBug::$bug);
                assert!(seed.is_some());
                println!("found by seed {seed:?}");
            }
        )* };
    }

    bugs! {
        a_record_outside_of_the_deciding_transaction_is_found: RecordOutside;
        a_missing_record_taken_as_aborted_is_found: NoFence;
        does_not_exist_taken_as_success_is_found: MissingIsSuccess;
        a_record_deleted_early_is_found: ForgetEarly;
        a_gate_left_early_is_found: GateLeftEarly;
        binds_outside_of_the_gate_are_found: BindsOutsideOfGate;
        identifiers_matched_by_prefix_are_found: GidByPrefix;
        a_status_from_before_a_crash_is_found: StatusAcrossCrash;
        a_fence_deleted_early_is_found: FenceDeletedEarly;
        a_list_taken_as_of_now_is_found: RunningAsOfNow;
        a_reader_before_recovery_is_found: ReadBeforeRecovery;
    }
}
