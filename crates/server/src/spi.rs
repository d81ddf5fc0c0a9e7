//! The session's part in statements that functions run ([`steppe_exec::Spi`]): the catalog in
//! force, planning, DDL.
//!
//! While a statement runs the session itself is lent out, so that what functions change in the
//! catalog is kept here, and the session takes it over when it looks at the catalog next
//! ([`Core::take_changes`]).

use std::sync::atomic::Ordering;
use std::sync::{Arc, Weak};

use steppe_catalog::{BOOTSTRAP_SUPERUSER, Catalog, CatalogChanges, NameSpace};
use steppe_exec::ddl::DdlContext;
use steppe_exec::functions::reg::CatalogNames;
use steppe_exec::prepare::{Planning, prepare};
use steppe_exec::{CompiledStmt, DdlFn, FunctionDdl, FunctionFrame, Host, SessionHost};
use steppe_spill::TempSpace;
use steppe_sql::ast::Statement;
use steppe_sql::bind::Params;
use steppe_sql::planner::PlannerSettings;
use steppe_txn::{IsolationLevel, RelationLockMode, Txn};
use steppe_types::io::{IoContext, TypeCatalog};
use steppe_types::{Datum, Oid, Result, SqlState};

use crate::services::Core;

/// The session's settings that matter to statements that functions run.
#[derive(Clone, Debug)]
pub(crate) struct FunctionSettings {
    /// search_path
    pub search_path: Arc<[String]>,
    /// The optimiser's.
    pub planner: PlannerSettings,
    /// maintenance_work_mem
    pub maintenance_work_mem_bytes: usize,
    /// default_statistics_target
    pub statistics_target: usize,
    /// What text input and output depend on, with the names of the catalog in force.
    pub io: Arc<IoContext>,
    /// The catalog that the transaction's snapshot was taken under, if that is an older one.
    pub older: Option<Arc<Catalog>>,
}

impl FunctionSettings {
    /// Of a session that has not started.
    pub(crate) fn initial() -> FunctionSettings {
        FunctionSettings {
            search_path: Arc::from([]),
            planner: PlannerSettings::default(),
            maintenance_work_mem_bytes: 0,
            statistics_target: 0,
            io: Arc::default(),
            older: None,
        }
    }
}

/// The names that a running statement's values are read and shown with: of the catalog that it
/// was planned against, and behind it of what its functions have made since.
struct StatementNames {
    planned: Arc<CatalogNames>,
    core: Weak<Core>,
}

impl TypeCatalog for StatementNames {
    fn reg_input(&self, type_oid: Oid, text: &str) -> Result<Oid> {
        self.planned.reg_input(type_oid, text)
    }

    fn role(&self, name: &str) -> Result<Oid> {
        self.planned.role(name)
    }

    fn role_name(&self, role: Oid) -> Option<String> {
        self.planned.role_name(role)
    }

    fn element_type(&self, array: Oid) -> Option<Oid> {
        self.planned.element_type(array)
    }

    fn row_columns(&self, type_oid: Oid) -> Option<Vec<(Oid, i32)>> {
        self.planned.row_columns(type_oid)
    }

    fn row_names(&self, type_oid: Oid) -> Option<Vec<Arc<str>>> {
        self.planned.row_names(type_oid)
    }

    fn input(
        &self,
        type_oid: Oid,
        typmod: i32,
        text: &str,
        context: &IoContext,
    ) -> Option<Result<Datum>> {
        self.planned.input(type_oid, typmod, text, context)
    }

    fn reg_output(&self, type_oid: Oid, value: Oid, out: &mut Vec<u8>) -> bool {
        if self.planned.reg_output(type_oid, value, out) {
            return true;
        }
        let core = self.core.upgrade();
        let changed = core.filter(|core| core.changed_by_function.load(Ordering::Relaxed));
        let names = changed.and_then(|core| core.frame_of_function().io.catalog.clone());
        names.is_some_and(|names| names.reg_output(type_oid, value, out))
    }
}

/// What a session's statements read and show values with.
pub(crate) fn io_of_statement(
    io: &IoContext,
    names: &NameSpace,
    core: &Arc<Core>,
) -> Arc<IoContext> {
    let planned = names_of(names, &core.identity.user);
    let names = StatementNames { planned, core: Arc::downgrade(core) };
    Arc::new(IoContext { catalog: Some(Arc::new(names)), ..io.clone() })
}

/// How a session sees the names of a catalog version.
pub(crate) fn names_of(names: &NameSpace, user: &Arc<str>) -> Arc<CatalogNames> {
    let role = (Arc::clone(user), BOOTSTRAP_SUPERUSER);
    let (catalog, path) = (Arc::clone(&names.catalog), Arc::clone(&names.path));
    Arc::new(CatalogNames::new(catalog, path, role))
}

/// Text input and output with the names of a catalog version.
pub(crate) fn io_of(io: &IoContext, names: &NameSpace, user: &Arc<str>) -> Arc<IoContext> {
    Arc::new(IoContext { catalog: Some(names_of(names, user)), ..io.clone() })
}

impl Core {
    /// The names in force for what a function does next.
    fn current_names(&self) -> NameSpace {
        let names = self.names();
        let Some(newer) = self.newer_catalog(&names.catalog) else { return names };
        let mut settings = self.function_settings.lock();
        let names = self.resolve(newer, &settings.search_path);
        settings.io = io_of(&settings.io, &names, &self.identity.user);
        drop(settings);
        self.put_names(names.clone());
        names
    }

