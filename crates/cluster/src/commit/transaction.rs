//! The commit of one transaction by the coordinator that runs it.
//!
//! ```text
//!   Asking ──► Preparing ──► AtGate ──► Deciding ──► Ending(commit) ──► Over
//!     │ one writer  │ a failure  │         │ │ answer lost   ▲
//!     ▼             ▼            ▼  refused│ └──► Fencing ───┤
//!   Committing    Ending(abort) ◄──────────┴───────────┘ ◄───┘
//! ```
//!
//! The driver calls [`Commit::start`], then [`Commit::answer`] for each answer, and carries out the
//! actions. When the client has waited long enough, it calls [`Commit::give_up`], and goes on with
//! the machine in the background.

use std::sync::Arc;

use steppe_types::Error;

use super::Action;
use super::answer::{Answer, Life, XactStatus};
use super::finishing::Finishing;
use super::gid::{Coordinator, TransactionKey};
use super::outcome::{NodeNames, Outcome, Wording, not_told};
use super::record::{Decision, PreparedPart, Xid};
use super::recovery::InDoubt;
use super::request::Request;
use crate::{NodeId, NodeSet};

/// Whether a transaction has written on a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wrote {
    /// Its statements there were reads without functions that may write.
    No,
    /// It is not known: the node is asked whether the transaction has a number.
    Maybe,
    /// A row of an ordinary table of the node has been written, as a command tag says. So the
    /// transaction has a number there. A foreign table or a view's trigger is [`Wrote::Maybe`].
    Yes,
}

/// A node on which the transaction is open.
#[derive(Clone, Copy, Debug)]
pub struct Participant {
    /// The node.
    pub node: NodeId,
    /// Whether it has written there.
    pub wrote: Wrote,
    /// Its number there, and the server's life in which it got it, where the driver has asked
    /// ([`Request::AskXid`]). It resolves a lost answer of the COMMIT of a single writer.
    pub number: Option<(Xid, Life)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// The transaction is open, and the session idle.
    Open,
    /// An [`Request::AskXid`] is out.
    Asking,
    /// COMMIT of a transaction that has not written is out.
    Closing,
    /// PREPARE TRANSACTION is out.
    Preparing,
    /// It is prepared, or the answer was lost: `None`.
    Prepared(Option<Xid>),
    /// The COMMIT that decides is out.
    Committing,
    /// ROLLBACK is out.
    RollingBack,
    /// The session is idle without a transaction, or has ended.
    Ended,
}

impl State {
    fn is_awaited(self) -> bool {
        !matches!(self, State::Open | State::Prepared(_) | State::Ended)
    }
}

#[derive(Debug)]
struct Part {
    node: NodeId,
    wrote: Wrote,
    number: Option<(Xid, Life)>,
    state: State,
}

#[derive(Debug)]
enum Phase {
    Asking,
    Preparing,
    AtGate,
    /// COMMIT of a single writer, or of none, is out.
    Committing,
    /// Its answer was lost; the state of its number is asked for.
    Checking(Xid, Life),
    Deciding,
    /// The answer of the deciding COMMIT was lost.
    Fencing,
    Ending(Finishing),
    Over,
}

/// The commit of a transaction. See the module.
#[derive(Debug)]
pub struct Commit {
    by: Coordinator,
    number: u64,
    parts: Vec<Part>,
    /// The place of the deciding node.
    deciding: usize,
    phase: Phase,
    failure: Option<Error>,
    outcome: Option<Outcome>,
    is_told: bool,
    wording: Wording,
}

impl Commit {
    /// A commit of the transaction with this number, which `by` has given to no other one.
    pub fn new(by: Coordinator, number: u64, participants: &[Participant]) -> Commit {
        let part = |&Participant { node, wrote, number }: &Participant| Part {
            node,
            wrote,
            number,
            state: State::Open,
        };
        let parts = participants.iter().map(part).collect();
        let (phase, failure, outcome) = (Phase::Asking, None, None);
        let (is_told, wording) = (false, Wording::default());
        Commit { by, number, parts, deciding: 0, phase, failure, outcome, is_told, wording }
    }

    /// Has its errors name nodes by these names.
    pub fn naming(self, names: Arc<dyn NodeNames>) -> Commit {
        Commit { wording: Wording::new(names), ..self }
    }

