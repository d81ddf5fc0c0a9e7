//! The end of a transaction over several nodes, without I/O.
//!
//! ```text
//!   node 1    ──[writes]──────────────────────────[record + COMMIT]─────────────────────[record goes]
//!   node 2    ──[writes]──[PREPARE TRANSACTION]───────────┊─────────[COMMIT PREPARED]
//!   node 3    ──[writes]──[PREPARE TRANSACTION]───────────┊─────────[COMMIT PREPARED]
//!   gate                                          ╞═══════┊══ held shared ═══════════╡
//!                                                     decision
//! ```
//!
//! These hold if the nodes keep what they have acknowledged (README.md has the argument):
//!
//! 1. All writers of a transaction commit, or none, unless a person ends a prepared transaction by
//!    hand. Then the coordinator says so, and keeps the record.
//! 2. The client is told COMMIT only if the transaction commits everywhere, and an error that says
//!    "rolled back" only if it commits nowhere. Else it is told that the outcome is unknown (08007).
//! 3. Any coordinator that has a right to ([`Recovery`]) finds the decision from a prepared
//!    transaction's identifier alone, and ends it in the same way as all others would.
//!
//! [`Commit`] and [`Recovery`] are machines: they take answers, and return [`Action`]s that a driver
//! carries out. They keep no time and own no connection.
//!
//! The decision on a participant is the "last agent" (Gray, "Notes on Data Base Operating Systems",
//! 1978) with presumed abort (Mohan, Lindsay, Obermarck, "Transaction Management in the R*
//! Distributed Database Management System", 1986). PostgreSQL: src/backend/access/transam/twophase.c.

mod answer;
mod finishing;
mod gid;
mod outcome;
mod record;
mod recovery;
mod request;
mod transaction;

#[cfg(test)]
mod tests;

pub use answer::{Answer, Life, Listing, PreparedRow, Reply, Row, XactStatus};
pub use gid::{Coordinator, GID_BYTES_MAX, Gid, TransactionKey};
pub use outcome::{NodeNames, Outcome};
pub use record::{Decision, PreparedPart, Xid};
pub use recovery::{Actions, InDoubt, InDoubtState, Recovery, Running};
pub use request::{INSTALL, Request};
pub use transaction::{Commit, Participant, Wrote};

use crate::{NodeId, NodeSet};

/// A step for the driver of a machine.
#[derive(Clone, Debug)]
pub enum Action {
    /// Send this: in the transaction's own session of the node if
    /// [`Request::is_in_transaction`], else in any session. The answer belongs to `transaction`'s
    /// machine.
    Send(NodeId, Request),
    /// The same after a pause, in another session: a connection broke, or the node refused.
    Retry(NodeId, Request),
    /// Enter the gate as a commit over these nodes, then call [`Commit::entered`].
    EnterGate(NodeSet),
    /// Only these nodes may still show the state before the commit ([`crate::gate::Passage::narrow`]).
    NarrowGate(NodeSet),
    /// Hold the gate without waiting for readers ([`crate::gate::Gate::hold`]), in place of what the
    /// machine has held. `nodes` are those of the transaction, `None` while they are unknown.
    HoldGate {
        /// The nodes of the transaction.
        nodes: Option<NodeSet>,
        /// The nodes of them on which the state before the commit may still be seen.
        pending: NodeSet,
    },
    /// Leave the gate.
    LeaveGate,
    /// Tell the client.
    Tell(Outcome),
    /// The record can be deleted now, or later with others ([`Request::Forget`]).
    Forget(TransactionKey),
    /// A later generation of this coordinator is registered: this one has no say any more. The
    /// process ends. Until then the gate stays as it is.
    Superseded,
    /// The machine is done: all answers have come, and the sessions have no transaction open.
    Finished,
}

/// A bug on purpose, for the test of the simulation.
#[cfg(feature = "planted-bugs")]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlantedBug {
    /// The record is inserted after the deciding COMMIT, in a transaction of its own.
    RecordOutside,
    /// A missing record is taken as "aborted", and no fence is inserted.
    NoFence,
    /// COMMIT PREPARED of a transaction that does not exist counts as done.
    MissingIsSuccess,
    /// The record is deleted before all participants have answered.
    ForgetEarly,
    /// The gate is left after the first answer of a participant.
    GateLeftEarly,
    /// A reader leaves the gate before its Binds have been answered.
    BindsOutsideOfGate,
    /// A foreign identifier that begins with one of Steppe's is taken as that one.
    GidByPrefix,
    /// pg_xact_status is believed after a crash, which may give a number to another transaction.
    StatusAcrossCrash,
    /// Fences are deleted while the transaction that they keep out may still run.
    FenceDeletedEarly,
    /// A list of prepared transactions is taken as of now: one that has committed since is in it.
    RunningAsOfNow,
    /// A new life of the coordinator serves readers before it has looked at what its last one left.
    ReadBeforeRecovery,
}

#[cfg(feature = "planted-bugs")]
thread_local! {
    static PLANTED: std::cell::Cell<Option<PlantedBug>> = const { std::cell::Cell::new(None) };
}

/// Plants a bug in all machines of this thread.
#[cfg(feature = "planted-bugs")]
pub fn plant(bug: Option<PlantedBug>) {
    PLANTED.set(bug);
}

/// Whether this bug is planted in this thread.
#[cfg(feature = "planted-bugs")]
pub fn is_planted(bug: PlantedBug) -> bool {
    PLANTED.get() == Some(bug)
}