    /// What functions have changed in the catalog since the last time, if anything: the
    /// transaction's changes altogether.
    pub(crate) fn take_changes(&self) -> Option<Option<CatalogChanges>> {
        // Asked several times a statement, by the one session whose functions they are.
        if !self.changed_by_function.load(Ordering::Relaxed) {
            return None;
        }
        self.changed_by_function.store(false, Ordering::Relaxed);
        Some(self.changes().clone())
    }

    /// [`SessionHost::function_frame`]
    pub(crate) fn frame_of_function(&self) -> FunctionFrame {
        let names = self.current_names();
        let io = Arc::clone(&self.function_settings.lock().io);
        FunctionFrame { catalog: names.catalog, io }
    }

    /// [`SessionHost::plan_for_function`]
    pub(crate) fn plan_of_function(
        &self,
        statement: &Arc<Statement>,
        source: &Arc<str>,
        params: &[Oid],
    ) -> Result<Arc<CompiledStmt>> {
        let names = self.current_names();
        let settings = self.function_settings.lock().clone();
        let planning = Planning {
            names: &names,
            io: &settings.io,
            planner: &settings.planner,
            older: settings.older.as_deref(),
            database: &self.server.database,
            interrupts: &|| self.check_interrupts(),
            for_cursor: false,
            values: &[],
        };
        Ok(Arc::clone(&prepare(&planning, statement, source, Params::fixed(params))?.compiled))
    }

    fn ddl_context<'a>(
        &'a self,
        names: &NameSpace,
        settings: FunctionSettings,
        call: FunctionDdl<'a>,
        pending: &'a mut Option<CatalogChanges>,
    ) -> DdlContext<'a> {
        DdlContext {
            store: &self.server.catalog,
            txn: call.txn,
            pending,
            search_path: names.path.to_vec(),
            creation_schema: names.creation,
            temporary_schema: &self.identity.temporary_schema,
            creates_temporary: names.creates_temporary,
            io: settings.io,
            source: call.source,
            session: call.session,
            maintenance_work_mem_bytes: settings.maintenance_work_mem_bytes,
            statistics_target: settings.statistics_target,
            temp: call.temp,
            parent_lock: RelationLockMode::AccessExclusive,
            spreading: None,
            in_use: Vec::new(),
            pending_checks: Vec::new(),
        }
    }

    /// For what the server does by itself in a transaction of its own.
    pub(crate) fn context_of_own<'a>(
        &'a self,
        call: FunctionDdl<'a>,
        pending: &'a mut Option<CatalogChanges>,
    ) -> DdlContext<'a> {
        let names = self.current_names();
        let settings = self.function_settings.lock().clone();
        self.ddl_context(&names, settings, call, pending)
    }

    /// Whether a transaction apart can lock a table that this one uses: it is there for others,
    /// as this one sees it, and no lock of this one's is in the way.
    fn may_lock_apart(&self, table: Oid) -> bool {
        let published = self.server.catalog.published();
        let own = self.changes().as_ref().map(|changes| Arc::clone(changes.catalog()));
        let seen = own.as_ref().unwrap_or(&published).relation(table);
        let there = published.relation(table).zip(seen).is_some_and(|(a, b)| Arc::ptr_eq(a, b));
        let in_the_way = [
            RelationLockMode::ShareUpdateExclusive,
            RelationLockMode::Share,
            RelationLockMode::ShareRowExclusive,
            RelationLockMode::Exclusive,
            RelationLockMode::AccessExclusive,
        ];
        there && !in_the_way.into_iter().any(|mode| self.handle.holds_relation(table, mode))
    }

    /// [`SessionHost::ddl_apart`]
    pub(crate) fn run_ddl_apart(
        &self,
        table: Oid,
        session: &Arc<dyn SessionHost>,
        temp: Arc<TempSpace>,
        f: &mut DdlFn<'_>,
    ) -> Result<bool> {
        if !self.may_lock_apart(table) {
            return Ok(false);
        }
        let handle = self.server.database.new_session();
        let patience = self.handle.shared().deadlock_timeout();
        handle.shared().set_lock_timeout(Some(patience));
        let mut txn = Txn::begin(&handle, IsolationLevel::ReadCommitted, false);
        txn.start_statement()?;
        let (names, mut pending) = (self.current_names(), None);
        let settings = self.function_settings.lock().clone();
        let call = FunctionDdl { txn: &mut txn, session: Arc::clone(session), temp, source: "" };
        let mut context = self.ddl_context(&names, settings, call, &mut pending);
        context.parent_lock = RelationLockMode::ShareUpdateExclusive;
        let done = tokio::task::block_in_place(|| context.run(|context| f(context)));
        match done {
            Err(error) if error.sqlstate() == SqlState::LOCK_NOT_AVAILABLE => {
                txn.rollback()?;
                return Ok(false);
            }
            Err(error) => {
                txn.rollback()?;
                return Err(error);
            }
            Ok(()) => {}
        }
        let Some(changes) = pending.filter(|changes| !changes.is_empty()) else {
            txn.rollback()?;
            return Ok(true);
        };
        let commit = txn.commit_with(|| self.server.catalog.publish(&changes))?;
        self.flush_to.fetch_max(commit.lsn.0, Ordering::AcqRel);
        Ok(true)
    }

    /// [`SessionHost::ddl_for_function`]
    pub(crate) fn ddl_of_function(&self, call: FunctionDdl<'_>, f: &mut DdlFn<'_>) -> Result<()> {
        let names = self.current_names();
        let settings = self.function_settings.lock().clone();
        let mut pending = self.changes().take();
        let mut context = self.ddl_context(&names, settings, call, &mut pending);
        let done = tokio::task::block_in_place(|| context.run(|context| f(context)));
        *self.changes() = pending.filter(|changes| !changes.is_empty());
        self.changed_by_function.store(true, Ordering::Relaxed);
        done
    }
}
