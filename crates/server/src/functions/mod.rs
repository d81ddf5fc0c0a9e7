//! What the server computes for the functions of pg_proc: those that ask the session, or what
//! sessions share.
//!
//! ```text
//!   steppe_exec::registry ──▶ an entry of a TABLE here ── SharedSession::of(context) ──▶ its body
//! ```
//!
//! One file a subject, each with a table of functions by prosrc. What it guarantees: a body sees the
//! session that calls it; where a function is called outside of one, 0A000 says so.

/// An entry's code: the value that a body gives, of type [`Body`].
macro_rules! value {
    ($body:expr) => {
        steppe_exec::registry::Native::Builtin(steppe_functions::typed(|args, call, cx| {
            let body: crate::functions::Body = $body;
            body(crate::services::SharedSession::of(cx, call)?, args)
        }))
    };
}

/// An entry's code: the rows that a body gives, of type [`RowsBody`].
macro_rules! rows {
    ($body:expr) => {
        steppe_exec::registry::Native::Builtin(steppe_functions::set(|args, call, cx| {
            let body: crate::functions::RowsBody = $body;
            let rows = body(crate::services::SharedSession::of(cx, call)?, args)?;
            Ok(steppe_functions::series::rows(rows))
        }))
    };
}

mod advisory;
mod counters;
mod files;
mod sequences;
mod session;
mod settings;
mod signals;
mod size;
mod statements;
mod wal;
mod xids;

use std::any::Any;

use steppe_exec::registry::{self, Family};
use steppe_functions::{CallInfo, FnContext};
use steppe_types::{Datum, Result};

use crate::services::SharedSession;

/// Computes a value for a session.
type Body = fn(&SharedSession, &[Datum]) -> Result<Datum>;

/// Computes rows for a session.
type RowsBody = fn(&SharedSession, &[Datum]) -> Result<Vec<Vec<Datum>>>;

/// Tells the executor of the server's functions, and of the extensions that are part of the server.
/// The server calls it before there is a session.
pub(crate) fn register() {
    registry::register(&FAMILY);
    steppe_pathman::register();
    registry::register_extension(&statements::CODE);
}

static FAMILY: Family = Family {
    name: "server",
    by_source: &[
        advisory::TABLE,
        counters::TABLE,
        files::TABLE,
        sequences::TABLE,
        session::TABLE,
        settings::TABLE,
        signals::TABLE,
        size::TABLE,
        wal::TABLE,
        xids::TABLE,
    ],
    by_oid: &[size::BY_OID, signals::BY_OID],
};

impl SharedSession {
    /// The session that calls a function; 0A000 where there is none.
    fn of<'c>(cx: &'c FnContext, call: &CallInfo) -> Result<&'c SharedSession> {
        let session: &dyn Any = cx.host();
        session.downcast_ref().ok_or_else(|| call.not_in_this_context())
    }
}

/// What a function without a result returns: psql shows an empty field.
fn void() -> Datum {
    Datum::text("")
}

/// A row as one value.
fn record<const N: usize>(columns: [Datum; N]) -> Datum {
    Datum::Record(columns.into())
}
