//! Sessions that run SQL in this thread, as a server's session runs it, but without a connection.
//! They have the parser, binder, planner and executor, DDL with the transaction's catalog changes,
//! and savepoints. A commit publishes the new catalog version. Where the server would wait, the
//! statement fails ([`WOULD_WAIT`]), because no other thread could end the wait.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use steppe_catalog::{Catalog, CatalogStore, NameSpace, PG_CATALOG, PUBLIC, Relation, Sequences};
use steppe_ddl::{self as ddl, DdlContext, Detaching, Origin};
use steppe_exec::{
    CompiledStmt, DueEvents, ExecEnv, ExecOutcome, Execution, FetchStatus, RowSink, SavepointMark,
    Transaction, lock_mode,
};
use steppe_functions::{Frame, Host, Identity, SessionHost};
use steppe_spill::TempSpace;
use steppe_sql::ast::Statement;
use steppe_sql::bind::{BindContext, Params, bind_query};
use steppe_sql::parser;
use steppe_sql::planner::{PlannerContext, PlannerSettings, TableSizes, plan};
use steppe_txn::{
    CommitWait, DatabaseId, Engine, EngineOptions, IsolationLevel, LockWait, RelationLockMode,
    SessionHandle, Txn,
};
use steppe_types::io::IoContext;
use steppe_types::{Datum, Error, Oid, Result, SqlState, oid};
use steppe_vfs::{CrashVfs, Vfs};

use crate::{keyed, simulation};

const SEARCH_PATH: [Oid; 2] = [PG_CATALOG, PUBLIC];
const TEMPORARY: &str = "temporary";
/// The SQLSTATE of a statement that met another session's lock.
pub(crate) const WOULD_WAIT: SqlState = SqlState::OBJECT_IN_USE;
/// The limit of waits that do not ask [`Services`], which would otherwise never end.
const WAITS_MAX: Duration = Duration::from_secs(20);

/// An open engine with the catalog of its database.
pub(crate) struct Instance {
    pub(crate) engine: Arc<Engine>,
    pub(crate) catalog: CatalogStore,
    pub(crate) sequences: Sequences,
    temp: Arc<TempSpace>,
}

impl Instance {
    /// Opens them as a server's start does: removes the spill files of the last run, recovers the
    /// database, and reads the catalog.
    pub(crate) fn open(vfs: &CrashVfs, options: &EngineOptions) -> Result<Arc<Instance>> {
        let directory = Path::new(TEMPORARY);
        let failed = |error: steppe_vfs::Error| Error::internal(error.to_string());
        vfs.create_dir_all(directory).map_err(failed)?;
        for name in vfs.list_dir(directory).map_err(failed)? {
            vfs.remove(&directory.join(name)).map_err(failed)?;
        }
        let engine = simulation::open(vfs, options)?;
        let catalog = CatalogStore::open(&engine, DatabaseId::POSTGRES)?;
        let temp = Arc::new(TempSpace::new(Arc::new(vfs.clone()), TEMPORARY));
        let sequences = Sequences::new(DatabaseId::POSTGRES);
        Ok(Arc::new(Instance { engine, catalog, sequences, temp }))
    }
}

/// Refuses to wait.
struct Services {
    instance: Arc<Instance>,
    memory_bytes: usize,
    /// The catalog of the statement that runs.
    catalog: Mutex<Arc<Catalog>>,
}

impl Host for Services {
    fn identity(&self) -> Arc<Identity> {
        let no_one = Identity::superuser();
        Arc::new(Identity { temporary_schema: Arc::from("pg_temp_1"), ..no_one })
    }
}

impl SessionHost for Services {
    fn store(&self) -> Result<&CatalogStore> {
        Ok(&self.instance.catalog)
    }

    fn sequences(&self) -> Result<&Sequences> {
        Ok(&self.instance.sequences)
    }

    fn block_on(&self, wait: LockWait) -> Result<()> {
        Err(would_wait(wait))
    }

    /// For the statements of foreign keys.
    fn frame(&self) -> Result<Frame> {
        let catalog = Arc::clone(&self.catalog.lock());
        Ok(frame(&self.instance, catalog, PlannerSettings::default(), self.memory_bytes))
    }
}

fn would_wait(wait: LockWait) -> Error {
    drop(wait); // It leaves the queue.
    Error::new(WOULD_WAIT, "another session's lock is in the way")
}

fn not_waiting(wait: Option<LockWait>) -> Result<()> {
    wait.map_or(Ok(()), |wait| Err(would_wait(wait)))
}

