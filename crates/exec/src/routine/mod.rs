//! Functions that users write: their languages, their compiled form, their calls (fmgr.c,
//! funcapi.c).
//!
//! ```text
//!   a call in a plan ── RoutineCall ─┐
//!   a call in FROM ──── SetCall ─────┼▶ enter ── SessionRoutines ──▶ Routine, compiled once
//!   a trigger ───────── TriggerCode ─┤   │           │ not there
//!   CALL, DO ────────────────────────┘   │           └─ Language::compile
//!                                        └─ settings, counts, depth, Spi
//! ```
//!
//! A language is code that a crate above registers ([`crate::registry::register_language`]). A plan
//! holds the function as the catalog has it, and the plan is shared between sessions. A routine holds
//! the plans of its statements, so it belongs to one session. A session compiles a function when it
//! first calls it with some types of arguments.
//!
//! A routine is found by the identity of its function's catalog object. A changed function is
//! another object, so the session compiles it anew, and calls that are running go on with the old
//! one.
//!
//! | file | subject |
//! |---|---|
//! | `call` | calls of scalar functions, of sets, and of triggers' functions |
//! | `procedure` | CALL and DO |
//! | `session` | the routines that a session has compiled, and how deep its calls are |
//! | `within` | the session for expressions without a statement's context |
//! | `result` | the columns of a function's result |

mod call;
mod procedure;
mod result;
mod session;
mod within;

pub(crate) use call::{RoutineCall, SetRoutine, TriggerCode, is_routine};
pub use procedure::{BoundCall, bind_call, call_procedure, run_inline};
pub(crate) use procedure::{call_within, run_inline_within};
pub use result::{Columns, result_columns};
pub use session::{SessionRoutines, too_deep};
pub(crate) use within::{at_statement, borrowing, lending, with_session};
pub use within::{in_session, lending_to};

use crate::change::{TriggerCall, TriggerRows};
use crate::sink::RowSink;
use crate::spi::Spi;
use std::sync::Arc;
use steppe_catalog::FunctionRef;
use steppe_catalog::objects::Function;
use steppe_functions::{Frame, SessionHost};
use steppe_types::{Datum, Error, Oid, Result};

/// A language in which users write functions.
pub trait Language: Send + Sync {
    /// Its name (pg_language.lanname).
    fn name(&self) -> &'static str;

    /// Compiles a function for calls with these types. Polymorphic types are resolved. The language
    /// adds its own CONTEXT to errors.
    fn compile(
        &self,
        function: &FunctionRef,
        call: &Arc<CallTypes>,
        spi: &mut Spi<'_>,
    ) -> Result<Arc<dyn Routine>>;

    /// Checks the body of a function that is created (check_function_bodies).
    fn validate(
        &self,
        function: &Function,
        frame: &Frame,
        session: &Arc<dyn SessionHost>,
    ) -> Result<()>;

    /// Runs the text of a DO statement. `atomic`: it must not end the transaction.
    fn run_inline(&self, source: &str, atomic: bool, spi: &mut Spi<'_>) -> Result<()> {
        let _ = (source, atomic, spi);
        Err(Error::not_supported(format!("DO in language {}", self.name())))
    }
}

/// A compiled function. Calls may run within each other, so the state of a call is the call's own.
pub trait Routine: Send + Sync {
    /// The result of a call. A result of several columns is a record.
    fn call(&self, args: &[Datum], spi: &mut Spi<'_>) -> Result<Datum>;

    /// The rows of a call that returns a set. A row has one column, or all columns of a composite
    /// result.
    fn call_set(&self, args: &[Datum], spi: &mut Spi<'_>, sink: &mut dyn RowSink) -> Result<()> {
        let _ = (args, spi, sink);
        Err(Error::not_supported("sets from functions of this language"))
    }

    /// Calls a trigger's function for rows, one after the other. It ends before a row that it cannot
    /// go on with as if a call began there ([`Spi::is_as_called`]).
    fn fire(
        &self,
        of: &TriggerCall<'_>,
        rows: &mut dyn TriggerRows,
        spi: &mut Spi<'_>,
    ) -> Result<()> {
        let _ = (of, rows, spi);
        Err(Error::not_supported("trigger functions of this language"))
    }
}

/// The types of a call. A function is compiled for them.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct CallTypes {
    /// The arguments' types.
    pub args: Box<[Oid]>,
    /// The result's type.
    pub ret: Oid,
    /// The columns of a composite result: OUT arguments, a column definition list, or those of the
    /// type.
    pub columns: Option<Columns>,
    /// The collation that the arguments have, or 0.
    pub collation: Oid,
    /// The function must not end the transaction.
    pub atomic: bool,
    /// VARIADIC arguments of any type come as one array.
    pub variadic: bool,
}
