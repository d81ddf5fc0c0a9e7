//! Carries out the actions of a [`Commit`] in the client's thread.
//!
//! Requests of the transaction use its own sessions, all in flight at once. Once a request has to be
//! repeated in another session, the machine is handed over to the recoverer with everything that it
//! holds; the client waits for the outcome.

use std::collections::BTreeMap;
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};

use steppe_types::{Error, Result, SqlState, interrupt};

use super::local::LocalPart;
use super::recoverer::Job;
use super::session::NodeSession;
use super::{Cluster, RunningNumber};
use crate::NodeId;
use crate::commit::{Action, Answer, Commit, Outcome, Participant, Request};
use crate::connection::Step;
use crate::gate::{Entry, Passage};
use crate::wait::{self, Heed, Watched};

/// The recoverer tells the outcome at the client's deadline. It gets this much time for it.
const TELL_TIME: Duration = Duration::from_secs(5);

/// A commit that is carried out by its client.
pub(super) struct Committing<'l> {
    cluster: Arc<Cluster>,
    commit: Commit,
    number: RunningNumber,
    sessions: BTreeMap<NodeId, NodeSession>,
    local: Option<&'l mut dyn LocalPart>,
    passage: Option<Passage>,
    /// Requests for other sessions.
    elsewhere: Vec<(NodeId, Request)>,
    out: Vec<Action>,
    told: Option<Outcome>,
    is_finished: bool,
    deadline: Instant,
}

impl<'l> Committing<'l> {
    pub(super) fn new(
        cluster: Arc<Cluster>,
        participants: &[Participant],
        sessions: BTreeMap<NodeId, NodeSession>,
        local: Option<&'l mut dyn LocalPart>,
    ) -> Result<Committing<'l>> {
        let number = cluster.begin_number()?;
        let commit = Commit::new(cluster.by, number.number, participants);
        let deadline = Instant::now() + cluster.times.patience;
        let (passage, told, is_finished) = (None, None, false);
        let (elsewhere, out) = (Vec::new(), Vec::new());
        let committing = Committing {
            cluster,
            commit,
            number,
            sessions,
            local,
            passage,
            elsewhere,
            out,
            told,
            is_finished,
            deadline,
        };
        Ok(committing)
    }

    /// Runs to the end, or until only the recoverer can go on.
    pub(super) fn run(mut self) -> Outcome {
        self.commit.start(&mut self.out);
        loop {
            self.act();
            if self.is_finished {
                return self.told.take().unwrap_or_else(|| unknown("the commit has no outcome"));
            }
            if !self.sessions.values().any(NodeSession::awaits) {
                return self.hand_over();
            }
            self.receive();
        }
    }

    fn act(&mut self) {
        while !self.out.is_empty() {
            for action in std::mem::take(&mut self.out) {
                self.act_on(action);
            }
        }
    }

    fn act_on(&mut self, action: Action) {
        match action {
            Action::Send(node, request) if node == self.cluster.local_id() => {
                self.send_locally(node, &request);
            }
            Action::Send(node, request) => self.send(node, request),
            Action::Retry(node, request) => self.elsewhere.push((node, request)),
            Action::EnterGate(nodes) => {
                let entered = match self.cluster.gate.enter_commit(nodes) {
                    Entry::Passed(passage) => Ok(passage),
                    Entry::Waits(wait) => {
                        interrupt::during(&mut None, || wait.wait_in_place(Some(self.deadline)))
                    }
                };
                match entered {
                    Ok(passage) => {
                        self.passage = Some(passage);
                        self.commit.entered(&mut self.out);
                    }
                    Err(error) => self.commit.cancel(error, &mut self.out),
                }
            }
            Action::NarrowGate(pending) => {
                if let Some(passage) = &self.passage {
                    passage.narrow(pending);
                }
            }
            Action::LeaveGate => self.passage = None,
            // A running transaction holds nothing in place of its passage.
            Action::HoldGate { .. } => {}
            Action::Tell(outcome) => self.told = Some(outcome),
            Action::Forget(key) => self.cluster.state.lock().forget.push(key),
            Action::Superseded => self.cluster.supersede(),
            Action::Finished => self.is_finished = true,
        }
    }

    fn send(&mut self, node: NodeId, request: Request) {
        let in_transaction = request.is_in_transaction();
        let session = self.sessions.get_mut(&node).filter(|session| session.is_ready());
        match session {
            Some(session) => {
                if !session.send(&self.cluster, request) {
                    self.lost(node);
                }
            }
            None if in_transaction => self.lost(node),
            None => self.elsewhere.push((node, request)),
        }
    }

    /// The coordinator's own database answers at once.
    fn send_locally(&mut self, node: NodeId, request: &Request) {
        let answer = match (&mut self.local, request.is_in_transaction()) {
            (Some(local), true) => local.carry_out(request),
            (None, true) => Answer::Refused(Error::internal("the transaction has no local part")),
            (_, false) => self.cluster.ask_local(request),
        };
        self.commit.answer(node, answer, &mut self.out);
    }

    /// The session's connection broke. It is closed, so that the node ends what is open there.
    fn lost(&mut self, node: NodeId) {
        self.sessions.remove(&node);
        self.commit.answer(node, Answer::Lost, &mut self.out);
    }

    /// Takes the answers that have come, or waits for one. After the deadline the connections that have
    /// not answered are given up.
    fn receive(&mut self) {
        let mut answers = Vec::new();
        let mut interests = BTreeMap::new();
        for (node, session) in self.sessions.iter_mut().filter(|(_, session)| session.awaits()) {
            match session.answer(&self.cluster) {
                Step::Ready(answer) => answers.push((*node, answer)),
                Step::Waits(interest) => drop(interests.insert(*node, interest)),
            }
        }
        if answers.is_empty() {
            let mut watched = Vec::new();
            for (node, session) in &mut self.sessions {
                if let Some(interest) = interests.get(node) {
                    watched.push(Watched::new(session.connection().descriptor(), *interest));
                }
            }
            let waited = wait::any(&mut watched, Some(self.deadline), Heed::Nothing);
            if !matches!(waited, Ok(true)) {
                answers.extend(interests.into_keys().map(|node| (node, Answer::Lost)));
            }
        }
        for (node, answer) in answers {
            match answer {
                Answer::Lost => self.lost(node),
                answer => self.commit.answer(node, answer, &mut self.out),
            }
        }
    }

    /// Gives the machine to the recoverer, and waits until it tells the outcome.
    fn hand_over(self) -> Outcome {
        let deadline = self.deadline;
        let Committing { cluster, commit, number, sessions, passage, elsewhere, told, .. } = self;
        number.hand_over();
        drop(sessions);
        let (tell, outcome) = mpsc::sync_channel(1);
        if let Some(told) = told {
            // The channel has room for it.
            let _ = tell.try_send(told);
        }
        let job = Job { commit, passage, requests: elsewhere, tell, deadline };
        cluster.mailbox.hand_over(job);
        let patience = deadline.saturating_duration_since(Instant::now()) + TELL_TIME;
        let mut told = None;
        let mut receive = || told = outcome.recv_timeout(patience).ok();
        match interrupt::current() {
            Some(interrupts) => interrupts.wait(&mut receive),
            None => receive(),
        }
        told.unwrap_or_else(|| unknown("the transaction is still being resolved"))
    }
}

/// 08007: the outcome is not known.
#[cold]
fn unknown(detail: &str) -> Outcome {
    let message = "it is not known whether the transaction has committed";
    Outcome::Unknown(
        Error::new(SqlState::TRANSACTION_RESOLUTION_UNKNOWN, message).detail(detail.to_owned()),
    )
}