/// The context of statements over a catalog.
fn frame(
    instance: &Instance,
    catalog: Arc<Catalog>,
    planner: PlannerSettings,
    memory_bytes: usize,
) -> Frame {
    Frame {
        names: NameSpace {
            path: Arc::from(SEARCH_PATH.as_slice()),
            creation: Some(PUBLIC),
            ..NameSpace::initial(catalog)
        },
        io: Arc::new(IoContext::default()),
        planner: Arc::new(planner),
        older: None,
        engine: Arc::clone(&instance.engine),
        temp: Arc::clone(&instance.temp),
        maintenance_work_mem_bytes: memory_bytes,
        statistics_target: 10,
    }
}

/// Sizes that make plans with indexes worth their while.
struct Sizes;

impl TableSizes for Sizes {
    fn size(&self, _: &Relation) -> (f64, f64) {
        (10_000.0, 100.0)
    }
}

/// The result of a statement: its rows, and the number of its command tag.
#[derive(Default)]
pub(crate) struct Answer {
    pub(crate) rows: Vec<Vec<Datum>>,
    pub(crate) count: u64,
}

impl RowSink for Answer {
    fn row(&mut self, row: &[Datum]) -> Result<()> {
        self.rows.push(row.to_vec());
        Ok(())
    }
}

/// A session.
pub(crate) struct Session {
    pub(crate) instance: Arc<Instance>,
    handle: SessionHandle,
    services: Arc<Services>,
    pub(crate) settings: PlannerSettings,
    /// The memory that a sort may use before it spills, also in an index build.
    memory_bytes: usize,
    pub(crate) txn: Option<Transaction>,
    savepoints: Vec<(String, SavepointMark)>,
    is_repeatable: bool,
    snapshot_catalog: Option<Arc<Catalog>>,
}

impl Session {
    pub(crate) fn new(instance: &Arc<Instance>, memory_bytes: usize) -> Session {
        let handle = instance.engine.new_session(DatabaseId::POSTGRES);
        handle.shared().set_lock_timeout(Some(WAITS_MAX));
        Session {
            instance: Arc::clone(instance),
            handle,
            services: Arc::new(Services {
                instance: Arc::clone(instance),
                memory_bytes,
                catalog: Mutex::new(instance.catalog.published()),
            }),
            settings: PlannerSettings::default(),
            memory_bytes,
            txn: None,
            savepoints: Vec::new(),
            is_repeatable: false,
            snapshot_catalog: None,
        }
    }

    /// The catalog that the next query sees: partitions that were marked after its snapshot was
    /// taken are still in their places.
    fn seen_catalog(&mut self) -> Arc<Catalog> {
        let catalog = self.catalog();
        let then = self.snapshot_catalog.as_ref().filter(|then| then.epoch != catalog.epoch);
        let seen = then.and_then(|then| catalog.with_partitions_of(then));
        seen.map_or(catalog, Arc::new)
    }

    /// The catalog as it was when the transaction's one snapshot was taken, if it has one.
    pub(crate) fn snapshot_catalog(&self) -> Option<&Arc<Catalog>> {
        self.snapshot_catalog.as_ref()
    }

    fn start_statement(&mut self) -> Result<()> {
        if self.is_repeatable {
            let catalog = self.catalog();
            self.snapshot_catalog.get_or_insert(catalog);
        }
        self.txn().start_statement()
    }

    /// The catalog that the next DDL sees: the transaction's changes on top of what is published.
    pub(crate) fn catalog(&mut self) -> Arc<Catalog> {
        let store = &self.instance.catalog;
        match self.txn.as_mut().filter(|transaction| transaction.changes().is_some()) {
            Some(transaction) => Arc::clone(store.changes(transaction.for_ddl().1).catalog()),
            None => store.published(),
        }
    }

    /// Whether the transaction is at REPEATABLE READ.
    pub(crate) fn is_repeatable(&self) -> bool {
        self.is_repeatable
    }

    // ----- transactions -----

    pub(crate) fn begin(&mut self) {
        self.begin_at(IsolationLevel::ReadCommitted);
    }

    pub(crate) fn begin_at(&mut self, level: IsolationLevel) {
        self.is_repeatable = level == IsolationLevel::RepeatableRead;
        self.snapshot_catalog = None;
        self.txn = Some(Transaction::new(Txn::begin(&self.handle, level, false)));
    }

    pub(crate) fn txn(&mut self) -> &mut Txn {
        &mut self.transaction().txn
    }

    fn transaction(&mut self) -> &mut Transaction {
        self.txn.as_mut().expect("begun")
    }

    /// COMMIT, not yet durable.
    pub(crate) fn commit(&mut self) -> Result<CommitWait> {
        let (txn, changes) = self.txn.take().expect("begun").into_parts();
        self.savepoints.clear();
        match changes {
            None => txn.commit(),
            Some(changes) => txn.commit_with(|| self.instance.catalog.publish(&changes)),
        }
    }