    /// The rows of the view, once no session of the transaction is left: parts whose end is not known.
    pub fn in_doubt(&self) -> Vec<InDoubt> {
        let is_prepared = |part: &&Part| matches!(part.state, State::Prepared(_));
        match &self.phase {
            Phase::Fencing => {
                let nodes = self.parts.iter().filter(is_prepared).map(|part| part.node);
                InDoubt::undecided(self.transaction(), nodes)
            }
            Phase::Ending(finishing) => finishing.in_doubt(),
            _ => Vec::new(),
        }
    }

    /// The transaction's number in its coordinator's life.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// Begins. With a single writer no node is asked before it commits.
    pub fn start(&mut self, out: &mut Vec<Action>) {
        let may_write = self.parts.iter().filter(|part| part.wrote != Wrote::No).count();
        if may_write > 1 {
            for part in self.parts.iter_mut().filter(|part| part.wrote == Wrote::Maybe) {
                part.state = State::Asking;
                out.push(Action::Send(part.node, Request::AskXid));
            }
        }
        self.asked(out);
    }

    /// All nodes have said whether the transaction has written there.
    fn asked(&mut self, out: &mut Vec<Action>) {
        if self.is_awaited() {
            return;
        }
        if self.failure.is_some() {
            return self.abort_parts(out);
        }
        let writes = |part: &Part| part.wrote != Wrote::No;
        let writers = self.parts.iter().filter(|part| writes(part)).count();
        self.deciding = self.parts.iter().position(writes).unwrap_or(0);
        self.phase = if writers > 1 { Phase::Preparing } else { Phase::Committing };
        let transaction = self.transaction();
        for (at, part) in self.parts.iter_mut().enumerate() {
            if !writes(part) {
                part.state = State::Closing;
                out.push(Action::Send(part.node, Request::Commit));
            } else if at != self.deciding {
                part.state = State::Preparing;
                out.push(Action::Send(part.node, Request::Prepare(transaction.on(part.node))));
            } else if writers == 1 {
                part.state = State::Committing;
                out.push(Action::Send(part.node, Request::Commit));
            }
        }
        if writers == 0 {
            self.outcome = Some(Outcome::Committed);
            self.conclude(out);
        }
    }

    fn transaction(&self) -> TransactionKey {
        let deciding = self.parts.get(self.deciding).map_or(NodeId(0), |part| part.node);
        TransactionKey { coordinator: self.by, number: self.number, deciding }
    }

    fn is_awaited(&self) -> bool {
        self.parts.iter().any(|part| part.state.is_awaited())
    }

    /// Takes a node's answer to the last request to it.
    pub fn answer(&mut self, node: NodeId, answer: Answer, out: &mut Vec<Action>) {
        if let Some(at) = self.parts.iter().position(|part| part.node == node)
            && self.parts[at].state.is_awaited()
        {
            return self.session_answered(at, answer, out);
        }
        match std::mem::replace(&mut self.phase, Phase::Over) {
            Phase::Ending(finishing) => self.ending(finishing, node, answer, out),
            Phase::Fencing => self.fenced(answer, out),
            Phase::Checking(xid, life) => self.checked(xid, life, answer, out),
            other => self.phase = other,
        }
    }

    /// The answer of the session that has, or had, the transaction open.
    fn session_answered(&mut self, at: usize, answer: Answer, out: &mut Vec<Action>) {
        let part = &mut self.parts[at];
        match (part.state, answer) {
            (State::Asking, Answer::Xid(number, life)) => {
                part.wrote = if number.is_some() { Wrote::Yes } else { Wrote::No };
                part.number = number.map(|number| (number, life));
                part.state = State::Open;
            }
            (State::Preparing, Answer::Prepared(xid)) => part.state = State::Prepared(Some(xid)),
            (State::Preparing, Answer::Lost) => {
                part.state = State::Prepared(None);
                let node = part.node;
                self.fail(self.wording.lost(node));
            }
            (State::Committing, answer) => {
                part.state = State::Ended;
                return self.committed(at, answer, out);
            }
            // How it ended makes no difference: it has written nothing there, or is rolled back.
            (State::Closing | State::RollingBack, _) => part.state = State::Ended,
            (_, Answer::Refused(error)) => {
                part.state = State::RollingBack;
                out.push(Action::Send(part.node, Request::Rollback));
                self.fail(error);
            }
            _ => {
                part.state = State::Ended;
                let node = part.node;
                self.fail(self.wording.lost(node));
            }
        }
        match self.phase {
            Phase::Asking => self.asked(out),
            Phase::Preparing => self.prepared(out),
            _ => self.conclude(out),
        }
    }

