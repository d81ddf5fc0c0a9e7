//! Ends the transactions that no machine runs: those of the coordinator's earlier lives, and what
//! late messages have left of this life's.
//!
//! ```text
//!   List of every node ──► a prepared transaction ──► Fence on its deciding node ──► Finish
//!                      └─► a record ───────────────────────────────────────────────► Finish, Forget
//! ```
//!
//! *Right.* A coordinator ends transactions of its own identity only. It has registered its generation
//! on the node before it asks for the list. It ends those of smaller generations, and those of its own
//! that no machine ran when it asked. Another coordinator takes over by registering the lost one's
//! identity with a greater generation ([`Request::Register`]), and runs a second `Recovery` as that.
//! All other transactions, and other databases', are left alone.
//!
//! *Presumed abort.* "No record" is never read. The fence inserts a row under the record's key. A
//! deciding transaction that has inserted its own row makes the fence wait for its end; one that
//! comes later fails with 23505. So exactly one of the two rows is there afterwards, and it decides.
//!
//! *A node that is down* delays the transactions that it has a part in, and no other.

use std::collections::{BTreeMap, BTreeSet};

use super::Action;
use super::answer::{Answer, Listing, PreparedRow};
use super::finishing::Finishing;
use super::gid::{Coordinator, Gid, TransactionKey};
use super::record::{Decision, PreparedPart};
use super::request::Request;
use crate::{NodeId, NodeSet};

/// The transactions of this life that machines run.
#[derive(Clone, Debug, Default)]
pub struct Running {
    /// The number of the next transaction.
    pub next: u64,
    /// The numbers of the running ones, up to [`Action::Finished`].
    pub numbers: BTreeSet<u64>,
}

impl Running {
    fn has(&self, number: u64) -> bool {
        number >= self.next || self.numbers.contains(&number)
    }
}

/// The state of a row of the view of in-doubt transactions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InDoubtState {
    /// Its deciding node has not been reached.
    Undecided,
    /// It commits as soon as the node answers.
    Committing,
    /// It rolls back as soon as the node answers.
    RollingBack,
    /// Another session has ended it differently on this node. A person has to look at it.
    Mixed,
}

/// A row of the view of in-doubt transactions.
#[derive(Clone, Debug)]
pub struct InDoubt {
    /// The part's identifier, which names its node.
    pub gid: Gid,
    /// The state.
    pub state: InDoubtState,
    /// When it was prepared, by its node's clock: microseconds since 1970. `None`: it is known from
    /// the commit record only.
    pub since: Option<i64>,
    /// Why it has not ended.
    pub reason: Option<String>,
}

impl InDoubt {
    /// The rows of a transaction whose decision is not known.
    pub(super) fn undecided(
        transaction: TransactionKey,
        nodes: impl Iterator<Item = NodeId>,
    ) -> Vec<InDoubt> {
        let row = |node| InDoubt {
            gid: transaction.on(node),
            state: InDoubtState::Undecided,
            since: None,
            reason: None,
        };
        nodes.map(row).collect()
    }
}

/// A list that a node has been asked for.
#[derive(Debug)]
struct Asked {
    running: Running,
    /// Transactions that have been ended here since.
    ended: BTreeSet<TransactionKey>,
}

#[derive(Debug)]
enum State {
    Fencing,
    Finishing(Finishing),
}

#[derive(Debug)]
struct Resolution {
    found: BTreeMap<NodeId, PreparedRow>,
    /// The participants, as the record has them.
    recorded: Option<Vec<PreparedPart>>,
    state: State,
    reason: Option<String>,
}

/// The recovery of one coordinator identity.
#[derive(Debug)]
pub struct Recovery {
    by: Coordinator,
    transactions: BTreeMap<TransactionKey, Resolution>,
    asked: BTreeMap<NodeId, Asked>,
}

/// Actions, each with the transaction that an answer belongs to.
pub type Actions = Vec<(TransactionKey, Action)>;

impl Recovery {
    /// The recovery of `by`'s identity, in the generation that is registered.
    pub fn new(by: Coordinator) -> Recovery {
        Recovery { by, transactions: BTreeMap::new(), asked: BTreeMap::new() }
    }