    pub(crate) fn rollback(&mut self) -> Result<()> {
        self.savepoints.clear();
        self.txn.take().expect("begun").txn.rollback()
    }

    pub(crate) fn savepoint(&mut self, name: &str) {
        let mark = self.transaction().mark();
        self.savepoints.push((name.to_owned(), mark));
    }

    fn find_savepoint(&self, name: &str) -> usize {
        self.savepoints.iter().rposition(|(known, _)| known == name).expect("the savepoint exists")
    }

    pub(crate) fn release(&mut self, name: &str) -> Result<()> {
        let at = self.find_savepoint(name);
        self.savepoints.truncate(at);
        Ok(())
    }

    pub(crate) fn rollback_to(&mut self, name: &str) -> Result<()> {
        let at = self.find_savepoint(name);
        self.savepoints.truncate(at + 1);
        let (_, mark) = self.savepoints.last().expect("the savepoint exists");
        self.txn.as_mut().expect("begun").rollback_to(mark)?;
        Ok(())
    }

    // ----- deferred keys -----

    /// SET CONSTRAINTS of a table's DEFERRABLE key, or ALL.
    pub(crate) fn set_constraints(&mut self, table: Option<&str>, deferred: bool) -> Result<()> {
        let catalog = self.catalog();
        let named = table.map(|table| [keyed::key_of(&catalog, table).oid]);
        let transaction = self.transaction();
        transaction.set_constraints(named.as_ref().map(|named| &named[..]), deferred);
        let due = transaction.take_due(false);
        self.run_deferred(due)
    }

    /// The tables whose keys are to be checked yet.
    pub(crate) fn tables_with_pending_keys(&mut self) -> Vec<Oid> {
        let catalog = self.catalog();
        self.transaction().tables_with_events(&catalog).expect("reads the events")
    }

    /// The keys that COMMIT checks.
    pub(crate) fn check_deferred(&mut self) -> Result<()> {
        let due = self.transaction().take_due(true);
        self.run_deferred(due)
    }

    fn run_deferred(&mut self, due: DueEvents) -> Result<()> {
        if due.is_empty() {
            return Ok(());
        }
        self.start_statement()?;
        let env = self.env();
        steppe_exec::run_deferred(due, &env, &mut self.txn)?;
        self.txn().end_statement();
        Ok(())
    }

    // ----- statements -----

    /// Runs a statement. After an error the transaction is to be rolled back, wholly or to a
    /// savepoint.
    pub(crate) fn run(&mut self, text: &str) -> Result<Answer> {
        let parsed = parser::parse(text)?;
        let statement = &parsed[0].statement;
        if ddl::is_ddl(statement) {
            return self.run_ddl(statement, text).map(|()| Answer::default());
        }
        let compiled = self.compile(text, &[])?;
        self.run_compiled(&compiled, &[])
    }

    /// The first transaction's part of DETACH PARTITION … CONCURRENTLY.
    pub(crate) fn begin_detach(&mut self, text: &str) -> Result<Detaching> {
        let parsed = parser::parse(text)?;
        let alter = ddl::detaches_concurrently(&parsed[0].statement).expect("it is one");
        let begun = self.with_ddl(text, |context| ddl::begin_detach(context, alter))?;
        Ok(begun.expect("the table is there"))
    }

    /// The second transaction's.
    pub(crate) fn finish_detach(&mut self, detaching: &Detaching) -> Result<()> {
        self.with_ddl("", |context| ddl::finish_detach(context, detaching))
    }

    fn run_ddl(&mut self, statement: &Statement, text: &str) -> Result<()> {
        self.with_ddl(text, |context| ddl::execute(statement, context).map(drop))
    }

    fn frame(&self) -> Frame {
        let catalog = self.instance.catalog.published();
        frame(&self.instance, catalog, self.settings.clone(), self.memory_bytes)
    }

