//! Connections that delay, lose and break.

use steppe_cluster::commit::{Answer, Request};

use crate::simulation::life::{Owner, Place};
use crate::simulation::node::{Message, Reply, SessionId, Step};
use crate::simulation::world::{Connection, World};

impl World {
    pub(crate) fn connect(
        &mut self,
        at: usize,
        owner: Owner,
        place: Place,
        message: Message,
    ) -> SessionId {
        self.next_session += 1;
        let life = self.lives[at].serial;
        let is_broken = false;
        let connection =
            Connection { life, owner, place, message: Some((message, 0)), reply: None, is_broken };
        self.connections.insert(self.next_session, connection);
        self.next_session
    }

    /// Sends a request in a session of its own, or in the transaction's.
    pub(crate) fn send(&mut self, at: usize, owner: Owner, place: Place, request: Request) {
        let session = match owner {
            Owner::Run(number) if request.is_in_transaction() => {
                self.lives[at].runs[&number].sessions.get(&place).copied()
            }
            _ => None,
        };
        match session.and_then(|session| self.connections.get_mut(&session)) {
            Some(connection) => {
                assert!(connection.message.is_none() && connection.reply.is_none());
                connection.message = Some((Message::Request(request), 0));
            }
            None if request.is_in_transaction() => {
                self.reply(at, owner, place, Reply::Answer(Answer::Lost));
            }
            None => {
                self.connect(at, owner, place, Message::Request(request));
            }
        }
    }

    pub(crate) fn has_busy_connections(&self) -> bool {
        self.connections.values().any(|one| one.message.is_some() || one.reply.is_some())
    }

    /// The work that has not ended.
    pub(crate) fn left(&self) -> Vec<String> {
        let lives = self.lives.iter().flat_map(|life| {
            let runs = life.runs.values().map(|run| format!("{:?}", run.machine));
            let retries = life.retries.iter().map(|retry| format!("{retry:?}"));
            runs.chain(retries)
        });
        lives.chain(self.connections.values().map(|one| format!("{:?}", one.message))).collect()
    }

    /// Moves one connection on: the node executes a step, or the coordinator takes the reply.
    pub(crate) fn step(&mut self) {
        let busy = self.connections.iter();
        let busy = busy.filter(|(_, one)| one.message.is_some() || one.reply.is_some());
        let busy: Vec<SessionId> = busy.map(|(session, _)| *session).collect();
        if busy.is_empty() {
            return;
        }
        let session = busy[self.below(busy.len())];
        let connection = self.connections.get_mut(&session).expect("is there");
        if let Some((message, step)) = &mut connection.message {
            let node = &mut self.nodes[connection.place];
            if !node.is_up {
                return self.break_connection(session);
            }
            match node.step(session, message, *step) {
                Step::Blocked => {}
                Step::Continues => *step += 1,
                Step::Replies(reply) => {
                    connection.message = None;
                    connection.reply = (!connection.is_broken).then_some(reply);
                    self.reap();
                }
            }
        } else {
            self.deliver(session);
        }
    }

    pub(crate) fn deliver(&mut self, session: SessionId) {
        let Some(connection) = self.connections.get_mut(&session) else { return };
        let Some(reply) = connection.reply.take() else { return };
        let (life, owner, place) = (connection.life, connection.owner, connection.place);
        let Some(at) = self.life(life) else { return };
        let stays = matches!(owner, Owner::Run(number)
            if self.lives[at].runs.get(&number)
                .is_some_and(|run| run.sessions.get(&place) == Some(&session)));
        if !stays {
            self.connections.remove(&session);
            self.nodes[place].disconnect(session);
        }
        self.reply(at, owner, place, reply);
    }

    /// The connection breaks between its ends. What was sent may arrive, or not.
    pub(crate) fn break_any(&mut self) {
        let count = self.connections.len();
        if count > 0 {
            let at = self.below(count);
            let session = *self.connections.keys().nth(at).expect("counted");
            self.break_connection(session);
        }
    }

    pub(crate) fn break_connection(&mut self, session: SessionId) {
        let lost = self.chance(2);
        let Some(connection) = self.connections.get_mut(&session) else { return };
        let is_up = self.nodes[connection.place].is_up;
        let was_broken = std::mem::replace(&mut connection.is_broken, true);
        let was_busy = connection.message.is_some() || connection.reply.is_some();
        if !is_up || lost && matches!(connection.message, Some((_, 0))) {
            connection.message = None;
        }
        let (life, owner, place) = (connection.life, connection.owner, connection.place);
        self.reap();
        if let Some(at) = self.life(life)
            && !was_broken
        {
            self.lost(at, owner, place, session, was_busy);
        }
    }

    pub(crate) fn crash_node(&mut self, place: Place) {
        self.nodes[place].crash();
        let broken = self.connections.iter().filter(|(_, one)| one.place == place);
        let broken: Vec<SessionId> = broken.map(|(session, _)| *session).collect();
        for session in broken {
            self.break_connection(session);
        }
    }
}
