//! The answers to the client's COMMIT.

use std::fmt;
use std::sync::Arc;

use steppe_types::{Error, SqlState};

use crate::NodeId;

/// The names that users have given to nodes.
pub trait NodeNames: Send + Sync {
    /// The name of a node, if it is known.
    fn name_of(&self, node: NodeId) -> Option<String>;
}

/// The errors of a commit. They name a node by its name, or by its identity where that is unknown.
#[derive(Clone, Default)]
pub(super) struct Wording(Option<Arc<dyn NodeNames>>);

impl fmt::Debug for Wording {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Wording")
    }
}

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

/// 40000: the transaction was rolled back, for a reason that is not known any more.
pub(super) fn not_told() -> Error {
    Error::new(SqlState::TRANSACTION_ROLLBACK, "the transaction was rolled back")
}

impl Wording {
    /// With these names.
    pub(super) fn new(names: Arc<dyn NodeNames>) -> Wording {
        Wording(Some(names))
    }

    fn name(&self, node: NodeId) -> String {
        let known = self.0.as_ref().and_then(|names| names.name_of(node));
        known.unwrap_or_else(|| node.to_string())
    }

    /// 08006: a connection broke in an attempt that has been, or is being, rolled back.
    pub(super) fn lost(&self, node: NodeId) -> Error {
        let name = self.name(node);
        let message =
            format!("connection to node \"{name}\" failed before the transaction was committed");
        Error::new(SqlState::CONNECTION_FAILURE, message)
    }

    /// 08007: the answer of the COMMIT that decides was lost.
    pub(super) fn unknown(&self, node: NodeId) -> Outcome {
        let name = self.name(node);
        let message =
            format!("connection to node \"{name}\" failed while the transaction was committed");
        Outcome::Unknown(
            Error::new(SqlState::TRANSACTION_RESOLUTION_UNKNOWN, message)
                .detail("It is not known whether the transaction has committed."),
        )
    }

    /// 08007: another session has ended a part differently.
    pub(super) fn mixed(&self, node: NodeId) -> Outcome {
        let message = format!("the transaction ended differently on node \"{}\"", self.name(node));
        Outcome::Unknown(
            Error::new(SqlState::TRANSACTION_RESOLUTION_UNKNOWN, message)
                .detail("Its prepared transaction there was ended by another session."),
        )
    }
}
