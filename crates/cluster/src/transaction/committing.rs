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
use crate::commit::{Action, Answer, Commit, Outcome, Participant, Request};
use crate::connection::Step;
use crate::gate::{Entry, Passage};
use crate::wait::{self, Heed, Watched};
use crate::{Interest, NodeId};

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
    has_started: bool,
    /// The nodes whose answers had not come at the last look.
    interests: BTreeMap<NodeId, Interest>,
    told: Option<Outcome>,
    is_finished: bool,
    deadline: Instant,
}

/// How far a commit has come.
pub(super) enum Advanced {
    /// It has ended.
    Ended(Outcome),
    /// An answer must come.
    Waits,
    /// A request has to be repeated in another session.
    NeedsRecoverer,
}

impl<'l> Committing<'l> {
    pub(super) fn new(
        cluster: Arc<Cluster>,
        participants: &[Participant],
        sessions: BTreeMap<NodeId, NodeSession>,
        local: Option<&'l mut dyn LocalPart>,
    ) -> Result<Committing<'l>> {
        let number = cluster.begin_number()?;
        let names = Arc::clone(&cluster);
        let commit = Commit::new(cluster.by, number.number, participants).naming(names);
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
            has_started: false,
            interests: BTreeMap::new(),
            told,
            is_finished,
            deadline,
        };
        Ok(committing)
    }

    /// Runs to the end in the calling thread, or until only the recoverer can go on.
    pub(super) fn run(mut self) -> Outcome {
        loop {
            match self.advance() {
                Advanced::Ended(outcome) => return outcome,
                Advanced::NeedsRecoverer => return self.hand_over(),
                Advanced::Waits => self.wait_in_place(),
            }
        }
    }

    /// Takes the answers that have come, and goes on. It waits for the gate only, which a commit on
    /// one node does not pass.
    pub(super) fn advance(&mut self) -> Advanced {
        if !std::mem::replace(&mut self.has_started, true) {
            self.commit.start(&mut self.out);
        }
        loop {
            self.act();
            if self.is_finished {
                let told = self.told.take();
                return Advanced::Ended(
                    told.unwrap_or_else(|| unknown("the commit has no outcome")),
                );
            }
            if !self.sessions.values().any(NodeSession::awaits) {
                return Advanced::NeedsRecoverer;
            }
            if !self.receive() {
                return Advanced::Waits;
            }
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

    /// Takes the answers that have come. False: none has.
    fn receive(&mut self) -> bool {
        let mut answers = Vec::new();
        self.interests.clear();
        for (node, session) in self.sessions.iter_mut().filter(|(_, session)| session.awaits()) {
            match session.answer(&self.cluster) {
                Step::Ready(answer) => answers.push((*node, answer)),
                Step::Waits(interest) => drop(self.interests.insert(*node, interest)),
            }
        }
        self.take(answers)
    }

    fn take(&mut self, answers: Vec<(NodeId, Answer)>) -> bool {
        let has_some = !answers.is_empty();
        for (node, answer) in answers {
            match answer {
                Answer::Lost => self.lost(node),
                answer => self.commit.answer(node, answer, &mut self.out),
            }
        }
        has_some
    }

    /// The sockets of the answers that are awaited.
    pub(super) fn watched(&mut self) -> Vec<Watched<'_>> {
        let interests = &self.interests;
        let awaited = self.sessions.iter_mut().filter_map(|(node, session)| {
            let interest = *interests.get(node)?;
            Some(Watched::new(session.connection().descriptor(), interest))
        });
        awaited.collect()
    }

    /// When the client waits no longer.
    pub(super) fn deadline(&self) -> Instant {
        self.deadline
    }

    /// The deadline has passed: the connections that have not answered are given up.
    pub(super) fn give_up(&mut self) {
        let awaited = std::mem::take(&mut self.interests);
        self.take(awaited.into_keys().map(|node| (node, Answer::Lost)).collect());
    }

    fn wait_in_place(&mut self) {
        let deadline = self.deadline;
        let waited = wait::any(&mut self.watched(), Some(deadline), Heed::Nothing);
        if !matches!(waited, Ok(true)) {
            self.give_up();
        }
    }

    /// Gives the machine to the recoverer, and waits until it tells the outcome.
    pub(super) fn hand_over(self) -> Outcome {
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
