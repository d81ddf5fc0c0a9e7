//! Statements that a function runs: PostgreSQL's server programming interface (spi.c).
//!
//! ```text
//!   outer statement ── calls ──▶ function ── Spi::run ──▶ plan, run: rows
//!       its snapshot                   │    SessionHost::utility ─▶ change the catalog
//!       stays as it is                 │    each a command of the same transaction
//!                                      └── Spi::evaluate ──▶ the value of an expression
//! ```
//!
//! A function's statements run in the transaction of the statement that calls it, one after the
//! other. Each sees the changes of those before it, in tables and in the catalog. The calling
//! statement sees none of them. Its snapshot is suspended and resumed
//! ([`steppe_txn::Txn::suspend_statement`]), and it goes on with the catalog of its plan. If the
//! function fails, the calling statement fails.
//!
//! The statements of a function that is not VOLATILE see what the calling statement sees. They may
//! change nothing.
//!
//! The session gives the state in which statements are planned and run at that point
//! ([`SessionHost::frame`]), and runs statements without a plan ([`SessionHost::utility`]). A
//! function's DDL changes the catalog in the transaction itself ([`Transaction`]).
//!
//! | file | subject |
//! |---|---|
//! | `prepared` | a statement with a plan that a function keeps |
//! | `shared` | plans that sessions share |
//! | `dynamic` | texts that are made at run time, and share plans by their shape |
//! | `run` | running one |
//! | `hold` | the row of an INSERT that is stored later |
//! | `key` | running one for a foreign key |
//! | `cursor`, `ahead`, `portals` | rows in pieces, and before they are asked for; cursors with names |
//! | `utility`, `create_as`, `declare`, `explain`, `lock`, `constraints` | statements without a plan |
//! | `copy` | COPY with the server's files |
//! | `statements` | the session's prepared statements: PREPARE, EXECUTE |
//! | `place`, `sinks` | the row that a cursor is on; receivers of its rows |
//! | `in_use` | the relations that DDL must leave alone |
//! | `simple` | expressions that are evaluated without a plan's nodes |
//! | `transaction` | savepoints, and transactions that a procedure ends |

mod ahead;
mod constraints;
mod copy;
mod create_as;
mod cursor;
mod declare;
mod dynamic;
mod explain;
mod hold;
mod in_use;
mod key;
mod lock;
mod place;
mod portals;
mod prepared;
mod run;
mod shared;
mod simple;
mod sinks;
mod statements;
mod transaction;
mod utility;

pub use constraints::named_constraints;
pub use copy::SessionFiles;
pub use create_as::{insert_into, take_into};
pub use cursor::SpiCursor;
pub use declare::check_declared;
pub(crate) use dynamic::DynamicPlans;
pub(crate) use in_use::OpenQueries;
pub(crate) use key::{KeyStatement, RunOf};
pub use lock::{Below, find_relation, not_obtained, relation_lock_mode};
pub use place::{CursorPlace, held_from_before};
pub(crate) use portals::NamedCursors;
pub use portals::{ClientCursor, ClientPortals, SpiPortal};
pub use prepared::{CallOutput, Prepared, SqlKind};
pub use run::Answer;
pub use shared::SharedPlans;
pub use simple::SimpleExpression;
pub(crate) use statements::ExecutedPlans;
pub use statements::{NewStatement, SessionStatement, SessionStatements, plan_of_values};
pub use transaction::{SpiSavepoint, TransactionControl};

use crate::context::ExecContext;
use crate::statement::ExecEnv;
use crate::transaction::{StatementTxn, Transaction};
use std::sync::Arc;
use steppe_catalog::Catalog;
use steppe_functions::{FnContext, Frame, SessionHost};
use steppe_txn::{Lsn, Txn};
use steppe_types::io::IoContext;
use steppe_types::{Error, Result, SqlState};

/// The interface through which a running function runs statements.
pub struct Spi<'c> {
    cx: &'c mut ExecContext,
    /// The statements see what the calling statement sees, and change nothing.
    is_read_only: bool,
    /// Ends transactions, if the function may.
    control: Option<&'c mut dyn TransactionControl>,
    /// The savepoints that are set.
    savepoints: u32,
    /// A statement has run in the transaction since it began.
    has_queried: bool,
    /// The version of the session's frame that the function saw last.
    version: u64,
    /// The calling statement's names and settings and their version, if the function goes on with
    /// newer ones.
    outer: Option<Box<(FnContext, Option<u64>)>>,
}

impl Drop for Spi<'_> {
    fn drop(&mut self) {
        if let Some(outer) = self.outer.take() {
            (self.cx.functions, self.cx.frame_version) = *outer;
        }
    }
}