    fn fail(&mut self, error: Error) {
        self.failure.get_or_insert(error);
    }

    /// Ends the attempt with this error, if it is not too late: a cancel, a time-out. After the
    /// deciding COMMIT was sent it has no effect.
    pub fn cancel(&mut self, error: Error, out: &mut Vec<Action>) {
        match self.phase {
            Phase::Asking | Phase::Preparing => self.fail(error),
            Phase::AtGate => {
                self.fail(error);
                self.phase = Phase::Preparing;
                self.prepared(out);
            }
            _ => {}
        }
    }

    fn prepared(&mut self, out: &mut Vec<Action>) {
        if self.is_awaited() {
            return;
        }
        if self.failure.is_some() {
            return self.abort_parts(out);
        }
        self.phase = Phase::AtGate;
        let writers = self.parts.iter().filter(|part| part.wrote != Wrote::No);
        out.push(Action::EnterGate(writers.map(|part| part.node).collect()));
    }

    /// The gate is entered: decides.
    pub fn entered(&mut self, out: &mut Vec<Action>) {
        if !matches!(self.phase, Phase::AtGate) {
            return out.push(Action::LeaveGate);
        }
        self.phase = Phase::Deciding;
        let parts = self.prepared_parts();
        let transaction = self.transaction();
        let part = &mut self.parts[self.deciding];
        part.state = State::Committing;
        out.push(Action::Send(part.node, Request::Decide(transaction, parts)));
    }

    fn prepared_parts(&self) -> Vec<PreparedPart> {
        let prepared = |part: &Part| match part.state {
            State::Prepared(Some(xid)) => Some(PreparedPart { node: part.node, xid }),
            _ => None,
        };
        self.parts.iter().filter_map(prepared).collect()
    }

    /// The answer of the COMMIT that decides, or of the only writer's.
    fn committed(&mut self, at: usize, answer: Answer, out: &mut Vec<Action>) {
        let part = &mut self.parts[at];
        let is_alone = matches!(self.phase, Phase::Committing);
        match (answer, part.number) {
            (Answer::Done, _) if is_alone => self.outcome = Some(Outcome::Committed),
            (Answer::Done, _) => return self.finish(true, out),
            (Answer::Refused(error), _) => {
                part.state = State::RollingBack;
                out.push(Action::Send(part.node, Request::Rollback));
                self.fail(error.clone());
                if !is_alone {
                    out.push(Action::LeaveGate);
                    self.phase = Phase::Preparing;
                    return;
                }
                self.outcome = Some(Outcome::RolledBack(error));
            }
            (_, Some((xid, life))) if is_alone => {
                out.push(Action::Retry(part.node, Request::Status(xid)));
                self.phase = Phase::Checking(xid, life);
                return;
            }
            _ if is_alone => self.outcome = Some(self.wording.unknown(part.node)),
            _ => {
                let (transaction, by) = (self.transaction(), self.by);
                out.push(Action::Retry(transaction.deciding, Request::Fence { transaction, by }));
                self.phase = Phase::Fencing;
                return;
            }
        }
        self.conclude(out);
    }

    /// The state of a single writer whose COMMIT was not answered. After a crash its number may be
    /// another transaction's, unless that one has rolled back: then so has this one, or the number
    /// would be on disk.
    fn checked(&mut self, xid: Xid, life: Life, answer: Answer, out: &mut Vec<Action>) {
        let node = self.parts[self.deciding].node;
        #[cfg(feature = "planted-bugs")]
        let life = match &answer {
            Answer::Status(_, now) if super::is_planted(super::PlantedBug::StatusAcrossCrash) => {
                *now
            }
            _ => life,
        };
        self.outcome = Some(match answer {
            Answer::Status(XactStatus::Committed, now) if now == life && life.0.is_some() => {
                Outcome::Committed
            }
            Answer::Status(XactStatus::Aborted, _) => Outcome::RolledBack(self.wording.lost(node)),
            Answer::Status(XactStatus::Committed | XactStatus::Unknown, _) => {
                self.wording.unknown(node)
            }
            _ => {
                self.phase = Phase::Checking(xid, life);
                return out.push(Action::Retry(node, Request::Status(xid)));
            }
        });
        self.conclude(out);
    }

