//! Power cuts at random operations, in the middle of everything, recovery
//! included. After each: the recovered database equals the model after some
//! number of commits, in their order, and no fewer than were acknowledged, but for its unlogged
//! tables, which are empty (and are not after a clean shutdown); the transactions
//! prepared then are still prepared, with their locks, and can be ended either way; every
//! index equals its table; every tree is sound and every page accounted for; and once VACUUM
//! has been through, nothing is left of what was deleted.

#![allow(missing_docs)]

mod support;

use std::collections::BTreeMap;
use std::sync::Arc;

use steppe_txn::{Engine, EngineOptions};
use steppe_vfs::{CrashVfs, SeededRandom};
use support::model::{Changes, Prepared, State, without_unlogged};
use support::world::{Config, World};

/// What the database may be after recovery.
struct Expected {
    /// The state of which everything was acknowledged.
    base: State,
    prepared: BTreeMap<String, Prepared>,
    /// Commits that may be lost, but only from the end.
    tail: Vec<Changes>,
}

impl Expected {
    /// Checks the state, and returns what is known of the prepared transactions.
    fn check(
        &self,
        recovered: &State,
        gids: &[String],
        keeps_unlogged: bool,
    ) -> BTreeMap<String, Prepared> {
        let (mut state, mut prepared) = (self.base.clone(), self.prepared.clone());
        let matches = |state: &State, prepared: &BTreeMap<String, Prepared>| {
            let left = if keeps_unlogged { state.clone() } else { without_unlogged(state) };
            left == *recovered && prepared.keys().eq(gids)
        };
        let found = |mut prepared: BTreeMap<String, Prepared>| {
            if !keeps_unlogged {
                prepared.values_mut().for_each(Prepared::forget_unlogged);
            }
            prepared
        };
        if matches(&state, &prepared) {
            return found(prepared);
        }
        for changes in &self.tail {
            changes.apply(&mut state);
            changes.apply_to_prepared(&mut prepared);
            if matches(&state, &prepared) {
                return found(prepared);
            }
        }
        panic!(
            "the recovered state is none of the {} possible ones\nrecovered: {recovered:#?}\n\
             prepared: {gids:?}\nlast possible: {state:#?}\nprepared: {:?}",
            self.tail.len() + 1,
            prepared.keys()
        );
    }
}

/// Opens the database, cutting the power during recovery a few times.
fn recover(
    mut vfs: CrashVfs,
    random: &SeededRandom,
    options: &EngineOptions,
    interruptions: u64,
) -> (CrashVfs, Arc<Engine>) {
    for _ in 0..interruptions {
        vfs.cut_power_at(1 + random.below(60));
        match support::open(&vfs, options) {
            Ok(engine) => {
                drop(engine);
                vfs = vfs.crash();
            }
            Err(error) => {
                assert!(!vfs.is_powered(), "recovery failed by itself: {error}");
                vfs = vfs.crash();
            }
        }
    }
    let engine = support::open(&vfs, options).expect("recovers");
    (vfs, engine)
}

/// Runs one life of the database, up to a power cut.
fn live(world: &mut World<'_>, vfs: &CrashVfs, random: &SeededRandom) -> Expected {
    let (base, prepared) = (world.committed.clone(), world.prepared.clone());
    vfs.cut_power_at(1 + random.below(if random.chance(1, 2) { 80 } else { 600 }));
    for _ in 0..300 {
        if let Err(error) = world.step() {
            assert!(!vfs.is_powered(), "a step failed by itself: {error}");
            break;
        }
    }
    let mut expected = Expected { base, prepared, tail: Vec::new() };
    for (n, (_, changes)) in world.commits.iter().enumerate() {
        if n < world.acknowledged {
            changes.apply(&mut expected.base);
            changes.apply_to_prepared(&mut expected.prepared);
        } else {
            expected.tail.push(changes.clone());
        }
    }
    expected.tail.extend(world.in_doubt.take());
    expected
}

