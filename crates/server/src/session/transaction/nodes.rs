//! The end of a transaction that has sessions on nodes ([`steppe_cluster::transaction`]).

use std::future::poll_fn;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use steppe_catalog::CatalogChanges;
use steppe_cluster::commit::Outcome;
use steppe_cluster::transaction::{LocalPart, OneNodeCommit, Participants};
use steppe_exec::Transaction;
use steppe_txn::{Lsn, Txn};
use steppe_types::{Error, Result, SqlState, interrupt};

use crate::activity::{SessionCounts, Wait};
use crate::server::SessionControl;
use crate::session::Session;
use crate::session::two_phase::OwnPart;
use crate::stream::ReadySocket;

/// How long the nodes may take to roll back. Then their connections are closed.
const ROLLBACK_TIME: Duration = Duration::from_secs(2);

/// A transaction that has sessions on nodes, at its commit.
pub(super) struct OnNodes {
    pub(super) participants: Participants,
    pub(super) local: (Txn, Option<CatalogChanges>),
    /// Why its local part could not be prepared.
    pub(super) unpreparable: Option<Error>,
}

impl OnNodes {
    /// Whether one node has all that it has done.
    pub(super) fn is_on_one_node(&self) -> bool {
        self.participants.is_on_one_node() && !self.is_changed_here()
    }

    fn is_changed_here(&self) -> bool {
        self.local.0.xid() != 0 || self.local.1.is_some()
    }
}

impl Session {
    /// Commits on the nodes, and here if the transaction has changed something here: everywhere or
    /// nowhere. 08007 if the outcome is not known.
    pub(super) fn commit_on_nodes(&mut self, on_nodes: OnNodes) -> Result<()> {
        // Numbers of sequences, and what it has read here: a crash must not take back what a node keeps.
        let written = Lsn(self.core.flush_to.load(Ordering::Acquire));
        let seen = self.core.handle.observed_lsn().max(written);
        tokio::task::block_in_place(|| self.server().engine.wait_durable(seen))?;
        let is_changed = on_nodes.is_changed_here();
        let OnNodes { participants, local: (txn, changes), unpreparable } = on_nodes;
        let had_changes = changes.is_some();
        self.control.activity.set_wait(Some(Wait::RemoteAnswer));
        let outcome = if is_changed {
            let mut own = OwnPart::new(self, (txn, changes), unpreparable);
            commit(participants, Some(&mut own))
        } else {
            // What it has only read ends before, so that no lock is held for the nodes.
            txn.commit()
                .map(|_| ())
                .map_or_else(Outcome::RolledBack, |()| commit(participants, None))
        };
        self.control.activity.set_wait(None);
        if had_changes {
            // The published version is no longer the transaction's own.
            self.namespace_version = 0;
        }
        self.count_outcome(outcome)
    }

    /// The same for one node alone: the worker's other sessions continue meanwhile.
    pub(super) async fn commit_on_one_node(&mut self, on_nodes: OnNodes) -> Result<()> {
        self.wait_kept().await?;
        let OnNodes { participants, local: (txn, _), .. } = on_nodes;
        let outcome = match txn.commit().and_then(|_| participants.begin_commit()) {
            Ok(commit) => one_node_commits(&self.control, commit).await,
            Err(error) => Outcome::RolledBack(error),
        };
        self.count_outcome(outcome)
    }

    fn count_outcome(&self, outcome: Outcome) -> Result<()> {
        match outcome {
            Outcome::Committed => {
                SessionCounts::add(&self.control.activity.counts.commits, 1);
                Ok(())
            }
            Outcome::RolledBack(error) => {
                SessionCounts::add(&self.control.activity.counts.rollbacks, 1);
                Err(error)
            }
            Outcome::Unknown(error) => Err(error),
        }
    }

    /// Why the local part of the running transaction could not be prepared.
    pub(super) fn why_not_preparable(&mut self) -> Option<Error> {
        if self.core.exported.load(Ordering::Relaxed) != 0 {
            let message = "cannot PREPARE a transaction that has exported snapshots";
            return Some(Error::new(SqlState::FEATURE_NOT_SUPPORTED, message));
        }
        self.check_no_temporary().err()
    }
}

/// A commit that has begun heeds no interrupts, but its deadline.
async fn one_node_commits(control: &SessionControl, mut commit: OneNodeCommit) -> Outcome {
    loop {
        if let Some(outcome) = commit.advance() {
            return outcome;
        }
        let deadline = commit.deadline();
        let Some(watched) = commit.watched() else { continue };
        let Ok(socket) = ReadySocket::of(watched.descriptor, watched.interest) else {
            commit.give_up();
            continue;
        };
        control.activity.set_wait(Some(Wait::RemoteAnswer));
        let answered = poll_fn(|cx| socket.poll_ready(cx));
        let answered = tokio::time::timeout_at(deadline.into(), answered).await;
        control.activity.set_wait(None);
        drop(socket);
        if answered.is_err() {
            commit.give_up();
        }
    }
}

fn commit(participants: Participants, local: Option<&mut dyn LocalPart>) -> Outcome {
    // A commit that has begun heeds no interrupts.
    tokio::task::block_in_place(|| {
        interrupt::during(&mut None, || participants.commit_in_place(local))
    })
}

/// Rolls back on the nodes of a transaction, within a bounded time.
pub(super) fn roll_nodes_back(transaction: &mut Transaction) {
    if let Some(participants) = transaction.take_participants() {
        tokio::task::block_in_place(|| {
            let deadline = Instant::now() + ROLLBACK_TIME;
            interrupt::during(&mut None, || participants.rollback_in_place(deadline));
        });
    }
}
