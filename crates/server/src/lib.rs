//! Steppe's server: sessions, settings, start-up and shutdown.
//!
//! ```text
//!   main ─ cli ─► run ─┬─ process_user  who the server is to the operating system
//!                      ├─ data_dir      whose directory it is, steppe.conf
//!                      ├─ settings      what can be set
//!                      ├─ server        what sessions share
//!                      └─ listeners ─► workers ─► startup ─► session
//! ```
//!
//! What it guarantees:
//!
//! - A client is told nothing before it is durable (docs/design.md 5.4).
//! - No input panics, hangs or grows memory without bound: start-ups are limited in
//!   number and time, messages by the codec, statements and portals by the session.
//! - A session that waits, for its client, a lock or the log, costs no thread, and one
//!   that computes long holds up no other.
//!
//! Any user and database name is let in, from this machine only: authentication is
//! not there yet.

mod activity;
mod affinity;
mod autovacuum;
pub mod cli;
mod cursor_place;
pub mod data_dir;
mod deferred;
mod functions;
mod io_timing;
pub mod log;
mod low_priority;
mod memory;
mod namespace;
mod outbox;
pub mod plan_cache;
pub mod process_user;
mod processors;
mod run;
mod saved_statistics;
pub mod server;
mod services;
mod session;
pub mod settings;
mod spi;
mod startup;
mod statements;
mod stream;
mod system_views;
mod transaction_modes;
mod watchdog;
mod workers;

pub use run::{Config, Running};

/// The version that clients see: of PostgreSQL, whose behaviour they may rely on.
pub const SERVER_VERSION: &str = concat!("18.4 (Steppe ", env!("CARGO_PKG_VERSION"), ")");
