//! The answers to the client's COMMIT.

use steppe_types::{Error, SqlState};

use crate::NodeId;

/// The answer to the client's COMMIT.
#[derive(Clone, Debug)]
pub enum Outcome {
    /// It has committed everywhere, or will where a node is down.
    Committed,
    /// It has committed nowhere, and never will.
    RolledBack(Error),
    /// 08007: it may have committed, or a person ended a part of it differently.
    Unknown(Error),
}

/// 08006: a connection broke in an attempt that has been, or is being, rolled back.
pub(super) fn lost(node: NodeId) -> Error {
    let message = format!("connection to node {node} failed before the transaction was committed");
    Error::new(SqlState::CONNECTION_FAILURE, message)
}

/// 40000: the transaction was rolled back, for a reason that is not known any more.
pub(super) fn not_told() -> Error {
    Error::new(SqlState::TRANSACTION_ROLLBACK, "the transaction was rolled back")
}

/// 08007: the answer of the COMMIT that decides was lost.
pub(super) fn unknown(node: NodeId) -> Outcome {
    let message = format!("connection to node {node} failed while the transaction was committed");
    Outcome::Unknown(
        Error::new(SqlState::TRANSACTION_RESOLUTION_UNKNOWN, message)
            .detail("It is not known whether the transaction has committed."),
    )
}

/// 08007: another session has ended a part differently.
pub(super) fn mixed(node: NodeId) -> Outcome {
    let message = format!("the transaction ended differently on node {node}");
    Outcome::Unknown(
        Error::new(SqlState::TRANSACTION_RESOLUTION_UNKNOWN, message)
            .detail("Its prepared transaction there was ended by another session."),
    )
}
