//! The second phase: ends the prepared parts of a decided transaction, each until its node has said
//! so.
//!
//! "Does not exist" is no end. The transaction may have been ended by an earlier attempt whose answer
//! was lost, by a person, in either way, or it may not be visible from this database. So the node is
//! asked for the state of the part's number. A prepared transaction's number is on disk, so that it
//! is never given to another one, not even after a crash.

use std::collections::BTreeMap;

use super::Action;
use super::answer::{Answer, XactStatus};
use super::gid::TransactionKey;
use super::record::Xid;
use super::recovery::{InDoubt, InDoubtState};
use super::request::Request;
use crate::{NodeId, NodeSet};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// COMMIT or ROLLBACK PREPARED is on its way.
    Finishing,
    /// The state of its number is asked for.
    Checking,
    /// It has ended as decided.
    Ended,
    /// Another hand has ended it differently.
    Mixed,
}

#[derive(Debug)]
struct Part {
    /// `None`: the answer of its PREPARE was lost.
    xid: Option<Xid>,
    state: State,
    /// Why the last attempt failed.
    reason: Option<String>,
}

/// The parts of one transaction.
#[derive(Debug)]
pub(super) struct Finishing {
    transaction: TransactionKey,
    commit: bool,
    parts: BTreeMap<NodeId, Part>,
}

impl Finishing {
    /// Sends the decision to all parts.
    pub(super) fn begin(
        transaction: TransactionKey,
        commit: bool,
        parts: impl IntoIterator<Item = (NodeId, Option<Xid>)>,
        out: &mut Vec<Action>,
    ) -> Finishing {
        let mut finishing = Finishing { transaction, commit, parts: BTreeMap::new() };
        for (node, xid) in parts {
            finishing.add(node, xid, out);
        }
        finishing
    }

    /// Sends the decision to one more part. A known one stays as it is.
    pub(super) fn add(&mut self, node: NodeId, xid: Option<Xid>, out: &mut Vec<Action>) {
        let finish = self.finish(node);
        self.parts.entry(node).or_insert_with(|| {
            out.push(Action::Send(node, finish));
            Part { xid, state: State::Finishing, reason: None }
        });
    }

    fn finish(&self, node: NodeId) -> Request {
        Request::Finish { gid: self.transaction.on(node), commit: self.commit }
    }

    /// Takes a node's answer.
    pub(super) fn answer(&mut self, node: NodeId, answer: Answer, out: &mut Vec<Action>) {
        let (finish, commit) = (self.finish(node), self.commit);
        let Some(part) = self.parts.get_mut(&node) else { return };
        let state = part.state;
        let reason = match &answer {
            Answer::Lost => Some("the connection broke".to_owned()),
            Answer::Refused(error) => Some(error.fields().message.to_string()),
            Answer::Status(XactStatus::Unknown, _) => {
                Some("the node cannot tell how the transaction ended".to_owned())
            }
            _ => None,
        };
        #[cfg(feature = "planted-bugs")]
        if super::is_planted(super::PlantedBug::MissingIsSuccess)
            && matches!(answer, Answer::Missing)
        {
            part.state = State::Ended;
            return;
        }
        match (state, answer, part.xid) {
            (State::Finishing, Answer::Done, _) => part.state = State::Ended,
            (State::Finishing, Answer::Missing, Some(xid)) => {
                part.state = State::Checking;
                out.push(Action::Send(node, Request::Status(xid)));
            }
            // A late PREPARE may still come. Recovery looks for it.
            (State::Finishing, Answer::Missing, None) => part.state = State::Ended,
            (State::Finishing, ..) => out.push(Action::Retry(node, finish)),
            (State::Checking, Answer::Status(XactStatus::Committed, _), _) => {
                part.state = if commit { State::Ended } else { State::Mixed };
            }
            (State::Checking, Answer::Status(XactStatus::Aborted, _), _) => {
                part.state = if commit { State::Mixed } else { State::Ended };
            }
            (State::Checking, Answer::Status(XactStatus::InProgress, _), _) => {
                part.state = State::Finishing;
                out.push(Action::Retry(node, finish));
            }
            (State::Checking, _, Some(xid)) => out.push(Action::Retry(node, Request::Status(xid))),
            (State::Checking, _, None) | (State::Ended | State::Mixed, ..) => {}
        }
        if reason.is_some() {
            part.reason = reason;
        }
    }

    /// The transaction's identity.
    pub(super) fn transaction(&self) -> TransactionKey {
        self.transaction
    }

    /// Whether the decision is to commit.
    pub(super) fn commits(&self) -> bool {
        self.commit
    }

    /// Whether no part is left.
    pub(super) fn is_done(&self) -> bool {
        self.parts.values().all(|part| matches!(part.state, State::Ended | State::Mixed))
    }

    /// A node where another hand has ended the transaction differently.
    pub(super) fn mixed(&self) -> Option<NodeId> {
        self.parts.iter().find(|(_, part)| part.state == State::Mixed).map(|(node, _)| *node)
    }

    /// Whether an answer of this node is awaited.
    pub(super) fn awaits(&self, node: NodeId) -> bool {
        let state = self.parts.get(&node).map(|part| part.state);
        matches!(state, Some(State::Finishing | State::Checking))
    }

    /// The nodes that have not said that their part has ended.
    pub(super) fn pending(&self) -> NodeSet {
        self.parts.keys().copied().filter(|node| self.awaits(*node)).collect()
    }

    /// The rows of the view: the pending parts.
    pub(super) fn in_doubt(&self) -> Vec<InDoubt> {
        let state = match self.commit {
            true => InDoubtState::Committing,
            false => InDoubtState::RollingBack,
        };
        let row = |node| InDoubt {
            gid: self.transaction.on(node),
            state,
            since: None,
            reason: self.reason(node).map(str::to_owned),
        };
        self.pending().iter().map(row).collect()
    }

    /// Why the last attempt on a node failed.
    pub(super) fn reason(&self, node: NodeId) -> Option<&str> {
        self.parts.get(&node)?.reason.as_deref()
    }
}
