//! The list of a session's portals, which the extended protocol and DECLARE name. Functions of the
//! session use those with names: FETCH, MOVE, CLOSE, WHERE CURRENT OF.

use std::sync::Arc;

use parking_lot::Mutex;
use steppe_exec::spi::{ClientCursor, ClientPortals, CursorPlace};
use steppe_exec::{RowSink, Transaction};
use steppe_sql::ast::FetchDirection;
use steppe_sql::plan::ResultColumn;
use steppe_sql::query::Command;
use steppe_types::{Error, Oid, Result, SqlState};

use super::cursor::Cursor;
use super::portal::{
    BYTES_MAX, Map, NAMED_MAX, Portal, PortalBody, cannot_be_run, no_portal, too_many,
};
use super::transaction::TransactionState;
use crate::system_views::session::ShownCursor;

/// A session's named portals. The session is lent out while a statement runs, and the statement's
/// functions reach them here.
#[derive(Clone, Default)]
pub(crate) struct NamedPortals(Arc<Mutex<Named>>);

/// Each portal is in a box, because a run takes it out and puts it back.
#[derive(Default)]
struct Named {
    portals: Map<Box<Portal>>,
    /// The size of all of them.
    bytes: usize,
}

impl Named {
    fn take(&mut self, name: &str) -> Option<Box<Portal>> {
        let taken = self.portals.remove(name);
        if let Some(portal) = &taken {
            self.bytes -= portal.bytes;
        }
        taken
    }

    fn put(&mut self, name: &str, portal: Box<Portal>) {
        self.bytes += portal.bytes;
        self.portals.insert(name.into(), portal);
    }

    fn clear(&mut self) {
        *self = Named::default();
    }
}

impl NamedPortals {
    /// Whether there is one of this name.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.0.lock().portals.contains_key(name)
    }

    /// The row that a cursor is on, for WHERE CURRENT OF.
    pub(crate) fn place(&self, name: &str) -> Result<CursorPlace> {
        match self.0.lock().portals.get_mut(name).map(|portal| &mut portal.body) {
            Some(PortalBody::Cursor(cursor)) => cursor.place(),
            None => Err(no_portal("cursor", name)),
            Some(PortalBody::Plan(plan))
                if plan.plan.compiled.planned().command == Command::Select =>
            {
                Err(Error::not_supported("WHERE CURRENT OF a portal of the extended protocol"))
            }
            Some(_) => {
                let message = format!("cursor \"{name}\" is not a SELECT query");
                Err(Error::new(SqlState::INVALID_CURSOR_STATE, message))
            }
        }
    }

    /// All of them, for pg_cursors.
    pub(crate) fn shown(&self) -> Vec<ShownCursor> {
        self.0.lock().portals.iter().map(|(name, portal)| portal.shown(name)).collect()
    }

    fn take(&self, name: &str) -> Option<Box<Portal>> {
        self.0.lock().take(name)
    }

    fn put_back(&self, name: &str, portal: Box<Portal>) {
        self.0.lock().put(name, portal);
    }
}

/// Functions of the session use its portals.
impl ClientPortals for NamedPortals {
    fn has(&self, name: &str) -> bool {
        NamedPortals::has(self, name)
    }

    fn lend(&self, name: &str) -> Result<Box<dyn ClientCursor>> {
        let portal = self.take(name).ok_or_else(|| no_portal("cursor", name))?;
        let lent = LentPortal { portals: self.clone(), name: name.into(), portal: Some(portal) };
        match lent.portal.as_deref() {
            Some(portal) if portal.has_failed => Err(cannot_be_run(name)),
            Some(Portal { body: PortalBody::Cursor(_), .. }) => Ok(Box::new(lent)),
            Some(Portal { body: PortalBody::Plan(_), .. }) => {
                Err(Error::not_supported("a portal of the extended protocol in a function"))
            }
            // PostgreSQL's PortalRunFetch has this message.
            _ => Err(Error::internal("unsupported portal strategy")),
        }
    }

