//! What the executor and functions need from the session around them.
//!
//! ```text
//!   functions ──▶ Host            notices, settings, sequences, clock, chance
//!                  ▲ is also
//!   executor ──▶ SessionHost      locks, catalogs in force, progress, statements of functions
//! ```
//!
//! | file | subject |
//! |---|---|
//! | `host` | what a function may ask |
//! | `session` | what the executor and DDL ask besides |
//! | `context` | what a function is called with |

mod context;
mod host;
mod session;

pub use crate::io::IoContext;
pub use context::FnContext;
pub use host::{Host, Identity};
pub use session::{Frame, KeyCheck, NoSession, SessionHost, UtilityCall};
