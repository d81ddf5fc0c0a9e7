//! Transactions by their numbers, as PostgreSQL's functions and views show them: which of them a
//! snapshot takes for running, how one has ended.
//!
//! Snapshots are positions in the log and know no numbers, so this is computed when somebody asks,
//! by looking at every transaction since the horizon.

use steppe_types::pg_snapshot::PgSnapshot;

use crate::engine::Engine;
use crate::session::{NO_SNAPSHOT, SessionShared};
use crate::status::{StatusTable, TxnStatus};

/// How a transaction stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum XidStatus {
    /// It has committed.
    Committed,
    /// It was rolled back.
    Aborted,
    /// It runs, or is prepared.
    InProgress,
}

impl StatusTable {
    /// Whether a transaction had ended at a position of the log.
    fn had_ended(&self, xid: u64, lsn: u64) -> bool {
        match self.status(xid) {
            TxnStatus::Committed(end) | TxnStatus::Aborted(end) => end <= lsn,
            TxnStatus::InProgress(_) => false,
        }
    }
}

impl Engine {
    /// What a snapshot at a position is in terms of numbers, for a transaction that is `own` (0:
    /// has none). As in PostgreSQL one's own number is not among the running.
    pub fn xids_at(&self, lsn: u64, own: u64) -> PgSnapshot {
        let (first, next) = (self.status.horizon(), self.status.next_xid());
        let mut running: Vec<u64> = Vec::new();
        let mut xmax = first;
        for xid in first..next {
            if self.status.had_ended(xid, lsn) {
                xmax = xid + 1;
            } else {
                running.push(xid);
            }
        }
        running.retain(|xid| *xid < xmax);
        let xmin = running.first().copied().unwrap_or(xmax);
        running.retain(|xid| *xid != own);
        PgSnapshot { xmin, xmax, running }
    }

    /// The number that the next transaction gets.
    pub fn next_xid(&self) -> u64 {
        self.status.next_xid()
    }

    /// How a transaction stands; `None` if that is not known any more.
    pub fn xid_status(&self, xid: u64) -> Option<XidStatus> {
        Some(match self.status.remembered(xid)? {
            TxnStatus::Committed(_) => XidStatus::Committed,
            TxnStatus::Aborted(_) => XidStatus::Aborted,
            TxnStatus::InProgress(_) => XidStatus::InProgress,
        })
    }

    /// Of the oldest snapshot of each of these sessions, the first transaction whose end it does
    /// not see (backend_xmin); `None` for one that holds no snapshot.
    pub fn xmins<'a>(&self, sessions: impl Iterator<Item = &'a SessionShared>) -> Vec<Option<u64>> {
        let held: Vec<u64> = sessions.map(SessionShared::oldest_held).collect();
        let mut xmins: Vec<Option<u64>> = vec![None; held.len()];
        let holds = |at: &usize| held[*at] != NO_SNAPSHOT;
        let mut open: Vec<usize> = (0..held.len()).filter(holds).collect();
        let next = self.status.next_xid();
        let mut xid = self.status.horizon();
        while !open.is_empty() && xid < next {
            open.retain(|&at| {
                let sees = self.status.had_ended(xid, held[at]);
                xmins[at] = (!sees).then_some(xid);
                sees
            });
            xid += 1;
        }
        open.into_iter().for_each(|at| xmins[at] = Some(next));
        xmins
    }
}
