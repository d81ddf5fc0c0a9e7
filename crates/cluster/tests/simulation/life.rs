//! One life of a coordinator: a driver of the machines, as the server has one.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use steppe_cluster::commit::{
    Commit, Coordinator, Participant, Recovery, Request, Running, TransactionKey,
};
use steppe_cluster::gate::{Gate, Passage, PassageWait, Snapshots};

use crate::simulation::node::{Mark, SessionId};

/// The place of a node in the world.
pub(crate) type Place = usize;

/// The receiver of an answer in a life.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Owner {
    Run(u64),
    Reader(u64),
    Recovery(TransactionKey),
    Look,
    Chore,
}

/// A client's transaction.
pub(crate) struct Run {
    pub(crate) mark: Mark,
    /// Its nodes, while statements are out.
    pub(crate) participants: Vec<Participant>,
    pub(crate) unanswered: usize,
    /// A connection broke before the COMMIT.
    pub(crate) has_failed: bool,
    pub(crate) machine: Option<Commit>,
    pub(crate) sessions: BTreeMap<Place, SessionId>,
    pub(crate) passage: Option<Passage>,
    pub(crate) wait: Option<PassageWait>,
}

/// A reader of several nodes: a statement, or a REPEATABLE READ transaction, which one more node joins.
pub(crate) struct Reader {
    pub(crate) first: BTreeSet<Place>,
    pub(crate) join: Option<Place>,
    pub(crate) unanswered: usize,
    pub(crate) passage: Option<Passage>,
    pub(crate) wait: Option<PassageWait>,
    pub(crate) snapshots: Option<Snapshots>,
    pub(crate) seen: BTreeMap<Place, BTreeSet<Mark>>,
    /// The clients of these were told COMMIT before the reader began.
    pub(crate) must_see: BTreeSet<Mark>,
}

pub(crate) struct Life {
    pub(crate) serial: u64,
    pub(crate) me: Coordinator,
    pub(crate) gate: Arc<Gate>,
    pub(crate) next: u64,
    pub(crate) runs: BTreeMap<u64, Run>,
    pub(crate) readers: BTreeMap<u64, Reader>,
    pub(crate) recovery: Recovery,
    pub(crate) holds: BTreeMap<TransactionKey, Passage>,
    pub(crate) registered: BTreeSet<Place>,
    pub(crate) usable: BTreeSet<Place>,
    /// Nodes that are being asked for their list.
    pub(crate) looking: BTreeSet<Place>,
    pub(crate) forget: Vec<TransactionKey>,
    pub(crate) retries: Vec<(Owner, Place, Request)>,
    /// A later life runs.
    pub(crate) is_zombie: bool,
    pub(crate) is_superseded: bool,
}

impl Life {
    pub(crate) fn new(serial: u64, me: Coordinator) -> Life {
        Life {
            serial,
            me,
            gate: Gate::new(),
            next: 1,
            runs: BTreeMap::new(),
            readers: BTreeMap::new(),
            recovery: Recovery::new(me),
            holds: BTreeMap::new(),
            registered: BTreeSet::new(),
            usable: BTreeSet::new(),
            looking: BTreeSet::new(),
            forget: Vec::new(),
            retries: Vec::new(),
            is_zombie: false,
            is_superseded: false,
        }
    }

    pub(crate) fn number(&mut self) -> u64 {
        self.next += 1;
        self.next - 1
    }

    pub(crate) fn running(&self) -> Running {
        Running { next: self.next, numbers: self.runs.keys().copied().collect() }
    }

    pub(crate) fn is_quiet(&self) -> bool {
        self.runs.is_empty() && self.readers.is_empty() && self.retries.is_empty()
    }
}
