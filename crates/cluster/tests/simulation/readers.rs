//! Clients that read several nodes.

use std::collections::{BTreeMap, BTreeSet};

use steppe_cluster::gate::Entry;

use crate::simulation::life::{Owner, Place, Reader};
use crate::simulation::node::{Mark, Message};
use crate::simulation::world::{Told, World, id_of, set_of};

impl World {
    pub(crate) fn some_usable(&self, at: usize, least: usize) -> Option<BTreeSet<Place>> {
        let usable: Vec<Place> = match () {
            #[cfg(feature = "planted-bugs")]
            () if steppe_cluster::commit::is_planted(
                steppe_cluster::commit::PlantedBug::ReadBeforeRecovery,
            ) =>
            {
                (0..self.nodes.len()).collect()
            }
            () => self.lives[at].usable.iter().copied().collect(),
        };
        let mut places = BTreeSet::new();
        if usable.len() >= least {
            for _ in 0..least + self.below(3) {
                places.insert(usable[self.below(usable.len())]);
            }
        }
        (places.len() >= least).then_some(places)
    }

    /// A client reads several nodes in one statement, or in a REPEATABLE READ transaction.
    pub(crate) fn read(&mut self, at: usize) {
        let Some(first) = self.some_usable(at, 1) else { return };
        let join = self.some_usable(at, 1).and_then(|places| places.into_iter().next());
        let join = join.filter(|join| !first.contains(join) && self.chance(2));
        let coordinator = self.lives[at].me.id;
        let told =
            self.history.iter().enumerate().filter(|(_, one)| {
                one.coordinator == coordinator && one.told == Some(Told::Committed)
            });
        let must_see = told.map(|(mark, _)| mark).collect();
        let life = &mut self.lives[at];
        let number = life.number();
        let (unanswered, passage, wait, snapshots) = (0, None, None, None);
        let seen = BTreeMap::new();
        let reader = Reader { first, join, unanswered, passage, wait, snapshots, seen, must_see };
        life.readers.insert(number, reader);
        self.enter_read(at, number);
    }

    pub(crate) fn enter_read(&mut self, at: usize, number: u64) {
        let life = &mut self.lives[at];
        let Some(reader) = life.readers.get_mut(&number) else { return };
        let join = reader.join.filter(|_| !reader.seen.is_empty());
        let nodes = set_of(reader.first.iter().chain(&join));
        if nodes.len() < 2 {
            return self.bind(at, number);
        }
        match life.gate.enter_read(nodes) {
            Entry::Passed(passage) => {
                reader.passage = Some(passage);
                self.bind(at, number);
            }
            Entry::Waits(wait) => reader.wait = Some(wait),
        }
    }

    /// Inside the gate: the Binds are sent.
    pub(crate) fn bind(&mut self, at: usize, number: u64) {
        let life = &mut self.lives[at];
        let Some(reader) = life.readers.get_mut(&number) else { return };
        let places: Vec<Place> = match &mut reader.snapshots {
            None => {
                reader.snapshots = Some(life.gate.snapshots(set_of(&reader.first)));
                reader.first.iter().copied().collect()
            }
            Some(snapshots) => {
                let join = reader.join.expect("joins");
                if snapshots.join(id_of(join)).is_err() {
                    life.readers.remove(&number);
                    return;
                }
                vec![join]
            }
        };
        reader.unanswered = places.len();
        #[cfg(feature = "planted-bugs")]
        if steppe_cluster::commit::is_planted(
            steppe_cluster::commit::PlantedBug::BindsOutsideOfGate,
        ) {
            reader.passage = None;
        }
        for place in places {
            self.connect(at, Owner::Reader(number), place, Message::Bind);
        }
    }

    pub(crate) fn seen(&mut self, at: usize, number: u64, place: Place, seen: BTreeSet<Mark>) {
        let Some(reader) = self.lives[at].readers.get_mut(&number) else { return };
        let is_first = reader.join.is_some_and(|join| !reader.seen.contains_key(&join));
        reader.seen.insert(place, seen);
        reader.unanswered -= 1;
        if reader.unanswered > 0 {
            return;
        }
        reader.passage = None;
        if is_first && reader.join != Some(place) {
            return self.enter_read(at, number);
        }
        if let Some(reader) = self.lives[at].readers.remove(&number)
            && !self.lives[at].is_zombie
        {
            self.check_reader(self.lives[at].me.id, &reader);
        }
    }

    /// A reader sees all of a transaction or nothing, all that was acknowledged before, and nothing that
    /// was rolled back.
    pub(crate) fn check_reader(&self, coordinator: u64, reader: &Reader) {
        for (mark, one) in self.history.iter().enumerate() {
            if one.coordinator != coordinator || one.by_hand || one.is_unguarded {
                continue;
            }
            let both: Vec<Place> =
                one.writers.iter().copied().filter(|at| reader.seen.contains_key(at)).collect();
            let saw = both.iter().filter(|at| reader.seen[at].contains(&mark)).count();
            assert!(saw == 0 || saw == both.len(), "half of {mark} is seen: {one:?}");
            let must = reader.must_see.contains(&mark) && (!one.gave_up || both.len() > 1);
            assert!(!must || saw == both.len(), "{mark} was acknowledged: {one:?}");
            assert!(one.told != Some(Told::RolledBack) || saw == 0, "{mark} was rolled back");
        }
    }
}
