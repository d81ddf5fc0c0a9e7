//! Nodes, the network, clients and coordinators that die.

use std::collections::{BTreeMap, BTreeSet};

use steppe_cluster::commit::{Answer, Commit, Coordinator};
use steppe_cluster::{NodeId, NodeSet};
use steppe_vfs::SeededRandom;

use crate::simulation::life::{Life, Owner, Place};
use crate::simulation::node::{Message, Node, Reply, SessionId};

/// A transaction's client knows this.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Told {
    Committed,
    RolledBack,
    Unknown,
}

#[derive(Debug)]
pub(crate) struct History {
    pub(crate) coordinator: u64,
    pub(crate) writers: BTreeSet<Place>,
    pub(crate) told: Option<Told>,
    /// It was told before all nodes had answered.
    pub(crate) gave_up: bool,
    /// A person has ended a part of it.
    pub(crate) by_hand: bool,
    /// Two lives of a coordinator ran beside each other: its gate is not the readers'.
    pub(crate) is_unguarded: bool,
}

/// A connection has one message or one reply under way.
pub(crate) struct Connection {
    pub(crate) life: u64,
    pub(crate) owner: Owner,
    pub(crate) place: Place,
    /// With the steps that have been executed.
    pub(crate) message: Option<(Message, usize)>,
    pub(crate) reply: Option<Reply>,
    pub(crate) is_broken: bool,
}

pub(crate) struct World {
    pub(crate) random: SeededRandom,
    pub(crate) nodes: Vec<Node>,
    pub(crate) connections: BTreeMap<SessionId, Connection>,
    pub(crate) next_session: SessionId,
    pub(crate) lives: Vec<Life>,
    next_life: u64,
    pub(crate) history: Vec<History>,
    pub(crate) foreign: BTreeSet<(Place, String)>,
}

pub(crate) fn id_of(place: Place) -> NodeId {
    NodeId(0xd0 + place as u64)
}

pub(crate) fn place_of(node: NodeId) -> Place {
    (node.0 - 0xd0) as Place
}

pub(crate) fn set_of<'a>(places: impl IntoIterator<Item = &'a Place>) -> NodeSet {
    places.into_iter().map(|place| id_of(*place)).collect()
}

impl World {
    pub(crate) fn new(random: SeededRandom, nodes: usize, coordinators: u64) -> World {
        let nodes = (0..nodes).map(|place| Node::new(id_of(place))).collect();
        let mut world = World {
            random,
            nodes,
            connections: BTreeMap::new(),
            next_session: 0,
            lives: Vec::new(),
            next_life: 0,
            history: Vec::new(),
            foreign: BTreeSet::new(),
        };
        for id in 0..coordinators {
            world.new_life(0xc1 + id);
        }
        world
    }

    pub(crate) fn below(&self, bound: usize) -> usize {
        self.random.below(bound as u64) as usize
    }

    pub(crate) fn chance(&self, of: u64) -> bool {
        self.random.below(of) == 0
    }

    /// Starts a coordinator. Its generation is the number of all lives, so that it grows.
    pub(crate) fn new_life(&mut self, id: u64) {
        self.next_life += 1;
        let me = Coordinator { id, generation: self.next_life };
        self.lives.push(Life::new(self.next_life, me));
    }

    /// The process dies. What it has sent may still arrive.
    pub(crate) fn kill(&mut self, at: usize) -> u64 {
        let life = self.lives.remove(at);
        let random = &self.random;
        for connection in self.connections.values_mut().filter(|one| one.life == life.serial) {
            connection.is_broken = true;
            if random.below(2) == 0 && matches!(connection.message, Some((_, 0))) {
                connection.message = None;
            }
        }
        self.reap();
        life.me.id
    }

    /// Nodes notice the ends of connections when they have executed what came before.
    pub(crate) fn reap(&mut self) {
        let nodes = &mut self.nodes;
        self.connections.retain(|session, connection| {
            let is_over = connection.is_broken && connection.message.is_none();
            if is_over {
                nodes[connection.place].disconnect(*session);
            }
            !is_over
        });
    }

    pub(crate) fn life(&self, serial: u64) -> Option<usize> {
        self.lives.iter().position(|life| life.serial == serial)
    }