    fn close(&self, name: &str, txn: &mut Option<Transaction>) -> Result<()> {
        let mut portal = self.take(name).ok_or_else(|| no_portal("cursor", name))?;
        portal.release(txn);
        Ok(())
    }

    fn close_all(&self, txn: &mut Option<Transaction>) {
        let mut named = std::mem::take(&mut *self.0.lock());
        named.portals.values_mut().for_each(|portal| portal.release(txn));
    }
}

/// A portal that a function uses. It is put back when this is dropped.
struct LentPortal {
    portals: NamedPortals,
    name: Box<str>,
    portal: Option<Box<Portal>>,
}

impl Drop for LentPortal {
    fn drop(&mut self) {
        if let Some(portal) = self.portal.take() {
            self.portals.put_back(&self.name, portal);
        }
    }
}

impl ClientCursor for LentPortal {
    fn columns(&self) -> &[ResultColumn] {
        match self.portal.as_deref().map(|portal| &portal.body) {
            Some(PortalBody::Cursor(cursor)) => cursor.plan.plan.compiled.columns(),
            _ => &[],
        }
    }

    fn fetch(
        &mut self,
        txn: &mut Option<Transaction>,
        movement: (FetchDirection, i64),
        sink: &mut dyn RowSink,
    ) -> Result<u64> {
        let Some(portal) = &mut self.portal else { return Ok(0) };
        let PortalBody::Cursor(cursor) = &mut portal.body else { return Ok(0) };
        let fetched = cursor.fetch_for_function(txn, movement, sink);
        if fetched.is_err() {
            portal.fail(txn);
        }
        fetched
    }
}

/// A session's portals.
#[derive(Default)]
pub(super) struct Portals {
    named: NamedPortals,
    /// The portal that drivers use. It is kept separately, so that it needs no look-up.
    unnamed: Option<Box<Portal>>,
}

impl Portals {
    /// With these named portals, which functions reach.
    pub(super) fn of(named: NamedPortals) -> Portals {
        Portals { named, unnamed: None }
    }

    /// Looks at the portal of this name.
    pub(super) fn with<T>(&self, name: &str, look: impl FnOnce(&Portal) -> T) -> Result<T> {
        let found = match name.is_empty() {
            true => self.unnamed.as_deref().map(look),
            false => self.named.0.lock().portals.get(name).map(|portal| look(portal)),
        };
        found.ok_or_else(|| no_portal("portal", name))
    }

    /// Takes a portal out in order to run it; [`Portals::put_back`] follows.
    pub(super) fn take(&mut self, name: &str) -> Result<Box<Portal>> {
        self.take_any(name).ok_or_else(|| no_portal("portal", name))
    }

    fn take_any(&mut self, name: &str) -> Option<Box<Portal>> {
        if name.is_empty() { self.unnamed.take() } else { self.named.take(name) }
    }

    /// Takes a cursor out.
    pub(super) fn take_cursor(&mut self, name: &str) -> Result<Box<Portal>> {
        self.take_any(name).ok_or_else(|| no_portal("cursor", name))
    }

    /// Whether there is a named portal of this name.
    pub(super) fn has(&self, name: &str) -> bool {
        self.named.has(name)
    }

    /// Adds a portal.
    pub(super) fn put(&mut self, name: &str, portal: Box<Portal>) -> Result<()> {
        let (count, bytes) = {
            let named = self.named.0.lock();
            (named.portals.len(), named.bytes)
        };
        if count >= NAMED_MAX || bytes + portal.bytes > BYTES_MAX {
            return Err(too_many("portals"));
        }
        self.put_back(name, portal);
        Ok(())
    }

    /// Puts back the portal that [`Portals::take`] took.
    pub(super) fn put_back(&mut self, name: &str, portal: Box<Portal>) {
        match name.is_empty() {
            true => self.unnamed = Some(portal),
            false => self.named.put_back(name, portal),
        }
    }

    /// Close. Returns whether the portal existed.
    pub(super) fn remove(&mut self, name: &str, transaction: &mut TransactionState) -> bool {
        let Some(mut portal) = self.take_any(name) else { return false };
        portal.release(&mut transaction.txn);
        true
    }

