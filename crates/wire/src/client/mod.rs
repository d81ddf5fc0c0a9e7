//! The client's side: what the cluster layer, the tests and the tools speak to
//! servers with.

pub mod receive;
pub mod send;
