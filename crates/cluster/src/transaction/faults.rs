//! Named points at which a test breaks a connection between the coordinator and a node.

use crate::NodeId;
use crate::commit::Request;

/// A point in the exchange of one request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FaultPoint {
    /// The request is not sent.
    BeforeSend,
    /// It is sent, and the connection is closed at once.
    AfterSend,
    /// The node's answer has begun to arrive, and is not read.
    BeforeRead,
}

/// Decides which connections break.
pub trait Faults: Send + Sync {
    /// Whether the connection to the node breaks here.
    fn breaks(&self, point: FaultPoint, node: NodeId, request: &Request) -> bool;
}