    /// CLOSE ALL.
    pub(super) fn remove_all(&mut self, transaction: &mut TransactionState) {
        self.each(|portal| portal.release(&mut transaction.txn));
        self.clear();
    }

    pub(super) fn clear(&mut self) {
        self.named.0.lock().clear();
        self.unnamed = None;
    }

    fn each(&mut self, mut change: impl FnMut(&mut Portal)) {
        self.named.0.lock().portals.values_mut().for_each(|portal| change(portal));
        self.unnamed.iter_mut().for_each(|portal| change(portal));
    }

    /// At the end of a transaction, removes all portals except cursors WITH HOLD.
    pub(super) fn end_transaction(&mut self, transaction: &mut TransactionState) {
        if self.unnamed.is_none() && self.named.0.lock().portals.is_empty() {
            return;
        }
        self.retain(transaction, |portal| match &portal.body {
            PortalBody::Cursor(cursor) => cursor.is_held(),
            _ => false,
        });
    }

    /// An error aborts the transaction, or its part after the savepoint at position `at`. The
    /// portals made in that part fail (AtAbort_Portals, AtSubAbort_Portals).
    pub(super) fn fail_deeper(&mut self, at: Option<usize>, transaction: &mut TransactionState) {
        self.each(|portal| {
            let is_held = matches!(&portal.body, PortalBody::Cursor(cursor) if cursor.is_held());
            if !is_held && at.is_none_or(|at| portal.depth > at) {
                portal.fail(&mut transaction.txn);
            }
        });
    }

    /// ROLLBACK TO the savepoint at position `at` removes the portals made after it.
    pub(super) fn drop_deeper(&mut self, at: usize, transaction: &mut TransactionState) {
        self.retain(transaction, |portal| portal.depth <= at);
    }

    /// RELEASE of the savepoint at position `at`: its portals belong to the level below.
    pub(super) fn lower_depth(&mut self, at: usize) {
        self.each(|portal| portal.depth = portal.depth.min(at));
    }

    fn retain(&mut self, transaction: &mut TransactionState, keep: impl Fn(&Portal) -> bool) {
        let mut keeps = |portal: &mut Portal| {
            let keeps = keep(portal);
            if !keeps {
                portal.release(&mut transaction.txn);
            }
            keeps
        };
        self.unnamed.take_if(|portal| !keeps(portal));
        let mut named = self.named.0.lock();
        named.portals.retain(|_, portal| keeps(portal));
        named.bytes = named.portals.values().map(|portal| portal.bytes).sum();
    }

    /// The portal without a name, for pg_cursors.
    pub(super) fn shown_unnamed(&self) -> Option<ShownCursor> {
        self.unnamed.as_ref().map(|portal| portal.shown(""))
    }

    /// The relations of the cursors that have not been run to their end at a COMMIT.
    pub(super) fn read_by_cursors(&self) -> Vec<Oid> {
        let named = self.named.0.lock();
        let cursors = named.portals.values().filter_map(|portal| match &portal.body {
            PortalBody::Cursor(cursor) if !cursor.is_held() && !portal.has_failed => Some(cursor),
            _ => None,
        });
        let relations = |cursor: &Cursor| cursor.plan.plan.compiled.planned().relations.to_vec();
        cursors.flat_map(relations).map(|(oid, _)| oid).collect()
    }

    /// Runs code for each cursor that has not failed. It ends with the first error.
    pub(super) fn try_cursors(
        &mut self,
        mut run: impl FnMut(&mut Cursor) -> Result<()>,
    ) -> Result<()> {
        // Functions of the cursors' queries may look for others.
        let mut named = std::mem::take(&mut *self.named.0.lock());
        let done = named.portals.values_mut().try_for_each(|portal| match &mut portal.body {
            PortalBody::Cursor(cursor) if !portal.has_failed => run(cursor),
            _ => Ok(()),
        });
        *self.named.0.lock() = named;
        done
    }
}