    /// A coordinator notices that a connection has broken.
    pub(crate) fn lost(
        &mut self,
        at: usize,
        owner: Owner,
        place: Place,
        session: SessionId,
        busy: bool,
    ) {
        match owner {
            Owner::Run(number) => {
                let Some(run) = self.lives[at].runs.get_mut(&number) else { return };
                let is_own = run.sessions.get(&place) == Some(&session);
                if is_own {
                    run.sessions.remove(&place);
                }
                if run.machine.is_none() {
                    run.has_failed = true;
                    run.unanswered -= usize::from(busy);
                    return self.written(at, number);
                }
                if busy {
                    self.machine(at, number, |machine, out| {
                        machine.answer(id_of(place), Answer::Lost, out);
                    });
                }
            }
            Owner::Reader(number) => {
                self.lives[at].readers.remove(&number);
            }
            Owner::Recovery(transaction) => {
                self.recovered(at, transaction, place, Answer::Lost);
            }
            Owner::Look => {
                self.lives[at].looking.remove(&place);
                self.lives[at].recovery.not_listed(id_of(place));
            }
            Owner::Chore => {}
        }
    }

    pub(crate) fn reply(&mut self, at: usize, owner: Owner, place: Place, reply: Reply) {
        match (owner, reply) {
            (Owner::Run(number), Reply::Answer(answer)) => {
                let Some(run) = self.lives[at].runs.get_mut(&number) else { return };
                if run.machine.is_some() {
                    return self.machine(at, number, |machine, out| {
                        machine.answer(id_of(place), answer, out);
                    });
                }
                let part = run.participants.iter_mut().find(|part| part.node == id_of(place));
                if let (Some(part), Answer::Xid(Some(xid), life)) = (part, answer)
                    && self.random.below(2) == 0
                {
                    part.number = Some((xid, life));
                }
                run.unanswered -= 1;
                self.written(at, number);
            }
            (Owner::Reader(number), Reply::Seen(seen)) => self.seen(at, number, place, seen),
            (Owner::Recovery(transaction), Reply::Answer(answer)) => {
                self.recovered(at, transaction, place, answer);
            }
            (Owner::Look, Reply::Answer(answer)) => self.looked(at, place, answer),
            (Owner::Chore, _) => {}
            (owner, reply) => panic!("{owner:?} is answered {reply:?}"),
        }
    }

    /// Requests at the gates that are inside by now go on.
    pub(crate) fn poll_gates(&mut self) {
        for at in 0..self.lives.len() {
            let runs: Vec<u64> = self.lives[at].runs.keys().copied().collect();
            for number in runs {
                let Some(run) = self.lives[at].runs.get_mut(&number) else { continue };
                if let Some(passage) = run.wait.as_mut().and_then(|wait| wait.try_take()) {
                    (run.passage, run.wait) = (Some(passage), None);
                    self.machine(at, number, Commit::entered);
                }
            }
            let readers: Vec<u64> = self.lives[at].readers.keys().copied().collect();
            for number in readers {
                let Some(reader) = self.lives[at].readers.get_mut(&number) else { continue };
                if let Some(passage) = reader.wait.as_mut().and_then(|wait| wait.try_take()) {
                    (reader.passage, reader.wait) = (Some(passage), None);
                    self.bind(at, number);
                }
            }
        }
        while let Some(at) = self.lives.iter().position(|life| life.is_superseded) {
            assert!(self.lives[at].is_zombie, "only a life with a successor is superseded");
            self.kill(at);
        }
    }

    /// A person ends a prepared transaction, in either way.
    pub(crate) fn end_by_hand(&mut self) {
        let place = self.below(self.nodes.len());
        let commit = self.chance(2);
        let node = &mut self.nodes[place];
        let own = node.prepared.iter().find_map(|(gid, one)| Some((gid.clone(), one.mark?)));
        if let Some((gid, mark)) = own
            && node.is_up
        {
            self.history[mark].by_hand = true;
            assert!(self.nodes[place].end(&gid, commit), "was found");
        }
    }

    /// Another application prepares a transaction whose identifier begins like one of Steppe's.
    pub(crate) fn prepare_foreign(&mut self) {
        let place = self.below(self.nodes.len());
        let node = &mut self.nodes[place];
        if let Some(gid) = node.prepared.keys().next_back().map(|gid| format!("{gid}0"))
            && node.is_up
        {
            node.prepare_foreign(gid.clone());
            self.foreign.insert((place, gid));
        }
    }

    /// A second life begins while the first one goes on.
    pub(crate) fn split(&mut self, at: usize) {
        let life = &mut self.lives[at];
        if std::mem::replace(&mut life.is_zombie, true) {
            return;
        }
        let id = life.me.id;
        for run in life.runs.values() {
            self.history[run.mark].is_unguarded = true;
        }
        self.new_life(id);
    }
}
