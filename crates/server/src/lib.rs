//! Steppe's server: sessions, settings, start-up and shutdown.
//!
//! ```text
//!   main ─ cli ─► run ─┬─ process_user  the server's user of the operating system
//!                      ├─ data_dir      the data directory, steppe.conf
//!                      ├─ settings      the settings
//!                      ├─ server        the state that sessions share
//!                      └─ listeners ─► workers ─► startup ─► session
//! ```
//!
//! The guarantees:
//!
//! - An answer is sent only when the changes that it shows are durable (docs/design.md 5.4).
//! - Any input is handled without a panic, a hang or unbounded memory: start-ups are limited in
//!   number and time, messages by the codec, statements and portals by the session.
//! - A session that waits for its client, a lock or the log occupies no thread. A long computation
//!   does not delay other sessions.
//!
//! The server accepts any user and database name, from this machine only: there is no
//! authentication yet.

mod activity;
mod affinity;
mod auto_explain;
mod autovacuum;
pub mod cli;
mod cluster;
pub mod data_dir;
mod function_counts;
mod function_settings;
mod functions;
mod io_timing;
pub mod log;
mod low_priority;
mod memory;
mod namespace;
mod nested;
mod outbox;
pub mod plan_cache;
pub mod process_user;
mod processors;
mod run;
mod running_triggers;
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

/// The version that clients see. It is PostgreSQL's, whose behaviour they may rely on.
pub const SERVER_VERSION: &str = concat!("18.4 (Steppe ", env!("CARGO_PKG_VERSION"), ")");