    /// The decision, after the answer of the deciding COMMIT was lost.
    fn fenced(&mut self, answer: Answer, out: &mut Vec<Action>) {
        let (transaction, by) = (self.transaction(), self.by);
        match answer {
            Answer::Decision(Decision::Committed(_)) => self.finish(true, out),
            Answer::Decision(Decision::Aborted) => {
                self.fail(self.wording.lost(transaction.deciding));
                out.push(Action::LeaveGate);
                self.abort_parts(out);
            }
            Answer::Superseded => {
                self.tell(self.wording.unknown(transaction.deciding), out);
                out.push(Action::Superseded);
            }
            _ => {
                self.phase = Phase::Fencing;
                out.push(Action::Retry(transaction.deciding, Request::Fence { transaction, by }));
            }
        }
    }

    /// Rolls back what is open, then what is prepared.
    fn abort_parts(&mut self, out: &mut Vec<Action>) {
        for part in self.parts.iter_mut().filter(|part| part.state == State::Open) {
            part.state = State::RollingBack;
            out.push(Action::Send(part.node, Request::Rollback));
        }
        self.finish(false, out);
    }

    fn finish(&mut self, commit: bool, out: &mut Vec<Action>) {
        let prepared = self.parts.iter().filter_map(|part| match part.state {
            State::Prepared(xid) => Some((part.node, xid)),
            _ => None,
        });
        let finishing = Finishing::begin(self.transaction(), commit, prepared, out);
        #[cfg(feature = "planted-bugs")]
        if commit && super::is_planted(super::PlantedBug::ForgetEarly) {
            out.push(Action::Forget(self.transaction()));
        }
        self.ended(finishing, out);
    }

    fn ending(
        &mut self,
        mut finishing: Finishing,
        node: NodeId,
        answer: Answer,
        out: &mut Vec<Action>,
    ) {
        let before = finishing.pending().len();
        finishing.answer(node, answer, out);
        let pending = finishing.pending();
        if finishing.commits() && self.is_told && !pending.is_empty() && pending.len() < before {
            out.push(Action::NarrowGate(pending));
        }
        #[cfg(feature = "planted-bugs")]
        if super::is_planted(super::PlantedBug::GateLeftEarly) && finishing.commits() {
            out.push(Action::LeaveGate);
        }
        self.ended(finishing, out);
    }

    /// Concludes if no part is left.
    fn ended(&mut self, finishing: Finishing, out: &mut Vec<Action>) {
        if !finishing.is_done() {
            self.phase = Phase::Ending(finishing);
            return;
        }
        let commits = finishing.commits();
        if commits {
            out.push(Action::LeaveGate);
        }
        self.outcome = Some(match (finishing.mixed(), self.failure.take()) {
            (Some(node), _) => self.wording.mixed(node),
            (None, None) if commits => {
                out.push(Action::Forget(finishing.transaction()));
                Outcome::Committed
            }
            (None, failure) => Outcome::RolledBack(failure.unwrap_or_else(not_told)),
        });
        self.phase = Phase::Over;
        self.conclude(out);
    }

    /// Tells the outcome, if there is one, when no answer is outstanding.
    fn conclude(&mut self, out: &mut Vec<Action>) {
        if self.is_awaited() {
            return;
        }
        if let Some(outcome) = self.outcome.take() {
            self.phase = Phase::Over;
            self.tell(outcome, out);
            out.push(Action::Finished);
        }
    }

    fn tell(&mut self, outcome: Outcome, out: &mut Vec<Action>) {
        if !std::mem::replace(&mut self.is_told, true) {
            out.push(Action::Tell(outcome));
        }
    }

    /// Tells the client what is known, if nothing but [`Action::Retry`] is left to be answered. False:
    /// the driver has to wait, until an answer comes or the connection breaks.
    pub fn give_up(&mut self, out: &mut Vec<Action>) -> bool {
        if self.is_awaited() {
            return false;
        }
        match &self.phase {
            Phase::Ending(finishing) if finishing.commits() => {
                let pending: NodeSet = finishing.pending();
                self.tell(Outcome::Committed, out);
                out.push(Action::NarrowGate(pending));
            }
            Phase::Ending(_) => {
                let error = self.failure.clone().unwrap_or_else(not_told);
                self.tell(Outcome::RolledBack(error), out);
            }
            Phase::Fencing | Phase::Checking(..) => {
                self.tell(self.wording.unknown(self.parts[self.deciding].node), out);
            }
            _ => return false,
        }
        true
    }
}