    /// Whether no transaction is in doubt. The ones that need a person do not count.
    pub fn is_idle(&self) -> bool {
        self.transactions.values().all(|resolution| match &resolution.state {
            State::Fencing => false,
            State::Finishing(finishing) => finishing.is_done(),
        })
    }

    fn may_end(&self, transaction: &TransactionKey, asked: &Asked) -> bool {
        let Coordinator { id, generation } = transaction.coordinator;
        let is_left = generation == self.by.generation && !asked.running.has(transaction.number);
        id == self.by.id
            && (generation < self.by.generation || is_left)
            && !asked.ended.contains(transaction)
    }

    /// Notes what runs. The caller sends [`Request::List`] to the node afterwards. A transaction that
    /// ends in between may still be in the list.
    pub fn ask(&mut self, node: NodeId, running: Running) {
        self.asked.insert(node, Asked { running, ended: BTreeSet::new() });
    }

    /// The connection broke before the list came.
    pub fn not_listed(&mut self, node: NodeId) {
        self.asked.remove(&node);
    }

    /// Takes the list that a node was last asked for.
    pub fn listed(&mut self, node: NodeId, listing: Listing, out: &mut Actions) {
        let Some(asked) = self.asked.remove(&node) else { return };
        for row in listing.prepared {
            let transaction = row.gid.transaction;
            if row.gid.participant == node && self.may_end(&transaction, &asked) {
                self.found(transaction, node, row, out);
            }
        }
        for (transaction, parts) in listing.records {
            let is_known = self.transactions.contains_key(&transaction);
            let is_here = transaction.deciding == node && self.may_end(&transaction, &asked);
            if is_here && !is_known {
                let resolution = Resolution::new(State::Fencing);
                self.transactions.insert(transaction, resolution);
                self.decided(transaction, Decision::Committed(parts), out);
            }
        }
    }

    fn found(
        &mut self,
        transaction: TransactionKey,
        node: NodeId,
        row: PreparedRow,
        out: &mut Actions,
    ) {
        let by = self.by;
        let mut is_new = false;
        let resolution = self.transactions.entry(transaction).or_insert_with(|| {
            is_new = true;
            Resolution::new(State::Fencing)
        });
        let xid = row.xid;
        resolution.found.insert(node, row);
        let mut actions = Vec::new();
        match &mut resolution.state {
            State::Fencing => {
                let pending = resolution.found.keys().copied().collect();
                actions.push(Action::HoldGate { nodes: None, pending });
                if is_new {
                    let fence = Request::Fence { transaction, by };
                    actions.push(Action::Send(transaction.deciding, fence));
                }
            }
            // A commit's participants are all known from its record.
            State::Finishing(finishing) if !finishing.commits() => {
                finishing.add(node, Some(xid), &mut actions);
            }
            State::Finishing(_) => {}
        }
        out.extend(actions.into_iter().map(|action| (transaction, action)));
    }

    /// Takes the answer to a request about a transaction.
    pub fn answer(
        &mut self,
        transaction: TransactionKey,
        node: NodeId,
        answer: Answer,
        out: &mut Actions,
    ) {
        let Some(resolution) = self.transactions.get_mut(&transaction) else { return };
        let mut actions = Vec::new();
        match (&mut resolution.state, answer) {
            (State::Finishing(finishing), answer) => {
                let before = finishing.pending().len();
                finishing.answer(node, answer, &mut actions);
                if finishing.pending().len() < before && finishing.commits() {
                    actions.extend(resolution.hold(transaction));
                }
            }
            (State::Fencing, Answer::Decision(decision)) => {
                return self.decided(transaction, decision, out);
            }
            (State::Fencing, Answer::Superseded) => actions.push(Action::Superseded),
            (State::Fencing, answer) => {
                resolution.reason = Some(match answer {
                    Answer::Refused(error) => error.fields().message.clone(),
                    _ => "the deciding node cannot be reached".to_owned(),
                });
                let fence = Request::Fence { transaction, by: self.by };
                actions.push(Action::Retry(transaction.deciding, fence));
            }
        }
        out.extend(actions.into_iter().map(|action| (transaction, action)));
        self.conclude(transaction, out);
    }

