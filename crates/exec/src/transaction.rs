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
use std::sync::Arc;
use std::time::{Duration, Instant};
use steppe_catalog::objects::Node;
use steppe_catalog::{Catalog, CatalogChanges, NodeStatement};
use steppe_cluster::NodeId;
use steppe_cluster::transaction::{Participants, RemoteMark};
use steppe_functions::SessionHost;
use steppe_txn::{Txn, UndoPosition, View};
use steppe_types::{Error, Oid, Result, SqlState};

/// The longest time that a statement of DDL may take on a node. (Interrupts end it, too.)
const DDL_TIME: Duration = Duration::from_secs(24 * 3600);

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
    /// The place on nodes. `None`: no statement had asked for a node.
    remote: Option<RemoteMark>,
}

/// State of a transaction that does more than read and change rows. It is made when it is needed.
#[derive(Default)]
struct Rare {
    owned: Option<Box<Owned>>,
    /// A mark was made before it had sessions on nodes.
    has_early_mark: bool,
}

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
    participants: Option<OnNodes>,
}

/// A transaction on nodes.
struct OnNodes {
    participants: Participants,
    /// The place before its first statement, if a mark was made earlier.
    before_all: Option<RemoteMark>,
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
        (&mut self.txn, &mut self.rare.owned.get_or_insert_default().changes)
    }

    /// Removes the transaction's catalog version if DDL has changed nothing.
    pub fn forget_no_changes(&mut self) {
        if self.changes().is_some_and(CatalogChanges::is_empty) {
            self.forget_changes();
        }
    }

    /// The present undo position: SAVEPOINT.
    pub fn mark(&mut self) -> SavepointMark {
        let changes = self.changes().cloned().map(Box::new);
        let deferred = self.rare.deferred().map(|deferred| Box::new(deferred.mark()));
        let remote = self.rare.mark_on_nodes();
        SavepointMark { undo: self.txn.undo_position(), changes, deferred, remote }
    }

    /// Ends a mark and those after it: RELEASE SAVEPOINT. Their changes stay.
    pub fn release(&mut self, mark: &SavepointMark) {
        self.rare.release_on_nodes(mark);
    }

    /// Undoes the changes since a mark, and releases the locks that were acquired since: ROLLBACK
    /// TO SAVEPOINT. It can return to the same mark again.
    pub fn rollback_to(&mut self, mark: &SavepointMark) -> Result<()> {
        self.txn.rollback_to_savepoint(mark.undo)?;
        self.rare.roll_nodes_back_to(mark.remote);
        match &mark.changes {
            Some(changes) => *self.for_ddl().1 = Some((**changes).clone()),
            None => self.forget_changes(),
        }
        if let Some(deferred) = self.rare.owned.as_mut().and_then(|owned| owned.deferred.as_mut()) {
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
        let deferred = self.rare.owned.as_mut().and_then(|owned| owned.deferred.as_mut());
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

    /// Whether it has changed nothing here, and has no session on a node.
    pub fn has_done_nothing(&self) -> bool {
        let changes_nothing = self.changes().is_none_or(CatalogChanges::is_empty);
        let is_local = self.participants_if_any().is_none_or(Participants::is_empty);
        changes_nothing && self.rare.deferred().is_none() && is_local && self.txn.xid() == 0
    }

    /// The transaction's sessions on nodes, for a statement with the session's present settings. The first use
    /// makes them, without a message to a node. Errors: 0A000 for a session or a transaction that can have none.
    pub fn participants(&mut self, session: &dyn SessionHost) -> Result<&mut Participants> {
        self.rare.participants(session)
    }

    /// The transaction's sessions on nodes, if a statement has asked for them.
    pub fn participants_if_any(&self) -> Option<&Participants> {
        Some(&self.rare.owned.as_ref()?.participants.as_ref()?.participants)
    }

    /// Takes its sessions on nodes, which its end must end, too.
    pub fn take_participants(&mut self) -> Option<Participants> {
        Some(self.rare.owned.as_mut()?.participants.take()?.participants)
    }

    /// Runs the statements that DDL has left for the nodes of distributed tables, in the
    /// transaction's sessions there. An error of a node is the DDL's.
    pub fn run_on_nodes(&mut self, session: &dyn SessionHost) -> Result<()> {
        let changes = self.rare.owned.as_mut().and_then(|owned| owned.changes.as_mut());
        let Some(changes) = changes else { return Ok(()) };
        let statements = changes.take_for_nodes();
        if statements.is_empty() {
            return Ok(());
        }
        let catalog = Arc::clone(changes.catalog());
        let participants = self.rare.participants(session)?;
        for NodeStatement { nodes, text } in &statements {
            let nodes = nodes.iter().map(|node| identity(&catalog, *node));
            let nodes = nodes.collect::<Result<Vec<NodeId>>>()?;
            participants.run_on_all(&nodes, text, Instant::now() + DDL_TIME)?;
        }
        Ok(())
    }

    fn forget_changes(&mut self) {
        if let Some(owned) = &mut self.rare.owned {
            owned.changes = None;
        }
    }

    /// Sets whether statements leave their events to the caller, and to which ones they add them.
    /// Returns the previous ones, if there were any.
    pub(crate) fn leave_events(&mut self, leave: Option<Left>) -> Option<Left> {
        match &mut self.rare.owned {
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
        let changes = self.rare.owned.and_then(|owned| owned.changes);
        (self.txn, changes.filter(|changes| !changes.is_empty()))
    }
}

/// The identity of a node's database: 55000 if it is not known.
fn identity(catalog: &Catalog, node: Oid) -> Result<NodeId> {
    let node = catalog.stored::<Node>().get(node);
    let node = node.ok_or_else(|| Error::internal("a table on a node that is not there"))?;
    match node.identity {
        0 => {
            let message = format!("node \"{}\" has never been reached", node.name);
            Err(Error::new(SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE, message)
                .hint("Use ALTER NODE when it can be reached."))
        }
        identity => Ok(NodeId(identity)),
    }
}

impl Rare {
    #[inline]
    fn changes(&self) -> Option<&CatalogChanges> {
        self.owned.as_ref()?.changes.as_ref()
    }

    fn deferred(&self) -> Option<&Deferred> {
        self.owned.as_ref()?.deferred.as_ref()
    }

    fn deferred_mut(&mut self) -> &mut Deferred {
        self.owned.get_or_insert_default().deferred.get_or_insert_default()
    }

    fn participants(&mut self, session: &dyn SessionHost) -> Result<&mut Participants> {
        let has_early_mark = self.has_early_mark;
        let owned = self.owned.get_or_insert_default();
        let on_nodes = match &mut owned.participants {
            Some(on_nodes) => {
                on_nodes.participants.set_settings(session.node_settings());
                on_nodes
            }
            none => {
                let mut participants = session.participants()?;
                let before_all = has_early_mark.then(|| participants.mark());
                none.insert(OnNodes { participants, before_all })
            }
        };
        Ok(&mut on_nodes.participants)
    }

    fn on_nodes(&mut self) -> Option<&mut OnNodes> {
        self.owned.as_mut()?.participants.as_mut()
    }

    fn mark_on_nodes(&mut self) -> Option<RemoteMark> {
        let mark = self.on_nodes().map(|on_nodes| on_nodes.participants.mark());
        self.has_early_mark |= mark.is_none();
        mark
    }

    fn release_on_nodes(&mut self, mark: &SavepointMark) {
        if let (Some(on_nodes), Some(mark)) = (self.on_nodes(), mark.remote) {
            on_nodes.participants.release(mark);
        }
    }

    fn roll_nodes_back_to(&mut self, mark: Option<RemoteMark>) {
        if let Some(on_nodes) = self.on_nodes()
            && let Some(mark) = mark.or(on_nodes.before_all)
        {
            on_nodes.participants.rollback_to(mark);
        }
    }

    fn rebase(&mut self, session: &dyn SessionHost) -> Result<()> {
        let Some(owned) = self.owned.as_mut().filter(|owned| owned.changes.is_some()) else {
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
        self.rare.owned.as_mut()?.left.as_mut()
    }

    /// As [`Transaction::release`].
    pub(crate) fn release(&mut self, mark: &SavepointMark) {
        self.rare.release_on_nodes(mark);
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
