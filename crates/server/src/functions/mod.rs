//! The server's functions of pg_proc: they read the session or state that sessions share.
//!
//! ```text
//!   steppe_exec::registry ──▶ an entry of a TABLE here ── SharedSession::of(context) ──▶ its body
//! ```
//!
//! Each subject has a file, with a table of functions by prosrc. A body gets the session that calls
//! it. A call outside of a session fails with 0A000.

/// The code of an entry that returns a value, from a [`Body`].
macro_rules! value {
    ($body:expr) => {
        steppe_exec::registry::Native::Builtin(steppe_functions::typed(|args, call, cx| {
            let body: crate::functions::Body = $body;
            body(crate::services::SharedSession::of(cx, call)?, args)
        }))
    };
}

/// The code of an entry that returns rows, from a [`RowsBody`].
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
mod cluster;
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

/// Registers the server's functions and built-in extensions with the executor. The server calls it
/// before there is a session.
pub(crate) fn register() {
    registry::register(&FAMILY);
    steppe_pathman::register();
    steppe_citus::register();
    registry::register_extension(&statements::CODE);
}

static FAMILY: Family = Family {
    name: "server",
    by_source: &[
        advisory::TABLE,
        cluster::TABLE,
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
    /// The session that calls a function; 0A000 if there is none.
    fn of<'c>(cx: &'c FnContext, call: &CallInfo) -> Result<&'c SharedSession> {
        let session: &dyn Any = cx.host();
        session.downcast_ref().ok_or_else(|| call.not_in_this_context())
    }
}

/// The result of a void function. psql shows an empty field.
fn void() -> Datum {
    Datum::text("")
}

/// A row as one value.
fn record<const N: usize>(columns: [Datum; N]) -> Datum {
    Datum::Record(columns.into())
}
