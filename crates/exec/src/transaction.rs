//! The transaction that a session lends to executions, and executions to the functions they call.
//!
//! ```text
//!   session ──Option<Transaction>──▶ Execution ──▶ Spi ──▶ a function's statements, its DDL
//!           ◀──── given back ───────           ◀──
//! ```
//!
//! One object has all state of a transaction, and the code that runs owns it. If a function changes
//! the catalog, its caller and the session go on with the changed catalog.
//!
//! State that few transactions have is behind one pointer, because the transaction is passed by
//! value.

use crate::change::EventQueue;
use crate::deferred::{Deferred, DeferredMark, DueEvents};
use steppe_catalog::{Catalog, CatalogChanges};
use steppe_cluster::transaction::Participants;
use steppe_functions::SessionHost;
use steppe_txn::{Txn, UndoPosition, View};
use steppe_types::{Oid, Result};

/// The state of a transaction.
pub struct Transaction {
    /// The engine's transaction.
    pub txn: Txn,
    rare: Rare,
}

/// A point in a transaction to which its changes can be undone.
pub struct SavepointMark {
    undo: UndoPosition,
    /// The transaction's catalog changes so far.
    changes: Option<Box<CatalogChanges>>,
    /// Its deferred events, if there have been any.
    deferred: Option<Box<DeferredMark>>,
}

/// State of a transaction that does more than read and change rows. It is made when it is needed.
#[derive(Default)]
struct Rare(Option<Box<Owned>>);

#[derive(Default)]
struct Owned {
    /// The transaction's own catalog changes.
    changes: Option<CatalogChanges>,
    /// Events of deferred constraints.
    deferred: Option<Deferred>,
    /// The events to which the running statement adds its own, for its caller to run; the outer
    /// `None` if it runs them itself.
    left: Option<Left>,
    /// Its sessions on the nodes of a cluster.
    participants: Option<Participants>,
}

/// Events that a statement leaves to its caller.
pub(crate) type Left = Option<Box<EventQueue>>;

impl Transaction {
    /// A transaction that has just begun.
    pub fn new(txn: Txn) -> Transaction {
        Transaction { txn, rare: Rare::default() }
    }

    /// The transaction's own catalog changes.
    #[inline]
    pub fn changes(&self) -> Option<&CatalogChanges> {
        self.rare.changes()
    }

    /// The engine's transaction and the catalog changes so far, for DDL.
    pub fn for_ddl(&mut self) -> (&mut Txn, &mut Option<CatalogChanges>) {
        (&mut self.txn, &mut self.rare.0.get_or_insert_default().changes)
    }

    /// Removes the transaction's catalog version if DDL has changed nothing.
    pub fn forget_no_changes(&mut self) {
        if self.changes().is_some_and(CatalogChanges::is_empty) {
            self.forget_changes();
        }
    }

    /// The present undo position: SAVEPOINT.
    pub fn mark(&self) -> SavepointMark {
        let changes = self.changes().cloned().map(Box::new);
        let deferred = self.rare.deferred().map(|deferred| Box::new(deferred.mark()));
        SavepointMark { undo: self.txn.undo_position(), changes, deferred }
    }

    /// Undoes the changes since a mark, and releases the locks that were acquired since: ROLLBACK
    /// TO SAVEPOINT. It can return to the same mark again.
    pub fn rollback_to(&mut self, mark: &SavepointMark) -> Result<()> {
        self.txn.rollback_to_savepoint(mark.undo)?;
        match &mark.changes {
            Some(changes) => *self.for_ddl().1 = Some((**changes).clone()),
            None => self.forget_changes(),
        }
        if let Some(deferred) = self.rare.0.as_mut().and_then(|owned| owned.deferred.as_mut()) {
            deferred.rollback_to(mark.deferred.as_deref().unwrap_or(&DeferredMark::default()));
        }
        Ok(())
    }

    /// SET CONSTRAINTS: of some constraints (foreign keys by their OIDs, keys by their indexes), or
    /// of all.
    pub fn set_constraints(&mut self, constraints: Option<&[Oid]>, deferred: bool) {
        let all = self.rare.deferred_mut();
        match constraints {
            None => all.set_all(deferred),
            Some(constraints) => all.set(constraints, deferred),
        }
    }

    /// The deferred events that are due: all at the end of the transaction, otherwise those whose
    /// constraints are no longer deferred. The caller runs them ([`crate::run_deferred`]).
    pub fn take_due(&mut self, at_end: bool) -> DueEvents {
        let deferred = self.rare.0.as_mut().and_then(|owned| owned.deferred.as_mut());
        deferred.map(|deferred| deferred.take_due(at_end)).unwrap_or_default()
    }

    /// The tables with deferred events.
    pub fn tables_with_events(&self, catalog: &Catalog) -> Result<Vec<Oid>> {
        self.rare.deferred().map_or_else(|| Ok(Vec::new()), |deferred| deferred.tables(catalog))
    }

