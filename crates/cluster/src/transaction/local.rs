//! The coordinator's own database as a participant.
//!
//! A transaction that has changed rows or the catalog there and on nodes has a local part. It is
//! prepared like the part on a node, under an identifier of the same form, and never decides: with a
//! second writer the deciding node is another one, which comes first in the list. So the record is
//! always on a node, where another coordinator finds it.
//!
//! The local engine answers at once and in this process. So no answer of it is lost, and only a crash of
//! the coordinator leaves a prepared local part. The next life lists it as it lists a node's.

use super::Cluster;
use crate::NodeId;
use crate::commit::{Answer, Request};
use steppe_types::Error;

/// The local part of one transaction.
pub trait LocalPart: Send {
    /// Carries out COMMIT, ROLLBACK or PREPARE TRANSACTION of the open transaction. It is over or prepared
    /// afterwards, also after an error.
    fn carry_out(&mut self, request: &Request) -> Answer;
}

/// The local database, for parts that no session has any more.
pub trait LocalNode: Send + Sync {
    /// Carries out a request that is not [`Request::is_in_transaction`]: ends a prepared part durably,
    /// or lists them. It waits for no node.
    fn answer(&self, request: &Request) -> Answer;
}

impl Cluster {
    /// The local database's name among the nodes.
    pub(super) fn local_id(&self) -> NodeId {
        NodeId(self.by.id)
    }

    /// The answer of the local database.
    pub(super) fn ask_local(&self, request: &Request) -> Answer {
        match &self.local {
            Some(local) => local.answer(request),
            None => Answer::Refused(Error::internal("the coordinator has no database")),
        }
    }
}
