//! The recoverer's connection to one node: one request at a time, in order. It never waits, except for
//! the look-up of a host's name.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use super::exchange::Exchange;
use super::{Cluster, FaultPoint};
use crate::commit::{Answer, Request, TransactionKey};
use crate::connection::{Connection, Opening, Step};
use crate::pool::Expected;
use crate::wait::Watched;
use crate::{ConnInfo, Interest, NodeId};
use steppe_types::{Error, SqlState};
use steppe_wire::TransactionStatus;

/// How long opening a connection may take. Its requests wait behind it.
const OPEN_WITHIN: Duration = Duration::from_secs(5);

/// The machine that an answer belongs to.
#[derive(Clone, Copy, Debug)]
pub(super) enum Owner {
    /// The list of the node.
    Look,
    /// The commit with this number.
    Commit(u64),
    /// The recovery of a transaction.
    Recovery(TransactionKey),
    /// Deletions, whose failure makes no difference.
    Chore,
}

enum State {
    Closed,
    Opening(Box<Opening>, Interest),
    /// It is asked whether it is the node.
    Checking(Box<Connection>, Exchange, Interest),
    Open(Box<Connection>, Interest),
}

/// A connection to a node, and the requests for it.
pub(super) struct Link {
    node: NodeId,
    state: State,
    queue: VecDeque<(Owner, Request)>,
    current: Option<(Owner, Request, Exchange)>,
    /// When the current request takes too long.
    deadline: Option<Instant>,
    within: Duration,
    /// Why no connection could be opened, or the last one broke.
    failure: Option<Error>,
}

/// Answers, each with its owner.
pub(super) type Answers = Vec<(Owner, NodeId, Answer)>;

impl Link {
    pub(super) fn new(node: NodeId, within: Duration) -> Link {
        let (queue, current) = (VecDeque::new(), None);
        let (state, deadline, failure) = (State::Closed, None, None);
        Link { node, state, queue, current, deadline, within, failure }
    }

    /// Why the node was not reached.
    pub(super) fn failure(&self) -> Option<&Error> {
        self.failure.as_ref()
    }

    pub(super) fn push(&mut self, owner: Owner, request: Request) {
        self.queue.push_back((owner, request));
    }

    /// Whether nothing is to be done.
    pub(super) fn is_idle(&self) -> bool {
        self.queue.is_empty() && self.current.is_none()
    }

    pub(super) fn deadline(&self) -> Option<Instant> {
        let of_attempt = match &self.state {
            State::Opening(opening, _) => opening.deadline(),
            State::Closed | State::Checking(..) | State::Open(..) => None,
        };
        self.deadline.into_iter().chain(of_attempt).min()
    }