fn run_with(seed: u64, change_options: impl Fn(&mut EngineOptions)) {
    let random = SeededRandom::new(seed);
    let mut options = support::options(&random);
    change_options(&mut options);
    let config = Config {
        sessions: 1 + random.below(4) as usize,
        keys: 20 + random.below(400),
        checks: 2,
        tables_change: true,
    };
    let mut vfs = CrashVfs::new(seed);
    let mut engine = support::open(&vfs, &options).expect("opens");
    // A world that exists before the first cut: making it is not the point.
    drop(World::open(Arc::clone(&engine), &random, config).expect("opens"));
    let mut prepared = BTreeMap::new();
    for _ in 0..2 + random.below(3) {
        let mut world = World::open(engine, &random, config).expect("opens");
        world.set_prepared(prepared);
        world.end_prepared_drops().expect("ends");
        let expected = live(&mut world, &vfs, &random);
        // A clean shutdown now and then, if nothing has come between.
        let is_clean = vfs.is_powered() && random.chance(1, 2);
        let old = Arc::clone(&world.engine);
        if !is_clean {
            vfs.cut_power();
        }
        drop(world);
        // A shutdown that the cut ends at its very last step may have kept them, or not.
        let may_keep = is_clean;
        let is_clean = is_clean && old.close().is_ok() && vfs.is_powered();
        drop(old);
        let interruptions = random.below(4);
        (vfs, engine) = recover(vfs.crash(), &random, &options, interruptions);
        let keeps_unlogged = engine.has_kept_unlogged();
        assert!(!keeps_unlogged || may_keep, "unlogged tables are kept over a crash");
        assert!(keeps_unlogged || !is_clean || interruptions > 0, "they go at a clean shutdown");
        let mut world = World::open(Arc::clone(&engine), &random, config).expect("is readable");
        let known = engine.prepared_transactions().into_iter().map(|known| known.gid);
        prepared = expected.check(&world.committed, &known.collect::<Vec<_>>(), keeps_unlogged);
        world.set_prepared(prepared.clone());
        world.check_prepared().expect("are locked");
        world.check_structure().expect("is sound");
        if random.chance(1, 3) {
            world.finish_prepared().expect("ends");
            world.acknowledge().expect("is durable");
            prepared.clear();
            world.check_sweep().expect("sweeps");
            world.check_structure().expect("is sound");
        }
    }
}

#[test]
fn every_recovery_gives_a_prefix_of_the_commits() {
    support::for_each_seed(60, |seed| run_with(seed, |_| {}));
}

/// The test of the tester: with a planted bug, some seed must fail soon.
#[cfg(feature = "planted-bugs")]
mod planted {
    use super::run_with;
    use steppe_txn::PlantedBug;

    fn is_caught_within(bug: PlantedBug, seeds: u64) -> bool {
        (1..=seeds).any(|seed| {
            std::panic::catch_unwind(|| run_with(seed, |o| o.planted_bug = Some(bug))).is_err()
        })
    }

    #[test]
    fn a_skipped_log_record_is_caught() {
        assert!(is_caught_within(PlantedBug::SkipLogRecord, 40));
    }

    #[test]
    fn a_drop_that_survives_its_rollback_is_caught() {
        // One seed in 35 meets it.
        assert!(is_caught_within(PlantedBug::DropsSurviveRollback, 300));
    }

    #[test]
    fn forgotten_locks_of_prepared_transactions_are_caught() {
        assert!(is_caught_within(PlantedBug::ForgetPreparedLocks, 60));
    }

    #[test]
    fn a_prepared_transaction_that_a_crash_rolls_back_is_caught() {
        assert!(is_caught_within(PlantedBug::UndoPrepared, 60));
    }

    #[test]
    fn an_update_to_the_same_bytes_that_writes_nothing_is_caught() {
        assert!(is_caught_within(PlantedBug::NoVersionOfTheSame, 60));
    }

    #[test]
    fn a_purge_before_everybody_sees_the_deletion_is_caught() {
        assert!(is_caught_within(PlantedBug::PurgeUnsettled, 40));
    }

    #[test]
    fn an_unlogged_table_that_a_crash_leaves_as_it_is_is_caught() {
        assert!(is_caught_within(PlantedBug::KeepUnlogged, 40));
    }

    #[test]
    fn prepared_changes_of_unlogged_tables_that_are_forgotten_are_caught() {
        assert!(is_caught_within(PlantedBug::ForgetUnloggedOfPrepared, 300));
    }

    #[test]
    fn a_statement_that_goes_on_with_another_ones_number_is_caught() {
        assert!(is_caught_within(PlantedBug::ResumeWithInnerCommand, 40));
    }

    #[test]
    fn an_acknowledgement_before_the_flush_is_caught() {
        assert!(is_caught_within(PlantedBug::AcknowledgeBeforeFlush, 40));
    }
}
