//! Connections to the nodes of a cluster: other PostgreSQL servers, or other Steppes.
//!
//! ```text
//!   conninfo ── words: hosts, user, sslmode …        passfile ── passwords by host, database, user
//!        │                                                │
//!        └──────► connection::Opening ◄───────────────────┘
//!                      │ tries the hosts in order
//!                      ▼
//!                 Connection ── messages in and out, prepared statements, cancel
//!                      │ Step::Waits(interest)
//!                      ▼
//!                 wait (poll(2), in place)    or the caller's own event loop
//! ```
//!
//! The crate guarantees:
//!
//! - **One protocol, two ways of waiting.** An operation of a [`Connection`] never waits. It says
//!   what its socket must become ready for ([`Step::Waits`]). The caller waits in place
//!   ([`mod@wait`]) or as a future.
//! - **A node is not trusted.** Its bytes cannot make a panic, an endless wait (each wait has a
//!   deadline or ends with the statement), or more memory than a stated bound.
//! - **A broken connection stays broken.** After an error of the socket or a violation of the
//!   protocol no operation uses the connection again ([`Connection::is_broken`]).
//!
//! Over connections stand transactions over several nodes ([`commit`]) and consistent reads of several nodes
//! ([`gate`]); README.md has their argument.
//!
//! It knows no catalog and no session: the caller gives words, deadlines and the thread's
//! interrupts ([`steppe_types::interrupt`]). The model is PostgreSQL's libpq.

pub mod commit;
pub mod connection;
pub mod conninfo;
pub mod gate;
mod nodes;
pub mod passfile;
pub mod pool;
pub mod transaction;
pub mod wait;

pub use connection::{Answer, Cancel, Connection, Message, Opening, Refused, Step};
pub use conninfo::ConnInfo;
pub use nodes::{NodeId, NodeSet};
pub use steppe_wire::Format;
pub use wait::Interest;
