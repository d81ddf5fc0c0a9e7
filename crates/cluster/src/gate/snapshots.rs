//! The snapshots of a REPEATABLE READ transaction, whose nodes may join one after another.
//!
//! ```text
//!   commit X   nodes 2, 3        ╞═══════╡
//!   reader     node 1: snapshot ●                 node 2 joins: no commit over 1 and 2 has ended since: ●
//!   commit Y   nodes 1, 2                                ╞═══╡
//!   reader                                                      node 2 joins now: 40001
//! ```
//!
//! All snapshots that a transaction's first statement needs are taken in one passage. A node that joins
//! later has its snapshot taken in a passage over all nodes so far and itself. That snapshot fits to the
//! others unless a commit over the new node and one of the others has ended since the first passage: it
//! would be seen on the new node only. Then the transaction fails with 40001, as if a row had changed.
//! A transaction that names all its nodes at its first statement never does.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use steppe_types::{Error, Result, SqlState};

use super::Gate;
use crate::{NodeId, NodeSet};

/// Commits that are remembered for open transactions. Past it the oldest transactions can take no
/// further node.
const COMMITS_MAX: usize = 65_536;

/// The commits that have ended while transactions with snapshots are open.
#[derive(Debug, Default)]
pub(super) struct CommitLog {
    /// Counts the commits that have ended.
    now: u64,
    ended: VecDeque<(u64, NodeSet)>,
    /// All commits after this one are remembered.
    since: u64,
    /// Transactions by the time of their first snapshots.
    open: BTreeMap<u64, usize>,
}

impl CommitLog {
    /// A commit over these nodes has ended.
    pub(super) fn ended(&mut self, nodes: NodeSet) {
        self.now += 1;
        if self.open.is_empty() {
            self.ended.clear();
            self.since = self.now;
            return;
        }
        self.ended.push_back((self.now, nodes));
        if self.ended.len() > COMMITS_MAX {
            self.forget_first();
        }
    }

    fn forget_first(&mut self) {
        if let Some((at, _)) = self.ended.pop_front() {
            self.since = at;
        }
    }

    fn begin(&mut self) -> u64 {
        if self.open.is_empty() {
            self.ended.clear();
            self.since = self.now;
        }
        *self.open.entry(self.now).or_default() += 1;
        self.now
    }

    fn end(&mut self, at: u64) {
        if let Some(count) = self.open.get_mut(&at) {
            *count -= 1;
            if *count == 0 {
                self.open.remove(&at);
            }
        }
        let first = self.open.keys().next().copied().unwrap_or(self.now);
        while self.ended.front().is_some_and(|(ended, _)| *ended <= first) {
            self.forget_first();
        }
    }

    /// Whether a snapshot of `node` taken now fits to those of `nodes` taken at `at`.
    fn fits(&self, at: u64, nodes: &NodeSet, node: NodeId) -> bool {
        let parts = |commit: &NodeSet| commit.contains(node) && commit.shared_with(nodes) > 0;
        let since = self.ended.partition_point(|(ended, _)| *ended <= at);
        at >= self.since && !self.ended.iter().skip(since).any(|(_, commit)| parts(commit))
    }
}

/// The snapshots of an open REPEATABLE READ transaction.
pub struct Snapshots {
    gate: Arc<Gate>,
    at: u64,
    nodes: NodeSet,
}

impl Snapshots {
    /// Notes the nodes that have snapshots.
    pub fn nodes(&self) -> &NodeSet {
        &self.nodes
    }

    /// Whether `node` can join: the caller is inside the gate as a reader of [`Self::nodes`] and of
    /// `node`, and has not sent the Bind. Error 40001: the snapshot would not fit.
    pub fn join(&mut self, node: NodeId) -> Result<()> {
        let fits = self.gate.state.lock().log.fits(self.at, &self.nodes, node);
        if !fits && !self.nodes.contains(node) {
            let message = "could not serialize access due to a commit over several nodes";
            return Err(Error::new(SqlState::SERIALIZATION_FAILURE, message)
                .detail(format!("Node {node} was first used after the commit."))
                .hint("The transaction might succeed if retried."));
        }
        self.nodes = self.nodes.with(node);
        Ok(())
    }
}

impl Gate {
    /// The first snapshots of a REPEATABLE READ transaction. With several nodes the caller is inside the
    /// gate as a reader of them. It has not sent a Bind.
    pub fn snapshots(self: &Arc<Gate>, nodes: NodeSet) -> Snapshots {
        let at = self.state.lock().log.begin();
        Snapshots { gate: Arc::clone(self), at, nodes }
    }
}

impl Drop for Snapshots {
    fn drop(&mut self) {
        self.gate.state.lock().log.end(self.at);
    }
}