    /// The decision is known. A commit is carried out on the participants that the record has, a
    /// rollback on the found ones.
    fn decided(&mut self, transaction: TransactionKey, decision: Decision, out: &mut Actions) {
        let Some(resolution) = self.transactions.get_mut(&transaction) else { return };
        let mut actions = Vec::new();
        match decision {
            Decision::Committed(parts) => {
                let sent = parts.iter().map(|part| (part.node, Some(part.xid)));
                let finishing = Finishing::begin(transaction, true, sent, &mut actions);
                resolution.state = State::Finishing(finishing);
                resolution.recorded = Some(parts);
                // Before anything is sent.
                let hold = resolution.hold(transaction).into_iter().collect();
                let sends = std::mem::replace(&mut actions, hold);
                actions.extend(sends);
            }
            Decision::Aborted => {
                let found = resolution.found.iter().map(|(node, row)| (*node, Some(row.xid)));
                let finishing = Finishing::begin(transaction, false, found, &mut actions);
                resolution.state = State::Finishing(finishing);
                actions.push(Action::LeaveGate);
            }
        }
        out.extend(actions.into_iter().map(|action| (transaction, action)));
        self.conclude(transaction, out);
    }

    /// Ends the work on a transaction, if no part is left. One that another session has ended
    /// differently stays in the view, and its record on the node.
    fn conclude(&mut self, transaction: TransactionKey, out: &mut Actions) {
        let Some(resolution) = self.transactions.get(&transaction) else { return };
        let State::Finishing(finishing) = &resolution.state else { return };
        if !finishing.is_done() {
            return;
        }
        let (commits, is_mixed) = (finishing.commits(), finishing.mixed().is_some());
        if commits {
            out.push((transaction, Action::LeaveGate));
        }
        if is_mixed {
            return;
        }
        if commits {
            out.push((transaction, Action::Forget(transaction)));
        }
        out.push((transaction, Action::Finished));
        self.transactions.remove(&transaction);
        for asked in self.asked.values_mut() {
            asked.ended.insert(transaction);
        }
    }

    /// The rows of the view.
    pub fn in_doubt(&self) -> Vec<InDoubt> {
        let mut rows = Vec::new();
        for (transaction, resolution) in &self.transactions {
            let row = |node, state, reason| InDoubt {
                gid: transaction.on(node),
                state,
                since: resolution.found.get(&node).map(|row| row.since),
                reason,
            };
            match &resolution.state {
                State::Fencing => rows.extend(
                    resolution
                        .found
                        .keys()
                        .map(|node| row(*node, InDoubtState::Undecided, resolution.reason.clone())),
                ),
                State::Finishing(finishing) => {
                    let state = match finishing.commits() {
                        true => InDoubtState::Committing,
                        false => InDoubtState::RollingBack,
                    };
                    let reason = |node| finishing.reason(node).map(str::to_owned);
                    let pending = finishing.pending();
                    rows.extend(pending.iter().map(|node| row(node, state, reason(node))));
                    let mixed = finishing.mixed();
                    rows.extend(mixed.map(|node| row(node, InDoubtState::Mixed, reason(node))));
                }
            }
        }
        rows
    }
}

impl Resolution {
    fn new(state: State) -> Resolution {
        Resolution { found: BTreeMap::new(), recorded: None, state, reason: None }
    }

    /// Readers of two of the transaction's nodes wait if one of them may not have committed yet.
    fn hold(&self, transaction: TransactionKey) -> Option<Action> {
        let State::Finishing(finishing) = &self.state else { return None };
        let recorded = self.recorded.as_ref()?;
        let nodes: NodeSet =
            recorded.iter().map(|part| part.node).chain([transaction.deciding]).collect();
        let pending = finishing.pending();
        (!pending.is_empty()).then_some(Action::HoldGate { nodes: Some(nodes), pending })
    }
}
