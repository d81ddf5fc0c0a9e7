//! Workloads and whole-process tests against servers that speak PostgreSQL's
//! protocol: Steppe, PostgreSQL, anything else.
//!
//! - [`process`]: a Steppe server as a child process (start, `kill -9`, stop).
//! - [`oracle`]: a private PostgreSQL cluster to ask for the right answer.
//! - [`differential`]: random statements to which both must give the same answer.
//! - [`ddl_load`]: leaves of partitioned tables are attached and detached while clients read and
//!   write.
//! - [`dumps`]: pg_dump's output of one server is restored into another.
//! - [`command_line`]: the command lines of this crate's binaries.
//! - [`failure`]: why they ended without success.
//! - [`golden`]: SQL files whose expected output PostgreSQL wrote.
//! - [`messages`]: scripts of single protocol messages.
//! - [`q_error`]: how far row estimates are off, beside PostgreSQL's.
//! - [`round_trip`]: every query of the corpus as a view that must read back as itself.
//! - [`sessions`]: scripts that several sessions run in turn.
//! - [`histories`]: anomalies that an isolation level does not allow.
//! - [`kill9`] and [`ledger`]: acknowledged transactions must survive `kill -9`.
//!
//! This crate uses no engine code: a server is a binary and an address.

pub mod bench;
pub mod command_line;
pub mod ddl_load;
pub mod differential;
pub mod dumps;
pub mod failure;
pub mod golden;
pub mod histories;
pub mod kill9;
mod leaves;
pub mod ledger;
pub mod messages;
pub mod oracle;
pub mod process;
pub mod q_error;
pub mod round_trip;
pub mod sessions;
