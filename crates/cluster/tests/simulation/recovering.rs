//! The background work of coordinators.

use std::collections::BTreeMap;

use steppe_cluster::commit::{Action, Answer, Request, TransactionKey};
#[cfg(feature = "planted-bugs")]
use steppe_cluster::commit::{PlantedBug, is_planted};

use crate::simulation::life::{Owner, Place};
use crate::simulation::world::{World, id_of, place_of};

impl World {
    /// Asks a node for its list, once this life is registered there.
    pub(crate) fn look(&mut self, at: usize, place: Place) {
        let life = &mut self.lives[at];
        if life.looking.contains(&place) {
            return;
        }
        life.looking.insert(place);
        life.recovery.ask(id_of(place), life.running());
        let request = match life.registered.contains(&place) {
            true => Request::List,
            false => Request::Register(life.me),
        };
        self.send(at, Owner::Look, place, request);
    }

    pub(crate) fn looked(&mut self, at: usize, place: Place, answer: Answer) {
        let life = &mut self.lives[at];
        match answer {
            Answer::Done => {
                life.registered.insert(place);
                life.recovery.ask(id_of(place), life.running());
                self.send(at, Owner::Look, place, Request::List);
            }
            Answer::Listed(listing) => {
                life.looking.remove(&place);
                #[cfg(feature = "planted-bugs")]
                if is_planted(PlantedBug::RunningAsOfNow) {
                    life.recovery.ask(id_of(place), life.running());
                }
                let mut out = Vec::new();
                life.recovery.listed(id_of(place), listing, &mut out);
                // After what was found holds the gate.
                self.recover(at, out);
                self.lives[at].usable.insert(place);
            }
            Answer::Superseded => life.is_superseded = true,
            other => panic!("a list is {other:?}"),
        }
    }

    pub(crate) fn recovered(
        &mut self,
        at: usize,
        transaction: TransactionKey,
        place: Place,
        answer: Answer,
    ) {
        let mut out = Vec::new();
        self.lives[at].recovery.answer(transaction, id_of(place), answer, &mut out);
        self.recover(at, out);
    }

    pub(crate) fn recover(&mut self, at: usize, actions: Vec<(TransactionKey, Action)>) {
        for (transaction, action) in actions {
            let owner = Owner::Recovery(transaction);
            let life = &mut self.lives[at];
            match action {
                Action::Send(node, request) => self.send(at, owner, place_of(node), request),
                Action::Retry(node, request) => {
                    life.retries.push((owner, place_of(node), request));
                }
                Action::HoldGate { nodes, pending } => {
                    let passage = life.gate.hold(nodes, pending);
                    life.holds.insert(transaction, passage);
                }
                Action::LeaveGate => {
                    life.holds.remove(&transaction);
                }
                Action::Forget(transaction) => life.forget.push(transaction),
                Action::Superseded => life.is_superseded = true,
                Action::Finished => {}
                other => panic!("recovery has no {other:?}"),
            }
        }
    }

    /// Sends one of the requests that failed before again.
    pub(crate) fn retry(&mut self, at: usize) {
        let count = self.lives[at].retries.len();
        if count > 0 {
            let pick = self.below(count);
            let (owner, place, request) = self.lives[at].retries.swap_remove(pick);
            self.send(at, owner, place, request);
        }
    }

    /// Deletes records and fences that are no longer needed.
    pub(crate) fn sweep(&mut self, at: usize) {
        let mut by_node: BTreeMap<Place, Vec<TransactionKey>> = BTreeMap::new();
        for transaction in std::mem::take(&mut self.lives[at].forget) {
            by_node.entry(place_of(transaction.deciding)).or_default().push(transaction);
        }
        for (place, keys) in by_node {
            self.send(at, Owner::Chore, place, Request::Forget(keys));
        }
        for place in 0..self.nodes.len() {
            self.send(at, Owner::Chore, place, Request::ForgetFences);
        }
    }
}
