//! The end of a transaction that has sessions on nodes ([`steppe_cluster::transaction`]).

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use steppe_catalog::CatalogChanges;
use steppe_cluster::commit::Outcome;
use steppe_cluster::transaction::{LocalPart, Participants};
use steppe_exec::Transaction;
use steppe_txn::{Lsn, Txn};
use steppe_types::{Error, Result, SqlState, interrupt};

use crate::activity::{SessionCounts, Wait};
use crate::session::Session;
use crate::session::two_phase::OwnPart;

/// How long the nodes may take to roll back. Then their connections are closed.
const ROLLBACK_TIME: Duration = Duration::from_secs(2);

impl Session {
    /// Commits on the nodes, and here if the transaction has changed something here: everywhere or
    /// nowhere. 08007 if the outcome is not known.
    pub(super) fn commit_on_nodes(
        &mut self,
        participants: Participants,
        (txn, changes): (Txn, Option<CatalogChanges>),
        unpreparable: Option<Error>,
    ) -> Result<()> {
        // Numbers of sequences, and what it has read here: a crash must not take back what a node keeps.
        let written = Lsn(self.core.flush_to.load(Ordering::Acquire));
        let seen = self.core.handle.observed_lsn().max(written);
        tokio::task::block_in_place(|| self.server().engine.wait_durable(seen))?;
        let is_changed = txn.xid() != 0 || changes.is_some();
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