impl<'c> Spi<'c> {
    /// For a function of the program that is called in this execution.
    pub(crate) fn new(cx: &'c mut ExecContext) -> Spi<'c> {
        Spi::of_call(cx, false)
    }

    /// For a function that is called in this execution. The execution may have an older frame than
    /// the session: another call has changed a setting or the catalog.
    pub(crate) fn of_call(cx: &'c mut ExecContext, is_read_only: bool) -> Spi<'c> {
        let now = || cx.functions.session.frame_version();
        let version = cx.frame_version.unwrap_or_else(now);
        cx.frame_version = Some(version);
        Spi {
            cx,
            is_read_only,
            control: None,
            savepoints: 0,
            has_queried: true,
            version,
            outer: None,
        }
    }

    /// For a procedure or the code of a DO, which may end the transaction.
    pub(crate) fn of_procedure(
        cx: &'c mut ExecContext,
        control: Option<&'c mut dyn TransactionControl>,
    ) -> Spi<'c> {
        let mut spi = Spi::new(cx);
        spi.control = control;
        spi
    }

    /// The execution that the function is called in.
    pub(crate) fn context(&mut self) -> &mut ExecContext {
        self.cx
    }

    /// Runs a procedure that the function calls. It has its own savepoints and may do what the
    /// function may.
    pub(crate) fn within<T>(&mut self, run: impl FnOnce(&mut Spi<'_>) -> Result<T>) -> Result<T> {
        let mut inner = Spi {
            cx: &mut *self.cx,
            is_read_only: self.is_read_only,
            control: match &mut self.control {
                Some(control) => Some(&mut **control),
                None => None,
            },
            savepoints: self.savepoints,
            has_queried: self.has_queried,
            version: self.version,
            outer: None,
        };
        let done = run(&mut inner);
        self.has_queried |= inner.has_queried;
        drop(inner);
        self.see_changes()?;
        done
    }

    /// Runs code that must not end the transaction, if `is_restricted`.
    pub(crate) fn without_control<T>(
        &mut self,
        is_restricted: bool,
        run: impl FnOnce(&mut Spi<'_>) -> Result<T>,
    ) -> Result<T> {
        let control = if is_restricted { self.control.take() } else { None };
        let done = run(self);
        if control.is_some() {
            self.control = control;
        }
        done
    }

    /// The session.
    pub fn session(&self) -> &Arc<dyn SessionHost> {
        &self.cx.functions.session
    }

    /// The session's state that the function sees at this point.
    pub fn frame(&self) -> Result<Frame> {
        self.session().frame()
    }

    /// A number that changes when the catalog, the search path or a setting does, on which plans
    /// and expressions depend. It is as of the function's last statement.
    #[inline]
    pub fn epoch(&self) -> u64 {
        self.version
    }

    /// The settings with which values are read and shown.
    pub fn io(&self) -> &Arc<IoContext> {
        &self.cx.functions.io
    }

    /// The session's state for functions of the program.
    pub fn functions(&mut self) -> &mut FnContext {
        &mut self.cx.functions
    }

    /// Whether another call of the function may follow in this interface: it would begin with the
    /// session's state that this one has begun with.
    #[inline]
    pub fn is_as_called(&self) -> bool {
        self.outer.is_none() && self.session().frame_version() == self.version
    }

    /// Whether the function must not change anything: it is not VOLATILE.
    pub fn is_read_only(&self) -> bool {
        self.is_read_only
    }

    /// Whether the function must not end the transaction.
    pub fn is_atomic(&self) -> bool {
        self.control.is_none()
    }

    /// A step follows that leaves a trace, or depends on what the running statement has changed. An
    /// error ends a call that must be quiet. The caller then makes the call again
    /// ([`crate::change::Quiet`]).
    #[inline]
    pub fn be_heard(&mut self) -> Result<()> {
        self.cx.be_heard()
    }

    /// 57014 and similar errors, if the statement is to stop.
    pub fn check_interrupts(&self) -> Result<()> {
        self.cx.check_interrupts()
    }

    /// work_mem, and the place of temporary files beyond it: for rows that the function keeps.
    pub fn new_store(&self, width: usize) -> crate::TupleStore {
        self.cx.new_store(width)
    }

    /// The catalog in force, which may be newer than the one that the calling statement was
    /// planned with.
    pub fn catalog_in_force(&mut self) -> Result<Arc<Catalog>> {
        Ok(self.cx.newer_catalog()?.unwrap_or_else(|| self.cx.functions.catalog.clone()))
    }

    /// Runs code in the transaction, other than a statement with a plan, and then what it has left
    /// for nodes. The calling statement is suspended meanwhile.
    pub fn in_transaction<T>(
        &mut self,
        f: impl FnOnce(&Arc<dyn SessionHost>, &mut Transaction) -> Result<T>,
    ) -> Result<T> {
        let session = Arc::clone(self.session());
        self.lend(|txn| {
            let transaction = present(txn)?;
            let done = f(&session, transaction)?;
            transaction.run_on_nodes(&*session)?;
            Ok(done)
        })
    }

    /// Lends the transaction out while the calling statement is suspended. Afterwards
    /// [`Self::frame`] includes all changes, also those of other transactions.
    ///
    /// A function that is not VOLATILE does not suspend the calling statement, because it reads at
    /// that statement's snapshot.
    pub(super) fn lend<T>(
        &mut self,
        f: impl FnOnce(&mut Option<Transaction>) -> Result<T>,
    ) -> Result<T> {
        self.lend_leaving(false, f)
    }

    /// As [`Self::lend`]. `leaves_events`: the events of the statement that runs are added to those
    /// of the calling one.
    fn lend_leaving<T>(
        &mut self,
        leaves_events: bool,
        f: impl FnOnce(&mut Option<Transaction>) -> Result<T>,
    ) -> Result<T> {
        self.be_heard()?;
        let Some(statement) = self.cx.take_txn() else {
            return Err(Error::not_supported("a function that runs statements in this context"));
        };
        let (mut transaction, view) = statement.into_parts();
        // A transaction that a procedure has begun has no snapshot before its first statement.
        let has_snapshot = transaction.txn.snapshot().lsn != Lsn(0);
        let suspends = !self.is_read_only && has_snapshot;
        let outer = suspends.then(|| transaction.txn.suspend_statement());
        let leave = leaves_events.then(|| self.cx.take_later());
        let of_caller = transaction.leave_events(leave);
        self.has_queried = true;
        let mut lent = Some(transaction);
        let done = f(&mut lent);
        let lost = || Error::internal("the transaction was not given back");
        let mut transaction = match lent {
            Some(transaction) => transaction,
            None => return Err(done.err().unwrap_or_else(lost)),
        };
        match outer {
            Some(outer) => transaction.txn.resume_statement(outer),
            None if !has_snapshot => transaction.txn.end_statement(),
            None => {}
        }
        let left = transaction.leave_events(of_caller);
        self.cx.put_later(left.flatten());
        transaction.forget_no_changes();
        let done = done.and_then(|done| transaction.rebase(&**self.session()).map(|()| done));
        self.cx.lend_txn(Some(StatementTxn::with_view(transaction, view)));
        let done = done?;
        self.see_changes()?;
        Ok(done)
    }

    /// Goes on with the session's present frame, if it is another one.
    #[inline]
    pub(crate) fn see_changes(&mut self) -> Result<()> {
        match self.session().frame_version() == self.version {
            true => Ok(()),
            false => self.see_frame(),
        }
    }

    /// Goes on with the names and settings of the session's present frame. The calling statement
    /// gets its own back at the end.
    #[cold]
    fn see_frame(&mut self) -> Result<()> {
        let frame = self.frame()?;
        self.version = self.session().frame_version();
        let newer =
            FnContext { catalog: frame.names.catalog, io: frame.io, ..self.cx.functions.clone() };
        let before = std::mem::replace(&mut self.cx.functions, newer);
        let before = (before, self.cx.frame_version.replace(self.version));
        self.outer.get_or_insert_with(|| Box::new(before));
        Ok(())
    }
}

/// Runs code with the interface outside of a function: in a transaction with a statement.
pub fn with_spi<T>(
    env: &ExecEnv,
    txn: &mut Option<Transaction>,
    run: impl FnOnce(&mut Spi<'_>) -> Result<T>,
) -> Result<T> {
    let mut cx = env.context(txn);
    let done = run(&mut Spi::new(&mut cx));
    *txn = cx.take_txn().map(StatementTxn::into_transaction);
    done
}

fn present(txn: &mut Option<Transaction>) -> Result<&mut Transaction> {
    txn.as_mut().ok_or_else(|| Error::internal("a function's statement has no transaction"))
}

/// 25006 if a READ ONLY transaction would run a command.
pub fn check_writable(txn: &Txn, command: &str) -> Result<()> {
    if !txn.is_read_only() {
        return Ok(());
    }
    let message = format!("cannot execute {command} in a read-only transaction");
    Err(Error::new(SqlState::READ_ONLY_SQL_TRANSACTION, message))
}