    fn with_ddl<T>(
        &mut self,
        text: &str,
        f: impl FnOnce(&mut DdlContext<'_>) -> Result<T>,
    ) -> Result<T> {
        let instance = Arc::clone(&self.instance);
        self.start_statement()?;
        let frame = self.frame();
        let (txn, pending) = self.txn.as_mut().expect("begun").for_ddl();
        let origin = Origin { source: text, ..Origin::new(txn, pending) };
        let session = self.services.clone() as Arc<dyn SessionHost>;
        let mut context = DdlContext::new(&instance.catalog, &frame, &session, origin);
        let done = context.run(f)?;
        self.transaction().forget_no_changes();
        self.txn().end_statement();
        Ok(done)
    }

    /// nextval, as the server's sessions compute it.
    pub(crate) fn nextval(&mut self, name: &str) -> Result<i64> {
        let instance = Arc::clone(&self.instance);
        let oid = self.catalog().relation_named(PUBLIC, name).expect("is there").oid;
        not_waiting(self.txn().lock_relation(oid, RelationLockMode::RowExclusive)?)?;
        let catalog = self.catalog();
        let sequence = catalog.relation(oid).expect("is locked");
        instance.sequences.get(&instance.engine, sequence)?.next(&instance.engine, sequence)
    }

    /// Plans a statement over integer parameters.
    pub(crate) fn compile(&mut self, text: &str, params: &[Oid]) -> Result<Arc<CompiledStmt>> {
        let (catalog, io) = (self.seen_catalog(), IoContext::default());
        let parsed = parser::parse(text)?;
        let search_path = &SEARCH_PATH;
        let context = BindContext { catalog: &catalog, search_path, io: &io, source: text };
        let params = if params.is_empty() { Params::none() } else { Params::fixed(params) };
        let bound = bind_query(&context, &parsed[0].statement, params)?;
        let epoch = self.catalog().epoch;
        let context = PlannerContext {
            older: self.snapshot_catalog.as_deref().filter(|then| then.epoch != epoch),
            catalog: &catalog,
            search_path,
            settings: &self.settings,
            sizes: &Sizes,
            io: &io,
            interrupts: &|| Ok(()),
            may_fail: &|_| false,
            values: &[],
        };
        let planned = Arc::new(plan(&context, bound)?);
        CompiledStmt::compile(planned, &catalog, &self.instance.engine).map(Arc::new)
    }

    fn env(&mut self) -> ExecEnv {
        *self.services.catalog.lock() = self.catalog();
        ExecEnv {
            session: self.services.clone(),
            io: Arc::new(IoContext::default()),
            catalog: self.seen_catalog(),
            statement_timestamp: 0,
            transaction_timestamp: 0,
            work_mem_bytes: self.memory_bytes,
            temp: Arc::clone(&self.instance.temp),
        }
    }

    /// Runs a planned statement: of one leaf if it concerns only one, by the point path if it can.
    pub(crate) fn run_compiled(
        &mut self,
        stmt: &Arc<CompiledStmt>,
        params: &[i32],
    ) -> Result<Answer> {
        let (instance, env) = (Arc::clone(&self.instance), self.env());
        let params: Arc<[Datum]> = params.iter().copied().map(Datum::Int4).collect();
        for (relation, lock) in &stmt.planned().relations {
            not_waiting(self.txn().lock_relation(*relation, lock_mode(*lock))?)?;
        }
        let leaf = stmt.leaf(&params, &env)?;
        if let Some((leaf, mode)) = leaf {
            not_waiting(self.txn().lock_relation(leaf.oid(), mode)?)?;
        }
        let leaf = leaf.map(|(leaf, _)| leaf);
        self.start_statement()?;
        let mut answer = Answer::default();
        let within = (&env, &*instance.engine);
        let point = stmt.run_point((leaf, None), &params, within, &mut self.txn, &mut answer)?;
        answer.count = match point {
            Some(ExecOutcome::Done { rows }) => rows,
            Some(ExecOutcome::MustWait(wait, _)) => return Err(would_wait(wait)),
            None => {
                let of_leaf = match leaf {
                    Some(leaf) => stmt.of_leaf(leaf, &env, &instance.engine)?,
                    None => None,
                };
                let stmt = of_leaf.as_ref().unwrap_or(stmt);
                self.execute(stmt, params, &env, &mut answer)?
            }
        };
        self.txn().end_statement();
        Ok(answer)
    }

    fn execute(
        &mut self,
        stmt: &Arc<CompiledStmt>,
        params: Arc<[Datum]>,
        env: &ExecEnv,
        answer: &mut Answer,
    ) -> Result<u64> {
        let mut execution = Execution::start(stmt, params, env, &mut self.txn)?;
        match execution.fetch(&mut self.txn, 0, answer)? {
            FetchStatus::Done { rows } => Ok(rows),
            FetchStatus::Suspended { .. } => panic!("suspended without a limit"),
        }
    }

    /// The rows of a query over integer parameters, as its text and they say.
    pub(crate) fn query(&mut self, text: &str, params: &[i32]) -> Result<Vec<Vec<Datum>>> {
        let compiled = self.compile(text, &vec![oid::INT4; params.len()])?;
        Ok(self.run_compiled(&compiled, params)?.rows)
    }
}
