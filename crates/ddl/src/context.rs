//! The environment of a DDL statement, made in one place for all that change the catalog: a client's
//! statement, a function, autovacuum's ANALYZE.

use super::on_nodes::{self, Touched};
use super::references;
use std::sync::Arc;
use steppe_catalog::{Catalog, CatalogChanges, CatalogStore, Relation};
use steppe_counting::progress::Progress;
use steppe_exec::routine::in_session;
use steppe_functions::{FnContext, Frame, SessionHost};
use steppe_spill::TempSpace;
use steppe_sql::bind::BindContext;
use steppe_txn::{RelationLockMode, Txn};
use steppe_types::io::IoContext;
use steppe_types::{Error, Oid, Result, SqlState};

/// The environment of a DDL statement.
pub struct DdlContext<'a> {
    /// The stored catalog.
    pub store: &'a CatalogStore,
    /// The session's transaction.
    pub txn: &'a mut Txn,
    /// The transaction's catalog changes so far.
    pub pending: &'a mut Option<CatalogChanges>,
    /// Schemas of the search path, in order (pg_catalog included).
    pub search_path: Vec<Oid>,
    /// Schema that unqualified new objects go to.
    pub creation_schema: Option<Oid>,
    /// The name of the session's schema of temporary objects, which need not exist.
    pub temporary_schema: Arc<str>,
    /// Whether unqualified new objects are created in that schema.
    pub creates_temporary: bool,
    /// Settings that literals depend on.
    pub io: Arc<IoContext>,
    /// The statement's text, for error positions.
    pub source: &'a str,
    /// The session: notices and the like.
    pub session: Arc<dyn SessionHost>,
    /// maintenance_work_mem in bytes: what the build of an index may keep in memory.
    pub maintenance_work_mem_bytes: usize,
    /// default_statistics_target: how many values of a column, and bounds between them, ANALYZE
    /// keeps at most.
    pub statistics_target: usize,
    /// The place of the temporary files that the build writes beyond that memory.
    pub temp: Arc<TempSpace>,
    /// The lock on a partitioned table under which partitions are added to it.
    pub parent_lock: RelationLockMode,
    /// That of an index which is being created on partitions: what is built for them is part of it.
    pub spreading: Option<Arc<Progress>>,
    /// The relations that the session's open cursors read.
    pub in_use: Vec<Oid>,
    /// The tables with keys that are checked when the transaction ends.
    pub pending_checks: Vec<Oid>,
    /// Whether the caller runs the statements for nodes that are left in the catalog changes.
    pub reaches_nodes: bool,
    /// The distributed tables that the statement has changed.
    pub(crate) touched: Touched,
}

/// The parts of a [`DdlContext`] that differ between its users.
pub struct Origin<'a> {
    /// The transaction.
    pub txn: &'a mut Txn,
    /// The transaction's catalog changes so far.
    pub pending: &'a mut Option<CatalogChanges>,
    /// The statement's text, for error positions.
    pub source: &'a str,
    /// The relations that the session's open cursors read.
    pub in_use: Vec<Oid>,
    /// The tables with keys that are checked when the transaction ends.
    pub pending_checks: Vec<Oid>,
    /// The lock on a partitioned table under which partitions are added to it.
    pub parent_lock: RelationLockMode,
    /// Whether the caller runs the statements for nodes that are left in the catalog changes.
    pub reaches_nodes: bool,
}

impl<'a> Origin<'a> {
    /// For a caller without cursors, deferred keys and a statement's text.
    pub fn new(txn: &'a mut Txn, pending: &'a mut Option<CatalogChanges>) -> Origin<'a> {
        Origin {
            txn,
            pending,
            source: "",
            in_use: Vec::new(),
            pending_checks: Vec::new(),
            parent_lock: RelationLockMode::AccessExclusive,
            reaches_nodes: false,
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
            reaches_nodes: origin.reaches_nodes,
            touched: Touched::default(),
        }
    }
}

impl DdlContext<'_> {
    /// The transaction's catalog version, on top of the newest published one.
    pub fn catalog(&mut self) -> Arc<Catalog> {
        self.store.changes(self.pending).catalog().clone()
    }

    /// 55006 if a cursor of the session reads a relation that is about to be changed under it
    /// (CheckTableNotInUse). Those of other sessions hold locks.
    pub(crate) fn check_not_in_use(&self, relation: &Relation, command: &str) -> Result<()> {
        let why = if self.in_use.contains(&relation.oid) {
            "it is being used by active queries in this session"
        } else if self.pending_checks.contains(&relation.oid) {
            "it has pending trigger events"
        } else {
            return Ok(());
        };
        let message = format!("cannot {command} \"{}\" because {why}", relation.name);
        Err(Error::new(SqlState::OBJECT_IN_USE, message))
    }

    /// Adds or replaces a relation.
    pub fn put(&mut self, relation: impl Into<Arc<Relation>>) -> Result<()> {
        let relation = relation.into();
        on_nodes::touch(self, &relation);
        if let Some(old) = self.catalog().relation(relation.oid) {
            self.session.relation_statistics().replaced(self.store.engine(), old, &relation)?;
        }
        self.store.put_relation(self.store.changes(self.pending), relation);
        Ok(())
    }

    /// Removes a relation.
    pub(crate) fn remove(&mut self, oid: Oid) -> Result<()> {
        if let Some(relation) = self.catalog().relation(oid) {
            on_nodes::touch(self, relation);
        }
        self.store.remove_relation(self.store.changes(self.pending), oid);
        Ok(())
    }

    /// Runs a statement, locks what its objects refer to, and writes what it has changed.
    pub fn run<T>(&mut self, statement: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        let session = Arc::clone(&self.session);
        let done = in_session(&session, || statement(self))?;
        on_nodes::finish(self)?;
        if self.pending.is_some() {
            references::lock(self)?;
        }
        if let Some(changes) = self.pending {
            self.store.write(self.txn, changes)?;
        }
        Ok(done)
    }

    /// Names the table in an integrity violation (class 23) that its rows caused.
    pub(crate) fn naming<T>(&mut self, table: &Relation, result: Result<T>) -> Result<T> {
        result.map_err(|error| {
            let violation = error.sqlstate().as_str().starts_with("23");
            let is_named = error.fields().table.is_some() || error.fields().datatype.is_some();
            if !violation || is_named {
                return error;
            }
            let catalog = self.catalog();
            let schema = catalog.schema(table.schema).map_or("public", |s| &s.name);
            error.table(schema, &table.name)
        })
    }

    /// The context that functions run with.
    pub(crate) fn functions(&mut self) -> FnContext {
        let now = self.session.clock_timestamp();
        FnContext {
            session: self.session.clone(),
            io: self.io.clone(),
            catalog: self.catalog(),
            statement_timestamp: now,
            transaction_timestamp: now,
        }
    }

    /// Runs `f` with a binding context over the current catalog.
    pub(crate) fn binding<T>(
        &mut self,
        f: impl FnOnce(&BindContext<'_>) -> Result<T>,
    ) -> Result<T> {
        let catalog = self.catalog();
        let ctx = BindContext {
            catalog: &catalog,
            search_path: &self.search_path,
            io: &self.io,
            source: self.source,
        };
        f(&ctx)
    }
}
