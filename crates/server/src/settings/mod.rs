//! Settings: PostgreSQL's names, types, units, bounds and built-in values.
//!
//! ```text
//!   definition  all settings              conf   steppe.conf ─┐
//!   value       reading and showing                           ├─► store::ServerSettings
//!   check       canonical forms           -c name=value ──────┘        │ shared
//!                                         SET, SET LOCAL ──► store::SessionSettings
//!                                                                      │ derived
//!                                                                 live::LiveSettings
//! ```
//!
//! Every setting of PostgreSQL 18 can be set and shown as there. The settings with an effect are
//! the fields of [`LiveSettings`], and the settings that `Config` reads at start-up. The others are
//! only stored.

pub mod check;
pub mod conf;
pub mod definition;
pub mod live;
pub mod shared;
pub mod store;
pub mod value;

pub use live::{Isolation, LiveSettings};
pub use shared::SharedSettings;
pub use store::{Action, ServerSettings, SessionSettings, Source, unrecognized};
pub use value::Value;
