//! The recoverer's connection to one node: one request at a time, in order. It never waits, except for
//! the look-up of a host's name.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use super::exchange::Exchange;
use super::{Cluster, FaultPoint};
use crate::commit::{Answer, Request, TransactionKey};
use crate::connection::{Connection, Opening, Step};
use crate::wait::Watched;
use crate::{ConnInfo, Interest, NodeId};
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
}

/// Answers, each with its owner.
pub(super) type Answers = Vec<(Owner, NodeId, Answer)>;

impl Link {
    pub(super) fn new(node: NodeId, within: Duration) -> Link {
        let (queue, current) = (VecDeque::new(), None);
        Link { node, state: State::Closed, queue, current, deadline: None, within }
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
            State::Closed | State::Open(..) => None,
        };
        self.deadline.into_iter().chain(of_attempt).min()
    }

    /// The socket that the link waits for.
    pub(super) fn watched(&self) -> Option<Watched<'_>> {
        match &self.state {
            State::Open(connection, interest) if self.current.is_some() => {
                Some(Watched::new(connection.descriptor(), *interest))
            }
            State::Opening(opening, interest) => {
                opening.descriptor().map(|descriptor| Watched::new(descriptor, *interest))
            }
            State::Closed | State::Open(..) => None,
        }
    }

    /// Goes on as far as the socket allows.
    pub(super) fn advance(&mut self, cluster: &Cluster, info: &ConnInfo, out: &mut Answers) {
        while !self.is_idle() {
            let now = Instant::now();
            if self.deadline.is_some_and(|at| now >= at) {
                self.fail(out);
                return;
            }
            let goes_on = match std::mem::replace(&mut self.state, State::Closed) {
                State::Closed => {
                    self.deadline = Some(now + self.within.min(OPEN_WITHIN));
                    self.open(Box::new(Opening::new(info)))
                }
                State::Opening(opening, _) => self.open(opening),
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
    fn open(&mut self, mut opening: Box<Opening>) -> bool {
        match opening.advance() {
            Ok(Step::Ready(connection)) if is_writable(&connection) => {
                self.deadline = None;
                self.state = State::Open(Box::new(connection), Interest::Read);
                true
            }
            Ok(Step::Waits(interest)) => {
                self.state = State::Opening(opening, interest);
                false
            }
            // The requests behind it are answered as lost, and sent again later.
            Ok(Step::Ready(_)) | Err(_) => false,
        }
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
            Err(_) => Answer::Lost,
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

/// Whether the server is no standby, whose lists are behind those of its primary.
fn is_writable(connection: &Connection) -> bool {
    connection.parameter("in_hot_standby") != Some("on")
}
