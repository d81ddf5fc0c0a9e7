//! Clients that write, and their commits.

use std::collections::{BTreeMap, BTreeSet};

use steppe_cluster::commit::{Action, Commit, Outcome, Participant, Wrote};
use steppe_cluster::gate::Entry;

use crate::simulation::life::{Owner, Run};
use crate::simulation::node::Message;
use crate::simulation::world::{History, Told, World, id_of, place_of};

impl World {
    /// A client begins a transaction that writes on some nodes, and reads on others.
    pub(crate) fn begin(&mut self, at: usize) {
        let places = self.some_usable(at, 1);
        let Some(places) = places else { return };
        let (mark, number) = (self.history.len(), self.lives[at].number());
        let mut writers = BTreeSet::new();
        let mut participants = Vec::new();
        let mut sessions = BTreeMap::new();
        for place in &places {
            let writes = !self.chance(6);
            let wrote = match (writes, self.chance(3)) {
                (_, true) => Wrote::Maybe,
                (true, _) => Wrote::Yes,
                (false, _) => Wrote::No,
            };
            participants.push(Participant { node: id_of(*place), wrote, number: None });
            let message = Message::Write(writes.then_some(mark));
            sessions.insert(*place, self.connect(at, Owner::Run(number), *place, message));
            if writes {
                writers.insert(*place);
            }
        }
        let rotate = self.below(participants.len());
        participants.rotate_left(rotate);
        let life = &mut self.lives[at];
        let (coordinator, is_unguarded) = (life.me.id, life.is_zombie);
        let (told, gave_up, by_hand) = (None, false, false);
        let history = History { coordinator, writers, told, gave_up, by_hand, is_unguarded };
        self.history.push(history);
        let (passage, wait, machine, has_failed) = (None, None, None, false);
        let unanswered = sessions.len();
        let run =
            Run { mark, participants, unanswered, has_failed, machine, sessions, passage, wait };
        life.runs.insert(number, run);
    }

    /// All statements are answered: the client commits.
    pub(crate) fn written(&mut self, at: usize, number: u64) {
        let life = &mut self.lives[at];
        let Some(run) = life.runs.get_mut(&number) else { return };
        if run.unanswered > 0 {
            return;
        }
        if run.has_failed {
            self.history[run.mark].told = Some(Told::RolledBack);
            return self.close(at, number);
        }
        run.machine = Some(Commit::new(life.me, number, &run.participants));
        self.machine(at, number, Commit::start);
    }

    /// The client's sessions are closed.
    pub(crate) fn close(&mut self, at: usize, number: u64) {
        let Some(run) = self.lives[at].runs.remove(&number) else { return };
        for (place, session) in run.sessions {
            self.connections.remove(&session);
            self.nodes[place].disconnect(session);
        }
    }

    /// Runs the machine of a transaction, and carries out its actions.
    pub(crate) fn machine(
        &mut self,
        at: usize,
        number: u64,
        run: impl FnOnce(&mut Commit, &mut Vec<Action>),
    ) {
        let mut out = Vec::new();
        if let Some(machine) =
            self.lives[at].runs.get_mut(&number).and_then(|run| run.machine.as_mut())
        {
            run(machine, &mut out);
        }
        for action in out {
            self.act(at, number, action);
        }
    }

    pub(crate) fn act(&mut self, at: usize, number: u64, action: Action) {
        let owner = Owner::Run(number);
        let life = &mut self.lives[at];
        let Some(run) = life.runs.get_mut(&number) else { return };
        match action {
            Action::Send(node, request) => self.send(at, owner, place_of(node), request),
            Action::Retry(node, request) => life.retries.push((owner, place_of(node), request)),
            Action::EnterGate(nodes) => match life.gate.enter_commit(nodes) {
                Entry::Passed(passage) => {
                    run.passage = Some(passage);
                    self.machine(at, number, Commit::entered);
                }
                Entry::Waits(wait) => run.wait = Some(wait),
            },
            Action::NarrowGate(pending) => {
                if let Some(passage) = &run.passage {
                    passage.narrow(pending);
                }
            }
            Action::LeaveGate => run.passage = None,
            Action::Tell(outcome) => {
                let told = match outcome {
                    Outcome::Committed => Told::Committed,
                    Outcome::RolledBack(_) => Told::RolledBack,
                    Outcome::Unknown(_) => Told::Unknown,
                };
                let known = self.history[run.mark].told.replace(told);
                assert_eq!(known, None, "a client is told once");
            }
            Action::Forget(transaction) => life.forget.push(transaction),
            Action::Superseded => life.is_superseded = true,
            Action::Finished => self.close(at, number),
            Action::HoldGate { .. } => unreachable!("a commit enters"),
        }
    }

    /// The client has waited long enough, or cancels.
    pub(crate) fn lose_patience(&mut self, at: usize, cancels: bool) {
        let runs: Vec<u64> = self.lives[at].runs.keys().copied().collect();
        if runs.is_empty() {
            return;
        }
        let number = runs[self.below(runs.len())];
        let mark = self.lives[at].runs[&number].mark;
        if cancels {
            let error = steppe_types::Error::internal("canceled");
            self.machine(at, number, |machine, out| machine.cancel(error, out));
        } else {
            let was_told = self.history[mark].told.is_some();
            self.machine(at, number, |machine, out| {
                machine.give_up(out);
            });
            self.history[mark].gave_up |= !was_told && self.history[mark].told.is_some();
        }
    }
}
