//! The client's side of the protocol, for the cluster layer, the tests and the tools.

pub mod receive;
pub mod send;
