//! The gate: no statement sees half of a commit over several nodes.
//!
//! ```text
//!   commit A   nodes 1, 2      ╞══ decision … last answer ══╡
//!   commit B   nodes 2, 3         ╞══════════════════════════════╡
//!   reader     nodes 1, 2, 3      ░░ waits ░░░░░░░░░░░░░░░░░░░░░░╞ Binds ╡── rows, without the gate ──
//!   reader     nodes 1, 3         ░░ would see A half? no: one node of A, one of B: ╞ Binds ╡──
//!   commit C   nodes 1, 2                                     ░░░░░░░░░░░╞═══════╡
//! ```
//!
//! A commit over several nodes is inside from before its deciding COMMIT is sent until its last
//! participant has answered. A reader of several nodes is inside while its snapshots are taken, which
//! is known when BindComplete has come from every node. Commits do not exclude each other, and readers do
//! not exclude each other: it is group mutual exclusion (Joung, 1998) with two groups. A reader and a
//! commit exclude each other only if they share two nodes or more, since one node alone shows a
//! transaction wholly or not at all. Statements on one node never come here.
//!
//! These hold:
//!
//! 1. While a reader is inside, no commit is that shares two nodes with it and may be half done.
//! 2. *Phases.* A newcomer waits behind all waiting requests that exclude it. When one leaves, all
//!    that can enter do, in the order of their coming. One that must stay is passed over by the requests
//!    of one such moment only (phase-fair locks: Brandenburg and Anderson, 2009). So a request waits
//!    for those inside when it came, for those before it, and for one group more: neither side starves.
//! 3. A commit that is stuck on a node that is down keeps out only readers of that node ([`Passage::narrow`]),
//!    and these until their deadline: 55P03. A commit is never shown half.
//!
//! The number of requests is bounded by the connections to nodes, tens to hundreds, so lists of them are
//! walked.
//!
//! The gate is one coordinator's. Readers of another coordinator can see half of this one's commits.

mod queue;
mod snapshots;
mod wait;

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::sync::Arc;

use parking_lot::Mutex;

use crate::NodeSet;
use queue::{Claim, Queue, Ticket};
use snapshots::CommitLog;
pub use snapshots::Snapshots;
pub use wait::PassageWait;
use wait::Waiter;

/// The gate of a coordinator.
#[derive(Default)]
pub struct Gate {
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    queue: Queue,
    waiters: BTreeMap<Ticket, Arc<Waiter>>,
    log: CommitLog,
}

/// The result of asking for passage.
#[must_use]
pub enum Entry {
    /// Inside.
    Passed(Passage),
    /// It has to wait.
    Waits(PassageWait),
}

/// A request that is inside the gate. Dropping it leaves.
#[must_use = "a passage that is dropped leaves the gate"]
pub struct Passage {
    gate: Arc<Gate>,
    ticket: Ticket,
}

impl Gate {
    /// A gate that nothing is inside of.
    pub fn new() -> Arc<Gate> {
        Arc::default()
    }

    /// Asks to enter as a commit over these nodes.
    pub fn enter_commit(self: &Arc<Gate>, nodes: NodeSet) -> Entry {
        self.enter(Claim::Commit { pending: nodes.clone(), nodes: Some(nodes) })
    }

    /// Asks to enter as a reader that takes snapshots on these nodes.
    pub fn enter_read(self: &Arc<Gate>, nodes: NodeSet) -> Entry {
        self.enter(Claim::Read(nodes))
    }

    /// Enters as a commit, without waiting for the readers inside. Recovery does so for a transaction
    /// that an earlier life has left, before it lets readers use the node. `pending` are the nodes that
    /// may still show the state before the commit. `nodes` are those of the transaction; while they are
    /// unknown (`None`), all readers of two nodes count that use one of `pending`.
    pub fn hold(self: &Arc<Gate>, nodes: Option<NodeSet>, pending: NodeSet) -> Passage {
        let ticket = self.state.lock().queue.hold(Claim::Commit { nodes, pending });
        Passage { gate: Arc::clone(self), ticket }
    }

    fn enter(self: &Arc<Gate>, claim: Claim) -> Entry {
        let gate = Arc::clone(self);
        let mut state = self.state.lock();
        let (ticket, is_inside) = state.queue.enter(claim);
        if is_inside {
            return Entry::Passed(Passage { gate, ticket });
        }
        let waiter = Arc::new(Waiter::default());
        state.waiters.insert(ticket, Arc::clone(&waiter));
        drop(state);
        Entry::Waits(PassageWait::new(gate, ticket, waiter))
    }

    /// Takes a request out, inside or waiting, and lets in the requests that can enter now.
    fn leave(&self, ticket: Ticket) {
        let mut state = self.state.lock();
        state.waiters.remove(&ticket);
        let (left, entered) = state.queue.leave(ticket);
        if let Some(Claim::Commit { nodes, pending }) = left {
            state.log.ended(nodes.unwrap_or(pending));
        }
        state.wake(entered);
    }
}

impl State {
    fn wake(&mut self, entered: Vec<Ticket>) {
        for ticket in entered {
            if let Some(waiter) = self.waiters.remove(&ticket) {
                waiter.let_in();
            }
        }
    }
}

impl Passage {
    /// Says that only these nodes may still show the state before the commit: all others have
    /// answered. Readers of the others alone may pass.
    pub fn narrow(&self, pending: NodeSet) {
        let mut state = self.gate.state.lock();
        let (nodes, entered) = state.queue.narrow(self.ticket, pending);
        // It is seen on the nodes that have answered, from now on.
        state.log.ended(nodes);
        state.wake(entered);
    }
}

impl Drop for Passage {
    fn drop(&mut self) {
        self.gate.leave(self.ticket);
    }
}