    /// The socket that the link waits for.
    pub(super) fn watched(&self) -> Option<Watched<'_>> {
        match &self.state {
            State::Open(connection, interest) if self.current.is_some() => {
                Some(Watched::new(connection.descriptor(), *interest))
            }
            State::Checking(connection, _, interest) => {
                Some(Watched::new(connection.descriptor(), *interest))
            }
            State::Opening(opening, interest) => {
                opening.descriptor().map(|descriptor| Watched::new(descriptor, *interest))
            }
            State::Closed | State::Open(..) => None,
        }
    }

    /// Goes on as far as the socket allows.
    pub(super) fn advance(&mut self, cluster: &Cluster, reach: &Reach, out: &mut Answers) {
        while !self.is_idle() {
            let now = Instant::now();
            if self.deadline.is_some_and(|at| now >= at) {
                self.failure = Some(too_late());
                return self.fail(out);
            }
            let goes_on = match std::mem::replace(&mut self.state, State::Closed) {
                State::Closed => {
                    self.deadline = Some(now + self.within.min(OPEN_WITHIN));
                    self.open(Box::new(Opening::new(&reach.info)), reach)
                }
                State::Opening(opening, _) => self.open(opening, reach),
                State::Checking(connection, exchange, _) => self.check(connection, exchange, reach),
                State::Open(connection, _) if self.current.is_none() => {
                    self.begin(cluster, connection, now)
                }
                State::Open(connection, _) => self.receive(cluster, connection, out),
            };
            match (goes_on, &self.state) {
                (true, _) => {}
                (false, State::Closed) => return self.fail(out),
                (false, _) => return,
            }
        }
    }

    /// Each step leaves the state closed if it failed. False: it failed, or waits.
    fn open(&mut self, mut opening: Box<Opening>, reach: &Reach) -> bool {
        match opening.advance() {
            Ok(Step::Ready(connection)) => self.ask(Box::new(connection), reach),
            Ok(Step::Waits(interest)) => {
                self.state = State::Opening(opening, interest);
                false
            }
            // The requests behind it are answered as lost, and sent again later.
            Err(refused) => self.failed(refused.error),
        }
    }

    fn ask(&mut self, mut connection: Box<Connection>, reach: &Reach) -> bool {
        if connection.parameter("in_hot_standby") == Some("on") {
            return self.failed(standby());
        }
        if reach.expected.is_none() {
            return self.opened(connection);
        }
        let sent = connection.query(&Expected::question()).and_then(|()| connection.flush());
        match sent {
            Ok(_) => self.state = State::Checking(connection, Exchange::default(), Interest::Both),
            Err(error) => return self.failed(error),
        }
        true
    }

    /// Takes the answer to the question whether it is the node.
    fn check(
        &mut self,
        mut connection: Box<Connection>,
        mut exchange: Exchange,
        reach: &Reach,
    ) -> bool {
        let answer = match exchange.advance(&mut connection) {
            Ok(Step::Waits(interest)) => {
                self.state = State::Checking(connection, exchange, interest);
                return false;
            }
            Ok(Step::Ready(answer)) => answer,
            Err(error) => return self.failed(error),
        };
        let row = answer.as_ref().map(|replies| Some(replies.first()?.rows.first()?.as_slice()));
        let judged = reach.expected.as_ref().map(|own| own.judge(row.map_err(Clone::clone)));
        match judged {
            Some(Err(failure)) => self.failed(failure.into_error()),
            None | Some(Ok(())) => self.opened(connection),
        }
    }

    fn opened(&mut self, connection: Box<Connection>) -> bool {
        (self.deadline, self.failure) = (None, None);
        self.state = State::Open(connection, Interest::Read);
        true
    }

    fn failed(&mut self, error: Error) -> bool {
        self.failure = Some(error);
        false
    }

    fn begin(&mut self, cluster: &Cluster, mut connection: Box<Connection>, now: Instant) -> bool {
        let Some((owner, request)) = self.queue.pop_front() else { return false };
        let fails = |point| cluster.fails(point, self.node, &request);
        let is_sent = !fails(FaultPoint::BeforeSend)
            && connection.query(&request.sql()).is_ok()
            && connection.flush().is_ok()
            && !fails(FaultPoint::AfterSend);
        self.current = Some((owner, request, Exchange::default()));
        self.deadline = Some(now + self.within);
        if is_sent {
            self.state = State::Open(connection, Interest::Read);
        }
        is_sent
    }

    fn receive(
        &mut self,
        cluster: &Cluster,
        mut connection: Box<Connection>,
        out: &mut Answers,
    ) -> bool {
        let Some((owner, request, mut exchange)) = self.current.take() else { return false };
        let answer = match exchange.advance(&mut connection) {
            Ok(Step::Waits(interest)) => {
                self.current = Some((owner, request, exchange));
                self.state = State::Open(connection, interest);
                return false;
            }
            Ok(Step::Ready(_)) if cluster.fails(FaultPoint::BeforeRead, self.node, &request) => {
                Answer::Lost
            }
            Ok(Step::Ready(Ok(replies))) => request.answered(&replies),
            Ok(Step::Ready(Err(error))) => request.failed(error),
            Err(error) => {
                self.failed(error);
                Answer::Lost
            }
        };
        self.deadline = None;
        // A statement that failed inside of a transaction of the request leaves that open.
        let is_usable = !matches!(answer, Answer::Lost)
            && !connection.is_broken()
            && connection.transaction_status() == TransactionStatus::Idle;
        if is_usable {
            self.state = State::Open(connection, Interest::Read);
        }
        out.push((owner, self.node, answer));
        true
    }

    /// The node was not reached, or has not answered: neither have the requests behind it.
    pub(super) fn fail(&mut self, out: &mut Answers) {
        (self.state, self.deadline) = (State::Closed, None);
        let current = self.current.take().map(|(owner, ..)| owner);
        let owners = current.into_iter().chain(self.queue.drain(..).map(|(owner, _)| owner));
        out.extend(owners.map(|owner| (owner, self.node, Answer::Lost)));
    }
}

/// How the recoverer reaches a node.
pub(super) struct Reach {
    pub(super) info: ConnInfo,
    pub(super) expected: Option<Expected>,
}

#[cold]
fn too_late() -> Error {
    Error::new(SqlState::CONNECTION_FAILURE, "the node has not answered in time")
}

#[cold]
fn standby() -> Error {
    Error::new(SqlState::CONNECTION_FAILURE, "the server is a standby")
}
