//! Connections to nodes that follow a script: servers that behave, and servers that do not.

mod garbage;
mod sessions;
mod support;
