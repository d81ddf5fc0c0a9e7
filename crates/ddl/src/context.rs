//! What a DDL statement runs with, made in one place for all that change the catalog: a client's
//! statement, a function, ANALYZE by itself.

use super::DdlContext;
use std::sync::Arc;
use steppe_catalog::{CatalogChanges, CatalogStore};
use steppe_functions::{Frame, SessionHost};
use steppe_txn::{RelationLockMode, Txn};
use steppe_types::Oid;

/// What differs between those that change the catalog.
pub struct Origin<'a> {
    /// The transaction.
    pub txn: &'a mut Txn,
    /// The transaction's catalog changes so far.
    pub pending: &'a mut Option<CatalogChanges>,
    /// The statement's text, for error positions.
    pub source: &'a str,
    /// What the session's open cursors read.
    pub in_use: Vec<Oid>,
    /// The tables with keys that are checked when the transaction ends.
    pub pending_checks: Vec<Oid>,
    /// The lock on a partitioned table under which partitions are added to it.
    pub parent_lock: RelationLockMode,
}

impl<'a> Origin<'a> {
    /// Of what knows no cursors and no deferred keys, and has no text.
    pub fn new(txn: &'a mut Txn, pending: &'a mut Option<CatalogChanges>) -> Origin<'a> {
        Origin {
            txn,
            pending,
            source: "",
            in_use: Vec::new(),
            pending_checks: Vec::new(),
            parent_lock: RelationLockMode::AccessExclusive,
        }
    }
}

impl<'a> DdlContext<'a> {
    /// For statements that see the session as `frame` tells.
    pub fn new(
        store: &'a CatalogStore,
        frame: &Frame,
        session: &Arc<dyn SessionHost>,
        origin: Origin<'a>,
    ) -> DdlContext<'a> {
        DdlContext {
            store,
            txn: origin.txn,
            pending: origin.pending,
            search_path: frame.names.path.to_vec(),
            creation_schema: frame.names.creation,
            temporary_schema: Arc::clone(&session.identity().temporary_schema),
            creates_temporary: frame.names.creates_temporary,
            io: Arc::clone(&frame.io),
            source: origin.source,
            session: Arc::clone(session),
            maintenance_work_mem_bytes: frame.maintenance_work_mem_bytes,
            statistics_target: frame.statistics_target,
            temp: Arc::clone(&frame.temp),
            parent_lock: origin.parent_lock,
            spreading: None,
            in_use: origin.in_use,
            pending_checks: origin.pending_checks,
        }
    }
}