    /// Whether it has no state but the engine's.
    pub(crate) fn is_plain(&self) -> bool {
        let changes_nothing = self.changes().is_none_or(CatalogChanges::is_empty);
        changes_nothing && self.rare.deferred().is_none() && self.participants_if_any().is_none()
    }

    /// The transaction's sessions on nodes. The first use makes them, without a message to a node.
    /// Errors: 0A000 for a session or a transaction that can have none.
    pub fn participants(&mut self, session: &dyn SessionHost) -> Result<&mut Participants> {
        self.rare.participants(session)
    }

    /// The transaction's sessions on nodes, if a statement has asked for them.
    pub fn participants_if_any(&self) -> Option<&Participants> {
        self.rare.0.as_ref()?.participants.as_ref()
    }

    /// Takes its sessions on nodes, which its end must end, too.
    pub fn take_participants(&mut self) -> Option<Participants> {
        self.rare.0.as_mut()?.participants.take()
    }

    fn forget_changes(&mut self) {
        if let Some(owned) = &mut self.rare.0 {
            owned.changes = None;
        }
    }

    /// Sets whether statements leave their events to the caller, and to which ones they add them.
    /// Returns the previous ones, if there were any.
    pub(crate) fn leave_events(&mut self, leave: Option<Left>) -> Option<Left> {
        match &mut self.rare.0 {
            None if leave.is_none() => None,
            owned => std::mem::replace(&mut owned.get_or_insert_default().left, leave),
        }
    }

    /// Puts the transaction's catalog changes on top of what others have committed, and tells the
    /// session.
    pub(crate) fn rebase(&mut self, session: &dyn SessionHost) -> Result<()> {
        self.rare.rebase(session)
    }

    /// At its end: the engine's transaction, and the catalog changes that it publishes if it
    /// commits.
    pub fn into_parts(self) -> (Txn, Option<CatalogChanges>) {
        let changes = self.rare.0.and_then(|owned| owned.changes);
        (self.txn, changes.filter(|changes| !changes.is_empty()))
    }
}

impl Rare {
    #[inline]
    fn changes(&self) -> Option<&CatalogChanges> {
        self.0.as_ref()?.changes.as_ref()
    }

    fn deferred(&self) -> Option<&Deferred> {
        self.0.as_ref()?.deferred.as_ref()
    }

    fn deferred_mut(&mut self) -> &mut Deferred {
        self.0.get_or_insert_default().deferred.get_or_insert_default()
    }

    fn participants(&mut self, session: &dyn SessionHost) -> Result<&mut Participants> {
        let owned = self.0.get_or_insert_default();
        match &mut owned.participants {
            Some(participants) => Ok(participants),
            none => Ok(none.insert(session.participants()?)),
        }
    }

    fn rebase(&mut self, session: &dyn SessionHost) -> Result<()> {
        let Some(owned) = self.0.as_mut().filter(|owned| owned.changes.is_some()) else {
            return Ok(());
        };
        let catalog = session.store()?.changes(&mut owned.changes).catalog().clone();
        session.see_catalog(&catalog);
        Ok(())
    }
}

/// A running statement's transaction and its view.
pub(crate) struct StatementTxn {
    pub(crate) txn: Txn,
    rare: Rare,
    /// The statement's snapshot.
    pub(crate) view: View,
}

impl StatementTxn {
    /// For a statement that sees what the transaction's running statement sees.
    #[inline]
    pub(crate) fn new(transaction: Transaction) -> StatementTxn {
        let view = transaction.txn.view();
        StatementTxn::with_view(transaction, view)
    }

    /// For a statement with a snapshot of its own.
    #[inline]
    pub(crate) fn with_view(transaction: Transaction, view: View) -> StatementTxn {
        let Transaction { txn, rare } = transaction;
        StatementTxn { txn, rare, view }
    }

    /// The transaction, to be given back, and the statement's snapshot.
    #[inline]
    pub(crate) fn into_parts(self) -> (Transaction, View) {
        let StatementTxn { txn, rare, view } = self;
        (Transaction { txn, rare }, view)
    }

    /// The transaction, to be given back.
    #[inline]
    pub(crate) fn into_transaction(self) -> Transaction {
        Transaction { txn: self.txn, rare: self.rare }
    }

    /// The events to which the running statement adds its own, if it does not run them itself.
    pub(crate) fn left_events(&mut self) -> Option<&mut Left> {
        self.rare.0.as_mut()?.left.as_mut()
    }

    /// As [`Transaction::participants`].
    pub(crate) fn participants(&mut self, session: &dyn SessionHost) -> Result<&mut Participants> {
        self.rare.participants(session)
    }

    /// The transaction's deferred constraints.
    pub(crate) fn deferred_mut(&mut self) -> &mut Deferred {
        self.rare.deferred_mut()
    }

    /// As [`Transaction::rebase`].
    pub(crate) fn rebase(&mut self, session: &dyn SessionHost) -> Result<()> {
        self.rare.rebase(session)
    }
}
