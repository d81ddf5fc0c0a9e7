//! The relations that the statements around a function's statement read: DDL must not change them
//! under these (CheckTableNotInUse).
//!
//! These are the statement that calls the function, and the queries that the session's functions
//! have open: cursors and loops. (PostgreSQL counts the references to each open relation. A
//! statement further out, which calls the function that runs the calling statement, is not seen
//! unless a loop or a cursor runs it.)

use super::Spi;
use crate::prepare::PreparedPlan;
use crate::routine::SessionRoutines;
use parking_lot::Mutex;
use std::sync::Arc;
use steppe_catalog::RelKind;
use steppe_functions::SessionHost;
use steppe_sql::plan::PlannedStmt;
use steppe_types::Oid;

/// The queries that a session's functions have open.
#[derive(Default)]
pub(crate) struct OpenQueries(Mutex<Vec<Arc<PreparedPlan>>>);

/// An open query. It is closed when this is dropped.
pub(super) struct OpenQuery {
    session: Arc<dyn SessionHost>,
    plan: Arc<PreparedPlan>,
}

impl Drop for OpenQuery {
    fn drop(&mut self) {
        let Ok(routines) = SessionRoutines::of(&*self.session) else { return };
        let mut open = routines.queries.0.lock();
        if let Some(at) = open.iter().rposition(|plan| Arc::ptr_eq(plan, &self.plan)) {
            open.swap_remove(at);
        }
    }
}

impl Spi<'_> {
    pub(super) fn open_query(&self, plan: &Arc<PreparedPlan>) -> OpenQuery {
        if let Ok(routines) = SessionRoutines::of(&**self.session()) {
            routines.queries.0.lock().push(Arc::clone(plan));
        }
        OpenQuery { session: Arc::clone(self.session()), plan: Arc::clone(plan) }
    }

    /// The tables that the calling statement and open queries read or change.
    pub(super) fn relations_in_use(&self) -> Vec<Oid> {
        let catalog = &self.cx.functions.catalog;
        let is_view = |oid: Oid| catalog.relation(oid).is_some_and(|r| r.kind == RelKind::View);
        let mut found = Vec::new();
        let mut add = |stmt: &PlannedStmt| {
            found.extend(stmt.relations.iter().map(|(oid, _)| *oid).filter(|oid| !is_view(*oid)));
        };
        self.cx.statement.iter().for_each(|calling| add(calling.planned()));
        if let Ok(routines) = SessionRoutines::of(&**self.session()) {
            routines.queries.0.lock().iter().for_each(|plan| add(plan.compiled.planned()));
        }
        found
    }
}
