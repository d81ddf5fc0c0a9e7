//! The session whose statement this thread runs, for expressions that are evaluated without a
//! statement's context: keys of indexes.
//!
//! Such an expression is immutable and calls mostly built-in functions, which need no session. A
//! user's function needs one. It runs statements if the statement that makes the keys has lent its
//! transaction ([`lending`]), and cannot otherwise (0A000).

use crate::context::ExecContext;
use crate::transaction::{StatementTxn, Transaction};
use std::cell::{Cell, RefCell};
use std::sync::Arc;
use steppe_functions::{FnContext, SessionHost};
use steppe_txn::{Lsn, Txn};
use steppe_types::{Error, Result};

thread_local! {
    static SESSION: RefCell<Option<Arc<dyn SessionHost>>> = const { RefCell::new(None) };
    static LENT: RefCell<Option<StatementTxn>> = const { RefCell::new(None) };
}

/// A context whose transaction other code has. It comes back at the end.
struct Lender<'c>(&'c mut ExecContext, Option<StatementTxn>);

impl Drop for Lender<'_> {
    fn drop(&mut self) {
        self.0.lend_txn(LENT.replace(self.1.take()));
    }
}

/// Evaluates what has no context of a statement, with the statement's transaction at hand.
pub(crate) fn lending<T>(cx: &mut ExecContext, run: impl FnOnce() -> T) -> T {
    let before = LENT.replace(cx.take_txn());
    let _lender = Lender(cx, before);
    run()
}

/// A transaction that other code has. It comes back at the end.
struct TxnLender<'t> {
    txn: &'t mut Txn,
    before: Option<StatementTxn>,
    /// The transaction had no snapshot before.
    began: bool,
    /// Whether it has come back without state that has no place here.
    is_plain: &'t Cell<bool>,
}

impl Drop for TxnLender<'_> {
    fn drop(&mut self) {
        if let Some(statement) = LENT.replace(self.before.take()) {
            let transaction = statement.into_transaction();
            self.is_plain.set(transaction.is_plain());
            *self.txn = transaction.txn;
        }
        if self.began {
            self.txn.end_statement();
        }
    }
}

/// As [`lending`], for code that evaluates expressions without a plan. The catalog that the functions
/// see has nothing yet that the running command has changed in it. 0A000 for functions that change the
/// catalog themselves, or leave checks for the transaction's end.
pub fn lending_to<T>(txn: &mut Txn, run: impl FnOnce() -> Result<T>) -> Result<T> {
    let began = txn.snapshot().lsn == Lsn(0);
    if began {
        txn.start_statement()?;
    }
    let statement = StatementTxn::new(Transaction::new(txn.take()));
    let before = LENT.replace(Some(statement));
    let is_plain = Cell::new(true);
    let lender = TxnLender { txn, before, began, is_plain: &is_plain };
    let done = run();
    drop(lender);
    match is_plain.get() {
        true => done,
        false => {
            done.and(Err(Error::not_supported("a function with such changes in this context")))
        }
    }
}

/// Evaluates expressions that call users' functions in a context of their own, with the transaction
/// that was lent.
pub(crate) fn borrowing<T>(
    context: &mut ExecContext,
    run: impl FnOnce(&mut ExecContext) -> T,
) -> T {
    struct Returned<'c>(&'c mut ExecContext);
    impl Drop for Returned<'_> {
        fn drop(&mut self) {
            LENT.set(self.0.take_txn());
        }
    }
    context.lend_txn(LENT.take());
    let returned = Returned(context);
    run(&mut *returned.0)
}

/// Evaluates expressions that call users' functions: in the session whose statement this thread
/// runs, and with the transaction that it has lent.
pub(crate) fn at_statement<T>(
    functions: &FnContext,
    run: impl FnOnce(&mut ExecContext) -> Result<T>,
) -> Result<T> {
    let functions = with_session(functions);
    let frame = functions.session.frame()?;
    // Types of users are known by the names that the session sees.
    let functions = FnContext { io: frame.io, ..functions };
    borrowing(&mut ExecContext::for_folding(functions).with_temp_space(frame.temp), run)
}

/// The session that was there before. It is there again at the end.
struct Before(Option<Arc<dyn SessionHost>>);

impl Drop for Before {
    fn drop(&mut self) {
        SESSION.set(self.0.take());
    }
}

/// Runs a part of a session's statement in this thread.
pub fn in_session<T>(session: &Arc<dyn SessionHost>, run: impl FnOnce() -> T) -> T {
    let _before = Before(SESSION.replace(Some(Arc::clone(session))));
    run()
}

/// A context for functions, with the session whose statement this thread runs.
pub(crate) fn with_session(functions: &FnContext) -> FnContext {
    let session = SESSION.with_borrow(Option::clone);
    match session {
        Some(session) => FnContext { session, ..functions.clone() },
        None => functions.clone(),
    }
}
