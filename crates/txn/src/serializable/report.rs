//! What serializable transactions hold and wait for, for pg_locks and
//! pg_safe_snapshot_blocking_pids.

use std::sync::Arc;

use super::graph::Graph;
use super::locks::Granule;
use super::{Member, Safety, Serializable};
use crate::engine::Engine;
use crate::files::RelFileNumber;
use crate::lock::LockTag;
use crate::session::is_stand_in;

/// A SIREAD lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SireadReport {
    /// The session that read, or had read before its transaction ended. `None`: a prepared
    /// transaction, or those that have ended and are known as one.
    pub pid: Option<u32>,
    /// The prepared transaction.
    pub prepared: Option<u64>,
    /// The file of a table or an index.
    pub file: RelFileNumber,
    /// What of it.
    pub granule: Granule,
}

impl Serializable {
    /// All SIREAD locks. One that is handed over meanwhile may be told twice or not at all.
    pub(crate) fn report(&self) -> Vec<SireadReport> {
        let members: Vec<(u32, Arc<Member>)> = self.graph.lock().members().collect();
        let mut found = Vec::new();
        let mut add = |pid: Option<u32>, prepared: Option<u64>, member: &Member| {
            for (file, granule) in member
                .held
                .lock()
                .iter()
                .flat_map(|(f, held)| held.granules().map(move |granule| (*f, granule)))
            {
                found.push(SireadReport { pid, prepared, file, granule });
            }
        };
        for (pid, member) in &members {
            let xid = member.xid.load(std::sync::atomic::Ordering::Acquire);
            match is_stand_in(*pid) {
                true => add(None, Some(xid), member),
                false => add(Some(*pid), None, member),
            }
        }
        add(None, None, &self.summary);
        found
    }

    /// The sessions whose end a READ ONLY DEFERRABLE transaction of session `pid` waits for.
    fn blocking_safe_snapshot(&self, pid: u32) -> Vec<u32> {
        self.graph.lock().blocking_safe_snapshot(pid)
    }
}

impl Graph {
    /// Those whose locks matter, with their sessions.
    fn members(&self) -> impl Iterator<Item = (u32, Arc<Member>)> {
        self.nodes.values().map(|node| (node.pid, Arc::clone(&node.member)))
    }

    fn blocking_safe_snapshot(&self, pid: u32) -> Vec<u32> {
        let waiting = self.nodes.values().find(|node| {
            let number = node.member.number;
            node.pid == pid && matches!(self.safety(number), Safety::DependsOn(_))
        });
        let writers = waiting.iter().flat_map(|node| self.known_of(&node.depends_on));
        let mut pids: Vec<u32> = writers.collect();
        pids.iter_mut().filter(|pid| is_stand_in(**pid)).for_each(|pid| *pid = 0);
        pids.sort_unstable();
        pids.dedup();
        pids
    }
}

impl Engine {
    /// All SIREAD locks.
    pub fn siread_locks(&self) -> Vec<SireadReport> {
        self.serializable.report()
    }

    /// The sessions whose end session `pid` waits for, to get a safe snapshot for its
    /// SERIALIZABLE READ ONLY DEFERRABLE transaction. A prepared transaction is 0.
    pub fn blocking_safe_snapshot(&self, pid: u32) -> Vec<u32> {
        match self.locks.waited_for(pid) {
            Some((LockTag::Session(_), _)) => self.serializable.blocking_safe_snapshot(pid),
            _ => Vec::new(),
        }
    }
}
